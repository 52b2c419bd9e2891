//! Reading tables and joining them: for each row of the first table the matching ones of the next, and so on.

mod found;

use super::Flow;
use super::all_true;
use super::kept::{Found, Kept, Rows};
use super::placed::Placed;
use super::{Output, run_query};
use smallvec::SmallVec;
use std::cmp::Ordering;
use std::ops::ControlFlow;
use std::sync::Arc;
use vaquita_catalog::TableInfo;
use vaquita_catalog::error;
use vaquita_engine::{
    Cursor, Direction, Field, Isolation, PointRead, ReadLock, ReadOptions, RowKey, RowRef, Seek,
};
use vaquita_expr::{EvalCx, Expr, Row, TableRow};
use vaquita_plan::Source;
use vaquita_plan::bound::{Bounded, bound};
use vaquita_plan::ranges::{KeyRange, ranges_of};
use vaquita_plan::{BlockPlan, KeyTest, KeyValue, Path, QueryPlan, Read, SourceLock, Step};
use vaquita_session::SessionState;
use vaquita_session::temp::values::{Values, recycled};
use vaquita_types::{SqlError, SqlResult, Value};

pub(super) use found::count_found;

/// Rows looked at in place before the latch is given up for a moment: others want the page, and the session may have to
/// end.
const IN_PLACE_ROWS: u32 = 1024;

type Tables<'r> = SmallVec<[TableRow<'r>; 4]>;

/// Takes joined rows.
pub(crate) trait Consumer {
    /// A row of all tables.
    fn row(&mut self, exec: &mut Exec<'_>, cx: &mut EvalCx<'_>, row: &Row<'_>) -> SqlResult<Flow>;

    /// Called without latches after [`Flow::Pause`].
    fn pause(&mut self, cx: &mut EvalCx<'_>) -> SqlResult<()>;
}

/// What reading a table uses, kept from one execution to the next.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    cursor: Option<Cursor>,
    point: Option<PointRead>,
    /// The locks that `point` takes.
    point_lock: ReadLock,
    /// The cursor was taken up in this execution.
    ready: bool,
    key: Vec<u8>,
    kept: Option<Kept>,
}

/// What executions of a block use one after the other.
#[derive(Debug, Default)]
pub(crate) struct Workspace {
    /// By slot. One that reads is not in its place.
    readers: Vec<Option<Box<Reader>>>,
    /// Keys of the present rows, by slot, where `want_keys` asks for them.
    keys: Vec<Option<RowKey>>,
    want_keys: Vec<bool>,
}

/// One execution of the reading part of a block.
pub(crate) struct Exec<'p> {
    block: &'p BlockPlan,
    /// Rows may be looked at in place.
    in_place: bool,
    workspace: Box<Workspace>,
    /// Rows are read to be changed.
    pub(crate) to_change: ToChange,
    /// Only the first so many rows of a full-text search are wanted, if nothing is wrong with them.
    pub(super) first_found: Option<usize>,
}

/// What a statement that changes the rows it reads does about locks.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ToChange {
    /// Locked rows are shown in their last committed version first (UPDATE of one table).
    pub(crate) semi_consistent: bool,
    /// The row behind the end of a range of a secondary index is locked: MySQL pushes no conditions down to the index then, and
    /// looks at the row to see that it is beyond.
    pub(crate) row_at_end: bool,
}

