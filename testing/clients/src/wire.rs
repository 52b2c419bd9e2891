//! A client that says exactly what it is told to, for tests that break rules and for load: MySQL's protocol over TCP,
//! in clear, as an account without password.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

/// LONG_PASSWORD, FOUND_ROWS off, LONG_FLAG, CONNECT_WITH_DB off, LOCAL_FILES, PROTOCOL_41, TRANSACTIONS,
/// SECURE_CONNECTION, MULTI_STATEMENTS, MULTI_RESULTS, PLUGIN_AUTH.
const CAPABILITIES: u32 = 1 | 1 << 2 | 1 << 7 | 1 << 9 | 1 << 13 | 1 << 15 | 1 << 16 | 1 << 17 | 1 << 19;
/// Largest piece of a packet.
const PIECE_MAX: usize = 0xFF_FFFF;

/// An answer of the server.
#[derive(Clone, PartialEq, Eq)]
pub enum Answer {
    /// OK, with the number of changed rows.
    Ok(u64),
    /// An error: its number and text.
    Error(u16, String),
    /// Rows in text, or whole packets of the binary protocol in one column.
    Rows(Vec<Vec<Option<Vec<u8>>>>),
    /// LOAD DATA LOCAL asks for this file.
    File(String),
}

/// Values are shown as text: as numbers of bytes `4` would read like 52.
impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Answer::Ok(rows) => f.debug_tuple("Ok").field(rows).finish(),
            Answer::Error(code, text) => f.debug_tuple("Error").field(code).field(text).finish(),
            Answer::File(name) => f.debug_tuple("File").field(name).finish(),
            Answer::Rows(rows) => {
                let cell = |cell: &Option<Vec<u8>>| {
                    cell.as_ref().map_or_else(|| "NULL".into(), |bytes| bytes.escape_ascii().to_string())
                };
                let row = |row: &Vec<Option<Vec<u8>>>| row.iter().map(cell).collect::<Vec<_>>().join("|");
                f.debug_tuple("Rows").field(&rows.iter().map(row).collect::<Vec<_>>()).finish()
            }
        }
    }
}

impl Answer {
    /// The number of an error, else 0.
    pub fn code(&self) -> u16 {
        match self {
            Answer::Error(code, _) => *code,
            _ => 0,
        }
    }

    /// The text of the first value.
    pub fn value(&self) -> Option<String> {
        let Answer::Rows(rows) = self else { return None };
        let value = rows.first()?.first()?.as_ref()?;
        Some(String::from_utf8_lossy(value).into_owned())
    }
}

/// A connection.
#[derive(Debug)]
pub struct Wire {
    /// The socket, for whoever wants to misuse it.
    pub stream: TcpStream,
    seq: u8,
    input: Vec<u8>,
    at: usize,
    out: Vec<u8>,
}

fn bad(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}

impl Wire {
    /// Connects and says nothing. Whoever waits longer than a minute for an answer gets an error.
    ///
    /// # Errors
    /// Nobody listens.
    pub fn dial(host: &str, port: u16) -> io::Result<Wire> {
        let stream = TcpStream::connect((host, port))?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        stream.set_write_timeout(Some(Duration::from_secs(60)))?;
        stream.set_nodelay(true)?;
        Ok(Wire { stream, seq: 0, input: Vec::new(), at: 0, out: Vec::new() })
    }

    /// Connects and logs in, without a password.
    ///
    /// # Errors
    /// Of the socket; what the server refuses as [`io::ErrorKind::PermissionDenied`].
    pub fn connect(port: u16, user: &str) -> io::Result<Wire> {
        let mut wire = Wire::dial("127.0.0.1", port)?;
        match wire.log_in(user, b"")? {
            Answer::Ok(_) => Ok(wire),
            other => Err(io::Error::new(io::ErrorKind::PermissionDenied, format!("{other:?}"))),
        }
    }

    /// Reads the greeting, or the refusal in its place.
    ///
    /// # Errors
    /// Of the socket.
    pub fn greeting(&mut self) -> io::Result<Option<Answer>> {
        let packet = self.packet()?;
        match packet.first() {
            Some(10) => Ok(None),
            Some(0xFF) => Ok(Some(error(&packet))),
            _ => Err(bad("no greeting")),
        }
    }

    /// Reads the greeting and logs in with this proof for a password (empty: none).
    ///
    /// # Errors
    /// Of the socket.
    pub fn log_in(&mut self, user: &str, proof: &[u8]) -> io::Result<Answer> {
        if let Some(refused) = self.greeting()? {
            return Ok(refused);
        }
        let login = Wire::login(user, proof);
        self.send(&login)?;
        loop {
            let packet = self.packet()?;
            match packet.first() {
                // Another method: nothing to say to that either, or something wrong.
                Some(0xFE) => self.send(proof)?,
                Some(1) if proof.is_empty() => {}
                Some(1) => self.send(b"wrong\0")?,
                _ => return self.answer_of(packet),
            }
        }
    }

