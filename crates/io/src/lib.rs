//! The file layer: one small trait, a real disk and a simulated one.
//!
//! Knows files, offsets, alignment, durability and their failures; knows nothing of pages.

pub mod aligned;
pub mod error;
pub mod file;
pub mod real;
pub mod sim;

pub use aligned::AlignedBuf;
pub use error::{Error, ErrorKind, Result};
pub use file::{BatchOp, File, FileSystem, FlushMethod, OpenMode, OpenOptions, Transfer};
