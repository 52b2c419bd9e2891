//! Pieces of a text around what was looked for, the hits marked.

use std::collections::HashSet;

use crate::analyzer::{Analyzer, Word};
use crate::query::{self, Part, Sign};

/// What is looked for in a text.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Keys of words.
    words: HashSet<Box<[u8]>>,
    prefixes: Vec<Vec<u8>>,
    /// Terms and phrases that a parser cuts into pieces, by the keys of the pieces.
    terms: Vec<Vec<Box<[u8]>>>,
}

impl Wanted {
    /// These words.
    pub fn of_words<'w>(analyzer: &Analyzer, words: impl IntoIterator<Item = &'w [u8]>) -> Wanted {
        let words = words.into_iter().map(|word| analyzer.key(word)).collect();
        Wanted { words, ..Wanted::default() }
    }

    /// What a query in boolean mode finds texts by: its terms and the words of its phrases, as far as they are indexed, but not what
    /// it excludes. All words of what is no such query.
    pub fn of_query(analyzer: &Analyzer, text: &[u8]) -> Wanted {
        let parts = query::parse_boolean(text, analyzer.collation().charset()).unwrap_or_else(|_| {
            vec![Part::Term { sign: Sign::Optional, text: text.to_vec(), is_prefix: false }]
        });
        let mut wanted = Wanted::default();
        wanted.add(analyzer, &parts);
        wanted
    }

    fn add(&mut self, analyzer: &Analyzer, parts: &[Part]) {
        for part in parts.iter().filter(|part| part.sign() != Sign::Excluded) {
            let (text, is_prefix) = match part {
                Part::Term { text, is_prefix, .. } => (text, *is_prefix),
                Part::Phrase { text, .. } => (text, false),
                Part::Group { parts, .. } => {
                    self.add(analyzer, parts);
                    continue;
                }
            };
            let mut words = Vec::new();
            analyzer.words(text, |word| words.push(word));
            if analyzer.parser().cuts_terms() {
                self.add_pieces(analyzer, &words, is_prefix.then_some(text));
                continue;
            }
            let prefix = if is_prefix { words.pop() } else { None };
            self.prefixes.extend(prefix.map(|word| word.text));
            let indexed = words.iter().filter(|word| word.is_indexed);
            self.words.extend(indexed.map(|word| analyzer.key(&word.text)));
        }
    }

    /// A term that is cut. Between two pieces that do not overlap the text may be anything: each of the two is a term. One that is too
    /// short to be cut, with a star behind it, is what pieces begin with.
    fn add_pieces(&mut self, analyzer: &Analyzer, pieces: &[Word], prefix: Option<&Vec<u8>>) {
        if pieces.is_empty() {
            self.prefixes.extend(prefix.map(|text| analyzer.folded(text)));
            return;
        }
        let terms = pieces.chunk_by(overlap).filter(|term| term.iter().any(|piece| piece.is_indexed));
        let keys = |term: &[Word]| term.iter().map(|piece| analyzer.key(&piece.text)).collect();
        self.terms.extend(terms.map(keys));
    }

    /// What of it a word is: the word, or what it begins with.
    fn hit(&self, analyzer: &Analyzer, word: &[u8]) -> Option<Box<[u8]>> {
        let key = analyzer.key(word);
        if self.words.contains(&key) {
            return Some(key);
        }
        let prefix = self.prefixes.iter().find(|prefix| analyzer.has_prefix(word, prefix));
        prefix.map(|prefix| analyzer.key(prefix))
    }

    /// Says which pieces of a text are hits: those of a term where all of it stands, or, if it does so nowhere, wherever they are, as
    /// natural language finds them.
    fn hit_terms(&self, analyzer: &Analyzer, text: &[Word], places: &mut [Place]) {
        let keys: Vec<Box<[u8]>> = text.iter().map(|piece| analyzer.key(&piece.text)).collect();
        for term in &self.terms {
            let is_whole = |at: &usize| {
                keys[*at..].starts_with(term)
                    && text[*at..*at + term.len()].windows(2).all(|two| overlap(&two[0], &two[1]))
            };
            let starts: Vec<usize> = (0..keys.len()).filter(is_whole).collect();
            let whole = starts.iter().flat_map(|at| *at..*at + term.len());
            let (hits, key): (Vec<usize>, _) = match starts.is_empty() {
                false => (whole.collect(), Some(term.concat().into_boxed_slice())),
                true => ((0..keys.len()).filter(|at| term.contains(&keys[*at])).collect(), None),
            };
            for at in hits {
                places[at].hit.get_or_insert_with(|| key.clone().unwrap_or_else(|| keys[at].clone()));
            }
        }
    }
}

