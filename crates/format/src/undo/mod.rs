//! Undo pages: page header, segment header, log headers, XIDs, and the edits that redo records name.
//!
//! | off | size | field |
//! |---|---|---|
//! | 38 | 2 | type: 1 INSERT, 2 UPDATE |
//! | 40 | 2 | first record of the newest log on this page |
//! | 42 | 2 | first free byte |
//! | 44 | 12 | node of the segment's list of pages |
//! | 56 | | records, on every page but the first of the segment |
//!
//! First page of a segment:
//!
//! | off | size | field |
//! |---|---|---|
//! | 56 | 2 | state: 1 ACTIVE, 2 CACHED, 3 TO_FREE, 4 TO_PURGE, 5 PREPARED |
//! | 58 | 2 | newest log header |
//! | 60 | 10 | segment header |
//! | 70 | 16 | base of the list of pages |
//! | 86 | | log headers and records |
//!
//! Log header:
//!
//! | + | size | field |
//! |---|---|---|
//! | 0 | 8 | transaction id |
//! | 8 | 8 | transaction number (order of commit), set when the log enters the history |
//! | 16 | 2 | purge has delete-marked records to look at |
//! | 18 | 2 | first record of the log on this page |
//! | 20 | 1 | an XID is stored |
//! | 21 | 1 | the transaction changes the dictionary |
//! | 22 | 8 | table of that change |
//! | 30 | 2 | next log header on this page, 0 for none |
//! | 32 | 2 | previous log header on this page, 0 for none |
//! | 34 | 12 | node of the history list |
//! | 46 | 140 | XID: format u32, lengths of global and branch part u32 each, 128 bytes |
//!
//! Records are described in [`record`].
//!
//! # Invariants
//! - I1: the records of a page lie back to back from its first record to the first free byte; each begins with the
//!   offset of the next and ends with its own offset, so a page is walked both ways.
//! - I2: several logs share a page only if they are short update logs on the first page of a cached segment.
//! - I3: INSERT logs are forgotten at commit, UPDATE logs enter the history list and stay until purged.

pub mod record;

use std::fmt;

use vaquita_base::codec::{get_u16, get_u32, get_u64, put_u16, put_u32, put_u64};
use vaquita_base::{PageNo, RollPtr, TableId, TrxId};

use crate::fil::{self, PageType};
use crate::flst::{ListBase, ListNode, SegmentHeader};
use crate::{Corruption, Result};

/// Offset of the page's log type.
pub const PAGE_TYPE: usize = 38;
/// Offset of the first record of the newest log on the page.
pub const PAGE_START: usize = 40;
/// Offset of the first free byte.
pub const PAGE_FREE: usize = 42;
/// Offset of the node in the segment's list of pages.
pub const PAGE_NODE: usize = 44;
/// First record of a page that is not the first of its segment.
pub const PAGE_RECORDS: usize = 56;

/// Offset of the segment's state, on its first page.
pub const SEGMENT_STATE: usize = 56;
/// Offset of the newest log header, on the segment's first page.
pub const SEGMENT_LAST_LOG: usize = 58;
/// Offset of the segment header, on the segment's first page.
pub const SEGMENT_HEADER: usize = 60;
/// Offset of the base of the list of pages, on the segment's first page.
pub const SEGMENT_PAGES: usize = 70;
/// Offset of the first log header, on the segment's first page.
pub const FIRST_LOG: usize = 86;

/// Offset of the transaction id in a log header.
pub const LOG_TRX_ID: usize = 0;
/// Offset of the transaction number in a log header.
pub const LOG_TRX_NO: usize = 8;
/// Offset of the delete marks flag in a log header.
pub const LOG_DEL_MARKS: usize = 16;
/// Offset of the first record in a log header.
pub const LOG_START: usize = 18;
/// Offset of the XID flag in a log header.
pub const LOG_XID_EXISTS: usize = 20;
/// Offset of the dictionary flag in a log header.
pub const LOG_DICT_TRANS: usize = 21;
/// Offset of the table id in a log header.
pub const LOG_TABLE_ID: usize = 22;
/// Offset of the next log header in a log header.
pub const LOG_NEXT: usize = 30;
/// Offset of the previous log header in a log header.
pub const LOG_PREV: usize = 32;
/// Offset of the history node in a log header.
pub const LOG_HISTORY_NODE: usize = 34;
/// Offset of the XID in a log header.
pub const LOG_XID: usize = 46;
/// Bytes of a log header without room for an XID.
pub const LOG_HEADER_SIZE: usize = 46;
/// Bytes of a log header with room for an XID: what MySQL 5.6 always makes.
pub const LOG_HEADER_XID_SIZE: usize = LOG_XID + XID_SIZE;
/// Bytes of an XID.
pub const XID_SIZE: usize = 12 + XID_DATA_MAX;
/// Bytes of an XID's parts together.
pub const XID_DATA_MAX: usize = 128;

