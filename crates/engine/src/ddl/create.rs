//! CREATE TABLE.

use crate::core::Core;
use crate::ddl::change::Change;
use crate::ddl::log::{self, Entry};
use crate::ddl::{FullTextSpec, TableSpec, check, definition, foreign, fulltext, make_database_dir};
use crate::dict::build::{IndexParts, TableParts};
use crate::dict::codec::{ColumnExtra, TableExtra};
use crate::dict::fulltext::{self as tables, DOC_ID, DOC_ID_INDEX};
use crate::dict::ids;
use crate::dict::rows::{self, Flags, Values};
use crate::documents::StopwordChoice;
use crate::error::{Error, Result};
use crate::kept;
use crate::table::{ForeignKey, FullTextIndex};
use vaquita_base::{IndexId, PageNo, SpaceId, TableId, TrxId};
use vaquita_btree::Tree;
use vaquita_format::column::ColumnDef;
use vaquita_format::index_def::{KeyPart, cluster_key};
use vaquita_storage::Storage;

/// Bytes of a definition's extra part kept in one row: rows of the dictionary stay on their pages, of 4 KiB too.
const PIECE: usize = 1_500;

/// The definition a table gets, without numbers and trees.
pub(super) fn parts_of(storage: &Storage, spec: &TableSpec) -> TableParts {
    let defs: Vec<ColumnDef> = spec.columns.iter().map(|c| c.def.clone()).collect();
    let unique = spec.indexes.iter().filter(|i| i.unique).map(|i| &i.parts[..]);
    let cluster = cluster_key(&defs, spec.primary_key.as_deref(), unique);
    let index = |name: &str, parts: &[KeyPart], unique: bool, comment: &str| IndexParts {
        id: IndexId(0),
        name: name.to_owned(),
        parts: parts.to_vec(),
        unique,
        root: PageNo::NULL,
        trx_id: TrxId(0),
        comment: comment.to_owned(),
        hidden: false,
    };
    let promoted = match (&spec.primary_key, cluster) {
        (None, Some(parts)) => spec.indexes.iter().position(|i| std::ptr::eq(&i.parts[..], parts)),
        _ => None,
    };
    let mut indexes = vec![match (&spec.primary_key, promoted) {
        (Some(parts), _) => index("PRIMARY", parts, true, ""),
        (None, Some(n)) => {
            let i = &spec.indexes[n];
            index(&i.name, &i.parts, true, &i.comment)
        }
        (None, None) => index("GEN_CLUST_INDEX", &[], false, ""),
    }];
    let rest = spec.indexes.iter().enumerate().filter(|&(n, _)| Some(n) != promoted);
    indexes.extend(rest.map(|(_, i)| index(&i.name, &i.parts, i.unique, &i.comment)));
    let words = |i: &FullTextSpec| FullTextIndex {
        id: IndexId(0),
        name: i.name.clone(),
        columns: i.columns.clone(),
        parser: i.parser.clone(),
        split: i.split.clone(),
    };
    let mut parts = TableParts {
        id: TableId(0),
        name: spec.name.clone(),
        space: SpaceId::SYSTEM,
        directory: spec.directory.as_deref().filter(|_| spec.file_per_table).map(with_slash),
        row_format: spec.row_format,
        page_size: storage.options().page_size,
        columns: spec.columns.clone(),
        indexes,
        fulltext: spec.fulltext.iter().map(words).collect(),
        comment: spec.comment.clone(),
        collation: spec.collation,
        extra: spec.extra.clone(),
        auto_inc_from: spec.auto_increment.unwrap_or(0),
        versions: None,
        discarded: false,
        is_system: false,
    };
    if spec.numbers_documents || !spec.fulltext.is_empty() {
        number_documents(&mut parts);
    }
    parts
}

fn with_slash(directory: &str) -> String {
    if directory.ends_with('/') { directory.to_owned() } else { format!("{directory}/") }
}

/// Adds the column that numbers documents and the index on it, as far as they are not declared: the column is the last one, the index
/// the first after the clustered one.
pub(super) fn number_documents(parts: &mut TableParts) {
    let declared = parts.columns.iter().position(|column| column.def.name == DOC_ID);
    let column = declared.unwrap_or(parts.columns.len());
    if declared.is_none() {
        parts.columns.push(tables::new_doc_id_column());
    }
    if parts.indexes.iter().all(|index| index.name != DOC_ID_INDEX) {
        let index = IndexParts {
            id: IndexId(0),
            name: DOC_ID_INDEX.to_owned(),
            parts: vec![KeyPart::whole(column)],
            unique: true,
            root: PageNo::NULL,
            trx_id: TrxId(0),
            comment: String::new(),
            hidden: true,
        };
        parts.indexes.insert(1, index);
    }
}

/// What is kept of a table beside InnoDB's own dictionary, as the rows of SYS_VAQUITA_TABLES.
pub(super) fn extra_rows(parts: &TableParts) -> Vec<Values> {
    let column = |c: &crate::table::Column| ColumnExtra {
        decimal: c.decimal,
        labels: c.labels.clone(),
        default: c.default.clone(),
        on_update_now: c.on_update_now,
        auto_increment: c.auto_increment,
        comment: c.comment.clone(),
        extra: c.extra.clone(),
        hidden: c.hidden,
    };
    let commented = parts.indexes.iter().filter(|i| !i.comment.is_empty());
    let bytes = TableExtra {
        collation: parts.collation,
        auto_inc_from: parts.auto_inc_from,
        comment: parts.comment.clone(),
        extra: kept::with_indexes(
            &parts.extra,
            parts.indexes.iter().map(|i| (i.name.as_str(), &i.parts[..], i.hidden)),
            &parts.fulltext,
        ),
        columns: parts.columns.iter().map(column).collect(),
        index_comments: commented.map(|i| (i.id, i.comment.clone())).collect(),
        versions: parts.versions.clone(),
    }
    .encode();
    let row = |(n, piece): (usize, &[u8])| {
        vec![rows::u64_value(parts.id.get()), rows::u32_value(n as u32), Some(piece.to_vec())]
    };
    bytes.chunks(PIECE).enumerate().map(row).collect()
}

