//! Cursors: walking over the records of a tree in key order, both ways.
//!
//! A cursor holds the shared latch of one leaf at a time. Between fetches it gives the latch up ([`Cursor::store`]) and
//! remembers the frame, its version and the key of its record; coming back ([`Cursor::restore`]) costs two loads and a
//! compare-and-swap while the page is unchanged, and a search by key otherwise.
//!
//! Between two calls of a layer above nothing may be borrowed: [`Cursor::suspend`] gives a [`CursorState`], which
//! remembers the place without tree and storage, and [`Cursor::resume`] goes on from it. Who has to look at the ends of
//! leaves, because locks hang on them, goes by steps within a leaf (`steps`).
//!
//! # Latching
//! Rightwards the next leaf is latched before the current one is released. Leftwards that order is forbidden
//! (`docs/latching.md`): the current leaf is released, the left one latched, and the current one looked at again: if
//! it is unchanged, or still its right neighbour with the cursor's key between the two, the left one is the right
//! place; otherwise a search by key finds the place anew. So a cursor never waits for a latch while holding one,
//! except for the one to its right.

mod ahead;
mod steps;

use self::ahead::Ahead;
use crate::descent::{RecordRef, Shared, check_page};
use crate::error::Result;
use crate::key::OwnedKey;
use crate::ops;
use crate::path::Position;
use crate::probe::Probe;
use crate::tree::{LatchMode, Tree};
use std::ops::ControlFlow;
use vaquita_base::PageId;
use vaquita_format::index_page::header::{infimum, supremum};
use vaquita_format::index_page::{self, Found, SearchMode, search};
use vaquita_format::record::Offsets;
use vaquita_format::tuple::{Tuple, TupleField};
use vaquita_format::{Corruption, fil};
use vaquita_storage::buf::{FramePosition, PageReadGuard};
use vaquita_storage::{Mtr, Storage};

pub use steps::Step;

/// Tries to step left before the links between two leaves count as damaged.
const LEFT_TRIES: u32 = 10_000;

/// What a cursor found where it had been.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Restored {
    /// Its record.
    Same,
    /// Its record is gone: [`Cursor::next`] goes to the first record above, [`Cursor::prev`] to the last one below.
    Gone,
    /// It was not on a record and still is not.
    Off,
}

/// Where a cursor is, relative to `rec` of its leaf.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum At {
    /// On the record.
    Record,
    /// Behind the record (or infimum), before its successor.
    Behind,
    /// Before the first record of the tree.
    #[default]
    Start,
    /// Behind the last record of the tree.
    End,
}

/// A cursor's place while nothing is latched or borrowed, and the buffers it keeps. A new one is before the first
/// record.
#[derive(Debug, Clone, Default)]
pub struct CursorState {
    rec: u16,
    at: At,
    /// The page and version the latch was given up at.
    position: Option<FramePosition>,
    key: OwnedKey,
    offsets: Offsets,
    /// What it asks for, if it is to walk over the whole tree.
    ahead: Option<Ahead>,
}

impl CursorState {
    /// It will go rightwards over the whole tree, or a large part: what comes next is read before.
    #[must_use]
    pub fn reading_ahead(self) -> CursorState {
        CursorState { ahead: Some(Ahead::default()), ..self }
    }

    /// The key of the record it was on when it was suspended.
    pub fn key(&self) -> &OwnedKey {
        &self.key
    }
}

/// A place in a tree that moves from record to record.
#[derive(Debug)]
pub struct Cursor<'s> {
    tree: &'s Tree,
    storage: &'s Storage,
    leaf: Option<PageReadGuard<'s>>,
    state: CursorState,
}

impl<'s> Cursor<'s> {
    /// A cursor before the first record.
    pub fn new(tree: &'s Tree, storage: &'s Storage) -> Self {
        Self::resume(tree, storage, CursorState::default())
    }

