//! Phrases and words near each other are found where the texts have them, whatever the lists tell of it.
#![expect(clippy::unwrap_used, reason = "a test")]

use crate::common;

use common::{Memory, utf8};
use proptest::collection::vec;
use proptest::prelude::*;
use vaquita_format::collation::Collation;
use vaquita_fts::analyzer::{Analyzer, Word};
use vaquita_fts::parser::{Segments, Stems};
use vaquita_fts::search::{Columns, Mode};

fn words(analyzer: &Analyzer, text: &[u8]) -> Vec<Word> {
    let mut words = Vec::new();
    analyzer.words(text, |word| words.push(word));
    words
}

/// Whether a text of the document has the words of the phrase, from its first one that is indexed on, directly after each other.
fn has_phrase(analyzer: &Analyzer, columns: &Columns, phrase: &[Word]) -> bool {
    columns.iter().flatten().any(|text| {
        words(analyzer, text).windows(phrase.len()).any(|found| {
            let same = |(a, b): (&Word, &Word)| analyzer.collation().equal(&a.text, &b.text);
            found[0].is_indexed && found.iter().zip(phrase).all(same)
        })
    })
}

/// Whether any so many words of the document, one text after the other, have all words of the phrase that are indexed.
fn has_near(analyzer: &Analyzer, columns: &Columns, phrase: &[Word], within: usize) -> bool {
    let all: Vec<Word> = columns.iter().flatten().flat_map(|text| words(analyzer, text)).collect();
    let is_in = |some: &[Word]| {
        let mut wanted = phrase.iter().filter(|word| word.is_indexed);
        wanted.all(|wanted| some.iter().any(|word| analyzer.collation().equal(&word.text, &wanted.text)))
    };
    all.windows(within.min(all.len()).max(1)).any(is_in)
}

fn analyzer(id: u16, parser: u8) -> Analyzer {
    let collation = Collation::of(id).unwrap();
    let analyzer = Analyzer::innodb(collation).with_sizes(3..=84);
    let language = vaquita_fts::parser::Language::English;
    match parser {
        0 => {
            let words = vaquita_fts::parser::Words::new(collation.charset());
            analyzer.with_parser(Box::new(Stems::new(words, collation.charset(), language)))
        }
        1 => analyzer.with_parser(Box::new(Segments::new(collation.charset()))),
        _ => analyzer,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn what_has_a_phrase_is_found(
        documents in vec(
            vec(proptest::option::of(
                "((pear|Pear|PÉAR|ｐear|nut|the|thé|of|a|дом|ДОМ|strasse|straße|éclair|NUT)( |  |, |\\. \\.|\u{a0}|-| — )){0,7}(pear|nut|дом)?"
            ), 1..4),
            1..8,
        ),
        phrase in "(the )?(pear|nut|дом|Éclair|strasse)( (pear|nut|the|of|дом|strasse|eclair)){1,3}",
        within in 1usize..9,
        // utf8_general_ci, utf8_bin, utf8_unicode_ci, utf8mb4_general_ci, utf8_general_mysql500_ci.
        id in prop_oneof![Just(33u16), Just(83), Just(192), Just(45), Just(223)],
        parser in 0u8..8,
    ) {
        let columns = documents.iter().map(Vec::len).max().unwrap();
        let documents = (1u64..).zip(documents).map(|(doc, texts)| {
            let mut texts: Columns = texts.into_iter().map(|text| text.map(String::into_bytes)).collect();
            texts.resize(columns, None);
            (doc, texts)
        });
        let ours = Memory::new(analyzer(id, parser), documents);
        let mut wanted = words(&ours.analyzer, phrase.as_bytes());
        wanted.drain(..wanted.iter().position(|word| word.is_indexed).unwrap());
        let found = |query: String| -> Vec<u64> {
            ours.ask(Mode::Boolean, &query).unwrap().iter().map(|found| found.doc.0).collect()
        };
        let expected = |is: &dyn Fn(&Columns) -> bool| -> Vec<u64> {
            ours.documents.iter().filter(|(_, columns)| is(columns)).map(|(doc, _)| doc.0).collect()
        };
        let has = |columns: &Columns| {
            let indexed: Vec<_> = wanted.iter().filter(|word| word.is_indexed).collect();
            let all: Vec<Word> = columns.iter().flatten().flat_map(|text| words(&ours.analyzer, text)).collect();
            let is = |wanted: &&&Word| {
                all.iter().any(|word| {
                    word.is_indexed && ours.analyzer.collation().equal(&word.text, &wanted.text)
                })
            };
            indexed.iter().all(|word| is(&word))
        };
        // Of words that are there and not indexed, `strasse` and `straße` have what it takes, and are none.
        prop_assert_eq!(
            found(format!("\"{phrase}\"")),
            expected(&|columns| has(columns) && has_phrase(&ours.analyzer, columns, &wanted))
        );
        prop_assert_eq!(
            found(format!("\"{phrase}\" @{within}")),
            expected(&|columns| has(columns) && has_near(&ours.analyzer, columns, &wanted, within))
        );
    }
}

/// How often texts are read for a phrase.
#[test]
fn lists_tell_what_they_can() {
    let read = |texts: &[&[Option<&str>]], query: &str| {
        let column = |text: &Option<&str>| text.map(|text| text.as_bytes().to_vec());
        let documents = (1u64..).zip(texts.iter().map(|texts| texts.iter().map(column).collect()));
        let ours = Memory::new(utf8(), documents);
        let found = ours.ask(Mode::Boolean, query).unwrap().len();
        (found, ours.texts_read.get())
    };
    let one = |text: &str, query: &str| read(&[&[Some(text)]], query);
    assert_eq!(one("a green pear, éclair", "\"green pear eclair\""), (1, 0));
    assert_eq!(one("a green  pear", "\"green pear\""), (1, 0), "no word is in two bytes");
    assert_eq!(one("pear green", "\"green pear\""), (0, 0));
    assert_eq!(one("green of pear", "\"green pear\""), (0, 1));
    assert_eq!(one("green -- pear", "\"green pear\""), (1, 1));
    assert_eq!(one("green of pear", "\"green of pear\""), (1, 1));
    assert_eq!(one("of pear green", "\"green of pear\""), (0, 0));
    assert_eq!(one("green green pear", "\"green pear\""), (1, 0));
    assert_eq!(one("green or not pear", "\"green pear\" @6"), (1, 0));
    assert_eq!(one("green beautiful interesting pear", "\"green pear\" @3"), (0, 1));
    // Where the first text ends is not known, but it is no more than as far as the longest one.
    let two: &[&[_]] = &[
        &[Some("long enough"), Some("green pear")],
        &[Some("green"), Some("pear")],
        &[Some("green pear"), Some("green pear")],
        &[None, Some("not before the longest: green pear")],
    ];
    assert_eq!(read(two, "\"green pear\""), (3, 1));
}
