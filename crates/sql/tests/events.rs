//! The event scheduler with a clock that a test moves, and its thread with the machine's.

use crate::support;

use parking_lot::Mutex;
use std::sync::Arc;
use std::time::{Duration, Instant};
use support::{Opened, connect_as, open, open_with, root, run, try_open_new, until};
use vaquita_sql::types::Level;
use vaquita_sql::{Connection, Database, Scheduler};

/// A folder, a session that believes in a time of its own, and the scheduler at that time.
struct Stage {
    db: Arc<Database>,
    c: Connection,
    scheduler: Scheduler,
    /// Seconds since 1970: ten o'clock of a day to come.
    now: i64,
    said: Arc<Mutex<Vec<String>>>,
}

/// 2030-01-01 10:00:00.
const TEN: i64 = 1_893_492_000;

impl Stage {
    fn new(opened: &Opened) -> Stage {
        let mut c = root(&opened.db);
        all(&mut c, &["set time_zone = '+00:00'", "create database if not exists d", "use d"]);
        all(
            &mut c,
            &["create table if not exists log (id int auto_increment primary key, what varchar(200))"],
        );
        let said = Arc::<Mutex<Vec<String>>>::default();
        let heard = said.clone();
        opened.db.listen_to_events(Arc::new(move |level: Level, line: &str| {
            let line = line.trim_start_matches("Event Scheduler: ");
            heard.lock().push(format!("{level:?} {line}"));
        }));
        let mut stage = Stage { db: opened.db.clone(), c, scheduler: Scheduler::new(), now: TEN, said };
        stage.at(TEN);
        stage
    }

    /// It is so late now, for statements and the scheduler.
    fn at(&mut self, now: i64) {
        self.now = now;
        assert_eq!(run(&mut self.c, &format!("set timestamp = {now}")), "");
    }

    /// One step, with what it executes; the names of that.
    fn step(&mut self) -> String {
        let step = self.scheduler.step(&self.db, self.now).expect("a step");
        let names: Vec<String> = step.due.iter().map(|due| due.name()).collect();
        step.due.into_iter().for_each(|due| due.run(&self.db));
        names.join(" ")
    }

    /// When the scheduler wants to be called again, in seconds from now.
    fn next(&mut self) -> Option<i64> {
        let step = self.scheduler.step(&self.db, self.now).expect("a step");
        assert!(step.due.is_empty());
        step.next.map(|next| next - self.now)
    }

    fn log(&mut self) -> String {
        let log = run(&mut self.c, "select group_concat(what order by id separator ' ') from log");
        assert_eq!(run(&mut self.c, "truncate log"), "");
        log
    }

    fn said(&self) -> Vec<String> {
        std::mem::take(&mut self.said.lock())
    }
}

/// Runs statements that must do what they should.
#[track_caller]
fn all(c: &mut Connection, list: &[&str]) {
    for sql in list {
        assert_eq!(run(c, sql), "", "{sql}");
    }
}

const STATE: &str = "select event_name, status, date_format(last_executed, '%H:%i:%s') from information_schema.events \
                     where event_schema = 'd' order by 1";

