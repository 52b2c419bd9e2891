//! Packets until somebody is logged in.
//!
//! ```text
//! server: greeting (challenge, capabilities, default method)
//! client: [TLS request, then TLS]  login (user, proof, database, method, attributes)
//! server: [switch of method (new challenge)]      client: proof
//! server: [more data of the method]               client: its answer
//! server: OK or error
//! ```

use super::Capabilities;
use crate::packet::Output;
use crate::packet::lenenc::{Malformed, Reader};
use vaquita_sql::password::CHALLENGE_LEN;

/// Version of the protocol.
const PROTOCOL_VERSION: u8 = 10;

/// Length of a login that is only a request for TLS.
const TLS_REQUEST_LEN: usize = 32;

/// Most bytes of attributes kept; the client's are a few hundred.
const ATTRIBUTES_MAX: usize = 64 << 10;

/// What the first packet of a server says.
#[derive(Debug)]
pub struct Greeting<'a> {
    /// Version of the server.
    pub version: &'a str,
    /// Number of the connection.
    pub id: u32,
    /// What the client shall answer to: no zero bytes.
    pub challenge: &'a [u8; CHALLENGE_LEN],
    /// What is offered.
    pub capabilities: Capabilities,
    /// Default collation; its low byte is sent.
    pub collation: u16,
    /// Status flags.
    pub status: u16,
    /// Authentication method.
    pub plugin: &'a str,
}

impl Greeting<'_> {
    /// Writes the packet.
    pub fn push(&self, out: &mut Output) {
        let mark = out.begin();
        let b = &mut out.buf;
        b.push(PROTOCOL_VERSION);
        push0(b, self.version.as_bytes());
        b.extend_from_slice(&self.id.to_le_bytes());
        b.extend_from_slice(&self.challenge[..8]);
        b.push(0);
        b.extend_from_slice(&(self.capabilities.0 as u16).to_le_bytes());
        b.push(self.collation as u8);
        b.extend_from_slice(&self.status.to_le_bytes());
        b.extend_from_slice(&((self.capabilities.0 >> 16) as u16).to_le_bytes());
        b.push(CHALLENGE_LEN as u8 + 1);
        b.extend_from_slice(&[0; 6]);
        // Whoever does not know of them takes them for zeros that are not.
        b.extend_from_slice(&((self.capabilities.0 >> 32) as u32).to_le_bytes());
        push0(b, &self.challenge[8..]);
        push0(b, self.plugin.as_bytes());
        out.end(mark);
    }
}

fn push0(out: &mut Vec<u8>, text: &[u8]) {
    out.extend_from_slice(text);
    out.push(0);
}

/// Asks the client to prove itself by another method.
pub fn push_switch(out: &mut Output, plugin: &str, challenge: &[u8; CHALLENGE_LEN]) {
    let mark = out.begin();
    out.buf.push(0xFE);
    push0(&mut out.buf, plugin.as_bytes());
    push0(&mut out.buf, challenge);
    out.end(mark);
}

/// Data of a method.
pub fn push_more(out: &mut Output, data: &[u8]) {
    let mark = out.begin();
    out.buf.push(0x01);
    out.buf.extend_from_slice(data);
    out.end(mark);
}

/// What a client answers to a greeting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Response {
    /// TLS first; the login comes again through it.
    Tls(Capabilities),
    /// A login.
    Login(Box<Login>),
    /// A client older than 4.1.
    Old,
}

/// Who wants to log in, and how.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Login {
    /// What the client can do; what was not offered is still in it.
    pub capabilities: Capabilities,
    /// Collation of the connection.
    pub collation: u16,
    /// User name.
    pub user: Vec<u8>,
    /// Proof for the method below.
    pub proof: Vec<u8>,
    /// Database to begin in; empty: none.
    pub database: Vec<u8>,
    /// The method the proof is made for; empty if the client knows no methods.
    pub plugin: Vec<u8>,
    /// Connection attributes.
    pub attributes: Vec<(String, String)>,
}

