//! Where a scan begins and where it ends.

use crate::error::{Error, Result};
use crate::table::{Field, Index};
use smallvec::SmallVec;
use std::cmp::Ordering;
use vaquita_btree::{OwnedKey, RecordRef};
use vaquita_format::index_page::SearchMode;
use vaquita_format::record::compare;
use vaquita_format::tuple::{Tuple, TupleField};

/// Which records a key asks for; a key may be the first fields of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seek {
    /// Those not below it.
    GreaterOrEqual,
    /// Those above it.
    Greater,
    /// Those not above it.
    LessOrEqual,
    /// Those below it.
    Less,
    /// Those equal to it.
    Equal,
}

impl Seek {
    /// Whether a cursor is placed before the records that are equal to the key, or behind them.
    fn is_before_equal(self, dir: Direction) -> bool {
        match self {
            Seek::GreaterOrEqual | Seek::Less => true,
            Seek::Greater | Seek::LessOrEqual => false,
            Seek::Equal => dir == Direction::Forward,
        }
    }

    pub(crate) fn search_mode(self, dir: Direction) -> SearchMode {
        match (self.is_before_equal(dir), dir) {
            (true, Direction::Forward) => SearchMode::GreaterOrEqual,
            (true, Direction::Backward) => SearchMode::Less,
            (false, Direction::Forward) => SearchMode::Greater,
            (false, Direction::Backward) => SearchMode::LessOrEqual,
        }
    }
}

/// Which way a cursor goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// In the order of the index.
    Forward,
    /// Against it.
    Backward,
}

/// Fields of a key on the stack.
pub(crate) type KeyFields<'k> = SmallVec<[TupleField<'k>; 8]>;

/// A key as fields of a tuple.
pub(crate) fn key_fields<'k>(index: &Index, key: &[Field<'k>]) -> Result<KeyFields<'k>> {
    if key.len() > index.def().n_uniq_in_tree() {
        return Err(Error::WrongState("a key has more fields than its index is ordered by"));
    }
    Ok(key.iter().map(|f| TupleField::nullable(*f)).collect())
}

/// Replaces an owned key.
pub(crate) fn set_key(index: &Index, key: &[Field<'_>], out: &mut OwnedKey) -> Result<()> {
    if key.len() > index.def().n_uniq_in_tree() {
        return Err(Error::WrongState("a key has more fields than its index is ordered by"));
    }
    out.clear();
    key.iter().for_each(|f| out.push(*f));
    Ok(())
}

/// Whether a key of these fields is equal to one row at most.
pub(crate) fn is_unique_key(index: &Index, key: &[TupleField<'_>]) -> bool {
    let def = index.def();
    let is_unique = def.is_unique() || def.is_clustered();
    is_unique && key.len() == def.n_uniq() && key.iter().all(|f| f.data.is_some())
}

/// A bound of a range.
#[derive(Debug, Clone, Default)]
pub(crate) struct End {
    pub(crate) key: OwnedKey,
    pub(crate) inclusive: bool,
}

/// The end of a scan in the direction it goes.
#[derive(Debug)]
pub(crate) enum Limit<'k> {
    /// The end of the index.
    None,
    /// Records equal to the key only.
    Equal(KeyFields<'k>),
    /// Not beyond the key; `true`: it itself is within.
    Key(KeyFields<'k>, bool, Direction),
}

impl Limit<'_> {
    pub(crate) fn is_none(&self) -> bool {
        matches!(self, Limit::None)
    }

    pub(crate) fn is_equal(&self) -> bool {
        matches!(self, Limit::Equal(_))
    }

    /// Whether it ends a scan forwards at a key.
    pub(crate) fn is_upper(&self) -> bool {
        matches!(self, Limit::Key(_, _, Direction::Forward))
    }

    /// Whether a record is within.
    pub(crate) fn holds(&self, index: &Index, record: &RecordRef<'_>) -> Result<bool> {
        let order = |key: &KeyFields<'_>| {
            compare(index.def(), record.page, record.rec, &Tuple::new(key), &mut 0)
                .map_err(|c| Error::Corrupt(format!("index {}, page {}: {c}", index.name, record.page_id)))
        };
        Ok(match self {
            Limit::None => true,
            Limit::Equal(key) => order(key)? == Ordering::Equal,
            Limit::Key(key, inclusive, dir) => match (order(key)?, dir) {
                (Ordering::Equal, _) => *inclusive,
                (key_is, Direction::Forward) => key_is == Ordering::Greater,
                (key_is, Direction::Backward) => key_is == Ordering::Less,
            },
        })
    }
}
