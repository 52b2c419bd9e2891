//! What expressions need of the session.

use vaquita_engine::Session;
use vaquita_session::SessionState;
use vaquita_session::Shared;
use vaquita_types::temporal::DateContext;
use vaquita_types::{Cx, SqlMode, TimeZone};

/// What evaluation needs besides the row.
#[derive(Debug)]
pub struct EvalCx<'c> {
    /// The folder. `None` only while constants are calculated at compile time.
    pub db: Option<&'c Shared>,
    /// The session; warnings go there.
    pub state: &'c mut SessionState,
    /// To run subqueries. `None` while a row is looked at in place (its page is latched): expressions with subqueries
    /// are evaluated on copied rows only.
    pub engine: Option<&'c mut Session>,
}

impl<'c> EvalCx<'c> {
    /// For one execution of a statement.
    pub fn new(
        db: Option<&'c Shared>,
        state: &'c mut SessionState,
        engine: Option<&'c mut Session>,
    ) -> EvalCx<'c> {
        EvalCx { db, state, engine }
    }

    /// For conversions of expressions: zero dates are let through.
    #[inline]
    pub fn convert(&mut self) -> Cx<'_> {
        let date = self.date_context().relaxed();
        Cx { date, time_zone: &self.state.vars.time_zone, warnings: &mut self.state.warnings }
    }

    /// For conversions of text: `0000-00-00` is refused where `sql_mode` does, zero months and days are let through.
    pub(super) fn convert_text(&mut self) -> Cx<'_> {
        let mut date = self.date_context();
        date.mode = date.mode.without(SqlMode::NO_ZERO_IN_DATE);
        Cx { date, time_zone: &self.state.vars.time_zone, warnings: &mut self.state.warnings }
    }

    /// For conversions that refuse zero dates where `sql_mode` does.
    pub fn convert_strictly(&mut self) -> Cx<'_> {
        let date = self.date_context();
        Cx { date, time_zone: &self.state.vars.time_zone, warnings: &mut self.state.warnings }
    }

    fn date_context(&self) -> DateContext {
        self.state.date_context()
    }

    /// Adds a warning.
    pub(super) fn warn(&mut self, code: u16, message: impl Into<std::borrow::Cow<'static, str>>) {
        self.state.warnings.warn(code, message);
    }
}

/// The session's time zone.
pub(super) fn time_zone(state: &SessionState) -> &TimeZone {
    &state.vars.time_zone
}

/// The session's `sql_mode`.
pub(super) fn sql_mode(state: &SessionState) -> SqlMode {
    state.vars.sql_mode
}

/// `collation_connection`.
pub(super) fn collation_connection(state: &SessionState) -> u16 {
    state.vars.collation_connection
}

/// `div_precision_increment`.
pub(super) fn div_precision_increment(state: &SessionState) -> u8 {
    state.vars.div_precision_increment
}

/// `group_concat_max_len`, bytes; no more than a packet.
pub(super) fn group_concat_max_len(state: &SessionState) -> usize {
    state.vars.group_concat_max_len.min(state.vars.max_allowed_packet) as usize
}

/// `max_allowed_packet`, bytes: the longest result of a string function.
pub(super) fn max_allowed_packet(state: &SessionState) -> usize {
    state.vars.max_allowed_packet as usize
}

/// `default_week_format`.
pub(super) fn default_week_format(state: &SessionState) -> u8 {
    state.vars.default_week_format as u8
}
