//! What later servers say of columns and rows (CHECK constraints and their kin) stays with the table: over restarts, kill -9, and
//! `mysqldump` there and back.
#![allow(clippy::unwrap_used, reason = "tests")]

use crate::common;

use common::Scratch;
use std::io::Write as _;
use std::process::{Command, Stdio};

const TABLES: &str = "create database d; use d;
create table checked (id int primary key, a int check (a > 0), b varchar(20), constraint told check (b <> 'it''s\\\\' or b is null),
  check (a < 100) not enforced);
insert into checked values (1, 1, 'one'), (2, 1000, null);
create table defaults (id int primary key, a int default (1 + 1), b text default ('it''s'), c varchar(20) default (concat(b, a)));
insert into defaults (id) values (1);
create table generated (id int primary key, v int as (id * 2) virtual, s varchar(20) generated always as (concat('s', v)) stored, key (v),
  unique (s));
insert into generated (id) values (1), (2);
create table unseen (id int primary key, a int, b int, key k (a) invisible);
insert into unseen values (1, 2, 3);
alter table unseen alter column b set invisible;
";

/// Statements that the tables refuse, with the errors.
const REFUSED: &[(&str, &str)] = &[
    ("insert into d.checked values (3, 0, null)", "3819"),
    ("insert into d.generated values (5, 1, default)", "3105"),
    ("update d.checked set b = 'it''s\\\\' where id = 1", "3819"),
];

const NAMES: &[&str] = &["checked", "defaults", "generated", "unseen"];

/// What the definitions and rows are, and that the tables refuse what they refused.
fn state(server: &vaquita_clients::Vaquita) -> String {
    for (statement, code) in REFUSED {
        let refused = server.sql(statement).expect_err(statement);
        assert!(refused.0.contains(code), "{statement}: {refused}");
    }
    let of = |name: &&str| {
        server.sql(&format!("show create table d.{name}; select * from d.{name} order by 1")).unwrap()
    };
    NAMES.iter().map(of).collect()
}

#[test]
fn kept_over_restarts_and_dumps() {
    let scratch = Scratch::new("column-rules");
    let binary = std::path::Path::new(env!("CARGO_BIN_EXE_vaquita"));
    let mut server = vaquita_clients::Vaquita::start(binary, &scratch.0.join("data"), &[]).unwrap();
    server.sql(TABLES).unwrap();
    let wanted = state(&server);
    server.stop().unwrap();
    server.start_again().unwrap();
    assert_eq!(state(&server), wanted, "after a restart");
    server.kill();
    server.start_again().unwrap();
    assert_eq!(state(&server), wanted, "after kill -9");

    let mut dump = server.client("mariadb-dump").unwrap();
    let dump = dump.args(["--databases", "d"]).output().unwrap();
    assert!(dump.status.success(), "{}", String::from_utf8_lossy(&dump.stderr));
    server.sql("drop database d").unwrap();
    load(server.client("mariadb").unwrap(), &dump.stdout);
    assert_eq!(state(&server), wanted, "there and back: {}", String::from_utf8_lossy(&dump.stdout));
}

fn load(mut client: Command, dump: &[u8]) {
    let mut child = client.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(dump).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
