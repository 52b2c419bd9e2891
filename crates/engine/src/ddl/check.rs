//! What a definition must be: MySQL 5.6's rules and limits.

use crate::ddl::{IndexSpec, TableSpec};
use crate::dict::build::TableParts;
use crate::error::{Error, Result};
use crate::table::{Column, DefaultValue};
use std::path::Path;
use vaquita_format::PageSize;
use vaquita_format::column::{ColumnDef, DB_ROLL_PTR, DB_ROW_ID, DB_TRX_ID, MType, mysql_type};
use vaquita_format::index_def::{FieldCmp, IndexDef, KeyPart, RowFormat};
use vaquita_format::record::EXTERN_REF_LEN;
use vaquita_storage::Storage;

/// User columns of a table.
const COLUMNS_MAX: usize = 1_017;
/// Secondary indexes of a table.
const INDEXES_MAX: usize = 64;
/// Columns of a key.
const PARTS_MAX: usize = 16;
/// Characters of a column's or index's name.
const NAME_MAX: usize = 64;
/// Bytes of a database's or table's name in files, which carry a suffix.
const FILE_NAME_MAX: usize = 250;
/// Bytes of a column in a key of a REDUNDANT or COMPACT table.
const OLD_KEY_COLUMN_MAX: u32 = 767;

fn bad(text: String) -> Error {
    Error::BadDefinition(text)
}

/// Checks a table to be made.
pub(super) fn table(storage: &Storage, spec: &TableSpec) -> Result<()> {
    table_name(&spec.name)?;
    if spec.row_format == RowFormat::Compressed {
        return Err(bad(format!("{}: compressed tables cannot be made yet", spec.name)));
    }
    columns(&spec.name, &spec.columns, spec.row_format)?;
    if let Some(parts) = &spec.primary_key {
        key(&spec.columns, "PRIMARY", parts, spec.row_format, storage.options().page_size)?;
        if let Some(p) = parts.iter().find(|p| spec.columns[p.column].def.is_nullable()) {
            let column = &spec.columns[p.column].def.name;
            return Err(bad(format!("column {column} of the primary key can be NULL")));
        }
    }
    if spec.indexes.len() > INDEXES_MAX {
        return Err(bad(format!("{} secondary indexes; {INDEXES_MAX} are allowed", spec.indexes.len())));
    }
    for (n, spec_index) in spec.indexes.iter().enumerate() {
        let names = spec.indexes[..n].iter().map(|i| i.name.as_str());
        index(&spec.columns, names, spec_index, spec.row_format, storage.options().page_size)?;
    }
    auto_increment(spec)?;
    match spec.lenient_row_size && keeps_prefixes(spec.row_format) {
        true => Ok(()),
        false => row_size(storage, spec),
    }
}

/// Checks a table that keeps its records under another definition: names, defaults, lengths of keys and of rows. Rows of the older
/// formats may be longer than a page takes, as they may where they were made.
pub(super) fn redefined(parts: &TableParts) -> Result<()> {
    columns(&parts.name, &parts.columns, parts.row_format)?;
    for (n, index) in parts.indexes.iter().enumerate().filter(|(_, index)| !index.parts.is_empty()) {
        if parts.indexes[..n].iter().any(|other| other.name.eq_ignore_ascii_case(&index.name)) {
            return Err(bad(format!("there are two indexes {}", index.name)));
        }
        object_name(&index.name)?;
        key(&parts.columns, &index.name, &index.parts, parts.row_format, parts.page_size)?;
    }
    match keeps_prefixes(parts.row_format) {
        true => Ok(()),
        false => parts.index_defs()?.iter().try_for_each(|def| record_size(&parts.name, def)),
    }
}

/// Whether rows of a table can fit a page.
///
/// # Errors
/// [`Error::RowTooBig`]: not if all columns are as long as they may be; errors of the definition.
pub fn row_size(storage: &Storage, spec: &TableSpec) -> Result<()> {
    let defs = super::create::parts_of(storage, spec).index_defs()?;
    defs.iter().try_for_each(|def| record_size(&spec.name, def))
}

/// Whether the format is one of the older two, of which MySQL takes tables whose rows may not fit.
fn keeps_prefixes(format: RowFormat) -> bool {
    matches!(format, RowFormat::Redundant | RowFormat::Compact)
}

/// Checks a table's name.
pub(super) fn table_name(name: &str) -> Result<()> {
    let part = |s: &str| {
        let file_name = |c: u8| c.is_ascii_graphic() && !matches!(c, b'/' | b'\\' | b'.');
        (1..=FILE_NAME_MAX).contains(&s.len()) && s.bytes().all(file_name)
    };
    match name.split_once('/') {
        Some((database, table)) if part(database) && part(table) => Ok(()),
        _ => Err(bad(format!("{name} is no name of a table; it has to be database/table, as in file names"))),
    }
}

