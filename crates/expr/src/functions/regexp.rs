//! REGEXP_LIKE, REGEXP_INSTR, REGEXP_SUBSTR, REGEXP_REPLACE of MySQL 8.0.
//!
//! Places are counted in characters. Texts of character sets other than Unicode's are looked at as UTF-8.

use super::{Function, arg, evals, f};
use crate::automaton::Automaton;
use crate::build::{New, charset_of, int_type, text_type};
use crate::node::{Constness, Data, EvalFn, Expr};
use crate::scope::CompileCx;
use crate::{EvalCx, Row};
use std::borrow::Cow;
use std::sync::Arc;
use vaquita_engine::text::charset::Charset;
use vaquita_engine::text::collation::Collation;
use vaquita_engine::text::collation::aggregate::Purpose;
use vaquita_types::{Kind, SqlError, SqlResult, SqlType, Value};

pub(super) const FUNCTIONS: &[Function] = &[
    f("regexp_like", 2, 3, |cx, name, args| {
        let mut e = number(cx, name, args, 2, eval_like)?;
        e.info.truth = true;
        Ok(e)
    }),
    f("regexp_instr", 2, 6, |cx, name, args| number(cx, name, args, 2, eval_instr)),
    f("regexp_substr", 2, 5, |cx, name, args| text(cx, name, args, 2, eval_substr)),
    f("regexp_replace", 3, 6, |cx, name, args| text(cx, name, args, 3, eval_replace)),
];

/// A collation of UTF-8 that tells letters apart as another one does.
fn in_utf8(collation: u16) -> u16 {
    let binary = Collation::of(collation).is_none_or(|c| c.is_binary());
    if binary { Charset::UTF8MB4.binary_collation() } else { 45 }
}

/// Brings the first arguments, which are texts, together, and prepares a pattern that is constant.
fn texts(
    cx: &mut CompileCx<'_>,
    name: &'static str,
    args: &mut [Expr],
    texts: usize,
) -> SqlResult<(u16, Data)> {
    let args = &mut args[..texts];
    let connection = crate::env::collation_connection(cx.session.state);
    for e in args.iter_mut() {
        if !e.is_text() && e.ty.kind != Kind::Null {
            let taken = std::mem::replace(e, Expr::null());
            *e = cx.converted(taken, connection);
        }
    }
    let by = cx.unify_all(name, args, Purpose::Compare)?;
    let charset = charset_of(by.collation);
    let mut collation = by.collation;
    let is_utf8 = charset == Charset::UTF8 || charset == Charset::UTF8MB4;
    if !is_utf8 && charset != Charset::BINARY {
        collation = in_utf8(by.collation);
        args.iter_mut().for_each(|e| cx.convert_in_place(e, collation));
    }
    Ok((collation, Data::Number(collation.into())))
}

/// With a constant pattern and constant flags the expression is compiled once.
fn prepared(args: &[Expr], flags: Option<usize>, collation: u16, name: &str, data: Data) -> SqlResult<Data> {
    let Some(Value::Bytes(pattern)) = args[1].as_const() else { return Ok(data) };
    let flags = match flags.and_then(|at| args.get(at)) {
        None => &b""[..],
        Some(e) => match e.as_const() {
            Some(Value::Bytes(flags)) => flags,
            _ => return Ok(data),
        },
    };
    compiled(pattern, flags, collation, name).map(|regex| Data::Regex(Arc::new(regex)))
}

/// Which argument has the flags.
fn flags_at(name: &str) -> usize {
    match name {
        "regexp_like" => 2,
        "regexp_substr" => 4,
        _ => 5,
    }
}

fn number(
    cx: &mut CompileCx<'_>,
    name: &'static str,
    mut args: Vec<Expr>,
    of_text: usize,
    eval: EvalFn,
) -> SqlResult<Expr> {
    let (collation, data) = texts(cx, name, &mut args, of_text)?;
    let data = prepared(&args, Some(flags_at(name)), collation, name, data)?;
    let digits = if name == "regexp_like" { 1 } else { 21 };
    Ok(New::call(name, int_type(digits), args, eval).data(data).at_least(Constness::Const).build(cx))
}

