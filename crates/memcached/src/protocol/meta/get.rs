//! `mg`.

use super::{LineError, flags, line, push_key, push_token};
use crate::decimal::push_number;
use crate::marks::{Marks, Verdict};
use crate::protocol::Context;
use crate::protocol::run::{Run, Shape};
use crate::protocol::state::Step;
use crate::protocol::text::BAD_FORMAT;
use crate::protocol::words::{KEY_MAX, words};
use crate::protocol::{expiry, seconds_left};
use crate::store::{Expiry, Item, Mode, NewItem, Outcome, Result, Store};
use std::ops::ControlFlow;

/// Whether the command can be one of many in a visit of the store.
pub(crate) fn gathers(arguments: &[u8]) -> bool {
    let mut words = words(arguments);
    words.next().is_some_and(|key| key.len() <= KEY_MAX) && flags::only_ask(words)
}

/// Adds the command, which [`gathers`], to a run.
pub(crate) fn gather<'a>(arguments: &'a [u8], end: usize, run: &mut Run<'a>) -> Step {
    let arguments = &arguments[arguments.iter().take_while(|&&byte| byte == b' ').count()..];
    let key_len = memchr::memchr(b' ', arguments).unwrap_or(arguments.len());
    let (key, flags) = arguments.split_at(key_len);
    run.key(key);
    run.request(Shape::Meta(flags), end);
    Step::Done(end)
}

/// Answers one of a run that was found.
#[inline]
pub(crate) fn push_item(
    out: &mut Vec<u8>,
    key: &[u8],
    flags: &[u8],
    item: &Item<'_>,
    now: u32,
    marks: &Marks,
) {
    let verdict = marks.fetch(item.key, item.cas, false);
    push_found(out, words(flags), (key, false), item, now, verdict);
}

/// Answers one of a run that was not found.
pub(crate) fn push_miss(out: &mut Vec<u8>, key: &[u8], flags: &[u8]) {
    if words(flags).any(|flag| flag[0] == b'q') {
        return;
    }
    push_nothing(out, words(flags), (key, false));
}

/// `VA length flags`, value; or `HD flags` if the value is not wanted.
fn push_found<'a>(
    out: &mut Vec<u8>,
    flags: impl Iterator<Item = &'a [u8]> + Clone,
    (key, base64): (&[u8], bool),
    item: &Item<'_>,
    now: u32,
    verdict: Verdict,
) {
    let with_value = flags.clone().any(|flag| flag[0] == b'v');
    out.reserve(key.len() + if with_value { item.value.len() } else { 0 } + 64);
    if with_value {
        out.extend_from_slice(b"VA ");
        push_number(out, item.value.len() as u64);
    } else {
        out.extend_from_slice(b"HD");
    }
    for flag in flags {
        match flag[0] {
            b'k' => push_key(out, key, base64),
            b'O' => push_token(out, flag),
            letter => push_property(out, letter, item, now),
        }
    }
    out.extend_from_slice(match verdict {
        Verdict { taken: true, stale: true, .. } => b" Z X".as_slice(),
        Verdict { taken: true, .. } => b" Z",
        Verdict { wins: true, stale: true, .. } => b" X W",
        Verdict { wins: true, .. } => b" W",
        Verdict { stale: true, .. } => b" X",
        Verdict { .. } => b"",
    });
    out.extend_from_slice(b"\r\n");
    if with_value {
        out.extend_from_slice(item.value);
        out.extend_from_slice(b"\r\n");
    }
}

/// What a flag asks of an item, if it does.
pub(crate) fn push_property(out: &mut Vec<u8>, letter: u8, item: &Item<'_>, now: u32) {
    let number = match letter {
        b'f' => u64::from(item.flags),
        b'c' => item.cas,
        b's' => item.value.len() as u64,
        b'h' => item.access.is_some_and(|access| access.fetched).into(),
        b'l' => item.access.map_or(0, |access| u64::from(access.idle)),
        b't' => {
            let left = seconds_left(item.expires, now);
            if left < 0 {
                return out.extend_from_slice(b" t-1");
            }
            left as u64
        }
        _ => return,
    };
    out.extend_from_slice(&[b' ', letter]);
    push_number(out, number);
}

