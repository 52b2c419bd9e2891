//! Settings of InnoDB's storage do what MySQL 5.6 does with them.
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test")]

use crate::support;

use support::{Opened, root, run, try_open_new, until};
use vaquita_sql::Connection;

const SMALL: (&str, &str) = ("innodb_buffer_pool_size", "16M");

fn new(variables: &[(&str, &str)]) -> Opened {
    let mut all = vec![SMALL, ("innodb_log_file_size", "1M")];
    all.extend_from_slice(variables);
    try_open_new(&all).unwrap()
}

fn filled() -> Opened {
    let opened = new(&[]);
    let mut c = root(&opened.db);
    for sql in [
        "create database a",
        "create table a.t (id int primary key, v int)",
        "create table a.dropped like a.t",
        "insert into a.t values (1, 1), (2, 2)",
    ] {
        assert_eq!(run(&mut c, sql), "", "{sql}");
    }
    drop(c);
    opened
}

const FORCED: &str = "1881 Operation not allowed when innodb_forced_recovery > 0.";

#[test]
fn forced_recovery_lets_rows_be_read_and_tables_be_dropped_only() {
    let mut opened = filled();
    for level in ["1", "2", "3"] {
        opened = opened.reopen_with(&[SMALL, ("innodb_force_recovery", level)]).unwrap();
        let mut c = root(&opened.db);
        for sql in [
            "insert into a.t values (3, 3)",
            "update a.t set v = 9",
            "delete from a.t",
            "replace into a.t values (1, 5)",
            "alter table a.t add c int",
            "alter table a.t add index (v)",
            "create index i on a.t (v)",
            "alter table a.t engine=innodb",
            "rename table a.t to a.u",
        ] {
            assert_eq!(run(&mut c, sql), FORCED, "level {level}: {sql}");
        }
        // A change of no row is none.
        assert_eq!(run(&mut c, "update a.t set v = 9 where id = 99"), "");
        assert_eq!(run(&mut c, "select * from a.t"), "1|1\n2|2");
        let table = format!("a.made{level}");
        assert_eq!(run(&mut c, &format!("create table {table} (id int)")), "");
        assert_eq!(run(&mut c, &format!("truncate table {table}")), "");
        assert_eq!(run(&mut c, &format!("drop table {table}")), "");
        // Accounts can be mended.
        assert_eq!(run(&mut c, &format!("create user u{level}@h")), "");
    }
    let opened = opened.reopen_with(&[SMALL]).unwrap();
    assert_eq!(run(&mut root(&opened.db), "insert into a.t values (3, 3)"), "");
}

#[test]
fn from_level_four_on_the_folder_is_read_only() {
    let mut opened = filled();
    let read_only = "1015 Can't lock file (errno: 165 - Table is read only)";
    for level in ["4", "5", "6"] {
        opened = opened.reopen_with(&[SMALL, ("innodb_force_recovery", level)]).unwrap();
        let mut c = root(&opened.db);
        assert_eq!(run(&mut c, "select @@innodb_read_only, @@read_only"), "1|0");
        assert_eq!(run(&mut c, "select * from a.t"), "1|1\n2|2", "level {level}");
        for sql in [
            "insert into a.t values (3, 3)",
            "update a.t set v = 9 where id = 99",
            "delete from a.t",
            "alter table a.t add c int",
            "create index i on a.t (v)",
        ] {
            assert_eq!(run(&mut c, sql), read_only, "level {level}: {sql}");
        }
        let refused = "1874 InnoDB is in read only mode.";
        assert_eq!(run(&mut c, "create table a.u (id int)"), refused);
        assert_eq!(run(&mut c, "drop table a.dropped"), refused);
        assert_eq!(run(&mut c, "truncate table a.t"), "1036 Table 't' is read only");
    }
}

