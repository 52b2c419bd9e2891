//! Tablespaces of a folder that was not shut down cleanly, as recovery would make them: changes of the redo log are
//! applied in memory when a page is read. The files stay as they are.
//!
//! Only what the log says since its checkpoint is applied; a page that was torn when the machine lost power is taken from
//! its copy in the doublewrite area. Taking back what active transactions did is not part of it.
//!
//! Index pages of compressed tablespaces are changed in their compressed form, which is not done here: pages of a
//! tablespace with such changes stay as they are in the file, and it is left to the caller to say so.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::io;
use std::ops::Range;

use vaquita_base::{Lsn, PageId, PageNo, SpaceId};
use vaquita_format::checksum::{self, ChecksumAlgorithm};
use vaquita_format::fsp::SpaceHeader;
use vaquita_format::redo_file::Checkpoint;
use vaquita_format::redo_rec::{RecType, Record};
use vaquita_format::trx_sys::{self, Doublewrite};
use vaquita_format::{Corruption, PageSize, fil, redo_apply};

use super::redo::{LogEnd, RedoLog};
use super::source::{PageSource, ReadError};

/// Pages that a file may have grown by since the checkpoint, beyond its own length.
const GROWTH_MAX: u32 = 1 << 16;
/// Pages kept as they were made last: the same few are asked for again and again.
const KEPT: usize = 256;
/// Bytes of log records kept.
const BYTES_MAX: usize = 1 << 30;

/// A change of a page.
#[derive(Debug, Clone)]
struct Change {
    ty: RecType,
    /// Where its mini-transaction begins.
    start: Lsn,
    end: Lsn,
    /// Its body, in the bytes kept.
    body: Range<usize>,
}

/// The changes of a log since its checkpoint, by page.
#[derive(Debug, Default)]
pub struct PendingRedo {
    bytes: Vec<u8>,
    pages: HashMap<PageId, Vec<Change>>,
    /// Tablespaces with changes of records on index pages.
    with_records: BTreeSet<SpaceId>,
    /// Whether there is more than fits.
    cut_off: bool,
    /// Copies in the doublewrite area.
    copies: HashMap<PageId, Vec<Vec<u8>>>,
}

impl PendingRedo {
    /// Reads the log from a checkpoint on; with it, where it ends.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn read(log: &RedoLog, from: &Checkpoint) -> io::Result<(PendingRedo, LogEnd)> {
        let mut out = PendingRedo::default();
        let end = log.scan(from, &mut |record, run, lsn| out.add(record, run, lsn))?;
        Ok((out, end))
    }

    /// Keeps the copies of pages in the doublewrite area of a system tablespace.
    pub fn add_doublewrite(&mut self, system: &dyn PageSource) {
        let area = system.page(trx_sys::PAGE).ok().and_then(|page| Doublewrite::read(&page).ok().flatten());
        let Some(area) = area else { return };
        for block in area.blocks {
            for n in 0..Doublewrite::block_pages(system.page_size()) {
                let Ok(copy) = system.page(PageNo(block.get().wrapping_add(n))) else { continue };
                let id = PageId::new(fil::space_id(&copy), fil::page_no(&copy));
                self.copies.entry(id).or_default().push(copy.into_owned());
            }
        }
    }

    fn add(&mut self, record: &Record, run: &[u8], lsn: Range<Lsn>) {
        if !record.ty.has_page() || record.ty.is_file() || self.cut_off {
            return;
        }
        if !record.ty.is_simple() {
            self.with_records.insert(record.page.space);
        }
        if is_compressed(record.ty) {
            return;
        }
        let body = record.body(run);
        if self.bytes.len() + body.len() > BYTES_MAX {
            self.cut_off = true;
            return;
        }
        let start = self.bytes.len();
        self.bytes.extend_from_slice(body);
        let changes = self.pages.entry(record.page).or_default();
        if record.ty == RecType::InitFilePage {
            // Whatever came before is overwritten.
            changes.clear();
        }
        let body = start..self.bytes.len();
        changes.push(Change { ty: record.ty, start: lsn.start, end: lsn.end, body });
    }

    /// Whether the pages of a tablespace can be brought up to date here.
    pub fn applies_to(&self, space: SpaceId, size: PageSize) -> bool {
        !(self.cut_off || size.is_compressed() && self.with_records.contains(&space))
    }

    /// Whether the log makes the first page of a tablespace from nothing.
    pub fn makes(&self, space: SpaceId) -> bool {
        let first = self.pages.get(&PageId::new(space, PageNo(0)));
        first.and_then(|changes| changes.first()).is_some_and(|c| c.ty == RecType::InitFilePage)
    }

    fn apply(&self, id: PageId, changes: &[Change], page: &mut [u8]) -> Result<bool, Corruption> {
        let lsn = fil::lsn(page);
        let mut changed = false;
        for change in changes.iter().filter(|c| c.start >= lsn) {
            let body = &self.bytes[change.body.clone()];
            redo_apply::apply(change.ty, id, body, page).map_err(|e| {
                let detail = format!("that of LSN {} does not fit the page: {e}", change.start);
                Corruption::new("redo record", detail)
            })?;
            changed = true;
        }
        if changed && let Some(last) = changes.last() {
            fil::set_lsn(page, last.end);
        }
        Ok(changed)
    }
}

