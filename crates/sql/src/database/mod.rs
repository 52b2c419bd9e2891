//! A folder opened as a database.

mod identity;
mod live;
mod memory;
mod options;

use crate::accounts::Accounts;
use crate::connection::{ConnectInfo, Connection};
use crate::logs::StatementLogs;
use crate::plan_cache::PlanCache;
use crate::status::monitors::Monitors;
use crate::virtual_tables::InfoTables;
use parking_lot::Mutex;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use vaquita_engine::Engine;
use vaquita_session::Shared;
use vaquita_session::vars::{Globals, VarId, VarValue, id};
use vaquita_types::memory::account::Total;
use vaquita_types::{SqlError, SqlResult};

/// How to open.
#[derive(Debug, Clone)]
pub struct Options {
    /// The folder; created if it is not there.
    pub dir: PathBuf,
    /// System variables, by name, as text: what `--name=value` and option files give.
    pub variables: Vec<(String, String)>,
}

/// What only a door can flush.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DoorFlush {
    /// FLUSH HOSTS: hosts that were shut out.
    Hosts,
    /// FLUSH LOGS: files of logs, which somebody has moved away.
    Logs,
}

type FlushHook = Arc<dyn Fn(DoorFlush) + Send + Sync>;

/// What the sessions of a folder share.
pub struct Database {
    /// What statements see of it.
    shared: Shared,
    /// The tables of information_schema.
    pub(crate) virtual_tables: InfoTables,
    /// Users and grants.
    pub(crate) accounts: Accounts,
    /// The general log and the slow query log.
    pub(crate) logs: StatementLogs,
    /// Which counters of INNODB_METRICS are on.
    pub(crate) monitors: Monitors,
    /// The folder.
    pub(crate) dir: PathBuf,
    /// Plans by text.
    pub(crate) plans: PlanCache,
    /// When it was opened.
    pub(crate) opened: Instant,
    /// `innodb_flush_log_at_trx_commit`.
    pub(crate) flush_at_commit: AtomicU8,
    /// `read_only`.
    pub(crate) read_only: AtomicBool,
    /// `super_read_only`.
    pub(crate) super_read_only: AtomicBool,
    /// What all sessions take of the memory.
    pub(crate) memory: Arc<Total>,
    /// Prepared statements of all sessions.
    pub(crate) prepared_count: AtomicU64,
    pub(crate) start_notes: Mutex<Vec<String>>,
    shutdown_hook: Mutex<Option<Arc<dyn Fn() + Send + Sync>>>,
    flush_hook: Mutex<Option<FlushHook>>,
}

impl std::ops::Deref for Database {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.shared
    }
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Database").finish_non_exhaustive()
    }
}

impl Database {
    /// Opens a folder; a new one gets its system tables and `root@localhost`.
    ///
    /// # Errors
    /// The folder cannot be used, a variable is unknown or has a value it cannot have.
    pub fn open(options: Options) -> SqlResult<Arc<Database>> {
        let mut globals = Globals::new(&options.variables)?;
        let mut engine_options = options::engine_options(&options.dir, &globals)?;
        // Without a word about it the log of a folder stays as it is.
        let of_log = ["innodb_log_file_size", "innodb_log_files_in_group"];
        engine_options.storage.resize_log = options
            .variables
            .iter()
            .any(|(name, _)| of_log.iter().any(|of_log| name.replace('-', "_").eq_ignore_ascii_case(of_log)));
        globals.session().tmp_folders.check()?;
        memory::limit_by_machine(&mut globals, &options.variables);
        let engine = Engine::open(engine_options).map_err(|e| SqlError::new(1105, e.to_string()))?;
        Self::on(engine, globals, &options.dir)
    }

    /// Whether opening would find a folder that another server made and nobody has taken over. Changes nothing.
    ///
    /// # Errors
    /// As [`Database::open`].
    pub fn is_of_another_server(options: &Options) -> SqlResult<bool> {
        let globals = Globals::new(&options.variables)?;
        let engine_options = options::engine_options(&options.dir, &globals)?;
        let origin = Engine::origin(&engine_options).map_err(|e| SqlError::new(1105, e.to_string()))?;
        Ok(origin == vaquita_engine::Origin::Other)
    }

