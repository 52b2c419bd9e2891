//! Index entries made of rows.
//!
//! A row is seen through [`Columns`]: the values a caller gives, a record of the clustered index ([`Image`]), or a
//! record with some columns changed ([`Changed`]). Prefix fields hold the longest run of whole characters.
//!
//! [`Image`]: crate::row::image::Image

use crate::error::{Error, Result};
use crate::row::image::Image;
pub use crate::table::Columns;
use crate::table::{Column, Field, FieldSource, Index, Table};
use smallvec::SmallVec;
use std::cmp::Ordering;
use std::sync::Arc;
use vaquita_format::charset::Charset;
use vaquita_format::column::MType;
use vaquita_format::index_def::IndexDef;
use vaquita_format::record::{EXTERN_REF_LEN, compare_fields};
use vaquita_format::text::TextType;
use vaquita_format::tuple::TupleField;

/// Most bytes of a column that an index holds.
const INDEX_COLUMN_MAX: usize = 3072;

/// The fields of an index record to be.
pub type Entry<'a> = SmallVec<[TupleField<'a>; 12]>;

/// A row as a caller gives it.
#[derive(Debug, Clone, Copy)]
pub struct Given<'r> {
    /// Values of all columns.
    pub values: &'r [Field<'r>],
    /// DB_ROW_ID, if the table has one.
    pub row_id: &'r [u8],
}

impl Columns for Given<'_> {
    fn column(&self, _: &Table, column: usize) -> Field<'_> {
        self.values[column]
    }

    fn row_id(&self) -> &[u8] {
        self.row_id
    }
}

/// A record with some columns changed.
#[derive(Debug, Clone, Copy)]
pub struct Changed<'r> {
    /// The record.
    pub old: &'r Image,
    /// New values of columns.
    pub changes: &'r [(usize, Field<'r>)],
}

impl Changed<'_> {
    /// Whether a column is among the changed ones.
    pub fn changes(&self, column: usize) -> bool {
        self.changes.iter().any(|(c, _)| *c == column)
    }
}

impl Columns for Changed<'_> {
    fn column(&self, table: &Table, column: usize) -> Field<'_> {
        match self.changes.iter().find(|(c, _)| *c == column) {
            Some((_, value)) => *value,
            None => self.old.column(table, column),
        }
    }

    fn row_id(&self) -> &[u8] {
        self.old.row_id()
    }
}

/// Replaces `out` by the entry of a row in an index. System fields other than DB_ROW_ID are left empty.
pub fn build<'a>(table: &Table, index: &Index, row: &'a (impl Columns + ?Sized), out: &mut Entry<'a>) {
    out.clear();
    out.extend(index.sources.iter().map(|source| match *source {
        FieldSource::Column { column, prefix_len } => {
            let value = row.column(table, column);
            TupleField::nullable(value.map(|v| cut(&table.columns[column], prefix_len, v)))
        }
        FieldSource::RowId => TupleField::new(row.row_id()),
        FieldSource::TrxId | FieldSource::RollPtr => TupleField::new(&[]),
        FieldSource::Gone => TupleField::nullable(None),
    }));
}

/// The entry of a row in an index.
pub fn entry<'a>(table: &Table, index: &Index, row: &'a (impl Columns + ?Sized)) -> Entry<'a> {
    let mut out = Entry::new();
    build(table, index, row, &mut out);
    out
}

/// The part of a value that a field of `prefix_len` bytes (0: all) holds.
pub fn cut<'v>(column: &Column, prefix_len: u32, value: &'v [u8]) -> &'v [u8] {
    let prefix_len = prefix_len as usize;
    let def = &column.def;
    if prefix_len == 0 {
        return value;
    }
    if def.is_binary() || def.mbmaxlen <= 1 {
        return &value[..value.len().min(prefix_len)];
    }
    let chars = prefix_len / usize::from(def.mbmaxlen);
    if def.mbminlen == 1 && value.len() <= chars {
        return value;
    }
    let len = match Charset::of_collation(def.collation_id()) {
        Some(charset) => charset.prefix_len(value, chars),
        None => value.len().min(prefix_len),
    };
    &value[..len.min(value.len())]
}

/// How many leading bytes of a column the indexes need, those being built among them.
pub fn bytes_needed(table: &Table, column: usize) -> usize {
    bytes_needed_by(table.indexes.iter().chain(&table.building), column)
}

