//! The global read lock (FLUSH TABLES WITH READ LOCK): while a session holds it, no other changes rows or definitions, and
//! no transaction that changed something commits.
//!
//! Those who change things are many and the lock is rare, so a change costs a write to the session's own place and a
//! read of a counter that hardly ever changes; whoever wants the lock looks at all places. Both write first and look
//! then, so at least one of two sees the other.
//!
//! The lock is had in two steps, as MySQL does: first no statement that changes something may begin, and those that run
//! are waited for, whose locks transactions may still give back by committing; then commits are stopped.

use crate::error::{Error, Result};
use crate::waits::{SessionWait, Sleepers, Waiter, Woken};
use crossbeam_utils::CachePadded;
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::time::Duration;

/// What a session does that the lock stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    /// A statement that changes something.
    Change = 1,
    /// LOCK TABLES .. WRITE.
    Locked = 2,
    /// A commit of changes.
    Commit = 4,
}

const CHANGES: u8 = Work::Change as u8 | Work::Locked as u8;

/// What a session does at present: bits of [`Work`], written by the session alone.
type Place = CachePadded<AtomicU8>;

/// The lock.
#[derive(Debug, Default)]
pub(crate) struct ReadLock {
    /// Sessions that hold it or want it.
    stops_changes: AtomicU32,
    /// Those of them that stop commits too.
    stops_commits: AtomicU32,
    places: Mutex<Vec<Arc<Place>>>,
    changed: Condvar,
}

impl Sleepers for ReadLock {
    fn wake(&self) {
        drop(self.places.lock());
        self.changed.notify_all();
    }
}

/// A session's part in it.
#[derive(Debug)]
pub(crate) struct ReadLockPlace {
    lock: Arc<ReadLock>,
    place: Arc<Place>,
    /// Whether the session holds the lock.
    held: bool,
}

impl ReadLock {
    /// For a session.
    pub(crate) fn enter(self: &Arc<Self>) -> ReadLockPlace {
        let place = Arc::<Place>::default();
        self.places.lock().push(place.clone());
        ReadLockPlace { lock: self.clone(), place, held: false }
    }

    fn stops(&self, work: Work) -> bool {
        let counter = if work == Work::Commit { &self.stops_commits } else { &self.stops_changes };
        counter.load(Ordering::SeqCst) != 0
    }
}

fn failure(woken: Woken) -> Error {
    match woken {
        Woken::Interrupted => Error::Interrupted,
        Woken::Ready | Woken::TimedOut => Error::MetadataLockTimeout("the global read lock".into()),
    }
}

impl ReadLockPlace {
    fn bits(&self) -> u8 {
        self.place.load(Ordering::Relaxed)
    }

    /// Whether the session has begun such work.
    pub(crate) fn does(&self, work: Work) -> bool {
        self.bits() & work as u8 != 0
    }

    /// Begins work, or waits until it may. Nothing happens if it has begun already.
    ///
    /// # Errors
    /// [`Error::ReadLocked`] the session itself holds the lock; the wait took too long or was interrupted.
    pub(crate) fn begin(&self, work: Work, waiter: &Waiter, timeout: Duration) -> Result<()> {
        if self.does(work) {
            return Ok(());
        }
        if self.held {
            return Err(Error::ReadLocked);
        }
        loop {
            self.place.store(self.bits() | work as u8, Ordering::SeqCst);
            if !self.lock.stops(work) {
                return Ok(());
            }
            self.end(work);
            let lock = &self.lock;
            let what = match work {
                Work::Change | Work::Locked => SessionWait::ReadLock,
                Work::Commit => SessionWait::CommitLock,
            };
            let woken = waiter.sleep(what, lock, &lock.places, &lock.changed, timeout, |_| !lock.stops(work));
            if woken != Woken::Ready {
                return Err(failure(woken));
            }
        }
    }

    /// Ends work that was begun.
    pub(crate) fn end(&self, work: Work) {
        if !self.does(work) {
            return;
        }
        self.place.store(self.bits() & !(work as u8), Ordering::SeqCst);
        if self.lock.stops_changes.load(Ordering::SeqCst) != 0 {
            self.lock.wake();
        }
    }

