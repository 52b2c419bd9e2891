//! SHOW STATUS, and the counters of INNODB_METRICS.

mod list;
pub(crate) mod monitors;

pub(crate) use list::list;
