//! OK, EOF and error packets.

use super::Capabilities;
use crate::packet::Output;
use crate::packet::lenenc::{push_int, push_string};
use std::borrow::Cow;
use vaquita_sql::{Completion, SessionChange, SqlError};

/// Status flags of replies.
pub mod status {
    /// A transaction is open.
    pub const IN_TRANS: u16 = 1;
    /// Autocommit is on.
    pub const AUTOCOMMIT: u16 = 2;
    /// Another result follows.
    pub const MORE_RESULTS: u16 = 8;
    /// Rows are fetched from a cursor.
    pub const CURSOR_EXISTS: u16 = 64;
    /// The cursor has no more rows.
    pub const LAST_ROW_SENT: u16 = 128;
    /// The result is the values of OUT parameters.
    pub const PS_OUT_PARAMS: u16 = 4096;
    /// Changes of the session follow the text.
    pub const SESSION_CHANGED: u16 = 0x4000;
}

/// Longest message; MySQL's limit.
const MESSAGE_MAX: usize = 512;

/// An OK packet with nothing to tell but the status.
pub fn push_plain_ok(out: &mut Output, status: u16) {
    let mark = out.begin();
    out.buf.extend_from_slice(&[0, 0, 0]);
    out.buf.extend_from_slice(&status.to_le_bytes());
    out.buf.extend_from_slice(&[0, 0]);
    out.end(mark);
}

/// The OK packet of a statement without a result set.
pub fn push_ok(out: &mut Output, capabilities: Capabilities, done: &Completion) {
    push_ok_as(out, 0x00, capabilities, done);
}

/// The end of a result set's rows: an OK packet in EOF's clothes, or an EOF packet.
pub fn push_end_of_rows(out: &mut Output, capabilities: Capabilities, done: &Completion) {
    if capabilities.has(Capabilities::DEPRECATE_EOF) {
        // The number of rows sent is not what affected rows of a result set are.
        let shown = Completion {
            affected_rows: 0,
            insert_id: 0,
            warnings: done.warnings,
            status: done.status,
            ..Completion::default()
        };
        return push_ok_changes(out, 0xFE, capabilities, &shown, &done.changes);
    }
    push_eof(out, done.warnings, done.status);
}

/// An EOF packet.
pub fn push_eof(out: &mut Output, warnings: u16, status: u16) {
    let mark = out.begin();
    out.buf.push(0xFE);
    out.buf.extend_from_slice(&warnings.to_le_bytes());
    out.buf.extend_from_slice(&status.to_le_bytes());
    out.end(mark);
}

fn push_ok_as(out: &mut Output, header: u8, capabilities: Capabilities, done: &Completion) {
    push_ok_changes(out, header, capabilities, done, &done.changes);
}

fn push_ok_changes(
    out: &mut Output,
    header: u8,
    capabilities: Capabilities,
    done: &Completion,
    changes: &[SessionChange],
) {
    let tracked = capabilities.has(Capabilities::SESSION_TRACK);
    let changed = tracked && !changes.is_empty();
    let status = if changed { done.status | status::SESSION_CHANGED } else { done.status };
    let mark = out.begin();
    let b = &mut out.buf;
    b.push(header);
    push_int(b, done.affected_rows);
    push_int(b, done.insert_id);
    b.extend_from_slice(&status.to_le_bytes());
    b.extend_from_slice(&done.warnings.to_le_bytes());
    // The manual lets the text run to the packet's end without tracking; servers send its length all the same, and
    // drivers rely on it.
    if changed || !done.info.is_empty() {
        push_string(b, done.info.as_bytes());
        if changed {
            push_changes(b, changes);
        }
    }
    out.end(mark);
}

fn push_changes(out: &mut Vec<u8>, changes: &[SessionChange]) {
    let mut all = Vec::new();
    for change in changes {
        let mut data = Vec::new();
        let kind = match change {
            SessionChange::Variable { name, value } => {
                push_string(&mut data, name.as_bytes());
                push_string(&mut data, value.as_bytes());
                0
            }
            SessionChange::Schema(name) => {
                push_string(&mut data, name.as_bytes());
                1
            }
            SessionChange::State => {
                // Not as long as a string again: MariaDB 10.11 sends the one character, too.
                data.push(b'1');
                2
            }
            SessionChange::TransactionCharacteristics(text) => {
                push_string(&mut data, text.as_bytes());
                4
            }
            SessionChange::TransactionState(text) => {
                push_string(&mut data, text.as_bytes());
                5
            }
        };
        all.push(kind);
        push_string(&mut all, &data);
    }
    push_string(out, &all);
}

/// An error packet.
pub fn push_error(out: &mut Output, error: &SqlError) {
    push_error_as(out, error, |message| message.as_bytes().into());
}

