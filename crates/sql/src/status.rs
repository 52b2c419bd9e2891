//! Status counters.

/// The counters of a folder.
#[derive(Debug, Default)]
pub struct Status {}
