//! `vaquita-isolation`: records golden files from the real server, plays scripts, checks random histories for long.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::ops::Range;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use vaquita_isolation::engine::{EngineDatabase, EngineServer};
use vaquita_isolation::golden::Comparison;
use vaquita_isolation::history::violations;
use vaquita_isolation::mysql::{self, MysqlServer};
use vaquita_isolation::recording::{self, Recording};
use vaquita_isolation::script::{Script, Server, Transcript};
use vaquita_isolation::workload::{Settings, Workload, run_threads};
use vaquita_isolation::{Level, golden, script};

const USAGE: &str = "\
usage: vaquita-isolation record [SCRIPT..]     write golden files from a real MySQL 5.6.24
       vaquita-isolation play [SCRIPT..]       play scripts on the engine, show where it differs
       vaquita-isolation play-at SOCKET [SCRIPT..]     play scripts in SQL on a Vaquita server, show where it differs
       vaquita-isolation compare N [SEED]      play N random scripts on both and compare
       vaquita-isolation compare-at SOCKET N [SEED]    play N random scripts on both in SQL, ours a Vaquita server
       vaquita-isolation record-random FILE N [SEED]   write what the real server does with N random scripts
       vaquita-isolation compare-with FILE..           play those scripts on the engine and compare
       vaquita-isolation compare-with-at SOCKET FILE.. the same in SQL on a Vaquita server
       vaquita-isolation compare-chances N FILE..      plays each N times on the engine and on the real server: what the
                                               engine does and the real server never does
       vaquita-isolation compare-locks N [SEED]        play N random scripts on both and compare what is locked after each step
       vaquita-isolation locks LEVEL FILE..            the same with scripts of files, all told; LEVEL as in names of golden files
       vaquita-isolation histories SECONDS     check random histories of the engine for so long";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["record", names @ ..] => record(names),
        ["play", names @ ..] => EngineServer::open().and_then(|mut server| play(&mut server, names)),
        ["play-at", socket, names @ ..] => {
            sql_player(socket).and_then(|mut server| play(server.as_mut(), names))
        }
        ["compare-at", socket, rest @ ..] => {
            seeds(rest).and_then(|seeds| compare(sql_player(socket)?.as_mut(), seeds))
        }
        ["compare", rest @ ..] => seeds(rest).and_then(|seeds| compare(&mut EngineServer::open()?, seeds)),
        ["record-random", file, rest @ ..] => seeds(rest).and_then(|seeds| record_random(file, seeds)),
        ["compare-with-at", socket, files @ ..] => {
            sql_player(socket).and_then(|mut server| compare_with(server.as_mut(), files))
        }
        ["compare-with", files @ ..] => {
            EngineServer::open().and_then(|mut server| compare_with(&mut server, files))
        }
        ["compare-chances", times, files @ ..] => match times.parse() {
            Ok(times) => compare_chances(times, files),
            Err(_) => Err(format!("{times} is no number of times")),
        },
        ["compare-locks", rest @ ..] => seeds(rest).and_then(compare_locks),
        ["locks", level, files @ ..] => locks_of(level, files),
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

/// A Vaquita server, to be asked in SQL.
fn sql_player(socket: &str) -> Result<Box<dyn Server>, String> {
    Ok(Box::new(MysqlServer::connect_to(Path::new(socket))?.asked_often()))
}

/// `N [SEED]`.
fn seeds(words: &[&str]) -> Result<Range<u64>, String> {
    let number = |word: &&str| word.parse::<u64>().map_err(|_| format!("{word} is no number"));
    let (count, from) = match words {
        [count] => (number(count)?, 1),
        [count, from] => (number(count)?, number(from)?),
        _ => return Err("how many scripts, and from which seed?".into()),
    };
    Ok(from..from + count)
}

/// Plays the named scripts, or all, and compares.
fn play(server: &mut dyn Server, names: &[&str]) -> Result<(), String> {
    told(&golden::compare(server, |script| names.is_empty() || names.contains(&script))?)
}

/// Plays random scripts, each at one level, on the real server and on another one, and compares.
fn compare(server: &mut dyn Server, seeds: Range<u64>) -> Result<(), String> {
    let peer = mysql::start()?;
    let mut original = MysqlServer::connect_to(&peer.socket())?;
    told(&recording::compare_random(&mut original, server, seeds)?)
}

/// Appends to a file what the real server does with random scripts.
fn record_random(file: &str, seeds: Range<u64>) -> Result<(), String> {
    let in_file = |e: std::io::Error| format!("{file}: {e}");
    let mut out = OpenOptions::new().append(true).create(true).open(file).map_err(in_file)?;
    let peer = mysql::start()?;
    let mut original = MysqlServer::connect_to(&peer.socket())?;
    for seed in seeds {
        write!(out, "{}", Recording::make(&mut original, seed)?).map_err(in_file)?;
    }
    Ok(())
}

/// Plays the scripts of recordings on a server, and compares.
fn compare_with(server: &mut dyn Server, files: &[&str]) -> Result<(), String> {
    let mut comparison = Comparison::default();
    for file in files {
        let text = std::fs::read_to_string(file).map_err(|e| format!("{file}: {e}"))?;
        for recording in Recording::parse_all(&text)? {
            comparison.with(&recording, server);
        }
    }
    told(&comparison)
}

