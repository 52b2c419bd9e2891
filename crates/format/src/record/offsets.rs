//! Where the fields of a record begin and end.
//!
//! [`Offsets`] decodes all fields of a record at once into a buffer that the caller keeps and reuses; nothing is
//! allocated once it has grown. [`RecSize`] sums lengths only.

use super::header::{
    COMP_HEADER, INFO_VERSION, OLD_HEADER, STATUS_NODE_PTR, STATUS_ORDINARY, check_origin, old_is_short,
    old_n_fields, status,
};
use crate::error::{Corruption, Result};
use crate::record_layout::{FieldLayout, RecLayout, Versions};
use crate::tuple::TupleField;
use std::sync::Arc;
use vaquita_base::codec::get_u16;

/// Bytes of the child page number that ends a node pointer.
pub const CHILD_LEN: usize = 4;

const NULL: u32 = 1 << 31;
const EXTERN: u32 = 1 << 30;
/// The record is of a version without the field.
const ABSENT: u32 = 1 << 29;
const END_MASK: u32 = ABSENT - 1;

/// Length byte or word of a COMPACT field: two bytes follow.
pub const LONG_FLAG: u8 = 0x80;
/// First of two length bytes: the field ends with an external reference.
pub const EXTERN_FLAG: u8 = 0x40;

/// A field of a record: where it starts in the page, its length and flags.
#[derive(Clone, Copy)]
pub(crate) struct FieldPlace {
    pub(crate) start: usize,
    pub(crate) len: usize,
    pub(crate) null: bool,
    pub(crate) external: bool,
    /// The record is of a version without it.
    pub(crate) absent: bool,
}

impl FieldPlace {
    /// Field `pos` of a record that [`RecSize::of`] has checked, alone; `None` if there is no such field. The child page
    /// number of a node pointer is none.
    #[inline]
    pub(crate) fn of(page: &[u8], rec: u16, layout: &RecLayout, pos: usize) -> Option<FieldPlace> {
        let at = usize::from(rec);
        if !layout.comp() {
            // Whether the ends of the others make sense is known when all have been looked at.
            let mut offsets = Offsets::new();
            offsets.parse(page, rec, layout).ok()?;
            if pos >= offsets.n_fields() {
                return None;
            }
            let (range, null) = (offsets.range(pos), offsets.is_null(pos));
            let external = offsets.is_external(pos);
            let start = at + range.start;
            return Some(FieldPlace { start, len: range.len(), null, external, absent: false });
        }
        let (n, _) = comp_shape(page, rec, layout)?;
        let field = layout.fields()[..n].get(pos)?;
        let n_const = layout.n_const();
        if pos < n_const {
            let (start, len) = (at + usize::from(field.offset), field.fixed_len.into());
            return Some(FieldPlace { start, len, null: false, external: false, absent: false });
        }
        let mut walk = CompWalk::new(page, at, layout, n_const)?;
        for f in &layout.fields()[n_const..pos] {
            walk.step(f)?;
        }
        walk.step(field)
    }
}

/// Walks over the fields of a COMPACT record from the first one whose place is not constant.
pub(crate) struct CompWalk<'p> {
    page: &'p [u8],
    nulls: usize,
    lens: usize,
    mask: u8,
    version: u8,
    start: usize,
}

impl<'p> CompWalk<'p> {
    /// Starts at field `first`, which is at most `layout.n_const()`; `None` if the record has a version that there is not.
    #[inline]
    pub(crate) fn new(page: &'p [u8], rec: usize, layout: &RecLayout, first: usize) -> Option<Self> {
        let (version, header) = layout.version_of(page, rec)?;
        let nulls = (rec - header).wrapping_sub(1);
        let offset = match layout.fields().get(first) {
            Some(f) => usize::from(f.offset),
            None => layout.fields().last().map_or(0, |f| usize::from(f.offset) + usize::from(f.fixed_len)),
        };
        let lens = nulls.wrapping_sub(layout.null_bytes_in(version));
        Some(Self { page, nulls, lens, mask: 1, version, start: rec + offset })
    }

