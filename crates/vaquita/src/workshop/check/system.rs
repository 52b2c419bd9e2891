//! What only the system tablespace has: transaction system, rollback segments, undo, change buffer, dictionary.

use vaquita_base::{PageNo, SpaceId};
use vaquita_format::column::ColumnDef;
use vaquita_format::dict::{self, DictHeader};
use vaquita_format::fil::{self, PageType};
use vaquita_format::flst::{ListBase, SegmentHeader};
use vaquita_format::index_def::{IndexDef, IndexSpec, RowFormat};
use vaquita_format::rseg::RollbackSegment;
use vaquita_format::undo::{LOG_HISTORY_NODE, LogHeader, PAGE_NODE, UndoPage};
use vaquita_format::{Corruption, ibuf, trx_sys};

use super::extents::{Extents, walk_list};
use super::marks::{BAD, Marks, REACHED};
use super::space::Described;
use crate::workshop::dictionary::{Dictionary, system_indexes};
use crate::workshop::metadata::TableIndex;
use crate::workshop::report::Report;
use crate::workshop::source::PageSource;

/// Checks the fixed structures; gives the trees that are to be checked as well.
pub(super) fn check_system(
    src: &dyn PageSource,
    extents: &Extents,
    marks: &mut Marks,
    report: &mut Report,
) -> Vec<Described> {
    let mut check = SystemCheck { src, extents, marks, report };
    check.fixed_pages();
    check.transaction_system();
    let mut described = Vec::new();
    described.extend(check.change_buffer());
    described.extend(check.dictionary());
    described
}

struct SystemCheck<'a> {
    src: &'a dyn PageSource,
    extents: &'a Extents,
    marks: &'a mut Marks,
    report: &'a mut Report,
}

