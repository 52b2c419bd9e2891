//! The servers, with equal settings.

use crate::Failure;
use crate::workload::Scratch;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use vaquita_clients::Vaquita;
use vaquita_peers::{MariaDb, Mysql56, Options, Server};

/// What all get. The rows fit the pool; every commit is synced; files are opened with O_DIRECT. The servers' own
/// checksums of pages differ by default.
const SETTINGS: [(&str, &str); 8] = [
    ("innodb_buffer_pool_size", "512M"),
    ("innodb_log_file_size", "256M"),
    ("innodb_flush_log_at_trx_commit", "1"),
    ("innodb_flush_method", "O_DIRECT"),
    ("innodb_checksum_algorithm", "crc32"),
    ("max_connections", "4000"),
    // Every thread prepares a dozen statements for each table.
    ("max_prepared_stmt_count", "1000000"),
    ("table_open_cache", "8000"),
];

/// A server that runs.
pub(crate) enum Rival {
    /// A binary of ours on a scratch folder.
    Vaquita(&'static str, Vaquita, Scratch),
    /// A real one.
    Peer(&'static str, Box<Server>),
}

/// Starts those that are wanted, each with the user of the load generator. The last one is what the others are compared
/// with: an older binary of ours if there is one, else MariaDB.
pub(crate) fn start(wanted: &[String], before: Option<&Path>) -> Result<Vec<Rival>, Failure> {
    let wants = |name: &str| wanted.is_empty() || wanted.iter().any(|w| w == name);
    let options = || SETTINGS.iter().fold(Options::new(), |o, (name, value)| o.set(name, value));
    let mut rivals = Vec::new();
    if wants("vaquita") {
        rivals.push(ours("vaquita", &binary()?)?);
    }
    if wants("mysql") {
        let server = Mysql56::start(options().set("performance_schema", "OFF").set("query_cache_type", "0"))?;
        rivals.push(Rival::Peer("mysql", Box::new(server)));
    }
    if wants("mariadb") {
        let server = MariaDb::start(options().set("performance_schema", "OFF").set("query_cache_type", "0"))?;
        rivals.push(Rival::Peer("mariadb", Box::new(server)));
    }
    if let Some(before) = before {
        rivals.push(ours("before", before)?);
    }
    for rival in &rivals {
        rival.ask("create database sbtest")?;
        rival.ask("create user sbtest@'%' identified by 'sbtest'")?;
        rival.ask("grant all on sbtest.* to sbtest@'%'")?;
    }
    Ok(rivals)
}

fn ours(name: &'static str, binary: &Path) -> Result<Rival, Failure> {
    let scratch = Scratch::new()?;
    let settings: Vec<String> = SETTINGS.iter().map(|(name, value)| format!("--{name}={value}")).collect();
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let server = Vaquita::start(binary, &scratch.path().join("data"), &settings)?;
    Ok(Rival::Vaquita(name, server, scratch))
}

impl Rival {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Rival::Vaquita(name, ..) | Rival::Peer(name, _) => name,
        }
    }

    pub(crate) fn port(&self) -> u16 {
        match self {
            Rival::Vaquita(_, server, _) => server.port(),
            Rival::Peer(_, server) => server.port(),
        }
    }

    /// The folder of its data.
    pub(crate) fn datadir(&self) -> PathBuf {
        match self {
            Rival::Vaquita(_, _, scratch) => scratch.path().join("data"),
            Rival::Peer(_, server) => server.datadir().to_owned(),
        }
    }

    fn pid(&self) -> Result<u32, Failure> {
        match self {
            Rival::Vaquita(_, server, _) => server.pid().ok_or_else(|| "the server does not run".into()),
            Rival::Peer(_, server) => server.pid().ok_or_else(|| "the server does not run".into()),
        }
    }

    /// Processor time of the server so far, user and kernel, in microseconds.
    pub(crate) fn cpu_us(&self) -> Result<u64, Failure> {
        cpu_us(self.pid()?)
    }

    /// Resident memory in KiB.
    pub(super) fn resident_kib(&self) -> Result<u64, Failure> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid()?))?;
        let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
        Ok(line.trim().trim_end_matches("kB").trim().parse()?)
    }

    /// Runs a statement as root through the stock client.
    pub(crate) fn ask(&self, statement: &str) -> Result<String, Failure> {
        match self {
            Rival::Peer(_, server) => {
                let rows = server.rows(statement)?;
                Ok(rows.iter().map(|row| row.join("\t") + "\n").collect())
            }
            Rival::Vaquita(_, server, _) => Ok(server.sql(statement)?),
        }
    }

    /// Shuts down and starts again on the same folder; how long the start took, until clients are accepted.
    pub(super) fn restart(&mut self) -> Result<Duration, Failure> {
        match self {
            Rival::Vaquita(_, server, _) => {
                server.stop()?;
                let start = Instant::now();
                server.start_again()?;
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

    /// Shuts down; our own folder must be sound afterwards.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        match self {
            Rival::Vaquita(_, mut server, scratch) => {
                server.stop()?;
                let checked =
                    Command::new(binary()?).arg("check").arg(scratch.path().join("data")).output()?;
                match checked.status.success() {
                    true => Ok(()),
                    false => Err(String::from_utf8_lossy(&checked.stdout).into_owned().into()),
                }
            }
            Rival::Peer(_, mut server) => Ok(server.shutdown()?),
        }
    }
}

/// Processor time of a process so far, user and kernel, in microseconds.
pub(crate) fn cpu_us(pid: u32) -> Result<u64, Failure> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // Fields after the name, which is in parentheses; ticks of 10 ms.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let ticks = |i: usize| -> Result<u64, Failure> { Ok(fields.get(i).ok_or("short stat line")?.parse()?) };
    Ok((ticks(11)? + ticks(12)?) * 10_000)
}

/// The binary beside this one: `cargo xtask bench` builds both.
pub(crate) fn binary() -> Result<PathBuf, Failure> {
    let path = std::env::current_exe()?.with_file_name("vaquita");
    if path.is_file() { Ok(path) } else { Err(format!("{} is not built", path.display()).into()) }
}
