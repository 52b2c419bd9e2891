//! Log buffer: a ring of bytes that many threads fill at once and one writer empties.
//!
//! The ring has the layout of the files: blocks of 512 bytes with holes for header and trailer, byte `lsn` at
//! `lsn mod size`. A thread reserves its place with one atomic addition, copies its records around the holes
//! while others copy theirs, and leaves a link (see [`super::link_ring`]). The writer takes out what is complete.
//! The only thing a filling thread writes into a hole is the "first group" of a block's header; the writer makes
//! up the rest of headers and trailers in its own copy.
//!
//! Records longer than the free part of the ring are copied in pieces, as the writer makes room; so records may
//! even be longer than the ring.
//!
//! # Invariants
//! - I1: `taken` is the LSN up to which the writer took bytes out; nobody touches bytes before it.
//! - I2: a reservation covers record bytes no other reservation covers. It also owns the "first group" field of
//!   every block it runs into from an earlier block (a block has exactly one such reservation).
//! - I3: a reservation's bytes at or after `taken + size` are not written yet.
//! - I4: a byte of a reservation, field of I2 included, is read only after the link that follows it is seen, and
//!   written only before it is left.
//!
//! # Failure
//! When the log has failed nothing takes bytes out any more. A waiting thread then *abandons* its reservation:
//! links it without having filled it, after raising a flag that keeps the writer from ever taking such bytes.

use std::cell::UnsafeCell;

use vaquita_base::Lsn;
use vaquita_base::codec::put_u16;
use vaquita_format::redo_file::{BLOCK_PAYLOAD, BLOCK_SIZE, BLOCK_TRAILER_SIZE, block_start, lsn_of, sn_of};

use super::link_ring::LinkRing;
use super::sync::{AtomicBool, AtomicU64, CachePadded, Ordering};

/// Offset in a block header of the "first group" field.
pub(super) const FIRST_GROUP: u64 = 6;

/// The ring.
pub(super) struct LogBuffer {
    bytes: Box<[UnsafeCell<u8>]>,
    /// Record bytes handed out so far: the next reservation starts here.
    reserved: CachePadded<AtomicU64>,
    /// LSN up to which bytes were taken out.
    taken: CachePadded<AtomicU64>,
    /// Which reservations are filled.
    filled: LinkRing,
    abandoned: AtomicBool,
}

// SAFETY: `bytes` is the only part that is not Sync by itself. It is read and written in `put` and `get` alone,
// on ranges that I1 to I4 keep apart, with the happens-before edges of the link ring and of `taken`.
unsafe impl Sync for LogBuffer {}

impl std::fmt::Debug for LogBuffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LogBuffer")
            .field("size", &self.size())
            .field("end", &self.end())
            .field("taken", &self.taken())
            .finish_non_exhaustive()
    }
}

/// A place in the stream, to be filled by the thread that reserved it.
#[derive(Debug)]
pub(super) struct Reservation {
    start: u64,
    end: u64,
    /// Filled and linked up to here.
    done: u64,
}

impl Reservation {
    /// LSN of the first byte.
    pub(super) fn start(&self) -> Lsn {
        lsn_of(self.start)
    }

    /// LSN after the last byte.
    pub(super) fn end(&self) -> Lsn {
        lsn_of(self.end)
    }
}

/// The right to take bytes out; a buffer has exactly one.
#[derive(Debug)]
pub(super) struct Taker {
    at: Lsn,
}

impl Taker {
    /// The next byte to be taken.
    pub(super) fn at(&self) -> Lsn {
        self.at
    }
}

impl LogBuffer {
    /// An empty ring of `size` bytes (a number of blocks) whose first record byte will be `start`; disorder among
    /// threads is bounded by `disorder` bytes, a power of two.
    pub(super) fn new(size: usize, disorder: usize, start: Lsn) -> (Self, Taker) {
        assert!(size >= 2 * BLOCK_SIZE && size.is_multiple_of(BLOCK_SIZE), "whole blocks, two or more");
        let sn = sn_of(start);
        assert_eq!(lsn_of(sn), start, "an LSN of a record byte");
        let buffer = Self {
            bytes: (0..size).map(|_| UnsafeCell::new(0)).collect(),
            reserved: CachePadded::new(AtomicU64::new(sn)),
            taken: CachePadded::new(AtomicU64::new(start.get())),
            filled: LinkRing::new(disorder, sn),
            abandoned: AtomicBool::new(false),
        };
        (buffer, Taker { at: start })
    }

