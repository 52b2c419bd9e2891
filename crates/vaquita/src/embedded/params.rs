//! Parameters of statements.

use std::borrow::Cow;
use vaquita_sql::types::{Date, DateTime, Decimal, Time};
use vaquita_sql::{SqlResult, Value};

/// A Rust value as a parameter.
pub trait ToValue {
    /// As a value.
    fn to_value(&self) -> Value<'_>;
}

macro_rules! integers {
    ($($signed:ty),*; $($unsigned:ty),*) => {
        $(impl ToValue for $signed {
            fn to_value(&self) -> Value<'_> {
                Value::Int(i64::from(*self))
            }
        })*
        $(impl ToValue for $unsigned {
            fn to_value(&self) -> Value<'_> {
                Value::UInt(u64::from(*self))
            }
        })*
    };
}
integers!(i8, i16, i32, i64, bool; u8, u16, u32, u64);

impl ToValue for f32 {
    fn to_value(&self) -> Value<'_> {
        Value::Float(*self)
    }
}

impl ToValue for f64 {
    fn to_value(&self) -> Value<'_> {
        Value::Double(*self)
    }
}

impl ToValue for str {
    fn to_value(&self) -> Value<'_> {
        Value::bytes(self.as_bytes())
    }
}

impl ToValue for String {
    fn to_value(&self) -> Value<'_> {
        Value::bytes(self.as_bytes())
    }
}

impl ToValue for [u8] {
    fn to_value(&self) -> Value<'_> {
        Value::bytes(self)
    }
}

impl ToValue for Vec<u8> {
    fn to_value(&self) -> Value<'_> {
        Value::bytes(self)
    }
}

impl<const N: usize> ToValue for [u8; N] {
    fn to_value(&self) -> Value<'_> {
        Value::bytes(self)
    }
}

impl ToValue for Cow<'_, str> {
    fn to_value(&self) -> Value<'_> {
        Value::bytes(self.as_bytes())
    }
}

impl ToValue for Decimal {
    fn to_value(&self) -> Value<'_> {
        Value::Decimal(*self)
    }
}

impl ToValue for Date {
    fn to_value(&self) -> Value<'_> {
        Value::Date(*self)
    }
}

impl ToValue for Time {
    fn to_value(&self) -> Value<'_> {
        Value::Time(*self)
    }
}

impl ToValue for DateTime {
    fn to_value(&self) -> Value<'_> {
        Value::DateTime(*self)
    }
}

impl ToValue for Value<'_> {
    fn to_value(&self) -> Value<'_> {
        self.borrowed()
    }
}

impl<T: ToValue> ToValue for Option<T> {
    fn to_value(&self) -> Value<'_> {
        self.as_ref().map_or(Value::Null, ToValue::to_value)
    }
}

impl<T: ToValue + ?Sized> ToValue for &T {
    fn to_value(&self) -> Value<'_> {
        (**self).to_value()
    }
}

/// The parameters of one execution: `()`, a tuple, or a slice or array of one type.
pub trait Params {
    /// Calls `body` with the values.
    ///
    /// # Errors
    /// Those of `body`.
    fn with(&self, body: &mut dyn FnMut(&[Value<'_>]) -> SqlResult<()>) -> SqlResult<()>;
}

impl Params for () {
    fn with(&self, body: &mut dyn FnMut(&[Value<'_>]) -> SqlResult<()>) -> SqlResult<()> {
        body(&[])
    }
}

impl<T: ToValue> Params for [T] {
    fn with(&self, body: &mut dyn FnMut(&[Value<'_>]) -> SqlResult<()>) -> SqlResult<()> {
        let values: Vec<Value<'_>> = self.iter().map(ToValue::to_value).collect();
        body(&values)
    }
}

impl<T: ToValue, const N: usize> Params for [T; N] {
    fn with(&self, body: &mut dyn FnMut(&[Value<'_>]) -> SqlResult<()>) -> SqlResult<()> {
        body(&self.each_ref().map(ToValue::to_value))
    }
}

impl<T: Params + ?Sized> Params for &T {
    fn with(&self, body: &mut dyn FnMut(&[Value<'_>]) -> SqlResult<()>) -> SqlResult<()> {
        (**self).with(body)
    }
}

macro_rules! tuples {
    ($(($($name:ident $at:tt),+))*) => {
        $(impl<$($name: ToValue),+> Params for ($($name,)+) {
            fn with(&self, body: &mut dyn FnMut(&[Value<'_>]) -> SqlResult<()>) -> SqlResult<()> {
                body(&[$(self.$at.to_value()),+])
            }
        })*
    };
}
tuples! {
    (A 0)
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
    (A 0, B 1, C 2, D 3, E 4)
    (A 0, B 1, C 2, D 3, E 4, F 5)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11)
}
