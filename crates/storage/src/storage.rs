//! The storage instance: opening and closing a folder, beginning mini-transactions, checkpoints.
//!
//! # Opening
//! | found | meaning |
//! |---|---|
//! | nothing, or the marker of an interrupted creation | a new folder is made |
//! | data files and log files | the log is scanned from its checkpoint; after a clean shutdown nothing follows it |
//! | data files with a FLUSH_LSN, no log files | cleanly shut down, logs removed: new ones are made from there |
//! | log files, no data files | refused |
//!
//! # Crash
//! A folder is made under the marker file `vaquita.creating`; it counts as nothing until the marker is gone.

use crate::buf::BufferPool;
use crate::error::{Error, Result};
use crate::flush::Flusher;
use crate::live::Live;
use crate::log::{self, FolderId, LogConfig, LogReader, NewLog, RedoLog, Room};
use crate::mtr::Mtr;
use crate::options::{ForceRecovery, Options};
use crate::origin::{self, Origin};
use crate::recovery::{self, DamageReport, Recovery, RecoveryReport};
use crate::space::{Space, SpaceMap, fsp};
use crate::system::{self, Bootstrap, NoBootstrap};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use vaquita_base::{Clock, Lsn, PageId, PageNo, SpaceId};
use vaquita_format::flags::SpaceFlags;
use vaquita_format::redo_rec::encode;
use vaquita_format::{PageSize, fil};
use vaquita_io::{DirLock, ErrorKind, FileLock, FileSystem, OpenMode, OpenOptions};

/// Bytes of redo one mini-transaction may write: a few pages' worth, at least those of pages of 16K.
fn mtr_log_max(page_size: PageSize) -> usize {
    page_size.logical().max(PageSize::DEFAULT.logical()) * 6
}

/// Pages written at a time when the log needs room.
const ROOM_BATCH: usize = 256;

/// What opening a folder found.
#[derive(Debug, Clone, Default)]
pub struct OpenReport {
    /// The folder was new.
    pub created: bool,
    /// Number and size of the log files before, if they have been replaced.
    pub log_replaced: Option<(u32, u64)>,
    /// Another server made it, and it has not been taken over: it is open for reading only.
    pub foreign: bool,
    /// Another server made it; this opening has taken it over.
    pub taken_over: bool,
    /// What recovery did; `None` when there was nothing to recover.
    pub recovery: Option<RecoveryReport>,
}

impl OpenReport {
    /// What there is to tell, a line each: for logs.
    pub fn lines(&self) -> Vec<String> {
        let Some(done) = &self.recovery else { return Vec::new() };
        let mut lines = vec![format!(
            "recovery: {} bytes of redo from LSN {} to {} applied: {} records on {} pages; {} torn pages repaired",
            done.redo_bytes, done.checkpoint, done.end, done.records, done.pages, done.torn_pages_repaired
        )];
        lines.extend(done.tolerated.iter().map(|damage| format!("recovery: tolerated: {damage}")));
        lines
    }
}

/// A folder, open.
#[derive(Debug)]
pub struct Storage {
    options: Options,
    fs: Arc<dyn FileSystem>,
    clock: Arc<dyn Clock>,
    spaces: Arc<SpaceMap>,
    pool: Arc<BufferPool>,
    log: Arc<RedoLog>,
    mtr_log_max: usize,
    live: Live,
    /// Held by the thread that writes pages because the log needs room.
    makes_room: Mutex<()>,
    report: OpenReport,
    closed: AtomicBool,
    /// Held to the end, against other openers.
    _lock: DirLock,
    /// The same against MySQL's servers.
    _file_locks: Vec<FileLock>,
    #[cfg(feature = "canary")]
    canary: crate::canary::Canary,
}

impl Storage {
    /// Opens or creates a folder.
    ///
    /// # Errors
    /// The folder is in use (names the process); settings, I/O, a damaged or foreign log, missing or damaged files: see
    /// [`Error`].
    pub fn open(fs: Arc<dyn FileSystem>, clock: Arc<dyn Clock>, options: Options) -> Result<Storage> {
        Self::open_with(fs, clock, options, &mut NoBootstrap)
    }

