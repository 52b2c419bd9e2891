//! Runs transactions and writes down what happens.

use super::{Database, Failure, GROUP, LIST_EVERY, Session, Workload};
use crate::Level;
use crate::history::{Event, History, Op, Status, Txn};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use vaquita_base::rng::Rng;

/// Lists that are in use at the same time: few, so that transactions meet.
const LISTS_HOT: u64 = 6;
/// Elements after which the window of lists in use moves on by one, so that lists stay short.
const WINDOW_EVERY: u64 = 16;
/// Lists of a run; it ends when they are used up.
const LISTS: u64 = 600;
const REGISTERS: u64 = 2 * GROUP;
const OPERATIONS_MAX: u64 = 6;

/// A run.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// Which workload.
    pub workload: Workload,
    /// The level of all transactions.
    pub level: Level,
    /// Sessions at the same time.
    pub sessions: usize,
    /// What is random follows from it, except who comes first.
    pub seed: u64,
    /// Transactions at most.
    pub transactions: u64,
    /// Time at most.
    pub time: Duration,
}

/// What the sessions of a run share.
struct Run<'a> {
    settings: &'a Settings,
    /// Ticks. Sequentially consistent: the order of ticks is the order in which things were seen to happen.
    clock: AtomicU64,
    /// The last value given out.
    values: AtomicU64,
    begun: AtomicU64,
    stop: AtomicBool,
    until: Instant,
}

/// One session at work.
struct Worker<'a> {
    run: &'a Run<'a>,
    number: usize,
    rng: Rng,
    session: Box<dyn Session>,
    txns: Vec<Txn>,
    /// The open transaction and how many operations it has before it.
    open: Option<(Txn, u64)>,
}

/// Runs sessions in threads of their own and returns the history, with a transaction at its end that reads everything.
///
/// # Errors
/// A failure that is not contention.
pub fn run_threads(database: &dyn Database, settings: &Settings) -> Result<History, Failure> {
    let run = Run::new(settings);
    database.prepare(LISTS, REGISTERS)?;
    let mut workers = run.workers(database)?;
    let results: Vec<Result<(), Failure>> = std::thread::scope(|scope| {
        let threads: Vec<_> = workers.iter_mut().map(|worker| scope.spawn(|| worker.work())).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|_| Err(Failure::Broken("a session panicked".into()))))
            .collect()
    });
    results.into_iter().collect::<Result<Vec<()>, Failure>>()?;
    run.finish(workers)
}

/// Runs sessions in turns that follow from the seed alone.
///
/// # Errors
/// As [`run_threads`].
pub fn run_interleaved(database: &dyn Database, settings: &Settings) -> Result<History, Failure> {
    let run = Run::new(settings);
    database.prepare(LISTS, REGISTERS)?;
    let mut workers = run.workers(database)?;
    let mut rng = Rng::new(settings.seed);
    while workers.iter().any(|worker| worker.open.is_some()) || run.goes_on() {
        let turn = rng.index(workers.len());
        workers[turn].step()?;
    }
    run.finish(workers)
}

impl<'a> Run<'a> {
    fn new(settings: &'a Settings) -> Run<'a> {
        Run {
            settings,
            clock: AtomicU64::new(1),
            values: AtomicU64::new(0),
            begun: AtomicU64::new(0),
            stop: AtomicBool::new(false),
            until: Instant::now() + settings.time,
        }
    }

    fn workers(&'a self, database: &dyn Database) -> Result<Vec<Worker<'a>>, Failure> {
        (0..self.settings.sessions)
            .map(|number| {
                let rng = Rng::new(self.settings.seed ^ (number as u64 + 1) << 32);
                Ok(Worker {
                    run: self,
                    number,
                    rng,
                    session: database.session()?,
                    txns: Vec::new(),
                    open: None,
                })
            })
            .collect()
    }

    fn tick(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::SeqCst)
    }

    /// Where the window of lists in use begins.
    fn window(&self) -> u64 {
        // Relaxed: an old place of the window does as well.
        self.values.load(Ordering::Relaxed) / WINDOW_EVERY
    }

    fn goes_on(&self) -> bool {
        self.begun.load(Ordering::Relaxed) < self.settings.transactions
            && !self.stop.load(Ordering::Relaxed)
            && Instant::now() < self.until
            && (self.settings.workload == Workload::Registers || self.window() + LISTS_HOT < LISTS)
    }

    fn finish(&self, mut workers: Vec<Worker<'_>>) -> Result<History, Failure> {
        if let Some(worker) = workers.first_mut() {
            worker.read_everything()?;
        }
        let mut txns: Vec<Txn> = workers.into_iter().flat_map(|worker| worker.txns).collect();
        txns.sort_by_key(|txn| txn.started);
        Ok(History { level: self.settings.level, txns })
    }
}

impl Worker<'_> {
    fn work(&mut self) -> Result<(), Failure> {
        while self.open.is_some() || self.run.goes_on() {
            if let Err(e) = self.step() {
                // The others would wait for locks that nobody gives back.
                self.run.stop.store(true, Ordering::Relaxed);
                let _ = self.session.rollback();
                return Err(e);
            }
        }
        Ok(())
    }

