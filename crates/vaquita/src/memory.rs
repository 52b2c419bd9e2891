//! The system's allocator, told to give memory back.
//!
//! glibc maps large blocks for themselves, and unmaps them when they are freed. But once one of up to 32 MiB has been freed, it
//! takes blocks of that size from the heap of the thread that asks, and keeps twice as much at each heap's end. A server whose
//! threads now and then hold a large packet or a sort kept ten times what it used.

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
