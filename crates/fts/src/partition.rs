//! Which of an index's six tables a word is in: in InnoDB by the weight of its first character, so that A to E are in the second.
//!
//! | table | weights from |
//! |---|---|
//! | `INDEX_1` | 0 |
//! | `INDEX_2` | 65 |
//! | `INDEX_3` | 70 |
//! | `INDEX_4` | 75 |
//! | `INDEX_5` | 80 |
//! | `INDEX_6` | 85 |
//!
//! The weight is the number of the first two bytes of WEIGHT_STRING(), its high byte if it is above 255. The division is made
//! for the collations whose weights are capital letters of ASCII; in others most words are in one table. So an index may have another one
//! ([`Split`]), which no MySQL server knows.

use vaquita_format::collation::Collation;

/// How many tables an index has.
pub const TABLES: usize = 6;

/// The weights at which tables 2 to 6 begin.
const STARTS: [u16; TABLES - 1] = [65, 70, 75, 80, 85];

/// How the words of an index are divided among its tables.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Split {
    /// As InnoDB does it: see the module.
    #[default]
    Innodb,
    /// By a hash of the word's weights: `hash`.
    Hash,
    /// By the words with which tables 2 to 6 begin, as the collation sorts them: `words(b, f, k, p, t)`. Their sort keys.
    Words([Box<[u8]>; TABLES - 1]),
}

/// What is no division.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SplitError(pub String);

impl std::fmt::Display for SplitError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "'{}' is no division of words: hash, words(a, b, c, d, e) in ascending order", self.0)
    }
}

impl std::error::Error for SplitError {}

impl Split {
    /// Finds what follows `mark` in a text that may say other things, too.
    pub fn in_text<'t>(text: &'t str, mark: &str) -> Option<&'t str> {
        let said = &text[text.find(mark)? + mark.len()..];
        let end = match said.find(|c: char| !c.is_ascii_alphanumeric()) {
            Some(open) if said[open..].starts_with('(') => {
                said.find(')').map_or(said.len(), |close| close + 1)
            }
            end => end.unwrap_or(said.len()),
        };
        Some(&said[..end])
    }

    /// As it is written, for words of a collation.
    ///
    /// # Errors
    /// It is none; the words are not as many as there are, do not ascend, or are not in the character set.
    pub fn of(text: &str, collation: Collation) -> Result<Split, SplitError> {
        let wrong = || SplitError(text.to_owned());
        if text.eq_ignore_ascii_case("hash") {
            return Ok(Split::Hash);
        }
        let start = text.get(..6).filter(|start| start.eq_ignore_ascii_case("words("));
        let words = start.and_then(|_| text[6..].strip_suffix(')')).ok_or_else(wrong)?;
        let key = |word: &str| {
            let mut stored = Vec::new();
            let is_there = word.chars().all(|c| collation.charset().push(u32::from(c), &mut stored));
            (is_there && !word.is_empty()).then(|| key(collation, &stored))
        };
        let keys: Option<Vec<Box<[u8]>>> = words.split(',').map(|word| key(word.trim())).collect();
        let keys = keys.filter(|keys| keys.is_sorted_by(|a, b| a < b)).ok_or_else(wrong)?;
        keys.try_into().map(Split::Words).map_err(|_| wrong())
    }

    /// The table of a word, 0 to 5: `INDEX_1` is 0. It is the same for all spellings of a word.
    pub fn table_of(&self, collation: Collation, word: &[u8]) -> usize {
        match self {
            Split::Innodb => by_first_character(collation, word),
            Split::Hash => {
                let mut weights = Vec::new();
                collation.weight_string(word, &mut weights);
                (hash(&weights) % TABLES as u64) as usize
            }
            Split::Words(starts) => {
                let key = key(collation, word);
                starts.partition_point(|start| **start <= *key)
            }
        }
    }
}

