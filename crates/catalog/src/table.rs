//! Tables in use: their definitions with what queries need of them, and where they are kept once they are made.

use crate::definition::{ColumnDefinition, Definition, KeyDefinition, KeyPart};
use crate::error;
use crate::names::{engine_name, same_name};
use parking_lot::RwLock;
use std::collections::HashMap;
use std::sync::Arc;
use vaquita_engine::core::Core;
use vaquita_engine::lower::RowFormat;
use vaquita_engine::table::DefaultValue;
use vaquita_engine::{Column, MdlMode, Statement, Table};
use vaquita_types::{ColumnType, Kind, SqlError, SqlResult, SqlType};

/// Flags of a column in the protocol.
pub mod flag {
    #![allow(missing_docs, reason = "named as in the protocol's documentation")]
    pub const NOT_NULL: u16 = 1;
    pub const PRI_KEY: u16 = 2;
    pub const UNIQUE_KEY: u16 = 4;
    pub const MULTIPLE_KEY: u16 = 8;
    pub const BLOB: u16 = 16;
    pub const UNSIGNED: u16 = 32;
    pub const ZEROFILL: u16 = 64;
    pub const BINARY: u16 = 128;
    pub const ENUM: u16 = 256;
    pub const AUTO_INCREMENT: u16 = 512;
    pub const TIMESTAMP: u16 = 1024;
    pub const SET: u16 = 2048;
    pub const NO_DEFAULT_VALUE: u16 = 4096;
    pub const ON_UPDATE_NOW: u16 = 8192;
    pub const PART_KEY: u16 = 16384;
}

/// A column with what queries need of it, which is derived from its definition once.
#[derive(Debug)]
pub struct ColumnInfo {
    /// What it is.
    pub definition: Arc<ColumnDefinition>,
    /// Its type with the codec of its stored form.
    pub ty: ColumnType,
    /// Its default; a constant is in the stored form of this table.
    pub default: DefaultValue,
    /// What it gets in lax mode if it has no default and NULL is not allowed: stored form of 0, '' and the like.
    pub implicit: Box<[u8]>,
    /// Flags of the protocol.
    pub flags: u16,
}

impl std::ops::Deref for ColumnInfo {
    type Target = ColumnDefinition;

    fn deref(&self) -> &ColumnDefinition {
        &self.definition
    }
}

impl ColumnInfo {
    /// The type.
    pub fn sql_type(&self) -> &SqlType {
        &self.ty.ty
    }

    /// Whether NULL is allowed.
    pub fn is_nullable(&self) -> bool {
        self.ty.ty.nullable
    }
}

/// A column of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyPartInfo {
    /// Position in the table.
    pub column: usize,
    /// Characters (bytes of binary strings) of the prefix; `None`: the whole column.
    pub prefix: Option<u32>,
}

/// A key with the positions of its columns.
#[derive(Debug)]
pub struct KeyInfo {
    /// What it is.
    pub definition: Arc<KeyDefinition>,
    /// Position in [`Table::indexes`].
    pub index: usize,
    /// Its columns.
    pub parts: Vec<KeyPartInfo>,
}

impl std::ops::Deref for KeyInfo {
    type Target = KeyDefinition;

    fn deref(&self) -> &KeyDefinition {
        &self.definition
    }
}

/// A table in use: the engine's object, its definition, and what queries need of that, derived once per engine object.
#[derive(Debug)]
pub struct TableInfo {
    /// The engine's object.
    pub table: Arc<Table>,
    /// What the table is.
    pub definition: Definition,
    /// Columns in order: those of the engine's table, hidden ones too.
    pub columns: Vec<ColumnInfo>,
    /// Keys that have trees, in the order of the definition.
    pub keys: Vec<KeyInfo>,
    /// Position of the AUTO_INCREMENT column.
    pub auto_increment: Option<usize>,
    /// Columns with ON UPDATE CURRENT_TIMESTAMP.
    pub on_update_now: Vec<usize>,
}

impl TableInfo {
    /// What is said of a table whose tablespace is discarded; `None` if it is not.
    ///
    /// # Errors
    /// Of the engine; as [`TableInfo::new`].
    pub fn of_discarded(core: &Core, engine_name: &str) -> SqlResult<Option<Arc<TableInfo>>> {
        let found = error::of_engine(core.discarded_table(engine_name))?;
        found.map(|table| TableInfo::new(table).map(Arc::new)).transpose()
    }

