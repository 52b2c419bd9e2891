//! Running a scenario: rounds of work, each ended by an ordeal, and what must hold after it.
//!
//! After every crash the folder is opened again, perhaps through several more power cuts. The end of the log it
//! finds must not lie before what was reported durable, nor behind what was ever written; the models go back to
//! that LSN, and then every byte they know must be there and every structure valid. At the end the folder is closed
//! cleanly, and every page of every file must pass its checks.

use crate::files;
use crate::machine::{Machine, space_path};
use crate::pages::Pages;
use crate::scenario::{Canary, DIR, Ordeal, Scenario};
use crate::stop::{Class, EngineError, Stop};
use crate::trees::Trees;
use crate::workload::Workload;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use vaquita_base::{PageId, PageNo, Rng, SpaceId};
use vaquita_format::checksum::ChecksumAlgorithm;
use vaquita_io::sim::{Fault, Injection, SimDisk};

/// Operations between the last ordeal and the next, at most.
const STEPS_MAX: u64 = 400;
/// Openings of a folder through read errors, at most.
const OPENINGS_MAX: u32 = 60;

/// What a run did.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Power cuts that struck an operation on the disk, those of recoveries included.
    pub cuts: u64,
    /// Of these: during recovery or the checks after it.
    pub nested_cuts: u64,
    /// Other ends of instances: kills, power cuts between operations, failures.
    pub kills: u64,
    /// Operations of the workloads.
    pub steps: u64,
    /// Times the state was compared with the model after the machine came up.
    pub checks: u64,
    /// Pages repaired from the doublewrite area.
    pub torn_pages: u64,
    /// Faults of the disk that struck.
    pub faults: BTreeMap<Fault, u64>,
}

impl Report {
    /// Adds another.
    pub fn add(&mut self, other: &Report) {
        self.cuts += other.cuts;
        self.nested_cuts += other.nested_cuts;
        self.kills += other.kills;
        self.steps += other.steps;
        self.checks += other.checks;
        self.torn_pages += other.torn_pages;
        for (fault, n) in &other.faults {
            *self.faults.entry(*fault).or_default() += n;
        }
    }
}

/// The faults that reports count, in the order of [`Report::to_line`].
const FAULTS: [Fault; 7] = [
    Fault::WriteError,
    Fault::NoSpace,
    Fault::MisdirectedWrite,
    Fault::SyncError,
    Fault::ReadError,
    Fault::ShortRead,
    Fault::BitRot,
];

impl Report {
    /// The numbers, for another process.
    pub fn to_line(&self) -> String {
        let counts = [self.cuts, self.nested_cuts, self.kills, self.steps, self.checks, self.torn_pages];
        let faults = FAULTS.map(|f| self.faults.get(&f).copied().unwrap_or(0));
        counts.into_iter().chain(faults).map(|n| n.to_string()).collect::<Vec<_>>().join(" ")
    }

    /// The report of a line.
    pub fn from_line(line: &str) -> Option<Report> {
        let numbers: Vec<u64> = line.split(' ').map(|n| n.parse().ok()).collect::<Option<_>>()?;
        let (&[cuts, nested_cuts, kills, steps, checks, torn_pages], faults) = numbers.split_first_chunk()?;
        let faults = FAULTS.into_iter().zip(faults.iter().copied()).filter(|(_, n)| *n > 0).collect();
        Some(Report { cuts, nested_cuts, kills, steps, checks, torn_pages, faults })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} power cuts ({} during recovery), {} other ends, {} operations, {} checks, {} torn pages repaired, faults: {:?}",
            self.cuts, self.nested_cuts, self.kills, self.steps, self.checks, self.torn_pages, self.faults
        )
    }
}

/// A run that went wrong.
#[derive(Debug, Clone)]
pub struct Failure {
    /// What was run.
    pub scenario: Scenario,
    /// The round, from 0.
    pub round: usize,
    /// What was wrong.
    pub text: String,
    /// What happened before, round by round.
    pub events: Vec<String>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Failure { scenario, round, text, events } = self;
        writeln!(f, "seed {}: round {round} ({:?}): {text}", scenario.seed, scenario.ordeals.get(*round))?;
        writeln!(f, "scenario: {scenario}")?;
        for event in events {
            writeln!(f, "  {event}")?;
        }
        write!(f, "again: cargo run --release -p vaquita-sim -- --seed {}", scenario.seed)
    }
}

