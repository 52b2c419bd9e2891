//! What a session remembers between statements, and what a statement remembers between rows; everything that needs no
//! engine session, so that expressions can be evaluated while a cursor is open.

mod interrupt;
mod noted;
mod program;
mod results;
mod user_vars;
mod workspaces;

pub use interrupt::Interrupt;
pub use noted::{Conditions, Noted};
pub use program::{Place, ProgramState, Suspended, Taken};
pub use results::SubqueryResults;
pub use user_vars::{UserVar, UserVars};
pub use workspaces::Workspaces;

use crate::names::StatementNames;
use crate::privilege::Privileges;
use crate::sink::SessionChange;
use crate::status::SessionStatus;
use crate::vars::{SessionVars, id};
use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};
use vaquita_types::memory::account::{Account, Rules};
use vaquita_types::temporal::{DateContext, calendar};
use vaquita_types::{DateTime, SqlError, SqlResult, Warnings, memory};

/// A session's state.
pub struct SessionState {
    /// CONNECTION_ID().
    pub connection_id: u32,
    /// User as given, for USER().
    pub user: String,
    /// Host the client comes from.
    pub host: String,
    /// User of the account that matched, for CURRENT_USER().
    pub account_user: String,
    /// Host of the account that matched: a pattern.
    pub account_host: String,
    /// Roles that are active: user and host.
    pub roles: Vec<(String, String)>,
    /// The current database; none: empty.
    pub database: String,
    /// What the names of tables in the running definition stand for.
    pub names: StatementNames,
    /// Session values of system variables.
    pub vars: SessionVars,
    /// User variables.
    pub user_vars: UserVars,
    /// What it takes of the memory.
    pub memory: Arc<Account>,
    /// Conditions of the present statement, or of the last one.
    pub warnings: Warnings,
    /// LAST_INSERT_ID(): the first value that the last inserting statement generated, or `LAST_INSERT_ID(n)`.
    pub last_insert_id: u64,
    /// What the present statement generates; becomes `last_insert_id` when it ends well. Set by INSERT (the first value)
    /// and by `LAST_INSERT_ID(n)`.
    pub new_insert_id: Option<u64>,
    /// An INSERT has generated a value since `sql_auto_is_null` has found its row.
    pub generated: bool,
    /// The present statement generates one; becomes `generated` when it ends well.
    pub generates: bool,
    /// ROW_COUNT() of the last statement.
    pub row_count: i64,
    /// FOUND_ROWS() of the last SELECT.
    pub found_rows: u64,
    /// The statement's time: microseconds since 1970, UTC; NOW() of every expression in it.
    pub now_us: i64,
    /// The last [`SessionState::local_now`], of these seconds and microseconds: values that are stored ask for it one by one.
    local: Cell<((i64, u32), DateTime)>,
    /// RAND() without a seed: both halves, from 0 to 2^30 - 2.
    pub rand: [u32; 2],
    /// RAND() with a seed: for each place in the statement the generator's state.
    seeded: std::collections::HashMap<usize, [u32; 2], foldhash::fast::RandomState>,
    /// Affected rows are those found (CLIENT_FOUND_ROWS).
    pub client_found_rows: bool,
    /// Counters of the session, those in `told_status` excepted.
    pub status: SessionStatus,
    /// Counters that the folder's have already.
    pub told_status: SessionStatus,
    /// What the session may do, as of the last look at the grants.
    pub privileges: Arc<Privileges>,
    /// What of the session changed in the present statement (session tracking).
    pub changes: Vec<SessionChange>,
    /// Number of errors of the last statement: `@@error_count`.
    pub error_count: u32,
    /// Cipher suite and version of TLS, if the client came under it: `Ssl_cipher`, `Ssl_version`.
    pub tls: Option<(String, String)>,
    /// The client's connection is compressed: `Compression`.
    pub compressed: bool,
    /// How others end what it does.
    pub interrupt: Arc<Interrupt>,
    /// When the present statement is to end (`max_execution_time`).
    pub deadline: Option<Instant>,
    /// Told of a statement that goes on, every [`SessionState::yield_after`].
    pub yield_hook: Option<Arc<dyn Fn() + Send + Sync>>,
    /// A millisecond.
    pub yield_after: Duration,
    /// Of the statement that is being planned.
    pub noted: Noted,
    /// Results of subqueries of the present statement.
    pub subqueries: SubqueryResults,
    /// What executions of plans leave to the next ones.
    pub workspaces: Workspaces,
    /// Of the stored programs that run.
    pub program: ProgramState,
    /// The most bytes that a query of the session kept in memory of its rows.
    pub kept_most: usize,
    /// The statement has read a table, or a whole index, row by row (SERVER_QUERY_NO_INDEX_USED).
    pub scanned: bool,
    /// Query blocks of the present statement that have begun, by their places.
    begun: Vec<usize>,
    /// Rows that the present statement has read from tables.
    pub examined: u64,
    /// Rows since the clock was looked at.
    polls: u32,
    /// Bytes of long values since then.
    worked: usize,
    /// When it was.
    last_poll: Instant,
}

