//! LOAD_FILE.

use super::string::too_long;
use super::{Function, arg, evals, f};
use crate::build::{Collated, New, text_type};
use crate::node::Constness;
use crate::{EvalCx, env};
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use vaquita_session::files::server_file;
use vaquita_session::privilege::Priv;
use vaquita_types::memory::with_room;
use vaquita_types::{SqlResult, Value};

pub(super) const FUNCTIONS: &[Function] = &[f("load_file", 1, 1, |cx, name, args| {
    let new = New::call(name, text_type(1 << 24, Collated::BINARY), args, eval_load_file);
    // The file is read when the statement runs.
    Ok(new.collated(Collated::BINARY).at_least(Constness::Execution).nullable().build(cx))
})];

evals! {
    eval_load_file(e, args, cx, row) {
        let name = arg!(args[0].text(cx, row));
        Ok(content(&name, cx)?.map_or(Value::Null, Value::owned))
    }
}

/// The bytes of a file that everybody may read; `None`: there is none that the session may read.
fn content(name: &[u8], cx: &mut EvalCx<'_>) -> SqlResult<Option<Vec<u8>>> {
    let Some(db) = cx.db else { return Ok(None) };
    if !cx.state.privileges.global.has(Priv::FILE) {
        return Ok(None);
    }
    let name = cx.state.vars.file_name(name);
    let Ok(path) = server_file(&name, db, &cx.state.database) else { return Ok(None) };
    // Pipes and the like would never end.
    let found =
        path.metadata().ok().filter(|found| found.is_file() && found.permissions().mode() & 0o004 != 0);
    let Some(size) = found.and_then(|found| usize::try_from(found.len()).ok()) else { return Ok(None) };
    if too_long(cx, "load_file", size) {
        return Ok(None);
    }
    cx.state.give_way();
    let mut out = with_room(size)?;
    // It may grow while it is read.
    let most = env::max_allowed_packet(cx.state) as u64;
    let read = File::open(path).and_then(|file| file.take(most).read_to_end(&mut out));
    Ok(read.is_ok().then_some(out))
}
