//! Files that a MySQL server keeps beside the tables of InnoDB: `.frm`, and `.par` of those that are partitioned.
//!
//! They are read here. In a folder that such a server made they are kept up, too: by `ddl::server_files`.

use crate::dict::build::{IndexParts, TableParts};
use crate::dict::codec::{ColumnExtra, TableExtra};
use crate::dict::objects::{Object, Objects};
use crate::error::Result as EngineResult;
use crate::kept::{Extra, index_option, option};
use crate::partition::whole_name;
use crate::table::{Column, DefaultValue, Table};
use std::path::{Path, PathBuf};
use vaquita_format::Corruption;
use vaquita_format::column::{ColumnDef, MType, mysql_type};
use vaquita_format::filename::{self, is_intermediate, is_of_words};
use vaquita_format::frm::{
    ColumnDefault, DeclaredFormat, Frm, FrmColumn, FrmKey, column_type, key_flags, table_options,
};
use vaquita_format::frm_view;
use vaquita_format::index_def::RowFormat;
use vaquita_format::trg::{self, ServerTrigger};
use vaquita_io::{ErrorKind, OpenMode, OpenOptions};
use vaquita_storage::Storage;

/// The version of MySQL that the files of a folder say which are kept up here: one that there never was. By it is seen whether a server has
/// written a file since, as it does when it changes a definition; then the file tells what the table is.
pub const KEPT_VERSION: u32 = 50_699;
/// Longest `.frm`.
pub(crate) const FRM_MAX: u64 = 16 << 20;
/// How much of a `.frm` tells whether it is a view's.
const VIEW_HEAD: usize = 16;

/// What a MySQL server keeps of a table beside its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerFile {
    /// Its `.frm`.
    pub frm: Vec<u8>,
    /// Its `.par`, if it is partitioned.
    pub par: Option<Vec<u8>>,
}

/// Who knows what a MySQL server keeps of a table.
pub trait ServerFileMaker: std::fmt::Debug + Send + Sync {
    /// It.
    ///
    /// # Errors
    /// What the server cannot be told of the table, by name.
    fn make(&self, table: &Table) -> Result<ServerFile, String>;

    /// The `.frm` of a view; `None` if there is none to be written.
    fn make_of_view(&self, view: &Object) -> Option<Vec<u8>>;

    /// What the `.TRG` of its table says of a trigger; `None` if it was made where no server was to be told of it.
    fn make_of_trigger(&self, trigger: &Object) -> Option<ServerTrigger>;
}

/// What stands under the name of a table's `.frm`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Nothing.
    Nothing,
    /// A table of InnoDB's.
    Table,
    /// A view.
    View,
    /// A table of another engine's, or what cannot be read.
    Other,
}

/// What stands there.
pub(crate) fn standing(storage: &Storage, name: &str) -> EngineResult<Standing> {
    let Some(bytes) = read(storage, &frm_path(storage, name), FRM_MAX)? else { return Ok(Standing::Nothing) };
    Ok(match Frm::parse(&bytes) {
        _ if frm_view::is_view(&bytes) => Standing::View,
        Ok(frm) if is_of_innodb(&frm) => Standing::Table,
        _ => Standing::Other,
    })
}

pub(crate) fn frm_path(storage: &Storage, name: &str) -> PathBuf {
    storage.options().dir.join(format!("{name}.frm"))
}

/// The table whose files are meant where a definition of that name changes; `None` if it has none: those under temporary names, and
/// tables that the engine keeps for itself.
pub(crate) fn described_name(name: &str) -> Option<&str> {
    let whole = whole_name(name).unwrap_or(name);
    let (_, short) = whole.split_once('/')?;
    (!is_intermediate(whole) && !is_of_words(short)).then_some(whole)
}

/// Whether a MySQL server made the folder: its own tables have `.frm` files.
pub(crate) fn is_of_a_server(storage: &Storage) -> bool {
    storage.fs().exists(&storage.options().dir.join("mysql").join("user.frm"))
}

