//! The DDL log: what is left to do, or to undo, of definitions being changed; rows of SYS_VAQUITA_DDL_LOG.
//!
//! Files and trees are made and go outside of transactions. So before something is made, a row that says how to get rid
//! of it is committed on its own; the transaction that changes the definition takes that row away with its other
//! changes. And what the change makes superfluous it does not remove, but adds a row that says so. Whichever way the
//! transaction ends, at once or after a crash, the rows that are there afterwards are what is to be done:
//!
//! | end | rows left | doing them |
//! |---|---|---|
//! | commit | those the transaction added | removes what was replaced or dropped |
//! | rollback, crash | those committed before | removes what was made, gives files their names back |
//!
//! A row is deleted after it is done; doing one again does nothing.
//!
//! | TYPE | uses | done |
//! |---|---|---|
//! | 1 | SPACE, NAME | tablespace SPACE and its file NAME are dropped |
//! | 2 | SPACE, NAME, NEW_NAME | the file of SPACE, if called NEW_NAME, is called NAME: again, or by now |
//! | 3 | SPACE, INDEX_ID, PAGE_NO, NAME | the tree with the root PAGE_NO is freed; NAME is the file to open |
//! | 4 | SPACE, NAME | tablespace SPACE goes with its file, if that is called NAME; else it is let go and its file stays |
//! | 5 | NAME | the `.frm` of NAME becomes that of the table which the dictionary has, or of none; it stays until somebody is there who can |
//! | 6 | NAME, NEW_NAME | the `.TRN` of trigger NEW_NAME, and the `.TRG` of its table NAME, become those of the triggers which the dictionary has, in the same way |
//!
//! PAGE_NO is written in the mini-transaction that makes or frees the root, so that it is null if and only if there is
//! no tree.

use super::server_files;
use crate::core::Core;
use crate::dict::rows::{self, SysRow, Values};
use crate::error::{Error, Result};
use crate::row::{self, WriteOptions};
use crate::table::{RowKey, Table};
use std::sync::Arc;
use vaquita_base::{IndexId, Lsn, PageId, PageNo, SpaceId};
use vaquita_btree::{LatchMode, Tree};
use vaquita_format::column::ColumnDef;
use vaquita_format::index_def::{IndexDef, IndexSpec, RowFormat};
use vaquita_format::index_page::{FieldUpdate, SearchMode, header};
use vaquita_format::tuple::{Tuple, TupleField};
use vaquita_storage::{FileChange, LoggedChanges, Mtr, Storage};
use vaquita_txn::{AccessMode, Isolation, Trx};

/// PAGE_NO in the clustered record.
const PAGE_NO_FIELD: usize = 7;

/// Writing rows of the dictionary: there are no foreign keys on it.
pub(super) const HOW: WriteOptions = WriteOptions {
    foreign_key_checks: false,
    unique_checks: true,
    exclusive_duplicates: false,
    without_undo: false,
};

/// Something left to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Entry {
    /// A tablespace with its file goes.
    DropSpace { space: SpaceId, name: String },
    /// A file gets its name back; or the one that it is to have after the commit.
    RenameBack { space: SpaceId, name: String, new_name: String },
    /// A tablespace that was to be taken in: a file that was made of the user's goes; one that has taken its place is the user's.
    TakeIn { space: SpaceId, name: String },
    /// What a MySQL server keeps of a name is put right.
    ServerFile { name: String },
    /// What a MySQL server keeps of a trigger that is or was one of a table, and of all of the table's, is put right.
    ServerTrigger { name: String, trigger: String },
    /// A tree goes.
    FreeTree { space: SpaceId, index: IndexId, root: PageNo, name: String },
}

