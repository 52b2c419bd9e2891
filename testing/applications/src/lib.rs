//! Programs that people run on MySQL, unchanged: each does its real work on Vaquita and on a real server, and what it says
//! must be the same.
//!
//! An [`Application`] is a function that plays on a [`Stage`]: a server, an account that may do everything, a folder of its
//! own. It returns what is to be equal: output, rows, checksums. [`compare`] plays it on both servers at once.
//!
//! Programs that bring a test suite of their own run that, and what fails is held against a list of what is known to, with the
//! reasons (`judged`): the lists of Vaquita and of the real server must both be exact.
//!
//! # How to add one
//! A module with an [`Application`], its packages in the `install` function of its kind (`debian`, ..: pinned where the
//! registry keeps old versions), called by [`install`], and a test in `crates/vaquita/tests/applications` that names it. In
//! [`Extent::Short`] it takes less than twenty seconds; the rest belongs to [`Extent::Long`] (`cargo xtask applications`).
//!
//! # Where things are
//! Folders `applications-KIND-N` beside the real servers (see `vaquita_peers`). Raise the number when a version or the list
//! of packages changes: the folder is then made anew.
#![forbid(unsafe_code)]

mod compare;
pub mod debian;
pub mod django;
pub mod dumps;
pub mod go;
mod install;
pub mod java;
mod judged;
pub mod mediawiki;
pub mod node;
pub mod percona;
pub mod powerdns;
pub mod python;
pub mod roundcube;
pub mod sqlalchemy;
mod stage;
pub mod wordpress;
pub mod zabbix;

pub use compare::{Application, compare, together};
use install::{install_into, run};
pub use stage::{Ended, Extent, Host, Stage};
pub use vaquita_clients::Failure;

/// Installs what is missing of all of them.
///
/// # Errors
/// A registry does not answer, a language is not on the machine: with the output of the command that failed.
pub fn install() -> Result<(), Failure> {
    debian::install()?;
    python::install()?;
    java::install()?;
    go::install()?;
    node::install()?;
    Ok(())
}
