//! Table objects from the rows of the SYS tables.

use crate::dict::build::{IndexParts, TableParts};
use crate::dict::codec::TableExtra;
use crate::dict::fulltext::{DOC_ID, DOC_ID_INDEX};
use crate::dict::rows::{self, SysRow};
use crate::dict::{Dictionary, server_files};
use crate::error::{Error, Result};
use crate::kept::{self, Extra};
use crate::partition::whole_name;
use crate::table::{Column, ForeignKey, FullTextIndex, ReferentialAction, Table, Unmaintained};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use vaquita_base::{IndexId, PageNo, SpaceId, TableId, TrxId};
use vaquita_format::PageSize;
use vaquita_format::charset::Charset;
use vaquita_format::column::{ColumnDef, MType, prtype};
use vaquita_format::dict::{self as layout, foreign_type, index_type, mix_len};
use vaquita_format::flags::TableFlags;
use vaquita_format::frm::Frm;
use vaquita_format::index_def::{KeyPart, RowFormat};
use vaquita_storage::Storage;

/// What a row of SYS_TABLES says.
#[derive(Debug, Clone)]
pub(crate) struct TableRow {
    pub(crate) name: String,
    pub(crate) id: TableId,
    pub(crate) n_cols: u32,
    pub(crate) flags: u32,
    /// Its rows have versions: what they are is told by our own table.
    pub(crate) has_versions: bool,
    pub(crate) mix_len: u32,
    pub(crate) space: SpaceId,
}

/// Who tells what InnoDB's dictionary does not know of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Told {
    /// Our own table, or the `.frm` if a MySQL server has written it since.
    ByWhoWroteLast,
    /// Our own table, if it does: its `.frm` is about to be written.
    ByUs,
}

impl TableRow {
    pub(crate) fn of(row: &SysRow) -> Self {
        Self {
            name: row.text(0),
            id: TableId(row.number(3)),
            n_cols: row.u32(4),
            flags: row.u32(5) & !layout::TYPE_ROW_VERSIONS,
            has_versions: row.u32(5) & layout::TYPE_ROW_VERSIONS != 0,
            mix_len: row.u32(7),
            space: SpaceId(row.u32(9)),
        }
    }

    pub(crate) fn row_format(&self) -> RowFormat {
        let compact = self.n_cols & layout::n_cols::COMPACT != 0;
        let flags = TableFlags::decode(self.flags).unwrap_or(TableFlags::ANTELOPE);
        match (flags.zip_size(), flags.atomic_blobs(), compact) {
            (Some(_), ..) => RowFormat::Compressed,
            (_, true, _) => RowFormat::Dynamic,
            (_, _, true) => RowFormat::Compact,
            _ => RowFormat::Redundant,
        }
    }

    fn page_size(&self, logical: usize) -> Option<PageSize> {
        match TableFlags::decode(self.flags).ok()?.zip_size() {
            None => PageSize::new(logical),
            Some(zip) => PageSize::compressed(logical, zip),
        }
    }

    /// Whether pages of its file can be read here.
    ///
    /// # Errors
    /// They are compressed.
    pub(crate) fn check_pages(&self) -> Result<()> {
        if self.row_format() != RowFormat::Compressed {
            return Ok(());
        }
        let detail = "compressed tables (ROW_FORMAT=COMPRESSED) cannot be used yet".into();
        let table = whole_name(&self.name).unwrap_or(&self.name).to_owned();
        Err(Error::TableUnusable { table, detail, damaged: false })
    }

    /// What MIX_LEN says, which REDUNDANT tables do not have.
    fn is_marked_discarded(&self) -> bool {
        self.n_cols & layout::n_cols::COMPACT != 0 && self.mix_len & mix_len::DISCARDED != 0
    }
}

impl Dictionary {
    /// The row of a table in SYS_TABLES.
    pub(crate) fn table_row(&self, storage: &Storage, name: &str) -> Result<Option<TableRow>> {
        let found = rows::read(storage, self.sys.core.tables.clustered(), &[name.as_bytes()])?;
        Ok(found.first().map(TableRow::of))
    }

