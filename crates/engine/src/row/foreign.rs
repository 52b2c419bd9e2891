//! Foreign keys.
//!
//! Checks run index by index, at the moment an index changes: a child's before the entry of the index that the foreign
//! key stands on comes in, a parent's after the referenced key's entry was marked. A NULL in any column refers to
//! nothing.
//!
//! # Locks
//! The same at every isolation level (observed: MySQL 5.6.24). The other table gets an IS lock, and in its index:
//!
//! | met | lock |
//! |---|---|
//! | a live record with the key | S on the record, not the gap; the check ends |
//! | a delete-marked record with the key | S on record and gap: whoever deleted it may roll back |
//! | the first record above, the supremum of a page | S on the gap: none may come in |
//!
//! # Cascades
//! They nest as deep as [`DEPTH_MAX`]; a deeper one is refused like RESTRICT. An update that would come back to a table
//! it is updating already is refused, too. A row that refers to itself cannot go under RESTRICT.

use crate::core::Core;
use crate::error::{Error, Result};
use crate::row::entry::{Changed, Columns, push_text};
use crate::row::image::Image;
use crate::row::lock::{lock_clustered, lock_secondary, lock_table, record_id};
use crate::row::scan::{At, Next, Scan};
use crate::row::{WriteOptions, delete, update, versions};
use crate::table::{Field, FieldSource, ForeignKey, Index, ReferentialAction, RowKey, Table};
use std::sync::Arc;
use vaquita_base::TableId;
use vaquita_btree::RecordRef;
use vaquita_format::record::Offsets;
use vaquita_format::tuple::TupleField;
use vaquita_txn::lock::{LockOutcome, WaitPolicy};
use vaquita_txn::{LockMode, RecordLockKind, Trx};

/// Cascades below the statement's own row. (Observed: a chain of 15 rows is deleted, one of 16 is not.)
const DEPTH_MAX: usize = 14;

/// The cascade a change is part of.
#[derive(Debug, Default)]
pub(crate) struct Cascade {
    depth: usize,
    /// Tables with an update under way.
    updating: Vec<TableId>,
    /// The foreign key that brought the change about: the parent's new key is not there yet.
    through: Option<Arc<ForeignKey>>,
}

/// The first index that begins with these whole columns, in this order.
fn index_on<'t>(table: &'t Table, columns: &[usize]) -> Option<&'t Arc<Index>> {
    let begins = |index: &Index| {
        index.sources.len() >= columns.len()
            && index
                .sources
                .iter()
                .zip(columns)
                .all(|(source, &column)| *source == FieldSource::Column { column, prefix_len: 0 })
    };
    table.indexes.iter().find(|index| begins(index))
}

fn positions(table: &Table, names: &[String]) -> Option<Vec<usize>> {
    names.iter().map(|name| table.column(name)).collect()
}

/// Values of columns, owned; `None` if one of them is NULL.
fn values(table: &Table, row: &impl Columns, columns: &[usize]) -> Option<Vec<Vec<u8>>> {
    columns.iter().map(|&c| row.column(table, c).map(<[u8]>::to_vec)).collect()
}

fn text<'v>(table: &Table, columns: &[usize], values: impl IntoIterator<Item = Field<'v>>) -> String {
    let mut out = String::new();
    for (&column, value) in columns.iter().zip(values) {
        if !out.is_empty() {
            out.push('-');
        }
        push_text(&table.columns[column], value, &mut out);
    }
    out
}

/// A row of a table refers by these values of its columns to none.
pub(crate) fn no_parent<'v>(
    child: &Table,
    key: &ForeignKey,
    columns: &[usize],
    values: impl IntoIterator<Item = Field<'v>>,
) -> Error {
    Error::NoReferencedRow {
        table: key.child.clone(),
        constraint: key.id.clone(),
        key: Box::new(key.clone()),
        value: text(child, columns, values),
    }
}

/// Values that are there, as fields.
fn present(values: &[Vec<u8>]) -> impl Iterator<Item = Field<'_>> {
    values.iter().map(|value| Some(&value[..]))
}

/// The table of that name, which may be the one at hand.
fn other(core: &Core, here: &Arc<Table>, name: &str) -> Result<Option<Arc<Table>>> {
    if here.name == name { Ok(Some(here.clone())) } else { core.dict.find(&core.storage, name) }
}

/// Checks that the rows exist which a new row refers to by foreign keys on this index.
///
/// # Errors
/// [`Error::NoReferencedRow`]; lock waits.
pub(crate) fn check_parents(
    core: &Core,
    trx: &mut Trx,
    table: &Arc<Table>,
    index: &Index,
    row: &impl Columns,
    how: WriteOptions,
) -> Result<()> {
    if !how.foreign_key_checks {
        return Ok(());
    }
    for key in &table.foreign_keys {
        check_parent(core, trx, table, index, row, key)?;
    }
    Ok(())
}

