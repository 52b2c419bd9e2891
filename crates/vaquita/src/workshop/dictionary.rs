//! InnoDB's own dictionary in a system tablespace: which tables there are, with columns, indexes and roots.
//!
//! The SYS tables are read through their REDUNDANT records. What cannot be read is reported and left out: a damaged
//! dictionary gives fewer tables, not wrong ones.

use std::collections::BTreeMap;

use vaquita_base::codec::get_uint;
use vaquita_base::{IndexId, PageNo, SpaceId, TableId};
use vaquita_engine::dict::codec::TableExtra;
use vaquita_engine::dict::row_versions::RowVersions;
use vaquita_engine::dict::sys_tables::SYS_VAQUITA_TABLES;
use vaquita_engine::kept::{self, Extra};
use vaquita_format::charset::Charset;
use vaquita_format::column::{ColumnDef, MType, prtype};
use vaquita_format::dict::{self, DictHeader, SYS_COLUMNS, SYS_FIELDS, SYS_INDEXES, SYS_TABLES, SysTable};
use vaquita_format::index_def::{FieldDef, IndexDef, IndexKind, IndexSpec, KeyPart, RowFormat};
use vaquita_format::index_page;
use vaquita_format::record::header::is_deleted;
use vaquita_format::record::{Offsets, RecLayout};
use vaquita_format::{Corruption, PageSize};

use super::check::Described;
use super::metadata::TableIndex;
use super::progress::Progress;
use super::report::Report;
use super::roots::{Root, root_at};
use super::source::PageSource;
use super::walk::for_each_leaf;

/// A table as the dictionary has it.
#[derive(Debug, Clone)]
pub struct DictTable {
    /// Number.
    pub id: TableId,
    /// `db/table`, as stored.
    pub name: String,
    /// Its tablespace.
    pub space: SpaceId,
    /// Row format.
    pub row_format: RowFormat,
    /// User columns, a hidden FTS_DOC_ID too.
    pub columns: Vec<ColumnDef>,
    /// Trees, the clustered one first.
    pub indexes: Vec<TableIndex>,
    /// FULLTEXT indexes, which have none.
    pub fulltext: Vec<WordsIndex>,
}

/// A FULLTEXT index.
#[derive(Debug, Clone)]
pub struct WordsIndex {
    /// Number.
    pub id: IndexId,
    /// Name.
    pub name: String,
    /// Names of its columns.
    pub columns: Vec<String>,
    /// Its parser.
    pub parser: Option<String>,
    /// How its words are divided among its tables, if not as InnoDB does it.
    pub split: Option<String>,
}

impl DictTable {
    /// The table, to be checked.
    pub fn described(&self) -> Described {
        Described { name: self.name.clone(), id: Some(self.id), indexes: self.indexes.clone() }
    }
}

/// All tables of a dictionary.
#[derive(Debug, Clone, Default)]
pub struct Dictionary {
    /// In the order of their numbers.
    pub tables: Vec<DictTable>,
}

impl Dictionary {
    /// Reads the dictionary of a system tablespace.
    pub fn read(src: &dyn PageSource, report: &mut Report) -> Dictionary {
        let header = match src.page(dict::PAGE) {
            Ok(page) => DictHeader::read(&page),
            Err(e) => {
                report.page(dict::PAGE, e.into_corruption());
                return Dictionary::default();
            }
        };
        let mut loader = Loader { src, report };
        let tables = loader.rows(&SYS_TABLES, header.tables_root);
        let columns = loader.by_owner(&SYS_COLUMNS, header.columns_root, "TABLE_ID");
        let indexes = loader.by_owner(&SYS_INDEXES, header.indexes_root, "TABLE_ID");
        let fields = loader.by_owner(&SYS_FIELDS, header.fields_root, "INDEX_ID");
        let ours = tables.iter().find(|row| row.text("NAME") == SYS_VAQUITA_TABLES.name);
        let ours = ours.and_then(|row| indexes.get(&row.number("ID"))?.first());
        let ours = ours.map(|index| PageNo(index.number("PAGE_NO") as u32)).filter(|root| !root.is_null());
        let kept = ours.map(|root| loader.kept(root)).unwrap_or_default();
        let mut out = Vec::new();
        for row in &tables {
            let id = row.number("ID");
            let own = |map: &BTreeMap<u64, Vec<Row>>| map.get(&id).cloned().unwrap_or_default();
            let extra = kept.get(&id).cloned().unwrap_or_default();
            match table(src.page_size(), row, &own(&columns), &own(&indexes), &fields, &extra) {
                Ok(table) => out.push(table),
                Err(e) => {
                    report.whole(Corruption::new("dictionary", format!("table {}: {e}", row.text("NAME"))))
                }
            }
        }
        out.sort_by_key(|t| t.id);
        Dictionary { tables: out }
    }

