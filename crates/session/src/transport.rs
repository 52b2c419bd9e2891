//! How a client came in.

use std::net::SocketAddr;

/// How a client came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transport {
    /// Inside the process.
    Embedded,
    /// Unix socket.
    Socket,
    /// TCP.
    Tcp(SocketAddr),
    /// TCP under TLS.
    Tls(SocketAddr),
}

impl Transport {
    /// Whether it is the program that has the folder open, as its owner: no account stands above it.
    pub fn is_owner(&self, user: &str) -> bool {
        *self == Transport::Embedded && user == "root"
    }
}
