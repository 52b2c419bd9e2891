//! System variables: names, ranges, defaults, scopes, what they are wired to.

/// Global values.
#[derive(Debug, Default)]
pub struct Globals {}

/// Session values, read by many statements: plain fields where speed matters.
#[derive(Debug, Clone, Default)]
pub struct SessionVars {}
