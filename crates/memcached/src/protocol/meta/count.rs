//! `ma`.

use super::delete::push_flags;
use super::{Line, get, line_or_answer, push_token};
use crate::decimal::push_number;
use crate::protocol::text::{NOT_NUMERIC, count_statistics};
use crate::protocol::{Context, expiry};
use crate::store::{Count, Counted, Expiry, Item, Outcome, Result, Store};
use std::ops::ControlFlow;

/// Counts up or down.
pub(crate) fn count<S: Store>(arguments: &[u8], cx: &mut Context<'_, S>) {
    let Some(line) = line_or_answer(arguments, cx) else { return };
    let down = match line.flags.mode {
        None | Some(b'I' | b'+') => false,
        Some(b'D' | b'-') => true,
        Some(_) => return cx.line("CLIENT_ERROR invalid mode for ma M token"),
    };
    let counted = change(&line, down, cx);
    count_statistics(down, &counted, cx);
    let code = match counted {
        Ok(Counted::Done(number, cas)) => return done(&line, number, cas, cx),
        Ok(Counted::NotANumber) => return cx.line(NOT_NUMERIC),
        Ok(Counted::Not(Outcome::NotFound)) => b"NF",
        Ok(Counted::Not(Outcome::Exists)) => b"EX",
        Ok(Counted::Not(_)) => b"NS",
        Err(failure) => return cx.failure(&failure),
    };
    cx.out.extend_from_slice(code);
    push_flags(&line, cx);
    cx.line("");
}

fn change<S: Store>(line: &Line<'_>, down: bool, cx: &mut Context<'_, S>) -> Result<Counted> {
    let flags = &line.flags;
    let count = Count {
        delta: flags.delta.unwrap_or(1),
        down,
        initial: flags.vivify.map(|seconds| (flags.initial.unwrap_or(0), expiry(seconds, cx.now))),
        expires: flags.seconds.map(|seconds| expiry(seconds, cx.now)),
        // Here 0 is any number to memcached, too.
        cas: flags.cas.unwrap_or(0),
    };
    cx.store.count(&line.key.bytes, &count)
}

/// When the item ends, if it is there.
fn ends<S: Store>(line: &Line<'_>, cx: &mut Context<'_, S>) -> Result<Option<Expiry>> {
    let mut ends = None;
    cx.store.get(&[&line.key.bytes], None, |_, item| {
        ends = Some(item.expires);
        ControlFlow::Continue(())
    })?;
    Ok(ends)
}

fn done<S: Store>(line: &Line<'_>, number: u64, cas: u64, cx: &mut Context<'_, S>) {
    let flags = &line.flags;
    if flags.has(b'q') {
        return;
    }
    let expires = if flags.has(b't') { ends(line, cx) } else { Ok(None) };
    let expires = match expires {
        Ok(expires) => expires.unwrap_or_default(),
        Err(failure) => return cx.failure(&failure),
    };
    let mut digits = Vec::with_capacity(20);
    push_number(&mut digits, number);
    let item = Item { key: &line.key.bytes, flags: 0, cas, expires, access: None, value: &digits };
    if flags.has(b'v') {
        cx.out.extend_from_slice(b"VA ");
        push_number(cx.out, digits.len() as u64);
    } else {
        cx.out.extend_from_slice(b"HD");
    }
    for flag in &flags.words {
        match flag[0] {
            b'k' => line.key.push(cx.out),
            b'O' => push_token(cx.out, flag),
            letter @ (b't' | b'c') => get::push_property(cx.out, letter, &item, cx.now),
            _ => {}
        }
    }
    cx.line("");
    if flags.has(b'v') {
        cx.out.extend_from_slice(&digits);
        cx.line("");
    }
}
