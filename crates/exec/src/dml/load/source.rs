//! The file on the server that LOAD DATA reads: a regular one, or a pipe.
//!
//! Whoever opens a pipe waits for its other end, and reads of it wait for bytes. Neither is waited for within the system call:
//! between two looks at the pipe the statement sees whether it is to end.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use vaquita_session::SessionState;
use vaquita_types::{SqlError, SqlResult};

/// Between two looks at whether the statement is to end.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

/// An open file.
pub(super) struct Source {
    file: File,
    is_pipe: bool,
}

impl Source {
    /// Opens it, without waiting for anybody.
    ///
    /// # Errors
    /// The file; 1085 if it is neither a regular file nor a pipe.
    pub(super) fn open(path: &Path) -> SqlResult<Source> {
        let flags = rustix::fs::OFlags::NONBLOCK.bits() as i32;
        let file = File::options().read(true).custom_flags(flags).open(path);
        let file = file.map_err(|e| super::unreadable(path, &e))?;
        let kind = file.metadata().map_err(|e| super::unreadable(path, &e))?.file_type();
        if !kind.is_file() && !kind.is_fifo() {
            let message = format!(
                "The file '{}' must be in the database directory or be readable by all",
                path.display()
            );
            return Err(SqlError::new(1085, message));
        }
        Ok(Source { file, is_pipe: kind.is_fifo() })
    }

    /// How long it is, if that is known.
    pub(super) fn len(&self) -> Option<u64> {
        self.file.metadata().ok().filter(|_| !self.is_pipe).map(|metadata| metadata.len())
    }

    /// The next bytes; none at the end. A pipe that nobody has opened for writing yet is not at its end.
    ///
    /// # Errors
    /// The file; the statement is to end.
    pub(super) fn read(&mut self, path: &Path, out: &mut [u8], state: &mut SessionState) -> SqlResult<usize> {
        loop {
            if self.is_pipe {
                self.wait(state).map_err(|e| e.unwrap_or_else(|e| super::unreadable(path, &e)))?;
            }
            match self.file.read(out) {
                Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
                read => return read.map_err(|e| super::unreadable(path, &e)),
            }
        }
    }

    /// Until there is something to read, or the end.
    fn wait(&self, state: &mut SessionState) -> Result<(), Result<SqlError, io::Error>> {
        loop {
            state.poll_now().map_err(Ok)?;
            let mut asked = [PollFd::new(&self.file, PollFlags::IN)];
            match poll(&mut asked, Some(&LOOK)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Ok(_) => return Ok(()),
                Err(e) => return Err(Err(e.into())),
            }
        }
    }
}
