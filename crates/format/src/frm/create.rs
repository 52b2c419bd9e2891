//! CREATE TABLE of a `.frm`, as SHOW CREATE TABLE of MySQL 5.6 prints it.
//!
//! Foreign keys and DATA DIRECTORY are not in the `.frm`, so they are missing here.

use std::fmt::Write as _;

use super::columns::{ColumnDefault, FrmColumn, code, is_number};
use super::table_def::is_prefix;
use super::{DeclaredFormat, Frm, FrmKey, key_flags, table_options};
use crate::charset::Charset;
use crate::collation;
use crate::column::BINARY_COLLATION;
use crate::text::{TextType, quote_sql};

/// The statement, without a final semicolon. `autoinc` is the next AUTO_INCREMENT value, which the `.frm` does not hold.
pub fn show_create(frm: &Frm, name: &str, autoinc: u64) -> String {
    let mut out = String::from("CREATE TABLE ");
    quote_name(name, &mut out);
    out.push_str(" (\n");
    let mut first = true;
    let mut line = |out: &mut String| {
        out.push_str(if std::mem::take(&mut first) { "  " } else { ",\n  " });
    };
    for column in &frm.columns {
        line(&mut out);
        column_line(frm, column, &mut out);
    }
    for key in &frm.keys {
        line(&mut out);
        key_line(frm, key, &mut out);
    }
    out.push_str("\n)");
    options(frm, autoinc, &mut out);
    out
}

fn put(out: &mut String, args: std::fmt::Arguments<'_>) {
    out.write_fmt(args).expect("writing to a String does not fail");
}

fn quote_name(name: &str, out: &mut String) {
    put(out, format_args!("`{}`", name.replace('`', "``")));
}

fn column_line(frm: &Frm, c: &FrmColumn, out: &mut String) {
    quote_name(&c.name, out);
    out.push(' ');
    out.push_str(&column_type(c));
    if is_labelled(c) && c.collation == BINARY_COLLATION && frm.collation != BINARY_COLLATION {
        out.push_str(" CHARACTER SET binary");
    }
    if has_collation(c) {
        if c.collation != frm.collation {
            put(out, format_args!(" CHARACTER SET {}", c.charset().map_or("?", |cs| cs.name)));
        }
        if let Some(name) = collation::name(c.collation).filter(|_| !collation::is_primary(c.collation)) {
            put(out, format_args!(" COLLATE {name}"));
        }
    }
    let timestamp = matches!(c.type_code, code::TIMESTAMP | code::OLD_TIMESTAMP);
    if !c.nullable {
        out.push_str(" NOT NULL");
    } else if timestamp {
        out.push_str(" NULL");
    }
    default_clause(c, out);
    if c.on_update_now {
        out.push_str(" ON UPDATE CURRENT_TIMESTAMP");
        fraction(c, out);
    }
    if c.auto_increment {
        out.push_str(" AUTO_INCREMENT");
    }
    if !c.comment.is_empty() {
        out.push_str(" COMMENT ");
        quote_sql(&c.comment, out);
    }
}

fn fraction(c: &FrmColumn, out: &mut String) {
    if c.fsp() > 0 {
        put(out, format_args!("({})", c.fsp()));
    }
}

fn is_blob(c: &FrmColumn) -> bool {
    matches!(c.type_code, code::TINY_BLOB | code::BLOB | code::MEDIUM_BLOB | code::LONG_BLOB)
}

/// Whether the column's values are labels: those can be bytes without another type's name.
fn is_labelled(c: &FrmColumn) -> bool {
    matches!(c.type_code, code::ENUM | code::SET)
}

/// Whether the column has a collation that the statement may have to name.
pub(super) fn has_collation(c: &FrmColumn) -> bool {
    let text = matches!(c.type_code, code::VARCHAR | code::STRING | code::ENUM | code::SET) || is_blob(c);
    text && c.charset().is_some()
}

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

fn geometry(subtype: u8) -> &'static str {
    const NAMES: [&str; 8] = [
        "geometry",
        "point",
        "linestring",
        "polygon",
        "multipoint",
        "multilinestring",
        "multipolygon",
        "geometrycollection",
    ];
    NAMES.get(usize::from(subtype)).copied().unwrap_or("geometry")
}

fn default_clause(c: &FrmColumn, out: &mut String) {
    match &c.default {
        ColumnDefault::None => {}
        // BLOBs can have no other default, so it is not said.
        ColumnDefault::Null if is_blob(c) => {}
        ColumnDefault::Null => out.push_str(" DEFAULT NULL"),
        ColumnDefault::Now => {
            out.push_str(" DEFAULT CURRENT_TIMESTAMP");
            fraction(c, out);
        }
        ColumnDefault::Row(bytes) => {
            out.push_str(" DEFAULT ");
            default_value(c, bytes, out);
        }
    }
}

