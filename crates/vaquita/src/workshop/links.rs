//! `.isl` files: where the file of a table is that is not in its folder.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Whether a path is that of such a file.
pub fn is_link(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "isl")
}

/// Where a link leads. A path that does not begin at the root begins in the data folder, in whose folder of a database the link is.
///
/// # Errors
/// The link cannot be read.
pub fn target(link: &Path) -> io::Result<PathBuf> {
    let text = std::fs::read(link)?;
    let folder = link.parent().and_then(Path::parent).unwrap_or(Path::new(""));
    Ok(folder.join(OsStr::from_bytes(text.trim_ascii())))
}

/// The file that a path means: the one that a link leads to, or the path's own.
///
/// # Errors
/// The link cannot be read.
pub fn follow(path: &Path) -> io::Result<PathBuf> {
    if is_link(path) { target(path) } else { Ok(path.to_owned()) }
}
