//! Results for other programs: CSV, JSON, Markdown.

use super::print::{Heading, cell};
use std::io::{self, Write};

/// The line of column names.
pub(super) fn csv_heading(out: &mut dyn Write, columns: &[Heading]) -> io::Result<()> {
    let names: Vec<Option<&[u8]>> = columns.iter().map(|c| Some(c.name.as_bytes())).collect();
    let plain = |c: &Heading| Heading { binary: false, ..c.clone() };
    csv_row(out, &names, &columns.iter().map(plain).collect::<Vec<_>>())
}

/// A line of values. NULL is nothing; the empty text is `""`.
pub(super) fn csv_row(out: &mut dyn Write, values: &[Option<&[u8]>], columns: &[Heading]) -> io::Result<()> {
    for (i, (value, column)) in values.iter().zip(columns).enumerate() {
        if i > 0 {
            out.write_all(b",")?;
        }
        if value.is_none() {
            continue;
        }
        let text = cell(*value, column);
        let quoted = text.is_empty() || text.contains([',', '"', '\n', '\r']);
        match quoted {
            true => write!(out, "\"{}\"", text.replace('"', "\"\""))?,
            false => out.write_all(text.as_bytes())?,
        }
    }
    out.write_all(b"\n")
}

/// An object, without its line's end.
pub(super) fn json_row(out: &mut dyn Write, values: &[Option<&[u8]>], columns: &[Heading]) -> io::Result<()> {
    out.write_all(b"{")?;
    for (i, (value, column)) in values.iter().zip(columns).enumerate() {
        if i > 0 {
            out.write_all(b", ")?;
        }
        json_text(out, &column.name)?;
        out.write_all(b": ")?;
        match value {
            None => out.write_all(b"null")?,
            Some(number) if column.number && is_json_number(number) => out.write_all(number)?,
            Some(_) => json_text(out, &cell(*value, column))?,
        }
    }
    out.write_all(b"}")
}

fn json_text(out: &mut dyn Write, text: &str) -> io::Result<()> {
    out.write_all(b"\"")?;
    for c in text.chars() {
        match c {
            '"' => out.write_all(b"\\\"")?,
            '\\' => out.write_all(b"\\\\")?,
            '\n' => out.write_all(b"\\n")?,
            '\r' => out.write_all(b"\\r")?,
            '\t' => out.write_all(b"\\t")?,
            c if c < ' ' => write!(out, "\\u{:04x}", u32::from(c))?,
            c => write!(out, "{c}")?,
        }
    }
    out.write_all(b"\"")
}

/// Whether JSON takes the digits as a number: none with zeros before it, as ZEROFILL has them.
fn is_json_number(text: &[u8]) -> bool {
    let text = text.strip_prefix(b"-").unwrap_or(text);
    let digits = |text: &[u8]| text.iter().take_while(|b| b.is_ascii_digit()).count();
    let whole = digits(text);
    if whole == 0 || whole > 1 && text[0] == b'0' {
        return false;
    }
    let mut rest = &text[whole..];
    if let Some(fraction) = rest.strip_prefix(b".") {
        let n = digits(fraction);
        if n == 0 {
            return false;
        }
        rest = &fraction[n..];
    }
    match rest {
        [] => true,
        [b'e' | b'E', exponent @ ..] => {
            let exponent = exponent.strip_prefix(b"+").or(exponent.strip_prefix(b"-")).unwrap_or(exponent);
            !exponent.is_empty() && digits(exponent) == exponent.len()
        }
        _ => false,
    }
}

/// Column names and the line below them, which Markdown always wants.
pub(super) fn markdown_heading(out: &mut dyn Write, columns: &[Heading], names: bool) -> io::Result<()> {
    for column in columns {
        write!(out, "| {} ", if names { markdown_text(&column.name) } else { String::new() })?;
    }
    out.write_all(b"|\n")?;
    for column in columns {
        out.write_all(if column.number { b"|---:" } else { b"|---" })?;
    }
    out.write_all(b"|\n")
}

/// A line of a table.
pub(super) fn markdown_row(
    out: &mut dyn Write,
    values: &[Option<&[u8]>],
    columns: &[Heading],
) -> io::Result<()> {
    for (value, column) in values.iter().zip(columns) {
        write!(out, "| {} ", markdown_text(&cell(*value, column)))?;
    }
    out.write_all(b"|\n")
}

fn markdown_text(text: &str) -> String {
    text.replace('|', "\\|").replace("\r\n", "<br>").replace(['\n', '\r'], "<br>")
}

#[cfg(test)]
mod tests {
    use super::is_json_number;

    #[test]
    fn numbers_of_json() {
        for text in ["0", "-0", "12", "-1.50", "0.001", "1e10", "2.5E-7", "1e+3"] {
            assert!(is_json_number(text.as_bytes()), "{text}");
        }
        for text in ["", "-", "007", "00", "1.", ".5", "1e", "1e+", "inf", "nan", "1 ", "0x1", "--1", "1.2.3"]
        {
            assert!(!is_json_number(text.as_bytes()), "{text}");
        }
    }
}
