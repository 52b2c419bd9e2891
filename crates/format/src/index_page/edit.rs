//! Page edits without logging: the bytes of a page before become the bytes after, nothing else happens.
//!
//! Normal work calls them through [`super::logged`], which appends the redo record of the same change; recovery calls
//! them from [`crate::redo_apply`]. An edit that returns an error may have changed the page: the page was corrupt
//! before it.

use super::header::{
    COMP_FLAG, DIRECTION, DIRECTION_LEFT, DIRECTION_NONE, DIRECTION_RIGHT, FREE, GARBAGE, HEAP_TOP,
    LAST_INSERT, MAX_TRX_ID, N_DIR_SLOTS, N_DIRECTION, N_HEAP, N_RECS, RECORDS, SLOT_LEN, SLOT_OWNED_MAX,
    SLOT_OWNED_MIN, direction, free, garbage, heap_start, heap_top, infimum, is_comp, last_insert,
    n_direction, n_heap, n_recs, set_slot, slot, slot_at, supremum,
};
use super::list::{checked_slots, list_ends, next_rec, owner, prev_rec, prev_rec_in};
use super::space::max_insert_size;
use super::{Corruption, Result};
use crate::fil::{self, PageType, TRAILER_SIZE};
use crate::record::header::{
    INFO_DELETED, INFO_MIN_REC, check_origin, header_len, heap_no, info_bits, n_owned, next, set_heap_no,
    set_info_bits, set_n_owned, set_next,
};
use crate::record::layout::RecLayout;
use crate::record::offsets::{FieldPlace, Offsets, RecSize};
use vaquita_base::codec::{get_u16, get_u48, get_u56, get_u64, put_u16, put_u48, put_u56, put_u64};
use vaquita_base::{RollPtr, TrxId};

/// Infimum and supremum of a COMPACT page, from [`RECORDS`].
const COMP_SYSTEM_RECORDS: [u8; 26] = *b"\x01\0\x02\0\x0Dinfimum\0\x01\0\x0B\0\0supremum";

/// Infimum and supremum of a REDUNDANT page, from [`RECORDS`].
const OLD_SYSTEM_RECORDS: [u8; 31] = *b"\x08\x01\0\0\x03\0\x74infimum\0\x09\x01\0\x08\x03\0\0supremum\0";

/// Makes an empty page: page type, header, infimum, supremum, directory; the record area becomes zero. FIL header,
/// level, index id and segment headers stay as they are.
pub fn create(page: &mut [u8], comp: bool) {
    fil::set_page_type(page, PageType::Index);
    page[N_DIR_SLOTS..MAX_TRX_ID + 8].fill(0);
    let system_records: &[u8] = if comp { &COMP_SYSTEM_RECORDS } else { &OLD_SYSTEM_RECORDS };
    let (area, end) = (RECORDS + system_records.len(), page.len() - TRAILER_SIZE);
    page[RECORDS..area].copy_from_slice(system_records);
    page[area..end].fill(0);
    set_slot(page, 0, infimum(comp));
    set_slot(page, 1, supremum(comp));
    put_u16(page, N_DIR_SLOTS, 2);
    put_u16(page, HEAP_TOP, heap_start(comp));
    put_u16(page, N_HEAP, if comp { COMP_FLAG | 2 } else { 2 });
    put_u16(page, DIRECTION, DIRECTION_NONE);
}

/// Inserts a record after `after` (the infimum or a user record) and returns its origin; `None`, with nothing changed,
/// if neither the first record of the garbage list nor the top of the heap has the room.
///
/// `rec` holds `extra` bytes below the origin, then data, as [`crate::record::encode`] makes them.
///
/// # Errors
/// If the page is corrupt.
///
/// # Panics
/// If `extra` does not lie within `rec`: it comes from `encode`.
pub fn insert(
    page: &mut [u8],
    layout: &RecLayout,
    after: u16,
    rec: &[u8],
    extra: usize,
) -> Result<Option<u16>> {
    let comp = layout.comp();
    assert!(extra >= header_len(comp) && extra <= rec.len(), "extra bytes of a record");
    check_origin(page, after)?;
    if after == supremum(comp) {
        return Err(list_ends(after));
    }
    let Some((start, heap)) = allocate(page, layout, rec.len())? else { return Ok(None) };
    let origin = (start + extra) as u16;
    page[start..start + rec.len()].copy_from_slice(rec);
    set_n_owned(page, origin, comp, 0);
    set_heap_no(page, origin, comp, heap);

    let successor = next(page, after, comp);
    set_next(page, origin, comp, successor);
    set_next(page, after, comp, origin);
    put_u16(page, N_RECS, n_recs(page).wrapping_add(1));
    note_direction(page, after, successor, origin);
    own(page, origin)?;
    Ok(Some(origin))
}

