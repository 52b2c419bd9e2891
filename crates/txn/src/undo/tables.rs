//! Which tables a transaction changed, from its undo logs: a crash took what the session knew.

use super::log::TrxUndo;
use super::rseg::{RollbackSegments, damage};
use crate::error::Result;
use std::collections::BTreeSet;
use vaquita_base::TableId;
use vaquita_format::Result as FormatResult;
use vaquita_format::undo::UndoPage;
use vaquita_format::undo::record::UndoHeader;

impl RollbackSegments {
    /// The tables of all records of the logs.
    pub(crate) fn tables(&self, trx: &TrxUndo) -> Result<BTreeSet<TableId>> {
        let mut tables = BTreeSet::new();
        let Some(no) = trx.rseg else { return Ok(tables) };
        let rseg = self.rseg(no);
        for log in trx.logs() {
            let mut no = log.last_page;
            for _ in 0..log.n_pages {
                let id = rseg.page(no);
                let page = self.storage.pool().get_shared(id)?;
                let view = UndoPage::new(&page).map_err(|c| damage(id, c))?;
                collect(view, log.header_on(no), &mut tables).map_err(|c| damage(id, c))?;
                match view.node().prev.some() {
                    Some(prev) if no != log.first_page() => no = prev.page,
                    _ => break,
                }
            }
        }
        Ok(tables)
    }
}

fn collect(page: UndoPage<'_>, header: Option<u16>, tables: &mut BTreeSet<TableId>) -> FormatResult<()> {
    for record in page.records_of(header)?.iter() {
        tables.insert(UndoHeader::parse(record?.1)?.table_id);
    }
    Ok(())
}
