//! A scenario: everything about a run that is chosen, from one seed.

use std::fmt;
use vaquita_base::Rng;
use vaquita_format::PageSize;
use vaquita_format::checksum::ChecksumAlgorithm;
use vaquita_io::FlushMethod;
use vaquita_storage::{FlushNeighbors, LiveSettings, Options, SystemFile};

/// The folder of the simulated machine.
pub const DIR: &str = "/db";

/// What happens to the machine in a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ordeal {
    /// The power goes off at a random operation on the disk.
    PowerCut,
    /// The process is killed at a random moment; the machine goes on.
    Kill,
    /// A clean shutdown, in whose course the power may go off.
    Close,
    /// A sync fails.
    FailedSync,
    /// A write fails.
    FailedWrite,
    /// Reads fail or end early, now and then, in the course of recovery too.
    FailedReads,
    /// The disk is full for a while.
    NoSpace,
    /// Bits of data files turn over. Ends the run.
    BitRot,
    /// A write goes to another place of its file. Ends the run.
    Misdirected,
}

/// A deliberate bug. A harness that does not catch it is blind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Canary {
    /// No bug.
    #[default]
    None,
    /// Pages are written straight to their places.
    SkipDoublewrite,
    /// Syncs succeed without effect: commits are acknowledged before they are durable.
    AcknowledgeBeforeSync,
    /// One redo record in so many is left out of the log.
    SkipRedoRecord(u64),
}

/// What works on the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    /// Pages with stamps, in segments.
    pub pages: bool,
    /// Trees.
    pub trees: bool,
}

/// A scenario.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// Everything else follows from it.
    pub seed: u64,
    /// Page size of the folder.
    pub page_size: PageSize,
    /// Frames of the pool.
    pub frames: usize,
    /// Redo log files.
    pub log_files: u32,
    /// Size of each.
    pub log_file_bytes: u64,
    /// Bytes of the log buffer.
    pub log_buffer_bytes: usize,
    /// Page checksums.
    pub checksum: ChecksumAlgorithm,
    /// Neighbours written along.
    pub neighbors: FlushNeighbors,
    /// How files are opened.
    pub flush_method: FlushMethod,
    /// The power goes off while the folder is being made.
    pub cut_creation: bool,
    /// What works.
    pub load: Load,
    /// What happens, round by round.
    pub ordeals: Vec<Ordeal>,
    /// The bug that is switched on.
    pub canary: Canary,
}

fn pick<T: Copy>(rng: &mut Rng, from: &[T]) -> T {
    from[rng.index(from.len())]
}

impl Scenario {
    /// The scenario of a seed.
    pub fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed ^ 0x5CE4_A210);
        let page_bytes = pick(&mut rng, &[4096, 4096, 4096, 8192, 8192, 16384]);
        let page_size = PageSize::new(page_bytes).expect("a page size");
        // The log wraps often, but holds the largest structure change several times.
        let log_file_bytes = pick(&mut rng, &[9, 12, 16, 32]) * 2 * page_bytes as u64;
        Self {
            seed,
            page_size,
            frames: 34 + rng.index(31),
            log_files: pick(&mut rng, &[2, 2, 3]),
            log_file_bytes: log_file_bytes.next_multiple_of(4096),
            log_buffer_bytes: pick(&mut rng, &[16 << 10, 64 << 10]),
            checksum: pick(
                &mut rng,
                &[
                    ChecksumAlgorithm::Innodb,
                    ChecksumAlgorithm::Crc32,
                    ChecksumAlgorithm::StrictInnodb,
                    ChecksumAlgorithm::StrictCrc32,
                ],
            ),
            neighbors: pick(
                &mut rng,
                &[FlushNeighbors::None, FlushNeighbors::Contiguous, FlushNeighbors::Extent],
            ),
            flush_method: pick(&mut rng, &[FlushMethod::ODirect, FlushMethod::Fsync, FlushMethod::ODsync]),
            cut_creation: rng.one_in(12),
            load: load(&mut rng),
            ordeals: ordeals(&mut rng),
            canary: Canary::None,
        }
    }

    /// The same scenario under power cuts alone, with a bug switched on.
    #[must_use]
    pub fn with_canary(mut self, canary: Canary) -> Self {
        self.canary = canary;
        self.cut_creation = false;
        self.ordeals.iter_mut().for_each(|o| *o = Ordeal::PowerCut);
        self
    }

    /// Settings of the storage.
    pub fn options(&self) -> Options {
        Options {
            page_size: self.page_size,
            buffer_pool_size: self.frames * self.page_size.logical(),
            data_file_path: vec![SystemFile { name: "ibdata1".into(), size_bytes: 4 << 20 }],
            live: LiveSettings {
                autoextend_increment_bytes: 1 << 20,
                checksum_algorithm: self.checksum,
                flush_neighbors: self.neighbors,
                io_capacity: 8,
                io_capacity_max: 64,
                lru_scan_depth: 8,
                ..LiveSettings::default()
            },
            log_files_in_group: self.log_files,
            log_file_size: self.log_file_bytes,
            log_buffer_size: self.log_buffer_bytes,
            flush_method: self.flush_method,
            log_file_buffering: self.seed.is_multiple_of(4),
            open_files: 10,
            recovery_threads: 1,
            doublewrite: self.canary != Canary::SkipDoublewrite,
            ..Options::new(DIR)
        }
    }
}

fn load(rng: &mut Rng) -> Load {
    match rng.below(6) {
        0 => Load { pages: true, trees: false },
        1 | 2 => Load { pages: true, trees: true },
        _ => Load { pages: false, trees: true },
    }
}

fn ordeals(rng: &mut Rng) -> Vec<Ordeal> {
    let rounds = 3 + rng.index(6);
    let mut all: Vec<Ordeal> = (0..rounds)
        .map(|_| match rng.below(20) {
            0..12 => Ordeal::PowerCut,
            12 => Ordeal::Kill,
            13 => Ordeal::Close,
            14 => Ordeal::FailedSync,
            15 => Ordeal::FailedWrite,
            16 => Ordeal::FailedReads,
            17 => Ordeal::NoSpace,
            _ => Ordeal::PowerCut,
        })
        .collect();
    match rng.below(12) {
        0 => all.push(Ordeal::BitRot),
        1 => all.push(Ordeal::Misdirected),
        _ => {}
    }
    all
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}
