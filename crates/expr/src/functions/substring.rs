//! Text: parts and places.

use super::string::{one_text, text_charset};
use super::{Function, MANY, arg, evals, f};
use crate::EvalCx;
use crate::build::{New, int_type, text_type};
use crate::node::{Data, Expr};
use crate::scope::CompileCx;
use std::borrow::Cow;
use vaquita_engine::text::charset::Charset;
use vaquita_engine::text::collation::Collation;
use vaquita_engine::text::collation::aggregate::Purpose;
use vaquita_types::memory::with_room;
use vaquita_types::{SqlResult, Value};

pub(super) const FUNCTIONS: &[Function] = &[
    f("substring", 2, 3, |cx, _, args| substring(cx, "substr", args)),
    f("substr", 2, 3, substring),
    f("mid", 3, 3, |cx, _, args| substring(cx, "substr", args)),
    f("left", 2, 2, left),
    f("right", 2, 2, right),
    f("locate", 2, 3, |cx, name, mut args| {
        args.swap(0, 1);
        locate(cx, name, args)
    }),
    f("instr", 2, 2, |cx, _, args| locate(cx, "instr", args)),
    f("insert", 4, 4, insert),
    f("substring_index", 3, 3, substring_index),
    f("field", 2, MANY, super::lists::field),
];

fn constant(e: &Expr) -> Option<i64> {
    match e.as_const() {
        Some(Value::Int(v)) => Some(*v),
        _ => None,
    }
}

fn substring(cx: &mut CompileCx<'_>, name: &'static str, args: Vec<Expr>) -> SqlResult<Expr> {
    let by = one_text(cx, &args[0]);
    let mut chars = i64::from(args[0].chars());
    if let Some(start) = constant(&args[1]) {
        chars = if start < 0 {
            if start.abs() > chars { 0 } else { -start }
        } else {
            (chars - start + 1).max(0).min(chars)
        };
    }
    if let Some(count) = args.get(2).and_then(constant) {
        chars = chars.min(count.max(0));
    }
    Ok(New::call(name, text_type(chars as u64, by), args, eval_substring).collated(by).build(cx))
}

fn left(cx: &mut CompileCx<'_>, name: &'static str, args: Vec<Expr>) -> SqlResult<Expr> {
    ends(cx, name, args, eval_left)
}

fn right(cx: &mut CompileCx<'_>, name: &'static str, args: Vec<Expr>) -> SqlResult<Expr> {
    ends(cx, name, args, eval_right)
}

fn ends(
    cx: &mut CompileCx<'_>,
    name: &'static str,
    args: Vec<Expr>,
    eval: crate::node::EvalFn,
) -> SqlResult<Expr> {
    let by = one_text(cx, &args[0]);
    let mut chars = i64::from(args[0].chars());
    if let Some(count) = constant(&args[1]) {
        chars = chars.min(count.max(0));
    }
    Ok(New::call(name, text_type(chars as u64, by), args, eval).collated(by).build(cx))
}

/// Text first, then what is looked for.
fn locate(cx: &mut CompileCx<'_>, name: &'static str, mut args: Vec<Expr>) -> SqlResult<Expr> {
    let [text, what, ..] = &mut args[..] else { return Err(crate::compare::wrong_columns(1)) };
    let by = cx.unify("locate", &mut [text, what], Purpose::Compare)?;
    Ok(New::call(name, int_type(11), args, eval_locate).data(Data::Number(by.collation.into())).build(cx))
}

fn insert(cx: &mut CompileCx<'_>, name: &'static str, mut args: Vec<Expr>) -> SqlResult<Expr> {
    let [text, _, _, new] = &mut args[..] else { return Err(crate::compare::wrong_columns(1)) };
    let by = cx.unify(name, &mut [text, new], Purpose::Text)?;
    let chars = u64::from(args[0].chars()) + u64::from(args[3].chars());
    Ok(New::call(name, text_type(chars, by), args, eval_insert).collated(by).build(cx))
}

fn substring_index(cx: &mut CompileCx<'_>, name: &'static str, mut args: Vec<Expr>) -> SqlResult<Expr> {
    let [text, what, _] = &mut args[..] else { return Err(crate::compare::wrong_columns(1)) };
    let by = cx.unify(name, &mut [text, what], Purpose::Compare)?;
    let chars = u64::from(args[0].chars());
    Ok(New::call(name, text_type(chars, by), args, eval_substring_index).collated(by).build(cx))
}

