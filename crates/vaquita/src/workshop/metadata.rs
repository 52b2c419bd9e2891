//! What a tablespace's pages do not say: columns and indexes, from a `.cfg`, a `.frm`, both, or the dictionary.
//!
//! | given | columns and indexes from | how values read from |
//! |---|---|---|
//! | `.cfg` and `.frm` | `.cfg` | `.frm` |
//! | `.cfg` | `.cfg` | `.cfg`: ENUM and SET as numbers, DECIMAL as bytes |
//! | `.frm` | `.frm`, roots found in the file | `.frm` |
//! | a CREATE TABLE | it, roots found in the file | it |
//! | the name of a table of a FULLTEXT index | that name | texts as utf8mb4 |
//! | nothing | REDUNDANT records describe their fields | bytes |

use std::fmt;
use std::path::{Path, PathBuf};

use vaquita_base::{IndexId, PageNo, SpaceId};
use vaquita_catalog::frm::show_create_frm;
use vaquita_engine::fulltext::AuxiliaryColumns;
use vaquita_format::cfg::{TableMeta, index_type};
use vaquita_format::column::{ColumnDef, MType, mysql_type};
use vaquita_format::fil::{self, PageType};
use vaquita_format::filename::TableFile;
use vaquita_format::flst::{FileAddress, SegmentHeader};
use vaquita_format::frm::{Frm, FrmColumn};
use vaquita_format::index_def::{IndexDef, IndexSpec, KeyPart, RowFormat};
use vaquita_format::maker::{self, Foreign};
use vaquita_format::record::{Offsets, RecLayout};
use vaquita_format::text::TextType;
use vaquita_format::{fsp, index_page};

use super::definition::{StatedTable, TableTexts};
use super::dictionary::DictTable;
use super::links;
use super::roots::{Root, find_roots, root_at};
use super::source::PageSource;

/// Name of the hidden column of FULLTEXT tables.
const FTS_DOC_ID: &str = "FTS_DOC_ID";

/// A column as it is shown.
#[derive(Debug, Clone)]
pub struct ShownColumn {
    /// Name.
    pub name: String,
    /// How its bytes read.
    pub text: TextType,
    /// Which field of a clustered record holds it.
    pub field: usize,
}

/// A tree of a table.
#[derive(Debug, Clone)]
pub struct TableIndex {
    /// Its definition.
    pub def: IndexDef,
    /// Its root.
    pub root: PageNo,
}

/// A table in a tablespace.
#[derive(Debug, Clone)]
pub struct TableInfo {
    /// Name, decoded.
    pub name: String,
    /// The columns a SELECT shows, in table order.
    pub columns: Vec<ShownColumn>,
    /// Layout of clustered records.
    pub layout: RecLayout,
    /// Root of the clustered index.
    pub root: Root,
    /// Trees, the clustered one first; none if nothing describes the table.
    pub indexes: Vec<TableIndex>,
    /// The `.frm`, if there is one.
    pub frm: Option<Frm>,
    /// The statement that makes the table, if what describes it tells one; else why not.
    pub create: Option<Result<String, String>>,
    /// Next AUTO_INCREMENT value, if the `.cfg` tells.
    pub autoinc: u64,
    /// What describes the table, for people.
    pub described_by: String,
}

/// Why metadata is of no use.
#[derive(Debug)]
pub enum MetadataError {
    /// A file cannot be read or is broken.
    File(PathBuf, String),
    /// COMPACT records cannot be read without.
    Needed,
    /// The metadata do not fit the tablespace.
    Mismatch(String),
    /// The table has what only later servers have.
    Foreign(Foreign),
    /// MariaDB's records cannot be read by a `.cfg` alone.
    FrmNeeded,
}

