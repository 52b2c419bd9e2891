//! A table takes the place of another: the end of every ALTER TABLE that writes the rows anew.

use super::change::Change;
use super::{drop, foreign, rename};
use crate::error::Result;

/// `with` becomes the table `name`, the table that had the name goes. Foreign keys stay as they are, by name: those of
/// the old table but `without` (named without database) are the new one's, besides its own, and those that refer to the
/// old table refer to the new one.
pub(super) fn replace(change: &mut Change<'_>, name: &str, with: &str, without: &[String]) -> Result<()> {
    for key in without {
        foreign::drop_key(change, name, key)?;
    }
    // Under another name it has no foreign keys, so nothing is lost with it.
    let aside = format!("{with}-old");
    rename::rename_alone(change, name, &aside)?;
    rename::rename(change, with, name)?;
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