/// Of a folder that crashed in a transaction: it is rolled back at levels 1 and 2, left as it is at 3, not applied at 4, and
/// counts as committed where the undo logs are not looked at.
#[test]
fn levels_of_forced_recovery_leave_out_what_they_say() {
    let opened = filled();
    let mut c = root(&opened.db);
    run(&mut c, "begin");
    assert_eq!(run(&mut c, "update a.t set v = 7 where id = 1"), "");
    let storage = &opened.db.engine().core().storage;
    storage.flush_everything().unwrap();
    // A crash: a transaction that a session still has is not rolled back.
    std::mem::forget(c);
    let copy = |level: &str| {
        let to = new(&[]);
        to.db.close().unwrap();
        copy_folder(opened.path(), to.path());
        to.crash_and_open_with(&[SMALL, ("innodb_force_recovery", level)])
    };
    let rows = |opened: &Opened| run(&mut root(&opened.db), "select * from a.t");
    for level in ["1", "3", "4"] {
        assert_eq!(rows(&copy(level).unwrap()), "1|1\n2|2", "level {level}");
    }
    assert_eq!(rows(&copy("5").unwrap()), "1|7\n2|2", "an unfinished transaction counts as committed");
    let locked = copy("3").unwrap();
    let mut c = root(&locked.db);
    run(&mut c, "set innodb_lock_wait_timeout = 1");
    let waits = run(&mut c, "select * from a.t where id = 1 lock in share mode");
    assert!(waits.starts_with("1205 "), "its rows stay locked: {waits}");
}

