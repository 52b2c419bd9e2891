//! KEY: a hash of the values of columns, as they lie in MySQL's rows.

use smallvec::SmallVec;
use vaquita_catalog::ColumnDefinition;
use vaquita_engine::table::Field;
use vaquita_engine::text::collation::{Collation, DividingHash};
use vaquita_types::sql_type::BINARY;
use vaquita_types::{Kind, SqlError, SqlResult};

/// `latin1_swedish_ci`.
const LATIN1: u16 = 8;

/// A column of KEY.
#[derive(Debug)]
pub struct KeyColumn {
    at: usize,
    form: Form,
}

/// How InnoDB's bytes of a value become those that are hashed.
#[derive(Debug, Clone, Copy)]
enum Form {
    /// A whole number: the least significant byte first, and the sign where it belongs if there is one; its bytes taken for a text.
    Number { signed: bool, taken_as: Collation },
    /// The same bytes, taken for a text.
    Same(Collation),
    /// BIT: eight bytes, the most significant first.
    Bit,
    /// A text, filled up with spaces, which do not count.
    Text(Collation),
    /// BINARY of so many bytes.
    Binary(usize),
}

impl KeyColumn {
    /// For a column; `old`: ALGORITHM = 1.
    ///
    /// # Errors
    /// 1502 a BLOB; 1235 a collation whose hash is not known here.
    pub(super) fn of(column: &ColumnDefinition, at: usize, old: bool) -> SqlResult<KeyColumn> {
        let ty = &column.ty;
        let unknown = || SqlError::unsupported("KEY partitioning by this collation");
        let form = match ty.kind {
            kind if kind.is_blob() => {
                return Err(SqlError::new(1502, "A BLOB field is not allowed in partition function"));
            }
            kind if kind.is_string() && ty.collation == BINARY => match kind {
                Kind::VarChar => Form::Same(Collation::BINARY),
                _ => Form::Binary(ty.length as usize),
            },
            kind if kind.is_string() => {
                let collation = Collation::of(ty.collation).filter(|collation| collation.divides());
                Form::Text(collation.ok_or_else(unknown)?)
            }
            Kind::Bit => Form::Bit,
            Kind::Enum | Kind::Set => Form::Number { signed: false, taken_as: Collation::BINARY },
            kind => {
                // The bytes of numbers and dates are hashed as if they were letters; by the older way they are not.
                let with_time = matches!(kind, Kind::DateTime | Kind::Time | Kind::Timestamp);
                let taken_as = if old || with_time {
                    Collation::BINARY
                } else {
                    Collation::of(LATIN1).ok_or_else(unknown)?
                };
                match kind {
                    kind if kind.is_integer() => Form::Number { signed: !ty.unsigned, taken_as },
                    Kind::Date => Form::Number { signed: true, taken_as },
                    Kind::Year => Form::Number { signed: false, taken_as },
                    _ => Form::Same(taken_as),
                }
            }
        };
        Ok(KeyColumn { at, form })
    }

    /// Its position.
    pub fn position(&self) -> usize {
        self.at
    }

    /// Takes a stored value into the hash.
    pub(super) fn add(&self, stored: Field<'_>, hash: &mut DividingHash) {
        let Some(stored) = stored else { return hash.null() };
        match self.form {
            Form::Same(taken_as) => taken_as.divide(stored, hash),
            Form::Number { signed, taken_as } => {
                let mut bytes: SmallVec<[u8; 8]> = stored.iter().rev().copied().collect();
                if let Some(last) = bytes.last_mut().filter(|_| signed) {
                    *last ^= 0x80;
                }
                taken_as.divide(&bytes, hash);
            }
            Form::Bit => {
                (stored.len()..8).for_each(|_| hash.byte(0));
                hash.bytes(stored);
            }
            Form::Text(collation) => collation.divide(stored, hash),
            Form::Binary(len) => {
                hash.bytes(stored);
                (stored.len()..len).for_each(|_| hash.byte(0));
            }
        }
    }
}
