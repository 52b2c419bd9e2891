//! DISTINCT: rows that came already are known by their keys.
//!
//! When the keys take too much memory, rows whose keys are not among them are *late*: whether they are new is known when all
//! have come. They are sorted by key, so that the first of each key is found, and then by the order in which they came, so that
//! the result is the same as with more memory.

use super::SortRoom;
use super::sort::Sorter;
use super::values::push_key;
use smallvec::SmallVec;
use std::hash::BuildHasher;
use vaquita_base::codec::push_uint;
use vaquita_types::compare::CompareAs;
use vaquita_types::{SqlResult, Value};

/// Slots of the table before it grows for the first time.
const SLOTS: usize = 64;

/// The rows that came.
#[derive(Debug)]
pub struct Distinct {
    /// Keys of rows, one behind the other: no allocation for each.
    keys: Vec<u8>,
    rows: Vec<Seen>,
    /// Numbers of rows plus one by hash, the next free slot if one is taken; 0 is free. At most half of them are taken.
    table: Vec<usize>,
    hasher: foldhash::fast::RandomState,
    /// The key of the row that came last, and where those of its values end in it.
    last: Vec<u8>,
    ends: SmallVec<[usize; 8]>,
    /// Bytes that keys may take.
    limit: usize,
    /// For sorting late rows.
    room: SortRoom,
    late: Option<Sorter>,
    late_rows: u64,
}

/// What is known of a row when it comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Came {
    /// It is the first of its kind.
    First,
    /// There was one before.
    Again,
    /// That is known later: [`Distinct::push_late`].
    Late,
}

#[derive(Debug, Clone, Copy)]
struct Seen {
    hash: u64,
    start: usize,
    end: usize,
}

impl Distinct {
    /// With so many bytes of memory for keys, and for sorting late rows.
    pub fn new(limit: usize, room: impl Into<SortRoom>) -> Distinct {
        Distinct {
            keys: Vec::new(),
            rows: Vec::new(),
            table: Vec::new(),
            hasher: foldhash::fast::RandomState::default(),
            last: Vec::new(),
            ends: SmallVec::new(),
            limit,
            room: room.into(),
            late: None,
            late_rows: 0,
        }
    }

    /// Bytes that keys take.
    pub fn memory(&self) -> usize {
        self.keys.len() + self.rows.len() * size_of::<Seen>() + self.table.len() * size_of::<usize>()
    }

