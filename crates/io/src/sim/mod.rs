//! The simulated disk: a file system in memory that loses power and misbehaves, driven by one seed.
//!
//! The same seed and the same calls give the same bytes, errors and outcomes of power cuts. Handles are cheap
//! clones of one disk; a disk after a power cut is a new one ([`SimDisk::restart`]), as the old handles stay dead.
//!
//! # The fault model
//!
//! **Power cut** (at an operation, [`SimDisk::arm_cut`], or now, [`SimDisk::power_cut`]). The operation in progress
//! and every later one fails with [`ErrorKind::PowerOff`]. What the machine finds afterwards:
//! - content that was synced, or written by [`File::write_durable_at`] or a file opened with `dsync`, is there;
//! - each unsynced write is there, lost, or torn: sectors of 512 bytes (of the file, not of the write) are old or
//!   new one by one. A later write may be there while an earlier one is lost. The operation in progress counts as
//!   unsynced;
//! - of the unsynced length changes of a file some first ones are there, since file systems order those. Bytes
//!   below the length that no surviving write filled are zeros;
//! - names created, removed and renamed are there or not, each by itself, unless their directory was synced since.
//!   A file's own sync keeps its content, not its name. A rename is whole or absent; a rename between directories
//!   is durable with the directory it moves to. A directory that is lost takes everything in it along.
//!
//! Surviving all of it is the engine's promise: committed means redo log synced; torn pages come back from the
//! doublewrite area; the torn end of the redo log is told by block checksums; new files are made durable before
//! anything refers to them.
//!
//! **Failed write.** Nothing or some sectors are written, the caller gets an error. Survivable: the range is in
//! doubt and is written again, or the engine stops and recovers.
//!
//! **No space** (by [`SimDisk::set_capacity`] or as a fault). A write may have written a beginning; a growth leaves
//! the length. Must be *reported* to whoever asked for space, and nothing else may break.
//!
//! **Failed sync.** Some unsynced data becomes durable; the rest is given up: reads may go on seeing it (cached),
//! no later sync will save it, and that later sync *succeeds*. Nothing may be acknowledged after a failed sync
//! until the file is reopened and recovered.
//!
//! **Failed read, short read.** The error is passed on. A repeated read may succeed. Must be *reported* if not.
//!
//! **Bit rot** (as a fault of reads, or by [`SimDisk::rot`]). A bit of durable content is inverted. Not survivable
//! unless a second copy exists; the page or block checksum must find it, and it must be *reported*.
//!
//! **Misdirected write.** The data goes to another place of the same file and the caller hears of success. Two
//! pages are wrong: the overwritten one carries another page's number and must be *reported*; the one that was not
//! written is old and intact by itself, only redo or its neighbours can tell.
//!
//! **The canary.** [`SimDisk::lie_about_sync`] makes every sync succeed without effect. No engine survives that; a
//! test harness that finds nothing wrong with it is blind.
//!
//! Not modelled: writes to other files than meant, directories or lengths damaged without a power cut, sectors
//! half written (disks guarantee whole sectors).
//!
//! # Threads
//! One mutex around everything, a leaf: nothing is called under it. Several threads may use a disk, but the order
//! of their calls is part of what the seed's outcome depends on.

mod faults;
mod image;
mod inode;
mod names;
mod state;

pub use faults::{Fault, Fired, Injection};

use crate::error::{Error, ErrorKind, Result};
use crate::file::{BatchOp, File, FileSystem, OpenMode, OpenOptions, Transfer};
use parking_lot::Mutex;
use state::{Handle, State};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A simulated disk. Clones are handles of the same disk.
#[derive(Clone)]
pub struct SimDisk {
    state: Arc<Mutex<State>>,
}

/// An operation that changed the disk or tried to, as recorded by [`SimDisk::set_trace`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TracedOp {
    /// Its number.
    pub op: u64,
    /// "write", "sync", "rename", ...
    pub what: &'static str,
    /// The file or directory.
    pub path: PathBuf,
    /// Offset and length of a write; the new length of a length change, with 0.
    pub range: Option<(u64, usize)>,
}

