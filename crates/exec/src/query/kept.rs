//! Tables kept during one run of a block: derived and virtual ones, and the inner sides of hash joins. In memory up to a
//! limit; beyond it the rows are in a temporary file, in the order in which they came or, where they are looked for by key, in
//! the order of the keys with one key of each block in memory.

use super::{Flow, Output, run_query};
use std::collections::HashMap;
use std::sync::Arc;
use vaquita_expr::{EvalCx, Expr, Node, Row, TableRow};
use vaquita_plan::Source;
use vaquita_plan::columns::column_of_slot;
use vaquita_plan::{HashKey, Read, Wanted};
use vaquita_session::temp::TmpFolders;
use vaquita_session::temp::sort::Sorter;
use vaquita_session::temp::spill::{FileRows, RowFile};
use vaquita_session::temp::values::{Values, memory_of, push_key, push_value};
use vaquita_types::{SqlError, SqlResult, Value};

/// Bytes of a row's place in the table of keys.
const PLACE: usize = 64;

/// Rows of a table.
#[derive(Debug)]
pub(crate) struct Rows {
    list: List,
    /// Bytes that they take, and may take.
    memory: usize,
    limit: usize,
    /// Bytes beside the values of a row.
    place: usize,
    folders: Arc<TmpFolders>,
    /// All rows, if they are not in memory.
    file: Option<RowFile>,
    scratch: Vec<u8>,
}

/// Rows of a table, and where those of a key are.
#[derive(Debug)]
pub(crate) struct Kept {
    rows: Arc<Rows>,
    /// Rows by key, of a hash join with keys.
    by_key: Option<HashMap<Box<[u8]>, Vec<u32>, foldhash::fast::RandomState>>,
    /// The same where they are not in memory.
    keyed: Option<RowFile>,
}

/// Rows that may meet a row of the tables before.
pub(super) enum Found<'k> {
    /// All that are in memory.
    All,
    /// Those at these positions.
    Some(&'k [u32]),
    /// Those of a file; with a key: that begin with it.
    File(FileRows<'k>, Option<Vec<u8>>),
}

/// Rows in blocks: no memory of its own for a row, and none is moved when more come.
#[derive(Debug, Default)]
pub(super) struct List {
    /// Values of so many rows each, one row after the other; the last one may have fewer.
    blocks: Vec<Vec<Value<'static>>>,
    /// Columns of a row.
    width: usize,
    rows: usize,
}

/// Rows of a block of a [`List`].
const ROWS_OF_BLOCK: usize = 512;

impl List {
    /// Takes a row; the bytes that it needs.
    fn push<'v>(&mut self, values: impl Iterator<Item = Value<'v>>) -> usize {
        if self.rows.is_multiple_of(ROWS_OF_BLOCK) && self.blocks.len() <= self.rows / ROWS_OF_BLOCK {
            // The first one grows with its rows: most lists are short.
            let room = if self.rows == 0 { 0 } else { self.width * ROWS_OF_BLOCK };
            self.blocks.push(Vec::with_capacity(room));
        }
        let block = &mut self.blocks[self.rows / ROWS_OF_BLOCK];
        let before = block.len();
        block.extend(values.map(Value::into_owned));
        debug_assert!(self.rows == 0 || block.len() - before == self.width);
        (self.width, self.rows) = (block.len() - before, self.rows + 1);
        block[before..].iter().map(memory_of).sum()
    }

    fn row(&self, at: usize) -> &[Value<'static>] {
        &self.blocks[at / ROWS_OF_BLOCK][at % ROWS_OF_BLOCK * self.width..][..self.width]
    }

    fn iter<'l>(&'l self) -> impl Iterator<Item = &'l [Value<'l>]> {
        (0..self.rows).map(|at| self.row(at))
    }

    /// No rows; the memory of the first block stays.
    fn clear(&mut self) {
        self.blocks.truncate(1);
        self.blocks.iter_mut().for_each(Vec::clear);
        self.rows = 0;
    }
}

/// All rows of a derived table.
struct Collect<'k>(&'k mut Rows);

impl Output for Collect<'_> {
    fn row(&mut self, _: &mut EvalCx<'_>, values: &[Value<'_>]) -> SqlResult<Flow> {
        Ok(self.0.push(values.iter().map(Value::borrowed)))
    }

    fn pause(&mut self, _: &mut EvalCx<'_>) -> SqlResult<()> {
        self.0.relieve()
    }

    fn in_place(&self) -> bool {
        true
    }
}

impl Rows {
    /// None, with so many bytes of memory, and files in these folders.
    pub(super) fn new(limit: usize, folders: Arc<TmpFolders>) -> Rows {
        Rows { list: List::default(), memory: 0, place: 0, limit, folders, file: None, scratch: Vec::new() }
    }

