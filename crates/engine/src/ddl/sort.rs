//! Sorting the entries of an index to be built: runs sorted in memory, kept in temporary files when they do not fit, then
//! merged, [`FAN_IN`] at a time, into longer ones until one merge gives the whole.
//!
//! Several threads may have a sorter each for one index; what they have is merged together.
//!
//! An entry is its fields as [`packed`] has them; in memory and in a file the length of it all precedes it. In a file the
//! checksum of both follows: what is read there is not believed. Entries are compared by the starts of their keys, and whole only
//! where these are equal.
//!
//! # Crash
//! Temporary files are left behind; the next opening removes them.

use crate::error::Result;
use crate::online::packed::{self, LEN, compare, entry_at};
use crate::online::temp_file::{TempFile, io};
use crate::progress::{Progress, Stage};
use smallvec::SmallVec;
use std::sync::Arc;
use vaquita_base::checksum::crc32c;
use vaquita_base::codec::{get_u32, push_u32};
use vaquita_format::index_def::IndexDef;
use vaquita_format::record::KeyStart;
use vaquita_format::tuple::TupleField;
use vaquita_storage::Storage;

/// Bytes written to a run at a time.
const WRITE: usize = 64 << 10;
/// Bytes read from a run at a time: what a sorter may have, shared by the runs, but no less and no more than this.
const READ: std::ops::RangeInclusive<usize> = 16 << 10..=128 << 10;
/// Runs merged at once: their buffers take no less than 2 MB.
const FAN_IN: usize = 128;
/// Bytes of its checksum.
const SUM: usize = 4;

/// Sorts the entries of one index.
#[derive(Debug)]
pub(super) struct Sorter<'s> {
    storage: &'s Storage,
    def: Arc<IndexDef>,
    /// Which of the sorters of the index it is.
    part: usize,
    limit: usize,
    bytes: Vec<u8>,
    /// Where the entries are in it.
    places: Vec<Place>,
    scratch: Vec<u8>,
    runs: Vec<Run>,
    /// Runs made so far, which number their files.
    made: usize,
    /// Those of sorters that were joined to it.
    made_by_others: usize,
    fan_in: usize,
}

/// An entry in memory.
#[derive(Debug, Clone, Copy)]
struct Place {
    key: KeyStart,
    at: usize,
}

impl<'s> Sorter<'s> {
    /// A sorter that keeps about `limit` bytes in memory.
    pub(super) fn new(storage: &'s Storage, def: Arc<IndexDef>, part: usize, limit: usize) -> Self {
        Self {
            storage,
            def,
            part,
            limit,
            bytes: Vec::new(),
            places: Vec::new(),
            scratch: Vec::new(),
            runs: Vec::new(),
            made: 0,
            made_by_others: 0,
            fan_in: FAN_IN,
        }
    }

