//! Meta commands: `mg`, `ms`, `md`, `ma`, `me`, `mn`: two letters, a key, and flags of one letter with or without a token.
//!
//! What is answered repeats flags in the order the client gave them.

pub(crate) mod base64;
pub(crate) mod count;
pub(crate) mod debug;
pub(crate) mod delete;
pub(crate) mod flags;
pub(crate) mod get;
pub(crate) mod set;

use super::Context;
use super::text::BAD_FORMAT;
use super::words::{KEY_MAX, words};
use crate::store::Store;
use flags::{FlagError, Flags};
use smallvec::SmallVec;

/// Keys up to this length need no allocation.
const KEY_INLINE: usize = 64;

/// A key as it was given and as it is.
#[derive(Debug)]
pub(crate) struct Key {
    /// As the store knows it.
    pub(crate) bytes: SmallVec<[u8; KEY_INLINE]>,
    /// As clients see it.
    shown: SmallVec<[u8; KEY_INLINE]>,
    base64: bool,
}

impl Key {
    /// Reads a key; `base64` says how it is written.
    fn read(word: &[u8], base64: bool) -> Option<Key> {
        if !base64 {
            return Some(Key { bytes: word.into(), shown: word.into(), base64 });
        }
        let mut bytes = SmallVec::new();
        base64::decode(word, &mut bytes)?;
        let mut shown = SmallVec::new();
        base64::encode(&bytes, &mut shown);
        Some(Key { bytes, shown, base64 })
    }

    /// Appends it as a flag of an answer.
    fn push(&self, out: &mut Vec<u8>) {
        push_key(out, &self.shown, self.base64);
    }
}

fn push_key(out: &mut Vec<u8>, shown: &[u8], base64: bool) {
    out.extend_from_slice(b" k");
    out.extend_from_slice(shown);
    if base64 {
        out.extend_from_slice(b" b");
    }
}

fn push_token(out: &mut Vec<u8>, word: &[u8]) {
    out.push(b' ');
    out.extend_from_slice(word);
}

/// A meta command's line: its key and flags.
#[derive(Debug)]
struct Line<'a> {
    key: Key,
    flags: Flags<'a>,
}

/// Why a line is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineError {
    NoKey,
    KeyTooLong,
    Flags(FlagError),
}

/// The same of a command whose flags are short to explain; what is wrong is answered.
fn line_or_answer<'a, S: Store>(arguments: &'a [u8], cx: &mut Context<'_, S>) -> Option<Line<'a>> {
    match line(words(arguments)) {
        Ok(line) => return Some(line),
        Err(LineError::NoKey) => cx.line("ERROR"),
        Err(LineError::KeyTooLong) => cx.line(BAD_FORMAT),
        Err(LineError::Flags(error)) => cx.line(error.short_line()),
    }
    None
}

/// Reads key and flags from the words behind the command.
fn line<'a>(mut words: impl Iterator<Item = &'a [u8]>) -> Result<Line<'a>, LineError> {
    let key = words.next().ok_or(LineError::NoKey)?;
    if key.len() > KEY_MAX {
        return Err(LineError::KeyTooLong);
    }
    let flags = Flags::read(words, flags::FLAGS_MAX).map_err(LineError::Flags)?;
    let key = Key::read(key, flags.has(b'b')).ok_or(LineError::Flags(FlagError::Base64))?;
    Ok(Line { key, flags })
}
