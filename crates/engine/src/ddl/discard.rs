//! ALTER TABLE .. DISCARD TABLESPACE: a table's file goes, what is said of the table stays. The same of all parts of a partitioned table, or
//! of some.
//!
//! The table and its indexes get new numbers, as in MySQL 5.6: undo records and locks of its rows are of a table that is
//! no more. The tables of its FULLTEXT indexes go with the words in them; that there are such indexes is still said. It keeps the number of its tablespace, which nobody opens, until one is [imported](super::import).
//!
//! # Crash
//! The table has its file, or is discarded and the file is gone; the same of all parts that are named.

use super::change::Change;
use super::{definition, foreign, fulltext, parts};
use crate::dict::build::TableParts;
use crate::dict::ids;
use crate::dict::load::TableRow;
use crate::error::{Error, Result};
use vaquita_base::{PageNo, SpaceId, TrxId};

/// Discards the tablespace of a table, or those of the parts of these names; `false`: all of them are discarded already.
pub(super) fn discard(
    change: &mut Change<'_>,
    name: &str,
    of_parts: Option<&[String]>,
    checks: bool,
) -> Result<bool> {
    let mut gone: Vec<(TableRow, TableParts)> = Vec::new();
    for row in parts::tables_of(change, name, of_parts)? {
        if row.space == SpaceId::SYSTEM {
            return Err(Error::NoOwnTablespace(name.to_owned()));
        }
        let parts = change.core.dict.read_parts(change.storage(), &row)?;
        if !parts.discarded {
            gone.push((row, parts));
        }
    }
    if gone.is_empty() {
        return Ok(false);
    }
    foreign::lose_rows(change, name, checks, "discard the tablespace of")?;
    change.unlatched(|change| gone.iter_mut().try_for_each(|(row, parts)| renumber(change, row, parts)))?;
    for (row, mut parts) in gone {
        parts.discarded = true;
        // A file to be imported has no versions of rows.
        parts.versions = None;
        // Its words go with its rows.
        fulltext::drop_all(change, &row)?;
        definition::leave_data(change, &row, &row.name)?;
        definition::delete(change, &row)?;
        definition::insert(change, &parts)?;
        change.drops(row.id);
    }
    // The object of a partitioned table has those of its parts.
    change.changes(name);
    Ok(true)
}

/// Gives a table the numbers that it has without its tablespace.
fn renumber(change: &Change<'_>, row: &TableRow, parts: &mut TableParts) -> Result<()> {
    let storage = change.storage();
    // What tells the space's flags below.
    change.core.dict.open_space(storage, row)?;
    parts.id = ids::table_id(storage)?;
    for index in &mut parts.indexes {
        (index.id, index.root, index.trx_id) = (ids::index_id(storage)?, PageNo::NULL, TrxId(0));
    }
    for index in &mut parts.fulltext {
        index.id = ids::index_id(storage)?;
    }
    Ok(())
}
