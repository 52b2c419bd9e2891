//! Running SELECT: scans, joins, sorts, groups.
//!
//! Rows are pushed: a scan calls what follows for each row. A block of one table whose expressions run no subqueries looks
//! at rows in place, on their latched pages, and hands them on from there; everything else works on rows in cursors' batches
//! or copies, with no latch held.
//!
//! What a query keeps of its rows has limits of memory, beyond which it goes to temporary files: never while a page is latched.
//! Whoever keeps rows says so by [`Flow::Pause`], and writes when it is called without latches. Results are the same, in the
//! same order, whatever the limits.
//!
//! | part | file |
//! |---|---|
//! | queries, unions, limits | this file |
//! | the values of one column, for IN | `members` |
//! | reading tables, joins | `scan` |
//! | tables kept in memory: derived and virtual ones, hash joins | `kept` |
//! | what becomes of joined rows: groups, order, output | `pipeline`, `group` |
//! | window functions | [`window`] |
//! | INTERSECT and EXCEPT, WITH RECURSIVE | `set_operation`, `recursive` |
//! | what may be read, what is counted | `begin` |

mod begin;
mod group;
mod json_table;
mod kept;
pub(crate) mod members;
mod pipeline;
mod placed;
mod recursive;
mod scan;
mod set_operation;
mod window;

use smallvec::SmallVec;
use vaquita_expr::{EvalCx, Expr, Row};
use vaquita_plan::{Body, LimitPlan, OrderKey, QueryPlan, SortValue, Work};
use vaquita_session::temp::distinct::{Came, Distinct};
use vaquita_session::temp::sort::Sorter;
use vaquita_session::temp::values::{Values, push_key, push_value};
use vaquita_types::{Kind, SqlError, SqlResult, SqlType, Value, memory, number};

pub(crate) use begin::{begin, count_sort};
pub(crate) use group::used_columns;
pub(crate) use scan::{Consumer, Exec};
pub(crate) use vaquita_expr::all_true;

/// What is to happen after a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    /// The next row.
    Go,
    /// [`Output::pause`] without latches, then the next row.
    Pause,
    /// No more rows.
    Stop,
}

/// Takes the rows of a query.
pub(crate) trait Output {
    /// A row.
    fn row(&mut self, cx: &mut EvalCx<'_>, values: &[Value<'_>]) -> SqlResult<Flow>;

    /// Called without latches after [`Flow::Pause`].
    fn pause(&mut self, cx: &mut EvalCx<'_>) -> SqlResult<()> {
        let _ = cx;
        Ok(())
    }

    /// Whether rows may come while a page is latched.
    fn in_place(&self) -> bool {
        false
    }
}

/// Runs a query for a row of the block around it. The number of rows that LIMIT left out is counted if `count_all`.
pub(crate) fn run_query(
    plan: &QueryPlan,
    cx: &mut EvalCx<'_>,
    row: &Row<'_>,
    count_all: bool,
    out: &mut dyn Output,
) -> SqlResult<u64> {
    match &plan.body {
        Body::Block(block) => pipeline::run_block(block, cx, row, count_all, out),
        Body::Union { .. } => run_union(plan, cx, row, count_all, out),
        Body::Values { rows, .. } => run_values(plan, rows, cx, row, out),
        Body::SetOperation(op) => set_operation::run(plan, op, cx, row, count_all, out),
        Body::Recursive(recursion) => recursive::run(plan, recursion, cx, row, count_all, out),
    }
}

/// The rows of VALUES.
fn run_values(
    plan: &QueryPlan,
    rows: &[Box<[Expr]>],
    cx: &mut EvalCx<'_>,
    row: &Row<'_>,
    out: &mut dyn Output,
) -> SqlResult<u64> {
    let mut limit = Limit { skip: 0, take: u64::MAX, count_all: false, seen: 0 };
    for values in rows {
        cx.state.poll()?;
        let mut converted = Vec::with_capacity(values.len());
        for (e, to) in values.iter().zip(plan.types.iter()) {
            let value = e.eval(cx, row)?;
            converted.push(convert(&value, e.ty(), to, cx)?.into_owned());
        }
        if !give(&converted, &mut limit, cx, out)? {
            break;
        }
    }
    Ok(limit.seen)
}

