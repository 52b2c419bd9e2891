//! Groups and aggregates.
//!
//! Rows of one group meet in one of three ways: they come one after the other (by an index), their keys meet in a hash
//! table (up to a limit of memory), or, for ROLLUP, they are sorted first. What of a group's columns is looked at outside of aggregates is taken
//! from its first row.

use super::pipeline::{Tail, read};
use super::scan::{Consumer, Exec};
use super::{Flow, error_engine};
use std::collections::HashMap;
use vaquita_base::codec::push_uint;
use vaquita_catalog::error;
use vaquita_expr::{Accumulator, Aggregate, EvalCx, Row, TableRow};
use vaquita_parser::ast::AggregateKind;
use vaquita_plan::Source;
use vaquita_plan::{BlockPlan, GroupPlan, SortValue};
use vaquita_session::temp::SortRoom;
use vaquita_session::temp::sort::Sorter;
use vaquita_session::temp::values::{Values, memory_of, push_key, push_value};
use vaquita_types::{SqlResult, Value};

/// Whether groups are given only when all rows have been read.
pub(super) fn is_collected(block: &BlockPlan) -> bool {
    block.group.as_ref().is_some_and(|g| g.keys.is_empty() || g.rollup || !g.sorted_input)
}

/// One group.
struct Group {
    carried: Box<[Value<'static>]>,
    accumulators: Box<[Accumulator]>,
    /// What the accumulators gave, if they are finished already.
    results: Option<Vec<Value<'static>>>,
}

impl Group {
    fn empty(plan: &GroupPlan, cx: &EvalCx<'_>) -> Group {
        let counting = plan.aggregates.iter().filter(|a| a.counts_values()).count().max(1);
        let memory = cx.state.vars.tmp_memory() / counting;
        let empty = |a: &Aggregate| a.accumulator(memory, || cx.state.vars.sort_room());
        Group {
            carried: vec![Value::Null; plan.carried.len()].into(),
            accumulators: plan.aggregates.iter().map(empty).collect(),
            results: None,
        }
    }

    /// Bytes it takes, as it begins.
    fn memory(&self) -> usize {
        self.carried.iter().map(memory_of).sum::<usize>() + size_of_val(&*self.accumulators)
    }

    /// Bytes that the values of DISTINCT and the texts of GROUP_CONCAT take.
    fn values_memory(&self) -> usize {
        self.accumulators.iter().map(Accumulator::memory).sum()
    }

    /// Whether values are to be written to a file: [`Group::relieve`].
    fn is_full(&self) -> bool {
        self.accumulators.iter().any(Accumulator::is_full)
    }

    /// Writes values to a file if there are too many. No page may be latched.
    fn relieve(&mut self) -> SqlResult<()> {
        self.accumulators.iter_mut().try_for_each(Accumulator::relieve)
    }

    fn of_row(plan: &GroupPlan, cx: &mut EvalCx<'_>, row: &Row<'_>) -> SqlResult<Group> {
        let mut group = Group::empty(plan, cx);
        group.carry(plan, cx, row)?;
        Ok(group)
    }

    fn carry(&mut self, plan: &GroupPlan, cx: &mut EvalCx<'_>, row: &Row<'_>) -> SqlResult<()> {
        for (value, &(slot, column)) in self.carried.iter_mut().zip(&plan.carried) {
            *value = super::column(row, slot, column, cx)?.into_owned();
        }
        Ok(())
    }

    #[inline]
    fn add(&mut self, plan: &GroupPlan, cx: &mut EvalCx<'_>, row: &Row<'_>) -> SqlResult<()> {
        for (accumulator, of) in self.accumulators.iter_mut().zip(&plan.aggregates) {
            accumulator.add(of, cx, row)?;
        }
        Ok(())
    }

