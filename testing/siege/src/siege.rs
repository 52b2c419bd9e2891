//! All of it at once, for a time.

use crate::items::{self, Counted};
use crate::{ABUSES, Abuse, Failure, OPTIONS, Target, Vitals, has_grown, load, prepare, sure};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};
use vaquita_base::Rng;
use vaquita_clients::Vaquita;
use vaquita_clients::wire::Wire;

/// What a siege saw.
#[derive(Debug, Default)]
pub struct Report {
    /// At rest after each round.
    pub curve: Vec<Vitals>,
    /// Abuses done.
    pub abuses: u64,
    /// Transfers done beside them.
    pub moved: u64,
    /// What was added by memcached's protocol beside them.
    pub counted: u64,
}

/// Sessions that move money.
const SESSIONS: u64 = 4;
/// Sessions that count.
const COUNTERS: u64 = 2;

/// Besieges a fresh server for a time, in rounds of all abuses beside load; looks at it at rest after each round.
///
/// # Errors
/// An answer is wrong, money is lost, the server ends, something grows.
pub fn siege(
    binary: &Path,
    dir: &Path,
    time: Duration,
    out: &mut dyn std::io::Write,
) -> Result<Report, Failure> {
    let mut server = Vaquita::start_with_memcached(binary, dir, &OPTIONS)?;
    let (port, memcached) = (server.port(), server.memcached_port());
    prepare(port)?;
    load::prepare(port)?;
    items::prepare(memcached)?;
    let begun = Instant::now();
    let mut report = Report::default();
    let mut rng = Rng::new(0x51E6E);
    // A warm-up, and two looks to compare.
    while begun.elapsed() < time || report.curve.len() < 3 {
        let target = Target { port, memcached, seed: rng.next_u64() };
        let added = round(&target, &mut report)?;
        sure(added.unsure == 0, || "a session that counted was left without an answer".into())?;
        load::check(port)?;
        report.counted = items::check(port, report.counted, added)?;
        let vitals = at_rest(&server)?;
        writeln!(
            out,
            "{:>6} s  {:>8} KiB  {:>4} files  {:>4} threads  {:>3} sessions  {:>7} abuses  {:>8} transfers  {:>8} counted",
            begun.elapsed().as_secs(),
            vitals.resident_kib,
            vitals.files,
            vitals.threads,
            vitals.sessions,
            report.abuses,
            report.moved,
            report.counted
        )?;
        report.curve.push(vitals);
    }
    server.stop()?;
    let log = server.log();
    sure(!log.contains("panicked"), || format!("a thread panicked:\n{log}"))?;
    match has_grown(&report.curve) {
        None => Ok(report),
        Some(grown) => Err(Failure(grown)),
    }
}

/// Every abuse once: those that stand others beside load, two at a time, then the rest. What was counted.
fn round(target: &Target, report: &mut Report) -> Result<Counted, Failure> {
    let stop = AtomicBool::new(false);
    let done = std::thread::scope(|scope| -> Result<Done, Failure> {
        let stop = &stop;
        let load = Load::start(scope, target, stop);
        let (even, odd): (Vec<_>, Vec<_>) =
            ABUSES.iter().filter(|abuse| !abuse.alone).enumerate().partition(|(i, _)| i % 2 == 0);
        let other = scope.spawn(move || odd.into_iter().try_for_each(|(_, abuse)| one(abuse, target)));
        let first = even.into_iter().try_for_each(|(_, abuse)| one(abuse, target));
        let second = other.join();
        stop.store(true, Ordering::Relaxed);
        let done = load.end()?;
        first?;
        second.map_err(|_| Failure("an abuse panicked".into()))??;
        Ok(done)
    })?;
    report.moved += done.moved;
    ABUSES.iter().filter(|abuse| abuse.alone).try_for_each(|abuse| one(abuse, target))?;
    report.abuses += ABUSES.len() as u64;
    Ok(done.counted)
}

