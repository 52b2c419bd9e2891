//! The isolation scripts, in SQL through the server: sessions wait, deadlock and see what they do on MySQL 5.6.24.

use std::path::Path;
use vaquita_clients::Vaquita;
use vaquita_isolation::mysql::MysqlServer;
use vaquita_isolation::{golden, recording};

#[test]
fn scripts_play_through_sql_as_on_the_original() {
    let dir = std::env::temp_dir().join(format!("vaquita-isolation-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a scratch folder");
    let binary = Path::new(env!("CARGO_BIN_EXE_vaquita"));
    let options = ["--innodb-flush-log-at-trx-commit=0"];
    let mut server = Vaquita::start(binary, &dir.join("data"), &options).expect("a server");
    server.sql("create database iso").expect("a database");
    let mut player = MysqlServer::connect_to(&server.socket()).expect("a session").asked_often();
    let compared = golden::compare(&mut player, |_| true).expect("scripts and recordings");
    let kept = recording::compare_kept(&mut player).expect("recordings");
    // Random ones, beside the real server.
    let peer = vaquita_isolation::mysql::start().expect("MySQL");
    let mut original = MysqlServer::connect_to(&peer.socket()).expect("a session");
    let random = recording::compare_random(&mut original, &mut player, 1..41).expect("plays of MySQL");
    drop((original, player));
    server.stop().expect("a clean shutdown");
    std::fs::remove_dir_all(&dir).expect("removing the scratch folder");
    let n = compared.plays;
    assert!(
        compared.wrong.is_empty(),
        "{} of {n} plays differ:\n{}",
        compared.wrong.len(),
        compared.wrong.join("\n")
    );
    assert!(
        kept.wrong.is_empty(),
        "{} of {} differ:\n{}",
        kept.wrong.len(),
        kept.plays,
        kept.wrong.join("\n")
    );
    assert!(
        random.wrong.is_empty(),
        "{} of {} plays differ:\n{}",
        random.wrong.len(),
        random.plays,
        random.wrong.join("\n")
    );
    // Where our optimizer reads by another index than MySQL's, other rows are locked.
    let other = compared.other_plan.len();
    assert!(
        other * 20 < n,
        "{other} of {n} plays differ after another plan:\n{}",
        compared.other_plan.join("\n")
    );
}
