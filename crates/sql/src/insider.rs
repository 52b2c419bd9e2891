//! Statements that this layer runs for itself, in the tables of `mysql` that keep accounts and logs.
//!
//! They are statements as any other, run by a session that is nobody's. Accounts and logs stand below sessions, which use
//! them: so a folder gets a way to make such sessions when it is opened ([`crate::opening`]).

use std::fmt::Debug;
use vaquita_types::SqlResult;

/// A session of this layer itself, which may do everything and is not logged.
pub(crate) trait Insider: Debug {
    /// Runs a statement; gives the rows of its result, cells as text.
    ///
    /// # Errors
    /// Of the statement.
    fn run(&mut self, sql: &str) -> SqlResult<Vec<Vec<Option<String>>>>;

    /// Rows may be changed under `innodb_force_recovery`: for what mends accounts.
    fn ignore_force_recovery(&mut self);
}

/// Makes such sessions.
pub(crate) trait Insiders: Debug + Send + Sync {
    /// A new one; `None`: the folder is closed.
    fn session(&self) -> Option<SqlResult<Box<dyn Insider>>>;
}

/// Text as a literal of such a statement.
pub(crate) fn quoted(text: &[u8]) -> String {
    if text.iter().all(|b| b.is_ascii_graphic() && !matches!(b, b'\'' | b'\\')) {
        return format!("'{}'", String::from_utf8_lossy(text));
    }
    let digits: String = text.iter().map(|b| format!("{b:02X}")).collect();
    if digits.is_empty() { "''".to_owned() } else { format!("x'{digits}'") }
}
