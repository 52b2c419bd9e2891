//! `vaquita-siege BINARY SECONDS`: a server under siege, and beside it one that is killed again and again.
#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use vaquita_siege::{Failure, crashes, siege};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let ([binary, seconds], Some(Ok(time))) = (words.as_slice(), words.get(1).map(|s| s.parse::<u64>()))
    else {
        eprintln!("usage: vaquita-siege BINARY SECONDS");
        return ExitCode::from(2);
    };
    let _ = seconds;
    match run(Path::new(binary), Duration::from_secs(time)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("{e}");
            ExitCode::FAILURE
        }
    }
}

fn run(binary: &Path, time: Duration) -> Result<(), Failure> {
    let dir = std::env::temp_dir().join(format!("vaquita-siege-{}", std::process::id()));
    std::fs::create_dir_all(&dir)?;
    let (besieged, killed): (PathBuf, PathBuf) = (dir.join("besieged"), dir.join("killed"));
    let (report, kills) = std::thread::scope(|scope| {
        let killer = scope.spawn(|| crashes(binary, &killed, time));
        let report = siege(binary, &besieged, time, &mut std::io::stdout());
        if let Err(e) = &report {
            // At once: the killer has its full time.
            println!("the siege has ended early: {e}");
        }
        (report, killer.join())
    });
    let report = report?;
    let kills = kills.map_err(|_| Failure("the killer panicked".into()))??;
    println!(
        "{} abuses, {} transfers, {} counted, {kills} kills: nothing is lost, nothing grows",
        report.abuses, report.moved, report.counted
    );
    Ok(std::fs::remove_dir_all(dir)?)
}
