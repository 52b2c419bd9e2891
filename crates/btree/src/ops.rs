//! Changes of single index pages within a mini-transaction: each is one logged edit of [`index_page::logged`].

use crate::error::{Error, PageResult, Result};
use vaquita_base::codec::get_u64;
use vaquita_base::{HeapNo, PageId, PageNo, TrxId};
use vaquita_format::index_def::{IndexDef, IndexKind};
use vaquita_format::index_page::header::{self, INDEX_ID, LEVEL, MAX_TRX_ID, infimum, supremum};
use vaquita_format::index_page::logged::{self, PageLog};
use vaquita_format::index_page::{self, data_size, empty_page_space, max_insert_size_after_reorganize};
use vaquita_format::record::RecSize;
use vaquita_format::record::header::heap_no;
use vaquita_format::{Corruption, fil};
use vaquita_storage::{Mtr, PageRef};

/// Makes sure that a failure half-way can be undone, where that is still possible.
pub(crate) fn keep_before_images(mtr: &mut Mtr<'_>) {
    if !mtr.keeps_before_images() && mtr.log_len() == 0 {
        mtr.keep_before_images();
    }
}

/// Makes a page that was just allocated an empty page of an index.
pub(crate) fn init_page(
    mtr: &mut Mtr<'_>,
    page: PageRef,
    index: &IndexDef,
    level: u16,
    prev: PageNo,
    next: PageNo,
) {
    create(mtr, page, index);
    mtr.write_u16(page, LEVEL, level);
    mtr.write_u64(page, INDEX_ID, index.id().get());
    set_prev(mtr, page, prev);
    set_next(mtr, page, next);
}

/// Empties a page; level, index and siblings stay.
pub(crate) fn create(mtr: &mut Mtr<'_>, page: PageRef, index: &IndexDef) {
    let id = mtr.id(page);
    mtr.edit(page, |bytes, log| {
        logged::create(bytes, &mut PageLog::new(id, log), index.layout().comp());
    });
}

pub(crate) fn set_prev(mtr: &mut Mtr<'_>, page: PageRef, prev: PageNo) {
    mtr.write_u32(page, fil::PREV, prev.get());
}

pub(crate) fn set_next(mtr: &mut Mtr<'_>, page: PageRef, next: PageNo) {
    mtr.write_u32(page, fil::NEXT, next.get());
}

