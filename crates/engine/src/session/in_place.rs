//! Changes of a table's indexes, foreign keys and definition that leave its rows where they are: ALTER TABLE in place. New foreign keys
//! are a change of their own, before all else; nobody else uses the table between the two, but others may read and change rows while
//! indexes are built.

use super::Session;
use super::auto_inc::next_of_rows;
use crate::core::Core;
use crate::ddl::held::{self, Held};
use crate::ddl::{self, Alteration, ForeignKeySpec, IndexSpec, TableSpec};
use crate::error::{Error, Result};
use crate::online::Concurrency;
use crate::table::Table;
use std::sync::Arc;
use std::time::Duration;
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

    /// Adds foreign keys, and the indexes they need. While rows are held against them others may do with the tables what `beside` says.
    ///
    /// # Errors
    /// Definitions that cannot be, rows without a parent, whoever uses the tables did not end in time; [`Error::OnlineLogTooBig`],
    /// [`Error::Interrupted`].
    pub fn add_foreign_keys(&mut self, keys: &[ForeignKeySpec], beside: Concurrency) -> Result<()> {
        let checks = self.session.settings.foreign_key_checks;
        let progress = self.session.progress.clone();
        if checks
            && beside != Concurrency::Nothing
            && let Some(held) = self.begin_to_hold(keys)?
        {
            return self.hold(keys, beside, held);
        }
        self.step(|core, trx, table| ddl::add_foreign_keys(core, trx, table, keys, checks, &progress))
    }

    fn begin_to_hold(&mut self, keys: &[ForeignKeySpec]) -> Result<Option<Held>> {
        let table = self.table;
        let begun = self.session.change_locked(&self.locked, |core, trx| {
            let held = held::begin(core, trx, table, keys)?;
            // Its locks of the tables are for the beginning.
            match core.txn.commit(trx) {
                Ok(_) => Ok(held),
                Err(e) => {
                    if let Some(held) = held {
                        held.end(core);
                    }
                    Err(e.into())
                }
            }
        });
        begun.flatten()
    }

    fn hold(&mut self, keys: &[ForeignKeySpec], beside: Concurrency, mut held: Held) -> Result<()> {
        let (table, progress) = (self.table, self.session.progress.clone());
        let (core, reader) = (self.session.core.clone(), held.reader());
        self.session.let_in(&self.locked, beside);
        let scanned = self.session.waiter.lock_in(&reader, || held.scan(&core, &progress));
        let patience = if scanned.is_ok() { self.session.metadata_patience() } else { Duration::ZERO };
        let alone = self.session.keep_out(&self.locked, patience);
        let is_alone = alone.is_ok();
        let done = scanned.and(alone).and_then(|()| {
            self.step(|core, trx, _| {
                held.finish(core, &progress)?;
                ddl::add_held_foreign_keys(core, trx, table, keys, &progress)
            })
        });
        let tables = held.tables();
        held.end(&core);
        // Where somebody uses the tables, their objects go on having observers that note nothing.
        if is_alone {
            tables.iter().for_each(|table| core.dict.forget(table));
        }
        self.session.progress.end();
        done
    }

    /// Adds indexes, FULLTEXT ones beside readers at most, takes others and foreign keys away, and gives the table another definition that
    /// its rows fit as they are, or by
    /// another version of the rows. Others may do with the table what `beside` says while indexes are built, but not change its
    /// definition. An AUTO_INCREMENT value that rows have been given is raised.
    ///
    /// # Errors
    /// Duplicates, definitions that cannot be, whoever uses the table did not end in time, [`Error::OnlineLogTooBig`]; no such index or
    /// foreign key, a foreign key needs the index; then nothing is done.
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
        if !alteration.fulltext.is_empty() {
            let mut build =
                self.session.build_words(&self.locked, self.table, alteration.fulltext, beside)?;
            let missing = build.missing_index(indexes);
            let indexes: Vec<IndexSpec> = indexes.iter().cloned().chain(missing).collect();
            let with_words = Alteration { fulltext: &[], words: Some(&build), ..alteration };
            let done = self.alter(&indexes, with_words, beside.min(Concurrency::Reads));
            if done.is_err() {
                build.give_up(&self.session.core);
            }
            return done;
        }
        if !indexes.is_empty() {
            return self.session.build_indexes(&self.locked, self.table, indexes, &alteration, beside);
        }
        self.step(|core, trx, table| ddl::alter_table(core, trx, table, &alteration))
    }
}
