//! What happens around every statement.

use super::{Connection, Took, flag};
use crate::logs::{Said, SlowStatement};
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use vaquita_catalog::error;
use vaquita_engine::Durability;
use vaquita_exec::{Outcome, Planned};
use vaquita_session::privilege::{Priv, Wanted};
use vaquita_session::sink::{Completion, ResultSink, SessionChange};
use vaquita_session::status::Com;
use vaquita_session::vars::id;
use vaquita_types::{SqlError, SqlResult, Value, memory};

/// Error 1556.
pub(super) fn log_table_locked() -> SqlError {
    SqlError::new(1556, "You can't use locks with log tables.")
}

/// A statement that failed with `e` could not be taken back.
#[cold]
fn doomed_by(doomed: &vaquita_engine::Error, e: &SqlError) -> SqlError {
    let mut told = error::engine(doomed);
    told.message =
        format!("{}; the statement had failed by error {}: {}", told.message, e.code, e.message).into();
    told
}

/// How often a session adds its counters to the folder's.
pub(super) const STATUS_EVERY: Duration = Duration::from_millis(500);

impl Connection {
    /// Adds the session's counters to the folder's.
    pub(super) fn tell_status(&mut self) {
        self.status_due = self.statement_start + STATUS_EVERY;
        self.db.status.ended.lock().add(&self.state.status);
        self.state.told_status.add(&self.state.status);
        self.state.status.reset();
    }

    /// The line of COM_STATISTICS. The session's own counters are in it up to now.
    pub fn statistics(&mut self) -> String {
        self.tell_status();
        let db = &self.db;
        let uptime = db.opened.elapsed().as_secs();
        let (questions, slow) = {
            let all = db.status.ended.lock();
            (all.questions, all.slow_queries)
        };
        let dict = &db.engine.core().dict;
        format!(
            "Uptime: {uptime}  Threads: {}  Questions: {questions}  Slow queries: {slow}  Opens: {}  Flush tables: {}  \
             Open tables: {}  Queries per second avg: {:.3}",
            db.processes.connected(),
            dict.tables_opened(),
            // The one of the start counts.
            db.status.flushed_tables.load(Ordering::Relaxed) + 1,
            dict.tables_in_memory(),
            questions as f64 / uptime.max(1) as f64
        )
    }

    /// FLUSH STATUS: the session's counters begin anew, those of the folder go on with what they were.
    pub(super) fn flush_status(&mut self) {
        self.tell_status();
        self.state.told_status.reset();
        let status = &self.db.status;
        let connected = self.db.processes.connected() as u64;
        status.max_used_connections.store(connected, Ordering::Relaxed);
        // Of the folder's counters MySQL begins this one anew, too.
        status.aborted_clients.store(0, Ordering::Relaxed);
        status.flushed_at.store(self.db.opened.elapsed().as_secs(), Ordering::Relaxed);
    }

    /// A statement begins.
    pub(super) fn begin(&mut self, command: &'static str, text: &[u8], kind: Com) {
        let now = Instant::now();
        self.engine.clear_interrupt();
        self.state.interrupt.clear_query();
        self.state.begin_statement(now);
        self.state.scanned = false;
        self.statement_start = now;
        self.waited_before = self.engine.lock_wait_us();
        if self.state.vars.max_execution_time != 0 && kind == Com::Select {
            self.state.deadline = Some(now + Duration::from_millis(self.state.vars.max_execution_time));
        }
        self.process.begin(command, text, now);
        if self.db.logs.general_on() {
            self.log(command, text);
        }
        // Who reads a log finds there what came before.
        if self.db.logs.to_tables() && !self.is_insider && crate::logs::mentions_table(text) {
            self.db.logs.write_waiting();
        }
        self.state.status.questions += 1;
        self.state.status.queries += 1;
        self.state.status.count(kind);
        self.state.warnings.begin_statement();
        if kind.clears_warnings() {
            self.state.warnings.forget_old();
        }
        self.state.changes.clear();
        self.engine.settings.flush_log_at_trx_commit = self.db.flush_at_commit.load(Ordering::Relaxed);
        self.durability = None;
        self.kind = kind;
    }

    /// Counts a statement that is about to run, if the account has limits.
    ///
    /// # Errors
    /// 1226.
    #[inline]
    pub(super) fn count_asked(&self, updates: impl FnOnce() -> bool) -> SqlResult<()> {
        match &self.usage {
            None => Ok(()),
            Some(usage) => usage.ask(updates(), self.statement_start),
        }
    }