/// Whether two words that follow each other in a text have a character in common, or nothing between them.
fn overlap(word: &Word, next: &Word) -> bool {
    word.end.is_some_and(|end| next.offset <= end)
}

/// What a snippet looks like.
#[derive(Debug, Clone)]
pub struct Style<'a> {
    /// Before a hit.
    pub open: &'a [u8],
    /// Behind a hit.
    pub close: &'a [u8],
    /// In the place of what is left away.
    pub gap: &'a [u8],
    /// Words a snippet has at most.
    pub words_max: usize,
}

impl Default for Style<'static> {
    fn default() -> Self {
        Style { open: b"<b>", close: b"</b>", gap: b" ... ", words_max: 24 }
    }
}

/// A word of the text.
struct Place {
    offset: usize,
    end: usize,
    /// The key of the wanted word it is.
    hit: Option<Box<[u8]>>,
}

/// The piece of `text` with the most different words of those wanted, the first one of those that have as many; hits marked. The
/// text is not escaped for any other use.
pub fn snippet(analyzer: &Analyzer, text: &[u8], wanted: &Wanted, style: &Style<'_>) -> Vec<u8> {
    let mut words = Vec::new();
    analyzer.words(text, |word| words.push(word));
    let mut places: Vec<Place> = words
        .iter()
        .map(|word| Place {
            offset: word.offset,
            end: word.end.unwrap_or_else(|| run_end(analyzer, text, word.offset)),
            hit: wanted.hit(analyzer, &word.text),
        })
        .collect();
    wanted.hit_terms(analyzer, &words, &mut places);
    let words = places;
    let (from, to) = best_window(&words, style.words_max.max(1));
    let Some(window) = words.get(from..to).filter(|window| !window.is_empty()) else { return Vec::new() };

    let mut out = Vec::new();
    let start = if from == 0 { 0 } else { window[0].offset };
    if from > 0 {
        out.extend_from_slice(style.gap);
    }
    let mut done = start;
    let mut hits = window.iter().filter(|place| place.hit.is_some()).peekable();
    while let Some(Place { offset, end, .. }) = hits.next() {
        // Pieces of words overlap: they are marked together.
        let mut end = *end;
        while let Some(next) = hits.next_if(|next| next.offset < end) {
            end = end.max(next.end);
        }
        out.extend_from_slice(&text[done..*offset]);
        out.extend_from_slice(style.open);
        out.extend_from_slice(&text[*offset..end]);
        out.extend_from_slice(style.close);
        done = end;
    }
    let end = if to == words.len() { text.len() } else { window[window.len() - 1].end };
    out.extend_from_slice(&text[done..end.max(done)]);
    if to < words.len() {
        out.extend_from_slice(style.gap);
    }
    out
}

/// Where the run of word characters ends that starts at `offset`: the end of a word that a parser has changed, at most.
fn run_end(analyzer: &Analyzer, text: &[u8], offset: usize) -> usize {
    let class = crate::word_class::WordClass::of(analyzer.collation().charset());
    let mut at = offset;
    while at < text.len() {
        let (len, is_word) = class.first(&text[at..]);
        if !is_word {
            break;
        }
        at += len;
    }
    // A parser's word may start with what is no word here: one character of it at least.
    if at == offset { (offset + class.first(&text[offset..]).0).min(text.len()) } else { at.min(text.len()) }
}