    /// The SQL view of an engine table.
    ///
    /// # Errors
    /// 1105 its keys are not those of the engine's table.
    pub fn new(table: Arc<Table>) -> SqlResult<TableInfo> {
        let definition = Definition::of(&table);
        let columns = definition.columns.iter().zip(&table.columns);
        let mut columns: Vec<ColumnInfo> =
            columns.map(|(c, stored)| column_info(c, stored, table.row_format)).collect();
        let trees = definition.keys.iter().filter(|key| key.has_tree());
        let keys = trees.map(|key| key_info(key, &table, &columns));
        let keys = keys.collect::<SqlResult<Vec<_>>>()?;
        flag_keys(&keys, &mut columns);
        flag_other_keys(&definition, &mut columns);
        Ok(TableInfo {
            auto_increment: columns.iter().position(|c| c.auto_increment),
            on_update_now: (0..columns.len()).filter(|&i| columns[i].on_update_now).collect(),
            definition,
            columns,
            keys,
            table,
        })
    }

    /// Position of a column that can be named, by name without case.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.definition.column(name)
    }

    /// The same, with `_rowid` as another name of [`TableInfo::row_id`].
    pub fn named_column(&self, name: &str) -> Option<usize> {
        self.column(name).or_else(|| if is_row_id(name) { self.row_id() } else { None })
    }

    /// The column that `_rowid` names: the only one of the primary key, or else of the first unique key without NULL, if it is an
    /// integer, YEAR or BIT.
    pub fn row_id(&self) -> Option<usize> {
        let key = self.keys.first().filter(|key| key.is_unique())?;
        let [KeyPartInfo { column, prefix: None }] = key.parts[..] else { return None };
        let kind = self.columns[column].sql_type().kind;
        let is_number = kind.is_integer() || matches!(kind, Kind::Year | Kind::Bit);
        (is_number && !self.columns[column].is_nullable()).then_some(column)
    }

    /// The columns that statements see, with their positions.
    pub fn shown_columns(&self) -> impl Iterator<Item = (usize, &ColumnInfo)> {
        self.columns.iter().enumerate().filter(|(_, c)| !c.hidden)
    }

    /// The columns that a statement means which names none.
    pub fn visible_columns(&self) -> impl Iterator<Item = (usize, &ColumnInfo)> {
        self.shown_columns().filter(|(_, c)| !c.invisible)
    }

    /// A key, by name without case.
    pub fn key(&self, name: &str) -> Option<&KeyInfo> {
        self.keys.iter().find(|k| same_name(&k.name, name))
    }
}

/// Whether it is the name that every table with a key of one integer has for it, unless a column is called so.
pub fn is_row_id(name: &str) -> bool {
    name.eq_ignore_ascii_case("_rowid")
}

fn column_info(definition: &Arc<ColumnDefinition>, stored: &Column, format: RowFormat) -> ColumnInfo {
    let ty = ColumnType::of_def(definition.ty.clone(), &stored.def, format);
    let mut implicit = Vec::new();
    ty.push_implicit_default(&mut implicit);
    ColumnInfo {
        definition: definition.clone(),
        ty,
        default: stored.default.clone(),
        implicit: implicit.into(),
        flags: flags_of(definition),
    }
}

/// Flags that follow from the type, and those that only a table's column has.
fn flags_of(column: &ColumnDefinition) -> u16 {
    let ty = &column.ty;
    let no_default = !ty.nullable
        && column.default == DefaultValue::None
        && !column.auto_increment
        && column.generated.is_none();
    [
        (flag::AUTO_INCREMENT, column.auto_increment),
        (flag::TIMESTAMP, ty.kind == Kind::Timestamp && column.default == DefaultValue::Now),
        (flag::NO_DEFAULT_VALUE, no_default),
        (flag::ON_UPDATE_NOW, column.on_update_now),
    ]
    .into_iter()
    .filter(|(_, on)| *on)
    .fold(ty.protocol_flags(), |flags, (bit, _)| flags | bit)
}

fn key_info(key: &Arc<KeyDefinition>, table: &Table, columns: &[ColumnInfo]) -> SqlResult<KeyInfo> {
    let lost = || SqlError::new(1105, format!("key '{}' of {} is not the engine's", key.name, table.name));
    let index = table.indexes.iter().position(|index| index.name == key.name).ok_or_else(lost)?;
    let part = |part: &KeyPart| {
        let column = columns.iter().position(|c| c.name == part.column)?;
        Some(KeyPartInfo { column, prefix: part.prefix })
    };
    let parts = key.parts.iter().map(part).collect::<Option<Vec<_>>>().ok_or_else(lost)?;
    Ok(KeyInfo { definition: key.clone(), index, parts })
}

/// Flags that columns have by the keys they are in.
fn flag_keys(keys: &[KeyInfo], columns: &mut [ColumnInfo]) {
    let primary = shown_as_primary(keys, columns);
    for (at, key) in keys.iter().enumerate() {
        for (i, part) in key.parts.iter().enumerate() {
            let flags = &mut columns[part.column].flags;
            *flags |= flag::PART_KEY;
            *flags |= match (primary == Some(at), key.is_unique() && key.parts.len() == 1) {
                (true, _) => flag::PRI_KEY,
                (false, true) => flag::UNIQUE_KEY,
                (false, false) if i == 0 => flag::MULTIPLE_KEY,
                (false, false) => 0,
            };
        }
    }
}

