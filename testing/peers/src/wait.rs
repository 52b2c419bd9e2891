//! Waiting for something to come true.

use std::time::{Duration, Instant};

/// How long is waited, at most: far longer than anything takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(180);
/// Between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Waits until something is so, looking again and again.
///
/// # Panics
/// If it is not so within three minutes; `what` says what.
#[track_caller]
pub fn until(what: &str, mut so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !so() {
        assert!(begun.elapsed() < PATIENCE, "{what}: not within {PATIENCE:?}");
        std::thread::sleep(LOOK_EVERY);
    }
}
