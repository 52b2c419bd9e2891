//! The real disk.
//!
//! Files of the operating system, opened where the caller says. Single transfers are plain positioned reads and
//! writes on the calling thread; batches keep many transfers in flight, through io_uring where the kernel allows
//! it and through a few threads of this disk's own where it does not (containers often forbid it).
//!
//! A single page is read faster by a plain read than through a ring, so batches of one take the plain way.
//!
//! # Crash
//! See [`RealFile`] for content. Names (creations, removals, renames) are durable after
//! [`FileSystem::sync_dir`] of the directory they stand in.

mod dir_lock;
mod file;
#[allow(unsafe_code)]
mod file_lock;
mod releases;
#[allow(unsafe_code)]
mod threads;
#[allow(unsafe_code)]
mod uring;

pub use file::RealFile;
pub use file_lock::writer_of;

use crate::error::{Error, Result};
use crate::file::{BatchOp, File, FileSystem, OpenOptions, Transfer};
use file::{os, retry};
use releases::{LARGE, Releases};
use rustix::fs::{Mode, OFlags};
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use threads::Workers;
use uring::Rings;

/// How the real disk works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RealDiskOptions {
    /// Batches through io_uring if the kernel allows it (`innodb_use_native_aio`).
    pub native_aio: bool,
    /// Transfers of one batch in flight at once, at most.
    pub batch_depth: u32,
    /// Threads that serve batches where io_uring does not.
    pub io_threads: usize,
}

impl Default for RealDiskOptions {
    fn default() -> Self {
        Self { native_aio: true, batch_depth: 64, io_threads: 8 }
    }
}

/// What carries the batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AsyncIo {
    /// The kernel's submission rings.
    Uring,
    /// Threads doing plain reads and writes.
    Threads,
}

/// Files of the operating system.
#[derive(Debug)]
pub struct RealDisk {
    rings: Option<Rings>,
    workers: Workers,
    releases: Releases,
}

impl RealDisk {
    /// Finds out what the kernel offers. Never fails: without io_uring, threads carry the batches.
    pub fn new(options: RealDiskOptions) -> Self {
        let rings = if options.native_aio { Rings::probe(options.batch_depth) } else { None };
        Self { rings, workers: Workers::new(options.io_threads), releases: Releases::default() }
    }

    /// What carries the batches.
    pub fn async_io(&self) -> AsyncIo {
        if self.rings.is_some() { AsyncIo::Uring } else { AsyncIo::Threads }
    }

    /// As [`FileSystem::open`], for callers that want to know more of the file.
    ///
    /// # Errors
    /// As there.
    pub fn open_file(&self, path: &Path, options: OpenOptions) -> Result<Arc<RealFile>> {
        Ok(Arc::new(RealFile::open(path, options, self.releases.open())?))
    }
}

impl Default for RealDisk {
    fn default() -> Self {
        Self::new(RealDiskOptions::default())
    }
}

/// A file that takes a while to be removed, opened. Who may not open it may remove it all the same.
fn open_large(path: &Path) -> Option<OwnedFd> {
    let is_large = |found: &std::fs::Metadata| found.is_file() && found.len() >= LARGE;
    std::fs::symlink_metadata(path).ok().filter(is_large)?;
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    retry(|| rustix::fs::open(path, flags, Mode::empty())).ok()
}

/// One transfer on the calling thread.
fn run_one(op: &mut BatchOp<'_>) -> Result<()> {
    match &mut op.transfer {
        Transfer::Read(buf) => op.file.read_at(buf, op.offset),
        Transfer::Write(buf) => op.file.write_at(buf, op.offset),
    }
}

impl FileSystem for RealDisk {
    fn open(&self, path: &Path, options: OpenOptions) -> Result<Arc<dyn File>> {
        Ok(self.open_file(path, options)?)
    }

    fn run_batch(&self, ops: &mut [BatchOp<'_>], done: &mut dyn FnMut(usize, &mut BatchOp<'_>, Result<()>)) {
        if let [op] = ops {
            let result = run_one(op);
            return done(0, op, result);
        }
        match self.rings.as_ref().and_then(Rings::lease) {
            Some(ring) => ring.run(ops, done),
            None => self.workers.run(ops, done),
        }
    }

    fn remove_file(&self, path: &Path) -> Result<()> {
        let large = open_large(path);
        std::fs::remove_file(path).map_err(|e| Error::from_os(&e, "remove", path))?;
        if let Some(file) = large {
            self.releases.close(file);
        }
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        std::fs::rename(from, to).map_err(|e| {
            let mut error = Error::from_os(&e, "rename", from);
            error.detail = format!("to {}: {}", to.display(), error.detail);
            error
        })
    }

    fn create_dir_all(&self, path: &Path) -> Result<()> {
        // What is in a folder of data is nobody else's business.
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
        made.map_err(|e| Error::from_os(&e, "create directory", path))
    }

    fn remove_dir(&self, path: &Path) -> Result<()> {
        let fail = |e: std::io::Error| Error::from_os(&e, "remove directory", path);
        if path.is_symlink() {
            // What is last names it, as long as it is there.
            std::fs::remove_dir(path.canonicalize().map_err(fail)?).map_err(fail)?;
            return std::fs::remove_file(path).map_err(fail);
        }
        std::fs::remove_dir(path).map_err(fail)
    }

    fn list_dir(&self, path: &Path) -> Result<Vec<PathBuf>> {
        let fail = |e: std::io::Error| Error::from_os(&e, "list", path);
        let mut names = std::fs::read_dir(path)
            .map_err(fail)?
            .map(|entry| entry.map(|e| e.file_name()))
            .collect::<std::io::Result<Vec<_>>>()
            .map_err(fail)?;
        // In the order of their paths, which is much dearer to find: those are compared part by part.
        names.sort_unstable();
        Ok(names.into_iter().map(|name| path.join(name)).collect())
    }

    fn is_dir(&self, path: &Path) -> bool {
        path.is_dir()
    }

    fn exists(&self, path: &Path) -> bool {
        path.exists()
    }

    fn is_there(&self, path: &Path) -> Result<bool> {
        path.try_exists().map_err(|e| Error::from_os(&e, "look for", path))
    }

    fn sync_dir(&self, path: &Path) -> Result<()> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fail = |e| os(e, "sync directory", path);
        let dir = retry(|| rustix::fs::open(path, flags, Mode::empty())).map_err(fail)?;
        retry(|| rustix::fs::fsync(&dir)).map_err(fail)
    }

    fn lock_dir(&self, dir: &Path, shared: bool) -> Result<crate::file::DirLock> {
        dir_lock::lock(dir, shared)
    }

    fn lock_file(&self, path: &Path, shared: bool) -> Result<crate::file::FileLock> {
        file_lock::lock(path, shared)
    }
}

#[cfg(test)]
mod tests;
