//! What should be there: values by key, with the LSN from which each counts.
//!
//! A mini-transaction happens entirely or not at all, and the log keeps a beginning of them. So whatever a crash
//! leaves must equal the history at one LSN, the same for every key.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::ops::RangeBounds;
use vaquita_base::Lsn;

/// Versions of every value. A value that is gone has a last version `None`.
#[derive(Debug, Clone)]
pub struct History<K, V> {
    versions: BTreeMap<K, Vec<(Lsn, Option<V>)>>,
}

impl<K: Ord + Clone + Debug, V> Default for History<K, V> {
    fn default() -> Self {
        Self { versions: BTreeMap::new() }
    }
}

impl<K: Ord + Clone + Debug, V> History<K, V> {
    /// Nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Notes a change that a mini-transaction ending at `lsn` made.
    ///
    /// # Panics
    /// If a later change of the key is known.
    pub fn set(&mut self, lsn: Lsn, key: K, value: Option<V>) {
        let versions = self.versions.entry(key).or_default();
        match versions.last_mut() {
            // The same mini-transaction, twice.
            Some(last) if last.0 == lsn => last.1 = value,
            last => {
                assert!(last.is_none_or(|l| l.0 < lsn), "changes come in the order of their LSNs");
                versions.push((lsn, value));
            }
        }
    }

    /// The value now.
    pub fn get(&self, key: &K) -> Option<&V> {
        self.versions.get(key)?.last()?.1.as_ref()
    }

    /// What is there now, in a range of keys.
    pub fn range<R: RangeBounds<K>>(&self, range: R) -> impl DoubleEndedIterator<Item = (&K, &V)> {
        self.versions.range(range).filter_map(|(k, v)| Some((k, v.last()?.1.as_ref()?)))
    }

    /// Everything that is there now.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&K, &V)> {
        self.range(..)
    }

    /// Makes the state at `lsn` the present and forgets all others.
    pub fn settle(&mut self, lsn: Lsn) {
        self.versions.retain(|_, versions| {
            let kept = versions.partition_point(|(at, _)| *at <= lsn);
            versions.truncate(kept);
            versions.drain(..kept.saturating_sub(1));
            versions.last().is_some_and(|(_, v)| v.is_some())
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settling_goes_back_to_a_moment() {
        let mut h = History::new();
        for (lsn, key, value) in [(1, 'a', Some(1)), (2, 'b', Some(2)), (3, 'a', None), (4, 'a', Some(4))] {
            h.set(Lsn(lsn), key, value);
        }
        let at = |lsn| {
            let mut past = h.clone();
            past.settle(Lsn(lsn));
            past.iter().map(|(k, v)| (*k, *v)).collect::<Vec<_>>()
        };
        assert_eq!(at(0), []);
        assert_eq!(at(2), [('a', 1), ('b', 2)]);
        assert_eq!(at(3), [('b', 2)]);
        assert_eq!(at(9), [('a', 4), ('b', 2)]);
    }
}
