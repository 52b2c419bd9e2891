//! Changing definitions: CREATE, DROP, RENAME, TRUNCATE of tables, adding and dropping indexes and foreign keys. Atomic
//! over a crash: never a file without its table, never a table without its file.
//!
//! | part | module |
//! |---|---|
//! | what a definition must be | [`check`], [`foreign`](mod@foreign) |
//! | a change as a transaction, with its files and trees | [`change`](mod@change), [`log`](mod@log) |
//! | the changes | [`create`](mod@create), [`drop`](mod@drop), [`rename`](mod@rename), [`redefine`](mod@redefine), [`replace`](mod@replace), [`truncate`](mod@truncate), [`indexes`](mod@indexes), [`databases`], [`exchange`](mod@exchange) |
//! | rows of a definition | [`definition`] |
//! | views, routines, triggers, events | [`objects`](mod@objects) |
//! | writing a table anew | [`rebuild`], then [`replace`](mod@replace) |
//! | building indexes, sorting their entries | [`index_build`], [`sort`], [`load`](mod@load) |
//! | holding rows against foreign keys, and both together | [`held`], [`beside`] |
//! | FULLTEXT indexes: their tables, building them | [`fulltext`](mod@fulltext), [`fulltext_build`] |
//! | tables of several parts | `parts` |
//! | files that were moved while nobody used the folder | [`places`](mod@places) |
//! | files of a MySQL server beside tables | `server_files` |
//! | after a crash | [`recover`](mod@recover), [`leftovers`](mod@leftovers) |
//!
//! The metadata locks are the caller's business: exclusive ones on the tables and on those related by foreign keys
//! ([`related_tables`]).

mod alteration;
pub(crate) mod beside;
mod change;
mod check;
mod create;
mod databases;
mod definition;
mod discard;
mod drop;
mod exchange;
mod foreign;
mod fulltext;
mod fulltext_build;
mod gather;
mod handoff;
mod held;
mod import;
mod index_build;
mod indexes;
mod leftovers;
mod load;
mod log;
mod objects;
mod parts;
mod places;
pub(crate) mod rebuild;
mod recover;
mod redefine;
mod rename;
mod replace;
mod server_files;
mod sort;
mod temporary;
mod truncate;

pub use alteration::Alteration;
pub use check::row_size;
pub use databases::{alter_database, create_database, database_options, drop_database};
pub(crate) use exchange::{Exchange, check_rows as check_rows_of_part};
pub use fulltext_build::FullTextBuild;
pub(crate) use fulltext_build::begin as begin_fulltext;
pub use leftovers::{TEMPORARY_PREFIX, is_temporary};
pub(crate) use leftovers::{find as find_leftovers, step as drop_leftover};
pub use objects::{
    Put, drop_object, drop_this_object, follow_server, move_object, put_object, update_object,
};
pub(crate) use places::settle as settle_places;
pub use rebuild::{ConvertRow, Numbered};
pub(crate) use temporary::{
    Temporary, create_like as create_temporary_like, create_table as create_temporary_table,
    drop_table as drop_temporary_table, rename as rename_temporary_table,
};

use crate::core::Core;
use crate::dict::row_versions::ColumnOrigin;
use crate::documents::StopwordChoice;
use crate::error::Result;
use crate::fulltext::stopwords::StopwordSettings;
use crate::progress::Progress;
use crate::table::{Column, ForeignKey, ReferentialAction};
use change::Change;
use drop::References;
use foreign::Planned;
pub use import::{ImportFile, Imported};
pub use parts::PartsChange;
use vaquita_format::index_def::{KeyPart, RowFormat};
use vaquita_storage::Storage;
use vaquita_txn::Trx;

/// An index to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexSpec {
    /// Name.
    pub name: String,
    /// Columns and prefixes.
    pub parts: Vec<KeyPart>,
    /// Whether it is unique.
    pub unique: bool,
    /// Comment.
    pub comment: String,
}

/// A FULLTEXT index to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FullTextSpec {
    /// Name.
    pub name: String,
    /// Positions of its columns, which have one collation.
    pub columns: Vec<usize>,
    /// What makes words of its texts, as [`FullTextIndex`](crate::table::FullTextIndex) has it.
    pub parser: Option<String>,
    /// How its words are divided among its tables, as [`FullTextIndex`](crate::table::FullTextIndex) has it.
    pub split: Option<String>,
}

