//! Errors of the file layer: which operation, on which file, at which offset, and why.

use std::fmt;
use std::path::{Path, PathBuf};

/// Result of a file operation.
pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong, as far as callers act on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// No such file or directory.
    NotFound,
    /// The file is already there.
    AlreadyExists,
    /// The file ends before the range that was asked for.
    ShortRead,
    /// The disk, or the quota, is full.
    NoSpace,
    /// Not allowed.
    PermissionDenied,
    /// Another opener holds it.
    InUse,
    /// The system or the file system has no such operation.
    Unsupported,
    /// The power is off (simulated disk): every operation fails until restart.
    PowerOff,
    /// Anything else the system reports.
    Other,
}

/// A failed file operation.
#[derive(Debug, Clone)]
pub struct Error {
    /// What callers act on.
    pub kind: ErrorKind,
    /// The operation: "read", "write", "sync", "open", ...
    pub op: &'static str,
    /// The file.
    pub path: PathBuf,
    /// Offset and length of the range, for reads and writes.
    pub range: Option<(u64, usize)>,
    /// The system's own words.
    pub detail: String,
}

impl Error {
    /// An error without a range.
    pub fn new(kind: ErrorKind, op: &'static str, path: &Path, detail: impl Into<String>) -> Self {
        Self { kind, op, path: path.to_owned(), range: None, detail: detail.into() }
    }

    /// Adds the range that was read or written.
    #[must_use]
    pub fn at(mut self, offset: u64, len: usize) -> Self {
        self.range = Some((offset, len));
        self
    }

    /// Wraps an error of the operating system.
    pub fn from_os(error: &std::io::Error, op: &'static str, path: &Path) -> Self {
        use std::io::ErrorKind as K;
        let kind = match error.kind() {
            K::NotFound => ErrorKind::NotFound,
            K::AlreadyExists => ErrorKind::AlreadyExists,
            K::UnexpectedEof => ErrorKind::ShortRead,
            K::StorageFull | K::QuotaExceeded | K::FileTooLarge => ErrorKind::NoSpace,
            K::PermissionDenied => ErrorKind::PermissionDenied,
            K::Unsupported => ErrorKind::Unsupported,
            _ => ErrorKind::Other,
        };
        Self::new(kind, op, path, error.to_string())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {} {}", self.op, self.path.display())?;
        if let Some((offset, len)) = self.range {
            write!(f, " at byte {offset} ({len} bytes)")?;
        }
        write!(f, ": {}", self.detail)
    }
}

impl std::error::Error for Error {}