    /// On an engine that is open already: for simulations.
    ///
    /// # Errors
    /// As [`Database::open`].
    pub fn on_engine(engine: Engine, variables: &[(String, String)]) -> SqlResult<Arc<Database>> {
        let globals = Globals::new(variables)?;
        Self::on(engine, globals, "/".as_ref())
    }

    fn on(engine: Engine, globals: Globals, dir: &std::path::Path) -> SqlResult<Arc<Database>> {
        let dir = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
        globals.put(id::DATADIR, VarValue::Text(format!("{}/", dir.display()).into()));
        if let Ok(name) = std::fs::read_to_string("/proc/sys/kernel/hostname") {
            globals.put(id::HOSTNAME, VarValue::Text(name.trim().into()));
        }
        put_what_is(&engine, &globals);
        identity::tell(&globals, &dir, engine.core().storage.options().read_only)?;
        let flush_at_commit = globals.get(id::INNODB_FLUSH_LOG_AT_TRX_COMMIT).uint() as u8;
        let db = Arc::new_cyclic(|db| Database {
            virtual_tables: InfoTables::of(db.clone()),
            shared: Shared::new(engine, globals, seconds_now()),
            accounts: Accounts::initial(),
            logs: StatementLogs::default(),
            monitors: Monitors::default(),
            dir: dir.clone(),
            plans: PlanCache::default(),
            opened: Instant::now(),
            flush_at_commit: AtomicU8::new(flush_at_commit),
            // Set below: the accounts may have to be made first.
            read_only: AtomicBool::new(false),
            super_read_only: AtomicBool::new(false),
            memory: Arc::default(),
            prepared_count: AtomicU64::new(0),
            start_notes: Mutex::default(),
            shutdown_hook: Mutex::default(),
            flush_hook: Mutex::default(),
        });
        Accounts::open(&db)?;
        if db.globals.get(id::DEFAULT_PASSWORD_LIFETIME).uint() != 0 && !db.accounts.keep_lifetimes() {
            db.globals.put(id::DEFAULT_PASSWORD_LIFETIME, VarValue::UInt(0));
            db.start_notes.lock().push(format!("default_password_lifetime is 0: {NO_LIFETIMES}"));
        }
        for var in [
            id::DEFAULT_PASSWORD_LIFETIME,
            id::READ_ONLY,
            id::SUPER_READ_ONLY,
            id::GLOBAL_CONNECTION_MEMORY_LIMIT,
        ] {
            live::apply(&db, var, &db.globals.get(var));
        }
        db.logs.serve(&db);
        if db.globals.get(id::LOG_OUTPUT).uint() & LOG_TABLE != 0 && !crate::logs::has_tables(&db) {
            db.globals.put(id::LOG_OUTPUT, VarValue::UInt(LOG_FILE));
            db.start_notes.lock().push(format!("Statements are logged to files: {NO_LOG_TABLES}"));
        }
        db.logs.configure(&db.globals, &db.dir)?;
        db.do_what_start_asks_for();
        db.run_init_file()?;
        Ok(db)
    }

    /// A session for somebody who is already authenticated.
    ///
    /// # Errors
    /// 1040 too many connections, 1226 too many of this user, 1044/1049 the wanted database.
    pub fn connect(self: &Arc<Self>, info: ConnectInfo) -> SqlResult<Connection> {
        self.status.count_connection();
        let limit = self.globals.get(id::MAX_CONNECTIONS).uint() as usize;
        let there = self.processes.len();
        if there > limit || (there == limit && !self.accounts.is_super(&info.user, &info.account_host)) {
            self.status.connection_errors_max_connections.fetch_add(1, Ordering::Relaxed);
            return Err(SqlError::new(1040, "Too many connections"));
        }
        self.status.max_used_connections.fetch_max(there as u64 + 1, Ordering::Relaxed);
        Connection::new(self.clone(), info)
    }

    /// Users, passwords, grants.
    pub fn accounts(&self) -> &Accounts {
        &self.accounts
    }

