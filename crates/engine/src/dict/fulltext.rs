//! The tables in which InnoDB keeps FULLTEXT indexes: their names and definitions, as MySQL 5.6.24 makes them.
//!
//! | table | columns | key |
//! |---|---|---|
//! | `FTS_<table id>_<index id>_INDEX_1` to `_6` | `word` of the type of the first indexed column with at most 254 bytes; `first_doc_id`, `last_doc_id`, `doc_count`, `ilist` | `word`, `first_doc_id` |
//! | `FTS_<table id>_DELETED`, `_DELETED_CACHE`, `_BEING_DELETED`, `_BEING_DELETED_CACHE` | `doc_id` | `doc_id` |
//! | `FTS_<table id>_CONFIG` | `key`, `value` | `key` |
//!
//! Numbers are 16 hexadecimal digits. They are in the database of the table that they serve and where that is, in a tablespace of their
//! own or in the system tablespace, and COMPACT, whatever that table is. The tables of an index come and go with it, the common ones come
//! with the first index.

use crate::dict::build::{IndexParts, TableParts};
use crate::table::{Column, Field, FullTextIndex, Table};
use vaquita_base::{IndexId, PageNo, SpaceId, TableId, TrxId};
use vaquita_format::PageSize;
use vaquita_format::column::{BINARY_COLLATION, ColumnDef, LATIN1_SWEDISH_CI, MType, mysql_type, prtype};
use vaquita_format::index_def::{KeyPart, RowFormat};
use vaquita_fts::DocId;
use vaquita_fts::partition::TABLES;

/// The column that numbers the documents of FULLTEXT indexes.
pub const DOC_ID: &str = "FTS_DOC_ID";

/// The stored form of a document's number.
pub fn doc_id_key(document: u64) -> [u8; 8] {
    let mut key = [0; 8];
    vaquita_base::codec::put_u64(&mut key, 0, document);
    key
}

/// The number of a document as it is stored: eight bytes, most significant first.
pub(crate) fn stored_doc_id(stored: Field<'_>) -> Option<DocId> {
    stored.filter(|bytes| bytes.len() == 8).map(|bytes| DocId(vaquita_base::codec::get_u64(bytes, 0)))
}

/// Position of the column that numbers documents; names of it have no other case.
pub fn doc_id_column(table: &Table) -> Option<usize> {
    table.columns.iter().position(|column| column.def.name == DOC_ID)
}

/// The unique index on the numbers of documents; names of it have no other case.
pub const DOC_ID_INDEX: &str = "FTS_DOC_ID_INDEX";

/// What names of the common tables end with, in the order in which they are made.
pub(crate) const COMMON: [&str; 5] =
    ["DELETED", "DELETED_CACHE", "BEING_DELETED", "BEING_DELETED_CACHE", CONFIG];
/// The one with the settings.
pub(crate) const CONFIG: &str = "CONFIG";
/// Documents from this number on have no words in the tables.
pub(crate) const SYNCED_DOC_ID: &str = "synced_doc_id";
/// 0: nothing is a stopword.
pub(crate) const USE_STOPWORD: &str = "use_stopword";
/// The table of the stopwords; none, or nothing in it: the default ones.
pub(crate) const STOPWORD_TABLE: &str = "stopword_table_name";
/// What CONFIG has at the beginning, besides [`SYNCED_DOC_ID`] and what is said of stopwords, in the order of its key.
pub(crate) const SETTINGS: [(&str, &str); 4] = [
    ("cache_size_in_mb", "256"),
    ("deleted_doc_count", "0"),
    ("optimize_checkpoint_limit", "180"),
    ("table_state", "0"),
];

/// Most bytes of a word: 84 characters of three bytes, and two more.
const WORD_LEN: u32 = 254;
/// The precise type of texts in tables that InnoDB makes by itself, which names no collation.
const TEXT: u32 = 4;

/// The column that numbers documents where nobody has declared it.
pub(crate) fn new_doc_id_column() -> Column {
    let precise = u32::from(mysql_type::LONG) | prtype::NOT_NULL | prtype::UNSIGNED | prtype::BINARY_TYPE;
    Column { hidden: true, ..Column::new(ColumnDef::new(DOC_ID, MType::Int, precise, 8)) }
}

/// The name of a common table of `table`, `database/table`.
pub(crate) fn common_name(table: &str, id: TableId, which: &str) -> String {
    format!("{}FTS_{:016x}_{which}", database_of(table), id.get())
}

/// The names of the tables with the words of an index.
pub(crate) fn word_names(table: &str, id: TableId, index: IndexId) -> impl Iterator<Item = String> {
    let start = format!("{}FTS_{:016x}_{:016x}_INDEX_", database_of(table), id.get(), index.get());
    (1..=TABLES).map(move |n| format!("{start}{n}"))
}

fn database_of(table: &str) -> String {
    table.split_once('/').map_or(String::new(), |(database, _)| format!("{database}/"))
}

