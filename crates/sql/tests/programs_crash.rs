//! The power goes off while triggers change further tables, while temporary tables are there, and while programs and views are
//! defined: afterwards what a transaction's triggers did is there with the transaction or not at all, temporary tables are gone,
//! indexes agree, and every definition is the old one or the new one.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::simulated;

use simulated::{open, run, session};
use std::collections::BTreeMap;
use std::sync::Arc;
use vaquita_base::Rng;
use vaquita_io::sim::SimDisk;
use vaquita_sql::{Connection, Database, SqlError};

const SESSIONS: usize = 3;

const SETUP: &str = "create database d; use d;
create table t (id int primary key, s int, n int, v varchar(300), key (n), key (v(20)));
create table audit (k int primary key auto_increment, s int, id int, n int, key (s, id));
create table sums (s int primary key, total int, cnt int);
create table counts (s int primary key, c int);
create table marks (s int primary key, m int);
insert into sums values (0, 0, 0), (1, 0, 0), (2, 0, 0);
insert into counts values (0, 0), (1, 0), (2, 0);
insert into marks values (0, 0), (1, 0), (2, 0);
create trigger t_ai after insert on t for each row begin
  insert into audit (s, id, n) values (new.s, new.id, new.n);
  update sums set total = total + new.n, cnt = cnt + 1 where s = new.s;
end;
create trigger t_au after update on t for each row begin
  insert into audit (s, id, n) values (new.s, new.id, new.n - old.n);
  update sums set total = total + new.n - old.n where s = new.s;
  if new.n = 13 then signal sqlstate '45000'; end if;
end;
create trigger t_ad after delete on t for each row begin
  insert into audit (s, id, n) values (old.s, old.id, -old.n);
  update sums set total = total - old.n, cnt = cnt - 1 where s = old.s;
end;
create trigger audit_ai after insert on audit for each row update counts set c = c + 1 where s = new.s;
create procedure adds(k int, first int, many int) begin
  declare i int default 0;
  create temporary table if not exists tmp (i int primary key, v varchar(300));
  while i < many do
    insert into t values (first + i, k, i, repeat('x', 200));
    replace into tmp values (i, repeat('y', 300));
    set i = i + 1;
  end while;
end";

/// The rows of a session: the number of each.
type Rows = BTreeMap<i32, i32>;

/// What a session has done: its rows by its last commit, and by the one that it may have been in.
#[derive(Debug, Clone, Default)]
struct Done {
    commits: i32,
    rows: Rows,
    next: Option<Rows>,
}

/// Statements of one transaction of session `s`, and its rows afterwards.
fn transaction(rng: &mut Rng, s: usize, rows: &Rows) -> (Vec<String>, Rows) {
    let (mut statements, mut after) = (vec!["begin".to_owned()], rows.clone());
    for _ in 0..1 + rng.below(4) {
        let free = (s as i32 * 1000..).find(|id| !after.contains_key(id)).unwrap();
        let known: Vec<i32> = after.keys().copied().collect();
        let some = (!known.is_empty()).then(|| known[rng.index(known.len())]);
        match (rng.below(6), some) {
            (0 | 1, _) => {
                let many = 1 + rng.below(5) as i32;
                let many = (free..free + many).take_while(|id| !after.contains_key(id)).count() as i32;
                statements.push(format!("call adds({s}, {free}, {many})"));
                after.extend((0..many).map(|i| (free + i, i)));
            }
            (2, Some(id)) => {
                statements.push(format!("update t set n = n + 100 where s = {s} and id >= {id}"));
                after.range_mut(id..).for_each(|(_, n)| *n += 100);
            }
            (3, Some(id)) => {
                statements.push(format!("delete from t where id = {id}"));
                after.remove(&id);
            }
            // It fails in its last row, and its triggers' work goes with it.
            (4, Some(id)) => {
                statements.push(format!("insert into t values ({free}, {s}, 5, 'a'), ({id}, {s}, 5, 'b')"));
            }
            (_, Some(id)) => statements.push(format!("update t set n = 13 where id = {id}")),
            (_, None) => {}
        }
    }
    (statements, after)
}

