//! Finding out the statistics of a table: counting, or looking at some leaves of each index.

use crate::core::Core;
use crate::error::{Error, Result};
use crate::partition::Parts;
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
        if let Some(parts) = &table.parts {
            return self.analyze_parts(table, parts, go_on);
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

    /// Those of the parts anew.
    fn analyze_parts(
        &self,
        table: &Table,
        parts: &Parts,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<Arc<Statistics>> {
        let whole = whole_of(table, parts, |part| self.analyze_while(part, go_on).map(Some))?;
        whole.ok_or(Error::Interrupted)
    }

    /// A table's statistics for lists of tables: takes no metadata lock. `None` if the table is gone by now.
    ///
    /// # Errors
    /// Errors of reading pages, damage.
    pub fn statistics(&self, table: &Table) -> Result<Option<Arc<Statistics>>> {
        if let Some(parts) = &table.parts {
            return whole_of(table, parts, |part| self.statistics(part));
        }
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
        if let Some(parts) = &table.parts {
            let mut all = parts.tables.iter();
            return all.try_fold(0, |sum, part| Ok(sum + self.free_bytes_of(part)?));
        }
        self.free_bytes_of(table)
    }

    fn free_bytes_of(&self, table: &Table) -> Result<u64> {
        let page_size = self.storage.options().page_size;
        let extents = fsp::free_extents(&mut self.storage.begin_read(), table.space)?;
        let extent_bytes = u64::from(page_size.extent_pages()) * page_size.logical() as u64;
        Ok(u64::from(extents) * extent_bytes)
    }
}

/// Statistics of a partitioned table: those of its parts together. Keys that tell the part of a row are of one part; of others it is not
/// known in how many parts they are, and those of the part that has most are told.
fn whole_of(
    table: &Table,
    parts: &Parts,
    mut of_part: impl FnMut(&Table) -> Result<Option<Arc<Statistics>>>,
) -> Result<Option<Arc<Statistics>>> {
    let mut whole: Option<Statistics> = None;
    for part in &parts.tables {
        let Some(of_part) = of_part(part)? else { return Ok(None) };
        match &mut whole {
            Some(whole) => add_part(whole, &of_part, table, parts),
            none => *none = Some((*of_part).clone()),
        }
    }
    Ok(whole.map(Arc::new))
}

/// Adds the statistics of one more part.
fn add_part(whole: &mut Statistics, part: &Statistics, table: &Table, parts: &Parts) {
    whole.rows += part.rows;
    for (at, (index, of_part)) in whole.indexes.iter_mut().zip(&part.indexes).enumerate() {
        index.pages += of_part.pages;
        index.leaf_pages += of_part.leaf_pages;
        for (n, (distinct, of_part)) in index.distinct.iter_mut().zip(&of_part.distinct).enumerate() {
            let fields = table.indexes[at].parts.iter().take(n + 1);
            let tells = |column: &usize| fields.clone().any(|field| field.column == *column);
            let scheme = parts.scheme.as_ref();
            *distinct = match scheme.is_some_and(|scheme| scheme.columns().iter().all(tells)) {
                true => *distinct + of_part,
                false => (*distinct).max(*of_part),
            };
        }
    }
}