    /// The row of a user's table: the dictionary's own have names without a database.
    ///
    /// # Errors
    /// [`Error::NoSuchTable`]; errors of reading the dictionary.
    pub(crate) fn user_table_row(&self, storage: &Storage, name: &str) -> Result<TableRow> {
        let row = self.table_row(storage, name)?.filter(|_| name.contains('/'));
        row.ok_or_else(|| Error::NoSuchTable(name.to_owned()))
    }

    /// The name of the table with that number.
    pub(crate) fn table_name(&self, storage: &Storage, id: TableId) -> Result<Option<String>> {
        let id = rows::u64_value(id.get()).unwrap_or_default();
        let found = rows::read(storage, &self.sys.core.tables.indexes[1], &[&id])?;
        Ok(found.first().map(|row| row.text(1)))
    }

    /// Reads a table's definition and opens its trees. The caller holds the dictionary's latch.
    pub(crate) fn load(&self, storage: &Storage, name: &str) -> Result<Option<Table>> {
        let Some(row) = self.table_row(storage, name)? else { return self.load_whole(storage, name) };
        let parts = self.read_parts(storage, &row)?;
        if parts.discarded {
            return Err(Error::Discarded(name.to_owned()));
        }
        row.check_pages()?;
        self.open_space(storage, &row)?;
        let foreign_keys = self.foreign_keys(storage, 1, name)?;
        let referenced_by = self.foreign_keys(storage, 2, name)?;
        let mut table = parts.open(storage, self.observer.as_ref()).map_err(|e| match e {
            Error::Tree(e) if e.is_corruption() => {
                Error::TableUnusable { table: name.to_owned(), detail: e.to_string(), damaged: true }
            }
            other => other,
        })?;
        (table.foreign_keys, table.referenced_by) = (foreign_keys, referenced_by);
        if !table.is_system {
            table.unmaintained = self.unmaintained(storage, &row, &mut table)?;
            table.triggers = self.objects.now().triggers_of(name).to_vec();
        }
        Ok(Some(table))
    }

    /// What the dictionary says of a table whose tablespace, or that of one of its parts, is discarded; `None` if it is not, or there is no table.
    ///
    /// # Errors
    /// Errors of reading the dictionary.
    pub(crate) fn discarded(&self, storage: &Storage, name: &str) -> Result<Option<Table>> {
        let _latch = self.freeze();
        let Some(row) = self.table_row(storage, name)? else { return self.discarded_whole(storage, name) };
        let parts = self.read_parts(storage, &row)?;
        if !parts.discarded || parts.page_size.is_compressed() {
            return Ok(None);
        }
        let mut table = parts.detached()?;
        (table.foreign_keys, table.referenced_by) =
            (self.foreign_keys(storage, 1, name)?, self.foreign_keys(storage, 2, name)?);
        table.triggers = self.objects.now().triggers_of(name).to_vec();
        Ok(Some(table))
    }

    /// Whether the tablespace of a table is discarded: a REDUNDANT one has no bit for it, but no root either.
    pub(crate) fn is_discarded(&self, storage: &Storage, row: &TableRow) -> Result<bool> {
        if row.row_format() != RowFormat::Redundant || row.space == SpaceId::SYSTEM {
            return Ok(row.is_marked_discarded());
        }
        let id = rows::u64_value(row.id.get()).unwrap_or_default();
        let indexes = rows::read(storage, self.sys.core.indexes.clustered(), &[&id])?;
        Ok(indexes
            .iter()
            .any(|index| index.u32(6) & index_type::CLUSTERED != 0 && PageNo(index.u32(8)).is_null()))
    }

    /// What a MySQL server keeps of the table that is not kept up here.
    fn unmaintained(
        &self,
        storage: &Storage,
        row: &TableRow,
        table: &mut Table,
    ) -> Result<Option<Unmaintained>> {
        let short = row.name.split_once('/').map_or("", |(_, table)| table);
        table.is_part = whole_name(&row.name).is_some();
        table.is_auxiliary = vaquita_format::filename::is_of_words(short);
        if !table.fulltext.is_empty() && table.doc_ids.is_none() {
            return Ok(Some(Unmaintained::FullText));
        }
        Ok(self.has_server_triggers(storage, &row.name)?.then_some(Unmaintained::Triggers))
    }

