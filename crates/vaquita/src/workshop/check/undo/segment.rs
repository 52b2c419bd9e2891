//! One undo segment: its pages, its log headers, its records.

use vaquita_base::{PageNo, TableId};
use vaquita_format::Corruption;
use vaquita_format::dict::FIRST_DYNAMIC_ID;
use vaquita_format::fil::PageType;
use vaquita_format::undo::record::{UndoHeader, UndoRecord, UndoType};
use vaquita_format::undo::{
    FIRST_LOG, LOG_HEADER_SIZE, LogHeader, PAGE_NODE, PAGE_RECORDS, SegmentState, UndoKind, UndoPage, Xid,
};

use super::super::extents::walk_list;
use super::super::marks::{ALLOCATED, BAD, REACHED};
use super::UndoCheck;

/// A log in a segment.
#[derive(Debug, Clone)]
pub(super) struct Log {
    /// Its header on the segment's first page.
    pub(super) offset: u16,
    /// The header.
    pub(super) header: LogHeader,
    /// Where its part of the first page ends.
    pub(super) end: u16,
    /// Records left in it.
    pub(super) records: u64,
    /// Whether the history list has it.
    pub(super) in_history: bool,
}

/// A segment whose first page makes sense.
#[derive(Debug, Clone)]
pub(super) struct UndoSegment {
    /// Rollback segment it was found through.
    pub(super) rseg: usize,
    /// Its slot; `usize::MAX` if only the history leads to it.
    pub(super) slot: usize,
    /// First page.
    pub(super) first: PageNo,
    pub(super) kind: UndoKind,
    pub(super) state: SegmentState,
    /// Pages, as its list says.
    pub(super) list_len: u32,
    /// Pages of the list, in order, as far as they could be read.
    pub(super) pages: Vec<PageNo>,
    /// Logs, the oldest first.
    pub(super) logs: Vec<Log>,
    /// XID of the newest log.
    pub(super) xid: Option<Xid>,
    /// Whether the size of the history has it.
    pub(super) counted: bool,
    /// Whether every page and log made sense.
    pub(super) sound: bool,
    /// Whether it has changes of the dictionary.
    pub(super) of_dictionary: bool,
}

impl UndoSegment {
    /// Whether its newest log is of a transaction that has not ended.
    pub(super) fn is_open(&self) -> bool {
        matches!(self.state, SegmentState::Active | SegmentState::Prepared)
    }
}

