//! The whole engine under power cuts and kills: a fixed set of seeds.

use vaquita_sim::database::{DatabaseReport, DatabaseSimulator};

#[test]
fn databases_survive_power_cuts() {
    let mut simulator = DatabaseSimulator::new();
    let mut report = DatabaseReport::default();
    for seed in 0..60 {
        report.add(&simulator.run_seed(seed).unwrap_or_else(|failure| panic!("{failure}")));
    }
    println!("{report}");
    // The seeds are such that the run is worth its name.
    assert!(report.cuts > 100 && report.nested_cuts > 5 && report.checks > 200, "{report}");
    assert!(report.alterations > 50 && report.steps_between > 100, "{report}");
}

#[test]
fn commits_acknowledged_too_early_are_caught() {
    let mut simulator = DatabaseSimulator::new();
    let caught = (0..10).filter(|&seed| simulator.run_on_lying_disk(seed).is_err()).count();
    assert!(caught >= 5, "{caught} of 10 runs on a disk that does not sync were found wrong");
}
