//! Partition functions: where rows of partitioned tables go, and which partitions a condition leaves.
//!
//! | part | file |
//! |---|---|
//! | a clause and its table become a function | this file |
//! | evaluating it | [`function`] |
//! | KEY | `key` |
//! | what a clause may be for its table | [`check`] |
//! | which parts are read | `prune` |
//!
//! The engine asks by its trait ([`vaquita_engine::Scheme`]); who opens a folder gives it [`Functions`]. A function depends on the values of
//! a row alone: not on time zones, of which 5.6 forbids what would, nor on variables.

pub mod check;
pub mod function;
mod key;
mod prune;

pub use prune::{ReadParts, parts_named};

use crate::rules::compile_of_table;
use function::{Bounds, Function, Level, ListColumns, RangeColumns, Source};
use key::KeyColumn;
use std::sync::Arc;
use vaquita_catalog::partitioning::{Bound, Method, Partitioned, Values};
use vaquita_catalog::{ColumnDefinition, Definition};
use vaquita_engine::lower::RowFormat;
use vaquita_engine::{Partitioning, Scheming, Table};
use vaquita_expr::CompileCx;
use vaquita_session::SessionState;
use vaquita_types::convert::store::{StoreMode, store};
use vaquita_types::{ColumnType, SqlError, SqlResult, SqlType, Value, Warnings};

/// Understands the clauses of a folder's tables.
#[derive(Debug, Default)]
pub struct Functions;

impl Partitioning for Functions {
    fn understand(&self, table: &Table, clause: &str) -> Result<Scheming, String> {
        let text = |e: SqlError| e.message;
        let partitioned = Partitioned::of_clause(clause).map_err(text)?;
        let function = function_of(&Definition::of(table), &partitioned).map_err(text)?;
        Ok(Scheming { parts: partitioned.file_parts(), scheme: Arc::new(function) })
    }
}

/// The partition function of a table.
///
/// # Errors
/// The clause does not fit the table; 1235 KEY with a collation whose hash is not known here.
pub fn function_of(table: &Definition, partitioned: &Partitioned) -> SqlResult<Function> {
    let mut state = SessionState::detached()?;
    let top = level_of(table, &partitioned.method, partitioned, &mut state)?;
    let sub = match &partitioned.sub {
        None => None,
        Some(sub) => {
            let count = sub.count as usize;
            Some((hash_level(table, &sub.method, count, &mut state)?, count))
        }
    };
    Ok(Function::new(top, sub))
}

fn level_of(
    table: &Definition,
    method: &Method,
    partitioned: &Partitioned,
    state: &mut SessionState,
) -> SqlResult<Level> {
    let less_than = || {
        partitioned.partitions.iter().map(|p| match &p.values {
            Values::LessThan(bounds) => &bounds[..],
            _ => &[],
        })
    };
    let lists = || {
        partitioned.partitions.iter().enumerate().flat_map(|(at, p)| {
            let rows = if let Values::In(rows) = &p.values { &rows[..] } else { &[] };
            rows.iter().map(move |row| (row, at))
        })
    };
    Ok(match method {
        Method::Range(expr) => {
            let bounds = less_than().map(|bounds| match bounds {
                [Bound::Number(n)] => *n,
                _ => i128::MAX,
            });
            Level::Range(source_of(table, expr, state)?, bounds.collect())
        }
        Method::List(expr) => {
            let mut values = Bounds::default();
            for (row, at) in lists() {
                match row[..] {
                    [Bound::Number(n)] => values.add(n, at),
                    _ => values.null = Some(at),
                }
            }
            values.sort();
            Level::List(source_of(table, expr, state)?, values)
        }
        Method::RangeColumns(columns) => {
            let columns = columns_of(table, columns)?;
            let bounds = less_than().map(|bounds| stored_row(table, &columns, bounds, state));
            let bounds = bounds.collect::<SqlResult<_>>()?;
            Level::RangeColumns(RangeColumns::new(table, columns, bounds))
        }
        Method::ListColumns(columns) => {
            let columns = columns_of(table, columns)?;
            let mut rows = Vec::new();
            for (row, at) in lists() {
                rows.push((stored_row(table, &columns, row, state)?, at));
            }
            Level::ListColumns(ListColumns::new(table, columns, rows))
        }
        Method::Hash { .. } | Method::Key { .. } => {
            hash_level(table, method, partitioned.partitions.len(), state)?
        }
    })
}

