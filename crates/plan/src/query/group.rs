//! Grouping: which columns a grouped query may name, and which it takes from a row of the group.

use super::from::Tree;
use super::names::BlockScope;
use crate::columns::column_of;
use crate::planner::Known;
use crate::tree::OrderKey;
use crate::tree::{Source, WindowsPlan};
use vaquita_expr::aggregate::Aggregate;
use vaquita_expr::node::CmpOp;
use vaquita_expr::{Constness, Expr, Node, TableSet};
use vaquita_parser::ast::AggregateKind;
use vaquita_types::{SqlError, SqlResult};

impl Known<'_> {
    /// Whether the value of a parameter is one that is wanted.
    pub(super) fn is(self, param: u32, wanted: impl FnOnce(&vaquita_types::Value<'_>) -> bool) -> bool {
        self.compared.set(true);
        self.values.get(param as usize).is_some_and(wanted)
    }

    fn are_equal(self, a: u32, b: u32) -> bool {
        self.compared.set(true);
        matches!((self.values.get(a as usize), self.values.get(b as usize)), (Some(a), Some(b)) if a == b)
    }
}

/// What is evaluated after grouping.
pub(crate) struct Checked<'c> {
    pub(crate) items: &'c [Expr],
    pub(crate) having: Option<&'c Expr>,
    pub(crate) order: &'c [OrderKey],
    pub(crate) keys: &'c [OrderKey],
    pub(crate) windows: Option<&'c WindowsPlan>,
}

impl Checked<'_> {
    fn all(&self) -> impl Iterator<Item = &Expr> {
        let order = self.order.iter().filter_map(|k| k.value.expr());
        self.items
            .iter()
            .chain(self.having)
            .chain(order)
            .chain(self.keys.iter().filter_map(|k| k.value.expr()))
            .chain(self.windows.into_iter().flat_map(WindowsPlan::exprs))
    }
}

/// Columns of the tables that are looked at after grouping: they are taken from the first row of a group.
pub(crate) fn carried(scope: &BlockScope<'_, '_>, what: &Checked<'_>) -> Vec<(usize, usize)> {
    let mut columns = Vec::new();
    let mut whole = TableSet::default();
    for expr in what.all() {
        expr.walk(&mut |e| match e.node() {
            Node::Subquery(sub) => whole = whole.union(sub.query.outer_tables),
            _ => columns.extend(column_of(e)),
        });
    }
    for (slot, table) in scope.slots.iter().enumerate() {
        if TableSet::of(slot as u16).is_subset(whole) {
            let used = table.used.borrow();
            columns.extend((0..used.len()).filter(|&c| used[c]).map(|c| (slot, c)));
        }
    }
    columns.sort_unstable();
    columns.dedup();
    columns
}

/// Most keys that one GROUPING() asks about: its result has a bit for each.
const GROUPING_MAX: usize = 64;

/// The calls of GROUPING() among the aggregates, and the group keys that their arguments are.
///
/// # Errors
/// 1111 without WITH ROLLUP, 3601 for too many arguments, 3602 for one that is no group key.
pub(crate) fn groupings(
    aggregates: &[Aggregate],
    rollup: bool,
    key_of: impl Fn(&Expr) -> Option<usize>,
) -> SqlResult<Vec<(usize, Vec<usize>)>> {
    let mut found = Vec::new();
    for (at, call) in aggregates.iter().enumerate().filter(|(_, a)| a.kind == AggregateKind::Grouping) {
        if !rollup {
            return Err(SqlError::new(1111, "Invalid use of group function"));
        }
        if call.args.len() > GROUPING_MAX {
            return Err(SqlError::new(
                3601,
                format!("Invalid number of arguments for function 'GROUPING', should be 1 to {GROUPING_MAX}"),
            ));
        }
        let key = |(n, arg)| {
            key_of(arg).ok_or_else(|| {
                SqlError::new(3602, format!("Argument #{n} of GROUPING function is not in GROUP BY"))
            })
        };
        found.push((at, call.args.iter().enumerate().map(key).collect::<SqlResult<_>>()?));
    }
    Ok(found)
}

