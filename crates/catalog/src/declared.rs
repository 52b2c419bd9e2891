//! Types of columns: from the engine's description and the declared text, and as text (`int(10) unsigned`).

use vaquita_engine::Column;
use vaquita_engine::lower::charset::{self, Charset};
use vaquita_engine::lower::column::{ColumnDef, MType, mysql_type};
use vaquita_types::sql_type::{BINARY, NOT_FIXED};
use vaquita_types::{Kind, SqlType};

/// The SQL type of a column. What the declared text does not tell comes from the dictionary's description, which knows nothing of
/// the collation of labels.
pub(super) fn sql_type(column: &Column, declared: &str, labels_in: u16) -> SqlType {
    let def = &column.def;
    let text = Declared::parse(declared);
    let kind = kind_of(column, &text);
    let mut ty = SqlType::new(kind);
    ty.nullable = def.is_nullable();
    ty.unsigned = ty.is_number() && def.is_unsigned() || kind == Kind::Bit || kind == Kind::Year;
    ty.zerofill = text.zerofill || kind == Kind::Year;
    ty.collation = match kind {
        _ if kind.is_string() => text_collation(def),
        Kind::Enum | Kind::Set => labels_in,
        _ => BINARY,
    };
    if matches!(kind, Kind::Enum | Kind::Set) {
        let labels: Vec<Box<[u8]>> =
            column.labels.iter().map(|label| encode_label(label, ty.collation)).collect();
        ty.labels = Some(labels.into());
    }
    ty.decimals = decimals_of(column, kind, &text);
    ty.length = match text.args.first() {
        Some(&n) if !matches!(kind, Kind::Time | Kind::DateTime | Kind::Timestamp) => n,
        _ => length_of(column, &ty),
    };
    if let (Kind::Decimal, Some((precision, scale))) = (kind, column.decimal) {
        (ty.length, ty.decimals) = (precision, scale as u8);
    }
    ty
}

/// The declared text, taken apart.
#[derive(Debug, Default)]
struct Declared<'t> {
    name: &'t str,
    /// Numbers in parentheses.
    args: Vec<u32>,
    zerofill: bool,
}

