//! Runs scenarios from the command line.
#![forbid(unsafe_code)]

use std::process::ExitCode;
use vaquita_sim::{Report, Scenario, Simulator};

const USAGE: &str = "usage: vaquita-sim --seed N | --from N --count N";

fn number(words: &[String], name: &str) -> Option<u64> {
    let at = words.iter().position(|w| w == name)?;
    words.get(at + 1)?.parse().ok()
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (from, count) = match (number(&words, "--seed"), number(&words, "--from"), number(&words, "--count"))
    {
        (Some(seed), ..) => (seed, 1),
        (None, from, Some(count)) => (from.unwrap_or(0), count),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    let mut simulator = Simulator::new();
    let mut total = Report::default();
    let mut failed = 0;
    let started = std::time::Instant::now();
    for seed in from..from + count {
        if count == 1 {
            println!("{}", Scenario::new(seed));
        }
        match simulator.run_seed(seed) {
            Ok(report) => total.add(&report),
            Err(failure) => {
                println!("{failure}");
                failed += 1;
            }
        }
    }
    println!("{total}; {:.1} s; {failed} failures", started.elapsed().as_secs_f64());
    if failed > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