fn default_value(c: &FrmColumn, row: &[u8], out: &mut String) {
    if c.type_code == code::BIT {
        let bits = row.iter().fold(0u64, |n, &b| n << 8 | u64::from(b));
        put(out, format_args!("b'{bits:b}'"));
        return;
    }
    let mut text = String::new();
    let stored = stored_form(c, row);
    let written = match c.text_type() {
        // Bytes are shown as they are, not in hexadecimal.
        TextType::Bytes => {
            text.extend(stored.iter().map(|&b| char::from(b)));
            Ok(())
        }
        t => t.write(&stored, &mut text),
    };
    match written {
        Ok(()) => quote_sql(&text, out),
        Err(_) => out.push('?'),
    }
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

fn key_line(frm: &Frm, key: &FrmKey, out: &mut String) {
    let kind = match key {
        k if k.is_primary() => "PRIMARY KEY",
        k if k.is_fulltext() => "FULLTEXT KEY",
        k if k.flags & key_flags::SPATIAL != 0 => "SPATIAL KEY",
        k if k.is_unique() => "UNIQUE KEY",
        _ => "KEY",
    };
    out.push_str(kind);
    out.push(' ');
    if !key.is_primary() {
        quote_name(&key.name, out);
        out.push(' ');
    }
    out.push('(');
    for (i, part) in key.parts.iter().enumerate() {
        let column = &frm.columns[part.column];
        if i > 0 {
            out.push(',');
        }
        quote_name(&column.name, out);
        let whole = key.is_fulltext() || key.flags & key_flags::SPATIAL != 0;
        if !whole && is_prefix(column, part.length) {
            let mb = column.charset().map_or(1, |cs| u16::from(cs.mb_max_len));
            put(out, format_args!("({})", part.length / mb));
        }
    }
    out.push(')');
    if key.algorithm == 1 {
        out.push_str(" USING BTREE");
    }
    if key.block_size != 0 && key.block_size != frm.key_block_size {
        put(out, format_args!(" KEY_BLOCK_SIZE={}", key.block_size));
    }
    if !key.comment.is_empty() {
        out.push_str(" COMMENT ");
        quote_sql(&key.comment, out);
    }
}

fn options(frm: &Frm, autoinc: u64, out: &mut String) {
    let engine = if frm.engine == "partition" { "InnoDB" } else { &frm.engine };
    put(out, format_args!(" ENGINE={engine}"));
    let mut number = |name: &str, value: u64| {
        if value != 0 {
            put(out, format_args!(" {name}={value}"));
        }
    };
    number("AUTO_INCREMENT", if autoinc > 1 { autoinc } else { 0 });
    let charset = Charset::of_any_collation(frm.collation).map_or("?", |cs| cs.name);
    put(out, format_args!(" DEFAULT CHARSET={charset}"));
    if let Some(name) = collation::name(frm.collation).filter(|_| !collation::is_primary(frm.collation)) {
        put(out, format_args!(" COLLATE={name}"));
    }
    let mut number = |name: &str, value: u64| {
        if value != 0 {
            put(out, format_args!(" {name}={value}"));
        }
    };
    number("MIN_ROWS", u64::from(frm.min_rows));
    number("MAX_ROWS", u64::from(frm.max_rows));
    number("AVG_ROW_LENGTH", u64::from(frm.avg_row_length));
    let mut flag = |bit: u16, text: &str| {
        if frm.options & bit != 0 {
            out.push_str(text);
        }
    };
    flag(table_options::PACK_KEYS, " PACK_KEYS=1");
    flag(table_options::NO_PACK_KEYS, " PACK_KEYS=0");
    flag(table_options::STATS_PERSISTENT, " STATS_PERSISTENT=1");
    flag(table_options::NO_STATS_PERSISTENT, " STATS_PERSISTENT=0");
    match frm.stats_auto_recalc {
        1 => out.push_str(" STATS_AUTO_RECALC=1"),
        2 => out.push_str(" STATS_AUTO_RECALC=0"),
        _ => {}
    }
    if frm.stats_sample_pages != 0 {
        put(out, format_args!(" STATS_SAMPLE_PAGES={}", frm.stats_sample_pages));
    }
    if frm.options & table_options::CHECKSUM != 0 {
        out.push_str(" CHECKSUM=1");
    }
    if frm.options & table_options::DELAY_KEY_WRITE != 0 {
        out.push_str(" DELAY_KEY_WRITE=1");
    }
    out.push_str(match frm.row_format {
        DeclaredFormat::Default => "",
        DeclaredFormat::Fixed => " ROW_FORMAT=FIXED",
        DeclaredFormat::Dynamic => " ROW_FORMAT=DYNAMIC",
        DeclaredFormat::Compressed => " ROW_FORMAT=COMPRESSED",
        DeclaredFormat::Redundant => " ROW_FORMAT=REDUNDANT",
        DeclaredFormat::Compact => " ROW_FORMAT=COMPACT",
    });
    if frm.key_block_size != 0 {
        put(out, format_args!(" KEY_BLOCK_SIZE={}", frm.key_block_size));
    }
    if !frm.comment.is_empty() {
        out.push_str(" COMMENT=");
        quote_sql(&frm.comment, out);
    }
    if !frm.partition_clause.is_empty() {
        put(out, format_args!("\n/*!50100{} */", partition_clause(&frm.partition_clause)));
    }
}

/// The clause as SHOW CREATE TABLE has it, itself within a comment: the one in it that tells how KEY () counts is left out for
/// the usual way, or stands between two.
fn partition_clause(clause: &str) -> String {
    clause
        .replace("KEY /*!50611 ALGORITHM = 2 */ (", "KEY (")
        .replace("KEY /*!50611 ALGORITHM = 1 */ (", "KEY */ /*!50611 ALGORITHM = 1 */ /*!50100 (")
}