impl fmt::Display for MetadataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MetadataError::File(path, why) => write!(f, "{}: {why}", path.display()),
            MetadataError::Needed => f.write_str(
                "the records of this table do not describe themselves: give its .cfg with --cfg, its .frm with --frm, or a file with its \
                 CREATE TABLE with --sql",
            ),
            MetadataError::Mismatch(why) => write!(f, "the metadata do not fit the tablespace: {why}"),
            MetadataError::Foreign(foreign) => foreign.fmt(f),
            MetadataError::FrmNeeded => f.write_str(
                "made by MariaDB, whose .cfg does not tell compressed columns and its own forms of times from others: give \
                 the .frm with --frm",
            ),
        }
    }
}

impl std::error::Error for MetadataError {}

/// The files that describe a tablespace.
#[derive(Debug, Clone, Default)]
pub struct MetadataFiles {
    /// The `.cfg`.
    pub cfg: Option<PathBuf>,
    /// The `.frm`.
    pub frm: Option<PathBuf>,
    /// Statements, which are looked at before both if one is the table's.
    pub sql: Option<TableTexts>,
}

impl MetadataFiles {
    /// The files beside an `.ibd`. Of one elsewhere that an `.isl` leads to, the `.frm` is beside that.
    pub fn beside(ibd: &Path) -> MetadataFiles {
        if links::is_link(ibd) {
            let cfg = links::target(ibd).map_or(None, |file| MetadataFiles::beside(&file).cfg);
            return MetadataFiles { cfg, ..MetadataFiles::beside(&ibd.with_extension("ibd")) };
        }
        let stem = ibd.file_stem().and_then(|s| s.to_str()).unwrap_or_default();
        let table = stem.split_once("#P#").or_else(|| stem.split_once("#p#")).map_or(stem, |(t, _)| t);
        let existing = |name: String| Some(ibd.with_file_name(name)).filter(|p| p.is_file());
        MetadataFiles {
            cfg: existing(format!("{stem}.cfg")),
            frm: existing(format!("{table}.frm")),
            sql: None,
        }
    }
}

fn read<T>(
    path: Option<&PathBuf>,
    parse: impl Fn(&[u8]) -> vaquita_format::Result<T>,
) -> Result<Option<T>, MetadataError> {
    let Some(path) = path else { return Ok(None) };
    let fail = |why: String| MetadataError::File(path.clone(), why);
    let bytes = std::fs::read(path).map_err(|e| fail(e.to_string()))?;
    parse(&bytes).map(Some).map_err(|e| fail(e.to_string()))
}

/// The table in an `.ibd`, described by the given files.
///
/// # Errors
/// If a file is broken or does not fit, or there is none and the records do not describe themselves; if the table has what
/// only later servers have.
pub fn table_of(src: &dyn PageSource, ibd: &Path, files: &MetadataFiles) -> Result<TableInfo, MetadataError> {
    let stem = ibd.file_stem().and_then(|s| s.to_str()).unwrap_or("table");
    let name = TableFile::parse(stem).table;
    if let Some(texts) = &files.sql
        && let Some(text) = texts.of(&name)
    {
        let stated = StatedTable::make(text, src.page_size());
        let stated = stated.map_err(|e| MetadataError::Mismatch(format!("{texts}: {}", e.message)))?;
        return of_statement(src, name, stated, texts.to_string());
    }
    let cfg = read(files.cfg.as_ref(), TableMeta::parse)?;
    let frm = read(files.frm.as_ref(), Frm::parse)?;
    if let Some(foreign) = frm.as_ref().and_then(Frm::foreign) {
        return Err(MetadataError::Foreign(foreign));
    }
    let shown = |p: &Option<PathBuf>| {
        p.as_ref().and_then(|p| p.file_name()).map(|n| n.to_string_lossy().into_owned()).unwrap_or_default()
    };
    match (cfg, frm) {
        (Some(_), None) if is_of_mariadb(src) => Err(MetadataError::FrmNeeded),
        (Some(cfg), frm) => {
            let by = if frm.is_some() {
                format!("{} and {}", shown(&files.cfg), shown(&files.frm))
            } else {
                shown(&files.cfg)
            };
            of_cfg(src, name, &cfg, frm, by)
        }
        (None, Some(frm)) => of_frm(src, name, frm, shown(&files.frm)),
        (None, None) => match AuxiliaryColumns::of(&name) {
            Some(known) => of_auxiliary(src, name, known),
            None => undescribed(src, name),
        },
    }
}