/// Makes one logged edit that may find the page damaged. Then nothing of it is logged: an edit that stops half-way has
/// changed the bytes of a page that was unusable before, and the page is not written because of it.
#[inline]
pub(crate) fn edit<R>(
    mtr: &mut Mtr<'_>,
    page: PageRef,
    index: &IndexDef,
    change: impl FnOnce(&mut [u8], &mut PageLog<'_>) -> PageResult<R>,
) -> Result<R> {
    let id = mtr.id(page);
    let done = mtr.edit(page, |bytes, log| {
        let logged = log.len();
        let done = change(bytes, &mut PageLog::new(id, log));
        if done.is_err() {
            log.truncate(logged);
        }
        done
    });
    done.map_err(|c| Error::corrupt(id, index.id(), c))
}

/// Inserts a record after another one; `None` if neither garbage nor heap has room.
#[inline]
pub(crate) fn insert(
    mtr: &mut Mtr<'_>,
    page: PageRef,
    index: &IndexDef,
    after: u16,
    rec: &[u8],
    extra: usize,
) -> Result<Option<u16>> {
    edit(mtr, page, index, |bytes, log| logged::insert(bytes, log, index, after, rec, extra))
}

/// Removes a record.
pub(crate) fn delete(mtr: &mut Mtr<'_>, page: PageRef, index: &IndexDef, rec: u16) -> Result<()> {
    edit(mtr, page, index, |bytes, log| logged::delete(bytes, log, index, rec))
}

/// Removes the records from `rec` on.
pub(crate) fn delete_list_from(mtr: &mut Mtr<'_>, page: PageRef, index: &IndexDef, rec: u16) -> Result<()> {
    edit(mtr, page, index, |bytes, log| logged::delete_list_from(bytes, log, index, rec))
}

/// Copies the records of `from` from `rec` on to an empty page.
pub(crate) fn copy_list_end(
    mtr: &mut Mtr<'_>,
    page: PageRef,
    index: &IndexDef,
    from: &[u8],
    rec: u16,
) -> Result<()> {
    debug_assert_eq!(
        header::n_recs(mtr.page(page)),
        0,
        "records are copied to page {}, which has some",
        mtr.id(page)
    );
    edit(mtr, page, index, |bytes, log| logged::copy_list_end(bytes, log, index, from, rec))
}

/// Rebuilds the page without garbage.
pub(crate) fn reorganize(mtr: &mut Mtr<'_>, page: PageRef, index: &IndexDef) -> Result<()> {
    edit(mtr, page, index, |bytes, log| logged::reorganize(bytes, log, index))
}

/// Flags a record as below all keys.
pub(crate) fn set_min_rec_mark(mtr: &mut Mtr<'_>, page: PageRef, index: &IndexDef, rec: u16) -> Result<()> {
    let comp = index.layout().comp();
    edit(mtr, page, index, |bytes, log| logged::set_min_rec_mark(bytes, log, comp, rec))
}

/// MAX_TRX_ID of a leaf of a secondary index; 0 on other pages.
pub(crate) fn max_trx_id(index: &IndexDef, page: &[u8]) -> TrxId {
    let has = index.kind() == IndexKind::Secondary && header::is_leaf(page);
    TrxId(if has { get_u64(page, MAX_TRX_ID) } else { 0 })
}

/// Raises MAX_TRX_ID.
pub(crate) fn raise_max_trx_id(mtr: &mut Mtr<'_>, page: PageRef, trx_id: TrxId) {
    let id = mtr.id(page);
    mtr.edit(page, |bytes, log| logged::raise_max_trx_id(bytes, &mut PageLog::new(id, log), trx_id));
}

/// Records of a page in key order with their sizes.
pub(crate) fn record_sizes(index: &IndexDef, page: &[u8]) -> PageResult<Vec<(u16, usize)>> {
    let mut out = Vec::with_capacity(usize::from(header::n_recs(page)));
    for rec in index_page::records(page) {
        let rec = rec?;
        out.push((rec, RecSize::of(page, rec, index.layout())?.total()));
    }
    Ok(out)
}

/// Position of a record in key order: 0 for the infimum, 1 for the first user record.
pub(crate) fn ordinal(page: &[u8], rec: u16) -> PageResult<usize> {
    if rec == infimum(header::is_comp(page)) {
        return Ok(0);
    }
    let mut n = 0;
    for at in index_page::records(page) {
        n += 1;
        if at? == rec {
            return Ok(n);
        }
    }
    Err(Corruption::new("record list", "a record is not in it").at(rec.into()))
}

/// The record at a position; see [`ordinal`].
pub(crate) fn nth(page: &[u8], n: usize) -> PageResult<u16> {
    if n == 0 {
        return Ok(infimum(header::is_comp(page)));
    }
    match index_page::records(page).nth(n - 1) {
        Some(rec) => rec,
        None => Err(Corruption::new("record list", format!("it ends before record {n}"))),
    }
}

/// Heap numbers of the records of a page from `rec` on, in key order.
pub(crate) fn heap_numbers(page: &[u8], rec: u16) -> PageResult<Vec<HeapNo>> {
    let comp = header::is_comp(page);
    let mut out = Vec::new();
    let mut at = rec;
    while at != supremum(comp) {
        if out.len() > usize::from(header::n_heap(page)) {
            return Err(Corruption::new("record list", "it does not end").at(rec.into()));
        }
        out.push(HeapNo(heap_no(page, at, comp)));
        at = index_page::next_rec(page, at)?;
    }
    Ok(out)
}

/// Heap number of a record.
pub(crate) fn heap_no_of(page: &[u8], rec: u16) -> HeapNo {
    HeapNo(heap_no(page, rec, header::is_comp(page)))
}

/// Whether a record of `len` bytes fits, if need be after reorganisation.
#[inline]
pub(crate) fn fits(page: &[u8], len: usize) -> bool {
    max_insert_size_after_reorganize(page, 1) >= len
}

/// Whether records of `bytes` bytes, `n` of them, fill a page no more than full.
#[inline]
pub(crate) fn fit_together(index: &IndexDef, page_len: usize, bytes: usize, n: usize) -> bool {
    // As max_insert_size reserves for the directory: a slot for four records.
    bytes + (2 * n).div_ceil(4) <= empty_page_space(page_len, index.layout().comp())
}

/// Whether the records of `other` fit behind those of `page`.
pub(crate) fn can_take(index: &IndexDef, page: &[u8], other: &[u8]) -> bool {
    let n = usize::from(header::n_recs(page)) + usize::from(header::n_recs(other));
    fit_together(index, page.len(), data_size(page) + data_size(other), n)
}

/// The page's id and an index error in one.
pub(crate) fn bad(id: PageId, index: &IndexDef, check: &'static str, detail: impl Into<String>) -> Error {
    Error::corrupt(id, index.id(), Corruption::new(check, detail))
}
