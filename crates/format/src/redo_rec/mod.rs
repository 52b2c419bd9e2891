//! Redo records: types, lengths, mini-transactions.
//!
//! The log, without block headers and trailers, is a sequence of mini-transactions. One of a single record has bit
//! 7 of its type byte set; one of several ends with MULTI_REC_END and is applied as a whole or not at all.
//!
//! | part | bytes |
//! |---|---|
//! | type | u8, bit 7: only record of its mini-transaction |
//! | space id, page number | compressed u32 each; absent for MULTI_REC_END and DUMMY |
//! | body | by type, see [`RecType`] |
//!
//! *index* in the bodies below is described in [`index`]; *sysvals* is a compressed position, 7 bytes of roll
//! pointer and a compressed u64 transaction id. Numbers in pairs are REDUNDANT / COMPACT; only the second has an
//! index part.
//!
//! | module | holds |
//! |---|---|
//! | [`index`] | the index part |
//! | [`encode`] | writing records that do not depend on the row format |
//! | [`apply`] | applying them |
//!
//! # Invariants
//! - I1: [`parse`] finds the exact length of every type without looking at any page.
//! - I2: nothing here allocates: recovery parses every byte of the log through this module. The walk from one
//!   record to the next is inlined by force, which doubles its speed (a result of 56 bytes stays in registers).

pub mod apply;
pub mod encode;
pub mod index;

pub use apply::apply_simple;
pub use index::{FieldLen, RedoField, RedoIndex};

use vaquita_base::codec::{Reader, Truncated};
use vaquita_base::{PageId, PageNo, SpaceId};

use crate::{Corruption, Result};

/// Bit of the type byte: the record is a mini-transaction by itself.
pub const SINGLE_RECORD: u8 = 0x80;