/// The same by keys that have no tree (FULLTEXT).
fn flag_other_keys(definition: &Definition, columns: &mut [ColumnInfo]) {
    for key in definition.keys.iter().filter(|key| !key.has_tree()) {
        for (i, part) in key.parts.iter().enumerate() {
            if let Some(column) = definition.key_column(&part.column) {
                columns[column].flags |= flag::PART_KEY | if i == 0 { flag::MULTIPLE_KEY } else { 0 };
            }
        }
    }
}

/// The key whose columns are `PRI`: the primary key, else the first unique one of whole columns without NULL.
fn shown_as_primary(keys: &[KeyInfo], columns: &[ColumnInfo]) -> Option<usize> {
    let identifies = |key: &KeyInfo| {
        let mut parts = key.parts.iter();
        key.is_unique() && parts.all(|p| p.prefix.is_none() && !columns[p.column].is_nullable())
    };
    let declared = keys.iter().position(|key| key.is_primary());
    declared.or_else(|| keys.iter().position(identifies))
}

/// Table objects of a folder, by name.
#[derive(Debug, Default)]
pub struct Catalog {
    shards: [RwLock<Shard>; 16],
    /// Those of temporary tables, by number.
    temporary: RwLock<HashMap<u64, Arc<TableInfo>>>,
}

type Shard = HashMap<String, Arc<TableInfo>, foldhash::fast::RandomState>;

/// Tables kept by one shard before it looks for unused ones.
const SHARD_TABLES: usize = 256;

impl Catalog {
    /// The SQL view of an engine table, made if need be.
    ///
    /// # Errors
    /// As [`TableInfo::new`].
    pub fn info(&self, table: &Arc<Table>) -> SqlResult<Arc<TableInfo>> {
        if table.is_temporary() {
            return self.info_of_temporary(table);
        }
        let shard = self.shard(&table.name);
        if let Some(info) = shard.read().get(&table.name)
            && Arc::ptr_eq(&info.table, table)
        {
            return Ok(info.clone());
        }
        let info = Arc::new(TableInfo::new(table.clone())?);
        let mut tables = shard.write();
        if tables.len() >= SHARD_TABLES {
            tables.retain(|_, info| Arc::strong_count(info) > 1);
        }
        tables.insert(table.name.clone(), info.clone());
        Ok(info)
    }

    fn info_of_temporary(&self, table: &Arc<Table>) -> SqlResult<Arc<TableInfo>> {
        if let Some(info) = self.temporary.read().get(&table.id.get())
            && Arc::ptr_eq(&info.table, table)
        {
            return Ok(info.clone());
        }
        let info = Arc::new(TableInfo::new(table.clone())?);
        let mut tables = self.temporary.write();
        // Those that went have nobody else who has them.
        tables.retain(|_, info| Arc::strong_count(&info.table) > 1);
        tables.insert(table.id.get(), info.clone());
        Ok(info)
    }

    /// Forgets a table that was dropped or renamed; `name` is the engine's.
    pub fn forget(&self, name: &str) {
        self.shard(name).write().remove(name);
    }

    fn shard(&self, name: &str) -> &RwLock<Shard> {
        let hash = name.bytes().fold(0usize, |h, b| h.wrapping_mul(31).wrapping_add(b.into()));
        &self.shards[hash % self.shards.len()]
    }
}

/// Opens a table under a metadata lock that lasts to the end of the transaction.
///
/// # Errors
/// 1046 no database, 1146 no such table, 1205 metadata lock, 1812 and the like: it cannot be used.
pub fn open_table(
    catalog: &Catalog,
    statement: &mut Statement<'_>,
    database: &str,
    name: &str,
    mode: MdlMode,
) -> SqlResult<Arc<TableInfo>> {
    open_by(catalog, database, name, |engine_name| statement.table_for(engine_name, mode))
}

/// The same, whatever temporary table hides it.
///
/// # Errors
/// As [`open_table`].
pub fn open_base_table(
    catalog: &Catalog,
    statement: &mut Statement<'_>,
    database: &str,
    name: &str,
    mode: MdlMode,
) -> SqlResult<Arc<TableInfo>> {
    open_by(catalog, database, name, |engine_name| statement.base_table_for(engine_name, mode))
}

fn open_by(
    catalog: &Catalog,
    database: &str,
    name: &str,
    find: impl FnOnce(&str) -> vaquita_engine::Result<Arc<Table>>,
) -> SqlResult<Arc<TableInfo>> {
    if database.is_empty() {
        return Err(SqlError::new(1046, "No database selected"));
    }
    match find(&engine_name(database, name)?) {
        Ok(table) => catalog.info(&table),
        Err(vaquita_engine::Error::NoSuchTable(_)) => Err(error::no_such_table(database, name)),
        Err(e) => Err(error::engine(&e)),
    }
}