fn hash_level(
    table: &Definition,
    method: &Method,
    count: usize,
    state: &mut SessionState,
) -> SqlResult<Level> {
    Ok(match method {
        Method::Hash { linear, expr } => Level::Hash(source_of(table, expr, state)?, *linear, count as u64),
        Method::Key { linear, old, columns } => {
            let mut columns = match columns.is_empty() {
                true => check::key_columns(table)?,
                false => columns_of(table, columns)?,
            };
            // They are hashed in the order of the table, however the clause has them.
            columns.sort_unstable();
            let keys = columns.iter().map(|&at| KeyColumn::of(&table.columns[at], at, *old));
            Level::Key(keys.collect::<SqlResult<_>>()?, *linear, count as u64)
        }
        _ => return Err(SqlError::new(1105, "subpartitions are of HASH or KEY")),
    })
}

/// Positions of columns by name.
pub(crate) fn columns_of(table: &Definition, names: &[String]) -> SqlResult<Vec<usize>> {
    let missing = || SqlError::new(1488, "Field in list of fields for partition function not found in table");
    names.iter().map(|name| table.column(name).ok_or_else(missing)).collect()
}

fn source_of(table: &Definition, text: &str, state: &mut SessionState) -> SqlResult<Source> {
    let mut cx = CompileCx::new(None, state);
    let expr = compile_of_table(text, table, "partition function", &mut cx)?;
    let growing = vaquita_parser::with_expression(text, check::growing).unwrap_or_default();
    Ok(Source::new(table, expr, growing))
}

/// A column as the engine stores it.
fn codec(table: &Definition, at: usize) -> ColumnType {
    codec_of(&table.columns[at], table.row_format)
}

fn codec_of(column: &ColumnDefinition, format: RowFormat) -> ColumnType {
    ColumnType::of_def(column.ty.clone(), &column.ty.to_def(&column.name), format)
}

/// Constants of columns in their stored form; `None` is MAXVALUE, `Some(None)` NULL.
fn stored_row(
    table: &Definition,
    columns: &[usize],
    bounds: &[Bound],
    state: &mut SessionState,
) -> SqlResult<Vec<Option<Option<Vec<u8>>>>> {
    let one = |(&at, bound): (&usize, &Bound)| match bound {
        Bound::Max => Ok(None),
        Bound::Null => Ok(Some(None)),
        Bound::Number(_) | Bound::Text { .. } => {
            stored(&table.columns[at], &codec(table, at), bound, state).map(|v| Some(Some(v)))
        }
    };
    columns.iter().zip(bounds).map(one).collect()
}

/// A constant in the stored form of a column.
///
/// # Errors
/// 1654: it is none of its values.
pub(crate) fn stored(
    column: &ColumnDefinition,
    codec: &ColumnType,
    bound: &Bound,
    state: &mut SessionState,
) -> SqlResult<Vec<u8>> {
    let wrong = || SqlError::new(1654, "Partition column values of incorrect type");
    let (value, from) = match bound {
        Bound::Number(n) if column.ty.kind.is_integer() => match (i64::try_from(*n), u64::try_from(*n)) {
            (Ok(n), _) => (Value::Int(n), SqlType::bigint(false)),
            (_, Ok(n)) => (Value::UInt(n), SqlType::bigint(true)),
            _ => return Err(wrong()),
        },
        Bound::Text { collation, bytes } if !column.ty.kind.is_integer() => {
            let ty = SqlType::varchar(bytes.len() as u32, *collation);
            (Value::Bytes(bytes.as_slice().into()), ty)
        }
        _ => return Err(wrong()),
    };
    let is_text = column.ty.kind.is_string();
    let mut out = Vec::new();
    let mut warnings = Warnings::new(8);
    let mode = StoreMode { strict: !is_text, null_is_error: true, row: 1 };
    let mut cx = vaquita_expr::EvalCx::new(None, state, None);
    let mut convert = cx.convert();
    convert.warnings = &mut warnings;
    match store(codec, &column.name, &value, &from, mode, &mut convert, &mut out) {
        Ok(true) if is_text || warnings.count() == 0 => Ok(out),
        _ => Err(wrong()),
    }
}
