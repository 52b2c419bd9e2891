//! The trait every file access of Vaquita goes through.
//!
//! A [`FileSystem`] opens [`File`]s and changes directories; a [`File`] reads and writes at positions. There is
//! no file cursor and no buffering. Durability is explicit: what was written may or may not survive a power cut,
//! in any order and in units of 512 bytes, until [`File::sync`] (for the file's content and length) and
//! [`FileSystem::sync_dir`] (for names) have returned without error.
//!
//! Batches carry borrowed buffers and return when all their transfers are done; that keeps many transfers in
//! flight without giving buffers away.

use crate::error::Result;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How data files are opened and made durable (`innodb_flush_method`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FlushMethod {
    /// Buffered writes, fsync for data and log files.
    Fsync,
    /// Log files are opened with O_DSYNC, data files use fsync.
    ODsync,
    /// Data files bypass the page cache where the file system allows it, and use fsync.
    #[default]
    ODirect,
    /// As `ODirect`, without fsync after data writes that do not change the length.
    ODirectNoFsync,
    /// Nothing is ever synced. Only for throw-away data.
    NoSync,
}

/// What the file must or must not be already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenMode {
    /// Must exist; opened for reading only.
    Read,
    /// Must exist; opened for reading and writing.
    ReadWrite,
    /// Must not exist; created empty.
    CreateNew,
}

/// How to open a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenOptions {
    /// Existing or new.
    pub mode: OpenMode,
    /// Bypass the page cache if the file system allows it; buffers, offsets and lengths must then be aligned to
    /// [`crate::aligned::ALIGN`] bytes for data files, to 512 bytes for log files.
    pub direct: bool,
    /// Every write is durable when it returns (O_DSYNC).
    pub dsync: bool,
    /// [`File::sync`] does nothing.
    pub nosync: bool,
}

impl OpenOptions {
    /// Buffered, explicitly synced.
    pub const fn new(mode: OpenMode) -> Self {
        Self { mode, direct: false, dsync: false, nosync: false }
    }
}

/// An open file.
// The length of a file can fail to be known; a file is not a container.
#[allow(clippy::len_without_is_empty)]
pub trait File: Send + Sync + std::fmt::Debug {
    /// The path it was opened by.
    fn path(&self) -> &Path;

    /// Fills `buf` from `offset`.
    ///
    /// # Errors
    /// [`crate::ErrorKind::ShortRead`] if the file ends before; otherwise what the system says.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<()>;

    /// Writes all of `buf` at `offset`, growing the file if needed.
    ///
    /// # Errors
    /// Any failure leaves an unknown part of the range written.
    fn write_at(&self, buf: &[u8], offset: u64) -> Result<()>;

    /// As [`File::write_at`], durable when it returns. Nothing is said of other writes.
    ///
    /// Where the write itself can ask the disk for it, that costs one request instead of two.
    ///
    /// # Errors
    /// Any failure leaves an unknown part of the range written; otherwise as of [`File::sync`].
    fn write_durable_at(&self, buf: &[u8], offset: u64) -> Result<()> {
        self.write_at(buf, offset)?;
        self.sync()
    }

    /// Makes all completed writes of this file durable, its length included.
    ///
    /// # Errors
    /// After an error nothing is known about any write since the last success; the caller must treat the file as
    /// lost until it is reopened and recovered.
    fn sync(&self) -> Result<()>;

    /// Length in bytes.
    ///
    /// # Errors
    /// What the system says.
    fn len(&self) -> Result<u64>;

    /// Grows (with zero bytes, space really allocated) or cuts the file.
    ///
    /// # Errors
    /// [`crate::ErrorKind::NoSpace`] when the disk is full; the length is then unchanged.
    fn set_len(&self, len: u64) -> Result<()>;

    /// Identity for batch submission on the real disk; `None` elsewhere.
    fn raw_fd(&self) -> Option<std::os::fd::RawFd> {
        None
    }
}

/// Direction and buffer of one transfer.
#[derive(Debug)]
pub enum Transfer<'a> {
    /// Fill the buffer.
    Read(&'a mut [u8]),
    /// Write the buffer.
    Write(&'a [u8]),
}

/// One transfer of a batch.
#[derive(Debug)]
pub struct BatchOp<'a> {
    /// The file.
    pub file: &'a dyn File,
    /// Position in the file.
    pub offset: u64,
    /// What to do.
    pub transfer: Transfer<'a>,
}

/// Holds a folder against other openers, in this process or another, until it is dropped.
#[derive(Debug)]
pub struct DirLock {
    file: Option<std::fs::File>,
}

impl Drop for DirLock {
    /// A child that the program begins just now has the open file, too, until it runs another program: closing it here would not give the
    /// lock back before.
    fn drop(&mut self) {
        if let Some(file) = &self.file {
            // What cannot be unlocked is closed.
            let _ = file.unlock();
        }
    }
}

impl DirLock {
    /// A lock of a file system that nobody shares.
    pub const fn unshared() -> Self {
        Self { file: None }
    }

    pub(crate) fn of_file(file: std::fs::File) -> Self {
        Self { file: Some(file) }
    }
}