impl<'p> Exec<'p> {
    pub(crate) fn new(block: &'p BlockPlan, mut workspace: Box<Workspace>, in_place: bool) -> Exec<'p> {
        workspace.readers.resize_with(block.reads.len(), || None);
        for reader in workspace.readers.iter_mut().flatten() {
            reader.ready = false;
            reader.kept = None;
        }
        let in_place = in_place && !block.has_subquery;
        Exec { block, in_place, workspace, to_change: ToChange::default(), first_found: None }
    }

    /// Keys of the present rows, by slot, where [`Exec::want_keys`] asked for them.
    pub(crate) fn keys(&self) -> &[Option<RowKey>] {
        &self.workspace.keys
    }

    /// Leaves to the session's next execution of the block what it can use again.
    pub(crate) fn leave(mut self, state: &mut SessionState) {
        let mut bytes = size_of::<Workspace>();
        for reader in self.workspace.readers.iter_mut().flatten() {
            reader.kept = None;
            bytes += size_of::<Reader>() + reader.cursor.as_ref().map_or(0, Cursor::memory);
        }
        state.workspaces.give(self.block.id, bytes, self.workspace);
    }

    /// All joined rows.
    pub(crate) fn run(
        &mut self,
        cx: &mut EvalCx<'_>,
        row: &Row<'_>,
        next: &mut dyn Consumer,
    ) -> SqlResult<Flow> {
        let none: Tables<'_> = smallvec::smallvec![TableRow::None; self.block.reads.len()];
        let row = Row { tables: &none, ..*row };
        let block = self.block;
        self.steps(&block.steps, true, cx, &row, next)
    }

    /// The keys of the rows of these slots are wanted.
    pub(crate) fn want_keys(&mut self, slots: impl Iterator<Item = usize>) {
        let reads = self.block.reads.len();
        let Workspace { keys, want_keys, .. } = &mut *self.workspace;
        keys.resize(reads, None);
        want_keys.clear();
        want_keys.resize(reads, false);
        slots.for_each(|slot| want_keys[slot] = true);
    }

    /// Joins by the steps that are left. `last`: nothing but `next` follows them.
    fn steps(
        &mut self,
        steps: &[Step],
        last: bool,
        cx: &mut EvalCx<'_>,
        row: &Row<'_>,
        next: &mut dyn Consumer,
    ) -> SqlResult<Flow> {
        match steps.split_first() {
            None => {
                let flow = next.row(self, cx, row)?;
                if flow == Flow::Pause {
                    next.pause(cx)?;
                    return Ok(Flow::Go);
                }
                Ok(flow)
            }
            Some((Step::Table { slot, filter, covered }, rest)) => {
                let in_place = self.in_place && last && rest.is_empty();
                let mut reader = self.workspace.readers[*slot].take().unwrap_or_default();
                let at = At {
                    slot: *slot,
                    filter,
                    covered: *covered,
                    implied: &[],
                    rest,
                    last,
                    in_place,
                    placed: Placed::Table,
                };
                let flow = self.table(&mut reader, &at, cx, row, next);
                self.workspace.readers[*slot] = Some(reader);
                flow
            }
            Some((Step::Outer { steps, slots, before, filter }, rest)) => {
                let last = last && rest.is_empty();
                let mut outer = OuterNext { found: false, filter, rest, last, next };
                if all_true(before, cx, row)? && self.steps(steps, last, cx, row, &mut outer)? == Flow::Stop {
                    return Ok(Flow::Stop);
                }
                if outer.found {
                    return Ok(Flow::Go);
                }
                let mut tables: Tables<'_> = row.tables.iter().copied().collect();
                for &slot in slots {
                    tables[slot] = TableRow::Null;
                    if let Some(key) = self.workspace.keys.get_mut(slot) {
                        *key = None;
                    }
                }
                let row = Row { tables: &tables, ..*row };
                if all_true(filter, cx, &row)? {
                    self.steps(rest, last, cx, &row, next)
                } else {
                    Ok(Flow::Go)
                }
            }
        }
    }

    fn table(
        &mut self,
        reader: &mut Reader,
        at: &At<'_>,
        cx: &mut EvalCx<'_>,
        row: &Row<'_>,
        next: &mut dyn Consumer,
    ) -> SqlResult<Flow> {
        let read = &self.block.reads[at.slot];
        match &read.source {
            Source::Stored(_) if read.hash.is_some() => self.kept(read, reader, at, cx, row, next),
            Source::Stored(info) => match &read.path {
                Path::Point { index, key } if at.in_place => {
                    self.point(read, info, *index, key, reader, at, cx, row, next)
                }
                _ => self.scan(read, info, reader, at, cx, row, next),
            },
            Source::Derived(plan) if read.streamed => self.streamed(plan, at, cx, row, next),
            Source::Derived(_) | Source::Virtual(_) | Source::Recursive(_) | Source::Json(_) => {
                self.kept(read, reader, at, cx, row, next)
            }
        }
    }

    /// One row by a unique key, in place.
    #[allow(clippy::too_many_arguments)]
    fn point(
        &mut self,
        read: &Read,
        info: &Arc<TableInfo>,
        index: usize,
        key: &[KeyValue],
        reader: &mut Reader,
        at: &At<'_>,
        cx: &mut EvalCx<'_>,
        row: &Row<'_>,
        next: &mut dyn Consumer,
    ) -> SqlResult<Flow> {
        reader.key.clear();
        let mut ends: SmallVec<[usize; 4]> = SmallVec::new();
        match key_bytes(info, key, cx, row, &mut reader.key, &mut ends)? {
            KeyIs::Known => {}
            KeyIs::Nothing => return Ok(Flow::Go),
            KeyIs::Unknown => return self.scan(read, info, reader, at, cx, row, next),
        }
        let at = &at.bounded();
        cx.state.status.handler_read_key += 1;
        let lock = lock_of(read, cx);
        if reader.point.is_none() || reader.point_lock != lock {
            let options = options_of(read, index, lock);
            let mut point = error::of_engine(PointRead::new(info.table.clone(), options))?;
            if let Some(parts) = &read.parts {
                point.set_parts(parts.named.as_deref());
            }
            reader.point = Some(point);
            reader.point_lock = lock;
        }
        let Reader { point: Some(point), key: bytes, .. } = reader else { return Ok(Flow::Go) };
        let mut fields: SmallVec<[Field<'_>; 4]> = SmallVec::new();
        let mut start = 0;
        for &end in &ends {
            fields.push(Some(&bytes[start..end]));
            start = end;
        }
        let Some(session) = cx.engine.take() else { return Err(no_engine()) };
        let found = session.statement().get(point, &fields, |stored| {
            let stored = TableRow::Stored { row: stored, map: &read.map };
            with_row(row, at.slot, stored, |row| {
                debug_assert!(all_true(at.implied, cx, row)?, "bounds are not exact");
                if all_true(at.filter, cx, row)? { next.row(self, cx, row) } else { Ok(Flow::Go) }
            })
        });
        cx.engine = Some(session);
        match error::of_engine(found)? {
            None => Ok(Flow::Go),
            Some(flow) => {
                cx.state.examined += 1;
                match flow? {
                    Flow::Pause => {
                        next.pause(cx)?;
                        Ok(Flow::Go)
                    }
                    flow => Ok(flow),
                }
            }
        }
    }

    /// Rows by a cursor.
    #[allow(clippy::too_many_arguments)]
    fn scan(
        &mut self,
        read: &Read,
        info: &Arc<TableInfo>,
        reader: &mut Reader,
        at: &At<'_>,
        cx: &mut EvalCx<'_>,
        row: &Row<'_>,
        next: &mut dyn Consumer,
    ) -> SqlResult<Flow> {
        let index = read.path.index().unwrap_or(0);
        let (key, reverse, sarg) = match &read.path {
            Path::Point { key, .. } => (Some(key), false, None),
            Path::Ref { key, reverse, .. } => (Some(key), *reverse, None),
            Path::Range { sarg, reverse, .. } => (None, *reverse, Some(sarg)),
            Path::Full { reverse, .. } => (None, *reverse, None),
            Path::FullText { matching, then_others, .. } => {
                let search = (index, matching, *then_others);
                return self.found(read, info, search, reader, at, cx, row, next);
            }
            Path::Rows => (None, false, None),
        };
        if let Some(key) = key {
            reader.key.clear();
            let mut ends: SmallVec<[usize; 4]> = SmallVec::new();
            match key_bytes_nullable(info, key, cx, row, &mut reader.key, &mut ends)? {
                KeyIs::Known => {
                    let Reader { cursor, ready, key: bytes, .. } = &mut *reader;
                    let cursor = open_cursor(cursor, ready, read, info, index, self.to_change, cx)?;
                    choose_parts(cursor, read, info, true, cx, row)?;
                    let mut fields: SmallVec<[Field<'_>; 4]> = SmallVec::new();
                    let mut start = 0;
                    for &end in &ends {
                        if end == NULL_FIELD {
                            fields.push(None);
                        } else {
                            fields.push(Some(&bytes[start..end]));
                            start = end;
                        }
                    }
                    error::of_engine(cursor.seek(&fields, Seek::Equal))?;
                    drop(fields);
                    let only = matches!(read.path, Path::Point { .. });
                    let at = at.bounded().placed(Placed::Key { only });
                    return self.drain(read, reader, reverse, &at, cx, row, next);
                }
                KeyIs::Nothing => return Ok(Flow::Go),
                // Looked at row by row: the conditions are checked anyway.
                KeyIs::Unknown => {}
            }
        }
        let ranges = match sarg {
            Some(sarg) => ranges_of(info, &info.table.indexes[index], sarg, row, cx)?,
            None => None,
        };
        let cursor =
            open_cursor(&mut reader.cursor, &mut reader.ready, read, info, index, self.to_change, cx)?;
        let by_table = matches!(read.path, Path::Full { .. } | Path::Rows)
            && !reverse
            && !self.block.scans_by_index(info, index);
        choose_parts(cursor, read, info, ranges.is_some() || !by_table, cx, row)?;
        let Some(ranges) = ranges else {
            if reverse {
                cursor.seek_last();
            } else {
                cursor.seek_first();
            }
            let placed = match reverse {
                true => Placed::Last,
                false if self.block.scans_by_index(info, index) => Placed::First,
                false => Placed::Table,
            };
            return self.drain(read, reader, reverse, &at.placed(placed), cx, row, next);
        };
        let at = &at.bounded();
        let n = ranges.len();
        for i in 0..n {
            let range = if reverse { &ranges[n - 1 - i] } else { &ranges[i] };
            if let Some(cursor) = &mut reader.cursor {
                place(cursor, range, reverse)?;
            }
            let at = at.placed(Placed::by(range, reverse, info, index));
            if self.drain(read, reader, reverse, &at, cx, row, next)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Go)
    }

    /// All rows from the cursor's place on.
    #[allow(clippy::too_many_arguments)]
    fn drain(
        &mut self,
        read: &Read,
        reader: &mut Reader,
        reverse: bool,
        at: &At<'_>,
        cx: &mut EvalCx<'_>,
        row: &Row<'_>,
        next: &mut dyn Consumer,
    ) -> SqlResult<Flow> {
        let direction = if reverse { Direction::Backward } else { Direction::Forward };
        let Some(cursor) = &mut reader.cursor else { return Ok(Flow::Go) };
        // The inner table of a join may have a few rows only, again and again.
        cx.state.poll()?;
        let lock = lock_of(read, cx);
        if at.in_place && lock == ReadLock::None {
            return self.drain_in_place(read, cursor, direction, at, cx, row, next);
        }
        let Some(db) = cx.db else { return Err(no_engine()) };
        let core = db.engine().core();
        let mut polled = 0;
        loop {
            at.placed.count(&mut cx.state.status, direction, polled, 1);
            let Some(session) = &mut cx.engine else { return Err(no_engine()) };
            let mut statement = session.statement();
            let more = match direction {
                Direction::Forward => statement.next(cursor).map(|r| r.is_some()),
                Direction::Backward => statement.prev(cursor).map(|r| r.is_some()),
            };
            if !error::of_engine(more)? {
                return Ok(Flow::Go);
            }
            polled += 1;
            cx.state.examined += 1;
            if polled % 16 == 0 {
                cx.state.poll()?;
            }
            let mut matches = self.shows(read, cursor, core, at, cx, row)?;
            let semi = cursor.current(core).is_some_and(|r| r.was_semi_consistent());
            if matches && semi {
                let Some(session) = &mut cx.engine else { return Err(no_engine()) };
                let there = session.statement().lock_current(cursor).map(|r| r.is_some());
                matches = error::of_engine(there)? && self.shows(read, cursor, core, at, cx, row)?;
            }
            if !matches {
                if lock != ReadLock::None
                    && let Some(session) = &mut cx.engine
                {
                    error::of_engine(session.statement().unlock_row(cursor))?;
                }
                continue;
            }
            let Some(stored) = cursor.current(core) else { continue };
            if self.workspace.want_keys.get(at.slot).is_some_and(|w| *w) {
                let mut key = self.workspace.keys[at.slot].take().unwrap_or_default();
                error::of_engine(stored.row_key(&mut key))?;
                self.workspace.keys[at.slot] = Some(key);
            }
            let stored = TableRow::Stored { row: &stored, map: &read.map };
            let flow = with_row(row, at.slot, stored, |row| {
                debug_assert!(all_true(at.implied, cx, row)?, "bounds are not exact");
                self.steps(at.rest, at.last, cx, row, next)
            });
            if flow? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
    }

    /// Whether the cursor's row satisfies the conditions.
    fn shows(
        &self,
        read: &Read,
        cursor: &Cursor,
        core: &vaquita_engine::core::Core,
        at: &At<'_>,
        cx: &mut EvalCx<'_>,
        row: &Row<'_>,
    ) -> SqlResult<bool> {
        if at.filter.is_empty() {
            return Ok(true);
        }
        let Some(stored) = cursor.current(core) else { return Ok(false) };
        let stored = TableRow::Stored { row: &stored, map: &read.map };
        with_row(row, at.slot, stored, |row| all_true(at.filter, cx, row))
    }

    #[allow(clippy::too_many_arguments)]
    fn drain_in_place(
        &mut self,
        read: &Read,
        cursor: &mut Cursor,
        direction: Direction,
        at: &At<'_>,
        cx: &mut EvalCx<'_>,
        row: &Row<'_>,
        next: &mut dyn Consumer,
    ) -> SqlResult<Flow> {
        let mut fetched = 0;
        loop {
            let mut outcome = Ok(Flow::Go);
            let mut rows = 0;
            let Some(session) = cx.engine.take() else { return Err(no_engine()) };
            let mut each = |stored: &RowRef<'_>| {
                rows += 1;
                let stored = TableRow::Stored { row: stored, map: &read.map };
                outcome = with_row(row, at.slot, stored, |row| {
                    debug_assert!(all_true(at.implied, cx, row)?, "bounds are not exact");
                    if all_true(at.filter, cx, row)? { next.row(self, cx, row) } else { Ok(Flow::Go) }
                });
                match outcome {
                    Ok(Flow::Go) if rows < IN_PLACE_ROWS => ControlFlow::Continue(()),
                    _ => ControlFlow::Break(()),
                }
            };
            let broke = session.statement().for_each(cursor, direction, &mut each);
            cx.engine = Some(session);
            cx.state.examined += u64::from(rows);
            let broke = error::of_engine(broke)?;
            let more = u64::from(rows) + u64::from(!broke);
            at.placed.count(&mut cx.state.status, direction, fetched, more);
            fetched += more;
            match outcome? {
                Flow::Stop => return Ok(Flow::Stop),
                Flow::Pause => next.pause(cx)?,
                Flow::Go => {}
            }
            if !broke {
                return Ok(Flow::Go);
            }
            // After so many rows.
            cx.state.poll_now()?;
        }
    }

    /// Rows of a derived table, as they come.
    fn streamed(
        &mut self,
        plan: &QueryPlan,
        at: &At<'_>,
        cx: &mut EvalCx<'_>,
        row: &Row<'_>,
        next: &mut dyn Consumer,
    ) -> SqlResult<Flow> {
        let inner = Row { params: row.params, outer: row.outer, ..Row::default() };
        let mut stream = Stream { exec: self, at, row, next, stopped: false };
        run_query(plan, cx, &inner, false, &mut stream)?;
        Ok(if stream.stopped { Flow::Stop } else { Flow::Go })
    }

    /// Rows that are kept in memory, or will be from now on.
    #[allow(clippy::too_many_arguments)]
    fn kept(
        &mut self,
        read: &Read,
        reader: &mut Reader,
        at: &At<'_>,
        cx: &mut EvalCx<'_>,
        row: &Row<'_>,
        next: &mut dyn Consumer,
    ) -> SqlResult<Flow> {
        // LATERAL: of this row.
        let again = read.making.level == 0;
        let kept = match reader.kept.take().filter(|_| !again) {
            Some(kept) => kept,
            None => self.keep(read, reader, at, cx, row)?,
        };
        let keys = read.hash.as_deref().unwrap_or_default();
        let flow = self.among_kept(&kept, keys, at, cx, row, next);
        reader.kept = Some(kept);
        flow
    }

    fn among_kept(
        &mut self,
        kept: &Kept,
        keys: &[vaquita_plan::HashKey],
        at: &At<'_>,
        cx: &mut EvalCx<'_>,
        row: &Row<'_>,
        next: &mut dyn Consumer,
    ) -> SqlResult<Flow> {
        let (mut rows, wanted) = match kept.find(keys, cx, row)? {
            Found::All => {
                return self.meet(kept.rows(), at, cx, row, next);
            }
            Found::Some(list) => {
                return self.meet(list.iter().map(|&at| kept.row(at)), at, cx, row, next);
            }
            Found::File(rows, wanted) => (rows, wanted),
        };
        let mut values = Vec::new();
        while rows.advance()? {
            cx.state.poll()?;
            if let Some(wanted) = &wanted {
                match rows.key().cmp(wanted) {
                    Ordering::Less => continue,
                    Ordering::Equal => {}
                    Ordering::Greater => break,
                }
            }
            let mut present = recycled(std::mem::take(&mut values));
            present.extend(Values::new(rows.body()));
            let flow = self.meet(std::iter::once(&present[..]), at, cx, row, next)?;
            values = recycled(present);
            if flow == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Go)
    }

    /// Joins a row of the tables before with those of a table.
    fn meet<'v>(
        &mut self,
        rows: impl Iterator<Item = &'v [Value<'v>]>,
        at: &At<'_>,
        cx: &mut EvalCx<'_>,
        row: &Row<'_>,
        next: &mut dyn Consumer,
    ) -> SqlResult<Flow> {
        let mut tables: Tables<'_> = row.tables.iter().copied().collect();
        for (i, values) in rows.enumerate() {
            tables[at.slot] = TableRow::Values(values);
            let row = Row { tables: &tables, ..*row };
            if i % 64 == 0 {
                cx.state.poll()?;
            }
            if all_true(at.filter, cx, &row)? && self.steps(at.rest, at.last, cx, &row, next)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Go)
    }

    /// Reads a table into memory.
    fn keep(
        &mut self,
        read: &Read,
        reader: &mut Reader,
        at: &At<'_>,
        cx: &mut EvalCx<'_>,
        row: &Row<'_>,
    ) -> SqlResult<Kept> {
        let mut kept = match &read.source {
            Source::Stored(info) => {
                // Conditions on this table alone keep rows out; the others are checked when rows meet.
                let mine = vaquita_expr::TableSet::of(at.slot as u16);
                let filter: Vec<Expr> =
                    at.filter.iter().filter(|e| e.tables().is_subset(mine)).cloned().collect();
                let alone = At {
                    filter: &filter,
                    covered: 0,
                    implied: &[],
                    rest: &[],
                    last: false,
                    in_place: false,
                    ..*at
                };
                let rows = Rows::new(cx.state.vars.join_memory(), cx.state.vars.tmp_folders.clone())
                    .for_keys(read.hash.as_deref());
                let mut collect = CollectRows { slot: at.slot, read, rows };
                self.scan(read, info, reader, &alone, cx, row, &mut collect)?;
                collect.rows.complete(cx)?;
                Kept::new(Arc::new(collect.rows))
            }
            _ => Kept::of_source(read, at.slot, at.filter, cx, row)?,
        };
        if let Some(keys) = &read.hash {
            kept.hash(keys, at.slot, cx, row)?;
        }
        Ok(kept)
    }
}

/// A table of a join and what follows it.
#[derive(Debug, Clone, Copy)]
struct At<'a> {
    slot: usize,
    filter: &'a [Expr],
    /// So many of them, the last ones, hold for all rows if the bounds are exact.
    covered: usize,
    /// Those, where they are.
    implied: &'a [Expr],
    rest: &'a [Step],
    last: bool,
    in_place: bool,
    placed: Placed,
}

