//! Columns of a `.frm`: the form section and the default record.
//!
//! | form offset | size | |
//! |---|---|---|
//! | 46 | 1 | length of the table comment that follows (255: it is in the extra section) |
//! | 258 | 2 | columns |
//! | 260 | 2 | length of screen info, which follows the form's 288 bytes |
//! | 268, 274, 284 | 2 each | lengths of names, labels, column comments |
//! | 270 | 2 | sets of labels |
//!
//! | column offset | size | |
//! |---|---|---|
//! | 3 | 2 | length in bytes, or display width |
//! | 5 | 3 | position in the default record, from 1 |
//! | 8 | 2 | pack flags |
//! | 10 | 1 | special meaning: AUTO_INCREMENT, CURRENT_TIMESTAMP |
//! | 11, 14 | 1, 1 | collation, high and low byte (14: geometry type) |
//! | 12 | 1 | number of its set of labels, from 1 |
//! | 13 | 1 | type |
//! | 15 | 2 | length of its comment |

use super::Le;
use crate::charset::Charset;
use crate::collation;
use crate::error::{Corruption, Result};
use crate::text::TextType;

/// Real type codes of `.frm` files.
pub mod code {
    #![allow(missing_docs, reason = "named as MySQL names them")]
    pub const TINY: u8 = 1;
    pub const SHORT: u8 = 2;
    pub const LONG: u8 = 3;
    pub const FLOAT: u8 = 4;
    pub const DOUBLE: u8 = 5;
    pub const OLD_TIMESTAMP: u8 = 7;
    pub const LONGLONG: u8 = 8;
    pub const INT24: u8 = 9;
    pub const OLD_TIME: u8 = 11;
    pub const OLD_DATETIME: u8 = 12;
    pub const YEAR: u8 = 13;
    pub const DATE: u8 = 14;
    pub const VARCHAR: u8 = 15;
    pub const BIT: u8 = 16;
    pub const TIMESTAMP: u8 = 17;
    pub const DATETIME: u8 = 18;
    pub const TIME: u8 = 19;
    pub const NEWDECIMAL: u8 = 246;
    pub const ENUM: u8 = 247;
    pub const SET: u8 = 248;
    pub const TINY_BLOB: u8 = 249;
    pub const MEDIUM_BLOB: u8 = 250;
    pub const LONG_BLOB: u8 = 251;
    pub const BLOB: u8 = 252;
    pub const STRING: u8 = 254;
    pub const GEOMETRY: u8 = 255;

    /// Whether MySQL 5.6 has the type.
    pub(in crate::frm) fn is_known(code: u8) -> bool {
        matches!(code, TINY..=DOUBLE | OLD_TIMESTAMP..=INT24 | OLD_TIME..=TIME)
            || matches!(code, NEWDECIMAL..=BLOB | STRING | GEOMETRY)
    }
}

/// Bytes of a pointer, which a BLOB has in MySQL's row format.
const POINTER: usize = 8;
/// Decimals of FLOAT and DOUBLE without declared decimals.
const NOT_FIXED: u8 = 31;

mod pack_flag {
    /// Of a number: it may be negative. Of text: it is compared byte by byte.
    pub(super) const SIGNED: u16 = 1;
    pub(super) const NUMBER: u16 = 2;
    pub(super) const ZEROFILL: u16 = 4;
    /// How it is stored: a type of old, or the bytes of its length.
    pub(super) const STORED_SHIFT: u32 = 3;
    pub(super) const DECIMALS_SHIFT: u32 = 8;
    pub(super) const ENUM: u16 = 0x100;
    pub(super) const SET: u16 = 0x200;
    pub(super) const BLOB: u16 = 0x400;
    pub(super) const GEOMETRY: u16 = 0x800;
    pub(super) const BIT_AS_BYTES: u16 = 0x1000;
    pub(super) const NO_DEFAULT: u16 = 0x4000;
    pub(super) const NULLABLE: u16 = 0x8000;
}

/// Values of the byte for special meanings.
mod special {
    pub(super) const AUTO_INCREMENT: u8 = 15;
    pub(super) const ENUM: u8 = 16;
    pub(super) const SET: u8 = 17;
    pub(super) const BLOB: u8 = 20;
    pub(super) const NOW: u8 = 21;
    pub(super) const ON_UPDATE: u8 = 22;
    pub(super) const NOW_AND_ON_UPDATE: u8 = 23;
}

