//! EXPLAIN of reads of one table: how, by which index, by how much of it; as MySQL 5.6.24 tells it of the same rows.

use crate::support;

use support::{open, root, run};

/// The statement; access, key, its length, what it is compared with, extra; the columns of the key that are used.
type Case = (&'static str, &'static str, &'static [&'static str]);

const CASES: [Case; 8] = [
    ("select * from t where a = 1", "ref|PRIMARY|4|const|NULL", &["a"]),
    ("select * from t where a = 1 and b = 2", "const|PRIMARY|8|const,const|NULL", &["a", "b"]),
    ("select * from t where c = 3", "ref|cd|4|const|Using index", &["c"]),
    ("select * from t where c = 3 and d = 4", "ref|cd|8|const,const|Using index", &["c", "d"]),
    ("select c, d from t where c > 47", "range|cd|4|NULL|Using where; Using index", &["c"]),
    ("select c, d from t where c = 3 and d > 3", "range|cd|8|NULL|Using where; Using index", &["c", "d"]),
    ("select * from t where a > 47", "range|PRIMARY|4|NULL|Using where", &["a"]),
    ("select * from t ignore index (cd) where b > 3", "ALL|NULL|NULL|NULL|Using where", &[]),
];

#[test]
fn of_one_table() {
    let opened = open();
    let mut c = root(&opened.db);
    let made = "create database d; use d; create table t (a int not null, b int not null, c int not null, \
                d int not null, primary key (a, b), key cd (c, d), key d (d))";
    assert_eq!(run(&mut c, made), "");
    let row = |i: u32| format!("({}, {}, {}, {})", i / 20, i % 20, i % 50, i % 10);
    let rows: Vec<String> = (0..1000).map(row).collect();
    assert_eq!(run(&mut c, &format!("insert into t values {}", rows.join(", "))), "");
    for (statement, wanted, parts) in CASES {
        let line = run(&mut c, &format!("explain {statement}"));
        // id|select_type|table|type|possible_keys|key|key_len|ref|rows|Extra
        let told: Vec<&str> = line.split('|').collect();
        let told = [told[3], told[5], told[6], told[7], told[9]].join("|");
        assert_eq!(told, wanted, "{statement}");

        let json = run(&mut c, &format!("explain format = json {statement}"));
        let quoted: Vec<String> = parts.iter().map(|part| format!("\"{part}\"")).collect();
        let list = format!("\"used_key_parts\": [{}]", quoted.join(", "));
        assert_eq!(json.contains("used_key_parts"), !parts.is_empty(), "{statement}: {json}");
        assert!(parts.is_empty() || json.contains(&list), "{statement}: {json}");
    }
}

/// Keys that hold all columns of a GROUP BY or DISTINCT of one table are possible ones, the primary key's columns being in each.
#[test]
fn keys_that_rows_are_grouped_by() {
    let opened = open();
    let mut c = root(&opened.db);
    let made = "create database d; use d; set sql_mode = ''; \
                create table t (id int primary key, a int, b int, c int, d int, key ab (a, b), key b (b), key cba (c, b, a)); \
                create table u (id int primary key, t int, key (t)); \
                insert into t values (1,1,1,1,1), (2,2,2,2,2), (3,3,3,3,3); insert into u values (1,1), (2,2)";
    assert_eq!(run(&mut c, made), "");
    for (statement, wanted) in [
        ("select a from t group by a", "ab,cba"),
        ("select b from t group by b", "ab,b,cba"),
        ("select a, b from t group by b, a", "ab,cba"),
        ("select c from t group by c", "cba"),
        ("select d from t group by d", "NULL"),
        ("select distinct a from t", "ab,cba"),
        ("select distinct a, d from t", "NULL"),
        ("select id from t group by id", "PRIMARY,ab,b,cba"),
        ("select a from t group by a + 1", "ab,cba"),
        ("select b from t where a > 1 group by b", "ab,b,cba"),
        ("select count(distinct a, b) from t", "ab,cba"),
        ("select sum(distinct b) from t", "ab,b,cba"),
        ("select max(a) from t", "NULL"),
        ("select a from t order by a", "NULL"),
        ("select a from t union select b from t", "NULL"),
    ] {
        let line = run(&mut c, &format!("explain {statement}"));
        assert_eq!(line.split('|').nth(4), Some(wanted), "{statement}");
    }
    let lines = run(&mut c, "explain select distinct t.a from t, u");
    let of_t = lines.lines().find(|line| line.split('|').nth(2) == Some("t"));
    assert_eq!(of_t.and_then(|line| line.split('|').nth(4)), Some("ab,cba"), "{lines}");
}

/// Rows are those of the partitions that are read.
#[test]
fn rows_of_partitions() {
    let opened = open();
    let mut c = root(&opened.db);
    let made = "create database d; use d; create table t (a int not null, b int not null, key b (b)) partition by range (a)
                (partition p0 values less than (10), partition p1 values less than (310), partition p2 values less than (400))";
    assert_eq!(run(&mut c, made), "");
    let rows: Vec<String> = (0..350).map(|a| format!("({a}, {})", a % 7)).collect();
    assert_eq!(run(&mut c, &format!("insert into t values {}", rows.join(", "))), "");
    for (statement, wanted) in [
        ("select * from t", "ALL|350"),
        ("select * from t where a < 10", "ALL|10"),
        ("select * from t where a >= 310", "ALL|40"),
        ("select * from t where a < 310", "ALL|310"),
        ("select * from t partition (p2, p0)", "ALL|50"),
        // As many as there are; 5.6.24 says 49.
        ("select * from t where b = 3", "ref|50"),
        ("select * from t where b = 3 and a < 310 and a >= 10", "ref|43"),
    ] {
        let line = run(&mut c, &format!("explain {statement}"));
        let told: Vec<&str> = line.split('|').collect();
        assert_eq!([told[3], told[8]].join("|"), wanted, "{statement}");
    }
}
