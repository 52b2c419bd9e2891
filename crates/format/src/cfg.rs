//! `.cfg` files: what FLUSH TABLES .. FOR EXPORT writes beside an `.ibd`, and IMPORT TABLESPACE reads.
//!
//! All integers big-endian; a string is its length **including** a final NUL, the bytes, the NUL.
//!
//! | what | fields |
//! |---|---|
//! | head | version u32 = 1, host name, table name `db/table`, AUTO_INCREMENT u64, page size u32, table flags u32, columns u32 |
//! | column | prtype, mtype, len, mbminmaxlen, position, is part of an order (0, 1), longest prefix: u32 each; name |
//! | indexes | count u32 |
//! | index | id u64, space, root page, type, trx id offset, user's columns, unique fields, nullable fields, fields: u32 each; name |
//! | field | prefix length u32, fixed length u32, column name |
//!
//! The columns are the user's, a hidden FTS_DOC_ID if there is one, DB_ROW_ID, DB_TRX_ID, DB_ROLL_PTR. FULLTEXT
//! indexes are listed, with no root. The file ends after the last field.
//!
//! # Invariants
//! - I1: what [`TableMeta::parse`] accepts, [`TableMeta::write`] gives back byte for byte.
//! - I2: a file describes its columns and indexes redundantly; [`TableMeta::index_defs`] believes the fields as listed,
//!   as IMPORT does, and [`TableMeta::describe`] computes all the rest from definitions.

use vaquita_base::codec::{Reader, push_u32, push_u64};
use vaquita_base::{IndexId, PageNo, SpaceId};

use crate::column::{ColumnDef, MType};
use crate::error::{Corruption, Result};
use crate::index_def::{FieldDef, IndexDef, IndexKind, IndexSpec, RowFormat};
use crate::page_size::PageSize;

/// The only version there is.
const VERSION: u32 = 1;

/// Bits of [`CfgIndex::kind`], also of SYS_INDEXES.TYPE.
pub mod index_type {
    /// Holds the rows.
    pub const CLUSTERED: u32 = 1;
    /// No two entries with equal keys.
    pub const UNIQUE: u32 = 2;
    /// FULLTEXT: no tree of its own.
    pub const FULLTEXT: u32 = 32;
}

/// A column as the file describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CfgColumn {
    /// Name, types, lengths.
    pub column: ColumnDef,
    /// Position in the table.
    pub position: u32,
    /// Whether some index is ordered by it (0 or 1).
    pub ord_part: u32,
    /// The longest prefix that orders some index, in bytes; 0 if none does. Indexes of the whole column do not count.
    pub max_prefix: u32,
}

/// A field of an index as the file describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CfgField {
    /// Bytes of the column's prefix, 0 for the whole column.
    pub prefix_len: u32,
    /// Bytes of every value, 0 for variable length.
    pub fixed_len: u32,
    /// Name of the column.
    pub column: String,
}

/// An index as the file describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CfgIndex {
    /// Number of the index.
    pub id: IndexId,
    /// Tablespace.
    pub space: SpaceId,
    /// Root page; none for FULLTEXT.
    pub root: PageNo,
    /// Bits of [`index_type`].
    pub kind: u32,
    /// Offset of DB_TRX_ID in clustered records if all fields before it are of fixed length, else 0.
    pub trx_id_offset: u32,
    /// Columns the user declared.
    pub n_user_defined: u32,
    /// Fields that identify a record.
    pub n_uniq: u32,
    /// Fields that may be NULL.
    pub n_nullable: u32,
    /// Name.
    pub name: String,
    /// All fields, the appended ones and system columns too.
    pub fields: Vec<CfgField>,
}

impl CfgIndex {
    /// Whether it is FULLTEXT and thus has no tree.
    pub fn is_fulltext(&self) -> bool {
        self.kind & index_type::FULLTEXT != 0
    }
}

/// The content of a `.cfg` file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableMeta {
    /// The host that exported the table.
    pub hostname: String,
    /// `db/table`, in the encoding of file names.
    pub name: String,
    /// Next AUTO_INCREMENT value, 0 if there is none.
    pub autoinc: u64,
    /// Logical page size.
    pub page_size: u32,
    /// Table flags; bit 0 tells COMPACT from REDUNDANT (unlike in SYS_TABLES).
    pub flags: u32,
    /// Columns, the system columns last.
    pub columns: Vec<CfgColumn>,
    /// Indexes, the clustered one first.
    pub indexes: Vec<CfgIndex>,
}

