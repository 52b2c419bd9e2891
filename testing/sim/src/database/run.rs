//! Running a scenario: rounds of work, each ended by a power cut, a kill or a clean shutdown.

use super::check;
use super::work::{Halt, Work};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use vaquita_base::{ManualClock, Rng};
use vaquita_engine::{Engine, Error, Options};
use vaquita_format::PageSize;
use vaquita_io::sim::SimDisk;
use vaquita_storage::SystemFile;
use vaquita_storage::page_cleaner::PageCleaner;

/// The folder of the simulated machine.
pub(super) const DIR: &str = "/db";
/// Steps of a round, at most.
const STEPS_MAX: u64 = 700;
/// Openings of a folder through power cuts, at most.
const OPENINGS_MAX: u32 = 40;

/// What a run did.
#[derive(Debug, Clone, Default)]
pub struct DatabaseReport {
    /// Power cuts that struck an operation on the disk.
    pub cuts: u64,
    /// Of these: during recovery.
    pub nested_cuts: u64,
    /// Kills and clean shutdowns.
    pub other_ends: u64,
    /// Steps of sessions.
    pub steps: u64,
    /// Definitions of tables with rows that were changed.
    pub alterations: u64,
    /// Steps of other sessions in the middle of such changes.
    pub steps_between: u64,
    /// Times everything was compared with the model.
    pub checks: u64,
}

impl DatabaseReport {
    /// Adds another.
    pub fn add(&mut self, other: &DatabaseReport) {
        self.cuts += other.cuts;
        self.nested_cuts += other.nested_cuts;
        self.other_ends += other.other_ends;
        self.steps += other.steps;
        self.alterations += other.alterations;
        self.steps_between += other.steps_between;
        self.checks += other.checks;
    }
}

impl fmt::Display for DatabaseReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "databases: {} power cuts ({} during recovery), {} other ends, {} steps, {} alterations ({} steps in their midst), {} checks",
            self.cuts,
            self.nested_cuts,
            self.other_ends,
            self.steps,
            self.alterations,
            self.steps_between,
            self.checks
        )
    }
}

/// A run that went wrong.
#[derive(Debug, Clone)]
pub struct DatabaseFailure {
    /// The seed.
    pub seed: u64,
    /// The round, from 0.
    pub round: usize,
    /// What was wrong.
    pub text: String,
}

impl fmt::Display for DatabaseFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "database of seed {}: round {}: {}", self.seed, self.round, self.text)?;
        write!(f, "again: cargo run --release -p vaquita-sim -- --database-seed {}", self.seed)
    }
}

/// How a round ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    PowerCut,
    Kill,
    Close,
}

/// Runs scenarios. New folders are made once for each page size and copied.
#[derive(Debug, Default)]
pub struct DatabaseSimulator {
    new_folders: HashMap<usize, SimDisk>,
}

impl DatabaseSimulator {
    /// Nothing prepared yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Runs the scenario of a seed.
    ///
    /// # Errors
    /// What went wrong.
    pub fn run_seed(&mut self, seed: u64) -> Result<DatabaseReport, Box<DatabaseFailure>> {
        self.run(seed, false)
    }

    /// Runs the scenario of a seed on a disk whose syncs do nothing: commits are acknowledged before they are durable.
    /// A harness that does not catch that is blind.
    ///
    /// # Errors
    /// What went wrong.
    pub fn run_on_lying_disk(&mut self, seed: u64) -> Result<DatabaseReport, Box<DatabaseFailure>> {
        self.run(seed, true)
    }

    fn run(&mut self, seed: u64, lying: bool) -> Result<DatabaseReport, Box<DatabaseFailure>> {
        let mut rng = Rng::new(seed ^ 0xDA7A_BA5E);
        let options = options(&mut rng);
        let page_len = options.storage.page_size.logical();
        let base = self.new_folders.entry(page_len).or_insert_with(|| new_folder(&options));
        let mut run = Run {
            disk: base.fork(seed),
            options,
            clock: Arc::default(),
            work: Work::new(rng.fork(), !rng.one_in(4)),
            rng,
            report: DatabaseReport::default(),
            round: 0,
        };
        run.disk.lie_about_sync(lying);
        match run.all() {
            Ok(()) => {
                let Work { alterations, steps_between, .. } = run.work;
                Ok(DatabaseReport { alterations, steps_between, ..run.report })
            }
            Err(text) => Err(Box::new(DatabaseFailure { seed, round: run.round, text })),
        }
    }
}

fn options(rng: &mut Rng) -> Options {
    let page_bytes = [4096, 8192, 16384][rng.index(3)];
    let mut options = Options::new(DIR);
    let storage = &mut options.storage;
    storage.page_size = PageSize::new(page_bytes).expect("a page size");
    storage.buffer_pool_size = (64 + rng.index(64)) * page_bytes;
    storage.log_file_size = (2 << 20) + (rng.below(3) << 20);
    storage.log_buffer_size = 64 << 10;
    storage.data_file_path = vec![SystemFile { name: "ibdata1".into(), size_bytes: 1 << 20 }];
    storage.live.autoextend_increment_bytes = 1 << 20;
    options.txn.rollback_segments = 1 + rng.index(4);
    options.purge_threads = 1;
    options.build_threads = 1;
    options.sort_buffer_size = 64 << 10;
    options.purge_batch_size = 1 + rng.index(20);
    options.background = false;
    options
}

