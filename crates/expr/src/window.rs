//! Window functions: compiled calls. Compiling an expression with one puts it on the list of [`super::CompileCx::windows`]; what
//! is left refers to its result.

use super::aggregate::Aggregate;
use super::node::{CompareAs, Expr};
use vaquita_types::{SqlError, SqlType};

/// How windows without a name are called.
pub const UNNAMED: &str = "<unnamed window>";

/// Error 3593.
pub fn misplaced(function: &str) -> SqlError {
    SqlError::new(3593, format!("You cannot use the window function '{function}' in this context.'"))
}

/// What a window function does.
#[derive(Debug, Clone)]
pub enum WindowKind {
    /// `ROW_NUMBER()`.
    RowNumber,
    /// `RANK()`.
    Rank,
    /// `DENSE_RANK()`.
    DenseRank,
    /// `PERCENT_RANK()`.
    PercentRank,
    /// `CUME_DIST()`.
    CumeDist,
    /// `NTILE(n)`.
    Ntile,
    /// `LAG(x, n, default)`.
    Lag,
    /// `LEAD(x, n, default)`.
    Lead,
    /// `FIRST_VALUE(x)`.
    FirstValue,
    /// `LAST_VALUE(x)`.
    LastValue,
    /// `NTH_VALUE(x, n)`.
    NthValue,
    /// An aggregate over the rows of the frame.
    Aggregate(Box<Aggregate>),
}

impl WindowKind {
    /// Whether it looks at the rows of its frame; others have the whole partition.
    pub fn has_frame(&self) -> bool {
        matches!(
            self,
            WindowKind::FirstValue | WindowKind::LastValue | WindowKind::NthValue | WindowKind::Aggregate(_)
        )
    }
}

/// A compiled call.
#[derive(Debug, Clone)]
pub struct WindowCall {
    /// What it does.
    pub kind: WindowKind,
    /// What is evaluated for each row: the value, and the default of LAG and LEAD. Those of an aggregate are in it.
    pub args: Vec<Expr>,
    /// n of NTILE, LAG, LEAD, NTH_VALUE: the same for all rows.
    pub count: Option<Expr>,
    /// Over what.
    pub window: Window,
    /// Type of the result.
    pub ty: SqlType,
}

/// A compiled window.
#[derive(Debug, Clone)]
pub struct Window {
    /// As messages call it.
    pub name: String,
    /// PARTITION BY.
    pub partition: Vec<Expr>,
    /// ORDER BY; `true`: descending.
    pub order: Vec<(Expr, bool)>,
    /// The frame, if one is said.
    pub frame: Option<Frame>,
}

/// The rows around the present one that count.
#[derive(Debug, Clone)]
pub struct Frame {
    /// ROWS, not RANGE.
    pub rows: bool,
    /// From where.
    pub start: Bound,
    /// To where.
    pub end: Bound,
}

/// An end of a frame.
#[derive(Debug, Clone)]
pub enum Bound {
    /// The partition's first row.
    UnboundedPreceding,
    /// So far before the present row.
    Preceding(Distance),
    /// The present row; with RANGE its peers, too.
    CurrentRow,
    /// So far behind the present row.
    Following(Distance),
    /// The partition's last row.
    UnboundedFollowing,
}

/// How far.
#[derive(Debug, Clone)]
pub enum Distance {
    /// So many rows, or so much more or less; the same for all rows.
    Number(Expr),
    /// An interval: the value that the bound has for a row, and as what values are compared with it.
    Interval(Expr, CompareAs),
}

/// The window functions of a query block.
#[derive(Debug, Clone, Default)]
pub struct Windows {
    /// Those that were compiled so far.
    pub calls: Vec<WindowCall>,
    /// The windows of the WINDOW clause.
    pub named: Vec<Window>,
}

impl WindowCall {
    /// Whether both are the same call.
    pub(super) fn same_as(&self, other: &WindowCall) -> bool {
        let all = |a: &[Expr], b: &[Expr]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same_as(b));
        let kind = match (&self.kind, &other.kind) {
            (WindowKind::Aggregate(a), WindowKind::Aggregate(b)) => a.same_as(b),
            (a, b) => std::mem::discriminant(a) == std::mem::discriminant(b),
        };
        let count = match (&self.count, &other.count) {
            (Some(a), Some(b)) => a.same_as(b),
            (a, b) => a.is_none() && b.is_none(),
        };
        kind && count
            && all(&self.args, &other.args)
            && self.window.sorts_as(&other.window)
            && same_frame(self.window.frame.as_ref(), other.window.frame.as_ref())
    }
}

fn same_frame(a: Option<&Frame>, b: Option<&Frame>) -> bool {
    let same_bound = |a: &Bound, b: &Bound| {
        std::mem::discriminant(a) == std::mem::discriminant(b)
            && match (a, b) {
                (Bound::Preceding(a) | Bound::Following(a), Bound::Preceding(b) | Bound::Following(b)) => {
                    match (a, b) {
                        (Distance::Number(a), Distance::Number(b)) => a.same_as(b),
                        (Distance::Interval(a, _), Distance::Interval(b, _)) => a.same_as(b),
                        _ => false,
                    }
                }
                _ => true,
            }
    };
    match (a, b) {
        (Some(a), Some(b)) => {
            a.rows == b.rows && same_bound(&a.start, &b.start) && same_bound(&a.end, &b.end)
        }
        (a, b) => a.is_none() && b.is_none(),
    }
}

impl Window {
    /// Whether both have the same partitions.
    pub fn has_same_partitions(&self, other: &Window) -> bool {
        self.partition.len() == other.partition.len()
            && self.partition.iter().zip(&other.partition).all(|(a, b)| a.same_as(b))
    }

    /// Whether both have their rows in the same order.
    pub fn sorts_as(&self, other: &Window) -> bool {
        self.has_same_partitions(other)
            && self.order.len() == other.order.len()
            && self.order.iter().zip(&other.order).all(|((a, x), (b, y))| x == y && a.same_as(b))
    }
}

impl Expr {
    /// Whether a window function's result is part of it.
    pub fn has_window(&self) -> bool {
        let mut found = false;
        self.walk(&mut |e| found |= matches!(e.node(), super::node::Node::Window(_)));
        found
    }
}
