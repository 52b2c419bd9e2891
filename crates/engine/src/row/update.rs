//! Updating a row.
//!
//! | what changes | clustered index | secondary indexes |
//! |---|---|---|
//! | no byte of the clustered key | the record, in place if no size changes | entries whose bytes change: the old one is marked, the new one inserted, at once if they are neighbours |
//! | the clustered key | the old record is marked, a new one inserted | all: marked and inserted |
//!
//! A key that changes in bytes but not in order ('a' to 'A') changes: the insert then finds the record or entry just
//! marked and brings it back with the new bytes.
//!
//! Values off the page that do not change go along to a new key: the new record owns them as *inherited*, so that
//! rollback of its insert leaves them alone, and the old record gives them away.

use crate::core::Core;
use crate::documents;
use crate::error::Result;
use crate::row::clustered::{Claim, LIVE, Look, Ownership};
use crate::row::document::{self, Renumbered};
use crate::row::entry::{Changed, Entry, build, cut, entry, index_has, same_bytes};
use crate::row::image::Image;
use crate::row::lock::lock_table;
use crate::row::undo_record::Modification;
use crate::row::{WriteOptions, cluster_insert, clustered, foreign, key_fields, secondary};
use crate::table::{Field, FieldSource, RowKey, Table};
use smallvec::SmallVec;
use std::sync::Arc;
use vaquita_base::codec::put_u64;
use vaquita_format::record::{EXTERN_REF_LEN, ExternRef};
use vaquita_format::tuple::TupleField;
use vaquita_format::undo::record::UndoType;
use vaquita_txn::{LockMode, Trx};

