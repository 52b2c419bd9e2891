//! Commands with a value: `set`, `add`, `replace`, `append`, `prepend`, `cas` and `ms`.
//!
//! Where the whole value has come with its line it is kept straight from the input. Otherwise line and value are collected,
//! and the line is read again when the value is whole.

use super::meta;
use super::text::{BAD_FORMAT, Words, is_silent};
use super::words::{KEY_MAX, i64_of, u32_of, u64_of, words};
use super::{Context, expiry};
use crate::protocol::state::{Body, Skip, State, Step};
use crate::store::{Failure, Mode, NewItem, Outcome, Result, Store};

/// What memcached adds to key and value of an item: its limit of item size means the sum.
const ITEM_OVERHEAD: usize = 59;
/// The longest length of a value that is a length.
const LENGTH_MAX: i64 = i32::MAX as i64 - 2;

/// A storage command's line.
#[derive(Debug)]
struct Line<'a> {
    mode: Mode,
    key: &'a [u8],
    flags: u32,
    seconds: i64,
    value_len: usize,
    /// For `cas`: the number the item must have.
    cas: Option<u64>,
    silent: bool,
}

/// Why a line of a storage command is refused.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    /// The line of the answer; empty for none.
    pub(crate) answer: String,
    /// How long the value is that is to be passed over.
    pub(crate) value_len: Option<usize>,
}

impl Refused {
    pub(crate) fn line(answer: &str) -> Self {
        Refused { answer: answer.into(), value_len: None }
    }
}

/// Reads a value's length.
pub(crate) fn length_of(word: &[u8]) -> Option<usize> {
    let length = i64_of(word)?;
    (0..=LENGTH_MAX).contains(&length).then_some(length as usize)
}

/// Whether an item is longer than the limit allows.
pub(crate) fn is_too_large(key: &[u8], value_len: usize, flags: u32, item_size_max: usize) -> bool {
    let flags_len = if flags == 0 { 0 } else { 4 };
    key.len() + value_len + flags_len + ITEM_OVERHEAD > item_size_max
}

fn parse(line: &[u8]) -> std::result::Result<Line<'_>, Refused> {
    let words: Words<'_> = words(line).take(8).collect();
    let is_cas = words[0] == b"cas";
    let wanted = if is_cas { 6..=7 } else { 5..=6 };
    if !wanted.contains(&words.len()) {
        return Err(Refused::line("ERROR"));
    }
    let silent = is_silent(&words);
    let refuse = || Refused::line(if silent { "" } else { BAD_FORMAT });
    let key = words[1];
    if key.len() > KEY_MAX {
        return Err(refuse());
    }
    Ok(Line {
        mode: match words[0] {
            b"add" => Mode::Add,
            b"replace" => Mode::Replace,
            b"append" => Mode::Append,
            b"prepend" => Mode::Prepend,
            _ => Mode::Set,
        },
        key,
        flags: u32_of(words[2]).ok_or_else(refuse)?,
        seconds: i64_of(words[3]).ok_or_else(refuse)?,
        value_len: length_of(words[4]).ok_or_else(refuse)?,
        cas: if is_cas { Some(u64_of(words[5]).ok_or_else(refuse)?) } else { None },
        silent,
    })
}

/// The length of the value a line announces, if it is to be kept.
fn announced(line: &[u8], item_size_max: usize) -> std::result::Result<usize, Refused> {
    if line.starts_with(b"ms ") || line == b"ms" {
        return meta::set::announced(line, item_size_max);
    }
    let line = parse(line)?;
    if is_too_large(line.key, line.value_len, line.flags, item_size_max) {
        let answer = if line.silent { "" } else { "SERVER_ERROR object too large for cache" };
        return Err(Refused { answer: answer.into(), value_len: Some(line.value_len) });
    }
    Ok(line.value_len)
}

