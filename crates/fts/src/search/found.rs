//! Documents found so far.

use std::collections::BTreeMap;

use crate::DocId;

/// Some of the words of a query, by number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct WordSet {
    /// The first 64 words: all words of most queries.
    low: u64,
    /// The others, 64 each.
    high: Vec<u64>,
}

impl WordSet {
    pub(super) fn of(word: usize) -> WordSet {
        let mut set = WordSet::default();
        match word {
            0..64 => set.low = 1 << word,
            _ => {
                set.high.resize(word / 64, 0);
                set.high[word / 64 - 1] = 1 << (word % 64);
            }
        }
        set
    }

    pub(super) fn add(&mut self, other: &WordSet) {
        self.low |= other.low;
        if self.high.len() < other.high.len() {
            self.high.resize(other.high.len(), 0);
        }
        for (mine, theirs) in self.high.iter_mut().zip(&other.high) {
            *mine |= theirs;
        }
    }

    pub(super) fn words(&self) -> impl Iterator<Item = usize> {
        std::iter::once(self.low).chain(self.high.iter().copied()).enumerate().flat_map(|(at, bits)| {
            std::iter::successors(Some(bits), |bits| Some(bits & bits.wrapping_sub(1)))
                .take_while(|&bits| bits != 0)
                .map(move |bits| at * 64 + bits.trailing_zeros() as usize)
        })
    }
}

/// What is known of a document that was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Hit {
    /// The words that count for its rank.
    pub(super) words: WordSet,
    /// What signs have given or taken: -1, 0 or 1.
    pub(super) adjustment: i8,
    /// How often a sign counts: once for each word with a prefix. Above 2 it makes no difference.
    pub(super) weight: i8,
}

impl Hit {
    pub(super) fn of(word: usize, weight: usize) -> Hit {
        Hit { words: WordSet::of(word), adjustment: 0, weight: weight.min(2) as i8 }
    }

    /// Adds to the adjustment, which stays within -1 and 1.
    pub(super) fn adjust(&mut self, by: i8) {
        self.adjustment = (self.adjustment + by).clamp(-1, 1);
    }
}

/// Documents found, in ascending order.
#[derive(Debug, Clone, Default)]
pub(super) struct Found(pub(super) BTreeMap<DocId, Hit>);

impl Found {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn documents(&self) -> impl Iterator<Item = DocId> {
        self.0.keys().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_many_words() {
        let mut set = WordSet::of(0);
        for word in [63, 64, 200, 3, 127, 128] {
            set.add(&WordSet::of(word));
        }
        assert_eq!(set.words().collect::<Vec<_>>(), [0, 3, 63, 64, 127, 128, 200]);
        assert_eq!(WordSet::default().words().count(), 0);
    }
}
