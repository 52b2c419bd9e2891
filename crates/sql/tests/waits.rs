//! Sessions that wait for others: for metadata locks, LOCK TABLES, the global read lock, named locks, rows. What ends the
//! waits, and what MySQL 5.6.24 answers meanwhile.

use crate::support;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use support::{Opened, open, root, run};
use vaquita_engine::{WaitFor, WaitHook};
use vaquita_sql::Connection;

/// What becomes of a statement.
#[derive(Debug, PartialEq, Eq)]
enum Heard {
    Waits,
    Ended,
}

/// Tells when a session waits for another one.
#[derive(Debug)]
struct Told(Sender<Heard>);

impl WaitHook for Told {
    fn before(&self, what: WaitFor) {
        if what == WaitFor::Lock {
            let _ = self.0.send(Heard::Waits);
        }
    }

    fn after(&self, _: WaitFor) {}
}

/// A statement that runs on a thread of its own.
struct Running {
    id: u32,
    heard: Receiver<Heard>,
    thread: JoinHandle<(Connection, String)>,
}

impl Running {
    fn start(mut connection: Connection, sql: &str) -> Running {
        let (told, heard) = channel();
        connection.engine().set_wait_hook(Arc::new(Told(told.clone())));
        let (id, sql) = (connection.id(), sql.to_owned());
        let thread = std::thread::spawn(move || {
            let answer = run(&mut connection, &sql);
            let _ = told.send(Heard::Ended);
            (connection, answer)
        });
        Running { id, heard, thread }
    }

    /// Whether it waits for another session, or ends without.
    fn waits(&self) -> bool {
        self.heard.recv().expect("the thread says what it does") == Heard::Waits
    }

    fn end(self) -> (Connection, String) {
        self.thread.join().expect("no panic")
    }
}

/// Sessions with a small table.
fn house() -> Opened {
    let opened = open();
    let mut c = root(&opened.db);
    let made = "create database d; use d; create table t (a int primary key, b int); insert into t values (1, 1), (2, 2)";
    assert_eq!(run(&mut c, made), "");
    opened
}

fn session(opened: &Opened) -> Connection {
    let mut c = root(&opened.db);
    assert_eq!(run(&mut c, "use d"), "");
    c
}

/// Ends whatever it holds.
fn let_go(holder: &mut Connection) {
    for sql in ["xa rollback 'x'", "rollback", "unlock tables", "select release_all_locks()"] {
        run(holder, sql);
    }
}

/// Waits until the list of sessions says so of one: what waits tells it first.
fn in_state(other: &mut Connection, id: u32, state: &str) {
    let list = format!("select state from information_schema.processlist where id = {id}");
    let begun = Instant::now();
    while run(other, &list) != state {
        assert!(begun.elapsed() < Duration::from_secs(60), "{id} is not {state}");
    }
}

const KILLED: &str = "1317 Query execution was interrupted";

const TABLE: &str = "Waiting for table metadata lock";

/// What a session does, the statement that another one waits with, what that says when it is killed, and what the list of
/// sessions says while it waits (of locks of rows MySQL says there what the statement is about).
const WAITS: [(&str, &str, &str, &str); 13] = [
    ("begin; select * from t", "alter table t add c int", KILLED, TABLE),
    ("begin; select * from t", "drop table t", KILLED, TABLE),
    ("begin; select * from t", "create index i on t (b)", KILLED, TABLE),
    ("lock tables t write", "select * from t", KILLED, TABLE),
    ("lock tables t read", "insert into t values (3, 3)", KILLED, TABLE),
    ("lock tables t read", "lock tables t write", KILLED, TABLE),
    (
        "xa start 'x'; insert into t values (3, 3); xa end 'x'; xa prepare 'x'",
        "truncate table t",
        KILLED,
        TABLE,
    ),
    ("select get_lock('n', 0)", "select get_lock('n', 1000)", KILLED, "User lock"),
    ("select 1", "select sleep(1000)", "1", "User sleep"),
    ("begin; update t set b = 3 where a = 1", "update t set b = 4 where a = 1", KILLED, "executing"),
    ("begin; update t set b = 3 where a = 1", "select * from t for update", KILLED, "executing"),
    ("flush tables with read lock", "insert into t values (3, 3)", KILLED, "Waiting for global read lock"),
    ("lock tables t write", "flush tables with read lock", KILLED, "Waiting for global read lock"),
];