/// What makes two folders the same when they are new.
type FolderKey = (usize, u32, u64, ChecksumAlgorithm, bool);

/// Runs scenarios. New folders are made once for each kind and copied.
#[derive(Debug, Default)]
pub struct Simulator {
    new_folders: HashMap<FolderKey, SimDisk>,
}

impl Simulator {
    /// Nothing prepared yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Runs the scenario of a seed.
    ///
    /// # Errors
    /// What went wrong.
    pub fn run_seed(&mut self, seed: u64) -> Result<Report, Box<Failure>> {
        self.run(Scenario::new(seed))
    }

    /// Runs a scenario.
    ///
    /// # Errors
    /// What went wrong.
    pub fn run(&mut self, scenario: Scenario) -> Result<Report, Box<Failure>> {
        let disk = if scenario.cut_creation {
            let disk = SimDisk::new(scenario.seed);
            disk.put_dir("/".as_ref());
            disk
        } else {
            self.new_folder(&scenario)
        };
        let mut run = Run::new(scenario, disk);
        match run.all() {
            Ok(()) => Ok(run.report),
            Err(text) => {
                let Run { scenario, round, events, .. } = run;
                Err(Box::new(Failure { scenario, round, text, events }))
            }
        }
    }

    fn new_folder(&mut self, scenario: &Scenario) -> SimDisk {
        let s = scenario;
        let with_doublewrite = s.canary != Canary::SkipDoublewrite;
        let key = (s.page_size.logical(), s.log_files, s.log_file_bytes, s.checksum, with_doublewrite);
        let base = self.new_folders.entry(key).or_insert_with(|| {
            let disk = SimDisk::new(1);
            disk.put_dir(DIR.as_ref());
            let mut machine = Machine::new(disk, scenario);
            machine.open().expect("a folder is made on a sound disk");
            machine.storage().close().expect("and closed");
            machine.disk.clone()
        });
        base.fork(s.seed)
    }
}

/// How a round of work ended.
enum Worked {
    /// All operations were done.
    Done,
    /// The engine gave an error; true if a file operation did.
    Stopped(EngineError, bool),
}

/// What went wrong, in words.
type Verdict<T> = Result<T, String>;

#[derive(Debug)]
struct Run {
    scenario: Scenario,
    machine: Machine,
    loads: Vec<Box<dyn Workload>>,
    rng: Rng,
    round: usize,
    report: Report,
    /// Faults counted already.
    fired_seen: usize,
    events: Vec<String>,
}

impl Run {
    fn new(scenario: Scenario, disk: SimDisk) -> Self {
        let mut loads: Vec<Box<dyn Workload>> = Vec::new();
        if scenario.load.pages {
            loads.push(Box::new(Pages::new()));
        }
        if scenario.load.trees {
            loads.push(Box::new(Trees::new()));
        }
        disk.set_trace(std::env::var_os("SIM_TRACE").is_some());
        if scenario.canary == Canary::AcknowledgeBeforeSync {
            disk.lie_about_sync(true);
        }
        Self {
            machine: Machine::new(disk, &scenario),
            rng: Rng::new(scenario.seed),
            loads,
            scenario,
            round: 0,
            report: Report::default(),
            fired_seen: 0,
            events: Vec::new(),
        }
    }

    /// Notes an event, for the story of a failure.
    fn note(&mut self, what: &str) {
        let m = &self.machine;
        let state = format!("disk operation {}, durable {}, issued {}", m.disk.ops(), m.durable, m.issued);
        self.events.push(format!("round {}: {what} ({state})", self.round));
    }