/// ONLY_FULL_GROUP_BY as in MySQL 5.7: columns outside of aggregates must follow from the grouped ones.
///
/// # Errors
/// 1055, 1140.
pub(crate) fn check(
    scope: &BlockScope<'_, '_>,
    what: &Checked<'_>,
    tree: &Tree,
    filter: &[Expr],
    params: Known<'_>,
) -> SqlResult<()> {
    let fixed = fixed_columns(scope, what.keys, tree, filter);
    let lists: [(&str, Vec<&Expr>); 3] = [
        ("SELECT list", what.items.iter().collect()),
        ("ORDER BY clause", what.order.iter().filter_map(|k| k.value.expr()).collect()),
        ("SELECT list", what.windows.into_iter().flat_map(WindowsPlan::exprs).collect()),
    ];
    for (clause, exprs) in lists {
        for (i, expr) in exprs.into_iter().enumerate() {
            if let Some((slot, column)) = loose(expr, what.keys, &fixed, params) {
                return Err(not_grouped(scope, what.keys.is_empty(), i + 1, clause, slot, column));
            }
        }
    }
    if let Some((slot, column)) = what.having.and_then(|h| loose(h, what.keys, &fixed, params)) {
        return Err(not_grouped(scope, what.keys.is_empty(), 1, "HAVING clause", slot, column));
    }
    Ok(())
}

fn not_grouped(
    scope: &BlockScope<'_, '_>,
    no_groups: bool,
    n: usize,
    clause: &str,
    slot: usize,
    column: usize,
) -> SqlError {
    let table = &scope.slots[slot];
    let mut name = format!("{}.{}", table.alias, table.columns[column].name);
    if !table.database.is_empty() {
        name = format!("{}.{name}", table.database);
    }
    if no_groups {
        return SqlError::new(
            1140,
            format!(
                "In aggregated query without GROUP BY, expression #{n} of {clause} contains nonaggregated column \
                 '{name}'; this is incompatible with sql_mode=only_full_group_by"
            ),
        );
    }
    SqlError::new(
        1055,
        format!(
            "Expression #{n} of {clause} is not in GROUP BY clause and contains nonaggregated column '{name}' which \
             is not functionally dependent on columns in GROUP BY clause; this is incompatible with \
             sql_mode=only_full_group_by"
        ),
    )
}

/// A column of an expression that the groups do not determine.
fn loose(
    expr: &Expr,
    keys: &[OrderKey],
    fixed: &[(usize, usize)],
    params: Known<'_>,
) -> Option<(usize, usize)> {
    if keys.iter().filter_map(|k| k.value.expr()).any(|k| same(k, expr, params)) {
        return None;
    }
    if let Node::Call(call) = expr.node()
        && call.name == "any_value"
    {
        return None;
    }
    if let (Some(value), None) = (expr.value_selected(), expr.row_selected()) {
        return loose(value, keys, fixed, params);
    }
    if let Some(column) = column_of(expr) {
        return (!fixed.contains(&column)).then_some(column);
    }
    let mut found = None;
    expr.children(&mut |child| found = found.or_else(|| loose(child, keys, fixed, params)));
    found
}

/// Columns that have one value in a group: the grouped ones, those equal to them or to a constant, and all columns of
/// a table whose unique key is among them.
fn fixed_columns(
    scope: &BlockScope<'_, '_>,
    keys: &[OrderKey],
    tree: &Tree,
    filter: &[Expr],
) -> Vec<(usize, usize)> {
    let mut fixed: Vec<(usize, usize)> =
        keys.iter().filter_map(|k| k.value.expr()).filter_map(column_of).collect();
    close(scope, tree, filter, &mut fixed);
    fixed
}

/// Adds the columns that follow from fixed ones by these conditions and those of the joins.
fn close(scope: &BlockScope<'_, '_>, tree: &Tree, conditions: &[Expr], fixed: &mut Vec<(usize, usize)>) {
    loop {
        let before = fixed.len();
        equalities(conditions, fixed);
        joins(scope, tree, fixed);
        unique_keys(scope, tree, fixed);
        if fixed.len() == before {
            return;
        }
    }
}

/// Columns that are equal to a fixed one or to a constant.
fn equalities(conditions: &[Expr], fixed: &mut Vec<(usize, usize)>) {
    for condition in conditions {
        let Node::Compare { op: CmpOp::Eq | CmpOp::NullSafeEq, sides, .. } = condition.node() else {
            continue;
        };
        for (a, b) in [(&sides[0], &sides[1]), (&sides[1], &sides[0])] {
            let given = b.constness() != Constness::Row || column_of(b).is_some_and(|c| fixed.contains(&c));
            if let Some(column) = column_of(a).filter(|c| given && !fixed.contains(c)) {
                fixed.push(column);
            }
        }
    }
}

