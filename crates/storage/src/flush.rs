//! Writing dirty pages: batches, by way of the doublewrite area.
//!
//! Batches go through a [`Flusher`], several at once: get slots in the doublewrite area, copy pages under their shared
//! latches, make the log durable up to the newest of them (write-ahead rule), stamp checksums on the copies, write the
//! copies to the slots and sync them, write them to their places and sync those. Who chooses the pages: the page cleaner
//! (by age), who makes room in the log (the oldest), threads that need a frame (by LRU), checkpoints and shutdown (all).
//!
//! # Invariants
//! - I1: when a page's place is being written, its copy in the doublewrite area is durable, and so is the log
//!   up to the page's LSN.
//! - I2: slots of the doublewrite area are not reused before the places of the batch that had them have been synced.
//! - I3: the checkpoint is held back by a page from its first change to the sync of the copy with that change.
//! - I4: one batch at most writes a page: who sets its frame's `flushing` is the one.
//! - I5: pages whose changes are not logged ([`UNLOGGED`]) go in batches of their own. Those of temporary tables, and of files
//!   that a crash makes go ([`crate::built`]), are written straight to their places: nobody reads them after it.
//!
//! # Latching
//! Slots may be waited for with page latches held, because who has slots only tries page latches: a thread may flush
//! while it holds other pages.
//!
//! # Crash
//! During the doublewrite: places untouched. During the writes to places: a torn place has a whole copy in the
//! area. After a failed write or sync nothing is known; the flusher refuses all further work (`poisoned`).

use crate::buf::{BufferPool, Instance, NO_PAGE, PageWriter, UNLOGGED, Unsettled, assert_no_page_latched};
use crate::doublewrite::{Batch, Doublewrite, PageCopies};
use crate::error::{Error, Result};
use crate::live::FlushNeighbors;
use crate::log::RedoLog;
use crate::options::Options;
use crate::space::SpaceMap;
use parking_lot::Mutex;
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use vaquita_base::{Lsn, PageId, PageNo, ShardedCounter, SpaceId};
use vaquita_format::checksum::ChecksumAlgorithm;

/// Pages written for one thread that needs a frame.
const LRU_BATCH: usize = 32;

/// Counters of the flusher.
#[derive(Debug, Default)]
pub struct FlushStats {
    /// Pages written.
    pub pages: ShardedCounter,
    /// Batches.
    pub batches: ShardedCounter,
    /// Pages written because they were neighbours.
    pub neighbors: ShardedCounter,
}

/// A page copy that is on its way to the disk.
#[derive(Debug)]
struct Flight {
    frame: u32,
    oldest: Lsn,
}

/// How pages are written.
#[derive(Debug, Clone, Copy)]
struct How {
    checksum: ChecksumAlgorithm,
    neighbors: FlushNeighbors,
}

/// What is written together.
#[derive(Debug, Clone, Copy)]
struct Kind {
    /// The log has the changes.
    logged: bool,
    /// They go by way of the doublewrite area, and their places are synced.
    guarded: bool,
}

impl Kind {
    const LOGGED: Kind = Kind { logged: true, guarded: true };
}

/// Writes dirty pages.
#[derive(Debug)]
pub struct Flusher {
    spaces: Arc<SpaceMap>,
    log: OnceLock<Arc<RedoLog>>,
    doublewrite: Doublewrite,
    /// How the next pages are written.
    how: Mutex<How>,
    poisoned: AtomicBool,
    poison_cause: Mutex<Option<String>>,
    /// What it has done.
    pub stats: FlushStats,
}

impl Flusher {
    /// A flusher that writes to `spaces`. The log is attached when it is open for appending: until then pages
    /// carry only changes that the log on disk covers.
    pub fn new(options: &Options, spaces: Arc<SpaceMap>) -> Self {
        Self {
            doublewrite: Doublewrite::new(options),
            log: OnceLock::new(),
            how: Mutex::new(How {
                checksum: options.live.checksum_algorithm,
                neighbors: options.live.flush_neighbors,
            }),
            spaces,
            poisoned: AtomicBool::new(false),
            poison_cause: Mutex::new(None),
            stats: FlushStats::default(),
        }
    }

