//! Splits: a page that cannot take a record hands its upper records to a new page behind it.
//!
//! Where a page is cut depends on the inserts it has seen:
//!
//! | pattern | cut | so that |
//! |---|---|---|
//! | the record goes behind the one inserted last, at the end of the page | the new page gets the record alone | ascending inserts fill pages |
//! | the same, within the page | behind the record | the run goes on at the end of the lower page |
//! | the record goes before the one inserted last, at the start of a leaf | a new page *in front* gets the record alone | descending inserts fill pages |
//! | the same, within the page | before the record | the run goes on at the end of the lower page |
//! | other | in the middle, by bytes | both can grow |
//!
//! A cut at the place of the record itself is always possible, as no record is larger than half a page. A leaf of a
//! clustered index keeps a sixteenth free when inserts ascend or descend, for its records to grow.
//!
//! The root is raised instead: its records move to a new page below it, which is then split. So the root stays
//! where it is.
//!
//! # Crash
//! All of it is one mini-transaction.

use crate::error::{PageResult, Result};
use crate::observer::{Event, Events};
use crate::ops;
use crate::path::{Level, Path};
use crate::rec_buf::RecBuf;
use crate::tree::Tree;
use vaquita_base::PageNo;
use vaquita_format::index_def::IndexDef;
use vaquita_format::index_page::header::{self, LEVEL, infimum, last_insert, n_recs};
use vaquita_format::index_page::{self, max_insert_size_after_reorganize};
use vaquita_format::record::header::INFO_MIN_REC;
use vaquita_format::record::{CHILD_LEN, RecSize};
use vaquita_format::{Corruption, fil};
use vaquita_storage::fsp::{self, Direction, Reservation};
use vaquita_storage::{Mtr, PageRef};

/// Extents reserved before a structure change.
const EXTENTS_FOR_SPLIT: u32 = 3;
/// One part in this many of a clustered leaf stays free during ascending or descending inserts.
const RESERVE_PART: usize = 16;

/// Where a page is cut. Records are counted in key order, the one to be inserted not included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SplitPlan {
    /// Records that stay in the lower page.
    at: usize,
    /// Records before the one to be inserted.
    pos: usize,
    /// Whether that goes to the lower page.
    rec_is_lower: bool,
    /// The new page is the lower one, and gets the record alone.
    left: bool,
}

impl SplitPlan {
    /// Whether one of the two pages would get nothing, of `n` records and the one to be inserted.
    fn leaves_a_page_empty(&self, n: usize) -> bool {
        let new = usize::from(self.rec_is_lower);
        let lower = if self.left { new } else { self.at + new };
        lower == 0 || lower == n + 1
    }

    /// The pointer to the upper page, for the parent. `page` is the page before the split.
    pub(crate) fn separator(
        &self,
        index: &IndexDef,
        page: &[u8],
        rec: &RecBuf,
        upper: PageNo,
    ) -> PageResult<RecBuf> {
        if !self.rec_is_lower && self.pos == self.at {
            let (page, rec) = rec.as_page();
            return RecBuf::node_ptr(index, &page, rec, 0, upper);
        }
        RecBuf::node_ptr(index, page, ops::nth(page, self.at + 1)?, 0, upper)
    }
}

/// Whether the record would use what sequential inserts are to leave free.
pub(crate) fn eats_reserve(index: &IndexDef, page: &[u8], len: usize) -> bool {
    header::is_leaf(page)
        && index.is_clustered()
        && n_recs(page) >= 2
        && max_insert_size_after_reorganize(page, 1) < len + page.len() / RESERVE_PART
}

/// Whether a record after `low` goes on with a run of ascending or descending inserts.
fn is_sequential(page: &[u8], low: u16) -> bool {
    let last = last_insert(page);
    last != 0 && (last == low || index_page::next_rec(page, low).is_ok_and(|up| up == last))
}

/// Whether the page has to be split for a record of `len` bytes after `low`. `reserve` says whether the reserve of
/// sequential inserts counts.
pub(crate) fn is_due(index: &IndexDef, page: &[u8], low: u16, len: usize, reserve: bool) -> bool {
    !ops::fits(page, len) || reserve && eats_reserve(index, page, len) && is_sequential(page, low)
}