/// What the table's `.frm` tells, if there is one that can be read.
pub(crate) fn read_extra(storage: &Storage, table: &TableParts) -> EngineResult<Option<TableExtra>> {
    Ok(read_frm(storage, &table.name)?.map(|frm| extra_of(&frm, table)))
}

/// The same of a table that our own dictionary describes, if a MySQL server has written the `.frm` since.
pub(crate) fn read_newer_extra(storage: &Storage, table: &TableParts) -> EngineResult<Option<TableExtra>> {
    if !is_of_a_server(storage) {
        return Ok(None);
    }
    let frm = read_frm(storage, &table.name)?;
    let frm = frm.filter(|frm| is_of_innodb(frm) && frm.mysql_version != KEPT_VERSION);
    Ok(frm.map(|frm| extra_of(&frm, table)))
}

fn is_of_innodb(frm: &Frm) -> bool {
    matches!(frm.engine.as_str(), "InnoDB" | "partition")
}

/// The table's `.frm`, if there is one that can be read.
pub(crate) fn read_frm(storage: &Storage, table: &str) -> EngineResult<Option<Frm>> {
    // The partitions of a table share its `.frm`.
    let path = frm_path(storage, whole_name(table).unwrap_or(table));
    let Some(bytes) = read(storage, &path, FRM_MAX)? else { return Ok(None) };
    Ok(Frm::parse(&bytes).ok())
}

/// The place of the list of a table's triggers.
pub(crate) fn triggers_path(storage: &Storage, table: &str) -> PathBuf {
    frm_path(storage, table).with_extension("TRG")
}

/// The place of what says of which table a trigger is; `None` for a name that no file can have.
pub(crate) fn trigger_path(storage: &Storage, database: &str, trigger: &str) -> Option<PathBuf> {
    let name = filename::encode(trigger).ok()?;
    Some(storage.options().dir.join(database).join(format!("{name}.TRN")))
}

/// What a MySQL server is told of a table's triggers, in the order of their making.
pub(crate) fn told_triggers(
    objects: &Objects,
    maker: &dyn ServerFileMaker,
    table: &str,
) -> Vec<ServerTrigger> {
    objects.triggers_of(table).iter().filter_map(|trigger| maker.make_of_trigger(trigger)).collect()
}

/// What the server's list of a table's triggers says, or why it says nothing; `None` if there is no list.
pub(crate) fn triggers_of(
    storage: &Storage,
    table: &str,
) -> EngineResult<Option<Result<Vec<ServerTrigger>, Corruption>>> {
    Ok(read(storage, &triggers_path(storage, table), FRM_MAX)?.map(|bytes| trg::decode(&bytes)))
}

/// A view that has a file: in file name encoding its database and name, and the file.
pub type ServerView = (String, String, Vec<u8>);

/// What a server keeps in a folder besides tables.
#[derive(Debug, Default)]
pub struct ServerObjects {
    /// The files of views.
    pub views: Vec<ServerView>,
    /// The tables that have lists of triggers, by the engine's names.
    pub triggers: Vec<String>,
}

/// What there is in the databases of a folder of a server.
pub(crate) fn objects(storage: &Storage) -> EngineResult<ServerObjects> {
    let mut found = ServerObjects::default();
    let (fs, dir) = (storage.fs(), &storage.options().dir);
    if !is_of_a_server(storage) {
        return Ok(found);
    }
    let io = |e: vaquita_io::Error| crate::error::Error::Storage(e.into());
    for database in fs.list_dir(dir).map_err(io)? {
        if !fs.is_dir(&database) {
            continue;
        }
        for path in fs.list_dir(&database).map_err(io)? {
            let names = (database.file_name(), path.file_stem());
            let (Some(database), Some(name)) = names else { continue };
            let (database, name) = (database.to_string_lossy(), name.to_string_lossy());
            let extension = path.extension().unwrap_or_default();
            if extension == "TRG" {
                found.triggers.push(format!("{database}/{name}"));
            } else if extension == "frm"
                && is_of_view(storage, &path)?
                && let Some(bytes) = read(storage, &path, FRM_MAX)?
            {
                found.views.push((database.into_owned(), name.into_owned(), bytes));
            }
        }
    }
    Ok(found)
}