/// A table of a FULLTEXT index: its name says what it is.
fn of_auxiliary(
    src: &dyn PageSource,
    name: String,
    known: AuxiliaryColumns,
) -> Result<TableInfo, MetadataError> {
    let Some(root) = roots_with_clustered(src).into_iter().next() else {
        return mismatch("no index root is to be found");
    };
    let spec = IndexSpec {
        id: root.index,
        name: known.key.to_owned(),
        row_format: RowFormat::Compact,
        page_size: src.page_size(),
    };
    let key: Vec<KeyPart> = (0..known.key_columns).map(KeyPart::whole).collect();
    let unfit = |e: vaquita_format::Corruption| MetadataError::Mismatch(e.to_string());
    let def = IndexDef::clustered(spec, &known.columns, Some(&key)).map_err(unfit)?;
    let indexes = vec![TableIndex { def, root: root.page }];
    table(src, name, known.columns, indexes, None, 0, "its name".to_owned())
}

fn is_of_mariadb(src: &dyn PageSource) -> bool {
    src.page(PageNo(0)).is_ok_and(|first| maker::is_of_mariadb(&first, src.page_size()))
}

fn mismatch<T>(why: impl Into<String>) -> Result<T, MetadataError> {
    Err(MetadataError::Mismatch(why.into()))
}

fn of_cfg(
    src: &dyn PageSource,
    name: String,
    cfg: &TableMeta,
    frm: Option<Frm>,
    described_by: String,
) -> Result<TableInfo, MetadataError> {
    let unfit = |e: vaquita_format::Corruption| MetadataError::Mismatch(e.to_string());
    if cfg.page_size().map_err(unfit)? != src.page_size() {
        return mismatch(format!(".cfg has pages of {} bytes", cfg.page_size));
    }
    // An import gives indexes new numbers: those on the pages count.
    let mut cfg = cfg.clone();
    for index in cfg.indexes.iter_mut().filter(|i| i.kind & index_type::FULLTEXT == 0) {
        if let Some(root) = root_at(src, index.root) {
            index.id = root.index;
        }
    }
    let defs = cfg.index_defs().map_err(unfit)?;
    let roots = cfg.indexes.iter().filter(|i| !i.is_fulltext()).map(|i| i.root);
    let indexes: Vec<TableIndex> =
        defs.into_iter().zip(roots).map(|(def, root)| TableIndex { def, root }).collect();
    let columns: Vec<ColumnDef> = cfg.user_columns().cloned().collect();
    table(src, name, columns, indexes, frm, cfg.autoinc, described_by)
}

fn of_frm(
    src: &dyn PageSource,
    name: String,
    frm: Frm,
    described_by: String,
) -> Result<TableInfo, MetadataError> {
    let roots = roots_with_clustered(src);
    let Some(first) = roots.first() else { return mismatch("no index root is to be found") };
    let row_format = row_format_of(src, first.comp);
    let unfit = |e: vaquita_format::Corruption| MetadataError::Mismatch(e.to_string());
    let mut kept_doc_id = false;
    let mut made = frm.table_def(src.page_size(), row_format, &[]).map_err(unfit)?;
    if made.fulltext.is_empty() && made.indexes.first().is_some_and(|def| !explains(src, def, first)) {
        // A dropped FULLTEXT index leaves its hidden column behind.
        let other = frm.table_def_with(src.page_size(), row_format, &[], true).map_err(unfit)?;
        if other.indexes.first().is_some_and(|def| explains(src, def, first)) {
            (made, kept_doc_id) = (other, true);
        }
    }
    check_clustered(&made.indexes, &roots, &described_by)?;
    let order = assign_roots(src, &made.indexes, &roots);
    // Once more, with the numbers of the pages.
    let ids: Vec<_> = order.iter().map(|r| r.map_or_else(Default::default, |r| r.index)).collect();
    let made = frm.table_def_with(src.page_size(), row_format, &ids, kept_doc_id).map_err(unfit)?;
    let indexes = made
        .indexes
        .into_iter()
        .zip(order)
        .filter_map(|(def, root)| Some(TableIndex { def, root: root?.page }))
        .collect();
    table(src, name, made.columns, indexes, Some(frm), 0, described_by)
}