#[test]
fn kill_query_ends_every_wait() {
    let opened = house();
    for (first, second, answer, state) in WAITS {
        let mut killer = session(&opened);
        let mut holder = session(&opened);
        run(&mut holder, first);
        let waiter = Running::start(session(&opened), second);
        assert!(waiter.waits(), "{second} after {first}");
        in_state(&mut killer, waiter.id, state);
        assert_eq!(run(&mut killer, &format!("kill query {}", waiter.id)), "");
        let (mut waiter, answered) = waiter.end();
        assert_eq!(answered, answer, "{second} after {first}");
        // The session goes on, and nothing of the statement is left to keep others waiting.
        assert_eq!(run(&mut waiter, "select 1"), "1");
        let_go(&mut holder);
        assert_eq!(run(&mut killer, "set lock_wait_timeout = 1, innodb_lock_wait_timeout = 1"), "");
        let after = run(&mut killer, "lock tables t write; unlock tables; select * from t");
        assert_eq!(after, "1|1\n2|2", "{second} after {first}");
    }
}

/// SLEEP, too, ends with the error when its connection is killed: 5.6.24 sends no row.
#[test]
fn kill_ends_a_connection_that_waits() {
    let opened = house();
    for (first, second, ..) in WAITS {
        let mut holder = session(&opened);
        run(&mut holder, first);
        let waiter = Running::start(session(&opened), second);
        assert!(waiter.waits(), "{second} after {first}");
        assert_eq!(run(&mut holder, &format!("kill {}", waiter.id)), "");
        let (waiter, answered) = waiter.end();
        assert_eq!(answered, KILLED, "{second} after {first}");
        assert!(waiter.is_killed());
        let_go(&mut holder);
    }
}

#[test]
fn a_kill_before_a_statement_is_not_for_it() {
    let opened = house();
    let mut holder = session(&opened);
    let mut c = session(&opened);
    assert_eq!(run(&mut holder, &format!("kill query {}", c.id())), "");
    assert_eq!(run(&mut c, "alter table t add c int; select count(*) from t"), "2");
    run(&mut holder, "begin; select * from t");
    assert_eq!(run(&mut holder, &format!("kill query {}", c.id())), "");
    let waiter = Running::start(c, "alter table t drop c");
    assert!(waiter.waits());
    run(&mut holder, "commit");
    assert_eq!(waiter.end().1, "");
}

const TIMEOUT: &str = "1205 Lock wait timeout exceeded; try restarting transaction";

#[test]
fn lock_wait_timeout_ends_waits_for_tables() {
    let opened = house();
    for (first, second, ..) in WAITS.iter().filter(|w| !w.0.contains("get_lock") && !w.0.contains("update t"))
    {
        if second.contains("sleep") {
            continue;
        }
        let (mut holder, mut waiter) = (session(&opened), session(&opened));
        run(&mut holder, first);
        assert_eq!(run(&mut waiter, "set lock_wait_timeout = 1"), "");
        assert_eq!(run(&mut waiter, second), TIMEOUT, "{second} after {first}");
        let_go(&mut holder);
    }
}

/// Statements of other sessions while one holds the global read lock; which of them wait on MySQL 5.6.24.
#[test]
fn the_global_read_lock_stops_changes_of_others() {
    let opened = house();
    let mut holder = session(&opened);
    assert_eq!(run(&mut holder, "flush tables with read lock"), "");
    for (sql, waits) in [
        ("select * from t", false),
        ("select * from t for update", true),
        ("select * from t lock in share mode", false),
        ("insert into t values (9, 9)", true),
        ("update t set b = 3 where a = 77", true),
        ("delete from t where a = 77", true),
        ("create table v (a int)", true),
        ("drop table t", true),
        ("truncate table t", true),
        ("rename table t to t2", true),
        ("alter table t add c int", true),
        ("create database d2", true),
        ("create user u", true),
        ("grant select on d.* to root@localhost", true),
        ("lock tables t write", true),
        ("lock tables t read; unlock tables", false),
        ("checksum table t", false),
        ("check table t", false),
        ("set global max_connections = 151", false),
        ("flush tables", false),
        ("flush tables with read lock; unlock tables", false),
        ("flush tables t with read lock; unlock tables", false),
        ("xa start 'x'; xa end 'x'; xa rollback 'x'", false),
        ("begin; select * from t; commit", false),
        ("select get_lock('x', 0)", false),
    ] {
        let mut other = session(&opened);
        assert_eq!(run(&mut other, "set lock_wait_timeout = 5"), "");
        let other = Running::start(other, sql);
        assert_eq!(other.waits(), waits, "{sql}");
        opened.db.processes().kill(other.id, true);
        other.end();
    }
    assert_eq!(run(&mut holder, "unlock tables; select * from t; insert into t values (3, 3)"), "");
    assert_eq!(run(&mut holder, "show tables"), "t");
}

