//! Which ranges of a column a condition leaves: what an index read over that column has to visit.

use super::ast::{Expr, Operator, Value};

/// An end of a range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bound {
    /// Where.
    pub value: Value,
    /// Whether the value itself belongs to the range.
    pub inclusive: bool,
}

/// A range of one column.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Range {
    /// Where it starts; open at the low end if not given (NULLs, which come first, never match a comparison).
    pub low: Option<Bound>,
    /// Where it ends.
    pub high: Option<Bound>,
}

impl Range {
    fn point(value: Value) -> Range {
        let bound = Some(Bound { value, inclusive: true });
        Range { low: bound.clone(), high: bound }
    }

    /// The one value of the range, if there is one.
    pub fn as_point(&self) -> Option<&Value> {
        match (&self.low, &self.high) {
            (Some(low), Some(high)) if low == high && low.inclusive => Some(&low.value),
            _ => None,
        }
    }

    /// Both conditions: the narrower ends.
    fn and(mut self, other: Range) -> Range {
        if let Some(low) = other.low
            && self
                .low
                .as_ref()
                .is_none_or(|mine| (&low.value, !low.inclusive) > (&mine.value, !mine.inclusive))
        {
            self.low = Some(low);
        }
        if let Some(high) = other.high
            && self
                .high
                .as_ref()
                .is_none_or(|mine| (&high.value, high.inclusive) < (&mine.value, mine.inclusive))
        {
            self.high = Some(high);
        }
        self
    }
}

/// The ranges of `column` that a condition leaves, in order; `None` if it says nothing about the column.
pub fn ranges(condition: Option<&Expr>, column: &str) -> Option<Vec<Range>> {
    match condition? {
        Expr::Binary(Operator::And, a, b) => match (ranges(Some(a), column), ranges(Some(b), column)) {
            (Some(mut a), Some(mut b)) if a.len() == 1 && b.len() == 1 => {
                Some(vec![a.remove(0).and(b.remove(0))])
            }
            (Some(a), _) => Some(a),
            (None, b) => b,
        },
        Expr::Binary(operator, a, b) => match (a.as_ref(), b.as_ref()) {
            (Expr::Column(name), Expr::Literal(value)) if name == column => compare(*operator, value),
            _ => None,
        },
        Expr::In(e, values) if **e == Expr::Column(column.to_owned()) => {
            let mut values = values.clone();
            values.sort();
            values.dedup();
            Some(values.into_iter().map(Range::point).collect())
        }
        Expr::Between(e, low, high) if **e == Expr::Column(column.to_owned()) => {
            let bound = |value: &Value| Some(Bound { value: value.clone(), inclusive: true });
            Some(vec![Range { low: bound(low), high: bound(high) }])
        }
        Expr::IsNull(e) if **e == Expr::Column(column.to_owned()) => Some(vec![Range::point(Value::Null)]),
        _ => None,
    }
}

fn compare(operator: Operator, value: &Value) -> Option<Vec<Range>> {
    let bound = |inclusive| Some(Bound { value: value.clone(), inclusive });
    Some(vec![match operator {
        Operator::Equal => Range::point(value.clone()),
        Operator::Less => Range { low: None, high: bound(false) },
        Operator::LessEqual => Range { low: None, high: bound(true) },
        Operator::Greater => Range { low: bound(false), high: None },
        Operator::GreaterEqual => Range { low: bound(true), high: None },
        _ => return None,
    }])
}

#[cfg(test)]
mod tests {
    use super::super::ast::Statement;
    use super::super::parse;
    use super::*;

    fn of(condition: &str) -> Option<Vec<Range>> {
        let sql = format!("select * from t where {condition}");
        let Statement::Select { filter, .. } = parse(&sql).unwrap() else { panic!() };
        ranges(filter.as_ref(), "a")
    }

    #[test]
    fn ranges_of_conditions() {
        let bound = |n, inclusive| Some(Bound { value: Value::Int(n), inclusive });
        assert_eq!(of("b = 1"), None);
        assert_eq!(of("a = 1 and b = 2"), Some(vec![Range::point(Value::Int(1))]));
        assert_eq!(of("a >= 1 and a < 5"), Some(vec![Range { low: bound(1, true), high: bound(5, false) }]));
        assert_eq!(of("a > 1"), Some(vec![Range { low: bound(1, false), high: None }]));
        assert_eq!(of("a in (3, 1, 3)").unwrap().len(), 2);
        assert_eq!(of("a between 1 and 3"), Some(vec![Range { low: bound(1, true), high: bound(3, true) }]));
        assert_eq!(of("a is null"), Some(vec![Range::point(Value::Null)]));
        assert!(of("a = 4").unwrap()[0].as_point().is_some());
    }
}
