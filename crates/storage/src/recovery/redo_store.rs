//! Redo records kept by page, until the page is read.
//!
//! Record bytes are packed into frames borrowed from the pool, so that recovery needs hardly any memory beyond the
//! pool's setting; a page's entry is the list of its records' places. When the frames that may be borrowed are
//! used up, the caller applies everything kept so far and goes on scanning.
//!
//! # Invariants
//! - I1: the records of a page are applied in log order, all at once, under its exclusive latch.
//! - I2: a record is applied exactly if its mini-transaction started at or after the page's LSN: pages carry the
//!   end LSN of the last mini-transaction that changed them, and the log has no gaps.
//!
//! # Latching
//! The shard mutex of a page's entry is taken under the page's latch, for the removal of the entry only. The arena
//! is written by the scanning thread alone and read by the applying threads; the two phases alternate.

use super::DamageReport;
use crate::buf::{AfterRead, ArenaFrame, BufferPool};
use crate::error::{Error, Result};
use foldhash::fast::RandomState;
use parking_lot::{Mutex, RwLock};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use vaquita_base::codec::{get_u32, get_u64, put_u32, put_u64};
use vaquita_base::{Lsn, PageId, PageNo, SpaceId};
use vaquita_format::redo_rec::RecType;
use vaquita_format::{Corruption, fil, redo_apply};

const SHARDS: usize = 64;
/// Bytes in front of a packed record: start LSN 8, body length 4, type 1.
const PACKED_HEADER: usize = 13;
/// High bit of [`Place::memory`]: an index into the large records instead of a frame of the arena.
const LARGE: u32 = 1 << 31;

/// Where a packed record lies.
#[derive(Debug, Clone, Copy)]
struct Place {
    memory: u32,
    offset: u32,
}

/// The records of one page.
#[derive(Debug, Default)]
struct PageRedo {
    places: Vec<Place>,
    /// End of the last mini-transaction in the list.
    last_end: Lsn,
    /// The first record makes the page from nothing.
    starts_with_init: bool,
}

/// Borrowed memory for record bytes.
#[derive(Debug, Default)]
struct Arena {
    frames: Vec<ArenaFrame>,
    /// Records that do not fit a frame.
    large: Vec<Box<[u8]>>,
    used: usize,
}

impl Arena {
    fn at(&self, place: Place) -> &[u8] {
        if place.memory & LARGE != 0 {
            &self.large[(place.memory & !LARGE) as usize]
        } else {
            &self.frames[place.memory as usize][place.offset as usize..]
        }
    }
}

type Shard = Mutex<HashMap<PageId, PageRedo, RandomState>>;

/// Records by page.
pub(crate) struct RedoStore {
    pool: Arc<BufferPool>,
    shards: Vec<Shard>,
    arena: RwLock<Arena>,
    frames_max: usize,
    applied_pages: AtomicUsize,
    /// The page with the newest LSN that was found in a file.
    newest: Mutex<(Lsn, PageId)>,
    tolerate_damage: bool,
    damage: Arc<DamageReport>,
}

impl RedoStore {
    /// An empty store that borrows at most `frames_max` frames of the pool.
    pub(crate) fn new(
        pool: Arc<BufferPool>,
        frames_max: usize,
        tolerate_damage: bool,
        damage: Arc<DamageReport>,
    ) -> Self {
        Self {
            pool,
            shards: (0..SHARDS).map(|_| Shard::default()).collect(),
            arena: RwLock::default(),
            frames_max: frames_max.max(1),
            applied_pages: AtomicUsize::new(0),
            newest: Mutex::new((Lsn::ZERO, PageId::new(SpaceId::SYSTEM, PageNo(0)))),
            tolerate_damage,
            damage,
        }
    }

    fn shard(&self, page: PageId) -> &Shard {
        let mixed = page.as_u64().wrapping_mul(0x9E37_79B9_7F4A_7C15);
        &self.shards[(mixed >> 58) as usize % SHARDS]
    }

    /// Keeps a record; false if there is no memory left: apply what is kept, then try again.
    pub(crate) fn add(&self, page: PageId, rec_type: RecType, body: &[u8], start: Lsn, end: Lsn) -> bool {
        let Some(place) = self.pack(rec_type, body, start) else { return false };
        let mut shard = self.shard(page).lock();
        let entry = shard.entry(page).or_default();
        if rec_type == RecType::InitFilePage {
            // Whatever came before is overwritten by this record.
            entry.places.clear();
            entry.starts_with_init = true;
        }
        entry.places.push(place);
        entry.last_end = end;
        true
    }

