//! CAST, and storing into columns of every type.

use super::literal::{UTF8MB4, column_type, literal, shown};
use super::{Report, rows, sql_mode, with_warnings};
use vaquita_format::index_def::RowFormat;
use vaquita_types::convert::cast::{Target, cast};
use vaquita_types::convert::store::{StoreMode, store};
use vaquita_types::{ColumnType, SqlType, TimeZone};

fn target(s: &str) -> Target {
    let (name, args) = s.trim_end_matches(')').split_once('(').unwrap_or((s, ""));
    let mut args = args.split(',').filter_map(|a| a.parse::<u32>().ok());
    let first = args.next();
    match name {
        "signed" => Target::Signed,
        "unsigned" => Target::Unsigned,
        "char" => Target::Char(first, UTF8MB4),
        "binary" => Target::Binary(first),
        "date" => Target::Date,
        "time" => Target::Time(first.unwrap_or(0) as u8),
        "datetime" => Target::DateTime(first.unwrap_or(0) as u8),
        "decimal" => Target::Decimal(first.unwrap_or(10), args.next().unwrap_or(0) as u8),
        other => panic!("no target {other}"),
    }
}

#[test]
fn casts_are_those_of_the_server() {
    let mut report = Report::new("cast");
    for row in rows(include_str!("../recorded/cast.tsv")) {
        let (v, from) = literal(&row[2]);
        let to = target(&row[0]);
        let name = format!("cast({} as {})", row[2], row[0]);
        let hex = matches!(to, Target::Char(..) | Target::Binary(_));
        let (got, warnings) = with_warnings(sql_mode(&row[1]), |cx| match cast(&v, &from, &to, &name, cx) {
            Ok(r) => shown(&r, &to.result_type(&from), hex),
            Err(e) => e.to_string(),
        });
        report.check(&row[..3], &format!("{got} {warnings}"), &format!("{} {}", row[3], row[4]));
    }
    report.finish();
}

#[test]
fn columns_take_values_as_the_server_does() {
    let mut report = Report::new("store");
    let time_zone = TimeZone::UTC;
    for row in rows(include_str!("../recorded/store.tsv")) {
        let (v, from) = literal(&row[2]);
        let column = ColumnType::new(column_type(&row[0]), RowFormat::Compact);
        let mode = sql_mode(&row[1]);
        let how = StoreMode { strict: mode.is_strict(), null_is_error: true, row: 1 };
        let mut out = Vec::new();
        let (stored, warnings) = with_warnings(mode, |cx| store(&column, "c", &v, &from, how, cx, &mut out));
        let got = match stored {
            Ok(present) => {
                let value = column.decode(present.then_some(&out[..]), &time_zone);
                let mut again = Vec::new();
                assert_eq!(column.encode(&value, &time_zone, &mut again), present);
                assert_eq!(again, out, "{row:?}");
                let hex = row[0].starts_with("bit") || row[0].contains("bin") || row[0] == "blob";
                format!("{} {warnings}", shown(&value, &column.ty, hex))
            }
            Err(e) => format!("ERR E{} {}", e.code, e.message),
        };
        report.check(&row[..3], &got, &format!("{} {}", row[3], row[4]));
    }
    report.finish();
}

/// The types of columns and the engine's descriptions of them agree.
#[test]
fn types_survive_their_column_descriptions() {
    for text in ["int(10) unsigned", "varchar(20)", "enum('a','b')", "decimal(10,2)", "datetime(3)", "bit(9)"]
    {
        let ty: SqlType = column_type(text);
        assert_eq!(ty.column_type(), text);
        let def = ty.to_def("c");
        assert_eq!(
            ColumnType::of_def(ty.clone(), &def, RowFormat::Compact),
            ColumnType::new(ty, RowFormat::Compact)
        );
    }
}
