//! How long documents are, text by text: what [`crate::bm25`] asks and posting lists do not hold.
//!
//! Whoever keeps an index keeps these beside it, in memory: they are made of the texts again.

use std::collections::{BTreeMap, HashSet};

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
    /// Where each document begins in `texts`, divided by `columns`; by the number of its page.
    pages: BTreeMap<u64, Page>,
    /// How many documents there are.
    documents: usize,
    texts: Vec<TextLength>,
    /// Places of documents that are gone.
    free: Vec<u32>,
    /// Words of all documents, text by text.
    words: Vec<u64>,
    /// Those that went before they came: documents are still being gathered.
    gone: Option<HashSet<DocId>>,
}

/// Documents whose numbers follow each other.
const PAGE_DOCUMENTS: u64 = 64;
/// The place of no document.
const NOWHERE: u32 = u32::MAX;

/// Places of documents. Numbers mostly have no gaps, and are asked for in ascending order.
#[derive(Debug, Clone)]
struct Page {
    places: [u32; PAGE_DOCUMENTS as usize],
    documents: u32,
}

impl Page {
    const EMPTY: Page = Page { places: [NOWHERE; PAGE_DOCUMENTS as usize], documents: 0 };

    fn place(&self, doc: DocId) -> Option<usize> {
        let place = self.places[(doc.0 % PAGE_DOCUMENTS) as usize];
        (place != NOWHERE).then_some(place as usize)
    }
}

/// A way through lengths for who asks for documents in ascending order, mostly.
#[derive(Debug, Clone)]
pub struct Near<'l> {
    lengths: &'l Lengths,
    /// The page that was asked for last, if it is there.
    page: (u64, Option<&'l Page>),
}

impl<'l> Near<'l> {
    /// The texts of a document, if it is there.
    #[inline]
    pub fn of(&mut self, doc: DocId) -> Option<&'l [TextLength]> {
        let number = doc.0 / PAGE_DOCUMENTS;
        if self.page.0 != number {
            self.page = (number, self.lengths.pages.get(&number));
        }
        let place = self.page.1?.place(doc)?;
        Some(self.lengths.texts_at(place))
    }
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
        if self.place(doc).is_some() || self.gone.as_ref().is_some_and(|gone| gone.contains(&doc)) {
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
                // None is free: each has its own.
                self.documents as u32
            }
        };
        let page = self.pages.entry(doc.0 / PAGE_DOCUMENTS).or_insert(Page::EMPTY);
        page.places[(doc.0 % PAGE_DOCUMENTS) as usize] = place;
        page.documents += 1;
        self.documents += 1;
    }

    fn place(&self, doc: DocId) -> Option<usize> {
        self.pages.get(&(doc.0 / PAGE_DOCUMENTS))?.place(doc)
    }

    fn texts_at(&self, place: usize) -> &[TextLength] {
        &self.texts[place * self.columns..][..self.columns]
    }

    /// A document went.
    pub fn remove(&mut self, doc: DocId) {
        if let Some(gone) = &mut self.gone {
            gone.insert(doc);
        }
        let number = doc.0 / PAGE_DOCUMENTS;
        let Some(page) = self.pages.get_mut(&number) else { return };
        let Some(place) = page.place(doc) else { return };
        page.places[(doc.0 % PAGE_DOCUMENTS) as usize] = NOWHERE;
        page.documents -= 1;
        if page.documents == 0 {
            self.pages.remove(&number);
        }
        self.documents -= 1;
        let texts = &self.texts[place * self.columns..][..self.columns];
        for (all, text) in self.words.iter_mut().zip(texts) {
            *all -= u64::from(text.words);
        }
        self.free.push(place as u32);
    }

    /// The texts of a document, if it is there.
    pub fn of(&self, doc: DocId) -> Option<&[TextLength]> {
        self.near().of(doc)
    }

    /// A way through them.
    pub fn near(&self) -> Near<'_> {
        Near { lengths: self, page: (u64::MAX, None) }
    }

    /// Of all documents together.
    pub fn totals(&self) -> Totals {
        Totals { documents: self.documents as u64, words: self.words.clone() }
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
    use proptest::prelude::*;
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

    proptest! {
        /// Whatever comes and goes, on few pages and on many.
        #[test]
        fn what_is_there_is_found(
            changes in proptest::collection::vec((any::<bool>(), prop_oneof![0u64..200, 0u64..u64::MAX]), 0..200),
        ) {
            let (mut lengths, mut wanted) = (Lengths::gathering(1), BTreeMap::new());
            lengths.gathered();
            for (n, (comes, doc)) in changes.iter().enumerate() {
                let text = TextLength { bytes: n as u32, words: n as u32 % 7 };
                match comes {
                    true => {
                        lengths.put(DocId(*doc), &[text]);
                        wanted.entry(*doc).or_insert(text);
                    }
                    false => {
                        lengths.remove(DocId(*doc));
                        wanted.remove(doc);
                    }
                }
            }
            let mut near = lengths.near();
            let asked = wanted.keys().copied().chain(changes.iter().map(|(_, doc)| *doc));
            for doc in asked {
                prop_assert_eq!(near.of(DocId(doc)), wanted.get(&doc).map(std::slice::from_ref));
                prop_assert_eq!(lengths.of(DocId(doc)), wanted.get(&doc).map(std::slice::from_ref));
            }
            let words = wanted.values().map(|text| u64::from(text.words)).sum();
            prop_assert_eq!(lengths.totals(), Totals { documents: wanted.len() as u64, words: vec![words] });
        }
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
