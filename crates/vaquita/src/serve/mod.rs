//! `vaquita serve`: a data folder served to MySQL's clients, until SIGTERM, SIGINT or SHUTDOWN.
//!
//! | exit code | |
//! |---|---|
//! | 0 | ended as asked |
//! | 1 | it ran, and could not end cleanly |
//! | 2 | it could not start |
//!
//! Exactly one line goes to standard output, when clients are accepted:
//! `ready: mysql=HOST:PORT socket=PATH memcached=HOST:PORT memcached_socket=PATH`, of these what there is.

mod files;
mod left_behind;
mod memcached;
mod opening;
mod option_file;
mod options;
mod other_options;
mod place;
mod suggest;

pub use place::UserSwitch;
pub(crate) use place::check_folder;

use memcached::Memcached;
use options::Settings;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use vaquita_server::{DatabaseBackend, ErrorLog, Server, ServerOptions, tls};
use vaquita_sql::types::Level;
use vaquita_sql::{Database, DoorFlush, Options, Transport};

/// How long sessions may take to end.
const PATIENCE: Duration = Duration::from_secs(60);

/// Arguments of `vaquita serve`.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct ServeArgs {
    /// The data folder, made if it is not there, and options: `--help` lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "DIR | --OPTION")]
    args: Vec<OsString>,
}

const HELP: &str = "\
Serve a data folder to MySQL's and memcached's clients

Usage: vaquita serve DIR [OPTIONS]

Options:
      --port=N                TCP port; 0: no TCP [default: 3306]
      --bind=ADDRESS          Address to listen on [default: 127.0.0.1]
      --socket=PATH           Unix socket
      --memcached-port=N      TCP port of memcached's protocol [default: none]
      --memcached-socket=PATH Unix socket of memcached's protocol
      --memcached-sasl        Clients of memcached's protocol must log in
      --config=FILE           Option file (my.cnf): groups [mysqld], [server], [vaquita]
      --log-error=FILE        Error log [default: standard error]
      --take-over             Write in a folder that a MySQL server made; without, it is open for reading only
      --user=NAME             Run as this user, if root starts the server; root: stay so without a warning
      --skip-grant-tables     Everybody who reaches this machine's loopback or the socket may do everything
      --SYSTEM-VARIABLE=VALUE Any system variable that can be set at start: SHOW VARIABLES names them
      --skip-VARIABLE         The same as --VARIABLE=OFF
      --help                  Print this
";

