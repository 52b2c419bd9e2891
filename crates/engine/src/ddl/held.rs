//! Holding the rows of a table against new foreign keys beside writers.
//!
//! | step | others may use the tables | |
//! |---|---|---|
//! | [`begin`] | no | observers note the values by which rows of the child come to refer, and those by which rows of a parent go |
//! | [`Held::scan`] | yes | every value that rows of the child refer by is looked for in the parent |
//! | [`Held::finish`] | no | values that were noted, or not found, are looked for again |
//!
//! A value that nobody noted stands in both tables as it did at the beginning, when no change was uncommitted. So the scan may look at
//! entries whoever made them, and what it finds of a noted value does not count. In the end no change is uncommitted again.
//!
//! # Crash
//! Nothing is written before the keys themselves are.

use super::ForeignKeySpec;
use super::foreign::{Planned, begins_with, check_all, plan_for, positions, refused};
use crate::core::Core;
use crate::cursor::{Cursor, ReadOptions};
use crate::dict::rows;
use crate::error::{Error, Result};
use crate::online::packed;
use crate::progress::{Progress, Stage};
use crate::row::foreign::no_parent;
use crate::table::{Columns, ForeignKey, Index, RowChange, RowObserver, Table};
use crate::waits::check_interrupt;
use parking_lot::Mutex;
use smallvec::SmallVec;
use std::collections::HashSet;
use std::sync::Arc;
use vaquita_format::tuple::TupleField;
use vaquita_txn::{AccessMode, Isolation, Trx, TrxRef};

/// Values that are not found in the parent, after which the scan goes on no more.
const MISSING_MAX: usize = 1_000;
/// Entries between two looks at interruptions.
const TOLD: u64 = 1_000;

/// Values that came into a child's columns, or went from a parent's, as packed fields.
#[derive(Debug, Default)]
struct Noted {
    values: HashSet<Vec<u8>>,
    bytes: u64,
    /// They take more than they may, or nobody wants them any more: none is kept.
    closed: bool,
}

/// Notes values of one side of a foreign key.
#[derive(Debug)]
struct Side {
    /// Whether rows that come are looked at, or those that go.
    coming: bool,
    columns: Vec<usize>,
    noted: Arc<Mutex<Noted>>,
    max: u64,
}

impl Side {
    fn note(&self, table: &Table, row: &dyn Columns) {
        /// What a value costs, besides its bytes.
        const EACH: u64 = 64;
        let mut value = Vec::new();
        for &column in &self.columns {
            match row.column(table, column) {
                Some(bytes) => packed::push(&mut value, Some(bytes)),
                // It refers to nothing, and nothing to it.
                None => return,
            }
        }
        let mut noted = self.noted.lock();
        if noted.closed {
            return;
        }
        let bytes = value.len() as u64 + EACH;
        if noted.values.insert(value) {
            noted.bytes += bytes;
        }
        if noted.bytes > self.max {
            *noted = Noted { closed: true, ..Noted::default() };
        }
    }
}

impl RowObserver for Side {
    fn row_changed(&self, table: &Table, change: &RowChange<'_>) {
        let row = if self.coming { change.after } else { change.before };
        if let Some(row) = row.filter(|_| change.order_changes) {
            self.note(table, row);
        }
    }
}

/// A foreign key that is to be added.
#[derive(Debug)]
struct Key {
    key: ForeignKey,
    ours: Vec<usize>,
    /// The index of the child, by its number, and that of the parent, which begin with its columns.
    child_index: usize,
    parent: Arc<Table>,
    parent_index: usize,
    noted: Arc<Mutex<Noted>>,
}

impl Key {
    fn index_of(table: &Table, columns: &[usize]) -> Option<usize> {
        table.indexes.iter().position(|index| begins_with(&index.parts, columns))
    }

    fn parent_index(&self) -> &Index {
        &self.parent.indexes[self.parent_index]
    }
}

/// Rows that are being held against foreign keys.
#[derive(Debug)]
pub(crate) struct Held {
    child: Arc<Table>,
    keys: Vec<Key>,
    /// Whose view the child is read in.
    view: Trx,
    watched: TrxRef,
}

/// Begins, if the keys need no index to be made first. Nobody uses the tables, and the transaction has them locked.
///
/// # Errors
/// Definitions that cannot be.
pub(crate) fn begin(core: &Core, trx: &Trx, table: &str, specs: &[ForeignKeySpec]) -> Result<Option<Held>> {
    let Planned { table: parts, keys, indexes } = plan_for(core, table, specs)?;
    if !indexes.is_empty() {
        return Ok(None);
    }
    let frozen = core.dict.freeze();
    check_all(core, &parts, &keys, true)?;
    drop(frozen);
    let max = core.log_sizes().1;
    let child = core.table(table)?;
    let mut observers: Vec<(String, Arc<Side>)> = Vec::new();
    let mut held = Vec::with_capacity(keys.len());
    for key in keys {
        let gone = || refused(&key.id, "its columns are gone");
        let parent = core.table(&key.parent)?;
        let ours = positions(&child.columns, &key.child_columns).map_err(|_| gone())?;
        let theirs = positions(&parent.columns, &key.parent_columns).map_err(|_| gone())?;
        let child_index = Key::index_of(&child, &ours).ok_or_else(gone)?;
        let parent_index = Key::index_of(&parent, &theirs).ok_or_else(gone)?;
        let noted = Arc::new(Mutex::new(Noted::default()));
        let side = |coming, columns: &Vec<usize>| {
            Arc::new(Side { coming, columns: columns.clone(), noted: noted.clone(), max })
        };
        observers.push((key.child.clone(), side(true, &ours)));
        observers.push((key.parent.clone(), side(false, &theirs)));
        held.push(Key { key, ours, child_index, parent, parent_index, noted });
    }
    observe(core, &observers)?;
    let child = core.table(table)?;
    for key in &mut held {
        key.parent = core.table(&key.key.parent)?;
    }
    let mut view = core.txn.new_trx();
    view.set_wait_hook(trx.wait_hook().clone());
    core.txn.start(&mut view, Isolation::RepeatableRead, AccessMode::ReadOnly);
    core.txn.read_view(&mut view);
    Ok(Some(Held { child, keys: held, view, watched: trx.shared().clone() }))
}

