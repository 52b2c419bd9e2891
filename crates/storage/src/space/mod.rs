//! Tablespaces as files: which page lies in which file at which offset, opening, growing, syncing.
//!
//! Knows the length of files and nothing of what pages hold; [`crate::fsp`] allocates pages. A tablespace is the
//! concatenation of its files; only the system tablespace has more than one, and only its last one grows.
//!
//! # Invariants
//! - I1: `size_pages` of a space never exceeds what its files hold.
//! - I2: at most `open_files` single-table files are open, beyond those a transfer is using right now and those that could not be
//!   synced. A file with unsynced writes is synced before it is closed.
//!
//! # Latching
//! The map's lock, then a space's file list, then a file's handle; all leaves with respect to page latches. File
//! handles are opened under the handle's mutex: a slow open delays only users of that file.
//!
//! # Crash
//! A file may be found longer than its header page says (it grew, the header's redo was lost) or shorter (the
//! header's change reached the disk or the log, the growth was not synced): recovery grows it again.

mod files;
mod names;

use crate::error::{Error, Result};
use crate::options::Options;
pub use files::DataFile;
use names::Names;
pub(crate) use names::{Changing, assert_unchanging};
use parking_lot::RwLock;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use vaquita_base::{PageId, PageNo, SpaceId};
use vaquita_format::checksum::ChecksumAlgorithm;
use vaquita_format::flags::SpaceFlags;
use vaquita_format::fsp::{SpaceHeader, header};
use vaquita_format::{PageSize, checksum};
use vaquita_io::{AlignedBuf, File, FileSystem, FlushMethod, OpenMode, OpenOptions};

/// An open tablespace.
#[derive(Debug)]
pub struct Space {
    id: SpaceId,
    page_size: PageSize,
    flags: u32,
    size_pages: AtomicU32,
    files: RwLock<Vec<Arc<DataFile>>>,
    dropped: AtomicBool,
}

impl Space {
    /// Its number.
    pub fn id(&self) -> SpaceId {
        self.id
    }

    /// Its page size.
    pub fn page_size(&self) -> PageSize {
        self.page_size
    }

    /// FSP flags.
    pub fn flags(&self) -> u32 {
        self.flags
    }

    /// Pages its files hold.
    pub fn size_pages(&self) -> u32 {
        self.size_pages.load(Ordering::Acquire)
    }

    /// Path of the first file.
    pub fn path(&self) -> PathBuf {
        self.files.read()[0].path()
    }

    /// Notes that the last file needs a sync.
    pub(crate) fn mark_written(&self) {
        self.files.read().iter().for_each(|f| f.mark_written());
    }

    /// Whether it has been dropped while somebody still held it.
    pub fn is_dropped(&self) -> bool {
        self.dropped.load(Ordering::Acquire)
    }

    /// The file that holds `page_no`, and the page's offset in it.
    fn locate(&self, page_no: PageNo) -> Option<(Arc<DataFile>, u64)> {
        let mut first = 0u32;
        let files = self.files.read();
        for file in files.iter() {
            let pages = file.pages();
            if page_no.0 - first < pages {
                let offset = u64::from(page_no.0 - first) * self.page_size.physical() as u64;
                return Some((file.clone(), offset));
            }
            first += pages;
        }
        None
    }
}

/// Where a page lies, opened.
#[derive(Debug)]
pub struct PageLocation {
    /// The file, open.
    pub file: Arc<dyn File>,
    /// The page's offset in it.
    pub offset: u64,
    data_file: Arc<DataFile>,
}

impl PageLocation {
    /// Notes that the file has been written and needs a sync.
    pub fn mark_written(&self) {
        self.data_file.mark_written();
    }

    /// Whether another page lies in the same file.
    pub fn is_in_file_of(&self, other: &PageLocation) -> bool {
        Arc::ptr_eq(&self.data_file, &other.data_file)
    }

