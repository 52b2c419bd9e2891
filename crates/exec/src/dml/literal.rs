//! Values of literals, without compiling them.

use vaquita_parser::ast::{Expr, ExprKind, Literal, UnaryOp};
use vaquita_session::SessionState;
use vaquita_types::number::parse_f64;
use vaquita_types::{Decimal, Kind, SqlType, Value};

/// Types of literals under one connection.
#[derive(Debug)]
pub(crate) struct Literals {
    null: SqlType,
    int: SqlType,
    unsigned: SqlType,
    decimal: SqlType,
    double: SqlType,
    text: SqlType,
}

impl Literals {
    pub(crate) fn new(state: &SessionState) -> Literals {
        Literals {
            null: SqlType::new(Kind::Null),
            int: SqlType::bigint(false),
            unsigned: SqlType::bigint(true),
            decimal: SqlType::decimal(65, 30),
            double: SqlType::double(),
            text: SqlType::varchar(u32::MAX, state.vars.collation_connection),
        }
    }

    /// Value and type of a plain literal or a number with a sign; `None` for anything else, which is to be compiled.
    #[inline]
    pub(crate) fn value<'a>(&self, expr: &Expr<'a>) -> Option<(Value<'a>, &SqlType)> {
        match expr.kind {
            ExprKind::Literal(literal) | ExprKind::Lifted { literal, .. } => self.plain(literal),
            ExprKind::Unary { op: UnaryOp::Neg, operand } => match operand.kind {
                ExprKind::Literal(literal) | ExprKind::Lifted { literal, .. } => self.negative(literal),
                _ => None,
            },
            _ => None,
        }
    }

    fn plain<'a>(&self, literal: Literal<'a>) -> Option<(Value<'a>, &SqlType)> {
        Some(match literal {
            Literal::Null => (Value::Null, &self.null),
            Literal::Bool(truth) => (Value::bool(truth), &self.int),
            Literal::Int(n) => match i64::try_from(n) {
                Ok(n) => (Value::Int(n), &self.int),
                Err(_) => (Value::UInt(n), &self.unsigned),
            },
            Literal::String(text) => (Value::bytes(text), &self.text),
            Literal::Float(text) => (Value::Double(parse_f64(text).value), &self.double),
            Literal::Decimal(text) => (Value::Decimal(self.decimal(text)?), &self.decimal),
            Literal::Introduced { .. } | Literal::Hex(_) | Literal::Bit(_) | Literal::Temporal { .. } => {
                return None;
            }
        })
    }

    fn negative<'a>(&self, literal: Literal<'a>) -> Option<(Value<'a>, &SqlType)> {
        Some(match literal {
            Literal::Int(n) => (Value::Int(0i64.checked_sub_unsigned(n)?), &self.int),
            Literal::Float(text) => (Value::Double(-parse_f64(text).value), &self.double),
            Literal::Decimal(text) => (Value::Decimal(self.decimal(text)?.neg()), &self.decimal),
            _ => return None,
        })
    }

    /// Digits as a DECIMAL; those of a number that has too many are left to the compiler.
    fn decimal(&self, text: &[u8]) -> Option<Decimal> {
        let parsed = Decimal::parse(text);
        (parsed.used == text.len() && !parsed.overflow).then_some(parsed.value)
    }
}