    /// The same for rows that are looked for by key later.
    pub(super) fn for_keys(self, keys: Option<&[HashKey]>) -> Rows {
        Rows { place: if keys.is_some_and(|keys| !keys.is_empty()) { PLACE } else { 0 }, ..self }
    }

    /// The same without rows: the memory of the list is used again.
    pub(super) fn emptied(mut self) -> Rows {
        self.list.clear();
        (self.memory, self.file) = (0, None);
        self
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.list.rows == 0 && self.file.is_none()
    }

    /// Takes a row. [`Flow::Pause`]: [`Rows::relieve`] is to be called without latches.
    pub(super) fn push<'v>(&mut self, values: impl Iterator<Item = Value<'v>>) -> Flow {
        if let Some(file) = &mut self.file {
            self.scratch.clear();
            values.for_each(|value| push_value(&value, &mut self.scratch));
            file.push(&[], &self.scratch);
            return if file.is_full() { Flow::Pause } else { Flow::Go };
        }
        self.memory += self.place + self.list.push(values);
        if self.memory > self.limit { Flow::Pause } else { Flow::Go }
    }

    /// Writes rows to a file if there are too many. No page may be latched.
    pub(super) fn relieve(&mut self) -> SqlResult<()> {
        if self.memory > self.limit && self.file.is_none() {
            let file = self.file.insert(RowFile::new(&self.folders)?);
            for row in std::mem::take(&mut self.list).iter() {
                self.scratch.clear();
                row.iter().for_each(|value| push_value(value, &mut self.scratch));
                file.push(&[], &self.scratch);
                if file.is_full() {
                    file.relieve()?;
                }
            }
        }
        self.file.as_mut().map_or(Ok(()), RowFile::relieve)
    }

    /// All rows have come.
    pub(super) fn complete(&mut self, cx: &mut EvalCx<'_>) -> SqlResult<()> {
        self.relieve()?;
        cx.state.note_spill(self.file.is_some(), self.memory);
        Ok(())
    }

    /// The rows of a table that is not the engine's.
    fn of_source(
        read: &Read,
        slot: usize,
        filter: &[Expr],
        cx: &mut EvalCx<'_>,
        row: &Row<'_>,
    ) -> SqlResult<Arc<Rows>> {
        let mut rows = Rows::new(cx.state.vars.tmp_memory(), cx.state.vars.tmp_folders.clone())
            .for_keys(read.hash.as_deref());
        match &read.source {
            Source::Derived(plan) => {
                let place = Arc::as_ptr(plan).addr();
                let once = read.making.once && cx.state.subqueries.are_kept();
                if let Some(made) = cx.state.subqueries.get::<Rows>(place).filter(|_| once) {
                    return Ok(made);
                }
                let mut outer = Some(row);
                for _ in 0..read.making.level {
                    outer = outer.and_then(|row| row.outer);
                }
                let inner = Row { params: row.params, outer, ..Row::default() };
                run_query(plan, cx, &inner, false, &mut Collect(&mut rows))?;
                rows.complete(cx)?;
                let rows = Arc::new(rows);
                if once {
                    cx.state.subqueries.put(place, rows.clone());
                }
                return Ok(rows);
            }
            Source::Recursive(last) => {
                let rows = cx.state.subqueries.get::<Rows>(Arc::as_ptr(last).addr());
                return rows
                    .ok_or_else(|| SqlError::new(1105, "A recursive table is read outside of itself"));
            }
            Source::Json(table) => super::json_table::fill(table, cx, row, &mut rows)?,
            Source::Virtual(table) => {
                let wanted = wanted(slot, filter, cx, row)?;
                for row in table.rows(cx, &wanted)? {
                    if rows.push(row.into_iter()) == Flow::Pause {
                        rows.relieve()?;
                    }
                }
            }
            Source::Stored(_) => {}
        }
        rows.complete(cx)?;
        Ok(Arc::new(rows))
    }
}

impl Kept {
    /// Those rows.
    pub(super) fn new(rows: Arc<Rows>) -> Kept {
        Kept { rows, by_key: None, keyed: None }
    }

    /// The rows of a table that is not the engine's.
    pub(super) fn of_source(
        read: &Read,
        slot: usize,
        filter: &[Expr],
        cx: &mut EvalCx<'_>,
        row: &Row<'_>,
    ) -> SqlResult<Kept> {
        Rows::of_source(read, slot, filter, cx, row).map(Kept::new)
    }

