//! Definitions: each call is a transaction of its own that commits what is open, waits for whoever uses the tables, and
//! is durable when it returns.

use super::Session;
use crate::core::Core;
use crate::ddl::{self, ForeignKeySpec, IndexSpec, TableSpec};
use crate::dict::objects::ObjectKind;
use crate::error::{Error, Result};
use crate::mdl::MdlMode;
use crate::online::Concurrency;
use crate::read_lock::Work;
use crate::row;
use vaquita_txn::{AccessMode, Isolation, LockMode, Trx};

impl Session {
    /// Creates a table.
    ///
    /// # Errors
    /// It exists, its definition cannot be, files.
    pub fn create_table(&mut self, spec: &TableSpec) -> Result<()> {
        let mut names = vec![spec.name.as_str()];
        names.extend(spec.foreign_keys.iter().map(|f| f.parent.as_str()));
        let checks = self.settings.foreign_key_checks;
        let stopwords = self.settings.stopwords.clone();
        self.change_definition(&names, |core, trx| ddl::create_table(core, trx, spec, checks, &stopwords))?;
        self.read_stopwords(spec)
    }

    /// Creates a table whose tablespace is made of a file from elsewhere; how many rows it has.
    ///
    /// # Errors
    /// As [`Session::create_table`]; a file that is not of the table, or not whole; a row that refers to none, unless foreign keys are
    /// not checked.
    pub fn create_table_of(&mut self, spec: &TableSpec, file: &ddl::ImportFile) -> Result<u64> {
        self.check_changeable()?;
        let mut names = vec![spec.name.as_str()];
        names.extend(spec.foreign_keys.iter().map(|f| f.parent.as_str()));
        let checks = self.settings.foreign_key_checks;
        let mut rows = 0;
        self.change_definition(&names, |core, trx| {
            rows = ddl::create_table_of(core, trx, spec, checks, file)?;
            Ok(())
        })?;
        Ok(rows)
    }

    /// Stopwords of a new table are those that their table has now.
    fn read_stopwords(&self, spec: &TableSpec) -> Result<()> {
        if spec.fulltext.is_empty() {
            return Ok(());
        }
        let table = self.core.table(&spec.name)?;
        self.core.documents.with(&table, |_| ())
    }

    /// Drops a table.
    ///
    /// # Errors
    /// No such table, other tables refer to it.
    pub fn drop_table(&mut self, name: &str) -> Result<()> {
        let checks = self.settings.foreign_key_checks;
        self.change_definition(&[name], |core, trx| ddl::drop_table(core, trx, name, checks))
    }

    /// Drops a database with its tables; which these were, and whether the database is gone: tables that others make meanwhile
    /// stay, and so does it then.
    ///
    /// # Errors
    /// Tables of other databases refer to its tables; files.
    pub fn drop_database(&mut self, name: &str) -> Result<(Vec<String>, bool)> {
        let tables = self.core.dict.tables(&self.core.storage, name)?;
        let now = self.core.objects();
        let objects = ObjectKind::ALL.into_iter().flat_map(|kind| now.list(kind, name));
        let objects: Vec<String> = objects.map(|object| object.lock_name()).collect();
        let names: Vec<&str> = tables.iter().chain(&objects).map(String::as_str).collect();
        let checks = self.settings.foreign_key_checks;
        let mut gone = false;
        self.change_definition(&names, |core, trx| {
            gone = ddl::drop_database(core, trx, name, &tables, checks)?;
            Ok(())
        })?;
        Ok((tables, gone))
    }

    /// Renames a table or a view, also to another database.
    ///
    /// # Errors
    /// No such table, the new name is taken; [`Error::ForcedRecovery`].
    pub fn rename_table(&mut self, from: &str, to: &str) -> Result<()> {
        self.rename_tables(&[(from, to)])?.map_err(|(_, e)| e)
    }

    /// Renames tables and views from left to right, as one change. The inner error comes with the number of the pair that
    /// could not be; nothing is done then.
    ///
    /// # Errors
    /// As [`Session::rename_table`] of a pair; the outer ones: nothing was begun, or something could not be taken back.
    ///
    /// # Crash
    /// All have their new names, or all the old ones.
    pub fn rename_tables(
        &mut self,
        pairs: &[(&str, &str)],
    ) -> Result<std::result::Result<(), (usize, Error)>> {
        self.check_changeable()?;
        if self.core.storage.options().read_only {
            return Err(Error::FolderReadOnly);
        }
        self.commit()?.wait()?;
        self.as_change(|session| {
            let all: Vec<&str> = pairs.iter().flat_map(|&(from, to)| [from, to]).collect();
            let locked = session.lock_related(&all);
            let mut at = 0;
            let done = locked.and_then(|names| {
                session.change_locked(&names, |core, trx| ddl::rename_tables(core, trx, pairs, &mut at))
            });
            session.release_locks();
            done.map(|done| done.map_err(|e| (at, e)))
        })
    }