/// Runs the server. Gives the exit code.
pub(crate) fn run(
    args: &ServeArgs,
    switch: Option<UserSwitch>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> u8 {
    if args.args.iter().any(|arg| arg == "--help" || arg == "-h") {
        let _ = out.write_all(HELP.as_bytes());
        return 0;
    }
    let read = Settings::from_arguments(&args.args).and_then(|settings| {
        settings.check_values()?;
        let elsewhere = settings.value("innodb_data_home_dir").is_some_and(|home| !home.is_empty());
        check_folder(&settings.dir, elsewhere)?;
        // Before any file is made, and before there are other threads.
        let note = place::change_user(&settings, switch)?;
        Ok((settings, note))
    });
    let (mut settings, note) = match read {
        Ok(read) => read,
        Err(why) => {
            let _ = writeln!(err, "vaquita serve: {why}");
            return 2;
        }
    };
    settings.warnings.extend(note);
    let log = match error_log(&settings) {
        Ok(log) => Arc::new(log),
        Err(why) => {
            let _ = writeln!(err, "vaquita serve: {why}");
            return 2;
        }
    };
    settings.warnings.iter().for_each(|warning| log.warning(warning));
    match Running::start(&settings, log.clone()) {
        Ok(running) => {
            let _ = writeln!(out, "ready: {}", running.places());
            let _ = out.flush();
            running.until_the_end()
        }
        Err(why) => {
            log.error(&why);
            log.error("Aborting");
            2
        }
    }
}

fn error_log(settings: &Settings) -> Result<ErrorLog, String> {
    match settings.value("log_error").filter(|path| !matches!(*path, "" | "stderr")) {
        None => Ok(ErrorLog::to_stderr()),
        Some(path) => {
            fs::create_dir_all(&settings.dir).map_err(|e| format!("{}: {e}", settings.dir.display()))?;
            ErrorLog::to_file(settings.dir.join(path)).map_err(|e| format!("{path}: {e}"))
        }
    }
}

/// A database with its server.
struct Running {
    db: Arc<Database>,
    server: Arc<Server>,
    memcached: Option<Memcached>,
    log: Arc<ErrorLog>,
    socket: Option<PathBuf>,
    pid_file: Option<PathBuf>,
}

impl Running {
    fn start(settings: &Settings, log: Arc<ErrorLog>) -> Result<Running, String> {
        let began = Instant::now();
        let version = vaquita_sql::VERSION;
        log.note(&format!("vaquita {version} starting as process {}", std::process::id()));
        let options = Options { dir: settings.dir.clone(), variables: files::fit(settings, &log) };
        let dir = settings.dir.display();
        let taking_over = settings.value("take_over").is_some_and(|v| !matches!(v, "OFF" | "off" | "0"));
        let taking_over = taking_over
            && Database::is_of_another_server(&options).map_err(|e| format!("{dir}: {}", e.message))?;
        if taking_over {
            opening::announce_take_over(&settings.dir, &log);
        }
        let told = log.clone();
        let progress = vaquita_engine::RecoveryProgress::to(move |line| told.note(line));
        let db = Database::open_and_tell(options, progress).map_err(|e| format!("{dir}: {}", e.message))?;
        if taking_over {
            opening::tell_of_server_files(&db, &settings.dir, &log);
            left_behind::lines(&settings.dir).iter().for_each(|line| log.warning(line));
        }
        log.note(&format!("{dir}: open after {} ms", began.elapsed().as_millis()));
        tell_of_storage(&db, &log);
        db.globals().notes().iter().for_each(|note| log.warning(note));
        db.start_notes().iter().for_each(|note| log.note(note));
        opening::tell_what_was_found(&db, &log)?;
        let of_engine = log.clone();
        db.engine().core().notes.listen(move |line| of_engine.note(line));
        let of_events = log.clone();
        db.listen_to_events(Arc::new(move |level, line| match level {
            Level::Note => of_events.note(line),
            Level::Warning => of_events.warning(line),
            Level::Error => of_events.error(line),
        }));
        warn_of_open_root(&db, &log);

        let globals = db.globals();
        let port = globals.uint("port") as u16;
        let tcp = match port {
            0 => None,
            _ if globals.is_on("skip_networking") => None,
            _ => Some(SocketAddr::new(opening::reachable(bind_address(&db)?, &db, &log), port)),
        };
        let socket = settings.value("socket").filter(|path| !path.is_empty()).map(|p| settings.dir.join(p));
        if tcp.is_none() && socket.is_none() {
            return Err("nothing to listen on: give --port or --socket".into());
        }
        let bind = opening::reachable(bind_address(&db)?, &db, &log);
        let tls = match tls_config(&db, &settings.dir, &log) {
            Ok(tls) => tls,
            Err(why) => {
                let _ = db.close();
                return Err(why);
            }
        };
        // Before the other door, so that it can be given up without ending anybody's session.
        let memcached = match Memcached::open(&db, settings, bind, tls.clone(), &log) {
            Ok(memcached) => memcached,
            Err(why) => {
                let _ = db.close();
                return Err(why);
            }
        };
        let server_options = ServerOptions {
            tcp,
            socket: socket.clone(),
            loops: globals.uint("thread_pool_size") as usize,
            tls,
            log: log.clone(),
            version: globals.text("version").unwrap_or_default(),
        };
        let backend = Arc::new(DatabaseBackend::new(db.clone()));
        let server = match Server::start(backend, server_options) {
            Ok(server) => Arc::new(server),
            Err(e) => {
                drop(memcached);
                let socket = socket.as_ref().map(|path| format!("socket {}", path.display()));
                let place = tcp.map(|addr| addr.to_string()).into_iter().chain(socket);
                let place = place.collect::<Vec<_>>().join(" or ");
                let _ = db.close();
                return Err(format!("Can't start server: {place}: {e}"));
            }
        };
        let socket_name = socket.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
        let _ = db.globals().set_fact("socket", &socket_name);
        let pid_file = write_pid_file(settings, &log);
        let running = Running { db, server, memcached, log, socket, pid_file };
        running.listen_to_requests()?;
        let told = running.db.globals().text("version").unwrap_or_default();
        let places = running.places();
        running.log.note(&format!("vaquita: ready for connections. Version: '{told}'  {places}"));
        Ok(running)
    }

    /// Where clients come in.
    fn places(&self) -> String {
        let tcp = self.server.addr().map(|addr| format!("mysql={addr}"));
        let socket = self.socket.as_ref().map(|path| format!("socket={}", path.display()));
        let memcached = self.memcached.iter().flat_map(Memcached::places);
        tcp.into_iter().chain(socket).chain(memcached).collect::<Vec<_>>().join(" ")
    }

    /// Signals, SHUTDOWN, FLUSH.
    fn listen_to_requests(&self) -> Result<(), String> {
        let requester = Arc::new(self.server.shutdown_requester());
        let asked = requester.clone();
        self.db.set_shutdown_hook(Arc::new(move || asked()));
        let (server, log) = (Arc::downgrade(&self.server), self.log.clone());
        self.db.set_flush_hook(Arc::new(move |what| match (what, server.upgrade()) {
            (DoorFlush::Hosts, Some(server)) => server.flush_hosts(),
            (DoorFlush::Hosts, None) => {}
            (DoorFlush::Logs, _) => reopen(&log),
        }));
        let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP]).map_err(|e| format!("signals: {e}"))?;
        let log = self.log.clone();
        let handler = std::thread::Builder::new().name("vaquita-signals".into()).spawn(move || {
            for signal in signals.forever() {
                if signal == SIGHUP {
                    reopen(&log);
                    continue;
                }
                log.note(&format!("Got signal {signal} to shut down"));
                requester();
            }
        });
        handler.map(drop).map_err(|e| format!("signals: {e}"))
    }

    fn until_the_end(self) -> u8 {
        self.server.wait_for_shutdown_request();
        let began = Instant::now();
        self.log.note("Shutting down: ending connections");
        self.db.stop_events();
        let memcached_ended = self.memcached.as_ref().is_none_or(|door| door.shutdown(PATIENCE));
        drop(self.memcached);
        let ended = self.server.shutdown(PATIENCE) && memcached_ended;
        if !ended {
            self.log.error("Some connections could not be ended");
        }
        let closed = self.db.close();
        if let Err(error) = &closed {
            self.log.error(&format!("The folder could not be closed: {}", error.message));
        }
        if let Some(path) = &self.pid_file {
            let _ = fs::remove_file(path);
        }
        let code = u8::from(!ended || closed.is_err());
        if code == 0 {
            let at_once = self.db.engine().core().live.fast_shutdown.load(Ordering::Relaxed) == 2;
            self.log.note(match at_once {
                true => {
                    "innodb_fast_shutdown=2: no checkpoint is written, the next start recovers the folder"
                }
                false => "Everything is rolled back or committed, a checkpoint is written",
            });
        }
        self.log.note(&format!("Shutdown complete after {} ms", began.elapsed().as_millis()));
        code
    }
}

