//! Who is connected, what they do; KILL, named locks.

mod locks;

pub use locks::NamedLocks;

use crate::state::Interrupt;
use parking_lot::{Condvar, Mutex, RwLock};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use vaquita_engine::{SessionHandle, SessionWait, Sight, Stage};

/// The connected sessions of a folder.
#[derive(Debug, Default)]
pub struct Processes {
    last_id: AtomicU32,
    sessions: RwLock<BTreeMap<u32, Arc<Process>>>,
    locks: NamedLocks,
    naps: Naps,
}

/// Where SLEEP sleeps.
#[derive(Debug, Default)]
struct Naps {
    mutex: Mutex<()>,
    changed: Condvar,
}

impl Naps {
    fn wake(&self) {
        drop(self.mutex.lock());
        self.changed.notify_all();
    }
}

/// A connected session, as others see it.
pub struct Process {
    /// Number of the connection.
    pub id: u32,
    /// When it connected.
    pub since: Instant,
    /// Nobody's connection: the event scheduler, or an event that is executed.
    pub is_background: bool,
    /// How its statements and the connection are ended.
    pub interrupt: Arc<Interrupt>,
    /// Ends its waits in the engine.
    pub waits: Mutex<Option<SessionHandle>>,
    /// Told of a KILL, besides: a door that waits for the client.
    pub kill_hook: Mutex<Option<Arc<dyn Fn() + Send + Sync>>>,
    /// The present statement, or the last one if it is idle.
    doing: Mutex<Doing>,
    /// User and host of its account.
    account: Mutex<(String, String)>,
    is_idle: AtomicBool,
    /// `unique_checks`, `foreign_key_checks`.
    checks: [AtomicBool; 2],
    /// When that changed, in microseconds since it connected.
    changed_us: AtomicU64,
}

impl std::fmt::Debug for Process {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Process").field("id", &self.id).finish_non_exhaustive()
    }
}

/// What a session does.
#[derive(Debug, Clone)]
pub struct Doing {
    /// User as given.
    pub user: String,
    /// Where the client is: `localhost`, `address:port`.
    pub host: String,
    /// Current database.
    pub database: String,
    /// Sleep, Query, Execute, Prepare …
    pub command: &'static str,
    /// Since when.
    pub since: Instant,
    /// State of the statement.
    pub state: &'static str,
    /// The statement's text, the first kilobytes of it; empty: none.
    pub text: Vec<u8>,
}

/// A stage as MySQL 5.7 calls it, where that has it; but what it does is done by the kinds of changes that are here.
pub fn stage_name(stage: Stage) -> Option<&'static str> {
    Some(match stage {
        Stage::Idle => return None,
        Stage::Scan => "alter table (read PK and internal sort)",
        Stage::References => "alter table (check foreign keys)",
        Stage::Copy => "copy to tmp table",
        Stage::File => "Reading file",
        Stage::Check => "Checking table",
        Stage::Sort => "alter table (merge sort)",
        Stage::Load => "alter table (insert)",
        Stage::Flush => "alter table (flush)",
        Stage::LogIndex => "alter table (log apply index)",
        Stage::LogTable => "alter table (log apply table)",
        Stage::Commit => "alter table (end)",
    })
}

/// What the engine knows of what a session does: what it waits for, or how far its change of a definition is.
fn state_of(engine: &SessionHandle) -> Option<&'static str> {
    if let Some(wait) = engine.sleeps_for() {
        return Some(match wait {
            SessionWait::MetadataLock => "Waiting for table metadata lock",
            SessionWait::ReadLock => "Waiting for global read lock",
            SessionWait::CommitLock => "Waiting for commit lock",
        });
    }
    match engine.progress().stage() {
        Stage::Commit => Some("committing alter table to storage engine"),
        stage => stage_name(stage),
    }
}

/// Bytes of a statement that others can see.
const TEXT_MAX: usize = 4_096;

