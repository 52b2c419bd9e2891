//! Rollback segments, undo logs, the history list.
//!
//! An undo log holds, record by record, how a transaction's changes are taken back. A transaction has at most two, one
//! for inserts and one for updates and deletes, each in an *undo segment* of its own; both segments are in slots of one
//! of the 128 *rollback segments*. The layout of the pages is that of [`vaquita_format::undo`] and
//! [`vaquita_format::rseg`].
//!
//! ```text
//!  TRX_SYS page ── 128 slots ──► rollback segment header ── 1,024 slots ──► undo segment: first page ⇄ page ⇄ page
//!                                    │                                          log header, records
//!                                    └─ history list: newest log ⇄ ... ⇄ oldest log
//! ```
//!
//! | step | what happens | file |
//! |---|---|---|
//! | first record | a cached segment is taken, or a new one made | `log` |
//! | every record | it is appended to the last page; a full page gets a successor | `append` |
//! | older version wanted | the record at a roll pointer is copied | `read` |
//! | rollback | records are read from the newest, and cut off | `read`, `rollback` |
//! | prepare, commit | states change; the update log enters the history | `finish` |
//! | purge | the history is read in the order of commit, then freed | `history`, `truncate` |
//! | opening | unfinished transactions are found | `recover` |
//! | rows of temporary tables | logs of their own, which end otherwise | `temporary` |
//!
//! # Invariants
//! - U1: records of a transaction are numbered from 0 over both logs; within a log the numbers grow.
//! - U2: a segment is in a slot from its creation until it is freed, or, if it is to be purged, until its log is in the
//!   history.
//! - U3: the log that is the newest of a segment alone may have pages besides the first; a segment is cached only while it
//!   has one page.
//! - U4: a history list is in the order of transaction numbers.
//!
//! # Latching
//! Room in the log, the mutex of a rollback segment, its header page, undo pages (of one's own segment: the first, then
//! others; of other segments only under the mutex), then the pages of space management. See `docs/latching.md`.

mod append;
mod finish;
mod history;
mod log;
mod read;
mod recover;
mod rollback;
mod rseg;
mod tables;
mod temporary;
#[cfg(test)]
mod tests;
mod truncate;

pub use history::{History, PurgeRecord};
pub use log::TrxUndo;
pub use read::UndoBuf;
pub(crate) use rseg::FoundTrx;
pub use rseg::{RollbackSegments, create_first_rollback_segment};
pub use temporary::UndoOf;