/// Whether a table's file can be made, and the link to it, if it is elsewhere: nothing has its name, there or in the folder. A link that
/// leads nowhere is in the way of another link only.
pub(super) fn file_is_free(storage: &Storage, name: &str, path: &Path) -> Result<()> {
    let own = storage.place_of(name, None);
    let linked = storage.link_target(name)?.filter(|to| path == own && storage.fs().exists(to));
    let link = Some(storage.link_path(name)).filter(|link| path != own && storage.fs().exists(link));
    let there = [path.to_owned(), own].into_iter().find(|file| storage.fs().exists(file));
    match there.or(linked).or(link) {
        None => Ok(()),
        Some(file) => Err(Error::FileInTheWay { table: name.to_owned(), file }),
    }
}

fn columns(table: &str, columns: &[Column], format: RowFormat) -> Result<()> {
    if columns.is_empty() || columns.len() > COLUMNS_MAX {
        let n = columns.len();
        return Err(bad(format!("{table} has {n} columns; 1 to {COLUMNS_MAX} are allowed")));
    }
    for (n, column) in columns.iter().enumerate() {
        let name = &column.def.name;
        object_name(name)?;
        if [DB_ROW_ID, DB_TRX_ID, DB_ROLL_PTR].iter().any(|sys| sys.eq_ignore_ascii_case(name)) {
            return Err(bad(format!("{name} is the name of a system column")));
        }
        if columns[..n].iter().any(|c| c.def.name.eq_ignore_ascii_case(name)) {
            return Err(bad(format!("there are two columns {name}")));
        }
        column_type(column)?;
        default_value(column, format)?;
    }
    Ok(())
}

fn object_name(name: &str) -> Result<()> {
    let n = name.chars().count();
    if n == 0 || n > NAME_MAX || name.ends_with(' ') || name.contains('\0') {
        return Err(bad(format!("'{name}' is no name: 1 to {NAME_MAX} characters, the last one no space")));
    }
    Ok(())
}

fn column_type(column: &Column) -> Result<()> {
    let def = &column.def;
    let ok = match def.mtype {
        MType::Int => matches!(def.len, 1..=4 | 8),
        MType::Float => def.len == 4,
        MType::Double => def.len == 8,
        MType::Sys | MType::Decimal => false,
        MType::Blob => (9..=12).contains(&def.len),
        MType::Char | MType::FixBinary | MType::MySql => def.len <= 1_024,
        MType::VarChar | MType::Binary | MType::VarMySql => def.len <= 65_535,
    };
    match ok {
        true => Ok(()),
        false => {
            Err(bad(format!("column {}: type {:?} of {} bytes cannot be", def.name, def.mtype, def.len)))
        }
    }
}

fn default_value(column: &Column, format: RowFormat) -> Result<()> {
    let def = &column.def;
    let fixed = def.fixed_len(format) as usize;
    let wrong = match &column.default {
        DefaultValue::Null => !def.is_nullable(),
        DefaultValue::Stored(value) if fixed != 0 => value.len() != fixed,
        DefaultValue::Stored(value) => def.mtype != MType::Blob && value.len() > def.len as usize,
        DefaultValue::Now => !matches!(def.mysql_type(), mysql_type::DATETIME | mysql_type::TIMESTAMP),
        DefaultValue::None | DefaultValue::Text(_) => false,
    };
    if wrong { Err(bad(format!("column {} cannot have this default", def.name))) } else { Ok(()) }
}

fn auto_increment(spec: &TableSpec) -> Result<()> {
    let mut auto = spec.columns.iter().enumerate().filter(|(_, c)| c.auto_increment);
    let Some((n, column)) = auto.next() else { return Ok(()) };
    let name = &column.def.name;
    if auto.next().is_some() {
        return Err(bad("there can be only one AUTO_INCREMENT column".into()));
    }
    if !matches!(column.def.mtype, MType::Int | MType::Float | MType::Double) {
        return Err(bad(format!("column {name} cannot be AUTO_INCREMENT: it is no number")));
    }
    let first = |parts: &[KeyPart]| parts.first().is_some_and(|p| p.column == n);
    let keyed =
        spec.primary_key.as_deref().is_some_and(first) || spec.indexes.iter().any(|i| first(&i.parts));
    match keyed {
        true => Ok(()),
        false => Err(bad(format!("the AUTO_INCREMENT column {name} must be the first of a key"))),
    }
}

