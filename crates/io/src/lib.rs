//! The file layer: one small trait, a real disk and a simulated one.
//!
//! Knows files, offsets, alignment, durability and their failures; knows nothing of pages.
//!
//! Unsafe code is allowed in three named places ([`aligned`] and the two batch engines of [`real`]); each site
//! has its argument beside it and in `docs/unsafe.md`.
#![deny(unsafe_code)]

#[allow(unsafe_code)]
pub mod aligned;
pub mod error;
pub mod file;
pub mod real;
pub mod sim;

pub use aligned::AlignedBuf;
pub use error::{Error, ErrorKind, Result};
pub use file::{
    BatchOp, DirLock, File, FileLock, FileSystem, FlushMethod, OpenMode, OpenOptions, Transfer, replace_file,
};
pub use real::{AsyncIo, RealDisk, RealDiskOptions};
pub use sim::SimDisk;
