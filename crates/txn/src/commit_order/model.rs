//! The order of transactions under the model checker: every interleaving of a committing thread with one that opens
//! a view and looks ids up, every reordering that the memory model allows.
//!
//! The sources are compiled a second time here, on the checker's primitives.

/// The checker's primitives behind the names of [`super::sync`].
mod sync {
    pub(super) use crossbeam_utils::CachePadded;
    pub(super) use loom::sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};
    use loom::sync::{MutexGuard, RwLockReadGuard, RwLockWriteGuard};

    const NO_PANIC: &str = "no thread of a model panics";

    #[derive(Debug, Default)]
    pub(super) struct Mutex<T>(loom::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(super) fn new(value: T) -> Self {
            Self(loom::sync::Mutex::new(value))
        }

        pub(super) fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock().expect(NO_PANIC)
        }

        pub(super) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
            self.0.try_lock().ok()
        }
    }

    #[derive(Debug)]
    pub(super) struct RwLock<T>(loom::sync::RwLock<T>);

    impl<T> RwLock<T> {
        pub(super) fn new(value: T) -> Self {
            Self(loom::sync::RwLock::new(value))
        }

        pub(super) fn read(&self) -> RwLockReadGuard<'_, T> {
            self.0.read().expect(NO_PANIC)
        }

        pub(super) fn write(&self) -> RwLockWriteGuard<'_, T> {
            self.0.write().expect(NO_PANIC)
        }
    }
}

#[expect(dead_code, reason = "the model uses a part of it")]
#[allow(clippy::duplicate_mod, reason = "once more, on other primitives")]
#[path = "limits.rs"]
mod limits;
#[allow(dead_code, reason = "the model uses a part of it")]
#[allow(clippy::duplicate_mod, reason = "once more, beside its user")]
#[path = "line.rs"]
mod line;
#[expect(dead_code, reason = "the model uses a part of it")]
#[allow(clippy::duplicate_mod, reason = "once more, on other primitives")]
#[path = "order.rs"]
mod order;
#[allow(dead_code, reason = "the model uses a part of it")]
#[allow(clippy::duplicate_mod, reason = "once more, on other primitives")]
#[path = "seq_map.rs"]
mod seq_map;

use limits::{Numbers, ViewNumbers};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;
use order::Order;
use vaquita_base::TrxId;

/// The order with one session that reads, and the word of a page.
struct System {
    order: Order,
    view: ViewNumbers,
    /// Id of the last transaction that wrote the page. Written and read under its latch, which orders.
    page: AtomicU64,
}

impl System {
    fn new(ring: usize) -> Arc<Self> {
        let (first, bound) = (TrxId(10), TrxId(1_000));
        Arc::new(Self {
            order: Order::new(first, bound, ring),
            view: ViewNumbers::new(),
            page: AtomicU64::new(0),
        })
    }

    fn write(&self) -> TrxId {
        let id = self.order.begin().expect("the bound is far");
        self.page.store(id.0, Ordering::Release);
        id
    }

    fn publish(&self, id: TrxId) {
        self.order.publish(id, None, || ());
    }

    fn forget(&self) {
        self.order.forget(|see| see(&self.view));
    }

    fn sees(&self, view: &Numbers, id: TrxId) -> bool {
        id.0 < view.up_limit || (id.0 < view.low_limit && self.order.committed_before(id, view.snapshot))
    }
}

/// Explores all executions with at most three preemptions, or as many as `LOOM_MAX_PREEMPTIONS` says: four take ten
/// times as long, and without a bound there is no end in reasonable time.
fn explore(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound.get_or_insert(3);
    builder.check(model);
}

#[test]
fn who_sees_a_transaction_sees_what_it_built_upon() {
    explore(|| {
        let system = System::new(2);
        let first = system.write();
        let writer = {
            let system = system.clone();
            thread::spawn(move || {
                system.publish(first);
                let second = system.write();
                system.publish(second);
            })
        };
        let view = system.order.open_view(&system.view);
        let last = TrxId(system.page.load(Ordering::Acquire));
        if last != first {
            assert!(!system.sees(&view, last) || system.sees(&view, first));
        }
        writer.join().unwrap();
        assert!(!system.sees(&view, TrxId(11)) || system.sees(&view, first));
    });
}

#[test]
fn a_transaction_that_built_upon_a_later_one_does_not_hide_it() {
    explore(|| {
        let system = System::new(4);
        let early = system.order.begin().expect("the bound is far");
        let writer = {
            let system = system.clone();
            thread::spawn(move || {
                let late = system.write();
                system.publish(late);
                // It waited for a lock of the other, and changes the same row now.
                system.publish(early);
            })
        };
        let view = system.order.open_view(&system.view);
        writer.join().unwrap();
        assert!(!system.sees(&view, early) || system.sees(&view, TrxId(11)));
    });
}

#[test]
fn forgetting_changes_no_answer() {
    explore(|| {
        // One entry: what comes next takes the place of what was forgotten.
        let system = System::new(1);
        let first = system.write();
        let writer = {
            let system = system.clone();
            thread::spawn(move || {
                system.publish(first);
                system.forget();
                system.write();
            })
        };
        let view = system.order.open_view(&system.view);
        let seen = system.sees(&view, first);
        assert_eq!(system.sees(&view, first), seen);
        writer.join().unwrap();
        assert_eq!(system.sees(&view, first), seen);
        assert!(!system.sees(&view, TrxId(11)));
    });
}

#[test]
fn what_a_view_began_before_is_not_forgotten_under_it() {
    explore(|| {
        let system = System::new(1);
        let view = system.order.open_view(&system.view);
        let first = system.write();
        system.view.close();
        let writer = {
            let system = system.clone();
            thread::spawn(move || {
                system.publish(first);
                system.forget();
            })
        };
        assert!(!system.sees(&view, first));
        // Closed and opened again while somebody looks.
        let view = system.order.open_view(&system.view);
        let seen = system.sees(&view, first);
        writer.join().unwrap();
        assert_eq!(system.sees(&view, first), seen);
    });
}

#[test]
fn purge_takes_nothing_from_a_view() {
    explore(|| {
        let system = System::new(2);
        let first = system.write();
        let purged = Arc::new(AtomicU64::new(0));
        let purge = {
            let (system, purged) = (system.clone(), purged.clone());
            thread::spawn(move || {
                let number = system.order.draw_number();
                system.order.publish(first, Some(number), || ());
                let oldest = system.order.oldest_view(|see| see(&system.view));
                let undo = u64::from(number.0 < oldest.low_limit_no);
                let row = u64::from(system.sees(&oldest, first));
                assert!(undo <= row, "its undo is purged, and not all see it");
                purged.store(undo + row, Ordering::Release);
            })
        };
        let view = system.order.open_view(&system.view);
        if !system.sees(&view, first) {
            assert_eq!(purged.load(Ordering::Acquire), 0);
            purge.join().unwrap();
            assert_eq!(purged.load(Ordering::Acquire), 0, "what a view does not see was purged under it");
        } else {
            purge.join().unwrap();
        }
    });
}
