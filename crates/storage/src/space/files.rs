//! One file of a tablespace: a handle that is opened when needed and may be closed in between.

use super::SpaceMap;
use crate::error::{Error, Result};
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
    /// Writes so far, and how many of them the last sync is known to cover.
    writes: AtomicU64,
    synced: AtomicU64,
    /// Held by who syncs: others wait for what that covers.
    syncing: Mutex<()>,
    /// A sync has failed. It may have lost what others wrote before it, though their own syncs would not say so: no later
    /// sync succeeds.
    failed: Mutex<Option<Error>>,
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
            writes: AtomicU64::new(0),
            synced: AtomicU64::new(0),
            syncing: Mutex::new(()),
            failed: Mutex::new(None),
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
        self.writes.fetch_add(1, Ordering::AcqRel);
    }

    /// Whether something was written that no sync covers.
    fn is_unsynced(&self) -> bool {
        self.synced.load(Ordering::Acquire) != self.writes.load(Ordering::Acquire)
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

    /// Makes what was written before the call durable; nothing is to be done if a sync has covered it.
    pub(super) fn sync(&self, map: &SpaceMap) -> Result<()> {
        if !self.is_unsynced() {
            return Ok(());
        }
        // Whoever is at it began perhaps before our writes: nobody is told that they are durable before a sync has ended
        // that began after them.
        let _syncing = self.syncing.lock();
        if !self.is_unsynced() {
            return Ok(());
        }
        if let Some(error) = &*self.failed.lock() {
            return Err(error.clone());
        }
        let Some(file) = self.handle(map)? else { return Ok(()) };
        let covered = self.writes.load(Ordering::Acquire);
        if let Err(e) = file.sync() {
            // Told to those who wait for `syncing`, too.
            let error = Error::from(e);
            *self.failed.lock() = Some(error.clone());
            return Err(error);
        }
        self.synced.store(covered, Ordering::Release);
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

    /// Closes the handle unless a transfer uses it; what was written is made durable before.
    pub(super) fn sync_and_close_if_idle(&self, map: &SpaceMap) {
        // Whoever syncs it already is not waited for: he may wait for a file of this thread.
        let Some(syncing) = self.syncing.try_lock() else { return };
        // What a sync lost once no later one writes: it would only seem to cover it.
        if self.failed.lock().is_some() {
            return;
        }
        let file = self.handle.lock().as_ref().filter(|file| Arc::strong_count(file) == 1).cloned();
        let Some(file) = file else { return };
        let covered = self.writes.load(Ordering::Acquire);
        if let Err(e) = file.sync() {
            // It stays open and unsynced: whoever wants it synced is told.
            *self.failed.lock() = Some(e.into());
            return;
        }
        self.synced.store(covered, Ordering::Release);
        drop(file);
        drop(syncing);
        self.close_if_idle(map);
    }

    /// Closes the handle unless a transfer uses it or unsynced writes are pending on it.
    pub(super) fn close_if_idle(&self, map: &SpaceMap) {
        let mut handle = self.handle.lock();
        let idle = handle.as_ref().is_some_and(|file| Arc::strong_count(file) == 1);
        if idle && !self.is_unsynced() {
            *handle = None;
            map.open_count.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::options::Options;
    use crate::space::SpaceMap;
    use std::path::Path;
    use std::sync::Arc;
    use vaquita_base::SpaceId;
    use vaquita_format::PageSize;
    use vaquita_io::FileSystem;
    use vaquita_io::sim::{Fault, Injection, SimDisk};

    /// A sync that fails covers nothing: the next one does not take the file for synced, and does not succeed either, for what
    /// the first one lost would not be written again.
    #[test]
    fn a_failed_sync_leaves_the_file_unsynced_for_good() {
        let disk = SimDisk::new(1);
        disk.put_dir(Path::new("/db"));
        let fs: Arc<dyn FileSystem> = Arc::new(disk.clone());
        let map = SpaceMap::new(fs, &Options::new("/db"));
        let space = map.create(SpaceId(5), 0, PageSize::DEFAULT, Path::new("/db/t.ibd"), 4).unwrap();
        space.mark_written();
        disk.inject(Injection::new(Fault::SyncError).on_path("t.ibd"));
        assert!(map.sync(&space).is_err());
        let file = space.files.read()[0].clone();
        assert!(file.is_unsynced());
        space.mark_written();
        assert!(map.sync(&space).is_err());
        assert!(file.is_unsynced());
    }

    /// More files than may be open: those whose writes nobody has synced are synced and closed. If that fails, whoever syncs
    /// next is told.
    #[test]
    fn files_with_unsynced_writes_are_closed_too() {
        let disk = SimDisk::new(1);
        disk.put_dir(Path::new("/db"));
        let fs: Arc<dyn FileSystem> = Arc::new(disk.clone());
        let map = SpaceMap::new(fs, &Options { open_files: 10, ..Options::new("/db") });
        let make = |n: u32| {
            let path = format!("/db/t{n}.ibd");
            let space = map.create(SpaceId(n), 0, PageSize::DEFAULT, Path::new(&path), 4).unwrap();
            space.mark_written();
            space
        };
        let spaces: Vec<_> = (100..110).map(make).collect();
        disk.inject(Injection::new(Fault::SyncError).on_path("t100.ibd"));
        let more: Vec<_> = (110..140).map(make).collect();
        assert_eq!(map.open_file_count(), 10);
        let first = spaces[0].files.read()[0].clone();
        assert!(first.is_open() && first.is_unsynced(), "what could not be synced stays open");
        // The disk is well again, and the file is chosen again.
        first.sync_and_close_if_idle(&map);
        assert!(first.is_open() && first.is_unsynced(), "a later sync covers nothing");
        assert!(map.sync(&spaces[0]).is_err());
        for space in spaces[1..].iter().chain(&more) {
            map.sync(space).unwrap();
        }
        assert!(map.open_file_count() <= 11, "{}", map.open_file_count());
    }

    /// Two threads that meet a table at its first use both open its file: the second finds the first one's.
    #[test]
    fn a_file_that_is_opened_twice_is_one_space() {
        let disk = SimDisk::new(1);
        disk.put_dir(Path::new("/db"));
        let fs: Arc<dyn FileSystem> = Arc::new(disk.clone());
        let map = SpaceMap::new(fs, &Options::new("/db"));
        let path = Path::new("/db/t.ibd").to_owned();
        let space = map.create(SpaceId(5), 0, PageSize::DEFAULT, &path, 4).unwrap();
        let open = map.open_file_count();
        let again = map.attach(SpaceId(5), 0, PageSize::DEFAULT, std::slice::from_ref(&path)).unwrap();
        assert!(Arc::ptr_eq(&space, &again));
        assert_eq!(map.open_file_count(), open);
        // Another file with its number is a mistake.
        let other = map.create(SpaceId(5), 0, PageSize::DEFAULT, Path::new("/db/u.ibd"), 4);
        assert!(other.unwrap_err().to_string().contains("is used by both"));
        assert_eq!(map.open_file_count(), open);
    }
}
