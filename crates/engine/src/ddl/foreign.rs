//! Foreign keys in definitions: what they must be, the indexes they need, their rows.
//!
//! Rules as of MySQL 5.6: parent and child columns have the same type (of texts the same collation; lengths may
//! differ); on both sides an index begins with the columns, in this order and whole; a missing index of the child is
//! made, one of the parent is not. SET NULL needs columns that can be NULL. With `foreign_key_checks` off the parent may
//! be missing.

use super::change::Change;
use super::{ForeignKeySpec, IndexSpec, TableSpec, definition, indexes};
use crate::core::Core;
use crate::dict::build::TableParts;
use crate::dict::rows;
use crate::error::{Error, Result};
use crate::progress::Progress;
use crate::row::foreign::no_parent;
use crate::table::{Column, ForeignKey, ReferentialAction};
use std::sync::Arc;
use vaquita_btree::Cursor;
use vaquita_format::column::{MType, prtype};
use vaquita_format::dict::foreign_type as bits;
use vaquita_format::index_def::KeyPart;
use vaquita_format::record::Offsets;
use vaquita_format::tuple::TupleField;
use vaquita_txn::Trx;

/// Index of SYS_FOREIGN by child.
pub(super) const BY_CHILD: usize = 1;
/// Index of SYS_FOREIGN by parent.
pub(super) const BY_PARENT: usize = 2;

/// Columns in a foreign key at most.
const COLUMNS_MAX: usize = 16;

pub(super) fn refused(name: &str, why: impl std::fmt::Display) -> Error {
    Error::ForeignKey(format!("foreign key {name}: {why}"))
}

/// A table loses all of its rows and becomes another object: so do those that foreign keys connect with it. `what`: what is done to it.
///
/// # Errors
/// `checks`: rows of another table may refer to its rows.
pub(super) fn lose_rows(change: &mut Change<'_>, name: &str, checks: bool, what: &str) -> Result<()> {
    let (dict, storage) = (&change.core.dict, change.storage());
    for key in dict.foreign_keys(storage, BY_PARENT, name)? {
        if checks && key.child != name {
            let text = format!("cannot {what} {name}: {} refers to it by foreign key {}", key.child, key.id);
            return Err(Error::ForeignKey(text));
        }
        change.changes(&key.child);
    }
    for key in dict.foreign_keys(storage, BY_CHILD, name)? {
        change.changes(&key.parent);
    }
    Ok(())
}

/// Names the foreign keys of a table to be made and adds the indexes they need to it.
pub(super) fn plan(spec: &mut TableSpec) -> Result<Vec<ForeignKey>> {
    let specs = spec.foreign_keys.clone();
    let mut next = 1;
    let mut keys = Vec::with_capacity(specs.len());
    for key_spec in specs {
        let key = named(&spec.name, &key_spec, &mut next);
        let columns = positions(&spec.columns, &key.child_columns).map_err(|c| refused(&key.id, c))?;
        let has_index = spec.primary_key.as_deref().is_some_and(|p| begins_with(p, &columns))
            || spec.indexes.iter().any(|i| begins_with(&i.parts, &columns));
        if !has_index {
            let names: Vec<&str> = spec.indexes.iter().map(|i| i.name.as_str()).collect();
            spec.indexes.push(index_for(&spec.columns, &names, &columns, key_spec.name));
        }
        keys.push(key);
    }
    Ok(keys)
}

/// Foreign keys that a table with rows is to get.
pub(super) struct Planned {
    pub(super) keys: Vec<ForeignKey>,
    /// The indexes they need.
    pub(super) indexes: Vec<IndexSpec>,
}

