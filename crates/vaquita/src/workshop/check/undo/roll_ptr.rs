//! Where the roll pointer of a row must lead.
//!
//! A row's newest version names its transaction and the undo record of the change. The record can be gone: inserts'
//! at commit, others' when purge is done with them, and their pages may hold something else by now. It is still there
//! exactly if the log of that transaction is: then it must lie in that log, of the same table and the same key.

use std::cmp::Ordering;

use vaquita_base::codec::get_uint;
use vaquita_base::{PageNo, RollPtr, SpaceId, TableId, TrxId};
use vaquita_format::Corruption;
use vaquita_format::index_def::IndexDef;
use vaquita_format::record::{Offsets, compare_fields};
use vaquita_format::undo::record::UndoRecord;
use vaquita_format::undo::{UndoPage, UndoPlace};

use super::super::space::UndoSpace;
use super::transactions::{LogPlace, Transactions};
use crate::workshop::source::PageSource;

/// A clustered record.
#[derive(Clone, Copy)]
pub(in crate::workshop::check) struct Row<'a> {
    pub(in crate::workshop::check) def: &'a IndexDef,
    pub(in crate::workshop::check) table: Option<TableId>,
    pub(in crate::workshop::check) page: &'a [u8],
    pub(in crate::workshop::check) rec: u16,
    pub(in crate::workshop::check) offsets: &'a Offsets,
}

impl<'a> Row<'a> {
    fn field(&self, i: usize) -> &'a [u8] {
        self.offsets.field(self.page, self.rec, i).unwrap_or_default()
    }

    /// DB_TRX_ID and DB_ROLL_PTR; `None` if the index has none.
    pub(in crate::workshop::check) fn version(&self) -> Option<(TrxId, RollPtr)> {
        let pos = self.def.trx_id_pos()?;
        if self.offsets.n_fields() < pos + 2 {
            return None;
        }
        let (id, ptr) = (self.field(pos), self.field(pos + 1));
        (id.len() == 6 && ptr.len() == 7).then(|| (TrxId(get_uint(id, 0, 6)), RollPtr(get_uint(ptr, 0, 7))))
    }
}

/// Follows roll pointers to undo pages.
pub(in crate::workshop::check) struct RollPointers<'a> {
    transactions: &'a Transactions,
    /// The system tablespace.
    system: &'a dyn PageSource,
    /// Other tablespaces with undo logs.
    others: &'a [UndoSpace<'a>],
    /// The undo page read last: neighbouring rows were often changed together.
    page: Option<(SpaceId, PageNo, Vec<u8>)>,
}

impl<'a> RollPointers<'a> {
    pub(in crate::workshop::check) fn new(
        transactions: &'a Transactions,
        system: &'a dyn PageSource,
        others: &'a [UndoSpace<'a>],
    ) -> RollPointers<'a> {
        RollPointers { transactions, system, others, page: None }
    }

    pub(in crate::workshop::check) fn transactions(&self) -> &'a Transactions {
        self.transactions
    }

    /// What is wrong with a row's version.
    pub(in crate::workshop::check) fn judge(&mut self, row: &Row<'_>) -> Option<Corruption> {
        let (id, ptr) = row.version()?;
        let known = self.transactions;
        if id >= known.bound {
            let detail = format!("{id}: every id ever given is below {}", known.bound);
            return Some(Corruption::new("transaction id", detail));
        }
        let place = UndoPlace::decode(ptr);
        // The transaction that imported it has logs, but nothing of its rows.
        if place.is_nowhere() {
            return None;
        }
        let wrong = |detail: String| Some(Corruption::new("roll pointer", detail));
        if !place.insert && !known.has_rollback_segment(place.rseg) {
            return wrong(format!("names rollback segment {}, which does not exist", place.rseg));
        }
        let Some(log) = known.log(id, place.insert) else {
            // The log of a transaction that has not ended is there if it ever was.
            let lost = known.is_live(id) && !known.is_partial();
            let kind = if place.insert { "insert" } else { "update" };
            return if lost {
                wrong(format!("transaction {id} has not ended, but has no {kind} log"))
            } else {
                None
            };
        };
        self.follow(row, id, place, log).err().and_then(wrong)
    }

    fn follow(&mut self, row: &Row<'_>, id: TrxId, place: UndoPlace, log: &LogPlace) -> Result<(), String> {
        if !log.sound {
            return Ok(());
        }
        let UndoPlace { rseg, page: no, offset, .. } = place;
        if usize::from(rseg) != log.rseg {
            return Err(format!(
                "names rollback segment {rseg}, the log of transaction {id} is in {}",
                log.rseg
            ));
        }
        if self.transactions.segment_of(log.space, no) != Some(log.segment) {
            let gone = log.may_be_cut;
            let outside =
                format!("leads to page {no}, the log of transaction {id} begins at page {}", log.first);
            return if gone { Ok(()) } else { Err(outside) };
        }
        if no == log.first && !(log.start..log.end).contains(&offset) {
            if log.may_be_cut && offset < log.start {
                return Ok(());
            }
            return Err(format!("leads to {no}+{offset}, outside the log of transaction {id}"));
        }
        let page = self.undo_page(log.space, no)?;
        let at = format!("{no}+{offset}");
        let body = UndoPage::new(page).and_then(|view| view.record(offset));
        let body = body.map_err(|_| format!("leads to {at}, where no undo record begins"))?;
        let record = UndoRecord::parse(body, row.def.n_uniq());
        let record = record.map_err(|e| format!("leads to {at}, no undo record of this table: {e}"))?;
        if let Some(table) = row.table.filter(|&t| t != record.header.table_id) {
            let other = record.header.table_id;
            return Err(format!("leads to {at}, an undo record of table {other}, this is table {table}"));
        }
        if !same_key(row, &record) {
            return Err(format!("leads to {at}, the undo record of another row"));
        }
        Ok(())
    }

    fn undo_page(&mut self, space: SpaceId, no: PageNo) -> Result<&[u8], String> {
        if self.page.as_ref().is_none_or(|(s, n, _)| (*s, *n) != (space, no)) {
            let src = match space {
                SpaceId::SYSTEM => Some(self.system),
                _ => self.others.iter().find(|u| u.space == space).map(|u| u.src),
            };
            let page = src.map(|src| src.page(no)).transpose().map_err(|e| e.to_string())?;
            self.page = Some((space, no, page.unwrap_or_default().into_owned()));
        }
        Ok(self.page.as_ref().map_or(&[], |(_, _, page)| page))
    }
}

/// Whether record and row have the same key, in the order of the index.
fn same_key(row: &Row<'_>, record: &UndoRecord<'_>) -> bool {
    let plan = row.def.compare_plan();
    record.key().enumerate().all(|(i, value)| {
        let stored = row.offsets.field(row.page, row.rec, i);
        let known = plan[i].is_known();
        !known || compare_fields(plan[i], value.bytes(), stored) == Ordering::Equal
    })
}
