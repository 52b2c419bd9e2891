//! The buffer pool: pages of tablespaces in a fixed number of frames.
//!
//! It maps page ids to frames, reads missing pages, chooses victims and keeps the dirty pages in order. It does
//! not write: that is [`crate::flush`]'s part. After InnoDB's design (midpoint LRU, separate flush list mutex,
//! instances); different from it in that a page hit takes no mutex, and inner pages of trees can be read without
//! any shared write (see [`OptimisticPage`]).
//!
//! # Invariants
//! - I1: a frame's page id changes only under the frame's exclusive latch. Whoever latched a frame and finds the
//!   wanted id in it holds that page; pins besides latches do not exist.
//! - I2: a page is in the map exactly while its frame carries its id. Two frames never carry one id.
//! - I3: a frame is on its instance's LRU list exactly while it carries a page id and is not being read in.
//! - I4: a frame is on the flush list exactly while `oldest_modification` is not 0. While a copy of it is being
//!   written, `flushing` is set and the copy's oldest modification is counted in the list's in-flight set.
//! - I5: a victim is clean, not `flushing`, and its exclusive latch could be taken at once.
//!
//! # Latching
//! Order: frame latches (upper layers' order) → LRU mutex → map shard mutex. The free list and the flush list are
//! leaves. Nothing is read or written under a mutex of this module. Eviction only tries latches, so it may run
//! under other frames' latches.
//!
//! # Crash
//! Memory only.

mod arena;
mod call;
mod discard;
mod dump;
mod flush_list;
mod frame;
mod guard;
mod links;
mod lru;
mod page_map;
mod read_ahead;
mod reader;
mod unsettled;

pub(crate) use arena::ArenaFrame;
use call::Call;
pub use dump::read_hot_set;
pub(crate) use flush_list::{FlushList, UNLOGGED};
pub(crate) use frame::{Frame, NO_PAGE};
pub use guard::{FramePosition, OptimisticPage, PageReadGuard, PageWriteGuard, assert_no_page_latched};
use lru::LruList;
use page_map::PageMap;
pub use read_ahead::ReadAhead;
pub(crate) use unsettled::Unsettled;

use crate::error::{Error, Result};
use crate::frames::{FrameMemory, prefetch};
use crate::latch::ParkingLot;
use crate::options::{ForceRecovery, Options};
use crate::space::SpaceMap;
use parking_lot::{Mutex, RwLock};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use vaquita_base::{Lsn, PageId, ShardedCounter};
use vaquita_format::checksum::ChecksumAlgorithm;

/// Parking places for threads that wait for page latches. Who gives a latch up wakes all that sleep at its place: those who
/// wait for another page wake for nothing, which many places make rare.
const PARKING_PLACES: usize = 4_096;
/// Pages that could not be taken, at an eviction end, for the page cleaner to be called.
const SHORTAGE: u32 = 32;

/// What happens to a page between its read and its first use: recovery applies redo here.
pub trait AfterRead: Send + Sync {
    /// Brings the page up to date. `bytes` is what the file held (zeros if it ends before the page).
    ///
    /// Returns the LSNs of the first and the last change applied, if any.
    ///
    /// # Latching
    /// Called under the frame's exclusive latch; takes no other latch and does no I/O.
    ///
    /// # Errors
    /// Corruption found while applying.
    fn after_read(&self, page: PageId, bytes: &mut [u8]) -> Result<Option<(Lsn, Lsn)>>;

    /// Whether the page's content follows from pending changes alone, so that the file need not be read.
    fn is_self_contained(&self, page: PageId) -> bool;

    /// Whether a damaged or missing page is to be given out as it is instead of failing.
    fn tolerates_damage(&self) -> bool;
}

/// Counters of the pool.
#[derive(Debug, Default)]
pub struct PoolStats {
    /// Pages asked for (not counting optimistic reads).
    pub requests: ShardedCounter,
    /// Pages read from files.
    pub reads: ShardedCounter,
    /// Pages read ahead of use.
    pub read_ahead: ShardedCounter,
    /// Pages read ahead and evicted unused.
    pub read_ahead_evicted: ShardedCounter,
    /// Pages evicted.
    pub evicted: ShardedCounter,
    /// Times a thread found no free frame and had to write pages itself.
    pub wait_free: ShardedCounter,
    /// Pages moved to the young end.
    pub made_young: ShardedCounter,
}

