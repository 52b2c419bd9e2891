//! Torture: the long runs, for a change of a decoder, of recovery or of a tree.
//!
//! Fuzzing first, then simulations. A simulation is an ordinary test of `testing/sim` that runs a few seeds by
//! default and goes on for `VAQUITA_SIM_SECONDS` when that is set; a failure prints the seed that replays it.

use crate::fuzz::Fuzzer;
use crate::process::{Failure, cargo, step};

const FUZZ_SECONDS_EACH: u32 = 30;
const SIMULATION_SECONDS: &str = "120";

/// Packages whose tests heed `VAQUITA_SIM_SECONDS`.
const SIMULATIONS: &[&str] = &["vaquita-sim"];

/// Runs everything; `seconds` replaces both times.
pub(crate) fn run(seconds: Option<&str>) -> Result<(), Failure> {
    let each = match seconds {
        Some(text) => text.parse().map_err(|_| Failure(format!("{text} is no number of seconds")))?,
        None => FUZZ_SECONDS_EACH,
    };
    let fuzzer = Fuzzer::build()?;
    fuzzer.canary()?;
    let mut failed = Vec::new();
    if let Err(Failure(text)) = fuzzer.run_all(each) {
        failed.push(text);
    }
    for package in SIMULATIONS {
        let mut simulation = cargo();
        simulation.args(["test", "--locked", "-p", package, "--no-fail-fast"]);
        simulation.env("VAQUITA_SIM_SECONDS", seconds.unwrap_or(SIMULATION_SECONDS));
        if let Err(Failure(text)) = step(&format!("simulation {package}"), &mut simulation) {
            failed.push(text);
        }
    }
    if let Err(Failure(text)) = address_sanitizer() {
        failed.push(text);
    }
    if failed.is_empty() { Ok(()) } else { Err(Failure(failed.join("\n"))) }
}

/// Crates with unsafe code; `docs/unsafe.md` names the files.
const UNSAFE_CRATES: &[&str] = &["vaquita-io", "vaquita-storage"];

/// The tests of the crates with unsafe code, with every memory access checked. Needs a nightly toolchain.
fn address_sanitizer() -> Result<(), Failure> {
    let mut tests = std::process::Command::new("cargo");
    tests.args([
        "+nightly",
        "test",
        "--quiet",
        "--locked",
        "--target",
        "x86_64-unknown-linux-gnu",
        "--lib",
        "--tests",
    ]);
    tests.args(UNSAFE_CRATES.iter().flat_map(|package| ["-p", package]));
    tests.env("RUSTFLAGS", "-Zsanitizer=address");
    tests.env("CARGO_TARGET_DIR", crate::process::target_folder().join("asan"));
    tests.env_remove("RUSTUP_TOOLCHAIN");
    step("AddressSanitizer", &mut tests)
}
