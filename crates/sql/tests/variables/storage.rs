//! Variables of InnoDB: that they reach the part that they are of. What the part does is proven beside it.

use crate::variables::support::{Opened, open, open_with, root, run, try_open_new};
use std::sync::Arc;
use vaquita_sql::sink::{ColumnMeta, Completion, ResultSink};
use vaquita_sql::{SqlResult, Value};

fn counter(opened: &Opened, name: &str) -> u64 {
    let line = run(&mut root(&opened.db), &format!("show global status like '{name}'"));
    line.split('|').nth(1).expect("a number").parse().expect("a number")
}

#[test]
fn what_is_fixed_at_start_reaches_the_engine() {
    let opened = open_with(&[
        ("innodb_buffer_pool_size", "24M"),
        ("innodb_buffer_pool_instances", "3"),
        ("innodb_log_buffer_size", "524288"),
        ("innodb_flush_method", "fsync"),
        ("innodb_log_file_buffering", "ON"),
        ("innodb_doublewrite", "OFF"),
        ("innodb_open_files", "77"),
        ("innodb_purge_threads", "3"),
        ("innodb_autoinc_lock_mode", "2"),
        ("table_definition_cache", "500"),
        ("innodb_old_blocks_pct", "50"),
        ("innodb_old_blocks_time", "7"),
        ("innodb_read_ahead_threshold", "9"),
        ("innodb_random_read_ahead", "ON"),
        ("innodb_flush_log_at_timeout", "5"),
        ("innodb_flush_neighbors", "2"),
        ("innodb_rollback_segments", "5"),
    ]);
    let core = opened.db.engine().core();
    let options = format!("{:?}", core.options);
    for part in [
        "buffer_pool_size: 25165824",
        "buffer_pool_instances: 3",
        "log_buffer_size: 524288",
        "flush_method: Fsync",
        "log_file_buffering: true",
        "doublewrite: false",
        "open_files: 77",
        "purge_threads: 3",
        "autoinc_lock_mode: 2",
        "table_definition_cache: 500",
        "old_blocks_pct: 50",
        "old_blocks_time_ms: 7",
        "read_ahead_threshold: 9",
        "random_read_ahead: true",
        "flush_log_at_timeout: 5",
        "flush_neighbors: Extent",
        "rollback_segments: 5",
    ] {
        assert!(options.contains(part), "{part} in {options}");
    }
    assert_eq!(counter(&opened, "innodb_available_undo_logs"), 5);
    let frames = counter(&opened, "innodb_buffer_pool_pages_total");
    assert!((1400..=1536).contains(&frames), "{frames} pages of 24M");
    let pages = open_with(&[("innodb_buffer_pool_size", "8M")]);
    assert!(counter(&pages, "innodb_buffer_pool_pages_total") <= 512);
}

/// The two blocks of the system tablespace where pages are written before they go to their places.
#[test]
fn pages_are_written_twice_as_it_is_said() {
    const PAGE: usize = 16_384;
    for (value, twice) in [("ON", true), ("OFF", false)] {
        // A folder that is made without it has no such blocks.
        let small = ("innodb_buffer_pool_size", "16M");
        let opened = open().reopen_with(&[small, ("innodb_doublewrite", value)]).expect("opens");
        let area = || {
            let system = std::fs::read(opened.path().join("ibdata1")).expect("the system tablespace");
            system[64 * PAGE..192 * PAGE].to_vec()
        };
        let before = area();
        let mut c = root(&opened.db);
        run(&mut c, "create database d; create table d.t (a int primary key, b varchar(900))");
        run(&mut c, "insert into d.t values (1, repeat('x', 900)), (2, repeat('y', 900))");
        drop(c);
        opened.db.close().expect("closes");
        assert_eq!(area() != before, twice, "{value}");
    }
}

