//! Changes of definitions beside readers and writers: exclusive metadata locks at the beginning and the end, weaker ones between.

use super::Session;
use crate::ddl::beside::Beside;
use crate::ddl::rebuild::{self, ConvertRow, Filled, Rebuild};
use crate::ddl::{self, Alteration, FullTextBuild, FullTextSpec, IndexSpec, KeptKeys, TableSpec};
use crate::error::{Error, Result};
use crate::mdl::MdlMode;
use crate::online::Concurrency;
use crate::table::Table;
use std::sync::Arc;
use std::time::Duration;
use vaquita_txn::TrxRef;

impl Session {
    /// Adds indexes to a table. Others may do with it what `beside` says, but for moments at the beginning and the end, for which
    /// transactions that use the table are waited for. Those that come meanwhile wait behind that.
    ///
    /// # Errors
    /// No such table, definitions that cannot be; duplicates, also such that others made meanwhile; whoever uses the table did
    /// not end in time; [`crate::Error::OnlineLogTooBig`], [`crate::Error::Interrupted`], no space. The table is as it was then.
    ///
    /// # Crash
    /// The table has all of the indexes or none.
    pub fn add_indexes_beside(
        &mut self,
        table: &str,
        indexes: &[IndexSpec],
        beside: Concurrency,
    ) -> Result<()> {
        self.check_changeable()?;
        self.commit()?.wait()?;
        self.as_change(|session| {
            let done = match session.lock_related(&[table]) {
                Ok(locked) => {
                    session.alter_beside(&locked, table, indexes, &Alteration::default(), beside, false)
                }
                Err(e) => Err(e),
            };
            session.release_locks();
            done
        })
    }

    /// The same with tables that are locked, and stay so; what else is to be done to the table is done with it. `checks`: its rows are held
    /// against the foreign keys that come.
    pub(super) fn alter_beside(
        &mut self,
        locked: &[String],
        table: &str,
        indexes: &[IndexSpec],
        alteration: &Alteration<'_>,
        beside: Concurrency,
        checks: bool,
    ) -> Result<()> {
        let begun = self.change_locked(locked, |core, trx| {
            let how = (beside == Concurrency::Writes, checks);
            let begun = Beside::begin(core, trx, table, indexes, alteration, how)?;
            // Its locks of the tables are for the beginning.
            match core.txn.commit(trx) {
                Ok(_) => Ok(begun),
                Err(e) => {
                    begun.give_up(core);
                    Err(e.into())
                }
            }
        });
        let begun = begun.flatten()?;
        let tables = begun.tables();
        let done = self.filled(locked, begun, beside);
        let done = done.and_then(|filled| self.finished(locked, filled, table, alteration));
        // Where somebody uses the tables, their objects stay.
        if done.is_err() && self.keep_out(locked, Duration::ZERO).is_ok() {
            tables.iter().for_each(|table| self.core.dict.forget(table));
        }
        self.progress.end();
        done
    }

    /// Builds FULLTEXT indexes of a table that is locked, and is again when they are built. They are not known yet.
    pub(super) fn build_words(
        &mut self,
        locked: &[String],
        table: &str,
        indexes: &[FullTextSpec],
        beside: Concurrency,
    ) -> Result<FullTextBuild> {
        let stopwords = self.settings.stopwords.clone();
        let begun = self.change_locked(locked, |core, trx| {
            let online = beside == Concurrency::Writes;
            let mut build = ddl::begin_fulltext(core, trx, table, indexes, &stopwords, online)?;
            // Its lock of the table is for the beginning.
            match core.txn.commit(trx) {
                Ok(_) => Ok(build),
                Err(e) => {
                    build.end(core);
                    build.give_up(core);
                    Err(e.into())
                }
            }
        });
        let mut build = begun.flatten()?;
        self.let_in(locked, build.lets_in(beside));
        let (core, reader) = (self.core.clone(), build.reader());
        let filled = self.waiter.lock_in(&reader, || build.fill(&core, &self.progress));
        build.end(&core);
        let done = filled.and_then(|()| self.keep_out(locked, self.metadata_patience()));
        self.progress.end();
        match done {
            Ok(()) => Ok(build),
            Err(e) => {
                self.give_up_words(locked, table, &build);
                Err(e)
            }
        }
    }

    /// Gets rid of words that were built.
    pub(super) fn give_up_words(&mut self, locked: &[String], table: &str, build: &FullTextBuild) {
        build.give_up(&self.core);
        // Where somebody uses the table, its object goes on giving numbers for texts that are searched no more.
        if build.is_online() && self.keep_out(locked, Duration::ZERO).is_ok() {
            self.core.dict.forget(table);
        }
    }