    fn all(&mut self) -> Verdict<()> {
        self.first_opening()?;
        for round in 0..self.scenario.ordeals.len() {
            self.round = round;
            let ordeal = self.scenario.ordeals[round];
            self.endure(ordeal)?;
            self.count_faults();
            if matches!(ordeal, Ordeal::BitRot | Ordeal::Misdirected) {
                return Ok(());
            }
        }
        self.round = self.scenario.ordeals.len();
        self.work(20, false)?;
        self.close_cleanly()?;
        files::check_all(&self.machine)?;
        self.come_up()
    }

    fn first_opening(&mut self) -> Verdict<()> {
        if self.scenario.cut_creation {
            let at = 1 + self.rng.below(*[20, 300, 2_000].get(self.rng.clone().index(3)).unwrap_or(&20));
            self.machine.disk.arm_cut(at);
        }
        loop {
            match self.machine.open() {
                Ok(end) => {
                    self.machine.durable = end;
                    self.machine.issued = end;
                    self.disarm();
                    return Ok(());
                }
                Err(e) if self.is_cut(&e)? => {
                    self.report.cuts += 1;
                    self.machine.restart();
                    self.arm_in_recovery();
                }
                Err(e) => return Err(format!("a new folder does not open: {e}")),
            }
        }
    }

    /// Whether an error comes from the power cut, as it must if the power is off.
    fn is_cut(&self, e: &EngineError) -> Verdict<bool> {
        if !self.machine.disk.is_off() {
            return Ok(false);
        }
        match e.class {
            Class::PowerOff | Class::Poisoned => Ok(true),
            _ => Err(format!("the power went off, but the engine says: {e}")),
        }
    }

    /// A power cut at one of the next operations, near ones preferred.
    fn arm(&mut self) {
        let reach = [8, 40, 200, 1_000][self.rng.index(4)];
        let at = self.machine.disk.ops() + 1 + self.rng.below(reach);
        self.machine.disk.arm_cut(at);
    }

    /// Perhaps a power cut during recovery.
    fn arm_in_recovery(&mut self) {
        if self.rng.one_in(3) {
            let reach = [4, 15, 80][self.rng.index(3)];
            let at = self.machine.disk.ops() + 1 + self.rng.below(reach);
            self.machine.disk.arm_cut(at);
        }
    }

    fn disarm(&mut self) {
        self.machine.disk.arm_cut(u64::MAX);
    }

    fn count_faults(&mut self) {
        let fired = self.machine.disk.fired();
        for f in fired.iter().skip(self.fired_seen) {
            *self.report.faults.entry(f.fault).or_default() += 1;
        }
        self.fired_seen = fired.len();
    }

    /// The machine gets another disk: what happened on the old one is counted.
    fn new_disk(&mut self, change: impl FnOnce(&mut Machine)) {
        self.count_faults();
        let was_off = self.machine.disk.is_off();
        self.machine.stop();
        for op in self.machine.disk.trace() {
            self.events.push(format!("    {op}"));
        }
        self.note(if was_off { "power cut" } else { "end of the process" });
        change(&mut self.machine);
        self.fired_seen = 0;
    }

    fn step(&mut self) -> Result<(), Stop> {
        self.report.steps += 1;
        let rng = &mut self.rng;
        let result = if rng.one_in(6) {
            self.machine.serve(rng)
        } else {
            let load = rng.index(self.loads.len());
            self.loads[load].step(&mut self.machine, rng)
        };
        self.machine.observe();
        result
    }

    /// Works for `steps` operations. With `or_else`, an error ends it; otherwise there must be none.
    fn work(&mut self, steps: u64, may_fail: bool) -> Verdict<Worked> {
        for _ in 0..steps {
            match self.step() {
                Ok(()) => {}
                Err(Stop::Wrong(text)) => return Err(text),
                Err(Stop::Engine(e)) if may_fail => return Ok(Worked::Stopped(e, false)),
                Err(Stop::FileOp(e)) if may_fail => return Ok(Worked::Stopped(e, true)),
                Err(e) => return Err(format!("an operation failed without a fault: {e}")),
            }
        }
        Ok(Worked::Done)
    }