/// Chooses the cut for a record of `len` bytes after `low`. `left_ok`: a page may be put in front.
///
/// # Errors
/// If the page is damaged.
pub(crate) fn choose(
    index: &IndexDef,
    page: &[u8],
    low: u16,
    len: usize,
    left_ok: bool,
) -> PageResult<SplitPlan> {
    let recs = ops::record_sizes(index, page)?;
    let pos = ops::ordinal(page, low)?;
    let plan = cut(index, page, &recs, (low, pos), len, left_ok)?;
    debug_assert!(!plan.leaves_a_page_empty(recs.len()), "{plan:?} of {} records", recs.len());
    Ok(plan)
}

/// Where a page of these records, with their sizes, is cut for a record after `low`, the `pos`-th of them.
fn cut(
    index: &IndexDef,
    page: &[u8],
    recs: &[(u16, usize)],
    (low, pos): (u16, usize),
    len: usize,
    left_ok: bool,
) -> PageResult<SplitPlan> {
    let n = recs.len();
    let total: usize = recs.iter().map(|r| r.1).sum();
    let before: usize = recs[..pos].iter().map(|r| r.1).sum();
    let fit = |bytes: usize, n: usize| ops::fit_together(index, page.len(), bytes, n);
    let plan = |at: usize, rec_is_lower: bool| SplitPlan { at, pos, rec_is_lower, left: false };
    let last = last_insert(page);
    if last != 0 && last == low {
        if pos == n {
            return Ok(plan(n, false));
        }
        if fit(before + len, pos + 1) {
            return Ok(plan(pos, true));
        }
    } else if last != 0 && recs.get(pos).is_some_and(|up| up.0 == last) {
        if pos == 0 && left_ok {
            return Ok(SplitPlan { left: true, ..plan(0, true) });
        }
        if pos == 0 {
            return Ok(plan(0, true));
        }
        if fit(total - before + len, n - pos + 1) {
            return Ok(plan(pos, false));
        }
    }
    // The middle, counting the record as one of the page's.
    let mut best: Option<(usize, SplitPlan)> = None;
    let (mut bytes, mut old) = (0, 0);
    for k in 1..=n {
        let is_rec = k == pos + 1;
        bytes += if is_rec { len } else { recs[old].1 };
        old += usize::from(!is_rec);
        let off_centre = (2 * bytes).abs_diff(total + len);
        let better = best.is_none_or(|(least, _)| off_centre < least);
        if better && fit(bytes, k) && fit(total + len - bytes, n + 1 - k) {
            best = Some((off_centre, plan(old, k > pos)));
        }
    }
    best.map(|(_, plan)| plan).ok_or_else(|| {
        Corruption::new("records of a page", format!("{n} of {total} bytes cannot be divided"))
    })
}

impl Tree {
    /// Makes sure of the space a structure change may need, before its first change.
    pub(crate) fn reserve(&self, mtr: &mut Mtr<'_>, kind: Reservation) -> Result<()> {
        fsp::reserve_free_extents(mtr, self.space, EXTENTS_FOR_SPLIT, kind)?;
        Ok(())
    }

