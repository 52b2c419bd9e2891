//! The functions: what each row's result is.
//!
//! Ends of frames only go forwards, so that every row is added to an aggregate once and taken away once. What cannot be taken away
//! exactly (sums of DOUBLE, variances, bits) is calculated anew over the frame when its beginning moves; of MIN and MAX those
//! values are kept that may still become the least or the greatest.

use super::frame::{Ends, Place, Seeking};
use super::store::{Cursor, Store};
use std::collections::VecDeque;
use vaquita_expr::window::WindowKind;
use vaquita_expr::{Accumulator, Aggregate, EvalCx, Row, TableRow};
use vaquita_parser::ast::AggregateKind;
use vaquita_plan::WindowFunction;
use vaquita_session::temp::values::Values;
use vaquita_types::{SqlError, SqlResult, Value};

/// A function with what is the same for all rows.
pub(super) struct Function<'p> {
    plan: &'p WindowFunction,
    ends: Ends,
    /// n of NTILE, LAG, LEAD, NTH_VALUE.
    count: u64,
    memory: usize,
    room: vaquita_session::temp::SortRoom,
}

/// What it knows in a partition.
pub(super) struct State {
    seeking: Seeking,
    /// Of the inputs there are so many.
    width: usize,
    at: At,
    sliding: Option<Sliding>,
}

/// A row that is looked at, further and further on.
struct At {
    cursor: Cursor,
    value: Value<'static>,
    /// Number of the row that `value` is of, plus one.
    seen: u64,
}

