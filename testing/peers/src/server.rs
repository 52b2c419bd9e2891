//! A running peer: bootstrap, start, ask, stop, kill, start again.
//!
//! A [`Server`] owns its process. Dropping it kills the process and removes its scratch folder. Should the test
//! process itself die, a small guard process (a shell reading a pipe whose other end the test holds) kills the
//! server, so no run leaves one behind.

use std::fs;
use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::install::run;
use crate::{Options, Paths, PeerError, Session, scratch_dir};

/// How long a server may take to start or stop before the test gives up: generous, as machines are shared.
const PATIENCE: Duration = Duration::from_secs(180);
/// Between two looks at a server that starts or stops.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Which server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavour {
    /// MySQL Community Server 5.6.24, the reference.
    Mysql56,
    /// MariaDB 10.11.
    MariaDb,
}

/// Starts MySQL 5.6.24.
#[derive(Debug)]
pub struct Mysql56;

impl Mysql56 {
    /// Bootstraps a fresh data folder with `options` and starts a server on it.
    ///
    /// # Errors
    /// [`PeerError`], with the server's own log where there is one.
    pub fn start(options: Options) -> Result<Server, PeerError> {
        Server::start_fresh(Flavour::Mysql56, options)
    }

    /// Starts a server on an existing data folder, which stays when the server goes.
    ///
    /// # Errors
    /// As [`Mysql56::start`].
    pub fn open(datadir: &Path, options: Options) -> Result<Server, PeerError> {
        Server::start_on(Flavour::Mysql56, datadir, options)
    }
}

/// Starts MariaDB 10.11.
#[derive(Debug)]
pub struct MariaDb;

impl MariaDb {
    /// Bootstraps a fresh data folder with `options` and starts a server on it.
    ///
    /// # Errors
    /// [`PeerError`], with the server's own log where there is one.
    pub fn start(options: Options) -> Result<Server, PeerError> {
        Server::start_fresh(Flavour::MariaDb, options)
    }

    /// Starts a server on an existing data folder, which stays when the server goes.
    ///
    /// # Errors
    /// As [`MariaDb::start`].
    pub fn open(datadir: &Path, options: Options) -> Result<Server, PeerError> {
        Server::start_on(Flavour::MariaDb, datadir, options)
    }
}

/// A peer with its data folder; running or stopped.
#[derive(Debug)]
pub struct Server {
    paths: Paths,
    flavour: Flavour,
    options: Options,
    /// Scratch folder of this value: socket, log, temporary files, and the data folder if we made it.
    home: PathBuf,
    datadir: PathBuf,
    port: u16,
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
    server: Child,
    guard: Child,
}

impl Server {
    fn start_fresh(flavour: Flavour, options: Options) -> Result<Server, PeerError> {
        let mut server = Server::stopped(flavour, None, options)?;
        server.bootstrap()?;
        server.start_again()?;
        Ok(server)
    }

    fn start_on(flavour: Flavour, datadir: &Path, options: Options) -> Result<Server, PeerError> {
        let mut server = Server::stopped(flavour, Some(datadir), options)?;
        server.start_again()?;
        Ok(server)
    }

    fn stopped(flavour: Flavour, datadir: Option<&Path>, options: Options) -> Result<Server, PeerError> {
        let paths = Paths::installed()?;
        let home = scratch_dir("vq-peer")?;
        let datadir = datadir.map_or_else(|| home.join("data"), Path::to_path_buf);
        let server = Server { paths, flavour, options, home, datadir, port: 0, running: None };
        let tmp = server.home.join("tmp");
        fs::create_dir(&tmp).map_err(PeerError::io(format!("create {}", tmp.display())))?;
        Ok(server)
    }

