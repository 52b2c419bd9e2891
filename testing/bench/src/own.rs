//! Measurements of Vaquita alone, against what the machine can do: lookups, reads beyond the pool, recovery, memory.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use vaquita_base::rng::Rng;
use vaquita_btree::LatchMode;
use vaquita_format::index_page::{FieldUpdate, SearchMode};
use vaquita_format::tuple::{Tuple, TupleField};
use vaquita_io::{BatchOp, FileSystem, FlushMethod, OpenMode, OpenOptions, Transfer};
use vaquita_storage::{LiveSettings, Options};

use crate::engines::vaquita::{Rows, key_bytes, options};
use crate::workload::Scratch;
use crate::{Failure, Store, VALUE_LEN};

/// `btree_lookup_warm_1t`, `_2t`: point lookups in a tree of `rows` rows that is in the pool.
///
/// # Errors
/// The engine's.
pub fn lookups(rows: u64) -> Result<(), Failure> {
    let scratch = Scratch::new()?;
    let store = Rows::create(options(scratch.path()))?;
    store.insert(&mut (0..rows), usize::MAX)?;
    let each = rows.min(2_000_000);
    let mut single = 0.0;
    for threads in [1, 2] {
        let started = Instant::now();
        on_threads(threads, |t| {
            let mut rng = Rng::new(t + 1);
            for _ in 0..each {
                let key = rng.below(rows);
                if store.get(key)? != Some(key as u8) {
                    return Err(format!("key {key} is missing").into());
                }
            }
            Ok(())
        })?;
        let ns = started.elapsed().as_nanos() as f64 / (each * threads) as f64;
        if threads == 1 {
            single = ns;
            println!("btree_lookup_warm_1t        {ns:8.0} ns each");
        } else {
            println!(
                "btree_lookup_warm_2t        {ns:8.0} ns each over both, {:.2} times one thread",
                single / ns
            );
        }
    }
    store.close()
}

/// `reads_beyond_pool`: random lookups in a file eight times the pool, against plain reads of the same file.
///
/// # Errors
/// The engine's.
pub fn reads_beyond_pool(pool_bytes: usize) -> Result<(), Failure> {
    let scratch = Scratch::new()?;
    // About 120 bytes a row with its header; pages end up fifteen sixteenths full.
    let rows = pool_bytes as u64 * 8 / 128;
    let root = {
        let store = Rows::create(options(scratch.path()))?;
        store.insert(&mut (0..rows), usize::MAX)?;
        let root = store.tree.root();
        store.close()?;
        root
    };
    let small = Options { buffer_pool_size: pool_bytes, ..options(scratch.path()) };
    let store = Rows::open(small, root, true)?;
    let file = scratch.path().join("rows.ibd");
    let pages = std::fs::metadata(&file)?.len() / 16_384;
    println!("rows.ibd is {} MiB, the pool {} MiB", pages / 64, pool_bytes >> 20);
    for threads in [1, 8, 32] {
        let lookups = 4_000 * threads.min(8);
        let (reads, cpu, started) = (store.storage.pool().stats.reads.get(), cpu_time(), Instant::now());
        on_threads(threads, |t| {
            let mut rng = Rng::new(t + 77);
            for _ in 0..lookups / threads {
                store.get(rng.below(rows))?;
            }
            Ok(())
        })?;
        let took = started.elapsed();
        let reads = store.storage.pool().stats.reads.get() - reads;
        let raw = raw_reads(&file, pages, threads, reads / threads)?;
        let rate = reads as f64 / took.as_secs_f64();
        println!(
            "reads_beyond_pool_{threads}t{:1$}{rate:8.0} pages/s, disk alone {raw:8.0} pages/s ({2:.2}); CPU {3:.0} us a read",
            "",
            if threads < 10 { 7 } else { 6 },
            rate / raw,
            (cpu_time() - cpu).as_micros() as f64 / reads as f64,
        );
    }
    store.close()
}

/// Plain direct reads of random pages, one at a time per thread.
fn raw_reads(file: &Path, pages: u64, threads: u64, each: u64) -> Result<f64, Failure> {
    let disk = vaquita_io::real::RealDisk::new(vaquita_io::real::RealDiskOptions::default());
    let handle = disk.open(file, OpenOptions { direct: true, ..OpenOptions::new(OpenMode::Read) })?;
    let started = Instant::now();
    on_threads(threads, |t| {
        let mut rng = Rng::new(t + 999);
        let mut page = vaquita_io::AlignedBuf::zeroed(16_384);
        for _ in 0..each {
            let offset = rng.below(pages) * 16_384;
            let mut ops = [BatchOp { file: &*handle, offset, transfer: Transfer::Read(&mut page) }];
            let mut outcome = Ok(());
            disk.run_batch(&mut ops, &mut |_, _, result| outcome = result);
            outcome?;
        }
        Ok(())
    })?;
    Ok((each * threads) as f64 / started.elapsed().as_secs_f64())
}

