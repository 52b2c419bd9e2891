//! ALTER TABLE .. EXCHANGE PARTITION .. WITH TABLE: answers of MySQL 5.6.24. WITHOUT VALIDATION is MySQL 5.7's.
//!
//! The definitions have to be the same but for what does not matter to records: comments, defaults, display widths, digits of floats.

use super::super::{look_at, names_of};
use crate::statement::StmtCx;
use vaquita_catalog::partitioning::{Partition, Partitioned};
use vaquita_catalog::{
    ColumnDefinition, Definition, KeyDefinition, TableInfo, TableOption, error, same_name,
};
use vaquita_engine::Error;
use vaquita_exec::Outcome;
use vaquita_parser::ast::{Ident, ObjectName};
use vaquita_types::{Kind, SqlError, SqlResult};

/// What is exchanged with which table.
pub(super) struct Exchanged<'a> {
    pub(super) name: &'a Ident<'a>,
    pub(super) with: &'a ObjectName<'a>,
    /// The rows of the table are held against the partition.
    pub(super) validation: bool,
}

/// EXCHANGE PARTITION; `None`: one of the tables is another one by now.
pub(super) fn exchange(
    cx: &mut StmtCx<'_>,
    info: &TableInfo,
    partitioned: &Partitioned,
    what: &Exchanged<'_>,
) -> SqlResult<Option<Outcome>> {
    let (database, name) = names_of(cx, what.with)?;
    let with = look_at(cx, &database, &name).map_err(no_view)?;
    check_table(&with, &name)?;
    let (at, part) = part_of(partitioned, &info.definition.name, &what.name.to_string())?;
    same_definition(&info.definition, &with.definition)?;
    same_options(&info.definition, part, &with.definition)?;
    if with.table.clustered().def().layout().version() > 0 {
        // No partition has rows of several versions: they are written anew.
        super::recreate(cx, *what.with)?;
        return Ok(None);
    }
    let mut done = false;
    let same = cx.engine.alter_in_place(&info.table, &[&with.table.name], |table| {
        done = table.exchange_part(at, &with.table, what.validation)?;
        Ok::<_, Error>(())
    });
    let same = same.map_err(|e| match e {
        // Rows of other versions of the table, say, of which no statement tells.
        Error::BadDefinition(_) => different(),
        e => error::engine(&e),
    })?;
    cx.db.catalog.forget(&with.table.name);
    Ok((same && done).then(Outcome::default))
}

/// A view is none of the tables.
pub(super) fn no_view(e: SqlError) -> SqlError {
    if e.code == 1347 { SqlError::new(1177, "Can't open table") } else { e }
}

/// Whether there is a table twice.
///
/// # Errors
/// 1066.
pub(super) fn check_names(
    cx: &StmtCx<'_>,
    (database, name): (&str, &str),
    with: &ObjectName<'_>,
) -> SqlResult<()> {
    match names_of(cx, with)? == (database.to_owned(), name.to_owned()) {
        true => Err(SqlError::new(1066, format!("Not unique table/alias: '{name}'"))),
        false => Ok(()),
    }
}

/// Whether it is a table that can take the place of a partition.
fn check_table(with: &TableInfo, name: &str) -> SqlResult<()> {
    if with.table.is_temporary() {
        let text = format!("Table to exchange with partition is temporary: '{name}'");
        return Err(SqlError::new(1733, text));
    }
    if with.table.parts.is_some() {
        let text = format!("Table to exchange with partition is partitioned: '{name}'");
        return Err(SqlError::new(1732, text));
    }
    if !with.table.foreign_keys.is_empty() || !with.table.referenced_by.is_empty() {
        let text = format!("Table to exchange with partition has foreign key references: '{name}'");
        return Err(SqlError::new(1740, text));
    }
    Ok(())
}

