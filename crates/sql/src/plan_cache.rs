//! Plans by statement text.

/// The cache; shared by all sessions of a folder.
#[derive(Debug, Default)]
pub struct PlanCache {}
