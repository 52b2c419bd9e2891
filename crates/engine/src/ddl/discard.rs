//! ALTER TABLE .. DISCARD TABLESPACE: a table's file goes, what is said of the table stays.
//!
//! The table and its indexes get new numbers, as in MySQL 5.6: undo records and locks of its rows are of a table that is
//! no more. It keeps the number of its tablespace, which nobody opens, until one is [imported](super::import).
//!
//! # Crash
//! The table has its file, or is discarded and the file is gone.

use super::change::Change;
use super::{definition, foreign};
use crate::dict::ids;
use crate::error::{Error, Result};
use vaquita_base::{PageNo, SpaceId, TrxId};

/// Discards the tablespace of a table; `false`: it is discarded already.
pub(super) fn discard(change: &mut Change<'_>, name: &str, checks: bool) -> Result<bool> {
    let dict = &change.core.dict;
    let storage = change.storage();
    let row = dict.user_table_row(storage, name)?;
    if row.space == SpaceId::SYSTEM {
        return Err(Error::NoOwnTablespace(name.to_owned()));
    }
    let mut parts = dict.read_parts(storage, &row)?;
    if parts.discarded {
        return Ok(false);
    }
    if !parts.fulltext.is_empty() {
        return Err(Error::BadDefinition(format!(
            "table {name} has a FULLTEXT index, which is in other tables"
        )));
    }
    foreign::lose_rows(change, name, checks, "discard the tablespace of")?;
    change.unlatched(|change| {
        // What tells the space's flags below.
        change.core.dict.open_space(change.storage(), &row)?;
        parts.id = ids::table_id(change.storage())?;
        for index in &mut parts.indexes {
            (index.id, index.root, index.trx_id) = (ids::index_id(change.storage())?, PageNo::NULL, TrxId(0));
        }
        Ok(())
    })?;
    parts.discarded = true;
    // A file to be imported has no versions of rows.
    parts.versions = None;
    definition::leave_data(change, &row, name)?;
    definition::delete(change, &row)?;
    definition::insert(change, &parts)?;
    change.drops(row.id);
    Ok(true)
}
