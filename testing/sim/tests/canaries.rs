//! Deliberate bugs: the simulation that does not catch them is blind.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use vaquita_sim::{Canary, Scenario, Simulator};

/// Seeds within which a bug must show.
const SEEDS: u64 = 40;

/// The first seed that catches the bug, and how.
fn catch(canary: Canary) -> Option<(u64, String)> {
    let mut simulator = Simulator::new();
    (0..SEEDS).find_map(|seed| {
        let scenario = Scenario::new(seed).with_canary(canary);
        match catch_unwind(AssertUnwindSafe(|| simulator.run(scenario))) {
            Ok(Ok(_)) => None,
            Ok(Err(failure)) => Some((seed, failure.text)),
            Err(_) => Some((seed, "an assertion of the engine".into())),
        }
    })
}

fn assert_caught(canary: Canary) {
    let (seed, how) =
        catch(canary).unwrap_or_else(|| panic!("{canary:?} is not caught within {SEEDS} seeds"));
    println!("{canary:?}: seed {seed}: {how}");
}

#[test]
fn skipping_the_doublewrite_is_caught() {
    assert_caught(Canary::SkipDoublewrite);
}

#[test]
fn acknowledging_before_the_sync_is_caught() {
    assert_caught(Canary::AcknowledgeBeforeSync);
}

#[test]
fn skipping_a_redo_record_is_caught() {
    assert_caught(Canary::SkipRedoRecord(500));
}

/// The same scenarios without a bug pass.
#[test]
fn the_scenarios_themselves_are_sound() {
    let mut simulator = Simulator::new();
    for seed in 0..SEEDS / 2 {
        let scenario = Scenario::new(seed).with_canary(Canary::None);
        simulator.run(scenario).unwrap_or_else(|failure| panic!("{failure}"));
    }
}
