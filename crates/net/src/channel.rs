//! A socket that never blocks, in clear or under TLS.

use crate::Buffer;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::net::{RecvFlags, SendFlags};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

/// Bytes received at once below TLS.
const RAW_LEN: usize = 16 << 10;

/// A client's socket.
#[derive(Debug)]
pub struct Channel {
    fd: OwnedFd,
    tls: Option<Box<rustls::ServerConnection>>,
    /// What the socket did not take yet.
    unsent: Vec<u8>,
    /// Bytes received since [`Channel::take_counts`].
    received: u64,
    /// Bytes sent since then.
    sent: u64,
}

/// What a socket gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Received {
    /// Bytes; `true`: there may be more.
    Bytes(bool),
    /// Nothing at present.
    Nothing,
    /// The other side has closed.
    End,
}

impl Channel {
    /// On a socket that does not block.
    pub fn new(fd: OwnedFd) -> Channel {
        Channel { fd, tls: None, unsent: Vec::new(), received: 0, sent: 0 }
    }

    /// The socket.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Bytes received and sent since the last call.
    pub fn take_counts(&mut self) -> (u64, u64) {
        (std::mem::take(&mut self.received), std::mem::take(&mut self.sent))
    }

    /// The TLS that is spoken, if any.
    pub fn tls(&self) -> Option<&rustls::ServerConnection> {
        self.tls.as_deref()
    }

    /// From now on TLS; `begun` came behind the request for it.
    ///
    /// # Errors
    /// As [`Channel::receive`].
    pub fn start_tls(
        &mut self,
        config: Arc<rustls::ServerConfig>,
        begun: &[u8],
        input: &mut Buffer,
    ) -> io::Result<()> {
        let mut tls = rustls::ServerConnection::new(config).map_err(io::Error::other)?;
        tls.set_buffer_limit(None);
        self.tls = Some(Box::new(tls));
        self.feed_tls(begun, input)
    }

    /// Receives once, at most as much as there is room for; `raw` is working memory below TLS.
    ///
    /// # Errors
    /// The socket's, or TLS's: the connection cannot go on.
    #[inline]
    pub fn receive(&mut self, input: &mut Buffer, raw: &mut Vec<u8>) -> io::Result<Received> {
        if self.tls.is_some() {
            return self.receive_tls(input, raw);
        }
        let space = input.space();
        let room = space.len();
        Ok(match receive(&self.fd, space)? {
            Some(0) => Received::End,
            Some(n) => {
                input.received(n);
                self.received += n as u64;
                Received::Bytes(n == room)
            }
            None => Received::Nothing,
        })
    }

    fn receive_tls(&mut self, input: &mut Buffer, raw: &mut Vec<u8>) -> io::Result<Received> {
        raw.resize(RAW_LEN, 0);
        let n = match receive(&self.fd, raw)? {
            Some(0) => return Ok(Received::End),
            Some(n) => n,
            None => return Ok(Received::Nothing),
        };
        self.received += n as u64;
        self.feed_tls(&raw[..n], input)?;
        Ok(Received::Bytes(n == RAW_LEN))
    }

    fn feed_tls(&mut self, mut bytes: &[u8], input: &mut Buffer) -> io::Result<()> {
        let Some(tls) = &mut self.tls else { return Ok(()) };
        while !bytes.is_empty() {
            if tls.read_tls(&mut bytes)? == 0 {
                break;
            }
            if let Err(e) = tls.process_new_packets() {
                // The alert that says why.
                let _ = tls.write_tls(&mut Raw(self.fd.as_fd()));
                return Err(io::Error::other(e));
            }
            loop {
                match tls.reader().read(input.space()) {
                    // The other side has said good-bye; the socket's end follows.
                    Ok(0) => break,
                    Ok(n) => input.received(n),
                    Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                    Err(e) => return Err(e),
                }
            }
        }
        if tls.wants_write() {
            self.flush()?;
        }
        Ok(())
    }

