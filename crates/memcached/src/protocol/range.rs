//! Stretches of keys, in the order of the key index: `rget` and `mr`. memcached has nothing like it.
//!
//! ```text
//! rget FROM TO [limit=N] [desc] [keys] [cas]     VALUE key flags bytes [cas] .. END | MORE
//! mr FROM TO flags                               VA size flags / HD flags .. EN | MO
//! ```
//!
//! An end is a key that belongs to the stretch, a key behind `>` or `<` that does not, or `-` for none. `MORE` (`MO`) says
//! that the limit was reached before the end: to go on, the last key that came takes the place of the end it was reached
//! from.

use super::meta::base64;
use super::meta::flags::{FLAGS_MAX, FlagError, Flags};
use super::meta::get::push_property;
use super::run::push_value;
use super::text::{BAD_FORMAT, Words};
use super::words::{KEY_MAX, u64_of, words};
use super::{Context, push_failure};
use crate::decimal::push_number;
use crate::store::{Item, Range, Store};
use std::ops::ControlFlow;

/// So many items come if nothing is said.
const LIMIT_DEFAULT: usize = 100;
/// And at most so many.
const LIMIT_MAX: usize = 10_000;

/// One end of a stretch: the key, and whether it belongs to it. `None`: no end.
type End<'a> = Option<(&'a [u8], bool)>;

/// Reads an end; `sign` leaves the key out, with `=` behind it in.
fn end_of(word: &[u8], sign: u8) -> Option<End<'_>> {
    let (key, included) = match word {
        b"-" => return Some(None),
        [first, b'=', key @ ..] if *first == sign => (key, true),
        [first, key @ ..] if *first == sign => (key, false),
        key => (key, true),
    };
    (1..=KEY_MAX).contains(&key.len()).then_some(Some((key, included)))
}

/// What was asked for.
#[derive(Debug)]
struct Asked<'a> {
    from: End<'a>,
    to: End<'a>,
    descending: bool,
    limit: usize,
}

impl<'a> Asked<'a> {
    /// One more than the limit is looked for: whether there is more is then known.
    fn range(&self) -> Range<'a> {
        Range {
            from: self.from.map(|(key, _)| key),
            from_included: self.from.is_none_or(|(_, included)| included),
            to: self.to.map(|(key, _)| key),
            to_included: self.to.is_none_or(|(_, included)| included),
            descending: self.descending,
            limit: self.limit + 1,
        }
    }

    /// Shows the items; whether there is more.
    fn visit<S: Store>(
        &self,
        cx: &mut Context<'_, S>,
        mut show: impl FnMut(&mut Vec<u8>, &Item<'_>),
    ) -> Result<bool, ()> {
        let full = cx.service.limits.output_max;
        let out = &mut *cx.out;
        let (mut number, mut more) = (0, false);
        let result = cx.store.range(&self.range(), |item| {
            if number == self.limit || number > 0 && out.len() >= full {
                more = true;
                return ControlFlow::Break(());
            }
            number += 1;
            show(out, item);
            ControlFlow::Continue(())
        });
        cx.service.stats.cmd_range.add(1);
        result.map(|()| more).map_err(|failure| push_failure(cx.out, &failure))
    }
}

/// `rget`.
pub(crate) fn text<S: Store>(arguments: &[u8], cx: &mut Context<'_, S>) {
    let arguments: Words<'_> = words(arguments).collect();
    let [from, to, options @ ..] = arguments.as_slice() else { return cx.line("ERROR") };
    let (Some(from), Some(to)) = (end_of(from, b'>'), end_of(to, b'<')) else {
        return cx.line(BAD_FORMAT);
    };
    let mut asked = Asked { from, to, descending: false, limit: LIMIT_DEFAULT };
    let (mut keys, mut cas) = (false, false);
    for &option in options {
        match option {
            b"desc" => asked.descending = true,
            b"keys" => keys = true,
            b"cas" => cas = true,
            _ => match option.strip_prefix(b"limit=").and_then(limit_of) {
                Some(limit) => asked.limit = limit,
                None => return cx.line("CLIENT_ERROR usage: rget FROM TO [limit=N] [desc] [keys] [cas]"),
            },
        }
    }
    let more = asked.visit(cx, |out, item| {
        if keys {
            out.extend_from_slice(b"KEY ");
            out.extend_from_slice(item.key);
            if cas {
                out.push(b' ');
                push_number(out, item.cas);
            }
            out.extend_from_slice(b"\r\n");
        } else {
            push_value(out, item.key, item, cas);
        }
    });
    match more {
        Ok(true) => cx.line("MORE"),
        Ok(false) => cx.line("END"),
        Err(()) => {}
    }
}

