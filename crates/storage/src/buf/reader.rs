//! Reading pages into frames: single misses by the thread that wants the page, batches for read-ahead, recovery
//! and warm-up.
//!
//! A page is checked before anybody sees it: number, space, checksum, LSN not beyond the log. A page that fails
//! leaves no trace in the pool. From `force_recovery` 1 on, the fixed pages of the transaction system and the dictionary are taken as
//! they are if they carry their own number and type: whoever reads them checks what is on them.

use super::{BufferPool, PageWriteGuard};
use crate::error::{Error, Result};
use crate::space::PageLocation;
use std::sync::atomic::Ordering;
use vaquita_base::PageId;
use vaquita_format::checksum::{self, PageState};
use vaquita_format::fil::PageType;
use vaquita_format::{Corruption, PageSize, fil};
use vaquita_io::{BatchOp, Transfer};

/// Transfers of one batch at most.
const BATCH_MAX: usize = 64;

/// What became of a page of a batch.
#[derive(Debug)]
pub(crate) enum Fetched {
    /// It was in the pool already, or another thread is reading it.
    Present,
    /// It was read.
    Read,
    /// It could not be read.
    Failed(Error),
}

/// A page to be read: where it lies, and its frame.
type Held<'p> = (PageId, PageLocation, PageWriteGuard<'p>);

