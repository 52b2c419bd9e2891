//! Mini-transactions: a group of page changes that happens entirely or not at all.
//!
//! An [`Mtr`] latches pages, changes them through functions that edit **and** log, and at its end puts all its
//! redo records into the log in one piece, stamps the pages with the end LSN and enters them in the flush list,
//! then releases its latches. There are no savepoints: what can fail is done before the first change, or the
//! mini-transaction keeps before-images ([`Mtr::keep_before_images`]) and undoes its changes when dropped.
//!
//! # Invariants
//! - I1: a page's bytes change only through this module, under the exclusive latch, with the redo record that
//!   repeats the change appended to the same mini-transaction.
//! - I2: no page that carries a change leaves the exclusive latch before its LSN is set.
//! - I3: a page is held once: asking again for a held page gives the same [`PageRef`].
//! - I4: what is appended to the log is no more than was reserved for it.
//! - I5: pages of [`SpaceId::TEMPORARY`] are changed by the same functions, and what these log is thrown away: nobody repeats
//!   the changes, and their pages have no LSN. A mini-transaction may change such pages and others.
//!
//! # Latching
//! Latches are kept until the end, except for unchanged pages released early. The order among pages is the
//! business of the callers (`docs/latching.md`). The log is appended to with the latches held; room in it is
//! assured before the first latch ([`crate::Storage::begin`]).
//!
//! # Crash
//! Before the log of an mtr is durable none of its changes is on disk (write-ahead rule of [`crate::flush`]).
//! Afterwards recovery repeats all of them: a group that is incomplete in the log is ignored as a whole.
//!
//! # How to write a change
//! 1. Read and check everything that can fail. 2. Latch all pages in order. 3. Call edit functions. 4. Commit.

use crate::buf::{FramePosition, PageReadGuard, PageWriteGuard, assert_no_page_latched};
use crate::error::{Error, Result};
use crate::log::Room;
use crate::space::assert_unchanging;
use crate::storage::Storage;
use smallvec::SmallVec;
use std::cell::RefCell;
use vaquita_base::codec;
use vaquita_base::{Lsn, PageId, SpaceId};
use vaquita_format::Corruption;
use vaquita_format::fil;
use vaquita_format::redo_rec::encode;

/// Log buffers up to this size are kept for the thread's next mini-transaction.
const KEEP_LOG_MAX: usize = 64 << 10;

