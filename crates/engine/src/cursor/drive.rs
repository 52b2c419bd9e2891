//! What a cursor's calls do: the pass they make from its place on, and what becomes of the locks of the last row.

use super::bound::{Direction, End, KeyFields, Limit};
use super::columns::Spec;
use super::consistent::{Scratch, Snapshot, Source};
use super::locking::{Held, LockRead};
use super::pass::{LockPass, Pass, Stop};
use super::row::{RowRef, clustered_key};
use super::{Cursor, ReadLock, Seek, Start, check_view, is_old_enough, snapshot};
use crate::core::Core;
use crate::error::{Error, Result};
use crate::row::lock::{lock_table, record_id};
use crate::version::entry::Parsed;
use std::ops::ControlFlow;
use vaquita_btree::{Cursor as Walk, CursorState, OwnedKey, RecordRef, Restored};
use vaquita_format::index_page::SearchMode;
use vaquita_format::tuple::Tuple;
use vaquita_storage::buf::assert_no_page_latched;
use vaquita_txn::{Isolation, LockMode, Trx};

fn fields_of(key: &OwnedKey) -> KeyFields<'_> {
    key.iter().collect()
}

/// The limit of a scan in a direction.
fn limit<'k>(
    equal: Option<&'k OwnedKey>,
    lower: Option<&'k End>,
    upper: Option<&'k End>,
    dir: Direction,
) -> Limit<'k> {
    let end = match dir {
        Direction::Forward => upper,
        Direction::Backward => lower,
    };
    match (equal, end) {
        (Some(key), _) => Limit::Equal(fields_of(key)),
        (None, Some(end)) => Limit::Key(fields_of(&end.key), end.inclusive, dir),
        (None, None) => Limit::None,
    }
}

impl Cursor {
    /// Calls `each` for the rows from the cursor's place on; whether it broke.
    pub(super) fn scan(
        &mut self,
        core: &Core,
        trx: &mut Trx,
        dir: Direction,
        each: &mut impl FnMut(&RowRef<'_>) -> ControlFlow<()>,
    ) -> Result<bool> {
        // Whoever is called for a row runs under its latch and must not read on.
        assert_no_page_latched("a cursor reads on");
        if self.ended == Some(dir) {
            return Ok(false);
        }
        if self.lost {
            return Err(Error::WrongState("the cursor has lost its place by an error: seek again"));
        }
        self.ended = None;
        let mut rows = 0;
        let mut each = |row: &RowRef<'_>| {
            rows += 1;
            each(row)
        };
        let scanned = self.scan_from_place(core, trx, dir, &mut each);
        core.metrics.rows_read.add(rows);
        self.lost = scanned.is_err();
        scanned
    }

