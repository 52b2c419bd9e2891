//! Deleting a row: its clustered record is marked, then its entries in all secondary indexes. Purge removes them.

use crate::core::Core;
use crate::documents;
use crate::error::Result;
use crate::row::clustered::{Claim, Look, Ownership};
use crate::row::entry::entry;
use crate::row::lock::lock_table;
use crate::row::{WriteOptions, clustered, foreign, key_fields, secondary};
use crate::table::{Columns, RowKey, Table};
use std::sync::Arc;
use vaquita_txn::{LockMode, Trx};

/// See [`crate::row::delete`].
pub(super) fn delete(
    core: &Core,
    trx: &mut Trx,
    table: &Arc<Table>,
    key: &RowKey,
    how: WriteOptions,
    cascade: &mut foreign::Cascade,
) -> Result<bool> {
    table.check_writable()?;
    lock_table(core, trx, table, LockMode::IntentionExclusive)?;
    let undo_no = trx.undo_no();
    let old = loop {
        let Look::Row(mut old) = clustered::look(core, trx, table, &key_fields(key), Claim::Keep)? else {
            return Ok(false);
        };
        if old.is_deleted() {
            return Ok(false);
        }
        old.load_external(core, table)?;
        if clustered::delete(core, trx, table, &old, Ownership::Keep)? {
            break old;
        }
    };
    foreign::parent_deleted(core, trx, table, table.clustered(), &old, how, cascade)?;
    for index in &table.indexes[1..] {
        secondary::mark(core, trx, (table, index), &entry(table, index, &old))?;
        foreign::parent_deleted(core, trx, table, index, &old, how, cascade)?;
    }
    table.tell(Some(&old), None, true);
    if let Some(ids) = &table.doc_ids {
        let document = documents::number_in(table, ids, old.column(table, ids.column))?;
        documents::note(&core.documents, trx, undo_no, table, document, false);
    }
    Ok(true)
}