    /// Empties a table.
    ///
    /// # Errors
    /// No such table, other tables refer to it.
    pub fn truncate_table(&mut self, name: &str) -> Result<()> {
        let checks = self.settings.foreign_key_checks;
        self.change_definition(&[name], |core, trx| ddl::truncate_table(core, trx, name, checks))
    }

    /// Discards the tablespace of a table, whose rows go with it; `false`: it is discarded already.
    ///
    /// # Errors
    /// No such table, one in the system tablespace, one with FULLTEXT indexes; other tables refer to it.
    pub fn discard_tablespace(&mut self, name: &str) -> Result<bool> {
        self.discard_parts(name, None)
    }

    /// The same of all parts of a partitioned table, or of those that files are named for so.
    ///
    /// # Errors
    /// As [`Session::discard_tablespace`]; no such part.
    ///
    /// # Crash
    /// All of them are discarded, or none.
    pub fn discard_parts(&mut self, name: &str, of_parts: Option<&[String]>) -> Result<bool> {
        self.check_changeable()?;
        let checks = self.settings.foreign_key_checks;
        let mut done = false;
        self.change_definition(&[name], |core, trx| {
            done = ddl::discard_tablespace(core, trx, name, of_parts, checks)?;
            Ok(())
        })?;
        if done {
            // A file may come now that has the number of the one that went. No recovery is to find changes of that, or its end, in the log.
            self.core.storage.flush_everything()?;
        }
        Ok(done)
    }

    /// Makes the file that is where a table's tablespace belongs its tablespace, after its own was discarded.
    ///
    /// # Errors
    /// No such table, one that has its tablespace; a file that is not there, not of the table, or not whole.
    pub fn import_tablespace(&mut self, name: &str) -> Result<ddl::Imported> {
        Ok(self.import_parts(name, None)?.pop().unwrap_or_default())
    }

    /// The same of all parts of a partitioned table, or of those that files are named for so: how, for each.
    ///
    /// # Errors
    /// As [`Session::import_tablespace`]; no such part.
    ///
    /// # Crash
    /// All of them have their tablespaces, or all are discarded.
    pub fn import_parts(&mut self, name: &str, of_parts: Option<&[String]>) -> Result<Vec<ddl::Imported>> {
        self.check_changeable()?;
        let mut imported = Vec::new();
        self.change_definition(&[name], |core, trx| {
            imported = ddl::import_tablespace(core, trx, name, of_parts)?;
            Ok(())
        })?;
        Ok(imported)
    }

    /// Adds indexes to a table, whose rows others may read and change meanwhile.
    ///
    /// # Errors
    /// As [`Session::add_indexes_beside`].
    pub fn add_indexes(&mut self, table: &str, indexes: &[IndexSpec]) -> Result<()> {
        self.add_indexes_beside(table, indexes, Concurrency::Writes)
    }

    /// Drops an index.
    ///
    /// # Errors
    /// No such table or index, a foreign key needs it.
    pub fn drop_index(&mut self, table: &str, index: &str) -> Result<()> {
        self.check_changeable()?;
        self.change_definition(&[table], |core, trx| ddl::drop_index(core, trx, table, index))
    }

    /// Adds foreign keys to a table, and the indexes they need.
    ///
    /// # Errors
    /// No such table, definitions that cannot be, rows without a parent.
    pub fn add_foreign_keys(&mut self, table: &str, keys: &[ForeignKeySpec]) -> Result<()> {
        self.check_changeable()?;
        let mut names = vec![table];
        names.extend(keys.iter().map(|k| k.parent.as_str()));
        let checks = self.settings.foreign_key_checks;
        let progress = self.progress.clone();
        self.change_definition(&names, |core, trx| {
            ddl::add_foreign_keys(core, trx, table, keys, checks, &progress)
        })
    }

    /// Drops a foreign key, named without its database.
    ///
    /// # Errors
    /// No such foreign key.
    pub fn drop_foreign_key(&mut self, table: &str, name: &str) -> Result<()> {
        self.check_changeable()?;
        self.change_definition(&[table], |core, trx| ddl::drop_foreign_key(core, trx, table, name))
    }