/// Runs a whole statement: subqueries' results are kept until it ends.
pub(crate) fn in_statement<T>(
    cx: &mut EvalCx<'_>,
    body: impl FnOnce(&mut EvalCx<'_>) -> SqlResult<T>,
) -> SqlResult<T> {
    cx.state.subqueries.begin();
    let done = body(cx);
    cx.state.subqueries.end();
    done
}

/// LIMIT at work.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limit {
    pub(crate) skip: u64,
    pub(crate) take: u64,
    /// Rows beyond are counted, not refused.
    pub(crate) count_all: bool,
    /// Rows that came.
    pub(crate) seen: u64,
}

impl Limit {
    pub(crate) fn of(
        plan: Option<&LimitPlan>,
        cx: &mut EvalCx<'_>,
        row: &Row<'_>,
        count_all: bool,
    ) -> SqlResult<Limit> {
        let Some(plan) = plan else {
            return Ok(Limit { skip: 0, take: u64::MAX, count_all, seen: 0 });
        };
        let take = limit_value(&plan.count, cx, row)?;
        let skip = match &plan.offset {
            Some(offset) => limit_value(offset, cx, row)?,
            None => 0,
        };
        Ok(Limit { skip, take, count_all, seen: 0 })
    }

    /// Rows that are needed, if there is an end.
    pub(crate) fn first(&self) -> Option<u64> {
        (self.take != u64::MAX && !self.count_all).then(|| self.skip.saturating_add(self.take))
    }

    /// Whether no row is wanted.
    pub(crate) fn is_empty(&self) -> bool {
        self.take == 0 && !self.count_all
    }

    /// A row comes: whether it is to be shown.
    #[inline]
    pub(crate) fn shows(&mut self) -> bool {
        self.seen += 1;
        self.seen > self.skip && self.seen - self.skip <= self.take
    }

    /// Whether all rows have come.
    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        !self.count_all && self.seen >= self.skip.saturating_add(self.take)
    }
}

fn limit_value(e: &Expr, cx: &mut EvalCx<'_>, row: &Row<'_>) -> SqlResult<u64> {
    let constant = Row { tables: &[], ..*row };
    let refused = || SqlError::new(1210, "Incorrect arguments to EXECUTE");
    match e.eval(cx, &constant)? {
        Value::UInt(v) => Ok(v),
        Value::Null => Ok(0),
        // A parameter that was given as something else: the number it begins with, rounded.
        Value::Bytes(text) => {
            let leading = number::parse_int(&text);
            let fits = !leading.overflow && leading.value.bits() <= i64::MAX as u64;
            if fits { Ok(leading.value.bits()) } else { Err(refused()) }
        }
        Value::Int(v) => u64::try_from(v).map_err(|_| refused()),
        Value::Decimal(v) => whole(v.to_f64().round()).ok_or_else(refused),
        Value::Double(v) => whole(v.round_ties_even()).ok_or_else(refused),
        Value::Float(v) => whole(f64::from(v).round_ties_even()).ok_or_else(refused),
        other => {
            let leading = number::parse_int(&other.to_text(e.ty()));
            Ok(leading.value.bits())
        }
    }
}

/// A number of rows that is given as a number with a fraction, which is gone.
fn whole(v: f64) -> Option<u64> {
    (0.0..=i64::MAX as f64).contains(&v).then_some(v as u64)
}

/// Rows of a union, all of one type.
struct UnionOutput<'o> {
    types: &'o [SqlType],
    from: &'o [SqlType],
    distinct: Option<&'o mut Distinct>,
    order: &'o [OrderKey],
    sorter: Option<&'o mut Sorter>,
    limit: &'o mut Limit,
    out: &'o mut dyn Output,
    key: Vec<u8>,
    body: Vec<u8>,
}

