//! Purge: removes what no read view needs any more: delete-marked rows, old index entries, old values off the page.
//!
//! Every update or delete that committed left an undo record in the history. When no view can ask for the version
//! before it, the record is looked at once more: a row that was deleted goes, index entries that only older versions had
//! go, values off the page that were replaced are freed. Then the undo log itself is freed.
//!
//! A record of a table that is damaged is passed over, and with it what it would have removed: nobody sees that, and the log
//! says so, once for each table. Purge goes on, for the history of all other tables waits behind it. Errors that may pass
//! (I/O) end the batch instead, which is tried again.
//!
//! A batch is divided by row among the threads that purge ([`vaquita_base::Crew`]), so that the records of one row are purged in their order.
//!
//! # Crash
//! What was purged and whose undo log was not freed is looked at again: every removal first checks that what it removes
//! is still what the record is about.

mod record;

use crate::core::Core;
use crate::error::{Error, Result};
use crate::table::Table;
use std::hash::{BuildHasher, Hasher};
use std::sync::atomic::Ordering;
use vaquita_storage::buf::assert_no_page_latched;
use vaquita_txn::ReadView;
use vaquita_txn::undo::{History, PurgeRecord};

/// Records from which on a batch is worth other threads.
const WORTH_THREADS: usize = 256;

/// Purges a record of a temporary table, when its transaction is over.
///
/// # Errors
/// Errors of pages, damage.
pub(crate) fn purge_now(core: &Core, record: &PurgeRecord) -> Result<()> {
    record::purge(core, record)
}

/// As long as it is there, purge changes nothing.
#[derive(Debug)]
pub(crate) struct Resting<'c>(&'c Core);

impl Drop for Resting<'_> {
    fn drop(&mut self) {
        self.0.resume_purge();
    }
}

impl Core {
    /// Keeps purge from changing pages: on return no batch is under way.
    pub(crate) fn purge_rests(&self) -> Resting<'_> {
        self.stop_purge();
        Resting(self)
    }

    /// The same until [`Core::resume_purge`].
    pub(crate) fn stop_purge(&self) {
        self.purge_stops.fetch_add(1, Ordering::SeqCst);
        drop(self.history.lock());
    }

    /// Ends one [`Core::stop_purge`].
    pub(crate) fn resume_purge(&self) {
        let before = self.purge_stops.fetch_sub(1, Ordering::SeqCst);
        debug_assert!(before > 0, "purge goes on that was not stopped");
    }

    /// Purges one batch; whether there was anything to do.
    ///
    /// # Errors
    /// Errors of pages; what was not purged is purged again.
    pub fn purge_step(&self) -> Result<bool> {
        // Nothing has been changed, or what was is purged: who rests wakes up for this again and again.
        if self.txn.history_len() == 0 {
            self.adjust_delay();
            return Ok(false);
        }
        assert_no_page_latched("a batch is purged");
        let mut history = self.history.lock();
        if self.purge_stops.load(Ordering::SeqCst) > 0 {
            return Ok(false);
        }
        let view = self.txn.oldest_view();
        let mut records = Vec::new();
        let done = self.purge_batch(&mut history, &view, &mut records);
        if done.is_err() {
            // It begins again with the oldest log that was not freed.
            *history = History::default();
        }
        drop(history);
        self.adjust_delay();
        done
    }

    /// Notes that a record of a damaged table was passed over: what it would have removed stays.
    #[cold]
    fn pass_over(&self, table: &Table, e: &Error) {
        let mut unpurged = self.unpurged.lock();
        let count = unpurged.entry(table.id).or_default();
        *count += 1;
        if *count == 1 {
            drop(unpurged);
            let name = vaquita_txn::lock::Names::table(self, table.id);
            self.notes.say(format!(
                "purge: what was deleted in table {name} cannot be removed from its pages: {e}. Purge goes on with other \
                 tables; CHECK TABLE tells more. What stays is seen by nobody and goes when the table is built anew \
                 (ALTER TABLE .. FORCE) or put back from a copy"
            ));
        }
    }

    /// Whether a whole batch is left to purge.
    pub(crate) fn is_purge_behind(&self) -> bool {
        self.txn.history_len() >= self.live.purge_batch_size.load(Ordering::Relaxed) as u64
    }

    fn purge_batch(
        &self,
        history: &mut History,
        view: &ReadView,
        records: &mut Vec<PurgeRecord>,
    ) -> Result<bool> {
        if !history.fetch(&self.txn, view, self.live.purge_batch_size.load(Ordering::Relaxed), records)? {
            // Nothing is left of what this view lets go.
            self.metrics.purged_below.fetch_max(view.low_limit_no.get(), Ordering::Relaxed);
            return Ok(false);
        }
        let workers = self.options.purge_threads.max(1);
        let n = records.len() as u64;
        if workers == 1 || records.len() < WORTH_THREADS {
            self.purge_records(records)?;
        } else {
            let shares = self.share(std::mem::take(records), workers);
            let done = self.purge_crew.run(shares, |share| self.purge_records(share))?;
            // For their memory.
            records.extend(done.into_iter().flatten());
        }
        history.truncate(&self.txn)?;
        self.metrics.purged_records.add(n);
        self.metrics.purge_batches.add(1);
        Ok(true)
    }

    fn purge_records(&self, records: &[PurgeRecord]) -> Result<()> {
        records.iter().try_for_each(|record| record::purge(self, record))
    }

    /// Helps with the batches of another thread until `stopped`.
    pub(crate) fn help_purge(&self, stopped: impl Fn() -> bool) {
        self.purge_crew.help(stopped, |share| self.purge_records(share));
    }

    /// Divides records so that those of one row stay together and in order.
    fn share(&self, records: Vec<PurgeRecord>, workers: usize) -> Vec<Vec<PurgeRecord>> {
        let mut shares = vec![Vec::new(); workers];
        let hashing = foldhash::fast::FixedState::default();
        for record in records {
            let mut hasher = hashing.build_hasher();
            hasher.write(&record::row_of(self, &record));
            shares[hasher.finish() as usize % workers].push(record);
        }
        shares
    }

    /// Sets how long changes are delayed: MySQL's rule, `(history / max_purge_lag - 0.5) * 10` milliseconds from
    /// `max_purge_lag` on.
    fn adjust_delay(&self) {
        let lag = self.live.max_purge_lag.load(Ordering::Relaxed);
        let longest = self.live.max_purge_lag_delay.load(Ordering::Relaxed);
        let history = self.txn.history_len();
        let mut delay = 0;
        if lag > 0 && history > lag {
            let ratio = history as f64 / lag as f64;
            delay = ((ratio - 0.5) * 10_000.0) as u64;
            if longest > 0 {
                delay = delay.min(longest);
            }
        }
        self.dml_delay_us.store(delay, Ordering::Relaxed);
    }
}
