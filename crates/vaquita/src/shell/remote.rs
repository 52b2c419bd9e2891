//! A server as a backend: a small client of MySQL's text protocol, with TLS where the server has it.

use super::address::Address;
use super::backend::{Backend, Killer};
use super::print::{Heading, Nothing, Output, Summary};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, SignatureScheme, StreamOwned};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use vaquita_server::packet::lenenc::{Malformed, Reader};
use vaquita_sql::{SqlError, password};

/// LONG_PASSWORD, LONG_FLAG, LOCAL_FILES, PROTOCOL_41, TRANSACTIONS, SECURE_CONNECTION, MULTI_STATEMENTS, MULTI_RESULTS,
/// PLUGIN_AUTH.
const CAPABILITIES: u32 = 1 | 4 | 128 | 512 | 0x2000 | 0x8000 | 0x1_0000 | 0x2_0000 | 0x8_0000;
const CONNECT_WITH_DB: u32 = 8;
const SSL: u32 = 0x800;
const MORE_RESULTS: u16 = 8;
/// `utf8mb4_general_ci`.
const COLLATION: u8 = 45;
const CHUNK_MAX: usize = 0xFF_FFFF;

/// A socket, in clear or under TLS.
enum Wire {
    Clear(TcpStream),
    Local(UnixStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Read for Wire {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self {
            Wire::Clear(s) => s.read(buf),
            Wire::Local(s) => s.read(buf),
            Wire::Tls(s) => s.read(buf),
        }
    }
}

impl Write for Wire {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        match self {
            Wire::Clear(s) => s.write(buf),
            Wire::Local(s) => s.write(buf),
            Wire::Tls(s) => s.write(buf),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Wire::Clear(s) => s.flush(),
            Wire::Local(s) => s.flush(),
            Wire::Tls(s) => s.flush(),
        }
    }
}

/// Packets over a wire.
struct Packets {
    wire: Option<Wire>,
    seq: u8,
    /// Bytes read beyond the last packet.
    buffer: Vec<u8>,
    start: usize,
}

impl Packets {
    fn wire(&mut self) -> io::Result<&mut Wire> {
        self.wire.as_mut().ok_or_else(|| io::ErrorKind::NotConnected.into())
    }

