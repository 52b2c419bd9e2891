//! Flags of meta commands.

use crate::protocol::words::{i64_of, u32_of, u64_of};
use smallvec::SmallVec;

/// So many flags may a line have; one less where a length stands before them.
pub(crate) const FLAGS_MAX: usize = 17;
/// The longest opaque token, its letter included.
const OPAQUE_MAX: usize = 32;
/// The letters there are.
const LETTERS: &[u8] = b"bcfhklqstuvCDFIJLMNOPRT";

/// Why flags are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FlagError {
    TooMany,
    Duplicate,
    Unknown,
    Token,
    Format,
    Opaque,
    ModeLength,
    Delta,
    Initial,
    Base64,
}

impl FlagError {
    /// The line `mg` and `ms` answer.
    pub(crate) fn line(self) -> &'static str {
        match self {
            FlagError::TooMany => "CLIENT_ERROR options flags too long",
            FlagError::Duplicate => "CLIENT_ERROR duplicate flag",
            FlagError::Unknown => "CLIENT_ERROR invalid flag",
            FlagError::Token => "CLIENT_ERROR bad token in command line format",
            FlagError::Format => "CLIENT_ERROR bad command line format",
            FlagError::Opaque => "CLIENT_ERROR opaque token too long",
            FlagError::ModeLength => "CLIENT_ERROR incorrect length for M token",
            FlagError::Delta => "CLIENT_ERROR invalid numeric delta value",
            FlagError::Initial => "CLIENT_ERROR invalid numeric initial value",
            FlagError::Base64 => "CLIENT_ERROR error decoding key",
        }
    }

    /// The line `ma` and `md` answer.
    pub(crate) fn short_line(self) -> &'static str {
        match self {
            FlagError::TooMany => self.line(),
            _ => "CLIENT_ERROR invalid or duplicate flag",
        }
    }
}

/// The flags of a line.
#[derive(Debug, Default)]
pub(crate) struct Flags<'a> {
    /// As they were given.
    pub(crate) words: SmallVec<[&'a [u8]; FLAGS_MAX]>,
    seen: Seen,
    pub(crate) cas: Option<u64>,
    pub(crate) client_flags: u32,
    pub(crate) seconds: Option<i64>,
    pub(crate) vivify: Option<i64>,
    pub(crate) recache: Option<i64>,
    pub(crate) mode: Option<u8>,
    pub(crate) delta: Option<u64>,
    pub(crate) initial: Option<u64>,
}

/// Letters as a set.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Seen(u128);

impl Seen {
    /// Adds a letter; whether it is new. Letters are ASCII.
    pub(crate) fn add(&mut self, letter: u8) -> bool {
        let bit = 1 << (letter & 127);
        let new = self.0 & bit == 0;
        self.0 |= bit;
        new
    }

    fn has(self, letter: u8) -> bool {
        self.0 & 1 << (letter & 127) != 0
    }
}

impl<'a> Flags<'a> {
    /// Reads flags, in their order.
    pub(crate) fn read(words: impl Iterator<Item = &'a [u8]>, max: usize) -> Result<Self, FlagError> {
        let words: SmallVec<[&[u8]; FLAGS_MAX]> = words.take(max + 1).collect();
        if words.len() > max {
            return Err(FlagError::TooMany);
        }
        let mut flags = Flags::default();
        for word in &words {
            if !LETTERS.contains(&word[0]) {
                return Err(FlagError::Unknown);
            }
            if !flags.seen.add(word[0]) {
                return Err(FlagError::Duplicate);
            }
        }
        // Their tokens are read when all letters are known.
        for word in &words {
            flags.one(word[0], &word[1..])?;
        }
        flags.words = words;
        Ok(flags)
    }

    fn one(&mut self, letter: u8, token: &[u8]) -> Result<(), FlagError> {
        let seconds = || i64_of(token).ok_or(FlagError::Token);
        match letter {
            b'C' => self.cas = Some(u64_of(token).ok_or(FlagError::Token)?),
            b'F' => self.client_flags = u32_of(token).ok_or(FlagError::Format)?,
            b'T' => self.seconds = Some(seconds()?),
            b'N' => self.vivify = Some(seconds()?),
            b'R' => self.recache = Some(seconds()?),
            b'D' => self.delta = Some(u64_of(token).ok_or(FlagError::Delta)?),
            b'J' => self.initial = Some(u64_of(token).ok_or(FlagError::Initial)?),
            b'M' if token.len() == 1 => self.mode = Some(token[0]),
            b'M' => return Err(FlagError::ModeLength),
            b'O' if token.len() >= OPAQUE_MAX => return Err(FlagError::Opaque),
            _ => {}
        }
        Ok(())
    }

    /// Whether a flag was given.
    pub(crate) fn has(&self, letter: u8) -> bool {
        self.seen.has(letter)
    }
}

/// Whether flags only ask for something, so that the command can be one of many in a visit of the store.
pub(crate) fn only_ask<'a>(words: impl Iterator<Item = &'a [u8]>) -> bool {
    let mut seen = Seen::default();
    let mut number = 0;
    for word in words {
        number += 1;
        let asks = match word[0] {
            b'v' | b'f' | b'c' | b't' | b's' | b'k' | b'h' | b'l' | b'u' | b'q' | b'P' | b'L' => true,
            b'O' => word.len() <= OPAQUE_MAX,
            _ => false,
        };
        if !asks || !seen.add(word[0]) || number > FLAGS_MAX {
            return false;
        }
    }
    true
}
