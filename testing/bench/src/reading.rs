//! Rows through the engine's API: point reads of a session in autocommit mode, scans, counts.

use std::hint::black_box;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use vaquita_base::Rng;
use vaquita_engine::ddl::{IndexSpec, TableSpec};
use vaquita_engine::stored::{bigint, int};
use vaquita_engine::{
    AccessMode, Column, Direction, Engine, Options, PointRead, ReadLock, ReadOptions, RowRef, Seek, Session,
    Table,
};
use vaquita_format::column::{Charset, ColumnDef};
use vaquita_format::index_def::KeyPart;

use crate::Failure;
use crate::workload::Scratch;

/// Runs of each measurement; the best counts, as other work only makes it slower.
const RUNS: usize = 5;
/// Rows of a transaction that fills a table.
const BATCH: i64 = 10_000;

/// `engine_point_read_*`, `engine_scan_*`, `engine_count_*` on a table of `rows` rows that fits the pool: id BIGINT, a
/// INT, b INT NULL, v VARCHAR(20); keys on a and, unique, on (b).
///
/// # Errors
/// The engine's.
pub fn reading(rows: u64) -> Result<(), Failure> {
    let scratch = Scratch::new()?;
    let mut options = Options::new(scratch.path());
    options.storage.buffer_pool_size = 512 << 20;
    options.storage.log_file_size = 64 << 20;
    options.flush_log_at_trx_commit = 0;
    let engine = Engine::open(options)?;
    let table = fill(&engine, rows as i64)?;
    let mut session = engine.session();
    points(&mut session, &table, rows)?;
    scans(&mut session, &table, rows)?;
    drop(session);
    engine.close()?;
    Ok(())
}

fn fill(engine: &Engine, rows: i64) -> Result<Arc<Table>, Failure> {
    let index = |name: &str, column, unique| IndexSpec {
        name: name.into(),
        parts: vec![KeyPart::whole(column)],
        unique,
        comment: String::new(),
    };
    let columns = vec![
        Column::new(ColumnDef::int("id", 8, false).not_null()),
        Column::new(ColumnDef::int("a", 4, false).not_null()),
        Column::new(ColumnDef::int("b", 4, false)),
        Column::new(ColumnDef::varchar("v", 20, Charset::LATIN1).not_null()),
    ];
    let spec = TableSpec {
        primary_key: Some(vec![KeyPart::whole(0)]),
        indexes: vec![index("a", 1, false), index("b", 2, true)],
        ..TableSpec::new("bench/t", columns)
    };
    let mut session = engine.session();
    session.create_table(&spec)?;
    let table = session.run(|s| s.table("bench/t"))?;
    let started = Instant::now();
    for from in (0..rows).step_by(BATCH as usize) {
        session.begin(AccessMode::ReadWrite, false)?;
        session.run(|s| {
            for id in from..rows.min(from + BATCH) {
                let (a, b) = (int(id as i32), int(id as i32));
                let row = [Some(&bigint(id)[..]), Some(&a[..]), Some(&b[..]), Some(&b"some text"[..])];
                s.insert(&table, &row)?;
            }
            Ok(())
        })?;
        session.commit()?.wait()?;
    }
    let each = started.elapsed().as_micros() as f64 / rows as f64;
    println!("{:34}{each:9.2} us a row, two secondary indexes, {BATCH} a transaction", "engine_insert");
    // What was inserted is old: pages of secondary indexes can be trusted.
    session.begin(AccessMode::ReadWrite, false)?;
    session
        .run(|s| s.update(&table, &vaquita_engine::RowKey::new([&bigint(0)[..]]), &[(3, Some(b"new"))]))?;
    session.commit()?.wait()?;
    Ok(table)
}

fn best(count: u64, mut run: impl FnMut() -> Result<(), Failure>) -> Result<f64, Failure> {
    let mut least = f64::MAX;
    for _ in 0..RUNS {
        let started = Instant::now();
        run()?;
        least = least.min(started.elapsed().as_nanos() as f64 / count as f64);
    }
    Ok(least)
}

fn report_point(name: &str, ns: f64) {
    println!("{name:34}{ns:9.0} ns");
}

