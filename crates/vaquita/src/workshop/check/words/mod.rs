//! FULLTEXT indexes against the rows: whether their lists have the words of the rows, all of them, where they are, and nothing else.
//!
//! Both sides are summed up by document: each word with its places is a number, and the sum does not depend on the order. Memory is a
//! sum for each document. Documents whose sums differ are looked at again for the words themselves.
//!
//! | left aside | because |
//! |---|---|
//! | documents from `synced_doc_id` on | their words are in memory only, and are made of the rows when the folder is opened |
//! | documents from `vaquita_complete_doc_id` on that no list has | the same: they came late |
//! | documents in DELETED and its like | their rows are gone, and their words may stay until OPTIMIZE TABLE |
//! | stopwords, and words that are spelled otherwise than one | whether a document has them depends on the order of its words |
//! | words shorter or longer than any in the lists | `innodb_ft_min_token_size` and `.._max_..` are in no file; a note tells of them |
//! | indexes with a parser that is not known here | nobody can tell their words |

mod index;
mod read;

use std::collections::{BTreeSet, HashMap};
use std::io;

use vaquita_base::SpaceId;
use vaquita_base::codec::get_u64;
use vaquita_format::Corruption;
use vaquita_format::collation::Collation;
use vaquita_format::column::{LATIN1_SWEDISH_CI, MType};
use vaquita_format::filename;
use vaquita_fts::stopwords::WordList;

use crate::workshop::dictionary::{DictTable, Dictionary};
use crate::workshop::report::Report;
use crate::workshop::source::{PageSource, ReadError};
use index::IndexCheck;
use read::each_row;

/// The column that numbers documents.
const DOC_ID: &str = "FTS_DOC_ID";
/// The common tables with documents that are gone.
const GONE: [&str; 4] = ["DELETED", "DELETED_CACHE", "BEING_DELETED", "BEING_DELETED_CACHE"];

/// Where tables are found: the dictionary, and the pages of tablespaces.
pub(super) struct Tables<'a> {
    pub(super) dictionary: &'a Dictionary,
    pub(super) visit: &'a Visit<'a>,
}

/// Gives the pages of a tablespace to look at; whether it has a file.
type Visit<'a> = dyn Fn(SpaceId, &mut dyn FnMut(&dyn PageSource)) -> Result<bool, ReadError> + 'a;

/// How much was compared.
#[derive(Debug, Default)]
pub(super) struct WordsSummary {
    pub(super) indexes: usize,
    pub(super) documents: usize,
    /// Words of documents in the lists.
    pub(super) words: u64,
}

impl Tables<'_> {
    fn table(&self, name: &str) -> Option<&DictTable> {
        self.dictionary.tables.iter().find(|table| table.name == name)
    }

    /// Rows of a table by its name.
    fn rows(&self, name: &str, wanted: &[&str], each: &mut dyn FnMut(&read::Values)) -> Result<(), Unread> {
        let missing = || Unread::Missing(name.to_owned());
        let table = self.table(name).ok_or_else(missing)?;
        let mut is_whole = false;
        match (self.visit)(table.space, &mut |src| is_whole = each_row(src, table, wanted, each)) {
            Ok(true) if is_whole => Ok(()),
            Ok(false) => Err(missing()),
            Err(ReadError::Io(e)) => Err(Unread::Refused(table.space, e)),
            Ok(true) | Err(_) => Err(Unread::Damaged(name.to_owned())),
        }
    }
}

/// Why a table was not read.
#[derive(Debug)]
enum Unread {
    /// There is none of this name.
    Missing(String),
    /// Some of it cannot be read, which is told of its file.
    Damaged(String),
    /// The system refused its file.
    Refused(SpaceId, io::Error),
}

/// What is true of all FULLTEXT indexes of a table.
struct Common {
    /// All documents below are in the lists.
    complete: u64,
    /// No document from here on is looked for in the lists; between the two they have all words of a document, or none.
    listed: u64,
    gone: BTreeSet<u64>,
    stopwords: WordList,
}

