//! Counting rows without looking at them one by one.
//!
//! The smallest secondary index is read. A leaf that the view sees as it is counts as its header says, less the
//! delete-marked entries; only on leaves that changed since the view was opened each entry is looked at. A table without
//! secondary indexes is counted by the transaction ids of its records.

use super::columns::Spec;
use super::consistent::{Scratch, Snapshot};
use super::{is_old_enough, snapshot};
use crate::core::Core;
use crate::error::{Error, Result};
use crate::table::{Index, Table};
use std::ops::ControlFlow;
use std::sync::Arc;
use vaquita_btree::{Cursor as Walk, RecordRef};
use vaquita_format::index_page::header::{infimum, is_comp, n_heap, supremum};
use vaquita_format::index_page::next_rec;
use vaquita_format::record::header::is_deleted;
use vaquita_txn::Trx;

/// Bytes that a variable field is taken for.
const VARIABLE_LEN: u32 = 20;

/// The number of rows that the transaction sees.
///
/// # Errors
/// [`Error::ViewTooOld`]; errors of pages, damage.
pub fn count(core: &Core, trx: &mut Trx, table: &Arc<Table>) -> Result<u64> {
    if let Some(parts) = &table.parts {
        return parts.tables.iter().try_fold(0, |rows, part| Ok(rows + count(core, trx, part)?));
    }
    let snapshot = snapshot(core, trx, table);
    if !is_old_enough(core, table.clustered(), &snapshot) {
        return Err(Error::ViewTooOld(table.name.clone()));
    }
    let spec = Spec::without_rows(table.clone(), smallest_index(core, table, &snapshot))?;
    let source = spec.source(core, trx.shared());
    let mut scratch = Scratch::default();
    let mut walk = Walk::new(&spec.index.tree, &core.storage);
    let mut rows = 0;
    let mut more = walk.latch_forward()?;
    while more {
        source.check_interrupt()?;
        let leaf = walk.leaf().expect("latched");
        if source.trusts(leaf.page, &snapshot) {
            rows += live_records(&leaf)?;
        } else {
            let mut failed = None;
            walk.scan_leaf(|record| {
                match source.visit(record, false, &snapshot, &mut scratch, |_| ()) {
                    Ok(seen) => rows += u64::from(seen.is_some()),
                    Err(e) => {
                        failed = Some(e);
                        return ControlFlow::Break(());
                    }
                }
                ControlFlow::Continue(())
            })?;
            if let Some(e) = failed {
                return Err(e);
            }
        }
        more = walk.cross_right()?;
    }
    Ok(rows)
}

/// Records of a leaf that are not delete-marked.
fn live_records(leaf: &RecordRef<'_>) -> Result<u64> {
    let bad = |c: vaquita_format::Corruption| Error::Corrupt(format!("page {}: {c}", leaf.page_id));
    let comp = is_comp(leaf.page);
    let (mut at, end) = (infimum(comp), supremum(comp));
    let mut live = 0;
    for _ in 0..=n_heap(leaf.page) {
        at = next_rec(leaf.page, at).map_err(bad)?;
        if at == end {
            return Ok(live);
        }
        live += u64::from(!is_deleted(leaf.page, at, comp));
    }
    Err(bad(vaquita_format::Corruption::new("record list", "it does not end")))
}

/// The index whose records are shortest, as far as the columns tell, among those that have an entry of every version.
fn smallest_index(core: &Core, table: &Table, snapshot: &Snapshot) -> usize {
    let usable = |index: &Index| index.is_clustered() || is_old_enough(core, index, snapshot);
    let all = table.indexes.iter().enumerate().filter(|(_, index)| usable(index));
    all.min_by_key(|(_, index)| record_len(index)).map_or(0, |(i, _)| i)
}

fn record_len(index: &Index) -> u32 {
    let len =
        |f: &vaquita_format::index_def::FieldDef| if f.fixed_len == 0 { VARIABLE_LEN } else { f.fixed_len };
    index.def().fields().iter().map(len).sum()
}
