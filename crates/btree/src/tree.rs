//! A tree: where it lies, its segments, its creation and its end.
//!
//! The root page holds the headers of two segments, one for the leaves and one for everything above; the root itself
//! belongs to the second, also while it is the only page. The places of the segments' inodes never change, so a
//! [`Tree`] keeps them and no operation needs the root for them.

use crate::descent::check_page;
use crate::error::{Error, Result};
use crate::observer::{Events, Observer};
use crate::ops;
use crate::probe::NodeShape;
use crate::rec_buf::RecBuf;
use crate::stats::TreeStats;
use std::sync::Arc;
use vaquita_base::{FIL_NULL, PageId, PageNo, SpaceId};
use vaquita_format::flst::{FileAddress, SegmentHeader};
use vaquita_format::index_def::IndexDef;
use vaquita_format::index_page::header::{LEAF_SEGMENT, TOP_SEGMENT, infimum};
use vaquita_format::tuple::Tuple;
use vaquita_format::{Corruption, fil};
use vaquita_storage::buf::BufferPool;
use vaquita_storage::fsp::{self, HeaderPlace};
use vaquita_storage::{Mtr, PageRef, Storage};

fn check_supported(index: &IndexDef) -> Result<()> {
    match index.page_size().is_compressed() {
        true => {
            Err(Error::Unsupported("trees in compressed pages (ROW_FORMAT=COMPRESSED) are not supported yet"))
        }
        false => Ok(()),
    }
}

/// How the leaf is latched that a search ends in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LatchMode {
    /// To read.
    Shared,
    /// To change records within the page.
    Exclusive,
}

/// An index tree.
#[derive(Debug, Clone)]
pub struct Tree {
    pub(crate) space: SpaceId,
    pub(crate) root: PageNo,
    pub(crate) index: Arc<IndexDef>,
    pub(crate) leaf_segment: SegmentHeader,
    pub(crate) top_segment: SegmentHeader,
    pub(crate) shape: NodeShape,
    observer: Option<Arc<dyn Observer>>,
    stats: Arc<TreeStats>,
}

impl Tree {
    /// Creates an empty tree: two segments, of which the first holds the root. The mini-transaction must keep
    /// before-images; if this fails it is to be dropped.
    ///
    /// # Errors
    /// No space; errors of reading pages of the space management, damage; compressed pages.
    ///
    /// # Latching
    /// Latches page 0 of the tablespace until the mini-transaction ends.
    pub fn create(mtr: &mut Mtr<'_>, space: SpaceId, index: Arc<IndexDef>) -> Result<Tree> {
        check_supported(&index)?;
        let top = fsp::create_segment(mtr, space, HeaderPlace::OnFirstPage { offset: TOP_SEGMENT as u16 })?;
        let root = top.page;
        let leaf =
            fsp::create_segment(mtr, space, HeaderPlace::On { page: root, offset: LEAF_SEGMENT as u16 })?;
        ops::init_page(mtr, root, &index, 0, PageNo::NULL, PageNo::NULL);
        Ok(Self::assemble(space, mtr.id(root).page_no, index, leaf.header, top.header))
    }

    /// Opens the tree whose root is `root`.
    ///
    /// # Errors
    /// Errors of reading the root; [`Error::Corrupt`] if it is no root of this index.
    pub fn open(storage: &Storage, space: SpaceId, root: PageNo, index: Arc<IndexDef>) -> Result<Tree> {
        check_supported(&index)?;
        let id = PageId::new(space, root);
        let mut mtr = storage.begin_read();
        let page = mtr.get_shared(id)?;
        check_page(&index, id, mtr.page(page), None)?;
        let bytes = mtr.page(page);
        if fil::prev(bytes).get() != FIL_NULL || fil::next(bytes).get() != FIL_NULL {
            let corruption = Corruption::new("root of an index", "it has siblings");
            return Err(Error::corrupt(id, index.id(), corruption));
        }
        let leaf = leaf_segment_of(&mtr, page)?.unwrap_or(no_segment(space));
        let top = fsp::read_segment_header(&mtr, page, TOP_SEGMENT as u16)?;
        Ok(Self::assemble(space, root, index, leaf, top))
    }

    /// The tree of an index that has no pages: only its definition may be asked for.
    pub fn detached(space: SpaceId, index: Arc<IndexDef>) -> Tree {
        Self::assemble(space, PageNo::NULL, index, no_segment(space), no_segment(space))
    }

    fn assemble(
        space: SpaceId,
        root: PageNo,
        index: Arc<IndexDef>,
        leaf_segment: SegmentHeader,
        top_segment: SegmentHeader,
    ) -> Tree {
        let shape = NodeShape::new(&index);
        let stats = Arc::default();
        Tree { space, root, index, leaf_segment, top_segment, shape, observer: None, stats }
    }

    /// The same tree, telling its structure changes to `observer`.
    #[must_use]
    pub fn with_observer(mut self, observer: Arc<dyn Observer>) -> Tree {
        self.observer = Some(observer);
        self
    }

    /// The same tree, counting into `stats`.
    #[must_use]
    pub fn with_stats(mut self, stats: Arc<TreeStats>) -> Tree {
        self.stats = stats;
        self
    }

    /// The tablespace.
    pub fn space(&self) -> SpaceId {
        self.space
    }

    /// Number of the root page.
    pub fn root(&self) -> PageNo {
        self.root
    }

