//! JSON_TABLE as text.

use super::Printer;
use super::quoted;
use vaquita_parser::ast::{self, IntSize, JsonColumn, JsonInstead, TypeKind};
use vaquita_types::{SqlError, SqlResult};

impl Printer<'_> {
    pub(super) fn json_table(&mut self, table: &ast::JsonTable<'_>) -> SqlResult<()> {
        self.put("json_table(");
        self.expr(&table.doc)?;
        self.put(", ");
        self.json_rows(&table.rows)?;
        self.put(") ");
        self.name(table.alias);
        Ok(())
    }

    fn json_rows(&mut self, rows: &ast::JsonRows<'_>) -> SqlResult<()> {
        self.string(rows.path)?;
        self.put(" columns (");
        for (i, column) in rows.columns.iter().enumerate() {
            if i > 0 {
                self.put(", ");
            }
            match column {
                JsonColumn::Ordinality(name) => {
                    self.name(*name);
                    self.put(" for ordinality");
                }
                JsonColumn::Path(column) => self.json_column(column)?,
                JsonColumn::Nested(rows) => {
                    self.put("nested path ");
                    self.json_rows(rows)?;
                }
            }
        }
        self.put(")");
        Ok(())
    }

    fn json_column(&mut self, column: &ast::JsonPathColumn<'_>) -> SqlResult<()> {
        let noted = self.names.map(|names| names.type_of(column)).filter(|text| !text.is_empty());
        let text = match noted {
            Some(text) => text.to_owned(),
            None => written(&column.ty)?,
        };
        let text = format!(
            "{} {text}{} path ",
            quoted(&column.name.to_string()),
            if column.exists { " exists" } else { "" }
        );
        self.put(&text);
        self.string(column.path)?;
        for (instead, when) in [(&column.on_empty, "empty"), (&column.on_error, "error")] {
            match instead {
                JsonInstead::Null => continue,
                JsonInstead::Error => self.put(" error"),
                JsonInstead::Default(text) => {
                    self.put(" default ");
                    self.string(text)?;
                }
            }
            let text = format!(" on {when}");
            self.put(&text);
        }
        Ok(())
    }
}

/// A type of a view's kept text, which says all that types depend on.
fn written(ty: &ast::ColumnType<'_>) -> SqlResult<String> {
    let one = |name: &str, n: Option<u32>| n.map_or_else(|| name.to_owned(), |n| format!("{name}({n})"));
    let two = |name: &str, both: Option<(u32, u32)>| {
        both.map_or_else(|| name.to_owned(), |(n, d)| format!("{name}({n},{d})"))
    };
    let mut text = match ty.kind {
        TypeKind::Bit(n) => one("bit", n),
        TypeKind::Int(size, n) => one(
            match size {
                IntSize::Tiny => "tinyint",
                IntSize::Small => "smallint",
                IntSize::Medium => "mediumint",
                IntSize::Int => "int",
                IntSize::Big => "bigint",
            },
            n,
        ),
        TypeKind::Bool => "tinyint(1)".to_owned(),
        TypeKind::Serial => "bigint(20) unsigned".to_owned(),
        TypeKind::Float(n, None) => one("float", n),
        TypeKind::Float(n, Some(d)) => two("float", Some((n.unwrap_or(0), d))),
        TypeKind::Double(both) | TypeKind::Real(both) => two("double", both),
        TypeKind::Decimal(n, d) => two("decimal", Some((n.unwrap_or(10), d.unwrap_or(0)))),
        TypeKind::Date => "date".to_owned(),
        TypeKind::Time(n) => one("time", n),
        TypeKind::DateTime(n) => one("datetime", n),
        TypeKind::Timestamp(n) => one("timestamp", n),
        TypeKind::Year(n) => one("year", n),
        TypeKind::Char(n) => one("char", n),
        TypeKind::VarChar(n) => one("varchar", Some(n)),
        TypeKind::Binary(n) => one("binary", n),
        TypeKind::VarBinary(n) => one("varbinary", Some(n)),
        TypeKind::TinyText => "tinytext".to_owned(),
        TypeKind::Text(n) => one("text", n),
        TypeKind::MediumText => "mediumtext".to_owned(),
        TypeKind::LongText => "longtext".to_owned(),
        TypeKind::TinyBlob => "tinyblob".to_owned(),
        TypeKind::Blob(n) => one("blob", n),
        TypeKind::MediumBlob => "mediumblob".to_owned(),
        TypeKind::LongBlob => "longblob".to_owned(),
        TypeKind::Enum(members) => labelled("enum", members),
        TypeKind::Set(members) => labelled("set", members),
        TypeKind::Json => "json".to_owned(),
        TypeKind::Geometry(_) => return Err(SqlError::unsupported("spatial columns of JSON_TABLE")),
    };
    if ty.unsigned || ty.zerofill {
        text.push_str(" unsigned");
    }
    if ty.zerofill {
        text.push_str(" zerofill");
    }
    if let Some(charset) = ty.charset {
        text.push_str(&format!(" character set {charset}"));
    }
    if let Some(collation) = ty.collation {
        text.push_str(&format!(" collate {collation}"));
    }
    Ok(text)
}

fn labelled(name: &str, members: &[ast::EnumMember<'_>]) -> String {
    let label = |m: &ast::EnumMember<'_>| {
        format!("'{}'", String::from_utf8_lossy(m.value).replace('\\', "\\\\").replace('\'', "''"))
    };
    format!("{name}({})", members.iter().map(label).collect::<Vec<_>>().join(","))
}