/// Takes room for a record: start and heap number. The first garbage record is taken if it is long enough (its slack
/// stays garbage), else the top of the heap.
#[inline]
fn allocate(page: &mut [u8], layout: &RecLayout, len: usize) -> Result<Option<(usize, u16)>> {
    let comp = layout.comp();
    let head = free(page);
    if head != 0 {
        let size = RecSize::of(page, head, layout)?;
        if size.total() >= len {
            put_u16(page, FREE, next(page, head, comp));
            put_u16(page, GARBAGE, garbage(page).wrapping_sub(len) as u16);
            return Ok(Some((usize::from(head) - size.extra, heap_no(page, head, comp))));
        }
    }
    if max_insert_size(page, 1) < len {
        return Ok(None);
    }
    let (start, heap) = (heap_top(page), n_heap(page));
    let bottom = slot_at(page.len(), checked_slots(page)? - 1);
    if start < usize::from(heap_start(comp)) || start + len > bottom || heap >= 0x1FFF {
        return Err(Corruption::new("heap top", format!("{start}, {heap} records")).at(HEAP_TOP));
    }
    put_u16(page, HEAP_TOP, (start + len) as u16);
    let flag = get_u16(page, N_HEAP) & COMP_FLAG;
    put_u16(page, N_HEAP, flag | (heap + 1));
    Ok(Some((start, heap)))
}

/// Whether [`insert`] finds room for a record of `len` bytes.
///
/// # Errors
/// If the page is corrupt.
pub fn has_room(page: &[u8], layout: &RecLayout, len: usize) -> Result<bool> {
    let head = free(page);
    Ok(head != 0 && RecSize::of(page, head, layout)?.total() >= len || max_insert_size(page, 1) >= len)
}

/// Keeps the insert pattern that splits look at: ascending, descending or neither.
#[inline]
fn note_direction(page: &mut [u8], after: u16, successor: u16, origin: u16) {
    let last = last_insert(page);
    let (dir, n) = if last == 0 {
        (DIRECTION_NONE, 0)
    } else if last == after && direction(page) != DIRECTION_LEFT {
        (DIRECTION_RIGHT, n_direction(page).wrapping_add(1))
    } else if last == successor && direction(page) != DIRECTION_RIGHT {
        (DIRECTION_LEFT, n_direction(page).wrapping_add(1))
    } else {
        (DIRECTION_NONE, 0)
    };
    put_u16(page, DIRECTION, dir);
    put_u16(page, N_DIRECTION, n);
    put_u16(page, LAST_INSERT, origin);
}

/// Counts a new record at its owner, and splits the owner's slot when it would own nine.
#[inline]
fn own(page: &mut [u8], origin: u16) -> Result<()> {
    let comp = is_comp(page);
    let mut at = origin;
    for _ in 0..=SLOT_OWNED_MAX {
        at = next(page, at, comp);
        check_origin(page, at)?;
        let n = n_owned(page, at, comp);
        if n != 0 {
            set_n_owned(page, at, comp, n + 1);
            return if n >= SLOT_OWNED_MAX { split_slot(page, at) } else { Ok(()) };
        }
    }
    Err(list_ends(origin))
}

