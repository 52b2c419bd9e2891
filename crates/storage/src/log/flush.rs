//! Durability: group commit, commit policies, the background service's step.

use std::time::Duration;

use vaquita_base::Lsn;

use super::error::Result;
use super::sync::Ordering;
use super::waiters::{DurableCallback, Turn};
use super::{Progress, RedoLog};

/// Writes with their syncs whose time counts for [`RedoLog::sync_time_us`], about.
const SYNCS_OF_MEAN: u64 = 8;

/// What a commit waits for (`innodb_flush_log_at_trx_commit`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CommitPolicy {
    /// 0: nothing; the background service writes and syncs about once a second.
    Lazy,
    /// 1: its log is written and synced.
    #[default]
    Flush,
    /// 2: its log is written; the background service syncs about once a second.
    Write,
}

impl CommitPolicy {
    /// The value of the variable in MySQL's words.
    pub const fn from_number(number: u8) -> Option<Self> {
        match number {
            0 => Some(Self::Lazy),
            1 => Some(Self::Flush),
            2 => Some(Self::Write),
            _ => None,
        }
    }
}

impl RedoLog {
    /// Returns when everything before `lsn` is durable. One of the threads that wait writes and syncs for all.
    ///
    /// # Errors
    /// [`super::LogError::Future`]; a failed write or sync, which is final, whoever did it.
    pub fn flush_up_to(&self, lsn: Lsn) -> Result<()> {
        self.check_alive()?;
        if lsn <= self.flushed_lsn() {
            return Ok(());
        }
        self.check_not_future(lsn)?;
        self.stats.flush_requests.add(1);
        match self.waiters.enter(lsn) {
            Turn::Done => Ok(()),
            Turn::Failed(error) => Err(error),
            Turn::Lead => self.lead(lsn),
            Turn::Follow(seat) => {
                self.stats.flush_followers.add(1);
                if seat.wait()? { self.lead(lsn) } else { Ok(()) }
            }
        }
    }

    /// Waits as a commit that ends at `lsn` must.
    ///
    /// # Errors
    /// As [`RedoLog::flush_up_to`] and [`RedoLog::write_up_to`].
    pub fn commit_wait(&self, lsn: Lsn, policy: CommitPolicy) -> Result<()> {
        match policy {
            CommitPolicy::Lazy => self.check_alive(),
            CommitPolicy::Flush => self.flush_up_to(lsn),
            CommitPolicy::Write => self.write_up_to(lsn),
        }
    }

    /// Calls `callback` once everything before `lsn` is durable or the log has failed; at once if that is known.
    ///
    /// The callback runs on whichever thread led the flush and may not wait for anything. If no thread leads, the
    /// background service is kicked; without one somebody must call [`RedoLog::step`].
    pub fn on_durable(&self, lsn: Lsn, callback: DurableCallback) {
        if let Err(error) = self.check_not_future(lsn) {
            return callback(Err(error));
        }
        self.waiters.on_durable(lsn, callback);
    }

    /// How long what nobody waits for stays unsynced (`innodb_flush_log_at_timeout`).
    pub fn set_flush_interval_us(&self, us: u64) {
        self.flush_interval_us.store(us, Ordering::Relaxed);
    }

    /// Writes and syncs everything complete. Idle if there is nothing, or if another thread is at it.
    ///
    /// # Errors
    /// A failed write or sync, which is final.
    pub fn flush_step(&self) -> Result<Progress> {
        self.flush_now(None)
    }

    /// One step of the log's background service: serves callbacks, syncs about once a second what nobody waits
    /// for, and keeps the log buffer from filling up.
    ///
    /// # Errors
    /// A failed write or sync, which is final.
    pub fn step(&self) -> Result<Progress> {
        self.check_alive()?;
        if let Some(lsn) = self.waiters.callbacks_want() {
            return self.flush_now(Some(lsn));
        }
        let idle_us = self.clock.now_us().saturating_sub(self.flushed_at_us.load(Ordering::Relaxed));
        if idle_us >= self.flush_interval_us.load(Ordering::Relaxed)
            && self.flushed_lsn() < self.current_lsn()
        {
            return self.flush_now(None);
        }
        if self.buffer.is_half_full(self.current_lsn()) {
            return self.writer_step();
        }
        Ok(Progress::Idle)
    }

    /// Parks the background service's thread until there is work for [`RedoLog::step`], at most for `timeout`.
    pub fn wait_for_work(&self, timeout: Duration) {
        self.waiters.wait_for_kick(timeout);
    }

    /// Wakes the background service's thread, to let it end.
    pub fn wake(&self) {
        self.waiters.kick();
    }

    fn flush_now(&self, want: Option<Lsn>) -> Result<Progress> {
        self.check_alive()?;
        if self.flushed_lsn() >= self.current_lsn() || !self.waiters.try_lead() {
            return Ok(Progress::Idle);
        }
        let before = self.flushed_lsn();
        self.lead(want.unwrap_or(before))?;
        Ok(if self.flushed_lsn() > before { Progress::Worked } else { Progress::Idle })
    }

    /// Leads a round: writes everything complete, `lsn` at least, and syncs it.
    fn lead(&self, lsn: Lsn) -> Result<()> {
        let began_us = self.clock.now_us();
        self.write_for_sync(lsn)?;
        self.sync_written(began_us)?;
        self.waiters.finish(self.flushed_lsn());
        Ok(())
    }

    /// Syncs what is written, by writes that began at `began_us` or before. The caller leads.
    fn sync_written(&self, began_us: u64) -> Result<()> {
        // Before the files' marks are read: they are set for everything before this LSN.
        let written = self.written_lsn();
        match self.files.sync_written() {
            Ok(syncs) => self.stats.syncs.add(syncs),
            Err(error) => return Err(self.fail(error)),
        }
        let durable = self.flushed_lsn();
        assert!(written >= durable, "the log was durable up to {durable} and is so up to {written} now");
        self.flushed.store(written.get(), Ordering::Release);
        let now_us = self.clock.now_us();
        self.flushed_at_us.store(now_us, Ordering::Relaxed);
        self.note_sync(now_us.saturating_sub(began_us));
        // A failure of the writer meanwhile took the waiters with it; what is durable stays so, but nobody is told.
        self.check_alive()
    }

    /// How long it takes at present to write and sync what is there: the mean of the last times, in microseconds.
    pub fn sync_time_us(&self) -> u64 {
        self.sync_time.load(Ordering::Relaxed) / SYNCS_OF_MEAN
    }

    /// The caller leads, so nobody else writes the mean.
    fn note_sync(&self, took_us: u64) {
        let sum = self.sync_time.load(Ordering::Relaxed);
        self.sync_time.store(sum - sum / SYNCS_OF_MEAN + took_us, Ordering::Relaxed);
    }
}