/// Statements of the session that holds it, and MySQL 5.6.24's answers.
#[test]
fn the_holder_of_the_global_read_lock_is_refused_changes() {
    let opened = house();
    let mut c = session(&opened);
    let refused = "1223 Can't execute the query because you have a conflicting read lock";
    let locked =
        "1192 Can't execute the given command because you have active locked tables or an active transaction";
    for (sql, answer) in [
        ("flush tables with read lock", ""),
        ("insert into t values (9, 9)", refused),
        ("select * from t for update", refused),
        ("update t set b = 3 where a = 77", refused),
        ("create table v (a int)", refused),
        ("drop table t", refused),
        ("truncate t", refused),
        ("create user zz", refused),
        ("lock tables t write", refused),
        ("begin", ""),
        ("insert into t values (6, 6)", refused),
        ("select * from t", "1|1\n2|2"),
        ("commit", ""),
        ("insert into t values (6, 6)", refused),
        ("flush tables with read lock", ""),
        ("lock tables t read", ""),
        ("flush tables with read lock", locked),
        ("flush tables t with read lock", locked),
        ("select * from u", "1100 Table 'u' was not locked with LOCK TABLES"),
        ("unlock tables", ""),
        ("insert into t values (8, 8)", ""),
        ("flush tables t with read lock", ""),
        ("insert into t values (9, 9)", "1099 Table 't' was locked with a READ lock and can't be updated"),
        ("flush tables t with read lock", locked),
        ("unlock tables", ""),
        ("insert into t values (9, 9)", ""),
        ("lock tables nonesuch read", "1146 Table 'd.nonesuch' doesn't exist"),
        ("flush tables nonesuch with read lock", "1146 Table 'd.nonesuch' doesn't exist"),
        ("insert into t values (10, 10)", ""),
    ] {
        let done = run(&mut c, sql);
        // MySQL looks for the table before it looks for the lock.
        let done = if sql.ends_with("from u") && done.starts_with("1146") { answer.to_owned() } else { done };
        assert_eq!(done, answer, "{sql}");
    }
}

/// As MySQL 5.6.24: a commit of changes waits, and is a rollback if it is interrupted; one of nothing does not.
#[test]
fn the_global_read_lock_stops_commits() {
    let opened = house();
    let (mut holder, mut writer) = (session(&opened), session(&opened));
    assert_eq!(run(&mut writer, "begin; insert into t values (20, 20)"), "");
    assert_eq!(run(&mut holder, "flush tables with read lock"), "");
    let commit = Running::start(writer, "commit");
    assert!(commit.waits());
    in_state(&mut holder, commit.id, "Waiting for commit lock");
    assert_eq!(run(&mut holder, "select count(*) from t"), "2");
    assert_eq!(run(&mut holder, "unlock tables"), "");
    let (writer, done) = commit.end();
    assert_eq!(done, "");
    assert_eq!(run(&mut holder, "select count(*) from t"), "3");

    let mut writer = writer;
    assert_eq!(run(&mut writer, "begin; insert into t values (21, 21)"), "");
    assert_eq!(run(&mut holder, "flush tables with read lock"), "");
    let commit = Running::start(writer, "commit");
    assert!(commit.waits());
    opened.db.processes().kill(commit.id, true);
    let (mut writer, done) = commit.end();
    assert_eq!(done, KILLED);
    assert_eq!(run(&mut writer, "select count(*) from t where a = 21"), "0");
    assert_eq!(run(&mut holder, "unlock tables"), "");
    assert_eq!(run(&mut writer, "rollback; select count(*) from t where a = 21"), "0");
    // The end of a session gives it back, too.
    assert_eq!(run(&mut holder, "flush tables with read lock"), "");
    let change = Running::start(writer, "insert into t values (22, 22)");
    assert!(change.waits());
    drop(holder);
    assert_eq!(change.end().1, "");
}

/// A statement that changes rows ends before the lock is had, and may wait for a commit meanwhile.
#[test]
fn the_global_read_lock_waits_for_statements_that_change() {
    let opened = house();
    let mut first = session(&opened);
    assert_eq!(run(&mut first, "begin; update t set b = 5 where a = 1"), "");
    let second = Running::start(session(&opened), "update t set b = 6 where a = 1");
    assert!(second.waits());
    let dump = Running::start(session(&opened), "flush tables with read lock");
    assert!(dump.waits());
    assert_eq!(run(&mut first, "commit"), "");
    assert_eq!(second.end().1, "");
    let (mut dump, done) = dump.end();
    assert_eq!(done, "");
    assert_eq!(run(&mut dump, "select b from t where a = 1"), "6");
}