fn text(
    cx: &mut CompileCx<'_>,
    name: &'static str,
    mut args: Vec<Expr>,
    of_text: usize,
    eval: EvalFn,
) -> SqlResult<Expr> {
    let (collation, data) = texts(cx, name, &mut args, of_text)?;
    let data = prepared(&args, Some(flags_at(name)), collation, name, data)?;
    let by = args[0].collated(cx);
    let ty = match name {
        "regexp_replace" => SqlType { length: u32::MAX, ..text_type(u64::from(u32::MAX), by) },
        _ => text_type(args[0].chars().into(), by),
    };
    Ok(New::call(name, ty, args, eval).collated(by).data(data).nullable().build(cx))
}

/// Error 1210.
fn wrong_arguments(name: &str) -> SqlError {
    SqlError::new(1210, format!("Incorrect arguments to {name}"))
}

/// Compiles a pattern with the flags of a call: `c`, `i`, `m`, `n`, `u`.
fn compiled(pattern: &[u8], flags: &[u8], collation: u16, name: &str) -> SqlResult<Automaton> {
    if pattern.is_empty() {
        return Err(SqlError::new(3685, "Illegal argument to a regular expression."));
    }
    let collation = Collation::of(collation).unwrap_or(Collation::BINARY);
    let charset = charset_of(collation.id());
    let unicode = charset.is_unicode() && std::str::from_utf8(pattern).is_ok();
    let mut ignore_case = !collation.is_binary() && charset != Charset::BINARY;
    let (mut lines, mut any, mut unix) = (false, false, false);
    for flag in flags {
        match flag {
            b'c' => ignore_case = false,
            b'i' => ignore_case = true,
            b'm' => lines = true,
            b'n' => any = true,
            b'u' => unix = true,
            _ => return Err(wrong_arguments(name)),
        }
    }
    let source = match unicode {
        true => String::from_utf8_lossy(pattern).into_owned(),
        false => pattern.iter().map(|&b| bare(b)).collect(),
    };
    let mut on = String::new();
    on.extend(lines.then_some('m'));
    // Without a flag a line ends with any of Unicode's ends of lines; here with CR and LF.
    on.extend((!unix).then_some('R'));
    on.extend(any.then_some('s'));
    let off = if any { "" } else { "-s" };
    Automaton::with_syntax(format!("(?{on}{off}){source}"), unicode, ignore_case)
        .map_err(|what| refused(&what))
}

/// A byte of a pattern that is not UTF-8.
fn bare(byte: u8) -> String {
    match byte.is_ascii() {
        true => char::from(byte).to_string(),
        false => format!(r"(?-u:\x{byte:02X})"),
    }
}

/// What is wrong with a pattern, in 8.0's words.
fn refused(what: &str) -> SqlError {
    let has = |part: &str| what.contains(part);
    let (code, text) = if has("look-around") {
        return SqlError::unsupported("look-around in regular expressions");
    } else if has("backreferences") {
        return SqlError::unsupported("back-references in regular expressions");
    } else if has("unclosed group") || has("unopened group") {
        (3691, "Mismatched parenthesis in regular expression.")
    } else if has("unclosed character class") {
        (3696, "The regular expression contains an unclosed bracket expression.")
    } else if has("invalid character class range") {
        (3697, "The regular expression contains an [x-y] character range where x comes after y.")
    } else if has("invalid repetition count range") {
        (3693, "The maximum is less than the minimum in a {min,max} interval.")
    } else if has("counted repetition") || has("repetition quantifier expects a valid decimal") {
        (3692, "Incorrect description of a {min,max} interval.")
    } else if has("unrecognized escape sequence") {
        (3689, "Unrecognized escape sequence in regular expression.")
    } else if has("size limit") {
        (3700, "The regular expression pattern exceeds limits on size or complexity.")
    } else {
        (3688, "Syntax error in regular expression on line 1, character 1.")
    };
    SqlError::new(code, text)
}

/// An expression that is compiled already, or was for this row.
enum Ready<'r> {
    Once(&'r Automaton),
    Now(Box<Automaton>),
}

impl Ready<'_> {
    fn get(&self) -> &Automaton {
        match self {
            Ready::Once(regex) => regex,
            Ready::Now(regex) => regex,
        }
    }
}

