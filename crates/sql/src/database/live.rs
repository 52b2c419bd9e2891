//! Global variables that reach the running engine.

use super::Database;
use crate::vars::{VarId, VarValue};

/// Tells the engine of a variable that has a new value, if it can take it while it runs.
pub(super) fn apply(_db: &Database, _var: VarId, _value: &VarValue) {}
