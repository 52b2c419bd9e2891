//! A file from elsewhere becomes one of this folder: one pass over its pages, which are read, checked, changed and written.
//!
//! What changes is what MySQL 5.6 changes, too: the number of the tablespace wherever it stands, those of the indexes, LSNs and
//! checksums; DB_TRX_ID and DB_ROLL_PTR of all rows, and the greatest transaction of every index page, since transactions of another
//! folder say nothing here. Delete-marked records go, for what would purge them stayed there: here those whose page keeps others and
//! that have nothing off the page, in their trees those that are [left](Found::left).
//!
//! What pages say of each other, and rows of entries, is held against each other meanwhile: `shape`, `entries`.
//!
//! # Invariants
//! - I1: a page is written only if it was whole, of this file, and of a kind and an index that are known.
//! - I2: of a page that is not in use nothing is believed but its header.

use super::entries::Entries;
use super::file::Source;
use super::shape::Shape;
use crate::dict::rows::Values;
use crate::table::Table;
use smallvec::SmallVec;
use std::sync::Arc;
use vaquita_base::codec::{get_u48, put_u32, put_u48, put_u56, put_u64};
use vaquita_base::{IndexId, Lsn, PageNo, SpaceId, TrxId};
use vaquita_format::checksum::{ChecksumAlgorithm, PageState};
use vaquita_format::fil::{self, PageType};
use vaquita_format::flags::SpaceFlags;
use vaquita_format::fsp::{self, Xdes, header as space_header};
use vaquita_format::index_def::IndexDef;
use vaquita_format::index_page::{self, header};
use vaquita_format::record::header::is_deleted;
use vaquita_format::record::{EXTERN_REF_LEN, Offsets};
use vaquita_format::undo::UndoPlace;
use vaquita_format::{PageSize, ibuf};

/// A tree of the file, and the index that it becomes.
#[derive(Debug, Clone)]
pub(super) struct Taken {
    /// The index as it is here.
    pub(super) def: Arc<IndexDef>,
    /// Its number in the file.
    pub(super) from: IndexId,
    /// Its root.
    pub(super) root: PageNo,
}

/// Bytes of delete-marked records that are remembered. Few with assertions, so that tests meet more than there is room for.
const LEFT_MAX: usize = if cfg!(debug_assertions) { 200 } else { 8 << 20 };

/// What a pass has seen.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Live rows.
    pub(super) rows: u64,
    /// Delete-marked records that are still there: tree, and the fields by which it is found.
    pub(super) left: Vec<(usize, Values)>,
    /// There are more than are remembered.
    pub(super) more_left: bool,
    /// What those that are remembered take.
    left_bytes: usize,
    /// The greatest DB_ROW_ID of rows without another key.
    pub(super) row_id: u64,
}

/// The numbers that pages get.
#[derive(Debug, Clone, Copy)]
pub(super) struct Numbers {
    pub(super) from: SpaceId,
    pub(super) space: SpaceId,
    pub(super) flags: SpaceFlags,
    pub(super) trx_id: TrxId,
    pub(super) lsn: Lsn,
}

/// A pass over the pages of a file, from the first to the last.
#[derive(Debug)]
pub(super) struct Pass<'p> {
    size: PageSize,
    checksum: ChecksumAlgorithm,
    numbers: Numbers,
    trees: &'p [Taken],
    /// The descriptor page of the pages that come.
    descriptors: Vec<u8>,
    offsets: Offsets,
    shape: Shape,
    entries: Entries<'p>,
    found: Found,
}

