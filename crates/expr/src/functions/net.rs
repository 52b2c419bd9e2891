//! Addresses, NAME_CONST, BENCHMARK, SLEEP.

use super::{Function, arg, evals, f};
use crate::build::{Collated, New, int_type, text_type};
use crate::node::{Constness, EvalFn, Expr, Node};
use crate::scope::CompileCx;
use std::net::{Ipv4Addr, Ipv6Addr};
use vaquita_engine::{WaitFor, tell_around};
use vaquita_types::{SqlError, SqlResult, SqlType, Value};

pub(super) const FUNCTIONS: &[Function] = &[
    f("inet_aton", 1, 1, |cx, name, args| {
        Ok(New::call(name, SqlType { unsigned: true, ..int_type(21) }, args, eval_inet_aton)
            .nullable()
            .build(cx))
    }),
    f("inet_ntoa", 1, 1, |cx, name, args| {
        let by = Collated::connection(cx);
        Ok(New::call(name, SqlType { decimals: 0, ..text_type(31, by) }, args, eval_inet_ntoa)
            .collated(by)
            .nullable()
            .build(cx))
    }),
    f("inet6_aton", 1, 1, |cx, name, args| super::encode::binary(cx, name, 16, args, eval_inet6_aton, true)),
    f("inet6_ntoa", 1, 1, |cx, name, args| {
        let by = Collated::connection(cx);
        Ok(New::call(name, text_type(39, by), args, eval_inet6_ntoa).collated(by).nullable().build(cx))
    }),
    f("is_ipv4", 1, 1, |cx, name, args| truth(cx, name, args, eval_is_ipv4)),
    f("is_ipv6", 1, 1, |cx, name, args| truth(cx, name, args, eval_is_ipv6)),
    f("is_ipv4_compat", 1, 1, |cx, name, args| truth(cx, name, args, eval_is_ipv4_compat)),
    f("is_ipv4_mapped", 1, 1, |cx, name, args| truth(cx, name, args, eval_is_ipv4_mapped)),
    f("name_const", 2, 2, name_const),
    f("validate_password_strength", 1, 1, |cx, name, args| {
        Ok(New::call(name, int_type(10), args, eval_password_strength).build(cx))
    }),
    f("benchmark", 2, 2, |cx, name, args| {
        Ok(New::call(name, int_type(1), args, eval_benchmark).at_least(Constness::Row).nullable().build(cx))
    }),
    f("sleep", 1, 1, |cx, name, args| {
        Ok(New::call(name, int_type(21), args, eval_sleep).at_least(Constness::Row).build_not_null(cx))
    }),
];

fn truth(cx: &mut CompileCx<'_>, name: &'static str, args: Vec<Expr>, eval: EvalFn) -> SqlResult<Expr> {
    Ok(New::call(name, int_type(1), args, eval).build_not_null(cx))
}

fn name_const(_: &mut CompileCx<'_>, _: &'static str, args: Vec<Expr>) -> SqlResult<Expr> {
    let wrong = || SqlError::new(1210, "Incorrect arguments to NAME_CONST");
    let [name, value] = <[Expr; 2]>::try_from(args).map_err(|_| wrong())?;
    match (&name.node, &value.node) {
        (Node::Const(_) | Node::Param(_), Node::Const(_) | Node::Param(_)) => Ok(value),
        _ => Err(wrong()),
    }
}