const _: () = assert!(FIRST_LOG + LOG_HEADER_XID_SIZE == 272);

/// What the logs of a segment undo.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u16)]
pub enum UndoKind {
    /// Inserts: of no use after commit.
    Insert = 1,
    /// Updates and deletes: older versions and purge need them after commit.
    Update = 2,
}

impl UndoKind {
    /// The kind of a stored number.
    pub const fn from_u16(n: u16) -> Option<UndoKind> {
        match n {
            1 => Some(UndoKind::Insert),
            2 => Some(UndoKind::Update),
            _ => None,
        }
    }
}

/// State of an undo segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u16)]
pub enum SegmentState {
    /// Of a running transaction.
    Active = 1,
    /// Kept for the next transaction.
    Cached = 2,
    /// INSERT, to be freed.
    ToFree = 3,
    /// UPDATE, freed when purged.
    ToPurge = 4,
    /// Of a prepared transaction.
    Prepared = 5,
}

impl SegmentState {
    /// The state of a stored number.
    pub const fn from_u16(n: u16) -> Option<SegmentState> {
        Some(match n {
            1 => SegmentState::Active,
            2 => SegmentState::Cached,
            3 => SegmentState::ToFree,
            4 => SegmentState::ToPurge,
            5 => SegmentState::Prepared,
            _ => return None,
        })
    }
}

/// Id of a distributed transaction.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Xid {
    /// Format; FFFFFFFF is "null".
    pub format: u32,
    /// Bytes of the global part.
    pub gtrid_len: u32,
    /// Bytes of the branch part.
    pub bqual_len: u32,
    /// Both parts, one behind the other.
    pub data: [u8; XID_DATA_MAX],
}

impl Xid {
    /// Joins the parts.
    ///
    /// # Errors
    /// [`Corruption`] if a part is longer than 64 bytes.
    pub fn new(format: u32, gtrid: &[u8], bqual: &[u8]) -> Result<Self> {
        let mut data = [0; XID_DATA_MAX];
        if gtrid.len() > XID_DATA_MAX / 2 || bqual.len() > XID_DATA_MAX / 2 {
            let detail = format!("parts of {} and {} bytes", gtrid.len(), bqual.len());
            return Err(Corruption::new("XID length", detail));
        }
        data[..gtrid.len()].copy_from_slice(gtrid);
        data[gtrid.len()..gtrid.len() + bqual.len()].copy_from_slice(bqual);
        Ok(Self { format, gtrid_len: gtrid.len() as u32, bqual_len: bqual.len() as u32, data })
    }

    /// Global part.
    pub fn gtrid(&self) -> &[u8] {
        &self.data[..(self.gtrid_len as usize).min(XID_DATA_MAX)]
    }

    /// Branch part.
    pub fn bqual(&self) -> &[u8] {
        let start = (self.gtrid_len as usize).min(XID_DATA_MAX);
        &self.data[start..start.saturating_add(self.bqual_len as usize).min(XID_DATA_MAX)]
    }

    /// Reads the XID at `off`.
    ///
    /// # Errors
    /// [`Corruption`] if the lengths exceed the data.
    ///
    /// # Panics
    /// If it does not lie within `page`.
    pub fn read(page: &[u8], off: usize) -> Result<Self> {
        let mut data = [0; XID_DATA_MAX];
        data.copy_from_slice(&page[off + 12..off + XID_SIZE]);
        let xid = Self {
            format: get_u32(page, off),
            gtrid_len: get_u32(page, off + 4),
            bqual_len: get_u32(page, off + 8),
            data,
        };
        if u64::from(xid.gtrid_len) + u64::from(xid.bqual_len) > XID_DATA_MAX as u64 {
            let detail = format!("parts of {} and {} bytes", xid.gtrid_len, xid.bqual_len);
            return Err(Corruption::new("XID length", detail).at(off));
        }
        Ok(xid)
    }

