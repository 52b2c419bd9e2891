//! Many threads append at once; what is read back is what each of them was told.

use std::collections::BTreeMap;

use super::*;

/// Appends from `threads` threads, each `each` mini-transactions; some of them also flush. Gives what each was told,
/// by start.
fn storm(log: &RedoLog, threads: u64, each: u64) -> BTreeMap<Lsn, Seen> {
    let mut all = BTreeMap::new();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|thread| {
                scope.spawn(move || {
                    let mut rng = Rng::new(thread);
                    let mut told = Vec::new();
                    for n in 0..each {
                        let id = thread << 32 | n;
                        let bytes = group(id, random_len(&mut rng));
                        let appended = log.append(&bytes);
                        if rng.one_in(8) {
                            std::thread::yield_now();
                        }
                        log.closed(&appended);
                        told.push(Seen::new(id, appended));
                        match rng.below(16) {
                            0 => log.flush_up_to(appended.end).unwrap(),
                            1 => log.write_up_to(appended.end).unwrap(),
                            _ => {}
                        }
                    }
                    told
                })
            })
            .collect();
        for worker in workers {
            for seen in worker.join().unwrap() {
                assert!(all.insert(seen.start, seen).is_none(), "two at one place");
            }
        }
    });
    all
}

#[test]
fn all_threads_find_their_records_where_they_were_told() {
    for (seed, buffer) in [(1, BUFFER_BYTES_MIN), (2, 16 << 10), (3, 1 << 20)] {
        let disk = disk(seed);
        let log = RedoLog::create(&disk, clock(), config(buffer), new_log(2, 4 << 20)).unwrap();
        let told = storm(&log, 6, 700);
        assert_eq!(log.dirty_pages_added_up_to(), log.current_lsn());
        log.flush_up_to(log.current_lsn()).unwrap();
        let seen = scan(&mut open(&disk.after_kill()).unwrap()).unwrap();
        assert!(seen.iter().eq(told.values()), "{} scanned, {} appended", seen.len(), told.len());
        assert_eq!(seen.last().unwrap().end, log.current_lsn());
    }
}