    fn fill(&mut self, wanted: usize) -> io::Result<()> {
        self.buffer.drain(..self.start);
        self.start = 0;
        while self.buffer.len() < wanted {
            let old = self.buffer.len();
            self.buffer.resize(old + (1 << 16).max(wanted - old), 0);
            let wire = self.wire.as_mut().ok_or(io::ErrorKind::NotConnected)?;
            let n = wire.read(&mut self.buffer[old..])?;
            self.buffer.truncate(old + n);
            if n == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(())
    }

    /// The next payload, of one packet or several.
    fn receive(&mut self) -> io::Result<Vec<u8>> {
        let mut payload = Vec::new();
        loop {
            if self.buffer.len() - self.start < 4 {
                self.fill(4)?;
            }
            let head = &self.buffer[self.start..self.start + 4];
            let len = usize::from(head[0]) | usize::from(head[1]) << 8 | usize::from(head[2]) << 16;
            self.seq = head[3].wrapping_add(1);
            self.start += 4;
            if self.buffer.len() - self.start < len {
                self.fill(len)?;
            }
            payload.extend_from_slice(&self.buffer[self.start..self.start + len]);
            self.start += len;
            if len < CHUNK_MAX {
                return Ok(payload);
            }
        }
    }

    fn send(&mut self, payload: &[u8]) -> io::Result<()> {
        let mut out = Vec::with_capacity(payload.len() + 8);
        let mut rest = payload;
        loop {
            let (chunk, after) = rest.split_at(rest.len().min(CHUNK_MAX));
            out.extend_from_slice(&[
                chunk.len() as u8,
                (chunk.len() >> 8) as u8,
                (chunk.len() >> 16) as u8,
                self.seq,
            ]);
            out.extend_from_slice(chunk);
            self.seq = self.seq.wrapping_add(1);
            rest = after;
            if chunk.len() < CHUNK_MAX {
                break;
            }
        }
        let wire = self.wire()?;
        wire.write_all(&out)?;
        wire.flush()
    }

    fn command(&mut self, code: u8, text: &[u8]) -> io::Result<()> {
        self.seq = 0;
        self.send(&[&[code], text].concat())
    }
}

/// A session on a server.
pub(super) struct Remote {
    packets: Packets,
    address: Address,
    greeting: String,
    /// The connection's number.
    id: u32,
}

fn lost(e: io::Error) -> SqlError {
    SqlError::new(2013, format!("Lost connection to the server: {e}"))
}

fn malformed(_: Malformed) -> SqlError {
    SqlError::new(2027, "Malformed packet")
}

/// What the server says at first.
struct Hello {
    version: String,
    id: u32,
    capabilities: u32,
    challenge: Vec<u8>,
    plugin: Vec<u8>,
}

impl Hello {
    fn read(payload: &[u8]) -> Result<Hello, SqlError> {
        if payload.first() == Some(&0xFF) {
            return Err(error_of(payload));
        }
        let read = || -> Result<Hello, Malformed> {
            let mut r = Reader::new(payload);
            r.u8()?;
            let version = String::from_utf8_lossy(r.string0()?).into_owned();
            let id = r.u32()?;
            let mut challenge = r.bytes(8)?.to_vec();
            r.u8()?;
            let low = u32::from(r.u16()?);
            r.u8()?;
            r.u16()?;
            let capabilities = low | u32::from(r.u16()?) << 16;
            let challenge_len = usize::from(r.u8()?);
            r.bytes(10)?;
            challenge.extend_from_slice(r.bytes(challenge_len.saturating_sub(9).max(12))?);
            r.u8()?;
            let plugin = r.string0_or_rest().to_vec();
            Ok(Hello { version, id, capabilities, challenge, plugin })
        };
        read().map_err(malformed)
    }
}

fn error_of(payload: &[u8]) -> SqlError {
    let code = payload.get(1..3).map_or(2027, |b| u16::from(b[0]) | u16::from(b[1]) << 8);
    let message = match payload.get(3) {
        Some(b'#') => payload.get(9..),
        _ => payload.get(3..),
    };
    let error = SqlError::new(code, String::from_utf8_lossy(message.unwrap_or(b"")).into_owned());
    match payload.get(3..9) {
        // What SIGNAL says does not follow from the number.
        Some([b'#', state @ ..]) => {
            SqlError { sqlstate: String::from_utf8_lossy(state).into_owned().into(), ..error }
        }
        _ => error,
    }
}

fn proof(plugin: &[u8], secret: &[u8], challenge: &[u8]) -> Result<Vec<u8>, SqlError> {
    match plugin {
        _ if secret.is_empty() => Ok(Vec::new()),
        b"mysql_native_password" | b"" => Ok(password::native_proof(secret, challenge)),
        b"caching_sha2_password" => Ok(password::sha2_proof(secret, challenge)),
        other => {
            let name = String::from_utf8_lossy(other);
            Err(SqlError::new(2059, format!("Authentication plugin '{name}' is not known here")))
        }
    }
}

impl Remote {
    /// Connects and logs in.
    ///
    /// # Errors
    /// For people: nobody there, or not for this user.
    pub(super) fn connect(address: &Address) -> Result<Remote, String> {
        let wire = match &address.socket {
            Some(path) => UnixStream::connect(path).map(Wire::Local),
            None => TcpStream::connect((address.host.as_str(), address.port))
                .and_then(|stream| stream.set_nodelay(true).map(|()| Wire::Clear(stream))),
        };
        let wire = wire.map_err(|e| format!("{address}: {e}"))?;
        let packets = Packets { wire: Some(wire), seq: 0, buffer: Vec::new(), start: 0 };
        let mut remote = Remote { packets, address: address.clone(), greeting: String::new(), id: 0 };
        remote.log_in(address).map_err(|e| e.to_string())?;
        Ok(remote)
    }

