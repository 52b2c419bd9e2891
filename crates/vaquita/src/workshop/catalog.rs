//! What the dictionary says about files and foreign keys: the rows of the SYS tables as they are.
//!
//! [`super::dictionary`] makes tables of them that can be read; here even a table that makes no sense keeps its name and
//! its tablespace.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use vaquita_base::{IndexId, PageNo, SpaceId, TableId};
use vaquita_format::dict::{
    self, DictHeader, SYS_COLUMNS, SYS_DATAFILES, SYS_FIELDS, SYS_FOREIGN, SYS_FOREIGN_COLS, SYS_INDEXES,
    SYS_TABLES, SYS_TABLESPACES, SysTable, mix_len,
};

use super::dictionary::{Row, sys_rows};
use super::report::Report;
use super::source::PageSource;

/// A row of SYS_TABLES.
#[derive(Debug, Clone)]
pub struct CatalogTable {
    /// `db/table`.
    pub name: String,
    /// Number.
    pub id: TableId,
    /// Number of columns, as its row says.
    pub n_columns: usize,
    /// Its tablespace.
    pub space: SpaceId,
    /// Whether it is a temporary table: its file goes with the server.
    pub temporary: bool,
    /// Whether its tablespace was discarded.
    pub discarded: bool,
}

/// A row of SYS_FOREIGN.
#[derive(Debug, Clone)]
pub struct ForeignKey {
    /// `db/constraint`.
    pub id: String,
    /// The table that has it.
    pub table: String,
    /// The table it refers to.
    pub referenced: String,
    /// Number of columns.
    pub n_columns: usize,
}

/// The rows of a dictionary.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    /// SYS_TABLES, without SYS_FOREIGN and the others of its kind.
    pub tables: Vec<CatalogTable>,
    by_name: HashMap<String, usize>,
    /// The last ids given of tables, indexes and tablespaces.
    pub last_ids: (TableId, IndexId, SpaceId),
    /// The highest id of an index.
    pub max_index: IndexId,
    /// Rows of SYS_COLUMNS, SYS_INDEXES and SYS_FIELDS that belong to nothing, in words.
    pub leftovers: Vec<String>,
    /// Names of columns by table.
    pub columns: HashMap<TableId, Vec<String>>,
    /// SPACE of each index, with its name, by table.
    pub index_spaces: HashMap<TableId, Vec<(String, SpaceId)>>,
    /// SYS_TABLESPACES: name and flags.
    pub tablespaces: BTreeMap<SpaceId, (String, u32)>,
    /// SYS_DATAFILES.
    pub datafiles: BTreeMap<SpaceId, String>,
    /// SYS_FOREIGN.
    pub foreign: Vec<ForeignKey>,
    /// SYS_FOREIGN_COLS: column and referenced column in order of their positions, by constraint.
    pub foreign_columns: BTreeMap<String, Vec<(String, String)>>,
}

