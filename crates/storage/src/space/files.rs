//! One file of a tablespace: a handle that is opened when needed and may be closed in between.

use super::SpaceMap;
use crate::error::Result;
use parking_lot::{Mutex, RwLock};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use vaquita_format::PageSize;
use vaquita_io::{File, OpenMode};

/// One file of a tablespace.
#[derive(Debug)]
pub struct DataFile {
    path: RwLock<PathBuf>,
    pages: AtomicU32,
    handle: Mutex<Option<Arc<dyn File>>>,
    last_used: AtomicU64,
    written: AtomicBool,
    /// Its space was dropped, while somebody still looks at it: it is not opened any more. Set under the handle's mutex.
    gone: AtomicBool,
}

impl DataFile {
    /// Opens the file and takes its length; an incomplete last page does not count.
    pub(super) fn open(map: &SpaceMap, path: &Path, page_size: PageSize) -> Result<Self> {
        let file = map.fs.open(path, map.open_options(OpenMode::ReadWrite))?;
        let pages = file.len()? / page_size.physical() as u64;
        map.open_count.fetch_add(1, Ordering::Relaxed);
        Ok(Self {
            path: RwLock::new(path.to_owned()),
            pages: AtomicU32::new(u32::try_from(pages).unwrap_or(u32::MAX)),
            handle: Mutex::new(Some(file)),
            last_used: AtomicU64::new(map.use_clock.fetch_add(1, Ordering::Relaxed)),
            written: AtomicBool::new(false),
            gone: AtomicBool::new(false),
        })
    }

    /// Its path.
    pub fn path(&self) -> PathBuf {
        self.path.read().clone()
    }

    pub(super) fn pages(&self) -> u32 {
        self.pages.load(Ordering::Acquire)
    }

    pub(super) fn set_pages(&self, pages: u32) {
        self.pages.store(pages, Ordering::Release);
    }

    pub(super) fn last_used(&self) -> u64 {
        self.last_used.load(Ordering::Relaxed)
    }

    pub(super) fn is_open(&self) -> bool {
        self.handle.lock().is_some()
    }

    pub(super) fn mark_written(&self) {
        self.written.store(true, Ordering::Release);
    }

    /// The open file, reopened if it was closed; `None` if its space was dropped.
    pub(super) fn handle(&self, map: &SpaceMap) -> Result<Option<Arc<dyn File>>> {
        self.last_used.store(map.use_clock.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        let mut handle = self.handle.lock();
        if let Some(file) = &*handle {
            return Ok(Some(file.clone()));
        }
        if self.gone.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let file = map.fs.open(&self.path.read(), map.open_options(OpenMode::ReadWrite))?;
        *handle = Some(file.clone());
        drop(handle);
        map.open_count.fetch_add(1, Ordering::Relaxed);
        map.limit_open_files();
        Ok(Some(file))
    }

    /// Syncs if anything was written since the last sync.
    pub(super) fn sync(&self, map: &SpaceMap) -> Result<()> {
        if !self.written.load(Ordering::Acquire) {
            return Ok(());
        }
        let Some(file) = self.handle(map)? else { return Ok(()) };
        // Cleared before the sync: a write that comes in between is synced now or marks the file again.
        self.written.store(false, Ordering::Release);
        file.sync()?;
        Ok(())
    }

    /// Renames the file. Transfers under way go on: the file stays the same, and what they write is synced by it.
    pub(super) fn rename(&self, map: &SpaceMap, to: &Path) -> Result<()> {
        // Nobody opens the file by its old name meanwhile.
        let mut handle = self.handle.lock();
        let mut path = self.path.write();
        map.fs.rename(&path, to)?;
        to.clone_into(&mut path);
        if handle.take().is_some() {
            map.open_count.fetch_sub(1, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Closes it for good: its space was dropped.
    pub(super) fn close(&self, map: &SpaceMap) {
        let mut handle = self.handle.lock();
        self.gone.store(true, Ordering::Relaxed);
        if handle.take().is_some() {
            map.open_count.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Closes the handle unless a transfer uses it or unsynced writes are pending on it.
    pub(super) fn close_if_idle(&self, map: &SpaceMap) {
        let mut handle = self.handle.lock();
        let idle = handle.as_ref().is_some_and(|file| Arc::strong_count(file) == 1);
        if idle && !self.written.load(Ordering::Acquire) {
            *handle = None;
            map.open_count.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
