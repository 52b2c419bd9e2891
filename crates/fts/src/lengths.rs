//! How long documents are, text by text: what [`crate::bm25`] asks and posting lists do not hold.
//!
//! Whoever keeps an index keeps these beside it, in memory: they are made of the texts again.

use std::collections::{HashMap, HashSet};

use crate::DocId;
use crate::analyzer::Analyzer;
use crate::document::DocumentWords;
use crate::ilist::read_positions;

/// How long a text of a document is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TextLength {
    /// In bytes.
    pub bytes: u32,
    /// In words that are indexed.
    pub words: u32,
}

/// The lengths of all documents of an index.
#[derive(Debug, Clone, Default)]
pub struct Lengths {
    columns: usize,
    /// Where each document begins in `texts`, divided by `columns`.
    places: HashMap<DocId, u32>,
    texts: Vec<TextLength>,
    /// Places of documents that are gone.
    free: Vec<u32>,
    /// Words of all documents, text by text.
    words: Vec<u64>,
    /// Those that went before they came: documents are still being gathered.
    gone: Option<HashSet<DocId>>,
}

impl Lengths {
    /// Of an index of so many columns, whose documents are to be gathered: they may go before they come.
    pub fn gathering(columns: usize) -> Lengths {
        let gone = Some(HashSet::new());
        Lengths { columns, words: vec![0; columns], gone, ..Lengths::default() }
    }

    /// All documents have come that were there when it began.
    pub fn gathered(&mut self) {
        self.gone = None;
    }

    /// A document came; nothing happens if it is there, or gone.
    ///
    /// # Panics
    /// If it has another number of texts than the index has columns.
    pub fn put(&mut self, doc: DocId, texts: &[TextLength]) {
        assert_eq!(texts.len(), self.columns, "a text for each column");
        if self.places.contains_key(&doc) || self.gone.as_ref().is_some_and(|gone| gone.contains(&doc)) {
            return;
        }
        for (all, text) in self.words.iter_mut().zip(texts) {
            *all += u64::from(text.words);
        }
        let place = match self.free.pop() {
            Some(place) => {
                self.texts[place as usize * self.columns..][..self.columns].copy_from_slice(texts);
                place
            }
            None => {
                self.texts.extend_from_slice(texts);
                self.places.len() as u32
            }
        };
        self.places.insert(doc, place);
    }

    /// A document went.
    pub fn remove(&mut self, doc: DocId) {
        if let Some(gone) = &mut self.gone {
            gone.insert(doc);
        }
        let Some(place) = self.places.remove(&doc) else { return };
        let texts = &self.texts[place as usize * self.columns..][..self.columns];
        for (all, text) in self.words.iter_mut().zip(texts) {
            *all -= u64::from(text.words);
        }
        self.free.push(place);
    }

    /// The texts of a document, if it is there.
    pub fn of(&self, doc: DocId) -> Option<&[TextLength]> {
        let place = *self.places.get(&doc)? as usize;
        Some(&self.texts[place * self.columns..][..self.columns])
    }

    /// Of all documents together.
    pub fn totals(&self) -> Totals {
        Totals { documents: self.places.len() as u64, words: self.words.clone() }
    }
}

/// How long all documents together are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Totals {
    /// How many there are.
    pub documents: u64,
    /// Their words, text by text.
    pub words: Vec<u64>,
}

/// Measures the texts of a document.
pub fn measure<'a>(
    analyzer: &Analyzer,
    columns: impl IntoIterator<Item = Option<&'a [u8]>> + Clone,
) -> Vec<TextLength> {
    let words = DocumentWords::new(analyzer, DocId(0), columns.clone());
    measure_words(&words, columns)
}

