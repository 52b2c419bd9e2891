//! A folder opened as a database.

mod live;

pub(crate) use live::set_in_storage;

use crate::accounts::Accounts;
use crate::event::control::EventControl;
use crate::insider::{Insider, Insiders};
use crate::logs::StatementLogs;
use crate::monitors::Monitors;
use crate::plan_cache::PlanCache;
use crate::routine::{Routine, Routines};
use crate::xa_branches::Branches;
use parking_lot::Mutex;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64};
use std::time::{Duration, Instant};
use vaquita_engine::{Engine, Table};
use vaquita_parser::ast::ProgramKind;
use vaquita_plan::VirtualTables;
use vaquita_session::privilege::Priv;
use vaquita_session::vars::{Globals, VarId, VarValue, id};
use vaquita_session::{SessionState, Shared};
use vaquita_types::memory::account::Total;
use vaquita_types::{Level, SqlError, SqlResult};

/// What only a door can flush.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DoorFlush {
    /// FLUSH HOSTS: hosts that were shut out.
    Hosts,
    /// FLUSH LOGS: files of logs, which somebody has moved away.
    Logs,
}

/// Who hears what the event scheduler has to say.
pub type EventListener = Arc<dyn Fn(Level, &str) + Send + Sync>;

type FlushHook = Arc<dyn Fn(DoorFlush) + Send + Sync>;

/// What the sessions of a folder share.
pub struct Database {
    /// What statements see of it.
    shared: Shared,
    /// The tables of information_schema.
    pub(crate) virtual_tables: Box<dyn VirtualTables>,
    /// Sessions for statements of its own.
    insiders: Arc<dyn Insiders>,
    /// Users and grants.
    pub(crate) accounts: Accounts,
    /// The general log and the slow query log.
    pub(crate) logs: StatementLogs,
    /// Which counters of INNODB_METRICS are on.
    pub(crate) monitors: Monitors,
    /// The folder.
    pub(crate) dir: PathBuf,
    /// Plans by text.
    pub(crate) plans: Arc<PlanCache>,
    /// When it was opened.
    pub(crate) opened: Instant,
    /// `innodb_flush_log_at_trx_commit`.
    pub(crate) flush_at_commit: AtomicU8,
    /// `read_only`.
    pub(crate) read_only: AtomicBool,
    /// `super_read_only`.
    pub(crate) super_read_only: AtomicBool,
    /// The branches of distributed transactions that sessions have.
    pub(crate) xa_branches: Arc<Branches>,
    /// What all sessions take of the memory.
    pub(crate) memory: Arc<Total>,
    /// Prepared statements of all sessions.
    pub(crate) prepared_count: AtomicU64,
    /// Compiled stored programs.
    pub(crate) routines: Routines,
    /// The event scheduler.
    pub(crate) events: EventControl,
    /// When it was opened, in seconds since 1970.
    pub(crate) opened_at: u64,
    start_notes: Mutex<Vec<String>>,
    shutdown_hook: Mutex<Option<Arc<dyn Fn() + Send + Sync>>>,
    flush_hook: Mutex<Option<FlushHook>>,
}

impl std::ops::Deref for Database {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.shared
    }
}

impl AsRef<Shared> for Database {
    fn as_ref(&self) -> &Shared {
        &self.shared
    }
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Database").finish_non_exhaustive()
    }
}

impl Database {
    /// What the sessions of a folder share, with what they are given for it from above.
    pub(crate) fn new(
        engine: Engine,
        globals: Globals,
        dir: PathBuf,
        virtual_tables: Box<dyn VirtualTables>,
        insiders: Arc<dyn Insiders>,
    ) -> Database {
        let opened_at = seconds_now();
        let flush_at_commit = globals.get(id::INNODB_FLUSH_LOG_AT_TRX_COMMIT).uint() as u8;
        Database {
            shared: Shared::new(engine, globals, opened_at),
            virtual_tables,
            insiders,
            accounts: Accounts::initial(),
            logs: StatementLogs::default(),
            monitors: Monitors::default(),
            dir,
            plans: Arc::default(),
            opened: Instant::now(),
            flush_at_commit: AtomicU8::new(flush_at_commit),
            read_only: AtomicBool::new(false),
            super_read_only: AtomicBool::new(false),
            xa_branches: Arc::default(),
            memory: Arc::default(),
            prepared_count: AtomicU64::new(0),
            routines: Routines::default(),
            events: EventControl::default(),
            opened_at,
            start_notes: Mutex::default(),
            shutdown_hook: Mutex::default(),
            flush_hook: Mutex::default(),
        }
    }

