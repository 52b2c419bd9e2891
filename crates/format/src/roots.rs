//! Finds the trees of a tablespace whose metadata is missing.
//!
//! The root of a tree is the first fragment page of the tree's non-leaf segment and names that segment in its header,
//! so the segment inodes lead to all roots. Where inode pages are damaged, every page of the file is looked at.

use crate::fil::{self, PageType};
use crate::flst::{ListNode, SegmentHeader};
use crate::fsp::{FIRST_INODE_PAGE, Inode, SpaceHeader};
use crate::page_size::PageSize;
use crate::{fsp, index_page};
use std::borrow::Cow;
use std::collections::BTreeSet;
use vaquita_base::{IndexId, PageNo};

/// Gives a page of the tablespace, or nothing if it cannot be read.
pub type Pages<'p> = &'p dyn Fn(PageNo) -> Option<Cow<'p, [u8]>>;

/// The root of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Root {
    /// Where it is.
    pub page: PageNo,
    /// Number of the index, as the page says.
    pub index: IndexId,
    /// Its level: 0 if the tree is a single page.
    pub level: u16,
    /// Whether records are of the COMPACT family.
    pub comp: bool,
    /// Segment of leaf and BLOB pages.
    pub leaf: SegmentHeader,
    /// Segment of the other pages.
    pub top: SegmentHeader,
}

impl Root {
    /// Reads an index page's header as that of a root; `None` if the page is none.
    pub fn of_page(page: &[u8], no: PageNo) -> Option<Root> {
        if fil::page_type(page) != Some(PageType::Index)
            || !fil::prev(page).is_null()
            || !fil::next(page).is_null()
        {
            return None;
        }
        let leaf = SegmentHeader::read(page, index_page::header::LEAF_SEGMENT);
        let top = SegmentHeader::read(page, index_page::header::TOP_SEGMENT);
        let space = fil::space_id(page);
        if leaf.space != space || top.space != space || leaf.inode == top.inode || top.inode.offset == 0 {
            return None;
        }
        Some(Root {
            page: no,
            index: index_page::header::index_id(page),
            level: index_page::header::level(page),
            comp: index_page::header::is_comp(page),
            leaf,
            top,
        })
    }
}

/// All roots of a tablespace of so many pages, in the order of their index numbers, which is that of their creation.
pub fn find_roots(size: PageSize, n_pages: u32, page: Pages<'_>) -> Vec<Root> {
    let root_at = |no: PageNo| Root::of_page(&page(no)?, no);
    let (candidates, complete) = first_fragments(size, page);
    let mut roots: Vec<Root> = candidates.into_iter().filter_map(root_at).collect();
    if !complete || roots.is_empty() {
        roots = (0..n_pages).filter_map(|no| root_at(PageNo(no))).collect();
    }
    roots.sort_by_key(|r| r.index);
    roots
}

/// First fragment pages of all segments, and whether all inode pages could be read.
fn first_fragments(size: PageSize, page: Pages<'_>) -> (BTreeSet<PageNo>, bool) {
    let mut out = BTreeSet::new();
    let mut inode_pages = vec![FIRST_INODE_PAGE];
    let Some(first) = page(PageNo(0)) else { return (out, false) };
    let header = SpaceHeader::read(&first);
    let mut complete = header.check().is_ok();
    for list in [header.inodes_full, header.inodes_free] {
        let (mut at, mut left) = (list.first, list.len);
        while let (Some(node), true) = (at.some(), left > 0) {
            left -= 1;
            let Some(page) = page(node.page) else {
                complete = false;
                break;
            };
            if usize::from(node.offset) != fsp::inode::PAGE_NODE {
                complete = false;
                break;
            }
            inode_pages.push(node.page);
            at = ListNode::read(&page, fsp::inode::PAGE_NODE).next;
        }
    }
    for no in inode_pages {
        let Some(page) = page(no) else { continue };
        if fil::page_type(&page) != Some(PageType::Inode) {
            complete = false;
            continue;
        }
        for slot in 0..size.inodes_per_page() {
            let inode = Inode::of(size, &page, slot);
            if !inode.is_free() {
                out.extend(inode.fragments().next());
            }
        }
    }
    (out, complete)
}
