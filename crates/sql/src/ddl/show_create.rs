//! SHOW CREATE TABLE.

use super::definition::{Definition, KeyDefinition, KeyKind};
use super::look_at;
use crate::statement::StmtCx;
use std::fmt::Write as _;
use vaquita_catalog::TableInfo;
use vaquita_engine::table::{DefaultValue, ReferentialAction};
use vaquita_engine::text::charset::Charset;
use vaquita_session::vars::{self, SessionVars};
use vaquita_types::{Kind, SqlMode, SqlResult, Value};

/// Text of SHOW CREATE TABLE.
///
/// # Errors
/// 1146 no such table.
pub(crate) fn show_create_table(cx: &mut StmtCx<'_>, database: &str, table: &str) -> SqlResult<String> {
    let info = look_at(cx, database, table)?;
    let next = super::next_auto_increment(cx, &info)?;
    Ok(text(cx, &info, next))
}

/// What SHOW CREATE writes and leaves out, by `sql_mode` and `sql_quote_show_create`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Style {
    quote: char,
    /// All names are quoted, not only those that need it.
    always: bool,
    /// AUTO_INCREMENT and ON UPDATE.
    field_options: bool,
    key_options: bool,
    table_options: bool,
    /// Modes of MySQL before 4.1, which knew no character sets: `TYPE=`, BINARY, no default of TIMESTAMP.
    old: bool,
}

impl Style {
    pub(crate) fn of(vars: &SessionVars) -> Style {
        let mode = vars.sql_mode;
        let foreign = mode.0 & FOREIGN_MODES != 0;
        let no_field_options = mode.has(SqlMode::NO_FIELD_OPTIONS);
        let old = mode.0 & OLD_MODES != 0;
        Style {
            quote: if mode.has(SqlMode::ANSI_QUOTES) { '"' } else { '`' },
            always: vars.sql_quote_show_create,
            field_options: !no_field_options,
            key_options: !(no_field_options || mode.has(SqlMode::NO_KEY_OPTIONS) || foreign || old),
            table_options: !(mode.has(SqlMode::NO_TABLE_OPTIONS) || foreign),
            old,
        }
    }

    /// A name.
    pub(crate) fn name(self, name: &str) -> String {
        if self.always || vaquita_parser::needs_quotes(name.as_bytes()) {
            self.quoted(name)
        } else {
            name.to_owned()
        }
    }

    fn quoted(self, name: &str) -> String {
        let quote = self.quote;
        let doubled = name.replace(quote, &format!("{quote}{quote}"));
        format!("{quote}{doubled}{quote}")
    }
}

/// POSTGRESQL, ORACLE, MSSQL, DB2, MAXDB, ANSI.
const FOREIGN_MODES: u64 = 0b11111 << 8 | SqlMode::ANSI.0;
/// MYSQL323, MYSQL40.
const OLD_MODES: u64 = 0b11 << 16;

/// A string literal.
fn literal(text: &str) -> String {
    let mut out = String::from("'");
    for c in text.chars() {
        match c {
            '\'' => out.push_str("''"),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\0' => out.push_str("\\0"),
            c => out.push(c),
        }
    }
    out.push('\'');
    out
}

fn text(cx: &StmtCx<'_>, info: &TableInfo, next_auto_increment: Option<u64>) -> String {
    let mut definition = Definition::of(info);
    definition.foreign_keys.sort_by(|a, b| a.name.cmp(&b.name));
    let style = Style::of(&cx.state.vars);
    let mut lines: Vec<String> =
        (0..definition.columns.len()).map(|i| column(cx, info, &definition, i, style)).collect();
    lines.extend(definition.keys.iter().map(|k| key(k, style)));
    lines.extend(definition.foreign_keys.iter().map(|f| {
        let names = |list: &[String]| list.iter().map(|n| style.name(n)).collect::<Vec<_>>().join(", ");
        let parent = match f.parent.0 == definition.database {
            true => style.quoted(&f.parent.1),
            false => format!("{}.{}", style.quoted(&f.parent.0), style.quoted(&f.parent.1)),
        };
        let mut out = format!(
            "  CONSTRAINT {} FOREIGN KEY ({}) REFERENCES {parent} ({})",
            style.name(f.name.as_deref().unwrap_or_default()),
            names(&f.columns),
            names(&f.parent_columns)
        );
        action(&mut out, "DELETE", f.on_delete);
        action(&mut out, "UPDATE", f.on_update);
        out
    }));
    let mut out = format!("CREATE TABLE {} (\n{}\n)", style.name(&definition.name), lines.join(",\n"));
    if style.table_options {
        options(&mut out, &definition, next_auto_increment, style);
    }
    out
}

fn action(out: &mut String, event: &str, action: ReferentialAction) {
    let text = match action {
        ReferentialAction::Restrict => return,
        ReferentialAction::NoAction => "NO ACTION",
        ReferentialAction::Cascade => "CASCADE",
        ReferentialAction::SetNull => "SET NULL",
    };
    out.push_str(" ON ");
    out.push_str(event);
    out.push(' ');
    out.push_str(text);
}

