//! Coming in: as a client that is known by now, or as this layer itself.

use super::{Connection, lock_tables, prepared, text, transaction, xa};
use crate::accounts::{Priv, Privileges, seconds_now};
use crate::database::Database;
use crate::insider::Insider;
use crate::plan_cache::OwnPlans;
use bumpalo::Bump;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;
use vaquita_session::sink::Collected;
use vaquita_session::status::Com;
use vaquita_session::vars::{VarValue, id};
use vaquita_session::{SessionState, Transport};
use vaquita_types::memory::account::{self, Account};
use vaquita_types::{SqlError, SqlResult};

/// Who connects.
#[derive(Debug, Clone)]
pub struct ConnectInfo {
    /// Number of the connection, from [`vaquita_session::process::Processes::reserve_id`] if the client was told it already.
    pub id: Option<u32>,
    /// User name as given.
    pub user: String,
    /// Host part of the account that matched: `localhost`, `%`.
    pub account_host: String,
    /// Host the client comes from: `localhost`, an address.
    pub host: String,
    /// How.
    pub transport: Transport,
    /// Database to begin in.
    pub database: Option<String>,
    /// Collation the client asked for; its character set is that of the connection.
    pub collation: u16,
    /// Affected rows are those found, not those changed (CLIENT_FOUND_ROWS).
    pub found_rows: bool,
    /// Several statements in one text are allowed (CLIENT_MULTI_STATEMENTS).
    pub multi_statements: bool,
    /// `interactive_timeout` applies.
    pub interactive: bool,
    /// Connection attributes.
    pub attributes: Vec<(String, String)>,
}

impl ConnectInfo {
    /// The process itself, as `root@localhost`: no database, `utf8mb4`, several statements in one text.
    pub fn embedded() -> ConnectInfo {
        ConnectInfo {
            id: None,
            user: "root".into(),
            account_host: "localhost".into(),
            host: "localhost".into(),
            transport: Transport::Embedded,
            database: None,
            collation: 45,
            found_rows: false,
            multi_statements: true,
            interactive: false,
            attributes: Vec::new(),
        }
    }
}

impl Database {
    /// A session for somebody who is already authenticated.
    ///
    /// # Errors
    /// 1040 too many connections, 1226 too many of this user, 1044/1049 the wanted database.
    pub fn connect(self: &Arc<Self>, info: ConnectInfo) -> SqlResult<Connection> {
        self.status.count_connection();
        let limit = self.globals.get(id::MAX_CONNECTIONS).uint() as usize;
        let there = self.processes.connected();
        if there > limit || (there == limit && !self.accounts.is_super(&info.user, &info.account_host)) {
            self.status.connection_errors_max_connections.fetch_add(1, Ordering::Relaxed);
            return Err(SqlError::new(1040, "Too many connections"));
        }
        self.status.max_used_connections.fetch_max(there as u64 + 1, Ordering::Relaxed);
        Connection::new(self.clone(), info)
    }
}

/// USER() of events.
const EVENT_SCHEDULER: &str = "event_scheduler";

impl Connection {
    fn new(db: Arc<Database>, info: ConnectInfo) -> SqlResult<Connection> {
        let id = info.id.unwrap_or_else(|| db.processes.reserve_id());
        let before = account::balance();
        let mut connection = Connection::nobodys(db, id, &info.user, &info.host, false);
        connection.become_user(info)?;
        connection.state.memory.keep((account::balance() - before).max(0));
        Ok(connection)
    }

