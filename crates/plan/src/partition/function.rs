//! Partition functions as they are evaluated: for each row that comes in, and for keys that are looked for.

use super::key::KeyColumn;
use super::{codec, columns_of};
use parking_lot::Mutex;
use std::cmp::Ordering;
use vaquita_catalog::Definition;
use vaquita_engine::lower::{FieldCmp, compare_fields};
use vaquita_engine::table::Field;
use vaquita_engine::{Error, Result, Scheme};
use vaquita_expr::{EvalCx, Expr, Node, Row, TableRow};
use vaquita_session::SessionState;
use vaquita_types::{ColumnType, TimeZone, Value};

/// A partition function.
#[derive(Debug)]
pub struct Function {
    top: Level,
    /// That of the subpartitions, and how many a partition has.
    sub: Option<(Level, usize)>,
    columns: Vec<usize>,
}

/// How rows, or those of a partition, are divided.
#[derive(Debug)]
pub enum Level {
    /// By upper bounds, which are above the values.
    Range(Source, Vec<i128>),
    /// By lists of values.
    List(Source, Bounds),
    /// By upper bounds of several columns.
    RangeColumns(RangeColumns),
    /// By lists of values of several columns.
    ListColumns(ListColumns),
    /// By the remainder; LINEAR or not; among how many.
    Hash(Source, bool, u64),
    /// By a hash of columns.
    Key(Vec<KeyColumn>, bool, u64),
}

impl Function {
    pub(super) fn new(top: Level, sub: Option<(Level, usize)>) -> Function {
        let mut columns = top.columns();
        columns.extend(sub.iter().flat_map(|(level, _)| level.columns()));
        columns.sort_unstable();
        columns.dedup();
        Function { top, sub, columns }
    }

    /// The columns that it looks at.
    pub fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// Subpartitions of a partition; 1 without any.
    pub fn per_partition(&self) -> usize {
        self.sub.as_ref().map_or(1, |(_, count)| *count)
    }

    /// How rows are divided, and those of a partition.
    pub fn levels(&self) -> (&Level, Option<&Level>) {
        (&self.top, self.sub.as_ref().map(|(level, _)| level))
    }
}

impl Scheme for Function {
    fn columns(&self) -> &[usize] {
        &self.columns
    }

    fn keys(&self) -> Vec<Vec<usize>> {
        let (top, sub) = self.levels();
        std::iter::once(top).chain(sub).map(Level::columns).collect()
    }

    fn part_of<'v>(&self, value: &dyn Fn(usize) -> Field<'v>) -> Result<usize> {
        let top = self.top.number(value)?;
        match &self.sub {
            None => Ok(top),
            Some((level, count)) => Ok(top * count + level.number(value)?),
        }
    }
}

impl Level {
    /// How many partitions it tells apart.
    pub fn count(&self) -> usize {
        match self {
            Level::Range(_, bounds) => bounds.len(),
            Level::RangeColumns(range) => range.bounds.len(),
            Level::List(_, values) => {
                let most = values.values.iter().map(|(_, at)| *at).chain(values.null).max();
                most.map_or(0, |at| at + 1)
            }
            Level::ListColumns(list) => list.rows.iter().map(|(_, at)| at + 1).max().unwrap_or(0),
            Level::Hash(_, _, count) | Level::Key(_, _, count) => *count as usize,
        }
    }

    /// The partition of HASH that has a value. NULL counts as the least number there is, and numbers are taken for signed ones.
    pub fn hashed(&self, n: Option<i128>) -> usize {
        let n = n.map_or(i64::MIN, |n| n as i64);
        match self {
            Level::Hash(_, true, count) => linear_number(n as u64, *count),
            _ => (n % self.count() as i64).unsigned_abs() as usize,
        }
    }

    /// The columns that it looks at, in the order of the clause.
    pub fn columns(&self) -> Vec<usize> {
        match self {
            Level::Range(source, _) | Level::List(source, _) | Level::Hash(source, ..) => {
                source.columns.clone()
            }
            Level::RangeColumns(range) => range.columns.iter().map(|(at, _)| *at).collect(),
            Level::ListColumns(list) => list.columns.iter().map(|(at, _)| *at).collect(),
            Level::Key(columns, ..) => columns.iter().map(KeyColumn::position).collect(),
        }
    }

