//! A table's file that comes in, beside a plain copy of the same file.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use vaquita_engine::ddl::{ImportFile, IndexSpec, TableSpec};
use vaquita_engine::stored::{bigint, int};
use vaquita_engine::{AccessMode, Column, Engine, MdlMode, Options, Session};
use vaquita_format::column::{Charset, ColumnDef};
use vaquita_format::index_def::KeyPart;

use crate::Failure;
use crate::own::resident_bytes;
use crate::workload::Scratch;

/// The pool: less than the file, so that what is resident beside it shows.
const POOL: usize = 128 << 20;
/// Rows of a transaction that fills the table.
const BATCH: i64 = 5_000;
/// Runs of each; the best counts.
const RUNS: usize = 3;

fn spec(name: &str) -> TableSpec {
    let columns = vec![
        Column::new(ColumnDef::int("id", 8, false).not_null()),
        Column::new(ColumnDef::int("k", 4, false).not_null()),
        Column::new(ColumnDef::varchar("v", 250, Charset::LATIN1).not_null()),
    ];
    let index = |name: &str, column| IndexSpec {
        name: name.into(),
        parts: vec![KeyPart::whole(column)],
        unique: false,
        comment: String::new(),
    };
    TableSpec {
        primary_key: Some(vec![KeyPart::whole(0)]),
        indexes: vec![index("k", 1)],
        ..TableSpec::new(name, columns)
    }
}

/// `import_file`, `copy_file`: megabytes a second of IMPORT of a file of about `megabytes`, and of a copy of it that is made durable;
/// memory beyond the pool meanwhile.
///
/// # Errors
/// The engine's.
pub fn importing(megabytes: u64) -> Result<(), Failure> {
    let scratch = Scratch::new()?;
    let mut options = Options::new(scratch.path().join("data"));
    options.storage.buffer_pool_size = POOL;
    options.storage.log_file_size = 256 << 20;
    options.flush_log_at_trx_commit = 0;
    let engine = Engine::open(options)?;
    let mut session = engine.session();
    fill(&mut session, (megabytes * 1_000_000 / 260) as i64)?;
    let copy = scratch.path().join("t.ibd");
    export(&engine, &mut session, &scratch.path().join("data"), &copy)?;
    let bytes = std::fs::metadata(&copy)?.len();
    let rate = |time: Duration| bytes as f64 / 1e6 / time.as_secs_f64();
    let (mut copied, mut imported, mut beyond) = (Duration::MAX, Duration::MAX, 0);
    for _ in 0..RUNS {
        let other = scratch.path().join("copy.ibd");
        let started = Instant::now();
        std::fs::copy(&copy, &other)?;
        std::fs::File::open(&other)?.sync_all()?;
        copied = copied.min(started.elapsed());
        std::fs::remove_file(&other)?;
        let before = resident_bytes()?;
        let (time, most) = watched(|| {
            let started = Instant::now();
            let file = ImportFile::open(engine.core(), &copy)?;
            session.create_table_of(&spec("bench/imported"), &file)?;
            Ok(started.elapsed())
        })?;
        imported = imported.min(time);
        beyond = beyond.max(most.saturating_sub(before));
        session.drop_table("bench/imported")?;
    }
    println!("{:28}{:7.0} MB/s, a file of {} MB", "copy_file", rate(copied), bytes / 1_000_000);
    println!(
        "{:28}{:7.0} MB/s, {:.2} times the copy; {} MiB beyond the pool of {} MiB",
        "import_file",
        rate(imported),
        imported.as_secs_f64() / copied.as_secs_f64(),
        beyond >> 20,
        POOL >> 20
    );
    drop(session);
    engine.close()?;
    Ok(())
}

fn fill(session: &mut Session, rows: i64) -> Result<(), Failure> {
    session.create_table(&spec("bench/t"))?;
    let table = session.run(|s| s.table("bench/t"))?;
    for from in (0..rows).step_by(BATCH as usize) {
        session.begin(AccessMode::ReadWrite, false)?;
        session.run(|s| {
            for id in from..rows.min(from + BATCH) {
                // Keys of the second index come in their order, too: the file is full of pages, not of holes.
                let text = [b'a' + (id % 26) as u8; 220];
                s.insert(&table, &[Some(&bigint(id)[..]), Some(&int(id as i32)[..]), Some(&text[..])])?;
            }
            Ok(())
        })?;
        session.commit()?.wait()?;
    }
    Ok(())
}

/// Copies the table's file and what describes it.
fn export(engine: &Engine, session: &mut Session, data: &Path, to: &Path) -> Result<(), Failure> {
    session.lock_table_name("bench/t", MdlMode::SharedNoWrite)?;
    let table = engine.core().table("bench/t")?;
    session.export_tables(&[table], "bench", &[])?;
    for extension in ["ibd", "cfg"] {
        std::fs::copy(data.join("bench/t").with_extension(extension), to.with_extension(extension))?;
    }
    session.unlock_tables();
    session.drop_table("bench/t")?;
    Ok(())
}

/// Runs something, and the most that was resident meanwhile.
fn watched<R>(run: impl FnOnce() -> Result<R, Failure>) -> Result<(R, u64), Failure> {
    let (ended, most) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                most.fetch_max(resident_bytes().unwrap_or_default(), Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        let done = run();
        ended.store(true, Ordering::Relaxed);
        done
    })
    .map(|done| (done, most.load(Ordering::Relaxed)))
}
