//! Batches carried by io_uring.
//!
//! A ring is a pair of queues shared with the kernel: transfers go in by the dozen with one system call, results
//! come back in any order. Rings are costly to make, so idle ones are kept and leased to one batch at a time.
//!
//! The rings are made without the single-issuer mode, because a ring serves whichever thread leases it.
//!
//! # Invariants
//! - I1: a buffer handed to the kernel stays borrowed by the caller of [`Lease::run`] until its completion has
//!   been taken from the ring: `run` cannot return or unwind before (see [`Flight`]).
//! - I2: between submission and completion nothing but the kernel touches the buffer: each operation is in flight
//!   at most once, and its callback runs after its last completion.
//! - I3: an idle ring has nothing in flight.

use super::run_one;
use crate::error::{Error, ErrorKind, Result};
use crate::file::{BatchOp, Transfer};
use io_uring::{IoUring, Probe, opcode, types};
use parking_lot::Mutex;
use rustix::io::Errno;
use std::fmt;

/// Idle rings kept; more are made while more batches run, and dropped after.
const IDLE_MAX: usize = 8;

/// The most one request carries; the kernel's own limit is just under 2 GiB.
const REQUEST_BYTES_MAX: usize = 1 << 30;

/// The rings of a disk.
pub(super) struct Rings {
    idle: Mutex<Vec<IoUring>>,
    depth: u32,
}

impl fmt::Debug for Rings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rings").field("depth", &self.depth).finish_non_exhaustive()
    }
}

impl Rings {
    /// Tries a ring out: `None` if the kernel has none, forbids it, or lacks an operation we use.
    pub(super) fn probe(depth: u32) -> Option<Self> {
        let depth = depth.clamp(1, 4096);
        let mut ring = make(depth)?;
        let mut probe = Probe::new();
        ring.submitter().register_probe(&mut probe).ok()?;
        let needed = [opcode::Nop::CODE, opcode::Read::CODE, opcode::Write::CODE];
        if !needed.iter().all(|&code| probe.is_supported(code)) {
            return None;
        }
        // Some sandboxes allow making a ring and forbid entering it.
        let nop = opcode::Nop::new().build();
        // SAFETY: the request carries no buffer.
        unsafe { ring.submission().push(&nop) }.ok()?;
        if ring.submit_and_wait(1).ok()? != 1 || ring.completion().next()?.result() != 0 {
            return None;
        }
        Some(Self { idle: Mutex::new(vec![ring]), depth })
    }

    /// A ring for one batch; `None` if the kernel gives no more.
    pub(super) fn lease(&self) -> Option<Lease<'_>> {
        let idle = self.idle.lock().pop();
        let ring = idle.or_else(|| make(self.depth))?;
        Some(Lease { rings: self, ring })
    }

    fn give_back(&self, ring: IoUring) {
        let mut idle = self.idle.lock();
        if idle.len() < IDLE_MAX {
            idle.push(ring);
        }
    }
}

fn make(depth: u32) -> Option<IoUring> {
    // Cooperative completion saves interrupts (Linux 5.19); older kernels refuse the flag.
    IoUring::builder().setup_coop_taskrun().build(depth).or_else(|_| IoUring::new(depth)).ok()
}

/// A ring in the hands of one batch.
pub(super) struct Lease<'r> {
    rings: &'r Rings,
    ring: IoUring,
}

/// What a completed request means for its operation.
enum Next {
    /// Done, well or badly.
    Finish(Result<()>),
    /// Submit the rest.
    GoOn,
    /// Let the file do it the plain way: it bounces, leaves direct I/O, or names the mistake.
    Plainly,
}

