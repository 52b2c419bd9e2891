//! From the root to a leaf, to change the tree's structure.
//!
//! The way down is latched exclusively, and a page's ancestors are released as soon as the page is *safe*: whatever
//! happens below, the page takes it without a change of its own parent (Bayer and Schkolnick's rule). An unsafe page
//! brings those neighbours along whose links a split or merge changes.
//!
//! What is safe is guessed on the way down from sizes of keys; the leaf then tells exactly which pages will change
//! ([`Tree::search_path`] plays the splits through without making them). If the guess released too much, everything
//! is released and the descent repeated with all pages from the root on latched; nothing has been changed by then.
//!
//! # Latching
//! Downwards, and on each level from left to right. A left neighbour is known only from its right one: that is
//! peeked at and released, the left one latched, then the page again; the parent, which is held, keeps the page
//! where it is, and the link is checked afterwards.

use crate::descent::check_page;
use crate::error::{PageResult, Result};
use crate::ops;
use crate::probe::Probe;
use crate::rec_buf::RecBuf;
use crate::split;
use crate::tree::Tree;
use smallvec::SmallVec;
use vaquita_base::{PageId, PageNo};
use vaquita_format::fil;
use vaquita_format::index_page::header::{self, DIRECTION_LEFT, direction, n_recs};
use vaquita_format::index_page::{self, Found, SearchMode, data_size, search};
use vaquita_format::record::RecSize;
use vaquita_format::tuple::Tuple;
use vaquita_storage::{Mtr, PageRef};

/// Tries to latch a page together with its left neighbour.
const NEIGHBOUR_TRIES: u32 = 1_000;
/// Levels a tree can have: more would be more pages than there are page numbers.
const LEVELS_MAX: u16 = 32;

/// What a structure change is for.
#[derive(Debug, Clone, Copy)]
pub enum Change<'r> {
    /// This record will be inserted.
    Insert(&'r RecBuf),
    /// This record will replace the one with the same key.
    Update(&'r RecBuf),
    /// The record with the key will be removed.
    Remove,
}

/// A page of the path with the neighbours that are held.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Level {
    pub(crate) page: PageRef,
    /// In a page above the leaf: the pointer that was followed.
    pub(crate) ptr: u16,
    pub(crate) left: Option<PageRef>,
    pub(crate) right: Option<PageRef>,
    /// The page behind `right`.
    pub(crate) far: Option<PageRef>,
}

impl Level {
    fn alone(page: PageRef) -> Self {
        Self { page, ptr: 0, left: None, right: None, far: None }
    }

    fn release(&self, mtr: &mut Mtr<'_>) {
        for page in [self.far, self.right, Some(self.page), self.left].into_iter().flatten() {
            mtr.release(page);
        }
    }
}

/// The pages held of a path, from the leaf upwards: index is level.
#[derive(Debug, Clone)]
pub(crate) struct Path {
    pub(crate) levels: SmallVec<[Level; 5]>,
}

impl Path {
    pub(crate) fn parent_of(&self, level: usize) -> Option<Level> {
        self.levels.get(level + 1).copied()
    }
}

/// Where a search ended: a leaf that the mini-transaction holds, and a place in it.
#[derive(Debug, Clone)]
pub struct Position {
    pub(crate) page: PageRef,
    pub(crate) found: Found,
    pub(crate) path: Option<Path>,
}

impl Position {
    pub(crate) fn in_leaf(page: PageRef, found: Found) -> Self {
        Self { page, found, path: None }
    }

    /// The leaf.
    #[inline]
    pub fn page(&self) -> PageRef {
        self.page
    }

    /// The record the search mode asks for; may be the infimum or the supremum.
    #[inline]
    pub fn rec(&self) -> u16 {
        self.found.rec
    }

    /// The last record below the key (or equal, as the mode says), the one behind it, and how many leading fields of
    /// the key each of them equals. Uniqueness is checked by these: with `LessOrEqual`, a duplicate of the first `n`
    /// fields is in this leaf if `low_matched` or `up_matched` is at least `n`, and may be in the leaf before if `low`
    /// is the infimum and fewer fields than all of the tree's key are compared.
    #[inline]
    pub fn found(&self) -> &Found {
        &self.found
    }

    /// Whether the pages above are held, so that the structure may change.
    pub fn allows_structure_change(&self) -> bool {
        self.path.is_some()
    }

