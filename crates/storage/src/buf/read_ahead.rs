//! Read-ahead: pages that will probably be wanted are read before they are.
//!
//! As the InnoDB manual describes it. *Linear*: when the page at the border of an extent is used and at least
//! `read_ahead_threshold` pages of the extent were used in ascending (or descending) order of their first use, the
//! neighbouring extent is read. *Random*: when 13 pages of an extent are in the pool and young, its other pages are
//! read. *Asked for*: whoever walks over a whole tree tells which pages come next ([`BufferPool::read_soon`]). Requests are queued; [`BufferPool::read_ahead_step`] performs them, in a service's thread or wherever it
//! is called.
//!
//! # Latching
//! The queue's mutex is a leaf.

use super::BufferPool;
use super::call::Call;
use super::reader::Fetched;
use crate::error::Result;
use crate::options::Options;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;
use vaquita_base::{PageId, PageNo};

/// Pages of an extent that must be in the pool for random read-ahead (the manual's figure).
const RANDOM_THRESHOLD: u32 = 13;
/// Requests that may wait; more are dropped, because late read-ahead is useless.
const QUEUE_MAX: usize = 64;

/// A run of pages to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Request {
    first: PageId,
    pages: u32,
}

/// The queue and the knobs.
#[derive(Debug)]
pub struct ReadAhead {
    queue: Mutex<VecDeque<Request>>,
    /// For the service: somebody will want pages in a moment.
    wanted: Call,
    extent_pages: u32,
    threshold: AtomicU32,
    random: AtomicBool,
}

impl ReadAhead {
    pub(super) fn new(options: &Options) -> Self {
        Self {
            queue: Mutex::new(VecDeque::new()),
            wanted: Call::default(),
            extent_pages: options.page_size.extent_pages().min(64),
            threshold: AtomicU32::new(options.live.read_ahead_threshold),
            random: AtomicBool::new(options.live.random_read_ahead),
        }
    }

    pub(super) fn set_threshold(&self, pages: u32) {
        self.threshold.store(pages, Ordering::Relaxed);
    }

    pub(super) fn set_random(&self, on: bool) {
        self.random.store(on, Ordering::Relaxed);
    }

    /// A page in the pool is used for the first time since it was read ahead.
    #[cold]
    pub(super) fn on_first_use(&self, pool: &BufferPool, page: PageId) {
        self.consider_linear(pool, page);
    }

    /// A page was not in the pool and has been read.
    #[cold]
    pub(super) fn on_miss(&self, pool: &BufferPool, page: PageId) {
        self.consider_linear(pool, page);
        if self.random.load(Ordering::Relaxed) {
            self.consider_random(pool, page);
        }
    }

    fn extent(&self, page: PageId) -> u32 {
        page.page_no.0 - page.page_no.0 % self.extent_pages
    }

    fn consider_linear(&self, pool: &BufferPool, page: PageId) {
        let threshold = self.threshold.load(Ordering::Relaxed);
        if threshold >= self.extent_pages {
            return;
        }
        let first = self.extent(page);
        let last = first + (self.extent_pages - 1);
        let ascending = page.page_no.0 == last;
        if !ascending && page.page_no.0 != first {
            return;
        }
        let (mut used, mut last_use) = (0, 0);
        for i in 0..self.extent_pages {
            let no = if ascending { first + i } else { last - i };
            let id = PageId::new(page.space, PageNo(no));
            let Some(frame_no) = pool.map.peek(&pool.frames, id) else { continue };
            let at = pool.frame(frame_no).access_ms.load(Ordering::Relaxed);
            if at != 0 && at >= last_use {
                used += 1;
                last_use = at;
            }
        }
        if used < threshold {
            return;
        }
        let next = if ascending {
            first.checked_add(self.extent_pages)
        } else {
            first.checked_sub(self.extent_pages)
        };
        if let Some(next) = next {
            self.push(PageId::new(page.space, PageNo(next)), self.extent_pages);
        }
    }

    fn consider_random(&self, pool: &BufferPool, page: PageId) {
        let first = self.extent(page);
        let young = (0..self.extent_pages)
            .filter_map(|i| pool.map.peek(&pool.frames, PageId::new(page.space, PageNo(first + i))))
            .filter(|&f| {
                let frame = pool.frame(f);
                !frame.is_old.load(Ordering::Relaxed) && frame.access_ms.load(Ordering::Relaxed) != 0
            })
            .count() as u32;
        if young >= RANDOM_THRESHOLD {
            self.push(PageId::new(page.space, PageNo(first)), self.extent_pages);
        }
    }

    fn push(&self, first: PageId, pages: u32) {
        let request = Request { first, pages };
        let mut queue = self.queue.lock();
        if queue.len() < QUEUE_MAX && !queue.contains(&request) {
            queue.push_back(request);
        }
    }
}

impl BufferPool {
    /// Reads those of `pages` that are not in the pool, many at once: for whoever is about to look at all of them.
    ///
    /// Pages that cannot be read are left for that look, which will see the error.
    ///
    /// # Errors
    /// There is no frame to be had.
    pub fn read_together(&self, pages: &[PageId]) -> Result<()> {
        self.fetch_batch(pages, false, &mut |_, _| {})
    }

    /// Pages of an extent, as far as read-ahead goes by it.
    pub fn extent_pages(&self) -> u32 {
        self.read_ahead.extent_pages
    }

    /// The caller will come to these pages, one after the other: the service reads those that are not in the pool.
    pub fn read_soon(&self, first: PageId, pages: u32) {
        self.read_ahead.push(first, pages);
        self.read_ahead.wanted.call();
    }

    /// For the service: rests for a while, or until pages are wanted in a moment.
    pub(crate) fn rest_until_wanted(&self, period: Duration) {
        self.read_ahead.wanted.rest(period);
    }

    /// Performs one queued read-ahead request; false if there was none.
    ///
    /// Pages that cannot be read are left for the thread that really wants them, which will see the error.
    pub fn read_ahead_step(&self) -> bool {
        let Some(request) = self.read_ahead.queue.lock().pop_front() else { return false };
        let Ok(space) = self.spaces.get(request.first.space) else { return true };
        let end = request.first.page_no.0.saturating_add(request.pages).min(space.size_pages());
        let pages: Vec<PageId> =
            (request.first.page_no.0..end).map(|no| PageId::new(space.id(), PageNo(no))).collect();
        let mut read = 0;
        let outcome = self.fetch_batch(&pages, false, &mut |_, fetched| {
            read += u64::from(matches!(fetched, Fetched::Read));
        });
        self.stats.read_ahead.add(read);
        // A failed eviction is reported to whoever needs a frame next.
        outcome.is_ok()
    }
}
