//! Types and constants of a `.frm`, as SQL and InnoDB have them.

use super::columns::{FrmColumn, code, is_number};
use crate::text::quote_sql;

/// The column's type as SQL spells it, without character set.
pub fn column_type(c: &FrmColumn) -> String {
    let mb = c.charset().map_or(1, |cs| u32::from(cs.mb_max_len));
    let text = c.charset().is_some();
    let spelled =
        |bytes: &str, chars: &str| format!("{}({})", if text { chars } else { bytes }, c.length / mb);
    let either = |bytes: &str, chars: &str| if text { chars.to_owned() } else { bytes.to_owned() };
    let with_fraction = |name: &str| {
        let mut out = name.to_owned();
        fraction(c, &mut out);
        out
    };
    let width = |name: &str| format!("{name}({})", c.length);
    let mut out = match c.type_code {
        code::TINY => width("tinyint"),
        code::SHORT => width("smallint"),
        code::INT24 => width("mediumint"),
        code::LONG => width("int"),
        code::LONGLONG => width("bigint"),
        code::BIT => width("bit"),
        code::YEAR => width("year"),
        code::FLOAT | code::DOUBLE => {
            let name = if c.type_code == code::FLOAT { "float" } else { "double" };
            c.decimals.map_or(name.to_owned(), |d| format!("{name}({},{d})", c.length))
        }
        code::NEWDECIMAL => format!("decimal({},{})", c.precision(), c.decimals.unwrap_or(0)),
        code::DATE => "date".to_owned(),
        code::TIME | code::OLD_TIME => with_fraction("time"),
        code::DATETIME | code::OLD_DATETIME => with_fraction("datetime"),
        code::TIMESTAMP | code::OLD_TIMESTAMP => with_fraction("timestamp"),
        code::ENUM => labels("enum", c),
        code::SET => labels("set", c),
        code::VARCHAR => spelled("varbinary", "varchar"),
        code::STRING => spelled("binary", "char"),
        code::TINY_BLOB => either("tinyblob", "tinytext"),
        code::BLOB => either("blob", "text"),
        code::MEDIUM_BLOB => either("mediumblob", "mediumtext"),
        code::LONG_BLOB => either("longblob", "longtext"),
        code::GEOMETRY => geometry(c.geometry).to_owned(),
        other => format!("?{other}"),
    };
    if is_number(c.type_code) && c.unsigned {
        out.push_str(" unsigned");
    }
    if c.zerofill {
        out.push_str(" zerofill");
    }
    out
}

fn fraction(c: &FrmColumn, out: &mut String) {
    if c.fsp() > 0 {
        out.push_str(&format!("({})", c.fsp()));
    }
}

fn labels(name: &str, c: &FrmColumn) -> String {
    let mut out = format!("{name}(");
    for (i, label) in c.labels.iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        quote_sql(label, &mut out);
    }
    out.push(')');
    out
}

/// Spatial types by the number of their subtype.
pub const GEOMETRIES: [&str; 8] = [
    "geometry",
    "point",
    "linestring",
    "polygon",
    "multipoint",
    "multilinestring",
    "multipolygon",
    "geometrycollection",
];

fn geometry(subtype: u8) -> &'static str {
    GEOMETRIES.get(usize::from(subtype)).copied().unwrap_or("geometry")
}

/// Whether the column has a collation that the statement may have to name.
pub(super) fn has_collation(c: &FrmColumn) -> bool {
    let text = matches!(c.type_code, code::VARCHAR | code::STRING | code::ENUM | code::SET) || is_blob(c);
    text && c.charset().is_some()
}

fn is_blob(c: &FrmColumn) -> bool {
    matches!(c.type_code, code::TINY_BLOB | code::BLOB | code::MEDIUM_BLOB | code::LONG_BLOB)
}

/// A value in MySQL's row format as InnoDB stores it: numbers are little-endian there, VARCHAR has its length.
pub(super) fn stored_form(c: &FrmColumn, row: &[u8]) -> Vec<u8> {
    let mut v = row.to_vec();
    match c.type_code {
        code::TINY | code::SHORT | code::INT24 | code::LONG | code::LONGLONG => {
            v.reverse();
            if let (false, Some(first)) = (c.unsigned, v.first_mut()) {
                *first ^= 0x80;
            }
        }
        code::DATE | code::OLD_TIME | code::OLD_DATETIME => {
            v.reverse();
            if let Some(first) = v.first_mut() {
                *first ^= 0x80;
            }
        }
        code::ENUM | code::SET | code::OLD_TIMESTAMP => v.reverse(),
        code::VARCHAR => {
            let prefix = if c.length < 256 { 1 } else { 2 };
            let len = row.iter().take(prefix).rev().fold(0, |n, &b| n << 8 | usize::from(b));
            v = row.get(prefix..prefix + len).unwrap_or_default().to_vec();
        }
        _ => {}
    }
    v
}

/// The way back of [`stored_form`]: VARCHAR gets its length, and all gets its padding. `None` if the value has no place.
pub(super) fn row_form(c: &FrmColumn, stored: &[u8]) -> Option<Vec<u8>> {
    let mut v = stored.to_vec();
    match c.type_code {
        code::TINY | code::SHORT | code::INT24 | code::LONG | code::LONGLONG => {
            if let (false, Some(first)) = (c.unsigned, v.first_mut()) {
                *first ^= 0x80;
            }
            v.reverse();
        }
        code::DATE => {
            if let Some(first) = v.first_mut() {
                *first ^= 0x80;
            }
            v.reverse();
        }
        code::ENUM | code::SET => v.reverse(),
        code::VARCHAR => {
            let length = c.length as usize;
            let (prefix, padding) = (if length < 256 { 1 } else { 2 }, length.checked_sub(v.len())?);
            let bytes = (v.len() as u16).to_le_bytes();
            v.splice(..0, bytes[..prefix].iter().copied());
            v.resize(v.len() + padding, 0);
        }
        code::STRING => {
            let space = c.charset().map_or(&b"\0"[..], |charset| charset.space());
            // Padding up to as many bytes as there are characters may end within a space.
            v.truncate(v.len() - v.len() % space.len());
            while v.len() + space.len() <= c.length as usize {
                v.extend_from_slice(space);
            }
        }
        _ => {}
    }
    Some(v)
}