/// Names the foreign keys that a table is to get, and finds the indexes that they need beside those that it has and that `come`.
pub(super) fn plan_for(
    core: &Core,
    table: &str,
    specs: &[ForeignKeySpec],
    come: &[IndexSpec],
) -> Result<Planned> {
    let frozen = core.dict.freeze();
    let row = core.dict.table_row(&core.storage, table)?;
    let row = row.ok_or_else(|| Error::NoSuchTable(table.to_owned()))?;
    let parts = core.dict.read_parts(&core.storage, &row)?;
    let there = core.dict.foreign_keys(&core.storage, BY_CHILD, table)?;
    drop(frozen);
    let last = there.iter().filter_map(|k| generated_number(table, &k.id)).max();
    let mut next = last.unwrap_or(0) + 1;
    let mut keys = Vec::with_capacity(specs.len());
    let mut indexes: Vec<IndexSpec> = Vec::new();
    for spec in specs {
        let key = named(table, spec, &mut next);
        let columns = positions(&parts.columns, &key.child_columns).map_err(|c| refused(&key.id, c))?;
        let mut new = come.iter().chain(&indexes);
        if !has_index(&parts, &columns) && !new.any(|i| begins_with(&i.parts, &columns)) {
            let new = come.iter().chain(&indexes).map(|i| &i.name);
            let names: Vec<&str> =
                parts.indexes.iter().map(|i| &i.name).chain(new).map(String::as_str).collect();
            indexes.push(index_for(&parts.columns, &names, &columns, spec.name.clone()));
        }
        keys.push(key);
    }
    Ok(Planned { keys, indexes })
}

/// Adds foreign keys to a table with rows that nobody uses meanwhile. `checks`: these are looked at.
pub(super) fn add(
    core: &Core,
    trx: &mut Trx,
    table: &str,
    specs: &[ForeignKeySpec],
    checks: bool,
    progress: &Progress,
) -> Result<()> {
    let Planned { keys, indexes } = plan_for(core, table, specs, &[])?;
    let before = |parts: &TableParts| {
        let frozen = core.dict.freeze();
        check_all(core, parts, &keys, checks, &[])?;
        drop(frozen);
        if checks { keys.iter().try_for_each(|key| check_rows(core, key)) } else { Ok(()) }
    };
    indexes::add(core, trx, table, &indexes, progress, before, |change| insert_all(change, table, &keys))
}

/// Adds foreign keys to the dictionary that were planned and looked at before.
pub(super) fn insert_all(change: &mut Change<'_>, table: &str, keys: &[ForeignKey]) -> Result<()> {
    for key in keys {
        insert(change, key)?;
        change.changes(&key.parent);
        change.changes(table);
    }
    Ok(())
}

/// Whether every row of the child has one it refers to.
fn check_rows(core: &Core, key: &ForeignKey) -> Result<()> {
    let child = core.table(&key.child)?;
    let parent = core.table(&key.parent)?;
    let gone = || refused(&key.id, "its columns are gone");
    let ours = positions(&child.columns, &key.child_columns).map_err(|_| gone())?;
    let theirs = positions(&parent.columns, &key.parent_columns).map_err(|_| gone())?;
    let index = parent.indexes.iter().find(|i| begins_with(&i.parts, &theirs)).ok_or_else(gone)?;
    let clustered = child.clustered();
    let mut cursor = Cursor::new(&clustered.tree, &core.storage);
    let mut offsets = Offsets::new();
    let mut more = cursor.first()?;
    while more {
        let record = cursor.record().expect("the cursor is on a record");
        record.parse(clustered.def(), &mut offsets)?;
        let values: Vec<TupleField<'_>> = ours
            .iter()
            .map(|&c| TupleField::nullable(record.field(&offsets, child.cluster_fields[c])))
            .collect();
        let refers = !record.is_deleted() && values.iter().all(|v| v.data.is_some());
        if refers && rows::read_some(&core.storage, index, &values, 1)?.is_empty() {
            return Err(no_parent(&child, key, &ours, values.iter().map(|v| v.data)));
        }
        more = cursor.next()?;
    }
    Ok(())
}

/// A foreign key of a table, named without its database.
pub(super) fn find_key(change: &Change<'_>, table: &str, name: &str) -> Result<Arc<ForeignKey>> {
    let id = format!("{}/{name}", database_of(table));
    let keys = change.core.dict.foreign_keys(change.storage(), BY_CHILD, table)?;
    let found = keys.into_iter().find(|k| k.id.eq_ignore_ascii_case(&id));
    found.ok_or_else(|| Error::ForeignKey(format!("{table} has no foreign key {name}")))
}

/// Drops a foreign key of a table, named without its database.
pub(super) fn drop_key(change: &mut Change<'_>, table: &str, name: &str) -> Result<()> {
    let key = find_key(change, table, name)?;
    delete(change, &key.id)?;
    change.changes(table);
    change.changes(&key.parent);
    Ok(())
}

