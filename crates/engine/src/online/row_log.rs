//! A log of changes of rows, which many threads append to and one reads: while it is read more may come.
//!
//! Records go into a block in memory; a block that is full goes to a slot of a temporary file, from where the reader fetches
//! it, oldest first, and the slot is free again. So the file is never longer than what has not been read yet, which has a
//! limit: `innodb_online_alter_log_max_size`.
//!
//! Who appends cannot fail. What is wrong, the limit reached or a file that cannot be written, the reader is told; from then
//! on nothing is kept any more. The same when nobody is going to read it ([`RowLog::close`]).
//!
//! # Latching
//! One mutex, a leaf, under which a block may be written. Who appends holds no page.

use super::packed::LEN;
use super::temp_file::{TempFile, io};
use crate::core::Core;
use crate::error::{Error, Result};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use vaquita_base::checksum::crc32c;
use vaquita_base::codec::{get_u32, push_u32};
use vaquita_storage::Storage;
use vaquita_storage::buf::assert_no_page_latched;

/// A block that was written to the file.
#[derive(Debug, Clone, Copy)]
struct Written {
    slot: u64,
    sum: u32,
}

/// Why a log keeps nothing any more.
#[derive(Debug, Clone)]
enum Closed {
    /// What has not been read outgrew the limit.
    TooBig,
    Failed(Error),
    /// Nobody reads it.
    Unread,
}

#[derive(Debug, Default)]
struct State {
    /// The block being filled.
    tail: Vec<u8>,
    /// Full ones, the oldest first.
    written: VecDeque<Written>,
    file: Option<Arc<TempFile>>,
    /// Slots of the file that hold nothing.
    free: Vec<u64>,
    /// Slots there are.
    slots: u64,
    closed: Option<Closed>,
}

/// A log of changes.
#[derive(Debug)]
pub(crate) struct RowLog {
    storage: Arc<Storage>,
    /// Names its file.
    name: String,
    /// Bytes of a block.
    block: usize,
    /// Bytes that may wait to be read.
    max: u64,
    state: Mutex<State>,
    /// Records appended.
    records: AtomicU64,
    /// One record in so many is lost: a deliberate bug for tests of tests.
    #[cfg(feature = "canary")]
    skip_one_in: u64,
}

impl RowLog {
    /// An empty one, with a name for its file.
    pub(crate) fn new(core: &Core, name: String) -> RowLog {
        let (block, max) = core.log_sizes();
        RowLog {
            #[cfg(feature = "canary")]
            skip_one_in: core.canary.skip_one_log_record_in.load(Ordering::Relaxed),
            ..RowLog::of_sizes(core.storage.clone(), name, block, max)
        }
    }

    fn of_sizes(storage: Arc<Storage>, name: String, block: usize, max: u64) -> RowLog {
        RowLog {
            storage,
            name,
            block,
            max,
            state: Mutex::default(),
            records: AtomicU64::new(0),
            #[cfg(feature = "canary")]
            skip_one_in: 0,
        }
    }

    /// Bytes that may wait to be read.
    pub(crate) fn max(&self) -> u64 {
        self.max
    }

    /// Records appended so far.
    pub(crate) fn records(&self) -> u64 {
        self.records.load(Ordering::Relaxed)
    }

    /// Appends a record.
    pub(crate) fn append(&self, record: &[u8]) {
        assert_no_page_latched("a change of a row is logged");
        let before = self.records.fetch_add(1, Ordering::Relaxed);
        if self.loses(before) {
            return;
        }
        let mut state = self.state.lock();
        if state.closed.is_some() {
            return;
        }
        let waiting = state.written.len() as u64 * self.block as u64 + state.tail.len() as u64;
        if waiting + (LEN + record.len()) as u64 > self.max {
            state.close(Closed::TooBig);
            return;
        }
        push_u32(&mut state.tail, record.len() as u32);
        state.tail.extend_from_slice(record);
        while state.tail.len() >= self.block && state.closed.is_none() {
            if let Err(e) = self.write_block(&mut state) {
                state.close(Closed::Failed(e));
            }
        }
    }