/// The common tables of a table, without numbers and trees.
pub(crate) fn common(table: &TableParts) -> Vec<TableParts> {
    let one = |which: &&str| {
        let name = common_name(&table.name, table.id, which);
        auxiliary(table, name, common_columns(which), COMMON_KEY, 1)
    };
    COMMON.iter().map(one).collect()
}

/// The names of the keys of the common tables and of those with words.
const COMMON_KEY: &str = "IND";
const WORDS_KEY: &str = "FTS_INDEX_TABLE_IND";
const UTF8MB4: u16 = 45;

fn common_columns(which: &str) -> Vec<Column> {
    let text = |name, flags, len| Column::new(ColumnDef::new(name, MType::VarChar, TEXT | flags, len));
    match which {
        CONFIG => vec![text("key", 0, 50), text("value", prtype::NOT_NULL, 200)],
        _ => vec![number("doc_id", prtype::UNSIGNED, 8)],
    }
}

/// The tables with the words of an index, without numbers and trees.
pub(crate) fn words(table: &TableParts, index: &FullTextIndex) -> Vec<TableParts> {
    let of_words = &table.columns[index.columns[0]].def;
    word_names(&table.name, table.id, index.id)
        .map(|name| auxiliary(table, name, words_columns(of_words), WORDS_KEY, 2))
        .collect()
}

/// The columns of a table of words of a column of texts.
fn words_columns(of_words: &ColumnDef) -> Vec<Column> {
    // Texts of this collation have a type of their own.
    let mtype = match of_words.collation_id() {
        LATIN1_SWEDISH_CI => MType::VarChar,
        _ => MType::VarMySql,
    };
    let word = ColumnDef::new("word", mtype, of_words.prtype, WORD_LEN);
    let word = word.with_mbminmaxlen(of_words.mbminmaxlen());
    let whole = prtype::NOT_NULL | prtype::UNSIGNED;
    let binary = u32::from(BINARY_COLLATION) << prtype::COLLATION_SHIFT;
    let list = prtype::NOT_NULL | prtype::BINARY_TYPE | binary;
    vec![
        Column::new(word),
        number("first_doc_id", whole, 8),
        number("last_doc_id", whole, 8),
        number("doc_count", whole, 4),
        Column::new(ColumnDef::new("ilist", MType::Blob, list, 0)),
    ]
}

/// What the name of an auxiliary table tells of it.
#[derive(Debug, Clone)]
pub struct AuxiliaryColumns {
    /// Its columns. Texts are said to be utf8mb4, which the name does not tell: bytes lie the same way whatever they are.
    pub columns: Vec<ColumnDef>,
    /// The name of its key.
    pub key: &'static str,
    /// How many columns the key has, the first ones.
    pub key_columns: usize,
}

impl AuxiliaryColumns {
    /// By the name of a table, without its database; `None` if it is none of them.
    pub fn of(name: &str) -> Option<AuxiliaryColumns> {
        let digits = |text: &str| text.len() == 16 && text.bytes().all(|b| b.is_ascii_hexdigit());
        let (table, what) = name.strip_prefix("FTS_")?.split_once('_')?;
        if !digits(table) {
            return None;
        }
        if COMMON.contains(&what) {
            let columns = common_columns(what).into_iter().map(|column| column.def).collect();
            return Some(AuxiliaryColumns { columns, key: COMMON_KEY, key_columns: 1 });
        }
        let (index, number) = what.split_once("_INDEX_")?;
        let is_one =
            digits(index) && number.parse().is_ok_and(|number: usize| (1..=TABLES).contains(&number));
        let of_words =
            ColumnDef::new("word", MType::VarMySql, u32::from(UTF8MB4) << prtype::COLLATION_SHIFT, 0);
        let columns = || words_columns(&of_words).into_iter().map(|column| column.def).collect();
        is_one.then(|| AuxiliaryColumns { columns: columns(), key: WORDS_KEY, key_columns: 2 })
    }
}

fn number(name: &str, flags: u32, len: u32) -> Column {
    Column::new(ColumnDef::new(name, MType::Int, flags, len))
}

fn auxiliary(
    table: &TableParts,
    name: String,
    columns: Vec<Column>,
    key: &str,
    key_columns: usize,
) -> TableParts {
    let index = IndexParts {
        id: IndexId(0),
        name: key.to_owned(),
        parts: (0..key_columns).map(KeyPart::whole).collect(),
        unique: true,
        root: PageNo::NULL,
        trx_id: TrxId(0),
        comment: String::new(),
        hidden: false,
    };
    let logical = table.page_size.logical();
    TableParts {
        id: TableId(0),
        name,
        space: SpaceId::SYSTEM,
        directory: None,
        row_format: RowFormat::Compact,
        page_size: PageSize::new(logical).expect("a table has pages of a size that there is"),
        columns,
        indexes: vec![index],
        fulltext: Vec::new(),
        comment: String::new(),
        collation: 0,
        extra: String::new(),
        auto_inc_from: 0,
        versions: None,
        discarded: false,
        is_system: false,
    }
}