    /// Makes the system tables: a bootstrap run of the server reads their definitions from standard input.
    fn bootstrap(&self) -> Result<(), PeerError> {
        for folder in [self.datadir.join("mysql"), self.datadir.join("test")] {
            fs::create_dir_all(&folder).map_err(PeerError::io(format!("create {}", folder.display())))?;
        }
        let (mut script, scripts): (String, &[&str]) = match self.flavour {
            Flavour::Mysql56 => {
                ("use mysql;\n".into(), &["mysql_system_tables.sql", "mysql_system_tables_data.sql"])
            }
            Flavour::MariaDb => (
                "create database if not exists mysql;\nuse mysql;\nset @auth_root_socket=NULL;\n".into(),
                &["mysql_system_tables.sql", "mysql_performance_tables.sql", "mysql_system_tables_data.sql"],
            ),
        };
        for name in scripts {
            let path = self.share().join(name);
            script +=
                &fs::read_to_string(&path).map_err(PeerError::io(format!("read {}", path.display())))?;
        }
        // No anonymous accounts: they would shadow named ones for connections from this machine.
        script += "\ndelete from mysql.user where user='';\n";
        let input = self.home.join("bootstrap.sql");
        fs::write(&input, script).map_err(PeerError::io(format!("write {}", input.display())))?;
        let stdin = fs::File::open(&input).map_err(PeerError::io(format!("open {}", input.display())))?;
        run(self.server_command().arg("--bootstrap").stdin(stdin)).map(drop)
    }

    fn share(&self) -> PathBuf {
        match self.flavour {
            Flavour::Mysql56 => self.paths.mysql56().join("share"),
            Flavour::MariaDb => self.paths.debian().join("usr/share/mysql"),
        }
    }

    /// The server program with every option that does not concern connections.
    fn server_command(&self) -> Command {
        let (program, basedir) = match self.flavour {
            Flavour::Mysql56 => (self.paths.mysql56().join("mysqld"), self.paths.mysql56()),
            Flavour::MariaDb => {
                (self.paths.debian().join("usr/sbin/mariadbd"), self.paths.debian().join("usr"))
            }
        };
        let mut command = self.paths.command(program);
        command.arg("--no-defaults").arg(format!("--basedir={}", basedir.display()));
        command.arg(format!("--datadir={}", self.datadir.display()));
        command.arg(format!("--tmpdir={}", self.home.join("tmp").display()));
        command.arg(format!("--lc-messages-dir={}", self.share().display()));
        command.arg(format!("--character-sets-dir={}", self.share().join("charsets").display()));
        command.args(["--user=root", "--bind-address=127.0.0.1", "--skip-name-resolve"]);
        let mut defaults = vec![
            ("performance_schema", "OFF"),
            ("innodb_file_per_table", "1"),
            ("innodb_buffer_pool_size", "32M"),
            ("max_allowed_packet", "64M"),
            ("default_time_zone", "+00:00"),
            ("innodb_log_file_size", "16M"),
            // A killed server loses nothing by it, only a power cut would; commits need no sync.
            ("innodb_flush_log_at_trx_commit", "2"),
        ];
        if self.flavour == Flavour::Mysql56 {
            defaults.extend([
                ("innodb_file_format", "Barracuda"),
                ("innodb_large_prefix", "1"),
                ("explicit_defaults_for_timestamp", "1"),
            ]);
        }
        command.args(self.options.arguments_over(&defaults));
        command
    }

    /// Starts the stopped server on its data folder, with the current options.
    ///
    /// # Errors
    /// [`PeerError::Failed`] with the server's log.
    pub fn start_again(&mut self) -> Result<(), PeerError> {
        assert!(self.running.is_none(), "the server runs already");
        // Another process may take the free port between our look and the server's bind: then try another.
        for _ in 0..5 {
            self.port = free_port()?;
            self.spawn()?;
            match self.wait_until_ready() {
                Ok(()) => return Ok(()),
                Err(e) => {
                    self.kill();
                    if !self.error_log().contains("Address already in use") {
                        return Err(e);
                    }
                }
            }
        }
        Err(PeerError::Failed("no free port after five tries".into()))
    }

    /// Starts the stopped server, which is to find that it cannot, waits until its log has `words`, and ends it; the log. For
    /// refusals that the server repeats for minutes before it gives up.
    ///
    /// # Errors
    /// [`PeerError::Failed`] if it becomes ready, ends without these words, or says nothing.
    pub fn start_refused(&mut self, words: &str) -> Result<String, PeerError> {
        assert!(self.running.is_none(), "the server runs already");
        self.port = free_port()?;
        self.spawn()?;
        let started = Instant::now();
        let socket = self.socket();
        let refused = loop {
            let log = self.error_log();
            let running = self.running.as_mut().expect("just spawned");
            let ended = running.server.try_wait().map_err(PeerError::io("watch the server"))?;
            if log.contains(words) {
                break Ok(log);
            }
            if ended.is_some() || started.elapsed() > PATIENCE || UnixStream::connect(&socket).is_ok() {
                break Err(PeerError::Failed(format!("the server did not say {words:?}:\n{log}")));
            }
            std::thread::sleep(LOOK_EVERY);
        };
        self.kill();
        refused
    }

