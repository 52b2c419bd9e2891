//! Full-text search: posting lists, queries, words of texts.

use vaquita_format::charset::Charset;
use vaquita_format::collation::Collation;
use vaquita_fts::analyzer::Analyzer;
use vaquita_fts::ilist::{Node, merge};
use vaquita_fts::parser::{Ngrams, Parser, Segments, Words};
use vaquita_fts::query::{parse_boolean, parse_natural};

/// A posting list. One that decodes is, written again, a list of the same documents and places.
pub(super) fn postings(data: &[u8]) {
    let read = |ilist: &[u8]| {
        let node = Node { ilist: ilist.to_vec(), ..Node::default() };
        let mut postings = node.postings();
        let mut found = Vec::new();
        while let Ok(Some(posting)) = postings.next() {
            match posting.positions() {
                Ok(positions) => found.push((posting.doc, positions)),
                Err(_) => break,
            }
        }
        found
    };
    let node = Node { ilist: data.to_vec(), ..Node::default() };
    if let Ok(merged) = merge([&node], |_| false) {
        assert!(merged.iter().all(|node| node.validate().is_ok()));
        let again: Vec<_> = merged.iter().flat_map(|node| read(&node.ilist)).collect();
        assert_eq!(again, read(data));
    }
}

pub(super) fn posting_seeds() -> Vec<Vec<u8>> {
    vec![
        vec![0x82, 0x8F, 0x94, 0],
        vec![0x8A, 0x80, 0, 0x46, 0x9E, 0x80, 0],
        [&[0x81, 0x80, 0x88, 0][..], &[0x81, 0x85, 0].repeat(40)].concat(),
    ]
}

/// A query in both languages, and its words by every parser. Words are where they say they are.
pub(super) fn query(data: &[u8]) {
    let _ = parse_boolean(data, Charset::UTF8MB4);
    let _ = parse_natural(data);
    let Some((&set, text)) = data.split_first() else { return };
    let Some(collation) = Collation::of(u16::from(set)) else { return };
    let charset = collation.charset();
    Analyzer::innodb(collation).words(text, |word| assert!(word.offset < text.len()));
    let mut parsers: Vec<Box<dyn Parser>> =
        vec![Box::new(Words::new(charset)), Box::new(Ngrams::new(charset, 2))];
    // Where characters can be told in Unicode.
    if charset != Charset::BINARY {
        parsers.push(Box::new(Segments::new(charset)));
    }
    for parser in parsers {
        let mut last = 0;
        parser.words(text, &mut |word| {
            assert!(word.offset >= last && text[word.offset..].starts_with(&word.text));
            last = word.offset;
        });
    }
}

pub(super) fn query_seeds() -> Vec<Vec<u8>> {
    let queries =
        ["+apple -(pear >fig*) \"a b\"@3 ~x", "l'été naïve, 日本語 d'accord", "((((a)", "\"a\" b\" *c*"];
    let seed = |(collation, query): (u8, &str)| [&[collation][..], query.as_bytes()].concat();
    [33, 8, 45, 83, 13].into_iter().flat_map(|set| queries.map(|query| seed((set, query)))).collect()
}
