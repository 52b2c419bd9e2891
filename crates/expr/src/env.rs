//! Session variables that expressions look at.

use vaquita_session::SessionState;
use vaquita_types::{SqlMode, TimeZone};

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
