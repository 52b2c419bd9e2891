//! The example of the README, killed at random moments: no money is made or lost, no transfer that was reported is gone.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

#[allow(dead_code)]
#[path = "../../../examples/bank.rs"]
mod bank;

const KILLS: u64 = 8;
/// Says to this program that it is the one to be killed.
const CHILD: &str = "VAQUITA_BANK";

/// This program again, as the example.
fn command(dir: &Path, transfers: u64) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("the program has a path"));
    command.arg(dir).arg(transfers.to_string()).env(CHILD, "1");
    command
}

/// Runs the example until it has reported `lines` transfers, then kills it. The total it found at its start, and the
/// last transfer that each thread reported.
fn run(dir: &Path, lines: u64) -> (u64, BTreeMap<u64, u64>) {
    let mut child = command(dir, u64::MAX).stdout(Stdio::piped()).spawn().expect("a program can be started");
    let out = BufReader::new(child.stdout.take().expect("its output is piped"));
    let mut made = BTreeMap::new();
    let mut before = None;
    for (n, line) in (0..).zip(out.lines()) {
        let line = line.expect("lines of text");
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["total", total, "after", transfers, "transfers"] => {
                assert_eq!(total, "100000");
                before = Some(transfers.parse().expect("a number"));
            }
            [thread, count] => {
                made.insert(thread.parse().expect("a number"), count.parse().expect("a number"));
            }
            _ => panic!("what is this: {line}"),
        }
        if n == lines {
            child.kill().expect("it runs");
        }
    }
    child.wait().expect("it ends");
    (before.expect("it reports what it finds"), made)
}

fn main() {
    if std::env::var_os(CHILD).is_some() {
        let args: Vec<String> = std::env::args().skip(1).collect();
        let transfers = args[1].parse().expect("a number");
        return bank::run(&args[0], transfers).expect("the bank works");
    }
    the_sum_is_always_right();
}

fn the_sum_is_always_right() {
    let dir = std::env::temp_dir().join(format!("vaquita-bank-{}", std::process::id()));
    let mut reported = BTreeMap::new();
    for round in 0..KILLS {
        let (found, made) = run(&dir, 1 + round * 37 % 150);
        let sure: u64 = reported.values().sum();
        assert!(found >= sure, "{found} transfers are there, {sure} were reported");
        reported.extend(made);
    }
    // And to a quiet end.
    let done = command(&dir, 5).output().expect("it works");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let text = String::from_utf8(done.stdout).expect("it works");
    assert!(text.trim_end().lines().last().expect("it works").starts_with("total 100000 after"), "{text}");
    std::fs::remove_dir_all(&dir).expect("it works");
}
