//! One client's session: runs statements for it.
//!
//! | part | file |
//! |---|---|
//! | coming in, as a client or as this layer itself | `connect` |
//! | texts: plan cache, parser, several statements | `text` |
//! | what happens around every statement | `run` |
//! | from a syntax tree to who executes it | `dispatch` |
//! | whether it may | `privileges` |
//! | hints for a statement as a whole | `hints` |
//! | prepared statements, of the protocol and of SQL | `prepared` |
//! | literals and parameters: kinds, types, order | `values` |
//! | BEGIN, COMMIT, savepoints, SET TRANSACTION | `transaction` |
//! | XA | `xa` |
//! | LOCK TABLES | `lock_tables` |
//! | SET, USE, DO, KILL, FLUSH | `admin` |
//! | schedules of events | `events` |
//! | stored programs | `program` |

mod admin;
mod client_text;
mod connect;
mod dispatch;
mod events;
mod export;
mod hints;
mod import;
mod lock_tables;
pub(crate) mod plans;
mod prepared;
mod privileges;
mod program;
mod run;
mod text;
mod transaction;
mod values;
mod xa;

pub use connect::ConnectInfo;
pub use import::{CreateText, create_tables_of};
pub(crate) use program::OfFolder as FunctionsOfFolder;

use crate::accounts::Priv;
use crate::accounts::limits::Usage;
use crate::database::Database;
use crate::plan_cache::OwnPlans;
use crate::statement::StmtCx;
use bumpalo::Bump;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};
use vaquita_catalog::error;
use vaquita_engine::text::charset::Charset;
use vaquita_engine::{Durability, Session};
use vaquita_parser::ParseMode;
use vaquita_session::SessionState;
use vaquita_session::process::Process;
use vaquita_session::sink::{ColumnMeta, SessionChange};
use vaquita_session::status::Com;
use vaquita_session::vars::{self, id};
use vaquita_types::{Level, SqlError, SqlMode, SqlResult};

/// A prepared statement as a door sees it.
#[derive(Debug, Clone)]
pub struct Prepared {
    /// Number, unique in the session.
    pub id: u32,
    /// Number of `?`.
    pub params: u16,
    /// Columns of its result; none if it has no result.
    pub columns: Arc<[ColumnMeta]>,
    /// Warnings of preparing.
    pub warnings: u16,
}

/// Status flags of the protocol.
pub(crate) mod flag {
    pub(crate) const IN_TRANS: u16 = 1;
    pub(crate) const AUTOCOMMIT: u16 = 2;
    pub(crate) const MORE_RESULTS: u16 = 8;
    pub(crate) const NO_INDEX_USED: u16 = 32;
    pub(crate) const NO_BACKSLASH_ESCAPES: u16 = 512;
    pub(crate) const SLOW: u16 = 2048;
    pub(crate) const PS_OUT_PARAMS: u16 = 4096;
    pub(crate) const IN_TRANS_READONLY: u16 = 8192;
    pub(crate) const SESSION_CHANGED: u16 = 16384;
}

/// How long a statement has taken.
#[derive(Debug, Clone, Copy, Default)]
struct Took {
    micros: u64,
    /// Microseconds of those that it waited for others.
    waiting: u64,
}

/// A session.
#[derive(Debug)]
pub struct Connection {
    pub(crate) db: Arc<Database>,
    pub(crate) engine: Session,
    pub(crate) state: SessionState,
    process: Arc<Process>,
    prepared: prepared::Statements,
    /// Plans of texts it has run.
    own_plans: OwnPlans,
    transaction: transaction::Characteristics,
    xa: xa::XaState,
    locked: lock_tables::LockedTables,
    multi_statements: bool,
    interactive: bool,
    /// What to do with a statement's memory afterwards: the arena of syntax trees is kept.
    arena: Bump,
    scratch: text::Scratch,
    /// Whether commits are waited for here.
    waits_for_log: bool,
    /// What the present statement committed.
    durability: Option<Durability>,
    statement_start: Instant,
    /// Microseconds that had been waited for locks then.
    waited_before: u64,
    /// How long the statement took that was done last.
    took: Took,
    /// When its counters are to be added to the folder's again.
    status_due: Instant,
    kind: Com,
    /// Something that session tracking calls state has changed.
    state_changed: bool,
    /// How often user variables and temporary tables had changed when the client was told last.
    told_state: (u64, u64),
    /// Changes of the session reach the client after rows, too.
    tells_after_rows: bool,
    is_insider: bool,
    /// All privileges, whatever the accounts say: of the program that has the folder open, and of who came in when accounts
    /// were not asked.
    has_everything: bool,
    /// What the account has done in this hour, if it has limits.
    usage: Option<Arc<Usage>>,
    /// When whoever has the session came in, in seconds since 1970.
    login_at: i64,
    /// Bytes that a door holds for it.
    held: usize,
    last_database: Option<privileges::InDatabase>,
    /// Stored programs that run.
    program: program::Running,
}

