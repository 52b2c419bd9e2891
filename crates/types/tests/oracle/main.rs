//! Answers that MySQL 5.6.24 gave, recorded in `tests/recorded`, against ours. Every row holds the statement's parts, so it
//! can be asked again; the first line of a file names its columns.

mod compare;
mod convert;
mod literal;
mod numbers;
mod times;

use vaquita_types::temporal::{Date, DateContext};
use vaquita_types::{Cx, Level, SqlMode, TimeZone, Warnings};

/// The rows of a recorded file, `\N`-free: columns separated by tabs, with `\t`, `\n`, `\0` and `\\` escaped.
fn rows(text: &str) -> Vec<Vec<String>> {
    text.lines().filter(|l| !l.starts_with("# ")).map(|l| l.split('\t').map(unescape).collect()).collect()
}

fn unescape(field: &str) -> String {
    let mut out = String::new();
    let mut chars = field.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('t') => out.push('\t'),
                Some('n') => out.push('\n'),
                Some('0') => out.push('\0'),
                Some(c) => out.push(c),
                None => {}
            },
            c => out.push(c),
        }
    }
    out
}

/// Collects differences, so that one run shows them all. Those of `known.tsv` (reason, file, row) are expected, and must
/// exist.
struct Report {
    rows: usize,
    different: Vec<String>,
    known: Vec<String>,
    seen: Vec<String>,
}

impl Report {
    fn new(file: &str) -> Report {
        let known = rows(include_str!("../recorded/known.tsv"));
        let known = known.iter().filter(|k| k[1] == file).map(|k| k[2].clone()).collect();
        Report { rows: 0, different: Vec::new(), known, seen: Vec::new() }
    }

    fn check(&mut self, what: &[String], got: &str, want: &str) {
        self.rows += 1;
        if got != want {
            let key = what.join("|");
            if self.known.contains(&key) {
                self.seen.push(key);
                return;
            }
            if std::env::var_os("VAQUITA_LIST_DIFFERENCES").is_some() {
                println!("KEY\t{key}");
            }
            self.different.push(format!("{what:?}\n   got {got}\n  want {want}"));
        }
    }

    fn finish(self) {
        assert!(self.rows > 100, "too few rows were compared");
        let shown = self.different.iter().take(60).cloned().collect::<Vec<_>>().join("\n");
        let gone: Vec<&String> = self.known.iter().filter(|k| !self.seen.contains(k)).collect();
        assert!(gone.is_empty(), "known differences are gone, take them off the list: {gone:#?}");
        assert!(self.different.is_empty(), "{} of {} differ:\n{shown}", self.different.len(), self.rows);
    }
}

fn sql_mode(names: &str) -> SqlMode {
    let mut mode = SqlMode::default();
    for name in names.split(',').filter(|n| !n.is_empty()) {
        let bit = SqlMode::NAMES.iter().position(|n| *n == name).expect("a mode");
        mode |= SqlMode(1 << bit);
    }
    mode
}

/// The date on which the answers were recorded.
const TODAY: Date = Date { year: 2026, month: 11, day: 21 };

/// Runs `f` with the mode, gives its result and the warnings as recorded: `W1292 Truncated ...;N1265 ...`.
fn with_warnings<R>(mode: SqlMode, f: impl FnOnce(&mut Cx<'_>) -> R) -> (R, String) {
    let mut warnings = Warnings::new(64);
    let time_zone = TimeZone::UTC;
    let date = DateContext { mode, today: TODAY };
    let r = f(&mut Cx { date, time_zone: &time_zone, warnings: &mut warnings });
    let listed = warnings.list().iter().map(|w| {
        let level = match w.level {
            Level::Note => 'N',
            Level::Warning => 'W',
            Level::Error => 'E',
        };
        format!("{level}{} {}", w.code, w.message)
    });
    (r, listed.collect::<Vec<_>>().join(";"))
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("text")
}