    fn scan_from_place(
        &mut self,
        core: &Core,
        trx: &mut Trx,
        dir: Direction,
        each: &mut impl FnMut(&RowRef<'_>) -> ControlFlow<()>,
    ) -> Result<bool> {
        match self.lock {
            ReadLock::None => {
                let snapshot = snapshot(core, trx, &self.spec.table);
                if !is_old_enough(core, &self.spec.index, &snapshot) {
                    return Err(Error::ViewTooOld(self.spec.table.name.clone()));
                }
                self.scan_snapshot(core, trx, &snapshot, dir, each)
            }
            ReadLock::Shared => self.scan_locking(core, trx, LockMode::Shared, dir, each),
            ReadLock::Exclusive => self.scan_locking(core, trx, LockMode::Exclusive, dir, each),
        }
    }

    /// A scan that takes no locks.
    fn scan_snapshot(
        &mut self,
        core: &Core,
        trx: &Trx,
        snapshot: &Snapshot,
        dir: Direction,
        each: &mut impl FnMut(&RowRef<'_>) -> ControlFlow<()>,
    ) -> Result<bool> {
        let Cursor { spec, start, start_key, equal, unique, lower, upper, place, scratch, .. } = self;
        let mut walk = begin(core, spec, start, start_key, place, dir)?;
        let limit = limit(equal.as_ref(), lower.as_ref(), upper.as_ref(), dir);
        let pass = Pass { source: spec.source(core, trx.shared()), snapshot, limit, unique: *unique };
        let stop = match dir {
            Direction::Forward => pass.forward(&mut walk, scratch, each)?,
            Direction::Backward => pass.backward(&mut walk, scratch, each)?,
        };
        *place = walk.suspend()?;
        self.ended = (stop != Stop::Broken).then_some(dir);
        Ok(stop != Stop::End)
    }

    /// A scan that locks what it reads.
    fn scan_locking(
        &mut self,
        core: &Core,
        trx: &Trx,
        mode: LockMode,
        dir: Direction,
        each: &mut impl FnMut(&RowRef<'_>) -> ControlFlow<()>,
    ) -> Result<bool> {
        let Cursor { spec, start, start_key, equal, unique, lower, upper, place, scratch, held, .. } = self;
        let placed = *start != Start::Here;
        let gaps = trx.isolation() >= Isolation::RepeatableRead;
        let semi_consistent = self.semi_consistent && !gaps && !*unique;
        let (policy, row_at_end) = (self.wait, self.row_at_end);
        let how =
            LockRead { mode, policy, gaps, unique: *unique, semi_consistent, row_at_end, waited: false };
        if placed {
            check_view(core, trx, &spec.table, &spec.index)?;
            lock_table(core, trx, &spec.table, intention(mode))?;
        }
        let begins_at_key = matches!(start, Start::Key(Seek::GreaterOrEqual | Seek::Equal));
        let from_key = (begins_at_key && dir == Direction::Forward).then(|| fields_of(start_key));
        let mut walk = begin(core, spec, start, start_key, place, dir)?;
        let limit = limit(equal.as_ref(), lower.as_ref(), upper.as_ref(), dir);
        let mut pass =
            LockPass { source: spec.source(core, trx.shared()), trx, how, limit, from_key, scratch, held };
        let stop = pass.run(&mut walk, dir, placed, each)?;
        *place = walk.suspend()?;
        self.ended = (stop != Stop::Broken).then_some(dir);
        Ok(stop != Stop::End)
    }

    /// Gives the locks back that the row read last has got, because it is not wanted: in READ COMMITTED and below.
    /// Locks that were held before stay, and those that had to be waited for.
    ///
    /// # Errors
    /// Errors of pages, damage.
    pub fn unlock_row(&mut self, core: &Core, trx: &Trx) -> Result<()> {
        assert_no_page_latched("locks of a row are given back");
        if let Some(parts) = &mut self.parts {
            return parts.present_mut().map_or(Ok(()), |cursor| cursor.unlock_row(core, trx));
        }
        let held = std::mem::take(&mut self.held);
        let mode = match self.lock {
            ReadLock::None => return Ok(()),
            ReadLock::Shared => LockMode::Shared,
            ReadLock::Exclusive => LockMode::Exclusive,
        };
        let new = if self.spec.index.is_clustered() { held.entry } else { held.clustered };
        if trx.isolation() >= Isolation::RepeatableRead || !new {
            return Ok(());
        }
        let Cursor { spec, place, scratch, .. } = self;
        let mut walk = Walk::resume(&spec.index.tree, &core.storage, std::mem::take(place));
        let restored = walk.restore()?;
        if let Some(record) = walk.record().filter(|_| restored == Restored::Same) {
            give_back_row(&spec.source(core, trx.shared()), trx, &record, held, mode, scratch)?;
        }
        *place = walk.suspend()?;
        Ok(())
    }

    /// Waits for the lock of a row that was shown semi-consistently, and shows it as it is now; `None` if it is gone.
    ///
    /// # Errors
    /// Those of locks and waits, errors of pages, damage.
    pub fn lock_current<'a>(&'a mut self, core: &'a Core, trx: &mut Trx) -> Result<Option<RowRef<'a>>> {
        if self.parts.is_some() {
            let present = self.parts.as_mut().and_then(|parts| parts.present_mut());
            return present.map_or(Ok(None), |cursor| cursor.lock_current(core, trx));
        }
        let Some(row) = self.batch.current().filter(|_| self.lock != ReadLock::None) else {
            return Err(Error::WrongState("there is no row to be locked"));
        };
        let mut key = OwnedKey::default();
        self.batch.key_of(row, &self.spec.index, &mut key);
        // As a search for this one record; the place to go on from stays what it is.
        let kept = (self.start, self.equal.take(), self.unique, self.semi_consistent, self.place.clone());
        let start_key = std::mem::replace(&mut self.start_key, key.clone());
        (self.start, self.equal, self.unique) = (Start::Key(Seek::Equal), Some(key), true);
        (self.semi_consistent, self.ended) = (false, None);
        let filled = self.fill(core, trx, self.batch_dir);
        self.start_key = start_key;
        (self.start, self.equal, self.unique, self.semi_consistent, self.place) = kept;
        self.ended = None;
        filled?;
        match self.batch.give() {
            Some(row) => Ok(Some(self.batch_row(core, row))),
            None => Ok(None),
        }
    }
}

/// Gives back the locks of a record and of its clustered record, unless the transaction has changed the row.
fn give_back_row(
    source: &Source<'_>,
    trx: &Trx,
    record: &RecordRef<'_>,
    held: Held,
    mode: LockMode,
    scratch: &mut Scratch,
) -> Result<()> {
    let locks = source.core.txn.locks();
    let clustered = source.table.clustered();
    let changed = if source.index.is_clustered() {
        source.trx_id(record, &mut scratch.own)? == trx.id()
    } else {
        source.parse_all(source.index, record, &mut scratch.own)?;
        let entry = Parsed { record: *record, offsets: &scratch.own };
        let key = clustered_key(source.table, source.index, &entry);
        let found = clustered.tree.lookup(&source.core.storage, &Tuple::new(&key), |row| {
            let changed = source.trx_id(&row, &mut scratch.clustered)? == trx.id();
            if held.clustered && !changed {
                locks.unlock_record(trx, record_id(source.table, clustered, &row), mode);
            }
            Ok::<bool, Error>(changed)
        })?;
        found.transpose()?.unwrap_or(false)
    };
    if !changed {
        locks.unlock_record(trx, record_id(source.table, source.index, record), mode);
    }
    Ok(())
}

/// The lock of a table under whose records these locks are.
pub(super) fn intention(mode: LockMode) -> LockMode {
    match mode {
        LockMode::Shared => LockMode::IntentionShared,
        _ => LockMode::IntentionExclusive,
    }
}

/// Resumes a walk, or places it where the scan begins.
fn begin<'s>(
    core: &'s Core,
    spec: &'s Spec,
    start: &mut Start,
    start_key: &OwnedKey,
    place: &mut CursorState,
    dir: Direction,
) -> Result<Walk<'s>> {
    let mut walk = Walk::resume(&spec.index.tree, &core.storage, std::mem::take(place));
    let at_key = |walk: &mut Walk<'_>, mode| walk.place(&Tuple::new(&fields_of(start_key)), mode);
    match (std::mem::replace(start, Start::Here), dir) {
        (Start::Here, _) => {}
        (Start::First, _) => walk.place_first()?,
        (Start::Last, _) => walk.place_last()?,
        (Start::Key(seek), dir) => at_key(&mut walk, seek.search_mode(dir))?,
        (Start::Row, Direction::Forward) => at_key(&mut walk, SearchMode::Greater)?,
        (Start::Row, Direction::Backward) => at_key(&mut walk, SearchMode::Less)?,
    }
    Ok(walk)
}