/// How a number of this many bytes is stored.
fn stored_as(bytes: usize) -> u16 {
    match bytes {
        1..=2 => bytes as u16,
        3 => 9,
        4 => 3,
        _ => 8,
    }
}

/// The DEFAULT of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ColumnDefault {
    /// None: a value must be given. Also of BLOB and AUTO_INCREMENT columns, where there cannot be one.
    None,
    /// NULL.
    Null,
    /// A value, in MySQL's row format.
    Row(Vec<u8>),
    /// CURRENT_TIMESTAMP.
    Now,
}

/// A column as the server layer knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrmColumn {
    /// Name.
    pub name: String,
    /// Real type code.
    pub type_code: u8,
    /// Length in bytes, or display width of numbers and times.
    pub length: u32,
    /// Declared digits after the point; `None` for FLOAT and DOUBLE without.
    pub decimals: Option<u8>,
    /// Collation; 63 for bytes, and for numbers whatever the file says.
    pub collation: u16,
    /// NULL is allowed.
    pub nullable: bool,
    /// UNSIGNED; meaningful for numbers.
    pub unsigned: bool,
    /// ZEROFILL.
    pub zerofill: bool,
    /// AUTO_INCREMENT.
    pub auto_increment: bool,
    /// ON UPDATE CURRENT_TIMESTAMP.
    pub on_update_now: bool,
    /// Subtype of spatial columns: 0 GEOMETRY, 1 POINT, ...
    pub geometry: u8,
    /// Labels of ENUM and SET, in Unicode.
    pub labels: Vec<String>,
    /// DEFAULT.
    pub default: ColumnDefault,
    /// Comment.
    pub comment: String,
    /// The byte for special meanings: AUTO_INCREMENT, CURRENT_TIMESTAMP, and what later servers added.
    pub special: u8,
    /// STORAGE (1 DISK, 2 MEMORY) and COLUMN_FORMAT (8 FIXED, 16 DYNAMIC), of which InnoDB makes nothing.
    pub storage: u8,
}

impl FrmColumn {
    /// Fraction digits of TIME, DATETIME and TIMESTAMP.
    pub fn fsp(&self) -> u8 {
        let over = |whole: u32| self.length.checked_sub(whole + 1).map_or(0, |n| n.min(6) as u8);
        match self.type_code {
            code::TIMESTAMP | code::DATETIME => over(19),
            code::TIME => over(10),
            _ => 0,
        }
    }

    /// Precision of DECIMAL.
    pub fn precision(&self) -> u32 {
        let point = u32::from(self.decimals.is_some_and(|d| d > 0));
        self.length.saturating_sub(point + u32::from(!self.unsigned))
    }

    /// The character set of text; `None` for bytes and other types, and for collations nobody knows.
    pub fn charset(&self) -> Option<Charset> {
        Charset::of_any_collation(self.collation).filter(|c| *c != Charset::BINARY)
    }

    /// The constant of its DEFAULT as InnoDB stores it; of CHAR with all its padding.
    pub fn stored_default(&self) -> Option<Vec<u8>> {
        match &self.default {
            ColumnDefault::Row(bytes) => Some(super::spelling::stored_form(self, bytes)),
            ColumnDefault::None | ColumnDefault::Null | ColumnDefault::Now => None,
        }
    }

    /// How stored values become text.
    pub fn text_type(&self) -> TextType {
        let zerofill = self.zerofill.then_some(self.length as usize);
        let fsp = usize::from(self.fsp());
        match self.type_code {
            code::TINY | code::SHORT | code::INT24 | code::LONG | code::LONGLONG => {
                TextType::Int { unsigned: self.unsigned, zerofill }
            }
            code::FLOAT | code::DOUBLE => {
                TextType::Real { decimals: self.decimals.map(usize::from), zerofill }
            }
            code::NEWDECIMAL => TextType::Decimal {
                precision: self.precision(),
                scale: u32::from(self.decimals.unwrap_or(0)),
                zerofill,
            },
            code::BIT => TextType::Bit,
            code::YEAR => TextType::Year,
            code::DATE => TextType::Date,
            code::TIME => TextType::Time(fsp),
            code::DATETIME => TextType::DateTime(fsp),
            code::TIMESTAMP => TextType::Timestamp(fsp),
            code::OLD_TIMESTAMP => TextType::Timestamp(0),
            code::OLD_TIME => TextType::OldTime,
            code::OLD_DATETIME => TextType::OldDateTime,
            code::ENUM => TextType::Enum(self.labels.clone()),
            code::SET => TextType::Set(self.labels.clone()),
            code::GEOMETRY => TextType::Bytes,
            _ => match self.charset() {
                Some(charset) => TextType::Text { charset, padded: self.type_code == code::STRING },
                None => TextType::Bytes,
            },
        }
    }