impl SystemCheck<'_> {
    fn fault(&mut self, page: PageNo, check: &'static str, detail: impl Into<String>) {
        self.report.page(page, Corruption::new(check, detail));
    }

    /// A page of a type; `None` if it is damaged (reported before or here).
    fn page(&mut self, no: PageNo, ty: PageType) -> Option<Vec<u8>> {
        if self.marks.has(no, BAD) {
            return None;
        }
        let page = match self.src.page(no) {
            Ok(page) => page.into_owned(),
            Err(e) => {
                self.report.page(no, e.into_corruption());
                return None;
            }
        };
        if fil::page_type(&page) != Some(ty) {
            self.fault(no, "page type", format!("{} instead of {ty}", fil::raw_type(&page)));
            return None;
        }
        Some(page)
    }

    /// The pages at fixed places, and everything their segments own.
    fn fixed_pages(&mut self) {
        for no in [ibuf::HEADER_PAGE, trx_sys::PAGE, dict::PAGE] {
            self.marks.set(no, REACHED);
        }
        if let Some(page) = self.page(ibuf::HEADER_PAGE, PageType::Sys) {
            // Its single pages are the header and the tree; those of the tree are reached by it.
            let _ = SegmentHeader::read(&page, ibuf::HEADER_SEGMENT);
        }
        if let Some(page) = self.page(dict::PAGE, PageType::Sys) {
            self.own(SegmentHeader::read(&page, dict::SEGMENT));
        }
    }

    /// Marks the single pages of a segment as reached.
    fn own(&mut self, header: SegmentHeader) {
        let Some(segment) = self.extents.segment_of(header).and_then(|id| self.extents.segments.get(&id))
        else {
            return;
        };
        for &page in &segment.fragments {
            self.marks.set(page, REACHED);
        }
    }

    fn transaction_system(&mut self) {
        let Some(page) = self.page(trx_sys::PAGE, PageType::TrxSys) else { return };
        self.own(SegmentHeader::read(&page, trx_sys::SEGMENT));
        match trx_sys::Doublewrite::read(&page) {
            Ok(Some(area)) => {
                self.own(area.segment);
                for block in area.blocks {
                    for no in 0..trx_sys::Doublewrite::block_pages(self.src.page_size()) {
                        self.marks.set(PageNo(block.get().wrapping_add(no)), REACHED);
                    }
                }
            }
            Ok(None) => {}
            Err(e) => self.report.page(trx_sys::PAGE, e),
        }
        for slot in 0..trx_sys::N_RSEGS {
            // Others lie in undo tablespaces of their own.
            if let Some((SpaceId::SYSTEM, no)) = trx_sys::rseg(&page, slot) {
                self.rollback_segment(slot, no);
            }
        }
    }

    fn rollback_segment(&mut self, slot: usize, no: PageNo) {
        if !self.marks.exists(no) {
            return self.fault(
                trx_sys::PAGE,
                "rollback segment",
                format!("number {slot} lies at page {no}, beyond the end"),
            );
        }
        self.marks.set(no, REACHED);
        let Some(page) = self.page(no, PageType::Sys) else { return };
        let rseg = RollbackSegment::new(&page);
        self.own(rseg.segment());
        for (n, first) in rseg.used_slots() {
            let what = format!("slot {n} of rollback segment {slot}");
            self.undo_segment(no, first, &what);
        }
        let what = format!("history of rollback segment {slot}");
        let (logs, fault) = walk_list(self.src, &what, rseg.history(), |p| self.marks.has(p, BAD));
        if let Some((page, what)) = fault {
            self.report.page(page.unwrap_or(no), what);
        }
        for log in logs {
            let header = log.offset.checked_sub(LOG_HISTORY_NODE as u16);
            match self.src.page(log.page).ok().zip(header).map(|(p, at)| LogHeader::read(&p, at)) {
                Some(Ok(_)) => self.undo_segment(no, log.page, &what),
                Some(Err(e)) => self.report.page(log.page, e),
                None => self.fault(no, "list", format!("{what}: no undo log lies at {log}")),
            }
        }
    }

    /// The pages of an undo segment, from its first.
    fn undo_segment(&mut self, from: PageNo, first: PageNo, what: &str) {
        if !self.marks.exists(first) {
            return self.fault(from, "undo segment", format!("{what} leads to page {first}, beyond the end"));
        }
        if self.marks.has(first, REACHED) {
            // Several logs of the history may share a segment.
            return;
        }
        self.marks.set(first, REACHED);
        let Some(page) = self.page(first, PageType::UndoLog) else { return };
        let sound = UndoPage::new(&page).and_then(|undo| {
            undo.state()?;
            Ok((undo.pages(), undo.kind()?, undo.last_log()))
        });
        let (pages, kind, last_log) = match sound {
            Ok(sound) => sound,
            Err(e) => return self.report.page(first, e),
        };
        self.logs(first, &page, last_log);
        for no in self.undo_pages(first, pages, what) {
            if no == first {
                continue;
            }
            self.marks.set(no, REACHED);
            let Some(page) = self.page(no, PageType::UndoLog) else { continue };
            let checked = UndoPage::new(&page).and_then(|undo| {
                if undo.kind()? != kind {
                    return Err(Corruption::new(
                        "undo page type",
                        format!("differs from that of page {first}"),
                    ));
                }
                undo.records_of(None)?.iter().try_for_each(|record| record.map(|_| ()))
            });
            if let Err(e) = checked {
                self.report.page(no, e);
            }
        }
    }

    fn undo_pages(&mut self, first: PageNo, base: ListBase, what: &str) -> Vec<PageNo> {
        let name = format!("pages of {what}");
        let (nodes, fault) = walk_list(self.src, &name, base, |p| self.marks.has(p, BAD));
        if let Some((page, what)) = fault {
            self.report.page(page.unwrap_or(first), what);
        }
        if nodes.iter().any(|n| usize::from(n.offset) != PAGE_NODE) {
            self.fault(first, "list", format!("{name}: a node is not where undo pages have it"));
        }
        nodes.into_iter().map(|n| n.page).collect()
    }

    /// The logs on a segment's first page, newest first, and their records there.
    fn logs(&mut self, no: PageNo, page: &[u8], last: u16) {
        let mut at = last;
        // A page has room for few headers; a longer chain goes in circles.
        for _ in 0..page.len() / 46 {
            if at == 0 {
                return;
            }
            let log = LogHeader::read(page, at).and_then(|header| {
                let records = UndoPage::new(page)?.records_of(Some(at))?;
                records.iter().try_for_each(|record| record.map(|_| ()))?;
                Ok(header.prev)
            });
            match log {
                Ok(prev) => at = prev,
                Err(e) => return self.report.page(no, e),
            }
        }
        self.fault(no, "undo log headers", "go in circles");
    }

    fn change_buffer(&mut self) -> Option<Described> {
        let page = self.page(ibuf::ROOT_PAGE, PageType::Index)?;
        let base = ListBase::read(&page, ibuf::FREE_LIST_BASE);
        let (free, fault) =
            walk_list(self.src, "free pages of the change buffer", base, |p| self.marks.has(p, BAD));
        if let Some((page, what)) = fault {
            self.report.page(page.unwrap_or(ibuf::ROOT_PAGE), what);
        }
        for node in free {
            self.marks.set(node.page, REACHED);
            if usize::from(node.offset) != ibuf::FREE_LIST_NODE {
                self.fault(
                    node.page,
                    "list",
                    "free pages of the change buffer: the node is at a wrong place",
                );
            }
        }
        let def = change_buffer_def(self.src)?;
        Some(Described {
            name: "change buffer".to_owned(),
            indexes: vec![TableIndex { def, root: ibuf::ROOT_PAGE }],
        })
    }

    fn dictionary(&mut self) -> Vec<Described> {
        let Some(page) = self.page(dict::PAGE, PageType::Sys) else { return Vec::new() };
        let mut out = Vec::new();
        match system_indexes(&DictHeader::read(&page), self.src.page_size()) {
            Ok(indexes) => {
                // Each tree has its own clustered order: no counts are compared.
                let trees = indexes
                    .into_iter()
                    .map(|i| Described { name: "dictionary".to_owned(), indexes: vec![i] });
                out.extend(trees);
            }
            Err(e) => self.report.page(dict::PAGE, e),
        }
        // Faults of the dictionary's pages are found again, with more detail, by the check of its trees.
        let mut known = Report::new();
        let tables = Dictionary::read(self.src, &mut known);
        let inside = tables.tables.iter().filter(|t| t.space == SpaceId::SYSTEM);
        out.extend(inside.map(|t| Described { name: t.name.clone(), indexes: t.indexes.clone() }));
        out
    }
}

/// The change buffer's tree: space, a zero byte, page, metadata (which begins with the counter), then the entry.
pub(in crate::workshop) fn change_buffer_def(src: &dyn PageSource) -> Option<IndexDef> {
    let spec = IndexSpec {
        id: ibuf::INDEX_ID,
        name: "CLUST_IND".to_owned(),
        row_format: RowFormat::Redundant,
        page_size: src.page_size(),
    };
    let columns = vec![
        ColumnDef::binary("SPACE", 4).not_null(),
        ColumnDef::binary("MARKER", 1).not_null(),
        ColumnDef::binary("PAGE", 4).not_null(),
        ColumnDef::varbinary("METADATA", 255).not_null(),
    ];
    IndexDef::plain(spec, columns, 4).ok()
}
