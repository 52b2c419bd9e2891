//! Whether a server has files open that are looked at: what is read of them may be of different moments.
//!
//! Servers lock their files (fcntl): MySQL every data file, this one the system tablespace.

use std::path::{Path, PathBuf};
use vaquita_io::real::writer_of;

/// What to say of a file or a data folder that a running server holds; `None` if none is known to.
pub fn note(path: &Path) -> Option<String> {
    let held = candidates(path).into_iter().find_map(|file| Some((writer_of(&file)?, file)));
    held.map(|(holder, file)| {
        format!(
            "{} is in use by {holder}: it changes while it is read, and what is said of it may be a moment's",
            file.display()
        )
    })
}

/// The files that a server which has `path` open holds a lock on: itself, or the system tablespace of its folder.
fn candidates(path: &Path) -> Vec<PathBuf> {
    let system = |dir: &Path| dir.join("ibdata1");
    if path.is_dir() {
        return vec![system(path)];
    }
    let dir = match path.parent() {
        Some(dir) if dir != Path::new("") => dir.to_path_buf(),
        _ => PathBuf::from("."),
    };
    vec![path.to_path_buf(), system(&dir), system(&dir.join(".."))]
}