    /// Runs a plan as a statement of the engine: committed if it is a transaction of its own, taken back if it fails.
    pub(super) fn run_plan(
        &mut self,
        plan: &Arc<dyn Planned>,
        params: &[Value<'_>],
        sink: &mut dyn ResultSink,
    ) -> SqlResult<Outcome> {
        self.xa.check_statement()?;
        self.in_statement(|connection| connection.run_started(plan, params, sink))
    }

    /// The same, in a started statement.
    pub(super) fn run_started(
        &mut self,
        plan: &Arc<dyn Planned>,
        params: &[Value<'_>],
        sink: &mut dyn ResultSink,
    ) -> SqlResult<Outcome> {
        // What was parsed and planned is there.
        memory::check(0)?;
        if plan.uses_tables() && !self.program.gives_value {
            self.state.warnings.forget_old();
        }
        // With its temporary tables the session may do what it likes.
        let wants: Cow<'_, [Wanted]> = match self.engine.temporary_generation() {
            0 => plan.wants().into(),
            _ => plan.wants().iter().filter(|want| want.through.is_some() || !want.own).cloned().collect(),
        };
        for view in wants.iter().filter_map(|want| want.view.as_ref()) {
            error::of_engine(self.engine.statement().hold_view(&view.name, view.id))?;
            if let Some(definer) = &view.definer {
                self.check_definer(definer)?;
            }
        }
        let changes = wants.iter().any(|w| w.privileges.any(Priv::INSERT | Priv::UPDATE | Priv::DELETE));
        if changes {
            self.check_read_only()?;
        }
        self.check_wanted(&wants)?;
        self.check_log_tables(&wants)?;
        self.check_locked(&wants)?;
        if plan.changes_rows() && (changes || self.engine.temporary_generation() == 0) {
            self.check_folder()?;
            error::of_engine(self.engine.begin_change())?;
        }
        self.check_in_use(&wants)?;
        let done = match plan.calls_programs() {
            false => plan.run(&mut self.cx().run(), params, sink),
            true => self.using(&wants, |connection| plan.run(&mut connection.cx().run(), params, sink)),
        };
        let done = done.and_then(|done| memory::account::pay().map(|()| done));
        if plan.uses_tables() && !self.is_part() {
            // MySQL counts the end of each statement that the engine has a part in.
            let status = &mut self.state.status;
            let ended = if done.is_ok() { &mut status.handler_commit } else { &mut status.handler_rollback };
            *ended += 1;
        }
        done.map_err(|e| self.with_values(e, params))
    }

    /// An error with the values that its message has gaps for. Those of local variables are filled with their names, by the program.
    #[cold]
    pub(super) fn with_values(&self, e: SqlError, params: &[Value<'_>]) -> SqlError {
        match self.program.types {
            None => vaquita_expr::with_values(e, params),
            Some(_) => e,
        }
    }

    /// Runs `body` while these tables are not for others to change: for stored functions and triggers.
    pub(super) fn using<R>(&mut self, wants: &[Wanted], body: impl FnOnce(&mut Connection) -> R) -> R {
        let before = self.state.program.in_use.len();
        let tables = wants.iter().filter(|w| !w.table.is_empty());
        self.state.program.in_use.extend(tables.map(|w| (w.database[..].into(), w.table[..].into())));
        let done = body(self);
        self.state.program.in_use.truncate(before);
        done
    }

    /// What a function does may not change the tables of the statement that called it.
    ///
    /// # Errors
    /// 1442.
    #[inline]
    pub(super) fn check_in_use(&self, wanted: &[Wanted]) -> SqlResult<()> {
        if !self.program.inside {
            return Ok(());
        }
        let changes = Priv::INSERT | Priv::UPDATE | Priv::DELETE;
        for want in wanted.iter().filter(|w| w.privileges.any(changes)) {
            let same = |(database, table): &(Box<str>, Box<str>)| want.is_of_table(database, table);
            if self.state.program.in_use.iter().any(same) {
                let message = format!(
                    "Can't update table '{}' in stored function/trigger because it is already used by statement which \
                     invoked this stored function/trigger.",
                    want.table
                );
                return Err(SqlError::new(1442, message));
            }
        }
        Ok(())
    }

    /// Rows of the logs are written by the logs alone, and locked by nobody.
    ///
    /// # Errors
    /// 1556.
    pub(super) fn check_log_tables(&self, wanted: &[Wanted]) -> SqlResult<()> {
        let changes = Priv::INSERT | Priv::UPDATE | Priv::DELETE;
        let is_log = |w: &Wanted| {
            (w.privileges | w.any_of).any(changes) && crate::logs::is_table(&w.database, &w.table)
        };
        match !self.is_insider && wanted.iter().any(is_log) {
            true => Err(log_table_locked()),
            false => Ok(()),
        }
    }

    /// Whether what runs now is a part of the statement that called a function or fired a trigger.
    pub(super) fn is_part(&self) -> bool {
        self.program.inside || self.program.stores()
    }

    /// Runs `body` as a statement of the engine.
    pub(super) fn in_statement<R>(
        &mut self,
        body: impl FnOnce(&mut Connection) -> SqlResult<R>,
    ) -> SqlResult<R> {
        if self.is_part() {
            return self.in_part(body);
        }
        error::of_engine(self.engine.check_sound())?;
        let from = self.engine.start_statement();
        let done = self.unless_killed(body);
        if self.has_characteristics() && self.engine.takes_part(done.is_err()) {
            self.uses_characteristics();
        }
        match done {
            Ok(value) => {
                let durability = error::of_engine(self.engine.end_statement())?;
                self.committed(durability);
                Ok(value)
            }
            Err(e) => {
                let whole = match e.code {
                    1213 | 1206 => true,
                    1205 => self.db.globals.is_on("innodb_rollback_on_timeout"),
                    _ => false,
                };
                if e.code == 1213 {
                    self.engine.tell_deadlock();
                }
                let taken = self.engine.take_back(from, whole);
                if whole || taken.is_err() {
                    self.xa_lost();
                }
                taken.map_err(|doomed| doomed_by(&doomed, &e))?;
                Err(e)
            }
        }
    }

    /// Runs `body` as a part of the statement that called a function: what it changes is taken back if it fails, the rest goes
    /// on.
    fn in_part<R>(&mut self, body: impl FnOnce(&mut Connection) -> SqlResult<R>) -> SqlResult<R> {
        error::of_engine(self.engine.check_sound())?;
        let mark = self.engine.statement().mark();
        let done = self.unless_killed(body);
        if let Err(e) = &done
            && !matches!(e.code, 1213 | 1206)
        {
            error::of_engine(self.engine.statement().take_back(mark))?;
        }
        done
    }

    /// Runs `body` in a statement of the engine that has just started, unless KILL came before: the engine forgets what came
    /// before the start.
    pub(super) fn unless_killed<R>(
        &mut self,
        body: impl FnOnce(&mut Connection) -> SqlResult<R>,
    ) -> SqlResult<R> {
        match self.state.interrupt.is_set() {
            true => Err(SqlError::new(1317, "Query execution was interrupted")),
            false => body(self),
        }
    }

    /// Remembers what is not durable yet.
    pub(super) fn committed(&mut self, durability: Durability) {
        if durability.lsn().is_some() {
            self.durability = Some(durability);
        }
    }

    /// The statement is over: the client is told, or the error is counted.
    pub(super) fn end(
        &mut self,
        done: SqlResult<Outcome>,
        status: u16,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<()> {
        let rows_sent = match &done {
            Ok(outcome) if outcome.has_result => outcome.affected_rows,
            _ => 0,
        };
        let ended = match done {
            Ok(outcome) => self.succeed(outcome, status, sink),
            Err(e) => Err(e),
        };
        if let Err(e) = &ended {
            self.fail(e);
        }
        // What is no statement of the engine: definitions, accounts.
        self.engine.end_change();
        if !self.engine.in_transaction() {
            self.transaction_over();
        }
        if self.is_slow(self.took) {
            self.state.status.slow_queries += 1;
            if self.db.logs.slow_on() {
                self.log_slow(rows_sent);
            }
        }
        self.process.idle(self.took.micros);
        if self.statement_start > self.status_due {
            self.tell_status();
        }
        ended
    }

    /// How long the statement has taken so far.
    pub(super) fn took_so_far(&self) -> Took {
        Took {
            micros: self.statement_start.elapsed().as_micros() as u64,
            waiting: self.engine.lock_wait_us().saturating_sub(self.waited_before),
        }
    }

    /// As MySQL has it: who waits for others is not slow.
    fn is_slow(&self, took: Took) -> bool {
        took.micros.saturating_sub(took.waiting) >= self.state.vars.long_query_time_us
    }

    /// Status flags that tell how the statement has found its rows, and whether it is slow.
    pub(super) fn work_flags(&self, took: Took) -> u16 {
        let scanned = if self.state.scanned { flag::NO_INDEX_USED } else { 0 };
        scanned | if self.is_slow(took) { flag::SLOW } else { 0 }
    }

    /// A line of the general log.
    pub(super) fn log(&self, command: &str, argument: &[u8]) {
        // Sessions of this layer itself have no number.
        if self.state.vars.sql_log_off || self.state.connection_id == 0 {
            return;
        }
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let now = now.map_or(0, |d| d.as_micros() as i64);
        self.db.logs.general(&Said {
            id: self.state.connection_id,
            user: (&self.state.user, &self.state.account_user),
            host: &self.state.host,
            command,
            argument,
            shown: &self.state.vars.client_text(argument),
            server: self.db.globals.uint("server_id"),
            now_us: now,
        });
    }

    /// The statement that has just ended, in the slow query log if it belongs there.
    fn log_slow(&self, rows_sent: u64) {
        let Took { micros, waiting } = self.took;
        let few = self.state.examined < self.state.vars.min_examined_row_limit;
        let left_out = self.kind.is_administrative() && !self.db.globals.is_on("log_slow_admin_statements");
        if few || left_out || self.is_insider {
            return;
        }
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let now = now.map_or(0, |d| d.as_micros() as i64);
        let doing = self.process.doing();
        self.db.logs.slow(&SlowStatement {
            id: self.state.connection_id,
            user: (&self.state.user, &self.state.account_user),
            host: &self.state.host,
            database: &self.state.database,
            micros,
            lock_micros: waiting,
            rows_sent,
            rows_examined: self.state.examined,
            began_us: now - i64::try_from(micros).unwrap_or(0),
            text: &doing.text,
            shown: &self.state.vars.client_text(&doing.text),
            server: self.db.globals.uint("server_id"),
        });
    }

    fn succeed(&mut self, outcome: Outcome, status: u16, sink: &mut dyn ResultSink) -> SqlResult<()> {
        if let Some(id) = self.state.new_insert_id.take() {
            self.state.last_insert_id = id;
        }
        self.state.generated |= self.state.generates;
        if let Some(rows) = outcome.found_rows {
            self.state.found_rows = rows;
        }
        self.state.row_count = if outcome.has_result { -1 } else { outcome.affected_rows as i64 };
        if !self.kind.shows_warnings() {
            self.state.error_count = 0;
        }
        let mut durability = self.durability.take();
        if self.waits_for_log
            && let Some(durability) = durability.take()
        {
            error::of_engine(durability.wait())?;
        }
        self.took = self.took_so_far();
        let mut flags = self.status_flags() | self.work_flags(self.took) | status | outcome.status;
        self.tell_changed_state(outcome.has_result);
        let changes = std::mem::take(&mut self.state.changes);
        if !changes.is_empty() {
            flags |= flag::SESSION_CHANGED;
        }
        sink.end(Completion {
            affected_rows: outcome.affected_rows,
            insert_id: outcome.insert_id,
            warnings: u16::try_from(self.state.warnings.new_count()).unwrap_or(u16::MAX),
            status: flags,
            info: outcome.info,
            changes,
            durability,
        })
    }

    /// How often what others set behind the session's back has changed: user variables, temporary tables.
    pub(super) fn state_now(&self) -> (u64, u64) {
        (self.state.user_vars.sets(), self.engine.temporary_generation())
    }

    /// Adds to the changes that there were some, if the client wants to hear that, and can: what cannot be said after rows
    /// is said with the next answer that has none.
    pub(super) fn tell_changed_state(&mut self, after_rows: bool) {
        let now = self.state_now();
        if after_rows && !self.tells_after_rows {
            return;
        }
        let told = std::mem::replace(&mut self.told_state, now);
        let changed = std::mem::take(&mut self.state_changed) || told != now;
        if changed && self.state.vars.get(id::SESSION_TRACK_STATE_CHANGE).uint() != 0 {
            self.state.changes.push(SessionChange::State);
        }
    }

    pub(super) fn fail(&mut self, e: &SqlError) {
        self.took = self.took_so_far();
        self.state.warnings.forget_old();
        self.state.row_count = -1;
        self.state.error_count = 1;
        self.state.new_insert_id = None;
        self.note_error_once(e);
        self.durability = None;
    }
}
