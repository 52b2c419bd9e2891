//! Statistics of tables: how many rows, how many different keys, how many pages. For lists of tables and for people;
//! whoever chooses between ways to read asks the trees themselves ([`crate::cursor::estimate`]).
//!
//! They are found out when somebody asks and again when a tenth of the rows has changed since, which InnoDB's background
//! thread does before anybody asks; ANALYZE TABLE finds them out at once. Small tables are counted, of others some leaves
//! of each index are looked at ([`vaquita_btree::Sample`]). Rows that are not committed count, and so do those that only
//! older views miss; delete-marked ones do not.

use crate::core::Core;
use crate::error::Result;
use crate::table::Table;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use vaquita_storage::space::fsp;

/// Leaves that are looked at for each field of an index: the default of `innodb_stats_persistent_sample_pages`.
const LEAVES: usize = 20;

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

    /// Those that are still good enough: less than a tenth of the rows has changed.
    fn fresh(&self) -> Option<Arc<Statistics>> {
        let (statistics, changed) = self.known();
        statistics.filter(|s| changed <= s.rows / 10)
    }
}

impl Core {
    /// Finds out a table's statistics anew. Who calls it holds a metadata lock on the table, or keeps definitions from
    /// changing.
    ///
    /// # Errors
    /// Errors of reading pages, damage.
    pub fn analyze(&self, table: &Table) -> Result<Arc<Statistics>> {
        let changes = table.stats.changes.load(Ordering::Relaxed);
        let growth = table.stats.growth.load(Ordering::Relaxed);
        let mut indexes = Vec::with_capacity(table.indexes.len());
        let mut rows = 0;
        for (at, index) in table.indexes.iter().enumerate() {
            let sample = index.tree.sample(&self.storage, index.parts.len().max(1), LEAVES)?;
            if at == 0 {
                rows = sample.records;
            }
            indexes.push(IndexStatistics {
                pages: index.tree.reserved_pages(&self.storage)?,
                leaf_pages: sample.leaf_pages,
                distinct: sample.distinct,
            });
        }
        let statistics = Arc::new(Statistics { rows, indexes });
        *table.stats.known.lock() = Some(Known { statistics: statistics.clone(), changes, growth });
        Ok(statistics)
    }

    /// A table's statistics for lists of tables: takes no metadata lock. `None` if the table is gone by now.
    ///
    /// # Errors
    /// Errors of reading pages, damage.
    pub fn statistics(&self, table: &Table) -> Result<Option<Arc<Statistics>>> {
        if let Some(fresh) = table.stats.fresh() {
            return Ok(Some(fresh));
        }
        // Files and trees stay where they are as long as this is held.
        let _latch = self.dict.freeze();
        match self.dict.in_memory(table.id) {
            Some(_) => self.analyze(table).map(Some),
            None => Ok(None),
        }
    }

    /// Bytes of the extents of a table's tablespace that belong to nothing.
    ///
    /// # Errors
    /// Errors of reading pages, damage.
    pub fn free_bytes(&self, table: &Table) -> Result<u64> {
        let _latch = self.dict.freeze();
        if self.dict.in_memory(table.id).is_none() {
            return Ok(0);
        }
        let page_size = self.storage.options().page_size;
        let extents = fsp::free_extents(&mut self.storage.begin_read(), table.space)?;
        let extent_bytes = u64::from(page_size.extent_pages()) * page_size.logical() as u64;
        Ok(u64::from(extents) * extent_bytes)
    }
}