/// Puts observers into new objects of their tables.
fn observe(core: &Core, observers: &[(String, Arc<Side>)]) -> Result<()> {
    let mut names: Vec<&String> = observers.iter().map(|(name, _)| name).collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        core.dict.reopen(&core.storage, name, |table| {
            let own = observers.iter().filter(|(of, _)| of == name);
            table.observers.extend(own.map(|(_, side)| side.clone() as Arc<dyn RowObserver>));
        })?;
    }
    Ok(())
}

impl Held {
    /// Who is to be interrupted for it to end.
    pub(crate) fn reader(&self) -> TrxRef {
        self.view.shared().clone()
    }

    /// The tables that have observers.
    pub(crate) fn tables(&self) -> Vec<String> {
        let parents = self.keys.iter().map(|key| key.key.parent.clone());
        std::iter::once(self.child.name.clone()).chain(parents).collect()
    }

    fn check(&self) -> Result<()> {
        check_interrupt(self.view.shared())?;
        check_interrupt(&self.watched)
    }

    /// Looks for every value that rows of the child refer by.
    ///
    /// # Errors
    /// [`Error::NoReferencedRow`] if more are not there than can be looked for again, [`Error::Interrupted`]; errors of pages.
    pub(crate) fn scan(&mut self, core: &Core, progress: &Progress) -> Result<()> {
        let rows = self.child.stats.known().0.map_or(0, |known| known.rows);
        progress.begin(rows * self.keys.len() as u64, None, false);
        progress.enter(Stage::References);
        for at in 0..self.keys.len() {
            self.scan_for(core, at, progress)?;
        }
        core.txn.close_view(&mut self.view);
        Ok(())
    }

    /// The same for one of the keys. Equal values come one after the other.
    fn scan_for(&mut self, core: &Core, at: usize, progress: &Progress) -> Result<()> {
        let key = &self.keys[at];
        let options = ReadOptions::by_index(key.child_index).columns(key.ours.clone());
        let mut cursor = Cursor::open(self.child.clone(), &options)?;
        let (mut before, mut value) = (Vec::new(), Vec::new());
        let (mut entries, mut missing) = (0, 0);
        loop {
            value.clear();
            let Some(row) = cursor.next(core, &mut self.view)? else { break };
            let n = self.keys[at].ours.len();
            if (0..n).all(|i| row.column(i).is_some()) {
                (0..n).for_each(|i| packed::push(&mut value, row.column(i)));
            }
            entries += 1;
            if entries % TOLD == 0 {
                progress.add(TOLD);
                self.check()?;
            }
            if value.is_empty() || value == before {
                continue;
            }
            before.clone_from(&value);
            let key = &self.keys[at];
            if !is_there(core, key.parent_index(), &value)? {
                missing += 1;
                if missing > MISSING_MAX {
                    return Err(self.no_parent(key, &value));
                }
                // It may be that somebody makes it just now.
                key.noted.lock().values.insert(value.clone());
            }
        }
        progress.add(entries % TOLD);
        Ok(())
    }

    /// Looks again for what has changed, or was not there. Nobody uses the tables, and the transaction has them locked.
    ///
    /// # Errors
    /// [`Error::NoReferencedRow`], [`Error::OnlineLogTooBig`], errors of pages.
    pub(crate) fn finish(&self, core: &Core, progress: &Progress) -> Result<()> {
        progress.enter(Stage::Commit);
        for key in &self.keys {
            let noted = key.noted.lock();
            if noted.closed {
                return Err(Error::OnlineLogTooBig(self.child.name.clone()));
            }
            let child_index = &self.child.indexes[key.child_index];
            for value in &noted.values {
                if !is_there(core, key.parent_index(), value)? && is_there(core, child_index, value)? {
                    return Err(self.no_parent(key, value));
                }
            }
        }
        Ok(())
    }

    fn no_parent(&self, key: &Key, value: &[u8]) -> Error {
        no_parent(&self.child, &key.key, &key.ours, packed::fields(value).map(|v| v.data))
    }

    /// Nothing is noted any more.
    pub(crate) fn end(mut self, core: &Core) {
        for key in &self.keys {
            *key.noted.lock() = Noted { closed: true, ..Noted::default() };
        }
        let ended = core.txn.commit(&mut self.view);
        debug_assert!(matches!(ended, Ok(None)), "a transaction that only reads was ended: {ended:?}");
    }
}

/// Whether an index has an entry that begins with a value and is not marked.
fn is_there(core: &Core, index: &Index, value: &[u8]) -> Result<bool> {
    let fields: SmallVec<[TupleField<'_>; 4]> = packed::fields(value).collect();
    Ok(!rows::read_some(&core.storage, index, &fields, 1)?.is_empty())
}