    fn finish(&mut self, plan: &GroupPlan, cx: &mut EvalCx<'_>) -> SqlResult<Vec<Value<'static>>> {
        if let Some(results) = self.results.take() {
            return Ok(results);
        }
        let memory = self.values_memory();
        if memory > 0 {
            cx.state.note_spill(self.accumulators.iter().any(Accumulator::is_spilled), memory);
        }
        let mut results = Vec::with_capacity(self.accumulators.len());
        for (accumulator, of) in self.accumulators.iter_mut().zip(&plan.aggregates) {
            results.push(accumulator.finish(of, cx)?);
        }
        Ok(results)
    }
}

/// Groups the rows of a block; without `possible` there are none.
pub(super) fn run(
    block: &BlockPlan,
    possible: bool,
    in_place: bool,
    cx: &mut EvalCx<'_>,
    base: &Row<'_>,
    tail: &mut Tail<'_, '_>,
) -> SqlResult<()> {
    let Some(plan) = &block.group else { return Ok(()) };
    if plan.keys.is_empty() {
        return one_group(block, plan, possible, in_place, cx, base, tail);
    }
    if !possible {
        return Ok(());
    }
    if plan.rollup {
        return rollup(block, plan, in_place, cx, base, tail);
    }
    if plan.sorted_input {
        let mut groups =
            Sorted { plan, base: *base, tail, present: None, key: Vec::new(), next_key: Vec::new() };
        if block.reads.is_empty() {
            return Ok(());
        }
        read(block, in_place, cx, base, &mut groups)?;
        if let Some(group) = groups.present.take() {
            let flow = give(plan, group, cx, base, groups.tail)?;
            if flow == Flow::Pause {
                groups.tail.relieve(cx)?;
            }
        }
        return Ok(());
    }
    let mut groups = Hashed::new(block, plan, cx);
    match block.reads.is_empty() {
        true => groups.take(cx, base)?,
        false => read(block, in_place, cx, base, &mut groups)?,
    }
    groups.finish(cx, base, tail)
}

/// Evaluates a group and hands it on.
fn give(
    plan: &GroupPlan,
    mut group: Group,
    cx: &mut EvalCx<'_>,
    base: &Row<'_>,
    tail: &mut Tail<'_, '_>,
) -> SqlResult<Flow> {
    let results = group.finish(plan, cx)?;
    give_row(plan, &group.carried, &results, cx, base, tail)
}

fn give_row(
    plan: &GroupPlan,
    carried: &[Value<'_>],
    results: &[Value<'_>],
    cx: &mut EvalCx<'_>,
    base: &Row<'_>,
    tail: &mut Tail<'_, '_>,
) -> SqlResult<Flow> {
    let block = tail.block;
    let mut values: Vec<Vec<Value<'_>>> = vec![Vec::new(); block.reads.len()];
    for (value, &(slot, column)) in carried.iter().zip(&plan.carried) {
        if values[slot].is_empty() {
            values[slot] = vec![Value::Null; block.reads[slot].width];
        }
        values[slot][column] = value.borrowed();
    }
    let tables: Vec<TableRow<'_>> =
        values.iter().map(|v| if v.is_empty() { TableRow::Null } else { TableRow::Values(v) }).collect();
    let row = Row { tables: &tables, aggregates: results, ..*base };
    tail.give_row(cx, &row)
}

/// All rows are one group, also if there are none.
fn one_group(
    block: &BlockPlan,
    plan: &GroupPlan,
    possible: bool,
    in_place: bool,
    cx: &mut EvalCx<'_>,
    base: &Row<'_>,
    tail: &mut Tail<'_, '_>,
) -> SqlResult<()> {
    let mut one = One { plan, group: Group::empty(plan, cx), rows: 0 };
    let counted = match possible {
        true if block.count_rows => Some(count(block, cx)?),
        true if block.count_found => super::scan::count_found(block, cx, base)?,
        _ => None,
    };
    let flow = if let Some(n) = counted {
        let results = vec![Value::Int(n as i64); plan.aggregates.len()];
        give_row(plan, &[], &results, cx, base, tail)?
    } else {
        match (possible, block.reads.is_empty()) {
            (false, _) => {}
            (true, true) => one.take(cx, base)?,
            (true, false) => read(block, in_place, cx, base, &mut one)?,
        }
        give(plan, one.group, cx, base, tail)?
    };
    if flow == Flow::Pause {
        tail.relieve(cx)?;
    }
    Ok(())
}

/// The number of rows of the block's one table.
fn count(block: &BlockPlan, cx: &mut EvalCx<'_>) -> SqlResult<u64> {
    let (Some(Source::Stored(info)), Some(session)) =
        (block.reads.first().map(|r| &r.source), cx.engine.as_mut())
    else {
        return Err(error_engine());
    };
    let rows = error::of_engine(session.statement().count(&info.table))?;
    // As MySQL counts the calls.
    let status = &mut cx.state.status;
    status.handler_read_first += 1;
    status.handler_read_key += 1;
    status.handler_read_next += rows;
    Ok(rows)
}

struct One<'p> {
    plan: &'p GroupPlan,
    group: Group,
    rows: u64,
}

impl One<'_> {
    #[inline]
    fn take(&mut self, cx: &mut EvalCx<'_>, row: &Row<'_>) -> SqlResult<()> {
        if self.rows == 0 {
            self.group.carry(self.plan, cx, row)?;
        }
        self.rows += 1;
        self.group.add(self.plan, cx, row)
    }
}

impl Consumer for One<'_> {
    fn row(&mut self, _: &mut Exec<'_>, cx: &mut EvalCx<'_>, row: &Row<'_>) -> SqlResult<Flow> {
        self.take(cx, row)?;
        if self.plan.first_only
            && let Some(arg) = self.plan.aggregates.first().and_then(|a| a.args.first())
            && !arg.eval(cx, row)?.is_null()
        {
            return Ok(Flow::Stop);
        }
        Ok(if self.group.is_full() { Flow::Pause } else { Flow::Go })
    }