/// A definition of each kind, in the version `n`.
fn definitions(n: u64) -> [(String, String); 3] {
    [
        (
            format!("create or replace view v as select id, {n} as version from t"),
            "select distinct version from v".into(),
        ),
        (
            format!(
                "drop procedure if exists p; create procedure p() select {n} as version, '{}' as x",
                "z".repeat(n as usize % 900)
            ),
            "call p()".into(),
        ),
        (
            format!(
                "drop trigger if exists m_bi; create trigger m_bi before update on marks for each row set @v = {n}"
            ),
            "select action_statement from information_schema.triggers where trigger_name = 'm_bi'".into(),
        ),
    ]
}

/// After a crash: all that the tables must have in common.
fn check(db: &Arc<Database>, done: &mut [Done], context: &str) {
    let mut root = session(db);
    run(&mut root, "use d").unwrap();
    for s in 0..SESSIONS {
        let rows = run(&mut root, &format!("select id, n from t where s = {s} order by id")).unwrap();
        let found: Rows = rows
            .iter()
            .map(|row| row.split_once('|').unwrap())
            .map(|(id, n)| (id.parse().unwrap(), n.parse().unwrap()))
            .collect();
        let mark: i32 =
            run(&mut root, &format!("select m from marks where s = {s}")).unwrap()[0].parse().unwrap();
        let done = &mut done[s];
        match done.next.take() {
            Some(next) if mark == done.commits + 1 => {
                done.commits = mark;
                done.rows = next;
            }
            _ => assert_eq!(mark, done.commits, "{context}: commits of session {s}"),
        }
        assert_eq!(found, done.rows, "{context}: rows of session {s}");
        let (total, count) = (found.values().sum::<i32>(), found.len());
        let sums = run(&mut root, &format!("select total, cnt from sums where s = {s}")).unwrap();
        assert_eq!(sums, [format!("{total}|{count}")], "{context}: sums of session {s}");
        let audited =
            run(&mut root, &format!("select ifnull(sum(n), 0), count(*) from audit where s = {s}")).unwrap();
        let counted = run(&mut root, &format!("select c from counts where s = {s}")).unwrap();
        assert_eq!(
            audited,
            [format!("{total}|{}", counted[0])],
            "{context}: what was written of session {s}"
        );
    }
    for table in ["t", "audit", "sums", "counts", "marks"] {
        let checked = run(&mut root, &format!("check table {table}")).unwrap();
        assert!(checked.iter().all(|row| row.ends_with("|OK")), "{context}: {checked:?}");
        let all = run(&mut root, &format!("select count(*) from {table} use index ()")).unwrap();
        for index in run(&mut root, &format!("show index from {table}")).unwrap() {
            let name = index.split('|').nth(2).unwrap();
            let by_index =
                run(&mut root, &format!("select count(*) from {table} force index (`{name}`)")).unwrap();
            assert_eq!(by_index, all, "{context}: {table}.{name}");
        }
    }
    assert_eq!(run(&mut root, "select * from tmp").unwrap_err().code, 1146, "{context}: a temporary table");
}

fn work(rng: &mut Rng, disk: &SimDisk, db: &Arc<Database>, done: &mut [Done], defined: &mut Defined) {
    let mut sessions: Vec<Connection> = (0..SESSIONS).map(|_| session(db)).collect();
    if sessions.iter_mut().any(|session| run(session, "use d").is_err()) {
        return;
    }
    while !disk.is_off() {
        let s = rng.index(SESSIONS);
        if rng.one_in(8) {
            defined.change(rng, disk, &mut sessions[s]);
            continue;
        }
        let (statements, after) = transaction(rng, s, &done[s].rows);
        let failed = |e: SqlError, sql: &str| {
            assert!(disk.is_off() || matches!(e.code, 1062 | 1644), "{sql}: {e}");
        };
        for sql in statements {
            run(&mut sessions[s], &sql).map_or_else(|e| failed(e, &sql), drop);
        }
        if rng.one_in(5) {
            run(&mut sessions[s], "rollback").map_or_else(|e| failed(e, "rollback"), drop);
            continue;
        }
        let mark = done[s].commits + 1;
        let marked = run(&mut sessions[s], &format!("update marks set m = {mark} where s = {s}"));
        marked.map_or_else(|e| failed(e, "mark"), drop);
        if disk.is_off() {
            return;
        }
        done[s].next = Some(after);
        if run(&mut sessions[s], "commit").is_err() {
            assert!(disk.is_off(), "a commit failed");
            return;
        }
        done[s].commits = mark;
        done[s].rows = done[s].next.take().unwrap_or_default();
        if rng.one_in(6) {
            let _ = db.engine().core().purge_step();
        }
        if rng.one_in(10) {
            let _ = db.engine().core().storage.flush_everything();
        }
    }
}