fn push_nothing<'a>(out: &mut Vec<u8>, flags: impl Iterator<Item = &'a [u8]>, (key, base64): (&[u8], bool)) {
    out.extend_from_slice(b"EN");
    for flag in flags {
        match flag[0] {
            b'k' => push_key(out, key, base64),
            b'O' => push_token(out, flag),
            _ => {}
        }
    }
    out.extend_from_slice(b"\r\n");
}

/// `mg` with flags that change something, or that are wrong.
pub(crate) fn get<S: Store>(arguments: &[u8], cx: &mut Context<'_, S>) {
    let line = match line(words(arguments)) {
        Ok(line) => line,
        Err(LineError::NoKey) => return cx.line("ERROR"),
        Err(LineError::KeyTooLong) => return cx.line(BAD_FORMAT),
        Err(LineError::Flags(flags::FlagError::TooMany)) => {
            return cx.line("CLIENT_ERROR options flags are too long");
        }
        Err(LineError::Flags(error)) => return cx.line(error.line()),
    };
    let before = cx.out.len();
    let found = match fetch(&line, false, cx) {
        Ok(false) if line.flags.vivify.is_some() => vivify(&line, cx),
        found => found,
    };
    match found {
        Ok(true) => {}
        Ok(false) if line.flags.has(b'q') => {}
        Ok(false) => {
            push_nothing(cx.out, line.flags.words.iter().copied(), (&line.key.shown, line.key.base64));
        }
        Err(failure) => {
            cx.out.truncate(before);
            cx.failure(&failure);
        }
    }
}

/// Answers with the item, if it is there.
fn fetch<S: Store>(line: &super::Line<'_>, created: bool, cx: &mut Context<'_, S>) -> Result<bool> {
    let flags = &line.flags;
    let touch = flags.seconds.map(|seconds| expiry(seconds, cx.now));
    let (now, marks, out) = (cx.now, &cx.service.marks, &mut *cx.out);
    let mut found = false;
    cx.store.get(&[&line.key.bytes], touch, |_, item| {
        found = true;
        let item = Item { expires: touch.unwrap_or(item.expires), ..*item };
        let left = seconds_left(item.expires, now);
        let runs_out = flags.recache.is_some_and(|seconds| (0..seconds).contains(&left));
        let verdict = marks.fetch(item.key, item.cas, created || runs_out);
        let key = (&*line.key.shown, line.key.base64);
        push_found(out, flags.words.iter().copied(), key, &item, now, verdict);
        ControlFlow::Continue(())
    })?;
    let stats = &cx.service.stats;
    let (asked, hits, misses) = match touch {
        Some(_) => (&stats.cmd_touch, &stats.touch_hits, &stats.touch_misses),
        None => (&stats.cmd_get, &stats.get_hits, &stats.get_misses),
    };
    asked.add(1);
    if found {
        hits.add(1)
    } else {
        misses.add(1)
    }
    Ok(found)
}

/// Makes an empty item where there is none; who made it is to fill it.
fn vivify<S: Store>(line: &super::Line<'_>, cx: &mut Context<'_, S>) -> Result<bool> {
    let expires = expiry(line.flags.vivify.unwrap_or(0), cx.now);
    let item = NewItem { flags: 0, expires, value: &[] };
    let outcome = cx.store.store(Mode::Add, &line.key.bytes, &item, 0)?;
    let created = matches!(outcome, Outcome::Done(_));
    // What has expired at once is told from here.
    if expires == Expiry(1) && created {
        return Ok(false);
    }
    fetch(line, created, cx)
}