/// The expression of a call; `None`: the pattern or the flags are NULL.
fn ready<'r>(
    e: &'r Expr,
    args: &'r [Expr],
    name: &str,
    cx: &mut EvalCx<'_>,
    row: &'r Row<'r>,
) -> SqlResult<Option<Ready<'r>>> {
    if let Some(regex) = e.regex() {
        return Ok(Some(Ready::Once(regex)));
    }
    let Some(pattern) = args[1].text(cx, row)? else { return Ok(None) };
    let flags = match args.get(flags_at(name)) {
        Some(flags) => flags.text(cx, row)?,
        None => Some((&b""[..]).into()),
    };
    let Some(flags) = flags else { return Ok(None) };
    // The last one of several that contradict each other counts, whatever is behind the character set.
    let regex = compiled(&pattern, &flags, args[0].ty().collation, name)?;
    Ok(Some(Ready::Now(Box::new(regex))))
}

/// The text that is searched, and what for; `None`: something of it is NULL.
fn searched<'r>(
    e: &'r Expr,
    args: &'r [Expr],
    name: &str,
    cx: &mut EvalCx<'_>,
    row: &'r Row<'r>,
) -> SqlResult<Option<(Cow<'r, [u8]>, Ready<'r>)>> {
    let Some(text) = args[0].text(cx, row)? else { return Ok(None) };
    Ok(ready(e, args, name, cx, row)?.map(|regex| (text, regex)))
}

/// The position of a search and the number of the match, which may be left out: arguments from `at` on.
fn place(
    args: &[Expr],
    at: usize,
    default: i128,
    cx: &mut EvalCx<'_>,
    row: &Row<'_>,
) -> SqlResult<Option<(i128, i128)>> {
    let Some(position) = optional(args, at, 1, cx, row)? else { return Ok(None) };
    Ok(optional(args, at + 1, default, cx, row)?.map(|number| (position, number)))
}

/// A whole number that may be left out; `None`: it is NULL.
fn optional(
    args: &[Expr],
    at: usize,
    default: i128,
    cx: &mut EvalCx<'_>,
    row: &Row<'_>,
) -> SqlResult<Option<i128>> {
    args.get(at).map_or(Ok(Some(default)), |e| e.integer(cx, row))
}

/// The byte at which the search begins.
///
/// # Errors
/// 1210 of a position below 1; 3686 of one behind the text.
fn start(text: &[u8], position: i128, charset: Charset, name: &str) -> SqlResult<usize> {
    if position < 1 {
        return Err(wrong_arguments(name));
    }
    let chars = usize::try_from(position - 1).unwrap_or(usize::MAX);
    if chars > charset.char_count(text) {
        return Err(SqlError::new(3686, "Index out of bounds in regular expression search."));
    }
    Ok(charset.prefix_len(text, chars))
}

/// The match of that number, from 1, of those from a byte on.
fn occurrence(
    regex: &Automaton,
    text: &[u8],
    mut from: usize,
    number: i128,
    cx: &mut EvalCx<'_>,
) -> SqlResult<Option<(usize, usize)>> {
    for at in 1.. {
        cx.state.worked(text.len() - from)?;
        let Some((begin, end)) = regex.find_at(text, from) else { return Ok(None) };
        if at >= number {
            return Ok(Some((begin, end)));
        }
        if begin == end && end == text.len() {
            return Ok(None);
        }
        from = if begin == end { end + char_len(text, end) } else { end };
    }
    Ok(None)
}

/// Bytes of the character there.
fn char_len(text: &[u8], at: usize) -> usize {
    Charset::UTF8MB4.char_len(&text[at..]).unwrap_or(1)
}

