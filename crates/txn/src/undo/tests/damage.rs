//! Damaged pages: errors that say so, or a wrong answer, but never a panic, a mini-transaction abandoned half-way, or a
//! walk without end.

use super::*;
use vaquita_base::{PageNo, Rng};
use vaquita_format::flst::ListNode;
use vaquita_format::{rseg, trx_sys, undo};

/// A folder with everything in it: active, prepared, cached, long and short logs of the history, one half read.
fn busy(seed: u64) -> (Bed, History) {
    let bed = Bed::new(4_096, 300, 2, seed);
    let mut history = History::default();
    for n in 0..6u64 {
        let mut trx = TrxUndo::default();
        for _ in 0..if n % 3 == 0 { 40 } else { 2 } {
            bed.append(&mut trx, 10 + n, UndoKind::Update, 400);
            bed.append(&mut trx, 10 + n, UndoKind::Insert, 400);
        }
        bed.commit(&mut trx, 20 + n);
    }
    history.fetch_below(&bed.rsegs, EVERYTHING, 2, &mut Vec::new()).unwrap();
    for id in 30..34u64 {
        let mut trx = TrxUndo::default();
        for _ in 0..20 {
            bed.append(&mut trx, id, UndoKind::Update, 300);
            bed.append(&mut trx, id, UndoKind::Insert, 300);
        }
        if id == 33 {
            bed.rsegs.prepare(&mut trx, &undo::Xid::new(1, b"g", b"b").unwrap()).unwrap();
        }
    }
    (bed, history)
}

/// TRX_SYS, header pages, and undo pages as far as they are reached from them.
fn pages(bed: &Bed) -> Vec<PageNo> {
    let mut all = vec![trx_sys::PAGE];
    let get = |no| bed.storage.pool().get_shared(PageId::new(SpaceId::SYSTEM, no)).unwrap();
    for header in bed.rsegs.all().map(|r| r.header.page_no) {
        all.push(header);
        let view = get(header);
        let view = RollbackSegment::new(&view);
        let mut firsts: Vec<PageNo> = view.used_slots().map(|(_, no)| no).collect();
        firsts.extend(view.history().last.some().map(|a| a.page));
        for mut no in firsts {
            while !no.is_null() && !all.contains(&no) {
                all.push(no);
                no = ListNode::read(&get(no), undo::PAGE_NODE).next.page;
            }
        }
    }
    all
}

/// Changes a field in the first bytes, where the structure is, or anywhere.
fn damage_page(bed: &Bed, no: PageNo, rng: &mut Rng) {
    let mut mtr = bed.storage.begin().unwrap();
    let page = mtr.get_exclusive(PageId::new(SpaceId::SYSTEM, no)).unwrap();
    let structure = if no == trx_sys::PAGE { 56..80 } else { 38..rseg::SLOTS + 40 };
    let at = if rng.one_in(3) { rng.index(4_000) } else { structure.start + rng.index(structure.len()) };
    let at = at.clamp(24, 4_080);
    match rng.below(4) {
        0 => mtr.write_u8(page, at, rng.below(256) as u8),
        1 => mtr.write_u16(page, at, rng.below(4_096) as u16),
        2 => mtr.write_u32(page, at, rng.below(200) as u32),
        _ => mtr.write_u32(page, at, rng.next_u64() as u32),
    }
    mtr.commit();
}

/// Everything that is done with undo logs, until the first error.
fn use_all(bed: &Bed, transactions: Vec<FoundTrx>, mut history: History) -> crate::Result<()> {
    let mut out = UndoBuf::default();
    let mut failed = Ok(());
    for mut trx in transactions {
        let mut roll_back = || {
            bed.rsegs.unprepare(&mut trx.undo)?;
            while let Some(place) = bed.rsegs.newest(&trx.undo, 0, &mut out)? {
                bed.rsegs.read(place, &mut UndoBuf::default())?;
                let no = trx.undo.next_no() - 1;
                bed.rsegs.forget(&mut trx.undo, no)?;
            }
            bed.rsegs.commit(&mut trx.undo, || TrxId(100))?;
            bed.rsegs.release(&mut trx.undo)
        };
        failed = failed.and(roll_back());
    }
    for _ in 0..50 {
        let mut records = Vec::new();
        let more = history.fetch_below(&bed.rsegs, EVERYTHING, 5, &mut records)?;
        assert!(records.len() < 5_000);
        history.truncate_all(&bed.rsegs)?;
        if !more {
            break;
        }
    }
    let mut trx = TrxUndo::default();
    for n in 0..20 {
        let body = body(UndoKind::Update, n, 300);
        bed.rsegs.append(&mut trx, TrxId(200), false, UndoKind::Update, &body)?;
    }
    bed.rsegs.commit(&mut trx, || TrxId(201))?;
    failed
}

#[test]
fn damage_is_an_error_and_no_panic() {
    let mut errors = 0;
    for seed in 0..300u64 {
        let (bed, history) = busy(seed);
        let mut rng = Rng::new(seed);
        let pages = pages(&bed);
        for _ in 0..1 + rng.below(3) {
            let no = pages[rng.index(pages.len())];
            damage_page(&bed, no, &mut rng);
        }
        // Under a running system, or opened with it.
        let result = if rng.one_in(4) {
            use_all(&bed, Vec::new(), history)
        } else {
            let options = Options { rollback_segments: 2, ..Options::default() };
            RollbackSegments::open(&bed.storage, &options).and_then(|(rsegs, found)| {
                let Bed { disk, storage, .. } = bed;
                use_all(&Bed { disk, storage, rsegs }, found, History::default())
            })
        };
        errors += u32::from(result.is_err());
    }
    assert!(errors > 70, "{errors}");
}
