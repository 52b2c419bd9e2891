//! Files of the server that statements name.

use crate::Shared;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use vaquita_types::{SqlError, SqlResult};

/// The path of a file that a statement names. `secure_file_priv` says where such files may be: nowhere (NULL), in one folder,
/// or anywhere (empty). The files that the data folder lives on are never among them.
///
/// # Errors
/// 1290.
pub fn server_file(name: &[u8], db: &Shared, database: &str) -> SqlResult<PathBuf> {
    let refused = || {
        SqlError::new(
            1290,
            "The MySQL server is running with the --secure-file-priv option so it cannot execute this statement",
        )
    };
    let only = db.globals().text("secure_file_priv").ok_or_else(refused)?;
    let dir = &db.engine().core().storage.options().dir;
    let path = match (name.starts_with(b"/"), name.contains(&b'/')) {
        (true, _) => PathBuf::from(OsStr::from_bytes(name)),
        (false, true) => dir.join(OsStr::from_bytes(name)),
        (false, false) => dir.join(vaquita_catalog::file_name(database)?).join(OsStr::from_bytes(name)),
    };
    // What is there counts as what it leads to; what is to be made, by where.
    let real = |p: &Path| p.canonicalize().unwrap_or_else(|_| p.to_path_buf());
    let place = path.canonicalize().unwrap_or_else(|_| {
        let folder = path.parent().map(real).unwrap_or_default();
        folder.join(path.file_name().unwrap_or_default())
    });
    let allowed = only.is_empty() || place.starts_with(real(only.as_ref()));
    match allowed && !is_of_database(&place, &real(dir)) {
        true => Ok(path),
        false => Err(refused()),
    }
}

/// Endings of the files of tables and databases.
const OF_TABLES: [&str; 9] = ["ibd", "isl", "cfg", "frm", "par", "opt", "trg", "trn", "ibt"];

/// Whether a file is one of those that the data folder lives on: beside the folders of databases, in that of the accounts,
/// or a table's.
fn is_of_database(place: &Path, dir: &Path) -> bool {
    let Ok(inside) = place.strip_prefix(dir) else { return false };
    let mut names = inside.components();
    let folder = names.next().map(|c| c.as_os_str().to_owned());
    let own = ["mysql", "performance_schema", "sys", "innodb_memcache"];
    let of_table = place.extension().is_some_and(|e| OF_TABLES.iter().any(|of| e.eq_ignore_ascii_case(of)));
    let beside = names.next().is_none();
    beside
        || of_table
        || folder.is_none_or(|f| f.to_str().is_none_or(|f| f.starts_with('#') || own.contains(&f)))
}
