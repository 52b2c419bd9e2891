//! Holding the rows of a table against new foreign keys beside writers.
//!
//! | step | others may use the tables | |
//! |---|---|---|
//! | [`Held::begin`] | no | observers note the values by which rows of the child come to refer, and those by which rows of a parent go |
//! | [`Held::scan`] | yes | every value that rows of the child refer by is looked for in the parent |
//! | [`Held::finish`] | no | values that were noted, or not found, are looked for again |
//!
//! A value that nobody noted stands in both tables as it did at the beginning, when no change was uncommitted. So the scan may look at
//! entries whoever made them, also at those of an index that is being built, which has the rows of the beginning and some of what came
//! after; what it finds of a noted value does not count. In the end no change is uncommitted again, and what is built is complete.
//!
//! # Crash
//! Nothing is written before the keys themselves are.

use super::FullTextBuild;
use super::foreign::{begins_with, positions, refused};
use super::index_build::IndexBuild;
use crate::core::Core;
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
use vaquita_btree::{Cursor, Restored};
use vaquita_format::record::Offsets;
use vaquita_format::tuple::TupleField;
use vaquita_txn::{AccessMode, Isolation, Trx, TrxRef};

/// Values that are not found in the parent, after which the scan goes on no more.
const MISSING_MAX: usize = 1_000;
/// Entries, and bytes of values, after which the index of the child is left to look for the values.
const ENTRIES: u64 = 1_000;
const BYTES: usize = 64 << 10;

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
    /// The index of the child, and that of the parent, which begin with its columns. They may be being built.
    child: Arc<Index>,
    parent: Arc<Index>,
    noted: Arc<Mutex<Noted>>,
}

/// Rows that are being held against foreign keys.
#[derive(Debug)]
pub(crate) struct Held {
    child: Arc<Table>,
    /// Used for as long, so that the cache keeps their objects.
    parents: Vec<Arc<Table>>,
    keys: Vec<Key>,
    /// An interruption of this one, or of the other, ends it.
    reader: Trx,
    watched: TrxRef,
}

/// Positions of a key's columns in the child and in the parent.
fn places(child: &Table, parent: &Table, key: &ForeignKey) -> Result<(Vec<usize>, Vec<usize>)> {
    let of = |table: &Table, columns: &[String]| {
        positions(&table.columns, columns).map_err(|why| refused(&key.id, why))
    };
    Ok((of(child, &key.child_columns)?, of(parent, &key.parent_columns)?))
}

/// Holds the rows of a table that nobody knows yet against its foreign keys, whose parents the transaction has locked.
///
/// # Errors
/// [`Error::NoReferencedRow`], [`Error::Interrupted`]; errors of pages.
pub(super) fn check_new(core: &Core, trx: &Trx, child: &Arc<Table>, keys: &[ForeignKey]) -> Result<()> {
    let held = Held::of(core, trx, child.clone(), keys.iter().map(|key| (key, Arc::default())), None)?;
    let progress = Progress::new(core.storage.clock().clone());
    let done = held.scan(core, &progress).and_then(|()| held.finish(core, &progress));
    held.end(core);
    done
}

impl Held {
    /// Begins. The keys were looked at; nobody uses the tables, and the transaction has them locked. `build` has begun to build indexes of
    /// the child.
    ///
    /// # Errors
    /// Tables and columns that are gone; errors of pages.
    pub(super) fn begin(
        core: &Core,
        trx: &Trx,
        table: &str,
        (keys, words): (&[ForeignKey], Option<&FullTextBuild>),
        mut build: Option<&mut IndexBuild>,
    ) -> Result<Self> {
        let max = core.log_sizes().1;
        let mut observers: Vec<(String, Arc<Side>)> = Vec::new();
        let mut noted = Vec::with_capacity(keys.len());
        for key in keys {
            let (ours, theirs) = places(&*core.table(table)?, &*core.table(&key.parent)?, key)?;
            let both = Arc::new(Mutex::new(Noted::default()));
            let side = |coming, columns| Arc::new(Side { coming, columns, noted: both.clone(), max });
            observers.push((key.child.clone(), side(true, ours)));
            observers.push((key.parent.clone(), side(false, theirs)));
            noted.push(both);
        }
        observe(core, &observers, build.as_deref_mut(), words.map(|words| (table, words)))?;
        let child = core.table(table)?;
        Self::of(core, trx, child, keys.iter().zip(noted), build.as_deref())
    }