    fn pause(&mut self, _: &mut EvalCx<'_>) -> SqlResult<()> {
        self.group.relieve()
    }
}

/// Replaces `out` by the key of a row's group.
fn key_of(plan: &GroupPlan, cx: &mut EvalCx<'_>, row: &Row<'_>, out: &mut Vec<u8>) -> SqlResult<()> {
    out.clear();
    for key in &plan.keys {
        if let SortValue::Expr(expr) = &key.value {
            let value = expr.eval(cx, row)?;
            push_key(key.how, &value, key.descending, out);
        }
    }
    Ok(())
}

/// Groups whose rows come one after the other.
struct Sorted<'p, 't, 'b, 'o, 'q> {
    plan: &'p GroupPlan,
    base: Row<'b>,
    tail: &'t mut Tail<'q, 'o>,
    present: Option<Group>,
    key: Vec<u8>,
    next_key: Vec<u8>,
}

impl Consumer for Sorted<'_, '_, '_, '_, '_> {
    fn row(&mut self, _: &mut Exec<'_>, cx: &mut EvalCx<'_>, row: &Row<'_>) -> SqlResult<Flow> {
        key_of(self.plan, cx, row, &mut self.next_key)?;
        let mut flow = Flow::Go;
        if self.present.is_none() || self.key != self.next_key {
            if let Some(group) = self.present.take() {
                flow = give(self.plan, group, cx, &self.base, self.tail)?;
                if flow == Flow::Stop {
                    return Ok(flow);
                }
            }
            std::mem::swap(&mut self.key, &mut self.next_key);
            self.present = Some(Group::of_row(self.plan, cx, row)?);
        }
        if let Some(group) = &mut self.present {
            group.add(self.plan, cx, row)?;
            if group.is_full() {
                flow = Flow::Pause;
            }
        }
        Ok(flow)
    }

    fn pause(&mut self, cx: &mut EvalCx<'_>) -> SqlResult<()> {
        if let Some(group) = &mut self.present {
            group.relieve()?;
        }
        self.tail.relieve(cx)
    }
}

/// Groups that meet in a hash table; they are given in the order of their first rows. When they take too much memory, rows of
/// other groups are *late*: they are sorted by their groups' keys, and their groups made one after the other. When it is the
/// values of DISTINCT that take too much, all further rows are late, and groups that are there go on with theirs.
struct Hashed<'p> {
    block: &'p BlockPlan,
    plan: &'p GroupPlan,
    by_key: HashMap<Box<[u8]>, usize, foldhash::fast::RandomState>,
    groups: Vec<Group>,
    key: Vec<u8>,
    /// Bytes that the groups take, and may take.
    memory: usize,
    limit: usize,
    room: SortRoom,
    late: Option<Late>,
    /// Aggregates keep values, for DISTINCT.
    keep_values: bool,
    /// Its values take too much memory.
    crowded: bool,
}

/// Rows of groups for which there was no room.
struct Late {
    columns: Vec<(usize, usize)>,
    sorter: Sorter,
    /// How many there are.
    rows: u64,
    body: Vec<u8>,
}

/// Bytes of a place in a hash table, with the allocations of a group.
const PLACE: usize = 96;

