//! Buffers aligned for direct I/O.
//!
//! Direct transfers go between the disk and the caller's memory without a copy, so the kernel asks for memory,
//! offsets and lengths at multiples of the disk's block. [`ALIGN`] satisfies every disk in use. This is the one
//! place of the crate that allocates raw memory.
//!
//! # Invariants
//! - I1: `ptr` points to `capacity(len)` bytes, allocated with `layout(len)`, aligned to [`ALIGN`], all of them
//!   initialised, and owned by this value alone.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// Alignment of buffers, offsets and lengths of direct I/O.
pub const ALIGN: usize = 4096;

/// The smallest unit a disk writes as a whole.
pub const SECTOR: usize = 512;

/// A heap buffer that starts at a multiple of [`ALIGN`]; fixed length, zeroed when made.
pub struct AlignedBuf {
    ptr: NonNull<u8>,
    len: usize,
}

impl AlignedBuf {
    /// `len` zero bytes.
    ///
    /// # Panics
    /// If `len` is near the size of the address space; aborts when memory is exhausted.
    pub fn zeroed(len: usize) -> Self {
        let layout = layout(len);
        // SAFETY: the layout's size is never zero (`layout` rounds up to at least ALIGN).
        let raw = unsafe { alloc_zeroed(layout) };
        let ptr = NonNull::new(raw).unwrap_or_else(|| handle_alloc_error(layout));
        Self { ptr, len }
    }

    /// A copy of `bytes`.
    pub fn from_slice(bytes: &[u8]) -> Self {
        let mut buf = Self::zeroed(bytes.len());
        buf.copy_from_slice(bytes);
        buf
    }
}

/// The whole of the allocation behind a buffer of `len` bytes: full units, at least one.
fn layout(len: usize) -> Layout {
    let size = len.max(1).next_multiple_of(ALIGN);
    Layout::from_size_align(size, ALIGN).expect("buffer length fits the address space")
}

impl Drop for AlignedBuf {
    fn drop(&mut self) {
        // SAFETY: I1: allocated with this very layout, and nobody else holds the memory.
        unsafe { dealloc(self.ptr.as_ptr(), layout(self.len)) }
    }
}

impl Deref for AlignedBuf {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: I1: `len` initialised bytes at `ptr`, borrowed for as long as `self` is.
        unsafe { std::slice::from_raw_parts(self.ptr.as_ptr(), self.len) }
    }
}

impl DerefMut for AlignedBuf {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: I1, and `&mut self` makes this the only borrow.
        unsafe { std::slice::from_raw_parts_mut(self.ptr.as_ptr(), self.len) }
    }
}

// SAFETY: I1: the memory is owned like that of a `Box<[u8]>`; nothing in it is bound to a thread.
unsafe impl Send for AlignedBuf {}
// SAFETY: as above; `&AlignedBuf` gives only `&[u8]`.
unsafe impl Sync for AlignedBuf {}

impl Clone for AlignedBuf {
    fn clone(&self) -> Self {
        Self::from_slice(self)
    }
}

impl fmt::Debug for AlignedBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AlignedBuf").field("len", &self.len).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_zeroed_and_aligned_at_every_length() {
        for len in [0, 1, 511, 512, 4095, 4096, 4097, 16 << 10, (1 << 20) + 3] {
            let buf = AlignedBuf::zeroed(len);
            assert_eq!(buf.len(), len);
            assert_eq!(buf.as_ptr() as usize % ALIGN, 0);
            assert!(buf.iter().all(|&b| b == 0));
        }
    }

    #[test]
    fn is_a_slice_of_its_own() {
        let mut a = AlignedBuf::from_slice(b"vaquita");
        let b = a.clone();
        a[0] = b'V';
        assert_eq!((&a[..], &b[..]), (&b"Vaquita"[..], &b"vaquita"[..]));
        let moved = std::thread::spawn(move || b[1]).join().unwrap();
        assert_eq!(moved, b'a');
    }
}
