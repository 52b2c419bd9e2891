//! Dump and restore of the hot set: which pages were in the pool, so that a restarted server is warm at once
//! (`buffer_pool_dump_at_shutdown`, `buffer_pool_load_at_startup`).
//!
//! The file is text, one `space,page` a line, youngest first, as InnoDB's `ib_buffer_pool`. It is a hint: pages
//! that have gone, spaces that are not open and lines that are not understood do no harm.

use super::BufferPool;
use super::reader::Fetched;
use crate::error::Result;
use std::fmt::Write as _;
use std::path::Path;
use vaquita_base::{PageId, PageNo, SpaceId};
use vaquita_io::{ErrorKind, FileSystem, OpenMode, OpenOptions};

impl BufferPool {
    /// The pages in the pool, young ones first, at most `pct` percent of each instance.
    pub fn hot_set(&self, pct: u32) -> Vec<PageId> {
        let mut out = Vec::new();
        for instance in &self.instances {
            let lru = instance.lru.lock();
            let all: Vec<u64> = lru.iter().map(|f| self.frame(f).page_id()).collect();
            let take = all.len() * pct.min(100) as usize / 100;
            out.extend(all.into_iter().take(take).map(PageId::from_u64));
        }
        out
    }

    /// Writes the hot set to `path`, by way of a temporary name; returns how many pages it names.
    ///
    /// # Errors
    /// I/O errors.
    pub fn dump_hot_set(&self, fs: &dyn FileSystem, path: &Path, pct: u32) -> Result<usize> {
        let pages = self.hot_set(pct);
        let mut text = String::with_capacity(pages.len() * 12);
        for page in &pages {
            writeln!(text, "{},{}", page.space, page.page_no).expect("writing to a string");
        }
        let incomplete = path.with_extension("incomplete");
        if fs.exists(&incomplete) {
            fs.remove_file(&incomplete)?;
        }
        let file = fs.open(&incomplete, OpenOptions::new(OpenMode::CreateNew))?;
        file.write_at(text.as_bytes(), 0)?;
        file.sync()?;
        fs.rename(&incomplete, path)?;
        Ok(pages.len())
    }

    /// Reads the pages named in `path` into free frames; returns how many were read. Nothing is evicted for them.
    ///
    /// # Errors
    /// I/O errors of reading the list; a missing list is an empty one.
    pub fn load_hot_set(&self, fs: &dyn FileSystem, path: &Path) -> Result<usize> {
        let file = match fs.open(path, OpenOptions::new(OpenMode::Read)) {
            Ok(file) => file,
            Err(e) if e.kind == ErrorKind::NotFound => return Ok(0),
            Err(e) => return Err(e.into()),
        };
        let mut bytes = vec![0; file.len()? as usize];
        file.read_at(&mut bytes, 0)?;
        let mut pages: Vec<PageId> = String::from_utf8_lossy(&bytes).lines().filter_map(parse_line).collect();
        pages.truncate(self.free_count());
        // In file order the disk reads ahead by itself.
        pages.sort_unstable();
        let mut loaded = 0;
        self.fetch_batch(&pages, false, &mut |_, fetched| {
            loaded += usize::from(matches!(fetched, Fetched::Read))
        })?;
        Ok(loaded)
    }
}

fn parse_line(line: &str) -> Option<PageId> {
    let (space, page) = line.split_once(',')?;
    Some(PageId::new(SpaceId(space.trim().parse().ok()?), PageNo(page.trim().parse().ok()?)))
}
