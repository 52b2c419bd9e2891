//! The library without its features stays small: a program that embeds it draws in the engine and its SQL, and no servers.

use super::Finding;
use crate::process::{Failure, cargo, output_of};

/// Crates that only the command needs.
const OF_THE_COMMAND: [&str; 9] = [
    "vaquita-memcached",
    "vaquita-net",
    "vaquita-server",
    "rustls",
    "rcgen",
    "ring",
    "signal-hook",
    "rustyline",
    "clap",
];

/// What the library draws in without its features, one package a line.
pub(super) fn tree() -> Result<String, Failure> {
    output_of(cargo().args([
        "tree",
        "--locked",
        "--package=vaquita",
        "--no-default-features",
        "--edges=normal,build",
        "--prefix=none",
        "--format={p}",
    ]))
}

pub(super) fn check(tree: &str) -> Vec<Finding> {
    let packages = || tree.lines().filter_map(|line| line.split(' ').next());
    if !packages().any(|package| package == "vaquita-sql") {
        return vec![Finding::Error(format!("the library has no SQL: {tree}"))];
    }
    let unwanted = OF_THE_COMMAND.iter().filter(|name| packages().any(|package| package == **name));
    unwanted
        .map(|name| Finding::Error(format!("the library draws in {name} without any of its features")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_the_command_needs_is_an_error() {
        let good = "vaquita v0.1.0 (/x)\nvaquita-sql v0.1.0 (/x)\nclap-like v1.0.0\n";
        assert_eq!(check(good), []);
        assert_eq!(check(&format!("{good}rustls v0.23.1 (*)\nclap v4.0.0\n")).len(), 2);
        assert_eq!(check("vaquita v0.1.0\n").len(), 1, "nothing was looked at");
    }
}