fn copy_folder(from: &std::path::Path, to: &std::path::Path) {
    std::fs::remove_dir_all(to).unwrap();
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            std::fs::create_dir_all(&target).unwrap();
            for file in std::fs::read_dir(entry.path()).unwrap() {
                let file = file.unwrap();
                std::fs::copy(file.path(), target.join(file.file_name())).unwrap();
            }
        } else if entry.file_type().unwrap().is_file() {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn a_log_gets_the_size_that_is_asked_for() {
    let opened = filled();
    let lengths = |opened: &Opened| {
        let mut all: Vec<_> = std::fs::read_dir(opened.path())
            .unwrap()
            .map(|e| e.unwrap())
            .filter(|e| e.file_name().to_string_lossy().starts_with("ib_logfile"))
            .map(|e| (e.file_name().to_string_lossy().into_owned(), e.metadata().unwrap().len()))
            .collect();
        all.sort();
        all
    };
    let opened = opened
        .reopen_with(&[SMALL, ("innodb_log_file_size", "2M"), ("innodb-log-files-in-group", "3")])
        .unwrap();
    let file = |n: u32| (format!("ib_logfile{n}"), 2 << 20);
    assert_eq!(lengths(&opened), [file(0), file(1), file(2)]);
    let mut c = root(&opened.db);
    assert_eq!(run(&mut c, "select @@innodb_log_file_size, @@innodb_log_files_in_group"), "2097152|3");
    assert_eq!(run(&mut c, "insert into a.t values (3, 3)"), "");
    drop(c);
    // Not asked for, it stays, and the variables tell how it is.
    let opened = opened.reopen_with(&[SMALL]).unwrap();
    assert_eq!(lengths(&opened), [file(0), file(1), file(2)]);
    let mut c = root(&opened.db);
    assert_eq!(run(&mut c, "select @@innodb_log_file_size, @@innodb_log_files_in_group"), "2097152|3");
    assert_eq!(run(&mut c, "select count(*) from a.t"), "3");
}

#[test]
fn pages_have_the_size_that_is_asked_for_or_none() {
    for (given, bytes) in [("4k", "4096"), ("8192", "8192"), ("16K", "16384")] {
        let opened = new(&[("innodb_page_size", given)]);
        let mut c = root(&opened.db);
        assert_eq!(run(&mut c, "select @@innodb_page_size"), bytes);
        assert_eq!(run(&mut c, "create database a"), "");
        assert_eq!(run(&mut c, "create table a.t (id int primary key, v varchar(100), key (v))"), "");
        assert_eq!(run(&mut c, "insert into a.t values (1, 'x')"), "");
        assert_eq!(run(&mut c, "grant select (v) on a.t to u@h identified by 'p'"), "");
        assert_eq!(run(&mut c, "select * from a.t where v = 'x'"), "1|x");
        drop(c);
        let opened = opened.reopen_with(&[SMALL, ("innodb_page_size", given)]).unwrap();
        let grants = run(&mut root(&opened.db), "show grants for u@h");
        assert!(grants.contains("SELECT (v) ON `a`.`t`"), "{grants}");
    }
    for given in ["32k", "65536", "5000"] {
        let error = try_open_new(&[SMALL, ("innodb_page_size", given)]).err().expect("refused");
        assert!(error.message.contains("innodb_page_size"), "{given}: {}", error.message);
    }
}

#[test]
fn files_lie_where_they_are_to_lie_and_grow_as_they_may() {
    let elsewhere = new(&[]);
    let dir = elsewhere.path().join("elsewhere");
    std::fs::create_dir(&dir).unwrap();
    let dir = dir.to_str().unwrap();
    let variables = [
        SMALL,
        ("innodb_log_file_size", "1M"),
        ("innodb_log_group_home_dir", dir),
        ("innodb_data_home_dir", dir),
        ("innodb_data_file_path", "one:10M;two:10M:autoextend:max:11M"),
        ("innodb_file_per_table", "0"),
    ];
    let opened = try_open_new(&variables).unwrap();
    for name in ["ib_logfile0", "ib_logfile1", "one", "two"] {
        assert!(std::path::Path::new(dir).join(name).exists(), "{name}");
        assert!(!opened.path().join(name).exists(), "{name}");
    }
    let mut c = root(&opened.db);
    assert_eq!(run(&mut c, "create database a"), "");
    assert_eq!(run(&mut c, "create table a.t (id int auto_increment primary key, v longblob)"), "");
    let full = (0..40).map(|_| run(&mut c, "insert into a.t (v) values (repeat('x', 1000000))"));
    let full: Vec<String> = full.filter(|answer| !answer.is_empty()).collect();
    assert!(full.first().is_some_and(|answer| answer.starts_with("1114 ")), "{full:?}");
    let length = std::fs::metadata(std::path::Path::new(dir).join("two")).unwrap().len();
    assert_eq!(length, 11 << 20);
    drop(c);
    let opened = opened.reopen_with(&variables).unwrap();
    assert_ne!(run(&mut root(&opened.db), "select count(*) from a.t"), "0");
    let _ = opened.db.close();
}

#[test]
fn tables_without_a_file_of_their_own_lie_in_the_system_tablespace() {
    let opened = new(&[("innodb_file_per_table", "OFF")]);
    let mut c = root(&opened.db);
    assert_eq!(run(&mut c, "create database a"), "");
    assert_eq!(run(&mut c, "create table a.t (id int primary key, v varchar(2000), key (v(20)))"), "");
    assert!(!opened.path().join("a/t.ibd").exists());
    let space = "select space from information_schema.innodb_sys_tables where name = 'a/t'";
    assert_eq!(run(&mut c, space), "0");
    // What is dropped is used again: the file grows once.
    let length = || std::fs::metadata(opened.path().join("ibdata1")).unwrap().len();
    let fill = |c: &mut _| {
        for n in 0..8 {
            let rows: Vec<String> =
                (0..250).map(|i| format!("({}, repeat('x', 2000))", n * 250 + i)).collect();
            assert_eq!(run(c, &format!("insert into a.t values {}", rows.join(","))), "");
        }
    };
    fill(&mut c);
    let first = length();
    for _ in 0..4 {
        assert_eq!(run(&mut c, "truncate table a.t"), "");
        fill(&mut c);
    }
    assert!(length() <= first + (64 << 20), "extents of truncated tables are not used again");
    assert_eq!(run(&mut c, "set global innodb_file_per_table = 1"), "");
    assert_eq!(run(&mut c, "create table a.u (id int)"), "");
    assert!(opened.path().join("a/u.ibd").exists());
    assert_eq!(run(&mut c, "set global innodb_file_per_table = 0"), "");
    assert_eq!(
        run(&mut c, "create table a.w (id int) row_format=dynamic"),
        "1031 Table storage engine for 'w' doesn't have this option"
    );
    assert_eq!(run(&mut c, "drop table a.t"), "");
    assert_eq!(run(&mut c, "check table a.u"), "a.u|check|status|OK");
}

#[test]
fn what_is_dynamic_counts_at_once() {
    let opened = new(&[]);
    let mut c = root(&opened.db);
    for (name, value) in [
        ("innodb_adaptive_flushing", "0"),
        ("innodb_adaptive_flushing_lwm", "20"),
        ("innodb_autoextend_increment", "1"),
        ("innodb_checksum_algorithm", "innodb"),
        ("innodb_fast_shutdown", "0"),
        ("innodb_flush_log_at_timeout", "3"),
        ("innodb_flush_neighbors", "0"),
        ("innodb_flushing_avg_loops", "5"),
        ("innodb_io_capacity", "300"),
        ("innodb_io_capacity_max", "4000"),
        ("innodb_lru_scan_depth", "200"),
        ("innodb_max_dirty_pages_pct", "50"),
        ("innodb_max_dirty_pages_pct_lwm", "10"),
        ("innodb_max_purge_lag", "10"),
        ("innodb_max_purge_lag_delay", "20"),
        ("innodb_online_alter_log_max_size", "70000"),
        ("innodb_old_blocks_pct", "50"),
        ("innodb_old_blocks_time", "0"),
        ("innodb_print_all_deadlocks", "1"),
        ("innodb_purge_batch_size", "7"),
        ("innodb_random_read_ahead", "1"),
        ("innodb_read_ahead_threshold", "10"),
        ("innodb_rollback_segments", "3"),
        ("innodb_undo_logs", "2"),
    ] {
        assert_eq!(run(&mut c, &format!("set global {name} = {value}")), "", "{name}");
        assert_eq!(run(&mut c, "show warnings"), "", "{name}");
    }
    let core = opened.db.engine().core();
    let live = format!("{:?} {:?}", core.live, core.storage.settings());
    for part in [
        "purge_batch_size: 7",
        "max_purge_lag: 10",
        "max_purge_lag_delay: 20",
        "fast_shutdown: 0",
        "print_all_deadlocks: true",
        "online_alter_log_max_size: 70000",
        "io_capacity: 300",
        "io_capacity_max: 4000",
        "max_dirty_pages_pct: 50",
        "max_dirty_pages_pct_lwm: 10",
        "adaptive_flushing: false",
        "adaptive_flushing_lwm: 20",
        "flushing_avg_loops: 5",
        "lru_scan_depth: 200",
        "autoextend_increment_bytes: 1048576",
        "checksum_algorithm: Innodb",
        "flush_log_at_timeout: 3",
        "flush_neighbors: None",
        "old_blocks_pct: 50",
        "old_blocks_time_ms: 0",
        "random_read_ahead: true",
        "read_ahead_threshold: 10",
    ] {
        assert!(live.contains(part), "{part} in {live}");
    }
}

/// Waits until a status variable has what `is_it` looks for, and gives it.
fn wait_for_status(c: &mut Connection, name: &str, is_it: impl Fn(&str) -> bool) -> String {
    let mut value = String::new();
    until(&format!("{name} changes"), || {
        let answer = run(c, &format!("show status like '{name}'"));
        answer.split_once('|').expect("a value").1.clone_into(&mut value);
        is_it(&value)
    });
    value
}

const DUMP: &str = "Innodb_buffer_pool_dump_status";
const LOAD: &str = "Innodb_buffer_pool_load_status";

/// A table of about 60 pages that was read, in the file of a table that is opened at its first use.
fn with_a_hot_table(variables: &[(&str, &str)]) -> Opened {
    let opened = new(variables);
    let mut c = root(&opened.db);
    assert_eq!(run(&mut c, "create database a"), "");
    assert_eq!(run(&mut c, "create table a.hot (id int primary key, v varchar(2000))"), "");
    let rows: Vec<String> = (0..500).map(|i| format!("({i}, repeat('x', 2000))")).collect();
    assert_eq!(run(&mut c, &format!("insert into a.hot values {}", rows.join(","))), "");
    opened
}

/// Pages of tablespaces that were read to count the rows of the table.
fn reads_of_a_scan(c: &mut Connection) -> u64 {
    let reads = |c: &mut Connection| -> u64 {
        let answer = run(c, "show status like 'Innodb_buffer_pool_reads'");
        answer.split_once('|').expect("a value").1.parse().expect("a number")
    };
    // The dictionary's pages first.
    assert_eq!(run(c, "select id from a.hot where id = 1"), "1");
    let before = reads(c);
    assert_eq!(run(c, "select sum(length(v)) from a.hot"), "1000000");
    reads(c) - before
}

#[test]
fn the_pool_is_dumped_and_loaded_when_asked() {
    let opened = with_a_hot_table(&[]);
    let mut c = root(&opened.db);
    assert_eq!(
        run(&mut c, "show status like 'Innodb_buffer_pool_%_status'"),
        format!("{DUMP}|not started\n{LOAD}|not started")
    );
    assert_eq!(run(&mut c, "set global innodb_buffer_pool_dump_now = 1"), "");
    let done = |what: &'static str| {
        move |value: &str| value.starts_with(&format!("Buffer pool(s) {what} completed at "))
    };
    wait_for_status(&mut c, DUMP, done("dump"));
    assert_eq!(run(&mut c, "select @@innodb_buffer_pool_dump_now"), "0");
    let list = std::fs::read_to_string(opened.path().join("ib_buffer_pool")).unwrap();
    let space = run(&mut c, "select space from information_schema.innodb_sys_tables where name = 'a/hot'");
    assert!(list.lines().filter(|line| line.starts_with(&format!("{space},"))).count() > 60, "{list}");
    // A share of it.
    assert_eq!(
        run(
            &mut c,
            "set global innodb_buffer_pool_dump_pct = 10, global innodb_buffer_pool_filename = 'some'"
        ),
        ""
    );
    assert_eq!(run(&mut c, "set global innodb_buffer_pool_dump_now = 1"), "");
    let some = opened.path().join("some");
    until("the list is written", || some.exists());
    let lines = |text: &str| text.lines().count();
    assert!(lines(&std::fs::read_to_string(&some).unwrap()) * 9 < lines(&list));
    drop(c);

    let opened = opened.reopen_with(&[SMALL]).unwrap();
    let mut c = root(&opened.db);
    assert!(reads_of_a_scan(&mut c) > 60, "a cold pool");
    drop(c);
    let opened = opened.reopen_with(&[SMALL]).unwrap();
    let mut c = root(&opened.db);
    assert_eq!(run(&mut c, "set global innodb_buffer_pool_load_now = 1"), "");
    wait_for_status(&mut c, LOAD, done("load"));
    assert_eq!(run(&mut c, "select @@innodb_buffer_pool_load_now"), "0");
    assert_eq!(reads_of_a_scan(&mut c), 0, "a warm pool");
}

