//! Scenarios: logs of many pages, rollback, limits, read views, opening.

use super::*;
use crate::Error;
use vaquita_format::undo::Xid;

#[test]
fn records_are_read_and_taken_back_in_reverse_order() {
    let bed = Bed::new(4_096, 300, 2, 1);
    let others = bed.other_segments();
    let mut trx = TrxUndo::default();
    let mut all = Vec::new();
    for n in 0..900 {
        let kind = if n % 7 < 3 { UndoKind::Insert } else { UndoKind::Update };
        all.push(bed.append(&mut trx, 5, kind, n * 37 % 800));
    }
    for (ptr, body) in &all {
        assert_eq!(bed.read(*ptr), *body);
    }
    // A savepoint at 600, and all records behind it at once.
    let mut out = UndoBuf::default();
    assert_eq!(bed.rsegs.newest(&trx, 900, &mut out).unwrap(), None);
    bed.rsegs.forget(&mut trx, 600).unwrap();
    assert_eq!(trx.next_no(), 600);
    all.truncate(600);
    for n in 600..700 {
        all.push(bed.append(&mut trx, 5, UndoKind::Update, n % 500));
    }
    let back = bed.roll_back(&mut trx, 0);
    all.reverse();
    assert_eq!(back, all);
    assert_eq!(trx.next_no(), 0);
    assert!(trx.logs().all(|log| log.n_pages == 1), "empty pages are freed");
    bed.commit(&mut trx, 6);
    assert_eq!(bed.purge_all(&mut History::default()), []);
    bed.check_idle(others);
}

#[test]
fn the_longest_record_has_a_page_of_its_own() {
    let bed = Bed::new(4_096, 300, 1, 1);
    let mut trx = TrxUndo::default();
    let longest = 4_096 - 56 - 8 - 4;
    let overhead = body(UndoKind::Insert, 0, 3_000).len() - 3_000;
    let (_, first) = bed.append(&mut trx, 5, UndoKind::Insert, longest - overhead);
    assert_eq!(first.len(), longest);
    let (ptr, second) = bed.append(&mut trx, 5, UndoKind::Insert, longest - overhead);
    assert_eq!(bed.read(ptr), second);
    let too_long = body(UndoKind::Insert, trx.next_no(), longest - overhead + 1);
    let err = bed.rsegs.append(&mut trx, TrxId(5), false, UndoKind::Insert, &too_long);
    assert!(matches!(err, Err(Error::UndoRecordTooBig { bytes }) if bytes == longest + 1), "{err:?}");
    assert_eq!(trx.next_no(), 2);
    assert_eq!(bed.roll_back(&mut trx, 0).len(), 2);
}

#[test]
fn the_first_record_of_a_cached_segment_comes_with_its_header() {
    for kind in [UndoKind::Insert, UndoKind::Update] {
        let bed = Bed::new(4_096, 300, 1, 1);
        let mut trx = TrxUndo::default();
        bed.append(&mut trx, 5, kind, 10);
        bed.commit(&mut trx, 6);
        let appends = || bed.storage.log().stats().appends.get();
        let before = appends();
        let (ptr, first) = bed.append(&mut trx, 7, kind, 10);
        assert_eq!(appends() - before, 1, "one mini-transaction");
        let (second_ptr, second) = bed.append(&mut trx, 7, kind, 20);
        assert_eq!((bed.read(ptr), bed.read(second_ptr)), (first.clone(), second.clone()));
        assert_eq!(bed.roll_back(&mut trx, 0), [(second_ptr, second), (ptr, first)]);
        bed.commit(&mut trx, 8);
        // The longest record has no room behind a header: it gets a page of its own.
        let (ptr, long) = bed.append(&mut trx, 9, kind, 3_950);
        assert_eq!(bed.read(ptr), long);
        assert!(trx.logs().all(|log| log.n_pages == 2));
    }
}

/// The header of a log and its first record are there together or not at all, whichever write the power fails at.
#[test]
fn a_power_cut_leaves_no_cached_segment_with_half_a_log() {
    let (mut with, mut without) = (0, 0);
    for seed in 0..60 {
        let bed = Bed::new(4_096, 300, 1, seed);
        let mut trx = TrxUndo::default();
        bed.append(&mut trx, 5, UndoKind::Update, 10);
        bed.commit(&mut trx, 6);
        assert!(bed.make_durable());
        let (ptr, body) = bed.append(&mut trx, 7, UndoKind::Update, 10);
        if seed % 2 == 0 {
            assert!(bed.make_durable());
        }
        bed.disk.power_cut();
        let disk = bed.disk.restart();
        drop(bed);
        let (bed, found) = Bed::open(disk, 4_096, 300, 1);
        match found.as_slice() {
            [] => without += 1,
            [one] => {
                with += 1;
                assert_eq!((one.id, one.undo.next_no()), (TrxId(7), 1));
                assert_eq!(bed.read(ptr), body);
            }
            more => panic!("{} transactions", more.len()),
        }
        assert!(seed % 2 == 1 || found.len() == 1, "what was durable is there");
    }
    assert!(with >= 30 && without > 0, "{with} {without}");
}

