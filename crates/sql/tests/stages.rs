//! How far changes of definitions are, as other sessions see it: `performance_schema.events_stages_current` and the list of sessions.

use crate::support;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use support::{connect_as, open, root, run, until};

const STAGES: &str = "select event_name from performance_schema.events_stages_current";

/// Ends what goes on beside, however the test ends.
struct Ends<'f>(&'f AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs statements over and over, until another session has seen all of these stages.
fn sees(statements: &[&str], wanted: &[&str]) {
    let opened = open();
    let mut c = root(&opened.db);
    run(&mut c, "create database d; use d; create table t (id int primary key, n int, v varchar(100))");
    run(&mut c, "insert into t values (1, 1, repeat('x', 80))");
    for doubled in 0..12 {
        let sql = format!(
            "insert into t select id + {}, id % 91, concat(id, 'v', repeat('x', 80)) from t",
            1 << doubled
        );
        assert_eq!(run(&mut c, &sql), "");
    }
    assert_eq!(run(&mut c, "select count(*) from t"), "4096");
    let enough = AtomicBool::new(false);
    let (mut seen, mut states) = (BTreeSet::new(), BTreeSet::new());
    std::thread::scope(|scope| {
        let altering = scope.spawn(|| {
            let mut c = root(&opened.db);
            run(&mut c, "use d");
            while !enough.load(Ordering::Relaxed) {
                for sql in statements {
                    let answer = run(&mut c, sql);
                    if !answer.is_empty() {
                        return answer;
                    }
                }
            }
            String::new()
        });
        let ends = Ends(&enough);
        let mut all = || {
            seen.extend(run(&mut c, STAGES).lines().map(str::to_owned));
            let shown =
                run(&mut c, "select state from information_schema.processlist where info like 'alter%'");
            states.extend(shown.lines().map(str::to_owned));
            altering.is_finished()
                || wanted.iter().all(|name| {
                    let state = name.rsplit('/').next().unwrap_or(name);
                    seen.contains(*name) && states.contains(state)
                })
        };
        let begun = Instant::now();
        while !all() && begun.elapsed() < Duration::from_secs(60) {}
        drop(ends);
        assert_eq!(altering.join().expect("the change ends"), "");
    });
    for name in wanted {
        let state = name.rsplit('/').next().unwrap_or(name);
        assert!(seen.contains(*name) && states.contains(state), "{name}: {seen:?}, {states:?}");
    }
    for name in &seen {
        assert!(
            name.starts_with("stage/innodb/alter table (") || name == "stage/sql/copy to tmp table",
            "{name}"
        );
    }
    assert_eq!(run(&mut c, STAGES), "", "nothing is under way");
}

#[test]
fn index_builds() {
    let read = "stage/innodb/alter table (read PK and internal sort)";
    sees(
        &["alter table t add index v (v)", "alter table t drop index v"],
        &[read, "stage/innodb/alter table (insert)"],
    );
}

#[test]
fn rebuilds_and_copies() {
    let read = "stage/innodb/alter table (read PK and internal sort)";
    sees(
        &["alter table t force", "alter ignore table t add unique u (id)", "alter table t drop index u"],
        &[read, "stage/innodb/alter table (flush)", "stage/sql/copy to tmp table"],
    );
}

#[test]
fn foreign_keys() {
    let add = "alter table t add constraint f foreign key (n) references p (id)";
    let make = "alter table t add index n (n)";
    sees(
        &[
            "create table if not exists p (id int primary key) select distinct n as id from t",
            make,
            add,
            "alter table t drop foreign key f, drop index n",
        ],
        &["stage/innodb/alter table (check foreign keys)"],
    );
}

