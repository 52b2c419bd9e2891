//! A small client of MySQL's protocol over a Unix socket: text queries, nothing else.
//!
//! The stock client stops at the first error and prints numbers as text; here a session lives on after an error and
//! the error's number is what is compared. One packet is assumed to hold a whole answer part (no 16 MiB packets).

use std::fmt;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

const LONG_PASSWORD: u32 = 0x1;
const CONNECT_WITH_DB: u32 = 0x8;
const PROTOCOL_41: u32 = 0x200;
const TRANSACTIONS: u32 = 0x2000;
const SECURE_CONNECTION: u32 = 0x8000;
const UTF8: u8 = 33;
const COM_QUERY: u8 = 3;

/// An error of a statement, or of the connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WireError {
    /// The server's error.
    Server {
        /// MySQL's number, for instance 1213.
        code: u16,
        /// Its text.
        message: String,
    },
    /// The connection is gone, or said something this client does not know.
    Broken(String),
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WireError::Server { code, message } => write!(f, "error {code}: {message}"),
            WireError::Broken(text) => write!(f, "connection: {text}"),
        }
    }
}

impl std::error::Error for WireError {}

impl From<io::Error> for WireError {
    fn from(e: io::Error) -> Self {
        WireError::Broken(e.to_string())
    }
}

/// The answer to a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// No rows: the number of rows changed.
    Affected(u64),
    /// Rows, as text; `None` is NULL.
    Rows(Vec<Vec<Option<String>>>),
}

impl Answer {
    /// The rows; none if the statement had none to give.
    pub fn into_rows(self) -> Vec<Vec<Option<String>>> {
        match self {
            Answer::Affected(_) => Vec::new(),
            Answer::Rows(rows) => rows,
        }
    }
}

/// An open connection.
#[derive(Debug)]
pub struct Client {
    stream: UnixStream,
    thread_id: u32,
}

impl Client {
    /// Connects as root without a password and chooses `database`.
    ///
    /// # Errors
    /// Errors of the socket, a server that refuses.
    pub fn connect(socket: &Path, database: &str) -> Result<Client, WireError> {
        Client::login(socket, "root", database)
    }

    /// Connects as a user without a password.
    ///
    /// # Errors
    /// As [`Client::connect`].
    pub fn connect_as(socket: &Path, user: &str) -> Result<Client, WireError> {
        Client::login(socket, user, "")
    }

    fn login(socket: &Path, user: &str, database: &str) -> Result<Client, WireError> {
        let mut client = Client { stream: UnixStream::connect(socket)?, thread_id: 0 };
        let (greeting, number) = client.packet()?;
        // 0xff: refused before the greeting, for instance too many connections.
        if greeting.first() == Some(&0xff) {
            return Err(server_error(&greeting));
        }
        let mut reader = Reader(greeting.get(1..).unwrap_or_default());
        reader.until_nul()?;
        client.thread_id = reader.int(4)? as u32;
        let flags = LONG_PASSWORD | CONNECT_WITH_DB | PROTOCOL_41 | TRANSACTIONS | SECURE_CONNECTION;
        let mut answer = Vec::new();
        answer.extend_from_slice(&flags.to_le_bytes());
        answer.extend_from_slice(&(1u32 << 24).to_le_bytes());
        answer.push(UTF8);
        answer.extend_from_slice(&[0; 23]);
        answer.extend_from_slice(user.as_bytes());
        answer.extend_from_slice(b"\0\0");
        answer.extend_from_slice(database.as_bytes());
        answer.push(0);
        client.send(&answer, number + 1)?;
        let (reply, _) = client.packet()?;
        match reply.first() {
            Some(0) => Ok(client),
            Some(0xff) => Err(server_error(&reply)),
            _ => Err(WireError::Broken("an unknown answer to the login".into())),
        }
    }

    /// The connection's number, as `information_schema.innodb_trx` has it in `trx_mysql_thread_id`.
    pub fn thread_id(&self) -> u32 {
        self.thread_id
    }

    /// Runs one statement.
    ///
    /// # Errors
    /// The server's error, after which the connection goes on; a broken connection.
    pub fn query(&mut self, sql: &str) -> Result<Answer, WireError> {
        let mut command = vec![COM_QUERY];
        command.extend_from_slice(sql.as_bytes());
        self.send(&command, 0)?;
        let (first, _) = self.packet()?;
        match first.first() {
            Some(0) => Ok(Answer::Affected(Reader(&first[1..]).length()?.unwrap_or(0))),
            Some(0xff) => Err(server_error(&first)),
            _ => {
                let columns = Reader(&first).length()?.unwrap_or(0) as usize;
                for _ in 0..columns {
                    self.packet()?;
                }
                self.packet()?;
                self.rows(columns)
            }
        }
    }