macro_rules! rec_types {
    ($($(#[$doc:meta])* $name:ident = $n:literal,)*) => {
        /// Type of a redo record.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum RecType {
            $($(#[$doc])* $name = $n,)*
        }

        impl RecType {
            /// Every type.
            pub const ALL: &[RecType] = &[$(RecType::$name),*];

            /// The type of a number, the single-record bit taken off.
            #[inline]
            pub const fn from_u8(n: u8) -> Option<RecType> {
                match n {
                    $($n => Some(RecType::$name),)*
                    _ => None,
                }
            }
        }
    };
}

rec_types! {
    /// u16 offset, compressed value: one byte.
    Bytes1 = 1,
    /// u16 offset, compressed value: two bytes.
    Bytes2 = 2,
    /// u16 offset, compressed value: four bytes.
    Bytes4 = 4,
    /// u16 offset, compressed u64: eight bytes.
    Bytes8 = 8,
    /// u16 cursor record; compressed e; if e is odd: info byte, compressed origin, compressed mismatch; e/2 bytes.
    RecInsert = 9,
    /// flags, value, sysvals, u16 offset.
    RecClustDeleteMark = 10,
    /// value, u16 offset.
    RecSecDeleteMark = 11,
    /// flags, sysvals, u16 offset, info bits, compressed n, n times: compressed field, compressed length or NULL, bytes.
    RecUpdateInPlace = 13,
    /// u16 offset.
    RecDelete = 14,
    /// u16 offset.
    ListEndDelete = 15,
    /// u16 offset.
    ListStartDelete = 16,
    /// u32 length, inserts without cursor offset.
    ListEndCopyCreated = 17,
    /// Empty body.
    PageReorganize = 18,
    /// Empty body.
    PageCreate = 19,
    /// u16 length, undo record body.
    UndoInsert = 20,
    /// Empty body.
    UndoEraseEnd = 21,
    /// Compressed kind.
    UndoInit = 22,
    /// Empty body.
    UndoHdrDiscard = 23,
    /// Compressed u64 transaction id.
    UndoHdrReuse = 24,
    /// Compressed u64 transaction id.
    UndoHdrCreate = 25,
    /// u16 offset.
    RecMinMark = 26,
    /// Empty body.
    IbufBitmapInit = 27,
    /// Empty body: the page becomes zeros with its numbers.
    InitFilePage = 29,
    /// u16 offset, u16 length, bytes.
    WriteString = 30,
    /// End of a mini-transaction of several records.
    MultiRecEnd = 31,
    /// Filler.
    Dummy = 32,
    /// u16 length, name with NUL.
    FileCreate = 33,
    /// u16 length, old name with NUL, the same of the new name.
    FileRename = 34,
    /// u16 length, name with NUL.
    FileDelete = 35,
    /// u16 offset.
    CompRecMinMark = 36,
    /// Empty body.
    CompPageCreate = 37,
    /// As [`RecType::RecInsert`], after the index.
    CompRecInsert = 38,
    /// As [`RecType::RecClustDeleteMark`], after the index.
    CompRecClustDeleteMark = 39,
    /// As [`RecType::RecSecDeleteMark`], after the index; obsolete.
    CompRecSecDeleteMark = 40,
    /// As [`RecType::RecUpdateInPlace`], after the index.
    CompRecUpdateInPlace = 41,
    /// As [`RecType::RecDelete`], after the index.
    CompRecDelete = 42,
    /// As [`RecType::ListEndDelete`], after the index.
    CompListEndDelete = 43,
    /// As [`RecType::ListStartDelete`], after the index.
    CompListStartDelete = 44,
    /// As [`RecType::ListEndCopyCreated`], after the index.
    CompListEndCopyCreated = 45,
    /// Index alone.
    CompPageReorganize = 46,
    /// u32 space flags, u16 length, name with NUL; the page number is 1 for a temporary table.
    FileCreate2 = 47,
    /// u16 page offset, u16 compressed page offset, 4 bytes.
    ZipWriteNodePtr = 48,
    /// u16 page offset, u16 compressed page offset, 20 bytes.
    ZipWriteBlobPtr = 49,
    /// u8 offset, u8 length, bytes.
    ZipWriteHeader = 50,
    /// u16 size, u16 trailer size, previous and next page, size bytes from offset 24, trailer bytes.
    ZipPageCompress = 51,
    /// Index, compression level.
    ZipPageCompressNoData = 52,
    /// Index, compression level.
    ZipPageReorganize = 53,
}

impl RecType {
    /// The stored number.
    #[inline]
    pub const fn as_u8(self) -> u8 {
        self as u8
    }

    /// Whether the record names a page: all but the two markers.
    #[inline]
    pub const fn has_page(self) -> bool {
        !matches!(self, RecType::MultiRecEnd | RecType::Dummy)
    }

    /// Whether the record is about a file, not about the page it names.
    #[inline]
    pub const fn is_file(self) -> bool {
        use RecType::*;
        matches!(self, FileCreate | FileRename | FileDelete | FileCreate2)
    }

    /// Whether [`apply_simple`] applies it.
    #[inline]
    pub const fn is_simple(self) -> bool {
        use RecType::*;
        matches!(
            self,
            Bytes1
                | Bytes2
                | Bytes4
                | Bytes8
                | WriteString
                | InitFilePage
                | IbufBitmapInit
                | UndoInsert
                | UndoEraseEnd
                | UndoInit
                | UndoHdrReuse
                | UndoHdrCreate
        )
    }

    /// Whether the body begins with an index part.
    #[inline]
    pub const fn has_index(self) -> bool {
        use RecType::*;
        matches!(
            self,
            CompRecInsert
                | CompRecClustDeleteMark
                | CompRecSecDeleteMark
                | CompRecUpdateInPlace
                | CompRecDelete
                | CompListEndDelete
                | CompListStartDelete
                | CompListEndCopyCreated
                | CompPageReorganize
                | ZipPageCompressNoData
                | ZipPageReorganize
        )
    }
}

/// A record in a run of log bytes; offsets count from the start of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// Type.
    pub ty: RecType,
    /// Whether it is a mini-transaction by itself.
    pub single: bool,
    /// The page it changes; 0:0 for the markers.
    pub page: PageId,
    /// Offset of the type byte.
    pub start: usize,
    /// Offset of the body.
    pub body_start: usize,
    /// Offset of the byte behind the record.
    pub end: usize,
}

impl Record {
    /// The body.
    ///
    /// # Panics
    /// If `run` is not the run the record was parsed from.
    #[inline]
    pub fn body<'a>(&self, run: &'a [u8]) -> &'a [u8] {
        &run[self.body_start..self.end]
    }

    /// Bytes of the whole record.
    #[inline]
    pub fn total_len(&self) -> usize {
        self.end - self.start
    }
}

