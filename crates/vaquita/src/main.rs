//! The `vaquita` command.
#![deny(unsafe_code)]

#[allow(unsafe_code)]
mod memory;

use std::process::ExitCode;

fn main() -> ExitCode {
    memory::give_back();
    vaquita::cli::run(std::env::args_os(), &mut std::io::stdout().lock(), &mut std::io::stderr())
}
