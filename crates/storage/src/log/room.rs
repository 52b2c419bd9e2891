//! Room in the files: how old the log may get, and reservations that keep it from running into itself.
//!
//! Appending never waits for a checkpoint, because the appending thread holds page latches and a checkpoint may
//! need those pages flushed. So room is reserved before a mini-transaction begins, while nothing is held, for the
//! most it may append. The log's age is the distance from the last checkpoint to the end.
//!
//! | age, of the capacity | |
//! |---|---|
//! | to 7/8 | fine |
//! | to 15/16 | flush pages and advance the checkpoint in the background |
//! | above | the same, urgently; mini-transactions go on only while their room is there |

use parking_lot::{Condvar, Mutex};
use vaquita_format::redo_file::{BLOCK_PAYLOAD, BLOCK_SIZE};

use super::RedoLog;
use super::error::{LogError, Result};
use super::sync::{AtomicU64, CachePadded, Ordering, fence};

/// How urgently the checkpoint must advance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogPressure {
    /// Not at all.
    Low,
    /// Flush old pages in the background.
    Async,
    /// Flush old pages now: mini-transactions wait, or are about to.
    Sync,
}

/// Room for a mini-transaction, reserved. Give it back with [`RedoLog::release_room`] when the records are
/// appended, or are not going to be.
#[derive(Debug)]
#[must_use = "room that is not released is lost until the log is opened again"]
pub struct Room {
    bytes: u64,
}

impl Room {
    /// Bytes of records that may be appended.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// Reservations, and those who wait for one.
#[derive(Debug, Default)]
pub(super) struct RoomWaiters {
    /// Bytes reserved and not released.
    reserved: CachePadded<AtomicU64>,
    waiting: AtomicU64,
    mutex: Mutex<()>,
    moved: Condvar,
}

impl RoomWaiters {
    /// The checkpoint advanced, room was released, or the log has failed.
    pub(super) fn wake_all(&self) {
        // With the waiter's fence: either it sees what we changed, or we see it waiting.
        fence(Ordering::SeqCst);
        if self.waiting.load(Ordering::Relaxed) > 0 {
            let _order = self.mutex.lock();
            self.moved.notify_all();
        }
    }
}

impl RedoLog {
    /// Bytes of log blocks the files hold.
    pub fn capacity(&self) -> u64 {
        self.geometry().capacity()
    }

    /// Distance from the last checkpoint to the end.
    pub fn age(&self) -> u64 {
        // The checkpoint first: it is never above an end read later.
        let checkpoint = self.checkpoint_lsn();
        self.current_lsn().get() - checkpoint.get()
    }

    /// Age from which pages are flushed in the background.
    pub fn async_flush_age(&self) -> u64 {
        self.capacity() / 8 * 7
    }

    /// Age from which pages are flushed urgently.
    pub fn sync_flush_age(&self) -> u64 {
        self.capacity() / 16 * 15
    }

    /// Age that reservations keep to. The rest is for the block of the checkpoint, the incomplete last block and
    /// its empty successor.
    fn age_max(&self) -> u64 {
        self.capacity() - (self.capacity() / 64).max(4 * BLOCK_SIZE as u64)
    }

    /// How urgently the checkpoint must advance.
    pub fn pressure(&self) -> LogPressure {
        let age = self.age();
        if age > self.sync_flush_age() || self.room.waiting.load(Ordering::Relaxed) > 0 {
            LogPressure::Sync
        } else if age > self.async_flush_age() {
            LogPressure::Async
        } else {
            LogPressure::Low
        }
    }

    /// Whether mini-transactions wait for a checkpoint, or are about to.
    pub fn must_checkpoint(&self) -> bool {
        self.pressure() == LogPressure::Sync
    }

    /// Whether a reservation of that many bytes would succeed at this moment.
    pub fn has_room(&self, records_max: usize) -> bool {
        let reserved = self.room.reserved.load(Ordering::Acquire);
        self.age() + reserved + bytes_in_blocks(records_max) <= self.age_max()
    }

    /// Reserves room for a mini-transaction that appends at most `records_max` bytes; `None` if the checkpoint
    /// must advance first.
    ///
    /// # Latching
    /// Call it before the mini-transaction begins, holding no page latch.
    pub fn try_reserve_room(&self, records_max: usize) -> Option<Room> {
        let room = self.reserve_if_fits(records_max);
        if room.is_none() {
            // Another thread may have seen the attempt as taken room, and wait for it.
            self.room.wake_all();
        }
        room
    }

    /// Reserves room, waiting until the checkpoint has advanced as far as needed, as long as `others_see_to_it` says that
    /// another thread advances it ([`RedoLog::must_checkpoint`] is true meanwhile); `None` once nobody does. That thread
    /// calls [`RedoLog::wake_for_room`] when it stops.
    ///
    /// # Errors
    /// [`LogError::TooLarge`] if no checkpoint could ever make the room; the log's failure.
    pub fn wait_for_room(
        &self,
        records_max: usize,
        others_see_to_it: impl Fn() -> bool,
    ) -> Result<Option<Room>> {
        let (bytes, limit) = (bytes_in_blocks(records_max), self.age_max());
        if bytes > limit {
            return Err(LogError::TooLarge { bytes: records_max as u64, limit });
        }
        self.check_alive()?;
        if let Some(room) = self.try_reserve_room(records_max) {
            return Ok(Some(room));
        }
        self.stats.room_waits.add(1);
        self.room.waiting.fetch_add(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        self.waiters.kick();
        let room = self.wait_for_room_locked(records_max, others_see_to_it);
        self.room.waiting.fetch_sub(1, Ordering::Relaxed);
        room
    }

    fn wait_for_room_locked(
        &self,
        records_max: usize,
        others_see_to_it: impl Fn() -> bool,
    ) -> Result<Option<Room>> {
        let mut guard = self.room.mutex.lock();
        loop {
            self.check_alive()?;
            if let Some(room) = self.reserve_if_fits(records_max) {
                return Ok(Some(room));
            }
            if !others_see_to_it() {
                return Ok(None);
            }
            self.room.moved.wait(&mut guard);
        }
    }

    /// Lets those who wait for room look again at who sees to it.
    pub fn wake_for_room(&self) {
        self.room.wake_all();
    }

    /// Gives reserved room back.
    pub fn release_room(&self, room: Room) {
        // Release: whoever reserves after this sees the LSN of what was appended.
        let reserved = self.room.reserved.fetch_sub(room.bytes, Ordering::AcqRel);
        assert!(reserved >= room.bytes, "{} bytes of room come back, {reserved} are out", room.bytes);
        self.room.wake_all();
    }

    /// As [`RedoLog::try_reserve_room`], without waking waiters.
    fn reserve_if_fits(&self, records_max: usize) -> Option<Room> {
        let bytes = bytes_in_blocks(records_max);
        // The reservation before the age: whoever appends and then releases in between is counted twice, not never.
        let reserved = self.room.reserved.fetch_add(bytes, Ordering::AcqRel) + bytes;
        if self.age() + reserved <= self.age_max() {
            return Some(Room { bytes });
        }
        self.room.reserved.fetch_sub(bytes, Ordering::AcqRel);
        None
    }
}

/// Bytes of the stream that records of `len` bytes take, at most.
fn bytes_in_blocks(len: usize) -> u64 {
    (len as u64).div_ceil(BLOCK_PAYLOAD as u64) * BLOCK_SIZE as u64 + (BLOCK_SIZE - BLOCK_PAYLOAD) as u64
}
