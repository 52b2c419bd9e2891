//! Tables kept in memory during one run of a block: derived and virtual ones, and the inner sides of hash joins.

use super::values::push_key;
use super::{Flow, Output, run_query};
use crate::expr::{EvalCx, Expr, Node, Row, TableRow};
use crate::plan::names::{Source, column_of_slot};
use crate::plan::{HashKey, Read, Wanted};
use std::collections::HashMap;
use vaquita_types::{SqlResult, Value};

/// Rows of a table, and where those of a key are.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    pub(crate) rows: Vec<Box<[Value<'static>]>>,
    /// Rows by key, of a hash join with keys.
    by_key: Option<HashMap<Box<[u8]>, Vec<u32>, foldhash::fast::RandomState>>,
}

/// All rows of a derived table.
struct Collect<'k> {
    rows: &'k mut Vec<Box<[Value<'static>]>>,
}

impl Output for Collect<'_> {
    fn row(&mut self, _: &mut EvalCx<'_>, values: &[Value<'_>]) -> SqlResult<Flow> {
        self.rows.push(values.iter().map(|v| v.borrowed().into_owned()).collect());
        Ok(Flow::Go)
    }

    fn in_place(&self) -> bool {
        true
    }
}

impl Kept {
    /// These rows.
    pub(super) fn of_rows(rows: Vec<Box<[Value<'static>]>>) -> Kept {
        Kept { rows, by_key: None }
    }

    /// The rows of a derived or virtual table.
    pub(super) fn of_source(
        read: &Read,
        slot: usize,
        filter: &[Expr],
        cx: &mut EvalCx<'_>,
        row: &Row<'_>,
    ) -> SqlResult<Kept> {
        let mut rows = Vec::new();
        match &read.source {
            Source::Derived(plan) => {
                let constant = Row { params: row.params, ..Row::default() };
                run_query(plan, cx, &constant, false, &mut Collect { rows: &mut rows })?;
            }
            Source::Virtual(table) => {
                let wanted = wanted(slot, filter, cx, row)?;
                rows.extend(table.rows(cx, &wanted)?.into_iter().map(Vec::into_boxed_slice));
            }
            Source::Stored(_) => {}
        }
        Ok(Kept { rows, by_key: None })
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
        let mut by_key: HashMap<Box<[u8]>, Vec<u32>, _> =
            HashMap::with_hasher(foldhash::fast::RandomState::default());
        let mut bytes = Vec::new();
        let mut tables = vec![TableRow::None; slot + 1];
        for (i, values) in self.rows.iter().enumerate() {
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

    /// The rows that may meet a row of the tables before, by position.
    pub(super) fn find(
        &self,
        keys: &[HashKey],
        cx: &mut EvalCx<'_>,
        row: &Row<'_>,
    ) -> SqlResult<Option<&[u32]>> {
        let Some(by_key) = &self.by_key else { return Ok(None) };
        let mut bytes = Vec::new();
        if !key_of(keys, |k| &k.outer, cx, row, &mut bytes)? {
            return Ok(Some(&[]));
        }
        Ok(Some(by_key.get(&bytes[..]).map_or(&[], Vec::as_slice)))
    }
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
        let Node::Compare { op: crate::expr::node::CmpOp::Eq, sides, .. } = condition.node() else {
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
