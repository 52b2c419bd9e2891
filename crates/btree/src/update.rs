//! Updates of records under their keys.
//!
//! | what changes | function | needs |
//! |---|---|---|
//! | values of the same size | [`Tree::update_in_place`] | the leaf |
//! | the delete mark | [`Tree::set_delete_mark`] | the leaf |
//! | sizes, and the new record fits into the leaf | [`Tree::try_update`] | the leaf |
//! | sizes | [`Tree::update_at`] | the pages above |
//!
//! A record of another size is removed and inserted again at the same place, in one mini-transaction. A page that
//! becomes underfull by an update stays so until something is removed from it.

use crate::error::Result;
use crate::observer::{Event, Events};
use crate::ops;
use crate::path::{Change, Position};
use crate::rec_buf::RecBuf;
use crate::tree::{LatchMode, Tree};
use vaquita_base::{Lsn, PageId};
use vaquita_format::index_page::header::n_recs;
use vaquita_format::index_page::logged;
use vaquita_format::index_page::{self, FieldUpdate, SearchMode, SysFields, data_size};
use vaquita_format::record::RecSize;
use vaquita_format::tuple::Tuple;
use vaquita_storage::fsp::Reservation;
use vaquita_storage::{Mtr, PageRef, Storage};

impl Tree {
    /// Overwrites fields of a record with values of the same size (see [`index_page::fits_in_place`]), sets its info
    /// bits and, if given, its system fields.
    ///
    /// # Errors
    /// If the page is damaged or a value has another size.
    pub fn update_in_place(
        &self,
        mtr: &mut Mtr<'_>,
        page: PageRef,
        rec: u16,
        info_bits: u8,
        fields: &[FieldUpdate<'_>],
        sys: Option<SysFields>,
    ) -> Result<()> {
        ops::edit(mtr, page, &self.index, |bytes, log| {
            logged::update_in_place(bytes, log, &self.index, rec, info_bits, fields, sys)
        })
    }

    /// Sets or clears the delete mark of a record, and the system fields of a clustered one if given.
    ///
    /// # Errors
    /// If the page is damaged.
    pub fn set_delete_mark(
        &self,
        mtr: &mut Mtr<'_>,
        page: PageRef,
        rec: u16,
        deleted: bool,
        sys: Option<SysFields>,
    ) -> Result<()> {
        ops::edit(mtr, page, &self.index, |bytes, log| {
            if self.index.is_clustered() {
                logged::set_delete_mark_clustered(bytes, log, &self.index, rec, deleted, sys)
            } else {
                logged::set_delete_mark_secondary(bytes, log, rec, deleted)
            }
        })
    }

    /// Replaces the record `low` of a position by one with the same key; its origin, or `None` with nothing changed if
    /// the leaf must be split for it.
    ///
    /// # Errors
    /// Damage. The mini-transaction is to be dropped then; it should have changed nothing before, or keep
    /// before-images.
    pub fn try_update(&self, mtr: &mut Mtr<'_>, position: &Position, rec: &RecBuf) -> Result<Option<u16>> {
        let (page, old) = (position.page, position.found.low);
        debug_assert!(mtr.is_exclusive(page), "page {} is searched to update and held shared", mtr.id(page));
        debug_assert_ne!(old, self.infimum(), "there is no record to update on page {}", mtr.id(page));
        let bytes = mtr.page(page);
        let size = self.checked_in(mtr, page, RecSize::of(bytes, old, self.index.layout()))?.total();
        let after = data_size(bytes).saturating_sub(size) + rec.len();
        if !ops::fit_together(&self.index, bytes.len(), after, n_recs(bytes).into()) {
            return Ok(None);
        }
        let mut events = self.events();
        let low = self.take_out(mtr, page, old, &mut events)?;
        let origin = self.insert_fitting(mtr, page, low, rec, &mut events)?;
        self.push_back(mtr, page, origin, mtr.id(page), &mut events);
        events.deliver();
        Ok(Some(origin))
    }

    /// Replaces the record that a position was searched for with [`Change::Update`]; the leaf the new one came to and
    /// its origin. `room` says what for, where a page is split.
    ///
    /// # Errors
    /// No space; errors of reading pages of the space management, damage. The mini-transaction is to be dropped
    /// then, which undoes it.
    ///
    /// # Latching
    /// Latches page 0 of the tablespace until the mini-transaction ends.
    pub fn update_at(
        &self,
        mtr: &mut Mtr<'_>,
        position: Position,
        rec: &RecBuf,
        room: Reservation,
    ) -> Result<(PageRef, u16)> {
        let Some(mut path) = position.path else {
            let id = mtr.id(position.page);
            return Err(ops::bad(id, &self.index, "path of an update", "only the leaf is held"));
        };
        debug_assert!(mtr.keeps_before_images(), "a structure change can be taken back half-way");
        debug_assert_ne!(position.found.low, self.infimum(), "there is no record to update");
        self.reserve(mtr, room)?;
        let from = mtr.id(position.page);
        let mut events = self.events();
        let low = self.take_out(mtr, position.page, position.found.low, &mut events)?;
        let (page, origin) = self.insert_splitting(mtr, &mut path, 0, low, rec, false, &mut events)?;
        self.push_back(mtr, page, origin, from, &mut events);
        events.deliver();
        Ok((page, origin))
    }

    /// Removes a record that is to come back changed; the record before it.
    fn take_out(&self, mtr: &mut Mtr<'_>, page: PageRef, rec: u16, events: &mut Events<'_>) -> Result<u16> {
        ops::keep_before_images(mtr);
        let bytes = mtr.page(page);
        let low = self.checked_in(mtr, page, index_page::prev_rec(bytes, rec))?;
        let max_trx_id = ops::max_trx_id(&self.index, bytes);
        events.push(Event::SetAside { page: mtr.id(page), rec: ops::heap_no_of(bytes, rec) });
        ops::delete(mtr, page, &self.index, rec)?;
        // A page that became empty was made anew.
        ops::raise_max_trx_id(mtr, page, max_trx_id);
        Ok(low)
    }

    fn push_back(&self, mtr: &Mtr<'_>, page: PageRef, rec: u16, from: PageId, events: &mut Events<'_>) {
        if events.wanted() {
            let rec = ops::heap_no_of(mtr.page(page), rec);
            events.push(Event::PutBack { page: mtr.id(page), rec, from });
        }
    }

    /// Replaces the record with the key of a tuple in a mini-transaction of its own; the LSN that must be durable for
    /// it to last, or `None` if there is no such record.
    ///
    /// # Errors
    /// [`crate::Error::RecordTooBig`], no space, errors of reading pages, damage. Nothing is changed then.
    ///
    /// # Panics
    /// If the tuple does not have the fields of the index.
    pub fn update(&self, storage: &Storage, tuple: &Tuple<'_>) -> Result<Option<Lsn>> {
        self.update_record(storage, tuple, &self.record(tuple)?)
    }

    /// Replaces a record by an encoded one with the same key; see [`Tree::update`].
    ///
    /// # Errors
    /// As [`Tree::update`].
    pub fn update_record(&self, storage: &Storage, key: &Tuple<'_>, rec: &RecBuf) -> Result<Option<Lsn>> {
        let n = self.index.n_uniq_in_tree();
        let key = key.compare_first(n);
        let mut mtr = storage.begin()?;
        let position = self.search(&mut mtr, &key, SearchMode::LessOrEqual, LatchMode::Exclusive)?;
        if usize::from(position.found.low_matched) < n {
            return Ok(None);
        }
        if self.try_update(&mut mtr, &position, rec)?.is_none() {
            position.release(&mut mtr);
            let position = self.search_path(&mut mtr, &key, Change::Update(rec))?;
            if usize::from(position.found.low_matched) < n {
                return Ok(None);
            }
            self.update_at(&mut mtr, position, rec, Reservation::Normal)?;
        }
        Ok(Some(mtr.commit()))
    }
}
