//! Building indexes of a table with rows, several in one scan, beside writers or without them.
//!
//! | step | others may use the table | |
//! |---|---|---|
//! | [`begin`] | no | empty trees; the table's object gets the indexes as ones being built, with logs of what is changed from now on; a read view is opened |
//! | [`IndexBuild::fill`]: scan | yes | the rows of the view are read by several threads, their entries sorted in memory and temporary files |
//! | load | yes | trees are made from their leaves up, each by a thread |
//! | log | yes | what was logged is applied, again and again until little is left, or as much as in the round before: writers that are faster than that wait in the end |
//! | [`IndexBuild::complete`], [`IndexBuild::finish`] | no | the rest is applied; the dictionary changes |
//!
//! Nobody changes the table from before `begin` to its end, and no transaction is open that has: the view sees all rows as they
//! are, and the logs have all that comes after. At the end it is the same: the entries are those of the committed rows. Older
//! versions get none. Views older than the index do not use it.
//!
//! What is done to the trees before the end has no undo and takes no locks.
//!
//! # Crash
//! Until the dictionary's transaction commits, the DDL log says that the trees go. The logs and temporary files are of no use
//! to anybody then.

use super::alteration::{Alteration, forget_options};
use super::change::{self, Change};
use super::gather::{Gathered, Gathering};
use super::load::{Others, load_all};
use super::log::{self, Entry};
use super::sort::Sorter;
use super::{FullTextBuild, IndexSpec, check, definition};
use crate::core::Core;
use crate::cursor::RowRef;
use crate::dict::build::{IndexParts, TableParts};
use crate::dict::{ids, rows};
use crate::error::{Error, Result};
use crate::online::index_log::IndexLogs;
use crate::online::row_log::LogReader;
use crate::progress::{Progress, Stage};
use crate::row::entry::{self, bytes_needed_by};
use crate::table::{Columns, Field, FieldSource, Index, Table};
use crate::waits::check_interrupt;
use smallvec::SmallVec;
use std::ops::ControlFlow;
use std::sync::Arc;
use vaquita_base::{PageNo, TrxId};
use vaquita_format::index_def::KeyPart;
use vaquita_format::record::{EXTERN_REF_LEN, ExternRef};
use vaquita_txn::trx::TrxState;
use vaquita_txn::{AccessMode, Isolation, Trx, TrxRef};

/// Records of the logs that are left to the end, when the table is nobody else's.
const REST: u64 = 500;

/// Indexes that are being built.
#[derive(Debug)]
pub(crate) struct IndexBuild {
    /// The definition to be: the new indexes are the last ones.
    parts: TableParts,
    first: usize,
    /// Entries of the DDL log that get rid of the trees.
    undo: Vec<u64>,
    /// The table as it is; used for as long as they are built, so that the cache keeps it.
    table: Arc<Table>,
    indexes: Vec<Arc<Index>>,
    /// What others do meanwhile, if they may.
    logs: Option<Arc<IndexLogs>>,
    readers: Vec<LogReader>,
    /// What the pages of the trees are marked with.
    trx_id: TrxId,
    /// Whose view is read.
    reader: Trx,
    /// An interruption of this one, or of the reader, ends the build.
    watched: TrxRef,
}