    /// Those that are in memory.
    pub(super) fn rows<'k>(&'k self) -> impl Iterator<Item = &'k [Value<'k>]> {
        self.rows.list.iter()
    }

    /// The one at this position of them.
    pub(super) fn row(&self, at: u32) -> &[Value<'_>] {
        self.rows.list.row(at as usize)
    }

    /// Sorts the rows by keys.
    pub(super) fn hash(
        &mut self,
        keys: &[HashKey],
        slot: usize,
        cx: &mut EvalCx<'_>,
        row: &Row<'_>,
    ) -> SqlResult<()> {
        if keys.is_empty() {
            return Ok(());
        }
        if let Some(file) = &self.rows.file {
            self.keyed = Some(by_key(file, keys, slot, cx, row)?);
            // There are keys; what is in memory of them, the file knows.
            self.by_key = Some(HashMap::default());
            return Ok(());
        }
        let mut by_key: HashMap<Box<[u8]>, Vec<u32>, _> =
            HashMap::with_hasher(foldhash::fast::RandomState::default());
        let mut bytes = Vec::new();
        let mut tables = vec![TableRow::None; slot + 1];
        for (i, values) in self.rows.list.iter().enumerate() {
            tables[slot] = TableRow::Values(values);
            let row = Row { tables: &tables, ..*row };
            if key_of(keys, |k| &k.inner, cx, &row, &mut bytes)? {
                match by_key.get_mut(&bytes[..]) {
                    Some(list) => list.push(i as u32),
                    None => {
                        by_key.insert(bytes.as_slice().into(), vec![i as u32]);
                    }
                }
            }
        }
        self.by_key = Some(by_key);
        Ok(())
    }

    /// The rows that may meet a row of the tables before.
    pub(super) fn find(&self, keys: &[HashKey], cx: &mut EvalCx<'_>, row: &Row<'_>) -> SqlResult<Found<'_>> {
        let Some(by_key) = &self.by_key else {
            return Ok(match &self.rows.file {
                Some(file) => Found::File(file.rows(), None),
                None => Found::All,
            });
        };
        let mut bytes = Vec::new();
        if !key_of(keys, |k| &k.outer, cx, row, &mut bytes)? {
            return Ok(Found::Some(&[]));
        }
        Ok(match &self.keyed {
            Some(file) => Found::File(file.starting_at(&bytes), Some(bytes)),
            None => Found::Some(by_key.get(&bytes[..]).map_or(&[], Vec::as_slice)),
        })
    }
}

/// Rows of a file in the order of their keys, those of one key in the order in which they came. Rows that can meet nothing are
/// left out.
fn by_key(
    file: &RowFile,
    keys: &[HashKey],
    slot: usize,
    cx: &mut EvalCx<'_>,
    row: &Row<'_>,
) -> SqlResult<RowFile> {
    let mut sorter = Sorter::new(cx.state.vars.sort_room(), None);
    let mut rows = file.rows();
    let mut bytes = Vec::new();
    while rows.advance()? {
        cx.state.poll()?;
        let values: Vec<Value<'_>> = Values::new(rows.body()).collect();
        let mut tables = vec![TableRow::None; slot + 1];
        tables[slot] = TableRow::Values(&values);
        if key_of(keys, |k| &k.inner, cx, &Row { tables: &tables, ..*row }, &mut bytes)? {
            sorter.push_and_spill(&bytes, rows.body())?;
        }
    }
    let mut sorted = RowFile::new(&cx.state.vars.tmp_folders)?;
    sorter.finish(|key, body| {
        sorted.push(key, body);
        if sorted.is_full() {
            sorted.relieve()?;
        }
        Ok(true)
    })?;
    sorted.relieve()?;
    Ok(sorted)
}

/// The key of a row; whether it can be equal to any.
fn key_of<'k>(
    keys: &'k [HashKey],
    side: impl Fn(&'k HashKey) -> &'k Expr,
    cx: &mut EvalCx<'_>,
    row: &Row<'_>,
    out: &mut Vec<u8>,
) -> SqlResult<bool> {
    out.clear();
    for key in keys {
        let value = side(key).eval(cx, row)?;
        if value.is_null() && !key.null_safe {
            return Ok(false);
        }
        push_key(key.how, &value, false, out);
    }
    Ok(true)
}

/// What conditions ask of a virtual table.
fn wanted(slot: usize, filter: &[Expr], cx: &mut EvalCx<'_>, row: &Row<'_>) -> SqlResult<Wanted> {
    let mut wanted = Wanted::default();
    for condition in filter {
        condition.walk(&mut |e| {
            if let Some(column) = column_of_slot(e, slot)
                && !wanted.columns.contains(&column)
            {
                wanted.columns.push(column);
            }
        });
        let Node::Compare { op: vaquita_expr::node::CmpOp::Eq, sides, .. } = condition.node() else {
            continue;
        };
        for (a, b) in [(&sides[0], &sides[1]), (&sides[1], &sides[0])] {
            if let Some(column) = column_of_slot(a, slot)
                && b.tables().is_empty()
                && !b.info().has_subquery
            {
                wanted.equal.push((column, b.eval(cx, row)?.into_owned()));
                break;
            }
        }
    }
    Ok(wanted)
}
