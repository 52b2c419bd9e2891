//! Walking leaf by leaf: for readers that lock what they pass, whose locks hang on the ends of leaves too, and for
//! scans that look at a leaf as a whole.
//!
//! A walk is placed between two records of a leaf ([`Cursor::place`]), goes from record to record within it and is told
//! where the leaf ends; going on to the neighbour is a step of its own.

use super::{At, Cursor, LEFT_TRIES};
use crate::bookmark::Bookmark;
use crate::descent::{RecordRef, Shared};
use crate::error::Result;
use crate::probe::Probe;
use std::ops::ControlFlow;
use vaquita_format::Corruption;
use vaquita_format::index_page::header::{infimum, n_heap, supremum};
use vaquita_format::index_page::{self, SearchMode};
use vaquita_format::tuple::Tuple;

/// What a step within a leaf came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// A record.
    Record,
    /// The end of the leaf in that direction; the cursor stays where it was.
    Edge,
}

impl<'s> Cursor<'s> {
    /// Goes to the place of a key: behind the last record below it (or not above it, for `LessOrEqual` and `Greater`)
    /// *of the leaf it leads to*, on no record.
    ///
    /// # Errors
    /// Errors of reading pages, damage.
    pub fn place(&mut self, key: &Tuple<'_>, mode: SearchMode) -> Result<()> {
        self.forget();
        let (leaf, found) = self.find(key, mode)?;
        self.stand_behind(leaf, found.low);
        Ok(())
    }

    /// Goes before the first record.
    ///
    /// # Errors
    /// Errors of reading pages, damage.
    pub fn place_first(&mut self) -> Result<()> {
        self.forget();
        let leaf = self.tree.leaf::<Shared>(self.storage, &Probe::First)?;
        self.stand_behind(leaf, infimum(self.comp()));
        Ok(())
    }

    /// Goes behind the last record, on its leaf.
    ///
    /// # Errors
    /// Errors of reading pages, damage.
    pub fn place_last(&mut self) -> Result<()> {
        self.forget();
        let leaf = self.tree.leaf::<Shared>(self.storage, &Probe::Last)?;
        let last = self.tree.checked(leaf.id(), index_page::last_rec(&leaf))?;
        self.stand_behind(leaf, last);
        Ok(())
    }

    /// Latches the leaf of its place, the first one if it is before the start; whether there is one: not behind the end.
    ///
    /// # Errors
    /// Errors of reading pages, damage.
    pub fn latch_forward(&mut self) -> Result<bool> {
        if self.state.at == At::Start {
            self.place_first()?;
        }
        self.on_leaf()
    }

    /// Latches the leaf of its place, the last one if it is behind the end; whether there is one: not before the start.
    ///
    /// # Errors
    /// Errors of reading pages, damage.
    pub fn latch_backward(&mut self) -> Result<bool> {
        if self.state.at == At::End {
            self.place_last()?;
        }
        self.on_leaf()
    }

    /// Latches the leaf of its place; whether there is one.
    fn on_leaf(&mut self) -> Result<bool> {
        if matches!(self.state.at, At::Start | At::End) {
            return Ok(false);
        }
        self.latch_again()?;
        Ok(true)
    }

