//! The tablespaces of a data folder.

use std::collections::HashMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use vaquita_base::{PageNo, SpaceId};
use vaquita_format::fsp::SpaceHeader;

use super::{InspectError, log, size_of};
use crate::workshop::dictionary::Dictionary;
use crate::workshop::links;
use crate::workshop::report::Report;
use crate::workshop::source::{PageSource, SpaceFile};

pub(super) fn show(dir: &Path, out: &mut dyn Write) -> Result<bool, InspectError> {
    let mut files = Vec::new();
    collect(dir, &mut files).map_err(|e| InspectError::Path(dir.to_path_buf(), e.to_string()))?;
    files.sort();
    let system = dir.join("ibdata1");
    let has_system = system.is_file();
    if has_system {
        files.insert(0, system.clone());
    }
    if files.is_empty() {
        let why = "there is no .ibd or ibdata1 below this folder".to_owned();
        return Err(InspectError::Path(dir.to_path_buf(), why));
    }
    let dictionary = match SpaceFile::open_with_followers(&system) {
        Ok(src) if has_system => Dictionary::read(&src, &mut Report::new()),
        _ => Dictionary::default(),
    };
    let names: HashMap<SpaceId, &str> =
        dictionary.tables.iter().map(|t| (t.space, t.name.as_str())).collect();
    let shown = |f: &Path| f.strip_prefix(dir).unwrap_or(f).display().to_string();
    let width = files.iter().map(|f| shown(f).chars().count()).max().unwrap_or(0).clamp(4, 70);
    writeln!(out, "{:<width$} {:>6} {:>9} {:>6} {:>11}  table", "file", "space", "pages", "page", "size")?;
    let mut sound = true;
    for file in &files {
        let name = shown(file);
        match line(file, &names) {
            Ok(rest) => writeln!(out, "{name:<width$} {rest}")?,
            Err(e) => {
                sound = false;
                writeln!(out, "{name:<width$} {e}")?;
            }
        }
    }
    if dir.join("ib_logfile0").is_file() {
        writeln!(out)?;
        sound &= log::show(dir, out)?;
    }
    Ok(sound)
}

fn line(file: &Path, names: &HashMap<SpaceId, &str>) -> Result<String, crate::workshop::ReadError> {
    let src = SpaceFile::open_with_followers(file)?;
    let header = SpaceHeader::read(&src.page(PageNo(0))?);
    let size = src.page_size();
    let bytes = u64::from(src.n_pages()) * size.physical() as u64;
    let page =
        if size.is_compressed() { format!("{}z", size.physical()) } else { size.logical().to_string() };
    let table = if header.space == SpaceId::SYSTEM {
        "system tablespace"
    } else {
        names.get(&header.space).copied().unwrap_or("")
    };
    Ok(format!("{:>6} {:>9} {page:>6} {:>11}  {table}", header.space, src.n_pages(), size_of(bytes)))
}

fn collect(dir: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|e| e == "ibd") {
            files.push(path);
        } else if links::is_link(&path) {
            files.push(links::target(&path)?);
        }
    }
    Ok(())
}