    /// Whether a MySQL server has triggers of a table that are not those which the dictionary has.
    pub(crate) fn has_server_triggers(&self, storage: &Storage, name: &str) -> Result<bool> {
        if !storage.fs().exists(&server_files::triggers_path(storage, name)) {
            return Ok(false);
        }
        let Some(maker) = self.server_files.get() else { return Ok(true) };
        let told = server_files::told_triggers(&self.objects.now(), &**maker, name);
        Ok(match server_files::triggers_of(storage, name)? {
            Some(Ok(triggers)) => triggers != told,
            Some(Err(_)) => true,
            None => false,
        })
    }

    /// All that the dictionary says of a table, without opening it.
    pub(crate) fn read_parts(&self, storage: &Storage, row: &TableRow) -> Result<TableParts> {
        self.read_parts_by(storage, row, Told::ByWhoWroteLast)
    }

    /// The same, where `told` says who tells what InnoDB's dictionary does not.
    pub(crate) fn read_parts_by(&self, storage: &Storage, row: &TableRow, told: Told) -> Result<TableParts> {
        let corrupt = |c: vaquita_format::Corruption| Error::Corrupt(format!("table {}: {c}", row.name));
        let id = rows::u64_value(row.id.get()).unwrap_or_default();
        let core = &self.sys.core;
        let mut columns = Vec::new();
        for column in rows::read(storage, core.columns.clustered(), &[&id])? {
            columns.push(Column::new(column_def(&column).map_err(corrupt)?));
        }
        let page_size = row.page_size(storage.options().page_size.logical());
        let mut parts = TableParts {
            id: row.id,
            name: row.name.clone(),
            space: row.space,
            directory: self.directory_of(storage, row.space)?,
            row_format: row.row_format(),
            page_size: page_size.ok_or_else(|| {
                Error::Corrupt(format!("table {}: flags {:#x} in SYS_TABLES", row.name, row.flags))
            })?,
            columns,
            indexes: Vec::new(),
            fulltext: Vec::new(),
            comment: String::new(),
            collation: 0,
            extra: String::new(),
            auto_inc_from: 0,
            versions: None,
            discarded: self.is_discarded(storage, row)?,
            is_system: crate::dict::sys_tables::is_sys_name(&row.name),
        };
        for index in rows::read(storage, core.indexes.clustered(), &[&id])? {
            parts.indexes.extend(self.index_parts(storage, &parts, &index)?);
            parts.fulltext.extend(self.full_text_index(storage, &parts, &index)?);
        }
        let is_ours = self.add_extra(storage, &mut parts, told)?;
        if row.has_versions != parts.versions.is_some() {
            return Err(Error::Corrupt(format!(
                "table {}: its row versions are not told, or are none",
                row.name
            )));
        }
        let frm = if is_ours { None } else { server_files::read_frm(storage, &parts.name)? };
        hide_doc_id(&mut parts, row, frm.as_ref());
        Ok(parts)
    }

    /// A FULLTEXT index, unless it is another one or not finished.
    fn full_text_index(
        &self,
        storage: &Storage,
        table: &TableParts,
        row: &SysRow,
    ) -> Result<Option<FullTextIndex>> {
        let unfinished = row.bytes(4).first() == Some(&layout::INDEX_BEING_BUILT);
        if row.u32(6) & index_type::FULLTEXT == 0 || unfinished {
            return Ok(None);
        }
        let name = row.text(4);
        let fields = rows::read(storage, self.sys.core.fields.clustered(), &[row.bytes(1)])?;
        let position = |field: &SysRow| {
            let found = table.columns.iter().position(|c| c.def.name == field.text(4));
            found.ok_or_else(|| {
                Error::Corrupt(format!("table {}: a column of index {name} is none", table.name))
            })
        };
        let columns = fields.iter().map(position).collect::<Result<_>>()?;
        // Who makes its words is told by our own table, and so is where they are; if nobody else has made the index anew since.
        let split = (row.u32(6) & index_type::CORRUPT != 0).then(String::new);
        Ok(Some(FullTextIndex { id: IndexId(row.number(1)), name, columns, parser: None, split }))
    }