impl Response {
    /// Reads the answer to a greeting.
    ///
    /// # Errors
    /// Cut off, or lengths that cannot be.
    pub fn parse(payload: &[u8]) -> Result<Response, Malformed> {
        let mut r = Reader::new(payload);
        let low = r.u16()?;
        if !Capabilities(u64::from(low)).has(Capabilities::PROTOCOL_41) {
            return Ok(Response::Old);
        }
        let mut capabilities = Capabilities(u64::from(low) | u64::from(r.u16()?) << 16);
        r.u32()?; // longest packet the client takes: what clients say here means nothing
        let collation = u16::from(r.u8()?);
        r.bytes(19)?;
        let of_mariadb = r.u32()?;
        // A client of MySQL sends zeros, or nothing that was agreed upon.
        if !capabilities.has(Capabilities::LONG_PASSWORD) {
            capabilities.0 |= u64::from(of_mariadb) << 32;
            if capabilities.has(Capabilities::PROGRESS_EARLY) {
                capabilities = capabilities.with(Capabilities::PROGRESS);
            }
        }
        if payload.len() == TLS_REQUEST_LEN && capabilities.has(Capabilities::SSL) {
            return Ok(Response::Tls(capabilities));
        }
        let mut login = Login { capabilities, collation, user: r.string0()?.to_vec(), ..Login::default() };
        login.proof = if capabilities.has(Capabilities::PLUGIN_AUTH_LENENC) {
            r.string()?
        } else if capabilities.has(Capabilities::SECURE_CONNECTION) {
            r.string8()?
        } else {
            r.string0_or_rest()
        }
        .to_vec();
        if capabilities.has(Capabilities::CONNECT_WITH_DB) {
            login.database = r.string0_or_rest().to_vec();
        }
        if capabilities.has(Capabilities::PLUGIN_AUTH) {
            login.plugin = r.string0_or_rest().to_vec();
        }
        if capabilities.has(Capabilities::CONNECT_ATTRS) && !r.is_empty() {
            login.attributes = attributes(&mut r)?;
        }
        Ok(Response::Login(Box::new(login)))
    }
}

impl Login {
    /// Reads the arguments of a change of user by a client with these capabilities.
    ///
    /// # Errors
    /// Cut off, or lengths that cannot be.
    pub fn parse_change_user(arguments: &[u8], capabilities: Capabilities) -> Result<Login, Malformed> {
        let mut r = Reader::new(arguments);
        let mut login = Login { capabilities, user: r.string0()?.to_vec(), ..Login::default() };
        login.proof = if capabilities.has(Capabilities::SECURE_CONNECTION) {
            r.string8()?.to_vec()
        } else {
            r.string0_or_rest().to_vec()
        };
        login.database = r.string0_or_rest().to_vec();
        if r.is_empty() {
            return Ok(login);
        }
        login.collation = r.u16()?;
        if capabilities.has(Capabilities::PLUGIN_AUTH) {
            login.plugin = r.string0_or_rest().to_vec();
        }
        if capabilities.has(Capabilities::CONNECT_ATTRS) && !r.is_empty() {
            login.attributes = attributes(&mut r)?;
        }
        Ok(login)
    }
}