fn new_folder(options: &Options) -> SimDisk {
    let disk = SimDisk::new(1);
    disk.put_dir(DIR.as_ref());
    let mut options = options.clone();
    options.txn.rollback_segments = 4;
    let engine = Engine::open_with(Arc::new(disk.clone()), Arc::new(ManualClock::new()), options)
        .expect("a folder is made on a sound disk");
    engine.close().expect("and closed");
    disk.clone()
}

#[derive(Debug)]
struct Run {
    disk: SimDisk,
    options: Options,
    clock: Arc<ManualClock>,
    work: Work,
    rng: Rng,
    report: DatabaseReport,
    round: usize,
}

impl Run {
    fn all(&mut self) -> Result<(), String> {
        let rounds = 2 + self.rng.index(4);
        let mut engine = self.open()?;
        for round in 0..rounds {
            self.round = round;
            let end = match self.rng.below(6) {
                0 => End::Kill,
                1 => End::Close,
                _ => End::PowerCut,
            };
            self.round_of_work(engine, end)?;
            engine = self.open()?;
        }
        self.round = rounds;
        loop {
            let quiet = check::all_quiet(&engine, &self.disk, &self.work.history.now);
            let closed = quiet.and_then(|()| engine.close().map_err(|e| format!("closing: {e}")));
            if !self.disk.is_off() {
                return closed;
            }
            // A cut that was armed for an opening struck now.
            drop(engine);
            self.report.cuts += 1;
            self.disk = self.disk.restart();
            engine = self.open()?;
        }
    }

    fn round_of_work(&mut self, engine: Engine, end: End) -> Result<(), String> {
        let sessions = 1 + self.rng.index(4);
        self.work.connect(&engine, sessions);
        let steps = 1 + self.rng.below(STEPS_MAX);
        if end == End::PowerCut {
            let ops = self.disk.ops();
            self.disk.arm_cut(ops + 1 + self.rng.below(steps * 2));
        }
        let mut halted = None;
        for _ in 0..steps {
            self.report.steps += 1;
            let done = self.work.step().and_then(|()| Ok(self.serve(&engine)?));
            match done {
                Ok(()) => {}
                Err(Halt::Wrong(text)) => return Err(text),
                Err(Halt::Engine(e)) => {
                    halted = Some(e);
                    break;
                }
            }
        }
        if let Some(e) = halted.as_ref().filter(|_| !self.disk.is_off()) {
            return Err(format!("an error without a fault: {e} ({e:?})"));
        }
        match end {
            End::Close if halted.is_none() => {
                // Dropping a session rolls back what it has open.
                drop(self.work.disconnect());
                let closed = engine.close();
                drop(engine);
                if self.disk.is_off() {
                    self.report.cuts += 1;
                    self.disk = self.disk.restart();
                    return Ok(());
                }
                closed.map_err(|e| format!("closing: {e}"))?;
                self.work.history.acknowledge();
                self.report.other_ends += 1;
            }
            End::Kill if !self.disk.is_off() => {
                // What the dying process does in our memory must not reach the disk any more.
                let next = self.disk.after_kill();
                self.disk.power_cut();
                drop(self.work.disconnect());
                drop(engine);
                self.disk = next;
                self.report.other_ends += 1;
            }
            _ => {
                self.report.cuts += u64::from(self.disk.is_off());
                if !self.disk.is_off() {
                    self.disk.power_cut();
                    self.report.other_ends += 1;
                }
                drop(self.work.disconnect());
                drop(engine);
                self.disk = self.disk.restart();
            }
        }
        Ok(())
    }

    /// Opens the folder, perhaps through power cuts, and compares what is there with the model.
    fn open(&mut self) -> Result<Engine, String> {
        for attempt in 0..OPENINGS_MAX {
            let cut = attempt < OPENINGS_MAX / 2 && self.rng.one_in(3);
            if cut {
                let ops = self.disk.ops();
                self.disk.arm_cut(ops + 1 + self.rng.below(60));
            }
            match self.open_and_settle() {
                // A cut that has not struck yet strikes the work to come.
                Ok(engine) => return Ok(engine),
                Err(Halt::Wrong(text)) => return Err(text),
                Err(Halt::Engine(e)) => {
                    if !self.disk.is_off() {
                        return Err(format!("opening: {e} ({e:?})"));
                    }
                    self.report.nested_cuts += 1;
                    self.report.cuts += 1;
                    self.disk = self.disk.restart();
                }
            }
        }
        Err("no opening came through".to_owned())
    }

    fn open_and_settle(&mut self) -> Result<Engine, Halt> {
        let engine =
            Engine::open_with(Arc::new(self.disk.clone()), self.clock.clone(), self.options.clone())?;
        while engine.core().rollback_step()? {}
        let found = check::read_all(&engine, &self.work.history.now)?;
        self.work.history.settle(&found).map_err(Halt::Wrong)?;
        self.report.checks += 1;
        if self.rng.one_in(3) {
            check::all_quiet_or(&engine, &self.disk, &self.work.history.now)?;
        }
        Ok(engine)
    }

    /// One step of a service, or of none.
    fn serve(&mut self, engine: &Engine) -> Result<(), Error> {
        self.clock.advance(Duration::from_millis(self.rng.below(300)));
        let core = engine.core();
        let storage = &core.storage;
        match self.rng.below(24) {
            0..3 => {
                PageCleaner::new().step(storage, self.rng.one_in(2))?;
            }
            3..6 => {
                storage.log().step().map_err(vaquita_storage::Error::from)?;
            }
            6 => {
                storage.checkpoint()?;
            }
            7 if self.rng.one_in(4) => storage.flush_everything()?,
            8..12 => {
                core.purge_step()?;
            }
            12 => {
                core.rollback_step()?;
            }
            _ => {}
        }
        Ok(())
    }
}
