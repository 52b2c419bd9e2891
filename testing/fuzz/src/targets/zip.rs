//! Compressed pages, and off-page columns plain and compressed.
//!
//! A checksum guards the deflate stream, so mutating whole pages seldom gets past it ([`pages`] does it all the same).
//! [`parts`] takes the parts apart instead: header, field description, heap, log and trailer are the input, and the
//! stream is deflated from them, so that everything behind the inflation is reached.

use std::cell::RefCell;

use vaquita_base::PageNo;
use vaquita_format::index_page::{self, header, validate};
use vaquita_format::zip::{Unzip, ZipInfo, inflate_chain};
use vaquita_format::{Corruption, blob};
use zlib_rs::{Deflate, DeflateFlush, Inflate, InflateFlush};

use crate::seeds;

const LOGICAL: usize = 16384;

thread_local! {
    static UNZIP: RefCell<(Unzip, Vec<u8>)> = RefCell::new((Unzip::new(), vec![0; LOGICAL]));
    static DEFLATE: RefCell<Deflate> = RefCell::new(Deflate::new(1, true, 15));
}

/// A page as it lies in the file.
pub(super) fn pages(data: &[u8]) {
    let size = match data.len() {
        0..2048 => 1024,
        2048..4096 => 2048,
        4096..8192 => 4096,
        8192..16384 => 8192,
        _ => 16384,
    };
    let mut zip = data[..data.len().min(size)].to_vec();
    zip.resize(size, 0);
    expand(&zip);
}

/// Expands a page; what comes out must be fit to be read, sound or not.
fn expand(zip: &[u8]) {
    UNZIP.with_borrow_mut(|(unzip, page)| {
        let Ok(ZipInfo { log_start, log_end, trailer_start, .. }) = unzip.index_page(zip, page) else {
            return;
        };
        assert!(log_start <= log_end && log_end < trailer_start && trailer_start <= zip.len());
        assert_eq!(header::n_recs(page), header::n_recs(zip));
        let _ = validate(page, None);
        let _ = index_page::records(page).take_while(Result::is_ok).count();
    });
}

/// Where the parts lie in the input: choice of size, lengths of description and heap and log, then the parts.
struct Parts<'a> {
    size: usize,
    header: &'a [u8],
    description: &'a [u8],
    heap: &'a [u8],
    log: &'a [u8],
    trailer: &'a [u8],
}

impl<'a> Parts<'a> {
    const HEADER: usize = header::RECORDS;