/// How many leading bytes of a column these indexes need.
pub(crate) fn bytes_needed_by<'t>(indexes: impl Iterator<Item = &'t Arc<Index>>, column: usize) -> usize {
    indexes
        .flat_map(|index| &index.sources[..index.def().n_uniq_in_tree()])
        .filter_map(|source| match *source {
            FieldSource::Column { column: c, prefix_len: 0 } if c == column => Some(INDEX_COLUMN_MAX),
            FieldSource::Column { column: c, prefix_len } if c == column => Some(prefix_len as usize),
            _ => None,
        })
        .max()
        .unwrap_or(0)
}

/// Whether two entries hold the same bytes.
pub fn same_bytes(a: &[TupleField<'_>], b: &[TupleField<'_>]) -> bool {
    debug_assert_eq!(a.len(), b.len(), "entries of one index are compared");
    a.iter().zip(b).all(|(a, b)| a.data == b.data)
}

/// Whether two entries are equal in the order of their index.
pub fn same_order(def: &IndexDef, a: &[TupleField<'_>], b: &[TupleField<'_>]) -> bool {
    a.iter()
        .zip(b)
        .zip(def.compare_plan())
        .all(|((a, b), &cmp)| compare_fields(cmp, a.data, b.data) == Ordering::Equal)
}

/// Whether an index has a column among its fields.
pub fn index_has(index: &Index, column: usize) -> bool {
    index.sources.iter().any(|s| matches!(*s, FieldSource::Column { column: c, .. } if c == column))
}

/// Checks that values can be stored in the fields of an index.
///
/// # Errors
/// [`Error::NullNotAllowed`], [`Error::WrongState`].
pub fn check_fields(table: &Table, def: &IndexDef, fields: &[TupleField<'_>]) -> Result<()> {
    if fields.len() != def.n_fields() {
        return Err(Error::WrongState("a row does not have the columns of its table"));
    }
    let comp = def.layout().comp();
    let local_min = def.row_format().off_page_prefix() as usize + EXTERN_REF_LEN;
    for ((field, def), layout) in fields.iter().zip(def.fields()).zip(def.layout().fields()) {
        // What is written has no such field.
        if layout.dropped != 0 {
            continue;
        }
        let Some(data) = field.data else {
            if def.column.is_nullable() {
                continue;
            }
            let (table, column) = (table.name.clone(), def.column.name.clone());
            return Err(Error::NullNotAllowed { table, column });
        };
        let fits = match (field.external, layout.fixed_len) {
            // System fields are filled in later.
            _ if def.column.mtype == MType::Sys => true,
            (true, _) => (local_min..=0x3FFF).contains(&data.len()),
            // Names in the dictionary's tables have no length.
            (false, 0) if def.column.mtype == MType::Blob || def.column.len == 0 => true,
            (false, 0) => data.len() <= def.column.len as usize,
            // In REDUNDANT records a prefix of a fixed column may be shorter.
            (false, fixed) => data.len() == usize::from(fixed) || !comp && data.len() < usize::from(fixed),
        };
        if !fits {
            return Err(Error::WrongState("a value does not fit its column"));
        }
    }
    Ok(())
}

/// The key's values as text, joined by `-`, for messages.
pub fn key_text(table: &Table, index: &Index, fields: &[TupleField<'_>]) -> String {
    let n = index.parts.len().min(fields.len());
    let mut out = String::new();
    for (part, field) in index.parts.iter().zip(fields).take(n) {
        if !out.is_empty() {
            out.push('-');
        }
        push_text(&table.columns[part.column], field.data, &mut out);
    }
    if n == 0
        && let Some(field) = fields.first()
    {
        vaquita_format::text::hex(field.data.unwrap_or_default(), &mut out);
    }
    out
}

/// Appends a value as text.
pub fn push_text(column: &Column, value: Field<'_>, out: &mut String) {
    let Some(value) = value else {
        out.push_str("NULL");
        return;
    };
    let mut text_type = TextType::of_column(&column.def);
    if let Some((precision, scale)) = column.decimal {
        text_type = TextType::Decimal { precision, scale, zerofill: None };
    }
    if !column.labels.is_empty() {
        let set = column.extra.to_ascii_lowercase().starts_with("set");
        let labels = column.labels.clone();
        text_type = if set { TextType::Set(labels) } else { TextType::Enum(labels) };
    }
    if text_type.write(value, out).is_err() {
        vaquita_format::text::hex(value, out);
    }
}