    /// Writes the words of documents that came while indexes were built, beside others. Who searches first would have to make them.
    pub(super) fn write_words(&mut self, table: &str) {
        if self.kept_locks > 0 {
            return;
        }
        let core = self.core.clone();
        let written = core
            .mdl
            .acquire(&mut self.mdl, table, MdlMode::SharedRead, Duration::ZERO)
            .and_then(|()| crate::fulltext::flush(&core, &core.table(table)?));
        if let Err(e) = written {
            // They are made of the rows then.
            core.notes.say(format!("full-text: words of {table} could not be written: {e}"));
        }
        self.release_locks();
    }

    /// Builds the FULLTEXT indexes of a table that nobody else knows, and makes them known.
    pub(super) fn add_words(&mut self, table: &str, indexes: &[FullTextSpec]) -> Result<()> {
        if indexes.is_empty() {
            return Ok(());
        }
        let alone = [table.to_owned()];
        let build = self.build_words(&alone, table, indexes, Concurrency::Nothing)?;
        let settle = Alteration { words: Some(&build), ..Alteration::default() };
        let done = self.change_locked(&alone, |core, trx| ddl::alter_table(core, trx, table, &settle));
        let done = done.flatten();
        if done.is_err() {
            build.give_up(&self.core);
        }
        done
    }

    fn finished(
        &mut self,
        locked: &[String],
        filled: Beside,
        table: &str,
        alteration: &Alteration<'_>,
    ) -> Result<()> {
        let (core, progress) = (self.core.clone(), self.progress.clone());
        let mut filled = Some(filled);
        let done = self.change_locked(locked, |core, trx| match filled.take() {
            Some(filled) => filled.finish(core, trx, &progress, table, alteration),
            None => Ok(()),
        });
        if let Some(filled) = filled {
            // The table could not be locked: by a prepared transaction, say.
            filled.give_up(&core);
        }
        done.flatten()
    }

    /// Does beside others what takes its time; nobody uses the tables any more when it returns.
    fn filled(&mut self, locked: &[String], mut begun: Beside, beside: Concurrency) -> Result<Beside> {
        self.let_in(locked, beside);
        let core = self.core.clone();
        let run = |reader: &TrxRef, body: &mut dyn FnMut() -> Result<()>| self.waiter.lock_in(reader, body);
        let filled = begun.fill(&core, &self.progress, run);
        match filled.and_then(|()| self.keep_out(locked, self.metadata_patience())) {
            Ok(()) => Ok(begun),
            Err(e) => {
                begun.give_up(&core);
                Err(e)
            }
        }
    }

    /// Makes the table `spec`, whose name is a temporary one in the same database, fills it with the rows of the table `name`, each
    /// made by what `convert` gives, and puts it in that one's place: ALTER TABLE that writes the rows anew. Others may do with
    /// the table what `beside` says, but for moments at the beginning and the end; nobody writes where words of documents are gathered
    /// that the user numbers. Foreign keys of the table and to it stay, as `keys` says; `spec` has none.
    ///
    /// `origins` tells for each column of the new table which one of the old has the same stored values, if one has.
    ///
    /// Gives back `convert`'s, and how many rows there were at the beginning.
    ///
    /// # Errors
    /// As [`Session::create_table`] and [`Session::add_indexes_beside`]; those of converting. The table is as it was then.
    ///
    /// # Crash
    /// As [`Session::rebuild_table`].
    pub fn rebuild_table_beside<C: ConvertRow<E>, E: From<Error>>(
        &mut self,
        name: &str,
        spec: &TableSpec,
        keys: KeptKeys<'_>,
        origins: &[Option<usize>],
        beside: Concurrency,
        convert: impl FnOnce(&Arc<Table>, &Arc<Table>) -> std::result::Result<C, E>,
    ) -> std::result::Result<(C, u64), E> {
        self.check_changeable()?;
        self.commit()?.wait()?;
        if !spec.foreign_keys.is_empty() {
            return Err(Error::WrongState("foreign keys are added to a table whose rows are there").into());
        }
        self.as_change(|session| {
            let done = match session.lock_related(&[name, spec.name.as_str()]) {
                Ok(locked) => session.rebuild_beside(&locked, (name, spec), keys, origins, beside, convert),
                Err(e) => Err(e.into()),
            };
            session.progress.end();
            session.release_locks();
            if done.is_ok() && !spec.fulltext.is_empty() && beside == Concurrency::Writes {
                session.write_words(name);
            }
            done
        })
    }

