//! The undo logs of a running transaction: what is kept of them in memory, and how they begin.
//!
//! A log begins in a cached segment of the rollback segment if there is one, else in a new segment that takes the first
//! empty slot. A segment of kind INSERT that is used again begins anew; one of kind UPDATE gets a further log header
//! behind the logs that are in the history.
//!
//! # Crash
//! A log begins in one mini-transaction: slot, segment, page and header are there together or not at all.

use super::rseg::{RollbackSegments, Rseg, RsegNo, UndoSegment, damage};
use crate::error::{Error, Result};
use vaquita_base::{PageNo, TrxId};
use vaquita_format::redo_rec::encode;
use vaquita_format::rseg::{RollbackSegment, slot_offset};
use vaquita_format::undo::{self, SegmentState, UndoKind, UndoPage};
use vaquita_storage::fsp::list::{self, Place};
use vaquita_storage::fsp::{self, HeaderPlace, Reservation};
use vaquita_storage::{Mtr, PageRef};

/// Extents reserved for the creation of an undo segment.
const EXTENTS_FOR_SEGMENT: u32 = 2;

/// The undo logs of one transaction: at most one for inserts, one for updates.
#[derive(Debug, Default)]
pub struct TrxUndo {
    pub(super) next_no: u64,
    pub(super) rseg: Option<RsegNo>,
    pub(super) insert: Option<UndoLog>,
    pub(super) update: Option<UndoLog>,
}

/// An undo log of a transaction that has not ended.
#[derive(Debug)]
pub(super) struct UndoLog {
    pub(super) kind: UndoKind,
    pub(super) trx_id: TrxId,
    pub(super) segment: UndoSegment,
    /// Offset of the log header on the first page.
    pub(super) header: u16,
    /// Pages of the segment.
    pub(super) n_pages: u32,
    /// Where the next record goes if it fits.
    pub(super) last_page: PageNo,
    /// The newest record.
    pub(super) top: Option<Top>,
    /// State of the segment.
    pub(super) state: SegmentState,
    /// Whether a record is of interest to purge.
    pub(super) del_marks: bool,
    /// Whether the header says that the transaction changes the dictionary.
    pub(super) dict_operation: bool,
}

/// A log that is to begin.
#[derive(Debug, Clone, Copy)]
struct NewLog<'r> {
    trx: TrxId,
    dict: bool,
    kind: UndoKind,
    /// Its first record, with its number.
    first: (u64, &'r [u8]),
}

/// The newest record of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Top {
    pub(super) undo_no: u64,
    pub(super) page: PageNo,
    pub(super) offset: u16,
}

impl TrxUndo {
    /// Number of the next record.
    pub fn next_no(&self) -> u64 {
        self.next_no
    }

    /// Says what the next record's number is: records of other logs are numbered with these.
    pub(crate) fn go_on_from(&mut self, no: u64) {
        debug_assert!(no >= self.next_no, "numbers grow");
        self.next_no = no;
    }

    /// Whether a log has begun.
    pub(crate) fn has_logs(&self) -> bool {
        self.logs().next().is_some()
    }

    /// Number of the newest record that has not been taken back.
    pub(crate) fn newest_no(&self) -> Option<u64> {
        self.logs().filter_map(|log| Some(log.top?.undo_no)).max()
    }

    /// Whether there is no record that has not been taken back.
    pub(crate) fn is_taken_back(&self) -> bool {
        self.logs().all(|log| log.top.is_none())
    }

    /// Gives the transaction a rollback segment of the test's choice.
    #[cfg(test)]
    pub(super) fn set_rseg(&mut self, rseg: RsegNo) {
        debug_assert!(self.logs().next().is_none(), "a transaction keeps its rollback segment");
        self.rseg = Some(rseg);
    }

    /// Whether there is an update log: one that enters the history at commit.
    #[cfg(test)]
    pub(super) fn has_update_log(&self) -> bool {
        self.update.is_some()
    }

    pub(super) fn logs(&self) -> impl Iterator<Item = &UndoLog> {
        self.insert.iter().chain(&self.update)
    }

    pub(super) fn logs_mut(&mut self) -> impl Iterator<Item = &mut UndoLog> {
        self.insert.iter_mut().chain(&mut self.update)
    }

    #[inline]
    pub(super) fn log_mut(&mut self, kind: UndoKind) -> &mut Option<UndoLog> {
        match kind {
            UndoKind::Insert => &mut self.insert,
            UndoKind::Update => &mut self.update,
        }
    }
}

