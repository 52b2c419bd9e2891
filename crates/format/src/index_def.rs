//! Index definitions: which fields, in which order, how they compare, and what follows from that once and for all.
//!
//! Three kinds of index exist:
//! - clustered: key columns (or DB_ROW_ID), DB_TRX_ID, DB_ROLL_PTR, then the other columns in table order;
//! - secondary: key columns, then those clustered key columns that are not in it in full;
//! - plain: any fields, the first of them the key, no system columns (the change buffer's kind of tree).
//!
//! Node pointers of a clustered or plain index hold the key fields, those of a secondary index all fields; see
//! [`IndexDef::n_uniq_in_tree`].

use crate::collation::Collation;
use crate::column::{ColumnDef, DB_ROW_ID, LATIN1_SWEDISH_CI, MType};
use crate::error::{Corruption, Result};
use crate::page_size::PageSize;
use crate::record_layout::{FieldLayout, RecLayout, field_fixed_len};
use crate::redo_rec::index::push_versions;
pub use crate::row_format::RowFormat;
use std::cmp::Ordering;
use vaquita_base::IndexId;
use vaquita_base::codec::push_u16;

/// Kind of an index; see the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IndexKind {
    /// Holds the rows.
    Clustered,
    /// Holds keys and the clustered key.
    Secondary,
    /// Bare key and payload fields.
    Plain,
}

/// How two values of a field compare; SQL NULL is below all of them, in a descending field behind them.
#[derive(Debug, Clone, Copy)]
pub enum FieldCmp {
    /// As byte strings.
    Bytes,
    /// As text, trailing spaces insignificant.
    Text(Collation),
    /// As text of a collation this program does not know; compares as bytes, which is not the order of the index.
    Unknown(u16),
    /// As little-endian 32-bit IEEE numbers.
    Float,
    /// As little-endian 64-bit IEEE numbers.
    Double,
    /// The other way round than as byte strings.
    BytesDown,
    /// The other way round than as text.
    TextDown(Collation),
    /// The other way round than in a collation this program does not know.
    UnknownDown(u16),
    /// The other way round than as 32-bit numbers.
    FloatDown,
    /// The other way round than as 64-bit numbers.
    DoubleDown,
}

impl FieldCmp {
    /// The comparison of a column's values.
    pub fn of(column: &ColumnDef) -> FieldCmp {
        match column.mtype {
            MType::Float => FieldCmp::Float,
            MType::Double => FieldCmp::Double,
            MType::Int | MType::Sys | MType::FixBinary | MType::Binary => FieldCmp::Bytes,
            MType::VarChar | MType::Char | MType::Blob | MType::Decimal | MType::VarMySql | MType::MySql => {
                if column.is_binary() {
                    return FieldCmp::Bytes;
                }
                let id = match column.collation_id() {
                    // Tables older than collations in the dictionary.
                    0 => LATIN1_SWEDISH_CI,
                    id => id,
                };
                Collation::of(id).map_or(FieldCmp::Unknown(id), FieldCmp::Text)
            }
        }
    }

    /// The other way round.
    #[must_use]
    pub fn reversed(self) -> FieldCmp {
        match self {
            FieldCmp::Bytes => FieldCmp::BytesDown,
            FieldCmp::Text(collation) => FieldCmp::TextDown(collation),
            FieldCmp::Unknown(id) => FieldCmp::UnknownDown(id),
            FieldCmp::Float => FieldCmp::FloatDown,
            FieldCmp::Double => FieldCmp::DoubleDown,
            FieldCmp::BytesDown => FieldCmp::Bytes,
            FieldCmp::TextDown(collation) => FieldCmp::Text(collation),
            FieldCmp::UnknownDown(id) => FieldCmp::Unknown(id),
            FieldCmp::FloatDown => FieldCmp::Float,
            FieldCmp::DoubleDown => FieldCmp::Double,
        }
    }

    /// Whether greater values come first.
    #[inline]
    pub fn is_descending(self) -> bool {
        matches!(
            self,
            FieldCmp::BytesDown
                | FieldCmp::TextDown(_)
                | FieldCmp::UnknownDown(_)
                | FieldCmp::FloatDown
                | FieldCmp::DoubleDown
        )
    }