    /// The tables in a tablespace.
    pub fn in_space(&self, space: SpaceId) -> impl Iterator<Item = &DictTable> {
        self.tables.iter().filter(move |t| t.space == space)
    }
}

/// A row of a SYS table.
#[derive(Debug, Clone)]
pub(super) struct Row {
    table: &'static SysTable,
    values: Vec<Option<Vec<u8>>>,
}

impl Row {
    fn value(&self, column: &str) -> &[u8] {
        let at = self.table.position(column);
        at.and_then(|i| self.values.get(i)).and_then(|v| v.as_deref()).unwrap_or_default()
    }

    pub(super) fn number(&self, column: &str) -> u64 {
        let v = self.value(column);
        get_uint(v, 0, v.len().min(8))
    }

    pub(super) fn text(&self, column: &str) -> String {
        String::from_utf8_lossy(self.value(column)).into_owned()
    }
}

/// The rows of a SYS table that are not delete-marked.
pub(super) fn sys_rows(
    src: &dyn PageSource,
    table: &'static SysTable,
    root: PageNo,
    report: &mut Report,
) -> Vec<Row> {
    Loader { src, report }.rows(table, root)
}

struct Loader<'a> {
    src: &'a dyn PageSource,
    report: &'a mut Report,
}

impl Loader<'_> {
    fn rows(&mut self, table: &'static SysTable, root: PageNo) -> Vec<Row> {
        let mut rows = Vec::new();
        let Some(root) = self.sys_root(root) else { return rows };
        let layout = RecLayout::redundant();
        let mut offsets = Offsets::new();
        let mut visit = |no: PageNo, page: &[u8], report: &mut Report| {
            for rec in index_page::records(page) {
                match rec.and_then(|rec| offsets.parse(page, rec, &layout).map(|()| rec)) {
                    Ok(rec) if is_deleted(page, rec, false) => {}
                    Ok(rec) => {
                        let value = |i| offsets.field(page, rec, i).map(<[u8]>::to_vec);
                        rows.push(Row { table, values: (0..offsets.n_fields()).map(value).collect() });
                    }
                    Err(e) => report.page(no, e),
                }
            }
            Ok::<(), std::convert::Infallible>(())
        };
        let walked =
            for_each_leaf(self.src, &root, &layout, self.report, &mut Progress::hidden(), &mut visit);
        match walked {
            Ok(()) => rows,
            Err(never) => match never {},
        }
    }

    /// Rows by the number in their first column, each group in key order.
    fn by_owner(&mut self, table: &'static SysTable, root: PageNo, owner: &str) -> BTreeMap<u64, Vec<Row>> {
        let mut map: BTreeMap<u64, Vec<Row>> = BTreeMap::new();
        for row in self.rows(table, root) {
            map.entry(row.number(owner)).or_default().push(row);
        }
        map
    }

    /// What our own program keeps of tables, by their numbers. What cannot be read is told where the table is opened.
    fn kept(&mut self, root: PageNo) -> BTreeMap<u64, Kept> {
        let mut out = BTreeMap::new();
        for (id, pieces) in self.by_owner(&SYS_VAQUITA_TABLES, root, "TABLE_ID") {
            let bytes: Vec<u8> = pieces.iter().flat_map(|piece| piece.value("DATA")).copied().collect();
            if let Ok(extra) = TableExtra::decode(&bytes) {
                out.insert(id, Kept { extra: Extra::parse(&extra.extra), versions: extra.versions });
            }
        }
        out
    }

    fn sys_root(&mut self, no: PageNo) -> Option<Root> {
        let root = root_at(self.src, no);
        if root.is_none() {
            self.report
                .page(no, Corruption::new("dictionary", "this page is not the root of a dictionary tree"));
        }
        root
    }
}

/// What our own program keeps of a table.
#[derive(Debug, Clone, Default)]
struct Kept {
    extra: Extra,
    versions: Option<RowVersions>,
}