#[test]
fn a_roll_pointer_to_nothing_is_an_error() {
    let bed = Bed::new(4_096, 300, 2, 1);
    let mut trx = TrxUndo::default();
    let (ptr, _) = bed.append(&mut trx, 5, UndoKind::Insert, 10);
    let mut out = UndoBuf::default();
    // Another rollback segment, kind, page, offset.
    for wrong in [ptr.0 + (90 << 48), ptr.0 ^ 1 << 55, 0, ptr.0 + 1, ptr.0 | 0xFFFF_FFFF_0000, u64::MAX] {
        let err = bed.rsegs.read(RollPtr(wrong), &mut out);
        assert!(matches!(err, Err(Error::NoSuchUndo(p)) if p.0 == wrong), "{wrong:#x}: {err:?}");
    }
}

#[test]
fn a_full_rollback_segment_sends_transactions_to_others() {
    // 256 slots each with pages of 4K.
    let bed = Bed::new(4_096, 1_000, 2, 1);
    let others = bed.other_segments();
    let mut open = Vec::new();
    for id in 0..512u64 {
        let mut trx = TrxUndo::default();
        trx.set_rseg(super::super::rseg::RsegNo(0));
        bed.append(&mut trx, 10 + id, UndoKind::Insert, 5);
        open.push(trx);
    }
    assert_eq!(bed.slots().len(), 512);
    let mut late = TrxUndo::default();
    let record = body(UndoKind::Insert, 0, 5);
    let err = bed.rsegs.append(&mut late, TrxId(5_000), false, UndoKind::Insert, &record);
    assert!(matches!(err, Err(Error::TooManyTransactions)), "{err:?}");
    // A transaction with a log cannot go elsewhere; one that ends makes room.
    let record = body(UndoKind::Update, 1, 5);
    let err = bed.rsegs.append(&mut open[0], TrxId(10), false, UndoKind::Update, &record);
    assert!(matches!(err, Err(Error::TooManyTransactions)), "{err:?}");
    bed.commit(&mut open[1], 600);
    bed.append(&mut late, 5_000, UndoKind::Insert, 5);
    for mut trx in open.into_iter().chain([late]) {
        bed.commit(&mut trx, 601);
    }
    bed.check_idle(others);
}

#[test]
fn two_thousand_transactions_write_at_once_and_survive() {
    let bed = Bed::new(4_096, 1_000, 128, 3);
    let others = bed.other_segments();
    let mut open = Vec::new();
    for id in 1..=2_000u64 {
        let mut trx = TrxUndo::default();
        let records = vec![
            bed.append(&mut trx, id, UndoKind::Insert, 20),
            bed.append(&mut trx, id, UndoKind::Update, 20),
        ];
        open.push((trx, records));
    }
    for (trx, records) in open.iter_mut().step_by(3) {
        let id = trx.logs().next().unwrap().trx_id.get();
        records.push(bed.append(trx, id, UndoKind::Update, 900));
    }
    assert!(bed.make_durable());
    let disk = bed.disk.after_kill();
    drop(bed);
    let (bed, mut found) = Bed::open(disk, 4_096, 1_000, 128);
    assert_eq!(found.len(), 2_000);
    assert_eq!(bed.rsegs.greatest_id(), TrxId(2_000));
    for (trx, (_, mut records)) in found.iter_mut().zip(open) {
        records.reverse();
        assert_eq!(bed.roll_back(&mut trx.undo, 0), records);
        bed.commit(&mut trx.undo, 3_000 + trx.id.get());
    }
    bed.purge_all(&mut History::default());
    bed.check_idle(others);
}