    /// The number of the partition.
    pub fn number<'v>(&self, value: &dyn Fn(usize) -> Field<'v>) -> Result<usize> {
        match self {
            Level::Range(source, bounds) => {
                // NULL is below all numbers.
                let n = source.value(value)?;
                let at = n.map_or(0, |n| bounds.partition_point(|bound| *bound <= n));
                let shown = || n.map_or("NULL".to_owned(), |n| n.to_string());
                if at < bounds.len() { Ok(at) } else { Err(Error::NoPartition(shown())) }
            }
            Level::List(source, values) => {
                let n = source.value(value)?;
                let shown = || n.map_or("NULL".to_owned(), |n| n.to_string());
                values.get(n).ok_or_else(|| Error::NoPartition(shown()))
            }
            Level::RangeColumns(range) => range.number(value).ok_or_else(no_list),
            Level::ListColumns(list) => list.number(value).ok_or_else(no_list),
            Level::Hash(source, ..) => Ok(self.hashed(source.value(value)?)),
            Level::Key(columns, linear, count) => {
                let mut hash = Default::default();
                columns.iter().for_each(|column| column.add(value(column.position()), &mut hash));
                let n = u64::from(hash.finish());
                Ok(if *linear { linear_number(n, *count) } else { (n % count) as usize })
            }
        }
    }
}

fn no_list() -> Error {
    Error::NoPartition("from column_list".to_owned())
}

/// The number of a partition of LINEAR HASH: the low bits of the value, one less where that is beyond the last.
fn linear_number(n: u64, count: u64) -> usize {
    let mask = count.next_power_of_two() - 1;
    let low = n & mask;
    (if low < count { low } else { low & (mask >> 1) }) as usize
}

/// Values of LIST.
#[derive(Debug, Default)]
pub struct Bounds {
    values: Vec<(i128, usize)>,
    /// The partition that has NULL.
    pub null: Option<usize>,
}

impl Bounds {
    /// Another value.
    pub fn add(&mut self, value: i128, partition: usize) {
        self.values.push((value, partition));
    }

    /// All values are there.
    pub fn sort(&mut self) {
        self.values.sort_unstable();
    }

    /// The partition that has a value.
    pub fn get(&self, value: Option<i128>) -> Option<usize> {
        let Some(value) = value else { return self.null };
        let at = self.values.binary_search_by_key(&value, |(value, _)| *value).ok()?;
        Some(self.values[at].1)
    }

    /// The values in order, with their partitions.
    pub fn values(&self) -> &[(i128, usize)] {
        &self.values
    }
}

/// A constant of a column in stored form: `None` is MAXVALUE, `Some(None)` NULL.
pub type StoredBound = Option<Option<Vec<u8>>>;

/// RANGE COLUMNS.
#[derive(Debug)]
pub struct RangeColumns {
    /// Positions, and the order of their values.
    pub columns: Vec<(usize, FieldCmp)>,
    /// For each partition: all its rows are less.
    pub bounds: Vec<Vec<StoredBound>>,
}

fn with_order(table: &Definition, columns: Vec<usize>) -> Vec<(usize, FieldCmp)> {
    let order = |at: usize| {
        let column = &table.columns[at];
        (at, FieldCmp::of(&column.ty.to_def(&column.name)))
    };
    columns.into_iter().map(order).collect()
}

impl RangeColumns {
    pub(super) fn new(table: &Definition, columns: Vec<usize>, bounds: Vec<Vec<StoredBound>>) -> Self {
        RangeColumns { columns: with_order(table, columns), bounds }
    }

    /// The order of values, those of the first columns at least, and a bound; equal where MAXVALUE is not reached and all values are.
    pub fn order<'v>(&self, values: impl Iterator<Item = Field<'v>>, bound: &[StoredBound]) -> Ordering {
        for (((_, cmp), value), bound) in self.columns.iter().zip(values).zip(bound) {
            let Some(bound) = bound else { return Ordering::Less };
            match compare_fields(*cmp, value, bound.as_deref()) {
                Ordering::Equal => {}
                order => return order,
            }
        }
        Ordering::Equal
    }

    fn number<'v>(&self, value: &dyn Fn(usize) -> Field<'v>) -> Option<usize> {
        let row = || self.columns.iter().map(|(at, _)| value(*at));
        let at = self.bounds.partition_point(|bound| self.order(row(), bound) != Ordering::Less);
        (at < self.bounds.len()).then_some(at)
    }
}

/// LIST COLUMNS.
#[derive(Debug)]
pub struct ListColumns {
    /// Positions, and the order of their values.
    pub columns: Vec<(usize, FieldCmp)>,
    /// Rows of values in order, with their partitions.
    pub rows: Vec<(Vec<Option<Vec<u8>>>, usize)>,
}

impl ListColumns {
    pub(super) fn new(table: &Definition, columns: Vec<usize>, rows: Vec<(Vec<StoredBound>, usize)>) -> Self {
        let columns = with_order(table, columns);
        let values = |row: Vec<StoredBound>| row.into_iter().map(Option::flatten).collect::<Vec<_>>();
        let mut rows: Vec<_> = rows.into_iter().map(|(row, at)| (values(row), at)).collect();
        rows.sort_by(|(a, _), (b, _)| row_order(&columns, a.iter().map(Option::as_deref), b));
        ListColumns { columns, rows }
    }

