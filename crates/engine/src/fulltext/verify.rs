//! Checking a full-text index against the rows: whether its lists have the words of the rows, all of them, where they are.
//!
//! Both sides are added up: each word of a document, with its places, is a number, and the sum does not depend on the order. So it
//! takes no memory however large the index is; two sums of 64 bits that are equal by chance are not to be feared. Lists are held
//! against their own rules, too, and words must be in the table where they are looked for.
//!
//! A document with an empty text before another one may have either of two places for its words ([`as_built_by_server`]): of those it is
//! counted how often each word comes. The numbers of such documents are kept, 8 bytes each.
//!
//! Words that are stopwords, or spelled otherwise than one, are left aside: whether a document of a MySQL server has them depends on the
//! order of its words.
//!
//! Nobody may change the table meanwhile.

use super::auxiliary::{self, COUNT, FIRST, ILIST, LAST, Reading, WORD};
use super::load::read_documents;
use crate::core::Core;
use crate::cursor::{Cursor, ReadOptions, Seek};
use crate::error::{Error, Result};
use crate::table::{FullTextIndex, Table};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use vaquita_fts::DocId;
use vaquita_fts::analyzer::{Analyzer, as_built_by_server};
use vaquita_fts::ilist::Node;

/// Words of documents, added up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Sum {
    /// How many pairs of a word and a document.
    pairs: u64,
    sum: u64,
}

impl Sum {
    fn add(&mut self, key: &[u8], doc: DocId, positions: &[u32]) {
        let mut hasher = DefaultHasher::new();
        (key, doc.0, positions).hash(&mut hasher);
        self.pairs += 1;
        self.sum = self.sum.wrapping_add(hasher.finish());
    }
}

/// Checks the full-text indexes of a table; `go_on` is asked before every row.
///
/// # Errors
/// [`Error::Corrupt`] says the first rule broken, and where; [`Error::Interrupted`]; those of reading.
pub(super) fn check(core: &Core, table: &Arc<Table>, go_on: &mut dyn FnMut() -> bool) -> Result<()> {
    if table.fulltext.is_empty() {
        return Ok(());
    }
    let of = core.documents.of(table.id);
    let _nobody_writes = of.writing.lock();
    for (at, index) in table.fulltext.iter().enumerate() {
        let analyzer = core.documents.with(table, |loaded| loaded.indexes[at].analyzer.clone())?;
        let (rows, counted) = sum_of_rows(core, table, index, &analyzer, go_on)?;
        let lists = sum_of_lists(core, table, index, &analyzer, &counted, go_on)?;
        if rows != lists {
            return Err(broken(
                table,
                index,
                &format!(
                    "its lists have {} words of documents and the rows have {}, or they are others",
                    lists.pairs, rows.pairs
                ),
            ));
        }
    }
    Ok(())
}

fn broken(table: &Table, index: &FullTextIndex, detail: &str) -> Error {
    Error::Corrupt(format!("table {}: FULLTEXT index {}: {detail}", table.name, index.name))
}

/// The sum, and the documents whose words are only counted, in ascending order.
fn sum_of_rows(
    core: &Core,
    table: &Arc<Table>,
    index: &FullTextIndex,
    analyzer: &Analyzer,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<(Sum, Vec<DocId>)> {
    let (mut sum, mut counted, mut ended) = (Sum::default(), Vec::new(), false);
    read_documents(&mut Reading::begin(core), table, DocId(0), Seek::GreaterOrEqual, &mut |doc, texts| {
        let mut words = BTreeMap::<Box<[u8]>, Vec<u32>>::new();
        let columns: Vec<_> = index.columns.iter().map(|column| texts.of(*column)).collect();
        let is_counted = as_built_by_server(&columns).is_some();
        if is_counted {
            counted.push(doc);
        }
        analyzer.document(columns, |word, position| {
            if analyzer.is_near_stopword(word) {
                return;
            }
            let positions = words.entry(analyzer.key(word)).or_default();
            if positions.last().is_none_or(|&last| last < position) {
                positions.push(position);
            }
        });
        for (key, positions) in &mut words {
            if is_counted {
                positions.fill(0);
            }
            sum.add(key, doc, positions);
        }
        ended = !go_on();
        !ended
    })?;
    counted.sort_unstable();
    if ended { Err(Error::Interrupted) } else { Ok((sum, counted)) }
}

fn sum_of_lists(
    core: &Core,
    table: &Arc<Table>,
    index: &FullTextIndex,
    analyzer: &Analyzer,
    counted: &[DocId],
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Sum> {
    let (deleted, cache) = core.documents.with(table, |loaded| {
        let of = loaded.indexes.iter().find(|of| of.id == index.id);
        (loaded.deleted.clone(), of.map(|of| of.cache.clone()))
    })?;
    let mut sum = Sum::default();
    let mut add = |word: &[u8], node: &Node| -> Result<()> {
        let damaged = |e: vaquita_format::Corruption| broken(table, index, &e.to_string());
        node.validate().map_err(damaged)?;
        if analyzer.is_near_stopword(word) {
            return Ok(());
        }
        let key = analyzer.key(word);
        let mut postings = node.postings();
        while let Some(posting) = postings.next().map_err(damaged)? {
            if !deleted.contains_key(&posting.doc) {
                let mut positions = posting.positions().map_err(damaged)?;
                if counted.binary_search(&posting.doc).is_ok() {
                    positions.fill(0);
                }
                sum.add(&key, posting.doc, &positions);
            }
        }
        Ok(())
    };
    let mut reading = Reading::begin(core);
    for (number, words) in auxiliary::words(core, table, index.id)?.iter().enumerate() {
        let columns = [WORD, FIRST, LAST, COUNT, ILIST];
        let mut cursor = Cursor::open(words.clone(), &ReadOptions::by_index(0).columns(columns))?;
        while let Some(row) = cursor.next(core, &mut reading.trx)? {
            if !go_on() {
                return Err(Error::Interrupted);
            }
            let word = row.column(0).unwrap_or_default();
            if analyzer.table_of(word) != number {
                return Err(broken(
                    table,
                    index,
                    &format!("a word is in {} and would not be found", words.name),
                ));
            }
            add(word, &auxiliary::node(words, &row)?)?;
        }
    }
    for word in cache.iter().flat_map(|cache| cache.read().lists().collect::<Vec<_>>()) {
        word.nodes.iter().try_for_each(|node| add(&word.text, node))?;
    }
    Ok(sum)
}
