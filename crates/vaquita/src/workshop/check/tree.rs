//! One index tree: level by level from its root.
//!
//! On every level the sibling chain is followed from the leftmost page, side by side with the child pointers of the
//! level above, so memory holds a page per step and the numbers of inner pages only. A page that is damaged is
//! skipped: the next child pointer shows where the chain goes on.
//!
//! Checked: each page by itself ([`index_page::validate`]), index number and level, sibling links both ways, chain
//! against child pointers, keys across pages and against the pointers above, ownership by the tree's segments, off-page
//! columns of clustered leaves, free-space codes of secondary leaves.

use std::cmp::Ordering;

use vaquita_base::{PageNo, SegmentId};
use vaquita_format::fil::{self, PageType};
use vaquita_format::flst::SegmentHeader;
use vaquita_format::index_def::IndexDef;
use vaquita_format::index_page::{self, header};
use vaquita_format::record::header::{INFO_MIN_REC, info_bits};
use vaquita_format::record::{EXTERN_REF_LEN, ExternRef, Offsets, compare_fields};
use vaquita_format::{Corruption, fsp, ibuf};

use super::extents::Extents;
use super::marks::{ALLOCATED, BAD, Marks, REACHED};
use crate::workshop::blob::{read_blob, walk_chain};
use crate::workshop::report::Report;
use crate::workshop::roots::Root;
use crate::workshop::source::PageSource;
use crate::workshop::walk::{LEVEL_MAX, child_page};

/// What a tree consists of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TreeStats {
    /// Pages of each level, leaves first.
    pub pages: Vec<u64>,
    /// Records in leaves, delete-marked ones too.
    pub records: u64,
    /// Delete-marked records.
    pub deleted: u64,
    /// Off-page columns.
    pub blobs: u64,
    /// BLOB pages.
    pub blob_pages: u64,
    /// Bytes of records in leaves.
    pub data_bytes: u64,
    /// Whether key order was checked.
    pub order_known: bool,
}

/// A record of a leaf, handed out on the way.
pub(in crate::workshop) struct LeafRecord<'a> {
    /// Its page.
    pub(in crate::workshop) no: PageNo,
    /// The page in its logical form.
    pub(in crate::workshop) page: &'a [u8],
    /// Its origin.
    pub(in crate::workshop) rec: u16,
    /// Its fields.
    pub(in crate::workshop) offsets: &'a Offsets,
    /// Whether it is delete-marked.
    pub(in crate::workshop) deleted: bool,
}

/// Who wants to see every record of the leaves.
pub(in crate::workshop) trait LeafObserver {
    /// The next leaf.
    fn leaf(&mut self, no: PageNo, page: &[u8]);

    /// The next record of it, in key order.
    fn record(&mut self, record: &LeafRecord<'_>);
}

/// What a tree check works on.
pub(in crate::workshop) struct TreeContext<'a, 'o> {
    pub(in crate::workshop) src: &'a dyn PageSource,
    pub(in crate::workshop) extents: &'a Extents,
    pub(in crate::workshop) marks: &'a mut Marks,
    pub(in crate::workshop) report: &'a mut Report,
    /// Whether the folder was shut down: nothing is under way.
    pub(in crate::workshop) settled: bool,
    /// Sees every record of the leaves.
    pub(in crate::workshop) observer: Option<&'o mut (dyn LeafObserver + 'o)>,
}

