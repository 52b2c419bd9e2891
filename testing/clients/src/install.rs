//! Drivers from their registries.

use crate::Failure;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use vaquita_peers::Paths;

/// Raise the number when a version changes: the folder is then made anew.
const FOLDER: &str = "clients-2";
const PYTHON_PACKAGES: [&str; 4] =
    ["PyMySQL==1.2.4", "cryptography", "mysql-connector-python==26.10.0", "mysqlclient==2.3.1"];
const CONNECTOR_J: &str =
    "https://repo.maven.apache.org/maven2/com/mysql/mysql-connector-j/8.3.0/mysql-connector-j-8.3.0.jar";

/// The Python drivers.
pub const PYTHON_DRIVERS: [&str; 3] = ["pymysql", "mysqlclient", "connector"];

/// The installed drivers.
#[derive(Debug, Clone)]
pub struct Clients {
    root: PathBuf,
}

pub(crate) fn programs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("programs")
}

/// Runs a command to its end.
pub(crate) fn run(command: &mut Command) -> Result<(), Failure> {
    let shown = format!("{command:?}");
    let output = command.stdin(Stdio::null()).output().map_err(|e| {
        Failure(format!(
            "{}: {e}; the tests need python3 with venv, go, node with npm, java, and cargo",
            command.get_program().display()
        ))
    })?;
    succeeded(&shown, &output)
}

fn succeeded(shown: &str, output: &Output) -> Result<(), Failure> {
    if output.status.success() {
        return Ok(());
    }
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    Err(Failure(format!("{shown}: {}\n{out}{err}", output.status)))
}

/// Installs what is missing. The folder appears under its name only when it is complete.
///
/// # Errors
/// A language is not on the machine, a registry does not answer: with the output of the command that failed.
pub fn install() -> Result<Clients, Failure> {
    let peers = vaquita_peers::install()?;
    let root = peers.root().join(FOLDER);
    if root.is_dir() {
        return Ok(Clients { root });
    }
    eprintln!("installing {FOLDER} into {}", peers.root().display());
    // Python environments know their own path: everything is made in its final place, and a mark says it is whole.
    let making = peers.root().join(format!("{FOLDER}.making"));
    let _ = fs::remove_dir_all(&making);
    fs::create_dir_all(&making)?;
    go(&making)?;
    node(&making)?;
    java(&making)?;
    rust(&making)?;
    fs::rename(&making, &root).or_else(|e| if root.is_dir() { Ok(()) } else { Err(e) })?;
    let python = python(&root, &peers);
    if python.is_err() {
        let _ = fs::remove_dir_all(&root);
    }
    python?;
    Ok(Clients { root })
}

fn python(root: &Path, peers: &Paths) -> Result<(), Failure> {
    let venv = root.join("python");
    run(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
    let debian = peers.debian().join("usr");
    // mysqlclient is built here, on MariaDB's client library.
    let mut pip = Command::new(venv.join("bin/pip"));
    // Without pip's cache: a wheel in it, built for another folder, looks for the library there.
    pip.args(["install", "--quiet", "--disable-pip-version-check", "--no-cache-dir"]).args(PYTHON_PACKAGES);
    let library = debian.join("lib/x86_64-linux-gnu");
    pip.env("MYSQLCLIENT_CFLAGS", format!("-I{}", debian.join("include/mariadb").display()));
    pip.env("MYSQLCLIENT_LDFLAGS", format!("-L{0} -Wl,-rpath,{0} -lmariadb", library.display()));
    run(&mut pip)
}

fn go(root: &Path) -> Result<(), Failure> {
    let folder = programs().join("go");
    run(Command::new("go").args(["build", "-o"]).arg(root.join("check-go")).arg(".").current_dir(folder))
}

fn node(root: &Path) -> Result<(), Failure> {
    let folder = root.join("node");
    fs::create_dir_all(&folder)?;
    for name in ["package.json", "package-lock.json"] {
        fs::copy(programs().join("node").join(name), folder.join(name))?;
    }
    run(Command::new("npm").args(["ci", "--no-audit", "--no-fund"]).current_dir(folder))
}

fn java(root: &Path) -> Result<(), Failure> {
    run(Command::new("curl").args(["-fsSL", "-o"]).arg(root.join("connector-j.jar")).arg(CONNECTOR_J))
}

fn rust(root: &Path) -> Result<(), Failure> {
    let target = root.join("rust");
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--quiet", "--locked", "--target-dir"]).arg(&target);
    // Not with the flags of a build this may be part of.
    cargo.current_dir(programs().join("rust")).env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS");
    run(&mut cargo)?;
    fs::copy(target.join("debug/check-rust"), root.join("check-rust"))?;
    Ok(fs::remove_dir_all(target)?)
}

/// How a client's password travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channel {
    /// In clear: a proof, never the password.
    Clear,
    /// In clear by `caching_sha2_password`, after a login under TLS that the server remembers.
    Remembered,
    /// Under TLS.
    Tls,
}