/// Checks an index to be made besides those of these names.
pub(super) fn index<'n>(
    columns: &[Column],
    mut others: impl Iterator<Item = &'n str>,
    spec: &IndexSpec,
    format: RowFormat,
    page_size: PageSize,
) -> Result<()> {
    object_name(&spec.name)?;
    let name = spec.name.as_str();
    if ["PRIMARY", "GEN_CLUST_INDEX"].iter().any(|n| n.eq_ignore_ascii_case(name)) {
        return Err(bad(format!("{name} is the name of a clustered index")));
    }
    if others.any(|n| n.eq_ignore_ascii_case(name)) {
        return Err(bad(format!("there are two indexes {name}")));
    }
    key(columns, name, &spec.parts, format, page_size)
}

fn key(
    columns: &[Column],
    name: &str,
    parts: &[KeyPart],
    format: RowFormat,
    page_size: PageSize,
) -> Result<()> {
    if parts.is_empty() || parts.len() > PARTS_MAX {
        return Err(bad(format!("index {name} has {} columns; 1 to {PARTS_MAX} are allowed", parts.len())));
    }
    let total_max = match page_size.logical() {
        0..=4_096 => 768,
        4_097..=8_192 => 1_536,
        _ => 3_072,
    };
    let column_max = match format {
        RowFormat::Redundant | RowFormat::Compact => OLD_KEY_COLUMN_MAX.min(total_max),
        RowFormat::Dynamic | RowFormat::Compressed => total_max,
    };
    let mut total = 0;
    for (n, part) in parts.iter().enumerate() {
        let Some(column) = columns.get(part.column) else {
            return Err(bad(format!("index {name}: there is no column number {}", part.column)));
        };
        let def = &column.def;
        if parts[..n].iter().any(|p| p.column == part.column) {
            return Err(bad(format!("column {} is in index {name} twice", def.name)));
        }
        let len = part_len(name, def, part)?;
        if len > column_max {
            let text =
                format!("{len} bytes of column {} in index {name}; {column_max} are allowed", def.name);
            return Err(bad(text));
        }
        if !FieldCmp::of(def).is_known() {
            let id = def.collation_id();
            let text = format!("column {} cannot be in index {name}: collation {id} is not known", def.name);
            return Err(bad(text));
        }
        total += len;
    }
    if total > total_max {
        return Err(bad(format!("index {name} has {total} bytes; {total_max} are allowed")));
    }
    Ok(())
}

/// Bytes of a column that a key takes.
fn part_len(index: &str, def: &ColumnDef, part: &KeyPart) -> Result<u32> {
    let text = matches!(
        def.mysql_type(),
        mysql_type::STRING | mysql_type::VARCHAR | mysql_type::BLOB | mysql_type::GEOMETRY
    ) && def.mtype.is_string();
    match (part.prefix_len, def.mtype) {
        (0, MType::Blob) => Err(bad(format!(
            "column {} in index {index} is a BLOB or TEXT and needs a prefix length",
            def.name
        ))),
        (0, _) => Ok(def.len),
        (_, _) if !text => Err(bad(format!(
            "column {} in index {index} cannot have a prefix: it is neither text nor bytes",
            def.name
        ))),
        (n, MType::Blob) => Ok(n),
        (n, _) if n < def.len => Ok(n),
        (n, _) => Err(bad(format!(
            "a prefix of {n} bytes of column {} in index {index} is not shorter than the column",
            def.name
        ))),
    }
}

/// Whether a row can fit whose columns of variable length lie off the page, as far as they are not of the key: of each a
/// reference stays. (One that must keep prefixes of many, or whose columns are too short to be moved, may still not.)
pub(super) fn record_size(table: &str, def: &IndexDef) -> Result<()> {
    let comp = def.layout().comp();
    let mut size = if comp { 5 + def.layout().null_bytes() } else { 6 };
    for (n, field) in def.fields().iter().enumerate().filter(|(_, field)| !field.is_dropped()) {
        let (most, length) = match (field.fixed_len, field.prefix_len, field.column.mtype) {
            (0, 0, MType::Blob) => (usize::MAX, 2),
            (0, 0, _) => (field.column.len as usize, 1 + usize::from(field.column.is_big())),
            (0, prefix, _) => (prefix as usize, 1 + usize::from(field.column.is_big())),
            (fixed, ..) => (fixed as usize, 0),
        };
        let moves = def.is_clustered() && n >= def.n_uniq() && field.fixed_len == 0;
        let moved = moves && most > 2 * EXTERN_REF_LEN;
        size = size.saturating_add(if moved { 2 * EXTERN_REF_LEN } else { most });
        size = size.saturating_add(match (comp, moved) {
            (false, _) => 2,
            (true, true) => 1,
            (true, false) => length,
        });
    }
    let limit = def.rec_size_max();
    if size > limit {
        let inline = def.row_format().off_page_prefix() as usize;
        return Err(Error::RowTooBig { table: table.to_owned(), limit, inline });
    }
    Ok(())
}
