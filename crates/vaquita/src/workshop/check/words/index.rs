//! One FULLTEXT index against the rows of its table.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::RangeInclusive;

use vaquita_base::codec::{get_u32, get_u64};
use vaquita_format::Corruption;
use vaquita_format::collation::Collation;
use vaquita_fts::DocId;
use vaquita_fts::analyzer::{Analyzer, SIZE_MAX_DEFAULT, SIZE_MIN_DEFAULT, as_built_by_server};
use vaquita_fts::ilist::Node;
use vaquita_fts::parser::{NGRAM_SIZE_DEFAULT, NGRAM_SIZES, Parsers};
use vaquita_fts::partition::{Split, TABLES};

use super::{Common, DOC_ID, Tables, Unread, database_of, number, shown};
use crate::workshop::dictionary::{DictTable, WordsIndex};
use crate::workshop::report::Report;

/// Documents whose words are told one by one, and words told of each.
const DOCUMENTS_TOLD: usize = 5;
const WORDS_TOLD: usize = 5;

/// What is left of a document's words when those of the lists are taken from those of the row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Sum {
    words: i64,
    sum: u64,
}

impl Sum {
    fn expect(&mut self, key: &[u8], positions: &[u32]) {
        self.words += 1;
        self.sum = self.sum.wrapping_add(hash(key, positions));
    }

    fn find(&mut self, key: &[u8], positions: &[u32]) {
        self.words -= 1;
        self.sum = self.sum.wrapping_sub(hash(key, positions));
    }
}

fn hash(key: &[u8], positions: &[u32]) -> u64 {
    let mut hasher = DefaultHasher::new();
    (key, positions).hash(&mut hasher);
    hasher.finish()
}

/// A word in a document: how it is spelled, and where it is.
#[derive(Debug, Default)]
struct Told {
    text: Vec<u8>,
    in_row: Vec<u32>,
    in_lists: Vec<u32>,
}

/// Takes a word of a document with its places.
type EachWord<'e> = dyn FnMut(u64, &[u8], &[u32]) + 'e;
/// Takes the texts of a document.
type EachText<'e> = dyn FnMut(u64, &[Option<Vec<u8>>]) + 'e;

/// The words of some documents, by document and key.
type ToldWords = BTreeMap<u64, BTreeMap<Box<[u8]>, Told>>;

/// The index, and how its texts become words.
pub(super) struct IndexCheck<'a, 't> {
    tables: &'a Tables<'t>,
    table: &'a DictTable,
    index: &'a WordsIndex,
    common: &'a Common,
    analyzer: Analyzer,
    /// Characters of the words that are compared.
    sizes: RangeInclusive<usize>,
}

impl<'a, 't> IndexCheck<'a, 't> {
    /// `None` if its words cannot be told, which is noted.
    pub(super) fn new(
        tables: &'a Tables<'t>,
        table: &'a DictTable,
        index: &'a WordsIndex,
        common: &'a Common,
        report: &mut Report,
    ) -> Result<Option<IndexCheck<'a, 't>>, Unread> {
        let first = table.columns.iter().find(|column| Some(&column.name) == index.columns.first());
        let collation = first.and_then(|column| Collation::of(column.collation_id()));
        let Some(collation) = collation else {
            report.remark(format!("FULLTEXT index {}: its collation is not known; not compared", index.name));
            return Ok(None);
        };
        let split = index.split.as_deref().map_or(Ok(Split::Innodb), |split| Split::of(split, collation));
        let split = split.unwrap_or_else(|e| {
            let detail = format!("FULLTEXT index {}: {e}", index.name);
            report.whole(Corruption::new("table of the engine's own", detail));
            Split::Innodb
        });
        let analyzer = Analyzer::innodb(collation)
            .with_sizes(0..=usize::MAX)
            .with_stopwords(&common.stopwords)
            .with_split(split);
        let mut check =
            IndexCheck { tables, table, index, common, analyzer, sizes: SIZE_MIN_DEFAULT..=SIZE_MAX_DEFAULT };
        let found = check.sizes_in_lists()?;
        let Some(name) = &index.parser else {
            check.sizes = usual_beyond(found);
            return Ok(Some(check));
        };
        let size = found.as_ref().map_or(NGRAM_SIZE_DEFAULT, |found| *found.end());
        let mut parsers = Parsers::default();
        parsers.ngram_size = size.clamp(*NGRAM_SIZES.start(), *NGRAM_SIZES.end());
        let Some(parser) = parsers.make(name, collation.charset()) else {
            report.remark(format!(
                "FULLTEXT index {}: there is no parser {name} here; not compared",
                index.name
            ));
            return Ok(None);
        };
        check.sizes = match (parser.has_sizes(), found) {
            (false, _) => 0..=usize::MAX,
            (true, found) => usual_beyond(found),
        };
        check.analyzer = check.analyzer.with_parser(parser);
        Ok(Some(check))
    }