#[test]
fn a_large_pool_has_several_instances() {
    let instances = |given: &[(&str, &str)]| {
        let given: Vec<_> = given.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        vaquita_sql::vars::Globals::new(&given).unwrap().uint("innodb_buffer_pool_instances")
    };
    assert_eq!(instances(&[]), 1);
    let sizes = [("1G", 1), ("2047M", 1), ("2G", 2), ("5G", 5), ("8G", 8), ("200G", 8)];
    for (size, expected) in sizes {
        assert_eq!(instances(&[("innodb_buffer_pool_size", size)]), expected, "{size}");
    }
    let said = [("innodb-buffer-pool-instances", "3"), ("innodb_buffer_pool_size", "8G")];
    assert_eq!(instances(&said), 3);
}

/// Whether an answer has to wait for the log.
#[derive(Default)]
struct Acknowledged {
    waits: bool,
}

impl ResultSink for Acknowledged {
    fn columns(&mut self, _: &Arc<[ColumnMeta]>) -> SqlResult<()> {
        Ok(())
    }

    fn row(&mut self, _: &[Value<'_>]) -> SqlResult<()> {
        Ok(())
    }

    fn end(&mut self, done: Completion) -> SqlResult<()> {
        self.waits = done.durability.is_some_and(|durability| durability.is_to_be_waited_for());
        Ok(())
    }
}

#[test]
fn commits_wait_as_they_are_told_to() {
    let opened = open();
    let mut c = root(&opened.db);
    run(&mut c, "create database d; use d; create table t (a int auto_increment primary key)");
    let mut waits_after = |policy: u8| {
        run(&mut c, &format!("set global innodb_flush_log_at_trx_commit = {policy}"));
        let mut sink = Acknowledged::default();
        c.set_waits_for_log(false);
        c.query(b"insert into d.t values (null)", &mut sink).expect("runs");
        c.set_waits_for_log(true);
        sink.waits
    };
    assert_eq!([1, 0, 1].map(&mut waits_after), [true, false, true]);
}

#[test]
fn new_tables_have_the_format_that_is_said() {
    let opened = open();
    let mut c = root(&opened.db);
    run(&mut c, "create database d");
    for format in ["redundant", "compact", "dynamic"] {
        run(
            &mut c,
            &format!("set global innodb_default_row_format = {format}; create table d.{format} (a int)"),
        );
        let asked =
            format!("select lower(row_format) from information_schema.tables where table_name = '{format}'");
        assert_eq!(run(&mut c, &asked), format);
    }
}

/// The example of MySQL's manual, and the answers of MySQL 5.6.24.
#[test]
fn values_are_reserved_as_it_is_said() {
    for (mode, next) in [("0", "103"), ("1", "105")] {
        let opened = open_with(&[("innodb_autoinc_lock_mode", mode)]);
        let mut c = root(&opened.db);
        run(&mut c, "create database d; use d; create table m (a int auto_increment primary key, b char(1))");
        run(
            &mut c,
            "alter table m auto_increment = 101; insert into m values (1,'a'), (null,'b'), (5,'c'), (null,'d')",
        );
        assert_eq!(run(&mut c, "insert into m (b) values ('e'); select max(a) from m"), next, "mode {mode}");
    }
}

#[test]
fn a_folder_that_is_read_only_stays_as_it_is() {
    let opened = open();
    run(&mut root(&opened.db), "create database d; create table d.t (a int); insert into d.t values (1)");
    let opened =
        opened.reopen_with(&[("innodb_read_only", "1"), ("innodb_buffer_pool_size", "16M")]).expect("opens");
    let mut c = root(&opened.db);
    assert_eq!(run(&mut c, "select * from d.t"), "1");
    assert_eq!(
        run(&mut c, "insert into d.t values (2)"),
        "1015 Can't lock file (errno: 165 - Table is read only)"
    );
    assert_eq!(run(&mut c, "create table d.u (a int)"), "1874 InnoDB is in read only mode.");
}

#[test]
fn what_the_folder_cannot_have_is_refused() {
    for (name, value) in [("innodb_page_size", "5000"), ("innodb_data_file_path", "nonsense")] {
        let error = try_open_new(&[(name, value)]).err().expect("refused");
        assert!(error.message.contains(name), "{}", error.message);
    }
}
