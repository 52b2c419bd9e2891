//! The modification log: records inserted or changed since the page was compressed.
//!
//! Entries up to a zero byte: an integer `(heap number - 1) << 1 | clear`, one byte below 0x80, else two with bit 7 of
//! the first set. With `clear` the record's data becomes zero. Otherwise follow the bytes below the record's header,
//! downwards (null bitmap first, then lengths as they are read), then the data without what the trailer holds.

use super::fields::ZipFields;
use super::page::{parse_record, stored_ranges};
use crate::error::{Corruption, Result};
use crate::index_page::header::COMP_HEAP;
use crate::record::header::COMP_HEADER;
use crate::record::offsets::{CompWalk, Offsets};

/// What an entry is about.
pub(super) struct Entry {
    /// Heap number less two.
    pub(super) index: usize,
    /// Whether the data becomes zero.
    pub(super) clear: bool,
}

/// The record an entry changes.
pub(super) struct Target<'p> {
    pub(super) page: &'p mut [u8],
    pub(super) origin: u16,
}

impl Target<'_> {
    /// Zeroes the data.
    pub(super) fn clear(self, offsets: &mut Offsets, fields: &ZipFields) -> Result<()> {
        offsets.parse(self.page, self.origin, &fields.layout)?;
        let start = usize::from(self.origin);
        self.page[start..start + offsets.data_len()].fill(0);
        Ok(())
    }
}

/// Reads the log.
pub(super) struct LogReader<'z> {
    zip: &'z [u8],
    at: usize,
    limit: usize,
    scratch: Vec<u8>,
}

impl<'z> LogReader<'z> {
    /// The log from `start`; `limit` is where the trailer begins.
    pub(super) fn new(zip: &'z [u8], start: usize, limit: usize) -> Result<Self> {
        if start >= limit {
            return Err(bad(start, "no room before the trailer"));
        }
        Ok(Self { zip, at: start, limit, scratch: Vec::new() })
    }

    /// The current offset; after the last entry, that of the zero byte.
    pub(super) fn pos(&self) -> usize {
        self.at
    }

    /// The next entry, of a page with `n_recs` records in its heap; `None` at the end.
    pub(super) fn entry(&mut self, n_recs: usize) -> Result<Option<Entry>> {
        let first = self.peek(self.at)?;
        if first == 0 {
            return Ok(None);
        }
        let mut value = usize::from(first);
        let start = self.at;
        self.at += 1;
        if first & 0x80 != 0 {
            value = (value & 0x7F) << 8 | usize::from(self.peek(self.at)?);
            self.at += 1;
        }
        let index = (value >> 1).checked_sub(1).filter(|&i| i < n_recs);
        let index = index.ok_or_else(|| bad(start, "no such heap number"))?;
        Ok(Some(Entry { index, clear: value & 1 != 0 }))
    }

    /// Reads the entry's record into its place.
    pub(super) fn record(
        &mut self,
        to: Target<'_>,
        offsets: &mut Offsets,
        fields: &ZipFields,
        leaf: bool,
    ) -> Result<()> {
        let start = self.at;
        let origin = usize::from(to.origin);
        let extra = self.extra_len(fields).ok_or_else(|| bad(start, "lengths of the record"))?;
        let top = origin - COMP_HEADER;
        if top < usize::from(COMP_HEAP) + extra {
            return Err(bad(start, "the record begins below the heap"));
        }
        let bytes = self.take(extra)?;
        for (to, from) in to.page[top - extra..top].iter_mut().rev().zip(bytes) {
            *to = *from;
        }
        parse_record(offsets, to.page, to.origin, fields, leaf)?;
        for (from, end) in stored_ranges(offsets, fields, leaf) {
            let bytes = self.take(end - from)?;
            to.page[origin + from..origin + end].copy_from_slice(bytes);
        }
        Ok(())
    }

    /// Bytes below the header of the record whose bytes come next: known only by walking over its lengths.
    fn extra_len(&mut self, fields: &ZipFields) -> Option<usize> {
        let layout = &fields.layout;
        let longest = layout.null_bytes() + 2 * layout.fields().len();
        let bytes = &self.zip[self.at..self.limit.min(self.at + longest)];
        self.scratch.clear();
        self.scratch.resize(longest - bytes.len(), 0);
        self.scratch.extend(bytes.iter().rev());
        self.scratch.extend_from_slice(&[0; COMP_HEADER]);
        let origin = self.scratch.len();
        let mut walk = CompWalk::new(&self.scratch, origin, layout, layout.n_const())?;
        for f in &layout.fields()[layout.n_const()..] {
            walk.step(f)?;
        }
        let extra = walk.extra(origin).checked_sub(COMP_HEADER)?;
        (extra <= bytes.len()).then_some(extra)
    }

    fn peek(&self, at: usize) -> Result<u8> {
        if at < self.limit { Ok(self.zip[at]) } else { Err(bad(at, "it runs into the trailer")) }
    }

    fn take(&mut self, n: usize) -> Result<&'z [u8]> {
        let end = self.at + n;
        if end >= self.limit {
            return Err(bad(self.at, "it runs into the trailer"));
        }
        let bytes = &self.zip[self.at..end];
        self.at = end;
        Ok(bytes)
    }
}

#[cold]
fn bad(at: usize, detail: &'static str) -> Corruption {
    Corruption::new("modification log of a compressed page", detail).at(at)
}
