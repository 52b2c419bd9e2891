//! BLOB pages: the off-page parts of columns.
//!
//! | offset | size | uncompressed (type 10) |
//! |---|---|---|
//! | 38 | 4 | bytes of this part |
//! | 42 | 4 | next page of the chain, or none |
//! | 46 | | data, up to the trailer |
//!
//! In compressed tables (type 11 for the first page of a chain, 12 for the following) data runs from 38 to the end of
//! the page, the chain is linked through FIL next, and the chain's data is one zlib stream (see [`crate::zip`]).
//!
//! FIL prev is "none" on all of them, FIL next too on uncompressed ones. All parts but the last are full. Nothing on a
//! BLOB page is ever changed: an update writes new pages.
//!
//! # Crash
//! Pages are written before the reference that makes them reachable; a mini-transaction that ends in between leaves a
//! record with a zero reference, which rollback removes together with what its undo record says.

use crate::error::{Corruption, Result};
use crate::fil::{self, PageType};
use crate::page_size::PageSize;
use vaquita_base::PageNo;
use vaquita_base::codec::{get_u32, put_u32};

/// Offset of the part header of an uncompressed BLOB page.
pub const PART_HEADER: usize = 38;
/// Offset of the data of an uncompressed BLOB page; also of the next-page field plus its size.
pub const DATA: usize = 46;
/// Where references into compressed chains point: FIL next.
pub const ZIP_REF_OFFSET: u32 = 12;
/// Where references into uncompressed chains point.
pub const REF_OFFSET: u32 = PART_HEADER as u32;

/// Data bytes of a page of an uncompressed chain.
#[inline]
pub const fn capacity(size: PageSize) -> usize {
    size.logical() - DATA - fil::TRAILER_SIZE
}

/// Data bytes of a page of a compressed chain.
#[inline]
pub const fn zip_capacity(size: PageSize) -> usize {
    size.physical() - fil::BODY
}

/// One page's part of a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part<'p> {
    /// Data.
    pub data: &'p [u8],
    /// Where the chain goes on.
    pub next: Option<PageNo>,
}

/// Fills the body of a page that has been initialised (numbers set, the rest zero).
///
/// # Panics
/// If the data exceeds [`capacity`].
pub fn write_part(page: &mut [u8], data: &[u8], next: Option<PageNo>) {
    assert!(data.len() <= page.len() - DATA - fil::TRAILER_SIZE, "data of a BLOB page");
    fil::set_page_type(page, PageType::Blob);
    put_u32(page, fil::PREV, PageNo::NULL.get());
    put_u32(page, fil::NEXT, PageNo::NULL.get());
    put_u32(page, PART_HEADER, data.len() as u32);
    set_next(page, next);
    page[DATA..DATA + data.len()].copy_from_slice(data);
}

/// Links an uncompressed page to the next of its chain.
pub fn set_next(page: &mut [u8], next: Option<PageNo>) {
    put_u32(page, PART_HEADER + 4, next.unwrap_or(PageNo::NULL).get());
}

/// Reads an uncompressed page; `offset` is that of the reference for the first page and [`PART_HEADER`] for others.
///
/// # Errors
/// If the page is of another type or the part does not fit it.
pub fn part(page: &[u8], offset: u32) -> Result<Part<'_>> {
    if fil::page_type(page) != Some(PageType::Blob) {
        return Err(Corruption::new("type of a BLOB page", format!("{:?}", fil::page_type(page))));
    }
    let at = offset as usize;
    let end = page.len() - fil::TRAILER_SIZE;
    if at < PART_HEADER || at > end - 8 {
        return Err(Corruption::new("offset of a BLOB part", format!("{offset}")));
    }
    let len = get_u32(page, at) as usize;
    let start = at + 8;
    let data = page[..end].get(start..start + len);
    let data = data.ok_or_else(|| Corruption::new("length of a BLOB part", format!("{len}")).at(at))?;
    Ok(Part { data, next: PageNo(get_u32(page, at + 4)).some() })
}