impl Catalog {
    /// Reads the rows of a system tablespace; what cannot be read is reported.
    pub fn read(src: &dyn PageSource, report: &mut Report) -> Catalog {
        let header = match src.page(dict::PAGE) {
            Ok(page) => DictHeader::read(&page),
            Err(e) => {
                report.page(dict::PAGE, e.into_corruption());
                return Catalog::default();
            }
        };
        let last_ids = (header.table_id, header.index_id, header.space_id);
        let mut out = Catalog { last_ids, ..Catalog::default() };
        let rows = sys_rows(src, &SYS_TABLES, header.tables_root, report);
        let indexes = sys_rows(src, &SYS_INDEXES, header.indexes_root, report);
        for row in sys_rows(src, &SYS_COLUMNS, header.columns_root, report) {
            out.columns.entry(TableId(row.number("TABLE_ID"))).or_default().push(row.text("NAME"));
        }
        let mut others = |table: &'static SysTable| match root_of(&rows, &indexes, table.name) {
            Some(root) => sys_rows(src, table, root, report),
            // Older servers had fewer of them.
            None => Vec::new(),
        };
        for row in others(&SYS_TABLESPACES) {
            let space = SpaceId(row.number("SPACE") as u32);
            out.tablespaces.insert(space, (row.text("NAME"), row.number("FLAGS") as u32));
        }
        for row in others(&SYS_DATAFILES) {
            out.datafiles.insert(SpaceId(row.number("SPACE") as u32), row.text("PATH"));
        }
        out.foreign = others(&SYS_FOREIGN).iter().map(foreign_key).collect();
        for row in others(&SYS_FOREIGN_COLS) {
            let pair = (row.text("FOR_COL_NAME"), row.text("REF_COL_NAME"));
            out.foreign_columns.entry(row.text("ID")).or_default().push(pair);
        }
        for row in &indexes {
            out.max_index = out.max_index.max(IndexId(row.number("ID")));
            let entry = (row.text("NAME"), SpaceId(row.number("SPACE") as u32));
            out.index_spaces.entry(TableId(row.number("TABLE_ID"))).or_default().push(entry);
        }
        let fields = sys_rows(src, &SYS_FIELDS, header.fields_root, report);
        out.leftovers = leftovers(&rows, &out.columns, &indexes, &fields);
        let is_system = |name: &str| dict::SYS_ALL.iter().any(|t| t.name == name);
        let rootless: BTreeSet<TableId> = indexes
            .iter()
            .filter(|i| i.number("TYPE") as u32 & dict::index_type::CLUSTERED != 0)
            .filter(|i| PageNo(i.number("PAGE_NO") as u32).is_null())
            .map(|i| TableId(i.number("TABLE_ID")))
            .collect();
        let table = |row| table(row, &rootless);
        out.tables = rows.iter().map(table).filter(|t| !is_system(&t.name)).collect();
        out.by_name = out.tables.iter().enumerate().map(|(i, t)| (t.name.clone(), i)).collect();
        out
    }

    /// A table by its name.
    pub fn table(&self, name: &str) -> Option<&CatalogTable> {
        self.by_name.get(name).map(|&i| &self.tables[i])
    }
}

/// What belongs to no table or index; each owner is named once.
fn leftovers(
    tables: &[Row],
    columns: &HashMap<TableId, Vec<String>>,
    indexes: &[Row],
    fields: &[Row],
) -> Vec<String> {
    let known: BTreeSet<u64> = tables.iter().map(|t| t.number("ID")).collect();
    let of_index: BTreeSet<u64> = indexes.iter().map(|i| i.number("ID")).collect();
    let mut out = BTreeSet::new();
    for id in columns.keys().map(|id| id.get()).filter(|id| !known.contains(id)) {
        out.insert(format!("SYS_COLUMNS has columns of table {id}, which does not exist"));
    }
    for index in indexes.iter().filter(|i| !known.contains(&i.number("TABLE_ID"))) {
        let (name, id) = (index.text("NAME"), index.number("TABLE_ID"));
        out.insert(format!("SYS_INDEXES has {name} of table {id}, which does not exist"));
    }
    for field in fields.iter().filter(|f| !of_index.contains(&f.number("INDEX_ID"))) {
        let id = field.number("INDEX_ID");
        out.insert(format!("SYS_FIELDS has fields of index {id}, which does not exist"));
    }
    out.into_iter().collect()
}

/// A table. That its tablespace is discarded a REDUNDANT one tells by its clustered index, which has no root.
fn table(row: &Row, rootless: &BTreeSet<TableId>) -> CatalogTable {
    let compact = row.number("N_COLS") as u32 & dict::n_cols::COMPACT != 0;
    let flags = if compact { row.number("MIX_LEN") as u32 } else { 0 };
    let id = TableId(row.number("ID"));
    CatalogTable {
        name: row.text("NAME"),
        id,
        n_columns: (row.number("N_COLS") as u32 & !dict::n_cols::COMPACT) as usize,
        space: SpaceId(row.number("SPACE") as u32),
        temporary: flags & mix_len::TEMPORARY != 0,
        discarded: flags & mix_len::DISCARDED != 0 || !compact && rootless.contains(&id),
    }
}

fn foreign_key(row: &Row) -> ForeignKey {
    ForeignKey {
        id: row.text("ID"),
        table: row.text("FOR_NAME"),
        referenced: row.text("REF_NAME"),
        // The actions are above.
        n_columns: (row.number("N_COLS") & 0x00FF_FFFF) as usize,
    }
}

/// Root of the clustered index of a SYS table that is found by its name.
fn root_of(tables: &[Row], indexes: &[Row], name: &str) -> Option<PageNo> {
    let id = tables.iter().find(|t| t.text("NAME") == name)?.number("ID");
    let clustered = indexes.iter().find(|i| i.number("TABLE_ID") == id)?;
    PageNo(clustered.number("PAGE_NO") as u32).some()
}
