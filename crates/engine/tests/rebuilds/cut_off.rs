//! The machine loses power, or the process is killed, at any moment of writing a table anew beside others.

use crate::rebuilds::{Bed, Kind, ROWS, after_some_changes, some_changes};
use std::sync::Arc;
use vaquita_engine::Engine;
use vaquita_io::sim::SimDisk;

/// Rows are changed in the middle, in one transaction or several; what is committed is there, in the old table or the new one, and
/// nothing else.
#[test]
fn a_rebuild_that_is_cut_off_leaves_the_old_table_or_the_new() {
    for kind in [Kind::Columns, Kind::OtherKey, Kind::NumberKey] {
        let base = Bed::new();
        base.engine.core().storage.flush_everything().unwrap();
        let disk = base.disk.fork(1);
        drop(base);
        let total = {
            let bed = open(disk.fork(1));
            let before = bed.disk.ops();
            rebuild(&bed, kind).unwrap();
            bed.disk.ops() - before
        };
        let (mut old, mut new) = (0, 0);
        let step = (total / 30).max(1);
        // And when it is done.
        for cut in (1..=total + 3).filter(|c| c % step == 0 || *c + 12 > total) {
            let bed = open(disk.fork(cut));
            let ops = bed.disk.ops();
            bed.disk.arm_cut(ops + cut);
            let done = rebuild(&bed, kind);
            let was_off = bed.disk.is_off();
            assert!(was_off || done.is_ok(), "{kind:?} {cut}: {done:?}");
            let disk = bed.disk.clone();
            if !was_off {
                disk.power_cut();
            }
            drop(bed);
            let disk = disk.restart();
            let bed = open(disk);
            let rows = bed.whole();
            let columns = bed.engine.core().table(crate::rebuilds::TABLE).unwrap();
            let is_new = match kind {
                Kind::OtherKey => columns.clustered().parts[0].column == 1,
                _ => columns.columns.len() == 5,
            };
            // The changes were made in the middle, each committed: what is there is a state in between.
            assert!(rows.len() >= ROWS as usize - 3, "{kind:?} {cut}: {} rows", rows.len());
            if is_new {
                new += 1;
                assert!(rows == after_some_changes(), "{kind:?} {cut}");
            } else {
                old += 1;
                // And it can be done again.
                rebuild_alone(&bed, kind);
                assert_eq!(bed.whole().len(), rows.len());
            }
        }
        assert!(old > 20 && new > 0, "{kind:?}: {old} old, {new} new of {total}");
    }
}

fn open(disk: SimDisk) -> Bed {
    let bed = Bed::open(disk.clone(), Arc::new(disk));
    let core = bed.engine.core();
    while core.rollback_step().unwrap() {}
    bed
}

fn rebuild(bed: &Bed, kind: Kind) -> vaquita_engine::Result<()> {
    let mut other = Engine::session(&bed.engine);
    let event = move || {
        // When the power is off nothing of it is done.
        let _ = some_changes(&mut other);
    };
    bed.rebuild(&mut bed.engine.session(), kind, 150, Box::new(event))
}

fn rebuild_alone(bed: &Bed, kind: Kind) {
    bed.rebuild(&mut bed.engine.session(), kind, 0, Box::new(|| {})).unwrap();
}
