//! A snapshot that is older than a change of a table's definition: every kind of read, after every kind of change, gives what
//! it gives on MySQL 5.6.24, most of all error 1412, once and with the connection in order.

use std::fmt::Write as _;
use std::path::Path;
use vaquita_clients::Vaquita;
use vaquita_isolation::mysql::{Answer, Client, WireError};
use vaquita_peers::{Mysql56, Options};

const SETUP: [&str; 9] = [
    "drop database if exists old",
    "create database old default character set latin1",
    "use old",
    "create table t (id int primary key, a int, b int, key k (a))",
    "insert into t values (1, 1, 1), (2, 2, 2)",
    "create table c (a int primary key)",
    "insert into c values (1), (2)",
    "create table s (id int)",
    "create table n (id int primary key, a int, b int, key k (a))",
];

/// Changes of `t` after the snapshot.
const CHANGES: [&[&str]; 12] = [
    &["alter table t engine = innodb"],
    &["alter table t add x int"],
    &["alter table t drop b"],
    &["alter table t modify a bigint"],
    &["alter table t add index z (b)"],
    &["alter table t drop index k"],
    &[
        "drop table t",
        "create table t (id int primary key, a int, b int, key k (a))",
        "insert into t values (7, 7, 7)",
    ],
    &["drop table t", "create table t (id int primary key, a int, b int, key k (a))"],
    &["rename table t to o", "rename table o to t"],
    &["rename table t to o, n to t"],
    &["analyze table t"],
    // MySQL shows the emptied table to the older snapshot: what is refused here.
    TRUNCATE,
];
const TRUNCATE: &[&str] = &["truncate table t"];

/// Reads of `t` under the snapshot.
const READS: [&str; 27] = [
    "select count(*) from t",
    "select id from t where id = 1",
    "select id from t where id in (1, 2) order by id",
    "select id from t where id >= 1 order by id",
    "select a from t where a = 1",
    "select a from t where a > 0 order by a",
    "select id from t force index (z) where b = 1",
    "select * from t order by id desc",
    "select max(id) from t",
    "select max(a) from t",
    "select a, count(*) from t group by a order by a",
    "select t.id from c join t on t.id = c.a order by 1",
    "select t.id from t left join c on t.id = c.a order by 1",
    "select a from c where a in (select id from t) order by 1",
    "select a from c where exists (select 1 from t where t.id = c.a) order by 1",
    "select (select count(*) from t)",
    "select * from (select id from t) d order by 1",
    "select id from t union all select 0 order by 1",
    "select id from t limit 1",
    "execute p",
    "set @v = (select count(*) from t)",
    "select id from t where id = 1 for update",
    "select id from t where id = 1 lock in share mode",
    "update t set a = a where id = 1",
    "delete from t where id > 5",
    "insert into s select id from t",
    "checksum table t",
];

fn told(answer: Result<Answer, WireError>) -> String {
    match answer {
        Ok(Answer::Affected(_)) => "done".into(),
        Ok(Answer::Rows(rows)) => format!("{rows:?}"),
        Err(WireError::Server { code, .. }) => format!("error {code}"),
        Err(WireError::Broken(text)) => panic!("the connection is out of order: {text}"),
    }
}

/// What a reader sees after each change, and that its connection is in order each time.
fn play(socket: &Path, change: &[&str], level: &str) -> Vec<String> {
    let connect = || Client::connect(socket, "").expect("a session");
    let (mut writer, mut reader) = (connect(), connect());
    let run = |client: &mut Client, sql: &str| {
        client.query(sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
    };
    SETUP.iter().for_each(|sql| run(&mut writer, sql));
    run(&mut reader, "use old");
    run(&mut reader, "prepare p from 'select id from t where id >= 1 order by id'");
    run(&mut reader, &format!("set session transaction isolation level {level}"));
    run(&mut reader, "start transaction");
    run(&mut reader, "select * from c");
    change.iter().for_each(|sql| run(&mut writer, sql));
    let read = |sql: &&str| {
        let answer = told(reader.query(sql));
        let next = told(reader.query("select 'in order'"));
        assert_eq!(next, r#"[[Some("in order")]]"#, "after {sql}");
        answer
    };
    READS.iter().map(read).collect()
}

#[test]
fn reads_under_a_snapshot_that_is_older_than_the_table() {
    let dir = std::env::temp_dir().join(format!("vaquita-old-snapshots-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a scratch folder");
    let binary = Path::new(env!("CARGO_BIN_EXE_vaquita"));
    let mut ours =
        Vaquita::start(binary, &dir.join("data"), &["--innodb-flush-log-at-trx-commit=0"]).expect("a server");
    let theirs = Mysql56::start(Options::new()).expect("MySQL");
    let mut differing = String::new();
    for change in CHANGES {
        for level in ["repeatable read", "read committed"] {
            let got = play(&ours.socket(), change, level);
            let wanted = play(&theirs.socket(), change, level);
            for ((read, got), wanted) in READS.iter().zip(got).zip(wanted) {
                let wanted = match wanted.as_str() {
                    // The number of the storage engine's own error, which found no way out there.
                    "error 159" => "error 1412",
                    _ if change == TRUNCATE && level == "repeatable read" => match *read {
                        "select id from t force index (z) where b = 1" => "error 1176",
                        "checksum table t" => r#"[[Some("old.t"), None]]"#,
                        _ => "error 1412",
                    },
                    wanted => wanted,
                };
                if got != wanted {
                    writeln!(differing, "{change:?}, {level}: {read}\n  MySQL {wanted}\n  Vaquita {got}")
                        .expect("text");
                }
            }
        }
    }
    ours.stop().expect("a clean shutdown");
    std::fs::remove_dir_all(&dir).expect("removing the scratch folder");
    assert!(differing.is_empty(), "{differing}");
}
