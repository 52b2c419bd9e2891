//! A change of definitions: one transaction on the dictionary's tables, with what it makes and what it leaves behind in
//! the [DDL log](super::log).

use super::log::{self, Entry, HOW};
use crate::core::Core;
use crate::dict::objects::{Object, ObjectChange, ObjectKind};
use crate::dict::rows::{self, Values};
use crate::dict::server_files;
use crate::error::{Error, Result};
use crate::fulltext::auxiliary;
use crate::partition::whole_name;
use crate::row;
use crate::table::{Field, RowKey, Table};
use parking_lot::RwLockWriteGuard;
use std::sync::Arc;
use vaquita_base::{IndexId, PageNo, SpaceId, TableId, TrxId};
use vaquita_storage::{FileChange, LoggedChanges, Storage};
use vaquita_txn::trx::TrxState;
use vaquita_txn::{AccessMode, Isolation, Trx, TrxShared};

/// Mini-transactions that the log has room for when the latch is taken: more than the rows of an ordinary definition take.
const ROOM: usize = 4;

/// A running change. The dictionary's latch is held exclusively from its first row in the dictionary's tables until it is
/// committed, or taken back; see [`Change::unlatched`].
#[derive(Debug)]
pub(super) struct Change<'a> {
    pub(super) core: &'a Core,
    trx: &'a mut Trx,
    latch: Option<RwLockWriteGuard<'a, ()>>,
    /// Entries of the DDL log that undo what has been made.
    pub(super) undo: Vec<u64>,
    /// Entries that remove what is superfluous after the commit.
    left: Vec<(u64, Entry)>,
    /// Tables whose objects are out of date after the commit.
    changed: Vec<String>,
    dropped: Vec<TableId>,
    /// AUTO_INCREMENT counters as they are after the commit.
    counters: Vec<(TableId, u64)>,
    /// Objects that are not tables.
    objects: Vec<ObjectChange>,
    /// Names of which a MySQL server is to be told something else after the commit.
    described: Vec<String>,
    /// Triggers of which it is to be told something else, with their tables.
    triggers: Vec<(String, String)>,
}

