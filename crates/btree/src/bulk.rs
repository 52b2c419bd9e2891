//! Building a tree from sorted records, bottom-up.
//!
//! Records fill a leaf in private memory; when the next one would exceed the fill factor, the page is written and a
//! pointer to it goes to the page being filled one level above, and so on. The pages of a level are allocated in the
//! order of their keys. The page that is alone on its level in the end becomes the root's content.
//!
//! A page that its tablespace never had in use is not logged, but written to the file ([`vaquita_storage::built`]). Of another
//! one older redo may be repeated after a crash: it is logged, as two runs of bytes, what lies below and above its free space, so
//! the redo is about as long as the data and needs no knowledge of records.
//!
//! # Crash
//! Nobody refers to the pages until [`BulkBuilder::finish`] writes the root, in one mini-transaction, after those without a log are
//! durable: the tree is empty before it and complete after it. A crash before leaves an empty tree whose segments own pages; who
//! builds an index drops it then ([`Tree::free_but_not_root`]). The same goes for a builder that is dropped.

use crate::error::{Error, Result};
use crate::ops;
use crate::rec_buf::RecBuf;
use crate::tree::Tree;
use std::cmp::Ordering;
use vaquita_base::codec::{put_u16, put_u64};
use vaquita_base::{Lsn, PageNo, SpaceId, TrxId};
use vaquita_format::fil::{self, PageType, TRAILER_SIZE};
use vaquita_format::index_def::IndexKind;
use vaquita_format::index_page::edit::{self, Appender};
use vaquita_format::index_page::header::{
    self, INDEX_ID, LEVEL, MAX_TRX_ID, N_DIR_SLOTS, RECORDS, heap_top, n_dir_slots, n_recs,
};
use vaquita_format::index_page::{self, empty_page_space, max_insert_size};
use vaquita_format::record::compare;
use vaquita_format::tuple::Tuple;
use vaquita_storage::fsp::{self, Direction, Reservation};
use vaquita_storage::{Mtr, PageRef, Storage};

/// Bytes written by one redo record at most.
const RUN_MAX: usize = 4_096;

/// Pages without a log that are written at a time.
const WRITTEN: usize = 128;

/// The page of a level that is being filled.
#[derive(Debug)]
struct Filling {
    image: Vec<u8>,
    appender: Option<Appender>,
    /// Its number, once it has one.
    page_no: Option<PageNo>,
    prev: PageNo,
}

/// Builds a tree from records in ascending order.
#[derive(Debug)]
pub struct BulkBuilder<'t> {
    tree: &'t Tree,
    storage: &'t Storage,
    /// Bytes to stay free on a page.
    spare: usize,
    max_trx_id: TrxId,
    levels: Vec<Filling>,
    records: u64,
    /// Used again from record to record.
    record: RecBuf,
    /// Pages from here on have no log; `None`: it is not known yet.
    without_log: Option<PageNo>,
    /// Those that were made, and how many of them were written.
    built: Vec<PageNo>,
    written: usize,
    /// The file is not there any more after a crash.
    new_file: bool,
}

impl<'t> BulkBuilder<'t> {
    /// Builds into `tree`, which is empty and used by nobody else, filling pages to `fill_percent` (10 to 100).
    pub fn new(tree: &'t Tree, storage: &'t Storage, fill_percent: u32) -> Self {
        let space = empty_page_space(storage.pool().page_len(), tree.index.layout().comp());
        let spare = space * (100 - fill_percent.clamp(10, 100) as usize) / 100;
        Self {
            tree,
            storage,
            spare,
            max_trx_id: TrxId(0),
            levels: Vec::new(),
            records: 0,
            record: RecBuf::new(),
            without_log: None,
            built: Vec::new(),
            written: 0,
            new_file: false,
        }
    }

    /// Writes this MAX_TRX_ID on the leaves of a secondary index.
    #[must_use]
    pub fn with_max_trx_id(mut self, trx_id: TrxId) -> Self {
        self.max_trx_id = trx_id;
        self
    }

