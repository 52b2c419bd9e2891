//! Window functions.
//!
//! What the functions look at is evaluated once for each row that comes. Rows are sorted by partition and order, unless they come
//! so; those of a partition are read by cursors that only go forwards: one at the present row, others at the ends of frames. Where
//! no function asks for more than some rows behind the present one, a row goes on as soon as these have come, and rows that all
//! cursors have passed are let go; else all rows of a partition are kept, in a file beyond a limit of memory. Results stand behind
//! a row's values, and the rows go on to the next sort or out.
//!
//! | part | file |
//! |---|---|
//! | what comes, sorts, the rows that come out | this file |
//! | rows on their way through the functions of a sort | `partition` |
//! | rows of a partition | `store` |
//! | frames | `frame` |
//! | the functions | `function` |

mod frame;
mod function;
mod partition;
mod store;

use super::Flow;
use partition::{Partitions, Target};
use smallvec::{SmallVec, smallvec};
use vaquita_expr::{EvalCx, Node, Row, TableRow};
use vaquita_plan::{BlockPlan, OrderKey, SortValue, WindowPass, WindowsPlan};
use vaquita_session::temp::sort::Sorter;
use vaquita_session::temp::values::{Values, push_key, push_value};
use vaquita_types::{SqlResult, Value};

/// Takes a row with its results, and from which key on its groups are sums of ROLLUP.
pub(super) type Each<'e> = dyn FnMut(&mut EvalCx<'_>, &Row<'_>, usize) -> SqlResult<Flow> + 'e;

/// Bytes of rows that come in order which are gathered before their results are calculated: that is done without latches.
const GATHERED: usize = 64 << 10;

/// Rows for window functions, as they come.
pub(super) struct Windows<'p> {
    plan: &'p WindowsPlan,
    shape: Shape<'p>,
    coming: Coming<'p>,
    key: Vec<u8>,
    other: Vec<u8>,
    body: Vec<u8>,
}

/// What becomes of the rows that come.
enum Coming<'p> {
    /// They are sorted.
    Sorted(Sorter),
    /// They are in the order of the first pass.
    Ordered(Box<Ordered<'p>>),
}

/// Rows that come in order.
struct Ordered<'p> {
    /// Keys and bodies of those that wait, and where they end.
    bytes: Vec<u8>,
    ends: Vec<(usize, usize)>,
    partitions: Option<Partitions<'p>>,
    /// Of the second pass, if there is one.
    next: Sorter,
    /// No more rows are wanted.
    stopped: bool,
}

/// What is kept of a row, and how it is put together again.
struct Shape<'p> {
    plan: &'p WindowsPlan,
    /// Columns that are looked at afterwards: slot, position.
    columns: Vec<(usize, usize)>,
    /// The tables one behind the other, each with all of its columns if any of them is looked at: first column, number.
    places: SmallVec<[(usize, usize); 4]>,
    width: usize,
    aggregates: usize,
    rollup: bool,
}

impl<'p> Shape<'p> {
    fn new(block: &'p BlockPlan, plan: &'p WindowsPlan) -> Shape<'p> {
        let columns = match &block.group {
            Some(group) => group.carried.clone(),
            None => columns_behind(block),
        };
        let mut places: SmallVec<[(usize, usize); 4]> = smallvec![(0, 0); block.reads.len()];
        let mut width = 0;
        for &(slot, _) in &columns {
            if places[slot].1 == 0 {
                places[slot] = (width, block.reads[slot].width);
                width += block.reads[slot].width;
            }
        }
        let group = block.group.as_ref();
        let aggregates = group.map_or(0, |group| group.aggregates.len());
        let rollup = group.is_some_and(|group| group.rollup);
        Shape { plan, columns, places, width, aggregates, rollup }
    }
}

/// Columns that are looked at when the functions have been calculated.
fn columns_behind(block: &BlockPlan) -> Vec<(usize, usize)> {
    let mut columns = super::group::used_columns(block);
    let exprs = || block.items.iter().chain(block.order.iter().filter_map(|key| key.value.expr()));
    if exprs().any(|e| e.info().has_subquery) {
        return columns;
    }
    let mut used = Vec::new();
    for e in exprs() {
        e.walk(&mut |e| {
            if let Node::Column { level: 0, table, column, .. } = e.node() {
                used.push((usize::from(*table), usize::from(*column)));
            }
        });
    }
    columns.retain(|column| used.contains(column));
    columns
}

