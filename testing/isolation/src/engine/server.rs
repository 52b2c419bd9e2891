//! The engine as a player of scripts.

use super::ScratchEngine;
use super::executor::Executor;
use crate::Level;
use crate::golden;
use crate::mysql::{NO_LOCKS, lock_lines};
use crate::script::{Connection, Plan, Reply, Script, Server};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use vaquita_txn::TrxRef;
use vaquita_txn::wait::{WaitFor, WaitHook};

/// The lock manager is asked directly, so often is cheap.
const PAUSE: Duration = Duration::from_micros(300);

/// The sessions by their number.
type Sessions = Arc<Mutex<Vec<Watched>>>;

/// What can be seen of a session from outside.
#[derive(Debug)]
struct Watched {
    transaction: TrxRef,
    sleep: Arc<Sleep>,
}

/// Whether a session's thread sleeps for a lock. A request that is queued may still turn out to close a cycle; once the
/// thread sleeps, it has not.
#[derive(Debug, Default)]
struct Sleep {
    asleep: AtomicBool,
    /// How often it has fallen asleep.
    count: AtomicU64,
}

impl WaitHook for Sleep {
    fn before(&self, what: WaitFor) {
        if what == WaitFor::Lock {
            self.count.fetch_add(1, Ordering::SeqCst);
            self.asleep.store(true, Ordering::SeqCst);
        }
    }

    fn after(&self, what: WaitFor) {
        if what == WaitFor::Lock {
            self.asleep.store(false, Ordering::SeqCst);
        }
    }
}

impl Watched {
    /// How often it has fallen asleep, if it sleeps and was not granted its lock meanwhile.
    fn sleeps(&self) -> Option<u64> {
        let waits = self.transaction.locks().is_waiting() && self.sleep.asleep.load(Ordering::SeqCst);
        waits.then(|| self.sleep.count.load(Ordering::SeqCst))
    }
}

/// Plays scripts on an engine. Each play has tables of its own.
#[derive(Debug)]
pub struct EngineServer {
    scratch: ScratchEngine,
    plays: u32,
    sessions: Sessions,
    plans: BTreeMap<usize, Plan>,
}

struct EngineConnection {
    number: usize,
    executor: Executor,
    sessions: Sessions,
}

impl EngineServer {
    /// On a new engine.
    ///
    /// # Errors
    /// It does not open.
    pub fn open() -> Result<EngineServer, String> {
        let scratch = ScratchEngine::open()?;
        Ok(EngineServer { scratch, plays: 0, sessions: Sessions::default(), plans: BTreeMap::new() })
    }

    fn executor(&self, level: Level) -> Executor {
        Executor::new(self.scratch.engine().session(), &format!("play{}", self.plays), level)
    }
}

impl Connection for EngineConnection {
    fn id(&self) -> u64 {
        self.number as u64
    }

    fn execute(&mut self, sql: &str, plan: Option<&Plan>) -> Reply {
        let reply = self.executor.execute(sql, plan);
        // A session may have got another transaction object.
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions[self.number].transaction = self.executor.session().transaction();
        reply
    }
}

impl Server for EngineServer {
    fn follow(&mut self, golden: &str) {
        self.plans = golden::plans(golden);
    }

    fn prepare(&mut self, script: &Script) -> Result<(), String> {
        self.plays += 1;
        self.sessions = Sessions::default();
        let mut executor = self.executor(Level::RepeatableRead);
        for sql in &script.setup {
            match executor.execute(sql, None) {
                Reply::Affected(_) | Reply::Rows(_) => {}
                other => return Err(format!("{other:?}: {sql}")),
            }
        }
        Ok(())
    }

    fn connect(&mut self, level: Level) -> Result<Box<dyn Connection>, String> {
        let mut executor = self.executor(level);
        let sleep = Arc::new(Sleep::default());
        executor.session().set_wait_hook(sleep.clone());
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let number = sessions.len();
        sessions.push(Watched { transaction: executor.session().transaction(), sleep });
        Ok(Box::new(EngineConnection { number, executor, sessions: self.sessions.clone() }))
    }

    fn plan(&mut self, step: usize, _sql: &str) -> Result<Option<Plan>, String> {
        Ok(self.plans.get(&step).cloned())
    }

    /// Looked at twice: who sleeps both times, without having been awake in between, sleeps at the same time as the
    /// others.
    fn waiting(&mut self) -> Result<Vec<u64>, String> {
        let sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let look = || sessions.iter().map(Watched::sleeps).collect::<Vec<_>>();
        let (before, after) = (look(), look());
        let both = before.iter().zip(&after).enumerate();
        let waiting = both.filter(|(_, (before, after))| before.is_some() && before == after);
        Ok(waiting.map(|(number, _)| number as u64).collect())
    }

    fn pause(&self) -> Duration {
        PAUSE
    }

    fn interrupt(&mut self, session: u64) -> Result<(), String> {
        let sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions[session as usize].transaction.interrupt();
        Ok(())
    }

    fn locks(&mut self) -> Result<BTreeMap<u64, Vec<String>>, String> {
        let core = self.scratch.engine().core();
        let snapshot = core.txn.locks().snapshot();
        let sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let of_session = |(number, session): (usize, &Watched)| {
            let trx = &session.transaction;
            let rows = snapshot.locks.iter().filter(|row| row.lock.serial == trx.serial());
            let rows: Vec<(String, Vec<u32>)> = rows
                .map(|row| {
                    let words = row.lock.describe(&**core).lines().next().unwrap_or_default().to_owned();
                    (words, row.heaps.iter().map(|heap| heap.0.into()).collect())
                })
                .collect();
            let mut lines = lock_lines(rows.iter().map(|(words, heaps)| (words.as_str(), heaps.clone())));
            let structs = trx.locks().lock_structs();
            lines.insert(0, format!("{structs} lock(s), {} undo", trx.undo_records()));
            // The original shows ten.
            if structs >= 10 {
                lines.truncate(1);
            }
            (number as u64, lines)
        };
        let mut all: BTreeMap<u64, Vec<String>> = sessions.iter().enumerate().map(of_session).collect();
        all.retain(|_, lines| lines[0] != NO_LOCKS);
        Ok(all)
    }

    fn last_deadlock(&mut self) -> Result<String, String> {
        Ok(self.scratch.engine().core().last_deadlock().unwrap_or_default())
    }

    fn purge(&mut self) -> Result<(), String> {
        let core = self.scratch.engine().core();
        while core.purge_step().map_err(|e| e.to_string())? {}
        Ok(())
    }
}
