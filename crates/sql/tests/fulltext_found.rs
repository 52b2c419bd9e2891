//! What a full-text search finds answers a query by itself where no more is asked: no row is read, and the answer is that of the
//! rows all the same, whoever has changed them and not committed, or committed since the view was opened.

use crate::support;

use support::{connect_as, open, root, run};
use vaquita_sql::Connection;

const COUNT: &str = "select count(*) from t where match (a) against ('apple')";
const NUMBERS: &str = "select group_concat(FTS_DOC_ID order by FTS_DOC_ID) from (select FTS_DOC_ID from t where match (a) against ('apple')) x";

/// The answer, and how many rows were read for it.
fn read(c: &mut Connection, query: &str) -> (String, u64) {
    let rows = |c: &mut Connection| -> u64 {
        let told = run(c, "show global status like 'innodb_rows_read'");
        told.split_once('|').expect("two cells").1.parse().expect("a number")
    };
    let before = rows(c);
    let answer = run(c, query);
    (answer, rows(c) - before)
}

#[test]
fn no_row_is_read_for_what_the_search_tells() {
    let opened = open();
    let mut c = root(&opened.db);
    run(
        &mut c,
        "create database d; use d; create table t (FTS_DOC_ID bigint unsigned not null primary key, a varchar(20), n int, fulltext (a))",
    );
    for n in 1..=60 {
        let text = ["apple", "apple pear", "plum"][n % 3];
        run(&mut c, &format!("insert into t values ({n}, '{text}', {n})"));
    }
    assert_eq!(read(&mut c, COUNT), ("40".to_owned(), 0));
    assert_eq!(
        read(&mut c, "select count(FTS_DOC_ID), count(*) from t where match (a) against ('pear')"),
        ("20|20".to_owned(), 0)
    );
    let (numbers, rows) = read(
        &mut c,
        "select FTS_DOC_ID, match (a) against ('pear') > 0 from t where match (a) against ('pear') order by 1",
    );
    assert_eq!((numbers.lines().count(), numbers.lines().next(), rows), (20, Some("1|1"), 0));
    let best = "select FTS_DOC_ID from t order by match (a) against ('pear') desc limit 3";
    assert_eq!(read(&mut c, best), ("1\n4\n7".to_owned(), 0));
    let best =
        "select n from t where match (a) against ('pear') order by match (a) against ('pear') desc limit 3";
    assert_eq!(read(&mut c, best), ("1\n4\n7".to_owned(), 3));
    // Of others there is more to be known.
    assert_eq!(
        read(&mut c, "select count(n) from t where match (a) against ('pear')"),
        ("20".to_owned(), 20)
    );
    assert_eq!(read(&mut c, &format!("{COUNT} and n > 30")).0, "20");
    assert_eq!(
        run(&mut c, &format!("explain {COUNT}")),
        "1|SIMPLE|NULL|NULL|NULL|NULL|NULL|NULL|NULL|Select tables optimized away"
    );
    // Rows that are to be locked are read.
    run(&mut c, "begin");
    let (count, rows) = read(&mut c, &format!("{COUNT} lock in share mode"));
    assert_eq!((count.as_str(), rows), ("40", 40));
    run(&mut c, "rollback");
}