impl<'p> Hashed<'p> {
    fn new(block: &'p BlockPlan, plan: &'p GroupPlan, cx: &EvalCx<'_>) -> Hashed<'p> {
        Hashed {
            block,
            plan,
            by_key: HashMap::default(),
            groups: Vec::new(),
            key: Vec::new(),
            memory: 0,
            limit: cx.state.vars.tmp_memory(),
            room: cx.state.vars.sort_room(),
            late: None,
            keep_values: plan.aggregates.iter().any(|a| a.distinct || a.kind == AggregateKind::GroupConcat),
            crowded: false,
        }
    }

    fn take(&mut self, cx: &mut EvalCx<'_>, row: &Row<'_>) -> SqlResult<()> {
        key_of(self.plan, cx, row, &mut self.key)?;
        let at = match self.by_key.get(&self.key[..]) {
            Some(_) if self.crowded => return self.put_off(cx, row),
            Some(&at) => at,
            None if self.late.is_some() => return self.put_off(cx, row),
            None => {
                let group = Group::of_row(self.plan, cx, row)?;
                let memory = self.key.len() + PLACE + group.memory();
                // The first group has room always.
                if self.memory + memory > self.limit && !self.groups.is_empty() {
                    return self.put_off(cx, row);
                }
                self.memory += memory;
                self.groups.push(group);
                self.by_key.insert(self.key.as_slice().into(), self.groups.len() - 1);
                self.groups.len() - 1
            }
        };
        let group = &mut self.groups[at];
        if !self.keep_values {
            return group.add(self.plan, cx, row);
        }
        let before = group.values_memory();
        group.add(self.plan, cx, row)?;
        self.memory = (self.memory + group.values_memory()).saturating_sub(before);
        self.crowded = self.memory > self.limit;
        Ok(())
    }

    fn put_off(&mut self, cx: &mut EvalCx<'_>, row: &Row<'_>) -> SqlResult<()> {
        let (block, room) = (self.block, &self.room);
        let late = self.late.get_or_insert_with(|| Late {
            columns: used_columns(block),
            sorter: Sorter::new(room.clone(), None),
            rows: 0,
            body: Vec::new(),
        });
        late.body.clear();
        push_uint(&mut late.body, size_of::<u64>(), late.rows);
        for &(slot, column) in &late.columns {
            push_value(&super::column(row, slot, column, cx)?, &mut late.body);
        }
        late.rows += 1;
        late.sorter.push(&self.key, &late.body);
        Ok(())
    }

    /// All rows have come: gives the groups.
    fn finish(mut self, cx: &mut EvalCx<'_>, base: &Row<'_>, tail: &mut Tail<'_, '_>) -> SqlResult<()> {
        cx.state.note_spill(self.late.is_some(), self.memory);
        let mut made = None;
        if self.crowded {
            made = self.make_late(cx, base)?;
        }
        // From here on all late rows are of other groups.
        self.by_key = HashMap::default();
        for group in std::mem::take(&mut self.groups) {
            match give(self.plan, group, cx, base, tail)? {
                Flow::Go => {}
                Flow::Pause => tail.relieve(cx)?,
                Flow::Stop => return Ok(()),
            }
        }
        if made.is_none() {
            made = self.make_late(cx, base)?;
        }
        made.map_or(Ok(()), |made| self.give_made(made, cx, base, tail))
    }

    /// Makes the groups of the late rows, in the order of their keys; those that are there already get their results.
    fn make_late(&mut self, cx: &mut EvalCx<'_>, base: &Row<'_>) -> SqlResult<Option<Sorter>> {
        let Some(Late { columns, sorter, .. }) = self.late.take() else { return Ok(None) };
        let Hashed { plan, block, groups, by_key, .. } = self;
        let mut made =
            Made { plan, groups, sorter: Sorter::new(self.room.clone(), None), scratch: Vec::new() };
        let mut present: Option<Present> = None;
        sorter.finish(|key, body| {
            cx.state.poll()?;
            let (number, body) = body.split_at(body.len().min(size_of::<u64>()));
            let mut values: Vec<Vec<Value<'_>>> =
                block.reads.iter().map(|r| vec![Value::Null; r.width]).collect();
            for (value, &(slot, column)) in Values::new(body).zip(&columns) {
                values[slot][column] = value;
            }
            let tables: Vec<TableRow<'_>> = values.iter().map(|v| TableRow::Values(v)).collect();
            let row = Row { tables: &tables, ..*base };
            if present.as_ref().is_none_or(|present| present.key != key) {
                if let Some(done) = present.take() {
                    made.end(done, cx)?;
                }
                let place = by_key.get(key).copied();
                let group = match place {
                    Some(at) => made.take_up(at),
                    None => Group::of_row(plan, cx, &row)?,
                };
                present = Some(Present { key: key.to_vec(), first: number.to_vec(), group, place });
            }
            if let Some(Present { group, .. }) = &mut present {
                group.add(plan, cx, &row)?;
                group.relieve()?;
            }
            Ok(true)
        })?;
        if let Some(done) = present {
            made.end(done, cx)?;
        }
        Ok(Some(made.sorter))
    }

    /// Gives groups of late rows in the order of their first rows.
    fn give_made(
        &self,
        made: Sorter,
        cx: &mut EvalCx<'_>,
        base: &Row<'_>,
        tail: &mut Tail<'_, '_>,
    ) -> SqlResult<()> {
        let plan = self.plan;
        made.finish(|_, body| {
            let values: Vec<Value<'_>> = Values::new(body).collect();
            let (carried, results) = values.split_at(plan.carried.len().min(values.len()));
            let flow = give_row(plan, carried, results, cx, base, tail)?;
            if flow == Flow::Pause {
                tail.relieve(cx)?;
            }
            Ok(flow != Flow::Stop)
        })
    }
}

/// The group of the late rows that come one after the other.
struct Present {
    key: Vec<u8>,
    /// Number of its first row.
    first: Vec<u8>,
    group: Group,
    /// Where it is, if it is one of those in memory.
    place: Option<usize>,
}

/// What became of late rows.
struct Made<'m> {
    plan: &'m GroupPlan,
    groups: &'m mut [Group],
    /// Finished groups by the number of their first row.
    sorter: Sorter,
    scratch: Vec<u8>,
}