/// One shard of the pool.
#[derive(Debug)]
pub(crate) struct Instance {
    pub(crate) lru: Mutex<LruList>,
    free: Mutex<Vec<u32>>,
    pub(crate) flush: Mutex<FlushList>,
    /// Evictions so far: the clock by which a page's age on the list is measured.
    freed_clock: AtomicU32,
}

/// Who writes the pool's pages: [`crate::flush`].
pub(crate) trait PageWriter: Send + Sync + std::fmt::Debug {
    /// Writes dirty pages at the eviction end of one instance; returns how many.
    ///
    /// # Errors
    /// I/O errors; nothing is written any more then.
    fn write_lru_tail(&self, pool: &BufferPool, instance: &Instance) -> Result<usize>;

    /// The end of the log, beyond which no page's LSN may lie; `None` before the log is open for appending.
    fn log_end(&self) -> Option<Lsn>;
}

/// The pool.
pub struct BufferPool {
    memory: FrameMemory,
    frames: Box<[Frame]>,
    instances: Vec<Instance>,
    map: PageMap,
    lot: ParkingLot,
    spaces: Arc<SpaceMap>,
    writer: Arc<dyn PageWriter>,
    checksum: ChecksumAlgorithm,
    /// Whether fixed pages whose checksum does not hold are taken as they are.
    keeps_damaged: bool,
    /// What was taken so, in words.
    kept: Mutex<Vec<String>>,
    after_read: RwLock<Option<Arc<dyn AfterRead>>>,
    after_read_active: AtomicBool,
    before_wait: OnceLock<Box<dyn Fn() + Send + Sync>>,
    now_ms: AtomicU32,
    old_blocks_time_ms: AtomicU32,
    lru_scan_depth: AtomicU32,
    read_ahead: ReadAhead,
    /// For the page cleaner: dirty pages have come to an eviction end, and soon somebody has to write some before he can read.
    pub(crate) shortage: Call,
    /// What the pool has done.
    pub stats: PoolStats,
}

impl std::fmt::Debug for BufferPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BufferPool")
            .field("frames", &self.frames.len())
            .field("instances", &self.instances.len())
            .finish_non_exhaustive()
    }
}

impl BufferPool {
    /// An empty pool.
    ///
    /// # Errors
    /// [`Error::Config`] if the system does not give the memory.
    pub(crate) fn new(options: &Options, spaces: Arc<SpaceMap>, writer: Arc<dyn PageWriter>) -> Result<Self> {
        let frame_count = options.pool_frames();
        let n = options.buffer_pool_instances;
        // Each instance has a run of frames.
        let run = |i: usize| (i * frame_count / n) as u32..((i + 1) * frame_count / n) as u32;
        let frames: Box<[Frame]> = (0..n).flat_map(|i| run(i).map(move |_| Frame::new(i as u8))).collect();
        let instances = (0..n)
            .map(|i| Instance {
                lru: Mutex::new(LruList::new(run(i), options.live.old_blocks_pct)),
                // Highest frame first, so that the lowest frames are handed out first.
                free: Mutex::new(run(i).rev().collect()),
                flush: Mutex::new(FlushList::new(run(i))),
                freed_clock: AtomicU32::new(0),
            })
            .collect();
        Ok(Self {
            memory: FrameMemory::new(frame_count, options.page_size.logical())?,
            frames,
            instances,
            map: PageMap::new(frame_count),
            lot: ParkingLot::new(PARKING_PLACES),
            spaces,
            writer,
            checksum: options.live.checksum_algorithm,
            keeps_damaged: options.force_recovery >= ForceRecovery::IGNORE_CORRUPT,
            kept: Mutex::new(Vec::new()),
            after_read: RwLock::new(None),
            after_read_active: AtomicBool::new(false),
            before_wait: OnceLock::new(),
            now_ms: AtomicU32::new(1),
            old_blocks_time_ms: AtomicU32::new(options.live.old_blocks_time_ms),
            lru_scan_depth: AtomicU32::new(options.live.lru_scan_depth),
            read_ahead: ReadAhead::new(options),
            shortage: Call::default(),
            stats: PoolStats::default(),
        })
    }

    /// Damaged pages that were read as they are because of `force_recovery`, in words.
    pub fn kept_damaged(&self) -> Vec<String> {
        self.kept.lock().clone()
    }

