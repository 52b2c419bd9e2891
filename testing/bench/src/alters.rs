//! `vaquita-bench alters`: changes of definitions on Vaquita, MySQL 5.6.24 and MariaDB 10.11 in the same run with equal settings: seconds of
//! each, on a table as sysbench makes it; and how fast sysbench writes to a table while its definition changes.
//!
//! Servers take turns; the least of all rounds is printed, with its ratio to the last server. What is done in a moment is done several
//! times in a row by one client. The time in which a client starts, logs in and ends is taken off: they are different clients.

use crate::Failure;
use crate::oltp::rivals::{self, Rival};
use crate::oltp::sysbench::Sysbench;
use crate::settings::{names, setting};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A change of `sbtest.sbtest1`, or of copies of it: what makes it possible, the change, what takes it back.
struct Step {
    name: &'static str,
    before: &'static str,
    change: &'static str,
    after: &'static str,
    /// How often the change is made in the time that is taken.
    times: u32,
}

const STEPS: [Step; 11] = [
    Step {
        name: "two indexes",
        before: "",
        change: "alter table sbtest1 add index i_c (c), add index i_pad (pad, k)",
        after: "alter table sbtest1 drop index i_c, drop index i_pad",
        times: 1,
    },
    Step {
        name: "primary key",
        before: "create table n as select * from sbtest1",
        change: "alter table n add primary key (id)",
        after: "drop table n",
        times: 1,
    },
    Step {
        name: "numbered key",
        before: "create table n as select * from sbtest1",
        change: "alter table n add nr bigint not null auto_increment primary key first",
        after: "drop table n",
        times: 1,
    },
    Step { name: "optimize", before: "", change: "optimize table sbtest1", after: "", times: 1 },
    Step {
        name: "another type",
        before: "",
        change: "alter table sbtest1 modify k bigint not null default 0",
        after: "alter table sbtest1 modify k int not null default 0",
        times: 1,
    },
    Step {
        name: "add column",
        before: "",
        change: "alter table sbtest1 add column x int not null default 7 first",
        after: "alter table sbtest1 drop column x",
        times: 1,
    },
    Step {
        name: "drop column",
        before: "alter table sbtest1 add column x int not null default 7 first",
        change: "alter table sbtest1 drop column x",
        after: "",
        times: 1,
    },
    Step {
        name: "rename column",
        before: "",
        change: "alter table sbtest1 change pad pad2 char(60) not null default ''",
        after: "alter table sbtest1 change pad2 pad char(60) not null default ''",
        times: 1,
    },
    Step {
        name: "create 20",
        before: "",
        change: "create table e_N (a int primary key, b varchar(20), key (b))",
        after: "",
        times: 20,
    },
    Step { name: "truncate 20", before: "", change: "truncate table e_N", after: "", times: 20 },
    Step { name: "drop 20", before: "", change: "drop table e_N", after: "", times: 20 },
];

/// What is measured.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Rows.
    pub rows: u32,
    /// Turns of each server.
    pub rounds: usize,
    /// Seconds of each run of the writers; 0: none.
    pub seconds: u32,
    /// Steps whose name contains one of these; all if empty.
    pub only: Vec<String>,
    /// Names of the servers.
    pub servers: Vec<String>,
}

impl Plan {
    /// Reads `NAME=VALUE` words: `rows=1000000 rounds=3 seconds=20 only=optimize servers=vaquita,mysql,mariadb`.
    ///
    /// # Errors
    /// A word that is none of these.
    pub fn parse(words: &[&str]) -> Result<Plan, Failure> {
        let mut plan =
            Plan { rows: 1_000_000, rounds: 3, seconds: 20, only: Vec::new(), servers: Vec::new() };
        for word in words {
            let (name, value) = setting(word)?;
            match name {
                "rows" => plan.rows = value.parse::<u32>()?.max(1),
                "rounds" => plan.rounds = value.parse::<usize>()?.max(1),
                "seconds" => plan.seconds = value.parse()?,
                "only" => plan.only = names(value),
                "servers" => plan.servers = names(value),
                _ => return Err(format!("{word} is nothing that can be set").into()),
            }
        }
        Ok(plan)
    }
}

