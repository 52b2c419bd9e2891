//! Opening the rollback segments of a folder.
//!
//! What is found in the slots, by state:
//!
//! | state | meaning | done |
//! |---|---|---|
//! | ACTIVE, PREPARED | a transaction that has not ended | given to the caller |
//! | CACHED | to be used again | listed |
//! | TO_FREE | insert log of a committed transaction | freed |
//!
//! TO_PURGE segments are in no slot: the history list leads to them.

use super::log::{TrxUndo, UndoLog};
use super::rseg::{
    FoundTrx, HistoryLog, RollbackSegments, Rseg, RsegNo, UndoSegment, check_header_page,
    create_rollback_segment, damage, history_log,
};
use crate::error::{Error, Result};
use crate::options::Options;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize};
use vaquita_base::{PageId, PageNo, SpaceId, TrxId};
use vaquita_format::fil::{self, PageType};
use vaquita_format::flst::FileAddress;
use vaquita_format::rseg::RollbackSegment;
use vaquita_format::undo::{LogHeader, SegmentState, UndoKind, UndoPage};
use vaquita_format::{Corruption, trx_sys};
use vaquita_storage::Storage;

/// An undo segment in a slot, as its first page tells.
struct FoundSegment {
    segment: UndoSegment,
    state: SegmentState,
    kind: UndoKind,
    n_pages: u32,
    last_page: PageNo,
    header_offset: u16,
    header: LogHeader,
    xid: Option<vaquita_format::undo::Xid>,
}

impl RollbackSegments {
    /// Reads the rollback segments of a folder, creates those that are missing, and gives the transactions that were
    /// unfinished, by id.
    ///
    /// # Errors
    /// Errors of reading and writing pages, damage.
    pub(crate) fn open(
        storage: &Arc<Storage>,
        options: &Options,
    ) -> Result<(RollbackSegments, Vec<FoundTrx>)> {
        let wanted = options.rollback_segments.clamp(1, trx_sys::N_RSEGS);
        let read_only = storage.options().read_only;
        if !options.scan_undo {
            return Ok((Self::unseen(storage), Vec::new()));
        }
        let mut rsegs: Vec<Option<Rseg>> = Vec::with_capacity(trx_sys::N_RSEGS);
        for (n, slot) in read_slots(storage)?.into_iter().enumerate() {
            let no = RsegNo(n as u8);
            let header = match slot {
                Some(header) => Some(header),
                None if n < wanted && !read_only => Some(create_rollback_segment(storage, no)?),
                None => None,
            };
            rsegs.push(header.map(|header| Rseg::new(no, header)));
        }
        let usable: Vec<RsegNo> = rsegs[..wanted].iter().flatten().map(|r| r.no).collect();
        if usable.is_empty() && !read_only {
            let page = PageId::new(SpaceId::SYSTEM, trx_sys::PAGE);
            return Err(damage(page, Corruption::new("rollback segments", "there is none")));
        }
        let mut all = RollbackSegments {
            storage: storage.clone(),
            rsegs,
            usable,
            next: AtomicUsize::new(0),
            in_use: AtomicUsize::new(wanted),
            history_len: AtomicU64::new(0),
            greatest_id: TrxId(0),
        };
        all.read_pages()?;
        let (mut found, mut greatest) = (BTreeMap::new(), 0);
        for rseg in all.all() {
            greatest = greatest.max(all.read_rseg(rseg, read_only, &mut found)?.get());
        }
        all.greatest_id = TrxId(greatest);
        for trx in found.values_mut() {
            trx.undo.next_no = trx.undo.logs().filter_map(|l| Some(l.top?.undo_no + 1)).max().unwrap_or(0);
        }
        Ok((all, found.into_values().collect()))
    }

    /// None, with every id that a row can have among those of committed transactions.
    fn unseen(storage: &Arc<Storage>) -> RollbackSegments {
        RollbackSegments {
            storage: storage.clone(),
            rsegs: Vec::new(),
            usable: Vec::new(),
            next: AtomicUsize::new(0),
            in_use: AtomicUsize::new(0),
            history_len: AtomicU64::new(0),
            greatest_id: TrxId((1 << 48) - 2),
        }
    }

    /// Reads the pages that [`RollbackSegments::read_rseg`] looks at, in two rounds: one by one, hundreds of them would be
    /// most of what opening a folder takes.
    fn read_pages(&self) -> Result<()> {
        let pool = self.storage.pool();
        let headers: Vec<PageId> = self.all().map(|rseg| rseg.header).collect();
        pool.read_together(&headers)?;
        let mut pages = Vec::new();
        for rseg in self.all() {
            let page = pool.get_shared(rseg.header)?;
            // Whoever reads the segment says what is wrong with it.
            if check_header_page(&page, rseg.header).is_ok() {
                let view = RollbackSegment::new(&page);
                pages.extend(view.used_slots().map(|(_, first)| rseg.page(first)));
                let history = view.history();
                let ends = [history.first, history.last].into_iter().filter_map(|end| end.some());
                pages.extend(ends.map(|end| rseg.page(end.page)));
            }
        }
        Ok(pool.read_together(&pages)?)
    }