fn is_compressed(ty: RecType) -> bool {
    matches!(
        ty,
        RecType::ZipWriteNodePtr
            | RecType::ZipWriteBlobPtr
            | RecType::ZipWriteHeader
            | RecType::ZipPageCompress
            | RecType::ZipPageCompressNoData
            | RecType::ZipPageReorganize
    )
}

/// A tablespace with the changes of the log.
pub struct Recovered<'a> {
    src: &'a dyn PageSource,
    space: SpaceId,
    redo: &'a PendingRedo,
    applies: bool,
    n_pages: u32,
    kept: RefCell<Kept>,
}

/// Pages that changes were applied to, the oldest first.
#[derive(Default)]
struct Kept {
    pages: HashMap<PageNo, Vec<u8>>,
    order: VecDeque<PageNo>,
}

impl Kept {
    fn add(&mut self, no: PageNo, page: &[u8]) {
        if self.order.len() >= KEPT
            && let Some(oldest) = self.order.pop_front()
        {
            self.pages.remove(&oldest);
        }
        if self.pages.insert(no, page.to_vec()).is_none() {
            self.order.push_back(no);
        }
    }
}

impl<'a> Recovered<'a> {
    /// The pages of `src`, which are those of the tablespace `space`.
    pub fn new(src: &'a dyn PageSource, space: SpaceId, redo: &'a PendingRedo) -> Recovered<'a> {
        let (applies, n_pages) = (redo.applies_to(space, src.page_size()), src.n_pages());
        let kept = RefCell::default();
        let mut out = Recovered { src, space, redo, applies, n_pages, kept };
        // A file can be shorter than the log says: its growth was not durable yet. Recovery makes it grow again.
        if let Ok(first) = out.page(PageNo(0)).map(|page| SpaceHeader::read(&page))
            && first.space == space
            && applies
        {
            let most = n_pages.saturating_mul(2).saturating_add(GROWTH_MAX);
            let size = if first.size <= most { first.size } else { n_pages };
            out.n_pages = n_pages.max(size);
        }
        out
    }

    /// The page in the file; one that the file does not have yet is empty.
    fn stored(&self, no: PageNo) -> Result<Cow<'_, [u8]>, ReadError> {
        if no.get() >= self.src.n_pages() && no.get() < self.n_pages {
            return Ok(Cow::Owned(vec![0; self.page_size().physical()]));
        }
        self.src.page(no)
    }
}

impl PageSource for Recovered<'_> {
    fn page_size(&self) -> PageSize {
        self.src.page_size()
    }

    fn n_pages(&self) -> u32 {
        self.n_pages
    }

    fn page(&self, no: PageNo) -> Result<Cow<'_, [u8]>, ReadError> {
        if let Some(page) = self.kept.borrow().pages.get(&no) {
            return Ok(Cow::Owned(page.clone()));
        }
        let mut page = self.stored(no)?;
        let id = PageId::new(self.space, no);
        let (changes, copies) = (self.redo.pages.get(&id), self.redo.copies.get(&id));
        if changes.is_none() && copies.is_none() {
            return Ok(page);
        }
        let sound = |page: &[u8]| checksum::verify(page, self.page_size(), ChecksumAlgorithm::Innodb).is_ok();
        let mut whole = sound(&page);
        if !whole {
            let copies = copies.into_iter().flatten().filter_map(|c| c.get(..self.page_size().physical()));
            if let Some(copy) = copies.into_iter().find(|copy| sound(copy)) {
                (page, whole) = (Cow::Owned(copy.to_vec()), true);
            }
        }
        let Some(changes) = changes.filter(|_| self.applies) else { return Ok(page) };
        let made_anew = changes.first().is_some_and(|c| c.ty == RecType::InitFilePage);
        if !whole && !made_anew {
            // Damaged beyond repair: the check says so.
            return Ok(page);
        }
        let mut page = page.into_owned();
        if !whole {
            page.fill(0);
        }
        if self.redo.apply(id, changes, &mut page).map_err(ReadError::Page)? {
            checksum::stamp(&mut page, self.page_size(), ChecksumAlgorithm::Crc32);
        }
        self.kept.borrow_mut().add(no, &page);
        Ok(Cow::Owned(page))
    }
}