/// Runs it and prints the tables.
///
/// # Errors
/// A server fails, or its folder is not sound in the end.
pub fn alters(plan: &Plan) -> Result<(), Failure> {
    let rivals = rivals::start(&plan.servers, None)?;
    let generators: Vec<Sysbench> =
        rivals.iter().map(|rival| Sysbench::new(rival, 1, plan.rows)).collect::<Result<_, _>>()?;
    for generator in &generators {
        generator.prepare()?;
    }
    println!(
        "{:<16} {:<8} {:>9} {:>9} {:>7} {:>7}",
        "change", "server", "seconds", "CPU s", "x time", "x CPU"
    );
    let wanted =
        |name: &str| plan.only.is_empty() || plan.only.iter().any(|part| name.contains(part.as_str()));
    let idle = rivals.iter().map(client_time).collect::<Result<Vec<f64>, _>>()?;
    let mut least = vec![vec![[f64::MAX; 2]; rivals.len()]; STEPS.len()];
    for _ in 0..plan.rounds {
        for (step, least) in STEPS.iter().zip(&mut least).filter(|(step, _)| wanted(step.name)) {
            for ((rival, least), idle) in rivals.iter().zip(least.iter_mut()).zip(&idle) {
                let (seconds, cpu) = timed(rival, step)?;
                *least = [least[0].min((seconds - idle).max(0.0)), least[1].min(cpu)];
            }
        }
    }
    for (step, least) in STEPS.iter().zip(&least).filter(|(step, _)| wanted(step.name)) {
        let [base_time, base_cpu] = least.last().copied().unwrap_or([1.0; 2]);
        for (i, (rival, [seconds, cpu])) in rivals.iter().zip(least).enumerate() {
            let shown = if i == 0 { step.name } else { "" };
            let (x, y) = (seconds / base_time, cpu / base_cpu);
            println!("{shown:<16} {:<8} {seconds:>9.3} {cpu:>9.2} {x:>7.2} {y:>7.2}", rival.name());
        }
    }
    if plan.seconds > 0 && wanted("writers") {
        writers(plan, &rivals, &generators)?;
    }
    rivals.into_iter().try_for_each(Rival::finish)
}

/// How long a client takes that asks for nothing, in seconds: the least of some.
fn client_time(rival: &Rival) -> Result<f64, Failure> {
    let mut least = f64::MAX;
    for _ in 0..10 {
        let start = Instant::now();
        rival.ask("use sbtest; do 0")?;
        least = least.min(start.elapsed().as_secs_f64());
    }
    Ok(least)
}

/// How long a change takes, and the server's processor time for it, both in seconds.
fn timed(rival: &Rival, step: &Step) -> Result<(f64, f64), Failure> {
    let run = |statements: &str| match statements {
        "" => Ok(String::new()),
        statements => rival.ask(&format!("use sbtest; {statements}")),
    };
    let statements: Vec<String> =
        (0..step.times).map(|n| step.change.replace("_N", &format!("_{n}"))).collect();
    run(step.before)?;
    let (start, before) = (Instant::now(), rival.cpu_us()?);
    run(&statements.join("; "))?;
    let measured = (start.elapsed().as_secs_f64(), (rival.cpu_us()? - before) as f64 / 1e6);
    run(step.after)?;
    Ok(measured)
}

/// Changes under writers: an index comes and goes, the table is written anew.
const UNDER_WRITERS: [(&str, &str); 2] = [
    ("indexes", "alter table sbtest1 add index i_c (c); alter table sbtest1 drop index i_c"),
    ("rebuilds", "alter table sbtest1 force"),
];

/// sysbench's oltp_write_only with 8 threads, alone and while changes follow each other.
fn writers(plan: &Plan, rivals: &[Rival], generators: &[Sysbench]) -> Result<(), Failure> {
    println!(
        "\n{:<16} {:<8} {:>9} {:>9} {:>9} {:>9}",
        "8 writers beside", "server", "queries/s", "of alone", "max ms", "changes"
    );
    for (rival, generator) in rivals.iter().zip(generators) {
        let run = || generator.run("oltp_write_only", 8, true, plan.seconds);
        let alone = run()?;
        println!("{:<16} {:<8} {:>9.0} {:>9} {:>9.0}", "nothing", rival.name(), alone.rate, "", alone.max_ms);
        for (name, changes) in UNDER_WRITERS {
            let ended = AtomicBool::new(false);
            let (figures, made) = std::thread::scope(|scope| {
                let changing = scope.spawn(|| -> Result<u32, Failure> {
                    let mut made = 0;
                    std::thread::sleep(Duration::from_millis(500));
                    while !ended.load(Ordering::Relaxed) {
                        rival.ask(&format!("use sbtest; {changes}"))?;
                        made += 1;
                    }
                    Ok(made)
                });
                let figures = run();
                ended.store(true, Ordering::Relaxed);
                (figures, changing.join())
            });
            let figures = figures?;
            let made = made.map_err(|_| "the changes were cut off")??;
            let share = figures.rate / alone.rate;
            println!(
                "{name:<16} {:<8} {:>9.0} {share:>9.2} {:>9.0} {made:>9}",
                rival.name(),
                figures.rate,
                figures.max_ms
            );
        }
        let report = rival.ask("check table sbtest.sbtest1")?;
        if !report.contains("OK") {
            return Err(format!("{}: {report}", rival.name()).into());
        }
    }
    Ok(())
}
