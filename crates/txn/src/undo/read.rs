//! Reading undo records: by roll pointer, and the newest of a transaction.

use super::log::TrxUndo;
use super::rseg::{RollbackSegments, damage};
use crate::error::{Error, Result};
use vaquita_base::{PageId, RollPtr};
use vaquita_format::fil::{self, PageType};
use vaquita_format::undo::record::UndoHeader;
use vaquita_format::undo::{UndoKind, UndoPage, UndoPlace};
use vaquita_format::{Corruption, Result as FormatResult};

/// A copy of an undo record's body.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct UndoBuf {
    bytes: Vec<u8>,
}

impl UndoBuf {
    /// The body, for [`vaquita_format::undo::record::UndoRecord::parse`].
    pub fn body(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn set(&mut self, body: &[u8]) {
        self.bytes.clear();
        self.bytes.extend_from_slice(body);
    }
}

impl RollbackSegments {
    /// Copies the record at a roll pointer.
    ///
    /// # Errors
    /// [`Error::NoSuchUndo`] if no undo record lies there.
    pub(crate) fn read(&self, ptr: RollPtr, out: &mut UndoBuf) -> Result<()> {
        let place = UndoPlace::decode(ptr);
        let rseg = self.find(place.rseg).ok_or(Error::NoSuchUndo(ptr))?;
        let page = match self.storage.pool().get_shared(rseg.page(place.page)) {
            Ok(page) => page,
            Err(vaquita_storage::Error::BeyondEnd { .. }) => return Err(Error::NoSuchUndo(ptr)),
            Err(e) => return Err(e.into()),
        };
        let body = record_at(&page, place.insert, place.offset).map_err(|_| Error::NoSuchUndo(ptr))?;
        out.set(body);
        Ok(())
    }

    /// The page a roll pointer leads to.
    pub(crate) fn page_of(&self, ptr: RollPtr) -> Result<PageId> {
        let place = UndoPlace::decode(ptr);
        Ok(self.find(place.rseg).ok_or(Error::NoSuchUndo(ptr))?.page(place.page))
    }

    /// The newest record of both logs, if its number is at least `from`.
    pub(crate) fn newest(&self, trx: &TrxUndo, from: u64, out: &mut UndoBuf) -> Result<Option<RollPtr>> {
        let newest = trx.logs().filter_map(|log| Some((log.kind, log.top?))).max_by_key(|(_, t)| t.undo_no);
        let Some((kind, top)) = newest.filter(|(_, top)| top.undo_no >= from) else { return Ok(None) };
        let rseg = self.rseg(trx.rseg.expect("a transaction with a log has a rollback segment"));
        let id = rseg.page(top.page);
        let page = self.storage.pool().get_shared(id)?;
        let insert = kind == UndoKind::Insert;
        let body = record_at(&page, insert, top.offset).map_err(|c| damage(id, c))?;
        expect_number(id, body, top.undo_no)?;
        out.set(body);
        Ok(Some(UndoPlace { insert, rseg: rseg.no.0, page: top.page, offset: top.offset }.encode()))
    }
}

/// The record at `offset` of what should be an undo page of that kind.
fn record_at(page: &[u8], insert: bool, offset: u16) -> FormatResult<&[u8]> {
    let ty = fil::raw_type(page);
    let undo = UndoPage::new(page)?;
    let kind = if insert { UndoKind::Insert } else { UndoKind::Update };
    if ty != PageType::UndoLog.as_u16() || undo.kind()? != kind {
        return Err(Corruption::new("undo page", format!("page type {ty}, {:?}", undo.kind())));
    }
    undo.record(offset)
}

fn expect_number(page: PageId, body: &[u8], expected: u64) -> Result<()> {
    match UndoHeader::parse(body) {
        Ok(h) if h.undo_no == expected => Ok(()),
        Ok(h) => {
            let detail = format!("found {}, expected {expected}", h.undo_no);
            Err(damage(page, Corruption::new("undo number", detail)))
        }
        Err(c) => Err(damage(page, c)),
    }
}
