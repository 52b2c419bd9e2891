//! Index pages: the nodes and leaves of every tree.
//!
//! ```text
//! 0    FIL header                    (crate::fil)
//! 38   index page header             (header)
//! 94   infimum, supremum
//! 120  heap: records in order of insertion, garbage among them (125 in REDUNDANT pages)
//!      HEAP_TOP: free space
//!      ... directory slots, growing downwards
//! P-8  trailer
//! ```
//!
//! Which function for what:
//! - finding a key: [`search`], of many keys at once [`SteppedSearch`]; walking: [`next_rec`], [`prev_rec`], [`records`];
//! - changing a page with redo: [`logged`]; the same changes bare: [`edit`];
//! - what fits: [`max_insert_size`] and its sisters; checking everything: [`validate`].
//!
//! A record is named by its origin, a page offset. Origins stay valid until the record is removed or the page is
//! reorganised. Fields of a record are found with [`crate::record::Offsets`].
//!
//! # An insert
//! ```text
//! found = search(page, index, &tuple, SearchMode::LessOrEqual)?     // low_matched >= n_uniq: duplicate
//! extra = record::encode(index.layout(), &tuple, &mut buf)
//! logged::insert(page, &mut log, index, found.low, &buf, extra)?    // None: reorganise or split
//! ```
//! If `None` and `max_insert_size_after_reorganize(page, 1) >= buf.len()`, `logged::reorganize` makes room (search
//! again: origins have moved). Otherwise the page must be split: `logged::copy_list_end` onto a fresh page,
//! `logged::delete_list_from` here.
//!
//! # Invariants
//! Checked by [`validate`]:
//! - I1: the list leads from infimum to supremum over N_RECS records, in ascending key order.
//! - I2: heap numbers of list and garbage list are exactly 0..N_HEAP; infimum has 0, supremum 1.
//! - I3: the slots point to exactly the records with n_owned > 0, in order; each owns itself and the records since
//!   the previous owner: the infimum 1, the supremum 1 to 8, others 4 to 8.
//! - I4: HEAP_TOP = start of the heap + bytes of the listed records + GARBAGE; GARBAGE is at least the bytes of the
//!   garbage list (a record that reuses a longer one's place leaves slack).
//! - I5: the minimum flag is set on the first record of the leftmost page of each level above the leaves, nowhere
//!   else.
//!
//! # Crash
//! Each logged edit is one redo record for one page; a mini-transaction groups those that belong together.

pub mod edit;
pub mod header;
mod list;
pub mod logged;
mod search;
mod space;
mod stepped;
#[cfg(test)]
mod tests;
mod validate;

use crate::error::{Corruption, Result};

pub use edit::{Appender, FieldUpdate, SysFields, fits_in_place, has_room, sys_fields};
pub use list::{checked_slots, find_slot, first_rec, last_rec, next_rec, owner, prev_rec, records};
pub use search::{Found, SearchMode, search};
pub use space::{data_size, empty_page_space, max_insert_size, max_insert_size_after_reorganize};
pub use stepped::SteppedSearch;
pub use validate::{Stats, validate};
