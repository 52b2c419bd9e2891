//! Variables of waits for rows: how long they last, and what their end takes back.

use crate::variables::support::{Opened, open_with, root, run};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};
use vaquita_sql::Connection;

fn house(variables: &[(&str, &str)]) -> Opened {
    let opened = open_with(variables);
    run(&mut root(&opened.db), "create database d; use d; create table t (a int primary key, b int)");
    run(&mut root(&opened.db), "insert into d.t values (1, 0), (2, 0), (3, 0)");
    opened
}

const TIMEOUT: &str = "1205 Lock wait timeout exceeded; try restarting transaction";

#[test]
fn a_wait_for_a_row_ends_after_its_time_with_its_statement_or_its_transaction() {
    for (whole, left) in [("OFF", "7"), ("ON", "0")] {
        let opened = house(&[("innodb_rollback_on_timeout", whole)]);
        let (mut holder, mut c) = (root(&opened.db), root(&opened.db));
        run(&mut holder, "begin; update d.t set b = 1 where a = 1");
        run(&mut c, "set innodb_lock_wait_timeout = 1; begin; update d.t set b = 7 where a = 2");
        let begun = Instant::now();
        assert_eq!(run(&mut c, "update d.t set b = 7 where a = 1"), TIMEOUT);
        assert!(begun.elapsed() < Duration::from_secs(30), "not the 50 seconds of the default");
        run(&mut c, "commit");
        assert_eq!(run(&mut c, "select b from d.t where a = 2"), left, "innodb_rollback_on_timeout={whole}");
    }
}

/// Two transactions that close a cycle; the errors they end with.
fn close_a_cycle(opened: &Opened) -> Vec<String> {
    let both_hold = Arc::new(Barrier::new(2));
    let threads: Vec<_> = [(1, 2), (2, 1)]
        .into_iter()
        .map(|(first, second)| {
            let mut c: Connection = root(&opened.db);
            let both_hold = both_hold.clone();
            std::thread::spawn(move || {
                run(&mut c, "set innodb_lock_wait_timeout = 1; begin");
                run(&mut c, &format!("update d.t set b = b + 1 where a = {first}"));
                both_hold.wait();
                let answer = run(&mut c, &format!("update d.t set b = b + 1 where a = {second}"));
                run(&mut c, "rollback");
                answer
            })
        })
        .collect();
    let answers = threads.into_iter().map(|thread| thread.join().expect("no panic"));
    answers.filter(|answer| !answer.is_empty()).collect()
}

#[test]
fn deadlocks_are_found_or_end_by_their_time() {
    let opened = house(&[("innodb_deadlock_detect", "ON")]);
    let deadlock = "1213 Deadlock found when trying to get lock; try restarting transaction";
    assert_eq!(close_a_cycle(&opened), [deadlock]);
    let opened = house(&[("innodb_deadlock_detect", "OFF")]);
    let ends = close_a_cycle(&opened);
    assert!(!ends.is_empty() && ends.iter().all(|end| end == TIMEOUT), "{ends:?}");
}
