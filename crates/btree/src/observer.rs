//! Being told of structure changes: whoever keeps something by page and heap number (the lock manager) moves it here.

use smallvec::SmallVec;
use vaquita_base::{HeapNo, PageId};

/// Heap number of the infimum.
pub const INFIMUM: HeapNo = HeapNo(0);
/// Heap number of the supremum.
pub const SUPREMUM: HeapNo = HeapNo(1);

/// Records that moved: heap number before, heap number after, in key order.
pub type Moved<'a> = &'a [(HeapNo, HeapNo)];

/// Hears of every change of a leaf page that gives records another place or another neighbour.
///
/// # Latching
/// Called with the pages concerned latched exclusively, after the last step of the operation that can fail and
/// before the mini-transaction ends. Implementations take mutexes of their own only: no latch, no I/O, no waiting
/// for locks.
pub trait Observer: Send + Sync + std::fmt::Debug {
    /// Whether the tree has to collect what the other functions are told. Asked once per operation.
    fn is_interested(&self) -> bool {
        true
    }

    /// A page was rebuilt; its records have other heap numbers.
    fn reorganized(&self, page: PageId, moved: Moved<'_>) {
        let _ = (page, moved);
    }

    /// The upper records of `left` moved to `right`, a new page behind it. With nothing moved, `right` was made for
    /// a record to be inserted behind the last one.
    fn split_right(&self, left: PageId, right: PageId, moved: Moved<'_>) {
        let _ = (left, right, moved);
    }

    /// `left`, a new page, was put in front of `right` for a record to be inserted before the first one, `first`.
    fn split_left(&self, left: PageId, right: PageId, first: HeapNo) {
        let _ = (left, right, first);
    }

    /// All records of `right` moved behind those of `left`, and `right` is gone. `left_last` is the heap number of
    /// the last record that `left` had, or of its infimum.
    fn merged(&self, left: PageId, right: PageId, left_last: HeapNo, moved: Moved<'_>) {
        let _ = (left, right, left_last, moved);
    }

    /// The root's records moved to `child`; the root is no leaf any more.
    fn root_raised(&self, root: PageId, child: PageId, moved: Moved<'_>) {
        let _ = (root, child, moved);
    }

    /// The records of `child`, the only leaf, moved to the root; `child` is gone.
    fn root_lifted(&self, root: PageId, child: PageId, moved: Moved<'_>) {
        let _ = (root, child, moved);
    }

    /// `page` is gone; it had no records. Its gap became part of the gap in front of `heirs`: the supremum of the page
    /// before and the first record of the page behind, either of which keys of the gap may belong to from here on, or of
    /// the root's supremum if there is no other page.
    fn discarded(&self, page: PageId, heirs: &[(PageId, HeapNo)]) {
        let _ = (page, heirs);
    }

    /// A record was inserted in front of `next`.
    fn inserted(&self, page: PageId, rec: HeapNo, next: HeapNo) {
        let _ = (page, rec, next);
    }

    /// A record is taken off its page to come back changed, with the same key: what belongs to it is to be kept until
    /// [`Observer::put_back`] says where it went. Other changes may be told in between.
    fn set_aside(&self, page: PageId, rec: HeapNo) {
        let _ = (page, rec);
    }

    /// The record set aside from the page `from` is back.
    fn put_back(&self, page: PageId, rec: HeapNo, from: PageId) {
        let _ = (page, rec, from);
    }

    /// The record `rec` in front of `next` is about to be removed. Called before the structure changes that the
    /// removal brings.
    fn removing(&self, page: PageId, rec: HeapNo, next: HeapNo) {
        let _ = (page, rec, next);
    }
}

/// Something that happened, to be told when nothing can fail any more.
#[derive(Debug)]
pub(crate) enum Event {
    Reorganized { page: PageId, moved: Vec<(HeapNo, HeapNo)> },
    SplitRight { left: PageId, right: PageId, moved: Vec<(HeapNo, HeapNo)> },
    SplitLeft { left: PageId, right: PageId, first: HeapNo },
    Merged { left: PageId, right: PageId, left_last: HeapNo, moved: Vec<(HeapNo, HeapNo)> },
    RootRaised { root: PageId, child: PageId, moved: Vec<(HeapNo, HeapNo)> },
    RootLifted { root: PageId, child: PageId, moved: Vec<(HeapNo, HeapNo)> },
    Discarded { page: PageId, heirs: Vec<(PageId, HeapNo)> },
    Inserted { page: PageId, rec: HeapNo, next: HeapNo },
    SetAside { page: PageId, rec: HeapNo },
    PutBack { page: PageId, rec: HeapNo, from: PageId },
    Removing { page: PageId, rec: HeapNo, next: HeapNo },
}

/// The events of one operation, in order; empty if nobody listens.
#[derive(Debug)]
pub(crate) struct Events<'o> {
    observer: Option<&'o dyn Observer>,
    list: SmallVec<[Event; 2]>,
}

impl<'o> Events<'o> {
    pub(crate) fn new(observer: Option<&'o dyn Observer>) -> Self {
        Self { observer: observer.filter(|o| o.is_interested()), list: SmallVec::new() }
    }

    /// Whether anybody listens.
    #[inline]
    pub(crate) fn wanted(&self) -> bool {
        self.observer.is_some()
    }

    #[inline]
    pub(crate) fn push(&mut self, event: Event) {
        if self.wanted() {
            self.list.push(event);
        }
    }

    /// Tells everything.
    pub(crate) fn deliver(self) {
        let Some(observer) = self.observer else { return };
        for event in self.list {
            match event {
                Event::Reorganized { page, moved } => observer.reorganized(page, &moved),
                Event::SplitRight { left, right, moved } => observer.split_right(left, right, &moved),
                Event::SplitLeft { left, right, first } => observer.split_left(left, right, first),
                Event::Merged { left, right, left_last, moved } => {
                    observer.merged(left, right, left_last, &moved);
                }
                Event::RootRaised { root, child, moved } => observer.root_raised(root, child, &moved),
                Event::RootLifted { root, child, moved } => observer.root_lifted(root, child, &moved),
                Event::Discarded { page, heirs } => observer.discarded(page, &heirs),
                Event::Inserted { page, rec, next } => observer.inserted(page, rec, next),
                Event::SetAside { page, rec } => observer.set_aside(page, rec),
                Event::PutBack { page, rec, from } => observer.put_back(page, rec, from),
                Event::Removing { page, rec, next } => observer.removing(page, rec, next),
            }
        }
    }
}
