//! Closing and reopening, and power cuts: what was durable is there, what is there is a prefix of what was done.

use crate::bed::{Bed, Kind, Row, contents, fields, insert, n_key, row};
use std::collections::BTreeMap;
use vaquita_base::Rng;
use vaquita_btree::{BulkBuilder, Error, Tree};
use vaquita_format::index_def::RowFormat;
use vaquita_format::tuple::Tuple;

type Model = BTreeMap<Row, (Row, bool)>;

#[test]
fn reopening_finds_everything() {
    for (kind, format) in [(Kind::IntKey, RowFormat::Redundant), (Kind::VarKey, RowFormat::Dynamic)] {
        let bed = Bed::new(4096, 64, 1);
        let tree = bed.tree(kind, format);
        let mut rng = Rng::new(1);
        for key in 0..500 {
            insert(&bed, &tree, &row(kind, key * 7 % 500, &mut rng, 20_000)).unwrap();
        }
        let (before, report, root) = (contents(&bed, &tree), bed.validate(&tree), tree.root());
        bed.storage.close().unwrap();
        let disk = bed.disk.clone();
        drop((tree, bed));
        let bed = Bed::open(disk, 4096, 64);
        bed.open_space();
        let tree = bed.reopen_tree(root, kind, format);
        assert_eq!(bed.validate(&tree), report);
        assert_eq!(contents(&bed, &tree), before);
    }
}

/// One operation of a run; applied to the tree and, if that worked, to the model.
#[derive(Debug)]
enum Op {
    Insert(Row),
    Update(Row),
    Remove(Row),
}

fn random_op(kind: Kind, rng: &mut Rng, step: u64) -> Op {
    let row = row(kind, rng.below(400) as u32, rng, 0);
    // Growing, then shrinking, in turns.
    let growing = (step / 250).is_multiple_of(2);
    match rng.below(10) {
        0..2 => Op::Update(row),
        n if (n < 8) == growing => Op::Insert(row),
        _ => Op::Remove(row),
    }
}

/// `None` once the disk is off.
fn apply(bed: &Bed, tree: &Tree, op: &Op) -> Option<()> {
    let done = match op {
        Op::Insert(row) => match tree.insert(&bed.storage, &Tuple::new(&fields(row))) {
            Err(Error::Duplicate) => Ok(()),
            other => other.map(|_| ()),
        },
        Op::Update(row) => tree.update(&bed.storage, &Tuple::new(&fields(row))).map(|_| ()),
        Op::Remove(row) => tree.remove(&bed.storage, &Tuple::new(&fields(&row[..n_key(tree)]))).map(|_| ()),
    };
    done.ok()
}

fn apply_to_model(model: &mut Model, n: usize, op: &Op) {
    match op {
        Op::Insert(row) => _ = model.entry(row[..n].to_vec()).or_insert_with(|| (row.clone(), false)),
        Op::Update(row) => {
            if let Some(place) = model.get_mut(&row[..n]) {
                *place = (row.clone(), false);
            }
        }
        Op::Remove(row) => _ = model.remove(&row[..n]),
    }
}

#[test]
fn power_cuts_leave_a_prefix() {
    for seed in 0..72u64 {
        let kind = [Kind::IntKey, Kind::LongKey, Kind::Nullable, Kind::HugeKey][seed as usize % 4];
        let format = [RowFormat::Redundant, RowFormat::Compact, RowFormat::Dynamic][seed as usize / 4 % 3];
        // Tall trees latch many pages at once.
        let frames = if kind == Kind::HugeKey { 160 } else { 40 };
        let bed = Bed::new(4096, frames, seed);
        let tree = bed.tree(kind, format);
        let (root, n) = (tree.root(), n_key(&tree));
        let lsn = bed.storage.log().current_lsn();
        bed.storage.log().flush_up_to(lsn).unwrap();
        let mut rng = Rng::new(seed);
        bed.disk.arm_cut(bed.disk.ops() + 20 + rng.below(500));
        let mut ops = Vec::new();
        let mut durable = 0;
        for step in 0..5_000 {
            let op = random_op(kind, &mut rng, step);
            let done = apply(&bed, &tree, &op);
            ops.push(op);
            if done.is_none() {
                break;
            }
            if rng.one_in(8) {
                let lsn = bed.storage.log().current_lsn();
                if bed.storage.log().flush_up_to(lsn).is_err() {
                    break;
                }
                durable = ops.len();
            }
            if rng.one_in(60) && bed.storage.checkpoint().is_err() {
                break;
            }
        }
        if !bed.disk.is_off() {
            bed.disk.power_cut();
        }
        let disk = bed.disk.restart();
        drop((tree, bed));

        let bed = Bed::open(disk, 4096, frames);
        bed.open_space();
        let tree = bed.reopen_tree(root, kind, format);
        let report = bed.validate(&tree);
        assert_eq!(report.leaked_pages, 0, "seed {seed}");
        bed.validate_space();
        let found = contents(&bed, &tree);
        let mut model = Model::new();
        ops[..durable].iter().for_each(|op| apply_to_model(&mut model, n, op));
        let mut at = durable;
        while model != found {
            assert!(at < ops.len(), "seed {seed}: what was found is no prefix from operation {durable} on");
            apply_to_model(&mut model, n, &ops[at]);
            at += 1;
        }
        // Life goes on.
        for key in 0..50 {
            let row = row(kind, 1_000 + key, &mut rng, 0);
            insert(&bed, &tree, &row).unwrap();
        }
        bed.validate(&tree);
    }
}