    fn log_in(&mut self, address: &Address) -> Result<(), SqlError> {
        let hello = Hello::read(&self.packets.receive().map_err(lost)?)?;
        self.greeting = format!("Server {} at {address}", hello.version);
        self.id = hello.id;
        let mut capabilities = CAPABILITIES;
        if address.database.is_some() {
            capabilities |= CONNECT_WITH_DB;
        }
        // Nobody listens on a socket of this machine.
        let tls = hello.capabilities & SSL != 0 && address.socket.is_none();
        if tls {
            capabilities |= SSL;
        }
        let mut head = capabilities.to_le_bytes().to_vec();
        head.extend_from_slice(&(64_u32 << 20).to_le_bytes());
        head.push(COLLATION);
        head.extend_from_slice(&[0; 23]);
        if tls {
            self.packets.send(&head).map_err(lost)?;
            self.encrypt(&address.host)?;
        }
        let secret = address.password.as_bytes();
        let answer = proof(&hello.plugin, secret, &hello.challenge)?;
        head.extend_from_slice(address.user.as_bytes());
        head.push(0);
        head.push(answer.len() as u8);
        head.extend_from_slice(&answer);
        if let Some(database) = &address.database {
            head.extend_from_slice(database.as_bytes());
            head.push(0);
        }
        head.extend_from_slice(&hello.plugin);
        head.push(0);
        self.packets.send(&head).map_err(lost)?;
        self.finish_log_in(secret, tls || address.socket.is_some())
    }

    fn finish_log_in(&mut self, secret: &[u8], private: bool) -> Result<(), SqlError> {
        loop {
            let payload = self.packets.receive().map_err(lost)?;
            match payload.first() {
                Some(0x00) => return Ok(()),
                Some(0xFE) => {
                    let mut r = Reader::new(&payload[1..]);
                    let plugin = r.string0().map_err(malformed)?;
                    let challenge = r.rest();
                    let challenge = challenge.strip_suffix(&[0]).unwrap_or(challenge);
                    let answer = proof(plugin, secret, challenge)?;
                    self.packets.send(&answer).map_err(lost)?;
                }
                // caching_sha2_password: 3 the proof was enough, 4 the password itself is wanted.
                Some(0x01) if payload.get(1) == Some(&3) => {}
                Some(0x01) if payload.get(1) == Some(&4) && private => {
                    self.packets.send(&[secret, &[0]].concat()).map_err(lost)?;
                }
                Some(0x01) => {
                    return Err(SqlError::new(
                        2061,
                        "Authentication plugin 'caching_sha2_password' wants the password over TLS, which the server does not offer",
                    ));
                }
                _ => return Err(error_of(&payload)),
            }
        }
    }

    /// Goes on under TLS. Whose certificate it is is not checked, as MySQL's client does by default: this keeps others
    /// from listening, not from posing as the server.
    fn encrypt(&mut self, host: &str) -> Result<(), SqlError> {
        let failed = |e: &dyn std::fmt::Display| SqlError::new(2026, format!("TLS connection error: {e}"));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(|e| failed(&e))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AnyServer(provider)))
            .with_no_client_auth();
        let name = ServerName::try_from(host.to_owned()).map_err(|e| failed(&e))?;
        let tls = ClientConnection::new(Arc::new(config), name).map_err(|e| failed(&e))?;
        if let Some(Wire::Clear(stream)) = self.packets.wire.take() {
            self.packets.wire = Some(Wire::Tls(Box::new(StreamOwned::new(tls, stream))));
        }
        Ok(())
    }

    /// Reads one result; gives whether another follows.
    fn result(&mut self, output: &mut dyn Output) -> Result<bool, SqlError> {
        let printed = |e: io::Error| SqlError::new(1160, format!("Got an error writing the result: {e}"));
        let first = self.packets.receive().map_err(lost)?;
        match first.first() {
            Some(0x00) => {
                let (summary, status) = ok(&first).map_err(malformed)?;
                output.end(summary).map_err(printed)?;
                return Ok(status & MORE_RESULTS != 0);
            }
            Some(0xFF) => return Err(error_of(&first)),
            Some(0xFB) => {
                self.send_file(&first[1..])?;
                return self.result(output);
            }
            _ => {}
        }
        let n = Reader::new(&first).int().map_err(malformed)?;
        let mut columns = Vec::new();
        for _ in 0..n {
            columns.push(heading(&self.packets.receive().map_err(lost)?).map_err(malformed)?);
        }
        self.packets.receive().map_err(lost)?;
        output.columns(columns).map_err(printed)?;
        loop {
            let payload = self.packets.receive().map_err(lost)?;
            match payload.first() {
                Some(0xFE) if payload.len() < 9 => {
                    let mut r = Reader::new(&payload[1..]);
                    let warnings = r.u16().map_err(malformed)?;
                    let status = r.u16().map_err(malformed)?;
                    output.end(Summary { warnings, ..Summary::default() }).map_err(printed)?;
                    return Ok(status & MORE_RESULTS != 0);
                }
                Some(0xFF) => return Err(error_of(&payload)),
                _ => output.row(&cells(&payload).map_err(malformed)?).map_err(printed)?,
            }
        }
    }

    /// LOAD DATA LOCAL: the server asks for a file.
    fn send_file(&mut self, name: &[u8]) -> Result<(), SqlError> {
        let path = String::from_utf8_lossy(name).into_owned();
        let sent = std::fs::File::open(&path).and_then(|mut file| {
            let mut piece = vec![0; 1 << 16];
            loop {
                let n = file.read(&mut piece)?;
                if n == 0 {
                    return Ok(());
                }
                self.packets.send(&piece[..n])?;
            }
        });
        // The empty packet ends the file, or what there is of it.
        self.packets.send(&[]).map_err(lost)?;
        sent.map_err(|e| SqlError::new(2, format!("File '{path}': {e}")))
    }
}

