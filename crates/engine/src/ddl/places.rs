//! Where files elsewhere are, when a folder is opened: whoever moves one while nobody uses the folder says so by its `.isl`, and
//! SYS_DATAFILES is corrected.
//!
//! | `.isl` leads to the file | SYS_DATAFILES has its path | file below the folder | |
//! |---|---|---|---|
//! | yes | another, or none elsewhere | | the path of the `.isl` is written |
//! | there is none | yes | no | an `.isl` is made |
//! | no, or there is none | it is not there | yes | the path below the folder is written, and the `.isl` goes |
//!
//! Tables whose files are not found at all are left as they are: their directories may come back.

use super::change::Change;
use super::definition::path_value;
use crate::core::Core;
use crate::dict::list::SysTableRow;
use crate::dict::rows;
use crate::error::Result;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use vaquita_base::SpaceId;
use vaquita_txn::{AccessMode, Isolation};

/// A path of SYS_DATAFILES that is not right.
struct Correction {
    space: SpaceId,
    path: String,
}

/// Corrects what is said of files that were moved. No session has started.
///
/// # Errors
/// Errors of reading and writing the dictionary and links.
pub(crate) fn settle(core: &Core) -> Result<()> {
    let storage = &*core.storage;
    let linked = storage.linked_tables()?;
    let paths: HashMap<SpaceId, String> =
        core.dict.sys_datafiles(storage)?.into_iter().map(|row| (row.space, row.path)).collect();
    let is_elsewhere = |space: &SpaceId| paths.get(space).is_some_and(|path| path.starts_with('/'));
    if linked.is_empty() && !paths.keys().any(is_elsewhere) {
        return Ok(());
    }
    let mut corrections = Vec::new();
    for table in core.dict.sys_tables(storage)? {
        if table.space != SpaceId::SYSTEM && (linked.contains(&table.name) || is_elsewhere(&table.space)) {
            let known = paths.get(&table.space).map_or("", String::as_str);
            corrections.extend(look_for(core, &table, known)?);
        }
    }
    correct(core, &corrections)
}

/// Finds a table's file and makes its link right; the path that SYS_DATAFILES is to have, if it is another.
fn look_for(core: &Core, table: &SysTableRow, known: &str) -> Result<Option<Correction>> {
    let storage = &*core.storage;
    let (name, space) = (table.name.as_str(), table.space);
    let own = storage.place_of(name, None);
    let link = storage.link_target(name)?;
    let said = Some(PathBuf::from(known)).filter(|path| known.starts_with('/') && *path != own);
    if said.is_some() && link == said && said.iter().all(|path| storage.fs().exists(path)) {
        return Ok(None);
    }
    // A table without tablespace has no file.
    if core.dict.discarded(storage, name)?.is_some() {
        return Ok(None);
    }
    let there =
        |path: &Path| -> Result<bool> { Ok(storage.fs().exists(path) && storage.holds(path, space)?) };
    let found = match (&link, &said) {
        (Some(to), _) if *to != own && there(to)? => to.clone(),
        (_, Some(said)) if there(said)? => said.clone(),
        _ if (said.is_some() || link.is_some()) && there(&own)? => own.clone(),
        _ => {
            let path = link.or(said).unwrap_or(own);
            core.notes.say(format!("the file {} of table {name} is missing", path.display()));
            return Ok(None);
        }
    };
    if found == own {
        storage.unlink_table_space(name)?;
        let path = path_value(name, None);
        return Ok((known != path).then_some(Correction { space, path }));
    }
    if link.as_ref() != Some(&found) {
        storage.unlink_table_space(name)?;
        storage.link_table_space(name, &found)?;
    }
    let path = found.to_string_lossy().into_owned();
    Ok((Path::new(known) != found).then_some(Correction { space, path }))
}

fn correct(core: &Core, corrections: &[Correction]) -> Result<()> {
    let Some(files) = core.dict.sys.files.as_ref().filter(|_| !corrections.is_empty()) else { return Ok(()) };
    let mut trx = core.txn.new_trx();
    core.txn.start(&mut trx, Isolation::ReadCommitted, AccessMode::ReadWrite);
    Change::run(core, &mut trx, |change| {
        for Correction { space, path } in corrections {
            let space = rows::u32_value(space.get()).unwrap_or_default();
            change.update(files, &[&space], &[(1, Some(path.as_bytes()))])?;
            core.notes.say(format!("SYS_DATAFILES has {path} now, where the file is"));
        }
        Ok(())
    })
}