    /// The order of the values themselves, whatever that of the field is.
    #[must_use]
    pub fn of_values(self) -> FieldCmp {
        if self.is_descending() { self.reversed() } else { self }
    }

    /// The order of two values that begin with the same bytes, by the first that differ; `None` if it depends on more.
    #[inline]
    pub fn by_differing_bytes(self, a: u8, b: u8) -> Option<Ordering> {
        match self {
            FieldCmp::Bytes | FieldCmp::Unknown(_) => Some(a.cmp(&b)),
            FieldCmp::Text(collation) => collation.by_differing_bytes(a, b),
            FieldCmp::Float | FieldCmp::Double | FieldCmp::FloatDown | FieldCmp::DoubleDown => None,
            FieldCmp::BytesDown | FieldCmp::UnknownDown(_) => Some(b.cmp(&a)),
            FieldCmp::TextDown(collation) => collation.by_differing_bytes(a, b).map(Ordering::reverse),
        }
    }

    /// Whether the order is known to this program: the collation is implemented.
    pub fn is_known(self) -> bool {
        !matches!(self, FieldCmp::Unknown(_) | FieldCmp::UnknownDown(_))
    }
}

/// A field of an index: a column or its prefix.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FieldDef {
    /// The column.
    pub column: ColumnDef,
    /// Bytes of the column's prefix, 0 for the whole column.
    pub prefix_len: u32,
    /// Bytes of every value, 0 for variable length.
    pub fixed_len: u32,
    /// Greater values come first.
    pub descending: bool,
    /// Of a field that came or went without the rows being written anew.
    pub instant: Option<Box<Instant>>,
}

/// The versions of a table's rows that have a field; see [`record_layout`](crate::record_layout).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Instant {
    /// The version it came with; 0: it was always there.
    pub added: u8,
    /// The version it went with; 0: it is there.
    pub dropped: u8,
    /// What rows of versions before `added` have.
    pub default: Option<Box<[u8]>>,
}

impl FieldDef {
    /// A field of a table in this format; `prefix_len` 0 takes the whole column.
    pub fn new(column: ColumnDef, prefix_len: u32, format: RowFormat) -> Self {
        let fixed_len = field_fixed_len(column.fixed_len(format), prefix_len);
        Self { column, prefix_len, fixed_len, descending: false, instant: None }
    }

    /// Whether rows written now have no such field.
    pub fn is_dropped(&self) -> bool {
        self.instant.as_ref().is_some_and(|instant| instant.dropped != 0)
    }

    /// How its values compare.
    pub fn compare(&self) -> FieldCmp {
        let cmp = FieldCmp::of(&self.column);
        if self.descending { cmp.reversed() } else { cmp }
    }

    fn layout(&self) -> FieldLayout {
        let null_len = self.column.fixed_len(RowFormat::Redundant) as u16;
        let (added, dropped) = self.instant.as_ref().map_or((0, 0), |i| (i.added, i.dropped));
        FieldLayout::new(self.fixed_len as u16, self.column.is_nullable(), self.column.is_big())
            .with_null_len(null_len)
            .in_versions(added, dropped)
    }
}

/// A part of a key as the user declares it: position of the column in the table, prefix in bytes (0: all of it).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyPart {
    /// Position among the user columns.
    pub column: usize,
    /// Bytes of the prefix, 0 for the whole column.
    pub prefix_len: u32,
    /// Greater values come first.
    pub descending: bool,
}

impl KeyPart {
    /// A whole column.
    pub const fn whole(column: usize) -> Self {
        Self { column, prefix_len: 0, descending: false }
    }

    /// The first bytes of a column.
    pub const fn prefix(column: usize, prefix_len: u32) -> Self {
        Self { column, prefix_len, descending: false }
    }

    /// The same, the greatest value first.
    #[must_use]
    pub const fn descending(self) -> Self {
        Self { descending: true, ..self }
    }
}

