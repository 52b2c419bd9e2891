//! DROP TABLE.

use super::change::Change;
use super::{definition, foreign};
use crate::error::{Error, Result};

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

/// Drops a table.
pub(super) fn drop_table(change: &mut Change<'_>, name: &str, references: References<'_>) -> Result<()> {
    let dict = &change.core.dict;
    let row = dict.table_row(change.storage(), name)?.filter(|_| name.contains('/'));
    let row = row.ok_or_else(|| Error::NoSuchTable(name.to_owned()))?;
    for key in dict.foreign_keys(change.storage(), foreign::BY_PARENT, name)? {
        let counts = match references {
            References::Ignored => false,
            References::Checked => true,
            References::FromElsewhere(database) => {
                key.child.rsplit_once('/').is_none_or(|(child, _)| child != database)
            }
        };
        if counts && key.child != name {
            let text = format!("cannot drop {name}: {} refers to it by foreign key {}", key.child, key.id);
            return Err(Error::ForeignKey(text));
        }
        change.changes(&key.child);
    }
    for key in dict.foreign_keys(change.storage(), foreign::BY_CHILD, name)? {
        foreign::delete(change, &key.id)?;
        change.changes(&key.parent);
    }
    definition::leave_data(change, &row, name)?;
    definition::delete(change, &row)?;
    change.drops(row.id);
    Ok(())
}
