//! Checking a whole tree: its pages, its order, its links and what it takes of its tablespace.
//!
//! Walks from the root level by level. For tests, after recovery, and for CHECK TABLE; nobody may change the tree
//! meanwhile.

use crate::descent::{RecordRef, check_page};
use crate::error::Result;
use crate::key::OwnedKey;
use crate::ops;
use crate::probe::child_no;
use crate::tree::Tree;
use std::cmp::Ordering;
use std::ops::ControlFlow;
use vaquita_base::{PageId, PageNo};
use vaquita_format::fil;
use vaquita_format::index_page::{self, header};
use vaquita_format::record::Offsets;
use vaquita_format::record::header::{INFO_MIN_REC, info_bits};
use vaquita_storage::Storage;
use vaquita_storage::fsp;

/// What a tree holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TreeReport {
    /// Levels, 1 for a root alone.
    pub height: u32,
    /// Pages of the lowest level.
    pub leaf_pages: u64,
    /// Pages above it.
    pub node_pages: u64,
    /// Pages of off-page values.
    pub off_page_pages: u64,
    /// Records in the leaves, delete-marked ones included.
    pub records: u64,
    /// Delete-marked ones.
    pub delete_marked: u64,
    /// Bytes of the records in the leaves.
    pub record_bytes: u64,
    /// Pages the segments use beyond those found. Off-page values that were being written at a crash leave such pages.
    pub leaked_pages: u64,
}

/// A child as its parent knows it.
struct Child {
    page: PageNo,
    /// `None` for the root and for the first page of a level, which is below all keys.
    key: Option<OwnedKey>,
}

/// Checks a tree; see the invariants of the crate.
///
/// # Errors
/// The first broken rule; errors of reading pages.
pub fn validate(tree: &Tree, storage: &Storage) -> Result<TreeReport> {
    Ok(validate_while(tree, storage, &mut || true)?.unwrap_or_default())
}

/// The same; `go_on` is asked before every page, while none is latched. `None`: it said no.
///
/// # Errors
/// As [`validate`].
pub fn validate_while(
    tree: &Tree,
    storage: &Storage,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Option<TreeReport>> {
    let mut check = Check { tree, storage, report: TreeReport::default(), offsets: Offsets::new() };
    let root_id = tree.page_id(tree.root());
    let root = storage.pool().get_shared(root_id)?;
    check_page(tree.index(), root_id, &root, None)?;
    let top = header::level(&root);
    drop(root);
    let mut level_pages = vec![Child { page: tree.root(), key: None }];
    for level in (0..=top).rev() {
        match check.level(level, &level_pages, go_on)? {
            Some(children) => level_pages = children,
            None => return Ok(None),
        }
    }
    check.report.height = u32::from(top) + 1;
    check.segments(top)?;
    Ok(Some(check.report))
}

struct Check<'t> {
    tree: &'t Tree,
    storage: &'t Storage,
    report: TreeReport,
    offsets: Offsets,
}

