//! Whole-storage simulation: random work on a simulated disk, power cuts and faults at random moments, recovery, and
//! comparison with a model. One seed fixes everything.
//!
//! | part | file |
//! |---|---|
//! | what a seed chooses | [`scenario`] |
//! | the machine: disk, storage, services as steps | [`machine`] |
//! | what works on it, and what should be there | [`workload`], [`pages`], [`trees`], [`history`] |
//! | running a scenario, faults and what must hold after them | [`run`] |
//! | errors, as a judge sees them | [`stop`] |
//! | a real process, killed | [`kill9`] |
//! | the whole engine: tables, transactions, DDL | [`database`] |
//! | tables written anew, recovery short of memory | [`rebuilds`] |
//!
//! # What must hold
//! - P1: after a crash the log ends at an LSN that is at least what was reported durable and at most what was
//!   appended, and everything equals the models at exactly that LSN.
//! - P2: every structure is valid after every recovery.
//! - P3: recovery may be interrupted as often as it likes, and its result is durable when it has ended.
//! - P4: after a failed write or sync no change is accepted until the folder is opened again.
//! - P5: a failed read, a full disk: an error for whoever asked, and nothing else.
//! - P6: damaged pages are reported with their names or repaired, never served.
//! - P7: after a clean shutdown there is nothing to recover, and every page of every file passes its checks.
//!
//! The canaries ([`scenario::Canary`]) break the engine on purpose; tests demand that they are caught.
#![forbid(unsafe_code)]

pub mod database;
mod files;
pub mod history;
pub mod kill9;
pub mod machine;
pub mod pages;
pub mod rebuilds;
pub mod run;
pub mod scenario;
pub mod stop;
pub mod trees;
pub mod workload;

pub use run::{Failure, Report, Simulator};
pub use scenario::{Canary, Scenario};
