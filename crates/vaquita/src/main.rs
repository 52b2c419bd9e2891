//! The `vaquita` command.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    vaquita::cli::run(std::env::args_os(), &mut std::io::stdout().lock(), &mut std::io::stderr())
}