    fn spawn(&mut self) -> Result<(), PeerError> {
        let log_path = self.home.join("error.log");
        let _ = fs::remove_file(&log_path);
        let log = fs::File::create(&log_path).map_err(PeerError::io("create the server's log"))?;
        let also = log.try_clone().map_err(PeerError::io("share the server's log"))?;
        let mut command = self.server_command();
        command.arg(format!("--socket={}", self.socket().display()));
        command.arg(format!("--pid-file={}", self.home.join("pid").display()));
        command.arg(format!("--port={}", self.port));
        command.stdin(Stdio::null()).stdout(log).stderr(also);
        let server = command.spawn().map_err(PeerError::io(format!("run {command:?}")))?;
        let guard = Command::new("sh")
            .args(["-c", "read line; kill -9 \"$1\"", "guard", &server.id().to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(PeerError::io("run sh"))?;
        self.running = Some(Running { server, guard });
        Ok(())
    }

    fn wait_until_ready(&mut self) -> Result<(), PeerError> {
        let started = Instant::now();
        let socket = self.socket();
        while started.elapsed() < PATIENCE {
            let running = self.running.as_mut().expect("just spawned");
            let ended = running.server.try_wait().map_err(PeerError::io("watch the server"))?;
            if let Some(status) = ended {
                return Err(PeerError::Failed(format!(
                    "the server ended with {status}:\n{}",
                    self.error_log()
                )));
            }
            if UnixStream::connect(&socket).is_ok() {
                return self.sql("select 1").map(drop);
            }
            std::thread::sleep(LOOK_EVERY);
        }
        Err(PeerError::Failed(format!("the server is not ready after {PATIENCE:?}:\n{}", self.error_log())))
    }

    /// Which server this is.
    pub fn flavour(&self) -> Flavour {
        self.flavour
    }

    /// The data folder. Its files belong to the server while it runs.
    pub fn datadir(&self) -> &Path {
        &self.datadir
    }

    /// The server's Unix socket.
    pub fn socket(&self) -> PathBuf {
        self.home.join("s")
    }

    /// The server's TCP port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The server's process id while it runs.
    pub fn pid(&self) -> Option<u32> {
        self.running.as_ref().map(|running| running.server.id())
    }

    /// What the server has written to its error log since it was last started.
    pub fn error_log(&self) -> String {
        fs::read(self.home.join("error.log"))
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .unwrap_or_default()
    }

    /// Replaces the options for the next [`Server::start_again`].
    pub fn set_options(&mut self, options: Options) {
        self.options = options;
    }

    /// A command for a stock client program of the Debian packages (`mariadb`, `mariadb-dump`, `sysbench`..) with
    /// the arguments that lead to this server as root.
    pub fn client(&self, program: &str) -> Command {
        let mut command = self.paths.command(Path::new("usr/bin").join(program));
        command.args([
            "--no-defaults",
            "--user=root",
            "--protocol=socket",
            "--default-character-set=utf8mb4",
        ]);
        command.arg(format!("--socket={}", self.socket().display()));
        command
    }

    /// Runs statements through the stock client in batch mode. The answer has a line of column names before each
    /// result; columns are divided by tabs; tab, line feed, NUL and backslash are escaped; NULL is `NULL`.
    ///
    /// # Errors
    /// [`PeerError::Sql`] with the first error; later statements are not run.
    pub fn sql(&self, statements: &str) -> Result<String, PeerError> {
        self.ask(&[], statements)
    }

    /// As [`Server::sql`] without the lines of column names, split into rows and columns (still escaped).
    ///
    /// # Errors
    /// As [`Server::sql`].
    pub fn rows(&self, statements: &str) -> Result<Vec<Vec<String>>, PeerError> {
        let text = self.ask(&["--skip-column-names"], statements)?;
        Ok(text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect())
    }

    fn ask(&self, flags: &[&str], statements: &str) -> Result<String, PeerError> {
        let mut command = self.client("mariadb");
        command
            .arg("--batch")
            .args(flags)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut client = command.spawn().map_err(PeerError::io("run the client"))?;
        let mut stdin = client.stdin.take().expect("piped");
        let output = std::thread::scope(|scope| {
            // The client answers while it reads: feed it from beside. A broken pipe means it stopped at an error.
            scope.spawn(move || {
                let _ = stdin.write_all(statements.as_bytes());
            });
            client.wait_with_output()
        });
        let output = output.map_err(PeerError::io("wait for the client"))?;
        if !output.status.success() {
            return Err(PeerError::Sql(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
        }
        String::from_utf8(output.stdout)
            .map_err(|_| PeerError::Failed("the answer is not UTF-8: select HEX() of binary columns".into()))
    }

    /// Opens a connection that lasts: for locks, transactions and `FLUSH TABLES .. FOR EXPORT`.
    ///
    /// # Errors
    /// [`PeerError`] if the client does not start.
    pub fn session(&self) -> Result<Session, PeerError> {
        Session::open(self.client("mariadb"))
    }

    /// Copies the files of `tables` (`.ibd`, `.cfg`, `.frm`, or what there is) from `database` into the existing
    /// folder `into`, while the server holds them still with `FLUSH TABLES .. FOR EXPORT`.
    ///
    /// # Errors
    /// [`PeerError`] of the statement or of the copy.
    pub fn export(&self, database: &str, tables: &[&str], into: &Path) -> Result<(), PeerError> {
        let mut session = self.session()?;
        session.run(&format!("use `{database}`"))?;
        let list = tables.iter().map(|table| format!("`{table}`")).collect::<Vec<_>>().join(", ");
        session.run(&format!("flush tables {list} for export"))?;
        for table in tables {
            for extension in ["ibd", "cfg", "frm"] {
                let name = format!("{table}.{extension}");
                let from = self.datadir.join(database).join(&name);
                fs::copy(&from, into.join(&name))
                    .map_err(PeerError::io(format!("copy {}", from.display())))?;
            }
        }
        session.run("unlock tables").map(drop)
    }

    /// Clean shutdown with the server's setting of `innodb_fast_shutdown` (1 unless set). The data folder is at
    /// rest afterwards.
    ///
    /// # Errors
    /// [`PeerError::Failed`] if the server does not end, or ends with a failure.
    pub fn shutdown(&mut self) -> Result<(), PeerError> {
        let Some(running) = self.running.as_mut() else { return Ok(()) };
        run(Command::new("sh").args(["-c", "kill -TERM \"$1\"", "stop", &running.server.id().to_string()]))?;
        let asked = Instant::now();
        let status = loop {
            if let Some(status) = running.server.try_wait().map_err(PeerError::io("watch the server"))? {
                break status;
            }
            if asked.elapsed() > PATIENCE {
                return Err(PeerError::Failed(format!(
                    "no shutdown within {PATIENCE:?}:\n{}",
                    self.error_log()
                )));
            }
            std::thread::sleep(LOOK_EVERY);
        };
        self.forget_running();
        if !status.success() {
            return Err(PeerError::Failed(format!("the server ended with {status}:\n{}", self.error_log())));
        }
        Ok(())
    }

    /// Clean shutdown after a full purge and change buffer merge (`innodb_fast_shutdown=0`).
    ///
    /// # Errors
    /// As [`Server::shutdown`].
    pub fn shutdown_slow(&mut self) -> Result<(), PeerError> {
        self.sql("set global innodb_fast_shutdown = 0")?;
        self.shutdown()
    }

    /// Ends the server at once, as a crash would (signal 9). Nothing happens if it does not run.
    pub fn kill(&mut self) {
        if let Some(running) = self.running.as_mut() {
            let _ = running.server.kill();
            let _ = running.server.wait();
            self.forget_running();
        }
    }

    /// Ends the guard *before* its pipe closes: the server's process id may belong to somebody else by then.
    fn forget_running(&mut self) {
        if let Some(mut running) = self.running.take() {
            let _ = running.guard.kill();
            let _ = running.guard.wait();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
        if std::thread::panicking() {
            eprintln!("log of the {:?} server:\n{}", self.flavour, self.error_log());
        }
        let _ = fs::remove_dir_all(&self.home);
    }
}

fn free_port() -> Result<u16, PeerError> {
    let listener =
        std::net::TcpListener::bind(("127.0.0.1", 0)).map_err(PeerError::io("bind a free port"))?;
    Ok(listener.local_addr().map_err(PeerError::io("read the free port"))?.port())
}
