//! Functional indexes, and indexes of generated columns whose expression a query holds, as the manual of MySQL 8.0 tells of them.

use crate::support;

use support::{answers, open, root, run};

/// Statements with their answers.
const ANSWERS: &[(&str, &str)] = &[
    // What may be declared.
    ("create table t (a int, b int, s varchar(20), primary key ((a + b)))", "ERROR 3756"),
    ("create table t (a int, b int, key ((a)))", "ERROR 3762"),
    ("create table t (a int, j json, key ((j->'$.x')))", "ERROR 3753"),
    ("create table t (a int, j json, key ((j->>'$.x')))", "ERROR 3757"),
    ("create table t (a int, t text, key ((concat(t, 'x'))))", "ERROR 3757"),
    ("create table t (a int, key k ((a + rand())))", "ERROR 3758"),
    ("create table t (a int, key k ((a + now())))", "ERROR 3758"),
    ("create table t (a int, key k ((a + @x)))", "ERROR 3758"),
    ("create table t (a int, key k ((a + (select 1))))", "ERROR 3758"),
    ("create table t (a int, key k (((a, 1))))", "ERROR 3800"),
    ("create table t (a int, key k ((c + 1)))", "ERROR 1054"),
    ("create table t (a int auto_increment primary key, key k ((a + 1)))", "ERROR 3754"),
    ("create table t (a int, fulltext key k ((a + 1)))", "ERROR 3759"),
    ("create table t (a int, spatial key k ((a + 1)))", "ERROR 3760"),
    ("create table t (a int, key k ((a + 1)(10)))", "ERROR 1064"),
    // A table.
    (
        "create table t (a int, b int, s varchar(20), j json, key ((a + b)), unique key u ((abs(a)), b), key ((lower(s)) desc), key n ((cast(j->>'$.name' as char(30)) collate utf8mb4_bin)), key ((a * 2))) default charset utf8mb4",
        "",
    ),
    ("select * from t", ""),
    (
        "insert into t values (1, 2, 'Abc', '{\"name\": \"x\"}'), (2, 3, 'abD', '{\"name\": \"y\"}'), (-3, 1, 'q', null), (null, 5, null, '{}')",
        "",
    ),
    ("insert into t (a, b) values (-1, 2)", "ERROR 1062"),
    ("select * from t where a = 1", "1|2|Abc|{\"name\": \"x\"}"),
    ("select a from t where a + b = 5", "2"),
    ("select a from t where a + b > 2 order by a + b", "1\n2"),
    ("select a from t where abs(a) = 3", "-3"),
    ("select a from t where lower(s) = 'abc'", "1"),
    ("select a from t where lower(s) between 'abc' and 'abe' order by a", "1\n2"),
    ("select a from t where j->>'$.name' = 'y'", "2"),
    ("select a from t where cast(j->>'$.name' as char(30)) collate utf8mb4_bin = 'y'", "2"),
    ("select a from t where a * 2 in (2, 4) order by a", "1\n2"),
    ("select a from t where a * 2 is null", "NULL"),
    ("select a * 2 x, count(*) from t group by a * 2 order by x", "NULL|1\n-6|1\n2|1\n4|1"),
    // The plan.
    (
        "explain select a from t where a + b = 5",
        "1|SIMPLE|t|ref|functional_index|functional_index|9|const|1|NULL",
    ),
    ("explain select a from t where b + a = 5", "1|SIMPLE|t|ALL|NULL|NULL|NULL|NULL|4|Using where"),
    (
        "explain select a from t where lower(s) = 'abc'",
        "1|SIMPLE|t|ref|functional_index_2|functional_index_2|83|const|1|NULL",
    ),
    ("explain select a from t where j->>'$.name' = 'y'", "1|SIMPLE|t|ref|n|n|123|const|1|NULL"),
    ("explain select a from t where abs(a) = 3 and b = 1", "1|SIMPLE|t|const|u|u|14|const,const|1|NULL"),
    (
        "explain select a from t order by a * 2 limit 1",
        "1|SIMPLE|t|index|NULL|functional_index_3|9|NULL|1|NULL",
    ),
    (
        "insert into t (a, b) values (7, 7); update t set a = -7 where a = 7; select a, b, s, j from t where b = 7",
        "-7|7|NULL|NULL",
    ),
    ("delete from t where b = 7", ""),
    ("prepare p from 'select a from t where a * 2 = ?'; set @x = 4; execute p using @x", "2"),
    ("set @x = 2; execute p using @x; execute p using @x", "1"),
    ("prepare p from 'select a from t where a * ? = 4'; set @x = 2; execute p using @x", "2"),
    ("set @x = 4; execute p using @x", "1"),
    // What is shown.
    (
        "show create table t",
        "t|CREATE TABLE `t` (\n  `a` int(11) DEFAULT NULL,\n  `b` int(11) DEFAULT NULL,\n  `s` varchar(20) DEFAULT NULL,\n  `j` json,\n  UNIQUE KEY `u` ((abs(`a`)),`b`),\n  KEY `functional_index` (((`a` + `b`))),\n  KEY `functional_index_2` ((lower(`s`)) DESC),\n  KEY `n` (((cast(json_unquote(json_extract(`j`,_utf8mb4'$.name')) as char(30) charset utf8mb4) collate utf8mb4_bin))),\n  KEY `functional_index_3` (((`a` * 2)))\n) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4",
    ),
    (
        "show columns from t",
        "a|int(11)|YES||NULL|\nb|int(11)|YES||NULL|\ns|varchar(20)|YES||NULL|\nj|json|YES||NULL|",
    ),
    (
        "select column_name from information_schema.columns where table_name = 't' and table_schema = 'd'",
        "a\nb\ns\nj",
    ),
    (
        "select index_name, seq_in_index, column_name, collation from information_schema.statistics where table_name = 't' and table_schema = 'd' and index_name = 'u'",
        "u|1|NULL|A\nu|2|b|A",
    ),
    (
        "select constraint_name, column_name from information_schema.key_column_usage where table_name = 't'",
        "u|b",
    ),
    ("select `!hidden!u!0!0` from t", "ERROR 1054"),
    ("create table l like t; insert into l select * from t; select count(*) from l where a + b = 5", "1"),
    ("insert into l (a, j) values (100, json_object('name', repeat('x', 31)))", "ERROR 3751"),
    (
        "drop table l; set names latin1; insert into t (a, b, j) values (50, 50, '{\"name\": \"z\"}'); set names utf8mb4; select a from t where j->>'$.name' = 'z'",
        "50",
    ),
    ("delete from t where a = 50", ""),
    // Changes.
    ("alter table t drop column a", "ERROR 3837"),
    ("alter table t rename column a to z", "ERROR 3837"),
    ("alter table t drop column `!hidden!u!0!0`", "ERROR 3755"),
    (
        "alter table t add column c int after a, add key c ((c + 1)); select * from t where a = 1",
        "1|NULL|2|Abc|{\"name\": \"x\"}",
    ),
    ("update t set c = a * 10; select a from t where c + 1 = 11", "1"),
    ("explain select a from t where c + 1 = 11", "1|SIMPLE|t|ref|c|c|9|const|1|NULL"),
    ("alter table t drop column c, drop key c; show columns from t like 'c'", ""),
    ("create unique index v on t ((a + 1))", ""),
    ("insert into t (a, b) values (1, 9)", "ERROR 1062"),
    ("drop index v on t; insert into t (a, b) values (2, 9); select count(*) from t where a + 1 = 3", "2"),
    (
        "alter table t rename key u to w, drop key n; show columns from t",
        "a|int(11)|YES||NULL|\nb|int(11)|YES||NULL|\ns|varchar(20)|YES||NULL|\nj|json|YES||NULL|",
    ),
    ("alter table t add key u ((a - 1)); select a from t where a - 1 = 0", "1"),
    ("create index x on t ((a + 5)), algorithm = inplace", "ERROR 1064"),
    ("create index x on t ((a + 5)) algorithm = inplace", ""),
    // An index of a generated column.
    (
        "create table g (a int, b int as (a + 1) virtual, c varchar(10), d varchar(30) as (upper(c)) stored, key (b), key (d)) default charset latin1; insert into g (a, c) values (1, 'x'), (2, 'y'), (3, 'z')",
        "",
    ),
    ("explain select * from g where a + 1 = 3", "1|SIMPLE|g|ref|b|b|5|const|1|NULL"),
    ("select a, b from g where a + 1 > 2", "2|3\n3|4"),
    ("select a from g where upper(c) = 'Z'", "3"),
    ("explain select a from g where upper(c) = 'Z'", "1|SIMPLE|g|ref|d|d|33|const|1|NULL"),
    ("update g set a = a + 1 where a + 1 >= 2; select a, b from g order by a", "2|3\n3|4\n4|5"),
    ("delete from g where a + 1 = 4; select a from g order by a + 1 desc", "4\n2"),
    ("select g.a, h.a from g left join g h on h.a + 1 = g.a + 3 order by 1", "2|4\n4|NULL"),
    // Intervals have units.
    (
        "create table i (a datetime, key ((a + interval 1 day))); insert into i values ('2020-01-01'); select count(*) from i where a + interval 1 month = '2020-01-02'",
        "0",
    ),
    ("select count(*) from i where a + interval 1 day = '2020-01-02'", "1"),
    // Nobody needs a privilege on what has the values.
    ("create user u@localhost; grant select (a) on d.g to u@localhost", ""),
    ("load data infile 'nothing' into table t", "ERROR 1290"),
    ("replace into t (a, b) values (1, 2); select a, b, s from t where abs(a) = 1", "1|2|NULL"),
    (
        "insert into t (a, b) values (1, 2) on duplicate key update a = 6; select a, b from t where a + b = 8",
        "6|2",
    ),
    (
        "set sql_mode = ''; insert into t (a, b) values (2147483647, 2147483647); select a + b from t where a + b > 4000000000",
        "4294967294",
    ),
];

#[test]
fn answers_as_the_manual_says() {
    let opened = open();
    let mut c = root(&opened.db);
    run(&mut c, "set names utf8mb4");
    run(&mut c, "create database d; use d");
    answers(&mut c, ANSWERS);
    // Nobody needs a privilege on the column that has the values.
    let mut u = support::connect_as(&opened.db, "u", "localhost").expect("connects");
    assert_eq!(run(&mut u, "select a from d.g where a + 1 = 5"), "4");
    assert!(run(&mut u, "select a from d.g where b = 5").starts_with("1143 "));
}