/// Versions of what is defined; of a change that was cut off both.
#[derive(Debug, Clone, Default)]
struct Defined {
    versions: [u64; 3],
    cut: Option<(usize, u64)>,
    last: u64,
    /// How often the power went off in a change.
    cuts: u32,
}

impl Defined {
    fn change(&mut self, rng: &mut Rng, disk: &SimDisk, session: &mut Connection) {
        let kind = rng.index(3);
        self.last += 1;
        let (sql, _) = &definitions(self.last)[kind];
        match run(session, sql) {
            Ok(_) => self.versions[kind] = self.last,
            Err(e) => {
                assert!(disk.is_off(), "{sql}: {e}");
                self.cut = Some((kind, self.last));
            }
        }
    }

    fn check(&mut self, db: &Arc<Database>, context: &str) {
        let mut root = session(db);
        run(&mut root, "use d; insert ignore into t values (-1, null, null, null)").unwrap();
        for kind in 0..3 {
            let (old, new) = (self.versions[kind], self.cut.filter(|cut| cut.0 == kind).map(|cut| cut.1));
            let found = run(&mut root, &definitions(0)[kind].1);
            let is = |n: u64| match (&found, n) {
                (Ok(rows), n) if n > 0 => {
                    let row = rows.first().map_or("", String::as_str);
                    row == n.to_string()
                        || row.starts_with(&format!("{n}|{}", "z".repeat(n as usize % 900)))
                        || row.ends_with(&format!("= {n}"))
                }
                (Ok(rows), _) => rows.is_empty(),
                (Err(e), _) => n == 0 && matches!(e.code, 1146 | 1305),
            };
            // Procedure and trigger are dropped first.
            let between = new.is_some() && kind > 0 && is(0);
            assert!(
                is(old) || new.is_some_and(&is) || between,
                "{context}: {old} or {new:?}, not {found:?}, kind {kind}"
            );
            if let Some(new) = new {
                self.cuts += 1;
                self.versions[kind] = if between {
                    0
                } else if is(new) {
                    new
                } else {
                    old
                };
            }
        }
        self.cut = None;
        run(&mut root, "delete from t where id = -1; delete from audit where s is null").unwrap();
    }
}

#[test]
fn what_triggers_did_goes_with_their_transaction() {
    let first: u64 = std::env::var("PROGRAMS_FIRST").map_or(0, |n| n.parse().unwrap());
    let seeds: u64 = std::env::var("PROGRAMS_SEEDS").map_or(10, |n| n.parse().unwrap());
    let (mut unfinished, mut cut_definitions) = (0, 0);
    for seed in first..first + seeds {
        let mut rng = Rng::new(seed);
        let mut disk = SimDisk::new(seed);
        disk.put_dir("/db".as_ref());
        let mut db = open(&disk).unwrap();
        run(&mut session(&db), SETUP).unwrap();
        let (mut done, mut defined) = (vec![Done::default(); SESSIONS], Defined::default());
        for round in 0..4 {
            let context = format!("seed {seed}, round {round}");
            disk.arm_cut(disk.ops() + 1 + rng.below(400));
            work(&mut rng, &disk, &db, &mut done, &mut defined);
            unfinished += done.iter().filter(|done| done.next.is_some()).count();
            drop(db);
            disk = if rng.one_in(4) { disk.after_kill() } else { disk.restart() };
            if rng.one_in(3) {
                disk.arm_cut(disk.ops() + 1 + rng.below(100));
                drop(open(&disk));
                disk = disk.restart();
            }
            db = open(&disk).unwrap_or_else(|e| panic!("{context}: {e}"));
            while db.engine().core().rollback_step().unwrap() {}
            check(&db, &mut done, &context);
            defined.check(&db, &context);
        }
        cut_definitions += defined.cuts;
    }
    assert!(
        unfinished > 3 && cut_definitions > 0,
        "the power went off in {unfinished} commits, {cut_definitions} definitions"
    );
}