/// An aggregate over the rows from `low` to before `high`.
struct Sliding {
    accumulator: Accumulator,
    low: u64,
    high: u64,
    added: Cursor,
    removed: Cursor,
    /// Its inputs, where they are needed again: of which row they are.
    kept: VecDeque<(u64, Vec<Value<'static>>)>,
    /// The values that may become the least or the greatest, each worse than the one before it.
    extremes: VecDeque<(u64, Value<'static>)>,
    /// Those of a sum of DOUBLE, and of which rows they are.
    numbers: VecDeque<f64>,
    rows_of_numbers: VecDeque<u64>,
    result: Option<Value<'static>>,
}

impl<'p> Function<'p> {
    pub(super) fn new(
        plan: &'p WindowFunction,
        cx: &mut EvalCx<'_>,
        base: &Row<'_>,
    ) -> SqlResult<Function<'p>> {
        let (name, least) = match plan.kind {
            WindowKind::Ntile => ("ntile", 1),
            WindowKind::NthValue => ("nth_value", 1),
            WindowKind::Lag => ("lag", 0),
            _ => ("lead", 0),
        };
        let count = match &plan.count {
            None => 1,
            Some(count) => match count.eval(cx, base)? {
                Value::Int(v) if v >= least => v as u64,
                Value::UInt(v) if v >= least as u64 => v,
                _ => return Err(SqlError::new(1210, format!("Incorrect arguments to {name}"))),
            },
        };
        let ends = Ends::new(plan, cx, base)?;
        Ok(Function {
            plan,
            ends,
            count,
            memory: cx.state.vars.tmp_memory(),
            room: cx.state.vars.sort_room(),
        })
    }

    /// Whether it asks for the peers of the present row.
    pub(super) fn needs_peers(&self) -> bool {
        matches!(self.plan.kind, WindowKind::CumeDist)
            || self.plan.kind.has_frame() && self.ends.needs_peers()
    }

    /// Whether it asks which rows are peers of those before them.
    pub(super) fn needs_groups(&self) -> bool {
        let ranks = matches!(
            self.plan.kind,
            WindowKind::Rank | WindowKind::DenseRank | WindowKind::PercentRank | WindowKind::CumeDist
        );
        ranks || self.needs_peers()
    }

    /// How many rows behind the present one (and its peers, if it asks for them) its result is known with; `None`: with all.
    pub(super) fn lookahead(&self) -> Option<u64> {
        match self.plan.kind {
            WindowKind::RowNumber | WindowKind::Rank | WindowKind::DenseRank | WindowKind::Lag => Some(0),
            WindowKind::Lead => Some(self.count),
            WindowKind::PercentRank | WindowKind::CumeDist | WindowKind::Ntile => None,
            _ => self.ends.lookahead(),
        }
    }

    /// Rows of a partition before this one are not looked at any more.
    pub(super) fn needs(&self, state: &State) -> u64 {
        let first = self.ends.begins_with_first();
        let values = match self.plan.kind {
            WindowKind::Lag | WindowKind::Lead | WindowKind::LastValue => state.at.cursor.next,
            // The one value there is has been seen.
            WindowKind::FirstValue | WindowKind::NthValue if first && state.at.seen > 0 => u64::MAX,
            WindowKind::FirstValue | WindowKind::NthValue => state.at.cursor.next,
            _ => u64::MAX,
        };
        let rows = state.sliding.as_ref().map_or(u64::MAX, |sliding| {
            let again = sliding.accumulator.can_remove() && !first;
            if again { sliding.low } else { sliding.high.min(sliding.added.next) }
        });
        values.min(rows).min(state.seeking.needs())
    }

    /// A partition begins.
    pub(super) fn begin(&self, width: usize) -> State {
        let sliding = match &self.plan.kind {
            // COUNT(*) is the length of the frame.
            WindowKind::Aggregate(aggregate) if aggregate.kind != AggregateKind::CountStar => Some(Sliding {
                accumulator: self.accumulator(aggregate),
                low: 0,
                high: 0,
                added: Cursor::default(),
                removed: Cursor::default(),
                kept: VecDeque::new(),
                extremes: VecDeque::new(),
                numbers: VecDeque::new(),
                rows_of_numbers: VecDeque::new(),
                result: None,
            }),
            _ => None,
        };
        let at = At { cursor: Cursor::default(), value: Value::Null, seen: 0 };
        State { seeking: self.ends.begin(), width, at, sliding }
    }

    fn accumulator(&self, aggregate: &Aggregate) -> Accumulator {
        aggregate.accumulator(self.memory, || self.room.clone())
    }

    /// The result of the present row.
    pub(super) fn result(
        &self,
        state: &mut State,
        store: &Store,
        place: &Place,
        body: &[u8],
        cx: &mut EvalCx<'_>,
    ) -> SqlResult<Value<'static>> {
        let Place { n, i, .. } = *place;
        let value = self.plan.args.first().copied().unwrap_or(0);
        Ok(match &self.plan.kind {
            WindowKind::RowNumber => Value::UInt(i + 1),
            WindowKind::Rank => Value::UInt(place.start + 1),
            WindowKind::DenseRank => Value::UInt(place.group),
            WindowKind::PercentRank if n < 2 => Value::Double(0.0),
            WindowKind::PercentRank => Value::Double(place.start as f64 / (n - 1) as f64),
            WindowKind::CumeDist => Value::Double(place.end as f64 / n as f64),
            WindowKind::Ntile => Value::UInt(tile(i, n, self.count)),
            WindowKind::Lag | WindowKind::Lead => {
                let row = match &self.plan.kind {
                    WindowKind::Lag => i.checked_sub(self.count),
                    _ => i.checked_add(self.count).filter(|&row| row < n),
                };
                match (row, self.plan.args.get(1)) {
                    (Some(row), _) => state.at.value_of(store, row, value)?,
                    (None, Some(&default)) => {
                        Values::new(body).nth(default).map_or(Value::Null, Value::into_owned)
                    }
                    (None, None) => Value::Null,
                }
            }
            WindowKind::FirstValue | WindowKind::LastValue | WindowKind::NthValue => {
                let (start, end) = self.ends.of(&mut state.seeking, store, place, body, cx)?;
                let row = match &self.plan.kind {
                    WindowKind::FirstValue => Some(start),
                    WindowKind::LastValue => end.checked_sub(1),
                    _ => start.checked_add(self.count - 1),
                };
                match row.filter(|&row| start <= row && row < end) {
                    Some(row) => state.at.value_of(store, row, value)?,
                    None => Value::Null,
                }
            }
            WindowKind::Aggregate(aggregate) => {
                let (start, end) = self.ends.of(&mut state.seeking, store, place, body, cx)?;
                let width = state.width;
                match &mut state.sliding {
                    Some(sliding) => self.slide(sliding, store, aggregate, (start, end), width, cx)?,
                    None => Value::Int((end - start) as i64),
                }
            }
        })
    }

