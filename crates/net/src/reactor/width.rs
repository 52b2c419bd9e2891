//! How many loops serve: as few as keep up.
//!
//! A loop with many busy connections takes what several of them have sent by one wait and makes their commits durable by
//! one sync. Spread over more loops the same work sleeps and wakes more often, and a thread that sleeps and wakes costs more
//! than a short statement. So all connections begin on the first loop; one more loop serves when one of those that do has
//! hardly any time left, and one less when fewer would have time for all.
//!
//! A connection's number and the count of loops that serve say which loop it belongs to ([`Width::home`]). A loop that has
//! served one that belongs elsewhere sends it there, so silent connections cost nothing when the count changes.

use rustix::time::{ClockId, clock_gettime};
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// A loop's load is measured over this time.
const WINDOW: Duration = Duration::from_millis(10);

/// What a loop tells is forgotten after this time, in milliseconds: it sleeps.
const FORGOTTEN_MS: u64 = 50;

/// A loop that runs, or waits for pages itself, for so many thousandths of the time has none left.
const FULL: u64 = 900;

/// Windows in a row in which a loop is full before one more serves.
const FULL_WINDOWS: u32 = 3;

/// Thousandths of the time that all loops may run for, by each but one, that one may be done without: fewer loops do the same
/// in about three quarters of the time.
const ROOM: u64 = 1_000;

/// Windows in a row in which fewer loops would do before one less serves.
const ROOMY_WINDOWS: u64 = 30;

/// Fewer loops that were full again so soon were a mistake, and it takes longer until they are tried again.
const MISTAKE_MS: u64 = 1_000;

/// How often the time until then doubles at most.
const MISTAKES_MAX: u32 = 3;

/// Bits of what a loop tells that are its load; those above are the time.
const LOAD_BITS: u32 = 16;

/// The loops that serve, of those that there are: the first ones.
#[derive(Debug)]
pub(super) struct Width {
    serving: AtomicUsize,
    /// When one less served for the last time, in milliseconds.
    narrowed_ms: AtomicU64,
    /// How often in a row that was a mistake.
    mistakes: AtomicU32,
    /// Of each loop the thousandths of time it ran, and when it told so.
    told: Vec<AtomicU64>,
    began: Instant,
}

impl Width {
    /// Of `loops` the first serves.
    pub(super) fn new(loops: usize) -> Width {
        let told = (0..loops).map(|_| AtomicU64::new(0)).collect();
        Width {
            serving: AtomicUsize::new(1),
            narrowed_ms: AtomicU64::new(0),
            mistakes: AtomicU32::new(0),
            told,
            began: Instant::now(),
        }
    }

    /// The loop that a connection with this number belongs to.
    pub(super) fn home(&self, id: u32) -> usize {
        // A stale count sends a connection astray for one more turn.
        id as usize % self.serving.load(Ordering::Relaxed)
    }

    /// So many loops serve from now on.
    pub(super) fn set(&self, loops: usize) {
        self.serving.store(loops.clamp(1, self.told.len()), Ordering::Relaxed);
    }

    fn widen(&self, serving: usize, now_ms: u64) {
        if self.step(serving, serving + 1) {
            let since = now_ms.saturating_sub(self.narrowed_ms.load(Ordering::Relaxed));
            let mistakes = self.mistakes.load(Ordering::Relaxed);
            let mistakes = if since < MISTAKE_MS { (mistakes + 1).min(MISTAKES_MAX) } else { 0 };
            self.mistakes.store(mistakes, Ordering::Relaxed);
        }
    }

    fn narrow(&self, serving: usize, now_ms: u64) {
        if self.step(serving, serving - 1) {
            self.narrowed_ms.store(now_ms, Ordering::Relaxed);
        }
    }

    /// Another loop may have come to the same end: one step is enough for both.
    fn step(&self, from: usize, to: usize) -> bool {
        self.serving.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// What all loops together ran for, in thousandths of one's time.
    fn together(&self, now_ms: u64) -> u64 {
        let recent = |told: u64| now_ms.saturating_sub(told >> LOAD_BITS) < FORGOTTEN_MS;
        let told = self.told.iter().map(|told| told.load(Ordering::Relaxed));
        told.filter(|&told| recent(told)).map(|told| told & ((1 << LOAD_BITS) - 1)).sum()
    }
}

/// What one loop knows of its load.
#[derive(Debug)]
pub(super) struct Load {
    index: usize,
    since: Instant,
    /// By the coarse clock: there is no need to look at the other one before.
    next: Duration,
    /// What its thread had run for at that time.
    ran: Duration,
    /// What it has waited for pages since.
    waited: Duration,
    full: u32,
    roomy: u64,
}

impl Load {
    pub(super) fn new(index: usize) -> Load {
        let (since, next) = (Instant::now(), Duration::ZERO);
        Load { index, since, next, ran: Duration::ZERO, waited: Duration::ZERO, full: 0, roomy: 0 }
    }

    /// The loop has come to this thread.
    pub(super) fn begin(&mut self) {
        self.since = Instant::now();
        self.ran = thread_time();
        self.waited = Duration::ZERO;
    }

