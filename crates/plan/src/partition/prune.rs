//! Which parts of a table are read: those that a statement names, of these such as may have rows that satisfy the conditions.
//!
//! Conditions on the columns of the partition function become intervals, as for an index of these columns. An interval of a function that
//! grows with its column is one of the function's values; of other functions single values are evaluated. What is left may be more parts
//! than have rows, never less.

use super::function::{Function, Level, RangeColumns, Source as Expression, StoredBound};
use crate::ranges::{KeyField, KeyRange, ranges_of};
use crate::sarg::Sarg;
use std::cmp::Ordering;
use std::sync::Arc;
use vaquita_catalog::TableInfo;
use vaquita_catalog::partitioning::Partitioned;
use vaquita_engine::table::Field;
use vaquita_expr::{EvalCx, Expr, Row, TableSet};
use vaquita_parser::ast::Ident;
use vaquita_types::{Kind, SqlError, SqlResult};

/// Which parts of a partitioned table are read.
#[derive(Debug, Clone)]
pub struct ReadParts {
    /// Those that the statement names; `None`: all.
    pub named: Option<Arc<[usize]>>,
    /// What is asked of the columns of the partition function.
    sarg: Option<Sarg>,
    function: Option<Arc<Function>>,
}

/// The parts of the names in `PARTITION (..)`; `None` without it.
///
/// # Errors
/// 1747 the table has none; 1735 it has no such one.
pub fn parts_named(info: &TableInfo, names: &[Ident<'_>]) -> SqlResult<Option<Arc<[usize]>>> {
    if names.is_empty() {
        return Ok(None);
    }
    if info.definition.partitioning.is_empty() {
        return Err(SqlError::new(1747, "PARTITION () clause on non partitioned table"));
    }
    let partitioned = Partitioned::of_clause(&info.definition.partitioning)?;
    let mut parts = Vec::new();
    for name in names {
        let name = name.to_string();
        let unknown = || {
            let text = format!("Unknown partition '{name}' in table '{}'", info.definition.name);
            SqlError::new(1735, text)
        };
        parts.extend(partitioned.parts_named(&name).ok_or_else(unknown)?);
    }
    parts.sort_unstable();
    parts.dedup();
    Ok(Some(parts.into()))
}

impl ReadParts {
    /// For a table of a query, read when the tables `known` have been read; `None` for one without partitions.
    pub(crate) fn of(
        slot: usize,
        named: Option<Arc<[usize]>>,
        info: Option<&TableInfo>,
        known: TableSet,
        conditions: &[&Expr],
    ) -> Option<ReadParts> {
        let info = info.filter(|info| info.table.parts.is_some())?;
        let function = function_of(info);
        let columns = function.as_ref().map_or(&[][..], |function| function.columns());
        let sargs = conditions.iter().filter_map(|condition| Sarg::of(condition, slot, known));
        let sargs: Vec<Sarg> = sargs.filter(|sarg| concerns(sarg, columns)).collect();
        let sarg = (!sargs.is_empty()).then_some(Sarg::And(sargs));
        Some(ReadParts { named, sarg, function })
    }

    /// The parts that are read for the present rows of the tables before; `None`: all.
    ///
    /// # Errors
    /// Of evaluating values.
    pub fn wanted(
        &self,
        info: &TableInfo,
        row: &Row<'_>,
        cx: &mut EvalCx<'_>,
    ) -> SqlResult<Option<Vec<usize>>> {
        let left = match &self.sarg {
            Some(sarg) => self.left(info, sarg, row, cx)?,
            None => None,
        };
        Ok(match (left, &self.named) {
            (left, None) => left,
            (None, Some(named)) => Some(named.to_vec()),
            (Some(left), Some(named)) => Some(left.into_iter().filter(|part| named.contains(part)).collect()),
        })
    }

    /// Those that are left by the conditions which compare with such values only.
    pub(crate) fn by(&self, is_wanted: impl Fn(&Expr) -> bool) -> ReadParts {
        ReadParts { sarg: self.sarg.as_ref().map(|sarg| sarg.part_where(is_wanted)), ..self.clone() }
    }

    /// The names of the parts that are read whatever rows come before, with commas between, as EXPLAIN shows them.
    pub fn explained(&self, info: &TableInfo, cx: &mut EvalCx<'_>) -> Option<String> {
        let partitioned = Partitioned::of_clause(&info.definition.partitioning).ok()?;
        let read = self.by(|value| value.tables().is_empty());
        let wanted = read.wanted(info, &Row::constant(&[]), cx).ok()?;
        let all = info.table.parts.as_ref().map_or(0, |parts| parts.tables.len());
        let parts = wanted.unwrap_or_else(|| (0..all).collect());
        let names: Vec<String> = parts.into_iter().map(|part| partitioned.explained(part)).collect();
        Some(names.join(",")).filter(|names| !names.is_empty())
    }

    fn left(
        &self,
        info: &TableInfo,
        sarg: &Sarg,
        row: &Row<'_>,
        cx: &mut EvalCx<'_>,
    ) -> SqlResult<Option<Vec<usize>>> {
        let (Some(function), Some(parts)) = (&self.function, &info.table.parts) else { return Ok(None) };
        let (top, sub) = function.levels();
        let mut of_level = |level: &Level, at: usize| -> SqlResult<Option<Vec<bool>>> {
            let Some(index) = parts.keys.get(at) else { return Ok(None) };
            let Some(ranges) = ranges_of(info, index, sarg, row, cx)? else { return Ok(None) };
            if matches!(level, Level::Key(..)) && ranges.iter().any(|range| has_zero(info, level, range)) {
                return Ok(None);
            }
            Ok(of_ranges(level, &ranges))
        };
        let tops = of_level(top, 0)?;
        let subs = match sub {
            Some(level) => of_level(level, 1)?,
            None => None,
        };
        if tops.is_none() && subs.is_none() {
            return Ok(None);
        }
        let per = function.per_partition();
        let is_left = |part: &usize| {
            tops.as_ref().is_none_or(|tops| tops[part / per])
                && subs.as_ref().is_none_or(|subs| subs[part % per])
        };
        Ok(Some((0..parts.tables.len()).filter(is_left).collect()))
    }
}

/// The function of a table, made once per plan.
fn function_of(info: &TableInfo) -> Option<Arc<Function>> {
    let partitioned = Partitioned::of_clause(&info.definition.partitioning).ok()?;
    super::function_of(&info.definition, &partitioned).ok().map(Arc::new)
}

/// Whether anything that a search argument asks is of these columns.
fn concerns(sarg: &Sarg, columns: &[usize]) -> bool {
    match sarg {
        Sarg::And(list) | Sarg::Or(list) => list.iter().any(|sarg| concerns(sarg, columns)),
        Sarg::Leaf(leaf) => columns.contains(&leaf.column),
    }
}

/// Whether a key has the zero of a FLOAT or DOUBLE. Both zeros are equal, and KEY puts them into partitions of their own.
fn has_zero(info: &TableInfo, level: &Level, range: &KeyRange) -> bool {
    level.columns().iter().zip(&range.lower).any(|(column, field)| {
        let kind = info.columns[*column].sql_type().kind;
        let is_zero = |stored: &[u8]| stored.iter().all(|b| matches!(b, 0 | 0x80));
        matches!(kind, Kind::Float | Kind::Double) && field.as_deref().is_some_and(is_zero)
    })
}

/// The partitions of a level that have rows of one of the intervals, perhaps; `None`: all.
fn of_ranges(level: &Level, ranges: &[KeyRange]) -> Option<Vec<bool>> {
    let mut left = vec![false; level.count()];
    for range in ranges {
        of_range(level, range, &mut left)?;
    }
    Some(left)
}

fn of_range(level: &Level, range: &KeyRange, left: &mut [bool]) -> Option<()> {
    match level {
        Level::RangeColumns(columns) => {
            let (low, high) = columns_between(columns, range);
            mark(left, low, high);
        }
        Level::ListColumns(columns) => {
            let order = |key: &[KeyField], row: &[Option<Vec<u8>>]| {
                columns.order(key.iter().map(|field| field.as_deref()), row).reverse()
            };
            for (row, at) in &columns.rows {
                let (low, high) = (order(&range.lower, row), order(&range.upper, row));
                let above = low.is_gt() || low.is_eq() && (range.lower_inclusive || range.lower.is_empty());
                let below = high.is_lt() || high.is_eq() && (range.upper_inclusive || range.upper.is_empty());
                left[*at] |= above && below;
            }
        }
        _ if range.is_point() && range.lower.len() == level.columns().len() => {
            let value = |column: usize| -> Field<'_> {
                let at = level.columns().iter().position(|c| *c == column);
                at.and_then(|at| range.lower[at].as_deref())
            };
            match level.number(&value) {
                Ok(at) => left[at] = true,
                Err(vaquita_engine::Error::NoPartition(_)) => {}
                Err(_) => return None,
            }
        }
        Level::Range(source, bounds) => {
            let (low, high, with_null) = values_between(source, range)?;
            let first = low.map_or(0, |low| bounds.partition_point(|bound| *bound <= low));
            let last = high.map_or(bounds.len(), |high| bounds.partition_point(|bound| *bound <= high));
            if low.zip(high).is_none_or(|(low, high)| low <= high) {
                mark(left, first, last);
            }
            left[0] |= with_null;
        }
        Level::List(source, values) => {
            let (low, high, with_null) = values_between(source, range)?;
            for (n, at) in values.values() {
                left[*at] |= low.is_none_or(|low| low <= *n) && high.is_none_or(|high| *n <= high);
            }
            if let Some(at) = values.null.filter(|_| with_null) {
                left[at] = true;
            }
        }
        Level::Hash(source, ..) => {
            let (low, high, with_null) = values_between(source, range)?;
            let (low, high) = low.zip(high).filter(|_| source.column().is_some())?;
            if high - low >= left.len() as i128 {
                return None;
            }
            for n in (low..=high).map(Some).chain(with_null.then_some(None)) {
                left[level.hashed(n)] = true;
            }
        }
        Level::Key(..) => return None,
    }
    Some(())
}

