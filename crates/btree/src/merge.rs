//! Merges: an underfull page and a neighbour under the same parent become one, if they fit.
//!
//! The right page of the two goes: its records move behind those of the left one, and the pointer to it is taken out
//! of the parent, where it is never the first. So no key in the pages above has to change. The parent may then be
//! underfull itself. A root with a single child takes over the child's records and the tree is a level lower.
//!
//! A leaf that becomes empty and is the only child of its parent has no such neighbour. It goes with all pages above
//! it that have no other child (the *branch*); if their pointer was the first one of its page, the least key of that
//! page changes, and with it the pointer to the page, upwards as far as pointers are first. A new pointer may be
//! longer than the old one and may split pages. It is rare, and done with all pages from the root on latched.
//!
//! # Crash
//! All of it is one mini-transaction.

use crate::error::Result;
use crate::observer::{Event, Events, SUPREMUM};
use crate::ops;
use crate::path::{Path, is_underfull};
use crate::probe::child_no;
use crate::rec_buf::RecBuf;
use crate::tree::Tree;
use vaquita_format::fil::{self, PageType};
use vaquita_format::index_page::header::{self, LEVEL, infimum, n_recs, supremum};
use vaquita_format::index_page::{self, data_size};
use vaquita_format::record::RecSize;
use vaquita_storage::fsp;
use vaquita_storage::{Mtr, PageRef};

impl Tree {
    /// Merges the page of a level, from which something was removed, if it is underfull and what is held allows it; then
    /// goes on with its parent.
    pub(crate) fn rebalance(
        &self,
        mtr: &mut Mtr<'_>,
        path: &mut Path,
        level: usize,
        events: &mut Events<'_>,
    ) -> Result<()> {
        let Some(at) = path.levels.get(level).copied() else { return Ok(()) };
        if mtr.id(at.page).page_no == self.root {
            return self.lift(mtr, at.page, events);
        }
        let bytes = mtr.page(at.page);
        let Some(parent) = path.parent_of(level) else { return Ok(()) };
        if n_recs(bytes) > 0 && !is_underfull(bytes.len(), data_size(bytes)) {
            return Ok(());
        }
        let pointers = mtr.page(parent.page);
        let first = self.checked_in(mtr, parent.page, index_page::first_rec(pointers))?;
        let behind = self.checked_in(mtr, parent.page, index_page::next_rec(pointers, parent.ptr))?;
        let is_last = behind == supremum(self.index.layout().comp());
        if let Some(left) = at.left.filter(|_| parent.ptr != first)
            && ops::can_take(&self.index, mtr.page(left), bytes)
        {
            self.merge(mtr, left, at.page, at.right, events)?;
            ops::delete(mtr, parent.page, &self.index, parent.ptr)?;
            path.levels[level].page = left;
        } else if let Some(right) = at.right.filter(|_| !is_last)
            && (at.far.is_some() || fil::next(mtr.page(right)).is_null())
            && ops::can_take(&self.index, bytes, mtr.page(right))
        {
            self.merge(mtr, at.page, right, at.far, events)?;
            ops::delete(mtr, parent.page, &self.index, behind)?;
        } else {
            return Ok(());
        }
        self.rebalance(mtr, path, level + 1, events)
    }

    /// Moves the records of `right` behind those of `left` and frees `right`, behind which is `far`.
    fn merge(
        &self,
        mtr: &mut Mtr<'_>,
        left: PageRef,
        right: PageRef,
        far: Option<PageRef>,
        events: &mut Events<'_>,
    ) -> Result<()> {
        self.stats().merges.add(1);
        let index = &self.index;
        let from = mtr.page(right).to_vec();
        let (level, right_id) = (header::level(&from), mtr.id(right));
        debug_assert_ne!(left, right, "page {right_id} is merged with itself");
        debug_assert_eq!(header::level(mtr.page(left)), level, "pages of two levels are merged");
        debug_assert_eq!(fil::next(mtr.page(left)), right_id.page_no, "pages that are merged are neighbours");
        debug_assert_eq!(
            far.map(|far| mtr.id(far).page_no),
            fil::next(&from).some(),
            "the page behind page {right_id}, whose link changes, is held"
        );
        let first = self.checked_in(mtr, right, index_page::first_rec(&from))?;
        let tell = events.wanted() && level == 0;
        let old =
            if tell { self.checked_in(mtr, right, ops::heap_numbers(&from, first))? } else { Vec::new() };
        let n_left = usize::from(n_recs(mtr.page(left)));
        if n_left == 0 {
            ops::copy_list_end(mtr, left, index, &from, first)?;
        } else {
            if index_page::max_insert_size(mtr.page(left), n_recs(&from).into()) < data_size(&from) {
                self.reorganize(mtr, left, events)?;
            }
            self.append_records(mtr, left, &from)?;
        }
        let n_both = usize::from(n_recs(mtr.page(left)));
        if n_both != n_left + usize::from(n_recs(&from)) {
            let detail = format!("{n_left} and {} are {n_both}", n_recs(&from));
            return Err(ops::bad(right_id, index, "number of records of merged pages", detail));
        }
        ops::raise_max_trx_id(mtr, left, ops::max_trx_id(index, &from));
        let next = fil::next(&from);
        ops::set_next(mtr, left, next);
        if let Some(far) = far {
            ops::set_prev(mtr, far, mtr.id(left).page_no);
        }
        if tell {
            let bytes = mtr.page(left);
            let last = self.checked_in(mtr, left, ops::nth(bytes, n_left))?;
            let first = self.checked_in(mtr, left, index_page::next_rec(bytes, last))?;
            let new = self.checked_in(mtr, left, ops::heap_numbers(bytes, first))?;
            events.push(Event::Merged {
                left: mtr.id(left),
                right: right_id,
                left_last: ops::heap_no_of(bytes, last),
                moved: old.into_iter().zip(new).collect(),
            });
        }
        self.free_held(mtr, right, level)?;
        // After page 0 was latched, see `free_bits`.
        self.lower_free_bits(mtr, left)
    }