    /// A session that has nobody yet.
    fn nobodys(db: Arc<Database>, id: u32, user: &str, host: &str, is_background: bool) -> Connection {
        let mut engine = db.engine.session();
        engine.set_tag(u64::from(id));
        // A statement that begins forgets what was meant for the one before.
        engine.settings.keeps_interrupts = true;
        let mut state = SessionState::new(id, db.globals.session());
        state.use_account(Arc::new(Account::new(db.memory.clone())));
        let interrupt = state.interrupt.clone();
        let process = match is_background {
            false => db.processes.enter(id, user, host, interrupt),
            true => db.processes.enter_background(id, user, host, interrupt),
        };
        *process.waits.lock() = Some(engine.handle());
        let own_plans = OwnPlans::new(&db.plans);
        // From here on dropping the connection takes it off the list again.
        Connection {
            db,
            engine,
            state,
            process,
            prepared: prepared::Statements::default(),
            own_plans,
            transaction: transaction::Characteristics::default(),
            xa: xa::XaState::default(),
            locked: lock_tables::LockedTables::default(),
            multi_statements: false,
            interactive: false,
            arena: Bump::new(),
            scratch: text::Scratch::default(),
            waits_for_log: false,
            durability: None,
            statement_start: Instant::now(),
            waited_before: 0,
            took: super::Took::default(),
            status_due: Instant::now() + super::run::STATUS_EVERY,
            kind: Com::Other,
            state_changed: false,
            told_state: (0, 0),
            tells_after_rows: true,
            is_insider: false,
            has_everything: false,
            usage: None,
            login_at: 0,
            held: 0,
            last_database: None,
            program: super::program::Running::default(),
        }
    }

    /// The session of an execution of an event: as its definer, in the time zone of its schedule.
    ///
    /// # Errors
    /// 1298.
    pub(crate) fn of_event(
        db: Arc<Database>,
        (user, host): (&str, &str),
        time_zone: &str,
    ) -> SqlResult<Connection> {
        let id = db.processes.reserve_id();
        let mut connection = Connection::nobodys(db, id, user, host, true);
        connection.process.set_account(user, host);
        connection.login_at = seconds_now();
        connection.waits_for_log = true;
        let state = &mut connection.state;
        (state.user, state.host) = (EVENT_SCHEDULER.to_owned(), "localhost".to_owned());
        (state.account_user, state.account_host) = (user.to_owned(), host.to_owned());
        let accounts = connection.db.accounts();
        state.roles = accounts.first_roles(user, host);
        state.privileges = accounts.privileges(user, host, connection.login_at, &state.roles);
        crate::set::connect_collation(state, 45);
        vaquita_types::TimeZone::parse(time_zone)?;
        state.vars.put(id::TIME_ZONE, VarValue::Text(time_zone.into()));
        connection.settings_changed();
        Ok(connection)
    }

    /// A session that is nobody's and may do everything: for the tables that this layer keeps itself.
    pub(crate) fn insider(db: Arc<Database>) -> SqlResult<Connection> {
        let info = ConnectInfo { id: Some(0), multi_statements: false, ..ConnectInfo::embedded() };
        let mut connection = Connection::new(db, info)?;
        connection.is_insider = true;
        connection.has_everything = true;
        connection.state.program.everything = true;
        // What others may read and ask for is no matter of its own.
        connection.state.vars.put(id::SQL_BIG_SELECTS, VarValue::UInt(1));
        connection.state.vars.put(id::SQL_AUTO_IS_NULL, VarValue::UInt(0));
        // A session that changes accounts waits for the read lock, and then for this one.
        connection.engine.settings.obeys_read_lock = false;
        connection.state.privileges = Arc::new(Privileges::everything());
        Ok(connection)
    }

    /// Takes over who somebody is, and what they start with.
    pub(super) fn become_user(&mut self, info: ConnectInfo) -> SqlResult<()> {
        let accounts = self.db.accounts();
        let address = match info.transport {
            Transport::Tcp(at) | Transport::Tls(at) => format!("{}:{}", info.host, at.port()),
            Transport::Embedded | Transport::Socket => info.host.clone(),
        };
        self.process.set_user(&info.user, &address);
        self.state.user = info.user.clone();
        self.state.host = info.host;
        self.state.account_user = accounts.account_user(&info.user, &info.account_host);
        self.state.account_host = info.account_host;
        self.login_at = seconds_now();
        self.has_everything = accounts.are_skipped() || info.transport.is_owner(&info.user);
        self.state.program.everything = self.has_everything;
        self.state.roles = accounts.first_roles(&self.state.account_user, &self.state.account_host);
        if self.has_everything {
            self.state.privileges = Arc::new(Privileges::everything());
        }
        self.take_privileges();
        self.process.set_account(&self.state.account_user, &self.state.account_host);
        self.limit_connections()?;
        let now = Instant::now();
        self.usage = match self.has_everything {
            true => None,
            false => self.db.accounts().usage(&self.state.account_user, &self.state.account_host, now),
        };
        if let Some(usage) = &self.usage {
            usage.connect(now)?;
        }
        // After the account is known to whoever switches it on: no session is overlooked.
        if self.db.globals.is_on("offline_mode") && !self.state.privileges.may(Priv::CONNECTION_ADMIN) {
            return Err(SqlError::new(3032, "The server is currently in offline mode"));
        }
        self.state.client_found_rows = info.found_rows;
        self.multi_statements = info.multi_statements;
        self.interactive = info.interactive;
        crate::set::connect_collation(&mut self.state, info.collation);
        self.use_idle_timeout();
        self.settings_changed();
        if self.db.logs.general_on() {
            let database = info.database.as_deref().unwrap_or_default();
            let who = format!("{}@{} on {database}", self.state.user, self.state.host);
            self.log("Connect", who.as_bytes());
        }
        match info.database {
            Some(name) if !name.is_empty() => self.use_database(&name),
            _ => Ok(()),
        }
    }

