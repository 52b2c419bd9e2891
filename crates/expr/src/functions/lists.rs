//! Choosing from lists: FIELD, ELT, FIND_IN_SET, MAKE_SET, EXPORT_SET, INTERVAL.

use super::string::too_long;
use super::{Function, MANY, arg, evals, f};
use crate::build::{New, charset_of, int_type, text_type};
use crate::eval;
use crate::node::{CompareAs, Data, Expr, Node};
use crate::scope::CompileCx;
use vaquita_engine::lower::charset::{self, Charset};
use vaquita_engine::text::collation::Collation;
use vaquita_engine::text::collation::aggregate::Purpose;
use vaquita_types::memory::{append, with_room};
use vaquita_types::{SqlResult, Value};

pub(super) const FUNCTIONS: &[Function] = &[
    f("elt", 2, MANY, elt),
    f("find_in_set", 2, 2, find_in_set),
    f("make_set", 2, MANY, make_set),
    f("export_set", 3, 5, export_set),
    f("interval", 1, MANY, interval),
];

/// FIELD(): all text: compared as text; all integers: as such; else as DOUBLE.
pub(super) fn field(cx: &mut CompileCx<'_>, name: &'static str, mut args: Vec<Expr>) -> SqlResult<Expr> {
    let how = if args.iter().all(Expr::is_text) {
        CompareAs::Text(cx.unify_all(name, &mut args, Purpose::Compare)?.collation)
    } else if args.iter().all(|e| e.ty().kind.is_integer()) {
        CompareAs::Int
    } else if args.iter().all(|e| e.ty().kind.is_integer() || e.ty().kind == vaquita_types::Kind::Decimal) {
        CompareAs::Decimal
    } else {
        CompareAs::Double
    };
    let data = Data::Compare([how].into());
    Ok(New::call(name, int_type(3), args, eval_field).data(data).build_not_null(cx))
}

fn elt(cx: &mut CompileCx<'_>, name: &'static str, mut args: Vec<Expr>) -> SqlResult<Expr> {
    let by = cx.unify_all(name, &mut args[1..], Purpose::Text)?;
    let chars = args[1..].iter().map(Expr::chars).max().unwrap_or(0);
    Ok(New::call(name, text_type(chars.into(), by), args, eval_elt).collated(by).nullable().build(cx))
}

fn find_in_set(cx: &mut CompileCx<'_>, name: &'static str, mut args: Vec<Expr>) -> SqlResult<Expr> {
    let by = cx.unify_all(name, &mut args, Purpose::Compare)?;
    let data = Data::Number(by.collation.into());
    Ok(New::call(name, int_type(3), args, eval_find_in_set).data(data).build(cx))
}

fn make_set(cx: &mut CompileCx<'_>, name: &'static str, mut args: Vec<Expr>) -> SqlResult<Expr> {
    let by = cx.unify_all(name, &mut args[1..], Purpose::Text)?;
    let chars = args[1..].iter().map(|e| u64::from(e.chars())).sum::<u64>() + args.len() as u64 - 2;
    let nullable = args[0].ty().nullable;
    let new = New::call(name, text_type(chars, by), args, eval_make_set).collated(by);
    Ok(if nullable { new.nullable().build_not_null(cx) } else { new.build_not_null(cx) })
}

fn export_set(cx: &mut CompileCx<'_>, name: &'static str, mut args: Vec<Expr>) -> SqlResult<Expr> {
    let end = args.len().min(4);
    let by = cx.unify_all(name, &mut args[1..end], Purpose::Text)?;
    let longest = args[1].chars().max(args[2].chars());
    let separator = args.get(3).map_or(1, Expr::chars);
    let chars = u64::from(longest) * 64 + u64::from(separator) * 63;
    Ok(New::call(name, text_type(chars, by), args, eval_export_set).collated(by).build(cx))
}

fn interval(cx: &mut CompileCx<'_>, name: &'static str, args: Vec<Expr>) -> SqlResult<Expr> {
    // `INTERVAL(a, b)` may come as the arguments or as one row of them.
    let args = match <[Expr; 1]>::try_from(args) {
        Ok([Expr { node: Node::Row(list), .. }]) => list.into_vec(),
        Ok(one) => one.into(),
        Err(args) => args,
    };
    Ok(New::call(name, int_type(2), args, eval_interval).build_not_null(cx))
}