/// A table to be made.
pub(super) struct New {
    pub(super) spec: TableSpec,
    /// Foreign keys in which it is the child.
    pub(super) keys: Vec<ForeignKey>,
    /// The definition, with numbers but for that of a tablespace.
    pub(super) parts: TableParts,
}

/// What a table will be, if it can be made.
pub(super) fn plan(change: &Change<'_>, spec: &TableSpec, checks: bool) -> Result<New> {
    let storage = change.storage();
    let mut spec = spec.clone();
    let keys = foreign::plan(&mut spec)?;
    check::table(storage, &spec)?;
    super::rename::check_is_free(change, &spec.name)?;
    let mut parts = parts_of(storage, &spec);
    foreign::check_all(change.core, &parts, &keys, checks, &[])?;
    parts.id = ids::table_id(storage)?;
    for index in &mut parts.indexes {
        index.id = ids::index_id(storage)?;
    }
    for index in &mut parts.fulltext {
        index.id = ids::index_id(storage)?;
    }
    Ok(New { spec, keys, parts })
}

/// Makes room for a table's file: nothing is in its way, and the database has its folder.
pub(super) fn make_place(change: &Change<'_>, parts: &TableParts) -> Result<()> {
    let storage = change.storage();
    let place = storage.place_of(&parts.name, parts.directory.as_deref());
    check::file_is_free(storage, &parts.name, &place)
        .inspect_err(|e| change.core.notes.say(e.to_string()))?;
    make_database_dir(storage, &parts.name)
}

/// Writes the foreign keys of a new table into the dictionary.
pub(super) fn insert_keys(change: &mut Change<'_>, name: &str, keys: &[ForeignKey]) -> Result<()> {
    for key in keys {
        foreign::insert(change, key)?;
        change.changes(&key.parent);
    }
    // Tables made before, with checks off, may refer to this one.
    let dict = &change.core.dict;
    for key in dict.foreign_keys(change.storage(), foreign::BY_PARENT, name)? {
        change.changes(&key.child);
    }
    Ok(())
}

/// Creates a table.
pub(super) fn create_table(
    change: &mut Change<'_>,
    spec: &TableSpec,
    checks: bool,
    stopwords: &StopwordChoice,
) -> Result<()> {
    if !spec.parts.is_empty() {
        return super::parts::create(change, spec);
    }
    let storage = change.storage();
    let dict = &change.core.dict;
    let New { spec, keys, mut parts } = plan(change, spec, checks)?;
    if spec.file_per_table {
        parts.space = ids::space_id(storage)?;
    }
    let words = change.unlatched(|change| {
        let _folder = dict.keep_folders();
        if spec.file_per_table {
            make_place(change, &parts)?;
        }
        make_data(change.core, &mut change.undo, &mut parts)
            .inspect_err(|e| change.core.notes.say(format!("table {} cannot be made: {e}", spec.name)))?;
        fulltext::make_all(change, &parts, stopwords)
    })?;
    definition::insert(change, &parts)?;
    fulltext::insert(change, &words)?;
    insert_keys(change, &spec.name, &keys)
}

/// Makes a table's file, if it has a number for one, and its empty trees. Entries of the DDL log that get rid of them come to `undo`.
pub(super) fn make_data(core: &Core, undo: &mut Vec<u64>, parts: &mut TableParts) -> Result<()> {
    let file = parts.name.clone();
    make_data_in(core, undo, parts, &file)
}

/// The same with a file of another name.
pub(super) fn make_data_in(
    core: &Core,
    undo: &mut Vec<u64>,
    parts: &mut TableParts,
    file: &str,
) -> Result<()> {
    let storage = &core.storage;
    let own = parts.space != SpaceId::SYSTEM;
    if own {
        let flags = Flags::of(parts).table.space_flags(parts.page_size.logical());
        let flags = flags.map_err(|c| Error::BadDefinition(c.to_string()))?;
        undo.extend(log::add_durably(
            core,
            &[Entry::DropSpace { space: parts.space, name: file.to_owned() }],
        )?);
        storage.create_table_space_in(parts.space, flags, file, parts.directory.as_deref())?;
    }
    for (n, def) in parts.index_defs()?.into_iter().enumerate() {
        let tree = if own {
            // It goes with its file.
            let mut mtr = storage.begin()?;
            mtr.keep_before_images();
            let tree = Tree::create(&mut mtr, parts.space, def)?;
            mtr.commit();
            tree
        } else {
            let name = parts.name.clone();
            let entry = Entry::FreeTree { space: parts.space, index: def.id(), root: PageNo::NULL, name };
            let id = log::add_durably(core, &[entry])?[0];
            undo.push(id);
            log::create_tree(core, id, parts.space, def)?
        };
        parts.indexes[n].root = tree.root();
    }
    Ok(())
}