impl Made<'_> {
    /// A group in memory goes on.
    fn take_up(&mut self, at: usize) -> Group {
        let accumulators = std::mem::take(&mut self.groups[at].accumulators);
        Group { carried: Box::default(), accumulators, results: None }
    }

    /// All rows of a group have come.
    fn end(&mut self, mut done: Present, cx: &mut EvalCx<'_>) -> SqlResult<()> {
        let results = done.group.finish(self.plan, cx)?;
        if let Some(at) = done.place {
            self.groups[at].results = Some(results);
            return Ok(());
        }
        self.scratch.clear();
        done.group.carried.iter().chain(&results).for_each(|v| push_value(v, &mut self.scratch));
        self.sorter.push_and_spill(&done.first, &self.scratch)
    }
}

impl Consumer for Hashed<'_> {
    fn row(&mut self, _: &mut Exec<'_>, cx: &mut EvalCx<'_>, row: &Row<'_>) -> SqlResult<Flow> {
        self.take(cx, row)?;
        let full = self.late.as_ref().is_some_and(|late| late.sorter.is_full());
        Ok(if full { Flow::Pause } else { Flow::Go })
    }

    fn pause(&mut self, _: &mut EvalCx<'_>) -> SqlResult<()> {
        self.late.as_mut().map_or(Ok(()), |late| late.sorter.relieve())
    }
}

/// All columns of a block that are looked at.
pub(crate) fn used_columns(block: &BlockPlan) -> Vec<(usize, usize)> {
    let of = |(slot, read): (usize, &vaquita_plan::Read)| match &read.source {
        Source::Stored(_) => read.columns.iter().map(|&c| (slot, c)).collect::<Vec<_>>(),
        _ => (0..read.width).map(|c| (slot, c)).collect(),
    };
    block.reads.iter().enumerate().flat_map(of).collect()
}

/// Collects rows in the order of their groups' keys.
struct SortRows<'p> {
    plan: &'p GroupPlan,
    columns: &'p [(usize, usize)],
    sorter: Sorter,
    key: Vec<u8>,
    body: Vec<u8>,
}

impl Consumer for SortRows<'_> {
    fn row(&mut self, _: &mut Exec<'_>, cx: &mut EvalCx<'_>, row: &Row<'_>) -> SqlResult<Flow> {
        key_of(self.plan, cx, row, &mut self.key)?;
        self.body.clear();
        for &(slot, column) in self.columns {
            push_value(&super::column(row, slot, column, cx)?, &mut self.body);
        }
        self.sorter.push(&self.key, &self.body);
        Ok(if self.sorter.is_full() { Flow::Pause } else { Flow::Go })
    }

    fn pause(&mut self, _: &mut EvalCx<'_>) -> SqlResult<()> {
        self.sorter.relieve()
    }
}