/// Bytes `from..to` of a text, borrowed if it is.
pub(super) fn part(text: Cow<'_, [u8]>, from: usize, to: usize) -> Value<'_> {
    match text {
        Cow::Borrowed(text) => Value::bytes(&text[from..to]),
        // Where much is cut off the rest does not hold on to all of its memory.
        Cow::Owned(text) if to - from < text.len() / 2 => Value::owned(text[from..to].to_vec()),
        Cow::Owned(mut text) => {
            text.truncate(to);
            text.drain(..from);
            Value::owned(text)
        }
    }
}

fn clamp(v: i128) -> i64 {
    v.clamp(i128::from(i64::MIN) + 1, i128::from(i64::MAX)) as i64
}

evals! {
    eval_substring(e, args, cx, row) {
        let text = arg!(args[0].text(cx, row));
        let start = clamp(arg!(args[1].integer(cx, row)));
        let count = match args.get(2) {
            Some(count) => clamp(arg!(count.integer(cx, row))),
            None => i64::MAX,
        };
        let charset = text_charset(&args[0]);
        if start == 0 || count <= 0 {
            return Ok(Value::bytes(b""));
        }
        let first = if start > 0 {
            (start - 1) as usize
        } else {
            let chars = charset.char_count(&text);
            match chars.checked_sub(start.unsigned_abs() as usize) {
                Some(first) => first,
                None => return Ok(Value::bytes(b"")),
            }
        };
        let from = charset.prefix_len(&text, first);
        let len = charset.prefix_len(&text[from..], usize::try_from(count).unwrap_or(usize::MAX));
        Ok(part(text, from, from + len))
    }
    eval_left(e, args, cx, row) {
        let text = arg!(args[0].text(cx, row));
        let count = clamp(arg!(args[1].integer(cx, row)));
        let to = text_charset(&args[0]).prefix_len(&text, usize::try_from(count).unwrap_or(0));
        Ok(part(text, 0, to))
    }
    eval_right(e, args, cx, row) {
        let text = arg!(args[0].text(cx, row));
        let count = usize::try_from(clamp(arg!(args[1].integer(cx, row)))).unwrap_or(0);
        let charset = text_charset(&args[0]);
        let chars = charset.char_count(&text);
        let from = charset.prefix_len(&text, chars.saturating_sub(count));
        let to = text.len();
        Ok(part(text, from, to))
    }
    eval_locate(e, args, cx, row) {
        let text = arg!(args[0].text(cx, row));
        let what = arg!(args[1].text(cx, row));
        let charset = text_charset(&args[0]);
        let mut from = 0;
        let mut before = 0;
        if let Some(start) = args.get(2) {
            let start = clamp(arg!(start.integer(cx, row)));
            if start <= 0 {
                return Ok(Value::Int(0));
            }
            before = (start - 1) as usize;
            if before > charset.char_count(&text) {
                return Ok(Value::Int(0));
            }
            from = charset.prefix_len(&text, before);
        }
        if what.is_empty() {
            return Ok(Value::Int(before as i64 + 1));
        }
        let collation = Collation::of(e.number() as u16).unwrap_or(Collation::BINARY);
        let found = collation.find_while(&text, &what, from, &mut |bytes| cx.state.worked(bytes))?;
        Ok(Value::Int(found.map_or(0, |at| charset.char_count(&text[..at]) as i64 + 1)))
    }
    eval_insert(e, args, cx, row) {
        let text = arg!(args[0].text(cx, row));
        let at = clamp(arg!(args[1].integer(cx, row)));
        let count = clamp(arg!(args[2].integer(cx, row)));
        let new = arg!(args[3].text(cx, row));
        let charset = text_charset(&args[0]);
        let chars = charset.char_count(&text) as i64;
        if at <= 0 || at > chars + 1 {
            return Ok(Value::Bytes(text));
        }
        let from = charset.prefix_len(&text, (at - 1) as usize);
        let count = if count < 0 { usize::MAX } else { count as usize };
        let gone = charset.prefix_len(&text[from..], count);
        if super::string::too_long(cx, "insert", text.len() - gone + new.len()) {
            return Ok(Value::Null);
        }
        let mut out = with_room(text.len() - gone + new.len())?;
        [&text[..from], &new, &text[from + gone..]].iter().for_each(|part| out.extend_from_slice(part));
        Ok(Value::owned(out))
    }
    eval_substring_index(e, args, cx, row) {
        let text = arg!(args[0].text(cx, row));
        let what = arg!(args[1].text(cx, row));
        let count = clamp(arg!(args[2].integer(cx, row)));
        if what.is_empty() || count == 0 || text.is_empty() {
            return Ok(Value::bytes(b""));
        }
        let charset = text_charset(&args[0]);
        let wanted = count.unsigned_abs() as usize;
        let place = match count > 0 {
            true => nth_place(&text, &what, charset, wanted, cx)?.0,
            false => match nth_place(&text, &what, charset, usize::MAX, cx)?.1.checked_sub(wanted) {
                Some(before) => nth_place(&text, &what, charset, before + 1, cx)?.0,
                None => None,
            },
        };
        let end = text.len();
        Ok(match place {
            None => Value::Bytes(text),
            Some(at) if count > 0 => part(text, 0, at),
            Some(at) => part(text, at + what.len(), end),
        })
    }
}

/// Where `what` starts for the `n`-th time, places that overlap left out, and how often it starts up to there.
fn nth_place(
    text: &[u8],
    what: &[u8],
    charset: Charset,
    n: usize,
    cx: &mut EvalCx<'_>,
) -> SqlResult<(Option<usize>, usize)> {
    let (mut from, mut count) = (0, 0);
    while let Some(at) = super::string::next_whole(&text[from..], what, charset, cx)? {
        count += 1;
        if count == n {
            return Ok((Some(from + at), count));
        }
        from += at + what.len();
        cx.state.worked(at)?;
    }
    Ok((None, count))
}
