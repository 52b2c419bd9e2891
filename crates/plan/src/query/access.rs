//! Access paths of one table and what they cost.
//!
//! The unit of cost is a row of the clustered index read in a scan. How many rows a range has comes from dives into the
//! index with the values of the first execution; without values it is guessed.

use super::names::{BlockScope, Slot};
use crate::bound::follows_index;
use crate::columns::column_of;
use crate::partition::ReadParts;
use crate::planner::Planner;
use crate::ranges::{KeyRange, ranges_of};
use crate::sarg::{Leaf, Sarg, Test, is_known};
use crate::tree::Source;
use crate::tree::{HashKey, KeyTest, KeyValue, Path};
use std::cell::RefCell;
use std::collections::HashMap;
use vaquita_catalog::TableInfo;
use vaquita_engine::{Field, Index};
use vaquita_expr::node::CmpOp;
use vaquita_expr::{CompileCx, Expr, Node, Row, TableSet};

/// Cost of a row fetched by way of a secondary index.
const LOOKUP: f64 = 8.0;
/// Cost of a row of a secondary index alone.
const ENTRY: f64 = 0.7;
/// Cost of a descent.
const DESCENT: f64 = 6.0;
/// Ranges that are estimated by dives; the rest is taken for as large.
const DIVES_MAX: usize = 16;
/// Share of the rows of a table that a range is taken for if nothing is known of it.
const UNKNOWN_RANGE: f64 = 0.05;
/// Rows that a table is taken for at least: plans are kept, and tables grow.
const ROWS_MIN: f64 = 500.0;

/// What is known of the ranges of an index.
enum Known {
    /// Nothing yet: values are missing.
    Unknown,
    /// They are all of it.
    All,
    /// These.
    Ranges(Vec<KeyRange>),
}

/// A way to read a table.
#[derive(Debug, Clone)]
pub(crate) struct Access {
    pub(crate) path: Path,
    /// Rows looked at for each row of the tables before.
    pub(crate) rows: f64,
    /// Those that satisfy the conditions.
    pub(crate) fanout: f64,
    pub(crate) cost: f64,
    pub(crate) covering: bool,
    pub(crate) possible: Vec<usize>,
    /// Reading once into memory pays.
    pub(crate) hash: bool,
}

/// Rows that JSON_TABLE is taken for, as in MySQL.
const JSON_ROWS: f64 = 2.0;

/// A table, and those of its parts that are read, if not all.
type PartsRead = (usize, Option<Vec<usize>>);

/// Estimates for the tables of a block.
pub(crate) struct Estimator<'e, 's, 'p> {
    pub(crate) planner: &'e Planner<'p>,
    pub(crate) scope: &'e BlockScope<'s, 'p>,
    rows: RefCell<HashMap<PartsRead, f64>>,
    per_key: RefCell<HashMap<(usize, usize, usize), f64>>,
}

impl<'e, 's, 'p> Estimator<'e, 's, 'p> {
    pub(crate) fn new(planner: &'e Planner<'p>, scope: &'e BlockScope<'s, 'p>) -> Self {
        Self { planner, scope, rows: RefCell::default(), per_key: RefCell::default() }
    }

    /// Rows that a table is taken for.
    pub(crate) fn rows(&self, slot: usize) -> f64 {
        self.rows_of(slot, None)
    }

    /// The same of some of its parts.
    fn rows_of(&self, slot: usize, parts: Option<&[usize]>) -> f64 {
        let rows = self.rows_now(slot, parts);
        match &self.scope.slots[slot].source {
            Source::Stored(_) => rows.max(ROWS_MIN),
            Source::Derived(_) | Source::Virtual(_) | Source::Recursive(_) | Source::Json(_) => rows,
        }
    }

    /// Rows that a table, or some of its parts, has now, estimated.
    pub(crate) fn rows_now(&self, slot: usize, parts: Option<&[usize]>) -> f64 {
        let key = (slot, parts.map(<[usize]>::to_vec));
        if let Some(&rows) = self.rows.borrow().get(&key) {
            return rows;
        }
        let rows = match &self.scope.slots[slot].source {
            Source::Stored(info) => {
                let mut session = self.planner.session.borrow_mut();
                // An estimate that fails is none: whoever reads the table will see the error.
                session.statement().estimate_rows(&info.table, parts).map_or(1_000.0, |n| n as f64)
            }
            Source::Derived(_) | Source::Virtual(_) | Source::Recursive(_) => 100.0,
            Source::Json(_) => JSON_ROWS,
        };
        self.rows.borrow_mut().insert(key, rows);
        rows
    }

