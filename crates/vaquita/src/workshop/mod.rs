//! The workshop: look at, check and dump InnoDB's files, without a server and without changing them.
//!
//! | command | module |
//! |---|---|
//! | `inspect FILE` | [`inspect`] |
//! | `check PATH` | [`check`] |
//! | `dump FILE.ibd` | [`dump`] |
//!
//! Everything reads pages through [`PageSource`], so the checks work on a buffer pool as well as on files. Pages are
//! read one at a time: memory does not grow with the file, but for one byte per page and what the file's own
//! metadata takes. Damaged input is reported with its page and skipped; nothing here panics on any bytes.

pub mod blob;
pub mod catalog;
pub mod check;
pub mod damaged;
pub mod definition;
pub mod dictionary;
pub mod dump;
pub mod in_use;
pub mod inspect;
pub mod links;
pub mod metadata;
pub mod progress;
pub mod recovered;
pub mod redo;
pub mod report;
pub mod roots;
pub mod source;
pub mod walk;

pub use metadata::TableInfo;
pub use report::{Finding, Report};
pub use source::{PageSource, ReadError, SpaceFile};