    /// The next field, `None` if its header lies outside the page.
    #[inline]
    pub(crate) fn step(&mut self, f: &FieldLayout) -> Option<FieldPlace> {
        if !f.is_in(self.version) {
            return Some(FieldPlace { start: self.start, len: 0, null: true, external: false, absent: true });
        }
        if f.nullable {
            if self.mask == 0 {
                self.mask = 1;
                self.nulls = self.nulls.wrapping_sub(1);
            }
            let null = *self.page.get(self.nulls)? & self.mask != 0;
            self.mask <<= 1;
            if null {
                return Some(FieldPlace { start: self.start, len: 0, null, external: false, absent: false });
            }
        }
        let (len, external) = if f.fixed_len != 0 { (usize::from(f.fixed_len), false) } else { self.len(f)? };
        let start = self.start;
        self.start += len;
        Some(FieldPlace { start, len, null: false, external, absent: false })
    }

    #[inline]
    fn len(&mut self, f: &FieldLayout) -> Option<(usize, bool)> {
        let first = *self.page.get(self.lens)?;
        self.lens = self.lens.wrapping_sub(1);
        if !f.big || first & LONG_FLAG == 0 {
            return Some((usize::from(first), false));
        }
        let low = *self.page.get(self.lens)?;
        self.lens = self.lens.wrapping_sub(1);
        let len = usize::from(first & !(LONG_FLAG | EXTERN_FLAG)) << 8 | usize::from(low);
        Some((len, first & EXTERN_FLAG != 0))
    }

    /// Bytes below the origin of the fields walked over.
    #[inline]
    pub(crate) fn extra(&self, rec: usize) -> usize {
        rec.wrapping_sub(1).wrapping_sub(self.lens)
    }
}

/// End of REDUNDANT field `i`, with its flags.
#[inline]
pub(crate) fn old_end(page: &[u8], rec: usize, short: bool, i: usize) -> Option<FieldPlace> {
    let (end, null, external) = if short {
        let b = *page.get(rec.checked_sub(OLD_HEADER + 1 + i)?)?;
        (usize::from(b & 0x7F), b & 0x80 != 0, false)
    } else {
        let w = get_u16(page, rec.checked_sub(OLD_HEADER + 2 + 2 * i)?);
        (usize::from(w & 0x3FFF), w & 0x8000 != 0, w & 0x4000 != 0)
    };
    Some(FieldPlace { start: 0, len: end, null, external, absent: false })
}

/// REDUNDANT field `i`.
#[inline]
pub(crate) fn old_field(page: &[u8], rec: usize, short: bool, i: usize) -> Option<FieldPlace> {
    let end = old_end(page, rec, short, i)?;
    let start = if i == 0 { 0 } else { old_end(page, rec, short, i - 1)?.len };
    let len = end.len.checked_sub(start)?;
    Some(FieldPlace { start: rec + start, len, ..end })
}

/// Sizes of a record: bytes below the origin (header included) and data bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecSize {
    /// Bytes below the origin.
    pub extra: usize,
    /// Bytes from the origin on.
    pub data: usize,
}

impl RecSize {
    /// Sizes of the record at `rec`, infimum and supremum excepted.
    ///
    /// # Errors
    /// If the record does not lie within the page, or its status is none of a user record.
    #[inline]
    pub fn of(page: &[u8], rec: u16, layout: &RecLayout) -> Result<RecSize> {
        let at = check_origin(page, rec)?;
        let size = if layout.comp() { Self::comp(page, rec, layout) } else { Self::old(page, rec) };
        match size {
            Some(s) if s.extra <= at && at + s.data <= page.len() => Ok(s),
            _ => Err(bad_record(at)),
        }
    }

    /// Both parts together.
    #[inline]
    pub const fn total(self) -> usize {
        self.extra + self.data
    }

    #[inline]
    fn comp(page: &[u8], rec: u16, layout: &RecLayout) -> Option<RecSize> {
        let (n, child) = comp_shape(page, rec, layout)?;
        let first = layout.n_const().min(n);
        let at = usize::from(rec);
        let mut walk = CompWalk::new(page, at, layout, first)?;
        for f in &layout.fields()[first..n] {
            walk.step(f)?;
        }
        Some(RecSize { extra: walk.extra(at), data: walk.start - at + child })
    }