/// Identity and format of an index to be built.
#[derive(Debug, Clone)]
pub struct IndexSpec {
    /// Number of the index, stored on its pages.
    pub id: IndexId,
    /// Name.
    pub name: String,
    /// Row format of the table.
    pub row_format: RowFormat,
    /// Page size of the tablespace.
    pub page_size: PageSize,
}

/// An index. Immutable once built; everything derived from the fields is computed at construction.
#[derive(Debug, Clone)]
pub struct IndexDef {
    id: IndexId,
    name: String,
    row_format: RowFormat,
    page_size: PageSize,
    kind: IndexKind,
    unique: bool,
    fields: Vec<FieldDef>,
    n_uniq: usize,
    n_uniq_in_tree: usize,
    trx_id_pos: Option<usize>,
    layout: RecLayout,
    compare: Vec<FieldCmp>,
    n_const_bytes: usize,
    order_is_known: bool,
    redo_description: Vec<u8>,
}

impl IndexDef {
    /// An index with exactly these fields, as a `.cfg` file or the dictionary lists them. `n_uniq` is the number
    /// of fields that identify a record: the key of a clustered or plain index, the user's columns of a unique
    /// secondary index (all fields if it is not unique).
    ///
    /// # Errors
    /// If the counts are impossible, or a clustered index lacks DB_TRX_ID and DB_ROLL_PTR after its key.
    pub fn from_fields(
        spec: IndexSpec,
        kind: IndexKind,
        unique: bool,
        fields: Vec<FieldDef>,
        n_uniq: usize,
    ) -> Result<IndexDef> {
        let trx_id_pos = match kind {
            IndexKind::Clustered => Some(n_uniq),
            IndexKind::Secondary | IndexKind::Plain => None,
        };
        if let Some(pos) = trx_id_pos {
            let is_sys = |at: usize, sys: ColumnDef| fields.get(at).is_some_and(|f| f.column == sys);
            if !is_sys(pos, ColumnDef::db_trx_id()) || !is_sys(pos + 1, ColumnDef::db_roll_ptr()) {
                let detail = format!("DB_TRX_ID and DB_ROLL_PTR are not fields {pos} and {}", pos + 1);
                return Err(Corruption::new("clustered index", detail));
            }
        }
        if n_uniq > fields.len() {
            let detail = format!("{n_uniq} of {} fields", fields.len());
            return Err(Corruption::new("unique fields of an index", detail));
        }
        let n_uniq_in_tree = if kind == IndexKind::Secondary { fields.len() } else { n_uniq };
        let layouts: Vec<_> = fields.iter().map(FieldDef::layout).collect();
        let layout = RecLayout::new(spec.row_format.is_comp(), layouts, n_uniq_in_tree)?;
        let instants = || fields.iter().map(|f| f.instant.as_deref());
        let newest = instants().flatten().map(|i| i.added.max(i.dropped)).max().unwrap_or(0);
        let layout = match newest {
            0 => layout,
            newest => {
                let defaults = instants().map(|i| i.and_then(|i| i.default.clone())).collect();
                layout.with_versions(newest, defaults)?
            }
        };
        let compare: Vec<_> = fields.iter().map(FieldDef::compare).collect();
        let n_bytes = compare.iter().take_while(|c| matches!(c, FieldCmp::Bytes)).count();
        let n_const_bytes = n_bytes.min(layout.n_const());
        let redo_description = redo_description(&layout, n_uniq_in_tree);
        Ok(IndexDef {
            id: spec.id,
            name: spec.name,
            row_format: spec.row_format,
            page_size: spec.page_size,
            kind,
            unique,
            fields,
            n_uniq,
            n_uniq_in_tree,
            trx_id_pos,
            layout,
            order_is_known: compare[..n_uniq_in_tree].iter().all(|c| c.is_known()),
            compare,
            n_const_bytes,
            redo_description,
        })
    }

