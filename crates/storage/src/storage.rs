//! The storage instance: what is open, room in the log, checkpoints, closing. How a folder is opened: [`crate::opening`].

use crate::buf::BufferPool;
use crate::cleaning::Share;
use crate::error::{Error, Result};
use crate::flush::Flusher;
use crate::live::LiveSettings;
use crate::log::{RedoLog, Room};
use crate::options::Options;
use crate::report::OpenReport;
use crate::space::SpaceMap;
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use vaquita_base::{Clock, Crew, Lsn, PageId, PageNo, SpaceId};
use vaquita_format::{PageSize, fil};
use vaquita_io::{DirLock, FileLock, FileSystem};

/// Bytes of redo one mini-transaction may write: a few pages' worth, at least those of pages of 16K.
fn mtr_log_max(page_size: PageSize) -> usize {
    page_size.logical().max(PageSize::DEFAULT.logical()) * 6
}

/// Pages written at a time when the log needs room.
const ROOM_BATCH: usize = 256;

/// The service that makes room in the log: whether it runs, and how it is called.
#[derive(Debug, Default)]
pub(crate) struct RoomService {
    state: Mutex<RoomState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct RoomState {
    runs: bool,
    called: bool,
}

impl RoomService {
    /// Calls it, if it runs.
    fn call(&self) -> bool {
        let mut state = self.state.lock();
        state.called = true;
        self.changed.notify_all();
        state.runs
    }

    fn runs(&self) -> bool {
        self.state.lock().runs
    }

    /// It begins to run.
    pub(crate) fn begin(&self) {
        self.state.lock().runs = true;
    }

    /// It ends, or is to end. Who waits for it has to be woken.
    pub(crate) fn end(&self) {
        self.state.lock().runs = false;
        self.changed.notify_all();
    }

    /// Sleeps until somebody calls, or for a while; false when it is to end.
    pub(crate) fn wait_for_call(&self, period: Duration) -> bool {
        let mut state = self.state.lock();
        if state.runs && !state.called {
            self.changed.wait_for(&mut state, period);
        }
        state.called = false;
        state.runs
    }

    /// Lets others go on whose latched pages or reserved room are in the way.
    fn pause(&self) {
        const MOMENT: Duration = Duration::from_millis(1);
        let mut state = self.state.lock();
        if state.runs {
            self.changed.wait_for(&mut state, MOMENT);
        }
    }
}

/// A folder, open.
#[derive(Debug)]
pub struct Storage {
    options: Options,
    fs: Arc<dyn FileSystem>,
    clock: Arc<dyn Clock>,
    spaces: Arc<SpaceMap>,
    pool: Arc<BufferPool>,
    flusher: Arc<Flusher>,
    log: Arc<RedoLog>,
    mtr_log_max: usize,
    live: Mutex<LiveSettings>,
    /// Held by the thread that writes pages because the log needs room, where no service does.
    makes_room: Mutex<()>,
    /// Who does it while services run.
    pub(crate) room_service: RoomService,
    /// The threads of the page cleaner.
    pub(crate) cleaners: Crew<Share, Error>,
    pub(crate) report: OpenReport,
    closed: AtomicBool,
    /// Held to the end, against other openers.
    pub(crate) _lock: DirLock,
    /// The same against MySQL's servers.
    pub(crate) _file_locks: Vec<FileLock>,
    #[cfg(feature = "canary")]
    canary: crate::canary::Canary,
}

impl Storage {
    pub(crate) fn with_pool(
        options: Options,
        fs: Arc<dyn FileSystem>,
        clock: Arc<dyn Clock>,
        spaces: Arc<SpaceMap>,
        (pool, flusher): (Arc<BufferPool>, Arc<Flusher>),
        log: Arc<RedoLog>,
        report: OpenReport,
    ) -> Storage {
        // A tiny log, as simulations use, holds at least a few mini-transactions.
        let mtr_log_max = mtr_log_max(options.page_size).min(log.capacity() as usize / 6);
        Storage {
            live: Mutex::new(options.live),
            options,
            fs,
            clock,
            spaces,
            pool,
            flusher,
            log,
            mtr_log_max,
            makes_room: Mutex::new(()),
            room_service: RoomService::default(),
            cleaners: Crew::default(),
            report,
            closed: AtomicBool::new(false),
            _lock: DirLock::unshared(),
            _file_locks: Vec::new(),
            #[cfg(feature = "canary")]
            canary: crate::canary::Canary::default(),
        }
    }

