//! The tablespaces of tables: made, opened, renamed and dropped, with the log saying so.

use crate::error::{Error, Result};
use crate::folders::create_dir_durably;
use crate::fsp;
use crate::links::{self, Links};
use crate::options::Options;
use crate::recovery;
use crate::space::{Changing, Space, SpaceMap};
use crate::storage::Storage;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use vaquita_base::{Lsn, SpaceId};
use vaquita_format::PageSize;
use vaquita_format::flags::SpaceFlags;
use vaquita_format::redo_rec::encode;

/// A change of files.
#[derive(Debug, Clone, Copy)]
pub enum FileChange<'n> {
    /// A tablespace and its file go.
    Drop(SpaceId, &'n str),
    /// A file gets another name: the one before, the one after.
    Rename(SpaceId, &'n str, &'n str),
}

/// Changes of files that are in the log: the checkpoint waits until they are done.
#[derive(Debug)]
pub struct LoggedChanges<'s> {
    lsn: Lsn,
    _changing: Changing<'s>,
}

impl LoggedChanges<'_> {
    /// Up to where the log is to be durable before they are done.
    pub fn lsn(&self) -> Lsn {
        self.lsn
    }
}

impl Storage {
    /// Creates a single-table space, its file `name.ibd` below the folder (`name` as `database/table`, in file name
    /// encoding) with its first pages.
    ///
    /// # Errors
    /// `AlreadyExists`, other I/O errors; nothing is left then.
    ///
    /// # Crash
    /// What is in the file is durable before its creation is logged: redo for the space finds it by what it says, by whatever name, even
    /// if none of its pages was written. Its name is durable by the checkpoint; until then recovery makes a file anew that is not there.
    /// A file without a creation in the log is an orphan of a call that never returned.
    pub fn create_table_space(&self, id: SpaceId, flags: SpaceFlags, name: &str) -> Result<()> {
        self.create_table_space_in(id, flags, name, None)
    }

    /// The same with the file in a directory elsewhere, which is made if it is not there, and a link that leads to it.
    ///
    /// # Errors
    /// As of [`Storage::create_table_space`]. Directories that were made stay.
    ///
    /// # Crash
    /// As of [`Storage::create_table_space`], but its name is durable, too, before its creation is logged: recovery makes no files
    /// elsewhere. A link without a file may be left.
    pub fn create_table_space_in(
        &self,
        id: SpaceId,
        flags: SpaceFlags,
        name: &str,
        directory: Option<&str>,
    ) -> Result<()> {
        let path = self.place_of(name, directory);
        let size = flags.page_size();
        if size != self.options().page_size {
            return Err(Error::Config(format!("a space of {} byte pages in this folder", size.physical())));
        }
        if directory.is_some() {
            self.link_to_new_file(name, &path)?;
        }
        let made = self.spaces().create(id, flags.encode(), size, &path, fsp::INITIAL_PAGES);
        let made = made.and_then(|space| {
            self.init_table_space(&space, flags, name, directory.is_some()).inspect_err(|_| {
                self.pool().discard_space(id);
                self.spaces().detach(id);
                // The error that made it necessary is what counts.
                let _ = self.fs().remove_file(&path);
            })
        });
        if made.is_err() && directory.is_some() {
            // As above.
            let _ = self.unlink_table_space(name);
        }
        made
    }

    /// Links a table to a file elsewhere that is to be made, and makes the directory, if it is not there. Durable on return.
    ///
    /// # Errors
    /// There is a link that leads to another file; I/O errors. Directories that were made stay.
    pub fn link_to_new_file(&self, name: &str, file: &Path) -> Result<()> {
        create_dir_durably(&**self.fs(), file.parent().unwrap_or(&self.options().dir))?;
        self.link_table_space(name, file)
    }

