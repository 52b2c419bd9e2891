//! The auxiliary tables: opened, read and changed by the engine itself.
//!
//! | table | columns |
//! |---|---|
//! | `INDEX_1` to `_6` | `word`, `first_doc_id`, `last_doc_id`, `doc_count`, `ilist`; by word and first document |
//! | `DELETED` and the others | `doc_id` |
//! | `CONFIG` | `key`, `value` |
//!
//! No metadata locks are taken on them: whoever holds one on the table that they serve knows that they stay.

use crate::core::Core;
use crate::cursor::{Cursor, ReadOptions, RowRef, Seek};
use crate::dict::fulltext::{self as tables, doc_id_key, stored_doc_id};
use crate::error::{Error, Result};
use crate::row::{self, WriteOptions};
use crate::table::{Field, RowKey, Table};
use std::collections::HashSet;
use std::sync::Arc;
use vaquita_base::{IndexId, codec};
use vaquita_fts::DocId;
use vaquita_fts::ilist::Node;
use vaquita_txn::{AccessMode, Isolation, Trx};

/// Positions of columns of an auxiliary table of words.
pub(super) const WORD: usize = 0;
pub(super) const FIRST: usize = 1;
pub(super) const LAST: usize = 2;
pub(super) const COUNT: usize = 3;
pub(super) const ILIST: usize = 4;

/// Documents that are gone.
pub(crate) const DELETED: &str = "DELETED";
pub(super) const DELETED_CACHE: &str = "DELETED_CACHE";
/// The same, while they are removed from the lists.
pub(super) const BEING_DELETED: &str = "BEING_DELETED";
pub(super) const BEING_DELETED_CACHE: &str = "BEING_DELETED_CACHE";

/// The tables of documents that are gone.
pub(crate) const DOCUMENTS: [&str; 4] = [DELETED, DELETED_CACHE, BEING_DELETED, BEING_DELETED_CACHE];

/// Documents below this number are in the lists, but for those from [`COMPLETE`] on that the lists have not.
pub(super) use tables::SYNCED_DOC_ID as SYNCED;
/// All documents below this number are in the lists; without, it is that of [`SYNCED`].
pub(crate) const COMPLETE: &str = "vaquita_complete_doc_id";

/// One of the tables that all indexes of a table have in common.
pub(crate) fn common(core: &Core, table: &Table, what: &str) -> Result<Arc<Table>> {
    core.table(&tables::common_name(&table.name, table.id, what))
}

/// The tables of an index's words.
pub(super) fn words(core: &Core, table: &Table, index: IndexId) -> Result<Vec<Arc<Table>>> {
    tables::word_names(&table.name, table.id, index).map(|name| core.table(&name)).collect()
}

/// A transaction that only reads what is committed now, whoever asks.
#[derive(Debug)]
pub(super) struct Reading<'c> {
    pub(super) core: &'c Core,
    pub(super) trx: Trx,
}

impl<'c> Reading<'c> {
    pub(super) fn begin(core: &'c Core) -> Reading<'c> {
        let mut trx = core.txn.new_trx();
        core.txn.start(&mut trx, Isolation::RepeatableRead, AccessMode::ReadOnly);
        core.txn.read_view(&mut trx);
        Reading { core, trx }
    }
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        // It has changed nothing: there is nothing that could fail.
        let _ = self.core.txn.commit(&mut self.trx);
    }
}

/// A transaction of the engine's own: rolled back unless it is committed.
pub(super) fn change<R>(core: &Core, work: impl FnOnce(&mut Trx) -> Result<R>) -> Result<(Trx, R)> {
    let mut trx = core.txn.new_trx();
    core.txn.start(&mut trx, Isolation::ReadCommitted, AccessMode::ReadWrite);
    match work(&mut trx) {
        Ok(done) => Ok((trx, done)),
        Err(e) => {
            row::roll_back_or_later(core, trx)?;
            Err(e)
        }
    }
}

/// Commits such a transaction.
pub(super) fn commit(core: &Core, mut trx: Trx) -> Result<()> {
    match core.txn.commit(&mut trx) {
        Ok(_) => Ok(()),
        Err(e) => {
            row::roll_back_or_later(core, trx)?;
            Err(e.into())
        }
    }
}