/// A foreign key to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignKeySpec {
    /// Constraint name without database; `None`: `<table>_ibfk_<n>`.
    pub name: Option<String>,
    /// Child columns.
    pub columns: Vec<String>,
    /// Parent table, `database/table`.
    pub parent: String,
    /// Parent columns.
    pub parent_columns: Vec<String>,
    /// When a parent row goes.
    pub on_delete: ReferentialAction,
    /// When a parent row's key changes.
    pub on_update: ReferentialAction,
}

/// A part of a table to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartSpec {
    /// How its file is named: `p0`, `p0#SP#s0`.
    pub name: String,
    /// The directory elsewhere that the file is below, if it is another one than the table's.
    pub directory: Option<String>,
}

/// A table to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableSpec {
    /// `database/table`, in file name encoding.
    pub name: String,
    /// Its parts in order, as files are named for them (`p0`, `p0#SP#s0`), if it is partitioned: each is a table like this one, and `extra`
    /// has the clause. None of them is in the system tablespace if the others are not.
    pub parts: Vec<PartSpec>,
    /// Columns.
    pub columns: Vec<Column>,
    /// The primary key.
    pub primary_key: Option<Vec<KeyPart>>,
    /// Other indexes.
    pub indexes: Vec<IndexSpec>,
    /// FULLTEXT indexes.
    pub fulltext: Vec<FullTextSpec>,
    /// It has FTS_DOC_ID and an index on it, though it may have no FULLTEXT index: hidden, if nobody has declared them. With such an
    /// index it has them anyway.
    pub numbers_documents: bool,
    /// Foreign keys.
    pub foreign_keys: Vec<ForeignKeySpec>,
    /// Row format.
    pub row_format: RowFormat,
    /// First AUTO_INCREMENT value.
    pub auto_increment: Option<u64>,
    /// In a tablespace of its own (`file_per_table`); else in the system tablespace.
    pub file_per_table: bool,
    /// The directory elsewhere that the file is below (DATA DIRECTORY): an absolute path. Tables of the system tablespace have none.
    pub directory: Option<String>,
    /// Default collation.
    pub collation: u16,
    /// Comment.
    pub comment: String,
    /// What else the layer above wants kept.
    pub extra: String,
    /// Take it though its rows may not fit a page, if it is REDUNDANT or COMPACT: those that do not are refused.
    pub lenient_row_size: bool,
}

impl TableSpec {
    /// The same table without its FULLTEXT indexes, ready for them to be built of its rows.
    pub(crate) fn without_words(&self) -> TableSpec {
        let numbers_documents = self.numbers_documents || !self.fulltext.is_empty();
        TableSpec { fulltext: Vec::new(), numbers_documents, ..self.clone() }
    }

    /// A table of these columns, without keys, in DYNAMIC format.
    pub fn new(name: impl Into<String>, columns: Vec<Column>) -> Self {
        Self {
            name: name.into(),
            parts: Vec::new(),
            columns,
            primary_key: None,
            indexes: Vec::new(),
            fulltext: Vec::new(),
            numbers_documents: false,
            foreign_keys: Vec::new(),
            row_format: RowFormat::Dynamic,
            auto_increment: None,
            file_per_table: true,
            directory: None,
            collation: 8,
            comment: String::new(),
            extra: String::new(),
            lenient_row_size: false,
        }
    }
}

/// Creates a table, whose FULLTEXT indexes leave out these words. The metadata locks are the caller's business.
///
/// # Errors
/// It exists, its definition cannot be, files.
///
/// # Crash
/// The table is there with its file, or neither.
pub fn create_table(
    core: &Core,
    trx: &mut Trx,
    spec: &TableSpec,
    foreign_key_checks: bool,
    stopwords: &StopwordSettings,
) -> Result<()> {
    let stopwords = StopwordChoice::of(core, stopwords);
    Change::run(core, trx, |change| create::create_table(change, spec, foreign_key_checks, &stopwords))
}

/// Drops a table.
///
/// # Errors
/// No such table, other tables refer to it.
pub fn drop_table(core: &Core, trx: &mut Trx, name: &str, foreign_key_checks: bool) -> Result<()> {
    let references = if foreign_key_checks { References::Checked } else { References::Ignored };
    Change::run(core, trx, |change| drop::drop_table(change, name, references))
}

/// Renames tables and views, also to other databases, from left to right. `at` is the number of the pair that an error is
/// about.
///
/// # Errors
/// No such table, the new name is taken.
///
/// # Crash
/// All have their new names, or all the old ones.
pub fn rename_tables(core: &Core, trx: &mut Trx, pairs: &[(&str, &str)], at: &mut usize) -> Result<()> {
    Change::run(core, trx, |change| rename::rename(change, pairs, at))
}