/// Splits the slot of an owner of nine: its fourth record becomes an owner of four.
fn split_slot(page: &mut [u8], owner: u16) -> Result<()> {
    let comp = is_comp(page);
    let slot_no = super::list::find_slot(page, owner)?;
    let n_slots = checked_slots(page)?;
    if slot_no == 0 || slot_at(page.len(), n_slots) < heap_top(page) {
        return Err(Corruption::new("page directory", "no room for a slot").at(N_DIR_SLOTS));
    }
    let n = n_owned(page, owner, comp);
    let mut middle = slot(page, slot_no - 1);
    for _ in 0..n / 2 {
        middle = next_rec(page, middle)?;
    }
    let (lowest, above) = (slot_at(page.len(), n_slots - 1), slot_at(page.len(), slot_no) + SLOT_LEN);
    page.copy_within(lowest..above, lowest - SLOT_LEN);
    put_u16(page, N_DIR_SLOTS, (n_slots + 1) as u16);
    set_slot(page, slot_no, middle);
    set_n_owned(page, middle, comp, n / 2);
    set_n_owned(page, owner, comp, n - n / 2);
    Ok(())
}

/// Removes a user record: it moves to the head of the garbage list. Unlike in [`super::logged::delete`], a page that
/// becomes empty keeps its garbage.
///
/// # Errors
/// If the page is corrupt or `rec` is infimum or supremum.
pub fn delete(page: &mut [u8], layout: &RecLayout, rec: u16) -> Result<()> {
    let comp = layout.comp();
    if rec == infimum(comp) || rec == supremum(comp) {
        return Err(list_ends(rec));
    }
    let size = RecSize::of(page, rec, layout)?;
    let (owner, slot_no) = owner(page, rec)?;
    let before = prev_rec_in(page, rec, slot_no)?;
    let n = n_owned(page, owner, comp);
    let successor = next_rec(page, rec)?;
    put_u16(page, LAST_INSERT, 0);
    set_next(page, before, comp, successor);
    let owner = if owner == rec {
        set_slot(page, slot_no, before);
        before
    } else {
        owner
    };
    set_n_owned(page, owner, comp, n - 1);
    let head = free(page);
    set_next(page, rec, comp, head);
    put_u16(page, FREE, rec);
    put_u16(page, GARBAGE, garbage(page).wrapping_add(size.total()) as u16);
    put_u16(page, N_RECS, n_recs(page).wrapping_sub(1));
    if n <= SLOT_OWNED_MIN { balance_slot(page, slot_no) } else { Ok(()) }
}

/// Brings a slot that owns fewer than four to four, from the next one, or merges it into that.
fn balance_slot(page: &mut [u8], slot_no: usize) -> Result<()> {
    let comp = is_comp(page);
    let n_slots = checked_slots(page)?;
    if slot_no + 1 >= n_slots {
        // The supremum may own any number.
        return Ok(());
    }
    let (low, up) = (slot(page, slot_no), slot(page, slot_no + 1));
    check_origin(page, low)?;
    check_origin(page, up)?;
    let (n_low, n_up) = (n_owned(page, low, comp), n_owned(page, up, comp));
    if n_up > SLOT_OWNED_MIN {
        let moved = next_rec(page, low)?;
        set_n_owned(page, low, comp, 0);
        set_n_owned(page, moved, comp, n_low + 1);
        set_slot(page, slot_no, moved);
        set_n_owned(page, up, comp, n_up - 1);
    } else {
        set_n_owned(page, low, comp, 0);
        set_n_owned(page, up, comp, n_low + n_up);
        let (lowest, at) = (slot_at(page.len(), n_slots - 1), slot_at(page.len(), slot_no));
        page.copy_within(lowest..at, lowest + SLOT_LEN);
        put_u16(page, N_DIR_SLOTS, (n_slots - 1) as u16);
        put_u16(page, lowest, 0);
    }
    Ok(())
}

