//! Conditions that the way to the rows makes true.
//!
//! Bounds of whole numbers in an integer column are exact: rows within them satisfy the condition they were taken from, and
//! need not be asked again. That holds where the record that was found and the row that is shown have the same key: in the
//! clustered index always, in others for rows read without locks.

use crate::columns::column_of;
use crate::sarg::{Sarg, Test, is_known};
use crate::tree::Source;
use crate::tree::{KeyTest, Path, Read};
use vaquita_catalog::TableInfo;
use vaquita_engine::ReadLock;
use vaquita_expr::node::CmpOp;
use vaquita_expr::{Expr, Node, TableSet};
use vaquita_types::compare::CompareAs;

/// Puts the conditions that the path of a table makes true behind the others; how many they are. They have to be checked
/// only where the path's values turn out to have no bounds.
pub(crate) fn put_last(read: &Read, slot: usize, conditions: &mut [Expr]) -> usize {
    let Source::Stored(info) = &read.source else { return 0 };
    if read.hash.is_some() || read.path.index() != Some(0) && read.lock != ReadLock::None {
        return 0;
    }
    let covers = |condition: &Expr| match &read.path {
        Path::Point { key, .. } | Path::Ref { key, .. } => key.iter().any(|part| {
            part.prefix_len == 0
                && matches!(&part.value, KeyTest::Value { expr, null_safe: false, .. }
                    if is_equal_to(info, condition, slot, part.column, expr))
        }),
        Path::Range { index, .. } => {
            let first = info.table.indexes[*index].parts.first();
            first.is_some_and(|part| is_range_of(info, condition, slot, part.column))
        }
        Path::Full { .. } | Path::FullText { .. } | Path::Rows => false,
    };
    conditions.sort_by_cached_key(covers);
    conditions.iter().rev().take_while(|c| covers(c)).count()
}

/// Whether a condition is `column = value`, compared as integers.
fn is_equal_to(info: &TableInfo, condition: &Expr, slot: usize, column: usize, value: &Expr) -> bool {
    let Node::Compare { op: CmpOp::Eq, .. } = condition.node() else { return false };
    match Sarg::of(condition, slot, condition.tables()) {
        Some(Sarg::Leaf(leaf)) => {
            leaf.column == column
                && is_integer_column(info, column)
                && matches!(&leaf.test, Test::Compare { how: CompareAs::Int, value: other, .. }
                    if other.ty().kind.is_integer() && other.same_as(value))
        }
        _ => false,
    }
}

/// Whether a condition says which integers a column may be, and nothing else.
fn is_range_of(info: &TableInfo, condition: &Expr, slot: usize, column: usize) -> bool {
    let this = |e: &Expr| column_of(e) == Some((slot, column)) && is_integer_column(info, column);
    let constant = |e: &Expr| is_known(e, TableSet::default()) && e.ty().kind.is_integer();
    let part = |e: &Expr| is_range_of(info, e, slot, column);
    match condition.node() {
        Node::And(list) | Node::Or(list) => list.iter().all(part),
        Node::Compare { op, how: CompareAs::Int, sides } if !matches!(op, CmpOp::NullSafeEq | CmpOp::Ne) => {
            let [left, right] = &**sides;
            this(left) && constant(right) || this(right) && constant(left)
        }
        Node::Between { how: CompareAs::Int, negated: false, args } => {
            let [x, low, high] = &**args;
            this(x) && constant(low) && constant(high)
        }
        Node::In(list) if !list.negated => {
            this(&list.operand)
                && list.how.iter().all(|how| *how == CompareAs::Int)
                && list.list.iter().all(constant)
        }
        _ => false,
    }
}

fn is_integer_column(info: &TableInfo, column: usize) -> bool {
    info.columns.get(column).is_some_and(|c| c.sql_type().kind.is_integer())
}
