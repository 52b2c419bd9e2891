//! Keys and foreign keys as written.

use super::definition::{Definition, ForeignKeyDefinition, KeyDefinition, KeyKind};
use super::{limits, names_of};
use crate::statement::StmtCx;
use vaquita_catalog::same_name;
use vaquita_engine::table::{DefaultValue, ReferentialAction};
use vaquita_parser::ast::{self, IndexAlgorithm, IndexKind, KeyTarget, ReferenceAction};
use vaquita_types::{Kind, SqlError, SqlResult};

/// Keys of a table at most.
const KEYS_MAX: usize = 64;

/// Most characters of an index's comment.
const COMMENT_MAX: usize = 1_024;

/// Adds a key to a definition whose columns are complete.
///
/// # Errors
/// 1061, 1068, 1069, 1070, 1071, 1072, 1089, 1170, 1171, 1280, 1688; 1235 kinds that are not there yet.
pub(super) fn add(
    cx: &mut StmtCx<'_>,
    definition: &mut Definition,
    written: &ast::IndexDef<'_>,
) -> SqlResult<()> {
    let kind = match written.kind {
        IndexKind::Primary => KeyKind::Primary,
        IndexKind::Unique => KeyKind::Unique,
        IndexKind::Plain => KeyKind::Plain,
        IndexKind::FullText => return Err(SqlError::unsupported("FULLTEXT indexes")),
        IndexKind::Spatial => return Err(SqlError::unsupported("SPATIAL indexes")),
    };
    if written.options.invisible {
        return Err(SqlError::unsupported("INVISIBLE indexes"));
    }
    let mut parts = Vec::with_capacity(written.parts.len());
    for part in written.parts {
        let KeyTarget::Column(column) = part.target else {
            return Err(SqlError::unsupported("indexes on expressions"));
        };
        parts.push((column.to_string(), part.prefix));
    }
    let name = match (kind, written.name.or(written.constraint)) {
        (KeyKind::Primary, _) => "PRIMARY".to_owned(),
        (_, Some(name)) => name.to_string(),
        (_, None) => free_name(definition, &parts[0].0),
    };
    let comment =
        written.options.comment.map(|c| cx.state.vars.client_text(c).into_owned()).unwrap_or_default();
    if comment.chars().count() > COMMENT_MAX {
        let message = format!("Comment for index '{name}' is too long (max = {COMMENT_MAX})");
        return Err(SqlError::new(1688, message));
    }
    let using = written.options.algorithm.map(|a| match a {
        IndexAlgorithm::Hash => "HASH",
        IndexAlgorithm::BTree | IndexAlgorithm::RTree => "BTREE",
    });
    let key_block_size = written.options.key_block_size.filter(|n| *n > 0);
    let key = KeyDefinition { kind, name, parts, comment, using, key_block_size, generated: false };
    add_key(cx, definition, key)
}

/// Adds a key on one column, as its attributes ask for.
///
/// # Errors
/// As [`add`].
pub(super) fn add_on_column(
    cx: &mut StmtCx<'_>,
    definition: &mut Definition,
    kind: KeyKind,
    column: &str,
) -> SqlResult<()> {
    let name = match kind {
        KeyKind::Primary => "PRIMARY".to_owned(),
        _ => free_name(definition, column),
    };
    let parts = vec![(column.to_owned(), None)];
    let comment = String::new();
    let key =
        KeyDefinition { kind, name, parts, comment, using: None, key_block_size: None, generated: false };
    add_key(cx, definition, key)
}

/// Adds the key that a new foreign key needs, unless there is one that begins with its columns. It is named like the
/// constraint, or as the statement says, or like the first column.
fn add_for_foreign_key(definition: &mut Definition, columns: &[String], name: Option<String>) {
    if definition.keys.iter().any(|key| begins_with(key, columns)) {
        return;
    }
    let name = match name {
        Some(name) if definition.key(&name).is_none() => name,
        name => free_name(definition, &name.unwrap_or_else(|| columns[0].clone())),
    };
    definition.keys.push(KeyDefinition {
        kind: KeyKind::Plain,
        name,
        parts: columns.iter().map(|column| (column.clone(), None)).collect(),
        comment: String::new(),
        using: None,
        key_block_size: None,
        generated: true,
    });
}

/// Whether a key begins with these columns, whole.
pub(super) fn begins_with(key: &KeyDefinition, columns: &[String]) -> bool {
    key.parts.len() >= columns.len()
        && key.parts.iter().zip(columns).all(|((part, prefix), c)| prefix.is_none() && same_name(part, c))
}