impl std::fmt::Debug for SessionState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let fields = (self.connection_id, &self.user, &self.database);
        f.debug_tuple("SessionState").field(&fields).finish_non_exhaustive()
    }
}

/// Rows between two looks at the clock.
const POLL_ROWS: u32 = 64;

/// Bytes of long values between two of them.
const POLL_BYTES: usize = 64 << 10;

impl SessionState {
    /// A session's state to begin with.
    pub fn new(connection_id: u32, vars: SessionVars) -> SessionState {
        let warnings = Warnings::new(vars.max_error_count);
        SessionState {
            connection_id,
            user: String::new(),
            host: String::new(),
            account_user: String::new(),
            account_host: String::new(),
            roles: Vec::new(),
            database: String::new(),
            names: StatementNames::default(),
            vars,
            user_vars: UserVars::default(),
            memory: Arc::default(),
            warnings,
            last_insert_id: 0,
            new_insert_id: None,
            generated: false,
            generates: false,
            row_count: 0,
            found_rows: 0,
            now_us: 0,
            local: Cell::new(((i64::MIN, 0), DateTime::default())),
            rand: [
                connection_id.wrapping_mul(0x1_0001).wrapping_add(55_555_555),
                connection_id.wrapping_mul(0x1000_0001),
            ]
            .map(|seed| seed % 0x3FFF_FFFF),
            seeded: std::collections::HashMap::default(),
            client_found_rows: false,
            status: SessionStatus::default(),
            told_status: SessionStatus::default(),
            privileges: Arc::default(),
            changes: Vec::new(),
            error_count: 0,
            tls: None,
            compressed: false,
            interrupt: Arc::default(),
            noted: Noted::default(),
            subqueries: SubqueryResults::default(),
            workspaces: Workspaces::default(),
            program: ProgramState::default(),
            deadline: None,
            yield_hook: None,
            yield_after: Duration::from_millis(1),
            kept_most: 0,
            scanned: false,
            begun: Vec::new(),
            examined: 0,
            polls: 0,
            worked: 0,
            last_poll: Instant::now(),
        }
    }

    /// From now on that account pays for what it takes.
    pub fn use_account(&mut self, account: Arc<Account>) {
        self.user_vars = UserVars::of(account.clone());
        account.ends_by(self.interrupt.clone());
        self.memory = account;
        self.memory_rules_changed();
    }

    /// Tells the account how it counts by now.
    pub fn memory_rules_changed(&self) {
        self.memory.set_rules(Rules {
            limit: self.vars.get(id::CONNECTION_MEMORY_LIMIT).uint(),
            chunk: self.vars.get(id::CONNECTION_MEMORY_CHUNK_SIZE).uint(),
            tracked: self.vars.get(id::GLOBAL_CONNECTION_MEMORY_TRACKING).uint() != 0,
        });
    }

    /// The statement's time in the session's time zone.
    pub fn local_now(&self) -> DateTime {
        let (seconds, micros) = (self.now_us.div_euclid(1_000_000), self.now_us.rem_euclid(1_000_000));
        let local = (seconds + i64::from(self.vars.time_zone.offset_at(seconds)), micros as u32);
        let (of, known) = self.local.get();
        if of == local {
            return known;
        }
        let now = calendar::from_unix(local.0, local.1).unwrap_or_default();
        self.local.set((local, now));
        now
    }

    /// What conversions to dates depend on.
    pub fn date_context(&self) -> DateContext {
        DateContext { mode: self.vars.sql_mode, today: self.local_now().date }
    }

