//! What a CALL saves: a procedure of three point statements against the three statements sent by the client, in processor time of the
//! server. The stock client sends both from a file, one statement after the other.

use crate::Failure;
use crate::oltp::{cpu_us, vaquita_binary};
use crate::workload::Scratch;
use std::fmt::Write as _;
use std::fs::File;
use std::process::{Command, Stdio};
use vaquita_clients::Vaquita;
use vaquita_peers::{Mysql56, Options};

const ROWS: u64 = 10_000;

/// The kinds that are compared: what the procedure does, and its parameters' use in SQL, `$` for the number.
const KINDS: [(&str, &str); 2] = [
    (
        "reads",
        "select v from d.t where id = $; select n from d.t where id = $ + 1; select v from d.t where id = $ + 2",
    ),
    (
        "reads and a change",
        "select v from d.t where id = $; update d.t set n = n + 1 where id = $; select n from d.t where id = $",
    ),
];

fn made() -> String {
    let mut made =
        "create database d; create table d.t (id int primary key, n int, v varchar(50));\n".to_owned();
    for first in (0..ROWS + 10).step_by(500) {
        let rows: Vec<String> =
            (first..(first + 500).min(ROWS + 10)).map(|id| format!("({id}, 0, 'value {id}')")).collect();
        writeln!(made, "insert into d.t values {};", rows.join(", ")).expect("writing to a string");
    }
    made.push_str("delimiter //\n");
    for (number, (_, statements)) in KINDS.iter().enumerate() {
        let body = statements.replace('$', "k");
        writeln!(made, "create procedure d.three{number}(k int) begin {body}; end//")
            .expect("writing to a string");
    }
    made + "delimiter ;\n"
}

/// Statements of `count` rounds, sent by the client or called.
fn script(kind: usize, count: u64, called: bool) -> String {
    let numbers = (0..count).map(|n| n * 7919 % ROWS);
    numbers
        .map(|n| match called {
            true => format!("call d.three{kind}({n});\n"),
            false => KINDS[kind].1.replace('$', &n.to_string()).replace("; ", ";\n") + ";\n",
        })
        .collect()
}

/// Runs a script through a client; processor time of the server for it.
fn run(mut client: Command, pid: u32, scratch: &Scratch, script: &str) -> Result<u64, Failure> {
    let path = scratch.path().join("script.sql");
    std::fs::write(&path, script)?;
    let before = cpu_us(pid)?;
    let status = client.stdin(File::open(path)?).stdout(Stdio::null()).status()?;
    if !status.success() {
        return Err(format!("the client ended with {status}").into());
    }
    Ok(cpu_us(pid)? - before)
}

/// Compares on Vaquita and on MySQL 5.6.24.
///
/// # Errors
/// A server or a client failed.
pub fn calls(count: u64) -> Result<(), Failure> {
    let scratch = Scratch::new()?;
    let mut ours = Vaquita::start(
        &vaquita_binary()?,
        &scratch.path().join("data"),
        &["--innodb_flush_log_at_trx_commit=2"],
    )?;
    let peer = Mysql56::start(Options::new().set("innodb_flush_log_at_trx_commit", 2))?;
    let pids = [ours.pid().ok_or("the server does not run")?, peer.pid().ok_or("the server does not run")?];
    let client = |server: usize| -> Result<Command, Failure> {
        let mut client = ours.client("mariadb")?;
        if server == 1 {
            client.arg(format!("--port={}", peer.port()));
        }
        Ok(client)
    };
    println!("server CPU per round of three statements, {count} rounds");
    println!("{:<20} {:<10} {:>14} {:>10} {:>8}", "", "", "by the client", "by CALL", "saved");
    for (server, name) in ["vaquita", "mysql"].into_iter().enumerate() {
        run(client(server)?, pids[server], &scratch, &made())?;
        for (kind, (what, _)) in KINDS.iter().enumerate() {
            // Once for plans and pages.
            run(client(server)?, pids[server], &scratch, &script(kind, 200, true))?;
            run(client(server)?, pids[server], &scratch, &script(kind, 200, false))?;
            let sent = run(client(server)?, pids[server], &scratch, &script(kind, count, false))?;
            let called = run(client(server)?, pids[server], &scratch, &script(kind, count, true))?;
            let each = |us: u64| us as f64 / count as f64;
            let saved = 100.0 - 100.0 * called as f64 / sent.max(1) as f64;
            println!("{what:<20} {name:<10} {:>11.1} us {:>7.1} us {saved:>7.0}%", each(sent), each(called));
        }
    }
    ours.stop()?;
    Ok(())
}