/// Holds a file against other servers until it is dropped.
#[derive(Debug)]
pub struct FileLock {
    file: Option<std::fs::File>,
    unlock: fn(&std::fs::File),
}

impl Drop for FileLock {
    /// As that of [`DirLock`].
    fn drop(&mut self) {
        if let Some(file) = &self.file {
            (self.unlock)(file);
        }
    }
}

impl FileLock {
    /// A lock of a file system that nobody shares.
    pub const fn unshared() -> Self {
        Self { file: None, unlock: |_| {} }
    }

    /// A lock that the open file has, and what gives it back.
    pub(crate) fn of_file(file: std::fs::File, unlock: fn(&std::fs::File)) -> Self {
        Self { file: Some(file), unlock }
    }

    /// Whether it is on the file that has this path now, and not on one that was put away.
    pub fn is_of(&self, path: &Path) -> bool {
        use std::os::unix::fs::MetadataExt;
        let Some(file) = &self.file else { return true };
        match (file.metadata(), std::fs::metadata(path)) {
            (Ok(held), Ok(there)) => (held.dev(), held.ino()) == (there.dev(), there.ino()),
            _ => false,
        }
    }
}

/// Opens files and changes directories.
pub trait FileSystem: Send + Sync + std::fmt::Debug {
    /// Opens or creates a file.
    ///
    /// # Errors
    /// `NotFound`, `AlreadyExists`, or what the system says.
    fn open(&self, path: &Path, options: OpenOptions) -> Result<Arc<dyn File>>;

    /// Performs all transfers, many at once and in any order, and returns when the last is done.
    ///
    /// `done(i, result)` is called on the calling thread as each transfer completes, so that work on early ones
    /// overlaps the rest. Transfers on overlapping ranges of a file must not share a batch.
    fn run_batch(&self, ops: &mut [BatchOp<'_>], done: &mut dyn FnMut(usize, &mut BatchOp<'_>, Result<()>));

    /// Removes a file.
    ///
    /// # Errors
    /// `NotFound`, or what the system says.
    fn remove_file(&self, path: &Path) -> Result<()>;

    /// Renames a file, replacing `to`.
    ///
    /// # Errors
    /// `NotFound`, or what the system says.
    fn rename(&self, from: &Path, to: &Path) -> Result<()>;

    /// Creates a directory and its parents, for the owner alone; fine if it exists.
    ///
    /// # Errors
    /// What the system says.
    fn create_dir_all(&self, path: &Path) -> Result<()>;

    /// Removes a directory in which nothing is; of a link to one both.
    ///
    /// # Errors
    /// `NotFound`; something is in it; what the system says.
    fn remove_dir(&self, path: &Path) -> Result<()>;

    /// Files and directories directly in `path`, sorted; directories are told apart by [`FileSystem::is_dir`].
    ///
    /// # Errors
    /// `NotFound`, or what the system says.
    fn list_dir(&self, path: &Path) -> Result<Vec<PathBuf>>;

    /// Whether `path` is a directory.
    fn is_dir(&self, path: &Path) -> bool;

    /// Whether `path` is there, as far as can be seen: no, if that cannot be found out. For what nothing is decided upon that changes
    /// files; else [`FileSystem::is_there`].
    fn exists(&self, path: &Path) -> bool;

    /// Whether `path` is there.
    ///
    /// # Errors
    /// That cannot be found out: a directory that may not be searched, a disk that fails.
    fn is_there(&self, path: &Path) -> Result<bool> {
        Ok(self.exists(path))
    }

    /// Makes creations, removals and renames in the directory durable.
    ///
    /// # Errors
    /// What the system says.
    fn sync_dir(&self, path: &Path) -> Result<()>;

    /// Keeps others from opening the folder `dir`, which exists: with `shared`, those that would change it; else all. Makes
    /// no file with `shared`: where no lock was ever taken, there is nothing to hold.
    /// A crash of the holder gives the lock back.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InUse`] names the process that holds it; what the system says.
    fn lock_dir(&self, dir: &Path, shared: bool) -> Result<DirLock> {
        let _ = (dir, shared);
        Ok(DirLock::unshared())
    }

    /// Keeps other servers, MySQL's among them, from using the file: with `shared`, those that would change it; else all. A
    /// crash of the holder gives the lock back.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InUse`] names the process that holds it, where the system tells; what the system says.
    fn lock_file(&self, path: &Path, shared: bool) -> Result<FileLock> {
        let _ = (path, shared);
        Ok(FileLock::unshared())
    }
}

/// Puts a file with these bytes in the place of `path`: they are written to `beside`, where one may be left of an earlier try, and synced,
/// then that gets the name. So there is always a whole file. The name is durable with the sync of its directory.
///
/// # Errors
/// As [`FileSystem::open`], [`File::write_at`] and [`FileSystem::rename`]: the file is as before.
pub fn replace_file(fs: &dyn FileSystem, path: &Path, beside: &Path, bytes: &[u8]) -> Result<()> {
    if fs.exists(beside) {
        fs.remove_file(beside)?;
    }
    let file = fs.open(beside, OpenOptions::new(OpenMode::CreateNew))?;
    file.write_at(bytes, 0)?;
    file.sync()?;
    fs.rename(beside, path)
}