    /// The tree is in a file that a crash makes go, whatever is in it.
    #[must_use]
    pub fn of_new_file(mut self) -> Self {
        self.new_file = true;
        self
    }

    /// Records so far.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Adds a record; values that are too long move off the page.
    ///
    /// # Errors
    /// [`Error::NotSorted`], [`Error::RecordTooBig`], no space, errors of reading pages of the space management, damage.
    /// The tree is to be dropped then, unless the error was one of the first two.
    ///
    /// # Panics
    /// If the tuple does not have the fields of the index.
    pub fn push(&mut self, tuple: &Tuple<'_>) -> Result<()> {
        self.check_order(tuple)?;
        let mut record = std::mem::take(&mut self.record);
        let appended = self.append_tuple(tuple, &mut record);
        self.record = record;
        appended?;
        self.records += 1;
        Ok(())
    }

    fn append_tuple(&mut self, tuple: &Tuple<'_>, record: &mut RecBuf) -> Result<()> {
        if self.tree.encode_whole(tuple, record)? {
            return self.append(0, record);
        }
        let stored = self.tree.store_in(self.storage, tuple, self.room())?;
        self.append(0, &stored.record)
    }

    /// Adds an encoded record with the key of a tuple; see [`BulkBuilder::push`].
    ///
    /// # Errors
    /// As [`BulkBuilder::push`].
    pub fn push_record(&mut self, key: &Tuple<'_>, rec: &RecBuf) -> Result<()> {
        self.check_order(key)?;
        self.append(0, rec)?;
        self.records += 1;
        Ok(())
    }

    /// The last record is on the page being filled: pages are written only when the next record comes.
    fn check_order(&self, tuple: &Tuple<'_>) -> Result<()> {
        let Some(leaf) = self.levels.first() else { return Ok(()) };
        let Some(appender) = &leaf.appender else { return Ok(()) };
        let index = &self.tree.index;
        let key = tuple.compare_first(index.n_uniq_in_tree());
        let order = compare(index, &leaf.image, appender.last(), &key, &mut 0);
        match self.tree.checked(self.tree.page_id(self.tree.root), order)? {
            Ordering::Greater => Ok(()),
            Ordering::Equal | Ordering::Less => Err(Error::NotSorted),
        }
    }

    fn append(&mut self, level: usize, rec: &RecBuf) -> Result<()> {
        assert!(level <= self.levels.len(), "level {level} of a tree of {} is filled", self.levels.len());
        if level == self.levels.len() {
            self.levels.push(self.start_page(level, PageNo::NULL, None));
        }
        let root = self.tree.page_id(self.tree.root);
        let at = &mut self.levels[level];
        let n = at.appender.as_ref().map_or(0, |_| usize::from(header::n_heap(&at.image)) - 2);
        // Two records at least, or there would be no end of levels.
        let full = n >= 2 && max_insert_size(&at.image, 1) < rec.len() + self.spare;
        if !full {
            let appender = at.appender.as_mut().expect("a page being filled has an appender");
            let done = appender.push(&mut at.image, rec.bytes(), rec.extra());
            if self.tree.checked(root, done)?.is_some() {
                return Ok(());
            }
        }
        self.turn_page(level, true)?;
        let at = &mut self.levels[level];
        let appender = at.appender.as_mut().expect("a page just started has an appender");
        let done = appender.push(&mut at.image, rec.bytes(), rec.extra());
        match self.tree.checked(root, done)? {
            Some(_) => Ok(()),
            None => Err(Error::RecordTooBig { size: rec.len(), max: self.tree.index.rec_size_max() }),
        }
    }

    fn start_page(&self, level: usize, prev: PageNo, page_no: Option<PageNo>) -> Filling {
        let index = &self.tree.index;
        let mut image = vec![0; self.storage.pool().page_len()];
        edit::create(&mut image, index.layout().comp());
        header::set_level_and_index(&mut image, level as u16, index.id());
        if level == 0 && index.kind() == IndexKind::Secondary {
            put_u64(&mut image, MAX_TRX_ID, self.max_trx_id.get());
        }
        let appender = Some(Appender::new(&image));
        Filling { image, appender, page_no, prev }
    }

