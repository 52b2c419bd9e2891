//! The system's allocator, told to give memory back.
//!
//! glibc maps large blocks for themselves, and unmaps them when they are freed. But once one of up to 32 MiB has been freed, it
//! takes blocks of that size from the heap of the thread that asks, and keeps twice as much at each heap's end. A server whose
//! threads now and then hold a large packet or a sort kept ten times what it used.
//!
//! And counted: what each thread asks of it, so that sessions can be limited (`connection_memory_limit`).

use std::alloc::{GlobalAlloc, Layout, System};
use vaquita::memory::{allocated, freed};

/// The system's allocator; each thread knows how much it has asked for.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[inline]
fn count(block: *mut u8, layout: Layout) -> *mut u8 {
    if !block.is_null() {
        allocated(layout.size());
    }
    block
}

// SAFETY: every call goes to the system's allocator as it is; counting is an addition to a number of the thread, which
// allocates nothing and cannot fail.
unsafe impl GlobalAlloc for Counting {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are the system's.
        let block = unsafe { System.alloc(layout) };
        count(block, layout)
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        let block = unsafe { System.alloc_zeroed(layout) };
        count(block, layout)
    }

    #[inline]
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        freed(layout.size());
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }

    #[inline]
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        let moved = unsafe { System.realloc(at, layout, size) };
        if !moved.is_null() {
            allocated(size);
            freed(layout.size());
        }
        moved
    }
}

/// To be called before there are other threads. Other C libraries need no such word.
pub(crate) fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        /// Blocks from this size on are mapped for themselves, in bytes.
        const MAPPED: i32 = 256 << 10;
        /// What a heap keeps at its end, in bytes.
        const KEPT: i32 = 1 << 20;
        // SAFETY: `mallopt` sets numbers of the allocator and touches no block. It is not for several threads at once, and
        // this is the only one yet. What it refuses stays as it was, and that is fine too.
        unsafe {
            libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED);
            libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT);
        }
    }
}
