//! Rollback segments: their headers, slots, undo segments, history lists, and every undo record in them.
//!
//! From the slots of TRX_SYS to the headers, from there through the undo slots and the history list to the undo
//! segments. Each page of a segment is read once, each record is parsed to its exact end. What was found of the
//! transactions is kept ([`Transactions`]): the rows of tables are judged by it.
//!
//! | rule | module |
//! |---|---|
//! | header pages; which states a slot may hold; order and length of the history, its size in pages | here |
//! | pages, log headers and records of one undo segment | `segment` |
//! | what a row's roll pointer must lead to | `roll_ptr` |
//!
//! # What a crash leaves
//! Active and prepared transactions; undo segments of inserts that were to be freed (state TO_FREE) in their slots; a
//! segment of the history half freed by purge: its log has nothing to purge any more, and its file segment has fewer
//! pages than its list. None of it is a fault.

mod roll_ptr;
mod segment;
mod transactions;

use std::collections::{BTreeMap, HashMap};

use vaquita_base::{PageNo, SpaceId, TableId, TrxId};
use vaquita_format::fil::{self, PageType};
use vaquita_format::flst::FileAddress;
use vaquita_format::rseg::RollbackSegment;
use vaquita_format::undo::{LOG_HISTORY_NODE, SegmentState, UndoKind};
use vaquita_format::{Corruption, trx_sys};

use super::extents::{Extents, walk_list};
use super::marks::{BAD, Marks, REACHED};
use crate::workshop::report::Report;
use crate::workshop::source::PageSource;
use segment::UndoSegment;

pub(super) use roll_ptr::{RollPointers, Row};
pub use transactions::Transactions;

/// Number of key fields of the clustered index, by table: what it takes to parse undo records.
pub(super) type TableKeys = HashMap<TableId, usize>;

/// What a check of the undo of a tablespace works on.
pub(super) struct UndoContext<'a> {
    pub(super) src: &'a dyn PageSource,
    pub(super) space: SpaceId,
    pub(super) extents: &'a Extents,
    pub(super) marks: &'a mut Marks,
    pub(super) report: &'a mut Report,
    pub(super) keys: &'a TableKeys,
}

/// Checks the rollback segments in a tablespace, which the TRX_SYS page names.
pub(super) fn check_rollback_segments(ctx: UndoContext<'_>, trx_sys_page: &[u8]) -> Transactions {
    let bound = trx_sys::trx_id_store(trx_sys_page).get().saturating_add(trx_sys::TRX_ID_MARGIN);
    let before = ctx.report.count();
    let mut check = UndoCheck {
        out: Transactions::new(TrxId(bound), ctx.space),
        ctx,
        first_pages: HashMap::new(),
        segments: Vec::new(),
        unknown: BTreeMap::new(),
        last_undo_no: None,
        of_dictionary: false,
    };
    check.all_slots(trx_sys_page);
    check.finish(before)
}

struct UndoCheck<'a> {
    ctx: UndoContext<'a>,
    out: Transactions,
    /// The segment that begins at a page.
    first_pages: HashMap<PageNo, usize>,
    /// Segments; `None` stands for one too damaged to say anything.
    segments: Vec<Option<UndoSegment>>,
    /// Records of tables that the dictionary does not have.
    unknown: BTreeMap<TableId, u64>,
    /// Number of the last record read of a log whose records go on on further pages.
    last_undo_no: Option<u64>,
    /// Whether a record read of the segment at hand is of a SYS table.
    of_dictionary: bool,
}

