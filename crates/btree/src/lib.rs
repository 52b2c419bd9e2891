//! Index trees on mini-transactions.
//!
//! A [`Tree`] is a B+-tree of InnoDB's layout in one tablespace: node pages hold the least key and the page number
//! of their children, leaf pages hold the records, every level is doubly linked, and the root never moves. This
//! crate finds, inserts, updates and removes records, splits and merges pages, keeps values that are too long for
//! a page on chains of their own, builds trees from sorted input and checks them. It knows nothing of transactions:
//! who may see or change a record is decided above; structure changes are told to an [`Observer`].
//!
//! | part | file |
//! |---|---|
//! | the tree: creation, segments, freeing | `tree` |
//! | from the root to a leaf, reading | `descent`, `probe`; many keys at once `many` |
//! | from the root to a leaf, to change its structure | `path` |
//! | back to a record without a descent | `bookmark` |
//! | whether equal records may lie in the leaf before | `separator` |
//! | insert, and splits | `insert`, `split` |
//! | update | `update` |
//! | remove, and merges | `remove`, `merge` |
//! | walking over records | [`cursor`] |
//! | values off the page | [`off_page`], `off_page_free` |
//! | building from sorted input | [`bulk`] |
//! | what the change buffer's bitmap says of leaves | `free_bits` |
//! | how many records and different keys there are | `sample`, [`estimate`] |
//! | checking everything | [`mod@validate`] |
//!
//! The literature calls this a B-link-free B+-tree with latch coupling (Bayer and Schkolnick) and optimistic reads
//! of inner pages (as in LeanStore). Deviations from InnoDB of MySQL 5.6: there is no latch of a whole tree, a
//! structure change latches the pages of its path that it may touch; merges join neighbours under one parent only.
//!
//! # Invariants
//! Checked by [`mod@validate`]:
//! - I1: keys ascend strictly along each level; the fields compared are [`IndexDef::n_uniq_in_tree`].
//! - I2: the children of a level's pages, in order, are the sibling chain of the level below.
//! - I3: the key of a pointer to a node page equals the first key of that page; the key of a pointer to a leaf is at
//!   most the first key of the leaf and above the last key of the leaf before.
//! - I4: the first record of each level above the leaves, and no other, has the minimum flag: it is below all keys.
//! - I5: no page but the root is empty. (A leaf of another program's file may be.)
//! - I6: the pages that the two segments use are the pages of the tree and of its off-page values.
//!
//! # Latching
//! See `docs/latching.md`, "Trees": pages from the root downwards, within a level from left to right, then pages of
//! off-page values, then the space management.
//!
//! [`IndexDef::n_uniq_in_tree`]: vaquita_format::index_def::IndexDef::n_uniq_in_tree
#![forbid(unsafe_code)]

mod bookmark;
pub mod bulk;
pub mod cursor;
mod descent;
pub mod error;
pub mod estimate;
mod free_bits;
mod insert;
mod key;
mod many;
mod merge;
pub mod observer;
pub mod off_page;
mod off_page_free;
mod ops;
mod path;
mod probe;
mod rec_buf;
mod remove;
mod sample;
mod separator;
mod split;
mod split_points;
mod stats;
mod tree;
mod update;
pub mod validate;

pub use bookmark::Bookmark;
pub use bulk::BulkBuilder;
pub use cursor::{Cursor, CursorState, Restored, Step};
pub use descent::RecordRef;
pub use error::{Error, Result};
pub use key::OwnedKey;
pub use many::LOOKUP_GROUP;
pub use observer::Observer;
pub use path::{Change, Position};
pub use rec_buf::RecBuf;
pub use sample::Sample;
pub use stats::TreeStats;
pub use tree::{LatchMode, Tree};
pub use validate::{TreeReport, validate, validate_while};