/// A generated key makes room for one that was given its name.
fn free_generated_name(definition: &mut Definition, name: &str) {
    if let Some(at) = definition.key(name) {
        let free = free_name(definition, name);
        definition.keys[at].name = free;
    }
}

fn free_name(definition: &Definition, column: &str) -> String {
    let taken = |name: &str| definition.key(name).is_some() || same_name(name, "PRIMARY");
    if !taken(column) {
        return column.to_owned();
    }
    let mut n = 2_u32;
    loop {
        let name = format!("{column}_{n}");
        if !taken(&name) {
            return name;
        }
        n += 1;
    }
}

/// 1069: more keys than a table may have.
///
/// # Errors
/// That one.
pub(super) fn check_count(keys: usize) -> SqlResult<()> {
    if keys > KEYS_MAX {
        let message = format!("Too many keys specified; max {KEYS_MAX} keys allowed");
        return Err(SqlError::new(1069, message));
    }
    Ok(())
}

fn add_key(cx: &mut StmtCx<'_>, definition: &mut Definition, mut key: KeyDefinition) -> SqlResult<()> {
    check_count(definition.keys.iter().filter(|key| !key.generated).count() + 1)?;
    if key.kind == KeyKind::Primary && definition.keys.iter().any(|k| k.kind == KeyKind::Primary) {
        return Err(SqlError::new(1068, "Multiple primary key defined"));
    }
    let reserved = key.kind != KeyKind::Primary && same_name(&key.name, "PRIMARY")
        || same_name(&key.name, "GEN_CLUST_INDEX")
        || key.name.ends_with(' ');
    if reserved {
        let name = if same_name(&key.name, "GEN_CLUST_INDEX") { "GEN_CLUST_INDEX" } else { &key.name };
        return Err(SqlError::new(1280, format!("Incorrect index name '{name}'")));
    }
    if key.name.chars().count() > 64 {
        return Err(SqlError::too_long_name(&key.name));
    }
    if definition.key(&key.name).is_some_and(|at| !definition.keys[at].generated) {
        return Err(SqlError::duplicate_key_name(&key.name));
    }
    free_generated_name(definition, &key.name);
    if key.parts.len() > 16 {
        return Err(SqlError::new(1070, "Too many key parts specified; max 16 parts allowed"));
    }
    for i in 0..key.parts.len() {
        let name = key.parts[i].0.clone();
        if key.parts[..i].iter().any(|(other, _)| same_name(other, &name)) {
            return Err(SqlError::duplicate_column(&name));
        }
        key.parts[i].1 = part(cx, definition, &key, i)?;
    }
    // Nobody asked for the keys of foreign keys that this one serves as well.
    definition.keys.retain(|other| {
        let columns: Vec<String> = other.parts.iter().map(|(name, _)| name.clone()).collect();
        !(other.generated && begins_with(&key, &columns))
    });
    definition.keys.push(key);
    Ok(())
}

fn wrong_prefix() -> SqlError {
    SqlError::new(
        1089,
        "Incorrect prefix key; the used key part isn't a string, the used length is longer than the key part, or the \
         storage engine doesn't support unique prefix keys",
    )
}

