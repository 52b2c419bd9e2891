//! What the door needs of the house: sessions, accounts, settings. The database implements it ([`crate::database`]); tests
//! of the door have a small house of their own.

use std::borrow::Cow;
use std::sync::Arc;
use vaquita_engine::WaitHook;
use vaquita_sql::accounts::Account;
use vaquita_sql::{ConnectInfo, Prepared, ResultSink, SessionChange, SqlError, SqlResult, Transport, Value};

/// The database behind the door.
pub trait Backend: Send + Sync + 'static {
    /// A number for a connection to come.
    fn reserve_id(&self) -> u32;

    /// The account for a user that comes from there.
    fn account(&self, user: &str, host: &str, transport: &Transport) -> Option<Account>;

    /// The method of one of the accounts, chosen by `draw`: somebody who has none is asked by it.
    fn method_by(&self, draw: u64) -> String {
        let _ = draw;
        vaquita_sql::password::NATIVE.to_owned()
    }

    /// Why nobody at all may come in, if so.
    fn closed(&self) -> Option<String> {
        None
    }

    /// A session for somebody who is authenticated.
    ///
    /// # Errors
    /// 1040 too many connections, 1226 too many of this user, 1044/1049 the wanted database.
    fn connect(&self, info: ConnectInfo, hooks: Hooks) -> SqlResult<Box<dyn Client>>;

    /// Ends a connection's statement and then the connection.
    fn kill(&self, id: u32);

    /// Settings for all connections, as they are now.
    fn limits(&self) -> DoorLimits;

    /// The default collation of the server, for the greeting.
    fn collation(&self) -> u16;

    /// Counts what the door sees.
    fn count(&self, what: Happening);
}

/// What only a door sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Happening {
    /// A client did not get in.
    AbortedConnect,
    /// A client left without good-bye.
    AbortedClient,
    /// A client was refused because there were too many.
    TooMany,
}

/// A session.
pub trait Client: Send {
    /// Runs a text.
    ///
    /// # Errors
    /// Of the statement that failed.
    fn query(&mut self, sql: &[u8], sink: &mut dyn ResultSink) -> SqlResult<()>;

    /// Prepares a statement.
    ///
    /// # Errors
    /// Those of the text.
    fn prepare(&mut self, sql: &[u8]) -> SqlResult<Prepared>;

    /// Runs a prepared statement.
    ///
    /// # Errors
    /// Of the statement.
    fn execute(&mut self, id: u32, params: &[Value<'_>], sink: &mut dyn ResultSink) -> SqlResult<()>;

    /// Forgets a prepared statement.
    fn close_statement(&mut self, id: u32);

    /// A name in a packet of its own, which is in the client's character set.
    fn name_of(&self, bytes: &[u8]) -> String {
        String::from_utf8_lossy(bytes).into_owned()
    }

    /// The line of COM_STATISTICS.
    fn statistics(&mut self) -> String;

    /// USE.
    ///
    /// # Errors
    /// 1049, 1044.
    fn use_database(&mut self, name: &str) -> SqlResult<()>;

    /// What of the session the last command has changed that is no statement.
    fn take_changes(&mut self) -> Vec<SessionChange> {
        Vec::new()
    }

    /// As freshly connected.
    ///
    /// # Errors
    /// Those of the rollback.
    fn reset(&mut self) -> SqlResult<()>;

    /// Becomes another user's session.
    ///
    /// # Errors
    /// As [`Backend::connect`].
    fn change_user(&mut self, info: ConnectInfo) -> SqlResult<()>;

    /// Several statements in one text are allowed from now on, or not (COM_SET_OPTION).
    fn set_multi_statements(&mut self, allowed: bool);

    /// Status flags of the protocol as they are now.
    fn status_flags(&self) -> u16;

    /// Looks from other threads at how far the session's statement is.
    fn watch(&self) -> Option<Watch> {
        None
    }

    /// The session's settings as they are now.
    fn limits(&self) -> SessionLimits;

    /// An error's message as the client reads it.
    fn message<'m>(&self, message: &'m str) -> Cow<'m, [u8]> {
        message.as_bytes().into()
    }

    /// An error that the door found is the session's last one.
    fn note_error(&mut self, error: &SqlError);

    /// Whether the user may ask for the server's inner state (COM_DEBUG).
    ///
    /// # Errors
    /// 1227.
    fn check_debug(&mut self) -> SqlResult<()>;

    /// Whether the door may hold so many bytes more for the session.
    ///
    /// # Errors
    /// 4081, 4082.
    fn may_hold(&self, bytes: usize) -> SqlResult<()> {
        let _ = bytes;
        Ok(())
    }

    /// The door holds so many bytes for the session by now.
    fn hold(&mut self, bytes: usize) {
        let _ = bytes;
    }

    /// Counts what came and went.
    fn count_bytes(&mut self, received: u64, sent: u64);
}

/// Tells how far a statement is, if there is anything to tell.
pub type Watch = Arc<dyn Fn() -> Option<Report> + Send + Sync>;

/// How far a statement is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Report {
    /// What it is at, from 1 on.
    pub stage: u32,
    /// How many stages there are.
    pub stages: u32,
    /// What is done of the stage, and how much that is in all.
    pub done: u64,
    /// At least what is done.
    pub of: u64,
    /// The stage's name.
    pub what: &'static str,
}

/// Whom a session tells what.
#[derive(Clone)]
pub struct Hooks {
    /// Before it waits.
    pub wait: Arc<dyn WaitHook>,
    /// About every millisecond of a long statement.
    pub pause: Arc<dyn Fn() + Send + Sync>,
    /// When somebody ends the connection.
    pub kill: Arc<dyn Fn() + Send + Sync>,
    /// Cipher suite and version of TLS, if the client came under it.
    pub tls: Option<(String, String)>,
    /// The connection is compressed.
    pub compressed: bool,
    /// An OK packet ends rows, which has room for what changed of the session.
    pub tells_after_rows: bool,
}

impl std::fmt::Debug for Hooks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Hooks")
    }
}

/// Settings for all connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DoorLimits {
    /// `max_connections`.
    pub max_connections: u32,
    /// `max_connect_errors`.
    pub max_connect_errors: u64,
    /// `connect_timeout`, seconds.
    pub connect_timeout_s: u32,
    /// `require_secure_transport`.
    pub require_secure_transport: bool,
    /// `disconnect_on_expired_password`.
    pub disconnect_on_expired_password: bool,
}

impl Default for DoorLimits {
    /// MySQL's defaults.
    fn default() -> Self {
        DoorLimits {
            max_connections: 151,
            max_connect_errors: 100,
            connect_timeout_s: 10,
            require_secure_transport: false,
            disconnect_on_expired_password: true,
        }
    }
}

/// Settings of one session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionLimits {
    /// `max_allowed_packet`, bytes.
    pub max_allowed_packet: usize,
    /// `wait_timeout` or `interactive_timeout`, seconds.
    pub idle_timeout_s: u32,
    /// `net_read_timeout`, seconds.
    pub net_read_timeout_s: u32,
    /// `net_write_timeout`, seconds.
    pub net_write_timeout_s: u32,
    /// `progress_report_time`, seconds; 0: no reports.
    pub progress_report_time_s: u32,
}

impl Default for SessionLimits {
    /// MySQL's defaults.
    fn default() -> Self {
        SessionLimits {
            max_allowed_packet: 4 << 20,
            idle_timeout_s: 28_800,
            net_read_timeout_s: 30,
            net_write_timeout_s: 60,
            progress_report_time_s: 5,
        }
    }
}
