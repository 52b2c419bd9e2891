//! Descending indexes: a table whose keys are descending answers as one whose keys are not, whatever its keys are read for; the order in
//! the tree is really the other way round, over a restart and a crash too.

use crate::support;

use support::{answers, open, root, run};
use vaquita_base::Rng;

/// Statements with their answers.
const ANSWERS: &[(&str, &str)] = &[
    (
        "create table t (a int, b int, s varchar(10), primary key (a desc, b), key k (b desc, a), unique key u (s(4) desc, b desc), key p (b asc, s desc)) default charset latin1",
        "",
    ),
    (
        "show create table t",
        "t|CREATE TABLE `t` (\n  `a` int(11) NOT NULL,\n  `b` int(11) NOT NULL,\n  `s` varchar(10) DEFAULT NULL,\n  PRIMARY KEY (`a` DESC,`b`),\n  UNIQUE KEY `u` (`s`(4) DESC,`b` DESC),\n  KEY `k` (`b` DESC,`a`),\n  KEY `p` (`b`,`s` DESC)\n) ENGINE=InnoDB DEFAULT CHARSET=latin1",
    ),
    (
        "select index_name, seq_in_index, collation from information_schema.statistics where table_schema = 'd' and table_name = 't' order by 1, 2",
        "k|1|D\nk|2|A\np|1|A\np|2|D\nPRIMARY|1|D\nPRIMARY|2|A\nu|1|D\nu|2|D",
    ),
    (
        "insert into t values (1, 1, 'abcdef'), (1, 2, 'b'), (2, 1, null), (3, 5, 'Q'), (3, 4, 'q'), (2, 2, 'zz')",
        "",
    ),
    // Rows lie in the order of the key.
    ("select a, b from t force index (primary)", "3|4\n3|5\n2|1\n2|2\n1|1\n1|2"),
    ("select a, b from t order by a desc, b", "3|4\n3|5\n2|1\n2|2\n1|1\n1|2"),
    ("select a, b from t order by a, b desc", "1|2\n1|1\n2|2\n2|1\n3|5\n3|4"),
    ("select a, b from t order by a, b", "1|1\n1|2\n2|1\n2|2\n3|4\n3|5"),
    ("explain select a, b, s from t order by a desc, b", "1|SIMPLE|t|index|NULL|PRIMARY|8|NULL|6|NULL"),
    ("explain select a, b, s from t order by a, b desc", "1|SIMPLE|t|index|NULL|PRIMARY|8|NULL|6|NULL"),
    (
        "explain select a, b, s from t order by a, b",
        "1|SIMPLE|t|index|NULL|p|17|NULL|6|Using index; Using filesort",
    ),
    ("select a, b from t where a > 1 order by a desc, b", "3|4\n3|5\n2|1\n2|2"),
    ("select a, b from t where a between 2 and 3 and b > 1 order by a, b", "2|2\n3|4\n3|5"),
    ("select a, b from t where a in (1, 3) order by a desc, b", "3|4\n3|5\n1|1\n1|2"),
    ("select a, b from t where a in (1, 3) order by a, b desc", "1|2\n1|1\n3|5\n3|4"),
    ("select min(a), max(a) from t", "1|3"),
    ("select max(b) from t", "5"),
    ("select min(s), max(s) from t", "abcdef|zz"),
    ("select a, max(b), count(*) from t group by a", "1|2|2\n2|2|2\n3|5|2"),
    ("select a, max(b) from t group by a desc", "3|5\n2|2\n1|2"),
    ("select s from t where s is null", "NULL"),
    ("select s from t force index (u) where s > 'b' order by s desc", "zz\nQ\nq"),
    ("select s from t force index (u) where s < 'c'", "b\nabcdef"),
    ("select s from t where s like 'ab%'", "abcdef"),
    ("insert into t values (9, 1, 'ABCDxx')", "ERROR 1062"),
    ("insert into t values (3, 4, 'new')", "ERROR 1062"),
    ("select b, s from t where b = 1 order by s desc", "1|abcdef\n1|NULL"),
    (
        "update t set a = a + 10 where a > 1; select a, b from t order by a desc, b",
        "13|4\n13|5\n12|1\n12|2\n1|1\n1|2",
    ),
    ("delete from t where b = 2; select a, b from t order by b desc, a", "13|5\n13|4\n1|1\n12|1"),
    // Changes of the definition.
    (
        "alter table t drop key k, add key k (b, a desc); select a, b from t force index (k) order by b, a desc",
        "12|1\n1|1\n13|4\n13|5",
    ),
    (
        "alter table t drop key k, algorithm = inplace; alter table t add key k (b), algorithm = inplace; select b from t force index (k) where b > 1",
        "4\n5",
    ),
    (
        "alter table t add key m (s desc, a), algorithm = inplace; select s from t force index (m) where s > ''",
        "q\nQ\nabcdef",
    ),
    (
        "alter table t rename key m to n, drop primary key, add primary key (a, b desc); select a, b from t force index (primary)",
        "1|1\n12|1\n13|5\n13|4",
    ),
    (
        "alter table t drop key n, add key n (s, a); select s from t force index (n) where s > ''",
        "abcdef\nQ\nq",
    ),
    (
        "alter table t drop key n, add key n (s desc, a); select s from t force index (n) where s > ''",
        "Q\nq\nabcdef",
    ),
    (
        "create table l like t; show create table l",
        "l|CREATE TABLE `l` (\n  `a` int(11) NOT NULL,\n  `b` int(11) NOT NULL,\n  `s` varchar(10) DEFAULT NULL,\n  PRIMARY KEY (`a`,`b` DESC),\n  UNIQUE KEY `u` (`s`(4) DESC,`b` DESC),\n  KEY `p` (`b`,`s` DESC),\n  KEY `k` (`b`),\n  KEY `n` (`s` DESC,`a`)\n) ENGINE=InnoDB DEFAULT CHARSET=latin1",
    ),
    (
        "truncate table t; insert into t values (1, 1, 'x'), (2, 1, 'y'); select a from t force index (primary)",
        "1\n2",
    ),
    (
        "create temporary table x (a int, key (a desc)); insert into x values (1), (3), (2); select a from x force index (a) where a > 0",
        "3\n2\n1",
    ),
    // AUTO_INCREMENT goes on behind the greatest value, wherever that lies.
    (
        "create table n (id int auto_increment, v int, primary key (id desc)); insert into n (v) values (1), (2), (3); insert into n (id, v) values (9, 9); insert into n (v) values (4); select id from n force index (primary)",
        "10\n9\n3\n2\n1",
    ),
    // Foreign keys.
    (
        "create table p (id int, primary key (id desc)); create table c (id int, p int, key (p desc), foreign key (p) references p (id) on delete cascade on update cascade)",
        "",
    ),
    ("insert into p values (1), (2), (3); insert into c values (1, 1), (2, 2), (3, 2)", ""),
    ("insert into c values (4, 4)", "ERROR 1452"),
    ("delete from p where id = 2; update p set id = 7 where id = 1; select id, p from c", "1|7"),
    // Functional.
    (
        "create table f (a int, key k ((a * a) desc, a)); insert into f values (-3), (2), (1); select a from f where a * a > 1 order by a * a desc",
        "-3\n2",
    ),
    ("explain select a from f order by a * a desc limit 2", "1|SIMPLE|f|index|NULL|k|14|NULL|2|Using index"),
    ("create table q (a int, fulltext key (a desc))", "ERROR 1221"),
    (
        "check table t, n, p, c, f",
        "d.t|check|status|OK\nd.n|check|status|OK\nd.p|check|status|OK\nd.c|check|status|OK\nd.f|check|status|OK",
    ),
    ("analyze table t", "d.t|analyze|status|OK"),
    ("optimize table n; select id from n force index (primary) where id > 2", "10\n9\n3"),
];