    /// Whether it is a BLOB, TEXT or spatial one.
    pub(super) fn is_blob(&self) -> bool {
        self.blob_len_bytes().is_some()
    }

    /// How many bytes tell the length of a BLOB.
    fn blob_len_bytes(&self) -> Option<usize> {
        match self.type_code {
            code::TINY_BLOB => Some(1),
            code::BLOB => Some(2),
            code::MEDIUM_BLOB => Some(3),
            code::LONG_BLOB | code::GEOMETRY => Some(4),
            _ => None,
        }
    }

    /// Whether its bits have that of BLOBs, which some digits of numbers set as well.
    pub(super) fn looks_like_blob(&self) -> bool {
        self.pack_flags() & pack_flag::BLOB != 0
    }

    /// The bits at 8.
    pub(super) fn pack_flags(&self) -> u16 {
        use pack_flag as p;
        let number = |bytes: usize| stored_as(bytes) << p::STORED_SHIFT | p::NUMBER;
        let old = |kind: u16| kind << p::STORED_SHIFT;
        let collation = collation::name(self.collation).unwrap_or_default();
        let bytewise = u16::from(collation == "binary" || collation.ends_with("_bin"));
        let blob = self.blob_len_bytes().map_or(0, |n| stored_as(n) << p::STORED_SHIFT | p::BLOB | bytewise);
        let decimals = u16::from(self.decimals.unwrap_or(NOT_FIXED)) << p::DECIMALS_SHIFT;
        let own = match self.type_code {
            code::TINY | code::SHORT | code::INT24 | code::LONG | code::LONGLONG => number(self.row_len()),
            code::FLOAT => old(4) | p::NUMBER | decimals,
            code::DOUBLE => old(5) | p::NUMBER | decimals,
            code::NEWDECIMAL => p::NUMBER | decimals,
            code::BIT => p::BIT_AS_BYTES | p::NUMBER,
            code::YEAR => old(13) | p::NUMBER | p::ZEROFILL,
            code::DATE => old(14),
            code::TIME => old(19),
            code::DATETIME => old(18),
            code::TIMESTAMP => old(17) | p::NUMBER | p::SIGNED | u16::from(self.fsp()) << p::DECIMALS_SHIFT,
            code::ENUM => stored_as(self.row_len()) << p::STORED_SHIFT | p::ENUM | bytewise,
            code::SET => stored_as(self.row_len()) << p::STORED_SHIFT | p::SET | bytewise,
            code::GEOMETRY => (blob & !p::BLOB) | p::GEOMETRY,
            code::VARCHAR | code::STRING => bytewise,
            _ => blob,
        };
        let signed = u16::from(is_number(self.type_code) && !self.unsigned) * p::SIGNED;
        let zerofill = u16::from(self.zerofill) * p::ZEROFILL;
        let nullable = u16::from(self.nullable) * p::NULLABLE;
        let no_default = u16::from(self.lacks_default()) * p::NO_DEFAULT;
        own | signed | zerofill | nullable | no_default
    }

    /// The column with the byte of its special meaning, and the bit of signs as the file has it where it means nothing.
    #[must_use]
    pub fn completed(mut self) -> FrmColumn {
        self.special = match self.type_code {
            _ if self.auto_increment => special::AUTO_INCREMENT,
            _ if self.default == ColumnDefault::Now && self.on_update_now => special::NOW_AND_ON_UPDATE,
            _ if self.default == ColumnDefault::Now => special::NOW,
            _ if self.on_update_now => special::ON_UPDATE,
            code::ENUM => special::ENUM,
            code::SET => special::SET,
            _ if self.is_blob() => special::BLOB,
            _ => 0,
        };
        self.unsigned = self.pack_flags() & pack_flag::SIGNED == 0;
        self
    }

    /// A constant in the form in which InnoDB stores it, as a row of MySQL has it; `None` if it does not fit.
    pub fn row_default(&self, stored: &[u8]) -> Option<Vec<u8>> {
        super::spelling::row_form(self, stored).filter(|row| row.len() == self.row_len())
    }

