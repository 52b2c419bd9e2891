//! Waits for other sessions that are none for locks of rows: for metadata locks and the global read lock. Another thread
//! can end them ([`SessionHandle::interrupt`]), and whoever schedules sessions is told of them.

use crate::error::{Error, Result};
use crate::progress::Progress;
use parking_lot::{Condvar, Mutex};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use vaquita_storage::buf::assert_no_page_latched;
use vaquita_txn::wait::{PlainWait, WaitFor, WaitHook};
use vaquita_txn::{TrxHandle, TrxRef, TrxShared};

/// A place where sessions sleep.
pub(crate) trait Sleepers: Send + Sync + fmt::Debug {
    /// Lets all look again whether they may go on. Whoever is between its look and its sleep hears of it.
    fn wake(&self);
}

/// What a session sleeps for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionWait {
    /// A metadata lock of a table.
    MetadataLock,
    /// The global read lock, to take it or to change something.
    ReadLock,
    /// The global read lock, to commit.
    CommitLock,
}

/// Where a session waits.
#[derive(Debug, Default)]
enum At {
    #[default]
    Nowhere,
    /// On a condition variable.
    Sleep(SessionWait, Arc<dyn Sleepers>),
    /// For a lock of a transaction that is not the session's own.
    Lock(TrxRef),
}

#[derive(Debug, Default)]
struct Waits {
    interrupted: AtomicBool,
    at: Mutex<At>,
}

impl Waits {
    fn interrupt(&self) {
        self.interrupted.store(true, Ordering::SeqCst);
        match &*self.at.lock() {
            At::Nowhere => {}
            At::Sleep(_, place) => place.wake(),
            At::Lock(trx) => trx.interrupt(),
        }
    }
}

/// How a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Woken {
    Ready,
    TimedOut,
    Interrupted,
}

/// Measures waits for locks, and hands all on to another hook.
#[derive(Debug)]
pub(crate) struct LockClock {
    pub(crate) hook: Arc<dyn WaitHook>,
    since: Mutex<Option<Instant>>,
    waited_us: AtomicU64,
}

impl LockClock {
    pub(crate) fn around(hook: Arc<dyn WaitHook>) -> LockClock {
        LockClock { hook, since: Mutex::new(None), waited_us: AtomicU64::new(0) }
    }

    /// Microseconds of all waits that are over.
    pub(crate) fn waited_us(&self) -> u64 {
        self.waited_us.load(Ordering::Relaxed)
    }
}

impl WaitHook for LockClock {
    fn before(&self, what: WaitFor) {
        if what == WaitFor::Lock {
            *self.since.lock() = Some(Instant::now());
        }
        self.hook.before(what);
    }

    fn after(&self, what: WaitFor) {
        self.hook.after(what);
        if what == WaitFor::Lock
            && let Some(since) = self.since.lock().take()
        {
            self.waited_us.fetch_add(since.elapsed().as_micros() as u64, Ordering::Relaxed);
        }
    }
}

/// A session as one that waits.
#[derive(Debug, Clone)]
pub(crate) struct Waiter {
    waits: Arc<Waits>,
    pub(crate) hook: Arc<LockClock>,
}

impl Default for Waiter {
    fn default() -> Self {
        Waiter { waits: Arc::default(), hook: Arc::new(LockClock::around(Arc::new(PlainWait))) }
    }
}

impl Waiter {
    pub(crate) fn handle(&self, trx: TrxHandle, progress: Arc<Progress>) -> SessionHandle {
        SessionHandle { trx, waits: self.waits.clone(), progress }
    }

    /// Ends the present wait, or the next one.
    #[cfg(test)]
    pub(crate) fn interrupt(&self) {
        self.waits.interrupt();
    }

    /// What was meant for a statement that is over is not for the next one.
    pub(crate) fn clear_interrupt(&self) {
        if self.waits.interrupted.load(Ordering::Acquire) {
            self.waits.interrupted.store(false, Ordering::Release);
        }
    }

    /// Sleeps until `ready`, which is called under `state`'s mutex, says so.
    pub(crate) fn sleep<T>(
        &self,
        what: SessionWait,
        place: &Arc<impl Sleepers + 'static>,
        state: &Mutex<T>,
        changed: &Condvar,
        timeout: Duration,
        mut ready: impl FnMut(&mut T) -> bool,
    ) -> Woken {
        assert_no_page_latched("a session sleeps");
        if ready(&mut state.lock()) {
            return Woken::Ready;
        }
        let sleeps = !timeout.is_zero();
        if sleeps {
            self.hook.before(WaitFor::Lock);
        }
        let before = std::mem::replace(&mut *self.waits.at.lock(), At::Sleep(what, place.clone()));
        debug_assert!(matches!(before, At::Nowhere), "a session waits for {what:?} and for {before:?}");
        let deadline = Instant::now().checked_add(timeout);
        let mut guard = state.lock();
        let woken = loop {
            if ready(&mut guard) {
                break Woken::Ready;
            }
            // Set before this look, or by somebody who wakes the sleepers after it.
            if self.waits.interrupted.load(Ordering::SeqCst) {
                break Woken::Interrupted;
            }
            let timed_out = match deadline {
                Some(deadline) => changed.wait_until(&mut guard, deadline).timed_out(),
                None => {
                    changed.wait(&mut guard);
                    false
                }
            };
            if timed_out {
                break if ready(&mut guard) { Woken::Ready } else { Woken::TimedOut };
            }
        };
        drop(guard);
        *self.waits.at.lock() = At::Nowhere;
        if sleeps {
            self.hook.after(WaitFor::Lock);
        }
        woken
    }

    /// Runs what waits for locks, or builds indexes, in a transaction that is not the session's own.
    pub(crate) fn lock_in<R>(&self, trx: &TrxRef, body: impl FnOnce() -> R) -> R {
        let before = std::mem::replace(&mut *self.waits.at.lock(), At::Lock(trx.clone()));
        debug_assert!(matches!(before, At::Nowhere), "a session waits for a lock and for {before:?}");
        if self.waits.interrupted.load(Ordering::SeqCst) {
            trx.interrupt();
        }
        let done = body();
        *self.waits.at.lock() = At::Nowhere;
        done
    }
}

/// Fails if the session whose transaction this is was interrupted.
#[inline]
pub(crate) fn check_interrupt(trx: &TrxShared) -> Result<()> {
    if trx.is_interrupted() { Err(Error::Interrupted) } else { Ok(()) }
}

/// Reaches a session from other threads.
#[derive(Debug, Clone)]
pub struct SessionHandle {
    trx: TrxHandle,
    waits: Arc<Waits>,
    progress: Arc<Progress>,
}

impl SessionHandle {
    /// Ends what the session waits for, now or next: a lock of a row or table, a metadata lock, the global read lock. Scans
    /// and the building of indexes end too.
    pub fn interrupt(&self) {
        self.waits.interrupt();
        self.trx.interrupt();
    }

    /// How far the long statement is that it is at.
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// What it sleeps for at present, but for locks of rows: the lock system knows those.
    pub fn sleeps_for(&self) -> Option<SessionWait> {
        match &*self.waits.at.lock() {
            At::Sleep(what, _) => Some(*what),
            At::Nowhere | At::Lock(_) => None,
        }
    }
}
