//! The lock of a folder: a file in it that the holder has locked (flock) and written its process id into.

use crate::error::{Error, ErrorKind, Result};
use crate::file::DirLock;
use std::fs::{File, TryLockError};
use std::io::{Read, Write};
use std::path::Path;

/// Name of the file.
const NAME: &str = "vaquita.lock";

/// See [`crate::FileSystem::lock_dir`].
pub(super) fn lock(dir: &Path, shared: bool) -> Result<DirLock> {
    let path = dir.join(NAME);
    let opened = match shared {
        // Whoever only reads leaves the folder as it is. Where there is no such file yet, the locks of the data files keep
        // others away.
        true => File::open(&path),
        false => File::options().read(true).write(true).create(true).truncate(false).open(&path),
    };
    let mut file = match opened {
        Ok(file) => file,
        Err(_) if shared => return Ok(DirLock::unshared()),
        Err(e) => return Err(Error::from_os(&e, "open", &path)),
    };
    let locked = if shared { file.try_lock_shared() } else { file.try_lock() };
    match locked {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(in_use(&mut file, dir)),
        Err(TryLockError::Error(e)) => return Err(Error::from_os(&e, "lock", &path)),
    }
    if !shared {
        let pid = format!("{}\n", std::process::id());
        let written = file.set_len(0).and_then(|()| file.write_all(pid.as_bytes()));
        written.map_err(|e| Error::from_os(&e, "write", &path))?;
    }
    Ok(DirLock::of_file(file))
}

fn in_use(file: &mut File, dir: &Path) -> Error {
    let mut pid = String::new();
    // A holder that only reads has not written its id.
    let known = file.read_to_string(&mut pid).is_ok() && !pid.trim().is_empty();
    let holder = if known { format!("process {}", pid.trim()) } else { "another process".to_owned() };
    Error::new(ErrorKind::InUse, "use", dir, format!("{holder} has the folder open"))
}
