//! Rollback segments: the 128 slots of the TRX_SYS page, their header pages, what is kept of them in memory.
//!
//! # Invariants
//! - R1: `RsegState` describes the header page as the last finished mini-transaction left it: the cached lists hold
//!   exactly the segments in state CACHED that are in slots, `oldest` is the last log of the history list.
//! - R2: a segment on a cached list belongs to nobody; who takes it off owns it.
//!
//! # Latching
//! The mutex of `RsegState` is taken after `Storage::begin` and before any page. Nothing is waited for under it but
//! pages, and those only in the order of `docs/latching.md`.

use super::log::TrxUndo;
use crate::error::{Error, Result};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use vaquita_base::{PageId, PageNo, SpaceId, TrxId};
use vaquita_format::fil::{self, PageType};
use vaquita_format::flst::SegmentHeader;
use vaquita_format::rseg::{self, RollbackSegment};
use vaquita_format::undo::{LogHeader, UndoKind};
use vaquita_format::{Corruption, trx_sys};
use vaquita_storage::fsp::list::{self, Place};
use vaquita_storage::fsp::{self, HeaderPlace};
use vaquita_storage::{Mtr, PageRef, Storage};

/// Number of a rollback segment: its slot on the TRX_SYS page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct RsegNo(pub(super) u8);

/// The rollback segments of a folder: 128 slots, each with a header page of 1,024 undo slots (16K pages).
#[derive(Debug)]
pub struct RollbackSegments {
    pub(super) storage: Arc<Storage>,
    pub(super) rsegs: Vec<Option<Rseg>>,
    /// Those that new transactions get.
    pub(super) usable: Vec<RsegNo>,
    pub(super) next: AtomicUsize,
    /// How many of them they get.
    pub(super) in_use: AtomicUsize,
    pub(super) history_len: AtomicU64,
    pub(super) greatest_id: TrxId,
}

/// A transaction whose undo logs say that it had not ended.
#[derive(Debug)]
pub(crate) struct FoundTrx {
    /// Its id.
    pub(crate) id: TrxId,
    /// Whether it was prepared; it was active otherwise.
    pub(crate) prepared: bool,
    /// Its XID, if it was prepared.
    pub(crate) xid: Option<vaquita_format::undo::Xid>,
    /// Whether it changes the dictionary.
    pub(crate) dict_operation: bool,
    /// Its logs: to be put into the transaction.
    pub(crate) undo: TrxUndo,
}

/// A rollback segment.
#[derive(Debug)]
pub(super) struct Rseg {
    pub(super) no: RsegNo,
    pub(super) header: PageId,
    pub(super) state: Mutex<RsegState>,
}

/// What is kept in memory of a rollback segment.
#[derive(Debug, Default)]
pub(super) struct RsegState {
    cached_insert: Vec<UndoSegment>,
    cached_update: Vec<UndoSegment>,
    /// The log at the end of the history list: the one to be purged first.
    pub(super) oldest: Option<HistoryLog>,
}

/// An undo segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct UndoSegment {
    /// Its slot on the header page.
    pub(super) slot: u16,
    /// Its first page, with the log headers.
    pub(super) first_page: PageNo,
    pub(super) header: SegmentHeader,
}

/// An undo log of the history list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HistoryLog {
    /// First page of its segment.
    pub(super) page: PageNo,
    /// Offset of the log header.
    pub(super) header: u16,
    pub(super) trx_id: TrxId,
    pub(super) trx_no: TrxId,
    /// Whether purge has anything to look at.
    pub(super) del_marks: bool,
}

impl RsegState {
    /// Keeps a segment for a transaction to come.
    pub(super) fn cache(&mut self, kind: UndoKind, segment: UndoSegment) {
        let cached = self.cached(kind);
        debug_assert!(!cached.contains(&segment), "R2: {segment:?} belongs to nobody already");
        cached.push(segment);
    }

    /// Takes a segment off that an earlier transaction has left.
    pub(super) fn take_cached(&mut self, kind: UndoKind) -> Option<UndoSegment> {
        self.cached(kind).pop()
    }

    pub(super) fn cached(&mut self, kind: UndoKind) -> &mut Vec<UndoSegment> {
        match kind {
            UndoKind::Insert => &mut self.cached_insert,
            UndoKind::Update => &mut self.cached_update,
        }
    }
}

impl Rseg {
    pub(super) fn new(no: RsegNo, header: PageId) -> Self {
        Self { no, header, state: Mutex::new(RsegState::default()) }
    }

    /// A page of the tablespace that the rollback segment lies in.
    #[inline]
    pub(super) fn page(&self, no: PageNo) -> PageId {
        PageId::new(self.header.space, no)
    }

    /// Latches the header page exclusively and checks that it is one.
    pub(super) fn latch_header(&self, mtr: &mut Mtr<'_>) -> Result<PageRef> {
        let page = mtr.get_exclusive(self.header)?;
        check_header_page(mtr.page(page), self.header)?;
        Ok(page)
    }

    /// The base of the history list on the held header page.
    pub(super) fn history(&self, header: PageRef) -> Place {
        Place { page: header, offset: rseg::HISTORY }
    }

