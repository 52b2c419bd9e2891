//! What code gets that runs for a session.

use crate::shared::Shared;
use crate::state::SessionState;
use std::borrow::Cow;
use vaquita_engine::Session;
use vaquita_types::{Cx, SqlMode};

/// The three things that statements work with. What else one needs while it is compiled, planned or run stands beside it.
///
/// `D` is how the folder is seen, `E` the engine's session: [`EvalCx`] may lack them.
#[derive(Debug)]
pub struct SessionCx<'c, D = &'c Shared, E = &'c mut Session> {
    /// The folder.
    pub db: D,
    /// The engine's session. Its statement is started and ended by the caller: use [`Session::statement`].
    pub engine: E,
    /// What the session remembers; warnings go there.
    pub state: &'c mut SessionState,
}

/// For expressions and rows that are read. There is no folder while constants are calculated, and no engine's session while a
/// row is looked at in place (its page is latched): expressions with subqueries are evaluated on copied rows only.
pub type EvalCx<'c> = SessionCx<'c, Option<&'c Shared>, Option<&'c mut Session>>;

impl<'c> EvalCx<'c> {
    /// Of what may be lacking.
    pub fn new(
        db: Option<&'c Shared>,
        state: &'c mut SessionState,
        engine: Option<&'c mut Session>,
    ) -> EvalCx<'c> {
        SessionCx { db, engine, state }
    }
}

impl<D: AsRef<Shared>> SessionCx<'_, D> {
    /// The same for what knows of a folder what all sessions share.
    pub fn run(&mut self) -> SessionCx<'_> {
        SessionCx { db: self.db.as_ref(), engine: &mut *self.engine, state: &mut *self.state }
    }

    /// The same for expressions and rows that are read.
    pub fn eval(&mut self) -> EvalCx<'_> {
        EvalCx::new(Some(self.db.as_ref()), &mut *self.state, Some(&mut *self.engine))
    }
}

impl<D, E> SessionCx<'_, D, E> {
    /// For conversions of expressions: zero dates are let through.
    #[inline]
    pub fn convert(&mut self) -> Cx<'_> {
        let date = self.state.date_context().relaxed();
        Cx { date, time_zone: &self.state.vars.time_zone, warnings: &mut self.state.warnings }
    }

    /// For conversions of text: `0000-00-00` is refused where `sql_mode` does, zero months and days are let through.
    pub fn convert_text(&mut self) -> Cx<'_> {
        let mut date = self.state.date_context();
        date.mode = date.mode.without(SqlMode::NO_ZERO_IN_DATE);
        Cx { date, time_zone: &self.state.vars.time_zone, warnings: &mut self.state.warnings }
    }

    /// For conversions that refuse zero dates where `sql_mode` does.
    pub fn convert_strictly(&mut self) -> Cx<'_> {
        let date = self.state.date_context();
        Cx { date, time_zone: &self.state.vars.time_zone, warnings: &mut self.state.warnings }
    }

    /// Adds a warning.
    pub fn warn(&mut self, code: u16, message: impl Into<Cow<'static, str>>) {
        self.state.warnings.warn(code, message);
    }
}
