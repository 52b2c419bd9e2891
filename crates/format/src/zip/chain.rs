//! Off-page columns of compressed tables: one zlib stream over a chain of pages.

use crate::blob::{Part, zip_part};
use crate::error::Corruption;
use crate::fil;
use vaquita_base::PageNo;
use zlib_rs::{Inflate, InflateFlush, Status};

/// Appends `len` bytes of the column that starts at page `first` to `out`. `fetch` returns the pages of the chain, one
/// after the other.
///
/// # Errors
/// What `fetch` returns; [`Corruption`] if a page is none of the chain, or the stream is damaged or of another length.
/// `out` may have grown then.
pub fn inflate_chain<P, E>(
    first: PageNo,
    len: usize,
    out: &mut Vec<u8>,
    mut fetch: impl FnMut(PageNo) -> Result<P, E>,
) -> Result<(), E>
where
    P: AsRef<[u8]>,
    E: From<Corruption>,
{
    let start = out.len();
    // Output grows with the input, so that a damaged length does not make us reserve gigabytes.
    let mut inflate = Inflate::new(true, 15);
    let mut next = Some(first);
    let mut pages = 0;
    while let Some(no) = next {
        let frame = fetch(no)?;
        let Part { data, next: after } = zip_part(frame.as_ref(), pages == 0)?;
        pages += 1;
        // Deflate expands incompressible data by less than an eighth; a longer chain goes round in circles.
        if pages > len / (frame.as_ref().len() - fil::BODY) * 9 / 8 + 2 {
            return Err(bad(format!("more than {pages} pages for {len} bytes")).into());
        }
        if inflate_page(&mut inflate, data, len, start, out)? {
            let found = out.len() - start;
            let whole = found == len;
            return if whole { Ok(()) } else { Err(bad(format!("{found} bytes instead of {len}")).into()) };
        }
        next = after;
    }
    Err(bad(format!("the chain ends after {} of {len} bytes", out.len() - start)).into())
}

/// Inflates one page's data; whether the stream has ended.
fn inflate_page(
    inflate: &mut Inflate,
    data: &[u8],
    len: usize,
    start: usize,
    out: &mut Vec<u8>,
) -> Result<bool, Corruption> {
    const STEP: usize = 16 * 1024;
    let read_before = inflate.total_in();
    loop {
        let from = (inflate.total_in() - read_before) as usize;
        let at = out.len();
        // One byte more than expected, to notice a longer stream.
        let room = (start + len + 1).saturating_sub(at).min(STEP);
        out.resize(at + room, 0);
        let written_before = inflate.total_out();
        let status = inflate.decompress(&data[from..], &mut out[at..], InflateFlush::NoFlush);
        let written = (inflate.total_out() - written_before) as usize;
        out.truncate(at + written);
        match status.map_err(|e| bad(e.as_str().into()))? {
            Status::StreamEnd => return Ok(true),
            _ if out.len() > start + len => return Err(bad(format!("more than {len} bytes"))),
            // With room left in the output, the input is used up.
            _ if written < room => return Ok(false),
            _ => {}
        }
    }
}

#[cold]
fn bad(detail: String) -> Corruption {
    Corruption::new("compressed column", detail)
}
