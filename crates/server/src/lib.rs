//! The MySQL door: connections, authentication, packets.
//!
//! | part | module |
//! |---|---|
//! | starting and ending a server | [`server`] |
//! | packets in bytes | [`packet`] |
//! | what packets mean | [`protocol`] |
//! | one client from greeting to good-bye | `connection` |
//! | sockets with compression | `channel` |
//! | the house behind the door; the database as one | [`backend`], [`database`] |
//! | hosts that are shut out | [`hosts`] |
//! | the error log | [`error_log`] |
//!
//! A request's way: the loop's epoll set tells of a socket; [`packet::Input`] finds packets in what it gave; a command
//! runs a statement of the session, whose rows are encoded straight into the thread's output buffer; one send. How a
//! waiting statement gives its loop away, and how a commit waits without a thread, is told in [`vaquita_net::reactor`].
#![forbid(unsafe_code)]

pub mod backend;
mod challenge;
mod channel;
mod connection;
pub mod database;
mod decoy;
pub mod error_log;
mod errors;
pub mod hosts;
pub mod packet;
pub mod protocol;
pub mod server;
mod sha2_cache;
mod shared;

pub use database::DatabaseBackend;
pub use error_log::ErrorLog;
pub use server::{Server, ServerOptions};
pub use vaquita_net::tls;
