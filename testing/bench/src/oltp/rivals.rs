//! The servers, with equal settings.

use crate::Failure;
use crate::workload::Scratch;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use vaquita_peers::{MariaDb, Mysql56, Options, Paths, Server};

/// What all get. The rows fit the pool; every commit is synced; files are opened with O_DIRECT.
const SETTINGS: [(&str, &str); 6] = [
    ("innodb_buffer_pool_size", "512M"),
    ("innodb_log_file_size", "256M"),
    ("innodb_flush_log_at_trx_commit", "1"),
    ("innodb_flush_method", "O_DIRECT"),
    ("max_connections", "4000"),
    ("table_open_cache", "8000"),
];

/// A server that runs.
pub(super) enum Rival {
    /// Ours.
    Vaquita(Vaquita),
    /// A real one.
    Peer(&'static str, Box<Server>),
}

/// Our binary on a scratch folder.
pub(super) struct Vaquita {
    _scratch: Scratch,
    dir: PathBuf,
    port: u16,
    child: Child,
}

/// Starts those that are wanted, MariaDB last, each with the user of the load generator.
pub(super) fn start(wanted: &[String]) -> Result<Vec<Rival>, Failure> {
    let wants = |name: &str| wanted.is_empty() || wanted.iter().any(|w| w == name);
    let options = || SETTINGS.iter().fold(Options::new(), |o, (name, value)| o.set(name, value));
    let mut rivals = Vec::new();
    if wants("vaquita") {
        rivals.push(Rival::Vaquita(Vaquita::start()?));
    }
    if wants("mysql") {
        let server = Mysql56::start(options().set("performance_schema", "OFF").set("query_cache_type", "0"))?;
        rivals.push(Rival::Peer("mysql", Box::new(server)));
    }
    if wants("mariadb") {
        let server = MariaDb::start(options().set("performance_schema", "OFF").set("query_cache_type", "0"))?;
        rivals.push(Rival::Peer("mariadb", Box::new(server)));
    }
    for rival in &rivals {
        rival.ask("create database sbtest")?;
        rival.ask("create user sbtest@'%' identified by 'sbtest'")?;
        rival.ask("grant all on sbtest.* to sbtest@'%'")?;
    }
    Ok(rivals)
}

impl Rival {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Rival::Vaquita(_) => "vaquita",
            Rival::Peer(name, _) => name,
        }
    }

    pub(super) fn port(&self) -> u16 {
        match self {
            Rival::Vaquita(server) => server.port,
            Rival::Peer(_, server) => server.port(),
        }
    }

    fn pid(&self) -> Result<u32, Failure> {
        match self {
            Rival::Vaquita(server) => Ok(server.child.id()),
            Rival::Peer(_, server) => server.pid().ok_or_else(|| "the server does not run".into()),
        }
    }

    /// Processor time of the server so far, user and kernel, in microseconds.
    pub(super) fn cpu_us(&self) -> Result<u64, Failure> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid()?))?;
        // Fields after the name, which is in parentheses; ticks of 10 ms.
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
        let ticks =
            |i: usize| -> Result<u64, Failure> { Ok(fields.get(i).ok_or("short stat line")?.parse()?) };
        Ok((ticks(11)? + ticks(12)?) * 10_000)
    }

    /// Resident memory in KiB.
    pub(super) fn resident_kib(&self) -> Result<u64, Failure> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid()?))?;
        let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
        Ok(line.trim().trim_end_matches("kB").trim().parse()?)
    }

    /// Runs a statement as root through the stock client.
    pub(super) fn ask(&self, statement: &str) -> Result<String, Failure> {
        match self {
            Rival::Peer(_, server) => {
                let rows = server.rows(statement)?;
                Ok(rows.iter().map(|row| row.join("\t") + "\n").collect())
            }
            Rival::Vaquita(server) => server.ask(statement),
        }
    }

    /// Shuts down and starts again on the same folder; how long the start took, until a client is served.
    pub(super) fn restart(&mut self) -> Result<Duration, Failure> {
        match self {
            Rival::Vaquita(server) => {
                server.stop()?;
                let start = Instant::now();
                (server.child, server.port) = spawn(&server.dir)?;
                server.ask("select 1")?;
                Ok(start.elapsed())
            }
            Rival::Peer(_, server) => {
                server.shutdown()?;
                let start = Instant::now();
                server.start_again()?;
                Ok(start.elapsed())
            }
        }
    }

    pub(super) fn finish(self) -> Result<(), Failure> {
        match self {
            Rival::Vaquita(mut server) => server.stop(),
            Rival::Peer(_, mut server) => Ok(server.shutdown()?),
        }
    }
}

/// The binary beside this one: `cargo xtask bench` builds both.
fn binary() -> Result<PathBuf, Failure> {
    let path = std::env::current_exe()?.with_file_name("vaquita");
    if path.is_file() { Ok(path) } else { Err(format!("{} is not built", path.display()).into()) }
}

fn spawn(dir: &Path) -> Result<(Child, u16), Failure> {
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let mut command = Command::new(binary()?);
    command.arg("serve").arg(dir).arg(format!("--port={port}"));
    command.args(SETTINGS.iter().map(|(name, value)| format!("--{name}={value}")));
    let log = std::fs::File::create(dir.with_extension("log"))?;
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log).spawn()?;
    let stdout = child.stdout.take().ok_or("no output")?;
    let mut line = String::new();
    BufReader::new(stdout).read_line(&mut line)?;
    if !line.starts_with("ready:") {
        let log = std::fs::read_to_string(dir.with_extension("log"))?;
        return Err(format!("vaquita did not become ready: {line}\n{log}").into());
    }
    Ok((child, port))
}

impl Vaquita {
    fn start() -> Result<Vaquita, Failure> {
        let scratch = Scratch::new()?;
        let dir = scratch.path().join("data");
        let (child, port) = spawn(&dir)?;
        Ok(Vaquita { _scratch: scratch, dir, port, child })
    }

    fn ask(&self, statement: &str) -> Result<String, Failure> {
        let mut command = Paths::installed()?.command("usr/bin/mariadb");
        command.args(["--no-defaults", "--user=root", "--protocol=tcp", "--host=127.0.0.1", "--batch"]);
        command
            .arg("--skip-column-names")
            .arg(format!("--port={}", self.port))
            .args(["--execute", statement]);
        let output = command.output()?;
        if !output.status.success() {
            return Err(format!("{statement}: {}", String::from_utf8_lossy(&output.stderr)).into());
        }
        Ok(String::from_utf8(output.stdout)?)
    }

    fn stop(&mut self) -> Result<(), Failure> {
        Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status()?;
        let status = self.child.wait()?;
        if status.success() { Ok(()) } else { Err(format!("vaquita ended with {status}").into()) }
    }
}

impl Drop for Vaquita {
    fn drop(&mut self) {
        // After a failure; a server that was stopped is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