    /// Percent of the LRU lists behind the midpoint from now on.
    pub(crate) fn set_old_blocks_pct(&self, pct: u32) {
        for instance in &self.instances {
            instance.lru.lock().set_old_pct(&self.frames, pct);
        }
    }

    /// How long a page stays behind the midpoint after its first use.
    pub(crate) fn set_old_blocks_time_ms(&self, ms: u32) {
        self.old_blocks_time_ms.store(ms, Ordering::Relaxed);
    }

    /// How far a search for a free frame looks.
    pub(crate) fn set_lru_scan_depth(&self, frames: u32) {
        self.lru_scan_depth.store(frames, Ordering::Relaxed);
    }

    /// Pages of an extent read in order before the next one is read ahead.
    pub(crate) fn set_read_ahead_threshold(&self, pages: u32) {
        self.read_ahead.set_threshold(pages);
    }

    /// Whether the rest of an extent is read of which many pages are in use.
    pub(crate) fn set_random_read_ahead(&self, on: bool) {
        self.read_ahead.set_random(on);
    }

    /// Frames in all.
    pub fn frame_count(&self) -> usize {
        self.frames.len()
    }

    /// Bytes of a page.
    pub fn page_len(&self) -> usize {
        self.memory.frame_size()
    }

    /// Frames without a page.
    pub fn free_count(&self) -> usize {
        self.instances.iter().map(|i| i.free.lock().len()).sum()
    }

    pub(crate) fn free_in(&self, instance: &Instance) -> usize {
        instance.free.lock().len()
    }

    /// Dirty pages.
    pub fn dirty_count(&self) -> usize {
        self.instances.iter().map(|i| i.flush.lock().len()).sum()
    }

    /// Dirty pages whose first change lies below `limit`, as far as the count matters.
    pub(crate) fn count_dirty_below(&self, limit: Lsn) -> usize {
        // The count only steers a rate; a few thousand are as good as all.
        const ENOUGH: usize = 4_096;
        self.instances.iter().map(|i| i.flush.lock().oldest_frames(&self.frames, ENOUGH, limit).len()).sum()
    }

    /// The tablespaces it reads from.
    pub fn spaces(&self) -> &Arc<SpaceMap> {
        &self.spaces
    }

    pub(crate) fn instances(&self) -> &[Instance] {
        &self.instances
    }

    pub(crate) fn frames(&self) -> &[Frame] {
        &self.frames
    }

    #[inline]
    pub(crate) fn frame(&self, frame: u32) -> &Frame {
        &self.frames[frame as usize]
    }

    #[inline]
    pub(crate) fn memory(&self) -> &FrameMemory {
        &self.memory
    }

    #[inline]
    pub(crate) fn lot(&self) -> &ParkingLot {
        &self.lot
    }

    /// The shard of a page; the pages of an aligned run of 64 share one, so that read-ahead and neighbour flushing
    /// stay within it.
    #[inline]
    pub(crate) fn instance_of(&self, page: PageId) -> &Instance {
        &self.instances[self.instance_no(page)]
    }

    #[inline]
    fn instance_no(&self, page: PageId) -> usize {
        if self.instances.len() == 1 {
            return 0;
        }
        let run = PageId::new(page.space, (page.page_no.0 >> 6).into());
        (run.as_u64().wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as usize % self.instances.len()
    }

    /// Moves the pool's coarse clock, by which `old_blocks_time` is measured.
    pub fn tick(&self, now_us: u64) {
        self.now_ms.store(((now_us / 1_000) as u32).max(1), Ordering::Relaxed);
    }

    /// Installs or removes the hook between a page's read and its first use.
    pub fn set_after_read(&self, hook: Option<Arc<dyn AfterRead>>) {
        let active = hook.is_some();
        *self.after_read.write() = hook;
        self.after_read_active.store(active, Ordering::Release);
    }

    /// Has `hook` called by every thread that is about to wait for the disk because a page it wants is not in the pool. It
    /// may be called with pages latched. There is one such hook; later ones are ignored.
    pub fn set_before_wait(&self, hook: Box<dyn Fn() + Send + Sync>) {
        let _ = self.before_wait.set(hook);
    }

    fn before_wait(&self) {
        if let Some(hook) = self.before_wait.get() {
            hook();
        }
    }

    fn after_read_hook(&self) -> Option<Arc<dyn AfterRead>> {
        if !self.after_read_active.load(Ordering::Acquire) {
            return None;
        }
        self.after_read.read().clone()
    }

    /// Prepares the flush lists for insertions in no order (recovery), or ends that.
    pub(crate) fn set_sorted_flush_insertion(&self, on: bool) {
        for instance in &self.instances {
            instance.flush.lock().set_index(&self.frames, on);
        }
    }

    /// The page, latched shared; read from its file if it is not in the pool.
    ///
    /// # Errors
    /// I/O errors, damaged pages, pages beyond the end.
    ///
    /// # Latching
    /// Waits for the page's latch.
    #[inline]
    pub fn get_shared(&self, page: PageId) -> Result<PageReadGuard<'_>> {
        self.stats.requests.add(1);
        loop {
            if let Some(frame_no) = self.map.find(&self.frames, page) {
                let frame = self.frame(frame_no);
                frame.latch.lock_shared(&self.lot, frame_no as usize);
                if frame.page_id() == page.as_u64() {
                    self.touch(frame_no, page);
                    return Ok(PageReadGuard::new(self, frame_no));
                }
                frame.latch.unlock_shared(&self.lot, frame_no as usize);
            } else if let Some(guard) = self.read_in(page, false)? {
                return Ok(guard.downgrade());
            }
        }
    }

