//! Columns that expressions are.

use vaquita_expr::{Expr, Node};

/// A column of this block, if an expression is one.
pub fn column_of(expr: &Expr) -> Option<(usize, usize)> {
    match expr.node() {
        Node::Column { level: 0, table, column, .. } => Some((usize::from(*table), usize::from(*column))),
        _ => None,
    }
}

/// The column of one table, if an expression is one.
pub fn column_of_slot(expr: &Expr, slot: usize) -> Option<usize> {
    column_of(expr).filter(|&(s, _)| s == slot).map(|(_, column)| column)
}
