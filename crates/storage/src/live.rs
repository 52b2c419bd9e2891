//! Settings that change while a folder is open.

use crate::options::{FlushNeighbors, Options};
use parking_lot::Mutex;
use vaquita_format::checksum::ChecksumAlgorithm;

/// A new value of a setting that may change while the folder is open; the fields of [`Options`] of these names are what it is
/// opened with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is documented where Options has it")]
pub enum Setting {
    OldBlocksPct(u32),
    OldBlocksTimeMs(u32),
    ReadAheadThreshold(u32),
    RandomReadAhead(bool),
    AutoextendIncrementBytes(u64),
    ChecksumAlgorithm(ChecksumAlgorithm),
    FlushNeighbors(FlushNeighbors),
    IoCapacity(u32),
    IoCapacityMax(u32),
    MaxDirtyPagesPct(u32),
    MaxDirtyPagesPctLwm(u32),
    AdaptiveFlushing(bool),
    AdaptiveFlushingLwm(u32),
    FlushingAvgLoops(u32),
    LruScanDepth(u32),
    FlushLogAtTimeout(u32),
}

/// What the page cleaner and the growth of the system tablespace go by.
#[derive(Debug)]
pub(crate) struct Live(pub(crate) Mutex<Rates>);

/// Values of the settings of that name in [`Options`].
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs, reason = "each is documented where Options has it")]
pub struct Rates {
    pub autoextend_increment_bytes: u64,
    pub io_capacity: u32,
    pub io_capacity_max: u32,
    pub max_dirty_pages_pct: u32,
    pub max_dirty_pages_pct_lwm: u32,
    pub adaptive_flushing: bool,
    pub adaptive_flushing_lwm: u32,
    pub flushing_avg_loops: u32,
    pub lru_scan_depth: u32,
}

impl Rates {
    pub(crate) fn new(options: &Options) -> Rates {
        Rates {
            autoextend_increment_bytes: options.autoextend_increment_bytes,
            io_capacity: options.io_capacity,
            io_capacity_max: options.io_capacity_max,
            max_dirty_pages_pct: options.max_dirty_pages_pct,
            max_dirty_pages_pct_lwm: options.max_dirty_pages_pct_lwm,
            adaptive_flushing: options.adaptive_flushing,
            adaptive_flushing_lwm: options.adaptive_flushing_lwm,
            flushing_avg_loops: options.flushing_avg_loops,
            lru_scan_depth: options.lru_scan_depth,
        }
    }
}

impl Live {
    pub(crate) fn new(options: &Options) -> Live {
        Live(Mutex::new(Rates::new(options)))
    }

    pub(crate) fn rates(&self) -> Rates {
        *self.0.lock()
    }
}