    /// Begins a transaction, or does one operation of it, or ends it.
    fn step(&mut self) -> Result<(), Failure> {
        let Some((mut txn, left)) = self.open.take() else { return self.begin() };
        let done = if left == 0 {
            return self.end(txn);
        } else {
            self.operation(&mut txn)
        };
        match done {
            Ok(()) => self.open = Some((txn, left - 1)),
            Err(Failure::Aborted(_)) => self.abort(txn)?,
            Err(broken) => return Err(broken),
        }
        Ok(())
    }

    fn begin(&mut self) -> Result<(), Failure> {
        if !self.run.goes_on() {
            return Ok(());
        }
        self.run.begun.fetch_add(1, Ordering::Relaxed);
        let txn = self.new_txn();
        self.session.begin(self.run.settings.level)?;
        self.open = Some((txn, 1 + self.rng.below(OPERATIONS_MAX)));
        Ok(())
    }

    fn new_txn(&self) -> Txn {
        Txn {
            session: self.number,
            started: self.run.tick(),
            commit_started: 0,
            ended: 0,
            status: Status::Aborted,
            events: Vec::new(),
        }
    }

    fn end(&mut self, mut txn: Txn) -> Result<(), Failure> {
        if self.rng.one_in(10) {
            return self.abort(txn);
        }
        txn.commit_started = self.run.tick();
        match self.session.commit() {
            Ok(()) => {
                txn.status = Status::Committed;
                txn.ended = self.run.tick();
                self.txns.push(txn);
                Ok(())
            }
            Err(Failure::Aborted(_)) => self.abort(txn),
            Err(broken) => Err(broken),
        }
    }

    fn abort(&mut self, mut txn: Txn) -> Result<(), Failure> {
        self.session.rollback()?;
        txn.ended = self.run.tick();
        self.txns.push(txn);
        Ok(())
    }

    fn operation(&mut self, txn: &mut Txn) -> Result<(), Failure> {
        match self.run.settings.workload {
            Workload::ListAppend => self.list_operation(txn),
            Workload::Registers => self.register_operation(txn),
        }
    }

    fn list_operation(&mut self, txn: &mut Txn) -> Result<(), Failure> {
        let window = self.run.window().min(LISTS - LISTS_HOT);
        let key = window + self.rng.below(LISTS_HOT);
        match self.rng.below(20) {
            0..8 => self.append(txn, key),
            8 => self.take_back(txn, |worker, txn| worker.append(txn, key)),
            9..15 => self.read_list(txn, key, false),
            15..17 => self.read_list(txn, key, true),
            17 => self.read_lists(txn, window, window + LISTS_HOT, true),
            _ => self.read_lists(txn, window, window + LISTS_HOT, false),
        }
    }

    fn append(&mut self, txn: &mut Txn, key: u64) -> Result<(), Failure> {
        let value = self.new_value();
        let done = self.event(txn, |session| {
            session.append(key, value)?;
            Ok(vec![Op::Append { key, value }])
        });
        self.attempted(txn, &done, Op::Append { key, value });
        done
    }

    /// A write that is rolled back to a savepoint: as if a transaction of its own had done it and was rolled back.
    fn take_back(
        &mut self,
        txn: &mut Txn,
        write: impl Fn(&mut Self, &mut Txn) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut taken_back = self.new_txn();
        self.event(&mut taken_back, |session| session.savepoint().map(|()| Vec::new()))?;
        let mut done = write(self, &mut taken_back);
        if done.is_ok() && self.rng.one_in(2) {
            done = write(self, &mut taken_back);
        }
        let done = done
            .and_then(|()| self.event(txn, |session| session.rollback_to_savepoint().map(|()| Vec::new())));
        taken_back.ended = self.run.tick();
        self.txns.push(taken_back);
        done
    }

    fn read_list(&mut self, txn: &mut Txn, key: u64, lock: bool) -> Result<(), Failure> {
        let locking = self.locks(lock);
        self.event(txn, |session| Ok(vec![Op::ReadList { key, list: session.list(key, lock)?, locking }]))
    }

    fn read_lists(&mut self, txn: &mut Txn, from: u64, to: u64, lock: bool) -> Result<(), Failure> {
        let locking = self.locks(lock);
        self.event(txn, |session| {
            let lists = session.lists(from, to, lock)?;
            (from..to)
                .map(|key| {
                    let mut of_key = lists.iter().filter(|(k, _)| *k == key);
                    let list = of_key.next().map(|(_, list)| list.clone()).unwrap_or_default();
                    match of_key.next() {
                        Some(_) => Err(Failure::Broken(format!("list {key} came twice: {lists:?}"))),
                        None => Ok(Op::ReadList { key, list, locking }),
                    }
                })
                .collect()
        })
    }

