//! `vaquita-bench oltp`: sysbench's workloads on Vaquita, MySQL 5.6.24 and MariaDB 10.11, in the same run with equal
//! settings: queries per second, 95th percentile, server CPU per query. Or an older binary of ours beside this one.
//!
//! The load generator runs beside the servers and takes its share of the same cores, as it does for all. Servers take
//! turns in every row, so that a slow minute of the machine hits all alike; those that wait are idle.

pub(crate) mod rivals;
pub(crate) mod sysbench;

use crate::Failure;
use crate::settings::{names, numbers, setting};
use rivals::Rival;
pub(crate) use rivals::{binary as vaquita_binary, cpu_us};
use std::path::PathBuf;
use std::time::Duration;
use sysbench::{Figures, Sysbench};

/// sysbench's scripts, and whether they change rows.
const WORKLOADS: [(&str, bool); 10] = [
    ("oltp_point_select", false),
    ("oltp_read_only", false),
    ("select_random_points", false),
    ("select_random_ranges", false),
    ("oltp_update_index", true),
    ("oltp_update_non_index", true),
    ("oltp_insert", true),
    ("oltp_delete", true),
    ("oltp_read_write", true),
    ("oltp_write_only", true),
];

/// What is measured.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Tables.
    pub tables: u32,
    /// Rows of each.
    pub rows: u32,
    /// Seconds of each measurement.
    pub seconds: u32,
    /// Client threads, one row of the table each.
    pub threads: Vec<u32>,
    /// Workloads whose name contains one of these; all if empty.
    pub workloads: Vec<String>,
    /// Whether prepared statements are used: with, without, or both.
    pub prepared: Vec<bool>,
    /// Names of the servers; all if empty.
    pub servers: Vec<String>,
    /// An older binary of ours to compare with.
    pub before: Option<PathBuf>,
    /// So many turns of each server in every row; the medians are printed.
    pub rounds: usize,
    /// A second for each cell, Vaquita alone unless servers are named; all cells run, whatever fails.
    pub only_errors: bool,
}

impl Default for Plan {
    fn default() -> Plan {
        Plan {
            tables: 4,
            rows: 250_000,
            seconds: 10,
            threads: vec![1, 8, 64, 256, 1024],
            workloads: Vec::new(),
            prepared: vec![true, false],
            servers: Vec::new(),
            before: None,
            rounds: 1,
            only_errors: false,
        }
    }
}

impl Plan {
    /// Reads `NAME=VALUE` words: `rows=100000 seconds=5 threads=1,8 workloads=point,insert prepared=yes servers=vaquita`,
    /// `before=BINARY rounds=5`, `errors=only`.
    ///
    /// # Errors
    /// A word that is none of these.
    pub fn parse(words: &[&str]) -> Result<Plan, Failure> {
        let mut plan = Plan::default();
        for word in words {
            let (name, value) = setting(word)?;
            match name {
                "tables" => plan.tables = value.parse()?,
                "rows" => plan.rows = value.parse()?,
                "seconds" => plan.seconds = value.parse()?,
                "threads" => plan.threads = numbers(value)?,
                "workloads" => plan.workloads = names(value),
                "servers" => plan.servers = names(value),
                "before" => plan.before = Some(value.into()),
                "rounds" => plan.rounds = value.parse::<usize>()?.max(1),
                "errors" if value == "only" => plan.only_errors = true,
                "prepared" => {
                    plan.prepared = match value {
                        "yes" => vec![true],
                        "no" => vec![false],
                        "both" => vec![true, false],
                        _ => return Err(format!("prepared={value}: yes, no or both").into()),
                    }
                }
                _ => return Err(format!("{word} is nothing that can be set").into()),
            }
        }
        if plan.only_errors {
            plan.seconds = 1;
            if plan.servers.is_empty() {
                plan.servers = vec!["vaquita".to_owned()];
            }
        }
        Ok(plan)
    }

    fn wants(&self, workload: &str) -> bool {
        self.workloads.is_empty() || self.workloads.iter().any(|w| workload.contains(w.as_str()))
    }
}