    /// Of tables that have their observers.
    fn of<'k>(
        core: &Core,
        trx: &Trx,
        child: Arc<Table>,
        keys: impl Iterator<Item = (&'k ForeignKey, Arc<Mutex<Noted>>)>,
        build: Option<&IndexBuild>,
    ) -> Result<Self> {
        let index_of = |table: &Table, columns: &[usize], key: &ForeignKey| {
            let there = table.indexes.iter().find(|index| begins_with(&index.parts, columns)).cloned();
            let build = build.filter(|build| build.table_name() == table.name);
            let built = || build.and_then(|build| build.find(|parts| begins_with(parts, columns)));
            there.or_else(built).ok_or_else(|| refused(&key.id, "its index is gone"))
        };
        let (mut parents, mut held) = (Vec::new(), Vec::new());
        for (key, noted) in keys {
            // A table that is being made is not known by its name.
            let parent = if key.parent == child.name { child.clone() } else { core.table(&key.parent)? };
            let (ours, theirs) = places(&child, &parent, key)?;
            held.push(Key {
                child: index_of(&child, &ours, key)?,
                parent: index_of(&parent, &theirs, key)?,
                key: key.clone(),
                ours,
                noted,
            });
            parents.push(parent);
        }
        let mut reader = core.txn.new_trx();
        reader.set_wait_hook(trx.wait_hook().clone());
        core.txn.start(&mut reader, Isolation::ReadCommitted, AccessMode::ReadOnly);
        Ok(Held { child, parents, keys: held, reader, watched: trx.shared().clone() })
    }

    /// Who is to be interrupted for it to end.
    pub(super) fn reader(&self) -> TrxRef {
        self.reader.shared().clone()
    }

    /// The tables that have observers.
    pub(super) fn tables(&self) -> impl Iterator<Item = String> {
        std::iter::once(&self.child).chain(&self.parents).map(|table| table.name.clone())
    }

    fn check(&self) -> Result<()> {
        check_interrupt(self.reader.shared())?;
        check_interrupt(&self.watched)
    }

    /// Looks for every value that rows of the child refer by.
    ///
    /// # Errors
    /// [`Error::NoReferencedRow`] if more are not there than can be looked for again, [`Error::Interrupted`]; errors of pages.
    pub(super) fn scan(&self, core: &Core, progress: &Progress) -> Result<()> {
        let rows = self.child.stats.known().0.map_or(0, |known| known.rows);
        progress.begin(rows * self.keys.len() as u64, None, false);
        progress.enter(Stage::References);
        self.keys.iter().try_for_each(|key| self.scan_for(core, key, progress))
    }

    /// The same for one of the keys. Equal values come one after the other.
    fn scan_for(&self, core: &Core, key: &Key, progress: &Progress) -> Result<()> {
        let mut cursor = Cursor::new(&key.child.tree, &core.storage);
        let mut values = Values::default();
        let (mut missing, mut more) = (0, cursor.first()?);
        while more {
            let entries = values.take(&mut cursor, key)?;
            more = cursor.record().is_some();
            // No page of the child is latched while the parent is searched.
            cursor.store()?;
            self.check()?;
            progress.add(entries);
            for value in values.all.drain(..) {
                if is_there(core, &key.parent, &value)? {
                    continue;
                }
                missing += 1;
                if missing > MISSING_MAX {
                    return Err(self.no_parent(key, &value));
                }
                // It may be that somebody makes it just now.
                key.noted.lock().values.insert(value);
            }
            if more && cursor.restore()? == Restored::Gone {
                more = cursor.next()?;
            }
        }
        Ok(())
    }

