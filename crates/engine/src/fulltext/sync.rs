//! Writing: words from the caches become rows of the auxiliary tables.
//!
//! One transaction inserts the lists of all indexes of a table and moves `synced_doc_id`, so that a crash leaves all or nothing; what
//! it leaves unwritten is read again from the rows. If open transactions have numbers below those of documents that are written, it is noted
//! how far the lists are complete (`vaquita_complete_doc_id`, which a server does not look at): after a crash the lists tell which documents
//! they have from there on, and the others are read from the rows.
//!
//! The caller holds a metadata lock on the table, or is alone.

use super::auxiliary;
use crate::core::Core;
use crate::documents::{TableDocuments, Writing};
use crate::error::{Error, Result};
use crate::mdl::MdlMode;
use crate::table::Table;
use std::sync::Arc;
use std::time::Duration;
use vaquita_base::TableId;
use vaquita_txn::Trx;

/// Writes what is cached of a table if it is more than `ft_cache_size`, and, if all tables have more than `ft_total_cache_size`, those with
/// the largest caches until they have not.
///
/// # Errors
/// As [`write`](fn@write), of this table.
pub(super) fn write_if_full(core: &Core, id: TableId) -> Result<()> {
    let bytes = core.documents.with_loaded(id, |loaded| {
        let caches = loaded.indexes.iter().map(|index| index.cache.read().bytes() as u64);
        caches.sum::<u64>()
    });
    let limits = &core.options.fulltext;
    if bytes.is_some_and(|bytes| bytes > limits.cache_size) {
        write_own(core, id)?;
    }
    let is_too_much = || core.documents.cached_bytes() > limits.total_cache_size;
    if !is_too_much() {
        return Ok(());
    }
    for largest in core.documents.by_cached() {
        match largest == id {
            true => write_own(core, id)?,
            false => write_other(core, largest),
        }
        if !is_too_much() {
            break;
        }
    }
    Ok(())
}

fn write_own(core: &Core, id: TableId) -> Result<()> {
    match core.table_by_id(id)? {
        Some(table) => write(core, &table).map(drop),
        None => Ok(()),
    }
}

/// Writes what is cached of a table that somebody else uses. One whose definition changes, or that is written just now, is left alone:
/// who commits waits for nobody.
fn write_other(core: &Core, id: TableId) {
    let by_id = || core.table_by_id(id);
    let Ok(Some(table)) = by_id() else { return };
    let mut mdl = core.mdl.context();
    if core.mdl.acquire(&mut mdl, &table.name, MdlMode::SharedWrite, Duration::ZERO).is_err() {
        return;
    }
    // It may have another name and other indexes by now.
    let written = by_id().and_then(|found| match found.filter(|found| found.name == table.name) {
        Some(table) => write_unless_written(core, &table),
        None => Ok(()),
    });
    core.mdl.release(&mut mdl);
    if let Err(e) = written {
        core.notes.say(format!("full-text: words of table {id} could not be written: {e}"));
    }
}

fn write_unless_written(core: &Core, table: &Arc<Table>) -> Result<()> {
    let of = core.documents.of(table.id);
    let Some(_one_at_a_time) = of.writing.try_lock() else { return Ok(()) };
    write_alone(core, table, &of).map(drop)
}

/// Writes what is cached of a table; whether there was anything.
///
/// # Errors
/// Those of changing rows. What was to be written is in the caches as before.
pub(crate) fn write(core: &Core, table: &Arc<Table>) -> Result<bool> {
    let of = core.documents.of(table.id);
    let _one_at_a_time = of.writing.lock();
    write_alone(core, table, &of)
}

/// The same; the caller holds [`TableDocuments::writing`].
fn write_alone(core: &Core, table: &Arc<Table>, of: &TableDocuments) -> Result<bool> {
    let Some(writing) = of.begin_writing() else { return Ok(false) };
    let written = auxiliary::change(core, |trx| write_lists(core, trx, table, &writing));
    match written {
        Ok((trx, ())) => {
            core.documents.end_writing(of, &writing, || auxiliary::commit(core, trx))?;
            Ok(true)
        }
        Err(e) => {
            let failed = core.documents.end_writing(of, &writing, || Err(e));
            failed.map(|()| true)
        }
    }
}

fn write_lists(core: &Core, trx: &mut Trx, table: &Arc<Table>, writing: &Writing) -> Result<()> {
    for (index, cache) in &writing.indexes {
        let tables = auxiliary::words(core, table, *index)?;
        let Some(of) = table.fulltext.iter().find(|of| of.id == *index) else { continue };
        let collation = super::collation_of(table, of)?;
        let split = super::split_of(of, collation).map_err(|detail| Error::TableUnusable {
            table: table.name.clone(),
            detail,
            damaged: true,
        })?;
        // Nobody adds to what is being written.
        let cache = cache.read();
        for word in cache.lists() {
            let into = &tables[split.table_of(collation, &word.text)];
            for node in &word.nodes {
                auxiliary::put_node(core, trx, into, &word.text, node)?;
            }
        }
    }
    let config = auxiliary::common(core, table, "CONFIG")?;
    if writing.is_beyond {
        auxiliary::set(core, trx, &config, auxiliary::COMPLETE, writing.synced.to_string().as_bytes())?;
    }
    auxiliary::set(core, trx, &config, auxiliary::SYNCED, writing.listed.to_string().as_bytes())
}

/// Writes what is cached of all tables: a folder is closed. Tables that cannot be written keep their words in their rows.
pub(crate) fn write_all(core: &Core) {
    for id in core.documents.unwritten() {
        let written = core.table_by_id(id).and_then(|table| match table {
            Some(table) => write(core, &table).map(drop),
            None => Ok(()),
        });
        if let Err(e) = written {
            core.notes.say(format!("full-text: words of table {id} could not be written: {e}"));
        }
    }
}
