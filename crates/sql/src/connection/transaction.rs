//! BEGIN, COMMIT, savepoints, SET TRANSACTION.

use super::{Connection, text_of};
use std::sync::atomic::Ordering;
use vaquita_catalog::error;
use vaquita_engine::{AccessMode, Isolation};
use vaquita_exec::Outcome;
use vaquita_parser::ast::{self, Completion, Txn, VarScope};
use vaquita_session::privilege::Priv;
use vaquita_session::sink::ResultSink;
use vaquita_session::vars::{VarId, VarValue, id};
use vaquita_types::{Level, SqlError, SqlResult};

/// What SET TRANSACTION without a scope says of the next transaction.
#[derive(Debug, Default)]
pub(super) struct Characteristics {
    isolation: Option<Isolation>,
    access: Option<AccessMode>,
    /// A transaction has begun with them: they end with it.
    in_use: bool,
    /// What a rollback of the transaction does not take back.
    pub(super) temporaries: TemporaryMarks,
}

/// Temporary tables that came and went in a transaction.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct TemporaryMarks {
    pub(super) created: bool,
    pub(super) dropped: bool,
}

fn isolation_of(level: u8) -> Isolation {
    match level {
        0 => Isolation::ReadUncommitted,
        1 => Isolation::ReadCommitted,
        2 => Isolation::RepeatableRead,
        _ => Isolation::Serializable,
    }
}

fn level_of(isolation: ast::Isolation) -> u8 {
    match isolation {
        ast::Isolation::ReadUncommitted => 0,
        ast::Isolation::ReadCommitted => 1,
        ast::Isolation::RepeatableRead => 2,
        ast::Isolation::Serializable => 3,
    }
}

fn access_of(access: ast::AccessMode) -> AccessMode {
    match access {
        ast::AccessMode::ReadOnly => AccessMode::ReadOnly,
        ast::AccessMode::ReadWrite => AccessMode::ReadWrite,
    }
}

fn done() -> SqlResult<Outcome> {
    Ok(Outcome::default())
}

impl Connection {
    /// Statements about transactions.
    pub(super) fn txn(&mut self, txn: &Txn<'_>, sink: &mut dyn ResultSink) -> SqlResult<Outcome> {
        match txn {
            Txn::Start { consistent_snapshot, access } => {
                self.xa.check_local()?;
                self.start_transaction(*consistent_snapshot, access.map(access_of))
            }
            Txn::Commit(how) => {
                self.xa.check_local()?;
                let access = self.present_access();
                self.commit()?;
                self.complete(how, access)
            }
            Txn::Rollback(how) => {
                self.xa.check_local()?;
                self.state.status.handler_rollback += u64::from(self.engine.in_transaction());
                self.uses_characteristics();
                let access = self.present_access();
                self.say_temporaries_stay();
                self.transaction.temporaries = TemporaryMarks::default();
                error::of_engine(self.engine.rollback())?;
                self.complete(how, access)
            }
            Txn::Savepoint(name) => {
                self.xa.check_savepoint()?;
                self.state.status.handler_savepoint += 1;
                self.engine.savepoint(&text_of(*name));
                done()
            }
            Txn::RollbackTo(name) => {
                self.xa.check_savepoint()?;
                self.state.status.handler_savepoint_rollback += 1;
                error::of_engine(self.engine.rollback_to_savepoint(&text_of(*name)))?;
                self.say_temporaries_stay();
                done()
            }
            Txn::Release(name) => {
                self.xa.check_savepoint()?;
                error::of_engine(self.engine.release_savepoint(&text_of(*name)))?;
                done()
            }
            Txn::Set { scope, isolation, access } => {
                self.set_transaction(*scope, isolation.map(level_of), access.map(access_of))
            }
            Txn::Xa(xa) => self.run_xa(xa, sink),
            Txn::LockTables(locks) => self.lock_tables(locks),
            Txn::UnlockTables => {
                if self.locked.is_active() {
                    self.xa.check_ddl()?;
                }
                self.engine.unlock_globally();
                if self.unlock_tables() {
                    self.commit()?;
                }
                done()
            }
        }
    }

