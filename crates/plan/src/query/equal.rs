//! Equal columns: a value that one of them must have is that of the others, too. Instead of being compared with each other, each is
//! compared with the value, and found by it: `v.id = c.n AND c.n = 2` reads one row of `v`, whichever table comes first.
//!
//! That holds where equality is an equivalence: whole numbers, DECIMALs, texts of one collation, times of one type.

use crate::columns::column_of;
use crate::sarg::is_random;
use vaquita_expr::node::CmpOp;
use vaquita_expr::{CompileCx, Expr, Node, equal};
use vaquita_types::compare::CompareAs;
use vaquita_types::{Kind, SqlResult};

/// A column that has a value.
#[derive(Debug, Clone)]
pub(crate) struct Fixed {
    column: (usize, usize),
    how: CompareAs,
    value: Expr,
}

/// Columns that are equal, with the conditions that say so.
struct Class {
    columns: Vec<((usize, usize), Expr)>,
    how: CompareAs,
    conditions: Vec<usize>,
}

/// Two operands that must be equal.
fn equality(condition: &Expr) -> Option<(CompareAs, &Expr, &Expr)> {
    match condition.node() {
        Node::Compare { op: CmpOp::Eq, how, sides } => Some((*how, &sides[0], &sides[1])),
        _ => None,
    }
}

/// Whether columns, or a column and a value, of these types are equal in this way only if they are the same to everything else.
fn is_equivalence(how: CompareAs, a: &Expr, b: &Expr) -> bool {
    let (a, b) = (a.ty(), b.ty());
    let integer = |kind: Kind| kind.is_integer() && kind != Kind::Year;
    match how {
        CompareAs::Int => integer(a.kind) && integer(b.kind),
        CompareAs::Decimal => a.kind == Kind::Decimal && b.kind == Kind::Decimal,
        CompareAs::Text(collation) => {
            a.kind.is_string() && b.kind.is_string() && a.collation == collation && b.collation == collation
        }
        CompareAs::Date | CompareAs::DateTime | CompareAs::Time => a.kind == b.kind,
        _ => false,
    }
}

/// The column that a condition gives a value.
fn fixed(condition: &Expr) -> Option<Fixed> {
    let (how, a, b) = equality(condition)?;
    let is_value = |e: &Expr| e.tables().is_empty() && !e.info().has_subquery && !is_random(e);
    let (of, value) = if is_value(b) { (a, b) } else { (b, a) };
    let column = column_of(of).filter(|_| is_value(value) && is_equivalence(how, of, value))?;
    Some(Fixed { column, how, value: value.clone() })
}

/// Takes the equalities of columns that have a value apart. `known`: columns that conditions further out give a value. Those that
/// have one now are given back.
///
/// # Errors
/// Those of compiling a comparison.
pub(crate) fn propagate(
    conditions: &mut Vec<Expr>,
    known: &[Fixed],
    cx: &mut CompileCx<'_>,
) -> SqlResult<Vec<Fixed>> {
    let mut all: Vec<Fixed> = conditions.iter().filter_map(fixed).collect();
    let here = all.len();
    all.extend_from_slice(known);
    let mut gone: Vec<usize> = Vec::new();
    for class in classes(conditions) {
        let is_member =
            |f: &&Fixed| f.how == class.how && class.columns.iter().any(|(at, _)| *at == f.column);
        let Some(value) = all.iter().find(is_member).map(|f| f.value.clone()) else { continue };
        // One that must have two values has both conditions: no row satisfies them.
        let has_value = |at: &(usize, usize)| {
            all.iter().any(|f| f.column == *at && f.how == class.how && f.value.same_as(&value))
        };
        let mut new = Vec::new();
        for (at, column) in class.columns.iter().filter(|(at, _)| !has_value(at)) {
            let condition = equal(column.clone(), value.clone(), cx)?;
            new.extend(
                fixed(&condition).filter(|f| f.column == *at && f.how == class.how).zip(Some(condition)),
            );
        }
        if new.len() < class.columns.iter().filter(|(at, _)| !has_value(at)).count() {
            continue;
        }
        gone.extend(class.conditions);
        for (column, condition) in new {
            all.push(column);
            conditions.push(condition);
        }
    }
    let mut at = 0;
    conditions.retain(|_| {
        at += 1;
        !gone.contains(&(at - 1))
    });
    all.drain(here..here + known.len());
    Ok(all)
}

fn classes(conditions: &[Expr]) -> Vec<Class> {
    let mut classes: Vec<Class> = Vec::new();
    for (n, condition) in conditions.iter().enumerate() {
        let Some((how, a, b)) = equality(condition) else { continue };
        let (Some(left), Some(right)) = (column_of(a), column_of(b)) else { continue };
        if left == right || !is_equivalence(how, a, b) {
            continue;
        }
        let mut merged =
            Class { columns: vec![(left, a.clone()), (right, b.clone())], how, conditions: vec![n] };
        let (mine, others): (Vec<Class>, Vec<Class>) = classes.into_iter().partition(|class| {
            class.how == how && class.columns.iter().any(|(at, _)| *at == left || *at == right)
        });
        classes = others;
        for class in mine {
            merged.conditions.extend(class.conditions);
            for column in class.columns {
                if !merged.columns.iter().any(|(at, _)| *at == column.0) {
                    merged.columns.push(column);
                }
            }
        }
        classes.push(merged);
    }
    classes
}