/// A name as text. Names are UTF-8 here whatever the connection's character set.
fn text_of(name: vaquita_parser::ast::Ident<'_>) -> String {
    String::from_utf8_lossy(name.name).into_owned()
}

impl Connection {
    /// A line of the general log, of a command of the protocol that is no statement.
    pub fn log_command(&self, command: &str, argument: &str) {
        if self.db.logs.general_on() {
            self.log(command, argument.as_bytes());
        }
    }

    /// Number of the connection: CONNECTION_ID().
    pub fn id(&self) -> u32 {
        self.state.connection_id
    }

    /// Waits for the log at every commit, instead of leaving it to the sink (see [`crate::Completion::durability`]).
    pub fn set_waits_for_log(&mut self, waits: bool) {
        self.waits_for_log = waits;
    }

    /// Bytes of the client's, in its character set, as UTF-8.
    pub fn client_text(&self, bytes: &[u8]) -> String {
        self.state.vars.client_text(bytes).into_owned()
    }

    /// USE.
    ///
    /// # Errors
    /// 1049 no such database, 1044 not allowed.
    pub fn use_database(&mut self, name: &str) -> SqlResult<()> {
        self.refresh_privileges();
        let privileges = &self.state.privileges;
        // Before anything is said about its existence. Who has to change the password first can do nothing there.
        if !vaquita_catalog::is_for_everybody(name)
            && !privileges.any_in_database(name)
            && !privileges.password_expired
        {
            return Err(self.database_denied(name));
        }
        let collation = self.database_collation(name)?;
        self.state.database = name.to_owned();
        self.process.set_database(name);
        self.state.vars.put(id::COLLATION_DATABASE, vars::VarValue::UInt(collation.into()));
        self.state
            .vars
            .put(id::CHARACTER_SET_DATABASE, vars::VarValue::UInt(vars::primary(collation).into()));
        if self.state.vars.get(id::SESSION_TRACK_SCHEMA).uint() != 0 {
            self.state.changes.push(SessionChange::Schema(name.to_owned()));
        }
        self.state_changed = true;
        Ok(())
    }

    /// What of the session has changed by a command that is no statement (COM_INIT_DB).
    pub fn take_changes(&mut self) -> Vec<SessionChange> {
        self.tell_changed_state(false);
        std::mem::take(&mut self.state.changes)
    }

    /// Whether the client is told of changes after rows, too: not if an EOF packet ends them.
    pub fn set_tells_after_rows(&mut self, tells: bool) {
        self.tells_after_rows = tells;
    }

    /// Error 1044.
    fn database_denied(&self, database: &str) -> SqlError {
        let (user, host) = (&self.state.account_user, &self.state.account_host);
        SqlError::new(1044, format!("Access denied for user '{user}'@'{host}' to database '{database}'"))
    }

    /// Default collation of a database.
    ///
    /// # Errors
    /// 1049 no such database.
    fn database_collation(&self, name: &str) -> SqlResult<u16> {
        if vaquita_catalog::is_virtual_database(name) {
            return Ok(33);
        }
        let unknown = || SqlError::new(1049, format!("Unknown database '{name}'"));
        let file_name = vaquita_catalog::file_name(name).map_err(|_| unknown())?;
        let found = vaquita_catalog::database_options(self.db.engine.core(), &file_name)?;
        found.map(|collation| collation.unwrap_or(self.state.vars.collation_server)).ok_or_else(unknown)
    }

