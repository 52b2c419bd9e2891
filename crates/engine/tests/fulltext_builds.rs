//! FULLTEXT indexes built of many rows: every word with all of its documents and places is in the table that it belongs to, whatever is
//! sorted in memory or in files, by however many threads.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::collections::BTreeMap;
use std::sync::Arc;
use vaquita_base::codec::{get_u32, get_u64};
use vaquita_base::{ManualClock, Rng};
use vaquita_engine::fulltext::doc_id_key;
use vaquita_engine::table::Table;
use vaquita_engine::{
    Alteration, Column, Concurrency, ConvertRow, Engine, Error, Field, FullTextSpec, KeptKeys, Options,
    ReadOptions, Result, Session, TableSpec, stored,
};
use vaquita_format::collation::Collation;
use vaquita_format::column::{Charset, ColumnDef};
use vaquita_format::index_def::KeyPart;
use vaquita_fts::DocId;
use vaquita_fts::analyzer::Analyzer;
use vaquita_fts::ilist::{BYTES_FULL, Node};
use vaquita_io::sim::SimDisk;
use vaquita_storage::SystemFile;

const TABLE: &str = "a/t";
const UTF8_GENERAL_CI: u16 = 33;
/// So many that the list of a word that all of them have takes more than one row.
const ROWS: u64 = 26_000;

fn open(build_threads: usize) -> Engine {
    let disk = SimDisk::new(7);
    disk.put_dir("/db".as_ref());
    let mut options =
        Options { background: false, build_threads, sort_buffer_size: 16 << 10, ..Options::new("/db") };
    options.storage.buffer_pool_size = 16 << 20;
    options.storage.log_file_size = 48 << 20;
    options.storage.data_file_path = vec![SystemFile { name: "ibdata1".into(), size_bytes: 12 << 20 }];
    Engine::open_with(Arc::new(disk), Arc::new(ManualClock::new()), options).unwrap()
}

fn spec(name: &str, fulltext: Vec<FullTextSpec>) -> TableSpec {
    let columns = vec![
        Column::new(ColumnDef::int("id", 4, false).not_null()),
        Column::new(ColumnDef::varchar("a", 200, Charset::UTF8)),
        Column::new(ColumnDef::text_blob("b", 2, Charset::UTF8)),
    ];
    TableSpec { primary_key: Some(vec![KeyPart::whole(0)]), fulltext, ..TableSpec::new(name, columns) }
}

fn words(name: &str, columns: &[usize]) -> FullTextSpec {
    FullTextSpec { name: name.into(), columns: columns.to_vec(), parser: None, split: None }
}

type Texts = [Option<String>; 2];

/// Words of several tables, that are equal to others by the collation, that are not indexed; now and then a long text.
fn texts(rng: &mut Rng) -> Texts {
    const WORDS: [&str; 12] =
        ["Éclair", "eclair", "ECLAIR", "zebra", "42nd", "the", "an", "größe", "log", "page", "undo", "кит"];
    let some = |rng: &mut Rng, n: u64| {
        let mut text = String::from("all");
        for _ in 0..rng.below(n) {
            text.push(' ');
            match rng.one_in(3) {
                true => text.push_str(&format!("w{}", rng.below(500))),
                false => text.push_str(WORDS[rng.index(WORDS.len())]),
            }
        }
        text
    };
    let (a, b) = (some(rng, 4), some(rng, 3));
    match rng.below(2_000) {
        0 => [None, Some(some(rng, 4_000))],
        1 => [Some(a), None],
        2 => [None, Some(String::new())],
        _ => [Some(a), Some(b)],
    }
}

struct Same;

impl ConvertRow<Error> for Same {
    fn convert(&mut self, row: &[Field<'_>], with: &mut dyn FnMut(&[Field<'_>]) -> Result<()>) -> Result<()> {
        with(&row[..3])
    }
}

type Words = BTreeMap<Box<[u8]>, Vec<(u64, Vec<u32>)>>;

/// What the texts have, documents numbered in their order.
fn expected(rows: &[Texts], columns: &[usize]) -> Words {
    let analyzer = Analyzer::innodb(Collation::of(UTF8_GENERAL_CI).unwrap());
    let mut all = Words::new();
    for (row, texts) in rows.iter().enumerate() {
        let doc = row as u64 + 1;
        let texts = columns.iter().map(|column| texts[column - 1].as_deref().map(str::as_bytes));
        analyzer.document(texts, |word, at| {
            let postings = all.entry(analyzer.key(word)).or_default();
            match postings.last_mut() {
                Some((last, places)) if *last == doc => places.push(at),
                _ => postings.push((doc, vec![at])),
            }
        });
    }
    all
}

