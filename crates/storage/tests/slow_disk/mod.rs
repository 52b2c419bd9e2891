//! A simulated disk on which one file's syncs can be held up: for tests of who waits for whom.
#![allow(dead_code, reason = "each test program uses its part")]
#![allow(clippy::unwrap_used, reason = "a test")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex};
use vaquita_io::sim::SimDisk;
use vaquita_io::{BatchOp, File, FileSystem, OpenOptions, Transfer};

/// Holds syncs of one file up.
#[derive(Debug, Default)]
pub(crate) struct Barrier {
    state: Mutex<BarrierState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct BarrierState {
    victim: Option<&'static str>,
    waiting: usize,
    /// Names of the threads that synced table files, while somebody wants to know.
    threads: Option<BTreeSet<String>>,
}

impl Barrier {
    pub(crate) fn close(&self, victim: &'static str) {
        self.state.lock().unwrap().victim = Some(victim);
    }

    pub(crate) fn open(&self) {
        self.state.lock().unwrap().victim = None;
        self.changed.notify_all();
    }

    pub(crate) fn note_threads(&self) {
        self.state.lock().unwrap().threads = Some(BTreeSet::new());
    }

    pub(crate) fn threads(&self) -> BTreeSet<String> {
        self.state.lock().unwrap().threads.take().unwrap()
    }

    fn pass(&self, path: &Path) {
        let mut state = self.state.lock().unwrap();
        if path.ends_with("t.ibd")
            && let Some(threads) = &mut state.threads
        {
            threads.insert(std::thread::current().name().unwrap_or("a user's").to_owned());
        }
        while state.victim.is_some_and(|victim| path.ends_with(victim)) {
            state.waiting += 1;
            self.changed.notify_all();
            state = self.changed.wait(state).unwrap();
            state.waiting -= 1;
        }
    }

    pub(crate) fn wait_for_a_visitor(&self) {
        let mut state = self.state.lock().unwrap();
        while state.waiting == 0 {
            state = self.changed.wait(state).unwrap();
        }
    }
}

/// A disk with the barrier before its syncs.
#[derive(Debug)]
pub(crate) struct SlowDisk {
    pub(crate) disk: SimDisk,
    pub(crate) barrier: Arc<Barrier>,
}

#[derive(Debug)]
struct SlowFile {
    file: Arc<dyn File>,
    barrier: Arc<Barrier>,
}

impl File for SlowFile {
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
        self.barrier.pass(self.file.path());
        self.file.sync()
    }
    fn len(&self) -> vaquita_io::Result<u64> {
        self.file.len()
    }
    fn set_len(&self, len: u64) -> vaquita_io::Result<()> {
        self.file.set_len(len)
    }
}

impl FileSystem for SlowDisk {
    fn open(&self, path: &Path, options: OpenOptions) -> vaquita_io::Result<Arc<dyn File>> {
        let file = self.disk.open(path, options)?;
        Ok(Arc::new(SlowFile { file, barrier: self.barrier.clone() }))
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
    fn list_dir(&self, path: &Path) -> vaquita_io::Result<Vec<PathBuf>> {
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