    /// The stored form.
    pub fn encode(&self) -> [u8; XID_SIZE] {
        let mut out = [0; XID_SIZE];
        put_u32(&mut out, 0, self.format);
        put_u32(&mut out, 4, self.gtrid_len);
        put_u32(&mut out, 8, self.bqual_len);
        out[12..].copy_from_slice(&self.data);
        out
    }
}

impl fmt::Debug for Xid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Xid({}, {:?}, {:?})",
            self.format,
            self.gtrid().escape_ascii(),
            self.bqual().escape_ascii()
        )
    }
}

/// A log header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogHeader {
    /// Transaction.
    pub trx_id: TrxId,
    /// Order of commit, 0 before.
    pub trx_no: TrxId,
    /// Whether purge has delete-marked records to look at.
    pub del_marks: bool,
    /// First record of the log on this page.
    pub start: u16,
    /// Whether an XID is stored.
    pub xid_exists: bool,
    /// Whether the transaction changes the dictionary.
    pub dict_trans: bool,
    /// Table of that change; left over from an earlier log otherwise.
    pub table_id: TableId,
    /// Next log header on this page, 0 for none.
    pub next: u16,
    /// Previous log header on this page, 0 for none.
    pub prev: u16,
    /// Node of the history list; meaningless on logs that are not in it.
    pub history: ListNode,
}

impl LogHeader {
    /// Reads the log header at `off` of a segment's first page.
    ///
    /// # Errors
    /// [`Corruption`] if no log header can lie there, or its offsets point outside the page's records.
    pub fn read(page: &[u8], off: u16) -> Result<Self> {
        let at = usize::from(off);
        let bad =
            |field: &str, n: u16| Err(Corruption::new("undo log header", format!("{field} {n}")).at(at));
        let free = usize::from(UndoPage::new(page)?.free());
        if at < FIRST_LOG || at + LOG_HEADER_SIZE > free {
            return bad("offset", off);
        }
        let b = &page[at..];
        let header = Self {
            trx_id: TrxId(get_u64(b, LOG_TRX_ID)),
            trx_no: TrxId(get_u64(b, LOG_TRX_NO)),
            del_marks: get_u16(b, LOG_DEL_MARKS) != 0,
            start: get_u16(b, LOG_START),
            xid_exists: b[LOG_XID_EXISTS] != 0,
            dict_trans: b[LOG_DICT_TRANS] != 0,
            table_id: TableId(get_u64(b, LOG_TABLE_ID)),
            next: get_u16(b, LOG_NEXT),
            prev: get_u16(b, LOG_PREV),
            history: ListNode::read(b, LOG_HISTORY_NODE),
        };
        // A log whose head was purged, or that goes on elsewhere, starts at the first free byte or later.
        if usize::from(header.start) < at + LOG_HEADER_SIZE {
            return bad("first record", header.start);
        }
        if header.next != 0 && (header.next <= off || usize::from(header.next) + LOG_HEADER_SIZE > free) {
            return bad("next log", header.next);
        }
        if header.prev != 0 && (header.prev >= off || usize::from(header.prev) < FIRST_LOG) {
            return bad("previous log", header.prev);
        }
        Ok(header)
    }

    /// Reads the XID of the log whose header lies at `off`; `None` if none is stored.
    ///
    /// # Errors
    /// [`Corruption`] if the header or the XID is broken.
    pub fn read_xid(page: &[u8], off: u16) -> Result<Option<Xid>> {
        let header = Self::read(page, off)?;
        let at = usize::from(off) + LOG_XID;
        if !header.xid_exists {
            return Ok(None);
        }
        if usize::from(header.start) < at + XID_SIZE || page.len() < at + XID_SIZE {
            return Err(Corruption::new("undo log header", "no room for the XID it has").at(at));
        }
        Xid::read(page, at).map(Some)
    }
}

/// View of an undo page.
#[derive(Clone, Copy)]
pub struct UndoPage<'a> {
    page: &'a [u8],
}