    /// A session for statements of this layer itself.
    ///
    /// # Errors
    /// Of making one.
    pub(crate) fn insider(&self) -> SqlResult<Box<dyn Insider>> {
        let closed = || Err(SqlError::new(1105, "the folder is closed"));
        self.insiders.session().unwrap_or_else(closed)
    }

    /// Tells those who work of the variables that opening the engine has not told.
    pub(crate) fn apply_at_start(&self) {
        if self.globals.get(id::DEFAULT_PASSWORD_LIFETIME).uint() != 0 && !self.accounts.keep_lifetimes() {
            self.globals.put(id::DEFAULT_PASSWORD_LIFETIME, VarValue::UInt(0));
            self.say_at_start(format!("default_password_lifetime is 0: {NO_LIFETIMES}"));
        }
        for var in [
            id::DEFAULT_PASSWORD_LIFETIME,
            id::MANDATORY_ROLES,
            id::ACTIVATE_ALL_ROLES_ON_LOGIN,
            id::READ_ONLY,
            id::SUPER_READ_ONLY,
            id::GLOBAL_CONNECTION_MEMORY_LIMIT,
        ] {
            live::apply(self, var, &self.globals.get(var));
        }
    }

    /// Opens the logs as the variables say.
    ///
    /// # Errors
    /// A log whose file cannot be opened.
    pub(crate) fn start_logs(&self) -> SqlResult<()> {
        self.logs.serve(self.insiders.clone());
        let to_tables = self.globals.get(id::LOG_OUTPUT).uint() & LOG_TABLE != 0;
        if to_tables && !crate::logs::has_tables(&self.engine) {
            self.globals.put(id::LOG_OUTPUT, VarValue::UInt(LOG_FILE));
            self.say_at_start(format!("Statements are logged to files: {NO_LOG_TABLES}"));
        }
        self.logs.configure(&self.globals, &self.dir)
    }

    /// What a session may do with a procedure or function: EXECUTE, ALTER ROUTINE; SELECT: read its body.
    pub(crate) fn routine_access(&self, state: &SessionState, routine: &Routine) -> Priv {
        let privileges = &state.privileges;
        let is_function = routine.kind == ProgramKind::Function;
        let mut access = privileges.global
            | privileges.in_database(&routine.database)
            | privileges.on_routine(&routine.database, &routine.name, is_function);
        access = access & (Priv::EXECUTE | Priv::ALTER_ROUTINE | Priv::CREATE_ROUTINE);
        let (user, host) = &routine.body.definer;
        let own = *user == state.account_user && *host == state.account_host;
        let reads_all = privileges.global.any(Priv::SELECT | Priv::SHOW_ROUTINE);
        if own || reads_all || privileges.in_database("mysql").has(Priv::SELECT) {
            access |= Priv::SELECT;
        }
        access
    }

    /// Users, passwords, grants.
    pub fn accounts(&self) -> &Accounts {
        &self.accounts
    }

    /// The table of a name as `innodb_ft_aux_table` has it, `database/table`, if it has full-text indexes.
    pub(crate) fn fulltext_table(&self, name: &str) -> Option<Arc<Table>> {
        // Who cannot use the table cannot look into its indexes either.
        self.engine.core().table(name).ok().filter(|table| !table.fulltext.is_empty())
    }