/// Removes the records from `rec` to the end. They become garbage in their order.
///
/// # Errors
/// If the page is corrupt.
pub fn delete_list_from(page: &mut [u8], layout: &RecLayout, rec: u16) -> Result<()> {
    let comp = layout.comp();
    let end = supremum(comp);
    let rec = if rec == infimum(comp) { next_rec(page, rec)? } else { rec };
    if rec == end {
        return Ok(());
    }
    let (mut last, mut size, mut n) = (rec, 0, 0u16);
    let mut at = rec;
    while at != end {
        if n > n_heap(page) {
            return Err(list_ends(rec));
        }
        size += RecSize::of(page, at, layout)?.total();
        n += 1;
        last = at;
        at = next_rec(page, at)?;
    }
    let before = prev_rec(page, rec)?;
    let (group_owner, slot_no) = owner(page, rec)?;
    // Records of the group from `rec` on, its owner excepted: the supremum takes the owner's place.
    let mut removed = 0;
    let mut at = rec;
    while at != group_owner {
        removed += 1;
        at = next_rec(page, at)?;
    }
    let n_group = n_owned(page, group_owner, comp).checked_sub(removed).filter(|&n| n > 0);
    let n_group = n_group.ok_or_else(|| list_ends(rec))?;
    put_u16(page, LAST_INSERT, 0);
    set_slot(page, slot_no, end);
    set_n_owned(page, end, comp, n_group);
    put_u16(page, N_DIR_SLOTS, (slot_no + 1) as u16);
    set_next(page, before, comp, end);
    let head = free(page);
    set_next(page, last, comp, head);
    put_u16(page, FREE, rec);
    put_u16(page, GARBAGE, garbage(page).wrapping_add(size) as u16);
    put_u16(page, N_RECS, n_recs(page).wrapping_sub(n));
    Ok(())
}

/// Removes the records before `rec` (which may be the supremum), one after the other.
///
/// # Errors
/// If the page is corrupt.
pub fn delete_list_to(page: &mut [u8], layout: &RecLayout, rec: u16) -> Result<()> {
    let comp = layout.comp();
    for _ in 0..n_heap(page) {
        let first = next_rec(page, infimum(comp))?;
        if first == rec {
            return Ok(());
        }
        delete(page, layout, first)?;
    }
    Err(list_ends(rec))
}

/// Fills an empty page with records in key order: splits, reorganisation and the bulk builder go through it. Groups of
/// four own the slots; the supremum takes the last ones.
#[derive(Debug)]
pub struct Appender {
    last: u16,
    n_recs: u16,
    group: u8,
}

impl Appender {
    /// Starts on a page as [`create`] leaves it.
    pub fn new(page: &[u8]) -> Self {
        Self { last: infimum(is_comp(page)), n_recs: 0, group: 0 }
    }

    /// The record appended last; the infimum before the first one.
    #[inline]
    pub fn last(&self) -> u16 {
        self.last
    }

    /// Appends a record and returns its origin; `None` if it does not fit.
    ///
    /// # Errors
    /// If the page is not what this appender left.
    ///
    /// # Panics
    /// If `extra` does not lie within `rec`.
    pub fn push(&mut self, page: &mut [u8], rec: &[u8], extra: usize) -> Result<Option<u16>> {
        let comp = is_comp(page);
        assert!(extra >= header_len(comp) && extra <= rec.len(), "extra bytes of a record");
        let (start, heap) = (heap_top(page), n_heap(page));
        if max_insert_size(page, 1) < rec.len() {
            return Ok(None);
        }
        let n_slots = checked_slots(page)?;
        let lowest_slot = n_slots - 1 + usize::from(self.group + 1 == SLOT_OWNED_MIN);
        if start < usize::from(heap_start(comp))
            || start + rec.len() > slot_at(page.len(), lowest_slot)
            || heap != self.n_recs + 2
        {
            return Err(Corruption::new("heap top", "the page is not empty").at(HEAP_TOP));
        }
        let origin = (start + extra) as u16;
        page[start..start + rec.len()].copy_from_slice(rec);
        set_n_owned(page, origin, comp, 0);
        set_heap_no(page, origin, comp, heap);
        set_next(page, self.last, comp, origin);
        let flag = get_u16(page, N_HEAP) & COMP_FLAG;
        put_u16(page, N_HEAP, flag | (heap + 1));
        put_u16(page, HEAP_TOP, (start + rec.len()) as u16);
        self.last = origin;
        self.n_recs += 1;
        self.group += 1;
        if self.group == SLOT_OWNED_MIN {
            set_n_owned(page, origin, comp, SLOT_OWNED_MIN);
            set_slot(page, n_slots - 1, origin);
            set_slot(page, n_slots, supremum(comp));
            put_u16(page, N_DIR_SLOTS, (n_slots + 1) as u16);
            self.group = 0;
        }
        Ok(Some(origin))
    }

