//! Many seeds in worker processes, one for each core.
//!
//! A worker says on its standard output which seed it begins and what came of it. A panic, an abort or an endless
//! loop of the engine takes the worker with it; the supervisor knows the seed.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};
use vaquita_sim::{Report, Simulator};

/// A seed that takes longer is in an endless loop.
const SEED_SECONDS_MAX: u64 = 120;
/// How often progress is told.
const PROGRESS: Duration = Duration::from_secs(10);
/// Failures after which it is enough.
const FAILURES_MAX: usize = 5;

/// The worker's part: one seed after the other, until it is killed.
pub(crate) fn work(from: u64, step: u64) -> Result<(), String> {
    let mut simulator = Simulator::new();
    let mut seed = from;
    loop {
        println!("begin {seed}");
        match simulator.run_seed(seed) {
            Ok(report) => println!("done {seed} {}", report.to_line()),
            Err(failure) => {
                // One line: the supervisor reads lines.
                println!("failed {seed} {}", failure.to_string().replace('\n', "\u{1}"));
            }
        }
        seed += step;
    }
}

/// When a run has done enough.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Limit {
    /// After so many power cuts.
    Cuts(u64),
    /// After this time.
    Seconds(u64),
}

/// What a worker says.
enum Said {
    Begin(u64),
    Done(Box<Report>),
    Failed(String),
    Gone,
}

struct Worker {
    child: Child,
    seed: u64,
    since: Instant,
}

fn start(no: usize, from: u64, step: u64, said: &Sender<(usize, Said)>) -> Result<Worker, String> {
    let exe = std::env::current_exe().map_err(|e| e.to_string())?;
    let mut child = Command::new(exe)
        .args(["worker", &from.to_string(), &step.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|e| format!("cannot start a worker: {e}"))?;
    let output = child.stdout.take().expect("it is piped");
    let said = said.clone();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            let (word, rest) = line.split_once(' ').unwrap_or((&line, ""));
            let message = match word {
                "begin" => rest.parse().ok().map(Said::Begin),
                "done" => rest
                    .split_once(' ')
                    .and_then(|(_, r)| Report::from_line(r))
                    .map(|r| Said::Done(Box::new(r))),
                "failed" => Some(Said::Failed(rest.replace('\u{1}', "\n"))),
                _ => None,
            };
            if message.is_some_and(|m| said.send((no, m)).is_err()) {
                return;
            }
        }
        // Nobody listens any more when the run is over.
        let _ = said.send((no, Said::Gone));
    });
    Ok(Worker { child, seed: from, since: Instant::now() })
}

/// Runs seeds from `from` on until the limit is reached.
pub(crate) fn run(limit: Limit, from: u64) -> Result<(), String> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    println!("torture: {limit:?}, seeds from {from} on, {cores} workers");
    let (sender, receiver) = channel();
    let workers = (0..cores).map(|no| start(no, from + no as u64, cores as u64, &sender));
    let mut workers: Vec<Worker> = workers.collect::<Result<_, _>>()?;
    let outcome = supervise(&mut workers, limit, &sender, &receiver);
    for worker in &mut workers {
        // Dead already, or about to be.
        let _ = worker.child.kill();
        let _ = worker.child.wait();
    }
    outcome
}

fn supervise(
    workers: &mut [Worker],
    limit: Limit,
    sender: &Sender<(usize, Said)>,
    receiver: &Receiver<(usize, Said)>,
) -> Result<(), String> {
    let (started, mut told) = (Instant::now(), Instant::now());
    let (mut total, mut seeds, mut failures) = (Report::default(), 0_u64, Vec::new());
    let step = workers.len() as u64;
    let done = |total: &Report| match limit {
        Limit::Cuts(wanted) => total.cuts >= wanted,
        Limit::Seconds(seconds) => started.elapsed().as_secs() >= seconds,
    };
    while !done(&total) && failures.len() < FAILURES_MAX {
        let mut lost = None;
        match receiver.recv_timeout(Duration::from_secs(1)) {
            Ok((no, Said::Begin(seed))) => (workers[no].seed, workers[no].since) = (seed, Instant::now()),
            Ok((_, Said::Done(report))) => {
                total.add(&report);
                seeds += 1;
            }
            Ok((_, Said::Failed(text))) => failures.push(text),
            Ok((no, Said::Gone)) => lost = Some((no, "the engine ended the process")),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err("all workers are gone".into()),
        }
        let stuck = workers.iter().position(|w| w.since.elapsed().as_secs() > SEED_SECONDS_MAX);
        if let Some((no, why)) = lost.or(stuck.map(|no| (no, "it does not end"))) {
            let seed = workers[no].seed;
            failures
                .push(format!("{seed}: {why}\nagain: cargo run --release -p vaquita-sim -- --seed {seed}"));
            let _ = workers[no].child.kill();
            let _ = workers[no].child.wait();
            workers[no] = start(no, seed + step, step, sender)?;
        }
        if told.elapsed() > PROGRESS {
            told = Instant::now();
            println!("{:4.0} s: {seeds} seeds, {total}", started.elapsed().as_secs_f64());
        }
    }
    println!("{:.0} s: {seeds} seeds, {total}", started.elapsed().as_secs_f64());
    if failures.is_empty() {
        return Ok(());
    }
    Err(format!("{} seeds failed:\nseed {}", failures.len(), failures.join("\nseed ")))
}
