//! A server under siege: clients that break rules ([`ABUSES`]), each with the answers MySQL gives them, beside sessions
//! that move money ([`load`]) and count by memcached's protocol ([`items`]), while memory, files, threads and sessions are watched ([`Vitals`]).
//!
//! Everything goes over real sockets to a server process. Tests run every abuse once; `cargo xtask torture` runs all of
//! them for an hour, and a second server that is killed again and again.
#![forbid(unsafe_code)]

mod abuse;
mod death;
mod flood;
pub mod items;
pub mod load;
mod siege;
mod vitals;

pub use abuse::{ABUSES, Abuse, Target, prepare};
pub use siege::{Report, crashes, siege};
pub use vitals::{Vitals, has_grown};

pub use vaquita_clients::Failure;

/// Options of a server that [`ABUSES`] expects: small limits, so that they are reached.
pub const OPTIONS: [&str; 9] = [
    "--max-connections=40",
    "--connect-timeout=2",
    "--net-read-timeout=2",
    "--net-write-timeout=4",
    "--max-allowed-packet=1M",
    "--max-connect-errors=5",
    "--innodb-buffer-pool-size=16M",
    "--innodb-log-file-size=8M",
    "--bind-address=0.0.0.0",
];

/// Fails with a text unless something is so.
pub(crate) fn sure(so: bool, what: impl FnOnce() -> String) -> Result<(), Failure> {
    if so { Ok(()) } else { Err(Failure(what())) }
}
