//! What goes over the wire: three protocols in front of one [`Store`](crate::store::Store).
//!
//! | part | module |
//! |---|---|
//! | text commands | [`text`], values for them in [`storage`] |
//! | meta commands | [`meta`] |
//! | binary frames | [`binary`] |
//! | a connection between two commands | [`state`] |
//! | gets that came together, answered in one visit of the store | [`run`] |
//! | stretches of keys: `rget`, `mr` | [`range`] |
//! | `stats` in both protocols | [`stats`] |

pub(crate) mod binary;
pub(crate) mod meta;
pub(crate) mod range;
pub(crate) mod run;
pub(crate) mod state;
pub(crate) mod stats;
pub(crate) mod storage;
pub(crate) mod text;
pub(crate) mod words;

use crate::service::Service;
use crate::store::{Expiry, Failure};

/// Seconds up to which an expiry counts from now; beyond, from 1970.
const RELATIVE_MAX: i64 = 60 * 60 * 24 * 30;

/// What a command works with.
#[derive(Debug)]
pub(crate) struct Context<'a, S> {
    pub(crate) service: &'a Service,
    /// Seconds since 1970.
    pub(crate) now: u32,
    pub(crate) store: &'a mut S,
    pub(crate) out: &'a mut Vec<u8>,
}

impl<S> Context<'_, S> {
    /// Answers with a line.
    pub(crate) fn line(&mut self, line: &str) {
        self.out.extend_from_slice(line.as_bytes());
        self.out.extend_from_slice(b"\r\n");
    }

    /// Answers with the line of a failure.
    pub(crate) fn failure(&mut self, failure: &Failure) {
        self.count_failure(failure);
        push_failure(self.out, failure);
    }

    /// Counts what memcached counts of failures.
    pub(crate) fn count_failure(&self, failure: &Failure) {
        match failure {
            Failure::TooLarge => self.service.stats.store_too_large.add(1),
            Failure::NoMemory => self.service.stats.store_no_memory.add(1),
            _ => {}
        }
    }

    /// Whether there are answers enough for now.
    pub(crate) fn is_full(&self) -> bool {
        self.out.len() >= self.service.limits.output_max
    }
}

/// Appends the line of a failure. What it says must not end the line early.
pub(crate) fn push_failure(out: &mut Vec<u8>, failure: &Failure) {
    let kind = match failure {
        Failure::Client(_) | Failure::NotSupported(_) => "CLIENT_ERROR ",
        Failure::TooLarge | Failure::Busy(_) | Failure::NoMemory | Failure::Server(_) => "SERVER_ERROR ",
    };
    out.extend_from_slice(kind.as_bytes());
    let text = failure.to_string();
    out.extend(text.bytes().map(|byte| if byte.is_ascii_control() { b' ' } else { byte }));
    out.extend_from_slice(b"\r\n");
}

/// The moment a client means: 0 never, below 0 at once, up to 30 days from now, else since 1970.
pub(crate) fn expiry(seconds: i64, now: u32) -> Expiry {
    let moment = match seconds {
        0 => return Expiry(0),
        ..0 => 1,
        1..=RELATIVE_MAX => i64::from(now) + seconds,
        _ => seconds,
    };
    let moment = u32::try_from(moment).unwrap_or(u32::MAX);
    Expiry(if moment <= now { 1 } else { moment })
}

/// Seconds an item has left; -1 for ever.
pub(crate) fn seconds_left(expires: Expiry, now: u32) -> i64 {
    match expires {
        Expiry(0) => -1,
        Expiry(moment) => i64::from(moment.saturating_sub(now)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expiry_is_relative_up_to_thirty_days() {
        let now = 1_700_000_000;
        for (seconds, moment) in [
            (0, 0),
            (-1, 1),
            (1, now + 1),
            (2_592_000, now + 2_592_000),
            (2_592_001, 1),
            (1_800_000_000, 1_800_000_000),
            (i64::MAX, u32::MAX),
            (i64::MIN, 1),
        ] {
            assert_eq!(expiry(seconds, now), Expiry(moment), "{seconds}");
        }
    }

    #[test]
    fn a_failure_is_one_line() {
        let mut out = Vec::new();
        push_failure(&mut out, &Failure::Server("a\r\nSTORED".into()));
        assert_eq!(out, b"SERVER_ERROR a  STORED\r\n");
    }
}