impl Entry {
    /// What becomes of a file by it that the log has a record of.
    pub(super) fn file_change(&self) -> Option<FileChange<'_>> {
        match self {
            Entry::DropSpace { space, name } => Some(FileChange::Drop(*space, name)),
            Entry::RenameBack { space, name, new_name } => Some(FileChange::Rename(*space, new_name, name)),
            Entry::TakeIn { .. } | Entry::FreeTree { .. } => None,
            Entry::ServerFile { .. } | Entry::ServerTrigger { .. } => None,
        }
    }

    /// What it is about, as `database/table`.
    pub(super) fn name(&self) -> &str {
        match self {
            Entry::DropSpace { name, .. }
            | Entry::RenameBack { name, .. }
            | Entry::TakeIn { name, .. }
            | Entry::ServerFile { name }
            | Entry::ServerTrigger { name, .. }
            | Entry::FreeTree { name, .. } => name,
        }
    }

    fn values(&self, id: u64) -> Values {
        let (kind, index, space, root, name, new_name) = match self {
            Entry::DropSpace { space, name } => (1, IndexId(0), *space, PageNo::NULL, name, None),
            Entry::RenameBack { space, name, new_name } => {
                (2, IndexId(0), *space, PageNo::NULL, name, Some(new_name))
            }
            Entry::FreeTree { space, index, root, name } => (3, *index, *space, *root, name, None),
            Entry::TakeIn { space, name } => (4, IndexId(0), *space, PageNo::NULL, name, None),
            Entry::ServerFile { name } => (5, IndexId(0), SpaceId::SYSTEM, PageNo::NULL, name, None),
            Entry::ServerTrigger { name, trigger } => {
                (6, IndexId(0), SpaceId::SYSTEM, PageNo::NULL, name, Some(trigger))
            }
        };
        vec![
            rows::u64_value(id),
            rows::u32_value(kind),
            rows::u64_value(0),
            rows::u64_value(index.get()),
            rows::u32_value(space.get()),
            rows::u32_value(root.get()),
            rows::name_value(name),
            new_name.map(|n| n.as_bytes().to_vec()),
        ]
    }

    fn of(row: &SysRow) -> Result<(u64, Entry)> {
        let space = SpaceId(row.u32(6));
        let name = row.text(8);
        let entry = match row.u32(3) {
            1 => Entry::DropSpace { space, name },
            2 => Entry::RenameBack { space, name, new_name: row.text(9) },
            3 => {
                let (index, root) = (IndexId(row.number(5)), PageNo(row.u32(PAGE_NO_FIELD)));
                Entry::FreeTree { space, index, root, name }
            }
            4 => Entry::TakeIn { space, name },
            5 => Entry::ServerFile { name },
            6 => Entry::ServerTrigger { name, trigger: row.text(9) },
            other => return Err(Error::Corrupt(format!("SYS_VAQUITA_DDL_LOG: type {other}"))),
        };
        Ok((row.number(0), entry))
    }
}

fn table(core: &Core) -> Result<&Arc<Table>> {
    let missing = || Error::WrongState("definitions cannot be changed: SYS_VAQUITA_DDL_LOG is missing");
    core.dict.sys.ddl_log.as_ref().ok_or_else(missing)
}

/// Adds an entry within a transaction; its number.
pub(super) fn add(core: &Core, trx: &mut Trx, entry: &Entry) -> Result<u64> {
    let id = core.dict.next_log_id();
    row::insert(core, trx, table(core)?, &rows::fields(&entry.values(id)), HOW)?;
    Ok(id)
}

/// Adds entries that last whatever becomes of the transaction that changes the definition.
pub(super) fn add_durably(core: &Core, entries: &[Entry]) -> Result<Vec<u64>> {
    let (ids, lsn) = add_with_next(core, entries)?;
    if let Some(lsn) = lsn {
        core.storage.log().flush_up_to(lsn).map_err(vaquita_storage::Error::from)?;
    }
    Ok(ids)
}

/// The same, but durable with what comes into the log next, and up to where that is to be so.
pub(super) fn add_with_next(core: &Core, entries: &[Entry]) -> Result<(Vec<u64>, Option<Lsn>)> {
    on_its_own(core, |trx| entries.iter().map(|entry| add(core, trx, entry)).collect())
}

/// Deletes an entry within a transaction.
pub(super) fn delete(core: &Core, trx: &mut Trx, id: u64) -> Result<()> {
    let id = rows::u64_value(id).unwrap_or_default();
    row::delete(core, trx, table(core)?, &RowKey::new([&id[..]]), HOW).map(|_| ())
}

/// All entries, the oldest first.
pub(super) fn all(core: &Core) -> Result<Vec<(u64, Entry)>> {
    let Some(table) = &core.dict.sys.ddl_log else { return Ok(Vec::new()) };
    rows::read(&core.storage, table.clustered(), &[])?.iter().map(Entry::of).collect()
}

