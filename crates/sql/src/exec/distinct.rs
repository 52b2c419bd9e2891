//! DISTINCT: rows that came already are known by their keys.

use super::values::push_key;
use smallvec::SmallVec;
use std::hash::BuildHasher;
use vaquita_types::Value;
use vaquita_types::compare::CompareAs;

/// Slots of the table before it grows for the first time.
const SLOTS: usize = 64;

/// The rows that came.
#[derive(Debug, Default)]
pub(crate) struct Distinct {
    /// Keys of rows, one behind the other: no allocation for each.
    keys: Vec<u8>,
    rows: Vec<Seen>,
    /// Numbers of rows plus one by hash, the next free slot if one is taken; 0 is free. At most half of them are taken.
    table: Vec<usize>,
    hasher: foldhash::fast::RandomState,
    /// The key of the row that came last, and where those of its values end in it.
    last: Vec<u8>,
    ends: SmallVec<[usize; 8]>,
}

#[derive(Debug, Clone, Copy)]
struct Seen {
    hash: u64,
    start: usize,
    end: usize,
}

impl Distinct {
    /// Whether a row is new.
    pub(crate) fn is_new(&mut self, values: &[Value<'_>], types: impl Iterator<Item = CompareAs>) -> bool {
        self.last.clear();
        self.ends.clear();
        for (value, how) in values.iter().zip(types) {
            push_key(how, value, false, &mut self.last);
            self.ends.push(self.last.len());
        }
        let hash = self.hasher.hash_one(&self.last[..]);
        if 2 * (self.rows.len() + 1) > self.table.len() {
            self.grow();
        }
        let mut at = hash as usize & (self.table.len() - 1);
        while let Some(row) = self.table[at].checked_sub(1) {
            let seen = self.rows[row];
            if seen.hash == hash && self.keys[seen.start..seen.end] == self.last[..] {
                return false;
            }
            at = (at + 1) & (self.table.len() - 1);
        }
        let start = self.keys.len();
        self.keys.extend_from_slice(&self.last);
        self.rows.push(Seen { hash, start, end: self.keys.len() });
        self.table[at] = self.rows.len();
        true
    }

    /// The key of a value of the row that came last, ascending.
    pub(crate) fn key_of(&self, value: usize) -> &[u8] {
        let start = if value == 0 { 0 } else { self.ends[value - 1] };
        &self.last[start..self.ends[value]]
    }

    fn grow(&mut self) {
        let slots = (self.table.len() * 2).max(SLOTS);
        self.table.clear();
        self.table.resize(slots, 0);
        for (row, seen) in self.rows.iter().enumerate() {
            let mut at = seen.hash as usize & (slots - 1);
            while self.table[at] != 0 {
                at = (at + 1) & (slots - 1);
            }
            self.table[at] = row + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_is_new_once() {
        let types = || [CompareAs::Int, CompareAs::Text(45)].into_iter();
        let mut distinct = Distinct::default();
        for round in 0..3 {
            for n in 0..2_000 {
                let (text, case) = (format!("Value {}", n % 7), format!("vALUE {}  ", n % 7));
                let text = if round == 1 { case } else { text };
                let row = [Value::Int(n), Value::bytes(text.as_bytes())];
                assert_eq!(distinct.is_new(&row, types()), round == 0, "{n}");
                assert_eq!(distinct.is_new(&row, types()), false);
            }
        }
        assert!(distinct.is_new(&[Value::Null, Value::Null], types()));
        assert!(!distinct.is_new(&[Value::Null, Value::Null], types()));
        assert!(distinct.is_new(&[Value::Int(0), Value::Null], types()));
    }

    #[test]
    fn keys_of_values_are_those_of_a_sort() {
        let values = [Value::Int(-5), Value::Null, Value::bytes(b"ab")];
        let types = [CompareAs::Int, CompareAs::Double, CompareAs::Text(8)];
        let mut distinct = Distinct::default();
        distinct.is_new(&values, types.into_iter());
        for (i, (value, how)) in values.iter().zip(types).enumerate() {
            let mut key = Vec::new();
            push_key(how, value, false, &mut key);
            assert_eq!(distinct.key_of(i), key);
        }
    }
}
