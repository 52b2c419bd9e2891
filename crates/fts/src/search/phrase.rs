//! Words next to each other, and near each other.
//!
//! Posting lists cannot tell it: a phrase has all its words in this order, those that are not indexed too, and nothing between.
//! So the documents that have the indexed words are read again.

use crate::analyzer::{Analyzer, Word};
use crate::search::Columns;

/// The words of a phrase. Words at its start that are not indexed are left away; one behind them must be there. Pieces of words stay:
/// without them it would be another word.
pub(super) fn words(analyzer: &Analyzer, text: &[u8]) -> Vec<Word> {
    let keeps_start = analyzer.parser().cuts_terms();
    let mut words = Vec::new();
    analyzer.words(text, |word| {
        if keeps_start || word.is_indexed || !words.is_empty() {
            words.push(word);
        }
    });
    words
}

/// Whether one of the columns has the words, one directly after the other. The first one is where the index has it: a stopword that is
/// the same word in another spelling begins nothing.
pub(super) fn is_in(analyzer: &Analyzer, columns: &Columns, phrase: &[Word]) -> bool {
    let is_any_start = analyzer.parser().cuts_terms();
    let is_phrase = |words: &[Word]| {
        let same = |(a, b): (&Word, &Word)| analyzer.collation().equal(&a.text, &b.text);
        words.first().is_none_or(|first| is_any_start || first.is_indexed)
            && words.iter().zip(phrase).all(same)
    };
    columns.iter().flatten().any(|text| {
        let mut found = Vec::new();
        analyzer.words(text, |word| found.push(word));
        found.windows(phrase.len()).any(is_phrase)
    })
}

/// Whether all the indexed words are among `within` words of the columns' texts, one text after the other. The same word twice
/// is in one place.
pub(super) fn is_near(analyzer: &Analyzer, columns: &Columns, phrase: &[Word], within: u64) -> bool {
    let wanted: Vec<&[u8]> = phrase.iter().filter(|word| word.is_indexed).map(|word| &*word.text).collect();
    // Where each wanted word was last.
    let mut last = vec![None; wanted.len()];
    let (mut at, mut is_near) = (0u64, false);
    for text in columns.iter().flatten() {
        analyzer.words(text, |word| {
            for (place, wanted) in last.iter_mut().zip(&wanted) {
                if analyzer.collation().equal(&word.text, wanted) {
                    *place = Some(at);
                }
            }
            at += 1;
            // `None` is the least: a word that has not come yet.
            let first = last.iter().min().copied().flatten();
            is_near |= first.is_some_and(|first| at - first <= within);
        });
    }
    is_near
}
