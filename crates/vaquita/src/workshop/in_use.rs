//! Whether a server has files open that are looked at: what is read of them may be of different moments.
//!
//! Servers lock their files (fcntl): MySQL every data file, this one the system tablespace. `/proc/locks` names device and inode of
//! every locked file, and the process; locks of open files, as this server takes them, have none.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What to say of a file or a data folder that a running server holds; `None` if none is known to.
pub fn note(path: &Path) -> Option<String> {
    let locks = fs::read_to_string("/proc/locks").ok()?;
    let held = candidates(path).into_iter().find_map(|file| Some((holder(&locks, &file)?, file)));
    held.map(|(holder, file)| {
        format!(
            "{} is in use by {holder}: it changes while it is read, and what is said of it may be a moment's",
            file.display()
        )
    })
}

/// The files that a server which has `path` open holds a lock on: itself, or the system tablespace of its folder.
fn candidates(path: &Path) -> Vec<PathBuf> {
    let system = |dir: &Path| dir.join("ibdata1");
    if path.is_dir() {
        return vec![system(path)];
    }
    let dir = match path.parent() {
        Some(dir) if dir != Path::new("") => dir.to_path_buf(),
        _ => PathBuf::from("."),
    };
    vec![path.to_path_buf(), system(&dir), system(&dir.join(".."))]
}

/// Who has a lock for writing on the file, by the text of `/proc/locks`.
fn holder(locks: &str, file: &Path) -> Option<String> {
    let meta = fs::metadata(file).ok()?;
    let (major, minor) = (libc::major(meta.dev()), libc::minor(meta.dev()));
    let id = format!("{major:02x}:{minor:02x}:{}", meta.ino());
    for line in locks.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let [_, "POSIX" | "OFDLCK", _, "WRITE", pid, found, ..] = words[..]
            && found == id
        {
            return Some(match fs::read_to_string(format!("/proc/{pid}/comm")) {
                Ok(name) => format!("process {pid} ({})", name.trim()),
                Err(_) => "another process".to_owned(),
            });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locks_are_found_by_device_and_inode() {
        let file = std::env::current_exe().unwrap();
        let meta = fs::metadata(&file).unwrap();
        let id = format!("{:02x}:{:02x}:{}", libc::major(meta.dev()), libc::minor(meta.dev()), meta.ino());
        let line = |kind: &str, mode: &str, id: &str| format!("7: {kind}  ADVISORY  {mode} -1 {id} 0 EOF\n");
        assert_eq!(holder(&line("OFDLCK", "WRITE", &id), &file).unwrap(), "another process");
        let pid = std::process::id();
        let ours = line("POSIX", "WRITE", &id).replace("-1", &pid.to_string());
        assert!(holder(&ours, &file).unwrap().starts_with(&format!("process {pid} (")));
        assert_eq!(holder(&line("OFDLCK", "READ", &id), &file), None);
        assert_eq!(holder(&line("FLOCK", "WRITE", &id), &file), None);
        assert_eq!(holder(&line("POSIX", "WRITE", &format!("{id}0")), &file), None);
        assert_eq!(holder(&format!("7: -> {}", line("POSIX", "WRITE", &id)), &file), None);
    }
}