    fn endure(&mut self, ordeal: Ordeal) -> Verdict<()> {
        match ordeal {
            Ordeal::PowerCut => self.power_cut(),
            Ordeal::Kill => {
                let steps = self.rng.below(STEPS_MAX);
                self.work(steps, false)?;
                self.die();
                self.come_up()
            }
            Ordeal::Close => {
                let steps = self.rng.below(STEPS_MAX / 2);
                self.work(steps, false)?;
                self.close()
            }
            Ordeal::FailedSync => self.failed_write(Fault::SyncError),
            Ordeal::FailedWrite => self.failed_write(Fault::WriteError),
            Ordeal::FailedReads => self.failed_reads(),
            Ordeal::NoSpace => self.no_space(),
            Ordeal::BitRot => self.bit_rot(),
            Ordeal::Misdirected => self.misdirected(),
        }
    }

    fn power_cut(&mut self) -> Verdict<()> {
        self.arm();
        let steps = 1 + self.rng.below(STEPS_MAX);
        if let Worked::Stopped(e, _) = self.work(steps, true)?
            && !self.is_cut(&e)?
        {
            return Err(format!("an operation failed without a fault: {e}"));
        }
        // Work may have ended first.
        let struck = self.machine.disk.is_off();
        *(if struck { &mut self.report.cuts } else { &mut self.report.kills }) += 1;
        self.new_disk(Machine::restart);
        self.arm_in_recovery();
        self.come_up()
    }

    /// The process ends; its successor meets the files as they are, or a machine that was switched off meanwhile.
    fn die(&mut self) {
        self.report.kills += 1;
        if self.rng.one_in(2) {
            self.new_disk(Machine::kill);
        } else {
            self.new_disk(Machine::restart);
        }
        self.arm_in_recovery();
    }

    /// Opens the folder, through further power cuts if they are armed, and compares everything.
    fn come_up(&mut self) -> Verdict<()> {
        let mut openings = 0;
        loop {
            let stop = match self.machine.open() {
                Ok(end) => match self.opened(end)? {
                    None => {
                        self.disarm();
                        return Ok(());
                    }
                    Some(e) => e,
                },
                Err(e) => e,
            };
            openings += 1;
            if self.is_cut(&stop)? {
                self.report.cuts += 1;
                self.report.nested_cuts += 1;
                self.new_disk(Machine::restart);
                self.arm_in_recovery();
            } else if stop.class == Class::Read && self.read_fault_fired() && openings < OPENINGS_MAX {
                // The next attempt meets a healthier disk.
                if openings >= OPENINGS_MAX / 2 {
                    self.set_read_faults(0);
                }
                self.machine.stop();
            } else {
                return Err(format!("the folder does not come up: {stop}"));
            }
        }
    }

    /// Judges an opened folder that says its log ends at `end`. Gives the engine's error that stopped the check.
    fn opened(&mut self, end: vaquita_base::Lsn) -> Verdict<Option<EngineError>> {
        let (durable, issued) = (self.machine.durable, self.machine.issued);
        let found = format!("opened at LSN {end}: {:?}", self.machine.storage().report().recovery);
        self.note(&found);
        if end < durable || end > issued {
            return Err(format!(
                "the log ends at LSN {end}; up to {durable} it was durable, up to {issued} written"
            ));
        }
        (self.machine.durable, self.machine.issued) = (end, end);
        self.machine.created.retain(|_, lsn| *lsn <= end);
        self.report.torn_pages += std::mem::take(&mut self.machine.torn_pages_repaired) as u64;
        for load in &mut self.loads {
            load.settle(end);
        }
        match self.compare_all() {
            Ok(()) => Ok(None),
            Err(Stop::Wrong(text)) => Err(format!("after recovery to LSN {end}: {text}")),
            Err(Stop::Engine(e) | Stop::FileOp(e)) => Ok(Some(e)),
        }
    }