    /// Compares it; how many documents its rows have, and how many words of documents its lists.
    pub(super) fn run(&self, report: &mut Report) -> Result<(usize, u64), Unread> {
        let mut sums = HashMap::<u64, Sum>::new();
        let (mut documents, mut words, mut odd_sizes) = (0, 0, 0_u64);
        self.lists(report, &mut |doc, word, positions| {
            words += 1;
            sums.entry(doc).or_default().find(&self.analyzer.key(word), positions);
        })?;
        self.texts(report, &mut |doc, texts| {
            // One that came late is in the lists with all of its words, or it is read again.
            if doc >= self.common.complete && !sums.contains_key(&doc) {
                return;
            }
            documents += 1;
            let sum = sums.entry(doc).or_default();
            let listed = *sum;
            self.words_of(texts, |key, _, positions| sum.expect(key, positions), &mut odd_sizes);
            // The places of a server that has built the index of rows.
            let columns: Vec<_> = texts.iter().map(Option::as_deref).collect();
            if let Some(built) = (*sum != Sum::default()).then(|| as_built_by_server(&columns)).flatten() {
                let mut other = listed;
                self.words_of(&built, |key, _, positions| other.expect(key, positions), &mut 0);
                if other == Sum::default() {
                    *sum = other;
                }
            }
        })?;
        if odd_sizes > 0 {
            report.remark(format!(
                "FULLTEXT index {}: {odd_sizes} words in the rows are shorter than {} characters or longer than {}, \
                 as none in the lists is: they are not compared",
                self.index.name,
                self.sizes.start(),
                self.sizes.end()
            ));
        }
        let differing: BTreeSet<u64> =
            sums.into_iter().filter(|(_, sum)| *sum != Sum::default()).map(|(doc, _)| doc).collect();
        if !differing.is_empty() {
            self.tell(&differing, report)?;
        }
        Ok((documents, words))
    }

    /// Characters of the shortest and of the longest word in the lists; `None` if there are none.
    fn sizes_in_lists(&self) -> Result<Option<RangeInclusive<usize>>, Unread> {
        let charset = self.analyzer.collation().charset();
        let mut found: Option<(usize, usize)> = None;
        for name in self.names() {
            self.tables.rows(&name, &["word"], &mut |row| {
                let size = charset.char_count(row[0].as_deref().unwrap_or_default());
                let (least, most) = found.unwrap_or((size, size));
                found = Some((least.min(size), most.max(size)));
            })?;
        }
        Ok(found.map(|(least, most)| least..=most))
    }

    fn names(&self) -> Vec<String> {
        let (database, table) = (database_of(&self.table.name), self.table.id.get());
        let start = format!("{database}FTS_{table:016x}_{:016x}_INDEX_", self.index.id.get());
        (1..=TABLES).map(|n| format!("{start}{n}")).collect()
    }

    fn is_compared(&self, doc: u64) -> bool {
        doc < self.common.listed && !self.common.gone.contains(&doc)
    }

    /// Every word of every document in the lists.
    fn lists(&self, report: &mut Report, each: &mut EachWord<'_>) -> Result<(), Unread> {
        for (at, name) in self.names().iter().enumerate() {
            let columns = ["word", "first_doc_id", "last_doc_id", "doc_count", "ilist"];
            self.tables.rows(name, &columns, &mut |row| {
                let word = row[0].as_deref().unwrap_or_default();
                if self.analyzer.table_of(word) != at {
                    let detail = format!("{} is in INDEX_{} and would not be found", self.word(word), at + 1);
                    report.whole(self.fault(&detail));
                }
                let told = node_of(row).and_then(|node| {
                    node.validate()?;
                    self.node(word, &node, each)
                });
                if let Err(e) = told {
                    report.whole(self.fault(&format!("list of {}: {e}", self.word(word))));
                }
            })?;
        }
        Ok(())
    }

    fn node(&self, word: &[u8], node: &Node, each: &mut EachWord<'_>) -> Result<(), Corruption> {
        if self.analyzer.is_near_stopword(word) {
            return Ok(());
        }
        let mut postings = node.postings();
        while let Some(posting) = postings.next()? {
            if self.is_compared(posting.doc.0) {
                each(posting.doc.0, word, &posting.positions()?);
            }
        }
        Ok(())
    }

    /// The texts of every document whose words are to be in the lists.
    fn texts(&self, report: &mut Report, each: &mut EachText<'_>) -> Result<(), Unread> {
        let wanted: Vec<&str> =
            [DOC_ID].into_iter().chain(self.index.columns.iter().map(String::as_str)).collect();
        self.tables.rows(&self.table.name, &wanted, &mut |row| match number(row[0].as_ref()) {
            Some(doc) if self.is_compared(doc) => each(doc, &row[1..]),
            Some(_) => {}
            None => report.whole(self.fault("a row has no number of its document")),
        })
    }

