//! The tables of the dictionary itself.
//!
//! SYS_TABLES, SYS_COLUMNS, SYS_INDEXES and SYS_FIELDS describe themselves in [`vaquita_format::dict`]; the others are
//! rows in these, made when a folder is. Three are ours; a MySQL server that opens the folder leaves them alone:
//!
//! | table | key | holds |
//! |---|---|---|
//! | SYS_VAQUITA_TABLES | TABLE_ID, PART | what MySQL keeps in `.frm` files ([`super::codec`]), in pieces |
//! | SYS_VAQUITA_DDL_LOG | ID | what is left to do, or to undo, of definitions being changed ([`crate::ddl::log`]) |
//! | SYS_VAQUITA_OBJECTS | ID, PART | views, procedures, functions, triggers, events ([`super::objects`]), in pieces |
//!
//! # Crash
//! In a folder that another program made, or one of ours from before a table came to be, they are created at the first opening for writing, one mini-transaction per
//! row; the row of SYS_TABLES, which makes the table known, comes last. A crash before leaks an empty tree.

use crate::dict::bootstrap::create_tree;
use crate::dict::build::{IndexParts, TableParts};
use crate::dict::ids;
use crate::dict::rows;
use crate::error::{Error, Result};
use crate::table::{Column, Field, FieldSource, Table};
use std::sync::Arc;
use vaquita_base::{IndexId, PageId, PageNo, SpaceId, TableId, TrxId};
use vaquita_btree::Observer;
use vaquita_format::PageSize;
use vaquita_format::column::{ColumnDef, MType};
use vaquita_format::dict::{
    self, DictHeader, SYS_COLUMNS, SYS_DATAFILES, SYS_FIELDS, SYS_FOREIGN, SYS_FOREIGN_COLS, SYS_INDEXES,
    SYS_TABLES, SYS_TABLESPACES, SysColumn, SysIndex, SysTable, SysType, index_type,
};
use vaquita_format::index_def::{IndexDef, KeyPart, RowFormat};
use vaquita_format::tuple::{Tuple, TupleField};
use vaquita_storage::Storage;

const fn column(name: &'static str, ty: SysType) -> SysColumn {
    SysColumn { name, ty }
}

/// What MySQL keeps in `.frm` files.
pub const SYS_VAQUITA_TABLES: SysTable = SysTable {
    name: "SYS_VAQUITA_TABLES",
    id: None,
    columns: &[
        column("TABLE_ID", SysType::U64),
        column("PART", SysType::U32),
        column("DB_TRX_ID", SysType::TrxId),
        column("DB_ROLL_PTR", SysType::RollPtr),
        column("DATA", SysType::Name),
    ],
    n_key: 2,
    clustered: "SYS_VAQUITA_TABLES_ID",
    clustered_id: None,
    secondary: &[],
};

/// What is left to do of definitions being changed.
pub(crate) const SYS_VAQUITA_DDL_LOG: SysTable = SysTable {
    name: "SYS_VAQUITA_DDL_LOG",
    id: None,
    columns: &[
        column("ID", SysType::U64),
        column("DB_TRX_ID", SysType::TrxId),
        column("DB_ROLL_PTR", SysType::RollPtr),
        column("TYPE", SysType::U32),
        column("TABLE_ID", SysType::U64),
        column("INDEX_ID", SysType::U64),
        column("SPACE", SysType::U32),
        column("PAGE_NO", SysType::U32),
        column("NAME", SysType::Name),
        column("NEW_NAME", SysType::Name),
    ],
    n_key: 1,
    clustered: "SYS_VAQUITA_DDL_LOG_ID",
    clustered_id: None,
    secondary: &[],
};

/// Objects of SQL that are not tables.
pub(crate) const SYS_VAQUITA_OBJECTS: SysTable = SysTable {
    name: "SYS_VAQUITA_OBJECTS",
    id: None,
    columns: &[
        column("ID", SysType::U64),
        column("PART", SysType::U32),
        column("DB_TRX_ID", SysType::TrxId),
        column("DB_ROLL_PTR", SysType::RollPtr),
        column("DATA", SysType::Name),
    ],
    n_key: 2,
    clustered: "SYS_VAQUITA_OBJECTS_ID",
    clustered_id: None,
    secondary: &[],
};

