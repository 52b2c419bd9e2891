//! What a folder and its server are: facts that variables tell.

use std::io::Write;
use std::path::Path;
use vaquita_session::vars::{Access, Globals, VarValue, id};
use vaquita_types::{SqlError, SqlResult, TimeZone};

/// Name of the file that keeps a folder's `server_uuid`, as MySQL has it.
const AUTO_CNF: &str = "auto.cnf";

/// Sets them.
///
/// # Errors
/// `auto.cnf` cannot be read or written, or holds no UUID.
pub(super) fn tell(globals: &Globals, dir: &Path, read_only: bool) -> SqlResult<()> {
    let text = |text: String| VarValue::Text(text.into());
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = now.map_or(0, |d| d.as_secs() as i64);
    globals.put(id::SYSTEM_TIME_ZONE, text(TimeZone::system_abbreviation(now)));
    if let Some(program) = std::env::current_exe().ok().as_deref().and_then(Path::parent) {
        globals.put(id::BASEDIR, text(format!("{}/", program.display())));
    }
    let host = globals.text("hostname").unwrap_or_default();
    for (var, end) in [(id::GENERAL_LOG_FILE, ".log"), (id::SLOW_QUERY_LOG_FILE, "-slow.log")] {
        debug_assert_eq!(var.def().access, Access::Live);
        if globals.get(var).text(var.def().kind).is_none_or(|name| name.is_empty()) {
            globals.put(var, text(dir.join(format!("{host}{end}")).display().to_string()));
        }
    }
    // Simulations have no folder of their own; to one that is only read nothing is added.
    let file = dir.join(AUTO_CNF);
    if dir.parent().is_some() && (!read_only || file.exists()) {
        globals.put(id::SERVER_UUID, text(server_uuid(&file)?));
    }
    Ok(())
}

/// The UUID in the file; a new one is made and written if there is none.
fn server_uuid(path: &Path) -> SqlResult<String> {
    let failed = |e: &dyn std::fmt::Display| SqlError::new(1105, format!("{}: {e}", path.display()));
    match std::fs::read_to_string(path) {
        Ok(text) => {
            let found = text
                .lines()
                .find_map(|line| line.trim().strip_prefix("server-uuid")?.trim().strip_prefix('='));
            let uuid = found.map(str::trim).filter(|uuid| is_uuid(uuid));
            uuid.map(str::to_owned).ok_or_else(|| failed(&"holds no server-uuid"))
        }
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            let uuid = vaquita_expr::new_uuid().map_err(|e| failed(&e.message))?;
            let mut file = std::fs::File::create(path).map_err(|e| failed(&e))?;
            file.write_all(format!("[auto]\nserver-uuid={uuid}\n").as_bytes()).map_err(|e| failed(&e))?;
            Ok(uuid)
        }
        Err(e) => Err(failed(&e)),
    }
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(i, b)| match i {
            8 | 13 | 18 | 23 => b == b'-',
            _ => b.is_ascii_hexdigit(),
        })
}
