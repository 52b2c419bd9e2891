//! Window functions.
//!
//! What the functions look at is evaluated once for each row that comes. Rows are sorted by partition and order; those of a
//! partition are read by cursors that only go forwards: one at the present row, others at the ends of frames. Where no function
//! asks for more than some rows behind the present one, a row goes on as soon as these have come, and rows that all cursors
//! have passed are let go; else all rows of a partition are kept, in a file beyond a limit of memory. Results stand behind a
//! row's values, and the rows go on to the next sort or out.
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
use function::{Function, State};
use smallvec::{SmallVec, smallvec};
use store::{Cursor, Store};
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
        self.body.extend_from_slice(&[0; PREFIX]);
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
        let key = match self.key.split_first_chunk::<PREFIX>() {
            Some((prefix, key)) => {
                self.body[..PREFIX].copy_from_slice(prefix);
                key
            }
            None => &[],
        };
        self.sorter.push(key, &self.body);
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
    let mut present = Partition::new(plan, functions, cx);
    let mut partition: Vec<u8> = Vec::new();
    let mut more = true;
    sorter.finish(|key, body| {
        cx.state.poll()?;
        let (prefix, body) = body.split_first_chunk::<PREFIX>().unwrap_or((&[0; PREFIX], &[]));
        let mine = &key[..key.len().min(u32::from_le_bytes(*prefix) as usize)];
        if present.store.rows > 0 && partition != mine {
            more = present.finish(cx, emit)?;
            present.begin();
        }
        if present.store.rows == 0 {
            partition.clear();
            partition.extend_from_slice(mine);
        }
        more = more && present.push(key, body, cx, emit)?;
        Ok(more)
    })?;
    if more && present.store.rows > 0 {
        present.finish(cx, emit)?;
    }
    Ok(())
}

/// Rows of one partition, on their way.
struct Partition<'f, 'p> {
    functions: &'f [Function<'p>],
    states: Vec<State>,
    store: Store,
    /// At the present row; at the first row behind its peers.
    rows: Cursor,
    peers: Cursor,
    peer_there: bool,
    place: frame::Place,
    key: Vec<u8>,
    results: Vec<Value<'static>>,
    needs_peers: bool,
    /// So many rows behind a row are asked for; `None`: all of them.
    lookahead: Option<u64>,
    /// The first row of those that came last with one key.
    last_group: u64,
    width: usize,
}

impl<'f, 'p> Partition<'f, 'p> {
    fn new(plan: &WindowsPlan, functions: &'f [Function<'p>], cx: &EvalCx<'_>) -> Partition<'f, 'p> {
        let mut lookaheads = functions.iter().map(Function::lookahead);
        let store = Store::new(cx.state.vars.tmp_memory(), cx.state.vars.tmp_folders.clone());
        let mut new = Partition {
            functions,
            states: Vec::with_capacity(functions.len()),
            store,
            rows: Cursor::default(),
            peers: Cursor::default(),
            peer_there: false,
            place: frame::Place::default(),
            key: Vec::new(),
            results: Vec::with_capacity(functions.len()),
            needs_peers: functions.iter().any(Function::needs_peers),
            lookahead: lookaheads.try_fold(0, |most, of| Some(most.max(of?))),
            last_group: 0,
            width: plan.inputs.len(),
        };
        new.begin();
        new
    }

    /// Another partition.
    fn begin(&mut self) {
        self.store.clear();
        self.states.clear();
        self.states.extend(self.functions.iter().map(|function| function.begin(self.width)));
        (self.rows, self.peers, self.peer_there) = (Cursor::default(), Cursor::default(), false);
        (self.place, self.last_group) = (frame::Place::default(), 0);
        self.key.clear();
    }

    /// Takes a row, and gives those whose results are known; whether more rows are wanted.
    fn push(&mut self, key: &[u8], body: &[u8], cx: &mut EvalCx<'_>, emit: &mut Emit<'_>) -> SqlResult<bool> {
        self.store.push(key, body)?;
        let Some(lookahead) = self.lookahead else { return Ok(true) };
        if self.store.is_in_file() {
            return Ok(true);
        }
        if self.needs_peers && self.store.begins_group() {
            self.last_group = self.store.rows - 1;
        }
        let known = self.store.rows.saturating_sub(lookahead);
        let known = if self.needs_peers { known.min(self.last_group) } else { known };
        let more = self.give(known, cx, emit)?;
        if self.store.may_let_go() {
            let functions = self.functions.iter().zip(&self.states).map(|(f, state)| f.needs(state));
            let peers = if self.needs_peers { self.peers.next.saturating_sub(1) } else { u64::MAX };
            // The last row stays, to be compared with the next one.
            let rows = self.rows.next.min(self.store.rows - 1);
            self.store.let_go(functions.fold(rows.min(peers), u64::min));
        }
        Ok(more)
    }

    /// All rows have come: gives the rest; whether more rows are wanted.
    fn finish(&mut self, cx: &mut EvalCx<'_>, emit: &mut Emit<'_>) -> SqlResult<bool> {
        self.store.complete(cx)?;
        self.peers.settle(&self.store)?;
        self.give(self.store.rows, cx, emit)
    }

    /// Gives the rows before this one that were not given yet.
    fn give(&mut self, before: u64, cx: &mut EvalCx<'_>, emit: &mut Emit<'_>) -> SqlResult<bool> {
        let Partition { store, place, rows, peers, key, results, .. } = self;
        place.n = store.rows;
        while place.i < before && rows.advance(store)? {
            cx.state.poll()?;
            place.is_new = place.i == 0 || key != rows.key(store);
            if place.is_new {
                key.clear();
                key.extend_from_slice(rows.key(store));
                place.group += 1;
                place.start = place.i;
                if self.needs_peers {
                    if place.i == 0 {
                        self.peer_there = peers.advance(store)?;
                    }
                    while self.peer_there && peers.key(store) == key {
                        self.peer_there = peers.advance(store)?;
                        place.end += 1;
                    }
                }
            }
            results.clear();
            for (function, state) in self.functions.iter().zip(&mut self.states) {
                results.push(function.result(state, store, place, rows.body(store), cx)?);
            }
            if !emit(cx, rows.body(store), results)? {
                return Ok(false);
            }
            place.i += 1;
        }
        Ok(true)
    }
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
        // The tables one behind the other, each with all of its columns if any of them is looked at.
        let mut places: SmallVec<[(usize, usize); 4]> = smallvec![(0, 0); block.reads.len()];
        let mut width = 0;
        for &(slot, _) in *columns {
            if places[slot].1 == 0 {
                places[slot] = (width, block.reads[slot].width);
                width += block.reads[slot].width;
            }
        }
        let mut flat: SmallVec<[Value<'_>; 16]> = SmallVec::new();
        flat.resize_with(width, Value::default);
        for (&(slot, column), value) in columns.iter().zip(&mut values) {
            flat[places[slot].0 + column] = value;
        }
        let n = block.group.as_ref().map_or(0, |group| group.aggregates.len());
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
        let tables: SmallVec<[TableRow<'_>; 4]> = places.iter().map(table).collect();
        let row = Row { tables: &tables, aggregates: &aggregates, ..**base };
        Ok(each(cx, &row, nulled)? != Flow::Stop)
    }
}
