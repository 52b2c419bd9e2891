//! Changes of a table's indexes, foreign keys and definition that leave its rows where they are: ALTER TABLE in place. Others may read and
//! change rows while indexes are built and rows are held against foreign keys.

use super::Session;
use super::auto_inc::{exchanged, next_of_rows};
use crate::core::Core;
use crate::ddl::{self, Alteration, Exchange, IndexSpec, PartsChange, TableSpec};
use crate::error::{Error, Result};
use crate::online::Concurrency;
use crate::table::Table;
use std::sync::Arc;
use vaquita_txn::{AccessMode, Isolation, Trx};

/// A table whose definition is about to change, kept from everybody else.
#[derive(Debug)]
pub struct InPlace<'s> {
    session: &'s mut Session,
    table: &'s str,
    locked: Vec<String>,
    /// Words of documents that came meanwhile are to be written in the end.
    writes_words: bool,
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
            let (done, writes_words) = done?;
            if writes_words {
                session.write_words(&from.name);
            }
            Ok(done)
        })
    }

    /// Whether it was `from`, and whether words are to be written.
    fn alter_locked<E: From<Error>>(
        &mut self,
        from: &Arc<Table>,
        locked: Vec<String>,
        body: impl FnOnce(&mut InPlace<'_>) -> std::result::Result<(), E>,
    ) -> std::result::Result<(bool, bool), E> {
        if !Arc::ptr_eq(&self.core.table(&from.name)?, from) {
            return Ok((false, false));
        }
        let mut change = InPlace { session: self, table: &from.name, locked, writes_words: false };
        body(&mut change)?;
        Ok((true, change.writes_words))
    }
}