#[test]
fn once() {
    let opened = open();
    let mut s = Stage::new(&opened);
    all(
        &mut s.c,
        &[
            "create event a on schedule at now() + interval 5 second do insert into log (what) values ('a')",
            "create event p on schedule at now() + interval 6 second on completion preserve \
             do insert into log (what) values ('p')",
            "create event off on schedule at now() + interval 5 second disable do insert into log (what) values ('off')",
            "create event away on schedule at now() + interval 5 second disable on slave \
             do insert into log (what) values ('away')",
        ],
    );
    assert_eq!((s.step().as_str(), s.next()), ("", Some(5)));
    s.at(TEN + 4);
    assert_eq!((s.step().as_str(), s.next()), ("", Some(1)));
    s.at(TEN + 5);
    assert_eq!((s.step().as_str(), s.log().as_str()), ("d.a", "a"));
    assert_eq!((s.step().as_str(), s.next()), ("", Some(1)), "once is once");
    assert_eq!(run(&mut s.c, STATE), "away|SLAVESIDE_DISABLED|NULL\noff|DISABLED|NULL\np|ENABLED|NULL");
    // Nobody looked for a while: it is made up for.
    s.at(TEN + 3600);
    assert_eq!((s.step().as_str(), s.log().as_str()), ("d.p", "p"));
    assert_eq!(run(&mut s.c, STATE), "away|SLAVESIDE_DISABLED|NULL\noff|DISABLED|NULL\np|DISABLED|11:00:00");
    assert_eq!(s.next(), None);
    assert_eq!(
        s.said(),
        ["Note Last execution of d.a. Dropping.", "Note Dropping d.a", "Note Last execution of d.p. "]
    );
    // Given another time it is executed again.
    all(&mut s.c, &["alter event p on schedule at now() + interval 1 minute enable"]);
    assert_eq!(s.next(), Some(60));
    s.at(TEN + 3660);
    assert_eq!((s.step().as_str(), s.log().as_str()), ("d.p", "p"));
    all(&mut s.c, &["alter event p enable"]);
    assert_eq!((s.step().as_str(), s.log().as_str()), ("", "NULL"));
    assert!(run(&mut s.c, STATE).ends_with("p|DISABLED|11:01:00"));
}

#[test]
fn again_and_again() {
    let opened = open();
    let mut s = Stage::new(&opened);
    all(
        &mut s.c,
        &[
            "create event e on schedule every 10 second do insert into log (what) values ('e')",
            "create event f on schedule every 10 second starts now() + interval 5 second ends now() + interval 25 second \
             do insert into log (what) values ('f')",
            "create event m on schedule every 1 month starts '2030-01-31 10:00:00' do insert into log (what) values ('m')",
        ],
    );
    assert_eq!(s.step(), "d.e", "one that starts now is executed at once");
    let mut when = Vec::new();
    for second in 1..=40 {
        s.at(TEN + second);
        let step = s.step();
        if !step.is_empty() {
            when.push(format!("{second}:{step}"));
        }
    }
    assert_eq!(when, ["5:d.f", "10:d.e", "15:d.f", "20:d.e", "25:d.f", "30:d.e", "40:d.e"]);
    assert_eq!(s.log(), "e f e f e f e e");
    assert_eq!(run(&mut s.c, STATE), "e|ENABLED|10:00:40\nm|ENABLED|NULL", "f is over, and gone");
    // What was missed is made up for once, then it goes on as it began.
    s.at(TEN + 95);
    assert_eq!(s.step(), "d.e");
    assert_eq!((s.step().as_str(), s.next()), ("", Some(5)));
    // The last days of months.
    all(&mut s.c, &["drop event e"]);
    for day in ["2030-01-31", "2030-02-28", "2030-03-31", "2030-04-30"] {
        let at: i64 = run(&mut s.c, &format!("select unix_timestamp('{day} 10:00:00')")).parse().unwrap();
        s.at(at - 1);
        assert_eq!((s.step().as_str(), s.next()), ("", Some(1)), "{day}");
        s.at(at);
        assert_eq!(s.step(), "d.m", "{day}");
    }
}

