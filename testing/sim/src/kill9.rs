//! `kill -9` of a real process that writes on the real disk.
//!
//! A child process runs writer threads on one tree, with the background services. Each thread's operations follow from
//! the seed, the thread and a running number; before an operation it says so on its standard output, and again when the
//! log is durable. The parent kills it after a random number of such lines, recovers the folder, and demands: the tree
//! is valid, and each thread's rows are those after the last operation it reported durable, or after the one it had
//! begun then. Round after round on the same folder.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use vaquita_base::{IndexId, PageNo, Rng, SpaceId, SystemClock};
use vaquita_btree::{Cursor, Tree};
use vaquita_format::PageSize;
use vaquita_format::column::ColumnDef;
use vaquita_format::flags::SpaceFlags;
use vaquita_format::index_def::{IndexDef, IndexSpec, KeyPart, RowFormat};
use vaquita_format::record::Offsets;
use vaquita_format::tuple::{Tuple, TupleField};
use vaquita_io::{FileSystem, RealDisk, RealDiskOptions};
use vaquita_storage::fsp;
use vaquita_storage::{LiveSettings, Options, Services, Storage, SystemFile};

/// Writer threads.
const THREADS: u64 = 3;
/// Keys of a thread.
const KEYS: u64 = 300;
/// Lines of output after which the process is killed, at most.
const LINES_MAX: u64 = 3_000;
/// The tablespace of the tree.
const SPACE: SpaceId = SpaceId(1);

/// What the rounds did.
#[derive(Debug, Clone, Default)]
pub struct KillReport {
    /// Kills.
    pub kills: u64,
    /// Operations reported durable.
    pub durable: u64,
    /// Bytes of redo that recoveries applied.
    pub redo_bytes: u64,
}

impl fmt::Display for KillReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kills, durable, redo_bytes } = self;
        write!(f, "{kills} kills -9, {durable} durable operations, {redo_bytes} bytes of redo recovered")
    }
}

fn options(dir: &Path) -> Options {
    Options {
        page_size: PageSize::new(4096).expect("a page size"),
        buffer_pool_size: 96 * 4096,
        data_file_path: vec![SystemFile { name: "ibdata1".into(), size_bytes: 4 << 20 }],
        live: LiveSettings { autoextend_increment_bytes: 1 << 20, ..LiveSettings::default() },
        log_file_size: 256 << 10,
        log_buffer_size: 64 << 10,
        ..Options::new(dir)
    }
}

fn open(dir: &Path) -> Result<Storage, String> {
    let fs: Arc<dyn FileSystem> = Arc::new(RealDisk::new(RealDiskOptions::default()));
    let storage = Storage::open(fs, Arc::new(SystemClock::new()), options(dir)).map_err(|e| e.to_string())?;
    if !storage.report().created {
        storage.open_table_space(SPACE, &dir.join("t.ibd")).map_err(|e| e.to_string())?;
    }
    Ok(storage)
}

fn index() -> Arc<IndexDef> {
    let spec = IndexSpec {
        id: IndexId(1),
        name: "PRIMARY".into(),
        row_format: RowFormat::Dynamic,
        page_size: PageSize::new(4096).expect("a page size"),
    };
    let columns = [ColumnDef::int("id", 8, true).not_null(), ColumnDef::blob("v", 3)];
    Arc::new(IndexDef::clustered(spec, &columns, Some(&[KeyPart::whole(0)])).expect("a sound definition"))
}

fn create(dir: &Path) -> Result<PageNo, String> {
    let storage = open(dir)?;
    let flags = SpaceFlags::new(storage.options().page_size, false, false).expect("an ordinary page size");
    storage.create_table_space(SPACE, flags, "t").map_err(|e| e.to_string())?;
    let mut mtr = storage.begin().map_err(|e| e.to_string())?;
    mtr.keep_before_images();
    let tree = Tree::create(&mut mtr, SPACE, index()).map_err(|e| e.to_string())?;
    mtr.commit();
    storage.close().map_err(|e| e.to_string())?;
    Ok(tree.root())
}

/// One operation.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Op {
    Put(u64, Vec<u8>),
    Remove(u64),
}

/// The operation number `n` of a thread. The keys of all threads lie among each other.
fn op(seed: u64, thread: u64, n: u64) -> Op {
    let mut rng = Rng::new(seed ^ thread << 56 ^ n);
    let key = rng.below(KEYS) * THREADS + thread;
    if rng.one_in(4) {
        return Op::Remove(key);
    }
    let len = if rng.one_in(25) { rng.below(20_000) } else { rng.below(300) };
    Op::Put(key, vec![rng.next_u64() as u8; len as usize])
}

