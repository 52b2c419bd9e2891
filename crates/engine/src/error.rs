//! Errors of the engine: what a user of the API has to tell apart.

use crate::foreign_key::ForeignKey;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use vaquita_txn::lock::DeadlockReport;

/// Result of an engine operation.
pub type Result<T> = std::result::Result<T, Error>;

/// What has become of a transaction that cannot go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It is open, to be rolled back.
    Open,
    /// It has been rolled back.
    RolledBack,
    /// It is no session's any more, and rolled back in the background.
    InBackground,
}

/// What can go wrong.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Error {
    /// A unique index has the value already. The statement is to be rolled back.
    DuplicateKey {
        /// Table, `database/table`.
        table: String,
        /// Index.
        index: String,
        /// The key's values as text, joined by `-`.
        value: String,
    },
    /// The row refers to nothing: insert or update of a child.
    NoReferencedRow {
        /// The child table.
        table: String,
        /// The constraint.
        constraint: String,
        /// Its definition.
        key: Box<ForeignKey>,
        /// The key's values as text.
        value: String,
    },
    /// Other rows refer to the row: delete or update of a parent.
    RowIsReferenced {
        /// The parent table.
        table: String,
        /// The constraint.
        constraint: String,
        /// Its definition.
        key: Box<ForeignKey>,
        /// The key's values as text.
        value: String,
    },
    /// NULL in a column that has none.
    NullNotAllowed {
        /// Table.
        table: String,
        /// Column.
        column: String,
    },
    /// The record cannot be stored however much of it moves off the page.
    RowTooBig {
        /// Table.
        table: String,
        /// Largest record, in bytes.
        limit: usize,
        /// Bytes of each long value that stay on the page in the table's row format.
        inline: usize,
    },
    /// The change touches so many long values that its undo record does not fit a page.
    UndoRecordTooBig(usize),
    /// A lock was not granted in time. The statement was rolled back.
    LockWaitTimeout,
    /// The transaction was rolled back as the victim of a deadlock; the report is of one of row locks.
    Deadlock(Option<Arc<DeadlockReport>>),
    /// NOWAIT.
    LockNotAvailable,
    /// The session was interrupted.
    Interrupted,
    /// Locks would take too much memory. The transaction was rolled back.
    LockTableFull(usize),
    /// No free undo slot.
    TooManyTransactions,
    /// A change in a read-only transaction.
    ReadOnly,
    /// A change in a folder that is open for reading only.
    FolderReadOnly,
    /// A change of rows or definitions under `force_recovery`, which is for reading what is there and dropping the rest.
    ForcedRecovery,
    /// No such table.
    NoSuchTable(String),
    /// The table exists.
    TableExists(String),
    /// An object that is not a table exists; its name as the caller gave it.
    ObjectExists(String),
    /// No such object.
    NoSuchObject(String),
    /// A table with triggers goes to another database, to which they do not belong.
    TriggerInWrongDatabase,
    /// The definition changed since the table was opened: open it again.
    TableChanged(String),
    /// The table, or the index to be read, is younger than the transaction's read view: what it held then is not there.
    ViewTooOld(String),
    /// No such index.
    NoSuchIndex {
        /// Table.
        table: String,
        /// Index.
        index: String,
    },
    /// The definition cannot be: names what and why.
    BadDefinition(String),
    /// The foreign key cannot be added, or keeps the table from being dropped.
    ForeignKey(String),
    /// A foreign key needs the index that is to be dropped.
    IndexNeeded {
        /// Index.
        index: String,
        /// Foreign key, `database/constraint`.
        key: String,
    },
    /// A metadata lock was not granted in time.
    MetadataLockTimeout(String),
    /// The session holds the global read lock itself and wants to change something.
    ReadLocked,
    /// No such savepoint.
    NoSuchSavepoint(String),
    /// The call does not fit the state of the transaction: says how.
    WrongState(&'static str),
    /// A statement of the transaction failed and could not be taken back: what the statement left would become part of
    /// the transaction. It can only be rolled back.
    Doomed {
        /// Why the statement could not be taken back.
        cause: String,
        /// What has become of the transaction.
        fate: Fate,
    },
    /// No prepared transaction has that XID.
    NoSuchXid,
    /// The next AUTO_INCREMENT value is beyond the column's range.
    AutoIncrementExhausted(String),
    /// The table is there but cannot be used: its file is missing, discarded or damaged; says how.
    TableUnusable {
        /// Table.
        table: String,
        /// Why.
        detail: String,
        /// Its pages are damaged; otherwise they are just not there.
        damaged: bool,
    },
    /// A table's file cannot be made, or get its name: there is one.
    FileInTheWay {
        /// Table.
        table: String,
        /// What is in the way.
        file: PathBuf,
    },
    /// The table's tablespace is discarded: there is nothing to read or write until one is imported.
    Discarded(String),
    /// A tablespace is to be imported where the table has one.
    NotDiscarded(String),
    /// The table is in the system tablespace: it has no file of its own.
    NoOwnTablespace(String),
    /// A file to be imported is not of this table: what differs.
    SchemaMismatch(String),
    /// A file to be imported is not there, or is no whole tablespace.
    BadImport {
        /// Table.
        table: String,
        /// What is wrong.
        detail: String,
        /// There is no file.
        missing: bool,
    },
    /// A column's texts are ordered by a collation that is not known here: what needs their order, every change of
    /// the table first of all, is refused.
    UnknownCollation {
        /// Table.
        table: String,
        /// The collation, by name if it has one here, else by number.
        collation: String,
    },
    /// A MySQL server keeps something of the table that is not kept up here: changes are refused.
    Unmaintained {
        /// Table.
        table: String,
        /// What.
        why: crate::unmaintained::Unmaintained,
    },
    /// A row belongs to no part of its partitioned table; what the partition function gives.
    NoPartition(String),
    /// A row of a table that is to be a part of another one belongs to none of its parts, or to another part.
    RowNotOfPart,
    /// A row is in a part of its partitioned table that it does not belong to.
    Misplaced {
        /// The table.
        table: String,
        /// Where it is, as files are named for it.
        part: String,
        /// Its key.
        row: String,
        /// Where it belongs, if to any part.
        belongs: Option<String>,
    },
    /// A row belongs to a part that the statement does not mean.
    NotInParts,
    /// The partition function of a table cannot be evaluated: an error of the layer above.
    PartitionFunction {
        /// Its number there.
        code: u16,
        /// What it says.
        message: String,
    },
    /// The user's own number of a document cannot be: it is 0, below one that was committed, or far above; or the text changes and
    /// the number does not.
    BadDocId(String),
    /// A full-text search holds more than it may.
    SearchTooLarge,
    /// Stored rows contradict each other: damage.
    Corrupt(String),
    /// More was changed while the index of this name was built (or, by another name, the table was written anew) than the log
    /// of such changes may hold.
    OnlineLogTooBig(String),
    /// A temporary file of a sort or a log: no room, I/O.
    SortFile(vaquita_io::Error),
    /// The storage below failed.
    Storage(vaquita_storage::Error),
    /// A tree failed.
    Tree(vaquita_btree::Error),
    /// A setting that cannot be.
    Config(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::DuplicateKey { table, index, value } => {
                write!(f, "duplicate entry '{value}' for key '{index}' of table {table}")
            }
            Error::NoReferencedRow { table, constraint, value, .. } => write!(
                f,
                "cannot add or update a row of {table}: foreign key {constraint} finds no row with '{value}'"
            ),
            Error::RowIsReferenced { table, constraint, value, .. } => write!(
                f,
                "cannot delete or update a row of {table}: foreign key {constraint} has rows with '{value}'"
            ),
            Error::NullNotAllowed { table, column } => write!(f, "column {column} of {table} cannot be NULL"),
            Error::RowTooBig { table, limit, .. } => {
                write!(f, "row of {table} is too big: at most {limit} bytes can stay on a page")
            }
            Error::UndoRecordTooBig(bytes) => {
                write!(f, "an undo record of {bytes} bytes does not fit a page")
            }
            Error::LockWaitTimeout => {
                f.write_str("lock wait timeout exceeded; try restarting the transaction")
            }
            Error::Deadlock(_) => {
                f.write_str("deadlock found when trying to get a lock; try restarting the transaction")
            }
            Error::LockNotAvailable => f.write_str("a lock is held by another transaction and NOWAIT is set"),
            Error::Interrupted => f.write_str("the statement was interrupted"),
            Error::LockTableFull(limit) => write!(f, "locks would take more than {limit} bytes"),
            Error::TooManyTransactions => f.write_str("too many active concurrent transactions"),
            Error::ReadOnly => f.write_str("cannot change anything in a read-only transaction"),
            Error::FolderReadOnly => f.write_str("the folder is open for reading only"),
            Error::ForcedRecovery => f.write_str("cannot change anything while force_recovery is not 0"),
            Error::NoSuchTable(name) => write!(f, "table {name} does not exist"),
            Error::TableExists(name) => write!(f, "table {name} already exists"),
            Error::ObjectExists(name) => write!(f, "{name} already exists"),
            Error::NoSuchObject(name) => write!(f, "{name} does not exist"),
            Error::TriggerInWrongDatabase => f.write_str("a trigger belongs to the database of its table"),
            Error::ViewTooOld(name) => {
                write!(f, "the definition of {name} has changed since the transaction's read view was opened")
            }
            Error::TableChanged(name) => write!(f, "the definition of {name} has changed; open it again"),
            Error::NoSuchIndex { table, index } => write!(f, "table {table} has no index {index}"),
            Error::BadDefinition(text)
            | Error::ForeignKey(text)
            | Error::Config(text)
            | Error::Corrupt(text) => f.write_str(text),
            Error::IndexNeeded { index, key } => {
                write!(f, "cannot drop index {index}: foreign key {key} needs it")
            }
            Error::ReadLocked => f.write_str("the session holds the global read lock"),
            Error::MetadataLockTimeout(name) => write!(f, "{name} is in use by another transaction"),
            Error::NoSuchSavepoint(name) => write!(f, "savepoint {name} does not exist"),
            Error::WrongState(text) => f.write_str(text),
            Error::Doomed { cause, fate } => {
                let why =
                    format!("a statement of the transaction failed and could not be taken back ({cause})");
                match fate {
                    Fate::Open => write!(f, "{why}: only ROLLBACK is possible"),
                    Fate::RolledBack => write!(f, "the transaction was rolled back, not committed: {why}"),
                    Fate::InBackground => write!(
                        f,
                        "the transaction was not committed: {why}; neither could all of it be rolled back now, its rows \
                         stay locked until that is done in the background"
                    ),
                }
            }
            Error::NoSuchXid => f.write_str("no prepared transaction has this XID"),
            Error::AutoIncrementExhausted(name) => write!(f, "AUTO_INCREMENT of {name} has no values left"),
            Error::TableUnusable { table, detail, .. } => write!(f, "table {table} cannot be used: {detail}"),
            Error::FileInTheWay { table, file } => {
                write!(
                    f,
                    "table {table}: the file {} exists and belongs to no table; move it away",
                    file.display()
                )
            }
            Error::Discarded(name) => write!(f, "the tablespace of table {name} is discarded"),
            Error::NotDiscarded(name) => {
                write!(f, "table {name} has a tablespace, which is to be discarded before one is imported")
            }
            Error::NoOwnTablespace(name) => write!(f, "table {name} is in the system tablespace"),
            Error::SchemaMismatch(detail) => write!(f, "the file is of another table: {detail}"),
            Error::BadImport { table, detail, .. } => write!(f, "no tablespace for table {table}: {detail}"),
            Error::UnknownCollation { table, collation } => {
                write!(f, "table {table} can only be read: the order of collation {collation} is not known")
            }
            Error::NoPartition(value) => write!(f, "Table has no partition for value {value}"),
            Error::RowNotOfPart => f.write_str("Found a row that does not match the partition"),
            Error::Misplaced { table, part, row, belongs } => {
                write!(f, "table {table}: row '{row}' is in partition {part} and belongs to ")?;
                f.write_str(belongs.as_deref().unwrap_or("none"))
            }
            Error::NotInParts => f.write_str("Found a row not matching the given partition set"),
            Error::PartitionFunction { message, .. } => f.write_str(message),
            Error::SearchTooLarge => f.write_str("a full-text search exceeds its limit of memory"),
            Error::BadDocId(table) => write!(f, "table {table}: a FTS_DOC_ID that cannot be"),
            Error::Unmaintained { table, why } => write!(f, "table {table} can only be read: {why}"),
            Error::OnlineLogTooBig(name) => {
                write!(f, "{name}: rows were changed faster than the log of changes could be applied")
            }
            Error::SortFile(e) => write!(f, "a temporary file: {e}"),
            Error::Storage(e) => e.fmt(f),
            Error::Tree(e) => e.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

impl Error {
    /// Whether stored bytes are wrong: of one object, as a rule.
    pub fn is_damage(&self) -> bool {
        match self {
            Error::Corrupt(_) | Error::TableUnusable { damaged: true, .. } => true,
            Error::Storage(e) => e.is_corruption(),
            Error::Tree(e) => e.is_corruption(),
            _ => false,
        }
    }

    /// Whether nothing can be written any more until the folder is reopened.
    pub fn is_final(&self) -> bool {
        use vaquita_storage::Error as E;
        let (Error::Storage(e) | Error::Tree(vaquita_btree::Error::Storage(e))) = self else { return false };
        matches!(e, E::Poisoned(_) | E::Log(_))
    }

    /// Why a tablespace's file could not be made or grow, if that is the error.
    pub fn no_space(&self) -> Option<String> {
        use vaquita_storage::Error as E;
        let (Error::Storage(e) | Error::Tree(vaquita_btree::Error::Storage(e))) = self else { return None };
        match e {
            E::SpaceFull { detail, .. } => Some(detail.clone()),
            E::Io(e) if e.kind == vaquita_io::ErrorKind::NoSpace => Some(e.to_string()),
            _ => None,
        }
    }
}

impl From<vaquita_storage::Error> for Error {
    fn from(e: vaquita_storage::Error) -> Self {
        Error::Storage(e)
    }
}

impl From<vaquita_btree::Error> for Error {
    fn from(e: vaquita_btree::Error) -> Self {
        Error::Tree(e)
    }
}

impl From<vaquita_txn::Error> for Error {
    fn from(e: vaquita_txn::Error) -> Self {
        use vaquita_txn::Error as E;
        match e {
            E::Storage(e) => Error::Storage(e),
            E::LockWaitTimeout => Error::LockWaitTimeout,
            E::Deadlock(report) => Error::Deadlock(Some(report)),
            E::LockNotAvailable => Error::LockNotAvailable,
            E::Interrupted => Error::Interrupted,
            E::LockTableFull { limit_bytes } => Error::LockTableFull(limit_bytes),
            E::TooManyTransactions => Error::TooManyTransactions,
            E::UndoRecordTooBig { bytes } => Error::UndoRecordTooBig(bytes),
            E::ReadOnly => Error::ReadOnly,
            other => Error::Corrupt(other.to_string()),
        }
    }
}