    /// Bytes of the ring.
    pub(super) fn size(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// LSN the next reservation starts at.
    #[inline]
    pub(super) fn end(&self) -> Lsn {
        // Acquire pairs with the Release of whoever made this LSN known by other means; the addition itself
        // publishes nothing.
        lsn_of(self.reserved.load(Ordering::Acquire))
    }

    /// LSN up to which bytes were taken out.
    #[inline]
    pub(super) fn taken(&self) -> Lsn {
        Lsn(self.taken.load(Ordering::Acquire))
    }

    /// Whether bytes up to `end` fill more than half of the ring.
    #[inline]
    pub(super) fn is_half_full(&self, end: Lsn) -> bool {
        // The taker may be beyond `end` by now.
        end.get().saturating_sub(self.taken().get()) > self.size() / 2
    }

    /// Reserves `len` record bytes. The caller must fill or abandon them: all later ones wait for it.
    #[inline]
    pub(super) fn reserve(&self, len: usize) -> Reservation {
        debug_assert!(len > 0, "a mini-transaction without records takes no place in the stream");
        let start = self.reserved.fetch_add(len as u64, Ordering::AcqRel);
        Reservation { start, end: start + len as u64, done: start }
    }

    /// Copies as much of the rest of `records` as there is room for. True when all is in.
    #[inline]
    pub(super) fn fill(&self, reservation: &mut Reservation, records: &[u8]) -> bool {
        debug_assert_eq!(
            records.len() as u64,
            reservation.end - reservation.start,
            "bytes of records, and bytes reserved"
        );
        let (from, upto) = (reservation.done, reservation.end.min(self.room_end()));
        if upto > from {
            let range = (from - reservation.start) as usize..(upto - reservation.start) as usize;
            self.copy_in(from, &records[range], reservation.end());
            self.filled.link(from, upto);
            reservation.done = upto;
        }
        reservation.done == reservation.end
    }

    /// Whether [`LogBuffer::fill`] would copy something.
    pub(super) fn has_room_for(&self, reservation: &Reservation) -> bool {
        reservation.done < self.room_end()
    }

    /// Gives up the rest of a reservation after the log has failed.
    pub(super) fn abandon(&self, reservation: &mut Reservation) {
        // Before the link: a writer that follows the link sees the flag.
        self.abandoned.store(true, Ordering::Release);
        if reservation.done < reservation.end {
            self.filled.link(reservation.done, reservation.end);
            reservation.done = reservation.end;
        }
    }

    /// Moves complete bytes, block by block with their holes, from the taker's place on into `out`, as many as fit.
    /// Gives the LSN after them.
    pub(super) fn take(&self, taker: &mut Taker, out: &mut [u8]) -> Lsn {
        let from = taker.at;
        let complete = self.filled.follow();
        if self.abandoned.load(Ordering::Acquire) {
            return from;
        }
        let upto = lsn_of(complete.min(sn_at_or_before(from.get() + out.len() as u64))).max(from);
        let len = (upto.get() - from.get()) as usize;
        let start = (from.get() % self.size()) as usize;
        let first = len.min(self.bytes.len() - start);
        let (head, rest) = out[..len].split_at_mut(first);
        self.get(start, head);
        self.get(0, rest);
        taker.at = upto;
        // Release: the reads above are done before anyone may write the bytes again.
        self.taken.store(upto.get(), Ordering::Release);
        upto
    }

    /// First record byte that has no place in the ring yet (I3).
    #[inline]
    fn room_end(&self) -> u64 {
        // `taken` is the LSN of a record byte and the size is whole blocks, so the sum is one too.
        sn_of(Lsn(self.taken().get() + self.size()))
    }

    /// Copies records to byte `sn` on and sets "first group" of the blocks they run into; the mini-transaction
    /// ends at `end`.
    fn copy_in(&self, mut sn: u64, mut records: &[u8], end: Lsn) {
        const DATA_END: usize = BLOCK_SIZE - BLOCK_TRAILER_SIZE;
        while !records.is_empty() {
            let lsn = lsn_of(sn).get();
            let len = records.len().min(DATA_END - (lsn % BLOCK_SIZE as u64) as usize);
            self.put(lsn, &records[..len]);
            records = &records[len..];
            sn += len as u64;
            if sn.is_multiple_of(BLOCK_PAYLOAD as u64) {
                let block = block_start(lsn_of(sn));
                let first_group = if block == block_start(end) { end.get() - block.get() } else { 0 };
                let mut field = [0; 2];
                put_u16(&mut field, 0, first_group as u16);
                self.put(block.get() + FIRST_GROUP, &field);
            }
        }
    }

    /// Writes bytes of one block, which the calling reservation owns.
    #[inline]
    fn put(&self, lsn: u64, bytes: &[u8]) {
        let at = (lsn % self.size()) as usize;
        let place = &self.bytes[at..at + bytes.len()];
        // SAFETY: `place` bounds the range. It belongs to the caller's reservation (I2), lies in the window from
        // `taken` to `taken + size` (I1, I3; the Acquire load of `taken` orders this write after the writer's
        // reads of the bytes' previous use) and is not linked yet (I4), so no other thread reads or writes it.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), UnsafeCell::raw_get(place.as_ptr()), bytes.len());
        }
    }

    /// Reads bytes that are complete and not yet taken.
    #[inline]
    fn get(&self, at: usize, out: &mut [u8]) {
        let place = &self.bytes[at..at + out.len()];
        // SAFETY: `place` bounds the range. Its bytes are linked (the Acquire in `follow` orders this read after
        // they were written) and at or after `taken`, so that no reservation may write them (I1, I3, I4); holes
        // are written under I2 before their link or never. The taker is unique, so `taken` stands still.
        unsafe {
            std::ptr::copy_nonoverlapping(UnsafeCell::raw_get(place.as_ptr()), out.as_mut_ptr(), out.len());
        }
    }
}

/// The last record byte position whose LSN is not above `lsn`.
fn sn_at_or_before(lsn: u64) -> u64 {
    let sn = sn_of(Lsn(lsn));
    if lsn_of(sn).get() > lsn { sn - 1 } else { sn }
}