/// What becomes of the foreign keys of and to a table that another one takes the place of.
#[derive(Debug, Clone, Copy, Default)]
pub struct KeptKeys<'a> {
    /// Those of it that go, named without database.
    pub without: &'a [String],
    /// Old and new names of its columns.
    pub renamed: &'a [(&'a str, &'a str)],
}

/// `with` becomes the table `name`, in place of the table of that name: ALTER TABLE's end. Foreign keys of the old table
/// and those that refer to it are the new one's, as `keys` says.
///
/// # Errors
/// No such table or foreign key.
///
/// # Crash
/// The name stands for the old table, or for the new one; the other one is gone, or has its own name still.
pub fn replace_table(core: &Core, trx: &mut Trx, name: &str, with: &str, keys: KeptKeys<'_>) -> Result<()> {
    Change::run(core, trx, |change| replace::replace(change, name, with, keys))
}

/// Parts of a partitioned table come, go, or are emptied. Nobody uses the table.
///
/// # Errors
/// No such table; files.
///
/// # Crash
/// All of it is done, or nothing.
pub fn alter_parts(core: &Core, trx: &mut Trx, name: &str, what: &PartsChange<'_>) -> Result<()> {
    Change::run(core, trx, |change| parts::alter(change, name, what))
}

/// A part of a partitioned table and another table exchange their rows. Nobody uses either.
///
/// # Errors
/// No such table; [`Error::BadDefinition`](crate::error::Error::BadDefinition): they have other records; foreign keys; files.
///
/// # Crash
/// They have exchanged them, or not.
pub(crate) fn exchange_part(core: &Core, trx: &mut Trx, what: &Exchange<'_>) -> Result<()> {
    Change::run(core, trx, |change| exchange::exchange(change, what))
}

/// Empties a table: a new tablespace takes the place of the old.
///
/// # Errors
/// No such table, other tables refer to it.
pub fn truncate_table(core: &Core, trx: &mut Trx, name: &str, foreign_key_checks: bool) -> Result<()> {
    Change::run(core, trx, |change| truncate::truncate(change, name, foreign_key_checks))
}

/// Discards the tablespace of a table, or those of all of its parts, or of those of these names; `false`: they are discarded already.
///
/// # Errors
/// No such table, one in the system tablespace, one with FULLTEXT indexes; other tables refer to it.
pub fn discard_tablespace(
    core: &Core,
    trx: &mut Trx,
    name: &str,
    of_parts: Option<&[String]>,
    foreign_key_checks: bool,
) -> Result<bool> {
    Change::run(core, trx, |change| discard::discard(change, name, of_parts, foreign_key_checks))
}

/// Imports the tablespace of a table whose own is discarded, or those of all of its parts, or of those of these names: how, for each.
///
/// # Errors
/// No such table, one that has its tablespace; a file that is not there, not of the table, or not whole.
pub fn import_tablespace(
    core: &Core,
    trx: &mut Trx,
    name: &str,
    of_parts: Option<&[String]>,
) -> Result<Vec<Imported>> {
    Change::run(core, trx, |change| import::import(change, name, of_parts))
}

/// Creates a table whose tablespace is made of a file from elsewhere, which stays as it is, without its FULLTEXT indexes; how many rows it has. With `checks` its rows are held against its
/// foreign keys.
///
/// # Errors
/// As [`create_table`]; a file that is not of the table, or not whole; a row that refers to none.
///
/// # Crash
/// The table is there with all rows, or there is nothing of it.
pub fn create_table_of(
    core: &Core,
    trx: &mut Trx,
    spec: &TableSpec,
    checks: bool,
    file: &ImportFile,
) -> Result<u64> {
    Change::run(core, trx, |change| import::create(change, spec, checks, file))
}

/// Gives a table another definition that its rows and indexes fit as they are. Foreign keys follow renamed columns; `spec` names
/// none. An AUTO_INCREMENT value is the next one: the caller knows that it is above those of the rows.
///
/// # Errors
/// No such table; [`Error::BadDefinition`](crate::error::Error::BadDefinition): the definition asks for other records.
///
/// # Crash
/// The definition is the old or the new one, whole.
pub fn redefine_table(core: &Core, trx: &mut Trx, spec: &TableSpec, origins: &[ColumnOrigin]) -> Result<()> {
    Change::run(core, trx, |change| redefine::redefine(change, spec, origins))
}

/// Takes foreign keys and indexes from a table, gives it foreign keys that its rows were held against, and another definition.
///
/// # Errors
/// No such table, index or foreign key; a foreign key needs an index; those of [`redefine_table`].
///
/// # Crash
/// All of it is done, or nothing.
pub fn alter_table(core: &Core, trx: &mut Trx, table: &str, alteration: &Alteration<'_>) -> Result<()> {
    Change::run(core, trx, |change| {
        alteration.exchange(change, table, None)?;
        alteration.settle(change)
    })
}