    /// Frees a page that is held and out of all chains. It is marked, so that whoever latches it by a link he read before
    /// sees that it is none of the tree's any more, and waits for nothing while holding it.
    fn free_held(&self, mtr: &mut Mtr<'_>, page: PageRef, level: u16) -> Result<()> {
        if mtr.id(page).page_no == self.root {
            return Err(ops::bad(mtr.id(page), &self.index, "page to be freed", "it is the root"));
        }
        debug_assert!(mtr.is_exclusive(page), "page {} is freed and held shared", mtr.id(page));
        mtr.write_u16(page, fil::TYPE, PageType::Allocated.as_u16());
        fsp::free_page(mtr, self.segment_of_level(level), mtr.id(page).page_no)?;
        Ok(())
    }

    /// Inserts copies of the records of another page behind the last one.
    fn append_records(&self, mtr: &mut Mtr<'_>, page: PageRef, from: &[u8]) -> Result<()> {
        let index = &self.index;
        let mut low = self.checked_in(mtr, page, index_page::last_rec(mtr.page(page)))?;
        for rec in index_page::records(from) {
            let rec = self.checked_in(mtr, page, rec)?;
            let size = self.checked_in(mtr, page, RecSize::of(from, rec, index.layout()))?;
            let start = usize::from(rec) - size.extra;
            let bytes = &from[start..start + size.total()];
            let done = ops::insert(mtr, page, index, low, bytes, size.extra)?;
            low = done.ok_or_else(|| ops::bad(mtr.id(page), index, "records to merge", "they do not fit"))?;
        }
        Ok(())
    }

    /// While the root has a single child that is held, takes over the child's records.
    fn lift(&self, mtr: &mut Mtr<'_>, root: PageRef, events: &mut Events<'_>) -> Result<()> {
        let index = &self.index;
        loop {
            let bytes = mtr.page(root);
            let level = header::level(bytes);
            if level == 0 || n_recs(bytes) != 1 {
                return Ok(());
            }
            let ptr = self.checked_in(mtr, root, index_page::first_rec(bytes))?;
            let child_no = self.checked_in(mtr, root, child_no(index, bytes, ptr))?;
            let Some(child) = mtr.find(self.page_id(child_no)).filter(|&c| mtr.is_exclusive(c)) else {
                return Ok(());
            };
            let from = mtr.page(child).to_vec();
            let alone = fil::prev(&from).is_null() && fil::next(&from).is_null();
            if header::level(&from) + 1 != level || !alone {
                return Err(ops::bad(mtr.id(child), index, "only child of a root", "it has siblings"));
            }
            self.stats().root_lifts.add(1);
            let first = self.checked_in(mtr, child, index_page::first_rec(&from))?;
            ops::create(mtr, root, index);
            mtr.write_u16(root, LEVEL, level - 1);
            ops::copy_list_end(mtr, root, index, &from, first)?;
            ops::raise_max_trx_id(mtr, root, ops::max_trx_id(index, &from));
            if events.wanted() && level == 1 {
                let old = self.checked_in(mtr, child, ops::heap_numbers(&from, first))?;
                let moved = old.into_iter().zip(self.heap_numbers(mtr, root)?).collect();
                let (root, child) = (mtr.id(root), mtr.id(child));
                events.push(Event::RootLifted { root, child, moved });
            }
            self.free_held(mtr, child, level - 1)?;
            self.lower_free_bits(mtr, root)?;
        }
    }

