//! SQL on the engine, without sockets: a [`Database`] is a folder opened with its accounts, variables and plans, a
//! [`Connection`] is one client's session in it. Doors (the MySQL server, the embedded library, the shell) stand on these.
//!
//! Modules use each other in one direction: in this table, those above use those below.
//!
//! | part | where |
//! |---|---|
//! | opening a folder | `opening` |
//! | one session: statements, prepared statements, multi-statements | [`connection`] |
//! | definitions: CREATE, ALTER, DROP; SHOW CREATE | [`ddl`] |
//! | ANALYZE, CHECK, CHECKSUM and the like | `maintain` |
//! | CREATE USER, GRANT and the like; the tables that accounts are kept in | `dcl` |
//! | SHOW | `show` |
//! | information_schema | `virtual_tables` |
//! | SET of system variables; SHOW STATUS | `set`, `status` |
//! | stored programs: found, defined, compiled | `program` |
//! | what statements get that need the whole folder | `statement` |
//! | what all sessions share; closing | [`database`] |
//! | plans by text; counters of INNODB_METRICS; the general log and the slow query log | `plan_cache`, `monitors`, `logs` |
//! | compiled stored programs | `routine` |
//! | users and what they may do, in memory | [`accounts`] |
//! | statements that this layer runs for itself | `insider` |
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
mod dcl;
pub mod ddl;
mod event;
mod insider;
mod logs;
mod maintain;
mod monitors;
mod opening;
mod plan_cache;
mod program;
#[cfg(test)]
mod query_tests;
mod routine;
mod scheduler;
mod set;
mod show;
mod statement;
mod status;
mod virtual_tables;
mod xa_branches;

pub use connection::{ConnectInfo, Connection, CreateText, Prepared, create_tables_of};
pub use database::{Database, DoorFlush};
pub use opening::Options;
pub use scheduler::{Execution, Scheduler, Step};
pub use vaquita_engine::Durability;
pub use vaquita_exec::{Outcome, PlanCx, Planned, dml};
pub use vaquita_expr as expr;
pub use vaquita_session::sink::{ColumnMeta, Completion, ResultSink, SessionChange};
pub use vaquita_session::{SessionState, Transport, VERSION, password, process, sink, state, vars};
pub use vaquita_types::{self as types, SqlError, SqlResult, Value};