    /// Opens or creates a folder; a new folder gets what `bootstrap` puts into the system tablespace.
    ///
    /// # Errors
    /// As [`Storage::open`].
    pub fn open_with(
        fs: Arc<dyn FileSystem>,
        clock: Arc<dyn Clock>,
        mut options: Options,
        bootstrap: &mut dyn Bootstrap,
    ) -> Result<Storage> {
        options.validate()?;
        // Without the log the pages are what they are; changing them would make it worse.
        options.read_only |= options.force_recovery >= ForceRecovery::READ_ONLY;
        let other = origin::origin(&*fs, &options)? == Origin::Other;
        let foreign = other && !options.take_over;
        options.read_only |= foreign;
        if !options.read_only {
            create_dir_durably(&*fs, &options.dir)?;
        }
        let lock = match fs.exists(&options.dir) {
            true => fs.lock_dir(&options.dir, options.read_only)?,
            false => DirLock::unshared(),
        };
        let mut file_locks = Vec::new();
        lock_files(&*fs, &options, &mut file_locks)?;
        let mut storage = Self::open_locked(fs.clone(), clock, options.clone(), bootstrap)?;
        // Those that were made.
        lock_files(&*fs, &options, &mut file_locks)?;
        storage._lock = lock;
        storage._file_locks = file_locks;
        storage.report.foreign = foreign;
        Ok(storage)
    }

    fn open_locked(
        fs: Arc<dyn FileSystem>,
        clock: Arc<dyn Clock>,
        options: Options,
        bootstrap: &mut dyn Bootstrap,
    ) -> Result<Storage> {
        let marker = options.dir.join(origin::CREATING);
        let first = system_paths(&options).swap_remove(0);
        if fs.exists(&options.dir) && fs.exists(&marker) {
            remove_incomplete(&*fs, &options)?;
        } else if fs.exists(&first) {
            let storage = Self::open_existing(fs.clone(), clock.clone(), options.clone())?;
            return match storage.has_wanted_log() {
                true => Ok(storage),
                false => storage.replace_log(fs, clock, options),
            };
        } else if log::files::exists(&*fs, &options.log_dir()) {
            return Err(Error::Folder(format!(
                "{} has redo log files but no {}; put the data files back or choose another folder",
                options.dir.display(),
                first.display()
            )));
        }
        if options.read_only {
            return Err(Error::Folder(format!("{} is empty and read_only is set", options.dir.display())));
        }
        Self::create(fs, clock, options, &marker, bootstrap)
    }

    fn create(
        fs: Arc<dyn FileSystem>,
        clock: Arc<dyn Clock>,
        options: Options,
        marker: &Path,
        bootstrap: &mut dyn Bootstrap,
    ) -> Result<Storage> {
        let marker_file = fs.open(marker, OpenOptions::new(OpenMode::CreateNew))?;
        marker_file.sync()?;
        drop(marker_file);
        fs.sync_dir(&options.dir)?;

        let spaces = Arc::new(SpaceMap::new(fs.clone(), &options));
        create_system_files(&*fs, &spaces, &options)?;
        let folder = new_folder_id(&*clock);
        let config = log_config(&options, folder);
        let new = NewLog {
            files: options.log_files_in_group,
            file_bytes: options.log_file_size,
            first_lsn: NewLog::DEFAULT.first_lsn,
        };
        let log = Arc::new(RedoLog::create(&*fs, clock.clone(), config, new)?);
        let report = OpenReport { created: true, ..OpenReport::default() };
        let storage = Self::assemble(options, fs, clock, spaces, log, report)?;
        system::create(&storage, folder, bootstrap)?;
        storage.make_clean()?;
        storage.fs.remove_file(marker)?;
        storage.fs.sync_dir(&storage.options.dir)?;
        storage.mark_in_use()?;
        Ok(storage)
    }

    fn assemble(
        options: Options,
        fs: Arc<dyn FileSystem>,
        clock: Arc<dyn Clock>,
        spaces: Arc<SpaceMap>,
        log: Arc<RedoLog>,
        report: OpenReport,
    ) -> Result<Storage> {
        let flusher = Arc::new(Flusher::new(&options, spaces.clone()));
        let pool = Arc::new(BufferPool::new(&options, spaces.clone(), flusher.clone())?);
        flusher.attach_log(log.clone());
        Ok(Self::with_pool(options, fs, clock, spaces, pool, log, report))
    }

