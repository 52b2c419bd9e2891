//! Partition functions against those of MySQL 5.6.24: values of all types that are allowed go to the same partitions, by every way to divide
//! rows, with numbers of partitions drawn at random.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::path::Path;
use vaquita_base::Rng;
use vaquita_clients::Vaquita;
use vaquita_peers::{Mysql56, Options};

const INTEGERS: &str = "0 1 -1 2 3 7 -5 100 127 -128 255 -100 99 42 17 65 32 8224";
const DATES: &str = "2000-01-01 1999-12-31 2010-05-06 0000-00-00 2024-02-29 1970-01-01 2038-01-19 2012-00-00";
const TIMES: &str = "00:00:00 -10:11:12 838:59:59 12:00:01.5 -00:00:01 01:02:03 12:34:56";
const TEXTS: &str = "a A abc ABC_ zz é É ß ss x_y a__ Abc 0 ~ ä üb _ Zz";

/// Types and values that are divided by KEY; `_` is a space.
fn types() -> Vec<(&'static str, String)> {
    let more = |base: &str, more: &str| format!("{base} {more}");
    let moments = || DATES.replace(' ', "_12:34:56.789012 ") + "_23:59:59";
    let text = || TEXTS.to_owned();
    vec![
        ("tinyint", INTEGERS.into()),
        ("smallint", more(INTEGERS, "32767 -32768 8192")),
        ("mediumint", more(INTEGERS, "8388607 -8388608 2105376")),
        ("int", more(INTEGERS, "70000 -70000 2147483647 538976288")),
        ("bigint", more(INTEGERS, "1099511627776 -1099511627776 9223372036854775807 -9223372036854775808")),
        ("int unsigned", "0 1 7 4294967295 538976288".into()),
        ("bigint unsigned", "0 1 5 1099511627776 18446744073709551615 9223372036854775808".into()),
        ("year", "1901 2000 2155 0 1999".into()),
        ("bit(3)", "0 1 7 5".into()),
        ("bit(12)", "0 1 5 4095 2048".into()),
        ("date", DATES.into()),
        ("datetime", moments()),
        ("datetime(3)", moments()),
        ("datetime(6)", moments()),
        ("time", TIMES.into()),
        ("time(4)", TIMES.into()),
        ("timestamp", "1970-01-02_03:04:05 2010-01-01_00:00:00 2037-12-31_23:59:59".into()),
        ("timestamp(2)", "1970-01-02_03:04:05.12 2010-01-01_00:00:00".into()),
        ("decimal(10,2)", "0 1.5 -1.5 99999.99 -12345.67".into()),
        ("decimal(5,0)", "0 7 -7 99999".into()),
        ("float", "0 1.5 -2.25 1e10".into()),
        ("double", "0 1.5 -2.25 1e100".into()),
        ("enum('a','b','cc')", "a b cc".into()),
        ("set('a','b','c','d')", "a a,b d a,b,c,d".into()),
        ("char(10) charset latin1", text()),
        ("varchar(10) charset latin1", text()),
        ("varchar(10) charset latin1 collate latin1_bin", text()),
        ("char(10) charset latin1 collate latin1_german1_ci", text()),
        ("varchar(10) charset latin1 collate latin1_general_cs", text()),
        ("varchar(10) charset latin1 collate latin1_spanish_ci", text()),
        ("varchar(10) charset latin1 collate latin1_danish_ci", text()),
        ("varchar(10) charset ascii", "a A z_ ~".into()),
        ("varchar(10) charset utf8", more(TEXTS, "€ 日本 Ā я")),
        ("char(10) charset utf8", more(TEXTS, "€ я")),
        ("varchar(10) charset utf8 collate utf8_bin", more(TEXTS, "€ я")),
        ("varchar(10) charset utf8 collate utf8_unicode_ci", more(TEXTS, "€ я")),
        ("varchar(10) charset utf8 collate utf8_swedish_ci", more(TEXTS, "å Ö")),
        ("char(6) charset utf8mb4", more(TEXTS, "😀 €")),
        ("varchar(6) charset utf8mb4 collate utf8mb4_unicode_ci", more(TEXTS, "😀 €")),
        ("varchar(6) charset utf8mb4 collate utf8mb4_bin", more(TEXTS, "😀")),
        ("varchar(6) charset utf8mb4 collate utf8mb4_unicode_520_ci", more(TEXTS, "😀")),
        ("varchar(10) charset ujis", "a A 日本 z_".into()),
        ("varchar(10) charset latin2 collate latin2_bin", "a A z_".into()),
        ("varbinary(8)", text()),
        ("binary(8)", text()),
    ]
}

/// A table and its rows: columns, the clause without its number of partitions, values of `a` and `b`.
struct Case {
    columns: String,
    clause: String,
    parts: u64,
    rows: Vec<(String, String)>,
}

fn case(rng: &mut Rng, ty: &str, clause: &str, values: &str) -> Case {
    let literal = |value: &str| match value.parse::<i128>() {
        Ok(_) => value.to_owned(),
        Err(_) => format!("'{}'", value.replace('_', " ")),
    };
    let mut b = || ["1", "2", "-3", "null"][rng.index(4)].to_owned();
    let mut rows: Vec<_> = values.split(' ').map(|value| (literal(value), b())).collect();
    if !ty.starts_with("timestamp") {
        rows.push(("null".into(), "1".into()));
        // An empty text is one too, where it is no number.
        rows.extend(ty.contains("char").then(|| ("''".into(), "2".into())));
    }
    let parts = [2, 3, 4, 5, 6, 7][rng.index(6)];
    Case { columns: format!("a {ty}, b int"), clause: clause.to_owned(), parts, rows }
}

