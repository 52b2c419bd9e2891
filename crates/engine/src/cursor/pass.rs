//! A pass over an index: from record to record, leaf to leaf, until the range ends or enough was seen. Without locks leaf
//! by leaf; with locks record by record, waiting in between.

use super::bound::{Direction, KeyFields, Limit, is_unique_key};
use super::consistent::{Scratch, Snapshot, Source};
use super::locking::{Held, LockRead, Visited};
use super::row::RowRef;
use crate::error::{Error, Result};
use crate::row::lock::wait_unless_granted;
use std::ops::ControlFlow;
use vaquita_btree::{Cursor as Walk, RecordRef, Restored, Step};
use vaquita_format::index_page;
use vaquita_txn::{LockMode, Trx};

/// Why a scan stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The function called for each row wanted no more.
    Broken,
    /// It did, and there are no more.
    BrokenAtEnd,
    /// There are no more.
    End,
}

/// A scan without locks.
#[derive(Debug)]
pub(crate) struct Pass<'a> {
    pub(crate) source: Source<'a>,
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) limit: Limit<'a>,
    /// Whether one row is all there can be.
    pub(crate) unique: bool,
}

impl Pass<'_> {
    /// From the place of the walk on.
    pub(crate) fn forward(
        &self,
        walk: &mut Walk<'_>,
        scratch: &mut Scratch,
        each: &mut impl FnMut(&RowRef<'_>) -> ControlFlow<()>,
    ) -> Result<Stop> {
        if !walk.latch_forward()? {
            return Ok(Stop::End);
        }
        loop {
            self.source.check_interrupt()?;
            let leaf = walk.leaf().expect("latched");
            let trusted = self.source.trusts(leaf.page, self.snapshot);
            let inside = self.limit.is_none() || self.holds_leaf(&leaf)?;
            let mut stop = None;
            let mut failed = None;
            walk.scan_leaf(|record| {
                match self.look(record, trusted, inside, scratch, each) {
                    Ok(None) => return ControlFlow::Continue(()),
                    Ok(found) => stop = found,
                    Err(e) => failed = Some(e),
                }
                ControlFlow::Break(())
            })?;
            if let Some(e) = failed {
                return Err(e);
            }
            if let Some(stop) = stop {
                return Ok(stop);
            }
            if !walk.cross_right()? {
                return Ok(Stop::End);
            }
        }
    }

    /// Against the order of the index.
    pub(crate) fn backward(
        &self,
        walk: &mut Walk<'_>,
        scratch: &mut Scratch,
        each: &mut impl FnMut(&RowRef<'_>) -> ControlFlow<()>,
    ) -> Result<Stop> {
        loop {
            match walk.step_left()? {
                Step::Record => {
                    let record = walk.record().expect("stepped on");
                    let trusted = self.source.trusts(record.page, self.snapshot);
                    if let Some(stop) = self.look(record, trusted, false, scratch, each)? {
                        return Ok(stop);
                    }
                }
                Step::Edge => {
                    self.source.check_interrupt()?;
                    if !walk.cross_left()? {
                        return Ok(Stop::End);
                    }
                }
            }
        }
    }

    /// Whether all records of a leaf are within the limit: its last one is.
    fn holds_leaf(&self, leaf: &RecordRef<'_>) -> Result<bool> {
        if self.limit.is_equal() {
            return Ok(false);
        }
        let bad = |c: vaquita_format::Corruption| Error::Corrupt(format!("page {}: {c}", leaf.page_id));
        let last = index_page::last_rec(leaf.page).map_err(bad)?;
        let comp = index_page::header::is_comp(leaf.page);
        if last <= index_page::header::supremum(comp) {
            return Ok(false);
        }
        self.limit.holds(self.source.index, &RecordRef { rec: last, ..*leaf })
    }

    #[inline]
    fn look(
        &self,
        record: RecordRef<'_>,
        trusted: bool,
        inside: bool,
        scratch: &mut Scratch,
        each: &mut impl FnMut(&RowRef<'_>) -> ControlFlow<()>,
    ) -> Result<Option<Stop>> {
        if !inside && !self.limit.holds(self.source.index, &record)? {
            return Ok(Some(Stop::End));
        }
        let flow = self.source.visit(record, trusted, self.snapshot, scratch, |row| each(&row))?;
        Ok(match flow {
            None => None,
            Some(ControlFlow::Continue(())) if self.unique => Some(Stop::End),
            Some(ControlFlow::Continue(())) => None,
            Some(ControlFlow::Break(())) if self.unique => Some(Stop::BrokenAtEnd),
            Some(ControlFlow::Break(())) => Some(Stop::Broken),
        })
    }
}

/// A scan with locks.
pub(crate) struct LockPass<'a, 't> {
    pub(crate) source: Source<'a>,
    pub(crate) trx: &'t Trx,
    pub(crate) how: LockRead,
    pub(crate) limit: Limit<'a>,
    /// The key at which a `>=` or `=` scan begins, until its first record was looked at.
    pub(crate) from_key: Option<KeyFields<'a>>,
    pub(crate) scratch: &'t mut Scratch,
    pub(crate) held: &'t mut Held,
}

impl LockPass<'_, '_> {
    pub(crate) fn run(
        &mut self,
        walk: &mut Walk<'_>,
        dir: Direction,
        placed: bool,
        each: &mut impl FnMut(&RowRef<'_>) -> ControlFlow<()>,
    ) -> Result<Stop> {
        // Nobody may insert behind the place where a scan backwards begins.
        if placed
            && dir == Direction::Backward
            && self.how.gaps
            && let Some(behind) = walk.successor()?
        {
            self.source.lock_gap(self.trx, &behind, &self.how, self.scratch)?;
        }
        let mut again = false;
        loop {
            if !std::mem::take(&mut again) && self.step(walk, dir)? == Step::Edge {
                if !self.cross(walk, dir)? {
                    return Ok(Stop::End);
                }
                continue;
            }
            let visited = self.look(walk, each)?;
            self.how.waited = false;
            match visited {
                Visited::Row(ControlFlow::Continue(())) if self.how.unique => return Ok(Stop::End),
                Visited::Row(ControlFlow::Break(())) if self.how.unique => return Ok(Stop::BrokenAtEnd),
                Visited::Row(ControlFlow::Break(())) => return Ok(Stop::Broken),
                Visited::Row(ControlFlow::Continue(())) | Visited::Skip => {}
                Visited::End => return Ok(Stop::End),
                Visited::Wait => {
                    walk.store()?;
                    let waited = wait_unless_granted(self.source.core, self.trx)?;
                    // If the record is gone, the walk is between its neighbours and steps to the next one.
                    again = walk.restore()? == Restored::Same;
                    self.how.waited = again && waited;
                }
            }
        }
    }

    fn step(&self, walk: &mut Walk<'_>, dir: Direction) -> Result<Step> {
        Ok(match dir {
            Direction::Forward => walk.step_right()?,
            Direction::Backward => walk.step_left()?,
        })
    }

    /// Goes on to the next leaf; whether there is one. The gap at the end of each leaf is locked.
    fn cross(&mut self, walk: &mut Walk<'_>, dir: Direction) -> Result<bool> {
        self.source.check_interrupt()?;
        match dir {
            Direction::Forward => {
                self.lock_supremum(walk)?;
                self.from_key = None;
                Ok(walk.cross_right()?)
            }
            Direction::Backward => {
                let crossed = walk.cross_left()?;
                if crossed {
                    self.lock_supremum(walk)?;
                }
                Ok(crossed)
            }
        }
    }

    fn lock_supremum(&mut self, walk: &Walk<'_>) -> Result<()> {
        match walk.supremum().filter(|_| self.how.gaps) {
            Some(supremum) => self.source.lock_gap(self.trx, &supremum, &self.how, self.scratch),
            None => Ok(()),
        }
    }

    fn look(
        &mut self,
        walk: &Walk<'_>,
        each: &mut impl FnMut(&RowRef<'_>) -> ControlFlow<()>,
    ) -> Result<Visited<ControlFlow<()>>> {
        let record = walk.record().expect("stepped on, or come back to");
        let exact_start = match &self.from_key {
            Some(key) if is_unique_key(self.source.index, key) => {
                self.source.index.is_clustered()
                    && Limit::Equal(key.clone()).holds(self.source.index, &record)?
            }
            _ => false,
        };
        let visited = self.source.visit_locked(
            self.trx,
            record,
            &self.how,
            exact_start,
            &self.limit,
            self.scratch,
            self.held,
            |row| each(&row),
        )?;
        if !matches!(visited, Visited::Wait) {
            self.from_key = None;
        }
        let to_change = self.how.mode == LockMode::Exclusive && self.source.index.is_clustered();
        if to_change && matches!(visited, Visited::Row(_)) {
            self.trx.note_locked(walk.bookmark());
        }
        Ok(visited)
    }
}
