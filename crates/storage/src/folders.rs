//! Folders whose names last.

use crate::error::Result;
use std::path::Path;
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