    /// The aggregate over the rows from `start` to before `end`.
    fn slide(
        &self,
        sliding: &mut Sliding,
        store: &Store,
        aggregate: &Aggregate,
        (start, end): (u64, u64),
        width: usize,
        cx: &mut EvalCx<'_>,
    ) -> SqlResult<Value<'static>> {
        let is_extreme = matches!(aggregate.kind, AggregateKind::Min | AggregateKind::Max);
        let can_remove = sliding.accumulator.can_remove();
        if let Some(result) = &sliding.result
            && (sliding.low, sliding.high) == (start, end)
        {
            return Ok(result.clone());
        }
        // Nothing of what was there stays.
        if start >= sliding.high {
            sliding.accumulator = self.accumulator(aggregate);
            sliding.kept.clear();
            sliding.extremes.clear();
            sliding.numbers.clear();
            sliding.rows_of_numbers.clear();
            sliding.added.skip_to(store, start)?;
            (sliding.low, sliding.high) = (start, start);
        }
        let mut again = false;
        if start > sliding.low {
            if can_remove {
                sliding.removed.skip_to(store, sliding.low)?;
                while sliding.low < start && sliding.removed.advance(store)? {
                    with_inputs(sliding.removed.body(store), width, |row| {
                        sliding.accumulator.remove(aggregate, cx, row)
                    })?;
                    sliding.low += 1;
                }
            } else {
                while sliding.kept.front().is_some_and(|(row, _)| *row < start) {
                    sliding.kept.pop_front();
                }
                while sliding.extremes.front().is_some_and(|(row, _)| *row < start) {
                    sliding.extremes.pop_front();
                }
                while sliding.rows_of_numbers.front().is_some_and(|row| *row < start) {
                    sliding.rows_of_numbers.pop_front();
                    sliding.numbers.pop_front();
                }
                again = !is_extreme;
            }
            sliding.low = start;
        }
        // Only frames whose beginning moves look at a row again.
        let keeps = !can_remove && !self.ends.begins_with_first();
        while sliding.high < end && sliding.added.advance(store)? {
            cx.state.poll()?;
            let body = sliding.added.body(store);
            if keeps && sliding.accumulator.sums_doubles() {
                if let Some(v) = with_inputs(body, width, |row| Accumulator::addend(aggregate, cx, row))? {
                    sliding.accumulator.add_doubles([v].iter());
                    sliding.numbers.push_back(v);
                    sliding.rows_of_numbers.push_back(sliding.high);
                }
            } else if keeps && is_extreme {
                with_inputs(body, width, |row| {
                    let value = aggregate.args[0].eval(cx, row)?;
                    push_extreme(&mut sliding.extremes, aggregate, sliding.high, value);
                    Ok::<_, SqlError>(())
                })?;
            } else if keeps {
                let inputs: Vec<Value<'static>> =
                    Values::new(body).take(width).map(Value::into_owned).collect();
                with_values(&inputs, |row| sliding.accumulator.add(aggregate, cx, row))?;
                sliding.kept.push_back((sliding.high, inputs));
            } else {
                with_inputs(body, width, |row| sliding.accumulator.add(aggregate, cx, row))?;
            }
            sliding.high += 1;
        }
        if again {
            sliding.accumulator = self.accumulator(aggregate);
            cx.state.poll()?;
            sliding.accumulator.add_doubles(sliding.numbers.iter());
            for (_, inputs) in &sliding.kept {
                cx.state.poll()?;
                with_values(inputs, |row| sliding.accumulator.add(aggregate, cx, row))?;
            }
        }
        let result = match keeps && is_extreme {
            true => sliding.extremes.front().map_or(Value::Null, |(_, value)| value.clone()),
            false => sliding.accumulator.finish(aggregate, cx)?,
        };
        sliding.result = Some(result.clone());
        Ok(result)
    }
}

/// Keeps a value of MIN or MAX, and of those before it only the ones that come before it in the order that is asked for.
fn push_extreme(kept: &mut VecDeque<(u64, Value<'static>)>, aggregate: &Aggregate, row: u64, new: Value<'_>) {
    if new.is_null() {
        return;
    }
    while let Some((_, last)) = kept.back() {
        let order = aggregate.order(&new, last);
        let better = if aggregate.kind == AggregateKind::Min { order.is_lt() } else { order.is_gt() };
        if !better {
            break;
        }
        kept.pop_back();
    }
    kept.push_back((row, new.into_owned()));
}

/// Calls `f` with a row whose one table has the inputs of a kept row.
fn with_inputs<R>(body: &[u8], width: usize, f: impl FnOnce(&Row<'_>) -> R) -> R {
    let inputs: smallvec::SmallVec<[Value<'_>; 8]> = Values::new(body).take(width).collect();
    with_values(&inputs, f)
}

fn with_values<R>(inputs: &[Value<'_>], f: impl FnOnce(&Row<'_>) -> R) -> R {
    f(&Row { tables: &[TableRow::Values(inputs)], ..Row::default() })
}

impl At {
    /// The input of a row that is not before the last one asked for.
    fn value_of(&mut self, store: &Store, row: u64, input: usize) -> SqlResult<Value<'static>> {
        if self.seen != row + 1 {
            self.cursor.skip_to(store, row)?;
            if !self.cursor.advance(store)? {
                return Ok(Value::Null);
            }
            let value = Values::new(self.cursor.body(store)).nth(input).unwrap_or(Value::Null);
            self.value = value.into_owned();
            self.seen = row + 1;
        }
        Ok(self.value.clone())
    }
}

/// The number of the bucket of row `i` of `n` in `buckets`: the first ones have one row more.
fn tile(i: u64, n: u64, buckets: u64) -> u64 {
    let (size, larger) = (n / buckets, n % buckets);
    let in_larger = larger * (size + 1);
    if i < in_larger { i / (size + 1) + 1 } else { larger + (i - in_larger) / size.max(1) + 1 }
}