    /// Whether a row is new.
    pub fn take(&mut self, values: &[Value<'_>], types: impl Iterator<Item = CompareAs>) -> Came {
        self.last.clear();
        self.ends.clear();
        for (value, how) in values.iter().zip(types) {
            push_key(how, value, false, &mut self.last);
            self.ends.push(self.last.len());
        }
        let hash = self.hasher.hash_one(&self.last[..]);
        let crowded = 2 * (self.rows.len() + 1) > self.table.len();
        let more = if crowded { self.table.len().max(SLOTS) * size_of::<usize>() } else { 0 };
        let room =
            self.late.is_none() && self.memory() + self.last.len() + size_of::<Seen>() + more <= self.limit;
        if crowded && room || self.table.is_empty() {
            self.grow();
        }
        let mut at = hash as usize & (self.table.len() - 1);
        while let Some(row) = self.table[at].checked_sub(1) {
            let seen = self.rows[row];
            if seen.hash == hash && self.keys[seen.start..seen.end] == self.last[..] {
                return Came::Again;
            }
            at = (at + 1) & (self.table.len() - 1);
        }
        if !room {
            return Came::Late;
        }
        let start = self.keys.len();
        self.keys.extend_from_slice(&self.last);
        self.rows.push(Seen { hash, start, end: self.keys.len() });
        self.table[at] = self.rows.len();
        Came::First
    }

    /// Keeps the row that came last, of which it is not known yet whether it is new.
    pub fn push_late(&mut self, body: &[u8]) {
        let late = self.late.get_or_insert_with(|| Sorter::new(self.room.clone(), None));
        let mut numbered = Vec::with_capacity(size_of::<u64>() + body.len());
        push_uint(&mut numbered, size_of::<u64>(), self.late_rows);
        self.late_rows += 1;
        numbered.extend_from_slice(body);
        late.push(&self.last, &numbered);
    }

    /// Whether late rows are to be written: [`Distinct::relieve`].
    pub fn is_full(&self) -> bool {
        self.late.as_ref().is_some_and(Sorter::is_full)
    }

    /// Writes late rows to a file if there are too many. No page may be latched.
    ///
    /// # Errors
    /// The temporary file.
    pub fn relieve(&mut self) -> SqlResult<()> {
        self.late.as_mut().map_or(Ok(()), Sorter::relieve)
    }

    /// All rows have come: calls `each` with those late ones that are new, in the order in which they came, until it says
    /// `false`. Gives how many rows were late.
    ///
    /// # Errors
    /// The temporary file; those of `each`.
    pub fn finish(&mut self, mut each: impl FnMut(&[u8]) -> SqlResult<bool>) -> SqlResult<u64> {
        let Some(late) = self.late.take() else { return Ok(0) };
        let mut first = Sorter::new(self.room.clone(), None);
        let (mut key, mut any) = (Vec::new(), false);
        late.finish(|next, body| {
            if !any || key != next {
                any = true;
                key.clear();
                key.extend_from_slice(next);
                let (number, body) = body.split_at(body.len().min(size_of::<u64>()));
                first.push_and_spill(number, body)?;
            }
            Ok(true)
        })?;
        first.finish(|_, body| each(body))?;
        Ok(self.late_rows)
    }

    /// All rows have come: how many of the late ones are new.
    ///
    /// # Errors
    /// The temporary file; those of `poll`, which is called for every late row.
    pub fn count_late(&mut self, mut poll: impl FnMut() -> SqlResult<()>) -> SqlResult<u64> {
        let Some(late) = self.late.take() else { return Ok(0) };
        let (mut key, mut n) = (Vec::new(), 0);
        late.finish(|next, _| {
            poll()?;
            if n == 0 || key != next {
                n += 1;
                key.clear();
                key.extend_from_slice(next);
            }
            Ok(true)
        })?;
        Ok(n)
    }

    /// Whether there were late rows.
    pub fn is_late(&self) -> bool {
        self.late_rows > 0
    }

    /// The key of a value of the row that came last, ascending.
    pub fn key_of(&self, value: usize) -> &[u8] {
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
        let mut distinct = Distinct::new(usize::MAX / 2, 1 << 20);
        for round in 0..3 {
            for n in 0..2_000 {
                let (text, case) = (format!("Value {}", n % 7), format!("vALUE {}  ", n % 7));
                let text = if round == 1 { case } else { text };
                let row = [Value::Int(n), Value::bytes(text.as_bytes())];
                let wanted = if round == 0 { Came::First } else { Came::Again };
                assert_eq!(distinct.take(&row, types()), wanted, "{n}");
                assert_eq!(distinct.take(&row, types()), Came::Again);
            }
        }
        assert_eq!(distinct.take(&[Value::Null, Value::Null], types()), Came::First);
        assert_eq!(distinct.take(&[Value::Null, Value::Null], types()), Came::Again);
        assert_eq!(distinct.take(&[Value::Int(0), Value::Null], types()), Came::First);
    }

    #[test]
    fn late_rows_come_in_their_order_once() {
        let mut distinct = Distinct::new(4 << 10, 32 << 10);
        let mut found = Vec::new();
        for n in 0..60_000_i64 {
            // Some come again at once, some much later.
            let n = n * 7_919 % 20_011;
            match distinct.take(&[Value::Int(n)], [CompareAs::Int].into_iter()) {
                Came::First => found.push(n),
                Came::Again => {}
                Came::Late => distinct.push_late(&n.to_le_bytes()),
            }
            assert!(distinct.memory() <= 4 << 10);
            distinct.relieve().unwrap();
            assert!(!distinct.is_full());
        }
        let early = found.len();
        let late = distinct.finish(|body| {
            found.push(i64::from_le_bytes(body.try_into().expect("eight bytes")));
            Ok(true)
        });
        assert!(early > 10 && early < 200 && late.unwrap() > 50_000);
        let wanted: Vec<i64> = (0..20_011).map(|n| n * 7_919 % 20_011).collect();
        assert_eq!(found, wanted);
    }

    #[test]
    fn keys_of_values_are_those_of_a_sort() {
        let values = [Value::Int(-5), Value::Null, Value::bytes(b"ab")];
        let types = [CompareAs::Int, CompareAs::Double, CompareAs::Text(8)];
        let mut distinct = Distinct::new(usize::MAX / 2, 1 << 20);
        distinct.take(&values, types.into_iter());
        for (i, (value, how)) in values.iter().zip(types).enumerate() {
            let mut key = Vec::new();
            push_key(how, value, false, &mut key);
            assert_eq!(distinct.key_of(i), key);
        }
    }
}
