//! Damaged undo records and rows: errors, never a panic.

use crate::random::World;
use std::panic::{AssertUnwindSafe, catch_unwind};
use vaquita_base::{PageId, PageNo, Rng, SpaceId};
use vaquita_engine::check::check_table;
use vaquita_format::fil::{self, PageType};

/// Overwrites bytes of some pages of a kind.
fn damage(world: &World, space: SpaceId, kind: PageType, rng: &mut Rng) {
    let storage = &world.bed.engine.core().storage;
    for page in 3..600 {
        let mut mtr = storage.begin().unwrap();
        let Ok(page) = mtr.get_exclusive(PageId::new(space, PageNo(page))) else { return };
        let bytes = mtr.page(page);
        if fil::raw_type(bytes) != kind.as_u16() {
            continue;
        }
        let end = if kind == PageType::UndoLog { 1_200 } else { bytes.len() - 8 };
        for _ in 0..1 + rng.below(4) {
            // Behind the headers, where records are.
            let at = if kind == PageType::UndoLog { 272 } else { 120 } + rng.index(end - 280);
            mtr.write_u8(page, at, rng.below(256) as u8);
        }
        mtr.commit();
    }
}

fn run(seed: u64) {
    let mut rng = Rng::new(seed);
    let mut world = World::new(seed, 3);
    for _ in 0..200 {
        world.step();
    }
    if rng.one_in(2) {
        damage(&world, SpaceId::SYSTEM, PageType::UndoLog, &mut rng);
    } else {
        let table = rng.index(world.tables.len());
        damage(&world, world.tables[table].space, PageType::Index, &mut rng);
    }
    let panics = catch_unwind(AssertUnwindSafe(|| {
        world.roll_back_all();
        let core = world.bed.engine.core();
        for table in &world.tables {
            // Errors are expected.
            let _ = check_table(core, table);
        }
        let _ = core.purge_step();
    }));
    assert!(panics.is_ok(), "seed {seed}");
}

#[test]
fn damage_is_an_error() {
    for seed in 0..40 {
        run(seed);
    }
}
