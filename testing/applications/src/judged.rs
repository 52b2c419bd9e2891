//! Test suites that programs bring along: what fails in them, held against a list of what is known to.

use crate::{Extent, Failure, Stage};
use std::collections::BTreeSet;

/// A test that fails, and why.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Known {
    /// `vaquita`, the real server's name, or `both`.
    pub(crate) on: &'static str,
    /// Its name, as the suite tells it.
    pub(crate) test: &'static str,
    /// The reason; read by people alone.
    #[expect(dead_code, reason = "for who reads the list")]
    pub(crate) why: &'static str,
}

/// Holds the failed tests of a suite against the list, which must be exact: one that is not in it, or passes though it is,
/// is a failure. Short forms do not run all tests, so that only the first is asked.
pub(crate) fn judge(
    stage: &Stage,
    known: &[Known],
    failed: &BTreeSet<String>,
    said: &str,
) -> Result<(), Failure> {
    let here = |known: &&Known| known.on == "both" || known.on == stage.host.name;
    let expected: BTreeSet<&str> = known.iter().filter(here).map(|known| known.test).collect();
    let new: Vec<&str> = failed.iter().map(String::as_str).filter(|test| !expected.contains(test)).collect();
    if !new.is_empty() {
        let new = new.join("\n");
        return Err(Failure(format!(
            "on {}: tests that fail and are not known to:\n{new}\n{said}",
            stage.host.name
        )));
    }
    let mended: Vec<&&str> = expected.iter().filter(|test| !failed.contains(**test)).collect();
    if stage.extent == Extent::Long && !mended.is_empty() {
        return Err(Failure(format!("on {}: known to fail, but they pass: {mended:?}", stage.host.name)));
    }
    Ok(())
}
