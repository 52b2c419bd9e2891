//! A logged-in connection: the session and what the protocol remembers for it.

use crate::backend::Client;
use crate::protocol::Capabilities;
use crate::protocol::columns::Definitions;
use crate::protocol::reply::status;
use std::collections::HashMap;
use std::sync::Arc;
use vaquita_sql::password::CHALLENGE_LEN;
use vaquita_sql::{ColumnMeta, SqlError, SqlResult};

/// Bytes by which buffers change before the session is told.
const BUFFER_STEP: usize = 4 << 10;

/// A session and its prepared statements.
pub(super) struct Active {
    pub(super) client: Box<dyn Client>,
    pub(super) capabilities: Capabilities,
    /// The last challenge: a change of user answers to it.
    pub(super) challenge: [u8; CHALLENGE_LEN],
    /// For messages.
    pub(super) user: String,
    pub(super) database: String,
    pub(super) statements: HashMap<u32, Statement, foldhash::fast::RandomState>,
    pub(super) definitions: Definitions,
    /// Bytes that statements hold, and buffers of the connection.
    held: (usize, usize),
}

impl std::fmt::Debug for Active {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Active").field("user", &self.user).finish_non_exhaustive()
    }
}

/// What the protocol remembers of a prepared statement.
#[derive(Debug, Default)]
pub(super) struct Statement {
    pub(super) params: u16,
    /// Types bound by the last execution.
    pub(super) types: Vec<[u8; 2]>,
    /// Parameters that come in pieces.
    pub(super) pieces: Vec<(u16, Vec<u8>)>,
    /// The pieces were more than may be: the next execution fails with this.
    pub(super) pieces_refused: Option<SqlError>,
    pub(super) cursor: Option<Cursor>,
}

impl Statement {
    /// Bytes held for later executions and fetches.
    pub(super) fn held(&self) -> usize {
        let pieces: usize = self.pieces.iter().map(|(_, bytes)| bytes.capacity()).sum();
        pieces + self.cursor.as_ref().map_or(0, |cursor| cursor.rows.capacity())
    }
}

/// Rows that are fetched later, encoded already: each behind its length in four bytes.
#[derive(Debug, Default)]
pub(super) struct Cursor {
    pub(super) columns: Option<Arc<[ColumnMeta]>>,
    pub(super) rows: Vec<u8>,
    /// Rows before this place have been fetched.
    pub(super) at: usize,
}

impl Cursor {
    /// The next row.
    pub(super) fn next(&mut self) -> Option<&[u8]> {
        let rest = self.rows.get(self.at..)?;
        let (len, rest) = rest.split_first_chunk::<4>()?;
        let len = u32::from_le_bytes(*len) as usize;
        self.at += 4 + len;
        rest.get(..len)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.at >= self.rows.len()
    }
}

impl Active {
    pub(super) fn new(
        client: Box<dyn Client>,
        capabilities: Capabilities,
        challenge: [u8; CHALLENGE_LEN],
    ) -> Active {
        Active {
            client,
            capabilities,
            challenge,
            user: String::new(),
            database: String::new(),
            statements: HashMap::default(),
            definitions: Definitions::default(),
            held: (0, 0),
        }
    }

    /// A statement that held so many bytes holds `now`.
    pub(super) fn statement_holds(&mut self, before: usize, now: usize) {
        if before != now {
            self.held.0 = (self.held.0 + now).saturating_sub(before);
            self.client.hold(self.held.0 + self.held.1);
        }
    }

    /// The connection's buffers take so many bytes.
    ///
    /// # Errors
    /// 4081, 4082: that is too much for the session.
    pub(super) fn buffers_hold(&mut self, bytes: usize) -> SqlResult<()> {
        if bytes.abs_diff(self.held.1) < BUFFER_STEP {
            return Ok(());
        }
        let allowed = self.client.may_hold(bytes.saturating_sub(self.held.1));
        self.held.1 = bytes;
        self.client.hold(self.held.0 + self.held.1);
        allowed
    }

    /// Forgets prepared statements, as the session has.
    pub(super) fn forget(&mut self) {
        self.statements = HashMap::default();
        self.statement_holds(self.held.0, 0);
    }

    pub(super) fn in_transaction(&self) -> bool {
        self.client.status_flags() & status::IN_TRANS != 0
    }
}
