//! Window functions.
//!
//! What the functions look at is evaluated once for each row that comes. Rows are sorted by partition and order; those of a
//! partition are kept, in a file beyond a limit of memory, and read by cursors that only go forwards: one at the present row,
//! others at the ends of frames. Results stand behind a row's values, and the rows go on to the next sort or out.
//!
//! | part | file |
//! |---|---|
//! | sorts, partitions, the rows that come out | this file |
//! | rows of a partition | `store` |
//! | frames | `frame` |
//! | the functions | `function` |

mod frame;
mod function;
mod store;

use super::Flow;
use function::Function;
use store::Store;
use vaquita_expr::{EvalCx, Row, TableRow};
use vaquita_plan::{BlockPlan, OrderKey, SortValue, WindowPass, WindowsPlan};
use vaquita_session::temp::sort::Sorter;
use vaquita_session::temp::values::{Values, push_key, push_value};
use vaquita_types::{SqlResult, Value};

/// Takes a row with its results, and from which key on its groups are sums of ROLLUP.
pub(super) type Each<'e> = dyn FnMut(&mut EvalCx<'_>, &Row<'_>, usize) -> SqlResult<Flow> + 'e;

/// Rows for window functions, as they come.
pub(super) struct Windows<'p> {
    block: &'p BlockPlan,
    plan: &'p WindowsPlan,
    /// Columns that are looked at afterwards.
    columns: Vec<(usize, usize)>,
    sorter: Sorter,
    key: Vec<u8>,
    other: Vec<u8>,
    body: Vec<u8>,
}

