//! RENAME TABLE.

use super::change::Change;
use super::definition::path_value;
use super::log::Entry;
use super::{check, foreign, make_database_dir, objects};
use crate::dict::load::TableRow;
use crate::dict::rows;
use crate::error::{Error, Result};
use vaquita_base::SpaceId;

/// A table that gets another name.
#[derive(Debug)]
pub(super) struct Renaming<'n> {
    row: TableRow,
    to: &'n str,
}

/// Gives a table another name; foreign keys and triggers go with it. Or a view.
pub(super) fn rename(change: &mut Change<'_>, from: &str, to: &str) -> Result<()> {
    if objects::is_view(change, from) {
        return objects::rename_view(change, from, to);
    }
    check_is_free(change, to)?;
    let renaming = Renaming::of(change, from, to)?;
    rename_files(change, &[&renaming])?;
    rename_rows(change, &renaming)?;
    objects::rename_triggers(change, from, to)?;
    foreign::rename_table(change, from, to)
}

/// Whether a table may have that name, and no table or view has it.
pub(super) fn check_is_free(change: &Change<'_>, name: &str) -> Result<()> {
    check::table_name(name)?;
    match change.core.dict.table_row(change.storage(), name)? {
        Some(_) => Err(Error::TableExists(name.to_owned())),
        None if objects::is_view(change, name) => Err(Error::TableExists(name.to_owned())),
        None => Ok(()),
    }
}

impl<'n> Renaming<'n> {
    /// The table `from` gets the name `to`.
    pub(super) fn of(change: &Change<'_>, from: &str, to: &'n str) -> Result<Renaming<'n>> {
        let row = change.core.dict.table_row(change.storage(), from)?.filter(|_| from.contains('/'));
        let row = row.ok_or_else(|| Error::NoSuchTable(from.to_owned()))?;
        Ok(Renaming { row, to })
    }

    fn back(&self) -> Entry {
        let Renaming { row, to } = self;
        Entry::RenameBack { space: row.space, name: row.name.clone(), new_name: (*to).to_owned() }
    }

    /// Opens the table's file, if it has one; whether it is where its name says. One whose file is missing can be renamed
    /// too.
    fn has_file(&self, change: &Change<'_>) -> Result<bool> {
        let (storage, row) = (change.storage(), &self.row);
        if row.space == SpaceId::SYSTEM {
            return Ok(false);
        }
        let path = storage.table_space_path(&row.name);
        if !storage.spaces().contains(row.space) && storage.fs().exists(&path) {
            storage.open_table_space(row.space, &path)?;
        }
        Ok(storage.spaces().get(row.space).is_ok_and(|s| s.path() == path))
    }
}

/// Gives the files of tables their names, one after the other, before any row says so. Whoever comes to rows of these
/// tables meanwhile, as purge does, finds the files open.
pub(super) fn rename_files(change: &mut Change<'_>, renamings: &[&Renaming<'_>]) -> Result<()> {
    change.unlatched(|change| {
        let storage = change.storage();
        let _folder = change.core.dict.keep_folders();
        let mut files = Vec::with_capacity(renamings.len());
        for renaming in renamings {
            if renaming.has_file(change)? {
                make_database_dir(storage, renaming.to)?;
                files.push(renaming);
            }
        }
        if files.is_empty() {
            return Ok(());
        }
        let back: Vec<Entry> = files.iter().map(|file| file.back()).collect();
        change.will_make(&back)?;
        for Renaming { row, to } in files {
            check::file_is_free(storage, to)?;
            storage.rename_table_space(row.space, &row.name, to)?;
        }
        Ok(())
    })
}

/// Lets a table's definition have its new name; its foreign keys stay with the old one.
pub(super) fn rename_rows(change: &mut Change<'_>, renaming: &Renaming<'_>) -> Result<()> {
    let Renaming { row, to } = renaming;
    let sys = &change.core.dict.sys;
    change.update(&sys.core.tables, &[row.name.as_bytes()], &[(0, Some(to.as_bytes()))])?;
    change.changes(&row.name);
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
