//! What a definition may be by the settings: row formats of files, sizes of rows and of columns in keys.

use crate::statement::StmtCx;
use vaquita_catalog::error;
use vaquita_catalog::limits::OLD_KEY_COLUMN_MAX;
use vaquita_catalog::{Definition, TableOption};
use vaquita_engine::TableSpec;
use vaquita_engine::lower::RowFormat;
use vaquita_types::{SqlError, SqlResult};

/// Bytes of one column in a key of any table (`innodb_large_prefix`).
pub(super) fn key_column_max(cx: &StmtCx<'_>) -> u32 {
    if cx.db.globals().is_on("innodb_large_prefix") { 3_072 } else { OLD_KEY_COLUMN_MAX }
}

/// A variable of the session that is ON or OFF.
pub(super) fn is_on(cx: &StmtCx<'_>, name: &str) -> bool {
    let id = vaquita_session::vars::VarId::find(name.as_bytes());
    id.is_some_and(|id| cx.state.vars.get(id).uint() != 0)
}

pub(super) fn is_strict(cx: &StmtCx<'_>) -> bool {
    is_on(cx, "innodb_strict_mode")
}

/// What keeps new tables from being DYNAMIC, if anything does.
fn against_dynamic(cx: &StmtCx<'_>) -> Option<&'static str> {
    let globals = cx.db.globals();
    if !globals.is_on("innodb_file_per_table") {
        return Some("innodb_file_per_table");
    }
    (globals.text("innodb_file_format").as_deref() == Some("Antelope"))
        .then_some("innodb_file_format > Antelope")
}

/// The format of tables of which nothing is said.
pub(super) fn default_row_format(cx: &StmtCx<'_>) -> RowFormat {
    match cx.db.globals().text("innodb_default_row_format").as_deref() {
        Some("redundant") => RowFormat::Redundant,
        Some("compact") => RowFormat::Compact,
        _ if against_dynamic(cx).is_some() => RowFormat::Compact,
        _ => RowFormat::Dynamic,
    }
}

/// Settles a row format that a statement asks for and that new tables cannot have: COMPACT is taken instead of DYNAMIC, with
/// warnings.
///
/// # Errors
/// Under `innodb_strict_mode`: 1031, of ALTER TABLE 1478.
pub(super) fn settle_row_format(
    cx: &mut StmtCx<'_>,
    definition: &mut Definition,
    alter: bool,
) -> SqlResult<()> {
    let asked = definition.options.get(TableOption::RowFormat).map(str::to_owned);
    let dynamic = definition.row_format == RowFormat::Dynamic;
    let complaint = match (asked.as_deref(), against_dynamic(cx)) {
        (Some("FIXED"), _) if is_strict(cx) => Some("InnoDB: invalid ROW_FORMAT specifier.".to_owned()),
        (Some("FIXED"), _) => None,
        (_, Some(needed)) if dynamic => {
            definition.row_format = RowFormat::Compact;
            // Nobody has asked for it: a table that is made like another.
            if asked.is_none() {
                return Ok(());
            }
            Some(format!("InnoDB: ROW_FORMAT=DYNAMIC requires {needed}."))
        }
        _ => return Ok(()),
    };
    if let Some(text) = complaint {
        cx.state.warnings.warn(1478, text);
    }
    if !is_strict(cx) {
        cx.state.warnings.warn(1478, "InnoDB: assuming ROW_FORMAT=COMPACT.");
        return Ok(());
    }
    Err(match alter {
        true => SqlError::new(
            1478,
            "Table storage engine 'InnoDB' does not support the create option 'ROW_FORMAT'",
        ),
        false => {
            let text = format!("Table storage engine for '{}' doesn't have this option", definition.name);
            SqlError::new(1031, text)
        }
    })
}

/// Gives a table that is made of a file the row format of that, unless it declares one.
pub(super) fn take_row_format(definition: &mut Definition, of_file: RowFormat) {
    let declared = definition.options.get(TableOption::RowFormat);
    if declared.is_none_or(|declared| declared == "FIXED") {
        definition.row_format = of_file;
    }
}

/// Has a table be taken whose rows may not fit a page, with a warning, unless `innodb_strict_mode` is on or its row format
/// says that they never do.
///
/// # Errors
/// 1118.
pub(super) fn settle_row_size(cx: &mut StmtCx<'_>, spec: &mut TableSpec) -> SqlResult<()> {
    let storage = &cx.db.engine().core().storage;
    let Err(e @ vaquita_engine::Error::RowTooBig { inline, .. }) =
        vaquita_engine::ddl::row_size(storage, spec)
    else {
        return Ok(());
    };
    let error = error::engine(&e);
    if is_strict(cx) || inline == 0 {
        return Err(error);
    }
    cx.state.warnings.warn(139, error.message.into_owned());
    spec.lenient_row_size = true;
    Ok(())
}
