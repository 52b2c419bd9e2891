//! The bytes of a simulated file, copied only where they change.
//!
//! A tree of two levels: a list of chunks, each of 64 pages of 4 KiB. Clones share everything and cost one
//! reference count; a change copies the list, one chunk and one page at most. Absent pages are zeros.
//!
//! # Invariants
//! - I1: after [`Image::set_len`], no byte at or past the length is anything but zero. [`Image::put`] alone may
//!   leave bytes past the length; whoever calls it sets the length afterwards.

use std::sync::Arc;

const PAGE: usize = 4096;
const CHUNK_PAGES: usize = 64;
const CHUNK: usize = PAGE * CHUNK_PAGES;

type Page = [u8; PAGE];
type Chunk = [Option<Arc<Page>>; CHUNK_PAGES];

/// Content and length of a file.
#[derive(Debug, Clone, Default)]
pub(super) struct Image {
    chunks: Arc<Vec<Option<Arc<Chunk>>>>,
    len: u64,
}

impl Image {
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Fills `buf` from `offset`; zeros where nothing is.
    pub(super) fn read(&self, offset: u64, buf: &mut [u8]) {
        for (page_no, within, part) in pieces(offset, buf.len()) {
            let out = &mut buf[part];
            match self.page(page_no) {
                Some(page) => out.copy_from_slice(&page[within..][..out.len()]),
                None => out.fill(0),
            }
        }
    }

    /// Everything, for tests and dumps.
    pub(super) fn to_vec(&self) -> Vec<u8> {
        let mut all = vec![0; usize::try_from(self.len).expect("simulated files fit into memory")];
        self.read(0, &mut all);
        all
    }

    /// Places bytes without a look at the length.
    pub(super) fn put(&mut self, offset: u64, bytes: &[u8]) {
        for (page_no, within, part) in pieces(offset, bytes.len()) {
            let part = &bytes[part];
            let slot = self.slot(page_no);
            match (slot, <&Page>::try_from(part)) {
                // A whole page replaces the old one, which may be shared, without copying it first.
                (slot, Ok(whole)) => *slot = Some(Arc::new(*whole)),
                (Some(page), Err(_)) => Arc::make_mut(page)[within..][..part.len()].copy_from_slice(part),
                (empty, Err(_)) => {
                    let mut page = [0; PAGE];
                    page[within..][..part.len()].copy_from_slice(part);
                    *empty = Some(Arc::new(page));
                }
            }
        }
    }

    /// Grows with zeros or cuts.
    pub(super) fn set_len(&mut self, len: u64) {
        self.len = len;
        let chunks_max = len.div_ceil(CHUNK as u64) as usize;
        if self.chunks.len() < chunks_max || chunks_max == 0 {
            if !self.chunks.is_empty() && chunks_max == 0 {
                Arc::make_mut(&mut self.chunks).clear();
            }
            return;
        }
        if self.chunks.len() > chunks_max {
            Arc::make_mut(&mut self.chunks).truncate(chunks_max);
        }
        self.clear_chunk_tail(chunks_max - 1, (len - (chunks_max as u64 - 1) * CHUNK as u64) as usize);
    }

    /// Zeroes the bytes of a chunk from `from` on.
    fn clear_chunk_tail(&mut self, chunk_no: usize, from: usize) {
        let Some(chunk) = &self.chunks[chunk_no] else { return };
        let whole = from.div_ceil(PAGE);
        let partial = (!from.is_multiple_of(PAGE)).then_some(from / PAGE);
        let dirty_partial = partial
            .and_then(|no| chunk[no].as_ref())
            .is_some_and(|page| page[from % PAGE..].iter().any(|&b| b != 0));
        if !dirty_partial && chunk[whole..].iter().all(Option::is_none) {
            return;
        }
        let chunks = Arc::make_mut(&mut self.chunks);
        let chunk = Arc::make_mut(chunks[chunk_no].as_mut().expect("seen above"));
        chunk[whole..].fill(None);
        if let Some(page) = partial.and_then(|no| chunk[no].as_mut()) {
            Arc::make_mut(page)[from % PAGE..].fill(0);
        }
    }

    /// Inverts one bit.
    pub(super) fn flip(&mut self, offset: u64, bit: u8) {
        let mut byte = [0];
        self.read(offset, &mut byte);
        self.put(offset, &[byte[0] ^ 1 << (bit % 8)]);
    }

    fn page(&self, page_no: usize) -> Option<&Page> {
        let chunk = self.chunks.get(page_no / CHUNK_PAGES)?.as_ref()?;
        chunk[page_no % CHUNK_PAGES].as_deref()
    }

    fn slot(&mut self, page_no: usize) -> &mut Option<Arc<Page>> {
        let chunks = Arc::make_mut(&mut self.chunks);
        let chunk_no = page_no / CHUNK_PAGES;
        if chunks.len() <= chunk_no {
            chunks.resize(chunk_no + 1, None);
        }
        let chunk = chunks[chunk_no].get_or_insert_with(|| Arc::new([const { None }; CHUNK_PAGES]));
        &mut Arc::make_mut(chunk)[page_no % CHUNK_PAGES]
    }
}

/// Splits a range at page borders: page number, offset within the page, part of the range.
fn pieces(offset: u64, len: usize) -> impl Iterator<Item = (usize, usize, std::ops::Range<usize>)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        if done == len {
            return None;
        }
        let at = offset + done as u64;
        let within = (at % PAGE as u64) as usize;
        let n = (PAGE - within).min(len - done);
        done += n;
        Some(((at / PAGE as u64) as usize, within, done - n..done))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use vaquita_base::Rng;

    /// Random puts, cuts and clones against a plain vector.
    #[test]
    fn behaves_as_a_vector() {
        let mut rng = Rng::new(1);
        for _ in 0..200 {
            let mut image = Image::default();
            let mut model: Vec<u8> = Vec::new();
            let mut kept: Vec<(Image, Vec<u8>)> = Vec::new();
            for _ in 0..40 {
                match rng.below(8) {
                    0 => {
                        let len = rng.index(3 * CHUNK);
                        image.set_len(len as u64);
                        model.resize(len, 0);
                    }
                    1 => kept.push((image.clone(), model.clone())),
                    2 if !model.is_empty() => {
                        let (at, bit) = (rng.index(model.len()), rng.below(8) as u8);
                        image.flip(at as u64, bit);
                        model[at] ^= 1 << bit;
                    }
                    _ => {
                        let (at, len) = (rng.index(2 * CHUNK), rng.index(3 * PAGE));
                        let mut bytes = vec![0; len];
                        rng.fill(&mut bytes);
                        image.put(at as u64, &bytes);
                        let end = model.len().max(at + len);
                        image.set_len(end as u64);
                        model.resize(end, 0);
                        model[at..at + len].copy_from_slice(&bytes);
                    }
                }
                assert_eq!(image.len(), model.len() as u64);
            }
            kept.push((image, model));
            for (image, model) in kept {
                assert!(image.to_vec() == model, "clones keep what they had");
            }
        }
    }

    #[test]
    fn setting_the_length_clears_what_was_put_past_it() {
        let mut image = Image::default();
        image.put(10, &[1; 2 * PAGE]);
        image.set_len(PAGE as u64 + 3);
        image.set_len(4 * PAGE as u64);
        let all = image.to_vec();
        assert_eq!(all.iter().filter(|&&b| b == 1).count(), PAGE + 3 - 10);
    }
}
