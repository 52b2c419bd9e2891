//! ALGORITHM and LOCK of ALTER TABLE: how a change is done, who may use the table meanwhile, and why not otherwise.
//!
//! | change | way | rows affected |
//! |---|---|---|
//! | what [`metadata`](super::metadata) lists: names, defaults, comments, visibility, options, labels appended, VARCHAR made longer | the definition alone | 0 |
//! | columns come, go and move, where [`instant`](super::instant) can do it | the definition alone, by another version of the rows | 0 |
//! | indexes and foreign keys come and go | in place | 0 |
//! | columns come, go, move, or take NULL or not; PRIMARY KEY comes or is another one; FORCE, ENGINE, ROW_FORMAT, KEY_BLOCK_SIZE, OPTIMIZE | rebuild | 0 |
//! | PRIMARY KEY goes and none comes; values of another type; NULL made a value where sql_mode is not strict | copy | all |
//! | a foreign key comes, with `foreign_key_checks`, where rows are written anyway; a CHECK or a STORED generated column comes | copy | all |
//! | a FULLTEXT key comes | in place; rebuild, if documents have no numbers yet; beside readers if FTS_DOC_ID is the user's own | 0 |
//! | rows of a table are written anew that has FULLTEXT keys, or numbers of documents | copy, beside readers if FTS_DOC_ID is the user's own | all |
//! | a temporary table; IGNORE with a unique index; `ALGORITHM=COPY`; `old_alter_table` | copy | all |
//!
//! A copy is written as a rebuild is, beside readers and writers, where [`lets_write`](super::copy::lets_write) says so;
//! `ALGORITHM=INPLACE` takes it there, and counts no rows. Elsewhere others read.
//!
//! The ways and the reasons are those of MySQL 5.6.24 (asked with every combination of the two clauses); where we take more than it
//! does, docs/compat.md says so.

use super::metadata;
use vaquita_catalog::{ColumnDefinition, Definition};
use vaquita_engine::Concurrency;
use vaquita_parser::ast::{AlterAlgorithm, AlterLock};
use vaquita_types::{Kind, SqlError, SqlResult};

/// How a change is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// Indexes and foreign keys come and go.
    Keys,
    /// They do, if there are any; then the definition is written anew. The rows are as they were.
    Definition,
    /// Columns come, go and move, by another version of the rows: ALGORITHM=INPLACE asks for rows that are written anew.
    Instant,
    /// The rows are written anew, as they are but for columns that come, go or move: ALGORITHM=INPLACE takes it.
    Rebuild,
    /// The rows are written anew, and counted.
    Copy(Why),
}

/// Why a change is a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    /// It was asked for.
    Asked,
    /// No other way is there for the table, or the statement.
    NoOther,
    /// Values become those of another type.
    Type,
    /// NULL is to become a value, as sql_mode has it.
    Nulls,
    /// The rows lose their key.
    NoKey,
    /// They are held against a new foreign key.
    References,
    /// Those that another one has the key of are left out.
    Ignore,
    /// The table has FULLTEXT keys, or the numbers of documents that one has left.
    Words,
}

impl Why {
    /// Whether others may write meanwhile, if [`lets_write`](super::copy::lets_write) does not forbid it.
    pub(super) fn is_beside_others(self) -> bool {
        match self {
            Why::Type | Why::Nulls | Why::NoKey | Why::Words | Why::NoOther => true,
            Why::Asked | Why::References | Why::Ignore => false,
        }
    }

    /// As the server says it.
    fn reason(self) -> Option<&'static str> {
        match self {
            Why::Asked => Some("COPY algorithm requires a lock"),
            Why::NoOther => None,
            Why::Type => Some("Cannot change column type INPLACE"),
            Why::Nulls => Some("cannot silently convert NULL values, as required in this SQL_MODE"),
            Why::Ignore => {
                Some("Creating unique indexes with IGNORE requires COPY algorithm to remove duplicate rows")
            }
            Why::Words => Some(ONE_AT_A_TIME),
            Why::References => Some("Adding foreign keys needs foreign_key_checks=OFF"),
            Why::NoKey => Some("Dropping a primary key is not allowed without also adding a new primary key"),
        }
    }
}

