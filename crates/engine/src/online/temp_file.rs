//! Temporary files of sorts and logs: they go when their owner goes, those of a process that was killed at the next opening.

use crate::error::{Error, Result};
use std::path::PathBuf;
use std::sync::Arc;
use vaquita_io::{File, FileSystem, OpenMode, OpenOptions};
use vaquita_storage::Storage;

/// Their names begin so.
const PREFIX: &str = "#sql-vaquita-";

/// Turns an error of such a file into the engine's.
pub(crate) fn io(e: vaquita_io::Error) -> Error {
    Error::SortFile(e)
}

/// Removes the temporary files of a process that is gone.
///
/// # Errors
/// Errors of files.
pub(crate) fn remove_leftovers(storage: &Storage) -> Result<()> {
    for path in storage.fs().list_dir(&storage.options().dir).map_err(io)? {
        if path.file_name().is_some_and(|n| n.to_string_lossy().starts_with(PREFIX)) {
            storage.fs().remove_file(&path).map_err(io)?;
        }
    }
    Ok(())
}

/// A file that nobody finds when this is gone.
#[derive(Debug)]
pub(crate) struct TempFile {
    fs: Arc<dyn FileSystem>,
    pub(crate) path: PathBuf,
    pub(crate) file: Arc<dyn File>,
}

impl TempFile {
    /// Makes one; `name` is one that no other has at the same time.
    pub(crate) fn create(storage: &Storage, name: &str) -> Result<TempFile> {
        let path = storage.options().dir.join(format!("{PREFIX}{name}"));
        let file = storage.fs().open(&path, OpenOptions::new(OpenMode::CreateNew)).map_err(io)?;
        Ok(TempFile { fs: storage.fs().clone(), path, file })
    }

    /// What was read is not what was written.
    #[cold]
    pub(crate) fn damaged(&self) -> Error {
        Error::Corrupt(format!("{}: an entry is not as it was written", self.path.display()))
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        // What cannot be removed now is removed at the next opening.
        let _ = self.fs.remove_file(&self.path);
    }
}

/// A folder of its own, for tests of what keeps temporary files.
#[cfg(test)]
pub(crate) fn storage_on(disk: &vaquita_io::sim::SimDisk) -> Arc<Storage> {
    disk.put_dir("/db".as_ref());
    let clock = Arc::new(vaquita_base::ManualClock::new());
    let opened = Storage::open(Arc::new(disk.clone()), clock, vaquita_storage::Options::new("/db"));
    Arc::new(opened.expect("an empty folder can be opened"))
}