    /// Whether rows and the definitions of tables with rows may be changed. Making and dropping tables is something else: a
    /// damaged folder is to get rid of what is damaged.
    ///
    /// # Errors
    /// [`Error::FolderReadOnly`], [`Error::ForcedRecovery`].
    #[inline]
    pub(super) fn check_changeable(&self) -> Result<()> {
        let options = self.core.storage.options();
        if options.read_only {
            return Err(Error::FolderReadOnly);
        }
        match options.force_recovery.0 == 0 || self.settings.ignores_force_recovery {
            true => Ok(()),
            false => Err(Error::ForcedRecovery),
        }
    }

    pub(super) fn change_definition(
        &mut self,
        names: &[&str],
        change: impl FnOnce(&Core, &mut Trx) -> Result<()>,
    ) -> Result<()> {
        if self.core.storage.options().read_only {
            return Err(Error::FolderReadOnly);
        }
        self.commit()?.wait()?;
        self.as_change(|session| {
            let done = session.change_definition_locked(names, change);
            session.release_locks();
            done
        })
    }

    /// Runs a change of definitions while the global read lock is kept away.
    pub(super) fn as_change<R, E: From<Error>>(
        &mut self,
        body: impl FnOnce(&mut Session) -> std::result::Result<R, E>,
    ) -> std::result::Result<R, E> {
        let begun = self.read_lock.does(Work::Change);
        self.begin_change()?;
        let done = body(self);
        self.progress.end();
        if !begun {
            self.end_change();
        }
        done
    }

    fn change_definition_locked(
        &mut self,
        names: &[&str],
        change: impl FnOnce(&Core, &mut Trx) -> Result<()>,
    ) -> Result<()> {
        let names = self.lock_related(names)?;
        self.change_locked(&names, change).flatten()
    }

    /// Runs a change of definitions of tables that are locked.
    ///
    /// # Errors
    /// The inner result is the change's. The outer error: what it did could not be taken back now, so that its locks stay
    /// until the background service, or the next opening, has done it.
    pub(super) fn change_locked<R>(
        &mut self,
        names: &[String],
        change: impl FnOnce(&Core, &mut Trx) -> Result<R>,
    ) -> Result<Result<R>> {
        debug_assert!(
            names.iter().all(|name| self.core.mdl.holds(&self.mdl, name, MdlMode::Exclusive)),
            "definitions change that others may use: {names:?}"
        );
        let core = self.core.clone();
        let mut trx = self.start_beside();
        // An interruption ends the wait for these locks, and the building of indexes.
        let shared = trx.shared().clone();
        let done = self.waiter.lock_in(&shared, || {
            // Transactions without a session (prepared, being rolled back) have table locks only.
            let locked = names.iter().try_for_each(|name| match core.table(name) {
                Ok(table) => row::lock::lock_table(&core, &trx, &table, LockMode::Exclusive),
                Err(Error::NoSuchTable(_) | Error::TableUnusable { .. } | Error::Discarded(_)) => Ok(()),
                Err(e) => Err(e),
            });
            locked.and_then(|()| change(&core, &mut trx))
        });
        if done.is_err() {
            // What the change could not take back itself.
            row::roll_back_or_later(&core, trx)?;
        }
        Ok(done)
    }

    /// A transaction that is not the session's own, and waits for locks as the session does.
    pub(super) fn start_beside(&self) -> Trx {
        let mut trx = self.core.txn.new_trx();
        trx.set_wait_hook(self.waiter.hook.clone());
        self.core.txn.start(&mut trx, Isolation::ReadCommitted, AccessMode::ReadWrite);
        trx.set_lock_wait_timeout_us(u64::from(self.settings.lock_wait_timeout) * 1_000_000);
        trx
    }

    /// Locks tables and all that foreign keys connect with them: a change of one row may reach any of these, whichever of
    /// them its statement names.
    pub(super) fn lock_related(&mut self, names: &[&str]) -> Result<Vec<String>> {
        let core = self.core.clone();
        let timeout = self.metadata_patience();
        loop {
            // In the order of names, so that two such changes do not wait for each other.
            let related = ddl::related_tables(&core, names)?;
            for name in &related {
                core.mdl.acquire(&mut self.mdl, name, MdlMode::Exclusive, timeout)?;
            }
            let again = ddl::related_tables(&core, names)?;
            if again.iter().all(|name| related.contains(name)) {
                return Ok(related);
            }
            // They became more before they were locked.
            self.release_locks();
        }
    }
}
