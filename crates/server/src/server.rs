//! The server: its loops, its listeners, what they share.

use crate::backend::{Backend, Happening};
use crate::connection::Connection;
use crate::decoy::Decoys;
use crate::error_log::ErrorLog;
use crate::errors;
use crate::hosts::Hosts;
use crate::packet::Output;
use crate::protocol::reply::push_early_error;
use crate::sha2_cache::Sha2Cache;
use parking_lot::{Condvar, Mutex};
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use vaquita_net::{Accepted, Door, Listener, Loops, Place, Trouble};
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
    pub(crate) hosts: Hosts,
    pub(crate) sha2_cache: Sha2Cache,
    pub(crate) decoys: Decoys,
    pub(crate) stopping: AtomicBool,
    tls: Mutex<Option<Arc<rustls::ServerConfig>>>,
    connected: AtomicUsize,
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

    /// Counts a client in, or refuses it.
    fn let_in(self: &Arc<Self>, accepted: &Accepted) -> Result<Pass, SqlError> {
        if self.stopping.load(Ordering::Acquire) {
            return Err(errors::shutting_down());
        }
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
        Ok(Pass(self.clone()))
    }

    /// Somebody who may has asked the server to end.
    pub(crate) fn request_shutdown(&self) {
        let (wanted, told) = &*self.shutdown_wanted;
        *wanted.lock() = true;
        told.notify_all();
    }
}

impl Door for Shared {
    type Connection = Connection;

    fn admit(self: &Arc<Self>, accepted: Accepted, place: Place<Connection>) -> Option<Connection> {
        let pass = match self.let_in(&accepted) {
            Ok(pass) => pass,
            Err(error) => {
                let mut out = Output::default();
                push_early_error(&mut out, &error);
                let _ = rustix::net::send(&accepted.fd, &out.buf, rustix::net::SendFlags::NOSIGNAL);
                return None;
            }
        };
        let greeted = Connection::greet(self.clone(), pass, place, accepted);
        greeted.map_err(|e| self.log.warning(&format!("A connection could not be greeted: {e}"))).ok()
    }

    fn interrupt(&self, id: u32) {
        self.backend.kill(id);
    }

    fn trouble(&self, trouble: &Trouble) {
        match trouble {
            Trouble::Accept(e) => self.log.error(&format!("Error in accept: {e}")),
            Trouble::Watch(e) => self.log.warning(&format!("A connection could not be greeted: {e}")),
        }
    }
}

/// Somebody is in; dropped when he leaves.
#[derive(Debug)]
pub(crate) struct Pass(Arc<Shared>);

impl Drop for Pass {
    fn drop(&mut self) {
        self.0.connected.fetch_sub(1, Ordering::AcqRel);
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
    loops: Loops<Shared>,
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
            // Who may connect is for accounts to say, not for file permissions.
            listeners.push(Listener::unix(path, 0o777)?);
        }
        let addr = listeners.iter().find_map(Listener::local_addr);
        let shared = Arc::new(Shared {
            backend,
            log: options.log,
            version: options.version,
            hosts: Hosts::default(),
            sha2_cache: Sha2Cache::default(),
            decoys: Decoys::new()?,
            stopping: AtomicBool::new(false),
            tls: Mutex::new(options.tls),
            connected: AtomicUsize::new(0),
            shutdown_wanted: Arc::default(),
        });
        let loops = Loops::start(shared.clone(), listeners, options.loops)?;
        Ok(Server { shared, loops, addr })
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
        self.loops.threads()
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
        self.shared.stopping.store(true, Ordering::Release);
        self.loops.stop(limit)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shutdown(Duration::from_secs(10));
    }
}
