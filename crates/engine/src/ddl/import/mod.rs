//! ALTER TABLE .. IMPORT TABLESPACE: a file from elsewhere becomes the tablespace of a table whose own is discarded.
//!
//! | part | file |
//! |---|---|
//! | whether the file is of the table | `schema` |
//! | the file as the user put it there | `file` |
//! | its pages become pages of this folder | `convert`; `copy` |
//! | whether its pages, and its entries and rows, belong together | `shape`, `entries`, `sums` |
//! | a table is made of a file, instead of one that is there getting it | `create` |
//!
//! The user's file is only read. What becomes of it is written to another one beside it, which is complete and durable before it takes
//! the place of the first, in one step, and before the dictionary says so: whatever is wrong with the file is found before anything
//! changes. (MySQL 5.6 converts the file where it lies.)
//!
//! The words of FULLTEXT indexes are in other tables, which do not come: the table has no such indexes then, and who asked for the import
//! adds them again. (In MySQL 5.6 they are there and corrupt.)
//!
//! Of a partitioned table all parts are imported, or those that are named, each from its file.
//!
//! # Crash
//! The table (all of the parts) is discarded, and its file is as the user put it there or as it would be taken in, either of which can be imported; or the
//! table has its tablespace, with all rows. See [`Entry::TakeIn`](super::log::Entry::TakeIn).

mod convert;
mod copy;
mod create;
mod entries;
mod file;
mod schema;
mod shape;
mod sums;

pub use create::ImportFile;
pub(super) use create::create;

use super::change::Change;
use super::log::Entry;
use super::{definition, parts};
use crate::core::Core;
use crate::dict::build::TableParts;
use crate::dict::ids;
use crate::dict::load::TableRow;
use crate::dict::rows::Values;
use crate::error::{Error, Result};
use crate::export;
use crate::row::secondary::{self, Fate};
use crate::row::{clustered, versions};
use crate::table::Table;
use crate::waits::check_interrupt;
use convert::{Found, Numbers, Pass, Taken, key_of};
use copy::{Failure, copy};
use file::Source;
use smallvec::SmallVec;
use std::path::Path;
use std::sync::Arc;
use vaquita_base::{PageNo, SpaceId};
use vaquita_btree::Cursor;
use vaquita_format::cfg::TableMeta;
use vaquita_format::flags::SpaceFlags;
use vaquita_format::index_def::{IndexDef, RowFormat};
use vaquita_format::record::Offsets;
use vaquita_format::roots::{Root, find_roots};
use vaquita_format::tuple::TupleField;
use vaquita_io::{FileSystem, OpenMode, OpenOptions};
use vaquita_storage::Storage;
use vaquita_txn::TrxShared;

/// How a tablespace was imported.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Imported {
    /// There was no description beside the file: where it should be, as below the folder if the file is there.
    pub without_description: Option<String>,
    /// The table has no FULLTEXT indexes any more, whose words are to be found again: it had some.
    pub without_words: bool,
}

/// Imports the tablespace of a table, or those of its parts, of which the ones of these names; how, for each. The dictionary follows the files
/// of all of them.
pub(super) fn import(
    change: &mut Change<'_>,
    name: &str,
    of_parts: Option<&[String]>,
) -> Result<Vec<Imported>> {
    let core = change.core;
    let dict = &core.dict;
    let mut come: Vec<(TableRow, TableParts)> = Vec::new();
    for row in parts::tables_of(change, name, of_parts)? {
        if row.space == SpaceId::SYSTEM {
            return Err(Error::NoOwnTablespace(name.to_owned()));
        }
        let parts = dict.read_parts(&core.storage, &row)?;
        if !parts.discarded {
            return Err(Error::NotDiscarded(name.to_owned()));
        }
        come.push((row, parts));
    }
    let taken = change.unlatched(|change| {
        let foreign = numbers_of_files(core, &come)?;
        let taken = come.iter_mut().map(|(row, parts)| take_in(change, row, parts, &foreign));
        taken.collect::<Result<Vec<_>>>()
    })?;
    let mut all = Vec::with_capacity(taken.len());
    for ((row, mut parts), (mut imported, row_id)) in come.into_iter().zip(taken) {
        imported.without_words = !parts.fulltext.is_empty();
        // Their words are not in the file.
        parts.fulltext.clear();
        parts.discarded = false;
        // Rows without a key must not meet those that come.
        dict.raise_row_id(&core.storage, row_id)?;
        definition::delete(change, &row)?;
        definition::insert(change, &parts)?;
        change.changes(&row.name);
        all.push(imported);
    }
    change.changes(name);
    Ok(all)
}

