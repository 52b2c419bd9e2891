//! Reading with locks: S or X on every row read, and on the gaps between them where the isolation level keeps others
//! from inserting there.
//!
//! | what is read | lock | READ COMMITTED and below |
//! |---|---|---|
//! | a record found by a unique key, all of its fields given and none NULL | record | record |
//! | the record equal to the whole clustered key at which a `>=` or `=` scan begins, also if delete-marked | record | record |
//! | any other live record | next-key | record |
//! | any other delete-marked record | next-key | clustered: given back at once, unless it was waited for; secondary: record |
//! | the first record beyond the range | next-key | clustered: given back at once going forwards; else record |
//! | the first record that is not equal, in a search for equal ones | gap | none |
//! | the supremum of every leaf passed | gap | none |
//! | going backwards: the record behind the place where the scan begins | gap | none |
//! | the clustered record of a secondary entry, unless S locks are asked for and the index has all columns | record | record |
//!
//! This is what MySQL 5.6.24 was observed to lock, what it keeps locked in READ COMMITTED included, with one difference:
//! going backwards it does not lock the suprema of the leaves it comes to, so that a row inserted at the end of one of
//! them is a phantom. Here they are locked both ways.
//!
//! A scan by a secondary index is told of its range: the first entry beyond is locked, its row is not; unless the caller
//! is one who would look at the row to see that it is beyond ([`super::Cursor::set_row_at_end`]).
//!
//! The table is locked in IS or IX before. Implicit locks of other transactions are made explicit, so that there is
//! something to queue behind. A lock that is not free is waited for without latches; afterwards the record is looked for
//! and looked at again, as it may have changed, moved or gone.
//!
//! *Semi-consistent* reads, for UPDATE in READ COMMITTED: of a clustered record that somebody else has locked the last
//! committed version is shown instead. If it is wanted, [`super::Cursor::lock_current`] waits and looks again. The request
//! stands in the queue for a moment nevertheless: if it closes a cycle, somebody is its victim.

use super::bound::Limit;
use super::consistent::{Scratch, Source};
use super::row::{Columns, RowRef, clustered_key};
use crate::error::Result;
use crate::row::lock::{
    lock_clustered, lock_secondary, parse_clustered, record_id, trx_id_of, try_lock_clustered,
};
use crate::version::entry::Parsed;
use crate::version::{Seen, committed};
use vaquita_btree::observer::SUPREMUM;
use vaquita_btree::{Bookmark, RecordRef};
use vaquita_format::tuple::Tuple;
use vaquita_txn::lock::{LockOutcome, WaitPolicy};
use vaquita_txn::{LockMode, RecordLockKind, Trx};

/// How a locking read locks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LockRead {
    pub(crate) mode: LockMode,
    pub(crate) policy: WaitPolicy,
    /// Whether gaps are locked.
    pub(crate) gaps: bool,
    /// Whether at most one row can be equal to the key looked for.
    pub(crate) unique: bool,
    pub(crate) semi_consistent: bool,
    /// Whether the row of the first secondary entry beyond the range is locked too.
    pub(crate) row_at_end: bool,
    /// Whether the record's lock has just been waited for: it stays then, whether the row is wanted or not.
    pub(crate) waited: bool,
}

/// Locks that the last row read got and that were not held before, nor waited for: what may be given back if the row is not
/// wanted. A secondary entry is given back together with its row, and only if the lock of that is new (as MySQL 5.6.24 was
/// seen to do, also with an entry that was locked before).
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Held {
    pub(crate) entry: bool,
    pub(crate) clustered: bool,
}

/// What becomes of the locks of a row beyond the range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Beyond {
    /// They go where gaps are not locked, as those of any row that is not wanted: going forwards.
    GiveBack,
    /// They stay.
    Keep,
}

/// What a look at a record came to.
#[derive(Debug)]
pub(crate) enum Visited<R> {
    /// A row.
    Row(R),
    /// Nothing to be shown.
    Skip,
    /// A lock is queued for: wait, and look again.
    Wait,
    /// The end of the range.
    End,
}