fn column(cx: &StmtCx<'_>, info: &TableInfo, table: &Definition, i: usize, style: Style) -> String {
    let column = &table.columns[i];
    let ty = &column.ty;
    let mut out = format!("  {} {}", style.name(&column.name), ty.column_type());
    let is_text = (ty.kind.is_string() || matches!(ty.kind, Kind::Enum | Kind::Set)) && ty.collation != 63;
    let by_bytes = vars::collation_name(ty.collation).ends_with("_bin");
    if is_text && style.old {
        if by_bytes && matches!(ty.kind, Kind::Char | Kind::VarChar) {
            out.push_str(" binary");
        }
    } else if is_text {
        if ty.collation != table.collation {
            out.push_str(" CHARACTER SET ");
            out.push_str(vars::charset_name(ty.collation));
        }
        if ty.collation != vars::primary(ty.collation) {
            out.push_str(" COLLATE ");
            out.push_str(vars::collation_name(ty.collation));
        }
    }
    if !ty.nullable {
        out.push_str(" NOT NULL");
    } else if ty.kind == Kind::Timestamp {
        out.push_str(" NULL");
    }
    let fsp = if ty.decimals > 0 { format!("({})", ty.decimals) } else { String::new() };
    let long = matches!(
        ty.kind,
        Kind::TinyText | Kind::Text | Kind::MediumText | Kind::LongText | Kind::Json | Kind::Geometry
    );
    match &column.default {
        _ if style.old && ty.kind == Kind::Timestamp => {}
        DefaultValue::Now => out.push_str(&format!(" DEFAULT CURRENT_TIMESTAMP{fsp}")),
        DefaultValue::Null if !long && ty.nullable => out.push_str(" DEFAULT NULL"),
        DefaultValue::Stored(stored) if long && stored.is_empty() => {}
        DefaultValue::Stored(stored) => {
            let value = info.columns[i].ty.decode(Some(stored), &cx.state.vars.time_zone);
            out.push_str(" DEFAULT ");
            out.push_str(&default_text(&value, ty));
        }
        _ => {}
    }
    if column.on_update_now && style.field_options && !style.old {
        out.push_str(&format!(" ON UPDATE CURRENT_TIMESTAMP{fsp}"));
    }
    if column.auto_increment && style.field_options {
        out.push_str(" AUTO_INCREMENT");
    }
    if !column.comment.is_empty() {
        out.push_str(" COMMENT ");
        out.push_str(&literal(&column.comment));
    }
    out
}

fn default_text(value: &Value<'_>, ty: &vaquita_types::SqlType) -> String {
    if let Value::Bit { value, .. } = value {
        return format!("b'{value:b}'");
    }
    let mut bytes = Vec::new();
    value.push_text(ty, &mut bytes);
    match (ty.collation, Charset::of_collation(ty.collation)) {
        (63, _) | (_, None) => literal(&String::from_utf8_lossy(&bytes)),
        (_, Some(charset)) => {
            literal(&charset.decode(&bytes).unwrap_or_else(|| String::from_utf8_lossy(&bytes)))
        }
    }
}

fn key(key: &KeyDefinition, style: Style) -> String {
    let parts: Vec<String> = key
        .parts
        .iter()
        .map(|(name, prefix)| match prefix {
            Some(n) => format!("{}({n})", style.name(name)),
            None => style.name(name),
        })
        .collect();
    let mut out = match key.kind {
        KeyKind::Primary => "  PRIMARY KEY".to_owned(),
        KeyKind::Unique => format!("  UNIQUE KEY {}", style.name(&key.name)),
        KeyKind::Plain => format!("  KEY {}", style.name(&key.name)),
    };
    out.push_str(&format!(" ({})", parts.join(",")));
    if !style.key_options {
        return out;
    }
    if let Some(using) = key.using {
        out.push_str(" USING ");
        out.push_str(using);
    }
    if let Some(size) = key.key_block_size {
        out.push_str(&format!(" KEY_BLOCK_SIZE={size}"));
    }
    if !key.comment.is_empty() {
        out.push_str(" COMMENT ");
        out.push_str(&literal(&key.comment));
    }
    out
}

fn options(out: &mut String, table: &Definition, next_auto_increment: Option<u64>, style: Style) {
    out.push_str(if style.old { " TYPE=InnoDB" } else { " ENGINE=InnoDB" });
    let mut push = |text: String| {
        out.push(' ');
        out.push_str(&text);
    };
    if let Some(next) = next_auto_increment.filter(|n| *n > 1) {
        push(format!("AUTO_INCREMENT={next}"));
    }
    let mut charset = format!("DEFAULT CHARSET={}", vars::charset_name(table.collation));
    if table.collation != vars::primary(table.collation) {
        // Writing to a string cannot fail.
        let _ = write!(charset, " COLLATE={}", vars::collation_name(table.collation));
    }
    if !style.old {
        push(charset);
    }
    for (option, name) in [
        ("min_rows", "MIN_ROWS"),
        ("max_rows", "MAX_ROWS"),
        ("avg_row_length", "AVG_ROW_LENGTH"),
        ("pack_keys", "PACK_KEYS"),
        ("stats_persistent", "STATS_PERSISTENT"),
        ("stats_auto_recalc", "STATS_AUTO_RECALC"),
        ("stats_sample_pages", "STATS_SAMPLE_PAGES"),
        ("checksum", "CHECKSUM"),
        ("delay_key_write", "DELAY_KEY_WRITE"),
        ("row_format", "ROW_FORMAT"),
        ("key_block_size", "KEY_BLOCK_SIZE"),
    ] {
        if let Some(value) = table.extra.get(option) {
            push(format!("{name}={value}"));
        }
    }
    if !table.comment.is_empty() {
        push(format!("COMMENT={}", literal(&table.comment)));
    }
}