impl Check<'_> {
    /// Checks the pages of a level against what their parents say; the children, if it is not the lowest.
    fn level(
        &mut self,
        level: u16,
        pages: &[Child],
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Vec<Child>>> {
        let mut children = Vec::new();
        let mut last: Option<OwnedKey> = None;
        for (i, child) in pages.iter().enumerate() {
            if !go_on() {
                return Ok(None);
            }
            let prev = i.checked_sub(1).map_or(PageNo::NULL, |i| pages[i].page);
            let next = pages.get(i + 1).map_or(PageNo::NULL, |c| c.page);
            let id = self.tree.page_id(child.page);
            if child.page == self.tree.root() && pages.len() > 1 {
                return Err(self.bad(id, "node pointer", "it leads to the root".to_owned()));
            }
            let page = self.storage.pool().get_shared(id)?;
            check_page(self.tree.index(), id, &page, Some(level))?;
            if (fil::prev(&page), fil::next(&page)) != (prev, next) {
                let detail =
                    format!("{} and {} instead of {prev} and {next}", fil::prev(&page), fil::next(&page));
                return Err(self.bad(id, "sibling links", detail));
            }
            self.page(id, &page, level)?;
            last = self.keys(id, &page, level, child, last)?.or_else(|| child.key.clone());
            if level > 0 {
                self.children(id, &page, &mut children)?;
            }
        }
        Ok(Some(children))
    }

    /// The page by itself.
    fn page(&mut self, id: PageId, page: &[u8], level: u16) -> Result<()> {
        let index = self.tree.index();
        let stats = self.tree.checked(id, index_page::validate(page, Some(index)))?;
        let is_root = id.page_no == self.tree.root();
        if stats.n_recs == 0 && (!is_root || level > 0) {
            return Err(self.bad(id, "number of records", "the page is empty".to_owned()));
        }
        if level > 0 {
            self.report.node_pages += 1;
            return Ok(());
        }
        self.report.leaf_pages += 1;
        self.report.records += stats.n_recs as u64;
        self.report.delete_marked += stats.n_deleted as u64;
        self.report.record_bytes += stats.data_bytes as u64;
        self.tree.check_free_bits(self.storage, id.page_no, page)?;
        self.off_page(id, page)
    }

    /// The page's keys against the last one of the page before and against its pointer; its own last key.
    fn keys(
        &mut self,
        id: PageId,
        page: &[u8],
        level: u16,
        child: &Child,
        last: Option<OwnedKey>,
    ) -> Result<Option<OwnedKey>> {
        if header::n_recs(page) == 0 {
            return Ok(None);
        }
        let tree = self.tree;
        let first = tree.checked(id, index_page::first_rec(page))?;
        let first_key = self.key(id, page, first)?;
        let is_min = level > 0 && fil::prev(page).is_null();
        let last_rec = tree.checked(id, index_page::last_rec(page))?;
        let own_last = self.key(id, page, last_rec)?;
        // The key of the record below all keys says nothing: alone on its page, it leaves no last key to compare with.
        let own_last = (!is_min || first != last_rec).then_some(own_last);
        if !tree.index().order_is_known() {
            return Ok(own_last);
        }
        if let Some(key) = &child.key {
            let order = key.order(tree.index(), &first_key);
            let right = if level > 0 { order == Ordering::Equal } else { order != Ordering::Greater };
            if !right {
                return Err(self.bad(
                    id,
                    "key of a node pointer",
                    "it is not the least of its page".to_owned(),
                ));
            }
            if last.as_ref().is_some_and(|last| last.order(tree.index(), key) != Ordering::Less) {
                return Err(self.bad(id, "key of a node pointer", "not above the page before".to_owned()));
            }
        }
        if !is_min && last.is_some_and(|last| last.order(tree.index(), &first_key) != Ordering::Less) {
            return Err(self.bad(id, "key order", "not above the page before".to_owned()));
        }
        Ok(own_last)
    }

    fn key(&mut self, id: PageId, page: &[u8], rec: u16) -> Result<OwnedKey> {
        let index = self.tree.index();
        self.tree.checked(id, self.offsets.parse(page, rec, index.layout()))?;
        let n = index.n_uniq_in_tree();
        if self.offsets.n_fields() < n {
            return Err(self.bad(id, "number of fields", format!("{}", self.offsets.n_fields())));
        }
        let mut key = OwnedKey::default();
        key.set(page, rec, &self.offsets, n);
        Ok(key)
    }

    fn children(&mut self, id: PageId, page: &[u8], children: &mut Vec<Child>) -> Result<()> {
        for rec in index_page::records(page) {
            let rec = self.tree.checked(id, rec)?;
            let child = self.tree.checked(id, child_no(self.tree.index(), page, rec))?;
            let is_min = info_bits(page, rec, header::is_comp(page)) & INFO_MIN_REC != 0;
            let key = if is_min { None } else { Some(self.key(id, page, rec)?) };
            children.push(Child { page: child, key });
        }
        Ok(())
    }

    /// The chains that the records of a leaf own.
    fn off_page(&mut self, id: PageId, page: &[u8]) -> Result<()> {
        for rec in index_page::records(page) {
            let rec = self.tree.checked(id, rec)?;
            let record = RecordRef { page, page_id: id, rec };
            for (_, _, chain) in self.tree.external_refs(&record)? {
                // A chain of length 0 is being freed: its rest is found at the next try.
                if !chain.owner || chain.page_no.is_null() || chain.len == 0 {
                    continue;
                }
                let mut pages = 0;
                self.tree.read_chain(self.storage, &chain, |_| {
                    pages += 1;
                    ControlFlow::Continue(())
                })?;
                self.report.off_page_pages += pages;
            }
        }
        Ok(())
    }

    fn segments(&mut self, top: u16) -> Result<()> {
        let report = &self.report;
        let (leaves, nodes) = match top {
            0 => (0, 1),
            _ => (report.leaf_pages, report.node_pages),
        };
        let mut mtr = self.storage.begin_read();
        let used = fsp::segment_usage(&mut mtr, self.tree.leaf_segment())?.used;
        let top_used = fsp::segment_usage(&mut mtr, self.tree.top_segment())?.used;
        drop(mtr);
        let found = leaves + report.off_page_pages;
        if used < found || top_used != nodes {
            let detail =
                format!("the segments use {used} and {top_used} pages, the tree {found} and {nodes}");
            return Err(self.bad(self.tree.page_id(self.tree.root()), "pages of the segments", detail));
        }
        self.report.leaked_pages = used - found;
        Ok(())
    }

    #[cold]
    fn bad(&self, id: PageId, check: &'static str, detail: String) -> crate::error::Error {
        ops::bad(id, self.tree.index(), check, detail)
    }
}
