//! `vaquita-tantivy FILE FOLDER ROUNDS`: tantivy on the documents of a file, a line each, title and text with a tab between. The words are
//! those of InnoDB: runs of letters, digits and underscores in lower case, of 3 to 84 characters, but its stopwords; title and text are one
//! field, as an index of both columns is to BM25 without weights. The index lies in FOLDER, mapped into memory.
//!
//! Prints lines of a name, seconds, processor time in seconds, and the answer: of the build the bytes on disk, then of each query that is
//! read from standard input as its name, a tab and its words, how many documents have any of them. The ten best documents are found and
//! their numbers read, again and again for 0.3 s in each round; what is printed is the mean.

#![forbid(unsafe_code)]

use std::error::Error;
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader};
use std::path::Path;
use std::time::{Duration, Instant};

use tantivy::collector::{Count, TopDocs};
use tantivy::query::{BooleanQuery, Query, TermQuery};
use tantivy::schema::{FAST, IndexRecordOption, NumericOptions, Schema, TextFieldIndexing, TextOptions};
use tantivy::tokenizer::{TextAnalyzer, Token, TokenStream, Tokenizer};
use tantivy::{Index, IndexWriter, Searcher, TantivyDocument, Term};

type Failure = Box<dyn Error>;

/// InnoDB's own.
const STOPWORDS: [&str; 36] = [
    "a", "about", "an", "are", "as", "at", "be", "by", "com", "de", "en", "for", "from", "how", "i", "in",
    "is", "it", "la", "of", "on", "or", "that", "the", "this", "to", "was", "what", "when", "where", "who",
    "will", "with", "und", "the", "www",
];
const SIZES: std::ops::RangeInclusive<usize> = 3..=84;
const WRITER_BYTES: usize = 256 << 20;
const FIELD: &str = "words";
const NUMBER: &str = "number";

/// Words as InnoDB has them.
#[derive(Clone, Default)]
struct Words;

struct WordStream {
    words: std::vec::IntoIter<Token>,
    token: Token,
}

impl Tokenizer for Words {
    type TokenStream<'t> = WordStream;

    fn token_stream<'t>(&'t mut self, text: &'t str) -> WordStream {
        let is_word =
            |word: &String| SIZES.contains(&word.chars().count()) && !STOPWORDS.contains(&word.as_str());
        let runs =
            text.split(|c: char| !c.is_alphanumeric() && c != '_').map(str::to_lowercase).filter(is_word);
        let token = |(position, text)| Token { position, text, ..Token::default() };
        let words: Vec<Token> = runs.enumerate().map(token).collect();
        WordStream { words: words.into_iter(), token: Token::default() }
    }
}

impl TokenStream for WordStream {
    fn advance(&mut self) -> bool {
        let next = self.words.next();
        next.map(|token| self.token = token).is_some()
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }
}

/// Processor time of all threads, in steps of 10 ms.
fn cpu() -> Result<f64, Failure> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    let behind = stat.rsplit(')').next().ok_or("no statistics")?;
    let fields: Vec<&str> = behind.split_whitespace().collect();
    Ok((fields[11].parse::<f64>()? + fields[12].parse::<f64>()?) / 100.0)
}

fn build(source: &Path, folder: &Path) -> Result<Index, Failure> {
    let mut schema = Schema::builder();
    let indexing = TextFieldIndexing::default()
        .set_tokenizer(FIELD)
        // Places, as InnoDB's lists have them.
        .set_index_option(IndexRecordOption::WithFreqsAndPositions);
    let words = schema.add_text_field(FIELD, TextOptions::default().set_indexing_options(indexing));
    let number = schema.add_u64_field(NUMBER, NumericOptions::default() | FAST);
    let index = Index::create_in_dir(folder, schema.build())?;
    index.tokenizers().register(FIELD, TextAnalyzer::from(Words));
    let mut writer: IndexWriter = index.writer(WRITER_BYTES)?;
    for (at, line) in (1u64..).zip(BufReader::new(File::open(source)?).lines()) {
        let line = line?.replace("\\\\", "\\");
        let (title, text) = line.split_once('\t').ok_or("a line without a title")?;
        let mut document = TantivyDocument::new();
        document.add_text(words, format!("{title}\n{text}"));
        document.add_u64(number, at);
        writer.add_document(document)?;
    }
    writer.commit()?;
    writer.wait_merging_threads()?;
    Ok(index)
}

fn query(index: &Index, words: &str) -> Result<BooleanQuery, Failure> {
    let field = index.schema().get_field(FIELD)?;
    let mut tokens = Words;
    let mut stream = tokens.token_stream(words);
    let mut any: Vec<Box<dyn Query>> = Vec::new();
    while stream.advance() {
        let term = Term::from_field_text(field, &stream.token().text);
        any.push(Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs)));
    }
    Ok(BooleanQuery::union(any))
}

/// The numbers of the ten best documents, and their scores.
fn best(searcher: &Searcher, query: &BooleanQuery) -> Result<Vec<(u64, f32)>, Failure> {
    let found = searcher.search(query, &TopDocs::with_limit(10).order_by_score())?;
    let mut best = Vec::with_capacity(10);
    for (score, at) in found {
        let numbers = searcher.segment_reader(at.segment_ord).fast_fields().u64(NUMBER)?;
        best.push((numbers.first(at.doc_id).ok_or("a document without a number")?, score));
    }
    Ok(best)
}

fn bytes(folder: &Path) -> io::Result<u64> {
    fs::read_dir(folder)?.map(|entry| Ok(entry?.metadata()?.len())).sum()
}

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [source, folder, rounds] = &arguments[..] else { return Err("FILE FOLDER ROUNDS".into()) };
    let (source, folder, rounds) = (Path::new(source), Path::new(folder), rounds.parse::<usize>()?);
    let (start, before) = (Instant::now(), cpu()?);
    let index = build(source, folder)?;
    println!("build\t{}\t{}\t{}", start.elapsed().as_secs_f64(), cpu()? - before, bytes(folder)?);
    let searcher = index.reader()?.searcher();
    println!("segments\t0\t0\t{}", searcher.segment_readers().len());
    for line in io::stdin().lines() {
        let line = line?;
        let (name, words) = line.split_once('\t').ok_or("a query without a name")?;
        let query = query(&index, words)?;
        let count = searcher.search(&query, &Count)?;
        for _ in 0..rounds {
            let (start, before, mut times) = (Instant::now(), cpu()?, 0u32);
            while times == 0 || start.elapsed() < Duration::from_millis(300) {
                best(&searcher, &query)?;
                times += 1;
            }
            let each = f64::from(times);
            println!(
                "{name}\t{}\t{}\t{count}",
                start.elapsed().as_secs_f64() / each,
                (cpu()? - before) / each
            );
        }
    }
    Ok(())
}
