//! Clients of memcached's protocols: libmemcached's tools from Debian's package, Python's from their registry.

use crate::Failure;
use crate::install::{programs, run};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use vaquita_peers::Paths;

/// Raise the number when a version changes: the folder is then made anew.
const FOLDER: &str = "memcached-clients-1";
const PYTHON_PACKAGES: [&str; 3] = ["pymemcache==4.0.0", "python-binary-memcached==0.33.0", "uhashring==2.5"];

/// The installed clients.
#[derive(Debug, Clone)]
pub struct MemcachedClients {
    peers: Paths,
    python: PathBuf,
}

/// Installs what is missing.
///
/// # Errors
/// Python is not on the machine, a registry does not answer: with the output of the command that failed.
pub fn install_memcached_clients() -> Result<MemcachedClients, Failure> {
    let peers = vaquita_peers::install()?;
    let root = peers.root().join(FOLDER);
    let python = root.join("bin/python");
    // Python environments know their own path: made in its final place, and a mark says that it is whole.
    let whole = root.join("whole");
    if !whole.exists() {
        eprintln!("installing {FOLDER} into {}", peers.root().display());
        run(Command::new("python3").args(["-m", "venv"]).arg(&root))?;
        let mut pip = Command::new(root.join("bin/pip"));
        run(pip.args(["install", "--quiet", "--disable-pip-version-check"]).args(PYTHON_PACKAGES))?;
        fs::write(&whole, "")?;
    }
    Ok(MemcachedClients { peers, python })
}

impl MemcachedClients {
    /// One of libmemcached's tools: `memccapable`, `memccp`, `memccat`, ...
    pub fn tool(&self, name: &str) -> Command {
        self.peers.command(Path::new("usr/bin").join(name))
    }

    /// The program that checks what users of a Python client see; see `programs/python/memcached.py`.
    pub fn python(&self, client: &str, port: u16) -> Command {
        self.python_at(client, &port.to_string())
    }

    /// The same for a server at a port of this machine, or at a socket file.
    pub fn python_at(&self, client: &str, place: &str) -> Command {
        let mut command = Command::new(&self.python);
        command.arg(programs().join("python/memcached.py")).args([client, place]);
        command
    }
}
