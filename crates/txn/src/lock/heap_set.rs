//! A set of heap numbers of one page: a bit for each.

use smallvec::SmallVec;
use vaquita_base::HeapNo;

/// Bits of a word.
const BITS: usize = 64;

/// A set of heap numbers. Up to 127 take no memory besides.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct HeapSet {
    words: SmallVec<[u64; 2]>,
}

impl HeapSet {
    #[inline]
    pub(super) fn contains(&self, heap: HeapNo) -> bool {
        let heap = usize::from(heap.get());
        self.words.get(heap / BITS).is_some_and(|w| w >> (heap % BITS) & 1 != 0)
    }

    /// Adds a number; whether it was not there.
    #[inline]
    pub(super) fn insert(&mut self, heap: HeapNo) -> bool {
        let heap = usize::from(heap.get());
        if self.words.len() <= heap / BITS {
            self.words.resize(heap / BITS + 1, 0);
        }
        let (word, bit) = (&mut self.words[heap / BITS], 1 << (heap % BITS));
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    /// Takes a number out; whether it was there.
    pub(super) fn remove(&mut self, heap: HeapNo) -> bool {
        let was = self.contains(heap);
        if was {
            let heap = usize::from(heap.get());
            self.words[heap / BITS] &= !(1 << (heap % BITS));
        }
        was
    }

    pub(super) fn is_empty(&self) -> bool {
        self.words.iter().all(|&w| w == 0)
    }

    pub(super) fn len(&self) -> usize {
        self.words.iter().map(|w| w.count_ones() as usize).sum()
    }

    /// The numbers, ascending.
    pub(super) fn iter(&self) -> impl Iterator<Item = HeapNo> + '_ {
        self.words.iter().enumerate().flat_map(|(i, &word)| {
            let mut rest = word;
            std::iter::from_fn(move || {
                let bit = rest.trailing_zeros() as usize;
                rest &= rest.wrapping_sub(1);
                (bit < BITS).then(|| HeapNo((i * BITS + bit) as u16))
            })
        })
    }

    /// Bytes of memory besides the value itself.
    #[inline]
    pub(super) fn spilled_bytes(&self) -> usize {
        if self.words.spilled() { self.words.capacity() * size_of::<u64>() } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_in_order() {
        let mut set = HeapSet::default();
        for n in [700, 0, 64, 63, 1, 65] {
            assert!(set.insert(HeapNo(n)));
            assert!(!set.insert(HeapNo(n)));
        }
        assert_eq!(set.iter().map(HeapNo::get).collect::<Vec<_>>(), [0, 1, 63, 64, 65, 700]);
        assert_eq!(set.len(), 6);
        assert!(set.remove(HeapNo(64)) && !set.remove(HeapNo(64)) && !set.remove(HeapNo(9_000)));
        assert!(!set.contains(HeapNo(64)) && set.contains(HeapNo(65)) && !set.contains(HeapNo(701)));
        set.iter().collect::<Vec<_>>().into_iter().for_each(|n| assert!(set.remove(n)));
        assert!(set.is_empty());
    }
}