/// What happens to events between two steps.
#[test]
fn changes_meanwhile() {
    let opened = open();
    let mut s = Stage::new(&opened);
    let make = |name: &str| {
        format!("create event {name} on schedule every 10 second do insert into log (what) values ('{name}')")
    };
    for name in ["a", "b", "c", "x", "y"] {
        all(&mut s.c, &[&make(name)]);
    }
    assert_eq!(s.step(), "d.a d.b d.c d.x d.y");
    s.log();
    all(
        &mut s.c,
        &[
            "drop event a",
            "alter event b disable",
            "alter event c rename to cc do insert into log (what) values ('cc')",
            "alter event x on schedule every 3 second",
            "create database e",
            "alter event y rename to e.y",
        ],
    );
    s.at(TEN + 3);
    assert_eq!(s.step(), "d.x");
    s.at(TEN + 10);
    assert_eq!(s.step(), "d.x d.cc e.y");
    all(&mut s.c, &["alter event b enable", "drop database e"]);
    s.at(TEN + 20);
    assert_eq!(s.step(), "d.b d.x d.cc", "the earliest first");
    // In an event: itself.
    all(
        &mut s.c,
        &[
            "drop event x",
            "drop event b",
            "alter event cc on schedule at now() + interval 1 second \
             do begin drop event cc; insert into log (what) values ('gone'); end",
            "create event self on schedule at now() + interval 2 second \
             do begin alter event self on schedule every 1 hour; insert into log (what) values ('self'); end",
        ],
    );
    s.log();
    s.said();
    s.at(TEN + 21);
    assert_eq!((s.step().as_str(), s.log().as_str()), ("d.cc", "gone"));
    s.at(TEN + 22);
    assert_eq!((s.step().as_str(), s.log().as_str()), ("d.self", "self"));
    assert_eq!(run(&mut s.c, STATE).split('|').next(), Some("self"), "altered it is not dropped");
    assert_eq!(
        s.said(),
        ["Note Last execution of d.cc. Dropping.", "Note Last execution of d.self. Dropping."]
    );
}

/// With whose rights, and in which session, an event is executed.
#[test]
fn definers() {
    let opened = open();
    let mut s = Stage::new(&opened);
    all(
        &mut s.c,
        &[
            "create user u@localhost, v@'%'",
            "grant event, insert, select on d.* to u@localhost",
            "grant insert on d.* to v@'%'",
        ],
    );
    let mut u = connect_as(&opened.db, "u", "localhost").unwrap();
    all(
        &mut u,
        &[
            "set time_zone = '+03:00', sql_mode = 'ANSI_QUOTES'",
            "create event d.who on schedule every 1 day starts '2030-01-01 13:00:00' do insert into log (what) values \
             (concat_ws('|', user(), current_user(), database(), @@sql_mode, @@time_zone))",
        ],
    );
    assert_eq!(run(&mut u, "create event d.x on schedule every 1 day do truncate d.log"), "");
    for (sql, code) in [
        ("create event mysql.x on schedule every 1 day do select 1", "1044"),
        ("create definer = root@localhost event d.z on schedule every 1 day do select 1", "1227"),
        ("alter event d.who rename to mysql.who", "1044"),
        ("set global event_scheduler = on", "1227"),
        ("show events from mysql", "1044"),
        ("show create event mysql.x", "1044"),
    ] {
        assert!(run(&mut u, sql).starts_with(code), "{sql}: {}", run(&mut u, sql));
    }
    let mut v = connect_as(&opened.db, "v", "%").unwrap();
    for sql in [
        "create event d.y on schedule every 1 day do select 1",
        "alter event d.who disable",
        "drop event d.who",
        "drop event if exists d.nope",
        "show events from d",
        "show create event d.who",
    ] {
        assert!(run(&mut v, sql).starts_with("1044 Access denied for user 'v'@'%' to database 'd'"), "{sql}");
    }
    assert_eq!(run(&mut v, "select count(*) from information_schema.events"), "0");
    assert_eq!(run(&mut u, "select count(*) from information_schema.events"), "2");
    all(
        &mut s.c,
        &[
            "drop event d.x",
            "create definer = v@'%' event d.v on schedule every 1 hour starts '2030-01-01 10:00:00' \
                     do select 1",
        ],
    );
    assert_eq!(s.step(), "d.who d.v");
    assert_eq!(s.log(), "event_scheduler@localhost|u@localhost|d|ANSI_QUOTES|+03:00");
    assert_eq!(
        s.said(),
        [
            "Error [v@%][d.v] Access denied for user 'v'@'%' to database 'd'",
            "Note [v@%].[d.v] event execution failed.",
        ]
    );
    all(&mut s.c, &["drop event d.v", "revoke insert on d.* from u@localhost"]);
    s.at(TEN + 86_400);
    assert_eq!(s.step(), "d.who");
    assert_eq!(
        s.said()[0],
        "Error [u@localhost][d.who] INSERT command denied to user 'u'@'localhost' for table 'log'"
    );
    all(&mut s.c, &["drop user u@localhost"]);
    s.at(TEN + 2 * 86_400);
    assert_eq!(s.step(), "d.who");
    assert_eq!(
        s.said(),
        [
            "Error [u@localhost].[d.who] execution failed, failed to authenticate the user.",
            "Error [u@localhost][d.who] The user specified as a definer ('u'@'localhost') does not exist",
            "Note [u@localhost].[d.who] event execution failed.",
        ]
    );
    // Whoever alters an event is its definer from then on.
    all(&mut s.c, &["alter event who comment 'root'"]);
    s.at(TEN + 3 * 86_400);
    assert_eq!(s.step(), "d.who");
    assert_eq!(s.log(), "event_scheduler@localhost|root@localhost|d|ANSI_QUOTES|+03:00");
}

