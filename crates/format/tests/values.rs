//! Every stored value of the tables with all column types decodes, and encodes to the same bytes.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::tables;

use vaquita_format::index_page::records;
use vaquita_format::record::Offsets;
use vaquita_format::value::{Value, ValueType};

/// Precision and scale of the DECIMAL columns, which only the `.frm` file knows.
fn decimal(column: &str) -> Option<(u32, u32)> {
    Some(match column {
        "n1" => (10, 2),
        "n2" => (65, 30),
        "n3" => (5, 0),
        "n4" => (4, 4),
        "n5" => (18, 9),
        "d_nn" => (6, 3),
        _ => return None,
    })
}

#[test]
fn every_column_type_round_trips() {
    for name in ["types_compact", "types_dynamic", "types_redundant"] {
        let table = tables::table_named(name);
        let (mut values, mut decimals) = (0, Vec::new());
        for (_, page, index) in table.index_pages() {
            let mut offsets = Offsets::new();
            for rec in records(page) {
                let rec = rec.unwrap();
                offsets.parse(page, rec, index.layout()).unwrap();
                for (i, field) in index.fields().iter().enumerate() {
                    let column = &field.column;
                    let ty = ValueType::of_column(column, index.row_format(), decimal(&column.name)).unwrap();
                    let stored = offsets.field(page, rec, i);
                    let value = ty.decode(stored).unwrap();
                    let Some(stored) = stored else {
                        assert_eq!(value, Value::Null);
                        continue;
                    };
                    let mut again = Vec::new();
                    ty.encode(&value, &mut again).unwrap();
                    assert_eq!(again, stored, "{name}.{}: {value:?}", column.name);
                    values += 1;
                    if let Value::Decimal(text) = value {
                        decimals.push(text.into_owned());
                    }
                }
            }
        }
        assert!(values > 180, "{values}");
        assert!(
            decimals
                .contains(&"-1234567890123456789012345678901234.123456789012345678901234567891".to_owned())
        );
        assert!(decimals.contains(&"-0.0001".to_owned()) && decimals.contains(&"-999.999".to_owned()));
    }
}
