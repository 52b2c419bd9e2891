//! The server: its loops, its listeners, what they share.

use crate::backend::{Backend, Happening};
use crate::connection::Scratch;
use crate::error_log::ErrorLog;
use crate::errors;
use crate::hosts::Hosts;
use crate::listener::{Accepted, Listener};
use crate::reactor::{Core, Inbox, Message, Pool};
use crate::sha2_cache::Sha2Cache;
use parking_lot::{Condvar, Mutex};
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use vaquita_sql::SqlError;
use vaquita_sql::password::CHALLENGE_LEN;

/// How a server is started.
#[derive(Debug)]
pub struct ServerOptions {
    /// Address and port to listen on; port 0 takes a free one. `None`: no TCP.
    pub tcp: Option<SocketAddr>,
    /// Unix socket.
    pub socket: Option<PathBuf>,
    /// Number of loops; 0: one per core.
    pub loops: usize,
    /// TLS, if any.
    pub tls: Option<Arc<rustls::ServerConfig>>,
    /// Where events are written.
    pub log: Arc<ErrorLog>,
    /// Version told to clients.
    pub version: String,
}

impl Default for ServerOptions {
    /// A free port on 127.0.0.1, no socket, no TLS, no log.
    fn default() -> Self {
        ServerOptions {
            tcp: Some(SocketAddr::from(([127, 0, 0, 1], 0))),
            socket: None,
            loops: 0,
            tls: None,
            log: Arc::new(ErrorLog::nowhere()),
            version: vaquita_sql::VERSION.to_owned(),
        }
    }
}

/// What the loops of a server share.
pub(crate) struct Shared {
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) log: Arc<ErrorLog>,
    pub(crate) version: String,
    pub(crate) pool: Arc<Pool>,
    pub(crate) inboxes: Vec<Arc<Inbox>>,
    pub(crate) hosts: Hosts,
    pub(crate) sha2_cache: Sha2Cache,
    pub(crate) stopping: AtomicBool,
    tls: Mutex<Option<Arc<rustls::ServerConfig>>>,
    connected: AtomicUsize,
    loops: Mutex<usize>,
    loop_ended: Condvar,
    shutdown_wanted: Arc<(Mutex<bool>, Condvar)>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Shared")
    }
}

impl Shared {
    pub(crate) fn tls(&self) -> Option<Arc<rustls::ServerConfig>> {
        self.tls.lock().clone()
    }

    /// Counts a client in, or refuses it. Whoever is counted in is counted out by [`Shared::left`].
    pub(crate) fn admit(&self, accepted: &Accepted) -> Result<(), SqlError> {
        let limits = self.backend.limits();
        if let Some(addr) = accepted.addr
            && self.hosts.is_blocked(addr.ip(), limits.max_connect_errors)
        {
            self.backend.count(Happening::AbortedConnect);
            return Err(errors::host_blocked(&addr.ip().to_string()));
        }
        // One more may come in: the database keeps that place for SUPER.
        let room = |n: usize| (n <= limits.max_connections as usize).then_some(n + 1);
        if self.connected.fetch_update(Ordering::AcqRel, Ordering::Acquire, room).is_err() {
            self.backend.count(Happening::TooMany);
            self.backend.count(Happening::AbortedConnect);
            return Err(errors::too_many_connections());
        }
        Ok(())
    }

    pub(crate) fn left(&self) {
        self.connected.fetch_sub(1, Ordering::AcqRel);
    }

    pub(crate) fn loop_ended(&self) {
        *self.loops.lock() -= 1;
        self.loop_ended.notify_all();
    }

    /// Somebody who may has asked the server to end.
    pub(crate) fn request_shutdown(&self) {
        let (wanted, told) = &*self.shutdown_wanted;
        *wanted.lock() = true;
        told.notify_all();
    }
}

/// Twenty random bytes without zero bytes, which would end the string they are sent as, and without `$`.
pub(crate) fn challenge() -> io::Result<[u8; CHALLENGE_LEN]> {
    let mut random = [0; CHALLENGE_LEN];
    let mut filled = 0;
    while filled < random.len() {
        filled += rustix::rand::getrandom(&mut random[filled..], rustix::rand::GetRandomFlags::empty())?;
    }
    Ok(vaquita_sql::password::printable_salt(random))
}

