//! Finding a key within a page: binary search over the directory, then along the records of one slot.
//!
//! The hottest loop of the engine. Keys of one integer are compared as numbers where they lie; keys of fields at
//! constant places without decoding lengths; only other keys walk over lengths and null bits.

use super::header::{SLOT_OWNED_MAX, infimum, is_comp, is_leaf, n_dir_slots, slot, slot_at, supremum};
use super::{Corruption, Result};
use crate::index_def::IndexDef;
use crate::record::compare::{compare, compare_const};
use crate::record::header::{INFO_MIN_REC, info_bits, next};
use crate::tuple::Tuple;
use std::cmp::Ordering;
use vaquita_base::codec::{get_u32, get_u64};

/// Which record a search is after.
///
/// On the way down through node pages, look for [`SearchMode::LessOrEqual`] when the leaf is searched with
/// `LessOrEqual` or `Greater`, and for [`SearchMode::Less`] when with `Less` or `GreaterOrEqual`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchMode {
    /// The last record below the tuple.
    Less,
    /// The last record not above the tuple.
    LessOrEqual,
    /// The first record not below the tuple.
    GreaterOrEqual,
    /// The first record above the tuple.
    Greater,
}

impl SearchMode {
    /// The mode for node pages above a leaf that is searched with this one.
    #[inline]
    pub const fn on_node_pages(self) -> SearchMode {
        match self {
            SearchMode::Less | SearchMode::GreaterOrEqual => SearchMode::Less,
            SearchMode::LessOrEqual | SearchMode::Greater => SearchMode::LessOrEqual,
        }
    }
}

/// Where a tuple belongs in a page: between `low` and its successor `up`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// The record the mode asks for: `low` or `up`.
    pub rec: u16,
    /// Last record below the tuple (or equal, for `LessOrEqual` and `Greater`); may be the infimum.
    pub low: u16,
    /// Its successor; may be the supremum.
    pub up: u16,
    /// Leading fields of the tuple equal to those of `low`; 0 for the infimum. An insert after `low` with
    /// `low_matched >= n_uniq` found a duplicate.
    pub low_matched: u16,
    /// Leading fields of the tuple equal to those of `up`; 0 for the supremum.
    pub up_matched: u16,
}

/// Finds the place of a tuple by its compared fields.
///
/// # Errors
/// If the directory or a record on the way contradicts the page.
#[inline]
pub fn search(page: &[u8], index: &IndexDef, tuple: &Tuple<'_>, mode: SearchMode) -> Result<Found> {
    let comp = is_comp(page);
    if comp != index.layout().comp() {
        return Err(Corruption::new("record format", "the page and its table differ"));
    }
    let mut tuple = *tuple;
    if !is_leaf(page) {
        tuple = tuple.compare_first(tuple.n_cmp().min(index.n_uniq_in_tree()));
    }
    let fields = &tuple.fields()[..tuple.n_cmp()];
    if fields.len() > index.n_const_bytes() || tuple.info_bits() & INFO_MIN_REC != 0 {
        let general =
            |rec: usize, matched: &mut usize| compare(index, page, rec as u16, &tuple, matched).ok();
        return bisect(page, comp, mode, general);
    }
    let min_rec = usize::from(min_rec(page, comp));
    // A record of the minimum key is always the first one, so the other comparisons need not look for its flag.
    if let [key] = fields
        && let Some(data) = key.data
        && data.len() == usize::from(index.layout().fields()[0].fixed_len)
    {
        match data.len() {
            4 => {
                let key = get_u32(data, 0);
                let by_u32 = |rec: usize, matched: &mut usize| {
                    let stored = get_u32(page.get(rec..rec + 4)?, 0);
                    let order = if rec == min_rec { Ordering::Greater } else { key.cmp(&stored) };
                    *matched = usize::from(order == Ordering::Equal);
                    Some(order)
                };
                return bisect(page, comp, mode, by_u32);
            }
            8 => {
                let key = get_u64(data, 0);
                let by_u64 = |rec: usize, matched: &mut usize| {
                    let stored = get_u64(page.get(rec..rec + 8)?, 0);
                    let order = if rec == min_rec { Ordering::Greater } else { key.cmp(&stored) };
                    *matched = usize::from(order == Ordering::Equal);
                    Some(order)
                };
                return bisect(page, comp, mode, by_u64);
            }
            _ => {}
        }
    }
    bisect(page, comp, mode, |rec, matched| {
        if rec == min_rec {
            *matched = 0;
            return Some(Ordering::Greater);
        }
        compare_const(index, page, rec, fields, matched)
    })
}