fn key(collation: Collation, word: &[u8]) -> Box<[u8]> {
    let mut key = Vec::with_capacity(word.len() + 2);
    collation.sort_key(word, &mut key);
    key.into()
}

/// FNV-1a of 64 bits: what is in the files follows from it, and from WEIGHT_STRING(), which is MySQL's.
fn hash(weights: &[u8]) -> u64 {
    weights
        .iter()
        .fold(0xCBF2_9CE4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01B3))
}

/// The table of a word as InnoDB has it.
fn by_first_character(collation: Collation, word: &[u8]) -> usize {
    let mut weights = Vec::new();
    // The first character's weights depend on few characters behind it: contractions.
    let start = collation.charset().substring(word, 0, 4);
    collation.weight_string(start, &mut weights);
    let value = match weights[..] {
        [high, low, ..] => u16::from(high) << 8 | u16::from(low),
        [only] => u16::from(only),
        [] => 0,
    };
    let value = if value > 255 { value >> 8 } else { value };
    STARTS.iter().take_while(|&&start| value >= start).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_of_a_latin_collation() {
        for id in [8, 33, 45] {
            let collation = Collation::of(id).expect("known");
            let tables =
                ["123", "apple", "egg", "fig", "Jam", "kiwi", "oat", "pear", "tea", "ugli", "zest", "_x"];
            let found = tables.map(|word| Split::Innodb.table_of(collation, word.as_bytes()));
            assert_eq!(found, [0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 5], "{id}");
        }
        let utf8 = Collation::of(33).expect("known");
        assert_eq!(Split::Innodb.table_of(utf8, "éclair".as_bytes()), 1);
        assert_eq!(Split::Innodb.table_of(utf8, "日本".as_bytes()), 5);
        assert_eq!(Split::Innodb.table_of(utf8, b""), 0);
    }

    #[test]
    fn other_divisions() {
        let utf8 = Collation::of(33).expect("known");
        let cyrillic = Split::of("words(г, к, О, с, у)", utf8).expect("ascending");
        let words = ["apple", "база", "Год", "журнал", "книга", "о", "Страница", "ящик"];
        assert_eq!(words.map(|word| cyrillic.table_of(utf8, word.as_bytes())), [0, 0, 1, 1, 2, 3, 4, 5]);
        // All spellings of a word are in one table, and all tables have some.
        let hash = Split::of("HASH", utf8).expect("it is one");
        let table = |word: &str| hash.table_of(utf8, word.as_bytes());
        assert_eq!(table("éclair"), table("Eclair"));
        let mut counts = [0; TABLES];
        (0..6_000).for_each(|n| counts[table(&format!("слово{n}"))] += 1);
        assert!(counts.iter().all(|count| (800..1_200).contains(count)), "{counts:?}");
        // What is in files does not move.
        assert_eq!(["apple", "pear", "книга"].map(table), HASHED);
        let latin1 = Collation::of(8).expect("known");
        for (text, collation) in [
            ("words(a, b, c, d)", utf8),
            ("words(a, b, c, d, e, f)", utf8),
            ("words(a, b, c, d, D)", utf8),
            ("words(a, c, b, d, e)", utf8),
            ("words(a, b, c, d, )", utf8),
            ("words(г, к, о, с, у)", latin1),
            ("words", utf8),
            ("none", utf8),
            ("", utf8),
        ] {
            assert_eq!(Split::of(text, collation), Err(SplitError(text.to_owned())));
        }
    }

    #[test]
    fn it_may_stand_in_another_text() {
        let found = |text| Split::in_text(text, "split=");
        assert_eq!(found("of pages"), None);
        assert_eq!(found("split=hash; of pages"), Some("hash"));
        assert_eq!(found("split=words(a, b) split=hash"), Some("words(a, b)"));
        assert_eq!(found("split=words(a"), Some("words(a"));
        assert_eq!(found("split="), Some(""));
    }

    /// By hand: FNV-1a of the weights, two bytes each.
    const HASHED: [usize; 3] = [1, 3, 1];
}