impl<'a> At<'a> {
    /// The same with a cursor that was placed so.
    fn placed(self, placed: Placed) -> At<'a> {
        At { placed, ..self }
    }

    /// The same where the bounds are exact.
    fn bounded(self) -> At<'a> {
        let (filter, implied) = self.filter.split_at(self.filter.len() - self.covered);
        At { filter, covered: 0, implied, ..self }
    }
}

/// What follows the inner side of an outer join.
struct OuterNext<'a> {
    found: bool,
    filter: &'a [Expr],
    rest: &'a [Step],
    last: bool,
    next: &'a mut dyn Consumer,
}

impl Consumer for OuterNext<'_> {
    fn row(&mut self, exec: &mut Exec<'_>, cx: &mut EvalCx<'_>, row: &Row<'_>) -> SqlResult<Flow> {
        self.found = true;
        if !all_true(self.filter, cx, row)? {
            return Ok(Flow::Go);
        }
        if self.rest.is_empty() {
            return self.next.row(exec, cx, row);
        }
        exec.steps(self.rest, self.last, cx, row, self.next)
    }

    fn pause(&mut self, cx: &mut EvalCx<'_>) -> SqlResult<()> {
        self.next.pause(cx)
    }
}

/// Joins the rows of a derived table as they come.
struct Stream<'s, 'p> {
    exec: &'s mut Exec<'p>,
    at: &'s At<'s>,
    row: &'s Row<'s>,
    next: &'s mut dyn Consumer,
    stopped: bool,
}