/// The record of the minimum key, if this is the leftmost page of a level above the leaves.
#[inline]
fn min_rec(page: &[u8], comp: bool) -> u16 {
    if is_leaf(page) {
        return 0;
    }
    let first = next(page, infimum(comp), comp);
    let in_page = usize::from(first) >= usize::from(infimum(comp)) && usize::from(first) < page.len();
    if in_page && info_bits(page, first, comp) & INFO_MIN_REC != 0 { first } else { 0 }
}

/// `order` tells how the tuple compares with a record, given that `matched` leading fields are equal.
#[inline(always)]
fn bisect(
    page: &[u8],
    comp: bool,
    mode: SearchMode,
    mut order: impl FnMut(usize, &mut usize) -> Option<Ordering>,
) -> Result<Found> {
    let n_slots = n_slots_checked(page)?;
    let equal_is_low = matches!(mode, SearchMode::LessOrEqual | SearchMode::Greater);
    let (mut low_matched, mut up_matched) = (0usize, 0usize);
    let (mut low_slot, mut up_slot) = (0, n_slots - 1);
    let in_page = |rec: u16| is_in_page(page, rec);
    while up_slot - low_slot > 1 {
        let mid = (low_slot + up_slot) / 2;
        let rec = slot(page, mid);
        if !in_page(rec) {
            return Err(bad_chain(rec));
        }
        let mut matched = low_matched.min(up_matched);
        let o = order(usize::from(rec), &mut matched).ok_or_else(|| bad_chain(rec))?;
        if o == Ordering::Greater || (o == Ordering::Equal && equal_is_low) {
            (low_slot, low_matched) = (mid, matched);
        } else {
            (up_slot, up_matched) = (mid, matched);
        }
    }
    let (mut low, end) = (slot(page, low_slot), slot(page, up_slot));
    if !in_page(low) {
        return Err(bad_chain(low));
    }
    let mut up = next(page, low, comp);
    let mut steps = 0;
    while up != end {
        steps += 1;
        if !in_page(up) || steps > SLOT_OWNED_MAX {
            return Err(bad_chain(up));
        }
        let mut matched = low_matched.min(up_matched);
        let o = order(usize::from(up), &mut matched).ok_or_else(|| bad_chain(up))?;
        if o == Ordering::Greater || (o == Ordering::Equal && equal_is_low) {
            (low, low_matched) = (up, matched);
        } else {
            up_matched = matched;
            break;
        }
        up = next(page, low, comp);
    }
    if !in_page(up) {
        return Err(bad_chain(up));
    }
    // A slot in the middle may point to the supremum.
    if low == supremum(comp) {
        return Err(bad_chain(low));
    }
    let rec = match mode {
        SearchMode::Less | SearchMode::LessOrEqual => low,
        SearchMode::GreaterOrEqual | SearchMode::Greater => up,
    };
    Ok(Found { rec, low, up, low_matched: low_matched as u16, up_matched: up_matched as u16 })
}

/// Number of slots of a page, of which all lie where slots may lie.
#[inline]
pub(super) fn n_slots_checked(page: &[u8]) -> Result<usize> {
    let n_slots = n_dir_slots(page);
    // Slots must not reach below the records' start; the least page of 4 KiB keeps this from overflowing.
    if n_slots < 2 || n_slots * 2 > page.len() / 2 || slot_at(page.len(), n_slots - 1) < 128 {
        return Err(bad_directory(n_slots));
    }
    Ok(n_slots)
}

/// Whether a record can begin there.
#[inline]
pub(super) fn is_in_page(page: &[u8], rec: u16) -> bool {
    usize::from(rec).wrapping_sub(99) < page.len() - 99 - 8
}

#[cold]
fn bad_directory(n_slots: usize) -> Corruption {
    Corruption::new("page directory", format!("{n_slots} slots"))
}

#[cold]
pub(super) fn bad_chain(rec: u16) -> Corruption {
    Corruption::new("record list", "the search met an impossible record").at(usize::from(rec))
}