    /// Writes the page of a level, gives its pointer to the level above and, unless it is the last one, starts the next.
    fn turn_page(&mut self, level: usize, more: bool) -> Result<()> {
        self.close_page(level)?;
        let segment = self.tree.segment_of_level(level as u16);
        let without_log = match self.without_log {
            Some(page_no) => page_no,
            // Temporary tables have no log anyway.
            None if self.tree.space == SpaceId::TEMPORARY => PageNo::NULL,
            None => self.storage.never_used(self.tree.space)?,
        };
        self.without_log = Some(without_log);
        let mut mtr = self.storage.begin()?;
        mtr.keep_before_images();
        if let Some(room) = self.room() {
            fsp::reserve_free_extents(&mut mtr, self.tree.space, 1, room)?;
        }
        let at = &mut self.levels[level];
        let page_no = match at.page_no {
            Some(page_no) => page_no,
            None => fsp::allocate_page(&mut mtr, segment, self.tree.root, Direction::Up)?,
        };
        let next = if more {
            fsp::allocate_page(&mut mtr, segment, PageNo(page_no.get() + 1), Direction::Up)?
        } else {
            PageNo::NULL
        };
        // The allocation ends before the page is written, which may take more redo than one mini-transaction has.
        mtr.commit();
        at.page_no = Some(page_no);
        fil::set_prev(&mut at.image, at.prev);
        fil::set_next(&mut at.image, next);
        match page_no < without_log {
            true => self.write_page(level, page_no)?,
            false => self.build_page(level, page_no)?,
        }

        let image = &self.levels[level].image;
        if level == 0 {
            let mut mtr = self.storage.begin()?;
            self.tree.lower_free_bits_of(&mut mtr, page_no, image)?;
            mtr.commit();
        }
        let id = self.tree.page_id(page_no);
        let first = self.tree.checked(id, index_page::first_rec(image))?;
        let ptr = RecBuf::node_ptr(&self.tree.index, image, first, 0, page_no);
        let ptr = self.tree.checked(id, ptr)?;
        if more {
            self.levels[level] = self.start_page(level, page_no, Some(next));
        }
        self.append(level + 1, &ptr)
    }

    /// What is to be left in the space while pages are taken. Nothing in a table's own file: a page that is not to be had ends the build, which
    /// has changed nothing by then, and whoever changes rows later makes room again.
    fn room(&self) -> Option<Reservation> {
        matches!(self.tree.space, SpaceId::SYSTEM | SpaceId::TEMPORARY).then_some(Reservation::Normal)
    }

    /// Closes the record list of the page of a level.
    fn close_page(&mut self, level: usize) -> Result<()> {
        let root = self.tree.page_id(self.tree.root);
        let at = &mut self.levels[level];
        let appender = at.appender.take().expect("a page is closed once");
        self.tree.checked(root, appender.finish(&mut at.image))?;
        if level > 0 && at.prev.is_null() {
            let first = self.tree.checked(root, index_page::first_rec(&at.image))?;
            self.tree.checked(root, edit::set_min_rec_mark(&mut at.image, first))?;
        }
        Ok(())
    }

    /// Makes a page without a log.
    fn build_page(&mut self, level: usize, page_no: PageNo) -> Result<()> {
        let image = &self.levels[level].image;
        self.storage.build_page(self.tree.page_id(page_no), |bytes| {
            put_u16(bytes, fil::TYPE, PageType::Index.as_u16());
            bytes[fil::PREV..fil::PREV + 8].copy_from_slice(&image[fil::PREV..fil::PREV + 8]);
            let end = image.len() - TRAILER_SIZE;
            bytes[N_DIR_SLOTS..end].copy_from_slice(&image[N_DIR_SLOTS..end]);
        })?;
        self.built.push(page_no);
        if self.built.len() - self.written >= WRITTEN {
            self.storage.write_built(self.tree.space, &self.built[self.written..], self.new_file)?;
            self.written = self.built.len();
        }
        Ok(())
    }