    /// Temporary tables are no part of a transaction that is rolled back, as the client is told.
    fn say_temporaries_stay(&mut self) {
        let TemporaryMarks { created, dropped } = self.transaction.temporaries;
        if !self.engine.in_transaction() {
            return;
        }
        let stay = "The creation of some temporary tables could not be rolled back.";
        let gone = "Some temporary tables were dropped, but these operations could not be rolled back.";
        for (code, text) in created.then_some((1751, stay)).into_iter().chain(dropped.then_some((1752, gone)))
        {
            self.state.warnings.push(Level::Warning, code, text);
        }
    }

    fn start_transaction(&mut self, snapshot: bool, access: Option<AccessMode>) -> SqlResult<Outcome> {
        if access == Some(AccessMode::ReadWrite) {
            self.check_read_only()?;
        }
        self.unlock_tables();
        self.commit()?;
        let access = access.unwrap_or(self.engine.settings.access);
        self.transaction.in_use = true;
        error::of_engine(self.engine.begin(access, snapshot))?;
        if snapshot && self.engine.isolation() != Isolation::RepeatableRead {
            let text = "InnoDB: WITH CONSISTENT SNAPSHOT was ignored because this phrase can only be used with \
                        REPEATABLE READ isolation level.";
            self.state.warnings.push(Level::Warning, 138, text);
        }
        done()
    }

    /// Commits; what is not durable yet is remembered.
    pub(super) fn commit(&mut self) -> SqlResult<()> {
        self.uses_characteristics();
        self.transaction.temporaries = TemporaryMarks::default();
        self.state.status.handler_commit += u64::from(self.engine.in_transaction());
        let durability = error::of_engine(self.engine.commit())?;
        self.committed(durability);
        Ok(())
    }

    /// What definitions and the like do before and after.
    pub(super) fn implicit_commit(&mut self) -> SqlResult<()> {
        if !self.engine.in_transaction() {
            // Savepoints, and names locked by statements that failed, may be there all the same.
            self.uses_characteristics();
            return error::of_engine(self.engine.commit().map(|_| ()));
        }
        self.commit()
    }

    /// What statements about accounts do before.
    pub(super) fn before_account_change(&mut self) -> SqlResult<()> {
        self.xa.check_ddl()?;
        if self.locked.is_active() {
            return Err(SqlError::new(1100, "Table 'user' was not locked with LOCK TABLES"));
        }
        self.implicit_commit()?;
        error::of_engine(self.engine.begin_change())
    }

    /// Whether the present transaction, or else the next one, may change anything.
    fn present_access(&self) -> AccessMode {
        match self.engine.in_transaction() {
            true => self.engine.transaction_access(),
            false => self.engine.settings.access,
        }
    }

    /// AND CHAIN, RELEASE, or what `completion_type` says.
    fn complete(&mut self, how: &Completion, access: AccessMode) -> SqlResult<Outcome> {
        let by_default = self.state.vars.completion_type;
        let chain = how.chain.unwrap_or(by_default == 1 && how.release != Some(true));
        let release = how.release.unwrap_or(by_default == 2 && how.chain != Some(true));
        if chain {
            // The next transaction is like the one that ended.
            error::of_engine(self.engine.begin(access, false))?;
        } else if release {
            self.state.interrupt.set(true);
        }
        done()
    }

    /// Nobody is in a transaction any more: what was said of one transaction only is over.
    pub(super) fn transaction_over(&mut self) {
        if std::mem::take(&mut self.transaction.in_use) {
            self.transaction = Characteristics::default();
            self.apply_characteristics();
        }
    }

    /// Tells the engine how the next transaction is to be.
    pub(super) fn apply_characteristics(&mut self) {
        let (isolation, access) = (self.transaction.isolation, self.transaction.access);
        let of_session = match self.state.vars.tx_read_only {
            true => AccessMode::ReadOnly,
            false => AccessMode::ReadWrite,
        };
        self.engine.settings.isolation = isolation.unwrap_or(isolation_of(self.state.vars.tx_isolation));
        self.engine.settings.access = access.unwrap_or(of_session);
    }

