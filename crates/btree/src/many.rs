//! Looking up many keys at once.
//!
//! A lookup alone waits for memory again and again: for the descriptor of the leaf, for the leaf's directory, for each record it
//! compares. The lookups of a group go through these stations together, each having what it needs next fetched while the
//! others are at work; so they wait for one another's memory hardly longer than for that of one.
//!
//! # Latching
//! The leaves of a group are latched shared at the same time, in any order: so none of them is waited for. A lookup whose leaf
//! is not to be had at once (it is being changed, or is not in memory) is done alone when all of them are released.

use crate::descent::{Aim, RecordRef, Step, check_page};
use crate::error::Result;
use crate::probe::Probe;
use crate::tree::Tree;
use smallvec::SmallVec;
use std::ops::ControlFlow;
use vaquita_format::index_page::{SearchMode, SteppedSearch};
use vaquita_format::tuple::Tuple;
use vaquita_storage::Storage;
use vaquita_storage::buf::{BufferPool, PageReadGuard};

/// Most lookups that go together: as many cache lines as a processor core fetches at the same time.
pub const LOOKUP_GROUP: usize = 16;
/// In a small pool fewer go together: what a thread has latched cannot be evicted, and there are many threads.
const FRAMES_EACH: usize = 64;
/// Cache lines of a found record that are fetched ahead.
const RECORD_LINES: usize = 3;
const LINE: usize = 64;

/// A lookup that has reached its leaf.
struct InLeaf<'p> {
    leaf: PageReadGuard<'p>,
    search: SteppedSearch,
}

impl Tree {
    /// Calls `found` for each key in turn, with its number and the record whose first fields equal it, if there is one. Each
    /// key identifies at most one record. Delete-marked records are found too. Whether all were shown.
    ///
    /// # Errors
    /// Errors of reading pages, damage; `found` was called for the keys before.
    ///
    /// # Latching
    /// `found` runs under shared latches of several leaves.
    pub fn lookup_many(
        &self,
        storage: &Storage,
        keys: &[Tuple<'_>],
        mut found: impl FnMut(usize, Option<RecordRef<'_>>) -> ControlFlow<()>,
    ) -> Result<bool> {
        let most = LOOKUP_GROUP.min(storage.pool().frame_count() / FRAMES_EACH).max(2);
        let mut at = 0;
        let mut size = most;
        while at < keys.len() {
            let group = &keys[at..keys.len().min(at + size)];
            let (done, flow) = self.lookup_group(storage.pool(), group, |i, record| found(at + i, record));
            at += done;
            if flow.is_break() {
                return Ok(false);
            }
            if done == group.len() {
                size = most.min(2 * size);
                continue;
            }
            // Where one has to be waited for, others have, too.
            size = (size / 2).max(2);
            let shown = self.lookup(storage, &keys[at], |record| found(at, Some(record)))?;
            let flow = shown.unwrap_or_else(|| found(at, None));
            at += 1;
            if flow.is_break() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Looks up the keys of a group up to the first one whose leaf is not to be had, or is damaged; how many were shown.
    fn lookup_group(
        &self,
        pool: &BufferPool,
        keys: &[Tuple<'_>],
        mut found: impl FnMut(usize, Option<RecordRef<'_>>) -> ControlFlow<()>,
    ) -> (usize, ControlFlow<()>) {
        debug_assert!(keys.len() <= LOOKUP_GROUP, "{} leaves would be latched together", keys.len());
        let mut aims: SmallVec<[Aim<'_>; LOOKUP_GROUP]> = SmallVec::new();
        for key in keys {
            let probe = Probe::key(&self.index, key, SearchMode::LessOrEqual);
            let Step::Done(aim) = self.aim(pool, &probe) else { break };
            pool.prefetch_place(aim.leaf);
            aims.push(aim);
        }
        for aim in &aims {
            pool.prefetch_page(aim.leaf);
        }
        let mut lookups: SmallVec<[InLeaf<'_>; LOOKUP_GROUP]> = SmallVec::new();
        for aim in &aims {
            let Some(lookup) = self.enter_leaf(pool, aim) else { break };
            lookups.push(lookup);
        }
        self.search_all(&mut lookups, keys);
        let mut shown = 0;
        for InLeaf { leaf, search } in lookups {
            let record = search.equal().map(|rec| RecordRef { page: &leaf, page_id: leaf.id(), rec });
            let flow = found(shown, record);
            shown += 1;
            if flow.is_break() {
                return (shown, flow);
            }
        }
        (shown, ControlFlow::Continue(()))
    }

    /// Latches the leaf of a lookup, if that can be done at once and it is still the right one.
    #[inline]
    fn enter_leaf<'p>(&self, pool: &'p BufferPool, aim: &Aim<'p>) -> Option<InLeaf<'p>> {
        let leaf = pool.try_shared(aim.leaf)?;
        if aim.parent.is_some_and(|parent| !parent.validate()) {
            return None;
        }
        // A root without children may have grown: then it is no leaf any more.
        check_page(&self.index, aim.leaf, &leaf, Some(0)).ok()?;
        let search = SteppedSearch::begin(&leaf, &self.index).ok()?;
        let lookup = InLeaf { leaf, search };
        lookup.prefetch_next();
        Some(lookup)
    }

    /// Ends all searches, one step of each at a time; those from the first damaged page on are given up.
    #[inline]
    fn search_all(&self, lookups: &mut SmallVec<[InLeaf<'_>; LOOKUP_GROUP]>, keys: &[Tuple<'_>]) {
        let mut running = true;
        while running {
            running = false;
            let mut sound = lookups.len();
            for (i, (lookup, key)) in lookups.iter_mut().zip(keys).enumerate() {
                if lookup.search.next().is_some() {
                    if lookup.search.step(&lookup.leaf, &self.index, key).is_err() {
                        sound = i;
                        break;
                    }
                    lookup.prefetch_next();
                    running = true;
                }
            }
            lookups.truncate(sound);
        }
    }
}

impl InLeaf<'_> {
    /// Has the processor fetch the record that is compared next, or the one that was found.
    #[inline]
    fn prefetch_next(&self) {
        if let Some(rec) = self.search.next() {
            self.leaf.prefetch(rec.into());
        } else if let Some(rec) = self.search.equal() {
            for line in 1..=RECORD_LINES {
                self.leaf.prefetch(usize::from(rec) + line * LINE);
            }
        }
    }
}