    /// The packet of a login.
    pub fn login(user: &str, proof: &[u8]) -> Vec<u8> {
        let mut b = CAPABILITIES.to_le_bytes().to_vec();
        b.extend_from_slice(&(1_u32 << 30).to_le_bytes());
        b.push(45);
        b.extend_from_slice(&[0; 23]);
        b.extend_from_slice(user.as_bytes());
        b.extend_from_slice(&[0, proof.len() as u8]);
        b.extend_from_slice(proof);
        b.extend_from_slice(b"mysql_native_password\0");
        b
    }

    /// The next packet's payload, pieces put together.
    ///
    /// # Errors
    /// Of the socket; its end is [`io::ErrorKind::UnexpectedEof`].
    pub fn packet(&mut self) -> io::Result<Vec<u8>> {
        let mut payload = Vec::new();
        loop {
            self.fill(4)?;
            let head = &self.input[self.at..self.at + 4];
            let len = usize::from(head[0]) | usize::from(head[1]) << 8 | usize::from(head[2]) << 16;
            self.seq = head[3].wrapping_add(1);
            self.fill(4 + len)?;
            payload.extend_from_slice(&self.input[self.at + 4..self.at + 4 + len]);
            self.at += 4 + len;
            if len < PIECE_MAX {
                return Ok(payload);
            }
        }
    }