/// What the conditions of joins fix. Whether a row of an outer join has a partner must be fixed itself before anything
/// of the partner is.
fn joins(scope: &BlockScope<'_, '_>, tree: &Tree, fixed: &mut Vec<(usize, usize)>) {
    match tree {
        Tree::Table(_) => {}
        Tree::Inner { parts, on, .. } => {
            equalities(on, fixed);
            parts.iter().for_each(|part| joins(scope, part, fixed));
        }
        Tree::Left { outer, inner, on } => {
            joins(scope, outer, fixed);
            let tables = inner.tables();
            let inside = |slot: usize| TableSet::of(slot as u16).is_subset(tables);
            if on.iter().all(|condition| follows(condition, &inside, fixed)) {
                let mut matched = fixed.clone();
                close(scope, inner, on, &mut matched);
                fixed.extend(matched.split_off(fixed.len()).into_iter().filter(|&(slot, _)| inside(slot)));
            }
        }
    }
}

/// Whether a condition of an outer join depends on its inner tables and on fixed columns only.
fn follows(condition: &Expr, inside: &impl Fn(usize) -> bool, fixed: &[(usize, usize)]) -> bool {
    if let Some(column) = column_of(condition) {
        return inside(column.0) || fixed.contains(&column);
    }
    let by_chance = condition.constness() == Constness::Row && condition.tables().is_empty();
    let mut all = !by_chance && !matches!(condition.node(), Node::Subquery(_));
    condition.children(&mut |child| all = all && follows(child, inside, fixed));
    all
}

/// All columns of the tables whose unique keys are fixed.
fn unique_keys(scope: &BlockScope<'_, '_>, tree: &Tree, fixed: &mut Vec<(usize, usize)>) {
    let tables = tree.tables();
    for (slot, table) in scope.slots.iter().enumerate() {
        let Source::Stored(info) = &table.source else { continue };
        let determined = TableSet::of(slot as u16).is_subset(tables)
            && info.keys.iter().any(|key| {
                let mut parts = key.parts.iter();
                key.is_unique()
                    && parts.all(|p| {
                        p.prefix.is_none()
                            && !info.columns[p.column].is_nullable()
                            && fixed.contains(&(slot, p.column))
                    })
            });
        if determined {
            let all = (0..table.columns.len()).map(|c| (slot, c));
            let missing: Vec<_> = all.filter(|c| !fixed.contains(c)).collect();
            fixed.extend(missing);
        }
    }
}

/// Whether two expressions are the same. Literals that were lifted out of the text count with their values.
pub(crate) fn same(a: &Expr, b: &Expr, params: Known<'_>) -> bool {
    let all = |a: &[Expr], b: &[Expr]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b, params));
    match (a.node(), b.node()) {
        (Node::Const(a), Node::Const(b)) => a == b,
        (Node::Param(a), Node::Param(b)) => a == b || params.are_equal(*a, *b),
        (
            Node::Column { level, table, column, .. },
            Node::Column { level: level_b, table: table_b, column: column_b, .. },
        ) => (level, table, column) == (level_b, table_b, column_b),
        (Node::Aggregate(a), Node::Aggregate(b)) | (Node::Window(a), Node::Window(b)) => a == b,
        (Node::And(a), Node::And(b)) | (Node::Or(a), Node::Or(b)) | (Node::Row(a), Node::Row(b)) => all(a, b),
        (Node::Not(a), Node::Not(b)) => same(a, b, params),
        (Node::Compare { op, sides, .. }, Node::Compare { op: op_b, sides: sides_b, .. }) => {
            op == op_b && all(&sides[..], &sides_b[..])
        }
        (Node::Between { negated, args, .. }, Node::Between { negated: negated_b, args: args_b, .. }) => {
            negated == negated_b && all(&args[..], &args_b[..])
        }
        (Node::In(a), Node::In(b)) => {
            a.negated == b.negated && same(&a.operand, &b.operand, params) && all(&a.list, &b.list)
        }
        (Node::IsNull { operand, negated }, Node::IsNull { operand: operand_b, negated: negated_b }) => {
            negated == negated_b && same(operand, operand_b, params)
        }
        (Node::Like(a), Node::Like(b)) => {
            a.negated == b.negated && a.escape == b.escape && all(&a.args, &b.args)
        }
        (Node::Call(x), Node::Call(y)) => x.name == y.name && a.ty() == b.ty() && all(&x.args, &y.args),
        _ => false,
    }
}
