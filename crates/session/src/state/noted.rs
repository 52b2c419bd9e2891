//! What is noted while a statement is planned: for whom, besides what its key in the cache says, the plan is good.

use super::UserVars;
use std::sync::Arc;
use vaquita_types::SqlType;

/// A user variable that a plan reads, and the type it had; `None`: it was not set.
type Read = (Box<[u8]>, Option<SqlType>);

/// Collected while a statement is planned.
#[derive(Debug, Default)]
pub struct Noted {
    for_once: bool,
    user_vars: Vec<Read>,
    /// It calls stored functions or fires triggers: its tables are not theirs to change.
    pub calls_programs: bool,
}

/// For which sessions a plan is good.
#[derive(Debug, Clone, Default)]
pub struct Conditions(Option<Arc<[Read]>>);

impl Noted {
    /// The plan follows from values of this execution.
    pub fn for_once(&mut self) {
        self.for_once = true;
    }

    /// The plan has the type of a user variable in it. The first time counts: planning an assignment gives a variable its
    /// type.
    pub fn user_var(&mut self, name: &[u8], vars: &UserVars) {
        if !self.user_vars.iter().any(|(noted, _)| noted.eq_ignore_ascii_case(name)) {
            self.user_vars.push((name.into(), vars.get(name).map(|var| var.ty.clone())));
        }
    }

    /// When the plan is good again; `None`: never.
    pub fn conditions(self) -> Option<Conditions> {
        if self.for_once {
            return None;
        }
        Some(Conditions((!self.user_vars.is_empty()).then(|| self.user_vars.into())))
    }
}

impl Conditions {
    /// Whether the plan is good for a session with these variables.
    #[inline]
    pub fn hold(&self, vars: &UserVars) -> bool {
        match &self.0 {
            None => true,
            Some(read) => read.iter().all(|(name, ty)| vars.get(name).map(|var| &var.ty) == ty.as_ref()),
        }
    }
}
