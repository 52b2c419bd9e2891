//! What a statement keeps of its rows for a while: in memory as far as the session's limits go, the rest in temporary files.
//!
//! | part | module |
//! |---|---|
//! | where temporary files are, what a sort may take | `folders` |
//! | rows in a file | [`spill`] |
//! | rows and keys as bytes | [`values`] |
//! | sorting | [`sort`] |
//! | rows that differ | [`distinct`] |

pub mod distinct;
mod folders;
pub mod sort;
pub mod spill;
pub mod values;

pub use folders::{SortRoom, TmpFolders};