    /// Makes the file of a new space durable, which says whose it is from then on, and writes its first pages.
    fn init_table_space(&self, space: &Space, flags: SpaceFlags, name: &str, elsewhere: bool) -> Result<()> {
        let (id, path) = (space.id(), space.path());
        space.mark_written();
        self.spaces().sync(space)?;
        match elsewhere {
            true => self.fs().sync_dir(path.parent().unwrap_or(&self.options().dir))?,
            false => self.spaces().name_changed(&path),
        }
        let mut mtr = self.begin()?;
        mtr.keep_before_images();
        mtr.log_record(|log| encode::push_file_create2(log, id, flags, false, name.as_bytes()));
        fsp::init_space(&mut mtr, id, flags, fsp::INITIAL_PAGES)?;
        mtr.commit();
        Ok(())
    }

    /// Drops a single-table space with its file, and the link to it.
    ///
    /// # Errors
    /// I/O errors. The space is gone from this instance all the same.
    ///
    /// # Crash
    /// The drop is durable in the log before the file goes; recovery finishes it.
    pub fn drop_table_space(&self, id: SpaceId, name: &str) -> Result<()> {
        let logged = self.log_changes(&[FileChange::Drop(id, name)])?;
        self.log().flush_up_to(logged.lsn())?;
        self.drop_logged(&logged, id, name)
    }