    /// Closes list, directory and header.
    ///
    /// # Errors
    /// If the page is not what this appender left.
    pub fn finish(mut self, page: &mut [u8]) -> Result<()> {
        let comp = is_comp(page);
        let end = supremum(comp);
        let n_slots = checked_slots(page)?;
        if n_slots > 2 && self.group + 1 + SLOT_OWNED_MIN <= SLOT_OWNED_MAX {
            let last_owner = slot(page, n_slots - 2);
            check_origin(page, last_owner)?;
            set_n_owned(page, last_owner, comp, 0);
            set_slot(page, n_slots - 2, end);
            set_slot(page, n_slots - 1, 0);
            put_u16(page, N_DIR_SLOTS, (n_slots - 1) as u16);
            self.group += SLOT_OWNED_MIN;
        }
        set_n_owned(page, end, comp, self.group + 1);
        set_next(page, self.last, comp, end);
        put_u16(page, N_RECS, self.n_recs);
        put_u16(page, LAST_INSERT, 0);
        put_u16(page, DIRECTION, DIRECTION_NONE);
        put_u16(page, N_DIRECTION, 0);
        Ok(())
    }
}

/// Rebuilds the page in key order without garbage. Header fields that creation keeps, and MAX_TRX_ID, stay.
///
/// # Errors
/// If the page is corrupt; it is unchanged then.
pub fn reorganize(page: &mut [u8], layout: &RecLayout) -> Result<()> {
    let comp = layout.comp();
    let max_trx_id = get_u64(page, MAX_TRX_ID);
    let mut fresh = page.to_vec();
    create(&mut fresh, comp);
    put_u64(&mut fresh, MAX_TRX_ID, max_trx_id);
    let mut appender = Appender::new(&fresh);
    for rec in super::list::records(page) {
        let rec = rec?;
        let size = RecSize::of(page, rec, layout)?;
        let start = usize::from(rec) - size.extra;
        if appender.push(&mut fresh, &page[start..start + size.total()], size.extra)?.is_none() {
            return Err(Corruption::new("record list", "more records than a page holds").at(rec.into()));
        }
    }
    appender.finish(&mut fresh)?;
    page.copy_from_slice(&fresh);
    Ok(())
}

/// Sets or clears the delete mark.
///
/// # Errors
/// If `rec` lies outside the records.
pub fn set_delete_mark(page: &mut [u8], rec: u16, deleted: bool) -> Result<()> {
    check_origin(page, rec)?;
    let comp = is_comp(page);
    let bits = info_bits(page, rec, comp) & !INFO_DELETED;
    set_info_bits(page, rec, comp, bits | if deleted { INFO_DELETED } else { 0 });
    Ok(())
}

/// Flags the record as below every key.
///
/// # Errors
/// If `rec` lies outside the records.
pub fn set_min_rec_mark(page: &mut [u8], rec: u16) -> Result<()> {
    check_origin(page, rec)?;
    let comp = is_comp(page);
    let bits = info_bits(page, rec, comp);
    set_info_bits(page, rec, comp, bits | INFO_MIN_REC);
    Ok(())
}

/// Values of DB_TRX_ID and DB_ROLL_PTR.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SysFields {
    /// The transaction that writes.
    pub trx_id: TrxId,
    /// Where its undo record lies.
    pub roll_ptr: RollPtr,
}

/// Reads DB_TRX_ID, field `pos`, and DB_ROLL_PTR after it.
///
/// # Errors
/// As [`set_sys_fields`].
#[inline]
pub fn sys_fields(page: &[u8], layout: &RecLayout, rec: u16, pos: usize) -> Result<SysFields> {
    let at = usize::from(rec) + sys_offset(page, layout, rec, pos)?;
    Ok(SysFields { trx_id: TrxId(get_u48(page, at)), roll_ptr: RollPtr(get_u56(page, at + 6)) })
}

/// Sets DB_TRX_ID, field `pos`, and DB_ROLL_PTR after it.
///
/// # Errors
/// If the record has no such fields of six and seven bytes.
pub fn set_sys_fields(
    page: &mut [u8],
    layout: &RecLayout,
    rec: u16,
    pos: usize,
    sys: SysFields,
) -> Result<()> {
    let at = usize::from(rec) + sys_offset(page, layout, rec, pos)?;
    put_u48(page, at, sys.trx_id.get());
    put_u56(page, at + 6, sys.roll_ptr.get());
    Ok(())
}

