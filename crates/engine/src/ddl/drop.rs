//! DROP TABLE.

use super::change::Change;
use super::{definition, foreign, fulltext, objects};
use crate::core::Core;
use crate::error::{Error, Result};
use crate::table::ForeignKey;
use std::sync::Arc;

/// Which references from other tables keep a table from being dropped.
#[derive(Debug, Clone, Copy)]
pub(super) enum References<'a> {
    /// None.
    Ignored,
    /// All.
    Checked,
    /// Those from other databases than this one, which is dropped as a whole.
    FromElsewhere(&'a str),
}

/// The foreign keys of other tables that refer to a table which is to be dropped, and its own to itself.
///
/// # Errors
/// One of them keeps it from that.
pub(super) fn referring(core: &Core, name: &str, references: References<'_>) -> Result<Vec<Arc<ForeignKey>>> {
    let keys = core.dict.foreign_keys(&core.storage, foreign::BY_PARENT, name)?;
    let keeps = |key: &&Arc<ForeignKey>| match references {
        _ if key.child == name => false,
        References::Ignored => false,
        References::Checked => true,
        References::FromElsewhere(database) => {
            key.child.rsplit_once('/').is_none_or(|(child, _)| child != database)
        }
    };
    if let Some(key) = keys.iter().find(keeps) {
        let text = format!("cannot drop {name}: {} refers to it by foreign key {}", key.child, key.id);
        return Err(Error::ForeignKey(text));
    }
    Ok(keys)
}

/// Drops a table with its triggers.
pub(super) fn drop_table(change: &mut Change<'_>, name: &str, references: References<'_>) -> Result<()> {
    let dict = &change.core.dict;
    let parts = super::parts::rows_of(change, name)?;
    if !parts.is_empty() {
        objects::drop_triggers(change, name)?;
        return super::parts::drop_all(change, name, &parts);
    }
    let row = dict.user_table_row(change.storage(), name)?;
    for key in referring(change.core, name, references)? {
        change.changes(&key.child);
    }
    for key in dict.foreign_keys(change.storage(), foreign::BY_CHILD, name)? {
        foreign::delete(change, &key.id)?;
        change.changes(&key.parent);
    }
    objects::drop_triggers(change, name)?;
    fulltext::drop_all(change, &row)?;
    // Under the name of a table that is discarded there is no file but one that somebody has put there.
    if !dict.is_discarded(change.storage(), &row)? {
        definition::leave_data(change, &row, name)?;
    }
    definition::delete(change, &row)?;
    change.drops(row.id);
    Ok(())
}