    /// Checksum of the pages written from now on.
    pub(crate) fn set_checksum(&self, checksum: ChecksumAlgorithm) {
        self.how.lock().checksum = checksum;
    }

    /// Which neighbours are written along from now on.
    pub(crate) fn set_neighbors(&self, neighbors: FlushNeighbors) {
        self.how.lock().neighbors = neighbors;
    }

    /// The log that must be durable before pages are.
    pub(crate) fn attach_log(&self, log: Arc<RedoLog>) {
        assert!(self.log.set(log).is_ok(), "the log is attached once");
    }

    /// Where the doublewrite area lies; without it pages are written straight to their places.
    pub(crate) fn set_doublewrite_blocks(&self, blocks: Option<[PageNo; 2]>) {
        self.doublewrite.set_blocks(blocks);
    }

    /// Refuses all work from now on.
    pub(crate) fn poison(&self, cause: &str) {
        self.poison_cause.lock().get_or_insert_with(|| cause.to_owned());
        self.poisoned.store(true, Ordering::Release);
    }

    /// Fails if an earlier write or sync has failed.
    ///
    /// # Errors
    /// [`Error::Poisoned`].
    #[inline]
    pub fn check_usable(&self) -> Result<()> {
        if !self.poisoned.load(Ordering::Acquire) {
            return Ok(());
        }
        Err(Error::Poisoned(self.poison_cause.lock().clone().unwrap_or_default()))
    }

    /// Writes up to `n` pages of the flush lists whose first change is below `limit`, oldest first, with neighbours
    /// as configured; returns how many were written in all.
    ///
    /// # Errors
    /// I/O errors; they poison the flusher.
    pub fn flush_oldest(&self, pool: &BufferPool, n: usize, limit: Lsn) -> Result<usize> {
        let mut written = 0;
        let share = n.div_ceil(pool.instances().len()).max(1);
        for instance in pool.instances() {
            written += self.flush_oldest_of(pool, instance, share, limit)?;
        }
        Ok(written)
    }

    /// The same for the pages of one instance.
    ///
    /// # Errors
    /// I/O errors; they poison the flusher.
    pub(crate) fn flush_oldest_of(
        &self,
        pool: &BufferPool,
        instance: &Instance,
        n: usize,
        limit: Lsn,
    ) -> Result<usize> {
        let (mut written, mut left) = (0, n);
        while left > 0 {
            let frames = {
                let list = instance.flush.lock();
                list.oldest_frames(pool.frames(), left.min(PageCopies::capacity_of(pool)), limit)
            };
            if frames.is_empty() {
                break;
            }
            let with_neighbors = self.add_neighbors(pool, frames);
            let flushed = self.flush_frames(pool, &with_neighbors)?;
            if flushed == 0 {
                // Everything is latched exclusively or in flight right now; the caller comes again.
                break;
            }
            written += flushed;
            left = left.saturating_sub(flushed);
        }
        Ok(written)
    }

    /// Writes everything that is dirty with a first change below `limit`.
    ///
    /// # Errors
    /// I/O errors; they poison the flusher.
    pub fn flush_all(&self, pool: &BufferPool, limit: Lsn) -> Result<()> {
        assert_no_page_latched("all pages are written, whose shared latches are wanted");
        while pool.oldest_modification().is_some_and(|lsn| lsn < limit) {
            if self.flush_oldest(pool, usize::MAX / 2, limit)? == 0 {
                self.check_usable()?;
                self.wait_for_others();
            }
        }
        Ok(())
    }

    /// Writes the pages of a space that are dirty, and waits for those that others are writing. Nobody changes any of them meanwhile.
    ///
    /// # Errors
    /// I/O errors; they poison the flusher.
    pub(crate) fn flush_space(&self, pool: &BufferPool, space: SpaceId) -> Result<()> {
        assert_no_page_latched("all pages of a space are written, whose shared latches are wanted");
        self.settle(|| pool.unsettled_of(space), |dirty| self.flush_frames(pool, dirty))
    }

