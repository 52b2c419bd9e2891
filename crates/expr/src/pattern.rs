//! LIKE and REGEXP.

use super::automaton::Automaton;
use super::build::{New, charset_of, int_type};
use super::node::{Constness, Data, Expr, Like, Node};
use super::row::Row;
use super::scope::CompileCx;
use super::{EvalCx, env};
use std::sync::Arc;
use vaquita_engine::text::charset::Charset;
use vaquita_engine::text::collation::Collation;
use vaquita_engine::text::collation::aggregate::Purpose;
use vaquita_types::{SqlError, SqlMode, SqlResult, Value};

/// `x LIKE pattern [ESCAPE escape]`.
///
/// # Errors
/// 1210 an escape that is no constant character; collations.
pub(super) fn like(
    cx: &mut CompileCx<'_>,
    negated: bool,
    x: Expr,
    pattern: Expr,
    escape: Option<Expr>,
) -> SqlResult<Expr> {
    let mut args = [text_of(cx, x), text_of(cx, pattern)];
    let [a, b] = &mut args;
    let by = cx.unify("like", &mut [a, b], Purpose::Compare)?;
    let escape = match escape {
        None if env::sql_mode(cx.session.state).has(SqlMode::NO_BACKSLASH_ESCAPES) => None,
        None => Some(u32::from(b'\\')),
        Some(e) => escape_code(cx, &e, by.collation)?,
    };
    let node = Node::Like(Box::new(Like { args, escape, collation: by.collation, negated }));
    Ok(cx.truth(node))
}

/// Numbers and times as text.
fn text_of(cx: &mut CompileCx<'_>, e: Expr) -> Expr {
    if e.is_text() || e.ty.kind == vaquita_types::Kind::Null {
        return e;
    }
    let collation = env::collation_connection(cx.session.state);
    cx.converted(e, collation)
}

fn escape_code(cx: &mut CompileCx<'_>, e: &Expr, collation: u16) -> SqlResult<Option<u32>> {
    let wrong = || SqlError::new(1210, "Incorrect arguments to ESCAPE");
    if e.constness() == Constness::Row {
        return Err(wrong());
    }
    let Some(v) = e.as_const() else {
        return if e.constness() == Constness::Const { Err(wrong()) } else { Ok(Some(u32::from(b'\\'))) };
    };
    if v.is_null() {
        return Ok(Some(u32::from(b'\\')));
    }
    let text = v.to_text(&e.ty);
    let charset = charset_of(collation);
    let no_backslash = env::sql_mode(cx.session.state).has(SqlMode::NO_BACKSLASH_ESCAPES);
    match charset.char_count(&text) {
        0 if no_backslash => Err(wrong()),
        0 => Ok(None),
        1 => Ok(Some(charset.code(&text).0)),
        _ => Err(wrong()),
    }
}

/// `x REGEXP pattern`.
///
/// # Errors
/// 1139 a constant pattern that is none; collations.
pub(super) fn regexp(cx: &mut CompileCx<'_>, x: Expr, pattern: Expr) -> SqlResult<Expr> {
    let mut args = vec![text_of(cx, x), text_of(cx, pattern)];
    let by = cx.unify_all("regexp", &mut args, Purpose::Compare)?;
    let mut data = Data::None;
    if let Some(Value::Bytes(text)) = args[1].as_const() {
        data = Data::Regex(Arc::new(compiled(text, by.collation)?));
    }
    let prepared = matches!(data, Data::Regex(_));
    let data = if prepared { data } else { Data::Number(by.collation.into()) };
    let mut e = New::call("regexp", int_type(1), args, eval_regexp).data(data).build(cx);
    e.info.truth = true;
    Ok(e)
}

fn eval_regexp<'r>(
    e: &'r Expr,
    args: &'r [Expr],
    cx: &mut EvalCx<'_>,
    row: &'r Row<'r>,
) -> SqlResult<Value<'r>> {
    let Some(text) = args[0].text(cx, row)? else { return Ok(Value::Null) };
    if let Some(regex) = e.regex() {
        return Ok(Value::bool(regex.is_match(&text, cx)?));
    }
    let Some(pattern) = args[1].text(cx, row)? else { return Ok(Value::Null) };
    let regex = compiled(&pattern, e.number() as u16)?;
    Ok(Value::bool(regex.is_match(&text, cx)?))
}

