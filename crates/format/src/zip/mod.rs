//! Compressed tables: index pages of KEY_BLOCK_SIZE tables and their off-page columns, read.
//!
//! A compressed index page of Z bytes stands for a logical COMPACT page of P bytes:
//!
//! | from | content |
//! |---|---|
//! | 0 | FIL header and index page header of the logical page |
//! | 94 | zlib stream: field description, full flush, heap contents |
//! | after it | modification log, ended by a zero byte |
//! | | zeros |
//! | growing down from Z | dense directory: two bytes per record |
//! | below | per heap number: child page (node pages), DB_TRX_ID and DB_ROLL_PTR (clustered leaves) |
//! | below | external references of records that are not garbage (clustered leaves) |
//!
//! What changes often is kept outside the stream, so that it need not be compressed again: headers of records follow
//! from the dense directory, system columns and references lie below it, and whole records are appended to the
//! modification log. [`Unzip`] puts the logical page together; it passes [`crate::index_page::validate`] like any
//! other. [`fields`] reads the field description, from which alone records can be taken apart; [`chain`] reads columns.
//!
//! There is no trailer on pages of compressed tables, and the logical page's last eight bytes are zero. Checksums are
//! the caller's business (see [`crate::checksum`]).
//!
//! Writing such pages (deflating them, appending to the log, splitting when it fails) belongs here too; its redo is
//! of the ZIP_* types.

pub mod chain;
pub mod fields;
mod log;
mod page;

pub use chain::inflate_chain;
pub use page::{Unzip, ZipInfo};
