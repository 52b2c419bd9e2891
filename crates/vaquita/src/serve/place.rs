//! Where a server is to work: as whom, and in which folder.

use super::options::Settings;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;

/// How the process becomes another user's, given by the binary: the library changes nobody's process.
#[derive(Debug, Clone, Copy)]
pub struct UserSwitch {
    /// Whether the process runs as root.
    pub is_root: fn() -> bool,
    /// Makes it the user's of that name, for good.
    pub become_user: fn(&str) -> Result<(), String>,
}

/// Runs on as the user that `--user` names; what the log is to say of it.
///
/// # Errors
/// There is no such user, or the system refuses.
pub(super) fn change_user(settings: &Settings, switch: Option<UserSwitch>) -> Result<Option<String>, String> {
    let Some(switch) = switch else { return Ok(None) };
    Ok(match (settings.user.as_deref(), (switch.is_root)()) {
        (None, false) | (Some("root"), true) => None,
        (None, true) => Some(
            "the server runs as root: whoever breaks into it has the whole machine. Give it a user of its own by --user=NAME; \
             --user=root says that root is meant"
                .to_owned(),
        ),
        (Some(user), true) => {
            (switch.become_user)(user)?;
            None
        }
        (Some(user), false) => Some(format!("--user={user} is ignored: only root can run a server as somebody else")),
    })
}

/// Endings of what a server leaves beside its files, or is given there.
const BESIDE: [&str; 8] = ["err", "log", "pid", "sock", "lock", "cnf", "pem", "cfg"];

/// Names that a data folder of ours or of another server has.
const KNOWN: [&str; 8] =
    ["ibdata1", "ib_logfile0", "vaquita.lock", "auto.cnf", "mysql", "ib_buffer_pool", "ibtmp1", "undo001"];

/// Refuses a folder with somebody's files in which there is no database: a wrong path is not to be filled with a new one. `elsewhere`: the
/// system tablespace is in another folder.
///
/// # Errors
/// What is there, and what to do.
pub(crate) fn check_folder(dir: &Path, elsewhere: bool) -> Result<(), String> {
    // What cannot be read is told when it is opened.
    let Ok(entries) = fs::read_dir(dir) else { return Ok(()) };
    let mut foreign = Vec::new();
    for entry in entries.filter_map(Result::ok) {
        let (name, path) = (entry.file_name(), entry.path());
        if KNOWN.iter().any(|known| name == *known) || is_of_tables(&path) || is_folder_of_tables(&path) {
            return Ok(());
        }
        let hidden = name.as_encoded_bytes().starts_with(b".") || name == "lost+found";
        let beside = path.extension().and_then(OsStr::to_str).is_some_and(|e| BESIDE.contains(&e));
        // An empty folder may be the mount point of the logs, say.
        let empty = path.is_dir() && fs::read_dir(&path).is_ok_and(|mut inside| inside.next().is_none());
        if !hidden && !beside && !empty {
            foreign.push(name.to_string_lossy().into_owned());
        }
    }
    if foreign.is_empty() || elsewhere {
        return Ok(());
    }
    foreign.sort();
    let others = match foreign.len() - 1 {
        0 => String::new(),
        1 => " and another one".to_owned(),
        n => format!(" and {n} others"),
    };
    Err(format!(
        "{}: holds no database, but files of somebody else: '{}'{others}. A new database is made in an empty folder, or in one that is \
         not there yet: name such a folder",
        dir.display(),
        foreign[0]
    ))
}

fn is_of_tables(path: &Path) -> bool {
    path.extension().and_then(OsStr::to_str).is_some_and(|e| matches!(e, "ibd" | "frm" | "isl"))
        || path
            .file_name()
            .is_some_and(|name| name == "db.opt" || name.as_encoded_bytes().starts_with(b"ibdata"))
}

fn is_folder_of_tables(path: &Path) -> bool {
    let Ok(entries) = fs::read_dir(path) else { return false };
    entries.filter_map(Result::ok).any(|entry| is_of_tables(&entry.path()))
}
