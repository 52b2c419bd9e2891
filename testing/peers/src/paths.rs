//! Where the peers' programs are, and scratch folders for their data.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::PeerError;
use crate::install::{DEBIAN_FOLDER, MYSQL56_FOLDER};

/// The installed programs. Cheap to make; [`Paths::installed`] checks that they exist.
#[derive(Debug, Clone)]
pub struct Paths {
    root: PathBuf,
}

impl Paths {
    /// The folder named by `VAQUITA_PEERS`, or `target/peers` of this repository.
    pub fn locate() -> Paths {
        let root = match std::env::var_os("VAQUITA_PEERS") {
            Some(folder) if !folder.is_empty() => PathBuf::from(folder),
            _ => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/peers"),
        };
        Paths { root }
    }

    /// The located folder, with both servers in it.
    ///
    /// # Errors
    /// [`PeerError::NotInstalled`] with the command to run. Tests must not skip silently.
    pub fn installed() -> Result<Paths, PeerError> {
        let paths = Paths::locate();
        for program in [paths.mysql56().join("mysqld"), paths.client()] {
            if !program.is_file() {
                return Err(PeerError::NotInstalled(format!(
                    "the real servers are not installed ({} is missing): run `cargo xtask peers install`",
                    program.display()
                )));
            }
        }
        Ok(paths)
    }

    /// The folder everything is below.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Base folder of MySQL 5.6: holds `mysqld` and `share/`.
    pub fn mysql56(&self) -> PathBuf {
        self.root.join(MYSQL56_FOLDER).join("package/server")
    }

    /// Root of the unpacked Debian packages: holds `usr/`.
    pub fn debian(&self) -> PathBuf {
        self.root.join(DEBIAN_FOLDER)
    }

    /// The stock client program, `mariadb`.
    pub fn client(&self) -> PathBuf {
        self.debian().join("usr/bin/mariadb")
    }

    /// Where the client library finds its ways to log in: not where it was built to look for them.
    pub fn client_plugins(&self) -> PathBuf {
        self.debian().join("usr/lib/x86_64-linux-gnu/libmariadb3/plugin")
    }

    /// A command for one of the unpacked programs, given as a path below [`Paths::debian`] or an absolute path,
    /// with the library path of the unpacked packages, no inherited options and the time zone UTC.
    pub fn command(&self, program: impl AsRef<Path>) -> Command {
        let debian = self.debian();
        let mut command = Command::new(debian.join(program));
        let libraries = ["usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu"]
            .map(|folder| debian.join(folder).display().to_string())
            .join(":");
        command.env("LD_LIBRARY_PATH", libraries).env("TZ", "UTC").env_remove("MYSQL_HOST");
        command.env("MARIADB_PLUGIN_DIR", self.client_plugins());
        command.env_remove("MYSQL_TCP_PORT").env_remove("MYSQL_UNIX_PORT").env_remove("MYSQL_PWD");
        command
    }
}

/// Makes a new folder with a unique, short name below the system's temporary folder.
///
/// Short, because a Unix socket's path may not exceed 107 bytes. The caller removes it.
///
/// # Errors
/// [`PeerError::Io`] if the folder cannot be made.
pub fn scratch_dir(prefix: &str) -> Result<PathBuf, PeerError> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    loop {
        // Relaxed: only uniqueness matters.
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("{prefix}-{}-{number}", std::process::id()));
        match std::fs::create_dir(&folder) {
            Ok(()) => return Ok(folder),
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(PeerError::io(format!("create {}", folder.display()))(e)),
        }
    }
}