impl UndoCheck<'_> {
    pub(super) fn read_segment(
        &mut self,
        rseg: usize,
        slot: usize,
        first: PageNo,
        what: &str,
    ) -> Option<UndoSegment> {
        let before = self.ctx.report.count();
        if self.ctx.marks.has(first, REACHED) {
            self.fault(first, "undo segment", format!("{what} begins on a page that is in use"));
            return None;
        }
        let page = self.page(first, PageType::UndoLog)?;
        self.ctx.marks.set(first, REACHED);
        let head = UndoPage::new(&page).and_then(|view| Ok((view, view.state()?, view.kind()?)));
        let (view, state, kind) = match head {
            Ok(head) => head,
            Err(e) => {
                self.ctx.report.page(first, e);
                return None;
            }
        };
        let mut found = UndoSegment {
            rseg,
            slot,
            first,
            kind,
            state,
            list_len: view.pages().len,
            pages: vec![first],
            logs: Vec::new(),
            xid: None,
            counted: false,
            sound: false,
            of_dictionary: false,
        };
        self.of_dictionary = false;
        if let Err(e) = self.logs(&page, &mut found) {
            self.ctx.report.page(first, e);
            return Some(found);
        }
        if self.is_half_freed(&found, view) {
            self.ctx.report.remark(format!("{what}: purge was freeing the undo segment at page {first}"));
            return Some(found);
        }
        self.pages(&mut found, view, what);
        found.sound = self.ctx.report.count() == before;
        found.of_dictionary =
            self.of_dictionary || found.logs.last().is_some_and(|log| log.header.dict_trans);
        Some(found)
    }

    /// Purge frees the pages of a log it is done with one by one, the list still naming them.
    fn is_half_freed(&self, found: &UndoSegment, view: UndoPage<'_>) -> bool {
        let done = found.logs.last().is_some_and(|log| !log.header.del_marks);
        let extents = self.ctx.extents;
        let used =
            extents.segment_of(view.segment()).and_then(|id| extents.segments.get(&id)).map(|s| s.used);
        done && found.state == SegmentState::ToPurge
            && used.is_some_and(|used| used < u64::from(found.list_len))
    }

    /// The pages of a segment, in the order of its list, and the records of the newest log on them.
    fn pages(&mut self, found: &mut UndoSegment, view: UndoPage<'_>, what: &str) {
        let first = found.first;
        let name = format!("pages of {what}");
        let marks = &*self.ctx.marks;
        let (nodes, fault) = walk_list(self.ctx.src, &name, view.pages(), |p| marks.has(p, BAD));
        let whole = fault.is_none();
        if let Some((page, fault)) = fault {
            self.ctx.report.page(page.unwrap_or(first), fault);
        }
        if let Some(node) = nodes.iter().find(|n| usize::from(n.offset) != PAGE_NODE) {
            return self.fault(first, "list", format!("{name}: {node} is not where undo pages have it"));
        }
        if nodes.first().is_none_or(|node| node.page != first) {
            return self.fault(first, "list", format!("{name}: it does not begin with this page"));
        }
        self.ownership(found, view, &nodes.iter().map(|n| n.page).collect::<Vec<_>>(), whole, what);
        let mut last = self.last_undo_no.take();
        for no in nodes.into_iter().skip(1).map(|n| n.page) {
            if self.ctx.marks.has(no, REACHED) {
                self.fault(no, "undo page", format!("{what} leads to a page that is in use"));
                return;
            }
            self.ctx.marks.set(no, REACHED);
            found.pages.push(no);
            let Some(page) = self.page(no, PageType::UndoLog) else { return };
            match self.further_page(&page, found.kind, &mut last) {
                Ok(n) => found.logs.last_mut().map_or((), |log| log.records += n),
                Err(e) => self.ctx.report.page(no, e),
            }
        }
    }

    fn further_page(
        &mut self,
        page: &[u8],
        kind: UndoKind,
        last: &mut Option<u64>,
    ) -> Result<u64, Corruption> {
        let view = UndoPage::new(page)?;
        if view.kind()? != kind {
            return Err(Corruption::new("undo page type", "differs from that of the segment's first page"));
        }
        self.records(view, kind, PAGE_RECORDS as u16, view.free(), last)
    }

    /// Every page of the list is allocated to the segment that the first page names, and no other is.
    fn ownership(
        &mut self,
        found: &UndoSegment,
        view: UndoPage<'_>,
        pages: &[PageNo],
        whole: bool,
        what: &str,
    ) {
        let (extents, size) = (self.ctx.extents, self.ctx.src.page_size());
        if !extents.complete {
            return;
        }
        let named = extents.segment_of(view.segment()).and_then(|id| Some((id, extents.segments.get(&id)?)));
        let Some((id, segment)) = named else {
            return self.fault(found.first, "undo segment", format!("{what} names an inode that is none"));
        };
        for &no in pages {
            if !self.ctx.marks.has(no, ALLOCATED) {
                self.fault(no, "page allocation", format!("{what} uses a page that is marked free"));
            } else if extents.owner(size, no) != Some(id) {
                let owner = extents.owner(size, no).map_or("nobody".to_owned(), |o| format!("segment {o}"));
                let detail = format!("{what} uses it by segment {id}, it belongs to {owner}");
                self.fault(no, "page allocation", detail);
            }
        }
        if whole && segment.used != pages.len() as u64 {
            let detail = format!("{what}: {} pages in its list, {} allocated", pages.len(), segment.used);
            self.fault(found.first, "undo segment", detail);
        }
    }

    /// The log headers on the first page, by their chain, and the records there.
    fn logs(&mut self, page: &[u8], found: &mut UndoSegment) -> Result<(), Corruption> {
        let view = UndoPage::new(page)?;
        let chain = log_chain(page, view.last_log())?;
        if found.kind == UndoKind::Insert && chain.len() != 1 {
            let detail = format!("an INSERT segment has {} logs", chain.len());
            return Err(Corruption::new("undo log headers", detail));
        }
        self.last_undo_no = None;
        for (offset, header) in chain {
            let end = if header.next == 0 { view.free() } else { header.next };
            let start = header.start.min(end);
            let mut last = None;
            let records = self.records(view, found.kind, start, end, &mut last)?;
            self.last_undo_no = last;
            if header.trx_id >= self.out.bound {
                let detail = format!("log at {offset}: {}, ids end before {}", header.trx_id, self.out.bound);
                return Err(Corruption::new("transaction id", detail).at(offset.into()));
            }
            found.logs.push(Log { offset, header, end, records, in_history: false });
        }
        let Some(newest) = found.logs.last() else { return Ok(()) };
        found.xid = LogHeader::read_xid(page, newest.offset)?;
        if found.state == SegmentState::Prepared && found.xid.is_none() {
            return Err(Corruption::new("undo segment state", "prepared, but without an XID"));
        }
        Ok(())
    }

    /// The records between two offsets: back to back, parsed to their ends, numbers ascending; how many.
    fn records(
        &mut self,
        view: UndoPage<'_>,
        kind: UndoKind,
        start: u16,
        end: u16,
        last: &mut Option<u64>,
    ) -> Result<u64, Corruption> {
        let (mut at, mut n) = (start, 0);
        while at < end {
            let body = view.record(at)?;
            let header = UndoHeader::parse(body).map_err(|e| e.at(at.into()))?;
            self.record(body, &header, kind).map_err(|e| e.at(at.into()))?;
            if last.is_some_and(|last| header.undo_no <= last) {
                let detail = format!("{} follows {}", header.undo_no, last.unwrap_or_default());
                return Err(Corruption::new("undo number", detail).at(at.into()));
            }
            *last = Some(header.undo_no);
            at = at.saturating_add(body.len() as u16 + 4);
            n += 1;
        }
        if at > end {
            let detail = format!("the last record ends at {at}, the log at {end}");
            return Err(Corruption::new("undo record bounds", detail));
        }
        Ok(n)
    }

    fn record(&mut self, body: &[u8], header: &UndoHeader, kind: UndoKind) -> Result<(), Corruption> {
        if (header.ty == UndoType::Insert) != (kind == UndoKind::Insert) {
            let detail = format!("{:?} in a segment of kind {kind:?}", header.ty);
            return Err(Corruption::new("undo record type", detail));
        }
        self.of_dictionary |= header.table_id < TableId(FIRST_DYNAMIC_ID);
        let Some(&n_key) = self.ctx.keys.get(&header.table_id) else {
            *self.unknown.entry(header.table_id).or_default() += 1;
            return Ok(());
        };
        let record = UndoRecord::parse(body, n_key).map_err(|e| {
            Corruption::new(e.check, format!("{} (a record of table {})", e.detail, header.table_id))
        })?;
        match record.old {
            Some(old) if old.trx_id >= self.out.bound => {
                let detail =
                    format!("{} of the older version, ids end before {}", old.trx_id, self.out.bound);
                Err(Corruption::new("transaction id", detail))
            }
            _ => Ok(()),
        }
    }
}

/// The log headers of a first page, oldest first, by their chain from the newest.
fn log_chain(page: &[u8], last: u16) -> Result<Vec<(u16, LogHeader)>, Corruption> {
    let bad = |detail: String| Err(Corruption::new("undo log headers", detail));
    let mut chain: Vec<(u16, LogHeader)> = Vec::new();
    let (mut at, mut next) = (last, 0);
    // Each header lies before the one after it, so the chain ends.
    while at != 0 {
        let header = LogHeader::read(page, at)?;
        if header.next != next {
            return bad(format!("the log at {at} names {} after it, not {next}", header.next));
        }
        chain.push((at, header));
        (next, at) = (at, header.prev);
        if chain.len() > page.len() / LOG_HEADER_SIZE {
            return bad("go in circles".to_owned());
        }
    }
    match chain.last() {
        None => return bad("there is none".to_owned()),
        Some(&(oldest, _)) if usize::from(oldest) != FIRST_LOG => {
            return bad(format!("the oldest lies at {oldest}, not at {FIRST_LOG}"));
        }
        Some(_) => {}
    }
    chain.reverse();
    Ok(chain)
}