/// The index a foreign key gets: named like it, or like its first column; not as one of `names`.
fn index_for(columns: &[Column], names: &[&str], key: &[usize], name: Option<String>) -> IndexSpec {
    let base = name.unwrap_or_else(|| columns[key[0]].def.name.clone());
    let mut name = base.clone();
    let mut n = 2;
    while names.iter().any(|taken| taken.eq_ignore_ascii_case(&name)) {
        name = format!("{base}_{n}");
        n += 1;
    }
    let parts = key.iter().map(|&c| KeyPart::whole(c)).collect();
    IndexSpec { name, parts, unique: false, comment: String::new() }
}

/// A foreign key with its full name; `next` numbers those without one.
fn named(child: &str, spec: &ForeignKeySpec, next: &mut usize) -> ForeignKey {
    let id = match &spec.name {
        Some(name) => format!("{}/{name}", database_of(child)),
        None => {
            let id = format!("{child}_ibfk_{next}");
            *next += 1;
            id
        }
    };
    ForeignKey {
        id,
        child: child.to_owned(),
        parent: spec.parent.clone(),
        child_columns: spec.columns.clone(),
        parent_columns: spec.parent_columns.clone(),
        on_delete: spec.on_delete,
        on_update: spec.on_update,
    }
}

fn database_of(table: &str) -> &str {
    table.rsplit_once('/').map_or("", |(database, _)| database)
}

/// The number of a constraint with a generated name.
fn generated_number(table: &str, id: &str) -> Option<usize> {
    id.strip_prefix(table)?.strip_prefix("_ibfk_")?.parse().ok()
}

/// Positions of columns; which one is missing, or what else is wrong.
pub(super) fn positions(columns: &[Column], names: &[String]) -> std::result::Result<Vec<usize>, String> {
    if names.is_empty() || names.len() > COLUMNS_MAX {
        return Err(format!("it has {} columns; 1 to {COLUMNS_MAX} are allowed", names.len()));
    }
    let mut out = Vec::with_capacity(names.len());
    for name in names {
        let at = columns.iter().position(|c| c.def.name.eq_ignore_ascii_case(name));
        let at = at.ok_or_else(|| format!("there is no column {name}"))?;
        if out.contains(&at) {
            return Err(format!("column {name} is in it twice"));
        }
        out.push(at);
    }
    Ok(out)
}

/// Whether a key begins with these columns, whole.
pub(super) fn begins_with(parts: &[KeyPart], columns: &[usize]) -> bool {
    let is = |(part, &column): (&KeyPart, &usize)| part.column == column && part.prefix_len == 0;
    parts.len() >= columns.len() && parts.iter().zip(columns).all(is)
}

fn has_index(table: &TableParts, columns: &[usize]) -> bool {
    table.indexes.iter().any(|i| begins_with(&i.parts, columns))
}

/// Checks the foreign keys of a table to be made, and those of others that wait for it. Keys of it that are `going`, named without their
/// database, leave their names to others.
pub(super) fn check_all(
    core: &Core,
    table: &TableParts,
    keys: &[ForeignKey],
    checks: bool,
    going: &[String],
) -> Result<()> {
    for (n, key) in keys.iter().enumerate() {
        if keys[..n].iter().any(|other| other.id.eq_ignore_ascii_case(&key.id)) {
            return Err(refused(&key.id, "the name is used twice"));
        }
        check_one(core, table, key, checks, going)?;
    }
    if checks {
        for key in core.dict.foreign_keys(&core.storage, BY_PARENT, &table.name)? {
            let Some(child) = core.dict.table_row(&core.storage, &key.child)? else { continue };
            let child = core.dict.read_parts(&core.storage, &child)?;
            match_columns(&child, table, &key)?;
        }
    }
    Ok(())
}