    /// The leaf it is on, under its latch; `rec` is the record it is on or behind, or the infimum.
    pub fn leaf(&self) -> Option<RecordRef<'_>> {
        let leaf = self.leaf.as_ref()?;
        Some(RecordRef { page: leaf, page_id: leaf.id(), rec: self.state.rec })
    }

    /// Where the record is that it is on; `None` if it is on none or the latch was given up.
    #[inline]
    pub fn bookmark(&self) -> Option<Bookmark> {
        let leaf = self.leaf.as_ref().filter(|_| self.state.at == At::Record)?;
        Some(Bookmark::new(leaf, self.state.rec))
    }

    /// The supremum of the leaf it is on.
    pub fn supremum(&self) -> Option<RecordRef<'_>> {
        self.leaf().map(|at| RecordRef { rec: supremum(self.comp()), ..at })
    }

    /// What follows its place in the leaf it is on: a record, or the supremum.
    ///
    /// # Errors
    /// Damage.
    pub fn successor(&self) -> Result<Option<RecordRef<'_>>> {
        let Some(at) = self.leaf() else { return Ok(None) };
        let rec = self.tree.checked(at.page_id, index_page::next_rec(at.page, at.rec))?;
        Ok(Some(RecordRef { rec, ..at }))
    }

    /// Goes to the next record of the leaf it is on, from before the start to the first one. An edge behind the end.
    ///
    /// # Errors
    /// Errors of reading pages, damage.
    pub fn step_right(&mut self) -> Result<Step> {
        if !self.latch_forward()? {
            return Ok(Step::Edge);
        }
        let leaf = self.leaf.as_ref().expect("latched above");
        let next = self.tree.checked(leaf.id(), index_page::next_rec(leaf, self.state.rec))?;
        if next == supremum(self.comp()) {
            return Ok(Step::Edge);
        }
        self.state.rec = next;
        self.state.at = At::Record;
        Ok(Step::Record)
    }

    /// Goes before the first record of the next leaf; whether there is one. If not, it is behind the last record of the
    /// tree.
    ///
    /// # Errors
    /// Errors of reading pages, damage.
    pub fn cross_right(&mut self) -> Result<bool> {
        if !self.on_leaf()? || !self.enter_right_leaf()? {
            return Ok(false);
        }
        self.state.at = At::Behind;
        Ok(true)
    }

    /// Goes to the record before, of the leaf it is on, from behind the end to the last one. An edge before the start.
    ///
    /// # Errors
    /// Errors of reading pages, damage.
    pub fn step_left(&mut self) -> Result<Step> {
        if !self.latch_backward()? {
            return Ok(Step::Edge);
        }
        let leaf = self.leaf.as_ref().expect("latched above");
        let rec = match self.state.at {
            At::Behind => self.state.rec,
            _ => self.tree.checked(leaf.id(), index_page::prev_rec(leaf, self.state.rec))?,
        };
        if rec == infimum(self.comp()) {
            return Ok(Step::Edge);
        }
        self.state.rec = rec;
        self.state.at = At::Record;
        Ok(Step::Record)
    }

    /// Goes behind the last record of the leaf before, empty ones passed over; whether there is one. If not, it is before
    /// the first record of the tree.
    ///
    /// # Errors
    /// Errors of reading pages, damage.
    pub fn cross_left(&mut self) -> Result<bool> {
        if !self.on_leaf()? {
            return Ok(false);
        }
        let mut leaf = self.leaf.take().expect("latched above");
        for _ in 0..LEFT_TRIES {
            match self.left_leaf(leaf)? {
                Some((left, last)) if last != infimum(self.comp()) => {
                    self.leaf = Some(left);
                    self.state.rec = last;
                    self.state.at = At::Behind;
                    return Ok(true);
                }
                Some((left, _)) => leaf = left,
                None => {
                    self.forget();
                    self.state.at = At::Start;
                    return Ok(false);
                }
            }
        }
        Err(self.bad_link(self.tree.page_id(self.tree.root())))
    }

    /// Calls `each` for the records behind its place in the leaf it is on, until that breaks. Stays on the record broken
    /// at, or on the last one. Whether it was broken.
    ///
    /// # Errors
    /// Errors of reading pages, damage.
    ///
    /// # Latching
    /// `each` runs under the leaf's shared latch.
    #[inline]
    pub fn scan_leaf(&mut self, mut each: impl FnMut(RecordRef<'_>) -> ControlFlow<()>) -> Result<bool> {
        if !self.on_leaf()? {
            return Ok(false);
        }
        let end = supremum(self.comp());
        let leaf = self.leaf.as_ref().expect("latched above");
        let page_id = leaf.id();
        let mut rec = self.state.rec;
        let mut broken = false;
        for _ in 0..=n_heap(leaf) {
            let next = self.tree.checked(page_id, index_page::next_rec(leaf, rec))?;
            if next == end {
                break;
            }
            rec = next;
            if each(RecordRef { page: leaf, page_id, rec }).is_break() {
                broken = true;
                break;
            }
        }
        if !broken && self.tree.checked(page_id, index_page::next_rec(leaf, rec))? != end {
            return Err(self.tree.corrupt(page_id, Corruption::new("record list", "it does not end")));
        }
        if rec != infimum(self.comp()) {
            self.state.at = At::Record;
        }
        self.state.rec = rec;
        Ok(broken)
    }
}
