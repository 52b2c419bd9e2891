//! Partitions that change places with tables, what is then said of their rows, and whom it waits for.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::support;

use support::{Opened, answers, connect_as, open, root, run};
use vaquita_sql::Connection;

const EXCHANGE: &str = "alter table t exchange partition p0 with table n";

/// A session with a partitioned table and another one.
fn house() -> (Opened, Connection) {
    let opened = open();
    let mut c = root(&opened.db);
    let made = "create database d; use d; set lock_wait_timeout = 1, innodb_lock_wait_timeout = 1;
        create table t (a int primary key, b int, key kb (b)) partition by range (a) (partition p0 values less than (10), partition p1 values less than (20));
        create table n (a int primary key, b int, key kb (b));
        insert into t values (1, 1), (11, 11); insert into n values (2, 2), (3, 3)";
    assert_eq!(run(&mut c, made), "");
    (opened, c)
}

#[test]
fn whoever_uses_a_table_is_waited_for() {
    for first in [
        "begin; select * from t where a = 11",
        "begin; select * from n",
        "begin; insert into n values (4, 4)",
        "lock tables n read",
        "xa start 'x'; insert into n values (4, 4); xa end 'x'; xa prepare 'x'",
        "xa start 'x'; insert into t values (4, 4); xa end 'x'; xa prepare 'x'",
    ] {
        let (opened, mut c) = house();
        let mut holder = root(&opened.db);
        run(&mut holder, &format!("use d; {first}"));
        let told = run(&mut c, EXCHANGE);
        assert!(told.starts_with("1205 "), "{first}: {told}");
        for end in ["xa rollback 'x'", "rollback", "unlock tables"] {
            run(&mut holder, end);
        }
        let after = [
            ("select a from t partition (p0)", "1"),
            ("select a from n", "2\n3"),
            (EXCHANGE, ""),
            ("select a from t", "2\n3\n11"),
            ("select a from n", "1"),
        ];
        answers(&mut c, &after);
        // Nothing is locked by what was not done, or was.
        assert_eq!(run(&mut holder, "insert into n values (5, 5); insert into t values (6, 6)"), "");
        assert_eq!(run(&mut c, "check table t, n"), "d.t|check|status|OK\nd.n|check|status|OK", "{first}");
        drop((c, holder));
        let opened = opened.reopen();
        let mut again = root(&opened.db);
        assert_eq!(run(&mut again, "select a from d.t where b = 3"), "3", "{first}");
    }
}

/// Without validation rows come into partitions that they do not belong to.
#[test]
fn rows_in_the_wrong_partition() {
    let (_opened, mut c) = house();
    let statements = [
        ("insert into n values (15, 15)", ""),
        (EXCHANGE, "ERROR 1737"),
        ("alter table t exchange partition p0 with table n with validation", "ERROR 1737"),
        ("alter table t exchange partition p0 with table n without validation", ""),
        ("select a from t where a = 15", ""),
        ("select a from t partition (p0)", "2\n3\n15"),
        (
            "check table t",
            "d.t|check|error|table d/t: row '15' is in partition p0 and belongs to p1\nd.t|check|error|Corrupt",
        ),
        ("alter table t check partition p1", "d.t|check|status|OK"),
        (
            "alter table t check partition p0, p1",
            "d.t|check|error|table d/t: row '15' is in partition p0 and belongs to p1\nd.t|check|error|Corrupt",
        ),
        ("alter table t repair partition p1", "d.t|repair|status|OK"),
        ("select a from t partition (p0)", "2\n3\n15"),
        (
            "alter table t repair partition p0",
            "d.t|repair|warning|Moved misplaced rows\nd.t|repair|status|OK",
        ),
        ("select a from t partition (p0)", "2\n3"),
        ("select a from t where a = 15", "15"),
        ("repair table t", "d.t|repair|status|OK"),
        ("check table t", "d.t|check|status|OK"),
        // It belongs nowhere.
        ("delete from n; insert into n values (99, 9)", ""),
        ("alter table t exchange partition p0 with table n without validation", ""),
        (
            "alter table t check partition all",
            "d.t|check|error|table d/t: row '99' is in partition p0 and belongs to none\nd.t|check|error|Corrupt",
        ),
        (
            "repair table t",
            "d.t|repair|Error|Table has no partition for value 99\nd.t|repair|status|Operation failed",
        ),
        ("select a from t partition (p0)", "99"),
    ];
    answers(&mut c, &statements);
}