#[test]
fn the_pool_is_dumped_at_the_end_and_loaded_at_start() {
    let opened = with_a_hot_table(&[("innodb_buffer_pool_dump_at_shutdown", "1")]);
    let opened = opened.reopen_with(&[SMALL, ("innodb_buffer_pool_load_at_startup", "1")]).unwrap();
    let mut c = root(&opened.db);
    wait_for_status(&mut c, LOAD, |value| value.contains("load completed at "));
    assert_eq!(reads_of_a_scan(&mut c), 0, "a warm pool");
    // Neither was asked for the next time.
    drop(c);
    std::fs::remove_file(opened.path().join("ib_buffer_pool")).unwrap();
    let opened = opened.reopen_with(&[SMALL]).unwrap();
    assert!(!opened.path().join("ib_buffer_pool").exists());
    let mut c = root(&opened.db);
    assert!(reads_of_a_scan(&mut c) > 60, "a cold pool");
    assert_eq!(run(&mut c, "set global innodb_buffer_pool_dump_at_shutdown = 1"), "");
    drop(c);
    let opened = opened.reopen_with(&[SMALL]).unwrap();
    assert!(opened.path().join("ib_buffer_pool").exists());
}

#[test]
fn a_list_of_pages_that_is_none_is_said_and_nothing_else() {
    let opened = with_a_hot_table(&[]);
    let list = opened.path().join("ib_buffer_pool");
    std::fs::write(&list, "0,1\nnonsense\n").unwrap();
    let opened = opened.reopen_with(&[SMALL, ("innodb_buffer_pool_load_at_startup", "1")]).unwrap();
    let mut c = root(&opened.db);
    let said = wait_for_status(&mut c, LOAD, |value| value.contains("not loaded"));
    assert!(said.contains("ib_buffer_pool: line 2 is not a space and a page"), "{said}");
    assert!(reads_of_a_scan(&mut c) > 60);
    // Pages and spaces that are not there.
    std::fs::write(&list, "0,1\n4000000000,1\n0,4000000000\n").unwrap();
    assert_eq!(run(&mut c, "set global innodb_buffer_pool_load_now = 1"), "");
    wait_for_status(&mut c, LOAD, |value| value.contains("load completed at "));
    std::fs::write(&list, "").unwrap();
    assert_eq!(run(&mut c, "set global innodb_buffer_pool_load_now = 1"), "");
    wait_for_status(&mut c, LOAD, |value| value.ends_with("(the file was empty)"));
    std::fs::remove_file(&list).unwrap();
    assert_eq!(run(&mut c, "set global innodb_buffer_pool_load_now = 1"), "");
    wait_for_status(&mut c, LOAD, |value| value.contains("not loaded: "));
    // A list never takes the place of something else.
    for name in ["ibdata1", "a/hot.ibd", "a"] {
        assert_eq!(run(&mut c, &format!("set global innodb_buffer_pool_filename = '{name}'")), "");
        assert_eq!(run(&mut c, "set global innodb_buffer_pool_dump_now = 1"), "");
        let words = format!("/{name} is there and is no list of pages");
        wait_for_status(&mut c, DUMP, |value| value.contains(&words));
    }
    for value in ["''", "null"] {
        let answer = run(&mut c, &format!("set global innodb_buffer_pool_filename = {value}"));
        assert!(answer.starts_with("1231 Variable 'innodb_buffer_pool_filename'"), "{answer}");
    }
    // Nothing to abort is nothing to complain of.
    assert_eq!(run(&mut c, "set global innodb_buffer_pool_load_abort = 1"), "");
}

