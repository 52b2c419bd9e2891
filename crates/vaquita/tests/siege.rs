//! Clients that break rules, over real sockets to a server process: each abuse once with the answers MySQL gives, then a
//! short siege of all of them beside load, watched for leaks.

use std::path::{Path, PathBuf};
use std::time::Duration;
use vaquita_clients::Vaquita;
use vaquita_siege::{ABUSES, Failure, OPTIONS, Target, Vitals};

fn binary() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_vaquita"))
}

fn scratch(name: &str) -> PathBuf {
    let dir = std::env::temp_dir().join(format!("vaquita-siege-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a scratch folder");
    dir
}

#[test]
fn every_abuse_gets_its_answer() {
    let dir = scratch("each");
    let mut server = Vaquita::start_with_memcached(binary(), &dir.join("data"), &OPTIONS).expect("a server");
    vaquita_siege::prepare(server.port()).expect("the tables");
    let target = Target { port: server.port(), memcached: server.memcached_port(), seed: 42 };
    let mut wrong = String::new();
    for abuse in ABUSES {
        let begun = std::time::Instant::now();
        if let Err(Failure(why)) = (abuse.run)(&target) {
            wrong += &format!("{}: {why}\n", abuse.name);
        }
        println!("{}: {:?}", abuse.name, begun.elapsed());
        let pid = server.pid().expect("it runs");
        Vitals::of(pid, 0).expect("it runs still");
    }
    server.stop().expect("a clean end");
    assert!(!server.log().contains("panicked"), "{}", server.log());
    assert!(wrong.is_empty(), "{wrong}");
    std::fs::remove_dir_all(dir).expect("removing the scratch folder");
}

/// A few rounds of all abuses beside load: the money stays, nothing grows. `cargo xtask torture` does it for an hour.
#[test]
fn a_short_siege() {
    let dir = scratch("short");
    let report =
        vaquita_siege::siege(binary(), &dir.join("data"), Duration::from_secs(5), &mut std::io::stdout());
    let report = report.expect("nothing is lost, nothing grows");
    assert!(report.moved > 0 && report.counted > 0 && report.curve.len() >= 3, "{report:?}");
    let kills =
        vaquita_siege::crashes(binary(), &dir.join("killed"), Duration::from_secs(5)).expect("the money");
    assert!(kills > 0);
    std::fs::remove_dir_all(dir).expect("removing the scratch folder");
}
