//! A walk over records of an index that locks on the way, for checks of uniqueness and of foreign keys.

use crate::core::Core;
use crate::error::{Error, Result};
use crate::row::entry::same_order;
use crate::row::lock::{parse_clustered, parse_secondary, wait};
use crate::row::secondary::Of;
use smallvec::SmallVec;
use vaquita_base::PageId;
use vaquita_btree::observer::SUPREMUM;
use vaquita_btree::{LatchMode, RecordRef};
use vaquita_format::fil;
use vaquita_format::index_page::header::{index_id, infimum, is_leaf, supremum};
use vaquita_format::index_page::{SearchMode, next_rec};
use vaquita_format::record::Offsets;
use vaquita_format::tuple::{Tuple, TupleField};
use vaquita_storage::{Mtr, PageRef};
use vaquita_txn::lock::{LockOutcome, RecordId, WaitPolicy};
use vaquita_txn::{LockMode, RecordLockKind, Trx};

/// Where a walk is.
#[derive(Debug)]
pub(crate) enum At<'a, 'p> {
    /// On a record.
    Record(&'a RecordRef<'p>, &'a Offsets),
    /// Behind the last record of a page.
    Supremum,
}

/// What to do next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Go on.
    Go,
    /// Enough.
    Stop,
    /// A lock was queued: wait, and begin again.
    Wait,
    /// At a supremum: lock the gap, then go on.
    Lock(LockMode, RecordLockKind),
}

/// A walk over the records of an index from the first one on that is not below a key.
pub(crate) struct Scan<'s> {
    pub(crate) core: &'s Core,
    pub(crate) trx: &'s Trx,
    pub(crate) of: Of<'s>,
    /// Leading fields.
    pub(crate) key: &'s [TupleField<'s>],
    /// Begin behind the record with these fields.
    pub(crate) after: Option<&'s [TupleField<'s>]>,
}

impl Scan<'_> {
    /// Calls `each` for every record, with whether it equals the key, and at the end of every page, until that says
    /// stop or there are no more. After a wait everything begins again.
    ///
    /// # Errors
    /// Those of `each`; lock waits, errors of reading pages, damage.
    ///
    /// # Latching
    /// `each` runs under the leaf's shared latch.
    pub(crate) fn run(&self, mut each: impl FnMut(At<'_, '_>, bool) -> Result<Next>) -> Result<()> {
        while self.walk(&mut each)? == Next::Wait {
            wait(self.core, self.trx)?;
        }
        Ok(())
    }

    /// As [`Scan::run`], once: `false` if a lock was queued, for which the caller waits before it begins again.
    ///
    /// # Errors
    /// As [`Scan::run`].
    pub(crate) fn run_once(&self, mut each: impl FnMut(At<'_, '_>, bool) -> Result<Next>) -> Result<bool> {
        Ok(self.walk(&mut each)? != Next::Wait)
    }

    /// Walks until it is to be stopped or to wait; holds nothing then.
    fn walk(&self, each: &mut impl FnMut(At<'_, '_>, bool) -> Result<Next>) -> Result<Next> {
        let (_, index) = self.of;
        let n_ordering = index.def().n_uniq_in_tree();
        debug_assert!(self.key.len() <= n_ordering, "{} fields of {n_ordering} that order", self.key.len());
        debug_assert!(
            self.after.is_none_or(|after| after.len() == n_ordering),
            "a walk goes on behind one record, known by all that orders it: {:?}",
            self.after
        );
        let comp = index.def().layout().comp();
        let mut mtr = self.core.storage.begin_read();
        let (key, mode) = match self.after {
            Some(after) => (after, SearchMode::Greater),
            None => (self.key, SearchMode::GreaterOrEqual),
        };
        let at = index.tree.search(&mut mtr, &Tuple::new(key), mode, LatchMode::Shared)?;
        let (mut page, mut rec) = (at.page(), at.rec());
        let mut offsets = Offsets::new();
        loop {
            let next = if rec == supremum(comp) {
                match each(At::Supremum, false)? {
                    Next::Lock(mode, kind) => self.lock_supremum(&mtr, page, mode, kind)?,
                    next => next,
                }
            } else {
                self.visit(&mtr, page, rec, &mut offsets, each)?
            };
            if next != Next::Go {
                return Ok(next);
            }
            if rec == supremum(comp) {
                let Some(right) = self.right_of(&mut mtr, page)? else { return Ok(Next::Stop) };
                (page, rec) = (right, infimum(comp));
            }
            rec = next_rec(mtr.page(page), rec).map_err(|c| Error::Corrupt(c.to_string()))?;
        }
    }

    fn visit(
        &self,
        mtr: &Mtr<'_>,
        page: PageRef,
        rec: u16,
        offsets: &mut Offsets,
        each: &mut impl FnMut(At<'_, '_>, bool) -> Result<Next>,
    ) -> Result<Next> {
        let (table, index) = self.of;
        let record = RecordRef { page: mtr.page(page), page_id: mtr.id(page), rec };
        if index.is_clustered() {
            parse_clustered(table, &record, offsets)?;
        } else {
            parse_secondary(index, &record, offsets)?;
        }
        let found: SmallVec<[TupleField<'_>; 8]> =
            (0..self.key.len()).map(|i| TupleField::nullable(record.field(offsets, i))).collect();
        let is_equal = same_order(index.def(), &found, self.key);
        each(At::Record(&record, offsets), is_equal)
    }

    fn right_of(&self, mtr: &mut Mtr<'_>, page: PageRef) -> Result<Option<PageRef>> {
        let (_, index) = self.of;
        let here = mtr.id(page);
        let Some(right) = fil::next(mtr.page(page)).some() else { return Ok(None) };
        let id = PageId::new(here.space, right);
        if mtr.find(id).is_some() {
            return Err(bad_link(here));
        }
        let next = mtr.get_shared(id)?;
        let bytes = mtr.page(next);
        if index_id(bytes) != index.id || !is_leaf(bytes) || fil::prev(bytes) != here.page_no {
            return Err(bad_link(here));
        }
        mtr.release(page);
        Ok(Some(next))
    }

    fn lock_supremum(
        &self,
        mtr: &Mtr<'_>,
        page: PageRef,
        mode: LockMode,
        kind: RecordLockKind,
    ) -> Result<Next> {
        let (table, index) = self.of;
        let id = RecordId { table: table.id, index: index.id, page: mtr.id(page), heap: SUPREMUM };
        Ok(match self.core.txn.locks().lock_record(self.trx, id, mode, kind, WaitPolicy::Wait)? {
            LockOutcome::MustWait => Next::Wait,
            _ => Next::Go,
        })
    }
}

fn bad_link(page: PageId) -> Error {
    Error::Corrupt(format!("the page behind page {page} is no leaf of its index, or does not point back"))
}
