//! Finding the tablespaces of a folder by what their files say.

use crate::error::{Error, Result};
use crate::folders::files;
use crate::links::{Links, is_link};
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use vaquita_base::SpaceId;
use vaquita_base::codec::get_u32;
use vaquita_format::fsp::header::FLAGS;
use vaquita_format::{PageSize, fil};
use vaquita_io::{FileSystem, OpenMode, OpenOptions};

/// A single-table file and the space it holds.
#[derive(Debug, Clone)]
pub(crate) struct FoundSpace {
    pub(crate) id: SpaceId,
    /// FSP flags; `None` if page 0 has not been written yet.
    pub(crate) flags: Option<u32>,
    pub(crate) path: PathBuf,
}

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Discovery {
    /// Spaces with files, by number.
    pub(crate) spaces: Vec<FoundSpace>,
    /// Links that lead nowhere: themselves and where.
    pub(crate) dangling: Vec<(PathBuf, PathBuf)>,
    /// Directories elsewhere in which files are.
    pub(crate) elsewhere: BTreeSet<PathBuf>,
}

/// The `.ibd` files in the folder and its sub-folders (one level: databases), and where `.isl` files point.
///
/// Files that do not say which space they hold (all zeros: created just before a crash) are left out; and of two that say the same one
/// that is described (`.cfg`): it is from elsewhere, to be imported.
pub(crate) fn find_table_spaces(fs: &dyn FileSystem, dir: &Path, page_size: PageSize) -> Result<Discovery> {
    let links = Links::of(fs, dir);
    let mut out = Discovery::default();
    let mut found: HashMap<SpaceId, FoundSpace> = HashMap::new();
    let mut take = |path: PathBuf| -> Result<()> {
        if let Some(space) = read_space_id(fs, &path, page_size)? {
            let is_described = |path: &Path| fs.exists(&path.with_extension("cfg"));
            match found.get(&space.id).filter(|other| other.path != path) {
                Some(other) if is_described(&other.path) == is_described(&path) => {
                    return Err(Error::Folder(format!(
                        "tablespace number {} is used by both {} and {}; move one of them away",
                        space.id,
                        other.path.display(),
                        path.display()
                    )));
                }
                Some(_) if is_described(&path) => return Ok(()),
                Some(_) | None => {}
            }
            found.insert(space.id, space);
        }
        Ok(())
    };
    for path in files(fs, dir)? {
        if path.extension().is_some_and(|extension| extension == "ibd") {
            take(path)?;
        } else if is_link(&path)
            && let Some(target) = links.read(&path)?
        {
            if fs.is_there(&target)? {
                out.elsewhere.extend(target.parent().map(Path::to_owned));
                take(target)?;
            } else {
                out.dangling.push((path, target));
            }
        }
    }
    out.spaces = found.into_values().collect();
    out.spaces.sort_by_key(|s| s.id);
    Ok(out)
}

/// Makes the names in the folder and its sub-folders durable.
pub(crate) fn sync_folders(fs: &dyn FileSystem, dir: &Path) -> Result<()> {
    for entry in fs.list_dir(dir)? {
        if fs.is_dir(&entry) {
            fs.sync_dir(&entry)?;
        }
    }
    Ok(fs.sync_dir(dir)?)
}

/// Which space a file holds: what most of its first pages say, because page 0 may be torn or not yet written.
pub(crate) fn read_space_id(
    fs: &dyn FileSystem,
    path: &Path,
    page_size: PageSize,
) -> Result<Option<FoundSpace>> {
    const PAGES_TRIED: u64 = 8;
    let file = fs.open(path, OpenOptions::new(OpenMode::Read))?;
    let len = file.len()?;
    let mut page = vec![0; page_size.logical()];
    let mut votes: HashMap<SpaceId, u32> = HashMap::new();
    let mut flags = None;
    let page_len = page.len() as u64;
    for no in 0..PAGES_TRIED.min(len / page_len) {
        file.read_at(&mut page, no * page_len)?;
        if no == 0 && fil::page_type(&page) == Some(fil::PageType::FspHdr) {
            flags = Some(get_u32(&page, FLAGS));
        }
        let id = fil::space_id(&page);
        if id != SpaceId::SYSTEM {
            *votes.entry(id).or_default() += 1;
        }
    }
    let winner = votes.into_iter().max_by_key(|&(id, n)| (n, id));
    Ok(winner.map(|(id, _)| FoundSpace { id, flags, path: path.to_owned() }))
}