impl TableMeta {
    /// Reads a file.
    ///
    /// # Errors
    /// If it ends early or has bytes left, or a value that no exporting server writes.
    pub fn parse(bytes: &[u8]) -> Result<TableMeta> {
        let mut r = Reader::new(bytes);
        let version = r.u32()?;
        if version != VERSION {
            return Err(Corruption::new(".cfg version", format!("{version}, only {VERSION} is known")).at(0));
        }
        let (hostname, name) = (string(&mut r)?, string(&mut r)?);
        let (autoinc, page_size, flags) = (r.u64()?, r.u32()?, r.u32()?);
        let columns = counted(&mut r, 32, column)?;
        let indexes = counted(&mut r, 44, index)?;
        if !r.is_empty() {
            let detail = format!("{} bytes follow the last index", r.rest().len());
            return Err(Corruption::new(".cfg length", detail).at(r.pos()));
        }
        Ok(TableMeta { hostname, name, autoinc, page_size, flags, columns, indexes })
    }

    /// The file's bytes.
    pub fn write(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(1024);
        push_u32(&mut out, VERSION);
        push_string(&mut out, &self.hostname);
        push_string(&mut out, &self.name);
        push_u64(&mut out, self.autoinc);
        push_u32(&mut out, self.page_size);
        push_u32(&mut out, self.flags);
        push_u32(&mut out, self.columns.len() as u32);
        for c in &self.columns {
            let d = &c.column;
            for v in [d.prtype, d.mtype.code(), d.len, d.mbminmaxlen(), c.position, c.ord_part, c.max_prefix]
            {
                push_u32(&mut out, v);
            }
            push_string(&mut out, &d.name);
        }
        push_u32(&mut out, self.indexes.len() as u32);
        for i in &self.indexes {
            push_u64(&mut out, i.id.get());
            let n_fields = i.fields.len() as u32;
            let counts = [i.trx_id_offset, i.n_user_defined, i.n_uniq, i.n_nullable, n_fields];
            for v in [i.space.get(), i.root.get(), i.kind].into_iter().chain(counts) {
                push_u32(&mut out, v);
            }
            push_string(&mut out, &i.name);
            for f in &i.fields {
                push_u32(&mut out, f.prefix_len);
                push_u32(&mut out, f.fixed_len);
                push_string(&mut out, &f.column);
            }
        }
        out
    }

    /// The row format the flags tell.
    pub fn row_format(&self) -> RowFormat {
        row_format_of_flags(self.flags)
    }

    /// The page size, with the compressed size of the flags.
    ///
    /// # Errors
    /// If there is no such page size.
    pub fn page_size(&self) -> Result<PageSize> {
        let logical = self.page_size as usize;
        match self.flags >> 1 & 0xF {
            0 => PageSize::new(logical),
            n => PageSize::compressed(logical, 512 << n),
        }
        .ok_or_else(|| {
            Corruption::new(".cfg page size", format!("{logical} with table flags {:#x}", self.flags))
        })
    }

    /// The columns but the three system columns.
    pub fn user_columns(&self) -> impl Iterator<Item = &ColumnDef> {
        self.columns.iter().map(|c| &c.column).filter(|c| c.mtype != MType::Sys)
    }

    /// The definitions of all indexes that have trees, in the order of the file.
    ///
    /// # Errors
    /// If a field names no column or counts contradict each other.
    pub fn index_defs(&self) -> Result<Vec<IndexDef>> {
        self.indexes.iter().filter(|i| !i.is_fulltext()).map(|i| self.index_def(i)).collect()
    }

    fn index_def(&self, index: &CfgIndex) -> Result<IndexDef> {
        let spec = IndexSpec {
            id: index.id,
            name: index.name.clone(),
            row_format: self.row_format(),
            page_size: self.page_size()?,
        };
        let field = |f: &CfgField| {
            let column = self.columns.iter().find(|c| c.column.name == f.column).ok_or_else(|| {
                Corruption::new(".cfg index field", format!("{} of {} is no column", f.column, index.name))
            })?;
            Ok(FieldDef {
                column: column.column.clone(),
                prefix_len: f.prefix_len,
                fixed_len: f.fixed_len,
                descending: false,
                instant: None,
            })
        };
        let fields = index.fields.iter().map(field).collect::<Result<Vec<_>>>()?;
        let kind =
            if index.kind & index_type::CLUSTERED != 0 { IndexKind::Clustered } else { IndexKind::Secondary };
        let unique = index.kind & index_type::UNIQUE != 0;
        IndexDef::from_fields(spec, kind, unique, fields, index.n_uniq as usize)
    }

