//! A table takes the place of another: the end of every ALTER TABLE that writes the rows anew.

use super::change::Change;
use super::definition::make_younger;
use super::rename::{self, Renaming};
use super::{KeptKeys, drop, foreign, parts};
use crate::error::{Error, Result};

/// `with` becomes the table `name`, the table that had the name goes. Foreign keys stay as they are, by name: those of
/// the old table but some are the new one's, besides its own, and those that refer to the old table refer to the new one.
pub(super) fn replace(change: &mut Change<'_>, name: &str, with: &str, keys: KeptKeys<'_>) -> Result<()> {
    let (old, new) = (parts::rows_of(change, name)?, parts::rows_of(change, with)?);
    if !old.is_empty() || !new.is_empty() {
        return parts::replace(change, name, with, old, new);
    }
    for key in keys.without {
        foreign::find_key(change, name, key)?;
    }
    let aside = format!("{with}-old");
    rename::check_is_free(change, &aside)?;
    let renamings = [(0, Renaming::of(change, name, &aside)?), (1, Renaming::of(change, with, name)?)];
    rename::rename_files(change, &renamings, &mut 0)?;
    for key in keys.without {
        foreign::drop_key(change, name, key)?;
    }
    // The new table's own keys have the new names already.
    foreign::rename_columns(change, name, keys.renamed)?;
    // Under another name it has no foreign keys, so nothing is lost with it.
    for (_, renaming) in &renamings {
        rename::rename_rows(change, renaming)?;
    }
    foreign::rename_table(change, with, name)?;
    let renewed = change.core.dict.table_row(change.storage(), name)?;
    let renewed = renewed.ok_or_else(|| Error::NoSuchTable(name.to_owned()))?;
    let parts = change.core.dict.read_parts(change.storage(), &renewed)?;
    make_younger(change, &parts)?;
    drop::drop_table(change, &aside, drop::References::Ignored)?;
    change.changes(name);
    for by in [foreign::BY_CHILD, foreign::BY_PARENT] {
        for key in change.core.dict.foreign_keys(change.storage(), by, name)? {
            change.changes(&key.child);
            change.changes(&key.parent);
        }
    }
    Ok(())
}
