//! The power goes off while events are made, altered, executed and dropped: afterwards no event is executed again for a time that it
//! has been begun for, what a finished execution has done is there, once, and every definition is the old one or the new one.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::simulated;

use simulated::{open, run, session};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use vaquita_base::Rng;
use vaquita_io::sim::SimDisk;
use vaquita_sql::{Connection, Database, Scheduler, SqlError};

/// 2030-01-01 10:00:00.
const TEN: i64 = 1_893_492_000;

/// `often` is executed every ten seconds, `kept` once and stays.
const SETUP: &str = "create database d; use d; set time_zone = '+00:00'; set timestamp = 1893492000;
create table tick (t bigint); insert into tick values (0);
create table log (k int primary key auto_increment, what varchar(20), t bigint, key (what));
create table sums (what varchar(20) primary key, n int);
create event often on schedule every 10 second starts '2030-01-01 10:00:00' comment '0' do begin
  start transaction;
  insert into log (what, t) select 'often', t from tick;
  insert into sums values ('often', 1) on duplicate key update n = n + 1;
  commit;
end;
create event kept on schedule at '2030-01-01 10:00:30' on completion preserve do insert into log (what, t) select 'kept', t from tick";

/// What must be so, by what statements and executions have said.
#[derive(Debug, Default)]
struct Known {
    now: i64,
    /// Executions that have begun, and those that have ended while the power was on.
    begun: BTreeSet<(String, i64)>,
    ended: BTreeSet<(String, i64)>,
    /// Events of one time that are there, with their times; what was asked for when the power went off.
    once: BTreeMap<String, i64>,
    asked: Option<(String, Option<i64>)>,
    made: u32,
    /// The comment of `often`, and the one that it was to get.
    version: u32,
    next_version: Option<u32>,
    /// How often the power went off in a step of the scheduler, or in an execution.
    cut_steps: u32,
}

impl Known {
    /// A statement that the power may end.
    fn tell(&self, disk: &SimDisk, session: &mut Connection, sql: &str) -> bool {
        let done = run(session, sql);
        if let Err(e) = &done {
            assert!(disk.is_off(), "{sql}: {e}");
        }
        done.is_ok()
    }

    fn define(&mut self, rng: &mut Rng, disk: &SimDisk, root: &mut Connection) {
        match rng.below(4) {
            0 | 1 => {
                self.made += 1;
                let (name, at) = (format!("o{}", self.made), self.now + rng.below(25) as i64);
                let sql = format!(
                    "create event {name} on schedule at from_unixtime({at}) do insert into log (what, t) select '{name}', t from tick"
                );
                self.asked = Some((name.clone(), Some(at)));
                if self.tell(disk, root, &sql) {
                    self.once.insert(name, at);
                    self.asked = None;
                }
            }
            2 => {
                let next = self.version + 1;
                self.next_version = Some(next);
                if self.tell(disk, root, &format!("alter event often comment '{next}'")) {
                    self.version = next;
                    self.next_version = None;
                }
            }
            _ => {
                let Some(name) = self.once.keys().next().cloned() else { return };
                self.asked = Some((name.clone(), None));
                if self.tell(disk, root, &format!("drop event {name}")) {
                    self.once.remove(&name);
                    self.asked = None;
                }
            }
        }
    }

    /// One step at the present time, with what it executes.
    fn step(&mut self, disk: &SimDisk, db: &Arc<Database>, scheduler: &mut Scheduler, context: &str) {
        let step = match scheduler.step(db, self.now) {
            Ok(step) => step,
            Err(e) => {
                assert!(disk.is_off(), "{context}: {e}");
                self.cut_steps += 1;
                return;
            }
        };
        for due in step.due {
            let name = due.name().trim_start_matches("d.").to_owned();
            let execution = (name.clone(), self.now);
            assert!(self.begun.insert(execution.clone()), "{context}: {name} again at {}", self.now);
            if name.starts_with('o') && name != "often" {
                let at = self.once.remove(&name).unwrap_or_else(|| panic!("{context}: {name} twice"));
                assert!(at <= self.now, "{context}: {name} is early");
            }
            due.run(db);
            match disk.is_off() {
                true => self.cut_steps += 1,
                false => _ = self.ended.insert(execution),
            }
        }
    }
}

fn work(rng: &mut Rng, disk: &SimDisk, db: &Arc<Database>, known: &mut Known, context: &str) {
    let mut root = session(db);
    let mut scheduler = Scheduler::new();
    if run(&mut root, "use d; set time_zone = '+00:00'").is_err() {
        return;
    }
    while !disk.is_off() {
        known.now += 1 + rng.below(9) as i64;
        let now = known.now;
        let sql = format!("set timestamp = {now}; update tick set t = {now}");
        if !known.tell(disk, &mut root, &sql) {
            return;
        }
        if rng.one_in(2) {
            known.define(rng, disk, &mut root);
        }
        if disk.is_off() {
            return;
        }
        known.step(disk, db, &mut scheduler, context);
        if rng.one_in(8) {
            let _ = db.engine().core().storage.flush_everything();
        }
    }
}