fn table(
    page_size: PageSize,
    row: &Row,
    columns: &[Row],
    indexes: &[Row],
    fields: &BTreeMap<u64, Vec<Row>>,
    kept: &Kept,
) -> vaquita_format::Result<DictTable> {
    let (n_cols, flags) = (row.number("N_COLS") as u32, row.number("TYPE") as u32);
    let compact = n_cols & dict::n_cols::COMPACT != 0;
    let row_format = match (flags >> 1 & 0xF, flags & 1 << 5, compact) {
        (1.., ..) => RowFormat::Compressed,
        (_, 1.., _) => RowFormat::Dynamic,
        (_, _, true) => RowFormat::Compact,
        _ => RowFormat::Redundant,
    };
    let page_size = match flags >> 1 & 0xF {
        0 => PageSize::new(page_size.logical()),
        n => PageSize::compressed(page_size.logical(), 512 << n),
    };
    let page_size = page_size.ok_or_else(|| Corruption::new("table flags", format!("{flags:#x}")))?;
    let columns = columns.iter().map(column).collect::<vaquita_format::Result<Vec<_>>>()?;
    if let Some(versions) = &kept.versions {
        versions.check(columns.len())?;
    }
    let mut trees: Vec<TableIndex> = Vec::new();
    let mut fulltext = Vec::new();
    for index in indexes {
        let root = PageNo(index.number("PAGE_NO") as u32);
        let parts = fields.get(&index.number("ID")).map(Vec::as_slice).unwrap_or_default();
        if index.number("TYPE") as u32 & dict::index_type::FULLTEXT != 0 {
            fulltext.extend(words_index(index, parts, kept));
            continue;
        }
        // Those being dropped have no tree.
        if root.is_null() {
            continue;
        }
        let clustered = trees.first().map(|t| &t.def);
        let def = index_def(page_size, row_format, index, &columns, parts, clustered, kept)?;
        trees.push(TableIndex { def, root });
    }
    Ok(DictTable {
        id: TableId(row.number("ID")),
        name: row.text("NAME"),
        space: SpaceId(row.number("SPACE") as u32),
        row_format,
        columns,
        indexes: trees,
        fulltext,
    })
}

/// A FULLTEXT index, unless it is not finished.
fn words_index(index: &Row, fields: &[Row], kept: &Kept) -> Option<WordsIndex> {
    let name = index.text("NAME");
    let is_finished = index.value("NAME").first() != Some(&dict::INDEX_BEING_BUILT);
    let is_marked = index.number("TYPE") as u32 & dict::index_type::CORRUPT != 0;
    is_finished.then(|| WordsIndex {
        id: IndexId(index.number("ID")),
        columns: fields.iter().map(|field| field.text("COL_NAME")).collect(),
        parser: kept::parser(&kept.extra, &name),
        // Another server that has made the index anew has taken the mark away.
        split: is_marked.then(|| kept::split(&kept.extra, &name)).flatten(),
        name,
    })
}

fn column(row: &Row) -> vaquita_format::Result<ColumnDef> {
    let mtype = MType::from_code(row.number("MTYPE") as u32)?;
    let precise = row.number("PRTYPE") as u32;
    let def = ColumnDef::new(row.text("NAME"), mtype, precise, row.number("LEN") as u32);
    // Character widths are not stored: they follow from the collation.
    let charset = Charset::of_collation((precise >> prtype::COLLATION_SHIFT) as u16);
    Ok(match charset.filter(|_| mtype.is_string()) {
        Some(charset) => def.with_mbminmaxlen(charset.mb_min_max_len()),
        None => def,
    })
}