impl<'p> Pass<'p> {
    pub(super) fn new(
        size: PageSize,
        checksum: ChecksumAlgorithm,
        numbers: Numbers,
        trees: &'p [Taken],
        table: &'p Table,
    ) -> Pass<'p> {
        Pass {
            size,
            checksum,
            numbers,
            trees,
            descriptors: Vec::new(),
            offsets: Offsets::new(),
            shape: Shape::default(),
            entries: Entries::of(table),
            found: Found::default(),
        }
    }

    /// What was seen, after the last page, if all of it belongs together. The error says what does not.
    pub(super) fn end(mut self, source: &Source) -> Result<Found, String> {
        self.shape.check(self.trees, source, self.checksum)?;
        self.entries.check()?;
        self.found.rows = self.entries.rows();
        Ok(self.found)
    }

    /// Converts a page of which its checksum told that; it has to be stamped anew. The error says what is wrong with it.
    pub(super) fn page(&mut self, no: PageNo, page: &mut [u8], state: PageState) -> Result<(), String> {
        if state == PageState::Fresh {
            return self.fresh(no);
        }
        if fsp::is_descriptor_page(self.size, no) {
            self.descriptors.clear();
            self.descriptors.extend_from_slice(page);
        }
        let used = self.is_used(no);
        let (says, space) = (fil::page_no(page), fil::space_id(page));
        if says != no && (used || says != PageNo(0)) {
            return Err(format!("it is page {says}"));
        }
        if space != self.numbers.from && used {
            return Err(format!("it is of tablespace {space}, the file is of {}", self.numbers.from));
        }
        if used {
            self.used_page(no, page)?;
        }
        fil::set_page_no(page, no);
        fil::set_space_id(page, self.numbers.space);
        fil::set_both_lsn(page, self.size, self.numbers.lsn);
        Ok(())
    }

    /// A page that was never written.
    fn fresh(&self, no: PageNo) -> Result<(), String> {
        if fsp::is_descriptor_page(self.size, no) || !self.is_used(no) {
            return Ok(());
        }
        Err("it is in use and was never written".into())
    }

    fn is_used(&self, no: PageNo) -> bool {
        if self.descriptors.is_empty() || fsp::is_descriptor_page(self.size, no) {
            return true;
        }
        let extent = Xdes::of(self.size, &self.descriptors, no);
        let known = extent.state().is_ok_and(|state| state != fsp::ExtentState::NotInitialised);
        known && !extent.bitmap().is_free(fsp::in_extent(self.size, no))
    }

    fn used_page(&mut self, no: PageNo, page: &mut [u8]) -> Result<(), String> {
        match fil::page_type(page) {
            Some(PageType::FspHdr) if no == PageNo(0) => {
                put_u32(page, space_header::SPACE_ID, self.numbers.space.get());
                put_u32(page, space_header::FLAGS, self.numbers.flags.encode());
                fil::set_flush_lsn(page, self.numbers.lsn);
            }
            Some(PageType::Xdes | PageType::Inode | PageType::Blob | PageType::Allocated) => {}
            Some(PageType::IbufBitmap) => self.bitmap(no, page)?,
            Some(PageType::Index) => self.index_page(no, page).map_err(|e| format!("index page: {e}"))?,
            other => {
                return Err(format!("no page of a table: {}", other.map_or("unknown type", PageType::name)));
            }
        }
        Ok(())
    }

    /// A page of the change buffer's bits: of a file that was exported, or whose server was shut down slowly, nothing is buffered.
    fn bitmap(&self, no: PageNo, page: &mut [u8]) -> Result<(), String> {
        let first = no.get() - no.get() % self.size.pages_per_xdes_page();
        for of in (first..first + self.size.pages_per_xdes_page()).map(PageNo) {
            let mut bits = ibuf::get(self.size, page, of);
            if !bits.buffered && !bits.ibuf {
                continue;
            }
            if bits.buffered && self.is_used(of) {
                return Err(format!(
                    "changes of page {of} are in the change buffer of the server that it is from"
                ));
            }
            (bits.buffered, bits.ibuf) = (false, false);
            let (at, byte) = ibuf::with(self.size, page, of, bits);
            page[at] = byte;
        }
        Ok(())
    }

    fn index_page(&mut self, no: PageNo, page: &mut [u8]) -> Result<(), String> {
        let id = header::index_id(page);
        let tree = self.trees.iter().position(|tree| tree.from == id);
        let tree = tree.ok_or_else(|| format!("it is of index {id}, which the table does not have"))?;
        let Taken { def, root, .. } = &self.trees[tree];
        index_page::validate(page, Some(def)).map_err(|e| e.to_string())?;
        if no == *root {
            for segment in [header::LEAF_SEGMENT, header::TOP_SEGMENT] {
                put_u32(page, segment, self.numbers.space.get());
            }
        }
        let level = header::level(page);
        header::set_level_and_index(page, level, def.id());
        put_u64(page, header::MAX_TRX_ID, self.numbers.trx_id.0);
        let records = index_page::records(page).collect::<Result<SmallVec<[u16; 512]>, _>>();
        let records = records.map_err(|e| e.to_string())?;
        let of = (tree, &self.trees[tree]);
        self.shape.page(of, (no, page), &records, &mut self.offsets).map_err(|e| e.to_string())?;
        match level {
            0 => self.leaf(tree, no == *root, page, &records).map_err(|e| e.to_string()),
            _ => Ok(()),
        }
    }

    fn leaf(
        &mut self,
        tree: usize,
        is_root: bool,
        page: &mut [u8],
        records: &[u16],
    ) -> vaquita_format::Result<()> {
        let def = self.trees[tree].def.clone();
        let comp = def.layout().comp();
        for &rec in records {
            self.offsets.parse(page, rec, def.layout())?;
            let deleted = is_deleted(page, rec, comp);
            if deleted && !self.offsets.any_external() && (is_root || header::n_recs(page) > 1) {
                index_page::edit::delete(page, def.layout(), rec)?;
                continue;
            }
            if deleted {
                self.found.remember(tree, key_of(&def, |i| self.offsets.field(page, rec, i)));
            } else {
                self.entries.record(tree, page, rec, &self.offsets);
            }
            if def.is_clustered() {
                self.clustered_record(&def, rec, page);
            }
        }
        Ok(())
    }

    fn clustered_record(&mut self, def: &IndexDef, rec: u16, page: &mut [u8]) {
        let start = usize::from(rec);
        if def.is_generated() {
            let id = get_u48(page, start + self.offsets.range(0).start);
            self.found.row_id = self.found.row_id.max(id);
        }
        if let Some(at) = def.trx_id_pos() {
            put_u48(page, start + self.offsets.range(at).start, self.numbers.trx_id.0);
            put_u56(page, start + self.offsets.range(at + 1).start, UndoPlace::NOWHERE.encode().0);
        }
        if !self.offsets.any_external() {
            return;
        }
        for i in (0..self.offsets.n_fields()).filter(|&i| self.offsets.is_external(i)) {
            let reference = start + self.offsets.range(i).end - EXTERN_REF_LEN;
            put_u32(page, reference, self.numbers.space.get());
        }
    }
}

/// The fields by which a record is found.
pub(super) fn key_of<'r>(def: &IndexDef, field: impl Fn(usize) -> Option<&'r [u8]>) -> Values {
    let n_key = if def.is_clustered() { def.n_uniq() } else { def.n_fields() };
    (0..n_key).map(|i| field(i).map(<[u8]>::to_vec)).collect()
}

impl Found {
    /// Remembers a delete-marked record; whether there was room for it.
    pub(super) fn remember(&mut self, tree: usize, key: Values) -> bool {
        /// What a field costs, besides its bytes.
        const EACH: usize = 40;
        let bytes: usize = key.iter().map(|field| EACH + field.as_ref().map_or(0, Vec::len)).sum();
        if self.left_bytes + bytes > LEFT_MAX && !self.left.is_empty() {
            self.more_left = true;
            return false;
        }
        self.left_bytes += bytes;
        self.left.push((tree, key));
        true
    }
}