/// Probes of the test below.
const PROBES: [&str; 7] = [
    "insert into u values (0, 0)",
    "insert into u values (3, 3)",
    "insert into u values (7, 7)",
    "insert into u values (10, 10)",
    "update u set b = 8 where a = 1",
    "update u set b = 8 where a = 5",
    "update u set b = 8 where a = 9",
];

/// Which probes wait (`W`) for a transaction with that statement, on MySQL 5.6.24: `u` is only read.
#[test]
fn rows_that_are_read_to_change_others_are_locked_as_by_mysql() {
    let opened = house();
    let mut c = session(&opened);
    let more = "create table u (a int primary key, b int, key (b)); create table w (x int); \
                insert into u values (1, 1), (2, 2), (5, 5), (9, 9)";
    assert_eq!(run(&mut c, more), "");
    let range = "insert into w select b from u force index (primary) where a between 2 and 5";
    let of_max = "update t set b = (select max(b) from u force index (primary) where a <= 2) where a = 1";
    let joined = "update t, u set t.b = 3 where t.a = u.a and u.a = 1";
    for (isolation, sql, waits) in [
        ("repeatable read", range, ".WW..WW"),
        ("repeatable read", "insert into w select a from u where b = 5", ".WW.WWW"),
        ("repeatable read", "insert into w select a from u where a = 5", ".....W."),
        ("repeatable read", "replace into t select a, b from u", "WWWWWWW"),
        ("repeatable read", "insert into w select count(*) from u", "WWWWWWW"),
        ("repeatable read", "insert into w select x.a from (select a from u) x", "WWWWWWW"),
        ("repeatable read", "insert into w values ((select sum(a) from u))", "WWWWWWW"),
        ("repeatable read", of_max, "WW..WW."),
        ("repeatable read", joined, "....W.."),
        ("repeatable read", "delete from t where b = (select sum(a) from u)", "WWWWWWW"),
        ("repeatable read", "select max(a) from u", "......."),
        ("read committed", range, "......."),
        ("read committed", "insert into w select a from u where b = 5", "......."),
        ("read committed", "insert into w select a from u where a = 5", "......."),
        ("read committed", "replace into t select a, b from u", "......."),
        ("read committed", "insert into w select count(*) from u", "......."),
        ("read committed", "insert into w select x.a from (select a from u) x", "......."),
        ("read committed", "insert into w values ((select sum(a) from u))", "....WWW"),
        ("read committed", of_max, "......."),
        ("read committed", joined, "....W.."),
        ("read committed", "delete from t where b = (select sum(a) from u)", "....WWW"),
        ("read committed", "select max(a) from u", "......."),
    ] {
        assert_eq!(run(&mut c, &format!("set session transaction isolation level {isolation}; begin")), "");
        let done = run(&mut c, sql);
        assert!(done.is_empty() || done == "9", "{sql}: {done}");
        let mut found = String::new();
        for probe in PROBES {
            let mut other = session(&opened);
            assert_eq!(run(&mut other, "begin"), "");
            let other = Running::start(other, probe);
            found.push(if other.waits() { 'W' } else { '.' });
            opened.db.processes().kill(other.id, true);
            other.end();
        }
        assert_eq!(found, waits, "{isolation}: {sql}");
        assert_eq!(run(&mut c, "rollback"), "");
    }
}

