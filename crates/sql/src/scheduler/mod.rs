//! The event scheduler: executes events when their time has come.
//!
//! [`Scheduler::step`] is told what time it is, and gives what is to be executed now. That an event has been executed is
//! committed before its body begins, so that no crash lets it be executed twice for one time; whoever steps runs the executions,
//! at once or in threads of their own (`thread`).

mod thread;

pub(crate) use thread::start;

use crate::connection::Connection;
use crate::database::Database;
use crate::event::queue::{Due, Queue};
use crate::event::{EventState, Status};
use std::sync::Arc;
use vaquita_catalog::error;
use vaquita_catalog::object::ObjectBody;
use vaquita_engine::{Object, Session};
use vaquita_types::{Level, SqlError, SqlResult};

/// The events of a folder that wait for their times.
#[derive(Debug, Default)]
pub struct Scheduler {
    queue: Queue,
}

/// What a step found.
#[derive(Debug, Default)]
pub struct Step {
    /// What is to be executed now.
    pub due: Vec<Execution>,
    /// When there will be something to do, in seconds since 1970, unless events change.
    pub next: Option<i64>,
}

/// An execution of an event that is to begin: nobody else will execute it for this time.
#[derive(Debug)]
pub struct Execution {
    object: Arc<Object>,
    database: String,
    body: ObjectBody,
    time_zone: String,
    /// It is dropped afterwards.
    drops: bool,
}

impl Scheduler {
    /// Of no folder in particular, with nothing before it.
    pub fn new() -> Scheduler {
        Scheduler::default()
    }

    /// Looks what is due at `now`, in seconds since 1970.
    ///
    /// # Errors
    /// It could not be noted that events are executed now: they are executed by a later step.
    pub fn step(&mut self, db: &Database, now: i64) -> SqlResult<Step> {
        self.step_in(db, &mut db.engine.session(), now)
    }

    /// The same in a session of the engine.
    fn step_in(&mut self, db: &Database, session: &mut Session, now: i64) -> SqlResult<Step> {
        let opened = i64::try_from(db.opened_at).unwrap_or(i64::MAX);
        self.queue.refresh(&session.objects(), opened);
        let mut step = Step::default();
        let mut failed = None;
        for due in self.queue.due(now) {
            let object = due.object.clone();
            // What fails is tried again by the next step.
            match failed.is_none().then(|| self.begin(db, session, &due, now)) {
                Some(Ok(execution)) => step.due.extend(execution),
                Some(Err(e)) => {
                    failed = Some(e);
                    self.queue.wait_for(object, now);
                }
                None => self.queue.wait_for(object, now),
            }
        }
        step.next = self.queue.next();
        match failed {
            Some(e) if step.due.is_empty() => Err(e),
            Some(e) => {
                db.events.say(Level::Error, &format!("Event Scheduler: {}", e.message));
                Ok(step)
            }
            None => Ok(step),
        }
    }

    /// Notes that an event is executed, or that its times are over.
    fn begin(
        &mut self,
        db: &Database,
        session: &mut Session,
        due: &Due,
        now: i64,
    ) -> SqlResult<Option<Execution>> {
        let mut body = ObjectBody::of(&due.object)?;
        let mut state = EventState::of(&body);
        let name = shown_name(&due.object);
        if due.runs {
            state.last_executed = Some(now);
        }
        let next = match due.runs {
            true => state.schedule.next(&state.zone(), now, state.last_executed),
            false => None,
        };
        if next.is_none() {
            state.status = Status::Disabled;
        }
        // One without an end has only come to the end of time.
        let drops = next.is_none() && !state.preserve && state.schedule.has_end();
        if !due.runs && drops {
            if error::of_engine(session.drop_this_object(&due.object))? {
                db.events.say(Level::Note, &format!("Event Scheduler: Dropping {name}"));
            }
            return Ok(None);
        }
        state.over = drops;
        state.put(&mut body);
        let object = Object { body: body.encode(), ..Object::clone(&due.object) };
        // Somebody may have altered or dropped it meanwhile: then it is another one.
        if !error::of_engine(session.update_object(&object))? || !due.runs {
            return Ok(None);
        }
        let object = Arc::new(object);
        match next {
            Some(next) => self.queue.wait_for(object.clone(), next),
            None => {
                let drops = if drops { "Dropping." } else { "" };
                db.events.say(Level::Note, &format!("Event Scheduler: Last execution of {name}. {drops}"));
            }
        }
        let (database, _) = vaquita_catalog::sql_name(&format!("{}/", due.object.database));
        Ok(Some(Execution { object, database, body, time_zone: state.time_zone, drops }))
    }
}

/// `database.event`.
fn shown_name(object: &Object) -> String {
    let (database, _) = vaquita_catalog::sql_name(&format!("{}/", object.database));
    format!("{database}.{}", object.name)
}

impl Execution {
    /// Executes the event in a session of its own, and drops it if that was the last time.
    pub fn run(self, db: &Arc<Database>) {
        match self.session(db) {
            Ok(connection) => self.run_in(connection),
            Err(e) => self.tell_failure(db, &e),
        }
    }

    /// Database and name, for messages.
    pub fn name(&self) -> String {
        shown_name(&self.object)
    }

    /// The session that it runs in.
    ///
    /// # Errors
    /// 1449 there is no such definer.
    fn session(&self, db: &Arc<Database>) -> SqlResult<Connection> {
        let (user, host) = &self.body.definer;
        if !db.accounts().has_account(user, host) {
            let text = format!(
                "Event Scheduler: [{user}@{host}].[{}] execution failed, failed to authenticate the user.",
                self.name()
            );
            db.events.say(Level::Error, &text);
            let text = format!("The user specified as a definer ('{user}'@'{host}') does not exist");
            return Err(SqlError::new(1449, text));
        }
        Connection::of_event(db.clone(), (user, host), &self.time_zone)
    }

    fn run_in(self, mut connection: Connection) {
        let db = connection.database().clone();
        let done = connection.run_event(&self.object, &self.database, &self.body.text);
        let who = self.who();
        for condition in connection.conditions() {
            let text = String::from_utf8_lossy(condition.message.as_bytes()).into_owned();
            db.events.say(condition.level, &format!("Event Scheduler: {who}{text}"));
        }
        if self.drops {
            self.drop_event(&db, &mut connection);
        }
        if done.is_err() {
            self.tell_failed(&db);
        }
    }

    /// `[definer][database.event] `, as the error log has it.
    fn who(&self) -> String {
        let (user, host) = &self.body.definer;
        format!("[{user}@{host}][{}] ", self.name())
    }

    fn tell_failure(&self, db: &Database, e: &SqlError) {
        db.events.say(Level::Error, &format!("Event Scheduler: {}{}", self.who(), e.message));
        self.tell_failed(db);
    }

    fn tell_failed(&self, db: &Database) {
        let (user, host) = &self.body.definer;
        let text = format!("Event Scheduler: [{user}@{host}].[{}] event execution failed.", self.name());
        db.events.say(Level::Note, &text);
    }

    fn drop_event(&self, db: &Database, connection: &mut Connection) {
        // The execution may have been killed; that the event goes is no part of it.
        connection.engine().clear_interrupt();
        match error::of_engine(connection.engine().drop_this_object(&self.object)) {
            Ok(true) => db.events.say(Level::Note, &format!("Event Scheduler: Dropping {}", self.name())),
            // Somebody was faster, or has altered it.
            Ok(false) => {}
            Err(e) => db.events.say(Level::Error, &format!("Event Scheduler: {}{}", self.who(), e.message)),
        }
    }
}
