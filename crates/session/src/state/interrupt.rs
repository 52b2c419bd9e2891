//! How others end what a session does.

use std::sync::atomic::{AtomicU8, Ordering};

const NONE: u8 = 0;
const QUERY: u8 = 1;
const CONNECTION: u8 = 2;

/// Set by KILL on the killer's thread, looked at by the session's.
#[derive(Debug, Default)]
pub struct Interrupt(AtomicU8);

impl vaquita_types::memory::account::Ending for Interrupt {
    fn is_wanted(&self) -> bool {
        self.is_set()
    }
}

impl Interrupt {
    /// Whether the present statement is to end.
    #[inline]
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed) != NONE
    }

    /// Whether the connection is to end.
    pub fn ends_connection(&self) -> bool {
        self.0.load(Ordering::Relaxed) == CONNECTION
    }

    /// Ends the present statement, or with `connection` everything.
    pub fn set(&self, connection: bool) {
        self.0.fetch_max(if connection { CONNECTION } else { QUERY }, Ordering::Relaxed);
    }

    /// A new statement begins: what was meant for the one before is over.
    pub fn clear_query(&self) {
        // Nothing to do in nearly all cases: no write to a line that others may look at.
        if self.is_set() {
            let _ = self.0.compare_exchange(QUERY, NONE, Ordering::Relaxed, Ordering::Relaxed);
        }
    }
}
