//! The record list and the directory: walking them, and finding owners.
//!
//! Records form a list in key order from infimum to supremum. Every four to eight of them are owned by their last
//! one, which a directory slot points to; the infimum owns itself alone, the supremum up to eight.

use super::header::{SLOT_OWNED_MAX, infimum, is_comp, n_dir_slots, n_heap, slot, slot_at, supremum};
use super::{Corruption, Result};
use crate::record::header::{check_origin, n_owned, next};
use vaquita_base::codec::get_u64;

/// Successor of a record other than the supremum; may be the supremum.
///
/// # Errors
/// If the list ends before the supremum or leaves the page.
#[inline]
pub fn next_rec(page: &[u8], rec: u16) -> Result<u16> {
    check_origin(page, rec)?;
    let to = next(page, rec, is_comp(page));
    if to == 0 { Err(list_ends(rec)) } else { check_origin(page, to).map(|_| to) }
}

/// First user record, or the supremum.
///
/// # Errors
/// As [`next_rec`].
#[inline]
pub fn first_rec(page: &[u8]) -> Result<u16> {
    next_rec(page, infimum(is_comp(page)))
}

/// Last user record, or the infimum.
///
/// # Errors
/// If list and directory contradict each other.
#[inline]
pub fn last_rec(page: &[u8]) -> Result<u16> {
    prev_rec(page, supremum(is_comp(page)))
}

/// Predecessor of a record other than the infimum; may be the infimum.
///
/// # Errors
/// If list and directory contradict each other.
pub fn prev_rec(page: &[u8], rec: u16) -> Result<u16> {
    let (_, slot_no) = owner(page, rec)?;
    prev_rec_in(page, rec, slot_no)
}

/// Predecessor of a record whose owner is in this slot.
///
/// # Errors
/// As [`prev_rec`].
pub(super) fn prev_rec_in(page: &[u8], rec: u16, slot_no: usize) -> Result<u16> {
    let comp = is_comp(page);
    let Some(before) = slot_no.checked_sub(1) else { return Err(list_ends(rec)) };
    let mut at = slot(page, before);
    for _ in 0..=SLOT_OWNED_MAX {
        check_origin(page, at)?;
        let to = next(page, at, comp);
        if to == rec {
            return Ok(at);
        }
        at = to;
    }
    Err(list_ends(rec))
}

/// The record that owns `rec`, and its slot.
///
/// # Errors
/// If there is none within a slot's reach.
#[inline]
pub fn owner(page: &[u8], rec: u16) -> Result<(u16, usize)> {
    let comp = is_comp(page);
    let mut at = rec;
    for _ in 0..=SLOT_OWNED_MAX {
        check_origin(page, at)?;
        if n_owned(page, at, comp) != 0 {
            return Ok((at, find_slot(page, at)?));
        }
        at = next(page, at, comp);
    }
    Err(list_ends(rec))
}

/// The slot that points to an owner.
///
/// # Errors
/// If no slot does.
pub fn find_slot(page: &[u8], owner: u16) -> Result<usize> {
    let n = checked_slots(page)?;
    // Inserts in ascending order always ask for the last slot.
    if slot(page, n - 1) == owner {
        return Ok(n - 1);
    }
    // Four slots at a time, from the end of the page, where the first one is.
    let wanted = u64::from(owner) * LANES;
    for four in 0..n / 4 {
        let found = get_u64(page, slot_at(page.len(), 4 * four + 3)) ^ wanted;
        // The lowest bit set is that of the lowest lane that is zero; bits above may be borrowed from it.
        let zeros = found.wrapping_sub(LANES) & !found & (LANES << 15);
        if zeros != 0 {
            return Ok(4 * four + zeros.trailing_zeros() as usize / 16);
        }
    }
    (n / 4 * 4..n)
        .find(|&i| slot(page, i) == owner)
        .ok_or_else(|| Corruption::new("page directory", "no slot of an owner").at(owner.into()))
}

/// One in each of the four numbers of 16 bits in a word.
const LANES: u64 = 0x0001_0001_0001_0001;

/// Number of slots, if the directory lies within the page above the header.
///
/// # Errors
/// If it does not.
#[inline]
pub fn checked_slots(page: &[u8]) -> Result<usize> {
    let n = n_dir_slots(page);
    if n < 2 || n * 2 > page.len() - 128 - 8 {
        return Err(Corruption::new("page directory", format!("{n} slots")).at(super::header::N_DIR_SLOTS));
    }
    Ok(n)
}

/// The user records in key order. Ends after an error, and after as many records as the heap can have.
pub fn records(page: &[u8]) -> impl Iterator<Item = Result<u16>> + '_ {
    let end = supremum(is_comp(page));
    let mut at = Some(infimum(is_comp(page)));
    let mut left = usize::from(n_heap(page));
    std::iter::from_fn(move || {
        let to = next_rec(page, at?);
        at = match to {
            Ok(to) if to == end => return None,
            Ok(_) if left == 0 => None,
            Ok(to) => Some(to),
            Err(_) => None,
        };
        left = left.saturating_sub(1);
        Some(if at.is_none() { to.and_then(|rec| Err(list_ends(rec))) } else { to })
    })
}

#[cold]
pub(super) fn list_ends(rec: u16) -> Corruption {
    Corruption::new("record list", "it does not lead to its end or owner").at(rec.into())
}
