//! Every target takes its seeds and seeded mutations of them; the canary is found when its bytes come.

use std::panic::{AssertUnwindSafe, catch_unwind};

use vaquita_base::rng::Rng;
use vaquita_fuzz::{CANARY, TARGETS, Target, mutate::mutate};

/// Bytes fed to each target: enough to matter, little enough for every run of the tests.
const BYTES_PER_TARGET: usize = 16 << 20;

fn try_one(target: &Target, data: &[u8], origin: &str) {
    let outcome = catch_unwind(AssertUnwindSafe(|| (target.run)(data)));
    if outcome.is_err() {
        let find = std::env::temp_dir().join(format!("fuzz-find-{}-{}", target.name, std::process::id()));
        std::fs::write(&find, data).expect("the find can be kept");
        panic!("{} broke on {origin}; the input is kept in {}", target.name, find.display());
    }
}

#[test]
fn every_target_takes_its_seeds_and_their_mutations() {
    for target in TARGETS {
        let seeds = (target.seeds)();
        assert!(!seeds.is_empty(), "{} has no seeds", target.name);
        for (number, seed) in seeds.iter().enumerate() {
            try_one(target, seed, &format!("seed {number}"));
        }
        let mut rng = Rng::new(1);
        let mut fed = 0;
        while fed < BYTES_PER_TARGET {
            let mut data = seeds[rng.index(seeds.len())].clone();
            mutate(&mut data, &mut rng);
            try_one(target, &data, "a mutation");
            fed += data.len() + 256;
        }
    }
}

#[test]
#[should_panic(expected = "the canary was found")]
fn the_canary_fails_on_its_bytes() {
    (CANARY.run)(b"VAQ!");
}