    /// The index.
    #[inline]
    pub fn index(&self) -> &Arc<IndexDef> {
        &self.index
    }

    /// Its counters.
    pub fn stats(&self) -> &TreeStats {
        &self.stats
    }

    /// The segment of the leaves and of off-page values.
    pub fn leaf_segment(&self) -> SegmentHeader {
        self.leaf_segment
    }

    /// The segment of the root and of the pages above the leaves.
    pub fn top_segment(&self) -> SegmentHeader {
        self.top_segment
    }

    /// The record of a leaf tuple, checked to fit.
    ///
    /// # Errors
    /// [`Error::RecordTooBig`]; see [`crate::off_page`] for what then.
    ///
    /// # Panics
    /// If the tuple does not have the fields of the index, or a value does not fit its field.
    pub fn record(&self, tuple: &Tuple<'_>) -> Result<RecBuf> {
        RecBuf::of(&self.index, tuple)
    }

    /// Frees all pages but the root, in mini-transactions of their own, and leaves an unusable root behind, which
    /// [`Tree::free_root`] frees. The two are apart so that the second may join the mini-transaction that takes the
    /// tree out of the dictionary.
    ///
    /// Nobody may use the tree any more; its pages may stay in the pool.
    ///
    /// # Errors
    /// Errors of reading pages of the space management, damage.
    ///
    /// # Crash
    /// Each step leaves smaller segments; calling this again goes on. With the last page of the leaf segment its header
    /// leaves the root: its inode may be another segment's by the time of the next call.
    pub fn free_but_not_root(&self, storage: &Storage) -> Result<()> {
        loop {
            let mut mtr = storage.begin()?;
            mtr.keep_before_images();
            let root = mtr.get_exclusive(self.page_id(self.root))?;
            let Some(leaf_segment) = leaf_segment_of(&mtr, root)? else { break };
            let done = fsp::free_segment_step(&mut mtr, leaf_segment, None)?;
            if done {
                mtr.write_bytes(root, LEAF_SEGMENT, &no_segment(self.space).encode());
            }
            mtr.commit();
            if done {
                break;
            }
        }
        loop {
            let mut mtr = storage.begin()?;
            mtr.keep_before_images();
            let done = fsp::free_segment_step(&mut mtr, self.top_segment, Some(self.root))?;
            mtr.commit();
            if done {
                return Ok(());
            }
        }
    }

    /// Frees the root, the last page of the tree.
    ///
    /// # Errors
    /// Errors of reading pages of the space management, damage.
    ///
    /// # Latching
    /// Latches page 0 of the tablespace until the mini-transaction ends.
    pub fn free_root(&self, mtr: &mut Mtr<'_>) -> Result<()> {
        while !fsp::free_segment_step(mtr, self.top_segment, None)? {}
        Ok(())
    }

    #[inline]
    pub(crate) fn page_id(&self, page: PageNo) -> PageId {
        PageId::new(self.space, page)
    }

    /// The first record of every page, which is below all keys.
    pub(crate) fn infimum(&self) -> u16 {
        infimum(self.index.layout().comp())
    }

    /// Asserts that the thread may wait for pages of the tree (T6 of `docs/latching.md`): page 0 of the tablespace comes
    /// after them.
    #[inline]
    pub(crate) fn assert_space_unlatched(&self, pool: &BufferPool) {
        pool.assert_not_latched(self.page_id(PageNo(0)), "pages of a tree are (T6)");
    }

    /// Whether page 0 of the tablespace is held: who changes the structure has reserved space then.
    pub(crate) fn has_reserved(&self, mtr: &Mtr<'_>) -> bool {
        mtr.find(self.page_id(PageNo(0))).is_some_and(|page| mtr.is_exclusive(page))
    }

    pub(crate) fn segment_of_level(&self, level: u16) -> SegmentHeader {
        if level == 0 { self.leaf_segment } else { self.top_segment }
    }

    pub(crate) fn events(&self) -> Events<'_> {
        Events::new(self.observer.as_deref())
    }

    #[cold]
    pub(crate) fn corrupt(&self, page: PageId, corruption: Corruption) -> Error {
        Error::corrupt(page, self.index.id(), corruption)
    }

    /// Turns what a page function found into an error of this tree.
    #[inline]
    pub(crate) fn checked<T>(&self, page: PageId, found: vaquita_format::Result<T>) -> Result<T> {
        found.map_err(|c| self.corrupt(page, c))
    }

    /// The same, for a page that a mini-transaction holds.
    #[inline]
    pub(crate) fn checked_in<T>(
        &self,
        mtr: &Mtr<'_>,
        page: PageRef,
        found: vaquita_format::Result<T>,
    ) -> Result<T> {
        found.map_err(|c| self.corrupt(mtr.id(page), c))
    }
}

/// The header of a segment that is gone.
fn no_segment(space: SpaceId) -> SegmentHeader {
    SegmentHeader { space, inode: FileAddress::NULL }
}

/// The leaf segment according to the root; `None` if a tree that is being dropped has lost it already.
fn leaf_segment_of(mtr: &Mtr<'_>, root: PageRef) -> Result<Option<SegmentHeader>> {
    if SegmentHeader::read(mtr.page(root), LEAF_SEGMENT) == no_segment(mtr.id(root).space) {
        return Ok(None);
    }
    Ok(Some(fsp::read_segment_header(mtr, root, LEAF_SEGMENT as u16)?))
}