impl Output for UnionOutput<'_> {
    fn row(&mut self, cx: &mut EvalCx<'_>, values: &[Value<'_>]) -> SqlResult<Flow> {
        let mut converted = Vec::with_capacity(values.len());
        for ((value, from), to) in values.iter().zip(self.from).zip(self.types) {
            converted.push(convert(value, from, to, cx)?);
        }
        if let Some(distinct) = &mut self.distinct {
            match distinct.take(&converted, self.types.iter().map(vaquita_expr::order_of)) {
                Came::First => {}
                Came::Again => return Ok(Flow::Go),
                Came::Late => {
                    self.body.clear();
                    converted.iter().for_each(|v| push_value(v, &mut self.body));
                    distinct.push_late(&self.body);
                    return Ok(if distinct.is_full() { Flow::Pause } else { Flow::Go });
                }
            }
        }
        if let Some(sorter) = &mut self.sorter {
            union_key(self.order, &converted, &mut self.key);
            self.body.clear();
            converted.iter().for_each(|v| push_value(v, &mut self.body));
            sorter.push(&self.key, &self.body);
            return Ok(if sorter.is_full() { Flow::Pause } else { Flow::Go });
        }
        let mut flow = Flow::Go;
        if self.limit.shows() {
            flow = self.out.row(cx, &converted)?;
        }
        Ok(if self.limit.is_over() { Flow::Stop } else { flow })
    }

    fn pause(&mut self, cx: &mut EvalCx<'_>) -> SqlResult<()> {
        if let Some(distinct) = &mut self.distinct {
            distinct.relieve()?;
        }
        match &mut self.sorter {
            Some(sorter) => sorter.relieve(),
            None => self.out.pause(cx),
        }
    }

    fn in_place(&self) -> bool {
        self.out.in_place()
    }
}