/// Long values: no record without its value, however the cut falls; pages may leak.
#[test]
fn power_cuts_while_long_values_are_written_and_freed() {
    let mut leaks = 0;
    for seed in 0..40u64 {
        let bed = Bed::new(4096, 40, seed);
        let tree = bed.tree(Kind::VarKey, RowFormat::Dynamic);
        let root = tree.root();
        let lsn = bed.storage.log().current_lsn();
        bed.storage.log().flush_up_to(lsn).unwrap();
        let mut rng = Rng::new(seed);
        bed.disk.arm_cut(bed.disk.ops() + 20 + rng.below(600));
        for key in 0..400u32 {
            let mut row = row(Kind::VarKey, key, &mut rng, 0);
            row[3] = Some(vec![key as u8; rng.index(30_000)]);
            let fields = fields(&row);
            let tuple = Tuple::new(&fields);
            let Ok(stored) = tree.store(&bed.storage, &tuple) else { break };
            let Ok(_) = tree.insert_record(&bed.storage, &tuple, &stored.record) else { break };
            if rng.one_in(4) {
                // Every row of this run is removed but the last few.
                let old = crate::bed::row(Kind::VarKey, key / 2, &mut rng, 0);
                let old = crate::bed::fields(&old[..1]);
                let old = Tuple::new(&old);
                if tree.free_owned(&bed.storage, &old, |_, _| true).is_err()
                    || tree.remove(&bed.storage, &old).is_err()
                {
                    break;
                }
            }
            let lsn = bed.storage.log().current_lsn();
            if rng.one_in(3) && bed.storage.log().flush_up_to(lsn).is_err() {
                break;
            }
        }
        if !bed.disk.is_off() {
            bed.disk.power_cut();
        }
        let disk = bed.disk.restart();
        drop((tree, bed));
        let bed = Bed::open(disk, 4096, 40);
        bed.open_space();
        let tree = bed.reopen_tree(root, Kind::VarKey, RowFormat::Dynamic);
        // Reads every chain, but for those whose freeing was under way.
        leaks += bed.validate(&tree).leaked_pages;
        bed.validate_space();
    }
    assert!(leaks > 0, "no cut fell between a chain and its record");
}

#[test]
fn a_bulk_build_is_there_as_a_whole_or_not_at_all() {
    let mut seen = [0; 2];
    for seed in 0..30u64 {
        let bed = Bed::new(4096, 40, seed);
        let tree = bed.tree(Kind::IntKey, RowFormat::Compact);
        let root = tree.root();
        let lsn = bed.storage.log().current_lsn();
        bed.storage.log().flush_up_to(lsn).unwrap();
        let mut rng = Rng::new(seed);
        if seed % 3 != 0 {
            bed.disk.arm_cut(bed.disk.ops() + 1 + rng.below(150));
        }
        let built = (|| {
            let mut builder = BulkBuilder::new(&tree, &bed.storage, 90);
            for key in 0..2_000 {
                builder.push(&Tuple::new(&fields(&row(Kind::IntKey, key, &mut rng, 0))))?;
            }
            let lsn = builder.finish()?;
            bed.storage.log().flush_up_to(lsn).map_err(|e| Error::Storage(e.into()))
        })();
        if !bed.disk.is_off() {
            bed.disk.power_cut();
        }
        let disk = bed.disk.restart();
        drop((tree, bed));
        let bed = Bed::open(disk, 4096, 40);
        bed.open_space();
        let tree = bed.reopen_tree(root, Kind::IntKey, RowFormat::Compact);
        let report = bed.validate(&tree);
        assert!(report.records == 2_000 || report.records == 0 && built.is_err(), "seed {seed}");
        seen[usize::from(report.records > 0)] += 1;
        tree.free_but_not_root(&bed.storage).unwrap();
        let mut mtr = bed.storage.begin().unwrap();
        mtr.keep_before_images();
        tree.free_root(&mut mtr).unwrap();
        mtr.commit();
        bed.validate_space();
    }
    assert!(seen[0] > 0 && seen[1] > 0, "{seen:?}");
}
