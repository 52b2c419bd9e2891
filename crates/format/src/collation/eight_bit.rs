//! Orders of 8-bit collations that follow from no rule: weights are ranks. Recorded from a MySQL 5.6.24; `gen/tables.py` makes
//! the tables of `gen/eight-bit-orders.tsv`.

use std::sync::OnceLock;

use crate::packed::section;

/// Weights of the collation with this number.
pub(super) fn weights(id: u16) -> Option<&'static [u8; 256]> {
    static ALL: OnceLock<Vec<(u16, [u8; 256])>> = OnceLock::new();
    let all = ALL.get_or_init(|| {
        let mut from = section("collation.8bit");
        (0..from.u8()).map(|_| (from.u8().into(), std::array::from_fn(|_| from.u8()))).collect()
    });
    all.iter().find(|(number, _)| *number == id).map(|(_, weights)| weights)
}
