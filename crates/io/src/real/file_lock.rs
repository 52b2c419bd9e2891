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
        Ok(_) => Ok(FileLock::of_file(file, unlock)),
        Err(e) if matches!(e.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => {
            Err(in_use(&file, kind, path))
        }
        Err(e) => Err(Error::from_os(&e, "lock", path)),
    }
}

/// Gives the lock back, whoever else has the open file.
fn unlock(file: &File) {
    // What cannot be unlocked is closed.
    let _ = control(file, libc::F_OFD_SETLK, libc::F_UNLCK);
}

/// Who has the file locked for writing, in words: MySQL's servers lock each of their data files, this one the system
/// tablespace. `None`: nobody, or it cannot be told.
pub fn writer_of(path: &Path) -> Option<String> {
    let file = File::open(path).ok()?;
    // Of a lock for reading, those for writing are in the way.
    let found = control(&file, libc::F_OFD_GETLK, libc::F_RDLCK).ok()?;
    (libc::c_int::from(found.l_type) != libc::F_UNLCK).then(|| holder(found.l_pid))
}

/// Whoever has that process id. Locks of open files have no process: their holder is told as -1.
fn holder(pid: libc::pid_t) -> String {
    match (pid, std::fs::read_to_string(format!("/proc/{pid}/comm"))) {
        (1.., Ok(name)) => format!("process {pid} ({})", name.trim()),
        (1.., Err(_)) => format!("process {pid}"),
        _ => "another process".to_owned(),
    }
}

fn in_use(file: &File, kind: libc::c_int, path: &Path) -> Error {
    let holder = holder(control(file, libc::F_OFD_GETLK, kind).map_or(0, |found| found.l_pid));
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs beside a lock of another process that ends with this value.
    struct Other(std::process::Child);

    impl Drop for Other {
        fn drop(&mut self) {
            self.0.kill().and_then(|()| self.0.wait()).expect("it runs");
        }
    }

    /// A child has the open file from when the program is forked until it runs another one.
    #[test]
    fn a_lock_is_given_back_while_others_have_the_open_file() {
        let dir = std::env::temp_dir().join(format!("vaquita-inherited-{}", std::process::id()));
        std::fs::create_dir(&dir).unwrap();
        let path = dir.join("file");
        std::fs::write(&path, "x").unwrap();
        let open = File::options().read(true).write(true).open(&path).unwrap();
        control(&open, libc::F_OFD_SETLK, libc::F_WRLCK).unwrap();
        let (inherited, held) = (open.try_clone().unwrap(), FileLock::of_file(open, unlock));
        lock(&path, true).unwrap_err();
        drop(held);
        drop(lock(&path, false).unwrap());
        drop(inherited);

        let open = File::create(dir.join("vaquita.lock")).unwrap();
        open.try_lock().unwrap();
        let (inherited, held) = (open.try_clone().unwrap(), crate::file::DirLock::of_file(open));
        super::super::dir_lock::lock(&dir, false).unwrap_err();
        drop(held);
        drop(super::super::dir_lock::lock(&dir, false).unwrap());
        drop(inherited);
        std::fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn who_writes_a_file_is_told_by_its_lock() {
        use std::io::Read;
        let path = std::env::temp_dir().join(format!("vaquita-writer-{}", std::process::id()));
        std::fs::write(&path, "x").unwrap();
        assert_eq!(writer_of(&path), None);
        let shared = lock(&path, true).unwrap();
        assert_eq!(writer_of(&path), None);
        drop(shared);
        let exclusive = lock(&path, false).unwrap();
        assert_eq!(writer_of(&path).unwrap(), "another process");
        drop(exclusive);
        assert_eq!(writer_of(&path), None);
        // A lock of a process, as MySQL's servers take them.
        let script = "import fcntl, sys, time; f = open(sys.argv[1], 'r+'); fcntl.lockf(f, fcntl.LOCK_EX);
print('locked', flush=True); time.sleep(600)";
        let child = std::process::Command::new("python3")
            .args(["-c", script])
            .arg(&path)
            .stdout(std::process::Stdio::piped())
            .spawn();
        let mut other = Other(child.expect("python3 runs"));
        other.0.stdout.take().unwrap().read_exact(&mut [0; 6]).unwrap();
        let told = writer_of(&path).unwrap();
        assert!(told.starts_with(&format!("process {} (python3", other.0.id())), "{told}");
        drop(other);
        assert_eq!(writer_of(&path), None);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(writer_of(&path), None);
    }
}