thread_local! {
    /// The log buffer of the thread's last mini-transaction.
    static SPARE_LOG: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// A page held by a mini-transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageRef(u32);

#[derive(Debug)]
enum Hold<'s> {
    Shared(PageReadGuard<'s>),
    Exclusive(PageWriteGuard<'s>),
    Released,
}

#[derive(Debug)]
struct Slot<'s> {
    id: PageId,
    hold: Hold<'s>,
    modified: bool,
}

/// A mini-transaction.
#[derive(Debug)]
pub struct Mtr<'s> {
    storage: &'s Storage,
    slots: SmallVec<[Slot<'s>; 8]>,
    log: Vec<u8>,
    records: u32,
    /// Pages whose changes are not logged have been changed.
    unlogged: bool,
    before: Option<Vec<(u32, Box<[u8]>)>>,
    room: Option<Room>,
}

impl<'s> Mtr<'s> {
    pub(crate) fn new(storage: &'s Storage, room: Option<Room>) -> Self {
        let log = SPARE_LOG.with(|spare| std::mem::take(&mut *spare.borrow_mut()));
        debug_assert!(log.is_empty());
        Self { storage, slots: SmallVec::new(), log, records: 0, unlogged: false, before: None, room }
    }

    /// The storage it works on.
    #[inline]
    pub fn storage(&self) -> &'s Storage {
        self.storage
    }

    /// Keeps a copy of each page before its first change, so that dropping the mini-transaction undoes it. For
    /// changes of several pages in which a read may fail half-way.
    pub fn keep_before_images(&mut self) {
        assert!(self.records == 0 && !self.unlogged, "before-images are kept from the first change on");
        self.before.get_or_insert_with(Vec::new);
    }

    /// Whether dropping it undoes its changes.
    pub fn keeps_before_images(&self) -> bool {
        self.before.is_some()
    }

    /// The page, if this mini-transaction holds it.
    #[inline]
    pub fn find(&self, id: PageId) -> Option<PageRef> {
        // A page released early may be latched again: the newest slot counts.
        let at = self.slots.iter().rposition(|s| s.id == id)?;
        (!matches!(self.slots[at].hold, Hold::Released)).then_some(PageRef(at as u32))
    }

    fn hold(&mut self, id: PageId, hold: Hold<'s>) -> PageRef {
        self.slots.push(Slot { id, hold, modified: false });
        PageRef((self.slots.len() - 1) as u32)
    }

    /// Latches a page shared, or finds it already held.
    ///
    /// # Errors
    /// Errors of reading the page.
    #[inline]
    pub fn get_shared(&mut self, id: PageId) -> Result<PageRef> {
        if let Some(held) = self.find(id) {
            return Ok(held);
        }
        let guard = self.storage.pool().get_shared(id)?;
        Ok(self.hold(id, Hold::Shared(guard)))
    }

    /// Latches a page exclusively, or finds it already so held.
    ///
    /// # Errors
    /// Errors of reading the page. This mini-transaction holds it shared, as another page than the one it is wanted as:
    /// latches are not upgraded, and the address that leads to it twice is damaged.
    #[inline]
    pub fn get_exclusive(&mut self, id: PageId) -> Result<PageRef> {
        if let Some(held) = self.find(id) {
            return if self.is_exclusive(held) { Ok(held) } else { Err(held_shared(id)) };
        }
        let guard = self.storage.pool().get_exclusive(id)?;
        Ok(self.hold(id, Hold::Exclusive(guard)))
    }

    /// Takes over a page that is latched already.
    #[inline]
    pub fn adopt_shared(&mut self, guard: PageReadGuard<'s>) -> PageRef {
        let id = guard.id();
        debug_assert!(self.find(id).is_none(), "I3: page {id} is held already");
        self.hold(id, Hold::Shared(guard))
    }

    /// Takes over a page that is latched already.
    #[inline]
    pub fn adopt_exclusive(&mut self, guard: PageWriteGuard<'s>) -> PageRef {
        let id = guard.id();
        debug_assert!(self.find(id).is_none(), "I3: page {id} is held already");
        self.hold(id, Hold::Exclusive(guard))
    }

    /// Makes a page that was just allocated: zeros but for its number and space, logged as INIT_FILE_PAGE.
    ///
    /// # Errors
    /// If the tablespace's file does not hold the page.
    pub fn create_page(&mut self, id: PageId) -> Result<PageRef> {
        let page = match self.find(id) {
            Some(held) => held,
            None => {
                let guard = self.storage.pool().create(id)?;
                self.hold(id, Hold::Exclusive(guard))
            }
        };
        self.edit(page, |bytes, log| {
            fil::init(bytes, id.space, id.page_no);
            encode::push_init_file_page(log, id);
        });
        Ok(page)
    }

    /// The page a reference stands for.
    #[inline]
    pub fn id(&self, page: PageRef) -> PageId {
        self.slots[page.0 as usize].id
    }

    /// The bytes of a held page.
    ///
    /// # Panics
    /// If the page was released.
    #[inline]
    pub fn page(&self, page: PageRef) -> &[u8] {
        match &self.slots[page.0 as usize].hold {
            Hold::Shared(guard) => guard,
            Hold::Exclusive(guard) => guard,
            Hold::Released => panic!("page {} was released", self.id(page)),
        }
    }

    /// Whether the page is held exclusively.
    #[inline]
    pub fn is_exclusive(&self, page: PageRef) -> bool {
        matches!(self.slots[page.0 as usize].hold, Hold::Exclusive(_))
    }

    /// Where a page that is held shared is, to come back to it later.
    ///
    /// # Panics
    /// If it is not held shared.
    #[inline]
    pub fn position(&self, page: PageRef) -> FramePosition {
        match &self.slots[page.0 as usize].hold {
            Hold::Shared(guard) => guard.position(),
            _ => panic!("page {} is not held shared", self.id(page)),
        }
    }

    /// Whether this mini-transaction has changed the page.
    pub fn is_modified(&self, page: PageRef) -> bool {
        self.slots[page.0 as usize].modified
    }

    /// Gives an unchanged page back before the end; a changed one stays until the end.
    #[inline]
    pub fn release(&mut self, page: PageRef) {
        let slot = &mut self.slots[page.0 as usize];
        if !slot.modified {
            slot.hold = Hold::Released;
            if page.0 as usize + 1 == self.slots.len() {
                self.slots.pop();
            }
        }
    }

    /// Gives all unchanged pages back.
    pub fn release_unmodified(&mut self) {
        for slot in self.slots.iter_mut().rev() {
            if !slot.modified {
                slot.hold = Hold::Released;
            }
        }
        while self.slots.last().is_some_and(|s| matches!(s.hold, Hold::Released)) {
            self.slots.pop();
        }
    }

    /// Changes a page: `change` edits the bytes and appends exactly one redo record that repeats the edit, or
    /// leaves both alone.
    ///
    /// # Panics
    /// If the page is not held exclusively.
    #[inline]
    pub fn edit<R>(&mut self, page: PageRef, change: impl FnOnce(&mut [u8], &mut Vec<u8>) -> R) -> R {
        debug_assert!(self.room.is_some(), "a mini-transaction that only reads changes a page");
        let slot = &mut self.slots[page.0 as usize];
        let Hold::Exclusive(guard) = &mut slot.hold else {
            panic!("page {} is changed without its exclusive latch", slot.id)
        };
        if !slot.modified
            && let Some(before) = &mut self.before
            && !before.iter().any(|(slot, _)| *slot == page.0)
        {
            before.push((page.0, Box::from(&**guard)));
        }
        let logged = self.log.len();
        let out = change(guard.bytes_mut(), &mut self.log);
        debug_assert!(
            self.log.len() >= logged,
            "an edit of page {} takes back what others have logged",
            slot.id
        );
        if self.log.len() != logged {
            slot.modified = true;
            if slot.id.space == SpaceId::TEMPORARY {
                self.log.truncate(logged);
                self.unlogged = true;
                return out;
            }
            #[cfg(feature = "canary")]
            if self.records > 0 && self.storage.canary().skips_redo_record() {
                self.log.truncate(logged);
                return out;
            }
            self.records += 1;
        }
        out
    }

    /// Writes one byte.
    pub fn write_u8(&mut self, page: PageRef, off: usize, v: u8) {
        let id = self.id(page);
        self.edit(page, |bytes, log| {
            bytes[off] = v;
            encode::push_bytes1(log, id, off as u16, v);
        });
    }

    /// Writes two bytes, big-endian.
    pub fn write_u16(&mut self, page: PageRef, off: usize, v: u16) {
        let id = self.id(page);
        self.edit(page, |bytes, log| {
            codec::put_u16(bytes, off, v);
            encode::push_bytes2(log, id, off as u16, v);
        });
    }

    /// Writes four bytes, big-endian.
    pub fn write_u32(&mut self, page: PageRef, off: usize, v: u32) {
        let id = self.id(page);
        self.edit(page, |bytes, log| {
            codec::put_u32(bytes, off, v);
            encode::push_bytes4(log, id, off as u16, v);
        });
    }

    /// Writes eight bytes, big-endian.
    pub fn write_u64(&mut self, page: PageRef, off: usize, v: u64) {
        let id = self.id(page);
        self.edit(page, |bytes, log| {
            codec::put_u64(bytes, off, v);
            encode::push_bytes8(log, id, off as u16, v);
        });
    }

    /// Writes a run of bytes.
    pub fn write_bytes(&mut self, page: PageRef, off: usize, v: &[u8]) {
        let id = self.id(page);
        self.edit(page, |bytes, log| {
            bytes[off..off + v.len()].copy_from_slice(v);
            encode::push_write_string(log, id, off as u16, v);
        });
    }

    /// Appends a record that changes no page (file operations).
    pub fn log_record(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        debug_assert!(self.room.is_some(), "a mini-transaction that only reads logs a record");
        let logged = self.log.len();
        write(&mut self.log);
        debug_assert!(self.log.len() > logged, "a record without bytes: the group would be one short");
        self.records += 1;
    }

    /// Bytes of redo so far.
    pub fn log_len(&self) -> usize {
        self.log.len()
    }

    /// Ends the mini-transaction: its changes take effect for everybody.
    ///
    /// Returns the LSN up to which the log must be durable for the changes to last.
    pub fn commit(mut self) -> Lsn {
        if self.unlogged {
            self.keep_unlogged();
        }
        if self.records == 0 {
            self.slots_release();
            return self.storage.log().current_lsn();
        }
        encode::finish_group(&mut self.log, self.records as usize);
        let reserved = self.room.as_ref().map_or(0, Room::bytes);
        assert!(
            self.log.len() as u64 <= reserved,
            "I4: {} bytes of redo, {reserved} reserved",
            self.log.len()
        );
        let log = self.storage.log();
        let appended = log.append(&self.log);
        let pool = self.storage.pool();
        for slot in &mut self.slots {
            debug_assert!(
                !slot.modified || matches!(slot.hold, Hold::Exclusive(_)),
                "I2: page {} was changed and is not held to the end",
                slot.id
            );
            if slot.modified
                && let Hold::Exclusive(guard) = &mut slot.hold
            {
                fil::set_lsn(guard.bytes_mut(), appended.end);
                pool.mark_dirty(guard.frame(), appended.start, appended.end);
            }
        }
        log.closed(&appended);
        self.records = 0;
        self.slots_release();
        appended.end
    }

    /// Changes of pages that have no log take effect; their latches are kept with the others.
    #[cold]
    fn keep_unlogged(&mut self) {
        let pool = self.storage.pool();
        for slot in self.slots.iter_mut().filter(|s| s.modified && s.id.space == SpaceId::TEMPORARY) {
            if let Hold::Exclusive(guard) = &slot.hold {
                pool.mark_dirty_unlogged(guard.frame());
                slot.modified = false;
            }
        }
        self.unlogged = false;
    }

    fn slots_release(&mut self) {
        while self.slots.pop().is_some() {}
    }

    /// Puts the before-images back.
    fn roll_back(&mut self) {
        let images = self.before.take().unwrap_or_default();
        for (at, image) in images.into_iter().rev() {
            let slot = &mut self.slots[at as usize];
            if let Hold::Exclusive(guard) = &mut slot.hold {
                guard.bytes_mut().copy_from_slice(&image);
                slot.modified = false;
            }
        }
    }
}