    /// Syncs the file, if it was written since its last sync.
    ///
    /// # Errors
    /// I/O errors; final for the folder.
    pub fn sync(&self, map: &SpaceMap) -> Result<()> {
        self.data_file.sync(map)
    }
}

/// All open tablespaces of a folder.
#[derive(Debug)]
pub struct SpaceMap {
    fs: Arc<dyn FileSystem>,
    flush_method: FlushMethod,
    read_only: bool,
    checksum: RwLock<ChecksumAlgorithm>,
    open_files_max: usize,
    open_count: AtomicU32,
    use_clock: AtomicU64,
    spaces: RwLock<HashMap<SpaceId, Arc<Space>>>,
    names: Names,
}

impl SpaceMap {
    /// No spaces yet.
    pub fn new(fs: Arc<dyn FileSystem>, options: &Options) -> Self {
        Self {
            fs,
            flush_method: options.flush_method,
            read_only: options.read_only,
            checksum: RwLock::new(options.live.checksum_algorithm),
            open_files_max: options.open_files,
            open_count: AtomicU32::new(0),
            use_clock: AtomicU64::new(0),
            spaces: RwLock::new(HashMap::new()),
            names: Names::default(),
        }
    }

    /// Checksum of the first pages of files made from now on.
    pub(crate) fn set_checksum(&self, checksum: ChecksumAlgorithm) {
        *self.checksum.write() = checksum;
    }

    /// The file system under it.
    pub fn fs(&self) -> &Arc<dyn FileSystem> {
        &self.fs
    }

    /// The open space of that number.
    ///
    /// # Errors
    /// [`Error::NoSuchSpace`].
    pub fn get(&self, id: SpaceId) -> Result<Arc<Space>> {
        self.spaces.read().get(&id).cloned().ok_or(Error::NoSuchSpace(id))
    }

    /// Whether a space of that number is open.
    pub fn contains(&self, id: SpaceId) -> bool {
        self.spaces.read().contains_key(&id)
    }

    /// All open spaces, by number.
    pub fn all(&self) -> Vec<Arc<Space>> {
        let mut all: Vec<_> = self.spaces.read().values().cloned().collect();
        all.sort_by_key(|s| s.id);
        all
    }

    /// Files open right now.
    pub fn open_file_count(&self) -> u32 {
        self.open_count.load(Ordering::Relaxed)
    }

    /// How data files are opened here (`innodb_flush_method`).
    pub fn open_options(&self, mode: OpenMode) -> OpenOptions {
        let mode = if self.read_only && mode == OpenMode::ReadWrite { OpenMode::Read } else { mode };
        OpenOptions {
            mode,
            direct: matches!(self.flush_method, FlushMethod::ODirect | FlushMethod::ODirectNoFsync),
            dsync: false,
            nosync: self.flush_method == FlushMethod::NoSync,
        }
    }

    /// Registers a space whose files exist.
    ///
    /// # Errors
    /// I/O errors; [`Error::Folder`] if the number is taken.
    pub fn attach(
        &self,
        id: SpaceId,
        flags: u32,
        page_size: PageSize,
        paths: &[PathBuf],
    ) -> Result<Arc<Space>> {
        let mut files = Vec::with_capacity(paths.len());
        for path in paths {
            files.push(Arc::new(DataFile::open(self, path, page_size)?));
        }
        let size = files.iter().map(|f| f.pages()).sum();
        let space = Arc::new(Space {
            id,
            page_size,
            flags,
            size_pages: AtomicU32::new(size),
            files: RwLock::new(files),
            dropped: AtomicBool::new(false),
        });
        let mut map = self.spaces.write();
        if let Some(other) = map.get(&id).cloned() {
            drop(map);
            space.files.read().iter().for_each(|file| file.close(self));
            // Two threads that meet a table at its first use both open it.
            if other.path() == paths[0] {
                return Ok(other);
            }
            return Err(Error::Folder(format!(
                "tablespace number {id} is used by both {} and {}; move one of them away",
                other.path().display(),
                paths[0].display()
            )));
        }
        map.insert(id, space.clone());
        drop(map);
        self.limit_open_files();
        Ok(space)
    }

