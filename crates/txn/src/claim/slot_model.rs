//! The slot under the model checker: every interleaving of a waiter, who grants, who cancels and who interrupts.
//!
//! The slot's source is compiled a second time here, on the checker's primitives. A wait that is never woken shows as a
//! deadlock of the model: there, waiting takes no time and never times out.

/// The checker's primitives behind the names of [`crate::lock::sync`].
mod sync {
    use std::ops::{Deref, DerefMut};
    use std::time::Duration;

    #[derive(Debug)]
    pub(super) struct Mutex<T>(loom::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(super) fn new(value: T) -> Self {
            Self(loom::sync::Mutex::new(value))
        }

        pub(super) fn lock(&self) -> MutexGuard<'_, T> {
            MutexGuard(Some(self.0.lock().expect("no thread of a model panics")))
        }
    }

    pub(super) struct MutexGuard<'a, T>(Option<loom::sync::MutexGuard<'a, T>>);

    impl<T> Deref for MutexGuard<'_, T> {
        type Target = T;

        fn deref(&self) -> &T {
            self.0.as_ref().expect("held")
        }
    }

    impl<T> DerefMut for MutexGuard<'_, T> {
        fn deref_mut(&mut self) -> &mut T {
            self.0.as_mut().expect("held")
        }
    }

    #[derive(Debug)]
    pub(super) struct Condvar(loom::sync::Condvar);

    impl Default for Condvar {
        fn default() -> Self {
            Self(loom::sync::Condvar::new())
        }
    }

    impl Condvar {
        pub(super) fn wait_for<T>(&self, guard: &mut MutexGuard<'_, T>, _: Duration) -> bool {
            let held = guard.0.take().expect("held");
            guard.0 = Some(self.0.wait(held).expect("no thread of a model panics"));
            false
        }

        pub(super) fn notify_all(&self) {
            self.0.notify_all();
        }
    }
}

#[expect(dead_code, reason = "the model uses a part of the slot")]
#[allow(clippy::duplicate_mod, reason = "once more, on other primitives")]
#[path = "slot.rs"]
mod slot;

use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use loom::thread;
use slot::{Blocked, Slot};
use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Granted,
    Victim,
    Withdrawn,
}

/// Two queues of which one holds the request, as two pages do, and its transaction.
struct World {
    queues: [loom::sync::Mutex<bool>; 2],
    slot: Slot<usize, End>,
    stop: AtomicBool,
    left: AtomicU64,
    ended: [AtomicBool; 3],
}

impl World {
    /// The request is in the first queue.
    fn new() -> Arc<World> {
        let slot = Slot::default();
        slot.begin(0, 0);
        Arc::new(World {
            queues: [loom::sync::Mutex::new(true), loom::sync::Mutex::new(false)],
            slot,
            stop: AtomicBool::new(false),
            left: AtomicU64::new(1),
            ended: [AtomicBool::new(false), AtomicBool::new(false), AtomicBool::new(false)],
        })
    }

    /// Takes the request out of its queue, wherever it is, unless somebody else did.
    fn end(&self, how: End) {
        while let Some(wait) = self.slot.view() {
            let mut queue = self.queues[wait.place].lock().unwrap();
            if std::mem::replace(&mut *queue, false) {
                self.ended[how as usize].store(true, Ordering::Relaxed);
                self.slot.end(how);
                return;
            }
            drop(queue);
            thread::yield_now();
        }
    }

    /// Moves the request to the other queue.
    fn relocate(&self) {
        let mut from = self.queues[0].lock().unwrap();
        let mut to = self.queues[1].lock().unwrap();
        if std::mem::replace(&mut *from, false) {
            *to = true;
            self.slot.relocate(1);
        }
    }

    fn wait(&self) -> End {
        let left = || Duration::from_secs(self.left.load(Ordering::SeqCst));
        match self.slot.block(left, || self.stop.load(Ordering::SeqCst)) {
            Blocked::Ended => {}
            Blocked::Stopped | Blocked::TimedOut => self.end(End::Withdrawn),
        }
        let (how, _) = self.slot.finish().expect("there was a wait");
        let ended: Vec<_> = self.ended.iter().map(|e| e.load(Ordering::Relaxed)).collect();
        let expected: Vec<_> = (0..3).map(|n| n == how as usize).collect();
        assert_eq!(ended, expected, "one end, and the waiter hears of that one");
        how
    }
}

/// All interleavings with up to four switches of a thread that could have gone on.
fn explore(f: impl Fn() + Send + Sync + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(4);
    model.check(f);
}

fn beside(world: &Arc<World>, f: impl FnOnce(&World) + 'static) -> thread::JoinHandle<()> {
    let world = world.clone();
    thread::spawn(move || f(&world))
}

#[test]
fn a_grant_wakes_the_waiter() {
    explore(|| {
        let world = World::new();
        let granter = beside(&world, |w| w.end(End::Granted));
        assert_eq!(world.wait(), End::Granted);
        granter.join().unwrap();
    });
}

#[test]
fn a_request_ends_once() {
    explore(|| {
        let world = World::new();
        let granter = beside(&world, |w| w.end(End::Granted));
        let finder = beside(&world, |w| w.end(End::Victim));
        assert_ne!(world.wait(), End::Withdrawn);
        granter.join().unwrap();
        finder.join().unwrap();
    });
}

#[test]
fn an_interruption_is_heard_unless_the_grant_was_faster() {
    explore(|| {
        let world = World::new();
        let granter = beside(&world, |w| w.end(End::Granted));
        let other = beside(&world, |w| {
            w.stop.store(true, Ordering::SeqCst);
            w.slot.nudge();
        });
        world.wait();
        granter.join().unwrap();
        other.join().unwrap();
    });
}

#[test]
fn an_interruption_alone_ends_the_wait() {
    explore(|| {
        let world = World::new();
        let other = beside(&world, |w| {
            w.stop.store(true, Ordering::SeqCst);
            w.slot.nudge();
        });
        assert_eq!(world.wait(), End::Withdrawn);
        other.join().unwrap();
    });
}

#[test]
fn a_clock_that_is_moved_ends_the_wait() {
    explore(|| {
        let world = World::new();
        let clock = beside(&world, |w| {
            w.left.store(0, Ordering::SeqCst);
            w.slot.nudge();
        });
        assert_eq!(world.wait(), End::Withdrawn);
        clock.join().unwrap();
    });
}

#[test]
fn a_request_that_moves_is_found() {
    explore(|| {
        let world = World::new();
        let mover = beside(&world, World::relocate);
        let granter = beside(&world, |w| w.end(End::Granted));
        assert_eq!(world.wait(), End::Granted);
        mover.join().unwrap();
        granter.join().unwrap();
    });
}
