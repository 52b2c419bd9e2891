//! Page guards: the latch mode is the type.

use super::BufferPool;
use crate::frames::{OptimisticBytes, prefetch};
use std::ops::Deref;
use std::sync::atomic::Ordering;
use vaquita_base::{Lsn, PageId};

/// The frames that the thread has latched, of all its pools; known where debug assertions are on.
mod held {
    use super::BufferPool;
    use std::cell::RefCell;

    /// A pool, told by its address, and a frame of it.
    type Held = (usize, u32);

    thread_local! {
        static FRAMES: RefCell<Vec<Held>> = const { RefCell::new(Vec::new()) };
    }

    fn name(pool: &BufferPool, frame: u32) -> Held {
        (std::ptr::from_ref(pool).addr(), frame)
    }

    #[inline]
    pub(super) fn enter(pool: &BufferPool, frame: u32) {
        if cfg!(debug_assertions) {
            FRAMES.with(|frames| frames.borrow_mut().push(name(pool, frame)));
        }
    }

    #[inline]
    pub(super) fn leave(pool: &BufferPool, frame: u32) {
        if cfg!(debug_assertions) {
            FRAMES.with(|frames| {
                let mut frames = frames.borrow_mut();
                let at = frames.iter().rposition(|&held| held == name(pool, frame));
                frames.swap_remove(at.expect("a page is released by the thread that latched it"));
            });
        }
    }

    pub(super) fn count() -> usize {
        FRAMES.with(|frames| frames.borrow().len())
    }

    /// Whether one of the frames of a pool is such a one.
    pub(super) fn any(pool: &BufferPool, is_it: impl Fn(u32) -> bool) -> bool {
        let pool = name(pool, 0).0;
        FRAMES.with(|frames| frames.borrow().iter().any(|&(of, frame)| of == pool && is_it(frame)))
    }
}

/// Asserts that the thread has no page latched: it is about to wait for something that another thread may do only with
/// that page. Costs nothing, and finds nothing, where debug assertions are off.
///
/// # Panics
/// If it has.
#[inline]
pub fn assert_no_page_latched(before: &str) {
    if cfg!(debug_assertions) {
        assert!(held::count() == 0, "{} pages are latched before {before}", held::count());
    }
}

impl BufferPool {
    /// Asserts that the thread has not latched a page that comes later in the order of latches than what it is about to
    /// wait for. Costs nothing, and finds nothing, where debug assertions are off.
    ///
    /// # Panics
    /// If it has.
    #[inline]
    pub fn assert_not_latched(&self, page: PageId, before: &str) {
        if cfg!(debug_assertions) {
            let latched = held::any(self, |frame| self.frame(frame).page_id() == page.as_u64());
            assert!(!latched, "page {page} is latched before {before}");
        }
    }
}

/// A page latched shared.
#[derive(Debug)]
pub struct PageReadGuard<'p> {
    pool: &'p BufferPool,
    frame: u32,
}

impl<'p> PageReadGuard<'p> {
    pub(super) fn new(pool: &'p BufferPool, frame: u32) -> Self {
        held::enter(pool, frame);
        Self { pool, frame }
    }

    /// The page.
    #[inline]
    pub fn id(&self) -> PageId {
        PageId::from_u64(self.pool.frame(self.frame).page_id())
    }

    /// Has the processor fetch the cache line of an offset; nothing if that is beyond the page.
    #[inline(always)]
    pub fn prefetch(&self, at: usize) {
        if let Some(byte) = self.get(at) {
            prefetch(byte);
        }
    }

    /// Where the page is, to come back to it without a latch in between.
    #[inline]
    pub fn position(&self) -> FramePosition {
        let version = self.pool.frame(self.frame).latch.version().expect("no writer while latched shared");
        FramePosition { frame: self.frame, version, page: self.id() }
    }
}

impl Deref for PageReadGuard<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: the guard holds the frame's shared latch as long as it lives.
        unsafe { self.pool.memory().bytes(self.frame) }
    }
}

impl Drop for PageReadGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        held::leave(self.pool, self.frame);
        self.pool.frame(self.frame).latch.unlock_shared(self.pool.lot(), self.frame as usize);
    }
}

