//! Batches carried by threads.
//!
//! A few threads take transfers from one queue and do them with plain reads and writes. They start with the first
//! batch that needs them and end with the disk. When not one thread can be started, the caller does the work.
//!
//! # Invariants
//! - I1: a job's file and buffer stay borrowed by the caller of [`Workers::run`] until the job's result has been
//!   taken out of its batch: `run` cannot return or unwind before (see [`Outstanding`]).
//! - I2: a worker touches a job's file and buffer only before it posts the result.
//! - I3: a job is done by one worker only, and the caller does not touch its transfer before the result is there.

use super::run_one;
use crate::error::{Error, ErrorKind, Result};
use crate::file::BatchOp;
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;

/// The threads and their queue.
#[derive(Debug)]
pub(super) struct Workers {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    threads_max: usize,
}

#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
    work: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    jobs: VecDeque<Job>,
    stop: bool,
}

/// Results of one batch, as they arrive.
#[derive(Debug, Default)]
struct Batch {
    arrived: Mutex<Vec<(usize, Result<()>)>>,
    news: Condvar,
}

/// One transfer on its way; its operation's lifetimes are erased, I1 stands in for them.
#[derive(Debug)]
struct Job {
    no: usize,
    op: *mut BatchOp<'static>,
    batch: Arc<Batch>,
}

// SAFETY: the operation holds a `&dyn File` (files are Sync) and a borrowed byte buffer, both fit for another
// thread; by I3 no two threads use the pointer at a time, and by I1 it is alive while the job is.
unsafe impl Send for Job {}

impl Workers {
    pub(super) fn new(threads_max: usize) -> Self {
        Self { shared: Arc::default(), threads: Mutex::default(), threads_max }
    }

    /// Starts what is missing; the number of threads running.
    fn start(&self) -> usize {
        let mut threads = self.threads.lock();
        while threads.len() < self.threads_max {
            let shared = Arc::clone(&self.shared);
            let name = format!("io-{}", threads.len());
            match std::thread::Builder::new().name(name).spawn(move || shared.serve()) {
                Ok(handle) => threads.push(handle),
                Err(_) => break,
            }
        }
        threads.len()
    }

    pub(super) fn run(
        &self,
        ops: &mut [BatchOp<'_>],
        done: &mut dyn FnMut(usize, &mut BatchOp<'_>, Result<()>),
    ) {
        if self.start() == 0 {
            for (no, op) in ops.iter_mut().enumerate() {
                let result = run_one(op);
                done(no, op, result);
            }
            return;
        }
        let batch = Arc::new(Batch::default());
        let mut outstanding = Outstanding { batch: &batch, left: ops.len() };
        let numbers = 0..ops.len();
        // From here on, operations are reached through this pointer only, by whoever I3 says.
        let first = ops.as_mut_ptr();
        self.shared.submit(numbers.map(|no| Job {
            no,
            // SAFETY: `no` is within the slice that `first` begins.
            op: unsafe { first.add(no) }.cast(),
            batch: Arc::clone(&batch),
        }));
        while outstanding.left > 0 {
            for (no, result) in outstanding.wait() {
                // SAFETY: within the slice; the job is done, so by I2 and I3 the operation is the caller's again.
                let op = unsafe { &mut *first.add(no) };
                done(no, op, result);
            }
        }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.shared.queue.lock().stop = true;
        self.shared.work.notify_all();
        for thread in self.threads.get_mut().drain(..) {
            // Workers catch panics; one that died all the same has nothing left to say here.
            let _ = thread.join();
        }
    }
}

/// Keeps the borrow of a batch until the last job is done, also when a callback panics (I1).
struct Outstanding<'b> {
    batch: &'b Batch,
    left: usize,
}

impl Outstanding<'_> {
    /// At least one result.
    fn wait(&mut self) -> Vec<(usize, Result<()>)> {
        let mut arrived = self.batch.arrived.lock();
        while arrived.is_empty() {
            self.batch.news.wait(&mut arrived);
        }
        self.left -= arrived.len();
        std::mem::take(&mut *arrived)
    }
}

impl Drop for Outstanding<'_> {
    fn drop(&mut self) {
        while self.left > 0 {
            self.wait();
        }
    }
}

impl Shared {
    fn submit(&self, jobs: impl Iterator<Item = Job>) {
        self.queue.lock().jobs.extend(jobs);
        self.work.notify_all();
    }

    /// A worker's life.
    fn serve(&self) {
        while let Some(job) = self.next() {
            job.run();
        }
    }

    fn next(&self) -> Option<Job> {
        let mut queue = self.queue.lock();
        loop {
            if let Some(job) = queue.jobs.pop_front() {
                return Some(job);
            }
            if queue.stop {
                return None;
            }
            self.work.wait(&mut queue);
        }
    }
}

impl Job {
    fn run(self) {
        let result = {
            // SAFETY: I1 keeps the operation alive, I3 makes this the only user until the result is posted; the
            // borrow ends with this block (I2).
            let op = unsafe { &mut *self.op };
            catch_unwind(AssertUnwindSafe(|| run_one(op))).unwrap_or_else(|_| {
                Err(Error::new(ErrorKind::Other, "transfer", op.file.path(), "the file's code panicked"))
            })
        };
        self.batch.arrived.lock().push((self.no, result));
        self.batch.news.notify_one();
    }
}