    fn rows(&mut self, columns: usize) -> Result<Answer, WireError> {
        let mut rows = Vec::new();
        loop {
            let (packet, _) = self.packet()?;
            match packet.first() {
                Some(0xfe) if packet.len() < 9 => return Ok(Answer::Rows(rows)),
                // A statement may fail while it sends rows.
                Some(0xff) => return Err(server_error(&packet)),
                _ => {}
            }
            let mut reader = Reader(&packet);
            let mut row = Vec::with_capacity(columns);
            for _ in 0..columns {
                let length = reader.length()?;
                row.push(match length {
                    None => None,
                    Some(length) => {
                        let bytes = reader.bytes(length as usize)?;
                        Some(String::from_utf8_lossy(bytes).into_owned())
                    }
                });
            }
            rows.push(row);
        }
    }

    fn send(&mut self, payload: &[u8], number: u8) -> Result<(), WireError> {
        let mut packet = Vec::with_capacity(payload.len() + 4);
        packet.extend_from_slice(&(payload.len() as u32).to_le_bytes()[..3]);
        packet.push(number);
        packet.extend_from_slice(payload);
        Ok(self.stream.write_all(&packet)?)
    }

    fn packet(&mut self) -> Result<(Vec<u8>, u8), WireError> {
        let mut head = [0; 4];
        self.stream.read_exact(&mut head)?;
        let length = u32::from_le_bytes([head[0], head[1], head[2], 0]);
        let mut payload = vec![0; length as usize];
        self.stream.read_exact(&mut payload)?;
        Ok((payload, head[3]))
    }
}

fn server_error(packet: &[u8]) -> WireError {
    let code =
        u16::from(packet.get(1).copied().unwrap_or(0)) | u16::from(packet.get(2).copied().unwrap_or(0)) << 8;
    let text = packet.get(3..).unwrap_or_default();
    // '#' and five bytes of SQLSTATE, once logged in.
    let text = if text.first() == Some(&b'#') { text.get(6..).unwrap_or_default() } else { text };
    WireError::Server { code, message: String::from_utf8_lossy(text).into_owned() }
}

/// Reads the protocol's integers and strings.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn bytes(&mut self, count: usize) -> Result<&'a [u8], WireError> {
        if count > self.0.len() {
            return Err(WireError::Broken("a packet ends too early".into()));
        }
        let (now, later) = self.0.split_at(count);
        self.0 = later;
        Ok(now)
    }

    fn int(&mut self, bytes: usize) -> Result<u64, WireError> {
        Ok(self.bytes(bytes)?.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
    }

    /// A length-encoded integer; `None` is the NULL of a row.
    fn length(&mut self) -> Result<Option<u64>, WireError> {
        Ok(Some(match self.int(1)? {
            0xfb => return Ok(None),
            0xfc => self.int(2)?,
            0xfd => self.int(3)?,
            0xfe => self.int(8)?,
            small => small,
        }))
    }

    fn until_nul(&mut self) -> Result<&'a [u8], WireError> {
        let end = self.0.iter().position(|byte| *byte == 0);
        let end = end.ok_or_else(|| WireError::Broken("a string without an end".into()))?;
        let text = self.bytes(end)?;
        self.bytes(1)?;
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_every_length() {
        let bytes = [5, 0xfb, 0xfc, 1, 2, 0xfd, 1, 2, 3, 0xfe, 1, 0, 0, 0, 0, 0, 0, 1, 9];
        let mut reader = Reader(&bytes);
        assert_eq!(reader.length(), Ok(Some(5)));
        assert_eq!(reader.length(), Ok(None));
        assert_eq!(reader.length(), Ok(Some(0x201)));
        assert_eq!(reader.length(), Ok(Some(0x30201)));
        assert_eq!(reader.length(), Ok(Some(1 << 56 | 1)));
        assert_eq!(reader.length(), Ok(Some(9)));
        assert!(reader.length().is_err());
    }

    #[test]
    fn errors_lose_their_sqlstate() {
        let error = server_error(b"\xff\xbd\x04#40001Deadlock found");
        assert_eq!(error, WireError::Server { code: 1213, message: "Deadlock found".into() });
    }
}