#[test]
fn opening_gives_prepared_and_active_transactions() {
    let bed = Bed::new(4_096, 300, 3, 1);
    let others = bed.other_segments();
    let xid = Xid::new(77, b"g", b"b").unwrap();
    let mut prepared = TrxUndo::default();
    bed.append(&mut prepared, 20, UndoKind::Update, 100);
    bed.append(&mut prepared, 20, UndoKind::Insert, 100);
    bed.rsegs.prepare(&mut prepared, &xid).unwrap();
    let mut active = TrxUndo::default();
    let record = body(UndoKind::Insert, 0, 50);
    bed.rsegs.append(&mut active, TrxId(30), true, UndoKind::Insert, &record).unwrap();
    let mut committed = TrxUndo::default();
    (0..20).for_each(|_| _ = bed.append(&mut committed, 40, UndoKind::Insert, 700));
    // Not released: a crash falls between the commit and the freeing.
    bed.rsegs.commit(&mut committed, || unreachable!("there is no update log")).unwrap();
    assert!(bed.make_durable());
    let disk = bed.disk.after_kill();
    drop(bed);
    let (bed, mut found) = Bed::open(disk, 4_096, 300, 3);
    assert_eq!(found.len(), 2);
    assert_eq!((found[0].id, found[0].prepared, found[0].xid), (TrxId(20), true, Some(xid)));
    assert_eq!((found[0].dict_operation, found[0].undo.next_no()), (false, 2));
    assert_eq!((found[1].id, found[1].prepared, found[1].xid), (TrxId(30), false, None));
    assert!(found[1].dict_operation && found[1].undo.next_no() == 1);
    assert!(found[0].undo.has_update_log() && !found[1].undo.has_update_log());
    // Life goes on for both.
    bed.append(&mut found[1].undo, 30, UndoKind::Update, 100);
    assert_eq!(bed.roll_back(&mut found[1].undo, 0).len(), 2);
    bed.commit(&mut found[1].undo, 50);
    bed.commit(&mut found[0].undo, 51);
    let purged = bed.purge_all(&mut History::default());
    assert_eq!(purged.iter().map(|r| r.trx_id.get()).collect::<Vec<_>>(), [20]);
    bed.check_idle(others);
}

#[test]
fn the_history_is_read_up_to_the_view_and_in_the_order_of_commit() {
    let bed = Bed::new(4_096, 300, 3, 1);
    let mut history = History::default();
    let mut out = Vec::new();
    assert!(!history.fetch_below(&bed.rsegs, EVERYTHING, 300, &mut out).unwrap());
    let mut expected = Vec::new();
    for n in 0..60u64 {
        let mut trx = TrxUndo::default();
        for _ in 0..n % 9 {
            let (place, body) = bed.append(&mut trx, 100 + n, UndoKind::Update, 400 + n as usize % 2);
            expected.push((place, 200 + n, body));
        }
        bed.commit(&mut trx, 200 + n);
    }
    expected.retain(|(_, _, body)| body[0] & 15 == 14);
    let numbers = |out: &[PurgeRecord]| -> Vec<_> {
        out.iter().map(|r| (r.place, r.trx_no.get(), r.undo.body().to_vec())).collect()
    };
    let len = bed.rsegs.history_len();
    while history.fetch_below(&bed.rsegs, TrxId(230), 1, &mut out).unwrap() {}
    let below: Vec<_> = expected.iter().filter(|e| e.1 < 230).cloned().collect();
    assert_eq!(numbers(&out), below);
    assert!(out.iter().all(|r| r.trx_id.get() + 100 == r.trx_no.get()));
    assert_eq!(bed.rsegs.history_len(), len, "reading frees nothing");
    history.truncate_all(&bed.rsegs).unwrap();
    assert_eq!(bed.rsegs.history_len(), (230..260).filter(|n| (n - 200) % 9 != 0).count() as u64);
    out.clear();
    assert!(history.fetch_below(&bed.rsegs, EVERYTHING, 10_000, &mut out).unwrap());
    let above: Vec<_> = expected.iter().filter(|e| e.1 >= 230).cloned().collect();
    assert_eq!(numbers(&out), above);
    // What was fetched and not freed is fetched again after opening.
    assert!(bed.make_durable());
    let disk = bed.disk.after_kill();
    drop(bed);
    let (bed, _) = Bed::open(disk, 4_096, 300, 3);
    assert_eq!(bed.rsegs.greatest_id(), TrxId(259));
    assert_eq!(numbers(&bed.purge_all(&mut History::default())), above);
}

#[test]
fn pages_of_a_long_log_are_freed_while_it_is_read() {
    let bed = Bed::new(4_096, 300, 1, 1);
    let others = bed.other_segments();
    let mut trx = TrxUndo::default();
    let all: Vec<_> = (0..300).map(|_| bed.append(&mut trx, 5, UndoKind::Update, 1_000).0).collect();
    bed.commit(&mut trx, 6);
    let size = |bed: &Bed| {
        let page = bed.storage.pool().get_shared(bed.rsegs.rsegs[0].as_ref().unwrap().header).unwrap();
        RollbackSegment::new(&page).history_size()
    };
    assert_eq!(size(&bed), 100);
    let mut history = History::default();
    let mut out = Vec::new();
    assert!(history.fetch_below(&bed.rsegs, EVERYTHING, 40, &mut out).unwrap());
    history.truncate_all(&bed.rsegs).unwrap();
    assert_eq!(size(&bed), 100 - 39, "all that were read but the first, which has the header");
    let read = out.len();
    // A crash: the rest is read again.
    assert!(bed.make_durable());
    let disk = bed.disk.after_kill();
    drop(bed);
    let (bed, _) = Bed::open(disk, 4_096, 300, 1);
    let rest = bed.purge_all(&mut History::default());
    out.extend(rest);
    assert_eq!(out.iter().map(|r| r.place).collect::<Vec<_>>(), all);
    assert!(read > 100);
    bed.check_idle(others);
}

