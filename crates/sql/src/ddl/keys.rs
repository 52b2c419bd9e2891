//! Keys and foreign keys as written.

use super::{expressions, limits, names_of};
use crate::statement::StmtCx;
use vaquita_catalog::keys::KeyRules;
use vaquita_catalog::{Definition, ForeignKeyDefinition, KeyDefinition, KeyKind, KeyPart, same_name};
use vaquita_engine::table::ReferentialAction;
use vaquita_parser::ast::{self, IndexAlgorithm, IndexKind, KeyTarget, ReferenceAction};
use vaquita_types::{Level, SqlError, SqlResult};

/// Most characters of an index's comment.
const COMMENT_MAX: usize = 1_024;

/// What the session says of keys.
fn rules<'s>(cx: &'s mut StmtCx<'_>) -> KeyRules<'s> {
    let (column_max, strict) = (limits::key_column_max(cx), cx.state.vars.sql_mode.is_strict());
    KeyRules { column_max, strict, warnings: &mut cx.state.warnings }
}

/// Adds a key to a definition whose columns are complete. The first `kept` of its keys the table has already.
///
/// # Errors
/// As [`Definition::add_key`]; 1128 a parser that there is not; 1688 comment; 1235 kinds that are not there yet; 3753 to 3762, 3800 expressions.
pub(super) fn add(
    cx: &mut StmtCx<'_>,
    definition: &mut Definition,
    written: &ast::IndexDef<'_>,
    kept: usize,
) -> SqlResult<()> {
    let functional = written.parts.iter().any(|part| matches!(part.target, KeyTarget::Expr(_)));
    let kind = match written.kind {
        IndexKind::Primary if functional => {
            return Err(SqlError::new(3756, "The primary key cannot be a functional index"));
        }
        IndexKind::FullText if functional => {
            return Err(SqlError::new(3759, "Fulltext functional index is not supported."));
        }
        IndexKind::Spatial if functional => {
            return Err(SqlError::new(3760, "Spatial functional index is not supported."));
        }
        IndexKind::Primary => KeyKind::Primary,
        IndexKind::Unique => KeyKind::Unique,
        IndexKind::Plain => KeyKind::Plain,
        IndexKind::FullText | IndexKind::Spatial if written.parts.iter().any(|part| part.descending) => {
            return Err(SqlError::new(
                1221,
                format!(
                    "Incorrect usage of {} and explicit index order",
                    if written.kind == IndexKind::Spatial { "spatial index" } else { "fulltext index" }
                ),
            ));
        }
        IndexKind::FullText => KeyKind::FullText,
        IndexKind::Spatial => return Err(SqlError::unsupported("SPATIAL indexes")),
    };
    let parser = written.options.parser.map(|parser| known_parser(cx, &parser.to_string())).transpose()?;
    let name = match (kind, written.name.or(written.constraint)) {
        (KeyKind::Primary, _) => "PRIMARY".to_owned(),
        (_, Some(name)) => name.to_string(),
        (_, None) => definition.free_key_name(&match written.parts[0].target {
            KeyTarget::Column(column) => column.to_string(),
            KeyTarget::Expr(_) => "functional_index".to_owned(),
        }),
    };
    let mut parts = Vec::with_capacity(written.parts.len());
    for part in written.parts {
        let column = match &part.target {
            KeyTarget::Column(column) => column.to_string(),
            KeyTarget::Expr(expr) => expressions::of_key(cx, definition, &name, expr)?,
        };
        parts.push(KeyPart { column, prefix: part.prefix, descending: part.descending });
    }
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
    let invisible = written.options.invisible;
    let plain = KeyDefinition::new(kind, name, parts);
    let mut key = KeyDefinition { comment, using, key_block_size, invisible, parser, ..plain };
    if kind == KeyKind::FullText {
        key.split = key.asked_split();
    }
    definition.add_key(key, &mut rules(cx))?;
    note_duplicate(cx, definition, written.parts.iter().any(|part| part.prefix.is_some()), kept);
    Ok(())
}

/// The name of a parser, as it is kept.
fn known_parser(cx: &StmtCx<'_>, name: &str) -> SqlResult<String> {
    let known = cx.engine.core().options.parsers.find(name).map(str::to_owned);
    known.ok_or_else(|| SqlError::new(1128, format!("Function '{name}' is not defined")))
}

/// Note 1831: the key that was added last is one that was there. As in MySQL 5.6, a prefix as long as its column is another
/// key than the column, a key with USING another than one without, and a FULLTEXT key another than one
/// that the table has already, or that has another parser.
fn note_duplicate(cx: &mut StmtCx<'_>, definition: &Definition, has_prefix: bool, kept: usize) {
    let Some((added, others)) = definition.keys.split_last() else { return };
    let words = added.kind == KeyKind::FullText;
    let others = if words { others.get(kept..).unwrap_or_default() } else { others };
    let same_part = |(a, b): (&KeyPart, &KeyPart)| {
        same_name(&a.column, &b.column) && (a.prefix, a.descending) == (b.prefix, b.descending)
    };
    let is_same = |key: &KeyDefinition| {
        (key.kind, key.using, &key.parser, &key.split, key.parts.len())
            == (added.kind, added.using, &added.parser, &added.split, added.parts.len())
            && !key.generated
            && key.parts.iter().zip(&added.parts).all(same_part)
    };
    if has_prefix && !words && added.parts.iter().all(|part| part.prefix.is_none()) {
        return;
    }
    if others.iter().any(|key| is_same(key)) {
        let (key, database, table) = (&added.name, &definition.database, &definition.name);
        let message = format!(
            "Duplicate index '{key}' defined on the table '{database}.{table}'. This is deprecated and will be \
             disallowed in a future release."
        );
        cx.state.warnings.push(Level::Note, 1831, message);
    }
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
        _ => definition.free_key_name(column),
    };
    let key = KeyDefinition::new(kind, name, vec![KeyPart::whole(column)]);
    definition.add_key(key, &mut rules(cx))?;
    note_duplicate(cx, definition, false, 0);
    Ok(())
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
    definition.add_key_of_constraint(&columns, name);
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