    fn rebuild_beside<C: ConvertRow<E>, E: From<Error>>(
        &mut self,
        locked: &[String],
        (name, spec): (&str, &TableSpec),
        keys: KeptKeys<'_>,
        origins: &[Option<usize>],
        beside: Concurrency,
        convert: impl FnOnce(&Arc<Table>, &Arc<Table>) -> std::result::Result<C, E>,
    ) -> std::result::Result<(C, u64), E> {
        let core = self.core.clone();
        self.drop_leftover(locked, &spec.name)?;
        self.make_anew(locked, spec)?;
        let done = (|| {
            let (from, to) = (core.table(name)?, core.table(&spec.name)?);
            let mut convert = convert(&from, &to)?;
            let writes = beside == Concurrency::Writes && rebuild::may_write(&to, !spec.fulltext.is_empty());
            let beside = if writes { beside } else { beside.min(Concurrency::Reads) };
            let begun = self.change_locked(locked, |core, trx| {
                let rebuild = rebuild::begin(core, trx, (&from, &to), origins, writes)?;
                // Its locks of the tables are for the beginning.
                match core.txn.commit(trx) {
                    Ok(_) => Ok(rebuild),
                    Err(e) => {
                        rebuild.end(core);
                        Err(e.into())
                    }
                }
            });
            let mut rebuild = begun.flatten()?;
            let filled =
                self.fill_and_replace(locked, (name, spec), keys, beside, &mut rebuild, &mut convert);
            let rows = rebuild.rows();
            rebuild.end(&core);
            filled.map(|()| (convert, rows))
        })();
        if done.is_err() {
            self.give_up_rebuild(locked, name, &spec.name);
        }
        done
    }

    /// Makes the table that a rebuild fills.
    fn make_anew(&mut self, locked: &[String], spec: &TableSpec) -> Result<()> {
        let checks = self.settings.foreign_key_checks;
        let plain = spec.without_words();
        let stopwords = self.settings.stopwords.clone();
        self.change_locked(locked, |core, trx| ddl::create_table(core, trx, &plain, checks, &stopwords))
            .flatten()
    }

    fn fill_and_replace<E: From<Error>>(
        &mut self,
        locked: &[String],
        (name, spec): (&str, &TableSpec),
        keys: KeptKeys<'_>,
        beside: Concurrency,
        rebuild: &mut Rebuild,
        convert: &mut dyn ConvertRow<E>,
    ) -> std::result::Result<(), E> {
        // The new table stays unknown.
        let known: Vec<String> = locked.iter().filter(|table| **table != spec.name).cloned().collect();
        let (core, reader) = (self.core.clone(), rebuild.reader());
        self.let_in(&known, beside);
        if self.waiter.lock_in(&reader, || rebuild.fill(&core, &self.progress, convert))?
            == Filled::OutOfOrder
        {
            // Pages of a file that was not there have no redo: another one is filled, not what is left of the first.
            let alone = [spec.name.clone()];
            let dropped =
                self.change_locked(&alone, |core, trx| ddl::drop_table(core, trx, &spec.name, false));
            dropped.flatten()?;
            self.make_anew(&alone, spec)?;
            rebuild.begin_again(core.table(&spec.name)?);
            convert.begin_again();
            self.waiter.lock_in(&reader, || rebuild.fill(&core, &self.progress, convert))?;
        }
        if !spec.fulltext.is_empty() {
            self.add_words(&spec.name, &spec.fulltext)?;
            self.waiter.lock_in(&reader, || rebuild.go_on(&core, &self.progress, convert))?;
        }
        self.keep_out(&known, self.metadata_patience())?;
        let progress = self.progress.clone();
        let mut failed = None;
        let replaced = self.change_locked(locked, |core, trx| {
            if let Err(e) = rebuild.finish(core, trx, &progress, convert) {
                failed = Some(e);
                return Err(Error::Interrupted);
            }
            ddl::replace_table(core, trx, name, &spec.name, keys)
        });
        match failed {
            Some(e) => Err(e),
            None => Ok(replaced.flatten()?),
        }
    }

    /// Drops the new table, which takes no place. What made it necessary matters more than a table that stays behind under its
    /// temporary name.
    fn give_up_rebuild(&mut self, locked: &[String], name: &str, with: &str) {
        let alone = [with.to_owned()];
        let _ = self.change_locked(&alone, |core, trx| ddl::drop_table(core, trx, with, false));
        // Where somebody uses the old table, its object goes on having a log that keeps nothing.
        if self.keep_out(locked, Duration::ZERO).is_ok() {
            self.core.dict.forget(name);
        }
    }

    /// Lets others at tables that the session keeps to itself. Those of LOCK TABLES stay its own.
    pub(super) fn let_in(&mut self, locked: &[String], beside: Concurrency) {
        let mode = match beside {
            Concurrency::Nothing => return,
            Concurrency::Reads => MdlMode::SharedNoWrite,
            Concurrency::Writes => MdlMode::SharedUpgradable,
        };
        if self.kept_locks == 0 {
            locked.iter().for_each(|name| self.core.mdl.weaken(&mut self.mdl, name, mode));
        }
    }

    /// Waits until nobody else uses the tables, and keeps them from others again.
    pub(super) fn keep_out(&mut self, locked: &[String], timeout: Duration) -> Result<()> {
        let core = self.core.clone();
        locked.iter().try_for_each(|name| core.mdl.acquire(&mut self.mdl, name, MdlMode::Exclusive, timeout))
    }
}