    /// Inserts a record after `low` in the page of a level, splitting pages as need be. The path holds what is needed
    /// for it, and space is reserved. Returns where the record is; the path's page is that one then.
    #[expect(clippy::too_many_arguments, reason = "place, record and context of one recursion")]
    pub(crate) fn insert_splitting(
        &self,
        mtr: &mut Mtr<'_>,
        path: &mut Path,
        level: usize,
        low: u16,
        rec: &RecBuf,
        reserve: bool,
        events: &mut Events<'_>,
    ) -> Result<(PageRef, u16)> {
        let Some(at) = path.levels.get(level).copied() else {
            let detail = format!("nothing is held of level {level}");
            return Err(ops::bad(self.page_id(self.root), &self.index, "path of a split", detail));
        };
        let before = mtr.page(at.page);
        if !is_due(&self.index, before, low, rec.len(), reserve) {
            return Ok((at.page, self.insert_fitting(mtr, at.page, low, rec, events)?));
        }
        debug_assert!(self.has_reserved(mtr), "a page of level {level} is split before space is reserved");
        let before = before.to_vec();
        let plan = choose(&self.index, &before, low, rec.len(), self.can_split_left(&before, &at));
        let plan = self.checked_in(mtr, at.page, plan)?;
        if mtr.id(at.page).page_no == self.root {
            self.raise_root(mtr, path, low, events)?;
        }
        self.stats().splits.add(1);
        let at = path.levels[level];
        debug_assert_ne!(
            mtr.id(at.page).page_no,
            self.root,
            "the root stays where it is: it is raised, not split"
        );
        let new = if plan.left {
            self.split_left(mtr, &at, events)?
        } else {
            self.split_right(mtr, &at, &plan, events)?
        };
        let (lower, upper) = if plan.left { (new, at.page) } else { (at.page, new) };
        let separator = plan.separator(&self.index, &before, rec, mtr.id(upper).page_no);
        let separator = self.checked_in(mtr, at.page, separator)?;
        let Some(parent) = path.parent_of(level) else {
            return Err(ops::bad(mtr.id(at.page), &self.index, "path of a split", "no parent is held"));
        };
        if plan.left {
            self.redirect(mtr, parent.page, parent.ptr, mtr.id(new).page_no)?;
        }
        let pointer = self.insert_splitting(mtr, path, level + 1, parent.ptr, &separator, false, events)?;
        self.follow_split(mtr, path, level, (lower, upper), plan.rec_is_lower, pointer)?;

        let page = path.levels[level].page;
        let low = if plan.rec_is_lower { plan.pos } else { plan.pos - plan.at };
        let low = self.checked_in(mtr, page, ops::nth(mtr.page(page), low))?;
        Ok((page, self.insert_fitting(mtr, page, low, rec, events)?))
    }

    /// Brings the path to the one of two halves that the record goes to, and to the pointer to that half. `pointer` is
    /// where the pointer to the upper half came to.
    fn follow_split(
        &self,
        mtr: &Mtr<'_>,
        path: &mut Path,
        level: usize,
        (lower, upper): (PageRef, PageRef),
        to_lower: bool,
        pointer: (PageRef, u16),
    ) -> Result<()> {
        let at = path.levels[level];
        debug_assert!(level + 1 < path.levels.len(), "a page that is split has a parent on its path");
        path.levels[level] = if to_lower {
            Level { page: lower, ptr: at.ptr, left: at.left, right: Some(upper), far: at.right }
        } else {
            Level { page: upper, ptr: at.ptr, left: Some(lower), right: at.right, far: at.far }
        };
        let above = &mut path.levels[level + 1];
        (above.page, above.ptr) = pointer;
        if to_lower {
            let before = index_page::prev_rec(mtr.page(pointer.0), pointer.1);
            above.ptr = self.checked_in(mtr, pointer.0, before)?;
            // The pointer to the upper half may have become the first one of its page.
            if above.ptr == infimum(self.index.layout().comp())
                && let Some(left) = above.left
            {
                let last = index_page::last_rec(mtr.page(left));
                let ptr = self.checked_in(mtr, left, last)?;
                *above = Level { page: left, ptr, left: None, right: Some(pointer.0), far: above.right };
            }
        }
        Ok(())
    }

    /// Inserts a record that fits, after reorganising the page if it is fragmented.
    pub(crate) fn insert_fitting(
        &self,
        mtr: &mut Mtr<'_>,
        page: PageRef,
        low: u16,
        rec: &RecBuf,
        events: &mut Events<'_>,
    ) -> Result<u16> {
        let bits = self.bits_after_insert(mtr, page, rec.len())?;
        let origin = self.insert_or_reorganize(mtr, page, low, rec, events)?;
        if let Some(bits) = bits {
            bits.make(mtr);
        }
        Ok(origin)
    }

