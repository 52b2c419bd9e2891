//! Aggregate functions.

use super::node::Expr;
use super::{EvalCx, row::Row};
use vaquita_parser::ast::AggregateKind;
use vaquita_types::{SqlResult, SqlType, Value};

/// A compiled aggregate call.
#[derive(Debug, Clone)]
pub struct Aggregate {
    /// Which.
    pub kind: AggregateKind,
    /// DISTINCT.
    pub distinct: bool,
    /// Arguments.
    pub args: Box<[Expr]>,
    /// ORDER BY of GROUP_CONCAT; `true`: descending.
    pub order_by: Box<[(Expr, bool)]>,
    /// SEPARATOR of GROUP_CONCAT, in the result's character set.
    pub separator: Box<[u8]>,
    /// Type of the result.
    pub ty: SqlType,
}

impl Aggregate {
    /// An empty accumulator for it.
    pub fn accumulator(&self) -> Accumulator {
        unimplemented!()
    }
}

/// The state of one aggregate over one group.
#[derive(Debug)]
pub struct Accumulator {}

impl Accumulator {
    /// Back to no rows.
    pub fn reset(&mut self) {
        unimplemented!()
    }

    /// Takes a row of the group.
    ///
    /// # Errors
    /// Of the arguments; overflow.
    pub fn add(&mut self, of: &Aggregate, cx: &mut EvalCx<'_>, row: &Row<'_>) -> SqlResult<()> {
        let _ = (of, cx, row);
        unimplemented!()
    }

    /// The result over the rows taken.
    ///
    /// # Errors
    /// Overflow.
    pub fn finish(&mut self, of: &Aggregate, cx: &mut EvalCx<'_>) -> SqlResult<Value<'static>> {
        let _ = (of, cx);
        unimplemented!()
    }
}