/// The same for a row that changes: foreign keys of which a column changes.
///
/// # Errors
/// As [`check_parents`].
pub(crate) fn check_parents_of_changed(
    core: &Core,
    trx: &mut Trx,
    table: &Arc<Table>,
    index: &Index,
    row: &Changed<'_>,
    how: WriteOptions,
    cascade: &Cascade,
) -> Result<()> {
    if !how.foreign_key_checks {
        return Ok(());
    }
    for key in &table.foreign_keys {
        let changes = key.child_columns.iter().filter_map(|name| table.column(name)).any(|c| row.changes(c));
        if changes
            && !cascade
                .through
                .as_ref()
                .is_some_and(|through| Arc::ptr_eq(through, key) || through.id == key.id)
        {
            check_parent(core, trx, table, index, row, key)?;
        }
    }
    Ok(())
}

fn check_parent(
    core: &Core,
    trx: &mut Trx,
    table: &Arc<Table>,
    index: &Index,
    row: &impl Columns,
    key: &ForeignKey,
) -> Result<()> {
    let Some(columns) = positions(table, &key.child_columns) else { return Ok(()) };
    if index_on(table, &columns).is_none_or(|on| on.id != index.id) {
        return Ok(());
    }
    let Some(wanted) = values(table, row, &columns) else { return Ok(()) };
    let refuse = || no_parent(table, key, &columns, present(&wanted));
    let Some(parent) = other(core, table, &key.parent)? else { return Err(refuse()) };
    let parent_index = positions(&parent, &key.parent_columns).and_then(|c| index_on(&parent, &c).cloned());
    let Some(parent_index) = parent_index else { return Err(refuse()) };
    lock_table(core, trx, &parent, LockMode::IntentionShared)?;
    match find(core, trx, (&parent, &parent_index), &wanted, None)? {
        Some(_) => Ok(()),
        None => Err(refuse()),
    }
}

/// A record found by [`find`].
struct FoundRow {
    /// Its clustered key.
    key: RowKey,
    /// All fields that order it in the index.
    place: Vec<Option<Vec<u8>>>,
}

/// The first live record with a key, behind `after` if given; what is met is locked as the module says.
fn find(
    core: &Core,
    trx: &Trx,
    (table, index): (&Table, &Index),
    wanted: &[Vec<u8>],
    after: Option<&FoundRow>,
) -> Result<Option<FoundRow>> {
    table.check_order(index)?;
    let fields: Vec<TupleField<'_>> = wanted.iter().map(|v| TupleField::new(v)).collect();
    let place: Option<Vec<TupleField<'_>>> =
        after.map(|row| row.place.iter().map(|v| TupleField::nullable(v.as_deref())).collect());
    let scan = Scan { core, trx, of: (table, index), key: &fields, after: place.as_deref() };
    let mut found = None;
    scan.run(|at, is_equal| {
        let At::Record(record, offsets) = at else {
            return Ok(Next::Lock(LockMode::Shared, RecordLockKind::NextKey));
        };
        let kind = match (is_equal, record.is_deleted()) {
            (true, false) => RecordLockKind::Record,
            (true, true) => RecordLockKind::NextKey,
            (false, _) => RecordLockKind::Gap,
        };
        if lock(core, trx, (table, index), record, offsets, kind)? == LockOutcome::MustWait {
            return Ok(Next::Wait);
        }
        match kind {
            RecordLockKind::Record => {
                found = Some(found_row(table, index, record, offsets));
                Ok(Next::Stop)
            }
            RecordLockKind::NextKey => Ok(Next::Go),
            _ => Ok(Next::Stop),
        }
    })?;
    Ok(found)
}

fn lock(
    core: &Core,
    trx: &Trx,
    (table, index): (&Table, &Index),
    record: &RecordRef<'_>,
    offsets: &Offsets,
    kind: RecordLockKind,
) -> Result<LockOutcome> {
    let (what, policy) = ((LockMode::Shared, kind), WaitPolicy::Wait);
    if kind == RecordLockKind::Gap {
        let id = record_id(table, index, record);
        return Ok(core.txn.locks().lock_record(trx, id, LockMode::Shared, kind, policy)?);
    }
    if index.is_clustered() {
        lock_clustered(core, trx, table, record, offsets, what, policy)
    } else {
        lock_secondary(core, trx, (table, index), record, offsets, what, policy)
    }
}

fn found_row(table: &Table, index: &Index, record: &RecordRef<'_>, offsets: &Offsets) -> FoundRow {
    let n_key = table.clustered().def().n_uniq();
    let key = if index.is_clustered() {
        RowKey::new((0..n_key).map(|i| record.field(offsets, i).unwrap_or_default()))
    } else {
        let fields = versions::cluster_key_of(table, index, record, offsets);
        RowKey::new(fields.iter().map(|f| f.data.unwrap_or_default()))
    };
    let n = index.def().n_uniq_in_tree();
    let place = (0..n).map(|i| record.field(offsets, i).map(<[u8]>::to_vec)).collect();
    FoundRow { key, place }
}

