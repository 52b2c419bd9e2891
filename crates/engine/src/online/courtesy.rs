//! Whoever builds a tree leaves processors to those who change the table meanwhile.
//!
//! A thread that only reads and sorts would take as much of a processor as it gets, and there are several of them: where others write, each
//! rests a part of the time. The change takes longer then, which nobody waits for as they do for their statements.

use std::time::Duration;
use vaquita_base::Clock;

/// Microseconds of a rest at most.
const REST_MAX: u64 = 20_000;

/// A thread that builds.
#[derive(Debug, Default)]
pub(crate) struct Courtesy {
    /// Changes that were logged, when it was last asked.
    logged: u64,
    /// When that was.
    since: Option<u64>,
}

impl Courtesy {
    /// Rests if others have logged changes since it was last asked: as long as it has worked since. To be called again and
    /// again, without latches, with the number of all changes that were logged.
    pub(crate) fn give_way(&mut self, clock: &dyn Clock, logged: u64) {
        let now = clock.now_us();
        let worked = self.since.map_or(0, |since| now - since);
        if logged != self.logged && worked > 0 {
            self.logged = logged;
            clock.sleep(Duration::from_micros(worked.min(REST_MAX)));
        }
        self.since = Some(clock.now_us());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vaquita_base::ManualClock;

    #[test]
    fn rests_are_for_those_who_write() {
        let (clock, mut courtesy) = (ManualClock::new(), Courtesy::default());
        let mut rest_after = |worked: u64, logged| {
            clock.advance(Duration::from_micros(worked));
            let before = clock.now_us();
            courtesy.give_way(&clock, logged);
            clock.now_us() - before
        };
        assert_eq!(rest_after(500, 3), 0, "it has only begun");
        assert_eq!(rest_after(500, 4), 500);
        assert_eq!(rest_after(700, 4), 0, "nobody has written");
        assert_eq!(rest_after(300, 9), 300);
        assert_eq!(rest_after(1_000_000, 10), REST_MAX);
    }
}
