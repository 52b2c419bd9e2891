//! One connection, without its socket: bytes in, bytes out.
//!
//! The first byte decides between the binary protocol (0x80) and the text one, meta commands included. A connection takes
//! all the bytes it is given: what is half a command stays with it until the rest comes.

use crate::service::Service;
use crate::store::Store;
use std::sync::Arc;

/// What a connection asks for next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[must_use]
pub enum Next {
    /// More bytes from the client.
    Read,
    /// To be called again, with nothing new, when the answers so far are sent: there are enough of them for now.
    Write,
    /// The end, when the answers so far are sent.
    Close,
}

/// One connection's state.
#[derive(Debug)]
pub struct Conn {
    service: Arc<Service>,
}

impl Conn {
    /// A connection from which nothing came yet.
    pub fn new(service: Arc<Service>) -> Self {
        Conn { service }
    }

    /// Takes `input`, does the commands that are whole, and appends their answers to `out`. `now` is in seconds since 1970.
    ///
    /// The answers must not be sent before what [`Store::durability`] gives is durable.
    pub fn advance<S: Store>(&mut self, input: &[u8], now: u32, store: &mut S, out: &mut Vec<u8>) -> Next {
        let _ = (input, now, store, out, &self.service);
        Next::Close
    }

    /// Whether the connection holds half a command.
    pub fn is_half(&self) -> bool {
        false
    }
}