impl UndoCheck<'_> {
    fn fault(&mut self, page: PageNo, check: &'static str, detail: impl Into<String>) {
        self.ctx.report.page(page, Corruption::new(check, detail));
    }

    /// A page of a type; `None` if it is damaged (reported before or here).
    fn page(&mut self, no: PageNo, ty: PageType) -> Option<Vec<u8>> {
        if self.ctx.marks.has(no, BAD) {
            return None;
        }
        let page = match self.ctx.src.page(no) {
            Ok(page) => page.into_owned(),
            Err(e) => {
                self.ctx.report.page(no, e.into_corruption());
                return None;
            }
        };
        if fil::page_type(&page) != Some(ty) {
            self.fault(no, "page type", format!("{} instead of {ty}", fil::raw_type(&page)));
            return None;
        }
        Some(page)
    }

    fn all_slots(&mut self, trx_sys_page: &[u8]) {
        let mut headers: HashMap<PageNo, usize> = HashMap::new();
        for slot in 0..trx_sys::N_RSEGS {
            let Some((space, no)) = trx_sys::rseg(trx_sys_page, slot) else {
                if slot == 0 {
                    self.fault(trx_sys::PAGE, "rollback segment", "number 0 does not exist");
                }
                continue;
            };
            self.out.add_rollback_segment(slot, space == self.ctx.space);
            // Others lie in undo tablespaces of their own.
            if space != self.ctx.space {
                continue;
            }
            if let Some(other) = headers.insert(no, slot) {
                let detail = format!("numbers {other} and {slot} have the same header, page {no}");
                self.fault(trx_sys::PAGE, "rollback segment", detail);
                continue;
            }
            self.rollback_segment(slot, no);
        }
    }

    fn rollback_segment(&mut self, slot: usize, no: PageNo) {
        if !self.ctx.marks.exists(no) {
            let detail = format!("number {slot} lies at page {no}, beyond the end");
            return self.fault(trx_sys::PAGE, "rollback segment", detail);
        }
        self.ctx.marks.set(no, REACHED);
        let Some(page) = self.page(no, PageType::Sys) else { return };
        let rseg = RollbackSegment::new(&page);
        self.header_segment(slot, no, rseg);
        for (n, first) in rseg.used_slots() {
            self.slot(slot, no, n, first);
        }
        self.history(slot, no, rseg);
    }

    /// The header page is the only page of its file segment.
    fn header_segment(&mut self, slot: usize, no: PageNo, rseg: RollbackSegment<'_>) {
        let extents = self.ctx.extents;
        if !extents.complete {
            return;
        }
        let named = extents.segment_of(rseg.segment());
        if named.is_none() || extents.owner(self.ctx.src.page_size(), no) != named {
            let detail = format!("the header of number {slot} names a segment that does not own it");
            self.fault(no, "rollback segment", detail);
        }
    }

    /// An undo slot of a rollback segment: what begins there, and whether its state belongs in a slot.
    fn slot(&mut self, rseg: usize, header: PageNo, n: usize, first: PageNo) {
        let what = format!("slot {n} of rollback segment {rseg}");
        if let Some(&known) = self.first_pages.get(&first) {
            let other = match &self.segments[known] {
                Some(other) => format!("slot {} of rollback segment {}", other.slot, other.rseg),
                None => "another slot".to_owned(),
            };
            let detail = format!("{what} holds the segment at page {first}, as does {other}");
            return self.fault(header, "undo slot", detail);
        }
        let Some(at) = self.segment(rseg, n, header, first, &what) else { return };
        let Some(found) = &self.segments[at] else { return };
        let fits = match (found.state, found.kind) {
            (SegmentState::Active | SegmentState::Prepared | SegmentState::Cached, _) => true,
            // Freed in a mini-transaction of its own after the commit.
            (SegmentState::ToFree, kind) => kind == UndoKind::Insert,
            (SegmentState::ToPurge, _) => false,
        };
        let (state, kind) = (found.state, found.kind);
        if !fits {
            let detail = format!("{what}: the {kind:?} segment of a slot is in state {state:?}");
            self.fault(first, "undo segment state", detail);
        }
    }

    /// The segment that begins at a page, checked when it is met first; its position, `None` if it is out of reach.
    fn segment(
        &mut self,
        rseg: usize,
        slot: usize,
        from: PageNo,
        first: PageNo,
        what: &str,
    ) -> Option<usize> {
        if let Some(&known) = self.first_pages.get(&first) {
            return Some(known);
        }
        if !self.ctx.marks.exists(first) {
            self.fault(from, "undo segment", format!("{what} leads to page {first}, beyond the end"));
            return None;
        }
        let at = self.segments.len();
        self.first_pages.insert(first, at);
        self.segments.push(None);
        let found = self.read_segment(rseg, slot, first, what);
        self.segments[at] = found;
        Some(at)
    }

    /// The committed update logs of a rollback segment, newest first.
    fn history(&mut self, rseg: usize, header: PageNo, view: RollbackSegment<'_>) {
        let what = format!("history of rollback segment {rseg}");
        let (marks, base) = (&*self.ctx.marks, view.history());
        let (nodes, fault) = walk_list(self.ctx.src, &what, base, |p| marks.has(p, BAD));
        let whole = fault.is_none();
        if let Some((page, fault)) = fault {
            self.ctx.report.page(page.unwrap_or(header), fault);
        }
        let mut newer: Option<TrxId> = None;
        let (mut size, mut known) = (0u64, whole);
        for node in nodes {
            let Some((segment, log)) = self.history_log(rseg, header, node, &what) else {
                known = false;
                continue;
            };
            let Some(found) = &mut self.segments[segment] else {
                known = false;
                continue;
            };
            let entry = &mut found.logs[log];
            let (trx_no, trx_id) = (entry.header.trx_no, entry.header.trx_id);
            entry.in_history = true;
            if found.state == SegmentState::ToPurge && !std::mem::replace(&mut found.counted, true) {
                size += u64::from(found.list_len);
            }
            self.out.history += 1;
            self.commit_order(node, &what, trx_id, trx_no, newer);
            newer = Some(trx_no);
        }
        if known && size != u64::from(view.history_size()) {
            let detail =
                format!("{} pages, the segments to purge of {what} have {size}", view.history_size());
            self.fault(header, "size of the history", detail);
        }
    }

    fn commit_order(&mut self, node: FileAddress, what: &str, id: TrxId, no: TrxId, newer: Option<TrxId>) {
        if newer.is_some_and(|newer| no >= newer) {
            let newer = newer.unwrap_or_default();
            let detail = format!("{what}: transaction number {no} follows {newer}, newest come first");
            self.fault(node.page, "order of commit", detail);
        }
        if no < id || no >= self.out.bound {
            let detail =
                format!("{what}: transaction {id} has number {no}, ids end before {}", self.out.bound);
            self.fault(node.page, "transaction number", detail);
        }
    }

    /// The log whose history node this is: positions of its segment and in it.
    fn history_log(
        &mut self,
        rseg: usize,
        header: PageNo,
        node: FileAddress,
        what: &str,
    ) -> Option<(usize, usize)> {
        let at = self.segment(rseg, usize::MAX, header, node.page, what)?;
        let found = self.segments[at].as_ref()?;
        let log =
            found.logs.iter().position(|l| usize::from(l.offset) + LOG_HISTORY_NODE == node.offset.into());
        let problem = match log {
            _ if found.kind != UndoKind::Update => Some("an INSERT segment has no history".to_owned()),
            _ if found.rseg != rseg => {
                Some(format!("the segment belongs to rollback segment {}", found.rseg))
            }
            _ if found.slot == usize::MAX && found.state != SegmentState::ToPurge => {
                Some(format!("the segment is in state {:?} and in no slot", found.state))
            }
            None => Some("no undo log lies there".to_owned()),
            Some(last) if last + 1 == found.logs.len() && found.is_open() => {
                Some("the transaction is not committed".to_owned())
            }
            Some(_) => None,
        };
        if let Some(problem) = problem {
            self.fault(node.page, "history list", format!("{what}: node at {node}: {problem}"));
            return None;
        }
        log.map(|log| (at, log))
    }

    /// `faults`: how many had been found before.
    fn finish(mut self, faults: u64) -> Transactions {
        let segments = std::mem::take(&mut self.segments);
        for found in segments.iter().flatten() {
            self.history_is_an_end(found);
        }
        for found in segments.into_iter().flatten() {
            if let Err(detail) = self.out.add_segment(&found) {
                self.fault(found.first, "undo segment state", detail);
            }
        }
        self.out.damaged = self.ctx.report.count() > faults;
        self.out.unknown_tables = std::mem::take(&mut self.unknown);
        self.out
    }

    /// Purge takes logs from the old end: of the logs of a segment, the newest are in the history.
    fn history_is_an_end(&mut self, found: &UndoSegment) {
        if found.kind != UndoKind::Update {
            return;
        }
        let committed = &found.logs[..found.logs.len() - usize::from(found.is_open()).min(found.logs.len())];
        let Some(first) = committed.iter().position(|l| l.in_history) else { return };
        if let Some(gap) = committed[first..].iter().find(|l| !l.in_history) {
            let detail = format!("the log at {} is not in it, an older one of its segment is", gap.offset);
            self.fault(found.first, "history list", detail);
        }
    }
}
