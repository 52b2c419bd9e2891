//! Expressions: compiled once per statement, evaluated per row.

use crate::database::Database;
use crate::state::SessionState;
use vaquita_engine::Session;
use vaquita_types::Value;

/// What evaluation needs besides the row.
#[derive(Debug)]
pub struct EvalCx<'c> {
    /// The folder.
    pub db: &'c Database,
    /// The session.
    pub state: &'c mut SessionState,
    /// Parameters of the statement: `?`, or literals lifted out of the text.
    pub params: &'c [Value<'c>],
    /// To run subqueries. `None` while a row is looked at in place (its page is latched): expressions with subqueries
    /// are evaluated on copied rows only.
    pub engine: Option<&'c mut Session>,
}
