//! Temporary tables made and dropped: their trees, without a word in the dictionary or the log.
//!
//! # Crash
//! Nothing is left of them.

use super::TableSpec;
use crate::core::Core;
use crate::dict::build::TableParts;
use crate::error::{Error, Result};
use crate::table::Table;
use std::sync::Arc;
use vaquita_base::SpaceId;
use vaquita_btree::Tree;

/// A temporary table, and what is needed to make another one like it.
#[derive(Debug, Clone)]
pub(crate) struct Temporary {
    pub(crate) table: Arc<Table>,
    /// Its definition, with its trees.
    parts: TableParts,
}

/// Makes a table that nobody has yet.
///
/// # Errors
/// Definitions that cannot be; it has foreign keys; space.
pub(crate) fn create_table(core: &Core, spec: &TableSpec) -> Result<Temporary> {
    if !spec.foreign_keys.is_empty() {
        return Err(Error::ForeignKey(format!("{} is a temporary table", spec.name)));
    }
    super::check::table(&core.storage, spec)?;
    core.txn.make_temporary_space()?;
    make(core, super::create::parts_of(&core.storage, spec))
}

/// Makes an empty table like another one, whose AUTO_INCREMENT values begin anew.
///
/// # Errors
/// Space.
pub(crate) fn create_like(core: &Core, like: &Temporary) -> Result<Temporary> {
    make(core, TableParts { auto_inc_from: 0, ..like.parts.clone() })
}

/// The same table, under another name: whoever has prepared something with the old one finds out.
///
/// # Errors
/// Errors of reading its roots.
pub(crate) fn rename(core: &Core, old: &Temporary, name: &str) -> Result<Temporary> {
    let mut parts = old.parts.clone();
    parts.name = name.to_owned();
    parts.auto_inc_from = old.table.auto_inc.peek().unwrap_or(old.table.auto_inc.hint);
    let table = Arc::new(parts.clone().open(&core.storage, None)?);
    core.temporaries.leave(&old.table);
    core.temporaries.enter(&table);
    Ok(Temporary { table, parts })
}

fn make(core: &Core, mut parts: TableParts) -> Result<Temporary> {
    parts.id = core.temporaries.table_id();
    parts.space = SpaceId::TEMPORARY;
    for index in &mut parts.indexes {
        index.id = core.temporaries.index_id();
    }
    let mut made: Vec<Tree> = Vec::new();
    let trees = parts.index_defs()?.into_iter().enumerate().try_for_each(|(n, def)| {
        let mut mtr = core.storage.begin()?;
        mtr.keep_before_images();
        let tree = Tree::create(&mut mtr, SpaceId::TEMPORARY, def)?;
        mtr.commit();
        parts.indexes[n].root = tree.root();
        made.push(tree);
        Ok(())
    });
    match trees.and_then(|()| parts.clone().open(&core.storage, None)) {
        Ok(table) => {
            let table = Arc::new(table);
            core.temporaries.enter(&table);
            Ok(Temporary { table, parts })
        }
        Err(e) => {
            // The error that made it necessary is what counts; what is not freed goes with the process.
            made.iter().for_each(|tree| drop(free(core, tree)));
            Err(e)
        }
    }
}

fn free(core: &Core, tree: &Tree) -> Result<()> {
    tree.free_but_not_root(&core.storage)?;
    let mut mtr = core.storage.begin()?;
    mtr.keep_before_images();
    tree.free_root(&mut mtr)?;
    mtr.commit();
    Ok(())
}

/// Drops a table: its session uses it no more. Undo records of its rows are passed over from now on.
///
/// # Errors
/// Errors of pages; what is not freed goes with the process.
pub(crate) fn drop_table(core: &Core, table: &Table) -> Result<()> {
    core.temporaries.leave(table);
    table.indexes.iter().map(|index| free(core, &index.tree)).fold(Ok(()), Result::and)
}
