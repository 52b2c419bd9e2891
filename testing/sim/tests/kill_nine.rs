//! `kill -9` of a process that writes on the real disk: what it acknowledged is there afterwards.
//!
//! The child is this test program, started again with `CHILD_FOLDER` set: three threads insert rows into one tree,
//! overwrite some of them, and say on standard output what they made durable. The parent kills it at a random moment,
//! recovers the folder, validates the tree and compares. `VAQUITA_KILL_ROUNDS` sets the number of rounds.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::io::{BufRead, BufReader, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use vaquita_base::codec::{get_u64, put_u64};
use vaquita_base::{IndexId, PageNo, Rng, SpaceId, SystemClock};
use vaquita_btree::{Cursor, Tree};
use vaquita_format::PageSize;
use vaquita_format::column::ColumnDef;
use vaquita_format::flags::SpaceFlags;
use vaquita_format::index_def::{IndexDef, IndexSpec, RowFormat};
use vaquita_format::record::Offsets;
use vaquita_format::tuple::{Tuple, TupleField};
use vaquita_io::real::{RealDisk, RealDiskOptions};
use vaquita_storage::space::fsp;
use vaquita_storage::{Options, Services, Storage};

const CHILD_FOLDER: &str = "VAQUITA_KILL_FOLDER";
const SPACE: SpaceId = SpaceId(5);
const ROOT: PageNo = PageNo(3);
const THREADS: u64 = 3;
/// Rows of a thread have keys of their own.
const KEYS_PER_THREAD: u64 = 1 << 40;

fn options(folder: &Path) -> Options {
    Options { buffer_pool_size: 4 << 20, log_file_size: 2 << 20, ..Options::new(folder) }
}

fn index() -> Arc<IndexDef> {
    let spec = IndexSpec {
        id: IndexId(77),
        name: "rows".into(),
        row_format: RowFormat::Dynamic,
        page_size: PageSize::DEFAULT,
    };
    let columns = vec![ColumnDef::int("k", 8, true).not_null(), ColumnDef::varbinary("v", 300).not_null()];
    Arc::new(IndexDef::plain(spec, columns, 1).unwrap())
}

fn open(folder: &Path) -> (Arc<Storage>, Tree) {
    let disk = Arc::new(RealDisk::new(RealDiskOptions::default()));
    let storage = Arc::new(Storage::open(disk, Arc::new(SystemClock::new()), options(folder)).unwrap());
    if storage.report().created {
        let flags = SpaceFlags::new(PageSize::DEFAULT, true, false).unwrap();
        storage.create_table_space(SPACE, flags, "rows").unwrap();
        let mut mtr = storage.begin().unwrap();
        mtr.keep_before_images();
        let tree = Tree::create(&mut mtr, SPACE, index()).unwrap();
        assert_eq!(tree.root(), ROOT);
        let lsn = mtr.commit();
        storage.log().flush_up_to(lsn).unwrap();
        return (storage, tree);
    }
    storage.open_table_space(SPACE, &folder.join("rows.ibd")).unwrap();
    let tree = Tree::open(&storage, SPACE, ROOT, index()).unwrap();
    (storage, tree)
}

/// A value that tells its key: the key, and filler of a length that depends on it.
fn value_of(key: u64) -> Vec<u8> {
    let mut value = vec![key as u8; 20 + (key % 250) as usize];
    put_u64(&mut value, 0, key);
    value
}

fn insert(storage: &Storage, tree: &Tree, key: u64) -> vaquita_base::Lsn {
    let mut k = [0; 8];
    put_u64(&mut k, 0, key);
    let v = value_of(key);
    tree.insert(storage, &Tuple::new(&[TupleField::new(&k), TupleField::new(&v)])).unwrap()
}

