//! The memcached door: tables as a key-value store, with transactions and SQL on the same rows.
//!
//! | part | module |
//! |---|---|
//! | what the protocols ask of what keeps the items | [`store`] |
//! | items in tables | [`innodb`] |
//! | one connection without its socket: bytes in, bytes out | [`conn`] |
//! | sockets, loops, who is connected | [`server`] |
//! | the items of a cache in memory | [`cache`] |
//! | what the connections share: limits, users, counters | [`service`], [`stats`] |
#![forbid(unsafe_code)]

pub mod cache;
pub mod conn;
mod decimal;
pub mod innodb;
mod marks;
mod protocol;
pub mod server;
pub mod service;
pub mod stats;
pub mod store;