    /// Creates the file of a new single-table space with `pages` pages and registers it. Page 0 says whose it is, so that
    /// recovery knows it by any name; the others are zeros. Neither file nor directory is synced: the caller does that
    /// when the creation has to last.
    ///
    /// # Errors
    /// I/O errors, `AlreadyExists` among them; the file is removed again where the failure came later.
    pub fn create(
        &self,
        id: SpaceId,
        flags: u32,
        page_size: PageSize,
        path: &Path,
        pages: u32,
    ) -> Result<Arc<Space>> {
        self.names.free(&*self.fs, path)?;
        let file = self.fs.open(path, self.open_options(OpenMode::CreateNew))?;
        let made = file
            .set_len(u64::from(pages) * page_size.physical() as u64)
            .and_then(|()| file.write_at(&self.first_page(id, flags, page_size, pages), 0));
        drop(file);
        let attached =
            made.map_err(Error::from).and_then(|()| self.attach(id, flags, page_size, &[path.to_owned()]));
        if attached.is_err() {
            self.fs.remove_file(path)?;
        }
        attached
    }

    fn first_page(&self, id: SpaceId, flags: u32, page_size: PageSize, pages: u32) -> AlignedBuf {
        let mut page = AlignedBuf::zeroed(page_size.physical());
        if let Ok(flags) = SpaceFlags::decode(flags) {
            header::init_page(&mut page, &SpaceHeader::new(id, flags, pages));
            checksum::stamp(&mut page, page_size, *self.checksum.read());
        }
        page
    }

    /// Forgets a space; its files stay. Pages of it must have left the pool.
    pub fn detach(&self, id: SpaceId) -> Option<Arc<Space>> {
        let space = self.spaces.write().remove(&id)?;
        space.dropped.store(true, Ordering::Release);
        for file in space.files.read().iter() {
            file.close(self);
        }
        Some(space)
    }

    /// Renames the file of a single-table space; a file of that name is replaced. It is durable by the next checkpoint; at once if
    /// the file comes to another directory.
    ///
    /// # Errors
    /// [`Error::NoSuchSpace`], I/O errors.
    pub fn rename(&self, id: SpaceId, to: &Path) -> Result<()> {
        let space = self.get(id)?;
        let file = space.files.read()[0].clone();
        let from = file.path();
        self.names.free(&*self.fs, to)?;
        if to.parent() == from.parent() {
            file.rename(self, to)?;
            self.names.moved(&from);
            return Ok(());
        }
        // The name it has may not be durable yet, and must not become so after the file has left it.
        self.names.settle(&*self.fs)?;
        file.rename(self, to)?;
        // The new name first: the file is never without one.
        [to, &from].into_iter().filter_map(Path::parent).try_for_each(|dir| Ok(self.fs.sync_dir(dir)?))
    }

    /// Removes a file that was a space's; durable by the next checkpoint.
    ///
    /// # Errors
    /// I/O errors.
    pub(crate) fn remove_file(&self, path: &Path) -> Result<()> {
        self.fs.remove_file(path)?;
        self.names.changed(path);
        Ok(())
    }

    /// A file's name was made, changed or removed; durable by the next checkpoint.
    pub(crate) fn name_changed(&self, path: &Path) {
        self.names.changed(path);
    }

