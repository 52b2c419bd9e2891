//! The doublewrite area: whole copies of pages, durable before the pages' places are touched.
//!
//! Two runs of an extent each in the system tablespace, recorded in the TRX_SYS page, as InnoDB places them
//! (pages 64–127 and 128–191 of a folder with 16K pages). A slot holds a page verbatim; it is identified by its
//! own space id and page number. What it protects from is a page of which only some 512-byte sectors reached the
//! disk: redo cannot be applied to such a mixture.
//!
//! Batches are written side by side, each through slots of its own ([`Slots`]): whoever needs a frame does not wait until the
//! page cleaner's batch has reached the disk. Where several work at once they share the slots alike, and their syncs of the
//! area, which lies in one file, are mostly one.
//!
//! # Invariants
//! - I1: a slot belongs to one batch from before its copy is written to after the places of the batch are durable.
//! - I2: a batch that failed keeps its slots until the folder is opened again: they may hold the only whole copies.
//!
//! # Latching
//! The mutex of the slots is a leaf. A thread waits for slots holding no others.
//!
//! # Crash
//! See [`crate::flush`]; the repair is in `recovery::torn_pages`.

use crate::buf::BufferPool;
use crate::error::{Error, Result};
use crate::options::Options;
use crate::space::{PageLocation, SpaceMap};
use parking_lot::{Condvar, Mutex};
use vaquita_base::{Lsn, PageId, PageNo, SpaceId};
use vaquita_format::checksum::{self, ChecksumAlgorithm};
use vaquita_format::{PageSize, fil};
use vaquita_io::{AlignedBuf, BatchOp, FlushMethod, Transfer};

/// Slots that are used: two megabytes of 16K pages. No batch has more pages.
const SLOTS: usize = 128;
/// Slots that a batch of so many pages or more waits for.
const SLOTS_MIN: usize = 16;
/// Buffers kept for later batches.
const SPARE_MAX: usize = 4;

/// Copies of pages, one after the other in aligned memory.
#[derive(Debug)]
pub(crate) struct PageCopies {
    bytes: AlignedBuf,
    page_len: usize,
    ids: Vec<PageId>,
}

impl PageCopies {
    /// Copies a batch holds: what fits both runs of the doublewrite area, and half the pool at most.
    pub(crate) fn capacity_of(pool: &BufferPool) -> usize {
        SLOTS.min((pool.frame_count() / 2).max(1))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    pub(crate) fn push(&mut self, id: PageId, bytes: &[u8]) {
        let at = self.ids.len() * self.page_len;
        self.bytes[at..at + self.page_len].copy_from_slice(bytes);
        self.ids.push(id);
    }

    fn page(&self, i: usize) -> &[u8] {
        &self.bytes[i * self.page_len..(i + 1) * self.page_len]
    }

    pub(crate) fn newest_lsn(&self) -> Lsn {
        (0..self.ids.len()).map(|i| fil::lsn(self.page(i))).max().unwrap_or(Lsn::ZERO)
    }

    /// Sets checksums and trailers.
    pub(crate) fn stamp(&mut self, algorithm: ChecksumAlgorithm) {
        let size = PageSize::new(self.page_len).expect("frames have a page size");
        let used = self.ids.len() * self.page_len;
        checksum::stamp_all(&mut self.bytes[..used], size, algorithm);
    }
}

/// A run of slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    first: usize,
    len: usize,
}

impl Run {
    fn bits(self) -> u128 {
        (u128::MAX >> (SLOTS - self.len)) << self.first
    }
}

#[derive(Debug, Default)]
struct SlotState {
    /// A bit for each slot that belongs to a batch.
    taken: u128,
    /// Batches that have slots.
    active: usize,
    /// Batches that have ended.
    ended: u64,
}

impl SlotState {
    /// The longest run of slots that nobody has.
    fn longest(&self) -> Run {
        let (mut best, mut at) = (Run { first: 0, len: 0 }, 0);
        while at < SLOTS {
            let free = (!(self.taken >> at)).trailing_ones() as usize;
            let len = free.min(SLOTS - at);
            if len > best.len {
                best = Run { first: at, len };
            }
            at += len + 1;
        }
        best
    }

