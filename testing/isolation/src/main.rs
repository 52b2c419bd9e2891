//! `vaquita-isolation`: records golden files from the real server, plays scripts, checks random histories for long.
#![forbid(unsafe_code)]

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use vaquita_isolation::engine::{EngineDatabase, EngineServer};
use vaquita_isolation::history::violations;
use vaquita_isolation::mysql::{self, MysqlServer};
use vaquita_isolation::workload::{Settings, Workload, run_threads};
use vaquita_isolation::{Level, golden, script};

const USAGE: &str = "\
usage: vaquita-isolation record [SCRIPT..]     write golden files from a real MySQL 5.6.24
       vaquita-isolation play [SCRIPT..]       play scripts on the engine, show where it differs
       vaquita-isolation play-at SOCKET [SCRIPT..]     play scripts in SQL on a Vaquita server, show where it differs
       vaquita-isolation compare N [SEED]      play N random scripts on both and compare
       vaquita-isolation compare-at SOCKET N [SEED]    play N random scripts on both in SQL, ours a Vaquita server
       vaquita-isolation histories SECONDS     check random histories of the engine for so long";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["record", names @ ..] => record(names),
        ["play", names @ ..] => play(names),
        ["play-at", socket, names @ ..] => play_at(Path::new(socket), names),
        ["compare-at", socket, count, rest @ ..] => {
            let seed = rest.first().map_or(Ok(1), |seed| seed.parse());
            match (count.parse(), seed) {
                (Ok(count), Ok(seed)) => compare_at(Path::new(socket), count, seed),
                _ => Err("compare-at takes numbers".into()),
            }
        }
        ["compare", count, rest @ ..] => {
            let seed = rest.first().map_or(Ok(1), |seed| seed.parse());
            match (count.parse(), seed) {
                (Ok(count), Ok(seed)) => compare(count, seed),
                _ => Err("compare takes numbers".into()),
            }
        }
        ["histories", seconds] => match seconds.parse() {
            Ok(seconds) => histories(Duration::from_secs(seconds)),
            Err(_) => Err(format!("{seconds} is no number of seconds")),
        },
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(text) => {
            eprintln!("vaquita-isolation: {text}");
            ExitCode::FAILURE
        }
    }
}

/// Plays the named scripts, or all, on the real server and writes what happened.
fn record(names: &[&str]) -> Result<(), String> {
    let peer = mysql::start()?;
    let mut server = MysqlServer::connect_to(&peer.socket())?;
    let (mut played, mut changed) = (0, 0);
    for script in script::all()? {
        if !names.is_empty() && !names.contains(&script.name.as_str()) {
            continue;
        }
        for level in Level::ALL {
            let transcript = script::play(&script, level, &mut server)?;
            played += 1;
            if golden::write(&script, level, &transcript)? {
                changed += 1;
                println!("{} at {level}: changed", script.name);
            }
        }
    }
    println!("{played} recordings, {changed} golden files changed");
    Ok(())
}

/// Plays the named scripts, or all, on the engine and compares.
fn play(names: &[&str]) -> Result<(), String> {
    let mut server = EngineServer::open()?;
    let (mut played, mut different) = (0, 0);
    for script in script::all()? {
        if !names.is_empty() && !names.contains(&script.name.as_str()) {
            continue;
        }
        for level in Level::ALL {
            let golden = golden::read(&script.name, level)?;
            server.follow(&golden);
            played += 1;
            let difference = match script::play(&script, level, &mut server) {
                Ok(transcript) => golden::difference(&golden, &transcript.to_string()),
                Err(e) => Some(e),
            };
            if let Some(text) = difference {
                different += 1;
                println!("{} at {level}: {text}", script.name);
            }
        }
    }
    println!("{played} plays");
    if different == 0 { Ok(()) } else { Err(format!("{different} of {played} plays differ")) }
}

