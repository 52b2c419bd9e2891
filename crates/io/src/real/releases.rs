//! Giving back the space of large files that are removed, in a thread of its own.
//!
//! A name goes at once. The blocks go when nobody has the file open any more, which takes the longer the larger the file is, seconds for
//! some hundred megabytes where the file system's journal is busy. Whoever removes a large file does not wait for it: the
//! file is opened before its name goes, and closed here. Whoever finds the disk full waits until all have been closed, and tries
//! once more.
//!
//! # Crash
//! As without it: what has no name any more the file system gives back by itself.

use parking_lot::{Condvar, Mutex};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

/// Files from this length on are closed elsewhere; below, it takes less than to wake a thread.
pub(super) const LARGE: u64 = 8 << 20;

/// The thread, from the first large file on.
#[derive(Debug, Default)]
pub(super) struct Releases {
    thread: Mutex<Option<(Sender<OwnedFd>, JoinHandle<()>)>>,
    open: Arc<Open>,
}

/// Files that have no name any more and are not closed yet.
#[derive(Debug, Default)]
pub(super) struct Open {
    files: Mutex<usize>,
    closed: Condvar,
}

impl Releases {
    /// For those who may find the disk full.
    pub(super) fn open(&self) -> &Arc<Open> {
        &self.open
    }

    /// Closes a file whose name is gone, soon.
    pub(super) fn close(&self, file: OwnedFd) {
        let mut thread = self.thread.lock();
        if thread.is_none() {
            let (sender, files) = channel();
            let open = self.open.clone();
            let close_all = move || files.into_iter().for_each(|file| open.close(file));
            match std::thread::Builder::new().name("io-releases".to_owned()).spawn(close_all) {
                Ok(handle) => *thread = Some((sender, handle)),
                // No thread is to be had: it takes the time it takes.
                Err(_) => return drop(file),
            }
        }
        if let Some((sender, _)) = &*thread {
            *self.open.files.lock() += 1;
            if let Err(unsent) = sender.send(file) {
                self.open.close(unsent.0);
            }
        }
    }
}

impl Drop for Releases {
    fn drop(&mut self) {
        if let Some((sender, thread)) = self.thread.get_mut().take() {
            drop(sender);
            // It cannot have failed: closing has no result that counts.
            let _ = thread.join();
        }
    }
}

impl Open {
    fn close(&self, file: OwnedFd) {
        drop(file);
        *self.files.lock() -= 1;
        self.closed.notify_all();
    }

    /// Waits until all are closed; whether there was one.
    pub(super) fn wait(&self) -> bool {
        let mut files = self.files.lock();
        let was_one = *files > 0;
        while *files > 0 {
            self.closed.wait(&mut files);
        }
        was_one
    }
}