    /// Slots for a batch of `wanted` pages, fewer where others are at work or may come; `None` while there are too few.
    fn take(&mut self, wanted: usize) -> Option<Run> {
        let free = self.longest();
        if free.len < SLOTS_MIN.min(wanted) {
            return None;
        }
        let share = match self.active {
            0 => SLOTS - SLOTS / 8,
            others => (SLOTS / (others + 1)).max(SLOTS_MIN),
        };
        let run = Run { first: free.first, len: wanted.min(share).min(free.len) };
        assert!(run.len > 0, "a batch of no pages wants slots");
        assert_eq!(self.taken & run.bits(), 0, "I1: {run:?} belongs to another batch");
        self.taken |= run.bits();
        self.active += 1;
        Some(run)
    }

    fn give_back(&mut self, run: Run) {
        assert_eq!(self.taken & run.bits(), run.bits(), "I1: {run:?} is given back by who does not have it");
        self.taken &= !run.bits();
        self.active -= 1;
        self.ended += 1;
    }
}

/// Who has which slots of the area.
#[derive(Debug, Default)]
struct Slots {
    state: Mutex<SlotState>,
    ended: Condvar,
}

/// A batch: slots, and the copies that go into them.
#[derive(Debug)]
pub(crate) struct Batch {
    run: Run,
    pub(crate) copies: PageCopies,
}

impl Batch {
    /// Pages it takes.
    pub(crate) fn capacity(&self) -> usize {
        self.run.len
    }
}

/// The area and buffers for it.
#[derive(Debug)]
pub(crate) struct Doublewrite {
    enabled: bool,
    sync_data: bool,
    blocks: Mutex<Option<[PageNo; 2]>>,
    slots: Slots,
    spare: Mutex<Vec<PageCopies>>,
}

impl Doublewrite {
    pub(crate) fn new(options: &Options) -> Self {
        Self {
            enabled: options.doublewrite,
            sync_data: options.flush_method != FlushMethod::NoSync,
            blocks: Mutex::new(None),
            slots: Slots::default(),
            spare: Mutex::new(Vec::new()),
        }
    }

    pub(crate) fn set_blocks(&self, blocks: Option<[PageNo; 2]>) {
        *self.blocks.lock() = blocks;
    }

    /// Begins a batch of up to `wanted` pages, waiting for slots while `usable` holds.
    pub(crate) fn begin(
        &self,
        wanted: usize,
        page_len: usize,
        usable: impl Fn() -> Result<()>,
    ) -> Result<Batch> {
        let mut state = self.slots.state.lock();
        let run = loop {
            usable()?;
            match state.take(wanted) {
                Some(run) => break run,
                None => self.slots.ended.wait(&mut state),
            }
        };
        drop(state);
        let copies = self.spare.lock().pop().unwrap_or_else(|| PageCopies {
            bytes: AlignedBuf::zeroed(SLOTS * page_len),
            page_len,
            ids: Vec::with_capacity(SLOTS),
        });
        Ok(Batch { run, copies })
    }

    /// Ends a batch whose pages are durable at their places.
    pub(crate) fn end(&self, batch: Batch) {
        let mut copies = batch.copies;
        copies.ids.clear();
        let mut spare = self.spare.lock();
        if spare.len() < SPARE_MAX {
            spare.push(copies);
        }
        drop(spare);
        self.slots.state.lock().give_back(batch.run);
        self.slots.ended.notify_all();
    }

    /// Ends a batch that failed. Nobody gets its slots any more; those who wait for some look whether that has a point.
    pub(crate) fn fail(&self, batch: Batch) {
        drop(batch);
        let mut state = self.slots.state.lock();
        state.active -= 1;
        state.ended += 1;
        drop(state);
        self.slots.ended.notify_all();
    }

    /// Sleeps until one of the batches that are on their way now has ended; false if there is none.
    pub(crate) fn wait_for_batch(&self) -> bool {
        let mut state = self.slots.state.lock();
        let (on_the_way, ended) = (state.active > 0, state.ended);
        while state.active > 0 && state.ended == ended {
            self.slots.ended.wait(&mut state);
        }
        on_the_way
    }