impl<'t> Declared<'t> {
    fn parse(text: &'t str) -> Declared<'t> {
        let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
        let (name, rest) = text.split_at(end);
        if name.eq_ignore_ascii_case("enum") || name.eq_ignore_ascii_case("set") {
            return Declared { name, ..Declared::default() };
        }
        let args = rest.strip_prefix('(').and_then(|r| r.split_once(')')).map(|(args, _)| args);
        let args = args.into_iter().flat_map(|a| a.split(',')).filter_map(|n| n.trim().parse().ok());
        Declared { name, args: args.collect(), zerofill: rest.ends_with("zerofill") }
    }
}

fn kind_of(column: &Column, text: &Declared<'_>) -> Kind {
    let def = &column.def;
    match (def.mtype, def.mysql_type()) {
        (MType::Int, mysql_type::DATE) => Kind::Date,
        (MType::Int, mysql_type::YEAR) => Kind::Year,
        (MType::Int, mysql_type::STRING) if text.name.eq_ignore_ascii_case("set") => Kind::Set,
        (MType::Int, mysql_type::STRING) => Kind::Enum,
        // Of tables from before MySQL 5.6.4.
        (MType::Int, mysql_type::TIME) => Kind::Time,
        (MType::Int, mysql_type::DATETIME) => Kind::DateTime,
        (MType::Int, mysql_type::TIMESTAMP) => Kind::Timestamp,
        (MType::Int | MType::Sys, _) => match def.len {
            1 => Kind::TinyInt,
            2 => Kind::SmallInt,
            3 => Kind::MediumInt,
            4 => Kind::Int,
            _ => Kind::BigInt,
        },
        (MType::Float, _) => Kind::Float,
        (MType::Double, _) => Kind::Double,
        (MType::FixBinary, mysql_type::NEWDECIMAL) => Kind::Decimal,
        (MType::FixBinary, mysql_type::BIT) => Kind::Bit,
        (MType::FixBinary, mysql_type::TIME) => Kind::Time,
        (MType::FixBinary, mysql_type::DATETIME) => Kind::DateTime,
        (MType::FixBinary, mysql_type::TIMESTAMP) => Kind::Timestamp,
        (MType::FixBinary | MType::Char | MType::MySql, _) => Kind::Char,
        (MType::Blob, mysql_type::GEOMETRY) => Kind::Geometry,
        (MType::Blob, _) if text.name.eq_ignore_ascii_case("json") => Kind::Json,
        (MType::Blob, _) => match def.len {
            9 => Kind::TinyText,
            10 => Kind::Text,
            11 => Kind::MediumText,
            _ => Kind::LongText,
        },
        (MType::VarChar | MType::Binary | MType::VarMySql | MType::Decimal, _) => Kind::VarChar,
    }
}

fn text_collation(def: &ColumnDef) -> u16 {
    match def.collation_id() {
        _ if def.is_binary() => BINARY,
        // Tables older than collations in the dictionary.
        0 => 8,
        id => id,
    }
}

fn decimals_of(column: &Column, kind: Kind, text: &Declared<'_>) -> u8 {
    let arg = |i: usize| text.args.get(i).and_then(|&n| u8::try_from(n).ok());
    // Two digits to a byte, if nothing else is known.
    let fraction = |whole: u32| arg(0).unwrap_or(2 * column.def.len.saturating_sub(whole).min(3) as u8);
    match kind {
        Kind::Time | Kind::DateTime | Kind::Timestamp if column.def.mtype == MType::Int => 0,
        Kind::Decimal => column.decimal.map_or(0, |(_, scale)| scale as u8),
        Kind::Float | Kind::Double => arg(1).unwrap_or(NOT_FIXED),
        Kind::Time => fraction(3),
        Kind::DateTime => fraction(5),
        Kind::Timestamp => fraction(4),
        _ => 0,
    }
}

/// The length of a type that was declared without any.
fn length_of(column: &Column, ty: &SqlType) -> u32 {
    let def = &column.def;
    let signed = |n: u32| n - u32::from(ty.unsigned);
    let point = |n: u32| if ty.decimals == 0 { n } else { n + 1 + u32::from(ty.decimals) };
    let chars = || {
        let labels = column.labels.iter().map(|l| l.chars().count() as u32);
        match ty.kind {
            Kind::Enum => labels.max().unwrap_or(0),
            _ => labels.sum::<u32>() + (column.labels.len() as u32).saturating_sub(1),
        }
    };
    match ty.kind {
        Kind::Null => 0,
        Kind::TinyInt => signed(4),
        Kind::SmallInt => signed(6),
        Kind::MediumInt => signed(9),
        Kind::Int => signed(11),
        Kind::BigInt => 20,
        Kind::Year => 4,
        Kind::Decimal => 10,
        Kind::Float => 12,
        Kind::Double => 22,
        Kind::Bit => def.len * 8,
        Kind::Date => 10,
        Kind::Time => point(10),
        Kind::DateTime | Kind::Timestamp => point(19),
        Kind::Char | Kind::VarChar => def.len / u32::from(def.mbmaxlen.max(1)),
        Kind::TinyText => 255,
        Kind::Text => 65_535,
        Kind::MediumText => 0xFF_FFFF,
        Kind::LongText | Kind::Json | Kind::Geometry => u32::MAX,
        Kind::Enum | Kind::Set => chars(),
    }
}

/// A label in the character set of a collation. Characters it does not have become question marks.
pub fn encode_label(label: &str, collation: u16) -> Box<[u8]> {
    let mut out = Vec::new();
    match Charset::of_collation(collation) {
        Some(to) => {
            charset::convert(Charset::UTF8MB4, to, label.as_bytes(), &mut out);
        }
        None => out.extend_from_slice(label.as_bytes()),
    }
    out.into()
}

/// The labels of a type in Unicode; none of a type without labels.
pub fn labels_of(ty: &SqlType) -> Vec<String> {
    let charset = Charset::of_collation(ty.collation);
    let label = |bytes: &[u8]| {
        let decoded = charset.and_then(|charset| charset.decode(bytes));
        decoded.map_or_else(|| String::from_utf8_lossy(bytes).into_owned(), |text| text.into_owned())
    };
    ty.labels.iter().flat_map(|labels| labels.iter()).map(|bytes| label(bytes)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use vaquita_engine::lower::column::Charset as ColumnCharset;

    fn of(def: ColumnDef, declared: &str) -> SqlType {
        let mut column = Column::new(def);
        if declared.starts_with("dec") {
            column.decimal = Some((12, 3));
        }
        if declared.starts_with("enum") || declared.starts_with("set") {
            column.labels = vec!["a".into(), "é".into()];
        }
        sql_type(&column, declared, 8)
    }

    /// What MySQL prints comes back as it was.
    #[test]
    fn declared_types_survive() {
        let latin1 = ColumnCharset::LATIN1;
        for (def, text) in [
            (ColumnDef::int("a", 4, false), "int(11)"),
            (ColumnDef::int("a", 1, false), "tinyint(1)"),
            (ColumnDef::int("a", 8, true), "bigint(20) unsigned"),
            (ColumnDef::int("a", 4, true), "int(5) unsigned zerofill"),
            (ColumnDef::float("a"), "float"),
            (ColumnDef::float("a").unsigned(), "float(7,3) unsigned"),
            (ColumnDef::double("a"), "double"),
            (ColumnDef::decimal("a", 12, 3), "decimal(12,3)"),
            (ColumnDef::bit("a", 5), "bit(5)"),
            (ColumnDef::year("a"), "year(4)"),
            (ColumnDef::date("a"), "date"),
            (ColumnDef::time("a", 3), "time(3)"),
            (ColumnDef::datetime("a", 5), "datetime(5)"),
            (ColumnDef::timestamp("a", 0), "timestamp"),
            (ColumnDef::char("a", 9, ColumnCharset::UTF8), "char(9)"),
            (ColumnDef::varchar("a", 300, latin1), "varchar(300)"),
            (ColumnDef::binary("a", 4), "binary(4)"),
            (ColumnDef::varbinary("a", 4), "varbinary(4)"),
            (ColumnDef::blob("a", 2), "blob"),
            (ColumnDef::text_blob("a", 4, latin1), "longtext"),
            (ColumnDef::blob("a", 4), "json"),
            (ColumnDef::enumeration("a", 2), "enum('a','é')"),
            (ColumnDef::set("a", 2), "set('a','é')"),
        ] {
            let ty = of(def, text);
            assert_eq!(ty.column_type(), text);
        }
    }

    /// Times of tables older than MySQL 5.6.4 are numbers to the dictionary.
    #[test]
    fn old_times_are_times() {
        for (code, len, text) in [
            (mysql_type::TIME, 3, "time"),
            (mysql_type::DATETIME, 8, "datetime"),
            (mysql_type::TIMESTAMP, 4, "timestamp"),
        ] {
            let def = ColumnDef::new("a", MType::Int, u32::from(code), len);
            for declared in [text, ""] {
                assert_eq!(of(def.clone(), declared).column_type(), text);
            }
        }
    }

    #[test]
    fn types_without_a_declared_text() {
        assert_eq!(of(ColumnDef::int("a", 4, true), "").length, 10);
        assert_eq!(of(ColumnDef::int("a", 8, false), "").kind, Kind::BigInt);
        let ty = of(ColumnDef::varchar("a", 20, ColumnCharset::UTF8MB4), "");
        assert_eq!((ty.kind, ty.length, ty.collation), (Kind::VarChar, 20, 45));
        let ty = of(ColumnDef::datetime("a", 3), "");
        assert_eq!((ty.decimals, ty.length), (4, 24));
        let ty = of(ColumnDef::enumeration("a", 2), "enum('a','é')");
        assert_eq!(ty.labels.as_deref(), Some(&[Box::from(*b"a"), Box::from(*b"\xe9")][..]));
        assert_eq!(labels_of(&ty), ["a", "é"]);
    }
}
