//! Errors of the storage core, in four families: the caller's fault, the environment, corruption, and the
//! refusal that follows a failed sync.

use std::fmt;
use std::path::PathBuf;
use vaquita_base::{Lsn, PageId, SpaceId};
use vaquita_format::Corruption;

/// Result of a storage operation.
pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Error {
    /// A file operation failed.
    Io(vaquita_io::Error),
    /// The bytes of a page break the format.
    Page {
        /// The page.
        page: PageId,
        /// Its file.
        file: PathBuf,
        /// Offset of the page in the file.
        offset: u64,
        /// Which check failed.
        corruption: Corruption,
    },
    /// A structure that spans pages is broken.
    Structure {
        /// A page at which it was seen.
        page: PageId,
        /// Which check failed.
        corruption: Corruption,
    },
    /// The redo log cannot be used: names file, offset and what to do.
    Log(String),
    /// The folder does not hold what it should: names the file and what to do.
    Folder(String),
    /// No tablespace of that number is open.
    NoSuchSpace(SpaceId),
    /// A page number beyond the end of its tablespace.
    BeyondEnd {
        /// The page asked for.
        page: PageId,
        /// Pages the tablespace has.
        size_pages: u32,
    },
    /// The tablespace cannot grow.
    SpaceFull {
        /// The tablespace.
        space: SpaceId,
        /// Why.
        detail: String,
    },
    /// An earlier failure of a log write or of a sync: nothing more is accepted until the folder is reopened.
    Poisoned(String),
    /// A page carries a change newer than the whole redo log.
    FutureLsn {
        /// The page.
        page: PageId,
        /// Its LSN.
        lsn: Lsn,
        /// The end of the log.
        log_end: Lsn,
    },
    /// A setting that cannot be.
    Config(String),
}

impl Error {
    /// Corruption of a structure seen at `page`.
    #[cold]
    pub fn structure(page: PageId, corruption: Corruption) -> Self {
        Error::Structure { page, corruption }
    }

    /// Whether the error says that stored bytes are wrong.
    pub fn is_corruption(&self) -> bool {
        matches!(self, Error::Page { .. } | Error::Structure { .. } | Error::FutureLsn { .. })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Io(e) => e.fmt(f),
            Error::Page { page, file, offset, corruption } => {
                write!(f, "page {page} is damaged ({} at byte {offset}): {corruption}", file.display())
            }
            Error::Structure { page, corruption } => {
                write!(f, "structure at page {page} is damaged: {corruption}")
            }
            Error::Log(text) | Error::Folder(text) | Error::Config(text) => f.write_str(text),
            Error::NoSuchSpace(space) => write!(f, "tablespace {space} is not open"),
            Error::BeyondEnd { page, size_pages } => {
                write!(f, "page {page} lies beyond the end of its tablespace ({size_pages} pages)")
            }
            Error::SpaceFull { space, detail } => write!(f, "tablespace {space} cannot grow: {detail}"),
            Error::Poisoned(cause) => {
                write!(
                    f,
                    "writes are refused until the folder is reopened, because of an earlier failure: {cause}"
                )
            }
            Error::FutureLsn { page, lsn, log_end } => write!(
                f,
                "page {page} carries LSN {lsn}, but the redo log ends at {log_end}: the log files belong to another \
                 folder or to an older copy of this one; put back the log files that were used last with these \
                 data files"
            ),
        }
    }
}

impl std::error::Error for Error {}

impl From<crate::log::LogError> for Error {
    fn from(e: crate::log::LogError) -> Self {
        match e {
            crate::log::LogError::Io(e) => Error::Io(e),
            crate::log::LogError::Failed(cause) => Error::Poisoned(cause.to_string()),
            other => Error::Log(other.to_string()),
        }
    }
}

impl From<vaquita_io::Error> for Error {
    fn from(e: vaquita_io::Error) -> Self {
        Error::Io(e)
    }
}
