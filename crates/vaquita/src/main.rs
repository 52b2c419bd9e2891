//! The `vaquita` command.
#![deny(unsafe_code)]

#[allow(unsafe_code)]
mod memory;
#[allow(unsafe_code)]
mod user;

use std::process::ExitCode;

fn main() -> ExitCode {
    memory::give_back();
    let switch = vaquita::cli::UserSwitch { is_root: user::is_root, become_user: user::become_user };
    let (mut out, mut err) = (std::io::stdout().lock(), std::io::stderr());
    vaquita::cli::run_as(std::env::args_os(), &mut out, &mut err, Some(switch))
}
