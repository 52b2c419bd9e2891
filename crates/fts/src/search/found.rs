//! Documents found so far.

use crate::DocId;

/// Some of the words of a query, by number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct WordSet {
    /// The first 64 words: all words of most queries.
    low: u64,
    high: Option<Box<HighWords>>,
}

/// Words from the 65th on, 64 each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct HighWords(Vec<u64>);

impl WordSet {
    pub(super) fn of(word: usize) -> WordSet {
        match word {
            0..64 => WordSet { low: 1 << word, high: None },
            _ => {
                let mut high = vec![0; word / 64];
                high[word / 64 - 1] = 1 << (word % 64);
                WordSet { low: 0, high: Some(Box::new(HighWords(high))) }
            }
        }
    }

    pub(super) fn add(&mut self, other: &WordSet) {
        self.low |= other.low;
        let Some(theirs) = &other.high else { return };
        let mine = &mut self.high.get_or_insert_default().0;
        if mine.len() < theirs.0.len() {
            mine.resize(theirs.0.len(), 0);
        }
        for (mine, theirs) in mine.iter_mut().zip(&theirs.0) {
            *mine |= theirs;
        }
    }

    pub(super) fn has(&self, word: usize) -> bool {
        let bits = match (word / 64, &self.high) {
            (0, _) => self.low,
            (at, Some(high)) => high.0.get(at - 1).copied().unwrap_or(0),
            (_, None) => 0,
        };
        bits >> (word % 64) & 1 == 1
    }

