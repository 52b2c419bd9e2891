//! DISCARD and IMPORT TABLESPACE of partitioned tables and of partitions, as the manual of MySQL 5.7 has them.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::support;

use std::fs;
use support::{Opened, answers, open, root, run};
use vaquita_sql::Connection;

/// A session with two tables of the same definition; the second has the rows that come.
fn house() -> (Opened, Connection) {
    let opened = open();
    let mut c = root(&opened.db);
    let made = "create database d; use d;
        create table t (a int auto_increment primary key, b int, key kb (b)) partition by range (a) (partition p0 values less than (10), partition p1 values less than (20));
        create table s like t;
        insert into t values (1, 1), (11, 11); insert into s values (2, 2), (12, 12);
        create table n (a int)";
    assert_eq!(run(&mut c, made), "");
    (opened, c)
}

/// What `s` exports becomes files of `t`, for these parts.
fn give(opened: &Opened, c: &mut Connection, parts: &[&str], described: bool) {
    assert_eq!(run(c, "flush tables s for export"), "");
    let file = |table: &str, part: &str, kind: &str| opened.path().join(format!("d/{table}#P#{part}.{kind}"));
    for part in parts {
        fs::copy(file("s", part, "ibd"), file("t", part, "ibd")).unwrap();
        assert!(file("s", part, "cfg").exists(), "a description for each part");
        if described {
            fs::copy(file("s", part, "cfg"), file("t", part, "cfg")).unwrap();
        }
    }
    assert_eq!(run(c, "unlock tables"), "");
    assert!(!file("s", parts[0], "cfg").exists(), "it goes with the lock");
}

#[test]
fn a_partition_comes_from_elsewhere() {
    let (opened, mut c) = house();
    let discarded = [
        ("alter table t discard partition p0 tablespace", ""),
        ("select * from t", "ERROR 1814"),
        ("select * from t partition (p1)", "ERROR 1814"),
        ("insert into t values (13, 13)", "ERROR 1814"),
        ("alter table t drop partition p1", "ERROR 1814"),
        (
            "alter table t check partition p1",
            "d.t|check|Error|Tablespace has been discarded for table 't'\nd.t|check|status|Operation failed",
        ),
        ("alter table t exchange partition p1 with table n", "ERROR 1814"),
        ("truncate table t", "ERROR 1814"),
        ("alter table t import partition p1 tablespace", "ERROR 1813"),
        ("alter table t import partition p0 tablespace", "ERROR 1815"),
        ("alter table t import tablespace", "ERROR 1813"),
        ("alter table t discard partition p0 tablespace", ""),
        ("show warnings", "Warning|1812|InnoDB: Tablespace is missing for table 't'"),
        (
            "select count(*) from information_schema.partitions where table_schema = 'd' and table_name = 't'",
            "1",
        ),
        (
            "select create_options from information_schema.tables where table_schema = 'd' and table_name = 't'",
            "partitioned",
        ),
    ];
    answers(&mut c, &discarded);
    let shown = run(&mut c, "show create table t");
    assert!(shown.contains("PARTITION p1 VALUES LESS THAN (20)"), "{shown}");
    give(&opened, &mut c, &["p0"], true);
    let imported = [
        ("alter table t import partition p0 tablespace", ""),
        ("show warnings", ""),
        ("select * from t order by a", "2|2\n11|11"),
        ("select a from t where b = 2", "2"),
        ("insert into t (b) values (5)", ""),
        ("select * from t partition (p1) order by a", "11|11\n12|5"),
        ("check table t", "d.t|check|status|OK"),
    ];
    answers(&mut c, &imported);
    drop(c);
    let opened = opened.reopen();
    let mut c = root(&opened.db);
    assert_eq!(run(&mut c, "use d; select * from t order by a"), "2|2\n11|11\n12|5");
}

#[test]
fn a_whole_table_comes_from_elsewhere() {
    let (opened, mut c) = house();
    answers(
        &mut c,
        &[("alter table t discard partition p1 tablespace", ""), ("alter table t discard tablespace", "")],
    );
    let files = || fs::read_dir(opened.path().join("d")).unwrap();
    let of_t = files().filter(|file| file.as_ref().unwrap().file_name().to_string_lossy().starts_with("t#"));
    assert_eq!(of_t.count(), 0);
    give(&opened, &mut c, &["p0", "p1"], false);
    answers(&mut c, &[("alter table t import partition all tablespace", "")]);
    let warned = run(&mut c, "show warnings");
    for part in ["t#P#p0.cfg", "t#P#p1.cfg"] {
        assert!(warned.contains(part), "{warned}");
    }
    answers(
        &mut c,
        &[("select * from t order by a", "2|2\n12|12"), ("check table t", "d.t|check|status|OK")],
    );
    // A table without tablespaces can be renamed, and go.
    let gone = [
        ("alter table t discard tablespace", ""),
        ("rename table t to u", ""),
        ("select * from u", "ERROR 1814"),
        ("drop table u", ""),
        ("create table u (a int)", ""),
    ];
    answers(&mut c, &gone);
}

#[test]
fn what_has_no_such_tablespace() {
    let (opened, mut c) = house();
    let made = "create view v as select * from t; create temporary table tt (a int);
        create table sub (a int, b int) partition by range (a) subpartition by hash (b) subpartitions 2 (partition p0 values less than (10), partition p1 values less than maxvalue);
        insert into sub values (1, 0), (2, 1), (20, 0)";
    assert_eq!(run(&mut c, made), "");
    let told = [
        ("alter table t discard partition nope tablespace", "ERROR 1735"),
        ("alter table t import partition nope tablespace", "ERROR 1735"),
        ("alter table n discard partition p0 tablespace", "ERROR 1505"),
        ("alter table n import partition all tablespace", "ERROR 1505"),
        ("alter table tt discard partition p0 tablespace", "ERROR 1505"),
        ("alter table v discard partition p0 tablespace", "ERROR 1347"),
        ("alter table missing discard partition p0 tablespace", "ERROR 1146"),
        ("alter table missing discard tablespace", "ERROR 1146"),
        ("alter table t discard partition p0 tablespace, add column c int", "ERROR 1064"),
        ("alter table t algorithm = copy, discard partition p0 tablespace", "ERROR 1064"),
        ("lock tables t read", ""),
        ("alter table t discard partition p0 tablespace", "ERROR 1099"),
        ("unlock tables", ""),
        ("select * from t", "1|1\n11|11"),
        // A partition is all of its subpartitions, and one of these can be named.
        ("alter table sub discard partition p1 tablespace", ""),
        ("alter table sub discard partition p0sp1 tablespace", ""),
        ("select * from sub", "ERROR 1814"),
    ];
    answers(&mut c, &told);
    let there = |part: &str| opened.path().join(format!("d/sub#P#{part}.ibd")).exists();
    let parts = ["p0#SP#p0sp0", "p0#SP#p0sp1", "p1#SP#p1sp0", "p1#SP#p1sp1"].map(there);
    assert_eq!(parts, [true, false, false, false]);
    answers(&mut c, &[("drop table sub", ""), ("drop database d", "")]);
}
