//! RENAME TABLE.

use super::change::Change;
use super::definition::path_value;
use super::log::Entry;
use super::{check, foreign, make_database_dir};
use crate::dict::load::TableRow;
use crate::dict::rows;
use crate::error::{Error, Result};
use vaquita_base::SpaceId;

/// Gives a table another name; foreign keys go with it.
pub(super) fn rename(change: &mut Change<'_>, from: &str, to: &str) -> Result<()> {
    rename_alone(change, from, to)?;
    foreign::rename_table(change, from, to)
}

/// Gives a table another name; its foreign keys stay with the old one.
pub(super) fn rename_alone(change: &mut Change<'_>, from: &str, to: &str) -> Result<()> {
    check::table_name(to)?;
    let core = change.core;
    let dict = &core.dict;
    let storage = change.storage();
    let row = dict.table_row(storage, from)?.filter(|_| from.contains('/'));
    let row = row.ok_or_else(|| Error::NoSuchTable(from.to_owned()))?;
    if dict.table_row(storage, to)?.is_some() {
        return Err(Error::TableExists(to.to_owned()));
    }
    rename_file(change, &row, to)?;
    rename_rows(change, &row, to)?;
    change.changes(from);
    Ok(())
}

fn rename_file(change: &mut Change<'_>, row: &TableRow, to: &str) -> Result<()> {
    let storage = change.storage();
    if row.space == SpaceId::SYSTEM {
        return Ok(());
    }
    let path = storage.table_space_path(&row.name);
    if !storage.spaces().contains(row.space) && storage.fs().exists(&path) {
        storage.open_table_space(row.space, &path)?;
    }
    // A table whose file is missing can be renamed too.
    if storage.spaces().get(row.space).is_ok_and(|s| s.path() == path) {
        let _folder = change.core.dict.keep_folders();
        check::file_is_free(storage, to)?;
        make_database_dir(storage, to)?;
        let back = Entry::RenameBack { space: row.space, name: row.name.clone(), new_name: to.to_owned() };
        change.will_make(&[back])?;
        storage.rename_table_space(row.space, &row.name, to)?;
    }
    Ok(())
}

fn rename_rows(change: &mut Change<'_>, row: &TableRow, to: &str) -> Result<()> {
    let sys = &change.core.dict.sys;
    let name = [row.name.as_bytes()];
    change.update(&sys.core.tables, &name, &[(0, Some(to.as_bytes()))])?;
    if row.space == SpaceId::SYSTEM {
        return Ok(());
    }
    let space = rows::u32_value(row.space.get()).unwrap_or_default();
    if let Some(spaces) = &sys.spaces {
        change.update(spaces, &[&space], &[(1, Some(to.as_bytes()))])?;
    }
    if let Some(files) = &sys.files {
        change.update(files, &[&space], &[(1, Some(path_value(to).as_bytes()))])?;
    }
    Ok(())
}