    /// Gives `each` the words in ascending order.
    pub(super) fn each(&self, mut each: impl FnMut(usize)) {
        let high = self.high.iter().flat_map(|high| high.0.iter().copied());
        for (at, mut bits) in std::iter::once(self.low).chain(high).enumerate() {
            while bits != 0 {
                each(at * 64 + bits.trailing_zeros() as usize);
                bits &= bits - 1;
            }
        }
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
pub(super) struct Found(Vec<(DocId, Hit)>);

/// How many times longer the documents found before are than those that come, at least, for each of the few to be looked up.
const FEW: usize = 32;

impl Found {
    /// Documents in ascending order, each once.
    pub(super) fn new(hits: Vec<(DocId, Hit)>) -> Found {
        debug_assert!(hits.is_sorted_by(|a, b| a.0 < b.0), "documents ascend");
        Found(hits)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (DocId, &Hit)> {
        self.0.iter().map(|(doc, hit)| (*doc, hit))
    }

    pub(super) fn documents(&self) -> impl Iterator<Item = DocId> {
        self.0.iter().map(|(doc, _)| *doc)
    }

    /// Keeps some of them.
    pub(super) fn retain(&mut self, mut keeps: impl FnMut(DocId) -> bool) {
        self.0.retain(|(doc, _)| keeps(*doc));
    }

    /// Keeps those that `keeps`, which is told what `other` has of them and may change what is known.
    pub(super) fn retain_beside(
        &mut self,
        other: &Found,
        mut keeps: impl FnMut(&mut Hit, Option<&Hit>) -> bool,
    ) {
        let mut at = 0;
        self.0.retain_mut(|(doc, hit)| {
            at = seek(&other.0, at, *doc, |there| there.0);
            keeps(hit, other.0.get(at).filter(|there| there.0 == *doc).map(|there| &there.1))
        });
    }

    /// Adds others: `both` is told of those that were found before, `new` of those that were not.
    pub(super) fn add(
        &mut self,
        mut others: Found,
        mut both: impl FnMut(&mut Hit, &Hit),
        mut new: impl FnMut(&mut Hit),
    ) {
        if self.is_empty() {
            others.0.iter_mut().for_each(|(_, hit)| new(hit));
            *self = others;
            return;
        }
        if others.len() * FEW < self.len() {
            let mut at = 0;
            others.0.retain(|(doc, hit)| {
                at = seek(&self.0, at, *doc, |there| there.0);
                let before = self.0.get_mut(at).filter(|there| there.0 == *doc);
                before.map(|there| both(&mut there.1, hit)).is_none()
            });
            if others.is_empty() {
                return;
            }
        }
        let before = std::mem::take(&mut self.0);
        self.0.reserve(before.len() + others.len());
        let mut others = others.0.into_iter().peekable();
        for (doc, mut hit) in before {
            while let Some((other, mut hit)) = others.next_if(|other| other.0 < doc) {
                new(&mut hit);
                self.0.push((other, hit));
            }
            if let Some((_, other)) = others.next_if(|other| other.0 == doc) {
                both(&mut hit, &other);
            }
            self.0.push((doc, hit));
        }
        self.0.extend(others.map(|(doc, mut hit)| {
            new(&mut hit);
            (doc, hit)
        }));
    }
}

/// The first place from `from` on whose document is `doc` or behind it, in ascending items: near places are found fast.
pub(super) fn seek<T>(items: &[T], from: usize, doc: DocId, of: impl Fn(&T) -> DocId) -> usize {
    let (mut low, mut step) = (from, 1);
    while let Some(item) = items.get(low + step - 1) {
        if of(item) >= doc {
            break;
        }
        low += step;
        step *= 2;
    }
    let end = items.len().min(low + step - 1);
    low + items[low..end].partition_point(|item| of(item) < doc)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::btree_set;
    use proptest::prelude::*;

    fn words(set: &WordSet) -> Vec<usize> {
        let mut words = Vec::new();
        set.each(|word| words.push(word));
        words
    }

    #[test]
    fn sets_of_many_words() {
        let mut set = WordSet::of(0);
        for word in [63, 64, 200, 3, 127, 128] {
            set.add(&WordSet::of(word));
        }
        assert_eq!(words(&set), [0, 3, 63, 64, 127, 128, 200]);
        assert_eq!(words(&WordSet::default()), []);
    }

    proptest! {
        #[test]
        fn a_place_is_found_from_any_before_it(
            numbers in btree_set(0u64..300, 0..60),
            doc in 0u64..310,
            from in 0usize..60,
        ) {
            let numbers: Vec<u64> = numbers.into_iter().collect();
            let wanted = numbers.partition_point(|number| *number < doc);
            let from = from.min(wanted);
            prop_assert_eq!(seek(&numbers, from, DocId(doc), |number| DocId(*number)), wanted);
        }

        /// Many beside few, and as many.
        #[test]
        fn documents_come_together(
            mine in btree_set(0u64..400, 0..200),
            theirs in btree_set(0u64..400, 0..200),
            few in btree_set(0u64..400, 0..4),
        ) {
            for theirs in [theirs, few] {
                let found = |word, numbers: &std::collections::BTreeSet<u64>| {
                    Found::new(numbers.iter().map(|doc| (DocId(*doc), Hit::of(word, 1))).collect())
                };
                let (mut all, mut both, mut new) = (found(0, &mine), 0, 0);
                let add = |hit: &mut Hit, other: &Hit| {
                    hit.words.add(&other.words);
                    both += 1;
                };
                all.add(found(1, &theirs), add, |_| new += 1);
                prop_assert_eq!(new, theirs.difference(&mine).count());
                prop_assert_eq!(both, mine.intersection(&theirs).count());
                let wanted: Vec<DocId> = mine.union(&theirs).copied().map(DocId).collect();
                prop_assert_eq!(all.documents().collect::<Vec<_>>(), wanted);
                for (doc, hit) in all.iter() {
                    let has = |set: &std::collections::BTreeSet<u64>| set.contains(&doc.0);
                    let wanted: Vec<usize> = [has(&mine), has(&theirs)]
                        .iter()
                        .enumerate()
                        .filter_map(|(word, has)| has.then_some(word))
                        .collect();
                    prop_assert_eq!(words(&hit.words), wanted);
                }
                let mut kept = found(0, &mine);
                kept.retain_beside(&found(1, &theirs), |_, other| other.is_some());
                let wanted: Vec<DocId> = mine.intersection(&theirs).copied().map(DocId).collect();
                prop_assert_eq!(kept.documents().collect::<Vec<_>>(), wanted);
            }
        }
    }
}
