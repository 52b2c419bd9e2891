//! Folders beside the real servers.

use crate::Failure;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use vaquita_peers::Paths;

/// A folder of this name below the peers' root, which `fill` fills unless it is there: it appears under its name only when
/// it is complete.
pub(crate) fn install_into(
    name: &str,
    fill: impl FnOnce(&Path) -> Result<(), Failure>,
) -> Result<PathBuf, Failure> {
    // Of one process one at a time; processes have folders of their own.
    static INSTALLING: Mutex<()> = Mutex::new(());
    let _alone = INSTALLING.lock().unwrap_or_else(PoisonError::into_inner);
    let root = Paths::locate().root().to_owned();
    let done = root.join(name);
    if done.is_dir() {
        return Ok(done);
    }
    eprintln!("installing {name} into {}", root.display());
    let making = root.join(format!("{name}.{}", std::process::id()));
    let _ = fs::remove_dir_all(&making);
    fs::create_dir_all(&making)?;
    let filled = fill(&making);
    let moved = filled.and_then(|()| {
        Ok(fs::rename(&making, &done).or_else(|e| if done.is_dir() { Ok(()) } else { Err(e) })?)
    });
    if moved.is_err() {
        let _ = fs::remove_dir_all(&making);
    }
    moved.map(|()| done)
}

/// Runs a command to its end; its output is the error's text.
pub(crate) fn run(command: &mut Command) -> Result<(), Failure> {
    let output = command.stdin(Stdio::null()).output().map_err(|e| Failure(format!("{command:?}: {e}")))?;
    if output.status.success() {
        return Ok(());
    }
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    Err(Failure(format!("{command:?}: {}\n{out}{err}", output.status)))
}