    fn with_pool(
        options: Options,
        fs: Arc<dyn FileSystem>,
        clock: Arc<dyn Clock>,
        spaces: Arc<SpaceMap>,
        pool: Arc<BufferPool>,
        log: Arc<RedoLog>,
        report: OpenReport,
    ) -> Storage {
        // A tiny log, as simulations use, holds at least a few mini-transactions.
        let mtr_log_max = mtr_log_max(options.page_size).min(log.capacity() as usize / 6);
        Storage {
            live: Live::new(&options),
            options,
            fs,
            clock,
            spaces,
            pool,
            log,
            mtr_log_max,
            makes_room: Mutex::new(()),
            report,
            closed: AtomicBool::new(false),
            _lock: DirLock::unshared(),
            _file_locks: Vec::new(),
            #[cfg(feature = "canary")]
            canary: crate::canary::Canary::default(),
        }
    }

    fn open_existing(fs: Arc<dyn FileSystem>, clock: Arc<dyn Clock>, options: Options) -> Result<Storage> {
        let spaces = Arc::new(SpaceMap::new(fs.clone(), &options));
        attach_system_space(&*fs, &spaces, &options)?;
        attach_undo_spaces(&*fs, &spaces, &options)?;
        let system = system::read_identity(&spaces, &options)?;
        // A taking over that was cut off has left its label: it goes on.
        let folder = match system.folder {
            Some(folder) => folder,
            None => origin::labelled(&*fs, &options)?.unwrap_or_else(|| new_folder_id(&*clock)),
        };
        let flusher = Arc::new(Flusher::new(&options, spaces.clone()));
        let pool = Arc::new(BufferPool::new(&options, spaces.clone(), flusher.clone())?);
        let config = log_config(&options, folder);

        if !log::files::exists(&*fs, &options.log_dir()) {
            let log = Arc::new(new_log_after_clean_shutdown(
                &*fs,
                clock.clone(),
                &options,
                config,
                system.flush_lsn,
            )?);
            flusher.set_doublewrite_blocks(system.doublewrite);
            flusher.attach_log(log.clone());
            let storage = Self::with_pool(options, fs, clock, spaces, pool, log, OpenReport::default());
            return storage.begin_use(system.folder, folder);
        }

        let mut reader = LogReader::open(fs.clone(), &options.log_dir(), system.folder)?;
        let damage = Arc::new(DamageReport::default());
        let mut report = OpenReport::default();
        if options.force_recovery >= ForceRecovery::READ_ONLY {
            recovery::skip_log(&mut reader)?;
        } else if system.flush_lsn == reader.checkpoint_lsn() && recovery::skip_log(&mut reader)? == 0 {
            // A clean shutdown: nothing to apply, and files need not be looked for.
        } else {
            if options.read_only {
                return Err(needs_recovery(&options, system.folder.is_none()));
            }
            reader = LogReader::open_for_recovery(fs.clone(), &config, system.folder)?;
            let mut unreadable = BTreeMap::new();
            for found in recovery::find_table_spaces(&*fs, &options.dir, options.page_size)? {
                // Nothing is wrong with it as long as the log has nothing for it.
                match has_pages_of(&options, &found) {
                    true => attach_found(&spaces, &options, &found)?,
                    false => drop(unreadable.insert(found.id, found.path)),
                }
            }
            // What recovery finds is what it builds upon.
            spaces.sync_unseen()?;
            recovery::sync_folders(&*fs, &options.dir)?;
            let repaired = match system.doublewrite {
                Some(blocks) => recovery::repair_torn_pages(
                    &spaces,
                    blocks,
                    options.page_size,
                    options.checksum_algorithm,
                    reader.checkpoint_lsn(),
                )?,
                None => 0,
            };
            flusher.set_doublewrite_blocks(system.doublewrite);
            let run = Recovery::new(&options, pool.clone(), spaces.clone(), damage, unreadable);
            let mut done = run.run(&mut reader)?;
            done.torn_pages_repaired = repaired;
            report.recovery = Some(done);
        }
        let log = Arc::new(reader.into_log(clock.clone(), config)?);
        flusher.attach_log(log.clone());
        let identity =
            system::read_identity_from_pool(&pool).map_err(|e| options.force_recovery.with_ways_out(e))?;
        flusher.set_doublewrite_blocks(identity.doublewrite);
        let storage = Self::with_pool(options, fs, clock, spaces, pool, log, report);
        storage.begin_use(identity.folder, folder)
    }