/// Checks the FULLTEXT indexes of a table against its rows. `settled`: no transaction is open that has changed rows.
///
/// # Errors
/// The system refused the file of a tablespace.
pub(super) fn check_words(
    tables: &Tables<'_>,
    table: &DictTable,
    settled: bool,
    report: &mut Report,
) -> Result<WordsSummary, (SpaceId, io::Error)> {
    let mut summary = WordsSummary::default();
    match check_all(tables, table, report, &mut summary) {
        Ok(()) => {}
        Err(Unread::Refused(space, e)) => return Err((space, e)),
        Err(Unread::Missing(name)) => {
            report.whole(Corruption::new("table of FULLTEXT indexes", format!("{name} is missing")));
        }
        Err(Unread::Damaged(name)) => {
            report.remark(format!("{name} cannot be read: words are not compared"));
        }
    }
    if !settled && !report.is_clean() {
        report.demote();
        report.remark("transactions are open that may have changed the rows: nothing is certain");
    }
    Ok(summary)
}

fn check_all(
    tables: &Tables<'_>,
    table: &DictTable,
    report: &mut Report,
    summary: &mut WordsSummary,
) -> Result<(), Unread> {
    let common = common(tables, table, report)?;
    for index in &table.fulltext {
        let Some(check) = IndexCheck::new(tables, table, index, &common, report)? else { continue };
        let (documents, words) = check.run(report)?;
        summary.indexes += 1;
        summary.documents = summary.documents.max(documents);
        summary.words += words;
    }
    Ok(())
}

fn common_name(table: &DictTable, what: &str) -> String {
    format!("{}FTS_{:016x}_{what}", database_of(&table.name), table.id.get())
}

/// The database of `database/table`, with the stroke.
fn database_of(name: &str) -> String {
    name.split_once('/').map_or(String::new(), |(database, _)| format!("{database}/"))
}

/// A document's number as it is stored.
fn number(value: Option<&Vec<u8>>) -> Option<u64> {
    value.filter(|stored| stored.len() == 8).map(|stored| get_u64(stored, 0))
}

fn common(tables: &Tables<'_>, table: &DictTable, report: &mut Report) -> Result<Common, Unread> {
    let mut settings = HashMap::new();
    let text = |value: &Option<Vec<u8>>| {
        String::from_utf8_lossy(value.as_deref().unwrap_or_default()).trim().to_owned()
    };
    tables.rows(&common_name(table, "CONFIG"), &["key", "value"], &mut |row| {
        settings.insert(text(&row[0]), text(&row[1]));
    })?;
    let mut gone = BTreeSet::new();
    for what in GONE {
        tables
            .rows(&common_name(table, what), &["doc_id"], &mut |row| gone.extend(number(row[0].as_ref())))?;
    }
    let setting = |key: &str| settings.get(key).map_or("", String::as_str);
    let stopwords = match (setting("use_stopword"), setting("stopword_table_name")) {
        ("0", _) => WordList::none(),
        (_, "") => WordList::default_list(),
        (_, name) => stopwords(tables, name, report)?,
    };
    let listed = setting("synced_doc_id").parse().unwrap_or(0);
    // Without, all of them are in the lists.
    let complete = setting("vaquita_complete_doc_id").parse().unwrap_or(u64::MAX).min(listed);
    Ok(Common { complete, listed, gone, stopwords })
}

/// The words of a table of stopwords; InnoDB's own if it is none any more.
fn stopwords(tables: &Tables<'_>, name: &str, report: &mut Report) -> Result<WordList, Unread> {
    let column = tables.table(name).and_then(|table| table.columns.first()).filter(|c| c.name == "value");
    let collation = column.and_then(|column| match column.mtype {
        MType::VarMySql => Collation::of(column.collation_id()),
        // Texts of this collation have a type of their own.
        MType::VarChar => Collation::of(LATIN1_SWEDISH_CI),
        _ => None,
    });
    let Some(collation) = collation else {
        report.remark(format!("{name} is no table of stopwords: the default ones are taken"));
        return Ok(WordList::default_list());
    };
    let mut words = Vec::new();
    tables.rows(name, &["value"], &mut |row| words.extend(row[0].clone().map(Vec::into_boxed_slice)))?;
    Ok(WordList::of(collation, words))
}

/// A table's name for people.
fn shown(name: &str) -> String {
    name.split('/')
        .map(|part| filename::decode(part).unwrap_or_else(|| part.to_owned()))
        .collect::<Vec<_>>()
        .join(".")
}