/// What stands at a place of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parsed {
    /// A whole record.
    Record(Record),
    /// The run ends within a record.
    Incomplete,
}

/// Parses the record at the start of `run`.
///
/// # Errors
/// [`Corruption`] naming a type byte that is no type.
#[inline]
pub fn parse(run: &[u8]) -> Result<Parsed> {
    parse_at(run, 0)
}

/// Parses the record at `start` of `run`.
///
/// # Errors
/// [`Corruption`] naming a type byte that is no type.
///
/// # Panics
/// If `start` lies behind the end of `run`.
#[inline(always)]
pub fn parse_at(run: &[u8], start: usize) -> Result<Parsed> {
    let rest = &run[start..];
    let Some(&byte) = rest.first() else { return Ok(Parsed::Incomplete) };
    let Some(ty) = RecType::from_u8(byte & !SINGLE_RECORD) else {
        return Err(unknown_type(byte, start));
    };
    Ok(match lengths(ty, rest) {
        Err(Truncated { .. }) => Parsed::Incomplete,
        Ok((page, body, end)) => Parsed::Record(Record {
            ty,
            single: byte & SINGLE_RECORD != 0,
            page,
            start,
            body_start: start + body,
            end: start + end,
        }),
    })
}

#[cold]
fn unknown_type(byte: u8, at: usize) -> Corruption {
    Corruption::new("redo record type", format!("{byte:#04x} is no type")).at(at)
}

/// Page, start of the body and end of the record that begins `rest`.
#[inline(always)]
fn lengths(ty: RecType, rest: &[u8]) -> std::result::Result<(PageId, usize, usize), Truncated> {
    if !ty.has_page() {
        return Ok((PageId::from_u64(0), 1, 1));
    }
    let r = &mut Reader::new(rest);
    r.skip(1)?;
    let space = SpaceId(r.compressed()?);
    let page = PageId::new(space, PageNo(r.compressed()?));
    let body = r.pos();
    skip_body(ty, r)?;
    Ok((page, body, r.pos()))
}

#[inline(always)]
fn skip_body(ty: RecType, r: &mut Reader<'_>) -> std::result::Result<(), Truncated> {
    use RecType::*;
    if ty.has_index() {
        skip_index(r)?;
    }
    match ty {
        MultiRecEnd | Dummy | PageCreate | CompPageCreate | PageReorganize | CompPageReorganize => {}
        UndoEraseEnd | UndoHdrDiscard | IbufBitmapInit | InitFilePage => {}
        Bytes1 | Bytes2 | Bytes4 => {
            r.skip(2)?;
            r.compressed()?;
        }
        Bytes8 => {
            r.skip(2)?;
            r.u64_compressed()?;
        }
        RecInsert | CompRecInsert => {
            r.skip(2)?;
            skip_insert(r)?;
        }
        RecClustDeleteMark | CompRecClustDeleteMark => {
            r.skip(2)?;
            skip_sysvals(r)?;
            r.skip(2)?;
        }
        RecSecDeleteMark | CompRecSecDeleteMark => r.skip(3)?,
        RecUpdateInPlace | CompRecUpdateInPlace => {
            r.skip(1)?;
            skip_sysvals(r)?;
            r.skip(3)?;
            skip_updates(r)?;
        }
        RecDelete | CompRecDelete | ListEndDelete | CompListEndDelete | ListStartDelete
        | CompListStartDelete | RecMinMark | CompRecMinMark => r.skip(2)?,
        ListEndCopyCreated | CompListEndCopyCreated => {
            let len = r.u32()?;
            r.skip(len as usize)?;
        }
        UndoInsert | FileCreate | FileDelete => skip_short(r)?,
        UndoInit => {
            r.compressed()?;
        }
        UndoHdrReuse | UndoHdrCreate => {
            r.u64_compressed()?;
        }
        WriteString => {
            r.skip(2)?;
            skip_short(r)?;
        }
        FileRename => {
            skip_short(r)?;
            skip_short(r)?;
        }
        FileCreate2 => {
            r.skip(4)?;
            skip_short(r)?;
        }
        ZipWriteNodePtr => r.skip(8)?,
        ZipWriteBlobPtr => r.skip(24)?,
        ZipWriteHeader => {
            r.skip(1)?;
            let len = r.u8()?;
            r.skip(len.into())?;
        }
        ZipPageCompress => {
            let (size, trailer) = (r.u16()?, r.u16()?);
            r.skip(8 + usize::from(size) + usize::from(trailer))?;
        }
        ZipPageCompressNoData | ZipPageReorganize => r.skip(1)?,
    }
    Ok(())
}