    /// Bytes that the whole column has in a key; `words` of one that is FULLTEXT or SPATIAL.
    pub fn key_len(&self, words: bool) -> u32 {
        match self.type_code {
            code::GEOMETRY if words => 32,
            _ if self.is_blob() => 1,
            code::VARCHAR | code::STRING => self.length,
            _ => self.row_len() as u32,
        }
    }

    /// Whether it is marked as one that a value must be given for.
    fn lacks_default(&self) -> bool {
        self.default == ColumnDefault::None && !self.auto_increment
    }

    /// Bytes of the column in MySQL's row format.
    pub(super) fn row_len(&self) -> usize {
        let fraction = usize::from(self.fsp().div_ceil(2));
        let length = self.length as usize;
        match self.type_code {
            code::TINY | code::YEAR => 1,
            code::SHORT => 2,
            code::INT24 | code::DATE | code::OLD_TIME => 3,
            code::LONG | code::FLOAT | code::OLD_TIMESTAMP => 4,
            code::LONGLONG | code::DOUBLE | code::OLD_DATETIME => 8,
            code::NEWDECIMAL => {
                crate::value::decimal_len(self.precision(), u32::from(self.decimals.unwrap_or(0)))
            }
            code::BIT => length.div_ceil(8),
            code::TIME => 3 + fraction,
            code::DATETIME => 5 + fraction,
            code::TIMESTAMP => 4 + fraction,
            code::ENUM => {
                if self.labels.len() <= 255 {
                    1
                } else {
                    2
                }
            }
            code::SET => set_len(self.labels.len()),
            code::VARCHAR => length + if length < 256 { 1 } else { 2 },
            code::STRING => length,
            _ => self.blob_len_bytes().map_or(0, |n| n + POINTER),
        }
    }
}

/// Bytes of a SET with this many members.
pub(super) fn set_len(members: usize) -> usize {
    match members.div_ceil(8) {
        n @ 1..=4 => n,
        0 => 1,
        _ => 8,
    }
}

pub(super) fn parse(b: Le<'_>, form: usize, record: &[u8], packed: bool) -> Result<Vec<FrmColumn>> {
    let field = |off: usize| b.u16(form + off).map(usize::from);
    let (count, screen, names_len) = (field(258)?, field(260)?, field(268)?);
    let (label_sets, labels_len, comments_len) = (field(270)?, field(274)?, field(284)?);
    let columns_at = form + 288 + screen;
    let names_at = columns_at + 17 * count;
    let labels_at = names_at + names_len;
    let names = names(b.bytes(names_at, names_len)?, count)?;
    let label_sets = split_label_sets(b.bytes(labels_at, labels_len)?, label_sets)?;
    let mut comments = Le(b.bytes(labels_at + labels_len, comments_len)?);
    // The first bit is reserved unless rows are packed.
    let mut null_bit = usize::from(!packed);
    let mut out = Vec::with_capacity(count);
    for (i, name) in names.into_iter().enumerate() {
        let at = columns_at + 17 * i;
        let comment_len = usize::from(b.u16(at + 15)?);
        let comment = comments.text(0, comment_len)?;
        comments = Le(&comments.0[comment_len..]);
        let mut column = parse_one(b, at, name, comment, &label_sets)?;
        let position = (b.u24(at + 5)? as usize).checked_sub(1);
        let null = column.nullable && record.get(null_bit / 8).is_some_and(|&n| n >> (null_bit % 8) & 1 != 0);
        null_bit += usize::from(column.nullable);
        if column.default == ColumnDefault::Null && !null {
            column.default = match position.and_then(|p| record.get(p..p + column.row_len())) {
                Some(bytes) => ColumnDefault::Row(bytes.to_vec()),
                None => return Err(Corruption::new(".frm default record", column.name)),
            };
        }
        out.push(column);
    }
    Ok(out)
}

