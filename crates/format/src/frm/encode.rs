//! Writing a `.frm` as MySQL 5.6.24 writes it, byte for byte.
//!
//! The parts follow each other as in the table of [`super`]. What a reader does not need and the server writes all the same:
//!
//! | part | what |
//! |---|---|
//! | header, at 10 | where the form section ends, with room for it to grow: see [`form_room`] |
//! | keys | room for [`KEY_ROOM`] bytes per key and 16 more, of which the first u16 at 28 are used |
//! | extra | at its end u16 with its length, u32 and u16 of zeros, no tablespace, and a byte for each column ([`super::FrmColumn::storage`]) |
//! | form | at its start its length and its room; screens of columns ([`form`]) |
//!
//! Not written: what only later servers have ([`super::Extras`]), other engines than InnoDB, a connection string, and parsers of
//! FULLTEXT keys, which MySQL 5.6 has as plugins only.

mod form;
mod record;

use super::columns::code;
use super::keys::{FrmKey, key_flags};
use super::{DeclaredFormat, Frm};
use std::fmt;
use vaquita_base::codec::le;

/// Where the keys begin, and what the form section is aligned to.
const BLOCK: usize = 4096;
const HEADER: usize = 64;
/// Reserved for each key: its 8 bytes, 16 parts of 9, a name of 64 characters of 3 bytes and its mark.
const KEY_ROOM: usize = 8 + 16 * 9 + 64 * 3 + 1;
/// Types of engines in the header.
mod engine_type {
    pub(super) const INNODB: u8 = 12;
    pub(super) const PARTITION: u8 = 20;
}

/// What a `.frm` of MySQL 5.6 cannot say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unwritable(pub String);

impl fmt::Display for Unwritable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unwritable {}

type Result<T> = std::result::Result<T, Unwritable>;

fn unwritable<T>(what: impl Into<String>) -> Result<T> {
    Err(Unwritable(what.into()))
}

/// A number that has to fit two bytes there.
fn two_bytes(n: usize, what: &str) -> Result<u16> {
    u16::try_from(n).or_else(|_| unwritable(format!("{n} {what}")))
}

/// Little-endian fields, one after the other.
#[derive(Debug, Default)]
struct Out(Vec<u8>);

impl Out {
    fn u8(&mut self, v: u8) {
        self.0.push(v);
    }

    fn u16(&mut self, v: u16) {
        self.uint(2, v.into());
    }

    fn uint(&mut self, n: usize, v: u64) {
        let at = self.0.len();
        self.0.resize(at + n, 0);
        le::put_uint(&mut self.0, at, n, v);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn zeros(&mut self, n: usize) {
        self.0.resize(self.0.len() + n, 0);
    }
}

impl Frm {
    /// The file.
    ///
    /// # Errors
    /// What a `.frm` of MySQL 5.6 cannot say, by name.
    pub fn encode(&self) -> Result<Vec<u8>> {
        self.check()?;
        let layout = record::Layout::of(self)?;
        let keys = self.key_section(&layout)?;
        let record = layout.default_record(self)?;
        let extra = self.extra_section()?;
        let form_at = (BLOCK + keys.bytes.len() + record.len() + extra.len()).next_multiple_of(BLOCK);
        let form = form::encode(self, &layout)?;
        let mut out = self.header(&keys, record.len(), extra.len(), form_at, form_room(form.len()))?;
        out.resize(BLOCK, 0);
        for part in [&keys.bytes, &record, &extra] {
            out.extend_from_slice(part);
        }
        out.resize(form_at, 0);
        out.extend_from_slice(&form);
        Ok(out)
    }

    fn check(&self) -> Result<()> {
        if let Some(why) = self.extras.unreadable.first() {
            return unwritable(why.clone());
        }
        if let Some(what) = self.extras.left_out.first() {
            return unwritable(*what);
        }
        if self.columns.is_empty() {
            return unwritable("a table without columns");
        }
        for column in &self.columns {
            if matches!(column.type_code, code::OLD_TIME | code::OLD_DATETIME | code::OLD_TIMESTAMP) {
                return unwritable(format!("column {} of a type from before MySQL 5.6", column.name));
            }
        }
        Ok(())
    }

    fn header(
        &self,
        keys: &Keys,
        record_len: usize,
        extra_len: usize,
        form_at: usize,
        room: usize,
    ) -> Result<Vec<u8>> {
        const NAMES: &[u8] = b"//\0";
        let varchar = self.columns.iter().any(|c| c.type_code == code::VARCHAR);
        let (engine, of_parts) = match self.engine.as_str() {
            "InnoDB" => (engine_type::INNODB, 0),
            "partition" => (engine_type::PARTITION, engine_type::INNODB),
            other => return unwritable(format!("engine {other}")),
        };
        let mut out = vec![0; HEADER];
        let mut put = |at, n, v: u64| le::put_uint(&mut out, at, n, v);
        put(0, 2, 0x01FE);
        put(2, 1, if varchar { 10 } else { 9 });
        put(3, 1, engine.into());
        put(4, 2, NAMES.len() as u64);
        put(6, 2, BLOCK as u64);
        put(8, 2, 1);
        put(10, 4, (form_at + room) as u64);
        put(14, 2, keys.bytes.len().min(0xFFFF) as u64);
        put(16, 2, two_bytes(record_len, "bytes in a row")?.into());
        put(18, 4, self.max_rows.into());
        put(22, 4, self.min_rows.into());
        put(27, 1, 2);
        // It has no more than the low half.
        put(28, 2, (keys.used & 0xFFFF) as u64);
        put(30, 2, self.options.into());
        put(33, 1, 5);
        put(34, 4, self.avg_row_length.into());
        put(38, 1, (self.collation & 0xFF).into());
        put(40, 1, row_format(self.row_format).into());
        put(41, 1, (self.collation >> 8).into());
        put(42, 2, self.stats_sample_pages.into());
        put(44, 1, self.stats_auto_recalc.into());
        put(47, 4, keys.bytes.len() as u64);
        put(51, 4, self.mysql_version.into());
        put(55, 4, extra_len as u64);
        put(61, 1, of_parts.into());
        put(62, 2, self.key_block_size.into());
        out.extend_from_slice(NAMES);
        let at = out.len();
        out.resize(at + 4, 0);
        le::put_uint(&mut out, at, 4, form_at as u64);
        Ok(out)
    }