fn reopen(log: &ErrorLog) {
    if let Err(e) = log.reopen() {
        log.error(&format!("The error log could not be opened anew: {e}"));
    }
}

/// What was done with the log's files, and what is left undone because of `innodb_force_recovery`.
fn tell_of_storage(db: &Database, log: &ErrorLog) {
    let storage = &db.engine().core().storage;
    if let Some((files, bytes)) = storage.report().log_replaced {
        let new = storage.log().geometry();
        log.note(&format!(
            "the redo log was made anew: {} files of {} bytes in place of {files} of {bytes}",
            new.n_files(),
            new.file_size()
        ));
    }
    for damage in storage.pool().kept_damaged() {
        log.warning(&format!("{damage}: it is read as it is, because of innodb_force_recovery"));
    }
    let level = storage.options().force_recovery.0;
    if level > 0 {
        log.note(&format!("innodb_force_recovery is {level}: nothing can be changed; take what is there and make a new folder"));
    }
}

/// Whoever can reach the machine's loopback or the socket is root of a new folder.
fn warn_of_open_root(db: &Database, log: &ErrorLog) {
    let root = db.accounts().find("root", "localhost", &Transport::Socket);
    if root.is_some_and(|account| account.authentication.is_empty() && !account.locked) {
        log.warning(
            "root@localhost has no password: everybody on this machine can log in as root. It is accepted over \
             loopback and the socket only. Set one: SET PASSWORD FOR root@localhost = '..'",
        );
    }
}

