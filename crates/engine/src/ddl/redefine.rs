//! Changes of a definition that leave every record as it is: names of columns and indexes, defaults, comments, labels that are
//! appended, a longer VARCHAR within its length bytes, the AUTO_INCREMENT counter; and columns that come, go and move, by another
//! version of the rows ([`row_versions`](crate::dict::row_versions)). Only rows of the dictionary change, so the size of the table does
//! not matter.

use super::change::Change;
use super::check;
use super::create::{number_documents, parts_of};
use super::definition::{delete_all, make_younger, replace_extra};
use super::{TableSpec, foreign};
use crate::dict::build::{IndexParts, TableParts};
use crate::dict::fulltext::DOC_ID;
use crate::dict::row_versions::{ColumnOrigin, FieldColumn, RowField, RowVersions};
use crate::dict::rows::{self, Flags};
use crate::error::{Error, Result};
use crate::table::{Column, FullTextIndex};
use vaquita_format::column::MType;
use vaquita_format::index_def::{KeyPart, RowFormat};

/// The table of that name gets the definition `spec`, with the trees it has. `origins` tells of each of its columns which one it was.
pub(super) fn redefine(change: &mut Change<'_>, spec: &TableSpec, origins: &[ColumnOrigin]) -> Result<()> {
    let (dict, storage) = (&change.core.dict, change.storage());
    if dict.sys.extra.is_none() {
        return Err(Error::WrongState("definitions cannot be changed: SYS_VAQUITA_TABLES is missing"));
    }
    let row = dict.user_table_row(storage, &spec.name)?;
    let before = dict.read_parts(storage, &row)?;
    let (wanted, origins) = with_documents(&before, parts_of(storage, spec), origins);
    let origins = &origins[..];
    let after = new_parts(&before, wanted, origins)?;
    check::redefined(&after)?;
    columns(change, &before, &after, origins)?;
    indexes(change, &before, &after)?;
    names_of_words(change, &before, &after)?;
    let renamed: Vec<(&str, &str)> = renamed(&before, &after, origins).collect();
    foreign::rename_columns(change, &spec.name, &renamed)?;
    replace_extra(change, &after)?;
    if !all_stay(&before, origins) {
        make_younger(change, &after)?;
    }
    change.changes(&spec.name);
    if let Some(next) = spec.auto_increment {
        change.counts_from(after.id, next);
    }
    Ok(())
}

/// What a table becomes that gets the definition of another one, whose records are the same: its trees, numbers and row versions stay, and
/// where it counts from.
///
/// # Errors
/// [`Error::BadDefinition`]: they are not the same.
pub(super) fn as_of(before: &TableParts, like: &TableParts) -> Result<TableParts> {
    let wanted = TableParts { auto_inc_from: before.auto_inc_from, ..like.clone() };
    new_parts(before, wanted, &all_kept(before))
}

/// The table that is described by `before` gets what [`as_of`] has made of it. Views that were opened before
/// read it by its new name, as after RENAME TABLE.
pub(super) fn take(change: &mut Change<'_>, before: &TableParts, after: &TableParts) -> Result<()> {
    check::redefined(after)?;
    columns(change, before, after, &all_kept(before))?;
    indexes(change, before, after)?;
    replace_extra(change, after)
}

fn all_kept(before: &TableParts) -> Vec<ColumnOrigin> {
    (0..before.columns.len()).map(ColumnOrigin::Kept).collect()
}

/// What the engine has added to number documents stays, whatever the statement says of the rest.
fn with_documents(
    before: &TableParts,
    mut wanted: TableParts,
    origins: &[ColumnOrigin],
) -> (TableParts, Vec<ColumnOrigin>) {
    let mut origins = origins.to_vec();
    let last = before.columns.len().wrapping_sub(1);
    if before.columns.last().is_some_and(|column| column.hidden && column.def.name == DOC_ID) {
        number_documents(&mut wanted);
        origins.resize(wanted.columns.len(), ColumnOrigin::Kept(last));
    }
    (wanted, origins)
}