    fn key_section(&self, layout: &record::Layout) -> Result<Keys> {
        let parts: usize = self.keys.iter().map(|k| k.parts.len()).sum();
        let (n_keys, n_parts) = (self.keys.len(), two_bytes(parts, "parts of keys")?);
        let names: usize = self.keys.iter().map(|k| k.name.len() + 1).sum::<usize>() + 2;
        let mut out = Out::default();
        if n_keys > 127 || n_parts > 127 {
            if n_keys > 0x7FFF {
                return unwritable(format!("{n_keys} keys"));
            }
            out.u8(0x80 | (n_keys & 0x7F) as u8);
            out.u8((n_keys >> 7) as u8);
            out.u16(n_parts);
        } else {
            out.bytes(&[n_keys as u8, n_parts as u8, 0, 0]);
        }
        let comments: usize = self.keys.iter().map(FrmKey::comment_room).sum();
        // It has no more than the low half.
        out.u16(((names + comments) & 0xFFFF) as u16);
        for key in &self.keys {
            self.key(key, layout, &mut out)?;
        }
        for key in &self.keys {
            out.u8(0xFF);
            out.bytes(name(&key.name)?);
        }
        out.bytes(&[0xFF, 0]);
        for key in self.keys.iter().filter(|k| k.flags & key_flags::HAS_COMMENT != 0) {
            out.u16(two_bytes(key.comment.len(), "bytes in the comment of a key")?);
            out.bytes(key.comment.as_bytes());
        }
        let used = out.0.len();
        let room = 16 + KEY_ROOM * n_keys + comments;
        if used > room {
            return unwritable("names of keys that are longer than 64 characters");
        }
        out.zeros(room - used);
        Ok(Keys { bytes: out.0, used })
    }

    fn key(&self, key: &FrmKey, layout: &record::Layout, out: &mut Out) -> Result<()> {
        if key.parts.iter().any(|p| p.descending) {
            return unwritable("descending order of keys");
        }
        let length: usize = key.parts.iter().map(|p| usize::from(p.length)).sum();
        out.u16(key.flags);
        out.u16(two_bytes(length, "bytes in a key")?);
        out.u8(u8::try_from(key.parts.len()).or_else(|_| unwritable("a key of more than 255 parts"))?);
        out.u8(key.algorithm);
        out.u16(key.block_size);
        for part in &key.parts {
            let Some(column) = self.columns.get(part.column) else {
                return unwritable(format!("key {} of a column that is not there", key.name));
            };
            out.u16(0x8000 | (part.column as u16 + 1));
            out.u16(two_bytes(layout.positions[part.column] + 1, "bytes before a column")?);
            out.u8(0);
            out.u16(column.pack_flags());
            out.u16(part.length);
        }
        Ok(())
    }

    fn extra_section(&self) -> Result<Vec<u8>> {
        let mut out = Out::default();
        out.u16(0);
        out.u16(self.engine.len() as u16);
        out.bytes(self.engine.as_bytes());
        out.uint(4, self.partition_clause.len() as u64);
        out.bytes(self.partition_clause.as_bytes());
        out.bytes(&[0, 0]);
        if form::is_long(&self.comment) {
            out.u16(two_bytes(self.comment.len(), "bytes in the comment of a table")?);
            out.bytes(self.comment.as_bytes());
        }
        let columns = self.columns.len();
        out.u16(two_bytes(9 + columns, "columns")?);
        out.zeros(7);
        out.0.extend(self.columns.iter().map(|c| c.storage));
        Ok(out.0)
    }
}

impl FrmKey {
    /// Bytes of its comment with its length.
    fn comment_room(&self) -> usize {
        if self.flags & key_flags::HAS_COMMENT == 0 { 0 } else { 2 + self.comment.len() }
    }
}

/// The key section, and how much of it is used.
struct Keys {
    bytes: Vec<u8>,
    used: usize,
}

/// Room of the form section: a thousand bytes to grow, up to the next block.
fn form_room(len: usize) -> usize {
    (len + 1000).next_multiple_of(BLOCK)
}

fn row_format(format: DeclaredFormat) -> u8 {
    match format {
        DeclaredFormat::Default => 0,
        DeclaredFormat::Fixed => 1,
        DeclaredFormat::Dynamic => 2,
        DeclaredFormat::Compressed => 3,
        DeclaredFormat::Redundant => 4,
        DeclaredFormat::Compact => 5,
    }
}

/// A name of a key or a column, between bytes that no UTF-8 has.
fn name(name: &str) -> Result<&[u8]> {
    if name.is_empty() || name.contains('\0') {
        return unwritable(format!("the name {name:?}"));
    }
    Ok(name.as_bytes())
}
