//! How well a document answers, as InnoDB counts it: how often it has a word, times twice how rare the word is.
//!
//! ```text
//! rarity = log10(documents / documents with the word)
//! rank   = sum over the words of  times in the document * rarity * rarity
//! ```
//!
//! Ranks are single precision, added up in the order of the words. A word that all documents have counts a little:
//! `log10(1.0001)`. A word that comes twice in a query has, both times together, twice its documents.

/// How rare a word is that `with_word` of `documents` have. The first may be the greater one: the number of documents of a
/// table is an estimate, and words that come twice count twice.
pub fn rarity(documents: u64, with_word: u64) -> f64 {
    if with_word == 0 {
        return 0.0;
    }
    if documents == with_word {
        return 1.0001f64.log10();
    }
    // A table without an estimate has at least the documents that were found.
    (documents.max(1) as f64 / with_word as f64).log10()
}

/// What a word adds to the rank of a document that has it `times`.
#[inline]
pub fn weight(times: u32, rarity: f64) -> f32 {
    (f64::from(times) * rarity * rarity) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ranks a server has given.
    #[test]
    fn ranks_of_a_server() {
        assert_eq!(weight(1, rarity(10, 3)), 0.273_402_18);
        assert_eq!(weight(2, rarity(10, 3)), 0.546_804_37);
        assert_eq!(weight(1, rarity(6, 6)), 1.885_928_3e-9);
        assert_eq!(weight(1, rarity(10, 0)), 0.0);
    }
}