    /// The clustered index of a table with these user columns, on `key` or, if there is none, on DB_ROW_ID.
    ///
    /// # Errors
    /// If a key part names no column.
    pub fn clustered(spec: IndexSpec, columns: &[ColumnDef], key: Option<&[KeyPart]>) -> Result<IndexDef> {
        let format = spec.row_format;
        let field = |c: ColumnDef| FieldDef::new(c, 0, format);
        let mut fields = match key {
            Some(parts) => key_fields(columns, parts, format)?,
            None => vec![field(ColumnDef::db_row_id())],
        };
        let n_uniq = fields.len();
        fields.push(field(ColumnDef::db_trx_id()));
        fields.push(field(ColumnDef::db_roll_ptr()));
        let in_key = |i: usize| key.is_some_and(|k| k.iter().any(|p| p.column == i && p.prefix_len == 0));
        fields.extend(columns.iter().enumerate().filter(|&(i, _)| !in_key(i)).map(|(_, c)| field(c.clone())));
        IndexDef::from_fields(spec, IndexKind::Clustered, key.is_some(), fields, n_uniq)
    }

    /// The same for a table whose rows have versions: `versions` are the fields behind DB_ROLL_PTR.
    ///
    /// # Errors
    /// As [`IndexDef::clustered`]; versions that cannot be.
    pub fn clustered_with_versions(
        spec: IndexSpec,
        columns: &[ColumnDef],
        key: Option<&[KeyPart]>,
        versions: impl IntoIterator<Item = (ColumnDef, Option<Instant>)>,
    ) -> Result<IndexDef> {
        let format = spec.row_format;
        let plain = IndexDef::clustered(spec.clone(), columns, key)?;
        let mut fields = plain.fields;
        fields.truncate(plain.n_uniq + 2);
        fields.extend(versions.into_iter().map(|(column, instant)| FieldDef {
            instant: instant.map(Box::new),
            ..FieldDef::new(column, 0, format)
        }));
        IndexDef::from_fields(spec, IndexKind::Clustered, key.is_some(), fields, plain.n_uniq)
    }

    /// A secondary index of the table whose clustered index is `clustered`.
    ///
    /// # Errors
    /// If a key part names no column.
    pub fn secondary(
        spec: IndexSpec,
        columns: &[ColumnDef],
        parts: &[KeyPart],
        unique: bool,
        clustered: &IndexDef,
    ) -> Result<IndexDef> {
        let mut fields = key_fields(columns, parts, spec.row_format)?;
        let n_user = fields.len();
        for key in &clustered.fields[..clustered.n_uniq] {
            let present = fields.iter().any(|f| f.column.name == key.column.name && f.prefix_len == 0);
            if !present {
                fields.push(key.clone());
            }
        }
        let n_uniq = if unique { n_user } else { fields.len() };
        IndexDef::from_fields(spec, IndexKind::Secondary, unique, fields, n_uniq)
    }

    /// A tree of bare fields, the first `n_key` of them its unique key.
    ///
    /// # Errors
    /// If `n_key` is 0 or exceeds the fields.
    pub fn plain(spec: IndexSpec, columns: Vec<ColumnDef>, n_key: usize) -> Result<IndexDef> {
        let format = spec.row_format;
        let fields = columns.into_iter().map(|c| FieldDef::new(c, 0, format)).collect();
        IndexDef::from_fields(spec, IndexKind::Plain, true, fields, n_key)
    }

    /// Number of the index.
    #[inline]
    pub fn id(&self) -> IndexId {
        self.id
    }

    /// Name of the index.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Row format of the table.
    #[inline]
    pub fn row_format(&self) -> RowFormat {
        self.row_format
    }

    /// Page size of the tablespace.
    #[inline]
    pub fn page_size(&self) -> PageSize {
        self.page_size
    }

    /// Kind of the index.
    #[inline]
    pub fn kind(&self) -> IndexKind {
        self.kind
    }

    /// Whether it is the clustered index.
    #[inline]
    pub fn is_clustered(&self) -> bool {
        self.kind == IndexKind::Clustered
    }

    /// Whether the user declared it unique (also the primary key).
    #[inline]
    pub fn is_unique(&self) -> bool {
        self.unique
    }

