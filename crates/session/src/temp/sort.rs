//! Sorting rows: in memory up to a limit of bytes, then in runs in a temporary file that are merged.
//!
//! As soon as there are [`FAN_IN`] runs of about one size they are merged to one, so the last merge has few of them however
//! many rows there were, and each row is written a few times at most. Rows that come in their order, as those of an index do,
//! are one run.
//!
//! A row has a key, which compares as bytes, and a body. Rows of equal keys stay in the order in which they came. If only
//! the first rows are wanted, no more than these are kept.

use super::SortRoom;
use super::folders::TmpFolders;
use super::spill::{FileRows, io};
use rustix::fs::FallocateFlags;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::sync::Arc;
use vaquita_base::codec::get_u64;
use vaquita_types::SqlResult;

/// Rows that are kept in a heap at most; beyond, sorting all of them costs as little.
const HEAP_MAX: u64 = 100_000;

/// Bytes of rows that are kept in a heap at least, before all are sorted.
const HEAP_BYTES: usize = 16 << 20;

/// Runs that are merged at once: each takes a buffer of 4 KB or more.
const FAN_IN: usize = 256;

/// Sorts rows.
#[derive(Debug)]
pub struct Sorter {
    /// Bytes kept in memory.
    limit: usize,
    folders: Arc<TmpFolders>,
    /// Keys and bodies, one row behind the other.
    bytes: Vec<u8>,
    rows: Vec<Place>,
    runs: Vec<Run>,
    /// The last key of the last run, unless that was made of others.
    last: Option<Vec<u8>>,
    fan_in: usize,
    file: Option<File>,
    /// If only so many rows are wanted.
    first: Option<First>,
    sequence: u64,
    /// Runs that were made of others.
    merges: u64,
    /// Rows that were taken, unless only the first are wanted.
    taken: u64,
    /// Rows went to a file.
    pub spilled: bool,
}

#[derive(Debug, Clone, Copy)]
struct Place {
    /// The first bytes of the key: they decide most comparisons.
    prefix: u128,
    start: usize,
    /// Bytes of the key, and of the body behind it.
    key: u32,
    body: u32,
}

impl Place {
    fn key<'b>(&self, bytes: &'b [u8]) -> &'b [u8] {
        &bytes[self.start..self.start + self.key as usize]
    }

    fn body<'b>(&self, bytes: &'b [u8]) -> &'b [u8] {
        let start = self.start + self.key as usize;
        &bytes[start..start + self.body as usize]
    }
}

#[derive(Debug, Clone, Copy)]
struct Run {
    start: u64,
    end: u64,
    /// How often its rows were merged.
    level: u32,
}

#[derive(Debug)]
struct First {
    n: usize,
    heap: BinaryHeap<Kept>,
    /// Bytes that its rows take.
    bytes: usize,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Kept {
    key: Vec<u8>,
    sequence: u64,
    body: Vec<u8>,
}

/// The first bytes of a key as a number that compares as they do; zeros follow a short one.
#[inline]
fn prefix(key: &[u8]) -> u128 {
    let word = |at: usize| match key.get(at..at + 8) {
        Some(bytes) => get_u64(bytes, 0),
        None => {
            let rest = key.get(at..).unwrap_or_default();
            rest.iter().enumerate().fold(0, |word, (i, &byte)| word | u64::from(byte) << (56 - 8 * i))
        }
    };
    u128::from(word(0)) << 64 | u128::from(word(8))
}

impl Sorter {
    /// With so much room; if `first` is given, only so many rows are wanted.
    pub fn new(room: impl Into<SortRoom>, first: Option<u64>) -> Sorter {
        let SortRoom { memory, folders } = room.into();
        let first = first.filter(|&n| n <= HEAP_MAX);
        Sorter {
            limit: memory.max(32 << 10),
            folders,
            bytes: Vec::new(),
            rows: Vec::new(),
            runs: Vec::new(),
            last: None,
            fan_in: FAN_IN,
            file: None,
            first: first.map(|n| First { n: n as usize, heap: BinaryHeap::new(), bytes: 0 }),
            sequence: 0,
            merges: 0,
            taken: 0,
            spilled: false,
        }
    }