    /// Looks again for what has changed, or was not there. Nobody uses the tables, and the transaction has them locked.
    ///
    /// # Errors
    /// [`Error::NoReferencedRow`], [`Error::OnlineLogTooBig`], errors of pages.
    pub(super) fn finish(&self, core: &Core, progress: &Progress) -> Result<()> {
        progress.enter(Stage::Commit);
        for key in &self.keys {
            let noted = key.noted.lock();
            if noted.closed {
                return Err(Error::OnlineLogTooBig(self.child.name.clone()));
            }
            for value in &noted.values {
                if !is_there(core, &key.parent, value)? && is_there(core, &key.child, value)? {
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
    pub(super) fn end(mut self, core: &Core) {
        for key in &self.keys {
            *key.noted.lock() = Noted { closed: true, ..Noted::default() };
        }
        let ended = core.txn.commit(&mut self.reader);
        debug_assert!(matches!(ended, Ok(None)), "a transaction that only reads was ended: {ended:?}");
    }
}

/// Values of a foreign key's columns, as packed fields, that follow each other in the index of the child.
#[derive(Default)]
struct Values {
    all: Vec<Vec<u8>>,
    last: Vec<u8>,
    offsets: Offsets,
}

impl Values {
    /// Takes the values from where the cursor is, each once; how many entries have them. Less than all there are: the cursor is on the next.
    fn take(&mut self, cursor: &mut Cursor<'_>, key: &Key) -> Result<u64> {
        let (mut entries, mut bytes) = (0, 0);
        let mut value = Vec::new();
        while entries < ENTRIES && bytes < BYTES {
            let Some(record) = cursor.record() else { break };
            entries += 1;
            if !record.is_deleted() {
                record.parse(key.child.def(), &mut self.offsets)?;
                value.clear();
                let fields = (0..key.ours.len()).map(|i| record.field(&self.offsets, i));
                // Who has NULL refers to nothing.
                if fields.clone().all(|field| field.is_some()) {
                    fields.for_each(|field| packed::push(&mut value, field));
                }
                if !value.is_empty() && value != self.last {
                    self.last.clone_from(&value);
                    bytes += value.len();
                    self.all.push(value.clone());
                }
            }
            cursor.next()?;
        }
        Ok(entries)
    }
}

/// Puts observers into new objects of their tables.
fn observe(
    core: &Core,
    observers: &[(String, Arc<Side>)],
    mut build: Option<&mut IndexBuild>,
    words: Option<(&str, &FullTextBuild)>,
) -> Result<()> {
    let mut names: Vec<&String> = observers.iter().map(|(name, _)| name).collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        let mut build = build.as_deref_mut().filter(|build| build.table_name() == name);
        let table = core.dict.reopen(&core.storage, name, |table| {
            match (&build, words.filter(|(of, _)| of == name)) {
                // It passes on what words need, too.
                (Some(build), _) => build.pass_on(table),
                (_, Some((_, words))) => words.pass_on(table),
                _ => {}
            }
            let own = observers.iter().filter(|(of, _)| of == name);
            table.observers.extend(own.map(|(_, side)| side.clone() as Arc<dyn RowObserver>));
        })?;
        if let Some(build) = &mut build {
            build.passed_on(table);
        }
    }
    Ok(())
}

/// Whether an index has an entry that begins with a value and is not marked.
fn is_there(core: &Core, index: &Index, value: &[u8]) -> Result<bool> {
    let fields: SmallVec<[TupleField<'_>; 4]> = packed::fields(value).collect();
    Ok(!rows::read_some(&core.storage, index, &fields, 1)?.is_empty())
}
