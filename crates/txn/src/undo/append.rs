//! Appending undo records.
//!
//! The common case is one mini-transaction of one redo record on the last page of the log; the first record of a log in a
//! cached segment comes with its header. A record that does not fit gets a new page: records never span pages.
//!
//! # Crash
//! A page is added in a mini-transaction of its own; it may be left behind empty, as the last page of its log.

use super::log::{TrxUndo, UndoLog, append_if_fits, init_undo_page, undo_page};
use super::rseg::{RollbackSegments, Rseg, damage};
use crate::error::{Error, Result};
use vaquita_base::{PageNo, RollPtr, TrxId};
use vaquita_format::fil;
use vaquita_format::redo_rec::encode;
use vaquita_format::undo::record::{NO_ORDER_CHANGE, UndoType};
use vaquita_format::undo::{self, UndoKind, UndoPlace};
use vaquita_storage::fsp::{self, Direction, Reservation, list};

/// Extents reserved for a further page of a log.
const EXTENTS_FOR_PAGE: u32 = 1;
/// Bytes of the two offsets around a record.
const AROUND_RECORD: usize = 4;

/// Whether purge has anything to do for an update undo record, told by its first byte: a deletion, a change of a
/// column that an index is ordered by, or off-page values that were replaced.
pub(super) fn concerns_purge(first_byte: u8) -> bool {
    let cmpl_info = first_byte >> 4 & 7;
    first_byte & 15 == UndoType::DeleteMark as u8
        || cmpl_info & NO_ORDER_CHANGE == 0
        || first_byte & 0x80 != 0
}

impl RollbackSegments {
    /// Appends a record whose body carries the number `trx.next_no`.
    pub(crate) fn append(
        &self,
        trx: &mut TrxUndo,
        id: TrxId,
        dict_operation: bool,
        kind: UndoKind,
        body: &[u8],
    ) -> Result<RollPtr> {
        let longest = self.page_len() - undo::PAGE_RECORDS - AROUND_RECORD - fil::TRAILER_SIZE;
        if body.is_empty() || body.len() > longest {
            return Err(Error::UndoRecordTooBig { bytes: body.len() });
        }
        debug_assert!(
            undo::record::UndoHeader::parse(body).is_ok_and(|h| h.undo_no == trx.next_no),
            "the record's number is not the transaction's next one"
        );
        if trx.log_mut(kind).is_none() {
            self.begin_log(trx, id, dict_operation, kind, body)?;
        }
        assert!(id.0 != 0, "a transaction that changes something has an id");
        let rseg = self.rseg(trx.rseg.expect("a transaction with a log has a rollback segment"));
        let undo_no = trx.next_no;
        let log = trx.log_mut(kind).as_mut().expect("it was begun above");
        debug_assert_eq!(log.trx_id, id, "a log is one transaction's");
        if dict_operation && !log.dict_operation {
            self.mark_log_of_dict_operation(rseg, log)?;
        }
        let offset = match log.top {
            // The log began with it.
            Some(top) if top.undo_no == undo_no => top.offset,
            _ => self.append_to_log(rseg, log, body)?,
        };
        debug_assert!(
            log.top.is_none_or(|top| top.undo_no <= undo_no),
            "records of a log come in the order of their numbers"
        );
        log.top = Some(super::log::Top { undo_no, page: log.last_page, offset });
        log.del_marks |= kind == UndoKind::Update && concerns_purge(body[0]);
        let (insert, page) = (kind == UndoKind::Insert, log.last_page);
        trx.next_no += 1;
        Ok(UndoPlace { insert, rseg: rseg.no.0, page, offset }.encode())
    }

    /// Appends to the last page of a log, or to a new one.
    fn append_to_log(&self, rseg: &Rseg, log: &mut UndoLog, body: &[u8]) -> Result<u16> {
        if let Some(offset) = self.append_to_page(rseg, log.last_page, body)? {
            return Ok(offset);
        }
        self.add_page(rseg, log)?;
        let offset = self.append_to_page(rseg, log.last_page, body)?;
        offset.ok_or_else(|| {
            rseg.bad(log.last_page, "room on a new undo page", format!("{} bytes", body.len()))
        })
    }

    /// `None` if the record does not fit.
    #[inline]
    fn append_to_page(&self, rseg: &Rseg, page: PageNo, body: &[u8]) -> Result<Option<u16>> {
        let mut mtr = self.storage.begin()?;
        let page = mtr.get_exclusive(rseg.page(page))?;
        undo_page(&mtr, page)?;
        let Some(offset) = append_if_fits(&mut mtr, page, body) else { return Ok(None) };
        mtr.commit();
        Ok(Some(offset))
    }

    /// Adds a page to a log.
    #[cold]
    fn add_page(&self, rseg: &Rseg, log: &mut UndoLog) -> Result<()> {
        let mut mtr = self.storage.begin()?;
        mtr.keep_before_images();
        let first = mtr.get_exclusive(rseg.page(log.first_page()))?;
        let last = mtr.get_exclusive(rseg.page(log.last_page))?;
        fsp::reserve_free_extents(&mut mtr, rseg.header.space, EXTENTS_FOR_PAGE, Reservation::Undo)?;
        let hint = PageNo(log.last_page.get().saturating_add(1));
        let page = fsp::create_page(&mut mtr, log.segment.header, hint, Direction::Up)?;
        let last_id = mtr.id(last);
        let erased = mtr.edit(last, |bytes, redo| {
            undo::erase_end(bytes)?;
            encode::push_undo_erase_end(redo, last_id);
            Ok(())
        });
        erased.map_err(|c| damage(last_id, c))?;
        init_undo_page(&mut mtr, page, log.kind);
        list::add_last(&mut mtr, UndoLog::pages(first), UndoLog::node(page))?;
        let no = mtr.id(page).page_no;
        mtr.commit();
        log.last_page = no;
        log.n_pages += 1;
        Ok(())
    }
}
