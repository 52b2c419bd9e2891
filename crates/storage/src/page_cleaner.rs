//! The page cleaner: how many pages to write in the background, each second.
//!
//! A step function. Between the steps it frees frames when whoever needs one has passed many that are dirty. It keeps frames free at the eviction end of each instance, writes old dirty pages at a rate
//! that follows the dirty share and the age of the log, and moves the checkpoint on. Each instance is a share of a step that
//! a thread of its own may do ([`vaquita_base::Crew`]). After the InnoDB 5.6 manual's
//! description of adaptive flushing (`adaptive_flushing`, `adaptive_flushing_lwm`, `flushing_avg_loops`,
//! `io_capacity`, `io_capacity_max`, `max_dirty_pages_pct`, `max_dirty_pages_pct_lwm`).
//!
//! The formula:
//! - `pct_dirty`: 0 below the low-water mark, else dirty% · 100 / (max_dirty% + 1); without a low-water mark 100 as
//!   soon as dirty% reaches max_dirty%, 0 before.
//! - `pct_lsn`: 0 below `adaptive_flushing_lwm` percent of the log; else, with f the age as a percentage of the age
//!   at which flushing turns urgent, (io_capacity_max / io_capacity) · f · √f / 7.5: gentle at first, the full
//!   `io_capacity_max` as the log runs out.
//! - pages = (io_capacity · max(pct) / 100 + average pages per second + pages that the redo rate dirties) / 3,
//!   at most `io_capacity_max`.

pub use crate::cleaning::CleanerReport;
use crate::cleaning::Share;
use crate::error::Result;
use crate::live::LiveSettings;
use crate::storage::Storage;
use vaquita_base::Lsn;

/// The cleaner's memory between steps.
#[derive(Debug, Default)]
pub struct PageCleaner {
    averages: Averages,
}

/// The knobs.
#[derive(Debug, Clone, Copy)]
struct FlushRules {
    io_capacity: f64,
    io_capacity_max: f64,
    max_dirty_pct: f64,
    max_dirty_pct_lwm: f64,
    adaptive: bool,
    adaptive_lwm_pct: f64,
    avg_loops: u32,
}

/// State of the pool and the log that the rate depends on.
#[derive(Debug, Clone, Copy)]
struct Pressure {
    dirty_pct: f64,
    age: f64,
    capacity: f64,
}

#[derive(Debug, Default)]
struct Averages {
    loops: u32,
    pages_sum: f64,
    start_lsn: Lsn,
    pages_per_step: f64,
    redo_per_step: f64,
}

impl PageCleaner {
    /// A cleaner that has seen nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// One second's work. With `idle`, nothing else is going on and a full `io_capacity` is written.
    ///
    /// # Errors
    /// Errors of writing pages or the log; they are final.
    pub fn step(&mut self, storage: &Storage, idle: bool) -> Result<CleanerReport> {
        // Looked at anew in each step: they may change meanwhile.
        let rates = storage.settings();
        let rules = FlushRules::new(&rates);
        let n = if idle { rules.io_capacity as usize } else { self.pages_wanted(&rules, storage) };
        let report = clean(storage, rates.lru_scan_depth as usize, n)?;
        self.averages.pages_sum += report.list_written as f64;
        storage.checkpoint()?;
        Ok(report)
    }

    /// What is done between the steps when dirty pages have come to the eviction end: frames are made free.
    ///
    /// # Errors
    /// As [`PageCleaner::step`].
    pub(crate) fn free_frames(&self, storage: &Storage) -> Result<CleanerReport> {
        clean(storage, storage.settings().lru_scan_depth as usize, 0)
    }

    fn pages_wanted(&mut self, rules: &FlushRules, storage: &Storage) -> usize {
        let pool = storage.pool();
        let log = storage.log();
        let now = log.current_lsn();
        self.averages.update(rules, now);
        let oldest = pool.oldest_modification().unwrap_or(now);
        let pressure = Pressure {
            dirty_pct: 100.0 * pool.dirty_count() as f64 / pool.frame_count() as f64,
            age: now.0.saturating_sub(oldest.0) as f64,
            capacity: log.capacity() as f64,
        };
        let redo_limit = Lsn(oldest.0 + self.averages.redo_per_step as u64);
        let for_redo = pool.count_dirty_below(redo_limit) as f64;
        rules.pages(pressure, self.averages.pages_per_step, for_redo)
    }
}

/// Keeps frames free at each eviction end, and writes so many of the oldest pages.
fn clean(storage: &Storage, lru_depth: usize, by_age: usize) -> Result<CleanerReport> {
    let instances = storage.pool().instances().len();
    let share = |instance| Share::new(instance, lru_depth, by_age.div_ceil(instances));
    // The last one is taken first.
    let shares = (0..instances).rev().map(share).collect();
    let done = storage.cleaners.run(shares, |share| share.clean(storage.pool(), storage.flusher()))?;
    let mut report = CleanerReport::default();
    for share in done {
        report.freed += share.report.freed;
        report.lru_written += share.report.lru_written;
        report.list_written += share.report.list_written;
    }
    Ok(report)
}

