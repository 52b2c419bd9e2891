//! Partitioned tables in a folder of MySQL 5.6.24: read and written here by their names, then read there again, partition by partition.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::path::Path;
use vaquita_clients::Vaquita;
use vaquita_peers::{Mysql56, Options};

/// Tables of all kinds of partitioning, with what a row of them is made of `n`.
const TABLES: [(&str, &str); 10] = [
    (
        "(n int primary key, v varchar(20), key (v)) partition by range (n) (partition p0 values less than (10), partition `p-1` values less than (20), partition p2 values less than maxvalue)",
        "{n}, 'v{n}'",
    ),
    (
        "(n int, v int, key (v)) partition by list (n % 3) (partition p0 values in (0, null), partition p1 values in (1, -1), partition p2 values in (2, -2))",
        "{n}, {n} * 7",
    ),
    ("(n int primary key auto_increment, v int) partition by hash (n) partitions 5", "{n}, -{n}"),
    (
        "(n int not null, v int, unique key (n, v)) partition by linear hash (n + v) partitions 6",
        "{n}, {n} * 3",
    ),
    ("(n int primary key, v text) partition by key () partitions 3", "{n}, repeat('x', {n} * 300)"),
    ("(n int, v varchar(20) character set utf8) partition by linear key (v, n) partitions 7", "{n}, 'Ä{n} '"),
    (
        "(n int, v varchar(10) character set latin1) partition by range columns (v, n) (partition p0 values less than ('b', 5), partition p1 values less than ('m', maxvalue), partition p2 values less than (maxvalue, maxvalue))",
        "{n}, char(97 + {n} % 26)",
    ),
    (
        "(n int, v date) partition by list columns (v) (partition p0 values in ('2001-01-01', null), partition p1 values in ('2002-02-02', '2003-03-03'))",
        "{n}, elt({n} % 4 + 1, '2001-01-01', null, '2002-02-02', '2003-03-03')",
    ),
    (
        "(n int, v datetime) partition by range (year(v)) subpartition by hash (to_days(v)) subpartitions 3 (partition old values less than (2010), partition new values less than maxvalue)",
        "{n}, '2008-12-30 01:02:03' + interval {n} day",
    ),
    (
        "(n int, v decimal(8,2)) partition by range (n) subpartition by key (v) (partition p0 values less than (15) (subpartition a, subpartition b), partition p1 values less than maxvalue (subpartition c, subpartition d))",
        "{n}, {n} / 7",
    ),
];

fn fill(table: usize, numbers: std::ops::Range<i32>) -> String {
    let rows = numbers.map(|n| format!("({})", TABLES[table].1.replace("{n}", &n.to_string())));
    format!("insert into p.t{table} values {};", rows.collect::<Vec<_>>().join(","))
}

/// All rows of all tables, and for each partition how many there are and what their numbers come to.
fn contents() -> String {
    let mut all = String::new();
    let parts = ["p0,`p-1`,p2", "p0,p1,p2", "p0,p1,p2,p3,p4", "p0,p1,p2,p3,p4,p5", "p0,p1,p2"];
    let more =
        ["p0,p1,p2,p3,p4,p5,p6", "p0,p1,p2", "p0,p1", "oldsp0,oldsp1,oldsp2,newsp0,newsp1,newsp2", "a,b,c,d"];
    for (table, parts) in parts.iter().chain(&more).enumerate() {
        all += &format!("select {table}, n, hex(v) from p.t{table} order by n, v;");
        for part in parts.split(',') {
            all += &format!(
                "select '{part}', count(*), sum(n), sum(crc32(v)) from p.t{table} partition ({part});"
            );
        }
    }
    all
}

/// A table with partitions, one with columns and subpartitions, whose names are words or have other letters than ASCII's.
fn odd_names() -> String {
    let names = [
        "mid", "mäx", "é", "漢字", "p漢", "1é", "1a", "123", "SeLeCt", "value", "now", "count", "curdate",
        "a``b", "a b", "a$", "_p", "x€", "date", "user", "less", "window", "json", "p#1", "a.b",
    ];
    let part = |(n, name): (usize, &&str)| format!("partition `{name}` values less than ({n})");
    let parts: Vec<String> = names.iter().enumerate().map(part).collect();
    format!(
        "set names utf8; create table p.odd (a int) engine=innodb partition by range (a) ({});
         create table p.odd2 (`mid` int, `mäx` int, `select` int, `1a` int) engine=innodb partition by range columns (`mid`, `mäx`, `select`)
           subpartition by key (`1a`, `select`) (partition `end` values less than (1, 1, 1) (subpartition `max`, subpartition `ä b`))",
        parts.join(",")
    )
}

