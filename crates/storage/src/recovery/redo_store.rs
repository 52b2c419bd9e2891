//! Redo records kept by page, until the page is read.
//!
//! Records are packed into chunks, a chain of them per page, so that a page's records lie together when they are
//! applied. Chunks are cut from frames borrowed from the pool: recovery needs hardly any memory beyond the pool's
//! setting. When the frames that may be borrowed are used up the store is full; it is applied, cleared and filled
//! again.
//!
//! A chunk: next chunk (memory u32, offset u32), bytes used u32, then packed records: start LSN u64, body length
//! u32, type u8, body.
//!
//! # Invariants
//! - I1: the records of a page are applied in log order, all at once, under its exclusive latch.
//! - I2: a record is applied exactly if its mini-transaction started at or after the page's LSN: pages carry the
//!   end LSN of the last mini-transaction that changed them, and the log has no gaps. So applying a store's records
//!   to a page a second time changes nothing.
//! - I3: a store is applied between mini-transactions: after a part of one, the page's LSN would say it is all there.
//! - I4: a page with records is dirty after its read even if it had all of them: it may be new in the system's cache
//!   alone, after a sync that failed, and only another write makes a sync save it.
//! - I5: it is dirty from its first record on, even if that was dropped because the page is made anew later in the log:
//!   a checkpoint in between would leave records, for a recovery in several rounds, whose page has never seen the ones
//!   before them.
//!
//! # Latching
//! Filled by the scanning thread alone, then read by the applying threads; the lock around the content is taken
//! under page latches for reading.

use super::DamageReport;
use crate::buf::{AfterRead, ArenaFrame, BufferPool};
use crate::error::{Error, Result};
use foldhash::fast::RandomState;
use parking_lot::{Mutex, RwLock};
use std::collections::HashMap;
use std::sync::Arc;
use vaquita_base::codec::{get_u32, get_u64, put_u32, put_u64};
use vaquita_base::{Lsn, PageId, PageNo, SpaceId};
use vaquita_format::redo_rec::RecType;
use vaquita_format::{Corruption, fil, redo_apply};

/// Chunks are multiples of this.
const CHUNK: usize = 512;
const CHUNK_HEADER: usize = 12;
/// Bytes in front of a packed record's body.
const RECORD_HEADER: usize = 13;
/// High bit of [`Place::memory`]: memory of its own instead of a frame.
const OWN_MEMORY: u32 = 1 << 31;

/// Where a chunk lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    memory: u32,
    offset: u32,
}

const NO_PLACE: Place = Place { memory: u32::MAX, offset: u32::MAX };

/// The records of one page.
#[derive(Debug)]
struct PageRedo {
    first: Place,
    last: Place,
    /// Bytes used and size of the last chunk.
    used: u32,
    size: u32,
    /// Start of the first mini-transaction, also if its records were dropped for an initialization that came later
    /// (I5).
    first_start: Lsn,
    /// End of the last mini-transaction.
    last_end: Lsn,
    /// The first record makes the page from nothing.
    starts_with_init: bool,
}

impl PageRedo {
    const EMPTY: PageRedo = PageRedo {
        first: NO_PLACE,
        last: NO_PLACE,
        used: 0,
        size: 0,
        first_start: Lsn::MAX,
        last_end: Lsn::ZERO,
        starts_with_init: false,
    };
}

/// Memory for chunks.
#[derive(Debug, Default)]
struct Arena {
    frames: Vec<ArenaFrame>,
    /// Bytes used of the last frame.
    used: usize,
    own: Vec<Box<[u8]>>,
}

impl Arena {
    fn at(&self, place: Place) -> &[u8] {
        match place.memory & OWN_MEMORY {
            0 => &self.frames[place.memory as usize][place.offset as usize..],
            _ => &self.own[(place.memory & !OWN_MEMORY) as usize],
        }
    }