impl InPlace<'_> {
    /// Adds indexes, FULLTEXT ones beside readers at most where the user numbers the documents, and foreign keys with the indexes they need,
    /// takes others away, and gives the table another definition that its rows fit as they are, or by another version of the rows. Others
    /// may do with the table what `beside` says while indexes are built and rows are held against foreign keys, but not change its
    /// definition. An AUTO_INCREMENT value that rows have been given is raised.
    ///
    /// # Errors
    /// Duplicates, rows without a parent, definitions that cannot be, whoever uses the table did not end in time,
    /// [`Error::OnlineLogTooBig`], [`Error::Interrupted`]; no such index or foreign key, a foreign key needs the index; then nothing is
    /// done.
    ///
    /// # Crash
    /// All of it is done, or nothing.
    pub fn alter(
        &mut self,
        indexes: &[IndexSpec],
        alteration: Alteration<'_>,
        beside: Concurrency,
    ) -> Result<()> {
        let mut raised = None;
        if let Some((spec, origins)) = alteration.definition
            && let Some(wanted) = spec.auto_increment
        {
            assert_eq!(spec.name, self.table, "the definition of another table");
            let core = &self.session.core;
            let next = wanted.max(next_of_rows(core, &*core.table(self.table)?)?);
            raised = Some((TableSpec { auto_increment: Some(next), ..spec.clone() }, origins));
        }
        let raised = raised.as_ref().map(|(spec, origins)| (spec, *origins));
        let alteration = Alteration { definition: raised.or(alteration.definition), ..alteration };
        if alteration.added_keys.is_empty() {
            return self.alter_planned(indexes, &alteration, beside);
        }
        let checks = self.session.settings.foreign_key_checks;
        let (keys, missing) = ddl::plan_keys(&self.session.core, self.table, indexes, &alteration, checks)?;
        let indexes: Vec<IndexSpec> = indexes.iter().cloned().chain(missing).collect();
        self.alter_planned(&indexes, &Alteration { planned_keys: &keys, ..alteration }, beside)
    }

    /// Parts of a partitioned table come, go, or are emptied.
    ///
    /// # Errors
    /// It is not partitioned; files. Nothing is done then.
    ///
    /// # Crash
    /// All of it is done, or nothing.
    pub fn alter_parts(&mut self, what: &PartsChange<'_>) -> Result<()> {
        let change = |core: &Core, trx: &mut Trx| ddl::alter_parts(core, trx, self.table, what);
        self.session.change_locked(&self.locked, change).flatten()
    }

    /// The part `at` and the table `with`, which is kept to others as well, exchange their rows; both keep their definitions. `false`:
    /// the table of that name is another one by now, and nothing was done. With `validation` the rows that come are held against the
    /// part, beside readers.
    ///
    /// # Errors
    /// [`Error::RowNotOfPart`]; [`Error::BadDefinition`]: they have other records, or a directory. Foreign keys; whoever uses the tables
    /// did not end in time; files. Nothing is done then.
    ///
    /// # Crash
    /// They have exchanged their rows, or not.
    pub fn exchange_part(&mut self, at: usize, with: &Arc<Table>, validation: bool) -> Result<bool> {
        let core = self.session.core.clone();
        let whole = core.table(self.table)?;
        if !Arc::ptr_eq(&core.table(&with.name)?, with) {
            return Ok(false);
        }
        if validation {
            self.check_rows_of_part((&whole, at), with)?;
        }
        let counters = exchanged(&core, &whole, at, with)?;
        let what = Exchange { whole: &whole, at, with: &with.name, counters };
        let change = |core: &Core, trx: &mut Trx| ddl::exchange_part(core, trx, &what);
        self.session.change_locked(&self.locked, change).flatten()?;
        Ok(true)
    }

    /// Holds the rows of a table against a part of another, while others read both.
    fn check_rows_of_part(&mut self, part: (&Table, usize), with: &Arc<Table>) -> Result<()> {
        let (core, locked) = (self.session.core.clone(), &self.locked);
        // Whoever has changed rows without a metadata lock, as a prepared transaction, ends first.
        let begun = self.session.change_locked(locked, |core, trx| {
            let mut reader = core.txn.new_trx();
            reader.set_wait_hook(trx.wait_hook().clone());
            core.txn.start(&mut reader, Isolation::ReadCommitted, AccessMode::ReadOnly);
            core.txn.commit(trx)?;
            Ok(reader)
        });
        let mut reader = begun.flatten()?;
        self.session.let_in(locked, Concurrency::Reads);
        let shared = reader.shared().clone();
        let (waiter, progress) = (&self.session.waiter, &self.session.progress);
        let checked =
            waiter.lock_in(&shared, || ddl::check_rows_of_part(&core, &mut reader, part, with, progress));
        core.txn.commit(&mut reader)?;
        checked?;
        self.session.keep_out(locked, self.session.metadata_patience())
    }

    /// What [`InPlace::alter`] does once foreign keys are planned.
    fn alter_planned(
        &mut self,
        indexes: &[IndexSpec],
        alteration: &Alteration<'_>,
        beside: Concurrency,
    ) -> Result<()> {
        let (locked, table) = (&self.locked, self.table);
        if !alteration.fulltext.is_empty() {
            let mut build = self.session.build_words(locked, table, alteration.fulltext, beside)?;
            let missing = build.missing_index(indexes);
            let indexes: Vec<IndexSpec> = indexes.iter().cloned().chain(missing).collect();
            let with_words = Alteration { fulltext: &[], words: Some(&build), ..*alteration };
            let done = self.alter_planned(&indexes, &with_words, build.lets_in(beside));
            match done {
                Ok(()) => self.writes_words |= build.is_online(),
                Err(_) => self.session.give_up_words(&self.locked, table, &build),
            }
            return done;
        }
        let checks = self.session.settings.foreign_key_checks;
        if !indexes.is_empty() || checks && !alteration.planned_keys.is_empty() {
            return self.session.alter_beside(locked, table, indexes, alteration, beside, checks);
        }
        let change = |core: &Core, trx: &mut Trx| ddl::alter_table(core, trx, table, alteration);
        self.session.change_locked(locked, change).flatten()
    }
}
