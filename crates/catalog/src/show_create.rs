//! Definitions as text: SHOW CREATE TABLE.

use crate::definition::{
    CheckDefinition, ColumnDefinition, Definition, ForeignKeyDefinition, KeyDefinition, KeyKind, TableOption,
};
use crate::partitioning::Partitioned;
use crate::written::{name_in, push_literal};
use std::fmt::Write as _;
use vaquita_engine::lower::charset::Charset;
use vaquita_engine::lower::collation;
use vaquita_engine::table::{DefaultValue, ReferentialAction};
use vaquita_types::sql_type::BINARY;
use vaquita_types::{Kind, SqlType, TimeZone, Value};

/// What is written and left out.
#[derive(Debug, Clone, Copy)]
pub struct Style {
    /// What stands around names.
    pub quote: char,
    /// Tells the names that stand without quotes; `None`: none does.
    pub plain: Option<fn(&[u8]) -> bool>,
    /// AUTO_INCREMENT and ON UPDATE.
    pub field_options: bool,
    /// USING and what else is said of keys.
    pub key_options: bool,
    /// What stands behind the parentheses.
    pub table_options: bool,
    /// DATA DIRECTORY, which stands there, too.
    pub directories: bool,
    /// As before MySQL 4.1, which knew no character sets: `TYPE=`, BINARY, no default of TIMESTAMP.
    pub old: bool,
}

impl Default for Style {
    /// Everything, all names between backticks.
    fn default() -> Style {
        Style {
            quote: '`',
            plain: None,
            field_options: true,
            key_options: true,
            table_options: true,
            directories: true,
            old: false,
        }
    }
}

impl Style {
    /// A name.
    pub fn name(self, name: &str) -> String {
        match self.plain {
            Some(plain) if plain(name.as_bytes()) => name.to_owned(),
            _ => self.quoted(name),
        }
    }

    fn quoted(self, name: &str) -> String {
        name_in(self.quote, name)
    }

    fn names(self, names: &[String]) -> String {
        names.iter().map(|name| self.name(name)).collect::<Vec<_>>().join(", ")
    }
}

/// The statement that makes such a table, without a final semicolon. The definition does not tell the next AUTO_INCREMENT value;
/// constants of TIMESTAMP columns are written in the time zone.
pub fn show_create(table: &Definition, next_number: Option<u64>, zone: &TimeZone, style: Style) -> String {
    let shown = table.columns.iter().filter(|column| !column.hidden);
    let mut lines: Vec<String> = shown.map(|c| column(c, table.collation, zone, style)).collect();
    lines.extend(table.keys.iter().map(|k| key(table, k, style)));
    let mut foreign_keys: Vec<&ForeignKeyDefinition> = table.foreign_keys.iter().collect();
    foreign_keys.sort_by(|a, b| a.name.cmp(&b.name));
    lines.extend(foreign_keys.into_iter().map(|f| foreign_key(f, &table.database, style)));
    if !style.old {
        lines.extend(table.checks.iter().map(|c| check(c, style)));
    }
    let mut out = format!("CREATE TABLE {} (\n  {}\n)", style.name(&table.name), lines.join(",\n  "));
    if style.table_options {
        options(&mut out, table, next_number, style);
    }
    if !table.partitioning.is_empty() {
        let (version, clause) = partitioning(&table.partitioning, style);
        put(&mut out, format_args!("\n/*!{version}{clause} */"));
    }
    out
}

fn put(out: &mut String, args: std::fmt::Arguments<'_>) {
    out.write_fmt(args).expect("writing to a String does not fail");
}

/// A quote in a literal, doubled.
const DOUBLED: &str = "''";

fn charset_name(collation: u16) -> &'static str {
    Charset::of_any_collation(collation).map_or("?", |charset| charset.name)
}

/// The collation's name, unless it goes without saying.
fn collation_to_say(id: u16) -> Option<&'static str> {
    collation::name(id).filter(|_| !collation::is_primary(id))
}

fn column(column: &ColumnDefinition, table_collation: u16, zone: &TimeZone, style: Style) -> String {
    let ty = &column.ty;
    let mut out = format!("{} {}", style.name(&column.name), column.declared());
    push_charset(column, table_collation, style, &mut out);
    if let Some(generated) = &column.generated {
        let how = if generated.stored { "STORED" } else { "VIRTUAL" };
        put(&mut out, format_args!(" GENERATED ALWAYS AS ({}) {how}", generated.clause));
    }
    if !ty.nullable {
        out.push_str(" NOT NULL");
    } else if ty.kind == Kind::Timestamp {
        out.push_str(" NULL");
    }
    if column.generated.is_none() {
        push_default(column, zone, style, &mut out);
    }
    if column.on_update_now && style.field_options && !style.old {
        put(&mut out, format_args!(" ON UPDATE CURRENT_TIMESTAMP{}", digits(ty)));
    }
    if column.auto_increment && style.field_options {
        out.push_str(" AUTO_INCREMENT");
    }
    if column.invisible {
        out.push_str(" /*!80023 INVISIBLE */");
    }
    push_comment(" COMMENT ", &column.comment, &mut out);
    out
}

