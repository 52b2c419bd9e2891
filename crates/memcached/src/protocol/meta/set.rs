//! `ms`.

use super::{Key, flags::FLAGS_MAX, flags::FlagError, flags::Flags, push_token};
use crate::decimal::push_number;
use crate::marks::Mark;
use crate::protocol::storage::{Refused, is_too_large, length_of, store_counted};
use crate::protocol::text::BAD_FORMAT;
use crate::protocol::words::{KEY_MAX, words};
use crate::protocol::{Context, expiry};
use crate::store::{Mode, NewItem, Outcome, Result, Store};
use std::ops::ControlFlow;

/// How often a change is tried again that others came before.
const TRIES: usize = 16;

/// A line of `ms`.
struct Line<'a> {
    key: Key,
    value_len: usize,
    mode: Mode,
    flags: Flags<'a>,
}

fn parse(line: &[u8]) -> std::result::Result<Line<'_>, Refused> {
    let mut words = words(line).skip(1);
    let key = words.next().ok_or_else(|| Refused::line("ERROR"))?;
    let length = words.next().and_then(length_of);
    let (Some(value_len), true) = (length, key.len() <= KEY_MAX) else {
        return Err(Refused::line(BAD_FORMAT));
    };
    let refuse = |answer: &str| Refused { answer: answer.into(), value_len: Some(value_len) };
    let flags = match Flags::read(words, FLAGS_MAX - 1) {
        Ok(flags) => flags,
        // How long the line is was looked at before the length was believed.
        Err(FlagError::TooMany) => return Err(Refused::line(FlagError::TooMany.line())),
        Err(error) => return Err(refuse(error.line())),
    };
    let key = Key::read(key, flags.has(b'b')).ok_or_else(|| refuse(FlagError::Base64.line()))?;
    let mode = match flags.mode {
        None | Some(b'S') => Mode::Set,
        Some(b'E') => Mode::Add,
        Some(b'R') => Mode::Replace,
        Some(b'A') => Mode::Append,
        Some(b'P') => Mode::Prepend,
        Some(_) => return Err(refuse("CLIENT_ERROR invalid mode for ms M token")),
    };
    Ok(Line { key, value_len, mode, flags })
}

/// The length of the value a line announces, if it is to be kept.
pub(crate) fn announced(line: &[u8], item_size_max: usize) -> std::result::Result<usize, Refused> {
    let line = parse(line)?;
    if is_too_large(&line.key.bytes, line.value_len, line.flags.client_flags, item_size_max) {
        let answer = "SERVER_ERROR object too large for cache".into();
        return Err(Refused { answer, value_len: Some(line.value_len) });
    }
    Ok(line.value_len)
}

/// Does the command: its line, and its value.
pub(crate) fn set<S: Store>(line: &[u8], value: &[u8], cx: &mut Context<'_, S>) {
    // It was read when it came: it can be read again.
    let Ok(line) = parse(line) else { return cx.line(BAD_FORMAT) };
    let flags = &line.flags;
    let seconds = flags.seconds.unwrap_or(0);
    let item = NewItem { flags: flags.client_flags, expires: expiry(seconds, cx.now), value };
    let outcome = match store(&line, &item, cx) {
        Ok(outcome) => outcome,
        Err(failure) => return cx.failure(&failure),
    };
    let (code, cas) = match outcome {
        Outcome::Done(_) if flags.has(b'q') => return,
        Outcome::Done(cas) => (b"HD", cas),
        Outcome::NotStored => (b"NS", 0),
        Outcome::Exists => (b"EX", 0),
        Outcome::NotFound if matches!(line.mode, Mode::Append | Mode::Prepend) => (b"NS", 0),
        Outcome::NotFound => (b"NF", 0),
    };
    cx.out.extend_from_slice(code);
    for flag in &flags.words {
        match flag[0] {
            b'k' => line.key.push(cx.out),
            b'O' => push_token(cx.out, flag),
            b'c' => {
                cx.out.extend_from_slice(b" c");
                push_number(cx.out, cas);
            }
            _ => {}
        }
    }
    cx.line("");
}

fn store<S: Store>(line: &Line<'_>, item: &NewItem<'_>, cx: &mut Context<'_, S>) -> Result<Outcome> {
    let cas = line.flags.cas.filter(|_| line.mode != Mode::Add);
    let outcome = store_counted(line.mode, &line.key.bytes, item, cas, cx)?;
    match (outcome, cas) {
        (Outcome::Exists, Some(cas)) if line.flags.has(b'I') => store_stale(line, item, cas, cx),
        _ => Ok(outcome),
    }
}

/// Keeps a value although the item has changed since: it is better than none, but marked as stale.
fn store_stale<S: Store>(
    line: &Line<'_>,
    item: &NewItem<'_>,
    asked: u64,
    cx: &mut Context<'_, S>,
) -> Result<Outcome> {
    for _ in 0..TRIES {
        let mut there = None;
        cx.store.get(&[&line.key.bytes], None, |_, item| {
            there = Some((item.cas, item.key.to_vec()));
            ControlFlow::Continue(())
        })?;
        let Some((cas, key)) = there else { return Ok(Outcome::NotFound) };
        if asked >= cas {
            return Ok(Outcome::Exists);
        }
        match cx.store.store(line.mode, &line.key.bytes, item, cas)? {
            Outcome::Done(cas) => {
                cx.service.marks.set(&key, Mark { cas, stale: true, won: false });
                return Ok(Outcome::Done(cas));
            }
            Outcome::Exists => {}
            other => return Ok(other),
        }
    }
    Ok(Outcome::Exists)
}
