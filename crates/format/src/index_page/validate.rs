//! The checks of an index page, one by one; see the invariants in [`super`].

use super::header::{
    DIRECTION, GARBAGE, HEAP_TOP, LAST_INSERT, N_DIR_SLOTS, N_RECS, SLOT_OWNED_MAX, SLOT_OWNED_MIN,
    direction, free, garbage, heap_start, heap_top, infimum, is_comp, is_leaf, is_leftmost, last_insert,
    n_heap, n_recs, slot, slot_at, supremum,
};
use super::list::checked_slots;
use super::{Corruption, Result};
use crate::index_def::IndexDef;
use crate::record::compare::compare_records;
use crate::record::header::{
    INFO_DELETED, INFO_MIN_REC, STATUS_INFIMUM, STATUS_NODE_PTR, STATUS_ORDINARY, STATUS_SUPREMUM,
    check_origin, heap_no, info_bits, n_owned, next, status,
};
use crate::record::layout::RecLayout;
use crate::record::offsets::{Offsets, RecSize};
use std::cmp::Ordering;

/// What a page holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// User records, delete-marked ones included.
    pub n_recs: usize,
    /// Delete-marked ones.
    pub n_deleted: usize,
    /// Records in the garbage list.
    pub n_garbage: usize,
    /// Bytes of the user records.
    pub data_bytes: usize,
}

/// Checks everything that can be known of a page by itself. Without an index, sizes of COMPACT records are unknown, so
/// I4 is checked on REDUNDANT pages only, and key order not at all; nor is it where a collation is not known.
///
/// # Errors
/// The first rule that is broken.
pub fn validate(page: &[u8], index: Option<&IndexDef>) -> Result<Stats> {
    let comp = is_comp(page);
    if index.is_some_and(|i| i.layout().comp() != comp) {
        return Err(Corruption::new("record format", "the page and its table differ"));
    }
    let old = RecLayout::redundant();
    let layout = match index {
        Some(i) => Some(i.layout()),
        None => (!comp).then_some(&old),
    };
    check_header(page)?;
    let mut seen = vec![false; usize::from(n_heap(page))];
    let mut stats = check_list(page, layout, &mut seen)?;
    check_garbage(page, layout, &mut seen, &mut stats)?;
    if let Some(missing) = seen.iter().position(|&s| !s) {
        return Err(Corruption::new("heap numbers", format!("no record has number {missing}")));
    }
    if let Some(index) = index {
        check_order(page, index)?;
    }
    Ok(stats)
}

fn check_header(page: &[u8]) -> Result<()> {
    let comp = is_comp(page);
    let n_slots = checked_slots(page)?;
    let (top, bottom) = (heap_top(page), slot_at(page.len(), n_slots - 1));
    if top < usize::from(heap_start(comp)) || top > bottom {
        return Err(Corruption::new("heap top", format!("{top}, directory from {bottom}")).at(HEAP_TOP));
    }
    if n_heap(page) < 2 || n_recs(page) > n_heap(page) - 2 {
        let detail = format!("{} in a heap of {}", n_recs(page), n_heap(page));
        return Err(Corruption::new("number of records", detail).at(N_RECS));
    }
    if direction(page) > 5 {
        return Err(Corruption::new("insert direction", format!("{}", direction(page))).at(DIRECTION));
    }
    let last = usize::from(last_insert(page));
    if last != 0 && (last < usize::from(heap_start(comp)) || last > top) {
        return Err(Corruption::new("last insert", format!("{last} is not in the heap")).at(LAST_INSERT));
    }
    Ok(())
}

/// Walks the list: next pointers, statuses, heap numbers, owners and slots, minimum flag (I1, I3, I5).
fn check_list(page: &[u8], layout: Option<&RecLayout>, seen: &mut [bool]) -> Result<Stats> {
    let comp = is_comp(page);
    let (first, last) = (infimum(comp), supremum(comp));
    let mut stats = Stats::default();
    let mut slots = SlotCheck { page, n_slots: checked_slots(page)?, slot_no: 0, group: 0 };
    let mut at = first;
    loop {
        let user = at != first && at != last;
        check_status(page, at)?;
        mark_heap_no(page, at, seen)?;
        slots.visit(at, at == last)?;
        if user {
            stats.n_recs += 1;
            if info_bits(page, at, comp) & INFO_DELETED != 0 {
                stats.n_deleted += 1;
            }
            stats.data_bytes += check_extent(page, at, layout)?;
            let min = info_bits(page, at, comp) & INFO_MIN_REC != 0;
            if min != (stats.n_recs == 1 && !is_leaf(page) && is_leftmost(page)) {
                return Err(Corruption::new("minimum record flag", format!("{min}")).at(at.into()));
            }
        }
        let to = next(page, at, comp);
        if at == last {
            if to != 0 {
                return Err(Corruption::new("record list", "goes on after the supremum").at(at.into()));
            }
            break;
        }
        check_origin(page, to).map_err(|e| e.at(at.into()))?;
        at = to;
    }
    if slots.slot_no != slots.n_slots {
        let detail = format!("{} slots, {} owners", slots.n_slots, slots.slot_no);
        return Err(Corruption::new("page directory", detail).at(N_DIR_SLOTS));
    }
    if stats.n_recs != usize::from(n_recs(page)) {
        let detail = format!("header says {}, list has {}", n_recs(page), stats.n_recs);
        return Err(Corruption::new("number of records", detail).at(N_RECS));
    }
    Ok(stats)
}

