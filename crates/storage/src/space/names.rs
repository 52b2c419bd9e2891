//! Names of files that were given, changed or taken away, and that a power cut may still undo.
//!
//! The log has a record of each such change, and recovery repeats it: so nobody waits for a directory to be synced but the
//! checkpoint, beyond which the log is not read any more.
//!
//! # Invariants
//! - I1: a change whose record is in the log is noted here, or durable, or its guard is held ([`Names::change`]): the checkpoint
//!   waits for guards.
//! - I2: no file gets a name that another file has given up before that is durable: else a power cut could keep the second change
//!   without the first, and the other file would have no name at all.
//! - I3: nobody refers to pages without redo in a file whose name is not durable: recovery would make the file anew without them.
//!
//! # Latching
//! A guard is taken after room in the log was reserved: who waits for room may wait for the checkpoint.

use crate::error::Result;
use parking_lot::{Mutex, RwLock, RwLockReadGuard};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use vaquita_io::{ErrorKind, FileSystem};

/// What is not durable yet.
#[derive(Debug, Default)]
pub(crate) struct Names {
    changing: RwLock<()>,
    pending: Mutex<Pending>,
}

/// Changes in their order: one that comes while its directory is synced is not taken for durable.
#[derive(Debug, Default)]
struct Pending {
    changes: u64,
    /// Directories, and the last change in each.
    directories: HashMap<PathBuf, u64>,
    /// Names that files had before which are still there, and when they left them.
    given_up: HashMap<PathBuf, u64>,
}

impl Pending {
    fn changed(&mut self, path: &Path) -> u64 {
        self.changes += 1;
        let directory = path.parent().unwrap_or_else(|| Path::new(""));
        self.directories.insert(directory.to_owned(), self.changes);
        self.changes
    }
}

/// Names are being changed: the checkpoint waits.
#[derive(Debug)]
pub(crate) struct Changing<'n>(#[expect(dead_code, reason = "held, not looked at")] RwLockReadGuard<'n, ()>);

/// How many of these the thread has; known where debug assertions are on.
mod held {
    use std::cell::Cell;

    thread_local! {
        static COUNT: Cell<usize> = const { Cell::new(0) };
    }

    pub(super) fn count() -> usize {
        COUNT.get()
    }

    pub(super) fn enter() {
        if cfg!(debug_assertions) {
            COUNT.set(count() + 1);
        }
    }

    pub(super) fn leave() {
        if cfg!(debug_assertions) {
            COUNT.set(count() - 1);
        }
    }
}

impl Drop for Changing<'_> {
    fn drop(&mut self) {
        held::leave();
    }
}

/// Asserts that the thread does not change names: the checkpoint, which it may come to wait for, waits for it. Costs nothing, and finds
/// nothing, where debug assertions are off.
///
/// # Panics
/// If it does.
#[inline]
pub(crate) fn assert_unchanging() {
    if cfg!(debug_assertions) {
        assert!(held::count() == 0, "names of files are being changed before room in the log is reserved");
    }
}

impl Names {
    /// Begins a change whose record comes into the log before it is done.
    pub(crate) fn change(&self) -> Changing<'_> {
        let guard = self.changing.read();
        held::enter();
        Changing(guard)
    }

    /// A name came or went.
    pub(super) fn changed(&self, path: &Path) {
        self.pending.lock().changed(path);
    }

    /// A file has another name, in its directory.
    pub(super) fn moved(&self, from: &Path) {
        let mut pending = self.pending.lock();
        let number = pending.changed(from);
        pending.given_up.insert(from.to_owned(), number);
    }

    /// Lets another file have a name: that the one before has left it is durable on return.
    ///
    /// # Errors
    /// I/O errors.
    pub(super) fn free(&self, fs: &dyn FileSystem, path: &Path) -> Result<()> {
        if self.pending.lock().given_up.contains_key(path) { self.settle(fs) } else { Ok(()) }
    }

    /// Makes the name of a file durable that was just made, or came to its name since.
    ///
    /// # Errors
    /// I/O errors.
    pub(super) fn settle_name(&self, fs: &dyn FileSystem, path: &Path) -> Result<()> {
        let directory = path.parent().unwrap_or_else(|| Path::new(""));
        if self.pending.lock().directories.contains_key(directory) { self.settle(fs) } else { Ok(()) }
    }

    /// Makes the changes durable that were noted.
    ///
    /// # Errors
    /// I/O errors; what could not be made durable stays noted.
    pub(super) fn settle(&self, fs: &dyn FileSystem) -> Result<()> {
        let (due, last) = {
            let pending = self.pending.lock();
            (pending.directories.keys().cloned().collect::<Vec<PathBuf>>(), pending.changes)
        };
        for directory in &due {
            match fs.sync_dir(directory) {
                // It went with all its names.
                Err(e) if e.kind == ErrorKind::NotFound => {}
                synced => synced?,
            }
        }
        let mut pending = self.pending.lock();
        pending.directories.retain(|_, number| *number > last);
        pending.given_up.retain(|_, number| *number > last);
        Ok(())
    }

    /// Makes all changes durable whose records are in the log, as they must be before a checkpoint that was decided upon.
    ///
    /// # Errors
    /// As [`Names::settle`].
    pub(super) fn settle_all(&self, fs: &dyn FileSystem) -> Result<()> {
        drop(self.changing.write());
        self.settle(fs)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use vaquita_io::sim::SimDisk;

    fn synced(disk: &SimDisk) -> usize {
        disk.trace().iter().filter(|op| op.what == "sync directory").count()
    }

    #[test]
    fn a_directory_that_went_with_its_names_needs_no_sync() {
        let disk = SimDisk::new(1);
        disk.put_dir("/db/d".as_ref());
        let names = Names::default();
        names.changed("/db/d/t.ibd".as_ref());
        disk.remove_dir("/db/d".as_ref()).unwrap();
        names.settle_all(&disk).unwrap();
    }

    #[test]
    fn a_name_that_a_file_has_left_is_given_when_that_is_durable() {
        let disk = SimDisk::new(1);
        disk.put_dir("/db/d".as_ref());
        disk.set_trace(true);
        let names = Names::default();
        names.moved("/db/d/t.ibd".as_ref());
        names.free(&disk, "/db/d/u.ibd".as_ref()).unwrap();
        assert_eq!(synced(&disk), 0, "nobody has left that one");
        names.free(&disk, "/db/d/t.ibd".as_ref()).unwrap();
        assert_eq!(synced(&disk), 1);
        // It is durable now, and nothing is left to do.
        names.free(&disk, "/db/d/t.ibd".as_ref()).unwrap();
        names.settle_all(&disk).unwrap();
        assert_eq!(synced(&disk), 1);
    }
}