    fn at_mut(&mut self, place: Place) -> &mut [u8] {
        match place.memory & OWN_MEMORY {
            0 => &mut self.frames[place.memory as usize][place.offset as usize..],
            _ => &mut self.own[(place.memory & !OWN_MEMORY) as usize],
        }
    }

    /// A chunk of at least `len` bytes: from a frame, or from the heap if it fits none or none can be borrowed.
    fn allocate(&mut self, pool: &Arc<BufferPool>, len: usize) -> (Place, usize) {
        let size = len.next_multiple_of(CHUNK);
        let page_len = pool.page_len();
        if size <= page_len {
            if (self.frames.is_empty() || self.used + size > page_len)
                && let Some(frame) = BufferPool::lend_frame(pool)
            {
                self.frames.push(frame);
                self.used = 0;
            }
            if !self.frames.is_empty() && self.used + size <= page_len {
                let place = Place { memory: self.frames.len() as u32 - 1, offset: self.used as u32 };
                self.used += size;
                return (place, size);
            }
        }
        self.own.push(vec![0; size].into());
        (Place { memory: OWN_MEMORY | (self.own.len() as u32 - 1), offset: 0 }, size)
    }
}

#[derive(Debug, Default)]
struct Content {
    pages: HashMap<PageId, PageRedo, RandomState>,
    arena: Arena,
}

/// Records by page.
pub(crate) struct RedoStore {
    pool: Arc<BufferPool>,
    content: RwLock<Content>,
    frames_max: usize,
    /// The page with the newest LSN that was found in a file.
    newest: Mutex<(Lsn, PageId)>,
    tolerate_damage: bool,
    damage: Arc<DamageReport>,
}

/// The store, being filled.
pub(crate) struct Filling<'s> {
    content: parking_lot::RwLockWriteGuard<'s, Content>,
    pool: &'s Arc<BufferPool>,
    frames_max: usize,
}

impl Filling<'_> {
    /// Whether it should be applied before more is added. Adding never fails: what comes on top takes memory of
    /// its own.
    pub(crate) fn is_full(&self) -> bool {
        self.content.arena.frames.len() >= self.frames_max || self.content.arena.own.len() >= self.frames_max
    }

    /// Keeps a record.
    #[inline]
    pub(crate) fn add(&mut self, page: PageId, rec_type: RecType, body: &[u8], start: Lsn, end: Lsn) {
        let Content { pages, arena } = &mut *self.content;
        let entry = pages.entry(page).or_insert(PageRedo::EMPTY);
        if rec_type == RecType::InitFilePage {
            // Whatever came before is overwritten by this record.
            let first_start = entry.first_start;
            *entry = PageRedo { starts_with_init: true, first_start, ..PageRedo::EMPTY };
        }
        debug_assert!(start < end, "a record of page {page} at {start}..{end}");
        debug_assert!(entry.last_end <= end, "I1: page {page}: {end} after {}", entry.last_end);
        entry.first_start = entry.first_start.min(start);
        let len = RECORD_HEADER + body.len();
        if entry.used as usize + len > entry.size as usize {
            let (place, size) = arena.allocate(self.pool, CHUNK_HEADER + len);
            let chunk = arena.at_mut(place);
            put_u32(chunk, 0, NO_PLACE.memory);
            put_u32(chunk, 4, NO_PLACE.offset);
            if entry.first == NO_PLACE {
                entry.first = place;
            } else {
                let last = arena.at_mut(entry.last);
                put_u32(last, 0, place.memory);
                put_u32(last, 4, place.offset);
            }
            (entry.last, entry.used, entry.size) = (place, CHUNK_HEADER as u32, size as u32);
        }
        let chunk = arena.at_mut(entry.last);
        let at = entry.used as usize;
        put_u64(chunk, at, start.0);
        put_u32(chunk, at + 8, body.len() as u32);
        chunk[at + 12] = rec_type as u8;
        chunk[at + RECORD_HEADER..at + len].copy_from_slice(body);
        entry.used += len as u32;
        put_u32(chunk, 8, entry.used);
        entry.last_end = end;
    }
}

