//! The memcached door of `vaquita serve`: what it is opened with, who may come in, what follows system variables.

mod option;
mod users;

use super::options::Settings;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use users::{PasswordFile, ServerAccounts};
use vaquita_memcached::cache::Cache;
use vaquita_memcached::innodb::{self, Shelves, Tables};
use vaquita_memcached::server::{Server, ServerOptions};
use vaquita_memcached::store::Users;
use vaquita_server::ErrorLog;
use vaquita_sql::Database;

/// memcached's port.
const USUAL_PORT: usize = 11_211;

/// An open door.
#[derive(Debug)]
pub(super) struct Memcached {
    server: Arc<Server<Arc<Shelves>>>,
    socket: Option<PathBuf>,
}

/// How it is to be opened.
#[derive(Debug)]
struct Plan {
    options: ServerOptions,
    /// Bytes of the cache in memory.
    memory: usize,
}

impl Memcached {
    /// Opens the door, if there is to be one.
    ///
    /// # Errors
    /// For people: an option cannot be understood, an address that was asked for cannot be used.
    pub(super) fn open(
        db: &Arc<Database>,
        settings: &Settings,
        bind: IpAddr,
        tls: Option<Arc<rustls::ServerConfig>>,
        log: &Arc<ErrorLog>,
    ) -> Result<Option<Memcached>, String> {
        let Some(mut plan) = plan(db, settings, bind, log)? else {
            let _ = db.globals().set_fact("memcached_port", "0");
            return Ok(None);
        };
        plan.options.tls = tls;
        let tables = tables(db, log)?;
        let socket = plan.options.socket.clone();
        let cache = Cache::new(plan.memory, plan.options.limits.item_size_max);
        let server = Arc::new(start(&Shelves::new(tables, cache), plan.options)?);
        let port = server.addr().map_or(0, |addr| addr.port());
        let _ = db.globals().set_fact("memcached_port", &port.to_string());
        let followed = Arc::downgrade(&server);
        db.globals().watch(move |name, value| {
            if let Some(server) = followed.upgrade() {
                match name {
                    "require_secure_transport" => server.set_require_tls(value != 0),
                    _ => follow(server.keeper().tables().settings(), name, value),
                }
            }
        });
        Ok(Some(Memcached { server, socket }))
    }

    /// Where clients come in.
    pub(super) fn places(&self) -> impl Iterator<Item = String> {
        let tcp = self.server.addr().map(|addr| format!("memcached={addr}"));
        let socket = self.socket.as_ref().map(|path| format!("memcached_socket={}", path.display()));
        tcp.into_iter().chain(socket)
    }

    /// Ends all connections; what they have open is committed. `false`: not all within `limit`.
    pub(super) fn shutdown(&self, limit: Duration) -> bool {
        self.server.shutdown(limit)
    }
}

/// The mapped tables; `innodb_memcache` is made if it is not there.
fn tables(db: &Arc<Database>, log: &Arc<ErrorLog>) -> Result<Arc<Tables>, String> {
    match crate::memcached::make_tables(db) {
        Ok(true) => log.note("innodb_memcache: the tables of the memcached door are made"),
        Ok(false) => {}
        Err(e) => return Err(format!("innodb_memcache could not be made: {}", e.message)),
    }
    let globals = db.globals();
    let settings = Arc::new(innodb::Settings::default());
    for name in FOLLOWED {
        follow(&settings, name, globals.uint(name));
    }
    let tables = Tables::new(db.engine().core(), settings).map_err(|e| format!("innodb_memcache: {e}"))?;
    let log = log.clone();
    tables.tell_misfits(Box::new(move |line| log.warning(line)));
    Ok(tables)
}

/// System variables that connections look at for every operation.
const FOLLOWED: [&str; 8] = [
    "daemon_memcached_r_batch_size",
    "daemon_memcached_w_batch_size",
    "innodb_api_trx_level",
    "innodb_api_enable_mdl",
    "innodb_api_disable_rowlock",
    "innodb_api_bk_commit_interval",
    "innodb_lock_wait_timeout",
    "innodb_flush_log_at_trx_commit",
];