    /// Says in the log that files of single-table spaces change. They are to do so next, in this order, when the log is durable up to there.
    ///
    /// # Errors
    /// The system tablespace is no table's; errors of the log.
    pub fn log_changes(&self, changes: &[FileChange<'_>]) -> Result<LoggedChanges<'_>> {
        for change in changes {
            let (FileChange::Drop(id, name) | FileChange::Rename(id, name, _)) = change;
            if *id == SpaceId::SYSTEM {
                return Err(Error::Folder(format!(
                    "{name}: the system tablespace is no table's, it is not dropped or renamed"
                )));
            }
        }
        let mut mtr = self.begin()?;
        let changing = self.spaces().change_names();
        for change in changes {
            mtr.log_record(|log| match *change {
                FileChange::Drop(id, name) => encode::push_file_delete(log, id, name.as_bytes()),
                FileChange::Rename(id, from, to) => {
                    encode::push_file_rename(log, id, from.as_bytes(), to.as_bytes())
                }
            });
        }
        Ok(LoggedChanges { lsn: mtr.commit(), _changing: changing })
    }

    /// Drops a single-table space of which the log says so, durably.
    fn drop_logged(&self, _logged: &LoggedChanges<'_>, id: SpaceId, name: &str) -> Result<()> {
        // A page whose writing has failed is on its way for ever: who dropped it would wait as long.
        self.flusher().check_usable()?;
        self.pool().discard_space(id);
        let path = match self.spaces().detach(id) {
            Some(space) => space.path(),
            None => self.table_space_path(name)?,
        };
        // With what described it where it came from. Somebody may have taken it, or a directory elsewhere, away.
        for file in [path.with_extension("cfg"), path.clone()] {
            if self.fs().is_there(&file)? {
                self.spaces().remove_file(&file)?;
            }
        }
        let folder = path.parent().unwrap_or(&self.options().dir);
        if self.links().is_elsewhere(&path) && self.fs().is_dir(folder) {
            // Without its link it is not found any more.
            self.fs().sync_dir(folder)?;
        }
        self.unlink_table_space(name)
    }

    /// Renames the file of a single-table space that is open, to `to.ibd` below the folder, where the directory is there; or
    /// below the directory elsewhere where it is, and its link with it.
    ///
    /// # Errors
    /// [`Error::NoSuchSpace`]; `AlreadyExists`, other I/O errors.
    ///
    /// # Crash
    /// The rename is durable in the log before it is done; recovery finishes it.
    pub fn rename_table_space(&self, id: SpaceId, from: &str, to: &str) -> Result<()> {
        self.check_free(id, to)?;
        let logged = self.log_changes(&[FileChange::Rename(id, from, to)])?;
        self.log().flush_up_to(logged.lsn())?;
        self.rename_logged(&logged, id, from, to)
    }

    /// The same where the log says so, durably.
    ///
    /// # Errors
    /// As [`Storage::rename_table_space`].
    pub fn rename_logged(
        &self,
        _logged: &LoggedChanges<'_>,
        id: SpaceId,
        from: &str,
        to: &str,
    ) -> Result<()> {
        let path = self.check_free(id, to)?;
        self.links().rename(self.spaces(), id, to)?;
        self.links().remove_left(&path, from)
    }

    /// The path that the file of a space gets with a name; nothing is there.
    fn check_free(&self, id: SpaceId, name: &str) -> Result<PathBuf> {
        let path = self.links().renamed(&self.spaces().get(id)?.path(), name);
        match self.fs().is_there(&path)? {
            true => Err(Error::Folder(format!("{} is in the way of a file to be renamed", path.display()))),
            false => Ok(path),
        }
    }

    /// The file of an open single-table space, all of whose pages are written, takes the place of another one, which is no tablespace
    /// of this instance. Durable on return.
    ///
    /// # Errors
    /// [`Error::NoSuchSpace`], I/O errors.
    ///
    /// # Crash
    /// The place has the one file or the other. Nothing is logged of it: who has it done finds out.
    pub fn replace_by_table_space(&self, id: SpaceId, path: &Path) -> Result<()> {
        self.spaces().rename(id, path)?;
        self.fs().sync_dir(path.parent().unwrap_or(&self.options().dir))?;
        Ok(())
    }

    /// Forgets a single-table space, whose file stays: it is not this instance's any more. What was not written is lost.
    ///
    /// # Errors
    /// Writing has failed before: pages may be on their way for ever.
    pub fn let_go_table_space(&self, id: SpaceId) -> Result<()> {
        self.flusher().check_usable()?;
        self.pool().discard_space(id);
        self.spaces().detach(id);
        Ok(())
    }

    /// Drops a single-table space, if it or its file is there: open, or a file of that name that holds the space or has
    /// never been written, and is not another open one's. Whether there was anything to drop.
    ///
    /// # Errors
    /// I/O errors.
    pub fn drop_if_there(&self, id: SpaceId, name: &str) -> Result<bool> {
        let is_there = self.is_there(id, name)?;
        if is_there {
            self.drop_table_space(id, name)?;
        }
        Ok(is_there)
    }

    /// The same for one of which the log says so, durably.
    ///
    /// # Errors
    /// I/O errors.
    pub fn drop_logged_if_there(&self, logged: &LoggedChanges<'_>, id: SpaceId, name: &str) -> Result<bool> {
        let is_there = self.is_there(id, name)?;
        if is_there {
            self.drop_logged(logged, id, name)?;
        }
        Ok(is_there)
    }

    /// Whether a space or its file is there, as [`Storage::drop_if_there`] says. If it is not, its link goes.
    fn is_there(&self, id: SpaceId, name: &str) -> Result<bool> {
        if self.spaces().contains(id) {
            return Ok(true);
        }
        let path = self.table_space_path(name)?;
        if !self.fs().is_there(&path)? {
            // It is all that is left; or its directory is not there, and it cannot be followed any more.
            self.unlink_table_space(name)?;
            return Ok(false);
        }
        // What has its name now may have pages in the log alone: TRUNCATE is finished a second time, say.
        if self.spaces().all().iter().any(|space| space.path() == path) {
            return Ok(false);
        }
        let found = recovery::read_space_id(&**self.fs(), &path, self.options().page_size)?;
        Ok(found.is_none_or(|found| found.id == id))
    }

    /// The file a table's space has, if it is of the name `database/table`: below the folder, or where a link leads.
    ///
    /// # Errors
    /// I/O errors of reading the link.
    pub fn table_space_path(&self, name: &str) -> Result<PathBuf> {
        self.links().file_of(name)
    }

    /// The file of a table: below the folder, or below a directory elsewhere.
    pub fn place_of(&self, name: &str, directory: Option<&str>) -> PathBuf {
        match directory {
            None => self.links().default(name),
            Some(directory) => links::below(Path::new(directory), name),
        }
    }

    /// The names of the tables that have links (`.isl`).
    ///
    /// # Errors
    /// I/O errors.
    pub fn linked_tables(&self) -> Result<BTreeSet<String>> {
        self.links().names()
    }

    /// The link of a table, whether it is there or not.
    pub fn link_path(&self, name: &str) -> PathBuf {
        self.links().path(name)
    }

    /// Where a table's link leads, if it has one.
    ///
    /// # Errors
    /// I/O errors.
    pub fn link_target(&self, name: &str) -> Result<Option<PathBuf>> {
        self.links().target(name)
    }

    /// Links a table to a file elsewhere; durable on return.
    ///
    /// # Errors
    /// There is a link that leads to another file; I/O errors.
    pub fn link_table_space(&self, name: &str, file: &Path) -> Result<()> {
        self.links().make(name, file)
    }

    /// Removes a table's link, if it has one; durable on return.
    ///
    /// # Errors
    /// I/O errors.
    pub fn unlink_table_space(&self, name: &str) -> Result<()> {
        self.links().remove(name)
    }

    /// Where a file goes whose table gets a name: it stays in the directory where it is.
    pub fn renamed(&self, file: &Path, to: &str) -> PathBuf {
        self.links().renamed(file, to)
    }

    fn links(&self) -> Links<'_> {
        Links::of(&**self.fs(), &self.options().dir)
    }

    /// Whether a file is one of a tablespace.
    ///
    /// # Errors
    /// I/O errors.
    pub fn holds(&self, path: &Path, id: SpaceId) -> Result<bool> {
        let found = recovery::read_space_id(&**self.fs(), path, self.options().page_size)?;
        Ok(found.is_some_and(|found| found.id == id))
    }

    /// Opens a single-table file, or finds it open.
    ///
    /// # Errors
    /// I/O errors; [`Error::Folder`] if the file holds another space than `id` or pages of another size.
    pub fn open_table_space(&self, id: SpaceId, path: &Path) -> Result<()> {
        if self.spaces().get(id).is_ok_and(|space| space.path() == path) {
            return Ok(());
        }
        let found = recovery::read_space_id(&**self.fs(), path, self.options().page_size)?;
        match found {
            Some(found) if found.id == id => attach_found(self.spaces(), self.options(), &found),
            other => Err(Error::Folder(format!(
                "{} should hold tablespace {id} but holds {}",
                path.display(),
                other.map_or("none".to_owned(), |f| f.id.to_string())
            ))),
        }
    }
}

fn page_size_of(options: &Options, found: &recovery::FoundSpace) -> PageSize {
    let flags = found.flags.and_then(|raw| SpaceFlags::decode(raw).ok());
    flags.map_or(options.page_size, |f| f.page_size())
}

/// Whether a file has pages as the pool has them.
pub(crate) fn has_pages_of(options: &Options, found: &recovery::FoundSpace) -> bool {
    page_size_of(options, found) == options.page_size
}

pub(crate) fn attach_found(spaces: &SpaceMap, options: &Options, found: &recovery::FoundSpace) -> Result<()> {
    let page_size = page_size_of(options, found);
    if page_size != options.page_size {
        // Compressed tablespaces are read by the tools, not by the pool.
        return Err(Error::Folder(format!(
            "{} has {} pages of {} bytes; this folder's tablespaces have uncompressed pages of {} bytes",
            found.path.display(),
            if page_size.is_compressed() { "compressed" } else { "uncompressed" },
            page_size.physical(),
            options.page_size.physical()
        )));
    }
    spaces.attach(found.id, found.flags.unwrap_or(0), page_size, std::slice::from_ref(&found.path))?;
    Ok(())
}
