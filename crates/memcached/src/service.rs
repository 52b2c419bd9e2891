//! What the connections of one door share: limits, who may come in, statistics, what the server around tells of itself.

use crate::marks::Marks;
use crate::stats::Stats;
use crate::store::Users;
use std::sync::Arc;

/// What `version` says unless told otherwise: the memcached whose protocol this is, then who speaks it.
pub const VERSION: &str = concat!("1.6.18-vaquita-", env!("CARGO_PKG_VERSION"));

/// Limits of the protocols.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// The longest item, key and overhead included, as memcached's `-I`; 1 MiB there and here.
    pub item_size_max: usize,
    /// So many bytes of answers waiting stop a connection until they are sent.
    pub output_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { item_size_max: 1 << 20, output_max: 256 << 10 }
    }
}

/// What the server around the protocols tells of itself in `stats`.
pub trait Server: Send + Sync + std::fmt::Debug {
    /// Lines of `stats` about sockets and threads: `curr_connections`, `total_connections`, `threads`, ...
    fn general(&self, line: &mut dyn FnMut(&str, &str)) {
        let _ = line;
    }

    /// Lines of `stats settings`.
    fn settings(&self, line: &mut dyn FnMut(&str, &str)) {
        let _ = line;
    }

    /// Lines of `stats conns`, `NUMBER:addr` and so on.
    fn connections(&self, line: &mut dyn FnMut(&str, &str)) {
        let _ = line;
    }
}

/// A server that tells nothing: connections that come from memory.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoServer;

impl Server for NoServer {}

/// What the connections of one door share.
#[derive(Debug)]
pub struct Service {
    /// Limits of the protocols.
    pub limits: Limits,
    /// Who may come in. With it SASL is demanded: the binary protocol only, and nothing before a login.
    pub users: Option<Arc<dyn Users>>,
    /// Counters, as memcached names them.
    pub stats: Stats,
    /// The server around.
    pub server: Arc<dyn Server>,
    /// Seconds since 1970 when it began.
    pub started: u32,
    /// What `version` says.
    pub version: String,
    /// Which items are stale, or being made anew.
    pub(crate) marks: Marks,
}

impl Service {
    /// With limits as memcached has them, nobody asked for a password.
    pub fn new(now: u32) -> Self {
        Service {
            limits: Limits::default(),
            users: None,
            stats: Stats::default(),
            server: Arc::new(NoServer),
            started: now,
            version: VERSION.into(),
            marks: Marks::default(),
        }
    }
}
