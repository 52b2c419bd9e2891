//! The user that the process runs as: `--user` of a server that root starts.

use std::ffi::CString;
use std::io;

/// Whether the process runs as root.
pub(crate) fn is_root() -> bool {
    // SAFETY: it reads a number of the process and cannot fail.
    unsafe { libc::geteuid() == 0 }
}

/// Makes the process that user's, with the user's groups, for good. To be called before there are other threads, and before files
/// are made, which shall be the user's.
///
/// # Errors
/// There is no such user, or the system refuses.
pub(crate) fn become_user(name: &str) -> Result<(), String> {
    let refused = |what: &str| {
        let why = io::Error::last_os_error();
        Err(format!("cannot run as user '{name}': {what}: {why}"))
    };
    let text = CString::new(name).map_err(|_| format!("there is no user '{name}'"))?;
    // SAFETY: the name ends with a zero byte and lives on; the result is looked at before anybody else asks, as there are no
    // other threads.
    let found = unsafe {
        let entry = libc::getpwnam(text.as_ptr());
        (!entry.is_null()).then(|| ((*entry).pw_uid, (*entry).pw_gid))
    };
    let Some((uid, gid)) = found else {
        return Err(format!("there is no user '{name}': --user cannot be followed"));
    };
    // SAFETY: calls with numbers and with a name that lives on; each says whether it was done. Groups go first, as only root may
    // choose them.
    unsafe {
        if libc::initgroups(text.as_ptr(), gid) != 0 {
            return refused("its groups");
        }
        if libc::setgid(gid) != 0 {
            return refused("its group");
        }
        if libc::setuid(uid) != 0 {
            return refused("its number");
        }
    }
    Ok(())
}