    /// Whether rows may turn out not to be wanted.
    pub fn is_selective(&self) -> bool {
        self.first.is_some()
    }

    /// Whether a row with this key can be among those wanted: its body need not be made otherwise.
    pub fn wants(&self, key: &[u8]) -> bool {
        match &self.first {
            Some(first) if first.heap.len() >= first.n => {
                first.heap.peek().is_some_and(|greatest| key < &greatest.key[..])
            }
            _ => true,
        }
    }

    /// Takes a row, and writes rows to the file if there are too many for the memory. No page may be latched.
    ///
    /// # Errors
    /// The temporary file.
    pub fn push_and_spill(&mut self, key: &[u8], body: &[u8]) -> SqlResult<()> {
        self.push(key, body);
        self.relieve()
    }

    /// Takes a row. Writes nothing: see [`Sorter::is_full`].
    pub fn push(&mut self, key: &[u8], body: &[u8]) {
        if let Some(first) = &mut self.first {
            if first.n == 0 {
                return;
            }
            let mut kept = match first.heap.len() < first.n {
                true => {
                    first.bytes += size_of::<Kept>();
                    Kept { key: Vec::new(), sequence: 0, body: Vec::new() }
                }
                false => match first.heap.pop() {
                    Some(greatest) if key < &greatest.key[..] => {
                        first.bytes -= greatest.key.len() + greatest.body.len();
                        greatest
                    }
                    Some(greatest) => {
                        first.heap.push(greatest);
                        return;
                    }
                    None => return,
                },
            };
            kept.key.clear();
            kept.key.extend_from_slice(key);
            kept.body.clear();
            kept.body.extend_from_slice(body);
            kept.sequence = self.sequence;
            first.bytes += key.len() + body.len();
            self.sequence += 1;
            first.heap.push(kept);
            return;
        }
        self.taken += 1;
        let start = self.bytes.len();
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(body);
        self.rows.push(Place { prefix: prefix(key), start, key: key.len() as u32, body: body.len() as u32 });
    }

    /// Bytes in memory, of rows that may be written to a file.
    fn memory(&self) -> usize {
        self.bytes.len() + self.rows.len() * size_of::<Place>()
    }

    /// Whether there is more in memory than may be: time for [`Sorter::relieve`].
    pub fn is_full(&self) -> bool {
        self.memory() > self.limit || self.heap_is_full()
    }

    fn heap_is_full(&self) -> bool {
        self.first.as_ref().is_some_and(|first| first.bytes > self.limit.max(HEAP_BYTES))
    }

    /// Writes what is in memory to the file if there is too much of it. No page may be latched.
    ///
    /// # Errors
    /// The temporary file.
    pub fn relieve(&mut self) -> SqlResult<()> {
        if self.heap_is_full()
            && let Some(first) = self.first.take()
        {
            // The first rows are too long to stay: all are sorted from now on.
            let mut rows = first.heap.into_vec();
            rows.sort_unstable_by_key(|row| row.sequence);
            rows.iter().for_each(|row| self.push(&row.key, &row.body));
        }
        match self.is_full() {
            true => self.spill(),
            false => Ok(()),
        }
    }

    fn sort(&mut self) {
        let bytes = &self.bytes;
        // Equal keys: the order they came in, which is that of their places.
        self.rows.sort_unstable_by(|a, b| {
            let whole = || a.key(bytes).cmp(b.key(bytes));
            a.prefix.cmp(&b.prefix).then_with(whole).then(a.start.cmp(&b.start))
        });
    }

    /// Writes what is in memory as a sorted run.
    fn spill(&mut self) -> SqlResult<()> {
        self.sort();
        self.spilled = true;
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(self.folders.file().map_err(|e| io(&e))?),
        };
        let mut out = RunWriter::at_end_of(file)?;
        for row in &self.rows {
            out.push(row.key(&self.bytes), row.body(&self.bytes))?;
        }
        let run = out.finish(0)?;
        let key_of = |row: Option<&Place>| row.map(|row| row.key(&self.bytes));
        let follows = self.last.as_deref().is_some_and(|last| key_of(self.rows.first()) >= Some(last));
        let last = key_of(self.rows.last()).map(<[u8]>::to_vec);
        match self.runs.last_mut() {
            Some(before) if follows && before.end == run.start => before.end = run.end,
            _ => self.runs.push(run),
        }
        self.last = last;
        self.bytes.clear();
        self.rows.clear();
        self.merge_some()
    }

