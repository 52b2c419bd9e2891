//! The memcached door: tables as a key-value store, with transactions and SQL on the same rows.
//!
//! | part | module |
//! |---|---|
//! | what the protocols ask of what keeps the items | [`store`] |
#![forbid(unsafe_code)]

pub mod store;
