//! The four isolation levels.

use std::fmt;

/// An isolation level; InnoDB's meanings of the SQL-92 names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Plain reads see the newest version, committed or not.
    ReadUncommitted,
    /// Each plain read sees what is committed when it starts.
    ReadCommitted,
    /// All plain reads see what was committed at the first; locks cover gaps.
    RepeatableRead,
    /// As above, and plain reads lock what they read.
    Serializable,
}

impl Level {
    /// All, from weak to strong.
    pub const ALL: [Level; 4] =
        [Level::ReadUncommitted, Level::ReadCommitted, Level::RepeatableRead, Level::Serializable];

    /// As SQL writes it.
    pub fn sql(self) -> &'static str {
        match self {
            Level::ReadUncommitted => "read uncommitted",
            Level::ReadCommitted => "read committed",
            Level::RepeatableRead => "repeatable read",
            Level::Serializable => "serializable",
        }
    }

    /// As a part of a file name.
    pub fn file_name(self) -> &'static str {
        match self {
            Level::ReadUncommitted => "read-uncommitted",
            Level::ReadCommitted => "read-committed",
            Level::RepeatableRead => "repeatable-read",
            Level::Serializable => "serializable",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sql().to_uppercase())
    }
}
