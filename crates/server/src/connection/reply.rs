//! The sink that turns results into packets.

use super::OUTPUT_FULL;
use super::active::Cursor;
use super::report::Way;
use crate::backend::SessionLimits;
use crate::errors;
use crate::packet::Input;
use crate::protocol::Capabilities;
use crate::protocol::columns::{Definitions, push_columns};
use crate::protocol::reply::{push_end_of_rows, push_eof, push_ok, status};
use crate::protocol::{binary_row, text_row};
use std::sync::Arc;
use vaquita_net::{Received, hand_over_if_busy};
use vaquita_sql::types::memory;
use vaquita_sql::{ColumnMeta, Completion, ResultSink, SqlError, SqlResult, Value};

/// Characters of a text for which a packet has room in any case.
const SHORT: u32 = 0xFFFF;

/// How rows are encoded.
#[derive(Debug)]
pub(super) enum Form {
    Text,
    Binary,
    /// Binary, kept to be fetched later.
    Cursor(Cursor),
}

/// Encodes the results of one command.
pub(super) struct Reply<'r, 'l, 'd> {
    pub(super) line: Way<'r, 'l>,
    pub(super) capabilities: Capabilities,
    pub(super) limits: SessionLimits,
    /// Status flags at the beginning of a result.
    pub(super) status: u16,
    pub(super) form: Form,
    definitions: &'d mut Definitions,
    /// Columns of the result that is being sent.
    columns: Option<Arc<[ColumnMeta]>>,
    /// Some of them may hold long texts.
    may_be_long: bool,
    /// The client is gone: nothing more can be told to it.
    pub(super) gone: Option<SqlError>,
}

impl<'r, 'l, 'd> Reply<'r, 'l, 'd> {
    pub(super) fn new(
        line: Way<'r, 'l>,
        capabilities: Capabilities,
        limits: SessionLimits,
        status: u16,
        form: Form,
        definitions: &'d mut Definitions,
    ) -> Self {
        Reply {
            line,
            capabilities,
            limits,
            status,
            form,
            definitions,
            columns: None,
            may_be_long: false,
            gone: None,
        }
    }

    fn has(&self, capability: Capabilities) -> bool {
        self.capabilities.has(capability)
    }

    fn lost<T>(&mut self, error: SqlError) -> SqlResult<T> {
        self.gone = Some(error.clone());
        Err(error)
    }

    /// The metadata of a result whose rows wait in the cursor.
    fn open_cursor(&mut self, columns: &[ColumnMeta], done: &Completion) {
        push_columns(self.line.get().out, columns);
        let status = done.status | status::CURSOR_EXISTS;
        let opened = Completion { status, warnings: done.warnings, ..Completion::default() };
        push_end_of_rows(self.line.get().out, self.capabilities, &opened);
    }
}

