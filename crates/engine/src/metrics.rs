//! Counters, under the names of `information_schema.INNODB_METRICS` where InnoDB has the same.

/// Counters of an engine.
#[derive(Debug, Default)]
pub struct Metrics {}