    fn compare_all(&mut self) -> Result<(), Stop> {
        self.report.checks += 1;
        let machine = &self.machine;
        for load in &mut self.loads {
            load.reopen(machine)?;
        }
        let expected: BTreeSet<SpaceId> = self.loads.iter().flat_map(|l| l.spaces()).collect();
        let found = machine.storage().spaces().all();
        // A file whose creation did not reach the log is nobody's: whoever made it finds it by its own notes.
        let dropped = |id: SpaceId| machine.created.contains_key(&id) && !expected.contains(&id);
        if let Some(extra) = found.iter().find(|s| dropped(s.id())) {
            return Err(Stop::wrong(format!("tablespace {} was dropped", extra.id())));
        }
        let mut mtr = machine.storage().begin_read();
        vaquita_storage::fsp::validate(&mut mtr, SpaceId::SYSTEM)?;
        drop(mtr);
        for load in &mut self.loads {
            load.check(machine)?;
        }
        machine.storage().pool().validate();
        Ok(())
    }

    /// A clean shutdown, perhaps with a power cut in it.
    fn close(&mut self) -> Verdict<()> {
        if self.rng.one_in(2) {
            self.arm();
        }
        let closed = self.machine.storage().close();
        self.machine.observe();
        match closed.map_err(EngineError::from) {
            Ok(()) => {
                self.disarm();
                self.close_cleanly()?;
                self.come_up()
            }
            Err(e) if self.is_cut(&e)? => {
                self.report.cuts += 1;
                self.new_disk(Machine::restart);
                self.arm_in_recovery();
                self.come_up()
            }
            Err(e) => Err(format!("the shutdown failed: {e}")),
        }
    }

    /// Shuts down and opens again: there must be nothing to recover.
    fn close_cleanly(&mut self) -> Verdict<()> {
        self.machine.storage().close().map_err(|e| format!("the shutdown failed: {e}"))?;
        self.machine.observe();
        if self.machine.durable != self.machine.issued {
            return Err("a clean shutdown left something that is not durable".into());
        }
        if self.rng.one_in(2) {
            self.new_disk(Machine::restart);
        } else {
            self.new_disk(Machine::kill);
        }
        let end = self.machine.open().map_err(|e| format!("after a clean shutdown: {e}"))?;
        if self.machine.storage().report().recovery.is_some() || end != self.machine.issued {
            return Err(format!("a clean shutdown left something to recover, from LSN {end} on"));
        }
        self.machine.stop();
        Ok(())
    }

    /// A failed write or sync: whoever asked hears of it, and the instance takes no change any more.
    fn failed_write(&mut self, fault: Fault) -> Verdict<()> {
        let reach = [3, 20, 100][self.rng.index(3)];
        self.machine.disk.inject(Injection::new(fault).after(self.rng.below(reach)));
        let fired_before = self.machine.disk.fired().len();
        for _ in 0..STEPS_MAX {
            let worked = self.work(1, true)?;
            let fired = self.machine.disk.fired().len() > fired_before;
            match worked {
                Worked::Done if !fired => {}
                // Writing for the sake of somebody who did not ask for it, as read-ahead does.
                Worked::Done if self.refuses_changes(fault)? => break,
                Worked::Done => return Err(format!("{fault:?} struck, and nobody was told")),
                Worked::Stopped(e, _) if !fired => {
                    return Err(format!("an operation failed without a fault: {e}"));
                }
                Worked::Stopped(e, file_op) => {
                    self.judge_failed_write(fault, &e, file_op)?;
                    break;
                }
            }
        }
        self.machine.disk.clear_injections();
        self.die();
        self.come_up()
    }

    fn judge_failed_write(&mut self, fault: Fault, e: &EngineError, file_op: bool) -> Verdict<()> {
        if !matches!(e.class, Class::Write | Class::Poisoned) {
            return Err(format!("{fault:?} struck, but the engine says: {e}"));
        }
        if !self.refuses_changes(fault)? {
            return if file_op { Ok(()) } else { Err(format!("after {fault:?} ({e}) changes are accepted")) };
        }
        // Whatever is tried now, nothing more becomes durable, and it stays so.
        let durable = self.machine.storage().log().flushed_lsn();
        for _ in 0..30 {
            if let Err(Stop::Wrong(text)) = self.step() {
                return Err(text);
            }
        }
        if self.machine.storage().close().is_ok() {
            return Err(format!("after {fault:?} the shutdown claims to be clean"));
        }
        let log_failed = self.machine.storage().log().failure().is_some();
        if log_failed && self.machine.storage().log().flushed_lsn() != durable {
            return Err(format!("after {fault:?} of the log, more was reported durable"));
        }
        if self.refuses_changes(fault)? {
            Ok(())
        } else {
            Err(format!("after {fault:?} changes are accepted again"))
        }
    }

