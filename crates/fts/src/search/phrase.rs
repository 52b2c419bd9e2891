//! Words next to each other, and near each other.
//!
//! A phrase has all its words in this order, those that are not indexed too, and nothing between. What posting lists do not tell of it
//! (`places`) is read again in the documents that have the indexed words.

use crate::analyzer::{Analyzer, Word};
use crate::parser::Words;
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

/// A phrase that texts are looked through for.
pub(super) struct Phrase<'p> {
    analyzer: &'p Analyzer,
    words: &'p [Word],
    /// Capital letters of ASCII become its small ones, and others stay: so most words are told apart by their first bytes.
    folds_ascii: bool,
}

impl<'p> Phrase<'p> {
    pub(super) fn new(analyzer: &'p Analyzer, words: &'p [Word]) -> Phrase<'p> {
        let ascii: Vec<u8> = (b'0'..=b'z').filter(u8::is_ascii_alphanumeric).collect();
        let folds_ascii = analyzer.folded(&ascii) == ascii.to_ascii_lowercase();
        Phrase { analyzer, words, folds_ascii }
    }

    /// Whether one of the columns has the words, one directly after the other. The first one is where the index has it: a stopword that
    /// is the same word in another spelling begins nothing.
    pub(super) fn is_in(&self, columns: &Columns) -> bool {
        let Some(last) = self.words.len().checked_sub(1) else { return true };
        let is_any_start = self.analyzer.parser().cuts_terms();
        // How many words of the phrase were found, from each place that may be its start.
        let (mut begun, mut is_found) = (Vec::<usize>::new(), false);
        for text in columns.iter().flatten() {
            begun.clear();
            self.analyzer.parser().words(text, &mut |raw| {
                if is_found {
                    return;
                }
                begun.retain_mut(|found| {
                    let is_next = self.is_word(&raw.text, *found);
                    is_found |= is_next && *found == last;
                    *found += 1;
                    is_next
                });
                let is_start = self.is_word(&raw.text, 0)
                    && (is_any_start || self.analyzer.indexed(&raw.text).is_some());
                if is_start {
                    is_found |= last == 0;
                    begun.push(1);
                }
            });
        }
        is_found
    }

    /// Whether the phrase is in a text from the byte on at which its first word is. `None`: that is not there.
    pub(super) fn is_at(&self, runs: Words, text: &[u8], from: usize) -> Option<bool> {
        let mut at = from;
        for number in 0..self.words.len() {
            let word = runs.next(text, at);
            let is_next = word.as_ref().is_some_and(|word| self.is_word(&text[word.clone()], number));
            let word = word.filter(|word| number > 0 || word.start == from);
            match (is_next, word) {
                (true, Some(word)) => at = word.end,
                _ if number == 0 => return None,
                _ => return Some(false),
            }
        }
        Some(true)
    }

    /// Whether a word of a text is that of the phrase at a place.
    fn is_word(&self, raw: &[u8], at: usize) -> bool {
        let (word, collation) = (&self.words[at].text[..], self.analyzer.collation());
        let differ = raw.iter().zip(word).find(|(a, b)| a.to_ascii_lowercase() != **b || !a.is_ascii());
        match differ {
            _ if !self.folds_ascii => {}
            None if raw.len() == word.len() => return true,
            // Before it are the same characters.
            Some((a, b))
                if (a | b).is_ascii()
                    && collation.by_differing_bytes(a.to_ascii_lowercase(), *b).is_some() =>
            {
                return false;
            }
            _ => {}
        }
        collation.equal(&self.analyzer.folded(raw), word)
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parser::Ngrams;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use vaquita_format::collation::Collation;

    /// Every place of every text is looked at, with all words in lower case.
    fn is_anywhere(analyzer: &Analyzer, columns: &Columns, phrase: &[Word]) -> bool {
        let is_any_start = analyzer.parser().cuts_terms();
        columns.iter().flatten().any(|text| {
            let mut found = Vec::new();
            analyzer.words(text, |word| found.push(word));
            found.windows(phrase.len()).any(|words| {
                let same = |(a, b): (&Word, &Word)| analyzer.collation().equal(&a.text, &b.text);
                (is_any_start || words[0].is_indexed) && words.iter().zip(phrase).all(same)
            })
        })
    }

    proptest! {
        #[test]
        fn a_phrase_is_found_where_its_words_follow_each_other(
            texts in vec("(pear|Pear|PEAR|péar|pearl|ıs|IS|is|the|ThE|ss|ß|vv|ww|aa|,){0,9}( |\\.)(pear|the|IS|ww){0,2}", 1..3),
            phrase in "(pear|Péar|is|the|ss|vv|aa|å|I)( (pear|the|is|ß|ww)){0,2}",
            // utf8_general_ci, utf8_bin, utf8_unicode_ci, utf8_swedish_ci, utf8_turkish_ci, utf8mb4_general_ci, utf8_danish_ci.
            id in prop_oneof![Just(33u16), Just(83), Just(192), Just(200), Just(201), Just(45), Just(203)],
            cuts: bool,
        ) {
            let collation = Collation::of(id).expect("known");
            let analyzer = Analyzer::innodb(collation).with_sizes(2..=84);
            let analyzer = match cuts {
                true => analyzer.with_parser(Box::new(Ngrams::new(collation.charset(), 2))),
                false => analyzer,
            };
            let words = words(&analyzer, phrase.as_bytes());
            prop_assume!(!words.is_empty());
            let columns: Columns = texts.into_iter().map(|text| Some(text.into_bytes())).collect();
            let found = Phrase::new(&analyzer, &words).is_in(&columns);
            prop_assert_eq!(found, is_anywhere(&analyzer, &columns, &words));
        }

        #[test]
        fn second_bytes_of_characters_are_no_letters(
            texts in vec(any::<[u8; 2]>(), 0..12),
            phrase in vec(any::<[u8; 2]>(), 1..3),
        ) {
            let collation = Collation::of(28).expect("gbk_chinese_ci");
            let analyzer = Analyzer::innodb(collation).with_sizes(1..=84);
            let words = words(&analyzer, &phrase.concat());
            prop_assume!(!words.is_empty());
            let columns: Columns = vec![Some(texts.concat()), Some(phrase.concat())];
            let found = Phrase::new(&analyzer, &words).is_in(&columns);
            prop_assert_eq!(found, is_anywhere(&analyzer, &columns, &words));
        }
    }
}
