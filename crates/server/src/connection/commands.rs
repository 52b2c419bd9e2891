//! Commands of a logged-in client.

use super::active::{Active, Statement};
use super::fields::{Fields, is_like};
use super::reply::{Form, Reply};
use super::report::{Reports, reporting};
use crate::backend::SessionLimits;
use crate::channel::Channel;
use crate::errors;
use crate::packet::Output;
use crate::protocol::Capabilities;
use crate::protocol::columns::{push_definitions, push_field, push_parameter};
use crate::protocol::command::{CURSOR_READ_ONLY, Command};
use crate::protocol::params;
use crate::protocol::reply::{push_end_of_rows, push_eof, push_error_as, push_ok, push_plain_ok, status};
use crate::shared::Shared;
use std::time::Duration;
use vaquita_net::hand_over_if_busy;
use vaquita_sql::types::memory;
use vaquita_sql::{Completion, Durability, SqlError, SqlResult};

/// FLUSH by the bits of COM_REFRESH.
const REFRESH: [(u8, &str); 5] =
    [(1, "PRIVILEGES"), (2, "LOGS"), (4, "TABLES"), (8, "HOSTS"), (16, "STATUS")];

/// What a reply goes out by.
#[derive(Debug)]
pub(super) struct Line<'l> {
    pub(super) channel: &'l mut Channel,
    pub(super) out: &'l mut Output,
    /// The latest commit that replies in `out` tell of.
    pub(super) durable: &'l mut Option<Durability>,
    /// What came behind a file, to be put back into the input.
    pub(super) leftover: Vec<u8>,
}

impl Line<'_> {
    /// Sends everything, waiting for a slow client, and first for the commits it tells of.
    ///
    /// # Errors
    /// The client is gone or takes nothing for too long; a commit is not durable.
    pub(super) fn send_all(&mut self, timeout_s: u32) -> SqlResult<()> {
        if let Some(durable) = self.durable.take()
            && let Err(e) = durable.wait()
        {
            // Nobody may be told that it has succeeded.
            self.out.buf.clear();
            return Err(SqlError::new(1180, format!("Got error {e} during COMMIT")));
        }
        let mut done = self.channel.send(&mut self.out.buf).map_err(|_| errors::writing())?;
        while !done {
            hand_over_if_busy();
            if !self.channel.wait_writable(timeout_s).map_err(|_| errors::writing())? {
                return Err(errors::writing_timeout());
            }
            done = self.channel.flush().map_err(|_| errors::writing())?;
        }
        Ok(())
    }
}

/// What a command means for the connection.
#[derive(Debug)]
pub(super) enum Outcome {
    /// Answered, or to be left unanswered.
    Done,
    /// The client says good-bye, or is to be left.
    Quit,
    /// A new login begins.
    ChangeUser,
    /// The client is gone.
    Gone(SqlError),
}

