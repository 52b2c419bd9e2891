//! `md`.

use super::{Line, line_or_answer, push_token};
use crate::marks::Mark;
use crate::protocol::text::delete_counted;
use crate::protocol::{Context, expiry};
use crate::store::{Expiry, Failure, Mode, NewItem, Outcome, Result, Store};
use std::ops::ControlFlow;

/// How often a change is tried again that others came before.
const TRIES: usize = 16;

/// Deletes an item, or marks it as stale.
pub(crate) fn delete<S: Store>(arguments: &[u8], cx: &mut Context<'_, S>) {
    let Some(line) = line_or_answer(arguments, cx) else { return };
    let outcome = if line.flags.has(b'I') { invalidate(&line, cx) } else { plain(&line, cx) };
    let code = match outcome {
        Ok(Outcome::Done(_)) if line.flags.has(b'q') => return,
        Ok(Outcome::Done(_)) => b"HD",
        Ok(Outcome::NotFound) => b"NF",
        Ok(Outcome::Exists | Outcome::NotStored) => b"EX",
        Err(failure) => return cx.failure(&failure),
    };
    cx.out.extend_from_slice(code);
    push_flags(&line, cx);
    cx.line("");
}

/// The flags that come back whatever became of the command.
pub(super) fn push_flags<S>(line: &Line<'_>, cx: &mut Context<'_, S>) {
    for flag in &line.flags.words {
        match flag[0] {
            b'k' => line.key.push(cx.out),
            b'O' => push_token(cx.out, flag),
            _ => {}
        }
    }
}

fn plain<S: Store>(line: &Line<'_>, cx: &mut Context<'_, S>) -> Result<Outcome> {
    if line.flags.cas == Some(0) {
        // To the store, 0 is any number; no item has it.
        let there = look(line, cx)?.is_some();
        return Ok(if there { Outcome::Exists } else { Outcome::NotFound });
    }
    delete_counted(&line.key.bytes, line.flags.cas.unwrap_or(0), cx)
}

/// An item as it is.
struct Present {
    key: Vec<u8>,
    flags: u32,
    cas: u64,
    expires: Expiry,
    value: Vec<u8>,
}

fn look<S: Store>(line: &Line<'_>, cx: &mut Context<'_, S>) -> Result<Option<Present>> {
    let mut present = None;
    cx.store.get(&[&line.key.bytes], None, |_, item| {
        present = Some(Present {
            key: item.key.to_vec(),
            flags: item.flags,
            cas: item.cas,
            expires: item.expires,
            value: item.value.to_vec(),
        });
        ControlFlow::Continue(())
    })?;
    Ok(present)
}

/// Gives the item a new number, perhaps a new end, and marks it as stale.
fn invalidate<S: Store>(line: &Line<'_>, cx: &mut Context<'_, S>) -> Result<Outcome> {
    for _ in 0..TRIES {
        let Some(present) = look(line, cx)? else { return Ok(Outcome::NotFound) };
        if present.cas == 0 {
            let why = "marking items as stale needs a mapping with a cas column";
            return Err(Failure::NotSupported(why.into()));
        }
        if line.flags.cas.is_some_and(|cas| cas != present.cas) {
            return Ok(Outcome::Exists);
        }
        let expires = line.flags.seconds.map_or(present.expires, |seconds| expiry(seconds, cx.now));
        let item = NewItem { flags: present.flags, expires, value: &present.value };
        match cx.store.store(Mode::Set, &line.key.bytes, &item, present.cas)? {
            Outcome::Done(cas) => {
                cx.service.marks.set(&present.key, Mark { cas, stale: true, won: false });
                return Ok(Outcome::Done(cas));
            }
            Outcome::Exists => {}
            other => return Ok(other),
        }
    }
    Ok(Outcome::Exists)
}