fn of_statement(
    src: &dyn PageSource,
    name: String,
    stated: StatedTable,
    described_by: String,
) -> Result<TableInfo, MetadataError> {
    let roots = roots_with_clustered(src);
    let Some(first) = roots.first() else { return mismatch("no index root is to be found") };
    let row_format = row_format_of(src, first.comp);
    let unfit = |e: vaquita_format::Corruption| MetadataError::Mismatch(e.to_string());
    let defs = stated.indexes(src.page_size(), row_format, &[]).map_err(unfit)?;
    let described_by = format!("the CREATE TABLE in {described_by}");
    check_clustered(&defs, &roots, &described_by)?;
    if defs.first().is_some_and(|def| !explains(src, def, first)) {
        return mismatch(format!("the rows are not those of {described_by}"));
    }
    let order = assign_roots(src, &defs, &roots);
    // Once more, with the numbers of the pages.
    let ids: Vec<_> = order.iter().map(|r| r.map_or_else(Default::default, |r| r.index)).collect();
    let defs = stated.indexes(src.page_size(), row_format, &ids).map_err(unfit)?;
    let found = defs.into_iter().zip(order);
    let indexes = found.filter_map(|(def, root)| Some(TableIndex { def, root: root?.page })).collect();
    let how = Some(How::Statement(&stated));
    table_with(src, name, stated.columns(), indexes, how, 0, described_by)
}

/// That the first root is the one of the rows. Where page 3 is lost, and with it the whole clustered index, another index would be
/// taken for it, and its entries for rows.
fn check_clustered(defs: &[IndexDef], roots: &[Root], described_by: &str) -> Result<(), MetadataError> {
    let Some(first) = roots.first() else { return Ok(()) };
    if first.page != fsp::FIRST_ROOT_PAGE && roots.len() < defs.len() {
        return mismatch(format!(
            "page 3, the root of the clustered index, is lost, and so are its other pages: the file has {} of the {} indexes \
             that {described_by} tells of, and no rows",
            roots.len(),
            defs.len()
        ));
    }
    Ok(())
}

/// The roots of a tablespace, that of the clustered index first: if its page is lost, what its other pages tell.
fn roots_with_clustered(src: &dyn PageSource) -> Vec<Root> {
    let mut roots = find_roots(src);
    if roots.first().is_some_and(|r| r.page == fsp::FIRST_ROOT_PAGE) {
        return roots;
    }
    // The clustered index is the oldest: no page has a lower index number.
    let oldest = (0..src.n_pages())
        .filter_map(|no| src.page(PageNo(no)).ok())
        .filter(|page| fil::page_type(page) == Some(PageType::Index))
        .map(|page| (index_page::header::index_id(&page), index_page::header::is_comp(&page)))
        .min();
    if let Some((index, comp)) = oldest
        && roots.first().is_none_or(|r| r.index != index)
    {
        roots.insert(0, lost_root(fsp::FIRST_ROOT_PAGE, index, comp));
    }
    roots
}

/// Stands for a root whose page is lost: walks find it damaged and look for its leaves all over the file.
fn lost_root(page: PageNo, index: IndexId, comp: bool) -> Root {
    let none = SegmentHeader { space: SpaceId(0), inode: FileAddress::NULL };
    Root { page, index, level: 1, comp, leaf: none, top: none }
}

