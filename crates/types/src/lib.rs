//! SQL values: types, conversions, comparison, text forms, stored forms, errors. Pure code: no sessions, no tables.
//!
//! | part | module |
//! |---|---|
//! | a value, borrowed or owned | [`value`] |
//! | what a column or an expression is | [`sql_type`] |
//! | exact numbers | [`decimal`] |
//! | dates and times: parsing, printing, arithmetic | [`temporal`] |
//! | between types: MySQL's implicit conversions and CAST | [`convert`] |
//! | the order of values | [`compare`] |
//! | numbers as text | [`number`] |
//! | between values and a column's stored bytes | [`column`] |
//! | `sql_mode` | [`sql_mode`] |
//! | between UTC and local time | [`time_zone`] |
//! | types as clients see them | [`meta`] |
//! | JSON documents | [`json`] |
//! | long allocations that may fail | [`memory`] |
//! | error numbers, SQLSTATEs, messages; warnings | [`error`] |
#![forbid(unsafe_code)]

pub mod column;
pub mod compare;
pub mod convert;
pub mod decimal;
pub mod error;
pub mod json;
pub mod memory;
pub mod meta;
pub mod number;
mod sort_key;
pub mod sql_mode;
pub mod sql_type;
pub mod temporal;
pub mod time_zone;
pub mod value;

pub use column::ColumnType;
pub use convert::Cx;
pub use decimal::Decimal;
pub use error::{Level, SqlError, SqlResult, Warning, Warnings};
pub use sql_mode::SqlMode;
pub use sql_type::{Kind, SqlType};
pub use time_zone::TimeZone;
pub use value::Value;
pub use vaquita_format::value::{Date, DateTime, Time, Timestamp};
