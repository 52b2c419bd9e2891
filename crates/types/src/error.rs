//! Errors and warnings with MySQL's numbers, SQLSTATEs and messages.

use std::borrow::Cow;
use std::fmt;

/// Result of an SQL operation.
pub type SqlResult<T> = std::result::Result<T, SqlError>;

/// An error as a client gets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqlError {
    /// MySQL's error number.
    pub code: u16,
    /// SQLSTATE, five characters.
    pub sqlstate: &'static str,
    /// Message.
    pub message: Cow<'static, str>,
}

impl SqlError {
    /// An error with that number; the SQLSTATE follows from it.
    pub fn new(code: u16, message: impl Into<Cow<'static, str>>) -> SqlError {
        SqlError { code, sqlstate: sqlstate(code), message: message.into() }
    }

    /// 1235: something that is not there yet.
    pub fn unsupported(feature: &str) -> SqlError {
        SqlError::new(1235, format!("This version of Vaquita doesn't yet support '{feature}'"))
    }
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ERROR {} ({}): {}", self.code, self.sqlstate, self.message)
    }
}

impl std::error::Error for SqlError {}

/// SQLSTATE of an error number; `HY000` for those without one of their own.
pub fn sqlstate(code: u16) -> &'static str {
    match code {
        1062 | 1586 => "23000",
        1064 => "42000",
        1146 => "42S02",
        1235 => "42000",
        _ => "HY000",
    }
}

/// How grave a condition is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Something was done differently; counted as a warning only by SHOW WARNINGS.
    Note,
    /// Data may have been changed on the way.
    Warning,
    /// The statement failed.
    Error,
}

/// A line of SHOW WARNINGS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// How grave.
    pub level: Level,
    /// Number.
    pub code: u16,
    /// Message.
    pub message: Cow<'static, str>,
}

/// The conditions of a statement: the first `max_error_count` are kept, all are counted.
#[derive(Debug, Clone, Default)]
pub struct Warnings {
    list: Vec<Warning>,
    count: u32,
    limit: usize,
}

impl Warnings {
    /// Keeps up to so many.
    pub fn new(limit: usize) -> Warnings {
        Warnings { list: Vec::new(), count: 0, limit }
    }

    /// Keeps up to so many from now on.
    pub fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.list.clear();
        self.count = 0;
    }

    /// Adds a condition.
    pub fn push(&mut self, level: Level, code: u16, message: impl Into<Cow<'static, str>>) {
        self.count += 1;
        if self.list.len() < self.limit {
            self.list.push(Warning { level, code, message: message.into() });
        }
    }

    /// Adds a warning.
    pub fn warn(&mut self, code: u16, message: impl Into<Cow<'static, str>>) {
        self.push(Level::Warning, code, message);
    }

    /// How many there were.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Those that were kept.
    pub fn list(&self) -> &[Warning] {
        &self.list
    }
}