    /// Marks the folder as in use, and as ours if it was another server's, `known` to nobody.
    fn begin_use(mut self, known: Option<FolderId>, folder: FolderId) -> Result<Storage> {
        if self.options.read_only {
            return Ok(self);
        }
        self.mark_in_use()?;
        if known.is_none() {
            system::mark(&self, folder)?;
            self.report.taken_over = true;
        }
        Ok(self)
    }

    /// Whether the log is as it is to be.
    fn has_wanted_log(&self) -> bool {
        let (log, options) = (self.log.geometry(), &self.options);
        let is_wanted =
            log.n_files() == options.log_files_in_group && log.file_size() == options.log_file_size;
        is_wanted || !options.resize_log || options.read_only || options.force_recovery != ForceRecovery(0)
    }

    /// Opens the folder anew with a log of the wanted number and size of files. `self` has recovered what there was to
    /// recover.
    ///
    /// # Crash
    /// The folder is shut down cleanly first, so it is whole without its log; after a crash from there on the next opening
    /// makes the new one, whatever is left of the old ([`log::files`]).
    fn replace_log(
        self,
        fs: Arc<dyn FileSystem>,
        clock: Arc<dyn Clock>,
        options: Options,
    ) -> Result<Storage> {
        let old = self.log.geometry();
        self.close()?;
        let report =
            OpenReport { log_replaced: Some((old.n_files(), old.file_size())), ..self.report.clone() };
        drop(self);
        log::files::remove(&*fs, &options.log_dir())?;
        let mut storage = Self::open_existing(fs, clock, options)?;
        storage.report = report;
        Ok(storage)
    }

    /// Takes the mark of a clean shutdown away: from here on the data files need their log.
    fn mark_in_use(&self) -> Result<()> {
        self.write_flush_lsn(Lsn::ZERO)
    }

    /// The settings it was opened with.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Settings that change while it is open.
    pub(crate) fn live(&self) -> &Live {
        &self.live
    }

    /// What opening found.
    pub fn report(&self) -> &OpenReport {
        &self.report
    }

    /// The buffer pool.
    #[inline]
    pub fn pool(&self) -> &BufferPool {
        &self.pool
    }

    /// The redo log.
    #[inline]
    pub fn log(&self) -> &RedoLog {
        &self.log
    }

    /// The tablespaces.
    pub fn spaces(&self) -> &SpaceMap {
        &self.spaces
    }

    /// The file layer.
    pub fn fs(&self) -> &Arc<dyn FileSystem> {
        &self.fs
    }

    /// The clock.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// Deliberate bugs, for tests.
    #[cfg(feature = "canary")]
    pub fn canary(&self) -> &crate::canary::Canary {
        &self.canary
    }

