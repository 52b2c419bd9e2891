//! Named locks.

use super::{Function, arg, evals, f};
use crate::EvalCx;
use crate::build::{New, int_type};
use crate::node::{Constness, EvalFn, Expr};
use crate::scope::CompileCx;
use std::time::Duration;
use vaquita_session::process::{NamedLocks, Processes};
use vaquita_types::{SqlError, SqlResult, SqlType, Value};

pub(super) const FUNCTIONS: &[Function] = &[
    f("get_lock", 2, 2, |cx, name, args| lock(cx, name, int_type(1), args, eval_get)),
    f("release_lock", 1, 1, |cx, name, args| lock(cx, name, int_type(1), args, eval_release)),
    f("release_all_locks", 0, 0, |cx, name, args| {
        lock(cx, name, SqlType { unsigned: true, ..int_type(21) }, args, eval_release_all)
    }),
    f("is_free_lock", 1, 1, |cx, name, args| lock(cx, name, int_type(1), args, eval_is_free)),
    f("is_used_lock", 1, 1, |cx, name, args| {
        lock(cx, name, SqlType { unsigned: true, ..int_type(10) }, args, eval_is_used)
    }),
];

fn lock(
    cx: &mut CompileCx<'_>,
    name: &'static str,
    ty: SqlType,
    args: Vec<Expr>,
    eval: EvalFn,
) -> SqlResult<Expr> {
    Ok(New::call(name, ty, args, eval).at_least(Constness::Row).nullable().build(cx))
}

fn processes<'c>(cx: &EvalCx<'c>) -> SqlResult<&'c Processes> {
    let db = cx.db.ok_or_else(|| SqlError::unsupported("a lock in this place"))?;
    Ok(db.processes())
}

fn locks<'c>(cx: &EvalCx<'c>) -> SqlResult<&'c NamedLocks> {
    processes(cx).map(Processes::locks)
}

fn name_of(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}

evals! {
    eval_get(e, args, cx, row) {
        let name = arg!(args[0].text(cx, row));
        let seconds = arg!(args[1].double(cx, row));
        let timeout = if seconds < 0.0 { None } else { Duration::try_from_secs_f64(seconds).ok() };
        let interrupt = cx.state.interrupt.clone();
        let (processes, id) = (processes(cx)?, cx.state.connection_id);
        let hook = super::wait_hook(cx);
        let get = || processes.locks().get(id, &name_of(&name), timeout, &interrupt, &*hook);
        Ok(Value::bool(processes.in_state(id, "User lock", get)?))
    }
    eval_release(e, args, cx, row) {
        let name = arg!(args[0].text(cx, row));
        let released = locks(cx)?.release(cx.state.connection_id, &name_of(&name))?;
        Ok(released.map_or(Value::Null, Value::bool))
    }
    eval_release_all(e, args, cx, row) {
        Ok(Value::UInt(locks(cx)?.release_all(cx.state.connection_id)))
    }
    eval_is_free(e, args, cx, row) {
        let name = arg!(args[0].text(cx, row));
        Ok(Value::bool(locks(cx)?.holder(&name_of(&name))?.is_none()))
    }
    eval_is_used(e, args, cx, row) {
        let name = arg!(args[0].text(cx, row));
        let holder = locks(cx)?.holder(&name_of(&name))?;
        Ok(holder.map_or(Value::Null, |id| Value::UInt(id.into())))
    }
}
