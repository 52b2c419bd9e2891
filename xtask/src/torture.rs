//! Torture: the long runs, for a change of a decoder, of recovery, of a tree or of anything unsafe.
//!
//! Fuzzing first, then new seeds of the simulation, then the tests of the crates with unsafe code under
//! AddressSanitizer. All run; the end names what failed.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::fuzz::{Fuzzer, TRIPLE};
use crate::process::{Failure, cargo, output_of, step, target_folder};

const FUZZ_SECONDS_EACH: u32 = 30;
const SIMULATION_SECONDS: u64 = 120;
/// Seeds of one call of the simulator: a few seconds' worth.
const SEEDS_AT_ONCE: u64 = 50;
/// Crates that `docs/unsafe.md` lists.
const UNSAFE_CRATES: [&str; 2] = ["vaquita-io", "vaquita-storage"];

/// Runs everything; `seconds` replaces the times of each fuzz target and of the simulation.
pub(crate) fn run(seconds: Option<&str>) -> Result<(), Failure> {
    let given: Option<u32> = match seconds {
        Some(text) => Some(text.parse().map_err(|_| Failure(format!("{text} is no number of seconds")))?),
        None => None,
    };
    let results = [
        fuzz(given.unwrap_or(FUZZ_SECONDS_EACH)),
        simulate(Duration::from_secs(given.map_or(SIMULATION_SECONDS, u64::from))),
        kill(),
        sanitize(),
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
    let mut test = cargo();
    test.args(["test", "--quiet", "--locked", "-p", "vaquita-sim", "--test", "kill_nine"]);
    step("kill -9, 50 times", test.env("VAQUITA_KILL_ROUNDS", "50"))
}

fn fuzz(seconds: u32) -> Result<(), Failure> {
    let fuzzer = Fuzzer::build()?;
    fuzzer.canary()?;
    fuzzer.run_all(seconds)
}

/// Seeds nobody has run before, as many as the time allows.
pub(crate) fn simulate(time: Duration) -> Result<(), Failure> {
    let profile = ["--locked", "--profile", "torture", "-p", "vaquita-sim"];
    step("build the simulation", cargo().arg("build").args(profile))?;
    let simulator = target_folder().join("torture/vaquita-sim");
    let first = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs()) * 1000;
    let started = Instant::now();
    let mut from = first;
    while started.elapsed() < time {
        let mut command = std::process::Command::new(&simulator);
        command.arg("--from").arg(from.to_string()).arg("--count").arg(SEEDS_AT_ONCE.to_string());
        output_of(&mut command)?;
        from += SEEDS_AT_ONCE;
    }
    println!(
        "simulation: seeds {first} to {}, no failure ({:.0} s)",
        from - 1,
        started.elapsed().as_secs_f64()
    );
    Ok(())
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