/// A pattern in the syntax of 5.6 (POSIX extended, with `[[:<:]]` and `[[:>:]]`) made a regular expression.
///
/// # Errors
/// 1139.
fn compiled(pattern: &[u8], collation: u16) -> SqlResult<Automaton> {
    if pattern.is_empty() {
        return Err(SqlError::new(1139, "Got error 'empty (sub)expression' from regexp"));
    }
    let collation = Collation::of(collation).unwrap_or(Collation::BINARY);
    let charset = charset_of(collation.id());
    let unicode = charset.is_unicode() && std::str::from_utf8(pattern).is_ok();
    let source = translated(pattern, unicode);
    let ignore_case = !collation.is_binary() && charset != Charset::BINARY;
    Automaton::new(source, unicode, ignore_case)
        .ok_or_else(|| SqlError::new(1139, format!("Got error '{}' from regexp", complaint(pattern))))
}

/// The pattern in the syntax of the `regex` crate.
fn translated(pattern: &[u8], unicode: bool) -> String {
    let mut out = String::with_capacity(pattern.len() + 8);
    let mut rest = pattern;
    let mut in_brackets = false;
    while let Some(&b) = rest.first() {
        if !in_brackets {
            if rest.starts_with(b"[[:<:]]") {
                out.push_str(r"\b{start}");
                rest = &rest[7..];
                continue;
            }
            if rest.starts_with(b"[[:>:]]") {
                out.push_str(r"\b{end}");
                rest = &rest[7..];
                continue;
            }
        }
        match b {
            b'[' if in_brackets && rest.get(1) == Some(&b':') => {
                // A class: `[:alpha:]` up to its end.
                let end = rest.windows(2).position(|w| w == b":]").map_or(rest.len(), |at| at + 2);
                out.push_str(&String::from_utf8_lossy(&rest[..end]));
                rest = &rest[end..];
                continue;
            }
            b'[' if in_brackets => out.push_str(r"\["),
            b'[' => {
                in_brackets = true;
                out.push('[');
                rest = &rest[1..];
                if rest.first() == Some(&b'^') {
                    out.push('^');
                    rest = &rest[1..];
                }
                if rest.first() == Some(&b']') {
                    out.push_str(r"\]");
                    rest = &rest[1..];
                }
                continue;
            }
            b']' if in_brackets => {
                in_brackets = false;
                out.push(']');
            }
            // In brackets a backslash is itself; outside it quotes the next character.
            b'\\' if in_brackets => out.push_str(r"\\"),
            b'\\' => {
                let Some(&next) = rest.get(1) else {
                    out.push('\\');
                    break;
                };
                if next.is_ascii_alphanumeric() || next == b'_' {
                    out.push(char::from(next));
                    rest = &rest[2..];
                } else if next.is_ascii() {
                    out.push('\\');
                    out.push(char::from(next));
                    rest = &rest[2..];
                } else {
                    rest = &rest[1..];
                }
                continue;
            }
            b'&' | b'~' if in_brackets => {
                out.push('\\');
                out.push(char::from(b));
            }
            b'{' if !rest.get(1).is_some_and(u8::is_ascii_digit) => out.push_str(r"\{"),
            0x80.. if !unicode => out.push_str(&format!(r"(?-u:\x{b:02X})")),
            0x80.. => {
                let len = Charset::UTF8MB4.char_len(rest).unwrap_or(1);
                out.push_str(&String::from_utf8_lossy(&rest[..len]));
                rest = &rest[len..];
                continue;
            }
            _ => out.push(char::from(b)),
        }
        rest = &rest[1..];
    }
    out
}

/// What the server's library says of a pattern that is none.
fn complaint(pattern: &[u8]) -> &'static str {
    let count = |wanted: u8| pattern.iter().filter(|&&b| b == wanted).count();
    if count(b'[') > count(b']') {
        "brackets ([ ]) not balanced"
    } else if count(b'(') != count(b')') {
        "parentheses not balanced"
    } else if pattern.last() == Some(&b'\\') {
        "trailing backslash (\\)"
    } else if pattern.first().is_some_and(|b| b"*+?".contains(b)) {
        "repetition-operator operand invalid"
    } else if count(b'{') > count(b'}') {
        "braces not balanced"
    } else {
        "invalid repetition count(s)"
    }
}