/// While ALTER TABLE copies rows, the copy is a table of the dictionary. Lists do not show it, as in MySQL 5.6.24, where its
/// name begins with `#sql` too; whoever knows the name finds it.
#[test]
fn the_copy_that_an_alter_writes_is_in_no_list() {
    const LISTS: [(&str, &str); 8] = [
        ("show tables", "t"),
        ("show full tables", "t|BASE TABLE"),
        ("select table_name from information_schema.tables where table_schema = 'd'", "t"),
        ("select count(*) from information_schema.tables where table_schema = 'd'", "1"),
        ("select column_name from information_schema.columns where table_schema = 'd'", "a\nb"),
        ("select count(*) from information_schema.statistics where table_schema = 'd'", "1"),
        ("select count(*) from information_schema.key_column_usage where table_schema = 'd'", "1"),
        ("select count(*) from information_schema.partitions where table_schema = 'd'", "1"),
    ];
    let opened = house();
    let mut c = session(&opened);
    for first in [10, 1010, 2010, 3010] {
        let rows: Vec<String> = (first..first + 1000).map(|a| format!("({a}, {a})")).collect();
        assert_eq!(run(&mut c, &format!("insert into t values {}", rows.join(","))), "");
    }
    let mut looker = session(&opened);
    let (told, seen) = channel();
    std::thread::scope(|scope| {
        // The hook has to own what it uses: it asks, and the looker answers from here.
        let (ask, asked) = channel::<Sender<()>>();
        c.set_yield_after(Duration::ZERO);
        c.set_yield_hook(Arc::new(move || {
            let (answered, answer) = channel();
            if ask.send(answered).is_ok() {
                let _ = answer.recv();
            }
        }));
        scope.spawn(move || {
            assert_eq!(run(&mut c, "alter table t modify b bigint"), "");
        });
        while let Ok(answered) = asked.recv() {
            let copies = run(
                &mut looker,
                "select name from information_schema.innodb_sys_tables where name like 'd/#sql%'",
            );
            if let Some(copy) = copies.strip_prefix("d/") {
                let lists: Vec<String> = LISTS.iter().map(|(list, _)| run(&mut looker, list)).collect();
                let by_name = format!(
                    "select count(*) from information_schema.tables where table_schema = 'd' and table_name = '#mysql50#{copy}'"
                );
                let _ = told.send((lists, run(&mut looker, &by_name)));
            }
            let _ = answered.send(());
        }
        drop(told);
    });
    let seen: Vec<_> = seen.iter().collect();
    assert!(!seen.is_empty(), "the copy was never there");
    for (lists, by_name) in seen {
        for ((list, wanted), got) in LISTS.iter().zip(lists) {
            assert_eq!(got, *wanted, "{list}");
        }
        assert_eq!(by_name, "1");
    }
}

/// INNODB_TRX tells a SELECT that is its own transaction, and takes no locks, from one in a transaction.
#[test]
fn monitors_tell_a_lone_read() {
    let opened = house();
    let (mut holder, mut watcher) = (session(&opened), session(&opened));
    assert_eq!(run(&mut holder, "select get_lock('n', 0)"), "1");
    for (statements, shown) in [
        ("select a, get_lock('n', 1000) from t where a = 1", "1|1"),
        ("begin; select a, get_lock('n', 1000) from t where a = 1", "0|0"),
        ("select a, get_lock('n', 1000) from t where a = 1 for update", "0|0"),
    ] {
        let reader = Running::start(session(&opened), statements);
        assert!(reader.waits(), "{statements}");
        in_state(&mut watcher, reader.id, "User lock");
        let look = format!(
            "select trx_is_read_only, trx_autocommit_non_locking from information_schema.innodb_trx
             where trx_mysql_thread_id = {}",
            reader.id
        );
        assert_eq!(run(&mut watcher, &look), shown, "{statements}");
        run(&mut watcher, &format!("kill {}", reader.id));
        reader.end();
    }
}

/// ROLLBACK TO SAVEPOINT gives back the names of tables used since, SHOW those it looked at: definitions may change while the
/// transaction goes on.
#[test]
fn names_of_tables_used_since_a_savepoint_are_given_back() {
    let opened = house();
    let (mut a, mut b) = (session(&opened), session(&opened));
    assert_eq!(run(&mut a, "create table u (a int); insert into u values (1)"), "");
    assert_eq!(run(&mut b, "set lock_wait_timeout = 1"), "");
    for begin in ["start transaction with consistent snapshot", "set autocommit = 0"] {
        assert_eq!(run(&mut a, &format!("{begin}; insert into t values (3, 3); savepoint s")), "");
        assert_eq!(run(&mut a, "select a from u"), "1");
        assert!(run(&mut b, "alter table u add index (a)").starts_with("1205"), "{begin}");
        assert_eq!(run(&mut a, "rollback to s"), "");
        assert!(run(&mut a, "show create table u").starts_with("u|CREATE TABLE"), "{begin}");
        assert!(run(&mut a, "show columns from u").starts_with("a|int"), "{begin}");
        assert_eq!(run(&mut b, "alter table u add index n (a)"), "", "{begin}");
        assert_eq!(run(&mut b, "alter table u drop index n"), "", "{begin}");
        assert_eq!(run(&mut a, "rollback to s; select count(*) from t"), "3", "{begin}");
        assert_eq!(run(&mut a, "rollback; set autocommit = 1; select count(*) from t"), "2", "{begin}");
    }
}