    fn fill(&mut self, want: usize) -> io::Result<()> {
        if self.at == self.input.len() {
            self.input.clear();
            self.at = 0;
        }
        while self.input.len() - self.at < want {
            let mut piece = [0; 16 << 10];
            match self.stream.read(&mut piece)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                n => self.input.extend_from_slice(&piece[..n]),
            }
        }
        Ok(())
    }

    /// Sends a payload with the present sequence number.
    ///
    /// # Errors
    /// Of the socket.
    pub fn send(&mut self, payload: &[u8]) -> io::Result<()> {
        self.out.clear();
        let mut rest = payload;
        loop {
            let (piece, more) = rest.split_at(rest.len().min(PIECE_MAX));
            self.out.extend_from_slice(&(piece.len() as u32).to_le_bytes()[..3]);
            self.out.push(self.seq);
            self.out.extend_from_slice(piece);
            self.seq = self.seq.wrapping_add(1);
            rest = more;
            if piece.len() < PIECE_MAX {
                break;
            }
        }
        self.stream.write_all(&self.out)
    }

    /// Sends a command: its first byte is its number.
    ///
    /// # Errors
    /// Of the socket.
    pub fn command(&mut self, payload: &[u8]) -> io::Result<()> {
        self.seq = 0;
        self.send(payload)
    }

    /// Sends a statement and does not wait.
    ///
    /// # Errors
    /// Of the socket.
    pub fn say(&mut self, sql: &str) -> io::Result<()> {
        let mut payload = vec![3];
        payload.extend_from_slice(sql.as_bytes());
        self.command(&payload)
    }

    /// Runs a statement.
    ///
    /// # Errors
    /// Of the socket; errors of the statement are answers.
    pub fn query(&mut self, sql: &str) -> io::Result<Answer> {
        self.say(sql)?;
        self.answer()
    }

    /// Reads one answer.
    ///
    /// # Errors
    /// Of the socket.
    pub fn answer(&mut self) -> io::Result<Answer> {
        let packet = self.packet()?;
        self.answer_of(packet)
    }

    fn answer_of(&mut self, packet: Vec<u8>) -> io::Result<Answer> {
        match packet.first() {
            Some(0) => Ok(Answer::Ok(integer(&packet, &mut 1).ok_or_else(|| bad("short OK"))?)),
            Some(0xFF) => Ok(error(&packet)),
            Some(0xFB) => Ok(Answer::File(String::from_utf8_lossy(&packet[1..]).into_owned())),
            Some(_) => {
                let columns = integer(&packet, &mut 0).ok_or_else(|| bad("no columns"))?;
                for _ in 0..=columns {
                    self.packet()?;
                }
                self.rows(columns as usize, false)
            }
            None => Err(bad("an empty packet")),
        }
    }

    fn rows(&mut self, columns: usize, binary: bool) -> io::Result<Answer> {
        let mut rows = Vec::new();
        loop {
            let packet = self.packet()?;
            match packet.first() {
                Some(0xFE) if packet.len() < 9 => return Ok(Answer::Rows(rows)),
                Some(0xFF) => return Ok(error(&packet)),
                _ if binary => rows.push(vec![Some(packet)]),
                _ => rows.push(cells(&packet, columns).ok_or_else(|| bad("a short row"))?),
            }
        }
    }

    /// Prepares a statement; its number.
    ///
    /// # Errors
    /// Of the socket; the server's refusal as [`io::ErrorKind::InvalidInput`].
    pub fn prepare(&mut self, sql: &str) -> io::Result<u32> {
        let mut payload = vec![0x16];
        payload.extend_from_slice(sql.as_bytes());
        self.command(&payload)?;
        let packet = self.packet()?;
        let &[0, a, b, c, d, columns, columns_high, params, params_high, ..] = packet.as_slice() else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{:?}", error(&packet))));
        };
        for count in [[params, params_high], [columns, columns_high]] {
            let count = u16::from_le_bytes(count);
            for _ in 0..count + u16::from(count > 0) {
                self.packet()?;
            }
        }
        Ok(u32::from_le_bytes([a, b, c, d]))
    }

    /// The payload of an execution with parameters of text.
    pub fn execution(id: u32, params: &[&[u8]]) -> Vec<u8> {
        let mut b = vec![0x17];
        b.extend_from_slice(&id.to_le_bytes());
        b.extend_from_slice(&[0, 1, 0, 0, 0]);
        if params.is_empty() {
            return b;
        }
        b.resize(b.len() + params.len().div_ceil(8), 0);
        b.push(1);
        params.iter().for_each(|_| b.extend_from_slice(&[253, 0]));
        for param in params {
            push_text(&mut b, param);
        }
        b
    }

    /// Executes a prepared statement with parameters of text.
    ///
    /// # Errors
    /// Of the socket.
    pub fn execute(&mut self, id: u32, params: &[&[u8]]) -> io::Result<Answer> {
        self.command(&Wire::execution(id, params))?;
        let packet = self.packet()?;
        match packet.first() {
            Some(0 | 0xFF) => self.answer_of(packet),
            _ => {
                let columns = integer(&packet, &mut 0).ok_or_else(|| bad("no columns"))?;
                for _ in 0..=columns {
                    self.packet()?;
                }
                self.rows(0, true)
            }
        }
    }

    /// Whether something has come in that was not read yet.
    ///
    /// # Errors
    /// Of the socket.
    pub fn is_answered(&self) -> io::Result<bool> {
        self.stream.set_nonblocking(true)?;
        let seen = self.stream.peek(&mut [0]);
        self.stream.set_nonblocking(false)?;
        match seen {
            Ok(_) => Ok(true),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// Whether the server closes the connection, whatever it says before.
    pub fn is_closed(&mut self) -> bool {
        loop {
            match self.packet() {
                Ok(_) => {}
                Err(e) => {
                    return matches!(e.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset);
                }
            }
        }
    }

    /// Says nothing more, but reads on.
    ///
    /// # Errors
    /// Of the socket.
    pub fn finish(&mut self) -> io::Result<()> {
        self.stream.shutdown(Shutdown::Write)
    }
}

fn push_text(b: &mut Vec<u8>, text: &[u8]) {
    match text.len() {
        n @ 0..=250 => b.push(n as u8),
        n @ 251..=0xFFFF => {
            b.push(0xFC);
            b.extend_from_slice(&(n as u16).to_le_bytes());
        }
        n => {
            b.push(0xFD);
            b.extend_from_slice(&(n as u32).to_le_bytes()[..3]);
        }
    }
    b.extend_from_slice(text);
}

fn error(packet: &[u8]) -> Answer {
    let code = packet.get(1..3).map_or(0, |c| u16::from_le_bytes([c[0], c[1]]));
    // Before the login there is no SQLSTATE.
    let text = packet.get(3..).unwrap_or_default();
    let text = if text.first() == Some(&b'#') { text.get(6..).unwrap_or_default() } else { text };
    Answer::Error(code, String::from_utf8_lossy(text).into_owned())
}

/// A length-encoded integer.
fn integer(packet: &[u8], at: &mut usize) -> Option<u64> {
    let first = *packet.get(*at)?;
    let len = match first {
        0..=250 => 0,
        0xFC => 2,
        0xFD => 3,
        0xFE => 8,
        _ => return None,
    };
    let bytes = packet.get(*at + 1..*at + 1 + len)?;
    *at += 1 + len;
    if len == 0 {
        return Some(first.into());
    }
    let mut number = [0; 8];
    number[..len].copy_from_slice(bytes);
    Some(u64::from_le_bytes(number))
}

fn cells(packet: &[u8], columns: usize) -> Option<Vec<Option<Vec<u8>>>> {
    let mut at = 0;
    let mut row = Vec::with_capacity(columns);
    for _ in 0..columns {
        if packet.get(at) == Some(&0xFB) {
            at += 1;
            row.push(None);
            continue;
        }
        let len = usize::try_from(integer(packet, &mut at)?).ok()?;
        row.push(Some(packet.get(at..at.checked_add(len)?)?.to_vec()));
        at += len;
    }
    Some(row)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_shown_as_text() {
        let rows = vec![vec![Some(b"4".to_vec()), None], vec![Some(b"\xC3".to_vec()), Some(Vec::new())]];
        assert_eq!(format!("{:?}", Answer::Rows(rows)), r#"Rows(["4|NULL", "\\xc3|"])"#);
    }
}
