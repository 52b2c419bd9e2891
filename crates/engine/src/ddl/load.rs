//! Trees of sorted entries, several at a time, each by a thread.

use super::sort::Sorter;
use crate::core::Core;
use crate::error::{Error, Result};
use crate::online::courtesy::Courtesy;
use crate::progress::{Progress, Stage};
use crate::row::entry;
use crate::table::{Index, Table};
use parking_lot::Mutex;
use std::sync::Arc;
use vaquita_base::TrxId;
use vaquita_btree::BulkBuilder;
use vaquita_format::record::compare_fields;
use vaquita_format::tuple::{Tuple, TupleField};

/// Percent of a page that is filled; the rest is for entries to come.
pub(super) const FILL: u32 = 94;
/// Rows after which their number is told.
pub(super) const TOLD: u64 = 512;

/// Builds the clustered index of a table that is in a file of its own, which a crash makes go.
pub(super) fn of_rows<'c>(core: &'c Core, to: &'c Table) -> BulkBuilder<'c> {
    BulkBuilder::new(&to.clustered().tree, &core.storage, FILL).of_new_file()
}

/// What a thread that builds looks at again and again.
pub(super) struct Others<'o> {
    /// Fails when the build is to end.
    pub(super) check: &'o (dyn Fn() -> Result<()> + Sync),
    /// How many changes others have logged so far.
    pub(super) logged: &'o (dyn Fn() -> u64 + Sync),
}

/// Makes the trees of indexes, of whose entries each has some sorters.
///
/// # Errors
/// Duplicates, no space, errors of pages and files; those of `others.check`.
pub(super) fn load_all(
    core: &Core,
    table: &Table,
    indexes: &[Arc<Index>],
    sorters: Vec<Vec<Sorter<'_>>>,
    trx_id: TrxId,
    progress: &Progress,
    others: &Others<'_>,
) -> Result<()> {
    each_by_a_thread(core, indexes, sorters, |index, sorter| {
        load(core, table, index, sorter, trx_id, progress, others)
    })
}

/// Loads what was sorted for each of some things, several at a time; of each the sorters are joined.
///
/// # Errors
/// Those of `load`, of the files.
pub(super) fn each_by_a_thread<'s, T: Sync>(
    core: &Core,
    things: &[T],
    sorters: Vec<Vec<Sorter<'s>>>,
    load: impl Fn(&T, Sorter<'s>) -> Result<()> + Sync,
) -> Result<()> {
    let one = |(thing, sorters): (&T, Vec<Sorter<'s>>)| -> Result<()> {
        let Some(sorter) = Sorter::joined(sorters)? else { return Ok(()) };
        core.metrics.sort_files.add(sorter.files());
        load(thing, sorter)
    };
    let work = things.iter().zip(sorters);
    if core.options.build_threads <= 1 {
        return work.into_iter().try_for_each(one);
    }
    let work = Mutex::new(work);
    let failed = Mutex::new(None);
    let help = || {
        loop {
            let next = work.lock().next();
            let Some(next) = next else { return };
            if let Err(e) = one(next) {
                failed.lock().get_or_insert(e);
            }
        }
    };
    std::thread::scope(|scope| {
        (1..core.options.build_threads.min(things.len())).for_each(|_| drop(scope.spawn(help)));
        help();
    });
    failed.into_inner().map_or(Ok(()), Err)
}

/// Makes a tree of sorted entries.
fn load(
    core: &Core,
    table: &Table,
    index: &Index,
    sorter: Sorter<'_>,
    trx_id: TrxId,
    progress: &Progress,
    others: &Others<'_>,
) -> Result<()> {
    let mut courtesy = Courtesy::default();
    let mut builder = BulkBuilder::new(&index.tree, &core.storage, FILL).with_max_trx_id(trx_id);
    let mut before: Vec<Option<Vec<u8>>> = Vec::new();
    let n_uniq = index.parts.len();
    let each = |fields: &[TupleField<'_>]| {
        if index.is_unique() {
            if same_key(index, &before, &fields[..n_uniq]) {
                return Err(Error::DuplicateKey {
                    table: table.name.clone(),
                    index: index.name.clone(),
                    value: entry::key_text(table, index, fields),
                });
            }
            before.clear();
            before.extend(fields[..n_uniq].iter().map(|f| f.data.map(<[u8]>::to_vec)));
        }
        builder.push(&Tuple::new(fields))?;
        if builder.records().is_multiple_of(TOLD) {
            progress.add(TOLD);
            courtesy.give_way(&**core.storage.clock(), (others.logged)());
        }
        Ok(())
    };
    sorter.finish(progress, others.check, each)?;
    progress.add(builder.records() % TOLD);
    progress.enter(Stage::Flush);
    builder.finish()?;
    Ok(())
}

/// Whether a unique key is the one before; NULLs are equal to nothing.
pub(super) fn same_key(index: &Index, before: &[Option<Vec<u8>>], key: &[TupleField<'_>]) -> bool {
    before.len() == key.len()
        && before.iter().zip(key).zip(index.def().compare_plan()).all(|((a, b), cmp)| {
            a.is_some() && b.data.is_some() && compare_fields(*cmp, a.as_deref(), b.data).is_eq()
        })
}
