//! Reading without locks: which version of the row behind a record is seen, if any.
//!
//! A clustered record carries the transaction that wrote it. An entry of a secondary index does not: if the page's
//! greatest transaction id is seen by the view ([`ReadView::sees_all_up_to`]), every entry on it is what the view sees,
//! delete marks included. Otherwise the clustered record decides: the version that the view sees of it must have this
//! entry, as a row with many versions has many entries, delete-marked ones among them.
//!
//! # Latching
//! A leaf of a secondary index stays latched, shared, while the clustered record of one of its entries is looked at.

use super::columns::Fields;
use super::row::{Columns, RowRef, clustered_key};
use crate::core::Core;
use crate::error::{Error, Result};
use crate::row::image::Image;
use crate::row::lock::{parse_clustered, parse_secondary};
use crate::table::{Index, Table};
use crate::version::entry::{Parsed, belongs};
use crate::version::{Seen, seen_by};
use crate::waits::check_interrupt;
use vaquita_base::TrxId;
use vaquita_base::codec::get_u48;
use vaquita_btree::RecordRef;
use vaquita_format::index_page::header::max_trx_id;
use vaquita_format::record::Offsets;
use vaquita_format::tuple::Tuple;
use vaquita_txn::{ReadView, TrxShared};

/// What a reader without locks sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Snapshot {
    /// The newest version, committed or not.
    Dirty,
    /// What the view sees.
    View(ReadView),
}

/// Buffers that are kept from row to row.
#[derive(Debug, Clone, Default)]
pub struct Scratch {
    pub(crate) own: Offsets,
    pub(crate) clustered: Offsets,
    pub(crate) version: Image,
}

/// A table, an index of it and the columns wanted: what every way to read needs to know.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) core: &'a Core,
    /// Who reads.
    pub(crate) trx: &'a TrxShared,
    pub(crate) table: &'a Table,
    pub(crate) index: &'a Index,
    /// The wanted columns in the records of the index; `None` if it does not have them all.
    pub(crate) own: Option<Fields<'a>>,
    /// The wanted columns in clustered records.
    pub(crate) clustered: Fields<'a>,
}

impl<'a> Source<'a> {
    /// Fails if the session was interrupted; asked once per leaf.
    #[inline]
    pub(crate) fn check_interrupt(&self) -> Result<()> {
        check_interrupt(self.trx)
    }

    /// DB_TRX_ID of a record of the clustered index.
    #[inline]
    pub(crate) fn trx_id(&self, record: &RecordRef<'_>, offsets: &mut Offsets) -> Result<TrxId> {
        let def = self.table.clustered().def();
        if let Some(offset) = def.trx_id_offset() {
            let at = usize::from(record.rec) + offset;
            if at + 6 <= record.page.len() {
                return Ok(TrxId(get_u48(record.page, at)));
            }
        }
        let pos = def.trx_id_pos().expect("a clustered index has it");
        offsets
            .parse_first(record.page, record.rec, def.layout(), pos + 1)
            .map_err(|c| self.bad(record, c))?;
        match record.field(offsets, pos) {
            Some(id) if id.len() == 6 => Ok(TrxId(get_u48(id, 0))),
            _ => Err(Error::Corrupt(format!("page {}: a record without DB_TRX_ID", record.page_id))),
        }
    }

    #[cold]
    pub(crate) fn bad(&self, record: &RecordRef<'_>, c: vaquita_format::Corruption) -> Error {
        Error::Corrupt(format!("{}, page {}: {c}", self.table.name, record.page_id))
    }

    /// Makes sure the wanted fields of a record can be read.
    #[inline]
    pub(crate) fn locate(
        &self,
        index: &Index,
        record: &RecordRef<'_>,
        fields: &Fields<'_>,
        offsets: &mut Offsets,
    ) -> Result<()> {
        if fields.decode > 0 {
            let layout = index.def().layout();
            offsets
                .parse_first(record.page, record.rec, layout, fields.decode)
                .map_err(|c| self.bad(record, c))?;
            if offsets.n_fields() < fields.decode {
                return Err(self.too_short(record));
            }
        } else if usize::from(record.rec) + fields.const_len > record.page.len() {
            return Err(self.too_short(record));
        }
        Ok(())
    }

