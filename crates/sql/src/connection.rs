//! One client's session: runs statements for it.

use crate::database::Database;
use crate::sink::{ColumnMeta, ResultSink};
use crate::state::SessionState;
use std::net::SocketAddr;
use std::sync::Arc;
use vaquita_engine::Session;
use vaquita_types::{SqlError, SqlResult, Value};

/// How a client came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transport {
    /// Inside the process.
    Embedded,
    /// Unix socket.
    Socket,
    /// TCP.
    Tcp(SocketAddr),
    /// TCP under TLS.
    Tls(SocketAddr),
}

/// Who connects.
#[derive(Debug, Clone)]
pub struct ConnectInfo {
    /// Number of the connection, from [`crate::process::Processes::reserve_id`] if the client was told it already.
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

/// A session.
#[derive(Debug)]
pub struct Connection {
    pub(crate) db: Arc<Database>,
    pub(crate) engine: Session,
    pub(crate) state: SessionState,
}

impl Connection {
    /// Number of the connection: CONNECTION_ID().
    pub fn id(&self) -> u32 {
        self.state.connection_id
    }

    /// Runs a text: one statement, or several if the client may. Results go to `sink`, statement by statement.
    ///
    /// # Errors
    /// Of the statement that failed; those before it are done.
    pub fn query(&mut self, _sql: &[u8], _sink: &mut dyn ResultSink) -> SqlResult<()> {
        unimplemented!()
    }

    /// Prepares a statement.
    ///
    /// # Errors
    /// Syntax, names, what cannot be prepared (1295), too many (1461).
    pub fn prepare(&mut self, _sql: &[u8]) -> SqlResult<Prepared> {
        unimplemented!()
    }

    /// Runs a prepared statement.
    ///
    /// # Errors
    /// 1243 no such statement, 1210 wrong number of parameters, those of the statement.
    pub fn execute(&mut self, _id: u32, _params: &[Value<'_>], _sink: &mut dyn ResultSink) -> SqlResult<()> {
        unimplemented!()
    }

    /// Forgets a prepared statement; one that is not there is ignored.
    pub fn close_statement(&mut self, _id: u32) {
        unimplemented!()
    }

    /// USE.
    ///
    /// # Errors
    /// 1049 no such database, 1044 not allowed.
    pub fn use_database(&mut self, _name: &str) -> SqlResult<()> {
        unimplemented!()
    }

    /// Back to the state after connecting (COM_RESET_CONNECTION): transaction rolled back, variables, prepared
    /// statements, locks and user variables forgotten.
    ///
    /// # Errors
    /// Those of the rollback.
    pub fn reset(&mut self) -> SqlResult<()> {
        unimplemented!()
    }

    /// Becomes another user's session (COM_CHANGE_USER): what [`Connection::reset`] does, and the new user, database and
    /// collation. The number stays.
    ///
    /// # Errors
    /// 1226 too many of this user, 1044/1049 the wanted database; the caller ends the connection then.
    pub fn change_user(&mut self, _info: ConnectInfo) -> SqlResult<()> {
        unimplemented!()
    }

    /// Status flags of the protocol as they are now (IN_TRANS, AUTOCOMMIT..), for replies to what is no statement.
    pub fn status_flags(&self) -> u16 {
        unimplemented!()
    }

    /// Called on the killer's thread when somebody ends this connection (KILL, shutdown): a door closes the socket. What
    /// the session waits for, KILL ends by itself.
    pub fn set_kill_hook(&mut self, _hook: Arc<dyn Fn() + Send + Sync>) {
        unimplemented!()
    }

    /// The session's state, for the status flags and limits doors need.
    pub fn state(&self) -> &SessionState {
        &self.state
    }

    /// The engine's session: for the wait hook and the handle that ends waits.
    pub fn engine(&mut self) -> &mut Session {
        &mut self.engine
    }

    /// Called about every millisecond of a statement that goes on: a server gives its loop to another thread at the
    /// first call. No latch is held.
    pub fn set_yield_hook(&mut self, _hook: Arc<dyn Fn() + Send + Sync>) {
        unimplemented!()
    }

    /// Counts an error that a door found (malformed packet) as the session's last one.
    pub fn note_error(&mut self, _error: &SqlError) {
        unimplemented!()
    }
}