/// The numbers that the user's files bear, as far as they are files of tablespaces. None is given to what is made of them: after a crash two
/// files of one number keep the folder from being opened.
fn numbers_of_files(core: &Core, come: &[(TableRow, TableParts)]) -> Result<Vec<SpaceId>> {
    let storage = &*core.storage;
    let mut numbers = Vec::with_capacity(come.len());
    for (row, parts) in come {
        let path = storage.place_of(&row.name, parts.directory.as_deref());
        if storage.fs().exists(&path)
            && let Ok(source) = Source::open(storage.fs().as_ref(), &path, parts.page_size)
        {
            numbers.push(source.header.space);
        }
    }
    Ok(numbers)
}

/// Makes the table's file of the user's, without a word in the dictionary. The greatest DB_ROW_ID in it comes back, too.
fn take_in(
    change: &mut Change<'_>,
    row: &TableRow,
    parts: &mut TableParts,
    foreign: &[SpaceId],
) -> Result<(Imported, u64)> {
    let storage = change.storage();
    let path = storage.place_of(&row.name, parts.directory.as_deref());
    let description = read_description(storage.fs().as_ref(), &path, &row.name)?;
    let examined = examine(change.core, parts, &path, description.as_ref())?;
    parts.space = ids::space_id(storage)?;
    while foreign.contains(&parts.space) {
        parts.space = ids::space_id(storage)?;
    }
    let made = format!("{}/#sql-vaquita-{:x}", database_of(&row.name), parts.space.get());
    change.will_make(&[Entry::TakeIn { space: parts.space, name: made.clone() }])?;
    let (_, (_, row_id)) = fill(change, parts, &examined, &made)?;
    take_place(storage, (parts.space, &made), (&row.name, &path), parts.directory.is_some())?;
    let without_description = match &description {
        Some(file) => {
            parts.auto_inc_from = file.autoinc;
            None
        }
        None if parts.directory.is_some() => Some(path.with_extension("cfg").display().to_string()),
        None => Some(format!("./{}.cfg", row.name)),
    };
    Ok((Imported { without_description, without_words: false }, row_id))
}

/// A file that can be one of the table's, as far as its first page and the roots of its trees tell.
struct Examined {
    source: Source,
    flags: SpaceFlags,
    trees: Vec<Taken>,
}

/// Looks whether a file is one of the table's.
fn examine(
    core: &Core,
    parts: &TableParts,
    path: &Path,
    description: Option<&TableMeta>,
) -> Result<Examined> {
    let fs = core.storage.fs().as_ref();
    let bad = |detail: String, missing: bool| Error::BadImport { table: parts.name.clone(), detail, missing };
    let table = parts.clone().detached()?;
    let flags =
        SpaceFlags::new(parts.page_size, parts.row_format.off_page_prefix() == 0, parts.directory.is_some());
    let flags = flags.map_err(|e| Error::Corrupt(e.to_string()))?;
    if let Some(file) = description {
        schema::compare(&export::description(&table, "", flags), file).map_err(Error::SchemaMismatch)?;
    }
    if !fs.exists(path) {
        return Err(bad(format!("{} is not there", path.display()), true));
    }
    let source = Source::open(fs, path, parts.page_size).map_err(|e| bad(e, false))?;
    // Where an export has put it does not matter. Without a description its row format is said.
    if description.is_some() && source.flags.atomic_blobs() != flags.atomic_blobs() {
        return Err(Error::SchemaMismatch(format!(
            "Table flags don't match, server table has {:#x} and the tablespace has {:#x}",
            flags.encode(),
            source.header.flags
        )));
    }
    let trees = find_trees(core, &source, &table, description)?;
    Ok(Examined { source, flags, trees })
}

