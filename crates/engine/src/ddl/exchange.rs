//! EXCHANGE PARTITION: a part of a partitioned table and a table with the same records change places. What moves is the tablespace, with
//! trees and numbers; a name keeps its definition.
//!
//! # Crash
//! As of a RENAME of tables whose names change places: both have exchanged their rows, or neither.

use super::change::Change;
use super::rename::{self, Renaming};
use super::{foreign, parts, redefine};
use crate::core::Core;
use crate::cursor::{Cursor, ReadOptions};
use crate::dict::build::TableParts;
use crate::dict::load::TableRow;
use crate::error::{Error, Result};
use crate::partition::{part_name, whole_id};
use crate::progress::{Progress, Stage};
use crate::table::{Field, Table};
use crate::waits::check_interrupt;
use std::sync::Arc;
use vaquita_txn::Trx;

/// Rows that are checked between two questions whether the statement goes on.
const TOLD: u64 = 512;

/// A part and a table that exchange their rows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Exchange<'a> {
    /// The partitioned table as it was looked at; nobody has used it since.
    pub(crate) whole: &'a Table,
    /// Which of its parts.
    pub(crate) at: usize,
    /// The table, `database/table`.
    pub(crate) with: &'a str,
    /// The AUTO_INCREMENT counters afterwards, of the partitioned table and of the other, if they have any.
    pub(crate) counters: Option<(u64, u64)>,
}

/// Exchanges them.
///
/// # Errors
/// [`Error::BadDefinition`]: the two have other records, or directories. [`Error::ForeignKey`]; no such table; files.
pub(super) fn exchange(change: &mut Change<'_>, what: &Exchange<'_>) -> Result<()> {
    let Exchange { whole, at, with, counters } = *what;
    let part = part_name(&whole.name, whole.parts.as_ref().map_or("", |parts| parts.names[at].as_str()));
    let dict = &change.core.dict;
    let all = parts::rows_of(change, &whole.name)?;
    let ours =
        all.into_iter().find(|row| row.name == part).ok_or_else(|| Error::NoSuchTable(part.clone()))?;
    let theirs = dict.user_table_row(change.storage(), with)?;
    let (of_part, of_table) =
        (dict.read_parts(change.storage(), &ours)?, dict.read_parts(change.storage(), &theirs)?);
    check(change, &of_part, &of_table)?;
    // Each gets the other's definition with the other's name.
    let (to_table, to_part) = (redefine::as_of(&of_part, &of_table)?, redefine::as_of(&of_table, &of_part)?);
    rename_both(change, &ours, &theirs)?;
    redefine::take(change, &of_part, &to_table)?;
    redefine::take(change, &of_table, &to_part)?;
    change.changes(&part);
    change.changes(with);
    if let Some((of_whole, of_other)) = counters {
        let first = if at == 0 { whole_id(of_table.id) } else { whole.id };
        change.counts_from(first, of_whole);
        change.counts_from(of_part.id, of_other);
    }
    Ok(())
}

/// Whether they may be exchanged, besides that the records are the same.
fn check(change: &Change<'_>, part: &TableParts, table: &TableParts) -> Result<()> {
    let refuse = |why: &str| Err(Error::BadDefinition(format!("{}: {why}", table.name)));
    if let Some(discarded) = [part, table].into_iter().find(|parts| parts.discarded) {
        return Err(Error::Discarded(discarded.name.clone()));
    }
    if part.directory.is_some() || table.directory.is_some() {
        return refuse("files with a DATA DIRECTORY are not exchanged");
    }
    if part.page_size != table.page_size {
        return refuse("pages of another size");
    }
    if table.versions.is_some() {
        return refuse("rows of several versions, as no partition has them");
    }
    let names = |parts: &TableParts| -> Vec<String> {
        parts.indexes.iter().map(|index| index.name.clone()).collect()
    };
    if names(part) != names(table) {
        // A table's indexes are those of its parts one by one.
        return refuse("indexes of other names, or in another order");
    }
    let dict = &change.core.dict;
    for by in [foreign::BY_CHILD, foreign::BY_PARENT] {
        if let Some(key) = dict.foreign_keys(change.storage(), by, &table.name)?.first() {
            return Err(Error::ForeignKey(format!("{}: foreign key {}", table.name, key.id)));
        }
    }
    Ok(())
}

/// The part's tablespace and rows of the dictionary get the table's name, the table's those of the part.
fn rename_both(change: &mut Change<'_>, ours: &TableRow, theirs: &TableRow) -> Result<()> {
    let database = ours.name.split_once('/').map_or("", |(database, _)| database);
    // Nobody else can have that name.
    let aside = format!("{database}/#sql-vaquita-aside-{:x}", ours.id.get());
    let leaves = Renaming::of(change, &ours.name, &aside)?;
    let comes = Renaming::of(change, &theirs.name, &ours.name)?;
    let goes_on = Renaming::of(change, &ours.name, &theirs.name)?.from(&aside);
    let renamings = [(0, leaves), (0, comes), (0, goes_on)];
    rename::rename_files(change, &renamings, &mut 0)?;
    renamings.iter().try_for_each(|(_, renaming)| rename::rename_rows(change, renaming))
}

/// Holds the rows of a table against a part of another. Nobody writes to either.
///
/// # Errors
/// [`Error::RowNotOfPart`], [`Error::Interrupted`]; those of the partition function and of pages.
pub(crate) fn check_rows(
    core: &Core,
    reader: &mut Trx,
    (whole, at): (&Table, usize),
    with: &Arc<Table>,
    progress: &Progress,
) -> Result<()> {
    let parts =
        whole.parts.as_ref().ok_or(Error::WrongState("a table that is not partitioned has no part"))?;
    let columns = parts.scheme.as_ref().map_or(&[][..], |scheme| scheme.columns());
    progress.begin_stage(Stage::Scan, with.stats.known().0.map_or(0, |known| known.rows));
    let mut cursor = Cursor::open(with.clone(), &ReadOptions::default().columns(columns.to_vec()))?;
    let mut long: Vec<Vec<u8>> = vec![Vec::new(); columns.len()];
    let mut rows: u64 = 0;
    while let Some(row) = cursor.next(core, reader)? {
        for (i, buffer) in long.iter_mut().enumerate().filter(|(i, _)| row.is_off_page(*i)) {
            buffer.clear();
            row.read_column(i, buffer)?;
        }
        let value = |column: usize| -> Field<'_> {
            let i = columns.iter().position(|&of| of == column)?;
            if row.is_off_page(i) { Some(&long[i][..]) } else { row.column(i) }
        };
        match parts.part_of(whole, &value) {
            Ok(found) if found == at => {}
            Ok(_) | Err(Error::NoPartition(_)) => return Err(Error::RowNotOfPart),
            Err(e) => return Err(e),
        }
        rows += 1;
        if rows.is_multiple_of(TOLD) {
            progress.add(TOLD);
            check_interrupt(reader.shared())?;
        }
    }
    Ok(())
}