impl Output for Stream<'_, '_> {
    fn row(&mut self, cx: &mut EvalCx<'_>, values: &[Value<'_>]) -> SqlResult<Flow> {
        if self.stopped {
            return Ok(Flow::Stop);
        }
        let Stream { exec, at, row, next, .. } = self;
        let flow = with_row(row, at.slot, TableRow::Values(values), |row| {
            if !all_true(at.filter, cx, row)? {
                return Ok(Flow::Go);
            }
            // A pause is made by whoever holds the latch.
            match at.rest {
                [] => next.row(exec, cx, row),
                rest => exec.steps(rest, at.last, cx, row, *next),
            }
        })?;
        self.stopped = flow == Flow::Stop;
        Ok(flow)
    }

    fn pause(&mut self, cx: &mut EvalCx<'_>) -> SqlResult<()> {
        self.next.pause(cx)
    }

    fn in_place(&self) -> bool {
        self.at.in_place
    }
}

/// Copies rows of one table.
struct CollectRows<'c> {
    slot: usize,
    read: &'c Read,
    rows: Rows,
}

impl Consumer for CollectRows<'_> {
    fn row(&mut self, _: &mut Exec<'_>, cx: &mut EvalCx<'_>, row: &Row<'_>) -> SqlResult<Flow> {
        let mut values = vec![Value::Null; self.read.width];
        for &column in &self.read.columns {
            values[column] = super::column(row, self.slot, column, cx)?;
        }
        Ok(self.rows.push(values.into_iter()))
    }

    fn pause(&mut self, _: &mut EvalCx<'_>) -> SqlResult<()> {
        self.rows.relieve()
    }
}

