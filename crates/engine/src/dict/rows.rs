//! Rows of the SYS tables: reading them, and those that describe a table.
//!
//! Reading sees what is committed: the dictionary's latch is held shared, and nobody changes definitions without it.

use crate::dict::build::TableParts;
use crate::dict::fulltext::DOC_ID;
use crate::dict::sys_tables::index_type_bits;
use crate::error::Result;
use crate::table::{Field, FullTextIndex, Index};
use std::cmp::Ordering;
use vaquita_base::PageNo;
use vaquita_base::codec::get_uint;
use vaquita_btree::Cursor;
use vaquita_format::dict::{TYPE_ROW_VERSIONS, encode_field_pos, index_type, mix_len, n_cols};
use vaquita_format::flags::TableFlags;
use vaquita_format::index_page::SearchMode;
use vaquita_format::record::{Offsets, compare};
use vaquita_format::tuple::{Tuple, TupleField};
use vaquita_storage::Storage;

/// The fields of an index record, owned.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SysRow(pub(crate) Vec<Option<Vec<u8>>>);

impl SysRow {
    /// A field; nothing for NULL and for one that is not there.
    pub(crate) fn bytes(&self, i: usize) -> &[u8] {
        self.0.get(i).and_then(|f| f.as_deref()).unwrap_or_default()
    }

    /// A number.
    pub(crate) fn number(&self, i: usize) -> u64 {
        let bytes = self.bytes(i);
        get_uint(bytes, 0, bytes.len().min(8))
    }

    /// A number of at most four bytes.
    pub(crate) fn u32(&self, i: usize) -> u32 {
        self.number(i) as u32
    }

    /// A name.
    pub(crate) fn text(&self, i: usize) -> String {
        String::from_utf8_lossy(self.bytes(i)).into_owned()
    }
}

/// The records of an index whose first fields are `prefix`, in order; delete-marked ones are left out.
pub(crate) fn read(storage: &Storage, index: &Index, prefix: &[&[u8]]) -> Result<Vec<SysRow>> {
    let prefix: Vec<TupleField<'_>> = prefix.iter().map(|f| TupleField::new(f)).collect();
    read_some(storage, index, &prefix, usize::MAX)
}

/// The same, at most `max` of them.
pub(crate) fn read_some(
    storage: &Storage,
    index: &Index,
    prefix: &[TupleField<'_>],
    max: usize,
) -> Result<Vec<SysRow>> {
    let key = Tuple::new(prefix);
    let mut cursor = Cursor::new(&index.tree, storage);
    let mut more = match prefix {
        [] => cursor.first()?,
        _ => cursor.seek(&key, SearchMode::GreaterOrEqual)?,
    };
    let mut offsets = Offsets::new();
    let mut out = Vec::new();
    while more && out.len() < max {
        let record = cursor.record().expect("the cursor is on a record");
        let order = compare(index.def(), record.page, record.rec, &key, &mut 0);
        let order = order.map_err(|c| crate::error::Error::Corrupt(format!("{}: {c}", index.name)))?;
        if !prefix.is_empty() && order != Ordering::Equal {
            break;
        }
        if !record.is_deleted() {
            record.parse(index.def(), &mut offsets)?;
            let field = |i| record.field(&offsets, i).map(<[u8]>::to_vec);
            out.push(SysRow((0..offsets.n_fields()).map(field).collect()));
        }
        more = cursor.next()?;
    }
    Ok(out)
}

/// The records of an index whose first field begins so, in order; delete-marked ones are left out. The field is bytes, ordered as bytes.
pub(crate) fn read_beginning(storage: &Storage, index: &Index, start: &str) -> Result<Vec<SysRow>> {
    let key = [TupleField::new(start.as_bytes())];
    let mut cursor = Cursor::new(&index.tree, storage);
    let mut more = cursor.seek(&Tuple::new(&key), SearchMode::GreaterOrEqual)?;
    let mut offsets = Offsets::new();
    let mut out = Vec::new();
    while more {
        let record = cursor.record().expect("the cursor is on a record");
        record.parse(index.def(), &mut offsets)?;
        if !record.field(&offsets, 0).is_some_and(|name| name.starts_with(start.as_bytes())) {
            break;
        }
        if !record.is_deleted() {
            let field = |i| record.field(&offsets, i).map(<[u8]>::to_vec);
            out.push(SysRow((0..offsets.n_fields()).map(field).collect()));
        }
        more = cursor.next()?;
    }
    Ok(out)
}

/// The greatest number in the first field of an index, delete-marked records not left out; 0 if there is none.
pub(crate) fn last_number(storage: &Storage, index: &Index) -> Result<u64> {
    let mut cursor = Cursor::new(&index.tree, storage);
    if !cursor.last()? {
        return Ok(0);
    }
    let record = cursor.record().expect("the cursor is on a record");
    let mut offsets = Offsets::new();
    record.parse(index.def(), &mut offsets)?;
    let bytes = record.field(&offsets, 0).unwrap_or_default();
    Ok(get_uint(bytes, 0, bytes.len().min(8)))
}

/// Values of a row in the order of the user columns.
pub(crate) type Values = Vec<Option<Vec<u8>>>;

/// The same, borrowed.
pub(crate) fn fields(values: &Values) -> Vec<Field<'_>> {
    values.iter().map(|v| v.as_deref()).collect()
}

/// A number of four bytes as a value.
pub(crate) fn u32_value(n: u32) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(4);
    vaquita_base::codec::push_u32(&mut out, n);
    Some(out)
}

/// A number of eight bytes as a value.
pub(crate) fn u64_value(n: u64) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(8);
    vaquita_base::codec::push_u64(&mut out, n);
    Some(out)
}