fn ok(payload: &[u8]) -> Result<(Summary, u16), Malformed> {
    let mut r = Reader::new(&payload[1..]);
    let affected_rows = r.int()?;
    let insert_id = r.int()?;
    let status = r.u16()?;
    let warnings = r.u16()?;
    // Servers send the text with its length before it.
    let info = if r.is_empty() { &[][..] } else { r.string()? };
    let info = String::from_utf8_lossy(info).into_owned();
    Ok((Summary { affected_rows, insert_id, warnings, info }, status))
}

fn heading(payload: &[u8]) -> Result<Heading, Malformed> {
    let mut r = Reader::new(payload);
    for _ in 0..4 {
        r.string()?;
    }
    let name = String::from_utf8_lossy(r.string()?).into_owned();
    r.string()?;
    r.int()?;
    let collation = r.u16()?;
    r.u32()?;
    let ty = r.u8()?;
    // DECIMAL to DOUBLE, BIGINT, MEDIUMINT, YEAR, NEWDECIMAL.
    let number = matches!(ty, 0..=5 | 8 | 9 | 13 | 246);
    // BIT, and strings of collation `binary`.
    Ok(Heading { name, number, binary: ty == 16 || collation == 63 && matches!(ty, 249..=254 | 15) })
}

fn cells(payload: &[u8]) -> Result<Vec<Option<&[u8]>>, Malformed> {
    let mut r = Reader::new(payload);
    let mut cells = Vec::new();
    while !r.is_empty() {
        if r.rest()[0] == 0xFB {
            r.u8()?;
            cells.push(None);
        } else {
            cells.push(Some(r.string()?));
        }
    }
    Ok(cells)
}

impl Backend for Remote {
    fn run(&mut self, text: &[u8], output: &mut dyn Output) -> Result<(), SqlError> {
        self.packets.command(3, text).map_err(lost)?;
        while self.result(output)? {}
        Ok(())
    }

    /// By another connection: this one waits for its answer.
    fn killer(&self) -> Killer {
        let (address, id) = (self.address.clone(), self.id);
        Arc::new(move || {
            let mut other = Remote::connect(&address)?;
            let text = format!("KILL QUERY {id}");
            let killed = other.run(text.as_bytes(), &mut Nothing).map_err(|e| e.to_string());
            other.close().map_err(|e| e.to_string())?;
            killed
        })
    }

    fn close(&mut self) -> Result<(), SqlError> {
        // COM_QUIT has no answer, and a server that is gone already needs none.
        let _ = self.packets.command(1, b"");
        Ok(())
    }

    fn greeting(&self) -> String {
        self.greeting.clone()
    }
}

/// Takes every certificate whose owner proves to have its key.
#[derive(Debug)]
struct AnyServer(Arc<rustls::crypto::CryptoProvider>);

impl ServerCertVerifier for AnyServer {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls12_signature(
            message,
            cert,
            signed,
            &self.0.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls13_signature(
            message,
            cert,
            signed,
            &self.0.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