    #[cfg(feature = "canary")]
    fn loses(&self, record: u64) -> bool {
        self.skip_one_in > 0 && (record + 1).is_multiple_of(self.skip_one_in)
    }

    #[cfg(not(feature = "canary"))]
    fn loses(&self, _: u64) -> bool {
        false
    }

    fn write_block(&self, state: &mut State) -> Result<()> {
        if state.file.is_none() {
            state.file = Some(Arc::new(TempFile::create(&self.storage, &self.name)?));
        }
        let slot = state.free.pop().unwrap_or_else(|| {
            state.slots += 1;
            state.slots - 1
        });
        let block = &state.tail[..self.block];
        let file = state.file.as_ref().expect("made above");
        file.file.write_at(block, slot * self.block as u64).map_err(io)?;
        state.written.push_back(Written { slot, sum: crc32c(block) });
        state.tail.drain(..self.block);
        Ok(())
    }

    /// Keeps nothing any more: what was logged is not wanted.
    pub(crate) fn close(&self) {
        let mut state = self.state.lock();
        if state.closed.is_none() {
            state.close(Closed::Unread);
        }
    }

    /// Bytes that wait to be read.
    fn waiting(&self) -> u64 {
        let state = self.state.lock();
        state.written.len() as u64 * self.block as u64 + state.tail.len() as u64
    }

    /// Appends the oldest bytes that wait to `out`; whether there were any.
    fn fetch(&self, index: &str, out: &mut Vec<u8>) -> Result<bool> {
        let (file, block) = {
            let mut state = self.state.lock();
            match &state.closed {
                Some(Closed::TooBig) => return Err(Error::OnlineLogTooBig(index.to_owned())),
                Some(Closed::Failed(e)) => return Err(e.clone()),
                Some(Closed::Unread) => return Ok(false),
                None => {}
            }
            match (state.written.pop_front(), &state.file) {
                (Some(block), Some(file)) => (file.clone(), block),
                _ => {
                    let any = !state.tail.is_empty();
                    out.extend_from_slice(&state.tail);
                    state.tail.clear();
                    return Ok(any);
                }
            }
        };
        let start = out.len();
        out.resize(start + self.block, 0);
        file.file.read_at(&mut out[start..], block.slot * self.block as u64).map_err(io)?;
        if crc32c(&out[start..]) != block.sum {
            return Err(file.damaged());
        }
        self.state.lock().free.push(block.slot);
        Ok(true)
    }
}

impl State {
    fn close(&mut self, why: Closed) {
        *self = State { closed: Some(why), ..State::default() };
    }
}

/// Reads a log, record by record, from its beginning.
#[derive(Debug, Default)]
pub(crate) struct LogReader {
    bytes: Vec<u8>,
    at: usize,
}

impl LogReader {
    /// Gives the records that are there to `each`; those that come meanwhile are left, but for some.
    ///
    /// # Errors
    /// [`Error::OnlineLogTooBig`], with the name of the index; errors of the file; those of `each`.
    pub(crate) fn catch_up<E: From<Error>>(
        &mut self,
        log: &RowLog,
        index: &str,
        mut each: impl FnMut(&[u8]) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let mut left = log.waiting();
        loop {
            self.bytes.drain(..self.at);
            self.at = 0;
            let before = self.bytes.len();
            // Also when nothing waits: what made the log keep nothing is to be told.
            let any = log.fetch(index, &mut self.bytes)?;
            let fetched = (self.bytes.len() - before) as u64;
            while let Some(end) = self.end_of_next() {
                let start = std::mem::replace(&mut self.at, end) + LEN;
                each(&self.bytes[start..end])?;
            }
            left = left.saturating_sub(fetched);
            if !any || left == 0 {
                return Ok(());
            }
        }
    }

    /// Gives all records that are there to `each`: nobody appends any more.
    ///
    /// # Errors
    /// As [`LogReader::catch_up`].
    pub(crate) fn finish<E: From<Error>>(
        &mut self,
        log: &RowLog,
        index: &str,
        each: impl FnMut(&[u8]) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        self.catch_up(log, index, each)?;
        debug_assert!(
            self.at == self.bytes.len() && log.waiting() == 0,
            "something is left of the log of {index}, to which nobody appends"
        );
        Ok(())
    }

