//! The door: sockets and loops around [`Conn`](crate::conn::Conn) and a store.
//!
//! A client's way: its loop's epoll set tells of the socket; one receive into the thread's buffer; the connection does every
//! whole command of it on its store; the answers of all of them leave in one send. What was committed meanwhile holds the
//! answers back until the last commit is durable. The loop serves others then; a single sync answers all who wait for one.
//!
//! An idle client holds its socket, its session (from the first command on) and a few hundred bytes.

mod client;
mod roster;
mod ticker;

use crate::service::{Limits, Service};
use crate::store::{Store, Users, now_s};
use client::Client;
use parking_lot::Mutex;
use roster::{Facts, Roster};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use ticker::Ticker;
use vaquita_engine::WaitHook;
use vaquita_net::{Accepted, Door, Listener, Loops, Place, Trouble};

/// What gives each client its store.
pub trait Keeper: Send + Sync + 'static {
    /// A client's.
    type Store: ClientStore;

    /// A store for a client; `hook` is told around its waits.
    fn open(&self, hook: Arc<dyn WaitHook>) -> Self::Store;

    /// Work of each second, on a thread of its own.
    ///
    /// # Errors
    /// It failed, and is tried again the next second.
    fn tick(&self) -> crate::store::Result<()> {
        Ok(())
    }
}

/// What a door asks of a client's store besides items.
pub trait ClientStore: Store + Send + 'static {
    /// Ends the store's present wait, from whatever thread.
    fn interrupter(&self) -> Box<dyn Fn() + Send + Sync>;

    /// Whether a transaction of several operations is open.
    fn in_transaction(&self) -> bool;

    /// Called about every second while a transaction is open and the client says nothing: commits it if that was long enough.
    ///
    /// # Errors
    /// The commit failed; the client has to go.
    fn idle(&mut self) -> crate::store::Result<()>;

    /// The client goes: commits what is open.
    ///
    /// # Errors
    /// The commit failed.
    fn finish(&mut self) -> crate::store::Result<()>;
}

/// Who is told of what a door has to say.
pub type Log = Arc<dyn Fn(&str) + Send + Sync>;

/// How a door is opened.
#[derive(Clone)]
pub struct ServerOptions {
    /// Address and port to listen on; port 0 takes a free one. `None`: no TCP.
    pub tcp: Option<SocketAddr>,
    /// Unix socket.
    pub socket: Option<PathBuf>,
    /// Permissions of the Unix socket.
    pub socket_mode: u32,
    /// Number of loops; 0: one per core.
    pub loops: usize,
    /// Most clients at once.
    pub max_connections: usize,
    /// Seconds after which a silent client is sent away; 0: never.
    pub idle_timeout_s: u32,
    /// TLS, for clients that begin with it.
    pub tls: Option<Arc<rustls::ServerConfig>>,
    /// Clients in clear may come by the Unix socket only.
    pub require_tls: bool,
    /// Limits of the protocols.
    pub limits: Limits,
    /// Who may come in; `None`: everybody.
    pub users: Option<Arc<dyn Users>>,
    /// Where events are written.
    pub log: Log,
}

impl Default for ServerOptions {
    /// A free port on 127.0.0.1, no socket, no TLS, everybody, no log; otherwise as memcached has it.
    fn default() -> Self {
        ServerOptions {
            tcp: Some(SocketAddr::from(([127, 0, 0, 1], 0))),
            socket: None,
            socket_mode: 0o700,
            loops: 0,
            max_connections: 1024,
            idle_timeout_s: 0,
            tls: None,
            require_tls: false,
            limits: Limits::default(),
            users: None,
            log: Arc::new(|_| {}),
        }
    }
}

impl fmt::Debug for ServerOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let options = f.debug_struct("ServerOptions");
        { options }.field("tcp", &self.tcp).field("socket", &self.socket).finish_non_exhaustive()
    }
}

/// What the clients of a door share.
struct Shared<K: Keeper> {
    keeper: K,
    service: Arc<Service>,
    roster: Arc<Roster>,
    tls: Mutex<Option<Arc<rustls::ServerConfig>>>,
    require_tls: AtomicBool,
    idle_timeout_s: u32,
    stopping: AtomicBool,
    log: Log,
}

impl<K: Keeper> Door for Shared<K> {
    type Connection = Client<K>;

