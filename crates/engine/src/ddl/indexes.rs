//! Adding and dropping indexes.

use super::alteration::{Alteration, forget_options};
use super::change::Change;
use super::{IndexSpec, definition, foreign, fulltext, index_build};
use crate::core::Core;
use crate::dict::build::{IndexParts, TableParts};
use crate::dict::fulltext::{DOC_ID, DOC_ID_INDEX};
use crate::dict::load::TableRow;
use crate::dict::rows;
use crate::error::{Error, Result};
use crate::progress::Progress;
use vaquita_base::IndexId;
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
    let row = dict.user_table_row(storage, name)?;
    let mut parts = dict.read_parts(storage, &row)?;
    if let Some(n) = parts.fulltext.iter().position(|i| i.name.eq_ignore_ascii_case(index)) {
        return drop_words(change, &row, parts, n);
    }
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
    change.leaves_tree(parts.space, gone.id, gone.root, name)?;
    delete_rows(change, &parts, gone.id)?;
    forget_options(&mut parts, &gone.name);
    definition::replace_extra(change, &parts)?;
    change.changes(name);
    Ok(())
}

/// Drops a FULLTEXT index. As in MySQL the numbers of documents stay where nobody has declared them, and so do the common tables; where
/// somebody has, what was added to them goes with the last index.
fn drop_words(change: &mut Change<'_>, row: &TableRow, mut parts: TableParts, n: usize) -> Result<()> {
    let gone = parts.fulltext.remove(n);
    fulltext::drop_words(change, row, gone.id)?;
    delete_rows(change, &parts, gone.id)?;
    forget_options(&mut parts, &gone.name);
    let declared = parts.columns.iter().any(|column| !column.hidden && column.def.name == DOC_ID);
    if parts.fulltext.is_empty() && declared {
        fulltext::drop_common(change, row)?;
        let added = parts.indexes.iter().position(|i| i.hidden && i.name == DOC_ID_INDEX);
        if let Some(added) = added.filter(|added| *added > 0) {
            let index = parts.indexes.remove(added);
            change.leaves_tree(parts.space, index.id, index.root, &row.name)?;
            delete_rows(change, &parts, index.id)?;
            forget_options(&mut parts, &index.name);
        }
    }
    definition::replace_extra(change, &parts)?;
    change.changes(&row.name);
    Ok(())
}

/// Deletes the rows that describe an index.
fn delete_rows(change: &mut Change<'_>, table: &TableParts, index: IndexId) -> Result<()> {
    let sys = &change.core.dict.sys;
    let index = rows::u64_value(index.get()).unwrap_or_default();
    let table = rows::u64_value(table.id.get()).unwrap_or_default();
    definition::delete_all(change, &sys.core.fields, &[&index])?;
    change.delete(&sys.core.indexes, &[&table, &index])
}
