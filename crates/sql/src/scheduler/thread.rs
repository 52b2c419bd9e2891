//! The thread around the scheduler's steps, and those of executions.

use super::{Execution, Scheduler, Step};
use crate::database::Database;
use crate::event::control::Signal;
use std::io;
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use vaquita_session::process::Process;
use vaquita_session::state::Interrupt;
use vaquita_session::vars::{VarValue, id};
use vaquita_types::{Level, SqlError};

/// Stack of an execution: as of threads that serve clients.
const STACK: usize = 8 << 20;
/// Executions at a time.
const RUNNING_MAX: usize = 512;
/// The longest rest: clocks are set, too.
const REST_MAX: Duration = Duration::from_secs(30);
/// How long after a failure.
const REST_AFTER_FAILURE: Duration = Duration::from_secs(1);
/// Who the scheduler is in the list of sessions.
pub(crate) const NAME: &str = "event_scheduler";

/// Starts the scheduler of a folder.
///
/// # Errors
/// The system gives no thread.
pub(crate) fn start(db: Weak<Database>, signal: Arc<Signal>) -> io::Result<JoinHandle<()>> {
    let name = "vaquita-events".to_owned();
    std::thread::Builder::new().name(name).spawn(move || serve(&db, &signal))
}

/// Microseconds since 1970.
fn now_us() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| i64::try_from(now.as_micros()).unwrap_or(i64::MAX))
}

fn serve(folder: &Weak<Database>, signal: &Arc<Signal>) {
    let Some(db) = folder.upgrade() else { return };
    let interrupt = Arc::<Interrupt>::default();
    let number = db.processes.reserve_id();
    let process = db.processes.enter_background(number, NAME, "localhost", interrupt.clone());
    let (woken, killed) = (signal.clone(), process.clone());
    *process.kill_hook.lock() = Some(Arc::new(move || woken.wake()));
    signal.set_interrupter(Some(Box::new(move || killed.interrupt_waits())));
    db.events.say(Level::Note, &format!("Event Scheduler: scheduler thread started with id {number}"));
    drop(db);
    let mut looks = Looks::default();
    let mut rest = Duration::ZERO;
    while !signal.rest(rest) && !interrupt.ends_connection() {
        // Whoever drops the folder ends this thread.
        let Some(db) = folder.upgrade() else { break };
        process.set_daemon("executing", Instant::now());
        rest = looks.look(&db, &process, signal);
    }
    signal.set_interrupter(None);
    let Some(db) = folder.upgrade() else { return };
    if interrupt.ends_connection() && !signal.is_to_end() {
        db.globals.put(id::EVENT_SCHEDULER, VarValue::UInt(0));
    }
    db.processes.leave(number);
    db.events.say(Level::Note, "Event Scheduler: Stopped");
}

/// The scheduler between its steps.
#[derive(Default)]
struct Looks {
    scheduler: Scheduler,
    /// What went wrong the last time: it is said once.
    failure: Option<SqlError>,
}

impl Looks {
    /// One step; how long to rest then.
    fn look(&mut self, db: &Arc<Database>, process: &Process, signal: &Signal) -> Duration {
        let now = now_us();
        let mut session = db.engine.session();
        *process.waits.lock() = Some(session.handle());
        // It may have been asked to end before there was something to interrupt.
        let step = match signal.is_to_end() {
            true => return Duration::ZERO,
            false => self.scheduler.step_in(db, &mut session, now.div_euclid(1_000_000)),
        };
        *process.waits.lock() = None;
        match step {
            Ok(Step { due, next }) => {
                self.failure = None;
                due.into_iter().for_each(|execution| begin(db, execution));
                let state =
                    if next.is_some() { "Waiting for next activation" } else { "Waiting on empty queue" };
                process.set_daemon(state, Instant::now());
                next.map_or(REST_MAX, |next| {
                    let wait = next.saturating_mul(1_000_000).saturating_sub(now_us());
                    Duration::from_micros(wait.max(0).unsigned_abs()).min(REST_MAX)
                })
            }
            Err(_) if signal.is_to_end() => Duration::ZERO,
            Err(e) => {
                if self.failure.as_ref() != Some(&e) {
                    db.events.say(Level::Error, &format!("Event Scheduler: {}", e.message));
                }
                self.failure = Some(e);
                process.set_daemon("Waiting for next activation", Instant::now());
                REST_AFTER_FAILURE
            }
        }
    }
}

/// Lets an execution run in a thread of its own. Its session is there before the thread is: whoever closes the folder finds it.
fn begin(db: &Arc<Database>, execution: Execution) {
    if db.processes.in_background() > RUNNING_MAX {
        let text = format!(
            "Event Scheduler: {}more than {RUNNING_MAX} events are being executed: it is left out this time",
            execution.who()
        );
        return db.events.say(Level::Error, &text);
    }
    let connection = match execution.session(db) {
        Ok(connection) => connection,
        Err(e) => return execution.tell_failure(db, &e),
    };
    let name = execution.name();
    let thread = std::thread::Builder::new().name("vaquita-event".to_owned()).stack_size(STACK);
    if let Err(e) = thread.spawn(move || execution.run_in(connection)) {
        db.events.say(Level::Error, &format!("Event Scheduler: [{name}] there is no thread for it: {e}"));
    }
}