fn cases(rng: &mut Rng) -> Vec<Case> {
    let mut cases = Vec::new();
    for (ty, values) in types() {
        for clause in ["key (a)", "linear key (b, a)", "key algorithm=1 (a)"] {
            cases.push(case(rng, ty, clause, &values));
        }
    }
    for (ty, values) in types().into_iter().take(10) {
        for clause in ["hash (a)", "linear hash (a)"] {
            cases.push(case(rng, ty, clause, &values));
        }
    }
    for expr in [
        "a + b",
        "a - b * 3",
        "abs(a)",
        "mod(a, 7)",
        "a div 3",
        "a % 5 + b",
        "-a",
        "ceiling(a)",
        "floor(a)",
        "a * 2",
    ] {
        cases.push(case(rng, "int", &format!("hash ({expr})"), INTEGERS));
        cases.push(case(rng, "int", &format!("linear hash ({expr})"), INTEGERS));
    }
    let of_dates = "to_days(a) year(a) month(a) day(a) dayofmonth(a) dayofweek(a) dayofyear(a) weekday(a) yearweek(a) quarter(a) to_seconds(a) extract(year_month_from_a) extract(day_from_a) datediff(a,a)";
    for expr in
        of_dates.split(' ').map(|expr| expr.replace('_', if expr.contains("from") { " " } else { "_" }))
    {
        let expr = expr.replace("year month", "year_month");
        for ty in ["date", "datetime"] {
            cases.push(case(rng, ty, &format!("hash ({expr})"), DATES));
        }
    }
    let of_times = [
        "hour(a)",
        "minute(a)",
        "second(a)",
        "time_to_sec(a)",
        "microsecond(a)",
        "extract(hour_minute from a)",
    ];
    for expr in of_times {
        cases.push(case(rng, "time(6)", &format!("linear hash ({expr})"), TIMES));
        let moments = DATES.replace(' ', "_12:34:56.789012 ");
        cases.push(case(rng, "datetime(6)", &format!("hash ({expr})"), &moments));
    }
    let moments = "1970-01-02_03:04:05 2010-01-01_00:00:00 2037-12-31_23:59:59";
    cases.push(case(rng, "timestamp", "hash (unix_timestamp(a))", moments));
    cases
}

/// The statements that make the table and say where its rows are: a row of the answer for each, with its partition.
fn script(case: &Case) -> String {
    let rows: Vec<String> = case.rows.iter().map(|(a, b)| format!("({a}, {b})")).collect();
    let mut text = format!(
        "drop table if exists test.t; create table test.t ({}) partition by {} partitions {}; insert into test.t values {};",
        case.columns,
        case.clause,
        case.parts,
        rows.join(", ")
    );
    let of_part = |part| format!("select {part}, hex(a), b from test.t partition (p{part})");
    text += &(0..case.parts).map(of_part).collect::<Vec<_>>().join("; ");
    text
}

const CASE: &str = "the next case";

/// The rows of each case, in an order of their own.
fn by_case(rows: &[String]) -> Vec<Vec<String>> {
    let mut cases: Vec<Vec<String>> = rows.split(|row| row == CASE).skip(1).map(<[String]>::to_vec).collect();
    cases.iter_mut().for_each(|rows| rows.sort());
    cases
}

#[test]
fn rows_go_where_they_go_in_mysql() {
    let theirs = Mysql56::start(Options::new()).unwrap();
    let dir = std::env::temp_dir().join(format!("vaquita-partition-functions-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let binary = Path::new(env!("CARGO_BIN_EXE_vaquita"));
    let mut ours = Vaquita::start(binary, &dir.join("data"), &["--skip-grant-tables"]).unwrap();
    ours.sql("create database if not exists test").unwrap();
    let mut rng = Rng::new(20_240_229);
    // A client is started for many of them.
    for some in cases(&mut rng).chunks(40) {
        // Values that a type does not have are cut to it by both.
        let mut text = "set names utf8mb4; set sql_mode = ''; set time_zone = '+00:00'; ".to_owned();
        some.iter().for_each(|case| text += &format!("select '{CASE}'; {}; ", script(case)));
        let theirs: Vec<String> = theirs.rows(&text).unwrap().into_iter().map(|row| row.join("\t")).collect();
        let ours: Vec<String> = ours.sql(&text).unwrap().lines().map(str::to_owned).collect();
        let (wanted, got) = (by_case(&theirs), by_case(&ours));
        assert_eq!((wanted.len(), got.len()), (some.len(), some.len()));
        for ((case, wanted), got) in some.iter().zip(wanted).zip(got) {
            assert_eq!(got, wanted, "{} by {} partitions {}", case.columns, case.clause, case.parts);
            assert_eq!(got.len(), case.rows.len(), "{} by {}", case.columns, case.clause);
        }
    }
    ours.stop().unwrap();
    std::fs::remove_dir_all(&dir).unwrap();
}