/// The entries of these numbers that are there, the newest first.
pub(super) fn newest_first(core: &Core, ids: &[u64]) -> Result<Vec<(u64, Entry)>> {
    let mut found: Vec<_> = all(core)?.into_iter().filter(|(id, _)| ids.contains(id)).collect();
    found.reverse();
    Ok(found)
}

/// Puts right what a MySQL server keeps of tables whose definitions changed when nobody was there who could.
pub(super) fn put_server_files_right(core: &Core) -> Result<()> {
    let mut entries = all(core)?;
    entries.retain(|(_, entry)| matches!(entry, Entry::ServerFile { .. } | Entry::ServerTrigger { .. }));
    perform(core, &entries)
}

/// Does entries and deletes them. One that cannot be done stays, and is tried again at the next opening; the first such
/// failure.
pub(super) fn perform(core: &Core, entries: &[(u64, Entry)]) -> Result<()> {
    let mut performed = Performed::default();
    entries.iter().for_each(|entry| performed.take(core, entry, None));
    performed.end(core)
}

/// The same where the log says durably of all files that are dropped and renamed that they are. They are first: while their names
/// change nobody may wait for room in the log.
pub(super) fn perform_logged(core: &Core, entries: &[(u64, Entry)], logged: LoggedChanges<'_>) -> Result<()> {
    let mut performed = Performed::default();
    let (files, others): (Vec<_>, Vec<_>) =
        entries.iter().partition(|(_, entry)| entry.file_change().is_some());
    files.into_iter().for_each(|entry| performed.take(core, entry, Some(&logged)));
    drop(logged);
    others.into_iter().for_each(|entry| performed.take(core, entry, None));
    performed.end(core)
}

/// Entries that were done, and what made one stay.
#[derive(Debug, Default)]
struct Performed {
    done: Vec<u64>,
    failure: Option<Error>,
}

impl Performed {
    fn take(&mut self, core: &Core, (id, entry): &(u64, Entry), logged: Option<&LoggedChanges<'_>>) {
        match perform_one(core, *id, entry, logged) {
            Ok(true) => self.done.push(*id),
            Ok(false) => {}
            Err(e) => drop(self.failure.get_or_insert(e)),
        }
    }

    fn end(self, core: &Core) -> Result<()> {
        let Performed { done, failure } = self;
        if !done.is_empty() {
            // Not made durable: what is found done at the next opening is done.
            on_its_own(core, |trx| done.iter().try_for_each(|&id| delete(core, trx, id)))?;
        }
        failure.map_or(Ok(()), Err)
    }
}

/// Does one; `false` if nobody is there who can.
fn perform_one(core: &Core, id: u64, entry: &Entry, logged: Option<&LoggedChanges<'_>>) -> Result<bool> {
    let storage = &*core.storage;
    match entry {
        Entry::ServerFile { name } => match core.dict.server_files.get() {
            Some(maker) => server_files::put_right(core, &**maker, name).inspect_err(|e| {
                core.notes.say(format!("{name}.frm is not as it should be, until the next opening: {e}"));
            })?,
            None => return Ok(false),
        },
        Entry::ServerTrigger { name, trigger } => match core.dict.server_files.get() {
            Some(maker) => {
                server_files::put_trigger_right(core, &**maker, name, trigger).inspect_err(|e| {
                    core.notes.say(format!("{name}.TRG is not as it should be, until the next opening: {e}"));
                })?;
            }
            None => return Ok(false),
        },
        Entry::DropSpace { space, name } => drop(match logged {
            Some(logged) => storage.drop_logged_if_there(logged, *space, name)?,
            None => storage.drop_if_there(*space, name)?,
        }),
        Entry::RenameBack { space, name, new_name } => {
            let there = storage.table_space_path(new_name)?;
            if !storage.spaces().contains(*space) && storage.fs().exists(&there) {
                storage.open_table_space(*space, &there)?;
            }
            if storage.spaces().get(*space).is_ok_and(|s| s.path() == there) {
                match logged {
                    Some(logged) => storage.rename_logged(logged, *space, new_name, name)?,
                    None => storage.rename_table_space(*space, new_name, name)?,
                }
            }
        }
        Entry::TakeIn { space, name } => match storage.fs().exists(&storage.table_space_path(name)?) {
            true => drop(storage.drop_if_there(*space, name)?),
            false => {
                storage.let_go_table_space(*space)?;
                storage.unlink_table_space(name)?;
            }
        },
        Entry::FreeTree { space, index, root, name } => {
            let path = storage.table_space_path(name)?;
            if !storage.spaces().contains(*space) && storage.fs().exists(&path) {
                storage.open_table_space(*space, &path)?;
            }
            if !root.is_null() && storage.spaces().contains(*space) {
                free_tree(core, id, *space, *index, *root)?;
            }
        }
    }
    Ok(true)
}

