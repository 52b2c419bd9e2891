//! A client that says what it is told to, byte by byte.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;
use vaquita_server::packet::compress::{Inflater, deflate};
use vaquita_server::packet::lenenc::{Reader, push_string};
use vaquita_server::packet::{Input, Output};
use vaquita_server::protocol::Capabilities;
use vaquita_sql::password::{native_proof, sha2_proof};

/// What a plain client can do: one of MySQL.
pub(crate) const CAPS: Capabilities = Capabilities(
    Capabilities::ALWAYS.0
        & !(Capabilities::SESSION_TRACK.0 | Capabilities::DEPRECATE_EOF.0 | Capabilities::PROGRESS.0)
        | Capabilities::LONG_PASSWORD.0,
);

/// A socket and its packets.
pub(crate) struct Client<S> {
    pub(crate) stream: S,
    input: Input,
    pub(crate) seq: u8,
    pub(crate) caps: Capabilities,
    zip: Option<(Inflater, u8)>,
}

/// What a login says.
pub(crate) struct Login<'a> {
    pub(crate) user: &'a str,
    pub(crate) password: &'a str,
    pub(crate) database: &'a str,
    pub(crate) plugin: &'a str,
    pub(crate) caps: Capabilities,
}

impl Default for Login<'_> {
    fn default() -> Self {
        Login { user: "root", password: "", database: "", plugin: "mysql_native_password", caps: CAPS }
    }
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    Ok {
        affected: u64,
        insert_id: u64,
        status: u16,
    },
    Error(u16, String),
    Rows(Vec<Vec<Option<Vec<u8>>>>, u16),
    /// The server has closed the connection.
    Gone,
}

impl Answer {
    pub(crate) fn code(&self) -> u16 {
        match self {
            Answer::Error(code, _) => *code,
            _ => 0,
        }
    }
}

/// One text in one row.
pub(crate) fn text(answer: &str) -> Answer {
    Answer::Rows(vec![vec![Some(answer.as_bytes().to_vec())]], 2)
}

impl Client<TcpStream> {
    pub(crate) fn dial(addr: SocketAddr) -> Client<TcpStream> {
        let stream = TcpStream::connect(addr).expect("the server listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout can be set");
        stream.set_nodelay(true).expect("nodelay can be set");
        Client::over(stream)
    }

    pub(crate) fn connect(addr: SocketAddr) -> Client<TcpStream> {
        let mut client = Client::dial(addr);
        assert!(matches!(client.log_in(&Login::default()), Answer::Ok { .. }));
        client
    }
}

impl<S: Read + Write> Client<S> {
    pub(crate) fn over(stream: S) -> Client<S> {
        Client { stream, input: Input::default(), seq: 0, caps: CAPS, zip: None }
    }

    /// The next packet; `None` at the end.
    pub(crate) fn packet(&mut self) -> Option<Vec<u8>> {
        loop {
            self.input.expect_seq(self.seq);
            if let Some(packet) = self.input.next(usize::MAX >> 1).expect("the server sends packets") {
                self.seq = packet.seq.wrapping_add(1);
                return Some(self.input.payload(&packet).to_vec());
            }
            let mut bytes = [0; 16384];
            let n = match self.stream.read(&mut bytes) {
                Ok(0) => return None,
                Ok(n) => n,
                Err(e) if e.kind() == std::io::ErrorKind::ConnectionReset => return None,
                Err(e) => panic!("no answer: {e}"),
            };
            match &mut self.zip {
                Some((inflater, seq)) => inflater
                    .feed(&bytes[..n], &mut self.input, seq, 1 << 30)
                    .expect("the server compresses well"),
                None => self.input.push(&bytes[..n]),
            }
        }
    }

    pub(crate) fn send(&mut self, payload: &[u8]) {
        let mut out = Output { seq: self.seq, ..Output::default() };
        out.packet(payload);
        self.seq = out.seq;
        let bytes = match &mut self.zip {
            Some((_, seq)) => {
                let mut packed = Vec::new();
                deflate(&out.buf, seq, &mut packed);
                packed
            }
            None => out.buf,
        };
        // A server that has had enough closes while it is still spoken to.
        let _ = self.stream.write_all(&bytes);
    }

    /// Reads the greeting, answers it.
    pub(crate) fn log_in(&mut self, login: &Login<'_>) -> Answer {
        match self.greeting() {
            Ok(challenge) => self.log_in_to(login, &challenge),
            Err(answer) => answer,
        }
    }

    /// The challenge of a greeting, or what came in its place.
    pub(crate) fn greeting(&mut self) -> Result<Vec<u8>, Answer> {
        let Some(packet) = self.packet() else { return Err(Answer::Gone) };
        let mut r = Reader::new(&packet);
        if r.u8() != Ok(10) {
            return Err(self.answer_of(&packet));
        }
        r.string0().expect("a version");
        r.u32().expect("a number");
        let mut challenge = r.bytes(8).expect("a challenge").to_vec();
        r.bytes(1 + 2 + 1 + 2 + 2 + 1 + 10).expect("flags");
        challenge.extend_from_slice(r.bytes(12).expect("the rest of the challenge"));
        Ok(challenge)
    }

