//! Errors of the engine as SQL errors.

use crate::written::quoted_name;
use std::borrow::Cow;
use vaquita_engine::lower::charset::Charset;
use vaquita_engine::table::{ForeignKey, ReferentialAction};
use vaquita_engine::{Error, Fate};
use vaquita_types::{SqlError, SqlResult};

/// What error 1412 says of a plan that is older than a table's definition; with another text it tells of a read view.
pub const STALE: &str = "Table definition has changed since it was opened, please retry transaction";

/// An engine error with MySQL's number and message. What names rows, keys and constraints is told better by who knows
/// the table: see the module `dml`.
pub fn engine(e: &Error) -> SqlError {
    if let Some(why) = e.no_space() {
        return SqlError::new(1114, format!("The table is full: {why}"));
    }
    match e {
        Error::DuplicateKey { index, value, .. } => duplicate_entry(value, index),
        Error::NoReferencedRow { key, .. } => no_referenced_row(key),
        Error::RowIsReferenced { key, .. } => {
            let key = foreign_key_text(key);
            let text =
                format!("Cannot delete or update a parent row: a foreign key constraint fails ({key})");
            SqlError::new(1451, text)
        }
        Error::NullNotAllowed { column, .. } => null_not_allowed(column),
        Error::RowTooBig { limit, inline, .. } => {
            let other = match inline {
                0 => "",
                _ => " or using ROW_FORMAT=DYNAMIC or ROW_FORMAT=COMPRESSED",
            };
            // MySQL names the first size that is too large.
            let text = format!(
                "Row size too large (> {}). Changing some columns to TEXT or BLOB{other} may help. In current row format, \
                 BLOB prefix of {inline} bytes is stored inline.",
                limit + 1
            );
            SqlError::new(1118, text)
        }
        Error::UndoRecordTooBig(_) => SqlError::new(1713, "Undo log record is too big."),
        Error::LockWaitTimeout | Error::MetadataLockTimeout(_) => {
            SqlError::new(1205, "Lock wait timeout exceeded; try restarting transaction")
        }
        Error::ReadLocked => {
            SqlError::new(1223, "Can't execute the query because you have a conflicting read lock")
        }
        Error::Deadlock(_) => {
            SqlError::new(1213, "Deadlock found when trying to get lock; try restarting transaction")
        }
        Error::LockNotAvailable => SqlError::new(
            3572,
            "Statement aborted because lock(s) could not be acquired immediately and NOWAIT is set.",
        ),
        Error::Interrupted => SqlError::new(1317, "Query execution was interrupted"),
        Error::LockTableFull(_) => {
            SqlError::new(1206, "The total number of locks exceeds the lock table size")
        }
        Error::TooManyTransactions => SqlError::new(1637, "Too many active concurrent transactions"),
        Error::ReadOnly => SqlError::new(1792, "Cannot execute statement in a READ ONLY transaction."),
        Error::FolderReadOnly => SqlError::new(1874, "InnoDB is in read only mode."),
        Error::ForcedRecovery => {
            SqlError::new(1881, "Operation not allowed when innodb_forced_recovery > 0.")
        }
        Error::NoSuchTable(name) => {
            let (database, table) = crate::names::sql_name(name);
            no_such_table(&database, &table)
        }
        Error::TableExists(name) => {
            SqlError::new(1050, format!("Table '{}' already exists", crate::names::sql_name(name).1))
        }
        Error::ObjectExists(name) => SqlError::new(1304, format!("{name} already exists")),
        Error::NoSuchObject(name) => SqlError::new(1305, format!("{name} does not exist")),
        Error::TriggerInWrongDatabase => SqlError::new(1435, "Trigger in wrong schema"),
        Error::TableChanged(_) => SqlError::new(1412, STALE),
        Error::ViewTooOld(_) => SqlError::new(1412, "Table definition has changed, please retry transaction"),
        Error::NoSuchIndex { table, index } => SqlError::new(
            1176,
            format!("Key '{index}' doesn't exist in table '{}'", crate::names::sql_name(table).1),
        ),
        Error::NoSuchSavepoint(name) => SqlError::new(1305, format!("SAVEPOINT {name} does not exist")),
        Error::AutoIncrementExhausted(_) => {
            SqlError::new(1467, "Failed to read auto-increment value from storage engine")
        }
        Error::Doomed { fate: Fate::Open, .. } => {
            SqlError::new(1181, format!("Got error during ROLLBACK: {e}"))
        }
        Error::Doomed { .. } => SqlError::new(1180, format!("Got error during COMMIT: {e}")),
        Error::NoSuchXid => SqlError::new(1397, "XAER_NOTA: Unknown XID"),
        Error::TableUnusable { table, detail, damaged: true } => {
            SqlError::new(1034, format!("Incorrect key file for table {}: {detail}", quoted(table)))
        }
        Error::TableUnusable { table, detail, .. } => {
            SqlError::new(1812, format!("Tablespace is missing for table {}: {detail}", quoted(table)))
        }
        Error::FileInTheWay { table, .. } => {
            let text = "exists. Please DISCARD the tablespace before IMPORT.";
            SqlError::new(1813, format!("Tablespace for table '{}' {text}", quoted(table)))
        }
        Error::Discarded(name) => {
            let table = crate::names::sql_name(name).1;
            SqlError::new(1814, format!("Tablespace has been discarded for table '{table}'"))
        }
        Error::NotDiscarded(name) => {
            let table = crate::names::sql_name(name).1;
            let text = "exists. Please DISCARD the tablespace before IMPORT.";
            SqlError::new(1813, format!("Tablespace for table '{table}' {text}"))
        }
        Error::NoOwnTablespace(name) => {
            SqlError::new(1809, format!("Table '{}' in system tablespace", crate::names::sql_name(name).1))
        }
        Error::SchemaMismatch(detail) => SqlError::new(1808, format!("Schema mismatch ({detail})")),
        Error::UnknownCollation { table, collation } => SqlError::new(
            1273,
            format!("Unknown collation: '{collation}' of table {}, which can only be read", quoted(table)),
        ),
        Error::NoPartition(value) => SqlError::new(1526, format!("Table has no partition for value {value}")),
        Error::RowNotOfPart => SqlError::new(1737, "Found a row that does not match the partition"),
        Error::NotInParts => SqlError::new(1748, "Found a row not matching the given partition set"),
        Error::PartitionFunction { code, message } => SqlError::new(*code, message.clone()),
        Error::SearchTooLarge => SqlError::new(188, "FTS query exceeds result cache limit"),
        Error::BadDocId(_) => SqlError::new(182, "Invalid InnoDB FTS Doc ID"),
        Error::Unmaintained { table, why } => {
            SqlError::new(1036, format!("Table '{}' is read only: {why}", crate::names::sql_name(table).1))
        }
        Error::OnlineLogTooBig(index) => SqlError::new(
            1799,
            format!(
                "Creating index '{index}' required more than 'innodb_online_alter_log_max_size' bytes of modification log. Please try again."
            ),
        ),
        Error::SortFile(e) => SqlError::new(1878, format!("Temporary file write failure: {e}")),
        Error::Corrupt(detail) => SqlError::new(1034, format!("Incorrect key file for table: {detail}")),
        Error::BadDefinition(detail) | Error::ForeignKey(detail) | Error::Config(detail) => {
            SqlError::new(1105, detail.clone())
        }
        other => SqlError::new(1105, other.to_string()),
    }
}

