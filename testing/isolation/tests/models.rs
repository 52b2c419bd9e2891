//! The checker on databases of known behaviour: it finds what they do wrong and nothing else.

use proptest::prelude::*;
use std::collections::BTreeSet;
use std::time::Duration;
use vaquita_isolation::Level;
use vaquita_isolation::history::{Kind, find, violations};
use vaquita_isolation::workload::{Behaviour, Model, Settings, Workload, run_interleaved, run_threads};

const WORKLOADS: [Workload; 2] = [Workload::ListAppend, Workload::Registers];

fn settings(workload: Workload, level: Level, sessions: usize, seed: u64) -> Settings {
    Settings { workload, level, sessions, seed, transactions: 60, time: Duration::from_secs(60) }
}

/// All kinds found in many short runs.
fn kinds(behaviour: Behaviour, level: Level, sessions: usize, seeds: u64) -> BTreeSet<Kind> {
    let mut kinds = BTreeSet::new();
    for seed in 0..seeds {
        for workload in WORKLOADS {
            let history = run_interleaved(&Model::new(behaviour), &settings(workload, level, sessions, seed))
                .expect("the model does not fail");
            kinds.extend(find(&history).into_iter().map(|anomaly| anomaly.kind));
        }
    }
    kinds
}

fn assert_no_violations(behaviour: Behaviour, level: Level) {
    for seed in 0..150 {
        for workload in WORKLOADS {
            let history = run_interleaved(&Model::new(behaviour), &settings(workload, level, 5, seed))
                .expect("the model does not fail");
            let found = violations(&history);
            assert!(found.is_empty(), "{behaviour:?} {workload:?} seed {seed}: {}", found[0]);
        }
    }
}

proptest! {
    /// One session after the other cannot go wrong, whatever it does.
    #[test]
    fn serial_executions_show_nothing(seed: u64, lists: bool) {
        let workload = WORKLOADS[usize::from(lists)];
        let model = Model::new(Behaviour::Locking);
        let history = run_interleaved(&model, &settings(workload, Level::Serializable, 1, seed)).unwrap();
        prop_assert!(history.committed() > 20);
        prop_assert_eq!(find(&history), vec![]);
    }
}

#[test]
fn two_phase_locking_shows_nothing() {
    assert_eq!(kinds(Behaviour::Locking, Level::Serializable, 5, 150), BTreeSet::new());
}

#[test]
fn snapshot_isolation_shows_write_skew_only() {
    let kinds = kinds(Behaviour::Snapshot, Level::RepeatableRead, 5, 150);
    assert_eq!(kinds, BTreeSet::from([Kind::G2Item]));
}

#[test]
fn repeatable_read_shows_what_it_allows() {
    assert_no_violations(Behaviour::RepeatableRead, Level::RepeatableRead);
    let kinds = kinds(Behaviour::RepeatableRead, Level::RepeatableRead, 5, 150);
    assert!(kinds.contains(&Kind::GSingle) && kinds.contains(&Kind::G2Item), "{kinds:?}");
}

#[test]
fn read_committed_shows_what_it_allows() {
    assert_no_violations(Behaviour::ReadCommitted, Level::ReadCommitted);
    let kinds = kinds(Behaviour::ReadCommitted, Level::ReadCommitted, 5, 50);
    assert!(kinds.contains(&Kind::ReadSkew) && kinds.contains(&Kind::NonRepeatable), "{kinds:?}");
}

#[test]
fn read_uncommitted_shows_what_it_allows() {
    assert_no_violations(Behaviour::ReadUncommitted, Level::ReadUncommitted);
    let kinds = kinds(Behaviour::ReadUncommitted, Level::ReadUncommitted, 5, 50);
    assert!(
        kinds.contains(&Kind::G1a) && kinds.contains(&Kind::G1b) && kinds.contains(&Kind::G1c),
        "{kinds:?}"
    );
}

/// Each database fails the rules of the next level.
#[test]
fn weaker_behaviour_is_found() {
    for (behaviour, level) in [
        (Behaviour::ReadUncommitted, Level::ReadCommitted),
        (Behaviour::ReadCommitted, Level::RepeatableRead),
        (Behaviour::RepeatableRead, Level::Serializable),
        (Behaviour::StaleReads, Level::ReadUncommitted),
        (Behaviour::LostWrites, Level::ReadUncommitted),
    ] {
        for workload in WORKLOADS {
            let caught = (0..40).filter(|seed| {
                let history =
                    run_interleaved(&Model::new(behaviour), &settings(workload, level, 5, *seed)).unwrap();
                !violations(&history).is_empty()
            });
            assert!(caught.count() >= 10, "{behaviour:?} passes for {level}, {workload:?}");
        }
    }
}

/// The driver with real threads.
#[test]
fn threads() {
    for workload in WORKLOADS {
        let mut settings = settings(workload, Level::Serializable, 8, 1);
        settings.transactions = 2000;
        let history = run_threads(&Model::new(Behaviour::Locking), &settings).unwrap();
        assert_eq!(violations(&history), []);
        assert!(history.committed() > 100);
    }
}