#[test]
fn what_events_say_and_leave() {
    let opened = open();
    let mut s = Stage::new(&opened);
    all(&mut s.c, &["create procedure p(x int) insert into log (what) values (x + 1)"]);
    let body = |text: &str| format!("create event e on schedule at now() on completion preserve do {text}");
    let mut told = |text: &str| {
        all(&mut s.c, &[&body(text)]);
        assert_eq!(s.step(), "d.e", "{text}");
        all(&mut s.c, &["drop event e"]);
        let said = s.said();
        assert_eq!(said[0], "Note Last execution of d.e. ", "{text}");
        (s.log(), said[1..].join("; "))
    };
    let quiet = |log: &str| (log.to_owned(), String::new());
    assert_eq!(told("begin select 1; insert into log (what) values ('a'); end"), quiet("a"));
    assert_eq!(
        told("begin start transaction; insert into log (what) values ('open'); end"),
        quiet("NULL"),
        "what is not committed is rolled back"
    );
    assert_eq!(
        told("begin insert into log (what) values ('b'); insert into nope values (1); end"),
        (
            "b".to_owned(),
            "Error [root@localhost][d.e] Table 'd.nope' doesn't exist; Note [root@localhost].[d.e] event execution \
             failed."
                .to_owned()
        )
    );
    assert_eq!(
        told(
            "begin insert into log (what) values ('c'); signal sqlstate '01000' set message_text = 'hey'; end"
        ),
        ("c".to_owned(), "Warning [root@localhost][d.e] hey".to_owned())
    );
    assert_eq!(
        told(
            "begin declare exit handler for sqlexception insert into log (what) values ('caught'); \
              insert into nope values (1); end"
        ),
        quiet("caught")
    );
    assert_eq!(told("call p(41)"), quiet("42"));
}

/// Units that count microseconds are refused in our own name.
#[test]
fn microseconds() {
    let opened = open();
    let mut s = Stage::new(&opened);
    for unit in ["1 microsecond", "'1.5' second_microsecond", "'1 1.5' day_microsecond"] {
        let told = run(&mut s.c, &format!("create event e on schedule every {unit} do select 1"));
        assert!(told.starts_with("1235 ") && told.ends_with("'MICROSECOND'"), "{told}");
    }
}

