//! The bytes of pages, against the format's examples.

use super::*;
use vaquita_base::PageNo;
use vaquita_base::codec::{get_u16, get_u32, get_u64};
use vaquita_format::trx_sys;
use vaquita_format::undo::{UndoPlace, Xid};

fn page(bed: &Bed, no: PageNo) -> Vec<u8> {
    bed.storage.pool().get_shared(PageId::new(SpaceId::SYSTEM, no)).unwrap().to_vec()
}

fn first_pages(bed: &Bed, rseg: usize) -> Vec<PageNo> {
    let header = page(bed, bed.rsegs.rsegs[rseg].as_ref().unwrap().header.page_no);
    RollbackSegment::new(&header).used_slots().map(|(_, no)| no).collect()
}

#[test]
fn a_new_folder_gets_128_rollback_segments() {
    let bed = Bed::new(16_384, 200, 128, 1);
    let sys = page(&bed, trx_sys::PAGE);
    for n in 0..128 {
        let (space, no) = trx_sys::rseg(&sys, n).unwrap();
        assert_eq!(space, SpaceId::SYSTEM);
        let found = page(&bed, no);
        let mut expected = vec![0; 16_384];
        vaquita_format::rseg::init_page(&mut expected, space, no, RollbackSegment::new(&found).segment());
        assert_eq!(found[24..26], expected[24..26]);
        assert_eq!(found[38..16_376], expected[38..16_376], "rollback segment {n}");
    }
    let others = bed.other_segments();
    // Opening again makes no more.
    assert!(bed.make_durable());
    let disk = bed.disk.after_kill();
    drop(bed);
    let (bed, found) = Bed::open(disk, 16_384, 200, 128);
    assert!(found.is_empty() && bed.rsegs.all().count() == 128);
    assert_eq!(bed.other_segments(), others);
    assert_eq!(bed.rsegs.greatest_id(), TrxId(0));
    // All in turn.
    let given: Vec<u8> = (0..130).map(|_| bed.rsegs.assign().0).collect();
    assert_eq!((given[0], given[127], given[128], given[129]), (0, 127, 0, 1));
}

#[test]
fn fewer_rollback_segments_are_used_and_the_others_kept() {
    let bed = Bed::new(16_384, 200, 9, 1);
    assert_eq!(bed.rsegs.all().count(), 9);
    assert!(bed.make_durable());
    let disk = bed.disk.after_kill();
    drop(bed);
    let (bed, _) = Bed::open(disk, 16_384, 200, 4);
    assert_eq!(bed.rsegs.all().count(), 9);
    assert!((0..20).all(|_| bed.rsegs.assign().0 < 4));
}

/// The insert record of the format's example, and where it lies.
#[test]
fn the_first_record_of_an_insert_log() {
    let bed = Bed::new(16_384, 200, 4, 1);
    let mut trx = TrxUndo::default();
    trx.set_rseg(super::super::rseg::RsegNo(2));
    let body = [0x0b, 0x00, 0x15, 0x04, 0x80, 0x00, 0x00, 0x06];
    let ptr = bed.rsegs.append(&mut trx, TrxId(0x6f09), false, UndoKind::Insert, &body).unwrap();
    let first = first_pages(&bed, 2)[0];
    assert_eq!(
        UndoPlace::decode(ptr),
        UndoPlace { insert: true, rseg: 2, page: first, offset: 0x110 },
        "behind a log header with room for an XID"
    );
    let bytes = page(&bed, first);
    assert_eq!(bytes[24..26], [0, 2], "page type UNDO_LOG");
    assert_eq!(bytes[38..44], [0, 1, 0x01, 0x10, 0x01, 0x1c], "INSERT, first record, first free byte");
    assert_eq!(bytes[44..56], [255, 255, 255, 255, 0, 0, 255, 255, 255, 255, 0, 0], "alone in the list");
    assert_eq!(bytes[56..60], [0, 1, 0, 86], "ACTIVE, newest log");
    assert_eq!(
        ListBase::read(&bytes, 70),
        ListBase::single(vaquita_format::flst::FileAddress::new(first, 44))
    );
    assert_eq!(get_u64(&bytes, 86), 0x6f09);
    assert_eq!(get_u64(&bytes, 94), 0);
    assert_eq!((get_u16(&bytes, 102), get_u16(&bytes, 104)), (1, 0x110));
    assert_eq!(bytes[106..108], [0, 0], "no XID, not of the dictionary");
    assert_eq!(bytes[272..284], [0x01, 0x1c, 0x0b, 0x00, 0x15, 0x04, 0x80, 0, 0, 0x06, 0x01, 0x10]);
    assert_eq!(bed.read(ptr), body);
}

