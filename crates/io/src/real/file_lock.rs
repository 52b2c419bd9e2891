//! Locks of whole files against other processes, of the kind that MySQL's servers take (fcntl): each of the two refuses a
//! folder that the other has open.
//!
//! The lock belongs to the open file and not to the process (F_OFD_SETLK): a lock of a process would be gone as soon as
//! any of its handles of the file is closed.

use crate::error::{Error, ErrorKind, Result};
use crate::file::FileLock;
use std::fs::File;
use std::io::Error as OsError;
use std::os::fd::AsRawFd;
use std::path::Path;

/// See [`crate::FileSystem::lock_file`].
pub(super) fn lock(path: &Path, shared: bool) -> Result<FileLock> {
    let file = File::options().read(true).write(!shared).open(path);
    let file = file.map_err(|e| Error::from_os(&e, "open", path))?;
    let kind = if shared { libc::F_RDLCK } else { libc::F_WRLCK };
    match control(&file, libc::F_OFD_SETLK, kind) {
        Ok(_) => Ok(FileLock::of_file(file)),
        Err(e) if matches!(e.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => {
            Err(in_use(&file, kind, path))
        }
        Err(e) => Err(Error::from_os(&e, "lock", path)),
    }
}

fn in_use(file: &File, kind: libc::c_int, path: &Path) -> Error {
    // Locks of open files have no process: their holder is told as -1.
    let pid = control(file, libc::F_OFD_GETLK, kind).map_or(0, |found| found.l_pid);
    let holder = match (pid, std::fs::read_to_string(format!("/proc/{pid}/comm"))) {
        (1.., Ok(name)) => format!("process {pid} ({})", name.trim()),
        (1.., Err(_)) => format!("process {pid}"),
        _ => "another process".to_owned(),
    };
    Error::new(
        ErrorKind::InUse,
        "use",
        path,
        format!("{holder} has it locked: a server runs on this folder; shut it down first"),
    )
}

/// One call of fcntl for a lock of the whole file.
fn control(file: &File, command: libc::c_int, kind: libc::c_int) -> std::io::Result<libc::flock> {
    let mut lock = libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: 0,
        // To the end, wherever that will be.
        l_len: 0,
        l_pid: 0,
    };
    // SAFETY: the descriptor is open for as long as `file` is borrowed, and both commands read and write one `flock`, which
    // `lock` is and which outlives the call.
    match unsafe { libc::fcntl(file.as_raw_fd(), command, &raw mut lock) } {
        -1 => Err(OsError::last_os_error()),
        _ => Ok(lock),
    }
}