    /// Begins a change of names whose record comes into the log before it is done. There is room for it in the log.
    pub(crate) fn change_names(&self) -> Changing<'_> {
        self.names.change()
    }

    /// Makes the names of files durable that have changed: all that the log up to here has records of.
    ///
    /// # Errors
    /// I/O errors.
    pub(crate) fn settle_names(&self) -> Result<()> {
        self.names.settle_all(&*self.fs)
    }

    /// Makes the names of a space's files durable.
    ///
    /// # Errors
    /// I/O errors.
    pub(crate) fn settle_name(&self, space: &Space) -> Result<()> {
        self.names.settle_name(&*self.fs, &space.path())
    }

    /// Grows a space to at least `pages` pages; does nothing if it has them.
    ///
    /// # Errors
    /// [`Error::SpaceFull`] when the disk is full, other I/O errors; the size is unchanged then.
    pub fn grow(&self, space: &Space, pages: u32) -> Result<()> {
        // The handle first: opening a file may look at every space's file list.
        let last = space.files.read().last().expect("a space has a file").clone();
        let handle = last.handle(self)?.ok_or(Error::NoSuchSpace(space.id))?;
        let files = space.files.write();
        let have: u32 = files.iter().map(|f| f.pages()).sum();
        if pages <= have {
            return Ok(());
        }
        let last_pages = last.pages() + (pages - have);
        handle.set_len(u64::from(last_pages) * space.page_size.physical() as u64).map_err(|e| {
            match e.kind {
                vaquita_io::ErrorKind::NoSpace => Error::SpaceFull { space: space.id, detail: e.to_string() },
                _ => Error::Io(e),
            }
        })?;
        last.mark_written();
        last.set_pages(last_pages);
        space.size_pages.store(pages, Ordering::Release);
        Ok(())
    }

    /// Where a page lies.
    ///
    /// # Errors
    /// [`Error::NoSuchSpace`], [`Error::BeyondEnd`], I/O errors of reopening the file.
    pub fn locate(&self, id: PageId) -> Result<PageLocation> {
        let space = self.get(id.space)?;
        let Some((data_file, offset)) = space.locate(id.page_no) else {
            return Err(Error::BeyondEnd { page: id, size_pages: space.size_pages() });
        };
        let file = data_file.handle(self)?.ok_or(Error::NoSuchSpace(id.space))?;
        Ok(PageLocation { file, offset, data_file })
    }

    /// Syncs every file that was written since its last sync.
    ///
    /// # Errors
    /// I/O errors; final for the folder.
    pub fn sync_all(&self) -> Result<()> {
        for space in self.all() {
            self.sync(&space)?;
        }
        Ok(())
    }

    /// Syncs every file, whoever wrote into it: a process that was killed leaves writes behind that a power cut can
    /// still undo.
    ///
    /// # Errors
    /// I/O errors.
    pub(crate) fn sync_unseen(&self) -> Result<()> {
        self.all().iter().for_each(|space| space.mark_written());
        self.sync_all()
    }

    /// Syncs the files of one space that were written since their last sync.
    ///
    /// # Errors
    /// I/O errors; final for the folder.
    pub fn sync(&self, space: &Space) -> Result<()> {
        let files: Vec<_> = space.files.read().clone();
        files.iter().try_for_each(|f| f.sync(self))
    }

    /// Closes least recently used single-table files beyond the limit, and some more, so that not every file that is opened
    /// after that looks at all of them. Those whose writes are not synced come last, as that takes time. Files in use stay open.
    pub(crate) fn limit_open_files(&self) {
        if self.open_file_count() as usize <= self.open_files_max {
            return;
        }
        let mut candidates: Vec<(u64, Arc<DataFile>)> = Vec::new();
        for space in self.spaces.read().values() {
            if space.id != SpaceId::SYSTEM {
                let files = space.files.read();
                candidates.extend(files.iter().filter(|f| f.is_open()).map(|f| (f.last_used(), f.clone())));
            }
        }
        candidates.sort_unstable_by_key(|c| c.0);
        let goal = self.open_files_max - self.open_files_max / 8;
        for (_, file) in &candidates {
            if self.open_file_count() as usize <= goal {
                return;
            }
            file.close_if_idle(self);
        }
        for (_, file) in &candidates {
            if self.open_file_count() as usize <= self.open_files_max {
                return;
            }
            file.sync_and_close_if_idle(self);
        }
    }
}
