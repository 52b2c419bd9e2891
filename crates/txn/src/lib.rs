//! Transactions: ids, rollback segments and undo logs, read views, locks.
//!
//! A [`TrxSystem`] owns everything that transactions of one folder share; a [`Trx`] is one transaction, or the object a
//! session keeps for one after the other. This crate knows pages of undo and locks by page and heap number; it knows
//! nothing of what a table means: the layer above writes undo records, takes rows back by them and purges.
//!
//! | part | module |
//! |---|---|
//! | ids, the set of active transactions, start, commit, prepare | [`trx_sys`], [`trx`] |
//! | in which order they begin and commit | `commit_order` |
//! | read views | [`read_view`] |
//! | rollback segments, undo logs, history | [`undo`] |
//! | locks of tables and records, waits, deadlocks | [`lock`], on `claim` |
//! | the hook around waits | [`wait`] |
#![forbid(unsafe_code)]

mod claim;
mod commit_order;
pub mod error;
pub mod lock;
pub mod options;
pub mod read_view;
pub mod trx;
mod trx_shared;
pub mod trx_sys;
pub mod undo;
mod views;
pub mod wait;

pub use error::{Error, Result};
pub use lock::{LockMode, LockSys, RecordLockKind};
pub use options::Options;
pub use read_view::ReadView;
pub use trx::{AccessMode, Isolation, Trx, TrxRef, TrxShared, TrxState};
pub use trx_sys::{Resurrected, TrxHandle, TrxInfo, TrxMetrics, TrxSystem};
