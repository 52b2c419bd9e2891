//! Removal of records, which purge and rollback ask for; a user's DELETE sets a mark only.
//!
//! As with inserts: first within the leaf ([`Tree::try_remove`]), and if that would become underfull with the pages
//! above and beside it held ([`Tree::remove_at`]). Values off the page are the caller's to free before, see
//! [`crate::off_page`].

use crate::error::Result;
use crate::observer::{Event, Events};
use crate::ops;
use crate::path::{Change, Position};
use crate::tree::{LatchMode, Tree};
use vaquita_base::Lsn;
use vaquita_format::index_page::header::n_recs;
use vaquita_format::index_page::{self, SearchMode};
use vaquita_format::tuple::Tuple;
use vaquita_storage::fsp::Reservation;
use vaquita_storage::{Mtr, PageRef, Storage};

impl Tree {
    /// Removes the record `low` of a position, unless the leaf should then be merged with a neighbour: `false`, with
    /// nothing changed.
    ///
    /// # Errors
    /// Damage. The mini-transaction is to be dropped then.
    pub fn try_remove(&self, mtr: &mut Mtr<'_>, position: &Position) -> Result<bool> {
        let (page, rec) = (position.page, position.found.low);
        debug_assert!(mtr.is_exclusive(page), "page {} is searched to remove and held shared", mtr.id(page));
        debug_assert_ne!(rec, self.infimum(), "there is no record to remove on page {}", mtr.id(page));
        let underflows = self.underflows(mtr.page(page), rec);
        let is_root = mtr.id(page).page_no == self.root;
        if self.checked_in(mtr, page, underflows)? && !is_root {
            return Ok(false);
        }
        let mut events = self.events();
        self.push_removing(mtr, page, rec, &mut events)?;
        ops::delete(mtr, page, &self.index, rec)?;
        events.deliver();
        Ok(true)
    }

    /// Removes the record that a position was searched for with [`Change::Remove`], and merges pages that became
    /// underfull with neighbours under the same parent.
    ///
    /// # Errors
    /// Errors of reading pages of the space management, damage. The mini-transaction is to be dropped then, which
    /// undoes it.
    ///
    /// # Latching
    /// Latches page 0 of the tablespace, if a page is freed, until the mini-transaction ends.
    pub fn remove_at(&self, mtr: &mut Mtr<'_>, position: Position) -> Result<()> {
        let (page, rec) = (position.page, position.found.low);
        let Some(mut path) = position.path else {
            let id = mtr.id(page);
            return Err(ops::bad(id, &self.index, "path of a removal", "only the leaf is held"));
        };
        debug_assert!(mtr.keeps_before_images(), "a structure change can be taken back half-way");
        debug_assert_ne!(rec, self.infimum(), "there is no record to remove on page {}", mtr.id(page));
        let mut events = self.events();
        self.push_removing(mtr, page, rec, &mut events)?;
        let is_root = mtr.id(page).page_no == self.root;
        let lonely = n_recs(mtr.page(page)) == 1
            && path.parent_of(0).is_some_and(|parent| n_recs(mtr.page(parent.page)) == 1);
        if lonely && !is_root {
            self.reserve(mtr, Reservation::Cleaning)?;
            self.discard_branch(mtr, &mut path, &mut events)?;
        } else {
            ops::delete(mtr, page, &self.index, rec)?;
            self.rebalance(mtr, &mut path, 0, &mut events)?;
        }
        events.deliver();
        Ok(())
    }

    fn push_removing(&self, mtr: &Mtr<'_>, page: PageRef, rec: u16, events: &mut Events<'_>) -> Result<()> {
        if events.wanted() {
            let bytes = mtr.page(page);
            let next = self.checked_in(mtr, page, index_page::next_rec(bytes, rec))?;
            events.push(Event::Removing {
                page: mtr.id(page),
                rec: ops::heap_no_of(bytes, rec),
                next: ops::heap_no_of(bytes, next),
            });
        }
        Ok(())
    }

    /// Removes the record with the key of a tuple in a mini-transaction of its own; the LSN that must be durable for
    /// that to last, or `None` if there is no such record. Values off the page are not freed.
    ///
    /// # Errors
    /// Errors of reading pages, damage. Nothing is changed then.
    pub fn remove(&self, storage: &Storage, key: &Tuple<'_>) -> Result<Option<Lsn>> {
        let n = self.index.n_uniq_in_tree();
        let key = key.compare_first(n);
        let mut mtr = storage.begin()?;
        let position = self.search(&mut mtr, &key, SearchMode::LessOrEqual, LatchMode::Exclusive)?;
        if usize::from(position.found.low_matched) < n {
            return Ok(None);
        }
        if !self.try_remove(&mut mtr, &position)? {
            position.release(&mut mtr);
            let position = self.search_path(&mut mtr, &key, Change::Remove)?;
            if usize::from(position.found.low_matched) < n {
                return Ok(None);
            }
            self.remove_at(&mut mtr, position)?;
        }
        Ok(Some(mtr.commit()))
    }
}
