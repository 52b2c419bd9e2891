//! `vaquita-bench windows`: window functions and WITH RECURSIVE over many rows on Vaquita and on MariaDB 10.11, in the same run
//! with equal settings: seconds of each statement and processor time of the server.
//!
//! Servers take turns, so that a slow minute of the machine hits all alike; the least of all rounds is printed. Each statement
//! gives one row, so that what a client does with rows is no part of it, and all servers must give the same.

use crate::Failure;
use crate::oltp::rivals::{self, Rival};
use crate::settings::{names, setting};
use std::path::PathBuf;
use std::time::Instant;

/// Windows, each of a query `select FUNCTION over (WINDOW) from w`.
const WINDOWS: [(&str, &str); 16] = [
    ("row_number", "row_number() over (order by v)"),
    ("rank", "rank() over (partition by g order by v)"),
    ("dense_rank", "dense_rank() over (order by g)"),
    ("lag", "lag(v) over (order by id)"),
    ("lead by partition", "lead(v, 2) over (partition by g order by id)"),
    ("sum by partition", "sum(v) over (partition by g)"),
    ("running sum", "sum(v) over (partition by g order by id)"),
    ("sliding sum", "sum(v) over (order by id rows between 10 preceding and current row)"),
    ("sliding sum of double", "sum(d) over (order by id rows between 10 preceding and current row)"),
    ("sliding min", "min(v) over (order by id rows between 10 preceding and current row)"),
    ("ntile", "ntile(100) over (order by v)"),
    ("first_value", "first_value(v) over (partition by g order by id)"),
    ("percent_rank", "round(percent_rank() over (order by v) * 1000)"),
    ("by text", "row_number() over (order by t)"),
    ("range", "count(*) over (order by v range between 100 preceding and current row)"),
    (
        "several",
        "row_number() over (partition by g order by v) + rank() over (partition by g order by v) + \
         sum(v) over (partition by g) + coalesce(lag(v) over (order by id), 0)",
    ),
];

/// What is measured.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Rows.
    pub rows: u64,
    /// Turns of each server.
    pub rounds: usize,
    /// Statements whose name contains one of these; all if empty.
    pub only: Vec<String>,
    /// Names of the servers.
    pub servers: Vec<String>,
    /// An older binary of ours to compare with.
    pub before: Option<PathBuf>,
}

impl Plan {
    /// Reads `NAME=VALUE` words: `rows=100000 rounds=5 only=lag,rank servers=vaquita,mariadb before=BINARY`.
    ///
    /// # Errors
    /// A word that is none of these.
    pub fn parse(words: &[&str]) -> Result<Plan, Failure> {
        let servers = vec!["vaquita".to_owned(), "mariadb".to_owned()];
        let mut plan = Plan { rows: 1_000_000, rounds: 3, only: Vec::new(), servers, before: None };
        for word in words {
            let (name, value) = setting(word)?;
            match name {
                "rows" => plan.rows = value.parse::<u64>()?.clamp(1, 100_000_000),
                "rounds" => plan.rounds = value.parse::<usize>()?.max(1),
                "only" => plan.only = names(value),
                "servers" => plan.servers = names(value),
                "before" => plan.before = Some(value.into()),
                _ => return Err(format!("{word} is nothing that can be set").into()),
            }
        }
        Ok(plan)
    }

    /// The statements, by name.
    fn statements(&self) -> Vec<(&'static str, String)> {
        let of = |&(name, call): &(&'static str, &str)| {
            (name, format!("select count(*), min(x), max(x) from (select {call} x from sbtest.w) q"))
        };
        let mut all: Vec<_> = WINDOWS.iter().map(of).collect();
        let rows = self.rows;
        let sequence = |union: &str, rows: u64| {
            format!(
                "with recursive r (n) as (select 1 {union} select n + 1 from r where n < {rows}) \
                 select count(*), sum(n) from r"
            )
        };
        all.push(("recursive", sequence("union all", rows)));
        all.push(("recursive distinct", sequence("union", rows)));
        let wide = (rows as f64).log2() as u64;
        all.push((
            "recursive, wide",
            format!(
                "with recursive r (n, k) as (select 1, 1 union all select n + 1, k * 2 + d.x from r, \
                 (select 0 x union all select 1) d where n < {wide}) select count(*), sum(k) from r"
            ),
        ));
        all.retain(|(name, _)| self.only.is_empty() || self.only.iter().any(|w| name.contains(w.as_str())));
        all
    }
}

