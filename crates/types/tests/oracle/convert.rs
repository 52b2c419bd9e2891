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

/// Malformed text that goes to another character set: what MySQL 5.6.24 keeps of it, and what it says; then the same under strict mode.
#[test]
fn malformed_text_keeps_the_rest_in_another_character_set() {
    let (latin1, utf8, utf8mb4, gbk, utf16, cp932) = (8, 33, 45, 28, 54, 95);
    let bad = |bytes: &str| format!("W1366 Incorrect string value: '{bytes}' for column 'c' at row 1");
    let cut = || "W1265 Data truncated for column 'c' at row 1".to_owned();
    // From, text, to, what is kept, what is said.
    type Case = (u16, &'static [u8], u16, &'static [u8], String);
    let mut cases: Vec<Case> = Vec::new();
    for to in [utf8mb4, latin1, gbk] {
        cases.extend([
            (utf8, &b"a\xF0\x9F\x98\x80b"[..], to, &b"a????b"[..], bad(r"\xF0\x9F\x98\x80b")),
            (utf8, b"a\xFFb", to, b"a?b", bad(r"\xFFb")),
            (utf8, b"a\xC0\xAFb", to, b"a??b", bad(r"\xC0\xAFb")),
            (utf8, b"a\xF0\x9F", to, b"a??", bad(r"\xF0\x9F")),
            (utf8, b"a\xE2bc", to, b"a?bc", bad(r"\xE2bc")),
            (utf8, b"a\xE2\x82b", to, b"a??b", bad(r"\xE2\x82b")),
            (utf8, b"a\xE2\x82", to, b"a", cut()),
            (utf8, b"a\xE2b", to, b"a", cut()),
            (utf8, b"a\xC3", to, b"a", cut()),
            (cp932, b"a\x81", to, b"a", cut()),
            (cp932, b"a\xFDb", to, b"a?b", bad(r"\xFDb")),
            (cp932, b"a\x810b", to, b"a?0b", bad(r"\x810b")),
        ]);
    }
    for to in [latin1, gbk] {
        cases.extend([
            (utf8mb4, &b"a\xF0bcde"[..], to, &b"a?bcde"[..], bad(r"\xF0bcde")),
            (utf8mb4, b"a\xF0b", to, b"a", cut()),
            (utf8mb4, b"a\xF0\x9F\x98", to, b"a", cut()),
            (utf8mb4, b"a\xF5\x80\x80\x80b", to, b"a????b", bad(r"\xF5\x80\x80\x80b")),
            (utf8mb4, b"\xE2\x82b", to, b"??b", bad(r"\xE2\x82b")),
        ]);
    }
    cases.extend([
        (utf8, &b"a\x80\xC3\xA9"[..], latin1, &b"a?\xE9"[..], bad(r"\x80\xC3\xA9")),
        (utf8, b"a\xFFb", utf16, b"\0a\0?\0b", bad(r"\xFFb")),
        (utf8, b"a\xC3", utf16, b"\0a", cut()),
        (gbk, b"a\x81", utf8mb4, b"a", cut()),
    ]);
    for (from, text, to, kept, says) in cases {
        let column = ColumnType::new(SqlType::varchar(30, to), RowFormat::Compact);
        let (v, from) = (vaquita_types::Value::bytes(text), SqlType::varchar(30, from));
        for strict in [false, true] {
            let how = StoreMode { strict, null_is_error: true, row: 1 };
            let mut out = Vec::new();
            let (stored, warnings) =
                with_warnings(sql_mode(""), |cx| store(&column, "c", &v, &from, how, cx, &mut out));
            match stored {
                Ok(_) => assert_eq!((&out[..], warnings, strict), (kept, says.clone(), false), "{text:x?}"),
                Err(e) if says.starts_with("W1366") => {
                    assert_eq!((format!("W{} {}", e.code, e.message), strict), (says.clone(), true));
                }
                Err(e) => assert_eq!((e.code, strict), (1406, true), "{text:x?}"),
            }
        }
    }
}

/// As MySQL 5.6.24: the sign of a text that rounds to zero is nothing, that of a DECIMAL is out of range.
#[test]
fn text_below_zero_that_rounds_to_zero_goes_into_unsigned_columns() {
    for ty in ["tinyint", "smallint", "mediumint", "int", "bigint"] {
        let column = ColumnType::new(column_type(&format!("{ty} unsigned")), RowFormat::Compact);
        for (text, code) in
            [("-0.1", 0), ("-0.4", 0), ("-1e-5", 0), ("-0", 0), ("-0.5", 1264), ("-1", 1264), ("-0.1x", 1265)]
        {
            let (v, from) = (vaquita_types::Value::bytes(text.as_bytes()), SqlType::varchar(30, 45));
            let how = StoreMode { strict: true, null_is_error: true, row: 1 };
            let mut out = Vec::new();
            let (stored, warnings) =
                with_warnings(sql_mode(""), |cx| store(&column, "c", &v, &from, how, cx, &mut out));
            assert_eq!(stored.err().map_or(0, |e| e.code), code, "{ty} {text}: {warnings}");
            assert!(code != 0 || out.iter().all(|byte| *byte == 0), "{ty} {text}: {out:?}");
        }
    }
}
