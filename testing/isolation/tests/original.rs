//! The original: recordings made afresh equal the golden files, and its histories pass the checker.

use std::time::Duration;
use vaquita_isolation::Level;
use vaquita_isolation::golden;
use vaquita_isolation::history::violations;
use vaquita_isolation::mysql::{self, MysqlDatabase, MysqlServer};
use vaquita_isolation::script;
use vaquita_isolation::workload::{Database, Fault, Faulty, Settings, Workload, run_threads};

/// A recording of all takes minutes; these have waits, timeouts apart, of every kind.
const PLAYED_AGAIN: [&str; 4] = ["g0", "read_view_article", "two_inserters_deadlock", "secondary_next_key"];

#[test]
fn recordings_are_repeatable() {
    let peer = mysql::start().unwrap();
    let mut server = MysqlServer::connect_to(&peer.socket()).unwrap();
    let scripts = script::all().unwrap();
    for name in PLAYED_AGAIN {
        let script = scripts.iter().find(|script| script.name == name).unwrap();
        for level in Level::ALL {
            let played = script::play(script, level, &mut server).unwrap().to_string();
            let difference = golden::difference(&golden::read(name, level).unwrap(), &played);
            assert!(difference.is_none(), "{name} at {level}: {}", difference.unwrap());
        }
    }
}

/// Every script was recorded at every level, and no golden file is left over from a script that is gone.
#[test]
fn golden_files_and_scripts_belong_together() {
    let scripts = script::all().unwrap();
    for script in &scripts {
        for level in Level::ALL {
            golden::read(&script.name, level).unwrap();
        }
    }
    let folder = golden::path("x", Level::Serializable).parent().unwrap().to_path_buf();
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), 4 * scripts.len());
}

fn settings(workload: Workload, level: Level) -> Settings {
    Settings { workload, level, sessions: 8, seed: 1, transactions: 2000, time: Duration::from_millis(700) }
}

#[test]
fn histories_of_the_original_pass() {
    let peer = mysql::start().unwrap();
    let database = MysqlDatabase::at(&peer.socket());
    for workload in [Workload::ListAppend, Workload::Registers] {
        for level in Level::ALL {
            let history = run_threads(&database, &settings(workload, level)).unwrap();
            let found = violations(&history);
            assert!(found.is_empty(), "{workload:?} at {level}: {}", found[0]);
            assert!(history.committed() >= 20, "{workload:?} at {level}: {} commits", history.committed());
        }
    }
    lies_are_found(&database);
}

/// The same server, asked for less than what is claimed: the checker must see it.
fn lies_are_found(database: &MysqlDatabase) {
    let lies = [
        (Level::ReadUncommitted, Level::ReadCommitted),
        (Level::ReadCommitted, Level::RepeatableRead),
        (Level::RepeatableRead, Level::Serializable),
    ];
    for (really, claimed) in lies {
        let faulty: &dyn Database = &Faulty::new(database.clone(), Fault::Level(really));
        let found = (0..10).any(|_| {
            [Workload::ListAppend, Workload::Registers].into_iter().any(|workload| {
                let history = run_threads(faulty, &settings(workload, claimed)).expect("the server answers");
                !violations(&history).is_empty()
            })
        });
        assert!(found, "{really} passes for {claimed}");
    }
}