/// Runs it and prints the table.
///
/// # Errors
/// A server or sysbench fails; rows are lost.
pub fn oltp(plan: &Plan) -> Result<(), Failure> {
    let mut rivals = rivals::start(&plan.servers, plan.before.as_deref())?;
    for rival in &mut rivals {
        let sysbench = Sysbench::new(rival, plan.tables, plan.rows)?;
        let took = sysbench.prepare()?;
        println!(
            "{:<8} prepared {} x {} rows in {:.1} s",
            rival.name(),
            plan.tables,
            plan.rows,
            took.as_secs_f64()
        );
    }
    println!(
        "{:<22} {:>7} {:>4}  {:<8} {:>9} {:>9} {:>10} {:>7} {:>7}",
        "workload", "threads", "ps", "server", "queries/s", "p95 ms", "CPU us/q", "x rate", "x CPU"
    );
    let (mut cells, mut wrong) = (0, Vec::new());
    // The first thing that goes wrong ends it, unless all of them are wanted.
    let mut noted = |done: Result<(), Failure>| match done {
        Err(e) if plan.only_errors => {
            println!("{e}");
            wrong.push(e.to_string());
            Ok(())
        }
        done => done,
    };
    for prepared in &plan.prepared {
        for (workload, changes) in WORKLOADS.iter().filter(|(name, _)| plan.wants(name)) {
            for threads in &plan.threads {
                cells += 1;
                noted(row(&mut rivals, plan, workload, *threads, *prepared))?;
            }
            if *changes {
                for rival in &mut rivals {
                    noted(check(rival, plan, workload))?;
                }
            }
        }
    }
    for rival in &mut rivals {
        noted(idle(rival, plan))?;
    }
    for rival in rivals {
        noted(rival.finish())?;
    }
    match wrong.len() {
        0 => println!("{cells} cells, no error; the folders are sound"),
        n => return Err(format!("{n} of {cells} cells or checks failed:\n{}", wrong.join("\n")).into()),
    }
    Ok(())
}

/// One workload with so many threads on every server. Ratios are to the last server.
fn row(
    rivals: &mut [Rival],
    plan: &Plan,
    workload: &str,
    threads: u32,
    prepared: bool,
) -> Result<(), Failure> {
    let mut turns: Vec<Vec<[f64; 3]>> = vec![Vec::new(); rivals.len()];
    for _ in 0..plan.rounds {
        for (rival, turns) in rivals.iter_mut().zip(&mut turns) {
            let before = rival.cpu_us()?;
            let got: Figures = Sysbench::new(rival, plan.tables, plan.rows)?.run(
                workload,
                threads,
                prepared,
                plan.seconds,
            )?;
            let cpu = (rival.cpu_us()? - before) as f64 / got.queries.max(1) as f64;
            turns.push([got.rate, got.p95_ms, cpu]);
        }
    }
    let figures: Vec<[f64; 3]> = turns.iter().map(|turns| medians(turns)).collect();
    let [base_rate, _, base_cpu] = figures.last().copied().unwrap_or([1.0; 3]);
    for (i, (rival, [rate, p95_ms, cpu])) in rivals.iter().zip(&figures).enumerate() {
        let name = rival.name();
        let (workload, threads, ps) = match i {
            0 => (workload, threads.to_string(), if prepared { "yes" } else { "no" }),
            _ => ("", String::new(), ""),
        };
        println!(
            "{workload:<22} {threads:>7} {ps:>4}  {name:<8} {:>9.0} {:>9.2} {cpu:>10.1} {:>7.2} {:>7.2}",
            rate,
            p95_ms,
            rate / base_rate,
            cpu / base_cpu
        );
    }
    Ok(())
}

/// The median of each column; there is a row.
fn medians(turns: &[[f64; 3]]) -> [f64; 3] {
    std::array::from_fn(|column| {
        let mut values: Vec<f64> = turns.iter().map(|turn| turn[column]).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    })
}

/// After changes: tables and indexes agree, by the server's own check and by counts and sums. Delete and insert workloads change the number of rows, the others must not:
/// what they delete they insert again.
fn check(rival: &mut Rival, plan: &Plan, workload: &str) -> Result<(), Failure> {
    for table in 1..=plan.tables {
        let found = rival.ask(&format!("check table sbtest.sbtest{table}"))?;
        if !found.trim_end().ends_with("OK") {
            return Err(format!("{} after {workload}: {found}", rival.name()).into());
        }
        let sums = |index: &str| {
            let of = format!("select count(*), sum(k), sum(id), min(k), max(k) from sbtest.sbtest{table}");
            rival.ask(&format!("{of} force index ({index})"))
        };
        let (by_key, by_index) = (sums("primary")?, sums(&format!("k_{table}"))?);
        if by_key != by_index {
            return Err(format!(
                "{} after {workload}: count and sums of sbtest{table} are {by_key}, of its index {by_index}",
                rival.name()
            )
            .into());
        }
    }
    if matches!(workload, "oltp_insert" | "oltp_delete") {
        // The next workload wants the rows it knows.
        let sysbench = Sysbench::new(rival, plan.tables, plan.rows)?;
        sysbench.cleanup()?;
        sysbench.prepare()?;
    }
    Ok(())
}

/// Memory of a thousand idle connections, and how long a start on the existing folder takes.
fn idle(rival: &mut Rival, plan: &Plan) -> Result<(), Failure> {
    let before = rival.resident_kib()?;
    let with =
        Sysbench::new(rival, plan.tables, plan.rows)?
            .with_idle(1_000, Duration::from_secs(8), || rival.resident_kib())??;
    let start = rival.restart()?;
    println!(
        "{:<8} 1000 idle connections: {:.1} MB more; start on the folder: {:.0} ms",
        rival.name(),
        with.saturating_sub(before) as f64 / 1024.0,
        start.as_secs_f64() * 1000.0
    );
    Ok(())
}