evals! {
    eval_like(e, args, cx, row) {
        let (text, regex) = arg!(searched(e, args, "regexp_like", cx, row));
        Ok(Value::bool(regex.get().is_match(&text, cx)?))
    }
    eval_instr(e, args, cx, row) {
        let (text, regex) = arg!(searched(e, args, "regexp_instr", cx, row));
        let (position, number) = arg!(place(args, 2, 1, cx, row));
        let after = arg!(optional(args, 4, 0, cx, row));
        if !(0..=1).contains(&after) {
            return Err(wrong_arguments("regexp_instr"));
        }
        let charset = charset_of(args[0].ty().collation);
        let from = start(&text, position, charset, "regexp_instr")?;
        let found = occurrence(regex.get(), &text, from, number, cx)?;
        Ok(Value::Int(found.map_or(0, |(begin, end)| {
            let at = if after == 1 { end } else { begin };
            charset.char_count(&text[..at]) as i64 + 1
        })))
    }
    eval_substr(e, args, cx, row) {
        let (text, regex) = arg!(searched(e, args, "regexp_substr", cx, row));
        let (position, number) = arg!(place(args, 2, 1, cx, row));
        let charset = charset_of(args[0].ty().collation);
        let from = start(&text, position, charset, "regexp_substr")?;
        let found = occurrence(regex.get(), &text, from, number, cx)?;
        Ok(found.map_or(Value::Null, |(begin, end)| Value::owned(text[begin..end].to_vec())))
    }
    eval_replace(e, args, cx, row) {
        let (text, regex) = arg!(searched(e, args, "regexp_replace", cx, row));
        let by = arg!(args[2].text(cx, row));
        let (position, number) = arg!(place(args, 3, 0, cx, row));
        let charset = charset_of(args[0].ty().collation);
        // Behind an empty text there is nothing to be replaced, and nothing wrong.
        let from = if text.is_empty() && position == 1 { 0 } else { start(&text, position, charset, "regexp_replace")? };
        let out = replaced(regex.get(), &text, from, number, &by, cx)?;
        if super::string::too_long(cx, "regexp_replace", out.len()) {
            return Ok(Value::Null);
        }
        Ok(Value::owned(out))
    }
}

/// The text with one match (`number`, from 1), or all of them (0), replaced.
fn replaced(
    regex: &Automaton,
    text: &[u8],
    mut from: usize,
    number: i128,
    by: &[u8],
    cx: &mut EvalCx<'_>,
) -> SqlResult<Vec<u8>> {
    let mut out = vaquita_types::memory::with_room(text.len())?;
    out.extend_from_slice(&text[..from]);
    let mut at = 0;
    while let Some(groups) = regex.captures_at(text, from) {
        cx.state.worked(text.len() - from)?;
        vaquita_types::memory::check(out.len())?;
        let (begin, end) = groups[0].unwrap_or((text.len(), text.len()));
        at += 1;
        out.extend_from_slice(&text[from..begin]);
        match number <= 0 || at == number {
            true => insert(text, &groups, by, &mut out)?,
            false => out.extend_from_slice(&text[begin..end]),
        }
        from = end;
        if begin == end {
            if end == text.len() {
                return Ok(out);
            }
            from += char_len(text, end);
            out.extend_from_slice(&text[end..from]);
        }
        if number > 0 && at == number {
            break;
        }
    }
    out.extend_from_slice(&text[from..]);
    Ok(out)
}

/// What a match is replaced by: `$1` is what a group has found, a backslash takes the meaning from what follows.
///
/// # Errors
/// 3686: there is no such group.
fn insert(text: &[u8], groups: &[Option<(usize, usize)>], by: &[u8], out: &mut Vec<u8>) -> SqlResult<()> {
    let mut rest = by;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b'\\' => {
                if let Some((&next, after)) = rest.split_first() {
                    out.push(next);
                    rest = after;
                }
            }
            b'$' => {
                let mut group = None;
                // As many digits as there are groups for.
                while let Some((digit, after)) =
                    rest.split_first().filter(|(digit, _)| digit.is_ascii_digit())
                {
                    let wider = group.unwrap_or(0) * 10 + usize::from(digit - b'0');
                    if group.is_some() && wider >= groups.len() {
                        break;
                    }
                    (group, rest) = (Some(wider), after);
                }
                let group = group.and_then(|at| groups.get(at)).ok_or_else(|| {
                    SqlError::new(3686, "Index out of bounds in regular expression search.")
                })?;
                if let Some((begin, end)) = *group {
                    out.extend_from_slice(&text[begin..end]);
                }
            }
            _ => out.push(byte),
        }
    }
    Ok(())
}
