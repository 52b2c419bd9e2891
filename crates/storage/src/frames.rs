//! Frame memory: one anonymous mapping that holds all pages of the pool.
//!
//! This is one of the few places with `unsafe`: it turns a frame number into its bytes. The rules that make the
//! references it hands out sound are the latch rules of [`crate::buf`]: `bytes_mut` needs the frame's exclusive
//! latch, `bytes` a shared or exclusive one, and [`OptimisticBytes`] none, because it only ever loads single
//! atomic units and its user validates the latch version before believing them.

use crate::error::{Error, Result};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU64, Ordering};
use vaquita_base::codec::{get_u16, get_u64};

/// Has the processor fetch the cache line at the beginning of `at`. Advice: nothing else happens.
#[inline(always)]
pub(crate) fn prefetch<T>(at: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch loads nothing that the program could see, from wherever; every x86_64 processor has it.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(at).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

/// The mapping.
#[derive(Debug)]
pub(crate) struct FrameMemory {
    base: NonNull<u8>,
    len: usize,
    frame_size: usize,
}

// SAFETY: the mapping belongs to this value alone and lives until it is dropped; access to its bytes from several
// threads is governed by the callers of the unsafe methods below.
unsafe impl Send for FrameMemory {}
// SAFETY: as above; the shared methods that give access to bytes are unsafe and name the latch they need.
unsafe impl Sync for FrameMemory {}

impl FrameMemory {
    /// Maps `frames` zeroed frames of `frame_size` bytes. Memory is taken from the system at first touch.
    pub(crate) fn new(frames: usize, frame_size: usize) -> Result<Self> {
        let len = frames * frame_size;
        assert!(len > 0, "a pool has frames");
        // SAFETY: a fresh private anonymous mapping aliases nothing.
        let map = unsafe {
            mmap_anonymous(std::ptr::null_mut(), len, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE)
        };
        let map =
            map.map_err(|e| Error::Config(format!("cannot map {len} bytes for the buffer pool: {e}")))?;
        // SAFETY: the range is the mapping just made. Huge pages are advice; failure changes nothing.
        let _advice_only = unsafe { madvise(map, len, Advice::LinuxHugepage) };
        let base = NonNull::new(map.cast::<u8>()).expect("mmap never maps the null page here");
        Ok(Self { base, len, frame_size })
    }

    /// Bytes of a frame.
    #[inline]
    pub(crate) fn frame_size(&self) -> usize {
        self.frame_size
    }

    #[inline]
    fn ptr(&self, frame: u32) -> *mut u8 {
        let offset = frame as usize * self.frame_size;
        assert!(offset < self.len, "frame {frame} is not in the pool");
        // SAFETY: the offset lies within the mapping, as just checked.
        unsafe { self.base.as_ptr().add(offset) }
    }

    /// The bytes of a frame.
    ///
    /// # Safety
    /// The caller holds the frame's latch, shared or exclusive, for the whole lifetime of the reference.
    #[inline]
    pub(crate) unsafe fn bytes(&self, frame: u32) -> &[u8] {
        // SAFETY: within the mapping; no writer while the caller holds the latch.
        unsafe { std::slice::from_raw_parts(self.ptr(frame), self.frame_size) }
    }

    /// The bytes of a frame, to be changed.
    ///
    /// # Safety
    /// The caller holds the frame's exclusive latch for the whole lifetime of the reference and makes no second one.
    #[inline]
    #[expect(
        clippy::mut_from_ref,
        reason = "exclusive access comes from the frame's latch, not from &mut self"
    )]
    pub(crate) unsafe fn bytes_mut(&self, frame: u32) -> &mut [u8] {
        // SAFETY: within the mapping; nobody else reads or writes while the caller holds the latch.
        unsafe { std::slice::from_raw_parts_mut(self.ptr(frame), self.frame_size) }
    }

    /// Has the processor fetch the lines with which every search of an index page begins: those of its header and of the end
    /// of its directory. Advice: needs no latch.
    #[inline]
    pub(crate) fn prefetch_ends(&self, frame: u32) {
        let bytes = self.optimistic(frame);
        for at in [0, 64, self.frame_size - 128, self.frame_size - 64] {
            bytes.prefetch(at);
        }
    }

    /// The bytes of a frame for reading without a latch.
    #[inline]
    pub(crate) fn optimistic(&self, frame: u32) -> OptimisticBytes<'_> {
        OptimisticBytes { ptr: self.ptr(frame), len: self.frame_size, _memory: std::marker::PhantomData }
    }
}

impl Drop for FrameMemory {
    fn drop(&mut self) {
        // SAFETY: the mapping of `new`; no reference into it can outlive self.
        let unmapped = unsafe { munmap(self.base.as_ptr().cast::<c_void>(), self.len) };
        debug_assert!(unmapped.is_ok(), "munmap of the pool: {unmapped:?}");
    }
}

/// Most bytes that [`OptimisticBytes::window`] gives.
pub const WINDOW: usize = 64;

/// Reads bytes that a writer may be changing. What it returns means nothing until the latch version validates.
///
/// Every load is one relaxed atomic load, so that the compiler neither repeats nor splits it; a value is
/// checked and used from the same load.
#[derive(Debug, Clone, Copy)]
pub struct OptimisticBytes<'a> {
    ptr: *const u8,
    len: usize,
    _memory: std::marker::PhantomData<&'a FrameMemory>,
}

