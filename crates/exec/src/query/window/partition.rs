//! Rows on their way through the functions of a sort: cut into partitions, each row with its results.

use super::function::{Function, State};
use super::store::{Cursor, Store, are_same};
use super::{PREFIX, frame};
use vaquita_expr::{EvalCx, Row};
use vaquita_plan::WindowsPlan;
use vaquita_types::{SqlResult, Value};

/// Takes rows with their results; whether more are wanted.
pub(super) trait Target {
    fn row(&mut self, cx: &mut EvalCx<'_>, body: &[u8], results: &[Value<'static>]) -> SqlResult<bool>;
}

/// Sorted rows, of one partition after the other.
pub(super) struct Partitions<'p> {
    present: Partition<'p>,
    /// What PARTITION BY has for the present one.
    key: Vec<u8>,
}

impl<'p> Partitions<'p> {
    /// For the functions of a pass.
    pub(super) fn new(
        plan: &'p WindowsPlan,
        number: usize,
        cx: &mut EvalCx<'_>,
        base: &Row<'_>,
    ) -> SqlResult<Partitions<'p>> {
        let calls = &plan.passes[number].calls;
        let mut functions = Vec::with_capacity(calls.len());
        for &call in calls {
            functions.push(Function::new(&plan.calls[call], cx, base)?);
        }
        Ok(Partitions { present: Partition::new(plan, functions, cx), key: Vec::new() })
    }

    /// Takes a row; whether more are wanted.
    pub(super) fn row(
        &mut self,
        key: &[u8],
        body: &[u8],
        cx: &mut EvalCx<'_>,
        target: &mut impl Target,
    ) -> SqlResult<bool> {
        let (prefix, body) = body.split_first_chunk::<PREFIX>().unwrap_or((&[0; PREFIX], &[]));
        let mine = &key[..key.len().min(u32::from_le_bytes(*prefix) as usize)];
        let present = &mut self.present;
        if present.store.rows > 0 && !are_same(&self.key, mine) {
            if !present.finish(cx, target)? {
                return Ok(false);
            }
            present.begin();
        }
        if present.store.rows == 0 {
            self.key.clear();
            self.key.extend_from_slice(mine);
        }
        present.push(key, body, cx, target)
    }

    /// All rows have come.
    pub(super) fn finish(&mut self, cx: &mut EvalCx<'_>, target: &mut impl Target) -> SqlResult<()> {
        if self.present.store.rows > 0 {
            self.present.finish(cx, target)?;
        }
        Ok(())
    }
}

/// Rows of one partition, on their way.
struct Partition<'p> {
    functions: Vec<Function<'p>>,
    states: Vec<State>,
    store: Store,
    /// At the present row; at the first row behind its peers.
    rows: Cursor,
    peers: Cursor,
    peer_there: bool,
    place: frame::Place,
    results: Vec<Value<'static>>,
    /// Some function asks which rows are the peers of the present one; whether rows are peers of those before.
    needs_peers: bool,
    needs_groups: bool,
    /// So many rows behind a row are asked for; `None`: all of them.
    lookahead: Option<u64>,
    /// The first row of those that came last with one key.
    last_group: u64,
    width: usize,
}

impl<'p> Partition<'p> {
    fn new(plan: &WindowsPlan, functions: Vec<Function<'p>>, cx: &EvalCx<'_>) -> Partition<'p> {
        let mut lookaheads = functions.iter().map(Function::lookahead);
        let store = Store::new(cx.state.vars.tmp_memory(), cx.state.vars.tmp_folders.clone());
        let lookahead = lookaheads.try_fold(0, |most, of| Some(most.max(of?)));
        let mut new = Partition {
            states: Vec::with_capacity(functions.len()),
            store,
            rows: Cursor::default(),
            peers: Cursor::default(),
            peer_there: false,
            place: frame::Place::default(),
            results: Vec::with_capacity(functions.len()),
            needs_peers: functions.iter().any(Function::needs_peers),
            needs_groups: functions.iter().any(Function::needs_groups),
            lookahead,
            last_group: 0,
            width: plan.inputs.len(),
            functions,
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
    }

    /// Takes a row, and gives those whose results are known; whether more rows are wanted.
    fn push(
        &mut self,
        key: &[u8],
        body: &[u8],
        cx: &mut EvalCx<'_>,
        target: &mut impl Target,
    ) -> SqlResult<bool> {
        let is_new = self.store.push(if self.needs_groups { key } else { &[] }, body)?;
        let Some(lookahead) = self.lookahead else { return Ok(true) };
        if self.store.is_in_file() {
            return Ok(true);
        }
        if is_new {
            self.last_group = self.store.rows - 1;
        }
        let known = self.store.rows.saturating_sub(lookahead);
        let known = if self.needs_peers { known.min(self.last_group) } else { known };
        let more = self.give(known, cx, target)?;
        if self.store.may_let_go() {
            let functions = self.functions.iter().zip(&self.states).map(|(f, state)| f.needs(state));
            let peers = if self.needs_peers { self.peers.next.saturating_sub(1) } else { u64::MAX };
            self.store.let_go(functions.fold(self.rows.next.min(peers), u64::min));
        }
        Ok(more)
    }

    /// All rows have come: gives the rest; whether more rows are wanted.
    fn finish(&mut self, cx: &mut EvalCx<'_>, target: &mut impl Target) -> SqlResult<bool> {
        self.store.complete(cx)?;
        self.peers.settle(&self.store)?;
        self.give(self.store.rows, cx, target)
    }

    /// Gives the rows before this one that were not given yet.
    fn give(&mut self, before: u64, cx: &mut EvalCx<'_>, target: &mut impl Target) -> SqlResult<bool> {
        let Partition { store, place, rows, peers, results, .. } = self;
        place.n = store.rows;
        while place.i < before && rows.advance(store)? {
            cx.state.poll()?;
            if rows.is_new(store) {
                place.group += 1;
                place.start = place.i;
                if self.needs_peers {
                    if place.i == 0 {
                        self.peer_there = peers.advance(store)?;
                    }
                    // It stands at the first of them.
                    while self.peer_there {
                        self.peer_there = peers.advance(store)?;
                        place.end += 1;
                        if self.peer_there && peers.is_new(store) {
                            break;
                        }
                    }
                }
            }
            results.clear();
            for (function, state) in self.functions.iter().zip(&mut self.states) {
                results.push(function.result(state, store, place, rows.body(store), cx)?);
            }
            if !target.row(cx, rows.body(store), results)? {
                return Ok(false);
            }
            place.i += 1;
        }
        Ok(true)
    }
}