impl<'a> UndoPage<'a> {
    /// Views a whole page.
    ///
    /// # Errors
    /// [`Corruption`] if it is too short, or the first free byte lies outside.
    pub fn new(page: &'a [u8]) -> Result<Self> {
        if page.len() < 4096 || page.len() > 1 << 16 {
            return Err(Corruption::new("page length", format!("undo page of {} bytes", page.len())));
        }
        let view = Self { page };
        let free = usize::from(view.free());
        if free < PAGE_RECORDS || free > page.len() - fil::TRAILER_SIZE {
            return Err(Corruption::new("undo page free offset", format!("{free}")).at(PAGE_FREE));
        }
        Ok(view)
    }

    /// What the logs on the page undo.
    ///
    /// # Errors
    /// [`Corruption`] for a number that is no kind.
    pub fn kind(self) -> Result<UndoKind> {
        let n = get_u16(self.page, PAGE_TYPE);
        UndoKind::from_u16(n).ok_or_else(|| Corruption::new("undo page type", format!("{n}")).at(PAGE_TYPE))
    }

    /// First record of the newest log on this page.
    #[inline]
    pub fn start(self) -> u16 {
        get_u16(self.page, PAGE_START)
    }

    /// First free byte.
    #[inline]
    pub fn free(self) -> u16 {
        get_u16(self.page, PAGE_FREE)
    }

    /// Node in the segment's list of pages.
    #[inline]
    pub fn node(self) -> ListNode {
        ListNode::read(self.page, PAGE_NODE)
    }

    /// State of the segment whose first page this is.
    ///
    /// # Errors
    /// [`Corruption`] for a number that is no state.
    pub fn state(self) -> Result<SegmentState> {
        let n = get_u16(self.page, SEGMENT_STATE);
        let bad = || Corruption::new("undo segment state", format!("{n}")).at(SEGMENT_STATE);
        SegmentState::from_u16(n).ok_or_else(bad)
    }

    /// Newest log header of the segment whose first page this is; 0 for none.
    #[inline]
    pub fn last_log(self) -> u16 {
        get_u16(self.page, SEGMENT_LAST_LOG)
    }

    /// Header of the segment whose first page this is.
    #[inline]
    pub fn segment(self) -> SegmentHeader {
        SegmentHeader::read(self.page, SEGMENT_HEADER)
    }

    /// List of the pages of the segment whose first page this is.
    #[inline]
    pub fn pages(self) -> ListBase {
        ListBase::read(self.page, SEGMENT_PAGES)
    }

    /// Bytes a record may still take, its two offsets included.
    #[inline]
    pub fn room(self) -> usize {
        (self.page.len() - fil::TRAILER_SIZE).saturating_sub(self.free().into())
    }

    /// Where the records of a log lie on this page: `log` is the offset of its header if this page has it.
    ///
    /// # Errors
    /// [`Corruption`] if there is no such header.
    pub fn records_of(self, log: Option<u16>) -> Result<Records<'a>> {
        let (start, end) = match log {
            None => (PAGE_RECORDS as u16, self.free()),
            Some(off) => {
                let header = LogHeader::read(self.page, off)?;
                let end = if header.next != 0 { header.next } else { self.free() };
                (header.start.min(end), end)
            }
        };
        Ok(Records { page: self.page, start, end })
    }

    /// The record at `off`, without the two offsets around it.
    ///
    /// # Errors
    /// [`Corruption`] if no record lies there: see I1.
    pub fn record(self, off: u16) -> Result<&'a [u8]> {
        let (at, free) = (usize::from(off), usize::from(self.free()));
        if at < PAGE_RECORDS || at + 4 > free {
            return Err(Corruption::new("undo record offset", format!("{off}")).at(at));
        }
        let next = usize::from(get_u16(self.page, at));
        if next < at + 4 || next > free || usize::from(get_u16(self.page, next - 2)) != at {
            return Err(Corruption::new("undo record bounds", format!("next {next}, free {free}")).at(at));
        }
        Ok(&self.page[at + 2..next - 2])
    }
}

/// The records of one log on one page.
#[derive(Clone, Copy)]
pub struct Records<'a> {
    page: &'a [u8],
    start: u16,
    end: u16,
}

impl<'a> Records<'a> {
    /// Offset of the first record.
    #[inline]
    pub fn first(self) -> Option<u16> {
        (self.start < self.end).then_some(self.start)
    }

    /// Offset of the last record.
    ///
    /// # Errors
    /// [`Corruption`] if the bytes before the end are no record's.
    pub fn last(self) -> Result<Option<u16>> {
        self.before(self.end)
    }

