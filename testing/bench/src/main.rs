//! `vaquita-bench compare [ROWS [RUNS [WORKLOAD]]]`: every workload on every engine. Run it in release.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use vaquita_bench::report::{Row, machine, table};
use vaquita_bench::workload::{self, Scratch, Workload};
use vaquita_bench::{Failure, engines};

const USAGE: &str =
    "usage: vaquita-bench compare [ROWS [RUNS [WORKLOAD]]]   (1000000 rows, 3 runs, all workloads)";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["compare", rest @ ..] if rest.len() <= 3 => compare(rest),
        _ => Err(USAGE.into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("{e}");
            ExitCode::FAILURE
        }
    }
}

fn compare(words: &[&str]) -> Result<(), Failure> {
    let rows: u64 = words.first().unwrap_or(&"1000000").parse()?;
    let runs: u32 = words.get(1).unwrap_or(&"3").parse()?;
    let wanted = |workload: &&Workload| words.get(2).is_none_or(|name| workload.name.contains(name));
    let scratch = Scratch::new()?;
    println!("{rows} rows of 8 + 100 bytes, median of {runs} runs; {}", machine(scratch.path()));
    for workload in workload::ALL.iter().filter(wanted) {
        let mut row = Row { workload: workload.name, rates: Vec::new() };
        row.rates.extend(engines::ALL.iter().map(|engine| (engine.name, Vec::new())));
        // Engine after engine in each run, so that a slow minute of the machine hits all alike.
        for _ in 0..runs {
            for (engine, (_, rates)) in engines::ALL.iter().zip(&mut row.rates) {
                rates.push(workload.run(engine, rows)?);
            }
        }
        print!("{}", table(&[row]));
    }
    Ok(())
}
