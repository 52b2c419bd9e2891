//! Fixture files of a real MySQL 5.6.24, and the command line in this process.
#![allow(dead_code, clippy::unwrap_used, reason = "tests; each file uses a part")]

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) fn fixture_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testing/fixtures/mysql56")
}

pub(crate) fn fixture(name: &str) -> PathBuf {
    fixture_dir().join(name)
}

/// Exit code, standard output, standard error.
pub(crate) fn vaquita(args: &[&dyn AsRef<std::ffi::OsStr>]) -> (u8, String, String) {
    let args = std::iter::once(OsString::from("vaquita")).chain(args.iter().map(|a| a.as_ref().to_owned()));
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let code = vaquita::cli::run_code(args, &mut out, &mut err);
    (code, String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
}

/// Every `.ibd` of the fixtures but the auxiliary FULLTEXT tables.
pub(crate) fn tablespaces() -> Vec<PathBuf> {
    let mut out = Vec::new();
    for dir in [fixture_dir(), fixture("ext")] {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|e| e == "ibd") {
                out.push(path);
            }
        }
    }
    out.sort();
    assert_eq!(out.len(), 34);
    out
}

/// The table's name in file names: without partition.
pub(crate) fn table_of(ibd: &Path) -> String {
    let stem = ibd.file_stem().unwrap().to_str().unwrap();
    stem.split('#').next().unwrap().to_owned()
}

/// A folder of the test's own, removed when it goes.
pub(crate) struct Scratch(pub(crate) PathBuf);

impl Scratch {
    pub(crate) fn new(name: &str) -> Scratch {
        let dir = std::env::temp_dir().join(format!("vaquita-workshop-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).unwrap();
        Scratch(dir)
    }

    pub(crate) fn put(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The data folder of a server that was shut down cleanly, unpacked.
pub(crate) fn data_folder(scratch: &Scratch) -> PathBuf {
    let archive = fixture("datadir/data56-clean.tar.xz");
    let status = Command::new("tar").arg("-xJf").arg(archive).arg("-C").arg(&scratch.0).status().unwrap();
    assert!(status.success());
    scratch.0.join("data56-clean")
}
