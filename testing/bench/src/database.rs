//! Measurements at the engine's API: rows, transactions, scans, rollback, memory of sessions.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use vaquita_base::rng::Rng;
use vaquita_engine::{
    AccessMode, Column, Direction, Engine, IndexSpec, Options, PointRead, ReadOptions, RowKey, Session,
    Table, TableSpec, stored,
};
use vaquita_format::column::ColumnDef;
use vaquita_format::index_def::KeyPart;

use crate::Failure;
use crate::own::{cpu_time, resident_bytes};
use crate::workload::Scratch;

fn options(scratch: &Scratch) -> Options {
    let mut options = Options::new(scratch.path().join("data"));
    options.storage.buffer_pool_size = 1 << 30;
    options.storage.log_file_size = 512 << 20;
    options.storage.log_buffer_size = 32 << 20;
    options.storage.live.checksum_algorithm = vaquita_format::checksum::ChecksumAlgorithm::Crc32;
    options
}

fn int(name: &str) -> Column {
    Column::new(ColumnDef::int(name, 4, false).not_null())
}

/// `sysbench`'s table, more or less: an integer key, two secondary indexes, 200 bytes a row.
fn row_spec(name: &str) -> TableSpec {
    let pad = Column::new(ColumnDef::varbinary("pad", 200).not_null());
    let mut spec = TableSpec::new(name, vec![int("id"), int("a"), int("b"), pad]);
    spec.primary_key = Some(vec![KeyPart::whole(0)]);
    let index = |name: &str, column| IndexSpec {
        name: name.into(),
        parts: vec![KeyPart::whole(column)],
        unique: false,
        comment: String::new(),
    };
    spec.indexes = vec![index("by_a", 1), index("by_b", 2)];
    spec
}

/// A key and a number.
fn small_spec(name: &str) -> TableSpec {
    let mut spec = TableSpec::new(name, vec![int("id"), int("n")]);
    spec.primary_key = Some(vec![KeyPart::whole(0)]);
    spec
}

fn open(scratch: &Scratch, tables: &[TableSpec]) -> Result<(Engine, Vec<Arc<Table>>), Failure> {
    let engine = Engine::open(options(scratch))?;
    let mut session = engine.session();
    tables.iter().try_for_each(|spec| session.create_table(spec))?;
    let opened = session.run(|s| tables.iter().map(|spec| s.table(&spec.name)).collect())?;
    drop(session);
    Ok((engine, opened))
}

fn per(total: Duration, n: u64) -> f64 {
    total.as_nanos() as f64 / n as f64
}