    /// Releases what is held, if it is unchanged.
    pub fn release(self, mtr: &mut Mtr<'_>) {
        match self.path {
            Some(path) => path.levels.iter().for_each(|l| l.release(mtr)),
            None => mtr.release(self.page),
        }
    }
}

/// Why a descent has to begin anew with every page held.
struct NeedsFullPath;

impl Tree {
    /// Finds the place of a key for a change that may alter the tree's structure, and latches the pages it may touch.
    /// The mini-transaction holds no page of this tree before; it should have changed nothing, or keep before-images.
    ///
    /// The position is that of `LessOrEqual`. For `Update` and `Remove` the caller makes sure that the record is
    /// there.
    ///
    /// # Errors
    /// Errors of reading pages, damage. Nothing is changed.
    pub fn search_path(&self, mtr: &mut Mtr<'_>, key: &Tuple<'_>, change: Change<'_>) -> Result<Position> {
        ops::keep_before_images(mtr);
        debug_assert!(
            mtr.keeps_before_images(),
            "a structure change begins in a mini-transaction that cannot take back what it has changed"
        );
        debug_assert!(
            mtr.find(self.page_id(self.root)).is_none(),
            "T3: pages of the tree are held before its root"
        );
        self.assert_space_unlatched(mtr.storage().pool());
        self.stats().structure_descents.add(1);
        if let Ok(position) = self.try_path(mtr, key, change, false)? {
            return Ok(position);
        }
        self.stats().full_path_descents.add(1);
        match self.try_path(mtr, key, change, true)? {
            Ok(position) => Ok(position),
            Err(NeedsFullPath) => {
                let id = self.page_id(self.root);
                Err(ops::bad(id, &self.index, "siblings of a path", "a page of the level is not linked"))
            }
        }
    }

    fn try_path(
        &self,
        mtr: &mut Mtr<'_>,
        key: &Tuple<'_>,
        change: Change<'_>,
        whole: bool,
    ) -> Result<std::result::Result<Position, NeedsFullPath>> {
        let path = self.descend(mtr, key, change, whole)?;
        let page = path.levels[0].page;
        let found = search(mtr.page(page), &self.index, key, SearchMode::LessOrEqual);
        let found = self.checked_in(mtr, page, found)?;
        let position = Position { page, found, path: Some(path) };
        let is_there = usize::from(found.low_matched) >= self.index.n_uniq_in_tree();
        let enough = match change {
            Change::Insert(rec) => self.holds_splits(mtr, &position, None, rec)?,
            Change::Update(rec) if is_there => self.holds_splits(mtr, &position, Some(found.low), rec)?,
            Change::Remove if is_there => whole || self.holds_merge(mtr, &position)?,
            Change::Update(_) | Change::Remove => true,
        };
        if enough {
            return Ok(Ok(position));
        }
        position.release(mtr);
        Ok(Err(NeedsFullPath))
    }

    fn descend(&self, mtr: &mut Mtr<'_>, key: &Tuple<'_>, change: Change<'_>, whole: bool) -> Result<Path> {
        let probe = Probe::key(&self.index, key, SearchMode::LessOrEqual);
        let root_id = self.page_id(self.root);
        let root = mtr.get_exclusive(root_id)?;
        check_page(&self.index, root_id, mtr.page(root), None)?;
        let mut level = header::level(mtr.page(root));
        if level > LEVELS_MAX {
            return Err(ops::bad(root_id, &self.index, "level of a root", format!("{level}")));
        }
        let mut held: SmallVec<[Level; 5]> = SmallVec::new();
        held.push(Level::alone(root));
        while level > 0 {
            let above = held.last_mut().expect("the page descended from is held");
            let parent = above.page;
            let (ptr, child) = self.checked_in(mtr, parent, probe.child_in(&self.index, mtr.page(parent)))?;
            above.ptr = ptr;
            level -= 1;
            let (page, safe) = self.latch_level(mtr, parent, ptr, child, level, change, whole)?;
            if safe {
                held.drain(..).for_each(|l| l.release(mtr));
            }
            held.push(page);
        }
        held.reverse();
        Ok(Path { levels: held })
    }