/// Rows of a thread after its first `n` operations.
fn rows_after(seed: u64, thread: u64, n: u64) -> BTreeMap<u64, Vec<u8>> {
    let mut rows = BTreeMap::new();
    for i in 0..n {
        match op(seed, thread, i) {
            Op::Put(key, value) => rows.insert(key, value),
            Op::Remove(key) => rows.remove(&key),
        };
    }
    rows
}

fn key_bytes(key: u64) -> [u8; 8] {
    let mut bytes = [0; 8];
    vaquita_base::codec::put_u64(&mut bytes, 0, key);
    bytes
}

/// Performs an operation and returns when it is durable.
fn perform(storage: &Storage, tree: &Tree, op: &Op) -> vaquita_btree::Result<()> {
    let (key, value) = match op {
        Op::Put(key, value) => (key_bytes(*key), Some(value)),
        Op::Remove(key) => (key_bytes(*key), None),
    };
    let key_fields = [TupleField::new(&key)];
    let key_tuple = Tuple::new(&key_fields);
    let refs = tree.lookup(storage, &key_tuple, |record| tree.external_refs(&record))?.transpose()?;
    let lsn = match (value, &refs) {
        (None, _) => tree.remove(storage, &key_tuple)?,
        (Some(value), known) => {
            let fields =
                [&key[..], &[0, 0, 0, 0, 0, 1], &[0x80, 0, 0, 0, 0, 0, 0], value].map(TupleField::new);
            let tuple = Tuple::new(&fields);
            let stored = tree.store(storage, &tuple)?;
            match known {
                Some(_) => tree.update_record(storage, &tuple, &stored.record)?,
                None => Some(tree.insert_record(storage, &tuple, &stored.record)?),
            }
        }
    };
    for (_, _, chain) in refs.unwrap_or_default() {
        tree.free_chain(storage, &chain)?;
    }
    if let Some(lsn) = lsn {
        storage.log().flush_up_to(lsn).map_err(vaquita_storage::Error::from)?;
    }
    Ok(())
}

/// The child's part; `words`: folder, root page, seed, and for each thread the number of its next operation.
///
/// # Errors
/// What went wrong, or arguments that make no sense.
pub fn child(words: &[&str]) -> Result<(), String> {
    let [dir, root, seed, next @ ..] = words else { return Err("too few words for a child".into()) };
    let number = |word: &str| word.parse::<u64>().map_err(|e| format!("{word}: {e}"));
    let (dir, root, seed) = (PathBuf::from(dir), PageNo(number(root)? as u32), number(seed)?);
    let next: Vec<u64> = next.iter().map(|word| number(word)).collect::<Result<_, _>>()?;
    let storage = Arc::new(open(&dir)?);
    let tree = Tree::open(&storage, SPACE, root, index()).map_err(|e| e.to_string())?;
    let _services = Services::start(&storage).map_err(|e| e.to_string())?;
    let say = |what: char, thread: usize, n: u64| {
        let mut out = std::io::stdout().lock();
        // Without a parent there is nothing to do.
        if writeln!(out, "{what} {thread} {n}").and_then(|()| out.flush()).is_err() {
            std::process::exit(1);
        }
    };
    std::thread::scope(|scope| {
        for (thread, first) in next.into_iter().enumerate() {
            let (storage, tree, say) = (&storage, &tree, &say);
            scope.spawn(move || {
                for n in first.. {
                    say('b', thread, n);
                    if let Err(e) = perform(storage, tree, &op(seed, thread as u64, n)) {
                        eprintln!("thread {thread}, operation {n}: {e}");
                        std::process::exit(3);
                    }
                    say('d', thread, n);
                }
            });
        }
    });
    Ok(())
}

/// Operations of the threads: how many were durable, how many begun.
#[derive(Debug, Clone, Copy, Default)]
struct Progress {
    begun: u64,
    durable: u64,
}

