//! The servers, each with the same rows.

use super::generator::{Load, run};
use super::speech::{Operation, Protocol, Statements, VALUE, push_key};
use crate::Failure;
use crate::oltp::{cpu_us, vaquita_binary};
use crate::workload::Scratch;
use std::fmt::Write as _;
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};
use vaquita_clients::Vaquita;
use vaquita_clients::wire::{Answer, Wire};
use vaquita_peers::{Mysql56, Options, Paths, Server};

/// What servers with tables get: the rows fit the pool, every commit is synced.
const SETTINGS: [(&str, &str); 5] = [
    ("innodb_buffer_pool_size", "1G"),
    ("innodb_log_file_size", "256M"),
    ("innodb_flush_log_at_trx_commit", "1"),
    ("innodb_flush_method", "O_DIRECT"),
    ("max_connections", "2000"),
];
/// Worker threads of memcached.
const THREADS: &str = "2";

/// Killed when dropped.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

enum Running {
    Memcached(Process),
    Vaquita(Vaquita, #[expect(dead_code, reason = "removed when dropped")] Scratch),
    Mysql(Box<Server>),
}

/// A server to measure, through one of its doors.
pub(super) struct Contender {
    pub(super) name: &'static str,
    running: Running,
    port: u16,
    /// It is asked in SQL.
    sql: bool,
}

/// Starts one of `memcached`, `vaquita`, `vaquita-sql`, `mysql-sql`, and fills it.
///
/// # Errors
/// It is none of these, does not start, does not take the rows.
pub(super) fn start(name: &str, rows: u64) -> Result<Contender, Failure> {
    let contender = match name {
        "memcached" => memcached()?,
        "vaquita" => vaquita()?,
        "vaquita-sql" => vaquita_sql()?,
        "mysql-sql" => mysql()?,
        _ => return Err(format!("{name} is no server: memcached, vaquita, vaquita-sql, mysql-sql").into()),
    };
    contender.fill(rows)?;
    Ok(contender)
}

fn free_port() -> Result<u16, Failure> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

fn until_it_listens(port: u16) -> Result<(), Failure> {
    let end = Instant::now() + Duration::from_secs(10);
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        if Instant::now() > end {
            return Err(format!("nobody listens on port {port}").into());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

fn memcached() -> Result<Contender, Failure> {
    let port = free_port()?;
    let mut command = Paths::installed()?.command("usr/bin/memcached");
    command.args(["-l", "127.0.0.1", "-U", "0", "-m", "2048", "-c", "4000", "-u", "root", "-t", THREADS]);
    let child =
        command.arg("-p").arg(port.to_string()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let running = Running::Memcached(Process(child));
    until_it_listens(port)?;
    Ok(Contender { name: "memcached", running, port, sql: false })
}

fn start_vaquita(more: &[String]) -> Result<Running, Failure> {
    let scratch = Scratch::new()?;
    let mut settings: Vec<String> =
        SETTINGS.iter().map(|(name, value)| format!("--{name}={value}")).collect();
    settings.extend_from_slice(more);
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let server = Vaquita::start(&vaquita_binary()?, &scratch.path().join("data"), &settings)?;
    Ok(Running::Vaquita(server, scratch))
}

fn vaquita() -> Result<Contender, Failure> {
    let port = free_port()?;
    let running = start_vaquita(&[format!("--memcached-port={port}")])?;
    until_it_listens(port)?;
    Ok(Contender { name: "vaquita", running, port, sql: false })
}

fn vaquita_sql() -> Result<Contender, Failure> {
    let running = start_vaquita(&[])?;
    let Running::Vaquita(server, _) = &running else { return Err("no server".into()) };
    let port = server.port();
    Ok(Contender { name: "vaquita-sql", running, port, sql: true })
}

fn mysql() -> Result<Contender, Failure> {
    let options = SETTINGS.iter().fold(Options::new(), |o, (name, value)| o.set(name, value));
    let options = options.set("performance_schema", "OFF").set("query_cache_type", "0");
    let server = Mysql56::start(options)?;
    let port = server.port();
    Ok(Contender { name: "mysql-sql", running: Running::Mysql(Box::new(server)), port, sql: true })
}

impl Contender {
    fn pid(&self) -> Result<u32, Failure> {
        let pid = match &self.running {
            Running::Memcached(process) => Some(process.0.id()),
            Running::Vaquita(server, _) => server.pid(),
            Running::Mysql(server) => server.pid(),
        };
        pid.ok_or_else(|| format!("{} does not run", self.name).into())
    }

    /// Processor time so far.
    pub(super) fn cpu_us(&self) -> Result<u64, Failure> {
        cpu_us(self.pid()?)
    }

    /// Whether it is asked in a form of memcached's protocol: SQL stands beside the rows of the text protocol.
    pub(super) fn does(&self, protocol: &str) -> bool {
        !self.sql || protocol == "text"
    }

    /// Whether it is asked in SQL.
    pub(super) fn is_sql(&self) -> bool {
        self.sql
    }

    /// Connected sockets, ready for requests.
    pub(super) fn sockets(&self, n: usize, protocol: &str) -> Result<Vec<(TcpStream, Protocol)>, Failure> {
        (0..n)
            .map(|_| {
                if self.sql {
                    let mut wire = Wire::connect(self.port, "root")?;
                    let marks = vec!["?"; super::MULTI_GET as usize].join(",");
                    let statements = Statements {
                        select: wire.prepare("select v from kv.t where k = ?")?,
                        select_in: wire.prepare(&format!("select v from kv.t where k in ({marks})"))?,
                        replace: wire.prepare("replace into kv.t (k, v, flags) values (?, ?, 0)")?,
                    };
                    return Ok((wire.stream, Protocol::Mysql(statements)));
                }
                let stream = TcpStream::connect(("127.0.0.1", self.port))?;
                stream.set_nodelay(true)?;
                Ok((stream, if protocol == "binary" { Protocol::Binary } else { Protocol::Text }))
            })
            .collect()
    }

    fn fill(&self, rows: u64) -> Result<(), Failure> {
        if !self.sql {
            let load = Load { operation: Operation::Set, depth: 32, rows, fill: true };
            run(self.sockets(16, "text")?, load, Duration::ZERO)?;
            return Ok(());
        }
        let mut wire = Wire::connect(self.port, "root")?;
        does(&mut wire, "create database kv")?;
        does(
            &mut wire,
            "create table kv.t (k varchar(32) not null primary key, v varchar(1024), flags int) default charset=latin1",
        )?;
        let value = "v".repeat(VALUE);
        for first in (0..rows).step_by(5000) {
            let mut sql = "insert into kv.t values ".to_owned();
            for key in first..rows.min(first + 5000) {
                let mut text = Vec::new();
                push_key(key, &mut text);
                let comma = if key == first { "" } else { "," };
                write!(sql, "{comma}('{}','{value}',0)", String::from_utf8_lossy(&text))?;
            }
            does(&mut wire, &sql)?;
        }
        Ok(())
    }
}

fn does(wire: &mut Wire, sql: &str) -> Result<(), Failure> {
    match wire.query(sql)? {
        Answer::Error(code, text) => Err(format!("{code} {text}").into()),
        _ => Ok(()),
    }
}