#[test]
fn what_a_stage_is() {
    let opened = open();
    let mut c = root(&opened.db);
    let columns = "select column_name, column_type, is_nullable from information_schema.columns \
                   where table_schema = 'performance_schema' and table_name = 'events_stages_current'";
    // As 5.7's manual has them.
    assert_eq!(
        run(&mut c, columns),
        "THREAD_ID|bigint(20) unsigned|NO\nEVENT_ID|bigint(20) unsigned|NO\nEND_EVENT_ID|bigint(20) unsigned|YES\n\
         EVENT_NAME|varchar(128)|NO\nSOURCE|varchar(64)|YES\nTIMER_START|bigint(20) unsigned|YES\n\
         TIMER_END|bigint(20) unsigned|YES\nTIMER_WAIT|bigint(20) unsigned|YES\nWORK_COMPLETED|bigint(20) unsigned|YES\n\
         WORK_ESTIMATED|bigint(20) unsigned|YES\nNESTING_EVENT_ID|bigint(20) unsigned|YES\n\
         NESTING_EVENT_TYPE|enum('TRANSACTION','STATEMENT','STAGE','WAIT')|YES"
    );
    run(&mut c, "create database d; use d; create table t (id int primary key, v varchar(100))");
    for first in 0..3 {
        let rows: Vec<String> =
            (0..1_000).map(|n| format!("({}, repeat('v', 90))", first * 1_000 + n)).collect();
        run(&mut c, &format!("insert into t values {}", rows.join(",")));
    }
    run(&mut c, "analyze table t");
    let done = AtomicBool::new(false);
    let mut rows = Vec::new();
    std::thread::scope(|scope| {
        let altering = scope.spawn(|| {
            let mut c = root(&opened.db);
            let id = run(&mut c, "select connection_id()");
            while !done.load(Ordering::Relaxed) {
                run(&mut c, "alter table d.t add index v (v); alter table d.t drop index v");
            }
            id
        });
        let ends = Ends(&done);
        let sql = "select thread_id, event_id, timer_end - timer_start = timer_wait, timer_wait % 1000000, \
                   work_completed <= work_estimated, work_estimated >= 3000, work_completed, \
                   concat_ws('', end_event_id, source, nesting_event_id, nesting_event_type) \
                   from performance_schema.events_stages_current where event_name like '%(insert)'";
        until("the build is seen a few times", || {
            rows.extend(run(&mut c, sql).lines().map(str::to_owned));
            rows.len() >= 5
        });
        drop(ends);
        let id = altering.join().expect("the change ends");
        let mut last = 0;
        for row in &rows {
            let cells: Vec<&str> = row.split('|').collect();
            let event: u64 = cells[1].parse().unwrap();
            assert!(cells[0] == id && event >= last, "{rows:?}");
            assert_eq!((&cells[2..6], cells[7]), (&["1", "0", "1", "1"][..], ""), "{row}");
            // All rows were read before; entries are counted by the hundreds.
            let work: u64 = cells[6].parse().unwrap();
            assert!((3_000..=6_000).contains(&work), "{row}");
            last = event;
        }
    });
}

#[test]
fn the_schema_is_seen_by_who_may() {
    let opened = open();
    let mut c = root(&opened.db);
    assert_eq!(run(&mut c, "show databases like 'p%'"), "performance_schema");
    assert_eq!(run(&mut c, "use performance_schema; show tables"), "events_stages_current");
    assert_eq!(run(&mut c, "select count(*) from events_stages_current"), "0");
    assert_eq!(
        run(&mut c, "select * from accounts"),
        "1146 Table 'performance_schema.accounts' doesn't exist"
    );
    let denied = "1044 Access denied for user 'root'@'localhost' to database 'performance_schema'";
    for sql in [
        "create table x (a int)",
        "drop database performance_schema",
        "create database performance_schema",
        "drop table events_stages_current",
        "alter table events_stages_current add x int",
        "insert into events_stages_current (thread_id) values (1)",
    ] {
        assert_eq!(run(&mut c, sql), denied, "{sql}");
    }
    for sql in ["delete from events_stages_current", "update events_stages_current set thread_id = 1"] {
        assert!(run(&mut c, sql).starts_with("1288 "), "{sql}: {}", run(&mut c, sql));
    }
    run(&mut c, "create user u; create user p; grant select on performance_schema.* to p");
    let mut u = connect_as(&opened.db, "u", "%").unwrap();
    assert_eq!(run(&mut u, "show databases"), "information_schema");
    assert_eq!(
        run(&mut u, "select count(*) from performance_schema.events_stages_current"),
        "1142 SELECT command denied to user 'u'@'localhost' for table 'events_stages_current'"
    );
    assert!(run(&mut u, "use performance_schema").starts_with("1044 "));
    let listed = "select table_name, table_type, engine from information_schema.tables where table_schema = 'performance_schema'";
    assert_eq!(run(&mut u, listed), "");
    let mut p = connect_as(&opened.db, "p", "%").unwrap();
    assert_eq!(run(&mut p, "show databases"), "information_schema\nperformance_schema");
    assert_eq!(run(&mut p, listed), "events_stages_current|BASE TABLE|PERFORMANCE_SCHEMA");
    assert_eq!(run(&mut p, "select count(*) from performance_schema.events_stages_current"), "0");
}