    /// `wait_timeout` of an interactive client is the other one.
    pub(super) fn use_idle_timeout(&mut self) {
        if self.interactive {
            let timeout = self.db.globals.get(id::INTERACTIVE_TIMEOUT);
            self.state.vars.put(id::WAIT_TIMEOUT, timeout);
        }
    }

    /// MAX_USER_CONNECTIONS of the account, or else `max_user_connections`: of those that came in by the same account, whatever
    /// they call themselves. Which of them counts is what the session's variable says.
    fn limit_connections(&mut self) -> SqlResult<()> {
        let (user, host) = (&self.state.account_user, &self.state.account_host);
        let own = self.db.accounts().max_connections(user, host);
        let general = self.db.globals.get(id::MAX_USER_CONNECTIONS).uint();
        let limit = if own == 0 { general } else { own };
        // Number 0 is nobody: a session of this layer.
        if limit != 0 && self.id() != 0 && self.db.processes.of_account(user, host) as u64 > limit {
            return Err(match own {
                0 => {
                    let text = "already has more than 'max_user_connections' active connections";
                    SqlError::new(1203, format!("User {user} {text}"))
                }
                _ => {
                    let text = format!("User '{user}' has exceeded the 'max_user_connections' resource");
                    SqlError::new(1226, format!("{text} (current value: {own})"))
                }
            });
        }
        if own != 0 {
            self.state.vars.put(id::MAX_USER_CONNECTIONS, VarValue::UInt(own));
        }
        Ok(())
    }

    /// Runs the statements of `init_connect`, except for SUPER. Doors call it when they have told the session how to wait.
    ///
    /// # Errors
    /// 1184: one of them failed, and the connection is to end.
    pub fn run_init_connect(&mut self) -> SqlResult<()> {
        let text = match self.db.globals.text("init_connect") {
            Some(text) if !text.is_empty() && !self.state.privileges.may(Priv::CONNECTION_ADMIN) => text,
            _ => return Ok(()),
        };
        let several = std::mem::replace(&mut self.multi_statements, true);
        let waits = std::mem::replace(&mut self.waits_for_log, true);
        let done = self.query(text.as_bytes(), &mut Collected::default());
        (self.multi_statements, self.waits_for_log) = (several, waits);
        done.map_err(|_| {
            let (id, user, host) = (self.id(), &self.state.user, &self.state.host);
            let db = if self.state.database.is_empty() { "unconnected" } else { &self.state.database };
            SqlError::new(
                1184,
                format!(
                    "Aborted connection {id} to db: '{db}' user: '{user}' host: '{host}' (init_connect command failed)"
                ),
            )
        })
    }
}

impl Insider for Connection {
    fn run(&mut self, sql: &str) -> SqlResult<Vec<Vec<Option<String>>>> {
        let mut sink = Collected::default();
        self.query(sql.as_bytes(), &mut sink)?;
        Ok(sink.results.pop().map_or(Vec::new(), |r| r.rows))
    }

    fn ignore_force_recovery(&mut self) {
        self.engine.settings.ignores_force_recovery = true;
    }
}
