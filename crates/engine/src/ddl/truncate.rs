//! TRUNCATE TABLE: an empty table takes the place of the old one, with new numbers, so that nothing that refers to old
//! rows finds new ones.

use super::change::Change;
use super::log::Entry;
use super::{create, definition, foreign};
use crate::dict::ids;
use crate::error::{Error, Result};
use vaquita_base::SpaceId;

/// Empties a table.
pub(super) fn truncate(change: &mut Change<'_>, name: &str, checks: bool) -> Result<()> {
    let dict = &change.core.dict;
    let storage = change.storage();
    let row = dict.table_row(storage, name)?.filter(|_| name.contains('/'));
    let row = row.ok_or_else(|| Error::NoSuchTable(name.to_owned()))?;
    for key in dict.foreign_keys(storage, foreign::BY_PARENT, name)? {
        if checks && key.child != name {
            let text =
                format!("cannot truncate {name}: {} refers to it by foreign key {}", key.child, key.id);
            return Err(Error::ForeignKey(text));
        }
        change.changes(&key.child);
    }
    for key in dict.foreign_keys(storage, foreign::BY_CHILD, name)? {
        change.changes(&key.parent);
    }
    let mut parts = dict.read_parts(storage, &row)?;
    parts.auto_inc_from = 0;
    parts.id = ids::table_id(storage)?;
    for index in &mut parts.indexes {
        index.id = ids::index_id(storage)?;
    }
    let mut old_file = name.to_owned();
    if row.space != SpaceId::SYSTEM {
        old_file = out_of_the_way(name, row.id.get());
        let path = storage.table_space_path(name);
        if !storage.spaces().contains(row.space) && storage.fs().exists(&path) {
            storage.open_table_space(row.space, &path)?;
        }
        if storage.spaces().contains(row.space) {
            let back =
                Entry::RenameBack { space: row.space, name: name.to_owned(), new_name: old_file.clone() };
            change.will_make(&[back])?;
            storage.rename_table_space(row.space, name, &old_file)?;
        }
        parts.space = ids::space_id(storage)?;
    }
    create::make_data(change, &mut parts)?;
    definition::leave_data(change, &row, &old_file)?;
    definition::delete(change, &row)?;
    definition::insert(change, &parts)?;
    change.drops(row.id);
    Ok(())
}

/// The name of a file that is about to go.
fn out_of_the_way(name: &str, id: u64) -> String {
    match name.rsplit_once('/') {
        Some((database, _)) => format!("{database}/#sql-vaquita-{id:x}"),
        None => format!("#sql-vaquita-{id:x}"),
    }
}