/// Runs it and prints the table; ratios are to the last server.
///
/// # Errors
/// A server fails, or gives other rows than the first.
pub fn windows(plan: &Plan) -> Result<(), Failure> {
    let rivals = rivals::start(&plan.servers, plan.before.as_deref())?;
    for rival in &rivals {
        fill(rival, plan.rows)?;
    }
    println!(
        "{:<22} {:<8} {:>9} {:>9} {:>7} {:>7}",
        "1 row of each", "server", "seconds", "CPU s", "x time", "x CPU"
    );
    for (name, statement) in plan.statements() {
        let mut least = vec![[f64::MAX; 2]; rivals.len()];
        let mut answers = vec![String::new(); rivals.len()];
        for _ in 0..plan.rounds {
            for ((rival, least), answer) in rivals.iter().zip(&mut least).zip(&mut answers) {
                let (seconds, cpu);
                (*answer, seconds, cpu) = timed(rival, plan.rows, &statement)?;
                *least = [least[0].min(seconds), least[1].min(cpu)];
            }
        }
        if let Some(other) = answers.iter().position(|answer| *answer != answers[0]) {
            let (a, b) = (rivals[0].name(), rivals[other].name());
            return Err(format!("{statement}\n{a}: {}{b}: {}", answers[0], answers[other]).into());
        }
        let [base_time, base_cpu] = least.last().copied().unwrap_or([1.0; 2]);
        for (i, (rival, [seconds, cpu])) in rivals.iter().zip(&least).enumerate() {
            let shown = if i == 0 { name } else { "" };
            let (x, y) = (seconds / base_time, cpu / base_cpu);
            println!("{shown:<22} {:<8} {seconds:>9.2} {cpu:>9.2} {x:>7.2} {y:>7.2}", rival.name());
        }
    }
    rivals.into_iter().try_for_each(Rival::finish)
}

/// The name of the variable that limits recursion, and what a session gets besides: the same memory everywhere.
fn settings(rival: &Rival, rows: u64) -> String {
    let depth =
        if rival.name() == "mariadb" { "max_recursive_iterations" } else { "cte_max_recursion_depth" };
    format!("set {depth} = {}, sort_buffer_size = 2097152", rows + 1)
}

/// The answer, how long it took and the server's processor time for it, both in seconds.
fn timed(rival: &Rival, rows: u64, statement: &str) -> Result<(String, f64, f64), Failure> {
    let text = format!("{}; {statement}", settings(rival, rows));
    let (start, before) = (Instant::now(), rival.cpu_us()?);
    let answer = rival.ask(&text)?;
    Ok((answer, start.elapsed().as_secs_f64(), (rival.cpu_us()? - before) as f64 / 1e6))
}

/// The table: numbers in no order, a thousand groups, a text.
fn fill(rival: &Rival, rows: u64) -> Result<(), Failure> {
    rival.ask(
        "create table sbtest.w (id int primary key, g int, v int, d double, t varchar(20)) \
         engine=innodb default charset=utf8",
    )?;
    // The same numbers everywhere: multiples of a prime.
    let number = "id * 7919 % 1000003";
    let row = format!("id, id * 31 % 1009, {number}, ({number}) / 8, concat('text ', {number})");
    let digit = "(select 0 d union all select 1 union all select 2 union all select 3 union all select 4 union all select 5 \
                 union all select 6 union all select 7 union all select 8 union all select 9)";
    let places = rows.ilog10() + 1;
    let id = (0..places).map(|p| format!("x{p}.d * {}", 10_u64.pow(p))).collect::<Vec<_>>().join(" + ");
    let from = (0..places).map(|p| format!("{digit} x{p}")).collect::<Vec<_>>().join(", ");
    rival.ask(&format!(
        "insert into sbtest.w select {row} from (select {id} as id from {from}) q where id < {rows} order by id"
    ))?;
    rival.ask("analyze table sbtest.w").map(drop)
}