    /// Begins a mini-transaction that may change pages.
    ///
    /// Sees to it first that the log has room, writing old pages itself if it must.
    ///
    /// # Errors
    /// [`Error::Poisoned`] after a failed write or sync, and those failures themselves; [`Error::Config`] when the
    /// folder is open for reading only.
    ///
    /// # Latching
    /// The caller holds no page latch.
    #[inline]
    pub fn begin(&self) -> Result<Mtr<'_>> {
        if self.options.read_only {
            return Err(Error::Config("the folder is open for reading only".into()));
        }
        self.pool.flusher().check_usable()?;
        if let Some(failure) = self.log.failure() {
            return Err(Error::Poisoned(failure.to_string()));
        }
        let room = match self.log.try_reserve_room(self.mtr_log_max) {
            Some(room) => room,
            None => self.wait_for_room()?,
        };
        Ok(Mtr::new(self, Some(room)))
    }

    /// Begins a mini-transaction that only reads. Never waits.
    #[inline]
    pub fn begin_read(&self) -> Mtr<'_> {
        Mtr::new(self, None)
    }

    /// Bytes of redo a mini-transaction may write.
    pub fn mtr_log_max(&self) -> usize {
        self.mtr_log_max
    }

    /// One thread writes pages and moves the checkpoint; the others sleep until there is room for them, or it is their turn.
    #[cold]
    fn wait_for_room(&self) -> Result<Room> {
        loop {
            if let Some(turn) = self.makes_room.try_lock() {
                let made = self.make_room();
                drop(turn);
                self.log.wake_for_room();
                return made;
            }
            let room = self.log.wait_for_room(self.mtr_log_max, || self.makes_room.is_locked());
            if let Some(room) = room.map_err(|e| Error::Poisoned(e.to_string()))? {
                return Ok(room);
            }
        }
    }

    /// Writes old pages until there is room.
    fn make_room(&self) -> Result<Room> {
        loop {
            if let Some(room) = self.log.try_reserve_room(self.mtr_log_max) {
                return Ok(room);
            }
            if let Some(failure) = self.log.failure() {
                return Err(Error::Poisoned(failure.to_string()));
            }
            // Pages whose first change is in the older half of the log's age are what holds the checkpoint.
            let limit = Lsn(self.log.checkpoint_lsn().0 + self.log.age() / 2 + 1);
            let written = self.pool.flusher().flush_oldest(&self.pool, ROOM_BATCH, limit)?;
            self.checkpoint()?;
            if written == 0 {
                // Another thread holds what must be written; it ends soon.
                std::thread::yield_now();
            }
        }
    }

    /// Moves the checkpoint as far as the flush lists allow; returns where it is.
    ///
    /// # Errors
    /// Errors of the log; they are final.
    pub fn checkpoint(&self) -> Result<Lsn> {
        // The order of these two matters: a mini-transaction between them is below the first or on a flush list.
        let added = self.log.dirty_pages_added_up_to();
        let lsn = self.pool.oldest_modification().map_or(added, |oldest| oldest.min(added));
        if lsn > self.log.checkpoint_lsn() {
            self.log.write_checkpoint(lsn)?;
        }
        Ok(self.log.checkpoint_lsn())
    }

    /// Writes every dirty page and moves the checkpoint to the end of the log.
    ///
    /// # Errors
    /// Errors of writing; they are final.
    pub fn flush_everything(&self) -> Result<()> {
        self.pool.flusher().flush_all(&self.pool, Lsn::MAX)?;
        self.log.flush_up_to(self.log.current_lsn())?;
        self.checkpoint()?;
        Ok(())
    }

    /// Writes pages whose first change lies below `limit`, with neighbours as configured; returns how many.
    ///
    /// # Errors
    /// Errors of writing; they are final.
    pub fn flush_older_than(&self, limit: Lsn) -> Result<usize> {
        self.pool.flusher().flush_oldest(&self.pool, usize::MAX / 2, limit)
    }

    /// Everything written, the FLUSH_LSN of the system files equal to the checkpoint.
    fn make_clean(&self) -> Result<()> {
        loop {
            self.flush_everything()?;
            if self.log.checkpoint_lsn() == self.log.current_lsn() {
                break;
            }
        }
        self.write_flush_lsn(self.log.checkpoint_lsn())
    }

    /// Shuts down cleanly: everything on disk, nothing to recover. Later calls do nothing.
    ///
    /// # Errors
    /// Errors of writing. The folder recovers at the next opening then.
    pub fn close(&self) -> Result<()> {
        if self.options.read_only || self.closed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        self.make_clean()
    }

    /// Creates a single-table space, its file `name.ibd` below the folder (`name` as `database/table`, in file name
    /// encoding) with its first pages.
    ///
    /// # Errors
    /// `AlreadyExists`, other I/O errors; nothing is left then.
    ///
    /// # Crash
    /// The file is durable before its creation is logged: redo for the space finds it by name even if none of its
    /// pages was written. A file without a creation in the log is an orphan of a call that never returned.
    pub fn create_table_space(&self, id: SpaceId, flags: SpaceFlags, name: &str) -> Result<()> {
        let path = self.table_space_path(name);
        let size = flags.page_size();
        if size != self.options.page_size {
            return Err(Error::Config(format!("a space of {} byte pages in this folder", size.physical())));
        }
        let space = self.spaces.create(id, flags.encode(), size, &path, fsp::INITIAL_PAGES)?;
        let made = self.init_table_space(&space, flags, name);
        if made.is_err() {
            self.pool.discard_space(id);
            self.spaces.detach(id);
            // The error that made it necessary is what counts.
            let _ = self.fs.remove_file(&path);
        }
        made
    }

    /// Makes the file of a new space durable and writes its first pages.
    fn init_table_space(&self, space: &Space, flags: SpaceFlags, name: &str) -> Result<()> {
        let (id, path) = (space.id(), self.table_space_path(name));
        space.mark_written();
        self.spaces.sync(space)?;
        self.fs.sync_dir(path.parent().unwrap_or(&self.options.dir))?;
        let mut mtr = self.begin()?;
        mtr.keep_before_images();
        mtr.log_record(|log| encode::push_file_create2(log, id, flags, false, name.as_bytes()));
        fsp::init_space(&mut mtr, id, flags, fsp::INITIAL_PAGES)?;
        mtr.commit();
        Ok(())
    }

    /// Drops a single-table space and its file.
    ///
    /// # Errors
    /// I/O errors. The space is gone from this instance all the same.
    ///
    /// # Crash
    /// The drop is durable in the log before the file goes; recovery finishes it.
    pub fn drop_table_space(&self, id: SpaceId, name: &str) -> Result<()> {
        let mut mtr = self.begin()?;
        mtr.log_record(|log| encode::push_file_delete(log, id, name.as_bytes()));
        let lsn = mtr.commit();
        self.log.flush_up_to(lsn)?;
        self.pool.discard_space(id);
        let path = self.spaces.detach(id).map_or_else(|| self.table_space_path(name), |s| s.path());
        self.fs.remove_file(&path)?;
        self.fs.sync_dir(path.parent().unwrap_or(&self.options.dir))?;
        Ok(())
    }

    /// Renames the file of a single-table space that is open, to `to.ibd` below the folder. The directory is there.
    ///
    /// # Errors
    /// [`Error::NoSuchSpace`]; `AlreadyExists`, other I/O errors.
    ///
    /// # Crash
    /// The rename is durable in the log before it is done; recovery finishes it.
    pub fn rename_table_space(&self, id: SpaceId, from: &str, to: &str) -> Result<()> {
        self.spaces.get(id)?;
        let path = self.table_space_path(to);
        if self.fs.exists(&path) {
            return Err(Error::Folder(format!("{} is in the way of a file to be renamed", path.display())));
        }
        let mut mtr = self.begin()?;
        mtr.log_record(|log| encode::push_file_rename(log, id, from.as_bytes(), to.as_bytes()));
        let lsn = mtr.commit();
        self.log.flush_up_to(lsn)?;
        self.spaces.rename(id, &path)
    }

    /// Drops a single-table space, if it or its file is there: open, or a file of that name that holds the space or has
    /// never been written. Whether there was anything to drop.
    ///
    /// # Errors
    /// I/O errors.
    pub fn drop_if_there(&self, id: SpaceId, name: &str) -> Result<bool> {
        if !self.spaces.contains(id) {
            let path = self.table_space_path(name);
            if !self.fs.exists(&path) {
                return Ok(false);
            }
            let found = recovery::read_space_id(&*self.fs, &path, self.options.page_size)?;
            if found.is_some_and(|found| found.id != id) {
                return Ok(false);
            }
        }
        self.drop_table_space(id, name)?;
        Ok(true)
    }

    /// The file a table's space has, if it is of the name `database/table`.
    pub fn table_space_path(&self, name: &str) -> PathBuf {
        self.options.dir.join(format!("{name}.ibd"))
    }

    /// Opens a single-table file, or finds it open.
    ///
    /// # Errors
    /// I/O errors; [`Error::Folder`] if the file holds another space than `id` or pages of another size.
    pub fn open_table_space(&self, id: SpaceId, path: &Path) -> Result<()> {
        if self.spaces.get(id).is_ok_and(|space| space.path() == path) {
            return Ok(());
        }
        let found = recovery::read_space_id(&*self.fs, path, self.options.page_size)?;
        match found {
            Some(found) if found.id == id => attach_found(&self.spaces, &self.options, &found),
            other => Err(Error::Folder(format!(
                "{} should hold tablespace {id} but holds {}",
                path.display(),
                other.map_or("none".to_owned(), |f| f.id.to_string())
            ))),
        }
    }

    fn write_flush_lsn(&self, lsn: Lsn) -> Result<()> {
        let page_size = self.options.page_size;
        let mut page = vaquita_io::AlignedBuf::zeroed(page_size.physical());
        let mut first = 0;
        for file in &self.options.data_file_path {
            let location = self.spaces.locate(PageId::new(SpaceId::SYSTEM, PageNo(first)))?;
            location.file.read_at(&mut page, location.offset)?;
            if first == 0 || fil::page_no(&page).0 == first {
                // No checksum covers the field, and the sector it is in is written whole.
                fil::set_flush_lsn(&mut page, lsn);
                location.file.write_at(&page, location.offset)?;
                location.file.sync()?;
            }
            first += u32::try_from(file.size_bytes / page_size.physical() as u64).unwrap_or(u32::MAX);
        }
        // The pool's copy of page 0 will be written again one day.
        if let Ok(mut page) = self.pool.get_exclusive(PageId::new(SpaceId::SYSTEM, PageNo(0))) {
            fil::set_flush_lsn(page.bytes_mut(), lsn);
        }
        Ok(())
    }
}

