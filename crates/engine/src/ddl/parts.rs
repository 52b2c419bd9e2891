//! Tables of several parts ([`crate::partition`]): all of them are made, dropped and renamed in one change.
//!
//! # Crash
//! A part is a table as any other: a change that was cut off leaves all parts as they were, or all as they were to be. There is no row
//! of the table itself that could say otherwise.

use super::change::Change;
use super::create::{self, New};
use super::rename::{self, Renaming};
use super::{PartSpec, TableSpec, definition, foreign, truncate};
use crate::dict::build::TableParts;
use crate::dict::ids;
use crate::dict::load::TableRow;
use crate::error::{Error, Result};
use crate::partition::part_name;
use vaquita_base::SpaceId;

/// Creates the parts of a table.
pub(super) fn create(change: &mut Change<'_>, spec: &TableSpec) -> Result<()> {
    if !spec.foreign_keys.is_empty() || !spec.fulltext.is_empty() {
        return Err(Error::BadDefinition(format!(
            "{} is partitioned: it has neither foreign keys nor FULLTEXT indexes",
            spec.name
        )));
    }
    rename::check_is_free(change, &spec.name)?;
    let mut made = plan(change, spec, &spec.parts)?;
    change.unlatched(|change| make(change, &mut made))?;
    made.iter().try_for_each(|parts| definition::insert(change, parts))
}

/// What parts will be, with numbers.
fn plan(change: &Change<'_>, spec: &TableSpec, parts: &[PartSpec]) -> Result<Vec<TableParts>> {
    let mut planned = Vec::with_capacity(parts.len());
    for part in parts {
        let directory = part.directory.clone().or_else(|| spec.directory.clone());
        let name = part_name(&spec.name, &part.name);
        let one = TableSpec { name, directory, parts: Vec::new(), ..spec.clone() };
        let New { mut parts, .. } = create::plan(change, &one, true)?;
        if spec.file_per_table {
            parts.space = ids::space_id(change.storage())?;
        }
        planned.push(parts);
    }
    Ok(planned)
}

/// Makes the files and trees of parts.
fn make(change: &mut Change<'_>, made: &mut [TableParts]) -> Result<()> {
    let _folder = change.core.dict.keep_folders();
    for parts in made {
        if parts.space != SpaceId::SYSTEM {
            create::make_place(change, parts)?;
        }
        let done = create::make_data(change.core, &mut change.undo, parts);
        done.inspect_err(|e| change.core.notes.say(format!("table {} cannot be made: {e}", parts.name)))?;
    }
    Ok(())
}

/// The rows of SYS_TABLES of a table's parts; none if it is not partitioned.
pub(super) fn rows_of(change: &Change<'_>, name: &str) -> Result<Vec<TableRow>> {
    match change.core.dict.table_row(change.storage(), name)? {
        Some(_) => Ok(Vec::new()),
        None => change.core.dict.part_rows(change.storage(), name),
    }
}

/// The rows of SYS_TABLES of a table's parts, or of those of these names; of a table that is not partitioned its own.
pub(super) fn tables_of(
    change: &Change<'_>,
    name: &str,
    of_parts: Option<&[String]>,
) -> Result<Vec<TableRow>> {
    let mut rows = rows_of(change, name)?;
    if rows.is_empty() {
        rows.push(change.core.dict.user_table_row(change.storage(), name)?);
    }
    let Some(wanted) = of_parts else { return Ok(rows) };
    let find = |part: &String| {
        let part = part_name(name, part);
        let found = rows.iter().find(|row| row.name == part).cloned();
        found.ok_or(Error::NoSuchTable(part))
    };
    wanted.iter().map(find).collect()
}

/// Drops parts of a table.
pub(super) fn drop_all(change: &mut Change<'_>, table: &str, parts: &[TableRow]) -> Result<()> {
    for row in parts {
        if !change.core.dict.is_discarded(change.storage(), row)? {
            definition::leave_data(change, row, &row.name)?;
        }
        definition::delete(change, row)?;
        change.drops(row.id);
    }
    change.changes(table);
    Ok(())
}

