//! TRUNCATE TABLE: an empty table takes the place of the old one, with new numbers, so that nothing that refers to old
//! rows finds new ones. Its file has a name of its own until the change is committed; then the old file goes, and it gets that one's.

use super::change::Change;
use super::log::Entry;
use super::{create, definition, foreign, fulltext};
use crate::dict::build::TableParts;
use crate::dict::ids;
use crate::dict::load::{TableRow, missing};
use crate::documents::StopwordChoice;
use crate::error::{Error, Result};
use vaquita_base::SpaceId;

/// Empties a table.
pub(super) fn truncate(change: &mut Change<'_>, name: &str, checks: bool) -> Result<()> {
    let dict = &change.core.dict;
    let storage = change.storage();
    let row = dict.user_table_row(storage, name)?;
    foreign::lose_rows(change, name, checks, "truncate")?;
    let mut parts = dict.read_parts(storage, &row)?;
    if parts.discarded {
        return Err(Error::Discarded(name.to_owned()));
    }
    parts.auto_inc_from = 0;
    parts.versions = None;
    let (file, words) = change.unlatched(|change| {
        let stopwords = kept_stopwords(change, &parts)?;
        make_empty(change, &row, &mut parts, &stopwords)
    })?;
    fulltext::drop_all(change, &row)?;
    if parts.space != SpaceId::SYSTEM {
        // Done when the old one, which comes behind it, is gone.
        let (space, name) = (parts.space, parts.name.clone());
        change.leaves(&Entry::RenameBack { space, name, new_name: file })?;
    }
    definition::leave_data(change, &row, name)?;
    definition::delete(change, &row)?;
    definition::insert(change, &parts)?;
    fulltext::insert(change, &words)?;
    change.drops(row.id);
    Ok(())
}

/// The words that the FULLTEXT indexes of the table leave out: the empty one's do, too.
fn kept_stopwords(change: &mut Change<'_>, parts: &TableParts) -> Result<StopwordChoice> {
    match fulltext::open_config(change.core, parts)? {
        Some(config) => StopwordChoice::of_config(change.core, &config),
        None => Ok(StopwordChoice { enabled: true, table: None }),
    }
}

/// Makes the file and the trees of the empty table, with numbers of its own, and the tables of its FULLTEXT indexes. What the file is
/// called.
fn make_empty(
    change: &mut Change<'_>,
    row: &TableRow,
    parts: &mut TableParts,
    stopwords: &StopwordChoice,
) -> Result<(String, Vec<TableParts>)> {
    let storage = change.storage();
    let _folder = change.core.dict.keep_folders();
    parts.id = ids::table_id(storage)?;
    for index in &mut parts.indexes {
        index.id = ids::index_id(storage)?;
    }
    for index in &mut parts.fulltext {
        index.id = ids::index_id(storage)?;
    }
    let mut file = row.name.clone();
    if row.space != SpaceId::SYSTEM {
        let path = storage.table_space_path(&row.name)?;
        if parts.directory.is_some() && !storage.fs().exists(&path) {
            // The empty one would be in the way when its directory is there again.
            return Err(missing(&row.name, &path));
        }
        if !storage.spaces().contains(row.space) && storage.fs().exists(&path) {
            // Another space's file at its name is seen before anything is done.
            storage.open_table_space(row.space, &path)?;
        }
        file = until_then(&row.name, parts.id.get());
        parts.space = ids::space_id(storage)?;
    }
    create::make_data_in(change.core, &mut change.undo, parts, &file)?;
    Ok((file, fulltext::make_all(change, parts, stopwords)?))
}

/// The name of a file until it gets that of its table.
fn until_then(name: &str, id: u64) -> String {
    match name.rsplit_once('/') {
        Some((database, _)) => format!("{database}/#sql-vaquita-{id:x}"),
        None => format!("#sql-vaquita-{id:x}"),
    }
}