impl Drop for Storage {
    fn drop(&mut self) {
        // Dropping is not closing: what was not made durable is lost, as in a crash. Nothing to do.
        self.closed.store(true, Ordering::Release);
    }
}

fn log_config(options: &Options, folder: FolderId) -> LogConfig {
    LogConfig {
        buffer_bytes: options.log_buffer_size,
        flush_method: options.flush_method,
        direct: !options.log_file_buffering,
        read_only: options.read_only,
        flush_interval_us: u64::from(options.flush_log_at_timeout) * 1_000_000,
        ..LogConfig::new(options.log_dir(), folder)
    }
}

/// Paths of the system tablespace's files.
pub(crate) fn system_paths(options: &Options) -> Vec<PathBuf> {
    let home = options.dir.join(&options.data_home_dir);
    options.data_file_path.iter().map(|f| home.join(&f.name)).collect()
}

/// Locks the files of the system tablespace and of the log that are there, as a MySQL server does, except those that are
/// locked already.
fn lock_files(fs: &dyn FileSystem, options: &Options, held: &mut Vec<FileLock>) -> Result<()> {
    let log_dir = options.log_dir();
    let logs = (0..log::files::FILES_MAX).map(|no| log::files::file_path(&log_dir, no));
    for path in system_paths(options).into_iter().chain(logs.take_while(|path| fs.exists(path))) {
        if fs.exists(&path) && !held.iter().any(|lock| lock.is_of(&path)) {
            held.push(fs.lock_file(&path, options.read_only)?);
        }
    }
    Ok(())
}