fn mark(left: &mut [bool], first: usize, last: usize) {
    let end = (last + 1).min(left.len());
    if first < end {
        left[first..end].fill(true);
    }
}

/// The first and the last partition of RANGE COLUMNS that an interval meets.
fn columns_between(range: &RangeColumns, interval: &KeyRange) -> (usize, usize) {
    let order = |key: &[KeyField], bound: &[StoredBound]| {
        range.order(key.iter().map(|field| field.as_deref()), bound)
    };
    let whole = |key: &[KeyField]| key.len() == range.columns.len();
    // All rows of the interval are at the bound or above it.
    let is_above = |bound: &Vec<StoredBound>| match order(&interval.lower, bound) {
        _ if interval.lower.is_empty() => false,
        Ordering::Equal => whole(&interval.lower) || !interval.lower_inclusive,
        order => order.is_gt(),
    };
    // Some may be.
    let reaches = |bound: &Vec<StoredBound>| match order(&interval.upper, bound) {
        _ if interval.upper.is_empty() => true,
        Ordering::Equal => interval.upper_inclusive,
        order => order.is_gt(),
    };
    (range.bounds.partition_point(is_above), range.bounds.partition_point(reaches))
}

/// The least and the greatest value of an expression within an interval of its column, and whether it may be NULL; `None`: it cannot be told.
fn values_between(source: &Expression, range: &KeyRange) -> Option<(Option<i128>, Option<i128>, bool)> {
    let column = source.grows_with()?;
    let is_column = source.column().is_some();
    let end = |key: &[KeyField]| -> Option<Option<i128>> {
        let Some(first) = key.first() else { return Some(None) };
        let field = first.as_deref();
        source.value(&|c| if c == column { field } else { None }).ok()
    };
    let is_null = |key: &[KeyField]| matches!(key.first(), Some(None));
    let mut low = end(&range.lower)?;
    let mut high = end(&range.upper)?;
    if is_column && range.lower.len() == 1 && !range.lower_inclusive {
        low = low.map(|n| n + 1);
    }
    if is_column && range.upper.len() == 1 && !range.upper_inclusive {
        high = high.map(|n| n - 1);
    }
    let null_in = range.lower.is_empty() || is_null(&range.lower) && range.lower_inclusive;
    if is_null(&range.upper) {
        // Nothing but NULL.
        return Some((Some(1), Some(0), null_in));
    }
    // A date that is none gives NULL, wherever it stands among the others. So may the ends.
    let with_null = null_in || source.may_be_null();
    Some((low, high, with_null))
}
