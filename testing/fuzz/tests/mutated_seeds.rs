//! Every target takes its seeds, its old finds, and seeded mutations of both; the canary is found when its bytes come.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use vaquita_base::rng::Rng;
use vaquita_fuzz::{CANARY, TARGETS, Target, mutate::mutate};

/// Bytes fed to each target: enough to matter, little enough for every run of the tests.
const BYTES_PER_TARGET: usize = 16 << 20;
/// The few targets that read whole files stop sooner.
const TIME_PER_TARGET: Duration = Duration::from_secs(2);

/// Whether the target took the input; if not, the input is kept and named.
fn takes(target: &Target, data: &[u8], origin: &str) -> bool {
    let outcome = catch_unwind(AssertUnwindSafe(|| (target.run)(data)));
    if outcome.is_err() {
        let find = std::env::temp_dir().join(format!("fuzz-find-{}-{}", target.name, std::process::id()));
        std::fs::write(&find, data).expect("the find can be kept");
        eprintln!("{} broke on {origin}; the input is kept in {}", target.name, find.display());
    }
    outcome.is_ok()
}

fn takes_seeds_and_mutations(target: &Target) -> bool {
    let inputs = target.inputs();
    assert!(!inputs.is_empty(), "{} has no seeds", target.name);
    if !inputs.iter().all(|(name, input)| takes(target, input, name)) {
        return false;
    }
    let mut rng = Rng::new(1);
    let started = Instant::now();
    let mut fed = 0;
    while fed < BYTES_PER_TARGET && started.elapsed() < TIME_PER_TARGET {
        let mut data = inputs[rng.index(inputs.len())].1.clone();
        mutate(&mut data, &mut rng);
        if !takes(target, &data, "a mutation") {
            return false;
        }
        fed += data.len() + 256;
    }
    true
}

#[test]
fn every_target_takes_its_seeds_and_their_mutations() {
    let broken: Vec<&str> =
        TARGETS.iter().filter(|t| !takes_seeds_and_mutations(t)).map(|t| t.name).collect();
    assert!(broken.is_empty(), "broken: {broken:?}");
}

#[test]
#[should_panic(expected = "the canary was found")]
fn the_canary_fails_on_its_bytes() {
    (CANARY.run)(b"VAQ!");
}