impl UndoLog {
    /// The offset of the log header, if `page` is the one that has it.
    pub(super) fn header_on(&self, page: PageNo) -> Option<u16> {
        (page == self.segment.first_page).then_some(self.header)
    }

    /// The base of the list of pages on the held first page.
    pub(super) fn pages(first: PageRef) -> Place {
        Place { page: first, offset: undo::SEGMENT_PAGES }
    }

    /// The node in the list of pages on a held page.
    pub(super) fn node(page: PageRef) -> Place {
        Place { page, offset: undo::PAGE_NODE }
    }

    pub(super) fn first_page(&self) -> PageNo {
        self.segment.first_page
    }
}

/// Views a held undo page.
#[inline]
pub(super) fn undo_page<'m>(mtr: &'m Mtr<'_>, page: PageRef) -> Result<UndoPage<'m>> {
    UndoPage::new(mtr.page(page)).map_err(|c| damage(mtr.id(page), c))
}

impl RollbackSegments {
    /// Begins the transaction's log of that kind, with `first` as its first record if there is room. Its rollback segment
    /// changes if that is full and the transaction has no log in it yet.
    ///
    /// # Errors
    /// [`Error::TooManyTransactions`], no space, errors of reading pages.
    #[cold]
    pub(super) fn begin_log(
        &self,
        trx: &mut TrxUndo,
        id: TrxId,
        dict_operation: bool,
        kind: UndoKind,
        first: &[u8],
    ) -> Result<()> {
        if self.usable.is_empty() {
            return Err(Error::ReadOnly);
        }
        let no = *trx.rseg.get_or_insert_with(|| self.assign());
        let new = NewLog { trx: id, dict: dict_operation, kind, first: (trx.next_no, first) };
        let mut log = self.begin_log_in(self.rseg(no), new)?;
        if log.is_none() && trx.logs().next().is_none() {
            for &other in &self.usable {
                log = self.begin_log_in(self.rseg(other), new)?;
                if log.is_some() {
                    trx.rseg = Some(other);
                    break;
                }
            }
        }
        *trx.log_mut(kind) = Some(log.ok_or(Error::TooManyTransactions)?);
        Ok(())
    }

    /// `None` if there is no empty slot.
    fn begin_log_in(&self, rseg: &Rseg, new: NewLog<'_>) -> Result<Option<UndoLog>> {
        let NewLog { trx, dict, kind, .. } = new;
        let cached = rseg.state.lock().take_cached(kind);
        let begun = match cached {
            Some(segment) => {
                let begun = self.reuse_segment(rseg, segment, new);
                if begun.is_err() {
                    rseg.state.lock().cache(kind, segment);
                }
                let (header, top) = begun?;
                Some((segment, header, top))
            }
            None => self.create_segment(rseg, new)?.map(|(segment, header)| (segment, header, None)),
        };
        Ok(begun.map(|(segment, header, top)| UndoLog {
            kind,
            trx_id: trx,
            segment,
            header,
            n_pages: 1,
            last_page: segment.first_page,
            top,
            state: SegmentState::Active,
            del_marks: false,
            dict_operation: dict,
        }))
    }

    /// Begins a log in a cached segment and gives the offset of its header, and its first record if that has room.
    fn reuse_segment(
        &self,
        rseg: &Rseg,
        segment: UndoSegment,
        NewLog { trx, dict, kind, first: (undo_no, body) }: NewLog<'_>,
    ) -> Result<(u16, Option<Top>)> {
        let mut mtr = self.storage.begin()?;
        let page = mtr.get_exclusive(rseg.page(segment.first_page))?;
        let view = undo_page(&mtr, page)?;
        let state = view.state().map_err(|c| damage(mtr.id(page), c))?;
        if state != SegmentState::Cached || view.kind() != Ok(kind) {
            let detail = format!("{state:?}, {:?}, expected a cached one of {kind:?}", view.kind());
            return Err(rseg.bad(segment.first_page, "cached undo segment", detail));
        }
        let header = write_log_header(&mut mtr, page, trx, kind == UndoKind::Insert)?;
        if dict {
            mark_dict_operation(&mut mtr, page, header);
        }
        let offset = append_if_fits(&mut mtr, page, body);
        mtr.commit();
        Ok((header, offset.map(|offset| Top { undo_no, page: segment.first_page, offset })))
    }

