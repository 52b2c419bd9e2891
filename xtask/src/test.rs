//! The test command: everything a change must pass, in the order in which it fails fastest.
//!
//! A failing step does not hide the later ones: all run, and the end names those that failed.

use std::process::Command;

use crate::process::{Failure, cargo, cargo_once, repository, step};
use crate::{fuzz, peers_install, tidy};

/// How much of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// The inner loop: formatting, tidy, lints, unit tests. No real servers, no fuzzing.
    Quick,
    /// What continuous integration runs.
    Full,
}

type Step = fn() -> Result<(), Failure>;

const QUICK: &[(&str, Step)] =
    &[("format", format), ("tidy", tidy), ("lints", lints), ("unit tests", unit_tests)];
const FULL: &[(&str, Step)] = &[
    ("format", format),
    ("tidy", tidy),
    ("peers", peers_install),
    ("lints", lints_once),
    ("tests", all_tests),
    ("fuzz", fuzz::smoke),
];

/// Runs the steps.
pub(crate) fn run(extent: Extent) -> Result<(), Failure> {
    let steps = if extent == Extent::Quick { QUICK } else { FULL };
    let mut failed = Vec::new();
    for (name, action) in steps {
        if let Err(Failure(text)) = action() {
            eprintln!("xtask: {text}");
            failed.push(*name);
        }
    }
    if !failed.is_empty() {
        return Err(Failure(format!(
            "{} of {} steps failed: {}",
            failed.len(),
            steps.len(),
            failed.join(", ")
        )));
    }
    println!("xtask test: all {} steps passed", steps.len());
    Ok(())
}

fn format() -> Result<(), Failure> {
    step("format", cargo().args(["fmt", "--all", "--check"]))
}

fn tidy() -> Result<(), Failure> {
    tidy::run(&repository())
}

fn lints() -> Result<(), Failure> {
    lints_by(cargo())
}

fn lints_once() -> Result<(), Failure> {
    lints_by(cargo_once())
}

fn lints_by(mut cargo: Command) -> Result<(), Failure> {
    step("lints", cargo.args(["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"]))
}

fn unit_tests() -> Result<(), Failure> {
    step("unit tests", cargo().args(["test", "--workspace", "--lib", "--bins", "--locked", "--no-fail-fast"]))
}

/// Unit, scenario and documentation tests.
///
/// A program of tests that hangs is ended with the servers it has started, and fails. The other programs run. Most programs take
/// seconds; the longest, `servers`, takes ten minutes on two cores.
///
/// Tests wait for servers and for the disk, so two run for each core, unless `RUST_TEST_THREADS` says otherwise.
fn all_tests() -> Result<(), Failure> {
    let runner = r#"target."cfg(unix)".runner=["timeout", "--verbose", "--kill-after=10", "1800"]"#;
    let mut tests = cargo_once();
    tests.args(["test", "--workspace", "--locked", "--no-fail-fast", "--config", runner]);
    if std::env::var_os("RUST_TEST_THREADS").is_none() {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        tests.env("RUST_TEST_THREADS", (2 * cores).to_string());
    }
    step("tests", &mut tests)
}