    fn old(page: &[u8], rec: u16) -> Option<RecSize> {
        let (n, short) = (old_n_fields(page, rec), old_is_short(page, rec));
        let last = old_end(page, usize::from(rec), short, n.checked_sub(1)?)?;
        Some(RecSize { extra: OLD_HEADER + n * if short { 1 } else { 2 }, data: last.len })
    }
}

/// Tells of a record with a row version whose table is not known to have any: its fields would be taken for others.
///
/// # Errors
/// If it is one.
pub fn check_version(page: &[u8], rec: u16, layout: &RecLayout) -> Result<()> {
    let at = check_origin(page, rec)?;
    let has_one = layout.comp() && page[at - COMP_HEADER] & INFO_VERSION != 0;
    if !has_one || layout.version() != 0 {
        return Ok(());
    }
    let detail = "columns of the table came or went instantly, and which is told by its dictionary alone";
    Err(Corruption::new("row version", detail).at(at))
}

/// Number of described fields and bytes of the child page number, by the record's status.
#[inline]
fn comp_shape(page: &[u8], rec: u16, layout: &RecLayout) -> Option<(usize, usize)> {
    match status(page, rec) {
        STATUS_ORDINARY => Some((layout.fields().len(), 0)),
        STATUS_NODE_PTR => Some((layout.n_node_key(), CHILD_LEN)),
        _ => None,
    }
}

#[cold]
pub(crate) fn bad_record(rec: usize) -> Corruption {
    Corruption::new("record", "its lengths or status contradict the page").at(rec)
}

/// The fields of one record: ends, NULL and off-page flags. Reused from record to record.
#[derive(Debug, Clone, Default)]
pub struct Offsets {
    ends: Vec<u32>,
    extra: usize,
    any_external: bool,
    /// What the record has in fields that it does not hold, if there are such.
    versions: Option<Arc<Versions>>,
}

impl Offsets {
    /// An empty buffer.
    pub fn new() -> Self {
        Self::default()
    }

    /// Decodes the record at `rec`, infimum and supremum excepted. The child page number of a node pointer is its
    /// last field.
    ///
    /// # Errors
    /// If the record does not lie within the page.
    #[inline]
    pub fn parse(&mut self, page: &[u8], rec: u16, layout: &RecLayout) -> Result<()> {
        self.parse_first(page, rec, layout, usize::MAX)
    }

    /// Decodes the first `limit` fields only, if there are so many: a reader that wants no more saves the walk over the
    /// rest. Lengths and flags are those of the fields decoded.
    ///
    /// # Errors
    /// If these fields do not lie within the page.
    #[inline]
    pub fn parse_first(&mut self, page: &[u8], rec: u16, layout: &RecLayout, limit: usize) -> Result<()> {
        let at = check_origin(page, rec)?;
        self.ends.clear();
        self.any_external = false;
        self.versions = None;
        let done = if layout.comp() {
            self.parse_comp(page, rec, layout, limit)
        } else {
            self.parse_old(page, rec, limit)
        };
        match done {
            Some(()) if self.extra <= at && at + self.data_len() <= page.len() => Ok(()),
            _ => Err(bad_record(at)),
        }
    }

    #[inline]
    fn parse_comp(&mut self, page: &[u8], rec: u16, layout: &RecLayout, limit: usize) -> Option<()> {
        let (n, child) = match comp_shape(page, rec, layout)? {
            (n, _) if limit < n => (limit, 0),
            (n, child) => (n, if limit == n { 0 } else { child }),
        };
        let first = layout.n_const().min(n);
        let fields = &layout.fields()[..n];
        self.ends.reserve(n + usize::from(child != 0));
        self.ends.extend_from_slice(&layout.const_ends()[..first]);
        let at = usize::from(rec);
        let mut walk = CompWalk::new(page, at, layout, first)?;
        for (i, f) in (first..).zip(&fields[first..]) {
            let step = walk.step(f)?;
            let mut flags = if step.null { NULL } else { 0 } | if step.external { EXTERN } else { 0 };
            if step.absent {
                flags = self.absent(layout, i);
            }
            self.any_external |= step.external;
            self.ends.push((walk.start - at) as u32 | flags);
        }
        if child != 0 {
            self.ends.push((walk.start - at + child) as u32);
        }
        self.extra = walk.extra(at);
        Some(())
    }