/// The writing side; runs until it is killed.
fn write_until_killed(folder: &Path, next: &[u64]) {
    let (storage, tree) = open(folder);
    let _services = Services::start(&storage).unwrap();
    std::thread::scope(|scope| {
        for (t, &from) in next.iter().enumerate() {
            let (storage, tree) = (&storage, &tree);
            scope.spawn(move || {
                let mut rng = Rng::new(from + t as u64);
                let mut n = from;
                loop {
                    // A few rows between two acknowledgements, so that there is something to lose.
                    let mut last = None;
                    for _ in 0..1 + rng.below(4) {
                        last = Some(insert(storage, tree, t as u64 * KEYS_PER_THREAD + n));
                        n += 1;
                    }
                    storage.log().flush_up_to(last.unwrap()).unwrap();
                    let mut out = std::io::stdout().lock();
                    writeln!(out, "durable {t} {n}").unwrap();
                    out.flush().unwrap();
                }
            });
        }
    });
}

/// The rows of each thread: how many there are, all of them in order from 0 and with their own values.
fn count_rows(storage: &Storage, tree: &Tree) -> Vec<u64> {
    let mut next = vec![0; THREADS as usize];
    let mut offsets = Offsets::new();
    let mut cursor = Cursor::new(tree, storage);
    if cursor.first().unwrap() {
        cursor
            .for_each(|row| {
                row.parse(tree.index(), &mut offsets).unwrap();
                let key = get_u64(row.field(&offsets, 0).unwrap(), 0);
                assert_eq!(row.field(&offsets, 1).unwrap(), value_of(key), "the value of row {key}");
                let (t, n) = ((key / KEYS_PER_THREAD) as usize, key % KEYS_PER_THREAD);
                assert_eq!(n, next[t], "a hole in the rows of thread {t}");
                next[t] += 1;
                ControlFlow::Continue(())
            })
            .unwrap();
    }
    next
}

/// The child's part; nothing when this program was started as a test.
#[test]
fn child() {
    let Ok(folder) = std::env::var(CHILD_FOLDER) else { return };
    let next: Vec<u64> =
        std::env::var("VAQUITA_KILL_NEXT").unwrap().split(',').map(|n| n.parse().unwrap()).collect();
    write_until_killed(Path::new(&folder), &next);
}

/// Lets the child write for a while, kills it; what it had acknowledged.
fn write_and_kill(folder: &Path, next: &[u64], time: Duration) -> Vec<u64> {
    let words: Vec<String> = next.iter().map(u64::to_string).collect();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["child", "--exact", "--nocapture", "--test-threads=1"])
        .env(CHILD_FOLDER, folder)
        .env("VAQUITA_KILL_NEXT", words.join(","))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let out = BufReader::new(child.stdout.take().unwrap());
    let killer = std::thread::spawn(move || {
        std::thread::sleep(time);
        child.kill().unwrap();
        child.wait().unwrap();
    });
    let mut durable = next.to_vec();
    for line in out.lines() {
        // The last line may be cut off in the middle.
        let Ok(line) = line else { break };
        let words: Vec<&str> = line.split(' ').collect();
        if let ["durable", t, n] = words[..]
            && let (Ok(t), Ok(n)) = (t.parse::<usize>(), n.parse())
        {
            durable[t] = n;
        }
    }
    killer.join().unwrap();
    durable
}

fn scratch() -> PathBuf {
    let name = format!("vaquita-kill-nine-{}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    assert!(!folder.exists(), "{} is there already", folder.display());
    folder
}

#[test]
fn what_a_killed_process_acknowledged_is_there() {
    let rounds: u32 = std::env::var("VAQUITA_KILL_ROUNDS").map_or(3, |n| n.parse().unwrap());
    let seed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
    println!("seed {seed}");
    let mut rng = Rng::new(seed);
    let folder = scratch();
    let mut next = vec![0; THREADS as usize];
    for round in 0..rounds {
        let durable = write_and_kill(&folder, &next, Duration::from_millis(50 + rng.below(600)));
        let (storage, tree) = open(&folder);
        storage.pool().validate();
        let report = vaquita_btree::validate(&tree, &storage).unwrap();
        fsp::validate(&mut storage.begin_read(), SPACE).unwrap();
        let found = count_rows(&storage, &tree);
        for (t, (&found, &durable)) in found.iter().zip(&durable).enumerate() {
            assert!(
                (durable..durable + 5).contains(&found),
                "round {round}, thread {t}: {found} rows, {durable} were durable"
            );
        }
        println!("round {round}: {found:?} rows, tree of {} levels", report.height);
        next = found;
        if rng.one_in(3) {
            storage.close().unwrap();
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