#[test]
fn prepared_logs_carry_the_xid_and_lose_it_before_a_rollback() {
    let bed = Bed::new(16_384, 200, 1, 1);
    let mut trx = TrxUndo::default();
    bed.append(&mut trx, 7, UndoKind::Insert, 10);
    bed.append(&mut trx, 7, UndoKind::Update, 10);
    let xid = Xid::new(1, b"global", b"branch").unwrap();
    assert!(bed.rsegs.prepare(&mut trx, &xid).unwrap().is_some());
    for no in first_pages(&bed, 0) {
        let bytes = page(&bed, no);
        assert_eq!((get_u16(&bytes, 56), bytes[106]), (5, 1));
        assert_eq!(bytes[132..144], [0, 0, 0, 1, 0, 0, 0, 6, 0, 0, 0, 6]);
        assert_eq!(&bytes[144..156], b"globalbranch");
        assert!(bytes[156..272].iter().all(|&b| b == 0));
    }
    bed.rsegs.unprepare(&mut trx).unwrap();
    for no in first_pages(&bed, 0) {
        let bytes = page(&bed, no);
        assert_eq!((get_u16(&bytes, 56), bytes[106]), (1, 0));
    }
    assert_eq!(bed.rsegs.prepare(&mut TrxUndo::default(), &xid).unwrap(), None);
}

#[test]
fn a_change_of_the_dictionary_is_noted_in_every_log() {
    let bed = Bed::new(16_384, 200, 1, 1);
    let mut trx = TrxUndo::default();
    // Before it was known.
    bed.append(&mut trx, 7, UndoKind::Insert, 10);
    for kind in [UndoKind::Insert, UndoKind::Update] {
        let body = body(kind, trx.next_no(), 10);
        bed.rsegs.append(&mut trx, TrxId(7), true, kind, &body).unwrap();
    }
    for no in first_pages(&bed, 0) {
        assert_eq!(page(&bed, no)[107], 1);
    }
    bed.commit(&mut trx, 8);
    // The next transaction in the cached segments is none.
    let mut trx = TrxUndo::default();
    bed.append(&mut trx, 9, UndoKind::Insert, 10);
    bed.append(&mut trx, 9, UndoKind::Update, 10);
    for no in first_pages(&bed, 0) {
        let bytes = page(&bed, no);
        assert_eq!(bytes[usize::from(UndoPage::new(&bytes).unwrap().last_log()) + 21], 0);
    }
}

#[test]
fn small_segments_are_cached_and_used_again() {
    let bed = Bed::new(16_384, 200, 1, 1);
    let others = bed.other_segments();
    let header = || page(&bed, bed.rsegs.rsegs[0].as_ref().unwrap().header.page_no);
    for n in 0..10u64 {
        let mut trx = TrxUndo::default();
        let (insert, _) = bed.append(&mut trx, 100 + 2 * n, UndoKind::Insert, 10);
        let (update, _) = bed.append(&mut trx, 100 + 2 * n, UndoKind::Update, 10);
        bed.commit(&mut trx, 101 + 2 * n);
        let pages = first_pages(&bed, 0);
        assert_eq!(pages.len(), 2, "both segments stay in their slots");
        let (insert, update) = (UndoPlace::decode(insert), UndoPlace::decode(update));
        assert_eq!((insert.page, insert.offset), (pages[0], 272), "an insert log begins anew");
        let logs = page(&bed, pages[1]);
        let view = UndoPage::new(&logs).unwrap();
        assert_eq!(view.state(), Ok(SegmentState::Cached));
        assert_eq!(update.offset, view.last_log() + 186, "an update log goes behind the others");
        let rseg = header();
        let history = RollbackSegment::new(&rseg).history();
        assert_eq!(history.len, n as u32 + 1);
        assert_eq!((history.first.page, history.first.offset), (pages[1], view.last_log() + 34), "in front");
        assert_eq!(get_u64(&logs, usize::from(view.last_log()) + 8), 101 + 2 * n, "its number");
        assert_eq!(get_u32(&rseg, 42), 0, "pages of cached segments do not count");
    }
    assert_eq!(bed.purge_all(&mut History::default()).len(), 10);
    bed.check_idle(others);
}

#[test]
fn large_segments_are_freed_or_go_to_purge() {
    let bed = Bed::new(4_096, 300, 1, 1);
    let others = bed.other_segments();
    // 3/4 of a page, one page and a bit, many pages.
    for (n, records) in [(0, 3), (1, 4), (2, 300)] {
        let mut trx = TrxUndo::default();
        for _ in 0..records {
            bed.append(&mut trx, 100 + 2 * n, UndoKind::Insert, 1_000);
            bed.append(&mut trx, 100 + 2 * n, UndoKind::Update, 1_000);
        }
        let pages = trx.update.as_ref().unwrap().n_pages;
        assert_eq!(pages, [1, 2, 100][n as usize]);
        bed.rsegs.commit(&mut trx, || TrxId(101 + 2 * n)).unwrap();
        assert_eq!(bed.slots(), [(SegmentState::ToFree, pages)], "the update segment has left its slot");
        bed.rsegs.release(&mut trx).unwrap();
        assert_eq!(bed.slots(), []);
        let header = page(&bed, bed.rsegs.rsegs[0].as_ref().unwrap().header.page_no);
        assert_eq!(get_u32(&header, 42), pages, "pages of the history");
        assert_eq!(bed.other_segments(), others + 1);
        assert_eq!(bed.purge_all(&mut History::default()).len(), records);
        bed.check_idle(others);
    }
}