/// Those that are ours: lists of InnoDB's dictionary leave them out.
pub(crate) const OURS: [&str; 3] =
    [SYS_VAQUITA_TABLES.name, SYS_VAQUITA_DDL_LOG.name, SYS_VAQUITA_OBJECTS.name];

/// The tables that are rows in the four core tables, in the order of their making.
pub(crate) const LATER: [&SysTable; 7] = [
    &SYS_FOREIGN,
    &SYS_FOREIGN_COLS,
    &SYS_TABLESPACES,
    &SYS_DATAFILES,
    &SYS_VAQUITA_TABLES,
    &SYS_VAQUITA_DDL_LOG,
    &SYS_VAQUITA_OBJECTS,
];

/// Whether a name is that of a dictionary table.
pub(crate) fn is_sys_name(name: &str) -> bool {
    dict::SYS_ALL.iter().chain(&LATER).any(|t| t.name == name)
}

/// Columns as the four core tables have them: names are bytes. Those of the later ones are in SYS_COLUMNS.
fn core_column(c: SysColumn) -> Column {
    let def = match c.ty {
        SysType::Name => ColumnDef::varbinary(c.name, 1_024),
        number => sys_column(SysColumn { name: c.name, ty: number }),
    };
    Column::new(def)
}

fn sys_column(c: SysColumn) -> ColumnDef {
    let (mtype, precise, len) = c.ty.column_type();
    let mtype = MType::from_code(mtype).expect("the SYS tables have columns of known types");
    ColumnDef::new(c.name, mtype, precise, len)
}

/// Key parts of an index of a SYS table: positions in its record to positions among its user columns.
fn user_position(table: &SysTable, in_record: usize) -> usize {
    let name = table.columns[in_record].name;
    table.user_columns().position(|c| c.name == name).expect("an index is on user columns")
}

fn index_parts(table: &SysTable, mut next: impl FnMut(usize) -> (IndexId, PageNo)) -> Vec<IndexParts> {
    let mut part = |name: &str, columns: &mut dyn Iterator<Item = usize>, unique: bool, n: usize| {
        let (id, root) = next(n);
        IndexParts {
            id,
            name: name.to_owned(),
            parts: columns.map(|c| KeyPart::whole(user_position(table, c))).collect(),
            unique,
            root,
            trx_id: TrxId(0),
            comment: String::new(),
            hidden: false,
        }
    };
    let mut out = vec![part(table.clustered, &mut (0..table.n_key), true, 0)];
    for (n, SysIndex { name, columns, unique }) in table.secondary.iter().enumerate() {
        out.push(part(name, &mut columns.iter().copied(), *unique, n + 1));
    }
    out
}

fn parts(
    table: &SysTable,
    id: TableId,
    page_size: PageSize,
    columns: Vec<Column>,
    indexes: Vec<IndexParts>,
) -> TableParts {
    TableParts {
        id,
        name: table.name.to_owned(),
        space: SpaceId::SYSTEM,
        directory: None,
        row_format: RowFormat::Redundant,
        page_size,
        columns,
        indexes,
        fulltext: Vec::new(),
        comment: String::new(),
        collation: 0,
        extra: String::new(),
        auto_inc_from: 0,
        versions: None,
        discarded: false,
        is_system: true,
    }
}

/// The core tables of a header, in the order of their ids.
fn core_parts(header: &DictHeader, page_size: PageSize) -> [TableParts; 4] {
    let roots = [header.tables_root, header.columns_root, header.indexes_root, header.fields_root];
    [&SYS_TABLES, &SYS_COLUMNS, &SYS_INDEXES, &SYS_FIELDS].map(|table| {
        let id = table.id.expect("a core table has a fixed id");
        let columns = table.user_columns().map(core_column).collect();
        let indexes = index_parts(table, |n| match n {
            0 => {
                let clustered = table.clustered_id.expect("a core table has a fixed index id");
                (clustered, roots[id.get() as usize - 1])
            }
            _ => (dict::ID_IND, header.table_ids_root),
        });
        parts(table, id, page_size, columns, indexes)
    })
}

