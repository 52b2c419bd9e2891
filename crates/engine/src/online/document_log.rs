//! Documents that go while the words of a table are gathered beside writers.
//!
//! A document that comes meanwhile has a number beyond all that were there, and its words are made of its row afterwards, as after a
//! crash. One that goes leaves its words in the lists: it is noted, and is among the deleted ones when the index becomes known. A text
//! that changes is a document that goes and another that comes.

use crate::error::{Error, Result};
use crate::table::{RowChange, RowObserver, Table};
use parking_lot::Mutex;
use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use vaquita_base::codec::get_u64;

/// Bytes that a number takes, about.
const EACH: u64 = 16;

/// Notes numbers of documents that are gone.
#[derive(Debug)]
pub(crate) struct DocumentLog {
    /// The column with the numbers.
    column: usize,
    /// Bytes that may be kept.
    max: u64,
    /// `None`: they were more, or nobody wants them any more.
    gone: Mutex<Option<HashSet<u64>>>,
    /// Changes told of.
    records: AtomicU64,
}

impl DocumentLog {
    /// Of a table whose numbers are in `column`; `max`: bytes that may be kept.
    pub(crate) fn new(column: usize, max: u64) -> Self {
        Self { column, max, gone: Mutex::new(Some(HashSet::new())), records: AtomicU64::new(0) }
    }

    /// Changes of documents so far.
    pub(crate) fn records(&self) -> u64 {
        self.records.load(Ordering::Relaxed)
    }

    /// Those below `until` that are gone, in their order. Nobody has changes that are not committed.
    ///
    /// # Errors
    /// [`Error::OnlineLogTooBig`], with the name of the table.
    pub(crate) fn gone(&self, table: &str, until: u64) -> Result<Vec<u64>> {
        let gone = self.gone.lock();
        let gone = gone.as_ref().ok_or_else(|| Error::OnlineLogTooBig(table.to_owned()))?;
        let mut those: Vec<u64> = gone.iter().copied().filter(|doc| *doc < until).collect();
        those.sort_unstable();
        Ok(those)
    }

    /// Whether all are kept.
    ///
    /// # Errors
    /// As [`DocumentLog::gone`].
    pub(crate) fn check(&self, table: &str) -> Result<()> {
        self.gone(table, 0).map(drop)
    }

    /// Keeps nothing any more.
    pub(crate) fn close(&self) {
        *self.gone.lock() = None;
    }

    fn change(&self, went: Option<u64>, came: Option<u64>) {
        self.records.fetch_add(1, Ordering::Relaxed);
        let mut all = self.gone.lock();
        let Some(gone) = all.as_mut() else { return };
        // What is taken back comes again by its number.
        if let Some(doc) = came {
            gone.remove(&doc);
        }
        gone.extend(went);
        if gone.len() as u64 * EACH > self.max {
            *all = None;
        }
    }
}

impl RowObserver for DocumentLog {
    fn row_changed(&self, table: &Table, change: &RowChange<'_>) {
        // An index is ordered by the numbers.
        if !change.order_changes {
            return;
        }
        let number = |row: &dyn crate::table::Columns| {
            row.column(table, self.column).filter(|stored| stored.len() == 8).map(|stored| get_u64(stored, 0))
        };
        let (went, came) = (change.before.and_then(number), change.after.and_then(number));
        if went != came {
            self.change(went, came);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_back_is_not_gone() {
        let log = DocumentLog::new(0, 1 << 20);
        log.change(Some(7), None);
        log.change(Some(5), Some(100));
        log.change(Some(6), Some(101));
        log.change(Some(101), Some(6));
        log.change(Some(100), None);
        assert_eq!(log.gone("t", 100).unwrap(), [5, 7], "6 is there again, 100 came meanwhile");
        log.change(None, Some(7));
        assert_eq!(log.gone("t", 100).unwrap(), [5]);
        assert_eq!(log.records(), 6);
    }

    #[test]
    fn more_than_may_be_kept_is_told() {
        let log = DocumentLog::new(0, 3 * EACH);
        (0..3).for_each(|doc| log.change(Some(doc), None));
        log.check("t").unwrap();
        log.change(Some(3), None);
        log.change(None, Some(3));
        assert!(matches!(log.check("t"), Err(Error::OnlineLogTooBig(table)) if table == "t"));
    }
}
