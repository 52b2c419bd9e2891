//! Errors of the redo log: what is wrong, in which file, where, and what can be done about it.

use std::fmt;
use std::path::PathBuf;

use vaquita_base::Lsn;
use vaquita_format::Corruption;

/// Result of a log operation.
pub type Result<T> = std::result::Result<T, LogError>;

/// Why the log cannot be used, or not for this.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum LogError {
    /// The file layer failed.
    Io(vaquita_io::Error),
    /// The log has failed before; nothing is acknowledged any more.
    Failed(Box<LogError>),
    /// There is a log already where one should be created.
    Exists {
        /// Its first file.
        path: PathBuf,
    },
    /// A log file is not there.
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// Log files must be of one size.
    SizesDiffer {
        /// The file that differs.
        path: PathBuf,
        /// Its size.
        found: u64,
        /// Size of `ib_logfile0`.
        expected: u64,
    },
    /// Number, size or content of the files breaks the format.
    Corrupt {
        /// The file.
        path: PathBuf,
        /// Offset in it.
        offset: u64,
        /// The broken rule.
        damage: Corruption,
    },
    /// Neither checkpoint is valid, so nothing says where the log begins.
    NoCheckpoint {
        /// The file that holds them.
        path: PathBuf,
        /// Damage at byte 512.
        first: Corruption,
        /// Damage at byte 1536.
        second: Box<Corruption>,
    },
    /// The log belongs to another folder.
    Foreign {
        /// The file.
        path: PathBuf,
        /// Label of this folder.
        expected: String,
        /// Label of the file.
        found: String,
    },
    /// The log ends before the checkpoint, up to which it was once durable.
    TooShort {
        /// The file that holds the checkpoint's place.
        path: PathBuf,
        /// Offset of that place.
        offset: u64,
        /// LSN of the checkpoint.
        checkpoint: Lsn,
        /// Where the log ends, or what is wrong there.
        detail: String,
    },
    /// Records that still matter would be overwritten. The log stops instead.
    Full {
        /// End of what was to be written.
        end: Lsn,
        /// The last checkpoint.
        checkpoint: Lsn,
        /// Bytes the files hold.
        capacity: u64,
    },
    /// A mini-transaction that no state of the log has room for.
    TooLarge {
        /// Bytes of records asked for.
        bytes: u64,
        /// Bytes the log can ever grant.
        limit: u64,
    },
    /// An LSN the log has not reached: it came from elsewhere, such as a page of another database.
    Future {
        /// That LSN.
        lsn: Lsn,
        /// End of the log.
        end: Lsn,
    },
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(e) => e.fmt(f),
            Self::Failed(cause) => {
                write!(f, "the redo log stopped after an error; close and recover the database: {cause}")
            }
            Self::Exists { path } => {
                write!(f, "{} exists already; a log is created only where there is none", path.display())
            }
            Self::Missing { path } => write!(
                f,
                "{} is missing; put back all ib_logfile* of this folder, or restore a backup",
                path.display()
            ),
            Self::SizesDiffer { path, found, expected } => write!(
                f,
                "{} has {found} bytes, ib_logfile0 has {expected}; all log files must have one size: put back the \
                 files that belong together",
                path.display()
            ),
            Self::Corrupt { path, offset, damage } => write!(
                f,
                "{} is damaged in the structure at byte {offset}: {damage}; restore a backup, or take \
                 the rows out of the tables' files with `vaquita dump`",
                path.display()
            ),
            Self::NoCheckpoint { path, first, second } => write!(
                f,
                "{} holds no valid checkpoint (byte 512: {first}; byte 1536: {second}); restore a backup, or \
                 take the rows out of the tables' files with `vaquita dump`",
                path.display()
            ),
            Self::Foreign { path, expected, found } => write!(
                f,
                "{} belongs to another folder: its label is \"{found}\", this folder's is \"{expected}\"; put back \
                 the log files of this folder",
                path.display()
            ),
            Self::TooShort { path, offset, checkpoint, detail } => write!(
                f,
                "the log must reach the checkpoint at LSN {checkpoint} ({}, byte {offset}) but does not: {detail}; \
                 restore a backup, or take the rows out of the tables' files with `vaquita dump`",
                path.display()
            ),
            Self::Full { end, checkpoint, capacity } => write!(
                f,
                "writing the log up to LSN {end} would overwrite records from the checkpoint at {checkpoint} on \
                 ({capacity} bytes in all files)"
            ),
            Self::TooLarge { bytes, limit } => write!(
                f,
                "a mini-transaction of up to {bytes} bytes does not fit the log files, which grant {limit}; \
                 configure larger ones"
            ),
            Self::Future { lsn, end } => write!(
                f,
                "LSN {lsn} is beyond the end of the log at {end}: it comes from another log, as after removing or \
                 exchanging ib_logfile*"
            ),
        }
    }
}

impl std::error::Error for LogError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(e) => Some(e),
            Self::Failed(cause) => Some(cause.as_ref()),
            Self::Corrupt { damage, .. } => Some(damage),
            _ => None,
        }
    }
}

impl From<vaquita_io::Error> for LogError {
    fn from(e: vaquita_io::Error) -> Self {
        Self::Io(e)
    }
}