    /// An index, unless it has no tree or is not finished.
    fn index_parts(&self, storage: &Storage, table: &TableParts, row: &SysRow) -> Result<Option<IndexParts>> {
        let root = PageNo(row.u32(8));
        let kind = row.u32(6);
        let unfinished = row.bytes(4).first() == Some(&layout::INDEX_BEING_BUILT);
        if (root.is_null() && !table.discarded) || kind & index_type::FULLTEXT != 0 || unfinished {
            return Ok(None);
        }
        let is_clustered = kind & index_type::CLUSTERED != 0;
        if is_clustered != table.indexes.is_empty() {
            let text = format!("table {}: index {} is not where it should be", table.name, row.text(4));
            return Err(Error::Corrupt(text));
        }
        let mut parts = Vec::new();
        let fields = rows::read(storage, self.sys.core.fields.clustered(), &[row.bytes(1)])?;
        for (n, field) in fields.iter().enumerate() {
            let (_, prefix_len) = layout::decode_field_pos(field.u32(1), n as u32);
            let name = field.text(4);
            let column = table.columns.iter().position(|c| c.def.name == name).ok_or_else(|| {
                Error::Corrupt(format!("table {}: field {name} of an index is no column", table.name))
            })?;
            // Which of them are descending is told by our own table.
            parts.push(KeyPart::prefix(column, prefix_len));
        }
        Ok(Some(IndexParts {
            id: IndexId(row.number(1)),
            name: row.text(4),
            parts,
            unique: kind & index_type::UNIQUE != 0,
            root,
            trx_id: TrxId(vaquita_base::codec::get_uint(row.bytes(2), 0, row.bytes(2).len().min(8))),
            comment: String::new(),
            hidden: false,
        }))
    }

    /// Defaults, labels, comments: from our table, unless a MySQL server has changed its `.frm` since; else from that. Whether it was ours.
    fn add_extra(&self, storage: &Storage, parts: &mut TableParts, told: Told) -> Result<bool> {
        if parts.is_system {
            return Ok(false);
        }
        let own = self.read_extra(storage, parts.id)?;
        let divided = own.as_ref().map(|own| Extra::parse(&own.extra)).unwrap_or_default();
        for index in &mut parts.fulltext {
            // No `.frm` tells how they are divided, whoever wrote it last: the index is still ours while its row has the mark.
            index.split = index.split.take().and_then(|_| kept::split(&divided, &index.name));
        }
        // A server of 5.6 does not open tables whose rows have versions.
        let newer = match &own {
            Some(own) if told == Told::ByUs || own.versions.is_some() => None,
            Some(_) => server_files::read_newer_extra(storage, parts)?,
            None => server_files::read_extra(storage, parts)?,
        };
        let is_ours = newer.is_none() && own.is_some();
        let extra = newer.or(own);
        let Some(extra) = extra else { return Ok(false) };
        for index in &mut parts.indexes {
            let kept = Extra::parse(&extra.extra);
            kept::direct(&kept, &index.name, &mut index.parts);
            index.hidden = kept::is_hidden(&kept, &index.name);
        }
        for index in &mut parts.fulltext {
            let kept = Extra::parse(&extra.extra);
            index.parser = kept::parser(&kept, &index.name);
        }
        parts.collation = extra.collation;
        parts.comment = extra.comment;
        parts.extra = extra.extra;
        parts.auto_inc_from = extra.auto_inc_from;
        if let Some(versions) = &extra.versions {
            let bad = |c| Error::Corrupt(format!("table {}: {c}", parts.name));
            versions.check(parts.columns.len()).map_err(bad)?;
        }
        parts.versions = extra.versions;
        for (column, kept) in parts.columns.iter_mut().zip(extra.columns) {
            kept.apply(column);
        }
        for (id, comment) in extra.index_comments {
            if let Some(index) = parts.indexes.iter_mut().find(|i| i.id == id) {
                index.comment = comment;
            }
        }
        Ok(is_ours)
    }

