//! What an application plays on.

use crate::Failure;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use vaquita_clients::Vaquita;
use vaquita_peers::{Paths, Server};

/// How long a program may run.
const PATIENCE: Duration = Duration::from_secs(600);
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// How much is played.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// The every-day test: less than twenty seconds.
    Short,
    /// What `cargo xtask applications` runs.
    Long,
}

impl Extent {
    /// As an argument for programs: `short` or `long`.
    pub fn word(self) -> &'static str {
        match self {
            Extent::Short => "short",
            Extent::Long => "long",
        }
    }
}

/// Where the server is.
#[derive(Debug, Clone)]
pub struct Host {
    /// `vaquita`, or the real server's name.
    pub name: String,
    /// TCP port on 127.0.0.1.
    pub port: u16,
    /// Unix socket.
    pub socket: PathBuf,
}

impl Host {
    /// Of a running Vaquita.
    pub fn vaquita(server: &Vaquita) -> Host {
        Host { name: "vaquita".to_owned(), port: server.port(), socket: server.socket() }
    }

    /// Of a real server.
    pub fn peer(server: &Server) -> Host {
        Host { name: format!("{:?}", server.flavour()), port: server.port(), socket: server.socket() }
    }
}

/// A server with an account that may do everything, and an empty folder.
#[derive(Debug, Clone)]
pub struct Stage {
    /// The server.
    pub host: Host,
    /// The application's own folder, empty at first.
    pub scratch: PathBuf,
    /// How much is played.
    pub extent: Extent,
}

impl Stage {
    /// The account that applications use.
    pub const USER: &'static str = "app";
    /// Its password.
    pub const PASSWORD: &'static str = "se cret";

    /// Makes the account, as root through the socket.
    pub(crate) fn prepare(&self) -> Result<(), Failure> {
        let (user, password) = (Self::USER, Self::PASSWORD);
        let statements = format!(
            "create user {user}@'%' identified by '{password}'; grant all on *.* to {user}@'%' with grant option"
        );
        let mut root = Paths::installed()?.command("usr/bin/mariadb");
        root.args(["--no-defaults", "--user=root", "--protocol=socket"]);
        root.arg(format!("--socket={}", self.host.socket.display())).args(["--execute", &statements]);
        self.run(&mut root).map(drop)
    }

    /// A stock client program (`mariadb`, `mariadb-dump`, ..) as the account, over TCP.
    ///
    /// # Errors
    /// The clients are not installed.
    pub fn client(&self, program: &str) -> Result<Command, Failure> {
        let mut command = Paths::installed()?.command(Path::new("usr/bin").join(program));
        command.args(["--no-defaults", "--protocol=tcp", "--host=127.0.0.1"]);
        command.arg(format!("--user={}", Self::USER)).arg(format!("--password={}", Self::PASSWORD));
        command.args(["--default-character-set=utf8mb4", &format!("--port={}", self.host.port)]);
        Ok(command)
    }

    /// Runs statements through the stock client in batch mode, with lines of column names.
    ///
    /// # Errors
    /// What the client says.
    pub fn sql(&self, statements: &str) -> Result<String, Failure> {
        self.run(self.client("mariadb")?.args(["--batch", "--execute", statements]))
    }

    /// An empty database.
    ///
    /// # Errors
    /// What the client says.
    pub fn create_database(&self, name: &str, character_set: &str) -> Result<(), Failure> {
        let dropped = format!("drop database if exists `{name}`");
        self.sql(&format!("{dropped}; create database `{name}` character set {character_set}")).map(drop)
    }

    /// Runs the statements of a file through the stock client.
    ///
    /// # Errors
    /// What the client says.
    pub fn source(&self, database: &str, file: &Path) -> Result<String, Failure> {
        self.run_reading(self.client("mariadb")?.arg(database), Some(file))
    }

    /// Runs a program to its end in the scratch folder; its standard output.
    ///
    /// # Errors
    /// It failed or did not end: with all it said.
    pub fn run(&self, command: &mut Command) -> Result<String, Failure> {
        self.run_reading(command, None)
    }

    fn run_reading(&self, command: &mut Command, input: Option<&Path>) -> Result<String, Failure> {
        let ended = self.finish(command, input)?;
        if ended.success {
            return Ok(ended.out);
        }
        Err(Failure(format!("on {}: {command:?} failed:\n{}{}", self.host.name, ended.out, ended.err)))
    }

    /// Runs a program to its end in the scratch folder, whatever it ends with.
    ///
    /// # Errors
    /// It could not be run, or did not end.
    pub fn finish(&self, command: &mut Command, input: Option<&Path>) -> Result<Ended, Failure> {
        let stdin = match input {
            Some(file) => Stdio::from(std::fs::File::open(file)?),
            None => Stdio::null(),
        };
        // What is made for a moment lies elsewhere, as it does for whoever works in a folder of his own.
        let temporary = self.scratch.with_extension("tmp");
        std::fs::create_dir_all(&temporary)?;
        command.current_dir(&self.scratch).env("HOME", &self.scratch).env("TMPDIR", &temporary);
        command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
        let shown = format!("{command:?}");
        let mut child = command.spawn().map_err(|e| Failure(format!("{shown}: {e}")))?;
        let (out, err) = (child.stdout.take(), child.stderr.take());
        std::thread::scope(|scope| {
            let out = scope.spawn(move || text_of(out));
            let err = scope.spawn(move || text_of(err));
            let status = wait(&mut child);
            let (out, err) = (out.join().unwrap_or_default(), err.join().unwrap_or_default());
            match status? {
                Some(status) => Ok(Ended { success: status.success(), out, err }),
                None => Err(Failure(format!(
                    "on {}: {shown} ran longer than {PATIENCE:?}:\n{out}{err}",
                    self.host.name
                ))),
            }
        })
    }
}

/// How a program ended.
#[derive(Debug)]
pub struct Ended {
    /// With status 0.
    pub success: bool,
    /// Its standard output.
    pub out: String,
    /// Its standard error.
    pub err: String,
}

fn wait(child: &mut Child) -> Result<Option<std::process::ExitStatus>, Failure> {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if begun.elapsed() > PATIENCE {
            let _ = child.kill();
            let _ = child.wait();
            return Ok(None);
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

fn text_of(pipe: Option<impl std::io::Read>) -> String {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        let _ = pipe.read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
