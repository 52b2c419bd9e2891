//! Folders: made so that their names last, and what is in them.

use crate::error::Result;
use std::path::{Path, PathBuf};
use vaquita_io::FileSystem;

/// Creates the folder and its parents; their names are durable on return.
pub(crate) fn create_dir_durably(fs: &dyn FileSystem, dir: &Path) -> Result<()> {
    let missing: Vec<&Path> =
        dir.ancestors().take_while(|p| !p.as_os_str().is_empty() && !fs.exists(p)).collect();
    fs.create_dir_all(dir)?;
    for made in missing.iter().rev() {
        match made.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => fs.sync_dir(parent)?,
            _ => fs.sync_dir(Path::new("."))?,
        }
    }
    Ok(())
}

/// The files in a folder and in those within it, which are databases.
pub(crate) fn files(fs: &dyn FileSystem, dir: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs.list_dir(dir)? {
        match fs.is_dir(&entry) {
            true => files.extend(fs.list_dir(&entry)?),
            false => files.push(entry),
        }
    }
    Ok(files)
}
