//! The page latch under the model checker: every interleaving of two or three threads, every reordering that the
//! memory model allows.
//!
//! The latch's source is compiled a second time here, on the checker's primitives.

/// The checker's primitives behind the names of [`crate::sync`].
mod sync {
    pub(crate) use loom::sync::atomic::{AtomicU64, Ordering, fence};

    /// Not spinning keeps the number of interleavings finite; parking is what is to be checked.
    pub(crate) fn spin_rounds() -> u32 {
        0
    }

    pub(crate) fn spin_loop() {
        loom::thread::yield_now();
    }

    #[derive(Debug)]
    pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(loom::sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> Guard<'_, T> {
            Guard(Some(self.0.lock().expect("no thread of a model panics")))
        }
    }

    pub(crate) struct Guard<'a, T>(Option<loom::sync::MutexGuard<'a, T>>);

    #[derive(Debug)]
    pub(crate) struct Condvar(loom::sync::Condvar);

    impl Condvar {
        pub(crate) fn new() -> Self {
            Self(loom::sync::Condvar::new())
        }

        pub(crate) fn wait<T>(&self, guard: &mut Guard<'_, T>) {
            let held = guard.0.take().expect("held");
            guard.0 = Some(self.0.wait(held).expect("no thread of a model panics"));
        }

        pub(crate) fn notify_all(&self) {
            self.0.notify_all();
        }
    }
}

#[expect(dead_code, unreachable_pub, reason = "the model uses a part of the latch")]
#[allow(clippy::duplicate_mod, reason = "once more, on other primitives")]
#[path = "latch.rs"]
mod latch;

use latch::{PageLatch, ParkingLot};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;

/// Two words that the latch guards; every writer leaves them equal.
struct Guarded {
    latch: PageLatch,
    lot: ParkingLot,
    words: [AtomicU64; 2],
}

impl Guarded {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            latch: PageLatch::new(),
            lot: ParkingLot::new(1),
            words: [AtomicU64::new(0), AtomicU64::new(0)],
        })
    }

    fn write(&self) {
        self.latch.lock_exclusive(&self.lot, 0);
        let n = self.words[0].load(Ordering::Relaxed) + 1;
        self.words[0].store(n, Ordering::Relaxed);
        self.words[1].store(n, Ordering::Relaxed);
        self.latch.unlock_exclusive(&self.lot, 0);
    }

    fn pair(&self) -> (u64, u64) {
        (self.words[0].load(Ordering::Relaxed), self.words[1].load(Ordering::Relaxed))
    }
}

#[test]
fn a_shared_holder_sees_no_half_change_and_nobody_sleeps_for_ever() {
    loom::model(|| {
        let guarded = Guarded::new();
        let writer = {
            let guarded = guarded.clone();
            thread::spawn(move || guarded.write())
        };
        guarded.latch.lock_shared(&guarded.lot, 0);
        let (a, b) = guarded.pair();
        assert_eq!(a, b);
        guarded.latch.unlock_shared(&guarded.lot, 0);
        writer.join().unwrap();
        assert_eq!(guarded.pair(), (1, 1));
    });
}

#[test]
fn two_writers_do_not_lose_a_change() {
    loom::model(|| {
        let guarded = Guarded::new();
        let other = {
            let guarded = guarded.clone();
            thread::spawn(move || guarded.write())
        };
        guarded.write();
        other.join().unwrap();
        guarded.latch.lock_shared(&guarded.lot, 0);
        assert_eq!(guarded.pair(), (2, 2));
        guarded.latch.unlock_shared(&guarded.lot, 0);
    });
}

#[test]
fn an_optimistic_read_that_validates_saw_one_state() {
    loom::model(|| {
        let guarded = Guarded::new();
        let writer = {
            let guarded = guarded.clone();
            thread::spawn(move || guarded.write())
        };
        if let Some(version) = guarded.latch.version() {
            let (a, b) = guarded.pair();
            if guarded.latch.validate(version) {
                assert_eq!(a, b, "half a change passed validation");
            }
        }
        writer.join().unwrap();
    });
}