/// What MySQL says of FULLTEXT keys, here also of whatever else it does not do with them in place.
const ONE_AT_A_TIME: &str = "InnoDB presently supports one FULLTEXT index creation at a time";

/// 1795: several FULLTEXT keys come, and the rows are not copied.
pub(super) fn several_words() -> SqlError {
    SqlError::new(1795, ONE_AT_A_TIME)
}

/// The least that a change may be kept to others with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Lock {
    /// Others read and write.
    None,
    /// Others read.
    Shared,
}

/// How rows are written anew that are not as they were: whether they have to be copied, and why.
pub(super) fn copy_or_rebuild(
    from: &Definition,
    to: &Definition,
    strict: bool,
    foreign_key_checks: bool,
) -> Way {
    let kept = || to.columns.iter().filter_map(|new| Some((&from.columns[new.origin?], new)));
    let converts = kept().any(|(old, new)| {
        let (a, b) = (&old.ty, &new.ty);
        let same_labels = new.labels.starts_with(&old.labels) && a.to_def("").len == b.to_def("").len;
        a.kind != b.kind
            || a.unsigned != b.unsigned
            || a.decimals != b.decimals
            || a.collation != b.collation
            || !same_labels
            || !matches!(a.kind, Kind::Enum | Kind::Set) && !a.kind.is_integer() && a.length != b.length
            || !old.auto_increment && new.auto_increment
    });
    let primary = |definition: &Definition| definition.keys.iter().any(|key| key.is_primary());
    match () {
        () if converts => Way::Copy(Why::Type),
        () if !strict && kept().any(|(old, new)| old.ty.nullable && !new.ty.nullable) => {
            Way::Copy(Why::Nulls)
        }
        () if primary(from) && !primary(to) => Way::Copy(Why::NoKey),
        () if foreign_key_checks && to.foreign_keys.iter().any(|key| !key.exists) => {
            Way::Copy(Why::References)
        }
        () if !metadata::keeps_checks(from, to) || to.columns.iter().any(|new| is_calculated_anew(new)) => {
            Way::Copy(Why::NoOther)
        }
        () => Way::Rebuild,
    }
}

/// Whether a column comes whose values are calculated and kept.
fn is_calculated_anew(new: &ColumnDefinition) -> bool {
    new.origin.is_none() && !new.hidden && new.generated.as_ref().is_some_and(|generated| generated.stored)
}

/// What ALGORITHM and LOCK say of a change.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clauses {
    pub algorithm: AlterAlgorithm,
    pub lock: AlterLock,
}

/// What they are held against.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked {
    /// How the change is done if nobody asks.
    pub way: Way,
    /// It takes a moment, whatever the table holds.
    pub brief: bool,
    /// Rows can be written anew beside others.
    pub lets_write: bool,
    /// FULLTEXT keys come.
    pub builds_words: bool,
    /// The table has FULLTEXT keys afterwards.
    pub has_words: bool,
    /// FTS_DOC_ID is the user's own.
    pub declares_number: bool,
    /// Nothing changes, but perhaps the name.
    pub only_name: bool,
    /// Nobody else knows of the table: it is temporary.
    pub alone: bool,
    /// `old_alter_table`.
    pub old_way: bool,
}