/// Appends `len` bytes of an uncompressed column to `out`; `offset` is that of the reference. `fetch` returns the pages
/// of the chain, one after the other.
///
/// # Errors
/// What `fetch` returns; [`Corruption`] if a page is none of the chain or the chain is of another length. `out` may have
/// grown then.
pub fn read_chain<P, E>(
    first: PageNo,
    offset: u32,
    len: usize,
    out: &mut Vec<u8>,
    mut fetch: impl FnMut(PageNo) -> std::result::Result<P, E>,
) -> std::result::Result<(), E>
where
    P: AsRef<[u8]>,
    E: From<Corruption>,
{
    let end = out.len() + len;
    let (mut next, mut offset) = (Some(first), offset);
    while let Some(no) = next {
        let frame = fetch(no)?;
        let Part { data, next: after } = part(frame.as_ref(), offset)?;
        // Parts that are empty or too many would let a damaged chain go on for ever.
        if data.is_empty() || data.len() > end - out.len() {
            let detail = format!("part of {} bytes, {} are missing", data.len(), end - out.len());
            return Err(Corruption::new("off-page column", detail).into());
        }
        out.extend_from_slice(data);
        (next, offset) = (after, PART_HEADER as u32);
    }
    if out.len() == end {
        return Ok(());
    }
    Err(Corruption::new("off-page column", format!("{} bytes are missing", end - out.len())).into())
}

/// Fills a page of a compressed chain; `first` tells the type.
///
/// # Panics
/// If the data exceeds [`zip_capacity`].
pub fn write_zip_part(page: &mut [u8], first: bool, data: &[u8], next: Option<PageNo>) {
    assert!(data.len() <= page.len() - fil::BODY, "data of a compressed BLOB page");
    fil::set_page_type(page, if first { PageType::ZBlob } else { PageType::ZBlob2 });
    put_u32(page, fil::PREV, PageNo::NULL.get());
    put_u32(page, fil::NEXT, next.unwrap_or(PageNo::NULL).get());
    let (body, rest) = page[fil::BODY..].split_at_mut(data.len());
    body.copy_from_slice(data);
    rest.fill(0);
}

/// Reads a page of a compressed chain: all bytes to its end, whatever of them the stream uses.
///
/// # Errors
/// If the page is of another type.
pub fn zip_part(page: &[u8], first: bool) -> Result<Part<'_>> {
    let want = if first { PageType::ZBlob } else { PageType::ZBlob2 };
    if fil::page_type(page) != Some(want) {
        let detail = format!("{:?} instead of {want:?}", fil::page_type(page));
        return Err(Corruption::new("type of a BLOB page", detail));
    }
    Ok(Part { data: &page[fil::BODY..], next: PageNo(get_u32(page, fil::NEXT)).some() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_16k_page_holds_16330_bytes() {
        assert_eq!(capacity(PageSize::DEFAULT), 16_330);
        assert_eq!(zip_capacity(PageSize::compressed(16_384, 4096).unwrap()), 4_058);
    }

    #[test]
    fn parts_round_trip() {
        let mut page = vec![0; 4096];
        write_part(&mut page, b"part", Some(PageNo(77)));
        assert_eq!(page[38..51], *b"\0\0\0\x04\0\0\0\x4Dpart\0");
        assert_eq!(part(&page, 38), Ok(Part { data: b"part", next: Some(PageNo(77)) }));
        set_next(&mut page, None);
        assert_eq!(part(&page, 38).unwrap().next, None);
        put_u32(&mut page, 38, 4043);
        assert!(part(&page, 38).is_err());
        assert!(part(&page, 4081).is_err() && part(&page, 12).is_err() && part(&page, u32::MAX).is_err());
        assert!(zip_part(&page, true).is_err());
        write_zip_part(&mut page, true, b"zz", None);
        assert_eq!(zip_part(&page, true).map(|p| (p.data.len(), p.next)), Ok((4058, None)));
        assert!(zip_part(&page, false).is_err() && part(&page, 38).is_err());
    }
}