#[test]
fn written_here_and_read_there() {
    let mut theirs = Mysql56::start(Options::new()).unwrap();
    theirs.sql("create database p").unwrap();
    for (n, (definition, _)) in TABLES.iter().enumerate() {
        theirs
            .sql(&format!("create table p.t{n} {definition} engine=innodb; {}", fill(n, 1..20)))
            .unwrap_or_else(|_| {
                let at = definition.find(" partition by").unwrap();
                let (columns, clause) = definition.split_at(at);
                theirs
                    .sql(&format!("create table p.t{n} {columns} engine=innodb {clause}; {}", fill(n, 1..20)))
                    .unwrap()
            });
    }
    theirs.sql(&odd_names()).unwrap();
    let shown_odd = ["", "set sql_mode = ansi_quotes;", "set sql_quote_show_create = 0;"]
        .map(|before| format!("{before} show create table p.odd; show create table p.odd2"));
    let as_they_show = shown_odd.clone().map(|sql| theirs.rows(&sql).unwrap());
    let before = theirs.rows(&contents()).unwrap();
    let shown: Vec<_> =
        (0..TABLES.len()).map(|n| theirs.rows(&format!("show create table p.t{n}")).unwrap()).collect();
    theirs.shutdown().unwrap();

    let dir = theirs.datadir().to_owned();
    let binary = Path::new(env!("CARGO_BIN_EXE_vaquita"));
    let mut ours = Vaquita::start(binary, &dir, &["--take-over", "--skip-grant-tables"]).unwrap();
    let rows = |text: String| -> Vec<Vec<String>> {
        text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect()
    };
    assert_eq!(rows(ours.sql(&contents()).unwrap()), before);
    for (n, theirs) in shown.iter().enumerate() {
        assert_eq!(&rows(ours.sql(&format!("show create table p.t{n}")).unwrap()), theirs);
    }
    for (sql, theirs) in shown_odd.iter().zip(&as_they_show) {
        assert_eq!(&rows(ours.sql(sql).unwrap()), theirs, "{sql}");
    }
    ours.sql("rename table p.odd to p.aside; create table p.odd like p.aside; alter table p.odd2 comment 'c', comment ''")
        .unwrap();
    ours.sql("create table p.no_names (a int) partition by list (a) (partition `_utf8` values in (1), partition `_x` values in (2))")
        .unwrap();
    for n in 0..TABLES.len() {
        ours.sql(&fill(n, 20..40)).unwrap();
        // Many rows go to other partitions.
        let order = if n == 7 { "" } else { "order by n desc" };
        ours.sql(&format!(
            "update p.t{n} set n = n + 100 where n % 3 = 1 {order}; delete from p.t{n} where n % 5 = 2"
        ))
        .unwrap();
    }
    ours.sql("insert into p.t2 (v) values (1), (2)").unwrap();
    ours.sql("truncate table p.t7; insert into p.t7 values (1, '2002-02-02')").unwrap();
    let after = rows(ours.sql(&contents()).unwrap());
    assert_ne!(after, before);
    ours.stop().unwrap();

    theirs.start_again().unwrap();
    for (sql, before) in shown_odd.iter().zip(&as_they_show) {
        assert_eq!(&theirs.rows(sql).unwrap(), before, "{sql}");
    }
    assert_eq!(theirs.rows("select count(*) from p.no_names").unwrap(), [["0"]]);
    assert_eq!(theirs.rows(&contents()).unwrap(), after);
    for n in 0..TABLES.len() {
        let checked = theirs.rows(&format!("check table p.t{n} extended")).unwrap();
        assert_eq!(checked[0][3], "OK", "{checked:?}");
        // Every row is where the server would put it.
        let moved =
            theirs.rows(&format!("alter table p.t{n} rebuild partition all; {}", contents())).unwrap();
        assert_eq!(moved, after, "t{n}");
    }
}