    /// Back to the state after connecting (COM_RESET_CONNECTION): transaction rolled back, variables as the global ones
    /// are (those of character sets, too, whatever the client asked for when it came), prepared statements, locks and user
    /// variables forgotten. The database stays.
    ///
    /// # Errors
    /// Those of the rollback.
    pub fn reset(&mut self) -> SqlResult<()> {
        let done = error::of_engine(self.engine.rollback());
        self.engine.unlock_globally();
        self.unlock_tables();
        self.xa = xa::XaState::default();
        self.engine.drop_temporary_tables();
        self.close_all_statements();
        self.transaction = transaction::Characteristics::default();
        self.db.processes.locks().release_all(self.id());
        let vars = &self.state.vars;
        let database =
            [id::CHARACTER_SET_DATABASE, id::COLLATION_DATABASE].map(|var| (var, vars.get(var).clone()));
        let connections = vars.get(id::MAX_USER_CONNECTIONS).clone();
        self.state.vars = self.db.globals.session();
        if !self.state.database.is_empty() {
            database.into_iter().for_each(|(var, value)| self.state.vars.put(var, value));
        }
        // The limit of the account is part of its login, not of the session.
        self.state.vars.put(id::MAX_USER_CONNECTIONS, connections);
        self.use_idle_timeout();
        self.state.warnings = vaquita_types::Warnings::new(self.state.vars.max_error_count);
        self.state.roles = self.db.accounts().first_roles(&self.state.account_user, &self.state.account_host);
        self.take_privileges();
        self.state.user_vars.clear();
        self.state.last_insert_id = 0;
        self.state.new_insert_id = None;
        (self.state.generated, self.state.generates) = (false, false);
        self.state.found_rows = 0;
        self.state.row_count = 0;
        self.state.error_count = 0;
        self.state.changes.clear();
        self.settings_changed();
        self.state_changed = false;
        self.told_state = self.state_now();
        done
    }

    /// Becomes another user's session (COM_CHANGE_USER): what [`Connection::reset`] does, and the new user, database and
    /// collation. The number stays.
    ///
    /// # Errors
    /// 1226 too many of this user, 1044/1049 the wanted database; the caller ends the connection then.
    pub fn change_user(&mut self, info: ConnectInfo) -> SqlResult<()> {
        self.reset()?;
        self.state.database.clear();
        self.become_user(info)
    }

    /// Whether a door may hold so many bytes more for the session.
    ///
    /// # Errors
    /// 4081, 4082.
    pub fn may_hold(&self, bytes: usize) -> SqlResult<()> {
        self.state.memory.may_keep(bytes)
    }

    /// A door holds so many bytes for the session by now: packets, parameters that come in pieces, rows to be fetched.
    pub fn hold(&mut self, bytes: usize) {
        self.state.memory.keep(bytes as i64 - self.held as i64);
        self.held = bytes;
    }

    /// Status flags of the protocol as they are now (IN_TRANS, AUTOCOMMIT..), for replies to what is no statement.
    pub fn status_flags(&self) -> u16 {
        let mut flags = 0;
        if self.engine.in_transaction() {
            flags |= flag::IN_TRANS;
            if self.engine.transaction_access() == vaquita_engine::AccessMode::ReadOnly {
                flags |= flag::IN_TRANS_READONLY;
            }
        }
        if self.state.vars.autocommit {
            flags |= flag::AUTOCOMMIT;
        }
        if self.state.vars.sql_mode.has(SqlMode::NO_BACKSLASH_ESCAPES) {
            flags |= flag::NO_BACKSLASH_ESCAPES;
        }
        flags
    }

    /// Several statements in one text are allowed from now on, or not (COM_SET_OPTION).
    pub fn set_multi_statements(&mut self, allowed: bool) {
        self.multi_statements = allowed;
    }

    /// The session as others see it.
    pub fn process(&self) -> &Arc<Process> {
        &self.process
    }

    /// Called on the killer's thread when somebody ends this connection (KILL, shutdown): a door closes the socket. What
    /// the session waits for, KILL ends by itself.
    pub fn set_kill_hook(&mut self, hook: Arc<dyn Fn() + Send + Sync>) {
        *self.process.kill_hook.lock() = Some(hook);
    }