/// Parts of a partitioned table come and go, others are emptied; those that stay get the definition's new clause.
#[derive(Debug, Clone, Copy, Default)]
pub struct PartsChange<'a> {
    /// The table as it is to be; of its parts those come that are not there.
    pub spec: Option<&'a TableSpec>,
    /// The parts that go, as files are named for them.
    pub gone: &'a [String],
    /// The parts that are emptied.
    pub emptied: &'a [String],
}

/// Changes the parts of a table.
pub(super) fn alter(change: &mut Change<'_>, table: &str, what: &PartsChange<'_>) -> Result<()> {
    let rows = rows_of(change, table)?;
    if rows.is_empty() {
        return Err(Error::NoSuchTable(table.to_owned()));
    }
    let is_of =
        |row: &TableRow, names: &[String]| names.iter().any(|part| row.name == part_name(table, part));
    let emptied: Vec<TableRow> = rows.iter().filter(|row| is_of(row, what.emptied)).cloned().collect();
    if !emptied.is_empty() {
        change.changes(table);
        truncate::truncate_all(change, &emptied)?;
    }
    let Some(spec) = what.spec else { return Ok(()) };
    let gone: Vec<TableRow> = rows.iter().filter(|row| is_of(row, what.gone)).cloned().collect();
    let is_new = |part: &&PartSpec| rows.iter().all(|row| row.name != part_name(table, &part.name));
    let come: Vec<PartSpec> = spec.parts.iter().filter(is_new).cloned().collect();
    let mut made = plan(change, spec, &come)?;
    change.unlatched(|change| make(change, &mut made))?;
    for row in rows.iter().filter(|row| !is_of(row, what.gone)) {
        let mut parts = change.core.dict.read_parts(change.storage(), row)?;
        parts.extra.clone_from(&spec.extra);
        definition::replace_extra(change, &parts)?;
        change.changes(&row.name);
    }
    made.iter().try_for_each(|parts| definition::insert(change, parts))?;
    drop_all(change, table, &gone)
}

/// The end of an ALTER TABLE that writes the rows anew, where the old table or the new one is partitioned.
pub(super) fn replace(
    change: &mut Change<'_>,
    name: &str,
    with: &str,
    mut old: Vec<TableRow>,
    mut new: Vec<TableRow>,
) -> Result<()> {
    let dict = &change.core.dict;
    if old.is_empty() {
        old.push(dict.user_table_row(change.storage(), name)?);
    }
    if new.is_empty() {
        new.push(dict.user_table_row(change.storage(), with)?);
    }
    for by in [foreign::BY_CHILD, foreign::BY_PARENT] {
        if let Some(key) = dict.foreign_keys(change.storage(), by, name)?.first() {
            return Err(Error::ForeignKey(format!(
                "{name} is to be partitioned, or was: foreign key {}",
                key.id
            )));
        }
    }
    let aside = format!("{with}-old");
    rename::check_is_free(change, &aside)?;
    let target = |row: &TableRow, from: &str, to: &str| format!("{to}{}", &row.name[from.len()..]);
    let gone: Vec<String> = old.iter().map(|row| target(row, name, &aside)).collect();
    let placed: Vec<String> = new.iter().map(|row| target(row, with, name)).collect();
    let mut renamings = Vec::with_capacity(old.len() + new.len());
    for (row, to) in old.iter().zip(&gone) {
        renamings.push((0, Renaming::of(change, &row.name, to)?));
    }
    for (row, to) in new.iter().zip(&placed) {
        renamings.push((0, Renaming::of(change, &row.name, to)?));
    }
    rename::rename_files(change, &renamings, &mut 0)?;
    for (_, renaming) in &renamings {
        rename::rename_rows(change, renaming)?;
    }
    for name in &placed {
        let row = change.core.dict.user_table_row(change.storage(), name)?;
        let parts = change.core.dict.read_parts(change.storage(), &row)?;
        definition::make_younger(change, &parts)?;
    }
    for name in &gone {
        let row = change.core.dict.user_table_row(change.storage(), name)?;
        drop_all(change, name, &[row])?;
    }
    change.changes(name);
    change.changes(with);
    Ok(())
}
