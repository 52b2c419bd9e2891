//! Adding and dropping indexes.

use super::alteration::{Alteration, forget_options};
use super::change::Change;
use super::{IndexSpec, definition, foreign, index_build};
use crate::core::Core;
use crate::dict::build::{IndexParts, TableParts};
use crate::dict::rows;
use crate::error::{Error, Result};
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
    let nothing = Alteration::default();
    let mut build = index_build::begin(core, trx, name, specs, &nothing, false, before)?;
    match build.fill(core, progress) {
        Ok(()) => build.finish_with(core, trx, progress, &nothing, also),
        Err(e) => {
            build.give_up(core);
            Err(e)
        }
    }
}

/// Drops an index. `come`: indexes that come with the same change, and may take its place for foreign keys.
pub(super) fn drop(change: &mut Change<'_>, name: &str, index: &str, come: &[IndexParts]) -> Result<()> {
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
            && !parts
                .indexes
                .iter()
                .chain(come)
                .any(|i| i.id != gone.id && foreign::begins_with(&i.parts, &columns))
    };
    for key in dict.foreign_keys(storage, foreign::BY_CHILD, name)? {
        if needs(&key.child_columns) {
            return Err(Error::IndexNeeded { index: index.to_owned(), key: key.id.clone() });
        }
    }
    for key in dict.foreign_keys(storage, foreign::BY_PARENT, name)? {
        if needs(&key.parent_columns) {
            return Err(Error::IndexNeeded { index: index.to_owned(), key: key.id.clone() });
        }
    }
    let sys = &dict.sys;
    let index_id = rows::u64_value(gone.id.get()).unwrap_or_default();
    let table_id = rows::u64_value(parts.id.get()).unwrap_or_default();
    change.leaves_tree(parts.space, gone.id, gone.root, name)?;
    definition::delete_all(change, &sys.core.fields, &[&index_id])?;
    change.delete(&sys.core.indexes, &[&table_id, &index_id])?;
    forget_options(&mut parts, &gone.name);
    definition::replace_extra(change, &parts)?;
    change.changes(name);
    Ok(())
}
