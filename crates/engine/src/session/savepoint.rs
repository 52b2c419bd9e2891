//! Savepoints, and looking at tables without becoming part of the transaction.
//!
//! A session may be in a transaction in which the engine has no part yet: none of its statements used a table. A savepoint
//! of that time is one of nothing: going back to it ends the engine's part, locks and read view included, and the
//! transaction begins anew with the next table. Metadata locks taken since a savepoint go in either case.

use super::Session;
use crate::error::{Error, Result};
use vaquita_txn::TrxState;

/// How many metadata locks a session has, and how many of its tables it knows to be locked: a place to come back to.
#[derive(Debug, Clone, Copy)]
struct Names {
    locked: usize,
    used: usize,
}

#[derive(Debug)]
pub(super) struct Savepoint {
    name: String,
    undo_no: u64,
    /// [`vaquita_txn::Trx::unchanged`] then.
    unchanged: u64,
    names: Names,
    /// The engine had a part in the transaction.
    takes_part: bool,
}

/// A look at tables that [`Session::begin_look`] began.
#[derive(Debug)]
#[must_use = "what was begun for the look is to be ended"]
pub struct Look {
    /// The transaction was started for it.
    started: bool,
    names: Names,
}

impl Session {
    /// Starts what only looks at definitions and numbers of tables: it leaves the transaction, its savepoints and its
    /// metadata locks as they were, and no transaction where there was none.
    pub fn begin_look(&mut self) -> Look {
        let names = self.names();
        // Within a statement that goes on nothing of it ends with the look.
        if self.nested {
            return Look { started: false, names };
        }
        let started = self.trx.state() == TrxState::NotStarted;
        self.start_statement();
        Look { started, names }
    }

    /// Ends a look.
    ///
    /// # Errors
    /// What it may have left could not be taken back; a background service tries again.
    pub fn end_look(&mut self, look: Look) -> Result<()> {
        if !self.nested {
            self.leave_statement();
        }
        debug_assert!(!look.started || self.trx.undo_no() == 0, "a look has changed rows");
        let done = if look.started { self.roll_back_trx() } else { Ok(()) };
        self.release_names(look.names);
        done
    }

    /// Whether the engine has a part in the transaction: a statement has used a table, or there is a read view. The present
    /// statement counts if it `failed` only as far as it read or locked rows.
    pub fn takes_part(&self, failed: bool) -> bool {
        let by_tables = if failed { self.part } else { self.part || !self.used.is_empty() };
        by_tables
            || self.trx.view().is_some()
            || self.trx.undo_no() != 0
            || self.trx.shared().locks().lock_structs() != 0
    }

    /// Ends a statement that is no transaction of its own. Without a part of the engine's nothing is begun by it.
    pub(super) fn leave_open(&mut self, failed: bool) -> Result<()> {
        self.part = self.takes_part(failed);
        match self.part || self.explicit || self.trx.state() == TrxState::NotStarted {
            true => Ok(()),
            false => self.roll_back_trx(),
        }
    }

    fn names(&self) -> Names {
        Names { locked: self.core.mdl.held(&self.mdl), used: self.used.len() }
    }

    fn release_names(&mut self, names: Names) {
        debug_assert!(names.used <= self.used.len(), "tables were forgotten since {names:?} was noted");
        self.used.truncate(names.used);
        self.core.mdl.release_from(&mut self.mdl, names.locked.max(self.kept_locks));
    }

    /// Sets a savepoint; one of the same name (ASCII case ignored) moves.
    ///
    /// Outside a transaction nothing is remembered, as in MySQL's autocommit mode.
    pub fn savepoint(&mut self, name: &str) {
        if self.is_own_transaction() {
            return;
        }
        self.savepoints.retain(|s| !s.name.eq_ignore_ascii_case(name));
        let undo_no = self.trx.undo_no();
        debug_assert!(
            self.savepoints.iter().all(|before| before.undo_no <= undo_no),
            "savepoint {name} at {undo_no} comes behind {:?}",
            self.savepoints
        );
        self.savepoints.push(Savepoint {
            name: name.to_owned(),
            undo_no,
            unchanged: self.trx.unchanged(),
            names: self.names(),
            takes_part: self.takes_part(false),
        });
    }

    /// Takes back what was done since the savepoint; it stays, later ones go. Row locks stay, unless the engine had no part
    /// in the transaction then; metadata locks taken since go.
    ///
    /// # Errors
    /// [`Error::NoSuchSavepoint`]; the changes could not be taken back, the transaction is doomed then.
    pub fn rollback_to_savepoint(&mut self, name: &str) -> Result<()> {
        self.check_sound()?;
        let at = self.find_savepoint(name)?;
        let Savepoint { undo_no, unchanged, names, takes_part, .. } = self.savepoints[at];
        self.savepoints.truncate(at + 1);
        if takes_part {
            debug_assert!(undo_no <= self.trx.undo_no(), "savepoint {name} at {undo_no} is yet to come");
            self.take_back_from(undo_no)?;
            self.trx.set_unchanged(unchanged);
        } else if self.trx.state() != TrxState::NotStarted {
            let (isolation, access) = (self.trx.isolation(), self.trx.access());
            self.part = false;
            self.roll_back_trx()?;
            // The next statement goes on in a transaction of the same kind.
            self.start_as(isolation, access);
        }
        self.release_names(names);
        Ok(())
    }

    /// Forgets a savepoint and those set after it.
    ///
    /// # Errors
    /// [`Error::NoSuchSavepoint`].
    pub fn release_savepoint(&mut self, name: &str) -> Result<()> {
        self.check_sound()?;
        let at = self.find_savepoint(name)?;
        self.savepoints.truncate(at);
        Ok(())
    }

    fn find_savepoint(&self, name: &str) -> Result<usize> {
        let found = self.savepoints.iter().position(|s| s.name.eq_ignore_ascii_case(name));
        found.ok_or_else(|| Error::NoSuchSavepoint(name.to_owned()))
    }
}