impl fmt::Display for TracedOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.op, self.what, self.path.display())?;
        self.range.map_or(Ok(()), |(offset, len)| write!(f, " at {offset} ({len} bytes)"))
    }
}

impl SimDisk {
    /// An empty disk whose whole future follows from `seed` and the calls made.
    pub fn new(seed: u64) -> Self {
        Self::from_state(State::new(seed))
    }

    fn from_state(state: State) -> Self {
        Self { state: Arc::new(Mutex::new(state)) }
    }

    /// Cuts the power now.
    pub fn power_cut(&self) {
        self.state.lock().off = true;
    }

    /// Cuts the power during operation number `op`, as counted by [`SimDisk::ops`]: with 1, the first one fails; a
    /// number already passed means the next one.
    pub fn arm_cut(&self, op: u64) {
        self.state.lock().cut_at = Some(op);
    }

    /// Whether the power is off.
    pub fn is_off(&self) -> bool {
        self.state.lock().off
    }

    /// The disk that a machine finds after the power went off (which it does now, if it has not yet).
    ///
    /// Rates, capacity, lies and tracing go on; counters start again; appointments and armed cuts are gone. Asked
    /// again, it gives another possible outcome of the same cut.
    pub fn restart(&self) -> SimDisk {
        Self::from_state(self.state.lock().restart())
    }

    /// The disk after the process was killed and the machine was not: nothing is lost, and nothing more is
    /// durable than before. After a power cut, the same as [`SimDisk::restart`].
    pub fn after_kill(&self) -> SimDisk {
        let mut state = self.state.lock();
        if state.off {
            return Self::from_state(state.restart());
        }
        state.off = true;
        let seed = state.fork_seed();
        Self::from_state(state.copy(seed))
    }

    /// An independent disk in the same state, with a future of its own. Sharing makes it cheap: prepare once, crash
    /// many copies.
    pub fn fork(&self, seed: u64) -> SimDisk {
        Self::from_state(self.state.lock().copy(seed))
    }

    /// Operations so far that change the disk, failed ones included: creations, writes, length changes, syncs,
    /// removals, renames, new directories, syncs of directories.
    pub fn ops(&self) -> u64 {
        self.state.lock().ops
    }

    /// Reads so far, failed ones included.
    pub fn reads(&self) -> u64 {
        self.state.lock().reads
    }

    /// Lets a fault happen to one in `n` operations that can suffer it; never, with 0.
    pub fn set_rate(&self, fault: Fault, n: u64) {
        self.state.lock().plan.one_in.insert(fault, n);
    }

    /// Makes an appointment with a fault.
    pub fn inject(&self, injection: Injection) {
        self.state.lock().plan.injections.push(injection);
    }

    /// Cancels all appointments.
    pub fn clear_injections(&self) {
        self.state.lock().plan.injections.clear();
    }

    /// The faults that happened, in order.
    pub fn fired(&self) -> Vec<Fired> {
        self.state.lock().fired.clone()
    }

    /// Limits the sum of all lengths; `None` is endless.
    pub fn set_capacity(&self, bytes: Option<u64>) {
        self.state.lock().capacity = bytes;
    }

    /// The sum of all lengths.
    pub fn used(&self) -> u64 {
        self.state.lock().used()
    }

    /// Lets every sync succeed without effect. A canary for test harnesses.
    pub fn lie_about_sync(&self, lie: bool) {
        self.state.lock().lie_about_sync = lie;
    }

    /// Starts (emptying it) or ends the record of operations.
    pub fn set_trace(&self, on: bool) {
        self.state.lock().trace = on.then(Vec::new);
    }

    /// The operations recorded.
    pub fn trace(&self) -> Vec<TracedOp> {
        self.state.lock().trace.clone().unwrap_or_default()
    }

    /// Inverts a bit of durable content; false if nothing durable is there.
    pub fn rot(&self, path: &Path, offset: u64, bit: u8) -> bool {
        self.state.lock().rot(path, offset, bit)
    }