    /// Cipher suite and version of TLS of the client's connection, for SHOW STATUS.
    pub fn set_tls(&mut self, tls: Option<(String, String)>) {
        self.state.tls = tls;
    }

    /// Whether the client's connection is compressed, for SHOW STATUS.
    pub fn set_compressed(&mut self, compressed: bool) {
        self.state.compressed = compressed;
    }

    /// Whether the user may ask for the server's inner state (COM_DEBUG).
    ///
    /// # Errors
    /// 1227 without SUPER.
    pub fn check_debug(&mut self) -> SqlResult<()> {
        self.needs(Priv::SUPER)
    }

    /// The session's state, for the status flags and limits doors need.
    pub fn state(&self) -> &SessionState {
        &self.state
    }

    /// The same, for what doors count.
    pub fn state_mut(&mut self) -> &mut SessionState {
        &mut self.state
    }

    /// The database it is a session of.
    pub fn database(&self) -> &Arc<Database> {
        &self.db
    }

    /// Whether somebody has ended the connection: nothing more is to be run.
    pub fn is_killed(&self) -> bool {
        self.state.interrupt.ends_connection()
    }

    /// The engine's session: for the wait hook and the handle that ends waits.
    pub fn engine(&mut self) -> &mut Session {
        &mut self.engine
    }

    /// Called about every millisecond of a statement that goes on: a server gives its loop to another thread at the
    /// first call. No latch is held.
    pub fn set_yield_hook(&mut self, hook: Arc<dyn Fn() + Send + Sync>) {
        self.state.yield_hook = Some(hook);
    }

    /// Lets the hook be called after that time instead; after none whenever a statement looks whether it is to end.
    pub fn set_yield_after(&mut self, time: Duration) {
        self.state.yield_after = time;
    }

    /// An error's message as the client reads it: in `character_set_results`.
    pub fn message<'m>(&self, message: &'m str) -> Cow<'m, [u8]> {
        let to = self.state.vars.character_set_results.and_then(Charset::of_collation);
        error::message_in(message, to)
    }

    /// Counts an error that a door found (malformed packet) as the session's last one.
    pub fn note_error(&mut self, error: &SqlError) {
        self.state.warnings.clear();
        self.state.error_count = 1;
        self.state.warnings.push(Level::Error, error.code, error.message.clone());
    }

    /// What statements run in.
    fn cx(&mut self) -> StmtCx<'_> {
        StmtCx { db: &self.db, engine: &mut self.engine, state: &mut self.state }
    }

    /// How the present session reads texts.
    fn parse_mode(&self, lift: bool) -> ParseMode {
        let sql_mode = vars::for_parser(self.state.vars.sql_mode);
        let memory_max = usize::try_from(self.state.memory.room()).unwrap_or(usize::MAX);
        let mode = vars::parse_mode(sql_mode, self.state.vars.character_set_client);
        ParseMode { lift, memory_max, ..mode }
    }

    /// Tells the engine's session of variables that are its settings.
    fn settings_changed(&mut self) {
        self.state.memory_rules_changed();
        let vars = &self.state.vars;
        let settings = &mut self.engine.settings;
        settings.autocommit = vars.autocommit;
        settings.foreign_key_checks = vars.foreign_key_checks;
        settings.unique_checks = vars.unique_checks;
        self.process.set_checks(vars.unique_checks, vars.foreign_key_checks);
        settings.lock_wait_timeout = vars.get(id::INNODB_LOCK_WAIT_TIMEOUT).uint() as u32;
        settings.metadata_lock_timeout = vars.get(id::LOCK_WAIT_TIMEOUT).uint() as u32;
        settings.stopwords.enabled = vars.get(id::INNODB_FT_ENABLE_STOPWORD).uint() != 0;
        settings.stopwords.table = match vars.get(id::INNODB_FT_USER_STOPWORD_TABLE) {
            vars::VarValue::Text(name) => Some(name.clone()),
            _ => None,
        };
        self.apply_characteristics();
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // The transaction is rolled back by the engine's session.
        self.unlock_tables();
        self.close_all_statements();
        self.db.processes.leave(self.state.connection_id);
        self.log_command("Quit", "");
        if !self.is_insider {
            self.tell_status();
        }
    }
}