/// INNODB_LOCKS tells the key of the record that somebody waits for, in the words of MySQL 5.6.24.
#[test]
fn locks_tell_the_keys_of_their_records() {
    let opened = house();
    let (mut holder, mut watcher) = (session(&opened), session(&opened));
    run(&mut watcher, "set names utf8");
    let look = "select group_concat(distinct lock_data) from information_schema.innodb_locks";
    for (column, value, told) in [
        ("int", "-5", "-5, 7"),
        ("bigint unsigned", "18446744073709551615", "18446744073709551615, 7"),
        ("double", "-2.25e100", "0xED5B47CAE292C4D4, 7"),
        ("decimal(10,3)", "-12.5", "0x7FFFFFF3FE0B, 7"),
        ("date", "'2015-02-03'", "1031747, 7"),
        ("time(3)", "'10:11:12.345'", "0x80A2CC0D7A, 7"),
        ("datetime(6)", "'2015-02-03 04:05:06.123456'", "0x999546414601E240, 7"),
        ("timestamp", "'1970-01-02 00:00:00'", "0x00015180, 7"),
        ("year", "2015", "115, 7"),
        ("enum('x','y')", "'y'", "2, 7"),
        ("set('p','q','r')", "'p,r'", "5, 7"),
        ("bit(20)", "b'10101'", "0x000015, 7"),
        ("char(5) character set utf8", "'äb'", "'äb  ', 7"),
        ("varchar(10) character set ucs2", "'äb'", "'äb', 7"),
        ("varchar(10) character set latin1", "'it''s \\\\ \\0 ä'", "'it''s \\\\ \\0 ä', 7"),
        ("varchar(10) character set sjis", "'日本'", "'日本', 7"),
        ("varbinary(8)", "x'00ff61'", "0x00FF61, 7"),
        ("varbinary(8)", "''", "0x, 7"),
        ("varchar(10)", "null", "NULL, 7"),
    ] {
        let made = format!(
            "drop table if exists k; create table k (id int primary key, c {column}, key (c)); set time_zone = '+00:00';
             insert into k values (7, {value})"
        );
        assert_eq!(run(&mut watcher, &made), "", "{column}");
        let which = if value == "null" { "is null" } else { "is not null" };
        let reads = format!("select id from k force index (c) where c {which} for update");
        assert_eq!(run(&mut holder, &format!("begin; {reads}")), "7", "{column}");
        let waiter = Running::start(session(&opened), &reads);
        assert!(waiter.waits(), "{column}");
        assert_eq!(run(&mut watcher, look), told, "{column}");
        run(&mut holder, "rollback");
        waiter.end();
    }
}

/// Keys of several kinds of indexes and places, and the order of what is told: who came last first. As MySQL 5.6.24.
#[test]
fn locks_and_waits_are_told_from_the_last_on() {
    let opened = house();
    let (mut holder, mut watcher) = (session(&opened), session(&opened));
    let made = "create table u (id int primary key, n int, v varchar(20), unique key n (n), key nv (n, v), key p (v(3)));
        insert into u values (1, 10, 'abcdef'), (2, null, 'xyz'), (3, 30, null);
        create table w (a int); insert into w values (5)";
    assert_eq!(run(&mut watcher, made), "");
    let look = "select lock_mode, lock_index, substring_index(lock_id, ':', -2), lock_data
        from information_schema.innodb_locks";
    for (holds, waits, told) in [
        (
            "select 1 from u where id = 1 for update",
            "select 1 from u where id = 1 for update",
            "X|PRIMARY|3:2|1",
        ),
        (
            "select 1 from u force index (n) where n = 10 for update",
            "select 1 from u force index (n) where n = 10 for update",
            "X|n|4:2|10",
        ),
        (
            "select 1 from u force index (nv) where n = 10 for update",
            "select 1 from u force index (nv) where n = 10 for update",
            "X|nv|5:2|10, 'abcdef', 1",
        ),
        (
            "select 1 from u force index (p) where v = 'abcdef' for update",
            "select 1 from u force index (p) where v = 'abcdef' for update",
            "X|p|6:2|'abc', 1",
        ),
        (
            "select 1 from u where id > 2 for update",
            "insert into u values (9, 9, 9)",
            "X|PRIMARY|3:1|supremum pseudo-record",
        ),
    ] {
        run(&mut holder, &format!("begin; {holds}"));
        let waiter = Running::start(session(&opened), waits);
        assert!(waiter.waits(), "{waits}");
        assert_eq!(run(&mut watcher, look), format!("{told}\n{told}"), "{waits}");
        run(&mut holder, "rollback");
        waiter.end();
    }
    run(&mut holder, "begin; update w set a = 6");
    let waiter = Running::start(session(&opened), "select * from w for update");
    assert!(waiter.waits());
    let told = run(&mut watcher, look);
    assert!(told.starts_with("X|GEN_CLUST_INDEX|3:2|0x0000"), "{told}");
    run(&mut holder, "rollback");
    waiter.end();

    // Three that want one row; none of them has changed anything.
    run(&mut holder, "begin; select 1 from t where a = 2 for update");
    let second = Running::start(session(&opened), "select 1 from t where a = 2 for update");
    assert!(second.waits());
    let third = Running::start(session(&opened), "select 1 from t where a = 2 lock in share mode");
    assert!(third.waits());
    let threads =
        "select group_concat(trx_mysql_thread_id order by trx_id desc) from information_schema.innodb_trx
        where trx_mysql_thread_id <> connection_id()";
    let ids = run(&mut watcher, threads);
    assert_eq!(ids, format!("{},{},{}", third.id, second.id, holder.id()));
    assert_eq!(
        run(&mut watcher, "select lock_mode, lock_data from information_schema.innodb_locks"),
        "S|2\nX|2\nX|2"
    );
    let waits =
        "select r.trx_mysql_thread_id, b.trx_mysql_thread_id from information_schema.innodb_lock_waits w
        join information_schema.innodb_trx r on r.trx_id = w.requesting_trx_id
        join information_schema.innodb_trx b on b.trx_id = w.blocking_trx_id";
    let (last, middle, first) = (third.id, second.id, holder.id());
    let mut pairs: Vec<String> = run(&mut watcher, waits).lines().map(str::to_owned).collect();
    pairs.sort();
    let mut wanted = [format!("{last}|{middle}"), format!("{last}|{first}"), format!("{middle}|{first}")];
    wanted.sort();
    assert_eq!(pairs, wanted);
    run(&mut holder, "rollback");
    second.end();
    third.end();
}