/// `recovery`: about `redo_bytes` of redo over `pages` dirty pages, none of it written to the pages; the time from
/// opening to the last page brought up to date.
///
/// # Errors
/// The engine's.
pub fn recovery(redo_bytes: u64, pages: u64) -> Result<(), Failure> {
    let scratch = Scratch::new()?;
    let folder = scratch.path();
    // Buffered files, so that the page cache is warm; a log that holds everything; a pool that holds every page.
    let settings = Options {
        buffer_pool_size: 1 << 30,
        log_file_size: (redo_bytes * 3 / 4).next_multiple_of(1 << 20),
        flush_method: FlushMethod::Fsync,
        live: LiveSettings { io_capacity: 1, adaptive_flushing: false, ..options(folder).live },
        ..options(folder)
    };
    let rows_per_page = 16_384 * 15 / 16 / (VALUE_LEN as u64 + 15);
    let rows = pages * rows_per_page;
    let root = {
        let store = Rows::create(settings.clone())?;
        store.insert(&mut (0..rows), usize::MAX)?;
        let root = store.tree.root();
        store.close()?;
        root
    };
    let store = Rows::open(settings.clone(), root, false)?;
    let start = store.storage.log().current_lsn();
    let mut rng = Rng::new(3);
    let mut updates = 0u64;
    let mut last = start;
    while last.0 - start.0 < redo_bytes {
        last = update(&store, rng.below(rows), updates as u8)?;
        updates += 1;
    }
    store.storage.log().flush_up_to(last)?;
    let dirty = store.storage.pool().dirty_count();
    let age = store.storage.log().age();
    // Dropped without closing: what a crash leaves.
    drop(store);
    for name in ["rows.ibd", "ibdata1", "ib_logfile0", "ib_logfile1"] {
        std::hint::black_box(std::fs::read(folder.join(name))?);
    }
    let (cpu, started) = (cpu_time(), Instant::now());
    let store = Rows::open(settings, root, false)?;
    let took = started.elapsed();
    let report = store.storage.report().recovery.clone().ok_or("nothing was recovered")?;
    println!(
        "recovery                    {:.2} s ({:.2} s CPU): {} MB of redo, {} records, {} pages ({dirty} were dirty), {} rounds, age {} MB; {updates} updates",
        took.as_secs_f64(),
        (cpu_time() - cpu).as_secs_f64(),
        report.redo_bytes / 1_000_000,
        report.records,
        report.pages,
        report.rounds,
        age / 1_000_000,
    );
    println!("memory after recovery       {} MiB resident, pool 1024 MiB", resident_bytes()? >> 20);
    for probe in 0..1_000 {
        let key = rng.below(rows);
        store.get(key)?.ok_or(format!("probe {probe}: key {key} is gone"))?;
    }
    Ok(())
}

/// Overwrites the value of a row in place.
fn update(store: &Rows, key: u64, byte: u8) -> Result<vaquita_base::Lsn, Failure> {
    let (k, v) = (key_bytes(key), [byte; VALUE_LEN]);
    let fields = [TupleField::new(&k)];
    let mut mtr = store.storage.begin()?;
    let at =
        store.tree.search(&mut mtr, &Tuple::new(&fields), SearchMode::LessOrEqual, LatchMode::Exclusive)?;
    let change = [FieldUpdate { pos: 1, data: Some(&v) }];
    store.tree.update_in_place(&mut mtr, at.page(), at.found().low, 0, &change, None)?;
    Ok(mtr.commit())
}

/// `memory`: what a process with a full pool takes beyond the pool's setting.
///
/// # Errors
/// The engine's.
pub fn memory(pool_bytes: usize) -> Result<(), Failure> {
    let scratch = Scratch::new()?;
    let before = resident_bytes()?;
    let settings =
        Options { buffer_pool_size: pool_bytes, log_buffer_size: 1 << 20, ..options(scratch.path()) };
    let store = Rows::create(settings)?;
    store.insert(&mut (0..pool_bytes as u64 * 2 / 120), 1_000)?;
    let grown = resident_bytes()? - before;
    println!(
        "memory                      {} MiB for a pool of {} MiB ({:+.1} %)",
        grown >> 20,
        pool_bytes >> 20,
        grown as f64 * 100.0 / pool_bytes as f64 - 100.0
    );
    store.close()
}

fn on_threads(n: u64, work: impl Fn(u64) -> Result<(), Failure> + Sync) -> Result<(), Failure> {
    let failures = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for t in 0..n {
            let (work, failures) = (&work, &failures);
            scope.spawn(move || {
                if let Err(e) = work(t) {
                    eprintln!("{e}");
                    failures.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    if failures.into_inner() == 0 { Ok(()) } else { Err("a thread failed".into()) }
}

/// User and system time of the process, from /proc (clock ticks of 10 ms).
pub(crate) fn cpu_time() -> Duration {
    let (user, system) = cpu_times();
    user + system
}

/// Processor time of the process so far: user, system.
pub(crate) fn cpu_times() -> (Duration, Duration) {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(") ").next().unwrap_or_default();
    let mut ticks = after_name.split(' ').skip(11).map(|t| t.parse::<u64>().unwrap_or_default());
    let mut next = || Duration::from_millis(ticks.next().unwrap_or_default() * 10);
    (next(), next())
}

pub(crate) fn resident_bytes() -> Result<u64, Failure> {
    let statm = std::fs::read_to_string("/proc/self/statm")?;
    let pages: u64 = statm.split(' ').nth(1).ok_or("/proc/self/statm has no resident size")?.parse()?;
    Ok(pages * 4_096)
}
