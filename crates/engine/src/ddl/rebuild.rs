//! Writing a table anew beside readers and writers: the rows go through a function into a table that nobody else knows,
//! which takes the place of the old one in the end.
//!
//! | step | others may use the table | |
//! |---|---|---|
//! | [`begin`] | no | the old table's object gets a log of the keys of rows that change from now on; a read view is opened |
//! | [`Rebuild::fill`]: scan | yes | the rows of the view are converted; while they come in the order of the new key they are loaded at once, else all is begun again and they are sorted before; the entries of other indexes are sorted |
//! | load | yes | trees are made from their leaves up |
//! | log | yes | rows whose keys were logged are copied again, until few are left |
//! | [`Rebuild::finish`] | no | the rest of them is; then the tables change places |
//!
//! # Applying the log
//! A row that was logged is taken out of the new table and, if there is one with its key in the old table, copied again. Where its copy
//! is tells its key, or what was logged of it, or what the scan noted ([`Places`]). What
//! counts is the row as it is when it is read, so the order of records and how often a row was logged do not matter. A row
//! whose newest version is not committed waits for a later round: its writer, or whoever takes the change back, may have logged
//! for the last time. The same if another row that was logged, too, still has its unique key. Keys that collate alike (`bo`, `Bo`) are
//! logged one by one and are one row's. In the end nobody has changes that
//! are not committed; all rows that were logged are taken out before the first comes in again; a duplicate is one.
//!
//! # Crash
//! The new table has a temporary name: it is dropped when the folder is opened again.

mod new_key;
mod numbers;

use self::new_key::{NewKey, with_log};
pub use self::numbers::Numbered;
use self::numbers::{Documents, Numbers, numbers_documents};
use super::handoff::{Giver, handoff, not_loaded};
use super::load::{Others, TOLD, load_all, of_rows, same_key};
use super::sort::Sorter;
use crate::core::Core;
use crate::cursor::{Cursor, ReadOptions};
use crate::error::{Error, Result};
use crate::online::courtesy::Courtesy;
use crate::online::key_log::{KeyLog, Logged};
use crate::online::packed;
use crate::online::places::Places;
use crate::online::row_log::LogReader;
use crate::progress::{Progress, Stage};
use crate::row::clustered::too_big;
use crate::row::entry::{Given, cut, entry, key_text};
use crate::row::image::Image;
use crate::row::lock::parse_clustered;
use crate::row::private::{self, Stamp};
use crate::table::{Columns, Field, FieldSource, Index, Table};
use crate::version::{Seen, seen_by};
use crate::waits::check_interrupt;
use smallvec::SmallVec;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use vaquita_base::codec::put_u48;
use vaquita_btree::BulkBuilder;
use vaquita_format::record::Offsets;
use vaquita_format::tuple::{Tuple, TupleField};
use vaquita_txn::{AccessMode, Isolation, Trx, TrxRef};

/// Rows that were logged and are copied again together.
const TOGETHER: usize = 10_000;
/// Rows of the log that are left to the end, when the table is nobody else's.
const REST: u64 = 200;