    /// A state without a connection, for tests and for what runs before there are sessions: default variables.
    ///
    /// # Errors
    /// None in practice: the defaults are what variables can hold.
    pub fn detached() -> SqlResult<SessionState> {
        Ok(SessionState::new(0, crate::vars::Globals::new(&[])?.session()))
    }

    /// To be called for every row, or step of some work, while no latch is held: ends the statement if somebody killed it
    /// or its time is over, and lets a server give its loop away.
    ///
    /// # Errors
    /// 1317 interrupted, 3024 too long, 4081 and 4082 too much memory.
    #[inline]
    pub fn poll(&mut self) -> SqlResult<()> {
        self.polls += 1;
        if self.polls < POLL_ROWS && !self.interrupt.is_set() {
            return Ok(());
        }
        self.poll_now()
    }

    /// Some work over so many bytes is done within a row: after enough of it as [`SessionState::poll`].
    ///
    /// # Errors
    /// As that.
    #[inline]
    pub fn worked(&mut self, bytes: usize) -> SqlResult<()> {
        self.worked += bytes;
        if self.worked < POLL_BYTES {
            return Ok(());
        }
        self.worked = 0;
        self.poll_now()
    }

    /// Whether the query block at this place runs for the first time in the statement.
    pub fn begins(&mut self, place: usize) -> bool {
        let is_new = !self.begun.contains(&place);
        if is_new {
            self.begun.push(place);
        }
        is_new
    }

    /// Notes what a query kept in memory, and whether the rest went to a temporary file.
    pub fn note_spill(&mut self, spilled: bool, memory: usize) {
        self.status.created_tmp_disk_tables += u64::from(spilled);
        self.kept_most = self.kept_most.max(memory);
    }

    /// [`SessionState::poll`] without regard to how often.
    ///
    /// # Errors
    /// As that.
    #[cold]
    pub fn poll_now(&mut self) -> SqlResult<()> {
        self.polls = 0;
        if self.interrupt.is_set() {
            return Err(SqlError::new(1317, "Query execution was interrupted"));
        }
        memory::check(0)?;
        if self.deadline.is_none() && self.yield_hook.is_none() {
            return Ok(());
        }
        let now = Instant::now();
        if self.deadline.is_some_and(|deadline| now >= deadline) {
            return Err(SqlError::new(
                3024,
                "Query execution was interrupted, maximum statement execution time exceeded",
            ));
        }
        if let Some(hook) = &self.yield_hook
            && now.duration_since(self.last_poll) >= self.yield_after
        {
            self.last_poll = now;
            hook();
        }
        Ok(())
    }

    /// To be called before work that takes long and is not polled: a server gives its loop away now. No latch is held.
    pub fn give_way(&self) {
        if let Some(hook) = &self.yield_hook {
            hook();
        }
    }

    /// The generator of a RAND(seed), begun with `fresh` in each statement (`anew`: with each call).
    pub fn seeded_random(&mut self, place: usize, fresh: [u32; 2], anew: bool) -> &mut [u32; 2] {
        let state = self.seeded.entry(place).or_insert(fresh);
        if anew {
            *state = fresh;
        }
        state
    }

    /// A statement begins: its time, its limits.
    pub fn begin_statement(&mut self, now: Instant) {
        let wall = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let wall = wall.map_or(0, |d| d.as_micros() as i64);
        self.now_us = self.vars.timestamp_us.unwrap_or(wall);
        self.new_insert_id = None;
        self.generates = false;
        self.seeded.clear();
        self.begun.clear();
        self.examined = 0;
        self.polls = 0;
        self.deadline = None;
        self.last_poll = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vaquita_types::TimeZone;

    #[test]
    fn the_local_time_follows_the_clock_and_the_zone() -> SqlResult<()> {
        let mut state = SessionState::detached()?;
        let shown = |state: &SessionState| {
            let now = state.local_now();
            (now.date.year, now.date.month, now.date.day, now.hour, now.minute, now.micros)
        };
        state.vars.time_zone = TimeZone::parse("+00:00")?.into();
        assert_eq!(shown(&state), (1970, 1, 1, 0, 0, 0));
        state.vars.time_zone = TimeZone::parse("-00:30")?.into();
        assert_eq!(shown(&state), (1969, 12, 31, 23, 30, 0));
        assert_eq!(state.date_context().today.year, 1969);
        state.now_us = 86_400_000_007;
        assert_eq!(shown(&state), (1970, 1, 1, 23, 30, 7));
        Ok(())
    }
}
