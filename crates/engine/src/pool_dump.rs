//! Which pages the buffer pool holds: written to a file and read from it, when a statement asks, at start and at the end
//! (`buffer_pool_dump_now`, `buffer_pool_load_now`, `buffer_pool_load_at_startup`, `buffer_pool_dump_at_shutdown`).
//!
//! A service does it, one thing after the other. The file is InnoDB's: see
//! [`vaquita_storage::buf::BufferPool::dump_hot_set`]. Whatever is wrong with it is said, and is no failure.

use crate::core::Core;
use crate::error::Result;
use crate::hot_set::Progress;
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use vaquita_base::{PageId, SpaceId};
use vaquita_storage::buf::read_hot_set;

impl Core {
    /// Does one thing that was asked for; whether there was any. `is_over` cuts a load off.
    pub fn hot_set_step(&self, is_over: &dyn Fn() -> bool) -> bool {
        if self.hot_set.dump_asked.swap(false, Ordering::AcqRel) {
            self.dump_hot_set();
            return true;
        }
        if self.hot_set.load_asked.swap(false, Ordering::AcqRel) {
            self.load_hot_set(is_over);
            return true;
        }
        false
    }

    /// Writes the list, if closing is to do that.
    pub(crate) fn dump_hot_set_at_end(&self) {
        if !self.hot_set.settings().dump_at_shutdown {
            return;
        }
        let unfinished = self.hot_set.load_asked.load(Ordering::Acquire);
        if unfinished || self.hot_set.is_half_loaded.load(Ordering::Acquire) {
            self.notes.say("the buffer pool is not dumped, as its load did not come to its end".to_owned());
            return;
        }
        self.dump_hot_set();
    }

    fn dump_hot_set(&self) {
        let settings = self.hot_set.settings().clone();
        let path = self.storage.options().dir.join(&settings.file);
        let say = |text: String| self.say_progress(&self.hot_set.dump, text);
        say(format!("Dumping buffer pool(s) to {}", path.display()));
        if self.storage.options().read_only {
            return say("Buffer pool(s) not dumped: the folder is open for reading only".to_owned());
        }
        match self.storage.pool().dump_hot_set(&**self.storage.fs(), &path, settings.pct) {
            Ok(pages) => {
                let at_us = self.storage.clock().now_us();
                self.notes.say(format!("Buffer pool(s) dump completed: {pages} pages"));
                *self.hot_set.dump.lock() = Progress::Completed { at_us, remark: "" };
            }
            Err(e) => say(format!("Buffer pool(s) not dumped: {e}")),
        }
    }

    fn load_hot_set(&self, is_over: &dyn Fn() -> bool) {
        let file = self.hot_set.settings().file.clone();
        let path = self.storage.options().dir.join(file);
        let say = |text: String| self.say_progress(&self.hot_set.load, text);
        say(format!("Loading buffer pool(s) from {}", path.display()));
        let mut pages = match read_hot_set(&**self.storage.fs(), &path) {
            Ok(pages) => pages,
            Err(e) => return say(format!("Buffer pool(s) not loaded: {e}")),
        };
        let total = pages.len();
        let mut go_on = |seen: usize| {
            *self.hot_set.load.lock() = Progress::Said(format!("Loaded {seen}/{total} pages"));
            !is_over() && !self.hot_set.abort.load(Ordering::Acquire)
        };
        let done = self.open_spaces_of(&pages);
        match done.and_then(|()| Ok(self.storage.pool().load_pages(&mut pages, &mut go_on)?)) {
            Err(e) => say(format!("Buffer pool(s) not loaded: {e}")),
            Ok(_) if self.hot_set.abort.swap(false, Ordering::AcqRel) => {
                say("Buffer pool(s) load aborted on request".to_owned());
            }
            Ok(_) if is_over() => {
                self.hot_set.is_half_loaded.store(true, Ordering::Release);
                say("Buffer pool(s) load cut off by the end".to_owned());
            }
            Ok(loaded) => {
                let at_us = self.storage.clock().now_us();
                self.notes.say(format!("Buffer pool(s) load completed: {loaded} of {total} pages read"));
                let remark = if total == 0 { " (the file was empty)" } else { "" };
                *self.hot_set.load.lock() = Progress::Completed { at_us, remark };
            }
        }
    }

    fn say_progress(&self, progress: &Mutex<Progress>, text: String) {
        *progress.lock() = Progress::Said(text.clone());
        self.notes.say(text);
    }

    /// Opens the files of tables that nobody has used yet.
    fn open_spaces_of(&self, pages: &[PageId]) -> Result<()> {
        let spaces: BTreeSet<SpaceId> = pages.iter().map(|page| page.space).collect();
        let closed: BTreeSet<SpaceId> =
            spaces.into_iter().filter(|&space| !self.storage.spaces().contains(space)).collect();
        if closed.is_empty() {
            return Ok(());
        }
        self.dict.open_spaces(&self.storage, &closed)
    }
}
