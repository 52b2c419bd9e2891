//! From the root to a leaf, to read or to change records within the leaf.
//!
//! Pages above the leaves are read without latches: remember the version, find the child, check that the version
//! still holds, remember the child's version, check the parent's once more. So the chain of pages followed was a path
//! of the tree at one moment, and the root of a busy tree is a cache line that nobody writes. Where that fails (a
//! page is not in memory, a writer is in it, or it keeps changing) the way down is latched, child before parent is
//! released. Only the leaf is always latched.

use crate::error::{Error, Result};
use crate::path::Position;
use crate::probe::Probe;
use crate::tree::{LatchMode, Tree};
use std::ops::Deref;
use vaquita_base::{HeapNo, PageId};
use vaquita_format::Corruption;
use vaquita_format::fil::{self, PageType};
use vaquita_format::index_def::IndexDef;
use vaquita_format::index_page::header::{self, LEVEL};
use vaquita_format::index_page::{SearchMode, search};
use vaquita_format::record::Offsets;
use vaquita_format::record::header::{heap_no, is_deleted};
use vaquita_format::tuple::Tuple;
use vaquita_storage::buf::{BufferPool, OptimisticPage, PageReadGuard, PageWriteGuard};
use vaquita_storage::{Mtr, Storage};

/// Tries without latches before a descent latches its way.
const OPTIMISTIC_TRIES: u32 = 8;

/// A record in a page that is latched as long as this is borrowed.
#[derive(Debug, Clone, Copy)]
pub struct RecordRef<'p> {
    /// The page's bytes.
    pub page: &'p [u8],
    /// Which page.
    pub page_id: PageId,
    /// The record's origin.
    pub rec: u16,
}

impl<'p> RecordRef<'p> {
    /// Its heap number, by which locks know it.
    pub fn heap_no(&self) -> HeapNo {
        HeapNo(heap_no(self.page, self.rec, header::is_comp(self.page)))
    }

    /// Whether it is delete-marked.
    #[inline]
    pub fn is_deleted(&self) -> bool {
        is_deleted(self.page, self.rec, header::is_comp(self.page))
    }

    /// Decodes where its fields are.
    ///
    /// # Errors
    /// If the record does not lie within the page.
    pub fn parse(&self, index: &IndexDef, offsets: &mut Offsets) -> Result<()> {
        offsets
            .parse(self.page, self.rec, index.layout())
            .map_err(|c| Error::corrupt(self.page_id, index.id(), c))
    }

    /// The stored bytes of a field, by offsets parsed from this record; `None` for NULL.
    ///
    /// # Panics
    /// If there is no such field.
    #[inline]
    pub fn field(&self, offsets: &'p Offsets, i: usize) -> Option<&'p [u8]> {
        offsets.field(self.page, self.rec, i)
    }
}

/// The two ways to latch a leaf, as types, so that each gets its own descent.
pub(crate) trait LeafLatch {
    type Guard<'p>: Deref<Target = [u8]>;
    fn latch(pool: &BufferPool, id: PageId) -> vaquita_storage::Result<Self::Guard<'_>>;
}

pub(crate) struct Shared;
pub(crate) struct Exclusive;

impl LeafLatch for Shared {
    type Guard<'p> = PageReadGuard<'p>;
    #[inline]
    fn latch(pool: &BufferPool, id: PageId) -> vaquita_storage::Result<PageReadGuard<'_>> {
        pool.get_shared(id)
    }
}

impl LeafLatch for Exclusive {
    type Guard<'p> = PageWriteGuard<'p>;
    #[inline]
    fn latch(pool: &BufferPool, id: PageId) -> vaquita_storage::Result<PageWriteGuard<'_>> {
        pool.get_exclusive(id)
    }
}

/// Checks that a page is one of the index, of the level expected.
pub(crate) fn check_page(index: &IndexDef, id: PageId, page: &[u8], level: Option<u16>) -> Result<()> {
    let ok = fil::raw_type(page) == PageType::Index.as_u16()
        && header::index_id(page) == index.id()
        && header::is_comp(page) == index.layout().comp()
        && level.is_none_or(|l| header::level(page) == l);
    if ok { Ok(()) } else { Err(wrong_page(index, id, page, level)) }
}

