//! Keys of a `.frm`.
//!
//! | offset | size | |
//! |---|---|---|
//! | 0 | 1, 1 | keys, parts; with bit 7 of the first: keys = second << 7 \| first & 127, and parts u16 at 2 |
//! | 6 | 8 per key | flags u16 (bit 0 inverted: set means not unique), length u16, parts u8, algorithm u8, block size u16 |
//! | then | 9 per part | column u16 (from 1, 14 bits), offset in the record u16, u8: 0, or 0x80 for MariaDB's descending order, type u16, length in bytes u16 |
//! | then | | names `FF name FF name .. FF 00`; comments: u16 length and text, of keys with that flag |

use super::columns::{FrmColumn, code};
use super::{Le, table_options};
use crate::error::{Corruption, Result};

/// Parts of keys are packed from this many bytes on.
const PACKED_FROM: u16 = 8;

/// Bits of [`FrmKey::flags`], as stored.
pub mod key_flags {
    /// Duplicates are allowed (stored inverted).
    pub const NOT_UNIQUE: u16 = 1;
    /// FULLTEXT.
    pub const FULLTEXT: u16 = 128;
    /// SPATIAL.
    pub const SPATIAL: u16 = 1024;
    /// Values of text are packed.
    pub const PACKED: u16 = 2;
    /// They are, and have their lengths.
    pub const PACKED_WITH_LENGTH: u16 = 8 | 32;
    /// A column can be NULL.
    pub const NULLABLE: u16 = 64;
    /// Has a comment.
    pub const HAS_COMMENT: u16 = 4096;
    /// Made by the server for a foreign key.
    pub const GENERATED: u16 = 8192;
    /// A block size is declared.
    pub const HAS_BLOCK_SIZE: u16 = 0x8000;
}

/// A part of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrmKeyPart {
    /// Position of the column in the table, from 0.
    pub column: usize,
    /// Bytes of the column that take part.
    pub length: u16,
    /// Whether the order is descending, which MySQL 5.6 does not have.
    pub descending: bool,
}

/// A key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrmKey {
    /// Name; `PRIMARY` is the primary key.
    pub name: String,
    /// Bits of [`key_flags`].
    pub flags: u16,
    /// 0 not declared, 1 BTREE, 2 RTREE, 3 HASH, 4 FULLTEXT.
    pub algorithm: u8,
    /// KEY_BLOCK_SIZE in KiB, 0 if not declared for the key or (then) the table.
    pub block_size: u16,
    /// Columns.
    pub parts: Vec<FrmKeyPart>,
    /// Comment.
    pub comment: String,
}

impl FrmKey {
    /// Whether no two rows may have equal values.
    pub fn is_unique(&self) -> bool {
        self.flags & key_flags::NOT_UNIQUE == 0
    }

    /// Whether it is FULLTEXT.
    pub fn is_fulltext(&self) -> bool {
        self.flags & key_flags::FULLTEXT != 0
    }

    /// The flags that follow from its columns, the table's options and its own block size.
    ///
    /// What is packed matters to other engines only, and is told all the same: parts of eight bytes and more, unless PACK_KEYS=0. The
    /// server takes a column for a BLOB by a bit that the digits of a number have, too, and so does this.
    pub fn derived_flags(&self, columns: &[FrmColumn], options: u16) -> u16 {
        let of = |part: &FrmKeyPart| columns.get(part.column);
        let mut flags = 0;
        if !self.is_fulltext() && self.parts.iter().filter_map(of).any(|c| c.nullable) {
            flags |= key_flags::NULLABLE;
        }
        if self.block_size != 0 {
            flags |= key_flags::HAS_BLOCK_SIZE;
        }
        if options & table_options::NO_PACK_KEYS != 0 || self.flags & key_flags::SPATIAL != 0 {
            return flags;
        }
        for (at, part) in self.parts.iter().enumerate().filter(|(_, part)| part.length >= PACKED_FROM) {
            let Some(column) = of(part) else { continue };
            flags |= match column.type_code {
                code::VARCHAR => key_flags::PACKED_WITH_LENGTH,
                _ if column.looks_like_blob() && at == 0 => key_flags::PACKED_WITH_LENGTH,
                _ if column.looks_like_blob() => key_flags::PACKED,
                code::STRING => key_flags::PACKED,
                _ => 0,
            };
        }
        flags
    }

    /// Whether it is the primary key.
    pub fn is_primary(&self) -> bool {
        self.name == "PRIMARY" && self.is_unique()
    }
}

pub(super) fn parse(b: Le<'_>, at: usize, len: usize, n_columns: usize) -> Result<Vec<FrmKey>> {
    let b = Le(b.bytes(at, len)?);
    if len < 6 {
        return Ok(Vec::new());
    }
    let first = b.u8(0)?;
    let n_keys = if first & 0x80 != 0 {
        usize::from(b.u8(1)?) << 7 | usize::from(first & 0x7F)
    } else {
        usize::from(first)
    };
    let mut pos = 6;
    let mut keys = Vec::with_capacity(n_keys);
    for _ in 0..n_keys {
        let (flags, parts, algorithm) = (b.u16(pos)?, b.u8(pos + 4)?, b.u8(pos + 5)?);
        let block_size = b.u16(pos + 6)?;
        pos += 8;
        let part = |i: usize| {
            let at = pos + 9 * i;
            let number = usize::from(b.u16(at)? & 0x3FFF);
            match number.checked_sub(1).filter(|&c| c < n_columns) {
                Some(column) => {
                    let descending = b.u8(at + 4)? & 0x80 != 0;
                    Ok(FrmKeyPart { column, length: b.u16(at + 7)?, descending })
                }
                None => {
                    Err(Corruption::new(".frm key part", format!("column {number} of {n_columns}")).at(at))
                }
            }
        };
        let parts_list = (0..usize::from(parts)).map(part).collect::<Result<Vec<_>>>()?;
        pos += 9 * usize::from(parts);
        let (name, comment) = (String::new(), String::new());
        keys.push(FrmKey { name, flags, algorithm, block_size, parts: parts_list, comment });
    }
    names_and_comments(b, pos, &mut keys)?;
    Ok(keys)
}

fn names_and_comments(b: Le<'_>, at: usize, keys: &mut [FrmKey]) -> Result<()> {
    if keys.is_empty() {
        return Ok(());
    }
    let rest = b.bytes(at, b.0.len().saturating_sub(at))?;
    let end = rest.iter().position(|&c| c == 0);
    let end = end.ok_or_else(|| Corruption::new(".frm key names", "do not end").at(at))?;
    let mut names = rest[..end].split(|&c| c == 0xFF).skip(1);
    let mut pos = at + end + 1;
    for key in keys {
        let name = names.next().ok_or_else(|| Corruption::new(".frm key names", "are too few").at(at))?;
        key.name = String::from_utf8_lossy(name).into_owned();
        if key.flags & key_flags::HAS_COMMENT != 0 {
            let len = usize::from(b.u16(pos)?);
            key.comment = b.text(pos + 2, len)?;
            pos += 2 + len;
        }
    }
    Ok(())
}