impl<'p> Windows<'p> {
    pub(super) fn new(block: &'p BlockPlan, plan: &'p WindowsPlan, cx: &EvalCx<'_>) -> Windows<'p> {
        let columns = match &block.group {
            Some(group) => group.carried.clone(),
            None => super::group::used_columns(block),
        };
        let sorter = Sorter::new(cx.state.vars.sort_room(), None);
        Windows { block, plan, columns, sorter, key: Vec::new(), other: Vec::new(), body: Vec::new() }
    }

    /// A row, joined or grouped.
    pub(super) fn take(&mut self, cx: &mut EvalCx<'_>, row: &Row<'_>, nulled: usize) -> SqlResult<Flow> {
        self.body.clear();
        for input in &self.plan.inputs {
            push_value(&input.eval(cx, row)?, &mut self.body);
        }
        for pass in self.plan.passes.iter().skip(1) {
            pass_key(pass, cx, row, &mut self.other)?;
            push_value(&Value::bytes(&self.other), &mut self.body);
        }
        push_value(&Value::UInt(nulled as u64), &mut self.body);
        for &(slot, column) in &self.columns {
            push_value(&super::column(row, slot, column, cx)?, &mut self.body);
        }
        for value in row.aggregates {
            push_value(value, &mut self.body);
        }
        if let Some(first) = self.plan.passes.first() {
            pass_key(first, cx, row, &mut self.key)?;
        }
        self.sorter.push(&self.key[PREFIX..], &[&self.key[..PREFIX], &self.body[..]].concat());
        Ok(if self.sorter.is_full() { Flow::Pause } else { Flow::Go })
    }

    /// Called without latches after [`Flow::Pause`].
    pub(super) fn relieve(&mut self) -> SqlResult<()> {
        self.sorter.relieve()
    }

    /// All rows have come: calculates the functions.
    pub(super) fn finish(self, cx: &mut EvalCx<'_>, base: &Row<'_>, each: &mut Each<'_>) -> SqlResult<()> {
        let Windows { block, plan, columns, mut sorter, .. } = self;
        let last = plan.passes.len() - 1;
        for (number, pass) in plan.passes.iter().enumerate() {
            let mut functions = Vec::with_capacity(pass.calls.len());
            for &call in &pass.calls {
                functions.push(Function::new(&plan.calls[call], cx, base)?);
            }
            let work = vaquita_plan::Work { sorts: true, ..Default::default() };
            super::count_sort(&work, &sorter, cx);
            let present = std::mem::replace(&mut sorter, Sorter::new(cx.state.vars.sort_room(), None));
            if number == last {
                let mut out = Out { block, plan, columns: &columns, base, each };
                sorted(present, plan, &mut functions, cx, &mut |cx, body, results| {
                    out.row(cx, body, results)
                })?;
            } else {
                let mut next = Next { plan, number, sorter: &mut sorter, body: Vec::new() };
                sorted(present, plan, &mut functions, cx, &mut |_, body, results| next.row(body, results))?;
            }
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

type Emit<'e> = dyn FnMut(&mut EvalCx<'_>, &[u8], &[Value<'static>]) -> SqlResult<bool> + 'e;

/// Cuts sorted rows into partitions and calculates the functions of each.
fn sorted(
    sorter: Sorter,
    plan: &WindowsPlan,
    functions: &mut [Function<'_>],
    cx: &mut EvalCx<'_>,
    emit: &mut Emit<'_>,
) -> SqlResult<()> {
    let memory = cx.state.vars.tmp_memory();
    let folders = cx.state.vars.tmp_folders.clone();
    let mut store = Store::new(memory, folders);
    let mut partition: Vec<u8> = Vec::new();
    let mut more = true;
    sorter.finish(|key, body| {
        cx.state.poll()?;
        let (prefix, body) = body.split_first_chunk::<PREFIX>().unwrap_or((&[0; PREFIX], &[]));
        let mine = &key[..key.len().min(u32::from_le_bytes(*prefix) as usize)];
        if store.rows > 0 && partition != mine {
            more = evaluate(&mut store, plan, functions, cx, emit)?;
            store.clear();
        }
        if store.rows == 0 {
            partition.clear();
            partition.extend_from_slice(mine);
        }
        store.push(key, body)?;
        Ok(more)
    })?;
    if more && store.rows > 0 {
        evaluate(&mut store, plan, functions, cx, emit)?;
    }
    Ok(())
}

/// Calculates the functions of a partition; whether more rows are wanted.
fn evaluate(
    store: &mut Store,
    plan: &WindowsPlan,
    functions: &mut [Function<'_>],
    cx: &mut EvalCx<'_>,
    emit: &mut Emit<'_>,
) -> SqlResult<bool> {
    store.complete(cx)?;
    let store = &*store;
    let width = plan.inputs.len();
    let mut states = Vec::with_capacity(functions.len());
    for function in functions.iter() {
        states.push(function.begin(store, width));
    }
    let needs_peers = functions.iter().any(Function::needs_peers);
    let mut peers = store.cursor();
    let mut peer_there = peers.advance()?;
    let mut rows = store.cursor();
    let mut place = frame::Place { n: store.rows, ..frame::Place::default() };
    let mut key: Vec<u8> = Vec::new();
    let mut results: Vec<Value<'static>> = Vec::with_capacity(functions.len());
    while rows.advance()? {
        cx.state.poll()?;
        place.is_new = place.i == 0 || key != rows.key();
        if place.is_new {
            key.clear();
            key.extend_from_slice(rows.key());
            place.group += 1;
            place.start = place.i;
            if needs_peers {
                while peer_there && peers.key() == key {
                    peer_there = peers.advance()?;
                    place.end += 1;
                }
            }
        }
        results.clear();
        for (function, state) in functions.iter().zip(&mut states) {
            results.push(function.result(state, &place, rows.body(), cx)?);
        }
        if !emit(cx, rows.body(), &results)? {
            return Ok(false);
        }
        place.i += 1;
    }
    Ok(true)
}

/// Rows go on to the next sort.
struct Next<'n> {
    plan: &'n WindowsPlan,
    /// Of the pass that gives them.
    number: usize,
    sorter: &'n mut Sorter,
    body: Vec<u8>,
}

impl Next<'_> {
    fn row(&mut self, body: &[u8], results: &[Value<'static>]) -> SqlResult<bool> {
        let key = Values::new(body).nth(self.plan.inputs.len() + self.number);
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
    block: &'o BlockPlan,
    plan: &'o WindowsPlan,
    columns: &'o [(usize, usize)],
    base: &'o Row<'o>,
    each: &'o mut Each<'e>,
}

impl Out<'_, '_> {
    fn row(&mut self, cx: &mut EvalCx<'_>, body: &[u8], results: &[Value<'static>]) -> SqlResult<bool> {
        let Out { block, plan, columns, base, each } = self;
        let mut values = Values::new(body).skip(plan.inputs.len() + plan.passes.len() - 1);
        let nulled = match values.next() {
            Some(Value::UInt(nulled)) => nulled as usize,
            _ => usize::MAX,
        };
        let mut tables: Vec<Vec<Value<'_>>> = vec![Vec::new(); block.reads.len()];
        for (&(slot, column), value) in columns.iter().zip(&mut values) {
            if tables[slot].is_empty() {
                tables[slot] = vec![Value::Null; block.reads[slot].width];
            }
            tables[slot][column] = value;
        }
        let n = block.group.as_ref().map_or(0, |group| group.aggregates.len());
        let calls = plan.calls.len();
        let mut aggregates: Vec<Value<'_>> = vec![Value::Null; n + calls];
        for (at, value) in aggregates[..n].iter_mut().zip(&mut values) {
            *at = value;
        }
        let order = plan.passes.iter().flat_map(|pass| pass.calls.iter().copied());
        for (call, value) in order.zip(values.chain(results.iter().map(Value::borrowed))) {
            aggregates[n + calls - 1 - call] = value;
        }
        let none = |values: &Vec<Value<'_>>| values.is_empty();
        let tables: Vec<TableRow<'_>> =
            tables.iter().map(|v| if none(v) { TableRow::Null } else { TableRow::Values(v) }).collect();
        let row = Row { tables: &tables, aggregates: &aggregates, ..**base };
        Ok(each(cx, &row, nulled)? != Flow::Stop)
    }
}