    /// A cursor where another one of the same tree was suspended.
    pub fn resume(tree: &'s Tree, storage: &'s Storage, state: CursorState) -> Self {
        debug_assert!(
            state.position.as_ref().is_none_or(|place| place.page().space == tree.space()),
            "a cursor on tree {} was suspended in another tablespace: {:?}",
            tree.index().name(),
            state.position
        );
        Self { tree, storage, leaf: None, state }
    }

    /// Gives the latch up and keeps the place.
    ///
    /// # Errors
    /// If the record is damaged.
    pub fn suspend(mut self) -> Result<CursorState> {
        self.store()?;
        Ok(self.state)
    }

    /// The tree it walks over.
    pub fn tree(&self) -> &'s Tree {
        self.tree
    }

    /// Goes to the first record; whether there is one.
    ///
    /// # Errors
    /// Errors of reading pages, damage.
    pub fn first(&mut self) -> Result<bool> {
        self.forget();
        let leaf = self.tree.leaf::<Shared>(self.storage, &Probe::First)?;
        self.stand_behind(leaf, infimum(self.comp()));
        self.next()
    }

    /// Goes to the last record; whether there is one.
    ///
    /// # Errors
    /// Errors of reading pages, damage.
    pub fn last(&mut self) -> Result<bool> {
        self.forget();
        let leaf = self.tree.leaf::<Shared>(self.storage, &Probe::Last)?;
        let last = self.tree.checked(leaf.id(), index_page::last_rec(&leaf))?;
        self.settle_left(leaf, last)
    }

    /// Goes to the record a mode asks for; whether there is one.
    ///
    /// # Errors
    /// Errors of reading pages, damage.
    pub fn seek(&mut self, key: &Tuple<'_>, mode: SearchMode) -> Result<bool> {
        self.forget();
        let (leaf, found) = self.find(key, mode)?;
        match mode {
            SearchMode::Less | SearchMode::LessOrEqual => self.settle_left(leaf, found.low),
            SearchMode::GreaterOrEqual | SearchMode::Greater => {
                self.stand_behind(leaf, found.low);
                self.next()
            }
        }
    }

    fn find(&self, key: &Tuple<'_>, mode: SearchMode) -> Result<(PageReadGuard<'s>, Found)> {
        let index = self.tree.index();
        let leaf = self.tree.leaf::<Shared>(self.storage, &Probe::key(index, key, mode))?;
        let found = self.tree.checked(leaf.id(), search(&leaf, index, key, mode))?;
        Ok((leaf, found))
    }

    /// The record it is on, under the leaf's latch; `None` if it is on none or the latch was given up.
    #[inline]
    pub fn record(&self) -> Option<RecordRef<'_>> {
        let leaf = self.leaf.as_ref().filter(|_| self.state.at == At::Record)?;
        Some(RecordRef { page: leaf, page_id: leaf.id(), rec: self.state.rec })
    }

    /// Goes to the next record; whether there is one. From behind the end it stays there.
    ///
    /// # Errors
    /// Errors of reading pages, damage.
    #[expect(clippy::should_implement_trait, reason = "a cursor lends its record, which an iterator cannot")]
    pub fn next(&mut self) -> Result<bool> {
        match self.state.at {
            At::End => return Ok(false),
            At::Start => return self.first(),
            At::Record | At::Behind => self.latch_again()?,
        }
        let supremum = supremum(self.comp());
        loop {
            let leaf = self.leaf.as_ref().expect("latched above");
            let next = self.tree.checked(leaf.id(), index_page::next_rec(leaf, self.state.rec))?;
            if next != supremum {
                self.state.rec = next;
                self.state.at = At::Record;
                return Ok(true);
            }
            if !self.enter_right_leaf()? {
                return Ok(false);
            }
        }
    }

    /// From a latched leaf to before the first record of the next one; whether there is one.
    fn enter_right_leaf(&mut self) -> Result<bool> {
        let leaf = self.leaf.as_ref().expect("the caller has latched it");
        let Some(right) = fil::next(leaf).some() else {
            self.forget();
            self.state.at = At::End;
            return Ok(false);
        };
        let id = self.tree.page_id(right);
        let here = leaf.id();
        if id == here || right == self.tree.root() {
            return Err(self.bad_link(here));
        }
        if let Some(ahead) = &mut self.state.ahead {
            ahead.goes(self.storage.pool(), here, id);
        }
        let guard = self.storage.pool().get_shared(id)?;
        check_page(self.tree.index(), id, &guard, Some(0))?;
        if fil::prev(&guard) != here.page_no {
            return Err(self.bad_link(here));
        }
        self.leaf = Some(guard);
        self.state.rec = infimum(self.comp());
        Ok(true)
    }

    /// Goes to the record before; whether there is one. From before the start it stays there.
    ///
    /// # Errors
    /// Errors of reading pages, damage.
    pub fn prev(&mut self) -> Result<bool> {
        match self.state.at {
            At::Start => return Ok(false),
            At::End => return self.last(),
            At::Record | At::Behind => self.latch_again()?,
        }
        let leaf = self.leaf.take().expect("latched above");
        let rec = match self.state.at {
            At::Behind => self.state.rec,
            _ => self.tree.checked(leaf.id(), index_page::prev_rec(&leaf, self.state.rec))?,
        };
        self.settle_left(leaf, rec)
    }

    /// Stands on `rec`, or if that is the infimum on the last record of the leaves before.
    fn settle_left(&mut self, leaf: PageReadGuard<'s>, rec: u16) -> Result<bool> {
        let (mut leaf, mut rec) = (leaf, rec);
        let mut tries = 0;
        while rec == infimum(self.comp()) {
            tries += 1;
            if tries > LEFT_TRIES {
                return Err(self.bad_link(leaf.id()));
            }
            match self.left_leaf(leaf)? {
                Some((left, last)) => (leaf, rec) = (left, last),
                None => {
                    self.forget();
                    self.state.at = At::Start;
                    return Ok(false);
                }
            }
        }
        self.leaf = Some(leaf);
        self.state.rec = rec;
        self.state.at = At::Record;
        Ok(true)
    }

    /// From the first record of a leaf to the left: a leaf, and the last record there below that first one, or its
    /// infimum if the way has to be gone on from there. `None` if there is no leaf to the left.
    fn left_leaf(&mut self, leaf: PageReadGuard<'s>) -> Result<Option<(PageReadGuard<'s>, u16)>> {
        let Some(prev) = fil::prev(&leaf).some() else { return Ok(None) };
        let here = leaf.id();
        let id = self.tree.page_id(prev);
        if id == here || prev == self.tree.root() {
            return Err(self.bad_link(here));
        }
        // What to search for if the way left has changed: the last record below this page's first one.
        let first = self.tree.checked(here, index_page::first_rec(&leaf))?;
        let has_key = first != supremum(self.comp());
        if has_key {
            self.remember_key(&leaf, first)?;
        }
        let position = leaf.position();
        drop(leaf);
        match self.left_of(id, &position, has_key)? {
            Some(left) => {
                let last = self.tree.checked(left.id(), index_page::last_rec(&left))?;
                Ok(Some((left, last)))
            }
            None if has_key => {
                let fields = self.state.key.fields();
                let (found_in, found) = self.find(&Tuple::new(&fields), SearchMode::Less)?;
                Ok(Some((found_in, found.low)))
            }
            // An empty leaf, as other programs may leave it, in a tree that changes.
            None => {
                let again = self.storage.pool().get_shared(here)?;
                check_page(self.tree.index(), here, &again, Some(0))?;
                Ok(Some((again, infimum(self.comp()))))
            }
        }
    }

    /// The leaf `id`, if it is the left neighbour of the leaf remembered as it was then, or if at least the last record
    /// below the remembered key must be looked for there.
    fn left_of(
        &self,
        id: PageId,
        position: &FramePosition,
        has_key: bool,
    ) -> Result<Option<PageReadGuard<'s>>> {
        let pool = self.storage.pool();
        let index = self.tree.index();
        let left = pool.get_shared(id);
        // While the right page is unchanged its link to the left holds. It is let go at once.
        if pool.restore_shared(position).is_some() {
            let left = left?;
            check_page(index, id, &left, Some(0))?;
            if fil::next(&left) != position.page().page_no {
                return Err(self.bad_link(position.page()));
            }
            return Ok(Some(left));
        }
        // It was changed, or evicted. A page that was freed meanwhile may not even be readable.
        let Ok(left) = left else { return Ok(None) };
        let here = position.page();
        // Freed pages are marked, so this one is a leaf of the tree as long as it is held, and waiting is allowed.
        if check_page(index, id, &left, Some(0)).is_err() || fil::next(&left) != here.page_no {
            return Ok(None);
        }
        let right = pool.get_shared(here)?;
        // The page was freed, or has another neighbour by now.
        if check_page(index, here, &right, Some(0)).is_err() || fil::prev(&right) != id.page_no {
            return Ok(None);
        }
        if !has_key {
            return Ok(Some(left));
        }
        // They are neighbours now; nothing lies between the key and the left page if it lies between the two.
        let fields = self.state.key.fields();
        let key = Tuple::new(&fields);
        let in_right = self.tree.checked(here, search(&right, index, &key, SearchMode::Less))?;
        let in_left = self.tree.checked(id, search(&left, index, &key, SearchMode::Less))?;
        let comp = self.comp();
        let between = in_right.low == infimum(comp)
            && in_right.up != supremum(comp)
            && in_left.low != infimum(comp)
            && in_left.up == supremum(comp);
        Ok(between.then_some(left))
    }

    /// Calls `each` for the record it is on and the ones behind, until that breaks or there are no more records. Stays on
    /// the record broken at. Whether it was broken.
    ///
    /// # Errors
    /// Errors of reading pages, damage.
    ///
    /// # Latching
    /// `each` runs under the leaf's shared latch.
    pub fn for_each(&mut self, mut each: impl FnMut(RecordRef<'_>) -> ControlFlow<()>) -> Result<bool> {
        if matches!(self.state.at, At::Start | At::End) {
            return Ok(false);
        }
        self.latch_again()?;
        if self.state.at == At::Behind && !self.next()? {
            return Ok(false);
        }
        let supremum = supremum(self.comp());
        loop {
            let leaf = self.leaf.as_ref().expect("latched above");
            let id = leaf.id();
            let mut rec = self.state.rec;
            loop {
                if each(RecordRef { page: leaf, page_id: id, rec }).is_break() {
                    self.state.rec = rec;
                    return Ok(true);
                }
                let next = self.tree.checked(id, index_page::next_rec(leaf, rec))?;
                if next == supremum {
                    break;
                }
                rec = next;
            }
            self.state.rec = rec;
            if !self.next()? {
                return Ok(false);
            }
        }
    }

    /// Gives the latch up and remembers the place.
    ///
    /// # Errors
    /// If the record is damaged.
    pub fn store(&mut self) -> Result<()> {
        let Some(leaf) = self.leaf.take() else { return Ok(()) };
        match self.state.at {
            At::Record => self.remember_key(&leaf, self.state.rec)?,
            // The key remembered is still the one that was here.
            At::Behind => {}
            At::Start | At::End => return Ok(()),
        }
        self.state.position = Some(leaf.position());
        Ok(())
    }

    /// Comes back to the place remembered and latches the leaf.
    ///
    /// # Errors
    /// Errors of reading pages, damage.
    pub fn restore(&mut self) -> Result<Restored> {
        if self.state.at != At::Start && self.state.at != At::End {
            self.latch_again()?;
        }
        Ok(match self.state.at {
            At::Record => Restored::Same,
            At::Behind => Restored::Gone,
            At::Start | At::End => Restored::Off,
        })
    }

    /// Comes back to the place remembered with the leaf latched exclusively in a mini-transaction, to change the record.
    /// The cursor itself holds nothing then. `None` if the record is gone.
    ///
    /// # Errors
    /// Errors of reading pages, damage.
    pub fn restore_exclusive(&mut self, mtr: &mut Mtr<'s>) -> Result<Option<Position>> {
        if self.state.at != At::Record {
            return Ok(None);
        }
        self.store()?;
        let n = self.tree.index().n_uniq_in_tree();
        if let Some(position) = &self.state.position
            && let Some(leaf) = self.storage.pool().restore_exclusive(position)
        {
            let page = mtr.adopt_exclusive(leaf);
            let up = index_page::next_rec(mtr.page(page), self.state.rec);
            let up = self.tree.checked_in(mtr, page, up)?;
            let found =
                Found { rec: self.state.rec, low: self.state.rec, up, low_matched: n as u16, up_matched: 0 };
            return Ok(Some(Position::in_leaf(page, found)));
        }
        let fields = self.state.key.fields();
        let key = Tuple::new(&fields);
        let position = self.tree.search(mtr, &key, SearchMode::LessOrEqual, LatchMode::Exclusive)?;
        if usize::from(position.found().low_matched) == n {
            return Ok(Some(position));
        }
        position.release(mtr);
        Ok(None)
    }

    /// The key of the record it was on when the latch was given up.
    pub fn stored_key(&self) -> Vec<TupleField<'_>> {
        self.state.key.fields()
    }

    fn latch_again(&mut self) -> Result<()> {
        if self.leaf.is_some() {
            return Ok(());
        }
        if let Some(position) = self.state.position.take()
            && let Some(leaf) = self.storage.pool().restore_shared(&position)
        {
            self.leaf = Some(leaf);
            return Ok(());
        }
        let fields = self.state.key.fields();
        debug_assert!(!fields.is_empty(), "a place to come back to has the key of a record");
        let key = Tuple::new(&fields);
        let (leaf, found) = self.find(&key, SearchMode::LessOrEqual)?;
        self.state.at = if usize::from(found.low_matched) == fields.len() { At::Record } else { At::Behind };
        self.state.rec = found.low;
        self.leaf = Some(leaf);
        Ok(())
    }

    fn remember_key(&mut self, leaf: &PageReadGuard<'s>, rec: u16) -> Result<()> {
        let index = self.tree.index();
        self.tree.checked(leaf.id(), self.state.offsets.parse(leaf, rec, index.layout()))?;
        let n = index.n_uniq_in_tree();
        if self.state.offsets.n_fields() < n {
            let detail = format!("{}", self.state.offsets.n_fields());
            return Err(ops::bad(leaf.id(), index, "number of fields", detail));
        }
        self.state.key.set(leaf, rec, &self.state.offsets, n);
        Ok(())
    }

    /// Gives the place up, to go to another one.
    fn forget(&mut self) {
        self.leaf = None;
        self.state.position = None;
    }

    /// Stands behind a record, or the infimum, of a leaf. There is no key to come back by as long as it has been on no
    /// record.
    fn stand_behind(&mut self, leaf: PageReadGuard<'s>, rec: u16) {
        self.leaf = Some(leaf);
        self.state.rec = rec;
        self.state.at = At::Behind;
        self.state.key.clear();
    }

    fn comp(&self) -> bool {
        self.tree.index().layout().comp()
    }

    #[cold]
    fn bad_link(&self, page: PageId) -> crate::error::Error {
        self.tree.corrupt(page, Corruption::new("sibling links", "the neighbour does not point back"))
    }
}
