//! The general log, the slow query log, and what variables tell of a folder and its server.

use crate::support;

use std::path::PathBuf;
use support::{open, open_with, root, run};

/// A file of the test's own.
struct LogPath(PathBuf);

impl LogPath {
    fn new(name: &str) -> LogPath {
        let path = std::env::temp_dir().join(format!("vaquita-{name}-{}.log", std::process::id()));
        let _ = std::fs::remove_file(&path);
        LogPath(path)
    }

    fn name(&self) -> &str {
        self.0.to_str().expect("a name")
    }

    fn text(&self) -> String {
        std::fs::read_to_string(&self.0).unwrap_or_default()
    }

    /// Commands and arguments of a general log, without times and numbers.
    fn commands(&self) -> Vec<String> {
        let text = self.text();
        let lines = text.lines().filter(|line| line.contains('\t')).map(|line| {
            let (command, argument) = line.rsplit_once('\t').expect("two parts");
            format!("{}: {argument}", command.split_ascii_whitespace().last().expect("a command"))
        });
        lines.collect()
    }
}

impl Drop for LogPath {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn the_general_log_has_every_statement_and_no_password() {
    let log = LogPath::new("general");
    let opened = open_with(&[("general_log", "ON"), ("general_log_file", log.name())]);
    let mut c = root(&opened.db);
    let mut other = root(&opened.db);
    run(&mut c, "select 'a', 1");
    run(&mut c, "create user 'u'@'h' identified by 'hush'");
    run(&mut c, "select nonsense");
    let id = c.prepare(b"select ? + 1").expect("prepares").id;
    c.execute(id, &[vaquita_sql::Value::Int(1)], &mut vaquita_sql::sink::Collected::default()).expect("runs");
    let id = c.prepare(b"select 'a?', /* ? */ ?, ?").expect("prepares").id;
    let params = [vaquita_sql::Value::bytes(b"it's"), vaquita_sql::Value::Null];
    c.execute(id, &params, &mut vaquita_sql::sink::Collected::default()).expect("runs");
    run(&mut other, "set sql_log_off = 1");
    run(&mut other, "select 'not told'");
    drop(other);
    run(&mut c, "set global general_log = off");
    run(&mut c, "select 'not told either'");
    run(&mut c, "flush logs");
    assert!(log.text().starts_with("vaquita, Version: "), "{}", log.text());
    assert_eq!(
        log.commands(),
        [
            "Connect: root@localhost on ",
            "Connect: root@localhost on ",
            "Query: select 'a', 1",
            "Query: create user 'u'@'h' identified by <secret>",
            "Query: select nonsense",
            "Prepare: select ? + 1",
            "Execute: select 1 + 1",
            "Prepare: select 'a?', /* ? */ ?, ?",
            r"Execute: select 'a?', /* ? */ 'it\'s', NULL",
            "Query: set sql_log_off = 1",
            "Query: set global general_log = off",
        ]
    );
}

#[test]
fn the_slow_query_log_has_what_is_slow() {
    let log = LogPath::new("slow");
    let opened = open_with(&[("slow_query_log", "ON"), ("slow_query_log_file", log.name())]);
    let mut c = root(&opened.db);
    run(&mut c, "create database shop; use shop; create table t (a int primary key, b int)");
    run(&mut c, "insert into t values (1, 1), (2, 2), (3, 3)");
    run(&mut c, "flush logs");
    assert!(!log.text().contains("shop"), "ten seconds were not needed: {}", log.text());
    run(&mut c, "set long_query_time = 0");
    run(&mut c, "select a from t where b > 1");
    run(&mut c, "alter table t add c int");
    run(&mut c, "set min_examined_row_limit = 4");
    run(&mut c, "select b from t");
    run(&mut c, "set global log_slow_admin_statements = on, session min_examined_row_limit = 0");
    run(&mut c, "alter table t add d int");
    run(&mut c, "flush logs");
    let text = log.text();
    let (_, entry) = text.split_once("# User@Host: root[root] @ localhost []  Id:").expect("an entry");
    assert!(entry.contains("Query_time: 0."), "{text}");
    let told = "Lock_time: 0.000000 Rows_sent: 2  Rows_examined: 3\n";
    let (_, rest) = text.split_once(told).unwrap_or_else(|| panic!("{told} in:\n{text}"));
    let line = rest.lines().find(|line| line.contains("select")).expect("the statement");
    assert_eq!(line, "select a from t where b > 1;");
    assert!(text.contains("use shop;\nSET timestamp="), "{text}");
    assert!(!text.contains("select b from t") && !text.contains("add c int"), "{text}");
    assert!(text.contains("alter table t add d int;"), "{text}");
}

/// As MySQL 5.6.24: who waits for rows or for a definition is told so, and is not slow for it.
#[test]
fn waits_for_locks_are_told_apart() {
    let log = LogPath::new("lock-time");
    let opened = open_with(&[
        ("slow_query_log", "ON"),
        ("slow_query_log_file", log.name()),
        ("log_slow_admin_statements", "ON"),
    ]);
    let (mut holder, mut c) = (root(&opened.db), root(&opened.db));
    run(
        &mut holder,
        "create database d; use d; create table t (a int primary key, b int); insert into t values (1, 1)",
    );
    run(&mut holder, "begin; update t set b = 2");
    let waits = ["update d.t set b = 3 where a = 1", "alter table d.t add c int"];
    run(&mut c, "set innodb_lock_wait_timeout = 1, lock_wait_timeout = 1, long_query_time = 0.9");
    assert!(waits.map(|sql| run(&mut c, sql)).iter().all(|answer| answer.starts_with("1205 ")));
    run(&mut c, "flush logs");
    assert!(!log.text().contains("d.t"), "{}", log.text());
    run(&mut c, "set long_query_time = 0");
    for sql in waits {
        run(&mut c, sql);
    }
    run(&mut c, "flush logs");
    let text = log.text();
    for sql in waits {
        let (before, _) = text.split_once(&format!("{sql};")).expect("it is slow now");
        let (_, waited) = before.rsplit_once("Lock_time: ").expect("a time");
        let waited: f64 = waited.split(' ').next().expect("a number").parse().expect("a number");
        assert!((0.9..30.0).contains(&waited), "{sql}: {waited}");
    }
}

#[test]
fn logs_go_where_they_are_told_to() {
    let (first, second) = (LogPath::new("first"), LogPath::new("second"));
    let opened = open();
    let mut c = root(&opened.db);
    assert!(run(&mut c, "select @@general_log_file").ends_with(".log"));
    assert!(run(&mut c, "select @@slow_query_log_file").ends_with("-slow.log"));
    let no_folder = "set global general_log_file = '/no/such/folder/x'";
    assert_eq!(
        run(&mut c, no_folder),
        "1231 Variable 'general_log_file' can't be set to the value of '/no/such/folder/x'"
    );
    // Nor are lines written into what the folder lives on.
    for name in [
        "mysql/user.ibd",
        "mysql/x.log",
        "ibdata1",
        "ib_logfile0",
        "auto.cnf",
        "vaquita.lock",
        "",
        "x/../ibdata1",
        "/tmp/my.cnf",
    ] {
        for variable in ["general_log_file", "slow_query_log_file"] {
            let answer = run(&mut c, &format!("set global {variable} = '{name}'"));
            assert_eq!(answer, format!("1231 Variable '{variable}' can't be set to the value of '{name}'"));
        }
    }
    run(&mut c, &format!("set global general_log_file = '{}', global general_log = on", first.name()));
    run(&mut c, "select 'first'");
    run(&mut c, &format!("set global general_log_file = '{}'", second.name()));
    run(&mut c, "select 'second'");
    run(&mut c, "set global log_output = 'NONE'");
    run(&mut c, "select 'nowhere'");
    run(&mut c, "flush logs");
    assert!(first.text().contains("select 'first'") && !first.text().contains("second'\n"));
    assert!(second.text().contains("select 'second'") && !second.text().contains("nowhere"));
    // Moved away, as programs that rotate logs do.
    run(&mut c, "set global log_output = 'FILE'");
    std::fs::remove_file(&second.0).expect("it is there");
    run(&mut c, "flush logs");
    run(&mut c, "select 'anew'");
    run(&mut c, "flush logs");
    assert!(second.text().contains("select 'anew'"), "{}", second.text());
}

#[test]
fn a_folder_keeps_its_uuid() {
    let opened = open();
    let facts = "select @@server_uuid, @@system_time_zone <> '', @@tmpdir, @@basedir like '/%/'";
    let first = run(&mut root(&opened.db), facts);
    let tmp = std::env::temp_dir().display().to_string();
    assert_eq!(first.split('|').map(str::len).next(), Some(36), "{first}");
    assert!(first.ends_with(&format!("|1|{tmp}|1")), "{first}");
    let other = open();
    assert_ne!(run(&mut root(&other.db), "select @@server_uuid"), first[..36]);
    let opened = opened.reopen();
    assert_eq!(run(&mut root(&opened.db), facts), first);
}

#[test]
fn init_connect_runs_for_those_without_super() {
    let opened = open_with(&[("init_connect", "set @greeted = 7; set sql_safe_updates = 1")]);
    let mut c = root(&opened.db);
    run(&mut c, "create user 'web'@'%'");
    let greeted = "select @greeted, @@sql_safe_updates";
    c.run_init_connect().expect("nothing to do");
    assert_eq!(run(&mut c, greeted), "NULL|0");
    let mut web = support::connect_as(&opened.db, "web", "%").expect("connects");
    web.run_init_connect().expect("runs");
    assert_eq!(run(&mut web, greeted), "7|1");
    run(&mut c, "set global init_connect = 'select nonsense'");
    let mut web = support::connect_as(&opened.db, "web", "%").expect("connects");
    let error = web.run_init_connect().expect_err("fails");
    assert_eq!(error.code, 1184);
    assert!(error.message.ends_with("(init_connect command failed)"), "{}", error.message);
}

/// As MySQL 5.6.24, whose tables are files of CSV.
#[test]
fn logs_are_tables() {
    let opened = open_with(&[("log_output", "TABLE"), ("general_log", "ON"), ("server_id", "7")]);
    let mut c = root(&opened.db);
    let id = c.id();
    run(&mut c, "set names latin1; create user u identified by 'hush'; set sql_mode = ''");
    assert_eq!(
        run(&mut c, "select user_host, thread_id, server_id, command_type, argument from mysql.general_log"),
        format!(
            "root[root] @ localhost []|{id}|7|Connect|root@localhost on \n\
             root[root] @ localhost []|{id}|7|Query|set names latin1\n\
             root[root] @ localhost []|{id}|7|Query|create user u identified by <secret>\n\
             root[root] @ localhost []|{id}|7|Query|set sql_mode = ''\n\
             root[root] @ localhost []|{id}|7|Query|select user_host, thread_id, server_id, command_type, argument from mysql.general_log"
        )
    );
    let recent = "select count(*) from mysql.general_log where event_time > now() - interval 1 hour";
    assert_ne!(run(&mut c, recent), "0");
    // The logs alone write them, and nobody locks them.
    let locks = "1556 You can't use locks with log tables.";
    for sql in [
        "insert into mysql.general_log values (now(), 'a', 1, 1, 'Query', 'x')",
        "replace into mysql.slow_log (db) values ('x')",
        "delete from mysql.general_log",
        "update mysql.general_log set user_host = 'x'",
        "select * from mysql.general_log for update",
        "lock tables mysql.general_log read",
        "lock tables mysql.slow_log write",
    ] {
        assert_eq!(run(&mut c, sql), locks, "{sql}");
    }
    let enabled = |what: &str| format!("1580 You cannot '{what}' a log table if logging is enabled");
    assert_eq!(run(&mut c, "alter table mysql.general_log add x int"), enabled("ALTER"));
    assert_eq!(run(&mut c, "drop table mysql.slow_log"), enabled("DROP"));
    assert_eq!(run(&mut c, "truncate mysql.general_log"), "");
    assert_eq!(
        run(&mut c, "select argument from mysql.general_log"),
        "select argument from mysql.general_log"
    );
    // Nobody waits for rows that others hold.
    run(&mut c, "begin");
    run(&mut c, "select count(*) from mysql.general_log");
    let mut other = root(&opened.db);
    run(&mut other, "select 'meanwhile'");
    let told = "select count(*) from mysql.general_log where argument = 'select \\'meanwhile\\''";
    assert_eq!(run(&mut other, told), "1");
    run(&mut c, "commit");
    run(&mut c, "set global general_log = 0");
    run(&mut c, "create database d; use d; set long_query_time = 0, global slow_query_log = 1");
    run(&mut c, "select sleep(0), 'slow'");
    let slow = "select user_host, query_time, lock_time, rows_sent, rows_examined, db, last_insert_id, insert_id, server_id, \
                thread_id from mysql.slow_log where sql_text = 'select sleep(0), \\'slow\\''";
    assert_eq!(run(&mut c, slow), format!("root[root] @ localhost []|00:00:00|00:00:00|1|0|d|0|0|7|{id}"));
    run(&mut c, "set global log_output = 'NONE,TABLE'");
    run(&mut c, "select 'nowhere'");
    let nowhere = "select count(*) from mysql.slow_log where sql_text like '%nowhere%'";
    assert_eq!(run(&mut c, nowhere), "0");
    // What is told at the end is there afterwards.
    run(&mut c, "set global log_output = 'TABLE', global slow_query_log = 0, global general_log = 1");
    run(&mut c, "select 'last words'");
    drop((c, other));
    let opened = opened.reopen();
    let told = "select count(*) from mysql.general_log where argument like '%last words%'";
    assert_eq!(run(&mut root(&opened.db), told), "1");
}

#[test]
fn logs_go_to_files_where_there_are_no_tables() {
    let log = LogPath::new("no-tables");
    let opened = open();
    opened.db.close().expect("closes");
    let opened = opened
        .reopen_with(&[
            ("innodb_read_only", "ON"),
            ("log_output", "TABLE"),
            ("general_log", "ON"),
            ("general_log_file", log.name()),
        ])
        .unwrap_or_else(|e| panic!("opens: {e}"));
    let mut c = root(&opened.db);
    assert_eq!(run(&mut c, "select @@log_output"), "FILE");
    assert!(opened.db.start_notes().iter().any(|note| note.starts_with("Statements are logged to files")));
    let refused = run(&mut c, "set global log_output = 'TABLE'");
    assert_eq!(
        refused,
        "1231 Variable 'log_output' can't be set to the value of 'TABLE': this folder has no tables for logs that can be written"
    );
    run(&mut c, "flush logs");
    assert!(log.commands().contains(&"Query: select @@log_output".to_owned()), "{}", log.text());
}

/// A column that somebody has added to the table of a log is left to its default.
#[test]
fn logs_know_their_own_columns() {
    let opened = open_with(&[("log_output", "TABLE"), ("general_log", "OFF")]);
    let mut c = root(&opened.db);
    run(&mut c, "alter table mysql.general_log add column more int first; set global general_log = on");
    run(&mut c, "do 42");
    let asked = "select more, argument from mysql.general_log where argument = 'do 42'";
    assert_eq!(run(&mut c, asked), "NULL|do 42");
    run(&mut c, "set global general_log = off; alter table mysql.slow_log add column more int");
    run(&mut c, "set global slow_query_log = on; set long_query_time = 0; do 43");
    assert_eq!(
        run(&mut c, "select more, sql_text from mysql.slow_log where sql_text = 'do 43'"),
        "NULL|do 43"
    );
}
