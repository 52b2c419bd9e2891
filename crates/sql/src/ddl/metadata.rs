//! Which changes of a definition leave the rows as they are, so that ALTER TABLE only writes the definition anew.
//!
//! | change | rows |
//! |---|---|
//! | names of columns and indexes; defaults; comments; visibility | as they are |
//! | default charset, MIN_ROWS and other options; AUTO_INCREMENT = n | as they are |
//! | labels behind those of an ENUM or SET, as long as values keep their width | as they are |
//! | a VARCHAR or VARBINARY becomes longer, with as many length bytes | as they are |
//! | display width of whole numbers; AUTO_INCREMENT of a column goes; CHECK goes, or is NOT ENFORCED | as they are |
//! | anything else, and what asks for other rows by name: FORCE, ENGINE, ROW_FORMAT, KEY_BLOCK_SIZE, ALGORITHM=COPY | written anew |

use vaquita_catalog::{ColumnDefinition, Definition, KeyDefinition, KeyPart};
use vaquita_parser::ast::{AlterAction, TableOption};
use vaquita_types::Kind;

/// Whether an action asks for rows that are written anew, though the definition may be the same.
pub(super) fn asks_for_rows(action: &AlterAction<'_>) -> bool {
    match action {
        AlterAction::Force => true,
        AlterAction::Option(option) => matches!(
            option,
            TableOption::Engine(_) | TableOption::RowFormat(_) | TableOption::KeyBlockSize(_)
        ),
        _ => false,
    }
}

/// Whether the rows of a table are those of `to`, too. Keys are not looked at.
pub(super) fn keeps_rows(from: &Definition, to: &Definition) -> bool {
    from.columns.len() == to.columns.len()
        && from.row_format == to.row_format
        && from.partitioning == to.partitioning
        && to
            .columns
            .iter()
            .enumerate()
            .all(|(i, new)| new.origin == Some(i) && keeps_values(&from.columns[i], new))
        && keeps_checks(from, to)
}

/// Whether no CHECK comes that rows have not been held against.
pub(super) fn keeps_checks(from: &Definition, to: &Definition) -> bool {
    to.checks.iter().filter(|check| check.enforced).all(|new| {
        from.checks.iter().any(|old| old.enforced && old.clause == new.clause && old.columns == new.columns)
    })
}

/// Whether a column has another name.
pub(super) fn renames(from: &Definition, to: &Definition) -> bool {
    to.columns.iter().any(|new| new.origin.is_some_and(|at| from.columns[at].name != new.name))
}

/// Whether values of a column are values of another one, as they are.
pub(super) fn keeps_values(old: &ColumnDefinition, new: &ColumnDefinition) -> bool {
    let (a, b) = (&old.ty, &new.ty);
    let (old_def, new_def) = (a.to_def(&new.name), b.to_def(&new.name));
    let length = match a.kind {
        Kind::VarChar => a.length <= b.length,
        Kind::Enum | Kind::Set => true,
        kind if kind.is_integer() => true,
        _ => a.length == b.length,
    };
    let bytes = (old_def.len == new_def.len || a.kind == Kind::VarChar)
        && (old_def.mtype, old_def.prtype) == (new_def.mtype, new_def.prtype);
    a.kind == b.kind
        && a.unsigned == b.unsigned
        && a.nullable == b.nullable
        && a.collation == b.collation
        && a.decimals == b.decimals
        && length
        && bytes
        && new.labels.starts_with(&old.labels)
        && old.generated == new.generated
        && old.hidden == new.hidden
        && (old.auto_increment || !new.auto_increment)
        && old.spelled.is_some() == new.spelled.is_some()
}

/// Whether the entries of a key are those of another one: the same columns, whatever they and it are called.
pub(super) fn keeps_entries(
    from: &Definition,
    old: &KeyDefinition,
    to: &Definition,
    new: &KeyDefinition,
) -> bool {
    let same_column = |a: &KeyPart, b: &KeyPart| {
        let origin = to.key_column(&b.column).and_then(|at| to.columns[at].origin);
        origin.is_some() && origin == from.key_column(&a.column)
    };
    old.kind == new.kind
        && (&old.parser, &old.split) == (&new.parser, &new.split)
        && old.parts.len() == new.parts.len()
        && old
            .parts
            .iter()
            .zip(&new.parts)
            .all(|(a, b)| (a.prefix, a.descending) == (b.prefix, b.descending) && same_column(a, b))
}