    /// Offset of the record after the one at `off`.
    ///
    /// # Errors
    /// [`Corruption`] if no record lies at `off`.
    pub fn next(self, off: u16) -> Result<Option<u16>> {
        let body = UndoPage::new(self.page)?.record(off)?;
        let next = usize::from(off) + body.len() + 4;
        Ok((next < self.end.into()).then_some(next as u16))
    }

    /// Offset of the record before the one at `off`.
    ///
    /// # Errors
    /// [`Corruption`] if the bytes before are no record's.
    pub fn prev(self, off: u16) -> Result<Option<u16>> {
        self.before(off)
    }

    /// Offset of the record that ends at `end`.
    fn before(self, end: u16) -> Result<Option<u16>> {
        if end <= self.start {
            return Ok(None);
        }
        let end = usize::from(end);
        if end < PAGE_RECORDS + 4 || end > self.page.len() {
            return Err(Corruption::new("undo record offset", format!("{end}")).at(end));
        }
        let off = get_u16(self.page, end - 2);
        let body = UndoPage::new(self.page)?.record(off)?;
        if usize::from(off) + body.len() + 4 != end || off < self.start {
            return Err(Corruption::new("undo record bounds", format!("no record ends at {end}")).at(end));
        }
        Ok(Some(off))
    }

    /// Offsets and bodies, oldest first.
    pub fn iter(self) -> impl Iterator<Item = Result<(u16, &'a [u8])>> {
        let mut at = self.first();
        std::iter::from_fn(move || {
            let off = at?;
            let body = UndoPage::new(self.page).and_then(|p| p.record(off));
            at = match (&body, self.next(off)) {
                (Ok(_), Ok(next)) => next,
                _ => None,
            };
            Some(body.map(|b| (off, b)))
        })
    }
}

/// Where an undo record lies: the 56 bits of DB_ROLL_PTR.
///
/// | bits | field |
/// |---|---|
/// | 55 | insert |
/// | 48-54 | rollback segment slot |
/// | 16-47 | page |
/// | 0-15 | offset |
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UndoPlace {
    /// Whether the record undoes an insert: there is no older version.
    pub insert: bool,
    /// Rollback segment slot.
    pub rseg: u8,
    /// Page.
    pub page: PageNo,
    /// Offset of the record.
    pub offset: u16,
}

impl UndoPlace {
    /// Of a row that was imported with its tablespace: it has no older version, and nothing undoes it.
    pub const NOWHERE: UndoPlace = UndoPlace { insert: true, rseg: 0, page: PageNo(0), offset: 0 };

    /// Whether no record is there: rows that an import brought say so, here as [`UndoPlace::NOWHERE`], in files of MySQL 5.6.24 with or
    /// without the bit of an insert.
    #[inline]
    pub const fn is_nowhere(self) -> bool {
        self.rseg == 0 && self.page.0 == 0 && self.offset == 0
    }

    /// From a stored roll pointer.
    #[inline]
    pub const fn decode(p: RollPtr) -> Self {
        Self {
            insert: p.0 >> 55 & 1 != 0,
            rseg: (p.0 >> 48 & 0x7F) as u8,
            page: PageNo((p.0 >> 16) as u32),
            offset: p.0 as u16,
        }
    }

    /// The stored roll pointer.
    #[inline]
    pub const fn encode(self) -> RollPtr {
        RollPtr(
            (self.insert as u64) << 55
                | ((self.rseg & 0x7F) as u64) << 48
                | (self.page.0 as u64) << 16
                | self.offset as u64,
        )
    }
}

/// Redo type UNDO_INIT: makes a page an undo page without records.
///
/// # Panics
/// If `page` is shorter than the page header.
pub fn init_page(page: &mut [u8], kind: UndoKind) {
    fil::set_page_type(page, PageType::UndoLog);
    put_u16(page, PAGE_TYPE, kind as u16);
    put_u16(page, PAGE_START, PAGE_RECORDS as u16);
    put_u16(page, PAGE_FREE, PAGE_RECORDS as u16);
}

/// Whether a record body of `len` bytes fits on the page.
#[inline]
pub fn fits(page: UndoPage<'_>, len: usize) -> bool {
    len + 4 <= page.room()
}

