//! Isolation: what concurrent transactions see of each other, held against the original.
//!
//! Two independent halves:
//!
//! | half | question | judge |
//! |---|---|---|
//! | [`script`], golden files | does *this* schedule of statements give the same rows, errors and waits? | a recording of MySQL 5.6.24 |
//! | [`history`], [`workload`] | does *any* schedule of random transactions show what its level forbids? | cycles in the graph of dependencies |
//!
//! A script (`scripts/*.script`) is a table, a few sessions and their steps. The recorder plays it at each isolation
//! level on the real server and writes `golden/SCRIPT.LEVEL`; the same scheduler plays it on other servers, and the
//! transcripts must be equal to the letter. Whether a step waits is asked of the server's lock manager, never
//! guessed from time.
//!
//! A history is what eight threads of random transactions have done and seen. The checker builds the direct
//! serialization graph (Adya's: who overwrote, who read what whom) and looks for the anomalies that the level forbids,
//! as [`history::rules`] states them for InnoDB.
#![forbid(unsafe_code)]

pub mod engine;
pub mod golden;
pub mod history;

pub mod level;
pub mod mysql;
pub mod recording;
pub mod script;
pub mod sql;
pub mod workload;

pub use level::Level;