impl Clauses {
    /// How the change is done.
    ///
    /// # Errors
    /// 1845, 1846: a clause asks for what is not done. 1221: a lock for what is done in a moment.
    pub(super) fn settle(self, asked: Asked) -> SqlResult<Way> {
        use AlterAlgorithm as A;
        let way = match (self.algorithm, asked.way) {
            (A::Copy, _) => Way::Copy(Why::Asked),
            (A::Default, _) if asked.old_way => Way::Copy(Why::Asked),
            (A::Instant, _) if !matches!(self.lock, AlterLock::Default) => {
                let lock = format!("LOCK={}", name(self.lock));
                let message = format!("Incorrect usage of ALGORITHM=INSTANT and {lock}");
                return Err(SqlError::new(1221, message));
            }
            (A::Instant, Way::Copy(why)) => {
                return Err(refused("ALGORITHM=INSTANT", why.reason(), "ALGORITHM=COPY"));
            }
            (A::Instant, _) if !asked.brief => {
                return Err(refused("ALGORITHM=INSTANT", None, "ALGORITHM=INPLACE"));
            }
            (A::Inplace, Way::Copy(why)) if asked.lets_write && why.is_beside_others() => Way::Rebuild,
            (A::Inplace, Way::Copy(why)) => {
                return Err(refused("ALGORITHM=INPLACE", why.reason(), "ALGORITHM=COPY"));
            }
            (A::Inplace, Way::Instant) => Way::Rebuild,
            (_, way) => way,
        };
        let (least, reason) = match way {
            _ if asked.alone => return Ok(way),
            _ if asked.only_name && !matches!(way, Way::Copy(_)) => {
                return match self.lock {
                    AlterLock::None | AlterLock::Shared => {
                        Err(refused("LOCK=NONE/SHARED", None, "LOCK=EXCLUSIVE"))
                    }
                    _ => Ok(way),
                };
            }
            Way::Copy(why) if why.is_beside_others() && asked.lets_write => (Lock::None, why.reason()),
            Way::Copy(why) => (Lock::Shared, why.reason()),
            Way::Rebuild if !asked.lets_write => (Lock::Shared, None),
            Way::Rebuild | Way::Instant => (Lock::None, None),
            // Indexes are built, and rows are held against foreign keys, beside others.
            Way::Keys | Way::Definition => (Lock::None, None),
        };
        // Words are gathered beside writers where rows that come meanwhile get their numbers of documents from the engine.
        let words = match way {
            Way::Copy(_) | Way::Rebuild => asked.has_words,
            _ => asked.builds_words,
        };
        let words = words && asked.declares_number;
        let (least, reason) = match words && least < Lock::Shared {
            true => (Lock::Shared, reason.or(Some("Fulltext index creation requires a lock"))),
            false => (least, reason),
        };
        let wanted = match self.lock {
            AlterLock::None => Lock::None,
            AlterLock::Shared => Lock::Shared,
            AlterLock::Default | AlterLock::Exclusive => return Ok(way),
        };
        match wanted < least {
            true => Err(refused(&format!("LOCK={}", name(self.lock)), reason, least.clause())),
            false => Ok(way),
        }
    }
}

/// What others may do while a change is under way that lets them: all, unless the statement says less.
pub(super) fn beside(lock: AlterLock) -> Concurrency {
    match lock {
        AlterLock::Default | AlterLock::None => Concurrency::Writes,
        AlterLock::Shared => Concurrency::Reads,
        AlterLock::Exclusive => Concurrency::Nothing,
    }
}

impl Lock {
    fn clause(self) -> &'static str {
        match self {
            Lock::None => "LOCK=NONE",
            Lock::Shared => "LOCK=SHARED",
        }
    }
}

fn name(lock: AlterLock) -> &'static str {
    match lock {
        AlterLock::Default => "DEFAULT",
        AlterLock::None => "NONE",
        AlterLock::Shared => "SHARED",
        AlterLock::Exclusive => "EXCLUSIVE",
    }
}

fn refused(clause: &str, reason: Option<&str>, instead: &str) -> SqlError {
    match reason {
        Some(reason) => {
            SqlError::new(1846, format!("{clause} is not supported. Reason: {reason}. Try {instead}."))
        }
        None => SqlError::new(1845, format!("{clause} is not supported for this operation. Try {instead}.")),
    }
}
