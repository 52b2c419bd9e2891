//! `.frm` files: a table as MySQL's server layer sees it (little-endian).
//!
//! Beside the `.ibd` they tell what InnoDB does not know: ENUM and SET labels, DECIMAL's precision, digits of
//! fractions, zero filling, defaults, comments. And they suffice to read an `.ibd` that has no `.cfg`:
//! [`Frm::table_def`] derives InnoDB's columns and indexes.
//!
//! | part | at | holds |
//! |---|---|---|
//! | header | 0 | 64 bytes: magic `FE 01`, offsets and lengths of the parts, table options |
//! | keys | u16 at 6 | flags, parts, names, comments of keys |
//! | default record | keys + their length | a row in MySQL's row format |
//! | extra | after it | connection string, engine, partitions, long table comment |
//! | form | u32 at 64 + u16 at 4 | 288 bytes of counts, 17 bytes per column, names, labels, column comments |
//!
//! [`Frm::encode`] writes such a file as MySQL 5.6.24 does.
//!
//! What MariaDB and MySQL after 5.6 add is noticed ([`Extras`]), not read. Not read either: connection strings and tablespaces, which
//! InnoDB makes nothing of, views (their `.frm` is text), tables
//! from before MySQL 5.0's VARCHAR.

mod columns;
mod encode;
mod extras;
mod keys;
mod spelling;
mod table_def;

pub use columns::{ColumnDefault, FrmColumn, code};
pub use encode::Unwritable;
pub use extras::Extras;
pub use keys::{FrmKey, FrmKeyPart, key_flags};
pub use spelling::{GEOMETRIES, column_type};
pub use table_def::{FrmTable, FullTextIndex};

use crate::error::{Corruption, Result};
use crate::index_def::RowFormat;
use vaquita_base::codec::le;

/// Table options (header offset 30).
pub mod table_options {
    /// No reserved "deleted" bit before the null bits of rows.
    pub const PACK_RECORD: u16 = 1;
    /// PACK_KEYS=1.
    pub const PACK_KEYS: u16 = 2;
    /// Pointers of BLOBs have eight bytes; of all tables.
    pub const LONG_BLOB_POINTERS: u16 = 8;
    /// CHECKSUM=1.
    pub const CHECKSUM: u16 = 0x20;
    /// DELAY_KEY_WRITE=1.
    pub const DELAY_KEY_WRITE: u16 = 0x40;
    /// PACK_KEYS=0.
    pub const NO_PACK_KEYS: u16 = 0x80;
    /// STATS_PERSISTENT=1.
    pub const STATS_PERSISTENT: u16 = 0x1000;
    /// STATS_PERSISTENT=0.
    pub const NO_STATS_PERSISTENT: u16 = 0x2000;
}

/// ROW_FORMAT as declared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeclaredFormat {
    /// Not declared.
    Default,
    /// FIXED, which InnoDB ignores.
    Fixed,
    /// DYNAMIC.
    Dynamic,
    /// COMPRESSED.
    Compressed,
    /// REDUNDANT.
    Redundant,
    /// COMPACT.
    Compact,
}

/// The content of a `.frm` file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frm {
    /// Version of the server that wrote it, 50624 for 5.6.24.
    pub mysql_version: u32,
    /// Engine; `partition` for partitioned tables.
    pub engine: String,
    /// ROW_FORMAT.
    pub row_format: DeclaredFormat,
    /// KEY_BLOCK_SIZE in KiB, 0 if not declared.
    pub key_block_size: u16,
    /// The table's default collation.
    pub collation: u16,
    /// Bits of [`table_options`].
    pub options: u16,
    /// MAX_ROWS, 0 if not declared.
    pub max_rows: u32,
    /// MIN_ROWS, 0 if not declared.
    pub min_rows: u32,
    /// AVG_ROW_LENGTH, 0 if not declared.
    pub avg_row_length: u32,
    /// STATS_SAMPLE_PAGES, 0 if not declared.
    pub stats_sample_pages: u16,
    /// STATS_AUTO_RECALC: 1 on, 2 off, 0 if not declared.
    pub stats_auto_recalc: u8,
    /// Comment.
    pub comment: String,
    /// The PARTITION BY clause, empty if the table is not partitioned.
    pub partition_clause: String,
    /// Columns in table order.
    pub columns: Vec<FrmColumn>,
    /// Keys in the server's order: PRIMARY, UNIQUE NOT NULL, other UNIQUE, others, FULLTEXT.
    pub keys: Vec<FrmKey>,
    /// What MySQL 5.6 does not know.
    pub extras: Extras,
}