impl<'p> Windows<'p> {
    pub(super) fn new(block: &'p BlockPlan, plan: &'p WindowsPlan, cx: &EvalCx<'_>) -> Windows<'p> {
        let sorter = Sorter::new(cx.state.vars.sort_room(), None);
        let coming = match plan.sorted_input {
            false => Coming::Sorted(sorter),
            true => {
                let (bytes, ends) = (Vec::new(), Vec::new());
                Coming::Ordered(Box::new(Ordered {
                    bytes,
                    ends,
                    partitions: None,
                    next: sorter,
                    stopped: false,
                }))
            }
        };
        let shape = Shape::new(block, plan);
        Windows { plan, shape, coming, key: Vec::new(), other: Vec::new(), body: Vec::new() }
    }

    /// A row, joined or grouped.
    pub(super) fn take(&mut self, cx: &mut EvalCx<'_>, row: &Row<'_>, nulled: usize) -> SqlResult<Flow> {
        self.body.clear();
        self.body.extend_from_slice(&[0; PREFIX]);
        for input in &self.plan.inputs {
            push_value(&input.eval(cx, row)?, &mut self.body);
        }
        for pass in self.plan.passes.iter().skip(1) {
            pass_key(pass, cx, row, &mut self.other)?;
            push_value(&Value::bytes(&self.other), &mut self.body);
        }
        if self.shape.rollup {
            push_value(&Value::UInt(nulled as u64), &mut self.body);
        }
        for &(slot, column) in &self.shape.columns {
            push_value(&super::column(row, slot, column, cx)?, &mut self.body);
        }
        for value in row.aggregates {
            push_value(value, &mut self.body);
        }
        if let Some(first) = self.plan.passes.first() {
            pass_key(first, cx, row, &mut self.key)?;
        }
        let key = match self.key.split_first_chunk::<PREFIX>() {
            Some((prefix, key)) => {
                self.body[..PREFIX].copy_from_slice(prefix);
                key
            }
            None => &[],
        };
        let is_full = match &mut self.coming {
            Coming::Sorted(sorter) => {
                sorter.push(key, &self.body);
                sorter.is_full()
            }
            Coming::Ordered(ordered) if ordered.stopped => return Ok(Flow::Stop),
            Coming::Ordered(ordered) => {
                ordered.bytes.extend_from_slice(key);
                let key_end = ordered.bytes.len();
                ordered.bytes.extend_from_slice(&self.body);
                ordered.ends.push((key_end, ordered.bytes.len()));
                ordered.bytes.len() >= GATHERED
            }
        };
        Ok(if is_full { Flow::Pause } else { Flow::Go })
    }

    /// Called without latches after [`Flow::Pause`].
    pub(super) fn relieve(
        &mut self,
        cx: &mut EvalCx<'_>,
        base: &Row<'_>,
        each: &mut Each<'_>,
    ) -> SqlResult<()> {
        match &mut self.coming {
            Coming::Sorted(sorter) => sorter.relieve(),
            Coming::Ordered(ordered) => ordered.go_on(&self.shape, false, cx, base, each),
        }
    }

    /// All rows have come: calculates the functions.
    pub(super) fn finish(self, cx: &mut EvalCx<'_>, base: &Row<'_>, each: &mut Each<'_>) -> SqlResult<()> {
        let Windows { plan, shape, coming, .. } = self;
        let (mut sorter, passed) = match coming {
            Coming::Sorted(sorter) => (sorter, 0),
            Coming::Ordered(mut ordered) => {
                ordered.go_on(&shape, true, cx, base, each)?;
                (ordered.next, 1)
            }
        };
        for number in passed..plan.passes.len() {
            let mut partitions = Partitions::new(plan, number, cx, base)?;
            let work = vaquita_plan::Work { sorts: true, ..Default::default() };
            super::count_sort(&work, &sorter, cx);
            let mut next = Sorter::new(cx.state.vars.sort_room(), None);
            let mut target = shape.target(number, base, each, &mut next);
            let mut more = true;
            sorter.finish(|key, body| {
                cx.state.poll()?;
                more = partitions.row(key, body, cx, &mut target)?;
                Ok(more)
            })?;
            if more {
                partitions.finish(cx, &mut target)?;
            }
            sorter = next;
        }
        Ok(())
    }
}

impl<'p> Ordered<'p> {
    /// Calculates the results of the rows that wait; `all`: no more will come.
    fn go_on(
        &mut self,
        shape: &Shape<'p>,
        all: bool,
        cx: &mut EvalCx<'_>,
        base: &Row<'_>,
        each: &mut Each<'_>,
    ) -> SqlResult<()> {
        let partitions = match &mut self.partitions {
            Some(partitions) => partitions,
            none => none.insert(Partitions::new(shape.plan, 0, cx, base)?),
        };
        let mut target = shape.target(0, base, each, &mut self.next);
        let mut start = 0;
        for &(key_end, end) in &self.ends {
            if self.stopped {
                break;
            }
            let (key, body) = (&self.bytes[start..key_end], &self.bytes[key_end..end]);
            self.stopped = !partitions.row(key, body, cx, &mut target)?;
            start = end;
        }
        self.bytes.clear();
        self.ends.clear();
        if all && !self.stopped {
            partitions.finish(cx, &mut target)?;
        }
        Ok(())
    }
}

/// Bytes before a key: how long the part for PARTITION BY is.
const PREFIX: usize = 4;

/// Replaces `out` by the key that a pass sorts by, with the length of its first part before it.
fn pass_key(pass: &WindowPass, cx: &mut EvalCx<'_>, row: &Row<'_>, out: &mut Vec<u8>) -> SqlResult<()> {
    out.clear();
    out.extend_from_slice(&[0; PREFIX]);
    let push = |keys: &[OrderKey], cx: &mut EvalCx<'_>, out: &mut Vec<u8>| {
        for key in keys {
            if let SortValue::Expr(e) = &key.value {
                let value = e.eval(cx, row)?;
                push_key(key.how, &value, key.descending, out);
            }
        }
        Ok(())
    };
    push(&pass.partition, cx, out)?;
    let partition = (out.len() - PREFIX) as u32;
    out[..PREFIX].copy_from_slice(&partition.to_le_bytes());
    push(&pass.order, cx, out)
}

