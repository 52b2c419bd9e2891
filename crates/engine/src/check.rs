//! Checking a table: every index for itself, and the secondary indexes against the rows. For tests, after recovery, and
//! for CHECK TABLE; nobody may change the table meanwhile. Purge rests for all tables.
//!
//! # Rules
//! - C1: every tree keeps its own rules ([`vaquita_btree::validate`]).
//! - C2: a live row has exactly one entry in every secondary index, live, with exactly the bytes its columns give.
//! - C3: a live entry belongs to a live row that gives it.
//! - C4: a delete-marked entry belongs to no live row that gives it. When purge has nothing left to do there is none, and
//!   no delete-marked row ([`TableReport::is_purged`]).
//! - C5: a live row of a part of a partitioned table belongs to that part. Without who understands the clause it is not known.

use crate::core::Core;
use crate::error::{Error, Result};
use crate::partition::Parts;
use crate::row::entry::{entry, key_text, same_bytes, same_order};
use crate::row::image::Image;
use crate::row::lock::{parse_clustered, parse_secondary};
use crate::row::versions::{cluster_key_of, find_row};
use crate::table::{Columns, Index, Table};
use vaquita_btree::{Cursor, TreeReport, validate_while};
use vaquita_format::record::Offsets;
use vaquita_format::tuple::{Tuple, TupleField};

/// What a table holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TableReport {
    /// Live rows.
    pub rows: u64,
    /// Delete-marked rows.
    pub deleted_rows: u64,
    /// Live entries of all secondary indexes.
    pub entries: u64,
    /// Delete-marked ones.
    pub deleted_entries: u64,
    /// The trees, the clustered one first.
    pub trees: Vec<TreeReport>,
}

impl TableReport {
    /// Whether nothing is left for purge.
    pub fn is_purged(&self) -> bool {
        self.deleted_rows == 0 && self.deleted_entries == 0
    }

    /// Pages taken and not used: values off the page that older versions need, or that a crash left behind.
    pub fn leaked_pages(&self) -> u64 {
        self.trees.iter().map(|t| t.leaked_pages).sum()
    }
}

/// Checks a table.
///
/// # Errors
/// [`Error::Corrupt`] says the first rule broken, and where; errors of reading pages.
pub fn check_table(core: &Core, table: &Table) -> Result<TableReport> {
    check_table_while(core, table, &mut || true)
}

/// The same; `go_on` is asked before every page and every row, while nothing is latched.
///
/// # Errors
/// As [`check_table`]; [`Error::Interrupted`] when it says no.
pub fn check_table_while(core: &Core, table: &Table, go_on: &mut dyn FnMut() -> bool) -> Result<TableReport> {
    match &table.parts {
        Some(parts) => check_parts(core, table, parts, 0..parts.tables.len(), go_on),
        None => check_one(core, table, None, go_on),
    }
}

/// The same of some parts of a partitioned table, by their numbers.
///
/// # Errors
/// As [`check_table_while`].
pub fn check_parts_while(
    core: &Core,
    table: &Table,
    at: &[usize],
    go_on: &mut dyn FnMut() -> bool,
) -> Result<TableReport> {
    let parts =
        table.parts.as_ref().ok_or(Error::WrongState("a table that is not partitioned has no part"))?;
    check_parts(core, table, parts, at.iter().copied(), go_on)
}

/// A part among the others of its table.
#[derive(Clone, Copy)]
struct Place<'t> {
    whole: &'t Table,
    parts: &'t Parts,
    at: usize,
}

fn check_one(
    core: &Core,
    table: &Table,
    place: Option<Place<'_>>,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<TableReport> {
    let _resting = core.purge_rests();
    let mut report = TableReport::default();
    for index in &table.indexes {
        let tree = validate_while(&index.tree, &core.storage, go_on)?;
        report.trees.push(tree.ok_or(Error::Interrupted)?);
    }
    check_rows(core, table, place, &mut report, go_on)?;
    for index in &table.indexes[1..] {
        check_entries(core, table, index, &mut report, go_on)?;
    }
    let expected = report.rows * (table.indexes.len() as u64 - 1);
    if report.entries != expected {
        let detail =
            format!("{} live rows, {} live entries instead of {expected}", report.rows, report.entries);
        return Err(broken(table, &detail));
    }
    Ok(report)
}

fn broken(table: &Table, detail: &str) -> Error {
    Error::Corrupt(format!("table {}: {detail}", table.name))
}