/// First bytes of values off the page: nothing that is sorted.
impl<'c> Gathered<'c> for Vec<Vec<u8>> {
    fn hand_over(&mut self, _sorters: &mut [Sorter<'c>], _is_end: bool) {}
}

/// Begins to build indexes. Nobody else uses the table, and the transaction has it locked. `online`: others will use it until
/// the end.
///
/// # Errors
/// No such table, definitions that cannot be, no space, errors of pages. Nothing is left behind then.
pub(crate) fn begin(
    core: &Core,
    trx: &mut Trx,
    name: &str,
    specs: &[IndexSpec],
    alteration: &Alteration<'_>,
    online: bool,
    before: impl FnOnce(&TableParts) -> Result<()>,
) -> Result<IndexBuild> {
    if core.storage.options().read_only {
        return Err(Error::FolderReadOnly);
    }
    if core.table(name)?.is_system {
        return Err(Error::NoSuchTable(name.to_owned()));
    }
    let mut parts = planned(core, name, specs, alteration)?;
    before(&parts)?;
    let first = parts.indexes.len() - specs.len();
    for index in &mut parts.indexes[first..] {
        index.id = ids::index_id(&core.storage)?;
    }
    if trx.state() == TrxState::NotStarted {
        core.txn.start(trx, Isolation::ReadCommitted, AccessMode::ReadWrite);
    }
    core.txn.set_dict_operation(trx);
    let trx_id = core.txn.assign_id(trx)?;
    let mut undo = Vec::new();
    let made = make_trees(core, &mut parts, first, trx_id, &mut undo)
        .and_then(|built| known(core, name, built, first, online, alteration.words));
    let (table, indexes, logs) = match made {
        Ok(made) => made,
        Err(e) => {
            change::give_up(core, &undo);
            return Err(e);
        }
    };
    let mut reader = core.txn.new_trx();
    reader.set_wait_hook(trx.wait_hook().clone());
    core.txn.start(&mut reader, Isolation::RepeatableRead, AccessMode::ReadOnly);
    core.txn.read_view(&mut reader);
    let readers = logs.as_ref().map(|logs| logs.readers()).unwrap_or_default();
    let watched = trx.shared().clone();
    Ok(IndexBuild { parts, first, undo, table, indexes, logs, readers, trx_id, reader, watched })
}

/// The definition the table will have, checked.
pub(super) fn planned(
    core: &Core,
    name: &str,
    specs: &[IndexSpec],
    alteration: &Alteration<'_>,
) -> Result<TableParts> {
    let _latch = core.dict.freeze();
    let row = core.dict.table_row(&core.storage, name)?;
    let row = row.ok_or_else(|| Error::NoSuchTable(name.to_owned()))?;
    let mut parts = core.dict.read_parts(&core.storage, &row)?;
    let old = parts.indexes.len();
    if old - alteration.dropped_indexes.len().min(old) + specs.len() > 65 {
        return Err(Error::BadDefinition(format!("{name} would have more than 64 secondary indexes")));
    }
    for spec in specs {
        let stay = |(n, index): &(usize, &IndexParts)| *n >= old || !alteration.drops(&index.name);
        let names = parts.indexes.iter().enumerate().filter(stay).map(|(_, i)| i.name.as_str());
        check::index(&parts.columns, names, spec, parts.row_format, parts.page_size)?;
        parts.indexes.push(IndexParts {
            id: vaquita_base::IndexId(0),
            name: spec.name.clone(),
            parts: spec.parts.clone(),
            unique: spec.unique,
            root: PageNo::NULL,
            trx_id: TrxId(0),
            comment: spec.comment.clone(),
            hidden: alteration.words.is_some_and(|words| words.hides(spec)),
        });
    }
    for def in parts.index_defs()?.iter().skip(parts.indexes.len() - specs.len()) {
        check::record_size(name, def)?;
    }
    Ok(parts)
}

/// Makes the trees of the indexes from `first` on; a table that has them.
fn make_trees(
    core: &Core,
    parts: &mut TableParts,
    first: usize,
    trx_id: TrxId,
    undo: &mut Vec<u64>,
) -> Result<Table> {
    for (n, def) in parts.index_defs()?.into_iter().enumerate().skip(first) {
        let name = parts.name.clone();
        let entry = Entry::FreeTree { space: parts.space, index: def.id(), root: PageNo::NULL, name };
        let id = log::add_durably(core, &[entry])?[0];
        undo.push(id);
        parts.indexes[n].root = log::create_tree(core, id, parts.space, def)?.root();
        parts.indexes[n].trx_id = trx_id;
    }
    parts.clone().open(&core.storage, core.dict.observer())
}

type Known = (Arc<Table>, Vec<Arc<Index>>, Option<Arc<IndexLogs>>);

/// The table that others use while its indexes from `first` on are built, and these.
fn known(
    core: &Core,
    name: &str,
    mut built: Table,
    first: usize,
    online: bool,
    words: Option<&FullTextBuild>,
) -> Result<Known> {
    let indexes = built.indexes.split_off(first);
    if !online || indexes.is_empty() {
        return Ok((core.table(name)?, indexes, None));
    }
    let logs = Arc::new(IndexLogs::new(core, &indexes));
    let table = core.dict.reopen(&core.storage, name, |table| {
        table.is_ordering = built.is_ordering;
        table.building = indexes.clone();
        table.observers.push(logs.clone());
        if let Some(words) = words {
            words.pass_on(table);
        }
    })?;
    Ok((table, indexes, Some(logs)))
}

impl IndexBuild {
    /// Who is to be interrupted for the build to end, from when the transaction of [`begin`] is over.
    pub(crate) fn reader(&self) -> TrxRef {
        self.reader.shared().clone()
    }

    /// The table's name.
    pub(crate) fn table_name(&self) -> &str {
        &self.table.name
    }

    /// The index being built that `is` the one, by its parts.
    pub(super) fn find(&self, is: impl Fn(&[KeyPart]) -> bool) -> Option<Arc<Index>> {
        let new = &self.parts.indexes[self.first..];
        new.iter().position(|index| is(&index.parts)).map(|n| self.indexes[n].clone())
    }

    /// Another object of the table knows that the indexes are being built, and logs what is changed.
    pub(super) fn pass_on(&self, table: &mut Table) {
        table.is_ordering.clone_from(&self.table.is_ordering);
        table.building.clone_from(&self.table.building);
        table.building_texts.clone_from(&self.table.building_texts);
        table.observers.clone_from(&self.table.observers);
    }

    /// That object took the place of the table's.
    pub(super) fn passed_on(&mut self, table: Arc<Table>) {
        self.table = table;
    }

    fn check(&self) -> Result<()> {
        check_interrupt(self.reader.shared())?;
        check_interrupt(&self.watched)
    }

    /// Reads the rows, makes the trees, and applies what others did meanwhile.
    ///
    /// # Errors
    /// Duplicates, [`Error::OnlineLogTooBig`], [`Error::Interrupted`], no space, errors of pages and files. It is to be given up
    /// then.
    pub(crate) fn fill(&mut self, core: &Core, progress: &Progress) -> Result<()> {
        if self.indexes.is_empty() {
            return Ok(());
        }
        let rows = self.table.stats.known().0.map_or(0, |known| known.rows);
        progress.begin(rows, Some(rows * self.indexes.len() as u64), self.logs.is_some());
        progress.enter(Stage::Scan);
        let sorters = self.scan(core, progress)?;
        // Purge need not wait for the rest.
        core.txn.close_view(&mut self.reader);
        let check = || self.check();
        let logged = || self.logs.as_ref().map_or(0, |logs| logs.records());
        let others = Others { check: &check, logged: &logged };
        load_all(core, &self.table, &self.indexes, sorters, self.trx_id, progress, &others)?;
        self.catch_up(core, progress)
    }

    /// Applies what others did until little is left, or until it does not become less any more.
    fn catch_up(&mut self, core: &Core, progress: &Progress) -> Result<()> {
        let Some(logs) = self.logs.clone() else { return Ok(()) };
        let (mut applied, mut before) = (0, u64::MAX);
        loop {
            let logged = logs.records();
            let round = logged - applied;
            if round < REST || round > before / 10 * 9 {
                return Ok(());
            }
            progress.enter(Stage::LogIndex);
            progress.expect(round);
            self.apply(core, false)?;
            progress.add(round);
            (applied, before) = (logged, round);
        }
    }

    fn apply(&mut self, core: &Core, last: bool) -> Result<()> {
        let Some(logs) = self.logs.clone() else { return Ok(()) };
        let mut readers = std::mem::take(&mut self.readers);
        let done = logs.apply(core, &self.table, &mut readers, last, &|| self.check());
        self.readers = readers;
        done
    }

    /// Gives the entries of all rows to sorters, a vector for each index.
    fn scan<'c>(&mut self, core: &'c Core, progress: &Progress) -> Result<Vec<Vec<Sorter<'c>>>> {
        let (table, watched) = (self.table.clone(), self.watched.clone());
        let wanted = wanted_columns(&self.indexes);
        let logs = self.logs.clone();
        let gathering = Gathering {
            core,
            table: &table,
            columns: wanted.clone(),
            sorted: self.indexes.iter().map(|index| index.def().clone()).collect(),
            progress,
            watched: &watched,
            logged: &|| logs.as_ref().map_or(0, |logs| logs.records()),
        };
        let indexes = &self.indexes;
        gathering.gather(
            &mut self.reader,
            || vec![Vec::new(); wanted.len()],
            |sorters, long, row| take(core, &table, (indexes, &wanted), row, long, sorters),
        )
    }

