//! Where clients come in: TCP and the Unix socket.

use std::fs;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// A listening socket.
#[derive(Debug)]
pub enum Listener {
    /// On an address.
    Tcp(TcpListener),
    /// On a file. Removes it when it is dropped.
    Unix(UnixListener, PathBuf),
}

/// A client that has just come in.
#[derive(Debug)]
pub struct Accepted {
    /// Its socket, which does not block.
    pub fd: OwnedFd,
    /// `None`: by the Unix socket.
    pub addr: Option<SocketAddr>,
}

impl Listener {
    /// Listens on an address; port 0 takes a free one.
    ///
    /// # Errors
    /// The address is taken, or not this machine's.
    pub fn tcp(addr: SocketAddr) -> io::Result<Listener> {
        let listener = TcpListener::bind(addr)?;
        listener.set_nonblocking(true)?;
        Ok(Listener::Tcp(listener))
    }

    /// Listens on a socket file with these permissions; one that nobody answers any more is replaced.
    ///
    /// # Errors
    /// Another server answers there, the file cannot be made.
    pub fn unix(path: &Path, mode: u32) -> io::Result<Listener> {
        if path.exists() {
            match UnixStream::connect(path) {
                Ok(_) => {
                    return Err(io::Error::new(io::ErrorKind::AddrInUse, "another server answers there"));
                }
                Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path)?,
                Err(e) => return Err(e),
            }
        }
        let listener = UnixListener::bind(path)?;
        listener.set_nonblocking(true)?;
        fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
        Ok(Listener::Unix(listener, path.to_owned()))
    }

    /// The next client; `None` if there is none at present.
    ///
    /// # Errors
    /// The system's: no descriptors left, the client has gone already.
    pub fn accept(&self) -> io::Result<Option<Accepted>> {
        let accepted = match self {
            Listener::Tcp(listener) => listener.accept().and_then(|(stream, addr)| {
                stream.set_nonblocking(true)?;
                stream.set_nodelay(true)?;
                // A client whose machine is gone is noticed some day.
                rustix::net::sockopt::set_socket_keepalive(&stream, true)?;
                Ok(Accepted { fd: stream.into(), addr: Some(addr) })
            }),
            Listener::Unix(listener, _) => listener.accept().and_then(|(stream, _)| {
                stream.set_nonblocking(true)?;
                Ok(Accepted { fd: stream.into(), addr: None })
            }),
        };
        match accepted {
            Ok(accepted) => Ok(Some(accepted)),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// The address of a TCP listener.
    pub fn local_addr(&self) -> Option<SocketAddr> {
        match self {
            Listener::Tcp(listener) => listener.local_addr().ok(),
            Listener::Unix(..) => None,
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Listener::Tcp(listener) => listener.as_fd(),
            Listener::Unix(listener, _) => listener.as_fd(),
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Listener::Unix(_, path) = self {
            let _ = fs::remove_file(path);
        }
    }
}
