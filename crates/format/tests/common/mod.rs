//! Files written by a real server: the table corpus and the packed data directory.
#![allow(dead_code, clippy::unwrap_used, reason = "test helpers; each program uses its part")]

use std::path::{Path, PathBuf};
use std::process::Command;

/// The corpus.
pub(crate) fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testing/fixtures/mysql56")
}

/// Every `.ibd` file of the corpus, subfolders included.
pub(crate) fn ibd_files() -> Vec<PathBuf> {
    let mut files = Vec::new();
    for dir in ["", "ext", "fts_aux"] {
        for entry in std::fs::read_dir(corpus().join(dir)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|e| e == "ibd") {
                files.push(path);
            }
        }
    }
    files.sort();
    assert!(files.len() > 40, "the corpus is incomplete: {} files", files.len());
    files
}

/// A cleanly shut down data directory, unpacked into a folder of its own that is removed at the end.
pub(crate) struct DataDir(PathBuf);

impl DataDir {
    /// Unpacks; `test` makes the folder's name unique within the process.
    pub(crate) fn unpack(test: &str) -> DataDir {
        let dir = std::env::temp_dir().join(format!("vaquita-format-{}-{test}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let archive = corpus().join("datadir/data56-clean.tar.xz");
        let status = Command::new("tar").arg("-xJf").arg(&archive).arg("-C").arg(&dir).status().unwrap();
        assert!(status.success(), "tar could not unpack {}", archive.display());
        DataDir(dir)
    }

    /// The bytes of a file of the data directory.
    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        self.try_read(name).unwrap_or_else(|| panic!("no {name} in the data directory"))
    }

    /// The bytes of a file that may have been removed before the shutdown.
    pub(crate) fn try_read(&self, name: &str) -> Option<Vec<u8>> {
        std::fs::read(self.0.join("data56-clean").join(name)).ok()
    }
}

impl Drop for DataDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