#[test]
fn answers_as_the_manual_says() {
    let opened = open();
    let mut c = root(&opened.db);
    run(&mut c, "set names utf8mb4");
    run(&mut c, "create database d; use d");
    answers(&mut c, ANSWERS);
}

/// A condition, an order.
fn some_query(rng: &mut Rng) -> String {
    let column = |rng: &mut Rng| ["a", "b", "v", "f"][rng.index(4)];
    let value = |rng: &mut Rng, column: &str| match column {
        "v" => format!("'{}'", ["", "a", "B", "bb", "c", "Zz"][rng.index(6)]),
        "f" => format!("{}.5", rng.below(20) as i64 - 10),
        _ => (rng.below(40) as i64 - 5).to_string(),
    };
    let condition = |rng: &mut Rng| {
        let c = column(rng);
        match rng.below(7) {
            0 => format!("{c} = {}", value(rng, c)),
            1 => format!("{c} > {}", value(rng, c)),
            2 => format!("{c} <= {}", value(rng, c)),
            3 => format!("{c} between {} and {}", value(rng, c), value(rng, c)),
            4 => format!("{c} in ({}, {}, {})", value(rng, c), value(rng, c), value(rng, c)),
            5 => format!("{c} is {}null", ["", "not "][rng.index(2)]),
            _ => format!("{c} <> {}", value(rng, c)),
        }
    };
    let mut filter = condition(rng);
    for _ in 0..rng.below(3) {
        filter = format!("{filter} {} {}", ["and", "or"][rng.index(2)], condition(rng));
    }
    let direction = |rng: &mut Rng| ["", " desc"][rng.index(2)];
    let (x, y) = (column(rng), column(rng));
    match rng.below(4) {
        0 => format!("select min({x}), max({y}), max({x}) from T where {filter}"),
        1 => format!(
            "select {x}, count(*), max({y}) from T where {filter} group by {x} order by {x}{}",
            direction(rng)
        ),
        2 => format!("select max({x}) from T"),
        _ => {
            let limit =
                if rng.below(2) == 0 { String::new() } else { format!(" limit {}", 1 + rng.below(9)) };
            let (d, e, f) = (direction(rng), direction(rng), direction(rng));
            format!("select id, a, b, v, f from T where {filter} order by {x}{d}, {y}{e}, id{f}{limit}")
        }
    }
}