    /// Writes stamped copies: to the area, then to their places; all durable on return. Those that are not
    /// `guarded` go to their places only, and need not be durable.
    pub(crate) fn write(&self, spaces: &SpaceMap, batch: &Batch, guarded: bool) -> Result<()> {
        let copies = &batch.copies;
        assert!(copies.ids.len() <= batch.run.len, "{} copies for {:?}", copies.ids.len(), batch.run);
        let blocks = *self.blocks.lock();
        if let Some(blocks) = blocks.filter(|_| self.enabled && guarded) {
            Self::write_area(spaces, batch, blocks)?;
        }
        let mut places: Vec<(usize, PageLocation)> = Vec::with_capacity(copies.ids.len());
        for (i, &id) in copies.ids.iter().enumerate() {
            match spaces.locate(id) {
                Ok(location) => places.push((i, location)),
                // The tablespace was dropped after the page was copied.
                Err(Error::NoSuchSpace(_)) => {}
                Err(e) => return Err(e),
            }
        }
        let mut ops: Vec<BatchOp<'_>> = places
            .iter()
            .map(|(i, location)| BatchOp {
                file: &*location.file,
                offset: location.offset,
                transfer: Transfer::Write(copies.page(*i)),
            })
            .collect();
        let mut outcome = Ok(());
        spaces.fs().run_batch(&mut ops, &mut |i, _, result| {
            if copies.ids[places[i].0].space != SpaceId::TEMPORARY {
                places[i].1.mark_written();
            }
            if let Err(e) = result {
                outcome = Err(e);
            }
        });
        outcome?;
        if self.sync_data && guarded {
            Self::sync_places(spaces, &places)?;
        }
        // All files of a batch are open at once, and none could be closed.
        drop(ops);
        drop(places);
        spaces.limit_open_files();
        Ok(())
    }

    /// Syncs the files that were written, each once.
    fn sync_places(spaces: &SpaceMap, places: &[(usize, PageLocation)]) -> Result<()> {
        let mut synced: Vec<&PageLocation> = Vec::new();
        for (_, place) in places {
            if !synced.iter().any(|s| s.is_in_file_of(place)) {
                place.sync(spaces)?;
                synced.push(place);
            }
        }
        Ok(())
    }

    fn write_area(spaces: &SpaceMap, batch: &Batch, blocks: [PageNo; 2]) -> Result<()> {
        let copies = &batch.copies;
        let extent = PageSize::new(copies.page_len).expect("frames have a page size").extent_pages() as usize;
        let (first, end) = (batch.run.first, batch.run.first + copies.ids.len());
        for (block, start) in blocks.into_iter().zip([0, extent]) {
            // The slots of the batch that are in this block.
            let (low, high) = (first.max(start), end.min(start + extent));
            if low < high {
                let page_no = PageNo(block.0 + (low - start) as u32);
                let location = spaces.locate(PageId::new(SpaceId::SYSTEM, page_no))?;
                let bytes = (low - first) * copies.page_len..(high - first) * copies.page_len;
                location.file.write_at(&copies.bytes[bytes], location.offset)?;
                location.mark_written();
            }
        }
        spaces.sync(&*spaces.get(SpaceId::SYSTEM)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_slot_has_two_batches_and_all_come_back() {
        let mut state = SlotState::default();
        let mut rng = vaquita_base::Rng::new(9);
        let mut taken: Vec<Run> = Vec::new();
        for _ in 0..10_000 {
            let wanted = 1 + rng.below(SLOTS as u64) as usize;
            match rng.one_in(2) {
                true => taken.extend(state.take(wanted)),
                false if taken.is_empty() => {}
                false => state.give_back(taken.swap_remove(rng.below(taken.len() as u64) as usize)),
            }
            let mut slots = [false; SLOTS];
            for slot in taken.iter().flat_map(|run| run.first..run.first + run.len) {
                assert!(!std::mem::replace(&mut slots[slot], true), "slot {slot} has two batches");
            }
            assert_eq!(state.active, taken.len());
        }
        taken.drain(..).for_each(|run| state.give_back(run));
        assert_eq!((state.taken, state.active), (0, 0));
    }

    #[test]
    fn a_batch_leaves_slots_for_another() {
        let mut state = SlotState::default();
        let first = state.take(1_000).unwrap();
        assert_eq!(first, Run { first: 0, len: 112 });
        assert_eq!(state.take(1_000), Some(Run { first: 112, len: 16 }));
        assert_eq!(state.take(1), None, "all have an owner");
        state.give_back(first);
        // Not alone any more: half of them.
        assert_eq!(state.take(1_000), Some(Run { first: 0, len: 64 }));
    }
}
