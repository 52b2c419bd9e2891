//! SQL on the engine, without sockets: a [`Database`] is a folder opened with its accounts, variables and plans, a
//! [`Connection`] is one client's session in it. Doors (the MySQL server, the embedded library, the shell) stand on these.
//!
//! | part | where |
//! |---|---|
//! | opening, closing, what all sessions share | [`database`] |
//! | one session: statements, prepared statements, multi-statements | [`connection`] |
//! | definitions: CREATE, ALTER, DROP; SHOW CREATE | [`ddl`] |
//! | ANALYZE, CHECK, CHECKSUM and the like | `maintain` |
//! | plans by text | `plan_cache` |
//! | SET of system variables; status counters | `set`, [`status`] |
//! | SHOW and information_schema | [`virtual_tables`] |
//! | users, grants | [`accounts`] |
//! | what a session remembers, variables, privileges, results | [`vaquita_session`] |
//! | tables with their SQL types | [`vaquita_catalog`] |
//! | expressions; names and access paths; running plans | [`vaquita_expr`], [`vaquita_plan`], [`vaquita_exec`] |
//!
//! # A statement's way
//! Text → plan cache by digest, or parser (`vaquita_parser`) → plan (compiled expressions, access paths) → execution
//! into a [`ResultSink`]. A plan is immutable and shared; what one execution needs is its session's.
#![forbid(unsafe_code)]

pub mod accounts;
pub mod connection;
pub mod database;
pub mod ddl;
mod logs;
mod maintain;
mod plan_cache;
#[cfg(test)]
mod query_tests;
mod set;
mod statement;
pub mod status;
pub mod virtual_tables;

pub use connection::{ConnectInfo, Connection, Prepared, Transport};
pub use database::{Database, DoorFlush, Options};
pub use vaquita_engine::Durability;
pub use vaquita_exec::{Outcome, PlanCx, Planned, dml};
pub use vaquita_expr as expr;
pub use vaquita_session::sink::{ColumnMeta, Completion, ResultSink, SessionChange};
pub use vaquita_session::{SessionState, VERSION, password, process, sink, state, vars};
pub use vaquita_types::{self as types, SqlError, SqlResult, Value};