/// Checks a part; its prefix, none if it is as long as the column. A column that is too long for a key that is not unique
/// is cut, unless the mode is strict.
fn part(
    cx: &mut StmtCx<'_>,
    definition: &mut Definition,
    key: &KeyDefinition,
    i: usize,
) -> SqlResult<Option<u32>> {
    let (name, prefix) = &key.parts[i];
    let at = definition.column(name).ok_or_else(|| SqlError::key_column_missing(name))?;
    let column = &mut definition.columns[at];
    if key.kind == KeyKind::Primary && column.ty.nullable {
        // Columns that say nothing become NOT NULL; one that says NULL was checked by the caller.
        column.ty.nullable = false;
        if column.default == DefaultValue::Null {
            column.default = DefaultValue::None;
        }
    }
    let long = matches!(
        column.ty.kind,
        Kind::TinyText | Kind::Text | Kind::MediumText | Kind::LongText | Kind::Json | Kind::Geometry
    );
    if column.ty.kind == Kind::Json {
        let message = format!("JSON column '{name}' cannot be used in key specification.");
        return Err(SqlError::new(3152, message));
    }
    let text = long || matches!(column.ty.kind, Kind::Char | Kind::VarChar);
    let prefix = match *prefix {
        None | Some(0) if long => {
            let message = format!("BLOB/TEXT column '{name}' used in key specification without a key length");
            return Err(SqlError::new(1170, message));
        }
        // A number or moment has no beginning: a prefix is as long as all of its bytes. Labels take none.
        Some(_) if matches!(column.ty.kind, Kind::Enum | Kind::Set) => return Err(wrong_prefix()),
        Some(n) if !text && n != column.ty.to_def(name).len => return Err(wrong_prefix()),
        Some(_) if !text => None,
        Some(n) if !long && n > column.ty.length => return Err(wrong_prefix()),
        Some(n) if !long && n == column.ty.length => None,
        other => other.filter(|n| *n > 0),
    };
    let chars = prefix.unwrap_or(if text { column.ty.length } else { 0 });
    let most = limits::key_column_max(cx);
    let width = super::definition::width_of(&definition.columns[at].ty);
    if chars.saturating_mul(width) > most {
        let message = format!("Specified key was too long; max key length is {most} bytes");
        if key.kind != KeyKind::Plain || cx.state.vars.sql_mode.is_strict() {
            return Err(SqlError::new(1071, message));
        }
        cx.state.warnings.warn(1071, message);
        return Ok(Some(most / width));
    }
    Ok(prefix)
}

/// The definition of a foreign key.
///
/// # Errors
/// 1239 column counts, 1072 columns that are not there, 1215 SET DEFAULT.
pub(super) fn foreign_key(
    cx: &StmtCx<'_>,
    definition: &mut Definition,
    written: &ast::ForeignKey<'_>,
) -> SqlResult<ForeignKeyDefinition> {
    let references = &written.references;
    if references.columns.len() != written.columns.len() {
        let name = written
            .constraint
            .or(written.index_name)
            .map_or("foreign key without name".into(), |n| n.to_string());
        let message = format!(
            "Incorrect foreign key definition for '{name}': Key reference and table reference don't match"
        );
        return Err(SqlError::new(1239, message));
    }
    for column in written.columns {
        let name = column.to_string();
        if definition.column(&name).is_none() {
            return Err(SqlError::key_column_missing(&name));
        }
    }
    let parent = match references.table.schema {
        Some(_) => names_of(cx, &references.table)?,
        None => (definition.database.clone(), references.table.name.to_string()),
    };
    let columns: Vec<String> = written.columns.iter().map(|c| c.to_string()).collect();
    let name = written.constraint.or(written.index_name).map(|n| n.to_string());
    let (on_delete, on_update) = match references.match_kind {
        None => (action(references.on_delete)?, action(references.on_update)?),
        // As the manual warns: what the rows do is the default then.
        Some(_) => (ReferentialAction::Restrict, ReferentialAction::Restrict),
    };
    add_for_foreign_key(definition, &columns, name);
    Ok(ForeignKeyDefinition {
        name: written.constraint.map(|c| c.to_string()),
        columns,
        parent,
        parent_columns: references.columns.iter().map(|c| c.to_string()).collect(),
        on_delete,
        on_update,
        exists: false,
    })
}

fn action(written: Option<ReferenceAction>) -> SqlResult<ReferentialAction> {
    match written {
        None | Some(ReferenceAction::Restrict) => Ok(ReferentialAction::Restrict),
        Some(ReferenceAction::NoAction) => Ok(ReferentialAction::NoAction),
        Some(ReferenceAction::Cascade) => Ok(ReferentialAction::Cascade),
        Some(ReferenceAction::SetNull) => Ok(ReferentialAction::SetNull),
        Some(ReferenceAction::SetDefault) => Err(SqlError::new(1215, "Cannot add foreign key constraint")),
    }
}

/// After all keys are there: an AUTO_INCREMENT column must be the only one and the first of a key.
///
/// # Errors
/// 1075.
pub(super) fn check_auto_increment(definition: &Definition) -> SqlResult<()> {
    let mut auto = definition.columns.iter().filter(|c| c.auto_increment);
    let Some(column) = auto.next() else { return Ok(()) };
    let keyed = definition.keys.iter().any(|k| same_name(&k.parts[0].0, &column.name));
    if auto.next().is_some() || !keyed {
        return Err(SqlError::new(
            1075,
            "Incorrect table definition; there can be only one auto column and it must be defined as a key",
        ));
    }
    Ok(())
}
