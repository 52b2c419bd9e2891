//! SQL on the engine, without sockets: a [`Database`] is a folder opened with its accounts, variables and plans, a
//! [`Connection`] is one client's session in it. Doors (the MySQL server, the embedded library, the shell) stand on these.
//!
//! | part | module |
//! |---|---|
//! | opening, closing, what all sessions share | [`database`] |
//! | one session: statements, prepared statements, multi-statements | [`connection`], [`state`](mod@state) |
//! | where results go | [`sink`] |
//! | statements as the session runs them | [`statement`] |
//! | tables with their SQL types | [`catalog`] |
//! | the engine's errors in MySQL's words | [`error`] |
//! | expressions, functions, aggregates: compiled, evaluated | [`expr`] |
//! | names, access paths, join order; EXPLAIN | [`plan`] |
//! | running SELECT: scans, joins, sorts, groups | [`exec`] |
//! | INSERT, UPDATE, DELETE, REPLACE, LOAD DATA | [`dml`] |
//! | definitions: CREATE, ALTER, DROP; SHOW CREATE | [`ddl`] |
//! | plans by text | [`plan_cache`] |
//! | system variables, status counters | [`vars`], [`status`] |
//! | SHOW and information_schema | [`virtual_tables`] |
//! | users, grants; passwords | [`accounts`], [`password`] |
//! | who is connected and what they do; KILL; GET_LOCK | [`process`] |
//!
//! # A statement's way
//! Text → plan cache by digest, or parser (`vaquita_parser`) → plan (compiled expressions, access paths) → execution
//! into a [`ResultSink`]. A plan is immutable and shared; what one execution needs is its own.
#![forbid(unsafe_code)]

pub mod accounts;
pub mod catalog;
pub mod connection;
pub mod database;
pub mod ddl;
pub mod dml;
pub mod error;
pub mod exec;
pub mod expr;
mod logs;
pub mod password;
pub mod plan;
pub mod plan_cache;
pub mod process;
pub mod sink;
pub mod state;
pub mod statement;
pub mod status;
pub mod vars;
pub mod virtual_tables;

/// What `@@version` and the greeting say: clients look for features by the number.
pub const VERSION: &str = concat!("5.7.44-vaquita-", env!("CARGO_PKG_VERSION"));

pub use connection::{ConnectInfo, Connection, Prepared, Transport};
pub use database::{Database, DoorFlush, Options};
pub use sink::{ColumnMeta, Completion, ResultSink, SessionChange};
pub use state::SessionState;
pub use statement::{Outcome, PlanCx, Planned, StmtCx};
pub use vaquita_engine::Durability;
pub use vaquita_types::{self as types, SqlError, SqlResult, Value};
