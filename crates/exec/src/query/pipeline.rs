//! What becomes of the rows of a block: HAVING, the select list, DISTINCT, ORDER BY, LIMIT.

use super::all_true;
use super::scan::{Consumer, Exec, Workspace};
use super::window::Windows;
use super::{Flow, Limit, Output, begin, count_sort, give, group};
use smallvec::SmallVec;
use vaquita_expr::order_of;
use vaquita_expr::{EvalCx, Row, TableRow};
use vaquita_plan::{BlockPlan, GroupPlan, SortValue, Step};
use vaquita_session::temp::distinct::{Came, Distinct};
use vaquita_session::temp::sort::Sorter;
use vaquita_session::temp::values::{Values, invert, push_key, push_value};
use vaquita_types::{SqlResult, Value};

/// Runs a block for a row of the block around it; rows that came, those included that LIMIT skipped (or cut off, if
/// `count_all`).
pub(super) fn run_block(
    block: &BlockPlan,
    cx: &mut EvalCx<'_>,
    outer: &Row<'_>,
    count_all: bool,
    out: &mut dyn Output,
) -> SqlResult<u64> {
    let base = Row { tables: &[], aggregates: &[], ..*outer };
    let limit = Limit::of(block.limit.as_ref(), cx, &base, count_all)?;
    if limit.is_empty() {
        return Ok(0);
    }
    let possible = all_true(&block.const_filter, cx, &base)?;
    if possible {
        begin(block, cx)?;
    }
    let sorted = !block.order.is_empty() && !block.order_done;
    // Rows that are given at once may be given in place; what is sorted or grouped is given when no latch is held.
    let in_place = sorted || block.windows.is_some() || out.in_place() || group::is_collected(block);
    let mut tail = Tail {
        block,
        windows: block.windows.as_ref().map(|plan| Box::new(Windows::new(block, plan, cx))),
        gather: (sorted || block.distinct).then(|| Box::new(Gather::new(block, sorted, limit, cx))),
        limit,
        out,
        nulled: usize::MAX,
        base: &base,
    };
    if block.group.is_some() {
        group::run(block, possible, in_place, cx, &base, &mut tail)?;
    } else if possible && block.reads.is_empty() {
        let flow = tail.give_row(cx, &base)?;
        if flow == Flow::Pause {
            tail.relieve(cx)?;
        }
    } else if possible {
        let first = first_found(block, &limit);
        read_first(block, (in_place, first), cx, &base, &mut tail)?;
    }
    tail.finish(cx, &base, possible)
}

/// Whether the select list sets user variables, which is to be done in the order of the sorted rows: numbering them is what
/// people do it for.
fn assigns_in_order(block: &BlockPlan) -> bool {
    let sorted_by = |at: usize| block.order.iter().any(|o| matches!(o.value, SortValue::Item(i) if i == at));
    let mut assigns = block.items.iter().enumerate().filter(|(_, item)| item.assigns()).peekable();
    !block.distinct
        && block.windows.is_none()
        && block.group.is_none()
        && assigns.peek().is_some()
        && assigns.all(|(at, _)| !sorted_by(at))
}

/// How many of the documents that a full-text search finds are wanted, the best ones, if their rows come to the end: some more than LIMIT
/// says, as a row may not be there to be seen.
fn first_found(block: &BlockPlan, limit: &Limit) -> Option<usize> {
    const MORE: u64 = 16;
    let [Step::Table { filter, .. }] = &block.steps[..] else { return None };
    let is_plain = block.having.is_none() && !block.distinct && block.windows.is_none();
    let in_order = block.order.is_empty() || block.order_done;
    let wanted = limit.first().filter(|_| is_plain && in_order && filter.len() <= 1)?;
    usize::try_from(wanted.saturating_add(MORE)).ok()
}

