//! Inserts.
//!
//! First within the leaf ([`Tree::search`], [`Tree::try_insert`]); if that has no room, with the pages above held
//! ([`Tree::search_path`], [`Tree::insert_at`]). Between search and insert the caller looks at the neighbours
//! ([`Position::found`]), at locks, at whatever decides whether the record may come in at all; nothing has been changed
//! then, and dropping the mini-transaction gives everything back.

use crate::error::{Error, PageResult, Result};
use crate::observer::Event;
use crate::ops;
use crate::path::{Change, Position};
use crate::rec_buf::RecBuf;
use crate::split;
use crate::tree::{LatchMode, Tree};
use std::cmp::Ordering;
use vaquita_base::{Lsn, TrxId};
use vaquita_format::index_def::{IndexDef, IndexKind};
use vaquita_format::index_page::header::supremum;
use vaquita_format::index_page::{self, Found, SearchMode, search};
use vaquita_format::record::compare;
use vaquita_format::tuple::Tuple;
use vaquita_storage::fsp::Reservation;
use vaquita_storage::{Mtr, PageRef, Storage};

impl Tree {
    /// Inserts a record into the leaf of a position found with `LessOrEqual` under the exclusive latch; its origin, or
    /// `None` with nothing changed if the leaf must be split for it.
    ///
    /// # Errors
    /// Errors of reading a page of the change buffer's bitmap, damage. The mini-transaction is to be dropped then.
    ///
    /// # Latching
    /// In a secondary index it may latch a page of the change buffer's bitmap, until the mini-transaction ends: nothing
    /// else is to be waited for afterwards.
    #[inline]
    pub fn try_insert(&self, mtr: &mut Mtr<'_>, position: &Position, rec: &RecBuf) -> Result<Option<u16>> {
        let (page, low) = (position.page, position.found.low);
        debug_assert!(mtr.is_exclusive(page), "page {} is searched to insert and held shared", mtr.id(page));
        if split::is_due(&self.index, mtr.page(page), low, rec.len(), true) {
            return Ok(None);
        }
        let mut events = self.events();
        let origin = self.insert_fitting(mtr, page, low, rec, &mut events)?;
        if events.wanted() {
            self.push_inserted(mtr, page, origin, &mut events)?;
            events.deliver();
        }
        Ok(Some(origin))
    }

    /// The place of a key in a leaf that is held, if that is between two of its records: then it belongs there whatever
    /// the pages above say.
    ///
    /// # Errors
    /// Damage.
    pub fn place_within(&self, mtr: &Mtr<'_>, leaf: PageRef, key: &Tuple<'_>) -> Result<Option<Position>> {
        let found = position_within(&self.index, mtr.page(leaf), key);
        Ok(self.checked_in(mtr, leaf, found)?.map(|found| Position::in_leaf(leaf, found)))
    }

    /// Whether a record fits into the leaf of a position as it is, so that no other record moves when it comes in.
    ///
    /// # Errors
    /// Damage.
    pub fn has_room(&self, mtr: &Mtr<'_>, position: &Position, rec: &RecBuf) -> Result<bool> {
        let room = index_page::has_room(mtr.page(position.page), self.index.layout(), rec.len());
        self.checked_in(mtr, position.page, room)
    }