/// The same rows with keys that ascend and that descend, changed alike.
#[test]
fn random_queries_find_the_same_rows() {
    let opened = open();
    let mut c = root(&opened.db);
    run(&mut c, "create database d; use d");
    let columns = "id int not null, a int, b int, v varchar(6), f double";
    run(
        &mut c,
        &format!(
            "create table up ({columns}, primary key (id), key (a, b), key (b), key (v(2), a), key (f, id))"
        ),
    );
    run(
        &mut c,
        &format!(
            "create table down ({columns}, primary key (id desc), key (a desc, b), key (b desc), key (v(2) desc, a), key (f desc, id))"
        ),
    );
    let mut rng = Rng::new(7);
    let some = |rng: &mut Rng, text: String| if rng.one_in(9) { "null".to_owned() } else { text };
    let change = |c: &mut vaquita_sql::Connection, sql: &str| {
        let told = ["up", "down"].map(|table| run(c, &sql.replace('T', table)));
        assert_eq!(told[0].replace("up", "down"), told[1], "{sql}");
    };
    for id in 0..300 {
        let a = rng.below(30).to_string();
        let b = rng.below(30).to_string();
        let v = format!("'{}'", ["", "a", "b", "bb", "bbb", "ccc", "d", "zz"][rng.index(8)]);
        let f = format!("{}", rng.below(20) as i64 - 10);
        let values = [some(&mut rng, a), some(&mut rng, b), some(&mut rng, v), some(&mut rng, f)].join(", ");
        change(&mut c, &format!("insert into T values ({id}, {values})"));
    }
    let mut compare = |c: &mut vaquita_sql::Connection, n: u32| {
        for _ in 0..n {
            let query = some_query(&mut rng);
            let [up, down] = ["up", "down"].map(|table| run(c, &query.replace('T', table)));
            assert_eq!(up, down, "{query}");
        }
    };
    compare(&mut c, 400);
    for change_of in [
        "update T set a = a + 7, v = 'q' where b between 3 and 9",
        "delete from T where a > 20 and f < 0",
        "update T set b = null where f = 3",
        "update T set id = id + 1000 where a < 5",
    ] {
        change(&mut c, change_of);
        compare(&mut c, 60);
    }
    run(
        &mut c,
        "begin; update down set a = 1; update down set f = 0 where b > 4; delete from down where v = 'a'; rollback",
    );
    compare(&mut c, 100);
    assert_eq!(run(&mut c, "check table down"), "d.down|check|status|OK");
    run(&mut c, "begin; update down set a = 100 where id < 50");
    drop(c);
    // What a crash leaves is found again in its order, and the transaction that was open is taken back.
    let opened = opened.crash_and_open_with(&[]).expect("opens");
    let mut c = root(&opened.db);
    run(&mut c, "use d");
    compare(&mut c, 200);
    assert_eq!(run(&mut c, "check table down"), "d.down|check|status|OK");
    drop(c);
    let opened = opened.reopen();
    let mut c = root(&opened.db);
    run(&mut c, "use d");
    assert_eq!(
        run(&mut c, "select id from down force index (primary) limit 1"),
        run(&mut c, "select max(id) from up")
    );
    compare(&mut c, 50);
}

/// A read view that is older than changes, and rows that are purged.
#[test]
fn consistent_reads() {
    let opened = open();
    let (mut a, mut b) = (root(&opened.db), root(&opened.db));
    run(&mut a, "create database d; use d; create table t (id int primary key, n int, key (n desc))");
    run(&mut b, "use d");
    run(&mut a, "insert into t values (1, 10), (2, 20), (3, 30), (4, null)");
    run(&mut b, "start transaction with consistent snapshot");
    run(
        &mut a,
        "update t set n = n + 100 where n > 10; delete from t where id = 1; insert into t values (5, 15)",
    );
    let forced = "select n from t force index (n) where n > 5";
    assert_eq!(run(&mut b, forced), "30\n20\n10");
    assert_eq!(run(&mut a, forced), "130\n120\n15");
    run(&mut b, "commit");
    assert_eq!(run(&mut b, forced), "130\n120\n15");
    // The gap below the greatest value is locked.
    run(&mut a, "begin; select * from t where n > 100 for update");
    run(&mut b, "set innodb_lock_wait_timeout = 1");
    assert!(run(&mut b, "insert into t values (6, 125)").starts_with("1205 "));
    assert_eq!(run(&mut b, "insert into t values (7, 5)"), "");
    run(&mut a, "rollback");
}