    /// All fields, in the order of leaf records.
    #[inline]
    pub fn fields(&self) -> &[FieldDef] {
        &self.fields
    }

    /// Number of fields of a leaf record.
    #[inline]
    pub fn n_fields(&self) -> usize {
        self.fields.len()
    }

    /// Fields that a uniqueness check compares; see [`IndexDef::from_fields`].
    #[inline]
    pub fn n_uniq(&self) -> usize {
        self.n_uniq
    }

    /// Fields that order the tree and that node pointers hold.
    #[inline]
    pub fn n_uniq_in_tree(&self) -> usize {
        self.n_uniq_in_tree
    }

    /// Position of DB_TRX_ID, in a clustered index; DB_ROLL_PTR follows.
    #[inline]
    pub fn trx_id_pos(&self) -> Option<usize> {
        self.trx_id_pos
    }

    /// Byte offset of DB_TRX_ID in a record when it is the same in all records.
    #[inline]
    pub fn trx_id_offset(&self) -> Option<usize> {
        let pos = self.trx_id_pos?;
        (pos <= self.layout.n_const() && self.layout.comp())
            .then(|| usize::from(self.layout.fields()[pos].offset))
    }

    /// How records are laid out.
    #[inline]
    pub fn layout(&self) -> &RecLayout {
        &self.layout
    }

    /// How each field compares.
    #[inline]
    pub fn compare_plan(&self) -> &[FieldCmp] {
        &self.compare
    }

    /// Leading fields that lie at constant offsets and compare as bytes: the comparison of a key within them
    /// decodes no lengths.
    #[inline]
    pub fn n_const_bytes(&self) -> usize {
        self.n_const_bytes
    }

    /// Whether the order of the fields that order its records is known to this program.
    #[inline]
    pub fn order_is_known(&self) -> bool {
        self.order_is_known
    }

    /// The index description that starts the body of COMP redo records; empty for REDUNDANT tables.
    #[inline]
    pub fn redo_description(&self) -> &[u8] {
        &self.redo_description
    }

    /// Whether the key is the hidden DB_ROW_ID.
    pub fn is_generated(&self) -> bool {
        self.is_clustered() && self.fields[0].column.name == DB_ROW_ID
    }

    /// Free space of an empty page.
    #[inline]
    pub fn empty_page_space(&self) -> usize {
        let heap_start = if self.layout.comp() { 120 } else { 125 };
        // The directory starts with two slots, above the trailer of eight bytes.
        self.page_size.logical() - heap_start - 8 - 4
    }

    /// Most bytes (extra and data) of a record: two must fit a page, and lengths have 14 bits.
    #[inline]
    pub fn rec_size_max(&self) -> usize {
        (self.empty_page_space() / 2 - 1).min(16_383)
    }

    /// Further limit of clustered records in compressed pages, where an incompressible record must fit alone.
    pub fn zip_rec_size_max(&self) -> Option<usize> {
        if !self.page_size.is_compressed() {
            return None;
        }
        let n = 2 * (self.fields.len() + 1);
        let bound = n + (n >> 12) + (n >> 14) + 11;
        // size - 2 < Z - 106 - bound
        Some((self.page_size.physical() + 1).saturating_sub(106 + bound))
    }
}

/// The key a table is clustered on: its primary key, else the first unique key of whole NOT NULL columns, in the
/// order of definition; `None` means DB_ROW_ID.
pub fn cluster_key<'a>(
    columns: &[ColumnDef],
    primary: Option<&'a [KeyPart]>,
    unique_keys: impl IntoIterator<Item = &'a [KeyPart]>,
) -> Option<&'a [KeyPart]> {
    let whole_not_null =
        |p: &KeyPart| p.prefix_len == 0 && columns.get(p.column).is_some_and(|c| !c.is_nullable());
    primary.or_else(|| unique_keys.into_iter().find(|parts| parts.iter().all(whole_not_null)))
}