impl ResultSink for Reply<'_, '_, '_> {
    fn announce(&mut self, status: u16) {
        self.status = status;
    }

    fn columns(&mut self, columns: &Arc<[ColumnMeta]>) -> SqlResult<()> {
        self.columns = Some(columns.clone());
        self.may_be_long = columns.iter().any(|c| c.ty.length > SHORT);
        if let Form::Cursor(cursor) = &mut self.form {
            cursor.columns = Some(columns.clone());
            return Ok(());
        }
        self.definitions.push(self.line.get().out, columns);
        if !self.has(Capabilities::DEPRECATE_EOF) {
            push_eof(self.line.get().out, 0, self.status);
        }
        Ok(())
    }

    #[inline]
    fn row(&mut self, values: &[Value<'_>]) -> SqlResult<()> {
        let Some(columns) = &self.columns else { return Ok(()) };
        if self.may_be_long || matches!(self.form, Form::Cursor(_)) {
            let bytes =
                values.iter().map(|value| if let Value::Bytes(text) = value { text.len() + 9 } else { 0 });
            let out = match &mut self.form {
                Form::Cursor(cursor) => &mut cursor.rows,
                _ => &mut self.line.get().out.buf,
            };
            memory::reserve(out, bytes.sum())?;
        }
        match &mut self.form {
            Form::Text => text_row::push_row(self.line.get().out, columns, values),
            Form::Binary => binary_row::push_row(self.line.get().out, columns, values),
            Form::Cursor(cursor) => {
                let at = cursor.rows.len();
                cursor.rows.extend_from_slice(&[0; 4]);
                binary_row::push_payload(&mut cursor.rows, columns, values);
                let len = (cursor.rows.len() - at - 4) as u32;
                cursor.rows[at..at + 4].copy_from_slice(&len.to_le_bytes());
            }
        }
        Ok(())
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.line.replied() >= OUTPUT_FULL
    }

    fn flush(&mut self) -> SqlResult<()> {
        match self.line.get().send_all(self.limits.net_write_timeout_s) {
            Ok(()) => Ok(()),
            Err(error) => self.lost(error),
        }
    }

    fn end(&mut self, mut done: Completion) -> SqlResult<()> {
        let more = done.status & status::MORE_RESULTS != 0;
        if let Some(durability) = done.durability.take() {
            // A later commit is durable only after an earlier one.
            if durability.lsn().is_some() {
                *self.line.get().durable = Some(durability);
            }
        }
        match (self.columns.take(), &self.form) {
            (None, _) => push_ok(self.line.get().out, self.capabilities, &done),
            (Some(columns), Form::Cursor(_)) => self.open_cursor(&columns, &done),
            (Some(_), _) => push_end_of_rows(self.line.get().out, self.capabilities, &done),
        }
        if more {
            self.line.share();
        }
        Ok(())
    }

    fn out_parameters(
        &mut self,
        columns: &Arc<[ColumnMeta]>,
        values: &[Value<'_>],
        mut done: Completion,
    ) -> SqlResult<()> {
        if !self.has(Capabilities::PS_MULTI_RESULTS) {
            return Ok(());
        }
        // A client looks at the first status of a result to know what it is; behind the row MySQL has taken that back.
        let before = std::mem::replace(&mut self.status, done.status);
        if !self.has(Capabilities::DEPRECATE_EOF) {
            done.status &= !(status::MORE_RESULTS | status::PS_OUT_PARAMS);
        }
        // They are no rows to be fetched.
        let form = std::mem::replace(&mut self.form, Form::Binary);
        let sent = self.columns(columns).and_then(|()| self.row(values)).and_then(|()| self.end(done));
        (self.status, self.form) = (before, form);
        sent
    }

    fn local_infile(&mut self, name: &[u8], take: &mut dyn FnMut(&[u8]) -> SqlResult<()>) -> SqlResult<()> {
        if !self.has(Capabilities::LOCAL_FILES) {
            return Err(errors::local_files_not_allowed());
        }
        let mark = self.line.get().out.begin();
        self.line.get().out.buf.push(0xFB);
        self.line.get().out.buf.extend_from_slice(name);
        self.line.get().out.end(mark);
        self.flush()?;
        let mut input = Input::default();
        input.expect_seq(self.line.get().out.seq);
        let taken = match self.receive_file(&mut input, take) {
            Ok(taken) => taken,
            Err(error) => return self.lost(error),
        };
        self.line.get().leftover = input.take_raw();
        taken
    }
}

impl Reply<'_, '_, '_> {
    /// Receives packets up to an empty one. The outer error is the client's end; after the inner one the rest of the file
    /// is still received, so that the error can be told.
    fn receive_file(
        &mut self,
        input: &mut Input,
        take: &mut dyn FnMut(&[u8]) -> SqlResult<()>,
    ) -> SqlResult<SqlResult<()>> {
        let mut raw = Vec::new();
        let mut taken = Ok(());
        // Of one packet: the file itself may be of any size.
        let max = self.limits.max_allowed_packet;
        loop {
            while let Some(packet) = input.next(max).map_err(errors::packet)? {
                self.line.get().out.seq = packet.seq.wrapping_add(1);
                let piece = input.payload(&packet);
                if piece.is_empty() {
                    return Ok(taken);
                }
                if taken.is_ok() {
                    taken = take(piece);
                }
            }
            let received = self.line.get().channel.receive(input, &mut raw, max);
            match received.map_err(|_| errors::reading())? {
                Received::Bytes(_) => {}
                Received::End => return Err(errors::reading()),
                Received::Nothing => {
                    hand_over_if_busy();
                    let timeout_s = self.limits.net_read_timeout_s;
                    let ready = self.line.get().channel.wait_readable(timeout_s);
                    if !ready.map_err(|_| errors::reading())? {
                        return Err(errors::reading_timeout());
                    }
                }
            }
        }
    }
}
