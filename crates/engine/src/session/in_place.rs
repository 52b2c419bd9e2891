//! Changes of a table's indexes, foreign keys and definition that leave its rows where they are: ALTER TABLE in place. The steps are
//! committed one by one; nobody else uses the table between them, but others may read and change rows while indexes are built.

use super::Session;
use super::auto_inc::next_of_rows;
use crate::core::Core;
use crate::ddl::{self, ForeignKeySpec, IndexSpec, TableSpec};
use crate::error::{Error, Result};
use crate::online::Concurrency;
use crate::table::Table;
use std::sync::Arc;
use vaquita_txn::Trx;

/// A table whose definition is about to change, kept from everybody else.
#[derive(Debug)]
pub struct InPlace<'s> {
    session: &'s mut Session,
    table: &'s str,
    locked: Vec<String>,
}

impl Session {
    /// Keeps a table, those related to it by foreign keys, and `parents` to others while `body` changes the table. `false`: it is not
    /// `from` any more, and nothing was done.
    ///
    /// # Errors
    /// Waiting for whoever uses the tables; those of `body`, whose earlier steps stay.
    ///
    /// # Crash
    /// Every step is done or not; a step is done only if those before it are.
    pub fn alter_in_place<E: From<Error>>(
        &mut self,
        from: &Arc<Table>,
        parents: &[&str],
        body: impl FnOnce(&mut InPlace<'_>) -> std::result::Result<(), E>,
    ) -> std::result::Result<bool, E> {
        self.check_changeable()?;
        self.commit()?.wait()?;
        let mut names = vec![from.name.as_str()];
        names.extend_from_slice(parents);
        self.as_change(|session| {
            let done = match session.lock_related(&names) {
                Ok(locked) => session.alter_locked(from, locked, body),
                Err(e) => Err(e.into()),
            };
            session.release_locks();
            done
        })
    }

    fn alter_locked<E: From<Error>>(
        &mut self,
        from: &Arc<Table>,
        locked: Vec<String>,
        body: impl FnOnce(&mut InPlace<'_>) -> std::result::Result<(), E>,
    ) -> std::result::Result<bool, E> {
        if !Arc::ptr_eq(&self.core.table(&from.name)?, from) {
            return Ok(false);
        }
        body(&mut InPlace { session: self, table: &from.name, locked })?;
        Ok(true)
    }
}

impl InPlace<'_> {
    fn step(&mut self, change: impl FnOnce(&Core, &mut Trx, &str) -> Result<()>) -> Result<()> {
        let table = self.table;
        self.session.change_locked(&self.locked, |core, trx| change(core, trx, table)).flatten()
    }

    /// Adds indexes. Others may do with the table what `beside` says while they are built, but not change its definition.
    ///
    /// # Errors
    /// Duplicates, definitions that cannot be, whoever uses the table did not end in time, [`Error::OnlineLogTooBig`]; then none
    /// is added.
    pub fn add_indexes(&mut self, indexes: &[IndexSpec], beside: Concurrency) -> Result<()> {
        self.session.build_indexes(&self.locked, self.table, indexes, beside)
    }

    /// Drops an index.
    ///
    /// # Errors
    /// No such index, a foreign key needs it.
    pub fn drop_index(&mut self, index: &str) -> Result<()> {
        self.step(|core, trx, table| ddl::drop_index(core, trx, table, index))
    }

    /// Adds foreign keys, and the indexes they need.
    ///
    /// # Errors
    /// Definitions that cannot be, rows without a parent.
    pub fn add_foreign_keys(&mut self, keys: &[ForeignKeySpec]) -> Result<()> {
        let checks = self.session.settings.foreign_key_checks;
        let progress = self.session.progress.clone();
        self.step(|core, trx, table| ddl::add_foreign_keys(core, trx, table, keys, checks, &progress))
    }

    /// Drops a foreign key, named without its database.
    ///
    /// # Errors
    /// No such foreign key.
    pub fn drop_foreign_key(&mut self, name: &str) -> Result<()> {
        self.step(|core, trx, table| ddl::drop_foreign_key(core, trx, table, name))
    }

    /// Gives the table another definition that its rows and indexes fit as they are. An AUTO_INCREMENT value that rows have been given
    /// is raised.
    ///
    /// # Errors
    /// As [`ddl::redefine_table`]; errors of reading the index.
    pub fn redefine(&mut self, spec: &TableSpec) -> Result<()> {
        assert_eq!(spec.name, self.table, "the definition of another table");
        let mut spec = spec.clone();
        if let Some(wanted) = &mut spec.auto_increment {
            let core = &self.session.core;
            *wanted = (*wanted).max(next_of_rows(core, &*core.table(self.table)?)?);
        }
        self.step(|core, trx, _| ddl::redefine_table(core, trx, &spec))
    }
}