#[test]
fn one_setting_bounds_the_other() {
    let opened = new(&[("innodb_io_capacity", "3000")]);
    let mut c = root(&opened.db);
    let shown = "select @@innodb_io_capacity, @@innodb_io_capacity_max";
    assert_eq!(run(&mut c, shown), "3000|6000");
    let set = |c: &mut Connection, sql: &str| run(c, &format!("set global {sql}; show warnings"));
    let higher = "Warning|1210|innodb_io_capacity cannot be set higher than innodb_io_capacity_max.\n\
                  Warning|1210|Setting innodb_io_capacity to 6000";
    assert_eq!(set(&mut c, "innodb_io_capacity = 7000"), higher);
    let lower = "Warning|1210|innodb_io_capacity_max cannot be set lower than innodb_io_capacity.\n\
                 Warning|1210|Setting innodb_io_capacity_max to 6000";
    assert_eq!(set(&mut c, "innodb_io_capacity_max = 1000"), lower);
    assert_eq!(run(&mut c, shown), "6000|6000");
    let live = format!("{:?}", opened.db.engine().core().storage.settings());
    assert!(live.contains("io_capacity: 6000") && live.contains("io_capacity_max: 6000"), "{live}");
    let higher = "Warning|1210|innodb_max_dirty_pages_pct_lwm cannot be set higher than innodb_max_dirty_pages_pct.\n\
                  Warning|1210|Setting innodb_max_dirty_page_pct_lwm to 75";
    assert_eq!(set(&mut c, "innodb_max_dirty_pages_pct_lwm = 80"), higher);
    let lower = "Warning|1210|innodb_max_dirty_pages_pct cannot be set lower than innodb_max_dirty_pages_pct_lwm.\n\
                 Warning|1210|Lowering innodb_max_dirty_page_pct_lwm to 10";
    assert_eq!(set(&mut c, "innodb_max_dirty_pages_pct = 10"), lower);
    assert_eq!(run(&mut c, "select @@innodb_max_dirty_pages_pct, @@innodb_max_dirty_pages_pct_lwm"), "10|10");
    drop(c);
    let given = [SMALL, ("innodb_io_capacity", "3000"), ("innodb_io_capacity_max", "2000")];
    let opened = opened.reopen_with(&given).unwrap();
    assert_eq!(run(&mut root(&opened.db), shown), "2000|2000");
    assert_eq!(
        opened.db.globals().notes(),
        ["innodb_io_capacity cannot be set higher than innodb_io_capacity_max."]
    );
}

