//! An index in memory, a text to index, and queries made of its words.
#![allow(dead_code, clippy::unwrap_used, reason = "test helpers; each program uses its part")]

use std::cell::{Cell, OnceCell};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt::Write as _;
use std::sync::Arc;

use vaquita_base::rng::Rng;
use vaquita_format::collation::Collation;
use vaquita_fts::DocId;
use vaquita_fts::analyzer::Analyzer;
use vaquita_fts::cache::IndexCache;
use vaquita_fts::counts::Counts;
use vaquita_fts::ilist::Places;
use vaquita_fts::lengths::{Lengths, Totals, measure};
use vaquita_fts::ranking::Ranking;
use vaquita_fts::search::{Borders, Columns, Index, Match, Mode, SearchError, search, search_best};

/// Documents and the cache of their words.
pub(crate) struct Memory {
    pub(crate) analyzer: Analyzer,
    pub(crate) cache: IndexCache,
    pub(crate) documents: BTreeMap<DocId, Columns>,
    /// Texts that were read again.
    pub(crate) texts_read: Cell<usize>,
    /// How often documents have words is kept at hand, of most documents.
    pub(crate) keeps: Cell<bool>,
    came: usize,
    totals: OnceCell<Totals>,
}

impl Memory {
    pub(crate) fn new(analyzer: Analyzer, documents: impl IntoIterator<Item = (u64, Columns)>) -> Memory {
        let documents: BTreeMap<_, _> =
            documents.into_iter().map(|(doc, columns)| (DocId(doc), columns)).collect();
        let mut cache = IndexCache::new();
        for (&doc, columns) in &documents {
            cache.add(&analyzer, doc, columns.iter().map(Option::as_deref));
        }
        let came = documents.len();
        Memory {
            analyzer,
            cache,
            documents,
            texts_read: Cell::new(0),
            keeps: Cell::new(false),
            came,
            totals: OnceCell::new(),
        }
    }

    /// What it answers, or the words of the error.
    pub(crate) fn ask(&self, mode: Mode, query: &str) -> Result<Vec<Match>, String> {
        self.ask_ranked(mode, &Ranking::Innodb, query)
    }

    /// The same with ranks of one's choice.
    pub(crate) fn ask_ranked(
        &self,
        mode: Mode,
        ranking: &Ranking,
        query: &str,
    ) -> Result<Vec<Match>, String> {
        search(self, mode, ranking, query.as_bytes()).map_err(|error| match error {
            SearchError::Syntax(error) => error.to_string(),
            SearchError::Index(never) => match never {},
        })
    }
}

impl Memory {
    /// The best `n`, where there is a way to have no others.
    pub(crate) fn ask_best(
        &self,
        mode: Mode,
        ranking: &Ranking,
        query: &str,
        n: usize,
    ) -> Option<Vec<Match>> {
        search_best(self, mode, ranking, query.as_bytes(), n).expect("a query")
    }
}

impl Index for Memory {
    type Error = Infallible;

    fn analyzer(&self) -> &Analyzer {
        &self.analyzer
    }

    fn documents(&self) -> u64 {
        self.documents.len() as u64
    }

    fn has_deleted(&self) -> bool {
        self.documents.len() < self.came
    }

    /// Those that a test has taken away and left in the cache.
    fn is_deleted(&self, doc: DocId) -> bool {
        !self.documents.contains_key(&doc)
    }