    /// Places a durable file with its directories, without counting as an operation.
    pub fn put_file(&self, path: &Path, bytes: &[u8]) {
        self.state.lock().put_file(path, bytes);
    }

    /// Makes durable directories, without counting as an operation.
    pub fn put_dir(&self, path: &Path) {
        self.state.lock().put_dir(path);
    }

    /// What a running system sees in a file, power or not; no fault happens to it.
    pub fn contents(&self, path: &Path) -> Option<Vec<u8>> {
        self.state.lock().contents(path)
    }

    /// All files, sorted.
    pub fn files(&self) -> Vec<PathBuf> {
        self.state.lock().names.files().map(|(path, _)| path.to_owned()).collect()
    }
}

impl fmt::Debug for SimDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state.lock();
        f.debug_struct("SimDisk").field("ops", &state.ops).field("off", &state.off).finish_non_exhaustive()
    }
}

/// An open file of a simulated disk.
struct SimFile {
    state: Arc<Mutex<State>>,
    handle: Handle,
}

impl fmt::Debug for SimFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimFile").field("path", &self.handle.path).finish_non_exhaustive()
    }
}

impl Drop for SimFile {
    fn drop(&mut self) {
        self.state.lock().close(&self.handle);
    }
}

impl File for SimFile {
    fn path(&self) -> &Path {
        &self.handle.path
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        self.state.lock().read(&self.handle, buf, offset)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> Result<()> {
        self.state.lock().write(&self.handle, buf, offset)
    }

    fn write_durable_at(&self, buf: &[u8], offset: u64) -> Result<()> {
        self.state.lock().write(&self.handle.forcing(), buf, offset)
    }

    fn sync(&self) -> Result<()> {
        self.state.lock().sync(&self.handle)
    }

    fn len(&self) -> Result<u64> {
        self.state.lock().len(&self.handle)
    }

    fn set_len(&self, len: u64) -> Result<()> {
        self.state.lock().set_len(&self.handle, len)
    }
}

impl FileSystem for SimDisk {
    fn open(&self, path: &Path, options: OpenOptions) -> Result<Arc<dyn File>> {
        let handle = match options.mode {
            OpenMode::CreateNew => self.state.lock().create(path, options)?,
            OpenMode::Read | OpenMode::ReadWrite => self.state.lock().open(path, options)?,
        };
        Ok(Arc::new(SimFile { state: Arc::clone(&self.state), handle }))
    }

    /// One transfer after the other, in an order that the seed chooses.
    fn run_batch(&self, ops: &mut [BatchOp<'_>], done: &mut dyn FnMut(usize, &mut BatchOp<'_>, Result<()>)) {
        let order = self.state.lock().shuffled(ops.len());
        for no in order {
            let op = &mut ops[no];
            let result = match &mut op.transfer {
                Transfer::Read(buf) => op.file.read_at(buf, op.offset),
                Transfer::Write(buf) => op.file.write_at(buf, op.offset),
            };
            done(no, op, result);
        }
    }

    fn remove_file(&self, path: &Path) -> Result<()> {
        self.state.lock().remove_file(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.state.lock().rename(from, to)
    }

    fn create_dir_all(&self, path: &Path) -> Result<()> {
        self.state.lock().create_dir_all(path)
    }

    fn remove_dir(&self, path: &Path) -> Result<()> {
        self.state.lock().remove_dir(path)
    }

    fn list_dir(&self, path: &Path) -> Result<Vec<PathBuf>> {
        self.state.lock().list_dir(path)
    }

    /// False when the power is off.
    fn is_dir(&self, path: &Path) -> bool {
        self.state.lock().is_dir(path)
    }

    /// False when the power is off.
    fn exists(&self, path: &Path) -> bool {
        self.state.lock().exists(path)
    }

    fn sync_dir(&self, path: &Path) -> Result<()> {
        self.state.lock().sync_dir(path)
    }
}

fn power_off(op: &'static str, path: &Path) -> Error {
    Error::new(ErrorKind::PowerOff, op, path, "the power is off")
}

#[cfg(test)]
mod tests;
