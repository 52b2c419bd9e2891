//! Words that are not indexed, because every text has them.

use std::collections::HashSet;

use vaquita_format::collation::Collation;

/// InnoDB's own list: what `INFORMATION_SCHEMA.INNODB_FT_DEFAULT_STOPWORD` shows, in its order.
pub const DEFAULT: [&str; 36] = [
    "a", "about", "an", "are", "as", "at", "be", "by", "com", "de", "en", "for", "from", "how", "i", "in",
    "is", "it", "la", "of", "on", "or", "that", "the", "this", "to", "was", "what", "when", "where", "who",
    "will", "with", "und", "the", "www",
];

/// A list of words by a collation: what is equal by it is the same word.
#[derive(Debug, Clone)]
pub struct Stopwords {
    collation: Collation,
    keys: HashSet<Box<[u8]>>,
}

impl Stopwords {
    /// No words.
    pub fn none(collation: Collation) -> Stopwords {
        Stopwords { collation, keys: HashSet::new() }
    }

    /// InnoDB's own list.
    pub fn default_list(collation: Collation) -> Stopwords {
        Stopwords::of(collation, DEFAULT.iter().map(|word| word.as_bytes()))
    }

    /// A list of one's own, in the character set of the collation.
    pub fn of<'a>(collation: Collation, words: impl IntoIterator<Item = &'a [u8]>) -> Stopwords {
        let mut list = Stopwords::none(collation);
        for word in words {
            let key = list.key(word);
            list.keys.insert(key);
        }
        list
    }

    /// Whether the word is on the list.
    pub fn contains(&self, word: &[u8]) -> bool {
        !self.keys.is_empty() && self.keys.contains(&self.key(word))
    }

    fn key(&self, word: &[u8]) -> Box<[u8]> {
        let mut key = Vec::new();
        self.collation.sort_key(word, &mut key);
        key.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_by_the_collation_is_the_same_word() {
        let utf8_general_ci = Collation::of(33).expect("known");
        let list = Stopwords::default_list(utf8_general_ci);
        for (word, is_one) in [("the", true), ("THE", true), ("thé", true), ("them", false), ("", false)] {
            assert_eq!(list.contains(word.as_bytes()), is_one, "{word}");
        }
        let utf8_bin = Collation::of(83).expect("known");
        assert!(!Stopwords::default_list(utf8_bin).contains(b"THE"));
        assert!(!Stopwords::none(utf8_bin).contains(b"the"));
    }
}