#[test]
fn a_segment_that_is_in_use_again_keeps_its_page_when_old_logs_are_freed() {
    let bed = Bed::new(4_096, 300, 1, 1);
    let others = bed.other_segments();
    let mut history = History::default();
    let mut first = TrxUndo::default();
    bed.append(&mut first, 5, UndoKind::Update, 100);
    bed.commit(&mut first, 6);
    let mut second = TrxUndo::default();
    let mut places = vec![bed.append(&mut second, 7, UndoKind::Update, 100)];
    assert_eq!(bed.slots(), [(SegmentState::Active, 1)]);
    assert_eq!(bed.purge_all(&mut history).len(), 1);
    // It grows, and ends as one that is to be purged.
    for _ in 0..30 {
        places.push(bed.append(&mut second, 7, UndoKind::Update, 1_000));
    }
    for (place, body) in &places {
        assert_eq!(bed.read(*place), *body);
    }
    bed.commit(&mut second, 8);
    assert_eq!(bed.slots(), []);
    assert_eq!(bed.purge_all(&mut history).len(), places.len());
    bed.check_idle(others);
}

/// A crash falls between the mini-transactions that free a long segment: of the history, and of inserts.
#[test]
fn half_freed_segments_are_freed_after_opening() {
    for steps in 0..6 {
        let bed = Bed::new(4_096, 600, 1, 1);
        let others = bed.other_segments();
        let mut trx = TrxUndo::default();
        for _ in 0..1_500 {
            bed.append(&mut trx, 5, UndoKind::Update, 1_000);
            bed.append(&mut trx, 5, UndoKind::Insert, 1_000);
        }
        let segments: Vec<_> = trx.logs().map(|log| log.segment).collect();
        bed.rsegs.commit(&mut trx, || TrxId(6)).unwrap();
        let rseg = bed.rsegs.rsegs[0].as_ref().unwrap();
        let oldest = rseg.state.lock().oldest.unwrap();
        bed.rsegs.clear_del_marks(rseg, &oldest).unwrap();
        for segment in segments {
            for _ in 0..steps * 60 {
                let mut mtr = bed.storage.begin().unwrap();
                mtr.keep_before_images();
                fsp::free_segment_step(&mut mtr, segment.header, Some(segment.first_page)).unwrap();
                mtr.commit();
            }
        }
        assert!(bed.make_durable());
        let disk = bed.disk.after_kill();
        drop(bed);
        let (bed, found) = Bed::open(disk, 4_096, 600, 1);
        assert!(found.is_empty() && bed.slots().is_empty(), "the insert segment is gone");
        assert_eq!(bed.purge_all(&mut History::default()), [], "nobody reads a log that is half gone");
        bed.check_idle(others);
    }
}

/// A large segment takes extents ahead of use. It keeps them when a rollback makes it a page again, until it is freed.
#[test]
fn a_log_that_was_large_is_freed_with_all_its_extents() {
    let disk = SimDisk::new(1);
    disk.put_dir("/db".as_ref());
    // Extents are taken ahead only while there is plenty of them.
    let mut options = storage_options(4_096, 1_000);
    options.data_file_path[0].size_bytes = 100 << 20;
    let storage = Storage::open(Arc::new(disk.clone()), Arc::new(ManualClock::new()), options).unwrap();
    let storage = Arc::new(storage);
    let (rsegs, _) = open_rsegs(&storage, 1);
    let bed = Bed { disk, storage, rsegs };
    let others = bed.other_segments();
    for kind in [UndoKind::Update, UndoKind::Insert] {
        let mut trx = TrxUndo::default();
        // More than three quarters of the first page, so that it is not cached.
        (0..3).for_each(|_| _ = bed.append(&mut trx, 5, kind, 1_000));
        let segment = trx.logs().next().map(|log| log.segment.header).unwrap();
        let usage = || fsp::segment_usage(&mut bed.storage.begin_read(), segment).unwrap();
        while usage().reserved < usage().used + 300 {
            (0..128).for_each(|_| _ = bed.append(&mut trx, 5, kind, 3_900));
        }
        bed.rsegs.forget(&mut trx, 3).unwrap();
        assert!(usage().used == 1 && usage().reserved > 256, "{:?}", usage());
        bed.commit(&mut trx, 6);
        bed.purge_all(&mut History::default());
        bed.check_idle(others);
    }
}