impl Process {
    /// A statement begins.
    pub fn begin(&self, command: &'static str, text: &[u8], now: Instant) {
        let mut doing = self.doing.lock();
        doing.command = command;
        doing.state = "executing";
        doing.text.clear();
        doing.text.extend_from_slice(&text[..text.len().min(TEXT_MAX)]);
        self.works(now);
    }

    /// It is over, so many microseconds after it began.
    pub fn idle(&self, micros: u64) {
        // Only the session itself changes it.
        self.changed_us.store(self.changed_us.load(Ordering::Relaxed) + micros, Ordering::Relaxed);
        self.is_idle.store(true, Ordering::Release);
    }

    fn works(&self, now: Instant) {
        let since = now.duration_since(self.since).as_micros() as u64;
        self.changed_us.store(since, Ordering::Relaxed);
        self.is_idle.store(false, Ordering::Release);
    }

    /// What a thread does that serves no client.
    pub fn set_daemon(&self, state: &'static str, now: Instant) {
        let mut doing = self.doing.lock();
        (doing.command, doing.state) = ("Daemon", state);
        self.works(now);
    }

    /// Ends what it waits for in the engine.
    pub fn interrupt_waits(&self) {
        if let Some(waits) = &*self.waits.lock() {
            waits.interrupt();
        }
    }

    /// The current database is another one.
    pub fn set_database(&self, database: &str) {
        self.doing.lock().database = database.to_owned();
    }

    /// It is another user's now.
    pub fn set_user(&self, user: &str, host: &str) {
        let mut doing = self.doing.lock();
        doing.user = user.to_owned();
        doing.host = host.to_owned();
    }

    /// Whose privileges it has.
    pub fn set_account(&self, user: &str, host: &str) {
        *self.account.lock() = (user.to_owned(), host.to_owned());
    }

    /// User and host of its account.
    pub fn account(&self) -> (String, String) {
        self.account.lock().clone()
    }

    /// What it checks: `unique_checks`, `foreign_key_checks`.
    pub fn set_checks(&self, unique: bool, foreign: bool) {
        self.checks[0].store(unique, Ordering::Relaxed);
        self.checks[1].store(foreign, Ordering::Relaxed);
    }

    /// `unique_checks`, `foreign_key_checks` of the session.
    pub fn checks(&self) -> [bool; 2] {
        [0, 1].map(|which: usize| self.checks[which].load(Ordering::Relaxed))
    }

    /// What it does.
    pub fn doing(&self) -> Doing {
        let mut doing = self.doing.lock().clone();
        if self.is_idle() {
            doing.command = "Sleep";
            doing.state = "";
            doing.text.clear();
        } else if let Some(state) = self.waits.lock().as_ref().and_then(state_of) {
            doing.state = state;
        }
        doing.since = self.since + Duration::from_micros(self.changed_us.load(Ordering::Relaxed));
        doing
    }

    /// How far its statement is, if that tells.
    pub fn sight(&self) -> Option<Sight> {
        self.waits.lock().as_ref().and_then(|engine| engine.progress().sight())
    }

    fn is_idle(&self) -> bool {
        self.is_idle.load(Ordering::Acquire)
    }

    fn end(&self, connection: bool) {
        self.interrupt.set(connection);
        self.interrupt_waits();
        if connection {
            let hook = self.kill_hook.lock().clone();
            if let Some(hook) = hook {
                hook();
            }
        }
    }
}