    fn write_page(&self, level: usize, page_no: PageNo) -> Result<()> {
        let id = self.tree.page_id(page_no);
        let image = &self.levels[level].image;
        assert_ne!(
            page_no, self.tree.root,
            "the root is written last, and not as one of the pages of level {level}"
        );
        let mut mtr = self.storage.begin()?;
        let mut page = mtr.create_page(id)?;
        mtr.write_u16(page, fil::TYPE, PageType::Index.as_u16());
        mtr.write_bytes(page, fil::PREV, &image[fil::PREV..fil::PREV + 8]);
        for (start, end) in runs(image, N_DIR_SLOTS) {
            if mtr.log_len() + (end - start) > self.storage.mtr_log_max() / 2 {
                // Nobody refers to the page: it may be written in pieces.
                mtr.commit();
                mtr = self.storage.begin()?;
                page = mtr.get_exclusive(id)?;
            }
            mtr.write_bytes(page, start, &image[start..end]);
        }
        mtr.commit();
        Ok(())
    }

    /// Writes what is left and makes the tree visible; the LSN that must be durable for it to last.
    ///
    /// # Errors
    /// As [`BulkBuilder::push`].
    pub fn finish(mut self) -> Result<Lsn> {
        let mut level = 0;
        while level < self.levels.len() {
            let is_top = level + 1 == self.levels.len();
            if is_top && self.levels[level].prev.is_null() {
                self.close_page(level)?;
                if !self.built.is_empty() {
                    self.storage.settle_built(self.tree.space, &self.built[self.written..], self.new_file)?;
                }
                return self.write_root(level);
            }
            self.turn_page(level, false)?;
            level += 1;
        }
        Ok(self.storage.log().current_lsn())
    }

    fn write_root(&self, level: usize) -> Result<Lsn> {
        assert_eq!(level + 1, self.levels.len(), "the root is what is above all");
        let image = &self.levels[level].image;
        assert_eq!(usize::from(header::level(image)), level, "the level of a page that was filled");
        let id = self.tree.page_id(self.tree.root);
        let mut mtr = self.storage.begin()?;
        let root: PageRef = mtr.get_exclusive(id)?;
        crate::descent::check_page(&self.tree.index, id, mtr.page(root), Some(0))?;
        if n_recs(mtr.page(root)) != 0 {
            return Err(ops::bad(id, &self.tree.index, "root of a tree to build", "it is not empty"));
        }
        self.tree.lower_free_bits_of(&mut mtr, self.tree.root, image)?;
        write_root_image(&mut mtr, root, image);
        Ok(mtr.commit())
    }
}

/// Writes the image over an empty root, whose segment headers and number stay.
fn write_root_image(mtr: &mut Mtr<'_>, root: PageRef, image: &[u8]) {
    mtr.write_bytes(root, N_DIR_SLOTS, &image[N_DIR_SLOTS..LEVEL]);
    mtr.write_u16(root, LEVEL, header::level(image));
    const { assert!(LEVEL + 2 == INDEX_ID) };
    for (start, end) in runs(image, RECORDS) {
        mtr.write_bytes(root, start, &image[start..end]);
    }
}

/// The used bytes of a page from `from` on, in runs that one redo record takes.
fn runs(image: &[u8], from: usize) -> Vec<(usize, usize)> {
    let directory = image.len() - TRAILER_SIZE - 2 * n_dir_slots(image);
    let parts = [(from, heap_top(image)), (directory, image.len() - TRAILER_SIZE)];
    let split = |(start, end): (usize, usize)| {
        (start..end).step_by(RUN_MAX).map(move |at| (at, (at + RUN_MAX).min(end)))
    };
    parts.into_iter().flat_map(split).collect()
}