/// A table of the dictionary, whose tree is in `src`.
///
/// # Errors
/// If the `.frm` is broken or does not fit, or the root is none.
pub fn table_of_dictionary(
    src: &dyn PageSource,
    table_entry: &DictTable,
    frm: Option<&PathBuf>,
) -> Result<TableInfo, MetadataError> {
    let frm = read(frm, Frm::parse)?;
    if let Some(foreign) = frm.as_ref().and_then(Frm::foreign) {
        return Err(MetadataError::Foreign(foreign));
    }
    let last = table_entry.name.rsplit('/').next().unwrap_or_default();
    let name = TableFile::parse(last).table;
    let by = "the dictionary".to_owned();
    let mut info = table(src, name, table_entry.columns.clone(), table_entry.indexes.clone(), frm, 0, by)?;
    if !table_entry.name.contains('/') {
        // The dictionary's own tables hold numbers as they are, whatever their columns say: no sign was turned.
        for column in &mut info.columns {
            if let TextType::Int { unsigned, .. } = &mut column.text {
                *unsigned = true;
            }
        }
    }
    Ok(info)
}

/// The row format that the space flags and a page's record format tell.
pub fn row_format_of(src: &dyn PageSource, comp: bool) -> RowFormat {
    let flags = src.page(PageNo(0)).ok().and_then(|p| fsp::header::read_flags(&p).ok());
    match (src.page_size().is_compressed(), flags.is_some_and(|f| f.atomic_blobs()), comp) {
        (true, ..) => RowFormat::Compressed,
        (_, true, _) => RowFormat::Dynamic,
        (_, _, true) => RowFormat::Compact,
        _ => RowFormat::Redundant,
    }
}

/// Which root belongs to which definition. The clustered index is the oldest; a later index takes the oldest root
/// left whose pages its definition explains (trees that ALTER TABLE added are not in the order of the `.frm`).
fn assign_roots(src: &dyn PageSource, defs: &[IndexDef], roots: &[Root]) -> Vec<Option<Root>> {
    let mut left: Vec<Root> = roots.to_vec();
    let mut out = Vec::new();
    for (i, def) in defs.iter().enumerate() {
        let fits = |root: &Root| i == 0 || explains(src, def, root);
        let found = left.iter().position(fits);
        out.push(found.map(|at| left.remove(at)));
    }
    out
}

/// Whether the pages on the way to the leftmost leaf are sound by a definition. Damaged pages are judged later: then
/// the order of creation decides.
fn explains(src: &dyn PageSource, def: &IndexDef, root: &Root) -> bool {
    let mut offsets = Offsets::new();
    let mut no = root.page;
    for level in (0..=root.level).rev() {
        let Ok(page) = super::walk::index_page_at(src, no, root.index, level) else { return true };
        if index_page::validate(&page, Some(def)).is_err() {
            return false;
        }
        let first = index_page::records(&page).next().and_then(|rec| rec.ok());
        let parsed = first.filter(|&rec| offsets.parse(&page, rec, def.layout()).is_ok());
        match parsed.and_then(|rec| super::walk::child_page(&page, rec, &offsets)) {
            Some(child) if level > 0 => no = child,
            _ => break,
        }
    }
    true
}

fn table(
    src: &dyn PageSource,
    name: String,
    columns: Vec<ColumnDef>,
    indexes: Vec<TableIndex>,
    frm: Option<Frm>,
    autoinc: u64,
    described_by: String,
) -> Result<TableInfo, MetadataError> {
    let how = frm.as_ref().map(How::Frm);
    let made = table_with(src, name, columns, indexes, how, autoinc, described_by)?;
    Ok(TableInfo { frm, ..made })
}