fn limit_of(word: &[u8]) -> Option<usize> {
    let limit = usize::try_from(u64_of(word)?).ok()?;
    (1..=LIMIT_MAX).contains(&limit).then_some(limit)
}

/// `mr`: the key always comes back, in base64 with the flag `b`; `N` is the limit, `MD` the descending mode.
pub(crate) fn meta<S: Store>(arguments: &[u8], cx: &mut Context<'_, S>) {
    let mut words = words(arguments);
    let (Some(from), Some(to)) = (words.next(), words.next()) else { return cx.line("ERROR") };
    let flags = match Flags::read(words, FLAGS_MAX - 1) {
        Ok(flags) => flags,
        Err(error) => return cx.line(error.line()),
    };
    let descending = match flags.mode {
        None | Some(b'A') => false,
        Some(b'D') => true,
        Some(_) => return cx.line("CLIENT_ERROR invalid mode for mr M token"),
    };
    let limit = match flags.vivify {
        None => LIMIT_DEFAULT,
        Some(limit) => match usize::try_from(limit) {
            Ok(limit @ 1..=LIMIT_MAX) => limit,
            _ => return cx.line(FlagError::Token.line()),
        },
    };
    let (Some(from), Some(to)) = (end_of(from, b'>'), end_of(to, b'<')) else {
        return cx.line(BAD_FORMAT);
    };
    let is_base64 = flags.has(b'b');
    let (mut from_bytes, mut to_bytes) = (Vec::new(), Vec::new());
    let ends = (plain(from, is_base64, &mut from_bytes), plain(to, is_base64, &mut to_bytes));
    let (Some(from), Some(to)) = ends else { return cx.line(FlagError::Base64.line()) };
    let asked = Asked { from, to, descending, limit };
    let now = cx.now;
    let more = asked.visit(cx, |out, item| push_meta(out, &flags, is_base64, item, now));
    let code = match more {
        Ok(true) => "MO",
        Ok(false) => "EN",
        Err(()) => return,
    };
    cx.out.extend_from_slice(code.as_bytes());
    for flag in flags.words.iter().filter(|flag| flag[0] == b'O') {
        cx.out.push(b' ');
        cx.out.extend_from_slice(flag);
    }
    cx.line("");
}

/// An end as the store knows it.
fn plain<'a>(end: End<'a>, is_base64: bool, bytes: &'a mut Vec<u8>) -> Option<End<'a>> {
    match end {
        Some((key, included)) if is_base64 => {
            base64::decode(key, bytes)?;
            Some(Some((bytes, included)))
        }
        end => Some(end),
    }
}

fn push_meta(out: &mut Vec<u8>, flags: &Flags<'_>, is_base64: bool, item: &Item<'_>, now: u32) {
    let with_value = flags.has(b'v');
    if with_value {
        out.extend_from_slice(b"VA ");
        push_number(out, item.value.len() as u64);
    } else {
        out.extend_from_slice(b"HD");
    }
    out.extend_from_slice(b" k");
    if is_base64 {
        base64::encode(item.key, out);
        out.extend_from_slice(b" b");
    } else {
        out.extend_from_slice(item.key);
    }
    for flag in &flags.words {
        match flag[0] {
            b'O' => {
                out.push(b' ');
                out.extend_from_slice(flag);
            }
            letter => push_property(out, letter, item, now),
        }
    }
    out.extend_from_slice(b"\r\n");
    if with_value {
        out.extend_from_slice(item.value);
        out.extend_from_slice(b"\r\n");
    }
}

#[cfg(test)]
mod tests {
    use super::end_of;

    #[test]
    fn ends_are_in_or_out_or_open() {
        assert_eq!(end_of(b"-", b'>'), Some(None));
        assert_eq!(end_of(b"a", b'>'), Some(Some((&b"a"[..], true))));
        assert_eq!(end_of(b">a", b'>'), Some(Some((&b"a"[..], false))));
        assert_eq!(end_of(b">=a", b'>'), Some(Some((&b"a"[..], true))));
        assert_eq!(end_of(b">=>a", b'>'), Some(Some((&b">a"[..], true))));
        assert_eq!(end_of(b"<a", b'>'), Some(Some((&b"<a"[..], true))));
        assert_eq!(end_of(b">", b'>'), None);
        assert_eq!(end_of(&[b'k'; 251], b'>'), None);
    }
}