    fn refuses_changes(&self, fault: Fault) -> Verdict<bool> {
        match self.machine.storage().begin().map_err(EngineError::from) {
            Err(e) if e.class == Class::Poisoned => Ok(true),
            Err(e) => Err(format!("after {fault:?} the engine says: {e}")),
            Ok(_) => Ok(false),
        }
    }

    fn set_read_faults(&mut self, one_in: u64) {
        self.machine.disk.set_rate(Fault::ReadError, one_in);
        self.machine.disk.set_rate(Fault::ShortRead, one_in * 2);
    }

    fn read_fault_fired(&self) -> bool {
        self.machine.disk.fired().iter().any(|f| matches!(f.fault, Fault::ReadError | Fault::ShortRead))
    }

    /// Reads that fail: an error for whoever asked, nothing else; the next attempt may succeed.
    fn failed_reads(&mut self) -> Verdict<()> {
        let one_in = [3, 20, 100][self.rng.index(3)];
        self.set_read_faults(one_in);
        let fired_before = self.machine.disk.fired().len();
        for _ in 0..STEPS_MAX {
            if let Worked::Stopped(e, _) = self.work(1, true)? {
                if e.class != Class::Read || self.machine.disk.fired().len() == fired_before {
                    return Err(format!("reads fail, but the engine says: {e}"));
                }
                self.machine
                    .storage()
                    .begin()
                    .map_err(|e| format!("after a failed read no change is accepted: {e}"))?;
            }
        }
        self.set_read_faults(0);
        self.work(30, false)?;
        self.check_now("after failed reads")?;
        let one_in = [20, 200][self.rng.index(2)];
        self.set_read_faults(one_in);
        self.die();
        self.come_up()?;
        self.set_read_faults(0);
        self.check_now("after failed reads in recovery")
    }

    /// Compares everything while the instance runs.
    fn check_now(&mut self, when: &str) -> Verdict<()> {
        self.compare_all().map_err(|stop| format!("{when}: {stop}"))
    }

    /// No space for a while: an error for whoever asks for space, nothing is lost, and afterwards all is well.
    fn no_space(&mut self) -> Verdict<()> {
        let disk = self.machine.disk.clone();
        disk.set_capacity(Some(disk.used() + self.rng.below(8) * 4096));
        for _ in 0..STEPS_MAX {
            if let Worked::Stopped(e, _) = self.work(1, true)? {
                if e.class != Class::NoSpace {
                    return Err(format!("the disk is full, but the engine says: {e}"));
                }
                self.machine
                    .storage()
                    .begin()
                    .map_err(|e| format!("on a full disk no change is accepted: {e}"))?;
            }
        }
        if self.rng.one_in(2) {
            self.check_now("on a full disk")?;
            disk.set_capacity(None);
        } else {
            // A crash on a full disk: what is there is enough to come up with, or else more space is.
            self.die();
            self.machine.disk.set_capacity(None);
            self.come_up()?;
        }
        self.work(60, false)?;
        self.check_now("with space again")
    }

    /// Bits turn over in pages that the models know: each is reported when it is read, none is served.
    fn bit_rot(&mut self) -> Verdict<()> {
        self.work(100, false)?;
        self.machine.storage().flush_everything().map_err(|e| format!("cannot flush: {e}"))?;
        for _ in 0..8 {
            let load = self.rng.index(self.loads.len());
            let Some(page) = self.loads[load].some_page(&mut self.rng) else { continue };
            let at = self.rng.index(self.scenario.page_size.physical());
            // The flush LSN is covered by no checksum and used on page 0 of the system tablespace only.
            if !self.machine.storage().pool().contains(page) && !(26..34).contains(&at) {
                self.rot(page, at)?;
            }
        }
        self.live_with_damage()
    }

