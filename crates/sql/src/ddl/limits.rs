//! What a definition may be: row formats of files, sizes of rows and of columns in keys. Rules and words are MySQL 5.6's.

use super::definition::{self, Definition};
use crate::statement::StmtCx;
use vaquita_catalog::error;
use vaquita_engine::TableSpec;
use vaquita_engine::lower::RowFormat;
use vaquita_types::{Kind, SqlError, SqlResult};

/// Bytes of one column in a key, if the row format keeps prefixes of long values.
const OLD_KEY_COLUMN_MAX: u32 = 767;
/// Bytes of a row as SQL counts them: long values count with their lengths and addresses.
const ROW_MAX: u32 = 65_535;

/// Bytes of one column in a key of any table (`innodb_large_prefix`).
pub(super) fn key_column_max(cx: &StmtCx<'_>) -> u32 {
    if cx.db.globals().is_on("innodb_large_prefix") { 3_072 } else { OLD_KEY_COLUMN_MAX }
}

fn is_strict(cx: &StmtCx<'_>) -> bool {
    let strict = vaquita_session::vars::VarId::find(b"innodb_strict_mode");
    strict.is_some_and(|id| cx.state.vars.get(id).uint() != 0)
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
    let asked = definition.extra.get("row_format").map(str::to_owned);
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

/// 1709: columns that are too long for a key of the table's row format.
pub(super) fn check_key_columns(definition: &Definition) -> SqlResult<()> {
    if !matches!(definition.row_format, RowFormat::Redundant | RowFormat::Compact) {
        return Ok(());
    }
    let too_long = |(name, prefix): &(String, Option<u32>)| {
        let Some(column) = definition.column(name).map(|at| &definition.columns[at]) else { return false };
        let chars = prefix.unwrap_or(match column.ty.kind {
            Kind::Char | Kind::VarChar => column.ty.length,
            _ => 0,
        });
        chars.saturating_mul(definition::width_of(&column.ty)) > OLD_KEY_COLUMN_MAX
    };
    if definition.keys.iter().flat_map(|key| &key.parts).any(too_long) {
        let text =
            format!("Index column size too large. The maximum column size is {OLD_KEY_COLUMN_MAX} bytes.");
        return Err(SqlError::new(1709, text));
    }
    Ok(())
}

/// 1118: rows of more bytes than SQL knows rows of.
pub(super) fn check_row_bytes(definition: &Definition) -> SqlResult<()> {
    let bytes = definition.columns.iter().fold(0_u32, |sum, column| {
        let len = column.ty.to_def(&column.name).len;
        let length_bytes = match column.ty.kind {
            Kind::VarChar => 1 + u32::from(len > 255),
            _ => 0,
        };
        sum.saturating_add(len).saturating_add(length_bytes)
    });
    let nullable = definition.columns.iter().filter(|column| column.ty.nullable).count() as u32;
    if bytes.saturating_add(nullable.div_ceil(8)) > ROW_MAX {
        let text = format!(
            "Row size too large. The maximum row size for the used table type, not counting BLOBs, is {ROW_MAX}. This includes \
             storage overhead, check the manual. You have to change some columns to TEXT or BLOBs"
        );
        return Err(SqlError::new(1118, text));
    }
    Ok(())
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