/// A folder that is opened again: what fell into the time when it was closed is over, but for what is executed once.
#[test]
fn opened_again() {
    let opened = open();
    let mut s = Stage::new(&opened);
    let soon = "select unix_timestamp() from dual";
    all(&mut s.c, &["set timestamp = default"]);
    let before: i64 = run(&mut s.c, soon).parse().unwrap();
    all(
        &mut s.c,
        &[
            &format!("set timestamp = {}", before - 3_000),
            "create event hourly on schedule every 1 hour do insert into log (what) values ('hourly')",
            "create event over on schedule every 1 minute ends now() + interval 10 minute do insert into log (what) values \
             ('over')",
            "create event over_but_kept on schedule every 1 minute ends now() + interval 10 minute on completion preserve \
             do insert into log (what) values ('kept')",
            "create event once on schedule at now() + interval 10 minute do insert into log (what) values ('once')",
        ],
    );
    drop(s);
    let opened = opened.reopen();
    let mut s = Stage::new(&opened);
    s.at(before + 30);
    assert_eq!(s.step(), "d.once");
    assert_eq!(s.log(), "once");
    let left = "hourly|ENABLED|NULL\nover_but_kept|DISABLED|NULL";
    assert_eq!(run(&mut s.c, STATE), left);
    assert!(s.said().contains(&"Note Dropping d.over".to_owned()));
    // Whose state was noted before a crash is not executed twice.
    s.at(before + 600);
    assert_eq!(s.step(), "d.hourly");
    let due = {
        s.at(before + 600 + 3600);
        s.scheduler.step(&s.db, s.now).unwrap().due
    };
    assert_eq!(due.len(), 1, "noted, and never executed");
    drop(due);
    drop(s);
    let opened = opened.crash_and_open_with(&[]).unwrap();
    let mut s = Stage::new(&opened);
    s.at(before + 600 + 3600);
    assert_eq!(s.step(), "");
    s.at(before + 600 + 7200);
    assert_eq!(s.step(), "d.hourly");
}

fn scheduler_is(c: &mut Connection) -> String {
    run(c, "select @@event_scheduler")
}

#[test]
fn on_off_and_disabled() {
    let opened = open();
    let mut c = root(&opened.db);
    let there = "select concat_ws(' ', user, host, command, state, info) from information_schema.processlist \
                 where user = 'event_scheduler'";
    assert_eq!((scheduler_is(&mut c).as_str(), run(&mut c, there).as_str()), ("OFF", ""));
    all(&mut c, &["set global event_scheduler = on", "set global event_scheduler = 1"]);
    until("it waits", || run(&mut c, there) == "event_scheduler localhost Daemon Waiting on empty queue");
    all(&mut c, &["create database d", "use d", "create table log (what varchar(100))"]);
    all(&mut c, &["create event far on schedule at now() + interval 1 day do select 1"]);
    until("it waits", || {
        run(&mut c, there) == "event_scheduler localhost Daemon Waiting for next activation"
    });
    all(&mut c, &["create event now on schedule at now() do insert into log values ('now')"]);
    until("it is executed", || run(&mut c, "select what from log") == "now");
    all(&mut c, &["set global event_scheduler = off"]);
    assert_eq!((scheduler_is(&mut c).as_str(), run(&mut c, there).as_str()), ("OFF", ""));
    all(&mut c, &["set global event_scheduler = on"]);
    // KILL ends it as well.
    until("it is there", || !run(&mut c, there).is_empty());
    let id = run(&mut c, "select id from information_schema.processlist where user = 'event_scheduler'");
    all(&mut c, &[&format!("kill {id}")]);
    until("it is off", || scheduler_is(&mut c) == "OFF");
    all(&mut c, &["set global event_scheduler = on"]);
    drop(c);

    let opened = opened.reopen_with(&[("event_scheduler", "DISABLED")]).unwrap();
    let mut c = root(&opened.db);
    let refused = run(&mut c, "set global event_scheduler = on");
    assert!(refused.starts_with("1290 ") && refused.contains("--event-scheduler=DISABLED"), "{refused}");
    assert_eq!(scheduler_is(&mut c), "DISABLED");
    drop(c);
    let opened = opened.reopen_with(&[("skip_grant_tables", "ON"), ("event_scheduler", "ON")]).unwrap();
    let mut c = root(&opened.db);
    assert_eq!(scheduler_is(&mut c), "DISABLED");
    drop(c);
    let opened = opened.reopen_with(&[("innodb_read_only", "ON"), ("event_scheduler", "ON")]).unwrap();
    let mut c = root(&opened.db);
    assert_eq!(scheduler_is(&mut c), "OFF");
    assert!(opened.db.start_notes().iter().any(|note| note.contains("event_scheduler is OFF")));
    assert!(run(&mut c, "set global event_scheduler = on").contains("--innodb-read-only"));
    assert_eq!(run(&mut c, "select event_name from information_schema.events"), "far");
}