/// Kills a child process `n` times on a folder of its own; `exe` is the program that has [`child`] behind the word
/// "child".
///
/// # Errors
/// What was wrong, with the folder, which stays.
pub fn rounds(exe: &Path, n: u64, seed: u64) -> Result<KillReport, String> {
    let dir = exe.with_file_name(format!("kill9-{}-{seed}", std::process::id()));
    let failed = |text: String| format!("{text}\nseed {seed}, folder {}", dir.display());
    let mut rng = Rng::new(seed);
    let mut report = KillReport::default();
    let root = create(&dir).map_err(failed)?;
    let mut progress = vec![Progress::default(); THREADS as usize];
    for _ in 0..n {
        let lines = 1 + rng.below(LINES_MAX);
        run_child(exe, &dir, root, seed, lines, &mut progress).map_err(failed)?;
        report.kills += 1;
        let close = rng.one_in(3);
        report.redo_bytes += recover(&dir, root, seed, &mut progress, close).map_err(failed)?;
    }
    report.durable = progress.iter().map(|p| p.durable).sum();
    std::fs::remove_dir_all(&dir).map_err(|e| failed(e.to_string()))?;
    Ok(report)
}

fn run_child(
    exe: &Path,
    dir: &Path,
    root: PageNo,
    seed: u64,
    lines: u64,
    progress: &mut [Progress],
) -> Result<(), String> {
    let mut child = Command::new(exe)
        .arg("child")
        .arg(dir)
        .args([root.get().to_string(), seed.to_string()])
        .args(progress.iter().map(|p| p.durable.to_string()))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|e| format!("cannot start {}: {e}", exe.display()))?;
    let output = BufReader::new(child.stdout.take().expect("it is piped"));
    let mut count = 0;
    // After the kill, what is in the pipe still counts.
    for line in output.lines().map_while(Result::ok) {
        let words: Vec<&str> = line.split(' ').collect();
        if let [what, thread, n] = words[..]
            && let (Ok(thread), Ok(n)) = (thread.parse::<usize>(), n.parse::<u64>())
            && let Some(p) = progress.get_mut(thread)
        {
            match what {
                "b" => p.begun = n + 1,
                _ => p.durable = n + 1,
            }
        }
        count += 1;
        if count == lines {
            child.kill().map_err(|e| e.to_string())?;
        }
    }
    let status = child.wait().map_err(|e| e.to_string())?;
    if count < lines {
        return Err(format!("the process ended by itself: {status}"));
    }
    Ok(())
}

/// Recovers and compares; the bytes of redo that were applied.
fn recover(
    dir: &Path,
    root: PageNo,
    seed: u64,
    progress: &mut [Progress],
    close: bool,
) -> Result<u64, String> {
    let storage = open(dir)?;
    let tree = Tree::open(&storage, SPACE, root, index()).map_err(|e| e.to_string())?;
    vaquita_btree::validate(&tree, &storage).map_err(|e| e.to_string())?;
    for space in [SpaceId::SYSTEM, SPACE] {
        fsp::validate(&mut storage.begin_read(), space).map_err(|e| e.to_string())?;
    }
    let mut found = read_all(&storage, &tree)?;
    for (thread, p) in progress.iter_mut().enumerate() {
        let rows = std::mem::take(&mut found[thread]);
        let states = [p.durable, p.begun.max(p.durable)];
        match states.into_iter().find(|&n| rows == rows_after(seed, thread as u64, n)) {
            Some(n) => *p = Progress { begun: n, durable: n },
            None => {
                return Err(format!("thread {thread}: the rows are not those after {states:?} operations"));
            }
        }
    }
    storage.pool().validate();
    let redo = storage.report().recovery.as_ref().map_or(0, |r| r.redo_bytes);
    if close {
        storage.close().map_err(|e| e.to_string())?;
    }
    Ok(redo)
}

/// The rows of each thread.
fn read_all(storage: &Storage, tree: &Tree) -> Result<Vec<BTreeMap<u64, Vec<u8>>>, String> {
    let mut found = vec![BTreeMap::new(); THREADS as usize];
    let mut cursor = Cursor::new(tree, storage);
    let mut offsets = Offsets::new();
    let mut more = cursor.first().map_err(|e| e.to_string())?;
    while more {
        let record = cursor.record().expect("the cursor is on a record");
        record.parse(tree.index(), &mut offsets).map_err(|e| e.to_string())?;
        let key = vaquita_base::codec::get_u64(record.field(&offsets, 0).unwrap_or(&[0; 8]), 0);
        let mut value = record.field(&offsets, 3).unwrap_or_default().to_vec();
        if offsets.is_external(3) {
            let local = std::mem::take(&mut value);
            tree.read_value(storage, &local, &mut value).map_err(|e| e.to_string())?;
        }
        found[(key % THREADS) as usize].insert(key, value);
        more = cursor.next().map_err(|e| e.to_string())?;
    }
    Ok(found)
}
