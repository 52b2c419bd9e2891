//! A few hundred power cuts and faults. `SIM_SEED=n` runs one seed alone.
#![allow(clippy::unwrap_used, reason = "a test")]

use vaquita_sim::{Report, Simulator};

#[test]
fn everything_durable_survives_power_cuts_and_faults() {
    let mut simulator = Simulator::new();
    let mut total = Report::default();
    let seeds = match std::env::var("SIM_SEED") {
        Ok(seed) => seed.parse().unwrap()..=seed.parse().unwrap(),
        Err(_) => 0..=99,
    };
    for seed in seeds {
        match simulator.run_seed(seed) {
            Ok(report) => total.add(&report),
            Err(failure) => panic!("{failure}"),
        }
    }
    println!("{total}");
}
