//! Repository commands: test, tidy, peers, fuzz, torture, bench. `cargo xtask` alone lists them.
#![forbid(unsafe_code)]

mod fuzz;
mod process;
mod test;
mod tidy;
mod torture;

use std::process::ExitCode;

use process::{Failure, repository};

const USAGE: &str = "\
usage: cargo xtask COMMAND

  test [--quick]          install what the tests need and run every check; --quick: the inner loop
  tidy                    layer rules, leftovers, file and function sizes, links, unsafe list
  peers install           install the real MySQL 5.6.24, MariaDB 10.11, drivers of five languages and applications
  fuzz TARGET SECONDS     one fuzz target, `all` of them, or the `canary`
  simulate SECONDS        new seeds of the simulation
  sanitize                tests of the crates with unsafe code under AddressSanitizer
  queries COUNT           random queries in new seeds: equal forms, and against MySQL 5.6.24 and MariaDB
  programs COUNT          random stored programs in new seeds against MySQL 5.6.24
  alters SECONDS          random changes of a table's definition beside sessions that write and read
  exports ROUNDS          tables exported beside those who use them; the copies come in here and into MySQL 5.6.24
  siege SECONDS           a server under clients that break rules, watched for leaks; another that is killed
  applications [NAME]     programs that people run on MySQL, on Vaquita and beside it on a real server: the long form
  torture [SECONDS]       all of these for a long time
  bench                   rows, transactions, views, locks, and other engines beside; release build
  bench ROWS [RUNS [WORKLOAD]]     the comparison with other engines alone
  bench oltp [NAME=VALUE ...]      sysbench on Vaquita, MySQL 5.6.24 and MariaDB: rates, p95, server CPU per query
  bench memcached [NAME=VALUE ...] gets and sets on memcached, Vaquita and through SQL: rates, p95, server CPU each
  bench windows [NAME=VALUE ...]   window functions and WITH RECURSIVE beside MariaDB: time and server CPU of each
  bench alters [NAME=VALUE ...]    changes of definitions beside MySQL 5.6.24 and MariaDB, and writers meanwhile: time, server CPU
  bench fulltext [NAME=VALUE ...]  full-text indexes and searches beside MySQL 5.6.24, MariaDB and SQLite, with servers=..,tantivy tantivy: time, CPU, bytes
  bench calls [COUNT]              a CALL of three point statements against the three sent by a client: server CPU
  bench import [MEGABYTES]         a table's file that comes in beside a plain copy of it: rate of each, memory
  bench database ROWS | views | locks | reading | own | ...   one of Vaquita's own
  peers path              print where they are
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["test"] => test::run(test::Extent::Full),
        ["test", "--quick"] => test::run(test::Extent::Quick),
        ["tidy"] => tidy::run(&repository()),
        ["fuzz", target, seconds] => fuzz::one(target, seconds),
        ["simulate", seconds] => match seconds.parse() {
            Ok(seconds) => torture::simulate(std::time::Duration::from_secs(seconds)),
            Err(_) => Err(Failure(format!("{seconds} is no number of seconds"))),
        },
        ["sanitize"] => torture::sanitize(),
        ["queries", count] => match count.parse() {
            Ok(count) => torture::queries(count),
            Err(_) => Err(Failure(format!("{count} is no number of queries"))),
        },
        ["programs", count] => match count.parse() {
            Ok(count) => torture::programs(count),
            Err(_) => Err(Failure(format!("{count} is no number of programs"))),
        },
        ["alters", seconds] => match seconds.parse() {
            Ok(seconds) => torture::alters(seconds),
            Err(_) => Err(Failure(format!("{seconds} is no number of seconds"))),
        },
        ["exports", rounds] => match rounds.parse() {
            Ok(rounds) => torture::exports(rounds),
            Err(_) => Err(Failure(format!("{rounds} is no number of rounds"))),
        },
        ["siege", seconds] => match seconds.parse() {
            Ok(seconds) => torture::siege(seconds),
            Err(_) => Err(Failure(format!("{seconds} is no number of seconds"))),
        },
        ["applications"] => torture::applications(None),
        ["applications", name] => torture::applications(Some(name)),
        ["torture"] => torture::run(None),
        ["torture", seconds] => torture::run(Some(seconds)),
        ["bench", rest @ ..] => bench(rest),
        ["peers", "install"] => peers_install(),
        ["peers", "path"] => {
            println!("{}", vaquita_peers::Paths::locate().root().display());
            Ok(())
        }
        _ => {
            eprint!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure(text)) => {
            eprintln!("xtask: {text}");
            ExitCode::FAILURE
        }
    }
}

fn peers_install() -> Result<(), Failure> {
    let paths = vaquita_peers::install().map_err(|e| Failure(e.to_string()))?;
    vaquita_clients::install().map_err(|e| Failure(e.to_string()))?;
    vaquita_applications::install().map_err(|e| Failure(e.to_string()))?;
    println!("peers are ready in {}", paths.root().display());
    Ok(())
}

/// Words that the benchmarks know themselves go to them as they are; others choose what is compared with other engines.
/// Without words: rows and transactions through the engine's API, read views, locks, and the comparison.
fn bench(arguments: &[&str]) -> Result<(), Failure> {
    const OWN: [&str; 16] = [
        "import",
        "alters",
        "calls",
        "fulltext",
        "oltp",
        "windows",
        "memcached",
        "own",
        "views",
        "locks",
        "reading",
        "database",
        "lookups",
        "reads",
        "recovery",
        "memory",
    ];
    let run = |words: &[&str]| {
        let mut command = process::cargo();
        command.args(["run", "--quiet", "--locked", "--release", "-p", "vaquita-bench", "--"]);
        process::step(&words.join(" "), command.args(words))
    };
    if matches!(
        arguments.first(),
        Some(&("alters" | "calls" | "fulltext" | "oltp" | "memcached" | "windows"))
    ) {
        // Beside the benchmark's own binary: the servers it starts.
        peers_install()?;
        let mut build = process::cargo();
        process::step(
            "build vaquita",
            build.args(["build", "--quiet", "--locked", "--release", "-p", "vaquita"]),
        )?;
    }
    match arguments {
        [] => {
            [&["database", "1000000"][..], &["views"], &["locks"], &["compare"]].into_iter().try_for_each(run)
        }
        [first, ..] if OWN.contains(first) => run(arguments),
        _ => run(&[&["compare"], arguments].concat()),
    }
}
