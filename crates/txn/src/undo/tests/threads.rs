//! Many threads write, commit and roll back while one purges.

use super::*;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use vaquita_base::Rng;

const THREADS: u64 = 4;
const TRANSACTIONS: u64 = 150;

#[test]
fn writers_and_purge_at_once() {
    let bed = Bed::new(4_096, 2_000, 3, 1);
    let others = bed.other_segments();
    let next = AtomicU64::new(1);
    // Numbers given and not in the history yet: what is below all of them is.
    let committing = Mutex::new(std::collections::BTreeSet::new());
    let expected = Mutex::new(Vec::new());
    let done = AtomicBool::new(false);
    let mut purged = Vec::new();
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..THREADS)
            .map(|seed| {
                let (bed, next, committing, expected) = (&bed, &next, &committing, &expected);
                scope.spawn(move || {
                    let mut rng = Rng::new(seed);
                    for _ in 0..TRANSACTIONS {
                        let id = next.fetch_add(1, Ordering::Relaxed);
                        let (mut trx, mut places) = (TrxUndo::default(), Vec::new());
                        for _ in 0..rng.below(30) {
                            let kind = if rng.one_in(3) { UndoKind::Insert } else { UndoKind::Update };
                            let (place, body) = bed.append(&mut trx, id, kind, rng.index(900));
                            places.push((kind, place, body));
                        }
                        let keep = if rng.one_in(4) { rng.index(places.len() + 1) } else { places.len() };
                        bed.roll_back(&mut trx, keep as u64);
                        places.truncate(keep);
                        for (_, place, body) in &places {
                            assert_eq!(bed.read(*place), *body);
                        }
                        let mut given = None;
                        let number = || {
                            let mut committing = committing.lock();
                            let no = next.fetch_add(1, Ordering::Relaxed);
                            committing.insert(no);
                            given = Some(no);
                            TrxId(no)
                        };
                        bed.rsegs.commit(&mut trx, number).unwrap();
                        if let Some(no) = given {
                            let records = places
                                .into_iter()
                                .filter(|p| p.0 == UndoKind::Update && p.2[0] & 15 == 14)
                                .map(|p| (no, p.1, p.2));
                            expected.lock().extend(records);
                            committing.lock().remove(&no);
                        }
                        bed.rsegs.release(&mut trx).unwrap();
                    }
                })
            })
            .collect();
        let purge = scope.spawn(|| {
            let (mut history, mut out) = (History::default(), Vec::new());
            while !done.load(Ordering::Acquire) {
                let limit = {
                    let committing = committing.lock();
                    committing.first().copied().unwrap_or(next.load(Ordering::Relaxed))
                };
                history.fetch_below(&bed.rsegs, TrxId(limit), 30, &mut out).unwrap();
                history.truncate_all(&bed.rsegs).unwrap();
            }
            out.extend(bed.purge_all(&mut history));
            out
        });
        for writer in writers {
            writer.join().unwrap();
        }
        done.store(true, Ordering::Release);
        purged = purge.join().unwrap();
    });
    let mut expected = expected.into_inner();
    expected.sort_by_key(|e| e.0);
    let purged: Vec<_> =
        purged.into_iter().map(|r| (r.trx_no.get(), r.place, r.undo.body().to_vec())).collect();
    assert_eq!(purged, expected);
    bed.check_idle(others);
}
