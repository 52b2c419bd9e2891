//! What a change leaves of the columns that foreign keys are of.

use super::Way;
use super::clauses::Why;
use vaquita_catalog::error;
use vaquita_catalog::{ColumnDefinition, Definition, TableInfo};
use vaquita_engine::table::{ForeignKey, ReferentialAction};
use vaquita_types::{Kind, SqlError, SqlResult};

/// Foreign keys of the table and of others that refer to it: their columns must stay what they are, and have an index.
///
/// # Errors
/// 1553, 1829, 1830, 1832, 1833.
pub(super) fn check_foreign_keys(info: &TableInfo, to: &Definition, way: Way) -> SqlResult<()> {
    let table = &info.table;
    let stays = |f: &ForeignKey| {
        let name = error::constraint_name(&f.id);
        to.foreign_keys.iter().any(|k| k.exists && k.name.as_deref() == Some(name))
    };
    for key in table.foreign_keys.iter().filter(|f| stays(f)) {
        check_child_columns(info, to, key, way)?;
    }
    for key in &table.referenced_by {
        // A table that refers to itself may lose both together.
        if key.child == table.name && !table.foreign_keys.iter().any(|f| f.id == key.id && stays(f)) {
            continue;
        }
        check_key_index(info, to, &key.parent_columns)?;
        let constraint = error::constraint_name(&key.id);
        let (database, child) = vaquita_catalog::sql_name(&key.child);
        let message = |what: &str, name: &str, how: &str| {
            format!(
                "Cannot {what} column '{name}': {how} a foreign key constraint '{constraint}' of table '{database}.{child}'"
            )
        };
        for name in &key.parent_columns {
            match kept_column(info, to, name) {
                Kept::Same(_) => {}
                Kept::Changed => return Err(SqlError::new(1833, message("change", name, "used in"))),
                Kept::Gone => return Err(SqlError::new(1829, message("drop", name, "needed in"))),
            }
        }
    }
    Ok(())
}

/// Columns of a foreign key of the table itself.
fn check_child_columns(info: &TableInfo, to: &Definition, key: &ForeignKey, way: Way) -> SqlResult<()> {
    check_key_index(info, to, &key.child_columns)?;
    let sets_null = [key.on_delete, key.on_update].contains(&ReferentialAction::SetNull);
    for name in &key.child_columns {
        let refuse = || {
            let constraint = error::constraint_name(&key.id);
            let message =
                format!("Cannot change column '{name}': used in a foreign key constraint '{constraint}'");
            Err(SqlError::new(1832, message))
        };
        match kept_column(info, to, name) {
            Kept::Same(column) if sets_null && !column.ty.nullable => {
                let message = format!(
                    "Column '{name}' cannot be NOT NULL: needed in a foreign key constraint '{}' SET NULL",
                    key.id
                );
                return Err(SqlError::new(1830, message));
            }
            // NULL would become a value that refers to nothing.
            Kept::Same(column) if way == Way::Copy(Why::Nulls) && !column.ty.nullable => return refuse(),
            Kept::Changed => return refuse(),
            // Columns that go were told of as they were dropped.
            Kept::Same(_) | Kept::Gone => {}
        }
    }
    Ok(())
}

/// 1553 if no key begins with the columns any more.
fn check_key_index(info: &TableInfo, to: &Definition, columns: &[String]) -> SqlResult<()> {
    let before = &info.definition;
    // Columns that are renamed keep their indexes.
    let now: Vec<String> = columns
        .iter()
        .map(|name| {
            let from = before.column(name);
            let kept = to.columns.iter().find(|c| c.origin.is_some() && c.origin == from);
            kept.map_or_else(|| name.clone(), |c| c.name.clone())
        })
        .collect();
    if to.keys.iter().any(|k| k.begins_with(&now)) {
        return Ok(());
    }
    match before.keys.iter().find(|k| k.begins_with(columns)) {
        Some(lost) => Err(SqlError::new(
            1553,
            format!("Cannot drop index '{}': needed in a foreign key constraint", lost.name),
        )),
        None => Ok(()),
    }
}

/// What a change leaves of a column.
enum Kept<'d> {
    /// Its values stay; the name may be another one.
    Same(&'d ColumnDefinition),
    Changed,
    Gone,
}

fn kept_column<'d>(info: &TableInfo, to: &'d Definition, name: &str) -> Kept<'d> {
    let Some(from) = info.column(name) else { return Kept::Gone };
    let Some(column) = to.columns.iter().find(|c| c.origin == Some(from)) else { return Kept::Gone };
    let (old, new) = (info.columns[from].sql_type(), &column.ty);
    // Of texts the length may differ.
    let text = matches!(old.kind, Kind::Char | Kind::VarChar);
    let same = old.kind == new.kind
        && old.unsigned == new.unsigned
        && old.decimals == new.decimals
        && (text && old.collation == new.collation
            || !text && (old.length == new.length || old.kind.is_integer()));
    match same {
        false => Kept::Changed,
        true => Kept::Same(column),
    }
}
