//! Redo log: the stream of page changes that recovery repeats.
//!
//! What this does: takes the records of committed mini-transactions from many threads at once, writes them into
//! the log files, makes them durable on demand, and reads them back after a crash ([`LogReader`]). What it does
//! not: know records, pages or transactions, or decide when a checkpoint is due. The design is that of the article
//! "Redo Logging in InnoDB" (July 2013) for the files and LSNs, and that of MySQL 8.0 as its team described it for
//! parallel appending; deviations are said where they are made.
//!
//! # Life of a mini-transaction's records
//! 1. [`RedoLog::try_reserve_room`] before the mini-transaction begins, without latches: the files have room.
//! 2. [`RedoLog::append`]: one atomic addition reserves a range of the stream, the records are copied into the log
//!    buffer in parallel with other threads ([`buffer`]).
//! 3. The caller puts the pages it changed on the flush lists, then calls [`RedoLog::closed`].
//! 4. The writer, whichever thread that is, writes what is complete ([`writer`]); a leader syncs for all that wait
//!    ([`flush`], [`waiters`]).
//! 5. [`RedoLog::write_checkpoint`], once the pages are on disk, frees the place in the files ([`checkpoint`]).
//!
//! # LSNs
//! `checkpoint <= flushed <= written <= taken out of the buffer <= complete <= current`, and
//! `checkpoint <= dirty pages added <= current`.
//!
//! # Invariants
//! - I1: the block that holds the end of what is written is on disk, even if it holds no record yet.
//! - I2: blocks from the checkpoint's on are never overwritten with others; the log stops before.
//! - I3: block headers carry the number of the next checkpoint. Opening for appending first writes a checkpoint
//!   (same LSN, next number), so blocks written before carry smaller numbers than all blocks written after. A scan
//!   stops where the number decreases: there begins what an earlier life of the log left behind its end.
//! - I4: after a failed write or sync nothing is written or acknowledged.
//!
//! # Latching
//! `writer` (held over writes) before nothing; `checkpoint` (held over a flush and a sync) before `writer`. The
//! mutexes of [`waiters`] and of room waiters are leaves. Nothing here takes a page latch; callbacks run without
//! any of these, but possibly on a thread that holds page latches, so they must not wait.
//!
//! # Crash
//! Losing power keeps everything up to `flushed`, and of later blocks any subset, each whole or not at all. The
//! scan gives the longest run of complete mini-transactions.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use vaquita_base::{Clock, Lsn};
use vaquita_format::redo_file::{BLOCK_SIZE, Block, Checkpoint, LogAnchor, LogGeometry, sn_of};
use vaquita_io::{FileSystem, FlushMethod, OpenMode, OpenOptions};

#[allow(unsafe_code)]
mod buffer;
mod checkpoint;
mod error;
pub mod files;
mod flush;
mod link_ring;
mod room;
mod scan;
mod stats;
mod sync;
mod waiters;
mod writer;

#[cfg(test)]
mod tests;

pub use error::{LogError, Result};
pub use files::{FolderId, NewLog};
pub use flush::CommitPolicy;
pub use room::{LogPressure, Room};
pub use scan::{Chunk, Group, LogReader, LogSummary};
pub use stats::LogStats;
pub use waiters::DurableCallback;

use buffer::LogBuffer;
use checkpoint::CheckpointState;
use files::LogFiles;
use link_ring::LinkRing;
use room::RoomWaiters;
use sync::CachePadded;
use waiters::Waiters;
use writer::Writer;

/// Bytes of the log buffer, at least.
pub const BUFFER_BYTES_MIN: usize = 8 * BLOCK_SIZE;

/// Bytes of disorder among appending threads, at most: links cost 4 bytes for each.
const DISORDER_MAX: usize = 256 << 10;

/// How a log is opened.
#[derive(Debug, Clone)]
pub struct LogConfig {
    /// Folder of the files.
    pub dir: PathBuf,
    /// Identity of the database folder, kept in the files' labels.
    pub folder: FolderId,
    /// Bytes of the log buffer (`innodb_log_buffer_size`), rounded up to whole blocks.
    pub buffer_bytes: usize,
    /// How writes are made durable.
    pub flush_method: FlushMethod,
    /// Bypass the page cache where the data files do: a commit is then one request to the disk. Commits that do not wait
    /// for the disk ([`CommitPolicy::Write`]) cost more then.
    pub direct: bool,
    /// Commits that do not wait for a sync get one after this time (`innodb_flush_log_at_timeout`).
    pub flush_interval_us: u64,
    /// Nothing is ever appended, and opening changes no file.
    pub read_only: bool,
}

impl LogConfig {
    /// Buffer of 8 MiB, a sync every second: InnoDB's defaults.
    pub fn new(dir: impl Into<PathBuf>, folder: FolderId) -> Self {
        Self {
            dir: dir.into(),
            folder,
            buffer_bytes: 8 << 20,
            flush_method: FlushMethod::default(),
            direct: false,
            flush_interval_us: 1_000_000,
            read_only: false,
        }
    }

