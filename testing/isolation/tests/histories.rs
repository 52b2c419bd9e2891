//! Histories of random transactions on the engine show nothing that their level forbids, and a lie is found.

use std::time::Duration;
use vaquita_isolation::Level;
use vaquita_isolation::engine::EngineDatabase;
use vaquita_isolation::history::violations;
use vaquita_isolation::workload::{Database, Fault, Faulty, Settings, Workload, run_threads};

const WORKLOADS: [Workload; 2] = [Workload::ListAppend, Workload::Registers];

fn settings(workload: Workload, level: Level, seed: u64) -> Settings {
    Settings { workload, level, sessions: 8, seed, transactions: 3000, time: Duration::from_millis(700) }
}

#[test]
fn histories_pass_at_every_level() {
    let database = EngineDatabase::open().unwrap();
    for workload in WORKLOADS {
        for level in Level::ALL {
            let history = run_threads(&database, &settings(workload, level, 1)).unwrap();
            let found = violations(&history);
            assert!(found.is_empty(), "{workload:?} at {level}: {}", found[0]);
            assert!(history.committed() >= 20, "{workload:?} at {level}: {} commits", history.committed());
        }
    }
}

/// The engine at a weaker level than claimed: as if read views, commits or shared locks were forgotten.
#[test]
fn weaker_levels_are_found() {
    let lies = [
        (Level::ReadUncommitted, Level::ReadCommitted),
        (Level::ReadCommitted, Level::RepeatableRead),
        (Level::RepeatableRead, Level::Serializable),
    ];
    for (really, claimed) in lies {
        let faulty: &dyn Database = &Faulty::new(EngineDatabase::open().unwrap(), Fault::Level(really));
        let found = (0..10).any(|seed| {
            WORKLOADS.into_iter().any(|workload| {
                let history = run_threads(faulty, &settings(workload, claimed, seed));
                !violations(&history.expect("the engine answers")).is_empty()
            })
        });
        assert!(found, "{really} passes for {claimed}");
    }
}

#[test]
fn a_stale_cache_is_found() {
    let faulty = Faulty::new(EngineDatabase::open().unwrap(), Fault::StaleCache);
    for workload in WORKLOADS {
        for level in Level::ALL {
            let history = run_threads(&faulty, &settings(workload, level, 1)).unwrap();
            assert!(!violations(&history).is_empty(), "{workload:?} at {level}");
        }
    }
}
