//! The order of transactions: ids, transaction numbers, commit sequence numbers, and views of them.
//!
//! Three kinds of numbers:
//!
//! | number | given | for |
//! |---|---|---|
//! | id | before the first change, from the counter `next` | hidden column of rows: who wrote a version |
//! | transaction number | at the end of an update undo log, from the same counter | order of the history, for purge |
//! | commit sequence number | when a commit is *published*, 0, 1, 2 ... | visibility |
//!
//! All three are given under one small mutex. To publish a commit is to enter its sequence number in the map of ids
//! ([`super::seq_map`]) and then to raise `published`. A read view copies no list of active transactions; it is the
//! four [`Limits`], loaded one by one without any lock:
//!
//! ```text
//! up_limit     = min_active     ids below have committed and are published
//! low_limit_no = min_number     undo logs below belong to published commits
//! snapshot     = published      commit sequence numbers below are seen
//! low_limit    = next           ids from here on are not seen
//! ```
//!
//! # What a view sees
//! It sees the transactions whose sequence number is below `snapshot`: a prefix of the order in which commits were
//! published. The other numbers only save the lookup and say what may be thrown away. For that:
//!
//! - V1: *an id below `up_limit` has a sequence number below `snapshot`.* `min_active` passes an id, in a store with
//!   release order, after `published` was raised for it; the view loads `min_active` with acquire order first, so it
//!   loads a `published` that counts the id.
//! - V2: *an id from `low_limit` on has none below `snapshot`.* Were it published below, then `next` had passed the id
//!   before `published` was raised, and the view, which loads `published` with acquire order before it loads `next`,
//!   would have got a `low_limit` above the id.
//! - V3: *a transaction number below `low_limit_no` belongs to a commit below `snapshot`*: as V1. A number is entered
//!   among those in flight when it is given, under the mutex, so `min_number` never passes one that is not published.
//! - V4: *the lookup in between finds the sequence number if it is below `snapshot`.* It was stored before `published`
//!   was raised. If it is not below, the lookup finds `ACTIVE` or the number; either is not seen.
//!
//! Publishing happens after the end of the undo logs is in the log buffer. Whoever sees a commit and commits himself
//! comes later in the log: no commit that saw another can be durable without it. And publishing happens before locks
//! are released and before the state is `Committed` for those that look for implicit locks, so a transaction that
//! built upon another's rows is published after it: a view that sees the second sees the first.
//!
//! # Forgetting
//! An entry of the map is looked up by views with `snapshot <= seq` and `id < low_limit`, or with a larger snapshot,
//! for which "forgotten" and "committed below" mean the same. So it may go when no view, open or to come, has
//! `snapshot <= seq` and `id < low_limit`. Under a view that stays open for hours this keeps those that were active when
//! it was opened, and nothing that began later.
//!
//! Who forgets (or purges) makes his choice among what is published, passes a sequentially consistent fence, then
//! reads the numbers that sessions have published of their open views. A session stores a lower bound of its view, passes
//! such a fence, then loads the limits (`ViewNumbers::open`). Of the two fences one is first. If it is the session's,
//! its bound is found. If it is the other, the session loads limits at least as high as those that the choice was made
//! by, and its view needs nothing of what was chosen. A number found may belong to the session's view before or be
//! the bound and not yet the view's: all of them only grow, so it asks for too much, never for too little.
//!
//! The same fences make `Order::oldest_view` right: nothing that it sees is unseen by a view that is open or to come.
//! That is so number by number, so of two such views the greater numbers of each are one, too. And it sees the
//! transactions with a number below its `low_limit_no`, as every view does: a session stores a snapshot before the
//! `low_limit_no` that goes with it, and who looks loads them the other way round. So a transaction whose undo may be
//! purged is seen by all, for everybody who asks from then on.
//!
//! # The id store
//! The page of the transaction system keeps a bound of the ids given, moved in steps; a restart continues well above
//! it. I1: `next` plus the number of active transactions, each of which may still draw a transaction number, never
//! exceeds the bound; so the bound is raised, in a mini-transaction that is in the log before the id is used, where an
//! id is given and no latch is held, and never while a commit draws its number.

use super::limits::{Limits, Numbers, ViewNumbers};
use super::line::Line;
use super::seq_map::{ACTIVE, SeqMap};
use super::sync::{CachePadded, Mutex, Ordering, fence};
use vaquita_base::TrxId;
use vaquita_format::trx_sys::TRX_ID_MARGIN;

/// Commits between two rounds of forgetting.
const FORGET_BATCH: usize = 256;