    /// The settings it was opened with.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Who writes pages.
    pub(crate) fn flusher(&self) -> &Flusher {
        &self.flusher
    }

    /// What opening found.
    pub fn report(&self) -> &OpenReport {
        &self.report
    }

    /// The buffer pool.
    #[inline]
    pub fn pool(&self) -> &BufferPool {
        &self.pool
    }

    /// The redo log.
    #[inline]
    pub fn log(&self) -> &RedoLog {
        &self.log
    }

    /// The tablespaces.
    pub fn spaces(&self) -> &SpaceMap {
        &self.spaces
    }

    /// The file layer.
    pub fn fs(&self) -> &Arc<dyn FileSystem> {
        &self.fs
    }

    /// The clock.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// Deliberate bugs, for tests.
    #[cfg(feature = "canary")]
    pub fn canary(&self) -> &crate::canary::Canary {
        &self.canary
    }

    /// Bytes of redo a mini-transaction may write.
    pub fn mtr_log_max(&self) -> usize {
        self.mtr_log_max
    }

    /// The service writes pages and moves the checkpoint, or one of the threads that wait where none runs; the others sleep
    /// until there is room for them, or it is their turn.
    #[cold]
    pub(crate) fn wait_for_room(&self, bytes: usize) -> Result<Room> {
        loop {
            if !self.room_service.call()
                && let Some(turn) = self.makes_room.try_lock()
            {
                let made = self.make_room(bytes);
                drop(turn);
                self.log.wake_for_room();
                return made;
            }
            let others = || self.room_service.runs() || self.makes_room.is_locked();
            let room = self.log.wait_for_room(bytes, others);
            if let Some(room) = room.map_err(|e| Error::Poisoned(e.to_string()))? {
                return Ok(room);
            }
        }
    }

    /// Writes old pages until there is room.
    fn make_room(&self, bytes: usize) -> Result<Room> {
        loop {
            if let Some(room) = self.log.try_reserve_room(bytes) {
                return Ok(room);
            }
            self.write_oldest()?;
        }
    }

    /// For the service: writes old pages until nobody waits for room and some is left.
    pub(crate) fn make_room_for_all(&self) -> Result<()> {
        while self.log.must_checkpoint() && self.room_service.runs() {
            if !self.write_oldest()? {
                self.room_service.pause();
            }
        }
        Ok(())
    }

    /// Writes some of the pages that hold the checkpoint, and moves it; whether either came to pass.
    fn write_oldest(&self) -> Result<bool> {
        if let Some(failure) = self.log.failure() {
            return Err(Error::Poisoned(failure.to_string()));
        }
        // Pages whose first change is in the older half of the log's age are what holds the checkpoint.
        let before = self.log.checkpoint_lsn();
        let limit = Lsn(before.0 + self.log.age() / 2 + 1);
        let written = self.flusher.flush_oldest(&self.pool, ROOM_BATCH, limit)?;
        let moved = self.checkpoint()? > before;
        if written == 0 && !moved {
            // Another thread has what must be written.
            self.flusher.wait_for_others();
        }
        Ok(written > 0 || moved)
    }

    /// Moves the checkpoint as far as the flush lists allow; returns where it is.
    ///
    /// # Errors
    /// Errors of the log; they are final.
    pub fn checkpoint(&self) -> Result<Lsn> {
        // The order of these two matters: a mini-transaction between them is below the first or on a flush list.
        let added = self.log.dirty_pages_added_up_to();
        let lsn = self.pool.oldest_modification().map_or(added, |oldest| oldest.min(added));
        if lsn > self.log.checkpoint_lsn() {
            // What the log says of files up to there is not repeated any more.
            self.spaces.settle_names()?;
            self.log.write_checkpoint(lsn)?;
        }
        Ok(self.log.checkpoint_lsn())
    }

