//! Running other programs, and where the repository is.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// Why a command failed: one text for the person at the keyboard.
#[derive(Debug)]
pub(crate) struct Failure(pub(crate) String);

/// The repository's root folder.
pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the repository").to_path_buf()
}

/// Cargo, as it called us, in the repository.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(repository());
    command
}

/// Cargo that keeps nothing of the compiler's for a next build, which is 6 GB, unless `CARGO_INCREMENTAL` asks for it.
pub(crate) fn cargo_once() -> Command {
    let mut command = cargo();
    if std::env::var_os("CARGO_INCREMENTAL").is_none() {
        command.env("CARGO_INCREMENTAL", "0");
    }
    command
}

/// Where cargo builds.
pub(crate) fn target_folder() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| repository().join("target"), PathBuf::from)
}

/// Runs a program quietly and returns its standard output; its output is the failure's text.
pub(crate) fn output_of(command: &mut Command) -> Result<String, Failure> {
    let output = command.output().map_err(|e| Failure(format!("cannot run {command:?}: {e}")))?;
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(stdout);
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    Err(Failure(format!("{command:?} ended with {}:\n{stdout}{stderr}", output.status)))
}

/// Runs a step with its output on the terminal; says what and how long.
pub(crate) fn step(name: &str, command: &mut Command) -> Result<(), Failure> {
    println!("== {name}");
    let started = Instant::now();
    let status = command.status().map_err(|e| Failure(format!("{name}: cannot run {command:?}: {e}")))?;
    if !status.success() {
        return Err(Failure(format!("{name} failed ({status}): {command:?}")));
    }
    println!("== {name}: ok, {:.1} s", started.elapsed().as_secs_f64());
    Ok(())
}