    fn register_operation(&mut self, txn: &mut Txn) -> Result<(), Failure> {
        let key = self.rng.below(REGISTERS);
        match self.rng.below(20) {
            0..6 => self.write(txn, key, false),
            6 => self.write(txn, key, true),
            7 => {
                let replace = self.rng.one_in(2);
                self.take_back(txn, |worker, txn| worker.write(txn, key, replace))
            }
            8..13 => self.read_register(txn, key, false),
            13..15 => self.read_register(txn, key, true),
            15 => self.read_group(txn, key / GROUP, true),
            _ => self.read_group(txn, key / GROUP, false),
        }
    }

    fn write(&mut self, txn: &mut Txn, key: u64, replace: bool) -> Result<(), Failure> {
        let value = self.new_value();
        let done = self.event(txn, |session| {
            let replaced = if replace { session.replace(key, value)? } else { session.write(key, value)? };
            Ok(vec![Op::Write { key, value, replaced }])
        });
        self.attempted(txn, &done, Op::Write { key, value, replaced: 0 });
        done
    }

    fn read_register(&mut self, txn: &mut Txn, key: u64, lock: bool) -> Result<(), Failure> {
        let locking = self.locks(lock);
        let dirty = self.run.settings.level == Level::ReadUncommitted && !lock;
        self.event(txn, |session| match session.read(key, lock)? {
            Some(value) => Ok(vec![Op::Read { key, value, locking }]),
            // Its row was deleted and not yet inserted again.
            None if dirty => Ok(Vec::new()),
            None => Err(Failure::Broken(format!("there is no register {key}"))),
        })
    }

    /// A scan of the secondary index gives each register once. Not without a read view and without locks of gaps: below
    /// REPEATABLE READ, dirty and locking scans may meet an entry before and after it was moved, or miss it.
    fn read_group(&mut self, txn: &mut Txn, group: u64, lock: bool) -> Result<(), Failure> {
        let locking = self.locks(lock);
        let level = self.run.settings.level;
        let may_tear = level == Level::ReadUncommitted || (level == Level::ReadCommitted && lock);
        self.event(txn, |session| {
            let mut rows = session.group(group, lock)?;
            if may_tear {
                return Ok(Vec::new());
            }
            rows.sort_unstable();
            let keys: Vec<u64> = rows.iter().map(|(key, _)| *key).collect();
            let expected: Vec<u64> = (group * GROUP..(group + 1) * GROUP).collect();
            if keys != expected {
                let kind = if locking { "locking" } else { "plain" };
                return Err(Failure::Broken(format!("a {kind} read of group {group} gave {rows:?}")));
            }
            Ok(rows.into_iter().map(|(key, value)| Op::Read { key, value, locking }).collect())
        })
    }

    /// Calls the database and notes what came of it, with the times around it.
    fn event(
        &mut self,
        txn: &mut Txn,
        call: impl FnOnce(&mut dyn Session) -> Result<Vec<Op>, Failure>,
    ) -> Result<(), Failure> {
        let started = self.run.tick();
        let ops = call(self.session.as_mut())?;
        let ended = self.run.tick();
        txn.events.extend(ops.into_iter().map(|op| Event { started, ended, op }));
        Ok(())
    }

    /// A write that failed may have been seen before it was taken back; its transaction will be rolled back.
    fn attempted(&self, txn: &mut Txn, done: &Result<(), Failure>, op: Op) {
        if done.is_err() {
            let now = self.run.tick();
            txn.events.push(Event { started: now, ended: now, op });
        }
    }

    /// Whether a read takes locks: at SERIALIZABLE all do.
    fn locks(&self, asked: bool) -> bool {
        asked || self.run.settings.level == Level::Serializable
    }

    fn new_value(&self) -> u64 {
        self.run.values.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// The transaction after all others: makes the order of all versions known.
    fn read_everything(&mut self) -> Result<(), Failure> {
        let mut txn = self.new_txn();
        self.session.begin(self.run.settings.level)?;
        match self.run.settings.workload {
            Workload::ListAppend => self.read_lists(&mut txn, 0, LISTS, false)?,
            Workload::Registers => {
                for key in 0..REGISTERS {
                    self.read_register(&mut txn, key, true)?;
                }
            }
        }
        txn.commit_started = self.run.tick();
        self.session.commit()?;
        txn.status = Status::Committed;
        txn.ended = self.run.tick();
        self.txns.push(txn);
        Ok(())
    }
}

const _: () = assert!(LIST_EVERY <= LISTS_HOT, "both kinds of lists are in use at any time");