    /// Latches the child and, unless it is safe, the neighbours the change may touch.
    #[expect(clippy::too_many_arguments, reason = "one step of the loop above, apart for its length")]
    fn latch_level(
        &self,
        mtr: &mut Mtr<'_>,
        parent: PageRef,
        ptr: u16,
        child: PageNo,
        level: u16,
        change: Change<'_>,
        whole: bool,
    ) -> Result<(Level, bool)> {
        let page = self.latch_page(mtr, child, level)?;
        if !whole && self.is_safe(mtr.page(page), change) {
            return Ok((Level::alone(page), true));
        }
        let bytes = mtr.page(page);
        let removes = matches!(change, Change::Remove);
        let wants_left = match change {
            // A descending run of inserts puts the new page in front; see `split`.
            Change::Insert(_) | Change::Update(_) => level == 0 && direction(bytes) == DIRECTION_LEFT,
            Change::Remove => {
                let first = index_page::first_rec(mtr.page(parent));
                whole || self.checked_in(mtr, parent, first)? != ptr
            }
        };
        let (left, page) = match fil::prev(bytes).some() {
            Some(prev) if wants_left => self.latch_with_left(mtr, page, prev, level)?,
            _ => (None, page),
        };
        let right = self.latch_right(mtr, page, level)?;
        let far = match right {
            Some(right) if removes => self.latch_right(mtr, right, level)?,
            _ => None,
        };
        Ok((Level { page, ptr: 0, left, right, far }, false))
    }

    fn latch_page(&self, mtr: &mut Mtr<'_>, page: PageNo, level: u16) -> Result<PageRef> {
        let id = self.page_id(page);
        if mtr.find(id).is_some() {
            return Err(ops::bad(id, &self.index, "link of an index page", "it leads back"));
        }
        let page = mtr.get_exclusive(id)?;
        check_page(&self.index, id, mtr.page(page), Some(level))?;
        Ok(page)
    }

    /// Latches the left neighbour of a page that is held, whose parent is held too, and the page again after it.
    fn latch_with_left(
        &self,
        mtr: &mut Mtr<'_>,
        page: PageRef,
        prev: PageNo,
        level: u16,
    ) -> Result<(Option<PageRef>, PageRef)> {
        let (id, mut page, mut prev) = (mtr.id(page), page, prev);
        for _ in 0..NEIGHBOUR_TRIES {
            mtr.release(page);
            let left_id = self.page_id(prev);
            if mtr.find(left_id).is_some() {
                return Err(ops::bad(id, &self.index, "previous page", "it is an ancestor"));
            }
            let left = mtr.get_exclusive(left_id)?;
            // A page that was freed meanwhile is let go before anything is waited for.
            let is_ours = check_page(&self.index, left_id, mtr.page(left), Some(level)).is_ok();
            if !is_ours {
                mtr.release(left);
            }
            page = self.latch_page(mtr, id.page_no, level)?;
            let now = fil::prev(mtr.page(page)).some();
            if is_ours && now == Some(prev) {
                self.check_link(mtr, left, page)?;
                return Ok((Some(left), page));
            }
            // The neighbour was split or merged.
            mtr.release(page);
            if is_ours {
                mtr.release(left);
            }
            page = self.latch_page(mtr, id.page_no, level)?;
            match fil::prev(mtr.page(page)).some() {
                Some(now) => prev = now,
                None => return Ok((None, page)),
            }
        }
        Err(ops::bad(id, &self.index, "previous page", "it is no page of the level, or does not point back"))
    }

    fn latch_right(&self, mtr: &mut Mtr<'_>, page: PageRef, level: u16) -> Result<Option<PageRef>> {
        let Some(next) = fil::next(mtr.page(page)).some() else { return Ok(None) };
        let right = self.latch_page(mtr, next, level)?;
        self.check_link(mtr, page, right)?;
        Ok(Some(right))
    }

    fn check_link(&self, mtr: &Mtr<'_>, left: PageRef, right: PageRef) -> Result<()> {
        let (a, b): (PageId, PageId) = (mtr.id(left), mtr.id(right));
        let (next, prev) = (fil::next(mtr.page(left)), fil::prev(mtr.page(right)));
        if next == b.page_no && prev == a.page_no {
            return Ok(());
        }
        let detail = format!("page {a} is followed by {next}, page {b} preceded by {prev}");
        Err(ops::bad(a, &self.index, "sibling links", detail))
    }