/// A name as a value.
pub(crate) fn name_value(name: impl AsRef<[u8]>) -> Option<Vec<u8>> {
    Some(name.as_ref().to_vec())
}

/// Flags of a table that its parts do not tell.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Flags {
    /// SYS_TABLES.TYPE.
    pub(crate) table: TableFlags,
    /// SYS_TABLES.MIX_LEN.
    pub(crate) mix_len: u32,
}

impl Flags {
    /// Those of a dictionary table.
    pub(crate) fn of_system_table() -> Flags {
        Flags { table: TableFlags::ANTELOPE, mix_len: mix_len::FTS_HEX_NAMES }
    }

    /// Those of a user table.
    pub(crate) fn of(parts: &TableParts) -> Flags {
        let own = u32::from(parts.space.get() != 0) * mix_len::OWN_TABLESPACE;
        let atomic = parts.row_format.off_page_prefix() == 0;
        // A table that has kept the numbers of documents keeps the bit of its FULLTEXT indexes with them, as it does in MySQL.
        let words =
            match (parts.columns.iter().any(|c| c.hidden && c.def.name == DOC_ID), &parts.fulltext[..]) {
                (true, _) => mix_len::HAS_DOC_ID | mix_len::FULLTEXT,
                (false, []) => 0,
                (false, _) => mix_len::FULLTEXT,
            };
        let discarded = if parts.discarded && parts.row_format.is_comp() { mix_len::DISCARDED } else { 0 };
        Flags {
            table: TableFlags::new(parts.page_size, atomic, parts.directory.is_some()),
            mix_len: mix_len::FTS_HEX_NAMES | own | words | discarded,
        }
    }
}

/// SYS_TABLES.TYPE. A server that knows no versions of rows does not open a table with a bit it does not know.
pub(crate) fn table_type(parts: &TableParts, flags: TableFlags) -> u32 {
    flags.encode() | if parts.versions.is_some() { TYPE_ROW_VERSIONS } else { 0 }
}

/// The rows that describe a table, in the order of the user columns of each SYS table.
#[derive(Debug)]
pub(crate) struct DefinitionRows {
    pub(crate) table: Values,
    pub(crate) columns: Vec<Values>,
    pub(crate) indexes: Vec<Values>,
    pub(crate) fields: Vec<Values>,
}

/// The rows of SYS_TABLES, SYS_COLUMNS, SYS_INDEXES and SYS_FIELDS of a table.
pub(crate) fn definition_rows(parts: &TableParts, flags: &Flags) -> DefinitionRows {
    let compact = if parts.row_format.is_comp() { n_cols::COMPACT } else { 0 };
    let table = vec![
        name_value(&parts.name),
        u64_value(parts.id.get()),
        u32_value(parts.columns.len() as u32 | compact),
        u32_value(table_type(parts, flags.table)),
        u64_value(0),
        u32_value(flags.mix_len),
        None,
        u32_value(parts.space.get()),
    ];
    let column = |(pos, c): (usize, &crate::table::Column)| {
        vec![
            u64_value(parts.id.get()),
            u32_value(pos as u32),
            name_value(&c.def.name),
            u32_value(c.def.mtype.code()),
            u32_value(c.def.prtype),
            u32_value(c.def.len),
            u32_value(0),
        ]
    };
    let columns = parts.columns.iter().enumerate().map(column).collect();
    let mut indexes = Vec::new();
    let mut fields = Vec::new();
    for n in 0..parts.indexes.len() {
        indexes.push(index_row(parts, n));
        fields.extend(field_rows(parts, n));
    }
    for index in &parts.fulltext {
        let (row, columns) = fulltext_rows(parts, index);
        indexes.push(row);
        fields.extend(columns);
    }
    DefinitionRows { table, columns, indexes, fields }
}

/// The row of SYS_INDEXES of the `n`th index.
pub(crate) fn index_row(parts: &TableParts, n: usize) -> Values {
    let index = &parts.indexes[n];
    vec![
        u64_value(parts.id.get()),
        u64_value(index.id.get()),
        name_value(&index.name),
        u32_value(index.parts.len() as u32),
        u32_value(index_type_bits(n == 0, index.unique)),
        u32_value(parts.space.get()),
        u32_value(index.root.get()),
    ]
}

/// The rows of SYS_FIELDS of the `n`th index.
pub(crate) fn field_rows(parts: &TableParts, n: usize) -> Vec<Values> {
    let index = &parts.indexes[n];
    let has_prefix = index.parts.iter().any(|p| p.prefix_len != 0);
    let row = |(pos, part): (usize, &vaquita_format::index_def::KeyPart)| {
        vec![
            u64_value(index.id.get()),
            u32_value(encode_field_pos(pos as u32, part.prefix_len, has_prefix)),
            name_value(&parts.columns[part.column].def.name),
        ]
    };
    index.parts.iter().enumerate().map(row).collect()
}

/// The row of SYS_INDEXES of a FULLTEXT index, which has no tree, and its rows of SYS_FIELDS.
pub(crate) fn fulltext_rows(parts: &TableParts, index: &FullTextIndex) -> (Values, Vec<Values>) {
    let not_for_servers = if index.split.is_some() { index_type::CORRUPT } else { 0 };
    let row = vec![
        u64_value(parts.id.get()),
        u64_value(index.id.get()),
        name_value(&index.name),
        u32_value(index.columns.len() as u32),
        u32_value(index_type::FULLTEXT | not_for_servers),
        u32_value(parts.space.get()),
        u32_value(PageNo::NULL.get()),
    ];
    let field = |(pos, column): (usize, &usize)| {
        vec![
            u64_value(index.id.get()),
            u32_value(encode_field_pos(pos as u32, 0, false)),
            name_value(&parts.columns[*column].def.name),
        ]
    };
    (row, index.columns.iter().enumerate().map(field).collect())
}