struct SlotCheck<'p> {
    page: &'p [u8],
    n_slots: usize,
    slot_no: usize,
    group: u8,
}

impl SlotCheck<'_> {
    fn visit(&mut self, rec: u16, is_last: bool) -> Result<()> {
        self.group = self.group.saturating_add(1);
        let owned = n_owned(self.page, rec, is_comp(self.page));
        if owned == 0 {
            return Ok(());
        }
        let bad = |detail: String| Err(Corruption::new("n_owned of slot", detail).at(rec.into()));
        if self.slot_no >= self.n_slots || slot(self.page, self.slot_no) != rec {
            return bad(format!("slot {} does not point to this owner", self.slot_no));
        }
        let range = match (self.slot_no, is_last) {
            (0, _) => 1..=1,
            (_, true) => 1..=SLOT_OWNED_MAX,
            (_, false) => SLOT_OWNED_MIN..=SLOT_OWNED_MAX,
        };
        if owned != self.group || !range.contains(&owned) {
            return bad(format!("{owned}, the group has {}, slot {}", self.group, self.slot_no));
        }
        self.slot_no += 1;
        self.group = 0;
        Ok(())
    }
}

fn check_status(page: &[u8], rec: u16) -> Result<()> {
    if !is_comp(page) {
        return Ok(());
    }
    let want = if rec == infimum(true) {
        STATUS_INFIMUM
    } else if rec == supremum(true) {
        STATUS_SUPREMUM
    } else if is_leaf(page) {
        STATUS_ORDINARY
    } else {
        STATUS_NODE_PTR
    };
    let found = status(page, rec);
    if found == want {
        return Ok(());
    }
    Err(Corruption::new("record status", format!("{found} instead of {want}")).at(rec.into()))
}

/// Every heap number occurs once; this also ends lists that loop.
fn mark_heap_no(page: &[u8], rec: u16, seen: &mut [bool]) -> Result<()> {
    let comp = is_comp(page);
    let no = usize::from(heap_no(page, rec, comp));
    let system = match no {
        0 => Some(infimum(comp)),
        1 => Some(supremum(comp)),
        _ => None,
    };
    let right_place = match system {
        Some(place) => place == rec,
        None => rec != infimum(comp) && rec != supremum(comp),
    };
    match seen.get_mut(no) {
        Some(seen) if !*seen && right_place => {
            *seen = true;
            Ok(())
        }
        _ => Err(Corruption::new("heap number", format!("{no}")).at(rec.into())),
    }
}

/// A record lies within the heap; its size if the layout is known.
fn check_extent(page: &[u8], rec: u16, layout: Option<&RecLayout>) -> Result<usize> {
    let comp = is_comp(page);
    let at = usize::from(rec);
    let size = match layout {
        Some(layout) => RecSize::of(page, rec, layout)?,
        None => RecSize { extra: crate::record::header::header_len(comp), data: 0 },
    };
    let start = usize::from(heap_start(comp));
    if at < start + size.extra || at + size.data > heap_top(page) {
        return Err(Corruption::new("record", "it does not lie within the heap").at(at));
    }
    Ok(size.total())
}

/// Walks the garbage list, then closes the accounts (I2, I4).
fn check_garbage(
    page: &[u8],
    layout: Option<&RecLayout>,
    seen: &mut [bool],
    stats: &mut Stats,
) -> Result<()> {
    let comp = is_comp(page);
    let mut at = free(page);
    let mut bytes = 0;
    while at != 0 {
        check_origin(page, at)?;
        mark_heap_no(page, at, seen)?;
        bytes += check_extent(page, at, layout)?;
        stats.n_garbage += 1;
        at = next(page, at, comp);
    }
    if layout.is_none() {
        return Ok(());
    }
    if bytes > garbage(page) {
        let detail = format!("{} in the header, {bytes} in the list", garbage(page));
        return Err(Corruption::new("garbage bytes", detail).at(GARBAGE));
    }
    let want = usize::from(heap_start(comp)) + stats.data_bytes + garbage(page);
    if heap_top(page) != want {
        let detail = format!("{}, start, records and garbage end at {want}", heap_top(page));
        return Err(Corruption::new("heap top", detail).at(HEAP_TOP));
    }
    Ok(())
}

/// Records have the fields of the index (REDUNDANT ones carry their number), and keys ascend strictly (I1).
fn check_order(page: &[u8], index: &IndexDef) -> Result<()> {
    let n = index.n_uniq_in_tree();
    let known = index.compare_plan()[..n].iter().all(|c| c.is_known());
    // A node pointer's last field is the child.
    let n_fields = if is_leaf(page) { index.n_fields() } else { index.layout().n_node_key() + 1 };
    let (mut last, mut this) = (Offsets::new(), Offsets::new());
    let mut before: Option<u16> = None;
    for rec in super::list::records(page) {
        let rec = rec?;
        this.parse(page, rec, index.layout())?;
        if this.n_fields() != n_fields {
            let detail = format!("{} instead of {n_fields}", this.n_fields());
            return Err(Corruption::new("number of fields", detail).at(rec.into()));
        }
        if let Some(before) = before
            && known
            && info_bits(page, before, is_comp(page)) & INFO_MIN_REC == 0
            && compare_records(index, (page, before, &last), (page, rec, &this), n) != Ordering::Less
        {
            return Err(Corruption::new("key order", "not above the record before").at(rec.into()));
        }
        before = Some(rec);
        std::mem::swap(&mut last, &mut this);
    }
    Ok(())
}