/// GROUP BY … WITH ROLLUP: behind the groups of equal first keys comes their sum.
fn rollup(
    block: &BlockPlan,
    plan: &GroupPlan,
    in_place: bool,
    cx: &mut EvalCx<'_>,
    base: &Row<'_>,
    tail: &mut Tail<'_, '_>,
) -> SqlResult<()> {
    let columns = used_columns(block);
    let room = cx.state.vars.sort_room();
    let mut rows = SortRows {
        plan,
        columns: &columns,
        sorter: Sorter::new(room, None),
        key: Vec::new(),
        body: Vec::new(),
    };
    if !block.reads.is_empty() {
        read(block, in_place, cx, base, &mut rows)?;
    }
    super::count_sort(&block.work, &rows.sorter, cx);
    let mut levels = Levels { plan, groups: Vec::new(), keys: Vec::new() };
    let mut stopped = false;
    rows.sorter.finish(|_, body| {
        let mut values: Vec<Vec<Value<'_>>> =
            block.reads.iter().map(|r| vec![Value::Null; r.width]).collect();
        for (value, &(slot, column)) in Values::new(body).zip(&columns) {
            values[slot][column] = value;
        }
        let tables: Vec<TableRow<'_>> = values.iter().map(|v| TableRow::Values(v)).collect();
        let row = Row { tables: &tables, ..*base };
        stopped = levels.take(cx, &row, base, tail)? == Flow::Stop;
        Ok(!stopped)
    })?;
    if !stopped {
        levels.close(0, cx, base, tail)?;
    }
    Ok(())
}

/// One group for every number of leading keys.
struct Levels<'p> {
    plan: &'p GroupPlan,
    groups: Vec<Group>,
    keys: Vec<Vec<u8>>,
}

impl Levels<'_> {
    fn take(
        &mut self,
        cx: &mut EvalCx<'_>,
        row: &Row<'_>,
        base: &Row<'_>,
        tail: &mut Tail<'_, '_>,
    ) -> SqlResult<Flow> {
        let plan = self.plan;
        let mut keys = Vec::with_capacity(plan.keys.len());
        for key in &plan.keys {
            let mut bytes = Vec::new();
            if let SortValue::Expr(expr) = &key.value {
                let value = expr.eval(cx, row)?;
                push_key(key.how, &value, false, &mut bytes);
            }
            keys.push(bytes);
        }
        if !self.groups.is_empty() {
            let same = keys.iter().zip(&self.keys).take_while(|(a, b)| a == b).count();
            if same < keys.len() && self.close(same + 1, cx, base, tail)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        while self.groups.len() <= plan.keys.len() {
            self.groups.push(Group::of_row(plan, cx, row)?);
        }
        self.keys = keys;
        for group in &mut self.groups {
            group.add(plan, cx, row)?;
            group.relieve()?;
        }
        Ok(Flow::Go)
    }

    /// Gives the groups of `from` keys and more, the longest first.
    fn close(
        &mut self,
        from: usize,
        cx: &mut EvalCx<'_>,
        base: &Row<'_>,
        tail: &mut Tail<'_, '_>,
    ) -> SqlResult<Flow> {
        while self.groups.len() > from {
            let Some(mut group) = self.groups.pop() else { break };
            let level = self.groups.len();
            let mut results = group.finish(self.plan, cx)?;
            for (at, keys) in &self.plan.groupings {
                let bits = keys.iter().fold(0, |bits, &key| bits << 1 | u64::from(key >= level));
                results[*at] = Value::Int(bits as i64);
            }
            for key in &self.plan.keys[level.min(self.plan.keys.len())..] {
                let column = key.value.expr().and_then(vaquita_plan::columns::column_of);
                for (value, at) in group.carried.iter_mut().zip(&self.plan.carried) {
                    if Some(*at) == column {
                        *value = Value::Null;
                    }
                }
            }
            tail.nulled = if level < self.plan.keys.len() { level } else { usize::MAX };
            let flow = give_row(self.plan, &group.carried, &results, cx, base, tail)?;
            tail.nulled = usize::MAX;
            match flow {
                Flow::Go => {}
                Flow::Pause => tail.relieve(cx)?,
                Flow::Stop => return Ok(Flow::Stop),
            }
        }
        Ok(Flow::Go)
    }
}
