//! Errors of trees.

use std::fmt;
use vaquita_base::{IndexId, PageId};
use vaquita_format::Corruption;

/// Result of tree operations.
pub type Result<T> = std::result::Result<T, Error>;

/// Result of looking at a page, before it is known whose it is.
pub(crate) type PageResult<T> = vaquita_format::Result<T>;

/// What can go wrong in a tree.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Error {
    /// The storage below failed: I/O, no space, damaged pages or space management.
    Storage(vaquita_storage::Error),
    /// A page of the tree breaks a rule.
    Corrupt {
        /// The page.
        page: PageId,
        /// The index it belongs to.
        index: IndexId,
        /// The rule.
        corruption: Corruption,
    },
    /// A record does not fit into half a page, and nothing of it can be stored elsewhere.
    RecordTooBig {
        /// Bytes of the record.
        size: usize,
        /// Bytes allowed.
        max: usize,
    },
    /// A record with the same key exists.
    Duplicate,
    /// Tuples given to a bulk build do not ascend.
    NotSorted,
    /// What is asked for is not implemented for this kind of table.
    Unsupported(&'static str),
}

impl Error {
    /// A broken rule seen at `page`.
    #[cold]
    pub(crate) fn corrupt(page: PageId, index: IndexId, corruption: Corruption) -> Self {
        Error::Corrupt { page, index, corruption }
    }

    /// Whether the error says that stored bytes are wrong.
    pub fn is_corruption(&self) -> bool {
        match self {
            Error::Storage(e) => e.is_corruption(),
            Error::Corrupt { .. } => true,
            Error::RecordTooBig { .. } | Error::Duplicate | Error::NotSorted | Error::Unsupported(_) => false,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Storage(e) => e.fmt(f),
            Error::Corrupt { page, index, corruption } => {
                write!(f, "page {page} of index {index} is damaged: {corruption}")
            }
            Error::RecordTooBig { size, max } => {
                write!(f, "a record of {size} bytes is too big; at most {max} bytes fit")
            }
            Error::Duplicate => f.write_str("a record with this key exists"),
            Error::Unsupported(what) => f.write_str(what),
            Error::NotSorted => f.write_str("the records to build an index from are not in ascending order"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Storage(e) => Some(e),
            Error::Corrupt { corruption, .. } => Some(corruption),
            Error::RecordTooBig { .. } | Error::Duplicate | Error::NotSorted | Error::Unsupported(_) => None,
        }
    }
}

impl From<vaquita_storage::Error> for Error {
    fn from(e: vaquita_storage::Error) -> Self {
        Error::Storage(e)
    }
}
