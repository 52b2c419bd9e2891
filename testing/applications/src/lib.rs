//! Programs that people run on MySQL, unchanged: each does its real work on Vaquita and on a real server, and what it says
//! must be the same.
//!
//! An [`Application`] is a function that plays on a [`Stage`]: a server, an account that may do everything, a folder of its
//! own. It returns what is to be equal: output, rows, checksums. [`compare`] plays it on both servers at once.
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
mod stage;
pub mod wordpress;

pub use compare::{Application, compare};
pub use stage::{Extent, Host, Stage};
pub use vaquita_clients::Failure;

/// Installs what is missing of all of them.
///
/// # Errors
/// A registry does not answer, a language is not on the machine: with the output of the command that failed.
pub fn install() -> Result<(), Failure> {
    debian::install()?;
    Ok(())
}