    /// Writes what is looked for, until nothing of it is found that is dirty, or that others are writing.
    ///
    /// # Errors
    /// I/O errors; they poison the flusher.
    pub(crate) fn settle(
        &self,
        look: impl Fn() -> Unsettled,
        write: impl Fn(&[u32]) -> Result<usize>,
    ) -> Result<()> {
        loop {
            let unsettled = look();
            if unsettled.is_empty() {
                return Ok(());
            }
            if write(&unsettled.dirty)? == 0 {
                self.check_usable()?;
                self.wait_for_others();
            }
        }
    }

    /// For who found nothing to write: sleeps until a batch of another thread has ended. Without one, somebody changes the
    /// pages right now, which is soon over.
    pub(crate) fn wait_for_others(&self) {
        if !self.doublewrite.wait_for_batch() {
            std::thread::yield_now();
        }
    }

    /// Adds the dirty neighbours of each page, without repeats, keeping runs together.
    fn add_neighbors(&self, pool: &BufferPool, frames: Vec<u32>) -> Vec<u32> {
        let neighbors = self.how.lock().neighbors;
        if neighbors == FlushNeighbors::None {
            return frames;
        }
        let mut out: Vec<u32> = Vec::with_capacity(frames.len());
        let mut seen = HashSet::with_capacity(frames.len() * 2);
        for &frame in &frames {
            let word = pool.frame(frame).page_id();
            if word == NO_PAGE {
                continue;
            }
            let page = PageId::from_u64(word);
            for no in neighborhood(pool, page, neighbors) {
                let neighbor = match no == page.page_no.0 {
                    true => Some(frame),
                    false => pool.peek_dirty(PageId::new(page.space, PageNo(no))),
                };
                if let Some(f) = neighbor
                    && seen.insert(f)
                {
                    self.stats.neighbors.add(u64::from(f != frame));
                    out.push(f);
                }
            }
        }
        out
    }

    /// Writes those of `frames` that are dirty and whose shared latch is free right now; returns how many.
    ///
    /// # Errors
    /// I/O errors; they poison the flusher.
    pub(crate) fn flush_frames(&self, pool: &BufferPool, frames: &[u32]) -> Result<usize> {
        let is_unlogged = |&frame: &u32| pool.frame(frame).oldest_modification() == UNLOGGED.0;
        if !frames.iter().any(is_unlogged) {
            return self.flush_alike(pool, frames, Kind::LOGGED);
        }
        let (unlogged, logged): (Vec<u32>, Vec<u32>) = frames.iter().partition(|&frame| is_unlogged(frame));
        let is_temporary = |&frame: &u32| {
            let page = pool.frame(frame).page_id();
            page != NO_PAGE && PageId::from_u64(page).space == SpaceId::TEMPORARY
        };
        let (temporary, built): (Vec<u32>, Vec<u32>) =
            unlogged.iter().partition(|&frame| is_temporary(frame));
        Ok(self.flush_bare(pool, &temporary)?
            + self.flush_alike(pool, &built, Kind { logged: false, guarded: true })?
            + self.flush_alike(pool, &logged, Kind::LOGGED)?)
    }

    /// Writes those of `frames` that are dirty without a log straight to their places, which are not synced: a crash makes the file
    /// go. How many were written.
    ///
    /// # Errors
    /// I/O errors; they poison the flusher.
    pub(crate) fn flush_bare(&self, pool: &BufferPool, frames: &[u32]) -> Result<usize> {
        self.flush_alike(pool, frames, Kind { logged: false, guarded: false })
    }

    /// Writes frames of one kind.
    fn flush_alike(&self, pool: &BufferPool, frames: &[u32], kind: Kind) -> Result<usize> {
        let (mut written, mut rest) = (0, frames);
        while !rest.is_empty() {
            let wanted = rest.len().min(PageCopies::capacity_of(pool));
            let batch = self.doublewrite.begin(wanted, pool.page_len(), || self.check_usable())?;
            let (chunk, later) = rest.split_at(batch.capacity());
            written += self.flush_batch(pool, chunk, batch, kind)?;
            rest = later;
        }
        Ok(written)
    }