evals! {
    eval_inet_aton(e, args, cx, row) {
        let text = arg!(args[0].text(cx, row));
        Ok(inet_aton(&text).map_or(Value::Null, Value::UInt))
    }
    eval_inet_ntoa(e, args, cx, row) {
        let v = arg!(args[0].integer(cx, row));
        match u32::try_from(v) {
            Ok(v) => Ok(Value::owned(Ipv4Addr::from(v).to_string().into_bytes())),
            Err(_) => Ok(Value::Null),
        }
    }
    eval_inet6_aton(e, args, cx, row) {
        let text = arg!(args[0].text(cx, row));
        Ok(match (ipv4(&text), ipv6(&text)) {
            (Some(v4), _) => Value::owned(v4.octets().to_vec()),
            (None, Some(v6)) => Value::owned(v6.octets().to_vec()),
            (None, None) => Value::Null,
        })
    }
    eval_inet6_ntoa(e, args, cx, row) {
        let bytes = arg!(args[0].text(cx, row));
        if !(args[0].is_text() && args[0].ty().collation == 63) {
            return Ok(Value::Null);
        }
        Ok(match (<[u8; 4]>::try_from(&*bytes), <[u8; 16]>::try_from(&*bytes)) {
            (Ok(v4), _) => Value::owned(Ipv4Addr::from(v4).to_string().into_bytes()),
            (_, Ok(v6)) => Value::owned(Ipv6Addr::from(v6).to_string().into_bytes()),
            _ => Value::Null,
        })
    }
    eval_is_ipv4(e, args, cx, row) {
        let text = args[0].text(cx, row)?;
        Ok(Value::bool(text.is_some_and(|t| ipv4(&t).is_some())))
    }
    eval_is_ipv6(e, args, cx, row) {
        let text = args[0].text(cx, row)?;
        Ok(Value::bool(text.is_some_and(|t| ipv6(&t).is_some())))
    }
    eval_is_ipv4_compat(e, args, cx, row) {
        let bytes = args[0].text(cx, row)?;
        let of = bytes.as_deref().and_then(|b| <[u8; 16]>::try_from(b).ok());
        Ok(Value::bool(of.is_some_and(|b| b[..12] == [0; 12] && b[12..15] != [0; 3])))
    }
    eval_is_ipv4_mapped(e, args, cx, row) {
        let bytes = args[0].text(cx, row)?;
        let of = bytes.as_deref().and_then(|b| <[u8; 16]>::try_from(b).ok());
        Ok(Value::bool(of.is_some_and(|b| b[..10] == [0; 10] && b[10..12] == [255; 2])))
    }
    // Without the plugin that has rules for passwords none is strong.
    eval_password_strength(e, args, cx, row) {
        arg!(args[0].text(cx, row));
        Ok(Value::Int(0))
    }
    eval_benchmark(e, args, cx, row) {
        let times = arg!(args[0].integer(cx, row));
        if times < 0 {
            cx.warn(1411, format!("Incorrect count value: '{times}' for function benchmark"));
            return Ok(Value::Null);
        }
        for _ in 0..times {
            args[1].eval(cx, row)?;
            cx.state.poll()?;
        }
        Ok(Value::Int(0))
    }
    eval_sleep(e, args, cx, row) {
        let seconds = args[0].double(cx, row)?;
        let Some(seconds) = seconds.filter(|s| *s >= 0.0) else {
            return Err(SqlError::new(1210, "Incorrect arguments to sleep."));
        };
        sleep(seconds, cx)
    }
}

/// Waits until KILL or the end of the statement's time. 1 if KILL QUERY or that end cut it short.
fn sleep<'r>(seconds: f64, cx: &mut crate::EvalCx<'_>) -> SqlResult<Value<'r>> {
    use std::time::{Duration, Instant};
    let wanted = Duration::try_from_secs_f64(seconds.min(31_536_000.0)).unwrap_or_default();
    let Some(db) = cx.db.filter(|_| !wanted.is_zero()) else { return Ok(Value::Int(0)) };
    let end = Instant::now() + wanted;
    let until = cx.state.deadline.map_or(end, |deadline| end.min(deadline));
    let hook = super::wait_hook(cx);
    let (processes, id) = (db.processes(), cx.state.connection_id);
    let nap = || processes.sleep(until, &cx.state.interrupt);
    let slept = processes.in_state(id, "User sleep", || tell_around(&*hook, WaitFor::Lock, nap));
    // The end of the connection is an error, that of the statement a value.
    if cx.state.interrupt.ends_connection() {
        cx.state.poll_now()?;
    }
    Ok(Value::Int(i64::from(!slept || until < end)))
}

/// One to four numbers; missing ones are zero before the last.
fn inet_aton(text: &[u8]) -> Option<u64> {
    let parts: Vec<&[u8]> = text.split(|&b| b == b'.').collect();
    if parts.len() > 4 || text.last() == Some(&b'.') {
        return None;
    }
    let mut numbers = Vec::with_capacity(4);
    for part in &parts {
        if part.is_empty() || part.len() > 20 {
            return None;
        }
        let v = part.iter().try_fold(0u64, |v, b| {
            Some(v.saturating_mul(10).saturating_add(u64::from(char::from(*b).to_digit(10)?)))
        });
        numbers.push(v.filter(|&v| v <= 255)?);
    }
    let (last, first) = numbers.split_last()?;
    let mut v = 0;
    for i in 0..3 {
        v = v << 8 | first.get(i).copied().unwrap_or(0);
    }
    Some(v << 8 | last)
}

fn ipv4(text: &[u8]) -> Option<Ipv4Addr> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn ipv6(text: &[u8]) -> Option<Ipv6Addr> {
    std::str::from_utf8(text).ok()?.parse().ok()
}