/// Checks a tree.
pub(in crate::workshop) fn check_tree(
    ctx: TreeContext<'_, '_>,
    def: &IndexDef,
    root_no: PageNo,
) -> TreeStats {
    let TreeContext { src, extents, marks, report, settled, observer } = ctx;
    let mut stats = TreeStats { order_known: order_known(def), ..TreeStats::default() };
    let root = match src.page(root_no).map(|page| root_of(src, def, &page, root_no)) {
        _ if marks.has(root_no, BAD) => {
            let detail = format!("the root of {} is damaged", def.name());
            report.page(root_no, Corruption::new("index tree", detail));
            marks.set(root_no, REACHED);
            return stats;
        }
        Ok(Some(root)) if root.level <= LEVEL_MAX => root,
        Ok(_) => {
            report.page(
                root_no,
                Corruption::new("root of an index", format!("this page is not the root of {}", def.name())),
            );
            return stats;
        }
        Err(e) => {
            report.page(root_no, e.into_corruption());
            return stats;
        }
    };
    let segments = [extents.segment_of(root.leaf), extents.segment_of(root.top)];
    if extents.complete && segments.contains(&None) {
        report.page(
            root_no,
            Corruption::new("segments of a tree", format!("{} names inodes that are none", def.name())),
        );
    }
    let mut check = TreeCheck {
        src,
        def,
        root,
        segments,
        extents,
        marks,
        report,
        settled,
        under_way: 0,
        observer,
        offsets: Offsets::new(),
        other: Offsets::new(),
        bitmap: None,
        stats: &mut stats,
    };
    check.all_levels();
    if check.under_way > 0 {
        let text =
            format!("{}: {} off-page columns were being written or freed", def.name(), check.under_way);
        check.report.remark(text);
    }
    stats.pages.reverse();
    stats
}

/// The root of an index. That of the change buffer's tree keeps its segment elsewhere.
fn root_of(src: &dyn PageSource, def: &IndexDef, page: &[u8], no: PageNo) -> Option<Root> {
    if def.id() != ibuf::INDEX_ID || fil::page_type(page) != Some(PageType::Index) {
        return Root::of_page(page, no);
    }
    let header_page = src.page(ibuf::HEADER_PAGE).ok()?;
    let segment = SegmentHeader::read(&header_page, ibuf::HEADER_SEGMENT);
    Some(Root {
        page: no,
        index: header::index_id(page),
        level: header::level(page),
        comp: header::is_comp(page),
        leaf: segment,
        top: segment,
    })
}

fn order_known(def: &IndexDef) -> bool {
    def.compare_plan()[..def.n_uniq_in_tree()].iter().all(|c| c.is_known())
}

/// The key of a record, copied off its page.
type Key = Vec<Option<Vec<u8>>>;

/// A child pointer of the level above.
struct Pointer {
    child: PageNo,
    /// `None` in the pointer that is less than everything.
    key: Option<Key>,
    /// Whether pointers before it are missing because their page is damaged.
    after_gap: bool,
}

struct TreeCheck<'a, 'o> {
    src: &'a dyn PageSource,
    def: &'a IndexDef,
    root: Root,
    /// Leaf and top segment.
    segments: [Option<SegmentId>; 2],
    extents: &'a Extents,
    marks: &'a mut Marks,
    report: &'a mut Report,
    /// Whether no crash explains a chain that is half written or freed.
    settled: bool,
    /// Such chains.
    under_way: u64,
    observer: Option<&'o mut (dyn LeafObserver + 'o)>,
    offsets: Offsets,
    other: Offsets,
    /// The change buffer bitmap page read last.
    bitmap: Option<(PageNo, Vec<u8>)>,
    stats: &'a mut TreeStats,
}

/// A page in the middle of a level walk.
struct Step {
    no: PageNo,
    next: PageNo,
    first: Option<Key>,
    last: Option<Key>,
}

impl TreeCheck<'_, '_> {
    fn fault(&mut self, page: PageNo, check: &'static str, detail: impl Into<String>) {
        self.report.page(page, Corruption::new(check, detail));
    }

    fn all_levels(&mut self) {
        let mut above: Option<Vec<PageNo>> = None;
        for level in (0..=self.root.level).rev() {
            let pages = self.level(level, above.as_deref());
            if level > 0 && pages.is_empty() {
                let detail = format!("{}: nothing below level {level} can be reached", self.def.name());
                return self.fault(self.root.page, "index tree", detail);
            }
            above = Some(pages);
        }
    }

