//! Which rows a recursion with UNION DISTINCT has given already.

use foldhash::fast::RandomState;
use std::collections::HashSet;
use std::hash::BuildHasher;
use vaquita_expr::order_of;
use vaquita_session::temp::SortRoom;
use vaquita_session::temp::sort::Sorter;
use vaquita_session::temp::spill::RowFile;
use vaquita_session::temp::values::push_key;
use vaquita_types::{SqlResult, SqlType, Value};

/// Bytes of a key's place in memory.
const PLACE: usize = 48;

/// Files of keys that are looked through; when there are more they become one.
const FILES_MAX: usize = 4;

/// The rows that came: in memory up to a limit, then in files in the order of their keys.
pub(super) struct Keys {
    memory: HashSet<Box<[u8]>, RandomState>,
    bytes: usize,
    limit: usize,
    room: SortRoom,
    files: Vec<Sorted>,
    key: Vec<u8>,
}

/// Keys in a file.
struct Sorted {
    file: RowFile,
    keys: usize,
    filter: Filter,
}

impl Keys {
    /// None, with so many bytes of memory, and room to sort what is too much.
    pub(super) fn new(limit: usize, room: SortRoom) -> Keys {
        Keys { memory: HashSet::default(), bytes: 0, limit, room, files: Vec::new(), key: Vec::new() }
    }

    /// Whether a row comes for the first time.
    pub(super) fn take(&mut self, values: &[Value<'_>], types: &[SqlType]) -> SqlResult<bool> {
        self.key.clear();
        values.iter().zip(types).for_each(|(v, ty)| push_key(order_of(ty), v, false, &mut self.key));
        if self.memory.contains(&self.key[..]) {
            return Ok(false);
        }
        if !self.files.is_empty() {
            let hash = self.memory.hasher().hash_one(&self.key[..]);
            for sorted in self.files.iter().filter(|sorted| sorted.filter.may_have(hash)) {
                let mut rows = sorted.file.starting_at(&self.key);
                while rows.advance()? && rows.key() <= &self.key[..] {
                    if rows.key() == self.key {
                        return Ok(false);
                    }
                }
            }
        }
        self.bytes += PLACE + self.key.len();
        self.memory.insert(self.key.as_slice().into());
        if self.bytes > self.limit {
            self.write()?;
        }
        Ok(true)
    }

    /// The keys in memory become a file; of many files becomes one.
    fn write(&mut self) -> SqlResult<()> {
        let hasher = self.memory.hasher().clone();
        let mut sorter = Sorter::new(self.room.clone(), None);
        let mut keys = self.memory.len();
        for key in self.memory.drain() {
            sorter.push_and_spill(&key, &[])?;
        }
        self.bytes = 0;
        if self.files.len() >= FILES_MAX {
            for sorted in self.files.drain(..) {
                keys += sorted.keys;
                let mut rows = sorted.file.rows();
                while rows.advance()? {
                    sorter.push_and_spill(rows.key(), &[])?;
                }
            }
        }
        let mut filter = Filter::for_keys(keys);
        let mut file = RowFile::new(&self.room.folders)?;
        sorter.finish(|key, _| {
            filter.insert(hasher.hash_one(key));
            file.push(key, &[]);
            if file.is_full() {
                file.relieve()?;
            }
            Ok(true)
        })?;
        file.relieve()?;
        self.files.push(Sorted { file, keys, filter });
        Ok(())
    }
}

/// A Bloom filter of hashes, all bits of one in a word (Putze, Sanders and Singler, "Cache-, hash- and space-efficient Bloom
/// filters", 2007): most keys of a recursion are new, and need not be looked for in files.
struct Filter {
    words: Vec<u64>,
}

impl Filter {
    /// Bits for each key. With four set, one in thirty keys that are not there seems to be.
    const BITS: usize = 12;

    fn for_keys(keys: usize) -> Filter {
        Filter { words: vec![0; (keys * Filter::BITS).div_ceil(64).max(1)] }
    }

    fn insert(&mut self, hash: u64) {
        let (at, bits) = self.place(hash);
        self.words[at] |= bits;
    }

    fn may_have(&self, hash: u64) -> bool {
        let (at, bits) = self.place(hash);
        self.words[at] & bits == bits
    }

    /// The word by the upper bits of a hash, four bits of it by the lower ones.
    fn place(&self, hash: u64) -> (usize, u64) {
        let at = (u128::from(hash) * self.words.len() as u128) >> 64;
        let bits = (0..4).map(|i| 1_u64 << (hash >> (6 * i) & 63)).fold(0, |bits, bit| bits | bit);
        (at as usize, bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vaquita_session::temp::TmpFolders;

    #[test]
    fn a_key_is_taken_once_wherever_it_was_put() {
        let room = SortRoom::new(64 << 10, std::sync::Arc::new(TmpFolders::default()));
        let mut keys = Keys::new(16 << 10, room);
        let types = [SqlType::bigint(false)];
        // Every number comes, then again, in the same order, while memory becomes files and files become one.
        for round in 0..3 {
            for n in 0..6_000 {
                let n = n * 7919 % 6_000;
                assert_eq!(keys.take(&[Value::Int(n)], &types).unwrap(), round == 0, "{n} in round {round}");
            }
        }
        assert!((1..=FILES_MAX).contains(&keys.files.len()));
        assert_eq!(keys.files.iter().map(|sorted| sorted.keys).sum::<usize>() + keys.memory.len(), 6_000);
    }

    #[test]
    fn a_filter_has_what_it_was_given_and_little_else() {
        // Hashes of all bits, the same in every run: splitmix64 (Steele, Lea and Flood, 2014).
        let hash = |n: u64| {
            let z = n.wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
            z ^ z >> 31
        };
        let mut filter = Filter::for_keys(10_000);
        (0..10_000).for_each(|n| filter.insert(hash(n)));
        assert!((0..10_000).all(|n| filter.may_have(hash(n))));
        let wrong = (10_000..110_000).filter(|&n| filter.may_have(hash(n))).count();
        assert!(wrong < 6_000, "{wrong} of 100,000");
    }
}
