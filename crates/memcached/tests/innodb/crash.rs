//! Power cuts: what was acknowledged is there, a batch is there whole or not at all.

use crate::innodb::bed::{Bed, Ops};
use std::sync::atomic::Ordering::Relaxed;
use vaquita_base::Rng;
use vaquita_memcached::store::{Mode, Outcome, Store};

/// Waits for what was committed, as the door does before it answers.
fn acknowledged(store: &mut impl Store) -> bool {
    store.durability().is_none_or(|durability| durability.wait().is_ok())
}

#[test]
fn acknowledged_sets_survive() {
    for seed in 0..25 {
        let mut rng = Rng::new(seed);
        let bed = Bed::new();
        bed.engine.core().storage.flush_everything().unwrap();
        bed.disk.arm_cut(bed.disk.ops() + 5 + rng.below(120));
        let mut store = bed.store();
        let mut known: Vec<Option<u64>> = vec![None; 20];
        let mut unsure = None;
        for n in 0..5_000_u64 {
            let at = rng.below(20) as usize;
            unsure = Some((at, n));
            let done = store.keep(Mode::Set, &format!("k{at}"), &n.to_string());
            if !matches!(done, Ok(Outcome::Done(_))) || !acknowledged(&mut store) {
                break;
            }
            known[at] = Some(n);
            unsure = None;
            if rng.one_in(30) && bed.engine.core().storage.flush_everything().is_err() {
                break;
            }
        }
        drop(store);
        bed.disk.power_cut();
        let bed = Bed::open(bed.disk.restart());
        let mut store = bed.store();
        for (at, value) in known.iter().enumerate() {
            let found = store.value(&format!("k{at}")).map(|v| v.parse::<u64>().unwrap());
            let last = unsure.filter(|u| u.0 == at).map(|u| u.1);
            assert!(
                found == *value || last.is_some() && found == last,
                "seed {seed}: k{at} is {found:?}, not {value:?}"
            );
        }
    }
}

#[test]
fn a_batch_is_whole_or_not_there() {
    for seed in 0..25 {
        let mut rng = Rng::new(seed + 1_000);
        let bed = Bed::new();
        bed.engine.core().storage.flush_everything().unwrap();
        bed.settings.w_batch_size.store(4, Relaxed);
        bed.disk.arm_cut(bed.disk.ops() + 5 + rng.below(60));
        let mut store = bed.store();
        let mut known = None;
        'rounds: for round in 0..2_000_u64 {
            for key in 0..4 {
                if store.keep(Mode::Set, &format!("k{key}"), &round.to_string()).is_err() {
                    break 'rounds;
                }
                if rng.one_in(20) && bed.engine.core().storage.flush_everything().is_err() {
                    break 'rounds;
                }
            }
            if !acknowledged(&mut store) {
                break;
            }
            known = Some(round);
        }
        drop(store);
        bed.disk.power_cut();
        let bed = Bed::open(bed.disk.restart());
        while bed.engine.core().rollback_step().unwrap() {}
        let mut store = bed.store();
        let found: Vec<_> = (0..4).map(|key| store.value(&format!("k{key}"))).collect();
        assert!(found.iter().all(|value| *value == found[0]), "seed {seed}: {found:?}");
        let found = found[0].as_ref().map(|v| v.parse::<u64>().unwrap());
        let next = known.map_or(0, |round| round + 1);
        assert!(found == known || found == Some(next), "seed {seed}: {found:?} after {known:?}");
    }
}
