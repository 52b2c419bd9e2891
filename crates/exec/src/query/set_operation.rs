//! INTERSECT and EXCEPT: the rows of both sides are sorted together, so that equal ones meet.

use super::{Flow, Output, convert, give};
use super::{Limit, run_query};
use vaquita_expr::{EvalCx, Row, order_of};
use vaquita_plan::{QueryPlan, SetOperation};
use vaquita_session::temp::sort::Sorter;
use vaquita_session::temp::values::{Values, push_key, push_value};
use vaquita_types::{SqlResult, SqlType, Value};

/// Runs it; the number of rows.
pub(super) fn run(
    plan: &QueryPlan,
    op: &SetOperation,
    cx: &mut EvalCx<'_>,
    row: &Row<'_>,
    count_all: bool,
    out: &mut dyn Output,
) -> SqlResult<u64> {
    let mut sorter = Sorter::new(cx.state.vars.sort_room(), None);
    for (side, is_left) in [(&op.left, true), (&op.right, false)] {
        let mut taking = Taking {
            types: &plan.types,
            from: &side.types,
            is_left,
            sorter: &mut sorter,
            key: Vec::new(),
            body: Vec::new(),
        };
        run_query(side, cx, row, false, &mut taking)?;
    }
    let mut limit = Limit::of(None, cx, row, count_all)?;
    let mut present: Option<Equal> = None;
    let mut more = true;
    sorter.finish(|key, body| {
        cx.state.poll()?;
        if present.as_ref().is_none_or(|present| present.key != key) {
            if let Some(done) = present.take() {
                more = done.give(op, &mut limit, cx, out)?;
            }
            present = Some(Equal { key: key.to_vec(), left: 0, right: 0, body: Vec::new() });
        }
        if let Some(equal) = &mut present {
            // Those of the left side have something in them, if only the mark.
            match body.split_first() {
                None => equal.right += 1,
                Some((_, values)) => {
                    if equal.left == 0 {
                        equal.body.extend_from_slice(values);
                    }
                    equal.left += 1;
                }
            }
        }
        Ok(more)
    })?;
    if let Some(done) = present.filter(|_| more) {
        done.give(op, &mut limit, cx, out)?;
    }
    Ok(limit.seen)
}

/// Rows that are equal.
struct Equal {
    key: Vec<u8>,
    /// How many on the left side.
    left: u64,
    /// And on the right.
    right: u64,
    /// The first of the left.
    body: Vec<u8>,
}

impl Equal {
    /// Gives those that stay; whether more are wanted.
    fn give(
        &self,
        op: &SetOperation,
        limit: &mut Limit,
        cx: &mut EvalCx<'_>,
        out: &mut dyn Output,
    ) -> SqlResult<bool> {
        let n = match (op.intersect, op.all) {
            (true, true) => self.left.min(self.right),
            (true, false) => u64::from(self.left > 0 && self.right > 0),
            (false, true) => self.left.saturating_sub(self.right),
            (false, false) => u64::from(self.left > 0 && self.right == 0),
        };
        let values: Vec<Value<'_>> = Values::new(&self.body).collect();
        for _ in 0..n {
            cx.state.poll()?;
            if !give(&values, limit, cx, out)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Takes the rows of one side.
struct Taking<'t> {
    types: &'t [SqlType],
    from: &'t [SqlType],
    is_left: bool,
    sorter: &'t mut Sorter,
    key: Vec<u8>,
    body: Vec<u8>,
}

impl Output for Taking<'_> {
    fn row(&mut self, cx: &mut EvalCx<'_>, values: &[Value<'_>]) -> SqlResult<Flow> {
        self.key.clear();
        self.body.clear();
        if self.is_left {
            self.body.push(1);
        }
        for ((value, from), to) in values.iter().zip(self.from).zip(self.types) {
            let value = convert(value, from, to, cx)?;
            push_key(order_of(to), &value, false, &mut self.key);
            if self.is_left {
                push_value(&value, &mut self.body);
            }
        }
        self.sorter.push(&self.key, &self.body);
        Ok(if self.sorter.is_full() { Flow::Pause } else { Flow::Go })
    }

    fn pause(&mut self, _: &mut EvalCx<'_>) -> SqlResult<()> {
        self.sorter.relieve()
    }

    fn in_place(&self) -> bool {
        true
    }
}
