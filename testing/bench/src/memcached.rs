//! `vaquita-bench memcached`: gets and sets through memcached's protocols, on Debian's memcached and on Vaquita's tables;
//! the same through SQL on Vaquita and on MySQL 5.6.24. One client, one kind of row, in the same run.
//!
//! SQL is asked by prepared statements, in the same batches: fifty keys are `SELECT ... WHERE k IN (50 keys)`, pipelined
//! requests are executions sent one after the other without waiting, which both servers answer in order.
//!
//! The load generator is one thread beside the servers and takes its share of the same cores, as it does for all.
//! memcached's sets are in memory only; Vaquita's and MySQL's are durable when they are answered.

mod generator;
mod servers;
mod speech;

use crate::Failure;
use crate::settings::{names, numbers, setting};
use generator::{Figures, Load};
use servers::Contender;
use speech::Operation;
use std::time::Duration;

/// Keys of one request that asks for several.
const MULTI_GET: u32 = 50;
/// Requests under way where they are pipelined.
const PIPELINED: usize = 16;

/// What is measured.
#[derive(Debug, Clone)]
pub struct Plan {
    /// `memcached`, `vaquita`, `vaquita-sql`, `mysql-sql`.
    pub servers: Vec<String>,
    /// Seconds of each measurement.
    pub seconds: u64,
    /// Rows of 100-byte values.
    pub rows: u64,
    /// Numbers of connections where one request is under way on each.
    pub connections: Vec<usize>,
    /// `text`, `binary`.
    pub protocols: Vec<String>,
}

impl Default for Plan {
    fn default() -> Plan {
        let words = |words: &[&str]| words.iter().map(|&w| w.to_owned()).collect();
        Plan {
            servers: words(&["memcached", "vaquita", "vaquita-sql", "mysql-sql"]),
            seconds: 5,
            rows: 1_000_000,
            connections: vec![8, 64, 256],
            protocols: words(&["text", "binary"]),
        }
    }
}

impl Plan {
    /// Reads `NAME=VALUE` words: `servers=memcached,vaquita seconds=2 rows=100000 connections=8,64 protocols=text`.
    ///
    /// # Errors
    /// A word that is none of these.
    pub fn parse(words: &[&str]) -> Result<Plan, Failure> {
        let mut plan = Plan::default();
        for word in words {
            let (name, value) = setting(word)?;
            match name {
                "servers" => plan.servers = names(value),
                "seconds" => plan.seconds = value.parse()?,
                "rows" => plan.rows = value.parse::<u64>()?.clamp(1, 100_000_000),
                "connections" => plan.connections = numbers(value)?,
                "protocols" => plan.protocols = names(value),
                _ => return Err(format!("{name} is nothing that can be set").into()),
            }
        }
        Ok(plan)
    }
}

/// One row of the table.
#[derive(Debug, Clone, Copy)]
struct Shape {
    name: &'static str,
    operation: Operation,
    connections: usize,
    depth: usize,
}

fn shapes(plan: &Plan) -> Vec<Shape> {
    let mut shapes = Vec::new();
    for (name, operation) in [("get", Operation::Get(1)), ("set", Operation::Set)] {
        for &connections in &plan.connections {
            shapes.push(Shape { name, operation, connections, depth: 1 });
        }
    }
    let connections = plan.connections.get(plan.connections.len() / 2).copied().unwrap_or(64);
    shapes.push(Shape { name: "get of 50", operation: Operation::Get(MULTI_GET), connections, depth: 1 });
    shapes.push(Shape { name: "get", operation: Operation::Get(1), connections, depth: PIPELINED });
    shapes.push(Shape { name: "set", operation: Operation::Set, connections, depth: PIPELINED });
    shapes
}

/// Runs it and prints the table, ratios in which are to the first server; then what the door is beside SQL.
///
/// # Errors
/// A server fails, an answer is not that of a hit.
pub fn memcached(plan: &Plan) -> Result<(), Failure> {
    let mut contenders = Vec::new();
    for name in &plan.servers {
        let begun = std::time::Instant::now();
        contenders.push(servers::start(name, plan.rows)?);
        println!("{name}: {} rows in {:.1} s", plan.rows, begun.elapsed().as_secs_f64());
    }
    println!(
        "{:<10} {:<7} {:>5} {:>5}  {:<12} {:>10} {:>9} {:>10} {:>7} {:>7}",
        "operation", "form", "conns", "depth", "server", "ops/s", "p95 ms", "CPU us/op", "x rate", "x CPU"
    );
    let mut measured = Vec::new();
    for protocol in &plan.protocols {
        for shape in shapes(plan) {
            measured.push((shape, row(&contenders, plan, protocol, shape)?));
        }
    }
    beside_sql(&measured);
    Ok(())
}

/// What a server did of a kind of load.
#[derive(Debug, Clone, Copy)]
struct Measured {
    server: &'static str,
    is_sql: bool,
    /// Operations a second.
    rate: f64,
    /// Microseconds of the server's processor time for each.
    cpu: f64,
}

/// The door's rates and processor time beside those of the servers that are asked in SQL.
fn beside_sql(measured: &[(Shape, Vec<Measured>)]) {
    for (shape, measured) in measured {
        let Some(door) = measured.iter().find(|m| m.server == "vaquita") else { continue };
        let Shape { name, connections, depth, .. } = shape;
        for sql in measured.iter().filter(|m| m.is_sql) {
            println!(
                "{name:<10} {connections:>5} conns, depth {depth:>2}: vaquita {:.1} x the rate, {:.2} x the CPU of {}",
                door.rate / sql.rate,
                door.cpu / sql.cpu,
                sql.server
            );
        }
    }
}

/// One kind of load on every server that knows it.
fn row(
    contenders: &[Contender],
    plan: &Plan,
    protocol: &str,
    shape: Shape,
) -> Result<Vec<Measured>, Failure> {
    let mut measured: Vec<Measured> = Vec::new();
    for contender in contenders.iter().filter(|c| c.does(protocol)) {
        let Shape { name, operation, connections, depth } = shape;
        let sockets = contender.sockets(connections, protocol)?;
        let load = Load { operation, depth, rows: plan.rows, fill: false };
        let before = contender.cpu_us()?;
        let Figures { operations, elapsed, p95 } =
            generator::run(sockets, load, Duration::from_secs(plan.seconds))
                .map_err(|e| format!("{} {name} {protocol} x {connections}: {e}", contender.name))?;
        let cpu = (contender.cpu_us()? - before) as f64 / operations.max(1) as f64;
        let rate = operations as f64 / elapsed.as_secs_f64();
        let (server, is_sql) = (contender.name, contender.is_sql());
        measured.push(Measured { server, is_sql, rate, cpu });
        let base = measured[0];
        println!(
            "{name:<10} {protocol:<7} {connections:>5} {depth:>5}  {:<12} {rate:>10.0} {:>9.2} {cpu:>10.2} {:>7.2} {:>7.2}",
            contender.name,
            p95.as_secs_f64() * 1000.0,
            rate / base.rate,
            cpu / base.cpu
        );
    }
    Ok(measured)
}
