//! The storage core: buffer pool, redo log, mini-transactions, recovery, tablespaces.
//!
//! Knows pages, files and the log; knows nothing of records, trees and transactions. One [`Storage`] owns everything;
//! several live in one process. Every background service is a step function; [`Services`] runs them in threads.

pub mod buf;
pub mod built;
#[cfg(feature = "canary")]
pub mod canary;
mod cleaning;
mod doublewrite;
pub mod error;
pub mod flush;
mod folders;
mod frames;
pub mod fsp;
pub mod latch;
#[cfg(test)]
mod latch_model;
#[cfg(test)]
mod latch_tests;
mod links;
mod live;
pub mod log;
pub mod mtr;
mod opening;
pub mod options;
mod origin;
pub mod page_cleaner;
mod recovery;
mod report;
mod services;
pub mod space;
mod storage;
mod sync;
mod system;
mod table_spaces;
pub mod temporary;

pub use error::{Error, Result};
pub use frames::{OptimisticBytes, WINDOW};
pub use live::{FlushNeighbors, LiveSettings};
pub use mtr::{Mtr, PageRef};
pub use options::{ForceRecovery, Options, Progress, SystemFile};
pub use origin::{Origin, origin};
pub use report::{OpenReport, RecoveryReport};
pub use services::Services;
pub use storage::Storage;
pub use system::{Bootstrap, NoBootstrap};
pub use table_spaces::{FileChange, LoggedChanges};