/// Makes rows of the new table of rows of the old one.
pub trait ConvertRow<E> {
    /// Calls `with` once, with the values of all columns of the new table, for the values of a row of the old one.
    ///
    /// # Errors
    /// Values that cannot be converted; those of `with`.
    fn convert(
        &mut self,
        row: &[Field<'_>],
        with: &mut dyn FnMut(&[Field<'_>]) -> Result<()>,
    ) -> std::result::Result<(), E>;

    /// All rows come once more: what was noted of them does not count.
    fn begin_again(&mut self) {}

    /// The AUTO_INCREMENT column that gives values to rows, if there is one.
    fn numbered(&self) -> Option<Numbered> {
        None
    }

    /// The row that comes next may have this number, if there is one left. Told of each where [`ConvertRow::numbered`] names a column.
    fn number(&mut self, _: Option<u64>) {}
}

/// What became of the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Filled {
    All,
    /// They do not come in the order of the new key, and were not sorted. [`Rebuild::begin_again`] with an empty table; they are then.
    OutOfOrder,
}

/// Whether others may write while a table becomes this one. `has_words`: its words are gathered, too; of a document that the user
/// numbers nobody knows then whether its number was there before.
pub(crate) fn may_write(to: &Table, has_words: bool) -> bool {
    !has_words || numbers_documents(to)
}

/// A table that is being written anew.
#[derive(Debug)]
pub(crate) struct Rebuild {
    from: Arc<Table>,
    to: Arc<Table>,
    key: NewKey,
    /// Which rows others change meanwhile, if they may.
    log: Option<Arc<KeyLog>>,
    reader: LogReader,
    /// Where the scan has put rows, if neither their keys nor what is logged tells it.
    places: Option<Places>,
    /// Where the copies are of rows that were logged, by their packed keys: packed keys of the new table.
    placed: HashMap<Vec<u8>, Option<Vec<u8>>>,
    placed_bytes: u64,
    /// Rows that wait for a later round.
    waiting: Vec<Logged>,
    /// The numbers that documents get here, if they do.
    documents: Option<Documents>,
    /// Those of an AUTO_INCREMENT column that gives values to rows.
    numbers: Option<Numbers>,
    /// The rows are sorted before they are loaded.
    sorts: bool,
    stamp: Stamp,
    /// Whose views are read.
    view: Trx,
    /// An interruption of this one, or of the reader, ends it.
    watched: TrxRef,
    /// Rows copied by the scan.
    rows: u64,
    /// The AUTO_INCREMENT counter at the beginning.
    counter: Option<u64>,
}

/// Begins to write the table `from` anew, into `to`. Nobody else uses either, and the transaction has them locked. `online`: others
/// will change `from`.
///
/// # Errors
/// Errors of reading the dictionary.
pub(crate) fn begin(
    core: &Core,
    trx: &mut Trx,
    (from, to): (&Arc<Table>, &Arc<Table>),
    origins: &[Option<usize>],
    online: bool,
) -> Result<Rebuild> {
    let key = NewKey::of(from, to, origins);
    let stamp = Stamp::of(core.txn.assign_id(trx)?);
    let (from, log) = match online {
        true => {
            let (from, log) = with_log(core, from, to, &key)?;
            (from, Some(log))
        }
        false => (from.clone(), None),
    };
    let mut view = core.txn.new_trx();
    view.set_wait_hook(trx.wait_hook().clone());
    core.txn.start(&mut view, Isolation::RepeatableRead, AccessMode::ReadOnly);
    core.txn.read_view(&mut view);
    let counter = from.auto_inc.peek();
    Ok(Rebuild {
        counter,
        from,
        to: to.clone(),
        key,
        log,
        reader: LogReader::default(),
        places: None,
        placed: HashMap::new(),
        placed_bytes: 0,
        waiting: Vec::new(),
        documents: Documents::of(to),
        numbers: None,
        sorts: false,
        stamp,
        view,
        watched: trx.shared().clone(),
        rows: 0,
    })
}

/// The rows on their way from the scan to the trees.
struct Loading<'c> {
    core: &'c Core,
    to: &'c Table,
    /// Where they go is noted here, if it is; the packed key of the row at hand.
    places: Option<Places>,
    old: Vec<u8>,
    place: Vec<u8>,
    stamp: Stamp,
    rows: Rows<'c>,
    /// The indexes whose entries are sorted here, and their sorters.
    indexes: &'c [Arc<Index>],
    entries: Vec<Sorter<'c>>,
    /// A row came that does not follow the one before.
    out_of_order: &'c AtomicBool,
}

/// Where the rows go.
enum Rows<'c> {
    /// Into the tree: they come in its order.
    Loaded(Box<BulkBuilder<'c>>),
    /// To a thread that does so.
    Given(Giver),
    /// Into files, to be sorted.
    Sorted(Box<Sorter<'c>>),
}

impl Loading<'_> {
    fn take(&mut self, row: &Given<'_>) -> Result<()> {
        let record = self.stamp.record(self.to, row)?;
        if let Some(places) = &mut self.places {
            self.place.clear();
            packed::push_all(&mut self.place, &record[..self.to.clustered().def().n_uniq()]);
            places.push(&self.old, &self.place)?;
        }
        match &mut self.rows {
            Rows::Loaded(builder) => {
                builder.push(&Tuple::new(&record)).map_err(|e| not_loaded(self.to, e, self.out_of_order))?;
            }
            Rows::Given(giver) => giver.push(&record)?,
            Rows::Sorted(sorter) => {
                if sorter.push(&record) {
                    sorter.make_room()?;
                }
            }
        }
        for (index, sorter) in self.indexes.iter().zip(&mut self.entries) {
            if sorter.push(&entry(self.to, index, row)) {
                sorter.make_room()?;
            }
        }
        Ok(())
    }
}

impl Rebuild {
    /// Who is to be interrupted for it to end, from when the transaction of [`begin`] is over.
    pub(crate) fn reader(&self) -> TrxRef {
        self.view.shared().clone()
    }

