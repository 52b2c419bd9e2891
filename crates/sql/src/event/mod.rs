//! Events: statements that are executed at times. What is kept of one, when it is to be executed next, and whether events are
//! executed at all.
//!
//! | part | file |
//! |---|---|
//! | an event as its object keeps it | this file |
//! | times and intervals | `schedule` |
//! | what the scheduler has before it | `queue` |
//! | switching it on and off, what it has to say | `control` |
//!
//! Statements about events are [`crate::program`]'s; the scheduler itself, which runs sessions, is [`crate::scheduler`].

pub(crate) mod control;
pub(crate) mod queue;
pub(crate) mod schedule;

use schedule::{Every, Schedule, unit_name, unit_named};
use vaquita_catalog::object::ObjectBody;
use vaquita_types::TimeZone;

/// Whether an event is executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    Enabled,
    Disabled,
    /// As `Disabled` here: it is the source's of a replication.
    SlavesideDisabled,
}

impl Status {
    /// As information_schema has it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Status::Enabled => "ENABLED",
            Status::Disabled => "DISABLED",
            Status::SlavesideDisabled => "SLAVESIDE_DISABLED",
        }
    }

    /// As statements have it.
    pub(crate) fn clause(self) -> &'static str {
        match self {
            Status::Enabled => "ENABLE",
            Status::Disabled => "DISABLE",
            Status::SlavesideDisabled => "DISABLE ON SLAVE",
        }
    }
}

/// What an event has besides what all objects have. Times are seconds since 1970.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EventState {
    pub(crate) schedule: Schedule,
    pub(crate) status: Status,
    /// It has begun its last execution, and goes when that ends. Should a crash keep it, the scheduler drops it when it begins.
    pub(crate) over: bool,
    /// It stays when it has been executed for the last time.
    pub(crate) preserve: bool,
    pub(crate) last_executed: Option<i64>,
    /// `time_zone` of the session that gave it its schedule.
    pub(crate) time_zone: String,
    /// `server_id` of the server it was made on.
    pub(crate) originator: u64,
}

mod property {
    pub(super) const AT: &str = "at";
    pub(super) const EVERY: &str = "every";
    pub(super) const UNIT: &str = "unit";
    pub(super) const STARTS: &str = "starts";
    pub(super) const ENDS: &str = "ends";
    pub(super) const STATUS: &str = "status";
    pub(super) const OVER: &str = "over";
    pub(super) const PRESERVE: &str = "preserve";
    pub(super) const LAST_EXECUTED: &str = "last executed";
    pub(super) const TIME_ZONE: &str = "time zone";
    pub(super) const ORIGINATOR: &str = "originator";
}

impl EventState {
    /// What an object's body says of it. What cannot be read, in a damaged folder, is as if it were not said: such an event is
    /// disabled.
    pub(crate) fn of(body: &ObjectBody) -> EventState {
        let number = |name: &str| body.get(name).parse::<i64>().ok();
        let every = || {
            let unit = unit_named(body.get(property::UNIT))?;
            let amount = u32::try_from(number(property::EVERY)?).ok().filter(|n| *n > 0)?;
            Some(Schedule::Every(Every {
                amount,
                unit,
                starts: number(property::STARTS)?,
                ends: number(property::ENDS),
            }))
        };
        let schedule = number(property::AT).map(Schedule::At).or_else(every);
        let status = match body.get(property::STATUS) {
            _ if schedule.is_none() => Status::Disabled,
            "ENABLED" => Status::Enabled,
            "SLAVESIDE_DISABLED" => Status::SlavesideDisabled,
            _ => Status::Disabled,
        };
        EventState {
            schedule: schedule.unwrap_or(Schedule::At(0)),
            status,
            over: body.get(property::OVER) == "1",
            preserve: body.get(property::PRESERVE) == "1",
            last_executed: number(property::LAST_EXECUTED),
            time_zone: body.get(property::TIME_ZONE).to_owned(),
            originator: body.get(property::ORIGINATOR).parse().unwrap_or(0),
        }
    }

    /// Puts it into a body.
    pub(crate) fn put(&self, body: &mut ObjectBody) {
        let mut set = |name: &str, value: Option<String>| body.set(name, value.unwrap_or_default());
        let (at, every) = match &self.schedule {
            Schedule::At(at) => (Some(*at), None),
            Schedule::Every(every) => (None, Some(every)),
        };
        set(property::AT, at.map(|at| at.to_string()));
        set(property::EVERY, every.map(|every| every.amount.to_string()));
        set(property::UNIT, every.map(|every| unit_name(every.unit).to_owned()));
        set(property::STARTS, every.map(|every| every.starts.to_string()));
        set(property::ENDS, every.and_then(|every| every.ends).map(|ends| ends.to_string()));
        set(property::STATUS, Some(self.status.name().to_owned()));
        set(property::OVER, self.over.then(|| "1".to_owned()));
        set(property::PRESERVE, Some(u8::from(self.preserve).to_string()));
        set(property::LAST_EXECUTED, self.last_executed.map(|at| at.to_string()));
        set(property::TIME_ZONE, Some(self.time_zone.clone()));
        set(property::ORIGINATOR, Some(self.originator.to_string()));
    }

    /// The zone that its times are shown in, and its months and days counted in.
    pub(crate) fn zone(&self) -> TimeZone {
        TimeZone::find(&self.time_zone).unwrap_or(TimeZone::UTC)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vaquita_types::temporal::interval::Unit;

    #[test]
    fn what_is_put_is_read() {
        let every = Every { amount: 62, unit: Unit::MinuteSecond, starts: 5, ends: Some(9) };
        for schedule in [Schedule::At(7), Schedule::Every(every)] {
            for status in [Status::Enabled, Status::Disabled, Status::SlavesideDisabled] {
                let state = EventState {
                    schedule: schedule.clone(),
                    status,
                    over: status == Status::Disabled,
                    preserve: status == Status::Enabled,
                    last_executed: (status == Status::Disabled).then_some(3),
                    time_zone: "+02:00".into(),
                    originator: 4_294_967_295,
                };
                let mut body = ObjectBody::default();
                state.put(&mut body);
                let mut body = ObjectBody::decode(&body.encode()).expect("the same bytes");
                assert_eq!(EventState::of(&body), state);
                body.set(property::AT, "x");
                body.set(property::EVERY, "0");
                assert_eq!(EventState::of(&body).status, Status::Disabled, "without a schedule it rests");
            }
        }
    }
}
