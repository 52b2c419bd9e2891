//! Writing a table anew under another definition: ALTER TABLE by copying.

use super::{Session, Statement};
use crate::ddl::{self, ForeignKeySpec, KeptKeys, TableSpec};
use crate::error::{Error, Result};
use crate::online::Concurrency;
use crate::progress::Stage;
use crate::table::Table;
use std::sync::Arc;
use std::time::Duration;
use vaquita_txn::AccessMode;

impl Session {
    /// Makes the table `spec`, whose name is a temporary one in the same database, lets `copy` fill it from the table `name`,
    /// and puts it in that one's place. Nobody else changes either meanwhile; whether others read the old one, but for moments at the
    /// beginning and the end, says `beside`. Foreign keys of `spec` are added to those of the
    /// old table, which become what `keys` says. A key that refers to the table `name` will refer to
    /// the new one: its rows are checked when all of them are there.
    ///
    /// What `copy` gives is given back; its failure takes everything back.
    ///
    /// # Errors
    /// As [`Session::create_table`] and [`Session::drop_table`]; those of `copy`.
    ///
    /// # Crash
    /// The table is the old one or the new one. The temporary table may be left behind, under its name: if that begins with
    /// [`ddl::TEMPORARY_PREFIX`], it is dropped in the background after the folder is opened again.
    pub fn rebuild_table<R, E: From<Error>>(
        &mut self,
        name: &str,
        spec: &TableSpec,
        keys: KeptKeys<'_>,
        beside: Concurrency,
        copy: impl FnOnce(&mut Statement<'_>, &Arc<Table>, &Arc<Table>) -> std::result::Result<R, E>,
    ) -> std::result::Result<R, E> {
        self.check_changeable()?;
        self.commit()?.wait()?;
        if self.temporary_table(name).is_some() {
            return self.rebuild_temporary(name, spec, copy);
        }
        let mut names = vec![name, spec.name.as_str()];
        names.extend(spec.foreign_keys.iter().map(|f| f.parent.as_str()));
        self.as_change(|session| {
            let done = match session.lock_related(&names) {
                Ok(locked) => session.rebuild_locked(&locked, (name, spec), keys, beside, copy),
                Err(e) => Err(e.into()),
            };
            session.leave_transaction();
            done
        })
    }

    /// The same with a temporary table.
    fn rebuild_temporary<R, E: From<Error>>(
        &mut self,
        name: &str,
        spec: &TableSpec,
        copy: impl FnOnce(&mut Statement<'_>, &Arc<Table>, &Arc<Table>) -> std::result::Result<R, E>,
    ) -> std::result::Result<R, E> {
        let from = self.temporary_table(name).ok_or_else(|| Error::NoSuchTable(name.to_owned()))?.clone();
        let made =
            ddl::create_temporary_table(&self.core, &TableSpec { name: name.to_owned(), ..spec.clone() })?;
        self.start(AccessMode::ReadWrite);
        self.begin_to_copy(&from);
        let copied = copy(&mut Statement { session: self }, &from, &made.table);
        self.progress.end();
        self.leave_statement();
        let ended = copied.and_then(|r| {
            self.commit()?.wait()?;
            Ok(r)
        });
        match &ended {
            Ok(_) => self.replace_temporary(name, made)?,
            Err(_) => {
                self.rollback()?;
                ddl::drop_temporary_table(&self.core, &made.table)?;
            }
        }
        ended
    }

    fn rebuild_locked<R, E: From<Error>>(
        &mut self,
        locked: &[String],
        (name, spec): (&str, &TableSpec),
        keys: KeptKeys<'_>,
        beside: Concurrency,
        copy: impl FnOnce(&mut Statement<'_>, &Arc<Table>, &Arc<Table>) -> std::result::Result<R, E>,
    ) -> std::result::Result<R, E> {
        let checks = self.settings.foreign_key_checks;
        self.drop_leftover(locked, &spec.name)?;
        let (spec, own_keys) = without_own_keys(spec, name);
        let plain = spec.without_words();
        let stopwords = self.settings.stopwords.clone();
        let made =
            self.change_locked(locked, |core, trx| ddl::create_table(core, trx, &plain, checks, &stopwords));
        made.flatten()?;
        let with = spec.name.as_str();
        // The new table stays unknown. Tables that it refers to know of it, and will not if it is given up.
        let is_parent = |table: &String| spec.foreign_keys.iter().any(|key| key.parent == *table);
        let is_shown = |table: &String| *table != with && (*table == name || !is_parent(table));
        let (shown, alone): (Vec<String>, Vec<String>) = locked.iter().cloned().partition(is_shown);
        self.let_in(&shown, beside.min(Concurrency::Reads));
        let copied = self.copy_rows(name, with, copy)?;
        let copied = copied.and_then(|r| Ok(self.add_words(with, &spec.fulltext).map(|()| r)?));
        let patience = if copied.is_ok() { self.metadata_patience() } else { Duration::ZERO };
        let placed = match self.keep_out(&shown, patience) {
            Ok(()) if copied.is_ok() => self.take_place(locked, (name, with), &own_keys, keys)?,
            done => done,
        };
        let done = copied.and_then(|r| Ok(placed.map(|()| r)?));
        if done.is_err() {
            // What made it fail matters more than a table that stays behind under its temporary name.
            let _ = self.change_locked(&alone, |core, trx| ddl::drop_table(core, trx, with, false));
        }
        done
    }

    /// Lets a table that is filled refer to itself and take the place of another.
    ///
    /// # Errors
    /// As [`Session::change_locked`].
    fn take_place(
        &mut self,
        locked: &[String],
        (name, with): (&str, &str),
        own_keys: &[ForeignKeySpec],
        keys: KeptKeys<'_>,
    ) -> Result<Result<()>> {
        if !own_keys.is_empty() {
            let (checks, progress) = (self.settings.foreign_key_checks, self.progress.clone());
            let added = self.change_locked(locked, |core, trx| {
                ddl::add_foreign_keys(core, trx, with, own_keys, checks, &progress)
            })?;
            if added.is_err() {
                return Ok(added);
            }
        }
        self.progress.enter(Stage::Commit);
        self.change_locked(locked, |core, trx| ddl::replace_table(core, trx, name, with, keys))
    }

    /// Drops a table of a temporary name that an earlier life of the folder left behind.
    pub(super) fn drop_leftover(&mut self, locked: &[String], name: &str) -> Result<()> {
        if !ddl::is_temporary(name) {
            return Ok(());
        }
        let gone = self.change_locked(locked, |core, trx| ddl::drop_table(core, trx, name, false))?;
        gone.or_else(|e| if matches!(e, Error::NoSuchTable(_)) { Ok(()) } else { Err(e) })
    }

    fn begin_to_copy(&self, from: &Table) {
        let rows = from.stats.known().0.map_or(0, |known| known.rows);
        self.progress.begin(rows, None, false);
        self.progress.enter(Stage::Copy);
    }

    /// Runs `copy` in a transaction of this session that keeps the metadata locks when it ends.
    ///
    /// # Errors
    /// The inner result is that of `copy` and its commit. The outer error: the transaction could not be ended, so that its
    /// locks keep the new table from being dropped until the background service, or the next opening, has ended it.
    fn copy_rows<R, E: From<Error>>(
        &mut self,
        from: &str,
        to: &str,
        copy: impl FnOnce(&mut Statement<'_>, &Arc<Table>, &Arc<Table>) -> std::result::Result<R, E>,
    ) -> Result<std::result::Result<R, E>> {
        let core = self.core.clone();
        let from = core.table(from)?;
        let to = core.table(to)?;
        self.explicit = true;
        self.start(AccessMode::ReadWrite);
        self.used.push((from.id, crate::mdl::MdlMode::Exclusive));
        self.used.push((to.id, crate::mdl::MdlMode::Exclusive));
        self.begin_to_copy(&from);
        let copied = copy(&mut Statement { session: self }, &from, &to);
        self.used.clear();
        self.leave_statement();
        let ended = copied.and_then(|r| {
            core.txn.commit(&mut self.trx).map_err(Error::from)?;
            Ok(r)
        });
        if ended.is_err() {
            self.roll_back_trx()?;
        }
        Ok(ended)
    }
}

/// The definition without the foreign keys by which the table refers to itself; and those, of the table as it is called until
/// it takes the place of `name`.
fn without_own_keys(spec: &TableSpec, name: &str) -> (TableSpec, Vec<ForeignKeySpec>) {
    let mut spec = spec.clone();
    let (mut own, others): (Vec<_>, Vec<_>) =
        std::mem::take(&mut spec.foreign_keys).into_iter().partition(|key| key.parent == name);
    own.iter_mut().for_each(|key| key.parent.clone_from(&spec.name));
    spec.foreign_keys = others;
    (spec, own)
}
