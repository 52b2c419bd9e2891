//! Commands: the first byte of what a client sends after login.

use crate::packet::lenenc::{Malformed, Reader};

/// A command with its arguments, borrowed from the packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command<'a> {
    /// Good-bye.
    Quit,
    /// USE.
    InitDb(&'a [u8]),
    /// Statement text.
    Query(&'a [u8]),
    /// Columns of a table whose names are like the second string.
    FieldList(&'a [u8], &'a [u8]),
    /// FLUSH, by bits.
    Refresh(u8),
    /// SHUTDOWN.
    Shutdown,
    /// A line of numbers for people.
    Statistics,
    /// SHOW PROCESSLIST.
    ProcessInfo,
    /// KILL.
    ProcessKill(u32),
    /// Asks the server to write what it knows to its log.
    Debug,
    /// Are you there?
    Ping,
    /// Becomes another user; the rest is for [`super::login::ChangeUser`].
    ChangeUser(&'a [u8]),
    /// Prepares a statement.
    Prepare(&'a [u8]),
    /// Runs a prepared statement: number, flags, the rest is for [`super::params`].
    Execute(u32, u8, &'a [u8]),
    /// A piece of a parameter: statement, parameter, bytes. Not answered.
    SendLongData(u32, u16, &'a [u8]),
    /// Forgets a prepared statement. Not answered.
    CloseStatement(u32),
    /// Forgets pieces of parameters and the cursor of a prepared statement.
    ResetStatement(u32),
    /// 0: several statements in one text allowed, 1: not.
    SetOption(u16),
    /// So many rows from a cursor.
    Fetch(u32, u32),
    /// As freshly connected.
    ResetConnection,
    /// A command that is not served.
    Unknown(u8),
}

/// Flag of [`Command::Execute`]: rows are fetched later.
pub const CURSOR_READ_ONLY: u8 = 1;

impl<'a> Command<'a> {
    /// Reads a command packet.
    ///
    /// # Errors
    /// It is empty, or its arguments are cut off.
    #[inline]
    pub fn parse(payload: &'a [u8]) -> Result<Command<'a>, Malformed> {
        let mut r = Reader::new(payload);
        Ok(match r.u8()? {
            0x01 => Command::Quit,
            0x02 => Command::InitDb(r.rest()),
            0x03 => Command::Query(r.rest()),
            0x04 => {
                let table = r.string0_or_rest();
                Command::FieldList(table, trim_zero(r.rest()))
            }
            0x07 => Command::Refresh(r.u8()?),
            0x08 => Command::Shutdown,
            0x09 => Command::Statistics,
            0x0A => Command::ProcessInfo,
            0x0C => Command::ProcessKill(r.u32()?),
            0x0D => Command::Debug,
            0x0E => Command::Ping,
            0x11 => Command::ChangeUser(r.rest()),
            0x16 => Command::Prepare(r.rest()),
            0x17 => {
                let id = r.u32()?;
                let flags = r.u8()?;
                // The number of iterations is always 1.
                r.u32()?;
                Command::Execute(id, flags, r.rest())
            }
            0x18 => {
                let id = r.u32()?;
                Command::SendLongData(id, r.u16()?, r.rest())
            }
            0x19 => Command::CloseStatement(r.u32()?),
            0x1A => Command::ResetStatement(r.u32()?),
            0x1B => Command::SetOption(r.u16()?),
            0x1C => {
                let id = r.u32()?;
                Command::Fetch(id, r.u32()?)
            }
            0x1F => Command::ResetConnection,
            other => Command::Unknown(other),
        })
    }
}

fn trim_zero(text: &[u8]) -> &[u8] {
    text.strip_suffix(&[0]).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_of_a_recorded_session() {
        let cases: [(&[u8], Command<'_>); 9] = [
            (b"\x03SELECT 1", Command::Query(b"SELECT 1")),
            (b"\x01", Command::Quit),
            (b"\x0e", Command::Ping),
            (b"\x02test", Command::InitDb(b"test")),
            (b"\x04t1\0", Command::FieldList(b"t1", b"")),
            (b"\x04t1\0%a\0", Command::FieldList(b"t1", b"%a")),
            (b"\x17\x01\0\0\0\x01\x01\0\0\0\0\x01", Command::Execute(1, 1, b"\0\x01")),
            (b"\x18\x02\0\0\0\x01\0abc", Command::SendLongData(2, 1, b"abc")),
            (b"\x12", Command::Unknown(0x12)),
        ];
        for (bytes, expected) in cases {
            assert_eq!(Command::parse(bytes), Ok(expected));
        }
    }

    #[test]
    fn cut_commands_are_malformed() {
        let cut: [&[u8]; 5] =
            [b"", b"\x17\x01\0\0\0\0\x01\0\0", b"\x19\x01\0", b"\x1c\x01\0\0\0\x05", b"\x0c"];
        for bytes in cut {
            assert_eq!(Command::parse(bytes), Err(Malformed), "{bytes:?}");
        }
    }
}
