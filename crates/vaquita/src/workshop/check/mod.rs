//! `check PATH`: everything that can be known to be right or wrong about a file or a data folder.
//!
//! | part | module |
//! |---|---|
//! | number, checksum, space, type of every page | `pages` |
//! | lists of extents, segments, inodes | `extents` |
//! | trees, off-page columns | `tree`, `loose` (without description) |
//! | change buffer bitmaps | `bitmap` |
//! | transaction system, dictionary, change buffer | `system` |
//! | rollback segments, undo logs, history; roll pointers of rows | `undo`, `undo_space` |
//! | secondary indexes against rows | `agreement` |
//! | FULLTEXT indexes against rows | `words` |
//! | redo log | `redo` |
//! | the dictionary against files, foreign keys | `files` |
//! | a tablespace, a folder, what is printed | `space`, `folder`, `outcome` |
//! | all tablespaces of a folder, wherever they are | `set` |

mod agreement;
mod bitmap;
pub(in crate::workshop) mod extents;
pub mod files;
mod folder;
mod loose;
pub(in crate::workshop) mod marks;
mod outcome;
mod pages;
pub mod redo;
pub mod set;
pub mod space;
pub(in crate::workshop) mod system;
pub mod tree;
mod undo;
mod undo_space;
mod words;

pub use agreement::Buffered;
pub use folder::{CheckError, check_path};
pub use set::{NamedSpace, SetVerdict, check_set};
pub use space::{
    CheckedTree, Described, SpaceSummary, SystemSummary, SystemView, UndoSpace, check_space, check_space_of,
};
pub use tree::TreeStats;
pub use undo::Transactions;
