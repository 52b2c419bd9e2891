//! Torture: the long runs, for a change of a decoder, of recovery, of a tree or of anything unsafe.
//!
//! Fuzzing first, then 20,000 power cuts in new seeds of the simulation, kills of a real process, histories of concurrent
//! transactions, random changes of a table beside them, exports of tables beside load, random queries and stored programs against the real servers, applications in their long form, the tests of the crates with unsafe code under AddressSanitizer, and
//! an hour of a server under siege. All run; the end names what failed.

use std::process::Command;
use std::time::Duration;

use crate::fuzz::{Fuzzer, Runs, TRIPLE};
use crate::process::{Failure, cargo, step, target_folder};

const FUZZ_SECONDS_EACH: u32 = 30;
const HISTORIES_SECONDS: u32 = 120;
const SIEGE_SECONDS: u32 = 3600;
const ALTERS_SECONDS: u32 = 600;
const EXPORT_ROUNDS: u32 = 100;
const RANDOM_QUERIES: u64 = 100_000;
const RANDOM_PROGRAMS: u64 = 20_000;
/// Crates that `docs/unsafe.md` lists.
const UNSAFE_CRATES: [&str; 2] = ["vaquita-io", "vaquita-storage"];

/// Runs everything; `seconds` is the time of each fuzz target and, if given, of the simulation and the siege.
pub(crate) fn run(seconds: Option<&str>) -> Result<(), Failure> {
    let given: Option<u32> = match seconds {
        Some(text) => Some(text.parse().map_err(|_| Failure(format!("{text} is no number of seconds")))?),
        None => None,
    };
    let results = [
        fuzz(given.unwrap_or(FUZZ_SECONDS_EACH)),
        given.map_or_else(cut, |seconds| simulate(Duration::from_secs(seconds.into()))),
        kill(),
        histories(given.unwrap_or(HISTORIES_SECONDS)),
        alters(given.unwrap_or(ALTERS_SECONDS)),
        exports(EXPORT_ROUNDS),
        queries(RANDOM_QUERIES),
        programs(RANDOM_PROGRAMS),
        applications(None),
        sanitize(),
        siege(given.unwrap_or(SIEGE_SECONDS)),
    ];
    let failed: Vec<String> = results.into_iter().filter_map(Result::err).map(|Failure(text)| text).collect();
    if failed.is_empty() {
        println!("xtask torture: nothing found");
        return Ok(());
    }
    Err(Failure(failed.join("\n")))
}

/// Kills a writing process on the real disk, again and again.
fn kill() -> Result<(), Failure> {
    step("kill -9, 50 times", simulator()?.args(["kills", "50"]))
}

/// Random concurrent transactions, optimized and with assertions, under the history checker.
fn histories(seconds: u32) -> Result<(), Failure> {
    let mut run = cargo();
    run.args(["run", "--quiet", "--locked", "--profile", "torture", "-p", "vaquita-isolation", "--"]);
    step("histories", run.args(["histories", &seconds.to_string()]))
}

/// Random queries that nobody has asked before: in several forms that must give the same rows, and against the real servers.
pub(crate) fn queries(count: u64) -> Result<(), Failure> {
    let seed = new_seed()?;
    println!("first seed of the queries: {seed}");
    let mut tests = cargo();
    tests.args(["test", "--quiet", "--locked", "-p", "vaquita-sql", "-p", "vaquita"]);
    tests.args(["--test", "all", "--test", "servers", "--", "random_queries::", "queries_differential::"]);
    tests.env("VAQUITA_QUERIES", count.to_string()).env("VAQUITA_QUERY_SEED", seed.to_string());
    step(&format!("{count} random queries"), &mut tests)
}

/// Random changes of a table's definition beside sessions that write to it and read it.
pub(crate) fn alters(seconds: u32) -> Result<(), Failure> {
    let seed = new_seed()?;
    println!("seed of the changes: {seed}");
    let mut tests = cargo();
    tests.args(["test", "--quiet", "--locked", "-p", "vaquita", "--test", "clients", "random_alters::"]);
    tests.env("VAQUITA_ALTERS_SECONDS", seconds.to_string()).env("VAQUITA_ALTERS_SEED", seed.to_string());
    step(&format!("{seconds} seconds of random changes of a table"), &mut tests)
}