fn attributes(r: &mut Reader<'_>) -> Result<Vec<(String, String)>, Malformed> {
    let all = r.string()?;
    if all.len() > ATTRIBUTES_MAX {
        return Err(Malformed);
    }
    let mut r = Reader::new(all);
    let mut found = Vec::new();
    while !r.is_empty() {
        let name = String::from_utf8_lossy(r.string()?).into_owned();
        found.push((name, String::from_utf8_lossy(r.string()?).into_owned()));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Input;

    /// MariaDB's 10.11 client to MySQL 5.6.24, user root without password, database test.
    fn recorded() -> Vec<u8> {
        let mut b = vec![0x8d, 0xa6, 0xbf, 0x00, 0, 0, 0, 1, 0x2d];
        b.extend_from_slice(&[0; 23]);
        b.extend_from_slice(b"root\0\0test\0mysql_native_password\0");
        b.extend_from_slice(b"\x1f\x03_os\x05Linux\x0c_client_name\x07libmari");
        b
    }

    #[test]
    fn a_recorded_login() {
        let Ok(Response::Login(login)) = Response::parse(&recorded()) else { panic!("no login") };
        assert_eq!((login.user.as_slice(), login.database.as_slice()), (&b"root"[..], &b"test"[..]));
        assert_eq!(login.plugin, b"mysql_native_password");
        assert_eq!((login.collation, login.proof.len()), (45, 0));
        let expected = [("_os", "Linux"), ("_client_name", "libmari")];
        assert_eq!(login.attributes, expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
    }

    #[test]
    fn every_cut_of_a_login_is_an_answer_or_malformed() {
        let whole = recorded();
        for cut in 0..whole.len() {
            let _ = Response::parse(&whole[..cut]);
        }
        assert_eq!(Response::parse(&whole[..36]), Err(Malformed), "the user's name does not end");
        assert_eq!(Response::parse(&whole[..whole.len() - 1]), Err(Malformed), "attributes cut");
    }

    #[test]
    fn a_tls_request_and_an_old_client() {
        let mut request = vec![0x85, 0xae, 0x03, 0x00, 0, 0, 0, 1, 0x21];
        request.extend_from_slice(&[0; 23]);
        assert_eq!(Response::parse(&request), Ok(Response::Tls(Capabilities(0x0003_ae85))));
        assert_eq!(Response::parse(b"\x05\0\0\0\0root\0"), Ok(Response::Old));
    }

    #[test]
    fn the_greeting_as_the_manual_draws_it() {
        let mut out = Output::default();
        let greeting = Greeting {
            version: "5.7.44",
            id: 0x0102_0304,
            challenge: b"abcdefghijklmnopqrst",
            capabilities: Capabilities(0x1d_8765_4321),
            collation: 45,
            status: 2,
            plugin: "mysql_native_password",
        };
        greeting.push(&mut out);
        let mut expected = b"\x0a5.7.44\0\x04\x03\x02\x01abcdefgh\0\x21\x43\x2d\x02\0\x65\x87\x15".to_vec();
        // As MariaDB 10.11 has its own flags there.
        expected.extend_from_slice(&[0, 0, 0, 0, 0, 0, 0x1d, 0, 0, 0]);
        expected.extend_from_slice(b"ijklmnopqrst\0mysql_native_password\0");
        let mut input = Input::default();
        input.push(&out.buf);
        let packet = input.next(1000).unwrap().unwrap();
        assert_eq!(input.payload(&packet), expected);
    }

    /// What the client of MariaDB 10.11 sends to its server, and the same by one that says it is of MySQL.
    #[test]
    fn flags_of_mariadb() {
        let mut login = b"\x84\xa2\xbf\0\0\0\x10\0\x21".to_vec();
        login.extend_from_slice(&[0; 19]);
        login.extend_from_slice(b"\x1d\0\0\0root\0\0mysql_native_password\0\0");
        let capabilities = |login: &[u8]| match Response::parse(login) {
            Ok(Response::Login(login)) => login.capabilities,
            other => panic!("{other:?}"),
        };
        assert_eq!(capabilities(&login), Capabilities(0x1d_00bf_a284));
        assert!(capabilities(&login).has(Capabilities::PROGRESS));
        login[0] |= 1;
        assert_eq!(capabilities(&login), Capabilities(0x00bf_a285));
        // To a server whose version does not say MariaDB it sends the flag that was for it first.
        login[..4].copy_from_slice(b"\x8c\xa6\xff\x20");
        login[28..32].fill(0);
        assert!(capabilities(&login).has(Capabilities::PROGRESS));
        login[0] |= 1;
        assert!(!capabilities(&login).has(Capabilities::PROGRESS));
    }

    #[test]
    fn a_change_of_user() {
        let mut arguments = b"joe\0\x14aaaaaaaaaaaaaaaaaaaadb\0\x21\0mysql_native_password\0".to_vec();
        let caps = Capabilities::ALWAYS;
        let login = Login::parse_change_user(&arguments, caps).unwrap();
        assert_eq!((login.user.as_slice(), login.proof.len(), login.collation), (&b"joe"[..], 20, 33));
        assert_eq!(login.database, b"db");
        arguments.truncate(10);
        assert_eq!(Login::parse_change_user(&arguments, caps), Err(Malformed));
    }
}
