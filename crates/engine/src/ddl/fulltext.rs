//! The tables of FULLTEXT indexes ([`crate::dict::fulltext`]): made, dropped and renamed in the change that does so to the index or to its table.
//!
//! Nobody else has locks on them: who uses them has one on the table that they serve.
//!
//! # Crash
//! They are tables as others: a change that was cut off leaves all of them, or none.

use super::change::Change;
use super::{create, definition};
use crate::core::Core;
use crate::dict::build::TableParts;
use crate::dict::fulltext::{self as tables, COMMON, CONFIG, SETTINGS, SYNCED_DOC_ID};
use crate::dict::load::TableRow;
use crate::dict::{ids, rows};
use crate::documents::StopwordChoice;
use crate::error::Result;
use crate::fulltext::auxiliary::DELETED;
use crate::row::entry::Given;
use crate::row::private::{self, Stamp};
use crate::table::{Field, Table};
use std::sync::Arc;
use vaquita_base::{IndexId, SpaceId, TrxId};
use vaquita_format::dict::index_type;

/// Makes the files and trees of all tables that the FULLTEXT indexes of a table need, which has its number. Nothing is in them.
pub(super) fn make_all(
    change: &mut Change<'_>,
    table: &TableParts,
    stopwords: &StopwordChoice,
) -> Result<Vec<TableParts>> {
    if table.fulltext.is_empty() {
        return Ok(Vec::new());
    }
    let mut made = make(change.core, &mut change.undo, table, tables::common(table))?;
    fill_config(change.core, &made, 0, stopwords)?;
    for index in &table.fulltext {
        made.append(&mut make(change.core, &mut change.undo, table, tables::words(table, index))?);
    }
    Ok(made)
}

/// Gives tables numbers and makes their files and trees, where that of the table is which they serve. Entries of the DDL log that get
/// rid of them come to `undo`.
pub(super) fn make(
    core: &Core,
    undo: &mut Vec<u64>,
    table: &TableParts,
    mut made: Vec<TableParts>,
) -> Result<Vec<TableParts>> {
    for parts in &mut made {
        parts.id = ids::table_id(&core.storage)?;
        parts.indexes[0].id = ids::index_id(&core.storage)?;
        if table.space != SpaceId::SYSTEM {
            parts.space = ids::space_id(&core.storage)?;
        }
        create::make_data(core, undo, parts)?;
    }
    Ok(made)
}