/// Checks a foreign key of `child`, whose indexes are those it will have.
fn check_one(
    core: &Core,
    child: &TableParts,
    key: &ForeignKey,
    checks: bool,
    going: &[String],
) -> Result<()> {
    let (dict, storage) = (&core.dict, &*core.storage);
    let foreign = dict.sys.foreign.as_ref().ok_or_else(|| refused(&key.id, "SYS_FOREIGN is missing"))?;
    let found = rows::read(storage, foreign.clustered(), &[key.id.as_bytes()])?;
    let goes = |child: String| {
        let name = key.id.rsplit_once('/').map_or(&*key.id, |(_, name)| name);
        child == key.child && going.iter().any(|going| going.eq_ignore_ascii_case(name))
    };
    if found.first().is_some_and(|row| !goes(row.text(3))) {
        return Err(refused(&key.id, "a constraint of that name exists"));
    }
    if !key.parent.contains('/') {
        return Err(refused(&key.id, format!("{} is no name of a table", key.parent)));
    }
    let columns = positions(&child.columns, &key.child_columns).map_err(|c| refused(&key.id, c))?;
    let set_null = [key.on_delete, key.on_update].contains(&ReferentialAction::SetNull);
    for &c in &columns {
        let def = &child.columns[c].def;
        if set_null && !def.is_nullable() {
            return Err(refused(&key.id, format!("SET NULL, but column {} is NOT NULL", def.name)));
        }
    }
    if key.parent == child.name {
        return match_columns(child, child, key);
    }
    match dict.table_row(storage, &key.parent)? {
        Some(parent) => match_columns(child, &dict.read_parts(storage, &parent)?, key),
        None if checks => Err(refused(&key.id, format!("its parent table {} does not exist", key.parent))),
        None => Ok(()),
    }
}

/// Columns of the same types, with an index on both sides.
fn match_columns(child: &TableParts, parent: &TableParts, key: &ForeignKey) -> Result<()> {
    let fail = |text: String| Err(refused(&key.id, text));
    if key.child_columns.len() != key.parent_columns.len() {
        return fail(format!("{} columns refer to {}", key.child_columns.len(), key.parent_columns.len()));
    }
    let ours = positions(&child.columns, &key.child_columns).map_err(|c| refused(&key.id, c))?;
    let theirs = positions(&parent.columns, &key.parent_columns)
        .map_err(|c| refused(&key.id, format!("of {}: {c}", parent.name)))?;
    for (&a, &b) in ours.iter().zip(&theirs) {
        let (a, b) = (&child.columns[a], &parent.columns[b]);
        if !same_type(a, b) {
            return fail(format!(
                "column {} and column {} of {} have different types",
                a.def.name, b.def.name, parent.name
            ));
        }
    }
    if !has_index(child, &ours) {
        return fail(format!("no index of {} begins with its columns", child.name));
    }
    if !has_index(parent, &theirs) {
        return fail(format!("no index of {} begins with the columns it refers to", parent.name));
    }
    Ok(())
}

fn same_type(a: &Column, b: &Column) -> bool {
    const KIND: u32 = prtype::UNSIGNED | prtype::BINARY_TYPE;
    let (a, b) = (&a.def, &b.def);
    if a.mtype == MType::Blob || b.mtype == MType::Blob {
        return false;
    }
    // CHAR and VARCHAR go together.
    let text = |m: MType| matches!(m, MType::VarChar | MType::Char | MType::VarMySql | MType::MySql);
    let bytes = |m: MType| matches!(m, MType::Binary | MType::FixBinary);
    if text(a.mtype) && text(b.mtype) {
        return a.collation_id() == b.collation_id() && a.is_binary() == b.is_binary();
    }
    if bytes(a.mtype) && bytes(b.mtype) {
        return a.prtype & KIND == b.prtype & KIND
            && (a.mtype == MType::Binary || b.mtype == MType::Binary || a.mysql_type() == b.mysql_type());
    }
    a.mtype == b.mtype && a.prtype & KIND == b.prtype & KIND && a.len == b.len
}

fn kind_bits(key: &ForeignKey) -> u32 {
    let of = |action, cascade, set_null, no_action| match action {
        ReferentialAction::Restrict => 0,
        ReferentialAction::NoAction => no_action,
        ReferentialAction::Cascade => cascade,
        ReferentialAction::SetNull => set_null,
    };
    of(key.on_delete, bits::DELETE_CASCADE, bits::DELETE_SET_NULL, bits::DELETE_NO_ACTION)
        | of(key.on_update, bits::UPDATE_CASCADE, bits::UPDATE_SET_NULL, bits::UPDATE_NO_ACTION)
}

/// Columns' names as their table spells them, if it is there.
fn spelled(change: &Change<'_>, table: &str, names: &[String]) -> Result<Vec<String>> {
    let dict = &change.core.dict;
    let Some(row) = dict.table_row(change.storage(), table)? else { return Ok(names.to_vec()) };
    let parts = dict.read_parts(change.storage(), &row)?;
    let own = |name: &String| {
        let found = parts.columns.iter().find(|column| column.def.name.eq_ignore_ascii_case(name));
        found.map_or_else(|| name.clone(), |column| column.def.name.clone())
    };
    Ok(names.iter().map(own).collect())
}