impl Averages {
    fn update(&mut self, rules: &FlushRules, now: Lsn) {
        if self.start_lsn == Lsn::ZERO {
            self.start_lsn = now;
        }
        self.loops += 1;
        if self.loops >= rules.avg_loops {
            let loops = f64::from(self.loops);
            self.pages_per_step = (self.pages_per_step + self.pages_sum / loops) / 2.0;
            self.redo_per_step = (self.redo_per_step + (now.0 - self.start_lsn.0) as f64 / loops) / 2.0;
            self.loops = 0;
            self.pages_sum = 0.0;
            self.start_lsn = now;
        }
    }
}

impl FlushRules {
    fn new(rates: &LiveSettings) -> Self {
        Self {
            io_capacity: f64::from(rates.io_capacity),
            io_capacity_max: f64::from(rates.io_capacity_max.max(rates.io_capacity)),
            max_dirty_pct: f64::from(rates.max_dirty_pages_pct),
            max_dirty_pct_lwm: f64::from(rates.max_dirty_pages_pct_lwm),
            adaptive: rates.adaptive_flushing,
            adaptive_lwm_pct: f64::from(rates.adaptive_flushing_lwm),
            avg_loops: rates.flushing_avg_loops,
        }
    }

    fn pct_for_dirty(&self, dirty_pct: f64) -> f64 {
        if self.max_dirty_pct_lwm == 0.0 {
            return if dirty_pct >= self.max_dirty_pct { 100.0 } else { 0.0 };
        }
        if dirty_pct < self.max_dirty_pct_lwm { 0.0 } else { dirty_pct * 100.0 / (self.max_dirty_pct + 1.0) }
    }

    fn pct_for_lsn(&self, age: f64, capacity: f64) -> f64 {
        // See `log::room` for where flushing turns urgent.
        let urgent_age = capacity * 7.0 / 8.0;
        if age < capacity * self.adaptive_lwm_pct / 100.0 || (!self.adaptive && age < urgent_age) {
            return 0.0;
        }
        let factor = age * 100.0 / urgent_age;
        (self.io_capacity_max / self.io_capacity) * (factor * factor.sqrt()) / 7.5
    }

    fn pages(&self, p: Pressure, avg_pages: f64, for_redo: f64) -> usize {
        let pct = self.pct_for_dirty(p.dirty_pct).max(self.pct_for_lsn(p.age, p.capacity));
        if pct == 0.0 {
            return 0;
        }
        let by_pct = self.io_capacity * pct / 100.0;
        let n = (by_pct + avg_pages + for_redo.min(self.io_capacity_max * 2.0)) / 3.0;
        n.clamp(1.0, self.io_capacity_max) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules() -> FlushRules {
        FlushRules::new(&LiveSettings::default())
    }

    fn pages(dirty_pct: f64, age_pct: f64) -> usize {
        rules().pages(Pressure { dirty_pct, age: age_pct, capacity: 100.0 }, 0.0, 0.0)
    }

    /// Pages and redo per step are known when so many steps have been made, and not before.
    #[test]
    fn averages_are_taken_over_as_many_steps_as_asked() {
        for avg_loops in [1, 4, 30] {
            let rules = FlushRules { avg_loops, ..rules() };
            let mut averages = Averages::default();
            for step in 1..avg_loops {
                averages.pages_sum += 10.0;
                averages.update(&rules, Lsn(1_000 * u64::from(step)));
                assert_eq!(averages.pages_per_step, 0.0, "step {step} of {avg_loops}");
            }
            averages.pages_sum += 10.0;
            averages.update(&rules, Lsn(1_000 * u64::from(avg_loops)));
            assert_eq!(averages.pages_per_step, 5.0, "{avg_loops}");
        }
    }

    #[test]
    fn nothing_is_written_below_the_low_water_marks() {
        assert_eq!(pages(74.0, 9.0), 0);
    }

    #[test]
    fn the_rate_grows_with_the_age_of_the_log_up_to_the_maximum() {
        let rates: Vec<usize> =
            [11.0, 20.0, 40.0, 60.0, 80.0, 100.0].iter().map(|&a| pages(0.0, a)).collect();
        assert!(rates.windows(2).all(|w| w[0] <= w[1]), "{rates:?}");
        assert!(rates[0] > 0);
        let all = rules().pages(Pressure { dirty_pct: 0.0, age: 100.0, capacity: 100.0 }, 2_000.0, 9_999.0);
        assert_eq!(all, 2_000, "io_capacity_max");
    }

    #[test]
    fn too_many_dirty_pages_mean_full_io_capacity() {
        assert_eq!(pages(75.0, 0.0), 200 / 3);
        let mut with_lwm = rules();
        with_lwm.max_dirty_pct_lwm = 10.0;
        assert_eq!(with_lwm.pct_for_dirty(9.0), 0.0);
        assert!(with_lwm.pct_for_dirty(40.0) > 50.0);
    }
}
