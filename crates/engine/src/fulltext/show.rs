//! What is in full-text indexes, for whoever wants to look: INNODB_FT_INDEX_TABLE and the like.

use super::auxiliary::{self, COUNT, FIRST, ILIST, LAST, Reading, WORD};
use crate::core::Core;
use crate::cursor::{Cursor, ReadOptions};
use crate::dict::fulltext::{STOPWORD_TABLE, SYNCED_DOC_ID, USE_STOPWORD};
use crate::error::{Error, Result};
use crate::table::Table;
use std::sync::Arc;
use vaquita_format::charset::Charset;
use vaquita_fts::DocId;
use vaquita_fts::ilist::Node;

/// The settings that are shown, in the order of 5.6.24.
const SETTINGS: [&str; 4] = ["optimize_checkpoint_limit", SYNCED_DOC_ID, STOPWORD_TABLE, USE_STOPWORD];

/// A word in the documents of a list.
#[derive(Debug)]
pub struct ShownList<'l> {
    /// The word.
    pub word: &'l [u8],
    /// Its character set.
    pub charset: Charset,
    /// The list.
    pub node: &'l Node,
}

/// Words that are in memory only, index by index in their order.
///
/// # Errors
/// Those of reading; of `each`.
pub fn cached_words<E: From<Error>>(
    core: &Core,
    table: &Arc<Table>,
    mut each: impl FnMut(ShownList<'_>) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    let caches = core.documents.with(table, |loaded| {
        let caches = loaded.indexes.iter().map(|index| (index.analyzer.clone(), index.cache.clone()));
        caches.collect::<Vec<_>>()
    })?;
    for (analyzer, cache) in caches {
        let charset = analyzer.collation().charset();
        for word in cache.read().lists() {
            for node in &word.nodes {
                each(ShownList { word: &word.text, charset, node })?;
            }
        }
    }
    Ok(())
}

/// Words that are in the auxiliary tables, index by index in their order.
///
/// # Errors
/// Those of reading; of `each`.
pub fn written_words<E: From<Error>>(
    core: &Core,
    table: &Arc<Table>,
    mut each: impl FnMut(ShownList<'_>) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    let mut reading = Reading::begin(core);
    for index in &table.fulltext {
        let charset = super::collation_of(table, index)?.charset();
        for words in auxiliary::words(core, table, index.id)? {
            let columns = [WORD, FIRST, LAST, COUNT, ILIST];
            let mut cursor = Cursor::open(words.clone(), &ReadOptions::by_index(0).columns(columns))?;
            while let Some(row) = cursor.next(core, &mut reading.trx)? {
                let word = row.column(0).unwrap_or_default().to_vec();
                let node = auxiliary::node(&words, &row)?;
                each(ShownList { word: &word, charset, node: &node })?;
            }
        }
    }
    Ok(())
}

/// Documents that are gone and may be in lists; with `being`, those that OPTIMIZE TABLE is removing from them.
///
/// # Errors
/// Those of reading.
pub fn deleted(core: &Core, table: &Arc<Table>, being: bool) -> Result<Vec<DocId>> {
    let name = if being { auxiliary::BEING_DELETED } else { auxiliary::DELETED };
    let deleted = auxiliary::common(core, table, name)?;
    auxiliary::documents(core, &mut Reading::begin(core).trx, &deleted)
}

/// Settings of the indexes, by name.
///
/// # Errors
/// Those of reading.
pub fn settings(core: &Core, table: &Arc<Table>) -> Result<Vec<(&'static str, String)>> {
    let mut reading = Reading::begin(core);
    let config = auxiliary::common(core, table, "CONFIG")?;
    let mut shown = Vec::new();
    for name in SETTINGS {
        let value = auxiliary::setting(core, &mut reading.trx, &config, name)?;
        // Words are left out unless it is said that they are not.
        let value = value.or_else(|| (name == USE_STOPWORD).then(|| b"1".to_vec())).unwrap_or_default();
        shown.push((name, String::from_utf8_lossy(&value).into_owned()));
    }
    Ok(shown)
}
