//! Room in the files.

use std::sync::atomic::{AtomicBool, Ordering};

use super::super::{LogError, LogPressure};
use super::*;

#[test]
fn pressure_rises_with_age_and_falls_with_a_checkpoint() {
    let disk = disk(1);
    let log = create(&disk, SMALL);
    let mut last = LogPressure::Low;
    let mut seen = vec![last];
    let mut id = 0;
    while let Some(room) = log.try_reserve_room(500) {
        append(&log, id, 500);
        log.release_room(room);
        id += 1;
        let age = log.age() * 16 / log.capacity();
        let expected = match age {
            0..14 => LogPressure::Low,
            14 => LogPressure::Async,
            _ => LogPressure::Sync,
        };
        assert_eq!(log.pressure(), expected, "age {}", log.age());
        if expected != last {
            seen.push(expected);
            last = expected;
        }
    }
    assert_eq!(seen, [LogPressure::Low, LogPressure::Async, LogPressure::Sync]);
    assert!(log.must_checkpoint());
    // Everything that had room can be written.
    log.flush_step().unwrap();
    log.write_checkpoint(log.current_lsn()).unwrap();
    assert_eq!((log.pressure(), log.age()), (LogPressure::Low, 0));
    assert!(log.try_reserve_room(500).map(|room| log.release_room(room)).is_some());
}

#[test]
fn reservations_of_running_mini_transactions_count() {
    let disk = disk(2);
    let log = create(&disk, SMALL);
    let mut rooms = Vec::new();
    while let Some(room) = log.try_reserve_room(10_000) {
        rooms.push(room);
    }
    assert!(rooms.len() > 5 && (rooms.len() as u64 + 2) * 10_000 > log.capacity());
    // All of them can append what they announced, at once.
    for (id, room) in rooms.into_iter().enumerate() {
        append(&log, id as u64, 10_000);
        log.release_room(room);
    }
    log.flush_step().unwrap();
    assert_eq!(log.flushed_lsn(), log.current_lsn());
}

#[test]
fn what_never_fits_is_refused() {
    let disk = disk(3);
    let log = create(&disk, SMALL);
    assert!(log.try_reserve_room(1 << 20).is_none());
    let error = log.wait_for_room(1 << 20, || true).unwrap_err();
    assert!(matches!(error, LogError::TooLarge { bytes: 1_048_576, .. }), "{error}");
    log.release_room(log.wait_for_room(100_000, || true).unwrap().unwrap());
    let room = log.try_reserve_room(100_000).unwrap();
    assert!(log.wait_for_room(100_000, || false).unwrap().is_none(), "nobody moves the checkpoint");
    log.release_room(room);
}

#[test]
fn waiters_go_on_when_the_checkpoint_moves() {
    let disk = disk(4);
    let log = create(&disk, SMALL);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let checkpointer = scope.spawn(|| {
            while !done.load(Ordering::SeqCst) {
                if log.must_checkpoint() {
                    log.write_checkpoint(log.dirty_pages_added_up_to()).unwrap();
                }
                std::thread::yield_now();
            }
        });
        let appenders: Vec<_> = (0..4u64)
            .map(|thread| {
                let log = &log;
                scope.spawn(move || {
                    let mut rng = Rng::new(thread);
                    for n in 0..400 {
                        let len = random_len(&mut rng);
                        let room = log.wait_for_room(len, || true).unwrap().unwrap();
                        append(log, thread << 32 | n, len);
                        log.release_room(room);
                    }
                })
            })
            .collect();
        for appender in appenders {
            appender.join().unwrap();
        }
        done.store(true, Ordering::SeqCst);
        checkpointer.join().unwrap();
    });
    assert!(log.current_lsn().get() > 5 * log.capacity());
    assert!(log.stats().room_waits.get() > 0);
    log.flush_step().unwrap();
    scan(&mut open(&disk.after_kill()).unwrap()).unwrap();
}