    /// Applies the rest of what others did. Nobody uses the table, and the transaction has it locked.
    ///
    /// # Errors
    /// As [`IndexBuild::fill`]. It is to be given up then.
    pub(super) fn complete(&mut self, core: &Core, trx: &Trx, progress: &Progress) -> Result<()> {
        if self.logs.is_some() {
            progress.enter(Stage::LogIndex);
        }
        self.watched = trx.shared().clone();
        self.apply(core, true)
    }

    /// Changes the dictionary. `also` changes what belongs to the same change.
    ///
    /// # Errors
    /// Those of the change. Nothing is left behind then.
    pub(super) fn finish_with<'a>(
        mut self,
        core: &'a Core,
        trx: &'a mut Trx,
        progress: &Progress,
        alteration: &Alteration<'_>,
        also: impl FnOnce(&mut Change<'a>) -> Result<()>,
    ) -> Result<()> {
        let name = self.table.name.clone();
        progress.enter(Stage::Commit);
        self.end(core);
        let IndexBuild { mut parts, first, undo, .. } = self;
        let done = Change::run_with(core, trx, undo, |change| {
            alteration.exchange(change, &name, Some(&parts))?;
            let sys = &change.core.dict.sys;
            for n in first..parts.indexes.len() {
                change.insert(&sys.core.indexes, &rows::index_row(&parts, n))?;
                for row in rows::field_rows(&parts, n) {
                    change.insert(&sys.core.fields, &row)?;
                }
            }
            let mut n = 0;
            parts.indexes.retain(|index| {
                n += 1;
                n > first || !alteration.drops(&index.name)
            });
            alteration.dropped_indexes.iter().for_each(|index| forget_options(&mut parts, index));
            definition::replace_extra(change, &parts)?;
            change.changes(&name);
            also(change)?;
            alteration.settle(change)
        });
        if done.is_err() {
            core.dict.forget(&name);
        }
        done
    }

