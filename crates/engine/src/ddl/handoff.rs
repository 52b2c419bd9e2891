//! Rows that one thread makes and another one loads, when they come in the order of the tree.
//!
//! Entries go from one to the other some hundred at a time, packed; who makes them waits when 4 MB are not loaded yet.

use super::load::of_rows;
use super::sort::Sorter;
use crate::core::Core;
use crate::error::{Error, Result};
use crate::online::packed::{self, LEN};
use crate::row::clustered::too_big;
use crate::row::entry::{Columns, entry};
use crate::table::{Field, Index, Table};
use smallvec::SmallVec;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use vaquita_format::tuple::{Tuple, TupleField};

/// Bytes of a batch.
const BATCH: usize = 64 << 10;
/// Batches that may wait: more than are made while who loads them waits for pages to be written.
const WAITING: usize = 64;

/// Entries, and whether they are the last ones.
type Batch = (Vec<u8>, bool);

/// Who makes the entries.
#[derive(Debug)]
pub(super) struct Giver {
    batch: Vec<u8>,
    to: SyncSender<Batch>,
}

/// Who loads them.
#[derive(Debug)]
pub(super) struct Taker(Receiver<Batch>);

/// The two ends.
pub(super) fn handoff() -> (Giver, Taker) {
    let (to, from) = sync_channel(WAITING);
    (Giver { batch: Vec::new(), to }, Taker(from))
}

impl Giver {
    /// Gives an entry.
    ///
    /// # Errors
    /// Some error if the other thread has ended: that one's is what counts.
    pub(super) fn push(&mut self, fields: &[TupleField<'_>]) -> Result<()> {
        packed::push_entry(&mut self.batch, fields);
        if self.batch.len() < BATCH { Ok(()) } else { self.send(false) }
    }

    /// Gives the last ones: all have come. Without it the other thread leaves the tree as it is.
    ///
    /// # Errors
    /// As [`Giver::push`].
    pub(super) fn finish(mut self) -> Result<()> {
        self.send(true)
    }

    fn send(&mut self, last: bool) -> Result<()> {
        let room = if last { 0 } else { BATCH + BATCH / 8 };
        let batch = std::mem::replace(&mut self.batch, Vec::with_capacity(room));
        self.to.send((batch, last)).map_err(|_| Error::WrongState("rows are made, and nobody loads them"))
    }
}

/// Why a row was not loaded.
pub(super) fn not_loaded(to: &Table, e: vaquita_btree::Error, out_of_order: &AtomicBool) -> Error {
    if matches!(e, vaquita_btree::Error::NotSorted) {
        out_of_order.store(true, Ordering::Relaxed);
    }
    too_big(to, e)
}

impl Taker {
    /// Loads the clustered index of a table, and gives the sorters of other indexes their entries.
    ///
    /// # Errors
    /// Rows that are too big, or `out_of_order`, no space, errors of pages and files.
    pub(super) fn load<'s>(
        self,
        core: &Core,
        to: &Table,
        indexes: &[Arc<Index>],
        mut sorters: Vec<Sorter<'s>>,
        out_of_order: &AtomicBool,
    ) -> Result<Vec<Sorter<'s>>> {
        let mut builder = of_rows(core, to);
        for (batch, last) in self.0 {
            let mut at = 0;
            while at < batch.len() {
                let packed = packed::entry_at(&batch, at);
                let fields: SmallVec<[TupleField<'_>; 16]> = packed::fields(packed).collect();
                builder.push(&Tuple::new(&fields)).map_err(|e| not_loaded(to, e, out_of_order))?;
                let row = Loaded(&fields);
                for (index, sorter) in indexes.iter().zip(&mut sorters) {
                    if sorter.push(&entry(to, index, &row)) {
                        sorter.make_room()?;
                    }
                }
                at += LEN + packed.len();
            }
            if last {
                builder.finish()?;
                break;
            }
        }
        Ok(sorters)
    }
}

/// A row of which the fields of the clustered index are there.
struct Loaded<'f>(&'f [TupleField<'f>]);

impl Columns for Loaded<'_> {
    fn column(&self, table: &Table, column: usize) -> Field<'_> {
        self.0[table.cluster_fields[column]].data
    }

    fn row_id(&self) -> &[u8] {
        self.0[0].data.unwrap_or_default()
    }
}