/// Rows go on to the next sort.
struct Next<'n> {
    /// Where its key is among the values of a row.
    key: usize,
    sorter: &'n mut Sorter,
    body: Vec<u8>,
}

impl Next<'_> {
    fn row(&mut self, body: &[u8], results: &[Value<'static>]) -> SqlResult<bool> {
        let key = Values::new(body).nth(self.key);
        let Some(Value::Bytes(key)) = key else { return Ok(false) };
        self.body.clear();
        self.body.extend_from_slice(&key[..PREFIX]);
        self.body.extend_from_slice(body);
        results.iter().for_each(|value| push_value(value, &mut self.body));
        self.sorter.push_and_spill(&key[PREFIX..], &self.body)?;
        Ok(true)
    }
}

/// Rows go out.
struct Out<'o, 'e> {
    shape: &'o Shape<'o>,
    base: &'o Row<'o>,
    each: &'o mut Each<'e>,
}

/// Where rows go with their results.
enum Goal<'o, 'e> {
    Next(Next<'o>),
    Out(Out<'o, 'e>),
}

impl Target for Goal<'_, '_> {
    #[inline]
    fn row(&mut self, cx: &mut EvalCx<'_>, body: &[u8], results: &[Value<'static>]) -> SqlResult<bool> {
        match self {
            Goal::Next(next) => next.row(body, results),
            Goal::Out(out) => out.row(cx, body, results),
        }
    }
}

impl Shape<'_> {
    /// Where the rows of a pass go.
    fn target<'o, 'e>(
        &'o self,
        number: usize,
        base: &'o Row<'o>,
        each: &'o mut Each<'e>,
        sorter: &'o mut Sorter,
    ) -> Goal<'o, 'e> {
        match number + 1 == self.plan.passes.len() {
            true => Goal::Out(Out { shape: self, base, each }),
            false => Goal::Next(Next { key: self.plan.inputs.len() + number, sorter, body: Vec::new() }),
        }
    }
}

impl Out<'_, '_> {
    fn row(&mut self, cx: &mut EvalCx<'_>, body: &[u8], results: &[Value<'static>]) -> SqlResult<bool> {
        let Out { shape, base, each } = self;
        let plan = shape.plan;
        let mut values = Values::new(body);
        values.pass(plan.inputs.len() + plan.passes.len() - 1);
        let nulled = match shape.rollup.then(|| values.next()).flatten() {
            Some(Value::UInt(nulled)) => nulled as usize,
            _ => usize::MAX,
        };
        let mut flat: SmallVec<[Value<'_>; 8]> = SmallVec::new();
        flat.resize_with(shape.width, Value::default);
        for (&(slot, column), value) in shape.columns.iter().zip(&mut values) {
            flat[shape.places[slot].0 + column] = value;
        }
        let n = shape.aggregates;
        let calls = plan.calls.len();
        let mut aggregates: SmallVec<[Value<'_>; 8]> = SmallVec::new();
        aggregates.resize_with(n + calls, Value::default);
        for (at, value) in aggregates[..n].iter_mut().zip(&mut values) {
            *at = value;
        }
        let order = plan.passes.iter().flat_map(|pass| pass.calls.iter().copied());
        for (call, value) in order.zip(values.chain(results.iter().map(Value::borrowed))) {
            aggregates[n + calls - 1 - call] = value;
        }
        let table = |&(start, width): &(usize, usize)| match width {
            0 => TableRow::Null,
            _ => TableRow::Values(&flat[start..start + width]),
        };
        let tables: SmallVec<[TableRow<'_>; 4]> = shape.places.iter().map(table).collect();
        let row = Row { tables: &tables, aggregates: &aggregates, ..**base };
        Ok(each(cx, &row, nulled)? != Flow::Stop)
    }
}