    /// Our own record of a table.
    pub(crate) fn read_extra(&self, storage: &Storage, id: TableId) -> Result<Option<TableExtra>> {
        let Some(table) = &self.sys.extra else { return Ok(None) };
        let id_bytes = rows::u64_value(id.get()).unwrap_or_default();
        let pieces = rows::read(storage, table.clustered(), &[&id_bytes])?;
        if pieces.is_empty() {
            return Ok(None);
        }
        let bytes: Vec<u8> = pieces.iter().flat_map(|p| p.bytes(4)).copied().collect();
        let extra = TableExtra::decode(&bytes);
        extra.map(Some).map_err(|c| Error::Corrupt(format!("SYS_VAQUITA_TABLES, table {id}: {c}")))
    }

    /// Foreign keys whose child (index 1, FOR_IND) or parent (index 2, REF_IND) is `name`.
    pub(crate) fn foreign_keys(
        &self,
        storage: &Storage,
        by: usize,
        name: &str,
    ) -> Result<Vec<Arc<ForeignKey>>> {
        let (Some(foreign), Some(columns)) = (&self.sys.foreign, &self.sys.foreign_cols) else {
            return Ok(Vec::new());
        };
        let mut out = Vec::new();
        for entry in rows::read(storage, &foreign.indexes[by], &[name.as_bytes()])? {
            // Names there compare without case: not all of what is found is of this table.
            if entry.bytes(0) != name.as_bytes() {
                continue;
            }
            let found = rows::read(storage, foreign.clustered(), &[entry.bytes(1)])?;
            let Some(row) = found.iter().find(|row| row.bytes(0) == entry.bytes(1)) else { continue };
            let columns = rows::read(storage, columns.clustered(), &[entry.bytes(1)])?;
            out.push(Arc::new(foreign_key(row, &columns)));
        }
        Ok(out)
    }

    /// Opens the files of tables that are in one of `wanted`, as far as they can be opened.
    ///
    /// # Errors
    /// Errors of reading the dictionary.
    pub(crate) fn open_spaces(&self, storage: &Storage, wanted: &BTreeSet<SpaceId>) -> Result<()> {
        for table in self.sys_tables(storage)?.iter().filter(|table| wanted.contains(&table.space)) {
            // It may be another table's by now, or nobody's.
            let _latch = self.freeze();
            let row = self.table_row(storage, &table.name)?;
            if let Some(row) = row.filter(|row| row.space == table.space && !row.is_marked_discarded()) {
                // Whoever uses the table is told what is wrong with its file.
                let _ = self.open_space(storage, &row);
            }
        }
        Ok(())
    }

    /// Opens the table's file.
    pub(crate) fn open_space(&self, storage: &Storage, row: &TableRow) -> Result<()> {
        if row.space == SpaceId::SYSTEM || storage.spaces().contains(row.space) {
            return Ok(());
        }
        let unusable =
            |detail: String| Error::TableUnusable { table: row.name.clone(), detail, damaged: false };
        let path = self.file_of(storage, row)?;
        if !storage.fs().exists(&path) {
            return Err(missing(&row.name, &path));
        }
        storage.open_table_space(row.space, &path).map_err(|e| unusable(e.to_string()))
    }

    /// Where a table's file is: where its `.isl` leads, where SYS_DATAFILES says, or below the folder; the first of these where there is one.
    fn file_of(&self, storage: &Storage, row: &TableRow) -> Result<PathBuf> {
        let own = storage.place_of(&row.name, None);
        let mut elsewhere = storage.link_target(&row.name)?.filter(|target| *target != own);
        if elsewhere.is_none() {
            elsewhere = self.path_elsewhere(storage, row.space)?.map(PathBuf::from);
        }
        let Some(elsewhere) = elsewhere else { return Ok(own) };
        match (storage.fs().exists(&elsewhere), storage.fs().exists(&own)) {
            (false, true) => Ok(own),
            (true, true) if storage.holds(&own, row.space)? => Err(Error::TableUnusable {
                table: row.name.clone(),
                detail: format!(
                    "{} and {} both hold it; move one of them away",
                    own.display(),
                    elsewhere.display()
                ),
                damaged: false,
            }),
            _ => Ok(elsewhere),
        }
    }