impl<'a> Change<'a> {
    /// Runs a change: committed and durable on return, or as if it had not been.
    ///
    /// # Errors
    /// Those of `body`; errors of writing.
    pub(super) fn run<R>(
        core: &'a Core,
        trx: &'a mut Trx,
        body: impl FnOnce(&mut Change<'a>) -> Result<R>,
    ) -> Result<R> {
        Self::run_with(core, trx, Vec::new(), body)
    }

    /// The same for a change for which something was made before, that `undo` gets rid of.
    pub(super) fn run_with<R>(
        core: &'a Core,
        trx: &'a mut Trx,
        undo: Vec<u64>,
        body: impl FnOnce(&mut Change<'a>) -> Result<R>,
    ) -> Result<R> {
        begin(core, trx)?;
        let latch = Some(latch(core)?);
        let (left, changed, dropped, counters, objects) = Default::default();
        let (described, triggers) = Default::default();
        let mut change =
            Change { core, trx, latch, undo, left, changed, dropped, counters, objects, described, triggers };
        let done = body(&mut change).and_then(|r| Ok((r, change.end()?)));
        match done {
            Ok((r, lsn)) => change.committed(lsn).map(|()| r),
            Err(e) => {
                change.abort();
                Err(e)
            }
        }
    }

    pub(super) fn storage(&self) -> &'a Storage {
        &self.core.storage
    }

    /// Does what takes its time and concerns nobody else, as making and renaming files, without the latch. Others may
    /// change other definitions meanwhile; those of the tables of this change are kept by metadata locks.
    ///
    /// # Panics
    /// If the change has rows in the dictionary's tables: others would read them before the commit.
    pub(super) fn unlatched<R>(&mut self, body: impl FnOnce(&mut Self) -> Result<R>) -> Result<R> {
        assert_eq!(self.trx.undo_no(), 0, "rows that are not committed are read by nobody");
        assert!(self.latch.is_some(), "a change gives the dictionary's latch up that it does not hold");
        self.latch = None;
        let done = body(self);
        // What was made is taken back without it, too.
        if done.is_ok() {
            self.latch = Some(latch(self.core)?);
        }
        done
    }

    /// Asserts that others do not read what is about to change.
    fn assert_may_change(&self, table: &Table) {
        assert!(table.is_system, "{} is no table of the dictionary", table.name);
        assert!(self.latch.is_some(), "a row of {} changes without the dictionary's latch", table.name);
    }

    /// Inserts a row into a dictionary table.
    pub(super) fn insert(&mut self, table: &Arc<Table>, values: &Values) -> Result<()> {
        self.assert_may_change(table);
        row::insert(self.core, self.trx, table, &rows::fields(values), HOW).map(|_| ())
    }

    /// Deletes a row of a dictionary table.
    pub(super) fn delete(&mut self, table: &Arc<Table>, key: &[&[u8]]) -> Result<()> {
        self.assert_may_change(table);
        let key = RowKey::new(key.iter().copied());
        match row::delete(self.core, self.trx, table, &key, HOW)? {
            true => Ok(()),
            false => Err(Error::Corrupt(format!("{}: a row is missing", table.name))),
        }
    }

    /// Changes columns of a row of a dictionary table.
    pub(super) fn update(
        &mut self,
        table: &Arc<Table>,
        key: &[&[u8]],
        changes: &[(usize, Field<'_>)],
    ) -> Result<()> {
        self.assert_may_change(table);
        let key = RowKey::new(key.iter().copied());
        row::update(self.core, self.trx, table, &key, changes, HOW).map(|_| ())
    }

    /// Says how to undo what is going to be made; durable on return.
    pub(super) fn will_make(&mut self, entries: &[Entry]) -> Result<Vec<u64>> {
        let ids = log::add_durably(self.core, entries)?;
        self.undo.extend_from_slice(&ids);
        Ok(ids)
    }

    /// The same for what begins with something that is logged and made durable in the log before it is done, as the renaming of a file
    /// is: these are durable with it.
    pub(super) fn will_rename(&mut self, entries: &[Entry]) -> Result<()> {
        let (ids, _) = log::add_with_next(self.core, entries)?;
        self.undo.extend_from_slice(&ids);
        Ok(())
    }

    /// Its transaction.
    pub(super) fn trx(&self) -> &Trx {
        self.trx
    }

    /// The number of its transaction, which rows may bear that are there when it is committed.
    pub(super) fn give_id(&mut self) -> Result<TrxId> {
        Ok(self.core.txn.assign_id(self.trx)?)
    }

    /// Who is to be interrupted for it to end.
    pub(super) fn watched(&self) -> Arc<TrxShared> {
        self.trx.shared().clone()
    }

    /// Takes over what was made before, and goes if the change does not come to be.
    pub(super) fn takes_over(&mut self, undo: &[u64]) {
        self.undo.extend_from_slice(undo);
    }

    /// Puts a setting of FULLTEXT indexes into their table of settings, as part of this change.
    pub(super) fn put_setting(&mut self, config: &Arc<Table>, key: &str, value: &str) -> Result<()> {
        auxiliary::set(self.core, self.trx, config, key, value.as_bytes())
    }

    /// Puts documents into their table of deleted ones, as part of this change.
    pub(super) fn put_deleted(&mut self, deleted: &Arc<Table>, gone: &[u64]) -> Result<()> {
        gone.iter().try_for_each(|doc| auxiliary::put_document(self.core, self.trx, deleted, *doc))
    }

    /// Says what is superfluous after the commit.
    pub(super) fn leaves(&mut self, entry: &Entry) -> Result<()> {
        let id = log::add(self.core, self.trx, entry)?;
        self.left.push((id, entry.clone()));
        Ok(())
    }

    /// A tree is superfluous after the commit.
    pub(super) fn leaves_tree(
        &mut self,
        space: SpaceId,
        index: IndexId,
        root: PageNo,
        file: &str,
    ) -> Result<()> {
        self.leaves(&Entry::FreeTree { space, index, root, name: file.to_owned() })
    }

    /// The object of a table is out of date after the commit.
    pub(super) fn changes(&mut self, name: &str) {
        self.changed.push(name.to_owned());
    }

    /// What a MySQL server keeps of a name, if one made the folder, is to be another one after the commit.
    pub(super) fn describes(&mut self, name: &str) {
        let Some(name) = server_files::described_name(name) else { return };
        if !self.described.iter().any(|described| described == name) {
            self.described.push(name.to_owned());
        }
    }

    /// The same of an object: a server has files of views and triggers.
    pub(super) fn describes_object(&mut self, object: &Object) {
        match (object.kind, object.table_name()) {
            (ObjectKind::View, _) => self.describes(&object.lock_name()),
            (_, Some(table)) => self.triggers.push((table, object.name.clone())),
            _ => {}
        }
    }

    /// A table is no more after the commit.
    pub(super) fn drops(&mut self, id: TableId) {
        self.dropped.push(id);
    }

    /// The AUTO_INCREMENT counter of a table has this value after the commit.
    pub(super) fn counts_from(&mut self, id: TableId, next: u64) {
        self.counters.push((id, next));
    }

    /// An object that is not a table is another one, or none, after the commit.
    pub(super) fn changes_object(&mut self, object: ObjectChange) {
        self.objects.push(object);
    }

    /// Commits. What undoes the making is taken away with it.
    fn end(&mut self) -> Result<Option<vaquita_base::Lsn>> {
        if self.core.is_folder_of_a_server() {
            for name in std::mem::take(&mut self.described) {
                self.leaves(&Entry::ServerFile { name })?;
            }
            for (name, trigger) in std::mem::take(&mut self.triggers) {
                self.leaves(&Entry::ServerTrigger { name, trigger })?;
            }
        }
        for &id in &self.undo {
            log::delete(self.core, self.trx, id)?;
        }
        Ok(self.core.txn.commit(self.trx)?)
    }

    fn committed(self, lsn: Option<vaquita_base::Lsn>) -> Result<()> {
        let Change { core, latch, left, changed, dropped, counters, objects, .. } = self;
        assert!(
            latch.is_some(),
            "the dictionary's latch was given up before objects that are out of date went"
        );
        core.dict.objects.apply(&objects);
        for name in &changed {
            core.dict.cache.remove_named(name);
            // The object of a partitioned table has those of its parts.
            whole_name(name).into_iter().for_each(|whole| core.dict.cache.remove_named(whole));
        }
        counters.iter().for_each(|(id, next)| core.dict.cache.set_counter(*id, *next));
        for id in dropped {
            core.dict.cache.forget(id);
            core.documents.forget_dropped(id);
            core.txn.locks().forget_table(id);
        }
        // From here on nobody finds what is superfluous: others need not wait while the log is written and files go.
        drop(latch);
        finish(core, lsn, left)
    }

    /// Takes everything back. What cannot be taken back now is taken back at the next opening.
    fn abort(self) {
        let Change { core, trx, undo, latch, .. } = self;
        if let Err(e) = row::roll_back(core, trx) {
            core.notes.say(format!(
                "definitions: a change that failed cannot be taken back: {e}; restart the server, which takes it back: until \
                 then what it wrote to the dictionary may be read"
            ));
            return;
        }
        // What was made is known to nobody. A file that gets its name back is open.
        drop(latch);
        give_up(core, &undo);
    }
}

/// Makes a change durable that is committed, and does what it left, the newest first: what becomes of files is durable in the log at
/// one time with it.
fn finish(core: &Core, lsn: Option<vaquita_base::Lsn>, mut left: Vec<(u64, Entry)>) -> Result<()> {
    left.reverse();
    let changes: Vec<FileChange<'_>> = left.iter().filter_map(|(_, entry)| entry.file_change()).collect();
    // After the commit in the log: it is not durable without that.
    let logged = (!changes.is_empty()).then(|| core.storage.log_changes(&changes)).transpose();
    let until = logged.as_ref().ok().and_then(|logged| logged.as_ref().map(LoggedChanges::lsn)).max(lsn);
    if let Some(until) = until {
        core.storage.log().flush_up_to(until).map_err(vaquita_storage::Error::from)?;
    }
    // The change is done. What cannot be removed now is removed at the next opening.
    let done = logged.map_err(Into::into).and_then(|logged| match logged {
        Some(logged) => log::perform_logged(core, &left, logged),
        None => log::perform(core, &left),
    });
    if let Err(e) = done {
        tell_left(core, "a change is done, but not all of what comes with it", &left, &e);
    }
    Ok(())
}

/// Says what was not done of what comes with a change: files to be removed, renamed or written.
#[cold]
fn tell_left(core: &Core, what: &str, left: &[(u64, Entry)], e: &Error) {
    let names: Vec<&str> = left.iter().map(|(_, entry)| entry.name()).collect();
    let of = if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) };
    core.notes.say(format!("definitions: {what}{of}: {e}; it is done at the next start"));
}

/// The latch, with room in the log for what is written under it: pages that have to go before there is some are written
/// while nobody waits for the latch.
fn latch(core: &Core) -> Result<RwLockWriteGuard<'_, ()>> {
    core.storage.wait_for_room_of(ROOM)?;
    Ok(core.dict.change())
}

fn begin(core: &Core, trx: &mut Trx) -> Result<()> {
    if core.storage.options().read_only {
        return Err(Error::FolderReadOnly);
    }
    if trx.state() == TrxState::NotStarted {
        core.txn.start(trx, Isolation::ReadCommitted, AccessMode::ReadWrite);
    }
    if trx.undo_no() != 0 {
        return Err(Error::WrongState("a change of a definition is a transaction of its own"));
    }
    core.txn.set_dict_operation(trx);
    Ok(())
}

/// Undoes what was made for a change that did not come to be. No definition names it, so nobody has to wait while it goes.
pub(super) fn give_up(core: &Core, undo: &[u64]) {
    match log::newest_first(core, undo) {
        Ok(entries) => {
            if let Err(e) = log::perform(core, &entries) {
                tell_left(core, "a change failed, and not all that was made for it is gone", &entries, &e);
            }
        }
        Err(e) => tell_left(core, "a change failed, and what was made for it is not gone", &[], &e),
    }
}
