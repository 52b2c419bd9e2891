//! Names of tables and databases: between SQL and the engine's `database/table` in file name encoding.

use vaquita_engine::lower::filename;
use vaquita_types::{SqlError, SqlResult};

/// Most characters of an identifier.
const NAME_MAX: usize = 64;

/// A name as part of a file name. Names of temporary and of odd tables that begin with `#sql` or `#mysql50#` stand for
/// themselves.
///
/// # Errors
/// 1300 for characters above U+FFFF.
pub fn file_name(name: &str) -> SqlResult<String> {
    if let Some(raw) = name.strip_prefix("#mysql50#") {
        return Ok(raw.to_owned());
    }
    filename::encode(name).map_err(|e| {
        SqlError::new(1300, format!("Invalid utf8 character string: '{}'", e.0.escape_unicode()))
    })
}

/// The engine's name of a table.
///
/// # Errors
/// 1103 for what is no name of a table, 1102 of a database, 1059 for what is too long.
pub fn engine_name(database: &str, table: &str) -> SqlResult<String> {
    check_database(database)?;
    if table.is_empty() || table.ends_with(' ') {
        return Err(SqlError::new(1103, format!("Incorrect table name '{table}'")));
    }
    if table.chars().count() > NAME_MAX {
        return Err(too_long(table));
    }
    Ok(format!("{}/{}", file_name(database)?, file_name(table)?))
}

/// Checks the name of a database.
///
/// # Errors
/// 1102, 1059.
pub fn check_database(name: &str) -> SqlResult<()> {
    if name.is_empty() || name.ends_with(' ') {
        return Err(SqlError::new(1102, format!("Incorrect database name '{name}'")));
    }
    if name.chars().count() > NAME_MAX {
        return Err(too_long(name));
    }
    Ok(())
}

fn too_long(name: &str) -> SqlError {
    SqlError::new(1059, format!("Identifier name '{name}' is too long"))
}

/// Database and table of the engine's name. A part that is not of the encoded form gets MySQL's `#mysql50#`.
pub fn sql_name(engine_name: &str) -> (String, String) {
    let plain = |s: &str| filename::decode(s).unwrap_or_else(|| format!("#mysql50#{s}"));
    match engine_name.split_once('/') {
        Some((database, table)) => (plain(database), plain(table)),
        None => (String::new(), engine_name.to_owned()),
    }
}

/// Whether two names of columns or indexes are the same: case does not count.
#[inline]
pub fn same_name(a: &str, b: &str) -> bool {
    a.eq_ignore_ascii_case(b) || !(a.is_ascii() && b.is_ascii()) && a.to_lowercase() == b.to_lowercase()
}

/// The database whose tables everybody may read.
pub const INFORMATION_SCHEMA: &str = "information_schema";

/// The database of what sessions are at, whose tables are read by who may.
pub const PERFORMANCE_SCHEMA: &str = "performance_schema";

/// Whether a database has virtual tables only.
pub fn is_virtual_database(name: &str) -> bool {
    virtual_database(name).is_some()
}

/// A database that has virtual tables only, as lists have its name.
pub fn virtual_database(name: &str) -> Option<&'static str> {
    [INFORMATION_SCHEMA, PERFORMANCE_SCHEMA].into_iter().find(|known| name.eq_ignore_ascii_case(known))
}

/// Whether no privilege is asked for the tables of a database.
pub fn is_for_everybody(database: &str) -> bool {
    database.eq_ignore_ascii_case(INFORMATION_SCHEMA)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_there_and_back() {
        let name = engine_name("my db", "t-é").unwrap();
        assert_eq!(name, "my@0020db/t@002d@0p");
        assert_eq!(sql_name(&name), ("my db".to_owned(), "t-é".to_owned()));
        assert_eq!(sql_name("d/#sql-1").1, "#mysql50##sql-1");
        assert_eq!(engine_name("d", "#mysql50##sql-1").unwrap(), "d/#sql-1");
        assert!(same_name("Straße", "sTRAße") && same_name("É", "é") && !same_name("a", "b"));
    }

    #[test]
    fn bad_names() {
        assert_eq!(engine_name("d", "").unwrap_err().code, 1103);
        assert_eq!(engine_name("d", "a ").unwrap_err().code, 1103);
        assert_eq!(engine_name("d ", "a").unwrap_err().code, 1102);
        assert_eq!(engine_name("d", &"x".repeat(65)).unwrap_err().code, 1059);
        assert_eq!(engine_name("d", "😀").unwrap_err().code, 1300);
    }
}