    /// The parts of a table that are read when the tables `known` have been; `None`: it has none.
    pub(crate) fn parts_of(&self, slot: usize, known: TableSet, conditions: &[&Expr]) -> Option<ReadParts> {
        let table = &self.scope.slots[slot];
        let Source::Stored(info) = &table.source else { return None };
        ReadParts::of(slot, table.parts.clone(), Some(info), known, conditions)
    }

    /// The same as far as the values of the first execution tell; `None`: all.
    pub(crate) fn parts_now(
        &self,
        slot: usize,
        parts: Option<&ReadParts>,
        cx: &mut CompileCx<'_>,
    ) -> Option<Vec<usize>> {
        let Source::Stored(info) = &self.scope.slots[slot].source else { return None };
        let read = parts?.by(|value| self.can_evaluate(value));
        let row = Row::constant(self.planner.params);
        without_warnings(cx, |cx| read.wanted(info, &row, &mut cx.session)).ok().flatten()
    }

    /// Rows that share the first `n` fields of an index.
    fn per_key(&self, slot: usize, info: &TableInfo, index: usize, n: usize) -> f64 {
        if let Some(&rows) = self.per_key.borrow().get(&(slot, index, n)) {
            return rows;
        }
        let rows = {
            let mut session = self.planner.session.borrow_mut();
            session.statement().estimate_per_key(&info.table, index, n).unwrap_or(10.0)
        };
        self.per_key.borrow_mut().insert((slot, index, n), rows);
        rows
    }

    /// Rows in ranges of an index of a table, or of some of its parts.
    fn in_ranges(&self, info: &TableInfo, parts: Option<&[usize]>, index: usize, ranges: &[KeyRange]) -> f64 {
        let mut session = self.planner.session.borrow_mut();
        let mut statement = session.statement();
        let mut rows = 0.0;
        for range in ranges.iter().take(DIVES_MAX) {
            let fields = |key: &'_ [Option<Vec<u8>>]| -> Vec<Option<Vec<u8>>> { key.to_vec() };
            let (lower, upper) = (fields(&range.lower), fields(&range.upper));
            let lower: Vec<Field<'_>> = lower.iter().map(Option::as_deref).collect();
            let upper: Vec<Field<'_>> = upper.iter().map(Option::as_deref).collect();
            let low = (!lower.is_empty()).then_some((&lower[..], range.lower_inclusive));
            let high = (!upper.is_empty()).then_some((&upper[..], range.upper_inclusive));
            let found = statement.estimate_range(&info.table, parts, index, low, high);
            rows += found.map_or(10.0, |n| n as f64).max(1.0);
        }
        if ranges.len() > DIVES_MAX {
            rows *= ranges.len() as f64 / DIVES_MAX as f64;
        }
        rows
    }

    /// The ranges of a search argument with the values of the first execution, if they are known.
    fn ranges(&self, info: &TableInfo, index: &Index, sarg: &Sarg, cx: &mut CompileCx<'_>) -> Known {
        let mut known = true;
        sarg.values(&mut |e| known &= self.can_evaluate(e));
        if !known {
            return Known::Unknown;
        }
        let row = Row::constant(self.planner.params);
        match without_warnings(cx, |cx| ranges_of(info, index, sarg, &row, &mut cx.session)) {
            Ok(Some(ranges)) => Known::Ranges(ranges),
            Ok(None) => Known::All,
            Err(_) => Known::Unknown,
        }
    }

    fn can_evaluate(&self, e: &Expr) -> bool {
        let mut can = e.tables().is_empty();
        e.walk(&mut |e| {
            can &= match e.node() {
                Node::Param(n) => (*n as usize) < self.planner.params.len(),
                Node::Column { .. } | Node::Aggregate(_) | Node::Window(_) | Node::Subquery(_) => false,
                // Functions may have effects: only what is calculated from values is calculated twice.
                Node::Call(call) => !matches!(call.name, "sleep" | "get_lock" | "release_lock" | "benchmark"),
                _ => true,
            }
        });
        can
    }

