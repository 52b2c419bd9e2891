//! What the scheduler has before it: every event that is enabled, with the next time it is to be executed at.
//!
//! The times of an event are counted from when it was last made or altered, executed, or the folder was opened, whichever came
//! last: what fell into a time when nobody looked, because the scheduler was off, is made up for once; what fell into a time when
//! the folder was closed is not, but for events that are executed once.

use super::{EventState, Status};
use std::collections::HashMap;
use std::sync::Arc;
use vaquita_catalog::object::ObjectBody;
use vaquita_engine::{Object, ObjectKind, Objects};

/// An event that waits, by the number of its object.
#[derive(Debug)]
struct Waiting {
    object: Arc<Object>,
    /// `None`: there is no time any more.
    next: Option<i64>,
}

/// Events that wait.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    /// Events have been taken over before.
    looked: bool,
    waiting: HashMap<u64, Waiting>,
}

/// An event whose time has come, or that has none any more.
#[derive(Debug)]
pub(crate) struct Due {
    pub(crate) object: Arc<Object>,
    /// It is to be executed; otherwise its times are over.
    pub(crate) runs: bool,
}

/// What a body says, and when such an event is to be executed next: at `opened` or later, if the folder was opened then.
fn next_of(object: &Object, opened: i64) -> Option<(EventState, Option<i64>)> {
    let body = ObjectBody::of(object).ok()?;
    let state = EventState::of(&body);
    let modified = i64::try_from(body.modified).unwrap_or(i64::MAX);
    let next = state.schedule.next(&state.zone(), modified.max(opened), state.last_executed);
    Some((state, next))
}

impl Queue {
    /// Takes over the events as they are now.
    pub(crate) fn refresh(&mut self, objects: &Objects, opened: i64) {
        let mut known = std::mem::take(&mut self.waiting);
        for object in objects.all(ObjectKind::Event) {
            let there = known.remove(&object.id).map(|waiting| waiting.next);
            let next = match there {
                Some(next) => next,
                None => match next_of(object, opened) {
                    Some((state, next)) if state.status == Status::Enabled => next,
                    // Its last execution was ended by a crash, or is still at work for a scheduler before this one.
                    Some((state, _)) if state.over && !self.looked => None,
                    _ => continue,
                },
            };
            self.waiting.insert(object.id, Waiting { object: object.clone(), next });
        }
        self.looked = true;
    }

    /// Takes the events out whose time has come, the earliest first; and those that have none.
    pub(crate) fn due(&mut self, now: i64) -> Vec<Due> {
        let is_due = |next: Option<i64>| next.is_none_or(|at| at <= now);
        let mut due: Vec<Waiting> =
            self.waiting.extract_if(|_, waiting| is_due(waiting.next)).map(|(_, waiting)| waiting).collect();
        due.sort_by_key(|waiting| (waiting.next, waiting.object.id));
        due.into_iter().map(|w| Due { runs: w.next.is_some(), object: w.object }).collect()
    }

    /// Lets an event wait for a time.
    pub(crate) fn wait_for(&mut self, object: Arc<Object>, next: i64) {
        self.waiting.insert(object.id, Waiting { object, next: Some(next) });
    }

    /// The next time that something is to be done.
    pub(crate) fn next(&self) -> Option<i64> {
        self.waiting.values().map(|waiting| waiting.next.unwrap_or(0)).min()
    }
}