    /// Describes a table for export: `user_columns` in table order (a hidden FTS_DOC_ID last), trees and FULLTEXT
    /// indexes in the order of their definition.
    pub fn describe(
        head: TableHead,
        user_columns: &[ColumnDef],
        indexes: &[DescribedIndex<'_>],
    ) -> TableMeta {
        let system = [ColumnDef::db_row_id(), ColumnDef::db_trx_id(), ColumnDef::db_roll_ptr()];
        let describe_column = |(position, column): (usize, ColumnDef)| {
            let (ord_part, max_prefix) = order_of_column(&column, indexes);
            CfgColumn { column, position: position as u32, ord_part: u32::from(ord_part), max_prefix }
        };
        TableMeta {
            hostname: head.hostname,
            name: head.name,
            autoinc: head.autoinc,
            page_size: head.page_size.logical() as u32,
            flags: head.flags,
            columns: user_columns.iter().cloned().chain(system).enumerate().map(describe_column).collect(),
            indexes: indexes.iter().map(|i| i.describe(head.space)).collect(),
        }
    }
}

/// What [`TableMeta::describe`] cannot find in the definitions.
#[derive(Debug, Clone)]
pub struct TableHead {
    /// The exporting host.
    pub hostname: String,
    /// `db/table`, in the encoding of file names.
    pub name: String,
    /// Next AUTO_INCREMENT value, 0 if there is none.
    pub autoinc: u64,
    /// Page size.
    pub page_size: PageSize,
    /// Table flags with bit 0 = COMPACT family.
    pub flags: u32,
    /// Tablespace.
    pub space: SpaceId,
}

/// An index to be described.
#[derive(Debug, Clone, Copy)]
pub enum DescribedIndex<'a> {
    /// One with a tree.
    Tree {
        /// Its definition.
        def: &'a IndexDef,
        /// Its root.
        root: PageNo,
        /// Columns the user declared (0 for a generated clustered index).
        n_user_defined: usize,
    },
    /// A FULLTEXT index.
    FullText {
        /// Its number.
        id: IndexId,
        /// Its name.
        name: &'a str,
        /// Its columns.
        columns: &'a [ColumnDef],
    },
}

impl DescribedIndex<'_> {
    fn describe(&self, space: SpaceId) -> CfgIndex {
        match *self {
            DescribedIndex::Tree { def, root, n_user_defined } => {
                let unique = if def.is_unique() { index_type::UNIQUE } else { 0 };
                let clustered = if def.is_clustered() { index_type::CLUSTERED } else { 0 };
                let field = |f: &FieldDef| CfgField {
                    prefix_len: f.prefix_len,
                    fixed_len: f.fixed_len,
                    column: f.column.name.clone(),
                };
                CfgIndex {
                    id: def.id(),
                    space,
                    root,
                    kind: unique | clustered,
                    trx_id_offset: fixed_trx_id_offset(def),
                    n_user_defined: n_user_defined as u32,
                    n_uniq: def.n_uniq() as u32,
                    n_nullable: def.fields().iter().filter(|f| f.column.is_nullable()).count() as u32,
                    name: def.name().to_owned(),
                    fields: def.fields().iter().map(field).collect(),
                }
            }
            DescribedIndex::FullText { id, name, columns } => {
                let field = |c: &ColumnDef| CfgField { prefix_len: 0, fixed_len: 0, column: c.name.clone() };
                CfgIndex {
                    id,
                    space,
                    root: PageNo::NULL,
                    kind: index_type::FULLTEXT,
                    trx_id_offset: 0,
                    n_user_defined: columns.len() as u32,
                    n_uniq: 0,
                    n_nullable: columns.iter().filter(|c| c.is_nullable()).count() as u32,
                    name: name.to_owned(),
                    fields: columns.iter().map(field).collect(),
                }
            }
        }
    }

    /// The fields that order the tree.
    fn ordering(&self) -> &[FieldDef] {
        match self {
            DescribedIndex::Tree { def, .. } => &def.fields()[..def.n_uniq_in_tree()],
            DescribedIndex::FullText { .. } => &[],
        }
    }
}

