//! Statistics of tables: how many rows, how many different keys, how many pages. For lists of tables and for people;
//! whoever chooses between ways to read asks the trees themselves ([`crate::cursor::estimate`]).
//!
//! They are found out when somebody asks and again when a tenth of the rows has changed since, which InnoDB's background
//! thread does before anybody asks; ANALYZE TABLE finds them out at once. Small tables are counted, of others some leaves
//! of each index are looked at ([`vaquita_btree::Sample`]). Rows that are not committed count, and so do those that only
//! older views miss; delete-marked ones do not.

use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// Statistics of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statistics {
    /// Rows.
    pub rows: u64,
    /// For each index of the table, the clustered one first.
    pub indexes: Vec<IndexStatistics>,
}

/// Statistics of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexStatistics {
    /// Pages that it has reserved in its tablespace.
    pub pages: u64,
    /// Leaf pages.
    pub leaf_pages: u64,
    /// For each number of leading key parts: how many different values there are; NULL is one of them.
    pub distinct: Vec<u64>,
}

impl Statistics {
    /// Pages of the indexes besides the clustered one.
    pub fn secondary_pages(&self) -> u64 {
        self.indexes.iter().skip(1).map(|index| index.pages).sum()
    }

    /// Pages of the clustered index.
    pub fn clustered_pages(&self) -> u64 {
        self.indexes.first().map_or(0, |index| index.pages)
    }
}

/// What a table keeps of its statistics.
#[derive(Debug, Default)]
pub struct TableStats {
    /// Rows inserted, updated and deleted since the table was opened.
    changes: AtomicU64,
    /// Rows inserted less rows deleted. Changes taken back are not counted again.
    growth: AtomicI64,
    known: Mutex<Option<Known>>,
}

#[derive(Debug, Clone)]
struct Known {
    statistics: Arc<Statistics>,
    /// The counters when they were made.
    changes: u64,
    growth: i64,
}

impl TableStats {
    /// A row was inserted (1), updated (0) or deleted (-1).
    #[inline]
    pub(crate) fn row_changed(&self, growth: i64) {
        self.changes.fetch_add(1, Ordering::Relaxed);
        if growth != 0 {
            self.growth.fetch_add(growth, Ordering::Relaxed);
        }
    }

    /// The statistics with the rows that came and went since, none if nobody has asked for them yet; and how many rows
    /// have changed since they were made.
    pub fn known(&self) -> (Option<Arc<Statistics>>, u64) {
        let changes = self.changes.load(Ordering::Relaxed);
        let Some(known) = self.known.lock().clone() else { return (None, changes) };
        let growth = self.growth.load(Ordering::Relaxed) - known.growth;
        let statistics = match growth {
            0 => known.statistics,
            _ => Arc::new(Statistics {
                rows: known.statistics.rows.saturating_add_signed(growth),
                ..(*known.statistics).clone()
            }),
        };
        (Some(statistics), changes.saturating_sub(known.changes))
    }

    /// How many rows have changed until now, and how many have come. Statistics that are made next are of this moment.
    pub(crate) fn moment(&self) -> (u64, i64) {
        (self.changes.load(Ordering::Relaxed), self.growth.load(Ordering::Relaxed))
    }

    /// Keeps statistics that were made at a moment.
    pub(crate) fn keep(&self, statistics: Arc<Statistics>, (changes, growth): (u64, i64)) {
        *self.known.lock() = Some(Known { statistics, changes, growth });
    }

    /// Those that are still good enough: less than a tenth of the rows has changed.
    pub(crate) fn fresh(&self) -> Option<Arc<Statistics>> {
        let (statistics, changed) = self.known();
        statistics.filter(|s| changed <= s.rows / 10)
    }
}