    /// Walks one level; gives the numbers of its sound pages (for inner levels only).
    fn level(&mut self, level: u16, above: Option<&[PageNo]>) -> Vec<PageNo> {
        let mut inner = Vec::new();
        let mut pointers = above.map(|pages| Pointers::new(pages.to_vec()));
        let mut expected = pointers.as_mut().and_then(|p| self.next_pointer(p, level));
        let mut at = match &expected {
            Some(pointer) => Some(pointer.child),
            None => above.is_none().then_some(self.root.page),
        };
        let mut before: Option<Step> = None;
        let mut at_start = true;
        let mut count = 0;
        while let Some(no) = at {
            let mut pointer = None;
            let mut skipping = false;
            if let (Some(next), Some(p)) = (&expected, pointers.as_mut()) {
                if next.child == no {
                    pointer = expected.take();
                    expected = self.next_pointer(p, level);
                } else if next.after_gap {
                    skipping = true;
                } else {
                    let from = before.as_ref().map_or(no, |b| b.no);
                    let detail = format!("leads to page {no}, the level above points to page {}", next.child);
                    let child = next.child;
                    self.fault(from, "sibling chain", detail);
                    before = None;
                    at = Some(child);
                    continue;
                }
            } else if let Some(p) = &pointers
                && !p.trailing_gap
            {
                let from = before.as_ref().map_or(no, |b| b.no);
                self.fault(from, "sibling chain", format!("goes on to page {no}, to which no pointer leads"));
                break;
            }
            count += 1;
            let found = self.page(no, level);
            match found {
                Some(page) => {
                    if level > 0 {
                        inner.push(no);
                    }
                    let step = self.links_and_keys(no, &page, before.as_ref(), at_start, pointer.as_ref());
                    at = step.next.some();
                    if at.is_none() {
                        if let Some(next) = &expected {
                            let detail =
                                format!("ends here, the level above points on to page {}", next.child);
                            self.fault(no, "sibling chain", detail);
                            at = Some(next.child);
                        }
                        before = None;
                    } else {
                        before = Some(step);
                    }
                }
                None => {
                    // Nothing on the page is to be trusted: the next pointer leads on.
                    before = None;
                    at = if skipping { None } else { expected.as_ref().map(|next| next.child) };
                    if skipping && let Some(next) = &mut expected {
                        next.after_gap = false;
                        at = Some(next.child);
                    }
                }
            }
            at_start = false;
        }
        self.stats.pages.push(count);
        inner
    }

    /// A page of this tree, checked by itself; `None` if it is of no use.
    fn page(&mut self, no: PageNo, level: u16) -> Option<Vec<u8>> {
        if !self.marks.exists(no) {
            self.fault(no, "page reference", format!("{} leads beyond the end of the file", self.def.name()));
            return None;
        }
        if self.marks.has(no, REACHED) {
            self.fault(
                no,
                "page reference",
                format!("{} leads to a page that is already in use", self.def.name()),
            );
            return None;
        }
        self.marks.set(no, REACHED);
        if self.marks.has(no, BAD) {
            return None;
        }
        self.ownership(no, if level == 0 && no != self.root.page { 0 } else { 1 });
        match self.checked_page(no, level) {
            Ok(page) => {
                self.contents(no, &page, level);
                Some(page)
            }
            Err(e) => {
                self.report.page(no, e);
                None
            }
        }
    }

    fn checked_page(&self, no: PageNo, level: u16) -> Result<Vec<u8>, Corruption> {
        let page = self.src.logical(no).map_err(|e| e.into_corruption())?;
        if fil::page_type(&page) != Some(PageType::Index) {
            return Err(Corruption::new("page type", format!("{} instead of INDEX", fil::raw_type(&page))));
        }
        let (index, found) = (header::index_id(&page), header::level(&page));
        if index != self.root.index || found != level {
            let detail =
                format!("index {index} level {found} instead of index {} level {level}", self.root.index);
            return Err(Corruption::new("index page", detail));
        }
        // Leaf records of the change buffer carry as many more fields as the entries they are about.
        let def = Some(self.def).filter(|def| def.id() != ibuf::INDEX_ID);
        let stats = index_page::validate(&page, def)?;
        let stats_empty = stats.n_recs == 0 && no != self.root.page;
        if stats_empty {
            return Err(Corruption::new("index page", "is empty and not the root"));
        }
        Ok(page.into_owned())
    }