#[derive(Debug)]
struct Queue {
    /// Ids given and not published.
    ids: Line,
    /// Transaction numbers given and not published.
    numbers: Line,
    /// Ids and numbers given are below.
    bound: u64,
    /// Published and not yet looked at by forgetting: id, sequence number.
    published: Vec<(u64, u64)>,
}

#[derive(Debug, Default)]
struct Forgetting {
    /// Published, with a sequence number that some view may have to look up.
    retained: Vec<(u64, u64)>,
    /// Snapshots of open views, ascending, with the greatest low limit of this and those before.
    views: Vec<(u64, u64)>,
    forgotten: u64,
}

/// The order of a folder's transactions.
#[derive(Debug)]
pub(crate) struct Order {
    limits: CachePadded<Limits>,
    queue: Mutex<Queue>,
    map: SeqMap,
    forgetting: Mutex<Forgetting>,
    /// What [`Order::oldest_view`] gave last.
    oldest: Mutex<Numbers>,
}

impl Order {
    /// The next id is `next`; ids may be given below `bound` until it is raised. The map has `ring` entries.
    pub(crate) fn new(next: TrxId, bound: TrxId, ring: usize) -> Self {
        Self {
            limits: CachePadded::new(Limits::new(next.0)),
            queue: Mutex::new(Queue {
                ids: Line::default(),
                numbers: Line::default(),
                bound: bound.0,
                published: Vec::with_capacity(FORGET_BATCH),
            }),
            map: SeqMap::new(ring),
            forgetting: Mutex::default(),
            oldest: Mutex::new(Numbers::default()),
        }
    }

    /// Enters a transaction that began before the restart; ids ascending, before any other is given.
    pub(crate) fn resurrect(&self, id: TrxId) {
        let mut queue = self.queue.lock();
        assert!(id.0 < self.limits.next.load(Ordering::Relaxed), "{id} is from the future");
        self.map.insert(id.0);
        queue.ids.push(id.0);
        self.limits.min_active.store(queue.ids.first().unwrap_or(id.0), Ordering::Release);
    }

    /// Gives an id; `None` if the bound must be raised first.
    pub(crate) fn begin(&self) -> Option<TrxId> {
        let mut queue = self.queue.lock();
        let id = self.limits.next.load(Ordering::Relaxed);
        // This id, a number for this transaction and one for each other: I1.
        if id + queue.ids.len() as u64 + 2 > queue.bound {
            return None;
        }
        self.map.insert(id);
        if queue.ids.len() == 0 {
            self.limits.min_active.store(id, Ordering::Release);
        }
        queue.ids.push(id);
        self.limits.next.store(id + 1, Ordering::Release);
        Some(TrxId(id))
    }

    /// What the id store must hold for the next id to be given; `None` if it does.
    pub(crate) fn id_store_wanted(&self) -> Option<TrxId> {
        let queue = self.queue.lock();
        let needed = self.limits.next.load(Ordering::Relaxed) + queue.ids.len() as u64 + 2;
        (needed > queue.bound).then(|| TrxId(needed / TRX_ID_MARGIN * TRX_ID_MARGIN))
    }

    /// The id store holds `stored`, and the log has it.
    pub(crate) fn id_store_raised(&self, stored: TrxId) {
        let mut queue = self.queue.lock();
        let bound = stored.0 + TRX_ID_MARGIN;
        debug_assert!(bound >= queue.bound, "the bound of ids goes back from {} to {bound}", queue.bound);
        queue.bound = bound;
    }

    /// Gives an active transaction its transaction number.
    pub(crate) fn draw_number(&self) -> TrxId {
        let mut queue = self.queue.lock();
        let number = self.limits.next.load(Ordering::Relaxed);
        debug_assert!(
            number < queue.bound,
            "I1: number {number} is drawn, ids are given below {}",
            queue.bound
        );
        queue.numbers.push(number);
        self.limits.next.store(number + 1, Ordering::Release);
        TrxId(number)
    }

    /// A number was drawn for nothing: its log did not end.
    pub(crate) fn withdraw_number(&self, number: TrxId) {
        let mut queue = self.queue.lock();
        queue.numbers.remove(number.0);
        self.raise_min_number(&queue);
    }

    fn raise_min_number(&self, queue: &Queue) {
        let next = self.limits.next.load(Ordering::Relaxed);
        self.limits.min_number.store(queue.numbers.first().unwrap_or(next), Ordering::Release);
    }