    /// Where the next record ends, if all of it is there.
    fn end_of_next(&self) -> Option<usize> {
        let rest = &self.bytes[self.at..];
        if rest.len() < LEN {
            return None;
        }
        let len = LEN + get_u32(rest, 0) as usize;
        (rest.len() >= len).then_some(self.at + len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::online::temp_file::storage_on as open;
    use vaquita_base::Rng;
    use vaquita_io::sim::{Fault, Injection, SimDisk};

    fn record(rng: &mut Rng, n: u32) -> Vec<u8> {
        let mut record = vec![0; rng.index(300)];
        rng.fill(&mut record);
        push_u32(&mut record, n);
        record
    }

    /// What is read is what was appended, however reading and appending take turns; the file is used again, and goes.
    #[test]
    fn what_is_read_is_what_was_appended() {
        let disk = SimDisk::new(1);
        let storage = open(&disk);
        let files = disk.files().len();
        for seed in 0..20 {
            let mut rng = Rng::new(seed);
            let log = RowLog::of_sizes(storage.clone(), "log-1".into(), 1 << 10, 256 << 10);
            let mut reader = LogReader::default();
            let (mut appended, mut read) = (Vec::new(), Vec::new());
            for n in 0..2_000 {
                let record = record(&mut rng, n);
                log.append(&record);
                appended.push(record);
                if rng.one_in(100) {
                    reader
                        .catch_up(&log, "i", |r| {
                            read.push(r.to_vec());
                            Ok::<(), Error>(())
                        })
                        .unwrap();
                }
            }
            reader
                .finish(&log, "i", |r| {
                    read.push(r.to_vec());
                    Ok::<(), Error>(())
                })
                .unwrap();
            assert!(read == appended, "{seed}: {} of {} records", read.len(), appended.len());
            assert_eq!(log.records(), 2_000);
            assert!(log.state.lock().slots * log.block as u64 <= log.max, "a file within the limit");
            drop(log);
            assert_eq!(disk.files().len(), files);
        }
    }

    #[test]
    fn a_log_that_outgrows_its_limit_keeps_nothing_and_says_so() {
        let disk = SimDisk::new(1);
        let storage = open(&disk);
        let files = disk.files().len();
        let log = RowLog::of_sizes(storage, "log-1".into(), 1 << 10, 8 << 10);
        (0..300).for_each(|_| log.append(&[7; 100]));
        assert_eq!(disk.files().len(), files, "its file is gone at once");
        let read = LogReader::default().catch_up(&log, "by_a", |_| Ok::<(), Error>(()));
        assert!(matches!(read, Err(Error::OnlineLogTooBig(index)) if index == "by_a"));
        let read = LogReader::default().finish(&log, "by_a", |_| Ok::<(), Error>(()));
        assert!(matches!(read, Err(Error::OnlineLogTooBig(_))));
    }

    #[test]
    fn who_appends_does_not_fail_when_the_disk_is_full() {
        let disk = SimDisk::new(1);
        let storage = open(&disk);
        let log = RowLog::of_sizes(storage, "log-1".into(), 1 << 10, 1 << 20);
        disk.inject(Injection::new(Fault::NoSpace).on_path("log-1").always());
        (0..300).for_each(|_| log.append(&[7; 100]));
        let read = LogReader::default().finish(&log, "i", |_| Ok::<(), Error>(()));
        assert!(matches!(read, Err(Error::SortFile(_))), "{read:?}");
    }

    /// What is read of the file is not believed.
    #[test]
    fn a_damaged_block_is_told() {
        let disk = SimDisk::new(1);
        let storage = open(&disk);
        let log = RowLog::of_sizes(storage, "log-1".into(), 1 << 10, 1 << 20);
        (0..20).for_each(|_| log.append(&[7; 100]));
        let file = log.state.lock().file.clone().unwrap();
        file.file.write_at(&[8], 500).unwrap();
        let read = LogReader::default().finish(&log, "i", |_| Ok::<(), Error>(()));
        assert!(matches!(read, Err(Error::Corrupt(_))), "{read:?}");
    }
}
