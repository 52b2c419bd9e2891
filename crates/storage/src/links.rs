//! Files of tables that lie elsewhere (DATA DIRECTORY), and the `.isl` files that tell where.
//!
//! `database/table.isl`, in the place of the table's `.ibd`, is a text: the path of the file. Recovery finds such files by it before there
//! is a dictionary, and whoever moves one while nobody uses the folder changes it. In the directory that was asked for the file is
//! `database/table.ibd`, as it would be in the folder.
//!
//! # Crash
//! A link is durable before its file comes to be, or comes to the place, and goes after the file has gone. So whatever file there is can
//! be found; a link that leads nowhere is left over, or its directory is not there today.

use crate::error::{Error, Result};
use crate::folders::{create_dir_durably, files};
use crate::space::SpaceMap;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use vaquita_base::SpaceId;
use vaquita_io::{FileSystem, OpenMode, OpenOptions};

/// Longest path in a link.
const TARGET_MAX: u64 = 4_096;

/// The links of a folder.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Links<'a> {
    fs: &'a dyn FileSystem,
    dir: &'a Path,
}

impl<'a> Links<'a> {
    pub(crate) fn of(fs: &'a dyn FileSystem, dir: &'a Path) -> Links<'a> {
        Links { fs, dir }
    }

    /// The link of a table, `database/table`.
    pub(crate) fn path(self, name: &str) -> PathBuf {
        self.dir.join(format!("{name}.isl"))
    }

    /// Where a table's file is if nothing else is said.
    pub(crate) fn default(self, name: &str) -> PathBuf {
        self.dir.join(format!("{name}.ibd"))
    }

    /// The names of the tables that have links.
    pub(crate) fn names(self) -> Result<BTreeSet<String>> {
        let links = files(self.fs, self.dir)?.into_iter().filter(|file| is_link(file));
        let name = |link: PathBuf| link.strip_prefix(self.dir).unwrap_or(&link).with_extension("");
        Ok(links.map(|link| name(link).to_string_lossy().into_owned()).collect())
    }

    /// Where a table's link leads, if it has one.
    pub(crate) fn target(self, name: &str) -> Result<Option<PathBuf>> {
        let path = self.path(name);
        match self.fs.is_there(&path)? {
            true => self.read(&path),
            false => Ok(None),
        }
    }

    /// Where a link leads; nowhere, if its text was not written before a crash.
    pub(crate) fn read(self, link: &Path) -> Result<Option<PathBuf>> {
        let file = self.fs.open(link, OpenOptions::new(OpenMode::Read))?;
        let mut text = vec![0; file.len()?.min(TARGET_MAX) as usize];
        file.read_at(&mut text, 0)?;
        let text = text.trim_ascii();
        Ok((!text.is_empty() && !text.contains(&0)).then(|| self.dir.join(OsStr::from_bytes(text))))
    }

    /// The file of a table: where its link leads, unless it is only in the folder.
    pub(crate) fn file_of(self, name: &str) -> Result<PathBuf> {
        let default = self.default(name);
        let target = self.target(name)?;
        match target {
            Some(target) if self.fs.is_there(&target)? || !self.fs.is_there(&default)? => Ok(target),
            _ => Ok(default),
        }
    }

    /// Links a table to a file; durable on return.
    pub(crate) fn make(self, name: &str, target: &Path) -> Result<()> {
        let path = self.path(name);
        if self.fs.is_there(&path)? {
            return match self.read(&path)? {
                Some(known) if known == target => Ok(()),
                // A crash came before its text.
                None => self.remove(name).and_then(|()| self.make(name, target)),
                Some(known) => Err(Error::Folder(format!(
                    "{} exists and leads to {}; move it away",
                    path.display(),
                    known.display()
                ))),
            };
        }
        let file = self.fs.open(&path, OpenOptions::new(OpenMode::CreateNew))?;
        let made = file.write_at(target.as_os_str().as_bytes(), 0).and_then(|()| file.sync());
        let made = made.and_then(|()| self.fs.sync_dir(path.parent().unwrap_or(self.dir)));
        made.inspect_err(|_| drop(self.fs.remove_file(&path)))?;
        Ok(())
    }

    /// Removes a table's link, if it has one; durable on return.
    pub(crate) fn remove(self, name: &str) -> Result<()> {
        let path = self.path(name);
        if self.fs.is_there(&path)? {
            self.fs.remove_file(&path)?;
            self.fs.sync_dir(path.parent().unwrap_or(self.dir))?;
        }
        Ok(())
    }

    /// The directory elsewhere that a table's file is below; `None`: it is below the folder.
    fn directory_of(self, file: &Path) -> Option<&Path> {
        let parent = file.parent()?;
        let directory = parent.parent()?;
        (parent != self.dir && directory != self.dir).then_some(directory)
    }

    /// Whether a file is in a directory elsewhere.
    pub(crate) fn is_elsewhere(self, file: &Path) -> bool {
        self.directory_of(file).is_some()
    }

    /// Where a file goes that gets the name of a table: it stays in its directory.
    pub(crate) fn renamed(self, file: &Path, to: &str) -> PathBuf {
        match self.directory_of(file) {
            None => self.default(to),
            Some(directory) => below(directory, to),
        }
    }

    /// Gives an open file the name of a table; durable by the next checkpoint, and on return if the file is elsewhere: there recovery
    /// finds it by its link alone.
    pub(crate) fn rename(self, spaces: &SpaceMap, id: SpaceId, to: &str) -> Result<()> {
        let file = spaces.get(id)?.path();
        let target = self.renamed(&file, to);
        if !self.is_elsewhere(&file) {
            return spaces.rename(id, &target);
        }
        let folder = target.parent().unwrap_or(self.dir);
        create_dir_durably(self.fs, folder)?;
        self.make(to, &target)?;
        spaces.rename(id, &target)?;
        Ok(self.fs.sync_dir(folder)?)
    }

    /// Removes the link that a file had under a name that it has given up, if it is still there.
    pub(crate) fn remove_left(self, file: &Path, name: &str) -> Result<()> {
        let Some(directory) = self.directory_of(file) else { return Ok(()) };
        match self.target(name)? {
            Some(was) if self.directory_of(&was) == Some(directory) && !self.fs.is_there(&was)? => {
                self.remove(name)
            }
            _ => Ok(()),
        }
    }
}

/// Whether a file is a link.
pub(crate) fn is_link(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "isl")
}

/// The file of a table in a directory elsewhere. What the directory is called stays as it is written.
pub(crate) fn below(directory: &Path, name: &str) -> PathBuf {
    let mut path = directory.as_os_str().to_owned().into_vec();
    if path.last() != Some(&b'/') {
        path.push(b'/');
    }
    path.extend_from_slice(format!("{name}.ibd").as_bytes());
    PathBuf::from(std::ffi::OsString::from_vec(path))
}