    fn insert_or_reorganize(
        &self,
        mtr: &mut Mtr<'_>,
        page: PageRef,
        low: u16,
        rec: &RecBuf,
        events: &mut Events<'_>,
    ) -> Result<u16> {
        let index = &self.index;
        if let Some(rec) = ops::insert(mtr, page, index, low, rec.bytes(), rec.extra())? {
            return Ok(rec);
        }
        ops::keep_before_images(mtr);
        let pos = self.checked_in(mtr, page, ops::ordinal(mtr.page(page), low))?;
        self.reorganize(mtr, page, events)?;
        let low = self.checked_in(mtr, page, ops::nth(mtr.page(page), pos))?;
        let done = ops::insert(mtr, page, index, low, rec.bytes(), rec.extra())?;
        done.ok_or_else(|| {
            ops::bad(mtr.id(page), index, "free space of a page", format!("{} bytes do not fit", rec.len()))
        })
    }

    /// Rebuilds a page without garbage.
    pub(crate) fn reorganize(&self, mtr: &mut Mtr<'_>, page: PageRef, events: &mut Events<'_>) -> Result<()> {
        self.stats().reorganizes.add(1);
        let tell = events.wanted() && header::is_leaf(mtr.page(page));
        let before = if tell { self.heap_numbers(mtr, page)? } else { Vec::new() };
        ops::reorganize(mtr, page, &self.index)?;
        if tell {
            let moved = before.into_iter().zip(self.heap_numbers(mtr, page)?).collect();
            events.push(Event::Reorganized { page: mtr.id(page), moved });
        }
        Ok(())
    }

    /// Heap numbers of all records of a page.
    pub(crate) fn heap_numbers(&self, mtr: &Mtr<'_>, page: PageRef) -> Result<Vec<vaquita_base::HeapNo>> {
        let bytes = mtr.page(page);
        let first = self.checked_in(mtr, page, index_page::first_rec(bytes))?;
        self.checked_in(mtr, page, ops::heap_numbers(bytes, first))
    }

    /// Heap number of the first record of a page, or of its supremum.
    pub(crate) fn first_heap_no(&self, mtr: &Mtr<'_>, page: PageRef) -> Result<vaquita_base::HeapNo> {
        let bytes = mtr.page(page);
        let first = self.checked_in(mtr, page, index_page::first_rec(bytes))?;
        Ok(ops::heap_no_of(bytes, first))
    }

    /// Moves the root's records to a new page below it. The path's top is that page then, and the root above it.
    fn raise_root(
        &self,
        mtr: &mut Mtr<'_>,
        path: &mut Path,
        low: u16,
        events: &mut Events<'_>,
    ) -> Result<()> {
        self.stats().root_raises.add(1);
        let top = path.levels.len() - 1;
        let root = path.levels[top].page;
        debug_assert_eq!(mtr.id(root).page_no, self.root, "only the root is raised");
        let before = mtr.page(root).to_vec();
        let level = header::level(&before);
        let pos = self.checked_in(mtr, root, ops::ordinal(&before, low))?;
        let first = self.checked_in(mtr, root, index_page::first_rec(&before))?;
        let child = fsp::create_page(mtr, self.segment_of_level(level), self.root, Direction::None)?;
        ops::init_page(mtr, child, &self.index, level, PageNo::NULL, PageNo::NULL);
        ops::copy_list_end(mtr, child, &self.index, &before, first)?;
        ops::raise_max_trx_id(mtr, child, ops::max_trx_id(&self.index, &before));
        if events.wanted() && level == 0 {
            let old = self.checked_in(mtr, root, ops::heap_numbers(&before, first))?;
            let moved = old.into_iter().zip(self.heap_numbers(mtr, child)?).collect();
            events.push(Event::RootRaised { root: mtr.id(root), child: mtr.id(child), moved });
        }
        ops::create(mtr, root, &self.index);
        mtr.write_u16(root, LEVEL, level + 1);
        let bytes = mtr.page(child);
        let child_first = self.checked_in(mtr, child, index_page::first_rec(bytes))?;
        let child_no = mtr.id(child).page_no;
        let ptr = RecBuf::node_ptr(&self.index, bytes, child_first, INFO_MIN_REC, child_no);
        let ptr = self.checked_in(mtr, child, ptr)?;
        let after = infimum(self.index.layout().comp());
        let ptr = self.insert_fitting(mtr, root, after, &ptr, events)?;
        let followed = self.checked_in(mtr, child, ops::nth(mtr.page(child), pos))?;
        self.lower_free_bits(mtr, child)?;
        path.levels[top] = Level { page: child, ptr: followed, left: None, right: None, far: None };
        path.levels.push(Level { page: root, ptr, left: None, right: None, far: None });
        Ok(())
    }