/// A number of the table of settings.
pub(crate) fn setting(core: &Core, trx: &mut Trx, config: &Arc<Table>, key: &str) -> Result<Option<Vec<u8>>> {
    let mut cursor = Cursor::open(config.clone(), &ReadOptions::by_index(0).columns([1]))?;
    cursor.seek(&[Some(key.as_bytes())], Seek::Equal)?;
    let Some(row) = cursor.next(core, trx)? else { return Ok(None) };
    Ok(row.column(0).map(<[u8]>::to_vec))
}

/// The same as a number.
pub(crate) fn number(core: &Core, trx: &mut Trx, config: &Arc<Table>, key: &str) -> Result<Option<u64>> {
    let text = setting(core, trx, config, key)?;
    Ok(text.and_then(|text| std::str::from_utf8(&text).ok()?.trim().parse().ok()))
}

/// Puts a setting into the table.
pub(crate) fn set(core: &Core, trx: &mut Trx, config: &Arc<Table>, key: &str, value: &[u8]) -> Result<()> {
    let row_key = RowKey::new([key.as_bytes()]);
    let how = WriteOptions::default();
    // Whether it is there is not what an update tells: it may have the value.
    let mut cursor = Cursor::open(config.clone(), &ReadOptions::by_index(0).columns([0]))?;
    cursor.seek(&[Some(key.as_bytes())], Seek::Equal)?;
    match cursor.next(core, trx)?.is_some() {
        true => row::update(core, trx, config, &row_key, &[(1, Some(value))], how).map(drop),
        false => row::insert(core, trx, config, &[Some(key.as_bytes()), Some(value)], how).map(drop),
    }
}

/// The documents of one of the tables of deleted ones.
pub(super) fn documents(core: &Core, trx: &mut Trx, table: &Arc<Table>) -> Result<Vec<DocId>> {
    let mut found = Vec::new();
    let mut cursor = Cursor::open(table.clone(), &ReadOptions::by_index(0).columns([0]))?;
    while let Some(row) = cursor.next(core, trx)? {
        found.push(doc_id(table, row.column(0))?);
    }
    Ok(found)
}

/// The committed documents of several of these tables.
pub(crate) fn documents_in(core: &Core, tables: &[Arc<Table>]) -> Result<HashSet<DocId>> {
    let mut reading = Reading::begin(core);
    let mut found = HashSet::new();
    for table in tables {
        found.extend(documents(core, &mut reading.trx, table)?);
    }
    Ok(found)
}

/// Adds a document to one of these tables.
pub(crate) fn put_document(core: &Core, trx: &mut Trx, table: &Arc<Table>, doc: u64) -> Result<()> {
    let stored = doc_id_key(doc);
    row::insert(core, trx, table, &[Some(&stored)], WriteOptions::default()).map(drop)
}

/// Removes one.
pub(super) fn remove_document(core: &Core, trx: &mut Trx, table: &Arc<Table>, doc: DocId) -> Result<bool> {
    let stored = doc_id_key(doc.0);
    row::delete(core, trx, table, &RowKey::new([&stored[..]]), WriteOptions::default())
}

/// Adds a row of a table of words.
pub(super) fn put_node(
    core: &Core,
    trx: &mut Trx,
    table: &Arc<Table>,
    word: &[u8],
    node: &Node,
) -> Result<()> {
    let (first, last) = (doc_id_key(node.first.0), doc_id_key(node.last.0));
    let mut count = [0; 4];
    codec::put_u32(&mut count, 0, node.doc_count);
    let row: [Field<'_>; 5] = [Some(word), Some(&first), Some(&last), Some(&count), Some(&node.ilist)];
    row::insert(core, trx, table, &row, WriteOptions::default()).map(drop)
}

/// The list in a row of a table of words, whose columns were all asked for.
pub(super) fn node(words: &Table, row: &RowRef<'_>) -> Result<Node> {
    let mut node = Node {
        first: doc_id(words, row.column(FIRST))?,
        last: doc_id(words, row.column(LAST))?,
        doc_count: row.column(COUNT).map_or(0, |count| codec::get_uint(count, 0, count.len().min(4)) as u32),
        ilist: Vec::new(),
    };
    row.read_column(ILIST, &mut node.ilist)?;
    Ok(node)
}

/// A stored document number.
pub(super) fn doc_id(table: &Table, stored: Field<'_>) -> Result<DocId> {
    stored_doc_id(stored)
        .ok_or_else(|| Error::Corrupt(format!("table {}: a document number of {stored:?}", table.name)))
}