    /// Takes the lock, waiting for changes that run and for commits. Nothing happens if the session holds it.
    ///
    /// # Errors
    /// The wait took too long or was interrupted.
    pub(crate) fn take(&mut self, waiter: &Waiter, timeout: Duration) -> Result<()> {
        if self.held {
            return Ok(());
        }
        let lock = self.lock.clone();
        let own = &self.place;
        let without = |bits: u8| {
            let free = move |p: &Arc<Place>| Arc::ptr_eq(p, own) || p.load(Ordering::SeqCst) & bits == 0;
            move |places: &mut Vec<Arc<Place>>| places.iter().all(free)
        };
        lock.stops_changes.fetch_add(1, Ordering::SeqCst);
        let wait = |bits: u8| {
            waiter.sleep(SessionWait::ReadLock, &lock, &lock.places, &lock.changed, timeout, without(bits))
        };
        let mut woken = wait(CHANGES);
        if woken == Woken::Ready {
            lock.stops_commits.fetch_add(1, Ordering::SeqCst);
            woken = wait(Work::Commit as u8);
            if woken != Woken::Ready {
                lock.stops_commits.fetch_sub(1, Ordering::SeqCst);
            }
        }
        if woken != Woken::Ready {
            lock.stops_changes.fetch_sub(1, Ordering::SeqCst);
            lock.wake();
            return Err(failure(woken));
        }
        self.held = true;
        Ok(())
    }

    /// Gives the lock back; whether the session held it.
    pub(crate) fn give_back(&mut self) -> bool {
        let held = std::mem::take(&mut self.held);
        if held {
            let commits = self.lock.stops_commits.fetch_sub(1, Ordering::SeqCst);
            let changes = self.lock.stops_changes.fetch_sub(1, Ordering::SeqCst);
            assert!(commits > 0 && changes > 0, "{commits} sessions stop commits, {changes} stop changes");
            self.lock.wake();
        }
        held
    }
}

impl Drop for ReadLockPlace {
    fn drop(&mut self) {
        self.give_back();
        let mut places = self.lock.places.lock();
        places.retain(|p| !Arc::ptr_eq(p, &self.place));
        drop(places);
        self.lock.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn changes_and_commits_stop_while_it_is_held() {
        let (lock, waiter) = (Arc::<ReadLock>::default(), Waiter::default());
        let (mut holder, other) = (lock.enter(), lock.enter());
        holder.take(&waiter, LONG).unwrap();
        for work in [Work::Change, Work::Locked, Work::Commit] {
            let refused = other.begin(work, &waiter, Duration::ZERO);
            assert!(matches!(refused, Err(Error::MetadataLockTimeout(_))), "{work:?}");
            assert!(!other.does(work));
        }
        assert!(matches!(holder.begin(Work::Change, &waiter, LONG), Err(Error::ReadLocked)));
        // Two can hold it.
        let mut second = lock.enter();
        second.take(&waiter, Duration::ZERO).unwrap();
        assert!(holder.give_back() && !holder.give_back());
        assert!(other.begin(Work::Change, &waiter, Duration::ZERO).is_err());
        drop(second);
        other.begin(Work::Change, &waiter, Duration::ZERO).unwrap();
    }

    #[test]
    fn it_is_had_when_changes_have_ended_and_commits_do_not_hold_them_up() {
        let (lock, waiter) = (Arc::<ReadLock>::default(), Waiter::default());
        let (mut holder, changing, committing) = (lock.enter(), lock.enter(), lock.enter());
        changing.begin(Work::Change, &waiter, LONG).unwrap();
        assert!(holder.take(&waiter, Duration::ZERO).is_err());
        // The attempt that failed left nothing.
        committing.begin(Work::Change, &waiter, Duration::ZERO).unwrap();
        committing.end(Work::Change);
        std::thread::scope(|s| {
            let taken = s.spawn(|| holder.take(&Waiter::default(), LONG));
            while lock.stops_changes.load(Ordering::SeqCst) == 0 {
                std::thread::yield_now();
            }
            // The change that runs may wait for a lock that only a commit gives back.
            committing.begin(Work::Commit, &waiter, Duration::ZERO).unwrap();
            committing.end(Work::Commit);
            assert!(committing.begin(Work::Change, &waiter, Duration::ZERO).is_err());
            changing.end(Work::Change);
            taken.join().unwrap().unwrap();
        });
        assert!(committing.begin(Work::Commit, &waiter, Duration::ZERO).is_err());
    }
}