    fn split(data: &'a [u8]) -> Option<Parts<'a>> {
        let (&[choice, description, heap_high, heap_low, log_high, log_low], rest) =
            data.split_first_chunk()?;
        let two = |high: u8, low: u8| usize::from(high) << 8 | usize::from(low);
        let (header, rest) = rest.split_at_checked(Self::HEADER)?;
        let (description, rest) = rest.split_at_checked(description.into())?;
        let (heap, rest) = rest.split_at_checked(two(heap_high, heap_low))?;
        let (log, trailer) = rest.split_at_checked(two(log_high, log_low))?;
        Some(Parts { size: 1024 << (choice % 4), header, description, heap, log, trailer })
    }

    fn join(&self) -> Vec<u8> {
        let choice = (self.size / 1024).trailing_zeros() as u8;
        let (heap, log) = (self.heap.len(), self.log.len());
        let head = [
            choice,
            self.description.len() as u8,
            (heap >> 8) as u8,
            heap as u8,
            (log >> 8) as u8,
            log as u8,
        ];
        [&head, self.header, self.description, self.heap, self.log, self.trailer].concat()
    }

    /// The page, if the parts fit.
    fn page(&self) -> Option<Vec<u8>> {
        let mut page = vec![0; self.size];
        page[..Self::HEADER].copy_from_slice(self.header);
        let stream = DEFLATE.with_borrow_mut(|deflate| {
            deflate.reset();
            for (part, flush) in
                [(self.description, DeflateFlush::FullFlush), (self.heap, DeflateFlush::Finish)]
            {
                let at = Self::HEADER + deflate.total_out() as usize;
                let before = deflate.total_in();
                deflate.compress(part, page.get_mut(at..)?, flush).ok()?;
                (deflate.total_in() - before == part.len() as u64).then_some(())?;
            }
            Some(deflate.total_out() as usize)
        })?;
        let log_at = Self::HEADER + stream;
        let trailer_at = self.size.checked_sub(self.trailer.len())?;
        (log_at + self.log.len() < trailer_at).then_some(())?;
        page[log_at..log_at + self.log.len()].copy_from_slice(self.log);
        page[trailer_at..].copy_from_slice(self.trailer);
        Some(page)
    }
}

/// A page from its parts.
pub(super) fn parts(data: &[u8]) {
    if let Some(page) = Parts::split(data).and_then(|parts| parts.page()) {
        expand(&page);
    }
}

/// Index pages of the fixtures, of the smallest sizes.
pub(super) fn page_seeds() -> Vec<Vec<u8>> {
    let is_index = |page: &Vec<u8>| page[24..26] == [0x45, 0xBF];
    let small = seeds::pages(1024, 60, |stem| stem == "zip1").into_iter();
    let pages = small.chain(seeds::pages(2048, 20, |stem| stem == "zip2" || stem == "delmark_zip"));
    pages.chain(seeds::pages(4096, 12, |stem| stem == "blob_zip4")).filter(is_index).collect()
}

/// The same pages taken apart.
pub(super) fn part_seeds() -> Vec<Vec<u8>> {
    page_seeds().iter().filter_map(|page| take_apart(page)).collect()
}

fn take_apart(page: &[u8]) -> Option<Vec<u8>> {
    let info = UNZIP.with_borrow_mut(|(unzip, logical)| unzip.index_page(page, logical)).ok()?;
    let stream = &page[Parts::HEADER..info.log_start];
    let mut out = vec![0; 2 * LOGICAL];
    let mut inflate = Inflate::new(true, 15);
    // The stream's header, then the block of the description, then the rest.
    inflate.decompress(stream, &mut out, InflateFlush::Block).ok()?;
    let read = inflate.total_in() as usize;
    inflate.decompress(&stream[read..], &mut out, InflateFlush::Block).ok()?;
    let (read, description) = (inflate.total_in() as usize, inflate.total_out() as usize);
    inflate.decompress(&stream[read..], &mut out[description..], InflateFlush::Finish).ok()?;
    let end = inflate.total_out() as usize;
    let parts = Parts {
        size: page.len(),
        header: &page[..Parts::HEADER],
        description: &out[..description],
        heap: &out[description..end],
        log: &page[info.log_start..info.log_end],
        trailer: &page[info.trailer_start..],
    };
    Some(parts.join())
}

/// Bytes of a page of the off-page chains below; the format does not care.
const CHAIN_PAGE: usize = 128;

/// Length and offset, then a file of small pages through which chains lead.
pub(super) fn chains(data: &[u8]) {
    let Some((&[len_high, len_low, offset, first], file)) = data.split_first_chunk::<4>() else { return };
    let len = usize::from(len_high) << 8 | usize::from(len_low);
    let fetch = |no: PageNo| -> Result<&[u8], Corruption> {
        let page = file.chunks_exact(CHAIN_PAGE).nth(no.get() as usize);
        page.ok_or_else(|| Corruption::new("page", format!("{no} is not in the file")))
    };
    let first = PageNo(first.into());
    let mut out = vec![7; 3];
    if blob::read_chain(first, offset.into(), len, &mut out, fetch).is_ok() {
        assert_eq!(out.len(), 3 + len);
    }
    let mut out = vec![7; 3];
    if inflate_chain(first, len, &mut out, fetch).is_ok() {
        assert_eq!(out.len(), 3 + len);
    }
}

/// A plain chain and a compressed one of three pages each.
pub(super) fn chain_seeds() -> Vec<Vec<u8>> {
    let value: Vec<u8> = (0..120u16).map(|n| (n * n) as u8).collect();
    let mut plain = vec![0; 3 * CHAIN_PAGE];
    for (no, part) in value.chunks(40).enumerate() {
        let next = (no < 2).then_some(PageNo(no as u32 + 1));
        blob::write_part(&mut plain[no * CHAIN_PAGE..][..CHAIN_PAGE], part, next);
    }
    let mut stream = vec![0; 512];
    let mut deflate = Deflate::new(1, true, 15);
    deflate.compress(&value, &mut stream, DeflateFlush::Finish).expect("room enough");
    stream.truncate(deflate.total_out() as usize);
    let mut zip = vec![0; 3 * CHAIN_PAGE];
    for (no, part) in stream.chunks(CHAIN_PAGE - 38).enumerate() {
        let next = (part.len() == CHAIN_PAGE - 38).then_some(PageNo(no as u32 + 1));
        blob::write_zip_part(&mut zip[no * CHAIN_PAGE..][..CHAIN_PAGE], no == 0, part, next);
    }
    vec![[&[0, 120, 38, 0], plain.as_slice()].concat(), [&[0, 120, 38, 0], zip.as_slice()].concat()]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Our deflate packs less tightly than the server's, so that some full pages do not fit.
    #[test]
    fn most_pages_taken_apart_expand_when_put_together() {
        let seeds = part_seeds();
        let expands = |seed: &Vec<u8>| {
            let page = Parts::split(seed).and_then(|parts| parts.page());
            page.is_some_and(|page| {
                UNZIP.with_borrow_mut(|(unzip, logical)| unzip.index_page(&page, logical)).is_ok()
            })
        };
        let good = seeds.iter().filter(|seed| expands(seed)).count();
        assert!(good * 2 > seeds.len(), "{good} of {}", seeds.len());
    }
}