impl Lease<'_> {
    pub(super) fn run(
        mut self,
        ops: &mut [BatchOp<'_>],
        done: &mut dyn FnMut(usize, &mut BatchOp<'_>, Result<()>),
    ) {
        let depth = self.rings.depth;
        let mut flight = Flight { ring: &mut self.ring, in_flight: 0 };
        // Bytes of each operation that are transferred.
        let mut progress = vec![0_usize; ops.len()];
        let mut waiting: Vec<usize> = (0..ops.len()).rev().collect();
        let mut finished: Vec<(usize, Next)> = Vec::new();
        loop {
            // Keep the disk busy first, then let the caller work on what has arrived.
            while flight.in_flight < depth {
                let Some(no) = waiting.pop() else { break };
                if !flight.start(no, &mut ops[no], progress[no]) {
                    finished.push((no, Next::Plainly));
                }
            }
            if flight.in_flight == 0 && finished.is_empty() {
                break;
            }
            flight.enter(finished.is_empty());
            for (no, next) in finished.drain(..) {
                let op = &mut ops[no];
                let result = if let Next::Finish(result) = next { result } else { run_one(op) };
                done(no, op, result);
            }
            while let Some((no, code)) = flight.completed() {
                match after(&ops[no], &mut progress[no], code) {
                    Next::GoOn => waiting.push(no),
                    next => finished.push((no, next)),
                }
            }
        }
        drop(flight);
        self.rings.give_back(self.ring);
    }
}

/// Judges a completion: bytes transferred, or a negative error number.
fn after(op: &BatchOp<'_>, progress: &mut usize, code: i32) -> Next {
    let (name, len) = match &op.transfer {
        Transfer::Read(buf) => ("read", buf.len()),
        Transfer::Write(buf) => ("write", buf.len()),
    };
    let fail = |error: Error| Next::Finish(Err(error.at(op.offset, len)));
    if let Ok(n @ 1..) = usize::try_from(code) {
        *progress += n;
        return if *progress >= len { Next::Finish(Ok(())) } else { Next::GoOn };
    }
    if code == 0 {
        let detail = format!("the file ends after {progress} of them");
        return match op.transfer {
            Transfer::Read(_) => fail(Error::new(ErrorKind::ShortRead, name, op.file.path(), detail)),
            Transfer::Write(_) => Next::Plainly,
        };
    }
    match Errno::from_raw_os_error(-code) {
        Errno::INTR | Errno::AGAIN => Next::GoOn,
        Errno::INVAL | Errno::OPNOTSUPP | Errno::CANCELED => Next::Plainly,
        errno => fail(super::os(errno, name, op.file.path())),
    }
}

/// Counts what the kernel holds, and gets all of it back before it lets go of the ring, also when a callback
/// panics (I1).
struct Flight<'r> {
    ring: &'r mut IoUring,
    in_flight: u32,
}

impl Flight<'_> {
    /// Queues the rest of an operation; false if it cannot go through a ring.
    fn start(&mut self, no: usize, op: &mut BatchOp<'_>, from: usize) -> bool {
        let Some(fd) = op.file.raw_fd() else { return false };
        let fd = types::Fd(fd);
        let len = match &op.transfer {
            Transfer::Read(buf) => buf.len(),
            Transfer::Write(buf) => buf.len(),
        };
        // The largest offset means "at the cursor" to the kernel; the plain way refuses such ranges.
        let in_range = op.offset.checked_add(len as u64).is_some_and(|end| end <= i64::MAX as u64);
        if from >= len || !in_range {
            return false;
        }
        let offset = op.offset + from as u64;
        let bytes = (len - from).min(REQUEST_BYTES_MAX) as u32;
        let request = match &mut op.transfer {
            Transfer::Read(buf) => {
                opcode::Read::new(fd, buf[from..].as_mut_ptr(), bytes).offset(offset).build()
            }
            Transfer::Write(buf) => {
                opcode::Write::new(fd, buf[from..].as_ptr(), bytes).offset(offset).build()
            }
        };
        // SAFETY: the range lies within the operation's buffer. The caller of `run` keeps the buffer borrowed
        // until the completion is reaped (I1, enforced by `Drop`), and nobody else touches it meanwhile (I2).
        let pushed = unsafe { self.ring.submission().push(&request.user_data(no as u64)) };
        // No more than `depth` are ever queued, which is the ring's size.
        pushed.expect("the submission queue has room for the batch's depth");
        self.in_flight += 1;
        true
    }

    /// Gives the kernel what is queued; with `wait`, until something is completed.
    ///
    /// A ring that cannot be entered any more leaves buffers in the kernel's hands that the caller is about to get
    /// back: there is no safe way on, so the process ends.
    fn enter(&mut self, wait: bool) {
        loop {
            let have_news = !self.ring.completion().is_empty();
            let queued = !self.ring.submission().is_empty();
            if !queued && (have_news || !wait) {
                return;
            }
            match self.ring.submit_and_wait(usize::from(wait && !have_news)) {
                Ok(_) => {}
                Err(e) => match e.raw_os_error().map(Errno::from_raw_os_error) {
                    Some(Errno::INTR) => {}
                    // Out of request memory, or results must be taken first.
                    Some(Errno::AGAIN | Errno::BUSY) if have_news => return,
                    Some(Errno::AGAIN | Errno::BUSY) => std::thread::yield_now(),
                    _ => {
                        eprintln!("io_uring failed with transfers in flight: {e}");
                        std::process::abort();
                    }
                },
            }
            if !wait {
                return;
            }
        }
    }

    /// The next completion: its operation and the kernel's answer.
    fn completed(&mut self) -> Option<(usize, i32)> {
        let entry = self.ring.completion().next()?;
        self.in_flight -= 1;
        Some((entry.user_data() as usize, entry.result()))
    }
}

impl Drop for Flight<'_> {
    fn drop(&mut self) {
        while self.in_flight > 0 {
            self.enter(true);
            while self.completed().is_some() {}
        }
    }
}