    /// Sets a global variable, here and in the engine if it is one of its.
    ///
    /// # Errors
    /// A log whose file cannot be opened.
    pub(crate) fn set_global(&self, var: VarId, value: VarValue) -> SqlResult<()> {
        let is_name = matches!(var, id::GENERAL_LOG_FILE | id::SLOW_QUERY_LOG_FILE);
        if is_name && !matches!(&value, VarValue::Text(name) if crate::logs::can_be_log(&self.dir, name)) {
            return Err(wrong_value(var, &value));
        }
        if var.def().name == "innodb_buffer_pool_filename"
            && !matches!(&value, VarValue::Text(name) if !name.is_empty())
        {
            return Err(wrong_value(var, &value));
        }
        if let Some(ask) = live::monitor_request(var) {
            let name = match &value {
                VarValue::Text(name) => name,
                _ => return Err(wrong_value(var, &VarValue::Text("NULL".into()))),
            };
            if !name.is_empty() && !self.monitors.ask(ask, name, &self.engine.core().metrics()) {
                return Err(wrong_value(var, &value));
            }
        }
        if let Some(ask) = live::request(var) {
            if value.uint() != 0 {
                self.engine.core().hot_set.ask(ask);
            }
            return Ok(());
        }
        if var == id::LOG_OUTPUT && value.uint() & LOG_TABLE != 0 && !crate::logs::has_tables(self) {
            let error = wrong_value(var, &value);
            return Err(SqlError { message: format!("{}: {NO_LOG_TABLES}", error.message).into(), ..error });
        }
        if var == id::DEFAULT_PASSWORD_LIFETIME && value.uint() != 0 && !self.accounts.keep_lifetimes() {
            let error = wrong_value(var, &value);
            return Err(SqlError { message: format!("{}: {NO_LIFETIMES}", error.message).into(), ..error });
        }
        let before = self.globals.get(var);
        let goes_offline = var == id::OFFLINE_MODE && value.uint() != 0;
        live::apply(self, var, &value);
        self.globals.put(var, value);
        if goes_offline {
            self.end_sessions_without_super();
        }
        let is_of_logs = is_name || matches!(var, id::GENERAL_LOG | id::SLOW_QUERY_LOG | id::LOG_OUTPUT);
        match is_of_logs.then(|| self.logs.configure(&self.globals, &self.dir)) {
            Some(Err(e)) => {
                self.globals.put(var, before);
                Err(e)
            }
            _ => Ok(()),
        }
    }

    /// `offline_mode`: only SUPER stays.
    fn end_sessions_without_super(&self) {
        if self.accounts.are_skipped() {
            return;
        }
        for process in self.processes.list() {
            let (user, host) = process.account();
            if !self.accounts.is_super(&user, &host) {
                self.processes.kill(process.id, false);
            }
        }
    }

    /// `init_file`: statements, up to the first that fails. What there is to say of it is for the log.
    ///
    /// # Errors
    /// 29: the file cannot be read.
    fn run_init_file(self: &Arc<Self>) -> SqlResult<()> {
        let Some(name) = self.globals.text("init_file").filter(|name| !name.is_empty()) else {
            return Ok(());
        };
        let text = std::fs::read(self.dir.join(&name))
            .map_err(|e| SqlError::new(29, format!("init_file: File '{name}' cannot be read: {e}")))?;
        let mut connection = Connection::insider(self.clone())?;
        connection.set_multi_statements(true);
        let mut notes = self.start_notes.lock();
        notes.push(format!("Execution of init_file '{name}' started."));
        if let Err(e) = connection.query(&text, &mut vaquita_session::sink::Collected::default()) {
            notes.push(format!("ERROR: {}  {}", e.code, e.message));
        }
        notes.push(format!("Execution of init_file '{name}' ended."));
        Ok(())
    }

    /// What opening has to say, for a log.
    pub fn start_notes(&self) -> Vec<String> {
        self.start_notes.lock().clone()
    }

