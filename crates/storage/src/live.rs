//! Settings that change while a folder is open, under InnoDB's own variable names (without the `innodb_` prefix).

use crate::error::{Error, Result};
use vaquita_format::checksum::ChecksumAlgorithm;

/// Which neighbours of a page that is written are written with it (`flush_neighbors`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FlushNeighbors {
    /// 0: none.
    None,
    /// 1: the run of dirty pages around it in its extent.
    #[default]
    Contiguous,
    /// 2: every dirty page of its extent.
    Extent,
}

/// Settings that may change while a folder is open: [`Options::live`](crate::Options::live) has those it is opened with,
/// [`Storage::change`](crate::Storage::change) takes others, and each counts at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LiveSettings {
    /// Percent of the LRU list behind the midpoint.
    pub old_blocks_pct: u32,
    /// Milliseconds a page stays behind the midpoint after its first use.
    pub old_blocks_time_ms: u32,
    /// Pages of an extent read in order before the next extent is read ahead; 64 and more: never.
    pub read_ahead_threshold: u32,
    /// Read the rest of an extent when 13 of its pages are in the pool and recently used.
    pub random_read_ahead: bool,
    /// Bytes by which the system tablespace grows.
    pub autoextend_increment_bytes: u64,
    /// Seconds after which commits that do not wait for the disk are durable.
    pub flush_log_at_timeout: u32,
    /// Checksum written into pages.
    pub checksum_algorithm: ChecksumAlgorithm,
    /// Which neighbours to write along.
    pub flush_neighbors: FlushNeighbors,
    /// Pages per second of background writing in normal times.
    pub io_capacity: u32,
    /// Pages per second when the log or the share of dirty pages demands more.
    pub io_capacity_max: u32,
    /// Percent of dirty pages at which flushing goes to full speed.
    pub max_dirty_pages_pct: u32,
    /// Percent of dirty pages at which pre-flushing begins; 0: off.
    pub max_dirty_pages_pct_lwm: u32,
    /// Adapt flushing to the rate of redo.
    pub adaptive_flushing: bool,
    /// Percent of the log's capacity at which adaptive flushing begins.
    pub adaptive_flushing_lwm: u32,
    /// Seconds over which rates are averaged.
    pub flushing_avg_loops: u32,
    /// Pages looked at per instance for free frames, each second.
    pub lru_scan_depth: u32,
}

impl Default for LiveSettings {
    /// Those of InnoDB 5.6.
    fn default() -> Self {
        Self {
            old_blocks_pct: 37,
            old_blocks_time_ms: 1_000,
            read_ahead_threshold: 56,
            random_read_ahead: false,
            autoextend_increment_bytes: 64 << 20,
            flush_log_at_timeout: 1,
            checksum_algorithm: ChecksumAlgorithm::Innodb,
            flush_neighbors: FlushNeighbors::default(),
            io_capacity: 200,
            io_capacity_max: 2_000,
            max_dirty_pages_pct: 75,
            max_dirty_pages_pct_lwm: 0,
            adaptive_flushing: true,
            adaptive_flushing_lwm: 10,
            flushing_avg_loops: 30,
            lru_scan_depth: 1_024,
        }
    }
}

impl LiveSettings {
    /// # Errors
    /// [`crate::Error::Config`] names the setting, its value and the allowed range.
    pub(crate) fn validate(&self) -> Result<()> {
        check("old_blocks_pct", u64::from(self.old_blocks_pct), 5, 95)?;
        check("io_capacity", u64::from(self.io_capacity), 1, u64::from(self.io_capacity_max.max(1)))?;
        check("max_dirty_pages_pct", u64::from(self.max_dirty_pages_pct), 1, 99)?;
        check("max_dirty_pages_pct_lwm", u64::from(self.max_dirty_pages_pct_lwm), 0, 99)?;
        check("adaptive_flushing_lwm", u64::from(self.adaptive_flushing_lwm), 0, 70)?;
        check("flushing_avg_loops", u64::from(self.flushing_avg_loops), 1, 1_000)?;
        Ok(())
    }
}

/// Checks that a setting is in its range.
pub(crate) fn check(name: &str, value: u64, low: u64, high: u64) -> Result<()> {
    if (low..=high).contains(&value) {
        Ok(())
    } else {
        Err(Error::Config(format!("{name} is {value}; allowed are {low} to {high}")))
    }
}
