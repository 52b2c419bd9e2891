//! `vaquita-bench compare [ROWS [RUNS [WORKLOAD]]]`: every workload on every engine; `own`: Vaquita against the
//! machine. Run it in release.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use vaquita_bench::report::{Row, machine, table};
use vaquita_bench::workload::{self, Scratch, Workload};
use vaquita_bench::{
    Failure, alters, calls, changes, engines, fulltext, importing, locks, memcached, oltp, own, reading,
    views, windows,
};

const USAGE: &str =
    "usage: vaquita-bench compare [ROWS [RUNS [WORKLOAD]]]   (1000000 rows, 3 runs, all workloads)
       vaquita-bench own                                (lookups, reads, recovery, memory in their full sizes)
       vaquita-bench views [OPENS]                      (read views, with and without writers)
       vaquita-bench locks [COUNT]                      (locks where nobody waits)
       vaquita-bench database ROWS                      (rows and transactions through the engine's API)
       vaquita-bench changes [ROWS [KIND]]              (single changes of rows and their purge: processor time)
       vaquita-bench calls [COUNT]                      (a CALL of three point statements against the three sent by a client: server CPU)
       vaquita-bench oltp [rows=N] [seconds=S] [threads=N,..] [workloads=NAME,..] [prepared=yes|no|both] [servers=NAME,..] [before=BINARY] [rounds=N] [errors=only]
                                                        (sysbench on Vaquita, MySQL and MariaDB; errors=only: a second each, every cell)
       vaquita-bench memcached [servers=memcached,vaquita,vaquita-sql,mysql-sql] [seconds=S] [rows=N] [connections=N,..] [protocols=text,binary]
                                                        (gets and sets through memcached's protocols and SQL)
       vaquita-bench windows [rows=N] [rounds=N] [only=NAME,..] [servers=NAME,..] [before=BINARY]
                                                        (window functions and WITH RECURSIVE beside MariaDB)
       vaquita-bench alters [rows=N] [rounds=N] [seconds=S] [only=NAME,..] [servers=NAME,..]
                                                        (changes of definitions beside MySQL and MariaDB; writers meanwhile)
       vaquita-bench fulltext [megabytes=N] [piece=BYTES] [inserts=N] [rounds=N] [only=NAME,..] [servers=NAME,..] [before=BINARY]
                                                        (full-text indexes and searches beside MySQL, MariaDB and SQLite)
       vaquita-bench reading [ROWS]                     (point reads, scans, counts through the engine)
       vaquita-bench import [MEGABYTES]                 (a table's file that comes in beside a plain copy of it)
       vaquita-bench lookups ROWS | reads POOL_MIB | recovery REDO_MB | memory POOL_MIB";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["compare", rest @ ..] if rest.len() <= 3 => compare(rest),
        ["own"] => own(),
        ["views"] => views::views(2_000_000).map(drop),
        ["views", opens] => number(opens).and_then(views::views).map(drop),
        ["locks"] => locks::locks(2_000_000).map(drop),
        ["locks", count] => number(count).and_then(locks::locks).map(drop),
        ["calls"] => calls::calls(20_000),
        ["calls", count] => number(count).and_then(calls::calls),
        ["changes"] => changes::changes(200_000, ""),
        ["changes", rows] => number(rows).and_then(|rows| changes::changes(rows, "")),
        ["changes", rows, kind] => number(rows).and_then(|rows| changes::changes(rows, kind)),
        ["oltp", rest @ ..] => oltp::Plan::parse(rest).and_then(|plan| oltp::oltp(&plan)),
        ["memcached", rest @ ..] => memcached::Plan::parse(rest).and_then(|plan| memcached::memcached(&plan)),
        ["windows", rest @ ..] => windows::Plan::parse(rest).and_then(|plan| windows::windows(&plan)),
        ["alters", rest @ ..] => alters::Plan::parse(rest).and_then(|plan| alters::alters(&plan)),
        ["fulltext", rest @ ..] => fulltext::Plan::parse(rest).and_then(|plan| fulltext::fulltext(&plan)),
        ["reading"] => reading::reading(1_000_000),
        ["reading", rows] => number(rows).and_then(reading::reading),
        ["import"] => importing::importing(2_000),
        ["import", megabytes] => number(megabytes).and_then(importing::importing),
        ["database", rows] => number(rows).and_then(vaquita_bench::database::all),
        ["lookups", rows] => number(rows).and_then(own::lookups),
        ["reads", pool_mib] => number(pool_mib).and_then(|n| own::reads_beyond_pool((n << 20) as usize)),
        ["recovery", redo_mb] => number(redo_mb).and_then(|n| own::recovery(n * 1_000_000, 30 * n)),
        ["memory", pool_mib] => number(pool_mib).and_then(|n| own::memory((n << 20) as usize)),
        _ => Err(USAGE.into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("{e}");
            ExitCode::FAILURE
        }
    }
}

/// The sizes that the targets are stated for.
fn own() -> Result<(), Failure> {
    own::lookups(1_000_000)?;
    own::reads_beyond_pool(64 << 20)?;
    own::recovery(1_000_000_000, 30_000)?;
    own::memory(128 << 20)
}

fn number(word: &str) -> Result<u64, Failure> {
    Ok(word.parse()?)
}

fn compare(words: &[&str]) -> Result<(), Failure> {
    let rows: u64 = words.first().unwrap_or(&"1000000").parse()?;
    let runs: u32 = words.get(1).unwrap_or(&"3").parse()?;
    let wanted = |workload: &&Workload| words.get(2).is_none_or(|name| workload.name.contains(name));
    let scratch = Scratch::new()?;
    println!("{rows} rows of 8 + 100 bytes, median of {runs} runs; {}", machine(scratch.path()));
    for workload in workload::ALL.iter().filter(wanted) {
        let mut row = Row { workload: workload.name, rates: Vec::new() };
        row.rates.extend(engines::ALL.iter().map(|engine| (engine.name, Vec::new())));
        // Engine after engine in each run, so that a slow minute of the machine hits all alike.
        for _ in 0..runs {
            for (engine, (_, rates)) in engines::ALL.iter().zip(&mut row.rates) {
                rates.push(workload.run(engine, rows)?);
            }
        }
        print!("{}", table(&[row]));
    }
    Ok(())
}