/// An event that is executed ends with the folder, and so does the scheduler; a folder that is only let go takes it along.
#[test]
fn ends() {
    let opened = open_with(&[("event_scheduler", "ON")]);
    let mut c = root(&opened.db);
    all(
        &mut c,
        &[
            "create database d",
            "use d",
            "create table t (id int primary key)",
            "create event naps on schedule every 1 second do begin start transaction; insert into t values (1); do sleep(600); \
             commit; end",
        ],
    );
    let sleeping = "select count(*) from information_schema.processlist where state = 'User sleep' and command = 'Connect'";
    until("it sleeps", || run(&mut c, sleeping) != "0");
    // Its sessions take no connection away, and are no clients.
    assert_eq!(run(&mut c, "show status like 'threads_connected'"), "Threads_connected|1");
    all(&mut c, &["alter event naps disable"]);
    // KILL of an execution.
    let id = "select min(id) from information_schema.processlist where state = 'User sleep' and command = 'Connect'";
    let id = run(&mut c, id);
    all(&mut c, &[&format!("kill {id}")]);
    until("it is gone", || {
        run(&mut c, &format!("select count(*) from information_schema.processlist where id = {id}")) == "0"
    });
    all(&mut c, &["alter event naps enable"]);
    until("it sleeps", || run(&mut c, sleeping) != "0");
    drop(c);
    let begun = Instant::now();
    let opened = opened.reopen_with(&[("event_scheduler", "ON")]).expect("it closes");
    assert!(begun.elapsed() < Duration::from_secs(60));
    let mut c = root(&opened.db);
    assert_eq!(run(&mut c, "select count(*) from d.t"), "0", "nothing of it was committed");
    all(&mut c, &["drop event d.naps"]);
    until("what was begun sleeps or is over", || {
        run(&mut c, sleeping) == "0" || {
            let ids = run(
                &mut c,
                "select group_concat(id) from information_schema.processlist where command = 'Connect'",
            );
            ids.split(',').for_each(|id| drop(run(&mut c, &format!("kill {id}"))));
            false
        }
    });
    drop(c);
    let weak = Arc::downgrade(&opened.db);
    let again = opened.crash_and_open_with(&[]);
    until("the folder is let go", || weak.upgrade().is_none());
    drop(again);
}

/// Executions at the same time, more than one of one event; a scheduler that waits for the read lock can be stopped.
#[test]
fn at_the_same_time() {
    let opened = open_with(&[("event_scheduler", "ON")]);
    let (mut c, mut other) = (root(&opened.db), root(&opened.db));
    all(&mut c, &["create database d", "use d", "create table log (what varchar(100))"]);
    all(
        &mut c,
        &[
            "create event e on schedule every 1 second do begin insert into log values ('begun'); do sleep(2.5); end",
        ],
    );
    let running = "select count(*) from information_schema.processlist where command = 'Connect'";
    until("two of them", || run(&mut c, running).parse::<u32>().unwrap() >= 2);
    all(&mut other, &["flush tables with read lock"]);
    let waits = "select state from information_schema.processlist where user = 'event_scheduler'";
    until("it waits", || run(&mut c, waits) == "Waiting for global read lock");
    all(&mut other, &["set global event_scheduler = off", "unlock tables", "drop event d.e"]);
    assert_eq!(run(&mut c, "select count(distinct what) from log"), "1");
}

/// A thing that is not there is told of as it is.
#[test]
fn folders_without_accounts() {
    assert!(try_open_new(&[("event_scheduler", "maybe")]).is_err());
}
