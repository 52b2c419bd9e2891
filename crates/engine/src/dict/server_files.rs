//! Files that a MySQL server keeps beside the tables of InnoDB: `.frm` and `.isl`.

use crate::dict::build::TableParts;
use crate::dict::codec::TableExtra;
use crate::error::Result;
use std::path::{Path, PathBuf};
use vaquita_io::{OpenMode, OpenOptions};
use vaquita_storage::Storage;

/// Longest `.isl`.
const LINK_MAX: u64 = 4_096;

/// What the table's `.frm` tells, if there is one that fits.
pub(crate) fn read_extra(storage: &Storage, table: &TableParts) -> Result<Option<TableExtra>> {
    let _ = (storage, table);
    Ok(None)
}

/// Where the table's `.isl` points, if there is one.
pub(crate) fn read_link(storage: &Storage, name: &str) -> Result<Option<PathBuf>> {
    let path = storage.options().dir.join(format!("{name}.isl"));
    let Some(text) = read(storage, &path, LINK_MAX)? else { return Ok(None) };
    Ok(Some(PathBuf::from(String::from_utf8_lossy(&text).trim().to_owned())))
}

fn read(storage: &Storage, path: &Path, max: u64) -> Result<Option<Vec<u8>>> {
    let fs = storage.fs();
    if !fs.exists(path) {
        return Ok(None);
    }
    let io = |e: vaquita_io::Error| crate::error::Error::Storage(e.into());
    let file = fs.open(path, OpenOptions::new(OpenMode::Read)).map_err(io)?;
    let mut bytes = vec![0; file.len().map_err(io)?.min(max) as usize];
    file.read_at(&mut bytes, 0).map_err(io)?;
    Ok(Some(bytes))
}