    /// Merges the last runs as long as there are enough of one level. They keep their place among the others, so rows of
    /// equal keys stay in their order.
    fn merge_some(&mut self) -> SqlResult<()> {
        while let Some(first) = self.runs.len().checked_sub(self.fan_in)
            && let level = self.runs[first].level
            && self.runs.last().is_some_and(|run| run.level == level)
        {
            let Some(file) = &self.file else { return Ok(()) };
            let merged = self.runs.split_off(first);
            let mut out = RunWriter::at_end_of(file)?;
            merge(file, &merged, self.limit, |key, body| out.push(key, body).map(|()| true))?;
            self.runs.push(out.finish(level + 1)?);
            self.last = None;
            self.merges += 1;
            for run in merged {
                let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
                // Where the file system cannot, the file is larger until it goes.
                let _ = rustix::fs::fallocate(file, hole, run.start, run.end - run.start);
            }
        }
        Ok(())
    }

    /// Rows that there are to give: `Sort_rows`.
    pub fn rows(&self) -> u64 {
        self.first.as_ref().map_or(self.taken, |first| first.heap.len() as u64)
    }

    /// How often rows of a file are merged, the last time by [`Sorter::finish`] included: `Sort_merge_passes`.
    pub fn passes(&self) -> u64 {
        self.merges + u64::from(!self.runs.is_empty())
    }

    /// Calls `each` with key and body of every row in order, until it says `false`.
    ///
    /// # Errors
    /// The temporary file; those of `each`.
    pub fn finish(mut self, mut each: impl FnMut(&[u8], &[u8]) -> SqlResult<bool>) -> SqlResult<()> {
        if let Some(first) = self.first.take() {
            for kept in first.heap.into_sorted_vec() {
                if !each(&kept.key, &kept.body)? {
                    return Ok(());
                }
            }
            return Ok(());
        }
        if self.runs.is_empty() {
            self.sort();
            for row in &self.rows {
                if !each(row.key(&self.bytes), row.body(&self.bytes))? {
                    return Ok(());
                }
            }
            return Ok(());
        }
        if !self.rows.is_empty() {
            self.spill()?;
        }
        match &self.file {
            Some(file) => merge(file, &self.runs, self.limit, each),
            None => Ok(()),
        }
    }
}

/// Calls `each` with the rows of runs in order, until it says `false`.
fn merge(
    file: &File,
    runs: &[Run],
    limit: usize,
    mut each: impl FnMut(&[u8], &[u8]) -> SqlResult<bool>,
) -> SqlResult<()> {
    let buffer = (limit / runs.len().max(1)).clamp(4 << 10, 256 << 10);
    let mut heads = Vec::with_capacity(runs.len());
    for run in runs {
        let mut rows = FileRows::new(file, run.start, run.end, buffer);
        if rows.advance()? {
            heads.push(rows);
        }
    }
    let mut merging = Merging::new(heads);
    while let Some(least) = merging.least() {
        if !each(least.key(), least.body())? {
            return Ok(());
        }
        merging.advance()?;
    }
    Ok(())
}

/// Writes a run at the end of the file.
struct RunWriter<'f> {
    out: BufWriter<&'f File>,
    start: u64,
    len: u64,
}

