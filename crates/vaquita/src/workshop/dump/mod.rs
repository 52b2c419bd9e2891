//! `dump FILE.ibd`: all rows of the clustered index, as text.

mod rows;
mod writer;

pub use rows::{DumpOptions, DumpOutcome, dump_table};
pub use writer::Format;