#[cold]
fn wrong_page(index: &IndexDef, id: PageId, page: &[u8], level: Option<u16>) -> Error {
    let detail = format!(
        "type {}, index {}, level {}, {} records; expected index {}{}",
        fil::raw_type(page),
        header::index_id(page),
        header::level(page),
        if header::is_comp(page) { "COMPACT" } else { "REDUNDANT" },
        index.id(),
        level.map_or(String::new(), |l| format!(", level {l}")),
    );
    Error::corrupt(id, index.id(), Corruption::new("page of an index", detail))
}

impl Tree {
    /// Calls `found` for the record whose first fields equal the key, which identifies at most one record; `None` if
    /// there is none. Delete-marked records are found too.
    ///
    /// # Errors
    /// Errors of reading pages, damage.
    ///
    /// # Latching
    /// `found` runs under the leaf's shared latch.
    #[inline]
    pub fn lookup<R>(
        &self,
        storage: &Storage,
        key: &Tuple<'_>,
        found: impl FnOnce(RecordRef<'_>) -> R,
    ) -> Result<Option<R>> {
        let Some((leaf, rec)) = self.find(storage, key)? else { return Ok(None) };
        Ok(Some(found(RecordRef { page: &leaf, page_id: leaf.id(), rec })))
    }

    /// The record whose first fields equal the key, in its leaf, latched shared.
    #[inline]
    pub(crate) fn find<'s>(
        &self,
        storage: &'s Storage,
        key: &Tuple<'_>,
    ) -> Result<Option<(PageReadGuard<'s>, u16)>> {
        let probe = Probe::key(&self.index, key, SearchMode::LessOrEqual);
        let leaf = self.leaf::<Shared>(storage, &probe)?;
        let at = self.checked(leaf.id(), search(&leaf, &self.index, key, SearchMode::LessOrEqual))?;
        Ok((usize::from(at.low_matched) == key.n_cmp()).then_some((leaf, at.low)))
    }

