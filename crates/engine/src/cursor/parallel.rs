//! Scans of one index by several threads under one view.
//!
//! The tree is divided at keys of an upper level ([`vaquita_btree::Tree::split_points`]) into several ranges for each
//! thread; threads take range after range. Within a range rows come in order, across ranges they do not.

use super::bound::{Direction, KeyFields, Limit};
use super::columns::Spec;
use super::consistent::Scratch;
use super::pass::{Pass, Stop};
use super::row::RowRef;
use super::{ReadLock, ReadOptions, is_old_enough, snapshot};
use crate::core::Core;
use crate::error::{Error, Result};
use crate::table::Table;
use parking_lot::Mutex;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use vaquita_btree::{Cursor as Walk, CursorState, OwnedKey};
use vaquita_format::index_page::SearchMode;
use vaquita_format::tuple::Tuple;
use vaquita_txn::Trx;

/// Ranges for each thread: the more, the more evenly the threads end.
const RANGES_PER_THREAD: usize = 8;

/// Calls `each` for every row of an index that the transaction sees, from `threads` threads, until one of the calls
/// breaks. The first argument is the number of the thread. Whether it was broken; other threads may have been given a
/// row meanwhile.
///
/// # Errors
/// Errors of pages, damage; a locking read.
///
/// # Latching
/// `each` runs under latches: it must not call the engine.
pub fn parallel_scan(
    core: &Core,
    trx: &mut Trx,
    table: &Arc<Table>,
    options: &ReadOptions,
    threads: usize,
    each: impl Fn(usize, &RowRef<'_>) -> ControlFlow<()> + Sync,
) -> Result<bool> {
    let broken = AtomicBool::new(false);
    let call = |thread: usize, row: &RowRef<'_>| {
        let flow = match broken.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => each(thread, row),
        };
        if flow.is_break() {
            broken.store(true, Ordering::Relaxed);
        }
        flow
    };
    let tables = table.parts.as_ref().map_or(std::slice::from_ref(table), |parts| &parts.tables[..]);
    for table in tables {
        scan_with_rests(core, trx, table, options, threads, call, |_| Ok(!broken.load(Ordering::Relaxed)))?;
    }
    Ok(broken.into_inner())
}

/// The same for calls that now and then have to do something that takes its time: where `each` breaks, the thread gives its
/// latch up and calls `rest`, which says whether it goes on.
///
/// # Errors
/// As [`parallel_scan`]; the first one of `rest`.
///
/// # Latching
/// As [`parallel_scan`]; `rest` runs under no latch.
pub(crate) fn scan_with_rests(
    core: &Core,
    trx: &mut Trx,
    table: &Arc<Table>,
    options: &ReadOptions,
    threads: usize,
    each: impl Fn(usize, &RowRef<'_>) -> ControlFlow<()> + Sync,
    rest: impl Fn(usize) -> Result<bool> + Sync,
) -> Result<()> {
    if options.lock != ReadLock::None {
        return Err(Error::WrongState("locking reads are not made by several threads"));
    }
    let spec = Spec::new(table.clone(), options.index, options.columns.as_deref())?;
    let threads = threads.max(1);
    let keys = spec.index.tree.split_points(&core.storage, threads * RANGES_PER_THREAD - 1)?;
    let snapshot = snapshot(core, trx, table);
    if !is_old_enough(core, &spec.index, &snapshot) {
        return Err(Error::ViewTooOld(table.name.clone()));
    }
    let me = trx.shared();
    let next = AtomicUsize::new(0);
    let ended = AtomicBool::new(false);
    let failed = Mutex::new(None);
    let work = |thread: usize| {
        let mut scratch = Scratch::default();
        while !ended.load(Ordering::Relaxed) {
            let range = next.fetch_add(1, Ordering::Relaxed);
            if range > keys.len() {
                return;
            }
            let lower = range.checked_sub(1).map(|i| &keys[i]);
            let upper = keys.get(range);
            let limit = match upper {
                Some(key) => Limit::Key(key.iter().collect(), false, Direction::Forward),
                None => Limit::None,
            };
            let pass = Pass { source: spec.source(core, me), snapshot: &snapshot, limit, unique: false };
            let mut call = |row: &RowRef<'_>| each(thread, row);
            let scanned = scan_range(core, &spec, &pass, lower, &mut scratch, &mut call, || rest(thread));
            if !matches!(scanned, Ok(true)) {
                ended.store(true, Ordering::Relaxed);
            }
            if let Err(e) = scanned {
                failed.lock().get_or_insert(e);
            }
        }
    };
    std::thread::scope(|scope| {
        let work = &work;
        (1..threads).for_each(|thread| {
            scope.spawn(move || work(thread));
        });
        work(0);
    });
    failed.into_inner().map_or(Ok(()), Err)
}

/// Scans one range; whether to go on with the next.
fn scan_range(
    core: &Core,
    spec: &Spec,
    pass: &Pass<'_>,
    lower: Option<&OwnedKey>,
    scratch: &mut Scratch,
    each: &mut impl FnMut(&RowRef<'_>) -> ControlFlow<()>,
    rest: impl Fn() -> Result<bool>,
) -> Result<bool> {
    let place = CursorState::default().reading_ahead();
    let mut walk = Walk::resume(&spec.index.tree, &core.storage, place);
    if let Some(lower) = lower {
        let fields: KeyFields<'_> = lower.iter().collect();
        walk.place(&Tuple::new(&fields), SearchMode::GreaterOrEqual)?;
    }
    loop {
        if pass.forward(&mut walk, scratch, each)? == Stop::End {
            return Ok(true);
        }
        walk.store()?;
        if !rest()? {
            return Ok(false);
        }
    }
}