/// Writes the table's file, of that name, and opens it. All of it is on the disk on return. How many rows there are,
/// and the greatest DB_ROW_ID, come back, too. How it is got rid of is said before.
fn fill(
    change: &mut Change<'_>,
    parts: &mut TableParts,
    examined: &Examined,
    made: &str,
) -> Result<(Arc<Table>, (u64, u64))> {
    let core = change.core;
    let storage = &*core.storage;
    let Examined { source, flags, trees } = examined;
    parts.indexes.iter_mut().zip(trees).for_each(|(index, tree)| index.root = tree.root);
    let numbers = Numbers {
        from: source.header.space,
        space: parts.space,
        flags: *flags,
        trx_id: change.give_id()?,
        lsn: storage.log().current_lsn(),
    };
    storage.log().flush_up_to(numbers.lsn).map_err(vaquita_storage::Error::from)?;
    let to = storage.place_of(made, parts.directory.as_deref());
    if parts.directory.is_some() {
        storage.link_to_new_file(made, &to)?;
    }
    let watched = change.watched();
    let table = parts.clone().detached()?;
    let found = convert(core, source, &to, (numbers, trees), &table, &watched);
    let found = found.map_err(|e| refused(e, &parts.name))?;
    storage.open_table_space(parts.space, &to)?;
    let mut filled = parts.clone();
    filled.fulltext.clear();
    let filled = filled.open(storage, None)?;
    let seen = (found.rows, found.row_id);
    remove_left(core, &filled, found, &watched)?;
    storage.flush_space(parts.space)?;
    Ok((Arc::new(filled), seen))
}

/// The file that was made takes the place of the user's. Elsewhere there is a link to it at any time.
fn take_place(
    storage: &Storage,
    (space, made): (SpaceId, &str),
    (name, path): (&str, &Path),
    elsewhere: bool,
) -> Result<()> {
    if !elsewhere {
        return Ok(storage.replace_by_table_space(space, path)?);
    }
    storage.link_table_space(name, path)?;
    let placed = storage.replace_by_table_space(space, path);
    // What became of the file is what counts.
    let link = if placed.is_ok() { made } else { name };
    placed.and(storage.unlink_table_space(link)).map_err(Error::from)
}

fn database_of(name: &str) -> &str {
    name.rsplit_once('/').map_or("", |(database, _)| database)
}

/// The description beside a file, if there is one.
fn read_description(fs: &dyn FileSystem, file: &Path, name: &str) -> Result<Option<TableMeta>> {
    let path = file.with_extension("cfg");
    if !fs.exists(&path) {
        return Ok(None);
    }
    let io = |e: vaquita_io::Error| Error::Storage(e.into());
    let file = fs.open(&path, OpenOptions::new(OpenMode::Read)).map_err(io)?;
    // More than 1,017 columns and 64 indexes of them take.
    let mut bytes = vec![0; file.len().map_err(io)?.min(16 << 20) as usize];
    file.read_at(&mut bytes, 0).map_err(io)?;
    let meta = TableMeta::parse(&bytes).map_err(|e| Error::BadImport {
        table: name.to_owned(),
        detail: format!("{}: {e}", path.display()),
        missing: false,
    })?;
    Ok(Some(meta))
}

/// The trees of the file, in the order of the table's indexes.
fn find_trees(
    core: &Core,
    source: &Source,
    table: &Table,
    description: Option<&TableMeta>,
) -> Result<Vec<Taken>> {
    let bad = |detail: String| Error::BadImport { table: table.name.clone(), detail, missing: false };
    let accepted = core.storage.settings().checksum_algorithm;
    let defs: Vec<Arc<IndexDef>> = table.indexes.iter().map(|index| index.def().clone()).collect();
    let roots: Vec<Root> = match description {
        Some(file) => {
            let root_of = |def: &Arc<IndexDef>| {
                let described = file.indexes.iter().find(|index| index.name == def.name());
                let no = described.map_or(PageNo::NULL, |index| index.root);
                let page = source.page(no, accepted);
                let root = page.and_then(|page| Root::of_page(&page, no));
                root.ok_or_else(|| bad(format!("page {no} is not the root of index {}", def.name())))
            };
            defs.iter().map(root_of).collect::<Result<_>>()?
        }
        None => {
            let page = |no| source.page(no, accepted);
            let roots = find_roots(table.clustered().def().page_size(), source.n_pages, &page);
            check_row_format(source, &roots, table)?;
            roots
        }
    };
    if roots.len() != defs.len() {
        return Err(Error::SchemaMismatch(format!(
            "Number of indexes don't match, table has {} indexes but the tablespace has {} indexes",
            defs.len(),
            roots.len()
        )));
    }
    let taken = |(def, root): (Arc<IndexDef>, &Root)| Taken { def, from: root.index, root: root.page };
    Ok(defs.into_iter().zip(&roots).map(taken).collect())
}