    /// The page, latched exclusively; read from its file if it is not in the pool.
    ///
    /// # Errors
    /// As [`BufferPool::get_shared`].
    ///
    /// # Latching
    /// Waits for the page's latch.
    #[inline]
    pub fn get_exclusive(&self, page: PageId) -> Result<PageWriteGuard<'_>> {
        self.stats.requests.add(1);
        loop {
            if let Some(frame_no) = self.map.find(&self.frames, page) {
                if let Some(guard) = self.latch_exclusive(frame_no, page) {
                    self.touch(frame_no, page);
                    return Ok(guard);
                }
            } else if let Some(guard) = self.read_in(page, false)? {
                return Ok(guard);
            }
        }
    }

    /// The page latched shared if it is in the pool and its latch is to be had right now.
    #[inline]
    pub fn try_shared(&self, page: PageId) -> Option<PageReadGuard<'_>> {
        let frame_no = self.map.peek(&self.frames, page)?;
        let frame = self.frame(frame_no);
        if !frame.latch.try_shared() {
            return None;
        }
        let guard = PageReadGuard::new(self, frame_no);
        if frame.page_id() != page.as_u64() {
            return None;
        }
        self.stats.requests.add(1);
        self.touch(frame_no, page);
        Some(guard)
    }

    /// Has the processor fetch the first thing that is needed to find a page: for callers that have other work meanwhile, as
    /// other pages to find.
    #[inline]
    pub fn prefetch_place(&self, page: PageId) {
        self.map.prefetch(page);
    }

    /// The same for what is needed next, when the first has arrived: the descriptor of the page's frame, and the two ends of
    /// the page.
    #[inline]
    pub fn prefetch_page(&self, page: PageId) {
        if let Some(frame_no) = self.map.first_of(page) {
            prefetch(self.frame(frame_no));
            self.memory.prefetch_ends(frame_no);
        }
    }

    /// The page latched exclusively if it is in the pool and its latch is free right now.
    pub fn try_exclusive(&self, page: PageId) -> Option<PageWriteGuard<'_>> {
        let frame_no = self.map.find(&self.frames, page)?;
        let frame = self.frame(frame_no);
        if !frame.latch.try_exclusive() {
            return None;
        }
        let guard = PageWriteGuard::new(self, frame_no);
        (frame.page_id() == page.as_u64()).then_some(guard)
    }

    /// A frame for a page whose content on disk does not matter, latched exclusively. Its bytes are whatever they
    /// were; the caller makes the page.
    ///
    /// # Errors
    /// [`Error::BeyondEnd`] if the file does not hold the page.
    pub(crate) fn create(&self, page: PageId) -> Result<PageWriteGuard<'_>> {
        self.stats.requests.add(1);
        let space = self.spaces.get(page.space)?;
        if page.page_no.0 >= space.size_pages() {
            return Err(Error::BeyondEnd { page, size_pages: space.size_pages() });
        }
        loop {
            if let Some(frame_no) = self.map.find(&self.frames, page) {
                if let Some(guard) = self.latch_exclusive(frame_no, page) {
                    self.touch(frame_no, page);
                    return Ok(guard);
                }
            } else {
                let frame_no = self.take_free(page)?;
                if let Some(mut guard) = self.publish(frame_no, page) {
                    guard.bytes_mut().fill(0);
                    self.frame(frame_no).newest_modification.store(0, Ordering::Relaxed);
                    self.enlist(frame_no, page, false);
                    return Ok(guard);
                }
            }
        }
    }

    /// The page for reading without a latch, if it is in the pool and not being changed right now.
    #[inline]
    pub fn optimistic(&self, page: PageId) -> Option<OptimisticPage<'_>> {
        let frame_no = self.map.peek(&self.frames, page)?;
        let frame = self.frame(frame_no);
        let version = frame.latch.version()?;
        if frame.page_id() != page.as_u64() {
            return None;
        }
        self.touch(frame_no, page);
        Some(OptimisticPage::new(self, frame_no, version))
    }

    /// Whether the page is in the pool.
    pub fn contains(&self, page: PageId) -> bool {
        self.map.find(&self.frames, page).is_some()
    }

    /// The frame of a page that is dirty and not being written.
    pub(crate) fn peek_dirty(&self, page: PageId) -> Option<u32> {
        let frame_no = self.map.peek(&self.frames, page)?;
        let frame = self.frame(frame_no);
        (frame.oldest_modification() != 0 && !frame.flushing.load(Ordering::Relaxed)).then_some(frame_no)
    }

    fn latch_exclusive(&self, frame_no: u32, page: PageId) -> Option<PageWriteGuard<'_>> {
        let frame = self.frame(frame_no);
        frame.latch.lock_exclusive(&self.lot, frame_no as usize);
        if frame.page_id() == page.as_u64() {
            return Some(PageWriteGuard::new(self, frame_no));
        }
        frame.latch.unlock_exclusive(&self.lot, frame_no as usize);
        None
    }

    /// Notes a use: the first use of a page stamps its time; later ones may move it to the young end.
    #[inline]
    fn touch(&self, frame_no: u32, page: PageId) {
        let frame = self.frame(frame_no);
        let first_use = frame.access_ms.load(Ordering::Relaxed);
        if first_use == 0 {
            frame.access_ms.store(self.now_ms.load(Ordering::Relaxed), Ordering::Relaxed);
            self.read_ahead.on_first_use(self, page);
            return;
        }
        let instance = self.instance_of(page);
        // As long as nothing is evicted nobody asks for the order.
        if instance.freed_clock.load(Ordering::Relaxed) == 0 {
            return;
        }
        let too_old = if frame.is_old.load(Ordering::Relaxed) {
            self.now_ms.load(Ordering::Relaxed).wrapping_sub(first_use)
                >= self.old_blocks_time_ms.load(Ordering::Relaxed)
        } else {
            // A young page moves again only after a quarter of the pool has gone by: hot pages stay put.
            let passed = instance
                .freed_clock
                .load(Ordering::Relaxed)
                .wrapping_sub(frame.freed_clock.load(Ordering::Relaxed));
            passed as usize > self.frames.len() / self.instances.len() / 4
        };
        if too_old {
            self.make_young(instance, frame_no, page);
        }
    }

    #[cold]
    fn make_young(&self, instance: &Instance, frame_no: u32, page: PageId) {
        let frame = self.frame(frame_no);
        let mut lru = instance.lru.lock();
        // Without a latch the frame may have been given to another page by now.
        if frame.page_id() == page.as_u64() && lru.contains(frame_no) {
            lru.make_young(&self.frames, frame_no);
            frame.freed_clock.store(instance.freed_clock.load(Ordering::Relaxed), Ordering::Relaxed);
            self.stats.made_young.add(1);
        }
    }

    /// Gives an exclusively latched, unnamed frame to `page` and enters it in the map; if another frame has the
    /// page meanwhile, the frame goes back to the free list.
    fn publish(&self, frame_no: u32, page: PageId) -> Option<PageWriteGuard<'_>> {
        if self.map.insert(&self.frames, page, frame_no) {
            return Some(PageWriteGuard::new(self, frame_no));
        }
        self.release_free(frame_no);
        None
    }

    /// Puts a page that is ready for use on the LRU list, at the midpoint.
    fn enlist(&self, frame_no: u32, page: PageId, read_ahead: bool) {
        let instance = self.instance_of(page);
        let frame = self.frame(frame_no);
        debug_assert_eq!(frame.page_id(), page.as_u64(), "frame {frame_no} is enlisted for page {page}");
        let now = if read_ahead { 0 } else { self.now_ms.load(Ordering::Relaxed) };
        frame.access_ms.store(now, Ordering::Relaxed);
        frame.freed_clock.store(instance.freed_clock.load(Ordering::Relaxed), Ordering::Relaxed);
        instance.lru.lock().insert_midpoint(&self.frames, frame_no);
    }

    /// Asserts that an exclusively latched frame carries no page, and no change that is not in a file.
    fn assert_vacant(&self, frame_no: u32) {
        let frame = self.frame(frame_no);
        debug_assert_eq!(frame.page_id(), NO_PAGE, "frame {frame_no} is free and carries a page");
        debug_assert!(frame.is_clean(), "frame {frame_no} is free and dirty, or being written");
    }

    /// Returns an exclusively latched frame that carries no page to its free list.
    fn release_free(&self, frame_no: u32) {
        let frame = self.frame(frame_no);
        self.assert_vacant(frame_no);
        frame.latch.unlock_exclusive(&self.lot, frame_no as usize);
        self.instances[usize::from(frame.instance)].free.lock().push(frame_no);
    }

    /// A frame for `page`: exclusively latched, no page id. Evicts, and writes dirty victims if it must.
    ///
    /// # Errors
    /// Errors of writing victims; [`Error::Config`] when for a long time every frame was latched.
    fn take_free(&self, page: PageId) -> Result<u32> {
        const ROUNDS_MAX: u32 = 20_000;
        let instance = self.instance_of(page);
        for round in 0..ROUNDS_MAX {
            let popped = instance.free.lock().pop();
            if let Some(frame_no) = popped {
                // A thread that waited for the frame's former page may hold the latch for a moment.
                self.frame(frame_no).latch.lock_exclusive(&self.lot, frame_no as usize);
                self.assert_vacant(frame_no);
                return Ok(frame_no);
            }
            if let Some(frame_no) = self.evict_or_call(instance) {
                return Ok(frame_no);
            }
            self.stats.wait_free.add(1);
            self.before_wait();
            if self.writer.write_lru_tail(self, instance)? == 0 {
                if round < 100 {
                    std::thread::yield_now();
                } else {
                    std::thread::sleep(std::time::Duration::from_millis(1));
                }
            }
        }
        Err(Error::Config(format!(
            "buffer_pool_size: all {} frames have been latched for {} seconds; the pool is too small for this load",
            self.frames.len(),
            ROUNDS_MAX / 1_000
        )))
    }

    /// Takes the oldest clean page off its frame; the frame is returned exclusively latched.
    fn evict_one(&self, instance: &Instance) -> Option<u32> {
        self.evict_counting(instance, &mut 0)
    }

    /// The same; calls the page cleaner if many older ones could not be taken.
    fn evict_or_call(&self, instance: &Instance) -> Option<u32> {
        let mut passed = 0;
        let evicted = self.evict_counting(instance, &mut passed);
        if passed >= SHORTAGE {
            self.shortage.call();
        }
        evicted
    }

    /// `passed` is told how many pages were looked at.
    fn evict_counting(&self, instance: &Instance, passed: &mut u32) -> Option<u32> {
        let mut lru = instance.lru.lock();
        let mut candidate = lru.tail();
        for _ in 0..self.lru_scan_depth.load(Ordering::Relaxed).max(100) {
            let frame_no = candidate?;
            candidate = lru.towards_head(frame_no);
            *passed += 1;
            let frame = self.frame(frame_no);
            if !frame.is_clean() || !frame.latch.try_exclusive() {
                continue;
            }
            // Again, under the latch (I5).
            if !frame.is_clean() {
                frame.latch.unlock_exclusive(&self.lot, frame_no as usize);
                continue;
            }
            lru.remove(&self.frames, frame_no);
            self.map.remove(&self.frames, frame_no);
            instance.freed_clock.fetch_add(1, Ordering::Relaxed);
            self.stats.evicted.add(1);
            if frame.access_ms.load(Ordering::Relaxed) == 0 {
                self.stats.read_ahead_evicted.add(1);
            }
            return Some(frame_no);
        }
        None
    }

    /// Dirty frames near the eviction end, oldest first, at most `n`.
    pub(crate) fn dirty_lru_tail(&self, instance: &Instance, n: usize) -> Vec<u32> {
        let lru = instance.lru.lock();
        let mut out = Vec::with_capacity(n);
        let mut candidate = lru.tail();
        for _ in 0..self.lru_scan_depth.load(Ordering::Relaxed).max(100) {
            let Some(frame_no) = candidate else { break };
            let frame = self.frame(frame_no);
            if frame.oldest_modification() != 0 && !frame.flushing.load(Ordering::Relaxed) {
                out.push(frame_no);
                if out.len() == n {
                    break;
                }
            }
            candidate = lru.towards_head(frame_no);
        }
        out
    }

    /// Moves clean pages at the eviction end to the free list until `want` frames are free there.
    pub(crate) fn refill_free(&self, instance: &Instance, want: usize) -> usize {
        let mut made = 0;
        while self.free_in(instance) < want {
            let Some(frame_no) = self.evict_one(instance) else { break };
            self.release_free(frame_no);
            made += 1;
        }
        made
    }

    /// LSN of the first change of the oldest dirty page; `None` if everything is clean and written.
    pub fn oldest_modification(&self) -> Option<Lsn> {
        self.instances.iter().filter_map(|i| i.flush.lock().oldest(&self.frames)).min()
    }

    /// Notes a change of an exclusively latched page that the log covers as `start..end`.
    #[inline]
    pub(crate) fn mark_dirty(&self, frame_no: u32, start: Lsn, end: Lsn) {
        let frame = self.frame(frame_no);
        debug_assert!(frame.latch.is_exclusive(), "frame {frame_no} is changed without its exclusive latch");
        debug_assert!(start < end, "a change that the log covers as {start}..{end}");
        let oldest = frame.oldest_modification();
        debug_assert!(
            oldest <= start.0 || oldest == UNLOGGED.0,
            "frame {frame_no} was first changed at {oldest}, now at {start}: the checkpoint could pass the change"
        );
        frame.newest_modification.store(end.0, Ordering::Relaxed);
        if oldest == 0 || oldest == UNLOGGED.0 {
            let mut list = self.instances[usize::from(frame.instance)].flush.lock();
            if oldest != 0 {
                // A page that was built and given up is allocated again: it has a log from now on.
                list.remove(&self.frames, frame_no);
            }
            list.insert(&self.frames, frame_no, start);
        }
    }

    /// Notes a change of an exclusively latched page that no log covers.
    pub(crate) fn mark_dirty_unlogged(&self, frame_no: u32) {
        let frame = self.frame(frame_no);
        debug_assert!(frame.latch.is_exclusive(), "frame {frame_no} is changed without its exclusive latch");
        let oldest = frame.oldest_modification();
        debug_assert!(
            oldest == 0 || oldest == UNLOGGED.0,
            "frame {frame_no} has logged changes, too, the first at {oldest}"
        );
        frame.set_oldest_modification(UNLOGGED.0);
    }

    /// Checks I2–I4 for every frame. For tests, at rest.
    ///
    /// # Panics
    /// If an invariant is broken.
    pub fn validate(&self) {
        let mut listed = 0;
        for (no, instance) in self.instances.iter().enumerate() {
            let free = instance.free.lock();
            let lru = instance.lru.lock();
            let flush = instance.flush.lock();
            let run = lru.frames();
            assert_eq!((run.start, &run), (listed, &flush.frames()), "every frame has its links once");
            listed = run.end;
            lru.validate(&self.frames);
            flush.validate(&self.frames);
            for (i, frame) in self.frames.iter().enumerate().filter(|(_, f)| usize::from(f.instance) == no) {
                let i = i as u32;
                let named = frame.page_id() != NO_PAGE;
                assert_eq!(named, lru.contains(i), "frame {i}: named and on the LRU list");
                assert_eq!(!named, free.contains(&i), "frame {i}: unnamed and free");
                assert_eq!(
                    !matches!(frame.oldest_modification(), 0 | u64::MAX),
                    flush.contains(i),
                    "frame {i}: dirty and listed"
                );
                if named {
                    let id = PageId::from_u64(frame.page_id());
                    assert_eq!(self.map.find(&self.frames, id), Some(i), "frame {i}: mapped");
                    assert_eq!(self.instance_no(id), no, "frame {i}: in its page's instance");
                }
            }
        }
        assert_eq!(listed as usize, self.frames.len(), "every frame has its links");
    }
}