    /// Reads one rollback segment and gives the greatest id or number in it.
    fn read_rseg(
        &self,
        rseg: &Rseg,
        read_only: bool,
        found: &mut BTreeMap<TrxId, FoundTrx>,
    ) -> Result<TrxId> {
        let (slots, history) = {
            let page = self.storage.pool().get_shared(rseg.header)?;
            check_header_page(&page, rseg.header)?;
            let view = RollbackSegment::new(&page);
            (view.used_slots().collect::<Vec<_>>(), view.history())
        };
        let mut greatest = TrxId(0);
        if let (Some(oldest), Some(newest)) = (history.last.some(), history.first.some()) {
            rseg.state.lock().oldest = Some(self.log_at(rseg, oldest)?);
            greatest = self.log_at(rseg, newest)?.trx_no;
            self.history_len.fetch_add(history.len.into(), std::sync::atomic::Ordering::Relaxed);
        }
        for (slot, first_page) in slots {
            let segment = self.read_segment(rseg, slot, first_page)?;
            // The number of a log that is not in the history is what happened to be on the page.
            greatest = greatest.max(segment.header.trx_id);
            match segment.state {
                SegmentState::Active | SegmentState::Prepared => self.resurrect(rseg, segment, found)?,
                SegmentState::Cached => rseg.state.lock().cache(segment.kind, segment.segment),
                SegmentState::ToFree if read_only => {}
                SegmentState::ToFree => self.free_segment_in_slot(rseg, segment.segment, segment.n_pages)?,
                SegmentState::ToPurge => {
                    let detail = format!("TO_PURGE, but in slot {slot}");
                    return Err(rseg.bad(first_page, "undo segment state", detail));
                }
            }
        }
        Ok(greatest)
    }

    /// The log of the history whose list node is at `address`.
    pub(super) fn log_at(&self, rseg: &Rseg, address: FileAddress) -> Result<HistoryLog> {
        let id = rseg.page(address.page);
        let page = self.storage.pool().get_shared(id)?;
        history_log(&page, id, address.offset)
    }

    fn read_segment(&self, rseg: &Rseg, slot: usize, first_page: PageNo) -> Result<FoundSegment> {
        let id = rseg.page(first_page);
        let page = self.storage.pool().get_shared(id)?;
        segment_of(&page, rseg, slot, first_page).map_err(|c| damage(id, c))
    }

    /// Adds a log to the transaction it is of.
    fn resurrect(
        &self,
        rseg: &Rseg,
        segment: FoundSegment,
        found: &mut BTreeMap<TrxId, FoundTrx>,
    ) -> Result<()> {
        let FoundSegment { segment, state, kind, n_pages, last_page, header_offset, header, xid } = segment;
        let mut log = UndoLog {
            kind,
            trx_id: header.trx_id,
            segment,
            header: header_offset,
            n_pages,
            last_page,
            top: None,
            state,
            // Not known of the records that are there: purge is to look at them.
            del_marks: header.del_marks,
            dict_operation: header.dict_trans,
        };
        log.top = self.find_top(rseg, &log)?;
        let trx = found.entry(header.trx_id).or_insert_with(|| FoundTrx {
            id: header.trx_id,
            prepared: false,
            xid: None,
            dict_operation: false,
            undo: TrxUndo { rseg: Some(rseg.no), ..TrxUndo::default() },
        });
        if trx.undo.rseg != Some(rseg.no) || trx.undo.log_mut(kind).is_some() {
            let detail = format!("transaction {} has another log of kind {kind:?}", header.trx_id);
            return Err(rseg.bad(segment.first_page, "undo logs of a transaction", detail));
        }
        trx.prepared |= state == SegmentState::Prepared;
        trx.dict_operation |= header.dict_trans;
        trx.xid = trx.xid.or(xid.filter(|_| state == SegmentState::Prepared));
        *trx.undo.log_mut(kind) = Some(log);
        Ok(())
    }
}

/// Header pages of the rollback segments, by slot.
fn read_slots(storage: &Storage) -> Result<Vec<Option<PageId>>> {
    let page = storage.pool().get_shared(PageId::new(SpaceId::SYSTEM, trx_sys::PAGE)).map_err(Error::from)?;
    let slot = |n| trx_sys::rseg(&page, n).map(|(space, no)| PageId::new(space, no));
    Ok((0..trx_sys::N_RSEGS).map(slot).collect())
}

fn segment_of(
    page: &[u8],
    rseg: &Rseg,
    slot: usize,
    first_page: PageNo,
) -> vaquita_format::Result<FoundSegment> {
    let ty = fil::raw_type(page);
    if ty != PageType::UndoLog.as_u16() {
        return Err(Corruption::new("type of an undo page", format!("found {ty}")));
    }
    let view = UndoPage::new(page)?;
    let pages = view.pages();
    if pages.len == 0 || !pages.is_plausible() || pages.first.page != first_page {
        return Err(Corruption::new("list of undo pages", format!("{pages:?}")));
    }
    let header_offset = view.last_log();
    let segment = view.segment();
    if segment.space != rseg.header.space {
        return Err(Corruption::new("segment header", format!("{segment:?}")));
    }
    Ok(FoundSegment {
        segment: UndoSegment { slot: slot as u16, first_page, header: segment },
        state: view.state()?,
        kind: view.kind()?,
        n_pages: pages.len,
        last_page: pages.last.page,
        header_offset,
        header: LogHeader::read(page, header_offset)?,
        xid: LogHeader::read_xid(page, header_offset).unwrap_or(None),
    })
}