    fn rot(&mut self, page: PageId, at: usize) -> Verdict<()> {
        let bytes = self.scenario.page_size.physical();
        let offset = u64::from(page.page_no.get()) * bytes as u64 + at as u64;
        let bit = self.rng.below(8) as u8;
        if !self.machine.disk.rot(&space_path(page.space), offset, bit) {
            return Ok(());
        }
        *self.report.faults.entry(Fault::BitRot).or_default() += 1;
        self.machine.suspects.insert(page);
        self.expect_reported(page, &format!("bit {bit} of byte {at} turned over"))
    }

    /// Reading the page from its file gives an error that names it.
    fn expect_reported(&mut self, page: PageId, what: &str) -> Verdict<()> {
        match self.machine.storage().pool().get_shared(page) {
            Ok(_) => Err(format!("page {page} is served, although {what}")),
            Err(vaquita_storage::Error::Page { page: named, .. }) if named == page => Ok(()),
            Err(e) => Err(format!("page {page}: {what}, but the engine says: {e}")),
        }
    }

    /// Goes on with damaged pages, through a crash: errors must say what is wrong, answers must be right.
    fn live_with_damage(&mut self) -> Verdict<()> {
        for _ in 0..60 {
            if let Worked::Stopped(e, _) = self.work(1, true)? {
                self.judge_damage(&e)?;
            }
        }
        self.die();
        self.disarm();
        match self.machine.open() {
            Err(e) => self.judge_damage(&e),
            Ok(end) => match self.opened(end)? {
                Some(e) => self.judge_damage(&e),
                None => Ok(()),
            },
        }
    }

    fn judge_damage(&self, e: &EngineError) -> Verdict<()> {
        let named = e.page.is_some_and(|p| self.machine.suspects.iter().any(|s| s.space == p.space));
        if e.class == Class::Corruption && named {
            return Ok(());
        }
        Err(format!("pages {:?} are damaged, but the engine says: {e}", self.machine.suspects))
    }

    /// A write goes astray: the page it hits is reported; the page it missed is old, and nobody can know.
    fn misdirected(&mut self) -> Verdict<()> {
        self.machine.disk.set_trace(true);
        self.machine
            .disk
            .inject(Injection::new(Fault::MisdirectedWrite).on_path(".ibd").after(self.rng.below(20)));
        for _ in 0..STEPS_MAX {
            let worked = self.work(1, true)?;
            let fired = self.machine.disk.fired();
            let Some(f) = fired.iter().find(|f| f.fault == Fault::MisdirectedWrite) else {
                if let Worked::Stopped(e, _) = worked {
                    return Err(format!("an operation failed without a fault: {e}"));
                }
                continue;
            };
            let trace = self.machine.disk.trace();
            let missed = trace.iter().find(|t| t.op == f.op).and_then(|t| t.range).map(|(at, _)| at);
            let hit = f.range.map(|(at, _)| at);
            let bytes = self.scenario.page_size.physical() as u64;
            let space = f.path.file_stem().and_then(|s| s.to_str()?.strip_prefix('t')?.parse().ok());
            let space = SpaceId(space.ok_or("the file of a tablespace has its number in its name")?);
            for offset in [missed, hit].into_iter().flatten() {
                self.machine.suspects.insert(PageId::new(space, PageNo((offset / bytes) as u32)));
            }
            if let Worked::Stopped(e, _) = worked {
                self.judge_damage(&e)?;
            }
            self.expect_hit_reported(space, hit.unwrap_or(0), f.op)?;
            return self.live_with_damage();
        }
        Ok(())
    }

    fn expect_hit_reported(&mut self, space: SpaceId, hit: u64, op: u64) -> Verdict<()> {
        let bytes = self.scenario.page_size.physical() as u64;
        let page = PageId::new(space, PageNo((hit / bytes) as u32));
        let trace = self.machine.disk.trace();
        let path = space_path(space);
        let again =
            trace.iter().any(|t| t.op > op && t.path == path && t.range.is_some_and(|(at, _)| at == hit));
        let gone = !self.machine.storage().spaces().contains(space);
        if again || gone || self.machine.storage().pool().contains(page) {
            return Ok(());
        }
        self.expect_reported(page, "another page was written to its place")
    }
}
