//! The rows of a table on their way to sorters, by several threads.

use super::load::TOLD;
use super::sort::Sorter;
use crate::core::Core;
use crate::cursor::parallel::scan_with_rests;
use crate::cursor::{ReadOptions, RowRef};
use crate::error::{Error, Result};
use crate::online::courtesy::Courtesy;
use crate::progress::Progress;
use crate::table::Table;
use crate::waits::check_interrupt;
use parking_lot::Mutex;
use std::ops::ControlFlow;
use std::sync::Arc;
use vaquita_format::index_def::IndexDef;
use vaquita_txn::{Trx, TrxRef};

/// What is read, and for what.
pub(super) struct Gathering<'c, 'g> {
    pub(super) core: &'c Core,
    pub(super) table: &'g Arc<Table>,
    /// The columns that rows show, by their positions in the table.
    pub(super) columns: Vec<usize>,
    /// What is sorted: each thread has a sorter for each.
    pub(super) sorted: Vec<Arc<IndexDef>>,
    pub(super) progress: &'g Progress,
    /// Who is to be interrupted for it to end.
    pub(super) watched: &'g TrxRef,
    /// How many changes others have logged so far.
    pub(super) logged: &'g (dyn Fn() -> u64 + Sync),
}

/// What a thread has of its own besides its sorters.
pub(super) trait Gathered<'c>: Send {
    /// Gives entries that it has to the sorters: all of them in the end, before that if they are many. No page is latched.
    fn hand_over(&mut self, sorters: &mut [Sorter<'c>], is_end: bool);
}

/// What one thread has.
struct Taker<'c, S> {
    sorters: Vec<Sorter<'c>>,
    own: S,
    /// Rows that were not told of.
    rows: u64,
    courtesy: Courtesy,
    failed: Option<Error>,
}

/// Bytes that a thread's sorter of one thing keeps in memory.
pub(super) fn memory_of_sorter(core: &Core) -> usize {
    // Three buffers for each: if there are more threads, these share them.
    core.options.sort_buffer_size * 3 / core.options.build_threads.max(3)
}

impl<'c> Gathering<'c, '_> {
    /// Gives all rows that the view sees to `take`, with the sorters of the thread and what it has of its own; `take` says whether room
    /// is to be made. The sorters of all threads, a vector for each thing that is sorted.
    ///
    /// # Errors
    /// Those of `take`, [`Error::Interrupted`]; errors of pages and files.
    ///
    /// # Latching
    /// `take` runs under the latch of the row's page.
    pub(super) fn gather<S: Gathered<'c>>(
        self,
        reader: &mut Trx,
        own: impl Fn() -> S,
        take: impl Fn(&mut [Sorter<'c>], &mut S, &RowRef<'_>) -> Result<bool> + Sync,
    ) -> Result<Vec<Vec<Sorter<'c>>>> {
        let Gathering { core, table, columns, sorted, progress, watched, logged } = self;
        let threads = core.options.build_threads.max(1);
        let memory = memory_of_sorter(core);
        let sorters = |part| -> Vec<Sorter<'c>> {
            sorted.iter().map(|def| Sorter::new(&core.storage, def.clone(), part, memory)).collect()
        };
        let taker = |part| {
            let courtesy = Courtesy::default();
            Mutex::new(Taker { sorters: sorters(part), own: own(), rows: 0, courtesy, failed: None })
        };
        let takers: Vec<Mutex<Taker<'c, S>>> = (0..threads).map(taker).collect();
        let each = |thread: usize, row: &RowRef<'_>| {
            let taker = &mut *takers[thread].lock();
            taker.rows += 1;
            match take(&mut taker.sorters, &mut taker.own, row) {
                Ok(full) if full || taker.rows >= TOLD => ControlFlow::Break(()),
                Ok(_) => ControlFlow::Continue(()),
                Err(e) => {
                    taker.failed = Some(e);
                    ControlFlow::Break(())
                }
            }
        };
        let rest = |thread: usize| {
            check_interrupt(watched)?;
            let taker = &mut *takers[thread].lock();
            progress.add(std::mem::take(&mut taker.rows));
            taker.courtesy.give_way(&**core.storage.clock(), logged());
            match taker.failed.take() {
                Some(e) => Err(e),
                None => {
                    taker.own.hand_over(&mut taker.sorters, false);
                    taker.sorters.iter_mut().try_for_each(Sorter::make_room).map(|()| true)
                }
            }
        };
        scan_with_rests(core, reader, table, &ReadOptions::default().columns(columns), threads, each, rest)?;
        let mut all: Vec<Vec<Sorter<'c>>> = sorted.iter().map(|_| Vec::new()).collect();
        for taker in takers {
            let mut taker = taker.into_inner();
            progress.add(taker.rows);
            taker.own.hand_over(&mut taker.sorters, true);
            taker.sorters.into_iter().zip(&mut all).for_each(|(sorter, of)| of.push(sorter));
        }
        Ok(all)
    }
}