/// How a program reaches its server.
#[derive(Debug, Clone)]
pub struct Login<'l> {
    /// TCP port on loopback.
    pub port: u16,
    /// User.
    pub user: &'l str,
    /// Password.
    pub password: &'l str,
    /// What it goes through.
    pub channel: Channel,
}

impl Clients {
    /// Python with its drivers.
    pub fn python(&self) -> Command {
        let mut python = Command::new(self.root.join("python/bin/python"));
        if let Ok(paths) = Paths::installed() {
            python.env("MARIADB_PLUGIN_DIR", paths.client_plugins());
        }
        python
    }

    /// The drivers' programs by name, ready to run.
    pub fn commands(&self, login: &Login<'_>) -> Result<Vec<(String, Command)>, Failure> {
        let mut all = Vec::new();
        let plugins = Paths::installed()?.client_plugins();
        for driver in PYTHON_DRIVERS {
            let mut command = Command::new(self.root.join("python/bin/python"));
            command.arg(programs().join("python/check.py")).arg(driver);
            command.env("MARIADB_PLUGIN_DIR", &plugins);
            all.push((format!("python {driver}"), command));
        }
        all.push(("go".to_owned(), Command::new(self.root.join("check-go"))));
        all.push(("rust".to_owned(), Command::new(self.root.join("check-rust"))));
        let mut node = Command::new("node");
        let script = self.root.join("node/check.mjs");
        fs::copy(programs().join("node/check.mjs"), &script)?;
        node.arg(script);
        all.push(("node".to_owned(), node));
        let mut java = Command::new("java");
        java.arg("-cp").arg(self.root.join("connector-j.jar")).arg(programs().join("java/Check.java"));
        all.push(("java".to_owned(), java));
        for (_, command) in &mut all {
            let channel = match login.channel {
                Channel::Clear => "clear",
                Channel::Remembered => "remembered",
                Channel::Tls => "tls",
            };
            command.args(["127.0.0.1", &login.port.to_string(), login.user, login.password, channel]);
            command.stdin(Stdio::null());
        }
        Ok(all)
    }

    /// Runs all programs, a few at a time, since they wait much; what those that failed said.
    ///
    /// # Errors
    /// A program could not be run, or found something wrong.
    pub fn check(&self, login: &Login<'_>) -> Result<(), Failure> {
        let mut wrong = Vec::new();
        for group in self.commands(login)?.chunks_mut(3) {
            let mut children = Vec::new();
            for (name, command) in group {
                children.push((name, command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?));
            }
            for (name, child) in children {
                if let Err(Failure(why)) = succeeded(name, &child.wait_with_output()?) {
                    wrong.push(why);
                }
            }
        }
        if wrong.is_empty() { Ok(()) } else { Err(Failure(wrong.join("\n"))) }
    }
}
