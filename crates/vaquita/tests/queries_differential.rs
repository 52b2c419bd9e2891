//! Random queries ([`vaquita_testkit::queries`]) on the real servers and on Vaquita: their rows are the same. MySQL 5.6.24 plays
//! what it knows, MariaDB 10.11 the rest. 5.6.24 is not asked for BETWEEN with NULL and with numbers above 2^63: of dates it does not find
//! what is outside of an end that is known, and such numbers it takes for negative ones (MariaDB and later MySQL do not); and for
//! IS NULL of what XOR gives, which it does not know.
//!
//! A server that gives other rows with its indexes than without is no judge: where it gives those of Vaquita without them, nothing
//! differs. Both read one key of an index for BETWEEN with ends that are one text to the connection's collation and two to the
//! column's ('A' and 'a' of utf8mb4_bin), and 5.6.24 looks at one row of each group only when DISTINCT follows an index and EXISTS
//! names another column of it.
//!
//! `VAQUITA_QUERIES=100000` plays more of them than those of every day, `VAQUITA_QUERY_SEED=7` others;
//! `VAQUITA_QUERY_KEEP=FOLDER` keeps the statements.
#![allow(clippy::unwrap_used, reason = "a test")]

#[path = "common/transcript.rs"]
mod transcript;

use std::fmt::Write as _;
use vaquita_peers::{MariaDb, Mysql56, Options, Server};
use vaquita_testkit::queries::{KINDS, KINDS_OF_5_6, Queries, forms};

/// Queries of one set of tables.
const OF_ONE_SET: u64 = 50;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect(name))
}

/// Tables of a seed and queries of these kinds.
fn script(seed: u64, kinds: std::ops::Range<u64>) -> String {
    let mut random = Queries::new(seed);
    let mut script = String::new();
    for statement in random.tables() {
        writeln!(script, "{statement};").unwrap();
    }
    for n in 0..OF_ONE_SET {
        let kind = kinds.start + n % (kinds.end - kinds.start);
        let mut forms = forms(&mut random, kind);
        // Others have WITH and INTERSECT.
        let old = if kind < 4 { forms.len() } else { 1 };
        let query = forms.swap_remove(n as usize / 8 % old);
        if kind >= KINDS_OF_5_6 || !is_beyond_5_6(&query) {
            writeln!(script, "{query};").unwrap();
        }
    }
    script
}

/// Whether a query has a BETWEEN or an XOR that 5.6.24 answers wrongly.
fn is_beyond_5_6(query: &str) -> bool {
    let ends = |from: &str| {
        let words: Vec<&str> = from.split(' ').take(3).map(|word| word.trim_end_matches(')')).collect();
        words.iter().any(|word| ["null", "18446744073709551615"].contains(word))
    };
    query.contains(" xor ") || query.split(" between ").skip(1).any(ends)
}

fn play(target: &str, seed: u64, script: &str) -> Vec<String> {
    let text = format!(
        "set names utf8mb4; set sql_mode = ''; drop database if exists rq; create database rq default character set utf8mb4;
         use rq; select 'begin';\n{script}
         drop database rq;"
    );
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let arguments = ["vaquita", "sql", target, "--transcript", "--execute", &text].map(Into::into);
    let code = vaquita::cli::run_code(arguments, &mut out, &mut err);
    let (out, err) = (String::from_utf8_lossy(&out), String::from_utf8_lossy(&err));
    assert_eq!((code, err.as_ref()), (0, ""), "seed {seed} on {target}: {out}");
    let (_, transcript) = out.split_once("= 1 row\n").expect("it began");
    transcript::steps(transcript)
}

/// An answer with its rows in order; warnings do not count.
fn comparable(step: &str) -> Vec<String> {
    let lines = step.lines().filter(|line| !line.starts_with("! "));
    // Of equal values of a group any may be told: letters of both cases, spaces at the end.
    let cells = |line: &str| line.split('\t').map(str::trim_end).collect::<Vec<_>>().join("\t");
    let mut lines: Vec<String> = lines.map(|line| cells(line).to_lowercase()).collect();
    if step.starts_with("> select") && lines.len() > 2 {
        // The statement and the names of the columns stay where they are.
        lines[2..].sort_unstable();
    }
    lines
}

