//! Whether the pages of a file's trees hang together: those of each level are one chain from left to right, in the order in which
//! the level above points to them.
//!
//! Pages come in the order of the file, so what is said of them from two sides is [summed up](super::sums), and only of pages above
//! the leaves something is kept.
//!
//! # Rules
//! - S1: the page after another one names that as the one before it.
//! - S2: each level has one page with none before it, and one with none behind it.
//! - S3: every page but the root is pointed to once, from the level above.
//! - S4: pages that are pointed to one after the other stand one after the other.
//!
//! S1 and S2 leave rings beside the chain; S4 leaves none.

use super::convert::Taken;
use super::file::Source;
use super::sums::Sum;
use std::collections::HashMap;
use vaquita_base::PageNo;
use vaquita_base::codec::get_u32;
use vaquita_format::checksum::ChecksumAlgorithm;
use vaquita_format::fil;
use vaquita_format::index_page::header;
use vaquita_format::record::{CHILD_LEN, Offsets};

/// What is known of a level.
#[derive(Debug, Default)]
struct Level {
    pages: Sum,
    pointed: Sum,
    /// Pages and the next of each; the previous of each and pages; pages that pointers beside each other lead to.
    next: Sum,
    prev: Sum,
    in_order: Sum,
    firsts: u32,
    lasts: u32,
}

/// What a page above the leaves leads to.
#[derive(Debug, Clone, Copy)]
struct Inner {
    tree: usize,
    level: u16,
    next: PageNo,
    first: PageNo,
    last: PageNo,
}

/// The trees as far as their pages have come.
#[derive(Debug, Default)]
pub(super) struct Shape {
    levels: HashMap<(usize, u16), Level>,
    inner: HashMap<PageNo, Inner>,
}

impl Shape {
    /// Takes a page of a tree.
    pub(super) fn page(
        &mut self,
        (tree, taken): (usize, &Taken),
        (no, page): (PageNo, &[u8]),
        records: &[u16],
        offsets: &mut Offsets,
    ) -> vaquita_format::Result<()> {
        let level = header::level(page);
        let (prev, next) = (fil::prev(page), fil::next(page));
        let known = self.levels.entry((tree, level)).or_default();
        if no != taken.root {
            known.pages.add_pair(0, no.get());
        }
        match prev.is_null() {
            true => known.firsts += 1,
            false => known.prev.add_pair(prev.get(), no.get()),
        }
        match next.is_null() {
            true => known.lasts += 1,
            false => known.next.add_pair(no.get(), next.get()),
        }
        if level == 0 {
            return Ok(());
        }
        let below = self.levels.entry((tree, level - 1)).or_default();
        let (mut first, mut last) = (PageNo::NULL, PageNo::NULL);
        for &rec in records {
            offsets.parse(page, rec, taken.def.layout())?;
            let at = offsets.n_fields().wrapping_sub(1);
            let child = offsets.field(page, rec, at).filter(|raw| raw.len() == CHILD_LEN);
            let child = child.map_or(PageNo::NULL, |raw| PageNo(get_u32(raw, 0)));
            below.pointed.add_pair(0, child.get());
            match last.is_null() {
                true => first = child,
                false => below.in_order.add_pair(last.get(), child.get()),
            }
            last = child;
        }
        self.inner.insert(no, Inner { tree, level, next, first, last });
        Ok(())
    }

    /// Looks at all that came. The error says what is wrong.
    pub(super) fn check(
        &mut self,
        trees: &[Taken],
        source: &Source,
        accepted: ChecksumAlgorithm,
    ) -> Result<(), String> {
        for page in self.inner.values() {
            if let Some(next) = self.inner.get(&page.next)
                && let Some(below) = self.levels.get_mut(&(page.tree, page.level - 1))
            {
                below.in_order.add_pair(page.last.get(), next.first.get());
            }
        }
        let mut levels: Vec<_> = self.levels.iter().collect();
        levels.sort_unstable_by_key(|(at, _)| **at);
        for (&(tree, level), known) in levels {
            let of = format!("index {}, level {level}", trees[tree].def.name());
            if known.next != known.prev {
                let where_ = broken_link(source, accepted, &trees[tree], level);
                return Err(format!("{of}: {}", where_.unwrap_or_else(|| "its pages are not linked".into())));
            }
            if (known.firsts, known.lasts) != (1, 1) {
                return Err(format!(
                    "{of}: {} pages have none before them, {} none behind them",
                    known.firsts, known.lasts
                ));
            }
            if known.pages != known.pointed {
                return Err(format!("{of}: its pages are not those that the level above points to"));
            }
            if known.next != known.in_order {
                return Err(format!(
                    "{of}: its pages are not in the order in which the level above points to them"
                ));
            }
        }
        Ok(())
    }
}

/// A page beside another one, how that leads to it, where it leads back to, and how.
type Side = (PageNo, &'static str, fn(&[u8]) -> PageNo, &'static str);

/// The first page of a level that the page beside it does not name.
fn broken_link(source: &Source, accepted: ChecksumAlgorithm, tree: &Taken, level: u16) -> Option<String> {
    let of_level = |page: &[u8]| {
        fil::page_type(page) == Some(fil::PageType::Index)
            && header::index_id(page) == tree.from
            && header::level(page) == level
    };
    for no in (0..source.n_pages).map(PageNo) {
        let Some(page) = source.page(no, accepted).filter(|page| of_level(page)) else { continue };
        let (prev, next) = (fil::prev(&page), fil::next(&page));
        let sides: [Side; 2] = [
            (next, "is followed by", fil::prev, "which follows"),
            (prev, "follows", fil::next, "which is followed by"),
        ];
        for (other, leads, back, says) in sides.into_iter().filter(|side| !side.0.is_null()) {
            match source.page(other, accepted).filter(|page| of_level(page)).map(|page| back(&page)) {
                None => return Some(format!("page {no} {leads} page {other}, which is none of it")),
                Some(found) if found != no => {
                    return Some(format!("page {no} {leads} page {other}, {says} page {found}"));
                }
                Some(_) => {}
            }
        }
    }
    None
}