fn push_charset(column: &ColumnDefinition, table_collation: u16, style: Style, out: &mut String) {
    let collation = column.ty.collation;
    // Bytes have types of their own, but for labels.
    if !(column.is_text() || column.is_labelled()) {
        return;
    }
    if style.old {
        let by_bytes = collation::name(collation).is_some_and(|name| name.ends_with("_bin"));
        if by_bytes && matches!(column.ty.kind, Kind::Char | Kind::VarChar) {
            out.push_str(" binary");
        }
        return;
    }
    if collation != table_collation {
        put(out, format_args!(" CHARACTER SET {}", charset_name(collation)));
    }
    if let Some(name) = collation_to_say(collation).filter(|_| collation != BINARY) {
        put(out, format_args!(" COLLATE {name}"));
    }
}

/// Digits of the second, as CURRENT_TIMESTAMP has them.
fn digits(ty: &SqlType) -> String {
    if ty.decimals > 0 { format!("({})", ty.decimals) } else { String::new() }
}

fn push_default(column: &ColumnDefinition, zone: &TimeZone, style: Style, out: &mut String) {
    let ty = &column.ty;
    // A BLOB or TEXT can have no other default than NULL or nothing: it is not said.
    let long = ty.kind.is_blob() && ty.kind != Kind::Geometry;
    match &column.default {
        _ if style.old && ty.kind == Kind::Timestamp => {}
        DefaultValue::Now => put(out, format_args!(" DEFAULT CURRENT_TIMESTAMP{}", digits(ty))),
        DefaultValue::Null if !long && ty.nullable => out.push_str(" DEFAULT NULL"),
        DefaultValue::Stored(stored) if long && stored.is_empty() => {}
        DefaultValue::Stored(stored) => {
            out.push_str(" DEFAULT ");
            push_constant(&column.codec().decode(Some(stored), zone), ty, out);
        }
        DefaultValue::Text(expression) => put(out, format_args!(" DEFAULT ({expression})")),
        DefaultValue::None | DefaultValue::Null => {}
    }
}

fn push_constant(value: &Value<'_>, ty: &SqlType, out: &mut String) {
    if let Value::Bit { value, .. } = value {
        return put(out, format_args!("b'{value:b}'"));
    }
    let bytes = value.to_text(ty);
    let charset = Charset::of_any_collation(ty.collation).filter(|_| ty.collation != BINARY);
    match charset.and_then(|charset| charset.decode(&bytes)) {
        Some(text) => push_literal(&text, DOUBLED, out),
        None => push_literal(&String::from_utf8_lossy(&bytes), DOUBLED, out),
    }
}

fn push_comment(word: &str, comment: &str, out: &mut String) {
    if !comment.is_empty() {
        out.push_str(word);
        push_literal(comment, DOUBLED, out);
    }
}

fn key(table: &Definition, key: &KeyDefinition, style: Style) -> String {
    let part = |part: &crate::definition::KeyPart| {
        let expression = table.expression_of(part).map(|text| format!("({text})"));
        let mut out = expression.unwrap_or_else(|| style.name(&part.column));
        if let Some(n) = part.prefix {
            put(&mut out, format_args!("({n})"));
        }
        if part.descending {
            out.push_str(" DESC");
        }
        out
    };
    let parts: Vec<String> = key.parts.iter().map(part).collect();
    let (kind, name) = match key.kind {
        KeyKind::Primary => ("PRIMARY KEY", String::new()),
        KeyKind::Unique => ("UNIQUE KEY ", style.name(&key.name)),
        KeyKind::Plain => ("KEY ", style.name(&key.name)),
        KeyKind::FullText => ("FULLTEXT KEY ", style.name(&key.name)),
        KeyKind::Spatial => ("SPATIAL KEY ", style.name(&key.name)),
    };
    let mut out = format!("{kind}{name} ({})", parts.join(","));
    if !style.key_options {
        return out;
    }
    if let Some(using) = key.using {
        put(&mut out, format_args!(" USING {using}"));
    }
    if let Some(size) = key.key_block_size {
        put(&mut out, format_args!(" KEY_BLOCK_SIZE={size}"));
    }
    push_comment(" COMMENT ", &key.comment, &mut out);
    if key.invisible {
        out.push_str(" /*!80000 INVISIBLE */");
    }
    if let Some(parser) = &key.parser {
        // The space behind it is MySQL's.
        put(&mut out, format_args!(" /*!50100 WITH PARSER {} */ ", style.quoted(parser)));
    }
    out
}