/// The part of that name, a subpartition if there are any; its number among the parts.
fn part_of<'p>(partitioned: &'p Partitioned, table: &str, name: &str) -> SqlResult<(usize, &'p Partition)> {
    if let Some((at, (_, part))) =
        partitioned.parts().enumerate().find(|(_, (_, p))| same_name(&p.name, name))
    {
        return Ok((at, part));
    }
    match partitioned.position(name) {
        Some(_) => Err(SqlError::new(1734, "Subpartitioned table, use subpartition instead of partition")),
        None => Err(SqlError::new(1735, format!("Unknown partition '{name}' in table '{table}'"))),
    }
}

fn different() -> SqlError {
    SqlError::new(1736, "Tables have different definitions")
}

/// Whether rows of one are rows of the other.
fn same_definition(table: &Definition, with: &Definition) -> SqlResult<()> {
    let columns = table.columns.len() == with.columns.len()
        && table.columns.iter().zip(&with.columns).all(|(a, b)| same_column(a, b));
    let keys =
        table.keys.len() == with.keys.len() && table.keys.iter().zip(&with.keys).all(|(a, b)| same_key(a, b));
    let conditions = |definition: &Definition| {
        let enforced = definition.checks.iter().filter(|check| check.enforced);
        let mut clauses: Vec<String> = enforced.map(|check| check.clause.clone()).collect();
        clauses.sort();
        clauses
    };
    match columns && keys && conditions(table) == conditions(with) {
        true => Ok(()),
        false => Err(different()),
    }
}

fn same_column(a: &ColumnDefinition, b: &ColumnDefinition) -> bool {
    let (one, other) = (&a.ty, &b.ty);
    let float = matches!(one.kind, Kind::Float | Kind::Double);
    let sized = float || one.kind.is_integer() && !one.zerofill;
    same_name(&a.name, &b.name)
        && (one.kind, one.unsigned, one.zerofill) == (other.kind, other.unsigned, other.zerofill)
        && (one.collation, one.nullable, &one.labels) == (other.collation, other.nullable, &other.labels)
        && (sized || one.length == other.length)
        && (float || one.decimals == other.decimals)
        && (a.auto_increment, a.hidden, a.functional) == (b.auto_increment, b.hidden, b.functional)
        && (&a.spelled, &a.generated) == (&b.spelled, &b.generated)
}

fn same_key(a: &KeyDefinition, b: &KeyDefinition) -> bool {
    let parts = a.parts.iter().zip(&b.parts).all(|(a, b)| {
        same_name(&a.column, &b.column) && (a.prefix, a.descending) == (b.prefix, b.descending)
    });
    (a.kind, &a.name, a.using, &a.parser) == (b.kind, &b.name, b.using, &b.parser)
        && a.parts.len() == b.parts.len()
        && parts
}

/// Whether the options are the same, those of the partition first of all.
fn same_options(table: &Definition, part: &Partition, with: &Definition) -> SqlResult<()> {
    use TableOption as O;
    let differ = |option: O| table.options.get(option) != with.options.get(option);
    let of_part = |said: u64, option: O| {
        let other = with.options.get(option).and_then(|value| value.parse().ok());
        said != other.unwrap_or(0u64)
    };
    let others = [
        O::PackKeys,
        O::StatsPersistent,
        O::StatsAutoRecalc,
        O::StatsSamplePages,
        O::Checksum,
        O::DelayKeyWrite,
    ];
    let compressed = table.row_format == vaquita_engine::lower::RowFormat::Compressed;
    let attribute = if table.row_format != with.row_format || compressed && differ(O::KeyBlockSize) {
        "ROW_FORMAT"
    } else if differ(O::AvgRowLength) {
        "AVG_ROW_LENGTH"
    } else if table.collation != with.collation {
        "CHARACTER SET"
    } else if others.into_iter().any(differ) {
        "TABLE OPTION"
    } else if of_part(part.max_rows, O::MaxRows) {
        "MAX_ROWS"
    } else if of_part(part.min_rows, O::MinRows) {
        "MIN_ROWS"
    } else if part.data_directory.is_some() || table.directory.is_some() || with.directory.is_some() {
        "DATA DIRECTORY"
    } else {
        return Ok(());
    };
    let text = format!("Non matching attribute '{attribute}' between partition and table");
    Err(SqlError::new(1731, text))
}