impl Active {
    /// Answers a command.
    pub(super) fn command(&mut self, shared: &Shared, payload: &[u8], line: &mut Line<'_>) -> Outcome {
        let Ok(command) = Command::parse(payload) else {
            // Nothing at all is command 0, which is unknown.
            let error =
                if payload.is_empty() { errors::unknown_command() } else { errors::malformed_packet() };
            return self.error(line, &error);
        };
        match command {
            Command::Query(sql) => self.query(sql, line),
            Command::Execute(id, flags, bytes) => self.execute(id, flags, bytes, line),
            Command::Prepare(sql) => self.prepare(sql, line),
            Command::CloseStatement(id) => {
                if let Some(closed) = self.statements.remove(&id) {
                    self.statement_holds(closed.held(), 0);
                }
                self.client.close_statement(id);
                Outcome::Done
            }
            Command::SendLongData(id, param, bytes) => {
                self.long_data(id, param, bytes);
                Outcome::Done
            }
            Command::ResetStatement(id) => self.reset_statement(id, line),
            Command::Fetch(id, rows) => self.fetch(id, rows, line),
            Command::Quit => Outcome::Quit,
            Command::Ping => self.ok(line),
            Command::InitDb(name) => self.init_db(name, line),
            Command::FieldList(table, wild) => self.field_list(table, wild, line),
            Command::Statistics => {
                line.out.packet(self.client.statistics().as_bytes());
                Outcome::Done
            }
            Command::ProcessInfo => self.query(b"SHOW PROCESSLIST", line),
            Command::ProcessKill(id) => self.query(format!("KILL {id}").as_bytes(), line),
            Command::Debug => match self.client.check_debug() {
                Ok(()) => self.end_of_data(line),
                Err(error) => self.error(line, &error),
            },
            Command::Refresh(what) => self.refresh(what, line),
            Command::Shutdown => self.shutdown(shared, line),
            Command::SetOption(option) => self.set_option(option, line),
            Command::ResetConnection => match self.client.reset() {
                Ok(()) => {
                    self.forget();
                    self.ok(line)
                }
                Err(error) => self.error(line, &error),
            },
            Command::ChangeUser(_) => Outcome::ChangeUser,
            Command::Unknown(_) => self.error(line, &errors::unknown_command()),
        }
    }

    fn ok(&mut self, line: &mut Line<'_>) -> Outcome {
        push_plain_ok(line.out, self.client.status_flags());
        Outcome::Done
    }

    fn error(&mut self, line: &mut Line<'_>, error: &SqlError) -> Outcome {
        self.client.note_error(error);
        self.refuse(line, error)
    }

    /// The answer to what has failed.
    fn refuse(&self, line: &mut Line<'_>, error: &SqlError) -> Outcome {
        push_error_as(line.out, error, |message| self.client.message(message));
        Outcome::Done
    }

    /// An EOF packet, or an OK packet in its clothes.
    fn end_of_data(&mut self, line: &mut Line<'_>) -> Outcome {
        let done = Completion { status: self.client.status_flags(), ..Completion::default() };
        push_end_of_rows(line.out, self.capabilities, &done);
        Outcome::Done
    }

    fn query(&mut self, sql: &[u8], line: &mut Line<'_>) -> Outcome {
        let limits = self.client.limits();
        let status = self.client.status_flags();
        let reports = self.reports(&limits);
        let (done, gone) = reporting(line, reports, |line| {
            let mut reply =
                Reply::new(line, self.capabilities, limits, status, Form::Text, &mut self.definitions);
            let done = self.client.query(sql, &mut reply);
            (done, reply.gone.take())
        });
        self.finish(line, done, gone)
    }

    /// What the client wants to be told while a statement runs.
    fn reports(&self, limits: &SessionLimits) -> Option<Reports> {
        let wanted = self.capabilities.has(Capabilities::PROGRESS) && limits.progress_report_time_s > 0;
        let watch = wanted.then(|| self.client.watch())??;
        Some(Reports { watch, interval: Duration::from_secs(limits.progress_report_time_s.into()) })
    }

    fn prepare(&mut self, sql: &[u8], line: &mut Line<'_>) -> Outcome {
        let prepared = match self.client.prepare(sql) {
            Ok(prepared) => prepared,
            Err(error) => {
                return self.refuse(line, &error);
            }
        };
        let out = &mut *line.out;
        let mark = out.begin();
        out.buf.push(0);
        out.buf.extend_from_slice(&prepared.id.to_le_bytes());
        out.buf.extend_from_slice(&(prepared.columns.len() as u16).to_le_bytes());
        out.buf.extend_from_slice(&prepared.params.to_le_bytes());
        out.buf.push(0);
        out.buf.extend_from_slice(&prepared.warnings.to_le_bytes());
        out.end(mark);
        let status = self.client.status_flags();
        let with_eof = !self.capabilities.has(Capabilities::DEPRECATE_EOF);
        if prepared.params > 0 {
            (0..prepared.params).for_each(|_| push_parameter(out));
            if with_eof {
                push_eof(out, 0, status);
            }
        }
        if !prepared.columns.is_empty() {
            push_definitions(out, &prepared.columns);
            if with_eof {
                push_eof(out, 0, status);
            }
        }
        let statement = Statement { params: prepared.params, ..Statement::default() };
        self.statements.insert(prepared.id, statement);
        Outcome::Done
    }