/// The row format that table flags with a true COMPACT bit tell.
pub fn row_format_of_flags(flags: u32) -> RowFormat {
    match (flags & 1, flags >> 1 & 0xF, flags & 1 << 5) {
        (_, 1.., _) => RowFormat::Compressed,
        (_, _, 1..) => RowFormat::Dynamic,
        (0, ..) => RowFormat::Redundant,
        _ => RowFormat::Compact,
    }
}

fn fixed_trx_id_offset(def: &IndexDef) -> u32 {
    let Some(pos) = def.trx_id_pos() else { return 0 };
    let before = &def.fields()[..pos];
    if before.iter().all(|f| f.fixed_len != 0) { before.iter().map(|f| f.fixed_len).sum() } else { 0 }
}

/// Whether some index is ordered by the column, and the longest prefix that orders one.
fn order_of_column(column: &ColumnDef, indexes: &[DescribedIndex<'_>]) -> (bool, u32) {
    let parts = indexes.iter().flat_map(DescribedIndex::ordering).filter(|f| f.column.name == column.name);
    let longest = parts.map(|f| f.prefix_len).max();
    (longest.is_some(), longest.unwrap_or(0))
}

/// A count, then that many items of at least `least` bytes: no more than the input can hold.
fn counted<T>(
    r: &mut Reader<'_>,
    least: usize,
    item: impl Fn(&mut Reader<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    let at = r.pos();
    let n = r.u32()? as usize;
    if n > r.rest().len() / least {
        return Err(Corruption::new(".cfg count", format!("{n} items in {} bytes", r.rest().len())).at(at));
    }
    (0..n).map(|_| item(r)).collect()
}

fn column(r: &mut Reader<'_>) -> Result<CfgColumn> {
    let at = r.pos();
    let (prtype, mtype, len, mbminmaxlen) = (r.u32()?, r.u32()?, r.u32()?, r.u32()?);
    let (position, ord_part, max_prefix) = (r.u32()?, r.u32()?, r.u32()?);
    if mbminmaxlen / 5 > 255 {
        return Err(Corruption::new(".cfg character lengths", format!("{mbminmaxlen}")).at(at));
    }
    let mtype = MType::from_code(mtype).map_err(|e| e.at(at))?;
    let column = ColumnDef::new(string(r)?, mtype, prtype, len).with_mbminmaxlen(mbminmaxlen);
    Ok(CfgColumn { column, position, ord_part, max_prefix })
}

fn index(r: &mut Reader<'_>) -> Result<CfgIndex> {
    let id = IndexId(r.u64()?);
    let (space, root, kind) = (SpaceId(r.u32()?), PageNo(r.u32()?), r.u32()?);
    let (trx_id_offset, n_user_defined, n_uniq, n_nullable) = (r.u32()?, r.u32()?, r.u32()?, r.u32()?);
    let n_fields = r.u32()? as usize;
    let name = string(r)?;
    if n_fields > r.rest().len() / 12 {
        return Err(Corruption::new(".cfg fields of an index", format!("{n_fields} of {name}")).at(r.pos()));
    }
    let field = |_| Ok(CfgField { prefix_len: r.u32()?, fixed_len: r.u32()?, column: string(r)? });
    let fields = (0..n_fields).map(field).collect::<Result<_>>()?;
    Ok(CfgIndex { id, space, root, kind, trx_id_offset, n_user_defined, n_uniq, n_nullable, name, fields })
}

fn string(r: &mut Reader<'_>) -> Result<String> {
    let at = r.pos();
    let len = r.u32()? as usize;
    let bytes = r.bytes(len)?;
    match bytes.split_last() {
        Some((0, text)) if !text.contains(&0) => String::from_utf8(text.to_vec())
            .map_err(|_| Corruption::new(".cfg string", "is not UTF-8").at(at)),
        _ => Err(Corruption::new(".cfg string", "does not end with its only NUL").at(at)),
    }
}

fn push_string(out: &mut Vec<u8>, s: &str) {
    push_u32(out, s.len() as u32 + 1);
    out.extend_from_slice(s.as_bytes());
    out.push(0);
}

#[cfg(test)]
mod tests;