    /// Inserts the record that a position was searched for with [`Change::Insert`]; the leaf it came to and its
    /// origin. `room` says what for, where a page is split.
    ///
    /// # Errors
    /// No space; errors of reading pages of the space management, damage. The mini-transaction is to be dropped
    /// then, which undoes it.
    ///
    /// # Latching
    /// Latches page 0 of the tablespace, if a page is split, until the mini-transaction ends.
    pub fn insert_at(
        &self,
        mtr: &mut Mtr<'_>,
        position: Position,
        rec: &RecBuf,
        room: Reservation,
    ) -> Result<(PageRef, u16)> {
        let low = position.found.low;
        let Some(mut path) = position.path else {
            let mut events = self.events();
            let origin = self.insert_fitting(mtr, position.page, low, rec, &mut events)?;
            self.push_inserted(mtr, position.page, origin, &mut events)?;
            events.deliver();
            return Ok((position.page, origin));
        };
        if split::is_due(&self.index, mtr.page(position.page), low, rec.len(), true) {
            self.reserve(mtr, room)?;
        }
        debug_assert!(mtr.keeps_before_images(), "a structure change can be taken back half-way");
        debug_assert_eq!(path.levels[0].page, position.page, "the path of a position ends in its leaf");
        let mut events = self.events();
        let (page, origin) = self.insert_splitting(mtr, &mut path, 0, low, rec, true, &mut events)?;
        self.push_inserted(mtr, page, origin, &mut events)?;
        events.deliver();
        Ok((page, origin))
    }

    fn push_inserted(
        &self,
        mtr: &Mtr<'_>,
        page: PageRef,
        origin: u16,
        events: &mut crate::observer::Events<'_>,
    ) -> Result<()> {
        if events.wanted() {
            let bytes = mtr.page(page);
            let next = self.checked_in(mtr, page, index_page::next_rec(bytes, origin))?;
            events.push(Event::Inserted {
                page: mtr.id(page),
                rec: ops::heap_no_of(bytes, origin),
                next: ops::heap_no_of(bytes, next),
            });
        }
        Ok(())
    }

    /// Notes on a leaf of a secondary index that a transaction changed it. Nothing in other indexes.
    pub fn raise_max_trx_id(&self, mtr: &mut Mtr<'_>, page: PageRef, trx_id: TrxId) {
        if self.index.kind() == IndexKind::Secondary {
            ops::raise_max_trx_id(mtr, page, trx_id);
        }
    }

    /// Inserts a record in a mini-transaction of its own; the LSN that must be durable for it to last.
    ///
    /// # Errors
    /// [`Error::Duplicate`], [`Error::RecordTooBig`], no space, errors of reading pages, damage. Nothing is changed
    /// then.
    ///
    /// # Panics
    /// If the tuple does not have the fields of the index.
    pub fn insert(&self, storage: &Storage, tuple: &Tuple<'_>) -> Result<Lsn> {
        self.insert_record(storage, tuple, &self.record(tuple)?)
    }

    /// Inserts an encoded record in a mini-transaction of its own; see [`Tree::insert`]. The key is a tuple with at
    /// least the fields that order the tree.
    ///
    /// # Errors
    /// As [`Tree::insert`].
    pub fn insert_record(&self, storage: &Storage, key: &Tuple<'_>, rec: &RecBuf) -> Result<Lsn> {
        let n = self.index.n_uniq_in_tree();
        let key = key.compare_first(n);
        let mut mtr = storage.begin()?;
        let position = self.search(&mut mtr, &key, SearchMode::LessOrEqual, LatchMode::Exclusive)?;
        if usize::from(position.found.low_matched) >= n {
            return Err(Error::Duplicate);
        }
        if self.try_insert(&mut mtr, &position, rec)?.is_none() {
            position.release(&mut mtr);
            let position = self.search_path(&mut mtr, &key, Change::Insert(rec))?;
            if usize::from(position.found.low_matched) >= n {
                return Err(Error::Duplicate);
            }
            self.insert_at(&mut mtr, position, rec, Reservation::Normal)?;
        }
        Ok(mtr.commit())
    }
}

/// The place of a key between two records of a page.
fn position_within(index: &IndexDef, page: &[u8], key: &Tuple<'_>) -> PageResult<Option<Found>> {
    let (first, last) = (index_page::first_rec(page)?, index_page::last_rec(page)?);
    if first == supremum(index.layout().comp())
        || compare(index, page, first, key, &mut 0)? != Ordering::Greater
        || compare(index, page, last, key, &mut 0)? != Ordering::Less
    {
        return Ok(None);
    }
    search(page, index, key, SearchMode::LessOrEqual).map(Some)
}
