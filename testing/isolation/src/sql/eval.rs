//! Values of expressions, with SQL's third truth value.

use super::ast::{Expr, Operator, Value};

/// Where column values come from.
pub trait Row {
    /// The value of a column; `None` if there is no such column.
    fn value(&self, column: &str) -> Option<Value>;
}

/// The value of an expression on a row; comparisons give 1, 0 or NULL. Unknown columns are NULL.
pub fn evaluate(expr: &Expr, row: &dyn Row) -> Value {
    match expr {
        Expr::Column(name) => row.value(name).unwrap_or(Value::Null),
        Expr::Literal(value) => value.clone(),
        Expr::Binary(Operator::And, a, b) => logic(truth(&evaluate(a, row)), truth(&evaluate(b, row)), false),
        Expr::Binary(Operator::Or, a, b) => logic(truth(&evaluate(a, row)), truth(&evaluate(b, row)), true),
        Expr::Binary(operator, a, b) => binary(*operator, &evaluate(a, row), &evaluate(b, row)),
        Expr::In(e, list) => {
            let e = evaluate(e, row);
            list.iter().fold(from_truth(Some(false)), |found, value| {
                logic(truth(&found), truth(&binary(Operator::Equal, &e, value)), true)
            })
        }
        Expr::Between(e, low, high) => {
            let e = evaluate(e, row);
            let above = binary(Operator::GreaterEqual, &e, low);
            logic(truth(&above), truth(&binary(Operator::LessEqual, &e, high)), false)
        }
        Expr::IsNull(e) => from_truth(Some(evaluate(e, row) == Value::Null)),
    }
}

/// Whether a condition holds: true, neither false nor NULL.
pub fn is_true(condition: Option<&Expr>, row: &dyn Row) -> bool {
    condition.is_none_or(|condition| truth(&evaluate(condition, row)) == Some(true))
}

fn truth(value: &Value) -> Option<bool> {
    match value {
        Value::Null => None,
        Value::Int(n) => Some(*n != 0),
        Value::Text(_) => Some(false),
    }
}

fn from_truth(truth: Option<bool>) -> Value {
    truth.map_or(Value::Null, |truth| Value::Int(truth.into()))
}

/// AND and OR: `winner` decides whatever the other side is.
fn logic(a: Option<bool>, b: Option<bool>, winner: bool) -> Value {
    from_truth(match (a, b) {
        (Some(a), _) if a == winner => Some(winner),
        (_, Some(b)) if b == winner => Some(winner),
        (Some(_), Some(_)) => Some(!winner),
        _ => None,
    })
}

fn binary(operator: Operator, a: &Value, b: &Value) -> Value {
    let compared = || match (a, b) {
        (Value::Null, _) | (_, Value::Null) => None,
        // The default collation does not tell cases apart.
        (Value::Text(a), Value::Text(b)) => Some(a.to_lowercase().cmp(&b.to_lowercase())),
        (a, b) => Some(a.cmp(b)),
    };
    let (Value::Int(x), Value::Int(y)) = (a, b) else {
        return comparison(operator, compared());
    };
    match operator {
        Operator::Add => Value::Int(x + y),
        Operator::Subtract => Value::Int(x - y),
        Operator::Modulo if *y == 0 => Value::Null,
        Operator::Modulo => Value::Int(x % y),
        _ => comparison(operator, compared()),
    }
}

fn comparison(operator: Operator, order: Option<std::cmp::Ordering>) -> Value {
    from_truth(order.and_then(|order| {
        Some(match operator {
            Operator::Equal => order.is_eq(),
            Operator::NotEqual => order.is_ne(),
            Operator::Less => order.is_lt(),
            Operator::LessEqual => order.is_le(),
            Operator::Greater => order.is_gt(),
            Operator::GreaterEqual => order.is_ge(),
            _ => return None,
        })
    }))
}

#[cfg(test)]
mod tests {
    use super::super::ast::Statement;
    use super::super::parse;
    use super::*;

    struct Fixed;
    impl Row for Fixed {
        fn value(&self, column: &str) -> Option<Value> {
            match column {
                "a" => Some(Value::Int(6)),
                "s" => Some(Value::Text("Carl".into())),
                _ => Some(Value::Null),
            }
        }
    }

    fn holds(condition: &str) -> bool {
        let sql = format!("select * from t where {condition}");
        let Statement::Select { filter, .. } = parse(&sql).unwrap() else { panic!() };
        is_true(filter.as_ref(), &Fixed)
    }

    #[test]
    fn conditions() {
        assert!(holds("a = 6 and a % 3 = 0 and a between 6 and 7 and a in (1, 6) and a + 1 > a"));
        assert!(holds("s = 'carl' and s >= 'b' and s < 'd'"));
        assert!(holds("n is null or a = 1"));
        assert!(!holds("n = 1") && !holds("n <> 1") && !holds("a = 6 and n = 1"));
        assert!(holds("a = 6 or n = 1"));
        assert!(!holds("a in (1, null)") && holds("a in (6, null)"));
    }
}
