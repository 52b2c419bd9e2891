//! Sessions and statements.
//!
//! ```text
//! session.begin(..)?;                     // or autocommit: each statement is a transaction
//! session.run(|s| s.insert(&table, &row))?;
//! let done = session.commit()?;           // visible now
//! done.wait()?;                           // durable now
//! ```

use crate::core::Core;
use crate::error::Result;
use crate::table::{Field, RowKey, Table};
use std::sync::Arc;
use vaquita_txn::{AccessMode, Isolation, Trx};

/// What a session can set.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Isolation level of the transactions to come.
    pub isolation: Isolation,
    /// Each statement outside [`Session::begin`] is a transaction.
    pub autocommit: bool,
    /// Check foreign keys.
    pub foreign_key_checks: bool,
    /// Check unique secondary indexes; without, a caller promises not to insert duplicates.
    pub unique_checks: bool,
    /// Seconds to wait for a row lock.
    pub lock_wait_timeout: u32,
    /// Seconds to wait for a metadata lock.
    pub metadata_lock_timeout: u32,
}

/// One client's work.
#[derive(Debug)]
pub struct Session {
    pub(crate) core: Arc<Core>,
    pub(crate) trx: Trx,
    /// What it has set.
    pub settings: Settings,
}

/// A statement of a session: the unit that is rolled back when it fails.
#[derive(Debug)]
pub struct Statement<'s> {
    pub(crate) session: &'s mut Session,
}

impl Session {
    pub(crate) fn new(core: Arc<Core>) -> Session {
        let _ = core;
        unimplemented!()
    }

    /// Begins a transaction, committing one that is open.
    ///
    /// # Errors
    /// Errors of that commit.
    pub fn begin(&mut self, access: AccessMode, consistent_snapshot: bool) -> Result<()> {
        let _ = (access, consistent_snapshot);
        unimplemented!()
    }

    /// Runs a statement: rolled back if `body` fails; committed at once if the session is in autocommit mode outside
    /// [`Session::begin`]. After [`crate::Error::Deadlock`] the whole transaction is rolled back.
    ///
    /// # Errors
    /// Those of `body`.
    pub fn run<R>(&mut self, body: impl FnOnce(&mut Statement<'_>) -> Result<R>) -> Result<R> {
        let _ = body;
        unimplemented!()
    }
}

impl Statement<'_> {
    /// Opens a table and keeps its definition from changing until the transaction ends.
    ///
    /// # Errors
    /// No such table, it cannot be used, a metadata lock was not granted in time.
    pub fn table(&mut self, name: &str) -> Result<Arc<Table>> {
        let _ = name;
        unimplemented!()
    }

    /// Inserts a row.
    ///
    /// # Errors
    /// Duplicate key, foreign key, lock waits.
    pub fn insert(&mut self, table: &Arc<Table>, row: &[Field<'_>]) -> Result<()> {
        let _ = (table, row);
        unimplemented!()
    }

    /// Updates columns of the row with that clustered key; whether there is one and it changed.
    ///
    /// # Errors
    /// As [`Statement::insert`].
    pub fn update(
        &mut self,
        table: &Arc<Table>,
        key: &RowKey,
        changes: &[(usize, Field<'_>)],
    ) -> Result<bool> {
        let _ = (table, key, changes);
        unimplemented!()
    }

    /// Deletes the row with that clustered key; whether there is one.
    ///
    /// # Errors
    /// As [`Statement::insert`].
    pub fn delete(&mut self, table: &Arc<Table>, key: &RowKey) -> Result<bool> {
        let _ = (table, key);
        unimplemented!()
    }
}