/// A running server. Dropping it shuts it down.
#[derive(Debug)]
pub struct Server {
    shared: Arc<Shared>,
    addr: Option<SocketAddr>,
}

impl Server {
    /// Starts to serve a database.
    ///
    /// # Errors
    /// An address or socket cannot be used, threads cannot be started.
    pub fn start(backend: Arc<dyn Backend>, options: ServerOptions) -> io::Result<Server> {
        let mut listeners = Vec::new();
        if let Some(addr) = options.tcp {
            listeners.push(Listener::tcp(addr)?);
        }
        if let Some(path) = &options.socket {
            listeners.push(Listener::unix(path)?);
        }
        let addr = listeners.iter().find_map(Listener::local_addr);
        let loops = match options.loops {
            0 => std::thread::available_parallelism().map_or(2, usize::from),
            n => n,
        };
        let inboxes: Vec<Arc<Inbox>> =
            (0..loops).map(|_| Inbox::new().map(Arc::new)).collect::<io::Result<_>>()?;
        let shared = Arc::new(Shared {
            backend,
            log: options.log,
            version: options.version,
            pool: Pool::new(Scratch::new),
            inboxes,
            hosts: Hosts::default(),
            sha2_cache: Sha2Cache::default(),
            stopping: AtomicBool::new(false),
            tls: Mutex::new(options.tls),
            connected: AtomicUsize::new(0),
            loops: Mutex::new(0),
            loop_ended: Condvar::new(),
            shutdown_wanted: Arc::default(),
        });
        let server = Server { shared: shared.clone(), addr };
        for inbox in &shared.inboxes {
            // The first loop accepts for all.
            let core = Core::new(shared.clone(), inbox.clone(), std::mem::take(&mut listeners))?;
            *shared.loops.lock() += 1;
            if shared.pool.give(core).is_err() {
                *shared.loops.lock() -= 1;
                return Err(io::Error::other("a thread cannot be started"));
            }
        }
        Ok(server)
    }

    /// The TCP address it listens on.
    pub fn addr(&self) -> Option<SocketAddr> {
        self.addr
    }

    /// Clients that are connected or log in.
    pub fn connected(&self) -> usize {
        self.shared.connected.load(Ordering::Acquire)
    }

    /// Threads, spare ones included.
    pub fn threads(&self) -> usize {
        self.shared.pool.threads()
    }

    /// Forgets blocked hosts (FLUSH HOSTS).
    pub fn flush_hosts(&self) {
        self.shared.hosts.clear();
    }

    /// Takes other certificates for connections to come.
    pub fn set_tls(&self, tls: Option<Arc<rustls::ServerConfig>>) {
        *self.shared.tls.lock() = tls;
    }

    /// A way to ask for the end from other threads: what [`Server::wait_for_shutdown_request`] waits for.
    pub fn shutdown_requester(&self) -> impl Fn() + Send + Sync + 'static + use<> {
        let shared = self.shared.clone();
        move || shared.request_shutdown()
    }

    /// Waits until a client or another thread asks for the end.
    pub fn wait_for_shutdown_request(&self) {
        let (wanted, told) = &*self.shared.shutdown_wanted;
        let mut wanted = wanted.lock();
        while !*wanted {
            told.wait(&mut wanted);
        }
    }

    /// Accepts nobody any more, ends all connections (what they have not committed is rolled back), ends all threads.
    /// `false`: some connections could not be ended within `limit`.
    pub fn shutdown(&self, limit: Duration) -> bool {
        if !self.shared.stopping.swap(true, Ordering::AcqRel) {
            for inbox in &self.shared.inboxes {
                inbox.post(Message::Stop);
            }
        }
        let end = std::time::Instant::now() + limit;
        let mut loops = self.shared.loops.lock();
        while *loops > 0 {
            if self.shared.loop_ended.wait_until(&mut loops, end).timed_out() {
                break;
            }
        }
        let ended = *loops == 0;
        drop(loops);
        self.shared.pool.stop();
        ended && self.shared.pool.wait_ended(end.saturating_duration_since(std::time::Instant::now()))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shutdown(Duration::from_secs(10));
    }
}
