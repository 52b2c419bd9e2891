//! The index part of redo records about COMPACT pages: enough of the index to find the fields of a record.
//!
//! | off | size | field |
//! |---|---|---|
//! | 0 | 2 | number of fields |
//! | 2 | 2 | number of unique fields; equal to the former for secondary indexes and node pointer pages |
//! | 4 | 2 each | 0x8000: NOT NULL; low 15 bits: 0 variable, at most 255 bytes; 7FFF variable, more; else fixed length |
//!
//! Of a table whose rows have versions, the number of fields has bit 0x8000 set (no server of 5.6 writes or reads such), and there
//! follow the newest version, one byte, and for each field the versions it came and went with, one byte each.
//!
//! In a clustered index DB_TRX_ID and DB_ROLL_PTR come right after the unique fields.

use vaquita_base::codec::{get_u16, push_u16};

use crate::{Corruption, Result};

const NOT_NULL: u16 = 0x8000;
const VARIABLE_BIG: u16 = 0x7FFF;
/// In the number of fields: the rows have versions.
pub(super) const VERSIONS: u16 = 0x8000;

/// Length of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldLen {
    /// Variable, of a column of at most 255 bytes: one length byte.
    Small,
    /// Variable, of a longer column: one or two length bytes.
    Big,
    /// Fixed.
    Fixed(u16),
}

/// A field of the index part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RedoField {
    /// Never NULL: no bit in the NULL bitmap.
    pub not_null: bool,
    /// Length.
    pub len: FieldLen,
}

impl RedoField {
    fn decode(n: u16) -> Self {
        let len = match n & !NOT_NULL {
            0 => FieldLen::Small,
            VARIABLE_BIG => FieldLen::Big,
            fixed => FieldLen::Fixed(fixed),
        };
        Self { not_null: n & NOT_NULL != 0, len }
    }

    fn encode(self) -> u16 {
        let len = match self.len {
            FieldLen::Small => 0,
            FieldLen::Big => VARIABLE_BIG,
            FieldLen::Fixed(n) => n,
        };
        debug_assert!(len & NOT_NULL == 0);
        len | if self.not_null { NOT_NULL } else { 0 }
    }
}

/// A parsed index part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RedoIndex<'a> {
    /// Number of unique fields.
    pub n_uniq: u16,
    fields: &'a [[u8; 2]],
    version: u8,
    versions: &'a [[u8; 2]],
}

impl<'a> RedoIndex<'a> {
    /// Splits a record body into its index part and what follows.
    ///
    /// # Errors
    /// [`Corruption`] if the body is too short, or the numbers of fields are impossible.
    pub fn parse(body: &'a [u8]) -> Result<(Self, &'a [u8])> {
        let bad = |detail: String| Corruption::new("index part of a redo record", detail);
        let short = || bad(format!("body of {} bytes", body.len()));
        let (head, rest) = body.split_at_checked(4).ok_or_else(short)?;
        let (n, n_uniq) = (get_u16(head, 0), get_u16(head, 2));
        let n_fields = n & !VERSIONS;
        if n_fields == 0 || n_uniq == 0 || n_uniq > n_fields {
            return Err(bad(format!("{n_uniq} unique fields of {n_fields}")));
        }
        let (fields, rest) = rest.split_at_checked(2 * usize::from(n_fields)).ok_or_else(short)?;
        let fields = fields.as_chunks().0;
        if n & VERSIONS == 0 {
            return Ok((Self { n_uniq, fields, version: 0, versions: &[] }, rest));
        }
        let (&version, rest) = rest.split_first().ok_or_else(short)?;
        let (versions, rest) = rest.split_at_checked(2 * usize::from(n_fields)).ok_or_else(short)?;
        Ok((Self { n_uniq, fields, version, versions: versions.as_chunks().0 }, rest))
    }

    /// The newest version of the rows; 0 if they have none.
    #[inline]
    pub fn version(&self) -> u8 {
        self.version
    }

    /// The versions that field `n` came and went with; 0: it was, and is, always there.
    #[inline]
    pub fn versions_of(&self, n: usize) -> (u8, u8) {
        self.versions.get(n).map_or((0, 0), |&[added, dropped]| (added, dropped))
    }

    /// Number of fields.
    #[inline]
    pub fn n_fields(&self) -> usize {
        self.fields.len()
    }

    /// Whether the records have DB_TRX_ID and DB_ROLL_PTR, after the unique fields.
    #[inline]
    pub fn is_clustered(&self) -> bool {
        usize::from(self.n_uniq) != self.n_fields()
    }

    /// The fields, in order.
    #[inline]
    pub fn fields(&self) -> impl ExactSizeIterator<Item = RedoField> + Clone + use<'a> {
        self.fields.iter().map(|raw| RedoField::decode(get_u16(raw, 0)))
    }

    /// Field `n`.
    #[inline]
    pub fn field(&self, n: usize) -> Option<RedoField> {
        self.fields.get(n).map(|raw| RedoField::decode(get_u16(raw, 0)))
    }

    /// Number of fields that can be NULL.
    #[inline]
    pub fn n_nullable(&self) -> usize {
        self.fields.iter().filter(|raw| raw[0] & (NOT_NULL >> 8) as u8 == 0).count()
    }
}

/// Appends an index part.
///
/// # Panics
/// If there are more than 65535 fields.
pub fn push_index<I>(out: &mut Vec<u8>, n_uniq: u16, fields: I)
where
    I: IntoIterator<Item = RedoField>,
    I::IntoIter: ExactSizeIterator,
{
    let fields = fields.into_iter();
    let n_fields = u16::try_from(fields.len()).expect("an index has at most 1020 fields");
    push_u16(out, n_fields);
    push_u16(out, n_uniq);
    fields.for_each(|f| push_u16(out, f.encode()));
}

/// Appends what follows the fields of a table whose rows have versions: the newest, and for each field those it came and went with. `at`
/// is where the index part begins.
pub fn push_versions(out: &mut Vec<u8>, at: usize, version: u8, fields: impl IntoIterator<Item = (u8, u8)>) {
    out[at] |= (VERSIONS >> 8) as u8;
    out.push(version);
    fields.into_iter().for_each(|(added, dropped)| out.extend([added, dropped]));
}
