//! Full-text indexes, read: posting lists in InnoDB's auxiliary tables, as a MySQL 5.6 server left them.
//!
//! An index has no tree. Its words are rows of six tables of the dictionary, `FTS_<table>_<index>_INDEX_1` to `_6`; what concerns all
//! full-text indexes of a table is in others, `FTS_<table>_DELETED` and so on (numbers as 16 hexadecimal digits). They are ordinary
//! tables and are read as such, under the view of the transaction.
//!
//! What the server had only in its memory when it ended is made again: documents from `synced_doc_id` on are read from the rows.
//! What makes words of texts and answers of queries is [`vaquita_fts`].
//!
//! A table that has such an index can be read and not changed ([`crate::table::Unmaintained`]): nobody here writes these tables.

mod reader;

pub use reader::FullTextReader;
pub use vaquita_fts::DocId;
pub use vaquita_fts::analyzer::{SIZE_MAX_DEFAULT, SIZE_MIN_DEFAULT};
pub use vaquita_fts::query::SyntaxError;
pub use vaquita_fts::search::{Match, Mode, SearchError, best_first};

use crate::table::Table;

/// The column that numbers the documents of FULLTEXT indexes.
pub const DOC_ID: &str = "FTS_DOC_ID";

/// The stored form of a document's number.
pub fn doc_id_key(document: u64) -> [u8; 8] {
    let mut key = [0; 8];
    vaquita_base::codec::put_u64(&mut key, 0, document);
    key
}

/// Position of the column that numbers documents; names of it have no other case.
pub fn doc_id_column(table: &Table) -> Option<usize> {
    table.columns.iter().position(|column| column.def.name == DOC_ID)
}
