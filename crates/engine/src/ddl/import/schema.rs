//! Whether a file to be imported is of a table: its description against the table's own. What differs is said as MySQL 5.6.24 says it,
//! in its order; where that server does not look (the order of an index's fields, which of them are unique) it is said in the same way.

use vaquita_format::cfg::{CfgColumn, CfgField, CfgIndex, TableMeta};
use vaquita_format::flags::TABLE_DATA_DIR;

/// Compares the description of a file with that of the table.
pub(super) fn compare(table: &TableMeta, file: &TableMeta) -> Result<(), String> {
    if table.page_size != file.page_size {
        return Err(format!(
            "Tablespace to be imported has a different page size than this server. Server page size is {}, whereas tablespace page size is {}",
            table.page_size, file.page_size
        ));
    }
    // Where the file was does not matter.
    if (table.flags ^ file.flags) & !TABLE_DATA_DIR != 0 {
        return Err(format!(
            "Table flags don't match, server table has {:#x} and the meta-data file has {:#x}",
            table.flags, file.flags
        ));
    }
    if table.columns.len() != file.columns.len() {
        return Err(format!(
            "Number of columns don't match, table has {} columns but the tablespace meta-data file has {} columns",
            table.columns.len(),
            file.columns.len()
        ));
    }
    if table.indexes.len() != file.indexes.len() {
        return Err(format!(
            "Number of indexes don't match, table has {} indexes but the tablespace meta-data file has {} indexes",
            table.indexes.len(),
            file.indexes.len()
        ));
    }
    for column in &table.columns {
        compare_column(column, file)?;
    }
    table.indexes.iter().try_for_each(|index| compare_index(index, file))
}

fn compare_column(column: &CfgColumn, file: &TableMeta) -> Result<(), String> {
    let (name, ours) = (&column.column.name, &column.column);
    let Some(found) = file.columns.iter().find(|other| other.column.name == *name) else {
        return Err(format!("Column {name} not found in tablespace."));
    };
    if column.position != found.position {
        return Err(format!(
            "Column {name} ordinal value mismatch, it's at {} in the table and {} in the tablespace meta-data file",
            column.position, found.position
        ));
    }
    let theirs = &found.column;
    let differs = [
        ("precise type", ours.prtype != theirs.prtype),
        ("main type", ours.mtype != theirs.mtype),
        ("length", ours.len != theirs.len),
        ("multi-byte len", ours.mbminmaxlen() != theirs.mbminmaxlen()),
        ("ordering", column.ord_part != found.ord_part),
        ("max prefix", column.max_prefix != found.max_prefix),
    ];
    match differs.iter().find(|(_, differs)| *differs) {
        Some((what, _)) => Err(format!("Column {name} {what} mismatch.")),
        None => Ok(()),
    }
}

fn compare_index(index: &CfgIndex, file: &TableMeta) -> Result<(), String> {
    let name = &index.name;
    let Some(found) = file.indexes.iter().find(|other| other.name == *name) else {
        return Err(format!("Index {name} not found in tablespace meta-data file."));
    };
    if index.fields.len() != found.fields.len() {
        return Err(format!(
            "Index {name} field count {} doesn't match tablespace metadata file value {}",
            index.fields.len(),
            found.fields.len()
        ));
    }
    if index.kind != found.kind || index.n_uniq != found.n_uniq {
        return Err(format!(
            "Index {name} type {} with {} unique fields doesn't match tablespace metadata file values {} and {}",
            index.kind, index.n_uniq, found.kind, found.n_uniq
        ));
    }
    (0..index.fields.len()).try_for_each(|at| compare_field(name, at, &index.fields, &found.fields))
}

fn compare_field(index: &str, at: usize, ours: &[CfgField], theirs: &[CfgField]) -> Result<(), String> {
    let (field, found) = (&ours[at], &theirs[at]);
    let name = &field.column;
    if found.column != *name {
        return Err(match theirs.iter().position(|other| other.column == *name) {
            None => format!("Index {index} field {name} not found in tablespace meta-data file."),
            Some(there) => format!(
                "Index {index} field {name} is at {at} in the table and {there} in the tablespace meta-data file"
            ),
        });
    }
    for (what, ours, theirs) in
        [("prefix len", field.prefix_len, found.prefix_len), ("fixed len", field.fixed_len, found.fixed_len)]
    {
        if ours != theirs {
            return Err(format!(
                "Index {index} field {name} {what} {ours} doesn't match meta-data file value {theirs}"
            ));
        }
    }
    Ok(())
}