    /// All ways to read a table once the tables `known` have been read, for conditions `conditions` that look at nothing
    /// else. The first is a full scan; the best comes first in `best`.
    pub(crate) fn all(
        &self,
        slot: usize,
        known: TableSet,
        conditions: &[&Expr],
        cx: &mut CompileCx<'_>,
    ) -> Vec<Access> {
        let table = &self.scope.slots[slot];
        let parts = self.parts_now(slot, self.parts_of(slot, known, conditions).as_ref(), cx);
        let n = self.rows_of(slot, parts.as_deref());
        let Source::Stored(info) = &table.source else {
            let fanout = n * conditions.iter().map(|c| selectivity(c)).product::<f64>();
            let access = Access {
                path: Path::Rows,
                rows: n,
                fanout,
                cost: n,
                covering: false,
                possible: Vec::new(),
                hash: false,
            };
            return vec![access];
        };
        let used = used_columns(table);
        let sargs = conditions.iter().filter_map(|c| Sarg::of(c, slot, known));
        let sargs: Vec<Sarg> = sargs.filter_map(|s| s.useful(info)).collect();
        let all = Sarg::And(sargs);
        let mut list = vec![self.full_scan(info, 0, n, &used)];
        let mut possible = Vec::new();
        for (i, index) in info.table.indexes.iter().enumerate() {
            if table.allowed.as_ref().is_some_and(|a| !a.contains(&i)) {
                continue;
            }
            if i > 0 && is_covering(info, i, &used) {
                list.push(self.full_scan(info, i, n, &used));
            }
            let before = list.len();
            self.by_index(slot, (info, parts.as_deref()), i, index, &all, n, &used, &mut list, cx);
            if list.len() > before {
                possible.push(i);
            }
        }
        list.extend(
            conditions.iter().find_map(|c| super::fulltext::access(info, slot, c, self.planner.known())),
        );
        let filter: f64 = conditions.iter().map(|c| selectivity(c)).product();
        for access in &mut list {
            access.possible.clone_from(&possible);
            let consumed = match access.path {
                Path::Full { .. } | Path::FullText { .. } | Path::Rows => access.rows * filter,
                _ => access.rows * filter_beyond(access, conditions, slot),
            };
            access.fanout = consumed.min(access.rows).max(0.0001);
            if table.force && matches!(access.path, Path::Full { .. }) {
                access.cost *= 1e6;
            }
        }
        list
    }