/// Replaces `out` by the key that a union's rows are sorted by.
fn union_key(order: &[OrderKey], values: &[Value<'_>], out: &mut Vec<u8>) {
    out.clear();
    for key in order {
        if let SortValue::Item(at) = key.value {
            push_key(key.how, &values[at], key.descending, out);
        }
    }
}

fn run_union(
    plan: &QueryPlan,
    cx: &mut EvalCx<'_>,
    row: &Row<'_>,
    count_all: bool,
    out: &mut dyn Output,
) -> SqlResult<u64> {
    let Body::Union { parts } = &plan.body else { return Ok(0) };
    let mut limit = Limit::of(plan.limit.as_ref(), cx, row, count_all)?;
    // The rows of all parts are a table of their own, which is read to its end.
    if cx.state.begins(std::ptr::from_ref(plan).addr()) {
        cx.state.status.select_scan += 1;
        cx.state.scanned = true;
    }
    let sorted = !plan.order.is_empty();
    let room = cx.state.vars.sort_room();
    let mut sorter = sorted.then(|| Sorter::new(room.clone(), limit.first()));
    // Up to the last part that asks for it duplicates go; those behind may repeat what came before.
    let last_distinct = parts.iter().rposition(|p| p.distinct);
    let mut distinct = Distinct::new(cx.state.vars.tmp_memory(), room);
    for (i, part) in parts.iter().enumerate() {
        if limit.is_over() && !sorted {
            break;
        }
        let mut union = UnionOutput {
            types: &plan.types,
            from: &part.plan.types,
            distinct: last_distinct.is_some_and(|last| i <= last).then_some(&mut distinct),
            order: &plan.order,
            sorter: sorter.as_mut(),
            limit: &mut limit,
            out,
            key: Vec::new(),
            body: Vec::new(),
        };
        run_query(&part.plan, cx, row, false, &mut union)?;
        if last_distinct == Some(i) {
            finish_distinct(&mut distinct, &plan.order, sorter.as_mut(), &mut limit, cx, out)?;
        }
    }
    if let Some(sorter) = sorter {
        count_sort(&Work { sorts: true, ..Work::default() }, &sorter, cx);
        sorter.finish(|_, body| {
            let row: SmallVec<[Value<'_>; 8]> = Values::new(body).collect();
            give(&row, &mut limit, cx, out)
        })?;
    }
    Ok(limit.seen)
}

/// Hands on the late rows of a union that are no duplicates.
fn finish_distinct(
    distinct: &mut Distinct,
    order: &[OrderKey],
    mut sorter: Option<&mut Sorter>,
    limit: &mut Limit,
    cx: &mut EvalCx<'_>,
    out: &mut dyn Output,
) -> SqlResult<()> {
    let mut key = Vec::new();
    let late = distinct.finish(|body| {
        cx.state.poll()?;
        let values: Vec<Value<'_>> = Values::new(body).collect();
        match &mut sorter {
            Some(sorter) => {
                union_key(order, &values, &mut key);
                sorter.push_and_spill(&key, body)?;
                Ok(true)
            }
            None => give(&values, limit, cx, out),
        }
    })?;
    cx.state.note_spill(late > 0, distinct.memory());
    Ok(())
}

/// Hands on a row as a limit has it, without latches; whether more are wanted.
pub(crate) fn give(
    row: &[Value<'_>],
    limit: &mut Limit,
    cx: &mut EvalCx<'_>,
    out: &mut dyn Output,
) -> SqlResult<bool> {
    if limit.is_over() {
        return Ok(false);
    }
    if limit.shows() {
        match out.row(cx, row)? {
            Flow::Go => {}
            Flow::Pause => out.pause(cx)?,
            Flow::Stop => return Ok(false),
        }
    }
    Ok(!limit.is_over())
}

/// A value in the common type of a union's column.
fn convert<'v>(
    value: &'v Value<'_>,
    from: &SqlType,
    to: &SqlType,
    cx: &mut EvalCx<'_>,
) -> SqlResult<Value<'v>> {
    let same = from.kind == to.kind
        && from.unsigned == to.unsigned
        && from.decimals == to.decimals
        && from.collation == to.collation;
    // IF and CASE may give a number with fewer digits than their type.
    let other_form = match (to.kind, value) {
        (_, Value::Decimal(v)) => v.scale() != to.decimals,
        // The least BIT and FLOAT come as numbers.
        (Kind::Decimal, _) | (Kind::Bit, Value::UInt(_)) | (Kind::Float, Value::Double(_)) => true,
        _ => false,
    };
    if value.is_null() || same && !other_form {
        return Ok(value.borrowed());
    }
    Ok(match to.kind {
        Kind::Decimal => {
            let decimal = value.to_decimal(&mut cx.convert());
            Value::Decimal(decimal.fit(to.length.max(1), to.decimals).0)
        }
        Kind::Float if from.kind == Kind::Float => Value::Float(value.to_f64(&mut cx.convert()) as f32),
        Kind::Float | Kind::Double => Value::Double(value.to_f64(&mut cx.convert())),
        Kind::Bit => match *value {
            Value::UInt(value) => Value::Bit { value, bytes: to.length.div_ceil(8) as u8 },
            _ => value.borrowed(),
        },
        Kind::DateTime | Kind::Timestamp => {
            value.to_datetime(&mut cx.convert()).map_or(Value::Null, Value::DateTime)
        }
        kind if kind.is_string() => {
            let mut text = Vec::new();
            match value {
                Value::Bytes(b) => text.extend_from_slice(b),
                Value::Label { text: t, .. } => text.extend_from_slice(t),
                value => value.push_text(from, &mut text),
            }
            use vaquita_engine::text::charset::{self, Charset};
            let is_text = from.kind.is_string() || matches!(from.kind, Kind::Enum | Kind::Set);
            let source = if is_text { from.collation } else { to.collation };
            match (Charset::of_collation(source), Charset::of_collation(to.collation)) {
                (Some(a), Some(b)) if a != b => {
                    let mut out = memory::with_room(memory::converted_len_max(a, b, &text))?;
                    charset::convert(a, b, &text, &mut out);
                    memory::give_back_rest(&mut out);
                    Value::owned(out)
                }
                _ => Value::owned(text),
            }
        }
        kind if kind.is_integer() => match (value, to.unsigned) {
            (Value::Int(v), true) => Value::UInt((*v).max(0) as u64),
            (Value::UInt(v), false) => Value::Int((*v).min(i64::MAX as u64) as i64),
            _ => value.borrowed(),
        },
        _ => value.borrowed(),
    })
}

/// A column of a row.
pub(crate) fn column<'r>(
    row: &Row<'r>,
    slot: usize,
    column: usize,
    cx: &mut EvalCx<'_>,
) -> SqlResult<Value<'r>> {
    use vaquita_expr::{ColumnMap, TableRow};
    let (stored, map) = match row.tables.get(slot) {
        Some(TableRow::Values(values)) => return Ok(values.get(column).map_or(Value::Null, Value::borrowed)),
        Some(&TableRow::Stored { row, map }) => (row, map),
        _ => return Ok(Value::Null),
    };
    let (Some(ty), Some(&at)) = (map.types.get(column), map.fetched.get(column)) else {
        return Ok(Value::Null);
    };
    if at == ColumnMap::NOT_FETCHED {
        return Ok(Value::Null);
    }
    let at = usize::from(at);
    if stored.is_off_page(at) {
        let mut whole = memory::with_room(stored.whole_len(at))?;
        vaquita_catalog::error::of_engine(stored.read_column(at, &mut whole))?;
        return Ok(match ty.ty.kind {
            Kind::Json => Value::Json(whole.into()),
            _ => Value::owned(whole),
        });
    }
    Ok(ty.decode(stored.column(at), cx.convert().time_zone))
}

fn error_engine() -> SqlError {
    SqlError::new(1105, "A table cannot be read here")
}