/// Whether a `.frm` is a view's, which its first bytes tell: a folder may have thousands.
fn is_of_view(storage: &Storage, path: &Path) -> EngineResult<bool> {
    let io = |e: vaquita_io::Error| crate::error::Error::Storage(e.into());
    let mut head = [0; VIEW_HEAD];
    let opened = storage.fs().open(path, OpenOptions::new(OpenMode::Read));
    match opened.and_then(|file| file.read_at(&mut head, 0)) {
        Ok(()) => Ok(frm_view::is_view(&head)),
        Err(e) if matches!(e.kind, ErrorKind::NotFound | ErrorKind::ShortRead) => Ok(false),
        Err(e) => Err(io(e)),
    }
}

fn extra_of(frm: &Frm, table: &TableParts) -> TableExtra {
    let column = |c: &Column| {
        let described = frm.columns.iter().find(|f| f.name == c.def.name);
        // The document id of a FULLTEXT index is not the server layer's.
        described.map_or_else(ColumnExtra::default, |f| column_extra(f, &c.def, table.row_format))
    };
    let comment = |i: &IndexParts| {
        let key = frm.keys.iter().find(|k| k.name == i.name)?;
        (!key.comment.is_empty()).then(|| (i.id, key.comment.clone()))
    };
    TableExtra {
        collation: frm.collation,
        auto_inc_from: 0,
        comment: frm.comment.clone(),
        extra: options_of_frm(frm).to_text(),
        columns: table.columns.iter().map(column).collect(),
        index_comments: table.indexes.iter().filter_map(comment).collect(),
        versions: None,
    }
}

/// The columns that a `.frm` describes, in the row format that it declares.
///
/// # Errors
/// A type or a collation that is not known.
pub fn columns_of_frm(frm: &Frm) -> Result<Vec<Column>, Corruption> {
    let format = frm.default_row_format();
    let column = |described: &FrmColumn| {
        let mut column = Column::new(described.to_def()?);
        let extra = column_extra(described, &column.def, format);
        extra.apply(&mut column);
        Ok(column)
    };
    frm.columns.iter().map(column).collect()
}

/// What a `.frm` says of a table and its keys that the dictionary does not, as it is kept of tables made here.
pub fn options_of_frm(frm: &Frm) -> Extra {
    let mut out = Extra::default();
    let number = |n: u64| (n != 0).then(|| n.to_string());
    let either = |on: u16, off: u16| match (frm.options & on != 0, frm.options & off != 0) {
        (true, _) => Some("1".to_owned()),
        (_, true) => Some("0".to_owned()),
        _ => None,
    };
    out.set(option::MIN_ROWS, number(frm.min_rows.into()));
    out.set(option::MAX_ROWS, number(frm.max_rows.into()));
    out.set(option::AVG_ROW_LENGTH, number(frm.avg_row_length.into()));
    out.set(option::PACK_KEYS, either(table_options::PACK_KEYS, table_options::NO_PACK_KEYS));
    out.set(
        option::STATS_PERSISTENT,
        either(table_options::STATS_PERSISTENT, table_options::NO_STATS_PERSISTENT),
    );
    let recalc = match frm.stats_auto_recalc {
        1 => Some("1".to_owned()),
        2 => Some("0".to_owned()),
        _ => None,
    };
    out.set(option::STATS_AUTO_RECALC, recalc);
    out.set(option::STATS_SAMPLE_PAGES, number(frm.stats_sample_pages.into()));
    out.set(option::CHECKSUM, either(table_options::CHECKSUM, 0));
    out.set(option::DELAY_KEY_WRITE, either(table_options::DELAY_KEY_WRITE, 0));
    out.set(option::ROW_FORMAT, row_format(frm.row_format).map(str::to_owned));
    out.set(option::KEY_BLOCK_SIZE, number(frm.key_block_size.into()));
    let clause = &frm.partition_clause;
    out.set(option::PARTITIONING, (!clause.is_empty()).then(|| clause.clone()));
    frm.keys.iter().for_each(|key| key_options(frm, key, &mut out));
    out
}