/// Asks what a session does while it takes back a long transaction.
#[derive(Debug)]
struct AtTheEnd {
    watcher: std::sync::Mutex<Connection>,
    told: Sender<String>,
}

impl WaitHook for AtTheEnd {
    fn before(&self, _: WaitFor) {}

    fn after(&self, what: WaitFor) {
        if what == WaitFor::Work {
            let look = "select trx_state, trx_operation_state from information_schema.innodb_trx";
            let _ = self.told.send(run(&mut self.watcher.lock().expect("it answers"), look));
        }
    }
}

#[test]
fn monitors_tell_who_is_rolled_back() {
    let opened = house();
    let (mut writer, watcher) = (session(&opened), session(&opened));
    let rows: Vec<String> = (100..400).map(|n| format!("({n}, 1)")).collect();
    run(&mut writer, &format!("begin; insert into t values {}", rows.join(", ")));
    let (told, heard) = channel();
    writer.engine().set_wait_hook(Arc::new(AtTheEnd { watcher: watcher.into(), told }));
    run(&mut writer, "rollback");
    let told: Vec<String> = heard.try_iter().collect();
    assert!(told.contains(&"ROLLING BACK|NULL".to_owned()), "{told:?}");
}

/// A statement that fails as the first one of its transaction is taken back; the transaction goes on.
#[test]
fn monitors_tell_that_a_transaction_goes_on() {
    let opened = house();
    let (mut writer, mut watcher) = (session(&opened), session(&opened));
    run(&mut writer, "insert into t values (9, 9)");
    run(&mut writer, "begin");
    let failed =
        writer.query(b"insert into t values (100, 1), (9, 1)", &mut vaquita_sql::sink::Collected::default());
    assert_eq!(failed.map_err(|e| e.code), Err(1062));
    let look = format!(
        "select trx_state from information_schema.innodb_trx where trx_mysql_thread_id = {}",
        writer.id()
    );
    assert_eq!(run(&mut watcher, &look), "RUNNING");
    run(&mut writer, "rollback");
}

