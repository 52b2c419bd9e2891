//! A connection on a cache of its own, and the real memcached 1.6.18 to compare it with.
#![allow(dead_code)]

pub(crate) mod binary;
pub(crate) mod generated;
pub(crate) mod pair;
pub(crate) mod text;

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use vaquita_memcached::cache::{Cache, CacheStore, Seconds};
use vaquita_memcached::conn::{Conn, Next};
use vaquita_memcached::service::Service;
use vaquita_memcached::store::Store;
use vaquita_peers::{Paths, until};

/// Seconds since 1970.
pub(crate) fn now() -> u32 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs() as u32
}

/// A service whose answers can be compared byte by byte.
pub(crate) fn service(now: u32) -> Service {
    let mut service = Service::new(now);
    service.version = "1.6.18".into();
    service
}

/// A server in this process: a cache, and a service its connections share.
pub(crate) struct Local {
    pub(crate) service: Arc<Service>,
    pub(crate) cache: Arc<Cache>,
    pub(crate) seconds: Arc<Seconds>,
}

impl Local {
    pub(crate) fn new(now: u32) -> Local {
        Local::with(service(now), now)
    }

    pub(crate) fn with(service: Service, now: u32) -> Local {
        let cache = Arc::new(Cache::new(64 << 20, service.limits.item_size_max));
        Local { service: Arc::new(service), cache, seconds: Arc::new(Seconds::new(now)) }
    }

    pub(crate) fn store(&self) -> CacheStore {
        CacheStore::new(self.cache.clone(), self.seconds.clone())
    }

    /// A connection that sends these pieces: what it is answered, and whether it is closed then.
    pub(crate) fn talk_in_pieces<'a>(&self, pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<u8>, bool) {
        converse(&self.service, &mut self.store(), self.seconds.get(), pieces)
    }

    pub(crate) fn talk(&self, input: &[u8]) -> (Vec<u8>, bool) {
        self.talk_in_pieces([input])
    }
}

/// What a connection on a store is answered, and whether it is closed then.
pub(crate) fn converse<'a>(
    service: &Arc<Service>,
    store: &mut impl Store,
    now: u32,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<u8>, bool) {
    let mut conn = Conn::new(service.clone());
    let mut answers = Vec::new();
    for piece in pieces {
        let mut piece = piece;
        loop {
            let mut out = Vec::new();
            let next = conn.advance(piece, now, store, &mut out);
            answers.extend_from_slice(&out);
            match next {
                Next::Read => break,
                Next::Write => piece = &[],
                Next::Close => return (answers, true),
            }
        }
    }
    (answers, false)
}

/// A running memcached.
pub(crate) struct Memcached {
    child: Child,
    pub(crate) port: u16,
}

impl Memcached {
    /// Starts one on a free port.
    pub(crate) fn start(arguments: &[&str]) -> Memcached {
        Memcached::start_in(arguments, None)
    }

    /// Starts one that demands SASL and knows nobody.
    pub(crate) fn start_sasl() -> Memcached {
        let folder = vaquita_peers::scratch_dir("vmc").expect("a folder");
        std::fs::write(folder.join("memcached.conf"), "mech_list: plain\n").expect("a file");
        let started = Memcached::start_in(&["-S"], Some(&folder));
        let _ = std::fs::remove_dir_all(folder);
        started
    }

    fn start_in(arguments: &[&str], sasl: Option<&std::path::Path>) -> Memcached {
        let port = free_port();
        let mut command = Paths::installed().expect("peers").command("usr/bin/memcached");
        command.args(["-u", "nobody", "-l", "127.0.0.1", "-U", "0", "-t", "1", "-m", "64"]);
        command.args(["-p", &port.to_string()]).args(arguments);
        if let Some(folder) = sasl {
            command.env("SASL_CONF_PATH", folder);
        }
        let child = command.stdin(Stdio::null()).stderr(Stdio::null()).spawn().expect("memcached starts");
        let running = Memcached { child, port };
        until("memcached listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
        running
    }

    /// A connection that sends `input` and no more: what it is answered.
    pub(crate) fn talk(&self, input: &[u8]) -> Vec<u8> {
        talk(self.port, input)
    }
}

/// A connection that sends `input` and no more: what it is answered.
pub(crate) fn talk(port: u16, input: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
    let mut reader = stream.try_clone().expect("a second handle");
    let answers = std::thread::spawn(move || {
        let mut answers = Vec::new();
        // Whoever hangs up amid our sending resets the connection: what came is what counts.
        let _ = reader.read_to_end(&mut answers);
        answers
    });
    let _ = stream.write_all(input);
    let _ = stream.shutdown(Shutdown::Write);
    answers.join().expect("the reader ends")
}

impl Drop for Memcached {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    listener.local_addr().expect("an address").port()
}

/// Bytes as they can be read.
pub(crate) fn shown(bytes: &[u8]) -> String {
    let mut text: String = bytes.escape_ascii().to_string();
    if text.len() > 600 {
        text.replace_range(300..text.len() - 200, " ... ");
    }
    text
}

/// Answers of the binary protocol, with the numbers of items replaced by the order in which they are told.
pub(crate) fn frames(mut answers: &[u8]) -> Vec<String> {
    use vaquita_base::codec::{get_u16, get_u32, get_u64};
    let (mut frames, mut numbers) = (Vec::new(), vec![0]);
    while answers.len() >= 24 {
        let (extras_len, key_len) = (usize::from(answers[4]), usize::from(get_u16(answers, 2)));
        let body_len = get_u32(answers, 8) as usize;
        let cas = get_u64(answers, 16);
        let rank = numbers.iter().position(|&number| number == cas).unwrap_or_else(|| {
            numbers.push(cas);
            numbers.len() - 1
        });
        let body = &answers[24..(24 + body_len).min(answers.len())];
        frames.push(format!(
            "magic {:02x} opcode {:02x} type {} status {:02x} opaque {:08x} cas #{rank} extras {extras_len} key {key_len} body {}",
            answers[0],
            answers[1],
            answers[5],
            get_u16(answers, 6),
            get_u32(answers, 12),
            shown(body),
        ));
        answers = &answers[24 + body.len()..];
    }
    if !answers.is_empty() {
        frames.push(shown(answers));
    }
    frames
}

/// A binary request.
#[derive(Clone, Default)]
pub(crate) struct Frame<'a> {
    pub(crate) opcode: u8,
    pub(crate) extras: &'a [u8],
    pub(crate) key: &'a [u8],
    pub(crate) value: &'a [u8],
    pub(crate) cas: u64,
    pub(crate) opaque: u32,
    /// Another body length than the true one.
    pub(crate) body_len: Option<u32>,
}

impl Frame<'_> {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        use vaquita_base::codec::{push_u16, push_u32, push_u64};
        let body_len = (self.extras.len() + self.key.len() + self.value.len()) as u32;
        let mut out = vec![0x80, self.opcode];
        push_u16(&mut out, self.key.len() as u16);
        out.extend_from_slice(&[self.extras.len() as u8, 0, 0, 0]);
        push_u32(&mut out, self.body_len.unwrap_or(body_len));
        push_u32(&mut out, self.opaque);
        push_u64(&mut out, self.cas);
        [&out, self.extras, self.key, self.value].concat()
    }
}
