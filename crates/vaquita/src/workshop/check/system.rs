//! What only the system tablespace has: transaction system, rollback segments, undo, change buffer, dictionary.

use vaquita_base::{PageNo, SpaceId};
use vaquita_format::column::ColumnDef;
use vaquita_format::dict::{self, DictHeader};
use vaquita_format::fil::{self, PageType};
use vaquita_format::flst::{FileAddress, ListBase, SegmentHeader};
use vaquita_format::index_def::{IndexDef, IndexSpec, RowFormat};
use vaquita_format::index_page::header;
use vaquita_format::{Corruption, ibuf, trx_sys};

use super::agreement::Buffered;
use super::extents::{Extents, walk_list};
use super::marks::{BAD, Marks, REACHED};
use super::space::{Described, SystemSummary};
use super::undo::{TableKeys, Transactions, UndoContext, check_rollback_segments};
use crate::workshop::dictionary::{DictTable, Dictionary, system_indexes};
use crate::workshop::metadata::TableIndex;
use crate::workshop::report::Report;
use crate::workshop::roots::Root;
use crate::workshop::source::PageSource;

/// Checks the fixed structures; gives the trees that are to be checked as well, and what concerns other tablespaces.
/// The latter is `None` if the transaction system is too damaged to say anything.
pub(super) fn check_system(
    src: &dyn PageSource,
    extents: &Extents,
    marks: &mut Marks,
    report: &mut Report,
) -> (Vec<Described>, Option<SystemSummary>) {
    // Faults of the dictionary's pages are found again, with more detail, by the check of its trees.
    let dictionary = Dictionary::read(src, &mut Report::new());
    let mut check = SystemCheck { src, extents, marks, report };
    check.fixed_pages();
    let transactions = check.transaction_system(&key_fields(&dictionary));
    let mut described = Vec::new();
    described.extend(check.change_buffer());
    described.extend(check.dictionary(&dictionary));
    let root = root_of_change_buffer(src);
    let buffered = root.map(|root| Buffered::read(src, &root)).unwrap_or_default();
    let header = src.page(dict::PAGE).ok().filter(|p| fil::page_type(p) == Some(PageType::Sys));
    let row_id_bound = header.map(|p| DictHeader::read(&p).row_id.saturating_add(dict::ROW_ID_MARGIN));
    (described, transactions.map(|transactions| SystemSummary { transactions, buffered, row_id_bound }))
}

/// Number of key fields of every table's clustered index.
pub(super) fn key_fields(dictionary: &Dictionary) -> TableKeys {
    let fixed = dict::SYS_ALL.iter().filter_map(|t| Some((t.id?, t.n_key)));
    let others = dictionary.tables.iter().filter_map(|t| Some((t.id, t.indexes.first()?.def.n_uniq())));
    fixed.chain(others).collect()
}

/// The root of the change buffer's tree, whose segment is named elsewhere.
fn root_of_change_buffer(src: &dyn PageSource) -> Option<Root> {
    let page = src.page(ibuf::ROOT_PAGE).ok()?;
    let none = SegmentHeader { space: SpaceId::SYSTEM, inode: FileAddress::NULL };
    (fil::page_type(&page) == Some(PageType::Index)).then(|| Root {
        page: ibuf::ROOT_PAGE,
        index: ibuf::INDEX_ID,
        level: header::level(&page),
        comp: false,
        leaf: none,
        top: none,
    })
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

    fn transaction_system(&mut self, keys: &TableKeys) -> Option<Transactions> {
        let page = self.page(trx_sys::PAGE, PageType::TrxSys)?;
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
        let ctx = UndoContext {
            src: self.src,
            space: SpaceId::SYSTEM,
            extents: self.extents,
            marks: self.marks,
            report: self.report,
            keys,
        };
        Some(check_rollback_segments(ctx, &page))
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
            id: None,
            indexes: vec![TableIndex { def, root: ibuf::ROOT_PAGE }],
        })
    }

    fn dictionary(&mut self, tables: &Dictionary) -> Vec<Described> {
        let Some(page) = self.page(dict::PAGE, PageType::Sys) else { return Vec::new() };
        let mut out: Vec<Described> = Vec::new();
        match system_indexes(&DictHeader::read(&page), self.src.page_size()) {
            Ok(indexes) => {
                for index in indexes {
                    match out.first_mut() {
                        // SYS_TABLES is the first of them, and the only one with two trees.
                        Some(tables) if index.def.id() == dict::ID_IND => tables.indexes.push(index),
                        _ => {
                            let id = dict::SYS_ALL.iter().find(|t| t.clustered_id == Some(index.def.id()));
                            let id = id.and_then(|t| t.id);
                            out.push(Described { name: "dictionary".to_owned(), id, indexes: vec![index] });
                        }
                    }
                }
            }
            Err(e) => self.report.page(dict::PAGE, e),
        }
        let inside = tables.tables.iter().filter(|t| t.space == SpaceId::SYSTEM);
        out.extend(inside.map(DictTable::described));
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