/// Tables exported beside those who use them, again and again; each copy comes in here, and some into the real server.
pub(crate) fn exports(rounds: u32) -> Result<(), Failure> {
    let mut tests = cargo();
    tests.args(["test", "--quiet", "--locked", "-p", "vaquita", "--test", "exports_under_load"]);
    tests.env("VAQUITA_EXPORT_ROUNDS", rounds.to_string());
    step(&format!("{rounds} rounds of exports beside load"), &mut tests)
}

/// One that nobody has played before.
fn new_seed() -> Result<u64, Failure> {
    let since = std::time::UNIX_EPOCH.elapsed().map_err(|e| Failure(format!("the clock: {e}")))?;
    Ok(since.as_secs())
}

/// Programs that people run on MySQL, in their long form: all, or those with this in their names.
pub(crate) fn applications(name: Option<&str>) -> Result<(), Failure> {
    let mut tests = cargo();
    tests.args(["test", "--locked", "-p", "vaquita", "--test", "applications", "--"]).args(name);
    step("applications", tests.env("VAQUITA_APPLICATIONS", "long"))
}

/// Random stored programs that nobody has run before, against the real server.
pub(crate) fn programs(count: u64) -> Result<(), Failure> {
    let seed = new_seed()?;
    println!("first seed of the programs: {seed}");
    let mut tests = cargo();
    tests.args([
        "test",
        "--quiet",
        "--locked",
        "-p",
        "vaquita",
        "--test",
        "servers",
        "programs_differential::",
    ]);
    tests.env("VAQUITA_PROGRAMS", count.to_string()).env("VAQUITA_PROGRAM_SEED", seed.to_string());
    step(&format!("{count} random stored programs"), &mut tests)
}

/// Power cuts at random operations, in scenarios nobody has run before.
fn cut() -> Result<(), Failure> {
    step("20,000 power cuts", simulator()?.args(["cuts", "20000"]))?;
    step("20,000 power cuts of whole databases", simulator()?.args(["databases", "20000"]))
}

/// A server under clients that break rules, beside load, and one that is killed: money, memory, files, threads, sessions.
pub(crate) fn siege(seconds: u32) -> Result<(), Failure> {
    let profile = ["--quiet", "--locked", "--profile", "torture", "-p", "vaquita", "-p", "vaquita-siege"];
    step("build the server and the siege", cargo().arg("build").args(profile))?;
    let folder = target_folder().join("torture");
    let mut command = Command::new(folder.join("vaquita-siege"));
    step("siege", command.arg(folder.join("vaquita")).arg(seconds.to_string()))
}

fn fuzz(seconds: u32) -> Result<(), Failure> {
    let fuzzer = Fuzzer::build(Runs::Long)?;
    fuzzer.canary()?;
    fuzzer.run_all(seconds)
}

/// Seeds nobody has run before, as many as the time allows.
pub(crate) fn simulate(time: Duration) -> Result<(), Failure> {
    step("simulation", simulator()?.args(["seconds", &time.as_secs().to_string()]))
}

/// The simulation's program, optimized and with assertions.
fn simulator() -> Result<Command, Failure> {
    let profile = ["--locked", "--profile", "torture", "-p", "vaquita-sim"];
    step("build the simulation", cargo().arg("build").args(profile))?;
    Ok(Command::new(target_folder().join("torture/torture")))
}

/// Unit and scenario tests of the crates with unsafe code under AddressSanitizer. The runtime comes with the stable
/// compiler; only the flag is unstable.
pub(crate) fn sanitize() -> Result<(), Failure> {
    let mut command = cargo();
    command.env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", "-Zsanitizer=address");
    // Its own folder: the same target folder with other flags would be built anew each time.
    command.env("CARGO_TARGET_DIR", target_folder().join("asan"));
    command.args(["test", "--locked", "--lib", "--tests", "--target", TRIPLE, "--no-fail-fast"]);
    for package in UNSAFE_CRATES {
        command.args(["-p", package]);
    }
    // The models switch stacks, which the sanitizer cannot follow; they check every interleaving by themselves.
    command.args(["--", "--skip", "model"]);
    step("tests under AddressSanitizer", &mut command)
}