fn check(disk: &SimDisk, db: &Arc<Database>, known: &mut Known, context: &str) {
    let mut root = session(db);
    run(&mut root, "use d").unwrap();
    let logged = |root: &mut Connection| -> BTreeMap<(String, i64), u32> {
        let rows = run(root, "select what, t, count(*) from log group by what, t").unwrap();
        let one = |row: &String| {
            let cells: Vec<&str> = row.split('|').collect();
            ((cells[0].to_owned(), cells[1].parse().unwrap()), cells[2].parse().unwrap())
        };
        rows.iter().map(one).collect()
    };
    let found = logged(&mut root);
    for (execution, times) in &found {
        assert_eq!(*times, 1, "{context}: {execution:?}");
        assert!(known.begun.contains(execution), "{context}: {execution:?} has not begun");
    }
    for execution in &known.ended {
        assert!(found.contains_key(execution), "{context}: {execution:?} is lost");
    }
    let often = found.keys().filter(|(what, _)| what == "often").count().to_string();
    let sum = run(&mut root, "select ifnull(max(n), 0) from sums").unwrap();
    assert_eq!(sum, [often], "{context}: transactions of an execution");
    let listed = run(&mut root, "select event_name, event_comment from information_schema.events").unwrap();
    let there: BTreeMap<&str, &str> = listed.iter().map(|row| row.split_once('|').unwrap()).collect();
    let version: u32 = there["often"].parse().unwrap();
    assert!(version == known.version || Some(version) == known.next_version, "{context}: version {version}");
    known.version = version;
    known.next_version = None;
    if let Some((name, at)) = known.asked.take() {
        match (there.contains_key(&*name), at) {
            (true, Some(at)) => _ = known.once.insert(name, at),
            (false, _) => _ = known.once.remove(&name),
            (true, None) => {}
        }
    }
    for name in known.once.keys() {
        assert!(there.contains_key(&**name), "{context}: {name} is lost");
    }
    // The same moment again, for a scheduler that knows of nothing: `step` asserts that nothing begins twice.
    let mut scheduler = Scheduler::new();
    run(&mut root, &format!("set timestamp = {0}; update tick set t = {0}", known.now)).unwrap();
    known.step(disk, db, &mut scheduler, context);
    known.step(disk, db, &mut scheduler, context);
    let left = run(
        &mut root,
        "select event_name from information_schema.events where event_name like 'o_' or event_name like 'o__'",
    );
    let left: BTreeSet<String> = left.unwrap().into_iter().collect();
    // One whose state was written by the step that the power ended is over, whether it was executed or not.
    known.once.retain(|_, at| *at > known.now);
    let known_left: BTreeSet<String> = known.once.keys().cloned().collect();
    assert_eq!(left, known_left, "{context}: events that are over have gone");
    for table in ["log", "sums"] {
        let checked = run(&mut root, &format!("check table {table}")).unwrap();
        assert!(checked.iter().all(|row| row.ends_with("|OK")), "{context}: {checked:?}");
    }
}

#[test]
fn events_are_executed_once_whenever_the_power_goes_off() -> Result<(), SqlError> {
    let first: u64 = std::env::var("EVENTS_FIRST").map_or(0, |n| n.parse().unwrap());
    let seeds: u64 = std::env::var("EVENTS_SEEDS").map_or(10, |n| n.parse().unwrap());
    let (mut cut_steps, mut ended) = (0, 0);
    for seed in first..first + seeds {
        let mut rng = Rng::new(seed);
        let mut disk = SimDisk::new(seed);
        disk.put_dir("/db".as_ref());
        let mut db = open(&disk)?;
        run(&mut session(&db), SETUP)?;
        let mut known = Known { now: TEN, ..Known::default() };
        for round in 0..5 {
            let context = format!("seed {seed}, round {round}");
            disk.arm_cut(disk.ops() + 1 + rng.below(250));
            work(&mut rng, &disk, &db, &mut known, &context);
            drop(db);
            disk = if rng.one_in(4) { disk.after_kill() } else { disk.restart() };
            db = open(&disk).unwrap_or_else(|e| panic!("{context}: {e}"));
            while db.engine().core().rollback_step().unwrap() {}
            check(&disk, &db, &mut known, &context);
        }
        cut_steps += known.cut_steps;
        ended += known.ended.len();
    }
    assert!(
        cut_steps > 3 && ended > 100,
        "the power went off in {cut_steps} steps; {ended} executions ended"
    );
    Ok(())
}
