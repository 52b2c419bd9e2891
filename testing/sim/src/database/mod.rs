//! The whole engine on the simulated machine: random statements of several sessions, savepoints, rollbacks, DDL, some of it beside
//! statements of others, purge, power cuts and kills; after each crash, and at the end, everything is compared with a model.
//!
//! # What must hold
//! - D1: after a crash the tables are those of some prefix of the commits, in their order, that has all commits whose
//!   durability was reported. A DDL statement is such a commit.
//! - D2: a consistent read sees its snapshot and its own changes, by every index.
//! - D3: a statement that fails changes nothing; a rollback, also to a savepoint, takes back exactly what it should.
//! - D4: when all is quiet, every index of a table agrees with its rows, the history is empty, and the files are
//!   exactly those of the tables.
//!
//! Everything runs on one thread. A lock that is not free is a timeout at once.

mod alter;
mod check;
pub mod kill9;
mod model;
mod run;
mod shapes;
mod work;

pub use run::{DatabaseFailure, DatabaseReport, DatabaseSimulator};
