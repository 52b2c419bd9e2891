//! How long documents are, which no auxiliary table holds: BM25 asks.
//!
//! They are in memory only, from the first search that asks on: then the rows are read, and commits keep them up. What is forgotten with the
//! table's other words in memory is read again. So no crash can leave wrong ones.

use super::auxiliary::Reading;
use super::load::read_documents;
use crate::core::Core;
use crate::cursor::Seek;
use crate::documents::KnownLengths;
use crate::error::{Error, Result};
use crate::table::{FullTextIndex, Table};
use std::sync::Arc;
use vaquita_fts::DocId;
use vaquita_fts::analyzer::Analyzer;
use vaquita_fts::lengths::measure;

/// Documents that are taken over together.
const BATCH: usize = 256;

/// The lengths of all documents of an index. Who asks first reads the rows, others wait for it; `go_on` is asked before every row, and
/// while another reads them.
///
/// # Errors
/// [`Error::Interrupted`]; those of reading. The next one reads the rows then.
pub(super) fn of_index(
    core: &Core,
    table: &Arc<Table>,
    index: &FullTextIndex,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Arc<KnownLengths>> {
    let found = core.documents.with(table, |loaded| {
        let words = loaded.indexes.iter_mut().find(|words| words.id == index.id)?;
        let new = || Arc::new(KnownLengths::new(index.columns.len()));
        Some((words.analyzer.clone(), words.lengths.get_or_insert_with(new).clone()))
    })?;
    let (analyzer, known) = found.ok_or_else(|| Error::TableChanged(table.name.clone()))?;
    if let Some(turn) = known.turn(go_on)? {
        gather(core, table, index, &analyzer, &known, go_on)?;
        turn.done();
    }
    Ok(known)
}

/// Reads the rows. What another has read before it failed is there already, and commits have kept it up.
fn gather(
    core: &Core,
    table: &Arc<Table>,
    index: &FullTextIndex,
    analyzer: &Analyzer,
    known: &KnownLengths,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<()> {
    // What commits from here on tells of itself: the view that is opened now sees everything before.
    let mut reading = Reading::begin(core);
    let mut batch = Vec::with_capacity(BATCH);
    let give = |batch: &mut Vec<(DocId, Vec<_>)>| {
        let mut lengths = known.of.write();
        batch.drain(..).for_each(|(doc, texts)| lengths.put(doc, &texts));
    };
    let mut ended = false;
    read_documents(&mut reading, table, DocId(0), Seek::GreaterOrEqual, &mut |doc, texts| {
        let columns = index.columns.iter().map(|column| texts.of(*column));
        batch.push((doc, measure(analyzer, columns)));
        if batch.len() == BATCH {
            give(&mut batch);
        }
        ended = !go_on();
        !ended
    })?;
    if ended {
        return Err(Error::Interrupted);
    }
    give(&mut batch);
    known.of.write().gathered();
    Ok(())
}