/// Inserts the rows of a foreign key, whose columns it calls as their tables do.
pub(super) fn insert(change: &mut Change<'_>, key: &ForeignKey) -> Result<()> {
    let ours = spelled(change, &key.child, &key.child_columns)?;
    let theirs = spelled(change, &key.parent, &key.parent_columns)?;
    let sys = &change.core.dict.sys;
    let (Some(foreign), Some(columns)) = (&sys.foreign, &sys.foreign_cols) else {
        return Err(refused(&key.id, "SYS_FOREIGN is missing"));
    };
    let n = key.child_columns.len() as u32 | kind_bits(key) << bits::SHIFT;
    let row = vec![
        rows::name_value(&key.id),
        rows::name_value(&key.child),
        rows::name_value(&key.parent),
        rows::u32_value(n),
    ];
    change.insert(foreign, &row)?;
    for (pos, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
        let row = vec![
            rows::name_value(&key.id),
            rows::u32_value(pos as u32),
            rows::name_value(ours),
            rows::name_value(theirs),
        ];
        change.insert(columns, &row)?;
    }
    Ok(())
}

/// Deletes the rows of a foreign key.
pub(super) fn delete(change: &mut Change<'_>, id: &str) -> Result<()> {
    let sys = &change.core.dict.sys;
    let (Some(foreign), Some(columns)) = (&sys.foreign, &sys.foreign_cols) else { return Ok(()) };
    definition::delete_all(change, columns, &[id.as_bytes()])?;
    change.delete(foreign, &[id.as_bytes()])
}

/// Lets the foreign keys of and to a table follow the new names of its columns, given as pairs of old and new.
pub(super) fn rename_columns(change: &mut Change<'_>, table: &str, renamed: &[(&str, &str)]) -> Result<()> {
    let dict = &change.core.dict;
    let Some(columns) = dict.sys.foreign_cols.clone().filter(|_| !renamed.is_empty()) else { return Ok(()) };
    let new_name = |name: &String| {
        let found = renamed.iter().find(|(old, _)| old.eq_ignore_ascii_case(name));
        found.map(|(_, new)| *new)
    };
    for (by, column) in [(BY_CHILD, 2), (BY_PARENT, 3)] {
        for key in dict.foreign_keys(change.storage(), by, table)? {
            let names = if by == BY_CHILD { &key.child_columns } else { &key.parent_columns };
            for (pos, name) in names.iter().enumerate() {
                let Some(new) = new_name(name) else { continue };
                let pos = rows::u32_value(pos as u32).unwrap_or_default();
                change.update(&columns, &[key.id.as_bytes(), &pos], &[(column, Some(new.as_bytes()))])?;
            }
            change.changes(&key.child);
            change.changes(&key.parent);
        }
    }
    Ok(())
}

/// Lets the foreign keys of and to a table follow its new name.
pub(super) fn rename_table(change: &mut Change<'_>, from: &str, to: &str) -> Result<()> {
    let dict = &change.core.dict;
    let Some(foreign) = &dict.sys.foreign else { return Ok(()) };
    for key in dict.foreign_keys(change.storage(), BY_CHILD, from)? {
        let mut renamed = ForeignKey::clone(&key);
        renamed.child = to.to_owned();
        renamed.id = match generated_number(from, &key.id) {
            Some(n) => format!("{to}_ibfk_{n}"),
            None => {
                let name = key.id.rsplit_once('/').map_or(key.id.as_str(), |(_, name)| name);
                format!("{}/{name}", database_of(to))
            }
        };
        if key.parent == from {
            renamed.parent = to.to_owned();
        }
        delete(change, &key.id)?;
        let found = rows::read(change.storage(), foreign.clustered(), &[renamed.id.as_bytes()])?;
        if !found.is_empty() {
            return Err(refused(&renamed.id, "a constraint of that name exists"));
        }
        insert(change, &renamed)?;
        change.changes(&key.parent);
    }
    for key in dict.foreign_keys(change.storage(), BY_PARENT, from)? {
        if key.child != to {
            change.update(foreign, &[key.id.as_bytes()], &[(2, Some(to.as_bytes()))])?;
            change.changes(&key.child);
        }
    }
    Ok(())
}