    /// Takes out a leaf whose last record is to be removed, and the pages above that have no other child. All pages of
    /// the path are held, with their neighbours.
    pub(crate) fn discard_branch(
        &self,
        mtr: &mut Mtr<'_>,
        path: &mut Path,
        events: &mut Events<'_>,
    ) -> Result<()> {
        self.stats().discards.add(1);
        let root = path.levels.last().map(|l| l.page).filter(|&p| mtr.id(p).page_no == self.root);
        let Some(root) = root else {
            let id = self.page_id(self.root);
            return Err(ops::bad(id, &self.index, "path of a removal", "the root is not held"));
        };
        debug_assert!(self.has_reserved(mtr), "a branch is discarded before space is reserved");
        let leaf = path.levels[0];
        debug_assert_eq!(n_recs(mtr.page(leaf.page)), 1, "a leaf goes with its last record");
        if events.wanted() {
            let mut heirs = Vec::new();
            heirs.extend(leaf.left.map(|left| (mtr.id(left), SUPREMUM)));
            if let Some(right) = leaf.right {
                heirs.push((mtr.id(right), self.first_heap_no(mtr, right)?));
            }
            if heirs.is_empty() {
                heirs.push((mtr.id(root), SUPREMUM));
            }
            events.push(Event::Discarded { page: mtr.id(leaf.page), heirs });
        }
        let stump = (1..path.levels.len()).find(|&l| n_recs(mtr.page(path.levels[l].page)) > 1);
        for level in 0..stump.unwrap_or(path.levels.len() - 1) {
            self.unlink(mtr, path, level)?;
        }
        let Some(stump) = stump else {
            ops::create(mtr, root, &self.index);
            mtr.write_u16(root, LEVEL, 0);
            return Ok(());
        };
        let at = path.levels[stump];
        let bytes = mtr.page(at.page);
        let was_first = self.checked_in(mtr, at.page, index_page::first_rec(bytes))? == at.ptr;
        let is_leftmost = fil::prev(bytes).is_null();
        ops::delete(mtr, at.page, &self.index, at.ptr)?;
        if was_first {
            if is_leftmost {
                let first = index_page::first_rec(mtr.page(at.page));
                let first = self.checked_in(mtr, at.page, first)?;
                ops::set_min_rec_mark(mtr, at.page, &self.index, first)?;
            } else {
                // The pages above may have been split: what is underfull now is left for later.
                return self.change_least_key(mtr, path, stump, events);
            }
        }
        self.rebalance(mtr, path, stump, events)
    }

    /// Takes the page of a level out of its sibling chain and frees it.
    fn unlink(&self, mtr: &mut Mtr<'_>, path: &Path, level: usize) -> Result<()> {
        let at = path.levels[level];
        let bytes = mtr.page(at.page);
        let (prev, next) = (fil::prev(bytes), fil::next(bytes));
        let id = mtr.id(at.page);
        if at.left.is_none() != prev.is_null() || at.right.is_none() != next.is_null() {
            return Err(ops::bad(id, &self.index, "path of a removal", "a neighbour is not held"));
        }
        if let Some(left) = at.left {
            ops::set_next(mtr, left, next);
        }
        if let Some(right) = at.right {
            ops::set_prev(mtr, right, prev);
            if at.left.is_none() && level > 0 {
                let first = index_page::first_rec(mtr.page(right));
                let first = self.checked_in(mtr, right, first)?;
                ops::set_min_rec_mark(mtr, right, &self.index, first)?;
            }
        }
        self.free_held(mtr, at.page, level as u16)
    }

    /// Gives the pointers to the page of a level, on all levels above where it is the first one and where that ends, the
    /// key of the page's first record.
    fn change_least_key(
        &self,
        mtr: &mut Mtr<'_>,
        path: &mut Path,
        level: usize,
        events: &mut Events<'_>,
    ) -> Result<()> {
        let mut top = level + 1;
        while let Some(at) = path.levels.get(top)
            && self.checked_in(mtr, at.page, index_page::first_rec(mtr.page(at.page)))? == at.ptr
        {
            top += 1;
        }
        let page = path.levels[level].page;
        let first = self.checked_in(mtr, page, index_page::first_rec(mtr.page(page)))?;
        // From above: where a page is split for a longer key, its pointer is right already.
        for l in (level + 1..=top).rev() {
            let Some(at) = path.levels.get(l).copied() else {
                return Err(ops::bad(mtr.id(page), &self.index, "path of a removal", "it ends too low"));
            };
            let child = mtr.id(path.levels[l - 1].page).page_no;
            let ptr = RecBuf::node_ptr(&self.index, mtr.page(page), first, 0, child);
            let ptr = self.checked_in(mtr, page, ptr)?;
            let low = self.pointer_out(mtr, at.page, at.ptr)?;
            let (held, rec) = self.insert_splitting(mtr, path, l, low, &ptr, false, events)?;
            (path.levels[l].page, path.levels[l].ptr) = (held, rec);
        }
        Ok(())
    }

    /// Removes a node pointer; the record before it.
    fn pointer_out(&self, mtr: &mut Mtr<'_>, page: PageRef, ptr: u16) -> Result<u16> {
        let low = self.checked_in(mtr, page, index_page::prev_rec(mtr.page(page), ptr))?;
        ops::delete(mtr, page, &self.index, ptr)?;
        if n_recs(mtr.page(page)) == 0 { Ok(infimum(self.index.layout().comp())) } else { Ok(low) }
    }
}