    /// The order of values, those of the first columns at least, and a row.
    pub fn order<'v>(&self, values: impl Iterator<Item = Field<'v>>, row: &[Option<Vec<u8>>]) -> Ordering {
        row_order(&self.columns, values, row)
    }

    /// Whether two rows of values are equal.
    pub fn same(&self, a: &[Option<Vec<u8>>], b: &[Option<Vec<u8>>]) -> bool {
        self.order(a.iter().map(Option::as_deref), b).is_eq()
    }

    fn number<'v>(&self, value: &dyn Fn(usize) -> Field<'v>) -> Option<usize> {
        let order = |(row, _): &(Vec<_>, usize)| {
            self.order(self.columns.iter().map(|(at, _)| value(*at)), row).reverse()
        };
        let at = self.rows.binary_search_by(order).ok()?;
        Some(self.rows[at].1)
    }
}

fn row_order<'a>(
    columns: &[(usize, FieldCmp)],
    values: impl Iterator<Item = Field<'a>>,
    row: &[Option<Vec<u8>>],
) -> Ordering {
    let each = columns.iter().zip(values).zip(row);
    let mut orders = each.map(|(((_, cmp), value), other)| compare_fields(*cmp, value, other.as_deref()));
    orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

/// What the expression of a partition function gives: a whole number or NULL.
pub struct Source {
    /// The columns that it looks at.
    columns: Vec<usize>,
    /// How they are stored, all columns of the table.
    codecs: Vec<ColumnType>,
    expr: Expr,
    /// It is nothing but a column.
    column: Option<usize>,
    /// It grows with its only column; whether it may be NULL where that is not.
    growing: Option<bool>,
    /// What evaluating needs; several may at a time.
    states: Mutex<Vec<SessionState>>,
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Source")
            .field("columns", &self.columns)
            .field("expr", &self.expr)
            .finish_non_exhaustive()
    }
}

impl Source {
    pub(super) fn new(table: &Definition, expr: Expr, growing: Option<bool>) -> Source {
        let columns = crate::rules::columns_of(&expr).to_vec();
        let codecs = (0..table.columns.len()).map(|at| codec(table, at)).collect();
        let column = match expr.node() {
            Node::Column { column, .. } => Some(usize::from(*column)),
            _ => None,
        };
        Source { columns, codecs, expr, column, growing, states: Mutex::default() }
    }

    /// Its only column, if it grows with that.
    pub fn grows_with(&self) -> Option<usize> {
        self.growing.and(self.columns.first().copied())
    }

    /// Whether it may be NULL where its column is not.
    pub fn may_be_null(&self) -> bool {
        self.growing.unwrap_or(true)
    }

    /// The column that it is, if it is nothing else.
    pub fn column(&self) -> Option<usize> {
        self.column
    }

    /// The expression.
    pub fn expr(&self) -> &Expr {
        &self.expr
    }

    /// Its value for a row.
    pub fn value<'v>(&self, value: &dyn Fn(usize) -> Field<'v>) -> Result<Option<i128>> {
        let decoded = |at: usize| self.codecs[at].decode(value(at), &TimeZone::UTC);
        if let Some(at) = self.column {
            return whole(&decoded(at));
        }
        let mut values = vec![Value::Null; self.codecs.len()];
        for &at in &self.columns {
            values[at] = decoded(at).into_owned();
        }
        let state = self.states.lock().pop();
        let mut state = match state {
            Some(state) => state,
            None => SessionState::detached().map_err(failed)?,
        };
        let done = self.evaluate(&values, &mut state);
        state.warnings.clear();
        self.states.lock().push(state);
        done
    }

    fn evaluate(&self, values: &[Value<'static>], state: &mut SessionState) -> Result<Option<i128>> {
        let tables = [TableRow::Values(values)];
        let mut cx = EvalCx::new(None, state, None);
        let row = Row { tables: &tables, ..Row::default() };
        whole(&self.expr.eval(&mut cx, &row).map_err(failed)?)
    }
}

fn whole(value: &Value<'_>) -> Result<Option<i128>> {
    Ok(match value {
        Value::Null => None,
        Value::Int(n) => Some((*n).into()),
        Value::UInt(n) | Value::Bit { value: n, .. } => Some((*n).into()),
        Value::Decimal(n) => {
            let text = n.to_string();
            let digits = text.split('.').next().unwrap_or_default();
            Some(digits.parse().map_err(|_| no_number(&text))?)
        }
        other => return Err(no_number(&format!("{other:?}"))),
    })
}

fn no_number(what: &str) -> Error {
    Error::PartitionFunction {
        code: 1491,
        message: format!("The PARTITION function returns the wrong type: {what}"),
    }
}

fn failed(e: vaquita_types::SqlError) -> Error {
    Error::PartitionFunction { code: e.code, message: e.message.into_owned() }
}

/// Positions of columns by name, for who prunes.
///
/// # Errors
/// 1488.
pub fn positions(table: &Definition, names: &[String]) -> vaquita_types::SqlResult<Vec<usize>> {
    columns_of(table, names)
}