#[cold]
fn held_shared(id: PageId) -> Error {
    let detail = "it is changed and looked at as another page by one change".to_owned();
    Error::structure(id, Corruption::new("page with two places", detail))
}

impl Storage {
    /// Begins a mini-transaction that may change pages.
    ///
    /// Sees to it first that the log has room: waits for the service that writes old pages, or writes them itself where no
    /// services run.
    ///
    /// # Errors
    /// [`Error::Poisoned`] after a failed write or sync, and those failures themselves; [`Error::Config`] when the
    /// folder is open for reading only.
    ///
    /// # Latching
    /// The caller holds no page latch.
    #[inline]
    pub fn begin(&self) -> Result<Mtr<'_>> {
        self.check_writable()?;
        let room = match self.log().try_reserve_room(self.mtr_log_max()) {
            Some(room) => room,
            None => self.wait_for_room(self.mtr_log_max())?,
        };
        Ok(Mtr::new(self, Some(room)))
    }

    #[inline]
    fn check_writable(&self) -> Result<()> {
        if self.options().read_only {
            return Err(Error::Config("the folder is open for reading only".into()));
        }
        assert_no_page_latched("room in the log is reserved");
        assert_unchanging();
        self.flusher().check_usable()?;
        match self.log().failure() {
            Some(failure) => Err(Error::Poisoned(failure.to_string())),
            None => Ok(()),
        }
    }

    /// Waits until the log has room for so many mini-transactions, as far as it ever has: for whoever is going to keep others
    /// waiting while they run. It is not kept for them: they reserve theirs when they begin.
    ///
    /// # Errors
    /// As [`Storage::begin`].
    pub fn wait_for_room_of(&self, mini_transactions: usize) -> Result<()> {
        self.check_writable()?;
        let bytes = (self.mtr_log_max() * mini_transactions).min(self.log().capacity() as usize / 4);
        if !self.log().has_room(bytes) {
            let room = self.wait_for_room(bytes)?;
            self.log().release_room(room);
        }
        Ok(())
    }

    /// Begins a mini-transaction that only reads. Never waits.
    #[inline]
    pub fn begin_read(&self) -> Mtr<'_> {
        Mtr::new(self, None)
    }
}

impl Drop for Mtr<'_> {
    fn drop(&mut self) {
        if self.records > 0 || self.unlogged {
            self.roll_back();
            if self.slots.iter().any(|s| s.modified) {
                // Releasing the latches would publish half a change; no error path may lead here.
                eprintln!(
                    "vaquita: a mini-transaction was abandoned with changed pages; stopping the process"
                );
                std::process::abort();
            }
        }
        self.slots_release();
        if let Some(room) = self.room.take() {
            self.storage.log().release_room(room);
        }
        let mut log = std::mem::take(&mut self.log);
        if log.capacity() <= KEEP_LOG_MAX {
            log.clear();
            SPARE_LOG.with(|spare| *spare.borrow_mut() = log);
        }
    }
}
