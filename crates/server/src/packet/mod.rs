//! Packets: the unit of MySQL's protocol.
//!
//! ```text
//! | payload length, 3 bytes little-endian | sequence number, 1 byte | payload |
//! ```
//!
//! A payload of 0xFFFFFF bytes or more is sent as several packets, the last of which is shorter than that, perhaps
//! empty. Every packet of one exchange counts the sequence number up by one; a command begins at 0.
//!
//! [`Input`] finds packets in what a socket gave, in place; [`Output`] builds them; [`lenenc`] reads and writes the
//! numbers and strings inside. [`compress`] is the layer that may lie between packets and socket.

pub mod compress;
mod input;
pub mod lenenc;
mod output;

pub use input::{Input, Packet};
pub use output::{Mark, Output};

/// Longest payload of one packet; a longer payload continues in the next one.
pub const CHUNK_MAX: usize = 0xFF_FFFF;

/// Bytes before a payload.
pub const HEADER: usize = 4;

/// What is wrong with bytes that should be packets. The connection cannot go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PacketError {
    /// A payload is longer than `max_allowed_packet`.
    TooLarge,
    /// A sequence number is not the next one.
    OutOfOrder,
    /// A compressed packet does not inflate to what its header says.
    BadCompression,
}
