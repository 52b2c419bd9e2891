//! Applying redo records to pages: decodes a body and calls the page edit that wrote it.
//!
//! The page is as it was when the record was written (its LSN is older); a record that contradicts it is an error and
//! the page is then to be treated as corrupt. Bodies of index page records are those of
//! [`crate::index_page::logged`]; all other pages' are applied by [`crate::redo_rec::apply_simple`].
//!
//! Not applied here: records about files, and those of compressed pages (ZIP_*), which carry images.

use crate::error::{Corruption, Result};
use crate::index_page::edit::{self, Appender, FieldUpdate, SysFields};
use crate::index_page::header::{is_comp, n_recs};
use crate::index_page::logged::{KEEP_SYS_FIELDS, NULL_LEN, cursor_size, types};
use crate::record::header::{all_info_bits, check_origin, header_len, set_all_info_bits, set_status, status};
use crate::record::layout::{FieldLayout, RecLayout};
use crate::redo_rec::{FieldLen, RecType, RedoIndex, apply_simple};
use vaquita_base::codec::Reader;
use vaquita_base::{PageId, RollPtr, TrxId};

/// Applies one record to its page.
///
/// # Errors
/// If the body does not decode, the type is not of a page (or of a compressed one), or page and record contradict each
/// other.
pub fn apply(ty: RecType, id: PageId, body: &[u8], page: &mut [u8]) -> Result<()> {
    if ty.is_simple() { apply_simple(ty, id, body, page) } else { apply_index(ty, body, page) }
}

fn apply_index(ty: RecType, body: &[u8], page: &mut [u8]) -> Result<()> {
    if page.len() < 4096 {
        return Err(contradiction("no index page is that short"));
    }
    let (layout, body) = if ty.has_index() {
        let (index, body) = RedoIndex::parse(body)?;
        (layout_of(&index)?, body)
    } else {
        (RecLayout::redundant(), body)
    };
    let r = &mut Reader::new(body);
    match ty {
        t if types::CREATE.contains(&t) => {
            edit::create(page, t == types::CREATE[1]);
            return end(r);
        }
        RecType::RecSecDeleteMark => {
            let (value, rec) = (r.u8()?, r.u16()?);
            edit::set_delete_mark(page, rec, value != 0)?;
            return end(r);
        }
        t if types::MIN_REC_MARK.contains(&t) => {
            expect_format(page, t == types::MIN_REC_MARK[1])?;
            edit::set_min_rec_mark(page, r.u16()?)?;
            return end(r);
        }
        _ => expect_format(page, layout.comp())?,
    }
    match ty {
        t if types::INSERT.contains(&t) => {
            let after = r.u16()?;
            let rec = read_insert(r, page, &layout, after)?;
            let origin = edit::insert(page, &layout, after, &rec.bytes, rec.extra)?;
            origin.ok_or_else(|| contradiction("the record to insert does not fit"))?;
        }
        t if types::DELETE.contains(&t) => edit::delete(page, &layout, r.u16()?)?,
        t if types::DELETE_LIST_FROM.contains(&t) => edit::delete_list_from(page, &layout, r.u16()?)?,
        t if types::DELETE_LIST_TO.contains(&t) => edit::delete_list_to(page, &layout, r.u16()?)?,
        t if types::COPY_LIST_END.contains(&t) => copy_list_end(r, page, &layout)?,
        t if types::REORGANIZE.contains(&t) => edit::reorganize(page, &layout)?,
        t if types::CLUSTERED_DELETE_MARK.contains(&t) => delete_mark(r, page, &layout)?,
        t if types::UPDATE_IN_PLACE.contains(&t) => update_in_place(r, page, &layout)?,
        RecType::CompRecSecDeleteMark => {
            let (value, rec) = (r.u8()?, r.u16()?);
            edit::set_delete_mark(page, rec, value != 0)?;
        }
        t => return Err(Corruption::new("redo record type", format!("{t:?} is not applied to pages"))),
    }
    end(r)
}

fn end(r: &Reader<'_>) -> Result<()> {
    if r.is_empty() { Ok(()) } else { Err(contradiction("bytes after the body")) }
}

fn expect_format(page: &[u8], comp: bool) -> Result<()> {
    if is_comp(page) == comp { Ok(()) } else { Err(contradiction("the page has the other record format")) }
}

#[cold]
fn contradiction(detail: &'static str) -> Corruption {
    Corruption::new("redo record of an index page", detail)
}

