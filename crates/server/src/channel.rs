//! A client's socket, under TLS and compression if they were agreed upon, as [`Input`] and packets want it.

use crate::packet::compress::{Inflater, deflate};
use crate::packet::{Input, PacketError};
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use vaquita_net::{Buffer, Received};

/// A socket with the layers that may lie on it: compression above TLS.
#[derive(Debug)]
pub(crate) struct Channel {
    line: vaquita_net::Channel,
    zip: Option<Box<Zip>>,
}

#[derive(Debug, Default)]
struct Zip {
    inflater: Inflater,
    /// One count for both directions.
    seq: u8,
}

/// Why a channel cannot go on.
#[derive(Debug)]
pub(crate) enum ChannelError {
    /// The socket, or TLS above it.
    Io,
    /// What came is no packet.
    Packet(PacketError),
}

impl From<io::Error> for ChannelError {
    fn from(_: io::Error) -> Self {
        ChannelError::Io
    }
}

impl Channel {
    pub(crate) fn new(fd: OwnedFd) -> Channel {
        Channel { line: vaquita_net::Channel::new(fd), zip: None }
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.line.fd()
    }

    /// Bytes received and sent since the last call.
    pub(crate) fn take_counts(&mut self) -> (u64, u64) {
        self.line.take_counts()
    }

    /// Whether TLS is spoken.
    pub(crate) fn tls(&self) -> Option<&rustls::ServerConnection> {
        self.line.tls()
    }

    /// From now on TLS; `begun` came behind the request for it.
    pub(crate) fn start_tls(
        &mut self,
        config: Arc<rustls::ServerConfig>,
        begun: &[u8],
        input: &mut Input,
    ) -> Result<(), ChannelError> {
        Ok(self.line.start_tls(config, begun, input.buffer())?)
    }

    /// From now on compressed packets.
    pub(crate) fn start_compression(&mut self) {
        self.zip = Some(Box::default());
    }

    /// Receives once, at most as much as there is room for. `raw` is working memory; `max` the longest payload to come.
    pub(crate) fn receive(
        &mut self,
        input: &mut Input,
        raw: &mut Vec<u8>,
        max: usize,
    ) -> Result<Received, ChannelError> {
        let Some(zip) = &mut self.zip else { return Ok(self.line.receive(input.buffer(), raw)?) };
        let mut packed = Buffer::default();
        let received = self.line.receive(&mut packed, raw)?;
        zip.inflater.feed(packed.bytes(), input, &mut zip.seq, max).map_err(ChannelError::Packet)?;
        Ok(received)
    }

    /// Sends everything in `out`, which is empty afterwards. `false`: some of it waits in the channel until the socket
    /// can be written again ([`Channel::flush`]).
    pub(crate) fn send(&mut self, out: &mut Vec<u8>) -> io::Result<bool> {
        let Some(zip) = self.zip.as_mut().filter(|_| !out.is_empty()) else { return self.line.send(out) };
        let mut packed = Vec::new();
        deflate(out, &mut zip.seq, &mut packed);
        out.clear();
        self.line.send(&mut packed)
    }

    /// Whether something waits to be sent.
    pub(crate) fn has_unsent(&self) -> bool {
        self.line.has_unsent()
    }

    /// Bytes that wait to be sent, those within TLS excepted.
    pub(crate) fn unsent(&self) -> usize {
        self.line.unsent()
    }

    /// Sends what waits. `false`: not all of it.
    pub(crate) fn flush(&mut self) -> io::Result<bool> {
        self.line.flush()
    }

    /// Blocks until the socket can be written. `false`: not within `seconds`.
    pub(crate) fn wait_writable(&self, seconds: u32) -> io::Result<bool> {
        self.line.wait_writable(seconds)
    }

    /// Blocks until the socket can be read. `false`: not within `seconds`.
    pub(crate) fn wait_readable(&self, seconds: u32) -> io::Result<bool> {
        self.line.wait_readable(seconds)
    }

    /// Says good-bye as far as that does not block.
    pub(crate) fn close(&mut self) {
        self.line.close();
    }
}
