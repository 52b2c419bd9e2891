//! Adding and dropping indexes.

use super::change::Change;
use super::{IndexSpec, definition, foreign, index_build};
use crate::core::Core;
use crate::dict::build::TableParts;
use crate::dict::rows;
use crate::error::{Error, Result};
use crate::kept::{Extra, index_option};
use crate::progress::Progress;
use vaquita_txn::Trx;

/// Adds indexes to a table with rows, which nobody uses meanwhile. `before` looks at the definition to be before anything is
/// made, `also` changes what belongs to the same change.
pub(super) fn add<'a>(
    core: &'a Core,
    trx: &'a mut Trx,
    name: &str,
    specs: &[IndexSpec],
    progress: &Progress,
    before: impl FnOnce(&TableParts) -> Result<()>,
    also: impl FnOnce(&mut Change<'a>) -> Result<()>,
) -> Result<()> {
    let mut build = index_build::begin(core, trx, name, specs, false, before)?;
    match build.fill(core, progress) {
        Ok(()) => build.finish_with(core, trx, progress, also),
        Err(e) => {
            build.give_up(core);
            Err(e)
        }
    }
}

/// Drops an index.
pub(super) fn drop(change: &mut Change<'_>, name: &str, index: &str) -> Result<()> {
    let core = change.core;
    let dict = &core.dict;
    let storage = change.storage();
    let row = dict.table_row(storage, name)?.filter(|_| name.contains('/'));
    let row = row.ok_or_else(|| Error::NoSuchTable(name.to_owned()))?;
    let mut parts = dict.read_parts(storage, &row)?;
    let found = parts.indexes.iter().position(|i| i.name.eq_ignore_ascii_case(index));
    let n = found.ok_or_else(|| Error::NoSuchIndex { table: name.to_owned(), index: index.to_owned() })?;
    if n == 0 {
        return Err(Error::BadDefinition(format!("{index} is the clustered index of {name}")));
    }
    let gone = parts.indexes.remove(n);
    let needs = |columns: &[String]| {
        let Ok(columns) = foreign::positions(&parts.columns, columns) else { return false };
        foreign::begins_with(&gone.parts, &columns)
            && !parts.indexes.iter().any(|i| foreign::begins_with(&i.parts, &columns))
    };
    for key in dict.foreign_keys(storage, foreign::BY_CHILD, name)? {
        if needs(&key.child_columns) {
            return Err(Error::ForeignKey(format!(
                "cannot drop index {index}: foreign key {} needs it",
                key.id
            )));
        }
    }
    for key in dict.foreign_keys(storage, foreign::BY_PARENT, name)? {
        if needs(&key.parent_columns) {
            return Err(Error::ForeignKey(format!(
                "cannot drop index {index}: foreign key {} needs it",
                key.id
            )));
        }
    }
    let sys = &dict.sys;
    let index_id = rows::u64_value(gone.id.get()).unwrap_or_default();
    let table_id = rows::u64_value(parts.id.get()).unwrap_or_default();
    change.leaves_tree(parts.space, gone.id, gone.root, name)?;
    definition::delete_all(change, &sys.core.fields, &[&index_id])?;
    change.delete(&sys.core.indexes, &[&table_id, &index_id])?;
    // How it was declared goes with it: another one may come by its name.
    let mut extra = Extra::parse(&parts.extra);
    let of_gone = index_option(&gone.name, "");
    extra.retain(|option| !option.starts_with(&of_gone));
    parts.extra = extra.to_text();
    definition::replace_extra(change, &parts)?;
    change.changes(name);
    Ok(())
}