    /// Whether FULLTEXT indexes can leave out the words of the table of that name, `database/table`.
    pub(crate) fn is_stopword_table(&self, name: &str) -> bool {
        vaquita_engine::fulltext::stopwords::is_stopword_table(self.engine.core(), name)
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
        if var == id::LOG_OUTPUT && value.uint() & LOG_TABLE != 0 && !crate::logs::has_tables(&self.engine) {
            let error = wrong_value(var, &value);
            return Err(SqlError { message: format!("{}: {NO_LOG_TABLES}", error.message).into(), ..error });
        }
        if var == id::DEFAULT_PASSWORD_LIFETIME && value.uint() != 0 && !self.accounts.keep_lifetimes() {
            let error = wrong_value(var, &value);
            return Err(SqlError { message: format!("{}: {NO_LIFETIMES}", error.message).into(), ..error });
        }
        if var == id::EVENT_SCHEDULER {
            return self.switch_events(value);
        }
        if var == id::MANDATORY_ROLES && live::roles(var, &value).is_none() {
            return Err(wrong_value(var, &value));
        }
        if let ("innodb_ft_aux_table", VarValue::Text(name)) = (var.def().name, &value)
            && self.fulltext_table(name).is_none()
        {
            return Err(wrong_value(var, &value));
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

    /// `event_scheduler`: ON or OFF.
    ///
    /// # Errors
    /// 1290 it is DISABLED, or nothing can be written; the system gives no thread.
    fn switch_events(&self, value: VarValue) -> SqlResult<()> {
        if self.globals.get(id::EVENT_SCHEDULER).uint() == EVENTS_DISABLED {
            return Err(SqlError::new(
                1290,
                "The MySQL server is running with the --event-scheduler=DISABLED or --skip-grant-tables option so it cannot \
                 execute this statement",
            ));
        }
        if value.uint() == EVENTS_ON {
            if let Some(option) = self.nothing_is_written() {
                let text = format!(
                    "The MySQL server is running with the {option} option so it cannot execute this statement"
                );
                return Err(SqlError::new(1290, text));
            }
            // Before it starts, so that one that is killed at once can tell that it is over.
            self.globals.put(id::EVENT_SCHEDULER, value);
            return self.events.turn_on().map_err(|e| {
                self.globals.put(id::EVENT_SCHEDULER, VarValue::UInt(EVENTS_OFF));
                SqlError::new(1105, format!("the event scheduler has no thread: {e}"))
            });
        }
        self.globals.put(id::EVENT_SCHEDULER, value);
        self.events.turn_off();
        Ok(())
    }

    /// The option by which the folder is open for reading only, if it is.
    fn nothing_is_written(&self) -> Option<&'static str> {
        let options = self.engine.core().storage.options();
        match () {
            () if self.engine.report().foreign => Some("--read-only"),
            () if options.read_only => Some("--innodb-read-only"),
            () if options.force_recovery.0 > 0 => Some("--innodb-force-recovery"),
            () => None,
        }
    }

    /// Starts the event scheduler if that is asked for. Without accounts nobody's events are executed.
    ///
    /// # Errors
    /// The system gives no thread.
    pub(crate) fn start_events(&self) -> SqlResult<()> {
        if self.accounts.are_skipped() {
            self.globals.put(id::EVENT_SCHEDULER, VarValue::UInt(EVENTS_DISABLED));
            return Ok(());
        }
        if self.globals.get(id::EVENT_SCHEDULER).uint() != EVENTS_ON {
            return Ok(());
        }
        if let Some(option) = self.nothing_is_written() {
            self.globals.put(id::EVENT_SCHEDULER, VarValue::UInt(EVENTS_OFF));
            self.say_at_start(format!("event_scheduler is OFF: {option} is given"));
            return Ok(());
        }
        self.switch_events(VarValue::UInt(EVENTS_ON))
    }

    /// Ends the event scheduler: no event begins any more. Those that are being executed go on.
    pub fn stop_events(&self) {
        self.events.turn_off();
    }

    /// Who hears what the event scheduler has to say: errors of events, for a log.
    pub fn listen_to_events(&self, listener: EventListener) {
        self.events.listen(listener);
    }

    /// `offline_mode`: only SUPER stays.
    fn end_sessions_without_super(&self) {
        if self.accounts.are_skipped() {
            return;
        }
        for process in self.processes.list() {
            let (user, host) = process.account();
            if !process.is_background && !self.accounts.is_super(&user, &host) {
                self.processes.kill(process.id, false);
            }
        }
    }

    /// What opening has to say, for a log.
    pub fn start_notes(&self) -> Vec<String> {
        self.start_notes.lock().clone()
    }

    /// Adds to that.
    pub(crate) fn say_at_start(&self, text: String) {
        self.start_notes.lock().push(text);
    }

    /// Requests that were given as options.
    pub(crate) fn do_what_start_asks_for(&self) {
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
        // Nothing begins any more; what runs is in the list.
        self.events.turn_off();
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

/// Values of `event_scheduler`.
const EVENTS_OFF: u64 = 0;
const EVENTS_ON: u64 = 1;
const EVENTS_DISABLED: u64 = 2;
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
