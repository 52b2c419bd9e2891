//! Values of expressions as one type or another: what functions ask of their arguments.

use super::arith::{integer_of, leading_integer};
use super::node::{Expr, Node};
use super::{EvalCx, row::Row};
use std::borrow::Cow;
use vaquita_types::convert::shown;
use vaquita_types::number::parse_f64;
use vaquita_types::temporal::{Date, DateTime, Time};
use vaquita_types::{Decimal, SqlResult, Value};

impl Expr {
    /// The value as it is stored in a column or variable: a DECIMAL that was calculated has all its digits then, not only those of its
    /// type.
    ///
    /// # Errors
    /// Those of evaluating it.
    pub fn eval_to_store<'r>(&'r self, cx: &mut EvalCx<'_>, row: &'r Row<'r>) -> SqlResult<Value<'r>> {
        match super::arith::unrounded(self, cx, row) {
            Some(value) => Ok(value?.map_or(Value::Null, Value::Decimal)),
            None => match (self.eval(cx, row)?, &self.node) {
                // Of an ENUM that was calculated the text counts.
                (Value::Label { text, .. }, Node::Call(_) | Node::Subquery(_)) => Ok(Value::Bytes(text)),
                (value, _) => Ok(value),
            },
        }
    }

    /// As a DOUBLE; `None` for NULL.
    pub(super) fn double(&self, cx: &mut EvalCx<'_>, row: &Row<'_>) -> SqlResult<Option<f64>> {
        Ok(match self.eval(cx, row)? {
            Value::Null => None,
            Value::Double(v) => Some(v),
            Value::Int(v) => Some(v as f64),
            // Empty text is 0 without a warning.
            Value::Bytes(text) if text.is_empty() => Some(0.0),
            v => match self.quiet_text(&v) {
                Some(text) => Some(parse_f64(text).value),
                None => Some(v.to_f64(&mut cx.convert())),
            },
        })
    }

    /// As an integer of either signedness. Numbers are rounded, text is read up to what is no digit.
    pub(super) fn integer(&self, cx: &mut EvalCx<'_>, row: &Row<'_>) -> SqlResult<Option<i128>> {
        Ok(match self.eval(cx, row)? {
            Value::Null => None,
            Value::Int(v) => Some(i128::from(v)),
            Value::UInt(v) => Some(i128::from(v)),
            v => Some(self.whole_number(&v, cx)),
        })
    }

    /// [`Expr::integer`] of its value, which is not NULL.
    pub(super) fn whole_number(&self, v: &Value<'_>, cx: &mut EvalCx<'_>) -> i128 {
        match self.quiet_text(v) {
            Some(text) => leading_integer(text).0,
            None => integer_of(v, cx),
        }
    }

    /// As a signed 64 bit integer: unsigned ones wrap around.
    pub(super) fn int(&self, cx: &mut EvalCx<'_>, row: &Row<'_>) -> SqlResult<Option<i64>> {
        Ok(self.integer(cx, row)?.map(|v| v as i64))
    }

    /// As a DECIMAL.
    pub(super) fn decimal(&self, cx: &mut EvalCx<'_>, row: &Row<'_>) -> SqlResult<Option<Decimal>> {
        if let Some(unrounded) = super::arith::unrounded(self, cx, row) {
            return unrounded;
        }
        Ok(match self.eval(cx, row)? {
            Value::Null => None,
            Value::Decimal(v) => Some(v),
            Value::Int(v) => Some(Decimal::from(v)),
            v => Some(v.to_decimal(&mut cx.convert())),
        })
    }

