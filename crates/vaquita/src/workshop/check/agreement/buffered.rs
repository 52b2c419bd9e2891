//! Changes of secondary indexes that wait in the change buffer.
//!
//! The tree is in the order of tablespace and page, so the changes of a tablespace lie together: only the leaf where
//! they begin is kept for each.

use std::collections::BTreeMap;

use vaquita_base::codec::get_u32;
use vaquita_base::{PageNo, SpaceId};
use vaquita_format::ibuf::{self, Metadata, Operation};
use vaquita_format::record::header::is_deleted;
use vaquita_format::record::{Offsets, RecLayout};
use vaquita_format::{fil, index_page};

use super::entry;
use crate::workshop::progress::Progress;
use crate::workshop::report::Report;
use crate::workshop::roots::Root;
use crate::workshop::source::PageSource;
use crate::workshop::walk::{for_each_leaf, index_page_at};

/// Which tablespaces have changes in the buffer, and where.
#[derive(Debug, Clone, Default)]
pub struct Buffered {
    first_leaf: BTreeMap<SpaceId, PageNo>,
    changes: u64,
}

/// A change that waits for its page.
pub(super) struct Change<'a> {
    /// The leaf it is for.
    pub(super) page: PageNo,
    pub(super) operation: Operation,
    /// The entry, written down.
    pub(super) entry: &'a [u8],
}

impl Buffered {
    /// Looks through the tree once. Its faults are found by its own check.
    pub(in crate::workshop::check) fn read(src: &dyn PageSource, root: &Root) -> Buffered {
        let mut out = Buffered::default();
        let (layout, mut offsets) = (RecLayout::redundant(), Offsets::new());
        let mut visit = |no: PageNo, page: &[u8], _: &mut Report| {
            for rec in index_page::records(page).map_while(Result::ok) {
                if !is_deleted(page, rec, false)
                    && offsets.parse(page, rec, &layout).is_ok()
                    && let Some(space) = number(page, rec, &offsets, ibuf::FIELD_SPACE)
                {
                    out.first_leaf.entry(SpaceId(space)).or_insert(no);
                    out.changes += 1;
                }
            }
            Ok::<(), std::convert::Infallible>(())
        };
        let mut report = Report::new();
        let walked = for_each_leaf(src, root, &layout, &mut report, &mut Progress::hidden(), &mut visit);
        match walked {
            Ok(()) => out,
            Err(never) => match never {},
        }
    }

    /// How many changes there are, for how many tablespaces.
    pub fn count(&self) -> (u64, usize) {
        (self.changes, self.first_leaf.len())
    }

    /// Calls `visit` with every change for a tablespace, in order; whether all could be read.
    pub(super) fn for_each(
        &self,
        src: &dyn PageSource,
        space: SpaceId,
        visit: &mut dyn FnMut(&Change<'_>),
    ) -> bool {
        let (layout, mut offsets) = (RecLayout::redundant(), Offsets::new());
        let mut at = self.first_leaf.get(&space).copied();
        let (mut left, mut buf) = (src.n_pages(), Vec::new());
        while let Some(no) = at {
            let Ok(page) = index_page_at(src, no, ibuf::INDEX_ID, 0) else { return false };
            for rec in index_page::records(&page) {
                let parsed = rec.and_then(|rec| offsets.parse(&page, rec, &layout).map(|()| rec));
                let Ok(rec) = parsed else { return false };
                match number(&page, rec, &offsets, ibuf::FIELD_SPACE) {
                    Some(n) if n < space.get() => continue,
                    Some(n) if n > space.get() => return true,
                    Some(_) => {}
                    None => return false,
                }
                if is_deleted(&page, rec, false) {
                    // Done, and not removed yet.
                    continue;
                }
                if !change(&page, rec, &offsets, &mut buf, visit) {
                    return false;
                }
            }
            if left == 0 {
                return false;
            }
            left -= 1;
            at = fil::next(&page).some();
        }
        true
    }
}

fn number(page: &[u8], rec: u16, offsets: &Offsets, field: usize) -> Option<u32> {
    if offsets.n_fields() <= ibuf::FIELD_USER {
        return None;
    }
    offsets.field(page, rec, field).filter(|raw| raw.len() == 4).map(|raw| get_u32(raw, 0))
}

fn change(
    page: &[u8],
    rec: u16,
    offsets: &Offsets,
    buf: &mut Vec<u8>,
    visit: &mut dyn FnMut(&Change<'_>),
) -> bool {
    let Some(no) = number(page, rec, offsets, ibuf::FIELD_PAGE) else { return false };
    let metadata = offsets.field(page, rec, ibuf::FIELD_METADATA).map(Metadata::decode);
    let Some(Ok(metadata)) = metadata else { return false };
    let n = offsets.n_fields() - ibuf::FIELD_USER;
    if !entry::stored(page, rec, offsets, ibuf::FIELD_USER, n, buf) {
        return false;
    }
    visit(&Change { page: PageNo(no), operation: metadata.operation, entry: buf });
    true
}
