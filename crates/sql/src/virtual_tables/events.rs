//! Events.

use super::making::{Making, text, text_or_null};
use crate::event::EventState;
use crate::event::schedule::{Schedule, unit_name};
use vaquita_catalog::object::ObjectBody;
use vaquita_engine::ObjectKind;
use vaquita_session::privilege::Priv;
use vaquita_session::vars::{self, VarValue, id};
use vaquita_types::temporal::calendar::from_unix;
use vaquita_types::{SqlResult, TimeZone, Value};

/// A moment in a time zone.
fn local(at: Option<i64>, zone: &TimeZone) -> Value<'static> {
    let local = at.and_then(|at| from_unix(zone.to_local(at), 0));
    local.map_or(Value::Null, Value::DateTime)
}

/// EVENTS: those of databases where the session has the privilege EVENT. Times of the schedule are in the event's time zone,
/// others in the session's.
pub(super) fn events(m: &mut Making<'_, '_>) -> SqlResult<()> {
    let objects = m.db.engine.core().objects();
    if objects.all(ObjectKind::Event).next().is_none() {
        return Ok(());
    }
    for (database, file_name) in m.databases(1)? {
        let privileges = &m.state().privileges;
        if !(privileges.global | privileges.in_database(&database)).has(Priv::EVENT) {
            continue;
        }
        for object in objects.list(ObjectKind::Event, &file_name) {
            let body = ObjectBody::of(object)?;
            let state = EventState::of(&body);
            let zone = state.zone();
            let (at, every) = match &state.schedule {
                Schedule::At(at) => (Some(*at), None),
                Schedule::Every(every) => (None, Some(every)),
            };
            let (created, modified) = (m.local(body.created as i64), m.local(body.modified as i64));
            let last_executed = state.last_executed.map_or(Value::Null, |at| m.local(at));
            m.push(vec![
                text("def"),
                text(&database),
                text(&*object.name),
                text(format!("{}@{}", body.definer.0, body.definer.1)),
                text(&*state.time_zone),
                text("SQL"),
                text(&body.text),
                text(if every.is_some() { "RECURRING" } else { "ONE TIME" }),
                local(at, &zone),
                text_or_null(every.map(|every| every.shown())),
                text_or_null(every.map(|every| unit_name(every.unit))),
                text(VarValue::UInt(body.sql_mode).show(id::SQL_MODE.def().kind)),
                local(every.map(|every| every.starts), &zone),
                local(every.and_then(|every| every.ends), &zone),
                text(state.status.name()),
                text(if state.preserve { "PRESERVE" } else { "NOT PRESERVE" }),
                created,
                modified,
                last_executed,
                text(&body.comment),
                Value::UInt(state.originator),
                text(vars::charset_name(body.client_collation)),
                text(vars::collation_name(body.connection_collation)),
                text(vars::collation_name(body.database_collation)),
            ]);
        }
    }
    Ok(())
}