    /// Writes every page that is dirty now, and moves the checkpoint to what is the end of the log now, or beyond. What others change
    /// meanwhile keeps nobody here.
    ///
    /// # Errors
    /// Errors of writing; they are final.
    pub fn flush_everything(&self) -> Result<()> {
        let now = self.log.current_lsn();
        self.log.flush_up_to(now)?;
        loop {
            self.flusher.flush_all(&self.pool, now)?;
            if self.checkpoint()? >= now {
                return Ok(());
            }
            // A mini-transaction that began before is still bringing its pages.
            std::thread::yield_now();
        }
    }

    /// Writes the pages of a tablespace that are dirty: its files are complete and durable on return.
    ///
    /// # Errors
    /// Errors of writing; they are final.
    ///
    /// # Latching
    /// The caller holds no page latch, and sees to it that nobody changes the space's pages meanwhile.
    pub fn flush_space(&self, space: SpaceId) -> Result<()> {
        self.flusher.flush_space(&self.pool, space)
    }

    /// Writes pages whose first change lies below `limit`, with neighbours as configured; returns how many.
    ///
    /// # Errors
    /// Errors of writing; they are final.
    pub fn flush_older_than(&self, limit: Lsn) -> Result<usize> {
        self.flusher.flush_oldest(&self.pool, usize::MAX / 2, limit)
    }

    /// Everything written, the FLUSH_LSN of the system files equal to the checkpoint.
    pub(crate) fn make_clean(&self) -> Result<()> {
        loop {
            self.flush_everything()?;
            if self.log.checkpoint_lsn() == self.log.current_lsn() {
                break;
            }
        }
        self.write_flush_lsn(self.log.checkpoint_lsn())
    }

    /// Shuts down cleanly: everything on disk, nothing to recover. Later calls do nothing.
    ///
    /// # Errors
    /// Errors of writing. The folder recovers at the next opening then.
    pub fn close(&self) -> Result<()> {
        if self.options.read_only || self.closed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        self.drop_temporary_space()?;
        self.make_clean()
    }

    pub(crate) fn write_flush_lsn(&self, lsn: Lsn) -> Result<()> {
        let page_size = self.options.page_size;
        let mut page = vaquita_io::AlignedBuf::zeroed(page_size.physical());
        let mut first = 0;
        for file in &self.options.data_file_path {
            let location = self.spaces.locate(PageId::new(SpaceId::SYSTEM, PageNo(first)))?;
            location.file.read_at(&mut page, location.offset)?;
            if first == 0 || fil::page_no(&page).0 == first {
                // No checksum covers the field, and the sector it is in is written whole.
                fil::set_flush_lsn(&mut page, lsn);
                location.file.write_at(&page, location.offset)?;
                location.file.sync()?;
            }
            first += u32::try_from(file.size_bytes / page_size.physical() as u64).unwrap_or(u32::MAX);
        }
        // The pool's copy of page 0 will be written again one day.
        if let Ok(mut page) = self.pool.get_exclusive(PageId::new(SpaceId::SYSTEM, PageNo(0))) {
            fil::set_flush_lsn(page.bytes_mut(), lsn);
        }
        Ok(())
    }
}

impl Storage {
    /// The settings that may change, as they are at present.
    pub fn settings(&self) -> LiveSettings {
        *self.live.lock()
    }

    /// Changes settings. They count at once: for the next step of the page cleaner, the next page read or written.
    pub fn change<R>(&self, change: impl FnOnce(&mut LiveSettings) -> R) -> R {
        let mut now = self.live.lock();
        let done = change(&mut now);
        let (pool, flusher) = (self.pool(), self.flusher());
        pool.set_old_blocks_pct(now.old_blocks_pct);
        pool.set_old_blocks_time_ms(now.old_blocks_time_ms);
        pool.set_read_ahead_threshold(now.read_ahead_threshold);
        pool.set_random_read_ahead(now.random_read_ahead);
        pool.set_lru_scan_depth(now.lru_scan_depth);
        flusher.set_checksum(now.checksum_algorithm);
        flusher.set_neighbors(now.flush_neighbors);
        self.spaces().set_checksum(now.checksum_algorithm);
        self.log().set_flush_interval_us(u64::from(now.flush_log_at_timeout) * 1_000_000);
        done
    }
}

impl Drop for Storage {
    fn drop(&mut self) {
        // Dropping is not closing: what was not made durable is lost, as in a crash. Nothing to do.
        self.closed.store(true, Ordering::Release);
    }
}
