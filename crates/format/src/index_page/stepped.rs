//! Looking for a key in a leaf step by step: one record is compared at a time, and the search says beforehand which.
//!
//! Nearly all the time of a search goes into waiting for records to come from memory. Somebody who has many keys to find, in
//! many pages, has the record of each search fetched while the others go on (group prefetching, after Chen, Ailamaki,
//! Gibbons and Mowry's work on hash joins).

use super::header::{SLOT_OWNED_MAX, is_comp, slot, supremum};
use super::search::{bad_chain, is_in_page, n_slots_checked};
use super::{Corruption, Result};
use crate::index_def::IndexDef;
use crate::record::compare;
use crate::record::header::next;
use crate::tuple::Tuple;
use std::cmp::Ordering;

/// A search of a leaf for the one record that is equal to a tuple.
///
/// It ends at that record; so the tuple must have all the fields that make the index unique.
#[derive(Debug, Clone, Copy)]
pub struct SteppedSearch {
    /// While they are no neighbours, the slots between which the record lies.
    slots: (u16, u16),
    /// Fields of the tuple equal to those of the record below, and above.
    matched: (u16, u16),
    /// The record to compare next; 0 when the search has ended.
    next: u16,
    /// The first record that lies beyond.
    end: u16,
    /// Records walked over since the last slot.
    walked: u8,
    /// The record that is equal; 0 if none was met.
    equal: u16,
}

impl SteppedSearch {
    /// Begins to search a page.
    ///
    /// # Errors
    /// If the directory contradicts the page, or the page's record format is not the index's.
    #[inline]
    pub fn begin(page: &[u8], index: &IndexDef) -> Result<SteppedSearch> {
        if is_comp(page) != index.layout().comp() {
            return Err(Corruption::new("record format", "the page and its table differ"));
        }
        let slots = (0, n_slots_checked(page)? as u16 - 1);
        let mut search = SteppedSearch { slots, matched: (0, 0), next: 0, end: 0, walked: 0, equal: 0 };
        search.aim(page)?;
        Ok(search)
    }

    /// The record it will compare next, `None` when it has ended.
    #[inline]
    pub fn next(&self) -> Option<u16> {
        (self.next != 0).then_some(self.next)
    }

    /// The record that is equal, once the search has ended; `None` if there is none.
    #[inline]
    pub fn equal(&self) -> Option<u16> {
        (self.equal != 0).then_some(self.equal)
    }

    /// Compares the next record.
    ///
    /// # Errors
    /// If the directory or a record on the way contradicts the page.
    #[inline]
    pub fn step(&mut self, page: &[u8], index: &IndexDef, tuple: &Tuple<'_>) -> Result<()> {
        let rec = self.next;
        let mut matched = usize::from(self.matched.0.min(self.matched.1));
        match compare(index, page, rec, tuple, &mut matched)? {
            Ordering::Equal => {
                (self.equal, self.next) = (rec, 0);
                Ok(())
            }
            Ordering::Greater => self.go_up(page, rec, matched as u16),
            Ordering::Less => self.go_down(page, matched as u16),
        }
    }

    fn is_walking(&self) -> bool {
        self.slots.1 - self.slots.0 <= 1
    }

    #[inline]
    fn go_up(&mut self, page: &[u8], rec: u16, matched: u16) -> Result<()> {
        self.matched.0 = matched;
        if self.is_walking() {
            return self.walk(page, rec);
        }
        self.slots.0 = (self.slots.0 + self.slots.1) / 2;
        self.aim(page)
    }

    #[inline]
    fn go_down(&mut self, page: &[u8], matched: u16) -> Result<()> {
        if self.is_walking() {
            self.next = 0;
            return Ok(());
        }
        self.matched.1 = matched;
        self.slots.1 = (self.slots.0 + self.slots.1) / 2;
        self.aim(page)
    }

    /// Chooses the slot to look at; where none is left, the records between the last two.
    #[inline]
    fn aim(&mut self, page: &[u8]) -> Result<()> {
        if !self.is_walking() {
            let middle = (self.slots.0 + self.slots.1) / 2;
            self.next = in_page(page, slot(page, middle.into()))?;
            return Ok(());
        }
        self.end = slot(page, self.slots.1.into());
        let low = in_page(page, slot(page, self.slots.0.into()))?;
        self.walk(page, low)
    }

    #[inline]
    fn walk(&mut self, page: &[u8], low: u16) -> Result<()> {
        let comp = is_comp(page);
        // A slot in the middle may point to the supremum.
        if low == supremum(comp) {
            return Err(bad_chain(low));
        }
        let up = next(page, low, comp);
        if up == self.end {
            self.next = 0;
            return Ok(());
        }
        self.walked += 1;
        if self.walked > SLOT_OWNED_MAX {
            return Err(bad_chain(up));
        }
        self.next = in_page(page, up)?;
        Ok(())
    }
}

#[inline]
fn in_page(page: &[u8], rec: u16) -> Result<u16> {
    if is_in_page(page, rec) { Ok(rec) } else { Err(bad_chain(rec)) }
}