fn follow(settings: &innodb::Settings, name: &str, value: u64) {
    let short = u32::try_from(value).unwrap_or(u32::MAX);
    let tiny = u8::try_from(value).unwrap_or(u8::MAX);
    match name {
        "daemon_memcached_r_batch_size" => settings.r_batch_size.store(value, Ordering::Relaxed),
        "daemon_memcached_w_batch_size" => settings.w_batch_size.store(value, Ordering::Relaxed),
        "innodb_api_trx_level" => settings.trx_level.store(tiny, Ordering::Relaxed),
        "innodb_api_enable_mdl" => settings.enable_mdl.store(value != 0, Ordering::Relaxed),
        "innodb_api_disable_rowlock" => settings.disable_rowlock.store(value != 0, Ordering::Relaxed),
        "innodb_api_bk_commit_interval" => settings.bk_commit_interval.store(value, Ordering::Relaxed),
        "innodb_lock_wait_timeout" => settings.lock_wait_timeout.store(short, Ordering::Relaxed),
        "innodb_flush_log_at_trx_commit" => {
            settings.flush_log_at_trx_commit.store(tiny, Ordering::Relaxed);
        }
        _ => {}
    }
}

/// What system variables and `daemon_memcached_option` ask for; a variable that was given goes before the option.
/// `None`: no door.
fn plan(
    db: &Arc<Database>,
    settings: &Settings,
    bind: IpAddr,
    log: &Arc<ErrorLog>,
) -> Result<Option<Plan>, String> {
    let globals = db.globals();
    let asked = option::parse(&globals.text("daemon_memcached_option").unwrap_or_default())
        .map_err(|why| format!("daemon_memcached_option: {why}"))?;
    for what in &asked.meaningless {
        log.note(&format!("daemon_memcached_option: {what} has no meaning here"));
    }
    let given = |name: &str| settings.value(name).is_some();
    let number = |name: &str, option: Option<usize>| match option {
        Some(option) if !given(name) => option,
        _ => globals.uint(name) as usize,
    };
    // Nobody is asked for a password unless SASL is on, so the door is open only where somebody has asked for it. Whoever
    // gives the plugin's options without a port means that of memcached.
    let plugin = globals.text("daemon_memcached_option").is_some_and(|text| !text.trim().is_empty());
    let port = number("memcached_port", asked.port.map(usize::from).or(plugin.then_some(USUAL_PORT))) as u16;
    let addr = asked.addr.unwrap_or(bind);
    let tcp = (port > 0 && !globals.is_on("skip_networking")).then(|| SocketAddr::new(addr, port));
    let socket = settings.value("memcached_socket").filter(|path| !path.is_empty()).map(PathBuf::from);
    let socket = socket.or(asked.socket).map(|path| settings.dir.join(path));
    if tcp.is_none() && socket.is_none() {
        return Ok(None);
    }
    let sasl = if given("memcached_sasl") { globals.is_on("memcached_sasl") } else { asked.sasl };
    let users = if sasl { Some(users(db, log)?) } else { None };
    if users.is_none() && !addr.is_loopback() && tcp.is_some() {
        log.warning(
            "memcached: whoever reaches the port can read and change the tables of \
             innodb_memcache.containers; memcached_sasl=ON asks for passwords",
        );
    }
    let mut options = ServerOptions {
        tcp,
        socket,
        loops: number("memcached_threads", asked.threads),
        max_connections: number("memcached_max_connections", asked.max_connections),
        idle_timeout_s: number("memcached_idle_timeout", asked.idle_timeout_s.map(|s| s as usize)) as u32,
        require_tls: globals.is_on("require_secure_transport"),
        users,
        ..ServerOptions::default()
    };
    options.socket_mode = asked.socket_mode.unwrap_or(options.socket_mode);
    options.limits.item_size_max = number("memcached_max_item_size", asked.item_size_max);
    let told = log.clone();
    options.log = Arc::new(move |text| told.warning(text));
    let memory = number("memcached_cache_size", asked.memory);
    Ok(Some(Plan { options, memory }))
}

/// Those of a password file, if one is named, or else the server's accounts.
fn users(db: &Arc<Database>, log: &Arc<ErrorLog>) -> Result<Arc<dyn Users>, String> {
    let named = db.globals().text("memcached_sasl_pwdb").filter(|path| !path.is_empty()).map(PathBuf::from);
    match named.or_else(|| std::env::var_os("MEMCACHED_SASL_PWDB").map(PathBuf::from)) {
        Some(path) => {
            log.note(&format!("memcached: SASL, users of {}", path.display()));
            Ok(Arc::new(PasswordFile::read(&path, log)?))
        }
        None => {
            log.note("memcached: SASL, the server's accounts");
            Ok(Arc::new(ServerAccounts(db.clone())))
        }
    }
}

fn start(shelves: &Arc<Shelves>, options: ServerOptions) -> Result<Server<Arc<Shelves>>, String> {
    let place = options.tcp.map_or_else(|| "the socket".to_owned(), |addr| addr.to_string());
    Server::start(shelves.clone(), options)
        .map_err(|e| format!("Can't start the memcached door: {place}: {e}"))
}