/// An error packet with the message as the client reads it.
pub fn push_error_as<'e>(out: &mut Output, error: &'e SqlError, read: impl FnOnce(&'e str) -> Cow<'e, [u8]>) {
    let mark = out.begin();
    out.buf.push(0xFF);
    out.buf.extend_from_slice(&error.code.to_le_bytes());
    out.buf.push(b'#');
    out.buf.extend_from_slice(error.sqlstate.as_bytes());
    out.buf.extend_from_slice(&read(cut(&error.message)));
    out.end(mark);
}

/// How far a statement is, for clients of MariaDB that ask for it: an error packet of a number that no error has. `thousandths` of a
/// percent of the stage's work are done.
pub fn push_progress(out: &mut Output, stage: u8, stages: u8, thousandths: u32, what: &str) {
    let mark = out.begin();
    // One text follows.
    out.buf.extend_from_slice(&[0xFF, 0xFF, 0xFF, 1, stage, stages]);
    out.buf.extend_from_slice(&thousandths.to_le_bytes()[..3]);
    push_string(&mut out.buf, what.as_bytes());
    out.end(mark);
}

/// An error packet for a client that has not been greeted: it knows no SQLSTATEs yet.
pub fn push_early_error(out: &mut Output, error: &SqlError) {
    let mark = out.begin();
    out.buf.push(0xFF);
    out.buf.extend_from_slice(&error.code.to_le_bytes());
    out.buf.extend_from_slice(cut(&error.message).as_bytes());
    out.end(mark);
}

fn cut(message: &str) -> &str {
    let mut end = message.len().min(MESSAGE_MAX);
    while !message.is_char_boundary(end) {
        end -= 1;
    }
    &message[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: Capabilities = Capabilities(0);

    #[test]
    fn packets_as_mysql_5_6_sends_them() {
        let mut out = Output { seq: 1, ..Output::default() };
        push_plain_ok(&mut out, status::AUTOCOMMIT);
        assert_eq!(out.buf, b"\x07\0\0\x01\0\0\0\x02\0\0\0");
        let mut out = Output { seq: 5, ..Output::default() };
        push_eof(&mut out, 0, 2);
        assert_eq!(out.buf, b"\x05\0\0\x05\xfe\0\0\x02\0");
        let mut out = Output { seq: 1, ..Output::default() };
        let error =
            SqlError { code: 1146, sqlstate: "42S02".into(), message: "Table 'test.x' doesn't exist".into() };
        push_error(&mut out, &error);
        assert_eq!(out.buf, b"\x25\0\0\x01\xff\x7a\x04#42S02Table 'test.x' doesn't exist");
        let mut out = Output { seq: 1, ..Output::default() };
        let done = Completion {
            affected_rows: 3,
            insert_id: 0x1234,
            warnings: 1,
            status: 2,
            info: "Records: 3  Duplicates: 0  Warnings: 1".into(),
            ..Completion::default()
        };
        push_ok(&mut out, OLD, &done);
        assert_eq!(
            &out.buf[4..],
            b"\0\x03\xfc\x34\x12\x02\0\x01\0\x26Records: 3  Duplicates: 0  Warnings: 1"
        );
        let mut out = Output::default();
        push_end_of_rows(&mut out, OLD, &done);
        assert_eq!(&out.buf[4..], b"\xfe\x01\0\x02\0");
        let mut out = Output::default();
        push_end_of_rows(&mut out, Capabilities::DEPRECATE_EOF, &done);
        assert_eq!(&out.buf[4..], b"\xfe\0\0\x02\0\x01\0");
    }

    /// As MariaDB 10.11 sends it while it copies a table.
    #[test]
    fn progress_as_mariadb_sends_it() {
        let mut out = Output { seq: 1, ..Output::default() };
        push_progress(&mut out, 1, 2, 833, "copy to tmp table");
        assert_eq!(out.buf, b"\x1b\0\0\x01\xff\xff\xff\x01\x01\x02\x41\x03\0\x11copy to tmp table");
    }

    #[test]
    fn session_changes_follow_the_text() {
        let done = Completion {
            status: 2,
            changes: vec![
                SessionChange::State,
                SessionChange::Schema("test".into()),
                SessionChange::Variable { name: "autocommit".into(), value: "OFF".into() },
            ],
            ..Completion::default()
        };
        let mut out = Output::default();
        push_ok(&mut out, Capabilities::SESSION_TRACK, &done);
        assert_eq!(
            &out.buf[4..],
            b"\0\0\0\x02\x40\0\0\0\x1b\x02\x011\x01\x05\x04test\0\x0f\x0aautocommit\x03OFF"
        );
        let mut out = Output::default();
        push_ok(&mut out, OLD, &done);
        assert_eq!(&out.buf[4..], b"\0\0\0\x02\0\0\0");
    }

    #[test]
    fn long_messages_are_cut_between_characters() {
        let error = SqlError::new(1064, "é".repeat(400));
        let mut out = Output::default();
        push_error(&mut out, &error);
        assert_eq!(out.buf.len(), 4 + 9 + 512);
    }
}