    pub(crate) fn log_in_to(&mut self, login: &Login<'_>, challenge: &[u8]) -> Answer {
        self.caps = login.caps;
        let mut caps = login.caps;
        if login.database.is_empty() {
            caps = Capabilities(caps.0 & !Capabilities::CONNECT_WITH_DB.0);
        }
        let mut b = (caps.0 as u32).to_le_bytes().to_vec();
        b.extend_from_slice(&(16_u32 << 20).to_le_bytes());
        b.push(45);
        b.extend_from_slice(&[0; 19]);
        b.extend_from_slice(&((caps.0 >> 32) as u32).to_le_bytes());
        b.extend_from_slice(login.user.as_bytes());
        b.push(0);
        push_string(&mut b, &proof(login.plugin, login.password, challenge));
        if !login.database.is_empty() {
            b.extend_from_slice(login.database.as_bytes());
            b.push(0);
        }
        b.extend_from_slice(login.plugin.as_bytes());
        b.push(0);
        push_string(&mut b, b"\x03who\x06tester");
        self.send(&b);
        self.finish_login(login)
    }

    pub(crate) fn finish_login(&mut self, login: &Login<'_>) -> Answer {
        loop {
            let Some(packet) = self.packet() else { return Answer::Gone };
            match packet.as_slice() {
                [0xFE, rest @ ..] => {
                    let mut r = Reader::new(rest);
                    let plugin = String::from_utf8_lossy(r.string0().expect("a method")).into_owned();
                    let challenge = r.string0().expect("a challenge").to_vec();
                    self.send(&proof(&plugin, login.password, &challenge));
                }
                [1, 3] => {}
                [1, 4] => {
                    let mut password = login.password.as_bytes().to_vec();
                    password.push(0);
                    self.send(&password);
                }
                other => {
                    let answer = self.answer_of(other);
                    if matches!(answer, Answer::Ok { .. }) && login.caps.has(Capabilities::COMPRESS) {
                        self.zip = Some((Inflater::default(), 0));
                    }
                    return answer;
                }
            }
        }
    }

    pub(crate) fn command(&mut self, payload: &[u8]) {
        self.seq = 0;
        if let Some((_, seq)) = &mut self.zip {
            *seq = 0;
        }
        self.send(payload);
    }

    pub(crate) fn query(&mut self, sql: &str) -> Answer {
        self.say(sql);
        self.answer()
    }

    /// Sends a statement, reads nothing.
    pub(crate) fn say(&mut self, sql: &str) {
        let mut payload = vec![3];
        payload.extend_from_slice(sql.as_bytes());
        self.command(&payload);
    }

    /// One result.
    pub(crate) fn answer(&mut self) -> Answer {
        match self.packet() {
            Some(packet) => self.answer_of(&packet),
            None => Answer::Gone,
        }
    }

    /// The answer that begins with a packet.
    pub(crate) fn answer_of(&mut self, packet: &[u8]) -> Answer {
        match packet[0] {
            0 => ok(packet),
            0xFF => error(packet),
            0xFB => panic!("a file is asked for"),
            _ => {
                let columns = Reader::new(packet).int().expect("a number of columns");
                for _ in 0..columns {
                    self.packet().expect("a column");
                }
                if !self.caps.has(Capabilities::DEPRECATE_EOF) {
                    assert_eq!(self.packet().expect("an end")[0], 0xFE);
                }
                self.rows(columns, false)
            }
        }
    }

    /// Rows up to their end; binary ones as one value.
    pub(crate) fn rows(&mut self, columns: u64, binary: bool) -> Answer {
        let mut rows = Vec::new();
        loop {
            let Some(packet) = self.packet() else { return Answer::Gone };
            match packet[0] {
                0xFE if packet.len() < 0xFF_FFFF && self.caps.has(Capabilities::DEPRECATE_EOF) => {
                    let Answer::Ok { status, .. } = ok(&packet) else { unreachable!() };
                    return Answer::Rows(rows, status);
                }
                0xFE if packet.len() == 5 => {
                    return Answer::Rows(rows, u16::from(packet[3]) | u16::from(packet[4]) << 8);
                }
                0xFF => return error(&packet),
                _ if binary => rows.push(vec![Some(packet)]),
                _ => {
                    let mut r = Reader::new(&packet);
                    let cell = |r: &mut Reader<'_>| match r.rest()[0] {
                        0xFB => {
                            r.bytes(1).expect("NULL");
                            None
                        }
                        _ => Some(r.string().expect("a value").to_vec()),
                    };
                    rows.push((0..columns).map(|_| cell(&mut r)).collect());
                }
            }
        }
    }
}

fn proof(plugin: &str, password: &str, challenge: &[u8]) -> Vec<u8> {
    match plugin {
        "caching_sha2_password" if password.is_empty() => vec![0],
        "caching_sha2_password" => sha2_proof(password.as_bytes(), challenge),
        _ => native_proof(password.as_bytes(), challenge),
    }
}

fn ok(packet: &[u8]) -> Answer {
    let mut r = Reader::new(&packet[1..]);
    let affected = r.int().expect("rows");
    let insert_id = r.int().expect("an id");
    Answer::Ok { affected, insert_id, status: r.u16().expect("status") }
}

fn error(packet: &[u8]) -> Answer {
    let code = u16::from(packet[1]) | u16::from(packet[2]) << 8;
    let message = if packet.get(3) == Some(&b'#') { &packet[9..] } else { &packet[3..] };
    Answer::Error(code, String::from_utf8_lossy(message).into_owned())
}