fn sys_offset(page: &[u8], layout: &RecLayout, rec: u16, pos: usize) -> Result<usize> {
    if layout.comp() && pos + 1 < layout.n_const() {
        let at = check_origin(page, rec)?;
        let f = &layout.fields()[pos..pos + 2];
        if (f[0].fixed_len, f[1].fixed_len) == (6, 7) && at + usize::from(f[0].offset) + 13 <= page.len() {
            return Ok(usize::from(f[0].offset));
        }
    }
    RecSize::of(page, rec, layout)?;
    let (trx_id, roll_ptr) =
        (FieldPlace::of(page, rec, layout, pos), FieldPlace::of(page, rec, layout, pos + 1));
    match (trx_id, roll_ptr) {
        (Some(a), Some(b)) if (a.len, b.len) == (6, 7) => Ok(a.start - usize::from(rec)),
        _ => Err(Corruption::new("system fields", format!("field {pos} is not DB_TRX_ID")).at(rec.into())),
    }
}

/// A field to be overwritten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldUpdate<'a> {
    /// Position in the index.
    pub pos: usize,
    /// Stored bytes, or NULL.
    pub data: Option<&'a [u8]>,
}

/// Whether [`update_in_place`] can make these changes: no field changes its size or, in COMPACT records, turns from
/// or to NULL, and none is external.
pub fn fits_in_place(layout: &RecLayout, offsets: &Offsets, fields: &[FieldUpdate<'_>]) -> bool {
    fields.iter().all(|f| {
        f.pos < offsets.n_fields() && {
            let range = offsets.range(f.pos);
            let (null, external) = (offsets.is_null(f.pos), offsets.is_external(f.pos));
            let absent = offsets.is_absent(f.pos);
            fits_field(layout, f, FieldPlace { start: range.start, len: range.len(), null, external, absent })
        }
    })
}

fn fits_field(layout: &RecLayout, f: &FieldUpdate<'_>, old: FieldPlace) -> bool {
    if old.external || old.absent {
        return false;
    }
    match f.data {
        _ if layout.comp() && old.null != f.data.is_none() => false,
        Some(data) => data.len() == old.len,
        // A fixed field keeps its width; a variable one has none to keep.
        None => {
            old.null || old.len == layout.fields().get(f.pos).map_or(old.len, |l| usize::from(l.null_len))
        }
    }
}

/// Overwrites fields with values of the same size and sets the info bits.
///
/// # Errors
/// If the record is corrupt or a value has another size.
pub fn update_in_place(
    page: &mut [u8],
    layout: &RecLayout,
    rec: u16,
    info_bits: u8,
    fields: &[FieldUpdate<'_>],
) -> Result<()> {
    RecSize::of(page, rec, layout)?;
    let place = |page: &[u8], f: &FieldUpdate<'_>| {
        let place = FieldPlace::of(page, rec, layout, f.pos).filter(|&place| fits_field(layout, f, place));
        place.ok_or_else(|| {
            Corruption::new("update in place", "a value does not fit its field").at(rec.into())
        })
    };
    // All of them before the first is written.
    fields.iter().try_for_each(|f| place(page, f).map(drop))?;
    let comp = layout.comp();
    set_info_bits(page, rec, comp, info_bits);
    for f in fields {
        let FieldPlace { start, len, .. } = place(page, f)?;
        let end = start + len;
        match f.data {
            Some(data) => page[start..end].copy_from_slice(data),
            None => page[start..end].fill(0),
        }
        if !comp {
            set_old_null(page, rec, f.pos, f.data.is_none());
        }
    }
    Ok(())
}

fn set_old_null(page: &mut [u8], rec: u16, pos: usize, null: bool) {
    let short = crate::record::header::old_is_short(page, rec);
    let below = header_len(false) + if short { 1 + pos } else { 2 + 2 * pos };
    let byte = &mut page[usize::from(rec) - below];
    *byte = *byte & 0x7F | if null { 0x80 } else { 0 };
}

/// Raises MAX_TRX_ID of a secondary leaf page; whether it changed.
pub fn raise_max_trx_id(page: &mut [u8], trx_id: TrxId) -> bool {
    let raise = get_u64(page, MAX_TRX_ID) < trx_id.get();
    if raise {
        put_u64(page, MAX_TRX_ID, trx_id.get());
    }
    raise
}
