//! What changes of definitions need that go on beside writers: logs of what these do meanwhile, temporary files.
//!
//! | part | module |
//! |---|---|
//! | a log with many writers and one reader | [`row_log`] |
//! | entries of indexes being built | [`index_log`] |
//! | rows of a table that is written anew | [`key_log`] |
//! | where the copies of rows are that their old keys do not tell | [`places`] |
//! | fields as bytes, temporary files | [`packed`], [`temp_file`] |
//! | documents that go while their words are gathered | [`document_log`] |
//! | rests of those who build | [`courtesy`] |

pub(crate) mod courtesy;
pub(crate) mod document_log;
pub(crate) mod index_log;
pub(crate) mod key_log;
pub(crate) mod packed;
pub(crate) mod places;
pub(crate) mod row_log;
pub(crate) mod temp_file;

/// What others may do with a table while its definition changes, but for moments at the beginning and the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Concurrency {
    /// Nothing (LOCK=EXCLUSIVE).
    Nothing,
    /// Read rows (LOCK=SHARED).
    Reads,
    /// Read and change rows (LOCK=NONE).
    Writes,
}
