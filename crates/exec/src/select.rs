//! Running a planned SELECT: to a sink, to variables or a file, or row by row for INSERT … SELECT.

use crate::into;
use crate::query::{Flow, Output, in_statement, run_query};
use vaquita_catalog::error;
use vaquita_engine::text::charset::{self, Charset};
use vaquita_expr::{EvalCx, Row};
use vaquita_plan::SelectPlan;
use vaquita_session::sink::ResultSink;
use vaquita_types::{Kind, SqlError, SqlResult, SqlType, Value, memory};

/// How a SELECT ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Selected {
    /// Rows that went to the sink (or to variables or a file).
    pub rows: u64,
    /// FOUND_ROWS(): those without LIMIT, under SQL_CALC_FOUND_ROWS.
    pub found_rows: u64,
    /// The result was not sent: it went to variables or a file.
    pub stored: bool,
}

/// Sends rows to a sink.
struct ToSink<'s> {
    sink: &'s mut dyn ResultSink,
    plan: &'s SelectPlan,
    rows: u64,
    /// `sql_select_limit`, of a statement without LIMIT.
    rows_max: u64,
}

impl Output for ToSink<'_> {
    #[inline]
    fn row(&mut self, _: &mut EvalCx<'_>, values: &[Value<'_>]) -> SqlResult<Flow> {
        if self.rows >= self.rows_max {
            return Ok(Flow::Stop);
        }
        self.rows += 1;
        if self.plan.converts {
            self.converted(values)?;
        } else {
            self.sink.row(values)?;
        }
        Ok(if self.sink.is_full() { Flow::Pause } else { Flow::Go })
    }

    fn pause(&mut self, _: &mut EvalCx<'_>) -> SqlResult<()> {
        self.sink.flush()
    }

    fn in_place(&self) -> bool {
        true
    }
}

impl ToSink<'_> {
    fn converted(&mut self, values: &[Value<'_>]) -> SqlResult<()> {
        type Conversion = Option<(Charset, Charset)>;
        /// The text and the character sets, if it means something else in the client's.
        #[inline]
        fn to_convert<'v>(
            (value, conversion): (&'v Value<'_>, &Conversion),
        ) -> Option<(&'v [u8], Charset, Charset)> {
            match (value, conversion) {
                (Value::Bytes(text) | Value::Label { text, .. }, &Some((from, to)))
                    if !charset::is_same_in(text, from, to) =>
                {
                    Some((text, from, to))
                }
                _ => None,
            }
        }
        fn convert<'v>(value: &'v Value<'_>, conversion: &Conversion) -> SqlResult<Value<'v>> {
            let Some((text, from, to)) = to_convert((value, conversion)) else {
                return Ok(value.borrowed());
            };
            let mut out = memory::with_room(memory::converted_len_max(from, to, text))?;
            charset::convert(from, to, text, &mut out);
            memory::give_back_rest(&mut out);
            Ok(match value {
                Value::Label { number, .. } => Value::Label { number: *number, text: out.into() },
                _ => Value::owned(out),
            })
        }
        /// A document of so many bytes is printed where there may be no memory for it.
        const LONG: usize = 64 << 10;
        // Documents are text where they go to another character set.
        let printed: Vec<Value<'_>>;
        let mut values = values;
        if values
            .iter()
            .zip(&self.plan.conversions)
            .any(|(v, to)| matches!(v, Value::Json(doc) if to.is_some() || doc.len() >= LONG))
        {
            let json = SqlType::new(Kind::Json);
            printed = values
                .iter()
                .map(|v| match v {
                    Value::Json(_) => Value::owned(v.to_text(&json).into_owned()),
                    other => other.borrowed(),
                })
                .collect();
            memory::account::pay()?;
            values = &printed;
        }
        // Most rows say the same in both.
        if values.iter().zip(&self.plan.conversions).all(|pair| to_convert(pair).is_none()) {
            return self.sink.row(values);
        }
        let row = values.iter().zip(&self.plan.conversions).map(|(value, to)| convert(value, to));
        let row: Vec<Value<'_>> = row.collect::<SqlResult<_>>()?;
        self.sink.row(&row)
    }
}

/// Makes sure that all tables are still as they were.
fn hold_tables(plan: &SelectPlan, cx: &mut EvalCx<'_>) -> SqlResult<()> {
    let Some(session) = &mut cx.engine else { return Ok(()) };
    let mut statement = session.statement();
    for info in &plan.tables {
        error::of_engine(statement.hold_table(&info.table, vaquita_engine::MdlMode::SharedRead))?;
    }
    Ok(())
}

/// Runs it in a started statement of `cx.engine`: calls `sink.columns` and `sink.row`, not `sink.end`.
///
/// # Errors
/// Of the statement; 1412 if a table has changed ([`is_stale`]): nothing was sent then.
pub fn run(
    plan: &SelectPlan,
    cx: &mut EvalCx<'_>,
    params: &[Value<'_>],
    sink: &mut dyn ResultSink,
) -> SqlResult<Selected> {
    hold_tables(plan, cx)?;
    in_statement(cx, |cx| run_held(plan, cx, params, sink))
}

fn run_held(
    plan: &SelectPlan,
    cx: &mut EvalCx<'_>,
    params: &[Value<'_>],
    sink: &mut dyn ResultSink,
) -> SqlResult<Selected> {
    let row = Row::constant(params);
    let count_all = plan.query.calc_found_rows;
    if let Some(into) = &plan.into {
        let mut out = into::output(into, &plan.query.types, cx)?;
        let found_rows = run_query(&plan.query, cx, &row, count_all, &mut out)?;
        let rows = out.finish(cx)?;
        return Ok(Selected { rows, found_rows: if count_all { found_rows } else { rows }, stored: true });
    }
    sink.columns(&plan.columns)?;
    let limited = plan.query.last_limit().is_some();
    let rows_max = if limited { u64::MAX } else { cx.state.vars.sql_select_limit };
    let mut out = ToSink { sink, plan, rows: 0, rows_max };
    let found_rows = run_query(&plan.query, cx, &row, count_all, &mut out)?;
    let rows = out.rows;
    Ok(Selected { rows, found_rows: if count_all { found_rows } else { rows }, stored: false })
}

/// Calls `each` for every row, without latches held; for INSERT … SELECT and the like.
///
/// # Errors
/// As [`run`]; those of `each`.
pub fn for_each(
    plan: &SelectPlan,
    cx: &mut EvalCx<'_>,
    params: &[Value<'_>],
    each: &mut dyn FnMut(&mut EvalCx<'_>, &[Value<'_>]) -> SqlResult<()>,
) -> SqlResult<()> {
    struct Each<'e>(&'e mut EachRow<'e>);
    impl Output for Each<'_> {
        fn row(&mut self, cx: &mut EvalCx<'_>, values: &[Value<'_>]) -> SqlResult<Flow> {
            (self.0)(cx, values).map(|()| Flow::Go)
        }
    }
    hold_tables(plan, cx)?;
    in_statement(cx, |cx| run_query(&plan.query, cx, &Row::constant(params), false, &mut Each(each)))?;
    Ok(())
}

type EachRow<'e> = dyn FnMut(&mut EvalCx<'_>, &[Value<'_>]) -> SqlResult<()> + 'e;

/// Whether an error says that a table has changed since the plan was made: another plan is of use. Not so where the
/// transaction's read view is older than the table, which has the same number.
pub fn is_stale(error: &SqlError) -> bool {
    error.code == 1412 && error.message == vaquita_catalog::error::STALE
}