/// What says how values read.
#[derive(Clone, Copy)]
enum How<'a> {
    Frm(&'a Frm),
    Statement(&'a StatedTable),
}

impl How<'_> {
    /// How a column reads, which it knows.
    fn text_of(self, column: &str) -> Option<TextType> {
        match self {
            How::Frm(frm) => frm.columns.iter().find(|c| c.name == column).map(FrmColumn::text_type),
            How::Statement(stated) => stated.text_of(column),
        }
    }

    fn create(self, name: &str, next_number: u64) -> Result<String, String> {
        match self {
            How::Frm(frm) => show_create_frm(frm, name, next_number).map_err(|e| e.to_string()),
            How::Statement(stated) => Ok(stated.create()),
        }
    }
}

fn table_with(
    src: &dyn PageSource,
    name: String,
    columns: Vec<ColumnDef>,
    indexes: Vec<TableIndex>,
    how: Option<How<'_>>,
    autoinc: u64,
    described_by: String,
) -> Result<TableInfo, MetadataError> {
    let Some(clustered) = indexes.first() else { return mismatch("there is no clustered index") };
    let root = root_at(src, clustered.root)
        .filter(|r| r.index == clustered.def.id())
        .unwrap_or_else(|| lost_root(clustered.root, clustered.def.id(), clustered.def.layout().comp()));
    let mut shown = Vec::new();
    for column in &columns {
        let text = match how.map(|how| how.text_of(&column.name)) {
            Some(Some(text)) => text,
            None if !is_hidden(column) => TextType::of_column(column),
            // The server layer does not know the hidden column.
            _ if is_hidden(column) => continue,
            _ => return mismatch(format!("nothing says how column {} reads", column.name)),
        };
        let fields = clustered.def.fields();
        let field = fields.iter().position(|f| f.column.name == column.name && f.prefix_len == 0);
        let Some(field) = field else { return mismatch(format!("no field holds column {}", column.name)) };
        shown.push(ShownColumn { name: column.name.clone(), text, field });
    }
    let layout = clustered.def.layout().clone();
    let create = how.map(|how| how.create(&name, autoinc));
    Ok(TableInfo { name, columns: shown, layout, root, indexes, frm: None, create, autoinc, described_by })
}

/// The document id that a FULLTEXT index added: the user's own column has type BIGINT.
fn is_hidden(column: &ColumnDef) -> bool {
    column.name == FTS_DOC_ID
        && column.mtype == MType::Int
        && column.len == 8
        && column.mysql_type() == mysql_type::LONG
}

/// A table about which only its pages say something: fields of REDUNDANT records, without names.
fn undescribed(src: &dyn PageSource, name: String) -> Result<TableInfo, MetadataError> {
    let roots = find_roots(src);
    let Some(&root) = roots.first() else { return mismatch("no index root is to be found") };
    if root.comp {
        return Err(MetadataError::Needed);
    }
    let layout = RecLayout::redundant();
    let n = fields_of_first_row(src, &root).unwrap_or(0);
    let column = |field: usize| ShownColumn { name: format!("field_{field}"), text: TextType::Bytes, field };
    Ok(TableInfo {
        name,
        columns: (0..n).map(column).collect(),
        layout,
        root,
        indexes: Vec::new(),
        frm: None,
        create: None,
        autoinc: 0,
        described_by: "its records alone".to_owned(),
    })
}

/// Number of fields of the first row of a REDUNDANT tree.
fn fields_of_first_row(src: &dyn PageSource, root: &Root) -> Option<usize> {
    let layout = RecLayout::redundant();
    let mut offsets = vaquita_format::record::Offsets::new();
    let mut no = root.page;
    for level in (0..=root.level).rev() {
        let page = src.logical(no).ok()?;
        let first = index_page::records(&page).next()?.ok()?;
        offsets.parse(&page, first, &layout).ok()?;
        if level == 0 {
            return Some(offsets.n_fields());
        }
        no = super::walk::child_page(&page, first, &offsets)?;
    }
    None
}
