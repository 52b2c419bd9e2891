//! Coming back to a record without a descent.
//!
//! Who looks at a record, gives its leaf up and changes it later remembers where it was. As long as nobody has held the
//! leaf exclusively meanwhile it is as it was, and so the record is found by latching its frame; otherwise by its key, as
//! at first. A bookmark is never wrong, only of no use: whatever it leads to is the page of the moment it was made.
//!
//! # Latching
//! The leaf alone, and only if it is free: the way by the key comes from the root and may wait.

use crate::descent::RecordRef;
use crate::error::Result;
use crate::path::Position;
use crate::tree::{LatchMode, Tree};
use std::cmp::Ordering;
use vaquita_format::index_page::header::{index_id, is_leaf};
use vaquita_format::index_page::{Found, SearchMode, next_rec};
use vaquita_format::record::compare;
use vaquita_format::tuple::Tuple;
use vaquita_storage::buf::{FramePosition, PageReadGuard};
use vaquita_storage::{Mtr, Storage};

/// Where a record was, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bookmark {
    place: FramePosition,
    rec: u16,
}

impl Bookmark {
    pub(crate) fn new(leaf: &PageReadGuard<'_>, rec: u16) -> Bookmark {
        Bookmark { place: leaf.position(), rec }
    }

    /// Whether the record's page is as it was. It may change right after.
    #[inline]
    pub fn holds(&self, storage: &Storage) -> bool {
        storage.pool().restore_shared(&self.place).is_some()
    }
}

impl Tree {
    /// As [`Tree::lookup`], and `found` is told where it is. A bookmark that may be the record's, of this tree or any,
    /// saves the descent if it is.
    ///
    /// # Errors
    /// As [`Tree::lookup`].
    ///
    /// # Latching
    /// As [`Tree::lookup`].
    #[inline]
    pub fn lookup_marked<R>(
        &self,
        storage: &Storage,
        key: &Tuple<'_>,
        likely: Option<Bookmark>,
        found: impl FnOnce(RecordRef<'_>, Bookmark) -> R,
    ) -> Result<Option<R>> {
        if let Some(mark) = likely
            && let Some(leaf) = storage.pool().restore_shared(&mark.place)
            && self.is_at(&leaf, mark.rec, key)
        {
            return Ok(Some(found(RecordRef { page: &leaf, page_id: leaf.id(), rec: mark.rec }, mark)));
        }
        let Some((leaf, rec)) = self.find(storage, key)? else { return Ok(None) };
        let mark = Bookmark::new(&leaf, rec);
        Ok(Some(found(RecordRef { page: &leaf, page_id: leaf.id(), rec }, mark)))
    }

    /// Whether the record of a bookmark is one of this tree with that key.
    fn is_at(&self, leaf: &PageReadGuard<'_>, rec: u16, key: &Tuple<'_>) -> bool {
        leaf.id().space == self.space() && self.is_record(leaf, rec, key)
    }

    /// Whether the record of a leaf of the tablespace is one of this tree with that key.
    fn is_record(&self, leaf: &[u8], rec: u16, key: &Tuple<'_>) -> bool {
        index_id(leaf) == self.index().id()
            && is_leaf(leaf)
            && compare(self.index(), leaf, rec, key, &mut 0) == Ok(Ordering::Equal)
    }

    /// As [`Tree::search`] with `LessOrEqual` and the exclusive latch, for the record with that key, which the bookmark
    /// was given for. By a bookmark the fields of the record above are not compared: `up_matched` is 0.
    ///
    /// # Errors
    /// As [`Tree::search`].
    #[inline]
    pub fn search_marked(
        &self,
        mtr: &mut Mtr<'_>,
        key: &Tuple<'_>,
        mark: Option<Bookmark>,
    ) -> Result<Position> {
        if let Some(Bookmark { place, rec }) = mark
            && let Some(leaf) = mtr.storage().pool().restore_exclusive(&place)
        {
            let page = mtr.adopt_exclusive(leaf);
            debug_assert!(
                self.is_record(mtr.page(page), rec, key),
                "a bookmark of another record leads to it"
            );
            let up = self.checked_in(mtr, page, next_rec(mtr.page(page), rec))?;
            let found = Found { rec, low: rec, up, low_matched: key.n_cmp() as u16, up_matched: 0 };
            return Ok(Position::in_leaf(page, found));
        }
        self.search(mtr, key, SearchMode::LessOrEqual, LatchMode::Exclusive)
    }
}