/// Calls `f` with the row in which one table has this row.
#[inline]
fn with_row<R>(row: &Row<'_>, slot: usize, table: TableRow<'_>, f: impl FnOnce(&Row<'_>) -> R) -> R {
    if let [_] = row.tables {
        return f(&Row { tables: &[table], ..*row });
    }
    let mut tables: Tables<'_> = SmallVec::from_slice(row.tables);
    tables[slot] = table;
    f(&Row { tables: &tables, ..*row })
}

fn no_engine() -> SqlError {
    SqlError::new(1105, "A table cannot be read here")
}

fn options_of(read: &Read, index: usize, lock: ReadLock) -> ReadOptions {
    ReadOptions::by_index(index).locking(lock).wait(read.wait).columns(read.columns.clone())
}

/// Says which parts of a partitioned table a cursor reads, and whether in the order of its index.
fn choose_parts(
    cursor: &mut Cursor,
    read: &Read,
    info: &TableInfo,
    ordered: bool,
    cx: &mut EvalCx<'_>,
    row: &Row<'_>,
) -> SqlResult<()> {
    if let Some(parts) = &read.parts {
        let wanted = parts.wanted(info, row, cx)?;
        cursor.set_parts(wanted.as_deref());
        cursor.set_ordered(ordered);
    }
    Ok(())
}

/// The locks that reading takes in the present transaction.
#[inline]
fn lock_of(read: &Read, cx: &EvalCx<'_>) -> ReadLock {
    let isolation = || cx.engine.as_ref().map(|session| session.isolation());
    match (read.lock, read.source_lock) {
        (ReadLock::None, SourceLock::Always) => ReadLock::Shared,
        (ReadLock::None, SourceLock::AboveReadCommitted) if isolation() > Some(Isolation::ReadCommitted) => {
            ReadLock::Shared
        }
        (lock, _) => lock,
    }
}

/// The reader's cursor, taken up for this execution.
fn open_cursor<'c>(
    cursor: &'c mut Option<Cursor>,
    ready: &mut bool,
    read: &Read,
    info: &TableInfo,
    index: usize,
    to_change: ToChange,
    cx: &mut EvalCx<'_>,
) -> SqlResult<&'c mut Cursor> {
    let lock = lock_of(read, cx);
    let Some(session) = &mut cx.engine else { return Err(no_engine()) };
    let mut statement = session.statement();
    if !*ready {
        match cursor {
            Some(cursor) => error::of_engine(statement.reuse_cursor(cursor, lock))?,
            None => {
                *cursor =
                    Some(error::of_engine(statement.cursor(&info.table, &options_of(read, index, lock)))?)
            }
        }
        *ready = true;
    }
    let Some(cursor) = cursor else { return Err(no_engine()) };
    cursor.set_semi_consistent(to_change.semi_consistent);
    // An index that has all columns has no conditions pushed down to it either.
    cursor.set_row_at_end(to_change.row_at_end || read.covering);
    Ok(cursor)
}

