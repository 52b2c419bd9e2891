//! `vaquita-isolation`: records golden files from the real server, plays scripts, checks random histories for long.
#![forbid(unsafe_code)]

use std::process::ExitCode;
use vaquita_isolation::mysql::{self, MysqlServer};
use vaquita_isolation::{Level, golden, script};

const USAGE: &str = "\
usage: vaquita-isolation record [SCRIPT..]     write golden files from a real MySQL 5.6.24";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["record", names @ ..] => record(names),
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