    fn word(&self, word: &[u8], each: &mut dyn FnMut(DocId, Places<'_>)) -> Result<(), Infallible> {
        self.cache.word(&self.analyzer, word, each);
        Ok(())
    }

    fn counts(
        &self,
        word: &[u8],
        key: &[u8],
        rest: &mut dyn FnMut(DocId, u32),
    ) -> Result<Option<Arc<Counts>>, Infallible> {
        assert_eq!(*self.analyzer.key(word), *key);
        // Words that are short are not kept, others for all documents or for some of them.
        if !self.keeps.get() || word.len() < 4 {
            return Ok(None);
        }
        let (mut kept, every) =
            (Vec::new(), if key.last().is_some_and(|last| last % 2 == 0) { 1 } else { 5 });
        self.cache.word(&self.analyzer, word, |doc, places| match doc.0 % every {
            0 => kept.push((doc, f64::from(places.count()))),
            _ => rest(doc, places.count()),
        });
        Ok(Some(Arc::new(Counts::new(kept).expect("documents come once"))))
    }

    fn words_with_prefix(
        &self,
        prefix: &[u8],
        each: &mut dyn FnMut(DocId, Places<'_>),
    ) -> Result<(), Infallible> {
        self.cache.words_with_prefix(&self.analyzer, prefix, |_, doc, places| each(doc, places));
        Ok(())
    }

    fn totals(&self) -> Result<Totals, Infallible> {
        let count = || {
            let mut lengths = Lengths::gathering(self.documents.values().map(Vec::len).max().unwrap_or(0));
            for (&doc, columns) in &self.documents {
                lengths.put(doc, &measure(&self.analyzer, columns.iter().map(Option::as_deref)));
            }
            lengths.totals()
        };
        Ok(self.totals.get_or_init(count).clone())
    }

    fn borders(&self) -> Borders {
        let before_last = |columns: &Columns| -> usize {
            let texts = columns.iter().take(columns.len().saturating_sub(1)).flatten();
            texts.map(|text| text.len() + 1).sum()
        };
        Borders {
            texts: self.documents.values().map(Vec::len).max().unwrap_or(0),
            end: self.documents.values().map(before_last).max().unwrap_or(0) as u64,
        }
    }

    fn columns(&self, doc: DocId) -> Result<Option<Columns>, Infallible> {
        self.texts_read.set(self.texts_read.get() + 1);
        Ok(self.documents.get(&doc).cloned())
    }
}

/// InnoDB's words in `utf8_general_ci`.
pub(crate) fn utf8() -> Analyzer {
    Analyzer::innodb(Collation::of(33).expect("known"))
}

/// Titles and paragraphs of this project's own pages.
pub(crate) fn paragraphs() -> Vec<(String, String)> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let mut pages: Vec<_> = std::fs::read_dir(format!("{root}/docs"))
        .expect("the project has pages")
        .map(|entry| entry.expect("a folder that can be read").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    pages.sort();
    let mut found = Vec::new();
    for page in pages {
        let text = std::fs::read_to_string(&page).expect("a page that can be read");
        let mut title = String::new();
        for paragraph in text.split("\n\n") {
            match paragraph.trim().strip_prefix('#') {
                Some(heading) => title = heading.trim_start_matches('#').trim().to_owned(),
                None => found.push((title.clone(), paragraph.trim().to_owned())),
            }
        }
    }
    found
}

/// The text of a file of `tests/data`.
pub(crate) fn data(name: &str) -> String {
    std::fs::read_to_string(data_path(name)).expect("the data is there")
}

pub(crate) fn data_path(name: &str) -> String {
    format!("{}/tests/data/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Number, title, body of the documents that answers are recorded for.
pub(crate) fn corpus() -> Vec<(u64, Option<String>, String)> {
    let text = data("corpus.tsv");
    let document = |line: &str| {
        let [doc, title, body] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
        (doc.parse().unwrap(), (title != "\\N").then(|| title.to_owned()), body.to_owned())
    };
    text.lines().map(document).collect()
}

/// An index of documents with title and body.
pub(crate) fn index(documents: &[(u64, Option<String>, String)]) -> Memory {
    index_in(33, documents)
}

/// The same in the collation of a number.
pub(crate) fn index_in(collation: u16, documents: &[(u64, Option<String>, String)]) -> Memory {
    let columns = |title: &Option<String>, body: &String| {
        vec![title.as_ref().map(|title| title.as_bytes().to_vec()), Some(body.as_bytes().to_vec())]
    };
    let analyzer = Analyzer::innodb(Collation::of(collation).expect("known"));
    Memory::new(analyzer, documents.iter().map(|(doc, title, body)| (*doc, columns(title, body))))
}

pub(crate) fn mode(name: &str) -> Mode {
    match name {
        "natural" => Mode::Natural,
        "expanded" => Mode::Expanded,
        "boolean" => Mode::Boolean,
        _ => panic!("{name} is no mode"),
    }
}

/// Makes queries of the words of texts.
pub(crate) struct Queries {
    rng: Rng,
    texts: Vec<Vec<String>>,
}

const SIGNS: [&str; 10] = ["", "", "", "+", "+", "+", "-", ">", "<", "~"];

impl Queries {
    pub(crate) fn new(seed: u64, texts: impl IntoIterator<Item = String>) -> Queries {
        let words = |text: String| {
            let words =
                text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
            words.map(str::to_owned).collect::<Vec<_>>()
        };
        let texts = texts.into_iter().map(words).filter(|words| words.len() > 4).collect();
        Queries { rng: Rng::new(seed), texts }
    }

    fn run(&mut self, most: usize) -> String {
        let text = self.rng.index(self.texts.len());
        let from = self.rng.index(self.texts[text].len());
        let words = &self.texts[text][from..];
        words[..words.len().min(1 + self.rng.index(most))].join(" ")
    }

    fn word(&mut self) -> String {
        match self.rng.below(20) {
            0 => "nowhere".to_owned(),
            1 => "the".to_owned(),
            _ => self.run(1),
        }
    }

    fn term(&mut self) -> String {
        match self.rng.below(12) {
            0 | 1 => {
                let word = self.word();
                let chars = 2 + self.rng.index(4);
                word.chars().take(chars).collect::<String>() + "*"
            }
            2 | 3 => format!("\"{}\"", self.run(4)),
            4 => {
                let words = [self.word(), self.word()];
                format!("\"{} {}\"@{}", words[0], words[1], 1 + self.rng.below(30))
            }
            5 => format!("\"{}\"@{}", self.run(3), 1 + self.rng.below(6)),
            6 => format!("{}.{}", self.word(), self.word()),
            _ => self.word(),
        }
    }

    /// A query in boolean mode.
    pub(crate) fn boolean(&mut self, depth: usize) -> String {
        let mut query = String::new();
        for _ in 0..1 + self.rng.index(4) {
            let sign = SIGNS[self.rng.index(SIGNS.len())];
            let term = match depth > 0 && self.rng.one_in(5) {
                true => format!("({})", self.boolean(depth - 1)),
                false => self.term(),
            };
            write!(query, "{}{sign}{term}", if query.is_empty() { "" } else { " " }).expect("memory");
        }
        query
    }

    /// A phrase, or words near each other.
    pub(crate) fn phrase(&mut self) -> String {
        match self.rng.one_in(3) {
            true => format!("\"{}\"@{}", self.run(3), 1 + self.rng.below(12)),
            false => format!("\"{}\"", self.run(5)),
        }
    }

    /// A query in natural language.
    pub(crate) fn natural(&mut self) -> String {
        let mut query = self.run(5);
        if self.rng.one_in(4) {
            query = format!("{query} \"{}\"", self.run(3));
        }
        query
    }

    /// A query with expansion: few words, or all documents are found.
    pub(crate) fn expanded(&mut self) -> String {
        self.run(2)
    }
}

/// Words that are short, long, stopwords, numbers, of several scripts, or spelled in several ways.
const ODD_WORDS: [&str; 44] = [
    "pear",
    "fig",
    "nut",
    "apple",
    "plum",
    "pearl",
    "peach",
    "Pear",
    "figs",
    "nutmeg",
    "the",
    "of",
    "is",
    "about",
    "The",
    "ab",
    "x",
    "5",
    "2024",
    "777",
    "12",
    "foo_bar",
    "_",
    "日本語",
    "検索",
    "日本",
    "東京",
    "東京都",
    "中文测试",
    "éclair",
    "eclair",
    "ÉCLAIR",
    "дом",
    "ДОМ",
    "домой",
    "straße",
    "strasse",
    "한국어",
    "ﾃｽﾄ",
    "ｐｅａｒ",
    "a\u{301}bc",
    "كتاب",
    "ภาษาไทย",
    "pear",
];

/// What is no character of words and no sign.
const ODD_BETWEEN: [&str; 24] = [
    " ",
    " ",
    " ",
    " ",
    " ",
    ", ",
    ".",
    "'",
    "、",
    "\u{3000}",
    "\u{a0}",
    "😀",
    "\n",
    "\t",
    "\r",
    "%",
    "/",
    "\\",
    ";",
    "$",
    "&",
    "👩\u{200d}👩",
    "!",
    "#",
];

const ODD_SIGNS: [&str; 12] = ["+", "-", "+", "-", "~", "<", ">", "*", "*", "(", ")", "@"];

/// Documents of odd words, numbered with gaps: some without a title (NULL: of an empty one the server counts a byte when it builds an
/// index of rows, and finds no phrase behind it), some without a text.
pub(crate) fn odd_documents(seed: u64, count: u64) -> Vec<(u64, Option<String>, String)> {
    let mut rng = Rng::new(seed ^ 0x0dd);
    let mut text = |least: usize, most: usize| {
        let mut text = String::new();
        for _ in 0..least + rng.index(most) {
            text += ODD_WORDS[rng.index(ODD_WORDS.len())];
            text += match rng.below(8) {
                0 => ODD_BETWEEN[rng.index(ODD_BETWEEN.len())],
                1 => ODD_SIGNS[rng.index(ODD_SIGNS.len())],
                2 => "\" ",
                _ => " ",
            };
        }
        text
    };
    (1..=count).map(|n| (n * 3, (n % 5 != 0).then(|| text(1, 4)), text(0, 16))).collect()
}

/// Seed, documents and queries of what is recorded.
pub(crate) const ODD: (u64, u64, u64) = (17, 50, 400);

/// Queries of odd words and signs.
pub(crate) fn odd_queries(seed: u64, count: u64) -> Vec<(Mode, String)> {
    let mut maker = OddQueries::new(seed);
    let query = |at: u64| match at % 8 {
        0 => (Mode::Natural, maker.soup()),
        1 => (Mode::Natural, maker.query()),
        2 => (Mode::Expanded, maker.few_words()),
        3..6 => (Mode::Boolean, maker.soup()),
        _ => (Mode::Boolean, maker.query()),
    };
    (0..count).map(query).collect()
}

/// Makes queries of odd words and signs.
pub(crate) struct OddQueries(Rng);

impl OddQueries {
    pub(crate) fn new(seed: u64) -> OddQueries {
        OddQueries(Rng::new(seed))
    }

    fn one_of<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.0.index(of.len())]
    }

    fn word(&mut self) -> &'static str {
        self.one_of(&ODD_WORDS)
    }

    /// Anything after anything.
    pub(crate) fn soup(&mut self) -> String {
        let mut query = String::new();
        for _ in 0..1 + self.0.index(9) {
            match self.0.below(20) {
                0..9 => query += self.word(),
                9..13 => query += self.one_of(&ODD_SIGNS),
                13..16 => query += self.one_of(&ODD_BETWEEN),
                16 | 17 => query += "\"",
                18 => write!(query, "\"@{}", self.0.below(20)).expect("memory"),
                _ => query += " ",
            }
        }
        query
    }

    fn words(&mut self, most: usize) -> String {
        let mut words = self.word().to_owned();
        for _ in 0..self.0.index(most) {
            words += if self.0.one_in(4) { self.one_of(&ODD_BETWEEN) } else { " " };
            words += self.word();
        }
        words
    }

    fn part(&mut self, depth: usize) -> String {
        let sign = if self.0.one_in(2) { "" } else { self.one_of(&["+", "+", "-", "~", "<", ">"]) };
        let what = match self.0.below(10) {
            0 | 1 => format!("\"{}\"", self.words(4)),
            2 => format!("\"{}\"@{}", self.words(4), self.0.below(12)),
            3 => format!("{}*", self.word().chars().take(1 + self.0.index(3)).collect::<String>()),
            4 if depth > 0 => {
                let parts: Vec<_> = (0..self.0.index(4)).map(|_| self.part(depth - 1)).collect();
                format!("({})", parts.join(" "))
            }
            5 => self.words(3),
            6 => format!("{}*", self.words(2)),
            7 if self.0.one_in(3) => "\"\"".to_owned(),
            _ => self.word().to_owned(),
        };
        sign.to_owned() + &what
    }

    /// A query with signs where they may be.
    pub(crate) fn query(&mut self) -> String {
        let parts: Vec<_> = (0..1 + self.0.index(4)).map(|_| self.part(2)).collect();
        let between = if self.0.one_in(8) { "" } else { " " };
        parts.join(between)
    }

    /// One or two words, or a phrase, or both.
    pub(crate) fn few_words(&mut self) -> String {
        match self.0.below(4) {
            0 => format!("\"{}\"", self.words(3)),
            1 => format!("{} \"{}\"", self.word(), self.words(2)),
            _ => self.words(2),
        }
    }
}