/// Sees to the rows that refer to a row just deleted, by foreign keys to columns of this index.
///
/// # Errors
/// [`Error::RowIsReferenced`]; what the cascade brings.
pub(crate) fn parent_deleted(
    core: &Core,
    trx: &mut Trx,
    table: &Arc<Table>,
    index: &Index,
    old: &Image,
    how: WriteOptions,
    cascade: &mut Cascade,
) -> Result<()> {
    if !how.foreign_key_checks {
        return Ok(());
    }
    for key in &table.referenced_by {
        let Some(columns) = referenced_on(table, index, key) else { continue };
        let Some(gone) = values(table, old, &columns) else { continue };
        let set_null = key.on_delete == ReferentialAction::SetNull;
        let new: Option<Vec<Field<'_>>> = set_null.then(|| vec![None; columns.len()]);
        let what = Event { key, columns: &columns, gone: &gone, action: key.on_delete, new: new.as_deref() };
        see_to_children(core, trx, table, &what, how, cascade)?;
    }
    Ok(())
}

/// Sees to the rows that refer to a row whose key in this index has just changed.
///
/// # Errors
/// As [`parent_deleted`].
pub(crate) fn parent_updated(
    core: &Core,
    trx: &mut Trx,
    table: &Arc<Table>,
    index: &Index,
    row: &Changed<'_>,
    how: WriteOptions,
    cascade: &mut Cascade,
) -> Result<()> {
    if !how.foreign_key_checks || table.referenced_by.is_empty() {
        return Ok(());
    }
    cascade.updating.push(table.id);
    for key in &table.referenced_by {
        let Some(columns) = referenced_on(table, index, key) else { continue };
        if !columns.iter().any(|&c| row.changes(c)) {
            continue;
        }
        let Some(gone) = values(table, row.old, &columns) else { continue };
        let new: Vec<Field<'_>> = match key.on_update {
            ReferentialAction::SetNull => vec![None; columns.len()],
            _ => columns.iter().map(|&c| row.column(table, c)).collect(),
        };
        let what = Event { key, columns: &columns, gone: &gone, action: key.on_update, new: Some(&new) };
        see_to_children(core, trx, table, &what, how, cascade)?;
    }
    let updated = cascade.updating.pop();
    debug_assert_eq!(
        updated,
        Some(table.id),
        "cascades end in the order in which they began, the last first"
    );
    Ok(())
}

/// The referenced columns, if this is the index the foreign key refers to.
fn referenced_on(table: &Table, index: &Index, key: &ForeignKey) -> Option<Vec<usize>> {
    let columns = positions(table, &key.parent_columns)?;
    index_on(table, &columns).filter(|on| on.id == index.id)?;
    Some(columns)
}

/// What happened to a parent row.
struct Event<'e> {
    key: &'e Arc<ForeignKey>,
    /// Referenced columns of the parent.
    columns: &'e [usize],
    /// Their values before.
    gone: &'e [Vec<u8>],
    action: ReferentialAction,
    /// What the child's columns become; `None`: the child goes.
    new: Option<&'e [Field<'e>]>,
}

fn see_to_children(
    core: &Core,
    trx: &mut Trx,
    parent: &Arc<Table>,
    what: &Event<'_>,
    how: WriteOptions,
    cascade: &mut Cascade,
) -> Result<()> {
    let Some(child) = other(core, parent, &what.key.child)? else { return Ok(()) };
    let Some(columns) = positions(&child, &what.key.child_columns) else { return Ok(()) };
    let Some(index) = index_on(&child, &columns).cloned() else { return Ok(()) };
    let refuse = || Error::RowIsReferenced {
        table: parent.name.clone(),
        constraint: what.key.id.clone(),
        key: Box::new(ForeignKey::clone(what.key)),
        value: text(parent, what.columns, present(what.gone)),
    };
    lock_table(core, trx, &child, LockMode::IntentionShared)?;
    let mut last: Option<FoundRow> = None;
    while let Some(row) = find(core, trx, (&child, &index), what.gone, last.as_ref())? {
        let comes_back = what.new.is_some() && cascade.updating.contains(&child.id);
        let refused = matches!(what.action, ReferentialAction::Restrict | ReferentialAction::NoAction);
        if refused || comes_back || cascade.depth >= DEPTH_MAX {
            return Err(refuse());
        }
        cascade.depth += 1;
        let through = cascade.through.replace(what.key.clone());
        let done = match what.new {
            None => delete::delete(core, trx, &child, &row.key, how, cascade),
            Some(new) => {
                debug_assert_eq!(columns.len(), new.len(), "columns of {}, and their values", what.key.id);
                let changes: Vec<(usize, Field<'_>)> =
                    columns.iter().copied().zip(new.iter().copied()).collect();
                update::update(core, trx, &child, &row.key, &changes, how, cascade)
            }
        };
        cascade.depth -= 1;
        cascade.through = through;
        if matches!(done, Ok(true)) {
            child.stats.row_changed(if what.new.is_none() { -1 } else { 0 });
        }
        match done {
            Ok(_) => {}
            // The parent's new value does not fit the child's column.
            Err(Error::WrongState(_) | Error::NullNotAllowed { .. }) => return Err(refuse()),
            Err(e) => return Err(e),
        }
        last = Some(row);
    }
    Ok(())
}