fn key_fields(columns: &[ColumnDef], parts: &[KeyPart], format: RowFormat) -> Result<Vec<FieldDef>> {
    let field = |p: &KeyPart| {
        let column = columns.get(p.column).ok_or_else(|| {
            Corruption::new("key part", format!("column {} of {}", p.column, columns.len()))
        })?;
        Ok(FieldDef { descending: p.descending, ..FieldDef::new(column.clone(), p.prefix_len, format) })
    };
    parts.iter().map(field).collect()
}

/// Field count, unique fields, one word per field: its length, 0 or 0x7FFF when variable, and NOT NULL.
fn redo_description(layout: &RecLayout, n_uniq_in_tree: usize) -> Vec<u8> {
    if !layout.comp() {
        return Vec::new();
    }
    let mut out = Vec::with_capacity(4 + 2 * layout.fields().len());
    push_u16(&mut out, layout.fields().len() as u16);
    push_u16(&mut out, n_uniq_in_tree as u16);
    for f in layout.fields() {
        let len = match (f.fixed_len, f.big) {
            (0, true) => 0x7FFF,
            (len, _) => len,
        };
        push_u16(&mut out, if f.nullable { len } else { len | 0x8000 });
    }
    if layout.version() != 0 {
        push_versions(&mut out, 0, layout.version(), layout.fields().iter().map(|f| (f.added, f.dropped)));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column::Charset;

    fn spec(format: RowFormat) -> IndexSpec {
        IndexSpec { id: IndexId(7), name: "i".into(), row_format: format, page_size: PageSize::DEFAULT }
    }

    fn names(i: &IndexDef) -> Vec<(&str, u32, u32)> {
        i.fields().iter().map(|f| (f.column.name.as_str(), f.prefix_len, f.fixed_len)).collect()
    }

    /// Columns of the fixture table `vkey`.
    fn vkey_columns() -> Vec<ColumnDef> {
        vec![
            ColumnDef::varchar("a", 60, Charset::UTF8).not_null(),
            ColumnDef::varbinary("b", 300).not_null(),
            ColumnDef::int("c", 4, false),
            ColumnDef::varchar("v", 200, Charset::LATIN1),
        ]
    }

    #[test]
    fn prefix_in_primary_key_repeats_the_column() {
        let columns = vkey_columns();
        let pk = [KeyPart::whole(0), KeyPart::prefix(1, 20)];
        let clustered = IndexDef::clustered(spec(RowFormat::Dynamic), &columns, Some(&pk)).unwrap();
        assert_eq!(
            names(&clustered),
            [
                ("a", 0, 0),
                ("b", 20, 0),
                ("DB_TRX_ID", 0, 6),
                ("DB_ROLL_PTR", 0, 7),
                ("b", 0, 0),
                ("c", 0, 4),
                ("v", 0, 0)
            ]
        );
        assert_eq!((clustered.n_uniq(), clustered.n_uniq_in_tree(), clustered.trx_id_pos()), (2, 2, Some(2)));
        assert_eq!(clustered.trx_id_offset(), None);
        let on_c = [KeyPart::whole(2)];
        let sec = IndexDef::secondary(spec(RowFormat::Dynamic), &columns, &on_c, false, &clustered).unwrap();
        assert_eq!(names(&sec), [("c", 0, 4), ("a", 0, 0), ("b", 20, 0)]);
        assert_eq!((sec.n_uniq(), sec.n_uniq_in_tree()), (3, 3));
        let on_a_prefix = [KeyPart::prefix(0, 9)];
        let sec =
            IndexDef::secondary(spec(RowFormat::Dynamic), &columns, &on_a_prefix, true, &clustered).unwrap();
        assert_eq!(names(&sec), [("a", 9, 0), ("a", 0, 0), ("b", 20, 0)]);
        assert_eq!((sec.n_uniq(), sec.n_uniq_in_tree()), (1, 3));
    }

    #[test]
    fn tables_without_a_key_get_one() {
        let columns =
            vec![ColumnDef::int("a", 4, false), ColumnDef::varchar("b", 20, Charset::LATIN1).not_null()];
        let nullable = [KeyPart::whole(0)];
        let prefix = [KeyPart::prefix(1, 5)];
        let good = [KeyPart::whole(1)];
        assert_eq!(cluster_key(&columns, None, [&nullable[..], &prefix[..]]), None);
        assert_eq!(cluster_key(&columns, None, [&nullable[..], &good[..]]), Some(&good[..]));
        assert_eq!(cluster_key(&columns, Some(&prefix), [&good[..]]), Some(&prefix[..]));
        let generated = IndexDef::clustered(spec(RowFormat::Compact), &columns, None).unwrap();
        assert_eq!(
            names(&generated),
            [("DB_ROW_ID", 0, 6), ("DB_TRX_ID", 0, 6), ("DB_ROLL_PTR", 0, 7), ("a", 0, 4), ("b", 0, 0)]
        );
        assert!(generated.is_generated() && !generated.is_unique());
        assert_eq!(generated.trx_id_offset(), Some(6));
    }

    #[test]
    fn redo_description_lists_lengths() {
        let columns = vec![
            ColumnDef::int("id", 4, false).not_null(),
            ColumnDef::int("n", 2, true),
            ColumnDef::varchar("v", 20, Charset::LATIN1),
            ColumnDef::blob("b", 2).not_null(),
        ];
        let pk = [KeyPart::whole(0)];
        let i = IndexDef::clustered(spec(RowFormat::Compact), &columns, Some(&pk)).unwrap();
        assert_eq!(
            i.redo_description(),
            [0, 6, 0, 1, 0x80, 4, 0x80, 6, 0x80, 7, 0, 2, 0, 0, 0xFF, 0xFF],
            "id, trx id, roll pointer, n, v, b"
        );
        let sec = IndexDef::secondary(spec(RowFormat::Compact), &columns, &[KeyPart::whole(2)], false, &i);
        assert_eq!(sec.unwrap().redo_description(), [0, 2, 0, 2, 0, 0, 0x80, 4]);
        let old = IndexDef::clustered(spec(RowFormat::Redundant), &columns, Some(&pk)).unwrap();
        assert_eq!(old.redo_description(), [0u8; 0]);
    }

    /// The limits measured on a real server: 8125 and 8122 bytes, and 869 bytes with 1 KiB pages.
    #[test]
    fn record_size_limits() {
        let columns =
            vec![ColumnDef::int("id", 4, false).not_null(), ColumnDef::blob("a", 2), ColumnDef::blob("b", 2)];
        let pk = [KeyPart::whole(0)];
        let of = |format, page_size| {
            let spec = IndexSpec { page_size, ..spec(format) };
            IndexDef::clustered(spec, &columns, Some(&pk)).unwrap()
        };
        let compact = of(RowFormat::Compact, PageSize::DEFAULT);
        assert_eq!((compact.empty_page_space(), compact.rec_size_max()), (16_252, 8_125));
        assert_eq!(compact.zip_rec_size_max(), None);
        let redundant = of(RowFormat::Redundant, PageSize::DEFAULT);
        assert_eq!((redundant.empty_page_space(), redundant.rec_size_max()), (16_247, 8_122));
        let zip = of(RowFormat::Compressed, PageSize::compressed(16_384, 1024).unwrap());
        // size - 2 < 1024 - 106 - (2 * 6 + 11): a BLOB of 869 bytes beside one of one byte, as measured.
        assert_eq!(zip.zip_rec_size_max(), Some(896));
    }

    #[test]
    fn long_fixed_columns_are_variable() {
        let c = ColumnDef::char("c", 255, Charset::UTF8MB4);
        assert_eq!(FieldDef::new(c.clone(), 0, RowFormat::Redundant).fixed_len, 0);
        assert_eq!(FieldDef::new(c, 40, RowFormat::Redundant).fixed_len, 40);
    }

    #[test]
    fn clustered_fields_must_hold_system_columns() {
        let f = |c| FieldDef::new(c, 0, RowFormat::Compact);
        let fields = vec![f(ColumnDef::int("id", 4, false).not_null()), f(ColumnDef::db_trx_id())];
        let made = IndexDef::from_fields(spec(RowFormat::Compact), IndexKind::Clustered, true, fields, 1);
        assert!(made.is_err());
    }
}