    /// Moves the upper records to a new page behind.
    fn split_right(
        &self,
        mtr: &mut Mtr<'_>,
        at: &Level,
        plan: &SplitPlan,
        events: &mut Events<'_>,
    ) -> Result<PageRef> {
        let index = &self.index;
        let before = mtr.page(at.page).to_vec();
        let (id, next, level) = (mtr.id(at.page), fil::next(&before), header::level(&before));
        if at.right.is_none() && !next.is_null() {
            return Err(ops::bad(id, index, "path of a split", "the next page is not held"));
        }
        let hint = PageNo(id.page_no.get() + 1);
        let new = fsp::create_page(mtr, self.segment_of_level(level), hint, Direction::Up)?;
        let new_id = mtr.id(new);
        ops::init_page(mtr, new, index, level, id.page_no, next);
        let max_trx_id = ops::max_trx_id(index, &before);
        let mut moved = Vec::new();
        if plan.at < usize::from(n_recs(&before)) {
            let first = self.checked_in(mtr, at.page, ops::nth(&before, plan.at + 1))?;
            ops::copy_list_end(mtr, new, index, &before, first)?;
            if plan.at == 0 {
                ops::create(mtr, at.page, index);
                ops::raise_max_trx_id(mtr, at.page, max_trx_id);
            } else {
                ops::delete_list_from(mtr, at.page, index, first)?;
            }
            if events.wanted() && level == 0 {
                let old = self.checked_in(mtr, at.page, ops::heap_numbers(&before, first))?;
                moved = old.into_iter().zip(self.heap_numbers(mtr, new)?).collect();
            }
        }
        let halves = (n_recs(mtr.page(at.page)), n_recs(mtr.page(new)));
        if halves.0.checked_add(halves.1) != Some(n_recs(&before)) {
            let detail = format!("{} became {halves:?}", n_recs(&before));
            return Err(ops::bad(id, index, "number of records of a page that is split", detail));
        }
        ops::raise_max_trx_id(mtr, new, max_trx_id);
        ops::set_next(mtr, at.page, new_id.page_no);
        if let Some(right) = at.right {
            ops::set_prev(mtr, right, new_id.page_no);
        }
        if level == 0 {
            self.lower_free_bits(mtr, new)?;
            events.push(Event::SplitRight { left: id, right: new_id, moved });
        }
        Ok(new)
    }

    /// Puts an empty leaf in front.
    fn split_left(&self, mtr: &mut Mtr<'_>, at: &Level, events: &mut Events<'_>) -> Result<PageRef> {
        let id = mtr.id(at.page);
        let prev = fil::prev(mtr.page(at.page));
        let max_trx_id = ops::max_trx_id(&self.index, mtr.page(at.page));
        let hint = PageNo(id.page_no.get().saturating_sub(1));
        let new = fsp::create_page(mtr, self.leaf_segment, hint, Direction::Down)?;
        let new_id = mtr.id(new);
        ops::init_page(mtr, new, &self.index, 0, prev, id.page_no);
        ops::raise_max_trx_id(mtr, new, max_trx_id);
        ops::set_prev(mtr, at.page, new_id.page_no);
        if let Some(left) = at.left {
            ops::set_next(mtr, left, new_id.page_no);
        }
        self.lower_free_bits(mtr, new)?;
        if events.wanted() {
            let first = self.first_heap_no(mtr, at.page)?;
            events.push(Event::SplitLeft { left: new_id, right: id, first });
        }
        Ok(new)
    }

    /// Makes a node pointer lead to another page.
    fn redirect(&self, mtr: &mut Mtr<'_>, page: PageRef, ptr: u16, child: PageNo) -> Result<()> {
        let size = RecSize::of(mtr.page(page), ptr, self.index.layout());
        let size = self.checked_in(mtr, page, size)?;
        mtr.write_u32(page, usize::from(ptr) + size.data - CHILD_LEN, child.get());
        Ok(())
    }
}