/// The same of a document whose words are known.
pub fn measure_words<'a>(
    words: &DocumentWords,
    columns: impl IntoIterator<Item = Option<&'a [u8]>>,
) -> Vec<TextLength> {
    let bytes = columns.into_iter().map(|text| text.map_or(0, <[u8]>::len));
    let mut texts: Vec<TextLength> =
        bytes.map(|bytes| TextLength { bytes: u32::try_from(bytes).unwrap_or(u32::MAX), words: 0 }).collect();
    for place in words.places() {
        if let Some(text) = text_at(&texts, place) {
            texts[text].words += 1;
        }
    }
    texts
}

/// Which text a place of a document is in: texts follow each other with a byte between; empty ones are left out.
fn text_at(texts: &[TextLength], place: u32) -> Option<usize> {
    let mut end = 0u64;
    for (at, text) in texts.iter().enumerate().filter(|(_, text)| text.bytes > 0) {
        end += u64::from(text.bytes) + 1;
        if u64::from(place) < end {
            return Some(at);
        }
    }
    None
}

/// What places in a document count together, each as its text weighs. `places` is as lists have them; what no list can have counts nothing.
pub(crate) fn weigh(texts: &[TextLength], weights: &[f64], places: &[u8], room: &mut Vec<u32>) -> f64 {
    room.clear();
    match read_positions(places, room) {
        Ok(()) => room.iter().filter_map(|place| text_at(texts, *place)).map(|text| weights[text]).sum(),
        Err(_) => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ilist::Places;
    use vaquita_format::collation::Collation;

    fn texts(of: &[(u32, u32)]) -> Vec<TextLength> {
        of.iter().map(|&(bytes, words)| TextLength { bytes, words }).collect()
    }

    #[test]
    fn words_are_counted_where_they_are() {
        let analyzer = Analyzer::innodb(Collation::of(33).expect("known"));
        let columns = [Some(&b"apple, the pear"[..]), None, Some(b""), Some(b"plum plum it fig")];
        // `the` is a stopword, `it` is short.
        assert_eq!(measure(&analyzer, columns), texts(&[(15, 2), (0, 0), (0, 0), (16, 3)]));
    }

    #[test]
    fn places_weigh_what_their_texts_do() {
        let of = texts(&[(5, 1), (0, 0), (9, 2)]);
        let weigh = |places: &[u32]| {
            let mut list = Vec::new();
            Places::Plain(places).encode(&mut list);
            weigh(&of, &[4.0, 9.0, 0.5], &list, &mut Vec::new())
        };
        // The first text ends at 5, the last one begins at 6 and ends at 15.
        assert_eq!(weigh(&[0, 5, 6, 15]), 9.0);
        assert_eq!(weigh(&[16]), 0.0);
    }

    #[test]
    fn documents_come_and_go() {
        let mut lengths = Lengths::gathering(2);
        lengths.put(DocId(7), &texts(&[(10, 2), (20, 3)]));
        lengths.remove(DocId(9));
        lengths.put(DocId(9), &texts(&[(1, 1), (1, 1)]));
        assert_eq!(lengths.of(DocId(9)), None, "it went before it was gathered");
        lengths.gathered();
        lengths.put(DocId(8), &texts(&[(5, 1), (0, 0)]));
        lengths.put(DocId(8), &texts(&[(5, 1), (0, 0)]));
        assert_eq!(lengths.totals(), Totals { documents: 2, words: vec![3, 3] });
        lengths.remove(DocId(7));
        lengths.remove(DocId(7));
        lengths.put(DocId(12), &texts(&[(2, 1), (3, 1)]));
        assert_eq!(lengths.of(DocId(12)), Some(&texts(&[(2, 1), (3, 1)])[..]));
        assert_eq!(lengths.of(DocId(8)), Some(&texts(&[(5, 1), (0, 0)])[..]));
        assert_eq!(lengths.totals(), Totals { documents: 2, words: vec![2, 1] });
        lengths.put(DocId(13), &texts(&[(9, 4), (9, 4)]));
        assert_eq!(lengths.of(DocId(12)), Some(&texts(&[(2, 1), (3, 1)])[..]));
        assert_eq!(lengths.of(DocId(13)), Some(&texts(&[(9, 4), (9, 4)])[..]));
    }
}
