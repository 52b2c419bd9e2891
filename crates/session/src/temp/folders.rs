//! Where temporary files are: the folders of `tmpdir`, one after the other.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use vaquita_types::{SqlError, SqlResult};

/// Folders for temporary files, which are used in turn.
#[derive(Debug)]
pub struct TmpFolders {
    folders: Vec<PathBuf>,
    next: AtomicUsize,
}

impl Default for TmpFolders {
    /// That of the process.
    fn default() -> Self {
        TmpFolders { folders: vec![std::env::temp_dir()], next: AtomicUsize::new(0) }
    }
}

impl TmpFolders {
    /// Those that `tmpdir` names, with `:` between them; if it names none, that of the process.
    pub fn of(tmpdir: &str) -> TmpFolders {
        let folders: Vec<PathBuf> =
            tmpdir.split(':').map(str::trim).filter(|folder| !folder.is_empty()).map(PathBuf::from).collect();
        match folders.is_empty() {
            true => TmpFolders::default(),
            false => TmpFolders { folders, next: AtomicUsize::new(0) },
        }
    }

    /// Makes a file in each of them.
    ///
    /// # Errors
    /// 1105: a folder is not there, or takes no files; names it.
    pub fn check(&self) -> SqlResult<()> {
        for folder in &self.folders {
            file_in(folder)
                .map_err(|e| SqlError::new(1105, format!("tmpdir: '{}': {e}", folder.display())))?;
        }
        Ok(())
    }

    /// A file in the next of them, which is gone when it is closed.
    pub fn file(&self) -> std::io::Result<File> {
        let turn = self.next.fetch_add(1, Ordering::Relaxed) % self.folders.len();
        file_in(&self.folders[turn])
    }
}

fn file_in(folder: &Path) -> std::io::Result<File> {
    loop {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let n = now.map_or(0, |d| d.as_nanos());
        let path = folder.join(format!("vaquita-sort-{}-{n}", std::process::id()));
        match File::options().read(true).write(true).create_new(true).open(&path) {
            Ok(file) => {
                // It stays usable without a name.
                std::fs::remove_file(&path)?;
                return Ok(file);
            }
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(e),
        }
    }
}

/// What a sort may take: so many bytes of memory, and files for the rest.
#[derive(Debug, Clone)]
pub struct SortRoom {
    /// Bytes of memory.
    pub memory: usize,
    /// Where the rest goes.
    pub folders: Arc<TmpFolders>,
}

impl SortRoom {
    /// So many bytes, and files in these folders.
    pub fn new(memory: usize, folders: Arc<TmpFolders>) -> SortRoom {
        SortRoom { memory, folders }
    }
}

impl From<usize> for SortRoom {
    /// So many bytes, and files in the folder of the process.
    fn from(memory: usize) -> Self {
        SortRoom { memory, folders: Arc::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_take_turns() {
        let base = std::env::temp_dir().join(format!("vaquita-tmp-folders-{}", std::process::id()));
        let (one, two) = (base.join("one"), base.join("two"));
        std::fs::create_dir_all(&one).unwrap();
        let folders = TmpFolders::of(&format!("{}:{}", one.display(), two.display()));
        let refused = folders.check().unwrap_err();
        assert!(refused.message.contains(&*two.to_string_lossy()), "{refused:?}");
        assert!(folders.file().is_ok());
        assert!(folders.file().is_err(), "the second one's turn");
        assert!(folders.file().is_ok());
        std::fs::create_dir_all(&two).unwrap();
        folders.check().unwrap();
        assert!(folders.file().is_ok());
        // Nothing is left of their files.
        assert_eq!(std::fs::read_dir(&one).unwrap().count() + std::fs::read_dir(&two).unwrap().count(), 0);
        std::fs::remove_dir_all(&base).unwrap();
    }

    #[test]
    fn none_named_is_that_of_the_process() {
        for none in ["", " ", ":"] {
            assert_eq!(TmpFolders::of(none).folders, [std::env::temp_dir()]);
        }
    }
}
