//! `vaquita check` of whole data folders: those of a real MySQL 5.6.24, at rest and killed, and the same with one thing
//! broken at a time.
#![allow(clippy::unwrap_used, reason = "a test ends at the first surprise")]

mod at_rest;
mod broken;
mod killed;
mod workload;

use std::path::Path;

/// Exit code and output of `check`.
fn check(path: &Path) -> (u8, String) {
    let args = ["vaquita".into(), "check".into(), path.as_os_str().to_owned()];
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let code = vaquita::cli::run_code(args, &mut out, &mut err);
    assert_eq!(String::from_utf8(err).unwrap(), "");
    (code, String::from_utf8(out).unwrap())
}
