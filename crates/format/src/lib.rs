//! InnoDB's on-disk formats as pure code over byte slices.
//!
//! Tablespaces are those of MySQL 5.6, byte for byte. No I/O, no threads, no latches: every function takes
//! bytes and gives values or bytes. Bytes are input here: whatever they hold, decoding returns an error and never
//! panics. One module per structure, encode and decode side by side.
#![forbid(unsafe_code)]

// Ground.
mod ascii;
pub mod error;
pub mod page_size;

// Pages and files.
pub mod checksum;
pub mod dict;
pub mod fil;
pub mod flags;
pub mod flst;
pub mod fsp;
pub mod ibuf;
pub mod maker;
pub mod redo_file;
pub mod redo_rec;
pub mod rseg;
pub mod trx_sys;
pub mod undo;

// Index pages, records, values.
pub mod blob;
pub mod collation;
pub mod column;
pub mod index_def;
pub mod index_page;
pub mod record;
pub mod record_layout;
pub mod redo_apply;
pub mod roots;
pub mod row_format;
pub mod tuple;
pub mod value;
pub mod zip;

// Metadata files.
pub mod cfg;
pub mod charset;
pub mod filename;
pub mod frm;
pub mod frm_view;
mod packed;
pub mod par;
mod server_text;
pub mod text;
pub mod trg;

pub use error::{Corruption, Result};
pub use page_size::PageSize;