/// Frees a tree of which nothing is known but its root.
fn free_tree(core: &Core, id: u64, space: SpaceId, index: IndexId, root: PageNo) -> Result<()> {
    let storage = &*core.storage;
    let page = storage.pool().get_shared(PageId::new(space, root))?;
    let comp = header::is_comp(&page);
    drop(page);
    let spec = IndexSpec {
        id: index,
        name: "dropped".into(),
        row_format: if comp { RowFormat::Dynamic } else { RowFormat::Redundant },
        page_size: storage.options().page_size,
    };
    let any = IndexDef::plain(spec, vec![ColumnDef::int("any", 4, true).not_null()], 1);
    let any = any.map_err(|c| Error::Corrupt(c.to_string()))?;
    let tree = Tree::open(storage, space, root, Arc::new(any))?;
    tree.free_but_not_root(storage)?;
    let mut mtr = storage.begin()?;
    mtr.keep_before_images();
    write_root(core, &mut mtr, id, |mtr| {
        tree.free_root(mtr)?;
        Ok(PageNo::NULL)
    })?;
    mtr.commit();
    Ok(())
}

/// Makes the tree of an entry that was added without one.
pub(super) fn create_tree(core: &Core, id: u64, space: SpaceId, def: Arc<IndexDef>) -> Result<Tree> {
    let storage: &Storage = &core.storage;
    let mut mtr = storage.begin()?;
    mtr.keep_before_images();
    let mut made = None;
    write_root(core, &mut mtr, id, |mtr| {
        let tree = Tree::create(mtr, space, def)?;
        Ok(made.insert(tree).root())
    })?;
    mtr.commit();
    made.ok_or(Error::WrongState("a tree was made"))
}

/// Changes a tree and writes its root into an entry, in one mini-transaction. The entry is committed, and nobody but
/// whoever changes the definition looks at it: no undo, no lock.
fn write_root<'s>(
    core: &'s Core,
    mtr: &mut Mtr<'s>,
    id: u64,
    change: impl FnOnce(&mut Mtr<'s>) -> Result<PageNo>,
) -> Result<()> {
    let tree = &table(core)?.clustered().tree;
    let id = rows::u64_value(id).unwrap_or_default();
    let key = [TupleField::new(&id)];
    let place = tree.search(mtr, &Tuple::new(&key), SearchMode::LessOrEqual, LatchMode::Exclusive)?;
    if place.found().low_matched != 1 {
        return Err(Error::Corrupt("SYS_VAQUITA_DDL_LOG: an entry is gone".into()));
    }
    let root = rows::u32_value(change(mtr)?.get());
    let root = [FieldUpdate { pos: PAGE_NO_FIELD, data: root.as_deref() }];
    tree.update_in_place(mtr, place.page(), place.rec(), 0, &root, None)?;
    Ok(())
}

/// Runs changes of the log in a transaction of their own; what is to be durable for it to last.
fn on_its_own<R>(core: &Core, change: impl FnOnce(&mut Trx) -> Result<R>) -> Result<(R, Option<Lsn>)> {
    let mut trx = core.txn.new_trx();
    core.txn.start(&mut trx, Isolation::ReadCommitted, AccessMode::ReadWrite);
    core.txn.set_dict_operation(&mut trx);
    let done = change(&mut trx).and_then(|r| Ok((r, core.txn.commit(&mut trx)?)));
    match done {
        Ok(done) => Ok(done),
        Err(e) => {
            // If that fails too, it is done later: what made it necessary is what counts.
            let _ = row::roll_back_or_later(core, trx);
            Err(e)
        }
    }
}