    #[cold]
    pub(super) fn bad(&self, page: PageNo, check: &'static str, detail: String) -> Error {
        damage(self.page(page), Corruption::new(check, detail))
    }
}

impl RollbackSegments {
    /// A rollback segment for a transaction that has none yet: all in turn.
    pub(super) fn assign(&self) -> RsegNo {
        let n = self.next.fetch_add(1, Ordering::Relaxed);
        let in_use = self.in_use.load(Ordering::Relaxed).clamp(1, self.usable.len());
        self.usable[n % in_use]
    }

    /// How many of them new transactions take (`rollback_segments`, `undo_logs`).
    pub(crate) fn set_in_use(&self, segments: usize) {
        self.in_use.store(segments, Ordering::Relaxed);
    }

    /// The greatest transaction id or number that opening has met; 0 if none.
    pub(crate) fn greatest_id(&self) -> TrxId {
        self.greatest_id
    }

    /// Undo logs in the histories.
    pub(crate) fn history_len(&self) -> u64 {
        self.history_len.load(Ordering::Relaxed)
    }

    /// The rollback segment that a transaction was given.
    pub(super) fn rseg(&self, no: RsegNo) -> &Rseg {
        self.rsegs[usize::from(no.0)].as_ref().expect("only rollback segments that exist are assigned")
    }

    pub(super) fn find(&self, no: u8) -> Option<&Rseg> {
        self.rsegs.get(usize::from(no))?.as_ref()
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Rseg> {
        self.rsegs.iter().flatten()
    }

    /// Length of a page.
    #[inline]
    pub(super) fn page_len(&self) -> usize {
        self.storage.options().page_size.logical()
    }
}

/// Turns a broken rule of a page into an error.
#[cold]
pub(super) fn damage(page: PageId, corruption: Corruption) -> Error {
    Error::Storage(vaquita_storage::Error::structure(page, corruption))
}

/// Checks what tells a header page from others.
pub(super) fn check_header_page(page: &[u8], id: PageId) -> Result<()> {
    let (ty, rseg) = (fil::raw_type(page), RollbackSegment::new(page));
    if ty == PageType::Sys.as_u16() && rseg.history().is_plausible() {
        return Ok(());
    }
    let detail = format!("page type {ty}, history {:?}", rseg.history());
    Err(damage(id, Corruption::new("rollback segment header", detail)))
}

/// The log of a history whose list node is at `node`.
pub(super) fn history_log(page: &[u8], id: PageId, node_offset: u16) -> Result<HistoryLog> {
    let at = usize::from(node_offset).checked_sub(vaquita_format::undo::LOG_HISTORY_NODE);
    let Some(header) = at.and_then(|at| u16::try_from(at).ok()) else {
        let detail = format!("node at {node_offset}");
        return Err(damage(id, Corruption::new("history list", detail)));
    };
    let log = LogHeader::read(page, header).map_err(|c| damage(id, c))?;
    let LogHeader { trx_id, trx_no, del_marks, .. } = log;
    Ok(HistoryLog { page: id.page_no, header, trx_id, trx_no, del_marks })
}

/// Makes rollback segment 0 of a new folder, at page 6 of the system tablespace.
///
/// # Errors
/// No space.
pub fn create_first_rollback_segment(storage: &Storage) -> Result<()> {
    let page = create_rollback_segment(storage, RsegNo(0))?;
    if page.page_no != rseg::FIRST_PAGE {
        let detail = format!("it was made at page {page}");
        return Err(damage(page, Corruption::new("place of rollback segment 0", detail)));
    }
    Ok(())
}

/// Makes a rollback segment in the system tablespace, in one mini-transaction, and enters it in its slot.
pub(super) fn create_rollback_segment(storage: &Storage, no: RsegNo) -> Result<PageId> {
    let mut mtr = storage.begin()?;
    mtr.keep_before_images();
    let sys = mtr.get_exclusive(PageId::new(SpaceId::SYSTEM, trx_sys::PAGE))?;
    let id = init_rollback_segment(&mut mtr, SpaceId::SYSTEM)?;
    let slot = trx_sys::encode_rseg(Some((id.space, id.page_no)));
    mtr.write_bytes(sys, trx_sys::rseg_offset(no.0.into()), &slot);
    mtr.commit();
    Ok(id)
}

/// Makes the header page of a rollback segment.
pub(super) fn init_rollback_segment(mtr: &mut Mtr<'_>, space: SpaceId) -> Result<PageId> {
    let place = HeaderPlace::OnFirstPage { offset: rseg::SEGMENT as u16 };
    let page = fsp::create_segment(mtr, space, place)?.page;
    mtr.write_u16(page, fil::TYPE, PageType::Sys.as_u16());
    mtr.write_u32(page, rseg::MAX_SIZE, rseg::MAX_SIZE_VALUE);
    mtr.write_u32(page, rseg::HISTORY_SIZE, 0);
    list::init(mtr, Place { page, offset: rseg::HISTORY });
    let slots = vec![0xFF; 4 * rseg::n_slots(mtr.page(page).len())];
    mtr.write_bytes(page, rseg::SLOTS, &slots);
    Ok(mtr.id(page))
}
