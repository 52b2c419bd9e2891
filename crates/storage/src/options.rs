//! Settings of the storage core, under InnoDB's own variable names (without the `innodb_` prefix).

use crate::error::{Error, Result};
use crate::live::{LiveSettings, check};
use std::path::PathBuf;
use std::sync::Arc;
use vaquita_format::PageSize;
use vaquita_io::FlushMethod;

/// One file of `data_file_path`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SystemFile {
    /// File name, relative to the data folder unless absolute.
    pub name: PathBuf,
    /// Size at creation, in bytes.
    pub size_bytes: u64,
}

/// How far recovery goes on damaged data (`force_recovery`), as far as this layer is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct ForceRecovery(pub u8);

impl ForceRecovery {
    /// 1: damaged pages are reported and left as they are, missing tablespaces are skipped.
    pub const IGNORE_CORRUPT: ForceRecovery = ForceRecovery(1);
    /// 2: no background services.
    pub const NO_BACKGROUND: ForceRecovery = ForceRecovery(2);
    /// 3: nothing is rolled back.
    pub const NO_TRX_UNDO: ForceRecovery = ForceRecovery(3);
    /// 4: the folder is opened for reading only, as its files are: the redo log is not applied. (MySQL's levels 4 and 6 leave
    /// the change buffer and the redo log alone; since 5.6.15 both are read only, and read-only servers do not recover.)
    pub const READ_ONLY: ForceRecovery = ForceRecovery(4);
    /// 5: undo logs are not looked at; every transaction counts as committed.
    pub const NO_UNDO_LOG_SCAN: ForceRecovery = ForceRecovery(5);

    /// An error met at this level; with the ways out, if it is damage of the transaction system's pages that a higher level lets
    /// pass.
    #[must_use]
    pub fn with_ways_out(self, error: Error) -> Error {
        let ways = match &error {
            Error::Page { .. } if self < ForceRecovery::IGNORE_CORRUPT => {
                "innodb_force_recovery=1, which reads the page as it is, or 5, which looks at no undo logs"
            }
            Error::Page { .. } | Error::Structure { .. } if self < ForceRecovery::NO_UNDO_LOG_SCAN => {
                "innodb_force_recovery=5, which looks at no undo logs"
            }
            _ => return error,
        };
        Error::Folder(format!(
            "the transaction system cannot be read: {error}; restore a backup, or start with {ways}, take what is there and \
             make a new folder"
        ))
    }
}

/// What takes one line of a log.
type Tell = dyn Fn(&str) + Send + Sync;

/// Who is told lines for a log while something takes its time; nobody by default.
#[derive(Clone, Default)]
pub struct Progress(Option<Arc<Tell>>);

impl Progress {
    /// Lines go to `tell`.
    pub fn to(tell: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(tell)))
    }

    pub(crate) fn tell(&self, line: &str) {
        if let Some(tell) = &self.0 {
            tell(line);
        }
    }
}

impl std::fmt::Debug for Progress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_some() { "Progress(told)" } else { "Progress(nobody)" })
    }
}

/// Settings of a storage instance.
#[derive(Debug, Clone)]
pub struct Options {
    /// The data folder.
    pub dir: PathBuf,
    /// Page size of a new folder; an existing folder must have it.
    pub page_size: PageSize,
    /// Bytes of the buffer pool, page frames only.
    pub buffer_pool_size: usize,
    /// Shards of the pool.
    pub buffer_pool_instances: usize,
    /// What the folder is opened with of the settings that may change afterwards.
    pub live: LiveSettings,
    /// Folder of the system tablespace's files, relative to the data folder unless absolute.
    pub data_home_dir: PathBuf,
    /// Files of the system tablespace; the last one grows, if it may.
    pub data_file_path: Vec<SystemFile>,
    /// Whether the last of those files grows.
    pub autoextend: bool,
    /// Bytes up to which it grows.
    pub autoextend_max: Option<u64>,
    /// Redo log files.
    pub log_files_in_group: u32,
    /// Bytes of each redo log file.
    pub log_file_size: u64,
    /// Bytes of the log buffer.
    pub log_buffer_size: usize,
    /// How files are opened and synced.
    pub flush_method: FlushMethod,
    /// Write the log through the page cache though data files bypass it (`innodb_log_file_buffering` of MariaDB): for commits
    /// that do not wait for the disk.
    pub log_file_buffering: bool,
    /// Folder of the log files, relative to the data folder unless absolute.
    pub log_group_home_dir: PathBuf,
    /// Give the log of an existing folder the number and size of files that are set here. Without, it keeps what it has.
    pub resize_log: bool,
    /// Write pages through the doublewrite area.
    pub doublewrite: bool,
    /// Files of single tables kept open at most.
    pub open_files: usize,
    /// How far recovery goes.
    pub force_recovery: ForceRecovery,
    /// Threads that apply redo.
    pub recovery_threads: usize,
    /// Refuse every change.
    pub read_only: bool,
    /// Open a folder that another server made for writing, and mark it as ours. Without, such a folder is opened for reading
    /// only.
    pub take_over: bool,
    /// Who is told how far recovery is, while it runs.
    pub progress: Progress,
    /// Where the undo tablespaces are (`undo001` and its followers), relative to the data folder unless absolute.
    pub undo_directory: PathBuf,
}