    fn execute(&mut self, id: u32, flags: u8, bytes: &[u8], line: &mut Line<'_>) -> Outcome {
        const FUNCTION: &str = "mysqld_stmt_execute";
        let limits = self.client.limits();
        let reports = self.reports(&limits);
        let Some(statement) = self.statements.get_mut(&id) else {
            return self.error(line, &errors::unknown_statement(id, FUNCTION));
        };
        let before = statement.held();
        statement.cursor = None;
        let pieces = std::mem::take(&mut statement.pieces);
        if let Some(error) = statement.pieces_refused.take() {
            drop(pieces);
            self.statement_holds(before, 0);
            return self.error(line, &error);
        }
        let piece = |i: usize| {
            let found = pieces.iter().find(|(param, _)| usize::from(*param) == i);
            found.map(|(_, bytes)| bytes.as_slice())
        };
        let Ok(params) = params::parse(bytes, statement.params, &mut statement.types, piece) else {
            self.statement_holds(before, 0);
            return self.error(line, &errors::wrong_arguments(FUNCTION));
        };
        let form =
            if flags & CURSOR_READ_ONLY != 0 { Form::Cursor(Default::default()) } else { Form::Binary };
        let status = self.client.status_flags();
        let (done, gone, form) = reporting(line, reports, |line| {
            let mut reply = Reply::new(line, self.capabilities, limits, status, form, &mut self.definitions);
            let done = self.client.execute(id, &params, &mut reply);
            (done, reply.gone.take(), std::mem::replace(&mut reply.form, Form::Binary))
        });
        if let (Form::Cursor(cursor), Ok(())) = (form, &done) {
            statement.cursor = cursor.columns.is_some().then_some(cursor);
        }
        let now = statement.held();
        drop(params);
        drop(pieces);
        self.statement_holds(before, now);
        self.finish(line, done, gone)
    }

    fn long_data(&mut self, id: u32, param: u16, bytes: &[u8]) {
        let limit = self.client.limits().max_allowed_packet;
        // Not answered, whatever is wrong: the execution tells.
        let Some(statement) = self.statements.get_mut(&id) else { return };
        if param >= statement.params {
            return;
        }
        if statement.pieces_refused.is_some() {
            return;
        }
        let before = statement.held();
        let pieces = &mut statement.pieces;
        let at = pieces.iter().position(|(p, _)| *p == param).unwrap_or_else(|| {
            pieces.push((param, Vec::new()));
            pieces.len() - 1
        });
        let piece = &mut pieces[at].1;
        let taken = match piece.len() + bytes.len() > limit {
            true => Err(errors::parameter_too_long()),
            false => {
                // Growing may double it.
                let more = (bytes.len() + piece.len()).saturating_sub(piece.capacity()).max(piece.len());
                let may_hold = match piece.capacity() - piece.len() < bytes.len() {
                    true => self.client.may_hold(more),
                    false => Ok(()),
                };
                may_hold.and_then(|()| memory::append(piece, bytes))
            }
        };
        if let Err(error) = taken {
            statement.pieces = Vec::new();
            statement.pieces_refused = Some(error);
        }
        let now = statement.held();
        self.statement_holds(before, now);
    }

    fn reset_statement(&mut self, id: u32, line: &mut Line<'_>) -> Outcome {
        let Some(statement) = self.statements.get_mut(&id) else {
            return self.error(line, &errors::unknown_statement(id, "mysqld_stmt_reset"));
        };
        let before = statement.held();
        statement.pieces = Vec::new();
        statement.pieces_refused = None;
        statement.cursor = None;
        self.statement_holds(before, 0);
        self.ok(line)
    }