fn foreign_key(key: &ForeignKeyDefinition, database: &str, style: Style) -> String {
    let parent = match key.parent.0 == database {
        true => style.quoted(&key.parent.1),
        false => format!("{}.{}", style.quoted(&key.parent.0), style.quoted(&key.parent.1)),
    };
    let mut out = format!(
        "CONSTRAINT {} FOREIGN KEY ({}) REFERENCES {parent} ({})",
        style.name(key.name.as_deref().unwrap_or_default()),
        style.names(&key.columns),
        style.names(&key.parent_columns)
    );
    for (event, action) in [("DELETE", key.on_delete), ("UPDATE", key.on_update)] {
        let action = match action {
            ReferentialAction::Restrict => continue,
            ReferentialAction::NoAction => "NO ACTION",
            ReferentialAction::Cascade => "CASCADE",
            ReferentialAction::SetNull => "SET NULL",
        };
        put(&mut out, format_args!(" ON {event} {action}"));
    }
    out
}

fn check(check: &CheckDefinition, style: Style) -> String {
    let enforced = if check.enforced { "" } else { " /*!80016 NOT ENFORCED */" };
    format!("CONSTRAINT {} CHECK ({}){enforced}", style.name(&check.name), check.clause)
}

fn options(out: &mut String, table: &Definition, next_number: Option<u64>, style: Style) {
    out.push_str(if style.old { " TYPE=InnoDB" } else { " ENGINE=InnoDB" });
    if let Some(next) = next_number.filter(|n| *n > 1) {
        put(out, format_args!(" AUTO_INCREMENT={next}"));
    }
    if !style.old {
        put(out, format_args!(" DEFAULT CHARSET={}", charset_name(table.collation)));
        if let Some(name) = collation_to_say(table.collation) {
            put(out, format_args!(" COLLATE={name}"));
        }
    }
    for option in TableOption::ALL {
        if let Some(value) = table.options.get(option) {
            put(out, format_args!(" {}={value}", option.name().to_uppercase()));
        }
    }
    push_comment(" COMMENT=", &table.comment, out);
    if let Some(directory) = table.directory.as_deref().filter(|_| style.directories) {
        out.push_str(" DATA DIRECTORY=");
        push_literal(directory, DOUBLED, out);
    }
}

/// The clause as it is shown, itself within a comment for a version of MySQL. One that cannot be read is shown as it is.
fn partitioning(clause: &str, style: Style) -> (&'static str, String) {
    let kept = Partitioned::of_clause(clause);
    kept.map_or_else(|_| ("50100", clause.to_owned()), |partitioned| partitioned.shown(style.quote))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::KeyPart;
    use std::sync::Arc;
    use vaquita_engine::lower::RowFormat;

    fn table() -> Definition {
        let mut table = Definition::new("d", "a`b", 8, RowFormat::Compact);
        let mut moment = ColumnDefinition::new("at", SqlType::new(Kind::Timestamp).not_null(), Vec::new());
        moment.default = DefaultValue::Now;
        moment.on_update_now = true;
        let mut text = ColumnDefinition::new("text", SqlType::varchar(9, 83), Vec::new());
        text.default = DefaultValue::Stored(b"it's".to_vec());
        let mut hidden = ColumnDefinition::new("FTS_DOC_ID", SqlType::bigint(true).not_null(), Vec::new());
        hidden.hidden = true;
        table.columns = [moment, text, hidden].map(Arc::new).into();
        let mut by_text = KeyDefinition::new(KeyKind::Plain, "k", vec![KeyPart::whole("text")]);
        by_text.using = Some("HASH");
        let words = KeyDefinition::new(KeyKind::FullText, "words", vec![KeyPart::whole("text")]);
        table.keys = [by_text, words].map(Arc::new).into();
        table.options.set(TableOption::KeyBlockSize, Some("8".to_owned()));
        table.options.set(TableOption::MinRows, Some("3".to_owned()));
        table.comment = "c".to_owned();
        table.partitioning = " PARTITION BY KEY /*!50611 ALGORITHM = 2 */ ()".to_owned();
        table
    }

    #[test]
    fn all_of_it() {
        let text = show_create(&table(), Some(7), &TimeZone::UTC, Style::default());
        let wanted = "CREATE TABLE `a``b` (
  `at` timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
  `text` varchar(9) CHARACTER SET utf8 COLLATE utf8_bin DEFAULT 'it''s',
  KEY `k` (`text`) USING HASH,
  FULLTEXT KEY `words` (`text`)
) ENGINE=InnoDB AUTO_INCREMENT=7 DEFAULT CHARSET=latin1 MIN_ROWS=3 KEY_BLOCK_SIZE=8 COMMENT='c'
/*!50100 PARTITION BY KEY () */";
        assert_eq!(text, wanted);
    }

    #[test]
    fn less_of_it() {
        let style = Style {
            plain: Some(|name| name == b"k"),
            field_options: false,
            key_options: false,
            table_options: false,
            ..Style::default()
        };
        let text =
            show_create(&Definition { partitioning: String::new(), ..table() }, None, &TimeZone::UTC, style);
        assert!(text.contains("\n  KEY k (`text`),\n"), "{text}");
        assert!(text.ends_with("\n)") && !text.contains("ON UPDATE"), "{text}");
    }
}
