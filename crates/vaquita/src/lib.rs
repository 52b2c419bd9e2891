//! Vaquita: InnoDB, rebuilt: the library people embed, and the `vaquita` command.
//!
//! | | |
//! |---|---|
//! | a folder as an SQL database in this process | [`Database`], [`Connection`] ([`embedded`]) |
//! | the engine below, without SQL | [`engine`]; see the example `bank` |
//! | files of any MySQL 5.6 server: look, check, dump | [`workshop`] |
//! | the command line | [`cli`] |
//!
//! The last two are features (`workshop`, and `cli` for everything the command is), on by default. Without them the library is
//! the engine and its SQL, and draws in neither servers nor TLS nor the shell.
#![forbid(unsafe_code)]

#[cfg(feature = "cli")]
pub mod cli;
pub mod embedded;
pub mod engine;
mod import;
#[cfg(feature = "cli")]
mod memcached;
/// For a program's allocator: [`memory::allocated`] and [`memory::freed`] tell what it gives and takes back. Where they are
/// called, `connection_memory_limit` and `global_connection_memory_limit` can be set; elsewhere they are refused.
pub mod memory {
    pub use vaquita_sql::types::memory::account::{allocated, freed};
}
#[cfg(feature = "cli")]
mod serve;
#[cfg(feature = "cli")]
mod shell;
#[cfg(feature = "workshop")]
pub mod workshop;

pub use embedded::{
    Connection, Database, FromValue, OpenOptions, Outcome, Params, Row, Rows, Statement, ToValue, Transaction,
};
pub use vaquita_sql::types::{Date, DateTime, Decimal, Time};
pub use vaquita_sql::{SqlError as Error, Value};

// The programs of the README compile.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