fn create_system_files(fs: &dyn FileSystem, spaces: &SpaceMap, options: &Options) -> Result<()> {
    let paths = system_paths(options);
    for (path, file) in paths.iter().zip(&options.data_file_path) {
        let handle = fs.open(path, spaces.open_options(OpenMode::CreateNew))?;
        handle.set_len(file.size_bytes)?;
        handle.sync()?;
        fs.sync_dir(path.parent().unwrap_or(&options.dir))?;
    }
    spaces.attach(SpaceId::SYSTEM, 0, options.page_size, &paths)?;
    Ok(())
}

fn attach_system_space(fs: &dyn FileSystem, spaces: &SpaceMap, options: &Options) -> Result<()> {
    let paths = system_paths(options);
    if let Some(missing) = paths.iter().find(|p| !fs.exists(p)) {
        return Err(Error::Folder(format!(
            "{} of the system tablespace is missing; put it back or correct data_file_path",
            missing.display()
        )));
    }
    spaces.attach(SpaceId::SYSTEM, 0, options.page_size, &paths)?;
    Ok(())
}

/// Opens the undo tablespaces: `undo001` and so on, without a gap, with the numbers from 1 on.
fn attach_undo_spaces(fs: &dyn FileSystem, spaces: &SpaceMap, options: &Options) -> Result<()> {
    /// As many as a server can have.
    const MAX: u32 = 127;
    let dir = options.dir.join(&options.undo_directory);
    for no in 1..=MAX {
        let path = dir.join(format!("undo{no:03}"));
        if !fs.exists(&path) {
            break;
        }
        match recovery::read_space_id(fs, &path, options.page_size)? {
            Some(found) => attach_found(spaces, options, &found)?,
            None => {
                spaces.attach(SpaceId(no), 0, options.page_size, &[path])?;
            }
        }
    }
    Ok(())
}