impl RedoStore {
    /// An empty store that borrows about `frames_max` frames of the pool.
    pub(crate) fn new(
        pool: Arc<BufferPool>,
        frames_max: usize,
        tolerate_damage: bool,
        damage: Arc<DamageReport>,
    ) -> Self {
        Self {
            pool,
            content: RwLock::default(),
            frames_max: frames_max.max(1),
            newest: Mutex::new((Lsn::ZERO, PageId::new(SpaceId::SYSTEM, PageNo(0)))),
            tolerate_damage,
            damage,
        }
    }

    /// Opens the store for filling.
    pub(crate) fn fill(&self) -> Filling<'_> {
        Filling { content: self.content.write(), pool: &self.pool, frames_max: self.frames_max }
    }

    /// The pages with records, in file order.
    pub(crate) fn pages(&self) -> Vec<PageId> {
        let mut all: Vec<PageId> = self.content.read().pages.keys().copied().collect();
        all.sort_unstable();
        all
    }

    /// Forgets everything and gives the borrowed frames back. Every page with records has been brought up to date.
    pub(crate) fn clear(&self) {
        let mut content = self.content.write();
        content.pages.clear();
        content.arena = Arena::default();
    }

    /// Whether damage is let pass.
    pub(crate) fn tolerates(&self) -> bool {
        self.tolerate_damage
    }

    /// The newest LSN found on a page that redo was applied to, and the page. In a sound folder it is at most the end
    /// of the log.
    pub(crate) fn newest(&self) -> (Lsn, PageId) {
        *self.newest.lock()
    }

    fn apply(&self, page: PageId, bytes: &mut [u8]) -> Result<Option<(Lsn, Lsn)>> {
        let content = self.content.read();
        let Some(redo) = content.pages.get(&page) else { return Ok(None) };
        let page_lsn = fil::lsn(bytes);
        if !redo.starts_with_init {
            let mut newest = self.newest.lock();
            *newest = (*newest).max((page_lsn, page));
        }
        let mut changed = false;
        let mut place = redo.first;
        while place != NO_PLACE {
            let chunk = content.arena.at(place);
            let used = get_u32(chunk, 8) as usize;
            let mut at = CHUNK_HEADER;
            while at < used {
                let start = Lsn(get_u64(chunk, at));
                let len = get_u32(chunk, at + 8) as usize;
                let rec_type = RecType::from_u8(chunk[at + 12]).expect("packed from a known type");
                let body = &chunk[at + RECORD_HEADER..at + RECORD_HEADER + len];
                at += RECORD_HEADER + len;
                if start >= page_lsn {
                    redo_apply::apply(rec_type, page, body, bytes)
                        .map_err(|c| broken(page, start, rec_type, c))?;
                    changed = true;
                }
            }
            place = Place { memory: get_u32(chunk, 0), offset: get_u32(chunk, 4) };
        }
        if changed {
            fil::set_lsn(bytes, redo.last_end);
        }
        Ok(Some((redo.first_start, redo.last_end.max(page_lsn))))
    }
}

#[cold]
fn broken(page: PageId, start: Lsn, rec_type: RecType, mut corruption: Corruption) -> Error {
    corruption.detail = format!("redo of LSN {start} ({rec_type:?}) does not fit: {}", corruption.detail);
    Error::structure(page, corruption)
}

impl AfterRead for RedoStore {
    fn after_read(&self, page: PageId, bytes: &mut [u8]) -> Result<Option<(Lsn, Lsn)>> {
        match self.apply(page, bytes) {
            Err(e) if self.tolerate_damage => {
                self.damage.add(format!("{e}; the page is left as it is"));
                Ok(None)
            }
            applied => applied,
        }
    }

    fn is_self_contained(&self, page: PageId) -> bool {
        self.content.read().pages.get(&page).is_some_and(|redo| redo.starts_with_init)
    }

    fn tolerates_damage(&self) -> bool {
        self.tolerate_damage
    }
}