#[test]
fn the_answer_is_that_of_the_rows() {
    let opened = open();
    let mut c = root(&opened.db);
    let mut other = root(&opened.db);
    run(
        &mut c,
        "create database d; use d; create table t (FTS_DOC_ID bigint unsigned not null primary key, a varchar(20), fulltext (a))",
    );
    run(&mut other, "use d");
    run(&mut c, "insert into t values (1, 'apple'), (2, 'apple'), (3, 'plum')");
    let both = |c: &mut Connection| (run(c, COUNT), run(c, NUMBERS));
    let told = |count: &str, numbers: &str| (count.to_owned(), numbers.to_owned());
    assert_eq!(both(&mut c), told("2", "1,2"));

    // One's own changes: what goes is not seen, what comes is not found.
    run(&mut c, "begin; delete from t where FTS_DOC_ID = 1; insert into t values (4, 'apple')");
    assert_eq!(both(&mut c), told("1", "2"));
    assert_eq!(both(&mut other), told("2", "1,2"), "nothing is committed");
    run(&mut c, "rollback");
    assert_eq!(both(&mut c), told("2", "1,2"));

    // A view that is older than a commit: what came is found and not seen.
    run(&mut c, "start transaction with consistent snapshot");
    run(&mut other, "insert into t values (5, 'apple'), (6, 'apple')");
    assert_eq!(both(&mut c), told("2", "1,2"));
    assert_eq!(both(&mut other), told("4", "1,2,5,6"));
    run(&mut c, "commit");
    assert_eq!(both(&mut c), told("4", "1,2,5,6"));

    // A view that a search itself has opened stays.
    run(&mut c, "begin");
    assert_eq!(run(&mut c, COUNT), "4");
    run(&mut other, "insert into t values (7, 'apple')");
    assert_eq!(run(&mut c, "select count(*) from t"), "5");
    assert_eq!(both(&mut c), told("4", "1,2,5,6"));
    run(&mut c, "commit");

    // Others' open changes of other documents, a prepared transaction, isolation levels.
    run(&mut other, "xa start 'x'; delete from t where FTS_DOC_ID = 7; xa end 'x'; xa prepare 'x'");
    for level in ["read committed", "repeatable read", "serializable"] {
        run(&mut c, &format!("set session transaction isolation level {level}"));
        assert_eq!(both(&mut c), told("5", "1,2,5,6,7"), "{level}");
    }
    run(&mut other, "xa commit 'x'");
    for level in ["read uncommitted", "read committed", "repeatable read", "serializable"] {
        run(&mut c, &format!("set session transaction isolation level {level}"));
        assert_eq!(both(&mut c), told("4", "1,2,5,6"), "{level}");
    }
    drop((c, other));

    let opened = opened.reopen();
    let mut c = root(&opened.db);
    run(&mut c, "use d");
    assert_eq!(both(&mut c), told("4", "1,2,5,6"));
    run(&mut c, "xa start 'y'; insert into t values (8, 'apple'); xa end 'y'; xa prepare 'y'");
    drop(c);

    // A view that is older than the commit of a transaction that was prepared before the folder was opened.
    let opened = opened.reopen();
    let (mut c, mut other) = (root(&opened.db), root(&opened.db));
    run(&mut c, "use d; start transaction with consistent snapshot");
    assert_eq!(both(&mut c), told("4", "1,2,5,6"));
    run(&mut other, "xa commit 'y'");
    assert_eq!(both(&mut c), told("4", "1,2,5,6"));
    run(&mut c, "commit");
    assert_eq!(both(&mut c), told("5", "1,2,5,6,8"));
}

/// What is searched takes a privilege on its columns, though their texts are not looked at; the hidden number of the document takes none.
#[test]
fn privileges_on_what_is_searched() {
    let opened = open();
    let mut c = root(&opened.db);
    run(
        &mut c,
        "create database d; use d; create table t (id int primary key, a varchar(20), b text, fulltext (a), fulltext (b))",
    );
    run(&mut c, "insert into t values (1, 'apple', 'pear')");
    run(&mut c, "create user u@localhost; grant select (id, a) on d.t to u@localhost");
    let mut u = connect_as(&opened.db, "u", "localhost").expect("connects");
    run(&mut u, "use d");
    assert_eq!(run(&mut u, COUNT), "1");
    assert_eq!(run(&mut u, "select id from t where match (a) against ('apple')"), "1");
    let denied = "1143 SELECT command denied to user 'u'@'localhost' for column 'b' in table 't'";
    for query in [
        "select count(*) from t where match (b) against ('pear')",
        "select id from t where match (b) against ('pear') > 0.1",
        "select id from t order by match (b) against ('pear') desc limit 1",
        "select id, (select match (t.b) against ('pear')) from t",
    ] {
        assert_eq!(run(&mut u, query), denied, "{query}");
    }
}