fn points(session: &mut Session, table: &Arc<Table>, rows: u64) -> Result<(), Failure> {
    const READS: u64 = 300_000;
    let mut rng = Rng::new(1);
    let mut point = |session: &mut Session, read: &mut PointRead, wide: bool| -> Result<f64, Failure> {
        best(READS, || {
            for _ in 0..READS {
                let id = rng.below(rows) as i64;
                let (by_id, by_b) = (bigint(id), int(id as i32));
                let key: &[u8] = if wide { &by_id } else { &by_b };
                let found = session.run(|s| s.get(read, &[Some(key)], touch))?;
                assert!(found.is_some(), "row {id}");
            }
            Ok(())
        })
    };
    let mut by_id = PointRead::new(table.clone(), ReadOptions::default())?;
    report_point("engine_point_read_autocommit", point(session, &mut by_id, true)?);
    let mut by_b = PointRead::new(table.clone(), ReadOptions::by_index(2))?;
    report_point("engine_point_read_secondary", point(session, &mut by_b, false)?);
    let mut locking = PointRead::new(table.clone(), ReadOptions::default().locking(ReadLock::Shared))?;
    report_point("engine_point_read_locking", point(session, &mut locking, true)?);
    session.begin(AccessMode::ReadOnly, true)?;
    report_point("engine_point_read_in_transaction", point(session, &mut by_id, true)?);
    session.commit()?.wait()?;
    let mut rng = Rng::new(2);
    let short = best(READS, || {
        for _ in 0..READS {
            let key = bigint(rng.below(rows) as i64);
            session.run(|s| {
                let mut cursor = s.cursor(table, &ReadOptions::default())?;
                cursor.seek(&[Some(&key)], Seek::GreaterOrEqual)?;
                black_box(s.next(&mut cursor)?.map(|row| row.column(1).map(<[u8]>::len)));
                Ok(())
            })?;
        }
        Ok(())
    })?;
    report_point("engine_cursor_open_seek_next", short);
    Ok(())
}

fn touch(row: &RowRef<'_>) -> usize {
    black_box((0..row.n_columns()).map(|i| row.column(i).map_or(0, <[u8]>::len)).sum())
}

fn scans(session: &mut Session, table: &Arc<Table>, rows: u64) -> Result<(), Failure> {
    let show = |name: &str, ns: f64| println!("{name:34}{:9.2} M rows/s", 1_000.0 / ns);
    let numbers = ReadOptions::default().columns([0, 1]);
    for (name, options) in [
        ("engine_scan_all_columns", ReadOptions::default()),
        ("engine_scan_two_numbers", numbers.clone()),
        ("engine_scan_covering_secondary", ReadOptions::by_index(1).columns([1, 0])),
        ("engine_scan_rows_by_secondary", ReadOptions::by_index(1)),
    ] {
        let ns = best(rows, || {
            let mut seen = 0;
            session.run(|s| {
                let mut cursor = s.cursor(table, &options)?;
                s.for_each(&mut cursor, Direction::Forward, |row| {
                    touch(row);
                    seen += 1;
                    ControlFlow::Continue(())
                })
            })?;
            assert_eq!(seen, rows);
            Ok(())
        })?;
        show(name, ns);
    }
    let ns = best(rows, || {
        session.run(|s| {
            let mut cursor = s.cursor(table, &numbers)?;
            while let Some(row) = s.next(&mut cursor)? {
                touch(&row);
            }
            Ok(())
        })?;
        Ok(())
    })?;
    show("engine_scan_row_by_row", ns);
    let ns = best(rows, || {
        session.run(|s| {
            let mut cursor = s.cursor(table, &numbers)?;
            cursor.seek_last();
            s.for_each(&mut cursor, Direction::Backward, |row| {
                touch(row);
                ControlFlow::Continue(())
            })
        })?;
        Ok(())
    })?;
    show("engine_scan_backward", ns);
    let ns = best(rows, || {
        assert_eq!(session.run(|s| s.count(table))?, rows);
        Ok(())
    })?;
    show("engine_count", ns);
    let ns = best(rows, || {
        let seen = AtomicU64::new(0);
        session.run(|s| {
            s.parallel_scan(table, &numbers, 2, |_, row| {
                touch(row);
                ControlFlow::Continue(())
            })
        })?;
        black_box(seen.load(Ordering::Relaxed));
        Ok(())
    })?;
    show("engine_scan_parallel_2t", ns);
    Ok(())
}
