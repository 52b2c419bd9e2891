//! Comparison of columns with literals.

use super::literal::{column_type, literal};
use super::{Report, rows, with_warnings};
use std::cmp::Ordering;
use vaquita_format::index_def::RowFormat;
use vaquita_types::compare::{CompareAs, Operand};
use vaquita_types::convert::store::{StoreMode, store};
use vaquita_types::{ColumnType, SqlMode, SqlType, TimeZone, Value};

/// utf8_general_ci: of the columns.
const COLUMN_COLLATION: u16 = 33;

fn truth(v: bool) -> &'static str {
    if v { "1" } else { "0" }
}

#[test]
fn columns_compare_with_literals_as_by_the_server() {
    let mut report = Report::new("compare");
    let time_zone = TimeZone::UTC;
    let mode = StoreMode { strict: true, null_is_error: true, row: 1 };
    for row in rows(include_str!("../recorded/compare.tsv")) {
        let column = ColumnType::new(column_type(&row[0]), RowFormat::Compact);
        let (b, b_type) = literal(&row[2]);
        let mut stored = Vec::new();
        let (got, _) = with_warnings(SqlMode::default(), |cx| {
            // The value of a BIT is shown as a number.
            let number = row[1].parse().ok().filter(|_| row[0].starts_with("bit")).map(Value::UInt);
            let text = number.unwrap_or_else(|| Value::bytes(row[1].as_bytes()));
            store(&column, "c", &text, &SqlType::varchar(20, 33), mode, cx, &mut stored).expect("a value");
            let a = column.decode(Some(&stored), &time_zone);
            let how = CompareAs::of(
                Operand { ty: &column.ty, constant: false, column: true },
                Operand { ty: &b_type, constant: true, column: false },
                COLUMN_COLLATION,
            );
            match how.compare(&a, &b, cx) {
                None => "NULL 0".to_owned(),
                Some(o) => format!("{} {}", truth(o == Ordering::Less), truth(o == Ordering::Equal)),
            }
        });
        report.check(&row[..3], &got, &format!("{} {}", row[3], row[4]));
    }
    report.finish();
}