/// The error for a folder that cannot be read without changing it.
fn needs_recovery(options: &Options, is_of_another: bool) -> Error {
    let way = match is_of_another {
        true => {
            "it was made by another server and recovery would change it: let that server recover it, or give it away with \
             --take-over; innodb_force_recovery=4 reads it as it is"
        }
        false => {
            "read_only is set; open it for writing once, or set innodb_force_recovery=4 to read it as it is"
        }
    };
    Error::Folder(format!("{} was not shut down cleanly: {way}", options.dir.display()))
}

fn page_size_of(options: &Options, found: &recovery::FoundSpace) -> PageSize {
    let flags = found.flags.and_then(|raw| SpaceFlags::decode(raw).ok());
    flags.map_or(options.page_size, |f| f.page_size())
}

/// Whether a file has pages as the pool has them.
fn has_pages_of(options: &Options, found: &recovery::FoundSpace) -> bool {
    page_size_of(options, found) == options.page_size
}

fn attach_found(spaces: &SpaceMap, options: &Options, found: &recovery::FoundSpace) -> Result<()> {
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

fn new_log_after_clean_shutdown(
    fs: &dyn FileSystem,
    clock: Arc<dyn Clock>,
    options: &Options,
    config: LogConfig,
    flush_lsn: Lsn,
) -> Result<RedoLog> {
    if flush_lsn != Lsn::ZERO && options.read_only {
        return Err(Error::Folder(format!(
            "{} has no redo log files; it was shut down cleanly, but a folder that is opened for reading only gets no new \
             ones: open it for writing once (--take-over, if another server made it)",
            options.dir.display()
        )));
    }
    if flush_lsn == Lsn::ZERO {
        return Err(Error::Folder(format!(
            "the redo log files of {} are missing, and the data files were not shut down cleanly: put ib_logfile0 \
             and its followers back, or restore a backup",
            options.dir.display()
        )));
    }
    let new =
        NewLog { files: options.log_files_in_group, file_bytes: options.log_file_size, first_lsn: flush_lsn };
    Ok(RedoLog::create(fs, clock, config, new)?)
}

/// Creates the folder and its parents; their names are durable on return.
fn create_dir_durably(fs: &dyn FileSystem, dir: &Path) -> Result<()> {
    let missing: Vec<&Path> =
        dir.ancestors().take_while(|p| !p.as_os_str().is_empty() && !fs.exists(p)).collect();
    fs.create_dir_all(dir)?;
    for made in missing.iter().rev() {
        match made.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => fs.sync_dir(parent)?,
            _ => fs.sync_dir(Path::new("."))?,
        }
    }
    Ok(())
}

/// Removes what an interrupted creation left; the marker goes last.
fn remove_incomplete(fs: &dyn FileSystem, options: &Options) -> Result<()> {
    for path in system_paths(options) {
        if fs.exists(&path) {
            fs.remove_file(&path)?;
        }
    }
    log::files::remove(fs, &options.log_dir())?;
    fs.sync_dir(&options.dir)?;
    match fs.remove_file(&options.dir.join(origin::CREATING)) {
        Err(e) if e.kind != ErrorKind::NotFound => Err(e.into()),
        _ => Ok(fs.sync_dir(&options.dir)?),
    }
}

/// Twelve bytes that no other folder has.
fn new_folder_id(clock: &dyn Clock) -> FolderId {
    // Two folders made at the same microsecond of two processes' clocks would differ by the hasher's keys, which
    // the standard library takes from the system's random source.
    use std::hash::{BuildHasher, Hasher};
    let mut id = [0; 12];
    let mut random = std::collections::hash_map::RandomState::new().build_hasher();
    random.write_u64(clock.now_us());
    id[..8].copy_from_slice(&random.finish().to_le_bytes());
    random.write_u8(1);
    id[8..].copy_from_slice(&random.finish().to_le_bytes()[..4]);
    FolderId(id)
}