/// 5.6.24 answers with the same error, after it has said what columns a result would have.
#[test]
fn partitions_of_what_has_none() {
    let (_opened, mut c) = house();
    run(&mut c, "create view v as select * from t; create temporary table tt (a int)");
    for action in ["analyze", "check", "optimize", "repair"] {
        for table in ["n", "tt"] {
            for which in ["p0", "all"] {
                let told = run(&mut c, &format!("alter table {table} {action} partition {which}"));
                assert!(told.starts_with("1505 "), "{table} {action}: {told}");
            }
        }
        let not_alone = format!("alter table t algorithm = copy, {action} partition p0");
        answers(&mut c, [&(not_alone.as_str(), "ERROR 1064")]);
    }
    let no_view = "1505 Partition management on a not partitioned table is not possible";
    assert_eq!(run(&mut c, "alter table v check partition p0"), no_view);
}

/// A table whose rows have versions is written anew: a partition's rows have none.
#[test]
fn rows_of_several_versions() {
    let (opened, mut c) = house();
    let statements = [
        ("set vaquita_instant_alter = 1", ""),
        ("create table v (a int primary key)", ""),
        ("insert into v values (5)", ""),
        ("alter table v add column b int default 7", ""),
        ("insert into v values (6, 6)", ""),
        ("alter table v add key kb (b)", ""),
        ("alter table t exchange partition p0 with table v", ""),
        ("select * from t order by a", "5|7\n6|6\n11|11"),
        ("select a from t where b = 7", "5"),
        ("select * from v", "1|1"),
        (
            "show create table v",
            "v|CREATE TABLE `v` (\n  `a` int(11) NOT NULL,\n  `b` int(11) DEFAULT '7',\n  PRIMARY KEY (`a`),\n  KEY `kb` (`b`)\n) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4",
        ),
        ("flush tables t for export", ""),
        ("unlock tables", ""),
        ("alter table t drop partition p1", ""),
        ("check table t, v", "d.t|check|status|OK\nd.v|check|status|OK"),
    ];
    answers(&mut c, &statements);
    drop(c);
    let opened = opened.reopen();
    let mut again = root(&opened.db);
    assert_eq!(run(&mut again, "select * from d.t order by a"), "5|7\n6|6");
}

/// As 5.6.24 wants them, and names those that are not there.
#[test]
fn privileges() {
    let (opened, mut c) = house();
    run(&mut c, "create user u@'%'; grant alter on d.t to u@'%'");
    let mut refused = |grant: &str| {
        assert_eq!(run(&mut c, grant), "", "{grant}");
        let mut u = connect_as(&opened.db, "u", "%").unwrap();
        run(&mut u, "use d");
        run(&mut u, EXCHANGE)
    };
    let denied = |privileges: &str, table: &str| {
        format!("1142 {privileges} command denied to user 'u'@'localhost' for table '{table}'")
    };
    assert_eq!(refused("select 1 from dual where 0"), denied("INSERT, CREATE, DROP", "t"));
    assert_eq!(refused("grant drop on d.t to u@'%'"), denied("INSERT, CREATE", "t"));
    assert_eq!(refused("grant insert, create on d.t to u@'%'"), denied("INSERT, CREATE, DROP, ALTER", "n"));
    assert_eq!(refused("grant alter, drop, insert on d.n to u@'%'"), denied("CREATE", "n"));
    assert_eq!(refused("revoke alter on d.t from u@'%'"), denied("ALTER", "t"));
    assert_eq!(refused("grant alter on d.t to u@'%'; grant create on d.n to u@'%'"), "");
    assert_eq!(run(&mut c, "select a from t"), "2\n3\n11");
}
