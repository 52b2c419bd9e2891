//! Clients that people use, run against a server: drivers for Python, Go, Node, Java and Rust, each with a program under
//! `programs/` that checks what a user of that driver sees; and [`Vaquita`], the server as a process of its own.
//!
//! The programs know MySQL, not Vaquita: MySQL 5.6.24 passes them too.
//!
//! # Where things are
//! [`install`] puts the drivers into a folder beside the real servers (see `vaquita_peers`), from the languages' own
//! registries at pinned versions. The languages themselves (python3 with venv, go, node with npm, java, cargo) are the
//! machine's; one that is missing is an error that says so.
#![forbid(unsafe_code)]

mod install;
mod memcached;
mod process;
pub mod wire;

pub use install::{Channel, Clients, Login, PYTHON_DRIVERS, install};
pub use memcached::{MemcachedClients, install_memcached_clients};
pub use process::Vaquita;

/// Why a client could not be installed or run, for people.
#[derive(Debug)]
pub struct Failure(pub String);

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Failure {}

impl From<vaquita_peers::PeerError> for Failure {
    fn from(e: vaquita_peers::PeerError) -> Failure {
        Failure(e.to_string())
    }
}

impl From<std::io::Error> for Failure {
    fn from(e: std::io::Error) -> Failure {
        Failure(e.to_string())
    }
}