fn index_def(
    page_size: PageSize,
    row_format: RowFormat,
    index: &Row,
    columns: &[ColumnDef],
    fields: &[Row],
    clustered: Option<&IndexDef>,
    kept: &Kept,
) -> vaquita_format::Result<IndexDef> {
    let spec = IndexSpec { id: IndexId(index.number("ID")), name: index.text("NAME"), row_format, page_size };
    let mut parts = Vec::new();
    for (n, field) in fields.iter().enumerate() {
        let raw = field.number("POS") as u32;
        let (_, prefix_len) = dict::decode_field_pos(raw, n as u32);
        let name = field.text("COL_NAME");
        let column = columns.iter().position(|c| c.name == name);
        let column =
            column.ok_or_else(|| Corruption::new("field of an index", format!("{name} is no column")))?;
        parts.push(KeyPart::prefix(column, prefix_len));
    }
    kept::direct(&kept.extra, &index.text("NAME"), &mut parts);
    let kind = index.number("TYPE") as u32;
    let unique = kind & dict::index_type::UNIQUE != 0;
    match clustered {
        None if kind & dict::index_type::CLUSTERED == 0 => {
            Err(Corruption::new("first index of a table", "is not its clustered index"))
        }
        None => {
            let key = (!parts.is_empty()).then_some(&parts[..]);
            match &kept.versions {
                Some(versions) => {
                    IndexDef::clustered_with_versions(spec, columns, key, versions.defs(columns))
                }
                None => IndexDef::clustered(spec, columns, key),
            }
        }
        Some(clustered) => IndexDef::secondary(spec, columns, &parts, unique, clustered),
    }
}

/// Definitions of the dictionary's own trees, which no dictionary describes.
///
/// # Errors
/// None for the tables of this program.
pub fn system_indexes(header: &DictHeader, page_size: PageSize) -> vaquita_format::Result<Vec<TableIndex>> {
    let roots = [
        (&SYS_TABLES, header.tables_root),
        (&SYS_COLUMNS, header.columns_root),
        (&SYS_INDEXES, header.indexes_root),
        (&SYS_FIELDS, header.fields_root),
    ];
    let spec = |name: String, id: Option<IndexId>| IndexSpec {
        id: id.unwrap_or_default(),
        name,
        row_format: RowFormat::Redundant,
        page_size,
    };
    let mut out = Vec::new();
    for (table, root) in roots {
        let fields = table.columns.iter().map(sys_field).collect::<vaquita_format::Result<Vec<_>>>()?;
        let spec = spec(format!("{}.{}", table.name, table.clustered), table.clustered_id);
        let def = IndexDef::from_fields(spec, IndexKind::Clustered, true, fields, table.n_key)?;
        out.push(TableIndex { def, root });
    }
    let by_id = |c: &str| SYS_TABLES.position(c).map(|i| sys_field(&SYS_TABLES.columns[i])).transpose();
    let fields = [by_id("ID")?, by_id("NAME")?].into_iter().flatten().collect();
    let spec = spec("SYS_TABLES.ID_IND".to_owned(), Some(dict::ID_IND));
    let def = IndexDef::from_fields(spec, IndexKind::Secondary, true, fields, 1)?;
    out.push(TableIndex { def, root: header.table_ids_root });
    Ok(out)
}

/// The four tables that a dictionary is made of, of which it does not tell.
pub fn core_tables(src: &dyn PageSource) -> Vec<DictTable> {
    let Ok(page) = src.page(dict::PAGE) else { return Vec::new() };
    let trees = system_indexes(&DictHeader::read(&page), src.page_size()).unwrap_or_default();
    let column = |c: &dict::SysColumn| {
        let (mtype, precise, len) = c.ty.column_type();
        let is_user = !matches!(c.ty, dict::SysType::TrxId | dict::SysType::RollPtr);
        is_user.then(|| Some(ColumnDef::new(c.name, MType::from_code(mtype).ok()?, precise, len)))?
    };
    let tables = [&SYS_TABLES, &SYS_COLUMNS, &SYS_INDEXES, &SYS_FIELDS].into_iter().zip(trees);
    let described = tables.map(|(table, tree)| DictTable {
        id: table.id.unwrap_or_default(),
        name: table.name.to_owned(),
        space: SpaceId::SYSTEM,
        row_format: RowFormat::Redundant,
        columns: table.columns.iter().filter_map(column).collect(),
        indexes: vec![tree],
        fulltext: Vec::new(),
    });
    described.collect()
}

/// A field of a SYS table. Names compare as bytes; nothing is NULL in a key.
fn sys_field(c: &dict::SysColumn) -> vaquita_format::Result<FieldDef> {
    let column = match c.ty {
        dict::SysType::TrxId => ColumnDef::db_trx_id(),
        dict::SysType::RollPtr => ColumnDef::db_roll_ptr(),
        dict::SysType::Name => ColumnDef::varbinary(c.name, 255),
        number => {
            let (mtype, precise, len) = number.column_type();
            ColumnDef::new(c.name, MType::from_code(mtype)?, precise, len)
        }
    };
    Ok(FieldDef::new(column, 0, RowFormat::Redundant))
}
