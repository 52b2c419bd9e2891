//! What a session remembers between statements, and what a statement remembers between rows; everything that needs no
//! engine session, so that expressions can be evaluated while a cursor is open.

use vaquita_types::Warnings;

/// A session's state.
#[derive(Debug)]
pub struct SessionState {
    /// CONNECTION_ID().
    pub connection_id: u32,
    /// User as given, for USER().
    pub user: String,
    /// Host the client comes from.
    pub host: String,
    /// The current database; none: empty.
    pub database: String,
    /// Session values of system variables.
    pub vars: crate::vars::SessionVars,
    /// Conditions of the present statement, or of the last one.
    pub warnings: Warnings,
    /// LAST_INSERT_ID().
    pub last_insert_id: u64,
    /// ROW_COUNT() of the last statement.
    pub row_count: i64,
    /// FOUND_ROWS() of the last SELECT.
    pub found_rows: u64,
    /// The statement's time: microseconds since 1970, UTC; NOW() of every expression in it.
    pub now_us: i64,
}