    fn fetch(&mut self, id: u32, rows: u32, line: &mut Line<'_>) -> Outcome {
        let Some(statement) = self.statements.get_mut(&id) else {
            return self.error(line, &errors::unknown_statement(id, "mysqld_stmt_fetch"));
        };
        let Some(cursor) = &mut statement.cursor else {
            return self.error(line, &errors::no_cursor(id));
        };
        let before = cursor.rows.capacity();
        let limits = self.client.limits();
        for _ in 0..rows {
            let Some(row) = cursor.next() else { break };
            line.out.packet(row);
            if line.out.buf.len() >= super::OUTPUT_FULL
                && let Err(error) = line.send_all(limits.net_write_timeout_s)
            {
                return Outcome::Gone(error);
            }
        }
        let mut status = self.client.status_flags();
        if cursor.is_empty() {
            status |= status::LAST_ROW_SENT;
            statement.cursor = None;
            self.statement_holds(before, 0);
        } else {
            status |= status::CURSOR_EXISTS;
        }
        let done = Completion { status, ..Completion::default() };
        push_end_of_rows(line.out, self.capabilities, &done);
        Outcome::Done
    }

    fn init_db(&mut self, name: &[u8], line: &mut Line<'_>) -> Outcome {
        let name = self.client.name_of(name);
        match self.client.use_database(&name) {
            Ok(()) => {
                self.database = name;
                let status = self.client.status_flags();
                let done =
                    Completion { status, changes: self.client.take_changes(), ..Completion::default() };
                push_ok(line.out, self.capabilities, &done);
                Outcome::Done
            }
            Err(error) => self.refuse(line, &error),
        }
    }

    fn field_list(&mut self, table: &[u8], wild: &[u8], line: &mut Line<'_>) -> Outcome {
        let mut sql = b"SELECT * FROM `".to_vec();
        for &byte in table {
            sql.extend_from_slice(if byte == b'`' { b"``" } else { std::slice::from_ref(&byte) });
        }
        sql.extend_from_slice(b"` LIMIT 0");
        let mut fields = Fields::default();
        if let Err(error) = self.client.query(&sql, &mut fields) {
            return self.refuse(line, &error);
        }
        for column in fields.columns.iter().flat_map(|columns| columns.iter()) {
            if wild.is_empty() || is_like(&column.name, wild) {
                push_field(line.out, column);
            }
        }
        self.end_of_data(line)
    }

    fn refresh(&mut self, what: u8, line: &mut Line<'_>) -> Outcome {
        for (_, name) in REFRESH.iter().filter(|(bit, _)| what & bit != 0) {
            let sql = format!("FLUSH {name}");
            if let Err(error) = self.client.query(sql.as_bytes(), &mut Fields::default()) {
                return self.refuse(line, &error);
            }
        }
        self.ok(line)
    }

    /// Whether this user may is for the statement to say.
    fn shutdown(&mut self, shared: &Shared, line: &mut Line<'_>) -> Outcome {
        if let Err(error) = self.client.query(b"SHUTDOWN", &mut Fields::default()) {
            return self.refuse(line, &error);
        }
        self.end_of_data(line);
        hand_over_if_busy();
        shared.request_shutdown();
        Outcome::Done
    }

    fn set_option(&mut self, option: u16, line: &mut Line<'_>) -> Outcome {
        match option {
            0 | 1 => {
                self.client.set_multi_statements(option == 0);
                self.end_of_data(line)
            }
            _ => self.error(line, &errors::unknown_command()),
        }
    }

    /// The end of a statement's reply.
    fn finish(&self, line: &mut Line<'_>, done: SqlResult<()>, gone: Option<SqlError>) -> Outcome {
        match (done, gone) {
            (_, Some(error)) => Outcome::Gone(error),
            (Ok(()), None) => Outcome::Done,
            (Err(error), None) => self.refuse(line, &error),
        }
    }
}