    pub(crate) fn full_scan(&self, info: &TableInfo, index: usize, n: f64, used: &[usize]) -> Access {
        let covering = index > 0 && is_covering(info, index, used);
        let cost = match (index, covering) {
            (0, _) => n,
            (_, true) => n * ENTRY,
            (_, false) => n * LOOKUP,
        };
        Access {
            path: Path::Full { index, reverse: false },
            rows: n,
            fanout: n,
            cost: cost + 2.0,
            covering,
            possible: Vec::new(),
            hash: false,
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn by_index(
        &self,
        slot: usize,
        (info, parts): (&TableInfo, Option<&[usize]>),
        i: usize,
        index: &Index,
        sarg: &Sarg,
        n: f64,
        used: &[usize],
        list: &mut Vec<Access>,
        cx: &mut CompileCx<'_>,
    ) {
        if index.parts.is_empty() || !index.def().order_is_known() {
            return;
        }
        let covering = i > 0 && is_covering(info, i, used);
        let per_row = match (i, covering) {
            (0, _) => 1.0,
            (_, true) => ENTRY,
            (_, false) => LOOKUP,
        };
        let make = |path: Path, rows: f64, descents: f64| Access {
            path,
            rows,
            fanout: rows,
            cost: rows * per_row + descents * DESCENT,
            covering,
            possible: Vec::new(),
            hash: false,
        };
        let key = equal_prefix(info, index, sarg);
        let whole = key.len() == index.parts.len()
            && index.is_unique()
            && index.parts.iter().all(|p| p.prefix_len == 0)
            && key.iter().all(|k| matches!(k.value, KeyTest::Value { null_safe: false, .. }));
        if whole {
            list.push(make(Path::Point { index: i, key }, 1.0, if i == 0 { 0.5 } else { 1.0 }));
            return;
        }
        let ranged = index.parts.get(key.len()).is_some_and(|p| sarg.mentions(p.column))
            || index.parts.first().is_some_and(|p| sarg.mentions(p.column)) && key.is_empty();
        let constant = {
            let mut constant = true;
            sarg.values(&mut |e| constant &= e.tables().is_empty());
            constant
        };
        let ranges = if constant { self.ranges(info, index, sarg, cx) } else { Known::Unknown };
        if !key.is_empty() {
            let rows = match &ranges {
                Known::Ranges(ranges) if !ranged => self.in_ranges(info, parts, i, ranges),
                _ => self.per_key(slot, info, i, key.len()).min(n),
            };
            list.push(make(Path::Ref { index: i, key, reverse: false }, rows, 1.0));
        }
        let may_range = &self.scope.slots[slot].methods.ranged;
        if ranged && may_range.as_ref().is_none_or(|may| may.contains(&i)) {
            // Of other tables' rows only equal values are looked up; a range for each row would be planned by guesses.
            let sarg = if constant { sarg.clone() } else { Sarg::constant_part(sarg) };
            let ranges = if constant { ranges } else { self.ranges(info, index, &sarg, cx) };
            let Sarg::And(all) = &sarg else { return };
            if !all.iter().any(|s| s.mentions(index.parts[0].column)) {
                return;
            }
            let (rows, n_ranges) = match &ranges {
                Known::Ranges(ranges) => (self.in_ranges(info, parts, i, ranges), ranges.len()),
                Known::Unknown => (n * UNKNOWN_RANGE, 1),
                Known::All => return,
            };
            let rows = rows.min(n);
            let path = Path::Range { index: i, sarg, reverse: false };
            list.push(make(path, rows, n_ranges as f64));
        }
    }

    /// Pairs by which a hash join finds rows of a table.
    pub(crate) fn hash_keys(&self, slot: usize, known: TableSet, conditions: &[&Expr]) -> Vec<HashKey> {
        let mut keys = Vec::new();
        for condition in conditions {
            let Node::Compare { op: op @ (CmpOp::Eq | CmpOp::NullSafeEq), how, sides } = condition.node()
            else {
                continue;
            };
            for (a, b) in [(&sides[0], &sides[1]), (&sides[1], &sides[0])] {
                let mine = a.tables() == TableSet::of(slot as u16) && is_known(a, a.tables());
                let theirs = !b.tables().is_empty() && is_known(b, known);
                let subquery = a.info().has_subquery || b.info().has_subquery;
                if mine && theirs && !subquery && hashes(a, b, *how) {
                    keys.push(HashKey {
                        inner: a.clone(),
                        outer: b.clone(),
                        how: *how,
                        null_safe: *op == CmpOp::NullSafeEq,
                    });
                    break;
                }
            }
        }
        keys
    }
}

/// Calculates something for an estimate: who executes the plan is warned then.
fn without_warnings<'c, T>(cx: &mut CompileCx<'c>, calculate: impl FnOnce(&mut CompileCx<'c>) -> T) -> T {
    let warnings = std::mem::take(&mut cx.session.state.warnings);
    let calculated = calculate(cx);
    cx.session.state.warnings = warnings;
    calculated
}

/// Whether equal values of these operands have equal sort keys under the comparison.
fn hashes(a: &Expr, b: &Expr, how: vaquita_types::compare::CompareAs) -> bool {
    use vaquita_types::compare::CompareAs;
    let number = |e: &Expr| {
        let kind = e.ty().kind;
        kind.is_integer()
            || matches!(
                kind,
                vaquita_types::Kind::Decimal | vaquita_types::Kind::Float | vaquita_types::Kind::Double
            )
    };
    match how {
        CompareAs::Int => a.ty().kind.is_integer() && b.ty().kind.is_integer(),
        CompareAs::Decimal | CompareAs::Double => number(a) && number(b),
        CompareAs::Text(_) => a.ty().kind.is_string() && b.ty().kind.is_string(),
        CompareAs::Date | CompareAs::DateTime | CompareAs::Time => a.ty().kind == b.ty().kind,
        CompareAs::LooseDateTime => true,
        CompareAs::Json => false,
    }
}

/// Columns that are looked at.
pub(crate) fn used_columns(table: &Slot) -> Vec<usize> {
    let used = table.used.borrow();
    (0..used.len()).filter(|&c| used[c]).collect()
}

/// Whether an index has these columns whole.
pub(crate) fn is_covering(info: &TableInfo, index: usize, used: &[usize]) -> bool {
    use vaquita_engine::table::FieldSource;
    let index = &info.table.indexes[index];
    used.iter().all(|&c| {
        index
            .sources
            .iter()
            .any(|s| matches!(s, FieldSource::Column { column, prefix_len: 0 } if *column == c))
    })
}

/// The values that the first parts of an index must have.
pub(crate) fn equal_prefix(info: &TableInfo, index: &Index, sarg: &Sarg) -> Vec<KeyValue> {
    let mut key = Vec::new();
    let mut leaves = Vec::new();
    top_leaves(sarg, &mut leaves);
    for part in &index.parts {
        let ty = info.columns[part.column].sql_type();
        let mine = leaves.iter().filter(|l| l.column == part.column);
        let value = mine.filter_map(|leaf| match &leaf.test {
            Test::Compare { op: op @ (CmpOp::Eq | CmpOp::NullSafeEq), how, value }
                if follows_index(ty, *how, true) =>
            {
                Some(KeyTest::Value { expr: value.clone(), how: *how, null_safe: *op == CmpOp::NullSafeEq })
            }
            Test::In { list } if list.len() == 1 && follows_index(ty, list[0].0, true) => {
                Some(KeyTest::Value { expr: list[0].1.clone(), how: list[0].0, null_safe: false })
            }
            Test::Null { negated: false } => Some(KeyTest::Null),
            _ => None,
        });
        // A constant is better than a value of another table: it is known at once.
        let mut values: Vec<KeyTest> = value.collect();
        values.sort_by_key(|v| match v {
            KeyTest::Value { expr, .. } => !expr.tables().is_empty(),
            KeyTest::Null => false,
        });
        let Some(value) = values.into_iter().next() else { break };
        key.push(KeyValue { column: part.column, prefix_len: part.prefix_len, value });
        if part.prefix_len > 0 {
            break;
        }
    }
    key
}

fn top_leaves<'s>(sarg: &'s Sarg, out: &mut Vec<&'s Leaf>) {
    match sarg {
        Sarg::And(list) => list.iter().for_each(|s| top_leaves(s, out)),
        Sarg::Leaf(leaf) => out.push(leaf),
        Sarg::Or(_) => {}
    }
}

/// Share of rows that satisfy a condition, guessed from its form.
pub(crate) fn selectivity(condition: &Expr) -> f64 {
    match condition.node() {
        Node::Compare { op: CmpOp::Eq | CmpOp::NullSafeEq, .. } => 0.1,
        Node::Compare { op: CmpOp::Ne, .. } => 0.9,
        Node::Compare { .. } => 0.33,
        Node::Between { negated: false, .. } => 0.11,
        Node::In(list) if !list.negated => (0.1 * list.list.len() as f64).min(0.5),
        Node::IsNull { negated: false, .. } => 0.1,
        Node::Like(like) if !like.negated => 0.11,
        Node::Or(list) => list.iter().map(selectivity).sum::<f64>().min(0.9),
        Node::And(list) => list.iter().map(selectivity).product(),
        _ => 0.5,
    }
}

/// Share of the rows an index finds that satisfies the conditions it does not look at.
fn filter_beyond(access: &Access, conditions: &[&Expr], slot: usize) -> f64 {
    let columns: Vec<usize> = match &access.path {
        Path::Point { key, .. } | Path::Ref { key, .. } => key.iter().map(|k| k.column).collect(),
        Path::Range { sarg, .. } => {
            let mut columns = Vec::new();
            range_columns(sarg, &mut columns);
            columns
        }
        Path::Full { .. } | Path::FullText { .. } | Path::Rows => Vec::new(),
    };
    let covered = |condition: &&&Expr| {
        let mut all = true;
        condition.walk(&mut |e| {
            if let Some((s, c)) = column_of(e) {
                all &= s != slot || columns.contains(&c);
            }
        });
        !all
    };
    conditions.iter().filter(covered).map(|c| selectivity(c)).product()
}

fn range_columns(sarg: &Sarg, out: &mut Vec<usize>) {
    match sarg {
        Sarg::And(list) | Sarg::Or(list) => list.iter().for_each(|s| range_columns(s, out)),
        Sarg::Leaf(leaf) => out.push(leaf.column),
    }
}