/// Reads and joins the tables of a block.
pub(super) fn read(
    block: &BlockPlan,
    in_place: bool,
    cx: &mut EvalCx<'_>,
    base: &Row<'_>,
    next: &mut dyn Consumer,
) -> SqlResult<()> {
    read_first(block, (in_place, None), cx, base, next)
}

/// The same; of what a full-text search finds only the `first` ones may be wanted.
fn read_first(
    block: &BlockPlan,
    (in_place, first): (bool, Option<usize>),
    cx: &mut EvalCx<'_>,
    base: &Row<'_>,
    next: &mut dyn Consumer,
) -> SqlResult<()> {
    let workspace: Box<Workspace> = cx.state.workspaces.take(block.id).unwrap_or_default();
    let mut exec = Exec::new(block, workspace, in_place);
    exec.first_found = first;
    let done = exec.run(cx, base, next);
    // After an error a cursor may be anywhere: it is placed anew before it is read again.
    if done.is_ok() {
        exec.leave(cx.state);
    }
    done.map(|_| ())
}

/// The end of a block: from rows, joined or grouped, to its output.
pub(super) struct Tail<'p, 'o> {
    pub(super) block: &'p BlockPlan,
    /// Takes the rows first.
    windows: Option<Box<Windows<'p>>>,
    /// Where rows are not given as they come. Apart, so that those of most blocks pass by little.
    gather: Option<Box<Gather>>,
    limit: Limit,
    pub(super) out: &'o mut dyn Output,
    /// Of a ROLLUP's row: group keys from this one on are NULL.
    pub(super) nulled: usize,
    /// The row of the block around it.
    base: &'o Row<'o>,
}

/// What DISTINCT and ORDER BY keep of the rows of a block.
struct Gather {
    distinct: Option<Distinct>,
    sorter: Option<Sorter>,
    key: Vec<u8>,
    body: Vec<u8>,
    /// The select list is evaluated when the rows are sorted: these columns are kept for it.
    late: Option<Vec<(usize, usize)>>,
}

impl Gather {
    fn new(block: &BlockPlan, sorted: bool, limit: Limit, cx: &EvalCx<'_>) -> Gather {
        let vars = &cx.state.vars;
        Gather {
            distinct: block.distinct.then(|| Distinct::new(vars.tmp_memory(), vars.sort_room())),
            sorter: sorted.then(|| Sorter::new(vars.sort_room(), limit.first().filter(|_| !block.distinct))),
            key: Vec::new(),
            body: Vec::new(),
            late: (sorted && assigns_in_order(block)).then(|| group::used_columns(block)),
        }
    }

