//! The order in which transactions begin and commit, and the numbers of read views: plain numbers, no transactions.

pub(crate) mod limits;
pub(crate) mod line;
#[cfg(test)]
mod model;
pub(crate) mod order;
pub(crate) mod seq_map;
mod sync;