/// Adds indexes to a table whose rows are there, and which nobody uses meanwhile.
///
/// # Errors
/// No such table, duplicates, definitions that cannot be.
pub fn add_indexes(
    core: &Core,
    trx: &mut Trx,
    table: &str,
    indexes: &[IndexSpec],
    progress: &Progress,
) -> Result<()> {
    indexes::add(core, trx, table, indexes, progress, |_| Ok(()), |_| Ok(()))
}

/// Adds foreign keys to a table whose rows are there, and the indexes they need.
///
/// # Errors
/// No such table, definitions that cannot be, rows without a parent.
pub fn add_foreign_keys(
    core: &Core,
    trx: &mut Trx,
    table: &str,
    keys: &[ForeignKeySpec],
    foreign_key_checks: bool,
    progress: &Progress,
) -> Result<()> {
    foreign::add(core, trx, table, keys, foreign_key_checks, progress)
}

/// Plans the foreign keys that a table with rows is to get with an alteration, as they will be in the dictionary, and the indexes that
/// they need beside those that `come`. Nobody uses the tables from then on but to change their rows.
///
/// # Errors
/// Definitions that cannot be.
pub(crate) fn plan_keys(
    core: &Core,
    table: &str,
    come: &[IndexSpec],
    alteration: &Alteration<'_>,
    foreign_key_checks: bool,
) -> Result<(Vec<ForeignKey>, Vec<IndexSpec>)> {
    let Planned { keys, indexes } = foreign::plan_for(core, table, alteration.added_keys, come)?;
    let come: Vec<IndexSpec> = come.iter().chain(&indexes).cloned().collect();
    let parts = index_build::planned(core, table, &come, alteration)?;
    let _frozen = core.dict.freeze();
    foreign::check_all(core, &parts, &keys, foreign_key_checks, alteration.dropped_keys)?;
    Ok((keys, indexes))
}

/// Drops a foreign key, named without its database.
///
/// # Errors
/// No such foreign key.
pub fn drop_foreign_key(core: &Core, trx: &mut Trx, table: &str, name: &str) -> Result<()> {
    Change::run(core, trx, |change| foreign::drop_key(change, table, name))
}

/// Drops an index.
///
/// # Errors
/// No such table or index, a foreign key needs it.
pub fn drop_index(core: &Core, trx: &mut Trx, table: &str, index: &str) -> Result<()> {
    Change::run(core, trx, |change| indexes::drop(change, table, index, &[]))
}

/// Makes the directory of a table's database.
fn make_database_dir(storage: &Storage, table: &str) -> Result<()> {
    let Some((database, _)) = table.rsplit_once('/') else { return Ok(()) };
    let dir = storage.options().dir.join(database);
    let io = |e: vaquita_io::Error| crate::error::Error::Storage(e.into());
    if !storage.fs().exists(&dir) {
        storage.fs().create_dir_all(&dir).map_err(io)?;
        storage.fs().sync_dir(&storage.options().dir).map_err(io)?;
    }
    Ok(())
}

/// Finishes or undoes what a crash interrupted. Dictionary transactions have been rolled back; no session has started.
///
/// # Errors
/// Errors of pages and files.
pub fn recover(core: &Core) -> Result<()> {
    recover::recover(core)
}

/// Puts right what a MySQL server keeps of tables, where a change was cut off before.
///
/// # Errors
/// Errors of pages and files.
pub fn put_server_files_right(core: &Core) -> Result<()> {
    log::put_server_files_right(core)
}

/// These tables and all that foreign keys connect with them, directly or by others, in the order of their names: a change
/// of a row of one may reach rows of any.
///
/// # Errors
/// Errors of reading the dictionary.
pub fn related_tables(core: &Core, names: &[&str]) -> Result<Vec<String>> {
    let _latch = core.dict.freeze();
    let mut out: Vec<String> = names.iter().map(|n| (*n).to_owned()).collect();
    let mut next = 0;
    while let Some(name) = out.get(next).cloned() {
        next += 1;
        for by in [foreign::BY_CHILD, foreign::BY_PARENT] {
            for key in core.dict.foreign_keys(&core.storage, by, &name)? {
                for other in [&key.child, &key.parent] {
                    if !out.contains(other) {
                        out.push(other.clone());
                    }
                }
            }
        }
    }
    out.sort();
    out.dedup();
    Ok(out)
}
