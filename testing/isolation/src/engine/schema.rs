//! Tables of the scripts as tables of the engine, and values as stored bytes.

use crate::sql::{ColumnDef, ColumnType, KeyDef, Value};
use vaquita_engine::{Column, Field, IndexSpec, Table, TableSpec};
use vaquita_format::column::{self, Charset};
use vaquita_format::index_def::KeyPart;
use vaquita_format::value::{self, ValueType};

/// The engine's definition of a table.
///
/// # Errors
/// A key of a column that is not there.
pub(super) fn table_spec(name: &str, columns: &[ColumnDef], keys: &[KeyDef]) -> Result<TableSpec, String> {
    let defs = columns.iter().map(|c| {
        let def = match c.column_type {
            ColumnType::Int => column::ColumnDef::int(&c.name, 4, false),
            ColumnType::Varchar(letters) => column::ColumnDef::varchar(&c.name, letters, Charset::LATIN1),
        };
        Column::new(if c.not_null { def.not_null() } else { def })
    });
    let mut spec = TableSpec::new(name, defs.collect());
    for key in keys {
        let parts = key.columns.iter().map(|name| {
            let at = columns.iter().position(|c| c.name == *name);
            at.map(KeyPart::whole).ok_or_else(|| format!("no column {name}"))
        });
        let parts = parts.collect::<Result<Vec<_>, _>>()?;
        if key.name == "PRIMARY" {
            spec.primary_key = Some(parts);
        } else {
            let index =
                IndexSpec { name: key.name.clone(), parts, unique: key.unique, comment: String::new() };
            spec.indexes.push(index);
        }
    }
    Ok(spec)
}

fn value_type(table: &Table, column: usize) -> Result<ValueType, String> {
    let column = &table.columns[column];
    ValueType::of_column(&column.def, table.row_format, column.decimal).map_err(|e| e.to_string())
}

/// A value as a column stores it; `None` is NULL.
pub(super) fn stored(table: &Table, column: usize, value: &Value) -> Result<Option<Vec<u8>>, String> {
    let value = match value {
        Value::Null => return Ok(None),
        Value::Int(n) => value::Value::Int(*n),
        Value::Text(text) => value::Value::Bytes(text.as_bytes().into()),
    };
    let mut bytes = Vec::new();
    value_type(table, column)?.encode(&value, &mut bytes).map_err(|e| e.to_string())?;
    Ok(Some(bytes))
}

/// The value that a column stores.
pub(super) fn loaded(table: &Table, column: usize, stored: Field<'_>) -> Result<Value, String> {
    match value_type(table, column)?.decode(stored).map_err(|e| e.to_string())? {
        value::Value::Null => Ok(Value::Null),
        value::Value::Int(n) => Ok(Value::Int(n)),
        value::Value::Bytes(bytes) => Ok(Value::Text(String::from_utf8_lossy(&bytes).into_owned())),
        other => Err(format!("{other:?} in a column of a script")),
    }
}
