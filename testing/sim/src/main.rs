//! `torture`: simulation and kills for a long time, or one seed again.
#![forbid(unsafe_code)]

mod supervise;

use std::process::ExitCode;
use supervise::Limit;
use vaquita_sim::database::{DatabaseReport, DatabaseSimulator};
use vaquita_sim::{Scenario, Simulator, kill9};

const USAGE: &str = "\
usage: torture                        20,000 power cuts, 1,000 amid rebuilds, then 50 kills of a real process
       torture cuts N [--from SEED]   N power cuts
       torture seconds N              power cuts for so long
       torture kills N [--from SEED]  N kills of a real process
       torture databases N [--from SEED]
                                      N power cuts of the whole engine: tables, transactions, DDL
       torture rebuilds N [--from SEED]
                                      N power cuts and kills amid tables that are written anew
       torture --seed SEED            one scenario of the simulation again
       torture --database-seed SEED   one of the whole engine";

/// Power cuts and kills of a whole run.
const CUTS: u64 = 20_000;
const REBUILD_CUTS: u64 = 1_000;
const KILLS: u64 = 50;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match run(&words) {
        Some(Ok(())) => ExitCode::SUCCESS,
        Some(Err(text)) => {
            eprintln!("torture: {text}");
            ExitCode::FAILURE
        }
        None => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

/// `None`: not understood.
fn run(words: &[&str]) -> Option<Result<(), String>> {
    Some(match words {
        [] => {
            let from = new_seed();
            supervise::run(Limit::Cuts(CUTS), from)
                .and_then(|()| rebuilds(from, REBUILD_CUTS))
                .and_then(|()| kills(KILLS, from))
        }
        ["cuts", n] => supervise::run(Limit::Cuts(n.parse().ok()?), new_seed()),
        ["cuts", n, "--from", seed] => supervise::run(Limit::Cuts(n.parse().ok()?), seed.parse().ok()?),
        ["seconds", n] => supervise::run(Limit::Seconds(n.parse().ok()?), new_seed()),
        ["kills", n] => kills(n.parse().ok()?, new_seed()),
        ["kills", n, "--from", seed] => kills(n.parse().ok()?, seed.parse().ok()?),
        ["--seed", seed] => one(seed.parse().ok()?),
        ["--database-seed", seed] => database(seed.parse().ok()?),
        ["databases", n, "--from", seed] => databases(seed.parse().ok()?, n.parse().ok()?),
        ["databases", n] => databases(new_seed(), n.parse().ok()?),
        ["rebuilds", n, "--from", seed] => rebuilds(seed.parse().ok()?, n.parse().ok()?),
        ["rebuilds", n] => rebuilds(new_seed(), n.parse().ok()?),
        ["worker", from, step] => supervise::work(from.parse().ok()?, step.parse().ok()?),
        ["database-child", rest @ ..] => vaquita_sim::database::kill9::child(rest),
        ["child", rest @ ..] => kill9::child(rest),
        _ => return None,
    })
}

fn one(seed: u64) -> Result<(), String> {
    println!("{}", Scenario::new(seed));
    let report = Simulator::new().run_seed(seed).map_err(|failure| failure.to_string())?;
    println!("{report}");
    Ok(())
}

/// Scenarios of the whole engine, one seed after the other, until there were so many power cuts.
fn databases(from: u64, cuts: u64) -> Result<(), String> {
    let mut simulator = DatabaseSimulator::new();
    let mut report = DatabaseReport::default();
    let mut seed = from;
    while report.cuts < cuts {
        report.add(&simulator.run_seed(seed).map_err(|failure| failure.to_string())?);
        seed += 1;
    }
    println!("{report}");
    Ok(())
}

/// Scenarios of tables that are written anew, until there were so many power cuts and kills.
fn rebuilds(from: u64, cuts: u64) -> Result<(), String> {
    let (mut seed, mut done) = (from, 0);
    while done < cuts {
        done += vaquita_sim::rebuilds::run_seed(seed)?.cuts;
        seed += 1;
    }
    println!("rebuilds: {done} power cuts and kills, seeds {from} to {seed}");
    Ok(())
}

/// One of them again.
fn database(seed: u64) -> Result<(), String> {
    println!("{}", DatabaseSimulator::new().run_seed(seed).map_err(|failure| failure.to_string())?);
    Ok(())
}

fn kills(n: u64, seed: u64) -> Result<(), String> {
    let exe = std::env::current_exe().map_err(|e| e.to_string())?;
    let report = kill9::rounds(&exe, n, seed)?;
    println!("{report}");
    let durable = vaquita_sim::database::kill9::rounds(&exe, n, seed)?;
    println!("{n} kills -9 of databases, {durable} durable transactions");
    Ok(())
}

/// A place to start from that no run before had: every run sees other scenarios.
fn new_seed() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::collections::hash_map::RandomState::new().build_hasher().finish() >> 24
}