    /// The words of a document that are compared, each once with its places; words of a length that is left aside are counted.
    fn words_of(
        &self,
        texts: &[Option<Vec<u8>>],
        mut each: impl FnMut(&[u8], &[u8], &[u32]),
        odd_sizes: &mut u64,
    ) {
        let charset = self.analyzer.collation().charset();
        let usual = SIZE_MIN_DEFAULT..=SIZE_MAX_DEFAULT;
        let mut words = BTreeMap::<Box<[u8]>, (Vec<u8>, Vec<u32>)>::new();
        self.analyzer.document(texts.iter().map(Option::as_deref), |word, position| {
            let size = charset.char_count(word);
            if !self.sizes.contains(&size) {
                *odd_sizes += u64::from(usual.contains(&size));
                return;
            }
            if self.analyzer.is_near_stopword(word) {
                return;
            }
            let (_, positions) =
                words.entry(self.analyzer.key(word)).or_insert_with(|| (word.to_vec(), Vec::new()));
            if positions.last().is_none_or(|&last| last < position) {
                positions.push(position);
            }
        });
        words.iter().for_each(|(key, (word, positions))| each(key, word, positions));
    }

    /// Tells in which words documents differ.
    fn tell(&self, differing: &BTreeSet<u64>, report: &mut Report) -> Result<(), Unread> {
        let told: BTreeSet<u64> = differing.iter().copied().take(DOCUMENTS_TOLD).collect();
        let (mut words, mut rows) = (ToldWords::new(), BTreeSet::new());
        // What is wrong by itself has been told.
        let mut again = Report::new();
        self.lists(&mut again, &mut |doc, word, positions| {
            if told.contains(&doc) {
                let of_doc = words.entry(doc).or_default();
                let word_told = of_doc.entry(self.analyzer.key(word)).or_default();
                word_told.text = word.to_vec();
                word_told.in_lists.extend(positions);
            }
        })?;
        self.texts(&mut again, &mut |doc, texts| {
            if told.contains(&doc) {
                rows.insert(doc);
                let of_doc = words.entry(doc).or_default();
                let put = |key: &[u8], word: &[u8], positions: &[u32]| {
                    let word_told = of_doc.entry(key.into()).or_default();
                    word_told.text = word.to_vec();
                    word_told.in_row.extend(positions);
                };
                self.words_of(texts, put, &mut 0);
            }
        })?;
        for (doc, words) in &words {
            self.tell_document(*doc, words, rows.contains(doc), report);
        }
        if differing.len() > told.len() {
            let more = differing.len() - told.len();
            report.whole(self.fault(&format!("{more} more documents differ from their rows")));
        }
        Ok(())
    }

    fn tell_document(&self, doc: u64, words: &BTreeMap<Box<[u8]>, Told>, has_row: bool, report: &mut Report) {
        if !has_row {
            let detail =
                format!("document {doc}: the lists have {} words of it, and it has no row", words.len());
            return report.whole(self.fault(&detail));
        }
        let differing: Vec<&Told> = words.values().filter(|told| told.in_row != told.in_lists).collect();
        for told in differing.iter().take(WORDS_TOLD) {
            let word = self.word(&told.text);
            let places = |places: &[u32]| places.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
            let detail = match (&told.in_row[..], &told.in_lists[..]) {
                (row, []) => format!("{word} is in the row at {} and not in the lists", places(row)),
                ([], lists) => format!("{word} is in the lists at {} and not in the row", places(lists)),
                (row, lists) => {
                    format!("{word} is in the row at {}, in the lists at {}", places(row), places(lists))
                }
            };
            report.whole(self.fault(&format!("document {doc}: {detail}")));
        }
        if differing.len() > WORDS_TOLD {
            let more = differing.len() - WORDS_TOLD;
            report.whole(self.fault(&format!("document {doc}: {more} more words differ")));
        }
    }

    fn fault(&self, detail: &str) -> Corruption {
        let (index, table) = (&self.index.name, shown(&self.table.name));
        Corruption::new("FULLTEXT index", format!("{index} of {table}: {detail}"))
    }

    /// A word for people.
    fn word(&self, word: &[u8]) -> String {
        let text = self.analyzer.collation().charset().decode(word);
        text.map_or_else(|| format!("{word:02x?}"), |text| format!("'{text}'"))
    }
}

/// Characters of words that are compared, where those of the lists have so many. Longest words are rare: that there are none says
/// nothing, unless there are longer ones than usual.
fn usual_beyond(found: Option<RangeInclusive<usize>>) -> RangeInclusive<usize> {
    let (least, most) = found.map_or((SIZE_MIN_DEFAULT, 0), RangeInclusive::into_inner);
    least..=most.max(SIZE_MAX_DEFAULT)
}

/// The list in a row of a table of words.
fn node_of(row: &[Option<Vec<u8>>]) -> Result<Node, Corruption> {
    let bytes = |at: usize, len: usize| {
        let stored = row[at].as_deref().filter(|stored| stored.len() == len);
        stored.ok_or_else(|| Corruption::new("row of words", "a number is not as long as it has to be"))
    };
    Ok(Node {
        first: DocId(get_u64(bytes(1, 8)?, 0)),
        last: DocId(get_u64(bytes(2, 8)?, 0)),
        doc_count: get_u32(bytes(3, 4)?, 0),
        ilist: row[4].clone().unwrap_or_default(),
    })
}
