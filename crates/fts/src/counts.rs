//! What a posting list says without places: which documents have a word, and how often.
//!
//! Whoever keeps an index may keep this of words that are asked for again and again: it is read at once, and in blocks, with what says how much
//! a word can add at most to a document of a block ([`crate::top`]).

use std::sync::OnceLock;

use crate::DocId;
use crate::lengths::TextLength;
use crate::top::BLOCK_DOCUMENTS;

/// The documents that have a word.
#[derive(Debug, Default)]
pub struct Counts {
    /// In ascending order, with how often they have it: a whole number.
    documents: Vec<(DocId, f64)>,
    /// Of each block the most.
    most: Vec<f64>,
    /// Of each block the least words of each text, since somebody asked; and how many texts documents have.
    least: OnceLock<(usize, Vec<u32>)>,
}

impl Counts {
    /// Of documents in any order. `None`: one of them comes twice.
    pub fn new(mut documents: Vec<(DocId, f64)>) -> Option<Counts> {
        if !documents.is_sorted_by(|a, b| a.0 < b.0) {
            documents.sort_unstable_by_key(|&(doc, _)| doc);
            if documents.windows(2).any(|pair| pair[0].0 == pair[1].0) {
                return None;
            }
        }
        documents.shrink_to_fit();
        let most = most_of_blocks(&documents).collect();
        Some(Counts { documents, most, least: OnceLock::new() })
    }

    /// The documents, in ascending order, with how often they have the word.
    pub fn documents(&self) -> &[(DocId, f64)] {
        &self.documents
    }

    /// Of each block how often the document has the word that has it most.
    pub(crate) fn most(&self) -> &[f64] {
        &self.most
    }

    /// Of each block the least words that each text of a document has: asked for once, of `lengths`, which are told as
    /// [`Index::lengths`](crate::search::Index::lengths) tells them. A document of which nothing is told may be as short as it likes.
    ///
    /// # Errors
    /// Those of `lengths`.
    pub(crate) fn least<E>(
        &self,
        lengths: impl FnOnce(&[DocId], &mut dyn FnMut(usize, &[TextLength])) -> Result<(), E>,
    ) -> Result<impl Iterator<Item = &[u32]>, E> {
        if self.least.get().is_none() {
            let documents: Vec<DocId> = self.documents.iter().map(|(doc, _)| *doc).collect();
            let (mut texts, mut least) = (0, Vec::new());
            let mut told = vec![0usize; self.most.len()];
            lengths(&documents, &mut |at, of| {
                if texts == 0 {
                    texts = of.len();
                    least = vec![u32::MAX; texts * self.most.len()];
                }
                let block = at / BLOCK_DOCUMENTS;
                told[block] += 1;
                let least = &mut least[block * texts..][..texts];
                least.iter_mut().zip(of).for_each(|(least, text)| *least = text.words.min(*least));
            })?;
            for (block, (told, documents)) in told.iter().zip(documents.chunks(BLOCK_DOCUMENTS)).enumerate() {
                if *told < documents.len() && texts > 0 {
                    least[block * texts..][..texts].fill(0);
                }
            }
            // Another may have been faster: it has found the same.
            let _ = self.least.set((texts, least));
        }
        let (texts, least) = self.least.get().map_or((0, &[][..]), |(texts, least)| (*texts, least));
        // Of nothing that was told nothing is known.
        Ok((0..self.most.len())
            .map(move |block| least.get(block * texts..(block + 1) * texts).unwrap_or(&[])))
    }

    /// Bytes of memory that it takes, lengths included.
    pub fn bytes(&self) -> usize {
        let block = size_of::<f64>() + 4 * size_of::<u32>();
        size_of::<Counts>() + self.documents.len() * size_of::<(DocId, f64)>() + self.most.len() * block
    }
}

/// Of each block of documents how often the one has the word that has it most.
pub(crate) fn most_of_blocks(documents: &[(DocId, f64)]) -> impl Iterator<Item = f64> {
    let most = |block: &[(DocId, f64)]| block.iter().map(|&(_, times)| times).fold(0.0, f64::max);
    documents.chunks(BLOCK_DOCUMENTS).map(most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    fn counts(documents: impl IntoIterator<Item = u64>) -> Option<Counts> {
        Counts::new(documents.into_iter().map(|doc| (DocId(doc), (doc % 7) as f64)).collect())
    }

    #[test]
    fn documents_ascend_and_come_once() {
        let found = counts([9, 3, 12]).expect("each once");
        assert_eq!(found.documents(), [(DocId(3), 3.0), (DocId(9), 2.0), (DocId(12), 5.0)]);
        assert_eq!(found.most(), [5.0]);
        assert!(counts([9, 3, 9]).is_none());
        assert_eq!(counts([]).expect("none").most(), &[] as &[f64]);
    }

    #[test]
    fn the_shortest_texts_of_blocks() {
        let found = counts(0..BLOCK_DOCUMENTS as u64 * 2 + 1).expect("each once");
        let told = |documents: &[DocId], each: &mut dyn FnMut(usize, &[TextLength])| {
            for (at, doc) in documents.iter().enumerate() {
                let text = |words| TextLength { bytes: 0, words };
                // One of the second block is not seen.
                if at != BLOCK_DOCUMENTS {
                    each(at, &[text(doc.0 as u32 + 3), text(900 - doc.0 as u32)]);
                }
            }
            Ok::<_, Infallible>(())
        };
        let block = BLOCK_DOCUMENTS as u32;
        for _ in 0..2 {
            let Ok(least) = found.least(told);
            let least: Vec<&[u32]> = least.collect();
            assert_eq!(least, [&[3, 901 - block][..], &[0, 0], &[2 * block + 3, 900 - 2 * block]]);
        }
        let found = counts([1, 2]).expect("each once");
        let Ok(least) = found.least(|_, _| Ok::<_, Infallible>(()));
        assert_eq!(least.collect::<Vec<_>>(), [&[] as &[u32]], "nobody tells anything");
    }
}