    /// Decodes all fields of a record and checks that they are those of its index.
    pub(crate) fn parse_all(
        &self,
        index: &Index,
        record: &RecordRef<'_>,
        offsets: &mut Offsets,
    ) -> Result<()> {
        match index.is_clustered() {
            true => parse_clustered(self.table, record, offsets),
            false => parse_secondary(index, record, offsets),
        }
    }

    #[cold]
    fn too_short(&self, record: &RecordRef<'_>) -> Error {
        let (name, page) = (&self.table.name, record.page_id);
        Error::Corrupt(format!("{name}, page {page}: the record at {} lacks fields", record.rec))
    }

    /// Whether a whole leaf is seen as it is, judged by its header; says nothing of clustered leaves.
    #[inline]
    pub(crate) fn trusts(&self, page: &[u8], snapshot: &Snapshot) -> bool {
        match snapshot {
            Snapshot::Dirty => true,
            Snapshot::View(view) => {
                !self.index.is_clustered() && view.sees_all_up_to(TrxId(max_trx_id(page)))
            }
        }
    }

    /// Calls `row` for the row that is seen behind a record; `None` if none is. `trusted`: what [`Source::trusts`] says of
    /// the page.
    ///
    /// # Errors
    /// Errors of pages, damage.
    #[inline]
    pub(crate) fn visit<R>(
        &self,
        record: RecordRef<'_>,
        trusted: bool,
        snapshot: &Snapshot,
        scratch: &mut Scratch,
        row: impl FnOnce(RowRef<'_>) -> R,
    ) -> Result<Option<R>> {
        if self.index.is_clustered() {
            self.visit_clustered(record, snapshot, scratch, row)
        } else {
            self.visit_entry(record, trusted, snapshot, scratch, row)
        }
    }

    #[inline]
    fn visit_clustered<R>(
        &self,
        record: RecordRef<'_>,
        snapshot: &Snapshot,
        scratch: &mut Scratch,
        row: impl FnOnce(RowRef<'_>) -> R,
    ) -> Result<Option<R>> {
        if let Snapshot::View(view) = snapshot {
            let id = self.trx_id(&record, &mut scratch.own)?;
            if id >= view.up_limit && !view.sees(&self.core.txn, id) {
                return self.visit_older(record, view, scratch, row);
            }
        }
        if record.is_deleted() {
            return Ok(None);
        }
        self.locate(self.index, &record, &self.clustered, &mut scratch.own)?;
        let entry = Parsed { record, offsets: &scratch.own };
        let columns = Columns::Entry(self.clustered.at);
        Ok(Some(row(RowRef::of_pages(self.core, self.table, self.index, entry, columns))))
    }

    /// A clustered record whose newest version is not seen.
    #[cold]
    fn visit_older<R>(
        &self,
        record: RecordRef<'_>,
        view: &ReadView,
        scratch: &mut Scratch,
        row: impl FnOnce(RowRef<'_>) -> R,
    ) -> Result<Option<R>> {
        let Scratch { own, version, .. } = scratch;
        self.parse_all(self.index, &record, own)?;
        let entry = Parsed { record, offsets: own };
        let columns = match seen_by(self.core, self.table, &record, own, view, version)? {
            Seen::Current if !record.is_deleted() => Columns::Entry(self.clustered.at),
            Seen::Older if !version.is_deleted() => Columns::Version(version, self.clustered.at),
            Seen::Current | Seen::Older | Seen::Nothing => return Ok(None),
        };
        Ok(Some(row(RowRef::of_pages(self.core, self.table, self.index, entry, columns))))
    }

    #[inline]
    fn visit_entry<R>(
        &self,
        record: RecordRef<'_>,
        trusted: bool,
        snapshot: &Snapshot,
        scratch: &mut Scratch,
        row: impl FnOnce(RowRef<'_>) -> R,
    ) -> Result<Option<R>> {
        if trusted {
            if record.is_deleted() {
                return Ok(None);
            }
            if let Some(fields) = &self.own {
                self.locate(self.index, &record, fields, &mut scratch.own)?;
                let entry = Parsed { record, offsets: &scratch.own };
                let columns = Columns::Entry(fields.at);
                return Ok(Some(row(RowRef::of_pages(self.core, self.table, self.index, entry, columns))));
            }
        }
        self.visit_by_entry(record, trusted, snapshot, scratch, row)
    }

    /// The clustered record behind an entry.
    fn visit_by_entry<R>(
        &self,
        record: RecordRef<'_>,
        trusted: bool,
        snapshot: &Snapshot,
        scratch: &mut Scratch,
        row: impl FnOnce(RowRef<'_>) -> R,
    ) -> Result<Option<R>> {
        let Scratch { own, clustered, version } = scratch;
        self.parse_all(self.index, &record, own)?;
        let entry = Parsed { record, offsets: own };
        let key = clustered_key(self.table, self.index, &entry);
        let found =
            self.table.clustered().tree.lookup(&self.core.storage, &Tuple::new(&key), |row_record| {
                self.visit_row(entry, row_record, snapshot, clustered, version, row)
            })?;
        match found {
            Some(done) => done,
            // Purge and rollback may have removed the row before an entry that nobody sees any more.
            None if record.is_deleted() || !trusted || *snapshot == Snapshot::Dirty => Ok(None),
            None => Err(self.lost_row(&record)),
        }
    }

    #[cold]
    pub(crate) fn lost_row(&self, record: &RecordRef<'_>) -> Error {
        let (table, index) = (&self.table.name, &self.index.name);
        Error::Corrupt(format!(
            "{table}: the entry at {} of page {} of index {index} has no row",
            record.rec, record.page_id
        ))
    }

    fn visit_row<R>(
        &self,
        entry: Parsed<'_>,
        record: RecordRef<'_>,
        snapshot: &Snapshot,
        offsets: &mut Offsets,
        version: &mut Image,
        row: impl FnOnce(RowRef<'_>) -> R,
    ) -> Result<Option<R>> {
        let clustered = self.table.clustered();
        let entry_deleted = entry.record.is_deleted();
        let mut check = entry_deleted || *snapshot == Snapshot::Dirty;
        let mut older = false;
        if let Snapshot::View(view) = snapshot {
            let id = self.trx_id(&record, offsets)?;
            if id >= view.up_limit && !view.sees(&self.core.txn, id) {
                self.parse_all(clustered, &record, offsets)?;
                match seen_by(self.core, self.table, &record, offsets, view, version)? {
                    Seen::Current => {}
                    Seen::Older => (older, check) = (true, true),
                    Seen::Nothing => return Ok(None),
                }
            }
        }
        if older {
            if version.is_deleted() || !belongs(self.core, self.table, self.index, &entry, version)? {
                return Ok(None);
            }
            let columns = Columns::Version(version, self.clustered.at);
            return Ok(Some(row(RowRef::of_pages(self.core, self.table, self.index, entry, columns))));
        }
        if record.is_deleted() {
            return Ok(None);
        }
        if check {
            self.parse_all(clustered, &record, offsets)?;
            let current = Parsed { record, offsets };
            if !belongs(self.core, self.table, self.index, &entry, &current)? {
                return Ok(None);
            }
        } else {
            self.locate(clustered, &record, &self.clustered, offsets)?;
        }
        let columns = Columns::Clustered(Parsed { record, offsets }, self.clustered.at);
        Ok(Some(row(RowRef::of_pages(self.core, self.table, self.index, entry, columns))))
    }
}