    /// How the files are opened.
    fn open_options(&self, mode: OpenMode) -> OpenOptions {
        use FlushMethod::{ODirect, ODirectNoFsync, ODsync};
        OpenOptions {
            direct: self.direct && matches!(self.flush_method, ODirect | ODirectNoFsync),
            dsync: self.flush_method == ODsync,
            nosync: self.flush_method == FlushMethod::NoSync,
            ..OpenOptions::new(mode)
        }
    }

    fn disorder(&self) -> usize {
        self.buffer_bytes.next_power_of_two().clamp(BUFFER_BYTES_MIN, DISORDER_MAX)
    }
}

/// Where in the stream a mini-transaction's records lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Appended {
    /// LSN of the first byte: the oldest modification of pages that were clean.
    pub start: Lsn,
    /// LSN after the last byte: the new LSN of the pages, and what a commit waits for.
    pub end: Lsn,
}

/// Whether a step found something to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Nothing to do.
    Idle,
    /// Something was done; more may be there.
    Worked,
}

/// The redo log, open for appending. Shared by all threads.
pub struct RedoLog {
    config: LogConfig,
    clock: Arc<dyn Clock>,
    files: LogFiles,
    anchor: LogAnchor,
    buffer: LogBuffer,
    /// Which mini-transactions have their pages on the flush lists.
    closed: LinkRing,
    writer: Mutex<Writer>,
    /// Written to the files up to here.
    written: CachePadded<AtomicU64>,
    /// Durable up to here.
    flushed: CachePadded<AtomicU64>,
    flushed_at_us: AtomicU64,
    /// See [`LogConfig::flush_interval_us`].
    flush_interval_us: AtomicU64,
    /// Microseconds that the last syncs have taken together, see [`RedoLog::sync_time_us`].
    sync_time: AtomicU64,
    waiters: Waiters,
    /// The background service was kicked to write.
    kicked: AtomicBool,
    checkpoint: CheckpointState,
    room: RoomWaiters,
    failure: OnceLock<LogError>,
    stats: LogStats,
}

impl std::fmt::Debug for RedoLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RedoLog")
            .field("dir", &self.config.dir)
            .field("current", &self.current_lsn())
            .field("written", &self.written_lsn())
            .field("flushed", &self.flushed_lsn())
            .field("checkpoint", &self.checkpoint_lsn())
            .field("failure", &self.failure)
            .finish_non_exhaustive()
    }
}

/// Where appending begins.
struct Start {
    end: Lsn,
    /// Block that holds `end`: its records before `end` are kept.
    tail: Block,
    checkpoint: Checkpoint,
}

impl RedoLog {
    /// Creates the log files and opens them.
    ///
    /// # Errors
    /// [`LogError::Exists`] if there is a log; [`LogError::Corrupt`] if number or size of files is out of bounds;
    /// what the file layer says. There is no log then, unless it was there before.
    pub fn create(
        fs: &dyn FileSystem,
        clock: Arc<dyn Clock>,
        config: LogConfig,
        new: NewLog,
    ) -> Result<RedoLog> {
        files::create(fs, &config.dir, new, config.folder)?;
        let files = Self::open_files(fs, &config)?;
        let checkpoint = files.read_checkpoint()?;
        let tail = scan::read_block(&files, LogAnchor::from(&checkpoint), checkpoint.lsn)?;
        Ok(Self::new(clock, config, files, Start { end: checkpoint.lsn, tail, checkpoint }))
    }

    /// Opens a log that was read to its end for appending: makes durable what was read, then begins a new life of
    /// the log (I3).
    fn reopen(
        fs: &dyn FileSystem,
        clock: Arc<dyn Clock>,
        config: LogConfig,
        checkpoint: Checkpoint,
        end: Lsn,
    ) -> Result<RedoLog> {
        let files = Self::open_files(fs, &config)?;
        let anchor = LogAnchor::from(&checkpoint);
        let tail = scan::read_block(&files, anchor, end)?;
        if config.read_only {
            return Ok(Self::new(clock, config, files, Start { end, tail, checkpoint }));
        }
        files.relabel(config.folder)?;
        files.sync_all()?;
        let checkpoint = Checkpoint { number: checkpoint.number + 1, ..checkpoint };
        files.write_checkpoint(&checkpoint)?;
        let log = Self::new(clock, config, files, Start { end, tail, checkpoint });
        log.write_tail()?;
        Ok(log)
    }

    fn open_files(fs: &dyn FileSystem, config: &LogConfig) -> Result<LogFiles> {
        let mode = if config.read_only { OpenMode::Read } else { OpenMode::ReadWrite };
        LogFiles::open(fs, &config.dir, Some(config.folder), config.open_options(mode))
    }

