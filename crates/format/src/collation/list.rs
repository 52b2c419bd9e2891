//! Collations of MySQL 5.6 and the one of Unicode 9.0, as SHOW COLLATION lists them.

use super::{Collation, is_primary, names};
use crate::charset::Charset;

/// A line of SHOW COLLATION.
#[derive(Debug, Clone, Copy)]
pub struct Listed {
    /// Number.
    pub id: u16,
    /// Name.
    pub name: &'static str,
    /// Name of its character set.
    pub charset: &'static str,
    /// The default collation of its character set.
    pub is_default: bool,
    /// Memory a sort key takes for each byte of text, as MySQL states it.
    pub sort_len: u8,
    /// Whether texts can be ordered by it here. Of the others only the name is known.
    pub implemented: bool,
}

/// Every collation, by number.
pub fn collations() -> impl Iterator<Item = Listed> {
    names::NAMES.iter().map(|&(id, name)| Listed {
        id,
        name,
        charset: Charset::of_collation(id).unwrap_or(Charset::BINARY).name,
        is_default: is_primary(id),
        sort_len: sort_len(id),
        implemented: Collation::of(id).is_some(),
    })
}

fn sort_len(id: u16) -> u8 {
    match id {
        31 | 34 => 2,
        2 | 18 => 4,
        101..=124 | 128..=151 | 160..=183 | 192..=215 | 224..=247 => 8,
        255 => 0,
        _ => 1,
    }
}