    /// Finds the place of a key and leaves its leaf latched in the mini-transaction, which holds no page of this tree
    /// before.
    ///
    /// # Errors
    /// Errors of reading pages, damage.
    pub fn search<'s>(
        &self,
        mtr: &mut Mtr<'s>,
        key: &Tuple<'_>,
        mode: SearchMode,
        latch: LatchMode,
    ) -> Result<Position> {
        let probe = Probe::key(&self.index, key, mode);
        let storage = mtr.storage();
        let page = match latch {
            LatchMode::Shared => mtr.adopt_shared(self.leaf::<Shared>(storage, &probe)?),
            LatchMode::Exclusive => mtr.adopt_exclusive(self.leaf::<Exclusive>(storage, &probe)?),
        };
        let found = self.checked_in(mtr, page, search(mtr.page(page), &self.index, key, mode))?;
        Ok(Position::in_leaf(page, found))
    }

    /// The leaf a probe leads to.
    #[inline]
    pub(crate) fn leaf<'s, L: LeafLatch>(
        &self,
        storage: &'s Storage,
        probe: &Probe<'_>,
    ) -> Result<L::Guard<'s>> {
        self.assert_space_unlatched(storage.pool());
        for _ in 0..OPTIMISTIC_TRIES {
            match self.leaf_optimistic::<L>(storage.pool(), probe)? {
                Step::Done(leaf) => return Ok(leaf),
                Step::Again => self.stats().restarts.add(1),
                Step::Latch => break,
            }
        }
        self.stats().latched_descents.add(1);
        self.leaf_latched::<L>(storage.pool(), probe)
    }

    #[inline]
    fn leaf_optimistic<'s, L: LeafLatch>(
        &self,
        pool: &'s BufferPool,
        probe: &Probe<'_>,
    ) -> Result<Step<L::Guard<'s>>> {
        let aim = match self.aim(pool, probe) {
            Step::Done(aim) => aim,
            Step::Again => return Ok(Step::Again),
            Step::Latch => return Ok(Step::Latch),
        };
        let leaf = L::latch(pool, aim.leaf);
        let Some(parent) = aim.parent else {
            let leaf = leaf?;
            check_page(&self.index, aim.leaf, &leaf, None)?;
            return Ok(if header::is_leaf(&leaf) { Step::Done(leaf) } else { Step::Again });
        };
        if !parent.validate() {
            return Ok(Step::Again);
        }
        let leaf = leaf?;
        check_page(&self.index, aim.leaf, &leaf, Some(0))?;
        Ok(Step::Done(leaf))
    }

    /// Which leaf a probe leads to, by pages that nobody latched.
    #[inline]
    pub(crate) fn aim<'s>(&self, pool: &'s BufferPool, probe: &Probe<'_>) -> Step<Aim<'s>> {
        let root = self.page_id(self.root);
        let Some(mut node) = pool.optimistic(root) else { return Step::Latch };
        let mut level = node.bytes().u16(LEVEL);
        if level == 0 {
            return Step::Done(Aim { leaf: root, parent: None });
        }
        loop {
            let child = probe.child_in_optimistic(&self.index, &self.shape, node.bytes());
            if !node.validate() {
                return Step::Again;
            }
            // What makes no sense in a stable page is left to the latched way, which says what is wrong.
            let Some(child) = child.filter(|c| !c.is_null()) else { return Step::Latch };
            let id = self.page_id(child);
            if level == 1 {
                return Step::Done(Aim { leaf: id, parent: Some(node) });
            }
            let Some(next) = pool.optimistic(id) else { return Step::Latch };
            let next_level = next.bytes().u16(LEVEL);
            if !next.validate() || !node.validate() {
                return Step::Again;
            }
            if next_level + 1 != level {
                return Step::Latch;
            }
            (node, level) = (next, next_level);
        }
    }

    #[cold]
    fn leaf_latched<'s, L: LeafLatch>(
        &self,
        pool: &'s BufferPool,
        probe: &Probe<'_>,
    ) -> Result<L::Guard<'s>> {
        let root_id = self.page_id(self.root);
        loop {
            let mut node = pool.get_shared(root_id)?;
            check_page(&self.index, root_id, &node, None)?;
            let mut level = header::level(&node);
            if level == 0 {
                drop(node);
                let leaf = L::latch(pool, root_id)?;
                check_page(&self.index, root_id, &leaf, None)?;
                if header::is_leaf(&leaf) {
                    return Ok(leaf);
                }
                continue;
            }
            while level > 1 {
                let (_, child) = self.checked(node.id(), probe.child_in(&self.index, &node))?;
                let id = self.child_id(&node, child)?;
                let next = pool.get_shared(id)?;
                level -= 1;
                check_page(&self.index, id, &next, Some(level))?;
                node = next;
            }
            let (_, child) = self.checked(node.id(), probe.child_in(&self.index, &node))?;
            let id = self.child_id(&node, child)?;
            let leaf = L::latch(pool, id)?;
            check_page(&self.index, id, &leaf, Some(0))?;
            return Ok(leaf);
        }
    }

    /// A child that is its own parent would be waited for forever.
    fn child_id(&self, node: &PageReadGuard<'_>, child: vaquita_base::PageNo) -> Result<PageId> {
        let id = self.page_id(child);
        if id == node.id() || child == self.root {
            return Err(self.corrupt(node.id(), Corruption::new("node pointer", "leads upwards")));
        }
        Ok(id)
    }
}

/// Where the leaf of a probe is, as the pages above it said.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Aim<'p> {
    pub(crate) leaf: PageId,
    /// The page that said so: while it stands still the leaf is its child. `None` if the root is the leaf.
    pub(crate) parent: Option<OptimisticPage<'p>>,
}

pub(crate) enum Step<G> {
    Done(G),
    Again,
    Latch,
}
