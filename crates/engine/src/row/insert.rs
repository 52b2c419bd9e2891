//! Inserting a row: the clustered record first, then the entries of all secondary indexes.

use crate::core::Core;
use crate::error::{Error, Result};
use crate::row::entry::{Columns, Entry, Given, build, entry};
use crate::row::lock::lock_table;
use crate::row::{WriteOptions, cluster_insert, foreign, secondary};
use crate::table::{Field, RowKey, Table};
use std::sync::Arc;
use vaquita_base::codec::put_u48;
use vaquita_format::tuple::TupleField;
use vaquita_txn::{LockMode, Trx};

/// See [`crate::row::insert`].
pub(super) fn insert(
    core: &Core,
    trx: &mut Trx,
    table: &Arc<Table>,
    row: &[Field<'_>],
    how: WriteOptions,
) -> Result<RowKey> {
    table.check_writable()?;
    if row.len() != table.columns.len() {
        return Err(Error::WrongState("a row does not have the columns of its table"));
    }
    lock_table(core, trx, table, LockMode::IntentionExclusive)?;
    let mut row_id = [0; 6];
    if table.clustered().def().is_generated() {
        put_u48(&mut row_id, 0, core.next_row_id()?);
    }
    let given = Given { values: row, row_id: &row_id };
    foreign::check_parents(core, trx, table, table.clustered(), &given, how)?;
    let fields = entry(table, table.clustered(), &given);
    cluster_insert::insert(core, trx, table, &fields, how)?;
    insert_entries(core, trx, table, &given, how)?;
    // Not of a row that another index refuses: an observer may be an index, too.
    table.tell(None, Some(&given), true);
    let n = table.clustered().def().n_uniq();
    Ok(RowKey::new(fields[..n].iter().map(|f| f.data.unwrap_or_default())))
}

/// Inserts the entries of a row that is in the clustered index.
pub(super) fn insert_entries(
    core: &Core,
    trx: &mut Trx,
    table: &Arc<Table>,
    row: &impl Columns,
    how: WriteOptions,
) -> Result<()> {
    let mut fields: Entry<'_> = Entry::new();
    for index in &table.indexes[1..] {
        foreign::check_parents(core, trx, table, index, row, how)?;
        build(table, index, row, &mut fields);
        let fields: &[TupleField<'_>] = &fields;
        secondary::insert(core, trx, (table, index), fields, how.exclusive_duplicates)?;
    }
    Ok(())
}