    /// The loop waited for pages for so long, and did not serve.
    pub(super) fn waited(&mut self, time: Duration) {
        self.waited += time;
    }

    /// Looks at the load if it is time to: tells it, and lets more loops or fewer serve.
    pub(super) fn look(&mut self, width: &Width) {
        if coarse_now() < self.next {
            return;
        }
        let now = Instant::now();
        let passed = now.saturating_duration_since(self.since);
        if passed < WINDOW {
            return;
        }
        let ran = thread_time();
        let busy = ran.saturating_sub(self.ran) + std::mem::take(&mut self.waited);
        let load = busy.as_micros() * 1_000 / passed.as_micros().max(1);
        (self.since, self.ran) = (now, ran);
        self.next = coarse_now() + WINDOW;
        self.judge(
            width,
            load.min(1_000) as u64,
            now.saturating_duration_since(width.began).as_millis() as u64,
        );
    }

    fn judge(&mut self, width: &Width, load: u64, now_ms: u64) {
        width.told[self.index].store(now_ms << LOAD_BITS | load, Ordering::Relaxed);
        let serving = width.serving.load(Ordering::Relaxed);
        let is_full = self.index < serving && serving < width.told.len() && load >= FULL;
        self.full = if is_full { self.full + 1 } else { 0 };
        let is_roomy = serving > 1 && width.together(now_ms) < ROOM * (serving as u64 - 1);
        self.roomy = if is_roomy { self.roomy + 1 } else { 0 };
        if self.full >= FULL_WINDOWS {
            (self.full, self.roomy) = (0, 0);
            width.widen(serving, now_ms);
        } else if self.roomy >= ROOMY_WINDOWS << width.mistakes.load(Ordering::Relaxed) {
            (self.full, self.roomy) = (0, 0);
            width.narrow(serving, now_ms);
        }
    }
}

/// The monotonic clock of the last tick, some milliseconds ago at most: reading it costs a fraction of the exact time.
pub(super) fn coarse_now() -> Duration {
    let time = clock_gettime(ClockId::MonotonicCoarse);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// What this thread has run for.
fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Windows in which the loops are as busy as this.
    fn pass(width: &Width, loads: &mut [Load], busy: &[u64], windows: std::ops::Range<u64>) {
        for window in windows {
            for (load, &busy) in loads.iter_mut().zip(busy) {
                load.judge(width, busy, 10 * window);
            }
        }
    }

    fn serving(width: &Width) -> usize {
        width.serving.load(Ordering::Relaxed)
    }

    #[test]
    fn a_full_loop_gets_help_and_an_idle_one_goes() {
        let width = Width::new(3);
        let mut loads = [0, 1, 2].map(Load::new);
        pass(&width, &mut loads, &[890], 100..200);
        assert_eq!(serving(&width), 1, "there is time left");
        pass(&width, &mut loads, &[950], 200..202);
        assert_eq!(serving(&width), 1, "a moment is not enough");
        pass(&width, &mut loads, &[950], 202..203);
        assert_eq!(serving(&width), 2);
        pass(&width, &mut loads, &[510, 510], 203..300);
        assert_eq!(serving(&width), 2, "one could not do it");
        pass(&width, &mut loads, &[490, 490], 300..320);
        assert_eq!(serving(&width), 2, "not for long yet");
        pass(&width, &mut loads, &[490, 490], 320..340);
        assert_eq!(serving(&width), 1);
    }

    #[test]
    fn there_are_no_more_than_there_are() {
        let width = Width::new(2);
        let mut loads = [0, 1].map(Load::new);
        pass(&width, &mut loads, &[1_000, 1_000], 100..200);
        assert_eq!(serving(&width), 2);
        pass(&width, &mut loads, &[0, 0], 200..400);
        assert_eq!(serving(&width), 1);
    }

    #[test]
    fn a_loop_that_sleeps_has_no_load() {
        let width = Width::new(2);
        let mut loads = [0, 1].map(Load::new);
        width.set(2);
        pass(&width, &mut loads, &[700, 700], 100..101);
        // The second tells nothing any more.
        pass(&width, &mut loads, &[700], 101..150);
        assert_eq!(serving(&width), 1);
    }

    #[test]
    fn mistakes_are_not_made_all_the_time() {
        let width = Width::new(2);
        let mut loads = [0, 1].map(Load::new);
        let mut changes = 0;
        let mut before = 1;
        // One is too few, though two have time left.
        for window in 200..12_200 {
            let busy: &[u64] = if serving(&width) == 1 { &[1_000] } else { &[450, 450] };
            pass(&width, &mut loads, busy, window..window + 1);
            changes += usize::from(serving(&width) != before);
            before = serving(&width);
        }
        assert!((30..120).contains(&changes), "{changes} in two minutes");
        pass(&width, &mut loads, &[100, 100], 12_200..17_000);
        assert_eq!(serving(&width), 1);
    }

    #[test]
    fn homes_are_even() {
        let width = Width::new(4);
        assert!((0..100).all(|id| width.home(id) == 0));
        width.set(4);
        let homes: Vec<usize> = (0..8).map(|id| width.home(id)).collect();
        assert_eq!(homes, [0, 1, 2, 3, 0, 1, 2, 3]);
    }
}
