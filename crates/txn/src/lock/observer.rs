//! Locks follow their records: what the trees tell of structure changes.
//!
//! # Latching
//! Called with page latches held; takes mutexes of the lock manager, wakes waiters, waits for nothing.

use super::LockSys;
use super::moves::{Inherit, Relocation, merge, split_right};
use super::page_locks::PageLocks;
use vaquita_base::{HeapNo, PageId};
use vaquita_btree::Observer;
use vaquita_btree::observer::{INFIMUM, Moved, SUPREMUM};

impl Observer for LockSys {
    fn is_interested(&self) -> bool {
        self.pages.structs() != 0
    }

    fn reorganized(&self, page: PageId, moved: Moved<'_>) {
        self.pages.change(page, |locks| locks.relocate(page, &Relocation::new(moved)));
    }

    fn split_right(&self, left: PageId, right: PageId, moved: Moved<'_>) {
        self.pages.change_two(left, right, |l, r| split_right((left, right), l, r, moved));
    }

    fn split_left(&self, left: PageId, right: PageId, first: HeapNo) {
        self.pages
            .change_two(left, right, |l, r| l.bequeath(left, SUPREMUM, r.heritage(first, Inherit::Gap)));
    }

    fn merged(&self, left: PageId, right: PageId, _: HeapNo, moved: Moved<'_>) {
        self.pages.change_two(left, right, |l, r| merge((left, right), l, r, moved));
    }

    fn root_raised(&self, root: PageId, child: PageId, moved: Moved<'_>) {
        let moved = Relocation::new(moved).with(SUPREMUM, SUPREMUM);
        self.pages.change_two(root, child, |from, to| {
            from.transfer(child, to, &moved);
            from.abandon();
        });
    }

    fn root_lifted(&self, root: PageId, child: PageId, moved: Moved<'_>) {
        let moved = Relocation::new(moved).with(SUPREMUM, SUPREMUM);
        self.pages.change_two(child, root, |from, to| {
            from.transfer(root, to, &moved);
            from.abandon();
        });
    }

    fn discarded(&self, page: PageId, heirs: &[(PageId, HeapNo)]) {
        for &(heir, next) in heirs {
            self.pages.change_two(page, heir, |from, to| {
                to.bequeath(heir, next, from.heritage(SUPREMUM, Inherit::Gap));
            });
        }
        self.pages.change(page, PageLocks::abandon);
    }

    fn inserted(&self, page: PageId, rec: HeapNo, next: HeapNo) {
        self.pages.change(page, |locks| {
            let heritage = locks.heritage(next, Inherit::Gap);
            locks.bequeath(page, rec, heritage);
        });
    }

    fn set_aside(&self, page: PageId, rec: HeapNo) {
        // The infimum is never locked, so its place is free. The page stays latched until the record is back.
        self.pages.change(page, |locks| locks.relocate(page, &Relocation::one(rec, INFIMUM)));
    }

    fn put_back(&self, page: PageId, rec: HeapNo, from: PageId) {
        let back = Relocation::one(INFIMUM, rec);
        if page == from {
            self.pages.change(page, |locks| locks.relocate(page, &back));
        } else {
            self.pages.change_two(from, page, |aside, locks| aside.transfer(page, locks, &back));
        }
    }

    fn removing(&self, page: PageId, rec: HeapNo, next: HeapNo) {
        self.pages.change(page, |locks| {
            let heritage = locks.heritage(rec, Inherit::All);
            locks.bequeath(page, next, heritage);
            locks.wipe(page, rec);
        });
    }
}