    /// As [`IndexBuild::finish_with`], without more.
    pub(crate) fn finish(
        self,
        core: &Core,
        trx: &mut Trx,
        progress: &Progress,
        alteration: &Alteration<'_>,
    ) -> Result<()> {
        self.finish_with(core, trx, progress, alteration, |_| Ok(()))
    }

    /// Gets rid of what was made. Others may use the table: its object goes on saying that the indexes are being built, which
    /// does no more than make some undo records longer.
    pub(crate) fn give_up(mut self, core: &Core) {
        self.end(core);
        change::give_up(core, &self.undo);
    }

    /// Nothing is logged or read any more.
    fn end(&mut self, core: &Core) {
        if let Some(logs) = &self.logs {
            logs.close();
        }
        // It has changed nothing: there is nothing that could fail.
        let ended = core.txn.commit(&mut self.reader);
        debug_assert!(matches!(ended, Ok(None)), "a transaction that only reads was ended: {ended:?}");
    }
}

/// The columns that entries are made of.
fn wanted_columns(indexes: &[Arc<Index>]) -> Vec<usize> {
    let of = |source: &FieldSource| match *source {
        FieldSource::Column { column, .. } => Some(column),
        _ => None,
    };
    let mut wanted: Vec<usize> = indexes.iter().flat_map(|i| i.sources.iter().filter_map(of)).collect();
    wanted.sort_unstable();
    wanted.dedup();
    wanted
}

/// A row under a scan, with the wanted columns.
struct Taken<'r> {
    columns: SmallVec<[Field<'r>; 16]>,
    row_id: &'r [u8],
}

impl Columns for Taken<'_> {
    fn column(&self, _: &Table, column: usize) -> Field<'_> {
        self.columns[column]
    }

    fn row_id(&self) -> &[u8] {
        self.row_id
    }
}

/// Takes a row; whether room is to be made in a sorter.
fn take(
    core: &Core,
    table: &Table,
    (indexes, wanted): (&[Arc<Index>], &[usize]),
    row: &RowRef<'_>,
    long: &mut [Vec<u8>],
    sorters: &mut [Sorter<'_>],
) -> Result<bool> {
    for (i, &column) in wanted.iter().enumerate().filter(|&(i, _)| row.is_off_page(i)) {
        let needed = bytes_needed_by(indexes.iter(), column);
        first_bytes(core, table, row.column(i).unwrap_or_default(), needed, &mut long[i])?;
    }
    let mut columns: SmallVec<[Field<'_>; 16]> = SmallVec::from_elem(None, table.columns.len());
    for (i, &column) in wanted.iter().enumerate() {
        columns[column] = if row.is_off_page(i) { Some(&long[i]) } else { row.column(i) };
    }
    let row_id = match table.clustered().def().is_generated() {
        true => row.entry_field(0).unwrap_or_default(),
        false => &[],
    };
    let taken = Taken { columns, row_id };
    let mut full = false;
    for (index, sorter) in indexes.iter().zip(sorters) {
        full |= sorter.push(&entry::entry(table, index, &taken));
    }
    Ok(full)
}

/// The first bytes of a value off the page.
fn first_bytes(core: &Core, table: &Table, local: &[u8], needed: usize, out: &mut Vec<u8>) -> Result<()> {
    out.clear();
    out.extend_from_slice(&local[..local.len().saturating_sub(EXTERN_REF_LEN)]);
    let chain = ExternRef::of_field(local).map_err(|c| Error::Corrupt(c.to_string()))?;
    if out.len() < needed
        && let Some(chain) = chain.filter(|chain| chain.len > 0)
    {
        table.clustered().tree.read_chain(&core.storage, &chain, |part| {
            let n = part.len().min(needed - out.len());
            out.extend_from_slice(&part[..n]);
            if out.len() == needed { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
    }
    Ok(())
}