    /// Whether the page takes what may come from below, or its own part of the change, without telling its parent.
    fn is_safe(&self, page: &[u8], change: Change<'_>) -> bool {
        let node_ptr = self.shape.node_ptr_max;
        match change {
            Change::Insert(rec) if header::is_leaf(page) => {
                ops::fits(page, rec.len()) && !split::eats_reserve(&self.index, page, rec.len())
            }
            // The record's place is not known yet.
            Change::Update(_) if header::is_leaf(page) => false,
            Change::Insert(_) | Change::Update(_) => ops::fits(page, node_ptr.min(page.len() / 8)),
            Change::Remove if header::is_leaf(page) => false,
            Change::Remove => {
                let after = data_size(page).saturating_sub(node_ptr.min(page.len() / 8));
                n_recs(page) > 2 && !is_underfull(page.len(), after)
            }
        }
    }

    /// Plays the splits through that inserting the record brings and tells whether all pages concerned are held.
    fn holds_splits(
        &self,
        mtr: &Mtr<'_>,
        position: &Position,
        replaces: Option<u16>,
        rec: &RecBuf,
    ) -> Result<bool> {
        let path = position.path.as_ref().expect("made by a structure descent");
        let mut incoming = rec.clone();
        let mut low = position.found.low;
        let mut scratch: Vec<u8>;
        for (level, at) in path.levels.iter().enumerate() {
            let mut page = mtr.page(at.page);
            if level > 0 {
                low = at.ptr;
            } else if let Some(old) = replaces {
                scratch = page.to_vec();
                let plan = self.without_record(&mut scratch, old);
                low = self.checked_in(mtr, at.page, plan)?;
                page = &scratch;
            }
            if !split::is_due(&self.index, page, low, incoming.len(), replaces.is_none()) {
                return Ok(true);
            }
            if at.right.is_none() && !fil::next(page).is_null() {
                return Ok(false);
            }
            if mtr.id(at.page).page_no == self.root {
                return Ok(true);
            }
            let left_ok = self.can_split_left(page, at);
            let plan = split::choose(&self.index, page, low, incoming.len(), left_ok);
            let plan = self.checked_in(mtr, at.page, plan)?;
            let separator = plan.separator(&self.index, page, &incoming, PageNo(0));
            incoming = self.checked_in(mtr, at.page, separator)?;
        }
        Ok(false)
    }

    /// Takes a record out of a copy of its page; the record before it.
    pub(crate) fn without_record(&self, page: &mut [u8], rec: u16) -> PageResult<u16> {
        let low = index_page::prev_rec(page, rec)?;
        index_page::edit::delete(page, self.index.layout(), rec)?;
        Ok(low)
    }

    /// Whether a new page can be put in front of a leaf: the neighbour's link can be changed.
    pub(crate) fn can_split_left(&self, page: &[u8], at: &Level) -> bool {
        header::is_leaf(page) && (fil::prev(page).is_null() || at.left.is_some())
    }

    /// Whether a removal can be done with what is held: only a leaf that becomes empty and has no neighbour under its
    /// parent needs all pages from the root on.
    fn holds_merge(&self, mtr: &Mtr<'_>, position: &Position) -> Result<bool> {
        let path = position.path.as_ref().expect("made by a structure descent");
        let page = mtr.page(position.page);
        if n_recs(page) > 1 || mtr.id(position.page).page_no == self.root {
            return Ok(true);
        }
        Ok(path.parent_of(0).is_some_and(|parent| n_recs(mtr.page(parent.page)) > 1))
    }

    /// Whether removing the record from its leaf calls for a merge.
    pub(crate) fn underflows(&self, page: &[u8], rec: u16) -> PageResult<bool> {
        let size = RecSize::of(page, rec, self.index.layout())?.total();
        let before = data_size(page);
        let after = before.saturating_sub(size);
        // A page that cannot be merged is not tried again at every removal, but at every step of this many bytes.
        let step = page.len() / 32;
        Ok(n_recs(page) <= 1 || is_underfull(page.len(), after) && before / step != after / step)
    }
}

/// Whether a page with so many bytes of records should be merged with a neighbour.
pub(crate) fn is_underfull(page_len: usize, bytes: usize) -> bool {
    bytes < page_len / 2
}