    /// As text in its collation's character set; numbers and times are ASCII.
    pub(super) fn text<'r>(
        &'r self,
        cx: &mut EvalCx<'_>,
        row: &'r Row<'r>,
    ) -> SqlResult<Option<Cow<'r, [u8]>>> {
        Ok(match self.eval(cx, row)? {
            Value::Null => None,
            Value::Bytes(v) | Value::Label { text: v, .. } => Some(v),
            v => {
                let mut out = Vec::new();
                v.push_text(&self.ty, &mut out);
                if matches!(v, Value::Json(_)) {
                    vaquita_types::memory::account::pay()?;
                }
                Some(Cow::Owned(out))
            }
        })
    }

    /// As a date with time; `None` also for what is no date (a warning is given). Zero parts are let through.
    pub(super) fn datetime(&self, cx: &mut EvalCx<'_>, row: &Row<'_>) -> SqlResult<Option<DateTime>> {
        Ok(match self.eval(cx, row)? {
            Value::Null => None,
            Value::DateTime(v) => Some(v),
            Value::Date(date) => Some(DateTime { date, ..DateTime::default() }),
            v @ Value::Bytes(_) => v.to_datetime(&mut cx.convert_text()),
            v => v.to_datetime(&mut cx.convert()),
        })
    }

    /// As [`Expr::datetime`], but dates that `sql_mode` refuses are none.
    pub(super) fn real_datetime(&self, cx: &mut EvalCx<'_>, row: &Row<'_>) -> SqlResult<Option<DateTime>> {
        Ok(match self.eval(cx, row)? {
            Value::Null => None,
            v @ Value::Bytes(_) => v.to_datetime(&mut cx.convert_text()),
            v => v.to_datetime(&mut cx.convert()),
        })
    }

    /// As [`Expr::real_datetime`], but one whose month or day is zero is none either: of text and numbers this is said, also if a function
    /// has made a date of them; of columns it is not.
    pub(super) fn whole_datetime(&self, cx: &mut EvalCx<'_>, row: &Row<'_>) -> SqlResult<Option<DateTime>> {
        let v = self.eval(cx, row)?;
        self.whole(&v, cx, row)
    }

    /// [`Expr::whole_datetime`] of its value.
    pub(super) fn whole(
        &self,
        v: &Value<'_>,
        cx: &mut EvalCx<'_>,
        row: &Row<'_>,
    ) -> SqlResult<Option<DateTime>> {
        let Some(d) = v.to_datetime(&mut cx.convert()) else { return Ok(None) };
        if d.date.month != 0 && d.date.day != 0 {
            return Ok(Some(d));
        }
        let mut source = self;
        while let Node::Call(call) = &source.node
            && let ("date" | "timestamp" | "cast", [of]) = (call.name, &*call.args)
        {
            source = of;
        }
        if !source.ty.kind.is_temporal()
            && let Some(text) = source.text(cx, row)?
        {
            cx.warn(1292, format!("Incorrect datetime value: '{}'", shown(&text)));
        }
        Ok(None)
    }

    /// As a date.
    pub(super) fn date(&self, cx: &mut EvalCx<'_>, row: &Row<'_>) -> SqlResult<Option<Date>> {
        Ok(match self.eval(cx, row)? {
            Value::Null => None,
            Value::DateTime(v) => Some(v.date),
            Value::Date(v) => Some(v),
            v @ Value::Bytes(_) => v.to_date(&mut cx.convert_text()),
            v => v.to_date(&mut cx.convert()),
        })
    }

    /// As a time.
    pub(super) fn time(&self, cx: &mut EvalCx<'_>, row: &Row<'_>) -> SqlResult<Option<Time>> {
        Ok(match self.eval(cx, row)? {
            Value::Null => None,
            Value::Time(v) => Some(v),
            v if is_no_time(&v, cx) => {
                let text = String::from_utf8_lossy(&v.to_text(&self.ty)).into_owned();
                cx.warn(1292, format!("Truncated incorrect time value: '{text}'"));
                None
            }
            v => v.to_time(&mut cx.convert()),
        })
    }
}

/// Whether a number is neither a time nor a date with time: beyond 838:59:59, and too short or too long for a date.
pub(super) fn is_no_time(v: &Value<'_>, cx: &mut EvalCx<'_>) -> bool {
    let number = match v {
        Value::Int(_) | Value::UInt(_) | Value::Decimal(_) | Value::Double(_) | Value::Float(_) => {
            integer_of(v, cx)
        }
        _ => return false,
    };
    let beyond = number.unsigned_abs() > 8_385_959;
    beyond && !(10_000_000_000..=99_999_999_999_999).contains(&number)
}