/// Does the storage command whose line ends at `end`, if its value is there; else begins to collect it.
pub(crate) fn line<S: Store>(
    state: &mut State,
    line: &[u8],
    data: &[u8],
    end: usize,
    cx: &mut Context<'_, S>,
) -> Step {
    match announced(line, cx.service.limits.item_size_max) {
        Ok(value_len) => {
            let need = value_len + 2;
            if let Some(value) = data[end..].get(..need) {
                finish(line, value, cx);
                return Step::Done(end + need);
            }
            state.body = Some(Body::new(line, &data[end..], need));
            Step::Done(data.len())
        }
        Err(refused) => {
            if refused.value_len.is_some() && refused.answer.starts_with("SERVER_ERROR object too") {
                cx.count_failure(&Failure::TooLarge);
            }
            if !refused.answer.is_empty() {
                cx.line(&refused.answer);
            }
            state.skip = match refused.value_len {
                Some(value_len) => Skip::Bytes(value_len as u64 + 2),
                None => Skip::No,
            };
            Step::Done(end)
        }
    }
}

/// Does a storage command: its line, and its value with the end of line behind it.
pub(crate) fn finish<S: Store>(line: &[u8], value: &[u8], cx: &mut Context<'_, S>) {
    let is_meta = line.starts_with(b"ms ");
    let Some(value) = value.strip_suffix(b"\r\n") else {
        let silent = !is_meta && parse(line).is_ok_and(|line| line.silent);
        if !silent {
            cx.line("CLIENT_ERROR bad data chunk");
        }
        return;
    };
    if is_meta {
        return meta::set::set(line, value, cx);
    }
    // It was read when it came: it can be read again.
    let Ok(line) = parse(line) else { return cx.line(BAD_FORMAT) };
    let outcome = store(&line, value, cx);
    if line.silent {
        return;
    }
    match outcome {
        Ok(Outcome::Done(_)) => cx.line("STORED"),
        Ok(Outcome::NotStored) => cx.line("NOT_STORED"),
        Ok(Outcome::Exists) => cx.line("EXISTS"),
        Ok(Outcome::NotFound) if line.cas.is_some() => cx.line("NOT_FOUND"),
        Ok(Outcome::NotFound) => cx.line("NOT_STORED"),
        Err(failure) => cx.failure(&failure),
    }
}

fn store<S: Store>(line: &Line<'_>, value: &[u8], cx: &mut Context<'_, S>) -> Result<Outcome> {
    let item = NewItem { flags: line.flags, expires: expiry(line.seconds, cx.now), value };
    store_counted(line.mode, line.key, &item, line.cas, cx)
}

/// Keeps an item and counts it. `cas` says that it must have that number; no item has the number 0.
pub(crate) fn store_counted<S: Store>(
    mode: Mode,
    key: &[u8],
    item: &NewItem<'_>,
    cas: Option<u64>,
    cx: &mut Context<'_, S>,
) -> Result<Outcome> {
    let stats = &cx.service.stats;
    stats.cmd_set.add(1);
    let outcome = match cas {
        // To the store, 0 is any number.
        Some(0) => is_there(key, cx).map(|there| if there { Outcome::Exists } else { Outcome::NotFound }),
        cas => cx.store.store(mode, key, item, cas.unwrap_or(0)),
    };
    if cas.is_some() {
        match outcome {
            Ok(Outcome::Done(_)) => stats.cas_hits.add(1),
            Ok(Outcome::NotFound) => stats.cas_misses.add(1),
            Ok(Outcome::Exists) => stats.cas_badval.add(1),
            _ => {}
        }
    }
    outcome
}

/// Whether there is such an item.
fn is_there<S: Store>(key: &[u8], cx: &mut Context<'_, S>) -> Result<bool> {
    let mut there = false;
    cx.store.get(&[key], None, |_, _| {
        there = true;
        std::ops::ControlFlow::Continue(())
    })?;
    Ok(there)
}
