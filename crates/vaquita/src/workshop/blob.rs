//! Chains of BLOB pages.
//!
//! In uncompressed tablespaces every page says how long its part is and which page follows. In compressed ones the
//! pages together hold one zlib stream, and the FIL header links them.

use vaquita_base::PageNo;
use vaquita_format::Corruption;
use vaquita_format::record::{EXTERN_REF_LEN, ExternRef};
use vaquita_format::{blob, fil};
use zlib_rs::{Inflate, InflateFlush, Status};

use super::source::PageSource;

/// What goes wrong on the way along a chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlobFault {
    /// The page concerned.
    pub page: PageNo,
    /// What is wrong with it.
    pub what: Corruption,
}

fn fault(page: PageNo, check: &'static str, detail: impl Into<String>) -> BlobFault {
    BlobFault { page, what: Corruption::new(check, detail) }
}

/// Reads the off-page part of a column, handing each page to `visit` before it is read on, and its bytes to `sink` in
/// pieces. Stops when `visit` says no.
///
/// # Errors
/// The first fault of the chain: a page that cannot be read or is no BLOB page, a part that does not fit, a chain
/// that is too short or too long, a broken stream.
pub fn read_blob(
    src: &dyn PageSource,
    reference: &ExternRef,
    visit: &mut dyn FnMut(PageNo) -> bool,
    sink: &mut dyn FnMut(&[u8]),
) -> Result<(), BlobFault> {
    if src.page_size().is_compressed() {
        read_compressed(src, reference, visit, sink)
    } else {
        read_plain(src, reference, visit, sink)
    }
}

/// A value whose end is off the page: `stored` is what the record has.
///
/// # Errors
/// The first fault of the chain; a reference that is none, or was not written yet.
pub fn whole_value(src: &dyn PageSource, stored: &[u8]) -> Result<Vec<u8>, Corruption> {
    let unwritten = || Corruption::new("external reference", "has not been written yet");
    let reference = ExternRef::of_field(stored)?.ok_or_else(unwritten)?;
    let mut out = stored[..stored.len() - EXTERN_REF_LEN].to_vec();
    // As many pages as the length can need, in the smallest pages: an end for chains that loop.
    let mut steps = u64::from(reference.len) / 512 + 16;
    let mut visit = |_| {
        steps = steps.saturating_sub(1);
        steps > 0
    };
    read_blob(src, &reference, &mut visit, &mut |piece| out.extend_from_slice(piece)).map_err(|e| e.what)?;
    Ok(out)
}

/// Goes along a chain from page to page, whatever its reference says of its length, handing each page to `visit` before it is read;
/// stops when `visit` says no. For chains that are being written or freed: they are whole in all but their length.
///
/// # Errors
/// The first page that cannot be read or is no BLOB page.
pub fn walk_chain(
    src: &dyn PageSource,
    reference: &ExternRef,
    visit: &mut dyn FnMut(PageNo) -> bool,
) -> Result<(), BlobFault> {
    let compressed = src.page_size().is_compressed();
    let (mut at, mut offset, mut first) = (reference.page_no.some(), reference.offset, true);
    while let Some(no) = at.filter(|&no| visit(no)) {
        let page = src.page(no).map_err(|e| BlobFault { page: no, what: e.into_corruption() })?;
        at = if compressed {
            blob::zip_part(&page, first).map(|_| fil::next(&page).some())
        } else {
            blob::part(&page, offset).map(|part| part.next)
        }
        .map_err(|what| BlobFault { page: no, what })?;
        (offset, first) = (blob::REF_OFFSET, false);
    }
    Ok(())
}

fn read_plain(
    src: &dyn PageSource,
    reference: &ExternRef,
    visit: &mut dyn FnMut(PageNo) -> bool,
    sink: &mut dyn FnMut(&[u8]),
) -> Result<(), BlobFault> {
    let mut at = reference.page_no;
    let mut left = u64::from(reference.len);
    let mut offset = reference.offset;
    while left > 0 {
        if at.is_null() {
            return Err(fault(reference.page_no, "BLOB chain", format!("ends {left} bytes too early")));
        }
        if !visit(at) {
            return Ok(());
        }
        let page = src.page(at).map_err(|e| BlobFault { page: at, what: e.into_corruption() })?;
        let piece = blob::part(&page, offset).map_err(|what| BlobFault { page: at, what })?;
        let len = piece.data.len() as u64;
        if len == 0 || len > left {
            return Err(fault(at, "length of a BLOB part", format!("{len} bytes, {left} are left")));
        }
        sink(piece.data);
        left -= len;
        (at, offset) = (piece.next.unwrap_or(PageNo::NULL), blob::REF_OFFSET);
    }
    if at.is_null() { Ok(()) } else { Err(fault(at, "BLOB chain", "goes on after the last byte")) }
}

fn read_compressed(
    src: &dyn PageSource,
    reference: &ExternRef,
    visit: &mut dyn FnMut(PageNo) -> bool,
    sink: &mut dyn FnMut(&[u8]),
) -> Result<(), BlobFault> {
    let mut inflate = Inflate::new(true, 15);
    let mut out = vec![0u8; 16 * 1024];
    let mut left = u64::from(reference.len);
    let (mut at, mut first) = (reference.page_no, true);
    loop {
        if at.is_null() {
            return Err(fault(reference.page_no, "BLOB chain", format!("ends {left} bytes too early")));
        }
        if !visit(at) {
            return Ok(());
        }
        let page = src.page(at).map_err(|e| BlobFault { page: at, what: e.into_corruption() })?;
        let mut input = blob::zip_part(&page, first).map_err(|what| BlobFault { page: at, what })?.data;
        loop {
            let (in_before, out_before) = (inflate.total_in(), inflate.total_out());
            let status = inflate.decompress(input, &mut out, InflateFlush::NoFlush);
            let status = status.map_err(|e| fault(at, "zlib stream of a BLOB", e.as_str()))?;
            let taken = (inflate.total_in() - in_before) as usize;
            let given = (inflate.total_out() - out_before) as usize;
            if given as u64 > left {
                return Err(fault(at, "BLOB chain", "holds more bytes than its reference says"));
            }
            sink(&out[..given]);
            left -= given as u64;
            input = &input[taken..];
            match status {
                Status::StreamEnd => return end_of_stream(at, left, &page),
                _ if taken == 0 && given == 0 || input.is_empty() && given < out.len() => break,
                _ => {}
            }
        }
        (at, first) = (fil::next(&page), false);
    }
}

fn end_of_stream(at: PageNo, left: u64, page: &[u8]) -> Result<(), BlobFault> {
    if left > 0 {
        return Err(fault(at, "BLOB chain", format!("its stream ends {left} bytes too early")));
    }
    if !fil::next(page).is_null() {
        return Err(fault(at, "BLOB chain", "goes on after the last byte"));
    }
    Ok(())
}