    /// Flags of a field that the record does not hold.
    #[cold]
    fn absent(&mut self, layout: &RecLayout, field: usize) -> u32 {
        let Some(versions) = layout.versions() else { return ABSENT | NULL };
        let null = versions.default_of(field).is_none();
        self.versions.get_or_insert_with(|| versions.clone());
        if null { ABSENT | NULL } else { ABSENT }
    }

    fn parse_old(&mut self, page: &[u8], rec: u16, limit: usize) -> Option<()> {
        let (n, short) = (old_n_fields(page, rec), old_is_short(page, rec));
        if n == 0 {
            return None;
        }
        self.extra = OLD_HEADER + n * if short { 1 } else { 2 };
        let n = n.min(limit);
        let mut last = 0;
        for i in 0..n {
            let step = old_end(page, usize::from(rec), short, i)?;
            if step.len < last {
                return None;
            }
            last = step.len;
            let flags = if step.null { NULL } else { 0 } | if step.external { EXTERN } else { 0 };
            self.any_external |= step.external;
            self.ends.push(last as u32 | flags);
        }
        Some(())
    }

    /// Number of fields, the child page number of a node pointer included.
    #[inline]
    pub fn n_fields(&self) -> usize {
        self.ends.len()
    }

    /// Bytes below the origin.
    #[inline]
    pub fn extra_len(&self) -> usize {
        self.extra
    }

    /// Bytes from the origin on.
    #[inline]
    pub fn data_len(&self) -> usize {
        self.ends.last().map_or(0, |&e| (e & END_MASK) as usize)
    }

    /// Bytes of the record.
    #[inline]
    pub fn total_len(&self) -> usize {
        self.extra + self.data_len()
    }

    /// Start and end of field `i` relative to the origin; a NULL has no bytes, except that of a fixed column in a
    /// REDUNDANT record.
    ///
    /// # Panics
    /// If there is no such field.
    #[inline]
    pub fn range(&self, i: usize) -> std::ops::Range<usize> {
        let start = if i == 0 { 0 } else { (self.ends[i - 1] & END_MASK) as usize };
        start..(self.ends[i] & END_MASK) as usize
    }

    /// Whether field `i` is NULL.
    ///
    /// # Panics
    /// If there is no such field.
    #[inline]
    pub fn is_null(&self, i: usize) -> bool {
        self.ends[i] & NULL != 0
    }

    /// Whether field `i` ends with an external reference.
    ///
    /// # Panics
    /// If there is no such field.
    #[inline]
    pub fn is_external(&self, i: usize) -> bool {
        self.ends[i] & EXTERN != 0
    }

    /// Whether the record is of a version without field `i`, whose value is its default.
    ///
    /// # Panics
    /// If there is no such field.
    #[inline]
    pub fn is_absent(&self, i: usize) -> bool {
        self.ends[i] & ABSENT != 0
    }

    /// Whether any field does.
    #[inline]
    pub fn any_external(&self) -> bool {
        self.any_external
    }

    /// The stored bytes of field `i` of the record these offsets were parsed from; `None` for NULL.
    ///
    /// # Panics
    /// If there is no such field, or the page is not the parsed one.
    #[inline]
    pub fn field<'p>(&'p self, page: &'p [u8], rec: u16, i: usize) -> Option<&'p [u8]> {
        if self.ends[i] & (NULL | ABSENT) != 0 {
            return if self.is_null(i) { None } else { self.versions.as_ref()?.default_of(i) };
        }
        let range = self.range(i);
        Some(&page[usize::from(rec) + range.start..usize::from(rec) + range.end])
    }
}

/// Replaces `out` by the first `n` fields of a record: the key of a node pointer to its page, a persistent cursor's
/// position, the row to move.
///
/// # Panics
/// If the record has fewer fields.
pub fn fields_of_record<'p>(
    page: &'p [u8],
    rec: u16,
    offsets: &'p Offsets,
    n: usize,
    out: &mut Vec<TupleField<'p>>,
) {
    out.clear();
    out.extend(
        (0..n).map(|i| TupleField { data: offsets.field(page, rec, i), external: offsets.is_external(i) }),
    );
}