/// The table of settings, if it is among those that were made, gets what MySQL puts into it. Words of documents before `synced` are in
/// the tables.
pub(super) fn fill_config(
    core: &Core,
    made: &[TableParts],
    synced: u64,
    stopwords: &StopwordChoice,
) -> Result<()> {
    let Some(parts) = made.iter().find(|parts| parts.name.ends_with(CONFIG)) else { return Ok(()) };
    let config = parts.clone().open(&core.storage, core.dict.observer())?;
    let stamp = Stamp::of(TrxId(0));
    let synced = synced.to_string();
    // MySQL has no row of a table without words of its own.
    let stopwords = stopwords.rows().into_iter().filter(|(_, value)| !value.is_empty());
    for (key, value) in SETTINGS.into_iter().chain([(SYNCED_DOC_ID, synced.as_str())]).chain(stopwords) {
        let values: [Field<'_>; 2] = [Some(key.as_bytes()), Some(value.as_bytes())];
        private::insert(core, &config, &Given { values: &values, row_id: &[] }, &stamp)?;
    }
    Ok(())
}

/// Puts documents into the table of deleted ones that was made.
pub(super) fn fill_deleted(core: &Core, made: &TableParts, gone: &[u64]) -> Result<()> {
    let deleted = made.clone().open(&core.storage, core.dict.observer())?;
    put_deleted(core, &deleted, gone)
}

/// Says that documents of a table that nobody else knows are gone.
pub(super) fn delete_documents(core: &Core, table: &Table, gone: &[u64]) -> Result<()> {
    let deleted = core.table(&tables::common_name(&table.name, table.id, DELETED))?;
    put_deleted(core, &deleted, gone)
}

fn put_deleted(core: &Core, deleted: &Table, gone: &[u64]) -> Result<()> {
    let stamp = Stamp::of(TrxId(0));
    for doc in gone {
        let stored = tables::doc_id_key(*doc);
        let values: [Field<'_>; 1] = [Some(&stored)];
        private::insert(core, deleted, &Given { values: &values, row_id: &[] }, &stamp)?;
    }
    Ok(())
}

/// The tables that were made are known with the change.
pub(super) fn insert(change: &mut Change<'_>, made: &[TableParts]) -> Result<()> {
    made.iter().try_for_each(|parts| definition::insert_plain(change, parts))
}

/// Drops all tables of the FULLTEXT indexes that a table has or had.
pub(super) fn drop_all(change: &mut Change<'_>, row: &TableRow) -> Result<()> {
    let id = rows::u64_value(row.id.get()).unwrap_or_default();
    let indexes = change.core.dict.sys.core.indexes.clone();
    for index in rows::read(change.storage(), indexes.clustered(), &[&id])? {
        if index.u32(6) & index_type::FULLTEXT != 0 {
            drop_words(change, row, IndexId(index.number(1)))?;
        }
    }
    drop_common(change, row)
}

/// Drops the tables with the words of an index.
pub(super) fn drop_words(change: &mut Change<'_>, row: &TableRow, index: IndexId) -> Result<()> {
    tables::word_names(&row.name, row.id, index).try_for_each(|name| drop_one(change, &name))
}

/// Drops the common tables of a table, if it has them.
pub(super) fn drop_common(change: &mut Change<'_>, row: &TableRow) -> Result<()> {
    COMMON.iter().try_for_each(|which| drop_one(change, &tables::common_name(&row.name, row.id, which)))
}

fn drop_one(change: &mut Change<'_>, name: &str) -> Result<()> {
    let Some(row) = change.core.dict.table_row(change.storage(), name)? else { return Ok(()) };
    definition::leave_data(change, &row, name)?;
    definition::delete(change, &row)?;
    change.drops(row.id);
    Ok(())
}

/// The names of the tables of a table's FULLTEXT indexes that there are.
pub(super) fn names(core: &Core, row: &TableRow) -> Result<Vec<String>> {
    let id = rows::u64_value(row.id.get()).unwrap_or_default();
    let mut names: Vec<String> =
        COMMON.iter().map(|which| tables::common_name(&row.name, row.id, which)).collect();
    for index in rows::read(&core.storage, core.dict.sys.core.indexes.clustered(), &[&id])? {
        if index.u32(6) & index_type::FULLTEXT != 0 {
            names.extend(tables::word_names(&row.name, row.id, IndexId(index.number(1))));
        }
    }
    let mut there = Vec::with_capacity(names.len());
    for name in names {
        if core.dict.table_row(&core.storage, &name)?.is_some() {
            there.push(name);
        }
    }
    Ok(there)
}

/// The table of settings of a table that has one, opened for a change of it.
pub(super) fn open_config(core: &Core, table: &TableParts) -> Result<Option<Arc<Table>>> {
    open_common(core, table, CONFIG)
}

/// One of the common tables of a table that has them, opened for a change of it.
pub(super) fn open_common(core: &Core, table: &TableParts, which: &str) -> Result<Option<Arc<Table>>> {
    let name = tables::common_name(&table.name, table.id, which);
    let Some(row) = core.dict.table_row(&core.storage, &name)? else { return Ok(None) };
    core.dict.open_space(&core.storage, &row)?;
    let parts = core.dict.read_parts(&core.storage, &row)?;
    Ok(Some(Arc::new(parts.open(&core.storage, core.dict.observer())?)))
}