/// Holds the row format that a file's flags and the pages of its trees tell against the table's.
fn check_row_format(source: &Source, roots: &[Root], table: &Table) -> Result<()> {
    let found = file::row_format(source.flags, roots.first().is_none_or(|root| root.comp));
    let name = |format| match format {
        RowFormat::Redundant => "ROW_TYPE_REDUNDANT",
        RowFormat::Compact => "ROW_TYPE_COMPACT",
        RowFormat::Dynamic => "ROW_TYPE_DYNAMIC",
        RowFormat::Compressed => "ROW_TYPE_COMPRESSED",
    };
    if found == table.row_format || roots.is_empty() && found != RowFormat::Dynamic {
        return Ok(());
    }
    Err(Error::SchemaMismatch(format!(
        "Table has {} row format, .ibd file has {} row format.",
        name(table.row_format),
        name(found)
    )))
}

fn refused(e: Failure, table: &str) -> Error {
    match e {
        Failure::Page(no, detail) => Error::BadImport {
            table: table.to_owned(),
            detail: format!("page {no}: {detail}"),
            missing: false,
        },
        Failure::Whole(detail) => Error::BadImport { table: table.to_owned(), detail, missing: false },
        Failure::Other(e) => e,
    }
}

/// Writes the converted file.
fn convert(
    core: &Core,
    source: &Source,
    to: &Path,
    (numbers, trees): (Numbers, &[Taken]),
    table: &Table,
    watched: &TrxShared,
) -> std::result::Result<Found, Failure> {
    let io = |e: vaquita_io::Error| Failure::Other(Error::Storage(e.into()));
    let fs = core.storage.fs();
    let size = core.storage.options().page_size;
    let file = fs.open(to, core.storage.spaces().open_options(OpenMode::CreateNew)).map_err(io)?;
    let algorithm = core.storage.settings().checksum_algorithm;
    let pass = Pass::new(size, algorithm, numbers, trees, table);
    let found = copy(source, &*file, pass, (size, algorithm), watched)?;
    file.sync().map_err(io)?;
    fs.sync_dir(to.parent().unwrap_or(to)).map_err(io)?;
    Ok(found)
}

/// Removes the delete-marked records that are still in the trees. Of more than there is memory for, the rest is looked for.
fn remove_left(core: &Core, table: &Table, mut found: Found, watched: &TrxShared) -> Result<()> {
    loop {
        for (tree, key) in &found.left {
            check_interrupt(watched)?;
            remove_one(core, table, *tree, key)?;
        }
        if !found.more_left {
            return Ok(());
        }
        let before = found.left.swap_remove(0);
        found = marked(core, table, watched)?;
        if found.left.first() == Some(&before) {
            return Err(Error::Corrupt(format!("table {}: a delete-marked record stays", table.name)));
        }
    }
}

fn remove_one(core: &Core, table: &Table, tree: usize, key: &Values) -> Result<()> {
    core.storage.wait_for_room_of(1)?;
    let fields: SmallVec<[TupleField<'_>; 16]> =
        key.iter().map(|field| TupleField::nullable(field.as_deref())).collect();
    let index = &table.indexes[tree];
    if !index.is_clustered() {
        let gone = |is_deleted| Ok(if is_deleted { Fate::Remove } else { Fate::Keep });
        secondary::settle(core, (table, index), &fields, gone)?;
    } else if let Some(row) = versions::find_row(core, table, &fields)?
        && row.is_deleted()
    {
        clustered::remove(core, table, &row, |_, _| true)?;
    }
    Ok(())
}

/// Delete-marked records of the trees, as many as can be remembered.
fn marked(core: &Core, table: &Table, watched: &TrxShared) -> Result<Found> {
    let (mut found, mut offsets) = (Found::default(), Offsets::new());
    for (tree, index) in table.indexes.iter().enumerate() {
        let mut cursor = Cursor::new(&index.tree, &core.storage);
        let mut there = cursor.first()?;
        while there {
            let record = cursor.record().expect("the cursor is on a record");
            if record.is_deleted() {
                record.parse(index.def(), &mut offsets)?;
                if !found.remember(tree, key_of(index.def(), |i| record.field(&offsets, i))) {
                    return Ok(found);
                }
            }
            check_interrupt(watched)?;
            there = cursor.next()?;
        }
    }
    Ok(found)
}