/// The words `from..to` to show.
fn best_window(words: &[Place], len: usize) -> (usize, usize) {
    let mut counts: std::collections::HashMap<&[u8], usize> = std::collections::HashMap::new();
    let (mut best, mut most) = ((0, words.len().min(len)), 0);
    for (at, Place { hit, .. }) in words.iter().enumerate() {
        if let Some(key) = hit {
            *counts.entry(key).or_default() += 1;
        }
        if let Some(Place { hit: Some(key), .. }) = at.checked_sub(len).and_then(|gone| words.get(gone)) {
            let count = counts.get_mut(&**key).expect("it was counted when it came");
            *count -= 1;
            if *count == 0 {
                counts.remove(&**key);
            }
        }
        if counts.len() > most {
            most = counts.len();
            // Some words before the first hit, so that it is read in its sentence.
            let start = (at + 1).saturating_sub(len);
            let first = start + words[start..=at].iter().position(|word| word.hit.is_some()).unwrap_or(0);
            let spare = len - (at + 1 - first);
            let from = first.saturating_sub(spare / 2);
            best = (from, words.len().min(from + len));
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parser::{Language, Ngrams, Segments, Stems, Words};
    use proptest::prelude::*;
    use vaquita_format::charset::Charset;
    use vaquita_format::collation::Collation;

    fn analyzer() -> Analyzer {
        Analyzer::innodb(Collation::of(45).expect("known"))
    }

    fn shown(text: &str, wanted: &[&str], words_max: usize) -> String {
        let style = Style { open: b"[", close: b"]", gap: b"...", words_max };
        let wanted = Wanted::of_words(&analyzer(), wanted.iter().map(|word| word.as_bytes()));
        String::from_utf8(snippet(&analyzer(), text.as_bytes(), &wanted, &style)).expect("UTF-8")
    }

    #[test]
    fn what_a_query_finds_texts_by() {
        let style = Style { open: b"[", close: b"]", gap: b"...", words_max: 20 };
        for (query, shown) in [
            ("+pear -apple", "An apple, the [pear] and pearls of PEAR trees".replace("PEAR", "[PEAR]")),
            ("pear* the", "An apple, the [pear] and [pearls] of [PEAR] trees".to_owned()),
            ("(apple \"the pearls\") >trees", "An [apple], the pear and [pearls] of PEAR [trees]".to_owned()),
            ("apple (", "An [apple], the pear and pearls of PEAR trees".to_owned()),
            ("", "An apple, the pear and pearls of PEAR trees".to_owned()),
        ] {
            let text = b"An apple, the pear and pearls of PEAR trees";
            let wanted = Wanted::of_query(&analyzer(), query.as_bytes());
            let found = snippet(&analyzer(), text, &wanted, &style);
            assert_eq!(String::from_utf8(found).expect("UTF-8"), shown, "{query}");
        }
    }

    #[test]
    fn hits_are_marked() {
        let text = "The quick brown fox (a Fox!) jumps over the lazy dog.";
        assert_eq!(
            shown(text, &["fox", "DOG"], 20),
            "The quick brown [fox] (a [Fox]!) jumps over the lazy [dog]."
        );
        assert_eq!(shown(text, &["cat"], 3), "The quick brown...");
        assert_eq!(shown("Un éclair, s'il vous plaît", &["eclair"], 9), "Un [éclair], s'il vous plaît");
        assert_eq!(shown("", &["cat"], 3), "");
    }

    #[test]
    fn the_piece_with_most_of_the_words() {
        let text = "apple one two three four five six seven pear and apple eight nine ten";
        assert_eq!(shown(text, &["apple", "pear"], 4), "...[pear] and [apple] eight...");
        assert_eq!(shown(text, &["six"], 5), "...four five [six] seven pear...");
    }

    #[test]
    fn pieces_of_words() {
        let analyzer = analyzer().with_parser(Box::new(Ngrams::new(Charset::UTF8MB4, 2)));
        let text = "東京都の天気";
        let style = Style { open: b"[", close: b"]", gap: b"...", words_max: 9 };
        let wanted = Wanted::of_words(&analyzer, ["天気".as_bytes()]);
        let found = snippet(&analyzer, text.as_bytes(), &wanted, &style);
        assert_eq!(String::from_utf8(found).expect("UTF-8"), "東京都の[天気]");
    }

    #[test]
    fn hits_of_pieces() {
        let text = "学习开发数据库应用程序, 数据库管理 MySQL数据 db";
        let style = Style { open: b"[", close: b"]", gap: b"..", words_max: 99 };
        for (size, query, shown) in [
            (2, "数据", "学习开发[数据]库应用程序, [数据]库管理 MySQL[数据] db"),
            // Whole, as far as it is there whole.
            (2, "数据库", "学习开发[数据库]应用程序, [数据库]管理 MySQL数据 db"),
            (2, "\"数据库管理\"", "学习开发数据库应用程序, [数据库管理] MySQL数据 db"),
            (2, "+库管 -数据", "学习开发数据库应用程序, 数据[库管]理 MySQL数据 db"),
            (2, "数据表", "学习开发[数据]库应用程序, [数据]库管理 MySQL[数据] db"),
            (2, "\"mysql数据 db\"", "学习开发数据库应用程序, 数据库管理 [MySQL数据] [db]"),
            (2, "数*", "学习开发[数据]库应用程序, [数据]库管理 MySQL[数据] db"),
            (2, "数", "学习开发数据库应用程序, 数据库管理 MySQL数据 db"),
            (3, "数据库", "学习开发[数据库]应用程序, [数据库]管理 MySQL数据 db"),
            (3, "数据*", "学习开发[数据库]应用程序, [数据库]管理 MySQL数据 db"),
            (1, "用 管", "学习开发数据库应[用]程序, 数据库[管]理 MySQL数据 db"),
        ] {
            let analyzer = analyzer().with_parser(Box::new(Ngrams::new(Charset::UTF8MB4, size)));
            let wanted = Wanted::of_query(&analyzer, query.as_bytes());
            let found = snippet(&analyzer, text.as_bytes(), &wanted, &style);
            assert_eq!(String::from_utf8(found).expect("UTF-8"), shown, "{query} by {size}");
        }
        let analyzer = analyzer().with_parser(Box::new(Ngrams::new(Charset::UTF8MB4, 2)));
        let wanted = Wanted::of_query(&analyzer, "管理".as_bytes());
        let short = Style { words_max: 5, ..style };
        let found = snippet(&analyzer, text.as_bytes(), &wanted, &short);
        assert_eq!(String::from_utf8(found).expect("UTF-8"), "..据库[管理] MyS..");
    }

    #[test]
    fn words_of_other_parsers_end_where_they_end() {
        let shown = |parser: Box<dyn crate::parser::Parser>, text: &str, query: &str| {
            let analyzer = analyzer().with_parser(parser);
            let style = Style { open: b"[", close: b"]", gap: b"..", words_max: 99 };
            let wanted = Wanted::of_query(&analyzer, query.as_bytes());
            String::from_utf8(snippet(&analyzer, text.as_bytes(), &wanted, &style)).expect("UTF-8")
        };
        let unicode = Box::new(Segments::new(Charset::UTF8MB4));
        assert_eq!(shown(unicode, "It costs 3.14, isn't it", "isn't 3.14"), "It costs [3.14], [isn't] it");
        let words = Words::new(Charset::UTF8MB4);
        let stems = Box::new(Stems::new(words, Charset::UTF8MB4, Language::English));
        assert_eq!(shown(stems, "He runs; running, run rune", "runs"), "He [runs]; [running], [run] rune");
    }

    proptest! {
        /// Without marks and gaps a snippet is a piece of the text.
        #[test]
        fn a_snippet_is_a_piece_of_the_text(text in "[a-d .é日]{0,60}", words in 1usize..9) {
            let style = Style { open: b"", close: b"", gap: b"", words_max: words };
            let analyzer = analyzer().with_sizes(1..=84);
            let wanted = Wanted::of_words(&analyzer, ["a", "bb", "cd", "é"].map(str::as_bytes));
            let found = snippet(&analyzer, text.as_bytes(), &wanted, &style);
            let found = String::from_utf8(found).unwrap();
            prop_assert!(text.contains(&found), "{found:?} of {text:?}");
        }
    }
}