impl BufferPool {
    /// Reads a page that is not in the pool; `None` if another thread entered it meanwhile.
    #[cold]
    pub(super) fn read_in(&self, page: PageId, read_ahead: bool) -> Result<Option<PageWriteGuard<'_>>> {
        let hook = self.after_read_hook();
        let location = match self.spaces.locate(page) {
            Ok(location) => Some(location),
            // Recovery may need a page that the file does not hold yet.
            Err(Error::BeyondEnd { .. }) if hook.is_some() => {
                self.spaces.grow(&*self.spaces.get(page.space)?, page.page_no.0 + 1)?;
                None
            }
            Err(e) => return Err(e),
        };
        let frame_no = self.take_free(page)?;
        let Some(mut guard) = self.publish(frame_no, page) else { return Ok(None) };
        let skip = hook.as_ref().is_some_and(|h| h.is_self_contained(page));
        let outcome = match &location {
            Some(location) if !skip => {
                if !read_ahead {
                    self.before_wait();
                }
                let read = location.file.read_at(guard.bytes_mut(), location.offset);
                self.stats.reads.add(1);
                self.admit(&mut guard, page, location, read)
            }
            _ => {
                guard.bytes_mut().fill(0);
                self.bring_up_to_lsn(&mut guard, page)
            }
        };
        match outcome {
            Ok(()) => {
                self.enlist(frame_no, page, read_ahead);
                if !read_ahead {
                    self.read_ahead.on_miss(self, page);
                }
                Ok(Some(guard))
            }
            Err(e) => {
                self.withdraw(guard);
                Err(e)
            }
        }
    }

    /// Reads those of `pages` that are not in the pool, many at once.
    ///
    /// `done` is told of every page as it becomes usable. Stops early, without error, when no frame is free
    /// without writing dirty pages and `may_evict_dirty` is false.
    pub(crate) fn fetch_batch(
        &self,
        pages: &[PageId],
        may_evict_dirty: bool,
        done: &mut dyn FnMut(PageId, Fetched),
    ) -> Result<()> {
        // A batch holds latches on its frames; an eighth of the pool leaves room for everybody else.
        let batch = BATCH_MAX.min(self.frames.len() / self.instances.len() / 8).max(1);
        for chunk in pages.chunks(batch) {
            if !self.fetch_chunk(chunk, may_evict_dirty, done)? {
                break;
            }
        }
        Ok(())
    }

    fn fetch_chunk(
        &self,
        pages: &[PageId],
        may_evict_dirty: bool,
        done: &mut dyn FnMut(PageId, Fetched),
    ) -> Result<bool> {
        let hook = self.after_read_hook();
        let mut held: Vec<Held<'_>> = Vec::with_capacity(pages.len());
        let mut room = true;
        for &page in pages {
            if self.contains(page) {
                done(page, Fetched::Present);
                continue;
            }
            let skip = hook.as_ref().is_some_and(|h| h.is_self_contained(page));
            let location = if skip { None } else { self.spaces.locate(page).ok() };
            let Some(location) = location else {
                // A case for `read_in`, which knows how to do without the file, or the right error.
                let outcome = self.read_in(page, true).map(|_| ());
                done(page, outcome.map_or_else(Fetched::Failed, |()| Fetched::Read));
                continue;
            };
            if !may_evict_dirty && !self.has_clean_frame(page) {
                room = false;
                break;
            }
            let frame_no = self.take_free(page)?;
            match self.publish(frame_no, page) {
                Some(guard) => held.push((page, location, guard)),
                None => done(page, Fetched::Present),
            }
        }
        self.read_held(held, done);
        Ok(room)
    }

    /// Performs the reads of a chunk. Each page is admitted and unlatched as soon as its own read is done.
    fn read_held(&self, held: Vec<Held<'_>>, done: &mut dyn FnMut(PageId, Fetched)) {
        let (places, mut guards): (Vec<_>, Vec<_>) =
            held.into_iter().map(|(page, location, guard)| ((page, location), Some(guard))).unzip();
        let mut ops: Vec<BatchOp<'_>> = Vec::with_capacity(places.len());
        for ((_, location), guard) in places.iter().zip(&guards) {
            let frame = guard.as_ref().expect("set above").frame();
            // SAFETY: the guard holds the exclusive latch of this frame until after its completion callback, and
            // the only other use of the bytes, in that callback, comes after the transfer has ended.
            let buffer = unsafe { self.memory().bytes_mut(frame) };
            ops.push(BatchOp {
                file: &*location.file,
                offset: location.offset,
                transfer: Transfer::Read(buffer),
            });
        }
        self.stats.reads.add(ops.len() as u64);
        self.spaces.fs().run_batch(&mut ops, &mut |i, op, read| {
            // The buffer reference ends here, before the guard is used.
            op.transfer = Transfer::Write(&[]);
            let (page, location) = &places[i];
            let mut guard = guards[i].take().expect("one completion per transfer");
            let frame_no = guard.frame();
            let outcome = match self.admit(&mut guard, *page, location, read) {
                Ok(()) => {
                    self.enlist(frame_no, *page, true);
                    drop(guard);
                    Fetched::Read
                }
                Err(e) => {
                    self.withdraw(guard);
                    Fetched::Failed(e)
                }
            };
            done(*page, outcome);
        });
    }

    fn has_clean_frame(&self, page: PageId) -> bool {
        let instance = self.instance_of(page);
        if self.free_in(instance) > 0 {
            return true;
        }
        match self.evict_or_call(instance) {
            Some(frame_no) => {
                self.release_free(frame_no);
                true
            }
            None => false,
        }
    }

    /// Checks a page that was read and lets the after-read hook bring it up to date.
    fn admit(
        &self,
        guard: &mut PageWriteGuard<'_>,
        page: PageId,
        location: &PageLocation,
        read: vaquita_io::Result<()>,
    ) -> Result<()> {
        // A short read too: the file holds the page, or the page would not have been located.
        read?;
        let hook = self.after_read_hook();
        if let Err(corruption) = self.check(guard, page)
            && !hook.is_some_and(|h| h.tolerates_damage())
        {
            let file = location.file.path().to_owned();
            let damage = Error::Page { page, file, offset: location.offset, corruption };
            if !self.keeps_damaged || !is_fixed_page(guard, page) {
                return Err(damage);
            }
            self.kept.lock().push(damage.to_string());
        }
        self.bring_up_to_lsn(guard, page)
    }

    fn check(&self, bytes: &[u8], page: PageId) -> std::result::Result<(), Corruption> {
        let size = PageSize::new(bytes.len()).expect("frames have a page size");
        if checksum::verify(bytes, size, self.checksum)? == PageState::Fresh {
            return Ok(());
        }
        let found = PageId::new(fil::space_id(bytes), fil::page_no(bytes));
        if found != page {
            let detail = format!("expected {page}, found {found}: a page written to the wrong place");
            return Err(Corruption::new("page id", detail).at(fil::PAGE_NO));
        }
        Ok(())
    }

    fn bring_up_to_lsn(&self, guard: &mut PageWriteGuard<'_>, page: PageId) -> Result<()> {
        let frame = self.frame(guard.frame());
        let lsn = fil::lsn(guard);
        frame.newest_modification.store(lsn.0, Ordering::Relaxed);
        if self.after_read_active.load(Ordering::Acquire) {
            return self.apply_after_read(guard);
        }
        if let Some(log_end) = self.writer.log_end()
            && lsn > log_end
        {
            return Err(Error::FutureLsn { page, lsn, log_end });
        }
        Ok(())
    }

    /// Applies the after-read hook to an exclusively latched page.
    pub(super) fn apply_after_read(&self, guard: &mut PageWriteGuard<'_>) -> Result<()> {
        let Some(hook) = self.after_read_hook() else { return Ok(()) };
        let page = guard.id();
        if let Some((first, last)) = hook.after_read(page, guard.bytes_mut())? {
            self.mark_dirty(guard.frame(), first, last);
        }
        Ok(())
    }

    /// Takes a page that could not be read out of the pool again.
    fn withdraw(&self, guard: PageWriteGuard<'_>) {
        let frame_no = guard.frame();
        self.map.remove(&self.frames, frame_no);
        guard.forget();
        self.release_free(frame_no);
    }
}

/// Whether a page is one of those that a server makes once, in their places: the header of a rollback segment, of the
/// dictionary, of the transaction system.
fn is_fixed_page(bytes: &[u8], page: PageId) -> bool {
    PageId::new(fil::space_id(bytes), fil::page_no(bytes)) == page
        && matches!(fil::page_type(bytes), Some(PageType::Sys | PageType::TrxSys))
}
