//! ALTER TABLE .. DISCARD TABLESPACE: a table's file goes, what is said of the table stays.
//!
//! The table and its indexes get new numbers, as in MySQL 5.6: undo records and locks of its rows are of a table that is
//! no more. The tables of its FULLTEXT indexes go with the words in them; that there are such indexes is still said. It keeps the number of its tablespace, which nobody opens, until one is [imported](super::import).
//!
//! # Crash
//! The table has its file, or is discarded and the file is gone.

use super::change::Change;
use super::{definition, foreign, fulltext};
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
    foreign::lose_rows(change, name, checks, "discard the tablespace of")?;
    change.unlatched(|change| {
        // What tells the space's flags below.
        change.core.dict.open_space(change.storage(), &row)?;
        parts.id = ids::table_id(change.storage())?;
        for index in &mut parts.indexes {
            (index.id, index.root, index.trx_id) = (ids::index_id(change.storage())?, PageNo::NULL, TrxId(0));
        }
        for index in &mut parts.fulltext {
            index.id = ids::index_id(change.storage())?;
        }
        Ok(())
    })?;
    parts.discarded = true;
    // A file to be imported has no versions of rows.
    parts.versions = None;
    // Its words go with its rows.
    fulltext::drop_all(change, &row)?;
    definition::leave_data(change, &row, name)?;
    definition::delete(change, &row)?;
    definition::insert(change, &parts)?;
    change.drops(row.id);
    Ok(true)
}