/// What the index part tells of the records.
fn layout_of(index: &RedoIndex<'_>) -> Result<RecLayout> {
    let field = |f: crate::redo_rec::RedoField| match f.len {
        FieldLen::Small => FieldLayout::new(0, !f.not_null, false),
        FieldLen::Big => FieldLayout::new(0, !f.not_null, true),
        FieldLen::Fixed(len) => FieldLayout::new(len, !f.not_null, false),
    };
    let versioned = |(n, f): (usize, crate::redo_rec::RedoField)| {
        let (added, dropped) = index.versions_of(n);
        field(f).in_versions(added, dropped)
    };
    let fields = index.fields().enumerate().map(versioned).collect();
    let layout = RecLayout::new(true, fields, usize::from(index.n_uniq))?;
    match index.version() {
        0 => Ok(layout),
        version => layout.with_versions(version, Vec::new()),
    }
}

struct NewRec {
    bytes: Vec<u8>,
    extra: usize,
}

/// The record of an insert after `cursor`, which lends its leading bytes.
fn read_insert(r: &mut Reader<'_>, page: &[u8], layout: &RecLayout, cursor: u16) -> Result<NewRec> {
    let comp = layout.comp();
    check_origin(page, cursor)?;
    let e = r.compressed()?;
    let tail_len = (e >> 1) as usize;
    let (bits, extra, mismatch) = if e & 1 != 0 {
        (r.u8()?, r.compressed()? as usize, r.compressed()? as usize)
    } else {
        let size = cursor_size(page, cursor, layout)?;
        let shared = size.total().checked_sub(tail_len);
        let shared = shared.ok_or_else(|| contradiction("longer than the record it resembles"))?;
        let status = if comp { status(page, cursor) } else { 0 };
        (all_info_bits(page, cursor, comp) | status, size.extra, shared)
    };
    let tail = r.bytes(tail_len)?;
    let mut bytes = Vec::with_capacity(page.len().min(mismatch + tail_len));
    if mismatch != 0 {
        let size = cursor_size(page, cursor, layout)?;
        if mismatch > size.total() {
            return Err(contradiction("shares more bytes than there are"));
        }
        let start = usize::from(cursor) - size.extra;
        bytes.extend_from_slice(&page[start..start + mismatch]);
    }
    bytes.extend_from_slice(tail);
    if extra < header_len(comp) || extra > bytes.len() || bytes.len() > page.len().min(0x7FFF) {
        return Err(contradiction("impossible record size"));
    }
    set_all_info_bits(&mut bytes, extra as u16, comp, bits);
    if comp {
        set_status(&mut bytes, extra as u16, bits & 7);
    }
    Ok(NewRec { bytes, extra })
}

fn copy_list_end(r: &mut Reader<'_>, page: &mut [u8], layout: &RecLayout) -> Result<()> {
    let len = r.u32()? as usize;
    let mut list = Reader::new(r.bytes(len)?);
    if n_recs(page) != 0 {
        return Err(contradiction("the page to copy to is not empty"));
    }
    let mut appender = Appender::new(page);
    while !list.is_empty() {
        let rec = read_insert(&mut list, page, layout, appender.last())?;
        let origin = appender.push(page, &rec.bytes, rec.extra)?;
        origin.ok_or_else(|| contradiction("the records to copy do not fit"))?;
    }
    appender.finish(page)
}

fn sys_fields(r: &mut Reader<'_>) -> Result<(usize, SysFields)> {
    let pos = r.compressed()? as usize;
    let roll_ptr = RollPtr(r.uint(7)?);
    let trx_id = TrxId(r.u64_compressed()?);
    if trx_id.get() >> 48 != 0 {
        return Err(contradiction("transaction id of more than 48 bits"));
    }
    Ok((pos, SysFields { trx_id, roll_ptr }))
}

fn delete_mark(r: &mut Reader<'_>, page: &mut [u8], layout: &RecLayout) -> Result<()> {
    let (flags, value) = (r.u8()?, r.u8()?);
    let (pos, sys) = sys_fields(r)?;
    let rec = r.u16()?;
    edit::set_delete_mark(page, rec, value != 0)?;
    if flags & KEEP_SYS_FIELDS == 0 { edit::set_sys_fields(page, layout, rec, pos, sys) } else { Ok(()) }
}

fn update_in_place(r: &mut Reader<'_>, page: &mut [u8], layout: &RecLayout) -> Result<()> {
    let flags = r.u8()?;
    let (pos, sys) = sys_fields(r)?;
    let (rec, info_bits, n) = (r.u16()?, r.u8()?, r.compressed()?);
    let mut fields = Vec::new();
    for _ in 0..n {
        let pos = r.compressed()? as usize;
        let data = match r.compressed()? {
            NULL_LEN => None,
            len => Some(r.bytes(len as usize)?),
        };
        fields.push(FieldUpdate { pos, data });
    }
    edit::update_in_place(page, layout, rec, info_bits, &fields)?;
    if flags & KEEP_SYS_FIELDS == 0 { edit::set_sys_fields(page, layout, rec, pos, sys) } else { Ok(()) }
}