impl Options {
    /// Paths of the system tablespace's files.
    pub(crate) fn system_paths(&self) -> Vec<PathBuf> {
        let home = self.dir.join(&self.data_home_dir);
        self.data_file_path.iter().map(|file| home.join(&file.name)).collect()
    }

    /// InnoDB 5.6's defaults for the folder `dir`.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self {
            dir: dir.into(),
            page_size: PageSize::DEFAULT,
            buffer_pool_size: 128 << 20,
            buffer_pool_instances: 1,
            live: LiveSettings::default(),
            data_home_dir: PathBuf::new(),
            data_file_path: vec![SystemFile { name: "ibdata1".into(), size_bytes: 12 << 20 }],
            autoextend: true,
            autoextend_max: None,
            log_files_in_group: 2,
            log_file_size: 48 << 20,
            log_buffer_size: 8 << 20,
            flush_method: FlushMethod::default(),
            log_file_buffering: false,
            log_group_home_dir: PathBuf::new(),
            resize_log: false,
            doublewrite: true,
            open_files: 2_000,
            force_recovery: ForceRecovery::default(),
            recovery_threads: 2,
            read_only: false,
            take_over: false,
            progress: Progress::default(),
            undo_directory: PathBuf::from("."),
        }
    }

    /// Where the log files are.
    pub fn log_dir(&self) -> PathBuf {
        self.dir.join(&self.log_group_home_dir)
    }

    /// Frames of the pool.
    pub fn pool_frames(&self) -> usize {
        self.buffer_pool_size / self.page_size.logical()
    }

    /// Checks what can be checked without files.
    ///
    /// # Errors
    /// [`Error::Config`] names the setting, its value and the allowed range.
    pub fn validate(&self) -> Result<()> {
        let frames = self.pool_frames() as u64;
        let page = self.page_size.logical() as u64;
        if self.page_size.is_compressed() {
            return Err(Error::Config("page_size: a folder's page size is not a compressed one".into()));
        }
        check(
            "buffer_pool_size",
            self.buffer_pool_size as u64,
            MIN_FRAMES * page,
            u64::from(u32::MAX) * page,
        )?;
        check(
            "buffer_pool_instances",
            self.buffer_pool_instances as u64,
            1,
            (frames / MIN_FRAMES).clamp(1, 64),
        )?;
        check("log_files_in_group", u64::from(self.log_files_in_group), 2, 100)?;
        check("log_file_size", self.log_file_size, 32 << 10, 512 << 30)?;
        let log_bytes = self.log_file_size.saturating_mul(u64::from(self.log_files_in_group));
        check("log_file_size times log_files_in_group", log_bytes, 64 << 10, 512 << 30)?;
        check("log_buffer_size", self.log_buffer_size as u64, 16 << 10, 4 << 30)?;
        check("open_files", self.open_files as u64, 10, u64::from(u32::MAX))?;
        check("force_recovery", u64::from(self.force_recovery.0), 0, 6)?;
        check("recovery_threads", self.recovery_threads as u64, 1, 64)?;
        check("data_file_path: number of files", self.data_file_path.len() as u64, 1, 1_000)?;
        self.live.validate()
    }
}

/// Frames a pool needs at least: the pages of one structure change, twice over.
pub const MIN_FRAMES: u64 = 32;
