//! From a compressed page to its logical page.

use super::fields::{SYS_LEN, ZipFields};
use super::log::{self, Target};
use crate::error::{Corruption, Result};
use crate::fil::TRAILER_SIZE;
use crate::index_page::header::{
    COMP_HEAP, COMP_INFIMUM, COMP_SUPREMUM, HEAP_TOP, N_DIR_SLOTS, RECORDS, SLOT_LEN, free, heap_top,
    is_comp, is_leaf, is_leftmost, n_dir_slots, n_heap, n_recs, set_slot,
};
use crate::record::EXTERN_REF_LEN;
use crate::record::header::{
    COMP_HEADER, INFO_DELETED, INFO_MIN_REC, STATUS_NODE_PTR, STATUS_ORDINARY, set_info_bits, set_n_owned,
    set_next, status,
};
use crate::record::offsets::{CHILD_LEN, Offsets};
use vaquita_base::codec::{get_u16, put_u16};
use zlib_rs::{Inflate, InflateFlush, Status};

/// Bits of a dense directory entry.
const OFFSET_MASK: u16 = 0x3FFF;
const OWNED: u16 = 0x4000;
const DELETED: u16 = 0x8000;

/// Infimum and supremum, counts and next pointers aside.
const SYSTEM_RECORDS: [u8; 26] = *b"\x01\0\x02\0\0infimum\0\0\0\x0B\0\0supremum";

/// Longest field description: two bytes for each field and the last number.
const DESCRIPTION_MAX: usize = 2 * 1024;

/// Where things lie in a compressed page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ZipInfo {
    /// First byte after the zlib stream: where the modification log starts.
    pub log_start: usize,
    /// The zero byte that ends the modification log.
    pub log_end: usize,
    /// Records in the log.
    pub n_log_records: usize,
    /// Lowest byte of the trailer: directory, uncompressed columns, references.
    pub trailer_start: usize,
    /// External references in the trailer.
    pub n_references: usize,
}

/// Decompresses index pages, one after the other, without allocating for each.
pub struct Unzip {
    inflate: Inflate,
    out: Vec<u8>,
    recs: Vec<DenseRec>,
    offsets: Offsets,
}

/// A record by address.
#[derive(Debug, Clone, Copy)]
struct DenseRec {
    origin: u16,
    live: bool,
}

impl std::fmt::Debug for Unzip {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Unzip").finish_non_exhaustive()
    }
}

impl Default for Unzip {
    fn default() -> Self {
        Self::new()
    }
}

/// A compressed page and the place for its logical page.
struct Job<'a> {
    zip: &'a [u8],
    page: &'a mut [u8],
    fields: ZipFields,
    leaf: bool,
}

impl Unzip {
    /// With its own window and buffers.
    pub fn new() -> Self {
        Self { inflate: Inflate::new(true, 15), out: Vec::new(), recs: Vec::new(), offsets: Offsets::new() }
    }

    /// Decompresses an index page of Z bytes into `page`, a logical page of P bytes.
    ///
    /// # Errors
    /// If the page contradicts its format; `page` holds anything then.
    pub fn index_page(&mut self, zip: &[u8], page: &mut [u8]) -> Result<ZipInfo> {
        check_header(zip, page.len())?;
        self.read_directory(zip, page.len())?;
        page[..RECORDS].copy_from_slice(&zip[..RECORDS]);
        page[RECORDS..].fill(0);
        let leaf = is_leaf(zip);
        let (description_len, log_start) = self.inflate(zip, page.len())?;
        let fields = ZipFields::parse(&self.out[..description_len], leaf)?;
        let mut job = Job { zip, page, fields, leaf };
        self.number_records(&mut job);
        self.place_heap(&mut job, description_len)?;
        let (log_end, n_log_records) = self.apply_log(&mut job, log_start)?;
        let (trailer_start, n_references) = self.place_trailer(&mut job, log_end)?;
        rebuild_lists(zip, job.page)?;
        Ok(ZipInfo { log_start, log_end, n_log_records, trailer_start, n_references })
    }