/// Files below the folder that this process has open.
fn open_files(dir: &std::path::Path, ending: &str) -> usize {
    let dir = dir.canonicalize().unwrap();
    let files = std::fs::read_dir("/proc/self/fd")
        .unwrap()
        .filter_map(|e| std::fs::read_link(e.unwrap().path()).ok());
    files.filter(|file| file.starts_with(&dir) && file.to_string_lossy().ends_with(ending)).count()
}

/// At most ten of them are tables', as soon as nothing is being written to more: pages of many files are written at once.
fn few_files_are_open(dir: &std::path::Path) {
    let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
    loop {
        let open = open_files(dir, ".ibd");
        if open <= 10 {
            return;
        }
        assert!(std::time::Instant::now() < until, "{open} files are open");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

#[test]
fn no_more_table_files_are_open_than_allowed() {
    let opened = new(&[("innodb_open_files", "10")]);
    let mut c = root(&opened.db);
    assert_eq!(run(&mut c, "create database a"), "");
    for n in 0..40 {
        assert_eq!(run(&mut c, &format!("create table a.t{n} (id int primary key, v int)")), "");
        assert_eq!(run(&mut c, &format!("insert into a.t{n} values (1, {n})")), "");
        few_files_are_open(opened.path());
    }
    for n in 0..40 {
        assert_eq!(run(&mut c, &format!("select v from a.t{n}")), n.to_string());
    }
    drop(c);
    let opened = opened.reopen_with(&[SMALL, ("innodb_open_files", "10")]).unwrap();
    let mut c = root(&opened.db);
    for n in 0..40 {
        assert_eq!(run(&mut c, &format!("select v from a.t{n}")), n.to_string());
        few_files_are_open(opened.path());
    }
}

#[test]
fn many_transfers_go_by_rings_or_by_threads() {
    let threads = || {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap();
        let name = |task: std::io::Result<std::fs::DirEntry>| {
            std::fs::read_to_string(task.unwrap().path().join("comm")).unwrap_or_default()
        };
        tasks.map(name).filter(|name| name.starts_with("io-")).count()
    };
    let opened = with_a_hot_table(&[]);
    let by_rings = run(&mut root(&opened.db), "select @@innodb_use_native_aio");
    let given = [
        SMALL,
        ("innodb_use_native_aio", "OFF"),
        ("innodb_read_io_threads", "2"),
        ("innodb_write_io_threads", "3"),
    ];
    let opened = opened.reopen_with(&given).unwrap();
    let mut c = root(&opened.db);
    assert_eq!(run(&mut c, "select @@innodb_use_native_aio"), "0");
    assert_eq!(run(&mut c, "update a.hot set v = concat(v, 'y') where length(v) < 2000"), "");
    assert_eq!(run(&mut c, "insert into a.hot select id + 1000, v from a.hot"), "");
    opened.db.engine().core().storage.flush_everything().unwrap();
    // Without rings the other tests have such threads too.
    if by_rings == "1" {
        assert_eq!(threads(), 5);
    }
    assert_eq!(run(&mut c, "select count(*), sum(length(v)) from a.hot"), "1000|2000000");
}

#[test]
fn index_builds_sort_in_as_much_memory_as_they_may() {
    let files = |opened: &Opened| {
        let metrics = opened.db.engine().core().metrics();
        metrics.iter().find(|(name, _)| *name == "ddl_sort_file_alter_table").map(|(_, value)| *value)
    };
    let opened = with_a_hot_table(&[]);
    let mut c = root(&opened.db);
    assert_eq!(run(&mut c, "alter table a.hot add index (v(700))"), "");
    assert_eq!(files(&opened), Some(0));
    drop(c);
    let opened = opened.reopen_with(&[SMALL, ("innodb_sort_buffer_size", "65536")]).unwrap();
    let mut c = root(&opened.db);
    assert_eq!(run(&mut c, "alter table a.hot add index second (v(500))"), "");
    assert!(files(&opened).unwrap() >= 3, "{:?}", files(&opened));
    assert_eq!(run(&mut c, "check table a.hot"), "a.hot|check|status|OK");
}

#[test]
fn counters_are_switched_and_reset() {
    let opened = new(&[
        ("innodb_monitor_enable", "module_trx, no_such_counter"),
        ("innodb_monitor_disable", "lock_timeouts"),
    ]);
    let mut c = root(&opened.db);
    let line = |c: &mut Connection, name: &str| {
        let columns = "count, max_count, min_count, count_reset, max_count_reset, isnull(time_enabled), isnull(time_disabled), \
                       isnull(time_elapsed), isnull(time_reset), status, type";
        run(c, &format!("select {columns} from information_schema.innodb_metrics where name = '{name}'"))
    };
    assert!(line(&mut c, "trx_rw_commits").ends_with("|0|1|0|1|enabled|counter"));
    assert!(line(&mut c, "lock_timeouts").ends_with("|0|0|0|1|disabled|counter"));
    assert_eq!(line(&mut c, "log_lsn_current"), "0|NULL|NULL|0|NULL|1|1|1|1|disabled|value");
    for sql in ["create database a", "create table a.t (id int primary key)"] {
        assert_eq!(run(&mut c, sql), "");
    }
    // Those of the accounts' tables and of the dictionary are not counted here.
    for sql in [
        "set global innodb_monitor_disable = 'dml_inserts'",
        "set global innodb_monitor_reset_all = 'dml_inserts'",
        "set global innodb_monitor_enable = 'dml_inserts'",
        "insert into a.t values (1), (2), (3)",
    ] {
        assert_eq!(run(&mut c, sql), "", "{sql}");
    }
    assert_eq!(line(&mut c, "dml_inserts"), "3|3|NULL|3|3|0|1|0|1|enabled|status_counter");
    assert_eq!(run(&mut c, "set global innodb_monitor_disable = 'MODULE_DML'"), "");
    assert_eq!(run(&mut c, "insert into a.t values (4)"), "");
    assert_eq!(line(&mut c, "dml_inserts"), "3|3|NULL|3|3|0|0|0|1|disabled|status_counter");
    assert_eq!(run(&mut c, "set global innodb_monitor_reset = 'dml_inserts'"), "");
    assert_eq!(line(&mut c, "dml_inserts"), "3|3|NULL|0|NULL|0|0|0|0|disabled|status_counter");
    assert_eq!(run(&mut c, "set global innodb_monitor_enable = 'dml%'"), "");
    assert_eq!(run(&mut c, "insert into a.t values (5)"), "");
    assert_eq!(line(&mut c, "dml_inserts"), "4|4|NULL|1|1|0|1|0|0|enabled|status_counter");
    assert_eq!(run(&mut c, "set global innodb_monitor_reset_all = 'dml_inserts'"), "");
    assert!(line(&mut c, "dml_inserts").starts_with("4|"), "not while it is on");
    let states =
        "select count(*) > 20, count(*) - sum(status = 'enabled') from information_schema.innodb_metrics";
    for (sql, all_on) in [
        ("enable = 'all'", true),
        ("disable = '%'", false),
        ("enable = '%'", true),
        ("disable = 'all'", false),
    ] {
        assert_eq!(run(&mut c, &format!("set global innodb_monitor_{sql}")), "");
        assert_eq!(run(&mut c, states).ends_with("|0"), all_on, "{sql}");
    }
    for sql in [
        "enable = 'zzz'",
        "disable = 'zz%'",
        "reset = 'module_zzz'",
        "reset_all = 'dml_in_erts'",
        "enable = null",
    ] {
        let (name, value) = sql.split_once(" = ").unwrap();
        let value = if value == "null" { "NULL" } else { value.trim_matches('\'') };
        let wanted = format!("1231 Variable 'innodb_monitor_{name}' can't be set to the value of '{value}'");
        assert_eq!(run(&mut c, &format!("set global innodb_monitor_{sql}")), wanted);
    }
    assert!(run(&mut c, "set global innodb_monitor_enable = 1").starts_with("1232 "));
    assert_eq!(run(&mut c, "set global innodb_monitor_enable = default"), "");
}

/// Transactions whose undo logs purge has not freed yet.
fn history(opened: &Opened) -> u64 {
    let metrics = opened.db.engine().core().metrics();
    metrics.iter().find(|(name, _)| *name == "trx_rseg_history_len").map(|(_, value)| *value).unwrap()
}

/// What shutting down leaves: with 0 nothing to purge, with 1 history, with 2 a log that has to be applied.
#[test]
fn shutting_down_does_as_much_as_it_is_told_to() {
    for (speed, leaves_history, needs_recovery) in
        [("0", false, false), ("1", true, false), ("2", true, true)]
    {
        let opened = new(&[("innodb_purge_batch_size", "1")]);
        let mut c = root(&opened.db);
        assert_eq!(run(&mut c, "create database a"), "");
        assert_eq!(run(&mut c, "create table a.t (id int primary key, v int, key (v))"), "");
        // An old view keeps purge from all of it.
        let mut reader = root(&opened.db);
        assert_eq!(run(&mut reader, "start transaction with consistent snapshot"), "");
        for n in 0..400 {
            assert_eq!(run(&mut c, &format!("insert into a.t values ({n}, 0)")), "");
            assert_eq!(run(&mut c, &format!("update a.t set v = 1 where id = {n}")), "");
        }
        assert!(history(&opened) >= 400);
        assert_eq!(run(&mut c, &format!("set global innodb_fast_shutdown = {speed}")), "");
        drop((c, reader));
        // Nothing is purged at level 2.
        let opened = opened.reopen_with(&[SMALL, ("innodb_force_recovery", "2")]).unwrap();
        assert_eq!(
            history(&opened) > 0,
            leaves_history,
            "innodb_fast_shutdown = {speed}: {}",
            history(&opened)
        );
        let recovered = opened.db.engine().report().recovery.is_some();
        assert_eq!(recovered, needs_recovery, "innodb_fast_shutdown = {speed}");
        let opened = opened.reopen_with(&[SMALL]).unwrap();
        let mut c = root(&opened.db);
        assert_eq!(run(&mut c, "select count(*), sum(v) from a.t"), "400|400");
        assert_eq!(run(&mut c, "check table a.t"), "a.t|check|status|OK");
    }
}