/// A message in a character set, with `\\0416` for a character that is not there, as MySQL has it.
pub fn message_in(message: &str, to: Option<Charset>) -> Cow<'_, [u8]> {
    let Some(to) = to.filter(|to| *to != Charset::BINARY && !to.is_utf8()) else {
        return message.as_bytes().into();
    };
    if message.is_ascii() && to.is_ascii_based() {
        return message.as_bytes().into();
    }
    let mut out = Vec::with_capacity(message.len());
    for c in message.chars() {
        if to.push(c.into(), &mut out) {
            continue;
        }
        let code = u32::from(c);
        let shown = if code <= 0xFFFF { format!("\\{code:04X}") } else { "?".to_owned() };
        for c in shown.bytes() {
            to.push(c.into(), &mut out);
        }
    }
    out.into()
}

/// 3: a file cannot be written.
pub fn writing(file: &str, e: &std::io::Error) -> SqlError {
    let shown = e.to_string();
    // The number is told once.
    let text = shown.split(" (os error").next().unwrap_or_default();
    let errno = e.raw_os_error().unwrap_or(0);
    SqlError::new(3, format!("Error writing file '{file}' (Errcode: {errno} - {text})"))
}

/// For `map_err`.
///
/// # Errors
/// That one.
pub fn of_engine<T>(result: vaquita_engine::Result<T>) -> SqlResult<T> {
    result.map_err(|e| engine(&e))
}