    /// Adds an entry; whether there is so much in memory that [`Sorter::make_room`] is due.
    pub(super) fn push(&mut self, fields: &[TupleField<'_>]) -> bool {
        debug_assert_eq!(
            fields.len(),
            self.def.n_fields(),
            "an entry has all fields of index {}",
            self.def.name()
        );
        let start = self.bytes.len();
        packed::push_entry(&mut self.bytes, fields);
        let key = KeyStart::of(&self.def, fields.iter().copied(), &mut self.scratch);
        self.places.push(Place { key, at: start });
        self.is_full()
    }

    fn is_full(&self) -> bool {
        self.bytes.len() + self.places.len() * size_of::<Place>() >= self.limit
    }

    /// Writes what is in memory to a file, if it is as much as may be there.
    ///
    /// # Errors
    /// Of the file.
    pub(super) fn make_room(&mut self) -> Result<()> {
        if self.is_full() { self.write_run() } else { Ok(()) }
    }

    /// The entries of several sorters of one index.
    ///
    /// # Errors
    /// Of the files.
    pub(super) fn joined(sorters: Vec<Sorter<'s>>) -> Result<Option<Sorter<'s>>> {
        let mut sorters = sorters.into_iter();
        let Some(mut all) = sorters.next() else { return Ok(None) };
        for mut other in sorters.filter(|sorter| !sorter.places.is_empty() || !sorter.runs.is_empty()) {
            if other.runs.is_empty() && all.bytes.len() + other.bytes.len() <= all.limit {
                let from = all.bytes.len();
                all.bytes.append(&mut other.bytes);
                all.places.extend(other.places.drain(..).map(|place| Place { at: from + place.at, ..place }));
                continue;
            }
            if !other.places.is_empty() {
                other.write_run()?;
            }
            all.runs.append(&mut other.runs);
            all.made_by_others += other.made;
        }
        Ok(Some(all))
    }

    /// Temporary files made so far.
    pub(super) fn files(&self) -> u64 {
        (self.made + self.made_by_others) as u64
    }

    fn sort(&mut self) {
        let (bytes, def) = (&self.bytes, &*self.def);
        let entry = |place: &Place| entry_at(bytes, place.at);
        self.places.sort_unstable_by(|a, b| a.key.cmp(&b.key).then_with(|| compare(def, entry(a), entry(b))));
    }

    /// An empty run in a new file.
    fn new_run(&mut self) -> Result<Run> {
        let name = format!("sort-{:x}-{}-{}", self.def.id().get(), self.part, self.made);
        self.made += 1;
        Ok(Run::new(TempFile::create(self.storage, &name)?))
    }

    fn write_run(&mut self) -> Result<()> {
        self.sort();
        let mut run = self.new_run()?;
        run.buffer = std::mem::take(&mut self.scratch);
        run.buffer.clear();
        for &Place { at, .. } in &self.places {
            run.push(&self.bytes[at..at + LEN + entry_at(&self.bytes, at).len()])?;
        }
        self.scratch = run.end()?;
        self.runs.push(run);
        self.bytes.clear();
        self.places.clear();
        Ok(())
    }

    /// Calls `each` for all entries in order, and `check` before every step of the way there: a stage of the work, and the one in
    /// which `each` makes something of them.
    ///
    /// # Errors
    /// Those of the two; of the files.
    pub(super) fn finish(
        mut self,
        progress: &Progress,
        check: impl Fn() -> Result<()>,
        mut each: impl FnMut(&[TupleField<'_>]) -> Result<()>,
    ) -> Result<()> {
        let mut each = |entry: &[u8]| {
            check()?;
            let fields: SmallVec<[TupleField<'_>; 8]> = packed::fields(entry).collect();
            each(&fields)
        };
        progress.enter(Stage::Sort);
        if self.runs.is_empty() {
            self.sort();
            progress.enter(Stage::Load);
            return self.places.iter().try_for_each(|place| each(entry_at(&self.bytes, place.at)));
        }
        if !self.places.is_empty() {
            self.write_run()?;
        }
        // Its memory is for what is read of the runs.
        (self.bytes, self.places) = Default::default();
        while self.runs.len() > self.fan_in {
            // The oldest ones: a run is merged again only when all others have been.
            let runs: Vec<Run> = self.runs.drain(..self.fan_in).collect();
            let mut merged = self.new_run()?;
            Merge::new(&self.def, runs, self.limit)?.each(|run| {
                check()?;
                merged.push(run.whole_entry())
            })?;
            drop(merged.end()?);
            self.runs.push(merged);
        }
        let runs = std::mem::take(&mut self.runs);
        let last = Merge::new(&self.def, runs, self.limit)?;
        progress.enter(Stage::Load);
        last.each(|run| each(run.entry()))
    }
}

/// Runs being merged: a heap of those that have an entry, by their entries.
struct Merge<'d> {
    def: &'d IndexDef,
    runs: Vec<Run>,
    /// Starts of the keys of the runs' entries, and numbers of the runs; none is below its parent.
    heap: Vec<(KeyStart, usize)>,
    scratch: Vec<u8>,
}

impl<'d> Merge<'d> {
    /// Runs to be merged with so many bytes of memory for what is read of them.
    fn new(def: &'d IndexDef, mut runs: Vec<Run>, memory: usize) -> Result<Merge<'d>> {
        let read = (memory / runs.len().max(1)).clamp(*READ.start(), *READ.end());
        for run in &mut runs {
            run.chunk = read;
            run.advance()?;
        }
        let mut merge = Merge { def, runs, heap: Vec::new(), scratch: Vec::new() };
        for n in 0..merge.runs.len() {
            if merge.runs[n].has_entry {
                let key = merge.key_of(n);
                merge.heap.push((key, n));
            }
        }
        (0..merge.heap.len() / 2).rev().for_each(|at| merge.sink(at));
        Ok(merge)
    }

    /// The start of the key of a run's entry.
    fn key_of(&mut self, run: usize) -> KeyStart {
        KeyStart::of(self.def, packed::fields(self.runs[run].entry()), &mut self.scratch)
    }

    /// Calls `each` for the run with the least entry until none has one.
    fn each(mut self, mut each: impl FnMut(&Run) -> Result<()>) -> Result<()> {
        while let Some(&(_, least)) = self.heap.first() {
            each(&self.runs[least])?;
            self.runs[least].advance()?;
            if self.runs[least].has_entry {
                self.heap[0].0 = self.key_of(least);
            } else {
                self.heap.swap_remove(0);
            }
            self.sink(0);
        }
        Ok(())
    }

    /// Moves what stands at a place down to where it belongs.
    fn sink(&mut self, mut at: usize) {
        loop {
            let left = 2 * at + 1;
            if left >= self.heap.len() {
                return;
            }
            let right = left + 1;
            let child = if right < self.heap.len() && self.is_below(right, left) { right } else { left };
            if !self.is_below(child, at) {
                return;
            }
            self.heap.swap(at, child);
            at = child;
        }
    }

    fn is_below(&self, a: usize, b: usize) -> bool {
        let ((key_a, a), (key_b, b)) = (self.heap[a], self.heap[b]);
        let whole = || compare(self.def, self.runs[a].entry(), self.runs[b].entry());
        key_a.cmp(&key_b).then_with(whole).is_lt()
    }
}

/// A sorted run in a temporary file, and where it is being read.
#[derive(Debug)]
struct Run {
    file: TempFile,
    len: u64,
    /// Bytes read into the buffer so far.
    read: u64,
    /// Bytes to be read at a time.
    chunk: usize,
    buffer: Vec<u8>,
    at: usize,
    has_entry: bool,
}

impl Run {
    fn new(file: TempFile) -> Run {
        Run { file, len: 0, read: 0, chunk: 0, buffer: Vec::new(), at: 0, has_entry: false }
    }

    /// Adds an entry with its length.
    fn push(&mut self, entry: &[u8]) -> Result<()> {
        debug_assert_eq!(self.read, 0, "a run is added to that is being read: {}", self.file.path.display());
        self.buffer.extend_from_slice(entry);
        push_u32(&mut self.buffer, crc32c(entry));
        if self.buffer.len() >= WRITE { self.write_out() } else { Ok(()) }
    }

    fn write_out(&mut self) -> Result<()> {
        self.file.file.write_at(&self.buffer, self.len).map_err(io)?;
        self.len += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// All entries were added. Gives its memory back until it is read.
    fn end(&mut self) -> Result<Vec<u8>> {
        self.write_out()?;
        Ok(std::mem::take(&mut self.buffer))
    }

    fn entry(&self) -> &[u8] {
        entry_at(&self.buffer, self.at)
    }

    /// The entry with its length.
    fn whole_entry(&self) -> &[u8] {
        &self.buffer[self.at..self.at + LEN + self.entry().len()]
    }

    /// Goes to the next entry, the first one at first.
    ///
    /// # Errors
    /// Of the file; [`Error::Corrupt`] if what was written there is not what is read.
    fn advance(&mut self) -> Result<()> {
        if self.has_entry {
            self.at += LEN + self.entry().len() + SUM;
        }
        self.has_entry = self.read < self.len || self.at < self.buffer.len();
        if self.has_entry {
            self.fill(LEN)?;
            let len = get_u32(&self.buffer, self.at) as usize;
            self.fill((LEN + SUM).saturating_add(len))?;
            if get_u32(&self.buffer, self.at + LEN + len) != crc32c(self.whole_entry()) {
                return Err(self.file.damaged());
            }
        }
        Ok(())
    }

    /// Sees to it that `n` bytes are in the buffer.
    fn fill(&mut self, n: usize) -> Result<()> {
        if self.buffer.len() - self.at >= n {
            return Ok(());
        }
        self.buffer.drain(..self.at);
        self.at = 0;
        let more = (self.len - self.read).min(self.chunk.max(n) as u64) as usize;
        let old = self.buffer.len();
        self.buffer.resize(old + more, 0);
        self.file.file.read_at(&mut self.buffer[old..], self.read).map_err(io)?;
        self.read += more as u64;
        if self.buffer.len() >= n { Ok(()) } else { Err(self.file.damaged()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::online::temp_file::storage_on as open;
    use std::cell::Cell;
    use vaquita_base::{IndexId, ManualClock, Rng};
    use vaquita_format::PageSize;
    use vaquita_format::column::ColumnDef;
    use vaquita_format::index_def::{IndexSpec, RowFormat};
    use vaquita_io::sim::SimDisk;

    fn progress() -> Progress {
        Progress::new(Arc::new(ManualClock::new()))
    }

    fn def() -> Arc<IndexDef> {
        let spec = IndexSpec {
            id: IndexId(20),
            name: "i".into(),
            row_format: RowFormat::Dynamic,
            page_size: PageSize::DEFAULT,
        };
        let columns = vec![ColumnDef::varbinary("a", 400), ColumnDef::int("b", 4, true).not_null()];
        Arc::new(IndexDef::plain(spec, columns, 2).unwrap())
    }

    /// A sorter with a number of entries, each in a run of its own.
    fn sorter(storage: &Storage, entries: u32, fan_in: usize) -> Sorter<'_> {
        let mut sorter = Sorter::new(storage, def(), 0, 1);
        sorter.fan_in = fan_in;
        for i in (0..entries).rev() {
            let mut number = Vec::new();
            push_u32(&mut number, i);
            sorter.push(&[TupleField::new(b"a"), TupleField::new(&number)]);
            sorter.make_room().unwrap();
        }
        sorter
    }

    /// Whoever sorts is asked in every merge, and leaves no file wherever it is ended.
    #[test]
    fn a_sort_is_ended_at_any_step() {
        let disk = SimDisk::new(1);
        let storage = open(&disk);
        let files = disk.files().len();
        let steps = |stop_at: usize| {
            let (asked, given) = (Cell::new(0), Cell::new(0));
            let check = || {
                asked.set(asked.get() + 1);
                if asked.get() == stop_at { Err(Error::Interrupted) } else { Ok(()) }
            };
            let done = sorter(&storage, 20, 3).finish(&progress(), check, |_| {
                given.set(given.get() + 1);
                Ok(())
            });
            assert_eq!(disk.files().len(), files);
            (done, asked.get(), given.get())
        };
        let (done, asked, given) = steps(usize::MAX);
        assert!(done.is_ok() && given == 20 && asked > 40, "{asked} steps");
        for stop_at in 1..=asked {
            let (done, stopped, given) = steps(stop_at);
            assert!(matches!(done, Err(Error::Interrupted)), "{stop_at}: {done:?}");
            assert!(stopped == stop_at && given < 20);
        }
    }

    /// What is read of a temporary file is not believed: any byte of it may be another one.
    #[test]
    fn damaged_runs_are_told() {
        let disk = SimDisk::new(1);
        let storage = open(&disk);
        let mut told = 0;
        let len = sorter(&storage, 3, 2).runs[1].len;
        for at in 0..len {
            for flip in [1, 0x80, 0xff] {
                let sorter = sorter(&storage, 3, 2);
                let file = sorter.runs[1].file.file.clone();
                let mut byte = [0];
                file.read_at(&mut byte, at).unwrap();
                file.write_at(&[byte[0] ^ flip], at).unwrap();
                let done = sorter.finish(&progress(), || Ok(()), |_| Ok(()));
                assert!(matches!(done, Err(Error::Corrupt(_))), "{flip:#x} at {at}: {done:?}");
                told += 1;
            }
        }
        assert!(told > 60, "{told}");
        let sorter = sorter(&storage, 3, 2);
        sorter.runs[1].file.file.set_len(len - 1).unwrap();
        assert!(sorter.finish(&progress(), || Ok(()), |_| Ok(())).is_err());
    }

    /// However many runs there are, what comes out is what went in, in order; no file is left.
    #[test]
    fn runs_of_any_size_are_merged() {
        let disk = SimDisk::new(1);
        let storage = open(&disk);
        let def = def();
        let files = disk.files().len();
        let cases = [(1 << 20, 1_000), (20_000, 3_000), (400, 200), (1, 30), (100, 0)];
        for ((limit, n), fan_in) in cases.into_iter().flat_map(|c| [(c, FAN_IN), (c, 2), (c, 5)]) {
            let mut rng = Rng::new(limit as u64);
            let mut sorters: Vec<Sorter<'_>> =
                (0..1 + fan_in % 3).map(|part| Sorter::new(&storage, def.clone(), part, limit)).collect();
            sorters.iter_mut().for_each(|sorter| sorter.fan_in = fan_in);
            let mut want = Vec::new();
            for i in 0..n {
                let a = (!rng.one_in(5)).then(|| vec![rng.below(4) as u8; rng.index(300)]);
                let mut b = Vec::new();
                push_u32(&mut b, i);
                let at = rng.index(sorters.len());
                let sorter = &mut sorters[at];
                if sorter.push(&[TupleField::nullable(a.as_deref()), TupleField::new(&b)]) {
                    sorter.make_room().unwrap();
                }
                want.push((a, b));
            }
            want.sort();
            let mut got = Vec::new();
            let sorter = Sorter::joined(sorters).unwrap().unwrap();
            sorter
                .finish(
                    &progress(),
                    || Ok(()),
                    |f| {
                        got.push((f[0].data.map(<[u8]>::to_vec), f[1].data.unwrap().to_vec()));
                        Ok(())
                    },
                )
                .unwrap();
            assert!(got == want, "{limit}");
            assert_eq!(disk.files().len(), files);
        }
    }
}
