//! Conditions that an index can help with: a column compared with what is known before its table is read.

use crate::bound::follows_index;
use crate::columns::column_of;
use vaquita_catalog::TableInfo;
use vaquita_expr::node::CmpOp;
use vaquita_expr::{Constness, Expr, Node, TableSet};
use vaquita_types::compare::CompareAs;

/// A search argument: what must hold of columns of one table. Rows for which it does not hold do not satisfy the
/// condition it was taken from; it may say less than that condition.
#[derive(Debug, Clone)]
pub enum Sarg {
    /// All of them.
    And(Vec<Sarg>),
    /// One of them.
    Or(Vec<Sarg>),
    /// A test of a column.
    Leaf(Leaf),
}

/// A test of one column.
#[derive(Debug, Clone)]
pub struct Leaf {
    /// Position in the table.
    pub column: usize,
    /// What is asked of it.
    pub test: Test,
}

/// What is tested.
#[derive(Debug, Clone)]
pub enum Test {
    /// `column op value`.
    Compare {
        /// Operator.
        op: CmpOp,
        /// As what both are compared.
        how: CompareAs,
        /// The value.
        value: Expr,
    },
    /// `column BETWEEN low AND high`.
    Between {
        /// As what they are compared.
        how: CompareAs,
        /// The least value.
        low: Expr,
        /// The greatest one.
        high: Expr,
    },
    /// `column IN (…)`.
    In {
        /// The values, and as what each is compared.
        list: Vec<(CompareAs, Expr)>,
    },
    /// `column IS [NOT] NULL`.
    Null {
        /// IS NOT NULL.
        negated: bool,
    },
    /// `column LIKE pattern`.
    Like {
        /// The pattern.
        pattern: Expr,
        /// ESCAPE.
        escape: Option<u32>,
        /// By which texts are compared.
        collation: u16,
    },
}

impl Sarg {
    /// The conditions among those that all must hold which compare with constants.
    pub fn constant_part(&self) -> Sarg {
        self.part_where(|value| value.tables().is_empty())
    }

    /// The conditions among those that all must hold which compare with such values only.
    pub fn part_where(&self, is_wanted: impl Fn(&Expr) -> bool) -> Sarg {
        let Sarg::And(parts) = self else { return self.clone() };
        let wanted = |s: &&Sarg| {
            let mut wanted = true;
            s.values(&mut |e| wanted &= is_wanted(e));
            wanted
        };
        Sarg::And(parts.iter().filter(wanted).cloned().collect())
    }

    /// What a condition asks of the columns of `slot`, as far as it compares them with values that are known when the
    /// tables `known` have been read.
    pub fn of(condition: &Expr, slot: usize, known: TableSet) -> Option<Sarg> {
        let column = |e: &Expr| column_of(e).filter(|&(s, _)| s == slot).map(|(_, c)| c);
        let usable = |e: &Expr| is_known(e, known);
        match condition.node() {
            Node::And(list) => {
                let parts: Vec<Sarg> = list.iter().filter_map(|e| Sarg::of(e, slot, known)).collect();
                (!parts.is_empty()).then_some(Sarg::And(parts))
            }
            Node::Or(list) => {
                let parts: Option<Vec<Sarg>> = list.iter().map(|e| Sarg::of(e, slot, known)).collect();
                parts.map(Sarg::Or)
            }
            Node::Compare { op, how, sides } => {
                let [left, right] = &**sides;
                if let (Node::Row(a), Node::Row(b), CmpOp::Eq) = (left.node(), right.node(), op) {
                    return Self::of_rows(a, b, slot, known);
                }
                let (column, op, value) = match (column(left), column(right)) {
                    (Some(c), _) if usable(right) => (c, *op, right),
                    (_, Some(c)) if usable(left) => (c, flipped(*op), left),
                    _ => return None,
                };
                leaf(column, Test::Compare { op, how: *how, value: value.clone() })
            }
            Node::Between { how, negated: false, args } => {
                let [x, low, high] = &**args;
                match (usable(low), usable(high)) {
                    (true, true) => {
                        leaf(column(x)?, Test::Between { how: *how, low: low.clone(), high: high.clone() })
                    }
                    (true, false) => {
                        leaf(column(x)?, Test::Compare { op: CmpOp::Ge, how: *how, value: low.clone() })
                    }
                    (false, true) => {
                        leaf(column(x)?, Test::Compare { op: CmpOp::Le, how: *how, value: high.clone() })
                    }
                    (false, false) => None,
                }
            }
            Node::In(list) if !list.negated => {
                if let Node::Row(columns) = list.operand.node() {
                    let row = |e: &Expr| match e.node() {
                        Node::Row(values) => Self::of_rows(columns, values, slot, known),
                        _ => None,
                    };
                    return list.list.iter().map(row).collect::<Option<Vec<_>>>().map(Sarg::Or);
                }
                let column = column(&list.operand)?;
                if !list.list.iter().all(usable) {
                    return None;
                }
                let values = list.how.iter().copied().zip(list.list.iter().cloned()).collect();
                leaf(column, Test::In { list: values })
            }
            Node::IsNull { operand, negated } => leaf(column(operand)?, Test::Null { negated: *negated }),
            Node::Like(like) if !like.negated && usable(&like.args[1]) => leaf(
                column(&like.args[0])?,
                Test::Like { pattern: like.args[1].clone(), escape: like.escape, collation: like.collation },
            ),
            _ => None,
        }
    }

