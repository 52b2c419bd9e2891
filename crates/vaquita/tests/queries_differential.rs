//! Random queries ([`vaquita_testkit::queries`]) on the real servers and on Vaquita: their rows are the same. MySQL 5.6.24 plays
//! what it knows, MariaDB 10.11 the rest. 5.6.24 is not asked for BETWEEN with NULL and with numbers above 2^63: of dates it does not find
//! what is outside of an end that is known, and such numbers it takes for negative ones (MariaDB and later MySQL do not); and for
//! IS NULL of what XOR gives, which it does not know.
//!
//! A server that gives other rows with its indexes than without is no judge: where it gives those of Vaquita without them, nothing
//! differs. Both read one key of an index for BETWEEN with ends that are one text to the connection's collation and two to the
//! column's ('A' and 'a' of utf8mb4_bin), and 5.6.24 looks at one row of each group only when DISTINCT follows an index and EXISTS
//! names another column of it. MariaDB is no judge either where it takes the year of `s.y = x.y AND s.y = 2155` for a text that is no
//! time, which its warning tells: 5.6.24 finds the rows.
//!
//! `VAQUITA_QUERIES=100000` plays more of them than those of every day, `VAQUITA_QUERY_SEED=7` others;
//! `VAQUITA_QUERY_KEEP=FOLDER` keeps the statements.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::transcript;

use std::fmt::Write as _;
use vaquita_peers::{MariaDb, Mysql56, Options, Server};
use vaquita_testkit::queries::{Dress, Judge, Queries};

/// Queries of one set of tables.
const OF_ONE_SET: u64 = 50;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect(name))
}

/// What is played of a seed.
struct Script {
    tables: String,
    /// Each with what it is without indexes.
    queries: Vec<(String, String)>,
}

impl Script {
    fn text(&self) -> String {
        let queries: String = self.queries.iter().map(|(query, _)| format!("{query};\n")).collect();
        format!("{}{queries}", self.tables)
    }
}

/// Tables of a seed, and queries that this server may judge.
fn script(seed: u64, judge: Judge) -> Script {
    let mut random = Queries::new(seed);
    let mut script = Script { tables: String::new(), queries: Vec::new() };
    for statement in random.tables() {
        writeln!(script.tables, "{statement};").unwrap();
    }
    for n in 0..OF_ONE_SET {
        let query = random.query(n + seed);
        let dress = if n % 2 == 0 { Dress::Plain } else { random.dress() };
        let forms = random.forms(query, dress);
        let known: Vec<usize> = (0..forms.len()).filter(|&form| forms[form].judge == judge).collect();
        let Some(&form) = known.get(n as usize / 8 % known.len().max(1)) else { continue };
        let sql = forms[form].sql.clone();
        let is_beyond = match judge {
            Judge::Mysql56 => is_beyond_5_6(&sql),
            _ => is_beyond_mariadb(&sql),
        };
        if !is_beyond {
            script.queries.push((sql, random.forms(query, Dress::NoIndex).swap_remove(form).sql));
        }
    }
    script
}

/// Whether a query has a BETWEEN or an XOR that 5.6.24 answers wrongly.
fn is_beyond_5_6(query: &str) -> bool {
    let ends = |from: &str| {
        let words: Vec<&str> = from.split(' ').take(5).map(|word| word.trim_end_matches(')')).collect();
        words.iter().any(|word| ["null", "18446744073709551615"].contains(word))
    };
    query.contains(" xor ") || query.split(" between ").skip(1).any(ends)
}

