//! Files that a MySQL server keeps beside the tables of InnoDB: `.frm` and `.isl`.

use crate::dict::build::{IndexParts, TableParts};
use crate::dict::codec::{ColumnExtra, TableExtra};
use crate::error::Result;
use crate::table::{Column, DefaultValue};
use std::path::{Path, PathBuf};
use vaquita_format::column::{ColumnDef, MType, mysql_type};
use vaquita_format::frm::{ColumnDefault, Frm, FrmColumn, column_type};
use vaquita_format::index_def::RowFormat;
use vaquita_io::{OpenMode, OpenOptions};
use vaquita_storage::Storage;

/// Longest `.frm`.
const FRM_MAX: u64 = 16 << 20;
/// Longest `.isl`.
const LINK_MAX: u64 = 4_096;

/// Whether a MySQL server made the folder: its own tables have `.frm` files.
pub(crate) fn is_of_a_server(storage: &Storage) -> bool {
    storage.fs().exists(&storage.options().dir.join("mysql").join("user.frm"))
}

/// What the table's `.frm` tells, if there is one that can be read.
pub(crate) fn read_extra(storage: &Storage, table: &TableParts) -> Result<Option<TableExtra>> {
    Ok(read_frm(storage, &table.name)?.map(|frm| extra_of(&frm, table)))
}

/// The table's `.frm`, if there is one that can be read.
pub(crate) fn read_frm(storage: &Storage, table: &str) -> Result<Option<Frm>> {
    // The partitions of a table share its `.frm`.
    let name = table.split("#P#").next().unwrap_or_default();
    let name = name.split("#p#").next().unwrap_or_default();
    let path = storage.options().dir.join(format!("{name}.frm"));
    let Some(bytes) = read(storage, &path, FRM_MAX)? else { return Ok(None) };
    Ok(Frm::parse(&bytes).ok())
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
        extra: String::new(),
        columns: table.columns.iter().map(column).collect(),
        index_comments: table.indexes.iter().filter_map(comment).collect(),
    }
}

fn column_extra(frm: &FrmColumn, def: &ColumnDef, format: RowFormat) -> ColumnExtra {
    let decimal = def.mysql_type() == mysql_type::NEWDECIMAL;
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
        extra: column_type(frm),
    }
}

/// A default in the form the row format has. CHAR of a variable multi-byte character set keeps as many spaces as make
/// its bytes as many as its characters.
fn stored_default(mut value: Vec<u8>, def: &ColumnDef, format: RowFormat) -> DefaultValue {
    if def.mtype == MType::MySql && def.fixed_len(format) == 0 && def.mbmaxlen > 0 {
        let chars = (def.len / u32::from(def.mbmaxlen)) as usize;
        while value.len() > chars && value.last() == Some(&b' ') {
            value.pop();
        }
    }
    DefaultValue::Stored(value)
}

/// Where the table's `.isl` points, if there is one.
pub(crate) fn read_link(storage: &Storage, name: &str) -> Result<Option<PathBuf>> {
    let path = storage.options().dir.join(format!("{name}.isl"));
    let Some(text) = read(storage, &path, LINK_MAX)? else { return Ok(None) };
    Ok(Some(PathBuf::from(String::from_utf8_lossy(&text).trim().to_owned())))
}

fn read(storage: &Storage, path: &Path, max: u64) -> Result<Option<Vec<u8>>> {
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