/// Plays the scripts of recordings many times on the real server and on the engine. Where two sessions go on at once chance
/// decides: the engine may do whatever the real server does now and then, and nothing else.
fn compare_chances(times: usize, files: &[&str]) -> Result<(), String> {
    let peer = mysql::start()?;
    let mut original = MysqlServer::connect_to(&peer.socket())?;
    let mut engine = EngineServer::open()?;
    let (mut plays, mut different) = (0, 0);
    for file in files {
        let text = std::fs::read_to_string(file).map_err(|e| format!("{file}: {e}"))?;
        for recording in Recording::parse_all(&text)? {
            let wanted = recording.outcomes(times, &mut original)?;
            let got = recording.outcomes(times, &mut engine)?;
            plays += 1;
            let counts = |all: &BTreeMap<String, usize>| all.values().copied().collect::<Vec<_>>();
            let chances = format!("{:?} against {:?}", counts(&wanted), counts(&got));
            println!("seed {}: {chances}", recording.seed);
            for (text, n) in got.iter().filter(|(text, _)| !wanted.contains_key(*text)) {
                different += 1;
                let nearest = wanted
                    .keys()
                    .max_by_key(|w| w.lines().zip(text.lines()).take_while(|(a, b)| a == b).count());
                let difference = nearest.and_then(|w| golden::difference(w, text)).unwrap_or_default();
                println!("{n} times in {times}: {difference}");
            }
        }
    }
    println!("{plays} scripts");
    if different == 0 {
        Ok(())
    } else {
        Err(format!("{different} outcomes that the real server does not have"))
    }
}

/// What the original and the engine have locked after each step of a script.
struct Locked {
    transcript: Transcript,
    wanted: String,
    got: String,
}

impl Locked {
    fn play(
        script: &Script,
        level: Level,
        original: &mut MysqlServer,
        engine: &mut EngineServer,
    ) -> Result<Locked, String> {
        let (transcript, wanted) = script::play_with_locks(script, level, original)?;
        engine.follow(&transcript.to_string());
        let got = script::play_with_locks(script, level, engine);
        let got = got.map_or_else(|e| e, |(_, locks)| locks);
        Ok(Locked { transcript, wanted, got })
    }

    /// Everything, for a person.
    fn tell(&self, original: &mut MysqlServer, engine: &mut EngineServer) -> Result<(), String> {
        let Locked { transcript, wanted, got } = self;
        println!("--- all\n{transcript}--- locks of the original\n{wanted}--- locks of the engine\n{got}");
        println!("--- deadlock of the original\n{}", original.last_deadlock()?);
        println!("--- deadlock of the engine\n{}", engine.last_deadlock()?);
        Ok(())
    }
}

/// Plays random scripts on the real server and on the engine, and compares what is locked after each step.
fn compare_locks(seeds: Range<u64>) -> Result<(), String> {
    let peer = mysql::start()?;
    let mut original = MysqlServer::connect_to(&peer.socket())?;
    let mut engine = EngineServer::open()?;
    let (mut different, mut races) = (0, 0);
    let count = seeds.end - seeds.start;
    for seed in seeds {
        let (script, level) = (script::random(seed), recording::level(seed));
        let locked = Locked::play(&script, level, &mut original, &mut engine)?;
        if count == 1 {
            locked.tell(&mut original, &mut engine)?;
        }
        let Some(text) = golden::difference(&locked.wanted, &locked.got) else { continue };
        if (Recording { seed, text: locked.transcript.to_string() }).lines_before_race().is_some() {
            races += 1;
            continue;
        }
        different += 1;
        println!("seed {seed} at {level}: {text}");
    }
    println!("{count} plays, {races} left out for races");
    if different == 0 { Ok(()) } else { Err(format!("{different} plays differ in their locks")) }
}

/// Plays scripts of files on the real server and on the engine, and tells what is locked after each step.
fn locks_of(level: &str, files: &[&str]) -> Result<(), String> {
    let level = Level::ALL.into_iter().find(|known| known.file_name() == level);
    let level =
        level.ok_or("a level is one of read-uncommitted, read-committed, repeatable-read, serializable")?;
    let peer = mysql::start()?;
    let mut original = MysqlServer::connect_to(&peer.socket())?;
    let mut engine = EngineServer::open()?;
    let mut different = 0;
    for file in files {
        let text = std::fs::read_to_string(file).map_err(|e| format!("{file}: {e}"))?;
        let locked = Locked::play(&Script::parse(file, &text)?, level, &mut original, &mut engine)?;
        locked.tell(&mut original, &mut engine)?;
        if let Some(text) = golden::difference(&locked.wanted, &locked.got) {
            println!("{file} at {level}: {text}");
            different += 1;
        }
    }
    if different == 0 { Ok(()) } else { Err(format!("{different} plays differ in their locks")) }
}

/// Says how plays went.
fn told(compared: &Comparison) -> Result<(), String> {
    compared.wrong.iter().for_each(|text| println!("{text}"));
    compared.other_plan.iter().for_each(|text| println!("other plan: {text}"));
    let (plays, races, other) = (compared.plays, compared.races, compared.other_plan.len());
    println!("{plays} plays, {other} after another plan, {races} left out for races");
    if compared.wrong.is_empty() { Ok(()) } else { Err(format!("{} plays differ", compared.wrong.len())) }
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
