//! InnoDB's columns and indexes, derived from a `.frm`.
//!
//! Rules (see also [`crate::index_def`]): the clustered index comes first, then a hidden FTS_DOC_ID_INDEX if a FULLTEXT
//! key needs one the user did not declare, then the other keys in the server's order; FULLTEXT keys have no trees.
//!
//! A `.frm` cannot tell: a hidden FTS_DOC_ID that outlived its last FULLTEXT key, and the order in which ALTER TABLE
//! added trees.

use super::columns::{FrmColumn, code, is_number};
use super::{Frm, FrmKey};
use crate::charset::Charset;
use crate::column::{self, ColumnDef, MType, mysql_type, prtype};
use crate::error::{Corruption, Result};
use crate::index_def::{IndexDef, IndexSpec, KeyPart, RowFormat, cluster_key};
use crate::page_size::PageSize;
use vaquita_base::IndexId;

/// Name of the document id of FULLTEXT tables.
const FTS_DOC_ID: &str = "FTS_DOC_ID";
/// Name of the index on it.
const FTS_DOC_ID_INDEX: &str = "FTS_DOC_ID_INDEX";

/// A FULLTEXT index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FullTextIndex {
    /// Name.
    pub name: String,
    /// Positions of its columns.
    pub columns: Vec<usize>,
}

/// A table as InnoDB stores it.
#[derive(Debug, Clone)]
pub struct FrmTable {
    /// User columns, a hidden FTS_DOC_ID last.
    pub columns: Vec<ColumnDef>,
    /// Indexes with trees, the clustered one first.
    pub indexes: Vec<IndexDef>,
    /// FULLTEXT indexes.
    pub fulltext: Vec<FullTextIndex>,
}

impl Frm {
    /// Columns and indexes of the table in this page size and row format. `ids` numbers the trees in order; where it
    /// is too short they get number 0.
    ///
    /// # Errors
    /// If a column has a type InnoDB does not store or a collation that does not exist.
    pub fn table_def(&self, page_size: PageSize, row_format: RowFormat, ids: &[IndexId]) -> Result<FrmTable> {
        self.table_def_with(page_size, row_format, ids, false)
    }

    /// As [`Frm::table_def`]; with `kept_doc_id` for a table that had a FULLTEXT index once and has kept the hidden
    /// FTS_DOC_ID and its index, of which the `.frm` tells nothing.
    ///
    /// # Errors
    /// As [`Frm::table_def`].
    pub fn table_def_with(
        &self,
        page_size: PageSize,
        row_format: RowFormat,
        ids: &[IndexId],
        kept_doc_id: bool,
    ) -> Result<FrmTable> {
        let mut columns = self.columns.iter().map(FrmColumn::to_def).collect::<Result<Vec<_>>>()?;
        let fulltext: Vec<FullTextIndex> =
            self.keys.iter().filter(|k| k.is_fulltext()).map(full_text).collect();
        let has_doc_id = columns.iter().any(|c| c.name == FTS_DOC_ID);
        let needs_doc_id = kept_doc_id || !fulltext.is_empty();
        if needs_doc_id && !has_doc_id {
            let unsigned = u32::from(mysql_type::LONG) | prtype::BINARY_TYPE | prtype::UNSIGNED;
            columns.push(ColumnDef::new(FTS_DOC_ID, MType::Int, unsigned, 8).not_null());
        }
        let trees: Vec<(&FrmKey, Vec<KeyPart>)> =
            self.keys.iter().filter(|k| !k.is_fulltext()).map(|k| (k, self.key_parts(k))).collect();
        let primary = trees.iter().find(|(k, _)| k.is_primary()).map(|(_, p)| &p[..]);
        let unique = trees.iter().filter(|(k, _)| k.is_unique()).map(|(_, p)| &p[..]);
        let cluster = cluster_key(&columns, primary, unique);
        let is_cluster = |p: &[KeyPart]| cluster.is_some_and(|c| std::ptr::eq(c, p));

        let mut numbers = ids.iter().copied();
        let mut spec = |name: &str| IndexSpec {
            id: numbers.next().unwrap_or_default(),
            name: name.to_owned(),
            row_format,
            page_size,
        };
        let cluster_name =
            trees.iter().find(|(_, p)| is_cluster(p)).map_or("GEN_CLUST_INDEX", |(k, _)| &k.name);
        let clustered = IndexDef::clustered(spec(cluster_name), &columns, cluster)?;
        let mut indexes = Vec::with_capacity(trees.len() + 2);
        let declared = self.keys.iter().any(|k| k.name == FTS_DOC_ID_INDEX);
        if needs_doc_id && !declared {
            let doc_id = columns.iter().position(|c| c.name == FTS_DOC_ID).unwrap_or_default();
            let parts = [KeyPart::whole(doc_id)];
            indexes.push(IndexDef::secondary(spec(FTS_DOC_ID_INDEX), &columns, &parts, true, &clustered)?);
        }
        for (key, parts) in trees.iter().filter(|(_, p)| !is_cluster(p)) {
            let spec = spec(&key.name);
            indexes.push(IndexDef::secondary(spec, &columns, parts, key.is_unique(), &clustered)?);
        }
        indexes.insert(0, clustered);
        Ok(FrmTable { columns, indexes, fulltext })
    }