/// Sessions that behave.
struct Load<'scope> {
    movers: Vec<ScopedJoinHandle<'scope, Result<u64, Failure>>>,
    counters: Vec<ScopedJoinHandle<'scope, Result<Counted, Failure>>>,
}

/// What they did.
struct Done {
    moved: u64,
    counted: Counted,
}

impl<'scope> Load<'scope> {
    fn start<'env>(
        scope: &'scope Scope<'scope, 'env>,
        target: &Target,
        stop: &'scope AtomicBool,
    ) -> Load<'scope> {
        let Target { port, memcached, seed } = *target;
        let mover = |i| scope.spawn(move || load::move_money(port, seed ^ i, stop));
        let counter = |i| scope.spawn(move || items::count(memcached, seed ^ i, stop));
        Load { movers: (0..SESSIONS).map(mover).collect(), counters: (0..COUNTERS).map(counter).collect() }
    }

    fn end(self) -> Result<Done, Failure> {
        let panicked = |_| Failure("a session of the load panicked".into());
        let mut done = Done { moved: 0, counted: Counted::default() };
        for mover in self.movers {
            done.moved += mover.join().map_err(panicked)??;
        }
        for counter in self.counters {
            done.counted += counter.join().map_err(panicked)??;
        }
        Ok(done)
    }
}

fn one(abuse: &Abuse, target: &Target) -> Result<(), Failure> {
    (abuse.run)(target).map_err(|Failure(why)| Failure(format!("{}: {why}", abuse.name)))
}

/// So many looks in a row that see the same files and threads mean that nobody is at work any more.
const SAME_LOOKS: u32 = 4;

/// Waits until all sessions have ended, and what they left is cleaned up; then looks.
fn at_rest(server: &Vaquita) -> Result<Vitals, Failure> {
    let mut root = Wire::connect(server.port(), "root")?;
    let end = Instant::now() + Duration::from_secs(60);
    let (mut seen, mut looks) = (None, 0);
    loop {
        let sessions = root.query("select count(*) from information_schema.processlist")?;
        let sessions = sessions.value().and_then(|n| n.parse().ok()).unwrap_or(u64::MAX);
        let pid = server.pid().ok_or_else(|| Failure("the server is gone".into()))?;
        let vitals = Vitals::of(pid, sessions)?;
        let now = Some((vitals.files, vitals.threads));
        looks = if sessions == 1 && now == seen { looks + 1 } else { 0 };
        if looks == SAME_LOOKS || Instant::now() > end {
            return Ok(vitals);
        }
        seen = now;
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Kills a server under load again and again for a time; after each start the money is all there, and what was
/// counted. How often.
///
/// # Errors
/// Money or a number is lost, a table is broken, the server does not start.
pub fn crashes(binary: &Path, dir: &Path, time: Duration) -> Result<u64, Failure> {
    let options = ["--innodb-buffer-pool-size=16M", "--innodb-log-file-size=8M"];
    let mut server = Vaquita::start_with_memcached(binary, dir, &options)?;
    load::prepare(server.port())?;
    items::prepare(server.memcached_port())?;
    let begun = Instant::now();
    let mut rng = Rng::new(0xDEAD);
    let (mut kills, mut sum) = (0, 0);
    while begun.elapsed() < time || kills == 0 {
        let stop = AtomicBool::new(false);
        let (port, memcached) = (server.port(), server.memcached_port());
        let target = Target { port, memcached, seed: rng.next_u64() };
        let pause = Duration::from_millis(200 + rng.below(3000));
        let done = std::thread::scope(|scope| {
            let load = Load::start(scope, &target, &stop);
            std::thread::sleep(pause);
            server.kill();
            stop.store(true, Ordering::Relaxed);
            load.end()
        })?;
        kills += 1;
        server.start_again()?;
        let checked =
            load::check(server.port()).and_then(|()| items::check(server.port(), sum, done.counted));
        sum = checked
            .map_err(|Failure(why)| Failure(format!("after kill {kills}: {why}\n{}", server.log())))?;
    }
    server.stop()?;
    Ok(kills)
}