    /// Begins a log in a new segment; `None` if there is no empty slot.
    fn create_segment(
        &self,
        rseg: &Rseg,
        NewLog { trx, dict, kind, .. }: NewLog<'_>,
    ) -> Result<Option<(UndoSegment, u16)>> {
        let mut mtr = self.storage.begin()?;
        mtr.keep_before_images();
        let rseg_page = rseg.latch_header(&mut mtr)?;
        let Some(slot) = RollbackSegment::new(mtr.page(rseg_page)).first_empty_slot() else {
            return Ok(None);
        };
        let space = rseg.header.space;
        fsp::reserve_free_extents(&mut mtr, space, EXTENTS_FOR_SEGMENT, Reservation::Undo)?;
        let place = HeaderPlace::OnFirstPage { offset: undo::SEGMENT_HEADER as u16 };
        let made = fsp::create_segment_reserved(&mut mtr, space, place)?;
        let page = made.page;
        init_undo_page(&mut mtr, page, kind);
        mtr.write_u16(page, undo::PAGE_FREE, undo::FIRST_LOG as u16);
        mtr.write_u16(page, undo::SEGMENT_LAST_LOG, 0);
        list::init(&mut mtr, UndoLog::pages(page));
        list::add_last(&mut mtr, UndoLog::pages(page), UndoLog::node(page))?;
        let header = write_log_header(&mut mtr, page, trx, false)?;
        if dict {
            mark_dict_operation(&mut mtr, page, header);
        }
        let first_page = mtr.id(page).page_no;
        mtr.write_u32(rseg_page, slot_offset(slot), first_page.get());
        mtr.commit();
        Ok(Some((UndoSegment { slot: slot as u16, first_page, header: made.header }, header)))
    }

    /// Notes in the header of a log that its transaction changes the dictionary.
    #[cold]
    pub(super) fn mark_log_of_dict_operation(&self, rseg: &Rseg, log: &mut UndoLog) -> Result<()> {
        let mut mtr = self.storage.begin()?;
        let page = mtr.get_exclusive(rseg.page(log.first_page()))?;
        mark_dict_operation(&mut mtr, page, log.header);
        mtr.commit();
        log.dict_operation = true;
        Ok(())
    }
}

/// Appends a record to a held undo page, whose parts have been checked, and gives its offset; `None` with nothing changed
/// if it has no room.
pub(super) fn append_if_fits(mtr: &mut Mtr<'_>, page: PageRef, body: &[u8]) -> Option<u16> {
    let id = mtr.id(page);
    mtr.edit(page, |bytes, redo| {
        // It fails where there is no room, with nothing changed.
        let offset = undo::append_record(bytes, body).ok()?;
        encode::push_undo_insert(redo, id, body);
        Some(offset)
    })
}

/// Makes a page that was just created an undo page.
pub(super) fn init_undo_page(mtr: &mut Mtr<'_>, page: PageRef, kind: UndoKind) {
    let id = mtr.id(page);
    mtr.edit(page, |bytes, redo| {
        undo::init_page(bytes, kind);
        encode::push_undo_init(redo, id, kind);
    });
}

/// Writes a log header, with room for an XID: over the old one, or at the first free byte. On an error nothing is
/// changed.
fn write_log_header(mtr: &mut Mtr<'_>, page: PageRef, trx: TrxId, over_old: bool) -> Result<u16> {
    let id = mtr.id(page);
    let written = mtr.edit(page, |bytes, redo| {
        let header = if over_old { undo::reuse_log(bytes, trx)? } else { undo::create_log(bytes, trx)? };
        match over_old {
            true => encode::push_undo_hdr_reuse(redo, id, trx),
            false => encode::push_undo_hdr_create(redo, id, trx),
        }
        Ok(header)
    });
    let header = written.map_err(|c| damage(id, c))?;
    // There was room: `create_log` demands it, and `reuse_log` begins at the top of the page.
    let room = undo::add_xid_room(UndoPage::new(mtr.page(page)).expect("a header was just written"), header);
    for (at, v) in room {
        mtr.write_u16(page, at, v);
    }
    Ok(header)
}

fn mark_dict_operation(mtr: &mut Mtr<'_>, page: PageRef, header: u16) {
    let at = usize::from(header);
    mtr.write_u8(page, at + undo::LOG_DICT_TRANS, 1);
    mtr.write_u64(page, at + undo::LOG_TABLE_ID, 0);
}