/// The comma between members, in the character set of the result.
fn comma(collation: u16) -> Vec<u8> {
    let mut out = Vec::with_capacity(4);
    charset::convert(Charset::UTF8, charset_of(collation), b",", &mut out);
    out
}

evals! {
    eval_field(e, args, cx, row) {
        let wanted = args[0].eval(cx, row)?;
        if wanted.is_null() {
            return Ok(Value::Int(0));
        }
        let how = e.compare_as(0);
        let wanted = args[0].compared(how, wanted);
        for (i, of) in args[1..].iter().enumerate() {
            let candidate = of.compared(how, of.eval(cx, row)?);
            if eval::compare(how, &wanted, &candidate, cx).is_some_and(std::cmp::Ordering::is_eq) {
                return Ok(Value::Int(i as i64 + 1));
            }
        }
        Ok(Value::Int(0))
    }
    eval_elt(e, args, cx, row) {
        let at = arg!(args[0].integer(cx, row));
        match usize::try_from(at).ok().filter(|&at| at > 0).and_then(|at| args.get(at)) {
            Some(chosen) => Ok(Value::Bytes(arg!(chosen.text(cx, row)))),
            None => Ok(Value::Null),
        }
    }
    eval_find_in_set(e, args, cx, row) {
        let wanted = arg!(args[0].text(cx, row));
        let list = arg!(args[1].text(cx, row));
        let collation = Collation::of(e.number() as u16).unwrap_or(Collation::BINARY);
        if list.is_empty() || wanted.contains(&b',') {
            return Ok(Value::Int(0));
        }
        let at = list.split(|&b| b == b',').position(|member| collation.equal(member, &wanted));
        Ok(Value::Int(at.map_or(0, |at| at as i64 + 1)))
    }
    eval_make_set(e, args, cx, row) {
        let bits = arg!(args[0].bits(cx, row));
        let comma = comma(e.ty().collation);
        let mut out = Vec::new();
        let mut first = true;
        for (i, member) in args[1..].iter().enumerate().take(64) {
            if bits >> i & 1 == 0 {
                continue;
            }
            let Some(text) = member.text(cx, row)? else { continue };
            if too_long(cx, "make_set", out.len() + comma.len() + text.len()) {
                return Ok(Value::Null);
            }
            if !first {
                append(&mut out, &comma)?;
            }
            first = false;
            append(&mut out, &text)?;
        }
        Ok(Value::owned(out))
    }
    eval_export_set(e, args, cx, row) {
        let bits = arg!(args[0].bits(cx, row));
        let on = arg!(args[1].text(cx, row));
        let off = arg!(args[2].text(cx, row));
        let separator = match args.get(3) {
            Some(separator) => arg!(separator.text(cx, row)),
            None => comma(e.ty().collation).into(),
        };
        let count = match args.get(4) {
            Some(count) => {
                let count = arg!(count.integer(cx, row));
                if (0..=64).contains(&count) { count as usize } else { 64 }
            }
            None => 64,
        };
        let set = (bits & (u64::MAX.checked_shr(64 - count as u32).unwrap_or(0))).count_ones() as usize;
        let texts = on.len().saturating_mul(set).saturating_add(off.len().saturating_mul(count - set));
        let bytes = texts.saturating_add(separator.len().saturating_mul(count.saturating_sub(1)));
        if too_long(cx, "export_set", bytes) {
            return Ok(Value::Null);
        }
        let mut out = with_room(bytes)?;
        for i in 0..count {
            let text = if bits >> i & 1 == 1 { &on } else { &off };
            if i > 0 {
                append(&mut out, &separator)?;
            }
            append(&mut out, text)?;
        }
        Ok(Value::owned(out))
    }
    eval_interval(e, args, cx, row) {
        let Some(v) = args[0].double(cx, row)? else { return Ok(Value::Int(-1)) };
        let mut at = 0;
        for bound in &args[1..] {
            match bound.double(cx, row)? {
                Some(bound) if bound > v => break,
                _ => at += 1,
            }
        }
        Ok(Value::Int(at))
    }
}
