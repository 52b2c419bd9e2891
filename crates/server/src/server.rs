//! The server: its loops and its listeners.

use crate::backend::{Backend, Happening};
use crate::connection::Connection;
use crate::decoy::Decoys;
use crate::error_log::ErrorLog;
use crate::errors;
use crate::hosts::Hosts;
use crate::packet::Output;
use crate::protocol::reply::push_early_error;
use crate::sha2_cache::Sha2Cache;
use crate::shared::Shared;
use parking_lot::Mutex;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use vaquita_net::{Accepted, Door, Listener, Loops, Place, Trouble};
use vaquita_sql::SqlError;

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

impl Door for Shared {
    type Connection = Connection;

    fn admit(self: &Arc<Self>, accepted: Accepted, place: Place<Connection>) -> Option<Connection> {
        let pass = match self.let_in(&accepted) {
            Ok(pass) => pass,
            Err(error) => {
                say_no(&accepted, &error);
                return None;
            }
        };
        let greeted = Connection::greet(self.clone(), pass, place, accepted);
        greeted.map_err(|e| self.log.warning(&format!("A connection could not be greeted: {e}"))).ok()
    }

    fn turn_away(&self, accepted: Accepted) {
        self.backend.count(Happening::TooMany);
        self.backend.count(Happening::AbortedConnect);
        say_no(&accepted, &errors::too_many_connections());
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

/// Tells a client why it cannot come in.
fn say_no(accepted: &Accepted, error: &SqlError) {
    let mut out = Output::default();
    push_early_error(&mut out, error);
    let _ = rustix::net::send(&accepted.fd, &out.buf, rustix::net::SendFlags::NOSIGNAL);
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
