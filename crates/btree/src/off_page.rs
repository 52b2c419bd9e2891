//! Values that are too long for a page: chains of pages in the leaf segment, referred to from the record.
//!
//! A record may fill half a page at most. If it is longer, its longest values move off the page one after the other until
//! it fits ([`choose`]): REDUNDANT and COMPACT keep the first 768 bytes in the record, DYNAMIC none; then come 20
//! bytes that say where the rest is ([`ExternRef`]).
//!
//! | page offset | size | page of a value (type BLOB) |
//! |---|---|---|
//! | 8, 12 | 4 + 4 | FIL prev and next: none |
//! | 38 | 4 | bytes on this page |
//! | 42 | 4 | next page, or none |
//! | 46 | | the bytes; all pages but the last are full |
//!
//! # Invariants
//! - I1: a chain has one owner among the records that refer to it; only through the owner are its pages freed.
//! - I2: a chain does not change once a record refers to it. Another value gets another chain.
//!
//! # Latching
//! Writing holds the last page of the chain, then page 0, then the new page; nobody else knows the pages. Reading
//! holds one page at a time, and not the record: who reads must know that the record's version cannot be purged.
//! Freeing through a record holds the leaf, then pages of the chain, then page 0.
//!
//! # Crash
//! There are two orders. [`Tree::store`] writes chains before the record that refers to them: a crash in between leaks
//! pages of the segment, and never leaves a record whose value is missing. Whoever can take a record back afterwards
//! uses [`Tree::prepare`] and [`Tree::write_value`]: the record comes first, with references of zeros; the first page
//! of a chain and the reference to it are made in one mini-transaction, and the reference's length is 0 until the last
//! page is there. So at any moment the record leads to all there is. A chain is freed before its record
//! is removed, a few pages at a time; the record's reference moves along in the same mini-transaction, so that whoever
//! comes back can go on.

use crate::descent::RecordRef;
use crate::error::{Error, Result};
use crate::ops;
use crate::rec_buf::RecBuf;
use crate::tree::{LatchMode, Tree};
use std::ops::ControlFlow;
use vaquita_base::codec::get_u32;
use vaquita_base::{PageId, PageNo};
use vaquita_format::fil::{self, PageType};
use vaquita_format::index_def::{IndexDef, IndexKind};
use vaquita_format::index_page::SearchMode;
use vaquita_format::record::{EXTERN_REF_LEN, ExternRef, Offsets, encoded_size};
use vaquita_format::tuple::{Tuple, TupleField};
use vaquita_storage::fsp::{self, Direction, Reservation};
use vaquita_storage::{Mtr, PageRef, Storage};

/// What is left in the space for others when a value is written.
const ROOM: Option<Reservation> = Some(Reservation::Normal);
/// Offset of the number of bytes on a page of a value.
const PART_LEN: usize = fil::BODY;
/// Offset of the next page's number.
const NEXT_PAGE: usize = fil::BODY + 4;
/// Where the bytes start.
const DATA: usize = fil::BODY + 8;
/// Values of at most this many bytes never move off the page.
const STAYS_MAX: usize = 2 * EXTERN_REF_LEN;

/// Bytes of a value on a full page.
pub fn page_capacity(page_len: usize) -> usize {
    page_len - DATA - fil::TRAILER_SIZE
}

/// Bytes of a record from which no value has to move off the page.
fn stays_max(index: &IndexDef) -> usize {
    index.rec_size_max().min(index.zip_rec_size_max().unwrap_or(usize::MAX))
}

/// Chooses the fields of a leaf tuple that move off the page, in index order; none if the record fits.
///
/// # Errors
/// [`Error::RecordTooBig`] if it does not fit whatever moves.
pub fn choose(index: &IndexDef, tuple: &Tuple<'_>) -> Result<Vec<usize>> {
    let max = stays_max(index);
    let size_of = |t: &Tuple<'_>| encoded_size(index.layout(), t).total();
    let size = size_of(tuple);
    if size <= max {
        return Ok(Vec::new());
    }
    let prefix = index.row_format().off_page_prefix() as usize;
    let local = vec![0; prefix + EXTERN_REF_LEN];
    let mut fields = tuple.fields().to_vec();
    let mut moved = Vec::new();
    loop {
        let candidate = (index.n_uniq()..fields.len())
            .filter(|&i| index.kind() != IndexKind::Secondary && may_move(index, i, &fields[i], local.len()))
            // Of equal lengths the first one: max_by_key would take the last.
            .rev()
            .max_by_key(|&i| fields[i].data.map_or(0, <[u8]>::len));
        let Some(i) = candidate else { return Err(Error::RecordTooBig { size, max }) };
        fields[i] = TupleField::external(&local);
        moved.push(i);
        if size_of(&Tuple::new(&fields)) <= max {
            moved.sort_unstable();
            return Ok(moved);
        }
    }
}