impl OptimisticBytes<'_> {
    /// Bytes of the page.
    #[inline]
    pub fn page_len(&self) -> usize {
        self.len
    }

    /// Has the processor fetch the cache line of `off`; nothing if that is beyond the page.
    #[inline(always)]
    fn prefetch(&self, off: usize) {
        if off < self.len {
            // SAFETY: within the frame, which stays mapped as long as the pool lives; an atomic may be referred to while others
            // change it.
            prefetch(unsafe { AtomicU8::from_ptr(self.ptr.add(off).cast_mut()) });
        }
    }

    /// The byte at `off`; 0 beyond the page.
    #[inline]
    pub fn u8(&self, off: usize) -> u8 {
        if off >= self.len {
            return 0;
        }
        // SAFETY: within the frame; frames stay mapped as long as the pool lives. A concurrent writer stores
        // with plain writes: the value may be torn between bytes, which validation discards.
        unsafe { AtomicU8::from_ptr(self.ptr.add(off).cast_mut()).load(Ordering::Relaxed) }
    }

    /// Big-endian u16 at `off`.
    #[inline]
    pub fn u16(&self, off: usize) -> u16 {
        if off & 1 == 0 && off < self.len {
            // SAFETY: within the frame, whose length is even, and aligned; see `u8`.
            let loaded =
                unsafe { AtomicU16::from_ptr(self.ptr.add(off).cast_mut().cast()).load(Ordering::Relaxed) };
            return get_u16(&loaded.to_ne_bytes(), 0);
        }
        u16::from(self.u8(off)) << 8 | u16::from(self.u8(off + 1))
    }

    /// Big-endian integer of `n` (at most 8) bytes at `off`.
    #[inline]
    pub fn uint(&self, off: usize, n: usize) -> u64 {
        (0..n).fold(0, |v, i| v << 8 | u64::from(self.u8(off + i)))
    }

    /// The big-endian number in the eight bytes at `off`, a multiple of eight; `None` beyond the page.
    #[inline(always)]
    pub fn word(&self, off: usize) -> Option<u64> {
        self.raw_word(off).map(|word| get_u64(&word, 0))
    }

    #[inline(always)]
    fn raw_word(&self, off: usize) -> Option<[u8; 8]> {
        if !off.is_multiple_of(8) || off >= self.len {
            return None;
        }
        // SAFETY: within the frame, whose length is a multiple of eight, and aligned (frames are page-aligned); see `u8`.
        let loaded =
            unsafe { AtomicU64::from_ptr(self.ptr.add(off).cast_mut().cast()).load(Ordering::Relaxed) };
        Some(loaded.to_ne_bytes())
    }

    /// `len` bytes from `off`, copied with what is around them into `buffer`; `None` if they leave the page or are more than
    /// [`WINDOW`].
    #[inline(always)]
    pub fn window<'b>(&self, off: usize, len: usize, buffer: &'b mut [u8; WINDOW + 8]) -> Option<&'b [u8]> {
        if len > WINDOW || off > self.len || len > self.len - off {
            return None;
        }
        let skip = off & 7;
        for (i, word) in buffer.chunks_exact_mut(8).take((skip + len).div_ceil(8)).enumerate() {
            word.copy_from_slice(&self.raw_word(off - skip + 8 * i)?);
        }
        Some(&buffer[skip..skip + len])
    }

    /// Copies `out.len()` bytes from `off`; false if the range leaves the page.
    #[inline]
    pub fn copy(&self, off: usize, out: &mut [u8]) -> bool {
        if off > self.len || out.len() > self.len - off {
            return false;
        }
        let mut i = 0;
        while i < out.len() {
            let at = off + i;
            if let Some(word) = self.raw_word(at)
                && out.len() - i >= 8
            {
                out[i..i + 8].copy_from_slice(&word);
                i += 8;
            } else {
                out[i] = self.u8(at);
                i += 1;
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_zeroed_aligned_and_apart() {
        let m = FrameMemory::new(3, 4096).unwrap();
        // SAFETY: no other reference exists in this test.
        unsafe {
            assert!(m.bytes(0).iter().all(|&b| b == 0));
            assert_eq!(m.bytes(2).as_ptr() as usize % 4096, 0);
            m.bytes_mut(1).fill(7);
            assert!(m.bytes(0).iter().chain(m.bytes(2)).all(|&b| b == 0));
        }
        let o = m.optimistic(1);
        assert_eq!((o.u8(0), o.u16(4094), o.u8(4096), o.u16(4096)), (7, 0x0707, 0, 0));
        let mut out = [0; 21];
        assert!(o.copy(3, &mut out));
        assert_eq!(out, [7; 21]);
        assert!(!o.copy(4090, &mut out));
        // SAFETY: no other reference exists in this test.
        unsafe { m.bytes_mut(1) }.iter_mut().enumerate().for_each(|(i, b)| *b = i as u8);
        let mut buffer = [0; WINDOW + 8];
        for (off, len) in [(0, 0), (0, 64), (3, 1), (7, 64), (13, 12), (4095, 1), (4032, 64), (4096, 0)] {
            let expected: Vec<u8> = (off..off + len).map(|i| i as u8).collect();
            assert_eq!(o.window(off, len, &mut buffer), Some(&expected[..]));
        }
        assert_eq!((o.u16(2), o.u16(3), o.u16(4095)), (0x0203, 0x0304, 0xFF00));
        assert_eq!(o.word(8), Some(0x0809_0A0B_0C0D_0E0F));
        assert_eq!((o.word(9), o.word(4096)), (None, None));
        assert_eq!(o.window(4095, 2, &mut buffer), None);
        assert_eq!(o.window(0, WINDOW + 1, &mut buffer), None);
        assert_eq!(o.window(5000, 0, &mut buffer), None);
    }
}