/// Layouts of the core tables' indexes, in the order of their roots in the header.
pub(crate) fn core_index_defs(page_size: PageSize) -> Result<Vec<Arc<IndexDef>>> {
    let no_segment = vaquita_format::flst::SegmentHeader::read(&[0; 10], 0);
    let mut out = Vec::new();
    for table in core_parts(&DictHeader::new(no_segment), page_size) {
        out.extend(table.index_defs()?);
    }
    Ok(out)
}

/// The four tables that describe all others.
#[derive(Debug, Clone)]
pub(crate) struct CoreTables {
    pub(crate) tables: Arc<Table>,
    pub(crate) columns: Arc<Table>,
    pub(crate) indexes: Arc<Table>,
    pub(crate) fields: Arc<Table>,
}

impl CoreTables {
    /// Opens their trees.
    pub(crate) fn open(storage: &Storage, observer: Option<&Arc<dyn Observer>>) -> Result<Self> {
        let page = storage.pool().get_shared(PageId::new(SpaceId::SYSTEM, dict::PAGE))?;
        let header = DictHeader::read(&page);
        drop(page);
        let open = |t: TableParts| t.open(storage, observer).map(Arc::new);
        let [tables, columns, indexes, fields] = core_parts(&header, storage.options().page_size).map(open);
        Ok(Self { tables: tables?, columns: columns?, indexes: indexes?, fields: fields? })
    }

    pub(crate) fn all(&self) -> [&Arc<Table>; 4] {
        [&self.tables, &self.columns, &self.indexes, &self.fields]
    }
}

/// Makes those of [`LATER`] that are not there.
pub(crate) fn create_missing(storage: &Storage, core: &CoreTables) -> Result<()> {
    for table in LATER {
        let name = [table.name.as_bytes()];
        if rows::read(storage, core.tables.clustered(), &name)?.is_empty() {
            create(storage, core, table)?;
        }
    }
    Ok(())
}

fn create(storage: &Storage, core: &CoreTables, table: &SysTable) -> Result<()> {
    let id = ids::table_id(storage)?;
    let mut numbers = Vec::new();
    for _ in 0..=table.secondary.len() {
        numbers.push(ids::index_id(storage)?);
    }
    let columns: Vec<Column> = table.user_columns().map(|c| Column::new(sys_column(c))).collect();
    let indexes = index_parts(table, |n| (numbers[n], PageNo::NULL));
    let mut parts = parts(table, id, storage.options().page_size, columns, indexes);
    let defs = parts.index_defs()?;
    for (index, def) in parts.indexes.iter_mut().zip(defs) {
        index.root = create_tree(storage, def)?;
    }
    let put = |into: &Arc<Table>, row: &[Field<'_>]| insert_bare(storage, into, row);
    let written = rows::definition_rows(&parts, &rows::Flags::of_system_table());
    for row in &written.columns {
        put(&core.columns, &rows::fields(row))?;
    }
    for row in &written.indexes {
        put(&core.indexes, &rows::fields(row))?;
    }
    for row in &written.fields {
        put(&core.fields, &rows::fields(row))?;
    }
    put(&core.tables, &rows::fields(&written.table))
}

/// Inserts a row into all indexes as if a transaction before all others had: no undo, no locks. The clustered entry
/// comes last.
pub(crate) fn insert_bare(storage: &Storage, table: &Table, row: &[Field<'_>]) -> Result<()> {
    const ROLL_PTR: [u8; 7] = [0x80, 0, 0, 0, 0, 0, 0];
    for index in table.indexes.iter().rev() {
        let field = |source: &FieldSource| match *source {
            FieldSource::Column { column, .. } => Ok(TupleField::nullable(row[column])),
            FieldSource::TrxId => Ok(TupleField::new(&[0; 6])),
            FieldSource::RollPtr => Ok(TupleField::new(&ROLL_PTR)),
            FieldSource::RowId | FieldSource::Gone => Err(Error::WrongState("a dictionary table has a key")),
        };
        let fields = index.sources.iter().map(field).collect::<Result<Vec<_>>>()?;
        index.tree.insert(storage, &Tuple::new(&fields))?;
    }
    Ok(())
}

/// The index type bits of SYS_INDEXES.TYPE.
pub(crate) fn index_type_bits(is_clustered: bool, unique: bool) -> u32 {
    u32::from(is_clustered) * index_type::CLUSTERED + u32::from(unique) * index_type::UNIQUE
}
