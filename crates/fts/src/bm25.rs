//! BM25: ranks that know how long documents are, and that the tenth time a word comes says little.
//!
//! ```text
//! rarity = ln(1 + (documents - with the word + 0.5) / (with the word + 0.5))
//! score  = rarity * times * (k1 + 1) / (times + k1 * (1 - b + b * length / mean length))
//! ```
//!
//! Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), with the rarity that is never
//! negative. InnoDB has no such thing; it needs the length of every document, which its tables do not hold ([`crate::lengths`]).
//!
//! Columns may weigh more or less ([`Weights`]): a text counts as if it were in its document as many times as it weighs, with its words
//! and with its length (the authors' BM25F, without lengths of its own for each column).

/// The two settings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bm25 {
    /// How slowly more of the same word counts less: 0 is not at all, 1.2 is common.
    pub k1: f64,
    /// How much the length counts: 0 is not at all, 1 fully.
    pub b: f64,
}

impl Default for Bm25 {
    fn default() -> Bm25 {
        Bm25 { k1: 1.2, b: 0.75 }
    }
}

/// How much each column of an index weighs.
#[derive(Debug, Clone, PartialEq)]
pub struct Weights(Vec<f64>);

impl Weights {
    /// Of an index whose columns weigh so much.
    ///
    /// # Panics
    /// If one weighs less than 0, or is no number.
    pub fn new(weights: Vec<f64>) -> Weights {
        assert!(weights.iter().all(|weight| *weight >= 0.0 && weight.is_finite()), "weights are numbers");
        Weights(weights)
    }

    /// By column.
    pub fn columns(&self) -> &[f64] {
        &self.0
    }

    /// What all of them weigh, if they are alike.
    pub fn alike(&self) -> Option<f64> {
        let first = *self.0.first()?;
        self.0.iter().all(|weight| *weight == first).then_some(first)
    }

    /// How long texts of so many words are together.
    pub fn length(&self, words: impl IntoIterator<Item = u64>) -> f64 {
        self.0.iter().zip(words).map(|(weight, words)| weight * words as f64).sum()
    }
}

/// A word of a query, ready to score documents.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scorer {
    settings: Bm25,
    rarity: f64,
    length_mean: f64,
}

impl Bm25 {
    /// For a word that `with_word` of `documents` documents have, whose texts have `length_mean` words; `weight` is how much the
    /// word matters to who asks, 1 for all words alike.
    pub fn scorer(self, documents: u64, with_word: u64, length_mean: f64, weight: f64) -> Scorer {
        let (documents, with_word) = (documents.max(with_word) as f64, with_word as f64);
        let rarity = weight * (1.0 + (documents - with_word + 0.5) / (with_word + 0.5)).ln();
        // Without any words no document is scored.
        let length_mean = if length_mean > 0.0 { length_mean } else { 1.0 };
        Scorer { settings: self, rarity, length_mean }
    }
}

impl Scorer {
    /// What the word adds to the score of a document of `length` words that has it `times`.
    #[inline]
    pub fn score(&self, times: f64, length: f64) -> f64 {
        let Bm25 { k1, b } = self.settings;
        if times <= 0.0 {
            return 0.0;
        }
        let norm = k1 * (1.0 - b + b * length / self.length_mean);
        self.rarity * times * (k1 + 1.0) / (times + norm)
    }

    /// What it adds at most to documents that have it at most `times_max`, and are at least `length_min` words long.
    #[inline]
    pub fn score_max(&self, times_max: f64, length_min: f64) -> f64 {
        self.score(times_max, length_min).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// By hand: 10 documents, 3 with the word, this one as long as the mean.
    #[test]
    fn a_score_by_hand() {
        let scorer = Bm25::default().scorer(10, 3, 8.0, 1.0);
        let rarity = (1.0f64 + 7.5 / 3.5).ln();
        assert!((scorer.score(1.0, 8.0) - rarity * 2.2 / 2.2).abs() < 1e-12);
        assert!((scorer.score(2.0, 8.0) - rarity * 4.4 / 3.2).abs() < 1e-12);
        assert!(scorer.score(2.0, 80.0) < scorer.score(2.0, 8.0), "longer is less");
        let heavy = Bm25::default().scorer(10, 3, 8.0, 3.0);
        assert!((heavy.score(2.0, 8.0) - 3.0 * scorer.score(2.0, 8.0)).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn no_document_scores_above_the_bound(
            with_word in 1u64..100, times in 1u32..50, more in 0u32..50, length in 1u32..500, longer in 0u32..500,
        ) {
            let scorer = Bm25::default().scorer(100, with_word, 40.0, 1.0);
            let score = |times: u32, length: u32| scorer.score(f64::from(times), f64::from(length));
            let bound = scorer.score_max(f64::from(times + more), f64::from(length));
            prop_assert!(score(times, length + longer) <= bound);
            prop_assert!(score(times, length) >= 0.0);
        }
    }
}