/// Places a cursor at the beginning of a range.
fn place(cursor: &mut Cursor, range: &KeyRange, reverse: bool) -> SqlResult<()> {
    let fields =
        |key: &'_ [Option<Vec<u8>>]| -> SmallVec<[Option<Vec<u8>>; 4]> { key.iter().cloned().collect() };
    let (lower, upper) = (fields(&range.lower), fields(&range.upper));
    let lower: SmallVec<[Field<'_>; 4]> = lower.iter().map(Option::as_deref).collect();
    let upper: SmallVec<[Field<'_>; 4]> = upper.iter().map(Option::as_deref).collect();
    if range.is_point() {
        return error::of_engine(cursor.seek(&lower, Seek::Equal));
    }
    let done = if reverse {
        let seek = if range.upper_inclusive { Seek::LessOrEqual } else { Seek::Less };
        match upper.is_empty() {
            true => {
                cursor.seek_last();
                Ok(())
            }
            false => cursor.seek(&upper, seek),
        }
        .and_then(|()| match lower.is_empty() {
            true => Ok(()),
            false => cursor.set_lower(&lower, range.lower_inclusive),
        })
    } else {
        let seek = if range.lower_inclusive { Seek::GreaterOrEqual } else { Seek::Greater };
        match lower.is_empty() {
            true => {
                cursor.seek_first();
                Ok(())
            }
            false => cursor.seek(&lower, seek),
        }
        .and_then(|()| match upper.is_empty() {
            true => Ok(()),
            false => cursor.set_upper(&upper, range.upper_inclusive),
        })
    };
    error::of_engine(done)
}

/// What is known of a key.
enum KeyIs {
    /// Its stored form.
    Known,
    /// No row can have it.
    Nothing,
    /// It has no stored form.
    Unknown,
}

/// Stands for the end of a field that is NULL.
const NULL_FIELD: usize = usize::MAX;

/// The stored form of a key without NULLs: fields one behind the other, and their ends.
fn key_bytes(
    info: &TableInfo,
    key: &[KeyValue],
    cx: &mut EvalCx<'_>,
    row: &Row<'_>,
    out: &mut Vec<u8>,
    ends: &mut SmallVec<[usize; 4]>,
) -> SqlResult<KeyIs> {
    for part in key {
        let KeyTest::Value { expr, how, .. } = &part.value else { return Ok(KeyIs::Unknown) };
        let value = expr.eval(cx, row)?;
        match bound(&info.columns[part.column], &value, expr.ty(), *how, cx, out) {
            Bounded::Exact => ends.push(out.len()),
            Bounded::Unknown => return Ok(KeyIs::Unknown),
            Bounded::Null | Bounded::Above | Bounded::Below | Bounded::Absent => {
                return Ok(KeyIs::Nothing);
            }
        }
    }
    Ok(KeyIs::Known)
}

/// The same for keys with NULLs and prefixes of columns.
fn key_bytes_nullable(
    info: &TableInfo,
    key: &[KeyValue],
    cx: &mut EvalCx<'_>,
    row: &Row<'_>,
    out: &mut Vec<u8>,
    ends: &mut SmallVec<[usize; 4]>,
) -> SqlResult<KeyIs> {
    for part in key {
        let KeyTest::Value { expr, how, null_safe } = &part.value else {
            ends.push(NULL_FIELD);
            continue;
        };
        let value = expr.eval(cx, row)?;
        let start = out.len();
        match bound(&info.columns[part.column], &value, expr.ty(), *how, cx, out) {
            Bounded::Exact => {
                if part.prefix_len > 0 {
                    let column = &info.table.columns[part.column];
                    let kept = vaquita_engine::row::entry::cut(column, part.prefix_len, &out[start..]).len();
                    out.truncate(start + kept);
                }
                ends.push(out.len());
            }
            Bounded::Null if *null_safe => ends.push(NULL_FIELD),
            Bounded::Unknown => return Ok(KeyIs::Unknown),
            Bounded::Null | Bounded::Above | Bounded::Below | Bounded::Absent => {
                return Ok(KeyIs::Nothing);
            }
        }
    }
    Ok(KeyIs::Known)
}
