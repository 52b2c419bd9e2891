//! The numbers of items: each is given once, so that an item which was changed never has a number it had before.
//!
//! Connections take blocks; nothing is shared between two blocks. The first block of a process begins at the clock's
//! microseconds times 256: numbers of an earlier process are below, unless it gave more than 256 per microsecond of its
//! life or the clock was set back meanwhile. They stay below 2^63 until the year 3100: a signed BIGINT holds them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Numbers a connection takes at a time.
const BLOCK: u64 = 64;

/// Where blocks come from.
#[derive(Debug)]
pub(crate) struct Numbers(AtomicU64);

impl Numbers {
    /// Begins at the clock.
    pub(crate) fn new() -> Numbers {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Numbers(AtomicU64::new((now.as_micros() as u64) << 8))
    }
}

/// The block of one connection.
#[derive(Debug, Default)]
pub(crate) struct Block {
    next: u64,
    end: u64,
}

impl Block {
    /// A number that nobody else gets.
    #[inline]
    pub(crate) fn take(&mut self, from: &Numbers) -> u64 {
        if self.next == self.end {
            self.next = from.0.fetch_add(BLOCK, Ordering::Relaxed);
            self.end = self.next + BLOCK;
        }
        self.next += 1;
        self.next
    }
}
