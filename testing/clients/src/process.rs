//! The server as a process.

use crate::Failure;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use vaquita_peers::Paths;

/// How long an end may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running `vaquita serve`. Killed when dropped.
#[derive(Debug)]
pub struct Vaquita {
    binary: PathBuf,
    dir: PathBuf,
    options: Vec<String>,
    port: u16,
    /// Of memcached's protocol; `None` without that door.
    memcached_port: Option<u16>,
    child: Option<Child>,
    ready: String,
}

impl Vaquita {
    /// Starts the binary on a folder, on a free port of loopback, with a socket beside the folder.
    ///
    /// # Errors
    /// It did not become ready: with its log.
    pub fn start(binary: &Path, dir: &Path, options: &[&str]) -> Result<Vaquita, Failure> {
        let mut server = Vaquita::stopped(binary, dir, options);
        server.start_again()?;
        Ok(server)
    }

    /// The same with memcached's door, on another free port.
    ///
    /// # Errors
    /// As [`Vaquita::start`].
    pub fn start_with_memcached(binary: &Path, dir: &Path, options: &[&str]) -> Result<Vaquita, Failure> {
        let mut server = Vaquita::stopped(binary, dir, options);
        server.memcached_port = Some(0);
        server.start_again()?;
        Ok(server)
    }

    fn stopped(binary: &Path, dir: &Path, options: &[&str]) -> Vaquita {
        Vaquita {
            binary: binary.to_owned(),
            dir: dir.to_owned(),
            options: options.iter().map(|&o| o.to_owned()).collect(),
            port: 0,
            memcached_port: None,
            child: None,
            ready: String::new(),
        }
    }

    /// Starts the stopped or killed server again on its folder, on other ports.
    ///
    /// # Errors
    /// As [`Vaquita::start`].
    pub fn start_again(&mut self) -> Result<(), Failure> {
        self.kill();
        // Somebody else may take the port between our look and the server's bind.
        let mut last = Failure(String::new());
        for _ in 0..5 {
            let (one, other) = (TcpListener::bind("127.0.0.1:0")?, TcpListener::bind("127.0.0.1:0")?);
            self.port = one.local_addr()?.port();
            if self.memcached_port.is_some() {
                self.memcached_port = Some(other.local_addr()?.port());
            }
            drop((one, other));
            match self.spawn() {
                Ok(()) => return Ok(()),
                Err(e) => last = e,
            }
            if !self.log().contains("in use") {
                break;
            }
        }
        Err(last)
    }

    fn spawn(&mut self) -> Result<(), Failure> {
        let log = fs::OpenOptions::new().create(true).append(true).open(self.log_path())?;
        let mut command = Command::new(&self.binary);
        command.arg("serve").arg(&self.dir).arg(format!("--port={}", self.port));
        command.arg(format!("--socket={}", self.socket().display()));
        // No default: several servers run at a time.
        command.arg(format!("--memcached-port={}", self.memcached_port.unwrap_or(0))).args(&self.options);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log).spawn()?;
        let stdout = child.stdout.take().ok_or_else(|| Failure("no output".into()))?;
        self.child = Some(child);
        self.ready.clear();
        BufReader::new(stdout).read_line(&mut self.ready)?;
        if self.ready.starts_with("ready:") {
            return Ok(());
        }
        self.kill();
        Err(Failure(format!("vaquita did not become ready: {}\n{}", self.ready, self.log())))
    }

    fn log_path(&self) -> PathBuf {
        self.dir.with_extension("log")
    }

    /// What it wrote to its error log, over all starts.
    pub fn log(&self) -> String {
        fs::read_to_string(self.log_path()).unwrap_or_default()
    }

    /// The line it printed when it was ready.
    pub fn ready(&self) -> &str {
        self.ready.trim_end()
    }

    /// TCP port of MySQL's protocol.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// TCP port of memcached's protocol; 0 without that door.
    pub fn memcached_port(&self) -> u16 {
        self.memcached_port.unwrap_or(0)
    }

    /// Unix socket.
    pub fn socket(&self) -> PathBuf {
        self.dir.with_extension("sock")
    }

    /// Process id.
    pub fn pid(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// A command for a stock client (`mariadb`, `mariadb-dump`, `mariadb-admin`), as root over TCP.
    ///
    /// # Errors
    /// The clients are not installed.
    pub fn client(&self, program: &str) -> Result<Command, Failure> {
        let mut command = Paths::installed()?.command(Path::new("usr/bin").join(program));
        command.args(["--no-defaults", "--user=root", "--protocol=tcp", "--host=127.0.0.1"]);
        command.args(["--default-character-set=utf8mb4", &format!("--port={}", self.port)]);
        Ok(command)
    }

    /// Runs statements through the stock client in batch mode; without lines of column names.
    ///
    /// # Errors
    /// What the client says.
    pub fn sql(&self, statements: &str) -> Result<String, Failure> {
        let mut client = self.client("mariadb")?;
        let output = client.args(["--batch", "--skip-column-names", "--execute", statements]).output()?;
        if !output.status.success() {
            return Err(Failure(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// SIGTERM, and waits for the end.
    ///
    /// # Errors
    /// It ended with a failure: with its log.
    pub fn stop(&mut self) -> Result<(), Failure> {
        let Some(mut child) = self.child.take() else { return Ok(()) };
        Command::new("sh").args(["-c", "kill -TERM \"$1\"", "stop", &child.id().to_string()]).status()?;
        let status = child.wait()?;
        if status.success() {
            return Ok(());
        }
        Err(Failure(format!("vaquita ended with {status}\n{}", self.log())))
    }

    /// Waits until it ends by itself, or because a client asked.
    ///
    /// # Errors
    /// It runs on after a minute; it ended with a failure: with its log.
    pub fn ended(&mut self) -> Result<(), Failure> {
        let Some(mut child) = self.child.take() else { return Ok(()) };
        let asked = Instant::now();
        let status = loop {
            match child.try_wait()? {
                Some(status) => break status,
                None if asked.elapsed() > PATIENCE => {
                    self.child = Some(child);
                    return Err(Failure(format!("vaquita runs on\n{}", self.log())));
                }
                None => std::thread::sleep(Duration::from_millis(10)),
            }
        };
        if status.success() {
            Ok(())
        } else {
            Err(Failure(format!("vaquita ended with {status}\n{}", self.log())))
        }
    }

    /// SIGKILL: a crash.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Drop for Vaquita {
    fn drop(&mut self) {
        self.kill();
    }
}