    fn pack(&self, rec_type: RecType, body: &[u8], start: Lsn) -> Option<Place> {
        let mut guard = self.arena.write();
        let arena = &mut *guard;
        let len = PACKED_HEADER + body.len();
        let mut header = [0; PACKED_HEADER];
        put_u64(&mut header, 0, start.0);
        put_u32(&mut header, 8, body.len() as u32);
        header[12] = rec_type as u8;
        if len > self.pool.page_len() {
            let index = arena.large.len() as u32;
            arena.large.push([&header[..], body].concat().into());
            return Some(Place { memory: LARGE | index, offset: 0 });
        }
        if arena.frames.is_empty() || arena.used + len > self.pool.page_len() {
            if arena.frames.len() >= self.frames_max {
                return None;
            }
            match BufferPool::lend_frame(&self.pool) {
                Some(frame) => arena.frames.push(frame),
                // Nothing kept and nothing to borrow: a pool full of pages. One record at a time, then.
                None if arena.frames.is_empty() && arena.large.is_empty() => {
                    arena.large.push([&header[..], body].concat().into());
                    return Some(Place { memory: LARGE, offset: 0 });
                }
                None => return None,
            }
            arena.used = 0;
        }
        let (at, frame_no) = (arena.used, arena.frames.len() - 1);
        let frame = &mut arena.frames[frame_no];
        frame[at..at + PACKED_HEADER].copy_from_slice(&header);
        frame[at + PACKED_HEADER..at + len].copy_from_slice(body);
        arena.used += len;
        Some(Place { memory: frame_no as u32, offset: at as u32 })
    }

    /// The pages with records, in file order.
    pub(crate) fn pages(&self) -> Vec<PageId> {
        let mut all: Vec<PageId> = Vec::new();
        for shard in &self.shards {
            all.extend(shard.lock().keys());
        }
        all.sort_unstable();
        all
    }

    /// Forgets the records of a space (it was dropped later in the log).
    pub(crate) fn forget_space(&self, space: SpaceId) {
        for shard in &self.shards {
            shard.lock().retain(|page, _| page.space != space);
        }
    }

    /// Gives the borrowed frames back; no page may have records left.
    pub(crate) fn clear(&self) {
        for shard in &self.shards {
            assert!(shard.lock().is_empty(), "records are dropped only when applied");
        }
        *self.arena.write() = Arena::default();
    }

    /// Pages brought up to date so far.
    pub(crate) fn applied_pages(&self) -> usize {
        self.applied_pages.load(Ordering::Relaxed)
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

    fn apply(&self, page: PageId, redo: &PageRedo, bytes: &mut [u8]) -> Result<Option<(Lsn, Lsn)>> {
        let arena = self.arena.read();
        let page_lsn = fil::lsn(bytes);
        if !redo.starts_with_init {
            let mut newest = self.newest.lock();
            *newest = (*newest).max((page_lsn, page));
        }
        let mut first = None;
        for &place in &redo.places {
            let packed = arena.at(place);
            let start = Lsn(get_u64(packed, 0));
            if start < page_lsn {
                continue;
            }
            let body_len = get_u32(packed, 8) as usize;
            let body = &packed[PACKED_HEADER..PACKED_HEADER + body_len];
            let rec_type = RecType::from_u8(packed[12]).expect("packed from a known type");
            redo_apply::apply(rec_type, page, body, bytes).map_err(|c| broken(page, start, rec_type, c))?;
            first.get_or_insert(start);
        }
        Ok(first.map(|first| {
            fil::set_lsn(bytes, redo.last_end);
            self.applied_pages.fetch_add(1, Ordering::Relaxed);
            (first, redo.last_end)
        }))
    }
}

#[cold]
fn broken(page: PageId, start: Lsn, rec_type: RecType, mut corruption: Corruption) -> Error {
    corruption.detail = format!("redo of LSN {start} ({rec_type:?}) does not fit: {}", corruption.detail);
    Error::structure(page, corruption)
}

impl AfterRead for RedoStore {
    fn after_read(&self, page: PageId, bytes: &mut [u8]) -> Result<Option<(Lsn, Lsn)>> {
        let Some(redo) = self.shard(page).lock().remove(&page) else { return Ok(None) };
        match self.apply(page, &redo, bytes) {
            Err(e) if self.tolerate_damage => {
                self.damage.add(format!("{e}; the page is left as it is"));
                Ok(None)
            }
            applied => applied,
        }
    }

    fn is_self_contained(&self, page: PageId) -> bool {
        self.shard(page).lock().get(&page).is_some_and(|redo| redo.starts_with_init)
    }

    fn tolerates_damage(&self) -> bool {
        self.tolerate_damage
    }
}
