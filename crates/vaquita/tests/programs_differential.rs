//! Random stored programs ([`vaquita_testkit::programs`]) on MySQL 5.6.24 and on Vaquita: procedures, functions and triggers with
//! control flow, handlers, cursors, transactions and dynamic SQL give the same rows, errors, warnings, values of parameters and traces,
//! and leave the same tables.
//!
//! `VAQUITA_PROGRAMS=20000` plays more of them than those of every day, `VAQUITA_PROGRAM_SEED=7` others;
//! `VAQUITA_PROGRAM_KEEP=FOLDER` keeps the scripts and both transcripts of those that differ.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::transcript;

use std::fmt::Write as _;
use vaquita_peers::{Mysql56, Options};
use vaquita_testkit::programs::Programs;

/// Whether what the peer answers differently is its own error, with what `docs/compat.md` says of it: the script is compared up to there.
fn is_excepted(wanted: &str, got: &str) -> bool {
    // It finds recursion before a statement of a function begins, also in what the statement would not have called in the end.
    wanted.contains("! error 1424 (HY000) Recursive stored functions and triggers are not allowed.")
        // Of two errors of a statement it tells the other one.
        || wanted.contains("! error 1093 (HY000) ") && got.contains("! error 1305 (42000) FUNCTION ")
        || wanted.contains("! error 1364 (HY000) ")
            && (got.contains("! error 1442 (HY000) ") || got.contains("! error 1305 (42000) FUNCTION "))
        // A date that is NULL has a collation that it was not given.
        || wanted.contains("(latin1_swedish_ci,NUMERIC) for operation")
        // UPDATE tells of a foreign key in a way that no handler is asked.
        || ["1451", "1452"].iter().any(|code| {
            let told = format!("! error {code} (23000) ");
            wanted.starts_with("> call ") && wanted.contains(&told) && !got.contains(&told)
        })
        // A column or variable that is a date becomes an integer with a time.
        || wanted != got && without_midnights(wanted) == without_midnights(got)
        // It has not opened every table for what triggers call.
        || wanted.contains("! error 1146 (42S02) ")
            && !wanted.contains("nope")
            && got.contains("! error 1442 (HY000) ")
        // What a function in an argument of CALL changes may not be read by another argument.
        || wanted.starts_with("> call ") && wanted.contains("! error 1442 (HY000) ") && !got.contains("! error 1442 ")
        // A text that is too long and comes from a column or variable.
        || wanted.contains("! error 1265 (01000) ") && got.contains("! error 1406 (22001) ")
        // Arithmetic of exact numbers with text that is none.
        || wanted.contains("Incorrect decimal value: '' for column '' at row -1")
        // What it says of temporary tables in ROLLBACK comes in the place of older conditions.
        || wanted.contains("! Warning 1752 ") || wanted.contains("! Warning 1751 ")
        // Within NOT (a AND b) a comparison is told of as its opposite.
        || is_opposite(wanted, got)
}

/// With `20010101` for `20010101000000`.
fn without_midnights(step: &str) -> String {
    let mut out = String::new();
    let mut rest = step;
    while let Some(at) = rest.find("000000") {
        let (before, after) = (&rest[..at], &rest[at + 6..]);
        let digits = before.bytes().rev().take_while(u8::is_ascii_digit).count();
        out.push_str(before);
        if digits != 8 || after.starts_with(|c: char| c.is_ascii_digit()) {
            out.push_str("000000");
        }
        rest = after;
    }
    out + rest
}

/// Whether both are error 1267, and differ in nothing but the comparison that they name: what one of them names is the opposite of the
/// other.
fn is_opposite(wanted: &str, got: &str) -> bool {
    let parts = |step: &str| {
        let (before, rest) = step.split_once("! error 1267 (HY000) ")?;
        let (operands, operation) = rest.split_once(" for operation ")?;
        Some((format!("{before}{operands}"), operation.trim().to_owned()))
    };
    let (Some((wanted, a)), Some((got, b))) = (parts(wanted), parts(got)) else { return false };
    let opposites = [("'='", "'<>'"), ("'<'", "'>='"), ("'>'", "'<='")];
    wanted == got && opposites.iter().any(|&(x, y)| (&*a, &*b) == (x, y) || (&*a, &*b) == (y, x))
}

/// Whether a condition says no more than the one before it: a constant date that is none is looked at once or twice; of a row whose values
/// cannot be stored only the first error is kept here.
fn is_more_of(before: &str, line: &str) -> bool {
    let no_date = "! Warning 1292 Incorrect datetime value: ";
    let is_of_value = |line: &str| {
        let codes = ["1048", "1264", "1265", "1292", "1366", "1406"];
        line.strip_prefix("! Error ").is_some_and(|rest| codes.iter().any(|code| rest.starts_with(code)))
    };
    line.starts_with(no_date) && line == before || is_of_value(line) && is_of_value(before)
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect(name))
}