/// A page latched exclusively. Its bytes change only through mini-transactions.
#[derive(Debug)]
pub struct PageWriteGuard<'p> {
    pool: &'p BufferPool,
    frame: u32,
}

impl<'p> PageWriteGuard<'p> {
    pub(super) fn new(pool: &'p BufferPool, frame: u32) -> Self {
        debug_assert!(pool.frame(frame).latch.is_exclusive(), "frame {frame} is not latched exclusively");
        held::enter(pool, frame);
        Self { pool, frame }
    }

    /// The page.
    #[inline]
    pub fn id(&self) -> PageId {
        PageId::from_u64(self.pool.frame(self.frame).page_id())
    }

    #[inline]
    pub(crate) fn frame(&self) -> u32 {
        self.frame
    }

    /// The bytes, to be changed by code that logs what it changes.
    #[inline]
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: the guard holds the frame's exclusive latch, and `&mut self` makes this the only reference.
        unsafe { self.pool.memory().bytes_mut(self.frame) }
    }

    /// Keeps the page latched, shared from here on.
    #[inline]
    pub fn downgrade(self) -> PageReadGuard<'p> {
        let (pool, frame) = (self.pool, self.frame);
        self.forget();
        pool.frame(frame).latch.downgrade(pool.lot(), frame as usize);
        PageReadGuard::new(pool, frame)
    }

    /// Gives the guard up, not the latch: somebody else answers for that now.
    #[inline]
    pub(super) fn forget(self) {
        held::leave(self.pool, self.frame);
        std::mem::forget(self);
    }

    /// End LSN of the last change.
    pub fn newest_modification(&self) -> Lsn {
        Lsn(self.pool.frame(self.frame).newest_modification.load(Ordering::Relaxed))
    }
}

impl Deref for PageWriteGuard<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: the guard holds the frame's exclusive latch as long as it lives.
        unsafe { self.pool.memory().bytes(self.frame) }
    }
}

impl Drop for PageWriteGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        held::leave(self.pool, self.frame);
        self.pool.frame(self.frame).latch.unlock_exclusive(self.pool.lot(), self.frame as usize);
    }
}

/// A page read without a latch: nothing learned from it holds until [`OptimisticPage::validate`] says so.
#[derive(Debug, Clone, Copy)]
pub struct OptimisticPage<'p> {
    pool: &'p BufferPool,
    frame: u32,
    version: u64,
    bytes: OptimisticBytes<'p>,
}

impl<'p> OptimisticPage<'p> {
    #[inline]
    pub(super) fn new(pool: &'p BufferPool, frame: u32, version: u64) -> Self {
        Self { pool, frame, version, bytes: pool.memory().optimistic(frame) }
    }

    /// The bytes, possibly torn.
    #[inline]
    pub fn bytes(&self) -> &OptimisticBytes<'p> {
        &self.bytes
    }

    /// Whether everything read so far was one consistent state of the page, and still is.
    #[inline]
    pub fn validate(&self) -> bool {
        self.pool.frame(self.frame).latch.validate(self.version)
    }
}

/// A page state remembered without a latch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FramePosition {
    frame: u32,
    version: u64,
    page: PageId,
}

impl FramePosition {
    /// The page.
    pub fn page(&self) -> PageId {
        self.page
    }
}

impl BufferPool {
    /// The remembered page, latched shared, if it is where it was and has not changed since.
    #[inline]
    pub fn restore_shared(&self, position: &FramePosition) -> Option<PageReadGuard<'_>> {
        let frame = self.frame(position.frame);
        if !frame.latch.validate(position.version) || !frame.latch.try_shared() {
            return None;
        }
        let guard = PageReadGuard::new(self, position.frame);
        // The version covers the page id too: a frame changes hands only under its exclusive latch.
        frame.latch.validate(position.version).then_some(guard)
    }

    /// The remembered page, latched exclusively, if it is where it was and has not changed since.
    #[inline]
    pub fn restore_exclusive(&self, position: &FramePosition) -> Option<PageWriteGuard<'_>> {
        let frame = self.frame(position.frame);
        if !frame.latch.validate(position.version) || !frame.latch.try_exclusive() {
            return None;
        }
        let guard = PageWriteGuard::new(self, position.frame);
        (frame.latch.version_while_exclusive() == position.version).then_some(guard)
    }
}