impl Source<'_> {
    /// Locks a record, and the clustered record of a secondary entry, and shows the row. `exact_start`: the scan began at
    /// a key that the record equals, so that the gap before it does not matter.
    ///
    /// # Errors
    /// Refusal by policy, no memory for locks, errors of pages, damage.
    #[expect(clippy::too_many_arguments, reason = "the parts of a cursor, borrowed one by one")]
    pub(crate) fn visit_locked<R>(
        &self,
        trx: &Trx,
        record: RecordRef<'_>,
        how: &LockRead,
        exact_start: bool,
        limit: &Limit<'_>,
        scratch: &mut Scratch,
        held: &mut Held,
        row: impl FnOnce(RowRef<'_>) -> R,
    ) -> Result<Visited<R>> {
        debug_assert!(!(how.semi_consistent && how.gaps), "others' rows are shown, and gaps kept from them");
        *held = Held::default();
        let clustered = self.index.is_clustered();
        self.parse_all(self.index, &record, &mut scratch.own)?;
        if limit.is_equal() && !limit.holds(self.index, &record)? {
            if how.gaps {
                self.lock_gap(trx, &record, how, scratch)?;
            }
            return Ok(Visited::End);
        }
        let deleted = record.is_deleted();
        let alone = !how.gaps || how.unique && !deleted || exact_start;
        let kind = if alone { RecordLockKind::Record } else { RecordLockKind::NextKey };
        let row_waited;
        match self.lock_entry(trx, &record, how, kind, scratch)? {
            LockOutcome::Granted(new) => {
                held.entry = new && !how.waited;
                // Of the two it was the row that was waited for, if the entry was locked before.
                row_waited = how.waited && !new;
            }
            LockOutcome::MustWait => return Ok(Visited::Wait),
            LockOutcome::Skipped if how.semi_consistent && clustered => {
                return self.visit_committed(trx, record, limit, scratch, row);
            }
            LockOutcome::Skipped => return Ok(Visited::Skip),
        }
        if deleted {
            if clustered {
                self.give_back(trx, &record, how, held);
            }
            return Ok(if clustered && how.unique { Visited::End } else { Visited::Skip });
        }
        let reads_row = !clustered && (how.mode == LockMode::Exclusive || self.own.is_none());
        if !limit.is_equal() && !limit.holds(self.index, &record)? {
            if reads_row && how.row_at_end {
                let how = &LockRead { waited: row_waited, ..*how };
                let beyond = if limit.is_upper() { Beyond::GiveBack } else { Beyond::Keep };
                return self.visit_locked_row(
                    trx,
                    record,
                    how,
                    scratch,
                    held,
                    Err::<fn(RowRef<'_>) -> R, _>(beyond),
                );
            }
            if clustered && limit.is_upper() {
                self.give_back(trx, &record, how, held);
            }
            return Ok(Visited::End);
        }
        let how = &LockRead { waited: row_waited, ..*how };
        if reads_row {
            return self.visit_locked_row(trx, record, how, scratch, held, Ok(row));
        }
        let fields = self.own.unwrap_or(self.clustered);
        let entry = Parsed { record, offsets: &scratch.own };
        let columns = Columns::Entry(fields.at);
        Ok(Visited::Row(row(RowRef::of_pages(self.core, self.table, self.index, entry, columns))))
    }

    fn lock_entry(
        &self,
        trx: &Trx,
        record: &RecordRef<'_>,
        how: &LockRead,
        kind: RecordLockKind,
        scratch: &Scratch,
    ) -> Result<LockOutcome> {
        let (core, table, offsets) = (self.core, self.table, &scratch.own);
        if !self.index.is_clustered() {
            let tree = (table, self.index);
            return lock_secondary(core, trx, tree, record, offsets, (how.mode, kind), how.policy);
        }
        let claim = (how.mode, kind);
        match how.policy {
            WaitPolicy::Wait if how.semi_consistent => {
                try_lock_clustered(core, trx, table, record, offsets, claim)
            }
            policy => lock_clustered(core, trx, table, record, offsets, claim, policy),
        }
    }

    /// Locks the gap before a record; on a supremum the gap is all there is.
    pub(crate) fn lock_gap(
        &self,
        trx: &Trx,
        record: &RecordRef<'_>,
        how: &LockRead,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let (core, policy) = (self.core, WaitPolicy::Wait);
        let id = record_id(self.table, self.index, record);
        let locked = if id.heap == SUPREMUM {
            core.txn.locks().lock_record(trx, id, how.mode, RecordLockKind::NextKey, policy)?
        } else {
            self.parse_all(self.index, record, &mut scratch.own)?;
            let claim = (how.mode, RecordLockKind::Gap);
            if self.index.is_clustered() {
                lock_clustered(core, trx, self.table, record, &scratch.own, claim, policy)?
            } else {
                lock_secondary(core, trx, (self.table, self.index), record, &scratch.own, claim, policy)?
            }
        };
        assert!(
            matches!(locked, LockOutcome::Granted(_)),
            "a gap lock waits for nobody: {locked:?} at {id:?}"
        );
        Ok(())
    }

    /// Where gaps are not locked, a row that is not read is not kept locked either.
    fn give_back(&self, trx: &Trx, record: &RecordRef<'_>, how: &LockRead, held: &mut Held) {
        if !how.gaps && held.entry {
            let id = record_id(self.table, self.index, record);
            self.core.txn.locks().unlock_record(trx, id, how.mode);
            held.entry = false;
        }
    }

    /// The row of a secondary entry that is locked; or of the one beyond the range, which is locked and not wanted.
    fn visit_locked_row<R>(
        &self,
        trx: &Trx,
        entry_record: RecordRef<'_>,
        how: &LockRead,
        scratch: &mut Scratch,
        held: &mut Held,
        row: std::result::Result<impl FnOnce(RowRef<'_>) -> R, Beyond>,
    ) -> Result<Visited<R>> {
        let Scratch { own, clustered: offsets, .. } = scratch;
        let entry = Parsed { record: entry_record, offsets: own };
        let key = clustered_key(self.table, self.index, &entry);
        let tree = &self.table.clustered().tree;
        let look = |record: RecordRef<'_>, place: Bookmark| {
            parse_clustered(self.table, &record, offsets)?;
            let claim = (how.mode, RecordLockKind::Record);
            match lock_clustered(self.core, trx, self.table, &record, offsets, claim, how.policy)? {
                LockOutcome::Granted(new) => held.clustered = new && !how.waited,
                LockOutcome::MustWait => return Ok(Visited::Wait),
                LockOutcome::Skipped => return Ok(Visited::Skip),
            }
            if record.is_deleted() {
                held.entry = held.clustered;
                if !how.gaps && held.clustered {
                    let id = record_id(self.table, self.table.clustered(), &record);
                    self.core.txn.locks().unlock_record(trx, id, how.mode);
                    held.clustered = false;
                }
                return Ok(Visited::Skip);
            }
            let row = match row {
                Ok(row) => row,
                Err(beyond) => {
                    // What the transaction has changed itself stays locked.
                    let own = trx_id_of(self.table, &record, offsets) == trx.id();
                    let goes = beyond == Beyond::GiveBack && held.clustered && !own;
                    if goes && !how.gaps {
                        let id = record_id(self.table, self.table.clustered(), &record);
                        self.core.txn.locks().unlock_record(trx, id, how.mode);
                    }
                    *held = Held { entry: goes, clustered: false };
                    return Ok(Visited::End);
                }
            };
            if how.mode == LockMode::Exclusive {
                trx.note_locked(Some(place));
            }
            let columns = Columns::Clustered(Parsed { record, offsets }, self.clustered.at);
            Ok(Visited::Row(row(RowRef::of_pages(self.core, self.table, self.index, entry, columns))))
        };
        let found = tree.lookup_marked(&self.core.storage, &Tuple::new(&key), None, look)?;
        let visited = found.unwrap_or_else(|| Err(self.lost_row(&entry_record)))?;
        if matches!(visited, Visited::Skip | Visited::End) {
            self.give_back(trx, &entry_record, how, held);
        }
        Ok(visited)
    }

    /// The last committed version of a clustered record that somebody else has locked.
    #[cold]
    fn visit_committed<R>(
        &self,
        trx: &Trx,
        record: RecordRef<'_>,
        limit: &Limit<'_>,
        scratch: &mut Scratch,
        row: impl FnOnce(RowRef<'_>) -> R,
    ) -> Result<Visited<R>> {
        if !limit.holds(self.index, &record)? {
            return Ok(Visited::End);
        }
        let Scratch { own, version, .. } = scratch;
        let columns = match committed(self.core, self.table, &record, own, trx.id(), version)? {
            Seen::Current if !record.is_deleted() => Columns::Entry(self.clustered.at),
            Seen::Older if !version.is_deleted() => Columns::Version(version, self.clustered.at),
            Seen::Current | Seen::Older | Seen::Nothing => return Ok(Visited::Skip),
        };
        let entry = Parsed { record, offsets: own };
        let seen = RowRef::of_pages(self.core, self.table, self.index, entry, columns).semi_consistent();
        Ok(Visited::Row(row(seen)))
    }
}
