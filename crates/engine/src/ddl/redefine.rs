//! Changes of a definition that leave every record as it is: names of columns and indexes, defaults, comments, labels that are
//! appended, a longer VARCHAR within its length bytes, the AUTO_INCREMENT counter. Only rows of the dictionary change, so the size
//! of the table does not matter.

use super::change::Change;
use super::check;
use super::create::parts_of;
use super::definition::replace_extra;
use super::{TableSpec, foreign};
use crate::dict::build::{IndexParts, TableParts};
use crate::dict::rows;
use crate::error::{Error, Result};
use crate::table::Column;
use vaquita_format::column::MType;

/// The table of that name gets the definition `spec`, with the trees it has.
pub(super) fn redefine(change: &mut Change<'_>, spec: &TableSpec) -> Result<()> {
    let (dict, storage) = (&change.core.dict, change.storage());
    if dict.sys.extra.is_none() {
        return Err(Error::WrongState("definitions cannot be changed: SYS_VAQUITA_TABLES is missing"));
    }
    let row = dict.table_row(storage, &spec.name)?.filter(|_| spec.name.contains('/'));
    let row = row.ok_or_else(|| Error::NoSuchTable(spec.name.clone()))?;
    let before = dict.read_parts(storage, &row)?;
    let after = new_parts(&before, parts_of(storage, spec))?;
    check::redefined(&after)?;
    columns(change, &before, &after)?;
    indexes(change, &before, &after)?;
    let renamed: Vec<(&str, &str)> = renamed(&before, &after).collect();
    foreign::rename_columns(change, &spec.name, &renamed)?;
    replace_extra(change, &after)?;
    change.changes(&spec.name);
    if let Some(next) = spec.auto_increment {
        change.counts_from(after.id, next);
    }
    Ok(())
}

/// Old and new names of the columns that get another one.
fn renamed<'p>(before: &'p TableParts, after: &'p TableParts) -> impl Iterator<Item = (&'p str, &'p str)> {
    let names = |parts: &'p TableParts| parts.columns.iter().map(|c| c.def.name.as_str());
    names(before).zip(names(after)).filter(|(old, new)| old != new)
}

/// What is there, as `wanted` says; its trees, number and format stay.
fn new_parts(before: &TableParts, wanted: TableParts) -> Result<TableParts> {
    let refuse =
        |what: String| Err(Error::BadDefinition(format!("{}: {what} asks for other records", before.name)));
    if before.columns.len() != wanted.columns.len() {
        return refuse(format!(
            "the number of columns, {} instead of {},",
            wanted.columns.len(),
            before.columns.len()
        ));
    }
    if wanted.row_format != before.row_format {
        return refuse(format!("row format {:?} instead of {:?}", wanted.row_format, before.row_format));
    }
    if let Some((old, _)) =
        before.columns.iter().zip(&wanted.columns).find(|(old, new)| !keeps_values(old, new))
    {
        return refuse(format!("column {}", old.def.name));
    }
    let mut left = wanted.indexes;
    let mut take = |index: &IndexParts, named: bool| {
        let is_it = |new: &IndexParts| {
            new.unique == index.unique && new.parts == index.parts && (!named || new.name == index.name)
        };
        left.iter().position(is_it).map(|at| left.remove(at))
    };
    // Those that keep their names first: two indexes may have the same columns.
    let mut found: Vec<Option<IndexParts>> = before.indexes.iter().map(|index| take(index, true)).collect();
    for (index, found) in
        before.indexes.iter().zip(&mut found).filter(|(index, found)| found.is_none() && !index.hidden)
    {
        *found = take(index, false);
    }
    let mut indexes = Vec::with_capacity(found.len());
    for (old, new) in before.indexes.iter().zip(found) {
        match new {
            Some(new) => indexes.push(IndexParts { name: new.name, comment: new.comment, ..old.clone() }),
            None if old.hidden => indexes.push(old.clone()),
            None => return refuse(format!("a definition without index {}", old.name)),
        }
    }
    if let Some(new) = left.first() {
        return refuse(format!("index {}", new.name));
    }
    Ok(TableParts {
        columns: wanted.columns,
        indexes,
        comment: wanted.comment,
        collation: wanted.collation,
        extra: wanted.extra,
        auto_inc_from: wanted.auto_inc_from,
        ..before.clone()
    })
}

/// Whether stored values of one column are stored values of the other, and records of the one are records of the other: what
/// compares and how NULL and lengths are kept is in the precise type.
fn keeps_values(old: &Column, new: &Column) -> bool {
    let (a, b) = (&old.def, &new.def);
    let grows = matches!(a.mtype, MType::VarChar | MType::VarMySql | MType::Binary) && b.len > a.len;
    a.mtype == b.mtype
        && a.prtype == b.prtype
        && (a.len == b.len || grows)
        && (a.mbminlen, a.mbmaxlen) == (b.mbminlen, b.mbmaxlen)
        && old.decimal == new.decimal
        && old.hidden == new.hidden
        && new.labels.starts_with(&old.labels)
}

/// SYS_COLUMNS: names and lengths.
fn columns(change: &mut Change<'_>, before: &TableParts, after: &TableParts) -> Result<()> {
    let table = change.core.dict.sys.core.columns.clone();
    let id = rows::u64_value(before.id.get()).unwrap_or_default();
    for (pos, (old, new)) in before.columns.iter().zip(&after.columns).enumerate() {
        if (&old.def.name, old.def.len) == (&new.def.name, new.def.len) {
            continue;
        }
        let pos = rows::u32_value(pos as u32).unwrap_or_default();
        let len = rows::u32_value(new.def.len);
        let changes = [(2, Some(new.def.name.as_bytes())), (5, len.as_deref())];
        change.update(&table, &[&id, &pos], &changes)?;
    }
    Ok(())
}

/// SYS_INDEXES and SYS_FIELDS: names.
fn indexes(change: &mut Change<'_>, before: &TableParts, after: &TableParts) -> Result<()> {
    let sys = &change.core.dict.sys.core;
    let (indexes, fields) = (sys.indexes.clone(), sys.fields.clone());
    let id = rows::u64_value(before.id.get()).unwrap_or_default();
    for (n, (old, new)) in before.indexes.iter().zip(&after.indexes).enumerate() {
        if old.name != new.name {
            let index = rows::u64_value(old.id.get()).unwrap_or_default();
            change.update(&indexes, &[&id, &index], &[(2, Some(new.name.as_bytes()))])?;
        }
        for (row, part) in rows::field_rows(after, n).iter().zip(&old.parts) {
            let renamed = before.columns[part.column].def.name != after.columns[part.column].def.name;
            if let [Some(index), Some(pos), name] = &row[..]
                && renamed
            {
                change.update(&fields, &[index, pos], &[(2, name.as_deref())])?;
            }
        }
    }
    Ok(())
}
