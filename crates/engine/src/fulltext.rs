//! Full-text indexes: posting lists in InnoDB's auxiliary tables ([`crate::dict::fulltext`]). Making and dropping them is
//! [`crate::ddl`]'s.
//!
//! An index has no tree. Its words are rows of six tables of the dictionary, `FTS_<table>_<index>_INDEX_1` to `_6`; what concerns all
//! full-text indexes of a table is in others, `FTS_<table>_DELETED` and so on (numbers as 16 hexadecimal digits). They are ordinary
//! tables, which the engine keeps itself.
//!
//! Words of documents whose numbers are from `synced_doc_id` on are in memory only ([`crate::documents`]); they are made of the rows
//! again when a folder is opened. What makes words of texts and answers of queries is [`vaquita_fts`].
//!
//! | part | module |
//! |---|---|
//! | auxiliary tables, opened and changed | `auxiliary` |
//! | what the files have, read when a table is first used | `load` |
//! | what commits do | `commit` |
//! | writing words | `sync` |
//! | removing deleted documents | `optimize` |
//! | which words are left out | [`stopwords`] |
//! | searches | `reader` |
//! | how long documents are | `lengths` |
//! | holding indexes against rows | `verify` |
//! | what is in an index, to be looked at | [`show`] |

pub(crate) mod auxiliary;
mod commit;
mod lengths;
mod load;
mod optimize;
mod reader;
pub mod show;
pub mod stopwords;
mod sync;
mod verify;

pub use crate::dict::fulltext::{AuxiliaryColumns, DOC_ID, DOC_ID_INDEX, doc_id_column, doc_id_key};
pub use crate::documents::Settled;
pub(crate) use commit::{after_commit, before_commit};
pub(crate) use load::load;
pub use reader::FullTextReader;
pub(crate) use sync::write_all;
pub use vaquita_fts::DocId;
pub use vaquita_fts::analyzer::{Analyzer, SIZE_MAX_DEFAULT, SIZE_MIN_DEFAULT};
pub use vaquita_fts::ilist::Postings;
pub use vaquita_fts::parser;
pub use vaquita_fts::partition::Split;
pub use vaquita_fts::query::SyntaxError;
pub use vaquita_fts::ranking::{NamedRanking, Ranking, RankingError};
pub use vaquita_fts::search::{BestFirst, Match, Mode, SearchError, best_first};
pub use vaquita_fts::snippet;
pub use vaquita_fts::stopwords::DEFAULT as DEFAULT_STOPWORDS;

use crate::core::Core;
use crate::error::{Error, Result};
use crate::table::{FullTextIndex, Table};
use std::sync::Arc;
use vaquita_format::collation::Collation;

/// Writes the words that are in memory only, and removes deleted documents from the lists of at most so many words
/// (`ft_num_word_optimize`): what OPTIMIZE TABLE does under `optimize_fulltext_only`. Whether all are removed. The caller has a
/// metadata lock on the table.
///
/// # Errors
/// Those of reading and changing rows. What was done stays; the next call goes on.
pub fn optimize(core: &Core, table: &Arc<Table>, words_max: u64) -> Result<bool> {
    optimize::optimize(core, table, words_max)
}

/// Removes deleted documents of tables of which `ft_optimize_deleted` or more are from the lists of some words: what runs in the
/// background. Whether there is more to do.
///
/// # Errors
/// Those of reading and changing rows. What was done stays; the next call goes on.
pub fn optimize_step(core: &Core) -> Result<bool> {
    optimize::step(core)
}

/// Holds the full-text indexes of a table against its rows; nobody changes it meanwhile. `go_on` is asked before every row.
///
/// # Errors
/// [`Error::Corrupt`] says what is wrong; [`Error::Interrupted`]; those of reading.
pub fn check(core: &Core, table: &Arc<Table>, go_on: &mut dyn FnMut() -> bool) -> Result<()> {
    verify::check(core, table, go_on)
}

/// Bytes of the words of all tables that are in memory only.
pub fn cached_bytes(core: &Core) -> u64 {
    core.documents.cached_bytes()
}

/// Bytes of what is kept of lists that were read.
pub fn kept_bytes(core: &Core) -> u64 {
    core.documents.counts.bytes()
}

/// Keeps no more than so many bytes of them from now on.
pub fn limit_kept(core: &Core, bytes: u64) {
    core.documents.counts.limit(bytes);
}

/// Writes the words that are in memory only: `synced_doc_id` is behind the last document then.
///
/// # Errors
/// Those of reading and changing rows.
pub fn flush(core: &Core, table: &Arc<Table>) -> Result<()> {
    core.documents.with(table, |_| ())?;
    sync::write(core, table).map(drop)
}

/// What makes words of texts of a collation, with the parser of an index, or InnoDB's own way; else what is wrong. All of its words count.
pub(crate) fn analyzer(
    core: &Core,
    index: &FullTextIndex,
    collation: Collation,
) -> std::result::Result<Analyzer, String> {
    let split = split_of(index, collation)?;
    let analyzer = Analyzer::innodb(collation).with_sizes(core.options.word_sizes.clone()).with_split(split);
    with_parser(core, index, analyzer)
}

/// What makes words of texts of a collation as an index does with its own, stopwords included; the caller has a metadata lock on the table.
///
/// # Errors
/// [`Error::TableUnusable`]: its parser is not there; those of reading stopwords.
pub fn words_of(
    core: &Core,
    table: &Arc<Table>,
    index: &FullTextIndex,
    collation: Collation,
) -> Result<Analyzer> {
    let stopwords = core.documents.with(table, |loaded| loaded.stopwords.clone())?;
    let analyzer = Analyzer::innodb(collation).with_sizes(core.options.word_sizes.clone());
    let analyzer = with_parser(core, index, analyzer).map_err(|e| Error::TableUnusable {
        table: table.name.clone(),
        detail: format!("FULLTEXT index {}: {e}", index.name),
        damaged: false,
    })?;
    Ok(match stopwords {
        Some(known) => analyzer.with_stopwords(&known.list),
        None => analyzer,
    })
}

/// The same with the parser of an index, if it names one.
fn with_parser(
    core: &Core,
    index: &FullTextIndex,
    analyzer: Analyzer,
) -> std::result::Result<Analyzer, String> {
    let Some(name) = index.parser.as_deref() else { return Ok(analyzer) };
    let parser = core.options.parsers.make(name, analyzer.collation().charset());
    let parser = parser.ok_or_else(|| format!("there is no parser {name}"))?;
    Ok(analyzer.with_parser(parser))
}

/// How the words of an index are divided among its tables.
fn split_of(index: &FullTextIndex, collation: Collation) -> std::result::Result<Split, String> {
    match &index.split {
        Some(split) => Split::of(split, collation).map_err(|e| e.to_string()),
        None => Ok(Split::Innodb),
    }
}

/// The collation of the words of an index.
fn collation_of(table: &Table, index: &FullTextIndex) -> Result<Collation> {
    let first = index.columns.first().and_then(|column| table.columns.get(*column));
    let collation = first.and_then(|column| Collation::of(column.def.collation_id()));
    collation.ok_or_else(|| Error::TableUnusable {
        table: table.name.clone(),
        detail: format!("FULLTEXT index {}: the order of its words is not known", index.name),
        damaged: false,
    })
}
