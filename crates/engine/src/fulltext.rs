//! Full-text indexes: posting lists in InnoDB's auxiliary tables (`dict::fulltext`), as a MySQL 5.6 server has them. Making and dropping them is
//! [`crate::ddl`]'s.
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

pub use crate::dict::fulltext::{DOC_ID, DOC_ID_INDEX, doc_id_column, doc_id_key};
pub use reader::FullTextReader;
pub use vaquita_fts::DocId;
pub use vaquita_fts::analyzer::{SIZE_MAX_DEFAULT, SIZE_MIN_DEFAULT};
pub use vaquita_fts::query::SyntaxError;
pub use vaquita_fts::search::{Match, Mode, SearchError, best_first};