/// The FULLTEXT indexes, which are as they were but for their names and those of their columns.
fn words(
    before: &TableParts,
    mut wanted: Vec<FullTextIndex>,
    origins: &[ColumnOrigin],
) -> Option<Vec<FullTextIndex>> {
    let mut take = |old: &FullTextIndex, named: bool| {
        let is_it = |new: &FullTextIndex| {
            let was = new.columns.iter().map(|&column| origins.get(column).cloned());
            was.eq(old.columns.iter().map(|&column| Some(ColumnOrigin::Kept(column))))
                && (&new.parser, &new.split) == (&old.parser, &old.split)
                && (!named || new.name == old.name)
        };
        wanted.iter().position(is_it).map(|at| wanted.remove(at))
    };
    let mut found: Vec<Option<FullTextIndex>> = before.fulltext.iter().map(|old| take(old, true)).collect();
    for (old, found) in before.fulltext.iter().zip(&mut found).filter(|(_, found)| found.is_none()) {
        *found = take(old, false);
    }
    let found: Option<Vec<FullTextIndex>> = found.into_iter().collect();
    let with_number = |(old, new): (&FullTextIndex, FullTextIndex)| FullTextIndex { id: old.id, ..new };
    let found = found?;
    wanted.is_empty().then(|| before.fulltext.iter().zip(found).map(with_number).collect())
}

/// The columns that were there, old and new.
fn kept<'p>(
    before: &'p TableParts,
    after: &'p [Column],
    origins: &'p [ColumnOrigin],
) -> impl Iterator<Item = (&'p Column, &'p Column)> {
    origins.iter().zip(after).filter_map(|(origin, new)| match origin {
        ColumnOrigin::Kept(old) => Some((&before.columns[*old], new)),
        ColumnOrigin::New(_) => None,
    })
}

/// Old and new names of the columns that get another one.
fn renamed<'p>(
    before: &'p TableParts,
    after: &'p TableParts,
    origins: &'p [ColumnOrigin],
) -> impl Iterator<Item = (&'p str, &'p str)> {
    let names =
        kept(before, &after.columns, origins).map(|(a, b)| (a.def.name.as_str(), b.def.name.as_str()));
    names.filter(|(old, new)| old != new)
}

/// Whether no column comes, goes or moves.
fn all_stay(before: &TableParts, origins: &[ColumnOrigin]) -> bool {
    origins.len() == before.columns.len()
        && origins.iter().enumerate().all(|(i, origin)| *origin == ColumnOrigin::Kept(i))
}

/// What the rows hold after columns came, went or moved.
fn versions(before: &TableParts, origins: &[ColumnOrigin]) -> Result<Option<RowVersions>> {
    if all_stay(before, origins) {
        return Ok(before.versions.clone());
    }
    let refuse =
        |what: String| Err(Error::BadDefinition(format!("{}: {what} needs other records", before.name)));
    if !matches!(before.row_format, RowFormat::Compact | RowFormat::Dynamic)
        || before.page_size.is_compressed()
    {
        return refuse(format!("row format {:?}", before.row_format));
    }
    let goes = |old: usize| !origins.contains(&ColumnOrigin::Kept(old));
    // Of a value off the page the record is the owner: who writes it anew without the field would lose it.
    let long = |(old, column): &(usize, &Column)| goes(*old) && column.def.is_big();
    if let Some((_, column)) = before.columns.iter().enumerate().find(long) {
        return refuse(format!("column {}, which may be off the page,", column.def.name));
    }
    let defs: Vec<_> = before.columns.iter().map(|column| column.def.clone()).collect();
    let now = match &before.versions {
        Some(versions) => versions.clone(),
        None => {
            let key = &before.indexes[0].parts;
            let in_key = |i: usize| key.iter().any(|part| part.column == i && part.prefix_len == 0);
            let fields = (0..defs.len()).filter(|&i| !in_key(i));
            let field = |i| RowField { column: FieldColumn::Live(i), instant: Default::default() };
            RowVersions { fields: fields.map(field).collect() }
        }
    };
    match now.changed(&defs, origins) {
        Ok(versions) => Ok(Some(versions)),
        Err(what) => refuse(what),
    }
}