/// Plays the named scripts, or all, in SQL on a server of ours, and compares.
fn play_at(socket: &Path, names: &[&str]) -> Result<(), String> {
    let mut server = MysqlServer::connect_to(socket)?.asked_often();
    let compared = golden::compare(&mut server, |script| names.is_empty() || names.contains(&script))?;
    compared.wrong.iter().for_each(|text| println!("{text}"));
    compared.other_plan.iter().for_each(|text| println!("other plan: {text}"));
    println!("{} plays, {} after another plan", compared.plays, compared.other_plan.len());
    if compared.wrong.is_empty() { Ok(()) } else { Err(format!("{} plays differ", compared.wrong.len())) }
}

/// Plays random scripts on the real server and, in SQL, on a server of ours, and compares.
fn compare_at(socket: &Path, count: u64, from: u64) -> Result<(), String> {
    let peer = mysql::start()?;
    let mut original = MysqlServer::connect_to(&peer.socket())?;
    let mut server = MysqlServer::connect_to(socket)?.asked_often();
    let compared = golden::compare_random(&mut original, &mut server, from..from + count)?;
    compared.wrong.iter().for_each(|text| println!("{text}"));
    compared.other_plan.iter().for_each(|text| println!("other plan: {text}"));
    let (plays, races, other) = (compared.plays, compared.races, compared.other_plan.len());
    println!("{plays} plays, {other} after another plan, {races} left out for races");
    if compared.wrong.is_empty() { Ok(()) } else { Err(format!("{} plays differ", compared.wrong.len())) }
}

/// Plays random scripts on the real server and on the engine, each at one level, and compares.
///
/// Where the real server let two sessions go on at once, what follows depends on who was faster: such a script is left out
/// unless both servers happen to agree.
fn compare(count: u64, from: u64) -> Result<(), String> {
    let peer = mysql::start()?;
    let mut original = MysqlServer::connect_to(&peer.socket())?;
    let mut engine = EngineServer::open()?;
    let (mut different, mut left_out) = (0, 0);
    for seed in from..from + count {
        let script = script::random(seed);
        let level = Level::ALL[(seed % 4) as usize];
        let recorded = script::play(&script, level, &mut original)?;
        let golden = recorded.to_string();
        engine.follow(&golden);
        let played =
            script::play(&script, level, &mut engine).map_or_else(|e| e, |played| played.to_string());
        let Some(text) = golden::difference(&golden, &played) else { continue };
        if recorded.has_race() {
            left_out += 1;
            continue;
        }
        different += 1;
        println!("seed {seed} at {level}: {text}\n--- all of golden\n{golden}");
        println!("--- last deadlock of the engine\n{}", engine.last_deadlock().unwrap_or_default());
    }
    println!("{count} scripts, {left_out} left out for races");
    if different == 0 { Ok(()) } else { Err(format!("{different} of {count} scripts differ")) }
}

/// Runs of both workloads at all levels, with new seeds, until the time is over.
fn histories(time: Duration) -> Result<(), String> {
    let until = Instant::now() + time;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_err(|e| e.to_string())?;
    let mut seed = now.as_nanos() as u64;
    let database = EngineDatabase::open()?;
    let (mut runs, mut committed, mut aborted) = (0, 0, 0);
    while Instant::now() < until {
        for workload in [Workload::ListAppend, Workload::Registers] {
            for level in Level::ALL {
                seed += 1;
                let time = Duration::from_secs(3);
                let settings = Settings { workload, level, sessions: 8, seed, transactions: 20_000, time };
                let history = run_threads(&database, &settings)
                    .map_err(|e| format!("seed {seed}, {workload:?} at {level}: {e}"))?;
                let found: Vec<String> = violations(&history).iter().map(ToString::to_string).collect();
                if !found.is_empty() {
                    return Err(format!("seed {seed}, {workload:?} at {level}:\n{}", found.join("\n")));
                }
                runs += 1;
                committed += history.committed();
                aborted += history.txns.len() - history.committed();
            }
        }
    }
    println!(
        "{runs} histories, {committed} transactions committed, {aborted} rolled back: nothing forbidden"
    );
    Ok(())
}
