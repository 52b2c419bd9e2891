//! Records: headers, field offsets, encoding.

pub mod layout;

pub use layout::{FieldLayout, RecLayout};