/// See [`crate::row::update`].
pub(super) fn update(
    core: &Core,
    trx: &mut Trx,
    table: &Arc<Table>,
    key: &RowKey,
    changes: &[(usize, Field<'_>)],
    how: WriteOptions,
    cascade: &mut foreign::Cascade,
) -> Result<bool> {
    table.check_writable()?;
    lock_table(core, trx, table, LockMode::IntentionExclusive)?;
    let mut stored = [0; 8];
    loop {
        let Look::Row(mut old) = clustered::look(core, trx, table, &key_fields(key), Claim::Keep)? else {
            return Ok(false);
        };
        if old.is_deleted() {
            return Ok(false);
        }
        let mut real: SmallVec<[(usize, Field<'_>); 8]> = SmallVec::new();
        for &(column, value) in changes {
            if !old.value_is(core, table, table.cluster_fields[column], value)? {
                real.push((column, value));
            }
        }
        if real.is_empty() {
            return Ok(false);
        }
        old.load_external(core, table)?;
        let undo_no = trx.undo_no();
        let document = document::renumber(core, trx, table, &old, &real)?;
        if let Some(Renumbered { number, column: Some(column), .. }) = document {
            put_u64(&mut stored, 0, number);
            real.push((column, Some(&stored)));
        }
        let row = Changed { old: &old, changes: &real };
        let changed = changed_fields(table, &row);
        let n_key = table.clustered().def().n_uniq();
        let done = if changed.iter().any(|&i| i < n_key) {
            update_key(core, trx, table, &row, how, cascade)?
        } else {
            update_values(core, trx, table, &row, &changed, how, cascade)?
        };
        if done {
            if let Some(Renumbered { before, number, .. }) = document {
                documents::note(&core.documents, trx, undo_no, table, before, false);
                documents::note(&core.documents, trx, undo_no, table, number, true);
            }
            return Ok(true);
        }
    }
}

/// Fields of the clustered index that change in bytes.
fn changed_fields(table: &Table, row: &Changed<'_>) -> SmallVec<[usize; 8]> {
    let sources = &table.clustered().sources;
    let changes = |i: usize| match sources[i] {
        FieldSource::Column { column, prefix_len } => {
            let Some((_, new)) = row.changes.iter().find(|(c, _)| *c == column) else { return false };
            let new = new.map(|v| cut(&table.columns[column], prefix_len, v));
            row.old.is_external(i) || row.old.field(i) != new
        }
        _ => false,
    };
    (0..sources.len()).filter(|&i| changes(i)).collect()
}

/// The new record's fields: new values whole, old ones as they are stored.
fn new_fields<'a>(table: &Table, row: &'a Changed<'_>, inherited: &'a [(usize, Vec<u8>)]) -> Entry<'a> {
    let mut fields: Entry<'a> = Entry::new();
    for (i, source) in table.clustered().sources.iter().enumerate() {
        let given = match *source {
            FieldSource::Column { column, prefix_len } => row
                .changes
                .iter()
                .find(|(c, _)| *c == column)
                .map(|(_, v)| v.map(|v| cut(&table.columns[column], prefix_len, v))),
            _ => None,
        };
        fields.push(match given {
            Some(value) => TupleField::nullable(value),
            None => match inherited.iter().find(|(field, _)| *field == i) {
                Some((_, local)) => TupleField::external(local),
                None => row.old.tuple_field(i),
            },
        });
    }
    fields
}

/// The row keeps its clustered key.
fn update_values(
    core: &Core,
    trx: &mut Trx,
    table: &Arc<Table>,
    row: &Changed<'_>,
    changed: &[usize],
    how: WriteOptions,
    cascade: &mut foreign::Cascade,
) -> Result<bool> {
    let order_changes = row.changes.iter().any(|(column, _)| table.is_ordering[*column]);
    let fields = new_fields(table, row, &[]);
    let change = Modification { ty: UndoType::UpdateExisting, fields: changed, order_changes };
    if !clustered::modify(core, trx, table, row.old, &fields, LIVE, change)? {
        return Ok(false);
    }
    if order_changes {
        update_entries(core, trx, table, row, how, cascade)?;
    }
    table.tell(Some(row.old), Some(row), order_changes);
    Ok(true)
}

/// Entries of a row that keeps its clustered key.
fn update_entries(
    core: &Core,
    trx: &mut Trx,
    table: &Arc<Table>,
    row: &Changed<'_>,
    how: WriteOptions,
    cascade: &mut foreign::Cascade,
) -> Result<()> {
    let (mut old, mut new) = (Entry::new(), Entry::new());
    for index in &table.indexes[1..] {
        if !row.changes.iter().any(|(column, _)| index_has(index, *column)) {
            continue;
        }
        build(table, index, row.old, &mut old);
        build(table, index, row, &mut new);
        if same_bytes(&old, &new) {
            continue;
        }
        if table.referenced_by.is_empty() && table.foreign_keys.is_empty() {
            secondary::exchange(core, trx, (table, index), &old, &new, how.exclusive_duplicates)?;
            continue;
        }
        secondary::mark(core, trx, (table, index), &old)?;
        foreign::parent_updated(core, trx, table, index, row, how, cascade)?;
        foreign::check_parents_of_changed(core, trx, table, index, row, how, cascade)?;
        secondary::insert(core, trx, (table, index), &new, how.exclusive_duplicates)?;
    }
    Ok(())
}

/// The row gets another clustered key.
fn update_key(
    core: &Core,
    trx: &mut Trx,
    table: &Arc<Table>,
    row: &Changed<'_>,
    how: WriteOptions,
    cascade: &mut foreign::Cascade,
) -> Result<bool> {
    let inherited = inherited_values(table, row)?;
    let gone: Vec<usize> = inherited.iter().map(|(i, _)| *i).collect();
    let ownership = if gone.is_empty() { Ownership::Keep } else { Ownership::GiveAway(&gone) };
    if !clustered::delete(core, trx, table, row.old, ownership)? {
        return Ok(false);
    }
    foreign::parent_updated(core, trx, table, table.clustered(), row, how, cascade)?;
    foreign::check_parents_of_changed(core, trx, table, table.clustered(), row, how, cascade)?;
    let fields = new_fields(table, row, &inherited);
    cluster_insert::insert(core, trx, table, &fields, WriteOptions { without_undo: false, ..how })?;
    // The marked entry may be the one brought back.
    for index in &table.indexes[1..] {
        let old = entry(table, index, row.old);
        secondary::mark(core, trx, (table, index), &old)?;
        foreign::parent_updated(core, trx, table, index, row, how, cascade)?;
        foreign::check_parents_of_changed(core, trx, table, index, row, how, cascade)?;
        secondary::insert(core, trx, (table, index), &entry(table, index, row), how.exclusive_duplicates)?;
    }
    table.tell(Some(row.old), Some(row), true);
    Ok(true)
}

/// Local parts of the values off the page that go along to a new key, with their references as the new record has them.
fn inherited_values(table: &Table, row: &Changed<'_>) -> Result<Vec<(usize, Vec<u8>)>> {
    let old: &Image = row.old;
    let mut out = Vec::new();
    for (i, source) in table.clustered().sources.iter().enumerate() {
        if !old.is_external(i) || matches!(*source, FieldSource::Column { column, .. } if row.changes(column))
        {
            continue;
        }
        let mut local = old.field(i).unwrap_or_default().to_vec();
        if let Some(chain) = old.reference(i)? {
            let at = local.len() - EXTERN_REF_LEN;
            let chain = ExternRef { owner: true, inherited: true, ..chain };
            local[at..].copy_from_slice(&chain.to_bytes());
        }
        out.push((i, local));
    }
    Ok(out)
}