    /// Reads the dense directory into `recs`, sorted by address: heap numbers 2 and up.
    fn read_directory(&mut self, zip: &[u8], page_len: usize) -> Result<()> {
        let n_dense = usize::from(n_heap(zip)) - 2;
        let n_live = usize::from(n_recs(zip));
        self.recs.clear();
        for i in 0..n_dense {
            let entry = dense(zip, i);
            let origin = entry & OFFSET_MASK;
            let lowest = COMP_HEAP + COMP_HEADER as u16;
            let live = i < n_live;
            if origin < lowest || usize::from(origin) + TRAILER_SIZE > page_len || (!live && entry != origin)
            {
                return Err(bad_directory(format!("entry {i} is {entry:#06x}")));
            }
            self.recs.push(DenseRec { origin, live });
        }
        let first_garbage = if n_dense > n_live { dense(zip, n_live) } else { 0 };
        if free(zip) != first_garbage {
            return Err(bad_directory(format!("garbage list starts at {}, not {first_garbage}", free(zip))));
        }
        self.recs.sort_unstable_by_key(|r| r.origin);
        let close = self.recs.windows(2).find(|w| w[1].origin - w[0].origin < COMP_HEADER as u16);
        close
            .map_or(Ok(()), |w| Err(bad_directory(format!("records at {} and {}", w[0].origin, w[1].origin))))
    }

    /// Inflates the stream: length of the description, and where the stream ends in the page.
    fn inflate(&mut self, zip: &[u8], page_len: usize) -> Result<(usize, usize)> {
        self.inflate.reset(true);
        self.out.resize(page_len + DESCRIPTION_MAX, 0);
        let input = &zip[RECORDS..];
        // With Block, inflate returns after the stream's header and again after the description's block.
        for _ in 0..2 {
            self.step(input, InflateFlush::Block)?;
        }
        let description_len = self.inflate.total_out() as usize;
        if self.step(input, InflateFlush::Finish)? != Status::StreamEnd {
            return Err(bad_stream("it does not end within the page".into()));
        }
        let len = self.inflate.total_out() as usize;
        self.out.truncate(len);
        if description_len > DESCRIPTION_MAX || len - description_len > page_len {
            return Err(bad_stream(format!("{len} bytes, {description_len} of them the description")));
        }
        Ok((description_len, RECORDS + self.inflate.total_in() as usize))
    }

    fn step(&mut self, input: &[u8], flush: InflateFlush) -> Result<Status> {
        let (from, to) = (self.inflate.total_in() as usize, self.inflate.total_out() as usize);
        self.inflate
            .decompress(&input[from..], &mut self.out[to..], flush)
            .map_err(|e| bad_stream(e.as_str().into()))
    }

    /// Heap numbers and statuses: the order of addresses.
    fn number_records(&self, job: &mut Job<'_>) {
        let status = if job.leaf { STATUS_ORDINARY } else { STATUS_NODE_PTR };
        for (i, r) in self.recs.iter().enumerate() {
            put_u16(job.page, usize::from(r.origin) - 4, (i as u16 + 2) << 3 | u16::from(status));
        }
    }

    /// Spreads the heap contents over the records that existed when the page was compressed.
    fn place_heap(&mut self, job: &mut Job<'_>, description_len: usize) -> Result<()> {
        let top = heap_top(job.zip);
        let mut body = &self.out[description_len..];
        let mut at = usize::from(COMP_HEAP);
        for r in &self.recs {
            let origin = usize::from(r.origin);
            let gap = (origin - COMP_HEADER).checked_sub(at).ok_or_else(|| overlap(origin))?;
            if body.len() < gap || (body.is_empty() && gap > 0) {
                // This record and the following ones came later: the log has them.
                break;
            }
            take(job.page, at, gap, &mut body)?;
            at = origin;
            if job.leaf && job.fields.trx_id.is_none() {
                // Secondary leaf: nothing is left out, so the data is part of the next gap.
                continue;
            }
            if body.is_empty() {
                break;
            }
            parse_record(&mut self.offsets, job.page, r.origin, &job.fields, job.leaf)?;
            for (start, end) in stored_ranges(&self.offsets, &job.fields, job.leaf) {
                take(job.page, origin + start, end - start, &mut body)?;
            }
            at = origin + self.offsets.data_len();
        }
        let rest = body.len();
        if at + rest > top {
            return Err(bad_stream(format!("{rest} bytes left at {at}, heap ends at {top}")));
        }
        take(job.page, at, rest, &mut body)
    }

    /// Applies the modification log; where it ends, and how many records it had.
    fn apply_log(&mut self, job: &mut Job<'_>, log_start: usize) -> Result<(usize, usize)> {
        let limit = job.zip.len().checked_sub(trailer_len(job, self.recs.len())).ok_or_else(no_room)?;
        let mut reader = log::LogReader::new(job.zip, log_start, limit)?;
        let mut n = 0;
        while let Some(entry) = reader.entry(self.recs.len())? {
            let target = Target { page: job.page, origin: self.recs[entry.index].origin };
            if entry.clear {
                target.clear(&mut self.offsets, &job.fields)?;
            } else {
                reader.record(target, &mut self.offsets, &job.fields, job.leaf)?;
            }
            n += 1;
        }
        Ok((reader.pos(), n))
    }