    /// Whether the descriptors give the page to the tree's segment (0 leaf, 1 top).
    fn ownership(&mut self, no: PageNo, which: usize) {
        if !self.extents.is_known(self.src.page_size(), no) {
            return;
        }
        if !self.marks.has(no, ALLOCATED) {
            self.fault(no, "page allocation", format!("{} uses a page that is marked free", self.def.name()));
        } else if let (Some(wanted), owner) =
            (self.segments[which], self.extents.owner(self.src.page_size(), no))
            && owner != Some(wanted)
        {
            let owner = owner.map_or("nobody".to_owned(), |o| format!("segment {o}"));
            let detail = format!("{} uses it by segment {wanted}, it belongs to {owner}", self.def.name());
            self.fault(no, "page allocation", detail);
        }
    }

    /// What leaves hold beyond their own structure.
    fn contents(&mut self, no: PageNo, page: &[u8], level: u16) {
        if level > 0 {
            return;
        }
        if let Some(observer) = &mut self.observer {
            observer.leaf(no, page);
        }
        let mut bytes = 0;
        for rec in index_page::records(page) {
            let parsed = rec.and_then(|rec| self.offsets.parse(page, rec, self.def.layout()).map(|()| rec));
            let Ok(rec) = parsed else { break };
            self.stats.records += 1;
            bytes += self.offsets.total_len() as u64;
            let deleted = vaquita_format::record::header::is_deleted(page, rec, header::is_comp(page));
            self.stats.deleted += u64::from(deleted);
            if self.offsets.any_external() {
                self.external_columns(no, page, rec);
            }
            if let Some(observer) = &mut self.observer {
                observer.record(&LeafRecord { no, page, rec, offsets: &self.offsets, deleted });
            }
        }
        self.stats.data_bytes += bytes;
        if !self.def.is_clustered() && !self.def.is_unique() {
            self.free_code(no, page);
        }
    }

    fn external_columns(&mut self, no: PageNo, page: &[u8], rec: u16) {
        let offsets = std::mem::take(&mut self.offsets);
        for i in (0..offsets.n_fields()).filter(|&i| offsets.is_external(i)) {
            let Some(local) = offsets.field(page, rec, i) else { continue };
            if !self.def.is_clustered() {
                self.fault(no, "external reference", format!("in a record of {}, at {rec}", self.def.name()));
                continue;
            }
            match ExternRef::of_field(local) {
                Ok(Some(reference)) => self.blob(no, rec, &reference),
                // A crash may leave a row whose columns were not written yet.
                Ok(None) => {}
                Err(e) => self.report.page(no, e.at(rec.into())),
            }
            let prefix = (local.len() - EXTERN_REF_LEN.min(local.len())) as u32;
            if prefix > self.def.row_format().off_page_prefix() {
                let detail = format!("{prefix} bytes of an off-page column are in the record at {rec}");
                self.fault(no, "external reference", detail);
            }
        }
        self.offsets = offsets;
    }

