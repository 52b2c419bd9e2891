//! The page latch on real threads. (`latch_model` explores every interleaving of a few.)

use crate::latch::{PageLatch, ParkingLot};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

#[test]
fn modes_exclude_each_other() {
    let lot = ParkingLot::new(1);
    let l = PageLatch::new();
    assert!(l.try_shared() && l.try_shared());
    assert!(!l.try_exclusive());
    l.unlock_shared(&lot, 0);
    l.unlock_shared(&lot, 0);
    assert!(l.try_exclusive());
    assert!(!l.try_shared() && !l.try_exclusive());
    assert_eq!(l.version(), None);
    l.downgrade(&lot, 0);
    assert!(l.try_shared());
}

#[test]
fn a_version_outlives_readers_but_not_a_writer() {
    let lot = ParkingLot::new(1);
    let l = PageLatch::new();
    let v = l.version().unwrap();
    l.lock_shared(&lot, 0);
    assert!(l.validate(v));
    l.unlock_shared(&lot, 0);
    assert!(l.validate(v));
    l.lock_exclusive(&lot, 0);
    assert!(!l.validate(v));
    l.unlock_exclusive(&lot, 0);
    assert!(!l.validate(v));
    assert_eq!(l.version(), Some(v + 1));
}

#[test]
fn writers_and_readers_of_many_threads_keep_two_words_equal() {
    let lot = Arc::new(ParkingLot::new(2));
    let latch = Arc::new(PageLatch::new());
    let words = Arc::new([AtomicU64::new(0), AtomicU64::new(0)]);
    std::thread::scope(|s| {
        for t in 0..6 {
            let (lot, latch, words) = (lot.clone(), latch.clone(), words.clone());
            s.spawn(move || {
                for _ in 0..5_000 {
                    if t % 2 == 0 {
                        latch.lock_exclusive(&lot, 5);
                        let v = words[0].load(Ordering::Relaxed);
                        words[0].store(v + 1, Ordering::Relaxed);
                        words[1].store(v + 1, Ordering::Relaxed);
                        latch.unlock_exclusive(&lot, 5);
                    } else {
                        latch.lock_shared(&lot, 5);
                        assert_eq!(words[0].load(Ordering::Relaxed), words[1].load(Ordering::Relaxed));
                        latch.unlock_shared(&lot, 5);
                    }
                }
            });
        }
    });
    assert_eq!(words[0].load(Ordering::Relaxed), 15_000);
}