    /// Puts child pages, system columns and references into the records; where the trailer starts and the number of
    /// references.
    fn place_trailer(&mut self, job: &mut Job<'_>, log_end: usize) -> Result<(usize, usize)> {
        let n = self.recs.len();
        let mut at = job.zip.len() - n * SLOT_LEN;
        let mut refs = job.zip.len() - trailer_len(job, n);
        let mut n_references = 0;
        for r in &self.recs {
            let origin = usize::from(r.origin);
            if !job.leaf {
                parse_record(&mut self.offsets, job.page, r.origin, &job.fields, job.leaf)?;
                at -= CHILD_LEN;
                let to = origin + self.offsets.data_len() - CHILD_LEN;
                job.page[to..to + CHILD_LEN].copy_from_slice(&job.zip[at..at + CHILD_LEN]);
            } else if let Some(trx_id) = job.fields.trx_id {
                parse_record(&mut self.offsets, job.page, r.origin, &job.fields, job.leaf)?;
                at -= SYS_LEN;
                let to = origin + self.offsets.range(trx_id).start;
                job.page[to..to + SYS_LEN].copy_from_slice(&job.zip[at..at + SYS_LEN]);
                for i in 0..self.offsets.n_fields() {
                    if !self.offsets.is_external(i) {
                        continue;
                    }
                    let end = origin + self.offsets.range(i).end;
                    let place = reference_place(&self.offsets, i, end)?;
                    if !r.live {
                        job.page[place].fill(0);
                        continue;
                    }
                    refs = refs.checked_sub(EXTERN_REF_LEN).filter(|&r| r > log_end).ok_or_else(no_room)?;
                    job.page[place].copy_from_slice(&job.zip[refs..refs + EXTERN_REF_LEN]);
                    n_references += 1;
                }
            }
        }
        Ok((refs, n_references))
    }
}

/// The bytes of the external reference that ends at `end`.
fn reference_place(offsets: &Offsets, field: usize, end: usize) -> Result<std::ops::Range<usize>> {
    if offsets.range(field).len() < EXTERN_REF_LEN {
        return Err(Corruption::new("external field", "shorter than its reference").at(end));
    }
    Ok(end - EXTERN_REF_LEN..end)
}

/// Takes a record apart whose header [`Unzip`] has numbered; the data of another, running over it, may have changed
/// its status since.
pub(super) fn parse_record(
    offsets: &mut Offsets,
    page: &[u8],
    origin: u16,
    fields: &ZipFields,
    leaf: bool,
) -> Result<()> {
    let want = if leaf { STATUS_ORDINARY } else { STATUS_NODE_PTR };
    if status(page, origin) != want {
        return Err(overlap(origin.into()));
    }
    offsets.parse(page, origin, &fields.layout)
}

/// The parts of a record's data that stream and log contain, relative to its origin: all but the child page, the system
/// columns and external references.
pub(super) fn stored_ranges(
    offsets: &Offsets,
    fields: &ZipFields,
    leaf: bool,
) -> impl Iterator<Item = (usize, usize)> {
    let data_len = if leaf { offsets.data_len() } else { offsets.data_len() - CHILD_LEN };
    let mut start = 0;
    let mut field = 0;
    let trx_id = fields.trx_id;
    let n = if trx_id.is_some() { offsets.n_fields() } else { 0 };
    std::iter::from_fn(move || {
        while field < n {
            let (i, range) = (field, offsets.range(field));
            field += 1;
            let omitted = if Some(i) == trx_id {
                range.start..range.start + SYS_LEN
            } else if offsets.is_external(i) {
                range.end.saturating_sub(EXTERN_REF_LEN).max(start)..range.end
            } else {
                continue;
            };
            let part = (start, omitted.start);
            start = omitted.end;
            return Some(part);
        }
        if field == n {
            field += 1;
            return Some((start, data_len));
        }
        None
    })
}

/// Moves `len` bytes from the front of `body` to `at`.
fn take(page: &mut [u8], at: usize, len: usize, body: &mut &[u8]) -> Result<()> {
    let (Some((bytes, rest)), Some(place)) = (body.split_at_checked(len), page.get_mut(at..at + len)) else {
        return Err(bad_stream(format!("{} bytes left for {len} at {at}", body.len())));
    };
    place.copy_from_slice(bytes);
    *body = rest;
    Ok(())
}