    fn blob(&mut self, no: PageNo, rec: u16, reference: &ExternRef) {
        self.stats.blobs += 1;
        if !reference.owner {
            // The owner's record leads to the same pages, or they are gone.
            return;
        }
        let space = fil_space(self.src, self.root.page);
        if reference.space != space {
            let detail = format!("record at {rec} refers to tablespace {}", reference.space);
            return self.fault(no, "external reference", detail);
        }
        // The length is the last that is written of a chain, and the first that goes when it is freed.
        let under_way = reference.len == 0 && !reference.page_no.is_null() && !self.settled;
        self.under_way += u64::from(under_way);
        let mut seen: Vec<PageNo> = Vec::new();
        let (marks, mut stop, mut pages) = (&mut *self.marks, None, 0);
        let mut visit = |page: PageNo| {
            if marks.has(page, REACHED) {
                stop = Some(page);
                return false;
            }
            marks.set(page, REACHED);
            pages += 1;
            // Ownership is looked up after the walk; a chain longer than this is checked for its first pages.
            if seen.len() < 4096 {
                seen.push(page);
            }
            !marks.has(page, BAD)
        };
        let read = match under_way {
            true => walk_chain(self.src, reference, &mut visit),
            false => read_blob(self.src, reference, &mut visit, &mut |_| {}),
        };
        self.stats.blob_pages += pages;
        if let Some(page) = stop {
            let detail = format!("two references lead here, one from page {no} record {rec}");
            self.fault(page, "BLOB page", detail);
        }
        if let Err(fault) = read {
            let what = Corruption::new(
                fault.what.check,
                format!("{} (BLOB of page {no}, record {rec})", fault.what.detail),
            );
            self.report.page(fault.page, what);
        }
        for page in seen {
            if !self.marks.has(page, BAD) {
                self.ownership(page, 0);
            }
        }
    }

    /// The change buffer must not believe that a page has more room than it has.
    fn free_code(&mut self, no: PageNo, page: &[u8]) {
        let size = self.src.page_size();
        if size.is_compressed() {
            // There the room also depends on how well the page compresses.
            return;
        }
        let at = fsp::bitmap_page(size, no);
        if self.bitmap.as_ref().is_none_or(|(b, _)| *b != at) {
            self.bitmap = match self.src.page(at) {
                Ok(bitmap) if !self.marks.has(at, BAD) => Some((at, bitmap.into_owned())),
                _ => None,
            };
        }
        let Some((_, bitmap)) = &self.bitmap else { return };
        let bits = ibuf::get(size, bitmap, no);
        let room = index_page::max_insert_size_after_reorganize(page, 1);
        if !bits.buffered && ibuf::free_bytes(size, bits.free) > room {
            let detail = format!("page {no} has room for {room} bytes, its code {} promises more", bits.free);
            self.fault(at, "free-space code", detail);
        }
    }

    fn links_and_keys(
        &mut self,
        no: PageNo,
        page: &[u8],
        before: Option<&Step>,
        at_start: bool,
        pointer: Option<&Pointer>,
    ) -> Step {
        let prev = fil::prev(page);
        match before {
            Some(before) if prev != before.no => {
                self.fault(no, "sibling links", format!("{} is before it, it names {prev}", before.no));
            }
            None if at_start && !prev.is_null() => {
                self.fault(
                    no,
                    "sibling links",
                    format!("it is the leftmost of its level, it names {prev} before it"),
                );
            }
            _ => {}
        }
        let mut step = Step { no, next: fil::next(page), first: None, last: None };
        if self.stats.order_known {
            (step.first, step.last) = self.outer_keys(page);
            self.compare_outer(no, before, pointer, &step);
        }
        step
    }

    fn compare_outer(&mut self, no: PageNo, before: Option<&Step>, pointer: Option<&Pointer>, step: &Step) {
        let last_before = before.and_then(|b| b.last.as_ref());
        if let (Some(last), Some(first)) = (last_before, &step.first)
            && self.compare(last, first) != Ordering::Less
        {
            self.fault(no, "key order", "its first key is not above the last key of the page before");
        }
        let Some(key) = pointer.and_then(|p| p.key.as_ref()) else { return };
        if step.first.as_ref().is_some_and(|first| self.compare(key, first) == Ordering::Greater) {
            self.fault(no, "key order", "its first key is below the key that points to the page");
        }
        if last_before.is_some_and(|last| self.compare(last, key) != Ordering::Less) {
            self.fault(no, "key order", "the key that points to the page is not above the page before");
        }
    }