fn may_move(index: &IndexDef, i: usize, field: &TupleField<'_>, local_len: usize) -> bool {
    let Some(data) = field.data else { return false };
    let def = &index.fields()[i];
    !field.external
        && def.fixed_len == 0
        && data.len() > local_len
        && data.len() > STAYS_MAX
        && def.column.is_big()
}

/// A record some of whose values have been written off the page. Until it is inserted, nothing refers to the chains:
/// [`Stored::abandon`] frees them.
#[derive(Debug)]
pub struct Stored {
    /// The record.
    pub record: RecBuf,
    chains: Vec<ExternRef>,
}

impl Stored {
    /// The chains written.
    pub fn chains(&self) -> &[ExternRef] {
        &self.chains
    }

    /// Frees the chains, because the record will not be inserted.
    ///
    /// # Errors
    /// Errors of reading pages, damage; what is not freed then is leaked.
    pub fn abandon(self, tree: &Tree, storage: &Storage) -> Result<()> {
        self.chains.iter().try_for_each(|chain| tree.free_chain(storage, chain))
    }
}

impl Tree {
    /// Encodes a leaf tuple none of whose values has to move off the page; false if one has.
    ///
    /// # Errors
    /// [`Error::RecordTooBig`], for the node pointer that a split may make of it.
    ///
    /// # Panics
    /// As [`RecBuf::of`].
    pub(crate) fn encode_whole(&self, tuple: &Tuple<'_>, record: &mut RecBuf) -> Result<bool> {
        let size = encoded_size(self.index.layout(), tuple);
        if size.total() > stays_max(&self.index) {
            return Ok(false);
        }
        record.set_sized(&self.index, tuple, size)?;
        Ok(true)
    }

    /// The record of a leaf tuple, whose longest values are written to chains first if it is too long.
    ///
    /// # Errors
    /// [`Error::RecordTooBig`], no space, errors of reading pages, damage. What was written is freed then as far as
    /// possible.
    ///
    /// # Latching
    /// The caller holds no latch: this takes mini-transactions of its own.
    ///
    /// # Panics
    /// If the tuple does not have the fields of the index.
    pub fn store(&self, storage: &Storage, tuple: &Tuple<'_>) -> Result<Stored> {
        self.store_in(storage, tuple, ROOM)
    }

    /// The same; `room` is what is to be left in the space for others, if anything.
    pub(crate) fn store_in(
        &self,
        storage: &Storage,
        tuple: &Tuple<'_>,
        room: Option<Reservation>,
    ) -> Result<Stored> {
        let mut stored = Stored { record: RecBuf::new(), chains: Vec::new() };
        if self.encode_whole(tuple, &mut stored.record)? {
            return Ok(stored);
        }
        let moved = choose(&self.index, tuple)?;
        let prefix = self.index.row_format().off_page_prefix() as usize;
        let mut locals: Vec<Vec<u8>> = Vec::with_capacity(moved.len());
        for &i in &moved {
            let data = tuple.fields()[i].data.expect("NULL does not move");
            let (local, rest) = data.split_at(prefix);
            match self.write_chain_in(storage, rest, room) {
                Ok(chain) => {
                    locals.push([local, &chain.to_bytes()].concat());
                    stored.chains.push(chain);
                }
                Err(e) => {
                    // The error that counts is the first one; what cannot be freed is leaked.
                    let _leaked = stored.abandon(self, storage);
                    return Err(e);
                }
            }
        }
        let mut fields = tuple.fields().to_vec();
        for (&i, local) in moved.iter().zip(&locals) {
            fields[i] = TupleField::external(local);
        }
        let tuple = Tuple::new(&fields).with_info_bits(tuple.info_bits());
        match stored.record.set(&self.index, &tuple) {
            Ok(()) => Ok(stored),
            Err(e) => {
                let _leaked = stored.abandon(self, storage);
                Err(e)
            }
        }
    }