fn play(target: &str, script: &str) -> Vec<String> {
    let text = format!(
        "set names utf8mb4; set time_zone = '+00:00'; set timestamp = 1000000000; drop database if exists rp;
         create database rp default character set utf8mb4; use rp; select 'begin';\n{script}"
    );
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let arguments = ["vaquita", "sql", target, "--transcript", "--execute", &text].map(Into::into);
    let code = vaquita::cli::run_code(arguments, &mut out, &mut err);
    let (out, err) = (String::from_utf8_lossy(&out), String::from_utf8_lossy(&err));
    assert_eq!((code, err.as_ref()), (0, ""), "{target}: {out}");
    let (_, transcript) = out.split_once("= 1 row\n").expect("it began");
    transcript::steps(transcript)
}

/// Without what is known to differ: that 5.6.24 finds some modes outdated, what it says of temporary tables in ROLLBACK, and the number of a row, which it counts on through the
/// statements of a program. A message about what a function returns has its name only here, there the text of the call.
fn comparable(step: &str) -> String {
    let mut out = String::new();
    let noise = ["! Warning 1681 ", "! Warning 1751 ", "! Warning 1752 "];
    let mut last = "";
    for line in step.lines().filter(|line| !noise.iter().any(|noise| line.starts_with(noise))) {
        let before = std::mem::replace(&mut last, line);
        if is_more_of(before, line) {
            continue;
        }
        // The text of an expression has its constants worked out here.
        let mut rest = line.find("value is out of range in '").map_or(line, |at| &line[..at]);
        while let Some((before, after)) = rest.split_once(" at row ") {
            out.push_str(before);
            rest = after.trim_start_matches(|c: char| c.is_ascii_digit());
        }
        writeln!(out, "{rest}").unwrap();
    }
    let mut out = out.replace("for column 'x'", "for column 'f0'");
    for function in ["f0", "f1"] {
        let called = format!("for column '{function}(");
        while let Some(at) = out.find(&called) {
            let end = out[at..].find('\n').map_or(out.len(), |end| at + end);
            let close = out[at..end].rfind(')').map_or(end, |close| at + close + 1);
            out.replace_range(at + called.len() - 1..close, "");
        }
    }
    out
}

/// The first statement that they answer differently; what comes behind may follow from it.
fn difference<'s>(wanted: &'s [String], got: &'s [String]) -> Option<(&'s str, &'s str)> {
    let pairs = wanted.iter().zip(got);
    let differs = |(wanted, got): &(&String, &String)| comparable(wanted) != comparable(got);
    match pairs.into_iter().find(differs) {
        Some((wanted, got)) => Some((wanted, got)),
        None if wanted.len() != got.len() => Some(("another number of statements", "")),
        None => None,
    }
}

#[test]
fn programs_do_what_they_do_in_mysql() {
    let options = Options::new().set("innodb_flush_log_at_trx_commit", 0).set("sync_frm", 0);
    let peer = Mysql56::start(options).expect("a server of 5.6.24");
    let target = format!("mysql://root@127.0.0.1:{}", peer.port());
    let dir = std::env::temp_dir().join(format!("vaquita-programs-{}", std::process::id()));
    let (wanted, mut seed) = (number("VAQUITA_PROGRAMS", 200), number("VAQUITA_PROGRAM_SEED", 1));
    let kept = std::env::var("VAQUITA_PROGRAM_KEEP");
    let (mut played, mut differing) = (0, String::new());
    while played < wanted {
        let script = Programs::new(seed).script();
        let made = ["create procedure", "create function", "create trigger"];
        played += made.iter().map(|make| script.matches(make).count() as u64).sum::<u64>();
        if let Ok(into) = &kept {
            // Before it is played: it may not come to its end.
            std::fs::write(format!("{into}/{seed}.sql"), &script).unwrap();
        }
        let wanted = play(&target, &script);
        let got = play(&dir.display().to_string(), &script);
        let difference = difference(&wanted, &got).filter(|(wanted, got)| !is_excepted(wanted, got));
        if let Some((wanted, got)) = difference {
            writeln!(differing, "=== seed {seed}\n{wanted}\n--- Vaquita\n{got}\n").unwrap();
        }
        if let Ok(into) = &kept {
            match difference {
                None => std::fs::remove_file(format!("{into}/{seed}.sql")).unwrap(),
                Some(_) => {
                    std::fs::write(format!("{into}/{seed}.mysql"), wanted.join("\n")).unwrap();
                    std::fs::write(format!("{into}/{seed}.vaquita"), got.join("\n")).unwrap();
                }
            }
        }
        seed += 1;
    }
    std::fs::remove_dir_all(&dir).unwrap();
    assert!(differing.is_empty(), "other than MySQL 5.6.24:\n{differing}");
}