    fn key_parts(&self, key: &FrmKey) -> Vec<KeyPart> {
        let part = |p: &super::FrmKeyPart| {
            let column = &self.columns[p.column];
            if column.is_prefix(p.length) {
                KeyPart::prefix(p.column, u32::from(p.length))
            } else {
                KeyPart::whole(p.column)
            }
        };
        key.parts.iter().map(part).collect()
    }
}

impl FrmColumn {
    /// Whether a key part of this length is a prefix of the column: only text and bytes have prefixes, and a BLOB in a key
    /// always is one.
    pub fn is_prefix(&self, length: u16) -> bool {
        let column = self;
        match column.type_code {
            code::VARCHAR | code::STRING => u32::from(length) < column.length,
            code::TINY_BLOB | code::BLOB | code::MEDIUM_BLOB | code::LONG_BLOB | code::GEOMETRY => true,
            _ => false,
        }
    }
}

fn full_text(key: &FrmKey) -> FullTextIndex {
    FullTextIndex { name: key.name.clone(), columns: key.parts.iter().map(|p| p.column).collect() }
}

impl FrmColumn {
    /// InnoDB's description of the column.
    ///
    /// # Errors
    /// A type InnoDB does not store, a collation that does not exist.
    pub fn to_def(&self) -> Result<ColumnDef> {
        let c = self;
        let name = c.name.as_str();
        let fsp = u32::from(c.fsp());
        let old = |code: u8, len: u32, flags: u32| {
            ColumnDef::new(name, MType::Int, u32::from(code) | prtype::BINARY_TYPE | flags, len)
        };
        let def = match c.type_code {
            code::TINY => ColumnDef::int(name, 1, c.unsigned),
            code::SHORT => ColumnDef::int(name, 2, c.unsigned),
            code::INT24 => ColumnDef::int(name, 3, c.unsigned),
            code::LONG => ColumnDef::int(name, 4, c.unsigned),
            code::LONGLONG => ColumnDef::int(name, 8, c.unsigned),
            code::FLOAT => ColumnDef::float(name),
            code::DOUBLE => ColumnDef::double(name),
            code::NEWDECIMAL => ColumnDef::decimal(name, c.precision(), u32::from(c.decimals.unwrap_or(0))),
            code::BIT => ColumnDef::bit(name, c.length),
            code::YEAR => ColumnDef::year(name),
            code::DATE => ColumnDef::date(name),
            code::TIME => ColumnDef::time(name, fsp),
            code::DATETIME => ColumnDef::datetime(name, fsp),
            code::TIMESTAMP => ColumnDef::timestamp(name, fsp),
            code::OLD_TIME => old(mysql_type::TIME, 3, 0),
            code::OLD_DATETIME => old(mysql_type::DATETIME, 8, 0),
            code::OLD_TIMESTAMP => old(mysql_type::TIMESTAMP, 4, prtype::UNSIGNED),
            code::ENUM => ColumnDef::enumeration(name, c.labels.len() as u32),
            code::SET => ColumnDef::set(name, c.labels.len() as u32),
            code::TINY_BLOB => blob(c, 1)?,
            code::BLOB => blob(c, 2)?,
            code::MEDIUM_BLOB => blob(c, 3)?,
            code::LONG_BLOB => blob(c, 4)?,
            code::GEOMETRY => {
                let bits =
                    u32::from(column::BINARY_COLLATION) << prtype::COLLATION_SHIFT | prtype::BINARY_TYPE;
                ColumnDef::new(name, MType::Blob, u32::from(mysql_type::GEOMETRY) | bits, 12)
                    .with_mbminmaxlen(6)
            }
            code::VARCHAR => match charset(c)? {
                Some(cs) => ColumnDef::varchar(name, c.length / u32::from(cs.mbmaxlen), cs),
                None => ColumnDef::varbinary(name, c.length),
            },
            code::STRING => match charset(c)? {
                Some(cs) => ColumnDef::char(name, c.length / u32::from(cs.mbmaxlen), cs),
                None => ColumnDef::binary(name, c.length),
            },
            other => return Err(Corruption::new(".frm column type", format!("{other} of {name}"))),
        };
        let def = if c.unsigned && is_number(c.type_code) { def.unsigned() } else { def };
        Ok(if c.nullable { def } else { def.not_null() })
    }
}

fn blob(c: &FrmColumn, length_bytes: u32) -> Result<ColumnDef> {
    Ok(match charset(c)? {
        Some(cs) => ColumnDef::text_blob(c.name.as_str(), length_bytes, cs),
        None => ColumnDef::blob(c.name.as_str(), length_bytes),
    })
}

/// The character set of a text column, `None` for bytes.
fn charset(c: &FrmColumn) -> Result<Option<column::Charset>> {
    let found = Charset::of_any_collation(c.collation)
        .ok_or_else(|| Corruption::new(".frm collation", format!("{} of {}", c.collation, c.name)))?;
    Ok((found != Charset::BINARY).then_some(column::Charset {
        collation: c.collation,
        mbminlen: found.mb_min_len,
        mbmaxlen: found.mb_max_len,
    }))
}