fn dense(zip: &[u8], i: usize) -> u16 {
    get_u16(zip, zip.len() - SLOT_LEN * (i + 1))
}

/// Bytes of directory, child pages and system columns.
fn trailer_len(job: &Job<'_>, n: usize) -> usize {
    n * slot_len(job.leaf, job.fields.trx_id.is_some())
}

fn slot_len(leaf: bool, clustered: bool) -> usize {
    SLOT_LEN
        + match (leaf, clustered) {
            (false, _) => CHILD_LEN,
            (true, true) => SYS_LEN,
            (true, false) => 0,
        }
}

fn check_header(zip: &[u8], page_len: usize) -> Result<()> {
    let sizes = zip.len() >= 1024 && zip.len() <= page_len && (4096..=16_384).contains(&page_len);
    if !sizes || !is_comp(zip) {
        let detail = format!("{} bytes for a page of {page_len}", zip.len());
        return Err(Corruption::new("compressed page", detail));
    }
    let (heap, live, top) = (n_heap(zip), n_recs(zip), heap_top(zip));
    // At least two bytes of directory each.
    if heap < 2 || usize::from(heap - 2) * SLOT_LEN > zip.len() - RECORDS || live > heap - 2 {
        return Err(bad_directory(format!("{live} records in a heap of {heap}")));
    }
    if top < usize::from(COMP_HEAP) || top > page_len - TRAILER_SIZE - 2 * SLOT_LEN {
        return Err(Corruption::new("heap top", format!("{top}")).at(HEAP_TOP));
    }
    Ok(())
}

/// Infimum, supremum, next pointers, info bits, owners and slots, from the dense directory.
fn rebuild_lists(zip: &[u8], page: &mut [u8]) -> Result<()> {
    let (n_live, n_dense) = (usize::from(n_recs(zip)), usize::from(n_heap(zip)) - 2);
    page[RECORDS..RECORDS + SYSTEM_RECORDS.len()].copy_from_slice(&SYSTEM_RECORDS);
    set_slot(page, 0, COMP_INFIMUM);
    let (mut before, mut group, mut n_slots) = (COMP_INFIMUM, 1u8, 1);
    for i in 0..n_live {
        let entry = dense(zip, i);
        let rec = entry & OFFSET_MASK;
        set_next(page, before, true, rec);
        let min = i == 0 && !is_leaf(zip) && is_leftmost(zip);
        let bits = if min { INFO_MIN_REC } else { 0 } | if entry & DELETED != 0 { INFO_DELETED } else { 0 };
        set_info_bits(page, rec, true, bits);
        if entry & OWNED != 0 {
            set_n_owned(page, rec, true, group);
            if n_slots >= n_dir_slots(zip) {
                return Err(bad_directory(format!("more owners than {n_slots} slots")));
            }
            set_slot(page, n_slots, rec);
            (group, n_slots) = (1, n_slots + 1);
        } else {
            set_n_owned(page, rec, true, 0);
            group += 1;
            if group > 15 {
                return Err(bad_directory(format!("{group} records without an owner")));
            }
        }
        before = rec;
    }
    set_next(page, before, true, COMP_SUPREMUM);
    set_n_owned(page, COMP_SUPREMUM, true, group);
    if n_slots + 1 != n_dir_slots(zip) || page.len() - TRAILER_SIZE - SLOT_LEN * (n_slots + 1) < heap_top(zip)
    {
        return Err(bad_directory(format!("{n_slots} owners and the supremum")).at(N_DIR_SLOTS));
    }
    set_slot(page, n_slots, COMP_SUPREMUM);
    for i in n_live..n_dense {
        let rec = dense(zip, i);
        let next = if i + 1 < n_dense { dense(zip, i + 1) } else { 0 };
        set_next(page, rec, true, next);
        set_info_bits(page, rec, true, 0);
        set_n_owned(page, rec, true, 0);
    }
    Ok(())
}

#[cold]
fn bad_directory(detail: String) -> Corruption {
    Corruption::new("dense directory", detail)
}

#[cold]
fn bad_stream(detail: String) -> Corruption {
    Corruption::new("stream of a compressed page", detail).at(RECORDS)
}

#[cold]
fn overlap(origin: usize) -> Corruption {
    Corruption::new("records of a compressed page", "they overlap").at(origin)
}

#[cold]
fn no_room() -> Corruption {
    Corruption::new("trailer of a compressed page", "it runs into the modification log")
}