impl Frm {
    /// Reads a file.
    ///
    /// # Errors
    /// If it is not a table's `.frm`, is cut short, or its parts contradict each other.
    pub fn parse(bytes: &[u8]) -> Result<Frm> {
        let b = Le(bytes);
        if b.bytes(0, 2)? != [0xFE, 0x01] {
            let what = if bytes.starts_with(b"TYPE=VIEW") { "a view" } else { "no table's" };
            return Err(Corruption::new(".frm magic", format!("this is {what} definition")).at(0));
        }
        let options = b.u16(30)?;
        let keys_at = b.u16(6)? as usize;
        let keys_len = match b.u16(14)? {
            0xFFFF => b.u32(47)? as usize,
            n => usize::from(n),
        };
        let record_at = keys_at + keys_len;
        let record = b.bytes(record_at, usize::from(b.u16(16)?))?;
        let form_at = b.u32(64 + usize::from(b.u16(4)?))? as usize;
        let extra = Extra::parse(b, record_at + record.len())?;
        let row_format = match b.u8(40)? {
            1 => DeclaredFormat::Fixed,
            2 => DeclaredFormat::Dynamic,
            3 => DeclaredFormat::Compressed,
            4 => DeclaredFormat::Redundant,
            5 => DeclaredFormat::Compact,
            _ => DeclaredFormat::Default,
        };
        let mut columns = columns::parse(b, form_at, record, options & table_options::PACK_RECORD != 0)?;
        let mysql_version = b.u32(51)?;
        let mut extras = extras::parse(b, mysql_version, form_at, &columns)?;
        let keys = keys::parse(b, keys_at, keys_len, columns.len())?;
        if keys.iter().any(|k| k.parts.iter().any(|p| p.descending)) {
            extras.descending = true;
            extras.left_out.insert("descending order of keys");
        }
        let (comment, rest) = table_comment(b, form_at, extra.rest)?;
        let storage = column_storage(b, rest, columns.len()).unwrap_or_default();
        columns.iter_mut().zip(storage).for_each(|(column, &byte)| column.storage = byte);
        Ok(Frm {
            mysql_version,
            engine: extra.engine,
            row_format,
            key_block_size: b.u16(62)?,
            collation: u16::from(b.u8(41)?) << 8 | u16::from(b.u8(38)?),
            options,
            max_rows: b.u32(18)?,
            min_rows: b.u32(22)?,
            avg_row_length: b.u32(34)?,
            stats_sample_pages: b.u16(42)?,
            stats_auto_recalc: b.u8(44)?,
            comment,
            partition_clause: extra.partition_clause,
            columns,
            keys,
            extras,
        })
    }

    /// The row format a table declared like this has by the defaults of MySQL 5.6. The `.ibd` itself knows better.
    pub fn default_row_format(&self) -> RowFormat {
        match self.row_format {
            _ if self.key_block_size != 0 => RowFormat::Compressed,
            DeclaredFormat::Compressed => RowFormat::Compressed,
            DeclaredFormat::Dynamic => RowFormat::Dynamic,
            DeclaredFormat::Redundant => RowFormat::Redundant,
            DeclaredFormat::Default | DeclaredFormat::Fixed | DeclaredFormat::Compact => RowFormat::Compact,
        }
    }
}

/// What follows the default record; `rest` is the offset behind it, where a long comment may stand.
struct Extra {
    engine: String,
    partition_clause: String,
    rest: usize,
}

impl Extra {
    fn parse(b: Le<'_>, at: usize) -> Result<Extra> {
        let connect_len = usize::from(b.u16(at)?);
        let engine_at = at + 2 + connect_len;
        let engine = b.text(engine_at + 2, usize::from(b.u16(engine_at)?))?;
        let partition_at = engine_at + 2 + usize::from(b.u16(engine_at)?);
        let partition_len = b.u32(partition_at)? as usize;
        let partition_clause = b.text(partition_at + 4, partition_len)?;
        // A NUL after the clause, then whether the partitions were made automatically.
        Ok(Extra { engine, partition_clause, rest: partition_at + 4 + partition_len + 2 })
    }
}

/// The comment, and where what may be a long one ends.
fn table_comment(b: Le<'_>, form_at: usize, long_at: usize) -> Result<(String, usize)> {
    match b.u8(form_at + 46)? {
        0xFF => {
            let len = usize::from(b.u16(long_at)?);
            Ok((b.text(long_at + 2, len)?, long_at + 2 + len))
        }
        len => Ok((b.text(form_at + 47, usize::from(len))?, long_at)),
    }
}

/// The bytes of columns at the end of the extra section, if it ends as that of MySQL 5.6 does.
fn column_storage(b: Le<'_>, at: usize, columns: usize) -> Option<&[u8]> {
    let len = usize::from(b.u16(at).ok()?);
    let section = b.bytes(at, len).ok()?;
    let names = len.checked_sub(columns).filter(|&n| n >= 9)?;
    // A tablespace's name ends there.
    (section[names - 1] == 0).then(|| &section[names..])
}

/// Checked little-endian access.
#[derive(Clone, Copy)]
struct Le<'a>(&'a [u8]);

impl<'a> Le<'a> {
    fn bytes(self, at: usize, len: usize) -> Result<&'a [u8]> {
        at.checked_add(len).and_then(|end| self.0.get(at..end)).ok_or_else(|| {
            Corruption::new(".frm length", format!("{len} bytes are not within {}", self.0.len())).at(at)
        })
    }

    fn u8(self, at: usize) -> Result<u8> {
        Ok(self.bytes(at, 1)?[0])
    }

    fn u16(self, at: usize) -> Result<u16> {
        Ok(le::get_uint(self.bytes(at, 2)?, 0, 2) as u16)
    }

    fn u24(self, at: usize) -> Result<u32> {
        Ok(le::get_uint(self.bytes(at, 3)?, 0, 3) as u32)
    }

    fn u32(self, at: usize) -> Result<u32> {
        Ok(le::get_uint(self.bytes(at, 4)?, 0, 4) as u32)
    }

    /// Text of the server layer, which is UTF-8.
    fn text(self, at: usize, len: usize) -> Result<String> {
        Ok(String::from_utf8_lossy(self.bytes(at, len)?).into_owned())
    }
}

#[cfg(test)]
mod tests;