    fn admit(self: &Arc<Self>, accepted: Accepted, _: Place<Client<K>>) -> Option<Client<K>> {
        if self.stopping.load(Ordering::Acquire) {
            return None;
        }
        match self.roster.enter(accepted.addr, now_s()) {
            Some(seat) => Some(Client::new(self.clone(), seat, accepted.fd)),
            None => {
                self.turn_away(accepted);
                None
            }
        }
    }

    fn turn_away(&self, accepted: Accepted) {
        let refusal = b"ERROR Too many open connections\r\n";
        let _ = rustix::net::send(&accepted.fd, refusal, rustix::net::SendFlags::NOSIGNAL);
    }

    fn interrupt(&self, id: u32) {
        self.roster.interrupt(id);
    }

    fn trouble(&self, trouble: &Trouble) {
        match trouble {
            Trouble::Accept(e) => (self.log)(&format!("memcached: error in accept: {e}")),
            Trouble::Watch(e) => (self.log)(&format!("memcached: a connection could not be watched: {e}")),
        }
    }
}

/// An open door. Dropping it closes it.
pub struct Server<K: Keeper> {
    shared: Arc<Shared<K>>,
    loops: Loops<Shared<K>>,
    ticker: Ticker,
    addr: Option<SocketAddr>,
}

impl<K: Keeper> fmt::Debug for Server<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("addr", &self.addr).finish_non_exhaustive()
    }
}

impl<K: Keeper> Server<K> {
    /// Opens a door to what `keeper` keeps.
    ///
    /// # Errors
    /// An address or socket cannot be used, threads cannot be started.
    pub fn start(keeper: K, options: ServerOptions) -> io::Result<Server<K>> {
        let mut listeners = Vec::new();
        if let Some(addr) = options.tcp {
            listeners.push(Listener::tcp(addr)?);
        }
        if let Some(path) = &options.socket {
            listeners.push(Listener::unix(path, options.socket_mode)?);
        }
        let addr = listeners.iter().find_map(Listener::local_addr);
        let loops = match options.loops {
            0 => std::thread::available_parallelism().map_or(2, usize::from),
            n => n,
        };
        let roster = Arc::new(Roster::new(Facts {
            max_connections: options.max_connections,
            idle_timeout_s: options.idle_timeout_s,
            loops,
            tls: options.tls.is_some(),
            addr,
            socket: options.socket,
        }));
        let mut service = Service::new(now_s());
        service.limits = options.limits;
        service.users = options.users;
        service.server = roster.clone();
        let shared = Arc::new(Shared {
            keeper,
            service: Arc::new(service),
            roster,
            tls: Mutex::new(options.tls),
            require_tls: AtomicBool::new(options.require_tls),
            idle_timeout_s: options.idle_timeout_s,
            stopping: AtomicBool::new(false),
            log: options.log,
        });
        let loops = Loops::start(shared.clone(), listeners, loops)?;
        let ticker = Ticker::start(shared.clone())?;
        Ok(Server { shared, loops, ticker, addr })
    }

    /// The TCP address it listens on.
    pub fn addr(&self) -> Option<SocketAddr> {
        self.addr
    }

    /// Clients that are connected.
    pub fn connected(&self) -> usize {
        self.shared.roster.connected()
    }

    /// Threads, spare ones included.
    pub fn threads(&self) -> usize {
        self.loops.threads()
    }

    /// What the connections share.
    pub fn service(&self) -> &Arc<Service> {
        &self.shared.service
    }

    /// What gives clients their stores.
    pub fn keeper(&self) -> &K {
        &self.shared.keeper
    }

    /// Takes other certificates for connections to come.
    pub fn set_tls(&self, tls: Option<Arc<rustls::ServerConfig>>) {
        *self.shared.tls.lock() = tls;
    }

    /// Whether clients in clear may come by the Unix socket only: those to come.
    pub fn set_require_tls(&self, require: bool) {
        self.shared.require_tls.store(require, Ordering::Relaxed);
    }

    /// Accepts nobody any more, ends all connections (what they have open is committed), ends all threads. `false`: some
    /// connections could not be ended within `limit`.
    pub fn shutdown(&self, limit: Duration) -> bool {
        self.shared.stopping.store(true, Ordering::Release);
        self.ticker.stop();
        self.loops.stop(limit)
    }
}