fn bind_address(db: &Database) -> Result<IpAddr, String> {
    let text = db.globals().text("bind_address").unwrap_or_default();
    match text.as_str() {
        "*" => Ok(IpAddr::from([0_u16; 8])),
        "localhost" => Ok(IpAddr::from([127, 0, 0, 1])),
        other => other.parse().map_err(|_| format!("bind_address: '{other}' is no address")),
    }
}

/// TLS with given files, or with files of the folder's own making. A server that was not asked for TLS serves without, if there must
/// be.
///
/// # Errors
/// There is none, and TLS was asked for: by a certificate, or by what only TLS gives.
fn tls_config(
    db: &Database,
    dir: &Path,
    log: &ErrorLog,
) -> Result<Option<Arc<rustls::ServerConfig>>, String> {
    let globals = db.globals();
    let given = |name: &str| globals.text(name).filter(|p| !p.is_empty()).map(|p| dir.join(p));
    let asked = ["ssl_cert", "ssl_key", "ssl_ca", "ssl_capath", "ssl_crl", "ssl_crlpath", "ssl_cipher"];
    let needed = asked.into_iter().find(|name| given(name).is_some());
    for (there, missing) in [("ssl_cert", "ssl_key"), ("ssl_key", "ssl_cert")] {
        if given(there).is_some() && given(missing).is_none() {
            return Err(format!(
                "{there} is given, and no {missing}: a certificate and its key belong together"
            ));
        }
    }
    let without = |why: &str| match needed {
        Some(name) => Err(format!("{name} is given, and there is no TLS: {why}")),
        None => Ok(None),
    };
    let files = match (given("ssl_cert"), given("ssl_key")) {
        (Some(cert), Some(key)) => Ok(tls::TlsFiles { cert, key, ..tls::TlsFiles::default() }),
        // A folder that is open for reading only gets no files, and has none to show.
        _ if db.engine().core().storage.options().read_only => return without("the folder is read only"),
        _ if globals.is_on("auto_generate_certs") => tls::files_of(dir),
        _ => return without("no ssl_cert and ssl_key are given"),
    };
    let config = files.and_then(|mut files| {
        (files.ca, files.ca_dir) = (given("ssl_ca"), given("ssl_capath"));
        (files.crl, files.crl_dir) = (given("ssl_crl"), given("ssl_crlpath"));
        files.versions = globals.text("tls_version").unwrap_or_default();
        files.ciphers = globals.text("ssl_cipher").unwrap_or_default();
        let config = tls::config(&files)?;
        let _ = globals.set_fact("ssl_cert", &files.cert.display().to_string());
        let _ = globals.set_fact("ssl_key", &files.key.display().to_string());
        Ok(config)
    });
    let yes_or_no = if config.is_ok() { "YES" } else { "DISABLED" };
    let _ = globals.set_fact("have_ssl", yes_or_no);
    let _ = globals.set_fact("have_openssl", yes_or_no);
    match config {
        Ok(config) => Ok(Some(config)),
        Err(e) if needed.is_some() => without(&e.to_string()),
        Err(e) => {
            log.warning(&format!("Failed to set up TLS: {e}"));
            Ok(None)
        }
    }
}

fn write_pid_file(settings: &Settings, log: &ErrorLog) -> Option<PathBuf> {
    let path = settings.dir.join(settings.value("pid_file").filter(|path| !path.is_empty())?);
    match fs::write(&path, format!("{}\n", std::process::id())) {
        Ok(()) => Some(path),
        Err(e) => {
            log.warning(&format!("{}: {e}", path.display()));
            None
        }
    }
}