    fn flush_batch(&self, pool: &BufferPool, frames: &[u32], mut batch: Batch, kind: Kind) -> Result<usize> {
        let mut flights = Vec::with_capacity(frames.len());
        for &frame in frames {
            if let Some(oldest) = self.copy_out(pool, frame, &mut batch.copies, kind.logged) {
                flights.push(Flight { frame, oldest });
            }
        }
        if let Err(e) = self.write_batch(&mut batch, kind.guarded) {
            // The in-flight marks stay: no checkpoint passes these pages any more.
            self.poison(&e.to_string());
            self.doublewrite.fail(batch);
            return Err(e);
        }
        for flight in &flights {
            let frame = pool.frame(flight.frame);
            debug_assert!(frame.flushing.load(Ordering::Relaxed), "I4: frame {} is another's", flight.frame);
            pool.instances()[usize::from(frame.instance)].flush.lock().end_flush(flight.oldest);
            frame.flushing.store(false, Ordering::Release);
        }
        self.stats.pages.add(flights.len() as u64);
        self.stats.batches.add(u64::from(!flights.is_empty()));
        self.doublewrite.end(batch);
        Ok(flights.len())
    }

    /// Copies one dirty page; from here on the frame is off the flush list and in flight.
    fn copy_out(
        &self,
        pool: &BufferPool,
        frame_no: u32,
        copies: &mut PageCopies,
        logged: bool,
    ) -> Option<Lsn> {
        let frame = pool.frame(frame_no);
        if frame.oldest_modification() == 0 || !frame.latch.try_shared() {
            return None;
        }
        if (frame.oldest_modification() == UNLOGGED.0) == logged {
            // Another page has the frame by now.
            frame.latch.unlock_shared(pool.lot(), frame_no as usize);
            return None;
        }
        // Set before the page leaves the flush list: a frame that is neither is taken for clean by eviction. Who finds
        // it set leaves the page to the batch that has it (I4).
        let mut oldest = None;
        if !frame.flushing.swap(true, Ordering::AcqRel) {
            let list = &pool.instances()[usize::from(frame.instance)].flush;
            oldest = list.lock().start_flush(pool.frames(), frame_no);
            if oldest.is_some() {
                // SAFETY: the shared latch was taken above and is given back below.
                let bytes = unsafe { pool.memory().bytes(frame_no) };
                copies.push(PageId::from_u64(frame.page_id()), bytes);
            } else {
                frame.flushing.store(false, Ordering::Release);
            }
        }
        frame.latch.unlock_shared(pool.lot(), frame_no as usize);
        oldest
    }

    fn write_batch(&self, batch: &mut Batch, guarded: bool) -> Result<()> {
        if batch.copies.is_empty() {
            return Ok(());
        }
        if let Some(log) = self.log.get() {
            let newest = batch.copies.newest_lsn();
            log.flush_up_to(newest)?;
            let durable = log.flushed_lsn();
            assert!(
                durable >= newest,
                "I1: a page of {newest} is written, the log is durable up to {durable}"
            );
        }
        batch.copies.stamp(self.how.lock().checksum);
        self.doublewrite.write(&self.spaces, batch, guarded)
    }
}

impl PageWriter for Flusher {
    fn write_lru_tail(&self, pool: &BufferPool, instance: &Instance) -> Result<usize> {
        let frames = pool.dirty_lru_tail(instance, LRU_BATCH);
        self.flush_frames(pool, &frames)
    }

    fn log_end(&self) -> Option<Lsn> {
        self.log.get().map(|log| log.current_lsn())
    }
}

/// Page numbers around `page`, of its extent, that are candidates for being written with it.
fn neighborhood(pool: &BufferPool, page: PageId, neighbors: FlushNeighbors) -> std::ops::Range<u32> {
    const RUN: u32 = 64;
    let first = page.page_no.0 - page.page_no.0 % RUN;
    if neighbors == FlushNeighbors::Extent {
        return first..first.saturating_add(RUN);
    }
    let dirty = |no: u32| pool.peek_dirty(PageId::new(page.space, PageNo(no))).is_some();
    let (mut low, mut high) = (page.page_no.0, page.page_no.0 + 1);
    while low > first && dirty(low - 1) {
        low -= 1;
    }
    while high - first < RUN && dirty(high) {
        high += 1;
    }
    low..high
}