    /// The path that SYS_DATAFILES has of a tablespace that is not below the folder.
    fn path_elsewhere(&self, storage: &Storage, space: SpaceId) -> Result<Option<String>> {
        let Some(files) = self.sys.files.as_ref().filter(|_| space != SpaceId::SYSTEM) else {
            return Ok(None);
        };
        let key = rows::u32_value(space.get()).unwrap_or_default();
        let found = rows::read(storage, files.clustered(), &[&key])?;
        Ok(found.first().map(|row| row.text(3)).filter(|path| path.starts_with('/')))
    }

    /// The directory elsewhere that a tablespace is below, with a slash at its end: the path without `database/table.ibd`.
    pub(crate) fn directory_of(&self, storage: &Storage, space: SpaceId) -> Result<Option<String>> {
        let path = self.path_elsewhere(storage, space)?;
        let directory = path.as_deref().and_then(|path| path.rsplit_once('/')?.0.rsplit_once('/'));
        Ok(directory.map(|(directory, _)| format!("{directory}/")))
    }
}

/// A table's file is not there.
pub(crate) fn missing(table: &str, file: &Path) -> Error {
    let detail = format!("its file {} is missing", file.display());
    Error::TableUnusable { table: table.to_owned(), detail, damaged: false }
}

/// Marks the column that numbers documents and its index as hidden, if a MySQL server's InnoDB has added them; what was added here is told
/// by our own table. SYS_TABLES has a bit for the column, but not of REDUNDANT tables; of these, and of the index, the `.frm` tells, which
/// has only what was declared.
fn hide_doc_id(parts: &mut TableParts, row: &TableRow, frm: Option<&Frm>) {
    let last = parts.columns.len().wrapping_sub(1);
    let Some(at) = parts.columns.iter().position(|c| c.def.name == DOC_ID) else { return };
    if parts.is_system {
        return;
    }
    let lacks_column = frm.is_some_and(|frm| frm.columns.iter().all(|c| c.name != DOC_ID));
    let lacks_key = frm.is_some_and(|frm| frm.keys.iter().all(|k| k.name != DOC_ID_INDEX));
    let hidden = match parts.row_format {
        RowFormat::Redundant => lacks_column,
        _ => row.mix_len & mix_len::HAS_DOC_ID != 0,
    };
    parts.columns[at].hidden |= hidden && at == last;
    let index = parts.indexes.iter_mut().find(|index| index.name == DOC_ID_INDEX);
    index.into_iter().for_each(|index| index.hidden |= hidden || lacks_key);
}

fn column_def(row: &SysRow) -> vaquita_format::Result<ColumnDef> {
    let mtype = MType::from_code(row.u32(5))?;
    let precise = row.u32(6);
    let def = ColumnDef::new(row.text(4), mtype, precise, row.u32(7));
    // Widths of characters are not stored: they follow from the collation.
    let charset = Charset::of_collation((precise >> prtype::COLLATION_SHIFT) as u16);
    Ok(match charset.filter(|_| mtype.is_string()) {
        Some(charset) => def.with_mbminmaxlen(charset.mb_min_max_len()),
        None => def,
    })
}

fn foreign_key(row: &SysRow, columns: &[SysRow]) -> ForeignKey {
    let kind = row.u32(5) >> foreign_type::SHIFT;
    let own = columns.iter().filter(|c| c.bytes(0) == row.bytes(0));
    let action = |cascade: u32, set_null: u32, no_action: u32| match () {
        () if kind & cascade != 0 => ReferentialAction::Cascade,
        () if kind & set_null != 0 => ReferentialAction::SetNull,
        () if kind & no_action != 0 => ReferentialAction::NoAction,
        () => ReferentialAction::Restrict,
    };
    use foreign_type as t;
    ForeignKey {
        id: row.text(0),
        child: row.text(3),
        parent: row.text(4),
        child_columns: own.clone().map(|c| c.text(4)).collect(),
        parent_columns: own.map(|c| c.text(5)).collect(),
        on_delete: action(t::DELETE_CASCADE, t::DELETE_SET_NULL, t::DELETE_NO_ACTION),
        on_update: action(t::UPDATE_CASCADE, t::UPDATE_SET_NULL, t::UPDATE_NO_ACTION),
    }
}
