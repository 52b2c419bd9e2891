//! The loops of a door, from start to stop.

use super::handover::Berth;
use super::pool::Pool;
use super::watch::{self, Watch};
use super::width::Width;
use super::{Core, Door, Inbox, Message};
use crate::Listener;
use parking_lot::{Condvar, Mutex};
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What the loops of a door share.
pub(super) struct Group<D: Door> {
    pub(super) door: Arc<D>,
    pub(super) pool: Arc<Pool<D>>,
    pub(super) inboxes: Vec<Arc<Inbox<D::Connection>>>,
    /// Of each loop where it lies while it serves.
    pub(super) berths: Vec<Arc<Berth<D>>>,
    pub(super) watch: Watch,
    pub(super) width: Width,
    running: Mutex<usize>,
    ended: Condvar,
}

impl<D: Door> Group<D> {
    pub(super) fn loop_ended(&self) {
        *self.running.lock() -= 1;
        self.ended.notify_all();
    }
}

/// Running loops. Dropping them stops them.
pub struct Loops<D: Door> {
    group: Arc<Group<D>>,
    watch: Mutex<Option<JoinHandle<()>>>,
}

impl<D: Door> std::fmt::Debug for Loops<D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Loops").field("loops", &self.group.inboxes.len()).finish_non_exhaustive()
    }
}

impl<D: Door> Loops<D> {
    /// Serves who comes in by the listeners, on up to so many loops (0: one per core).
    ///
    /// # Errors
    /// No descriptors or threads left.
    pub fn start(door: Arc<D>, listeners: Vec<Listener>, loops: usize) -> io::Result<Loops<D>> {
        let loops = match loops {
            0 => std::thread::available_parallelism().map_or(2, usize::from),
            n => n,
        };
        let inboxes: Vec<_> = (0..loops).map(|_| Inbox::new().map(Arc::new)).collect::<io::Result<_>>()?;
        let width = Width::new(inboxes.len());
        let berths = (0..loops).map(|_| Berth::new()).collect();
        let group = Arc::new(Group {
            door,
            pool: Pool::new(),
            inboxes,
            berths,
            watch: Watch::default(),
            width,
            running: Mutex::new(0),
            ended: Condvar::new(),
        });
        let watch = group.door.look().map(|look| {
            let group = group.clone();
            let thread = std::thread::Builder::new().name("vaquita-watch".into());
            thread.spawn(move || watch::run(&group, look))
        });
        let started = Loops { group: group.clone(), watch: Mutex::new(watch.transpose()?) };
        let mut listeners = listeners;
        for index in 0..loops {
            // The first loop accepts for all.
            let core = Core::new(group.clone(), index, std::mem::take(&mut listeners))?;
            *group.running.lock() += 1;
            if group.pool.give(core).is_err() {
                *group.running.lock() -= 1;
                return Err(io::Error::other("a thread cannot be started"));
            }
        }
        Ok(started)
    }

    /// Lets so many loops serve from now on; the load may say otherwise soon.
    pub fn spread(&self, loops: usize) {
        self.group.width.set(loops);
    }

    /// Threads, spare ones included.
    pub fn threads(&self) -> usize {
        self.group.pool.threads()
    }

    /// Accepts nobody any more, ends all connections, ends all threads. `false`: some connections could not be ended within
    /// `limit`.
    pub fn stop(&self, limit: Duration) -> bool {
        for inbox in &self.group.inboxes {
            // A loop that has ended need not be told.
            let _ = inbox.post(Message::Stop);
        }
        let end = Instant::now() + limit;
        let mut running = self.group.running.lock();
        while *running > 0 {
            if self.group.ended.wait_until(&mut running, end).timed_out() {
                break;
            }
        }
        let ended = *running == 0;
        drop(running);
        self.group.watch.end();
        let watch = self.watch.lock().take();
        // It ends at its next look, and it does not panic.
        let _ = watch.map(JoinHandle::join);
        self.group.pool.stop();
        ended && self.group.pool.wait_ended(end.saturating_duration_since(Instant::now()))
    }
}

impl<D: Door> Drop for Loops<D> {
    fn drop(&mut self) {
        self.stop(Duration::from_secs(10));
    }
}
