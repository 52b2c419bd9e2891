//! The tables of the three versions, expanded when a collation that goes by them is first used.
//!
//! Made from Unicode's data files (Copyright (c) 1991-2017 Unicode, Inc., under `gen/LICENSE-UNICODE`) by `gen/unicode.py`,
//! which says what the sections hold.

use std::sync::OnceLock;

use super::{Contraction, Table};
use crate::packed::{Reader, section};

/// Of Unicode 4.0.0.
pub(super) fn v400() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| read("uca.400"))
}

/// Of Unicode 5.2.0.
pub(super) fn v520() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| read("uca.520"))
}

/// Of Unicode 9.0.0.
pub(super) fn v900() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| read("uca.900"))
}

fn read(name: &str) -> Table {
    let mut from = section(name);
    let ascii = Box::new(std::array::from_fn(|_| from.u16()));
    let page_of = (0..from.u16()).map(|_| from.u8()).collect();
    let pages = (0..from.u8()).map(|_| std::array::from_fn(|_| from.u16())).collect();
    let pool = (0..from.u16()).map(|_| from.u16()).collect();
    let contraction =
        |from: &mut Reader| Contraction { chars: std::array::from_fn(|_| from.u24()), place: from.u16() };
    let contractions = (0..from.u16()).map(|_| contraction(&mut from)).collect();
    Table { ascii, page_of, pages, pool, contractions }
}