/// Parts of a table, one after the other: what they hold together.
fn check_parts(
    core: &Core,
    table: &Table,
    parts: &Parts,
    which: impl Iterator<Item = usize>,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<TableReport> {
    let mut whole = TableReport::default();
    for at in which {
        let place = parts.scheme.is_some().then_some(Place { whole: table, parts, at });
        let report = check_one(core, &parts.tables[at], place, go_on)?;
        whole.rows += report.rows;
        whole.deleted_rows += report.deleted_rows;
        whole.entries += report.entries;
        whole.deleted_entries += report.deleted_entries;
        whole.trees.extend(report.trees);
    }
    Ok(whole)
}

/// C5.
fn check_place(table: &Table, place: &Place<'_>, row: &Image) -> Result<()> {
    let Place { whole, parts, at } = *place;
    let belongs = match parts.part_of(whole, &|column| row.column(table, column)) {
        Ok(found) if found == at => return Ok(()),
        Ok(found) => Some(parts.names[found].clone()),
        Err(Error::NoPartition(_)) => None,
        Err(e) => return Err(e),
    };
    let row = key_text(table, table.clustered(), &row.key_fields());
    Err(Error::Misplaced { table: whole.name.clone(), part: parts.names[at].clone(), row, belongs })
}

fn check_rows(
    core: &Core,
    table: &Table,
    place: Option<Place<'_>>,
    report: &mut TableReport,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<()> {
    let mut cursor = Cursor::new(&table.clustered().tree, &core.storage);
    let mut offsets = Offsets::new();
    let mut on_row = cursor.first()?;
    while on_row {
        let record = cursor.record().expect("the cursor is on a record");
        parse_clustered(table, &record, &mut offsets)?;
        let mut row = Image::of(table, &record, &offsets);
        cursor.store()?;
        if !go_on() {
            return Err(Error::Interrupted);
        }
        if row.is_deleted() {
            report.deleted_rows += 1;
        } else {
            report.rows += 1;
            row.load_external(core, table)?;
            place.map_or(Ok(()), |place| check_place(table, &place, &row))?;
            for index in &table.indexes[1..] {
                check_has_entry(core, table, index, &row)?;
            }
        }
        on_row = cursor.next()?;
    }
    Ok(())
}

/// C2.
fn check_has_entry(core: &Core, table: &Table, index: &Index, row: &Image) -> Result<()> {
    let wanted = entry(table, index, row);
    let found = index.tree.lookup(&core.storage, &Tuple::new(&wanted), |record| -> Result<_> {
        let mut offsets = Offsets::new();
        parse_secondary(index, &record, &mut offsets)?;
        let fields: Vec<TupleField<'_>> =
            (0..offsets.n_fields()).map(|i| TupleField::nullable(record.field(&offsets, i))).collect();
        Ok((record.is_deleted(), same_bytes(&fields, &wanted)))
    })?;
    let detail = match found.transpose()? {
        Some((false, true)) => return Ok(()),
        Some((true, _)) => "is delete-marked",
        Some((false, false)) => "has other bytes",
        None => "is missing",
    };
    let key = key_text(table, table.clustered(), &row.key_fields());
    let value = key_text(table, index, &wanted);
    Err(broken(table, &format!("the entry '{value}' of row '{key}' in index {} {detail}", index.name)))
}

fn check_entries(
    core: &Core,
    table: &Table,
    index: &Index,
    report: &mut TableReport,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<()> {
    let mut cursor = Cursor::new(&index.tree, &core.storage);
    let mut offsets = Offsets::new();
    let mut on_entry = cursor.first()?;
    while on_entry {
        let record = cursor.record().expect("the cursor is on a record");
        parse_secondary(index, &record, &mut offsets)?;
        let is_deleted = record.is_deleted();
        let own = |fields: Vec<TupleField<'_>>| -> Vec<Option<Vec<u8>>> {
            fields.iter().map(|f| f.data.map(<[u8]>::to_vec)).collect()
        };
        let fields =
            own((0..offsets.n_fields()).map(|i| TupleField::nullable(record.field(&offsets, i))).collect());
        let key = own(cluster_key_of(table, index, &record, &offsets));
        cursor.store()?;
        if !go_on() {
            return Err(Error::Interrupted);
        }
        check_entry(core, (table, index), &tuple(&fields), &tuple(&key), is_deleted)?;
        if is_deleted {
            report.deleted_entries += 1;
        } else {
            report.entries += 1;
        }
        on_entry = cursor.next()?;
    }
    Ok(())
}

fn tuple(fields: &[Option<Vec<u8>>]) -> Vec<TupleField<'_>> {
    fields.iter().map(|f| TupleField::nullable(f.as_deref())).collect()
}

/// C3, C4.
fn check_entry(
    core: &Core,
    (table, index): (&Table, &Index),
    fields: &[TupleField<'_>],
    key: &[TupleField<'_>],
    is_deleted: bool,
) -> Result<()> {
    let row = find_row(core, table, key)?;
    let gives_it = match row {
        Some(mut row) if !row.is_deleted() => {
            row.load_external(core, table)?;
            same_order(index.def(), &entry(table, index, &row), fields)
        }
        _ => false,
    };
    if gives_it != is_deleted {
        return Ok(());
    }
    let detail =
        if is_deleted { "is delete-marked, but a live row gives it" } else { "belongs to no live row" };
    let value = key_text(table, index, fields);
    Err(broken(table, &format!("the entry '{value}' of index {} {detail}", index.name)))
}