    fn new(clock: Arc<dyn Clock>, mut config: LogConfig, files: LogFiles, start: Start) -> Self {
        config.buffer_bytes = config.buffer_bytes.max(BUFFER_BYTES_MIN).next_multiple_of(BLOCK_SIZE);
        let disorder = config.disorder();
        let (buffer, taker) = LogBuffer::new(config.buffer_bytes, disorder, start.end);
        Self {
            anchor: LogAnchor::from(&start.checkpoint),
            buffer,
            closed: LinkRing::new(disorder, sn_of(start.end)),
            writer: Mutex::new(Writer::new(taker, &start.tail)),
            written: CachePadded::new(AtomicU64::new(start.end.get())),
            flushed: CachePadded::new(AtomicU64::new(start.end.get())),
            flushed_at_us: AtomicU64::new(clock.now_us()),
            flush_interval_us: AtomicU64::new(config.flush_interval_us),
            sync_time: AtomicU64::new(0),
            waiters: Waiters::new(start.end),
            kicked: AtomicBool::new(false),
            checkpoint: CheckpointState::new(&start.checkpoint),
            room: RoomWaiters::default(),
            failure: OnceLock::new(),
            stats: LogStats::default(),
            config,
            clock,
            files,
        }
    }

    /// Appends the records of a mini-transaction, whole, at the end of the stream.
    ///
    /// The order of appended mini-transactions is that of their LSNs. The caller holds the latches of the pages it
    /// changed until it has put them on the flush lists and called [`RedoLog::closed`], and waits for nothing in
    /// between. This may wait for the log buffer, that is for a write, and for other threads to come as far as
    /// `closed`; never for a checkpoint.
    ///
    /// Cannot fail: the pages are changed already. After a failure of the log the records are dropped and every
    /// wait for durability gives the error, so the pages never reach the disk.
    #[must_use = "pages get these LSNs, and `closed` must be called: checkpoints and later threads wait for it"]
    pub fn append(&self, records: &[u8]) -> Appended {
        if records.is_empty() {
            let end = self.buffer.end();
            return Appended { start: end, end };
        }
        self.stats.appends.add(1);
        self.stats.appended_bytes.add(records.len() as u64);
        let mut place = self.buffer.reserve(records.len());
        while !self.buffer.fill(&mut place, records) {
            if self.make_buffer_room(&place).is_err() {
                self.buffer.abandon(&mut place);
            }
        }
        let appended = Appended { start: place.start(), end: place.end() };
        self.closed.wait_for_slot(sn_of(appended.start));
        if self.buffer.is_half_full(appended.end) && !self.kicked.swap(true, Ordering::Relaxed) {
            self.waiters.kick();
        }
        appended
    }

    /// The pages of an appended mini-transaction are on the flush lists.
    pub fn closed(&self, appended: &Appended) {
        if appended.start != appended.end {
            self.closed.link(sn_of(appended.start), sn_of(appended.end));
        }
    }

    /// All mini-transactions before this LSN have their pages on the flush lists. A checkpoint must not lie above,
    /// nor above the oldest modification of any page on them.
    pub fn dirty_pages_added_up_to(&self) -> Lsn {
        vaquita_format::redo_file::lsn_of(self.closed.follow())
    }

    /// Bytes of records by which pages may come onto the flush lists out of order.
    pub fn dirty_page_disorder(&self) -> u64 {
        self.closed.capacity()
    }

    /// End of the stream: what the next mini-transaction starts at.
    pub fn current_lsn(&self) -> Lsn {
        self.buffer.end()
    }

    /// Everything before is in the files, not necessarily durable.
    pub fn written_lsn(&self) -> Lsn {
        Lsn(self.written.load(Ordering::Acquire))
    }

    /// Everything before is durable.
    pub fn flushed_lsn(&self) -> Lsn {
        Lsn(self.flushed.load(Ordering::Acquire))
    }

    /// Number and size of the files.
    pub fn geometry(&self) -> LogGeometry {
        self.files.geometry()
    }

    /// How the log was opened.
    pub fn config(&self) -> &LogConfig {
        &self.config
    }

    /// Counters.
    pub fn stats(&self) -> &LogStats {
        &self.stats
    }

    /// The first failure, if the log has failed.
    pub fn failure(&self) -> Option<&LogError> {
        self.failure.get()
    }

    fn check_alive(&self) -> Result<()> {
        match self.failure.get() {
            None => Ok(()),
            Some(cause) => Err(LogError::Failed(Box::new(cause.clone()))),
        }
    }

    /// The log has failed (I4): tells everyone, now and later, and gives the error to return.
    #[cold]
    fn fail(&self, cause: LogError) -> LogError {
        // The first failure stays the cause of all later errors.
        let first = self.failure.get_or_init(|| cause.clone());
        self.waiters.fail(&LogError::Failed(Box::new(first.clone())));
        self.room.wake_all();
        cause
    }
}