    /// `(a, b) = (c, d)`: as `a = c AND b = d`, if the values compare as the columns do.
    fn of_rows(columns: &[Expr], values: &[Expr], slot: usize, known: TableSet) -> Option<Sarg> {
        let one = |(a, b): (&Expr, &Expr)| {
            let (_, column) = column_of(a).filter(|&(s, _)| s == slot)?;
            let how = same_way(a, b).filter(|_| is_known(b, known))?;
            leaf(column, Test::Compare { op: CmpOp::Eq, how, value: b.clone() })
        };
        let parts: Vec<Sarg> = columns.iter().zip(values).filter_map(one).collect();
        (!parts.is_empty()).then_some(Sarg::And(parts))
    }

    /// What is left of it when tests are taken away that do not follow the order of the columns' values in an index.
    pub fn useful(self, info: &TableInfo) -> Option<Sarg> {
        match self {
            Sarg::And(list) => {
                let list: Vec<Sarg> = list.into_iter().filter_map(|s| s.useful(info)).collect();
                (!list.is_empty()).then_some(Sarg::And(list))
            }
            Sarg::Or(list) => list.into_iter().map(|s| s.useful(info)).collect::<Option<_>>().map(Sarg::Or),
            Sarg::Leaf(leaf) => {
                let ty = info.columns.get(leaf.column)?.sql_type();
                let follows = match &leaf.test {
                    Test::Compare { op, how, .. } => {
                        follows_index(ty, *how, matches!(op, CmpOp::Eq | CmpOp::NullSafeEq))
                    }
                    Test::Between { how, .. } => follows_index(ty, *how, false),
                    Test::In { list } => list.iter().all(|(how, _)| follows_index(ty, *how, true)),
                    Test::Like { collation, .. } => ty.kind.is_string() && ty.collation == *collation,
                    Test::Null { .. } => true,
                };
                follows.then_some(Sarg::Leaf(leaf))
            }
        }
    }

    /// Whether a test of the column is part of it.
    pub fn mentions(&self, column: usize) -> bool {
        match self {
            Sarg::And(list) => list.iter().any(|s| s.mentions(column)),
            // A branch that says nothing of the column leaves it open.
            Sarg::Or(list) => list.iter().all(|s| s.mentions(column)),
            Sarg::Leaf(leaf) => leaf.column == column,
        }
    }

    /// Calls `visit` for the expressions of all values.
    pub fn values<'s>(&'s self, visit: &mut dyn FnMut(&'s Expr)) {
        match self {
            Sarg::And(list) | Sarg::Or(list) => list.iter().for_each(|s| s.values(visit)),
            Sarg::Leaf(leaf) => match &leaf.test {
                Test::Compare { value, .. } => visit(value),
                Test::Between { low, high, .. } => {
                    visit(low);
                    visit(high);
                }
                Test::In { list } => list.iter().for_each(|(_, e)| visit(e)),
                Test::Null { .. } => {}
                Test::Like { pattern, .. } => visit(pattern),
            },
        }
    }
}

fn leaf(column: usize, test: Test) -> Option<Sarg> {
    Some(Sarg::Leaf(Leaf { column, test }))
}

/// How two operands of a row comparison compare, if that is plain.
fn same_way(a: &Expr, b: &Expr) -> Option<CompareAs> {
    let (x, y) = (a.ty(), b.ty());
    match (x.kind, y.kind) {
        (x, y) if x.is_integer() && y.is_integer() => Some(CompareAs::Int),
        (k, l) if k.is_string() && l.is_string() && x.collation == y.collation => {
            Some(CompareAs::Text(x.collation))
        }
        _ => None,
    }
}

/// The operator with its sides exchanged.
pub fn flipped(op: CmpOp) -> CmpOp {
    match op {
        CmpOp::Lt => CmpOp::Gt,
        CmpOp::Le => CmpOp::Ge,
        CmpOp::Gt => CmpOp::Lt,
        CmpOp::Ge => CmpOp::Le,
        CmpOp::Eq | CmpOp::NullSafeEq | CmpOp::Ne => op,
    }
}

/// Whether a value does not change while rows of further tables are read, once `known` have been.
pub(super) fn is_known(e: &Expr, known: TableSet) -> bool {
    e.tables().is_subset(known) && !is_random(e)
}

/// Whether it changes from row to row without looking at columns: RAND(), assignments.
pub(super) fn is_random(e: &Expr) -> bool {
    if e.constness() != Constness::Row {
        return false;
    }
    match e.node() {
        Node::Column { .. } | Node::Aggregate(_) | Node::Window(_) => false,
        Node::Subquery(sub) => sub.left.iter().any(is_random),
        _ => {
            let (mut changing, mut random) = (false, false);
            e.children(&mut |child| {
                changing |= child.constness() == Constness::Row;
                random |= is_random(child);
            });
            random || !changing
        }
    }
}