fn fill_small(session: &mut Session, table: &Arc<Table>, rows: u64) -> Result<(), Failure> {
    for from in (0..rows).step_by(10_000) {
        session.run(|s| {
            for id in from..rows.min(from + 10_000) {
                s.insert(table, &[Some(&stored::int(id as i32)), Some(&stored::int(1))])?;
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// Point reads, each a transaction of its own; inserts; durable commits; a full scan; a long rollback; memory.
///
/// # Errors
/// The engine's.
pub fn all(rows: u64) -> Result<(), Failure> {
    let scratch = Scratch::new()?;
    let (engine, tables) = open(&scratch, &[row_spec("bench/rows"), small_spec("bench/small")])?;
    let mut session = engine.session();
    fill_small(&mut session, &tables[1], rows)?;
    point_reads(&mut session, &tables[1], rows)?;
    scan(&mut session, &tables[1], rows)?;
    inserts(&mut session, &tables[0], rows)?;
    rollback(&mut session, &tables[1], rows)?;
    drop(session);
    commits(&engine, &tables[1])?;
    sessions(&engine, &tables[1])?;
    while engine.core().txn.history_len() > 0 {
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(tables);
    Ok(engine.close()?)
}

fn point_reads(session: &mut Session, table: &Arc<Table>, rows: u64) -> Result<(), Failure> {
    const READS: u64 = 1_000_000;
    let mut rng = Rng::new(1);
    let mut read = PointRead::new(table.clone(), ReadOptions::default())?;
    let (started, cpu) = (Instant::now(), cpu_time());
    for _ in 0..READS {
        let key = stored::int(rng.below(rows) as i32);
        let found =
            session.run(|s| s.get(&mut read, &[Some(&key)], |row| row.column(1).map(stored::to_signed)))?;
        if found != Some(Some(1)) {
            return Err("a row is missing".into());
        }
    }
    println!(
        "point_read_autocommit       {:8.0} ns each, {:.0} ns CPU (wanted: 1500)",
        per(started.elapsed(), READS),
        per(cpu_time() - cpu, READS)
    );
    Ok(())
}

fn scan(session: &mut Session, table: &Arc<Table>, rows: u64) -> Result<(), Failure> {
    for _ in 0..2 {
        let started = Instant::now();
        let mut sum = 0;
        session.run(|s| {
            let mut cursor = s.cursor(table, &ReadOptions::default())?;
            s.for_each(&mut cursor, Direction::Forward, |row| {
                sum += row.column(1).map_or(0, stored::to_signed);
                ControlFlow::Continue(())
            })?;
            Ok(())
        })?;
        let rate = rows as f64 / started.elapsed().as_secs_f64() / 1e6;
        println!("full_scan                   {rate:8.1} million rows/s (wanted: 5), sum {sum}");
    }
    let started = Instant::now();
    let n = session.run(|s| s.count(table))?;
    println!(
        "count                       {:8.1} million rows/s, {n}",
        rows as f64 / started.elapsed().as_secs_f64() / 1e6
    );
    Ok(())
}

fn inserts(session: &mut Session, table: &Arc<Table>, rows: u64) -> Result<(), Failure> {
    let rows = rows.min(300_000);
    let mut rng = Rng::new(7);
    let (started, cpu) = (Instant::now(), cpu_time());
    let mut pad = [0; 184];
    for from in (0..rows).step_by(100) {
        session.begin(AccessMode::ReadWrite, false)?;
        session.run(|s| {
            for id in from..rows.min(from + 100) {
                rng.fill(&mut pad);
                let (a, b) = (rng.below(1 << 30) as i32, rng.below(1 << 30) as i32);
                let row: [Option<&[u8]>; 4] =
                    [Some(&stored::int(id as i32)), Some(&stored::int(a)), Some(&stored::int(b)), Some(&pad)];
                s.insert(table, &row)?;
            }
            Ok(())
        })?;
        session.commit()?.wait()?;
    }
    println!(
        "insert_200_bytes_2_indexes  {:8.1} us each, {:.1} us CPU (wanted: 12), in transactions of 100",
        per(started.elapsed(), rows) / 1e3,
        per(cpu_time() - cpu, rows) / 1e3
    );
    Ok(())
}

fn rollback(session: &mut Session, table: &Arc<Table>, rows: u64) -> Result<(), Failure> {
    let changes = rows.min(1_000_000);
    session.begin(AccessMode::ReadWrite, false)?;
    let started = Instant::now();
    session.run(|s| {
        for id in 0..changes {
            let id = stored::int(id as i32);
            s.update(table, &RowKey::new([&id[..]]), &[(1, Some(&stored::int(2)))])?;
        }
        Ok(())
    })?;
    println!("update_by_key               {:8.2} us each", per(started.elapsed(), changes) / 1e3);
    let started = Instant::now();
    session.rollback()?;
    println!(
        "rollback                    {:8.2} s for {changes} changes (wanted: 10 for 1000000)",
        started.elapsed().as_secs_f64()
    );
    Ok(())
}

fn commits(engine: &Engine, table: &Arc<Table>) -> Result<(), Failure> {
    const THREADS: u64 = 64;
    const EACH: u64 = 300;
    let stats = engine.core().storage.log().stats();
    let (syncs, started) = (stats.syncs.get(), Instant::now());
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|t| {
                scope.spawn(move || {
                    let mut session = engine.session();
                    for n in 0..EACH {
                        let key = stored::int((t * 100) as i32);
                        session.run(|s| {
                            s.update(
                                table,
                                &RowKey::new([&key[..]]),
                                &[(1, Some(&stored::int(n as i32 + 5)))],
                            )
                        })?;
                    }
                    Ok::<_, vaquita_engine::Error>(())
                })
            })
            .collect();
        threads.into_iter().try_for_each(|t| t.join().expect("a thread does not panic"))
    })?;
    let syncs = stats.syncs.get() - syncs;
    println!(
        "durable_commits_64_threads  {:8.1} thousand/s, {:.1} commits a sync (wanted: 10)",
        (THREADS * EACH) as f64 / started.elapsed().as_secs_f64() / 1e3,
        (THREADS * EACH) as f64 / syncs as f64
    );
    Ok(())
}

fn sessions(engine: &Engine, table: &Arc<Table>) -> Result<(), Failure> {
    const SESSIONS: usize = 4_000;
    let before = resident_bytes()?;
    let mut all: Vec<Session> = (0..SESSIONS).map(|_| engine.session()).collect();
    for session in &mut all {
        let key = stored::int(1);
        let mut read = PointRead::new(table.clone(), ReadOptions::default())?;
        session.run(|s| s.get(&mut read, &[Some(&key)], |_| ()))?;
    }
    let each = resident_bytes()?.saturating_sub(before) as f64 / SESSIONS as f64;
    println!("idle_session                {:8.1} KB each (wanted: below 10), {SESSIONS} of them", each / 1e3);
    Ok(())
}
