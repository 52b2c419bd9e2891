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
use crate::partition::whole_name;
use vaquita_base::SpaceId;

/// Empties a table.
pub(super) fn truncate(change: &mut Change<'_>, name: &str, checks: bool) -> Result<()> {
    let mut rows = super::parts::rows_of(change, name)?;
    match rows.is_empty() {
        true => rows.push(change.core.dict.user_table_row(change.storage(), name)?),
        false => change.changes(name),
    }
    foreign::lose_rows(change, name, checks, "truncate")?;
    truncate_all(change, &rows)
}

/// Empties tables; the rows of the dictionary follow the files of all of them.
pub(super) fn truncate_all(change: &mut Change<'_>, rows: &[TableRow]) -> Result<()> {
    let mut emptied = Vec::with_capacity(rows.len());
    change.unlatched(|change| {
        for row in rows {
            emptied.push(make_anew(change, row)?);
        }
        Ok(())
    })?;
    rows.iter().zip(emptied).try_for_each(|(row, emptied)| take_place(change, row, emptied))
}

/// An empty table that is to take the place of one, what its file is called, and the tables of its FULLTEXT indexes.
type Emptied = (TableParts, String, Vec<TableParts>);

fn make_anew(change: &mut Change<'_>, row: &TableRow) -> Result<Emptied> {
    let dict = &change.core.dict;
    // Nobody else changes this definition.
    let mut parts = {
        let _latch = dict.freeze();
        dict.read_parts(change.storage(), row)?
    };
    if parts.discarded {
        return Err(Error::Discarded(whole_name(&row.name).unwrap_or(&row.name).to_owned()));
    }
    row.check_pages()?;
    parts.auto_inc_from = 0;
    parts.versions = None;
    let stopwords = kept_stopwords(change, &parts)?;
    let (file, words) = make_empty(change, row, &mut parts, &stopwords)?;
    Ok((parts, file, words))
}

fn take_place(change: &mut Change<'_>, row: &TableRow, (parts, file, words): Emptied) -> Result<()> {
    fulltext::drop_all(change, row)?;
    if parts.space != SpaceId::SYSTEM {
        // Done when the old one, which comes behind it, is gone.
        let (space, name) = (parts.space, parts.name.clone());
        change.leaves(&Entry::RenameBack { space, name, new_name: file })?;
    }
    definition::leave_data(change, row, &row.name)?;
    definition::delete(change, row)?;
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
