//! Finding out the statistics of a table: counting, or looking at some leaves of each index.

use crate::core::Core;
use crate::error::{Error, Result};
use crate::stats::{IndexStatistics, Statistics};
use crate::table::Table;
use std::sync::Arc;
use vaquita_storage::fsp;

/// Leaves that are looked at for each field of an index: the default of `innodb_stats_persistent_sample_pages`.
const LEAVES: usize = 20;

impl Core {
    /// Finds out a table's statistics anew. Who calls it holds a metadata lock on the table, or keeps definitions from
    /// changing.
    ///
    /// # Errors
    /// Errors of reading pages, damage.
    pub fn analyze(&self, table: &Table) -> Result<Arc<Statistics>> {
        self.analyze_while(table, &mut || true)
    }

    /// The same; `go_on` is asked before every leaf, while nothing is latched.
    ///
    /// # Errors
    /// As [`Core::analyze`]; [`Error::Interrupted`] when it says no, and the statistics stay as they were.
    pub fn analyze_while(&self, table: &Table, go_on: &mut dyn FnMut() -> bool) -> Result<Arc<Statistics>> {
        if table.discarded {
            return Err(Error::Discarded(table.name.clone()));
        }
        let moment = table.stats.moment();
        let mut indexes = Vec::with_capacity(table.indexes.len());
        let mut rows = 0;
        for (at, index) in table.indexes.iter().enumerate() {
            let sample = index.tree.sample_while(&self.storage, index.parts.len().max(1), LEAVES, go_on)?;
            let sample = sample.ok_or(Error::Interrupted)?;
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
        table.stats.keep(statistics.clone(), moment);
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
        match self.is_in_use(table) {
            true => self.analyze(table).map(Some),
            false => Ok(None),
        }
    }

    /// Whether its trees are still there.
    fn is_in_use(&self, table: &Table) -> bool {
        match table.is_temporary() {
            true => self.temporaries.get(table.id).is_some(),
            false => self.dict.in_memory(table.id).is_some(),
        }
    }

    /// Bytes of the extents of a table's tablespace that belong to nothing.
    ///
    /// # Errors
    /// Errors of reading pages, damage.
    pub fn free_bytes(&self, table: &Table) -> Result<u64> {
        let _latch = self.dict.freeze();
        if !self.is_in_use(table) {
            return Ok(0);
        }
        let page_size = self.storage.options().page_size;
        let extents = fsp::free_extents(&mut self.storage.begin_read(), table.space)?;
        let extent_bytes = u64::from(page_size.extent_pages()) * page_size.logical() as u64;
        Ok(u64::from(extents) * extent_bytes)
    }
}