    /// Publishes the commit of an active transaction; `and` is done at the same moment, as far as other commits can
    /// tell. Whether it is time to forget.
    pub(crate) fn publish(&self, id: TrxId, number: Option<TrxId>, and: impl FnOnce()) -> bool {
        let mut queue = self.queue.lock();
        let seq = self.limits.published.load(Ordering::Relaxed);
        self.map.commit(id.0, seq);
        self.limits.published.store(seq + 1, Ordering::Release);
        and();
        if let Some(number) = number {
            queue.numbers.remove(number.0);
        }
        self.raise_min_number(&queue);
        queue.ids.remove(id.0);
        let next = self.limits.next.load(Ordering::Relaxed);
        self.limits.min_active.store(queue.ids.first().unwrap_or(next), Ordering::Release);
        queue.published.push((id.0, seq));
        queue.published.len() >= FORGET_BATCH
    }

    /// Opens a session's view.
    #[inline]
    pub(crate) fn open_view(&self, view: &ViewNumbers) -> Numbers {
        let opened = view.open(&self.limits);
        debug_assert!(
            opened.up_limit <= opened.low_limit && opened.low_limit_no <= opened.low_limit,
            "a view that sees ids which are not given: {opened:?}"
        );
        opened
    }

    /// A view that sees nothing that a view of `all` or one to come does not see, and everything that one given before
    /// has seen.
    pub(crate) fn oldest_view(&self, all: impl FnOnce(&mut dyn FnMut(&ViewNumbers))) -> Numbers {
        let mut last = self.oldest.lock();
        let mut oldest = self.limits.view();
        fence(Ordering::SeqCst);
        all(&mut |view| view.bound(&mut oldest));
        // The bound of a view that is being opened may be of long ago. What held for the one given last holds still.
        *last = last.max(oldest);
        *last
    }

    /// What [`Order::oldest_view`] gave last; it holds as long as the folder is open.
    pub(crate) fn last_oldest_view(&self) -> Numbers {
        *self.oldest.lock()
    }

    /// Whether the transaction's sequence number is below `snapshot`, or forgotten.
    #[inline]
    pub(crate) fn committed_before(&self, id: TrxId, snapshot: u64) -> bool {
        self.map.get(id.0).is_none_or(|seq| seq < snapshot)
    }

    /// Whether the id is given and not published.
    #[inline]
    pub(crate) fn is_active(&self, id: TrxId) -> bool {
        id >= self.min_active() && self.map.get(id.0) == Some(ACTIVE)
    }

    /// Ids below are published.
    #[inline]
    pub(crate) fn min_active(&self) -> TrxId {
        TrxId(self.limits.min_active.load(Ordering::Acquire))
    }

    /// The next id or number.
    pub(crate) fn next(&self) -> TrxId {
        TrxId(self.limits.next.load(Ordering::Acquire))
    }

    /// Removes from the map what no view of `all` and none to come will look up. Nothing if another thread is at it.
    pub(crate) fn forget(&self, all: impl FnOnce(&mut dyn FnMut(&ViewNumbers))) {
        let Some(mut forgetting) = self.forgetting.try_lock() else { return };
        let Forgetting { retained, views, forgotten } = &mut *forgetting;
        retained.append(&mut self.queue.lock().published);
        fence(Ordering::SeqCst);
        views.clear();
        all(&mut |view| views.extend(view.needs()));
        views.sort_unstable();
        let mut greatest = 0;
        for (_, low_limit) in views.iter_mut() {
            greatest = greatest.max(*low_limit);
            *low_limit = greatest;
        }
        retained.retain(|&(id, seq)| {
            let at_or_below = views.partition_point(|(snapshot, _)| *snapshot <= seq);
            let needed = at_or_below > 0 && id < views[at_or_below - 1].1;
            if !needed {
                self.map.forget(id);
                *forgotten += 1;
            }
            needed
        });
    }

    /// Counters: entries forgotten, retained for views, beside the ring.
    pub(crate) fn forgetting_stats(&self) -> (u64, usize, usize) {
        let forgetting = self.forgetting.lock();
        (forgetting.forgotten, forgetting.retained.len(), self.map.beside())
    }

    /// Active transactions that have an id.
    pub(crate) fn n_active(&self) -> usize {
        self.queue.lock().ids.len()
    }

    /// Runs `f` while nobody can begin or commit.
    #[cfg(test)]
    pub(crate) fn with_mutex_held(&self, f: impl FnOnce()) {
        let _held = (self.queue.lock(), self.forgetting.lock());
        f();
    }
}