    /// Sends everything in `out`, which is empty afterwards. `false`: some of it waits in the channel until the socket
    /// can be written again ([`Channel::flush`]).
    ///
    /// # Errors
    /// The socket's.
    #[inline]
    pub fn send(&mut self, out: &mut Vec<u8>) -> io::Result<bool> {
        if out.is_empty() {
            return self.flush();
        }
        if self.tls.is_some() || !self.unsent.is_empty() {
            return self.send_behind(out);
        }
        let n = send(&self.fd, out)?;
        self.sent += n as u64;
        if n < out.len() {
            self.unsent.extend_from_slice(&out[n..]);
        }
        out.clear();
        Ok(self.unsent.is_empty())
    }

    fn send_behind(&mut self, out: &mut Vec<u8>) -> io::Result<bool> {
        match &mut self.tls {
            None => self.unsent.append(out),
            Some(tls) => tls.writer().write_all(out)?,
        }
        out.clear();
        self.flush()
    }

    /// Whether something waits to be sent.
    pub fn has_unsent(&self) -> bool {
        !self.unsent.is_empty() || self.tls.as_ref().is_some_and(|tls| tls.wants_write())
    }

    /// Bytes that wait to be sent, those within TLS excepted.
    pub fn unsent(&self) -> usize {
        self.unsent.len()
    }

    /// Sends what waits. `false`: not all of it.
    ///
    /// # Errors
    /// The socket's.
    pub fn flush(&mut self) -> io::Result<bool> {
        if let Some(tls) = &mut self.tls {
            while tls.wants_write() {
                match tls.write_tls(&mut Raw(self.fd.as_fd())) {
                    Ok(n) => self.sent += n as u64,
                    Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                    Err(e) => return Err(e),
                }
            }
            return Ok(true);
        }
        let mut done = 0;
        while done < self.unsent.len() {
            match send(&self.fd, &self.unsent[done..])? {
                0 => break,
                n => done += n,
            }
        }
        self.sent += done as u64;
        self.unsent.drain(..done);
        if self.unsent.is_empty() && self.unsent.capacity() > 0 {
            self.unsent = Vec::new();
        }
        Ok(self.unsent.is_empty())
    }

    /// Blocks until the socket can be written. `false`: not within `seconds`.
    ///
    /// # Errors
    /// The socket's.
    pub fn wait_writable(&self, seconds: u32) -> io::Result<bool> {
        self.wait(PollFlags::OUT, seconds)
    }

    /// Blocks until the socket can be read. `false`: not within `seconds`.
    ///
    /// # Errors
    /// The socket's.
    pub fn wait_readable(&self, seconds: u32) -> io::Result<bool> {
        self.wait(PollFlags::IN, seconds)
    }

    fn wait(&self, what: PollFlags, seconds: u32) -> io::Result<bool> {
        let limit = Timespec { tv_sec: i64::from(seconds), tv_nsec: 0 };
        let mut fds = [PollFd::new(&self.fd, what)];
        loop {
            match rustix::event::poll(&mut fds, Some(&limit)) {
                Ok(n) => return Ok(n > 0),
                Err(rustix::io::Errno::INTR) => {}
                Err(e) => return Err(e.into()),
            }
        }
    }

    /// Says good-bye as far as that does not block.
    pub fn close(&mut self) {
        if let Some(tls) = &mut self.tls {
            tls.send_close_notify();
        }
        let _ = self.flush();
    }
}

/// `None`: nothing there at present.
fn receive(fd: &OwnedFd, space: &mut [u8]) -> io::Result<Option<usize>> {
    loop {
        match rustix::net::recv(fd, &mut *space, RecvFlags::empty()) {
            Ok((n, _)) => return Ok(Some(n)),
            Err(rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::AGAIN) => return Ok(None),
            Err(e) => return Err(e.into()),
        }
    }
}

/// How many bytes the socket took; 0 if it takes none at present.
fn send(fd: &OwnedFd, bytes: &[u8]) -> io::Result<usize> {
    loop {
        match rustix::net::send(fd, bytes, SendFlags::NOSIGNAL) {
            Ok(n) => return Ok(n),
            Err(rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::AGAIN) => return Ok(0),
            Err(e) => return Err(e.into()),
        }
    }
}

/// The socket as TLS wants it.
struct Raw<'a>(BorrowedFd<'a>);

impl Write for Raw<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(rustix::net::send(self.0, bytes, SendFlags::NOSIGNAL)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