    /// Rows that were there at the beginning, as far as they are copied.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// Rows that others have changed so far.
    fn logged(&self) -> u64 {
        self.log.as_ref().map_or(0, |log| log.log.records())
    }

    fn check(&self) -> Result<()> {
        check_interrupt(self.view.shared())?;
        check_interrupt(&self.watched)
    }

    /// Copies the rows, and again those that others have changed meanwhile. Those of many tables come in the order of the new key, and
    /// need not be sorted; who does not know loads them until one does not.
    ///
    /// # Errors
    /// Values that cannot be converted, duplicates, [`Error::OnlineLogTooBig`], [`Error::Interrupted`], no space, errors of pages
    /// and files. It is to be given up then.
    pub(crate) fn fill<E: From<Error>>(
        &mut self,
        core: &Core,
        progress: &Progress,
        convert: &mut dyn ConvertRow<E>,
    ) -> std::result::Result<Filled, E> {
        let rows = self.from.stats.known().0.map_or(0, |known| known.rows);
        progress.begin(rows, Some(rows * self.to.indexes.len() as u64), self.log.is_some());
        progress.enter(Stage::Scan);
        let to = self.to.clone();
        self.numbers = convert.numbered().map(|numbered| Numbers::new(numbered, &to));
        // Its file goes before another one of the same name is made.
        self.places = None;
        let places = self.log.as_ref().filter(|_| matches!(self.key, NewKey::Noted)).map(|_| {
            let clustered = self.from.clustered();
            Places::new(&core.storage, format!("places-{:x}", clustered.id.get()), clustered.def().clone())
        });
        let memory = core.options.sort_buffer_size;
        let out_of_order = AtomicBool::new(false);
        let others = &to.indexes[1..];
        let sorter = |index: &Arc<Index>| Sorter::new(&core.storage, index.def().clone(), 0, memory);
        let sorters = |indexes: &[Arc<Index>]| -> Vec<Sorter<'_>> { indexes.iter().map(sorter).collect() };
        let loading = |rows, indexes| Loading {
            core,
            to: &to,
            places,
            old: Vec::new(),
            place: Vec::new(),
            stamp: self.stamp,
            rows,
            indexes,
            entries: sorters(indexes),
            out_of_order: &out_of_order,
        };
        let loaded = match !self.sorts {
            true if core.options.build_threads > 1 => {
                let (giver, taker) = handoff();
                // To load rows is less than to read and convert them, by about what it takes to sort the entries of an index.
                let (there, here) = others.split_at(others.len().div_ceil(2));
                let loading = loading(Rows::Given(giver), here);
                let taken = sorters(there);
                std::thread::scope(|scope| {
                    let loaded = scope.spawn(|| taker.load(core, &to, there, taken, &out_of_order));
                    let entries = self.scan_and_load(core, progress, convert, loading);
                    // What ended the other thread has ended this one.
                    let mut all = loaded.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
                    all.extend(entries?);
                    Ok(all)
                })
            }
            true => {
                let rows = Rows::Loaded(Box::new(of_rows(core, &to)));
                self.scan_and_load(core, progress, convert, loading(rows, others))
            }
            false => {
                let rows = Rows::Sorted(Box::new(sorter(to.clustered())));
                self.scan_and_load(core, progress, convert, loading(rows, others))
            }
        };
        if out_of_order.load(Ordering::Relaxed) && self.moves() {
            return Ok(Filled::OutOfOrder);
        }
        let entries = loaded?;
        // Purge need not wait for the rest.
        core.txn.close_view(&mut self.view);
        let entries = entries.into_iter().map(|sorter| vec![sorter]).collect();
        let check = || self.check();
        let logged = || self.logged();
        let others = Others { check: &check, logged: &logged };
        load_all(core, &to, &to.indexes[1..], entries, self.stamp.trx_id(), progress, &others)?;
        self.catch_up(core, progress, convert)?;
        Ok(Filled::All)
    }

    /// Goes on with another table, as empty as the first one was.
    pub(crate) fn begin_again(&mut self, to: Arc<Table>) {
        self.documents = Documents::of(&to);
        (self.to, self.sorts, self.rows) = (to, true, 0);
    }