/// What is there, as `wanted` says; its trees, number and format stay.
fn new_parts(before: &TableParts, wanted: TableParts, origins: &[ColumnOrigin]) -> Result<TableParts> {
    let refuse =
        |what: String| Err(Error::BadDefinition(format!("{}: {what} asks for other records", before.name)));
    if origins.len() != wanted.columns.len() {
        return refuse("another number of columns".to_owned());
    }
    if wanted.row_format != before.row_format {
        return refuse(format!("row format {:?} instead of {:?}", wanted.row_format, before.row_format));
    }
    if let Some((old, _)) = kept(before, &wanted.columns, origins).find(|(old, new)| !keeps_values(old, new))
    {
        return refuse(format!("column {}", old.def.name));
    }
    let mut left = wanted.indexes;
    let was = |part: &KeyPart| match origins[part.column] {
        ColumnOrigin::Kept(column) => Some(KeyPart { column, ..*part }),
        ColumnOrigin::New(_) => None,
    };
    let mut take = |index: &IndexParts, named: bool| {
        let is_it = |new: &IndexParts| {
            let same = new.parts.iter().map(was).eq(index.parts.iter().map(|part| Some(*part)));
            new.unique == index.unique && same && (!named || new.name == index.name)
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
            Some(new) => {
                let IndexParts { name, comment, parts, .. } = new;
                indexes.push(IndexParts { name, comment, parts, ..old.clone() });
            }
            None if old.hidden => indexes.push(old.clone()),
            None => return refuse(format!("a definition without index {}", old.name)),
        }
    }
    if let Some(new) = left.first() {
        return refuse(format!("index {}", new.name));
    }
    let Some(fulltext) = words(before, wanted.fulltext, origins) else {
        return refuse("another FULLTEXT index".to_owned());
    };
    Ok(TableParts {
        columns: wanted.columns,
        indexes,
        fulltext,
        comment: wanted.comment,
        collation: wanted.collation,
        extra: wanted.extra,
        auto_inc_from: wanted.auto_inc_from,
        versions: versions(before, origins)?,
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

/// SYS_COLUMNS: names and lengths; all of them, and SYS_TABLES, if columns come, go or move.
fn columns(
    change: &mut Change<'_>,
    before: &TableParts,
    after: &TableParts,
    origins: &[ColumnOrigin],
) -> Result<()> {
    let table = change.core.dict.sys.core.columns.clone();
    let id = rows::u64_value(before.id.get()).unwrap_or_default();
    if !all_stay(before, origins) {
        let flags = Flags::of(after);
        let written = rows::definition_rows(after, &flags);
        delete_all(change, &table, &[&id])?;
        written.columns.iter().try_for_each(|row| change.insert(&table, row))?;
        let tables = change.core.dict.sys.core.tables.clone();
        let changes = [2, 3].map(|column| (column, written.table[column].as_deref()));
        return change.update(&tables, &[before.name.as_bytes()], &changes);
    }
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

/// The same of FULLTEXT indexes.
fn names_of_words(change: &mut Change<'_>, before: &TableParts, after: &TableParts) -> Result<()> {
    let sys = &change.core.dict.sys.core;
    let (indexes, fields) = (sys.indexes.clone(), sys.fields.clone());
    let table = rows::u64_value(before.id.get()).unwrap_or_default();
    for (old, new) in before.fulltext.iter().zip(&after.fulltext) {
        let index = rows::u64_value(old.id.get()).unwrap_or_default();
        if old.name != new.name {
            change.update(&indexes, &[&table, &index], &[(2, Some(new.name.as_bytes()))])?;
        }
        let (_, columns) = rows::fulltext_rows(after, new);
        for (row, (was, is)) in columns.iter().zip(old.columns.iter().zip(&new.columns)) {
            let renamed = before.columns[*was].def.name != after.columns[*is].def.name;
            if let [Some(index), Some(pos), name] = &row[..]
                && renamed
            {
                change.update(&fields, &[index, pos], &[(2, name.as_deref())])?;
            }
        }
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
        for (row, (part, now)) in rows::field_rows(after, n).iter().zip(old.parts.iter().zip(&new.parts)) {
            let renamed = before.columns[part.column].def.name != after.columns[now.column].def.name;
            if let [Some(index), Some(pos), name] = &row[..]
                && renamed
            {
                change.update(&fields, &[index, pos], &[(2, name.as_deref())])?;
            }
        }
    }
    Ok(())
}
