//! The same expression seen from somewhere else: from a block further in, or with its tables at other places.

use super::EvalCx;
use super::build::{Collated, New};
use super::node::{Constness, Data, Expr, Node, TableSet};
use super::row::Row;
use super::scope::CompileCx;
use vaquita_types::{SqlResult, Value};

impl Expr {
    /// The expression with its columns (of this block: level, table) at other places. Not for one that contains a subquery, which
    /// keeps its own places.
    #[must_use]
    pub fn moved(&self, to: &dyn Fn(u16, u16) -> (u16, u16)) -> Expr {
        let mut moved = self.clone();
        move_columns(&mut moved, to);
        moved
    }
}

/// An expression as it is seen from a block so many further in, whatever it has in it: it is calculated from that block's row.
pub fn of_outer(cx: &mut CompileCx<'_>, e: Expr, level: u16) -> Expr {
    let by = e.ty.kind.is_string().then_some(Collated {
        collation: e.ty.collation,
        derivation: e.info.derivation,
        ascii: e.info.ascii,
    });
    let new = New::call("outer", e.ty.clone(), Vec::new(), eval_of_outer);
    let new = if e.ty.nullable { new.nullable() } else { new };
    let new = by.into_iter().fold(new, New::collated).at_least(Constness::Execution);
    let has_subquery = e.info.has_subquery;
    let mut seen = new.data(Data::Outer(Box::new(e), level)).build(cx);
    seen.info.has_subquery = has_subquery;
    seen
}

fn eval_of_outer<'r>(
    e: &'r Expr,
    _: &'r [Expr],
    cx: &mut EvalCx<'_>,
    row: &'r Row<'r>,
) -> SqlResult<Value<'r>> {
    let Data::Outer(of, level) = e.data() else { return Ok(Value::Null) };
    let mut at = Some(row);
    for _ in 0..*level {
        at = at.and_then(|row| row.outer);
    }
    at.map_or(Ok(Value::Null), |row| of.eval(cx, row))
}

fn move_columns(e: &mut Expr, to: &dyn Fn(u16, u16) -> (u16, u16)) {
    if let Node::Column { level, table, .. } = &mut e.node {
        (*level, *table) = to(*level, *table);
        (e.info.constness, e.info.tables) = match *level {
            0 => (Constness::Row, TableSet::of(*table)),
            _ => (Constness::Execution, TableSet::default()),
        };
        return;
    }
    if let Node::Call(call) = &mut e.node
        && let Data::Outer(_, level) = &mut call.data
    {
        (*level, _) = to(*level, 0);
        return;
    }
    let mut parts = 0;
    e.children(&mut |_| parts += 1);
    if parts == 0 {
        return;
    }
    // What changes by itself (RAND()) goes on doing so; else it changes as its parts do.
    let of_parts = |e: &Expr| {
        let mut most = Constness::Const;
        e.children(&mut |child| most = most.max(child.info.constness));
        most
    };
    let by_itself = e.info.constness > of_parts(e);
    children_mut(&mut e.node, &mut |child| move_columns(child, to));
    let mut tables = TableSet::default();
    e.children(&mut |child| tables = tables.union(child.info.tables));
    e.info.tables = tables;
    if !by_itself {
        e.info.constness = of_parts(e);
    }
}

fn children_mut(node: &mut Node, visit: &mut dyn FnMut(&mut Expr)) {
    match node {
        Node::Const(_) | Node::Param(_) | Node::Column { .. } | Node::Aggregate(_) | Node::Window(_) => {}
        Node::And(list) | Node::Or(list) | Node::Row(list) => list.iter_mut().for_each(visit),
        Node::Not(operand) | Node::IsNull { operand, .. } => visit(operand),
        Node::Compare { sides, .. } => sides.iter_mut().for_each(visit),
        Node::Between { args, .. } => args.iter_mut().for_each(visit),
        Node::In(list) => std::iter::once(&mut list.operand).chain(&mut list.list).for_each(visit),
        Node::Like(like) => like.args.iter_mut().for_each(visit),
        Node::Subquery(sub) => sub.left.iter_mut().for_each(visit),
        Node::Call(call) => call.args.iter_mut().for_each(visit),
    }
}