impl<'f> RunWriter<'f> {
    fn at_end_of(mut file: &'f File) -> SqlResult<RunWriter<'f>> {
        let start = file.seek(SeekFrom::End(0)).map_err(|e| io(&e))?;
        Ok(RunWriter { out: BufWriter::with_capacity(256 << 10, file), start, len: 0 })
    }

    fn push(&mut self, key: &[u8], body: &[u8]) -> SqlResult<()> {
        let out = &mut self.out;
        let mut write = || {
            out.write_all(&(key.len() as u32).to_le_bytes())?;
            out.write_all(&(body.len() as u32).to_le_bytes())?;
            out.write_all(key)?;
            out.write_all(body)
        };
        write().map_err(|e| io(&e))?;
        self.len += 8 + key.len() as u64 + body.len() as u64;
        Ok(())
    }

    fn finish(mut self, level: u32) -> SqlResult<Run> {
        self.out.flush().map_err(|e| io(&e))?;
        Ok(Run { start: self.start, end: self.start + self.len, level })
    }
}

/// Runs with their next rows in a tree of losers (Knuth, The Art of Computer Programming 3, 5.4.1): who has the least key is found
/// with one comparison for each level. Of equal keys the one of the earliest run is less.
struct Merging<'f> {
    runs: Vec<FileRows<'f>>,
    /// The first bytes of each run's key; none if it is at its end.
    prefixes: Vec<Option<u128>>,
    /// The number of runs that took part in this comparison and lost; the winner of all at 0. Run r is the leaf `runs.len() + r`.
    losers: Vec<usize>,
}

impl<'f> Merging<'f> {
    /// Of runs that are at their first rows.
    fn new(runs: Vec<FileRows<'f>>) -> Merging<'f> {
        let n = runs.len();
        let prefixes = runs.iter().map(|run| Some(prefix(run.key()))).collect();
        let mut merging = Merging { runs, prefixes, losers: vec![0; n] };
        // The winners of all comparisons, from the leaves on.
        let mut winners: Vec<usize> = (0..n).chain(0..n).collect();
        for at in (1..n).rev() {
            let (a, b) = (winners[2 * at], winners[2 * at + 1]);
            let (less, greater) = if merging.is_less(a, b) { (a, b) } else { (b, a) };
            (winners[at], merging.losers[at]) = (less, greater);
        }
        if n > 0 {
            merging.losers[0] = winners[usize::from(n > 1)];
        }
        merging
    }

    /// Whether the next row of run `a` comes before that of run `b`.
    #[inline]
    fn is_less(&self, a: usize, b: usize) -> bool {
        match (self.prefixes[a], self.prefixes[b]) {
            (Some(x), Some(y)) if x != y => x < y,
            (Some(_), Some(_)) => (self.runs[a].key(), a) < (self.runs[b].key(), b),
            (x, _) => x.is_some(),
        }
    }

    /// The run with the least row, unless all are at their ends.
    fn least(&self) -> Option<&FileRows<'f>> {
        let &least = self.losers.first()?;
        self.prefixes[least].map(|_| &self.runs[least])
    }