    /// Whether a row of these values came before.
    fn came(&mut self, block: &BlockPlan, values: &[Value<'_>]) -> Came {
        let types = block.items.iter().map(|item| order_of(item.ty()));
        self.distinct.as_mut().map_or(Came::First, |distinct| distinct.take(values, types))
    }

    /// Keeps a row of which it is not known yet whether it is new, with the key it will be sorted by.
    fn put_off(&mut self, key: &[u8], values: &[Value<'_>]) -> Flow {
        let Some(distinct) = &mut self.distinct else { return Flow::Go };
        self.body.clear();
        self.body.extend_from_slice(&(key.len() as u32).to_le_bytes());
        self.body.extend_from_slice(key);
        values.iter().for_each(|value| push_value(value, &mut self.body));
        distinct.push_late(&self.body);
        if distinct.is_full() { Flow::Pause } else { Flow::Go }
    }

    fn relieve(&mut self) -> SqlResult<()> {
        if let Some(distinct) = &mut self.distinct {
            distinct.relieve()?;
        }
        match &mut self.sorter {
            Some(sorter) => sorter.relieve(),
            None => Ok(()),
        }
    }

    /// Keeps a row with what it is sorted by, if it is wanted. Whether it counts.
    fn sort_row(
        &mut self,
        block: &BlockPlan,
        nulled: usize,
        cx: &mut EvalCx<'_>,
        row: &Row<'_>,
    ) -> SqlResult<(Flow, bool)> {
        let mut key = std::mem::take(&mut self.key);
        key.clear();
        let done = self.sort_by(&mut key, block, nulled, cx, row);
        self.key = key;
        done
    }

    fn sort_by(
        &mut self,
        key: &mut Vec<u8>,
        block: &BlockPlan,
        nulled: usize,
        cx: &mut EvalCx<'_>,
        row: &Row<'_>,
    ) -> SqlResult<(Flow, bool)> {
        let mut values: SmallVec<[Value<'_>; 8]> = SmallVec::new();
        let selective = self.sorter.as_ref().is_some_and(Sorter::is_selective);
        if self.distinct.is_some() || !selective && self.late.is_none() {
            evaluate(block, nulled, cx, row, &mut values)?;
        }
        let came = if self.distinct.is_some() { self.came(block, &values) } else { Came::First };
        if came == Came::Again {
            return Ok((Flow::Go, false));
        }
        self.push_sort_key(key, block, nulled, &values, cx, row)?;
        if came == Came::Late {
            return Ok((self.put_off(key, &values), false));
        }
        let Some(sorter) = self.sorter.as_mut().filter(|sorter| sorter.wants(key)) else {
            return Ok((Flow::Go, true));
        };
        self.body.clear();
        if let Some(columns) = &self.late {
            for &(slot, column) in columns {
                push_value(&super::column(row, slot, column, cx)?, &mut self.body);
            }
        } else {
            if values.is_empty() {
                evaluate(block, nulled, cx, row, &mut values)?;
            }
            for value in &values {
                push_value(value, &mut self.body);
            }
        }
        sorter.push(key, &self.body);
        Ok((if sorter.is_full() { Flow::Pause } else { Flow::Go }, true))
    }

    /// What a row is sorted by; `values`: its select list, where it is there.
    fn push_sort_key(
        &self,
        key: &mut Vec<u8>,
        block: &BlockPlan,
        nulled: usize,
        values: &[Value<'_>],
        cx: &mut EvalCx<'_>,
        row: &Row<'_>,
    ) -> SqlResult<()> {
        for (nth, part) in block.order.iter().enumerate() {
            // The key that was made to know the row by serves to sort it.
            if let (Some(distinct), SortValue::Item(at)) = (&self.distinct, &part.value)
                && block.items.get(*at).is_some_and(|item| order_of(item.ty()) == part.how)
            {
                let start = key.len();
                key.extend_from_slice(distinct.key_of(*at));
                if part.descending {
                    invert(&mut key[start..]);
                }
                continue;
            }
            let value = match &part.value {
                SortValue::Item(at) => match values.get(*at) {
                    Some(value) => value.borrowed(),
                    None => match block.items.get(*at) {
                        Some(_) if is_rolled_up(block, |g| &g.rollup_items, *at, nulled) => Value::Null,
                        Some(item) => item.eval(cx, row)?,
                        None => Value::Null,
                    },
                },
                SortValue::Expr(_) if is_rolled_up(block, |g| &g.rollup_order, nth, nulled) => Value::Null,
                SortValue::Expr(expr) => expr.eval(cx, row)?,
            };
            push_key(part.how, &value, part.descending, key);
        }
        Ok(())
    }

    /// Gives the late rows of DISTINCT that are new, or keeps them to be sorted.
    fn finish_distinct(
        &mut self,
        limit: &mut Limit,
        cx: &mut EvalCx<'_>,
        out: &mut dyn Output,
    ) -> SqlResult<()> {
        let Gather { distinct: Some(distinct), sorter, .. } = self else { return Ok(()) };
        let late = distinct.finish(|body| {
            cx.state.poll()?;
            let Some((len, rest)) = body.split_first_chunk::<4>() else { return Ok(true) };
            let (key, body) = rest.split_at(rest.len().min(u32::from_le_bytes(*len) as usize));
            match sorter {
                Some(sorter) => {
                    limit.seen += 1;
                    sorter.push_and_spill(key, body)?;
                    Ok(true)
                }
                None => {
                    let values: SmallVec<[Value<'_>; 8]> = Values::new(body).collect();
                    give(&values, limit, cx, out)
                }
            }
        })?;
        cx.state.note_spill(late > 0, distinct.memory());
        Ok(())
    }
}

impl Consumer for Tail<'_, '_> {
    #[inline]
    fn row(&mut self, _: &mut Exec<'_>, cx: &mut EvalCx<'_>, row: &Row<'_>) -> SqlResult<Flow> {
        self.give_row(cx, row)
    }

    fn pause(&mut self, cx: &mut EvalCx<'_>) -> SqlResult<()> {
        self.relieve(cx)
    }
}

impl Tail<'_, '_> {
    /// Called without latches after [`Flow::Pause`].
    pub(super) fn relieve(&mut self, cx: &mut EvalCx<'_>) -> SqlResult<()> {
        if let Some(mut windows) = self.windows.take() {
            let base = self.base;
            let done =
                windows.relieve(cx, base, &mut |cx, row, nulled| self.go_on_unlatched(cx, row, nulled));
            self.windows = Some(windows);
            return done;
        }
        if let Some(gather) = &mut self.gather {
            gather.relieve()?;
            if gather.sorter.is_some() {
                return Ok(());
            }
        }
        self.out.pause(cx)
    }

    /// A row, joined or grouped.
    pub(super) fn give_row(&mut self, cx: &mut EvalCx<'_>, row: &Row<'_>) -> SqlResult<Flow> {
        if let Some(having) = &self.block.having
            && having.eval_bool(cx, row)? != Some(true)
        {
            return Ok(Flow::Go);
        }
        if let Some(windows) = &mut self.windows {
            return windows.take(cx, row, self.nulled);
        }
        self.go_on(cx, row)
    }

    /// A row with the results of its window functions, if there are any.
    #[inline]
    fn go_on(&mut self, cx: &mut EvalCx<'_>, row: &Row<'_>) -> SqlResult<Flow> {
        if self.gather.is_some() {
            return self.gather_row(cx, row);
        }
        let flow = if self.limit.shows() { self.put(cx, row)? } else { Flow::Go };
        Ok(if self.limit.is_over() { Flow::Stop } else { flow })
    }

    // Apart from what most blocks do, which is short then.
    #[inline(never)]
    fn gather_row(&mut self, cx: &mut EvalCx<'_>, row: &Row<'_>) -> SqlResult<Flow> {
        let Some(gather) = &mut self.gather else { return Ok(Flow::Go) };
        if gather.sorter.is_some() {
            let (flow, counts) = gather.sort_row(self.block, self.nulled, cx, row)?;
            self.limit.seen += u64::from(counts);
            return Ok(flow);
        }
        let mut values: SmallVec<[Value<'_>; 8]> = SmallVec::new();
        evaluate(self.block, self.nulled, cx, row, &mut values)?;
        match gather.came(self.block, &values) {
            Came::First => {}
            Came::Again => return Ok(Flow::Go),
            Came::Late => return Ok(gather.put_off(&[], &values)),
        }
        let flow = if self.limit.shows() { self.out.row(cx, &values)? } else { Flow::Go };
        Ok(if self.limit.is_over() { Flow::Stop } else { flow })
    }

    /// The same without latches.
    fn go_on_unlatched(&mut self, cx: &mut EvalCx<'_>, row: &Row<'_>, nulled: usize) -> SqlResult<Flow> {
        self.nulled = nulled;
        let flow = self.go_on(cx, row)?;
        self.nulled = usize::MAX;
        if flow == Flow::Pause {
            self.relieve(cx)?;
        }
        Ok(flow)
    }

    /// Evaluates the select list and hands it on.
    #[inline]
    fn put(&mut self, cx: &mut EvalCx<'_>, row: &Row<'_>) -> SqlResult<Flow> {
        let mut values: SmallVec<[Value<'_>; 8]> = SmallVec::new();
        evaluate(self.block, self.nulled, cx, row, &mut values)?;
        self.out.row(cx, &values)
    }

    /// All rows have come: those that were sorted are given. The number of rows.
    /// Without `possible` there were none to come.
    fn finish(mut self, cx: &mut EvalCx<'_>, base: &Row<'_>, possible: bool) -> SqlResult<u64> {
        if let Some(windows) = self.windows.take() {
            windows.finish(cx, base, &mut |cx, row, nulled| self.go_on_unlatched(cx, row, nulled))?;
        }
        let Tail { block, gather, mut limit, out, .. } = self;
        let Some(mut gather) = gather else { return Ok(limit.seen) };
        gather.finish_distinct(&mut limit, cx, out)?;
        let Gather { sorter, late, .. } = *gather;
        let Some(sorter) = sorter else { return Ok(limit.seen) };
        let came = limit.seen;
        limit.seen = 0;
        if possible {
            count_sort(&block.work, &sorter, cx);
        }
        sorter.finish(|_, body| {
            let row: SmallVec<[Value<'_>; 8]> = Values::new(body).collect();
            let more = match &late {
                None => give(&row, &mut limit, cx, out)?,
                Some(columns) => give_late(block, columns, row, cx, base, &mut limit, out)?,
            };
            cx.state.poll()?;
            Ok(more && !(limit.count_all && limit.seen >= limit.skip.saturating_add(limit.take)))
        })?;
        Ok(came)
    }
}

/// Evaluates the select list of a sorted row of which the columns were kept, and gives it.
fn give_late(
    block: &BlockPlan,
    columns: &[(usize, usize)],
    kept: SmallVec<[Value<'_>; 8]>,
    cx: &mut EvalCx<'_>,
    base: &Row<'_>,
    limit: &mut Limit,
    out: &mut dyn Output,
) -> SqlResult<bool> {
    let mut tables: Vec<Vec<Value<'_>>> = block.reads.iter().map(|r| vec![Value::Null; r.width]).collect();
    for (value, &(slot, column)) in kept.into_iter().zip(columns) {
        tables[slot][column] = value;
    }
    let tables: Vec<TableRow<'_>> = tables.iter().map(|v| TableRow::Values(v)).collect();
    let row = Row { tables: &tables, ..*base };
    let mut values: SmallVec<[Value<'_>; 8]> = SmallVec::new();
    evaluate(block, usize::MAX, cx, &row, &mut values)?;
    give(&values, limit, cx, out)
}

/// Whether the item, or key of ORDER BY, at a place is a group key that is NULL in the row of a ROLLUP.
#[inline]
fn is_rolled_up(
    block: &BlockPlan,
    which: impl Fn(&GroupPlan) -> &Vec<Option<usize>>,
    at: usize,
    nulled: usize,
) -> bool {
    nulled != usize::MAX
        && block
            .group
            .as_ref()
            .is_some_and(|g| which(g).get(at).copied().flatten().is_some_and(|k| k >= nulled))
}

/// The select list of a row.
#[inline]
fn evaluate<'v>(
    block: &'v BlockPlan,
    nulled: usize,
    cx: &mut EvalCx<'_>,
    row: &'v Row<'v>,
    values: &mut SmallVec<[Value<'v>; 8]>,
) -> SqlResult<()> {
    if nulled == usize::MAX {
        for item in &block.items {
            values.push(item.eval(cx, row)?);
        }
        return Ok(());
    }
    for (i, item) in block.items.iter().enumerate() {
        if is_rolled_up(block, |g| &g.rollup_items, i, nulled) {
            values.push(Value::Null);
            continue;
        }
        values.push(item.eval(cx, row)?);
    }
    Ok(())
}