/// The query with all indexes of its tables out of use.
fn without_indexes(query: &str) -> String {
    let mut out = String::new();
    let mut words = query.split(' ').peekable();
    while let Some(word) = words.next() {
        write!(out, "{word} ").unwrap();
        if let (["t0" | "t1" | "t2"], Some(alias)) = ([word], words.peek()) {
            let name = alias.trim_end_matches(')');
            write!(out, "{name} use index (){} ", &alias[name.len()..]).unwrap();
            words.next();
        }
    }
    out
}

#[test]
fn indexes_go_out_of_use_wherever_a_table_stands() {
    let query = "select x.a from t0 x join t1 y on x.b = y.b where x.c in (select s.c from t2 s)";
    let without = "select x.a from t0 x use index () join t1 y use index () on x.b = y.b where x.c in \
                   (select s.c from t2 s use index ()) ";
    assert_eq!(without_indexes(query), without);
}

/// Whether the server gives the rows that Vaquita gave when it has to do without indexes.
fn agrees_without_indexes(target: &str, seed: u64, script: &str, got: &str) -> bool {
    let Some(query) = got.lines().next().and_then(|line| line.strip_prefix("> ")) else { return false };
    let is_definition =
        |line: &&str| ["drop ", "create ", "insert "].iter().any(|word| line.starts_with(word));
    let tables = script.lines().filter(is_definition).collect::<Vec<_>>().join("\n");
    let steps = play(target, seed, &format!("{tables}\n{};", without_indexes(query)));
    let rows = |step: &str| comparable(step).split_off(1);
    let answer = steps.iter().find(|step| step.starts_with("> select") || step.starts_with("> with"));
    answer.is_some_and(|answer| rows(answer) == rows(got))
}

/// Queries of these kinds, a share of all.
fn compare(peer: &Server, name: &str, kinds: std::ops::Range<u64>, share: u64) {
    let dir = std::env::temp_dir().join(format!("vaquita-queries-{name}-{}", std::process::id()));
    let target = format!("mysql://root@127.0.0.1:{}", peer.port());
    let (queries, first) = (number("VAQUITA_QUERIES", 2_000), number("VAQUITA_QUERY_SEED", 1));
    let mut differing = String::new();
    for seed in first..first + (queries * share / KINDS).div_ceil(OF_ONE_SET) {
        let script = script(seed, kinds.clone());
        if let Ok(into) = std::env::var("VAQUITA_QUERY_KEEP") {
            std::fs::write(format!("{into}/{name}-{seed}.sql"), &script).unwrap();
        }
        let wanted = play(&target, seed, &script);
        let got = play(&dir.display().to_string(), seed, &script);
        assert_eq!(wanted.len(), got.len(), "seed {seed}");
        for (wanted, got) in wanted.iter().zip(&got) {
            if comparable(wanted) != comparable(got) && !agrees_without_indexes(&target, seed, &script, got) {
                writeln!(differing, "=== seed {seed}\n{wanted}\n--- Vaquita\n{got}\n").unwrap();
            }
        }
    }
    std::fs::remove_dir_all(&dir).unwrap();
    assert!(differing.is_empty(), "other than {name}:\n{differing}");
}

#[test]
fn queries_give_what_they_give_in_mysql() {
    let peer = Mysql56::start(Options::new()).expect("a server of 5.6.24");
    compare(&peer, "MySQL 5.6.24", 0..KINDS_OF_5_6, KINDS_OF_5_6);
}

#[test]
fn queries_give_what_they_give_in_mariadb() {
    // What it makes of some EXISTS gives other rows than the query it was made of, and of a column of another character set
    // its cache of subqueries remembers too little.
    let options = Options::new().set("optimizer_switch", "exists_to_in=off,subquery_cache=off");
    let peer = MariaDb::start(options).expect("a server of MariaDB");
    compare(&peer, "MariaDB", KINDS_OF_5_6..KINDS, KINDS - KINDS_OF_5_6);
}