    /// The record of a leaf tuple, and which fields are to be written off the page once it is in the tree, with
    /// [`Tree::write_value`]: their references are zeros for now.
    ///
    /// # Errors
    /// [`Error::RecordTooBig`].
    ///
    /// # Panics
    /// If the tuple does not have the fields of the index.
    pub fn prepare(&self, tuple: &Tuple<'_>) -> Result<(RecBuf, Vec<usize>)> {
        let mut record = RecBuf::new();
        if self.encode_whole(tuple, &mut record)? {
            return Ok((record, Vec::new()));
        }
        let moved = choose(&self.index, tuple)?;
        let prefix = self.index.row_format().off_page_prefix() as usize;
        let local = |i: &usize| {
            let data = tuple.fields()[*i].data.expect("NULL does not move");
            [&data[..prefix], &[0; EXTERN_REF_LEN]].concat()
        };
        let locals: Vec<Vec<u8>> = moved.iter().map(local).collect();
        let mut fields = tuple.fields().to_vec();
        for (&i, local) in moved.iter().zip(&locals) {
            fields[i] = TupleField::external(local);
        }
        Ok((self.record(&Tuple::new(&fields).with_info_bits(tuple.info_bits()))?, moved))
    }

    /// Writes the value of a field, all of it given, that the record with this key has a reference of zeros for; `false`
    /// if there is no such record, or none that `is_it` wants.
    ///
    /// # Errors
    /// No space, errors of reading pages, damage. The record's reference leads to what has been written.
    ///
    /// # Latching
    /// The caller holds no latch. Takes mini-transactions of its own: the leaf, then page 0, then the first page.
    pub fn write_value(
        &self,
        storage: &Storage,
        key: &Tuple<'_>,
        (field, value): (usize, &[u8]),
        is_it: impl Fn(&RecordRef<'_>) -> bool,
    ) -> Result<bool> {
        let prefix = self.index.row_format().off_page_prefix() as usize;
        assert!(
            value.len() > prefix,
            "a value of {} bytes has nothing behind its first {prefix}",
            value.len()
        );
        let rest = &value[prefix..];
        let len = u32::try_from(rest.len()).expect("lengths of values have 32 bits");
        let capacity = page_capacity(storage.pool().page_len());
        let (first, others) = rest.split_at(rest.len().min(capacity));
        let mut mtr = storage.begin()?;
        mtr.keep_before_images();
        let Some((leaf, at)) = self.reference_at(&mut mtr, key, field, &is_it)? else { return Ok(false) };
        let page = self.create_part(&mut mtr, self.root, first, ROOM)?;
        let mut last = mtr.id(page).page_no;
        let chain = ExternRef {
            space: self.space,
            page_no: last,
            offset: fil::BODY as u32,
            owner: true,
            inherited: false,
            len: if others.is_empty() { len } else { 0 },
        };
        mtr.write_bytes(leaf, at, &chain.to_bytes());
        mtr.commit();
        if others.is_empty() {
            return Ok(true);
        }
        for part in others.chunks(capacity) {
            last = self.append_part(storage, Some(last), part, ROOM)?;
        }
        let mut mtr = storage.begin()?;
        let Some((leaf, at)) = self.reference_at(&mut mtr, key, field, &is_it)? else { return Ok(false) };
        mtr.write_u32(leaf, at + 16, len);
        mtr.commit();
        Ok(true)
    }

    /// Where the reference of a field of the record with a key lies: the leaf, latched exclusively, and the offset.
    fn reference_at(
        &self,
        mtr: &mut Mtr<'_>,
        key: &Tuple<'_>,
        field: usize,
        is_it: impl Fn(&RecordRef<'_>) -> bool,
    ) -> Result<Option<(PageRef, usize)>> {
        let n = self.index.n_uniq_in_tree();
        let key = key.compare_first(n);
        let position = self.search(mtr, &key, SearchMode::LessOrEqual, LatchMode::Exclusive)?;
        if usize::from(position.found().low_matched) < n {
            return Ok(None);
        }
        let (leaf, rec) = (position.page(), position.found().low);
        let record = RecordRef { page: mtr.page(leaf), page_id: mtr.id(leaf), rec };
        if !is_it(&record) {
            return Ok(None);
        }
        let mut offsets = Offsets::new();
        record.parse(&self.index, &mut offsets)?;
        if field >= offsets.n_fields() || !offsets.is_external(field) {
            return Err(self.bad_chain(record.page_id, format!("field {field} has no reference")));
        }
        let end = usize::from(rec) + offsets.range(field).end;
        Ok(Some((leaf, end - EXTERN_REF_LEN)))
    }

    /// Writes a value to a new chain; the reference of its owner.
    ///
    /// # Errors
    /// No space, errors of reading pages, damage. What was written is freed then as far as possible.
    ///
    /// # Panics
    /// If the value is empty or longer than 4 GiB.
    pub fn write_chain(&self, storage: &Storage, value: &[u8]) -> Result<ExternRef> {
        self.write_chain_in(storage, value, ROOM)
    }

    fn write_chain_in(
        &self,
        storage: &Storage,
        value: &[u8],
        room: Option<Reservation>,
    ) -> Result<ExternRef> {
        let len = u32::try_from(value.len()).expect("lengths of values have 32 bits");
        assert!(len > 0, "an empty value stays in its record");
        let capacity = page_capacity(storage.pool().page_len());
        let mut chain = ExternRef {
            space: self.space,
            page_no: PageNo::NULL,
            offset: fil::BODY as u32,
            owner: true,
            inherited: false,
            len,
        };
        let mut last = None;
        for part in value.chunks(capacity) {
            match self.append_part(storage, last, part, room) {
                Ok(page) => {
                    if last.is_none() {
                        chain.page_no = page;
                    }
                    last = Some(page);
                }
                Err(e) => {
                    if last.is_some() {
                        let _leaked = self.free_chain(storage, &chain);
                    }
                    return Err(e);
                }
            }
        }
        Ok(chain)
    }

    /// Writes one page of a chain and links it behind `last`.
    fn append_part(
        &self,
        storage: &Storage,
        last: Option<PageNo>,
        part: &[u8],
        room: Option<Reservation>,
    ) -> Result<PageNo> {
        let mut mtr = storage.begin()?;
        mtr.keep_before_images();
        let before = match last {
            Some(last) => Some(mtr.get_exclusive(self.page_id(last))?),
            None => None,
        };
        let hint = last.map_or(self.root, |last| PageNo(last.get() + 1));
        let page = self.create_part(&mut mtr, hint, part, room)?;
        let page_no = mtr.id(page).page_no;
        if let Some(before) = before {
            mtr.write_u32(before, NEXT_PAGE, page_no.get());
        }
        mtr.commit();
        Ok(page_no)
    }

    /// Makes a page with a part of a value.
    fn create_part(
        &self,
        mtr: &mut Mtr<'_>,
        hint: PageNo,
        part: &[u8],
        room: Option<Reservation>,
    ) -> Result<PageRef> {
        let capacity = page_capacity(mtr.storage().pool().page_len());
        debug_assert!((1..=capacity).contains(&part.len()), "a part of {} bytes", part.len());
        if let Some(room) = room {
            fsp::reserve_free_extents(mtr, self.space, 1, room)?;
        }
        let page = fsp::create_page(mtr, self.leaf_segment, hint, Direction::None)?;
        mtr.write_u16(page, fil::TYPE, PageType::Blob.as_u16());
        ops::set_prev(mtr, page, PageNo::NULL);
        ops::set_next(mtr, page, PageNo::NULL);
        mtr.write_u32(page, PART_LEN, part.len() as u32);
        mtr.write_u32(page, NEXT_PAGE, PageNo::NULL.get());
        mtr.write_bytes(page, DATA, part);
        self.stats().off_page_pages.add(1);
        Ok(page)
    }

    /// Hands the bytes of a chain to `sink`, part by part, until it breaks.
    ///
    /// # Errors
    /// Errors of reading pages; damage, if the chain is shorter or longer than the reference says.
    ///
    /// # Latching
    /// `sink` runs under the shared latch of one page of the chain.
    pub fn read_chain(
        &self,
        storage: &Storage,
        chain: &ExternRef,
        mut sink: impl FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<()> {
        let mut left = chain.len as usize;
        let mut at = chain.page_no.some();
        let mut offset = chain.offset as usize;
        while let Some(page_no) = at {
            let id = PageId::new(chain.space, page_no);
            let page = storage.pool().get_shared(id)?;
            let (part, next) = self.part(id, &page, offset)?;
            if part.len() > left {
                return Err(
                    self.bad_chain(id, format!("longer than the {} bytes of its reference", chain.len))
                );
            }
            left -= part.len();
            if sink(part).is_break() {
                return Ok(());
            }
            if left == 0 {
                return match next {
                    None => Ok(()),
                    Some(next) => Err(self.bad_chain(id, format!("goes on at page {next} after its end"))),
                };
            }
            (at, offset) = (next, fil::BODY);
        }
        let id = PageId::new(chain.space, chain.page_no);
        Err(self.bad_chain(id, format!("ends {left} bytes before its end")))
    }

    /// Appends the value of an external field, local prefix and off-page rest, to `out`. Of a value that is just being
    /// written, which only a reader sees that looks at what is not committed, the local prefix.
    ///
    /// # Errors
    /// As [`Tree::read_chain`].
    pub fn read_value(&self, storage: &Storage, local: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let root = self.page_id(self.root);
        let chain = self.checked(root, ExternRef::of_field(local))?;
        out.extend_from_slice(&local[..local.len() - EXTERN_REF_LEN]);
        match chain {
            Some(chain) if chain.len > 0 || chain.page_no.is_null() => {
                self.read_chain(storage, &chain, |part| {
                    out.extend_from_slice(part);
                    ControlFlow::Continue(())
                })
            }
            _ => Ok(()),
        }
    }

    /// The bytes of one page of a chain, and the page behind.
    pub(crate) fn part<'p>(
        &self,
        id: PageId,
        page: &'p [u8],
        offset: usize,
    ) -> Result<(&'p [u8], Option<PageNo>)> {
        if fil::raw_type(page) != PageType::Blob.as_u16() {
            return Err(self.bad_chain(id, format!("page type {}", fil::raw_type(page))));
        }
        let start = offset.saturating_add(8);
        if start > page.len() - fil::TRAILER_SIZE {
            return Err(self.bad_chain(id, format!("starts at byte {offset}")));
        }
        let len = get_u32(page, offset) as usize;
        let next = PageNo(get_u32(page, offset + 4)).some();
        if len == 0 || len > page.len() - fil::TRAILER_SIZE - start {
            return Err(self.bad_chain(id, format!("{len} bytes on a page")));
        }
        Ok((&page[start..start + len], next))
    }

    #[cold]
    pub(crate) fn bad_chain(&self, id: PageId, detail: String) -> Error {
        ops::bad(id, &self.index, "chain of an off-page value", detail)
    }

    /// The references of a record that have been written: field, offset in the page, reference.
    ///
    /// # Errors
    /// Damage.
    pub fn external_refs(&self, record: &RecordRef<'_>) -> Result<Vec<(usize, usize, ExternRef)>> {
        let mut offsets = Offsets::new();
        record.parse(&self.index, &mut offsets)?;
        let mut out = Vec::new();
        if !offsets.any_external() {
            return Ok(out);
        }
        for i in (0..offsets.n_fields()).filter(|&i| offsets.is_external(i)) {
            let local = record.field(&offsets, i).unwrap_or_default();
            let at = usize::from(record.rec) + offsets.range(i).end;
            if let Some(chain) = self.checked(record.page_id, ExternRef::of_field(local))? {
                out.push((i, at - EXTERN_REF_LEN, chain));
            }
        }
        Ok(out)
    }

    /// Whether a record can be stored at all: what does not fit moves off the page.
    ///
    /// # Errors
    /// [`Error::RecordTooBig`].
    pub fn check_size(&self, tuple: &Tuple<'_>) -> Result<()> {
        choose(&self.index, tuple).map(|_| ())
    }
}