    /// Requests that were given as options.
    fn do_what_start_asks_for(&self) {
        for var in VarId::all() {
            if let (Some(ask), VarValue::Text(names)) = (live::monitor_request(var), self.globals.get(var)) {
                let raw = self.engine.core().metrics();
                for name in names.split([',', ';']).map(str::trim).filter(|name| !name.is_empty()) {
                    if !self.monitors.ask(ask, name, &raw) {
                        let text = format!("{}: there is no counter '{name}'", var.def().name);
                        self.engine.core().notes.say(text);
                    }
                }
            }
            if let Some(ask) = live::request(var).filter(|_| self.globals.get(var).uint() != 0) {
                self.engine.core().hot_set.ask(ask);
                self.globals.put(var, VarValue::UInt(0));
            }
        }
    }

    /// Who is told when SHUTDOWN is asked for: the server.
    pub fn set_shutdown_hook(&self, hook: Arc<dyn Fn() + Send + Sync>) {
        *self.shutdown_hook.lock() = Some(hook);
    }

    /// Who is told of FLUSH HOSTS and FLUSH LOGS: the server.
    pub fn set_flush_hook(&self, hook: FlushHook) {
        *self.flush_hook.lock() = Some(hook);
    }

    pub(crate) fn flush_door(&self, what: DoorFlush) {
        let hook = self.flush_hook.lock().clone();
        if let Some(hook) = hook {
            hook(what);
        }
    }

    /// Since when it is open.
    pub fn opened(&self) -> Instant {
        self.opened
    }

    /// SHUTDOWN.
    pub fn request_shutdown(&self) {
        let hook = self.shutdown_hook.lock().clone();
        if let Some(hook) = hook {
            hook();
        }
    }

    /// Ends all sessions' statements and waits, rolls back what is open, writes a checkpoint.
    ///
    /// # Errors
    /// Sessions are still there, and run nothing whose end could be waited for: names their connections. Files.
    pub fn close(&self) -> SqlResult<()> {
        /// How long sessions may take to notice that they are over.
        const PATIENCE: Duration = Duration::from_secs(10);
        /// How long those that run nothing may: their threads are about to drop them, or never will.
        const GRACE: Duration = Duration::from_secs(1);
        self.processes.kill_all();
        let start = Instant::now();
        let patience = || if self.processes.running() > 0 { PATIENCE } else { GRACE };
        while !self.processes.is_empty() && start.elapsed() < patience() {
            std::thread::sleep(Duration::from_millis(1));
        }
        let open = self.processes.list();
        if !open.is_empty() {
            let ids = open.iter().map(|process| process.id.to_string()).collect::<Vec<_>>().join(", ");
            let text = format!("connection {ids} is still open: drop it before the folder is closed");
            return Err(SqlError::new(1105, text));
        }
        // Plans keep tables, tables keep trees.
        self.plans.clear();
        self.logs.write_waiting();
        self.engine.close().map_err(|e| SqlError::new(1105, e.to_string()))
    }
}

/// Bits of `log_output`.
const LOG_FILE: u64 = 2;
const LOG_TABLE: u64 = 4;
const NO_LIFETIMES: &str = "this folder does not keep when passwords were set";
const NO_LOG_TABLES: &str = "this folder has no tables for logs that can be written";

/// Error 1231.
fn wrong_value(var: VarId, value: &VarValue) -> SqlError {
    let (name, shown) = (var.def().name, value.show(var.def().kind));
    SqlError::new(1231, format!("Variable '{name}' can't be set to the value of '{shown}'"))
}

fn seconds_now() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.as_secs())
}

/// Values that follow from what the folder is, whatever was asked for.
fn put_what_is(engine: &Engine, globals: &Globals) {
    let storage = &engine.core().storage;
    let log = storage.log().geometry();
    let facts = [
        ("innodb_log_file_size", log.file_size()),
        ("innodb_log_files_in_group", log.n_files().into()),
        ("innodb_read_only", u64::from(storage.options().read_only)),
        ("innodb_use_native_aio", u64::from(engine.has_native_aio())),
    ];
    for (name, value) in facts {
        if let Some(id) = VarId::find(name.as_bytes()) {
            globals.put(id, VarValue::UInt(value));
        }
    }
}
