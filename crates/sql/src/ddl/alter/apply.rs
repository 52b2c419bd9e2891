//! Carrying a change out.

use super::Change;
use super::clauses::Way;
use crate::ddl::copy::{self, Copied};
use crate::ddl::create::creation_error;
use crate::ddl::{instant, limits, server_files};
use crate::statement::StmtCx;
use std::sync::Arc;
use vaquita_catalog::error;
use vaquita_catalog::{Definition, TableInfo, engine_name};
use vaquita_engine::table::ForeignKey;
use vaquita_engine::{Alteration, Concurrency, Error};
use vaquita_exec::Outcome;
use vaquita_types::{SqlError, SqlResult};

/// Carries a change out; `None` if the table was changed by others meanwhile.
pub(super) fn apply(
    cx: &mut StmtCx<'_>,
    info: &Arc<TableInfo>,
    mut change: Change,
) -> SqlResult<Option<Outcome>> {
    name_foreign_keys(info, &mut change.definition);
    // Rows that were left out count, too.
    let counts = |rows: u64, duplicates: u64, warnings: u32| Outcome {
        affected_rows: rows,
        info: format!("Records: {rows}  Duplicates: {duplicates}  Warnings: {warnings}").into(),
        ..Outcome::default()
    };
    if matches!(change.way, Way::Keys | Way::Definition | Way::Instant) {
        if !in_place(cx, info, &change)? {
            return Ok(None);
        }
        cx.db.catalog.forget(&info.table.name);
        return Ok(Some(counts(0, 0, cx.state.warnings.count())));
    }
    let definition = change.definition;
    let rebuilt = !change.ignore && change.lets_write;
    let (without, ignore) = (&change.dropped_keys, change.ignore);
    let as_copy = matches!(change.way, Way::Copy(_));
    let beside = match change.way {
        Way::Copy(why) if !why.is_beside_others() => change.beside.min(Concurrency::Reads),
        _ => change.beside,
    };
    let copied = match rebuilt {
        true => copy::rebuild_beside(cx, info, &definition, without, beside, as_copy)?,
        false => copy::rebuild(cx, info, &definition, without, beside, ignore, as_copy)?,
    };
    match copied {
        Copied::Stale => Ok(None),
        Copied::Done { rows, duplicates } => {
            cx.db.catalog.forget(&info.table.name);
            let rows = if change.way == Way::Rebuild { 0 } else { rows + duplicates };
            Ok(Some(counts(rows, duplicates, cx.state.warnings.count())))
        }
    }
}

/// New foreign keys need names that are free, those of keys that go counted in: `table_ibfk_n`.
fn name_foreign_keys(info: &TableInfo, definition: &mut Definition) {
    let prefix = format!("{}_ibfk_", definition.name);
    let number = |name: &str| name.strip_prefix(&prefix)?.parse::<u32>().ok();
    let there = info.table.foreign_keys.iter().map(|k| error::constraint_name(&k.id));
    let new = definition.foreign_keys.iter().filter_map(|k| k.name.as_deref());
    let mut last = there.chain(new).filter_map(number).max().unwrap_or(0);
    for key in definition.foreign_keys.iter_mut().filter(|k| k.name.is_none()) {
        last += 1;
        key.name = Some(format!("{prefix}{last}"));
    }
}

/// Indexes, foreign keys and the definition, without touching the rows, as one change; `false` if the table was changed by others
/// meanwhile.
fn in_place(cx: &mut StmtCx<'_>, info: &TableInfo, change: &Change) -> SqlResult<bool> {
    let definition = &change.definition;
    server_files::check_in_place(cx, info, definition)?;
    let mut spec = definition.to_spec(None)?;
    if change.way == Way::Instant {
        limits::settle_row_size(cx, &mut spec)?;
    }
    let origins = instant::origins(cx.state, definition, &spec);
    let added: Vec<_> =
        spec.indexes.iter().filter(|i| change.added_indexes.contains(&i.name)).cloned().collect();
    let words: Vec<_> =
        spec.fulltext.iter().filter(|i| change.added_indexes.contains(&i.name)).cloned().collect();
    let parents: Vec<&str> = spec.foreign_keys.iter().map(|key| key.parent.as_str()).collect();
    let all = Alteration {
        dropped_keys: &change.dropped_keys,
        dropped_indexes: &change.dropped_indexes,
        fulltext: &words,
        added_keys: &spec.foreign_keys,
        definition: (change.way != Way::Keys).then_some((&spec, &origins[..])),
        ..Alteration::default()
    };
    let failed = |e: Error| Failure(alter_error(&e, definition));
    let done = cx.engine.alter_in_place(&info.table, &parents, |table| {
        table.alter(&added, all, change.beside).map_err(failed)
    });
    done.map_err(|Failure(e)| e)
}

fn alter_error(e: &Error, definition: &Definition) -> SqlError {
    match e {
        Error::DuplicateKey { index, value, .. } => error::duplicate_entry(value, index),
        Error::IndexNeeded { index, .. } => {
            SqlError::new(1553, format!("Cannot drop index '{index}': needed in a foreign key constraint"))
        }
        Error::NoReferencedRow { .. } => {
            without_parent(e, definition).unwrap_or_else(|| creation_error(e, definition))
        }
        e => creation_error(e, definition),
    }
}

/// Why a change in place failed, in MySQL's words.
struct Failure(SqlError);

impl From<Error> for Failure {
    fn from(e: Error) -> Failure {
        Failure(error::engine(&e))
    }
}

/// 1452: a row refers to nothing by a foreign key that was to be added.
pub(in super::super) fn without_parent(e: &Error, definition: &Definition) -> Option<SqlError> {
    let Error::NoReferencedRow { key, .. } = e else { return None };
    // A table that is written anew has another name so far, to itself, too.
    let child = engine_name(&definition.database, &definition.name).ok()?;
    let parent = if key.parent == key.child { child.clone() } else { key.parent.clone() };
    Some(error::no_referenced_row(&ForeignKey { child, parent, ..ForeignKey::clone(key) }))
}
