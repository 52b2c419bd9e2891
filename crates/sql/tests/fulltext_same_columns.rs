//! FULLTEXT indexes of different parsers on the same columns: which one is asked, that each is kept up by whatever changes rows and
//! definitions, and who goes by its words.

use crate::support;

use support::{Opened, answers, open, root, run};
use vaquita_sql::Connection;

const TABLE: &str = "create table t (id int primary key, a varchar(100), b text, fulltext g (a, b) with parser ngram, \
    fulltext s (a, b) with parser stem_english comment 'vaquita_ft_split=hash', fulltext w (a, b))";

fn table() -> (Opened, Connection) {
    let opened = open();
    let mut c = root(&opened.db);
    run(&mut c, "set innodb_ft_enable_stopword = 0; create database d default charset utf8mb4; use d");
    run(&mut c, TABLE);
    run(
        &mut c,
        "insert into t values (1, '数据库管理', 'running boats'), (2, 'he runs', '数据'), (3, 'boat', 'run'), (4, '数据', 'nothing here')",
    );
    (opened, c)
}

/// Rows that an index finds by itself, in boolean mode.
fn by(c: &mut Connection, index: &str, query: &str) -> String {
    let select = format!(
        "select id from t use index ({index}) where match (a, b) against ('{query}' in boolean mode) order by id"
    );
    run(c, &select).replace('\n', " ")
}

/// Each index finds its own words: those of sequences, of stems, and whole ones.
fn check(c: &mut Connection, what: &str, wanted: [&str; 4]) {
    let found = [by(c, "g", "数据"), by(c, "s", "boats"), by(c, "w", "boats"), by(c, "w", "runs")];
    assert_eq!(found, wanted, "{what}");
    assert_eq!(run(c, "check table t"), "d.t|check|status|OK", "{what}");
}

#[test]
fn the_first_one_is_asked_or_whom_hints_name() {
    let (_opened, mut c) = table();
    answers(
        &mut c,
        &[
            ("show warnings", ""),
            (
                "create table e (a text, fulltext q (a) with parser ngram, fulltext q2 (a) with parser ngram, fulltext q3 (a) with parser unicode); show warnings",
                "Note|1831|Duplicate index 'q2' defined on the table 'd.e'. This is deprecated and will be disallowed in a future release.",
            ),
            ("select id from t where match (a, b) against ('数据') order by id", "1\n2\n4"),
            // `bo`, `oa`, `at`, `ts`: any of them.
            ("select id from t where match (b, a) against ('boats') order by id", "1\n3"),
            ("select id from t use index (w) where match (a, b) against ('boats') order by id", "1\n3"),
            (
                "select id from t ignore index (g) where match (a, b) against ('boats' in boolean mode)",
                "1\n3",
            ),
            (
                "select id from t ignore index (g, s) where match (a, b) against ('boats' in boolean mode)",
                "1",
            ),
            (
                "select id from t ignore index (g, s, w) where match (a, b) against ('boats' in boolean mode)",
                "ERROR 1191",
            ),
            (
                "select id, match (a, b) against ('boats') > 0, match (a, b) against ('boats' in boolean mode) > 0 from t use index (w)",
                "1|1|1\n2|0|0\n3|1|0\n4|0|0",
            ),
            (
                "select x.id, y.id from t x use index (w) join t y use index (s) on x.id = y.id \
                 where match (y.a, y.b) against ('runs' in boolean mode) and match (x.a, x.b) against ('runs' in boolean mode)",
                "2|2",
            ),
            // Without the first one the next is.
            (
                "alter table t drop index g; select id from t where match (a, b) against ('boats') order by id",
                "1\n3",
            ),
            (
                "alter table t drop index s; select id from t where match (a, b) against ('boats') order by id",
                "1",
            ),
            ("alter table t add fulltext g (b, a) with parser ngram; show warnings", ""),
            // To InnoDB's words two letters are none.
            ("select id from t where match (a, b) against ('数据') order by id", ""),
            (
                "alter table t drop index w, algorithm = copy; select id from t where match (a, b) against ('数据') order by id",
                "1\n2\n4",
            ),
        ],
    );
}

#[test]
fn each_is_kept_up() {
    let (opened, mut c) = table();
    let first = ["1 2 4", "1 3", "1", "2"];
    check(&mut c, "new rows", first);
    run(&mut c, "begin; update t set b = 'boats' where id > 1; delete from t where id = 1; rollback");
    check(&mut c, "rolled back", first);
    run(&mut c, "update t set b = 'running boats' where id = 4; delete from t where id = 1");
    let now = ["2 4", "3 4", "4", "2"];
    check(&mut c, "changed rows", now);
    for change in [
        "set global innodb_optimize_fulltext_only = 1; optimize table t; set global innodb_optimize_fulltext_only = 0",
        "optimize table t",
        "alter table t add n int",
        "alter table t drop n, algorithm = copy",
        "alter table t rename index s to x; alter table t rename index x to s",
        "alter table t drop index s; create fulltext index s on t (a, b) with parser stem_english",
        "alter table t drop index w, drop index s, add fulltext s (a, b) with parser stem_english, add fulltext w (a, b)",
        "alter table t convert to character set utf8",
        "rename table t to u; rename table u to t",
    ] {
        let done = run(&mut c, change);
        assert!(done.is_empty() || done.ends_with("OK"), "{change}: {done}");
        check(&mut c, change, now);
    }
    drop(c);
    let opened = opened.reopen();
    let mut c = root(&opened.db);
    run(&mut c, "use d; insert into t values (5, 'a boat', '数据数据')");
    let last = ["2 4 5", "3 4 5", "4", "2"];
    check(&mut c, "opened again", last);
    drop(c);
    let opened = opened.crash_and_open_with(&[]).expect("it opens");
    let mut c = root(&opened.db);
    run(&mut c, "use d");
    check(&mut c, "after a crash", last);
    run(&mut c, "delete from t where match (a, b) against ('数据库') limit 1");
    run(&mut c, "create table l like t; insert into l select * from t; drop table t; rename table l to t");
    assert_eq!(run(&mut c, "select count(*) from t"), "3");
    assert_eq!(run(&mut c, "check table t"), "d.t|check|status|OK");
}
