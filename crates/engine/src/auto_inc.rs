//! AUTO_INCREMENT: the counter of a table, in memory, begun from the greatest value at first use (as MySQL 5.6), and how
//! statements reserve blocks of values under `autoinc_lock_mode`.
//!
//! | mode | statement of known length | statement of unknown length (INSERT ... SELECT) |
//! |---|---|---|
//! | 0 traditional | AUTO-INC table lock to the end of the statement | the same |
//! | 1 consecutive | block taken at once under the counter's mutex | AUTO-INC table lock |
//! | 2 interleaved | block taken at once | blocks that double in size, no lock |
//!
//! Values of transactions that roll back are lost. After a restart the counter is the greatest value in the table plus
//! one, or the definition's hint if that is greater.

use parking_lot::Mutex;
use vaquita_format::column::{ColumnDef, MType};

/// The counter of a table.
#[derive(Debug, Default)]
pub struct AutoInc {
    /// Next value; `None` until first used.
    pub(crate) next: Mutex<Option<u64>>,
    /// What the definition says the first value is at least.
    pub(crate) hint: u64,
}

/// Values a statement may use: `first`, `first + step`, … `count` of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AutoIncRange {
    /// The first value.
    pub first: u64,
    /// Distance (`auto_increment_increment`).
    pub step: u64,
    /// How many.
    pub count: u64,
}

/// How many values a statement wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// So many, known before it starts.
    Exactly(u64),
    /// Unknown; at least this many now.
    AtLeast(u64),
}

impl AutoInc {
    /// A counter that begins at least at `hint`.
    pub fn with_hint(hint: u64) -> Self {
        Self { next: Mutex::new(None), hint }
    }

    /// The next value, if one was asked for since the table was opened.
    pub fn peek(&self) -> Option<u64> {
        *self.next.lock()
    }

    /// Takes a block; `limit` is the greatest value of the column.
    pub(crate) fn take(
        next: &mut u64,
        count: u64,
        step: u64,
        offset: u64,
        limit: u64,
    ) -> Option<AutoIncRange> {
        let first = align(*next, step, offset)?;
        if first > limit || *next > limit {
            return None;
        }
        // A block that goes beyond the range is cut; the values in range are good.
        let fit = ((limit - first) / step).saturating_add(1);
        let count = count.max(1).min(fit);
        let after = first.saturating_add((count - 1).saturating_mul(step)).saturating_add(1);
        *next = after;
        Some(AutoIncRange { first, step, count })
    }
}

/// The least value from `from` on that is `offset` plus a multiple of `step`; MySQL ignores an offset above the step.
fn align(from: u64, step: u64, offset: u64) -> Option<u64> {
    if step <= 1 {
        return Some(from.max(1));
    }
    let offset = if offset > step { 0 } else { offset };
    let from = from.max(1);
    if from <= offset {
        return Some(offset);
    }
    offset.checked_add((from - offset).div_ceil(step).checked_mul(step)?)
}

/// The greatest value an AUTO_INCREMENT column of this type holds.
pub(crate) fn limit_of(column: &ColumnDef) -> u64 {
    match column.mtype {
        MType::Float => 1 << 24,
        MType::Double => 1 << 53,
        _ => {
            let bits = column.len * 8 - u32::from(!column.is_unsigned());
            if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
        }
    }
}

/// The value of a stored AUTO_INCREMENT column; 0 for negative ones.
pub(crate) fn decode(column: &ColumnDef, stored: &[u8]) -> u64 {
    use vaquita_base::codec::{get_uint, le};
    match column.mtype {
        MType::Float => f32::from_bits(le::get_uint(stored, 0, 4) as u32).max(0.0) as u64,
        MType::Double => f64::from_bits(le::get_uint(stored, 0, 8)).max(0.0) as u64,
        _ => {
            let raw = get_uint(stored, 0, stored.len());
            if column.is_unsigned() {
                return raw;
            }
            let sign = 1u64 << (stored.len() * 8 - 1);
            raw.saturating_sub(sign)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_follow_increment_and_offset() {
        let mut next = 1;
        let take = |next: &mut u64, n, step, offset| AutoInc::take(next, n, step, offset, 127);
        assert_eq!(take(&mut next, 3, 1, 1), Some(AutoIncRange { first: 1, step: 1, count: 3 }));
        assert_eq!(next, 4);
        // 5, 15, 25, ... as the manual's example of increment 10 and offset 5.
        assert_eq!(take(&mut next, 2, 10, 5), Some(AutoIncRange { first: 5, step: 10, count: 2 }));
        assert_eq!(next, 16);
        assert_eq!(take(&mut next, 1, 10, 5), Some(AutoIncRange { first: 25, step: 10, count: 1 }));
        // An offset above the increment is ignored.
        assert_eq!(take(&mut next, 1, 10, 11).unwrap().first, 30);
        // The end of a TINYINT: what is in range is good, then there is nothing.
        next = 126;
        assert_eq!(take(&mut next, 5, 1, 1), Some(AutoIncRange { first: 126, step: 1, count: 2 }));
        assert_eq!(take(&mut next, 1, 1, 1), None);
    }

    #[test]
    fn limits_and_values_of_types() {
        let int = |bytes, unsigned| ColumnDef::int("a", bytes, unsigned);
        assert_eq!(limit_of(&int(1, false)), 127);
        assert_eq!(limit_of(&int(3, true)), (1 << 24) - 1);
        assert_eq!(limit_of(&int(8, false)), i64::MAX as u64);
        assert_eq!(limit_of(&int(8, true)), u64::MAX);
        assert_eq!(decode(&int(4, false), &[0x80, 0, 1, 0]), 256);
        assert_eq!(decode(&int(4, false), &[0x7f, 0xff, 0xff, 0xff]), 0);
        assert_eq!(decode(&int(2, true), &[0xff, 0xff]), 65535);
    }
}
