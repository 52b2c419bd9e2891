//! Whether a document has the words of a phrase as the phrase wants them: by the lists, else in its texts.

use super::phrase::{self, Phrase};
use super::places::{PhrasePlaces, Verdict, WordPlaces};
use super::{Columns, Index};
use crate::DocId;
use crate::analyzer::Word;

/// A phrase that documents are tested for; they have its indexed words.
pub(super) struct PhraseTest<'p, I> {
    index: &'p I,
    words: &'p [Word],
    phrase: Phrase<'p>,
    places: Option<PhrasePlaces>,
    /// How many words may be from the first to the last, in any order; `None`: they follow each other.
    within: Option<u64>,
}

impl<'p, I: Index> PhraseTest<'p, I> {
    /// Of these words. `lists` are of those that are indexed.
    pub(super) fn new(
        index: &'p I,
        words: &'p [Word],
        lists: Vec<WordPlaces>,
        within: Option<u64>,
    ) -> PhraseTest<'p, I> {
        let places = PhrasePlaces::new(index.analyzer(), words, lists, index.borders());
        PhraseTest { index, words, phrase: Phrase::new(index.analyzer(), words), places, within }
    }

    /// Whether a document has it. One whose text is needed and not to be seen has not.
    pub(super) fn has(&mut self, doc: DocId) -> Result<bool, I::Error> {
        let verdict = match (&mut self.places, self.within) {
            (None, _) => Verdict::Unknown,
            (Some(places), None) => places.follow(doc),
            (Some(places), Some(within)) => places.near(doc, within),
        };
        match verdict {
            Verdict::Yes => return Ok(true),
            Verdict::No => return Ok(false),
            Verdict::InText | Verdict::Unknown => {}
        }
        let Some(columns) = self.index.columns(doc)? else { return Ok(false) };
        let at_places = self.places.as_ref().filter(|_| verdict == Verdict::InText);
        let found = at_places.and_then(|places| self.look(places, &columns));
        Ok(found.unwrap_or_else(|| match self.within {
            None => self.phrase.is_in(&columns),
            Some(within) => phrase::is_near(self.index.analyzer(), &columns, self.words, within),
        }))
    }

    fn look(&self, places: &PhrasePlaces, columns: &Columns) -> Option<bool> {
        match self.within {
            None => places.follow_in(&self.phrase, columns),
            Some(within) => places.near_in(columns, within),
        }
    }
}