/// What the tables of an index have; how many rows there are.
fn found(session: &mut Session, table: &Table, index: usize) -> (Words, usize) {
    let analyzer = Analyzer::innodb(Collation::of(UTF8_GENERAL_CI).unwrap());
    let (mut all, mut rows) = (Words::new(), 0);
    for n in 0..6 {
        let (id, of) = (table.id.get(), table.fulltext[index].id.get());
        let name = format!("a/FTS_{id:016x}_{of:016x}_INDEX_{}", n + 1);
        let read = session.run(|s| {
            let words = s.table(&name)?;
            let mut cursor = s.cursor(&words, &ReadOptions::default())?;
            cursor.seek_first();
            while let Some(row) = s.next(&mut cursor)? {
                let mut values = vec![Vec::new(); 5];
                for (column, value) in values.iter_mut().enumerate() {
                    row.read_column(column, value)?;
                }
                let node = Node {
                    first: DocId(get_u64(&values[1], 0)),
                    last: DocId(get_u64(&values[2], 0)),
                    doc_count: get_u32(&values[3], 0),
                    ilist: std::mem::take(&mut values[4]),
                };
                node.validate().unwrap();
                assert_eq!(analyzer.table_of(&values[0]), n);
                assert!(node.ilist.len() < BYTES_FULL + 4_096);
                let postings = all.entry(analyzer.key(&values[0])).or_default();
                let mut list = node.postings();
                while let Some(posting) = list.next().unwrap() {
                    postings.push((posting.doc.0, posting.positions().unwrap()));
                }
                rows += 1;
            }
            Ok(())
        });
        read.unwrap();
    }
    (all, rows)
}

/// Adds an index to the table as it is; the table that has it.
fn add_words(session: &mut Session, index: FullTextSpec) -> Arc<Table> {
    let table = session.run(|s| s.table(TABLE)).unwrap();
    let fulltext = [index];
    let alteration = Alteration { fulltext: &fulltext, ..Alteration::default() };
    assert!(session.alter_in_place(&table, &[], |t| t.alter(&[], alteration, Concurrency::Writes)).unwrap());
    session.run(|s| s.table(TABLE)).unwrap()
}

#[test]
fn all_words_of_all_rows() {
    for threads in [1, 3] {
        let engine = open(threads);
        let mut session = engine.session();
        session.create_table(&spec(TABLE, Vec::new())).unwrap();
        let mut rng = Rng::new(threads as u64);
        let rows: Vec<Texts> = (0..ROWS).map(|_| texts(&mut rng)).collect();
        for (chunk, rows) in rows.chunks(1_000).enumerate() {
            let insert = session.run(|s| {
                let table = s.table(TABLE)?;
                for (n, texts) in rows.iter().enumerate() {
                    let id = stored::int((chunk * 1_000 + n) as i32);
                    let [a, b] = texts.each_ref().map(|text| text.as_deref().map(str::as_bytes));
                    s.insert(&table, &[Some(&id), a, b])?;
                }
                Ok(())
            });
            insert.unwrap();
        }
        let anew = spec("a/#sql-vq1", vec![words("b", &[2]), words("ba", &[2, 1])]);
        let origins = [Some(0), Some(1), Some(2)];
        let same = |_: &Arc<Table>, _: &Arc<Table>| Ok(Same);
        let sorted = engine.core().metrics.sort_files.get();
        session
            .rebuild_table_beside(TABLE, &anew, KeptKeys::default(), &origins, Concurrency::Writes, same)
            .map(drop)
            .unwrap_or_else(|e: Error| panic!("{e}"));
        assert!(engine.core().metrics.sort_files.get() > sorted + 10, "entries are sorted in files, too");
        // And one more beside them, of documents that are in the tables already.
        let table = add_words(&mut session, words("a", &[1]));
        for (index, columns) in [(0, &[2][..]), (1, &[2, 1]), (2, &[1])] {
            let (words, n) = found(&mut session, &table, index);
            let expected = expected(&rows, columns);
            assert!(n > expected.len(), "index {index}: {n} rows of {} words", expected.len());
            for (word, postings) in &expected {
                assert_eq!(words.get(word), Some(postings), "index {index}, {word:?}");
            }
            assert_eq!(words.len(), expected.len(), "index {index}");
        }
    }
}

/// Documents that are numbered in another order than that of the rows: lists of a word reach into each other.
#[test]
fn numbers_in_any_order() {
    const PRIME: u64 = 26003;
    let number = |row: u64| row * 7_919 % PRIME + 1;
    for threads in [1, 3] {
        let engine = open(threads);
        let mut session = engine.session();
        let mut numbered = spec(TABLE, Vec::new());
        numbered.columns.push(Column::new(ColumnDef::int("FTS_DOC_ID", 8, true).not_null()));
        session.create_table(&numbered).unwrap();
        let mut rng = Rng::new(threads as u64 + 10);
        let rows: Vec<Texts> = (0..ROWS).map(|_| texts(&mut rng)).collect();
        for (chunk, rows) in rows.chunks(1_000).enumerate() {
            let insert = session.run(|s| {
                let table = s.table(TABLE)?;
                for (n, texts) in rows.iter().enumerate() {
                    let row = chunk * 1_000 + n;
                    let [a, b] = texts.each_ref().map(|text| text.as_deref().map(str::as_bytes));
                    let doc = doc_id_key(number(row as u64));
                    s.insert(&table, &[Some(&stored::int(row as i32)), a, b, Some(&doc)])?;
                }
                Ok(())
            });
            insert.unwrap();
        }
        let table = add_words(&mut session, words("a", &[1]));
        let (words, _) = found(&mut session, &table, 0);
        let mut expected = expected(&rows, &[1]);
        for (word, postings) in &mut expected {
            postings.iter_mut().for_each(|(doc, _)| *doc = number(*doc - 1));
            postings.sort();
            assert_eq!(words.get(word), Some(&*postings), "{word:?}");
        }
        assert_eq!(words.len(), expected.len());
    }
}
