//! Speed of a tree on the real disk: `cargo run --release -p vaquita-btree --example tree_speed [DIR]`.
//!
//! Prints nanoseconds per operation: a million ascending inserts (8-byte key, 100-byte value), a million random point
//! lookups by one thread and by two, a scan, random inserts, and a bulk build.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;
use vaquita_base::{IndexId, Rng, SpaceId, SystemClock};
use vaquita_btree::{BulkBuilder, Cursor, RecBuf, Result, Tree, validate};
use vaquita_format::column::ColumnDef;
use vaquita_format::flags::SpaceFlags;
use vaquita_format::index_def::{IndexDef, IndexSpec, KeyPart, RowFormat};
use vaquita_format::tuple::{Tuple, TupleField};
use vaquita_io::real::{RealDisk, RealDiskOptions};
use vaquita_storage::{Options, Services, Storage};

const SPACE: SpaceId = SpaceId(9);
const ROWS: u64 = 1_000_000;

fn main() -> Result<()> {
    let dir = std::env::args().nth(1);
    let dir = dir.map_or_else(|| std::env::temp_dir().join("vaquita-tree-speed"), Into::into);
    if dir.exists() {
        std::fs::remove_dir_all(&dir).expect("an old folder of this program can be removed");
    }
    let fs = Arc::new(RealDisk::new(RealDiskOptions::default()));
    let options = Options { log_file_size: 256 << 20, buffer_pool_size: 512 << 20, ..Options::new(&dir) };
    let storage = Arc::new(Storage::open(fs, Arc::new(SystemClock::new()), options)?);
    let services = Services::start(&storage)?;
    let flags = SpaceFlags::new(storage.options().page_size, false, false).expect("16K pages have flags");
    storage.create_table_space(SPACE, flags, "t")?;

    let tree = create(&storage)?;
    let mut rec = RecBuf::new();
    time("insert_ascending", ROWS, || {
        (0..ROWS).try_for_each(|key| {
            with_row(key, |tuple| {
                rec.set(tree.index(), tuple)?;
                tree.insert_record(&storage, tuple, &rec).map(|_| ())
            })
        })
    })?;
    let report = validate(&tree, &storage)?;
    println!("{report:?}");
    let fill = report.record_bytes as f64 / (report.leaf_pages * 16_252) as f64;
    println!("height {}, leaves {:.1} % full", report.height, fill * 100.0);

    for threads in [1, 2] {
        let name = format!("lookup_random_{threads}t");
        time(&name, ROWS * threads, || {
            std::thread::scope(|s| {
                for t in 1..threads {
                    let (tree, storage) = (&tree, &storage);
                    s.spawn(move || look_up(tree, storage, t));
                }
                println!("{:32} {:10.1} ns/op", "best round of", look_up(&tree, &storage, 0));
            });
            Ok(())
        })?;
    }
    time("scan", ROWS, || {
        let mut cursor = Cursor::new(&tree, &storage);
        let mut n = 0;
        cursor.first()?;
        cursor.for_each(|r| {
            n += u64::from(r.page[usize::from(r.rec)] < 0x80);
            ControlFlow::Continue(())
        })?;
        assert_eq!(n, ROWS, "the scan sees every record");
        Ok(())
    })?;
    let random = create(&storage)?;
    let mut rng = Rng::new(3);
    time("insert_random", ROWS, || {
        (0..ROWS).try_for_each(|_| {
            with_row(rng.next_u64() >> 1, |tuple| {
                rec.set(random.index(), tuple)?;
                random.insert_record(&storage, tuple, &rec).map(|_| ())
            })
        })
    })?;
    println!("{:?}", validate(&random, &storage)?);
    let bulk = create(&storage)?;
    time("bulk_build", ROWS, || {
        let mut builder = BulkBuilder::new(&bulk, &storage, 94);
        (0..ROWS).try_for_each(|key| {
            with_row(key, |tuple| {
                rec.set(bulk.index(), tuple)?;
                builder.push_record(tuple, &rec)
            })
        })?;
        builder.finish().map(|_| ())
    })?;
    println!("{:?}", validate(&bulk, &storage)?);
    drop(services);
    storage.close()?;
    Ok(())
}

fn create(storage: &Storage) -> Result<Tree> {
    let columns = [ColumnDef::int("id", 8, true).not_null(), ColumnDef::varbinary("v", 200).not_null()];
    let spec = IndexSpec {
        id: IndexId(1),
        name: "PRIMARY".into(),
        row_format: RowFormat::Compact,
        page_size: storage.options().page_size,
    };
    let index = IndexDef::clustered(spec, &columns, Some(&[KeyPart::whole(0)])).expect("a plain table");
    let mut mtr = storage.begin()?;
    mtr.keep_before_images();
    let tree = Tree::create(&mut mtr, SPACE, Arc::new(index))?;
    mtr.commit();
    Ok(tree)
}

fn with_row<R>(key: u64, run: impl FnOnce(&Tuple<'_>) -> R) -> R {
    let mut id = [0; 8];
    vaquita_base::codec::put_u64(&mut id, 0, key);
    let fields = [&id[..], &[0; 6], &[0x80, 0, 0, 0, 0, 0, 0], &[7; 100]].map(TupleField::new);
    run(&Tuple::new(&fields))
}

/// Looks up random rows in rounds; the nanoseconds per lookup of the fastest round, as far as other programs let it.
fn look_up(tree: &Tree, storage: &Storage, seed: u64) -> f64 {
    const ROUNDS: u64 = 20;
    let mut rng = Rng::new(seed);
    let round = |rng: &mut Rng| {
        let start = Instant::now();
        for _ in 0..ROWS / ROUNDS {
            let mut id = [0; 8];
            vaquita_base::codec::put_u64(&mut id, 0, rng.below(ROWS));
            let key = [TupleField::new(&id)];
            let found = tree.lookup(storage, &Tuple::new(&key), |r| r.page[usize::from(r.rec) + 30]);
            assert_eq!(found.expect("pages are readable"), Some(7), "the row is there");
        }
        start.elapsed().as_nanos() as f64 / (ROWS / ROUNDS) as f64
    };
    (0..ROUNDS).map(|_| round(&mut rng)).fold(f64::MAX, f64::min)
}

fn time(name: &str, n: u64, run: impl FnOnce() -> Result<()>) -> Result<()> {
    let (start, cpu) = (Instant::now(), cpu_ns());
    run()?;
    let (wall, cpu) = (start.elapsed().as_nanos() as f64 / n as f64, (cpu_ns() - cpu) / n as f64);
    println!("{name:32} {wall:10.1} ns/op over all threads, {cpu:8.1} ns of processor time");
    Ok(())
}

/// Processor time of the whole process, services included, in nanoseconds; tells the cost on a machine that is busy
/// with other things.
fn cpu_ns() -> f64 {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let of = |task: std::fs::DirEntry| {
        let text = std::fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
        text.split(' ').next().and_then(|n| n.parse::<f64>().ok()).unwrap_or(0.0)
    };
    tasks.map(of).sum()
}