    fn compare(&self, a: &Key, b: &Key) -> Ordering {
        let plan = self.def.compare_plan();
        let fields = a.iter().zip(b).zip(plan);
        fields
            .map(|((a, b), &cmp)| compare_fields(cmp, a.as_deref(), b.as_deref()))
            .find(|o| o.is_ne())
            .unwrap_or(Ordering::Equal)
    }

    /// First and last key of a page; the minimum record has none.
    fn outer_keys(&mut self, page: &[u8]) -> (Option<Key>, Option<Key>) {
        let comp = header::is_comp(page);
        let first = index_page::first_rec(page).ok();
        let last = index_page::last_rec(page).ok();
        let (inf, sup) = (header::infimum(comp), header::supremum(comp));
        let mut key = |rec: Option<u16>| {
            let rec = rec.filter(|&r| r != inf && r != sup)?;
            if info_bits(page, rec, comp) & INFO_MIN_REC != 0 {
                return None;
            }
            self.other.parse(page, rec, self.def.layout()).ok()?;
            key_of(page, rec, &self.other, self.def.n_uniq_in_tree())
        };
        (key(first), key(last))
    }

    fn next_pointer(&mut self, pointers: &mut Pointers, level: u16) -> Option<Pointer> {
        loop {
            if let Some(mut pointer) = pointers.queue.pop_front() {
                pointer.after_gap = std::mem::take(&mut pointers.gap);
                return Some(pointer);
            }
            let no = pointers.pages.get(pointers.position).copied();
            pointers.position += 1;
            let no = match no {
                Some(no) => no,
                None => {
                    pointers.trailing_gap = std::mem::take(&mut pointers.gap) || pointers.trailing_gap;
                    return None;
                }
            };
            match self.src.logical(no) {
                // The level above jumped over a damaged page if its sound pages are not neighbours.
                Ok(page) => {
                    pointers.gap |= pointers.expects.is_some_and(|e| e != no);
                    pointers.expects = Some(fil::next(&page));
                    self.read_pointers(&page, pointers);
                    if pointers.position == pointers.pages.len() && !fil::next(&page).is_null() {
                        pointers.trailing_gap = true;
                    }
                }
                Err(_) => pointers.gap = true,
            }
            debug_assert!(level < LEVEL_MAX);
        }
    }

    fn read_pointers(&mut self, page: &[u8], pointers: &mut Pointers) {
        let comp = header::is_comp(page);
        for rec in index_page::records(page) {
            let parsed = rec.and_then(|rec| self.offsets.parse(page, rec, self.def.layout()).map(|()| rec));
            let Ok(rec) = parsed else {
                pointers.gap = true;
                return;
            };
            let Some(child) = child_page(page, rec, &self.offsets) else { continue };
            let min = info_bits(page, rec, comp) & INFO_MIN_REC != 0;
            let key = if min { None } else { key_of(page, rec, &self.offsets, self.def.n_uniq_in_tree()) };
            pointers.queue.push_back(Pointer { child, key, after_gap: false });
        }
    }
}

fn fil_space(src: &dyn PageSource, page: PageNo) -> vaquita_base::SpaceId {
    src.page(page).map_or_else(|_| Default::default(), |p| fil::space_id(&p))
}

fn key_of(page: &[u8], rec: u16, offsets: &Offsets, n: usize) -> Option<Key> {
    (offsets.n_fields() >= n)
        .then(|| (0..n).map(|i| offsets.field(page, rec, i).map(<[u8]>::to_vec)).collect())
}

/// The child pointers of a level, page by page.
struct Pointers {
    pages: Vec<PageNo>,
    position: usize,
    queue: std::collections::VecDeque<Pointer>,
    /// The page that should come next on the level above.
    expects: Option<PageNo>,
    /// Pointers before the next one are missing.
    gap: bool,
    /// Pointers after the last one are missing.
    trailing_gap: bool,
}

impl Pointers {
    fn new(pages: Vec<PageNo>) -> Pointers {
        Pointers {
            pages,
            position: 0,
            queue: std::collections::VecDeque::new(),
            expects: None,
            gap: false,
            trailing_gap: false,
        }
    }
}