    /// Goes on behind the least row.
    fn advance(&mut self) -> SqlResult<()> {
        let mut winner = self.losers[0];
        let run = &mut self.runs[winner];
        self.prefixes[winner] = run.advance()?.then(|| prefix(run.key()));
        let mut at = (self.runs.len() + winner) / 2;
        while at > 0 {
            let other = self.losers[at];
            if self.is_less(other, winner) {
                self.losers[at] = winner;
                winner = other;
            }
            at /= 2;
        }
        self.losers[0] = winner;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vaquita_base::codec::{push_u32, push_uint};

    #[test]
    fn the_first_of_long_rows_go_to_a_file() {
        let mut sorter = Sorter::new(1 << 20, Some(2_000));
        let row = |n: u32| [&n.to_le_bytes()[..], &[7; 20_000]].concat();
        for n in (0..5_000_u32).rev() {
            // Pairs of equal keys: the one that came first stands first.
            let mut key = Vec::new();
            push_u32(&mut key, n / 2);
            if sorter.wants(&key) {
                sorter.push_and_spill(&key, &row(n)).unwrap();
            }
        }
        assert!(sorter.spilled, "2000 rows of 20 KB");
        let mut next = 0;
        sorter
            .finish(|_, body| {
                assert_eq!(body, row(next ^ 1), "{next}");
                next += 1;
                Ok(next < 2_000)
            })
            .unwrap();
        assert_eq!(next, 2_000);
    }

    type KeyAndBody = (Vec<u8>, Vec<u8>);

    fn sorted(limit: usize, first: Option<u64>) -> (Vec<KeyAndBody>, bool) {
        let mut sorter = Sorter::new(limit, first);
        let mut x = 12345u32;
        for i in 0..20_000u32 {
            x = x.wrapping_mul(1_103_515_245).wrapping_add(12_345);
            let key = [(x >> 24) as u8, (x >> 16) as u8];
            sorter.push_and_spill(&key, &i.to_le_bytes()).unwrap();
            assert!(sorter.memory() <= sorter.limit);
        }
        let spilled = sorter.spilled;
        let mut out = Vec::new();
        sorter
            .finish(|key, body| {
                out.push((key.to_vec(), body.to_vec()));
                Ok(true)
            })
            .unwrap();
        (out, spilled)
    }

    #[test]
    fn keys_of_all_lengths_compare_as_bytes() {
        let mut keys: Vec<Vec<u8>> = Vec::new();
        for len in 0..20 {
            for last in [0, 1, 0x7F, 0xFF] {
                let mut key = vec![0; len];
                keys.push(key.clone());
                key.push(last);
                keys.push(key);
                keys.push(vec![last; len]);
            }
        }
        let mut sorter = Sorter::new(1 << 20, None);
        keys.iter().rev().for_each(|key| sorter.push(key, b""));
        let mut out = Vec::new();
        sorter
            .finish(|key, _| {
                out.push(key.to_vec());
                Ok(true)
            })
            .unwrap();
        keys.sort();
        assert_eq!(out, keys);
    }

    #[test]
    fn few_runs_are_left_to_be_merged() {
        let mut sorter = Sorter::new(0, None);
        sorter.fan_in = 3;
        let mut rows = Vec::new();
        for i in 0..40_000_u32 {
            let (mut key, mut body) = (Vec::new(), Vec::new());
            push_uint(&mut key, 4, (i.wrapping_mul(2_654_435_761) >> 20).into());
            push_uint(&mut body, 4, i.into());
            sorter.push_and_spill(&key, &body).unwrap();
            rows.push((key, body));
            assert!(sorter.runs.len() < 15, "{:?}", sorter.runs);
        }
        assert!(sorter.runs.iter().any(|run| run.level >= 3), "{:?}", sorter.runs);
        let mut out = Vec::new();
        sorter
            .finish(|key, body| {
                out.push((key.to_vec(), body.to_vec()));
                Ok(true)
            })
            .unwrap();
        rows.sort();
        assert!(out == rows);
    }

    #[test]
    fn rows_that_come_in_order_are_one_run() {
        let mut sorter = Sorter::new(0, None);
        // Twice the same rows, each of them twice: two runs, and the earlier of equal rows first.
        for i in 0..80_000_u32 {
            let (key, body) = (format!("{:05}", i % 40_000 / 2), format!("{i:05}"));
            sorter.push_and_spill(key.as_bytes(), body.as_bytes()).unwrap();
        }
        assert!(sorter.spilled);
        // One that has begun before the second half came, and has rows of it, may stand between them.
        assert!(sorter.runs.len() <= 3, "{:?}", sorter.runs);
        let mut out: Vec<KeyAndBody> = Vec::new();
        sorter
            .finish(|key, body| {
                out.push((key.to_vec(), body.to_vec()));
                Ok(true)
            })
            .unwrap();
        assert_eq!(out.len(), 80_000);
        assert!(out.windows(2).all(|w| w[0] < w[1]), "by key, then as they came");
    }

    #[test]
    fn rows_in_a_file_come_out_as_rows_in_memory() {
        let (memory, no) = sorted(usize::MAX / 2, None);
        let (file, yes) = sorted(64 << 10, None);
        assert!(!no && yes);
        assert_eq!(memory.len(), 20_000);
        let order = |row: &(Vec<u8>, Vec<u8>)| {
            (row.0.clone(), u32::from_le_bytes([row.1[0], row.1[1], row.1[2], row.1[3]]))
        };
        assert!(memory.windows(2).all(|w| order(&w[0]) < order(&w[1])));
        assert!(memory == file);
        let (some, _) = sorted(64 << 10, Some(50));
        assert!(some == memory[..50]);
    }
}
