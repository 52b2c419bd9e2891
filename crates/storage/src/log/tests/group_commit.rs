//! Waiting for durability together.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::sync::{OnceLock, Weak};

use vaquita_io::{BatchOp, File, OpenOptions, Transfer};

use super::super::Progress;
use super::*;

type Hook = Arc<dyn Fn() + Send + Sync>;

/// A disk that calls a hook before every sync.
struct Hooked {
    disk: SimDisk,
    hook: Hook,
}

struct HookedFile {
    file: Arc<dyn File>,
    hook: Hook,
}

impl std::fmt::Debug for Hooked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Hooked")
    }
}

impl std::fmt::Debug for HookedFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HookedFile")
    }
}

impl File for HookedFile {
    fn path(&self) -> &Path {
        self.file.path()
    }
    fn read_at(&self, buf: &mut [u8], offset: u64) -> vaquita_io::Result<()> {
        self.file.read_at(buf, offset)
    }
    fn write_at(&self, buf: &[u8], offset: u64) -> vaquita_io::Result<()> {
        self.file.write_at(buf, offset)
    }
    fn sync(&self) -> vaquita_io::Result<()> {
        (self.hook)();
        self.file.sync()
    }
    fn len(&self) -> vaquita_io::Result<u64> {
        self.file.len()
    }
    fn set_len(&self, len: u64) -> vaquita_io::Result<()> {
        self.file.set_len(len)
    }
}

impl FileSystem for Hooked {
    fn open(&self, path: &Path, options: OpenOptions) -> vaquita_io::Result<Arc<dyn File>> {
        let file = self.disk.open(path, options)?;
        Ok(Arc::new(HookedFile { file, hook: Arc::clone(&self.hook) }))
    }
    fn run_batch(
        &self,
        ops: &mut [BatchOp<'_>],
        done: &mut dyn FnMut(usize, &mut BatchOp<'_>, vaquita_io::Result<()>),
    ) {
        for (i, op) in ops.iter_mut().enumerate() {
            let result = match &mut op.transfer {
                Transfer::Read(buf) => op.file.read_at(buf, op.offset),
                Transfer::Write(buf) => op.file.write_at(buf, op.offset),
            };
            done(i, op, result);
        }
    }
    fn remove_file(&self, path: &Path) -> vaquita_io::Result<()> {
        self.disk.remove_file(path)
    }
    fn remove_dir(&self, path: &Path) -> vaquita_io::Result<()> {
        self.disk.remove_dir(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> vaquita_io::Result<()> {
        self.disk.rename(from, to)
    }
    fn create_dir_all(&self, path: &Path) -> vaquita_io::Result<()> {
        self.disk.create_dir_all(path)
    }
    fn list_dir(&self, path: &Path) -> vaquita_io::Result<Vec<std::path::PathBuf>> {
        self.disk.list_dir(path)
    }
    fn is_dir(&self, path: &Path) -> bool {
        self.disk.is_dir(path)
    }
    fn exists(&self, path: &Path) -> bool {
        self.disk.exists(path)
    }
    fn sync_dir(&self, path: &Path) -> vaquita_io::Result<()> {
        self.disk.sync_dir(path)
    }
}

const THREADS: u64 = 8;

/// The first sync is held up until all other threads follow; then one more sync must do for all of them.
#[test]
fn one_sync_serves_all_that_wait() {
    let (armed, syncs) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    // Weak: the log owns the files, and they the hook.
    let shared: Arc<OnceLock<Weak<RedoLog>>> = Arc::default();
    let hook: Hook = {
        let (armed, syncs, shared) = (armed.clone(), syncs.clone(), shared.clone());
        Arc::new(move || {
            if !armed.load(Ordering::SeqCst) || syncs.fetch_add(1, Ordering::SeqCst) > 0 {
                return;
            }
            let log = shared.get().and_then(Weak::upgrade).unwrap();
            while log.stats().flush_followers.get() < THREADS - 1 {
                std::thread::yield_now();
            }
        })
    };
    let fs = Hooked { disk: disk(1), hook };
    let log = RedoLog::create(&fs, clock(), config(1 << 20), new_log(2, 1 << 20)).unwrap();
    let log = &Arc::new(log);
    shared.set(Arc::downgrade(log)).unwrap();
    armed.store(true, Ordering::SeqCst);
    std::thread::scope(|scope| {
        for id in 0..THREADS {
            scope.spawn(move || {
                let end = append(log, id, 500).end;
                log.flush_up_to(end).unwrap();
                assert!(log.flushed_lsn() >= end);
            });
        }
    });
    let syncs = syncs.load(Ordering::SeqCst);
    assert!((1..=2).contains(&syncs), "{syncs} syncs for {THREADS} commits");
    assert_eq!(log.stats().syncs.get(), syncs);
    assert_eq!(log.stats().flush_requests.get(), THREADS);
}

#[test]
fn many_commits_of_many_threads_are_durable_when_acknowledged() {
    let disk = disk(2);
    let log = RedoLog::create(&disk, clock(), config(64 << 10), new_log(2, 4 << 20)).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let log = &log;
            scope.spawn(move || {
                let mut rng = Rng::new(thread);
                for n in 0..200 {
                    let end = append(log, thread << 32 | n, random_len(&mut rng)).end;
                    log.flush_up_to(end).unwrap();
                    assert!(log.flushed_lsn() >= end);
                }
            });
        }
    });
    let requests = log.stats().flush_requests.get();
    assert!(log.stats().syncs.get() <= requests && requests <= 200 * THREADS);
    disk.power_cut();
    let seen = scan(&mut open(&disk.restart()).unwrap()).unwrap();
    assert_eq!(seen.len() as u64, 200 * THREADS);
}

#[test]
fn callbacks_are_called_once_by_whoever_makes_it_durable() {
    let disk = disk(3);
    let log = create(&disk, SMALL);
    let (sender, outcomes) = mpsc::channel();
    let register = |n: u32, lsn: Lsn| {
        let sender = sender.clone();
        log.on_durable(lsn, Box::new(move |r| sender.send((n, r.is_ok())).unwrap()));
    };
    let first = append(&log, 1, 100).end;
    let second = append(&log, 2, 100).end;
    register(1, first);
    register(2, second);
    assert!(outcomes.try_recv().is_err());
    assert_eq!(log.step().unwrap(), Progress::Worked);
    assert_eq!(outcomes.try_iter().collect::<Vec<_>>(), [(1, true), (2, true)]);
    register(3, second);
    assert_eq!(outcomes.try_recv(), Ok((3, true)), "durable already");
    let third = append(&log, 3, 100).end;
    register(4, third);
    log.flush_up_to(third).unwrap();
    assert_eq!(outcomes.try_iter().collect::<Vec<_>>(), [(4, true)]);
    assert_eq!(log.step().unwrap(), Progress::Idle);
}

#[test]
fn a_background_thread_serves_callbacks() {
    let disk = disk(4);
    let log = create(&disk, SMALL);
    let stop = AtomicBool::new(false);
    let (sender, outcomes) = mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::SeqCst) {
                log.step().unwrap();
                // Far longer than the test may take: a lost kick would hang it.
                log.wait_for_work(std::time::Duration::from_secs(600));
            }
        });
        for id in 0..100 {
            let end = append(&log, id, 100).end;
            let sender = sender.clone();
            log.on_durable(end, Box::new(move |r| sender.send(r.is_ok()).unwrap()));
            assert_eq!(outcomes.recv(), Ok(true));
            assert!(log.flushed_lsn() >= end);
        }
        stop.store(true, Ordering::SeqCst);
        log.wake();
    });
}