#[inline]
fn skip_index(r: &mut Reader<'_>) -> std::result::Result<(), Truncated> {
    let n = r.u16()?;
    let n_fields = usize::from(n & !index::VERSIONS);
    let versions = if n & index::VERSIONS == 0 { 0 } else { 1 + 2 * n_fields };
    r.skip(2 + 2 * n_fields + versions)
}

#[inline]
fn skip_sysvals(r: &mut Reader<'_>) -> std::result::Result<(), Truncated> {
    r.compressed()?;
    r.skip(7)?;
    r.u64_compressed()?;
    Ok(())
}

/// An inserted record, behind the cursor offset.
#[inline]
fn skip_insert(r: &mut Reader<'_>) -> std::result::Result<(), Truncated> {
    let e = r.compressed()?;
    if e & 1 != 0 {
        r.skip(1)?;
        r.compressed()?;
        r.compressed()?;
    }
    r.skip((e >> 1) as usize)
}

#[inline]
fn skip_updates(r: &mut Reader<'_>) -> std::result::Result<(), Truncated> {
    const NULL: u32 = u32::MAX;
    for _ in 0..r.compressed()? {
        r.compressed()?;
        match r.compressed()? {
            NULL => {}
            len => r.skip(len as usize)?,
        }
    }
    Ok(())
}

/// A u16 length and as many bytes.
#[inline]
fn skip_short(r: &mut Reader<'_>) -> std::result::Result<(), Truncated> {
    let len = r.u16()?;
    r.skip(len.into())
}

/// A whole mini-transaction at the start of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Group {
    /// Bytes, the end marker included.
    pub len: usize,
    /// Records, the markers not counted.
    pub n_records: usize,
}

/// Finds the end of the mini-transaction at the start of `run`; `None` if the run ends before it does. A filler
/// byte counts as a mini-transaction without records.
///
/// # Errors
/// [`Corruption`] for an unknown type, or for a single-record mini-transaction within another.
pub fn next_group(run: &[u8]) -> Result<Option<Group>> {
    let mut n_records = 0;
    let end = walk_group(run, |_| n_records += 1)?;
    Ok(end.map(|len| Group { len, n_records }))
}

/// As [`next_group`], with the records: they are put into `records`, which is cleared before. One pass, and no
/// allocation once `records` has grown.
///
/// # Errors
/// As [`next_group`]; `records` then holds those before the fault.
pub fn parse_group(run: &[u8], records: &mut Vec<Record>) -> Result<Option<usize>> {
    records.clear();
    walk_group(run, |record| records.push(record))
}

/// The records of a mini-transaction that [`next_group`] found to be whole: `run` is cut to its length.
pub fn group_records(run: &[u8]) -> impl Iterator<Item = Result<Record>> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < run.len() {
            match parse_at(run, at) {
                Ok(Parsed::Record(record)) => {
                    at = record.end;
                    if record.ty.has_page() {
                        return Some(Ok(record));
                    }
                }
                Ok(Parsed::Incomplete) => {
                    let err = Corruption::new("redo group", "ends within a record").at(at);
                    at = run.len();
                    return Some(Err(err));
                }
                Err(e) => {
                    at = run.len();
                    return Some(Err(e));
                }
            }
        }
        None
    })
}

/// Passes each record of the first mini-transaction to `f` and gives its length.
#[inline]
fn walk_group(run: &[u8], mut f: impl FnMut(Record)) -> Result<Option<usize>> {
    let mut at = 0;
    loop {
        let Parsed::Record(record) = parse_at(run, at)? else { return Ok(None) };
        match record.ty {
            RecType::MultiRecEnd => return Ok(Some(record.end)),
            RecType::Dummy if at == 0 => return Ok(Some(record.end)),
            RecType::Dummy => {}
            _ if record.single && at != 0 => {
                let detail = format!("{:?} within a group of several records", record.ty);
                return Err(Corruption::new("redo group", detail).at(at));
            }
            _ => {
                f(record);
                if record.single {
                    return Ok(Some(record.end));
                }
            }
        }
        at = record.end;
    }
}

#[cfg(test)]
mod tests;