    /// Reads the rows and loads them into the clustered index; the entries of the others.
    fn scan_and_load<'c, E: From<Error>>(
        &mut self,
        core: &'c Core,
        progress: &Progress,
        convert: &mut dyn ConvertRow<E>,
        mut loading: Loading<'c>,
    ) -> std::result::Result<Vec<Sorter<'c>>, E> {
        self.scan(core, progress, convert, &mut loading)?;
        self.places = loading.places.take();
        match loading.rows {
            Rows::Loaded(builder) => {
                progress.enter(Stage::Flush);
                builder.finish().map_err(Error::from)?;
                progress.add(self.rows);
            }
            Rows::Given(giver) => {
                progress.enter(Stage::Flush);
                giver.finish()?;
                progress.add(self.rows);
            }
            Rows::Sorted(sorter) => self.load_rows(core, *sorter, progress)?,
        }
        Ok(loading.entries)
    }

    fn scan<E: From<Error>>(
        &mut self,
        core: &Core,
        progress: &Progress,
        convert: &mut dyn ConvertRow<E>,
        loading: &mut Loading<'_>,
    ) -> std::result::Result<(), E> {
        let keeps_ids = self.from.clustered().def().is_generated();
        let gives_ids = loading.to.clustered().def().is_generated();
        let mut cursor = Cursor::open(self.from.clone(), &ReadOptions::default())?.reading_ahead();
        let n_columns = self.from.columns.len();
        let mut long = Values::new(n_columns);
        let mut row_id = [0; 6];
        let n_key = self.from.clustered().def().n_uniq();
        let mut courtesy = Courtesy::default();
        while let Some(row) = cursor.next(core, &mut self.view)? {
            let mut values: SmallVec<[Field<'_>; 16]> = SmallVec::with_capacity(n_columns);
            let mut some_off_page = false;
            for value in (0..n_columns).map(|column| row.value(column)) {
                some_off_page |= value.external;
                values.push(value.data);
            }
            if some_off_page {
                let off_page = || (0..n_columns).filter(|&column| row.is_off_page(column));
                for column in off_page() {
                    long.read(column, |buffer| row.read_column(column, buffer))?;
                }
                off_page().for_each(|column| values[column] = long.field(column));
            }
            match (keeps_ids, gives_ids) {
                (_, false) => {}
                (true, true) => row_id.copy_from_slice(row.entry_field(0).unwrap_or_default()),
                (false, true) => put_u48(&mut row_id, 0, loading.core.next_row_id()?),
            }
            if loading.places.is_some() {
                loading.old.clear();
                (0..n_key).for_each(|i| packed::push(&mut loading.old, row.entry_field(i)));
            }
            if let Some(numbers) = &self.numbers {
                convert.number(numbers.offer());
            }
            let (documents, numbers) = (&mut self.documents, &mut self.numbers);
            convert.convert(&values, &mut |new| {
                if let Some(numbers) = numbers {
                    numbers.has(loading.to, new);
                }
                match documents {
                    None => loading.take(&Given { values: new, row_id: &row_id }),
                    Some(documents) => {
                        let number = documents.next();
                        let mut with: SmallVec<[Field<'_>; 16]> = new.into();
                        with.push(Some(&number));
                        loading.take(&Given { values: &with, row_id: &row_id })
                    }
                }
            })?;
            self.rows += 1;
            if self.rows.is_multiple_of(TOLD) {
                progress.add(TOLD);
                self.check()?;
                courtesy.give_way(&**core.storage.clock(), self.logged());
            }
        }
        progress.add(self.rows % TOLD);
        Ok(())
    }

    /// Makes the clustered index of rows that were sorted.
    fn load_rows(&self, core: &Core, rows: Sorter<'_>, progress: &Progress) -> Result<()> {
        let (to, index) = (&*self.to, self.to.clustered());
        let n = index.def().n_uniq();
        let mut builder = of_rows(core, to);
        let mut before: Vec<Option<Vec<u8>>> = Vec::new();
        core.metrics.sort_files.add(rows.files());
        let each = |fields: &[TupleField<'_>]| {
            if same_key(index, &before, &fields[..n]) {
                return Err(duplicate_row(to, fields));
            }
            before.clear();
            before.extend(fields[..n].iter().map(|f| f.data.map(<[u8]>::to_vec)));
            builder.push(&Tuple::new(fields)).map_err(|e| too_big(to, e))?;
            if builder.records().is_multiple_of(TOLD) {
                progress.add(TOLD);
            }
            Ok(())
        };
        rows.finish(progress, || self.check(), each)?;
        progress.add(builder.records() % TOLD);
        progress.enter(Stage::Flush);
        builder.finish()?;
        Ok(())
    }

    /// Copies rows again that others have changed, until few are left or as many as in the round before.
    fn catch_up<E: From<Error>>(
        &mut self,
        core: &Core,
        progress: &Progress,
        convert: &mut dyn ConvertRow<E>,
    ) -> std::result::Result<(), E> {
        let Some(log) = self.log.clone() else { return Ok(()) };
        let (mut applied, mut before) = (0, u64::MAX);
        loop {
            let logged = log.log.records();
            let round = logged - applied;
            if round < REST || round > before / 10 * 9 {
                return Ok(());
            }
            progress.enter(Stage::LogTable);
            progress.expect(round);
            self.apply(core, false, convert)?;
            progress.add(round);
            (applied, before) = (logged, round);
        }
    }

    /// Copies rows again that were logged. `last`: nobody writes any more.
    fn apply<E: From<Error>>(
        &mut self,
        core: &Core,
        last: bool,
        convert: &mut dyn ConvertRow<E>,
    ) -> std::result::Result<(), E> {
        let Some(log) = self.log.clone() else { return Ok(()) };
        let n_key = self.from.clustered().def().n_uniq();
        let name = self.from.name.clone();
        let mut reader = std::mem::take(&mut self.reader);
        let mut some = std::mem::take(&mut self.waiting);
        let each = |record: &[u8]| {
            some.push(log.parse(record, n_key));
            match some.len() >= TOGETHER && !last {
                true => self.copy_again(core, std::mem::take(&mut some), false, convert),
                false => Ok(()),
            }
        };
        match last {
            true => reader.finish(&log.log, &name, each)?,
            false => reader.catch_up(&log.log, &name, each)?,
        }
        self.reader = reader;
        self.copy_again(core, some, last, convert)
    }

    /// Takes rows out of the new table and copies them again.
    fn copy_again<E: From<Error>>(
        &mut self,
        core: &Core,
        logged: Vec<Logged>,
        last: bool,
        convert: &mut dyn ConvertRow<E>,
    ) -> std::result::Result<(), E> {
        let mut keys: Vec<Vec<u8>> = Vec::with_capacity(logged.len());
        for row in logged {
            self.check()?;
            if let Some(place) = self.place_of(&row)? {
                let fields: SmallVec<[TupleField<'_>; 4]> = packed::fields(&place).collect();
                if let Some(copy) = private::remove(core, &self.to, &fields)? {
                    self.went(&row.key, &copy);
                }
            }
            keys.push(row.key);
        }
        keys.sort_unstable();
        keys.dedup();
        core.txn.close_view(&mut self.view);
        core.txn.read_view(&mut self.view);
        let mut values = Values::new(self.from.columns.len());
        let mut copied = HashSet::new();
        for key in keys {
            self.check()?;
            let waits = match self.read(core, &key, &mut values)? {
                Found::Nothing => false,
                Found::NotCommitted => true,
                // It was logged under its own key, too, and is copied by that.
                Found::Row(own, _) if own != key && self.moves() => false,
                Found::Row(own, row_id) => {
                    copied.insert(own.clone()) && !self.copy(core, &own, &values, &row_id, last, convert)?
                }
            };
            match &mut self.numbers {
                Some(numbers) if !waits => numbers.forget(&key),
                _ => {}
            }
            if waits {
                debug_assert!(!last, "a row of {} is not committed, and nobody changes it", self.from.name);
                self.waiting.push(Logged { key, before: None });
            }
        }
        core.txn.close_view(&mut self.view);
        Ok(())
    }

    /// Whether copies have other keys than the rows.
    fn moves(&self) -> bool {
        !matches!(self.key, NewKey::Same)
    }

    /// The copy of the row with a packed key is taken out.
    fn went(&mut self, key: &[u8], copy: &Image) {
        if let Some(documents) = &mut self.documents {
            documents.went(&self.to, copy);
        }
        if let Some(numbers) = &mut self.numbers {
            numbers.went(&self.to, key, copy);
        }
    }

    /// Where the copy of a row is, if there may be one; from now on there is none.
    fn place_of(&mut self, row: &Logged) -> Result<Option<Vec<u8>>> {
        if !self.moves() {
            return Ok(Some(row.key.clone()));
        }
        if let Some(place) = self.placed.get_mut(&row.key) {
            return Ok(place.take());
        }
        self.note_place(row.key.clone(), None)?;
        if let Some(places) = &self.places {
            return places.find(&row.key);
        }
        let Some(before) = &row.before else { return Ok(None) };
        let mut place = Vec::new();
        for (source, value) in self.to.clustered().sources.iter().zip(before) {
            let (FieldSource::Column { column, prefix_len }, Some(value)) = (source, value) else {
                return Ok(None);
            };
            packed::push(&mut place, Some(cut(&self.to.columns[*column], *prefix_len, value)));
        }
        Ok(Some(place))
    }

    fn note_place(&mut self, key: Vec<u8>, place: Option<Vec<u8>>) -> Result<()> {
        /// What a place costs, besides the keys.
        const EACH: usize = 64;
        self.placed_bytes += (EACH + key.len() + place.as_ref().map_or(0, Vec::len)) as u64;
        self.placed.insert(key, place);
        match self.placed_bytes > core_max(&self.log) {
            true => Err(Error::OnlineLogTooBig(self.from.name.clone())),
            false => Ok(()),
        }
    }

    /// Reads a row of the old table, if its newest version is committed.
    fn read(&self, core: &Core, key: &[u8], values: &mut Values) -> Result<Found> {
        let from = &*self.from;
        let fields: SmallVec<[TupleField<'_>; 4]> = packed::fields(key).collect();
        let view = *self.view.view().ok_or(Error::WrongState("rows are read in a view"))?;
        let tree = &from.clustered().tree;
        let found = tree.lookup(&core.storage, &Tuple::new(&fields), |record| -> Result<Option<Image>> {
            let mut offsets = Offsets::new();
            parse_clustered(from, &record, &mut offsets)?;
            Ok(match seen_by(core, from, &record, &offsets, &view, &mut Image::default())? {
                Seen::Current => Some(Image::of(from, &record, &offsets)),
                Seen::Older | Seen::Nothing => None,
            })
        })?;
        let Some(image) = found.transpose()? else { return Ok(Found::Nothing) };
        let Some(image) = image else { return Ok(Found::NotCommitted) };
        if image.is_deleted() {
            return Ok(Found::Nothing);
        }
        // The view keeps the values off the page, whatever becomes of the row.
        for (column, &i) in from.cluster_fields.iter().enumerate() {
            values.read(column, |buffer| match image.field(i) {
                None => Ok(false),
                Some(local) if image.is_external(i) => {
                    tree.read_value(&core.storage, local, buffer)?;
                    Ok(true)
                }
                Some(value) => {
                    buffer.extend_from_slice(value);
                    Ok(true)
                }
            })?;
        }
        let mut own = Vec::new();
        (0..fields.len()).for_each(|i| packed::push(&mut own, image.field(i)));
        Ok(Found::Row(own, image.row_id().to_vec()))
    }

    /// Copies a row that was read; `false` if another one that waits, too, is in its way.
    fn copy<E: From<Error>>(
        &mut self,
        core: &Core,
        key: &[u8],
        values: &Values,
        row_id: &[u8],
        last: bool,
        convert: &mut dyn ConvertRow<E>,
    ) -> std::result::Result<bool, E> {
        let mut copied = true;
        let new_id;
        let row_id = match self.to.clustered().def().is_generated() {
            // There was none.
            true if !self.from.clustered().def().is_generated() => {
                let mut id = [0; 6];
                put_u48(&mut id, 0, core.next_row_id()?);
                new_id = id;
                &new_id[..]
            }
            true => row_id,
            false => &[],
        };
        let number = self.numbers.as_ref().and_then(|numbers| numbers.offer_again(key));
        if self.numbers.is_some() {
            convert.number(number);
        }
        convert.convert(&values.fields(), &mut |new| {
            if let Some(numbers) = &mut self.numbers {
                numbers.has(&self.to, new);
            }
            let number = self.documents.as_mut().map(Documents::next);
            let mut values: SmallVec<[Field<'_>; 16]> = new.into();
            values.extend(number.iter().map(|number| Some(&number[..])));
            let row = Given { values: &values, row_id };
            match private::duplicate(core, &self.to, &row)? {
                Some(e) if last => return Err(e),
                Some(_) => {
                    copied = false;
                    return Ok(());
                }
                None => private::insert(core, &self.to, &row, &self.stamp)?,
            }
            if self.moves() {
                let n = self.to.clustered().def().n_uniq();
                let mut place = Vec::new();
                packed::push_all(&mut place, &entry(&self.to, self.to.clustered(), &row)[..n]);
                self.note_place(key.to_vec(), Some(place))?;
            }
            Ok(())
        })?;
        if let (Some(numbers), Some(number), false) = (&mut self.numbers, number, copied) {
            numbers.keep(key, number);
        }
        Ok(copied)
    }

    /// The words of the rows that were copied are gathered: copies rows again that others have changed meanwhile. Their words are made of
    /// them when the table is first searched, as after a crash.
    ///
    /// # Errors
    /// As [`Rebuild::fill`].
    pub(crate) fn go_on<E: From<Error>>(
        &mut self,
        core: &Core,
        progress: &Progress,
        convert: &mut dyn ConvertRow<E>,
    ) -> std::result::Result<(), E> {
        // Another object of it since it has the indexes.
        self.to = core.table(&self.to.name)?;
        if let Some(documents) = &mut self.documents {
            documents.listed = documents.last;
        }
        self.catch_up(core, progress, convert)
    }

    /// Copies the rest of what others have changed. Nobody uses the table, and the transaction has it locked. The tables are to change
    /// places next.
    ///
    /// # Errors
    /// As [`Rebuild::fill`].
    pub(crate) fn finish<E: From<Error>>(
        &mut self,
        core: &Core,
        trx: &Trx,
        progress: &Progress,
        convert: &mut dyn ConvertRow<E>,
    ) -> std::result::Result<(), E> {
        if self.log.is_some() {
            progress.enter(Stage::LogTable);
        }
        self.watched = trx.shared().clone();
        self.apply(core, true, convert)?;
        if let Some(documents) = &mut self.documents {
            let gone = std::mem::take(&mut documents.gone);
            if !gone.is_empty() {
                super::fulltext::delete_documents(core, &self.to, &gone)?;
            }
        }
        progress.enter(Stage::Commit);
        let next = self.from.auto_inc.peek().filter(|&next| Some(next) > self.counter);
        let numbered = self.numbers.as_ref().map(|numbers| numbers.next);
        if next.is_some() || numbered.is_some() {
            let mut to = self.to.auto_inc.next.lock();
            *to = (*to).max(next).max(numbered);
        }
        Ok(())
    }

    /// Nothing is logged or read any more. Who gives up drops the new table.
    pub(crate) fn end(mut self, core: &Core) {
        if let Some(log) = &self.log {
            log.log.close();
        }
        let ended = core.txn.commit(&mut self.view);
        debug_assert!(matches!(ended, Ok(None)), "a transaction that only reads was ended: {ended:?}");
    }
}

/// Bytes that may be kept for a log.
fn core_max(log: &Option<Arc<KeyLog>>) -> u64 {
    log.as_ref().map_or(u64::MAX, |log| log.log.max())
}

/// What is found of a row that was logged.
enum Found {
    Nothing,
    NotCommitted,
    /// Its key as it has it, packed: one that collates like that by which it was looked for. DB_ROW_ID, if the table has it first.
    Row(Vec<u8>, Vec<u8>),
}

/// The values of a row, in buffers that are used again.
struct Values {
    buffers: Vec<Vec<u8>>,
    there: Vec<bool>,
}

impl Values {
    fn new(n: usize) -> Values {
        Values { buffers: vec![Vec::new(); n], there: vec![false; n] }
    }

    fn read(&mut self, column: usize, read: impl FnOnce(&mut Vec<u8>) -> Result<bool>) -> Result<()> {
        let buffer = &mut self.buffers[column];
        buffer.clear();
        self.there[column] = read(buffer)?;
        Ok(())
    }

    fn field(&self, column: usize) -> Field<'_> {
        self.there[column].then_some(&self.buffers[column][..])
    }

    fn fields(&self) -> SmallVec<[Field<'_>; 16]> {
        (0..self.buffers.len()).map(|column| self.field(column)).collect()
    }
}

fn duplicate_row(table: &Table, fields: &[TupleField<'_>]) -> Error {
    let index = table.clustered();
    Error::DuplicateKey {
        table: table.name.clone(),
        index: index.name.clone(),
        value: key_text(table, index, fields),
    }
}
