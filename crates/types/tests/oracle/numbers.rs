//! Decimal arithmetic; floats as text.

use super::{Report, rows, text};
use vaquita_types::Decimal;
use vaquita_types::decimal::Overflow;
use vaquita_types::number::{parse_f64, push_f32, push_f64};

fn decimal(s: &str) -> Decimal {
    let parsed = Decimal::parse(s.as_bytes());
    assert_eq!(parsed.used, s.len());
    parsed.value
}

fn calculate(op: &str, a: &Decimal, b: &Decimal) -> Result<Option<Decimal>, Overflow> {
    match op {
        "+" => a.add(b).map(Some),
        "-" => a.sub(b).map(Some),
        "*" => a.mul(b).map(Some),
        "/" => a.div(b, 4),
        _ => a.rem(b),
    }
}

/// Digits after the point of the result's type.
fn scale_of(op: &str, a: &Decimal, b: &Decimal) -> u8 {
    match op {
        "*" => (a.scale() + b.scale()).min(30),
        "/" => (a.scale() + 4).min(30),
        _ => a.scale().max(b.scale()),
    }
}

fn is_zero(s: &str) -> bool {
    s.bytes().all(|b| matches!(b, b'-' | b'.' | b'0'))
}

#[test]
fn decimal_arithmetic_is_that_of_the_server() {
    let mut report = Report::new("decimal");
    for row in rows(include_str!("../recorded/decimal.tsv")) {
        let a = decimal(&row[1]);
        let printed = match row[0].as_str() {
            // Integers are no DECIMALs.
            "round" | "truncate" if !row[1].contains('.') => continue,
            "round" | "truncate" => {
                let n: i32 = row[2].parse().expect("digits");
                let r = if row[0] == "round" { a.round(n) } else { a.truncate(n) };
                // The type of the result has the digits asked for.
                let r =
                    r.and_then(|d| d.with_scale(if n > 0 { (n as u8).max(d.scale()) } else { d.scale() }));
                r.map_or("ERR".to_owned(), |d| d.to_string())
            }
            "ceiling" => a.ceil().map_or("ERR".to_owned(), |d| d.to_string()),
            "floor" => a.floor().map_or("ERR".to_owned(), |d| d.to_string()),
            op => {
                let b = decimal(&row[2]);
                let digits = row[3].bytes().filter(u8::is_ascii_digit).count();
                // Beyond what 256 bits hold, digits at the end differ; BIGINTs are not DECIMALs.
                if digits > 66 || !row[1].contains('.') && !row[2].contains('.') && op != "/" {
                    continue;
                }
                let result = calculate(op, &a, &b);
                if row[4] != "NULL" {
                    let wide = match result {
                        Err(Overflow) => "ERR".to_owned(),
                        Ok(None) => "NULL".to_owned(),
                        Ok(Some(d)) => d.fit(65, 30).0.to_string(),
                    };
                    // The server's zero may have a sign.
                    report.check(
                        &row,
                        &wide,
                        if is_zero(&row[4]) { row[4].trim_start_matches('-') } else { &row[4] },
                    );
                }
                match result {
                    Err(Overflow) => "ERR".to_owned(),
                    Ok(None) => "NULL".to_owned(),
                    Ok(Some(d)) => d.with_scale(scale_of(op, &a, &b)).unwrap_or(d).to_string(),
                }
            }
        };
        report.check(&row, &printed, &row[3]);
    }
    report.finish();
}

#[test]
fn floats_print_as_the_server_prints_them() {
    let mut report = Report::new("double");
    for row in rows(include_str!("../recorded/double.tsv")) {
        let v = parse_f64(row[0].as_bytes()).value;
        let (mut double, mut float) = (Vec::new(), Vec::new());
        push_f64(v, &mut double);
        push_f32((v as f32).clamp(f32::MIN, f32::MAX), &mut float);
        report.check(&row, &text(double), &row[1]);
        report.check(&row, &text(float), &row[2]);
    }
    report.finish();
}
