//! Opening a folder, or making one.
//!
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
use crate::folders::create_dir_durably;
use crate::log::{self, FolderId, LogConfig, LogReader, NewLog, RedoLog};
use crate::options::{ForceRecovery, Options};
use crate::origin::{self, Origin};
use crate::recovery::{self, DamageReport, Recovery, Unattached};
use crate::report::OpenReport;
use crate::space::SpaceMap;
use crate::storage::Storage;
use crate::system::{self, Bootstrap, NoBootstrap};
use crate::table_spaces::{attach_found, has_pages_of};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use vaquita_base::{Clock, Lsn, PageId, PageNo, SpaceId};
use vaquita_format::fsp::SpaceHeader;
use vaquita_io::{DirLock, ErrorKind, FileLock, FileSystem, OpenMode, OpenOptions};

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
        let lock = match fs.is_there(&options.dir)? {
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
        let first = options.system_paths().swap_remove(0);
        if fs.is_there(&options.dir)? && fs.is_there(&marker)? {
            remove_incomplete(&*fs, &options)?;
        } else if fs.is_there(&first)? {
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
        if let Some(table) = table_of_accounts(&*fs, &options)? {
            return Err(Error::Folder(format!(
                "{} is not there, and neither are the redo log files of {}, but tables of a database are, such as {}: put ibdata1 and \
                 ib_logfile0 and its followers back, or restore a backup. Without them, make a new folder; `vaquita import` brings the \
                 tables' files into it, `vaquita dump` reads them",
                first.display(),
                options.log_dir().display(),
                table.display()
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
        storage.fs().remove_file(marker)?;
        storage.fs().sync_dir(&storage.options().dir)?;
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
        Ok(Self::with_pool(options, fs, clock, spaces, (pool, flusher), log, report))
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
            let storage =
                Self::with_pool(options, fs, clock, spaces, (pool, flusher), log, OpenReport::default());
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
            let discovery = recovery::find_table_spaces(&*fs, &options.dir, options.page_size)?;
            for found in discovery.spaces {
                // Nothing is wrong with it as long as the log has nothing for it.
                match has_pages_of(&options, &found) {
                    true => attach_found(&spaces, &options, &found)?,
                    false => drop(unreadable.insert(found.id, found.path)),
                }
            }
            // What recovery finds is what it builds upon.
            spaces.sync_unseen()?;
            recovery::sync_folders(&*fs, &options.dir)?;
            discovery.elsewhere.iter().try_for_each(|dir| fs.sync_dir(dir))?;
            let repaired = match system.doublewrite {
                Some(blocks) => recovery::repair_torn_pages(
                    &spaces,
                    blocks,
                    options.page_size,
                    options.live.checksum_algorithm,
                    reader.checkpoint_lsn(),
                )?,
                None => 0,
            };
            flusher.set_doublewrite_blocks(system.doublewrite);
            let found = Unattached { unreadable, dangling: discovery.dangling };
            let parts = (pool.clone(), flusher.clone());
            let run = Recovery::new(&options, &*clock, parts, spaces.clone(), damage, found);
            let mut done = run.run(&mut reader)?;
            done.torn_pages_repaired = repaired;
            report.recovery = Some(done);
        }
        check_system_size(&pool, &spaces, &options)?;
        let log = Arc::new(reader.into_log(clock.clone(), config)?);
        flusher.attach_log(log.clone());
        let identity =
            system::read_identity_from_pool(&pool).map_err(|e| options.force_recovery.with_ways_out(e))?;
        flusher.set_doublewrite_blocks(identity.doublewrite);
        let storage = Self::with_pool(options, fs, clock, spaces, (pool, flusher), log, report);
        storage.begin_use(identity.folder, folder)
    }

    /// Marks the folder as in use, and as ours if it was another server's, `known` to nobody.
    fn begin_use(mut self, known: Option<FolderId>, folder: FolderId) -> Result<Storage> {
        if self.options().read_only {
            return Ok(self);
        }
        self.mark_in_use()?;
        self.remove_temporary_file()?;
        if known.is_none() {
            system::mark(&self, folder)?;
            self.report.taken_over = true;
        }
        Ok(self)
    }

    /// Whether the log is as it is to be.
    fn has_wanted_log(&self) -> bool {
        let (log, options) = (self.log().geometry(), self.options());
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
        let old = self.log().geometry();
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
}

fn log_config(options: &Options, folder: FolderId) -> LogConfig {
    LogConfig {
        buffer_bytes: options.log_buffer_size,
        flush_method: options.flush_method,
        direct: !options.log_file_buffering,
        read_only: options.read_only,
        flush_interval_us: u64::from(options.live.flush_log_at_timeout) * 1_000_000,
        ..LogConfig::new(options.log_dir(), folder)
    }
}

/// Locks the files of the system tablespace and of the log that are there, as a MySQL server does, except those that are
/// locked already.
fn lock_files(fs: &dyn FileSystem, options: &Options, held: &mut Vec<FileLock>) -> Result<()> {
    let log_dir = options.log_dir();
    let logs = (0..log::files::FILES_MAX).map(|no| log::files::file_path(&log_dir, no));
    for path in options.system_paths().into_iter().chain(logs.take_while(|path| fs.exists(path))) {
        if fs.exists(&path) && !held.iter().any(|lock| lock.is_of(&path)) {
            held.push(fs.lock_file(&path, options.read_only)?);
        }
    }
    Ok(())
}

fn create_system_files(fs: &dyn FileSystem, spaces: &SpaceMap, options: &Options) -> Result<()> {
    let paths = options.system_paths();
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
    let paths = options.system_paths();
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

/// A file of the accounts' tables, which show that a folder was in use.
fn table_of_accounts(fs: &dyn FileSystem, options: &Options) -> Result<Option<PathBuf>> {
    let accounts = options.dir.join("mysql");
    if !fs.is_dir(&accounts) {
        return Ok(None);
    }
    let is_table = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "ibd");
    Ok(fs.list_dir(&accounts)?.into_iter().find(is_table))
}

/// Looks whether the files of the system tablespace hold all of it.
fn check_system_size(pool: &BufferPool, spaces: &SpaceMap, options: &Options) -> Result<()> {
    if options.force_recovery >= ForceRecovery::IGNORE_CORRUPT {
        return Ok(());
    }
    // A page or header that is damaged is for its users to report.
    let Ok(page) = pool.get_shared(PageId::new(SpaceId::SYSTEM, PageNo(0))) else { return Ok(()) };
    let header = SpaceHeader::read(&page);
    drop(page);
    let found = spaces.get(SpaceId::SYSTEM)?.size_pages();
    if header.check().is_err() || header.size <= found {
        return Ok(());
    }
    Err(Error::Folder(format!(
        "the tail of the system tablespace is missing: its size stored in the header is {} pages, but the sum of its file sizes is only \
         {found} pages; put back the files that innodb_data_file_path has named so far, or restore a backup; \
         innodb_force_recovery=1 opens what is there, to take the tables out",
        header.size
    )))
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
            "there are no redo log files in {}, and the data files of {} were not shut down cleanly: put ib_logfile0 \
             and its followers there, correct innodb_log_group_home_dir, or restore a backup",
            options.log_dir().display(),
            options.dir.display()
        )));
    }
    let new =
        NewLog { files: options.log_files_in_group, file_bytes: options.log_file_size, first_lsn: flush_lsn };
    Ok(RedoLog::create(fs, clock, config, new)?)
}

/// Removes what an interrupted creation left; the marker goes last.
fn remove_incomplete(fs: &dyn FileSystem, options: &Options) -> Result<()> {
    for path in options.system_paths() {
        if fs.is_there(&path)? {
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