/// 1146.
pub fn no_such_table(database: &str, table: &str) -> SqlError {
    SqlError::new(1146, format!("Table '{database}.{table}' doesn't exist"))
}

/// 1048.
pub fn null_not_allowed(column: &str) -> SqlError {
    SqlError::new(1048, format!("Column '{column}' cannot be null"))
}

/// 1062.
pub fn duplicate_entry(value: &str, index: &str) -> SqlError {
    SqlError::new(1062, format!("Duplicate entry '{value}' for key '{index}'"))
}

/// A foreign key without what it does, its parent with its database.
pub fn foreign_key_parts(key: &ForeignKey) -> String {
    let columns = |names: &[String]| names.iter().map(|n| quoted_name(n)).collect::<Vec<_>>().join(", ");
    format!(
        "{}, CONSTRAINT `{}` FOREIGN KEY ({}) REFERENCES {} ({})",
        quoted(&key.child),
        constraint_name(&key.id),
        columns(&key.child_columns),
        quoted(&key.parent),
        columns(&key.parent_columns)
    )
}

/// 1452: a row refers to none by this foreign key.
pub fn no_referenced_row(key: &ForeignKey) -> SqlError {
    let key = foreign_key_text(key);
    SqlError::new(1452, format!("Cannot add or update a child row: a foreign key constraint fails ({key})"))
}

/// A foreign key as error messages describe it.
fn foreign_key_text(key: &ForeignKey) -> String {
    let child_db = key.child.split_once('/').map_or("", |(db, _)| db);
    let (parent_db, parent) = key.parent.split_once('/').unwrap_or(("", &key.parent));
    let columns = |names: &[String]| names.iter().map(|n| quoted_name(n)).collect::<Vec<_>>().join(", ");
    let plain = |s: &str| vaquita_engine::lower::filename::decode(s).unwrap_or_else(|| s.to_owned());
    let parent = match parent_db == child_db {
        true => format!("`{}`", plain(parent)),
        false => format!("`{}`.`{}`", plain(parent_db), plain(parent)),
    };
    let action = |on: &str, action: ReferentialAction| match action {
        ReferentialAction::Restrict => String::new(),
        ReferentialAction::NoAction => format!(" ON {on} NO ACTION"),
        ReferentialAction::Cascade => format!(" ON {on} CASCADE"),
        ReferentialAction::SetNull => format!(" ON {on} SET NULL"),
    };
    format!(
        "{}, CONSTRAINT `{}` FOREIGN KEY ({}) REFERENCES {parent} ({}){}{}",
        quoted(&key.child),
        constraint_name(&key.id),
        columns(&key.child_columns),
        columns(&key.parent_columns),
        action("DELETE", key.on_delete),
        action("UPDATE", key.on_update)
    )
}

/// A constraint's name without its database.
pub fn constraint_name(id: &str) -> &str {
    id.split_once('/').map_or(id, |(_, name)| name)
}

/// An engine's table name in backquotes.
fn quoted(name: &str) -> String {
    let (database, table) = crate::names::sql_name(name);
    format!("`{database}`.`{table}`")
}