    /// Whether something was said of the next transaction that it has not used yet.
    pub(super) fn has_characteristics(&self) -> bool {
        !self.transaction.in_use
            && (self.transaction.isolation.is_some() || self.transaction.access.is_some())
    }

    /// What was said of the next transaction is for the present one, and over when that ends. A statement that uses no table
    /// is not in it; COMMIT, ROLLBACK and what commits implicitly end it even if it never began.
    pub(super) fn uses_characteristics(&mut self) {
        self.transaction.in_use = true;
    }

    fn set_transaction(
        &mut self,
        scope: VarScope,
        isolation: Option<u8>,
        access: Option<AccessMode>,
    ) -> SqlResult<Outcome> {
        let read_only = access.map(|a| u64::from(a == AccessMode::ReadOnly));
        let pairs = [(id::TX_ISOLATION, isolation.map(u64::from)), (id::TX_READ_ONLY, read_only)];
        match scope {
            VarScope::Global => {
                self.refresh_privileges();
                self.state.check_super_or(Priv::SYSTEM_VARIABLES_ADMIN)?;
                for (var, value) in pairs {
                    if let Some(value) = value {
                        self.db.set_global(var, VarValue::UInt(value))?;
                    }
                }
            }
            VarScope::Session => {
                for (var, value) in pairs {
                    if let Some(value) = value {
                        crate::set::assign(var, false, VarValue::UInt(value), &self.db, &mut self.state)?;
                        self.forget_characteristic(var);
                    }
                }
                self.apply_characteristics();
            }
            VarScope::Implicit => self.set_next_transaction(isolation, access)?,
        }
        done()
    }

    /// The session's value is set: it counts for the next transaction too, whatever was said of that before.
    pub(super) fn forget_characteristic(&mut self, var: VarId) {
        if self.engine.in_transaction() {
            return;
        }
        match var {
            id::TX_ISOLATION | id::TRANSACTION_ISOLATION => self.transaction.isolation = None,
            id::TX_READ_ONLY | id::TRANSACTION_READ_ONLY => self.transaction.access = None,
            _ => {}
        }
    }

    /// The next transaction only.
    ///
    /// # Errors
    /// 1568 one is open.
    pub(super) fn set_next_transaction(
        &mut self,
        isolation: Option<u8>,
        access: Option<AccessMode>,
    ) -> SqlResult<()> {
        if self.engine.in_transaction() {
            return Err(SqlError::new(
                1568,
                "Transaction characteristics can't be changed while a transaction is in progress",
            ));
        }
        self.transaction.isolation = isolation.map(isolation_of).or(self.transaction.isolation);
        self.transaction.access = access.or(self.transaction.access);
        self.apply_characteristics();
        Ok(())
    }

    /// Whether changes of rows are refused because the folder is open for reading only.
    ///
    /// # Errors
    /// 1015.
    pub(super) fn check_folder(&self) -> SqlResult<()> {
        match self.db.engine().core().storage.options().read_only {
            false => Ok(()),
            true => Err(SqlError::new(1015, "Can't lock file (errno: 165 - Table is read only)")),
        }
    }

    /// Whether changes are refused because the server is read-only.
    ///
    /// # Errors
    /// 1290.
    pub(super) fn check_read_only(&self) -> SqlResult<()> {
        let is_super = self.state.privileges.may(Priv::CONNECTION_ADMIN);
        let option = match () {
            () if self.db.engine.report().foreign => {
                return Err(SqlError::new(
                    1290,
                    "The MySQL server is running with the --read-only option so it cannot execute this statement: the folder \
                     was made by another server, and only --take-over opens it for writing",
                ));
            }
            () if self.is_insider => return Ok(()),
            () if self.db.super_read_only.load(Ordering::Relaxed) => "--super-read-only",
            () if self.db.read_only.load(Ordering::Relaxed) && !is_super => "--read-only",
            () => return Ok(()),
        };
        Err(SqlError::new(
            1290,
            format!(
                "The MySQL server is running with the {option} option so it cannot execute this statement"
            ),
        ))
    }
}