/// Redo type UNDO_INSERT: appends a record, and gives its offset.
///
/// # Errors
/// [`Corruption`] if it does not fit.
pub fn append_record(page: &mut [u8], body: &[u8]) -> Result<u16> {
    let view = UndoPage::new(page)?;
    let at = usize::from(view.free());
    if !fits(view, body.len()) {
        let detail = format!("{} bytes, room for {}", body.len() + 4, view.room());
        return Err(Corruption::new("undo record does not fit", detail).at(at));
    }
    let next = at + body.len() + 4;
    put_u16(page, at, next as u16);
    page[at + 2..next - 2].copy_from_slice(body);
    put_u16(page, next - 2, at as u16);
    put_u16(page, PAGE_FREE, next as u16);
    Ok(at as u16)
}

/// Redo type UNDO_ERASE_END: overwrites the free part of the page.
///
/// # Errors
/// [`Corruption`] if the page is no undo page.
pub fn erase_end(page: &mut [u8]) -> Result<()> {
    let free = usize::from(UndoPage::new(page)?.free());
    let end = page.len() - fil::TRAILER_SIZE;
    page[free..end].fill(0xFF);
    Ok(())
}

/// Redo type UNDO_HDR_CREATE: adds a log header at the first free byte of a segment's first page, makes the
/// segment active, and gives the header's offset. Room for an XID is added by [`add_xid_room`].
///
/// # Errors
/// [`Corruption`] if it does not fit, or the newest log header is broken.
pub fn create_log(page: &mut [u8], trx_id: TrxId) -> Result<u16> {
    let view = UndoPage::new(page)?;
    let (at, last) = (view.free(), view.last_log());
    let start = usize::from(at) + LOG_HEADER_SIZE;
    if usize::from(at) < FIRST_LOG || view.room() < LOG_HEADER_XID_SIZE {
        return Err(Corruption::new("undo log header does not fit", format!("at {at}")).at(PAGE_FREE));
    }
    if last != 0 {
        if usize::from(last) < FIRST_LOG || usize::from(last) + LOG_HEADER_SIZE > at.into() {
            return Err(Corruption::new("newest undo log", format!("{last}")).at(SEGMENT_LAST_LOG));
        }
        put_u16(page, usize::from(last) + LOG_NEXT, at);
    }
    put_u16(page, PAGE_START, start as u16);
    put_u16(page, PAGE_FREE, start as u16);
    put_u16(page, SEGMENT_STATE, SegmentState::Active as u16);
    put_u16(page, SEGMENT_LAST_LOG, at);
    let log = &mut page[at.into()..];
    put_u16(log, LOG_DEL_MARKS, 1);
    start_log(log, trx_id, start as u16);
    put_u16(log, LOG_NEXT, 0);
    put_u16(log, LOG_PREV, last);
    Ok(at)
}

/// Redo type UNDO_HDR_REUSE: begins a log over the old one of a cached INSERT segment.
///
/// # Errors
/// [`Corruption`] if the page is no undo page.
pub fn reuse_log(page: &mut [u8], trx_id: TrxId) -> Result<u16> {
    UndoPage::new(page)?;
    let start = (FIRST_LOG + LOG_HEADER_SIZE) as u16;
    put_u16(page, PAGE_START, start);
    put_u16(page, PAGE_FREE, start);
    put_u16(page, SEGMENT_STATE, SegmentState::Active as u16);
    put_u16(page, SEGMENT_LAST_LOG, FIRST_LOG as u16);
    start_log(&mut page[FIRST_LOG..], trx_id, start);
    Ok(FIRST_LOG as u16)
}

/// The fields that every new log sets.
fn start_log(log: &mut [u8], trx_id: TrxId, start: u16) {
    put_u64(log, LOG_TRX_ID, trx_id.get());
    put_u16(log, LOG_START, start);
    log[LOG_XID_EXISTS] = 0;
    log[LOG_DICT_TRANS] = 0;
}

/// The three u16 fields that give the newest log, whose header lies at `log`, room for an XID: pairs of offset and
/// value, to be logged as 2-byte writes.
pub fn add_xid_room(page: UndoPage<'_>, log: u16) -> [(usize, u16); 3] {
    let start = page.free().saturating_add((LOG_HEADER_XID_SIZE - LOG_HEADER_SIZE) as u16);
    [(PAGE_START, start), (PAGE_FREE, start), (usize::from(log) + LOG_START, start)]
}

#[cfg(test)]
mod tests;