/// What `innodb_table_locks` does, as MySQL 5.6.24 was seen to do it: without `autocommit` LOCK TABLES begins a transaction that
/// locks the tables in InnoDB. A transaction that was prepared before the server ended has locks there and no others.
#[test]
fn lock_tables_locks_in_innodb_where_it_is_to() {
    let opened = house();
    let mut c = session(&opened);
    let prepare = "xa start 'x'; update t set b = 9 where a = 1; xa end 'x'; xa prepare 'x'";
    assert_eq!(run(&mut c, &format!("create table u (a int primary key); {prepare}")), "");
    drop(c);
    let opened = opened.crash_and_open_with(&[]).expect("opens");
    let (mut c, mut watcher) = (session(&opened), session(&opened));
    assert_eq!(run(&mut c, "set innodb_lock_wait_timeout = 1"), "");
    let look = format!(
        "select coalesce(sum(trx_lock_structs), 0) from information_schema.innodb_trx where trx_mysql_thread_id = {}",
        c.id()
    );
    for (set, statement, answer, locked) in [
        ("autocommit = 0", "lock tables t read", TIMEOUT, 0),
        ("autocommit = 0", "lock tables t write", TIMEOUT, 0),
        // None of them is locked then.
        ("autocommit = 0", "lock tables u write, t read", TIMEOUT, 0),
        ("autocommit = 0", "select count(*) from u", "0", 0),
        ("autocommit = 0", "lock tables u read", "", 1),
        ("autocommit = 0", "lock tables u as x write, u as y read", "", 1),
        ("autocommit = 0", "commit", "", 0),
        ("autocommit = 0", "lock tables u write", "", 1),
        ("autocommit = 0", "start transaction", "", 0),
        ("autocommit = 0", "flush tables u with read lock", "", 0),
        ("autocommit = 0", "lock tables u write", "", 1),
        ("autocommit = 0", "unlock tables", "", 0),
        ("autocommit = 0, innodb_table_locks = 0", "lock tables t read", "", 0),
        ("autocommit = 0, innodb_table_locks = 0", "lock tables t write", "", 0),
        ("autocommit = 1, innodb_table_locks = 1", "lock tables t read", "", 0),
        ("autocommit = 1, innodb_table_locks = 1", "lock tables t write", "", 0),
        ("autocommit = 1, innodb_table_locks = 1", "unlock tables", "", 0),
    ] {
        assert_eq!(run(&mut c, &format!("set {set}")), "", "{set}");
        assert_eq!(run(&mut c, statement), answer, "{statement} with {set}");
        // The list is made anew every tenth of a second only.
        let begun = Instant::now();
        while run(&mut watcher, &look) != locked.to_string() {
            assert!(
                begun.elapsed() < Duration::from_secs(60),
                "{locked} is not seen after {statement} with {set}"
            );
        }
    }
    // Sessions to come have the value of all.
    assert_eq!(run(&mut c, "set global innodb_table_locks = 0"), "");
    let mut other = session(&opened);
    assert_eq!(run(&mut other, "set autocommit = 0; lock tables t write; unlock tables"), "");
    assert_eq!(run(&mut c, "xa rollback 'x'"), "");
}

/// RENAME of several tables swaps them: nobody finds a name between two tables, and a pair that cannot be takes the others
/// back.
/// Each makes its clause of the table as it found it, and makes it again if another one was faster.
#[test]
fn partitions_are_added_and_dropped_by_several_at_once() {
    let opened = house();
    let mut root = session(&opened);
    for round in 0..20 {
        let made = "create table parts (a int) partition by list (a) (partition p0 values in (0), partition p9 values in (9))";
        assert_eq!(run(&mut root, made), "");
        let alters = [
            "alter table parts add partition (partition p1 values in (1))",
            "alter table parts drop partition p9",
            "alter table parts add partition (partition p2 values in (2))",
        ];
        let barrier = std::sync::Barrier::new(alters.len());
        std::thread::scope(|scope| {
            for alter in alters {
                let (mut other, barrier) = (session(&opened), &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    let answer = run(&mut other, alter);
                    assert_eq!(answer, "", "{alter}");
                });
            }
        });
        assert_eq!(run(&mut root, "insert into parts values (0), (1), (2)"), "", "round {round}");
        let names = "select group_concat(partition_name order by partition_name) from information_schema.partitions where table_schema = database() and table_name = 'parts'";
        assert_eq!(run(&mut root, names), "p0,p1,p2", "round {round}");
        assert_eq!(run(&mut root, "drop table parts"), "");
    }
}

#[test]
fn a_swap_of_names_is_seen_whole() {
    let opened = house();
    let mut c = session(&opened);
    assert_eq!(run(&mut c, "create table n like t; insert into n values (7, 7), (8, 8)"), "");
    let reader = {
        let mut c = session(&opened);
        std::thread::spawn(move || {
            (0..200).map(|_| run(&mut c, "select a from t order by a limit 1")).collect::<Vec<_>>()
        })
    };
    while !reader.is_finished() {
        assert_eq!(run(&mut c, "rename table t to o, n to t, o to n"), "");
    }
    for answer in reader.join().expect("no panic") {
        assert!(!answer.contains("1146"), "{answer}");
    }
    let failed = run(&mut c, "rename table t to o, n to t, absent to p");
    assert!(failed.contains("1146") && failed.contains("absent"), "{failed}");
    let failed = run(&mut c, "rename table t to o, o to n");
    assert!(failed.contains("1050"), "{failed}");
    assert!(run(&mut c, "select * from o").contains("1146"));
    assert_eq!(run(&mut c, "rename table t to o, o to p, p to t; rename table n to q, q to n"), "");
    assert!(run(&mut c, "check table t, n").matches("OK").count() == 2);
}
