//! The rows of a table's definition, all of them: written and deleted together.

use super::change::Change;
use super::create::extra_rows;
use crate::dict::build::TableParts;
use crate::dict::load::TableRow;
use crate::dict::rows::{self, Flags};
use crate::dict::server_files;
use crate::error::Result;
use crate::table::Table;
use std::sync::Arc;
use vaquita_base::{SpaceId, TableId};
use vaquita_format::dict as layout;

/// Inserts all rows that describe a table, foreign keys excepted.
pub(super) fn insert(change: &mut Change<'_>, parts: &TableParts) -> Result<()> {
    insert_plain(change, parts)?;
    change.describes(&parts.name);
    if let Some(extra) = &change.core.dict.sys.extra {
        extra_rows(parts).iter().try_for_each(|row| change.insert(extra, row))?;
    }
    Ok(())
}

/// The same of a table of which InnoDB's own dictionary says all there is to say.
pub(super) fn insert_plain(change: &mut Change<'_>, parts: &TableParts) -> Result<()> {
    let flags = Flags::of(parts);
    let written = rows::definition_rows(parts, &flags);
    let sys = &change.core.dict.sys;
    change.insert(&sys.core.tables, &written.table)?;
    for (table, rows) in [
        (&sys.core.columns, &written.columns),
        (&sys.core.indexes, &written.indexes),
        (&sys.core.fields, &written.fields),
    ] {
        rows.iter().try_for_each(|row| change.insert(table, row))?;
    }
    if parts.space == SpaceId::SYSTEM {
        return Ok(());
    }
    let space = rows::u32_value(parts.space.get());
    if let Some(spaces) = &sys.spaces {
        let raw = change.storage().spaces().get(parts.space)?.flags();
        let row = vec![space.clone(), rows::name_value(&parts.name), rows::u32_value(raw)];
        change.insert(spaces, &row)?;
    }
    if let Some(files) = &sys.files {
        change.insert(
            files,
            &vec![space, rows::name_value(path_value(&parts.name, parts.directory.as_deref()))],
        )?;
    }
    Ok(())
}

/// SYS_DATAFILES.PATH of a table.
pub(super) fn path_value(name: &str, directory: Option<&str>) -> String {
    format!("{}{name}.ibd", directory.unwrap_or("./"))
}

/// Deletes all rows that describe a table, foreign keys excepted.
pub(super) fn delete(change: &mut Change<'_>, row: &TableRow) -> Result<()> {
    change.describes(&row.name);
    let sys = &change.core.dict.sys;
    let id = rows::u64_value(row.id.get()).unwrap_or_default();
    for index in rows::read(change.storage(), sys.core.indexes.clustered(), &[&id])? {
        delete_all(change, &sys.core.fields, &[index.bytes(1)])?;
    }
    delete_all(change, &sys.core.indexes, &[&id])?;
    delete_all(change, &sys.core.columns, &[&id])?;
    delete_extra(change, row.id)?;
    if row.space != SpaceId::SYSTEM {
        let space = rows::u32_value(row.space.get()).unwrap_or_default();
        for table in [&sys.spaces, &sys.files].into_iter().flatten() {
            delete_all(change, table, &[&space])?;
        }
    }
    change.delete(&sys.core.tables, &[row.name.as_bytes()])
}

/// Deletes the rows of a dictionary table whose key begins so.
pub(super) fn delete_all(change: &mut Change<'_>, table: &Arc<Table>, prefix: &[&[u8]]) -> Result<()> {
    let n_key = table.clustered().def().n_uniq();
    for row in rows::read(change.storage(), table.clustered(), prefix)? {
        let key: Vec<&[u8]> = (0..n_key).map(|i| row.bytes(i)).collect();
        change.delete(table, &key)?;
    }
    Ok(())
}

fn delete_extra(change: &mut Change<'_>, id: TableId) -> Result<()> {
    let Some(extra) = &change.core.dict.sys.extra else { return Ok(()) };
    let id = rows::u64_value(id.get()).unwrap_or_default();
    delete_all(change, extra, &[&id])
}

/// Replaces what is kept of a table beside InnoDB's own dictionary.
pub(super) fn replace_extra(change: &mut Change<'_>, parts: &TableParts) -> Result<()> {
    change.describes(&parts.name);
    let Some(extra) = &change.core.dict.sys.extra else { return Ok(()) };
    delete_extra(change, parts.id)?;
    extra_rows(parts).iter().try_for_each(|row| change.insert(extra, row))
}

/// Keeps what only a `.frm` says of a table: it goes by another name from now on.
pub(super) fn keep_what_is_described(change: &mut Change<'_>, row: &TableRow) -> Result<()> {
    if !change.core.is_folder_of_a_server() {
        return Ok(());
    }
    let (dict, storage) = (&change.core.dict, change.storage());
    let parts = dict.read_parts(storage, row)?;
    let is_told = match dict.read_extra(storage, row.id)? {
        Some(_) => server_files::read_newer_extra(storage, &parts)?.is_some() && parts.versions.is_none(),
        None => server_files::read_frm(storage, &row.name)?.is_some(),
    };
    if is_told { replace_extra(change, &parts) } else { Ok(()) }
}

/// The rows of the dictionary that tell how old a table's indexes are become those of this change: views that were opened before do
/// not read by them. They do not see what a table was filled with meanwhile, and columns that came or went are not those that they knew.
pub(super) fn make_younger(change: &mut Change<'_>, parts: &TableParts) -> Result<()> {
    let indexes = change.core.dict.sys.core.indexes.clone();
    let id = rows::u64_value(parts.id.get()).unwrap_or_default();
    for (n, index) in parts.indexes.iter().enumerate() {
        let index = rows::u64_value(index.id.get()).unwrap_or_default();
        change.delete(&indexes, &[&id, &index])?;
        change.insert(&indexes, &rows::index_row(parts, n))?;
    }
    Ok(())
}

/// Everything of a table in the system tablespace that is a tree, and of one of its own the tablespace: superfluous.
pub(super) fn leave_data(change: &mut Change<'_>, row: &TableRow, file: &str) -> Result<()> {
    if row.space != SpaceId::SYSTEM {
        return change.leaves(&super::log::Entry::DropSpace { space: row.space, name: file.to_owned() });
    }
    let id = rows::u64_value(row.id.get()).unwrap_or_default();
    let indexes = change.core.dict.sys.core.indexes.clone();
    for index in rows::read(change.storage(), indexes.clustered(), &[&id])? {
        let root = vaquita_base::PageNo(index.u32(8));
        if !root.is_null() && index.u32(6) & layout::index_type::FULLTEXT == 0 {
            let id = vaquita_base::IndexId(index.number(1));
            change.leaves_tree(row.space, id, root, file)?;
        }
    }
    Ok(())
}