impl Processes {
    /// A number for a connection to come, never given twice.
    pub fn reserve_id(&self) -> u32 {
        self.last_id.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// A session begins.
    pub fn enter(&self, id: u32, user: &str, host: &str, interrupt: Arc<Interrupt>) -> Arc<Process> {
        self.begin(id, user, host, interrupt, false)
    }

    /// A session begins that is no client's: it takes no connection away from one.
    pub fn enter_background(
        &self,
        id: u32,
        user: &str,
        host: &str,
        interrupt: Arc<Interrupt>,
    ) -> Arc<Process> {
        self.begin(id, user, host, interrupt, true)
    }

    fn begin(
        &self,
        id: u32,
        user: &str,
        host: &str,
        interrupt: Arc<Interrupt>,
        is_background: bool,
    ) -> Arc<Process> {
        let now = Instant::now();
        let doing = Doing {
            user: user.to_owned(),
            host: host.to_owned(),
            database: String::new(),
            command: "Sleep",
            since: now,
            state: "",
            text: Vec::new(),
        };
        let process = Arc::new(Process {
            id,
            since: now,
            is_background,
            interrupt,
            waits: Mutex::default(),
            kill_hook: Mutex::default(),
            doing: Mutex::new(doing),
            account: Mutex::default(),
            is_idle: AtomicBool::new(true),
            checks: [AtomicBool::new(true), AtomicBool::new(true)],
            changed_us: AtomicU64::new(0),
        });
        // Number 0 is nobody's: sessions that work for this layer itself.
        if id != 0 {
            self.sessions.write().insert(id, process.clone());
        }
        process
    }

    /// A session is over.
    pub fn leave(&self, id: u32) {
        self.locks.release_all(id);
        self.sessions.write().remove(&id);
    }

    /// KILL: ends a connection, or (`query_only`) its present statement. Whether there is such a connection.
    pub fn kill(&self, id: u32, query_only: bool) -> bool {
        let found = self.sessions.read().get(&id).cloned();
        if let Some(process) = &found {
            process.end(!query_only);
            self.wake();
        }
        found.is_some()
    }

    /// Ends all connections.
    pub fn kill_all(&self) {
        self.list().iter().for_each(|process| process.end(true));
        self.wake();
    }

    /// Lets those who wait in this layer look whether they were killed.
    fn wake(&self) {
        self.locks.wake();
        self.naps.wake();
    }

    /// Waits until then; whether nobody interrupted it.
    pub fn sleep(&self, until: Instant, interrupt: &Interrupt) -> bool {
        let mut guard = self.naps.mutex.lock();
        while !interrupt.is_set() {
            if self.naps.changed.wait_until(&mut guard, until).timed_out() {
                return !interrupt.is_set();
            }
        }
        false
    }

    /// Does something of the session's statement that others see in the list of sessions.
    pub fn in_state<R>(&self, id: u32, state: &'static str, body: impl FnOnce() -> R) -> R {
        let process = self.find(id);
        let before = process.as_ref().map(|p| std::mem::replace(&mut p.doing.lock().state, state));
        let done = body();
        if let (Some(process), Some(before)) = (process, before) {
            process.doing.lock().state = before;
        }
        done
    }

    /// The session of that number.
    pub fn find(&self, id: u32) -> Option<Arc<Process>> {
        self.sessions.read().get(&id).cloned()
    }

    /// All sessions, by number.
    pub fn list(&self) -> Vec<Arc<Process>> {
        self.sessions.read().values().cloned().collect()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.sessions.read().len()
    }

    /// How many of them are clients.
    pub fn connected(&self) -> usize {
        self.sessions.read().values().filter(|p| !p.is_background).count()
    }

    /// How many are not.
    pub fn in_background(&self) -> usize {
        self.sessions.read().values().filter(|p| p.is_background).count()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many run a statement.
    pub fn running(&self) -> usize {
        self.sessions.read().values().filter(|p| !p.is_idle()).count()
    }

    /// Sessions that came in by that account.
    pub fn of_account(&self, user: &str, host: &str) -> usize {
        let is = |account: &(String, String)| account.0 == user && account.1 == host;
        let sessions = self.sessions.read();
        sessions.values().filter(|p| !p.is_background && is(&p.account.lock())).count()
    }

    /// Named locks: GET_LOCK and its kin.
    pub fn locks(&self) -> &NamedLocks {
        &self.locks
    }
}
