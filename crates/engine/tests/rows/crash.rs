//! Random statements cut off by power cuts. After recovery exactly the committed changes are there (those of a commit
//! that the cut hit: all or nothing), every unfinished one is taken back, and all indexes agree.

use crate::rows::random::{WIDE, World};
use std::panic::{AssertUnwindSafe, catch_unwind};
use vaquita_base::Rng;

fn run(seed: u64) {
    let mut rng = Rng::new(seed);
    let mut world = World::new(seed, 3);
    world.bed.engine.core().storage.flush_everything().unwrap();
    if seed % 3 == 2 {
        world.shape = WIDE;
        world.compare_every = 20;
    }
    for _ in 0..rng.below(200) {
        world.step();
    }
    world.bed.disk.arm_cut(world.bed.disk.ops() + 1 + rng.below(60));
    let mut steps = 0;
    let failed = catch_unwind(AssertUnwindSafe(|| {
        while steps < 3_000 && !world.bed.disk.is_off() {
            steps += 1;
            if rng.one_in(20) {
                let storage = &world.bed.engine.core().storage;
                // What fails because of the cut is seen by the next statement.
                let _ =
                    if rng.one_in(4) { storage.checkpoint().map(drop) } else { storage.flush_everything() };
            }
            world.step();
        }
    }))
    .is_err();
    assert!(!failed || world.bed.disk.is_off(), "seed {seed}: a statement failed by itself");
    world.bed.disk.power_cut();
    // Recovery is cut off, too.
    for _ in 0..rng.below(3) {
        let disk = world.bed.disk.restart();
        disk.arm_cut(disk.ops() + 1 + rng.below(400));
        let _cut = catch_unwind(AssertUnwindSafe(|| {
            let bed = crate::rows::bed::Bed::open(disk.clone());
            while bed.engine.core().rollback_step().unwrap() {}
        }));
        disk.power_cut();
        world.bed.disk = disk;
    }
    world.recover();
}

#[test]
fn power_cuts() {
    for seed in 0..60 {
        run(seed);
    }
}
