//! What an account may do in an hour: MAX_QUERIES_PER_HOUR, MAX_UPDATES_PER_HOUR, MAX_CONNECTIONS_PER_HOUR.
//!
//! Sessions of an account count together. An hour begins with the account's first connection, and the next one with the first
//! thing that is done after its end.

use parking_lot::Mutex;
use std::time::{Duration, Instant};
use vaquita_parser::ast::{ExplainTarget, Stmt};
use vaquita_session::status::Com;
use vaquita_types::{SqlError, SqlResult};

const HOUR: Duration = Duration::from_secs(3600);

/// What is counted, in the order of [`Limits`].
const RESOURCES: [&str; 3] = ["max_questions", "max_updates", "max_connections_per_hour"];
const QUESTIONS: usize = 0;
const UPDATES: usize = 1;
const CONNECTIONS: usize = 2;

/// Statements, changes and connections per hour; 0: as many as one likes.
pub(crate) type Limits = [u64; 3];

/// What an account may do and has done.
#[derive(Debug)]
pub(crate) struct Usage {
    user: String,
    hour: Mutex<Hour>,
}

#[derive(Debug)]
struct Hour {
    limits: Limits,
    done: [u64; 3],
    since: Instant,
}

impl Usage {
    /// Of an account whose first hour begins now.
    pub(crate) fn new(user: &str, limits: Limits, now: Instant) -> Usage {
        Usage { user: user.to_owned(), hour: Mutex::new(Hour { limits, done: [0; 3], since: now }) }
    }

    /// What was done up to now is forgotten: the hour begins again.
    pub(crate) fn reset(&self, now: Instant) {
        let mut hour = self.hour.lock();
        (hour.done, hour.since) = ([0; 3], now);
    }

    /// Other limits from now on.
    pub(crate) fn set_limits(&self, limits: Limits) {
        self.hour.lock().limits = limits;
    }

    /// A connection.
    ///
    /// # Errors
    /// 1226: there were too many in this hour.
    pub(crate) fn connect(&self, now: Instant) -> SqlResult<()> {
        self.count(&[CONNECTIONS], now)
    }

    /// A statement.
    ///
    /// # Errors
    /// 1226: there were too many in this hour, or too many that change something.
    pub(crate) fn ask(&self, updates: bool, now: Instant) -> SqlResult<()> {
        self.count(if updates { &[QUESTIONS, UPDATES] } else { &[QUESTIONS] }, now)
    }

    /// The statement that was counted last is begun anew, and will be counted again.
    pub(crate) fn forget_last(&self, updates: bool) {
        let mut hour = self.hour.lock();
        hour.done[QUESTIONS] = hour.done[QUESTIONS].saturating_sub(1);
        hour.done[UPDATES] = hour.done[UPDATES].saturating_sub(u64::from(updates));
    }

    fn count(&self, what: &[usize], now: Instant) -> SqlResult<()> {
        let mut hour = self.hour.lock();
        if now.saturating_duration_since(hour.since) >= HOUR {
            (hour.done, hour.since) = ([0; 3], now);
        }
        for &resource in what {
            let limit = hour.limits[resource];
            if limit != 0 && hour.done[resource] >= limit {
                let (user, name) = (&self.user, RESOURCES[resource]);
                let text =
                    format!("User '{user}' has exceeded the '{name}' resource (current value: {limit})");
                return Err(SqlError::new(1226, text));
            }
            hour.done[resource] += 1;
        }
        Ok(())
    }
}

/// Whether a statement of that kind changes something, as MAX_UPDATES_PER_HOUR counts.
pub(crate) fn is_update(kind: Com) -> bool {
    matches!(
        kind,
        Com::AlterDb
            | Com::AlterTable
            | Com::AlterUser
            | Com::AlterUserDefaultRole
            | Com::CreateDb
            | Com::CreateIndex
            | Com::CreateRole
            | Com::CreateTable
            | Com::CreateUser
            | Com::CreateView
            | Com::Delete
            | Com::DeleteMulti
            | Com::DropDb
            | Com::DropIndex
            | Com::DropRole
            | Com::DropTable
            | Com::DropUser
            | Com::DropView
            | Com::Grant
            | Com::GrantRoles
            | Com::Insert
            | Com::InsertSelect
            | Com::Load
            | Com::Optimize
            | Com::RenameTable
            | Com::RenameUser
            | Com::Replace
            | Com::ReplaceSelect
            | Com::Revoke
            | Com::RevokeAll
            | Com::RevokeRoles
            | Com::Truncate
            | Com::Update
            | Com::UpdateMulti
    )
}

/// The same of a statement: what EXPLAIN explains counts, too.
pub(crate) fn statement_updates(stmt: &Stmt<'_>) -> bool {
    match stmt {
        Stmt::Explain(explain) => match explain.target {
            ExplainTarget::Statement(explained) => is_update(Com::of(explained)),
            _ => false,
        },
        Stmt::CreateProgram(_) | Stmt::DropProgram(_) | Stmt::AlterProgram(_) | Stmt::AlterEvent(_) => true,
        _ => is_update(Com::of(stmt)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_hour_begins_at_nothing() {
        let start = Instant::now();
        let usage = Usage::new("u", [2, 1, 1], start);
        let at = |s: u64| start + Duration::from_secs(s);
        let text = |done: SqlResult<()>| done.map_or_else(|e| e.message.into_owned(), |()| String::new());
        assert_eq!(text(usage.connect(at(0))), "");
        assert!(text(usage.connect(at(3599))).contains("'max_connections_per_hour'"));
        assert_eq!(text(usage.ask(true, at(1))), "");
        assert!(text(usage.ask(true, at(2))).contains("'max_updates' resource (current value: 1)"));
        assert!(text(usage.ask(false, at(3599))).contains("'max_questions' resource (current value: 2)"));
        assert_eq!(text(usage.ask(true, at(3600))), "");
        assert_eq!(text(usage.connect(at(3601))), "");
        assert_eq!(text(usage.ask(false, at(7199))), "");
        assert!(usage.ask(false, at(7199)).is_err());
        usage.forget_last(false);
        assert_eq!(text(usage.ask(false, at(7199))), "");
        usage.reset(at(7199));
        assert_eq!(text(usage.ask(false, at(7200))), "", "an hour from then on");
        usage.set_limits([1, 0, 0]);
        assert!(usage.ask(false, at(7201)).is_err());
    }
}