/// Whether years are compared with each other and with a list: what MariaDB makes of both compares them as moments, and finds none.
fn is_beyond_mariadb(query: &str) -> bool {
    query.contains(".h in (") && query.contains(".h = ")
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

fn is_query(step: &str) -> bool {
    step.starts_with("> select") || step.starts_with("> with")
}

/// An answer with its rows in order; warnings do not count.
fn comparable(step: &str) -> Vec<String> {
    let lines = step.lines().filter(|line| !line.starts_with("! "));
    // Of equal values of a group any may be told: letters of both cases, spaces at the end.
    let cells = |line: &str| line.split('\t').map(str::trim_end).collect::<Vec<_>>().join("\t");
    let mut lines: Vec<String> = lines.map(|line| cells(line).to_lowercase()).collect();
    if is_query(step) && lines.len() > 1 {
        // Of the text of an expression clients of utf8mb4 get 255 bytes from 5.6.24, others 256 characters.
        let names: Vec<&str> =
            lines[1].split('\t').map(|name| &name[..name.floor_char_boundary(255)]).collect();
        lines[1] = cells(&names.join("\t"));
        // The statement and the names of the columns stay where they are.
        lines[2..].sort_unstable();
    }
    lines
}

/// Whether the server gives the rows that Vaquita gave when it has to do without indexes.
fn agrees_without_indexes(target: &str, seed: u64, script: &Script, got: &str) -> bool {
    let Some(query) = got.lines().next().and_then(|line| line.strip_prefix("> ")) else { return false };
    let Some((_, without)) = script.queries.iter().find(|(sql, _)| sql == query) else { return false };
    let steps = play(target, seed, &format!("{}{without};", script.tables));
    // Neither the statement nor the names of its columns, in which subqueries are dressed otherwise.
    let rows = |step: &str| comparable(step).into_iter().skip(2).collect::<Vec<_>>();
    let answer = steps.iter().find(|step| is_query(step));
    answer.is_some_and(|answer| rows(answer) == rows(got))
}

/// Whether the server warns that a year it was given as a number is no time.
fn takes_years_for_times(wanted: &str) -> bool {
    let year = |line: &str| {
        let value = line.strip_prefix("! Warning 1292 Truncated incorrect datetime value: '")?;
        let year = value.strip_suffix('\'')?;
        Some(year.len() == 4 && year.bytes().all(|b| b.is_ascii_digit()))
    };
    wanted.lines().any(|line| year(line) == Some(true))
}

/// Queries that this server may judge, of so many.
fn compare(peer: &Server, name: &str, judge: Judge) {
    let dir = std::env::temp_dir().join(format!("vaquita-queries-{name}-{}", std::process::id()));
    let target = format!("mysql://root@127.0.0.1:{}", peer.port());
    let (queries, first) = (number("VAQUITA_QUERIES", 2_000), number("VAQUITA_QUERY_SEED", 1));
    let (mut differing, mut played) = (String::new(), 0);
    for seed in first..first + queries.div_ceil(OF_ONE_SET) {
        let script = script(seed, judge);
        let text = script.text();
        if let Ok(into) = std::env::var("VAQUITA_QUERY_KEEP") {
            std::fs::write(format!("{into}/{name}-{seed}.sql"), &text).unwrap();
        }
        let wanted = play(&target, seed, &text);
        let got = play(&dir.display().to_string(), seed, &text);
        assert_eq!(wanted.len(), got.len(), "seed {seed}");
        for (wanted, got) in wanted.iter().zip(&got) {
            played += u64::from(is_query(got));
            if comparable(wanted) != comparable(got)
                && !takes_years_for_times(wanted)
                && !agrees_without_indexes(&target, seed, &script, got)
            {
                writeln!(differing, "=== seed {seed}\n{wanted}\n--- Vaquita\n{got}\n").unwrap();
            }
        }
    }
    println!("{played} queries that {name} knows");
    std::fs::remove_dir_all(&dir).unwrap();
    assert!(differing.is_empty(), "other than {name}:\n{differing}");
}

#[test]
fn queries_give_what_they_give_in_mysql() {
    let peer = Mysql56::start(Options::new()).expect("a server of 5.6.24");
    compare(&peer, "MySQL 5.6.24", Judge::Mysql56);
}

#[test]
fn queries_give_what_they_give_in_mariadb() {
    // What it makes of some EXISTS gives other rows than the query it was made of, and of a column of another character set
    // its cache of subqueries remembers too little.
    let options = Options::new().set("optimizer_switch", "exists_to_in=off,subquery_cache=off");
    let peer = MariaDb::start(options).expect("a server of MariaDB");
    compare(&peer, "MariaDB", Judge::MariaDb);
}