fn row_format(declared: DeclaredFormat) -> Option<&'static str> {
    match declared {
        DeclaredFormat::Default => None,
        DeclaredFormat::Fixed => Some("FIXED"),
        DeclaredFormat::Dynamic => Some("DYNAMIC"),
        DeclaredFormat::Compressed => Some("COMPRESSED"),
        DeclaredFormat::Redundant => Some("REDUNDANT"),
        DeclaredFormat::Compact => Some("COMPACT"),
    }
}

fn key_options(frm: &Frm, key: &FrmKey, out: &mut Extra) {
    let mut set = |option, value: Option<String>| out.set(&index_option(&key.name, option), value);
    set(
        "using",
        match key.algorithm {
            1 => Some("BTREE".to_owned()),
            3 => Some("HASH".to_owned()),
            _ => None,
        },
    );
    // A key of which nothing is said has that of the table.
    let own = key.block_size != 0 && key.block_size != frm.key_block_size;
    set("key_block_size", own.then(|| key.block_size.to_string()));
    set("generated", (key.flags & key_flags::GENERATED != 0).then(|| "1".to_owned()));
    // Those of the others are kept with the index.
    set("comment", (key.is_fulltext() && !key.comment.is_empty()).then(|| key.comment.clone()));
}

fn column_extra(frm: &FrmColumn, def: &ColumnDef, format: RowFormat) -> ColumnExtra {
    let decimal = def.mysql_type() == mysql_type::NEWDECIMAL;
    let mut extra = Extra::new(column_type(frm));
    extra.set("collate", (!frm.labels.is_empty()).then(|| frm.collation.to_string()));
    ColumnExtra {
        decimal: decimal.then(|| (frm.precision(), u32::from(frm.decimals.unwrap_or(0)))),
        labels: frm.labels.clone(),
        default: match &frm.default {
            ColumnDefault::None => DefaultValue::None,
            ColumnDefault::Null => DefaultValue::Null,
            ColumnDefault::Now => DefaultValue::Now,
            ColumnDefault::Row(_) => {
                frm.stored_default().map_or(DefaultValue::None, |v| stored_default(v, def, format))
            }
        },
        on_update_now: frm.on_update_now,
        auto_increment: frm.auto_increment,
        comment: frm.comment.clone(),
        extra: extra.to_text(),
        hidden: false,
    }
}

/// A default in the form the row format has. CHAR of a variable multi-byte character set keeps as many spaces as make
/// its bytes as many as its characters; all of them, if they are of several bytes.
fn stored_default(mut value: Vec<u8>, def: &ColumnDef, format: RowFormat) -> DefaultValue {
    if def.mtype == MType::MySql && def.fixed_len(format) == 0 && def.mbmaxlen > 0 && def.mbminlen <= 1 {
        let chars = (def.len / u32::from(def.mbmaxlen)) as usize;
        while value.len() > chars && value.ends_with(b" ") {
            value.pop();
        }
    }
    DefaultValue::Stored(value)
}

/// A file, as far as so many bytes, if there is one.
pub(crate) fn read(storage: &Storage, path: &Path, max: u64) -> EngineResult<Option<Vec<u8>>> {
    let fs = storage.fs();
    if !fs.exists(path) {
        return Ok(None);
    }
    let io = |e: vaquita_io::Error| crate::error::Error::Storage(e.into());
    let file = fs.open(path, OpenOptions::new(OpenMode::Read)).map_err(io)?;
    let mut bytes = vec![0; file.len().map_err(io)?.min(max) as usize];
    file.read_at(&mut bytes, 0).map_err(io)?;
    Ok(Some(bytes))
}
