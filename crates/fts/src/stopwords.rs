//! Words that are not indexed, because every text has them.

use std::collections::HashSet;

use vaquita_format::collation::Collation;

/// InnoDB's own list: what `INFORMATION_SCHEMA.INNODB_FT_DEFAULT_STOPWORD` shows, in its order.
pub const DEFAULT: [&str; 36] = [
    "a", "about", "an", "are", "as", "at", "be", "by", "com", "de", "en", "for", "from", "how", "i", "in",
    "is", "it", "la", "of", "on", "or", "that", "the", "this", "to", "was", "what", "when", "where", "who",
    "will", "with", "und", "the", "www",
];

/// The collation by which words are told from those of InnoDB's own list, whatever the index has: `latin1_swedish_ci`.
const OF_DEFAULT: u16 = 8;

/// A list of words, in the character set of its collation.
#[derive(Debug, Clone)]
pub struct WordList {
    /// `None`: there are no words.
    collation: Option<Collation>,
    words: Vec<Box<[u8]>>,
}

impl WordList {
    /// No words.
    pub fn none() -> WordList {
        WordList { collation: None, words: Vec::new() }
    }

    /// InnoDB's own list.
    pub fn default_list() -> WordList {
        let words = DEFAULT.iter().map(|word| word.as_bytes().into()).collect();
        WordList { collation: Collation::of(OF_DEFAULT), words }
    }

    /// A list of one's own.
    pub fn of(collation: Collation, words: Vec<Box<[u8]>>) -> WordList {
        WordList { collation: Some(collation), words }
    }
}

/// The words of a list for an index. Which words are on it is decided by the list's own collation, that of the column which it comes from,
/// as MySQL does: bytes of the one character set are taken for the other.
#[derive(Debug, Clone)]
pub struct Stopwords {
    collation: Collation,
    keys: HashSet<Box<[u8]>>,
    /// The collation of the index.
    of_index: Collation,
    /// The same words by it.
    spelled: HashSet<Box<[u8]>>,
}

impl Stopwords {
    /// Those of a list for an index of a collation.
    pub fn new(list: &WordList, of_index: Collation) -> Stopwords {
        let collation = list.collation.unwrap_or(of_index);
        let keys = |by: Collation| list.words.iter().map(|word| key(by, word)).collect();
        Stopwords { collation, keys: keys(collation), of_index, spelled: keys(of_index) }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Whether the word is on the list.
    pub fn contains(&self, word: &[u8]) -> bool {
        !self.keys.is_empty() && self.keys.contains(&key(self.collation, word))
    }

    /// Whether the word is one of the list to the index, however it is spelled: a document that has it in several spellings has it as
    /// the first one.
    pub fn is_spelled_otherwise(&self, word: &[u8]) -> bool {
        !self.spelled.is_empty() && self.spelled.contains(&key(self.of_index, word))
    }
}

fn key(collation: Collation, word: &[u8]) -> Box<[u8]> {
    let mut key = Vec::new();
    collation.sort_key(word, &mut key);
    key.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collation(id: u16) -> Collation {
        Collation::of(id).expect("known")
    }

    /// What 5.6.24 indexes of texts with such words.
    #[test]
    fn the_collation_of_the_list_decides() {
        let (utf8_general_ci, utf8_bin, latin1) = (collation(33), collation(83), collation(8));
        let words = ["The".as_bytes(), b"apple", "\u{e9}clair".as_bytes()];
        let list = |by: Collation, words: &[&[u8]]| {
            WordList::of(by, words.iter().map(|&word| word.into()).collect())
        };
        let by_bin = Stopwords::new(&list(utf8_bin, &words), utf8_general_ci);
        let by_general = Stopwords::new(&list(utf8_general_ci, &words), utf8_bin);
        let in_latin1 = Stopwords::new(&list(latin1, &[b"The", b"apple", b"\xE9clair"]), utf8_general_ci);
        for (word, bin, general, latin) in [
            ("the", false, true, true),
            ("apple", true, true, true),
            ("\u{e9}clair", true, true, false),
            ("eclair", false, true, true),
        ] {
            assert_eq!(by_bin.contains(word.as_bytes()), bin, "{word}");
            assert_eq!(by_general.contains(word.as_bytes()), general, "{word}");
            assert_eq!(in_latin1.contains(word.as_bytes()), latin, "{word}");
        }
        assert!(by_bin.is_spelled_otherwise(b"eclair"), "it is the same word to the index");
    }

    #[test]
    fn the_default_list_is_ascii_whatever_the_index_is() {
        for id in [33, 83, 45] {
            let list = Stopwords::new(&WordList::default_list(), collation(id));
            for (word, is_one) in
                [("the", true), ("THE", true), ("th\u{e9}", false), ("them", false), ("", false)]
            {
                assert_eq!(list.contains(word.as_bytes()), is_one, "{word} by {id}");
            }
        }
        assert!(!Stopwords::new(&WordList::none(), collation(83)).contains(b"the"));
    }
}
