//! SHOW CREATE TABLE.

use crate::statement::StmtCx;
use vaquita_catalog::show_create::{Style, show_create};
use vaquita_session::names::{Meaning, StatementNames};
use vaquita_session::vars::SessionVars;
use vaquita_types::{SqlMode, SqlResult};

/// Text of SHOW CREATE TABLE.
///
/// # Errors
/// 1146 no such table.
pub(crate) fn show_create_table(
    cx: &mut StmtCx<'_>,
    database: &str,
    table: &str,
    own: bool,
) -> SqlResult<String> {
    if own {
        cx.state.names.add(database, table, Meaning::Own);
    }
    let info = super::tablespaces::look_at_definition(cx, database, table);
    cx.state.names = StatementNames::default();
    let info = info?;
    let next = super::next_auto_increment(cx, &info)?;
    let vars = &cx.state.vars;
    let text = show_create(&info.definition, next, &vars.time_zone, style(vars));
    Ok(match info.table.is_temporary() {
        true => text.replacen("CREATE TABLE", "CREATE TEMPORARY TABLE", 1),
        false => text,
    })
}

/// What SHOW CREATE writes and leaves out, by `sql_mode` and `sql_quote_show_create`.
pub(crate) fn style(vars: &SessionVars) -> Style {
    let mode = vars.sql_mode;
    let foreign = mode.0 & FOREIGN_MODES != 0;
    let no_field_options = mode.has(SqlMode::NO_FIELD_OPTIONS);
    let old = mode.0 & OLD_MODES != 0;
    Style {
        quote: if mode.has(SqlMode::ANSI_QUOTES) { '"' } else { '`' },
        plain: (!vars.sql_quote_show_create).then_some(|name| !vaquita_parser::needs_quotes(name)),
        field_options: !no_field_options,
        key_options: !(no_field_options || mode.has(SqlMode::NO_KEY_OPTIONS) || foreign || old),
        table_options: !(mode.has(SqlMode::NO_TABLE_OPTIONS) || foreign),
        directories: !mode.has(SqlMode::NO_DIR_IN_CREATE),
        old,
    }
}

/// POSTGRESQL, ORACLE, MSSQL, DB2, MAXDB, ANSI.
const FOREIGN_MODES: u64 = 0b11111 << 8 | SqlMode::ANSI.0;
/// MYSQL323, MYSQL40.
const OLD_MODES: u64 = 0b11 << 16;
