//! Documents that are deleted and still in lists make words less rare, but to a query of one word, as MySQL 5.6.24 counts them.

use crate::common;

use common::{Memory, utf8};
use vaquita_fts::DocId;
use vaquita_fts::search::Mode;

#[test]
fn to_a_query_of_one_word_they_do_not_count() {
    let texts = ["apple", "apple", "pear", "plum", "fig", "nut", "lime", "kiwi"];
    let texts = (1..).zip(texts.map(|text| vec![Some(text.into())]));
    let mut index = Memory::new(utf8(), texts);
    index.documents.remove(&DocId(2));
    let rank = |mode, query: &str| {
        let found = index.ask(mode, query).unwrap();
        let of_apple: Vec<f32> = found.iter().filter(|m| m.doc == DocId(1)).map(|m| m.rank).collect();
        assert_eq!(of_apple.len(), 1, "{query}");
        of_apple[0]
    };
    // Of seven documents one has the word, or two.
    let rarity = |with: f64| ((7.0 / with).log10() * (7.0 / with).log10()) as f32;
    let (one, two) = (rarity(1.0), rarity(2.0));
    // Recorded with documents of which some were deleted: the first rank or the second.
    for (query, wanted) in [
        ("apple", one),
        ("apple ,", one),
        (". apple , /", one),
        ("apple \u{1F600}", one),
        ("apple x", two),
        ("apple the", two),
        ("apple grape", two),
        ("\"apple\"", two),
    ] {
        assert!((rank(Mode::Natural, query) - wanted).abs() < 1e-6, "{query}");
        assert!((rank(Mode::Boolean, query) - wanted).abs() < 1e-6, "{query} in boolean mode");
    }
    for query in ["+apple", "(apple)", "apple ()", "apple +,"] {
        assert!((rank(Mode::Boolean, query) - two).abs() < 1e-6, "{query}");
    }
}
