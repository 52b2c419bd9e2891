//! Values of results as Rust types.

use std::borrow::Cow;
use vaquita_sql::types::{Date, DateTime, Decimal, Time};
use vaquita_sql::{ColumnMeta, SqlError, SqlResult, Value};

/// A Rust type that a column's value can be taken as. Conversions never lose anything: a value that does not fit is an
/// error.
pub trait FromValue<'r>: Sized {
    /// Takes the value.
    ///
    /// # Errors
    /// It is not of that type, or outside its range.
    fn from_value(value: &'r Value<'r>, column: &ColumnMeta) -> SqlResult<Self>;
}

/// Characters of a value that a message shows.
const SHOWN: usize = 64;

fn mismatch(value: &Value<'_>, column: &ColumnMeta, wanted: &str) -> SqlError {
    let name = String::from_utf8_lossy(&column.name);
    let found = match value {
        Value::Null => "NULL".to_owned(),
        other => {
            let kind = format!("{:?}", column.ty.kind).to_uppercase();
            format!("{} of type {kind}", shown(&other.to_text(&column.ty)))
        }
    };
    SqlError::new(1366, format!("Column '{name}' is {found}, not {wanted}"))
}

/// A value's beginning as text for people.
fn shown(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("'{}...'", &text[..end]),
        None => format!("'{text}'"),
    }
}

fn integer(value: &Value<'_>) -> Option<i128> {
    Some(match value {
        Value::Int(v) => i128::from(*v),
        Value::UInt(v) | Value::Bit { value: v, .. } | Value::Label { number: v, .. } => i128::from(*v),
        _ => return None,
    })
}

macro_rules! integers {
    ($($ty:ty),*) => {
        $(impl FromValue<'_> for $ty {
            fn from_value(value: &Value<'_>, column: &ColumnMeta) -> SqlResult<Self> {
                let number = integer(value).and_then(|v| <$ty>::try_from(v).ok());
                number.ok_or_else(|| mismatch(value, column, stringify!($ty)))
            }
        })*
    };
}
integers!(i8, i16, i32, i64, u8, u16, u32, u64);

impl FromValue<'_> for bool {
    fn from_value(value: &Value<'_>, column: &ColumnMeta) -> SqlResult<Self> {
        integer(value).map(|v| v != 0).ok_or_else(|| mismatch(value, column, "bool"))
    }
}

impl FromValue<'_> for f64 {
    fn from_value(value: &Value<'_>, column: &ColumnMeta) -> SqlResult<Self> {
        Ok(match value {
            Value::Double(v) => *v,
            Value::Float(v) => f64::from(*v),
            Value::Decimal(v) => v.to_f64(),
            other => {
                let exact = integer(other).filter(|v| v.unsigned_abs() <= 1 << 53);
                exact.ok_or_else(|| mismatch(value, column, "f64"))? as f64
            }
        })
    }
}

impl FromValue<'_> for f32 {
    fn from_value(value: &Value<'_>, column: &ColumnMeta) -> SqlResult<Self> {
        match value {
            Value::Float(v) => Ok(*v),
            _ => Err(mismatch(value, column, "f32")),
        }
    }
}

impl<'r> FromValue<'r> for &'r [u8] {
    fn from_value(value: &'r Value<'r>, column: &ColumnMeta) -> SqlResult<Self> {
        match value {
            Value::Bytes(v) => Ok(v),
            Value::Label { text, .. } => Ok(text),
            _ => Err(mismatch(value, column, "bytes")),
        }
    }
}

impl<'r> FromValue<'r> for &'r str {
    fn from_value(value: &'r Value<'r>, column: &ColumnMeta) -> SqlResult<Self> {
        let bytes = <&[u8]>::from_value(value, column).map_err(|_| mismatch(value, column, "text"))?;
        std::str::from_utf8(bytes).map_err(|_| mismatch(value, column, "UTF-8 text"))
    }
}

impl FromValue<'_> for Vec<u8> {
    fn from_value(value: &Value<'_>, column: &ColumnMeta) -> SqlResult<Self> {
        match value {
            Value::Null => Err(mismatch(value, column, "bytes")),
            Value::Bytes(v) => Ok(v.clone().into_owned()),
            other => Ok(text_of(other, column).into_bytes()),
        }
    }
}

/// Numbers and times give the text the server would send.
impl FromValue<'_> for String {
    fn from_value(value: &Value<'_>, column: &ColumnMeta) -> SqlResult<Self> {
        match value {
            Value::Null => Err(mismatch(value, column, "String")),
            Value::Bytes(v) => {
                std::str::from_utf8(v).map(str::to_owned).map_err(|_| mismatch(value, column, "UTF-8 text"))
            }
            other => Ok(text_of(other, column)),
        }
    }
}

fn text_of(value: &Value<'_>, column: &ColumnMeta) -> String {
    let mut out = Vec::new();
    value.push_text(&column.ty, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

macro_rules! plain {
    ($($ty:ident $name:literal),*) => {
        $(impl FromValue<'_> for $ty {
            fn from_value(value: &Value<'_>, column: &ColumnMeta) -> SqlResult<Self> {
                match value {
                    Value::$ty(v) => Ok(*v),
                    _ => Err(mismatch(value, column, $name)),
                }
            }
        })*
    };
}
plain!(Decimal "DECIMAL", Date "DATE", Time "TIME", DateTime "DATETIME");

impl FromValue<'_> for Value<'static> {
    fn from_value(value: &Value<'_>, _: &ColumnMeta) -> SqlResult<Self> {
        Ok(value.clone().into_owned())
    }
}

impl<'r> FromValue<'r> for Cow<'r, [u8]> {
    fn from_value(value: &'r Value<'r>, column: &ColumnMeta) -> SqlResult<Self> {
        <&[u8]>::from_value(value, column).map(Cow::Borrowed)
    }
}

impl<'r, T: FromValue<'r>> FromValue<'r> for Option<T> {
    fn from_value(value: &'r Value<'r>, column: &ColumnMeta) -> SqlResult<Self> {
        if value.is_null() { Ok(None) } else { T::from_value(value, column).map(Some) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vaquita_sql::types::SqlType;

    #[test]
    fn a_value_of_another_type_is_shown_as_text() {
        let column = ColumnMeta::new("c", SqlType::varchar(100, 33));
        let told = |value: Value<'_>| i64::from_value(&value, &column).map_err(|e| e.message.into_owned());
        assert_eq!(
            told(Value::bytes(b"later")),
            Err("Column 'c' is 'later' of type VARCHAR, not i64".into())
        );
        let long = Err(format!("Column 'c' is '{}...' of type VARCHAR, not i64", "x".repeat(SHOWN)));
        assert_eq!(told(Value::owned(vec![b'x'; 1000])), long);
        assert_eq!(told(Value::Null), Err("Column 'c' is NULL, not i64".into()));
    }
}