/// One column; its default is `Null` where the default record decides.
fn parse_one(b: Le<'_>, at: usize, name: String, comment: String, sets: &[Vec<&[u8]>]) -> Result<FrmColumn> {
    let pack = b.u16(at + 8)?;
    let type_code = b.u8(at + 13)?;
    let is_geometry = type_code == code::GEOMETRY;
    let (low, high) = (b.u8(at + 14)?, b.u8(at + 11)?);
    let collation = if is_geometry { 63 } else { u16::from(high) << 8 | u16::from(low) };
    let labels = match (type_code, b.u8(at + 12)?) {
        (code::ENUM | code::SET, n) => {
            let set = usize::from(n).checked_sub(1).and_then(|i| sets.get(i));
            let set =
                set.ok_or_else(|| Corruption::new(".frm set of labels", format!("{n} of {name}")).at(at))?;
            set.iter().map(|raw| label(raw, collation)).collect()
        }
        _ => Vec::new(),
    };
    let decimals = match type_code {
        code::FLOAT | code::DOUBLE => Some((pack >> 8 & 31) as u8).filter(|&d| d != NOT_FIXED),
        code::NEWDECIMAL => Some((pack >> 8 & 31) as u8),
        _ => None,
    };
    let special = b.u8(at + 10)?;
    let has_value = !matches!(
        type_code,
        code::TINY_BLOB | code::BLOB | code::MEDIUM_BLOB | code::LONG_BLOB | code::GEOMETRY
    );
    let nullable = pack & pack_flag::NULLABLE != 0;
    let default = match special {
        15 => ColumnDefault::None,
        18 => ColumnDefault::Now,
        // The special meaning stays when a default is dropped.
        21 | 23 if pack & pack_flag::NO_DEFAULT == 0 => ColumnDefault::Now,
        _ if pack & pack_flag::NO_DEFAULT != 0 || (!has_value && !nullable) => ColumnDefault::None,
        _ => ColumnDefault::Null,
    };
    Ok(FrmColumn {
        name,
        type_code,
        length: u32::from(b.u16(at + 3)?),
        decimals,
        collation,
        nullable,
        unsigned: pack & pack_flag::SIGNED == 0,
        zerofill: pack & pack_flag::ZEROFILL != 0 && is_number(type_code),
        auto_increment: special == 15,
        on_update_now: matches!(special, 18 | 22 | 23),
        geometry: if is_geometry { low } else { 0 },
        labels,
        default,
        comment,
        special,
        storage: 0,
    })
}

/// Whether a type is numeric in the sense of UNSIGNED and ZEROFILL.
pub(super) fn is_number(type_code: u8) -> bool {
    matches!(
        type_code,
        code::TINY
            | code::SHORT
            | code::INT24
            | code::LONG
            | code::LONGLONG
            | code::FLOAT
            | code::DOUBLE
            | code::NEWDECIMAL
    )
}

/// `FF name FF name .. FF 00`.
fn names(bytes: &[u8], count: usize) -> Result<Vec<String>> {
    let names: Vec<String> = bytes
        .split(|&b| b == 0xFF)
        .skip(1)
        .take(count)
        .map(|n| String::from_utf8_lossy(n).into_owned())
        .collect();
    if names.len() != count {
        return Err(Corruption::new(".frm column names", format!("{} of {count}", names.len())));
    }
    Ok(names)
}

/// Sets of `separator label separator label .. separator 00`.
fn split_label_sets(bytes: &[u8], count: usize) -> Result<Vec<Vec<&[u8]>>> {
    let mut rest = bytes;
    let mut sets = Vec::new();
    for _ in 0..count {
        let Some((&separator, mut labels)) = rest.split_first() else {
            return Err(Corruption::new(".frm sets of labels", format!("{} of {count}", sets.len())));
        };
        let mut set = Vec::new();
        loop {
            if let [0, tail @ ..] = labels {
                rest = tail;
                break;
            }
            let end = labels.iter().position(|&b| b == separator);
            let end = end.ok_or_else(|| Corruption::new(".frm labels", "the last one does not end"))?;
            set.push(&labels[..end]);
            labels = &labels[end + 1..];
        }
        sets.push(set);
    }
    Ok(sets)
}

/// Labels are in the column's character set; where that has zero bytes, as hexadecimal digits.
fn label(raw: &[u8], collation: u16) -> String {
    let charset = Charset::of_any_collation(collation).unwrap_or(Charset::LATIN1);
    let digits = |pair: &[u8]| {
        let text = std::str::from_utf8(pair).ok()?;
        u8::from_str_radix(text, 16).ok()
    };
    let unhexed: Option<Vec<u8>> =
        if charset.mb_min_len > 1 { raw.chunks(2).map(digits).collect() } else { None };
    let bytes = unhexed.as_deref().unwrap_or(raw);
    charset.decode(bytes).map_or_else(|| String::from_utf8_lossy(bytes).into_owned(), |t| t.into_owned())
}
