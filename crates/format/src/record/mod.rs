//! Records of index pages: headers, field offsets, encoding, comparison, external references.
//!
//! A record is named by its origin: the page offset of its first data byte. What belongs to its header lies below,
//! growing downwards.
//!
//! | COMPACT, DYNAMIC, COMPRESSED, below the origin r | REDUNDANT |
//! |---|---|
//! | r-5..r-1 header ([`header`]) | r-6..r-1 header |
//! | null bitmap, one bit per nullable field of the index, first field in bit 0 of r-6 | end offset of every field, first field highest, one byte or two |
//! | one length per variable field that is not NULL, first field highest, one byte or two | |
//!
//! An external field ends with 20 bytes that say where its rest is ([`ExternRef`]). Where a field begins depends on
//! all lengths before it, except for the leading fixed NOT NULL fields of an index ([`RecLayout::n_const`]).

pub mod compare;
pub mod encode;
mod extern_ref;
pub mod header;
mod key_start;
pub mod off_page;
pub mod offsets;
#[cfg(test)]
mod tests;

pub use crate::record_layout::{self as layout, FieldLayout, RecLayout};
pub use compare::{compare, compare_fields};
pub use encode::{encode, encode_sized, encoded_size};
pub use extern_ref::{EXTERN_REF_LEN, ExternRef};
pub use key_start::KeyStart;
pub use off_page::{RowTooBig, off_page_fields};
pub use offsets::{CHILD_LEN, Offsets, RecSize, check_version, fields_of_record};
